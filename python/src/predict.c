/* What follows from draws: functions of parameters, and predictions for rows that an analyst brings. Nothing
 * here has a way to a record. */
#include "core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tacit/data.h"
#include "tacit/predict.h"

/* A fit as Python holds it; borrows from the arguments. */
typedef struct held {
  tacit_report_read_t fit;
  const char **texts; /* labels, then names */
} held_t;

static void let_go(held_t *held) { PyMem_Free(held->texts); }

/* fit: (labels, names, n_chains, n_draws, draws). False with an exception. */
static bool hold(held_t *held, PyObject *fit) {
  PyObject *lists[2];
  Py_ssize_t n_chains, n_draws, n_bytes;
  const char *bytes;
  *held = (held_t){0};
  if (!PyArg_ParseTuple(fit, "O!O!nny#", &PyList_Type, &lists[0], &PyList_Type, &lists[1], &n_chains,
                        &n_draws, &bytes, &n_bytes)) {
    return false;
  }
  Py_ssize_t n = PyList_Size(lists[0]);
  if (PyList_Size(lists[1]) != n || n_chains < 1 || n_draws < 1 || n < 1 ||
      (double)n_bytes != (double)n_chains * (double)n_draws * (double)n * sizeof(double)) {
    PyErr_SetString(PyExc_ValueError, "draws do not have the shape that is said of them");
    return false;
  }
  held->texts = PyMem_Calloc(2 * (size_t)n, sizeof *held->texts);
  if (held->texts == NULL) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < 2 * n; i++) {
    held->texts[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(lists[i / n], i % n), NULL);
    if (held->texts[i] == NULL) {
      let_go(held);
      return false;
    }
  }
  held->fit.draws = (tacit_draws_t){.n_chains = (size_t)n_chains,
                                    .n_draws = (size_t)n_draws,
                                    .n_saved = (size_t)n_draws,
                                    .n_reported = (size_t)n,
                                    .values = (double *)(uintptr_t)bytes};
  held->fit.labels = (char **)(uintptr_t)held->texts;
  held->fit.names = held->fit.labels + n;
  return true;
}

/* ---- functions of parameters ---- */

/* (mean, sd, mcse, low, q50, high, ess_bulk, ess_tail, rhat, share of draws above none) of draws, which may
 * be changed. */
typedef struct described {
  tacit_summary_t of;
  double p_above, low, high; /* low, high: quantiles that leave as much on both sides */
} described_t;

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Of sorted numbers, by lines between them. */
static double quantile(const double *x, size_t n, double p) {
  double place = p * (double)(n - 1);
  size_t low = (size_t)place;
  return low + 1 < n ? x[low] + (place - (double)low) * (x[low + 1] - x[low]) : x[n - 1];
}

static tacit_status_t describe(const tacit_draws_t *of, double *draws, bool is_exponentiated, double prob,
                               described_t *out, tacit_error_t *err) {
  size_t n = of->n_chains * of->n_draws, n_above = 0;
  for (size_t i = 0; i < n; i++) {
    n_above += draws[i] > 0;
    draws[i] = is_exponentiated ? exp(draws[i]) : draws[i];
  }
  out->p_above = (double)n_above / (double)n;
  tacit_status_t status = tacit_summarise(draws, of->n_chains, of->n_draws, &out->of, err);
  qsort(draws, n, sizeof *draws, compare);
  bool is_usual = fabs(prob - 0.9) < 1e-12; /* to the last bit what tacit contrast says */
  out->low = is_usual ? out->of.q5 : quantile(draws, n, (1 - prob) / 2);
  out->high = is_usual ? out->of.q95 : quantile(draws, n, (1 + prob) / 2);
  return status;
}

static PyObject *described(const described_t *d) {
  const tacit_summary_t *s = &d->of;
  return Py_BuildValue("(dddddddddd)", s->mean, s->sd, s->mcse_mean, d->low, s->q50, d->high, s->ess_bulk,
                       s->ess_tail, s->rhat, d->p_above);
}

/* contrast(fit, expression, exponentiate?, probability of the interval) -> as above */
PyObject *core_contrast(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *fit;
  const char *expression;
  int is_exponentiated;
  double prob;
  held_t held;
  tacit_error_t err;
  described_t found;
  if (!PyArg_ParseTuple(args, "O!spd", &PyTuple_Type, &fit, &expression, &is_exponentiated, &prob) ||
      !hold(&held, fit)) {
    return NULL;
  }
  const tacit_draws_t *of = &held.fit.draws;
  double *draws = PyMem_Calloc(of->n_chains * of->n_draws, sizeof *draws);
  if (draws == NULL) {
    let_go(&held);
    return PyErr_NoMemory();
  }
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status = tacit_contrast(&held.fit, expression, draws, &err);
  if (status == TACIT_ERR_SYNTAX ||
      status == TACIT_ERR_UNKNOWN) { /* of the expression, which is an argument */
    err.status = TACIT_ERR_ARGUMENT;
  }
  status = status == TACIT_OK ? describe(of, draws, is_exponentiated, prob, &found, &err) : status;
  core_work_end(&work);
  PyMem_Free(draws);
  let_go(&held);
  return status == TACIT_OK ? described(&found) : core_raise(&err, NULL);
}

