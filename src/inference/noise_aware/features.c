/* Rows of features as what was released tells of them: normal in shape, two-valued where that is public, with
 * moments drawn from their posterior. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/scores.h"

enum { D = TACIT_NOISE_AWARE_MAX_NARROW, N_ALLOWANCES = 100 };

/* Means nearer to a bound are not sought, nor latent moments further out, in half ranges. */
static const double most_mean = 0.98, most_latent = 4;

static const double root_two_pi = 2.506628274631000502;

/* Those that are wanted, and their moments. */
typedef struct wanted {
  size_t p, at[D];
  bool is_two_valued[D];
  tacit_feature_makeup_t makeup[D];
  double mean[D], cov[D * D];
} wanted_t;

/* Where feature j is among those that are wanted, from 1; 0: nowhere. */
static size_t place_of(const wanted_t *wanted, size_t j) {
  size_t place = 0;
  for (size_t i = 0; i < wanted->p; i++) {
    place = wanted->at[i] == j ? i + 1 : place;
  }
  return place;
}

static tacit_feature_makeup_t makeup_among(const wanted_t *wanted, tacit_feature_makeup_t makeup) {
  makeup.first = place_of(wanted, makeup.first);
  makeup.second = place_of(wanted, makeup.second);
  makeup.first = makeup.second > 0 ? makeup.first : 0;
  return makeup;
}

static wanted_t choose(const tacit_noise_aware_settings_t *settings, const bool *is_wanted, size_t d) {
  wanted_t out = {.p = 0};
  for (size_t j = 1; j < d; j++) {
    if (is_wanted[j]) {
      out.is_two_valued[out.p] = settings->is_two_valued != NULL && settings->is_two_valued[j];
      if (settings->makeup != NULL) {
        out.makeup[out.p] = makeup_among(&out, settings->makeup[j]);
      }
      out.at[out.p++] = j;
    }
  }
  return out;
}

/* ---- moments drawn from what a surrogate leaves open ---- */

/* weights (n_rows) <- those of the pseudo-rows with the means of Q drawn from N(e, V), their posterior; not
 * negative, of sum 1. */
static void draw_weights(const tacit_surrogate_t *s, tacit_rng_t *rng, double *work, double *weights) {
  size_t q = s->n_basis;
  double *factor = work, *mean = work + q * q, *z = mean + q, sum = 0;
  memcpy(factor, s->basis_cov, q * q * sizeof *factor);
  bool has_factor = tacit_cholesky(q, factor);
  for (size_t a = 0; a < q; a++) {
    z[a] = tacit_rng_normal(rng);
  }
  for (size_t a = 0; a < q; a++) { /* without a factor a coordinate's own sd: wider, if anything */
    double noise =
        has_factor ? tacit_dot(a + 1, factor + a * q, z) : sqrt(fmax(s->basis_cov[a * q + a], 0)) * z[a];
    mean[a] = s->basis_shift[a] + noise;
  }
  for (size_t k = 0; k < s->n_rows; k++) {
    weights[k] = fmax(s->weight[k] * (1 + tacit_dot(q, s->basis + k * q, mean)), 0);
    sum += weights[k];
  }
  for (size_t k = 0; k < s->n_rows; k++) {
    weights[k] /= sum;
  }
}

static void weigh_moments(const tacit_surrogate_t *s, const double *weights, double *mean, double *cov) {
  size_t p = s->d - 1, n = s->n_rows;
  for (size_t i = 0; i < p; i++) {
    const double *x = s->x + (i + 1) * n;
    mean[i] = tacit_dot(n, weights, x);
    for (size_t j = 0; j <= i; j++) {
      const double *y = s->x + (j + 1) * n;
      double sum = 0;
      for (size_t k = 0; k < n; k++) {
        sum += weights[k] * (x[k] - mean[i]) * (y[k] - mean[j]);
      }
      cov[i * p + j] = cov[j * p + i] = sum;
    }
  }
}

