/*
 * What the statistics tell apart: the record's range cut where a mark changes. Intervals are halved until
 * interval arithmetic proves that all marks are constant, so that no cell is missed, however narrow; a change
 * is found to 1e-12 of its place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/population_internal.h"

static const double FAREST = 690; /* e^690 is as far as doubles go */
static const double NEAREST =
    70; /* e^-70 from a bound that is not 0, whose own last digit is further: nothing is nearer */

/* ---- the long column ---- */

static bool is_given(const tacit_cells_t *cells, size_t j) {
  return cells->given != NULL && !isnan(cells->given[j]);
}

static double n_values_of(const tacit_cells_t *cells, size_t j) {
  size_t n;
  const tacit_population_column_t *c = tacit_population_columns(cells->population, &n);
  return is_given(cells, j) ? 1 : c[j].upper - c[j].lower + 1;
}

static tacit_status_t refuse_cells(tacit_error_t *err, const char *what) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method", "%s", what);
}

static tacit_status_t choose_column(tacit_cells_t *cells, tacit_error_t *err) {
  const tacit_population_column_t *c = tacit_population_columns(cells->population, &cells->n_columns);
  double n_combinations = 1;
  cells->long_column = SIZE_MAX;
  for (size_t j = 0; j < cells->n_columns; j++) {
    if (is_given(cells, j)) {
      continue;
    }
    if (!c[j].is_integer && cells->is_real) {
      return refuse_cells(
          err, "the records have several real numbers: their cells would take an integral over all of them");
    }
    if (!c[j].is_integer || cells->long_column == SIZE_MAX ||
        (!cells->is_real && n_values_of(cells, j) > n_values_of(cells, cells->long_column))) {
      cells->long_column = j;
    }
    cells->is_real = cells->is_real || !c[j].is_integer;
  }
  if (cells->long_column == SIZE_MAX) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "given",
        "all numbers of the records are given: nothing is left that the program would say");
  }
  for (size_t j = 0; j < cells->n_columns; j++) {
    n_combinations *= j != cells->long_column ? n_values_of(cells, j) : 1;
  }
  if (!(n_combinations <= TACIT_POPULATION_MAX_CELLS)) {
    return refuse_cells(
        err,
        "the whole numbers of a record have more than 65536 values together: give them bounds, or fewer");
  }
  const tacit_population_column_t *l = &c[cells->long_column];
  bool has_lower = isfinite(l->lower), has_upper = isfinite(l->upper);
  cells->n_combinations = (size_t)n_combinations;
  cells->lower = l->lower;
  cells->upper = l->upper;
  cells->stretch = !cells->is_real          ? TACIT_STRETCH_NONE
                   : has_lower && has_upper ? TACIT_STRETCH_BETWEEN
                   : has_lower              ? TACIT_STRETCH_ABOVE
                   : has_upper              ? TACIT_STRETCH_BELOW
                                            : TACIT_STRETCH_BOTH;
  /* Next to 0 numbers go on to e^-690: a distribution that is wide in the logarithm has mass there. */
  double near_lower = fabs(l->lower) > 0 ? NEAREST : FAREST,
         near_upper = fabs(l->upper) > 0 ? NEAREST : FAREST;
  cells->from = !cells->is_real ? l->lower : has_lower ? -near_lower : -FAREST;
  cells->to = !cells->is_real ? fmin(l->upper, 0x1p52) : has_upper ? near_upper : FAREST;
  return TACIT_OK;
}

double tacit_cells_stretch(const tacit_cells_t *cells, double s, double *log_slope) {
  double e;
  switch (cells->stretch) {
  case TACIT_STRETCH_BOTH:
    *log_slope = fabs(s) + log1p(exp(-2 * fabs(s))) - 0.6931471805599453;
    return sinh(s);
  case TACIT_STRETCH_ABOVE:
    *log_slope = s;
    return cells->lower + exp(s);
  case TACIT_STRETCH_BELOW:
    *log_slope = -s;
    return cells->upper - exp(-s);
  case TACIT_STRETCH_BETWEEN:
    e = exp(-fabs(s));
    *log_slope = log(cells->upper - cells->lower) - fabs(s) - 2 * log1p(e);
    e *= (cells->upper - cells->lower) / (1 + e);
    return s < 0 ? cells->lower + e : cells->upper - e;
  default:
    *log_slope = 0;
    return s;
  }
}

