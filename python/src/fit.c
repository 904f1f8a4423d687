/*
 * A fit as one call: settings, records, plan, charge, draws, report; then everything is freed. Python gives
 * settings as pairs of name and text, and three callables: one that hands out the records, one that may
 * refuse the plan, one that watches.
 */
#include "core.h"

#include "tacit/fit.h"
#include "tacit/infer.h"
#include "tacit/publish.h"
#include "tacit/report.h"

typedef struct call {
  tacit_fit_t *fit;
  core_call_t of;
  core_parts_t parts; /* where the records are elsewhere */
} call_t;

static bool on_iteration(const tacit_progress_t *progress, void *user) {
  call_t *call = user;
  return !core_work_is_due(&call->of.work, 0.1) ||
         core_call_tell(&call->of, progress, tacit_fit_spent(call->fit).epsilon);
}

/* ---- steps; each returns false with an exception set ---- */

static bool refuse(call_t *call, const tacit_error_t *err) { return core_call_refuse(&call->of, err); }

static tacit_status_t set(void *fit, const char *name, const char *text, tacit_error_t *err) {
  return tacit_fit_set(fit, name, text, err);
}

static bool set_up(call_t *call, const char *formula, PyObject *settings, const char *schema,
                   Py_ssize_t n_schema, const char *name) {
  tacit_error_t err;
  if (tacit_fit_new(&call->fit, formula, &err) != TACIT_OK) {
    return refuse(call, &err);
  }
  return core_call_set(&call->of, settings, set, call->fit) &&
         (tacit_fit_set_schema(call->fit, schema, (size_t)n_schema, name, &err) == TACIT_OK ||
          refuse(call, &err));
}

static tacit_status_t columns(void *fit, const tacit_schema_t **schema, const char *const **names, size_t *n,
                              tacit_error_t *err) {
  return tacit_fit_columns(fit, schema, names, n, err);
}

static tacit_status_t read_source(void *fit, const tacit_data_source_t *source, tacit_error_t *err) {
  return tacit_fit_read_source(fit, source, err);
}

const core_reader_t core_reader_of_fits = {.columns = columns, .read = read_source};

static PyObject *plan_of(call_t *call, double n_units) {
  static const char *const verdicts[] = {"good", "poor", "hopeless"};
  tacit_error_t err;
  tacit_fit_plan_t plan;
  core_work_begin(&call->of.work);
  tacit_status_t status = tacit_fit_plan(call->fit, n_units, &plan, &err);
  core_work_end(&call->of.work);
  if (status != TACIT_OK) {
    refuse(call, &err);
    return NULL;
  }
  return Py_BuildValue("{s:s,s:n,s:n,s:n,s:n,s:n,s:d,s:d,s:d,s:d,s:s,s:N,s:N,s:N}", "method", plan.method,
                       "n_chains", (Py_ssize_t)plan.n_chains, "n_iterations", (Py_ssize_t)plan.n_iterations,
                       "n_warmup", (Py_ssize_t)plan.n_warmup, "n_draws", (Py_ssize_t)plan.n_draws,
                       "n_releases", (Py_ssize_t)plan.n_releases, "ess", plan.ess, "ess_wide", plan.ess_wide,
                       "width", plan.width, "epsilon", plan.epsilon, "verdict", verdicts[plan.verdict],
                       "text", core_spelled(tacit_fit_text(call->fit, TACIT_FIT_TEXT_PLAN)), "warning",
                       core_spelled(tacit_fit_text(call->fit, TACIT_FIT_TEXT_WARNING)), "price",
                       core_spelled(tacit_fit_text(call->fit, TACIT_FIT_TEXT_PRICE)));
}

static bool show_plan(call_t *call, PyObject *on_plan) {
  PyObject *plan = plan_of(call, 0);
  PyObject *answer = plan == NULL ? NULL : PyObject_CallFunctionObjArgs(on_plan, plan, NULL);
  Py_XDECREF(plan);
  Py_XDECREF(answer);
  return answer != NULL;
}

/* ---- results ---- */

