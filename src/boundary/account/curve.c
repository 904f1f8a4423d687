/*
 * Discrete distributions of the privacy loss: those of discrete mechanisms, and the pairs and profiles that
 * users give.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "account/pair.h"

void tacit_table_clear(tacit_table_t *table) {
  tacit_free(table->loss);
  *table = (tacit_table_t){0};
}

tacit_status_t tacit_table_init(tacit_table_t *table, size_t n, const double *loss, const double *p,
                                const double *q, tacit_error_t *err) {
  *table = (tacit_table_t){.n = n, .loss = tacit_alloc(n, 5 * sizeof(double))};
  if (table->loss == NULL) {
    return tacit_error_memory(err);
  }
  table->p_above = table->loss + n;
  table->q_above = table->loss + 2 * n;
  table->p_below = table->loss + 3 * n;
  table->q_below = table->loss + 4 * n;
  tacit_exact_sum_t sum_p = {0, 0}, sum_q = {0, 0};
  for (size_t i = 0; i < n; i++) {
    table->loss[i] = loss[i];
    tacit_exact_sum_add(&sum_p, p[i]);
    tacit_exact_sum_add(&sum_q, q[i]);
    table->p_below[i] = sum_p.high + sum_p.low;
    table->q_below[i] = sum_q.high + sum_q.low;
  }
  sum_p = sum_q = (tacit_exact_sum_t){0, 0};
  for (size_t i = n; i-- > 0;) {
    table->p_above[i] = sum_p.high + sum_p.low;
    table->q_above[i] = sum_q.high + sum_q.low;
    tacit_exact_sum_add(&sum_p, p[i]);
    tacit_exact_sum_add(&sum_q, q[i]);
  }
  table->error = 8 * DBL_EPSILON;
  return TACIT_OK;
}

void tacit_table_tails(const tacit_table_t *table, double loss, tacit_tails_t *tails) {
  size_t lower = 0, upper = table->n; /* losses before `lower` are <= loss, from `upper` on above it */
  double loss_error = 4 * DBL_EPSILON * fabs(loss);
  while (lower < upper) {
    size_t middle = lower + (upper - lower) / 2;
    *(table->loss[middle] <= loss ? &lower : &upper) = table->loss[middle] <= loss ? middle + 1 : middle;
  }
  if (lower == 0) {
    size_t last = table->n - 1;
    *tails = (tacit_tails_t){table->p_below[last], table->q_below[last], 0, 0, table->error, loss_error};
    return;
  }
  size_t at = lower - 1;
  *tails = (tacit_tails_t){table->p_above[at], table->q_above[at], table->p_below[at],
                           table->q_below[at], table->error,       loss_error};
}

/* ---- files ---- */

enum { max_curve_bytes = 1 << 24 };

void tacit_curve_free(tacit_curve_t *curve) {
  if (curve != NULL) {
    tacit_table_clear(&curve->table);
    tacit_free(curve);
  }
}

typedef struct columns {
  double *x; /* shape (n, 2) */
  size_t n, capacity;
} columns_t;

static tacit_status_t push(columns_t *columns, const double row[2], tacit_error_t *err) {
  double *x = tacit_grow(columns->x, columns->n, &columns->capacity, 2 * sizeof *x);
  if (x == NULL) {
    return tacit_error_memory(err);
  }
  columns->x = x;
  columns->x[2 * columns->n] = row[0];
  columns->x[2 * columns->n + 1] = row[1];
  columns->n++;
  return TACIT_OK;
}

static bool parse_row(const char *line, size_t n, double row[2]) {
  size_t comma = 0;
  while (comma < n && line[comma] != ',') {
    comma++;
  }
  return comma < n && tacit_number_parse(line, comma, &row[0]) &&
         tacit_number_parse(line + comma + 1, n - comma - 1, &row[1]) && isfinite(row[0]) && isfinite(row[1]);
}