void tacit_cells_combination(const tacit_cells_t *cells, size_t k, double *x) {
  size_t n;
  const tacit_population_column_t *c = tacit_population_columns(cells->population, &n);
  for (size_t j = n; j-- > 0;) {
    size_t values = j != cells->long_column ? (size_t)n_values_of(cells, j) : 1;
    x[j] = is_given(cells, j)        ? cells->given[j]
           : j != cells->long_column ? c[j].lower + (double)(k % values)
                                     : 0;
    k /= values;
  }
}

/* ---- pieces ---- */

typedef struct cutter {
  tacit_cells_t *cells;
  tacit_population_workspace_t *workspace;
  double *box, *ranges, *x, *marks,
      *other;   /* (n_columns, 2), (n_marks, 2), (n_columns, 16), (n_marks, 16) twice */
  double *keys; /* (pieces, n_entries): where marks add to */
  double *key, *other_key;
  uint32_t combination;
  tacit_error_t *err;
  tacit_status_t status;
} cutter_t;

static void marks_at(cutter_t *c, double s, double *marks) {
  size_t n_marks = tacit_population_n_marks(c->cells->population);
  double slope, at = tacit_cells_stretch(c->cells, s, &slope);
  for (size_t lane = 0; lane < TACIT_POPULATION_LANES; lane++) {
    c->x[c->cells->long_column * TACIT_POPULATION_LANES + lane] = at;
  }
  tacit_population_marks(c->workspace, c->x, marks);
  for (size_t i = 0; i < n_marks; i++) {
    marks[i] = marks[i * TACIT_POPULATION_LANES];
  }
}

/* Marks as a key: the place of the cell of a count, the number of a sum; of what was published alone. */
static bool make_key(cutter_t *c, const double *marks, double *key) {
  size_t e = 0;
  for (size_t i = 0; i < c->cells->n_seen; i++) {
    const tacit_population_statistic_t *s = c->cells->seen[i].statistic;
    double place = 0;
    for (size_t k = 0; s != NULL && k < s->n_marks; k++) {
      double mark = marks[s->first_mark + k];
      if (!s->is_count) {
        key[e++] = mark;
        continue;
      }
      double level = mark - s->first[k];
      if (!(level >= 0 && level < (double)s->extents[k])) {
        c->status = tacit_error_set(c->err, TACIT_ERR_ARGUMENT, s->name,
                                    "%s: %s can be %g, and is declared from %g to %g", s->name, s->factors[k],
                                    mark, s->first[k], s->first[k] + (double)s->extents[k] - 1);
        return false;
      }
      place = place * (double)s->extents[k] + level;
    }
    if (s == NULL || s->is_count) {
      key[e++] = place;
    }
  }
  for (size_t i = 0; i < e; i++) {
    if (!isfinite(key[i])) {
      c->status =
          tacit_error_set(c->err, TACIT_ERR_ARGUMENT, "statistic",
                          "a statistic is no finite number of some record: clamp it, fmin(fmax(x, 0), 10)");
      return false;
    }
  }
  return true;
}

static bool same_key(const cutter_t *c, const double *a, const double *b) {
  return memcmp(a, b, c->cells->n_entries * sizeof *a) == 0;
}

