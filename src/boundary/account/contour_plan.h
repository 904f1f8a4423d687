#ifndef TACIT_ACCOUNT_CONTOUR_PLAN_H
#define TACIT_ACCOUNT_CONTOUR_PLAN_H

/*
 * Where to integrate (saddle point, period, length), by uncertified estimates of a few representative
 * releases: it decides how narrow the bracket becomes, never whether it is valid.
 */

#include "account/contour.h"
#include "account/moment.h"

enum { TACIT_CONTOUR_MAX_PROXIES = 80, TACIT_CONTOUR_MAX_POINTS = 20000 };

typedef struct tacit_contour_problem {
  tacit_factor_t *factors; /* by kind, rate and noise; equal ones merged */
  size_t n;
  double rho, count;  /* of the unsampled, of the sampled releases */
  double log_dropped; /* log of the mass that multiplicities above `top` have in all releases together */
  double budget;      /* evaluations of e^(s L) */
  double digits;      /* what is left out is planned to be below e^-digits of delta */
  bool is_add;
  tacit_factor_t proxies[TACIT_CONTOUR_MAX_PROXIES];
  size_t n_proxies;
  tacit_moment_work_t *work;
} tacit_contour_problem_t;

typedef struct tacit_contour_plan {
  double c, epsilon, log_delta; /* estimates at the saddle */
  double log_moment, curvature; /* log M(c), (log M)''(c) */
  double far;                   /* a larger c, for Chernoff's bound */
  double period, step;          /* in epsilon and t; their product is 2 pi */
  size_t n;
} tacit_contour_plan_t;

/* Counts, merged; digits as usual, or fewer. Cleared where it fails. */
TACIT_MUST_USE tacit_status_t tacit_contour_problem_init(tacit_contour_problem_t *p,
                                                         const tacit_event_t *events, size_t n,
                                                         tacit_direction_t direction, double digits,
                                                         tacit_error_t *err);
void tacit_contour_problem_clear(tacit_contour_problem_t *p);
/* For log delta = target (is_delta), or epsilon = target; false where no plan is found. */
bool tacit_contour_plan(tacit_contour_problem_t *p, bool is_delta, double target, tacit_contour_plan_t *plan);
/* The period that makes what comes from the right negligible, by Chernoff's bound at `far`. */
double tacit_contour_period(const tacit_contour_problem_t *p, const tacit_contour_plan_t *plan, double far,
                            double log_far);
/* 20 bits, so that c + 1 and multiples of steps are exact */
double tacit_contour_short_number(double x);
/* log of sup_y (1 - e^-y) e^(-c y) = c^c / (1 + c)^(1 + c) */
double tacit_contour_log_chernoff(double c);

#endif
