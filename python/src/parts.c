/*
 * Records in parts that an engine holds: what its workers do to one of them, and how a fit asks for sums. A
 * part goes through Python as bytes, which are as private as the records; a request is public text.
 */
#include "core.h"

#include <string.h>

#include "tacit/fit.h"

/* ---- workers: a fit that is none, of one call ---- */

typedef struct work {
  tacit_fit_t *fit;
  core_call_t of;
  void *packed;
  size_t n;
  tacit_fit_part_t part;
} work_t;

static tacit_status_t set(void *fit, const char *name, const char *text, tacit_error_t *err) {
  return tacit_fit_set(fit, name, text, err);
}

/* What every function here is given first: (formula, [(name, text), ...], schema, its name). False with an
 * exception. */
static bool begin(work_t *work, PyObject *of) {
  const char *formula, *schema, *name;
  Py_ssize_t n_schema;
  PyObject *settings;
  tacit_error_t err;
  if (!PyArg_ParseTuple(of, "sO!y#s", &formula, &PyList_Type, &settings, &schema, &n_schema, &name)) {
    return false;
  }
  if (tacit_fit_new(&work->fit, formula, &err) != TACIT_OK) {
    return core_call_refuse(&work->of, &err);
  }
  tacit_fit_be_part(work->fit);
  return core_call_set(&work->of, settings, set, work->fit) &&
         (tacit_fit_set_schema(work->fit, schema, (size_t)n_schema, name, &err) == TACIT_OK ||
          core_call_refuse(&work->of, &err));
}

static void end(work_t *work) {
  tacit_fit_free(work->fit);
  core_call_clear(&work->of);
}

static tacit_status_t columns(void *work, const tacit_schema_t **schema, const char *const **names, size_t *n,
                              tacit_error_t *err) {
  return tacit_fit_columns(((work_t *)work)->fit, schema, names, n, err);
}

static tacit_status_t pack(void *user, const tacit_data_source_t *source, tacit_error_t *err) {
  work_t *work = user;
  return tacit_fit_pack(work->fit, source, &work->packed, &work->n, &work->part, err);
}

/* part_columns((formula, settings, schema, name)) -> (columns that are read, that of persons or None) */
PyObject *core_part_columns(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *of, *out = NULL;
  const tacit_schema_t *schema;
  const char *const *names;
  size_t n;
  tacit_error_t err;
  work_t work = {0};
  if (PyArg_ParseTuple(args, "O!", &PyTuple_Type, &of) && begin(&work, of)) {
    if (tacit_fit_columns(work.fit, &schema, &names, &n, &err) == TACIT_OK) {
      PyObject *list = core_names(names, n, tacit_schema_unit(schema));
      out = list == NULL ? NULL : Py_BuildValue("(Nz)", list, tacit_schema_unit(schema));
    } else {
      core_call_refuse(&work.of, &err);
    }
  }
  end(&work);
  return out;
}

/* pack_part((formula, settings, schema, name), data) -> (records, units, bytes) */
PyObject *core_pack_part(PyObject *self, PyObject *args) {
  (void)self;
  static const core_reader_t reader = {.columns = columns, .read = pack};
  PyObject *of, *data, *out = NULL;
  work_t work = {0};
  if (PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &of, &data) && begin(&work, of) &&
      core_call_read(&work.of, &reader, &work, data)) {
    out = Py_BuildValue("(nny#)", (Py_ssize_t)work.part.n_records, (Py_ssize_t)work.part.n_units, work.packed,
                        (Py_ssize_t)work.n);
  }
  tacit_free(work.packed);
  end(&work);
  return out;
}

/* sum_part((formula, settings, schema, name), request, bytes) -> bytes of int64 */
PyObject *core_sum_part(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *of, *out = NULL;
  const char *request;
  Py_buffer packed = {0};
  int64_t *sums = NULL;
  size_t n_sums;
  tacit_error_t err;
  work_t work = {0};
  if (PyArg_ParseTuple(args, "O!sy*", &PyTuple_Type, &of, &request, &packed) && begin(&work, of)) {
    core_work_begin(&work.of.work);
    tacit_status_t status =
        tacit_fit_sum_part(work.fit, request, packed.buf, (size_t)packed.len, &sums, &n_sums, &err);
    core_work_end(&work.of.work);
    out = status == TACIT_OK
              ? PyBytes_FromStringAndSize((const char *)sums, (Py_ssize_t)(n_sums * sizeof *sums))
              : NULL;
    if (status != TACIT_OK) {
      core_call_refuse(&work.of, &err);
    }
  }
  tacit_free(sums);
  if (packed.obj != NULL) {
    PyBuffer_Release(&packed);
  }
  end(&work);
  return out;
}

/* ---- the fit that asks ---- */

/* sums (n) += what Python's answer to the request says; false with an exception. */
static bool add(PyObject *answer, size_t n, int64_t *sums) {
  const char *bytes = answer == NULL ? NULL : PyBytes_AsString(answer);
  if (bytes == NULL) {
    return false;
  }
  if ((size_t)PyBytes_Size(answer) != n * sizeof *sums) {
    PyErr_Format(PyExc_RuntimeError, "an engine added up %zd bytes where %zu numbers were asked for",
                 PyBytes_Size(answer), n);
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    int64_t one;
    memcpy(&one, bytes + i * sizeof one, sizeof one);
    sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)one);
  }
  return true;
}

bool core_parts_sum(void *user, const char *request, size_t n, int64_t *sums) {
  core_parts_t *parts = user;
  core_call_t *call = parts->call;
  PyEval_RestoreThread(call->work.state);
  PyObject *answer = PyObject_CallFunction(parts->sum, "s", request);
  bool is_added = add(answer, n, sums);
  Py_XDECREF(answer);
  if (!is_added) {
    PyErr_Fetch(&call->type, &call->value, &call->traceback);
  }
  call->work.state = PyEval_SaveThread();
  return is_added;
}

bool core_parts_read(core_call_t *call, core_parts_t *parts, struct tacit_fit *fit, PyObject *data) {
  PyObject *list;
  tacit_error_t err;
  if (!PyArg_ParseTuple(data, "O!O", &PyList_Type, &list, &parts->sum)) {
    return false;
  }
  size_t n = (size_t)PyList_Size(list);
  tacit_fit_part_t *of = PyMem_Malloc((n + 1) * sizeof *of);
  bool ok = of != NULL || (PyErr_NoMemory(), false);
  for (size_t i = 0; ok && i < n; i++) {
    Py_ssize_t n_records, n_units;
    ok = PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)i), "nn", &n_records, &n_units);
    of[i] = (tacit_fit_part_t){(size_t)n_records, (size_t)n_units};
  }
  parts->call = call;
  if (ok) {
    core_work_begin(&call->work);
    tacit_status_t status =
        tacit_fit_read_parts(fit, &(tacit_fit_parts_t){n, of, core_parts_sum, parts}, &err);
    core_work_end(&call->work);
    ok = status == TACIT_OK || core_call_refuse(call, &err);
  }
  PyMem_Free(of);
  return ok;
}
