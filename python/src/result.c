/* Draws and what follows from them, as plain objects; directories that fits wrote, read back. */
#include "core.h"

#include <string.h>

#include "tacit/report.h"

PyObject *core_texts(const char *const *list, size_t n) {
  PyObject *out = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; out != NULL && i < n; i++) {
    PyObject *text = PyUnicode_FromString(list[i]);
    if (text == NULL || PyList_SetItem(out, (Py_ssize_t)i, text) != 0) {
      Py_DECREF(out);
      return NULL;
    }
  }
  return out;
}

/* float64, shape (n_chains, draws kept, n_reported). */
static PyObject *values(const tacit_draws_t *draws) {
  size_t n_kept = tacit_draws_n_kept(draws), size = n_kept * draws->n_reported * sizeof(double);
  PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(draws->n_chains * size));
  char *bytes = out == NULL ? NULL : PyBytes_AsString(out);
  for (size_t chain = 0; bytes != NULL && size > 0 && chain < draws->n_chains; chain++) {
    memcpy(bytes + chain * size, tacit_draws_row(draws, chain, draws->n_warmup), size);
  }
  return out;
}

/* float64, shape (n_chains, draws kept, 3): share accepted, size of a step, evaluations; of nothing where a
 * sampler says nothing. */
static PyObject *stats(const tacit_draws_t *draws) {
  enum { N_STATS = 3 };
  size_t n_kept = tacit_draws_n_kept(draws), n = draws->stats != NULL ? draws->n_chains * n_kept : 0;
  double *values = PyMem_Calloc(N_STATS * n + 1, sizeof *values);
  bool says_something = false;
  if (values == NULL) {
    return PyErr_NoMemory();
  }
  for (size_t i = 0; i < n; i++) {
    const tacit_draw_stats_t *of =
        &draws->stats[i / n_kept * (draws->n_warmup + draws->n_draws) + draws->n_warmup + i % n_kept];
    memcpy(values + N_STATS * i, (const double[]){of->accept_stat, of->step_size, of->n_leapfrog},
           N_STATS * sizeof *values);
    says_something = says_something || of->accept_stat > 0;
  }
  PyObject *out = PyBytes_FromStringAndSize((const char *)values,
                                            says_something ? (Py_ssize_t)(N_STATS * n * sizeof *values) : 0);
  PyMem_Free(values);
  return out;
}

/* [(mean, sd, mcse, q5, q50, q95, ess_bulk, ess_tail, rhat), ...] and the table of tacit summary. */
static bool put_summaries(PyObject *out, const tacit_draws_t *draws, const char *const *labels,
                          const tacit_evidence_t *evidence) {
  size_t n = draws->n_reported;
  tacit_summary_t *summaries = PyMem_Calloc(n + 1, sizeof *summaries);
  PyObject *rows = PyList_New(0);
  tacit_error_t err;
  char *table = NULL;
  tacit_status_t status = summaries != NULL && rows != NULL ? TACIT_OK : TACIT_ERR_MEMORY;
  if (status != TACIT_OK) {
    err = (tacit_error_t){.status = status, .message = "out of memory"};
  }
  bool ok = status == TACIT_OK;
  for (size_t j = 0; j < n && status == TACIT_OK && ok; j++) {
    tacit_summary_t *s = &summaries[j];
    status = tacit_draws_summarise_with(draws, j, evidence, s, &err);
    PyObject *row = status != TACIT_OK ? NULL
                                       : Py_BuildValue("(ddddddddd)", s->mean, s->sd, s->mcse_mean, s->q5,
                                                       s->q50, s->q95, s->ess_bulk, s->ess_tail, s->rhat);
    ok = row != NULL && PyList_Append(rows, row) == 0;
    Py_XDECREF(row);
  }
  if (status == TACIT_OK && ok) {
    status = tacit_report_table(labels, summaries, n, &table, &err);
  }
  if (status != TACIT_OK) {
    core_raise_unless_set(&err, NULL);
  }
  ok = ok && status == TACIT_OK && core_put(out, "table", PyUnicode_FromString(table));
  if (ok) {
    ok = core_put(out, "summaries", rows);
  } else {
    Py_XDECREF(rows);
  }
  tacit_report_text_free(table);
  PyMem_Free(summaries);
  return ok;
}

/* [(severity, what, advice), ...]: what tacit diagnose says. */
static PyObject *findings(const tacit_draws_t *draws, const char *const *labels,
                          const tacit_published_t *published, const tacit_evidence_t *evidence) {
  static const char *const severities[] = {"note", "warning", "problem"};
  tacit_findings_t found;
  tacit_error_t err;
  if (tacit_diagnose_fit(draws, labels, published, evidence != NULL ? &evidence->checks : NULL, &found,
                         &err) != TACIT_OK) {
    return core_raise(&err, NULL);
  }
  PyObject *out = PyList_New(0);
  for (size_t i = 0; out != NULL && i < found.n; i++) {
    const tacit_finding_t *item = &found.items[i];
    PyObject *finding = Py_BuildValue("(sNN)", severities[item->severity], core_spelled(item->what),
                                      core_spelled(item->advice));
    if (finding == NULL || PyList_Append(out, finding) != 0) {
      Py_CLEAR(out);
    }
    Py_XDECREF(finding);
  }
  return out;
}

PyObject *core_draws(const tacit_draws_t *draws, const char *const *labels, const char *const *names,
                     const tacit_published_t *published, const tacit_evidence_t *evidence) {
  PyObject *out = PyDict_New();
  bool ok = out != NULL && core_put(out, "n_chains", PyLong_FromSize_t(draws->n_chains)) &&
            core_put(out, "n_draws", PyLong_FromSize_t(tacit_draws_n_kept(draws))) &&
            core_put(out, "labels", core_texts(labels, draws->n_reported)) &&
            core_put(out, "names", core_texts(names, draws->n_reported)) &&
            core_put(out, "draws", values(draws)) && core_put(out, "stats", stats(draws)) &&
            put_summaries(out, draws, labels, evidence) &&
            core_put(out, "findings", findings(draws, labels, published, evidence)) &&
            core_put(out, "no_intervals",
                     PyBool_FromLong(evidence != NULL && tacit_checks_forbid_intervals(&evidence->checks)));
  if (!ok) {
    Py_XDECREF(out);
    return NULL;
  }
  return out;
}

/* read(directory) */
PyObject *core_read(PyObject *self, PyObject *args) {
  (void)self;
  const char *path;
  tacit_error_t err;
  tacit_report_read_t read;
  if (!PyArg_ParseTuple(args, "s", &path)) {
    return NULL;
  }
  core_work_t work;
  core_work_begin(&work);
  tacit_status_t status = tacit_report_read(&read, path, &err);
  core_work_end(&work);
  PyObject *out = status == TACIT_OK
                      ? core_draws(&read.draws, (const char *const *)read.labels,
                                   (const char *const *)read.names, &read.published, &read.evidence)
                      : core_raise(&err, NULL);
  if (out != NULL && !core_put(out, "family", PyUnicode_FromString(read.family != NULL ? read.family : ""))) {
    Py_CLEAR(out);
  }
  tacit_report_read_clear(&read);
  return out;
}
