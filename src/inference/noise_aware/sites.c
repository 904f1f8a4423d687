/* Several sites: the product of the likelihoods of their releases, under one prior. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/gaussian.h"
#include "noise_aware/sites.h"

void tacit_aware_pool_scales(const tacit_feature_scale_t *const *scales, const double *n, size_t n_sites,
                             size_t d, tacit_feature_scale_t *pooled) {
  for (size_t j = 0; j < d; j++) {
    double units = 0, mean = 0, square = 0, doubt = 0;
    for (size_t i = 0; i < n_sites; i++) {
      const tacit_feature_scale_t *s = &scales[i][j];
      double variance = s->sd * s->sd, uncertainty = n[i] * variance * s->relative_error;
      units += n[i];
      mean += n[i] * s->mean;
      square += n[i] * (variance + s->mean * s->mean);
      doubt += uncertainty * uncertainty;
    }
    mean /= units;
    double variance = square / units - mean * mean;
    pooled[j] = (tacit_feature_scale_t){mean, sqrt(fmax(variance, 0)),
                                        variance > 0 ? sqrt(doubt) / units / variance : 0};
  }
}

/* ---- sites of released scores ---- */

static double log_likelihood(void *site, const double *theta) {
  return tacit_aware_posterior_log_likelihood(&((tacit_aware_run_t *)site)->posterior, theta);
}

static void look(void *site, double *at, double *slope, double *precision) {
  tacit_aware_run_t *run = site;
  memcpy(at, run->theta, run->surrogate.d * sizeof *at);
  tacit_aware_posterior_likelihood_shape(&run->posterior, at, slope, precision);
}

static const tacit_aware_site_kind_t scores = {.log_likelihood = log_likelihood, .look = look};

/* As if all units were behind one surrogate: what is least known of a site, is so of all. */
static void check_sites(tacit_aware_run_t *runs, size_t n, bool is_common,
                        const tacit_feature_scale_t *scales) {
  tacit_surrogate_t surrogate = runs->surrogate;
  tacit_rounds_t rounds = runs->rounds;
  double units = 0, mean_noise = 0, count_noise = 0, moved2 = 0;
  for (size_t i = 0; i < n; i++) {
    double noise = runs[i].count.n * runs[i].surrogate.mean_noise;
    units += runs[i].count.n;
    mean_noise += noise * noise;
    count_noise += runs[i].rounds.count_noise * runs[i].rounds.count_noise;
    moved2 = fmax(moved2, runs[i].moved2);
    rounds.moved = fmax(rounds.moved, runs[i].rounds.moved);
    runs->has_normal_tails = runs->has_normal_tails || runs[i].has_normal_tails;
    surrogate.eigenvalue = fmin(surrogate.eigenvalue, runs[i].surrogate.eigenvalue);
  }
  surrogate.mean_noise = sqrt(mean_noise) / units;
  rounds.surrogate = &surrogate;
  rounds.n = units;
  rounds.count_noise = sqrt(count_noise);
  const tacit_aware_end_t end = {{surrogate.d, runs->parameters, runs->settings, scales, runs->mean,
                                  runs->cov, surrogate.mean_noise, surrogate.eigenvalue},
                                 &rounds,
                                 moved2,
                                 INFINITY,
                                 0,
                                 runs->has_normal_tails};
  tacit_aware_check(&end);
  if (is_common) { /* else intervals are wide by what sites differ */
    tacit_aware_run_compare(&end.common, runs, n);
  }
}

/* One set of effects for all sites. */
static tacit_status_t draw_common(tacit_aware_run_t *runs, size_t n, tacit_draws_t *draws,
                                  tacit_error_t *err) {
  for (size_t i = 0; i + 1 < n; i++) {
    runs[i].posterior.next = &runs[i + 1].posterior;
  }
  tacit_status_t status = tacit_aware_run_mode(runs, err);
  return status == TACIT_OK ? tacit_aware_walk(&runs->posterior, runs->theta, runs->factor, draws, runs->mean,
                                               runs->cov, err)
                            : status;
}