tacit_status_t tacit_scores_draw_moments(tacit_aware_site_t *site, tacit_rng_t *rng, double *mean,
                                         double *cov, tacit_error_t *err) {
  tacit_surrogate_t s = {0};
  double *memory = NULL;
  tacit_status_t status = tacit_surrogate_init(&s, NULL, site->settings, site->count, false, rng, err);
  if (status == TACIT_OK) {
    memory = tacit_alloc_zero(s.n_rows + s.n_basis * s.n_basis + 2 * s.n_basis, sizeof *memory);
    status = memory != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  if (status == TACIT_OK) {
    tacit_surrogate_scales(&s, site->scales);
    draw_weights(&s, rng, memory + s.n_rows, memory);
    weigh_moments(&s, memory, mean, cov);
  }
  tacit_free(memory);
  tacit_surrogate_clear(&s);
  return status;
}

/* ---- rows of these moments ---- */

/* rows (n, d): features that are not wanted are 0. */
static void spread_out(size_t n, size_t d, const size_t *at, size_t p, double *rows) {
  for (size_t k = n; k-- > 0;) { /* from the end: narrow rows make room as they go */
    double narrow[TACIT_NOISE_AWARE_MAX_NARROW], *wide = rows + k * d;
    memcpy(narrow, rows + k * (p + 1), (p + 1) * sizeof *narrow);
    memset(wide, 0, d * sizeof *wide);
    wide[0] = 1;
    for (size_t i = 0; i < p; i++) {
      wide[at[i]] = narrow[i + 1];
    }
  }
}

/* Mean and sd of a normal number of this mean and sd that is moved to [-1, 1]. */
static void clamped_moments(double mean, double sd, double *clamped_mean, double *clamped_sd) {
  double low = (-1 - mean) / sd, high = (1 - mean) / sd;
  double below = 0.5 * erfc(-low * sqrt(0.5)), above = 0.5 * erfc(high * sqrt(0.5)),
         within = 1 - below - above;
  double at_low = exp(-0.5 * low * low) / root_two_pi, at_high = exp(-0.5 * high * high) / root_two_pi;
  double first = above - below + mean * within + sd * (at_low - at_high);
  double second = above + below + (mean * mean + sd * sd) * within + 2 * mean * sd * (at_low - at_high) +
                  sd * sd * (low * at_low - high * at_high);
  *clamped_mean = first;
  *clamped_sd = sqrt(fmax(second - first * first, 1e-12));
}

/* Moments of what is not clamped yet such that what is has those that are wanted, as far as bounds let it. */
static void allow_for_bounds(wanted_t *of) {
  for (size_t i = 0; i < of->p; i++) {
    double wanted_sd = sqrt(of->cov[i * of->p + i]),
           wanted_mean = fmin(fmax(of->mean[i], -most_mean), most_mean), mean = wanted_mean, sd = wanted_sd;
    for (int n = 0; n < N_ALLOWANCES && wanted_sd > 0 && !of->is_two_valued[i]; n++) {
      double has_mean, has_sd;
      clamped_moments(mean, sd, &has_mean, &has_sd);
      mean = fmin(fmax(mean + wanted_mean - has_mean, -most_latent), most_latent);
      sd = fmin(sd * wanted_sd / has_sd, most_latent);
    }
    of->mean[i] = of->is_two_valued[i] ? of->mean[i] : mean;
    for (size_t j = 0; j < of->p && wanted_sd > 0; j++) {
      of->cov[i * of->p + j] *= sd / wanted_sd;
      of->cov[j * of->p + i] *= sd / wanted_sd;
    }
  }
}

static tacit_status_t make_rows(wanted_t *of, size_t n, size_t d, tacit_rng_t *rng, double *rows,
                                tacit_error_t *err) {
  size_t p = of->p;
  tacit_shape_t shape = {p, of->is_two_valued, of->makeup, of->mean, of->cov, 0};
  double work[6 * D * D + 4 * D];
  double *normals = tacit_alloc(n, (p + 1) * sizeof *normals);
  if (normals == NULL) {
    return tacit_error_memory(err);
  }
  tacit_raise_eigenvalues(p, of->cov, 1e-6, work);
  allow_for_bounds(of);
  for (size_t i = 0; i < n * p; i++) {
    normals[i] = tacit_rng_normal(rng);
  }
  tacit_population(&shape, n, normals, rows, work);
  spread_out(n, d, of->at, p, rows);
  tacit_free(normals);
  return TACIT_OK;
}

/* wanted <- its moments, drawn. */
static tacit_status_t draw_moments(tacit_aware_fit_t *fit, tacit_rng_t *rng, wanted_t *wanted,
                                   tacit_feature_scale_t *scales, tacit_error_t *err) {
  size_t p = fit->common.d - 1;
  double mean[D], cov[D * D];
  tacit_status_t status = tacit_aware_learn_units(fit->sites, err);
  TACIT_THEN(status, fit->provider->draw_moments(fit->sites, rng, mean, cov, err));
  if (status == TACIT_OK) {
    memcpy(scales, fit->sites->scales, fit->common.d * sizeof *scales);
    for (size_t i = 0; i < wanted->p; i++) {
      wanted->mean[i] = mean[wanted->at[i] - 1];
      for (size_t j = 0; j < wanted->p; j++) {
        wanted->cov[i * wanted->p + j] = cov[(wanted->at[i] - 1) * p + wanted->at[j] - 1];
      }
    }
  }
  return status;
}

tacit_status_t tacit_noise_aware_features(const tacit_noise_aware_settings_t *settings, const bool *is_wanted,
                                          uint64_t stream, size_t n, double *rows,
                                          tacit_feature_scale_t *scales, tacit_error_t *err) {
  tacit_rng_t *rng = NULL;
  tacit_aware_fit_t *fit = NULL;
  if (tacit_aware_has_clusters(settings)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "unit",
        "rows of one unit hang together, and rows are made one by one: fits of units of several rows are no "
        "source of them");
  }
  if (tacit_aware_provider(settings)->draw_moments == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "records",
                           "of a program's columns only moments of what enters it are known: no rows can be "
                           "made of them");
  }
  if (settings->releases->dim > TACIT_NOISE_AWARE_MAX_NARROW) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "formula",
        "rows are made of fits of at most %d features, the intercept included; this one has %zu",
        (int)TACIT_NOISE_AWARE_MAX_NARROW, settings->releases->dim);
  }
  settings->releases->n_taken = 0;
  size_t d = settings->releases->dim;
  const tacit_parameters_t sizes = {.dim = d + tacit_aware_n_extra(settings)};
  wanted_t wanted = choose(settings, is_wanted, d);
  tacit_status_t status = tacit_aware_open(settings, 1, &sizes, &fit, err);
  TACIT_THEN(status, tacit_rng_new(&rng, settings->key, stream, err));
  TACIT_THEN(status, draw_moments(fit, rng, &wanted, scales, err));
  TACIT_THEN(status, make_rows(&wanted, n, d, rng, rows, err));
  tacit_rng_free(rng);
  tacit_aware_close(fit);
  return status;
}
