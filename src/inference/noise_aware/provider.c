/* Which family has which provider, and what can be said of a fit beforehand, from public numbers alone. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "noise_aware/engine.h"

const tacit_aware_provider_t *tacit_aware_provider(const tacit_noise_aware_settings_t *settings) {
  return settings->records != NULL                   ? &tacit_provider_program
         : settings->family == TACIT_FAMILY_GAUSSIAN ? &tacit_provider_gaussian
                                                     : &tacit_provider_scores;
}

size_t tacit_aware_n_extra(const tacit_noise_aware_settings_t *settings) {
  const tacit_aware_provider_t *of = tacit_aware_provider(settings);
  return of->has_sd != NULL && of->has_sd(settings);
}

tacit_noise_aware_settings_t tacit_noise_aware_settings_default(void) {
  return (tacit_noise_aware_settings_t){.family = TACIT_FAMILY_BERNOULLI,
                                        .upper = 1,
                                        .n_chains = 4,
                                        .n_warmup = 500,
                                        .n_draws = 1000,
                                        .thin = 1};
}

bool tacit_aware_is_count_private(const tacit_noise_aware_settings_t *settings) {
  return settings->relation == TACIT_RELATION_ADD_REMOVE || settings->may_drop;
}

void tacit_aware_plan(const tacit_noise_aware_settings_t *settings, double share, size_t count,
                      const char *label, tacit_event_t *events, size_t *n) {
  if (share > 0 && count > 0) {
    events[*n] = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN,
                                 .noise_multiplier = schedule_multiplier(settings->rho, share),
                                 .count = count};
    snprintf(events[(*n)++].label, sizeof events->label, "%s", label);
  }
}

size_t tacit_noise_aware_events(const tacit_noise_aware_settings_t *settings,
                                tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  return tacit_aware_provider(settings)->events(settings, events);
}

double tacit_noise_aware_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units) {
  return tacit_aware_provider(settings)->inflation(settings, dim, n_units);
}

double tacit_noise_aware_inflation_poor(const tacit_noise_aware_settings_t *settings, size_t dim,
                                        double n_units) {
  return tacit_aware_provider(settings)->inflation_poor(settings, dim, n_units);
}

tacit_status_t tacit_noise_aware_check_budget(const tacit_noise_aware_settings_t *settings,
                                              tacit_error_t *err) {
  return tacit_aware_provider(settings)->check_budget(settings, err);
}

bool tacit_noise_aware_is_noisy(const tacit_noise_aware_settings_t *settings) {
  const tacit_aware_provider_t *of = tacit_aware_provider(settings);
  return of->is_noisy != NULL && of->is_noisy(settings);
}

double tacit_noise_aware_scale_doubt(const tacit_noise_aware_settings_t *settings, size_t dim,
                                     double n_units) {
  const tacit_aware_provider_t *of = tacit_aware_provider(settings);
  return of->scale_doubt != NULL ? of->scale_doubt(settings, dim, n_units) : 0;
}

double tacit_noise_aware_hidden(const tacit_noise_aware_settings_t *settings) {
  const tacit_aware_provider_t *of = tacit_aware_provider(settings);
  return of->hidden != NULL ? of->hidden(settings) : 0;
}

/* ---- what can be seen to be wrong ---- */

static tacit_status_t check_size(const tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                 const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  size_t n_extra = tacit_aware_n_extra(s), most = tacit_aware_provider(s)->most(s),
         dim = curator != NULL ? tacit_curator_dim(curator) : s->releases->dim + n_extra;
  return parameters->dim == dim && parameters->dim >= 1 + n_extra && parameters->dim <= most + n_extra
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim",
                               "noise-aware regression takes 1 to %d features, the intercept included, and "
                               "no other parameter; "
                               "there are %zu",
                               (int)most, parameters->dim);
}

static tacit_status_t check_prior(const tacit_parameters_t *parameters, size_t d, tacit_error_t *err) {
  double precision[TACIT_AWARE_MAX_DIM * TACIT_AWARE_MAX_DIM] = {0};
  const double origin[TACIT_AWARE_MAX_DIM] = {0};
  if (parameters->prior_precision == NULL) {
    return TACIT_OK;
  }
  parameters->prior_precision(parameters->ctx, origin, precision);
  for (size_t j = 0; j < d; j++) {
    if (!(precision[j * parameters->dim + j] > 0)) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "prior",
                             "noise-aware regression needs a proper prior on every coefficient: where "
                             "noise hides it, a flat one "
                             "leaves no posterior; %s has none",
                             parameters->labels[j]);
    }
  }
  return TACIT_OK;
}

static tacit_status_t check_curator(const tacit_curator_t *curator, const tacit_noise_aware_settings_t *s,
                                    tacit_error_t *err) {
  if (curator == NULL) {
    return s->releases != NULL ? TACIT_OK
                               : tacit_error_set(err, TACIT_ERR_ARGUMENT, "releases",
                                                 "without a curator the releases must be there");
  }
  if (tacit_curator_is_exposed(curator)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "curator",
        "noise-aware regression models the noise of its releases: it needs a private curator");
  }
  return (tacit_curator_sensitivity_factor(curator) > 1) == (s->relation == TACIT_RELATION_SUBSTITUTE)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "relation",
                               "the settings' relation is not that of the curator's budget");
}

tacit_status_t tacit_aware_check_settings(const tacit_curator_t *curator,
                                          const tacit_parameters_t *parameters,
                                          const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  const tacit_aware_provider_t *of = tacit_aware_provider(s);
  if (s->max_rows > 1 && s->may_drop) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_rows",
                           "of units of several rows all rows must count: none may be dropped");
  }
  tacit_status_t status = check_curator(curator, s, err);
  TACIT_THEN(status, check_size(curator, parameters, s, err));
  TACIT_THEN(status, of->check(s, parameters, err));
  TACIT_THEN(status, check_prior(parameters, parameters->dim - tacit_aware_n_extra(s), err));
  if (status == TACIT_OK &&
      (!(s->rho > 0 && isfinite(s->rho)) || s->n_chains < 1 || s->n_draws < 1 || s->thin < 1)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "settings",
        "noise-aware regression needs a finite rho above 0 and at least one chain, draw and thin");
  }
  bool is_checked =
      of->is_regression || curator != NULL; /* else it goes by the prior, which may be another */
  return status == TACIT_OK && is_checked ? of->check_budget(s, err) : status;
}
