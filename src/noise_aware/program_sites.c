/*
 * Fits of one program at several sites: each site's releases say theta_i ~ N(root, cov), and nothing else enters. Common parameters: the product of
 * these, which is normal, and one prior. Parameters that differ: exchange.c.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"
#include "noise_aware/sites.h"

/* What is left of a site once its releases are read. */
typedef struct site {
  tacit_program_normal_t normal;
  double n, moved2, excess, bend, unknown;
  double told[TACIT_NOISE_AWARE_MAX_NARROW]; /* information of a record about each parameter, the others known */
} site_t;

static double log_likelihood(void *of, const double *theta) {
  const tacit_program_normal_t *normal = &((const site_t *)of)->normal;
  double off[TACIT_NOISE_AWARE_MAX_NARROW], solved[TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t j = 0; j < normal->d; j++) {
    off[j] = theta[j] - normal->theta[j];
  }
  tacit_program_apply(normal->d, normal->precision, off, solved);
  return -0.5 * tacit_dot(normal->d, off, solved);
}

static void look(void *of, double *at, double *slope, double *precision) {
  const tacit_program_normal_t *normal = &((const site_t *)of)->normal;
  size_t d = normal->d;
  memcpy(at, normal->theta, d * sizeof *at);
  memset(slope, 0, d * sizeof *slope);
  memcpy(precision, normal->precision, d * d * sizeof *precision);
}

static const tacit_aware_site_kind_t sites_of_programs = {.log_likelihood = log_likelihood, .look = look};

/* run is for its use, and holds the last site's afterwards. */
static tacit_status_t read_site(tacit_program_run_t *run, const tacit_noise_aware_settings_t *settings, site_t *site, tacit_error_t *err) {
  double factor[MATRIX];
  *run = (tacit_program_run_t){.parameters = run->parameters, .settings = settings};
  tacit_status_t status = tacit_program_learn(run, err);
  size_t d = run->public.d;
  if (status == TACIT_OK) {
    *site = (site_t){run->normal, run->n, run->moved2, run->excess, run->bend, run->public.unknown, {0}};
    tacit_invert_lower(d, run->whiten, factor);
    for (size_t j = 0; j < d; j++) {
      site->told[j] = tacit_dot(j + 1, factor + j * d, factor + j * d);
    }
  }
  tacit_public_close(&run->public);
  return status;
}

/* run <- the product of all sites' normals; what is worst of a site, is so of all. */
static tacit_status_t multiply(tacit_program_run_t *run, const site_t *sites, size_t n, tacit_error_t *err) {
  tacit_program_normal_t *all = &run->normal;
  size_t d = all->d;
  double sum[TACIT_NOISE_AWARE_MAX_NARROW] = {0}, part[TACIT_NOISE_AWARE_MAX_NARROW];
  memset(all->precision, 0, sizeof all->precision);
  run->moved2 = run->excess = run->bend = run->public.unknown = 0;
  for (size_t i = 0; i < n; i++) {
    tacit_program_apply(d, sites[i].normal.precision, sites[i].normal.theta, part);
    for (size_t j = 0; j < d; j++) {
      sum[j] += part[j];
    }
    for (size_t a = 0; a < d * d; a++) {
      all->precision[a] += sites[i].normal.precision[a];
    }
    run->moved2 = fmax(run->moved2, sites[i].moved2);
    run->excess = fmax(run->excess, sites[i].excess);
    run->bend = fmax(run->bend, sites[i].bend);
    run->public.unknown = fmax(run->public.unknown, sites[i].unknown);
  }
  memcpy(all->cov, all->precision, d * d * sizeof *all->cov);
  if (!tacit_program_invert_positive(d, all->cov)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the sites' releases together do not tell how uncertain they are");
  }
  tacit_program_apply(d, all->cov, sum, all->theta);
  memcpy(run->theta, all->theta, sizeof run->theta);
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

static tacit_status_t draw_differing(site_t *read, tacit_aware_together_t *together, const tacit_feature_scale_t *scales, tacit_draws_t *draws,
                                     tacit_error_t *err) {
  tacit_aware_site_t *sites = tacit_alloc(together->n, sizeof *sites);
  double mean[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX];
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

tacit_status_t tacit_program_combine(const tacit_noise_aware_settings_t *settings, tacit_aware_together_t *together, tacit_feature_scale_t *scales,
                                     tacit_draws_t *draws, tacit_error_t *err) {
  size_t n = together->n;
  site_t *sites = tacit_alloc_zero(n, sizeof *sites);
  tacit_program_run_t *run = tacit_alloc_zero(1, sizeof *run);
  tacit_status_t status = sites != NULL && run != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    run->parameters = together->parameters;
    status = read_site(run, &settings[i], &sites[i], err);
  }
  if (status == TACIT_OK) {
    run->settings = settings;
    status = multiply(run, sites, n, err);
  }
  if (status == TACIT_OK) {
    pool(sites, n, together->d, scales);
    status = together->between > 0 ? draw_differing(sites, together, scales, draws, err) : tacit_program_draw(run, draws, err);
  }
  if (status == TACIT_OK) {
    status = tacit_program_end(run, !(together->between > 0), err);
  }
  tacit_free(run);
  tacit_free(sites);
  return status;
}
