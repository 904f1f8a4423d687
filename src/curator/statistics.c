/*
 * Releases of statistics of columns: a clamped sum, the counts of a table's cells, sums of products. Like all releases, each
 * is described as an event, charged, and only then computed; noise is added to an exact integer.
 *
 * Contributions are integers by construction, so that sensitivities hold for what is summed, without a slack for rounding:
 *
 *     sum       k - floor(D / 2), k in 0 .. D the step nearest to the clamped value: two records differ by at most D
 *     counts    c in the record's cell: two records differ by c in two cells
 *     products  Q q_i and q_i q_j (i <= j), q_j in -Q .. Q: two records differ by at most (d + 1) Q^2 in L2
 *     score     these of the features, and r H Q and r H q_j, r = 2 y - 1: at most D Q^2 + H^2 in L2, D features and the response
 *
 * (docs/theory.md, section 12.8). A record with a value that is no finite number contributes zeros, and so does a level that
 * is none: what a record in the middle of all ranges contributes, or one in no cell, which moves no sensitivity.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "curator/curator_internal.h"

enum {
  FINE_BITS = 22,      /* continuous noise: steps of a clamped value's range, and of a count */
  PRODUCT_BITS = 16,   /* Q */
  MAX_CELLS = 65536,
  MAX_PRODUCT_COLUMNS = 24
};

static const double max_steps = 1e6; /* of a range under discrete noise: beyond it that is continuous noise in all but name */

/*
 * H of the score, Q sqrt(D / 2): noise of the response is then 1.5 / sqrt(2), and that of the features' moments 1.5 times what it
 * would be if nothing else were released.
 */
static double response_steps(const tacit_statistic_t *s) {
  return floor((double)(1 << PRODUCT_BITS) * sqrt(0.5 * (double)s->n_columns));
}

typedef struct pass {
  tacit_curator_t *curator;
  const tacit_statistic_t *statistic;
  double steps;     /* of a clamped value's range, or worth of a record in a cell */
  double first;     /* discrete noise: lower / step */
  size_t n_values;
} pass_t;

static bool is_discrete(const tacit_statistic_t *s) {
  return s->noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN || s->noise == TACIT_STATISTIC_DISCRETE_LAPLACE;
}

static bool is_gaussian(const tacit_statistic_t *s) {
  return s->noise == TACIT_STATISTIC_GAUSSIAN || s->noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN;
}

static bool is_of_rows(const tacit_statistic_t *s) {
  return s->kind == TACIT_STATISTIC_PRODUCTS || s->kind == TACIT_STATISTIC_SCORE;
}

/* ---- what is asked for ---- */

size_t tacit_statistic_n_values(const tacit_statistic_t *statistic) {
  size_t n = 1, d = statistic->n_columns;
  switch (statistic->kind) {
    case TACIT_STATISTIC_SUM:
      return 1;
    case TACIT_STATISTIC_PRODUCTS:
      return d + d * (d + 1) / 2;
    case TACIT_STATISTIC_SCORE:
      return d - 1 + d * (d - 1) / 2 + d;
    default:
      for (size_t j = 0; j < d; j++) {
        n *= statistic->n_levels[j];
      }
      return n;
  }
}

static tacit_status_t refuse(tacit_error_t *err, const char *field, const char *message) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, field, "%s", message);
}

static tacit_status_t check_bounds(const tacit_statistic_t *s, tacit_error_t *err) {
  for (size_t j = 0; j < s->n_columns; j++) {
    bool ok = fabs(s->lower[j]) <= 1e15 && fabs(s->upper[j]) <= 1e15 && s->upper[j] - s->lower[j] >= 1e-15;
    if (!ok) {
      return refuse(err, "bounds", "clamp bounds must be numbers up to 1e15 in size, lower below upper by 1e-15 or more");
    }
  }
  if (is_of_rows(s)) {
    return s->noise == TACIT_STATISTIC_GAUSSIAN
               ? TACIT_OK
               : refuse(err, "noise", "moments and scores of several columns are released under gaussian noise only");
  }
  if (!is_discrete(s)) {
    return s->step > 0 ? refuse(err, "step", "a step goes with discrete noise only") : TACIT_OK;
  }
  double first = s->lower[0] / s->step, last = s->upper[0] / s->step;
  if (!(s->step > 0) || !(fabs(first - nearbyint(first)) < 1e-9 * fmax(1, fabs(first))) ||
      !(fabs(last - nearbyint(last)) < 1e-9 * fmax(1, fabs(last)))) {
    return refuse(err, "step", "discrete noise needs a step above 0 of which both clamp bounds are multiples");
  }
  if (!(last - first <= max_steps + 0.5) || !(fmax(fabs(first), fabs(last)) <= 0x1p24)) {
    return refuse(err, "step", "a range under discrete noise has at most 1e6 steps, and bounds at most 2^24 steps from 0: take a "
                               "larger step, or gaussian or laplace noise");
  }
  return TACIT_OK;
}