static PyObject *statement(const call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = tacit_fit_statement(call->fit, &text, &err);
  return core_owned_text(status, text, &err);
}

static PyObject *privacy(const call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  tacit_status_t status = tacit_fit_privacy_json(call->fit, &text, &err);
  return core_owned_text(status, text, &err);
}

/* A report that cannot be written takes nothing from the draws, which were paid for. */
static PyObject *written(call_t *call, bool has_out) {
  tacit_error_t err;
  core_work_begin(&call->of.work);
  tacit_status_t status = has_out ? tacit_fit_write(call->fit, NULL, &err) : TACIT_OK;
  core_work_end(&call->of.work);
  return PyUnicode_FromString(status == TACIT_OK ? "" : err.message);
}

static PyObject *result_of(call_t *call, bool has_out) {
  PyObject *out =
      core_draws(tacit_fit_draws(call->fit), tacit_fit_labels(call->fit), tacit_fit_names(call->fit),
                 tacit_fit_published(call->fit), tacit_fit_evidence(call->fit));
  bool ok =
      out != NULL && core_put(out, "unwritten", written(call, has_out)) &&
      core_put(out, "stopped", core_call_stopped(&call->of)) && core_put(out, "statement", statement(call)) &&
      core_put(out, "privacy", privacy(call)) &&
      core_put(out, "end", PyUnicode_FromString(tacit_fit_end(call->fit))) &&
      core_put(out, "spent", core_spelled(tacit_fit_text(call->fit, TACIT_FIT_TEXT_SPENT))) &&
      core_put(out, "program", PyUnicode_FromString(tacit_fit_text(call->fit, TACIT_FIT_TEXT_PROGRAM))) &&
      core_put(out, "tuned", core_spelled(tacit_fit_text(call->fit, TACIT_FIT_TEXT_TUNED))) &&
      core_put(out, "unsettled", core_spelled(tacit_fit_text(call->fit, TACIT_FIT_TEXT_UNSETTLED)));
  if (!ok) {
    Py_CLEAR(out);
  }
  return out;
}

/* What was paid for before somebody stopped the run, as `releases` of the exception that is set; false. */
static bool attach_releases(call_t *call) {
  tacit_error_t err;
  char *text = NULL;
  PyObject *type, *value, *traceback;
  if (tacit_fit_releases_json(call->fit, &text, &err) != TACIT_OK) {
    return false;
  }
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *releases = PyUnicode_FromString(text);
  if (releases == NULL || value == NULL || PyObject_SetAttrString(value, "releases", releases) != 0) {
    PyErr_Clear(); /* of an exception that takes no attributes: it says what it says */
  }
  Py_XDECREF(releases);
  tacit_free(text);
  PyErr_Restore(type, value, traceback);
  return false;
}

static bool run(call_t *call) {
  tacit_error_t err;
  core_work_begin(&call->of.work);
  tacit_status_t status = tacit_fit_run(call->fit, on_iteration, call, &err);
  core_work_end(&call->of.work);
  return status == TACIT_OK || (refuse(call, &err), attach_releases(call));
}

static void clear(call_t *call) {
  tacit_fit_free(call->fit);
  core_call_clear(&call->of);
}

/* fit(formula, [(name, text), ...], schema, its name, data or its parts, on_plan, on_progress or None, is a
 * report to be written?) */
PyObject *core_fit(PyObject *self, PyObject *args) {
  (void)self;
  const char *formula, *schema, *name;
  Py_ssize_t n_schema;
  PyObject *settings, *data, *on_plan;
  int has_out;
  call_t call = {0};
  if (!PyArg_ParseTuple(args, "sO!y#sOOOp", &formula, &PyList_Type, &settings, &schema, &n_schema, &name,
                        &data, &on_plan, &call.of.on_progress, &has_out)) {
    return NULL;
  }
  bool is_drawn = set_up(&call, formula, settings, schema, n_schema, name) &&
                  (PyTuple_Check(data) ? core_parts_read(&call.of, &call.parts, call.fit, data)
                                       : core_call_read(&call.of, &core_reader_of_fits, call.fit, data)) &&
                  show_plan(&call, on_plan) && run(&call);
  PyObject *out = is_drawn ? result_of(&call, has_out) : NULL;
  clear(&call);
  return out;
}

