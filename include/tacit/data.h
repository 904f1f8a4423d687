/**
 * @file data.h
 * The public schema, the columnar table of records, and packed record blocks.
 *
 * A schema is public: its bounds and levels are given by the user and never
 * read off the data. A table is private: nothing computed from it may leave
 * except through the curator (tacit/curator.h).
 */
#ifndef TACIT_DATA_H
#define TACIT_DATA_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ArrowArrayStream; /* tacit/arrow.h */

typedef enum tacit_column_type {
  TACIT_COLUMN_NUMERIC = 0,     /**< real number with public bounds */
  TACIT_COLUMN_INTEGER = 1,     /**< whole number with public bounds */
  TACIT_COLUMN_CATEGORICAL = 2, /**< one of the public levels */
  TACIT_COLUMN_BINARY = 3,      /**< 0 or 1 */
  TACIT_COLUMN_ID = 4           /**< identifies the unit of privacy; never a model variable */
} tacit_column_type_t;

typedef enum tacit_missing_rule {
  TACIT_MISSING_ERROR = 0, /**< refuse the file, naming file:line:column */
  TACIT_MISSING_VALUE = 1, /**< replace by the public value missing_value (or level) */
  TACIT_MISSING_DROP = 2   /**< the record contributes nothing to what uses the column */
} tacit_missing_rule_t;

typedef enum tacit_range_rule {
  TACIT_RANGE_CLAMP = 0, /**< replace by the nearer bound */
  TACIT_RANGE_ERROR = 1  /**< refuse the file, naming file:line:column */
} tacit_range_rule_t;

/** What is publicly known of one column. */
typedef struct tacit_column_schema {
  const char *name;
  tacit_column_type_t type;
  double lower, upper; /**< numeric and integer; 0 and 1 for binary */
  bool has_typical;    /**< numeric and integer: is it publicly known where nine in ten values lie? */
  double typical_low, typical_high; /**< there; meant only if it is known */
  const char *units; /**< numeric and integer: what one of it is, "years", for people who read reports; NULL:
                        not said */
  bool has_since;    /**< numeric and integer: are values dates, as days since this one? */
  double since;      /**< a date, in days since 1970-01-01 */
  bool has_labels;   /**< categorical: are levels the labels of values, in files that have such? */
  const char *const *levels; /**< categorical: shape (n_levels), in the user's order */
  size_t n_levels;
  tacit_missing_rule_t missing;
  double missing_value; /**< TACIT_MISSING_VALUE: a value in bounds, or the index of a level;
                           TACIT_MISSING_DROP: NaN */
  tacit_range_rule_t out_of_range;
} tacit_column_schema_t;

typedef struct tacit_schema tacit_schema_t;

enum { TACIT_SCHEMA_MAX_BYTES = 1 << 22 }; /**< of a schema's file */

/** Read a schema from a YAML file; errors name file:line:column. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_schema_read(tacit_schema_t **schema, const char *path,
                                                          tacit_error_t *err);

/**
 * Read a schema from n bytes of YAML. `name` stands for the file in messages; "" of a text that nobody wrote,
 * as one made from a dictionary: they name the key at fault then, "columns.age.type", and not its line.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_schema_parse(tacit_schema_t **schema, const char *text,
                                                           size_t n, const char *name, tacit_error_t *err);

TACIT_API void tacit_schema_free(tacit_schema_t *schema);

TACIT_API const char *tacit_schema_dataset(
    const tacit_schema_t *schema); /**< "unnamed" where the schema has no name */

TACIT_API tacit_relation_t tacit_schema_relation(const tacit_schema_t *schema);

/** Name of the person column, or NULL if the unit of privacy is a row. */
TACIT_API const char *tacit_schema_unit(const tacit_schema_t *schema);

/** Most rows of one person that are used (`max_rows`); 1 when the unit is a row. */
TACIT_API size_t tacit_schema_max_rows(const tacit_schema_t *schema);

