/* Rows that an analyst brings, for the commands that predict. */
#ifndef TACIT_CLI_PREDICT_H
#define TACIT_CLI_PREDICT_H

#include "tacit/predict.h"

typedef struct cli_new_rows {
  tacit_table_t *table;
  const double **columns;
  tacit_new_rows_t rows;
} cli_new_rows_t;

/* Read a CSV by the fit's schema; clear in either case. */
TACIT_MUST_USE tacit_status_t cli_new_rows_read(cli_new_rows_t *rows, const tacit_predictor_t *predictor,
                                                const char *path, tacit_error_t *err);
void cli_new_rows_clear(cli_new_rows_t *rows);

#endif
