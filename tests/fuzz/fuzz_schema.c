/* Any bytes as a schema end in success or in an error. */
#include "tacit/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tacit_schema_t *schema;
  tacit_error_t err;
  if (tacit_schema_parse(&schema, (const char *)data, size, "fuzz", &err) == TACIT_OK) {
    for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
      const tacit_column_schema_t *column = tacit_schema_column(schema, i);
      bool has_bounds = column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER;
      if (tacit_schema_find(schema, column->name) != column ||
          (has_bounds && !(column->lower < column->upper)) ||
          (column->type == TACIT_COLUMN_CATEGORICAL && column->n_levels == 0)) {
        __builtin_trap();
      }
    }
    tacit_schema_free(schema);
  }
  return 0;
}
