/*
 * Fits of one program at several sites: what each site's releases say of theta, and nothing else enters.
 * Common parameters: the product of these, and one prior. Parameters that differ: exchange.c.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/program.h"
#include "noise_aware/sites.h"

/* What is left of a site once its releases are read. */
typedef struct site {
  const tacit_program_likelihood_t *likelihood;
  double n, theta[PARAMETERS]; /* theta: where its own posterior is highest */
  double told[PARAMETERS];     /* information of a record about each parameter, the others known */
} site_t;

static double log_likelihood(void *of, const double *theta) {
  return tacit_program_log_likelihood(((const site_t *)of)->likelihood, theta, NULL, NULL);
}

static void look(void *of, double *at, double *slope, double *precision) {
  const site_t *site = of;
  size_t d = site->likelihood->d;
  memcpy(at, site->theta, d * sizeof *at);
  memset(slope, 0, d * sizeof *slope);
  memset(precision, 0, d * d * sizeof *precision);
  (void)tacit_program_log_likelihood(site->likelihood, at, slope, precision);
}

static const tacit_aware_site_kind_t sites_of_programs = {.log_likelihood = log_likelihood, .look = look};

static void keep_worst(const tacit_program_said_t *of, bool is_first, tacit_program_said_t *worst) {
  *worst = is_first ? *of
                    : (tacit_program_said_t){.last_step = fmax(worst->last_step, of->last_step),
                                             .information = fmin(worst->information, of->information),
                                             .lost = fmax(worst->lost, of->lost),
                                             .bend = fmax(worst->bend, of->bend)};
}

/* likelihood and site <- by its releases; run is for its use. */
static tacit_status_t read_site(tacit_program_run_t *run, const tacit_noise_aware_settings_t *settings,
                                tacit_program_likelihood_t *likelihood, site_t *site, tacit_error_t *err) {
  *run = (tacit_program_run_t){.parameters = run->parameters, .settings = settings};
  tacit_status_t status = tacit_program_learn(run, err);
  tacit_public_close(&run->public);
  run->public = (tacit_public_t){0};
  if (status != TACIT_OK) {
    return status;
  }
  *likelihood = run->own;
  *site = (site_t){.likelihood = likelihood, .n = run->n};
  size_t d = run->own.d;
  double slope[MATRIX];
  memcpy(site->theta, run->theta, sizeof site->theta);
  tacit_multiply(d, d, d, run->seen.steep, run->own.at[0].back, slope);
  for (size_t i = 0; i < d * d; i++) { /* the diagonal of back' J back / n */
    site->told[i % d] += run->own.at[0].back[i] * slope[i] / run->n;
  }
  return TACIT_OK;
}

/* scales (d) <- the root of what a record of all sites together tells of each parameter. */
static void pool(const site_t *sites, size_t n, size_t d, tacit_feature_scale_t *scales) {
  for (size_t j = 0; j < d; j++) {
    double told = 0, units = 0;
    for (size_t i = 0; i < n; i++) {
      told += sites[i].n * sites[i].told[j];
      units += sites[i].n;
    }
    scales[j] = (tacit_feature_scale_t){.sd = sqrt(told / units)};
  }
}

static tacit_status_t draw_differing(site_t *read, tacit_aware_together_t *together,
                                     const tacit_feature_scale_t *scales, tacit_draws_t *draws,
                                     tacit_error_t *err) {
  tacit_aware_site_t *sites = tacit_alloc(together->n, sizeof *sites);
  double mean[PARAMETERS], cov[MATRIX];
  if (sites == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < together->n; i++) {
    sites[i] = (tacit_aware_site_t){&read[i], read[i].n};
  }
  together->kind = &sites_of_programs;
  together->sites = sites;
  together->scales = scales;
  tacit_status_t status = tacit_aware_together(together, draws, mean, cov, err);
  tacit_free(sites);
  return status;
}

tacit_status_t tacit_program_combine(const tacit_noise_aware_settings_t *settings,
                                     tacit_aware_together_t *together, tacit_feature_scale_t *scales,
                                     tacit_draws_t *draws, tacit_error_t *err) {
  size_t n = together->n;
  site_t *sites = tacit_alloc_zero(n, sizeof *sites);
  tacit_program_likelihood_t *likelihoods = tacit_alloc_zero(n, sizeof *likelihoods);
  tacit_program_run_t *run = tacit_alloc_zero(1, sizeof *run);
  tacit_program_said_t worst = {0};
  tacit_status_t status =
      sites != NULL && likelihoods != NULL && run != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    run->parameters = together->parameters;
    status = read_site(run, &settings[i], &likelihoods[i], &sites[i], err);
    keep_worst(&run->said, i == 0, &worst);
  }
  if (status == TACIT_OK) {
    run->settings = settings;
    run->said = worst;
    run->likelihoods = likelihoods;
    run->n_likelihoods = n;
    pool(sites, n, together->d, scales);
    status = together->between > 0 ? draw_differing(sites, together, scales, draws, err)
                                   : tacit_program_draw(run, draws, err);
  }
  TACIT_THEN(status, tacit_program_end(run, !(together->between > 0), err));
  tacit_free(run);
  tacit_free(likelihoods);
  tacit_free(sites);
  return status;
}
