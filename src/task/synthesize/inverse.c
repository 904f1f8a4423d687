/* Which columns features stand for. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "synthesize/synthesize_internal.h"

enum { MAX_VALUES = 64, N_GRID = 129, N_BASES = 64, N_HALVINGS = 60 };

static const tacit_column_schema_t *schema_of(const tacit_predictor_t *p, size_t c) {
  return tacit_schema_find(p->schema, p->names[c]);
}

static bool has_levels(const tacit_column_schema_t *column) {
  return column->type == TACIT_COLUMN_CATEGORICAL;
}

/* All values where they are few, else a grid over the bounds. */
static size_t count_values(const tacit_column_schema_t *column) {
  double n = column->upper - column->lower + 1;
  bool is_whole = column->type == TACIT_COLUMN_INTEGER || column->type == TACIT_COLUMN_BINARY;
  return has_levels(column) ? column->n_levels : is_whole && n <= MAX_VALUES ? (size_t)n : N_GRID;
}

static double value_at(const tacit_column_schema_t *column, size_t k, size_t n) {
  return has_levels(column)
             ? (double)k
             : column->lower + (column->upper - column->lower) * (double)k / (double)(n > 1 ? n - 1 : 1);
}

/* Scaled features (n, n_features), owned, of rows with column c at `values` and the others at a base: one of
   N_BASES combinations, in which a column goes through its values, and pairs of columns through theirs
   together. */
static tacit_status_t vary(const tacit_predictor_t *p, size_t c, size_t base, size_t n, const double *values,
                           double **features, tacit_error_t *err) {
  double *memory = tacit_alloc(n, (p->n_names + 1) * sizeof *memory);
  const double **columns = tacit_alloc(p->n_names + 1, sizeof *columns);
  tacit_status_t status = memory != NULL && columns != NULL ? TACIT_OK : tacit_error_memory(err);
  *features = NULL;
  for (size_t a = 0; a < p->n_names && status == TACIT_OK; a++) {
    const tacit_column_schema_t *column = schema_of(p, a);
    size_t n_values = count_values(column);
    double other = value_at(column, (base + a * (base / n_values)) % n_values, n_values);
    for (size_t k = 0; k < n; k++) {
      memory[a * n + k] = a == c ? values[k] : other;
    }
    columns[a] = memory + a * n;
  }
  if (status == TACIT_OK) {
    status = tacit_predictor_features(p, &(tacit_new_rows_t){columns, n}, features, err);
  }
  for (size_t j = 0; j < p->n_features && status == TACIT_OK; j++) {
    double centre, half;
    tacit_design_scaling(p->design, j, &centre, &half);
    for (size_t k = 0; k < n; k++) {
      (*features)[k * p->n_features + j] = ((*features)[k * p->n_features + j] - centre) / half;
    }
  }
  tacit_free(columns);
  tacit_free(memory);
  return status;
}

/* touches (n_columns, n_features): does the feature change with the column? patterns: at the last base. */
static tacit_status_t look(tacit_inverse_t *v, bool *touches, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t c = 0; c < v->n_columns && status == TACIT_OK; c++) {
    struct tacit_inverse_column *column = &v->columns[c];
    for (size_t b = 0; b < N_BASES && status == TACIT_OK; b++) {
      double *features;
      status = vary(v->predictor, c, b, column->n_values, column->values, &features, err);
      for (size_t i = 0; i < column->n_values * v->n_features && status == TACIT_OK; i++) {
        size_t j = i % v->n_features;
        touches[c * v->n_features + j] =
            touches[c * v->n_features + j] || fabs(features[i] - features[j]) > 1e-12;
        column->patterns[i] = features[i];
      }
      tacit_free(features);
    }
  }
  return status;
}

/* 1 or -1 where feature j rises or falls all along; else 0. */
static double direction_of(const struct tacit_inverse_column *column, size_t n_features, size_t j) {
  double sign = 0;
  for (size_t k = 1; k < column->n_values; k++) {
    double step = column->patterns[k * n_features + j] - column->patterns[(k - 1) * n_features + j];
    double now = step > 1e-12 ? 1 : step < -1e-12 ? -1 : 0;
    if (now == 0 || (k > 1 && now * sign < 0)) {
      return 0;
    }
    sign = now;
  }
  return sign;
}

/* Do the column's own features differ between any two of its values? */
static bool has_patterns(const struct tacit_inverse_column *column, size_t n_features) {
  for (size_t a = 0; a < column->n_values; a++) {
    for (size_t b = 0; b < a; b++) {
      double distance = 0;
      for (size_t j = 0; j < n_features; j++) {
        distance += column->is_own[j]
                        ? fabs(column->patterns[a * n_features + j] - column->patterns[b * n_features + j])
                        : 0;
      }
      if (distance < 1e-9) {
        return false;
      }
    }
  }
  return true;
}

static tacit_status_t choose(tacit_inverse_t *v, size_t c, const bool *touches, tacit_error_t *err) {
  struct tacit_inverse_column *column = &v->columns[c];
  const tacit_column_schema_t *schema = schema_of(v->predictor, c);
  column->feature = SIZE_MAX;
  for (size_t j = 0; j < v->n_features; j++) {
    column->is_own[j] = touches[c * v->n_features + j];
    for (size_t a = 0; a < v->n_columns; a++) {
      column->is_own[j] = column->is_own[j] && (a == c || !touches[a * v->n_features + j]);
    }
    double direction = column->is_own[j] && !has_levels(schema) ? direction_of(column, v->n_features, j) : 0;
    if (column->feature == SIZE_MAX && direction != 0) {
      column->feature = j;
      column->direction = direction;
    }
  }
  bool is_listed = column->n_values < N_GRID || has_levels(schema);
  return column->feature != SIZE_MAX || (is_listed && has_patterns(column, v->n_features))
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "formula",
                               "column '%.60s' cannot be made from the formula's features: none of them is "
                               "its alone and rises or falls with it",
                               schema->name);
}

