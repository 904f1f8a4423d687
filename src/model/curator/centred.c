/*
 * Centred scores of any model whose responses can be simulated, and their slope (docs/theory.md,
 * section 18.13). At a public point t, of a record with the score s and other responses y_m that it might
 * have had at t, of weights p_m,
 *
 *     u = A s(t; x, y),   k = min(1, C / |u|),   c = sum p k u,   J = sum p k u u',   w = min(1, K / tr J,
 * C/4 / |c|),   v = w (k u - c),
 *
 * c, J and w functions of x alone, so that v has mean 0 at t given x, and slope w J in e, theta = t + A' e.
 * |v| <= 5/4 C and tr w J <= K whatever the model computes. A score that is no finite number makes v zero,
 * and is left out among the y_m. A unit of several rows adds means over them. Outcomes that may be censored
 * at times of which nothing is known cannot be simulated: followed.c.
 */
#include "base/error.h"
#include "curator/centred.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = TACIT_MAX_ROW_FEATURES };

static size_t n_blocks_of(size_t n) { return (n + 15) / 16; }

size_t tacit_centred_n_others(const tacit_record_model_t *model, const tacit_centred_point_t *point) {
  return model->n_others > 0 ? model->n_others : (model->hazards != NULL ? 2 : 1) * point->n_simulated;
}

size_t tacit_centred_n_work(const tacit_record_model_t *model, const tacit_centred_point_t *point) {
  size_t n_blocks = n_blocks_of(tacit_centred_n_others(model, point)), d = model->dim;
  return 16 * n_blocks * (2 + d) + 2 * d * d + (n_blocks * model->n_columns * 16 + d * 16) / 2 + 9;
}

tacit_centred_workspace_t tacit_centred_workspace(const tacit_record_model_t *model,
                                                  const tacit_centred_point_t *point, double *work) {
  size_t n = 16 * n_blocks_of(tacit_centred_n_others(model, point)), d = model->dim;
  tacit_centred_workspace_t workspace = {
      .weights = work, .norms = work + n, .scores = work + 2 * n, .slope = work + (2 + d) * n};
  uintptr_t free_from = (uintptr_t)(workspace.slope + 2 * d * d);
  workspace.blocks = (float *)(free_from + (64 - free_from % 64) % 64);
  workspace.gradient = workspace.blocks + n * model->n_columns;
  return workspace;
}

void tacit_centred_whiten(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                          const float *block, size_t n_lanes, float *gradient, double *scores,
                          double *norms) {
  size_t d = model->dim;
  float theta[MOST] = {0};
  for (size_t j = 0; j < d; j++) {
    theta[j] = (float)point->theta[j];
  }
  model->grad(model->ctx, block, 1, theta, gradient);
  tacit_rows_functions()->whiten(d, point->whiten, gradient, n_lanes, scores, norms);
}

/* workspace: other responses by the model at `distribution`, their weights and scores at the point. */
static void simulate(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                     const double *distribution, const float *record, uint64_t seed,
                     const tacit_centred_workspace_t *workspace) {
  size_t n = tacit_centred_n_others(model, point), n_blocks = n_blocks_of(n);
  model->others(model->ctx, record, distribution, seed, n, workspace->blocks, workspace->weights);
  for (size_t b = 0; b < n_blocks; b++) {
    tacit_centred_whiten(model, point, workspace->blocks + b * model->n_columns * 16, 16, workspace->gradient,
                         workspace->scores + b * 16 * model->dim, workspace->norms + 16 * b);
  }
  for (size_t i = 0; i < 16 * n_blocks; i++) {
    workspace->weights[i] =
        workspace->weights[i] > 0 && !isnan(workspace->norms[i]) ? workspace->weights[i] : 0;
  }
}

static double clipped(double norm, double clip) { return norm > clip ? clip / norm : 1; }

/* Of a record, given its features alone. */
typedef struct expected {
  double weight;     /* w */
  double mean[MOST]; /* c */
  double trace;      /* of J */
} expected_t;

