/*
 * The skeleton of every fit: how many units there are, how many rows they have, features, the prior's scale,
 * scores, draws, what is said of them, what the same records would tell without noise, effects of groups. Of
 * several sites the product of the likelihoods of their releases, under one prior.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "noise_aware/effects.h"
#include "noise_aware/engine.h"

bool tacit_aware_goes_on(const tacit_noise_aware_settings_t *settings, size_t done, double accept_rate) {
  tacit_progress_t progress = {done, settings->n_warmup + settings->n_draws * settings->thin, accept_rate};
  return settings->progress == NULL || settings->progress(&progress, settings->progress_user);
}

tacit_status_t tacit_aware_may_start(const tacit_noise_aware_settings_t *settings, tacit_error_t *err) {
  return tacit_aware_goes_on(settings, 0, 1) ? TACIT_OK
                                             : tacit_error_set(err, TACIT_ERR_INTERRUPTED, "progress",
                                                               "interrupted before the first iteration");
}

/* ---- sites ---- */

void tacit_aware_close(tacit_aware_fit_t *fit) {
  for (size_t i = 0; fit != NULL && fit->sites != NULL && i < fit->n; i++) {
    if (fit->sites[i].of != NULL && fit->provider->clear != NULL) {
      fit->provider->clear(fit->sites[i].of);
    }
    tacit_free(fit->sites[i].of);
  }
  tacit_free(fit != NULL ? fit->sites : NULL);
  tacit_free(fit);
}

tacit_status_t tacit_aware_open(const tacit_noise_aware_settings_t *settings, size_t n,
                                const tacit_parameters_t *parameters, tacit_aware_fit_t **fit,
                                tacit_error_t *err) {
  tacit_aware_fit_t *of = *fit = tacit_alloc_zero(1, sizeof **fit);
  if (of == NULL) {
    return tacit_error_memory(err);
  }
  of->provider = tacit_aware_provider(settings);
  of->n = n;
  of->common = (tacit_aware_common_t){.d = parameters->dim - tacit_aware_n_extra(settings),
                                      .parameters = parameters,
                                      .settings = settings,
                                      .scales = of->scales,
                                      .mean = of->mean,
                                      .cov = of->cov};
  of->sites = tacit_alloc_zero(n, sizeof *of->sites);
  bool ok = of->sites != NULL;
  for (size_t i = 0; i < n && ok; i++) {
    of->sites[i].parameters = parameters;
    of->sites[i].settings = &settings[i];
    of->sites[i].is_alone = n == 1;
    of->sites[i].of = tacit_alloc_zero(1, of->provider->size);
    ok = of->sites[i].of != NULL;
  }
  return ok ? TACIT_OK : tacit_error_memory(err);
}

/* ---- releases ---- */

tacit_curator_t *tacit_aware_curator(const tacit_aware_site_t *site) {
  return site->settings->releases->n_taken < site->n_kept ? NULL : site->curator;
}

static tacit_status_t learn_count(tacit_aware_site_t *site, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *settings = site->settings;
  tacit_curator_t *curator = tacit_aware_curator(site);
  double n = 0, noise_sd = 0, multiplier = schedule_multiplier(settings->rho, share_count);
  tacit_status_t status = TACIT_OK;
  site->count = (tacit_aware_count_t){0};
  if (settings->relation == TACIT_RELATION_SUBSTITUTE) {
    status = tacit_aware_n_units(curator, settings, &site->count.n, err);
  }
  if (status != TACIT_OK || !tacit_aware_is_count_private(settings)) {
    return status;
  }
  status = tacit_aware_may_start(settings, err);
  TACIT_THEN(status, tacit_aware_release_count(curator, settings, multiplier, &n, &noise_sd, err));
  n = fmax(n, fmax(noise_sd, 1)); /* no number of records must end a run */
  site->count = (tacit_aware_count_t){n, noise_sd / n};
  return status;
}

