/*
 * A fit as one call. The fit hangs on an external pointer with a finaliser until the call ends: an R error in
 * between, as of a callback, leaks nothing and leaves no handle.
 */
#include "tacit_r.h"

#include <string.h>
#include <tacit/fit.h>
#include <tacit/infer.h>
#include <tacit/publish.h>

typedef r_fit_call_t call_t;

static void end(void *user) {
  call_t *call = user;
  tacit_fit_free(call->fit);
  R_Free(call);
}

SEXP r_hold_fit(r_fit_call_t **call) {
  *call = R_Calloc(1, call_t);
  return r_hold(*call, end);
}

/* ---- steps ---- */

tacit_status_t r_fit_set(r_fit_call_t *call, SEXP settings, tacit_error_t *err) {
  SEXP names = Rf_getAttrib(settings, R_NamesSymbol);
  tacit_status_t status = TACIT_OK;
  for (R_xlen_t i = 0; i < XLENGTH(settings) && status == TACIT_OK; i++) {
    status = tacit_fit_set(call->fit, Rf_translateCharUTF8(STRING_ELT(names, i)),
                           Rf_translateCharUTF8(STRING_ELT(settings, i)), err);
  }
  return status;
}

static tacit_status_t set_up(call_t *call, SEXP formula, SEXP settings, SEXP schema, SEXP name,
                             tacit_error_t *err) {
  const char *text = r_text(schema);
  tacit_status_t status = tacit_fit_new(&call->fit, r_text(formula), err);
  status = status == TACIT_OK ? r_fit_set(call, settings, err) : status;
  return status == TACIT_OK ? tacit_fit_set_schema(call->fit, text, strlen(text), r_text(name), err) : status;
}

tacit_status_t r_fit_read(r_fit_call_t *call, SEXP data, tacit_error_t *err) {
  struct ArrowArrayStream stream = {0};
  const tacit_stream_watch_t watch = r_stream_watch(&call->watch);
  tacit_data_source_t source = {.watch = &watch};
  tacit_status_t status = r_open_source(data, &stream, &source, err);
  return status == TACIT_OK ? tacit_fit_read_source(call->fit, &source, err) : status;
}

static SEXP plan_of(call_t *call, double n_units, tacit_error_t *err) {
  static const char *const names[] = {"method",     "n_chains", "n_iterations", "n_warmup", "n_draws",
                                      "n_releases", "ess",      "ess_wide",     "width",    "epsilon",
                                      "verdict",    "text",     "warning",      "price",    NULL};
  static const char *const verdicts[] = {"good", "poor", "hopeless"};
  tacit_fit_plan_t plan;
  if (tacit_fit_plan(call->fit, n_units, &plan, err) != TACIT_OK) {
    return r_failure(err, NULL);
  }
  const double numbers[] = {(double)plan.n_chains,
                            (double)plan.n_iterations,
                            (double)plan.n_warmup,
                            (double)plan.n_draws,
                            (double)plan.n_releases,
                            plan.ess,
                            plan.ess_wide,
                            plan.width,
                            plan.epsilon};
  const char *texts[] = {verdicts[plan.verdict], tacit_fit_text(call->fit, TACIT_FIT_TEXT_PLAN),
                         tacit_fit_text(call->fit, TACIT_FIT_TEXT_WARNING),
                         tacit_fit_text(call->fit, TACIT_FIT_TEXT_PRICE)};
  SEXP out = PROTECT(r_list(names));
  SET_VECTOR_ELT(out, 0, Rf_mkString(plan.method));
  for (R_xlen_t i = 0; i < 9; i++) {
    SET_VECTOR_ELT(out, i + 1, Rf_ScalarReal(numbers[i]));
  }
  for (R_xlen_t i = 0; i < 4; i++) {
    SET_VECTOR_ELT(out, i + 10, r_spelled(&texts[i], 1));
  }
  Rf_setAttrib(out, R_ClassSymbol, Rf_mkString("tacit_plan"));
  UNPROTECT(1);
  return out;
}

/* ---- results ---- */

static SEXP statement(const call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = tacit_fit_statement(call->fit, &text, &err);
  return r_owned_text(status, text);
}

