/* What the parts of the extension share. Nothing here is a handle that Python can hold: each call reads,
 * works, frees. */
#ifndef TACIT_PYTHON_CORE_H
#define TACIT_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "tacit/arrow.h"
#include "tacit/base.h"
#include "tacit/data.h"
#include "tacit/diagnose.h"
#include "tacit/draws.h"

/* Set the exception that stands for an error; `detail` (may be NULL) is private: what a stream said. Returns
 * NULL. */
PyObject *core_raise(const tacit_error_t *err, const char *detail);
/* The same, where an exception that is set already stays: as of a callback that stopped the work. */
PyObject *core_raise_unless_set(const tacit_error_t *err, const char *detail);

/* A text of the library's for a person, settings as Python writes them; NULL with an exception. */
PyObject *core_spelled(const char *text);

/* A dictionary's entry, the reference to `value` taken; false with an exception, also where value is NULL. */
bool core_put(PyObject *dict, const char *key, PyObject *value);

/* A list of n texts; NULL with an exception. */
PyObject *core_texts(const char *const *list, size_t n);

/* The GIL while C works, which it may be given back to look at signals and to call Python. */
typedef struct core_work {
  PyThreadState *state;
  double next; /* second at which Python is asked again */
} core_work_t;

void core_work_begin(core_work_t *work);
/* With the GIL again. */
void core_work_end(core_work_t *work);
/* Is it time to take the GIL? At most once in `seconds`. */
bool core_work_is_due(core_work_t *work, double seconds);

/* A call that takes long: its work, and why it stopped. */
typedef struct core_call {
  core_work_t work;
  PyObject *on_progress; /* a function of (iteration, n_iterations, epsilon), None, or NULL; borrowed */
  PyObject *type, *value,
      *traceback;   /* what stopped the work: set aside, so that others may run Python meanwhile */
  char detail[512]; /* what the stream said: private */
} core_call_t;

/* Without the GIL: look at signals and tell whoever watches; false if either stops the work. */
bool core_call_tell(core_call_t *call, const tacit_progress_t *progress, double epsilon);
/* What stopped the work, or None; a new reference. */
PyObject *core_call_stopped(core_call_t *call);
/* Lets signals stop the reading of a stream, and keeps what that says. */
tacit_stream_watch_t core_call_watch(core_call_t *call);
/* False, with the exception for an error; what was set aside comes first: it is why the library stopped. */
bool core_call_refuse(core_call_t *call, const tacit_error_t *err);
/* Give all pairs of name and text to `target`; false with an exception. */
typedef tacit_status_t (*core_set_fn)(void *target, const char *name, const char *text, tacit_error_t *err);
bool core_call_set(core_call_t *call, PyObject *settings, core_set_fn set, void *target);
/* A text of the library's, freed; NULL with an exception where status is an error. */
PyObject *core_owned_text(tacit_status_t status, char *text, const tacit_error_t *err);
/* An exception that is set stays. */
void core_call_clear(core_call_t *call);

/* Names of columns and of that of persons (may be NULL) as a list; NULL with an exception. */
PyObject *core_names(const char *const *columns, size_t n_columns, const char *unit);
/*
 * The stream that Python hands out: data is called with names and returns a capsule, or a list of columns in
 * buffers. names is taken, and NULL where it could not be made. False with an exception.
 */
bool core_stream_of(PyObject *data, PyObject *names, struct ArrowArrayStream *stream);
/* The same, or the path that data is, as a source. */
bool core_source_of(PyObject *data, PyObject *names, struct ArrowArrayStream *stream,
                    tacit_data_source_t *source);
/* What reads records: fits and releases. */
typedef struct core_reader {
  tacit_status_t (*columns)(void *of, const tacit_schema_t **schema, const char *const **columns, size_t *n,
                            tacit_error_t *err);
  tacit_status_t (*read)(void *of, const tacit_data_source_t *source, tacit_error_t *err);
} core_reader_t;
extern const core_reader_t core_reader_of_fits;
/* The records of `data` into `of`; false with an exception. */
bool core_call_read(core_call_t *call, const core_reader_t *reader, void *of, PyObject *data);
/* ---- parts.c: records in parts that an engine holds; data is ([(records, units), ...], a function of a
 * request that returns sums as bytes) ---- */

struct tacit_fit;
typedef struct core_parts {
  core_call_t *call;
  PyObject *sum; /* borrowed */
} core_parts_t;
/* `parts` outlives the fit; false with an exception. */
bool core_parts_read(core_call_t *call, core_parts_t *parts, struct tacit_fit *fit, PyObject *data);
bool core_parts_sum(void *parts, const char *request, size_t n, int64_t *sums);

/*
 * A stream over the buffers of Python objects, for frames that do not speak Arrow: columns is a list of
 * (name, format, n_rows, (buffer or None, ...)). The objects are kept until the stream is released.
 */
bool core_stream_of_columns(PyObject *columns, struct ArrowArrayStream *stream);

/* What is known of draws: a dictionary of plain objects. published and evidence: what the fit tells of
 * itself, or NULL. */
PyObject *core_draws(const tacit_draws_t *draws, const char *const *labels, const char *const *names,
                     const tacit_published_t *published, const tacit_evidence_t *evidence);

PyObject *core_account(PyObject *self, PyObject *args);
PyObject *core_effects(PyObject *self, PyObject *args);
PyObject *core_families(PyObject *self, PyObject *args);
PyObject *core_fit(PyObject *self, PyObject *args);
PyObject *core_refit(PyObject *self, PyObject *args);
PyObject *core_part_columns(PyObject *self, PyObject *args);
PyObject *core_pack_part(PyObject *self, PyObject *args);
PyObject *core_sum_part(PyObject *self, PyObject *args);
PyObject *core_plan(PyObject *self, PyObject *args);
PyObject *core_compare(PyObject *self, PyObject *args);
PyObject *core_check(PyObject *self, PyObject *args);
PyObject *core_contrast(PyObject *self, PyObject *args);
PyObject *core_infer(PyObject *self, PyObject *args);
PyObject *core_model(PyObject *self, PyObject *args);
PyObject *core_predict(PyObject *self, PyObject *args);
PyObject *core_release(PyObject *self, PyObject *args);
PyObject *core_statement(PyObject *self, PyObject *args);
PyObject *core_synthesize(PyObject *self, PyObject *args);
PyObject *core_schema_check(PyObject *self, PyObject *args);
PyObject *core_schema_draft(PyObject *self, PyObject *args);
PyObject *core_settings(PyObject *self, PyObject *args);
PyObject *core_read(PyObject *self, PyObject *args);
PyObject *core_want_width(PyObject *self, PyObject *args);
PyObject *core_ledger_create(PyObject *self, PyObject *args);
PyObject *core_ledger_read(PyObject *self, PyObject *args);

#endif
