/* What follows from draws: predictions for rows that an analyst brings, functions of parameters. Nothing here
 * has a way to a record. */
#include "tacit_r.h"

#include <stdio.h>
#include <string.h>
#include <tacit/predict.h>

/* A fit as R holds it: list(draws, formula, family, schema, program or NULL), draws of shape (n_draws,
 * n_chains, n_reported). */
typedef struct held {
  tacit_report_read_t fit;
  tacit_schema_t *schema;
  tacit_predictor_t *predictor;
  tacit_table_t *table;
} held_t;

static void let_go(void *user) {
  held_t *held = user;
  tacit_predictor_free(held->predictor);
  tacit_table_free(held->table);
  tacit_schema_free(held->schema);
  R_Free(held);
}

/* Draws by chain, draw and quantity, as the library has them; R's memory, free when .Call returns. False:
 * they are none. */
static bool hold(held_t *held, SEXP fit) {
  SEXP draws = VECTOR_ELT(fit, 0), dims = Rf_getAttrib(draws, R_DimSymbol),
       names = Rf_getAttrib(draws, R_DimNamesSymbol);
  if (TYPEOF(draws) != REALSXP || XLENGTH(dims) != 3 || XLENGTH(names) != 3 ||
      TYPEOF(VECTOR_ELT(names, 2)) != STRSXP) {
    return false;
  }
  size_t n = (size_t)INTEGER(dims)[0], n_chains = (size_t)INTEGER(dims)[1], n_of = (size_t)INTEGER(dims)[2];
  double *values = (double *)(void *)R_alloc(n * n_chains * n_of + 1, sizeof *values);
  const char **labels = (const char **)(void *)R_alloc(2 * n_of + 1, sizeof *labels), **stan = labels + n_of;
  SEXP given = XLENGTH(fit) > 5
                   ? VECTOR_ELT(fit, 5)
                   : R_NilValue; /* names as in Stan CSV; of a fit of an earlier build there are none */
  bool has_names = TYPEOF(given) == STRSXP && (size_t)XLENGTH(given) == n_of;
  for (size_t j = 0; j < n_of; j++) {
    labels[j] = Rf_translateCharUTF8(STRING_ELT(VECTOR_ELT(names, 2), (R_xlen_t)j));
    stan[j] = has_names ? Rf_translateCharUTF8(STRING_ELT(given, (R_xlen_t)j)) : labels[j];
    for (size_t i = 0; i < n * n_chains; i++) {
      values[i * n_of + j] = REAL(draws)[i + n * n_chains * j];
    }
  }
  held->fit.draws =
      (tacit_draws_t){.n_chains = n_chains, .n_draws = n, .n_saved = n, .n_reported = n_of, .values = values};
  held->fit.labels = (char **)(uintptr_t)labels;
  held->fit.names = (char **)(uintptr_t)stan;
  held->fit.formula = (char *)(uintptr_t)r_text(VECTOR_ELT(fit, 1));
  held->fit.family = (char *)(uintptr_t)r_text(VECTOR_ELT(fit, 2));
  held->fit.program = XLENGTH(fit) > 4 && VECTOR_ELT(fit, 4) != R_NilValue
                          ? (char *)(uintptr_t)r_text(VECTOR_ELT(fit, 4))
                          : NULL;
  return n > 0 && n_chains > 0 && n_of > 0;
}

static SEXP hold_call(held_t **held) {
  *held = R_Calloc(1, held_t);
  return r_hold(*held, let_go);
}

/* ---- predictions ---- */

typedef struct target {
  double *out;
  size_t n_draws, n_rows, n_outcomes;
} target_t;

/* Shape (n_draws, n_rows, n_outcomes) in R's order. */
static tacit_status_t take_row(void *user, size_t row, double *draws, tacit_error_t *err) {
  target_t *to = user;
  (void)err;
  for (size_t c = 0; c < to->n_outcomes; c++) {
    memcpy(to->out + (c * to->n_rows + row) * to->n_draws, draws + c * to->n_draws,
           to->n_draws * sizeof *draws);
  }
  return TACIT_OK;
}

static tacit_status_t open_predictor(held_t *held, SEXP schema, double known_sd, tacit_error_t *err) {
  const char *text = r_text(schema);
  tacit_status_t status = tacit_schema_parse(&held->schema, text, strlen(text), "schema", err);
  return status == TACIT_OK ? tacit_predictor_of(&held->predictor, &held->fit, held->schema, known_sd, err)
                            : status;
}

/* Values are held within the fit's schema; where its rows belong to persons, which new rows do not, they are
 * refused instead. */
