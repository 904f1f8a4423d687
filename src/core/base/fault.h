/*
 * Errors that tests plant on purpose, to see that they notice them. What is installed cannot be told to be
 * wrong: only the copies of src/inference/sample and src/inference/noise_aware that tests link are compiled
 * with TACIT_WITH_FAULTS and fault.c (their meson.build; tests/base/check_faults.py).
 */
#ifndef TACIT_SRC_BASE_FAULT_H
#define TACIT_SRC_BASE_FAULT_H

#include <stdbool.h>

typedef enum tacit_fault {
  TACIT_FAULT_NONE = 0,
  /* samplers */
  TACIT_FAULT_NO_PENALTY, /* - noise_sd^2/2 is left out of decisions on noisy ratios */
  /* noise-aware regression */
  TACIT_FAULT_NO_DISCREPANCY, /* the surrogate's error is left out of the posterior; gaussian: that of moments
                                 and weights */
  TACIT_FAULT_HALF_NOISE,     /* the noise of scores is taken for half of what it is; gaussian: of the last
                                 moments */
  TACIT_FAULT_SQUARES_FOR_SLOPES, /* programs: squares of scores are taken for their slope */
  TACIT_FAULT_ROWS_INDEPENDENT,   /* rows of one unit are taken for independent */
  TACIT_FAULT_SLOPES_CERTAIN, /* programs: released slopes are taken for what they are of, without their noise
                               */
  TACIT_FAULT_HALF_AS_WIDE,   /* what is kept of chains is half as far from the centre as they are */
  TACIT_FAULT_LIKELIHOOD_TWICE /* the likelihood of what was released counts twice */
} tacit_fault_t;

#ifdef TACIT_WITH_FAULTS
extern tacit_fault_t tacit_fault_for_tests;
#define TACIT_IS_PLANTED(fault) (tacit_fault_for_tests == (fault))
#define TACIT_PLANT(fault) (void)(tacit_fault_for_tests = (fault))
#else
#define TACIT_IS_PLANTED(fault) false
#define TACIT_PLANT(fault) (void)(fault) /* of what tests share with tests of the product as it is */
#endif

#endif