static tacit_status_t check_levels(const tacit_statistic_t *s, tacit_error_t *err) {
  size_t n = 1;
  for (size_t j = 0; j < s->n_columns; j++) {
    if (s->n_levels[j] < 2 || s->n_levels[j] > MAX_CELLS || (n *= s->n_levels[j]) > MAX_CELLS) {
      return refuse(err, "levels", "counted columns have at least 2 levels, and a table at most 65536 cells");
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_statistic_check(const tacit_statistic_t *statistic, tacit_error_t *err) {
  bool is_sum = statistic->kind == TACIT_STATISTIC_SUM;
  size_t most = is_sum ? 1 : statistic->kind == TACIT_STATISTIC_COUNTS ? 16 : MAX_PRODUCT_COLUMNS;
  size_t least = statistic->kind == TACIT_STATISTIC_SCORE ? 2 : 1;
  if (statistic->n_columns < least || statistic->n_columns > most) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "columns", "a statistic of this kind has %zu to %zu columns, not %zu", least,
                           most, statistic->n_columns);
  }
  return statistic->kind == TACIT_STATISTIC_COUNTS ? check_levels(statistic, err) : check_bounds(statistic, err);
}

/* Steps of a range, or worth of a record in a cell. */
static double lattice_steps(const tacit_statistic_t *s) {
  if (is_of_rows(s)) {
    return 1 << PRODUCT_BITS;
  }
  if (!is_discrete(s)) {
    return 1 << FINE_BITS;
  }
  return s->kind == TACIT_STATISTIC_COUNTS ? 1 : nearbyint(s->upper[0] / s->step) - nearbyint(s->lower[0] / s->step);
}

double tacit_statistic_sensitivity(const tacit_statistic_t *s) {
  double steps = lattice_steps(s);
  switch (s->kind) {
    case TACIT_STATISTIC_SUM: return steps;
    case TACIT_STATISTIC_COUNTS: return is_gaussian(s) ? sqrt(2) * (1 + 0x1p-50) * steps : 2 * steps;
    case TACIT_STATISTIC_SCORE: return (double)s->n_columns * steps * steps + response_steps(s) * response_steps(s);
    default: return ((double)s->n_columns + 1) * steps * steps;
  }
}

tacit_event_t tacit_statistic_event(const tacit_statistic_t *s, double noise_multiplier) {
  static const char *const labels[] = {"clamped sum", "counts", "products", "score"};
  tacit_event_t event = {.noise_multiplier = noise_multiplier, .count = 1};
  snprintf(event.label, sizeof event.label, "%s", labels[s->kind]);
  bool is_plain_laplace = s->noise == TACIT_STATISTIC_LAPLACE && s->kind == TACIT_STATISTIC_SUM;
  if (s->noise == TACIT_STATISTIC_GAUSSIAN || is_plain_laplace) {
    event.kind = is_plain_laplace ? TACIT_EVENT_LAPLACE : TACIT_EVENT_GAUSSIAN;
  } else if (s->noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN) {
    event.kind = TACIT_EVENT_DISCRETE_GAUSSIAN;
    if (s->kind == TACIT_STATISTIC_COUNTS) { /* a record leaves one cell and enters another */
      event.noise_multiplier = noise_multiplier * sqrt(2);
      event.count = 2;
    } else {
      event.sensitivity = lattice_steps(s);
    }
  } else { /* no epsilon-DP mechanism tells more than randomised response between two answers [Kairouz2015] */
    event.kind = TACIT_EVENT_RANDOMIZED_RESPONSE;
    event.noise_multiplier = 0;
    event.probability = 2 / (1 + exp(1 / noise_multiplier * (1 + 1e-12)));
    event.buckets = 2;
  }
  return event;
}

/* ---- the sums ---- */

static double clamped(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

static void add_sum(const pass_t *pass, const double *x, tacit_wide_t *totals) {
  const tacit_statistic_t *s = pass->statistic;
  double at = is_discrete(s) ? nearbyint(x[0] / s->step) - pass->first
                             : nearbyint((x[0] - s->lower[0]) / (s->upper[0] - s->lower[0]) * pass->steps);
  totals[0] += (tacit_wide_t)(clamped(at, 0, pass->steps) - floor(0.5 * pass->steps));
}

static void add_count(const pass_t *pass, const double *x, tacit_wide_t *totals) {
  const tacit_statistic_t *s = pass->statistic;
  size_t cell = 0;
  for (size_t j = 0; j < s->n_columns; j++) {
    if (!(x[j] >= 0 && x[j] < (double)s->n_levels[j])) {
      return;
    }
    cell = cell * s->n_levels[j] + (size_t)x[j];
  }
  totals[cell] += (tacit_wide_t)pass->steps;
}

/* Column j mapped to [-1, 1], in steps. */
static int64_t mapped(const tacit_statistic_t *s, size_t j, double x, double steps) {
  double z = (2 * x - s->lower[j] - s->upper[j]) / (s->upper[j] - s->lower[j]);
  return (int64_t)clamped(nearbyint(z * steps), -steps, steps);
}

/* Of the first d columns; q: shape (d), these columns in steps. */
static void add_products(const pass_t *pass, size_t d, const double *x, int64_t *q, tacit_wide_t *totals) {
  size_t k = d;
  for (size_t j = 0; j < d; j++) {
    q[j] = mapped(pass->statistic, j, x[j], pass->steps);
    totals[j] += (tacit_wide_t)q[j] * (1 << PRODUCT_BITS);
  }
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i; j < d; j++) {
      totals[k++] += (tacit_wide_t)(q[i] * q[j]);
    }
  }
}

