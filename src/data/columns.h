/* Tables and the directories of imported columns that they are read from. Not installed. */
#ifndef TACIT_DATA_COLUMNS_H
#define TACIT_DATA_COLUMNS_H

#include "base/mapping.h"
#include "data/data_internal.h"

typedef struct tacit_table_column {
  char *name;
  const double *values;
  double *owned; /* what was read from CSV, with room for: */
  size_t room;
  bool has_gaps; /* it may: NaN where a missing value drops its record */
  tacit_column_notes_t notes;
  tacit_mapping_t mapping; /* what was imported */
} tacit_table_column_t;

struct tacit_table {
  tacit_table_column_t *columns;
  size_t n_columns, n_rows;
  const size_t *unit_offsets; /* NULL: the unit is a row */
  size_t *owned_offsets;
  tacit_mapping_t offsets_mapping;
  size_t n_units;
  tacit_dictionary_t ids; /* of the units, as long as there are values; of an import, none */
  bool is_dropped;        /* values are gone */
  char identifier[TACIT_IDENTIFIER_SIZE], query_hash[TACIT_QUERY_HASH_SIZE];
};

/* A table of columns without values. May be set, and is to be freed, after a failure too. */
TACIT_MUST_USE tacit_status_t tacit_table_new(tacit_table_t **table, const char *const *names,
                                              size_t n_columns, tacit_error_t *err);

/* gaps (n_names) <- those of the named columns that may have gaps; how many. Unknown names are none. */
size_t tacit_table_gaps(const tacit_table_t *table, const char *const *names, size_t n_names,
                        const double **gaps);

/*
 * A directory of imported columns: the manifest; for each column that holds values, in the order of the
 * schema, a file of n_rows float64; where units are persons, a file of n_units + 1 uint64 offsets.
 * Little-endian.
 */
#define TACIT_MANIFEST_NAME "manifest.yaml"
#define TACIT_OFFSETS_NAME "units.u64"
enum { TACIT_COLUMNS_VERSION = 1, TACIT_COLUMN_FILE_SIZE = 40 };

/* "column-0001.f64" of the first. Places are public, names and values are not in it. */
const char *tacit_column_file(size_t place, char out[TACIT_COLUMN_FILE_SIZE]);

typedef struct tacit_manifest {
  size_t n_rows, n_units; /* n_units: 0 where the unit is a row */
  size_t n_rows_dropped;
  char query_hash[TACIT_QUERY_HASH_SIZE]; /* "": of no query */
  size_t *n_clamped, *n_missing;          /* of each column of values; shape (n_columns) */
  size_t n_columns;
  tacit_schema_t *schema; /* that the values were checked and clamped by */
} tacit_manifest_t;

/* YAML text of a manifest. */
void tacit_manifest_append(tacit_text_t *text, const tacit_manifest_t *manifest,
                           const tacit_schema_t *schema);
/* Read it; `name` stands for the file in messages. Clear in either case. */
TACIT_MUST_USE tacit_status_t tacit_manifest_parse(tacit_manifest_t *manifest, const char *text, size_t n,
                                                   const char *name, tacit_error_t *err);
void tacit_manifest_clear(tacit_manifest_t *manifest);

/* Refuse machines that the files are not for. */
TACIT_MUST_USE tacit_status_t tacit_columns_check_machine(tacit_error_t *err);
bool tacit_is_directory(const char *path);
/* tacit_table_read of a directory. *table may be set after a failure too. */
TACIT_MUST_USE tacit_status_t tacit_columns_open(tacit_table_t **table, const char *path,
                                                 const tacit_schema_t *schema, const char *const *columns,
                                                 size_t n_columns, tacit_table_notes_t *notes,
                                                 tacit_error_t *err);

#endif
