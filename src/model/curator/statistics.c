/*
 * Statistics of columns: a clamped sum, the counts of a table's cells, sums of products. A record's whole
 * numbers, and their shapes:
 *
 *     sum       box       k - floor(D / 2), k in 0 .. D the step nearest to the clamped value
 *     counts    cell      the record's
 *     margins   cells     the record's in each table
 *     products  products  q_j in -Q .. Q
 *     score     products  these of the features, and r H, r = 2 y - 1
 *
 * (docs/theory.md, section 12.8). A record with a value that is no finite number contributes zeros, and so
 * does a level that is none: what a record in the middle of all ranges contributes, or one in no cell.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "curator/curator_internal.h"

enum {
  FINE_BITS = 22,    /* continuous noise: steps of a clamped value's range, and of a count */
  PRODUCT_BITS = 16, /* Q */
  MAX_CELLS = 65536,
  MAX_MARGINS = 500,
  MAX_MARGIN_COLUMNS = 30,
  MAX_PRODUCT_COLUMNS = 24
};

static const double max_steps =
    1e6; /* of a range under discrete noise: beyond it that is continuous noise in all but name */

/*
 * H of the score, Q sqrt(D / 2): noise of the response is then 1.5 / sqrt(2), and that of the features'
 * moments 1.5 times what it would be if nothing else were released.
 */
static double response_steps(const tacit_statistic_t *s) {
  return floor((double)(1 << PRODUCT_BITS) * sqrt(0.5 * (double)s->n_columns));
}

static bool is_discrete(const tacit_statistic_t *s) {
  return s->noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN || s->noise == TACIT_STATISTIC_DISCRETE_LAPLACE;
}

static bool is_of_rows(const tacit_statistic_t *s) {
  return s->kind == TACIT_STATISTIC_PRODUCTS || s->kind == TACIT_STATISTIC_SCORE;
}

static bool is_of_cells(const tacit_statistic_t *s) {
  return s->kind == TACIT_STATISTIC_COUNTS || s->kind == TACIT_STATISTIC_MARGINS;
}

/* ---- what is asked for ---- */

static const uint32_t all_columns = UINT32_MAX;

static size_t n_cells_of(const tacit_statistic_t *s, uint32_t columns) {
  size_t n = 1;
  for (size_t j = 0; j < s->n_columns; j++) {
    n *= (columns >> j & 1) != 0 ? s->n_levels[j] : 1;
  }
  return n;
}

size_t tacit_statistic_n_values(const tacit_statistic_t *statistic) {
  size_t n, d = statistic->n_columns;
  switch (statistic->kind) {
  case TACIT_STATISTIC_SUM:
    return 1;
  case TACIT_STATISTIC_PRODUCTS:
    return d + d * (d + 1) / 2;
  case TACIT_STATISTIC_SCORE:
    return d - 1 + d * (d - 1) / 2 + d;
  case TACIT_STATISTIC_MARGINS:
    n = 0;
    for (size_t m = 0; m < statistic->n_margins; m++) {
      n += n_cells_of(statistic, statistic->margins[m]);
    }
    return n;
  default:
    return n_cells_of(statistic, all_columns);
  }
}

static tacit_status_t refuse_statistics(tacit_error_t *err, const char *field, const char *message) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, field, "%s", message);
}

static tacit_status_t check_bounds(const tacit_statistic_t *s, tacit_error_t *err) {
  for (size_t j = 0; j < s->n_columns; j++) {
    bool ok = fabs(s->lower[j]) <= 1e15 && fabs(s->upper[j]) <= 1e15 && s->upper[j] - s->lower[j] >= 1e-15;
    if (!ok) {
      return refuse_statistics(
          err, "bounds",
          "clamp bounds must be numbers up to 1e15 in size, lower below upper by 1e-15 or more");
    }
  }
  if (is_of_rows(s)) {
    return s->noise == TACIT_STATISTIC_GAUSSIAN
               ? TACIT_OK
               : refuse_statistics(
                     err, "noise",
                     "moments and scores of several columns are released under gaussian noise only");
  }
  if (!is_discrete(s)) {
    return s->step > 0 ? refuse_statistics(err, "step", "a step goes with discrete noise only") : TACIT_OK;
  }
  double first = s->lower[0] / s->step, last = s->upper[0] / s->step;
  if (!(s->step > 0) || !(fabs(first - nearbyint(first)) < 1e-9 * fmax(1, fabs(first))) ||
      !(fabs(last - nearbyint(last)) < 1e-9 * fmax(1, fabs(last)))) {
    return refuse_statistics(err, "step",
                             "discrete noise needs a step above 0 of which both clamp bounds are multiples");
  }
  if (!(last - first <= max_steps + 0.5) || !(fmax(fabs(first), fabs(last)) <= 0x1p24)) {
    return refuse_statistics(
        err, "step",
        "a range under discrete noise has at most 1e6 steps, and bounds at most 2^24 steps from 0: take a "
        "larger step, or gaussian or laplace noise");
  }
  return TACIT_OK;
}

