/* Models of the papers, with closed-form posteriors; and the distance of samples that the papers measure by.
 */
#ifndef TACIT_MODELS_H
#define TACIT_MODELS_H

#include "formula/model.h"

/**
 * x_i ~ N(theta, diag(sd^2)), theta ~ N(0, prior_sd^2 I). Records: n_columns == dim.
 * sd has shape (dim).
 */
TACIT_MUST_USE tacit_status_t tacit_model_init_gaussian_mean(tacit_model_t *model, size_t dim,
                                                             const double *sd, double prior_sd,
                                                             tacit_error_t *err);

/**
 * Banana [Raisa2021, section 5]: with u(theta) = (theta_1, theta_2 + a (theta_1 - m)^2 + b, theta_3, ...),
 * u ~ N(0, prior_var I) and x_i ~ N(u, diag(obs_var)). dim >= 2; obs_var has shape (dim).
 */
TACIT_MUST_USE tacit_status_t tacit_model_init_banana(tacit_model_t *model, size_t dim, double a, double b,
                                                      double m, double prior_var, const double *obs_var,
                                                      tacit_error_t *err);

/**
 * Two-component mixture of the DP-Fast MH paper [Zhang2023]:
 * x_i ~ 0.5 N(theta_1, obs_var) + 0.5 N(theta_1 + theta_2, obs_var), theta_j ~ N(0, prior_var_j).
 */
TACIT_MUST_USE tacit_status_t tacit_model_init_mixture(tacit_model_t *model, double obs_var,
                                                       const double prior_var[2], tacit_error_t *err);

/**
 * Squared maximum mean discrepancy, unbiased, Gaussian kernel exp(-||x-y||^2 / (2 s^2))
 * [Gretton2012, Lemma 6].
 * @param[in] x, y  shapes (n_x, dim), (n_y, dim).
 * @param[in] bandwidth  s > 0; 0: the median distance of up to 500 pooled points.
 */
TACIT_MUST_USE tacit_status_t tacit_mmd2(const double *x, size_t n_x, const double *y, size_t n_y, size_t dim,
                                         double bandwidth, double *mmd2, tacit_error_t *err);

#endif
