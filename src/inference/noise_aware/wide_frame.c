/* What is known of the information of many features: from the moments, and from its release. See wide.h. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/kernel.h"
#include "noise_aware/wide.h"

/* L^-1 of the frame; |L x|^2 of the pseudo-rows; white (d, n_rows) <- L x. */
static void settle(tacit_wide_t *w, double *white) {
  const tacit_surrogate_t *s = w->surrogate;
  tacit_frame_t *f = &w->frame;
  size_t d = s->d, n = s->n_rows;
  tacit_invert_lower(d, f->whiten, f->inverse);
  tacit_aware_kernel()->multiply(d, d, n, f->whiten, s->x, white);
  memset(f->norms, 0, n * sizeof *f->norms);
  for (size_t i = 0; i < d; i++) {
    for (size_t k = 0; k < n; k++) {
      f->norms[k] += white[i * n + k] * white[i * n + k];
    }
  }
}

/*
 * error <- scale L (second moments as released - those of the pseudo-rows) L': what the moments say that the
 * pseudo-rows lack. white (d, n_rows): L x; lines (d, n_rows) and work 2 d^2: overwritten.
 */
static void correct(tacit_wide_t *w, double scale, const double *white, double *lines, double *work) {
  const tacit_surrogate_t *s = w->surrogate;
  tacit_frame_t *f = &w->frame;
  size_t d = s->d, n = s->n_rows;
  double *half = work, *transposed = work + d * d;
  tacit_aware_kernel()->scale(n, d, white, s->weight, lines);
  tacit_aware_kernel()->project(n, d, d, lines, white, f->error);
  tacit_aware_kernel()->multiply(d, d, d, f->whiten, s->second, half);
  for (size_t i = 0; i < d * d; i++) {
    transposed[i % d * d + i / d] = f->whiten[i];
  }
  tacit_aware_kernel()->multiply(d, d, d, half, transposed, work + 2 * d * d);
  for (size_t i = 0; i < d * d; i++) {
    f->error[i] = scale * (work[2 * d * d + i] - f->error[i]);
  }
}

/* Of the variance of a response: where all responses are certain rows would weigh nothing, and no mean over
 * them could be taken. */
static const double least_weight = 1e-12;

static void raise_weights(tacit_wide_t *w) {
  for (size_t k = 0; k < w->surrogate->n_rows; k++) {
    w->frame.weights[k] = fmax(w->frame.weights[k], least_weight);
  }
}

typedef struct spread {
  double mean, variance; /* relative, its square the unit */
} spread_t;

/* Of the frame's weights, weighed by |L x|^2. */
static spread_t spread_of(const tacit_wide_t *w) {
  const tacit_surrogate_t *s = w->surrogate;
  double sum = 0, square = 0, total = 0;
  for (size_t k = 0; k < s->n_rows; k++) {
    double share = s->weight[k] * w->frame.norms[k], g = w->frame.weights[k];
    total += share;
    sum += share * g;
    square += share * g * g;
  }
  return (spread_t){sum / total, fmax(square * total / (sum * sum) - 1, 0)};
}

tacit_status_t tacit_wide_take_moments(tacit_wide_t *w, const tacit_round_place_t *place,
                                       tacit_error_t *err) {
  const tacit_surrogate_t *s = w->surrogate;
  size_t d = s->d, n = s->n_rows;
  double *memory = tacit_alloc_zero(n + 2 * d * n + 3 * d * d, sizeof *memory);
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  double *mean_var = memory, *white = mean_var + n, *lines = white + d * n;
  tacit_status_t status = tacit_round_metric(s, place, w->frame.whiten, mean_var, err);
  if (status == TACIT_OK) {
    settle(w, white);
    memcpy(w->frame.weights, mean_var, n * sizeof *mean_var);
    raise_weights(w);
    spread_t of = spread_of(w);
    correct(w, of.mean, white, lines, lines + d * n);
    w->frame.doubt = 1 / w->rounds->weight;
    w->frame.variance =
        s->entry_variance +
        of.variance * w->frame.doubt; /* the latter: where variances are, the moments do not tell */
  }
  tacit_free(memory);
  return status;
}

/* weights <- v, less where rows t = sqrt(v) L x are shortened to the radius. */
static void weigh(tacit_wide_t *w, const double *theta, double radius) {
  const tacit_surrogate_t *s = w->surrogate;
  size_t n = s->n_rows;
  double *eta = tacit_alloc_zero(n, sizeof *eta);
  for (size_t i = 0; eta != NULL && i < s->d; i++) {
    for (size_t k = 0; k < n; k++) {
      eta[k] += theta[i] * s->x[i * n + k];
    }
  }
  for (size_t k = 0; eta != NULL && k < n; k++) {
    double v = tacit_family_moments(w->settings->family, w->settings->upper, eta[k]).variance,
           norm = v * w->frame.norms[k];
    w->frame.weights[k] = norm > radius * radius ? v * radius * radius / norm : v;
  }
  tacit_free(eta);
}

/* Move what lies along the rows of each rare value, which tell how many records have it, from `rest` to the
 * frame's error: see tacit_rare_rows(). */
static tacit_status_t take_rare_values(tacit_wide_t *w, const double *white, double *rest,
                                       tacit_error_t *err) {
  const tacit_surrogate_t *s = w->surrogate;
  size_t d = s->d, n = s->n_rows;
  const tacit_rows_t rows = {w->settings, n, d, 1, n, s->x, s->weight};
  double sum[TACIT_NOISE_AWARE_MAX_FEATURES];
  bool *is_in = tacit_alloc(n, sizeof *is_in);
  for (size_t g = 0; g < 2 * d && is_in != NULL; g++) {
    if (!tacit_rare_rows(&rows, g, is_in)) {
      continue;
    }
    memset(sum, 0, d * sizeof *sum);
    for (size_t k = 0; k < n * d; k++) {
      sum[k / n] += is_in[k % n] ? s->weight[k % n] * sqrt(w->frame.weights[k % n]) * white[k] : 0;
    }
    tacit_take_along(d, sum, rest, w->frame.error);
  }
  tacit_free(is_in);
  return is_in != NULL ? TACIT_OK : tacit_error_memory(err);
}

