/*
 * Private checks of fits of programs: where responses lie among those that the program at the posterior's
 * mode says they might have been, as one release.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "fit/fit_internal.h"

enum { CELLS = TACIT_PIT_CELLS, MOVES = CELLS + 1, MOST_VALUES = 10, MOST = TACIT_FIT_MAX_BINS };

static const uint64_t check_seed = 1009; /* any, but that of the rounds */

/* What a check needs of the fit. */
typedef struct checked {
  tacit_noise_aware_known_t known;
  tacit_pit_point_t point;
  tacit_pit_expected_t *at; /* (n_records): by the program at the posterior's mode */
  double *moves; /* (n_records, dim, MOVES): half of what shares and residual change by along each axis of the
                    posterior */
  double *counts;    /* (n_records): how many records each stands for */
  size_t *bins, *by; /* (n_records) */
  double cuts[MOST], by_cuts[MOST], offset, by_offset, factors[MOST];
  size_t columns[MOST];
} checked_t;

static void clear(checked_t *c) {
  tacit_noise_aware_known_clear(&c->known);
  tacit_free(c->at);
  tacit_free(c->moves);
  tacit_free(c->counts);
  tacit_free(c->bins);
  tacit_free(c->by);
}

/* ---- bins ---- */

typedef struct weighed {
  double value, weight;
} weighed_t;

static int compare(const void *a, const void *b) {
  double x = ((const weighed_t *)a)->value, y = ((const weighed_t *)b)->value;
  return (x > y) - (x < y);
}

/* cuts <- tenths, those that differ; the number of bins that they make. */
static size_t cut(weighed_t *values, size_t n_values, double *cuts) {
  size_t n = 0;
  double below = 0, next = 1;
  qsort(values, n_values, sizeof *values, compare);
  for (size_t i = 0; i + 1 < n_values && n < 9; i++) {
    below += 10 * values[i].weight;
    if (below >= next && values[i + 1].value > values[i].value) {
      cuts[n++] = values[i].value;
      next = floor(below) + 1;
    }
  }
  return n + 1;
}

/* The column that is looked at beside the predictions: where records have it. */
static tacit_status_t find_column(const tacit_fit_t *fit, const char *by, checked_t *c, tacit_error_t *err) {
  size_t n_columns;
  const char *const *names = tacit_program_columns(fit->program, &n_columns);
  tacit_nearest_t nearest = {.name = by};
  char hint[TACIT_HINT_SIZE];
  for (size_t i = 0; i < n_columns; i++) {
    size_t n = tacit_program_packed(fit->program, names[i], MOST, c->columns, c->factors, &c->by_offset);
    bool is_outcome = n > 0 && fit->model.records.of_outcome[c->columns[0]];
    c->offset = n > 0 && c->columns[0] == fit->model.records.outcome ? c->by_offset : c->offset;
    if (!is_outcome && by != NULL) {
      tacit_nearest_offer(&nearest, names[i]);
    }
    if (by != NULL && strcmp(names[i], by) == 0 && is_outcome) {
      return tacit_error_set(
          err, TACIT_ERR_ARGUMENT, "by",
          "'%.60s' is of the outcome, which is in every table: name another column that the program looks at",
          by);
    }
  }
  c->point.n_columns =
      by != NULL ? tacit_program_packed(fit->program, by, MOST, c->columns, c->factors, &c->by_offset) : 0;
  bool is_column = false;
  for (size_t i = 0; i < n_columns && by != NULL; i++) {
    is_column = is_column || strcmp(names[i], by) == 0;
  }
  return by == NULL || c->point.n_columns > 0 ? TACIT_OK
         : is_column                          ? tacit_error_set(err, TACIT_ERR_ARGUMENT, "by",
                                                                "'%.60s' has more than %d levels, too many for a table", by, (int)MOST)
                     : tacit_error_set(err, TACIT_ERR_ARGUMENT, "by", "the program has no column '%.60s'%s",
                                       by, tacit_nearest_hint(&nearest, hint));
}

