/* Rows, and the files that show them. */
#ifndef AUDIT_OUTPUT_H
#define AUDIT_OUTPUT_H

#include "audit.h"

typedef struct audit_row {
  const audit_case_t *of;
  fault_t fault;
  double charged, lower, exact; /* epsilon at audit_delta; exact: NaN where not computed */
  bool is_replayed, holds;
} audit_row_t;

void print_row(const audit_row_t *row);
/* Write audits.csv and audits.md into a folder; false, with a message, if that fails. */
bool write_results(const char *folder, const audit_row_t *rows, size_t n, size_t n_runs);

#endif