/* ---- predictions ---- */

typedef struct prediction {
  tacit_predictor_t *predictor;
  tacit_prediction_kind_t kind;
  uint64_t seed;
  size_t n_outcomes, n_draws;
  double *summaries; /* shape (n_rows, n_outcomes, 5), or NULL */
  double *draws;     /* shape (n_draws, n_rows, n_outcomes), or NULL */
  size_t n_rows;
} prediction_t;

static tacit_status_t take_row(void *user, size_t row, double *draws, tacit_error_t *err) {
  prediction_t *p = user;
  (void)err;
  for (size_t c = 0; c < p->n_outcomes; c++) {
    double *of = draws + c * p->n_draws;
    if (p->draws != NULL) {
      for (size_t i = 0; i < p->n_draws; i++) {
        p->draws[(i * p->n_rows + row) * p->n_outcomes + c] = of[i];
      }
    } else {
      tacit_summary_t s = tacit_prediction_summary(of, p->n_draws);
      const double fields[] = {s.mean, s.sd, s.q5, s.q50, s.q95};
      memcpy(p->summaries + (row * p->n_outcomes + c) * 5, fields, sizeof fields);
    }
  }
  return TACIT_OK;
}

/* float64: the draws or the summaries of the rows; NULL with an exception. */
static PyObject *predict_rows(prediction_t *p, const tacit_new_rows_t *rows, bool is_of_draws) {
  tacit_error_t err;
  p->n_rows = rows->n;
  size_t n = rows->n * p->n_outcomes * (is_of_draws ? p->n_draws : 5);
  PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * sizeof(double)));
  if (out == NULL) {
    return NULL;
  }
  *(is_of_draws ? &p->draws : &p->summaries) = (double *)(void *)PyBytes_AsString(out);
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status = tacit_predict(p->predictor, rows, p->kind, p->seed, take_row, p, &err);
  core_work_end(&work);
  if (status != TACIT_OK) {
    Py_DECREF(out);
    return core_raise(&err, NULL);
  }
  return out;
}

static PyObject *outcomes_of(const prediction_t *p) {
  PyObject *out = PyList_New(0);
  for (size_t c = 0; out != NULL && c < p->n_outcomes; c++) {
    PyObject *text = PyUnicode_FromString(tacit_predictor_outcome(p->predictor, p->kind, c));
    if (text == NULL || PyList_Append(out, text) != 0) {
      Py_CLEAR(out);
    }
    Py_XDECREF(text);
  }
  return out;
}

static PyObject *value_of(const tacit_column_schema_t *column, double x) {
  return column->type == TACIT_COLUMN_CATEGORICAL ? PyUnicode_FromString(column->levels[(size_t)x])
         : column->type == TACIT_COLUMN_NUMERIC   ? PyFloat_FromDouble(x)
                                                  : PyLong_FromDouble(x);
}

/* [(column, its values), ...], the first one "varies": which column does. */
static PyObject *grid_of(const prediction_t *p, const tacit_grid_rows_t *grid) {
  size_t n_columns;
  const char *const *names = tacit_predictor_columns(p->predictor, &n_columns);
  PyObject *out = PyList_New(0);
  for (size_t j = 0; out != NULL && j <= n_columns; j++) {
    const tacit_column_schema_t *column =
        j > 0 ? tacit_schema_find(tacit_predictor_schema(p->predictor), names[j - 1]) : NULL;
    PyObject *values = PyList_New((Py_ssize_t)grid->rows.n);
    bool ok = values != NULL;
    for (size_t i = 0; ok && i < grid->rows.n; i++) {
      PyObject *value = j > 0 ? value_of(column, grid->rows.columns[j - 1][i])
                              : PyUnicode_FromString(names[grid->varied[i]]);
      ok = value != NULL && PyList_SetItem(values, (Py_ssize_t)i, value) == 0;
    }
    PyObject *item = ok ? Py_BuildValue("(sO)", j > 0 ? names[j - 1] : "varies", values) : NULL;
    if (item == NULL || PyList_Append(out, item) != 0) {
      Py_CLEAR(out);
    }
    Py_XDECREF(item);
    Py_XDECREF(values);
  }
  return out;
}

