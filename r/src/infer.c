/* Draws given a released statistic, and the release of one: each as one call. */
#include "tacit_r.h"

#include <string.h>
#include <tacit/infer.h>
#include <tacit/publish.h>

/* ---- infer ---- */

typedef struct call {
  tacit_infer_t *infer;
  r_watch_t watch;
} call_t;

static void end(void *user) {
  call_t *call = user;
  tacit_infer_free(call->infer);
  R_Free(call);
}

static tacit_status_t set_up(call_t *call, SEXP model, SEXP its_name, SEXP statistic, SEXP name,
                             SEXP settings, tacit_error_t *err) {
  SEXP names = Rf_getAttrib(settings, R_NamesSymbol);
  const char *first = r_text(model);
  tacit_status_t status = tacit_infer_new(&call->infer, NULL, err);
  status = status == TACIT_OK
               ? tacit_infer_set_model(call->infer, first, strlen(first), r_text(its_name), err)
               : status;
  for (R_xlen_t i = 0; i < XLENGTH(statistic) && status == TACIT_OK; i++) {
    const char *text = Rf_translateCharUTF8(STRING_ELT(statistic, i));
    status = tacit_infer_set_statistic(call->infer, text, strlen(text),
                                       Rf_translateCharUTF8(STRING_ELT(name, i)), err);
  }
  for (R_xlen_t i = 0; i < XLENGTH(settings) && status == TACIT_OK; i++) {
    status = tacit_infer_set(call->infer, Rf_translateCharUTF8(STRING_ELT(names, i)),
                             Rf_translateCharUTF8(STRING_ELT(settings, i)), err);
  }
  return status == TACIT_OK ? tacit_infer_read(call->infer, err) : status;
}

static SEXP statement(const call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = tacit_infer_statement(call->infer, &text, &err);
  return r_owned_text(status, text);
}

static SEXP privacy(const call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = tacit_infer_privacy_json(call->infer, &text, &err);
  return r_owned_text(status, text);
}

static SEXP result_of(const call_t *call, bool has_out) {
  static const char *const names[] = {"draws",     "statement", "privacy", "unwritten", "end",
                                      "statistic", "records",   "warning", "method",    NULL};
  const tacit_infer_t *infer = call->infer;
  tacit_error_t err;
  SEXP out = PROTECT(r_list(names));
  const char *texts[] = {has_out && tacit_infer_write(infer, NULL, &err) != TACIT_OK ? err.message : "",
                         tacit_infer_end(infer),
                         tacit_infer_statistic(infer),
                         tacit_infer_records(infer),
                         tacit_infer_text(infer, TACIT_INFER_TEXT_WARNING),
                         tacit_infer_text(infer, TACIT_INFER_TEXT_METHOD)};
  SET_VECTOR_ELT(out, 0,
                 r_draws(tacit_infer_draws(infer), tacit_infer_labels(infer), tacit_infer_names(infer), NULL,
                         tacit_infer_evidence(infer)));
  SET_VECTOR_ELT(out, 1, statement(call));
  SET_VECTOR_ELT(out, 2, privacy(call));
  for (R_xlen_t i = 0; i < 6; i++) {
    SET_VECTOR_ELT(out, i + 3, r_spelled(&texts[i], 1));
  }
  UNPROTECT(1);
  return out;
}

SEXP r_infer(SEXP model, SEXP its_name, SEXP statistic, SEXP name, SEXP settings, SEXP is_told) {
  tacit_error_t err;
  call_t *call = R_Calloc(1, call_t);
  SEXP pointer = PROTECT(r_hold(call, end));
  call->watch.tell = is_told;
  tacit_status_t status = set_up(call, model, its_name, statistic, name, settings, &err);
  status = status == TACIT_OK ? tacit_infer_run(call->infer, r_on_iteration, &call->watch, &err) : status;
  SEXP out =
      PROTECT(status == TACIT_OK ? result_of(call, r_has_setting(settings, "out")) : r_failure(&err, NULL));
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

/* ---- release ---- */

typedef struct publication {
  tacit_publish_t *publish;
  r_watch_t watch;
} publication_t;

static void end_publication(void *user) {
  publication_t *call = user;
  tacit_publish_free(call->publish);
  R_Free(call);
}

static tacit_status_t read_records(publication_t *call, SEXP data, tacit_error_t *err) {
  struct ArrowArrayStream stream = {0};
  const tacit_stream_watch_t watch = r_stream_watch(&call->watch);
  tacit_data_source_t source = {.watch = &watch};
  tacit_status_t status = r_open_source(data, &stream, &source, err);
  return status == TACIT_OK ? tacit_publish_read_source(call->publish, &source, err) : status;
}

static tacit_status_t release(publication_t *call, SEXP formula, SEXP settings, SEXP schema, SEXP name,
                              SEXP data, tacit_error_t *err) {
  SEXP names = Rf_getAttrib(settings, R_NamesSymbol);
  const char *text = r_text(schema);
  tacit_status_t status =
      tacit_publish_new(&call->publish, formula != R_NilValue ? r_text(formula) : NULL, err);
  for (R_xlen_t i = 0; i < XLENGTH(settings) && status == TACIT_OK; i++) {
    status = tacit_publish_set(call->publish, Rf_translateCharUTF8(STRING_ELT(names, i)),
                               Rf_translateCharUTF8(STRING_ELT(settings, i)), err);
  }
  status = status == TACIT_OK ? tacit_publish_set_schema(call->publish, text, strlen(text), r_text(name), err)
                              : status;
  status = status == TACIT_OK ? read_records(call, data, err) : status;
  return status == TACIT_OK ? tacit_publish_run(call->publish, err) : status;
}

static SEXP numbers(const double *values, size_t n) {
  SEXP out = Rf_allocVector(REALSXP, (R_xlen_t)n);
  if (n > 0) {
    memcpy(REAL(out), values, n * sizeof *values);
  }
  return out;
}

static SEXP release_of(const publication_t *call, bool has_out) {
  static const char *const names[] = {"values", "scales",   "yaml",      "unwritten",
                                      "spent",  "warnings", "unsettled", NULL};
  const tacit_publish_t *publish = call->publish;
  tacit_error_t err;
  size_t n;
  SEXP out = PROTECT(r_list(names));
  const char *texts[] = {tacit_publish_yaml(publish),
                         has_out && tacit_publish_write(publish, NULL, &err) != TACIT_OK ? err.message : "",
                         tacit_publish_spent(publish), tacit_publish_warnings(publish),
                         tacit_publish_unsettled(publish)};
  const double *values = tacit_publish_values(publish, &n), *scales = tacit_publish_scales(publish, &n);
  SET_VECTOR_ELT(out, 0, numbers(values, n));
  SET_VECTOR_ELT(out, 1, numbers(scales, n));
  for (R_xlen_t i = 0; i < 5; i++) {
    SET_VECTOR_ELT(out, i + 2, i == 0 ? r_texts(&texts[i], 1) : r_spelled(&texts[i], 1)); /* YAML stays */
  }
  UNPROTECT(1);
  return out;
}

SEXP r_release(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP data) {
  tacit_error_t err;
  publication_t *call = R_Calloc(1, publication_t);
  SEXP pointer = PROTECT(r_hold(call, end_publication));
  tacit_status_t status = release(call, formula, settings, schema, name, data, &err);
  SEXP out = PROTECT(status == TACIT_OK ? release_of(call, r_has_setting(settings, "out"))
                                        : r_failure(&err, call->watch.detail));
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}