static tacit_status_t read_rows(held_t *held, SEXP schema, double known_sd, SEXP data,
                                tacit_table_notes_t *notes, tacit_error_t *err) {
  struct ArrowArrayStream stream = {0};
  tacit_data_source_t source = {0};
  size_t n;
  tacit_status_t status = open_predictor(held, schema, known_sd, err);
  status = status == TACIT_OK ? r_open_source(data, &stream, &source, err) : status;
  if (status != TACIT_OK) {
    return status;
  }
  const char *const *names = tacit_predictor_columns(held->predictor, &n);
  const tacit_schema_t *rules =
      tacit_schema_unit(held->schema) == NULL ? held->schema : tacit_predictor_schema(held->predictor);
  return tacit_table_read_stream(&held->table, &stream, rules, names, n, NULL, notes, err);
}

/* What read_rows() read. */
static tacit_new_rows_t rows_of(const held_t *held) {
  size_t n;
  const char *const *names = tacit_predictor_columns(held->predictor, &n);
  const double **columns = (const double **)(void *)R_alloc(n + 1, sizeof *columns);
  for (size_t j = 0; j < n; j++) {
    columns[j] = tacit_table_column(held->table, names[j]);
  }
  return (tacit_new_rows_t){columns, tacit_table_n_rows(held->table)};
}

static SEXP predictions(const held_t *held, tacit_prediction_kind_t kind, uint64_t seed, double n_moved) {
  static const char *const parts[] = {"draws", "outcomes", "n_moved", "note", NULL};
  const tacit_predictor_t *p = held->predictor;
  const tacit_new_rows_t rows = rows_of(held);
  tacit_error_t err;
  target_t to = {.n_draws = tacit_predictor_n_draws(p),
                 .n_rows = rows.n,
                 .n_outcomes = tacit_predictor_n_outcomes(p, kind)};
  SEXP out = PROTECT(r_list(parts)),
       draws = Rf_alloc3DArray(REALSXP, (int)to.n_draws, (int)to.n_rows, (int)to.n_outcomes);
  SET_VECTOR_ELT(out, 0, draws);
  to.out = REAL(draws);
  tacit_status_t status = tacit_predict(p, &rows, kind, seed, take_row, &to, &err);
  SEXP outcomes = Rf_allocVector(STRSXP, (R_xlen_t)to.n_outcomes);
  SET_VECTOR_ELT(out, 1, outcomes);
  for (size_t c = 0; c < to.n_outcomes; c++) {
    SET_STRING_ELT(outcomes, (R_xlen_t)c, Rf_mkCharCE(tacit_predictor_outcome(p, kind, c), CE_UTF8));
  }
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(n_moved));
  const char *note = tacit_predictor_note(p, kind);
  SET_VECTOR_ELT(out, 3, r_texts(&note, 1));
  UNPROTECT(1);
  return status == TACIT_OK ? out : r_failure(&err, NULL);
}

SEXP r_predict(SEXP fit, SEXP known_sd, SEXP data, SEXP kind, SEXP seed) {
  held_t *held;
  tacit_error_t err;
  tacit_table_notes_t notes;
  SEXP pointer = PROTECT(hold_call(&held)), out;
  if (!hold(held, fit)) {
    out = r_wrong_argument("object", "the draws are not those of a fit");
  } else if (read_rows(held, VECTOR_ELT(fit, 3), Rf_asReal(known_sd), data, &notes, &err) != TACIT_OK) {
    out = r_failure(&err, NULL);
  } else {
    out = predictions(held, (tacit_prediction_kind_t)Rf_asInteger(kind), r_count(Rf_asReal(seed)),
                      (double)notes.n_clamped);
  }
  PROTECT(out);
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

/* ---- average effects ---- */

enum { MAX_EFFECTS = 4096 };

typedef struct effects {
  SEXP labels, draws; /* protected lists of MAX_EFFECTS */
  R_xlen_t n;
  size_t n_draws;
} effects_t;

static tacit_status_t take_effect(void *user, const char *label, double *draws, tacit_error_t *err) {
  effects_t *effects = user;
  if (effects->n == MAX_EFFECTS) {
    *err = (tacit_error_t){.status = TACIT_ERR_ARGUMENT, .field = "effects"};
    snprintf(err->message, sizeof err->message, "more than %d effects: ask for them in parts",
             (int)MAX_EFFECTS);
    return err->status;
  }
  SEXP of = Rf_allocVector(REALSXP, (R_xlen_t)effects->n_draws);
  SET_VECTOR_ELT(effects->draws, effects->n, of);
  memcpy(REAL(of), draws, effects->n_draws * sizeof *draws);
  SET_STRING_ELT(effects->labels, effects->n++, Rf_mkCharCE(label, CE_UTF8));
  return TACIT_OK;
}

static SEXP average_effects(const held_t *held, SEXP columns, double n_moved) {
  static const char *const parts[] = {"labels", "draws", "n_moved", NULL};
  const tacit_new_rows_t rows = rows_of(held);
  tacit_error_t err;
  tacit_status_t status = TACIT_OK;
  SEXP out = PROTECT(r_list(parts));
  effects_t effects = {.labels = PROTECT(Rf_allocVector(STRSXP, MAX_EFFECTS)),
                       .draws = PROTECT(Rf_allocVector(VECSXP, MAX_EFFECTS)),
                       .n_draws = tacit_predictor_n_draws(held->predictor)};
  for (R_xlen_t i = 0; i < XLENGTH(columns) && status == TACIT_OK; i++) {
    status = tacit_average_effects(held->predictor, &rows, Rf_translateCharUTF8(STRING_ELT(columns, i)),
                                   take_effect, &effects, &err);
  }
  SET_VECTOR_ELT(out, 0, Rf_lengthgets(effects.labels, effects.n));
  SET_VECTOR_ELT(out, 1, Rf_lengthgets(effects.draws, effects.n));
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(n_moved));
  UNPROTECT(3);
  return status == TACIT_OK ? out : r_failure(&err, NULL);
}

