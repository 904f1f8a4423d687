/*
 * The module tacit._core: functions alone. What they return is released, or public, or computed from that.
 */
#include "core.h"

#include <string.h>
#include <time.h>

#include "tacit/fit.h"

/* ---- errors ---- */

/* Texts may be cut off within a character. */
static PyObject *text_of(const char *bytes) {
  return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "replace");
}

PyObject *core_spelled(const char *text) {
  size_t n;
  char *spelled;
  const tacit_setting_t *table = tacit_fit_settings(&n);
  if (tacit_spell(text, TACIT_SPELLING_PYTHON, table, n, &spelled, NULL) != TACIT_OK) {
    return PyErr_NoMemory();
  }
  PyObject *out = text_of(spelled);
  tacit_free(spelled);
  return out;
}

PyObject *core_raise(const tacit_error_t *err, const char *detail) {
  PyObject *module = PyImport_ImportModule("tacit._errors");
  PyObject *exception =
      module == NULL ? NULL
                     : PyObject_CallMethod(module, "make", "iNNN", (int)err->status, text_of(err->field),
                                           core_spelled(err->message), text_of(detail != NULL ? detail : ""));
  if (exception != NULL) {
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
  }
  Py_XDECREF(exception);
  Py_XDECREF(module);
  return NULL;
}

PyObject *core_raise_unless_set(const tacit_error_t *err, const char *detail) {
  return PyErr_Occurred() != NULL ? NULL : core_raise(err, detail);
}

bool core_put(PyObject *dict, const char *key, PyObject *value) {
  bool is_put = value != NULL && PyDict_SetItemString(dict, key, value) == 0;
  Py_XDECREF(value);
  return is_put;
}

/* ---- work without the GIL ---- */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void core_work_begin(core_work_t *work) { *work = (core_work_t){.state = PyEval_SaveThread()}; }

void core_work_end(core_work_t *work) { PyEval_RestoreThread(work->state); }

bool core_work_is_due(core_work_t *work, double seconds) {
  double now = seconds_now();
  if (now < work->next) {
    return false;
  }
  work->next = now + seconds;
  return true;
}

/* ---- calls that take long ---- */

/* Tell whoever watches; false if the answer is False, or an exception. */
static bool tell(const core_call_t *call, const tacit_progress_t *progress, double epsilon) {
  if (call->on_progress == NULL || call->on_progress == Py_None) {
    return true;
  }
  PyObject *answer = PyObject_CallFunction(call->on_progress, "nnd", (Py_ssize_t)progress->iteration,
                                           (Py_ssize_t)progress->n_iterations, epsilon);
  bool is_fine = answer != NULL && answer != Py_False;
  Py_XDECREF(answer);
  return is_fine;
}

/* progress may be NULL: look at signals alone. */
static bool look(core_call_t *call, const tacit_progress_t *progress, double epsilon) {
  PyEval_RestoreThread(call->work.state);
  bool is_fine = PyErr_CheckSignals() == 0 && (progress == NULL || tell(call, progress, epsilon));
  if (PyErr_Occurred() != NULL) {
    PyErr_Fetch(&call->type, &call->value, &call->traceback);
  }
  call->work.state = PyEval_SaveThread();
  return is_fine;
}

bool core_call_tell(core_call_t *call, const tacit_progress_t *progress, double epsilon) {
  return look(call, progress, epsilon);
}

static bool go_on(void *user) {
  core_call_t *call = user;
  return !core_work_is_due(&call->work, 0.05) || look(call, NULL, 0);
}

PyObject *core_call_stopped(core_call_t *call) {
  PyErr_NormalizeException(&call->type, &call->value, &call->traceback);
  return Py_NewRef(call->value != NULL ? call->value : Py_None);
}

