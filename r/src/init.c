/* Registration, and small things that the others use. */
#include "tacit_r.h"

#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>
#include <string.h>

SEXP r_list(const char *const *names) {
  R_xlen_t n = 0;
  while (names[n] != NULL) {
    n++;
  }
  SEXP list = PROTECT(Rf_allocVector(VECSXP, n)), labels = PROTECT(Rf_allocVector(STRSXP, n));
  for (R_xlen_t i = 0; i < n; i++) {
    SET_STRING_ELT(labels, i, Rf_mkChar(names[i]));
  }
  Rf_setAttrib(list, R_NamesSymbol, labels);
  UNPROTECT(2);
  return list;
}

SEXP r_texts(const char *const *texts, size_t n) {
  SEXP out = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)n));
  for (size_t i = 0; i < n; i++) {
    SET_STRING_ELT(out, (R_xlen_t)i, Rf_mkCharCE(texts[i], CE_UTF8));
  }
  UNPROTECT(1);
  return out;
}

SEXP r_spelled(const char *const *texts, size_t n) {
  size_t n_table;
  const tacit_setting_t *table = tacit_fit_settings(&n_table);
  SEXP out = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)n));
  for (size_t i = 0; i < n; i++) {
    char *spelled = NULL;
    bool is_spelled = tacit_spell(texts[i], TACIT_SPELLING_R, table, n_table, &spelled, NULL) == TACIT_OK;
    SET_STRING_ELT(out, (R_xlen_t)i, Rf_mkCharCE(is_spelled ? spelled : texts[i], CE_UTF8));
    tacit_free(spelled);
  }
  UNPROTECT(1);
  return out;
}

const char *r_text(SEXP text) {
  return TYPEOF(text) == STRSXP && XLENGTH(text) > 0 && STRING_ELT(text, 0) != NA_STRING
             ? Rf_translateCharUTF8(STRING_ELT(text, 0))
             : "";
}

SEXP r_failure(const tacit_error_t *err, const char *detail) {
  static const char *const names[] = {"status", "field", "message", "detail", NULL};
  const char *message = err->message;
  SEXP out = PROTECT(r_list(names));
  SET_VECTOR_ELT(out, 0, Rf_ScalarInteger((int)err->status));
  SET_VECTOR_ELT(out, 1, Rf_mkString(err->field));
  SET_VECTOR_ELT(out, 2, r_spelled(&message, 1));
  SET_VECTOR_ELT(out, 3, Rf_mkString(detail != NULL ? detail : ""));
  Rf_setAttrib(out, R_ClassSymbol, Rf_mkString("tacit_failure"));
  UNPROTECT(1);
  return out;
}

/* By way of void (*)(void), which compilers take for any function. */
#define ROUTINE(name) (DL_FUNC)(void (*)(void))(name)

static const R_CallMethodDef routines[] = {{"fit", ROUTINE(r_fit), 7},
                                           {"plan", ROUTINE(r_plan), 5},
                                           {"want_width", ROUTINE(r_want_width), 6},
                                           {"infer", ROUTINE(r_infer), 6},
                                           {"release", ROUTINE(r_release), 5},
                                           {"settings", ROUTINE(r_settings), 1},
                                           {"account", ROUTINE(r_account), 6},
                                           {"read", ROUTINE(r_read), 1},
                                           {"refit", ROUTINE(r_refit), 6},
                                           {"check", ROUTINE(r_check), 4},
                                           {"synthesize", ROUTINE(r_synthesize), 4},
                                           {"predict", ROUTINE(r_predict), 5},
                                           {"effects", ROUTINE(r_effects), 4},
                                           {"statement", ROUTINE(r_statement), 3},
                                           {"schema_draft", ROUTINE(r_schema_draft), 1},
                                           {"schema_check", ROUTINE(r_schema_check), 3},
                                           {"families", ROUTINE(r_families), 0},
                                           {"family_meant", ROUTINE(r_family_meant), 1},
                                           {"model", ROUTINE(r_model), 4},
                                           {"contrast", ROUTINE(r_contrast), 2},
                                           {"columns", ROUTINE(r_columns), 1},
                                           {"ledger_create", ROUTINE(r_ledger_create), 7},
                                           {"ledger", ROUTINE(r_ledger), 2},
                                           {NULL, NULL, 0}};

attribute_visible void R_init_tacit(DllInfo *dll) {
  R_registerRoutines(dll, NULL, routines, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
