/*
 * Centred scores of outcomes that may be censored at times of which nothing is known but that they do not
 * look ahead (docs/theory.md, section 18.13). The score of such a record is a martingale in the time that it
 * is followed: with l(s) the model's hazard, L its integral, h = A grad log l,
 *
 *     u = [seen] h(T) - int_0^T h(s) dL(s),     v = [seen] k(T) h(T) - int_0^T k h dL,     J = int_0^T k h h'
 * dL
 *
 * for factors k(s) >= 0 that depend on what was known just before s. Whatever those are and however records
 * are censored, v has mean 0 at the point and its slope in e is J. k is as large as min(1, C / |h|) and these
 * bounds let it be: |v| <= 5/4 C, tr J <= K. Integrals go by parts of L, each `step` wide, at a random time
 * within each; a record is followed for n parts at most. h is the score of a record that is seen then, less
 * that of one that is censored then.
 */
#include "curator/centred.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = TACIT_MAX_ROW_FEATURES };

/* An integral as far as it has come: of k h, and of k |h|^2. */
typedef struct path {
  double sum[MOST], trace;
} path_t;

static double dot(size_t d, const double *a, const double *b) {
  double sum = 0;
  for (size_t j = 0; j < d; j++) {
    sum += a[j] * b[j];
  }
  return sum;
}

/* The largest factor up to `most` that leaves |k h - sum| <= radius, and within `step` |k h| <= clip and the
 * trace <= K. */
static double factor_of(size_t d, const double *h, double norm2, const path_t *path,
                        const tacit_centred_point_t *point, double step, double most) {
  double radius = (1.25 - step) * point->clip, left = radius * radius - dot(d, path->sum, path->sum),
         workspace = point->most - path->trace;
  if (!(left > 0 && workspace > 0)) {
    return 0;
  }
  if (!(norm2 > 0)) {
    return most;
  }
  double along = dot(d, h, path->sum), furthest = (along + sqrt(along * along + norm2 * left)) / norm2;
  return fmax(fmin(fmin(most, furthest), fmin(point->clip / sqrt(norm2), workspace / (step * norm2))), 0);
}

static void go_on(size_t d, const double *h, double norm2, double k, double part, path_t *path) {
  for (size_t j = 0; j < d; j++) {
    path->sum[j] += part * k * h[j];
  }
  path->trace += part * k * norm2;
}

/* What is known of a pair of lanes: h, |h|^2; false: no finite numbers. */
static bool find_hazard(size_t d, const tacit_centred_workspace_t *workspace, size_t pair, double *h,
                        double *norm2) {
  const double *seen = workspace->scores + 2 * pair * d, *censored = seen + d;
  for (size_t j = 0; j < d; j++) {
    h[j] = seen[j] - censored[j];
  }
  *norm2 = dot(d, h, h);
  return !isnan(workspace->norms[2 * pair]) && !isnan(workspace->norms[2 * pair + 1]) && *norm2 <= DBL_MAX;
}

/* The factor at a time. */
static double find_factor(size_t d, const tacit_centred_point_t *point, double step, const double *h,
                          double norm2, const path_t *path) {
  double norm = sqrt(norm2);
  return factor_of(d, h, norm2, path, point, step, norm > point->clip ? point->clip / norm : 1);
}

static void add_slope(size_t d, const double *h, double weight, double *slope) {
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) {
      slope[i * d + j] += weight * h[i] * h[j];
    }
  }
}

/* What the model says, within what it may say. */
static double within(double x, double low, double high) { return x >= low ? fmin(x, high) : low; }

void tacit_followed_record(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                           const double *distribution, const float *record, double *work, double *slope,
                           double *score) {
  size_t d = model->dim, n = point->n_simulated - 1, n_blocks = (2 * n + 2 + 15) / 16;
  double step = TACIT_FOLLOWED_HAZARD / (double)n, h[MOST], own[MOST], norm2, own2, own_k = 0,
         expected[MOST] = {0}, slopes[MOST * MOST] = {0};
  tacit_centred_workspace_t workspace = tacit_centred_workspace(model, point, work);
  path_t path = {.trace = 0};
  model->hazards(model->ctx, record, point->theta, distribution, point->seed, n, workspace.blocks,
                 workspace.weights);
  for (size_t b = 0; b < n_blocks; b++) {
    tacit_centred_whiten(model, point, workspace.blocks + b * model->n_columns * 16, 16, workspace.gradient,
                         workspace.scores + b * 16 * d, workspace.norms + 16 * b);
  }
  bool is_seen = workspace.weights[2 * n] > 0.5,
       is_finite = find_hazard(d, &workspace, n, own, &own2) || !is_seen;
  for (size_t m = 0; m < n && is_finite; m++) {
    double part = within(workspace.weights[2 * m], 0, step);
    if (!(part > 0)) {
      break;
    }
    is_finite = find_hazard(d, &workspace, m, h, &norm2);
    if (is_seen) { /* by what was known before the part that it is in, the last */
      own_k = find_factor(d, point, step, own, own2, &path);
    }
    double k = find_factor(d, point, step, h, norm2, &path);
    for (size_t j = 0; j < d; j++) {
      expected[j] +=
          distribution != NULL ? within(workspace.weights[2 * m + 1], -step, DBL_MAX) * k * h[j] : 0;
    }
    if (slope != NULL) {
      add_slope(d, h, part * k, slopes);
    }
    go_on(d, h, norm2, k, part, &path);
  }
  for (size_t j = 0; j < d && score != NULL; j++) {
    double found = distribution != NULL ? expected[j] : (is_seen ? own_k * own[j] : 0) - path.sum[j];
    score[j] = is_finite ? found : 0;
  }
  for (size_t i = 0; i < d * d && slope != NULL; i++) {
    slope[i] = is_finite ? slopes[i] : 0;
  }
}