/* What other draws are made of: one fit, or those of several sites. */
typedef struct kept {
  PyObject *paths, *settings;
  int is_disjoint;
  double between;    /* scale of sds between sites; 0: common effects */
  const char *check; /* file of a check to show, or NULL */
} kept_t;

static bool reopen(call_t *call, const kept_t *kept) {
  enum { MAX_SITES = 64 };
  const char *names[MAX_SITES];
  tacit_error_t err;
  Py_ssize_t n = PyList_Size(kept->paths);
  for (Py_ssize_t i = 0; i < n && i < MAX_SITES; i++) {
    names[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(kept->paths, i), NULL);
    if (names[i] == NULL) {
      return false;
    }
  }
  if (n < 1 || n > MAX_SITES) {
    PyErr_Format(PyExc_ValueError, "1 to %d sites are combined", (int)MAX_SITES);
    return false;
  }
  tacit_status_t status = n == 1 ? tacit_fit_reopen(&call->fit, names[0], &err)
                                 : tacit_fit_combine(&call->fit, names, (size_t)n, kept->is_disjoint, &err);
  status = status == TACIT_OK && kept->between > 0
               ? tacit_fit_set_exchangeable(call->fit, kept->between, &err)
               : status;
  status =
      status == TACIT_OK && kept->check != NULL ? tacit_fit_show_check(call->fit, kept->check, &err) : status;
  return status == TACIT_OK ? core_call_set(&call->of, kept->settings, set, call->fit) : refuse(call, &err);
}

static bool redraw(call_t *call) {
  tacit_error_t err;
  core_work_begin(&call->of.work);
  tacit_status_t status = tacit_fit_redraw(call->fit, on_iteration, call, &err);
  core_work_end(&call->of.work);
  return status == TACIT_OK || refuse(call, &err);
}

/*
 * refit([directory, ...], are they disjoint sites?, scale of the sds between them or 0, file of a check or
 * None, [(name, text), ...], on_progress or None, is a report to be written?)
 */
PyObject *core_refit(PyObject *self, PyObject *args) {
  (void)self;
  int has_out;
  kept_t kept;
  call_t call = {0};
  if (!PyArg_ParseTuple(args, "O!pdzO!Op", &PyList_Type, &kept.paths, &kept.is_disjoint, &kept.between,
                        &kept.check, &PyList_Type, &kept.settings, &call.of.on_progress, &has_out)) {
    return NULL;
  }
  PyObject *out = reopen(&call, &kept) && redraw(&call) ? result_of(&call, has_out) : NULL;
  clear(&call);
  return out;
}

/* All methods under the budget; NULL with an exception. */
static PyObject *choices_of(call_t *call, double n_units) {
  tacit_error_t err;
  tacit_fit_choice_t choices[TACIT_FIT_N_CHOICES];
  core_work_begin(&call->of.work);
  tacit_status_t status = tacit_fit_compare(call->fit, n_units, choices, &err);
  core_work_end(&call->of.work);
  if (status != TACIT_OK) {
    refuse(call, &err);
    return NULL;
  }
  PyObject *out = PyList_New(0);
  for (size_t i = 0; out != NULL && i < TACIT_FIT_N_CHOICES; i++) {
    const tacit_fit_choice_t *choice = &choices[i];
    PyObject *item =
        Py_BuildValue("{s:s,s:s,s:O,s:s,s:n,s:d,s:d,s:d}", "method", choice->method, "acceptance",
                      choice->acceptance, "applies", choice->status == TACIT_OK ? Py_True : Py_False,
                      "reason", choice->reason, "n_iterations", (Py_ssize_t)choice->n_iterations, "ess",
                      choice->ess, "ess_wide", choice->ess_wide, "width", choice->width);
    if (item == NULL || PyList_Append(out, item) != 0) {
      Py_CLEAR(out);
    }
    Py_XDECREF(item);
  }
  return out;
}