SEXP r_effects(SEXP fit, SEXP known_sd, SEXP data, SEXP columns) {
  held_t *held;
  tacit_error_t err;
  tacit_table_notes_t notes;
  SEXP pointer = PROTECT(hold_call(&held)), out;
  if (!hold(held, fit)) {
    out = r_wrong_argument("object", "the draws are not those of a fit");
  } else if (read_rows(held, VECTOR_ELT(fit, 3), Rf_asReal(known_sd), data, &notes, &err) != TACIT_OK) {
    out = r_failure(&err, NULL);
  } else {
    out = average_effects(held, columns, (double)notes.n_clamped);
  }
  PROTECT(out);
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

/* ---- columns that predictions look at ---- */

static SEXP column_of(const tacit_column_schema_t *schema) {
  static const char *const names[] = {"name", "type", "lower", "upper", "levels", NULL};
  SEXP out = PROTECT(r_list(names));
  SET_VECTOR_ELT(out, 0, r_texts(&schema->name, 1));
  SET_VECTOR_ELT(out, 1, Rf_ScalarInteger((int)schema->type));
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(schema->lower));
  SET_VECTOR_ELT(out, 3, Rf_ScalarReal(schema->upper));
  SET_VECTOR_ELT(out, 4, r_texts(schema->levels, schema->n_levels));
  UNPROTECT(1);
  return out;
}

static SEXP columns_of(const tacit_predictor_t *predictor) {
  size_t n;
  const char *const *names = tacit_predictor_columns(predictor, &n);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)n));
  for (size_t i = 0; i < n; i++) {
    SET_VECTOR_ELT(out, (R_xlen_t)i,
                   column_of(tacit_schema_find(tacit_predictor_schema(predictor), names[i])));
  }
  UNPROTECT(1);
  return out;
}

SEXP r_columns(SEXP fit) {
  held_t *held;
  tacit_error_t err;
  SEXP pointer = PROTECT(hold_call(&held)), out;
  if (!hold(held, fit)) {
    out = r_wrong_argument("object", "the draws are not those of a fit");
  } else {
    out = open_predictor(held, VECTOR_ELT(fit, 3), 0, &err) == TACIT_OK ? columns_of(held->predictor)
                                                                        : r_failure(&err, NULL);
  }
  PROTECT(out);
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}

/* ---- functions of parameters ---- */

SEXP r_contrast(SEXP fit, SEXP expression) {
  held_t *held;
  tacit_error_t err;
  SEXP pointer = PROTECT(hold_call(&held)), out;
  if (!hold(held, fit)) {
    out = PROTECT(r_wrong_argument("object", "the draws are not those of a fit"));
  } else {
    size_t n = held->fit.draws.n_chains * held->fit.draws.n_draws;
    out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)n));
    if (tacit_contrast(&held->fit, r_text(expression), REAL(out), &err) != TACIT_OK) {
      UNPROTECT(1);
      out = PROTECT(r_failure(&err, NULL));
    }
  }
  r_let_go(pointer);
  UNPROTECT(2);
  return out;
}
