/* Schemas before a fit: a template from names and types, what is wrong with one, and records beside it; and
 * the families there are. */
#include "core.h"

#include <string.h>

#include "tacit/model.h"

/* schema_draft(data, is the first row a header?) -> YAML */
PyObject *core_schema_draft(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *data;
  int is_header;
  char *text = NULL;
  struct ArrowArrayStream stream = {0};
  tacit_data_source_t source = {0};
  tacit_error_t err;
  if (!PyArg_ParseTuple(args, "Op", &data, &is_header)) {
    return NULL;
  }
  Py_INCREF(Py_None);
  if (!core_source_of(data, Py_None, &stream, &source)) {
    return NULL;
  }
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status = tacit_schema_draft_source(&source, is_header, &text, &err);
  core_work_end(&work);
  return core_owned_text(status, text, &err);
}

/* All columns of a schema, that of persons too. */
static PyObject *names_of(const tacit_schema_t *schema) {
  PyObject *names = PyList_New(0);
  for (size_t i = 0; names != NULL && i < tacit_schema_n_columns(schema); i++) {
    PyObject *name = PyUnicode_FromString(tacit_schema_column(schema, i)->name);
    if (name == NULL || PyList_Append(names, name) != 0) {
      Py_CLEAR(names);
    }
    Py_XDECREF(name);
  }
  return names;
}

static PyObject *report_of(core_call_t *call, const tacit_schema_t *schema, PyObject *data) {
  tacit_schema_report_t report = {0};
  tacit_error_t err;
  struct ArrowArrayStream stream = {0};
  const tacit_stream_watch_t watch = core_call_watch(call);
  tacit_data_source_t source = {.watch = &watch};
  PyObject *out = NULL;
  bool is_read = data != Py_None, ok = !is_read || core_source_of(data, names_of(schema), &stream, &source);
  if (ok) {
    core_work_begin(&call->work);
    tacit_status_t status = tacit_schema_report(schema, &report, &err);
    status =
        status == TACIT_OK && is_read ? tacit_schema_report_records(schema, &source, &report, &err) : status;
    core_work_end(&call->work);
    ok = (status == TACIT_OK && PyErr_CheckSignals() == 0) || core_call_refuse(call, &err);
  }
  if (ok) {
    out = Py_BuildValue("(ssznnnnn)", report.says, report.warns, report.for_holder, (Py_ssize_t)report.n_rows,
                        (Py_ssize_t)report.n_units, (Py_ssize_t)report.notes.n_clamped,
                        (Py_ssize_t)report.notes.n_missing, (Py_ssize_t)report.notes.n_rows_dropped);
  }
  tacit_schema_report_clear(&report);
  return out;
}

/*
 * schema_check(schema, its name, data or None) -> (of the schema, warnings, for the holder or None, n_rows,
 * n_units, n_clamped, n_missing, n_dropped)
 */
PyObject *core_schema_check(PyObject *self, PyObject *args) {
  (void)self;
  const char *text, *name;
  Py_ssize_t n;
  PyObject *data;
  core_call_t call = {0};
  tacit_schema_t *schema;
  tacit_error_t err;
  if (!PyArg_ParseTuple(args, "y#sO", &text, &n, &name, &data)) {
    return NULL;
  }
  if (tacit_schema_parse(&schema, text, (size_t)n, name, &err) != TACIT_OK) {
    return core_raise(&err, NULL);
  }
  PyObject *out = report_of(&call, schema, data);
  tacit_schema_free(schema);
  core_call_clear(&call);
  return out;
}

/* families() -> [{"name", "response", "link", "summary"}, ...] */
PyObject *core_families(PyObject *self, PyObject *args) {
  (void)self;
  (void)args;
  PyObject *out = PyList_New(0);
  for (size_t i = 0; out != NULL && tacit_program_family_about(i) != NULL; i++) {
    const tacit_family_about_t *family = tacit_program_family_about(i);
    PyObject *item = Py_BuildValue("{s:s,s:s,s:s,s:s}", "name", family->name, "response", family->response,
                                   "link", family->link, "summary", family->summary);
    if (item == NULL || PyList_Append(out, item) != 0) {
      Py_CLEAR(out);
    }
    Py_XDECREF(item);
  }
  return out;
}
