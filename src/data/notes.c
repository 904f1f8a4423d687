/*
 * What the holder of the data is told, and nobody else.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "data/columns.h"
#include "data/records.h"

/* Shares of clamped values from which bounds are more likely wrong than values. */
static const double share_much = 0.05;

static void say_missing(const tacit_column_schema_t *column, const tacit_column_notes_t *notes, size_t n_rows,
                        char *out, size_t size) {
  if (column->missing == TACIT_MISSING_DROP && notes->n_missing > 0) {
    snprintf(out, size, "column '%.64s': %zu of %zu values are missing: their records add nothing",
             column->name, notes->n_missing, n_rows);
  }
}

void tacit_column_notes_say(const tacit_column_schema_t *column, const tacit_column_notes_t *notes,
                            size_t n_rows, bool is_response, char *out, size_t size) {
  char lower[TACIT_NUMBER_SIZE], upper[TACIT_NUMBER_SIZE], far[128] = "";
  out[0] = '\0';
  if (notes->n_clamped == 0) {
    say_missing(column, notes, n_rows, out, size);
    return;
  }
  if (notes->n_far > 0) {
    snprintf(far, sizeof far,
             "; %zu of them by more than the width of the bounds: codes for missing values, such as -99?",
             notes->n_far);
  }
  bool is_coded = column->type == TACIT_COLUMN_INTEGER && column->upper - column->lower <= 1;
  const char *why = is_coded      ? ": is it coded in another way, such as 1 and 2?"
                    : is_response ? ": a response beyond its bounds biases what is fitted"
                    : (double)notes->n_clamped > share_much * (double)n_rows ? ": are bounds and units right?"
                                                                             : "";
  snprintf(out, size, "column '%.64s'%s: %zu of %zu values were outside %s..%s and clamped%s%s", column->name,
           is_response ? ", the response" : "", notes->n_clamped, n_rows,
           tacit_number_format(column->lower, lower), tacit_number_format(column->upper, upper), why, far);
  if (column->missing == TACIT_MISSING_DROP && notes->n_missing > 0) {
    size_t n = strlen(out);
    snprintf(out + n, size - n, "; %zu are missing: their records add nothing", notes->n_missing);
  }
}

/* "id", "patient", "PatientID", "subject_no": ends in id, or has a word for a person in it. */
static bool is_identifier(const char *name, size_t n) {
  static const char *const words[] = {"patient",    "person", "subject", "participant",
                                      "respondent", "userid", "ssn",     "mrn"};
  char low[128];
  if (n == 0 || n >= sizeof low) {
    return false;
  }
  for (size_t i = 0; i <= n; i++) {
    low[i] = (char)(i < n ? tolower((unsigned char)name[i]) : '\0');
  }
  bool found = strcmp(low, "id") == 0 ||
               (n > 3 && (strcmp(low + n - 3, "_id") == 0 || strcmp(low + n - 3, ".id") == 0)) ||
               (n > 2 && memcmp(name + n - 2, "ID", 2) == 0 && islower((unsigned char)name[n - 3]));
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    found = found || strncmp(low, words[i], strlen(words[i])) == 0;
  }
  return found;
}

void tacit_reader_find_identifier(const tacit_reader_t *reader, char out[TACIT_IDENTIFIER_SIZE]) {
  out[0] = '\0';
  for (size_t i = 0;
       i < reader->header.n_entries && tacit_schema_unit(reader->schema) == NULL && out[0] == '\0'; i++) {
    const tacit_dictionary_entry_t *entry = &reader->header.entries[i];
    const char *name = reader->header.texts.data + entry->start;
    if (is_identifier(name, entry->length)) {
      snprintf(out, TACIT_IDENTIFIER_SIZE, "%.*s", (int)(entry->length < 64 ? entry->length : 64), name);
    }
  }
}

const char *tacit_table_identifier(const tacit_table_t *table) { return table->identifier; }
