/*
 * A template for a schema: names and guessed types, no bounds. A bound read off private data would be a release
 * that nobody charged.
 */
#include <math.h>
#include <string.h>

#include "data/schema_internal.h"

enum { rows_looked_at = 100 };

typedef struct tacit_guess {
  char *name;
  bool is_number, is_whole, is_binary, is_seen;
} tacit_guess_t;

static void refine(tacit_guess_t *guess, const tacit_csv_field_t *field) {
  double value;
  if (tacit_is_missing(field->text, field->n)) {
    return;
  }
  guess->is_seen = true;
  if (!tacit_number_parse(field->text, field->n, &value)) {
    guess->is_number = guess->is_whole = guess->is_binary = false;
    return;
  }
  guess->is_whole = guess->is_whole && value == floor(value);
  guess->is_binary = guess->is_binary && (value == 0 || value == 1);
}

static void append_column(tacit_text_t *text, const tacit_guess_t *guess) {
  if (guess->name[0] == '\0') {
    tacit_text_printf(text, "  # a column without a name in the header cannot be used\n");
    return;
  }
  tacit_schema_append_key(text, "  ", guess->name);
  if (guess->is_seen && guess->is_binary) {
    tacit_text_printf(text, ": {type: binary}\n");
  } else if (guess->is_seen && guess->is_number) {
    tacit_text_printf(text, ": {type: %s, lower: \"?\", upper: \"?\"}\n", guess->is_whole ? "integer" : "numeric");
  } else {
    tacit_text_printf(text, ": {type: categorical, levels: [\"?\"]}\n");
  }
}

static void append_template(tacit_text_t *text, const tacit_guess_t *guesses, size_t n) {
  tacit_text_printf(
      text,
      "# Fill in each ? from what is known WITHOUT looking at the data: the design of the study, the range of\n"
      "# an instrument, a code book. No bound or level is written here, because one read off the records would\n"
      "# reveal something about them that no privacy budget was charged for. The types are guesses from the first\n"
      "# rows: check them against the code book, and remove columns that are not needed.\n"
      "dataset: unnamed\n"
      "relation: substitute   # or add-remove, if the number of records is itself private\n"
      "unit: row              # or a column of type id, with max_rows: the most rows of one person\n"
      "columns:\n");
  for (size_t i = 0; i < n; i++) {
    append_column(text, &guesses[i]);
  }
}

static tacit_status_t read_names(tacit_csv_t *csv, tacit_guess_t **guesses, size_t *n, tacit_error_t *err) {
  tacit_dictionary_t names = {0};
  tacit_status_t status = tacit_csv_read_header(csv, &names, err);
  tacit_dictionary_clear(&names);
  if (status != TACIT_OK) {
    return status;
  }
  *guesses = tacit_alloc_zero(csv->n_fields, sizeof **guesses);
  if (*guesses == NULL) {
    return tacit_error_memory(err);
  }
  *n = csv->n_fields;
  for (size_t i = 0; i < *n; i++) {
    const tacit_csv_field_t *field = &csv->fields[i];
    tacit_guess_t *guess = &(*guesses)[i];
    *guess = (tacit_guess_t){.is_number = true, .is_whole = true, .is_binary = true};
    guess->name = tacit_alloc(field->n + 1, 1);
    if (guess->name == NULL) {
      return tacit_error_memory(err);
    }
    memcpy(guess->name, field->text, field->n); /* the CSV reader lets no NUL through */
    guess->name[field->n] = '\0';
  }
  return TACIT_OK;
}

static tacit_status_t look_at_rows(tacit_csv_t *csv, tacit_guess_t *guesses, size_t n, tacit_error_t *err) {
  for (size_t row = 0; row < rows_looked_at; row++) {
    tacit_status_t status = tacit_csv_read(csv, err);
    if (status != TACIT_OK || csv->n_fields == 0) {
      return status;
    }
    for (size_t i = 0; i < n && i < csv->n_fields; i++) {
      refine(&guesses[i], &csv->fields[i]);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_schema_draft(const char *data_path, char **out, tacit_error_t *err) {
  *out = NULL;
  tacit_csv_t csv;
  tacit_guess_t *guesses = NULL;
  size_t n = 0;
  tacit_text_t text = {0};
  tacit_status_t status = tacit_csv_open(&csv, data_path, err);
  if (status == TACIT_OK) {
    status = read_names(&csv, &guesses, &n, err);
  }
  if (status == TACIT_OK) {
    status = look_at_rows(&csv, guesses, n, err);
  }
  if (status == TACIT_OK) {
    append_template(&text, guesses, n);
    status = text.failed ? tacit_error_memory(err) : TACIT_OK;
  }
  for (size_t i = 0; i < n; i++) {
    tacit_free(guesses[i].name);
  }
  tacit_free(guesses);
  tacit_csv_close(&csv);
  if (status != TACIT_OK) {
    tacit_text_clear(&text);
    return status;
  }
  *out = text.data;
  return TACIT_OK;
}

void tacit_text_free(char *text) {
  tacit_free(text);
}