static void add_piece(cutter_t *c, double from, double to, const double *key) {
  tacit_cells_t *cells = c->cells;
  tacit_piece_of_range_t *last = cells->n_pieces > 0 ? &cells->pieces[cells->n_pieces - 1] : NULL;
  if (last != NULL && last->combination == c->combination &&
      same_key(c, c->keys + (cells->n_pieces - 1) * cells->n_entries, key)) {
    last->to = to;
    return;
  }
  if (cells->n_pieces == TACIT_POPULATION_MAX_CELLS) {
    c->status =
        refuse_cells(c->err, "the statistics take more than 65536 values, as a sum of a real number does: "
                             "they have to take finitely many, sum(cut(x, {1, 2, 3}))");
    return;
  }
  if (cells->n_pieces == cells->piece_capacity) {
    size_t more = 2 * cells->n_pieces + 64;
    tacit_piece_of_range_t *pieces = tacit_realloc(cells->pieces, more, sizeof *pieces);
    cells->pieces = pieces != NULL ? pieces : cells->pieces;
    double *keys = tacit_realloc(c->keys, more * (cells->n_entries + 1), sizeof *keys);
    c->keys = keys != NULL ? keys : c->keys;
    if (pieces == NULL || keys == NULL) {
      c->status = tacit_error_memory(c->err);
      return;
    }
    cells->piece_capacity = more;
  }
  memcpy(c->keys + cells->n_pieces * cells->n_entries, key, cells->n_entries * sizeof *key);
  cells->pieces[cells->n_pieces++] =
      (tacit_piece_of_range_t){.from = from, .to = to, .combination = c->combination};
}

/* Are all marks that were published constant from `from` to `to`? */
static bool is_constant(cutter_t *c, double from, double to) {
  const tacit_cells_t *cells = c->cells;
  size_t l = cells->long_column;
  double slope;
  c->box[2 * l] = from > cells->from ? tacit_cells_stretch(cells, from, &slope) : cells->lower;
  c->box[2 * l + 1] = to < cells->to ? tacit_cells_stretch(cells, to, &slope) : cells->upper;
  tacit_population_mark_ranges(c->workspace, c->box, c->ranges);
  for (size_t i = 0; i < cells->n_seen; i++) {
    const tacit_population_statistic_t *s = cells->seen[i].statistic;
    for (size_t k = 0; s != NULL && k < s->n_marks; k++) {
      double lo = c->ranges[2 * (s->first_mark + k)], hi = c->ranges[2 * (s->first_mark + k) + 1];
      if (!(isfinite(hi - lo) &&
            hi - lo <=
                1e-12 * fmax(fabs(lo), fabs(hi)))) { /* infinity is at most infinity, and not constant */
        return false;
      }
    }
  }
  return true;
}

/* Where interval arithmetic cannot tell, ends and middle do: rounding blurs it over less than 1e-7. */
static bool is_alike(cutter_t *c, double from, double to) {
  if (!c->cells->is_real || to - from > 1e-7 * fmax(1, fabs(from))) {
    return false;
  }
  marks_at(c, from, c->other);
  if (!make_key(c, c->other, c->other_key)) {
    return false;
  }
  bool is_same = same_key(c, c->key, c->other_key);
  marks_at(c, to, c->other);
  return make_key(c, c->other, c->other_key) && is_same && same_key(c, c->key, c->other_key);
}

static void cut(cutter_t *c, double from, double to) {
  bool is_whole = !c->cells->is_real;
  double middle = is_whole ? floor(from + 0.5 * (to - from)) : 0.5 * (from + to);
  if (c->status != TACIT_OK) {
    return;
  }
  bool is_last = is_whole ? !(from < to) : to - from < 1e-12 * fmax(1, fabs(from));
  bool is_done = is_last || is_constant(c, from, to);
  marks_at(c, middle, c->marks);
  if (!make_key(c, c->marks, c->key)) {
    return;
  }
  if (is_done || is_alike(c, from, to)) {
    add_piece(c, from, to, c->key);
    return;
  }
  cut(c, from, middle);
  cut(c, is_whole ? middle + 1 : middle, to);
}

/* ---- cells ---- */

typedef struct keyed {
  const double *key;
  size_t n, piece;
} keyed_t;

static int compare(const void *a, const void *b) {
  const keyed_t *x = a, *y = b;
  for (size_t i = 0; i < x->n; i++) {
    if (x->key[i] < y->key[i] || x->key[i] > y->key[i]) {
      return x->key[i] < y->key[i] ? -1 : 1;
    }
  }
  return 0;
}

/* The entries of a cell, from its key. */
static void set_entries(const cutter_t *c, const double *key, tacit_entry_t *entries) {
  size_t e = 0;
  for (size_t i = 0; i < c->cells->n_seen; i++) {
    const tacit_seen_t *seen = &c->cells->seen[i];
    bool is_sum = seen->statistic != NULL && !seen->statistic->is_count;
    for (size_t k = 0; k < (is_sum ? seen->statistic->n_marks : 1); k++, e++) {
      entries[e] = is_sum ? (tacit_entry_t){.value = seen->first + (uint32_t)k, .weight = key[e]}
                          : (tacit_entry_t){.value = seen->first + (uint32_t)key[e], .weight = 1};
    }
  }
}