static tacit_status_t draw_differing(tacit_aware_run_t *runs, const tacit_aware_together_t *together,
                                     tacit_draws_t *draws, tacit_error_t *err) {
  tacit_aware_site_t *sites = tacit_alloc(together->n, sizeof *sites);
  if (sites == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < together->n; i++) {
    sites[i] = (tacit_aware_site_t){&runs[i], runs[i].count.n};
  }
  tacit_aware_together_t of = *together;
  of.sites = sites;
  tacit_status_t status = tacit_aware_together(&of, draws, runs->mean, runs->cov, err);
  tacit_free(sites);
  return status;
}

static tacit_status_t pool(tacit_aware_run_t *runs, size_t n, tacit_feature_scale_t *pooled,
                           tacit_error_t *err) {
  const tacit_feature_scale_t **scales = tacit_alloc(n, sizeof *scales);
  double *units = tacit_alloc(n, sizeof *units);
  if (scales == NULL || units == NULL) {
    tacit_free(scales);
    tacit_free(units);
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n; i++) {
    scales[i] = runs[i].scales;
    units[i] = runs[i].count.n;
  }
  tacit_aware_pool_scales(scales, units, n, runs->surrogate.d, pooled);
  tacit_free(scales);
  tacit_free(units);
  return TACIT_OK;
}

static tacit_status_t run_sites(tacit_aware_run_t *runs, tacit_aware_together_t *together,
                                tacit_feature_scale_t *scales, tacit_draws_t *draws, tacit_error_t *err) {
  size_t n = together->n;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = tacit_aware_run_features(&runs[i], err);
  }
  TACIT_THEN(status, pool(runs, n, scales, err));
  if (status == TACIT_OK && runs->settings->scaled != NULL) {
    runs->settings->scaled(runs->settings->prior_user, scales);
  }
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = tacit_aware_run_scores(&runs[i], err);
  }
  TACIT_THEN(status, together->between > 0 ? draw_differing(runs, together, draws, err)
                                           : draw_common(runs, n, draws, err));
  if (status == TACIT_OK) {
    check_sites(runs, n, !(together->between > 0), scales);
  }
  return status;
}

static tacit_status_t combine_scores(const tacit_noise_aware_settings_t *settings,
                                     tacit_aware_together_t *together, tacit_feature_scale_t *scales,
                                     tacit_draws_t *draws, tacit_error_t *err) {
  size_t n = together->n;
  tacit_aware_run_t *runs = tacit_alloc_zero(n, sizeof *runs);
  if (runs == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n; i++) {
    runs[i].parameters = together->parameters;
    runs[i].settings = &settings[i];
  }
  tacit_status_t status = run_sites(runs, together, scales, draws, err);
  for (size_t i = 0; i < n; i++) {
    tacit_aware_run_clear(&runs[i]);
  }
  tacit_free(runs);
  return status;
}

/* ---- of every kind ---- */

tacit_status_t tacit_noise_aware_combine(const tacit_noise_aware_settings_t *sites, size_t n, double between,
                                         const tacit_parameters_t *parameters, tacit_draws_t *draws,
                                         tacit_error_t *err) {
  bool is_gaussian = sites->records == NULL && sites->family == TACIT_FAMILY_GAUSSIAN;
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES] = {{0}};
  tacit_aware_together_t together = {.kind = &scores,
                                     .n = n,
                                     .d = parameters->dim - (is_gaussian && !(sites->known_sd > 0)),
                                     .parameters = parameters,
                                     .settings = sites,
                                     .scales = scales,
                                     .between = between};
  tacit_status_t status = TACIT_OK;
  *draws = (tacit_draws_t){0};
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    sites[i].releases->n_taken = 0;
    status = tacit_aware_check_settings(NULL, parameters, &sites[i], err);
  }
  if (status == TACIT_OK && parameters->dim > TACIT_NOISE_AWARE_MAX_NARROW + (size_t)is_gaussian) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim",
                             "releases of several sites are combined for at most %d features, the intercept "
                             "included; there are %zu",
                             (int)TACIT_NOISE_AWARE_MAX_NARROW, parameters->dim);
  }
  if (status == TACIT_OK) {
    size_t n_columns =
        is_gaussian || between > 0 ? tacit_aware_together_columns(&together) : parameters->n_reported;
    status = tacit_draws_init(draws, sites->n_chains, sites->n_warmup, sites->n_draws, n_columns, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  return (is_gaussian              ? tacit_gaussian_combine
          : sites->records != NULL ? tacit_program_combine
                                   : combine_scores)(sites, &together, scales, draws, err);
}
