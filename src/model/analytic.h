/* What the three models of the papers share: a context, names "theta.j", the identity as report. */
#ifndef TACIT_ANALYTIC_H
#define TACIT_ANALYTIC_H

#include "model/names.h"
#include "tacit/model.h"

typedef struct tacit_analytic {
  size_t dim, n_columns;
  double *inv_obs_var;   /* shape (n_columns) */
  double *inv_prior_var; /* shape (dim) */
  double *unit_scale;    /* shape (dim) */
  double a, b, m;        /* the banana's bend */
  tacit_names_t names;
} tacit_analytic_t;

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