tacit_status_t tacit_aware_learn_units(tacit_aware_site_t *site, tacit_error_t *err) {
  tacit_status_t status = learn_count(site, err);
  if (tacit_aware_provider(site->settings)->counts_unit_rows) {
    TACIT_THEN(status, tacit_aware_learn_rows(tacit_aware_curator(site), site->settings, site->count,
                                              &site->unit_rows, err));
  }
  return status;
}

/* All that is learned before the prior's scale is known. */
static tacit_status_t learn_features(const tacit_aware_provider_t *of, tacit_aware_site_t *site,
                                     tacit_error_t *err) {
  tacit_status_t status = of->open != NULL ? of->open(site, err) : TACIT_OK;
  TACIT_THEN(status, tacit_aware_learn_units(site, err));
  return status == TACIT_OK && of->learn_features != NULL ? of->learn_features(site, err) : status;
}

static tacit_status_t learn_scores(const tacit_aware_provider_t *of, tacit_aware_site_t *site,
                                   tacit_error_t *err) {
  return of->learn_scores != NULL ? of->learn_scores(site, err) : TACIT_OK;
}

/* All that was asked for so far is asked for in the same way again, and is there. */
static tacit_status_t begin_again(const tacit_aware_provider_t *of, tacit_aware_site_t *site,
                                  tacit_error_t *err) {
  tacit_releases_t *releases = site->settings->releases;
  site->n_kept = site->curator != NULL ? releases->n : 0; /* without one all are there */
  site->has_begun_again = true;
  releases->n_taken = 0;
  of->clear(site->of);
  memset(site->of, 0, of->size);
  tacit_status_t status = learn_features(of, site, err);
  return status == TACIT_OK ? learn_scores(of, site, err) : status;
}

void tacit_aware_pool_scales(tacit_aware_fit_t *fit) {
  for (size_t j = 0; j < fit->common.d; j++) {
    double units = 0, mean = 0, square = 0, doubt = 0, effect = 0;
    for (size_t i = 0; i < fit->n; i++) {
      const tacit_feature_scale_t *s = &fit->sites[i].scales[j];
      double n = fit->sites[i].count.n, variance = s->sd * s->sd,
             uncertainty = n * variance * s->relative_error;
      units += n;
      mean += n * s->mean;
      square += n * (variance + s->mean * s->mean);
      doubt += uncertainty * uncertainty;
      effect = fmax(effect, s->effect);
    }
    mean /= units;
    double variance = square / units - mean * mean;
    fit->scales[j] =
        (tacit_feature_scale_t){.mean = mean,
                                .sd = sqrt(fmax(variance, 0)),
                                .relative_error = variance > 0 ? sqrt(doubt) / units / variance : 0,
                                .effect = effect};
  }
}

/* What features of all sites together are like. */
static void pool(tacit_aware_fit_t *fit) {
  fit->common.mean_noise = fit->sites->mean_noise;
  fit->common.eigenvalue = fit->sites->eigenvalue;
  if (!fit->is_combined) {
    memcpy(fit->scales, fit->sites->scales, sizeof fit->scales);
    return;
  }
  double noise = 0, units = 0;
  for (size_t i = 0; i < fit->n; i++) {
    const tacit_aware_site_t *site = &fit->sites[i];
    noise += site->count.n * site->mean_noise * (site->count.n * site->mean_noise);
    units += site->count.n;
    fit->common.eigenvalue = fmin(fit->common.eigenvalue, site->eigenvalue);
  }
  fit->common.mean_noise = sqrt(noise) / units;
  if (fit->provider->pool != NULL) {
    fit->between *= fit->provider->pool(fit);
  } else {
    tacit_aware_pool_scales(fit);
  }
}

