/*
 * A fit as one call. The fit hangs on an external pointer with a finaliser until the call ends: an R error in between, as of a callback,
 * leaks nothing and leaves no handle.
 */
#include "tacit_r.h"

#include <string.h>
#include <tacit/fit.h>
#include <time.h>

typedef struct call {
  tacit_fit_t *fit;
  SEXP tell; /* NULL, or a function of (iteration, n_iterations) */
  double next;
  bool is_stopped;
  char detail[512];
} call_t;

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void finalise(SEXP pointer) {
  call_t *call = R_ExternalPtrAddr(pointer);
  if (call != NULL) {
    tacit_fit_free(call->fit);
    R_Free(call);
    R_ClearExternalPtr(pointer);
  }
}

/* ---- callbacks: R may jump, so it is called where jumps end ---- */

static void look(void *user) {
  (void)user;
  R_CheckUserInterrupt();
}

static bool is_due(call_t *call, double seconds) {
  double now = seconds_now();
  if (now < call->next) {
    return false;
  }
  call->next = now + seconds;
  return true;
}

static bool go_on(void *user) {
  call_t *call = user;
  if (is_due(call, 0.05) && !R_ToplevelExec(look, NULL)) {
    call->is_stopped = true;
  }
  return !call->is_stopped;
}

static void said(void *user, const char *text) {
  call_t *call = user;
  snprintf(call->detail, sizeof call->detail, "%s", text);
}

typedef struct telling {
  SEXP function;
  const tacit_progress_t *progress;
} telling_t;

static void tell(void *user) {
  telling_t *telling = user;
  R_CheckUserInterrupt();
  if (telling->function != R_NilValue) {
    SEXP n = PROTECT(Rf_ScalarReal((double)telling->progress->n_iterations)), i = PROTECT(Rf_ScalarReal((double)telling->progress->iteration));
    SEXP expression = PROTECT(Rf_lang3(telling->function, i, n));
    Rf_eval(expression, R_GlobalEnv);
    UNPROTECT(3);
  }
}

static bool on_iteration(const tacit_progress_t *progress, void *user) {
  call_t *call = user;
  telling_t telling = {call->tell, progress};
  if (is_due(call, 0.1) && !R_ToplevelExec(tell, &telling)) {
    call->is_stopped = true;
  }
  return !call->is_stopped;
}

/* ---- steps ---- */

static tacit_status_t set_up(call_t *call, SEXP formula, SEXP settings, SEXP schema, SEXP name, tacit_error_t *err) {
  SEXP names = Rf_getAttrib(settings, R_NamesSymbol);
  const char *text = r_text(schema);
  tacit_status_t status = tacit_fit_new(&call->fit, r_text(formula), err);
  for (R_xlen_t i = 0; i < XLENGTH(settings) && status == TACIT_OK; i++) {
    status = tacit_fit_set(call->fit, Rf_translateCharUTF8(STRING_ELT(names, i)), Rf_translateCharUTF8(STRING_ELT(settings, i)), err);
  }
  return status == TACIT_OK ? tacit_fit_set_schema(call->fit, text, strlen(text), r_text(name), err) : status;
}

/* The stream of a named list, or of an external pointer to one. */
static tacit_status_t open_stream(SEXP data, struct ArrowArrayStream *stream, tacit_error_t *err) {
  const char *wrong = "data: expected a data frame, a path, or what nanoarrow makes a stream of";
  if (TYPEOF(data) == VECSXP) {
    wrong = r_stream_of(data, stream);
  } else if (TYPEOF(data) == EXTPTRSXP && R_ExternalPtrAddr(data) != NULL) {
    struct ArrowArrayStream *held = R_ExternalPtrAddr(data);
    *stream = *held; /* moved: its own finaliser sees a released one */
    held->release = NULL;
    wrong = NULL;
  }
  if (wrong == NULL) {
    return TACIT_OK;
  }
  *err = (tacit_error_t){.status = TACIT_ERR_ARGUMENT, .field = "data"};
  snprintf(err->message, sizeof err->message, "%s", wrong);
  return err->status;
}

