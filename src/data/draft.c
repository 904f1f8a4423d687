/*
 * A template for a schema: the names in the header, and questions. Nothing that the records say is in it, not
 * even their types: a type or bound read off private data would be a release that nobody charged. A source
 * that has types of its own may say them in comments. Records are looked at for one reason, to notice that
 * the first row is one of them and no header; then nothing is written at all.
 */
#include <stdio.h>
#include <string.h>

#include "data/schema_internal.h"

enum { rows_looked_at = 100 };

typedef struct draft {
  const tacit_data_source_t *source;
  bool is_header;        /* said to be one */
  tacit_reader_t reader; /* its header and, of a CSV file, what reads it */
  size_t n;              /* columns */
  tacit_error_t *err;
} draft_t;

static void append_template(tacit_text_t *text, const draft_t *draft) {
  tacit_text_t name = {0}; /* with a NUL at its end */
  tacit_text_printf(
      text,
      "# Fill in each ? from what is known WITHOUT looking at the data: the design of the study, the range "
      "of an instrument,\n"
      "# a code book. %s Replace {type: \"?\"} by one of\n"
      "#   {type: numeric, lower: 0, upper: 300}    a number within public bounds (integer: a whole number); "
      "others are clamped\n"
      "#   {type: binary}                           0 or 1, FALSE or TRUE\n"
      "#   {type: categorical, levels: [F, M]}      one of these; the first is the reference\n"
      "#   {type: id}                               says whose record it is; never in a model\n"
      "# and add, where values may be missing, missing: drop, lower, upper, a value or a level; where they "
      "are dates, since: 2000-01-01, which "
      "makes\n"
      "# them days since then; where levels are labels of codes in a SAS, SPSS or Stata file, labels: true. "
      "Remove columns that are not needed.\n"
      "dataset: unnamed\n"
      "relation: substitute   # or add-remove, if the number of records is itself private\n"
      "unit: row              # or a column of type id, with max_rows: the most rows of one person\n"
      "columns:\n",
      draft->reader.kind == &tacit_reader_arrow
          ? "Nothing here comes from the records. Behind a column stands the type that the frame gives it: a "
            "frame made from a text\n"
            "# file (read_csv) has guessed it from the values, and the comment must go before others see "
            "this file."
          : "Nothing here comes from the records, not even the types.");
  for (size_t i = 0; i < draft->n; i++) {
    const tacit_dictionary_entry_t *entry = &draft->reader.header.entries[i];
    if (entry->length == 0) {
      tacit_text_printf(text, "  # a column without a name in the header cannot be used\n");
      continue;
    }
    name.length = 0;
    tacit_text_append(&name, draft->reader.header.texts.data + entry->start, entry->length);
    text->failed = text->failed || name.failed;
    if (!text->failed) {
      tacit_schema_append_key(text, "  ", name.data);
    }
    tacit_text_printf(text, ": {type: \"?\"}");
    if (draft->reader.kind->describe != NULL) {
      draft->reader.kind->describe(&draft->reader, i, text);
    }
    tacit_text_append(text, "\n", 1);
  }
  tacit_text_clear(&name);
}

static tacit_csv_t *csv_of(const draft_t *draft) { return draft->reader.state; }

static tacit_status_t ask(const draft_t *draft, const tacit_csv_field_t *at, const char *why) {
  return tacit_csv_error(
      csv_of(draft), at, TACIT_ERR_SYNTAX, draft->err,
      "is the first row a header? %s. If it is one, say --header; if not, give the file a first row of names",
      why);
}

/* Names are seldom numbers, dates or the like. */
static tacit_status_t check_names(const draft_t *draft) {
  for (size_t i = 0; i < draft->n && !draft->is_header; i++) {
    const tacit_csv_field_t *field = &csv_of(draft)->fields[i];
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
    tacit_status_t status = tacit_csv_read(csv_of(draft), draft->err);
    if (status != TACIT_OK || csv_of(draft)->n_fields == 0) {
      return status;
    }
    for (size_t i = 0; i < draft->n && i < csv_of(draft)->n_fields && !draft->is_header; i++) {
      const tacit_csv_field_t *field = &csv_of(draft)->fields[i];
      if (field->n > 0 && tacit_dictionary_find(&draft->reader.header, field->text, field->n) == i) {
        return ask(draft, field, "what it calls this column is a value of it here");
      }
    }
  }
  return TACIT_OK;
}

/* Only CSV may lack a header. */
static tacit_status_t read_file(draft_t *draft) {
  tacit_reader_t *reader = &draft->reader;
  tacit_status_t status = tacit_reader_begin(reader, draft->source, draft->err);
  draft->n = reader->header.n_entries;
  if (status != TACIT_OK || reader->kind != &tacit_reader_csv) {
    return status;
  }
  status = check_names(draft);
  return status == TACIT_OK ? check_rows(draft) : status;
}

static tacit_status_t write_draft(draft_t *draft, char **out) {
  tacit_text_t text = {0};
  tacit_status_t status = read_file(draft);
  if (status == TACIT_OK) {
    append_template(&text, draft);
  }
  tacit_reader_clear(&draft->reader);
  return tacit_text_take(&text, status, out, draft->err);
}

tacit_status_t tacit_schema_draft_source(const tacit_data_source_t *source, bool is_header, char **text,
                                         tacit_error_t *err) {
  draft_t draft = {.source = source, .is_header = is_header, .err = err};
  tacit_status_t status = write_draft(&draft, text);
  tacit_arrow_release(source->stream);
  return status;
}

tacit_status_t tacit_schema_draft(const char *data_path, char **text, tacit_error_t *err) {
  return tacit_schema_draft_source(&(tacit_data_source_t){.path = data_path}, false, text, err);
}

tacit_status_t tacit_schema_draft_of_header(const char *data_path, char **text, tacit_error_t *err) {
  return tacit_schema_draft_source(&(tacit_data_source_t){.path = data_path}, true, text, err);
}

void tacit_text_free(char *text) { tacit_free(text); }