/* Bins of the column: its values where they are few, else tenths. */
static void cut_column(const tacit_fit_t *fit, const char *by, checked_t *c, weighed_t *values,
                       tacit_fit_check_t *check) {
  const tacit_column_schema_t *column = tacit_schema_find(fit->schema, by);
  bool has_levels = column->type == TACIT_COLUMN_CATEGORICAL;
  bool is_whole = has_levels || column->type == TACIT_COLUMN_INTEGER || column->type == TACIT_COLUMN_BINARY;
  double first = has_levels ? 0 : column->lower,
         n = has_levels ? (double)column->n_levels : column->upper - column->lower + 1;
  check->by_label = column->name;
  if (is_whole && n <= (has_levels ? (double)MOST : MOST_VALUES)) {
    c->point.n_by = (size_t)n;
    check->by_levels = has_levels ? (const char *const *)column->levels : NULL;
    for (size_t b = 0; b + 1 < c->point.n_by; b++) {
      c->by_cuts[b] = first + c->by_offset + (double)b + 0.5;
    }
    return;
  }
  for (size_t i = 0; i < c->known.n_records; i++) {
    values[i] = (weighed_t){c->at[i].quantity, c->known.weights[i]};
  }
  c->point.n_by = cut(values, c->known.n_records, c->by_cuts);
}

/* ---- what the fit expects ---- */

static tacit_status_t make_room(checked_t *c, size_t dim, tacit_error_t *err) {
  size_t n = c->known.n_records;
  c->at = tacit_alloc_zero(n, sizeof *c->at);
  c->moves = tacit_alloc_zero(n, dim * MOVES * sizeof *c->moves);
  c->counts = tacit_alloc_zero(n, sizeof *c->counts);
  c->bins = tacit_alloc_zero(n, sizeof *c->bins);
  c->by = tacit_alloc_zero(n, sizeof *c->by);
  return c->at != NULL && c->moves != NULL && c->counts != NULL && c->bins != NULL && c->by != NULL
             ? TACIT_OK
             : tacit_error_memory(err);
}

/* distributions (1 + 2 dim, dim) <- the posterior's mode and both ends of each axis. */
static void fill_distributions(const checked_t *c, size_t dim, double *distributions) {
  memcpy(distributions, c->known.theta, dim * sizeof *distributions);
  for (size_t i = 0; i < 2 * dim * dim; i++) {
    size_t j = i / dim / 2, k = i % dim;
    distributions[dim + i] = c->known.theta[k] + (i / dim % 2 == 0 ? -1 : 1) * c->known.axes[j * dim + k];
  }
}

/* Half of what a record's numbers change by along each axis; the simulated numbers are the same at both ends.
 */
static void move(size_t dim, const tacit_pit_expected_t *at, double *moves) {
  for (size_t j = 0; j < dim; j++) {
    const tacit_pit_expected_t *low = &at[1 + 2 * j], *high = &at[2 + 2 * j];
    for (size_t i = 0; i < MOVES; i++) {
      moves[j * MOVES + i] =
          0.5 * (i < CELLS ? high->shares[i] - low->shares[i] : high->residual - low->residual);
    }
  }
}