/* mean (dim) <- sum p k u. Returns the trace of sum p k u u'. */
static double sum_scores(size_t d, size_t n, const tacit_centred_workspace_t *workspace, double clip,
                         double *mean) {
  double trace = 0;
  memset(mean, 0, d * sizeof *mean);
  for (size_t i = 0; i < n; i++) {
    double norm = workspace->norms[i],
           k = workspace->weights[i] > 0 ? workspace->weights[i] * clipped(norm, clip) : 0;
    for (size_t j = 0; j < d && k > 0; j++) {
      mean[j] += k * workspace->scores[i * d + j];
    }
    trace += k > 0 ? k * norm * norm : 0;
  }
  return trace;
}

static double square_of(size_t d, const double *v) {
  double n2 = 0;
  for (size_t j = 0; j < d; j++) {
    n2 += v[j] * v[j];
  }
  return n2;
}

/* workspace and `of` <- of a record at the point; false: its expectations are no finite numbers. */
static bool expect(const tacit_record_model_t *model, const tacit_centred_point_t *point, const float *record,
                   const tacit_centred_workspace_t *workspace, expected_t *of) {
  size_t d = model->dim, n = 16 * n_blocks_of(tacit_centred_n_others(model, point));
  double most = point->clip / 4;
  simulate(model, point, point->theta, record, point->seed, workspace);
  of->trace = sum_scores(d, n, workspace, point->clip, of->mean);
  double longest = sqrt(square_of(d, of->mean));
  of->weight =
      fmin(of->trace > point->most ? point->most / of->trace : 1, longest > most ? most / longest : 1);
  return of->trace <= DBL_MAX && longest <= DBL_MAX;
}

/* slope (dim, dim) <- w J of what is in the workspace. */
static void find_slope(size_t d, size_t n, const tacit_centred_workspace_t *workspace, double clip,
                       double weight, double *slope) {
  memset(slope, 0, d * d * sizeof *slope);
  for (size_t i = 0; i < n; i++) { /* what weights were is not asked for again */
    workspace->weights[i] = weight * workspace->weights[i] * clipped(workspace->norms[i], clip);
  }
  tacit_rows_functions()->add_squares(d, n, workspace->weights, workspace->scores, slope);
  for (size_t i = 0; i < d * d; i++) {
    slope[i] = slope[i % d < i / d ? i : i % d * d + i / d];
  }
}

/* own (dim), norm <- the record's own score at the point, whitened. */
static void look_at_own(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                        const float *record, const tacit_centred_workspace_t *workspace, double *own,
                        double *norm) {
  for (size_t i = 0; i < model->n_columns * 16; i++) {
    workspace->blocks[i] = record[i / 16];
  }
  tacit_centred_whiten(model, point, workspace->blocks, 1, workspace->gradient, own, norm);
}

/* v (dim) of one record: zero where it is no finite number. */
static void centre(const tacit_record_model_t *model, const tacit_centred_point_t *point, const float *record,
                   double *work, double *v) {
  size_t d = model->dim;
  if (model->hazards != NULL) {
    tacit_followed_record(model, point, NULL, record, work, NULL, v);
    return;
  }
  tacit_centred_workspace_t workspace = tacit_centred_workspace(model, point, work);
  expected_t of;
  double own[16 * MOST], norm;
  bool is_finite = expect(model, point, record, &workspace, &of);
  look_at_own(model, point, record, &workspace, own, &norm);
  is_finite = is_finite && !isnan(norm);
  double k = is_finite ? clipped(norm, point->clip) : 0;
  for (size_t j = 0; j < d; j++) {
    v[j] = is_finite ? of.weight * (k * own[j] - of.mean[j]) : 0;
  }
}

/* The mean over a unit's rows. */
static void add_score(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_record_model_t *model = sum->curator->model;
  double v[MOST], mean[MOST] = {0};
  for (size_t t = 0; t < n_rows; t++) {
    centre(model, sum->what, records + t * model->n_columns, work, v);
    for (size_t j = 0; j < sum->dim; j++) {
      mean[j] += v[j] / (double)n_rows;
    }
  }
  tacit_rows_write(sum, 1, mean, k);
}

