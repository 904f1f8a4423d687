/*
 * The first record of a file: valid, distinct names.
 */
#include "base/error.h"
#include "data/data_internal.h"

tacit_status_t tacit_csv_read_header(tacit_csv_t *csv, tacit_dictionary_t *names, tacit_error_t *err) {
  tacit_status_t status = tacit_csv_read(csv, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (csv->n_fields == 0) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, csv->path, "%s is empty: expected a header row", csv->path);
  }
  for (size_t i = 0; i < csv->n_fields; i++) {
    const tacit_csv_field_t *field = &csv->fields[i];
    size_t place;
    bool is_new;
    if (!tacit_is_utf8(field->text, field->n)) {
      return tacit_csv_error(
          csv, field, TACIT_ERR_SYNTAX, err,
          "the header is not valid UTF-8: is the file in Latin-1? --encoding latin1 reads it");
    }
    status = tacit_dictionary_add(names, field->text, field->n, &place, &is_new, err);
    if (status != TACIT_OK) {
      return status;
    }
    if (!is_new) {
      return tacit_csv_error(csv, field, TACIT_ERR_SYNTAX, err,
                             "the header names column %zu and column %zu alike", place + 1, i + 1);
    }
  }
  return TACIT_OK;
}
