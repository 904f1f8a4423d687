/*
 * Which rows belong to which person: identifiers in a dictionary, rows grouped by counting.
 */
#include "base/error.h"
#include "base/memory.h"
#include "data/data_internal.h"

/* Room for one more person's count. */
static tacit_status_t grow_counts(tacit_units_t *units, tacit_error_t *err) {
  size_t *counts = tacit_grow(units->n_rows_of, units->ids.n_entries, &units->capacity, sizeof *counts);
  if (counts == NULL) {
    return tacit_error_memory(err);
  }
  units->n_rows_of = counts;
  return TACIT_OK;
}

tacit_status_t tacit_units_add(tacit_units_t *units, const char *id, size_t n, size_t max_rows, size_t *unit,
                               bool *is_kept, tacit_error_t *err) {
  bool is_new = false;
  *is_kept = false;
  tacit_status_t status = grow_counts(units, err);
  TACIT_THEN(status, tacit_dictionary_add(&units->ids, id, n, unit, &is_new, err));
  if (status != TACIT_OK) {
    return status;
  }
  if (is_new) {
    units->n_rows_of[*unit] = 0;
  }
  *is_kept = units->n_rows_of[*unit] < max_rows;
  units->n_rows_of[*unit] += *is_kept;
  return TACIT_OK;
}

tacit_status_t tacit_units_offsets(const tacit_units_t *units, size_t **offsets, tacit_error_t *err) {
  size_t n = units->ids.n_entries;
  *offsets = tacit_alloc_zero(n + 1, sizeof **offsets);
  if (*offsets == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t u = 0; u < n; u++) {
    (*offsets)[u + 1] = (*offsets)[u] + units->n_rows_of[u];
  }
  return TACIT_OK;
}

void tacit_units_clear(tacit_units_t *units) {
  tacit_dictionary_clear(&units->ids);
  tacit_free(units->n_rows_of);
  *units = (tacit_units_t){0};
}
