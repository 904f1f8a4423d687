/* The other way round: which epsilon gives intervals of a width, by the forecast of the plan. */
#include <math.h>

#include "base/error.h"
#include "fit/fit_internal.h"

static const double least_epsilon = 1e-6, largest_epsilon = 1e6;

/* Budgets for wider intervals of a linear regression are refused (tacit_noise_aware_check_budget()). */
static const double gaussian_most = 5;

double tacit_fit_epsilon_for(tacit_fit_forecast_fn forecast, tacit_noise_aware_settings_t settings,
                             size_t dim, double n_units, double delta, double bound) {
  double low = log(least_epsilon), high = log(largest_epsilon);
  settings.rho = tacit_gaussian_rho(largest_epsilon, log(delta)) * TACIT_PLANNED_SHARE;
  if (forecast(&settings, dim, n_units) > bound) {
    return INFINITY;
  }
  for (int i = 0; i < 60; i++) {
    double middle = 0.5 * (low + high);
    settings.rho = tacit_gaussian_rho(exp(middle), log(delta)) * TACIT_PLANNED_SHARE;
    *(forecast(&settings, dim, n_units) > bound ? &low : &high) = middle;
  }
  return exp(high);
}

static tacit_status_t answer(const tacit_fit_t *fit, double width, tacit_fit_want_t wants[2],
                             tacit_error_t *err) {
  char obstacle[TACIT_FIT_OBSTACLE_SIZE];
  if (tacit_fit_aware_obstacle(fit, obstacle)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "want-width",
                           "a width can be asked for where method noise-aware applies: %s", obstacle);
  }
  size_t dim = tacit_fit_aware_dim(fit);
  width = fit->design != NULL && fit->family == TACIT_FAMILY_GAUSSIAN ? fmin(width, gaussian_most) : width;
  for (int i = 0; i < 2; i++) {
    tacit_noise_aware_settings_t settings = tacit_fit_aware_settings(fit);
    settings.relation = i == 0 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE;
    wants[i] =
        (tacit_fit_want_t){.relation = settings.relation,
                           .epsilon = tacit_fit_epsilon_for(tacit_noise_aware_inflation, settings, dim,
                                                            fit->n_public, fit->delta, width),
                           .epsilon_poor = tacit_fit_epsilon_for(tacit_noise_aware_inflation_poor, settings,
                                                                 dim, fit->n_public, fit->delta, width)};
  }
  return TACIT_OK;
}

tacit_status_t tacit_fit_want_width(tacit_fit_t *fit, double n_units, double width, tacit_fit_want_t wants[2],
                                    tacit_error_t *err) {
  tacit_fit_t *copy = NULL;
  if (tacit_fit_has(fit, "epsilon")) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "epsilon",
                           "--want-width asks which epsilon it takes: leave out --epsilon");
  }
  if (!(width > 1 && width <= 1000)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "want-width",
        "intervals are wider than without privacy: --want-width must be above 1, up to 1000");
  }
  tacit_status_t status = tacit_fit_check_number(n_units, err);
  TACIT_THEN(status, tacit_fit_copy_settings(&copy, fit, err));
  if (status == TACIT_OK) {
    status =
        tacit_fit_set(copy, "epsilon", "1", err); /* any: what is sought is found by the forecast alone */
  }
  TACIT_THEN(status, tacit_fit_read_common_settings(copy, err));
  if (status == TACIT_OK) {
    copy->n_public = n_units;
    copy->method = tacit_method_find("noise-aware");
    status = tacit_fit_prepare(copy, err);
  }
  TACIT_THEN(status, answer(copy, width, wants, err));
  tacit_fit_free(copy);
  return status;
}
