/* Ledgers: made, read and checked. Spends are made by fits alone. */
#include "core.h"

#include "tacit/ledger.h"

/* ledger_create(path, data_id, epsilon, delta, relation, unit or None, max_rows) */
PyObject *core_ledger_create(PyObject *self, PyObject *args) {
  (void)self;
  const char *path, *relation;
  unsigned long long max_rows;
  tacit_ledger_terms_t terms;
  tacit_error_t err = {.status = TACIT_ERR_ARGUMENT,
                       .field = "relation",
                       .message = "relation must be substitute or add-remove"};
  if (!PyArg_ParseTuple(args, "ssddszK", &path, &terms.data_id, &terms.epsilon, &terms.delta, &relation,
                        &terms.unit, &max_rows)) {
    return NULL;
  }
  terms.max_rows = max_rows;
  if (!tacit_relation_parse(relation, &terms.relation) ||
      tacit_ledger_create(path, &terms, &err) != TACIT_OK) {
    return core_raise(&err, NULL);
  }
  Py_RETURN_NONE;
}

static PyObject *events_of(const tacit_spend_t *spend) {
  size_t n;
  const tacit_event_t *events = tacit_spend_events(spend, &n);
  PyObject *out = PyList_New(0);
  for (size_t i = 0; out != NULL && i < n; i++) {
    char text[TACIT_EVENT_TEXT_SIZE];
    PyObject *event = Py_BuildValue("{s:s,s:K,s:s}", "event", tacit_event_format(&events[i], text), "count",
                                    (unsigned long long)events[i].count, "label", events[i].label);
    if (event == NULL || PyList_Append(out, event) != 0) {
      Py_CLEAR(out);
    }
    Py_XDECREF(event);
  }
  return out;
}

static PyObject *spends_of(const tacit_ledger_state_t *state) {
  PyObject *out = PyList_New(0);
  for (size_t i = 0; out != NULL && i < state->n_spends; i++) {
    const tacit_spend_t *spend = &state->spends[i];
    PyObject *item = Py_BuildValue("{s:K,s:s,s:s,s:s,s:s,s:s,s:O,s:N}", "id", (unsigned long long)spend->id,
                                   "time", spend->time, "who", spend->who, "host", spend->host, "purpose",
                                   spend->purpose, "artefact", spend->artefact, "settled",
                                   spend->is_settled ? Py_True : Py_False, "events", events_of(spend));
    if (item == NULL || PyList_Append(out, item) != 0) {
      Py_CLEAR(out);
    }
    Py_XDECREF(item);
  }
  return out;
}

/* ledger_read(path, verify?) */
PyObject *core_ledger_read(PyObject *self, PyObject *args) {
  (void)self;
  const char *path;
  int is_thorough;
  tacit_error_t err;
  tacit_ledger_t *ledger;
  tacit_ledger_state_t state = {0};
  if (!PyArg_ParseTuple(args, "sp", &path, &is_thorough)) {
    return NULL;
  }
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status = tacit_ledger_open(&ledger, path, &err);
  if (status == TACIT_OK) {
    status =
        is_thorough ? tacit_ledger_verify(ledger, &state, &err) : tacit_ledger_read(ledger, &state, &err);
  }
  tacit_ledger_close(ledger);
  core_work_end(&work);
  PyObject *out = NULL;
  if (status == TACIT_OK) {
    const tacit_budget_t *budget = state.budget;
    out = Py_BuildValue("{s:s,s:s,s:z,s:K,s:s,s:d,s:d,s:d,s:d,s:s,s:N}", "data_id", state.data_id, "created",
                        state.created, "unit", state.unit, "max_rows", (unsigned long long)state.max_rows,
                        "relation", tacit_relation_string(tacit_budget_relation(budget)), "epsilon",
                        tacit_budget_epsilon(budget), "delta", tacit_budget_delta(budget), "spent",
                        tacit_budget_spent(budget).epsilon, "left", tacit_ledger_epsilon_left(&state), "head",
                        state.head, "spends", spends_of(&state));
  } else {
    core_raise(&err, NULL);
  }
  tacit_ledger_state_clear(&state);
  return out;
}