static tacit_status_t read_stream(call_t *call, SEXP data, tacit_error_t *err) {
  const tacit_schema_t *schema;
  const char *const *columns;
  size_t n_columns;
  struct ArrowArrayStream stream = {0};
  const tacit_stream_watch_t watch = {.go_on = go_on, .said = said, .user = call};
  tacit_table_t *table = NULL;
  tacit_table_notes_t notes;
  tacit_status_t status = open_stream(data, &stream, err);
  if (status == TACIT_OK) {
    status = tacit_fit_columns(call->fit, &schema, &columns, &n_columns, err);
    if (status != TACIT_OK) {
      stream.release(&stream);
      return status;
    }
    status = tacit_table_read_stream(&table, &stream, schema, columns, n_columns, &watch, &notes, err);
  }
  return status == TACIT_OK ? tacit_fit_read_table(call->fit, table, &notes, err) : status;
}

static SEXP plan_of(call_t *call, double n_units, tacit_error_t *err) {
  static const char *const names[] = {"method", "n_chains", "n_iterations", "n_warmup", "n_draws", "n_releases", "ess", "ess_wide", "width",
                                      "epsilon", "verdict", "text", "warning", "price", NULL};
  static const char *const verdicts[] = {"good", "poor", "hopeless"};
  tacit_fit_plan_t plan;
  if (tacit_fit_plan(call->fit, n_units, &plan, err) != TACIT_OK) {
    return r_failure(err, NULL);
  }
  const double numbers[] = {(double)plan.n_chains, (double)plan.n_iterations, (double)plan.n_warmup, (double)plan.n_draws,
                            (double)plan.n_releases, plan.ess, plan.ess_wide, plan.width, plan.epsilon};
  const char *texts[] = {verdicts[plan.verdict], tacit_fit_text(call->fit, TACIT_FIT_TEXT_PLAN),
                         tacit_fit_text(call->fit, TACIT_FIT_TEXT_WARNING), tacit_fit_text(call->fit, TACIT_FIT_TEXT_PRICE)};
  SEXP out = PROTECT(r_list(names));
  SET_VECTOR_ELT(out, 0, Rf_mkString(plan.method));
  for (R_xlen_t i = 0; i < 9; i++) {
    SET_VECTOR_ELT(out, i + 1, Rf_ScalarReal(numbers[i]));
  }
  for (R_xlen_t i = 0; i < 4; i++) {
    SET_VECTOR_ELT(out, i + 10, r_texts(&texts[i], 1));
  }
  Rf_setAttrib(out, R_ClassSymbol, Rf_mkString("tacit_plan"));
  UNPROTECT(1);
  return out;
}

/* ---- results ---- */

static SEXP owned_text(const call_t *call, tacit_status_t (*make)(const tacit_fit_t *, char **, tacit_error_t *)) {
  tacit_error_t err;
  char *text = NULL;
  if (make(call->fit, &text, &err) != TACIT_OK) {
    return Rf_mkString("");
  }
  SEXP out = PROTECT(r_texts((const char *const *)&text, 1));
  tacit_free(text);
  UNPROTECT(1);
  return out;
}

/* A report that cannot be written takes nothing from the draws, which were paid for. */
static SEXP result_of(call_t *call, bool has_out) {
  static const char *const names[] = {"draws", "unwritten", "statement", "privacy", "end", "spent", "unsettled", "is_private", NULL};
  tacit_error_t err;
  SEXP out = PROTECT(r_list(names));
  const char *texts[] = {has_out && tacit_fit_write(call->fit, NULL, &err) != TACIT_OK ? err.message : "", tacit_fit_end(call->fit),
                         tacit_fit_text(call->fit, TACIT_FIT_TEXT_SPENT), tacit_fit_text(call->fit, TACIT_FIT_TEXT_UNSETTLED)};
  SET_VECTOR_ELT(out, 0, r_draws(tacit_fit_draws(call->fit), tacit_fit_labels(call->fit), tacit_fit_names(call->fit),
                                 tacit_fit_published(call->fit), tacit_fit_evidence(call->fit)));
  SET_VECTOR_ELT(out, 1, r_texts(&texts[0], 1));
  SET_VECTOR_ELT(out, 2, owned_text(call, tacit_fit_statement));
  SET_VECTOR_ELT(out, 3, owned_text(call, tacit_fit_privacy_json));
  for (R_xlen_t i = 0; i < 3; i++) {
    SET_VECTOR_ELT(out, i + 4, r_texts(&texts[i + 1], 1));
  }
  SET_VECTOR_ELT(out, 7, Rf_ScalarLogical(tacit_fit_is_private(call->fit)));
  UNPROTECT(1);
  return out;
}

