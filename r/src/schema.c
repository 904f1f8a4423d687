/* Before a fit: a template of a schema, what is wrong with one, records beside it; and the families there
 * are. */
#include "tacit_r.h"

#include <string.h>
#include <tacit/model.h>

SEXP r_schema_draft(SEXP data) {
  struct ArrowArrayStream stream = {0};
  tacit_data_source_t source = {0};
  char *text = NULL;
  tacit_error_t err;
  tacit_status_t status = r_open_source(data, &stream, &source, &err);
  status = status == TACIT_OK ? tacit_schema_draft_source(&source, false, &text, &err) : status;
  return status == TACIT_OK ? r_owned_text(status, text) : r_failure(&err, NULL);
}

/* ---- a check ---- */

typedef struct check {
  tacit_schema_t *schema;
  tacit_schema_report_t report;
  r_watch_t watch;
} check_t;

static void end(void *user) {
  check_t *check = user;
  tacit_schema_report_clear(&check->report);
  tacit_schema_free(check->schema);
  R_Free(check);
}

static tacit_status_t look(check_t *check, SEXP schema, SEXP name, SEXP data, tacit_error_t *err) {
  const char *yaml = r_text(schema);
  struct ArrowArrayStream stream = {0};
  const tacit_stream_watch_t watch = r_stream_watch(&check->watch);
  tacit_data_source_t source = {.watch = &watch};
  tacit_status_t status = tacit_schema_parse(&check->schema, yaml, strlen(yaml), r_text(name), err);
  status = status == TACIT_OK ? tacit_schema_report(check->schema, &check->report, err) : status;
  if (status != TACIT_OK || data == R_NilValue) {
    return status;
  }
  status = r_open_source(data, &stream, &source, err);
  return status == TACIT_OK ? tacit_schema_report_records(check->schema, &source, &check->report, err)
                            : status;
}

/* What was found; of records only where there were some. */
static SEXP found_of(const check_t *check, bool is_read) {
  static const char *const names[] = {"text", "warnings", "for_holder", "counts", NULL};
  const tacit_schema_report_t *report = &check->report;
  const size_t counts[] = {report->n_rows, report->n_units, report->notes.n_clamped, report->notes.n_missing,
                           report->notes.n_rows_dropped};
  const char *texts[] = {report->says, report->warns, report->for_holder};
  SEXP out = PROTECT(r_list(names));
  for (R_xlen_t i = 0; i < (is_read ? 3 : 2); i++) {
    SET_VECTOR_ELT(out, i, r_texts(&texts[i], 1));
  }
  if (is_read) {
    SET_VECTOR_ELT(out, 3, Rf_allocVector(REALSXP, 5));
    for (R_xlen_t i = 0; i < 5; i++) {
      REAL(VECTOR_ELT(out, 3))[i] = (double)counts[i];
    }
  }
  UNPROTECT(1);
  return out;
}

SEXP r_schema_check(SEXP schema, SEXP name, SEXP data) {
  tacit_error_t err;
  check_t *check = R_Calloc(1, check_t);
  SEXP pointer = PROTECT(r_hold(check, end));
  tacit_status_t status = look(check, schema, name, data, &err);
  SEXP out = PROTECT(status == TACIT_OK ? found_of(check, data != R_NilValue)
                                        : r_failure(&err, check->watch.detail));
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

/* ---- families ---- */

SEXP r_families(void) {
  static const char *const names[] = {"family", "response", "link", "summary", NULL};
  R_xlen_t n = 0;
  while (tacit_program_family_about((size_t)n) != NULL) {
    n++;
  }
  SEXP out = PROTECT(r_list(names));
  for (R_xlen_t k = 0; k < 4; k++) {
    SET_VECTOR_ELT(out, k, Rf_allocVector(STRSXP, n));
  }
  for (R_xlen_t i = 0; i < n; i++) {
    const tacit_family_about_t *family = tacit_program_family_about((size_t)i);
    const char *texts[] = {family->name, family->response, family->link, family->summary};
    for (R_xlen_t k = 0; k < 4; k++) {
      SET_STRING_ELT(VECTOR_ELT(out, k), i, Rf_mkCharCE(texts[k], CE_UTF8));
    }
  }
  UNPROTECT(1);
  return out;
}

/* "": nobody can tell. */
SEXP r_family_meant(SEXP name) {
  const char *meant = tacit_program_family_meant(r_text(name));
  return Rf_mkString(meant != NULL ? meant : "");
}