tacit_status_t tacit_aware_learn(tacit_aware_fit_t *fit, tacit_error_t *err) {
  const tacit_aware_provider_t *of = fit->provider;
  const tacit_noise_aware_settings_t *settings = fit->common.settings;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < fit->n && status == TACIT_OK; i++) {
    status = learn_features(of, &fit->sites[i], err);
  }
  if (status == TACIT_OK && of->is_regression) {
    pool(fit);
    if (settings->scaled != NULL) {
      settings->scaled(settings->prior_user, fit->scales);
    }
  }
  for (size_t i = 0; i < fit->n && status == TACIT_OK; i++) {
    status = learn_scores(of, &fit->sites[i], err);
  }
  if (status == TACIT_OK && of->must_begin_again != NULL && of->must_begin_again(fit->sites)) {
    status = begin_again(of, fit->sites, err);
  }
  for (size_t i = 0; i < fit->n && status == TACIT_OK; i++) {
    status = tacit_aware_learn_contrast(of, &fit->sites[i], err);
  }
  if (status == TACIT_OK && !of->is_regression) { /* what a record tells of a parameter is known by scores */
    pool(fit);
  }
  return status;
}

/* ---- draws, and what is said of them ---- */

/* Does tacit_aware_together() draw? */
static bool is_by_effects(const tacit_aware_fit_t *fit) {
  return fit->is_combined && (fit->between > 0 || fit->provider->renew != NULL);
}

static double worst_contrast(const tacit_aware_fit_t *fit) {
  double worst = 0;
  for (size_t i = 0; i < fit->n; i++) {
    worst = fmax(worst, fit->sites[i].contrast);
  }
  return worst;
}

static tacit_status_t conclude(const tacit_aware_fit_t *fit, tacit_error_t *err) {
  enum { D = TACIT_NOISE_AWARE_MAX_FEATURES };
  double precision[D * D] = {0};
  tacit_evidence_t *evidence = fit->common.settings->evidence;
  bool is_known = evidence != NULL && fit->provider->add_information != NULL &&
                  !(fit->between > 0); /* else intervals are wide by what sites differ */
  tacit_status_t status = evidence != NULL ? fit->provider->conclude(fit, evidence, err) : TACIT_OK;
  if (status == TACIT_OK && evidence != NULL && tacit_aware_has_clusters(fit->common.settings)) {
    tacit_checks_add(&evidence->checks, TACIT_CHECK_MORE_ROWS, SIZE_MAX, worst_contrast(fit));
  }
  for (size_t i = 0; i < fit->n && is_known && status == TACIT_OK; i++) {
    is_known = fit->provider->add_information(fit, i, precision);
  }
  if (status == TACIT_OK && is_known) {
    tacit_aware_noise_factors(&fit->common, precision);
  }
  return status == TACIT_OK && evidence != NULL ? tacit_aware_check_allowed(fit, evidence, err) : status;
}

/* mean and cov (dim, dim) of all parameters, log sigma taken to be independent of the others. */
static void find_moments(const tacit_aware_fit_t *fit, double *mean, double *cov) {
  const tacit_parameters_t *parameters = fit->common.parameters;
  const tacit_draws_t *draws = fit->draws;
  size_t d = fit->common.d, dim = parameters->dim, n_kept = tacit_draws_n_kept(draws), n = 0;
  double theta[TACIT_AWARE_MAX_DIM] = {0}, unit[TACIT_AWARE_MAX_DIM], square = 0;
  memcpy(mean, fit->mean, d * sizeof *mean);
  for (size_t i = 0; i < d * d; i++) {
    cov[i / d * dim + i % d] = fit->cov[i];
  }
  if (dim == d) {
    return;
  }
  parameters->report(parameters->ctx, theta, unit);
  for (size_t i = 0; i < draws->n_chains * n_kept; i++) {
    const double *row = tacit_draws_row(draws, i / n_kept, draws->n_warmup + i % n_kept);
    double log_sigma = log(row[d] / unit[d]), from = log_sigma - mean[d];
    mean[d] += from / (double)++n;
    square += from * (log_sigma - mean[d]);
  }
  cov[d * dim + d] = n > 1 ? square / (double)(n - 1) : 1;
}