/* Pieces of equal keys are one cell. */
static tacit_status_t number_cells(const cutter_t *c) {
  tacit_cells_t *cells = c->cells;
  keyed_t *sorted = tacit_alloc(cells->n_pieces, sizeof *sorted);
  cells->entries = tacit_alloc_zero(cells->n_pieces * cells->n_entries, sizeof *cells->entries);
  if (sorted == NULL || cells->entries == NULL) {
    tacit_free(sorted);
    return tacit_error_memory(c->err);
  }
  for (size_t i = 0; i < cells->n_pieces; i++) {
    sorted[i] = (keyed_t){.key = c->keys + i * cells->n_entries, .n = cells->n_entries, .piece = i};
  }
  qsort(sorted, cells->n_pieces, sizeof *sorted, compare);
  for (size_t i = 0; i < cells->n_pieces; i++) {
    if (i == 0 || compare(&sorted[i - 1], &sorted[i]) != 0) {
      set_entries(c, sorted[i].key, cells->entries + cells->n_cells++ * cells->n_entries);
    }
    cells->pieces[sorted[i].piece].cell = (uint32_t)(cells->n_cells - 1);
  }
  tacit_free(sorted);
  return TACIT_OK;
}

static void cut_all(cutter_t *c) {
  tacit_cells_t *cells = c->cells;
  for (size_t k = 0; k < cells->n_combinations && c->status == TACIT_OK; k++) {
    c->combination = (uint32_t)k;
    tacit_cells_combination(cells, k, c->box);
    for (size_t j = cells->n_columns; j-- > 0;) {
      double value = c->box[j];
      c->box[2 * j] = c->box[2 * j + 1] = value;
      for (size_t lane = 0; lane < TACIT_POPULATION_LANES; lane++) {
        c->x[j * TACIT_POPULATION_LANES + lane] = value;
      }
    }
    cut(c, cells->from, cells->to);
  }
}

size_t tacit_seen_n_entries(const tacit_seen_t *seen, size_t n_seen) {
  size_t n = 0;
  for (size_t i = 0; i < n_seen; i++) {
    n += seen[i].statistic == NULL || seen[i].statistic->is_count ? 1 : seen[i].statistic->n_marks;
  }
  return n;
}

tacit_status_t tacit_cells_init(tacit_cells_t *cells, const struct tacit_population *population,
                                const tacit_seen_t *seen, size_t n_seen, const double *given,
                                tacit_error_t *err) {
  size_t n_marks = tacit_population_n_marks(population);
  *cells = (tacit_cells_t){.population = population,
                           .seen = seen,
                           .n_seen = n_seen,
                           .given = given,
                           .n_entries = tacit_seen_n_entries(seen, n_seen)};
  tacit_status_t status = choose_column(cells, err);
  cutter_t c = {.cells = cells, .err = err};
  size_t sizes[] = {2 * cells->n_columns,
                    2 * n_marks,
                    TACIT_POPULATION_LANES * cells->n_columns,
                    TACIT_POPULATION_LANES * n_marks,
                    TACIT_POPULATION_LANES * n_marks,
                    n_marks + 1,
                    n_marks + 1};
  double **arrays[] = {&c.box, &c.ranges, &c.x, &c.marks, &c.other, &c.key, &c.other_key};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && status == TACIT_OK; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    status = *arrays[i] != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  TACIT_THEN(status, tacit_population_workspace_new(&c.workspace, population, err));
  if (status == TACIT_OK) {
    cut_all(&c);
    status = c.status;
  }
  TACIT_THEN(status, number_cells(&c));
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    tacit_free(*arrays[i]);
  }
  tacit_free(c.keys);
  tacit_population_workspace_free(c.workspace);
  return status;
}

void tacit_cells_clear(tacit_cells_t *cells) {
  tacit_free(cells->pieces);
  tacit_free(cells->entries);
  *cells = (tacit_cells_t){0};
}