void tacit_centred_factor(size_t d, double *a) {
  for (size_t j = 0; j < d; j++) {
    double left = a[j * d + j], before = left;
    for (size_t k = 0; k < j; k++) {
      left -= a[j * d + k] * a[j * d + k];
    }
    double root = left > 1e-12 * before ? sqrt(left) : 0;
    for (size_t i = j + 1; i < d; i++) {
      double sum = a[i * d + j];
      for (size_t k = 0; k < j; k++) {
        sum -= a[i * d + k] * a[j * d + k];
      }
      a[i * d + j] = root > 0 ? sum / root : 0;
    }
    a[j * d + j] = root;
  }
}

/* slope (dim, dim) <- what the record adds. */
static void find_slope_of(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                          const float *record, double *work, double *slope) {
  size_t d = model->dim;
  if (model->hazards != NULL) {
    tacit_followed_record(model, point, NULL, record, work, slope, NULL);
    return;
  }
  tacit_centred_workspace_t workspace = tacit_centred_workspace(model, point, work);
  expected_t of;
  bool is_finite = expect(model, point, record, &workspace, &of);
  memset(slope, 0, d * d * sizeof *slope);
  if (is_finite) {
    find_slope(d, 16 * n_blocks_of(tacit_centred_n_others(model, point)), &workspace, point->clip, of.weight,
               slope);
  }
}

/* The mean of w J over a unit's rows, as the vectors of its factor. */
static void add_slope(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_record_model_t *model = sum->curator->model;
  size_t d = sum->dim;
  double *slope = tacit_centred_workspace(model, sum->what, work).slope, *mean = slope + d * d, v[MOST];
  memset(mean, 0, d * d * sizeof *mean);
  for (size_t t = 0; t < n_rows; t++) {
    find_slope_of(model, sum->what, records + t * model->n_columns, work, slope);
    for (size_t i = 0; i < d * d; i++) {
      mean[i] += slope[i] / (double)n_rows;
    }
  }
  tacit_centred_factor(d, mean);
  for (size_t j = 0; j < d; j++) {
    for (size_t i = 0; i < d; i++) {
      v[i] = i < j ? 0 : mean[i * d + j];
    }
    tacit_rows_write(sum, 1, v, k + j * d);
  }
}

tacit_status_t tacit_centred_check(const tacit_record_model_t *model, tacit_error_t *err) {
  if ((model->others == NULL && model->hazards == NULL) || model->made_up == NULL || model->grad == NULL ||
      model->n_linear > 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "model",
                           "centred scores need responses that can be simulated: %s",
                           model->no_others != NULL ? model->no_others : "those of this model cannot");
  }
  return model->dim <= MOST ? TACIT_OK
                            : tacit_error_set(err, TACIT_ERR_ARGUMENT, "model",
                                              "centred scores are of at most %d parameters", (int)MOST);
}

static tacit_status_t check_point(const tacit_curator_t *curator, const tacit_centred_point_t *point,
                                  tacit_error_t *err) {
  tacit_status_t status = tacit_centred_check(curator->model, err);
  if (status == TACIT_OK && curator->settings.temperature_power < 1) {
    status = tacit_error_set(err, TACIT_ERR_STATE, "temperature",
                             "centred scores are not tempered: leave the temperature at 1");
  }
  TACIT_THEN(status, tacit_curator_check_points(curator, 1, point->theta, err));
  TACIT_THEN(status, tacit_rows_check_numbers("whitening matrix", point->whiten,
                                              curator->model->dim * curator->model->dim, err));
  if (status == TACIT_OK && (point->n_simulated < 1 || point->n_simulated > 4096)) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_simulated",
                             "1 to 4096 responses can be simulated for a record");
  }
  if (status == TACIT_OK && curator->model->hazards != NULL && point->n_simulated < TACIT_FOLLOWED_LEAST) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_simulated",
                             "censored records are followed for at least %d times", TACIT_FOLLOWED_LEAST);
  }
  TACIT_THEN(status, tacit_rows_check_size("clip", point->clip, err));
  return status == TACIT_OK ? tacit_rows_check_size("most", point->most, err) : status;
}

