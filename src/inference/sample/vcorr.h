/*
 * Correction distributions: V such that N(0, C) + V is as nearly logistic as it can be, and Barker's test of
 * a ratio with noise of variance C becomes the test of V plus that ratio [Heikkila2019, section 3]. No V
 * makes the sum logistic: docs/theory.md, section 20.
 */
#ifndef TACIT_SAMPLE_VCORR_H
#define TACIT_SAMPLE_VCORR_H

#include <stddef.h>

enum { TACIT_N_VCORR = 8 };

/* V is at +-v for the atoms (v, probability of the two), shape (n, 2), v >= 0. */
typedef struct tacit_vcorr {
  double variance; /* C */
  double error; /* the smallest possible largest difference of distribution functions, rounded up by less than
                   a part in 100 */
  size_t n;
  const double (*atoms)[2];
} tacit_vcorr_t;

/* In increasing order of the variance; written by vcorr_table.py. */
extern const tacit_vcorr_t tacit_vcorr_distributions[TACIT_N_VCORR];

/* NULL where there is none for the variance. */
const tacit_vcorr_t *tacit_vcorr_find(double variance);
/* Probability that w + N(0, variance) + V > 0; at distribution->variance it is what takes the place of 1 / (1
 * + e^-w). */
double tacit_vcorr_accept(const tacit_vcorr_t *distribution, double w, double variance);

#endif
