/*
 * The releases: the only functions through which anything computed from records leaves. Each one is
 * described as an event, charged, and only then computed; noise is added to an exact integer.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "curator/curator_internal.h"

tacit_status_t tacit_curator_check_points(const tacit_curator_t *curator, size_t n_theta, const double *theta,
                                          tacit_error_t *err) {
  if (curator->has_parted) {
    return tacit_error_set(err, TACIT_ERR_STATE, "ranks",
                           "the ranks no longer ask for the same: run them on machines of one kind, with the same arguments and keys");
  }
  for (size_t i = 0; i < n_theta * curator->model->dim; i++) {
    if (!isfinite(theta[i])) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "theta", "a release needs finite parameters");
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_curator_check_noise(const tacit_curator_t *curator, double noise_multiplier, tacit_error_t *err) {
  if (curator->is_exposed || (noise_multiplier >= 0x1p-30 && noise_multiplier <= 0x1p28)) {
    return TACIT_OK;
  }
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "noise_multiplier",
                         "the noise multiplier must be between 2^-30 and 2^28, not %g", noise_multiplier);
}

tacit_status_t tacit_curator_charge(tacit_curator_t *curator, double noise_multiplier, size_t count, const char *label,
                                    tacit_error_t *err) {
  if (curator->is_exposed) {
    return TACIT_OK;
  }
  tacit_event_t event = {
      .kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = noise_multiplier, .count = count};
  snprintf(event.label, sizeof event.label, "%s", label);
  return tacit_budget_charge(curator->budget, &event, err);
}

tacit_status_t tacit_curator_draw_noise(tacit_curator_t *curator, double sd, size_t n, int64_t *draws,
                                        tacit_error_t *err) {
  memset(draws, 0, n * sizeof *draws);
  if (curator->is_exposed) {
    return TACIT_OK;
  }
  return tacit_noise_rounded_gaussian(curator->noise, nextafter(sd, INFINITY), n, draws, err);
}

double tacit_released_value(tacit_wide_t sum, int64_t noise, double spacing) {
  return (double)(sum + noise) * spacing;
}

tacit_status_t tacit_curator_release_gradient(tacit_curator_t *curator, size_t n_theta, const double *theta,
                                              double noise_multiplier, double *out, tacit_error_t *err) {
  size_t n = n_theta * curator->model->dim;
  memset(out, 0, n * sizeof *out);
  if (n_theta == 0) {
    return TACIT_OK;
  }
  double bound = tacit_curator_grad_bound(curator);
  if (!curator->is_exposed && !isfinite(bound)) {
    return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_grad",
                           "the gradient of model %s has no bound of its own: give a clip bound for it",
                           curator->model->name);
  }
  tacit_status_t status = tacit_curator_check_points(curator, n_theta, theta, err);
  if (status == TACIT_OK) {
    status = tacit_curator_check_noise(curator, noise_multiplier, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_reserve(curator, n_theta, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_charge(curator, noise_multiplier, n_theta, "gradient", err);
  }
  if (status == TACIT_OK) {
    double lattice_sd = noise_multiplier * tacit_curator_sensitivity_factor(curator) *
                        (double)(1 << TACIT_LATTICE_BITS);
    status = tacit_curator_draw_noise(curator, lattice_sd, n, curator->draws, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t i = 0; i < n; i++) {
    curator->theta_float[i] = (float)theta[i];
  }
  tacit_curator_sum_gradients(curator, n_theta, bound);
  double spacing = isfinite(bound) ? ldexp(bound, -TACIT_LATTICE_BITS) : ldexp(1, -TACIT_EXPOSED_GRID_BITS);
  for (size_t i = 0; i < n; i++) {
    out[i] = tacit_released_value(curator->sums[i], curator->draws[i], spacing);
  }
  return TACIT_OK;
}

/* The largest clip, 2^51 grid units (ratio 2^19), exceeds every difference of saturated log-likelihoods. */
static const double max_clip = 0x1p51;
/* Clips are at least this many grid units, so that the two units more hardly matter. */
static const double min_clip = 0x1p10;

/*
 * Clip of a ratio bound in whole grid units. Two units more than the bound: each log-likelihood on the grid is within
 * 3/4 of a unit of the exact one (docs/theory.md, section 3), so that a model's own bound never clips. A larger clip on
 * public grounds is safe, since noise and charge follow the clip.
 */
