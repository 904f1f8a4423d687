/* The schedule: which release is made when, from what is known so far. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "noise_aware/noise_aware_internal.h"
#include "noise_aware/schedule.h"

/* Stream of the surrogate's normals; chains take the streams from 0. */
static const uint64_t surrogate_stream = UINT64_MAX;

/* The radius that the predicted inflation takes, in units of sqrt(d): typical of what the rule for R chooses. */
static const double nominal_radius = 1;

tacit_noise_aware_settings_t tacit_noise_aware_settings_default(void) {
  return (tacit_noise_aware_settings_t){
      .family = TACIT_FAMILY_BERNOULLI, .upper = 1, .n_chains = 4, .n_warmup = 500, .n_draws = 1000, .thin = 1};
}

typedef struct planned {
  double share;
  uint64_t count;
  const char *label;
} planned_t;

size_t tacit_noise_aware_events(tacit_family_t family, double rho, tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  const planned_t of_canonical_links[TACIT_NOISE_AWARE_N_EVENTS] = {{share_cube, 1, "second moments"},
                                                                    {share_whitened, 1, "whitened second moments"},
                                                                    {share_response, 1, "responses times rows"},
                                                                    {share_fitted, TACIT_MAX_FITTED, "fitted means times rows"}};
  const planned_t of_gaussian[] = {{share_joint_cube, 1, "joint moments"},
                                   {1 - share_joint_cube, 1, "whitened joint moments"}};
  bool is_gaussian = family == TACIT_FAMILY_GAUSSIAN;
  const planned_t *releases = is_gaussian ? of_gaussian : of_canonical_links;
  size_t n = is_gaussian ? 2 : TACIT_NOISE_AWARE_N_EVENTS;
  for (size_t i = 0; i < n; i++) {
    events[i] = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN,
                                .noise_multiplier = schedule_multiplier(rho, releases[i].share),
                                .count = releases[i].count};
    snprintf(events[i].label, sizeof events[i].label, "%s", releases[i].label);
  }
  return n;
}

double tacit_noise_aware_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units) {
  bool is_bernoulli = settings->family == TACIT_FAMILY_BERNOULLI;
  double variance = is_bernoulli ? 0.15 : 1, mu2 = 2 * settings->rho * (1 - share_cube - share_whitened);
  double noise = 4 * nominal_radius * nominal_radius * (double)dim * settings->upper * settings->upper;
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    noise = 4 * joint_radius * joint_radius * (double)dim * joint_reach * joint_reach;
    mu2 = 2 * settings->rho * (1 - share_joint_cube);
  }
  return sqrt(1 + noise / (mu2 * n_units * variance));
}

static tacit_status_t check(const tacit_curator_t *curator, const tacit_parameters_t *parameters,
                            const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  if (tacit_curator_is_exposed(curator)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "curator",
                           "noise-aware regression models the noise of its releases: it needs a private curator");
  }
  bool is_gaussian = s->family == TACIT_FAMILY_GAUSSIAN;
  size_t n_extra = is_gaussian && !(s->known_sd > 0);
  if (parameters->dim != tacit_curator_dim(curator) || parameters->dim < 1 + n_extra ||
      parameters->dim > TACIT_NOISE_AWARE_MAX_FEATURES + n_extra) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim",
                           "noise-aware regression takes 1 to %d features, the intercept included, and no other parameter; "
                           "there are %zu",
                           (int)TACIT_NOISE_AWARE_MAX_FEATURES, parameters->dim);
  }
  if (!is_gaussian && !tacit_family_has_moments(s->family, s->upper)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "family",
                           "noise-aware regression is for families bernoulli and gaussian, and for poisson with an upper bound "
                           "of the response between 1 and %d",
                           (int)TACIT_FAMILY_MAX_COUNT);
  }
  if (!(s->rho > 0 && isfinite(s->rho)) || s->n_chains < 1 || s->n_draws < 1 || s->thin < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "settings",
                           "noise-aware regression needs a finite rho above 0 and at least one chain, draw and thin");
  }
  return TACIT_OK;
}

/*
 * How far a fitted mean can be from the centre of the response: |x . theta - theta_0| <= sum |theta_i| in the cube, and the
 * mean increases. The factor exceeds the rounding; a floor keeps the noise above zero at theta = 0.
 */
static double reach_of(const tacit_noise_aware_settings_t *s, size_t d, const double *theta) {
  double spread = 0;
  for (size_t j = 1; j < d; j++) {
    spread += fabs(theta[j]);
  }
  double low = tacit_family_moments(s->family, s->upper, theta[0] - spread).mean - s->upper / 2;
  double high = tacit_family_moments(s->family, s->upper, theta[0] + spread).mean - s->upper / 2;
  return fmin(s->upper / 2, fmax(fmax(fabs(low), fabs(high)) * (1 + 1e-9), 1e-3 * s->upper));
}

