/* Records of a source, packed as it is read: no more of the table is in memory than is being packed. Not
 * installed. */
#ifndef TACIT_DATA_COLLECT_H
#define TACIT_DATA_COLLECT_H

#include "base/settings.h"
#include "tacit/data.h"

/* How rows become records. */
typedef struct tacit_packer {
  /* Make the records of all rows of a table. */
  tacit_status_t (*pack)(void *user, const tacit_table_t *table, tacit_records_t **records,
                         tacit_error_t *err);
  void *user;
  bool is_whole; /* pack must see the whole table at once: it takes a part of it, or leaves the records in a
                    file */
  size_t n_threads;
} tacit_packer_t;

/* Blocks from `at` on <- all blocks of others with as many columns. */
void tacit_records_copy_blocks(tacit_records_t *records, size_t at, const tacit_records_t *from);

/* All values <- those of the blocks of others with as many records and columns, one block after another,
 * wherever they lie. */
void tacit_records_fill(tacit_records_t *records, const void *values);

/* What the data call a person, n bytes, while the table has values; NULL: it is not known, as of an import.
 * PRIVATE. */
const char *tacit_table_unit_id(const tacit_table_t *table, size_t unit, size_t *n);

/*
 * Read a source and pack it. Rows of CSV and of streams are packed some ten thousand at a time, and the
 * records joined; so that beside them there are at most some percent of them. Where persons are the unit,
 * whose rows may come in any order, the whole table is read first; imported columns are mapped. The records
 * are the same either way. The source's stream is released.
 *
 * *table: what was read, for its notes, number of rows and identifier; its columns may be gone
 * (tacit_table_column() NULL). Both outputs are NULL after a failure. Other arguments and errors as of
 * tacit_table_read_source(), and of pack.
 */
TACIT_MUST_USE tacit_status_t tacit_records_collect(tacit_records_t **records, tacit_table_t **table,
                                                    const tacit_data_source_t *source,
                                                    const tacit_schema_t *schema, const char *const *columns,
                                                    size_t n_columns, const tacit_packer_t *packer,
                                                    tacit_table_notes_t *notes, tacit_error_t *err);

/* Rows of a table of settings: where records come from. */
#define TACIT_SOURCE_SETTINGS                                                                                \
  TACIT_TEXT_SETTING(                                                                                        \
      "data", "FILE", "running",                                                                             \
      "CSV or TSV with a header row, plain or gzipped; a SAS, SPSS or Stata file; -, the standard input; "   \
      "odbc:NAME, a database; or a directory written by tacit import."),                                     \
      TACIT_TEXT_SETTING(                                                                                    \
          "query", "SQL", "running",                                                                         \
          "Of a database, --data odbc:NAME: a query that begins with select; @FILE: the one in FILE."),      \
      TACIT_TEXT_SETTING(                                                                                    \
          "catalog", "FILE", "running",                                                                      \
          "Of a SAS file: the catalogue (.sas7bcat) of its value labels, for columns with labels: true."),   \
      TACIT_TEXT_SETTING(                                                                                    \
          "encoding", "NAME", "running",                                                                     \
          "Of text in a CSV, SAS, SPSS or Stata file that does not say it rightly: latin1, windows-1252, "   \
          "utf-16 ..."),                                                                                     \
      TACIT_TEXT_SETTING("delimiter", "CHAR", "running",                                                     \
                         "What stands between fields of CSV: ',', ';', '|' or tab. If not said, the one "    \
                         "that the header row "                                                              \
                         "has most often.")

/* Check the setting "query". *query: its text, owned, tacit_text_free(); NULL where there is none. */
TACIT_MUST_USE tacit_status_t tacit_data_query_settle(char **query, const tacit_settings_t *settings,
                                                      tacit_error_t *err);
/* What is given, else the settings "data", "catalog", "encoding" and "delimiter"; query: the text that was
 * checked, whatever happens to its file. */
tacit_data_source_t tacit_data_source_settle(const tacit_data_source_t *source,
                                             const tacit_settings_t *settings, const char *query);

#endif