/* Made-up records by the fit's releases, what is expected of each, and bins. */
static tacit_status_t expect(const tacit_fit_t *fit, const char *by, checked_t *c, tacit_fit_check_t *check,
                             tacit_error_t *err) {
  const tacit_record_model_t *model = &fit->model.records;
  size_t n = c->known.n_records, dim = model->dim, n_distributions = 1 + 2 * dim;
  float *records = tacit_alloc_zero(n, model->n_columns * sizeof *records);
  double *distributions = tacit_alloc_zero(n_distributions, dim * sizeof *distributions);
  tacit_pit_expected_t *at = tacit_alloc_zero(n_distributions, sizeof *at);
  double *work = tacit_alloc_zero(tacit_pit_n_work(model, &c->point), sizeof *work);
  weighed_t *values = tacit_alloc_zero(n, sizeof *values);
  bool ok = records != NULL && work != NULL && values != NULL && distributions != NULL && at != NULL;
  if (ok) {
    fill_distributions(c, dim, distributions);
    model->made_up(model->ctx, c->known.seed, n, records);
  }
  for (size_t i = 0; i < n && ok; i++) {
    tacit_pit_expect(model, &c->point, n_distributions, distributions, records + i * model->n_columns, work,
                     at);
    c->at[i] = at[0];
    move(dim, at, c->moves + i * dim * MOVES);
    values[i] = (weighed_t){c->at[i].prediction, c->known.weights[i]};
  }
  if (ok) {
    c->point.n_bins = cut(values, n, c->cuts);
  }
  if (ok && by != NULL) {
    cut_column(fit, by, c, values, check);
  }
  for (size_t i = 0; i < n && ok; i++) {
    c->bins[i] = tacit_fit_check_bin(c->cuts, c->point.n_bins, c->at[i].prediction);
    c->by[i] = tacit_fit_check_bin(c->by_cuts, c->point.n_by, c->at[i].quantity);
  }
  tacit_free(records);
  tacit_free(distributions);
  tacit_free(at);
  tacit_free(work);
  tacit_free(values);
  return ok ? TACIT_OK : tacit_error_memory(err);
}

static tacit_status_t look(const tacit_fit_t *fit, const char *by, checked_t *c, tacit_fit_check_t *check,
                           tacit_error_t *err) {
  tacit_noise_aware_settings_t settings = fit->checked->aware;
  settings.releases = &fit->checked->of->releases;
  settings.evidence = NULL;
  memcpy(settings.key, fit->checked->of->key, sizeof settings.key);
  tacit_status_t status = find_column(fit, by, c, err);
  TACIT_THEN(status, tacit_noise_aware_known(&settings, &fit->checked->model.parameters, &c->known, err));
  if (status == TACIT_OK) {
    c->point.theta = c->known.theta;
    c->point.n_simulated = TACIT_PIT_SIMULATED;
    c->point.seed = check_seed;
    c->point.n_bins = 1;
    c->point.cuts = c->cuts;
    c->point.by_cuts = c->by_cuts;
    c->point.columns = c->columns;
    c->point.factors = c->factors;
    status = make_room(c, fit->model.records.dim, err);
  }
  return status == TACIT_OK ? expect(fit, by, c, check, err) : status;
}

/* ---- the tables ---- */

/* A block of numbers that were summed, and their covariance if the fit is right. */
typedef struct block {
  size_t n;
  double sums[MOST], cov[MOST * MOST];
} block_t;

/* Noise, and what the posterior leaves open: shift (dim, n), by axis. */
static void begin_block(block_t *block, size_t n, const double *sums, const double *noise, size_t dim,
                        const double *shift) {
  *block = (block_t){.n = n};
  memcpy(block->sums, sums, n * sizeof *sums);
  for (size_t i = 0; i < n * n; i++) {
    block->cov[i] = i / n == i % n ? noise[i / n] * noise[i / n] : 0;
    for (size_t j = 0; j < dim; j++) {
      block->cov[i] += shift[j * n + i / n] * shift[j * n + i % n];
    }
  }
}

/* sums' cov^-1 sums, as a normal quantile; `n_free` of them are free. */
static double misfit_of(const block_t *block, double n_free) {
  size_t n = block->n;
  double factor[MOST * MOST], solved[MOST], square = 0;
  memcpy(factor, block->cov, sizeof factor);
  memcpy(solved, block->sums, sizeof solved);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) {
      double sum = factor[i * n + j];
      for (size_t k = 0; k < j; k++) {
        sum -= factor[i * n + k] * factor[j * n + k];
      }
      factor[i * n + j] =
          i == j ? sqrt(fmax(sum, 1e-12 * block->cov[i * n + i] + 1e-300)) : sum / factor[j * n + j];
    }
    for (size_t k = 0; k < i; k++) {
      solved[i] -= factor[i * n + k] * solved[k];
    }
    solved[i] /= factor[i * n + i];
    square += solved[i] * solved[i];
  }
  return tacit_fit_check_quantile(square, n_free);
}

