/*
 * Where a record's response lies among those that a program says it might have had: its probability integral
 * transform, without randomising, as an interval [lo, hi] (docs/theory.md, section 23). Responses are gone
 * through whole where there are finitely many; else drawn, by numbers that depend on the record's own
 * content, on public ones and on nothing else, and its own is one of the n + 1 that are then alike, so that
 * its rank is uniform under the program.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "curator/rows.h"

enum { CELLS = TACIT_PIT_CELLS };

/* Draws that stand for others than those which the rank is among: predictions must say nothing of it. */
static const uint64_t prediction_seed = 1, distribution_seed = 2;

static size_t n_others_of(const tacit_record_model_t *model, const tacit_pit_point_t *point) {
  return model->n_others > 0 ? model->n_others : point->n_simulated;
}
static size_t n_workspace_of(const tacit_record_model_t *model, const tacit_pit_point_t *point) {
  return (n_others_of(model, point) + 15) / 16 * 16;
}

size_t tacit_pit_n_values(const tacit_pit_point_t *point) { return CELLS + 2 * point->n_bins + point->n_by; }

/* ---- responses that a record might have had ---- */

/* Rising values; below[i] is what they weigh before the i-th. */
typedef struct reference {
  size_t n;
  double *values, *below; /* (n), (n + 1) */
  double own;             /* weight of the record's own response among them */
} reference_t;

typedef struct workspace {
  double *drawn, *weights; /* (n_workspace_of()): responses that are put beside the others */
  bool *is_seen;           /* likewise */
  reference_t reference;
} workspace_t;

size_t tacit_pit_n_work(const tacit_record_model_t *model, const tacit_pit_point_t *point) {
  return 5 * n_workspace_of(model, point) + 1;
}

static workspace_t workspace_in(const tacit_record_model_t *model, const tacit_pit_point_t *point,
                                double *work) {
  size_t n = n_workspace_of(model, point);
  return (workspace_t){.drawn = work,
                       .weights = work + n,
                       .is_seen = (bool *)(work + 2 * n),
                       .reference = {.values = work + 3 * n, .below = work + 4 * n}};
}

/* The record's other responses at theta; false: the program says nothing of them. */
static bool refer(const tacit_record_model_t *model, const tacit_pit_point_t *point, uint64_t seed,
                  const float *record, workspace_t *workspace) {
  reference_t *r = &workspace->reference;
  bool are_drawn = model->n_others == 0;
  r->n = n_others_of(model, point);
  r->own = are_drawn ? 1 / (double)(r->n + 1) : 0;
  model->responses(model->ctx, record, point->theta, seed, r->n, r->values, NULL, workspace->weights);
  if (are_drawn) { /* values that are gone through rise already, and have weights of their own */
    tacit_sort_numbers(r->n, r->values);
  }
  r->below[0] = 0;
  for (size_t i = 0; i < r->n; i++) {
    r->below[i + 1] = r->below[i] + (are_drawn ? r->own : workspace->weights[i]);
  }
  return r->below[r->n] > 0.5; /* weights sum to 1, or are all 0 */
}