/*
 * error += what is released beyond what was expected, `rest`, shrunk by how much it varies beyond its noise;
 * how sure that is. The level of all, and what lies along the linear predictor, where the variance of
 * responses would tell on it, are taken as released.
 */
static void believe(tacit_wide_t *w, const double *theta, double noise_var, double *rest, double *work) {
  size_t d = w->surrogate->d;
  double *along = work;
  tacit_frame_coordinates(&w->frame, d, theta, along);
  tacit_take_along(d, NULL, rest, w->frame.error);
  tacit_take_along(d, along, rest, w->frame.error);
  tacit_shrinkage_t by = tacit_shrinkage(d, rest, noise_var);
  for (size_t i = 0; i < d * d; i++) {
    w->frame.error[i] += tacit_shrink_entry(&by, rest[i]);
  }
  w->frame.variance = by.variance;
  double seen = by.trust / (1 - by.trust) * noise_var,
         uneven =
             spread_of(w).variance; /* so much is the pseudo-rows' doing, with weights as uneven as these */
  w->frame.doubt = fmin(w->frame.doubt, seen / fmax(uneven, 1e-12));
}

/* likeness <- the least eigenvalue of K^-1 (K K' + error) K^-T, K K' the information of the pseudo-rows.
 * lines: (d + 1, n_rows), work: 4 d^2. */
static void compare(tacit_wide_t *w, const double *white, double *lines, double *work) {
  const tacit_surrogate_t *s = w->surrogate;
  size_t d = s->d, n = s->n_rows;
  double *line = lines + d * n, *factor = work, *inverse = factor + d * d, *half = inverse + d * d,
         *values = half + d * d;
  for (size_t k = 0; k < n; k++) {
    line[k] = s->weight[k] * w->frame.weights[k];
  }
  tacit_aware_kernel()->scale(n, d, white, line, lines);
  tacit_aware_kernel()->project(n, d, d, lines, white, factor);
  if (!tacit_cholesky(d, factor)) {
    w->likeness = -1;
    return;
  }
  tacit_invert_lower(d, factor, inverse);
  tacit_sandwich(d, inverse, w->frame.error, half, factor);
  tacit_eigen(d, factor, values, inverse);
  for (size_t i = 0; i < d; i++) { /* what is no number is not alike */
    w->likeness = 1 + values[i] < w->likeness ? 1 + values[i] : isnan(values[i]) ? -1 : w->likeness;
  }
}

/* rest <- the released information less that of the pseudo-rows and `error`; out: svec, noise of sd noise_sd,
 * of n units. */
static void subtract(tacit_wide_t *w, const double *released, const double *white, double *lines,
                     double *rest) {
  const tacit_surrogate_t *s = w->surrogate;
  size_t d = s->d, n = s->n_rows;
  double *line = lines + d * n;
  for (size_t k = 0; k < n; k++) {
    line[k] = s->weight[k] * w->frame.weights[k];
  }
  tacit_aware_kernel()->scale(n, d, white, line, lines);
  tacit_aware_kernel()->project(n, d, d, lines, white, rest);
  for (size_t i = 0, p = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, p++) {
      double entry = released[p] / w->rounds->n / (i == j ? 1 : sqrt(2));
      rest[i * d + j] = rest[j * d + i] = entry - rest[i * d + j] - w->frame.error[i * d + j];
    }
  }
}

tacit_status_t tacit_wide_learn_information(tacit_wide_t *w, const tacit_round_place_t *place,
                                            tacit_error_t *err) {
  const tacit_surrogate_t *s = w->surrogate;
  size_t d = s->d, n = s->n_rows, m = d * (d + 1) / 2;
  double *memory = tacit_alloc_zero(n + 2 * d * n + n + 4 * d * d + m + d, sizeof *memory), noise_sd;
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  double *mean_var = memory, *white = mean_var + n, *lines = white + d * n, *work = lines + d * n + n,
         *rest = work + 3 * d * d;
  double *released = rest + d * d, *theta = released + m,
         multiplier = schedule_multiplier(place->settings->rho, place->share);
  tacit_status_t status = tacit_aware_may_start(place->settings, err);
  TACIT_THEN(status, tacit_round_metric(s, place, w->frame.whiten, mean_var, err));
  if (status == TACIT_OK) {
    double radius = tacit_matrix_radius(d, w->frame.whiten, w->rounds->n, multiplier);
    memcpy(theta, place->theta, d * sizeof *theta);
    const tacit_aware_point_t at = {theta, w->frame.whiten, &radius, NULL};
    status = tacit_aware_release_information(place->curator, place->settings, multiplier, &at, released,
                                             &noise_sd, err);
    if (status == TACIT_OK) {
      settle(w, white);
      weigh(w, theta, radius);
      raise_weights(w);
      correct(w, spread_of(w).mean, white, lines, work);
      subtract(w, released, white, lines, rest);
      status = take_rare_values(w, white, rest, err);
      believe(w, theta, 0.5 * noise_sd * noise_sd / (w->rounds->n * w->rounds->n), rest, work);
      compare(w, white, lines, work);
    }
  }
  tacit_free(memory);
  return status;
}