/* Of a contrast of the shape, in its sds. */
static double contrast_of(const block_t *block, double (*contrast)(double)) {
  double sum = 0, variance = 0;
  for (size_t i = 0; i < CELLS; i++) {
    sum += contrast((double)i - 4.5) * block->sums[i];
    for (size_t k = 0; k < CELLS; k++) {
      variance += contrast((double)i - 4.5) * contrast((double)k - 4.5) * block->cov[i * CELLS + k];
    }
  }
  return sum / sqrt(variance);
}

static double slope(double x) { return x; }
static double bend(double x) { return x * x - 8.25; }

static void fill_shape(const checked_t *c, size_t dim, const double *out, const double *sd,
                       tacit_fit_check_t *check) {
  block_t block;
  double shift[TACIT_NOISE_AWARE_MAX_NARROW * CELLS] = {0}, squares[CELLS * CELLS] = {0}, total = 0,
                                              trace = 0, mean = 0;
  for (size_t k = 0; k < c->known.n_records; k++) {
    total += c->counts[k];
    for (size_t i = 0; i < CELLS * CELLS; i++) {
      squares[i] += c->counts[k] * c->at[k].squares[i];
    }
    for (size_t i = 0; i < dim * CELLS; i++) {
      shift[i] += c->counts[k] * c->moves[k * dim * MOVES + i / CELLS * MOVES + i % CELLS];
    }
  }
  begin_block(&block, CELLS, out, sd, dim, shift);
  for (size_t i = 0; i < CELLS; i++) {
    for (size_t k = 0; k < CELLS; k++) {
      block.cov[i * CELLS + k] += squares[i * CELLS + k];
    }
    trace += block.cov[i * CELLS + i];
    mean += out[i] / CELLS;
    check->shape[i] = (tacit_fit_check_bin_t){.low = (double)i / CELLS,
                                              .high = (double)(i + 1) / CELLS,
                                              .predicted = 1.0 / CELLS,
                                              .residual = out[i] / total,
                                              .sd = sqrt(block.cov[i * CELLS + i]) / total};
  }
  check->n_shape = CELLS;
  check->spread_z = contrast_of(&block, bend);
  check->location_z = contrast_of(&block, slope);
  for (size_t i = 0; i < CELLS * CELLS;
       i++) { /* shares add up to 1: what is off that is noise, and says nothing */
    block.cov[i] += trace;
    block.sums[i % CELLS] -= i < CELLS ? mean : 0;
  }
  check->shape_misfit = misfit_of(&block, CELLS - 1);
}

/* Residuals of n bins, in[k] that of record k; counts are there. */
static double fill_bins(const checked_t *c, size_t dim, const size_t *in, size_t n, const double *out,
                        const double *sd, tacit_fit_check_bin_t *bins) {
  block_t block;
  double shift[TACIT_NOISE_AWARE_MAX_NARROW * MOST] = {0}, variance[MOST] = {0}, counts[MOST] = {0},
                                              sums[MOST] = {0};
  for (size_t k = 0; k < c->known.n_records; k++) {
    counts[in[k]] += c->counts[k];
    sums[in[k]] += c->counts[k] * c->at[k].prediction;
    variance[in[k]] += c->counts[k] * c->at[k].residual_square;
    for (size_t j = 0; j < dim; j++) {
      shift[j * n + in[k]] += c->counts[k] * c->moves[(k * dim + j) * MOVES + CELLS];
    }
  }
  begin_block(&block, n, out, sd, dim, shift);
  for (size_t b = 0; b < n; b++) {
    block.cov[b * n + b] += variance[b];
    bins[b].count = fmax(counts[b], 1);
    bins[b].predicted = counts[b] > 0 ? sums[b] / counts[b] - c->offset : NAN;
    bins[b].residual = out[b] / bins[b].count;
    bins[b].sd = sqrt(block.cov[b * n + b]) / bins[b].count;
  }
  return misfit_of(&block, (double)n);
}

