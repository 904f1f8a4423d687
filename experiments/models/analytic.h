/* What the three models of the papers share: a context, names "theta.j", the identity as report. */
#ifndef TACIT_ANALYTIC_H
#define TACIT_ANALYTIC_H

#include "models/models.h"
#include "formula/names.h"

typedef struct tacit_analytic {
  size_t dim, n_columns;
  double *inv_obs_var;   /* shape (n_columns) */
  double *inv_prior_var; /* shape (dim) */
  double *unit_scale;    /* shape (dim) */
  double a, b, m;        /* the banana's bend */
  tacit_names_t names;
} tacit_analytic_t;

/* The banana's u_j for j in 0 .. dim-1. */
static inline double tacit_banana_bend(const tacit_analytic_t *model, const double *theta, size_t j) {
  double offset = theta[0] - model->m;
  return j == 1 ? theta[1] + model->a * offset * offset + model->b : theta[j];
}

/* Record functions, one table for each instruction set (analytic_isa.c). */
typedef struct tacit_analytic_pair {
  void (*log_lik)(const void *ctx, const float *block, size_t n_theta, const double *theta, double *out);
  void (*log_lik_blocks)(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                         const double *theta, double *out); /* may be NULL */
  void (*grad)(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out);
} tacit_analytic_pair_t;

typedef struct tacit_analytic_functions {
  tacit_analytic_pair_t mean, banana, mixture;
} tacit_analytic_functions_t;

extern const tacit_analytic_functions_t tacit_analytic_functions_portable;
#if defined(__x86_64__)
extern const tacit_analytic_functions_t tacit_analytic_functions_avx2;
extern const tacit_analytic_functions_t tacit_analytic_functions_avx512;
#endif

/* Those for this machine's best instruction set. */
const tacit_analytic_functions_t *tacit_analytic_functions(void);
void tacit_analytic_set_functions(tacit_model_t *model, const tacit_analytic_pair_t *functions);

/*
 * Fill model but for records.log_lik, records.grad and parameters.log_prior; both contexts are the
 * tacit_analytic_t that is returned, its arrays uninitialised. NULL and a cleared model on failure.
 */
tacit_analytic_t *tacit_analytic_init(tacit_model_t *model, const char *name, size_t dim, size_t n_columns,
                                      tacit_error_t *err);

/* Require a finite value above 0. */
TACIT_MUST_USE tacit_status_t tacit_analytic_check_positive(const double *values, size_t n, const char *field,
                                                            tacit_error_t *err);

#endif