/* A header line "a,b" and rows of two finite numbers. */
static tacit_status_t read_columns(columns_t *columns, const char *path, const char *header,
                                   tacit_error_t *err) {
  char *bytes;
  size_t n, line_number = 0;
  tacit_status_t status = tacit_file_read(path, max_curve_bytes, &bytes, &n, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (const char *line = bytes; status == TACIT_OK && *line != '\0';) {
    size_t length = strcspn(line, "\n"), shown = length > 0 && line[length - 1] == '\r' ? length - 1 : length;
    double row[2];
    line_number++;
    if (line_number == 1) {
      if (shown != strlen(header) || strncmp(line, header, shown) != 0) {
        status =
            tacit_error_set(err, TACIT_ERR_SYNTAX, path, "%s:1:1: expected the header '%s'", path, header);
      }
    } else if (shown > 0) {
      status = parse_row(line, shown, row) ? push(columns, row, err)
                                           : tacit_error_set(err, TACIT_ERR_SYNTAX, path,
                                                             "%s:%zu:1: expected two finite numbers, '%s'",
                                                             path, line_number, header);
    }
    line += length + (line[length] == '\n');
  }
  tacit_free(bytes);
  if (status == TACIT_OK && columns->n == 0) {
    status = tacit_error_set(err, TACIT_ERR_SYNTAX, path, "%s:2:1: expected rows of '%s', found none", path,
                             header);
  }
  return status;
}

static int compare_first(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* rows (loss, p, q), shape (n, 3), sorted by loss; equal losses stay apart, which tails do not mind. */
static tacit_status_t finish(tacit_curve_t **out, double *rows, size_t n, double infinite,
                             double infinite_lower, bool is_profile, tacit_error_t *err) {
  double *work = tacit_alloc(n > 0 ? n : 1, 3 * sizeof *work);
  tacit_curve_t *curve = tacit_alloc_zero(1, sizeof *curve);
  tacit_status_t status = work != NULL && curve != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    qsort(rows, n, 3 * sizeof *rows, compare_first);
    for (size_t i = 0; i < n; i++) {
      work[i] = rows[3 * i];
      work[n + i] = rows[3 * i + 1];
      work[2 * n + i] = rows[3 * i + 2];
    }
    curve->infinite = infinite;
    curve->infinite_lower = infinite_lower;
    curve->is_profile = is_profile;
    status = tacit_table_init(&curve->table, n, work, work + n, work + 2 * n, err);
  }
  tacit_free(work);
  if (status != TACIT_OK) {
    tacit_curve_free(curve);
    curve = NULL;
  }
  *out = curve;
  return status;
}

static tacit_status_t make_pair(tacit_curve_t **out, const columns_t *columns, const char *path,
                                tacit_error_t *err) {
  double sum_p = 0, sum_q = 0, infinite = 0;
  double *rows = tacit_alloc(columns->n, 3 * sizeof *rows);
  size_t n = 0;
  if (rows == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < columns->n; i++) {
    double p = columns->x[2 * i], q = columns->x[2 * i + 1];
    if (p < 0 || q < 0 || p > 1 || q > 1) {
      tacit_free(rows);
      return tacit_error_set(err, TACIT_ERR_SYNTAX, path, "%s:%zu:1: probabilities must be from 0 to 1", path,
                             i + 2);
    }
    sum_p += p;
    sum_q += q;
    if (p > 0 && q > 0) {
      rows[3 * n] = log(p / q);
      rows[3 * n + 1] = p;
      rows[3 * n + 2] = q;
      n++;
    } else {
      infinite += p;
    }
  }
  tacit_status_t status = TACIT_OK;
  if (fabs(sum_p - 1) > 1e-9 || fabs(sum_q - 1) > 1e-9 || n == 0) {
    status = tacit_error_set(err, TACIT_ERR_SYNTAX, path,
                             "%s: each column must sum to 1 within 1e-9, and some outcome have both above 0",
                             path);
  } else { /* what the columns lack or have too much is charged */
    double miss = 2 * fmax(fabs(sum_p - 1), fabs(sum_q - 1));
    status = finish(out, rows, n, infinite + miss, fmax(infinite - miss, 0), false, err);
  }
  tacit_free(rows);
  return status;
}

tacit_status_t tacit_curve_read_pair(tacit_curve_t **curve, const char *path, tacit_error_t *err) {
  columns_t columns = {0};
  *curve = NULL;
  tacit_status_t status = read_columns(&columns, path, "p,q", err);
  TACIT_THEN(status, make_pair(curve, &columns, path, err));
  tacit_free(columns.x);
  return status;
}

/* Points (y, H) of the profile, mirrored to y < 1 by H(1/y) = 1 - 1/y + H(y)/y, sorted by y; shape (2 n + 1,
 * 2). */
static void mirror_points(const columns_t *columns, double *points, size_t *n_points) {
  size_t n = 0;
  points[0] = 0; /* y = 0: nothing is bought */
  points[1] = 1;
  n = 1;
  for (size_t i = 0; i < columns->n; i++) {
    double y = exp(columns->x[2 * i]), delta = columns->x[2 * i + 1];
    points[2 * n] = y;
    points[2 * n + 1] = delta;
    n++;
    if (columns->x[2 * i] > 0) {
      points[2 * n] = 1 / y;
      points[2 * n + 1] = 1 - 1 / y + delta / y;
      n++;
    }
  }
  qsort(points, n, 2 * sizeof *points, compare_first);
  *n_points = n;
}

/* Keeps the corners of the lower convex hull; its end is level. */
static size_t keep_hull(double *points, size_t n) {
  size_t top = 0;
  for (size_t i = 0; i < n; i++) {
    const double *c = points + 2 * i;
    while (top >= 2) {
      const double *a = points + 2 * (top - 2), *b = points + 2 * (top - 1);
      if ((b[1] - a[1]) * (c[0] - b[0]) < (c[1] - b[1]) * (b[0] - a[0])) {
        break;
      }
      top--;
    }
    points[2 * top] = c[0];
    points[2 * top + 1] = c[1];
    top++;
  }
  return top;
}

static tacit_status_t make_profile(tacit_curve_t **out, const columns_t *columns, const char *path,
                                   tacit_error_t *err) {
  for (size_t i = 0; i < columns->n; i++) {
    double epsilon = columns->x[2 * i], delta = columns->x[2 * i + 1];
    if (!(epsilon >= 0 && epsilon <= 500 && delta >= 0 && delta <= 1)) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, path,
                             "%s:%zu:1: epsilon must be from 0 to 500 and delta from 0 to 1", path, i + 2);
    }
  }
  size_t n = 0;
  double *points = tacit_alloc(2 * columns->n + 1, 5 * sizeof *points);
  if (points == NULL) {
    return tacit_error_memory(err);
  }
  double *rows = points + 2 * (2 * columns->n + 1);
  mirror_points(columns, points, &n);
  n = keep_hull(points, n);
  size_t n_rows = 0;
  for (size_t i = 1; i < n; i++) {
    const double *b = points + 2 * i, *a = b - 2, *c = b + 2;
    double before = (a[1] - b[1]) / (b[0] - a[0]),
           after = i + 1 < n ? fmax((b[1] - c[1]) / (c[0] - b[0]), 0) : 0;
    if (before > after) { /* a corner of H is mass: q where the slope changes, p = y q */
      rows[3 * n_rows] = log(b[0]);
      rows[3 * n_rows + 1] = b[0] * (before - after);
      rows[3 * n_rows + 2] = before - after;
      n_rows++;
    }
  }
  tacit_status_t status =
      n_rows > 0
          ? finish(out, rows, n_rows, points[2 * n - 1], points[2 * n - 1] * (1 - 0x1p-50), true, err)
          : tacit_error_set(err, TACIT_ERR_SYNTAX, path, "%s: the profile says nothing: delta is 1", path);
  tacit_free(points);
  return status;
}

