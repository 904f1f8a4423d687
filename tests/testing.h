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
#include <string.h>

#include "tacit/base.h"

/* cmocka hands every test a state that few look at. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* TACIT_TEST_MULTIPLIER scales the iterations of property and statistical tests. If it is not set: 1 with
   TACIT_TEST_FULL, else what tests/meson.build gives as the test's short form in TACIT_TEST_SHORT, else 1. */
static const double testing_least_multiplier =
    0.1; /* with fewer iterations checks that hold for many no longer do */
static inline double testing_multiplier(void) {
  const char *text = getenv("TACIT_TEST_MULTIPLIER");
  if (text != NULL && atof(text) > 0 && atof(text) < testing_least_multiplier)
    return testing_least_multiplier;
  if (text == NULL && getenv("TACIT_TEST_FULL") == NULL)
    text = getenv("TACIT_TEST_SHORT");
  double value = text != NULL ? atof(text) : 1.0;
  return value > 0 ? value : 1.0;
}

/* For tests that need more than the others: `least` is the multiplier below which what they check no longer
 * holds. */
static inline double testing_multiplier_at_least(double least) { return fmax(testing_multiplier(), least); }

/* Folder of reference numbers beside a checkout, or NULL: tests that need it then skip. */
static inline const char *testing_shared(void) { return getenv("TACIT_SHARED"); }

/* A sanitizer that watches the heap keeps all memory there, private or not (src/core/base/alloc.c). gcc and
 * clang say so differently. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/* Is the memory at p left out of core dumps? True where nobody can tell. */
static inline bool testing_is_kept_private(const void *p) {
  FILE *maps = fopen("/proc/self/smaps", "r");
  unsigned long from, to;
  char line[512];
  bool is_inside = false, is_left_out = maps == NULL;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    is_inside =
        sscanf(line, "%lx-%lx ", &from, &to) == 2 ? from <= (uintptr_t)p && (uintptr_t)p < to : is_inside;
    is_left_out =
        is_left_out || (is_inside && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " dd") != NULL);
  }
  if (maps != NULL) {
    fclose(maps);
  }
  return is_left_out;
}

#define assert_ok(call, err)                                                                                 \
  do {                                                                                                       \
    tacit_status_t status_ = (call);                                                                         \
    if (status_ != TACIT_OK)                                                                                 \
      fail_msg("%s: %s", #call, (err).message);                                                              \
  } while (0)

#define assert_close(actual, expected, tolerance)                                                            \
  do {                                                                                                       \
    double actual_ = (actual), expected_ = (expected), tolerance_ = (tolerance);                             \
    if (!(fabs(actual_ - expected_) <= tolerance_))                                                          \
      fail_msg("%s = %.17g, expected %.17g within %g", #actual, actual_, expected_, tolerance_);             \
  } while (0)

#endif