/* Made-up records stand for as many as were counted in their bins. */
static void count(checked_t *c, const double *out, const double *sd, tacit_fit_check_t *check) {
  double shares[MOST] = {0}, counts[MOST];
  size_t n = c->point.n_bins;
  for (size_t k = 0; k < c->known.n_records; k++) {
    shares[c->bins[k]] += c->known.weights[k];
  }
  for (size_t b = 0; b < n; b++) {
    check->bins[b].count = out[b];
    check->bins[b].count_sd = sd[b];
    counts[b] = tacit_fit_check_count(&check->bins[b], c->known.n_units * shares[b]);
  }
  for (size_t k = 0; k < c->known.n_records; k++) {
    c->counts[k] = c->known.weights[k] * counts[c->bins[k]] / shares[c->bins[k]];
  }
}

static void fill(const tacit_fit_t *fit, checked_t *c, const double *out, const double *sd,
                 tacit_fit_check_t *check) {
  const tacit_pit_point_t *point = &c->point;
  size_t dim = fit->model.records.dim, b = point->n_bins;
  double low = INFINITY, high = -INFINITY, by_low = INFINITY, by_high = -INFINITY;
  for (size_t k = 0; k < c->known.n_records; k++) {
    low = fmin(low, c->at[k].prediction);
    high = fmax(high, c->at[k].prediction);
    by_low = fmin(by_low, c->at[k].quantity);
    by_high = fmax(by_high, c->at[k].quantity);
  }
  check->n_bins = b;
  check->n_by = point->n_by;
  check->predicts_medians = fit->model.records.n_others == 0;
  for (size_t i = 0; i < b; i++) {
    check->bins[i].low = (i > 0 ? c->cuts[i - 1] : low) - c->offset;
    check->bins[i].high = (i + 1 < b ? c->cuts[i] : high) - c->offset;
  }
  for (size_t i = 0; i < point->n_by; i++) {
    check->by[i] =
        (tacit_fit_check_bin_t){.low = (i > 0 ? c->by_cuts[i - 1] : by_low) - c->by_offset,
                                .high = (i + 1 < point->n_by ? c->by_cuts[i] : by_high) - c->by_offset};
  }
  count(c, out + CELLS, sd + CELLS, check);
  fill_shape(c, dim, out, sd, check);
  check->misfit = fill_bins(c, dim, c->bins, b, out + CELLS + b, sd + CELLS + b, check->bins);
  if (point->n_by > 0) {
    check->by_misfit =
        fill_bins(c, dim, c->by, point->n_by, out + CELLS + 2 * b, sd + CELLS + 2 * b, check->by);
  }
}

tacit_status_t tacit_fit_check_of_program(tacit_fit_t *fit, const char *by, tacit_fit_check_t *check,
                                          tacit_error_t *err) {
  double out[CELLS + 3 * MOST], sd[CELLS + 3 * MOST];
  checked_t *c = tacit_alloc_zero(1, sizeof *c);
  tacit_status_t status = c != NULL ? look(fit, by, c, check, err) : tacit_error_memory(err);
  TACIT_THEN(status, tacit_fit_reserve(fit, false, err));
  if (status == TACIT_OK) {
    tacit_event_t event = tacit_fit_check_event(fit);
    fit->stage = TACIT_FIT_STAGE_FAILED;
    status = tacit_curator_release_pit(fit->curator, &c->point, event.noise_multiplier, out, sd, err);
    if (status == TACIT_OK) {
      fill(fit, c, out, sd, check);
    }
    tacit_fit_settle(fit);
    tacit_fit_say_spent(fit, false);
  }
  if (c != NULL) {
    clear(c);
  }
  tacit_free(c);
  return status;
}
