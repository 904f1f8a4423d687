/* Where the prior of a program, or its posterior, is highest (docs/theory.md, section 18.14). */
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

enum { N_CLIMBS = 60 };

/* By differences. */
void tacit_program_prior_precision(const tacit_parameters_t *of, const double *theta, double *precision) {
  size_t d = of->dim;
  double point[TACIT_NOISE_AWARE_MAX_NARROW], high[TACIT_NOISE_AWARE_MAX_NARROW],
      low[TACIT_NOISE_AWARE_MAX_NARROW], work[MATRIX * 2 + TACIT_NOISE_AWARE_MAX_NARROW];
  const double h = 0x1p-12;
  memcpy(point, theta, d * sizeof *point);
  for (size_t j = 0; j < d; j++) {
    point[j] = theta[j] + h;
    (void)of->log_prior(of->ctx, point, high);
    point[j] = theta[j] - h;
    (void)of->log_prior(of->ctx, point, low);
    point[j] = theta[j];
    for (size_t i = 0; i < d; i++) {
      double value = (low[i] - high[i]) / (2 * h);
      precision[i * d + j] = isfinite(value) ? value : 0;
    }
  }
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < i; j++) {
      precision[i * d + j] = precision[j * d + i] = 0.5 * (precision[i * d + j] + precision[j * d + i]);
    }
  }
  tacit_raise_eigenvalues(d, precision, 1e-9, work);
}

/* theta <- where the density is highest, from where it is: Newton's steps of at most 1 in any coordinate,
 * halved until it rises. */
void tacit_program_climb(size_t d,
                         double (*density)(const void *of, const double *theta, double *grad,
                                           double *precision),
                         const void *of, double *theta) {
  double grad[TACIT_NOISE_AWARE_MAX_NARROW], precision[MATRIX], step[TACIT_NOISE_AWARE_MAX_NARROW],
      point[TACIT_NOISE_AWARE_MAX_NARROW];
  for (int n = 0; n < N_CLIMBS; n++) {
    double value = density(of, theta, grad, precision), most = 0, factor = 1;
    for (size_t j = 0; j < d; j++) {
      precision[j * d + j] += 1e-3;
    }
    if (!tacit_program_invert_positive(d, precision)) {
      return;
    }
    tacit_program_apply(d, precision, grad, step);
    for (size_t j = 0; j < d; j++) {
      most = fmax(most, fabs(step[j]));
    }
    bool has_risen = false;
    for (factor = most > 1 ? 1 / most : 1; factor > 1e-4 && !has_risen && most > 1e-9;
         factor *= has_risen ? 1 : 0.5) {
      for (size_t j = 0; j < d; j++) {
        point[j] = theta[j] + factor * step[j];
      }
      has_risen = density(of, point, NULL, NULL) > value;
    }
    if (!has_risen) {
      return;
    }
    memcpy(theta, point, d * sizeof *theta);
  }
}

double tacit_program_prior_density(const void *of, const double *theta, double *grad, double *precision) {
  const tacit_parameters_t *parameters = of;
  if (precision != NULL) {
    tacit_program_prior_precision(parameters, theta, precision);
  }
  return parameters->log_prior(parameters->ctx, theta, grad);
}
