/*
 * Whether values keep the rules of the schema: true of what was read from CSV, and of imported columns unless
 * they were damaged.
 */
#include <math.h>

#include "base/error.h"
#include "data/columns.h"
#include "data/records.h"

enum { STRETCH = 1 << 15 }; /* rows looked at before memory is given back */

static bool keeps_rules(const tacit_column_schema_t *column, double x) {
  if (isnan(x)) {
    return column->missing == TACIT_MISSING_DROP;
  }
  switch (column->type) {
  case TACIT_COLUMN_NUMERIC:
    return x >= column->lower && x <= column->upper;
  case TACIT_COLUMN_INTEGER:
    return x >= column->lower && x <= column->upper && x == floor(x);
  case TACIT_COLUMN_BINARY:
    return x == 0 || x == 1; /* exactly */
  default:
    return x >= 0 && x < (double)column->n_levels && x == floor(x);
  }
}

static tacit_status_t verify_rows(const tacit_table_column_t *column, const tacit_column_schema_t *schema,
                                  size_t from, size_t to, tacit_error_t *err) {
  for (size_t r = from; r < to; r++) {
    if (!keeps_rules(schema, column->values[r])) {
      return tacit_error_set(
          err, TACIT_ERR_DATA, column->name,
          "column '%s': the value of row %zu does not keep the schema's rules: the imported file is "
          "damaged; import again",
          column->name, r + 1);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_table_verify(const tacit_table_t *table, const tacit_schema_t *schema,
                                  tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t from = 0; from < table->n_rows && status == TACIT_OK; from += STRETCH) {
    size_t to = table->n_rows - from < STRETCH ? table->n_rows : from + STRETCH;
    for (size_t i = 0; i < table->n_columns && status == TACIT_OK; i++) {
      const tacit_table_column_t *column = &table->columns[i];
      status = verify_rows(column, tacit_schema_find(schema, column->name), from, to, err);
    }
    tacit_table_drop(table, from, to);
  }
  return status;
}