static tacit_status_t draw_effects(const tacit_aware_fit_t *fit, tacit_error_t *err) {
  double mean[TACIT_AWARE_MAX_DIM] = {0}, cov[TACIT_AWARE_MAX_DIM * TACIT_AWARE_MAX_DIM] = {0};
  find_moments(fit, mean, cov);
  return tacit_effects_walk(&(tacit_effects_start_t){fit->common.parameters->dim, mean, cov,
                                                     fit->provider->log_density, fit->sites->of,
                                                     fit->common.parameters, fit->common.settings},
                            fit->draws, err);
}

static tacit_status_t run(tacit_aware_fit_t *fit, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *settings = fit->common.settings;
  size_t n_columns =
      is_by_effects(fit) ? tacit_aware_together_columns(fit) : fit->common.parameters->n_reported;
  tacit_status_t status =
      tacit_draws_init(fit->draws, settings->n_chains, settings->n_warmup, settings->n_draws, n_columns, err);
  TACIT_THEN(status, tacit_aware_learn(fit, err));
  TACIT_THEN(status, is_by_effects(fit) ? tacit_aware_together(fit, err) : fit->provider->draw(fit, err));
  TACIT_THEN(status, conclude(fit, err));
  return status == TACIT_OK && settings->effects != NULL && !fit->is_combined ? draw_effects(fit, err)
                                                                              : status;
}

tacit_status_t tacit_noise_aware_fit(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                     const tacit_noise_aware_settings_t *settings, tacit_draws_t *draws,
                                     tacit_error_t *err) {
  tacit_noise_aware_settings_t own = *settings; /* releases are kept for a run that is begun again */
  tacit_releases_t kept = {0};
  tacit_aware_fit_t *fit = NULL;
  *draws = (tacit_draws_t){0};
  tacit_status_t status = tacit_aware_check_settings(curator, parameters, settings, err);
  if (status != TACIT_OK) {
    return status;
  }
  own.releases = settings->releases != NULL ? settings->releases : &kept;
  own.releases->n_taken = 0;
  if (curator != NULL) {
    tacit_releases_clear(own.releases);
    own.releases->dim = parameters->dim - tacit_aware_n_extra(settings);
  }
  status = tacit_aware_open(&own, 1, parameters, &fit, err);
  if (status == TACIT_OK) {
    fit->draws = draws;
    fit->sites->curator = curator;
    status = run(fit, err);
  }
  tacit_aware_close(fit);
  tacit_releases_clear(&kept);
  return status;
}

tacit_status_t tacit_noise_aware_combine(const tacit_noise_aware_settings_t *sites, size_t n, double between,
                                         const tacit_parameters_t *parameters, tacit_draws_t *draws,
                                         tacit_error_t *err) {
  tacit_aware_fit_t *fit = NULL;
  tacit_status_t status = TACIT_OK;
  *draws = (tacit_draws_t){0};
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    sites[i].releases->n_taken = 0;
    status = tacit_aware_check_settings(NULL, parameters, &sites[i], err);
  }
  if (status == TACIT_OK && parameters->dim > TACIT_NOISE_AWARE_MAX_NARROW + tacit_aware_n_extra(sites)) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim",
                             "releases of several sites are combined for at most %d features, the intercept "
                             "included; there are %zu",
                             (int)TACIT_NOISE_AWARE_MAX_NARROW, parameters->dim);
  }
  TACIT_THEN(status, tacit_aware_open(sites, n, parameters, &fit, err));
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    fit->sites[i].is_alone = false;
  }
  if (status == TACIT_OK) {
    fit->is_combined = true;
    fit->between = between;
    fit->draws = draws;
    status = run(fit, err);
  }
  tacit_aware_close(fit);
  return status;
}