/** What the user says delta means (`delta_meaning`), or "". */
TACIT_API const char *tacit_schema_delta_meaning(const tacit_schema_t *schema);

TACIT_API size_t tacit_schema_n_columns(const tacit_schema_t *schema);

/** Column i, or NULL; borrowed from the schema. */
TACIT_API const tacit_column_schema_t *tacit_schema_column(const tacit_schema_t *schema, size_t i);

/** Column by name, or NULL. */
TACIT_API const tacit_column_schema_t *tacit_schema_find(const tacit_schema_t *schema, const char *name);

/**
 * Write a YAML template for a data file: its column names, and questions for everything else, since a type,
 * bound or level read off private data would be an unpaid release.
 * @param[out] text  returns owned, NUL-terminated; free with tacit_text_free().
 * @return TACIT_ERR_SYNTAX also where the first row looks like a record: a number, a date, or a value of its
 * own column.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_schema_draft(const char *data_path, char **text,
                                                           tacit_error_t *err);

/** The same where the first row is known to be names, whatever it looks like. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_schema_draft_of_header(const char *data_path, char **text,
                                                                     tacit_error_t *err);

TACIT_API void tacit_text_free(char *text);

/** Who reads may watch; every member may be NULL. Called on the thread that reads. */
typedef struct tacit_stream_watch {
  bool (*go_on)(void *user); /**< asked now and then, at least every 4096 rows; false: TACIT_ERR_INTERRUPTED,
                                and nothing is left behind */
  /** What a stream (tacit/arrow.h) itself says of its failure. It may quote a value: PRIVATE, and in no
   * message of tacit's. */
  void (*said)(void *user, const char *text);
  void *user;
} tacit_stream_watch_t;

/** Where records come from; borrowed but for the stream. Set one of path and stream; further members may be
 * added. */
typedef struct tacit_data_source {
  /** "odbc:DSN=..." (what follows is ODBC's, and in no message). A file: CSV, or of SAS, SPSS or Stata by the
   * ending of its name; a directory of tacit_table_import(); "-", the standard input, which is CSV and is
   * read once, as pipes are. */
  const char *path;
  const char *query;     /**< of a database, path "odbc:DSN=...": what tacit_query_read() takes; else NULL */
  const char *catalog;   /**< of a SAS file (.sas7bdat, .xpt): the catalogue (.sas7bcat) that holds labels of
                            its values; else NULL */
  const char *encoding;  /**< of text in CSV, SAS, SPSS or Stata files, as iconv calls it ("latin1"); NULL: as
                            the file says, else UTF-8 */
  const char *delimiter; /**< between fields of CSV: one character, or "tab"; NULL: by the header row, what
                            stands there most often outside of quotation marks */
  struct ArrowArrayStream *stream;   /**< as in tacit_table_read_stream(): taken */
  const tacit_stream_watch_t *watch; /**< may be NULL */
} tacit_data_source_t;

/** Can the source be read but once, from its beginning? The standard input, pipes and other streams. */
TACIT_API bool tacit_data_source_is_stream(const tacit_data_source_t *source);

/** Is it the query of a database? */
TACIT_API bool tacit_data_source_is_query(const tacit_data_source_t *source);

/**
 * Take a query, or "@FILE" that holds one: one statement, which begins with select, with, values or table.
 * Blanks and a semicolon at its end are taken off. What it gives back it takes, too.
 * @param[out] text  returns owned; free with tacit_text_free().
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_query_read(const char *query, char **text, tacit_error_t *err);

enum { TACIT_QUERY_HASH_SIZE = 65 };

/** SHA-256 of a text of tacit_query_read(), in hexadecimal. */
TACIT_API void tacit_query_hash(const char *text, char hash[TACIT_QUERY_HASH_SIZE]);

/** A name for messages: the path, or what it stands for. */
TACIT_API const char *tacit_data_source_name(const tacit_data_source_t *source);

