/*
 * The public schema, once it is read.
 */
#include <string.h>

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
    tacit_free(column->name);
  }
  tacit_free(schema->columns);
  tacit_free(schema->dataset);
  tacit_free(schema->unit);
  tacit_free(schema->delta_meaning);
  tacit_free(schema);
}

const char *tacit_schema_dataset(const tacit_schema_t *schema) {
  return schema->dataset != NULL ? schema->dataset : "";
}

tacit_relation_t tacit_schema_relation(const tacit_schema_t *schema) {
  return schema->relation;
}

const char *tacit_schema_unit(const tacit_schema_t *schema) {
  return schema->unit;
}

size_t tacit_schema_max_rows(const tacit_schema_t *schema) {
  return schema->max_rows;
}

const char *tacit_schema_delta_meaning(const tacit_schema_t *schema) {
  return schema->delta_meaning != NULL ? schema->delta_meaning : "";
}

size_t tacit_schema_n_columns(const tacit_schema_t *schema) {
  return schema->n_columns;
}

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