static tacit_status_t check_table(const tacit_statistic_t *s, uint32_t columns, tacit_error_t *err) {
  size_t n = 1;
  for (size_t j = 0; j < s->n_columns; j++) {
    bool is_in = (columns >> j & 1) != 0;
    if (is_in && (s->n_levels[j] < 2 || s->n_levels[j] > MAX_CELLS || (n *= s->n_levels[j]) > MAX_CELLS)) {
      return refuse_statistics(err, "levels",
                               "counted columns have at least 2 levels, and a table at most 65536 cells");
    }
  }
  return TACIT_OK;
}

static tacit_status_t check_levels(const tacit_statistic_t *s, tacit_error_t *err) {
  if (s->kind == TACIT_STATISTIC_COUNTS) {
    return check_table(s, all_columns, err);
  }
  if (s->n_margins < 1 || s->n_margins > MAX_MARGINS) {
    return refuse_statistics(err, "margins", "1 to 500 margins are released at once");
  }
  for (size_t m = 0; m < s->n_margins; m++) {
    tacit_status_t status = s->margins[m] >> s->n_columns != 0 || s->margins[m] == 0
                                ? refuse_statistics(err, "margins", "a margin is of some of the columns")
                                : check_table(s, s->margins[m], err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_statistic_check(const tacit_statistic_t *statistic, tacit_error_t *err) {
  bool is_sum = statistic->kind == TACIT_STATISTIC_SUM;
  size_t most = is_sum                                       ? 1
                : statistic->kind == TACIT_STATISTIC_COUNTS  ? 16
                : statistic->kind == TACIT_STATISTIC_MARGINS ? MAX_MARGIN_COLUMNS
                                                             : MAX_PRODUCT_COLUMNS;
  size_t least = statistic->kind == TACIT_STATISTIC_SCORE ? 2 : 1;
  if (statistic->n_columns < least || statistic->n_columns > most) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "columns",
                           "a statistic of this kind has %zu to %zu columns, not %zu", least, most,
                           statistic->n_columns);
  }
  return is_of_cells(statistic) ? check_levels(statistic, err) : check_bounds(statistic, err);
}

/* Steps of a range, or worth of a record in a cell. */
static double lattice_steps(const tacit_statistic_t *s) {
  if (is_of_rows(s)) {
    return 1 << PRODUCT_BITS;
  }
  if (!is_discrete(s)) {
    return 1 << FINE_BITS;
  }
  return is_of_cells(s) ? 1 : nearbyint(s->upper[0] / s->step) - nearbyint(s->lower[0] / s->step);
}

static tacit_door_noise_t distribution_of(const tacit_statistic_t *s) {
  static const tacit_door_noise_t distributions[] = {
      [TACIT_STATISTIC_GAUSSIAN] = TACIT_DOOR_GAUSSIAN,
      [TACIT_STATISTIC_LAPLACE] = TACIT_DOOR_LAPLACE,
      [TACIT_STATISTIC_DISCRETE_GAUSSIAN] = TACIT_DOOR_DISCRETE_GAUSSIAN,
      [TACIT_STATISTIC_DISCRETE_LAPLACE] = TACIT_DOOR_DISCRETE_LAPLACE};
  return distributions[s->noise];
}

static const char *label_of(const tacit_statistic_t *s) {
  static const char *const labels[] = {"clamped sum", "counts", "products", "score", "margins"};
  return labels[s->kind];
}

tacit_door_shape_t tacit_statistic_shape(const tacit_statistic_t *s) {
  int64_t steps = (int64_t)lattice_steps(s);
  switch (s->kind) {
  case TACIT_STATISTIC_SUM:
    return (tacit_door_shape_t){
        .kind = TACIT_SHAPE_BOX, .dim = 1, .low = -(steps / 2), .high = steps - steps / 2};
  case TACIT_STATISTIC_COUNTS:
    return (tacit_door_shape_t){
        .kind = TACIT_SHAPE_CELL, .dim = tacit_statistic_n_values(s), .radius = steps};
  case TACIT_STATISTIC_MARGINS:
    return (tacit_door_shape_t){.kind = TACIT_SHAPE_CELL,
                                .dim = tacit_statistic_n_values(s),
                                .radius = steps,
                                .high = (int64_t)s->n_margins};
  default:
    return (tacit_door_shape_t){.kind = TACIT_SHAPE_PRODUCTS,
                                .dim = s->n_columns,
                                .radius = steps,
                                .high = s->kind == TACIT_STATISTIC_SCORE ? (int64_t)response_steps(s) : 0};
  }
}

tacit_event_t tacit_statistic_event(const tacit_statistic_t *s, double noise_multiplier) {
  tacit_door_shape_t shape = tacit_statistic_shape(s);
  return tacit_door_shape_event(&shape, distribution_of(s), !s->is_add_remove, noise_multiplier, label_of(s));
}

/* ---- a record's whole numbers ---- */

static double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* Discrete noise: the lower bound in steps. */
static double first_step(const tacit_statistic_t *s) {
  return s->step > 0 ? nearbyint(s->lower[0] / s->step) : 0;
}

static int64_t step_of(const tacit_statistic_t *s, double x) {
  double steps = lattice_steps(s);
  double at = is_discrete(s) ? nearbyint(x / s->step) - first_step(s)
                             : nearbyint((x - s->lower[0]) / (s->upper[0] - s->lower[0]) * steps);
  return (int64_t)(clamped(at, 0, steps) - floor(0.5 * steps));
}

/* Of a table of some columns. 0: none, else the cell from 1. */
static int64_t cell_of(const tacit_statistic_t *s, uint32_t columns, const float *x) {
  size_t cell = 0;
  for (size_t j = 0; j < s->n_columns; j++) {
    if ((columns >> j & 1) == 0) {
      continue;
    }
    if (!(x[j] >= 0 && (double)x[j] < (double)s->n_levels[j])) {
      return 0;
    }
    cell = cell * s->n_levels[j] + (size_t)x[j];
  }
  return (int64_t)cell + 1;
}

/* Column j mapped to [-1, 1], in steps. */
static int64_t mapped(const tacit_statistic_t *s, size_t j, double x, double steps) {
  double z = (2 * x - s->lower[j] - s->upper[j]) / (s->upper[j] - s->lower[j]);
  return (int64_t)clamped(nearbyint(z * steps), -steps, steps);
}

void tacit_statistic_add(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k) {
  const tacit_statistic_t *s = ctx;
  size_t d = s->n_columns;
  (void)n_rows;
  (void)work;
  if (s->kind == TACIT_STATISTIC_SUM) {
    k[0] = step_of(s, (double)x[0]);
  } else if (s->kind == TACIT_STATISTIC_COUNTS) {
    k[0] = cell_of(s, all_columns, x);
  } else if (s->kind == TACIT_STATISTIC_MARGINS) {
    int64_t first = 0;
    for (size_t m = 0; m < s->n_margins; m++) {
      int64_t cell = cell_of(s, s->margins[m], x);
      k[m] = cell > 0 ? first + cell : 0;
      first += (int64_t)n_cells_of(s, s->margins[m]);
    }
  } else {
    for (size_t j = 0; j < d; j++) {
      k[j] = mapped(s, j, (double)x[j], lattice_steps(s));
    }
    if (s->kind == TACIT_STATISTIC_SCORE) { /* a response between its bounds, which a binary one is not,
                                               counts as the nearest or none */
      k[d - 1] = mapped(s, d - 1, (double)x[d - 1], 1) * (int64_t)response_steps(s);
    }
  }
}

/* ---- the release ---- */

static tacit_status_t check_curator(const tacit_curator_t *curator, const tacit_statistic_t *statistic,
                                    tacit_error_t *err) {
  if (tacit_curator_is_exposed(curator) || curator->model->n_columns != statistic->n_columns ||
      curator->model->dim < tacit_statistic_n_values(statistic)) {
    return tacit_error_set(
        err, TACIT_ERR_STATE, "curator",
        "a statistic needs a private curator opened with tacit_statistic_model() of the same statistic");
  }
  if (tacit_door_has_units(curator->door)) {
    return tacit_error_set(err, TACIT_ERR_STATE, "unit",
                           "a released statistic protects one row: the schema's unit must be the row, not a "
                           "person with several");
  }
  bool is_add_remove = tacit_curator_sensitivity_factor(curator) < 2;
  if (is_add_remove && statistic->kind != TACIT_STATISTIC_MARGINS) {
    return tacit_error_set(
        err, TACIT_ERR_STATE, "relation",
        "a statistic is read with the number of records, which is public under relation substitute only");
  }
  if (is_add_remove != statistic->is_add_remove) {
    return tacit_error_set(err, TACIT_ERR_STATE, "relation",
                           "the statistic is not of the curator's relation");
  }
  return TACIT_OK;
}

/* The lattice's spacing in the units of value k; a clamped value's is the lattice's own where noise is
 * discrete. */
static double unit_of(const tacit_statistic_t *s, size_t k) {
  double steps = lattice_steps(s);
  size_t d = s->n_columns - 1;
  if (is_of_rows(s)) {
    bool is_response = s->kind == TACIT_STATISTIC_SCORE && k >= d + d * (d + 1) / 2; /* (y - 1/2) x */
    return 1 / (steps * (is_response ? 2 * response_steps(s) : steps));
  }
  return is_of_cells(s) ? 1 / steps : is_discrete(s) ? s->step : (s->upper[0] - s->lower[0]) / steps;
}

/* A clamped sum is told from the middle of its range. */
static tacit_status_t shift_sum(const tacit_curator_t *curator, const tacit_statistic_t *s, double *out,
                                tacit_error_t *err) {
  size_t n;
  tacit_status_t status = tacit_door_n_units(curator->door, &n, err);
  if (status == TACIT_OK) {
    double middle = floor(0.5 * lattice_steps(s)) + first_step(s),
           lower = is_discrete(s) ? 0 : (double)n * s->lower[0];
    out[0] = lower + ((double)n * middle + out[0]) * unit_of(s, 0);
  }
  return status;
}

tacit_status_t tacit_curator_release_statistic(tacit_curator_t *curator, const tacit_statistic_t *statistic,
                                               double noise_multiplier, double *out, double *noise_scales,
                                               tacit_error_t *err) {
  tacit_status_t status = tacit_statistic_check(statistic, err);
  if (status != TACIT_OK) {
    return status;
  }
  size_t n = tacit_statistic_n_values(statistic);
  double scale = 0;
  tacit_units_t units = {.shape = tacit_statistic_shape(statistic),
                         .unit = tacit_statistic_add,
                         .ctx = statistic,
                         .label = label_of(statistic)};
  memset(out, 0, n * sizeof *out);
  memset(noise_scales, 0, n * sizeof *noise_scales);
  status = check_curator(curator, statistic, err);
  TACIT_THEN(status, tacit_door_release_units(curator->door, &units, distribution_of(statistic),
                                              noise_multiplier, out, &scale, err));
  if (status == TACIT_OK && statistic->kind == TACIT_STATISTIC_SUM) {
    status = shift_sum(curator, statistic, out, err);
    noise_scales[0] = scale * unit_of(statistic, 0);
    return status;
  }
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    out[i] *= unit_of(statistic, i);
    noise_scales[i] = scale * unit_of(statistic, i);
  }
  return status;
}

/* ---- a model for records that have none ---- */

static void no_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                       double *out) {
  (void)ctx, (void)block, (void)theta;
  memset(out, 0, n_theta * TACIT_BLOCK * sizeof *out);
}

static void no_grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  (void)block, (void)theta;
  const tacit_statistic_t *statistic = ctx;
  memset(out, 0, n_theta * tacit_statistic_n_values(statistic) * TACIT_BLOCK * sizeof *out);
}

void tacit_statistic_model(tacit_record_model_t *model, const tacit_statistic_t *statistic) {
  *model = (tacit_record_model_t){.name = "columns",
                                  .dim = tacit_statistic_n_values(statistic),
                                  .n_columns = statistic->n_columns,
                                  .grad_bound = INFINITY,
                                  .log_lik = no_log_lik,
                                  .grad = no_grad,
                                  .ctx = (void *)statistic};
}