/** tacit_schema_draft() of any source; `is_header`: the first row of a CSV file is known to be names. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_schema_draft_source(const tacit_data_source_t *source,
                                                                  bool is_header, char **text,
                                                                  tacit_error_t *err);

/** Columnar records; PRIVATE. */
typedef struct tacit_table tacit_table_t;

/** Counts that only the curator may see (never written to an artefact). */
typedef struct tacit_table_notes {
  size_t n_clamped;      /**< values moved to a bound */
  size_t n_missing;      /**< missing values, replaced or dropped with their records */
  size_t n_rows_dropped; /**< rows beyond max_rows of their person */
} tacit_table_notes_t;

/** What `tacit schema check` says. */
typedef struct tacit_schema_report {
  char *says, *warns; /**< of the schema alone, public; lines that end with a newline */
  char *for_holder; /**< of records, PRIVATE: lines for the holder of the data alone; NULL before records were
                       looked at */
  size_t n_rows, n_units;    /**< of records, PRIVATE */
  tacit_table_notes_t notes; /**< of records, PRIVATE */
} tacit_schema_report_t;

/** What there is to say of a schema that was read; nothing of records. Clear it, also after failure. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_schema_report(const tacit_schema_t *schema,
                                                            tacit_schema_report_t *report,
                                                            tacit_error_t *err);

/**
 * Look at every record by the rules of the schema, after tacit_schema_report(): all columns, nothing is kept.
 * What is added is for whoever holds them.
 * @return TACIT_ERR_DATA where a record breaks a rule, with its place, never its value; else as
 * tacit_table_read_source().
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_schema_report_records(const tacit_schema_t *schema,
                                                                    const tacit_data_source_t *source,
                                                                    tacit_schema_report_t *report,
                                                                    tacit_error_t *err);

TACIT_API void tacit_schema_report_clear(tacit_schema_report_t *report);

/** The same of one column; for the curator's eyes only. */
typedef struct tacit_column_notes {
  size_t n_clamped, n_far; /**< moved to a bound; of them by more than the width of the bounds (0 of imported
                              columns, which do not know) */
  size_t n_missing;
} tacit_column_notes_t;