/* How many of rising values are below y, or, is_up_to, at most y. */
static size_t count(const reference_t *r, double y, bool is_up_to) {
  size_t low = 0, high = r->n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (r->values[middle] < y || (is_up_to && r->values[middle] <= y)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* What a record adds: its interval as shares of the cells less what is even, and r. */
typedef struct place {
  double shares[CELLS], residual;
} place_t;

/* In [0, 1], whatever a model says. */
static double share_of(double x) { return fmax(fmin(x, 1), 0); }

static place_t place_of(const reference_t *r, double y, bool is_seen) {
  place_t place;
  double lo = share_of(r->below[count(r, y, false)]),
         hi = is_seen ? share_of(r->below[count(r, y, true)] + r->own) : 1;
  size_t own = (size_t)fmin(lo * CELLS, CELLS - 1);
  for (size_t c = 0; c < CELLS; c++) {
    double from = fmax(lo, (double)c / CELLS), to = fmin(hi, (double)(c + 1) / CELLS);
    double share = hi - lo > 1e-12 ? fmax(to - from, 0) / (hi - lo) : c == own;
    place.shares[c] = share - 1.0 / CELLS;
  }
  place.residual = fmax(fmin(lo + hi - 1, 1), -1);
  return place;
}

static bool is_seen(const tacit_record_model_t *model, const float *record) {
  return model->seen == SIZE_MAX || fabs((double)record[model->seen] - model->unseen) > 0.5;
}

/* ---- predictions and the column beside them ---- */

/* After refer(), of whose values it is the mean; where they are draws, of others. */
static double prediction_of(const tacit_record_model_t *model, const tacit_pit_point_t *point,
                            const float *record, workspace_t *workspace) {
  bool ok = model->n_others > 0 || refer(model, point, point->seed + prediction_seed, record, workspace);
  const reference_t *r = &workspace->reference;
  double sum = 0;
  for (size_t i = 0; i < r->n; i++) {
    sum += r->values[i] * (r->below[i + 1] - r->below[i]);
  }
  return !ok ? 0 : model->n_others > 0 ? sum : 0.5 * (r->values[(r->n - 1) / 2] + r->values[r->n / 2]);
}

static double quantity_of(const tacit_pit_point_t *point, const float *record) {
  double sum = 0;
  for (size_t i = 0; i < point->n_columns; i++) {
    sum += point->factors[i] * (double)record[point->columns[i]];
  }
  return sum;
}

/* ---- what records add ---- */

/* Weights of the blocks: .9 shares^2 + counts^2 + residual^2 + by^2 = 1, and the squares of a record's shares
 * sum to .9 at most. */
typedef struct parts {
  double shares, counts, residual, by;
} parts_t;

static parts_t weights_of(const tacit_pit_point_t *point) {
  double by = point->n_by > 0 ? 0.25 : 0;
  return (parts_t){sqrt(0.5), sqrt(0.05), sqrt(0.5 - by), sqrt(by)};
}

/* The mean over a unit's rows. */
static void add_pit(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_record_model_t *model = sum->curator->model;
  const tacit_pit_point_t *point = sum->what;
  double v[CELLS + 3 * TACIT_FIT_MAX_BINS] = {0};
  parts_t weights = weights_of(point);
  workspace_t workspace = workspace_in(model, point, work);
  for (size_t t = 0; t < n_rows; t++) {
    const float *record = records + t * model->n_columns;
    if (!refer(model, point, point->seed, record, &workspace)) {
      continue;
    }
    place_t place = place_of(&workspace.reference, (double)record[model->outcome], is_seen(model, record));
    size_t bin =
        tacit_fit_check_bin(point->cuts, point->n_bins, prediction_of(model, point, record, &workspace));
    double one = 1 / (double)n_rows;
    for (size_t c = 0; c < CELLS; c++) {
      v[c] += one * weights.shares * place.shares[c];
    }
    v[CELLS + bin] += one * weights.counts;
    v[CELLS + point->n_bins + bin] += one * weights.residual * place.residual;
    if (point->n_by > 0) {
      size_t by = tacit_fit_check_bin(point->by_cuts, point->n_by, quantity_of(point, record));
      v[CELLS + 2 * point->n_bins + by] += one * weights.by * place.residual;
    }
  }
  tacit_rows_write(sum, 1, v, k);
}

static tacit_status_t check_point(const tacit_curator_t *curator, const tacit_pit_point_t *point,
                                  tacit_error_t *err) {
  const tacit_record_model_t *model = curator->model;
  if (model->responses == NULL || model->n_linear > 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "model",
                           "such checks need responses that can be simulated");
  }
  if (curator->settings.temperature_power < 1) {
    return tacit_error_set(err, TACIT_ERR_STATE, "temperature",
                           "checks are not tempered: leave the temperature at 1");
  }
  bool ok = point->n_bins >= 1 && point->n_bins <= TACIT_FIT_MAX_BINS && point->n_by <= TACIT_FIT_MAX_BINS &&
            point->n_simulated >= 1 && point->n_simulated <= 4096;
  for (size_t i = 0; i < point->n_columns && ok; i++) {
    ok = point->columns[i] < model->n_columns;
  }
  return ok ? tacit_curator_check_points(curator, 1, point->theta, err)
            : tacit_error_set(err, TACIT_ERR_ARGUMENT, "bins",
                              "there are 1 to %d bins, of columns that records have, and 1 to 4096 responses "
                              "can be simulated",
                              (int)TACIT_FIT_MAX_BINS);
}

tacit_status_t tacit_curator_release_pit(tacit_curator_t *curator, const tacit_pit_point_t *point,
                                         double noise_multiplier, double *out, double *noise_sd,
                                         tacit_error_t *err) {
  size_t n = tacit_pit_n_values(point), b = point->n_bins;
  parts_t weights = weights_of(point);
  double sd = 0;
  memset(out, 0, n * sizeof *out);
  memset(noise_sd, 0, n * sizeof *noise_sd);
  tacit_row_sum_t sum = {
      .curator = curator, .dim = n, .bound = 1, .what = point, .label = TACIT_FIT_CHECK_LABEL};
  sum.n_work = tacit_pit_n_work(curator->model, point);
  tacit_status_t status = check_point(curator, point, err);
  TACIT_THEN(status, tacit_rows_release(&sum, add_pit, noise_multiplier, out, &sd, err));
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    double weight = i < CELLS           ? weights.shares
                    : i < CELLS + b     ? weights.counts
                    : i < CELLS + 2 * b ? weights.residual
                                        : weights.by;
    out[i] /= weight;
    noise_sd[i] = sd / weight;
  }
  return status;
}

/* ---- what is expected of them ---- */

static void add_expected(double weight, const place_t *place, tacit_pit_expected_t *to) {
  for (size_t c = 0; c < CELLS; c++) {
    to->shares[c] += weight * place->shares[c];
    for (size_t e = 0; e < CELLS; e++) {
      to->squares[c * CELLS + e] += weight * place->shares[c] * place->shares[e];
    }
  }
  to->residual += weight * place->residual;
  to->residual_square += weight * place->residual * place->residual;
}

void tacit_pit_expect(const tacit_record_model_t *model, const tacit_pit_point_t *point, size_t n,
                      const double *distributions, const float *record, double *work,
                      tacit_pit_expected_t *expected) {
  workspace_t workspace = workspace_in(model, point, work);
  size_t n_others = n_others_of(model, point);
  bool is_told = refer(model, point, point->seed, record, &workspace);
  double prediction = is_told ? prediction_of(model, point, record, &workspace) : 0;
  const tacit_pit_expected_t nothing = {.prediction = prediction, .quantity = quantity_of(point, record)};
  is_told = is_told && refer(model, point, point->seed, record, &workspace);
  for (size_t l = 0; l < n; l++) {
    expected[l] = nothing;
    model->responses(model->ctx, record, distributions + l * model->dim, point->seed + distribution_seed,
                     n_others, workspace.drawn, workspace.is_seen, workspace.weights);
    for (size_t i = 0; i < n_others && is_told; i++) {
      if (workspace.weights[i] > 0) {
        place_t place = place_of(&workspace.reference, workspace.drawn[i], workspace.is_seen[i]);
        add_expected(workspace.weights[i], &place, &expected[l]);
      }
    }
  }
}