static PyObject *of_grid(prediction_t *p, bool is_of_draws) {
  tacit_grid_rows_t grid;
  tacit_error_t err;
  size_t n_columns;
  tacit_predictor_columns(p->predictor, &n_columns);
  if (tacit_predictor_grid(p->predictor, 21, &grid, &err) != TACIT_OK) {
    return core_raise(&err, NULL);
  }
  PyObject *numbers = predict_rows(p, &grid.rows, is_of_draws),
           *columns = numbers != NULL ? grid_of(p, &grid) : NULL,
           *outcomes = columns != NULL ? outcomes_of(p) : NULL;
  PyObject *out = outcomes == NULL
                      ? NULL
                      : Py_BuildValue("(nOOOns)", (Py_ssize_t)grid.rows.n, outcomes, numbers, columns,
                                      (Py_ssize_t)0, tacit_predictor_note(p->predictor, p->kind));
  Py_XDECREF(numbers);
  Py_XDECREF(columns);
  Py_XDECREF(outcomes);
  tacit_grid_rows_clear(&grid, n_columns);
  return out;
}

/* ---- rows of an analyst ---- */

typedef struct rows {
  tacit_table_t *table;
  const double **columns;
  tacit_new_rows_t of;
  size_t n_moved; /* values that were moved to a bound of the schema */
} rows_t;

static void clear_rows(rows_t *rows) {
  tacit_table_free(rows->table);
  PyMem_Free(rows->columns);
}

/*
 * Values are held within the fit's schema; where its rows belong to persons, which new rows do not, they are
 * refused instead. False with an exception; clear in either case.
 */
static bool read_rows(rows_t *rows, const tacit_predictor_t *predictor, const tacit_schema_t *schema,
                      PyObject *data) {
  size_t n;
  const char *const *names = tacit_predictor_columns(predictor, &n);
  const tacit_schema_t *rules =
      tacit_schema_unit(schema) == NULL ? schema : tacit_predictor_schema(predictor);
  struct ArrowArrayStream stream = {0};
  tacit_table_notes_t notes;
  tacit_error_t err;
  if (n == 0) {
    err = (tacit_error_t){TACIT_ERR_ARGUMENT, "formula",
                          "the formula has no term that depends on a column: there is nothing to predict by"};
    core_raise(&err, NULL);
    return false;
  }
  rows->columns = PyMem_Calloc(n, sizeof *rows->columns);
  if (rows->columns == NULL) {
    PyErr_NoMemory();
    return false;
  }
  if (!core_stream_of(data, core_names(names, n, NULL), &stream)) {
    return false;
  }
  if (tacit_table_read_stream(&rows->table, &stream, rules, names, n, NULL, &notes, &err) != TACIT_OK) {
    core_raise(&err, NULL);
    return false;
  }
  for (size_t j = 0; j < n; j++) {
    rows->columns[j] = tacit_table_column(rows->table, names[j]);
  }
  rows->of = (tacit_new_rows_t){rows->columns, tacit_table_n_rows(rows->table)};
  rows->n_moved = notes.n_clamped;
  return true;
}

static PyObject *of_stream(prediction_t *p, const tacit_schema_t *schema, PyObject *data, bool is_of_draws) {
  rows_t rows = {0};
  PyObject *numbers =
      read_rows(&rows, p->predictor, schema, data) ? predict_rows(p, &rows.of, is_of_draws) : NULL;
  PyObject *outcomes = numbers != NULL ? outcomes_of(p) : NULL;
  PyObject *out = outcomes == NULL
                      ? NULL
                      : Py_BuildValue("(nOO[]ns)", (Py_ssize_t)rows.of.n, outcomes, numbers,
                                      (Py_ssize_t)rows.n_moved, tacit_predictor_note(p->predictor, p->kind));
  Py_XDECREF(numbers);
  Py_XDECREF(outcomes);
  clear_rows(&rows);
  return out;
}

static PyObject *predict(held_t *held, const tacit_schema_t *schema, double sd, prediction_t *p,
                         PyObject *data, bool is_of_draws) {
  tacit_error_t err;
  if (tacit_predictor_of(&p->predictor, &held->fit, schema, sd, &err) != TACIT_OK) {
    return core_raise(&err, NULL);
  }
  p->n_outcomes = tacit_predictor_n_outcomes(p->predictor, p->kind);
  p->n_draws = tacit_predictor_n_draws(p->predictor);
  PyObject *out = data == Py_None ? of_grid(p, is_of_draws) : of_stream(p, schema, data, is_of_draws);
  tacit_predictor_free(p->predictor);
  return out;
}