/* What it released, to draw from again; "": nothing was kept. */
static SEXP releases(const call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = tacit_fit_releases_json(call->fit, &text, &err);
  return r_owned_text(status, text);
}

static SEXP privacy(const call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = tacit_fit_privacy_json(call->fit, &text, &err);
  return r_owned_text(status, text);
}

/* A report that cannot be written takes nothing from the draws, which were paid for. */
SEXP r_fit_result(r_fit_call_t *call, bool has_out) {
  static const char *const names[] = {"draws",   "unwritten", "statement",  "privacy", "end",
                                      "spent",   "unsettled", "is_private", "epsilon", "delta",
                                      "program", "releases",  NULL};
  const tacit_guarantee_t promised = tacit_fit_promised(call->fit);
  tacit_error_t err;
  SEXP out = PROTECT(r_list(names));
  const char *texts[] = {has_out && tacit_fit_write(call->fit, NULL, &err) != TACIT_OK ? err.message : "",
                         tacit_fit_end(call->fit), tacit_fit_text(call->fit, TACIT_FIT_TEXT_SPENT),
                         tacit_fit_text(call->fit, TACIT_FIT_TEXT_UNSETTLED)};
  SET_VECTOR_ELT(out, 0,
                 r_draws(tacit_fit_draws(call->fit), tacit_fit_labels(call->fit), tacit_fit_names(call->fit),
                         tacit_fit_published(call->fit), tacit_fit_evidence(call->fit)));
  SET_VECTOR_ELT(out, 1, r_spelled(&texts[0], 1));
  SET_VECTOR_ELT(out, 2, statement(call));
  SET_VECTOR_ELT(out, 3, privacy(call));
  for (R_xlen_t i = 0; i < 3; i++) {
    SET_VECTOR_ELT(out, i + 4, r_spelled(&texts[i + 1], 1));
  }
  SET_VECTOR_ELT(out, 7, Rf_ScalarLogical(tacit_fit_is_private(call->fit)));
  SET_VECTOR_ELT(out, 8, Rf_ScalarReal(promised.epsilon));
  SET_VECTOR_ELT(out, 9, Rf_ScalarReal(promised.delta));
  const char *program = tacit_fit_text(call->fit, TACIT_FIT_TEXT_PROGRAM);
  SET_VECTOR_ELT(out, 10, program[0] != '\0' ? r_texts(&program, 1) : R_NilValue);
  SET_VECTOR_ELT(out, 11, releases(call));
  UNPROTECT(1);
  return out;
}

bool r_has_setting(SEXP settings, const char *name) {
  SEXP names = Rf_getAttrib(settings, R_NamesSymbol);
  for (R_xlen_t i = 0; i < XLENGTH(settings); i++) {
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) {
      return true;
    }
  }
  return false;
}

/* With what was paid for before somebody stopped the run as its detail, if all releases had been made. */
static SEXP r_stopped(const call_t *call, const tacit_error_t *why) {
  SEXP text = PROTECT(releases(call)), out = r_failure(why, CHAR(STRING_ELT(text, 0)));
  UNPROTECT(1);
  return out;
}

static SEXP fit_steps(call_t *call, SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP data,
                      SEXP on_plan) {
  tacit_error_t err;
  if (set_up(call, formula, settings, schema, name, &err) != TACIT_OK) {
    return r_failure(&err, NULL);
  }
  tacit_status_t status = r_fit_read(call, data, &err);
  if (status != TACIT_OK) {
    return r_failure(&err, call->watch.detail);
  }
  SEXP plan = PROTECT(plan_of(call, 0, &err)), expression = PROTECT(Rf_lang2(on_plan, plan));
  SEXP answer = PROTECT(
      Rf_inherits(plan, "tacit_failure") ? plan : Rf_eval(expression, R_GlobalEnv)); /* TRUE, or why not */
  SEXP out = answer;
  if (TYPEOF(answer) == LGLSXP) {
    status = tacit_fit_run(call->fit, r_on_iteration, &call->watch, &err);
    out = status == TACIT_OK ? r_fit_result(call, r_has_setting(settings, "out")) : r_stopped(call, &err);
  }
  UNPROTECT(3);
  return out;
}