bool core_call_set(core_call_t *call, PyObject *settings, core_set_fn set, void *target) {
  tacit_error_t err;
  for (Py_ssize_t i = 0; i < PyList_Size(settings); i++) {
    const char *key, *value;
    if (!PyArg_ParseTuple(PyList_GetItem(settings, i), "ss", &key, &value)) {
      return false;
    }
    if (set(target, key, value, &err) != TACIT_OK) {
      if (err.status == TACIT_ERR_UNKNOWN) { /* a name that is no setting: of arguments that is */
        err.status = TACIT_ERR_ARGUMENT;
        for (char *at = err.message; (at = strchr(at, '-')) != NULL;) {
          *at = '_';
        }
      }
      return core_call_refuse(call, &err);
    }
  }
  return true;
}

bool core_call_read(core_call_t *call, const core_reader_t *reader, void *of, PyObject *data) {
  tacit_error_t err;
  const tacit_schema_t *schema;
  const char *const *columns;
  size_t n_columns;
  struct ArrowArrayStream stream = {0};
  const tacit_stream_watch_t watch = core_call_watch(call);
  tacit_data_source_t source = {.watch = &watch};
  if (reader->columns(of, &schema, &columns, &n_columns, &err) != TACIT_OK) {
    return core_call_refuse(call, &err);
  }
  if (!core_source_of(data, core_names(columns, n_columns, tacit_schema_unit(schema)), &stream, &source)) {
    return false;
  }
  core_work_begin(&call->work);
  tacit_status_t status = reader->read(of, &source, &err);
  core_work_end(&call->work);
  if (status == TACIT_ERR_SYNTAX ||
      status == TACIT_ERR_UNKNOWN) { /* of the data: formula and schema were read before */
    err.status = TACIT_ERR_DATA;
  }
  return (status == TACIT_OK && PyErr_CheckSignals() == 0) || core_call_refuse(call, &err);
}

PyObject *core_owned_text(tacit_status_t status, char *text, const tacit_error_t *err) {
  PyObject *out = status == TACIT_OK ? PyUnicode_FromString(text) : core_raise(err, NULL);
  tacit_free(text);
  return out;
}

static void said(void *user, const char *text) {
  core_call_t *call = user;
  size_t n = strnlen(text, sizeof call->detail - 1);
  memcpy(call->detail, text, n);
  call->detail[n] = '\0';
}

tacit_stream_watch_t core_call_watch(core_call_t *call) {
  return (tacit_stream_watch_t){.go_on = go_on, .said = said, .user = call};
}

static void core_call_forget(core_call_t *call) {
  Py_CLEAR(call->type);
  Py_CLEAR(call->value);
  Py_CLEAR(call->traceback);
}

bool core_call_refuse(core_call_t *call, const tacit_error_t *err) {
  if (call->type != NULL && err->status == TACIT_ERR_INTERRUPTED &&
      PyErr_GivenExceptionMatches(call->type, PyExc_KeyboardInterrupt)) {
    PyObject *message = core_spelled(err->message); /* what was charged, and what is left of it */
    core_call_forget(call);
    if (message != NULL) {
      PyErr_SetObject(PyExc_KeyboardInterrupt, message);
    }
    Py_XDECREF(message);
  } else if (call->type != NULL) {
    PyErr_Restore(call->type, call->value, call->traceback);
    call->type = call->value = call->traceback = NULL;
  } else if (strstr(call->detail, "KeyboardInterrupt") !=
             NULL) { /* met by the stream, which is Python itself */
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  } else {
    core_raise_unless_set(err, call->detail);
  }
  return false;
}

void core_call_clear(core_call_t *call) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Py_XDECREF(call->type);
  Py_XDECREF(call->value);
  Py_XDECREF(call->traceback);
  PyErr_Restore(type, value, traceback);
}

/* ---- streams ---- */

static bool stream_of_capsule(PyObject *capsule, struct ArrowArrayStream *stream) {
  struct ArrowArrayStream *held = PyCapsule_GetPointer(capsule, "arrow_array_stream");
  if (held == NULL) {
    return false;
  }
  *stream = *held; /* moved: the capsule's destructor sees a released one */
  held->release = NULL;
  return true;
}