tacit_status_t tacit_curve_read_profile(tacit_curve_t **curve, const char *path, tacit_error_t *err) {
  columns_t columns = {0};
  *curve = NULL;
  tacit_status_t status = read_columns(&columns, path, "epsilon,delta", err);
  TACIT_THEN(status, make_profile(curve, &columns, path, err));
  tacit_free(columns.x);
  return status;
}

static int compare_shift(const void *a, const void *b) {
  return compare_first((const double *)a + 1, (const double *)b + 1);
}

static tacit_status_t make_mixture(tacit_curve_t **out, columns_t *columns, const char *path,
                                   tacit_error_t *err) {
  tacit_curve_t *curve = tacit_alloc_zero(1, sizeof *curve);
  double sum = 0, farthest = 0;
  if (curve == NULL) {
    return tacit_error_memory(err);
  }
  qsort(columns->x, columns->n, 2 * sizeof(double), compare_shift);
  bool is_valid = columns->n <= TACIT_MAX_MULTIPLICITY;
  for (size_t i = 0; is_valid && i < columns->n; i++) {
    double weight = columns->x[2 * i], shift = columns->x[2 * i + 1];
    is_valid = weight >= 0 && weight <= 1 && shift >= 0 && shift <= 1e6;
    if (weight > 0) {
      curve->weights[curve->n_weights] = weight;
      curve->shifts[curve->n_weights++] = shift;
      sum += weight;
      farthest = shift;
    }
  }
  if (!is_valid || !(fabs(sum - 1) <= 1e-9) || !(farthest > 0)) {
    tacit_free(curve);
    return tacit_error_set(err, TACIT_ERR_SYNTAX, path,
                           "%s: expected up to %d rows of a weight and a shift in noise sds from 0 to 1e6, "
                           "the weights adding up to 1 "
                           "within 1e-9 and some shift above 0",
                           path, TACIT_MAX_MULTIPLICITY);
  }
  curve->infinite = sum < 1 ? 2 * (1 - sum) : 0; /* what the weights lack is charged */
  *out = curve;
  return TACIT_OK;
}

tacit_status_t tacit_curve_read_mixture(tacit_curve_t **curve, const char *path, tacit_error_t *err) {
  columns_t columns = {0};
  *curve = NULL;
  tacit_status_t status = read_columns(&columns, path, "weight,shift", err);
  TACIT_THEN(status, make_mixture(curve, &columns, path, err));
  tacit_free(columns.x);
  return status;
}