/* What a plan is asked for: (formula, [(name, text), ...], schema, its name, n), and perhaps a width. */
static bool begin_plan(call_t *call, PyObject *args, double *n_units, double *width) {
  const char *formula, *schema, *name;
  Py_ssize_t n_schema;
  PyObject *settings;
  return PyArg_ParseTuple(args, "sO!y#sd|d", &formula, &PyList_Type, &settings, &schema, &n_schema, &name,
                          n_units, width) &&
         set_up(call, formula, settings, schema, n_schema, name);
}

/* compare(as above) -> (methods, advice) */
PyObject *core_compare(PyObject *self, PyObject *args) {
  (void)self;
  double n_units, width;
  call_t call = {0};
  PyObject *methods = begin_plan(&call, args, &n_units, &width) ? choices_of(&call, n_units) : NULL;
  PyObject *out =
      methods == NULL
          ? NULL
          : Py_BuildValue("(NN)", methods, core_spelled(tacit_fit_text(call.fit, TACIT_FIT_TEXT_ADVICE)));
  clear(&call);
  return out;
}

/* plan(as above) */
PyObject *core_plan(PyObject *self, PyObject *args) {
  (void)self;
  double n_units, width;
  call_t call = {0};
  PyObject *out = begin_plan(&call, args, &n_units, &width) ? plan_of(&call, n_units) : NULL;
  clear(&call);
  return out;
}

/* want_width(as above, width) -> ([(relation, epsilon, epsilon where columns are unkind), ...], page that
 * draws it) */
PyObject *core_want_width(PyObject *self, PyObject *args) {
  (void)self;
  double n_units, width = 0;
  tacit_fit_want_t wants[2];
  tacit_error_t err;
  char *html = NULL;
  call_t call = {0};
  PyObject *out = NULL;
  if (begin_plan(&call, args, &n_units, &width)) {
    core_work_begin(&call.of.work);
    tacit_status_t status = tacit_fit_want_width(call.fit, n_units, width, wants, &err);
    status = status == TACIT_OK ? tacit_fit_plan_page(call.fit, n_units, &html, &err) : status;
    core_work_end(&call.of.work);
    if (status == TACIT_OK) {
      out = Py_BuildValue("([(sdd)(sdd)]s)", tacit_relation_string(wants[0].relation), wants[0].epsilon,
                          wants[0].epsilon_poor, tacit_relation_string(wants[1].relation), wants[1].epsilon,
                          wants[1].epsilon_poor, html);
      tacit_report_text_free(html);
    } else {
      refuse(&call, &err);
    }
  }
  clear(&call);
  return out;
}

/* settings("fit", "release" or "infer") */
PyObject *core_settings(PyObject *self, PyObject *args) {
  (void)self;
  size_t n;
  const char *of;
  if (!PyArg_ParseTuple(args, "s", &of)) {
    return NULL;
  }
  const tacit_setting_t *settings = of[0] == 'f'   ? tacit_fit_settings(&n)
                                    : of[0] == 'r' ? tacit_publish_settings(&n)
                                                   : tacit_infer_settings(&n);
  PyObject *out = PyList_New(0);
  for (size_t i = 0; out != NULL && i < n; i++) {
    const tacit_setting_t *setting = &settings[i];
    PyObject *item =
        setting->kind == TACIT_SETTING_PROGRAM
            ? Py_NewRef(Py_None)
            : Py_BuildValue("{s:s,s:z,s:z,s:s,s:s,s:O}", "name", setting->name, "value", setting->value,
                            "default", setting->fallback, "help", setting->help, "group", setting->group,
                            "is_flag", setting->kind == TACIT_SETTING_FLAG ? Py_True : Py_False);
    if (item == NULL || (item != Py_None && PyList_Append(out, item) != 0)) {
      Py_CLEAR(out);
    }
    Py_XDECREF(item);
  }
  return out;
}
