/* A generalised linear model, between its parts: construction, priors, transforms. */
#ifndef TACIT_GLM_H
#define TACIT_GLM_H

#include "formula/glm_kernel.h"
#include "formula/model.h"
#include "formula/names.h"

/*
 * beta_j = slope_j theta_j for a slope, with slope_j = half_y / half_j; the intercept is
 * centre_y + half_y theta_0 - sum_j centre_j beta_j; sigma = half_y e^theta_last.
 */
typedef struct tacit_glm {
  tacit_glm_kernel_t kernel; /* context of the record functions */
  size_t dim;
  bool has_intercept; /* feature 0 */
  bool prior_on_original_scale;
  double centre_y, half_y;
  double *centre, *slope;        /* shape (n_features) */
  tacit_prior_t *priors;         /* shape (dim) */
  tacit_prior_source_t *sources; /* shape (dim): of each prior, and the scale it is in */
  double *prior_at;    /* shape (n_features): the point of features at which a default intercept's prior is */
  bool *is_two_valued; /* shape (n_features) */
  tacit_feature_scale_t *typical; /* shape (n_features): what the schema says; sd 0: nothing */
  double *unit_scale;             /* shape (dim) */
  tacit_names_t names;            /* of the dim reported quantities */
} tacit_glm_t;

/* glm_prior.c: defaults, then the user's entries in turn. */
TACIT_MUST_USE tacit_status_t tacit_glm_set_priors(tacit_glm_t *glm, const tacit_design_t *design,
                                                   const tacit_glm_settings_t *settings, tacit_error_t *err);
/* glm_density.c: tacit_parameters_t.log_prior, .prior_precision and .report */
double tacit_glm_log_prior(const void *ctx, const double *theta, double *grad);
/* What coefficient i's prior is a density of, theta being that of its class; weights (n_features) += its
 * derivatives unless NULL. */
double tacit_glm_argument(const tacit_glm_t *glm, size_t i, const double *theta, double *weights);
void tacit_glm_prior_precision(const void *ctx, const double *theta, double *precision);
void tacit_glm_report(const void *ctx, const double *theta, double *reported);

/* glm_bound.c: tacit_record_model_t.ratio_bound of a kernel. */
double tacit_glm_bernoulli_ratio_bound(const void *ctx, const double *theta, const double *theta_prop);
double tacit_glm_categorical_ratio_bound(const void *ctx, const double *theta, const double *theta_prop);

/* Of a record model: see tacit_record_model_t. Features are in [-1, 1]. */
void tacit_glm_curvature_bound(const void *ctx, const double *theta, double *bound);
void tacit_glm_curvature(const void *ctx, const double *x, const double *theta, double *weights);

#endif
