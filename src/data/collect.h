/* Records of a source, packed as it is read: no more of the table is in memory than is being packed. Not
 * installed. */
#ifndef TACIT_DATA_COLLECT_H
#define TACIT_DATA_COLLECT_H

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

#endif