SEXP r_fit(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP data, SEXP on_plan, SEXP is_told) {
  call_t *call;
  SEXP pointer = PROTECT(r_hold_fit(&call));
  call->watch.tell = is_told;
  SEXP out = PROTECT(fit_steps(call, formula, settings, schema, name, data, on_plan));
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

SEXP r_plan(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP n) {
  call_t *call;
  tacit_error_t err;
  SEXP pointer = PROTECT(r_hold_fit(&call));
  SEXP out = PROTECT(set_up(call, formula, settings, schema, name, &err) == TACIT_OK
                         ? plan_of(call, Rf_asReal(n), &err)
                         : r_failure(&err, NULL));
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

/* Of both relations: epsilon, and epsilon where columns are unkind; and the page that draws them. */
SEXP r_want_width(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP n, SEXP width) {
  static const char *const names[] = {"relation", "epsilon", "epsilon_unkind", "page", NULL};
  call_t *call;
  tacit_error_t err;
  tacit_fit_want_t wants[2];
  char *html = NULL;
  SEXP pointer = PROTECT(r_hold_fit(&call)), out;
  tacit_status_t status = set_up(call, formula, settings, schema, name, &err);
  status = status == TACIT_OK ? tacit_fit_want_width(call->fit, Rf_asReal(n), Rf_asReal(width), wants, &err)
                              : status;
  status = status == TACIT_OK ? tacit_fit_plan_page(call->fit, Rf_asReal(n), &html, &err) : status;
  if (status == TACIT_OK) {
    const char *relations[] = {tacit_relation_string(wants[0].relation),
                               tacit_relation_string(wants[1].relation)};
    out = PROTECT(r_list(names));
    SET_VECTOR_ELT(out, 3, r_owned_text(status, html));
    SET_VECTOR_ELT(out, 0, r_texts(relations, 2));
    for (R_xlen_t k = 1; k < 3; k++) {
      SET_VECTOR_ELT(out, k, Rf_allocVector(REALSXP, 2));
      for (R_xlen_t i = 0; i < 2; i++) {
        REAL(VECTOR_ELT(out, k))[i] = k == 1 ? wants[i].epsilon : wants[i].epsilon_poor;
      }
    }
  } else {
    out = PROTECT(r_failure(&err, NULL));
  }
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

SEXP r_settings(SEXP of) {
  static const char *const names[] = {"name", "value", "default", "help", "group", NULL};
  size_t n, row = 0;
  char word = r_text(of)[0];
  const tacit_setting_t *settings = word == 'f'   ? tacit_fit_settings(&n)
                                    : word == 'r' ? tacit_publish_settings(&n)
                                                  : tacit_infer_settings(&n);
  for (size_t i = 0; i < n; i++) {
    row += settings[i].kind != TACIT_SETTING_PROGRAM;
  }
  SEXP out = PROTECT(r_list(names));
  for (R_xlen_t k = 0; k < 5; k++) {
    SET_VECTOR_ELT(out, k, Rf_allocVector(STRSXP, (R_xlen_t)row));
  }
  row = 0;
  for (size_t i = 0; i < n; i++) {
    const char *texts[] = {settings[i].name, settings[i].value, settings[i].fallback, settings[i].help,
                           settings[i].group};
    for (R_xlen_t k = 0; k < 5 && settings[i].kind != TACIT_SETTING_PROGRAM; k++) {
      SET_STRING_ELT(VECTOR_ELT(out, k), (R_xlen_t)row,
                     texts[k] != NULL ? Rf_mkCharCE(texts[k], CE_UTF8) : NA_STRING);
    }
    if (settings[i].kind != TACIT_SETTING_PROGRAM) {
      SET_STRING_ELT(VECTOR_ELT(out, 3), (R_xlen_t)row, STRING_ELT(r_spelled(&texts[3], 1), 0));
    }
    row += settings[i].kind != TACIT_SETTING_PROGRAM;
  }
  UNPROTECT(1);
  return out;
}