/* A response between its bounds, which a binary one is not, counts as the nearest of the two or as none. */
static void add_score(const pass_t *pass, const double *x, tacit_wide_t *totals) {
  const tacit_statistic_t *s = pass->statistic;
  size_t d = s->n_columns - 1, k = d + d * (d + 1) / 2;
  int64_t q[MAX_PRODUCT_COLUMNS], r = mapped(s, d, x[d], 1) * (int64_t)response_steps(s);
  add_products(pass, d, x, q, totals);
  totals[k++] += (tacit_wide_t)(r * (1 << PRODUCT_BITS));
  for (size_t j = 0; j < d; j++) {
    totals[k++] += (tacit_wide_t)(r * q[j]);
  }
}

void tacit_statistic_add(const tacit_statistic_t *statistic, const double *x, tacit_wide_t *totals) {
  int64_t q[MAX_PRODUCT_COLUMNS];
  pass_t pass = {.statistic = statistic, .steps = lattice_steps(statistic)};
  pass.first = statistic->step > 0 ? nearbyint(statistic->lower[0] / statistic->step) : 0;
  for (size_t j = 0; j < statistic->n_columns; j++) {
    if (!isfinite(x[j])) {
      return;
    }
  }
  switch (statistic->kind) {
    case TACIT_STATISTIC_SUM: add_sum(&pass, x, totals); break;
    case TACIT_STATISTIC_COUNTS: add_count(&pass, x, totals); break;
    case TACIT_STATISTIC_SCORE: add_score(&pass, x, totals); break;
    default: add_products(&pass, statistic->n_columns, x, q, totals);
  }
}

static void statistic_part(void *user, size_t first, size_t last, size_t thread) {
  const pass_t *pass = user;
  const tacit_curator_t *curator = pass->curator;
  size_t n = tacit_records_n(curator->records), n_columns = curator->model->n_columns;
  for (size_t i = first * TACIT_BLOCK; i < last * TACIT_BLOCK && i < n; i++) {
    const float *block = tacit_records_block(curator->records, i / TACIT_BLOCK);
    double x[MAX_PRODUCT_COLUMNS];
    for (size_t j = 0; j < n_columns; j++) {
      x[j] = (double)block[j * TACIT_BLOCK + i % TACIT_BLOCK];
    }
    tacit_statistic_add(pass->statistic, x, curator->workspaces[thread].totals);
  }
}

/* ---- the release ---- */

static tacit_status_t check_curator(const tacit_curator_t *curator, const tacit_statistic_t *statistic, tacit_error_t *err) {
  if (curator->is_exposed || curator->model->n_columns != statistic->n_columns ||
      curator->model->dim < tacit_statistic_n_values(statistic)) {
    return tacit_error_set(err, TACIT_ERR_STATE, "curator",
                           "a statistic needs a private curator opened with tacit_statistic_model() of the same statistic");
  }
  if (curator->unit_offsets != NULL || curator->settings.max_unit_rows != 1) {
    return tacit_error_set(err, TACIT_ERR_STATE, "unit",
                           "a released statistic protects one row: the schema's unit must be the row, not a person with several");
  }
  if (tacit_budget_relation(curator->budget) != TACIT_RELATION_SUBSTITUTE) {
    return tacit_error_set(err, TACIT_ERR_STATE, "relation",
                           "a statistic is read with the number of records, which is public under relation substitute only");
  }
  return TACIT_OK;
}

