/* Shared by the tests: cmocka in the order it needs, the multiplier, a tolerance check. */
#ifndef TACIT_TESTING_H
#define TACIT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tacit/base.h"

/* TACIT_TEST_MULTIPLIER scales the iterations of property and statistical tests; default 1. */
static inline double testing_multiplier(void) {
  const char *text = getenv("TACIT_TEST_MULTIPLIER");
  double value = text != NULL ? atof(text) : 1.0;
  return value > 0 ? value : 1.0;
}

/* Folder of reference numbers beside a checkout, or NULL: tests that need it then skip. */
static inline const char *testing_shared(void) {
  return getenv("TACIT_SHARED");
}

#define assert_ok(call, err)                                                        \
  do {                                                                              \
    tacit_status_t status_ = (call);                                                \
    if (status_ != TACIT_OK) fail_msg("%s: %s", #call, (err).message);              \
  } while (0)

#define assert_close(actual, expected, tolerance)                                               \
  do {                                                                                          \
    double actual_ = (actual), expected_ = (expected), tolerance_ = (tolerance);                \
    if (!(fabs(actual_ - expected_) <= tolerance_))                                             \
      fail_msg("%s = %.17g, expected %.17g within %g", #actual, actual_, expected_, tolerance_); \
  } while (0)

#endif
