/* What follows from what fits released: other draws, a check against records (charged), synthetic rows. */
#include "tacit_r.h"

#include <string.h>
#include <tacit/model.h>
#include <tacit/report.h>
#include <tacit/synthesize.h>

/* ---- other draws ---- */

static tacit_status_t reopen(r_fit_call_t *call, SEXP paths, bool is_disjoint, tacit_error_t *err) {
  R_xlen_t n = XLENGTH(paths);
  const char **names = (const char **)(void *)R_alloc((size_t)n + 1, sizeof *names);
  for (R_xlen_t i = 0; i < n; i++) {
    names[i] = Rf_translateCharUTF8(STRING_ELT(paths, i));
  }
  return n == 1 ? tacit_fit_reopen(&call->fit, names[0], err)
                : tacit_fit_combine(&call->fit, names, (size_t)n, is_disjoint, err);
}

SEXP r_refit(SEXP paths, SEXP is_disjoint, SEXP between, SEXP shown, SEXP settings, SEXP is_told) {
  r_fit_call_t *call;
  tacit_error_t err;
  SEXP pointer = PROTECT(r_hold_fit(&call));
  call->watch.tell = is_told;
  tacit_status_t status = reopen(call, paths, Rf_asLogical(is_disjoint) == TRUE, &err);
  status = status == TACIT_OK && Rf_asReal(between) > 0
               ? tacit_fit_set_exchangeable(call->fit, Rf_asReal(between), &err)
               : status;
  status = status == TACIT_OK && shown != R_NilValue ? tacit_fit_show_check(call->fit, r_text(shown), &err)
                                                     : status;
  status = status == TACIT_OK ? r_fit_set(call, settings, &err) : status;
  status = status == TACIT_OK ? tacit_fit_redraw(call->fit, r_on_iteration, &call->watch, &err) : status;
  SEXP out = PROTECT(status == TACIT_OK ? r_fit_result(call, r_has_setting(settings, "out"))
                                        : r_failure(&err, NULL));
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

/* ---- a check ---- */

static SEXP bins_of(const tacit_fit_check_bin_t *bins, size_t n) {
  static const char *const names[] = {"low", "high", "count", "predicted", "residual", "sd", NULL};
  SEXP out = PROTECT(r_list(names));
  for (R_xlen_t k = 0; k < 6; k++) {
    SET_VECTOR_ELT(out, k, Rf_allocVector(REALSXP, (R_xlen_t)n));
  }
  for (size_t b = 0; b < n; b++) {
    const double of[] = {bins[b].low,       bins[b].high,     bins[b].count,
                         bins[b].predicted, bins[b].residual, bins[b].sd};
    for (R_xlen_t k = 0; k < 6; k++) {
      REAL(VECTOR_ELT(out, k))[b] = of[k];
    }
  }
  UNPROTECT(1);
  return out;
}

static SEXP check_of(const r_fit_call_t *call, const tacit_fit_check_t *check) {
  static const char *const names[] = {"calibration", "by_term",   "misfit_z", "by_misfit_z", "excess",
                                      "excess_sd",   "epsilon",   "delta",    "private",     "text",
                                      "json",        "unsettled", "shape",    "shape_z",     "spread_z",
                                      "location_z",  "levels",    NULL};
  tacit_error_t err;
  char *text = NULL, *json = NULL;
  const tacit_guarantee_t promised = tacit_fit_promised(call->fit);
  const double numbers[] = {check->misfit,    check->by_misfit, check->excess,
                            check->excess_sd, promised.epsilon, promised.delta};
  const char *unsettled = tacit_fit_text(call->fit, TACIT_FIT_TEXT_UNSETTLED);
  SEXP out = PROTECT(r_list(names));
  SET_VECTOR_ELT(out, 0, bins_of(check->bins, check->n_bins));
  SET_VECTOR_ELT(out, 1, check->n_by > 0 ? bins_of(check->by, check->n_by) : R_NilValue);
  for (R_xlen_t i = 0; i < 6; i++) {
    SET_VECTOR_ELT(out, i + 2, Rf_ScalarReal(numbers[i]));
  }
  SET_VECTOR_ELT(out, 8, Rf_ScalarLogical(tacit_fit_is_private(call->fit)));
  tacit_status_t status = tacit_fit_check_text(call->fit, check, &text, &err);
  SET_VECTOR_ELT(out, 9, r_owned_text(status, text));
  status = tacit_fit_check_json(call->fit, check, &json, &err);
  SET_VECTOR_ELT(out, 10, r_owned_text(status, json));
  SET_VECTOR_ELT(out, 11, r_spelled(&unsettled, 1));
  const double of_shape[] = {check->shape_misfit, check->spread_z, check->location_z};
  SET_VECTOR_ELT(out, 12, check->n_shape > 0 ? bins_of(check->shape, check->n_shape) : R_NilValue);
  for (R_xlen_t i = 0; i < 3; i++) {
    SET_VECTOR_ELT(out, i + 13, check->n_shape > 0 ? Rf_ScalarReal(of_shape[i]) : R_NilValue);
  }
  SET_VECTOR_ELT(out, 16,
                 check->n_by > 0 && check->by_levels != NULL ? r_spelled(check->by_levels, check->n_by)
                                                             : R_NilValue);
  UNPROTECT(1);
  return out;
}

SEXP r_check(SEXP path, SEXP by, SEXP settings, SEXP data) {
  r_fit_call_t *call;
  tacit_error_t err;
  tacit_fit_check_t check;
  SEXP pointer = PROTECT(r_hold_fit(&call));
  tacit_status_t status = tacit_fit_begin_check(&call->fit, r_text(path), NULL, &err);
  status = status == TACIT_OK ? r_fit_set(call, settings, &err) : status;
  status = status == TACIT_OK ? r_fit_read(call, data, &err) : status;
  status = status == TACIT_OK ? tacit_fit_check(call->fit, by != R_NilValue ? r_text(by) : NULL, &check, &err)
                              : status;
  SEXP out = PROTECT(status == TACIT_OK ? check_of(call, &check) : r_failure(&err, call->watch.detail));
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

/* ---- synthetic rows ---- */

SEXP r_synthesize(SEXP path, SEXP rows, SEXP sets, SEXP seed) {
  static const char *const names[] = {"csv", "comparison", NULL};
  const tacit_synthesis_settings_t settings = {.n_rows = r_count(Rf_asReal(rows)),
                                               .n_sets = r_count(Rf_asReal(sets)),
                                               .seed = r_count(Rf_asReal(seed))};
  char *csv, *json;
  tacit_error_t err;
  tacit_status_t status = tacit_synthesize(r_text(path), &settings, &csv, &json, NULL, &err);
  if (status != TACIT_OK) {
    return r_failure(&err, NULL);
  }
  SEXP out = PROTECT(r_list(names));
  SET_VECTOR_ELT(out, 0, r_owned_text(status, csv));
  SET_VECTOR_ELT(out, 1, r_owned_text(status, json));
  UNPROTECT(1);
  return out;
}

/* ---- texts that somebody asks for ---- */

/* The page about a directory, or a ledger (the other is NULL), as "text", "html" or "json". */
SEXP r_statement(SEXP path, SEXP ledger, SEXP kind) {
  tacit_page_kind_t as = r_text(kind)[0] == 'h'   ? TACIT_PAGE_HTML
                         : r_text(kind)[0] == 'j' ? TACIT_PAGE_JSON
                                                  : TACIT_PAGE_TEXT;
  char *text = NULL;
  tacit_error_t err;
  tacit_status_t status = ledger != R_NilValue
                              ? tacit_report_ledger_page(r_text(ledger), as, &text, &err)
                              : tacit_report_statement_page(r_text(path), as == TACIT_PAGE_HTML, &text, &err);
  return status == TACIT_OK ? r_owned_text(status, text) : r_failure(&err, NULL);
}

/* The program that a formula stands for. */
SEXP r_model(SEXP formula, SEXP family, SEXP schema, SEXP name) {
  const char *yaml = r_text(schema);
  char *text = NULL;
  tacit_schema_t *parsed = NULL;
  tacit_error_t err;
  tacit_status_t status = tacit_schema_parse(&parsed, yaml, strlen(yaml), r_text(name), &err);
  status = status == TACIT_OK ? tacit_program_of_formula(&text, r_text(formula), r_text(family), parsed, &err)
                              : status;
  tacit_schema_free(parsed);
  return status == TACIT_OK ? r_owned_text(status, text) : r_failure(&err, NULL);
}
