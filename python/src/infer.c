/* Draws given a released statistic, as one call: settings, two texts, draws, report; then everything is
 * freed. No record is near. */
#include "core.h"

#include <math.h>

#include "tacit/infer.h"

typedef struct call {
  tacit_infer_t *infer;
  core_call_t of;
} call_t;

static bool on_iteration(const tacit_progress_t *progress, void *user) {
  call_t *call = user;
  return !core_work_is_due(&call->of.work, 0.1) || core_call_tell(&call->of, progress, NAN);
}

/* YAML and what stands for its name. */
typedef struct yaml {
  const char *text, *name;
  Py_ssize_t n;
} yaml_t;

static tacit_status_t set(void *infer, const char *name, const char *text, tacit_error_t *err) {
  return tacit_infer_set(infer, name, text, err);
}

/* Each step returns false with an exception set. */
static bool set_up(call_t *call, PyObject *settings, const yaml_t *model, PyObject *statistics) {
  tacit_error_t err;
  bool ok = tacit_infer_new(&call->infer, NULL, &err) == TACIT_OK &&
            tacit_infer_set_model(call->infer, model->text, (size_t)model->n, model->name, &err) == TACIT_OK;
  for (Py_ssize_t i = 0; i < PyList_Size(statistics) && ok; i++) {
    yaml_t one;
    if (!PyArg_ParseTuple(PyList_GetItem(statistics, i), "y#s", &one.text, &one.n, &one.name)) {
      return false;
    }
    ok = tacit_infer_set_statistic(call->infer, one.text, (size_t)one.n, one.name, &err) == TACIT_OK;
  }
  return ok ? core_call_set(&call->of, settings, set, call->infer) : core_call_refuse(&call->of, &err);
}

static bool run(call_t *call) {
  tacit_error_t err;
  core_work_begin(&call->of.work);
  tacit_status_t status = tacit_infer_read(call->infer, &err);
  if (status == TACIT_OK) {
    status = tacit_infer_run(call->infer, on_iteration, call, &err);
  }
  core_work_end(&call->of.work);
  return status == TACIT_OK || core_call_refuse(&call->of, &err);
}

static PyObject *statement(const call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = tacit_infer_statement(call->infer, &text, &err);
  return core_owned_text(status, text, &err);
}

static PyObject *privacy(const call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = tacit_infer_privacy_json(call->infer, &text, &err);
  return core_owned_text(status, text, &err);
}

static PyObject *text_of(const call_t *call, tacit_infer_text_t which) {
  return core_spelled(tacit_infer_text(call->infer, which));
}

static PyObject *written(const call_t *call, bool has_out) {
  tacit_error_t err;
  return PyUnicode_FromString(
      !has_out || tacit_infer_write(call->infer, NULL, &err) == TACIT_OK ? "" : err.message);
}

static PyObject *result_of(call_t *call, bool has_out) {
  const tacit_infer_t *infer = call->infer;
  PyObject *out = core_draws(tacit_infer_draws(infer), tacit_infer_labels(infer), tacit_infer_names(infer),
                             NULL, tacit_infer_evidence(infer));
  bool ok = out != NULL && core_put(out, "unwritten", written(call, has_out)) &&
            core_put(out, "stopped", core_call_stopped(&call->of)) &&
            core_put(out, "statement", statement(call)) && core_put(out, "privacy", privacy(call)) &&
            core_put(out, "statistic", PyUnicode_FromString(tacit_infer_statistic(infer))) &&
            core_put(out, "records", PyUnicode_FromString(tacit_infer_records(infer))) &&
            core_put(out, "warning", text_of(call, TACIT_INFER_TEXT_WARNING)) &&
            core_put(out, "method", text_of(call, TACIT_INFER_TEXT_METHOD)) &&
            core_put(out, "cost", text_of(call, TACIT_INFER_TEXT_COST));
  if (!ok) {
    Py_CLEAR(out);
  }
  return out;
}

/* infer(model, its name, [(statistic, its name), ...], [(name, text), ...], on_progress or None, is a report
 * to be written?) */
PyObject *core_infer(PyObject *self, PyObject *args) {
  (void)self;
  yaml_t model;
  PyObject *settings, *statistics;
  int has_out;
  call_t call = {0};
  if (!PyArg_ParseTuple(args, "y#sO!O!Op", &model.text, &model.n, &model.name, &PyList_Type, &statistics,
                        &PyList_Type, &settings, &call.of.on_progress, &has_out)) {
    return NULL;
  }
  PyObject *out =
      set_up(&call, settings, &model, statistics) && run(&call) ? result_of(&call, has_out) : NULL;
  tacit_infer_free(call.infer);
  core_call_clear(&call.of);
  return out;
}