tacit_status_t tacit_inverse_init(tacit_inverse_t *inverse, const tacit_predictor_t *predictor,
                                  tacit_error_t *err) {
  size_t d = predictor->n_features, n = predictor->n_names;
  *inverse = (tacit_inverse_t){.predictor = predictor, .n_columns = n, .n_features = d};
  inverse->columns = tacit_alloc_zero(n, sizeof *inverse->columns);
  inverse->is_used = tacit_alloc_zero(d, sizeof *inverse->is_used);
  bool *touches = tacit_alloc_zero(n * d + 1, sizeof *touches);
  tacit_status_t status = inverse->columns != NULL && inverse->is_used != NULL && touches != NULL
                              ? TACIT_OK
                              : tacit_error_memory(err);
  for (size_t c = 0; c < n && status == TACIT_OK; c++) {
    struct tacit_inverse_column *column = &inverse->columns[c];
    const tacit_column_schema_t *schema = schema_of(predictor, c);
    column->n_values = count_values(schema);
    column->values = tacit_alloc(column->n_values, sizeof *column->values);
    column->patterns = tacit_alloc_zero(column->n_values, d * sizeof *column->patterns);
    column->is_own = tacit_alloc_zero(d, sizeof *column->is_own);
    if (column->values == NULL || column->patterns == NULL || column->is_own == NULL) {
      status = tacit_error_memory(err);
    }
    for (size_t k = 0; k < column->n_values && status == TACIT_OK; k++) {
      column->values[k] = value_at(schema, k, column->n_values);
    }
  }
  TACIT_THEN(status, look(inverse, touches, err));
  for (size_t c = 0; c < n && status == TACIT_OK; c++) {
    status = choose(inverse, c, touches, err);
    const struct tacit_inverse_column *column = &inverse->columns[c];
    for (size_t j = 0; j < d; j++) {
      inverse->is_used[j] =
          inverse->is_used[j] || (column->feature != SIZE_MAX ? column->feature == j : column->is_own[j]);
    }
  }
  tacit_free(touches);
  return status;
}

void tacit_inverse_clear(tacit_inverse_t *inverse) {
  for (size_t c = 0; inverse->columns != NULL && c < inverse->n_columns; c++) {
    tacit_free(inverse->columns[c].values);
    tacit_free(inverse->columns[c].patterns);
    tacit_free(inverse->columns[c].is_own);
  }
  tacit_free(inverse->columns);
  tacit_free(inverse->is_used);
  *inverse = (tacit_inverse_t){0};
}

/* The value whose own features are nearest. */
static void by_pattern(const tacit_inverse_t *v, const struct tacit_inverse_column *column, size_t n,
                       const double *features, double *out, bool *is_exact) {
  for (size_t i = 0; i < n; i++) {
    double least = INFINITY;
    for (size_t k = 0; k < column->n_values; k++) {
      double distance = 0;
      for (size_t j = 0; j < v->n_features; j++) {
        double off =
            column->is_own[j] ? features[i * v->n_features + j] - column->patterns[k * v->n_features + j] : 0;
        distance += off * off;
      }
      if (distance < least) {
        least = distance;
        out[i] = column->values[k];
      }
    }
    is_exact[i] = is_exact[i] && least < 1e-9;
  }
}

/* All rows' values between the bounds by halving, since the feature rises or falls; whole numbers are the
 * nearest ones. */
static tacit_status_t by_feature(const tacit_inverse_t *v, size_t c, size_t n, const double *features,
                                 double *out, tacit_error_t *err) {
  const struct tacit_inverse_column *column = &v->columns[c];
  const tacit_column_schema_t *schema = schema_of(v->predictor, c);
  double *low = tacit_alloc(n, 2 * sizeof *low), *high = low != NULL ? low + n : NULL;
  tacit_status_t status = low != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    low[i] = schema->lower;
    high[i] = schema->upper;
  }
  for (int step = 0; step < N_HALVINGS && status == TACIT_OK; step++) {
    double *at;
    for (size_t i = 0; i < n; i++) {
      out[i] = 0.5 * (low[i] + high[i]);
    }
    status = vary(v->predictor, c, 0, n, out, &at, err);
    for (size_t i = 0; i < n && status == TACIT_OK; i++) {
      bool is_below = column->direction * at[i * v->n_features + column->feature] <
                      column->direction * features[i * v->n_features + column->feature];
      *(is_below ? &low[i] : &high[i]) = out[i];
    }
    tacit_free(at);
  }
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    out[i] = fmin(fmax(schema->type == TACIT_COLUMN_NUMERIC ? out[i] : nearbyint(out[i]), schema->lower),
                  schema->upper);
  }
  tacit_free(low);
  return status;
}

tacit_status_t tacit_inverse_columns(const tacit_inverse_t *inverse, size_t n, const double *features,
                                     double *const *columns, bool *is_exact, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n; i++) {
    is_exact[i] = true;
  }
  for (size_t c = 0; c < inverse->n_columns && status == TACIT_OK; c++) {
    if (inverse->columns[c].feature == SIZE_MAX) {
      by_pattern(inverse, &inverse->columns[c], n, features, columns[c], is_exact);
    } else {
      status = by_feature(inverse, c, n, features, columns[c], err);
    }
  }
  return status;
}