double tacit_ratio_clip(double bound) {
  double clip = ceil(bound * 0x1p32) + 2;
  return clip > max_clip ? max_clip : clip < min_clip ? min_clip : clip;
}

static bool is_same_point(const double *a, const double *b, size_t dim) {
  for (size_t j = 0; j < dim; j++) {
    if (a[j] < b[j] || a[j] > b[j]) {
      return false;
    }
  }
  return true;
}

/* Gather the pairs that move into curator->pairs and ->clips; index[i] is the pair's place in the call. */
static size_t gather_pairs(tacit_curator_t *curator, size_t n_theta, const double *theta,
                           const double *theta_prop, size_t *index) {
  size_t dim = curator->model->dim, n = 0;
  for (size_t k = 0; k < n_theta; k++) {
    const double *from = theta + k * dim, *to = theta_prop + k * dim;
    if (is_same_point(from, to, dim)) {
      continue;
    }
    memcpy(curator->pairs + 2 * n * dim, from, dim * sizeof *from);
    memcpy(curator->pairs + (2 * n + 1) * dim, to, dim * sizeof *to);
    curator->clips[n] = tacit_ratio_clip(tacit_curator_ratio_bound(curator, from, to));
    index[n++] = k;
  }
  return n;
}

/* Noise for each pair, on the scale of its clip, into draws; standard deviations into noise_sd. */
static tacit_status_t draw_ratio_noise(tacit_curator_t *curator, size_t n_pairs, double noise_multiplier,
                                       double *noise_sd, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n_pairs && status == TACIT_OK; i++) {
    double sd = noise_multiplier * tacit_curator_sensitivity_factor(curator) * curator->clips[i];
    noise_sd[i] = curator->is_exposed ? 0 : sd;
    if (!curator->is_exposed && !(sd <= 0x1p51)) {
      return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_ratio",
                             "the log-likelihood ratio of model %s needs a clip bound between these points",
                             curator->model->name);
    }
    status = tacit_curator_draw_noise(curator, sd, 1, &curator->draws[i], err);
  }
  return status;
}

static tacit_status_t release_pairs(tacit_curator_t *curator, size_t n_pairs, const size_t *index,
                                    double noise_multiplier, double *noise, double *out, double *noise_sd,
                                    tacit_error_t *err) {
  if (n_pairs == 0) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_curator_charge(curator, noise_multiplier, n_pairs, "log-ratio", err);
  if (status == TACIT_OK) {
    status = draw_ratio_noise(curator, n_pairs, noise_multiplier, noise, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  tacit_curator_sum_ratios(curator, n_pairs);
  for (size_t i = 0; i < n_pairs; i++) {
    out[index[i]] = tacit_released_value(curator->sums[i], curator->draws[i], 0x1p-32);
    noise_sd[index[i]] = noise[i] * 0x1p-32;
  }
  return TACIT_OK;
}

tacit_status_t tacit_curator_release_log_ratio(tacit_curator_t *curator, size_t n_theta,
                                               const double *theta, const double *theta_prop,
                                               double noise_multiplier, double *out, double *noise_sd,
                                               tacit_error_t *err) {
  memset(out, 0, n_theta * sizeof *out);
  memset(noise_sd, 0, n_theta * sizeof *noise_sd);
  if (!curator->is_exposed && curator->model->ratio_bound == NULL &&
      !isfinite(curator->model->grad_bound) && !(curator->settings.clip_bound_ratio > 0)) {
    return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_ratio",
                           "the log-likelihood ratio of model %s has no bound of its own: give a clip bound",
                           curator->model->name);
  }
  tacit_status_t status = tacit_curator_check_points(curator, n_theta, theta, err);
  if (status == TACIT_OK) {
    status = tacit_curator_check_points(curator, n_theta, theta_prop, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_check_noise(curator, noise_multiplier, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_reserve(curator, n_theta, err);
  }
  if (status == TACIT_OK) {
    status = tacit_kept_reserve(curator, n_theta, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  size_t *index = tacit_alloc(n_theta, sizeof *index);
  double *noise = tacit_alloc(n_theta, sizeof *noise);
  if (index == NULL || noise == NULL) {
    status = tacit_error_memory(err);
  } else {
    size_t n_pairs = gather_pairs(curator, n_theta, theta, theta_prop, index);
    status = release_pairs(curator, n_pairs, index, noise_multiplier, noise, out, noise_sd, err);
  }
  tacit_free(index);
  tacit_free(noise);
  return status;
}
