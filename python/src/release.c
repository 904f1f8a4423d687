/* A released statistic as one call: settings, records, charge, release, file; then everything is freed. */
#include "core.h"

#include "tacit/publish.h"

typedef struct call {
  tacit_publish_t *publish;
  core_call_t of;
} call_t;

/* ---- steps; each returns false with an exception set ---- */

static tacit_status_t set(void *publish, const char *name, const char *text, tacit_error_t *err) {
  return tacit_publish_set(publish, name, text, err);
}

static bool set_up(call_t *call, const char *formula, PyObject *settings, const char *schema,
                   Py_ssize_t n_schema, const char *name) {
  tacit_error_t err;
  if (tacit_publish_new(&call->publish, formula, &err) != TACIT_OK) {
    return core_call_refuse(&call->of, &err);
  }
  return core_call_set(&call->of, settings, set, call->publish) &&
         (tacit_publish_set_schema(call->publish, schema, (size_t)n_schema, name, &err) == TACIT_OK ||
          core_call_refuse(&call->of, &err));
}

static tacit_status_t columns(void *publish, const tacit_schema_t **schema, const char *const **names,
                              size_t *n, tacit_error_t *err) {
  return tacit_publish_columns(publish, schema, names, n, err);
}

static tacit_status_t read_source(void *publish, const tacit_data_source_t *source, tacit_error_t *err) {
  return tacit_publish_read_source(publish, source, err);
}

static const core_reader_t reader = {.columns = columns, .read = read_source};

static bool run(call_t *call) {
  tacit_error_t err;
  core_work_begin(&call->of.work);
  tacit_status_t status = tacit_publish_run(call->publish, &err);
  core_work_end(&call->of.work);
  return status == TACIT_OK || core_call_refuse(&call->of, &err);
}

/* ---- results ---- */

static PyObject *numbers(const call_t *call, const double *(*of)(const tacit_publish_t *, size_t *)) {
  size_t n;
  const double *values = of(call->publish, &n);
  PyObject *out = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; out != NULL && i < n; i++) {
    PyObject *value = PyFloat_FromDouble(values[i]);
    if (value == NULL || PyList_SetItem(out, (Py_ssize_t)i, value) != 0) {
      Py_CLEAR(out);
    }
  }
  return out;
}

/* A file that cannot be written takes nothing from the statistic, which was paid for. */
static PyObject *written(const call_t *call, bool has_out) {
  tacit_error_t err;
  return PyUnicode_FromString(
      !has_out || tacit_publish_write(call->publish, NULL, &err) == TACIT_OK ? "" : err.message);
}

static PyObject *result_of(const call_t *call, bool has_out) {
  PyObject *out = PyDict_New();
  bool ok = out != NULL && core_put(out, "unwritten", written(call, has_out)) &&
            core_put(out, "yaml", PyUnicode_FromString(tacit_publish_yaml(call->publish))) &&
            core_put(out, "values", numbers(call, tacit_publish_values)) &&
            core_put(out, "scales", numbers(call, tacit_publish_scales)) &&
            core_put(out, "spent", core_spelled(tacit_publish_spent(call->publish))) &&
            core_put(out, "warnings", core_spelled(tacit_publish_warnings(call->publish))) &&
            core_put(out, "unsettled", core_spelled(tacit_publish_unsettled(call->publish)));
  if (!ok) {
    Py_CLEAR(out);
  }
  return out;
}

/* release(formula or None, [(name, text), ...], schema, its name, data, is a file to be written?) */
PyObject *core_release(PyObject *self, PyObject *args) {
  (void)self;
  const char *formula, *schema, *name;
  Py_ssize_t n_schema;
  PyObject *settings, *data;
  int has_out;
  call_t call = {0};
  if (!PyArg_ParseTuple(args, "zO!y#sOp", &formula, &PyList_Type, &settings, &schema, &n_schema, &name, &data,
                        &has_out)) {
    return NULL;
  }
  bool is_released = set_up(&call, formula, settings, schema, n_schema, name) &&
                     core_call_read(&call.of, &reader, call.publish, data) && run(&call);
  PyObject *out = is_released ? result_of(&call, has_out) : NULL;
  tacit_publish_free(call.publish);
  core_call_clear(&call.of);
  return out;
}
