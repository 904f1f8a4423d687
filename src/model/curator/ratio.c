/* Log-likelihood ratios: differences of log-likelihoods on a grid, so that they are differences of a
 * potential. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "curator/curator_internal.h"

/* T l on the grid at the points that the pass evaluates. */
static void values(const void *ctx, const float *block, size_t n_blocks, double *work, double *const *out) {
  const tacit_curator_t *curator = ctx;
  const tacit_record_model_t *model = curator->model;
  const tacit_kept_t *kept = &curator->kept;
  if (model->log_lik_blocks != NULL) {
    model->log_lik_blocks(model->ctx, block, n_blocks, kept->n_fresh, kept->fresh, work);
  } else {
    for (size_t b = 0; b < n_blocks; b++) {
      model->log_lik(model->ctx, block + b * model->n_columns * 16, kept->n_fresh, kept->fresh,
                     work + b * kept->n_fresh * 16);
    }
  }
  for (size_t i = 0; i < kept->n_fresh; i++) {
    tacit_grid_functions()->grid(curator->settings.temperature_power, n_blocks, work + i * 16,
                                 kept->n_fresh * 16, out[i]);
  }
}

tacit_scalars_t tacit_ratio_scalars(tacit_curator_t *curator, size_t n_pairs) {
  const tacit_kept_t *kept = &curator->kept;
  tacit_kept_plan(curator, n_pairs);
  return (tacit_scalars_t){.n_pairs = n_pairs,
                           .n_fresh = kept->n_fresh,
                           .values = values,
                           .ctx = curator,
                           .n_work = kept->n_fresh * TACIT_DOOR_RUN_BLOCKS * 16,
                           .fresh_at = kept->fresh_at,
                           .before = kept->before,
                           .after = kept->after,
                           .clips = curator->clips,
                           .points = curator->pairs,
                           .n_numbers = 2 * n_pairs * curator->model->dim,
                           .rate = 1,
                           .label = "log-ratio"};
}

static tacit_status_t check_ratio(const tacit_curator_t *curator, size_t n_theta, const double *theta,
                                  const double *theta_prop, tacit_error_t *err) {
  const tacit_record_model_t *model = curator->model;
  if (!tacit_curator_is_exposed(curator) && model->ratio_bound == NULL && !isfinite(model->grad_bound) &&
      !(curator->settings.clip_bound_ratio > 0)) {
    return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_ratio",
                           "the log-likelihood ratio of model %s has no bound of its own: give a clip bound",
                           model->name);
  }
  tacit_status_t status = tacit_curator_check_points(curator, n_theta, theta, err);
  return status == TACIT_OK ? tacit_curator_check_points(curator, n_theta, theta_prop, err) : status;
}

static bool is_same_point(const double *a, const double *b, size_t dim) {
  for (size_t j = 0; j < dim; j++) {
    if (a[j] < b[j] || a[j] > b[j]) {
      return false;
    }
  }
  return true;
}

/* Gather the pairs that move into curator->pairs, ->clips and ->index. */
static size_t gather_pairs(tacit_curator_t *curator, size_t n_theta, const double *theta,
                           const double *theta_prop) {
  size_t dim = curator->model->dim, n = 0;
  for (size_t k = 0; k < n_theta; k++) {
    const double *from = theta + k * dim, *to = theta_prop + k * dim;
    if (is_same_point(from, to, dim)) {
      continue;
    }
    memcpy(curator->pairs + 2 * n * dim, from, dim * sizeof *from);
    memcpy(curator->pairs + (2 * n + 1) * dim, to, dim * sizeof *to);
    curator->clips[n] = tacit_ratio_clip(tacit_curator_ratio_bound(curator, from, to));
    curator->index[n++] = k;
  }
  return n;
}

tacit_status_t tacit_curator_release_log_ratio(tacit_curator_t *curator, size_t n_theta, const double *theta,
                                               const double *theta_prop, double noise_multiplier, double *out,
                                               double *noise_sd, tacit_error_t *err) {
  memset(out, 0, n_theta * sizeof *out);
  memset(noise_sd, 0, n_theta * sizeof *noise_sd);
  tacit_status_t status = check_ratio(curator, n_theta, theta, theta_prop, err);
  TACIT_THEN(status, tacit_curator_reserve(curator, n_theta, err));
  TACIT_THEN(status, tacit_kept_reserve(curator, n_theta, err));
  size_t n = status == TACIT_OK ? gather_pairs(curator, n_theta, theta, theta_prop) : 0;
  if (n == 0) {
    return status;
  }
  double *released = curator->values, *sd = released + n;
  tacit_scalars_t scalars = tacit_ratio_scalars(curator, n);
  status = tacit_door_release_scalars(curator->door, &scalars, noise_multiplier, released, sd, err);
  tacit_kept_settle(curator, status);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    out[curator->index[i]] = released[i] * 0x1p-32;
    noise_sd[curator->index[i]] = sd[i] * 0x1p-32;
  }
  return status;
}