/* Release F at theta and condition the process on it. */
static tacit_status_t release_fitted(tacit_curator_t *curator, tacit_aware_posterior_t *posterior,
                                     tacit_discrepancy_t *process, const double *theta, tacit_error_t *err) {
  const tacit_surrogate_t *s = posterior->surrogate;
  const tacit_noise_aware_settings_t *settings = posterior->settings;
  tacit_row_weighting_t rows = {.whiten = s->whiten, .radius = s->radius};
  tacit_fitted_mean_t fitted = {.family = (int)settings->family,
                                .upper = settings->upper,
                                .theta = theta,
                                .reach = reach_of(settings, s->d, theta)};
  double released[TACIT_NOISE_AWARE_MAX_FEATURES], noise_sd;
  tacit_status_t status = tacit_curator_release_fitted(curator, &rows, &fitted,
                                                       schedule_multiplier(settings->rho, share_fitted), released,
                                                       &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t i = 0; i < s->d; i++) {
    released[i] /= posterior->n;
  }
  tacit_aware_posterior_fitted(posterior, theta);
  double sd = noise_sd / posterior->n;
  return tacit_discrepancy_condition(process, posterior->f, released, sd * sd, err);
}

static tacit_status_t release_response(tacit_curator_t *curator, tacit_aware_posterior_t *posterior, tacit_error_t *err) {
  const tacit_surrogate_t *s = posterior->surrogate;
  const tacit_noise_aware_settings_t *settings = posterior->settings;
  tacit_row_weighting_t rows = {.whiten = s->whiten, .radius = s->radius};
  double noise_sd;
  tacit_status_t status = tacit_curator_release_response(curator, &rows, settings->upper,
                                                         schedule_multiplier(settings->rho, share_response),
                                                         posterior->response, &noise_sd, err);
  noise_sd *= settings->fault_for_tests == TACIT_NOISE_AWARE_HALF_RESPONSE_NOISE ? 0.5 : 1;
  posterior->response_var = noise_sd * noise_sd;
  return status;
}

/* All releases after the surrogate; theta ends at the mode, factor holds the shape there. */
static tacit_status_t learn(tacit_curator_t *curator, tacit_aware_posterior_t *posterior, tacit_discrepancy_t *process,
                            double *theta, double *factor, tacit_error_t *err) {
  tacit_status_t status = release_response(curator, posterior, err);
  if (status == TACIT_OK) {
    status = tacit_aware_mode(posterior, theta, factor, err);
  }
  for (int j = 0; j < TACIT_MAX_FITTED && status == TACIT_OK; j++) {
    status = release_fitted(curator, posterior, process, theta, err);
    if (status == TACIT_OK) {
      status = tacit_aware_mode(posterior, theta, factor, err);
    }
  }
  return status;
}

tacit_status_t tacit_noise_aware_fit(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                     const tacit_noise_aware_settings_t *settings, tacit_draws_t *draws,
                                     tacit_error_t *err) {
  *draws = (tacit_draws_t){0};
  size_t n = 0;
  tacit_status_t status = check(curator, parameters, settings, err);
  if (status == TACIT_OK) {
    status = tacit_curator_n_units(curator, &n, err);
  }
  if (status == TACIT_OK && n < 1) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "n", "there are no records to fit");
  }
  if (status != TACIT_OK) {
    return status;
  }
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    status = tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws, parameters->n_reported, err);
    return status == TACIT_OK ? tacit_aware_gaussian(curator, parameters, settings, (double)n, draws, err) : status;
  }
  tacit_surrogate_t surrogate = {0};
  tacit_discrepancy_t process = {0};
  tacit_aware_posterior_t posterior = {0};
  tacit_rng_t *rng = NULL;
  double theta[TACIT_NOISE_AWARE_MAX_FEATURES] = {0};
  double factor[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES];
  status = tacit_rng_new(&rng, settings->key, surrogate_stream, err);
  if (status == TACIT_OK) {
    status = tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws, parameters->n_reported,
                              err);
  }
  if (status == TACIT_OK) {
    status = tacit_surrogate_init(&surrogate, curator, settings, (double)n, rng, err);
  }
  if (status == TACIT_OK) {
    status = tacit_discrepancy_init(&process, &surrogate, settings->family, err);
  }
  if (status == TACIT_OK) {
    status = tacit_aware_posterior_init(&posterior, &surrogate, &process, parameters, settings, (double)n, err);
  }
  if (status == TACIT_OK) {
    status = learn(curator, &posterior, &process, theta, factor, err);
  }
  if (status == TACIT_OK) {
    status = tacit_aware_walk(&posterior, theta, factor, draws, err);
  }
  tacit_aware_posterior_clear(&posterior);
  tacit_discrepancy_clear(&process);
  tacit_surrogate_clear(&surrogate);
  tacit_rng_free(rng);
  return status;
}