PyObject *core_names(const char *const *columns, size_t n_columns, const char *unit) {
  PyObject *names = core_texts(columns, n_columns),
           *name = names != NULL && unit != NULL ? PyUnicode_FromString(unit) : NULL;
  if (name != NULL && PyList_Append(names, name) != 0) {
    Py_CLEAR(names);
  }
  Py_XDECREF(name);
  return names;
}

bool core_stream_of(PyObject *data, PyObject *names, struct ArrowArrayStream *stream) {
  PyObject *source = names == NULL ? NULL : PyObject_CallFunctionObjArgs(data, names, NULL);
  bool is_there = source != NULL && (PyList_Check(source) ? core_stream_of_columns(source, stream)
                                                          : stream_of_capsule(source, stream));
  Py_XDECREF(source);
  Py_XDECREF(names);
  return is_there;
}

bool core_source_of(PyObject *data, PyObject *names, struct ArrowArrayStream *stream,
                    tacit_data_source_t *source) {
  if (!PyUnicode_Check(data)) {
    source->stream = stream;
    return core_stream_of(data, names, stream);
  }
  Py_XDECREF(names);
  source->path = PyUnicode_AsUTF8AndSize(data, NULL);
  return source->path != NULL;
}

/* ---- the module ---- */

static PyMethodDef methods[] = {
    {"account", core_account, METH_VARARGS, "Compose events."},
    {"check", core_check, METH_VARARGS, "Read, charge, put a fit beside its records, free."},
    {"compare", core_compare, METH_VARARGS, "What each method would make of a budget."},
    {"contrast", core_contrast, METH_VARARGS, "A function of parameters, summarised."},
    {"effects", core_effects, METH_VARARGS,
     "What changing a column does on average over rows of an analyst."},
    {"families", core_families, METH_VARARGS, "Families of regressions."},
    {"fit", core_fit, METH_VARARGS, "Read, charge, draw, free."},
    {"infer", core_infer, METH_VARARGS, "Draw given a released statistic, free."},
    {"model", core_model, METH_VARARGS, "The program that a formula stands for."},
    {"pack_part", core_pack_part, METH_VARARGS, "Pack the records of a part."},
    {"part_columns", core_part_columns, METH_VARARGS, "Columns that a part is packed from."},
    {"sum_part", core_sum_part, METH_VARARGS, "What a part adds to the sums of a request."},
    {"plan", core_plan, METH_VARARGS, "What a budget would buy; reads nothing."},
    {"refit", core_refit, METH_VARARGS, "Draw given what fits released."},
    {"predict", core_predict, METH_VARARGS, "Predictions for rows that an analyst brings."},
    {"release", core_release, METH_VARARGS, "Read, charge, release a statistic, free."},
    {"schema_check", core_schema_check, METH_VARARGS, "What is wrong with a schema; every record beside it."},
    {"schema_draft", core_schema_draft, METH_VARARGS, "A template of a schema, from names and types."},
    {"settings", core_settings, METH_VARARGS, "All settings of a fit, a release or an inference."},
    {"statement", core_statement, METH_VARARGS,
     "The page about a fit or a data set that a privacy officer signs."},
    {"synthesize", core_synthesize, METH_VARARGS, "Rows that nobody is, from what a fit released."},
    {"read", core_read, METH_VARARGS, "Draws of a directory that a fit wrote."},
    {"want_width", core_want_width, METH_VARARGS, "Which epsilon gives intervals of a width; reads nothing."},
    {"ledger_create", core_ledger_create, METH_VARARGS, "Make a ledger."},
    {"ledger_read", core_ledger_read, METH_VARARGS, "All that a ledger says."},
    {NULL, NULL, 0, NULL}};

static int add_version(PyObject *module) {
  return PyModule_AddStringConstant(module, "version", tacit_version());
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(uintptr_t)add_version}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "tacit._core",
                                        .m_doc = "The library; use the functions of tacit.",
                                        .m_methods = methods, .m_slots = slots};

__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
