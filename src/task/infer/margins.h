/* Noisy tables of one population, as tacit release --statistic margins and others write them: read for
 * inference, and for rows from it. */
#ifndef TACIT_INFER_MARGINS_H
#define TACIT_INFER_MARGINS_H

#include "base/text.h"
#include "base/yaml_file.h"
#include "tables/tables.h"

enum { TACIT_MARGINS_MAX_TOTALS = 8, TACIT_MARGINS_MAX_ZEROS = 256 };

/* Cells that no record can be in: those with one of these levels of each of the columns. */
typedef struct tacit_margins_zero {
  uint32_t columns;
  uint64_t levels[TACIT_TABLES_MAX_COLUMNS]; /* bits; the first 64 levels of a column */
} tacit_margins_zero_t;

/* Owns everything. */
typedef struct tacit_margins_file {
  size_t n_columns, n_levels[TACIT_TABLES_MAX_COLUMNS];
  char *names[TACIT_TABLES_MAX_COLUMNS], **levels[TACIT_TABLES_MAX_COLUMNS];
  size_t n_margins;
  uint32_t margins[TACIT_TABLES_MAX_MARGINS];
  tacit_noisy_t noisy[TACIT_TABLES_MAX_MARGINS];  /* one for each margin: the last column is the fastest */
  tacit_noisy_t totals[TACIT_MARGINS_MAX_TOTALS]; /* tables of one cell, of all records */
  size_t n_totals;
  tacit_margins_zero_t *zeros;
  size_t n_zeros;
  double n; /* records; 0: not said, or with noise */
  bool is_add_remove;
  tacit_tables_t *tables; /* of these margins, by tacit_margins_build() */
} tacit_margins_file_t;

/* Is the text that of margins? False also of what is no YAML. */
bool tacit_margins_is_file(const char *text, size_t length);
/* The open file; cleared by the caller also after failure. */
TACIT_MUST_USE tacit_status_t tacit_margins_read(tacit_margins_file_t *margins, tacit_yaml_t *file,
                                                 const char *text, size_t length);
/* ->tables, from a file that is open. */
TACIT_MUST_USE tacit_status_t tacit_margins_build(tacit_margins_file_t *margins, tacit_yaml_t *file);
void tacit_margins_clear(tacit_margins_file_t *margins);
/* Cells of some of the columns. */
size_t tacit_margins_n_cells(const tacit_margins_file_t *margins, uint32_t columns);
/* "sex=F:age=old" of a cell. */
void tacit_margins_name_cell(const tacit_margins_file_t *margins, uint32_t columns, size_t cell,
                             tacit_text_t *to);

#endif
