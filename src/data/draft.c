/*
 * A template for a schema: the names in the header, and questions. Nothing that the records say is in it, not even their types: a type or
 * bound read off private data would be a release that nobody charged. Records are looked at for one reason, to notice that the first row
 * is one of them and no header; then nothing is written at all.
 */
#include <stdio.h>
#include <string.h>

#include "data/schema_internal.h"

enum { rows_looked_at = 100 };

typedef struct draft {
  const char *path;
  bool is_header; /* said to be one */
  tacit_csv_t csv;
  tacit_dictionary_t names;
  size_t n; /* columns */
  tacit_error_t *err;
} draft_t;

static void append_template(tacit_text_t *text, const draft_t *draft) {
  tacit_text_t name = {0}; /* with a NUL at its end */
  tacit_text_printf(
      text,
      "# Fill in each ? from what is known WITHOUT looking at the data: the design of the study, the range of an instrument,\n"
      "# a code book. Nothing here comes from the records, not even the types. Replace {type: \"?\"} by one of\n"
      "#   {type: numeric, lower: 0, upper: 300}    a number within public bounds (integer: a whole number); others are clamped\n"
      "#   {type: binary}                           0 or 1, FALSE or TRUE\n"
      "#   {type: categorical, levels: [F, M]}      one of these; the first is the reference\n"
      "#   {type: id}                               says whose record it is; never in a model\n"
      "# and add, where values may be missing, missing: drop, lower, upper, a value or a level. Remove columns that are not needed.\n"
      "dataset: unnamed\n"
      "relation: substitute   # or add-remove, if the number of records is itself private\n"
      "unit: row              # or a column of type id, with max_rows: the most rows of one person\n"
      "columns:\n");
  for (size_t i = 0; i < draft->n; i++) {
    const tacit_dictionary_entry_t *entry = &draft->names.entries[i];
    if (entry->length == 0) {
      tacit_text_printf(text, "  # a column without a name in the header cannot be used\n");
      continue;
    }
    name.length = 0;
    tacit_text_append(&name, draft->names.texts.data + entry->start, entry->length);
    text->failed = text->failed || name.failed;
    if (!text->failed) {
      tacit_schema_append_key(text, "  ", name.data);
    }
    tacit_text_printf(text, ": {type: \"?\"}\n");
  }
  tacit_text_clear(&name);
}

static tacit_status_t ask(const draft_t *draft, const tacit_csv_field_t *at, const char *why) {
  return tacit_csv_error(&draft->csv, at, TACIT_ERR_SYNTAX, draft->err,
                         "is the first row a header? %s. If it is one, say --header; if not, give the file a first row of names", why);
}

/* Names are seldom numbers, dates or the like. */
static tacit_status_t check_names(const draft_t *draft) {
  for (size_t i = 0; i < draft->n && !draft->is_header; i++) {
    const tacit_csv_field_t *field = &draft->csv.fields[i];
    tacit_look_t look = tacit_look(field->text, field->n);
    if (field->n > 0 && look != TACIT_LOOK_TEXT) {
      char why[96];
      snprintf(why, sizeof why, "what stands here looks like %s", tacit_look_string(look));
      return ask(draft, field, why);
    }
  }
  return TACIT_OK;
}

/* Nor are they values of their own column. */
static tacit_status_t check_rows(draft_t *draft) {
  for (size_t row = 0; row < rows_looked_at; row++) {
    tacit_status_t status = tacit_csv_read(&draft->csv, draft->err);
    if (status != TACIT_OK || draft->csv.n_fields == 0) {
      return status;
    }
    for (size_t i = 0; i < draft->n && i < draft->csv.n_fields && !draft->is_header; i++) {
      const tacit_csv_field_t *field = &draft->csv.fields[i];
      if (field->n > 0 && tacit_dictionary_find(&draft->names, field->text, field->n) == i) {
        return ask(draft, field, "what it calls this column is a value of it here");
      }
    }
  }
  return TACIT_OK;
}

static tacit_status_t read_file(draft_t *draft) {
  tacit_status_t status = tacit_csv_open(&draft->csv, draft->path, draft->err);
  if (status == TACIT_OK) {
    status = tacit_csv_read_header(&draft->csv, &draft->names, draft->err);
  }
  draft->n = draft->names.n_entries;
  if (status == TACIT_OK) {
    status = check_names(draft);
  }
  return status == TACIT_OK ? check_rows(draft) : status;
}

static tacit_status_t write_draft(draft_t *draft, char **out) {
  tacit_text_t text = {0};
  *out = NULL;
  tacit_status_t status = read_file(draft);
  if (status == TACIT_OK) {
    append_template(&text, draft);
    status = text.failed ? tacit_error_memory(draft->err) : TACIT_OK;
  }
  tacit_csv_close(&draft->csv);
  tacit_dictionary_clear(&draft->names);
  if (status != TACIT_OK) {
    tacit_text_clear(&text);
    return status;
  }
  *out = text.data;
  return TACIT_OK;
}

tacit_status_t tacit_schema_draft(const char *data_path, char **text, tacit_error_t *err) {
  draft_t draft = {.path = data_path, .err = err};
  return write_draft(&draft, text);
}

tacit_status_t tacit_schema_draft_of_header(const char *data_path, char **text, tacit_error_t *err) {
  draft_t draft = {.path = data_path, .is_header = true, .err = err};
  return write_draft(&draft, text);
}

void tacit_text_free(char *text) {
  tacit_free(text);
}
