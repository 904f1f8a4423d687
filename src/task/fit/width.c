/* How wide the interval of every coefficient would be, against epsilon: what the page of a plan draws. Public
 * numbers alone. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"

enum { N_POINTS = 61, N_PER_DECADE = 20, MAX_TERMS = TACIT_NOISE_AWARE_MAX_FEATURES };

/* Budgets drawn: from there, three decades. */
static const double first_epsilon = 0.05;

/* A linear regression's residuals beside the response's bounds, where their sd is not said. */
static const double residual_share = 1.0 / 6;

typedef struct widths {
  const char *labels[MAX_TERMS];
  double sd[MAX_TERMS], epsilons[N_POINTS], inflation[2][N_POINTS], poor[2][N_POINTS];
  bool is_refused;
  char assumed[512];
} widths_t;

/* Variance of what a record says of the linear predictor, inverse: the variance of a response by the square
 * of its slope. */
static double unit_variance(const tacit_fit_t *fit) {
  double lower, upper;
  tacit_design_response_range(fit->design, &lower, &upper);
  double sd = fit->known_sd > 0 ? fit->known_sd : residual_share * (upper - lower);
  return fit->family == TACIT_FAMILY_GAUSSIAN    ? sd * sd
         : fit->family == TACIT_FAMILY_BERNOULLI ? 1 / 0.15
                                                 : 1;
}

/* Of feature j as it is: half and half at two values, a third of half its range squared where it fills its
 * bounds, or what is typical. */
static double sd_of(const tacit_fit_t *fit, size_t j) {
  double centre, half, typical = tacit_design_typical_sd(fit->design, j);
  tacit_design_scaling(fit->design, j, &centre, &half);
  return tacit_design_is_two_valued(fit->design, j) ? half : typical > 0 ? typical : half / sqrt(3);
}

/* The intercept is where all features are 0: it takes the slopes' errors along. */
static void fill_sds(const tacit_fit_t *fit, double n_units, widths_t *widths) {
  double variance = unit_variance(fit) / n_units, at_zero = variance;
  for (size_t j = 1; j < tacit_design_n_features(fit->design); j++) {
    double centre, half, sd = sd_of(fit, j);
    tacit_design_scaling(fit->design, j, &centre, &half);
    widths->sd[j] = sqrt(variance) / sd;
    at_zero += variance * (centre / sd) * (centre / sd);
  }
  widths->sd[0] = sqrt(at_zero);
}

static void fill_curves(const tacit_fit_t *fit, double n_units, widths_t *widths) {
  size_t dim = tacit_design_n_features(fit->design);
  for (int i = 0; i < N_POINTS; i++) {
    widths->epsilons[i] = first_epsilon * pow(10, (double)i / N_PER_DECADE);
    for (int r = 0; r < 2; r++) {
      tacit_noise_aware_settings_t settings = tacit_fit_aware_settings(fit);
      settings.relation = r == 0 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE;
      settings.n_units = n_units;
      settings.rho = tacit_gaussian_rho(widths->epsilons[i], log(fit->delta)) * TACIT_PLANNED_SHARE;
      bool is_refused = tacit_noise_aware_check_budget(&settings, NULL) != TACIT_OK;
      widths->is_refused = widths->is_refused || is_refused;
      widths->inflation[r][i] = is_refused ? NAN : tacit_noise_aware_inflation(&settings, dim, n_units);
      widths->poor[r][i] = is_refused ? NAN : tacit_noise_aware_inflation_poor(&settings, dim, n_units);
    }
  }
}

static void say_assumed(const tacit_fit_t *fit, widths_t *widths) {
  char of_response[160];
  if (fit->family == TACIT_FAMILY_GAUSSIAN && fit->known_sd > 0) {
    snprintf(of_response, sizeof of_response, "residuals of the sd that was typed, %.4g", fit->known_sd);
  } else {
    snprintf(of_response, sizeof of_response, "%s",
             fit->family == TACIT_FAMILY_GAUSSIAN ? "residuals with an sd of a sixth of the response's bounds"
             : fit->family == TACIT_FAMILY_BERNOULLI
                 ? "responses of variance 0.15, as of a share of about 0.2 or 0.8"
                 : "counts of about 1 a record");
  }
  snprintf(widths->assumed, sizeof widths->assumed,
           "Features that do not hang together, numbers spread evenly over their bounds (or as `typical:` "
           "says), two values half and half; %s.",
           of_response);
}

static tacit_status_t prepare(tacit_fit_t *copy, double n_units, tacit_error_t *err) {
  char obstacle[TACIT_FIT_OBSTACLE_SIZE];
  tacit_status_t status = tacit_fit_has(copy, "epsilon")
                              ? TACIT_OK
                              : tacit_fit_set(copy, "epsilon", "1", err); /* any: all are drawn */
  TACIT_THEN(status, tacit_fit_read_common_settings(copy, err));
  copy->n_public = n_units;
  TACIT_THEN(status, tacit_fit_prepare(copy, err));
  if (status == TACIT_OK && tacit_fit_aware_obstacle(copy, obstacle)) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "html",
                             "widths can be drawn where method noise-aware applies: %s", obstacle);
  }
  return status;
}

tacit_status_t tacit_fit_plan_page(tacit_fit_t *fit, double n_units, char **html, tacit_error_t *err) {
  tacit_fit_t *copy = NULL;
  widths_t *widths = tacit_alloc_zero(1, sizeof *widths);
  *html = NULL;
  tacit_status_t status = widths != NULL ? tacit_fit_check_number(n_units, err) : tacit_error_memory(err);
  TACIT_THEN(status, tacit_fit_copy_settings(&copy, fit, err));
  TACIT_THEN(status, prepare(copy, n_units, err));
  if (status == TACIT_OK) {
    size_t dim = tacit_design_n_features(copy->design);
    for (size_t j = 0; j < dim; j++) {
      widths->labels[j] = tacit_design_label(copy->design, j);
    }
    fill_sds(copy, n_units, widths);
    fill_curves(copy, n_units, widths);
    say_assumed(copy, widths);
    const tacit_plan_page_t page = {.formula = copy->formula,
                                    .family = tacit_family_string(copy->family),
                                    .relation = tacit_schema_relation(copy->schema),
                                    .n_units = n_units,
                                    .delta = copy->delta,
                                    .epsilon = tacit_fit_has(fit, "epsilon") ? copy->epsilon : NAN,
                                    .labels = widths->labels,
                                    .sd = widths->sd,
                                    .n_terms = dim,
                                    .epsilons = widths->epsilons,
                                    .inflation = {widths->inflation[0], widths->inflation[1]},
                                    .poor = {widths->poor[0], widths->poor[1]},
                                    .n_points = N_POINTS,
                                    .is_refused = widths->is_refused,
                                    .assumed = widths->assumed};
    status = tacit_report_plan_page(&page, html, err);
  }
  tacit_fit_free(copy);
  tacit_free(widths);
  return status;
}