/* ---- with the penalty of their own sampling noise ---- */

typedef struct sampled {
  const tacit_curator_t *curator;
  double rate, clip, most;
} sampled_t;

/* psi(r) = r / q - (1 - q) r^2 / (2 q^2), all in grid units; |psi| <= psi(-clip) (docs/theory.md, section
 * 14). */
static double psi(double ratio, double rate) {
  return ratio / rate - (1 - rate) / (2 * rate * rate) * ratio * (ratio * 0x1p-32);
}

/* psi(-clip), in grid units: the largest share of a record. */
static double largest_psi(double clip, double rate) { return ceil(fabs(psi(-clip, rate))); }

double tacit_curator_sampled_ratio_bound(double rate, double ratio_bound) {
  return largest_psi(tacit_ratio_clip(ratio_bound), rate) * 0x1p-32;
}

static void sampled_values(const void *ctx, const float *block, size_t n_blocks, double *work,
                           double *const *out) {
  const sampled_t *of = ctx;
  const tacit_record_model_t *model = of->curator->model;
  for (size_t b = 0; b < n_blocks; b++) {
    double *ratios = out[0] + b * 16;
    model->log_lik(model->ctx, block + b * model->n_columns * 16, 2, of->curator->pairs, work);
    tacit_grid_functions()->ratio(of->curator->settings.temperature_power, work, ratios);
    for (size_t lane = 0; lane < 16; lane++) {
      double clipped = fmax(fmin(ratios[lane], of->clip), -of->clip);
      ratios[lane] = fmax(fmin(rint(psi(clipped, of->rate)), of->most), -of->most);
    }
  }
}

static tacit_status_t release_sampled(tacit_curator_t *curator, double rate, double noise_multiplier,
                                      double *out, double *noise_sd, tacit_error_t *err) {
  static const size_t first = 0, none = SIZE_MAX;
  size_t dim = curator->model->dim;
  sampled_t of = {.curator = curator, .rate = rate};
  of.clip = tacit_ratio_clip(tacit_curator_ratio_bound(curator, curator->pairs, curator->pairs + dim));
  of.most = largest_psi(of.clip, rate);
  if (!(of.most <= 0x1p51)) {
    return tacit_error_set(
        err, TACIT_ERR_SENSITIVITY, "clip_bound_ratio",
        "the log-likelihood ratio of model %s needs a smaller clip bound between these points",
        curator->model->name);
  }
  tacit_scalars_t scalars = {.n_pairs = 1,
                             .n_fresh = 1,
                             .values = sampled_values,
                             .ctx = &of,
                             .n_work = 2 * 16,
                             .fresh_at = &first,
                             .before = &none,
                             .after = &first,
                             .clips = &of.most,
                             .points = curator->pairs,
                             .n_numbers = 2 * dim,
                             .rate = rate,
                             .is_sampled = true,
                             .label = "log-ratio"};
  tacit_status_t status =
      tacit_door_release_scalars(curator->door, &scalars, noise_multiplier, out, noise_sd, err);
  *out *= 0x1p-32;
  *noise_sd *= 0x1p-32;
  return status;
}

tacit_status_t tacit_curator_release_sampled_log_ratio(tacit_curator_t *curator, size_t n_theta,
                                                       const double *theta, const double *theta_prop,
                                                       double rate, double noise_multiplier, double *out,
                                                       double *noise_sd, tacit_error_t *err) {
  size_t dim = curator->model->dim;
  memset(out, 0, n_theta * sizeof *out);
  memset(noise_sd, 0, n_theta * sizeof *noise_sd);
  tacit_status_t status = check_ratio(curator, n_theta, theta, theta_prop, err);
  TACIT_THEN(status, tacit_curator_reserve(curator, 1, err));
  for (size_t k = 0; status == TACIT_OK && k < n_theta; k++) {
    memcpy(curator->pairs, theta + k * dim, dim * sizeof *theta);
    memcpy(curator->pairs + dim, theta_prop + k * dim, dim * sizeof *theta);
    status = release_sampled(curator, rate, noise_multiplier, &out[k], &noise_sd[k], err);
  }
  if (status != TACIT_OK) {
    memset(out, 0, n_theta * sizeof *out);
    memset(noise_sd, 0, n_theta * sizeof *noise_sd);
  }
  return status;
}