/*
 * predict(fit, formula, family, program or None, schema, sd, data or None for a grid, kind, seed, draws?) ->
 * (rows, outcomes, numbers, columns of the grid, values moved to a bound of the schema, what is to be said)
 */
PyObject *core_predict(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *fit, *data;
  const char *formula, *family, *program, *text;
  Py_ssize_t n_text;
  double sd;
  int kind, is_of_draws;
  unsigned long long seed;
  held_t held;
  if (!PyArg_ParseTuple(args, "O!sszy#dOiKp", &PyTuple_Type, &fit, &formula, &family, &program, &text,
                        &n_text, &sd, &data, &kind, &seed, &is_of_draws) ||
      !hold(&held, fit)) {
    return NULL;
  }
  held.fit.formula = (char *)(uintptr_t)formula;
  held.fit.family = (char *)(uintptr_t)family;
  held.fit.program = (char *)(uintptr_t)program;
  tacit_error_t err;
  tacit_schema_t *schema = NULL;
  prediction_t prediction = {.kind = (tacit_prediction_kind_t)kind, .seed = seed};
  PyObject *out = tacit_schema_parse(&schema, text, (size_t)n_text, "schema", &err) == TACIT_OK
                      ? predict(&held, schema, sd, &prediction, data, is_of_draws)
                      : core_raise(&err, NULL);
  tacit_schema_free(schema);
  let_go(&held);
  return out;
}

/* ---- average effects ---- */

typedef struct effects {
  const tacit_draws_t *of;
  PyObject *out; /* [(label, numbers as of a contrast), ...]; NULL with an exception */
  double prob;
} effects_t;

static tacit_status_t take_effect(void *user, const char *label, double *draws, tacit_error_t *err) {
  effects_t *effects = user;
  described_t found;
  tacit_status_t status = describe(effects->of, draws, false, effects->prob, &found, err);
  PyObject *item = status == TACIT_OK ? Py_BuildValue("(sN)", label, described(&found)) : NULL;
  if (status == TACIT_OK && (item == NULL || PyList_Append(effects->out, item) != 0)) {
    Py_CLEAR(effects->out);
    status = TACIT_ERR_MEMORY; /* the exception is set */
  }
  Py_XDECREF(item);
  return status;
}

/* The GIL is kept: each effect becomes a row of Python's. */
static PyObject *effects_of(held_t *held, const tacit_schema_t *schema, double sd, PyObject *data,
                            PyObject *names, double prob) {
  tacit_error_t err;
  tacit_predictor_t *predictor;
  rows_t rows = {0};
  if (tacit_predictor_of(&predictor, &held->fit, schema, sd, &err) != TACIT_OK) {
    return core_raise(&err, NULL);
  }
  effects_t effects = {&held->fit.draws, read_rows(&rows, predictor, schema, data) ? PyList_New(0) : NULL,
                       prob};
  for (Py_ssize_t i = 0; effects.out != NULL && i < PyList_Size(names); i++) {
    const char *name = PyUnicode_AsUTF8AndSize(PyList_GetItem(names, i), NULL);
    if (name == NULL ||
        tacit_average_effects(predictor, &rows.of, name, take_effect, &effects, &err) != TACIT_OK) {
      core_raise_unless_set(&err, NULL);
      Py_CLEAR(effects.out);
    }
  }
  PyObject *out = effects.out == NULL ? NULL : Py_BuildValue("(Nn)", effects.out, (Py_ssize_t)rows.n_moved);
  clear_rows(&rows);
  tacit_predictor_free(predictor);
  return out;
}

/*
 * effects(fit, formula, family, program or None, schema, sd, data, [column, ...], probability of the
 * intervals) -> ([(label, as of contrast), ...], values moved to a bound of the schema)
 */
PyObject *core_effects(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *fit, *data, *names;
  const char *formula, *family, *program, *text;
  Py_ssize_t n_text;
  double sd, prob;
  held_t held;
  if (!PyArg_ParseTuple(args, "O!sszy#dOO!d", &PyTuple_Type, &fit, &formula, &family, &program, &text,
                        &n_text, &sd, &data, &PyList_Type, &names, &prob) ||
      !hold(&held, fit)) {
    return NULL;
  }
  held.fit.formula = (char *)(uintptr_t)formula;
  held.fit.family = (char *)(uintptr_t)family;
  held.fit.program = (char *)(uintptr_t)program;
  tacit_error_t err;
  tacit_schema_t *schema = NULL;
  PyObject *out = tacit_schema_parse(&schema, text, (size_t)n_text, "schema", &err) == TACIT_OK
                      ? effects_of(&held, schema, sd, data, names, prob)
                      : core_raise(&err, NULL);
  tacit_schema_free(schema);
  let_go(&held);
  return out;
}
