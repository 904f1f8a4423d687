/* Tables that a reader fills. */
#ifndef TACIT_DATA_TABLE_H
#define TACIT_DATA_TABLE_H

#include "data/columns.h"

/* A table with the reader's columns, without rows; free it also after failure. */
TACIT_MUST_USE tacit_status_t tacit_table_of_reader(tacit_table_t **table, const tacit_reader_t *reader,
                                                    tacit_error_t *err);
/* Room for so many rows in the table, which the reader is to fill from reader->at on. What is there stays. */
TACIT_MUST_USE tacit_status_t tacit_table_make_room(tacit_table_t *table, tacit_reader_t *reader, size_t room,
                                                    tacit_error_t *err);
/* What the reader noted of values. */
void tacit_table_note(tacit_table_t *table, const tacit_reader_t *reader);
/* Forget all values; tacit_table_column() is NULL from here on. */
void tacit_table_drop_columns(tacit_table_t *table);

#endif
