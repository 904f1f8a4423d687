/*
 * The public schema, once it is read.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/records.h"
#include "data/schema_internal.h"

void tacit_schema_free(tacit_schema_t *schema) {
  if (schema == NULL) {
    return;
  }
  for (size_t i = 0; i < schema->n_columns; i++) {
    tacit_schema_column_owned_t *column = &schema->columns[i];
    for (size_t k = 0; k < column->public.n_levels; k++) {
      tacit_free(column->levels[k]);
    }
    tacit_free(column->levels);
    tacit_free(column->units);
    tacit_free(column->name);
  }
  tacit_free(schema->columns);
  tacit_free(schema->dataset);
  tacit_free(schema->unit);
  tacit_free(schema->delta_meaning);
  tacit_free(schema);
}

const char *tacit_schema_dataset(const tacit_schema_t *schema) {
  return schema->dataset != NULL && schema->dataset[0] != '\0' ? schema->dataset : "unnamed";
}

tacit_relation_t tacit_schema_relation(const tacit_schema_t *schema) { return schema->relation; }

const char *tacit_schema_unit(const tacit_schema_t *schema) { return schema->unit; }

size_t tacit_schema_max_rows(const tacit_schema_t *schema) { return schema->max_rows; }

const char *tacit_schema_delta_meaning(const tacit_schema_t *schema) {
  return schema->delta_meaning != NULL ? schema->delta_meaning : "";
}

size_t tacit_schema_n_columns(const tacit_schema_t *schema) { return schema->n_columns; }

const tacit_column_schema_t *tacit_schema_column(const tacit_schema_t *schema, size_t i) {
  return i < schema->n_columns ? &schema->columns[i].public : NULL;
}

const tacit_column_schema_t *tacit_schema_find(const tacit_schema_t *schema, const char *name) {
  for (size_t i = 0; i < schema->n_columns; i++) {
    if (strcmp(schema->columns[i].name, name) == 0) {
      return &schema->columns[i].public;
    }
  }
  return NULL;
}

const char *tacit_schema_dropping(const tacit_schema_t *schema, const char *const *columns,
                                  size_t n_columns) {
  for (size_t i = 0; i < n_columns; i++) {
    const tacit_column_schema_t *column = tacit_schema_find(schema, columns[i]);
    if (column != NULL && column->missing == TACIT_MISSING_DROP) {
      return column->name;
    }
  }
  return NULL;
}

static tacit_status_t copy_column(tacit_schema_column_owned_t *to, const tacit_column_schema_t *from,
                                  tacit_error_t *err) {
  to->public = *from;
  to->public.out_of_range = TACIT_RANGE_ERROR;
  to->public.n_levels = 0;
  to->public.name = to->name = tacit_strdup(from->name);
  to->public.units = to->units = from->units != NULL ? tacit_strdup(from->units) : NULL;
  to->levels = from->n_levels > 0 ? tacit_alloc_zero(from->n_levels, sizeof *to->levels) : NULL;
  if (to->name == NULL || (from->units != NULL && to->units == NULL) ||
      (from->n_levels > 0 && to->levels == NULL)) {
    return tacit_error_memory(err);
  }
  to->public.levels = (const char *const *)to->levels;
  for (size_t k = 0; k < from->n_levels; k++, to->public.n_levels++) {
    if ((to->levels[k] = tacit_strdup(from->levels[k])) == NULL) {
      return tacit_error_memory(err);
    }
  }
  return TACIT_OK;
}

void tacit_schema_narrow(tacit_schema_t *schema, const char *name, double lower, double upper) {
  for (size_t i = 0; i < schema->n_columns; i++) {
    tacit_column_schema_t *column = &schema->columns[i].public;
    bool is_number = column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER;
    if (is_number && strcmp(column->name, name) == 0) {
      column->lower = column->lower > lower ? column->lower : lower;
      column->upper = column->upper < upper ? column->upper : upper;
    }
  }
}

bool tacit_schema_is_of_new_rows(const tacit_schema_t *schema) { return schema->is_of_new_rows; }

tacit_status_t tacit_schema_for_new_rows(tacit_schema_t **out, const tacit_schema_t *schema,
                                         const char *const *columns, size_t n_columns, tacit_error_t *err) {
  tacit_schema_t *rows = *out = tacit_alloc_zero(1, sizeof *rows);
  tacit_status_t status = rows != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    rows->relation = TACIT_RELATION_SUBSTITUTE;
    rows->max_rows = 1;
    rows->is_of_new_rows = true;
    rows->columns = tacit_alloc_zero(n_columns + 1, sizeof *rows->columns);
    status = rows->columns != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  for (size_t i = 0; i < n_columns && status == TACIT_OK; i++) {
    if (tacit_schema_find(rows, columns[i]) == NULL) {
      rows->columns[rows->n_columns] = (tacit_schema_column_owned_t){0};
      status = copy_column(&rows->columns[rows->n_columns++], tacit_schema_find(schema, columns[i]), err);
    }
  }
  if (status != TACIT_OK) {
    tacit_schema_free(rows);
    *out = NULL;
  }
  return status;
}