/**
 * Read records: a CSV or TSV file, the standard input ("-"), or a directory that tacit_table_import() wrote,
 * whose columns are mapped and not read until they are looked at. The directory must have been imported under
 * the same rules for these columns, and must not be changed while it is open.
 *
 * A CSV or TSV file (optionally gzip) is streamed: the text is never held in memory. The separator is that of
 * comma, tab, semicolon and | which the header row has most often outside of quotation marks, or what
 * tacit_data_source_t says; where it is a semicolon, numbers may have a decimal comma. It is UTF-8, or UTF-16
 * where it begins with that mark; tacit_data_source_t names others.
 *
 * Where units are persons, their rows may come in any order. A person has the first max_rows of them, in the
 * order in which they come; further ones are checked, and left out. Identifiers are texts of any kind: 7 and
 * 07 are two persons.
 *
 * No records at all are TACIT_ERR_DATA under relation substitute, where their number is public; under
 * add-remove they are read.
 *
 * RFC 4180 quoting, CRLF or LF, optional UTF-8 byte-order mark, header row.
 * Empty fields and NA are missing; so is NaN in a numeric column. Columns of the
 * file that the schema does not name are an error when asked for, else ignored.
 *
 * @param[in] columns    names to keep, shape (n_columns); n_columns == 0 keeps all of the schema.
 *                       The person column of the schema is always kept.
 * @param[out] notes     may be NULL; for the curator's eyes only.
 * @return TACIT_ERR_MISSING, TACIT_ERR_IO, TACIT_ERR_SYNTAX (malformed CSV), TACIT_ERR_DATA
 *         (a record breaks a rule, or an imported file is damaged), TACIT_ERR_SCHEMA (imported under other
 * rules), TACIT_ERR_UNKNOWN (no such column), TACIT_ERR_STATE (imported columns on a big-endian or 32-bit
 * machine), TACIT_ERR_MEMORY.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_table_read(tacit_table_t **table, const char *path,
                                                         const tacit_schema_t *schema,
                                                         const char *const *columns, size_t n_columns,
                                                         tacit_table_notes_t *notes, tacit_error_t *err);

/** The same from any source. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_table_read_source(
    tacit_table_t **table, const tacit_data_source_t *source, const tacit_schema_t *schema,
    const char *const *columns, size_t n_columns, tacit_table_notes_t *notes, tacit_error_t *err);

/**
 * Convert a file once into a directory of mapped columns, for data larger than memory: all columns of the
 * schema, checked and clamped by it. Memory does not grow with the rows, but with the persons where they are
 * the unit. The directory is PRIVATE as the file is (mode 0700); it appears whole, synced to the disk, or not
 * at all, and must not exist.
 *
 * @param[out] notes  may be NULL; for the curator's eyes only.
 * @return as tacit_table_read(); TACIT_ERR_EXISTS, TACIT_ERR_IO.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_table_import(const char *path, const tacit_schema_t *schema,
                                                           const char *directory, tacit_table_notes_t *notes,
                                                           tacit_error_t *err);

/** The same from any source but imported columns. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_table_import_source(const tacit_data_source_t *source,
                                                                  const tacit_schema_t *schema,
                                                                  const char *directory,
                                                                  tacit_table_notes_t *notes,
                                                                  tacit_error_t *err);

/**
 * Look at every value: TACIT_ERR_DATA if one does not keep the rules of the schema that the table was read
 * by. Reading CSV has done so; imported columns are not looked at on opening, and may have been damaged on
 * the disk.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_table_verify(const tacit_table_t *table,
                                                           const tacit_schema_t *schema, tacit_error_t *err);

TACIT_API void tacit_table_free(tacit_table_t *table);

TACIT_API size_t tacit_table_n_rows(const tacit_table_t *table);

/** Values of a column, shape (n_rows): numbers, 0/1, or 0-based level indices; NaN: missing, and drops its
 * record. NULL if absent. Borrowed. */
TACIT_API const double *tacit_table_column(const tacit_table_t *table, const char *name);

/** Records in one block; one record is one vector lane. */
enum { TACIT_BLOCK = 16 };

/**
 * Packed float32 records, feature-major inside blocks of 16:
 * element (record i, column j) is data[(i / 16) * n_columns * 16 + j * 16 + i % 16].
 * Lanes past the last record are zero. 64-byte aligned. PRIVATE.
 */
typedef struct tacit_records tacit_records_t;

/** Allocate n records of n_columns columns, all zero. n may be 0; n_columns >= 1. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_records_new(tacit_records_t **records, size_t n,
                                                          size_t n_columns, tacit_error_t *err);

TACIT_API void tacit_records_free(tacit_records_t *records);

/** Store x, shape (n_columns), as record i (rounded to float32). Distinct records may be set from distinct
 * threads. */
TACIT_API void tacit_records_set(tacit_records_t *records, size_t i, const double *x);

/**
 * A part of a vector in a sparse form: how one number of a record, a row, meets the numbers of the vector, x
 * being the record's columns.
 */
typedef enum tacit_piece_kind {
  TACIT_PIECE_DENSE = 0,  /**< vector[parameter + j] = row j further on, j < n */
  TACIT_PIECE_LINEAR = 1, /**< vector[parameter + j] = row * x[column + j], j < n */
  TACIT_PIECE_GATHER =
      2 /**< vector[parameter + k * stride] = row for the one k = x[column] - first, clamped to 0 .. n - 1 */
} tacit_piece_kind_t;

typedef struct tacit_piece {
  tacit_piece_kind_t kind;
  size_t row, parameter;
  size_t n, column; /**< column: linear and gather */
  size_t stride;    /**< gather: >= 1 */
  double first;     /**< gather */
} tacit_piece_t;
#ifdef __cplusplus
}
#endif
#endif
