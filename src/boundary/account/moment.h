#ifndef TACIT_ACCOUNT_MOMENT_H
#define TACIT_ACCOUNT_MOMENT_H

#include "account/account_internal.h"

/*
 * One kind of sampled Gaussian release. With x ~ N(0, 1) and r(x) = sum_k w_k exp(k m x - (k m)^2 / 2), its
 * privacy loss has the moment generating function M(s) = E[r^(s + 1)] (remove) or E[r^-s] (add).
 */
typedef struct tacit_factor {
  double m;     /* sensitivity / noise sd */
  double rate;  /* of sampling */
  double count; /* of releases */
  size_t top; /* 1: w = (1 - rate, rate); from 2: w_k = e^-rate rate^k / k!, k = 0..top, the rest left out */
  double left_out; /* bound of the sum of the w_k left out */
} tacit_factor_t;

/* The points c + i j step, j = 0..n-1. Both c and step have at most 24 significant bits. */
typedef struct tacit_line {
  double c, step;
  size_t n;
  bool is_add;
  double tolerance; /* for the relative error of each factor by quadrature */
} tacit_line_t;

/* log prod_i M_i^(count_i) on a line; shape (n) each. */
typedef struct tacit_product {
  tacit_exact_sum_t *log_abs, *phase;
  double *error;     /* |product - truth| <= |product| (e^error - 1) */
  double decay;      /* log of a bound of |product(c + it) / product(c)| for all t >= n step */
  double point_cost; /* evaluations of e^(s L) so far */
} tacit_product_t;

typedef struct tacit_moment_work tacit_moment_work_t;

/* Returns NULL when out of memory. */
tacit_moment_work_t *tacit_moment_work_new(void);
void tacit_moment_work_free(tacit_moment_work_t *work);

/*
 * Multiply a factor into the product; with line->n == 1, at the real point alone. False, the product then
 * being undefined, where the factor would take too many nodes, or more than `budget` evaluations.
 */
bool tacit_moment_multiply(tacit_product_t *product, const tacit_factor_t *factor, const tacit_line_t *line,
                           double budget, tacit_moment_work_t *work);

/* Uncertified estimates, for planning: log M and its two derivatives at c. */
typedef struct tacit_cumulants {
  double value, slope, curvature;
} tacit_cumulants_t;
bool tacit_moment_estimate(tacit_cumulants_t *cumulants, const tacit_factor_t *factor, double c, bool is_add,
                           tacit_moment_work_t *work);
/* The same of log |M(c + it) / M(c)|'s bound for all t >= from. */
double tacit_moment_estimate_decay(const tacit_factor_t *factor, double c, bool is_add, double from,
                                   tacit_moment_work_t *work);

#endif
