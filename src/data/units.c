/*
 * Which rows belong to which person: identifiers in a dictionary, rows grouped by counting.
 */
#include "data/data_internal.h"

/* Room for one more person's count. */
static tacit_status_t grow_counts(tacit_units_t *units, tacit_error_t *err) {
  if (units->ids.n_entries < units->capacity) {
    return TACIT_OK;
  }
  size_t capacity = units->capacity > 0 ? 2 * units->capacity : 1024;
  size_t *counts = tacit_realloc(units->n_rows_of, capacity, sizeof *counts);
  if (counts == NULL) {
    return tacit_error_memory(err);
  }
  units->n_rows_of = counts;
  units->capacity = capacity;
  return TACIT_OK;
}

static tacit_status_t add_row(tacit_units_t *units, size_t unit, tacit_error_t *err) {
  if (units->n_rows == units->row_capacity) {
    size_t capacity = units->row_capacity > 0 ? 2 * units->row_capacity : 1024;
    size_t *rows = tacit_realloc(units->unit_of_row, capacity, sizeof *rows);
    if (rows == NULL) {
      return tacit_error_memory(err);
    }
    units->unit_of_row = rows;
    units->row_capacity = capacity;
  }
  units->unit_of_row[units->n_rows++] = unit;
  units->n_rows_of[unit]++;
  return TACIT_OK;
}

tacit_status_t tacit_units_add(tacit_units_t *units, const char *id, size_t n, size_t max_rows, bool *is_kept,
                               tacit_error_t *err) {
  size_t unit = 0;
  bool is_new = false;
  *is_kept = false;
  tacit_status_t status = grow_counts(units, err);
  if (status == TACIT_OK) {
    status = tacit_dictionary_add(&units->ids, id, n, &unit, &is_new, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  if (is_new) {
    units->n_rows_of[unit] = 0;
  }
  *is_kept = units->n_rows_of[unit] < max_rows;
  return *is_kept ? add_row(units, unit, err) : TACIT_OK;
}

tacit_status_t tacit_units_group(const tacit_units_t *units, size_t **order, size_t **offsets, size_t *n_units,
                                 tacit_error_t *err) {
  size_t n = units->ids.n_entries;
  *n_units = n;
  *order = tacit_alloc(units->n_rows, sizeof **order);
  *offsets = tacit_alloc_zero(n + 1, sizeof **offsets);
  size_t *next = tacit_alloc_zero(n, sizeof *next);
  if (*order == NULL || *offsets == NULL || next == NULL) {
    tacit_free(*order);
    tacit_free(*offsets);
    tacit_free(next);
    *order = *offsets = NULL;
    return tacit_error_memory(err);
  }
  for (size_t u = 0; u < n; u++) {
    next[u] = (*offsets)[u];
    (*offsets)[u + 1] = (*offsets)[u] + units->n_rows_of[u];
  }
  for (size_t r = 0; r < units->n_rows; r++) {
    (*order)[next[units->unit_of_row[r]]++] = r;
  }
  tacit_free(next);
  return TACIT_OK;
}

void tacit_units_clear(tacit_units_t *units) {
  tacit_dictionary_clear(&units->ids);
  tacit_free(units->n_rows_of);
  tacit_free(units->unit_of_row);
  *units = (tacit_units_t){0};
}
