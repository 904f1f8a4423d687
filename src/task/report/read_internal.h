/* One Stan CSV file under reading. Not installed. */
#ifndef TACIT_REPORT_READ_INTERNAL_H
#define TACIT_REPORT_READ_INTERNAL_H

#include "report/report_internal.h"

typedef struct tacit_csv {
  const char *path; /* borrowed */
  char *bytes;
  size_t n_bytes;
  size_t names_line;                      /* line of the column names, from 1 */
  size_t rows_offset, rows_line;          /* what follows it */
  size_t n_columns, n_internal;           /* n_internal: those ending in __, which come first */
  size_t n_names;                         /* n_columns - n_internal */
  char **names, **labels;                 /* shape (n_names) */
  char *formula, *family, *data_name;     /* or NULL */
  char *method;                           /* or NULL */
  size_t n_chains;                        /* that the header announces, at least 1 */
  size_t n_skipped, n_kept;               /* rows of warm-up and of draws */
  int accept_stat, step_size, n_leapfrog; /* column or -1 */
} tacit_stan_csv_t;

/*
 * Read the file, its header and its column names, count its rows and compare with the header. Clear after
 * failure too.
 */
tacit_status_t tacit_stan_csv_open(tacit_stan_csv_t *csv, const char *path, tacit_error_t *err);
/* Parse the draws into chain `chain`, shape (csv->n_kept, csv->n_names). */
tacit_status_t tacit_stan_csv_draws(tacit_stan_csv_t *csv, tacit_draws_t *draws, size_t chain,
                                    tacit_error_t *err);
void tacit_stan_csv_clear(tacit_stan_csv_t *csv);

struct json_t;
bool tacit_report_exists(const char *path);
/* read.c: a whole JSON file; free with json_decref. */
TACIT_MUST_USE tacit_status_t tacit_report_load_json(const char *path, struct json_t **root,
                                                     tacit_error_t *err);
/* read.c: privacy, epsilon and delta as a privacy.json has them. */
TACIT_MUST_USE tacit_status_t tacit_report_privacy_of(const struct json_t *root, const char *path,
                                                      tacit_report_read_t *read, tacit_error_t *err);
/* read.c: is there a folder of that name? */
TACIT_MUST_USE tacit_status_t tacit_report_check_folder(const char *path, tacit_error_t *err);
/* read_diagnostics.c: after the draws, whose labels and method it refers to; `name` is room for a path. */
TACIT_MUST_USE tacit_status_t tacit_report_read_diagnostics(const char *folder, tacit_text_t *name,
                                                            tacit_report_read_t *read, tacit_error_t *err);

#endif