static bool has_setting(SEXP settings, const char *name) {
  SEXP names = Rf_getAttrib(settings, R_NamesSymbol);
  for (R_xlen_t i = 0; i < XLENGTH(settings); i++) {
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) {
      return true;
    }
  }
  return false;
}

static SEXP fit_steps(call_t *call, SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP data, SEXP on_plan) {
  tacit_error_t err;
  if (set_up(call, formula, settings, schema, name, &err) != TACIT_OK) {
    return r_failure(&err, NULL);
  }
  tacit_status_t status = TYPEOF(data) == STRSXP ? tacit_fit_read(call->fit, r_text(data), &err) : read_stream(call, data, &err);
  if (status != TACIT_OK) {
    return r_failure(&err, call->detail);
  }
  SEXP plan = PROTECT(plan_of(call, 0, &err)), expression = PROTECT(Rf_lang2(on_plan, plan));
  SEXP answer = PROTECT(Rf_inherits(plan, "tacit_failure") ? plan : Rf_eval(expression, R_GlobalEnv)); /* TRUE, or why not */
  SEXP out = answer;
  if (TYPEOF(answer) == LGLSXP) {
    status = tacit_fit_run(call->fit, on_iteration, call, &err);
    out = status == TACIT_OK ? result_of(call, has_setting(settings, "out")) : r_failure(&err, NULL);
  }
  UNPROTECT(3);
  return out;
}

static SEXP hold(call_t **call) {
  *call = R_Calloc(1, call_t);
  SEXP pointer = PROTECT(R_MakeExternalPtr(*call, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, finalise, TRUE);
  UNPROTECT(1);
  return pointer;
}

SEXP r_fit(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP data, SEXP on_plan, SEXP is_told) {
  call_t *call;
  SEXP pointer = PROTECT(hold(&call));
  call->tell = is_told;
  SEXP out = PROTECT(fit_steps(call, formula, settings, schema, name, data, on_plan));
  finalise(pointer);
  UNPROTECT(2);
  return out;
}

SEXP r_plan(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP n) {
  call_t *call;
  tacit_error_t err;
  SEXP pointer = PROTECT(hold(&call));
  SEXP out = PROTECT(set_up(call, formula, settings, schema, name, &err) == TACIT_OK ? plan_of(call, Rf_asReal(n), &err) : r_failure(&err, NULL));
  finalise(pointer);
  UNPROTECT(2);
  return out;
}

SEXP r_settings(void) {
  static const char *const names[] = {"name", "value", "default", "help", "group", NULL};
  size_t n, row = 0;
  const tacit_setting_t *settings = tacit_fit_settings(&n);
  for (size_t i = 0; i < n; i++) {
    row += settings[i].kind != TACIT_SETTING_PROGRAM;
  }
  SEXP out = PROTECT(r_list(names));
  for (R_xlen_t k = 0; k < 5; k++) {
    SET_VECTOR_ELT(out, k, Rf_allocVector(STRSXP, (R_xlen_t)row));
  }
  row = 0;
  for (size_t i = 0; i < n; i++) {
    const char *texts[] = {settings[i].name, settings[i].value, settings[i].fallback, settings[i].help, settings[i].group};
    for (R_xlen_t k = 0; k < 5 && settings[i].kind != TACIT_SETTING_PROGRAM; k++) {
      SET_STRING_ELT(VECTOR_ELT(out, k), (R_xlen_t)row, texts[k] != NULL ? Rf_mkCharCE(texts[k], CE_UTF8) : NA_STRING);
    }
    row += settings[i].kind != TACIT_SETTING_PROGRAM;
  }
  UNPROTECT(1);
  return out;
}