static tacit_status_t draw_noise(tacit_curator_t *curator, const tacit_statistic_t *s, size_t n, double scale,
                                 tacit_error_t *err) {
  switch (s->noise) {
    case TACIT_STATISTIC_GAUSSIAN: return tacit_noise_rounded_gaussian(curator->noise, scale, n, curator->draws, err);
    case TACIT_STATISTIC_LAPLACE: return tacit_noise_rounded_laplace(curator->noise, scale, n, curator->draws, err);
    case TACIT_STATISTIC_DISCRETE_GAUSSIAN:
      return tacit_noise_discrete_gaussian(curator->noise, scale, n, curator->draws, err);
    default: return tacit_noise_discrete_laplace(curator->noise, scale, n, curator->draws, err);
  }
}

/* The lattice's spacing in the units of value k; a clamped value's is the lattice's own where noise is discrete. */
static double unit_of(const pass_t *pass, size_t k) {
  const tacit_statistic_t *s = pass->statistic;
  size_t d = s->n_columns - 1;
  if (is_of_rows(s)) {
    bool is_response = s->kind == TACIT_STATISTIC_SCORE && k >= d + d * (d + 1) / 2; /* (y - 1/2) x */
    return 1 / (pass->steps * (is_response ? 2 * response_steps(s) : pass->steps));
  }
  if (s->kind == TACIT_STATISTIC_COUNTS) {
    return 1 / pass->steps;
  }
  return is_discrete(s) ? s->step : (s->upper[0] - s->lower[0]) / pass->steps;
}

static void set_values(const pass_t *pass, double lattice_scale, double *out, double *noise_scales) {
  const tacit_curator_t *curator = pass->curator;
  const tacit_statistic_t *s = pass->statistic;
  tacit_wide_t n = (tacit_wide_t)curator->n_records, offset = 0;
  double shift = 0;
  if (s->kind == TACIT_STATISTIC_SUM) {
    offset = n * ((tacit_wide_t)floor(0.5 * pass->steps) + (is_discrete(s) ? (tacit_wide_t)pass->first : 0));
    shift = is_discrete(s) ? 0 : (double)n * s->lower[0];
  }
  for (size_t i = 0; i < pass->n_values; i++) {
    double unit = unit_of(pass, i);
    out[i] = shift + (double)(offset + curator->sums[i] + curator->draws[i]) * unit;
    noise_scales[i] = lattice_scale * unit;
  }
}

tacit_status_t tacit_curator_release_statistic(tacit_curator_t *curator, const tacit_statistic_t *statistic,
                                               double noise_multiplier, double *out, double *noise_scales,
                                               tacit_error_t *err) {
  pass_t pass = {.curator = curator, .statistic = statistic};
  tacit_status_t status = tacit_statistic_check(statistic, err);
  if (status != TACIT_OK) {
    return status;
  }
  pass.n_values = tacit_statistic_n_values(statistic);
  pass.steps = lattice_steps(statistic);
  pass.first = statistic->step > 0 ? nearbyint(statistic->lower[0] / statistic->step) : 0;
  memset(out, 0, pass.n_values * sizeof *out);
  memset(noise_scales, 0, pass.n_values * sizeof *noise_scales);
  double scale = nextafter(noise_multiplier * tacit_statistic_sensitivity(statistic), INFINITY);
  status = check_curator(curator, statistic, err);
  if (status == TACIT_OK) {
    status = tacit_curator_check_noise(curator, noise_multiplier, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_reserve(curator, 1, err);
  }
  if (status == TACIT_OK) {
    tacit_event_t event = tacit_statistic_event(statistic, noise_multiplier);
    status = tacit_budget_charge(curator->budget, &event, err);
  }
  if (status == TACIT_OK) {
    status = draw_noise(curator, statistic, pass.n_values, scale, err);
  }
  if (status == TACIT_OK) {
    tacit_curator_sum_blocks(curator, pass.n_values, statistic_part, &pass);
    set_values(&pass, scale, out, noise_scales);
  }
  return status;
}

/* ---- a model for records that have none ---- */

static void no_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta, double *out) {
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
