/* What releases cost. */
#include "core.h"

#include "tacit/account.h"

/* Events from a sequence of (text, count); false with an exception. */
static bool parse_events(PyObject *list, tacit_event_t *events, size_t *n) {
  tacit_error_t err;
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
    const char *text;
    unsigned long long count;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sK", &text, &count)) {
      return false;
    }
    if (tacit_event_parse(&events[*n], text, &err) != TACIT_OK) {
      core_raise(&err, NULL);
      return false;
    }
    events[(*n)++].count = count;
  }
  return true;
}

static PyObject *answer(const tacit_guarantee_t *guarantee) {
  return Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:s}", "epsilon", guarantee->epsilon, "epsilon_lower", guarantee->epsilon_lower, "delta",
                       guarantee->delta, "delta_lower", guarantee->delta_lower, "order", guarantee->order, "method", guarantee->method);
}

/* account([(event, count), ...], relation, epsilon or None, delta or None, method, width, in order?) */
PyObject *core_account(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *list, *epsilon, *delta;
  const char *relation, *method;
  int is_in_order;
  tacit_account_options_t options = {0};
  if (!PyArg_ParseTuple(args, "O!sOOsdp", &PyList_Type, &list, &relation, &epsilon, &delta, &method, &options.relative_width,
                        &is_in_order)) {
    return NULL;
  }
  options.is_in_order = is_in_order;
  tacit_error_t err = {.status = TACIT_ERR_ARGUMENT, .field = "relation", .message = "relation must be substitute or add-remove"};
  if (!tacit_relation_parse(relation, &options.relation)) {
    return core_raise(&err, NULL);
  }
  const tacit_accountant_t *accountant = tacit_accountant_find(method);
  if (accountant == NULL) {
    err = (tacit_error_t){TACIT_ERR_UNKNOWN, "method", "unknown accountant: expected auto, gaussian, pld, rdp, zcdp or moments"};
    return core_raise(&err, NULL);
  }
  bool asks_epsilon = delta != Py_None;
  double given = PyFloat_AsDouble(asks_epsilon ? delta : epsilon);
  if (PyErr_Occurred() != NULL) {
    return NULL;
  }
  size_t n = 0;
  tacit_event_t *events = PyMem_Calloc((size_t)PyList_Size(list) + 1, sizeof *events);
  if (events == NULL) {
    return PyErr_NoMemory();
  }
  PyObject *result = NULL;
  if (parse_events(list, events, &n)) {
    tacit_guarantee_t guarantee;
    core_work_t work;
    core_work_begin(&work);
    tacit_status_t status = asks_epsilon ? tacit_account_epsilon(accountant, events, n, &options, given, &guarantee, &err)
                                         : tacit_account_delta(accountant, events, n, &options, given, &guarantee, &err);
    core_work_end(&work);
    result = status == TACIT_OK ? answer(&guarantee) : core_raise(&err, NULL);
  }
  for (size_t i = 0; i < n; i++) {
    tacit_event_clear(&events[i]);
  }
  PyMem_Free(events);
  return result;
}