static tacit_status_t release(const tacit_curator_t *curator, const tacit_centred_point_t *point,
                              tacit_row_sum_t *sum, tacit_row_function function, double noise_multiplier,
                              double *out, double *noise_sd, tacit_error_t *err) {
  size_t d = curator->model->dim;
  sum->curator = curator;
  sum->dim = sum->dim > 0 ? sum->dim : d;
  sum->what = point;
  memset(out, 0, (sum->is_square ? d * (d + 1) / 2 : sum->dim) * sizeof *out);
  *noise_sd = 0;
  tacit_status_t status = check_point(curator, point, err);
  if (status != TACIT_OK) {
    return status;
  }
  sum->n_work = tacit_centred_n_work(curator->model, point);
  return tacit_rows_release(sum, function, noise_multiplier, out, noise_sd, err);
}

tacit_status_t tacit_curator_release_centred_score(tacit_curator_t *curator,
                                                   const tacit_centred_point_t *point,
                                                   double noise_multiplier, double *out, double *noise_sd,
                                                   tacit_error_t *err) {
  tacit_row_sum_t sum = {.bound = 1.25 * point->clip, .label = "centred score"};
  return release(curator, point, &sum, add_score, noise_multiplier, out, noise_sd, err);
}

tacit_status_t tacit_curator_release_centred_slope(tacit_curator_t *curator,
                                                   const tacit_centred_point_t *point,
                                                   double noise_multiplier, double *out, double *noise_sd,
                                                   tacit_error_t *err) {
  tacit_row_sum_t sum = {.is_square = true,
                         .n_vectors = curator->model->dim,
                         .bound = sqrt(point->most),
                         .label = "slope of centred scores"};
  return release(curator, point, &sum, add_slope, noise_multiplier, out, noise_sd, err);
}

/* ---- of public records ---- */

void tacit_centred_slope(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                         const float *record, double *work, double *slope) {
  find_slope_of(model, point, record, work, slope);
}

void tacit_centred_expect(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                          const double *distribution, const float *record, double *work, double *mean) {
  size_t d = model->dim, n = 16 * n_blocks_of(tacit_centred_n_others(model, point));
  if (model->hazards != NULL) {
    tacit_followed_record(model, point, distribution, record, work, NULL, mean);
    return;
  }
  tacit_centred_workspace_t workspace = tacit_centred_workspace(model, point, work);
  expected_t of;
  double drawn[MOST];
  bool is_finite = expect(model, point, record, &workspace, &of);
  /* other draws than those which the centre is the mean of */
  simulate(model, point, distribution, record, point->seed + (model->n_others == 0), &workspace);
  (void)sum_scores(d, n, &workspace, point->clip, drawn);
  for (size_t j = 0; j < d; j++) {
    mean[j] = is_finite ? of.weight * (drawn[j] - of.mean[j]) : 0;
  }
}

bool tacit_centred_lengths(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                           const float *record, double *work, size_t n_edges, const double *edges,
                           double weight, double *shares) {
  size_t n = 16 * n_blocks_of(tacit_centred_n_others(model, point));
  if (model->others == NULL) {
    return false;
  }
  tacit_centred_workspace_t workspace = tacit_centred_workspace(model, point, work);
  simulate(model, point, point->theta, record, point->seed, &workspace);
  for (size_t i = 0; i < n; i++) {
    size_t cell = 0;
    while (cell < n_edges && workspace.norms[i] > edges[cell]) {
      cell++;
    }
    shares[cell] += workspace.weights[i] > 0 ? weight * workspace.weights[i] : 0;
  }
  return true;
}
