/* The density of many features: two passes over the pseudo-rows and some products of d numbers; see wide.h.
 */
#include "noise_aware/wide.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#include "noise_aware/kernel.h"

enum { MEAN, SLOPE, ETA, ONES, N_LINES };

tacit_status_t tacit_wide_init(tacit_wide_t *w, const tacit_rounds_t *rounds,
                               const tacit_parameters_t *parameters,
                               const tacit_noise_aware_settings_t *settings, tacit_rng_t *rng,
                               tacit_error_t *err) {
  const tacit_surrogate_t *s = rounds->surrogate;
  size_t d = s->d, n = s->n_rows, r = TACIT_AWARE_ROUNDS;
  *w = (tacit_wide_t){.surrogate = s,
                      .rounds = rounds,
                      .parameters = parameters,
                      .settings = settings,
                      .rng = rng,
                      .likeness = INFINITY};
  tacit_frame_t *f = &w->frame;
  double **const arrays[] = {&f->whiten, &f->inverse, &f->error,    &f->weights,  &f->norms,
                             &w->whiten, &w->theta,   &w->rows,     &w->constant, &w->gain,
                             &w->centre, &w->back,    &w->residual, &w->lines,    &w->work};
  const size_t sizes[] = {d * d, d * d, d * d, n, n,           r * d * d,        r * d, d * n, d,
                          d,     d,     d * d, d, N_LINES * n, 2 * d * d + 4 * d};
  w->memory = tacit_alloc_arrays(sizeof sizes / sizeof sizes[0], arrays, sizes);
  for (size_t k = 0; w->memory != NULL && k < n; k++) {
    w->lines[ONES * n + k] = 1;
  }
  return w->memory != NULL ? TACIT_OK : tacit_error_memory(err);
}

tacit_status_t tacit_wide_copy(const tacit_wide_t *of, tacit_wide_t *own, tacit_error_t *err) {
  size_t d = of->surrogate->d, n = of->surrogate->n_rows;
  *own = *of;
  double **const arrays[] = {&own->residual, &own->lines, &own->work};
  const size_t sizes[] = {d, N_LINES * n, 2 * d * d + 4 * d};
  own->memory = tacit_alloc_arrays(sizeof sizes / sizeof sizes[0], arrays, sizes);
  if (own->memory == NULL) {
    return tacit_error_memory(err);
  }
  memcpy(own->lines, of->lines, N_LINES * n * sizeof *own->lines);
  return TACIT_OK;
}

void tacit_wide_clear(tacit_wide_t *wide) {
  tacit_free(wide->memory);
  *wide = (tacit_wide_t){0};
}

/* out <- L^-T x and L^-1 x for the frame L. */
void tacit_frame_coordinates(const tacit_frame_t *frame, size_t d, const double *x, double *out) {
  memset(out, 0, d * sizeof *out);
  for (size_t j = 0; j < d; j++) {
    for (size_t i = 0; i <= j; i++) {
      out[i] += frame->inverse[j * d + i] * x[j];
    }
  }
}

/* Means and slopes of the pseudo-rows' responses at theta, times n omega. */
static void fill_rows(tacit_wide_t *w, const double *theta) {
  const tacit_surrogate_t *s = w->surrogate;
  size_t n = s->n_rows;
  double *mean = w->lines + MEAN * n, *slope = w->lines + SLOPE * n, *eta = w->lines + ETA * n;
  tacit_aware_kernel()->lift(n, 1, s->d, w->lines + ONES * n, theta, s->x, eta);
  for (size_t k = 0; k < n; k++) {
    tacit_family_moments_t m = tacit_family_moments(w->settings->family, w->settings->upper, eta[k]);
    mean[k] = w->rounds->n * s->weight[k] * m.mean;
    slope[k] = w->rounds->n * s->weight[k] * m.slope;
  }
}

/* grad += that of a function of the residual, whose derivative is by_residual (d). */
static void add_gradient(tacit_wide_t *w, const double *by_residual, double *grad) {
  const tacit_surrogate_t *s = w->surrogate;
  size_t d = s->d, n = s->n_rows;
  double *line = w->lines + ETA * n, *slope = w->lines + SLOPE * n, *along = w->work + 3 * d;
  tacit_aware_kernel()->lift(n, 1, d, slope, by_residual, w->rows, line);
  tacit_aware_kernel()->project(n, d, 1, s->x, line, along);
  for (size_t i = 0; i < d; i++) {
    grad[i] -= along[i];
  }
}

/*
 * rho, where it is near the reference, and no more than 1 + most_excess times that. The error of the
 * information is one matrix, whatever theta is, and no eigenvalue of it is near 1 where a budget is taken; as
 * if it were drawn anew for every theta it could explain any score far enough away, where many dimensions
 * have all of their volume.
 */
static double bounded(double rho, double reference, double *slope) {
  static const double most_excess = 4;
  double total = rho + most_excess * reference;
  *slope = total > 0 ? (1 + most_excess) * most_excess * reference * reference / (total * total) : 0;
  return total > 0 ? (1 + most_excess) * reference * rho / total : 0;
}

double tacit_wide_log_density(tacit_wide_t *w, const double *theta, double *grad) {
  size_t d = w->surrogate->d, n = w->surrogate->n_rows;
  double *away = w->work, *by_residual = away + d, *sums = by_residual + d, value = 0, by_rho = 0;
  fill_rows(w, theta);
  tacit_aware_kernel()->project(n, d, 1, w->rows, w->lines + MEAN * n, sums);
  for (size_t i = 0; i < d; i++) {
    w->residual[i] = w->constant[i] - sums[i];
  }
  for (size_t i = 0; i < d; i++) {
    away[i] = w->centre[i] - tacit_dot(d, w->back + i * d, w->residual);
  }
  double rho = tacit_dot(d, away, away), per_rho;
  w->beyond = bounded(rho, w->reference, &per_rho) - w->reference;
  for (size_t i = 0; i < d; i++) {
    double variance = 1 + w->beyond * w->gain[i], y = w->residual[i];
    value -= 0.5 * (log(variance) + y * y / variance);
    by_residual[i] = -y / variance;
    by_rho += per_rho * 0.5 * w->gain[i] * (y * y / variance - 1) / variance;
  }
  if (grad != NULL && isfinite(value)) {
    for (size_t i = 0; i < d; i++) {
      for (size_t l = 0; l < d; l++) {
        by_residual[l] -= 2 * by_rho * away[i] * w->back[i * d + l];
      }
    }
    add_gradient(w, by_residual, grad);
  }
  return isfinite(value) ? value : -INFINITY;
}

void tacit_wide_add_precision(tacit_wide_t *w, double *precision) {
  const tacit_surrogate_t *s = w->surrogate;
  size_t d = s->d, n = s->n_rows;
  double *jacobian = w->work + 4 * d, *line = w->lines + ETA * n;
  for (size_t i = 0; i < d; i++) {
    tacit_aware_kernel()->scale(n, 1, w->rows + i * n, w->lines + SLOPE * n, line);
    tacit_aware_kernel()->project(n, d, 1, s->x, line, jacobian + i * d);
    double scale = 1 / sqrt(1 + w->beyond * w->gain[i]);
    for (size_t j = 0; j < d; j++) {
      jacobian[i * d + j] *= scale;
    }
  }
  for (size_t i = 0; i < d; i++) {
    const double *row = jacobian + i * d;
    for (size_t a = 0; a < d; a++) {
      for (size_t b = 0; b < d; b++) {
        precision[a * d + b] += row[a] * row[b];
      }
    }
  }
}
