/* Any bytes as the manifest of imported columns end in success or in an error; what is read can be written
 * and read again. */
#include "data/columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tacit_manifest_t first, again;
  tacit_error_t err;
  if (tacit_manifest_parse(&first, (const char *)data, size, "fuzz", &err) == TACIT_OK) {
    tacit_text_t text = {0};
    if (first.n_rows == 0 || first.n_units > first.n_rows ||
        first.n_columns > tacit_schema_n_columns(first.schema)) {
      __builtin_trap();
    }
    tacit_manifest_append(&text, &first, first.schema);
    if (tacit_manifest_parse(&again, text.data, text.length, "again", &err) != TACIT_OK ||
        again.n_rows != first.n_rows || again.n_units != first.n_units ||
        tacit_schema_n_columns(again.schema) != tacit_schema_n_columns(first.schema)) {
      __builtin_trap();
    }
    tacit_manifest_clear(&again);
    tacit_text_clear(&text);
  }
  tacit_manifest_clear(&first);
  return 0;
}
