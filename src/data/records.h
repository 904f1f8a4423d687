/*
 * Tables and records from within the library: what is packed, read next and done with, and whose rows are
 * whose.
 */
#ifndef TACIT_DATA_RECORDS_H
#define TACIT_DATA_RECORDS_H

#include "tacit/base.h"
#include "tacit/data.h"

/**
 * One of these columns, shape (n_columns), whose missing values drop their records (TACIT_MISSING_DROP); NULL
 * if there is none. How many records count is then private under either relation.
 */
const char *tacit_schema_dropping(const tacit_schema_t *schema, const char *const *columns, size_t n_columns);

/**
 * The schema for rows that an analyst brings, which are nobody's records: no persons; a value that is out of
 * range or no level is refused where a record's would be replaced. A missing one is what the schema says: its
 * public value, or NaN where records are dropped, which predictions refuse.
 * @param[in] columns  the names to keep, shape (n_columns), all of the schema; repeated ones count once.
 */
TACIT_MUST_USE tacit_status_t tacit_schema_for_new_rows(tacit_schema_t **rows, const tacit_schema_t *schema,
                                                        const char *const *columns, size_t n_columns,
                                                        tacit_error_t *err);

/** Rows [from, to) are looked at next, so that imported columns can be read ahead; without effect on tables
 * from CSV. */
void tacit_table_need(const tacit_table_t *table, size_t from, size_t to);

/** Rows [from, to) are not looked at soon and may leave memory; they keep their values. As above. */
void tacit_table_drop(const tacit_table_t *table, size_t from, size_t to);

/** What was done to a column's values on reading; zeros if it is absent. For the curator's eyes only. */
tacit_column_notes_t tacit_table_column_notes(const tacit_table_t *table, const char *name);

/**
 * A sentence for the holder of the data where values of a column were clamped, and what to look at, or
 * dropped their records; "" where none was.
 * @param is_response  of a model: then its coding is asked about first.
 */
void tacit_column_notes_say(const tacit_column_schema_t *column, const tacit_column_notes_t *notes,
                            size_t n_rows, bool is_response, char *out, size_t size);

/**
 * A column of what was read whose name says that it identifies persons ("patient_id") while the schema's unit
 * is the row; "" if there is none, or the columns were imported. At most 64 bytes of the name; borrowed.
 * Names are looked at, records are not.
 */
const char *tacit_table_identifier(const tacit_table_t *table);

/** Hash of the query (tacit_query_hash()) that the rows came from, of an import too; "" if they came from
 * none. Borrowed. */
const char *tacit_table_query_hash(const tacit_table_t *table);

/**
 * Offsets of the units, shape (n_units + 1), rows being grouped by unit; NULL if the unit is a row.
 * Rows of a person are adjacent; persons keep the order of their first row.
 */
const size_t *tacit_table_unit_offsets(const tacit_table_t *table, size_t *n_units);

/**
 * The same in a file without a name in the folder `scratch`, for records larger than memory; NULL: in memory.
 * All of its workspace on the disk is taken at once (TACIT_ERR_IO if there is none), and is free again with
 * the records, or when the program ends in whatever way. What was written there is PRIVATE and is not wiped.
 */
TACIT_MUST_USE tacit_status_t tacit_records_new_in(tacit_records_t **records, size_t n, size_t n_columns,
                                                   const char *scratch, tacit_error_t *err);

/**
 * Pack n_names columns of a table as they are (rounded to float32), row by row, on n_threads threads (1 to
 * 4096), in memory or in a file in the folder `scratch`. The records do not depend on the number of threads.
 * Every row is its own unit. TACIT_ERR_UNKNOWN if the table was read without a column. Rows of imported
 * columns that were looked at leave memory. A row with a missing value (NaN) becomes a record that is left
 * out.
 */
TACIT_MUST_USE tacit_status_t tacit_table_pack(tacit_records_t **records, const tacit_table_t *table,
                                               const char *const *names, size_t n_names, size_t n_threads,
                                               const char *scratch, tacit_error_t *err);

/** Make record i one that adds nothing to any release: its columns are NaN, and so it counts nowhere
 * (door/door.h). */
void tacit_records_leave_out(tacit_records_t *records, size_t i);

/** Store x, shape (n), as column j of records first .. first + n - 1 (rounded to float32). Distinct records,
 * as above. */
void tacit_records_set_column(tacit_records_t *records, size_t first, size_t n, size_t j, const double *x);

/** The folder that the records are in a file of, or NULL if they are in memory. */
const char *tacit_records_scratch(const tacit_records_t *records);

/** Blocks [from, to) are looked at next, so that they can be read ahead; without effect on records in memory.
 */
void tacit_records_need(const tacit_records_t *records, size_t from, size_t to);

/** Blocks [from, to) are not looked at soon and may leave memory; they keep their values. As above. */
void tacit_records_drop(const tacit_records_t *records, size_t from, size_t to);

/**
 * Declare which records form a unit of privacy: unit u is records offsets[u] .. offsets[u+1]-1.
 * Copies. offsets[0] == 0, non-decreasing, offsets[n_units] == n.
 */
TACIT_MUST_USE tacit_status_t tacit_records_set_units(tacit_records_t *records, const size_t *offsets,
                                                      size_t n_units, tacit_error_t *err);

size_t tacit_records_n(const tacit_records_t *records);

size_t tacit_records_n_columns(const tacit_records_t *records);

size_t tacit_records_n_blocks(const tacit_records_t *records);

/** Block b, shape (n_columns, 16); borrowed. */
const float *tacit_records_block(const tacit_records_t *records, size_t b);

/** The same, and the offsets of units below, to be changed: by who holds the records, who keeps them in step.
 */
float *tacit_records_edit(tacit_records_t *records, size_t b);
size_t *tacit_records_edit_units(tacit_records_t *records);

/** Unit offsets or NULL when every record is its own unit. */
const size_t *tacit_records_unit_offsets(const tacit_records_t *records, size_t *n_units);
#endif
