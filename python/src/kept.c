/* What follows from what a fit released: a check against its records, as one charged call, and synthetic
 * rows. */
#include "core.h"

#include "tacit/fit.h"
#include "tacit/synthesize.h"

typedef struct call {
  tacit_fit_t *fit;
  core_call_t of;
} call_t;

static tacit_status_t set(void *fit, const char *name, const char *text, tacit_error_t *err) {
  return tacit_fit_set(fit, name, text, err);
}

/* ---- a check: steps, each of which returns false with an exception set ---- */

static bool begin(call_t *call, const char *path, PyObject *settings) {
  tacit_error_t err;
  core_work_begin(&call->of.work);
  tacit_status_t status = tacit_fit_begin_check(&call->fit, path, NULL, &err);
  core_work_end(&call->of.work);
  return status == TACIT_OK ? core_call_set(&call->of, settings, set, call->fit)
                            : core_call_refuse(&call->of, &err);
}

static bool run(call_t *call, const char *by, tacit_fit_check_t *check) {
  tacit_error_t err;
  core_work_begin(&call->of.work);
  tacit_status_t status = tacit_fit_check(call->fit, by, check, &err);
  core_work_end(&call->of.work);
  return status == TACIT_OK || core_call_refuse(&call->of, &err);
}

static PyObject *text_of(const call_t *call, const tacit_fit_check_t *check, bool is_json) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = is_json ? tacit_fit_check_json(call->fit, check, &text, &err)
                                  : tacit_fit_check_text(call->fit, check, &text, &err);
  return core_owned_text(status, text, &err);
}

/* check(directory, term or None, [(name, text), ...], data) */
PyObject *core_check(PyObject *self, PyObject *args) {
  (void)self;
  const char *path, *by;
  PyObject *settings, *data, *out = NULL;
  tacit_fit_check_t check;
  call_t call = {0};
  if (!PyArg_ParseTuple(args, "szO!O", &path, &by, &PyList_Type, &settings, &data)) {
    return NULL;
  }
  if (begin(&call, path, settings) && core_call_read(&call.of, &core_reader_of_fits, call.fit, data) &&
      run(&call, by, &check)) {
    out = PyDict_New();
    bool ok = out != NULL && core_put(out, "text", text_of(&call, &check, false)) &&
              core_put(out, "json", text_of(&call, &check, true)) &&
              core_put(out, "unsettled", core_spelled(tacit_fit_text(call.fit, TACIT_FIT_TEXT_UNSETTLED)));
    if (!ok) {
      Py_CLEAR(out);
    }
  }
  tacit_fit_free(call.fit);
  core_call_clear(&call.of);
  return out;
}

/* ---- synthetic rows ---- */

/* synthesize(directory, rows or 0, sets, seed) -> (CSV, JSON) */
PyObject *core_synthesize(PyObject *self, PyObject *args) {
  (void)self;
  const char *path;
  unsigned long long n_rows, n_sets, seed;
  char *csv, *json;
  tacit_error_t err;
  if (!PyArg_ParseTuple(args, "sKKK", &path, &n_rows, &n_sets, &seed)) {
    return NULL;
  }
  const tacit_synthesis_settings_t settings = {.n_rows = n_rows, .n_sets = n_sets, .seed = seed};
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status = tacit_synthesize(path, &settings, &csv, &json, NULL, &err);
  core_work_end(&work);
  PyObject *out = status == TACIT_OK ? Py_BuildValue("(ss)", csv, json) : core_raise(&err, NULL);
  tacit_free(csv);
  tacit_free(json);
  return out;
}
