/* Any bytes as a schema end in success or in an error. */
#include "tacit/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tacit_schema_t *schema;
  tacit_error_t err;
  if (tacit_schema_parse(&schema, (const char *)data, size, "fuzz", &err) == TACIT_OK) {
    for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
      const tacit_column_schema_t *column = tacit_schema_column(schema, i);
      if (tacit_schema_find(schema, column->name) == NULL) {
        __builtin_trap();
      }
    }
    tacit_schema_free(schema);
  }
  return 0;
}
