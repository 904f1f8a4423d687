/* Noisy tables of margins, as tacit release --statistic margins writes them: read for inference, and for rows from it. */
#ifndef TACIT_INFER_MARGINS_H
#define TACIT_INFER_MARGINS_H

#include "base/yaml_file.h"
#include "tacit/tables.h"

/* Owns everything. */
typedef struct tacit_margins_file {
  size_t n_columns, n_levels[TACIT_TABLES_MAX_COLUMNS];
  char *names[TACIT_TABLES_MAX_COLUMNS], **levels[TACIT_TABLES_MAX_COLUMNS];
  size_t n_margins;
  uint32_t margins[TACIT_TABLES_MAX_MARGINS];
  double *values, *scales; /* of all cells, in the order of tacit_tables_n_cells() */
  double n;                /* records; 0: not said */
  bool is_discrete, is_add_remove;
  tacit_tables_t *tables;
} tacit_margins_file_t;

/* Is the text that of margins? False also of what is no YAML. */
bool tacit_margins_is_file(const char *text, size_t length);
/* The open file; cleared by the caller also after failure. */
TACIT_MUST_USE tacit_status_t tacit_margins_read(tacit_margins_file_t *margins, tacit_yaml_t *file, const char *text, size_t length);
void tacit_margins_clear(tacit_margins_file_t *margins);

#endif
