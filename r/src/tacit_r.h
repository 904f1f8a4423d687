/* What the parts share. A failure is returned as a list of class "tacit_failure" and raised in R, so that
 * nothing is jumped over. */
#ifndef TACIT_R_H
#define TACIT_R_H

#define R_NO_REMAP
#include <R.h>
#include <Rinternals.h>

#include <tacit/arrow.h>
#include <tacit/base.h>
#include <tacit/data.h>
#include <tacit/diagnose.h>
#include <tacit/draws.h>
#include <tacit/fit.h>
#include "tacit/base.h"

SEXP r_wrong_argument(const char *field, const char *message);
/* A count that R gave as a double: 0 for what is none. */
static inline uint64_t r_count(double x) { return x >= 0 && x <= 9007199254740992.0 ? (uint64_t)x : 0; }
SEXP r_failure(const tacit_error_t *err, const char *detail);
/* A named list, by NULL-ended names; its elements are to be set. */
SEXP r_list(const char *const *names);
SEXP r_texts(const char *const *texts, size_t n);
/* The same of messages and plans, settings in them spelled as R writes them, "epsilon = 1". */
SEXP r_spelled(const char *const *texts, size_t n);
/* A text of the library's; NA is an empty one. */
const char *r_text(SEXP text);

/* A stream over a named list of columns; they are borrowed and must be protected while it lives. NULL or what
 * is wrong. */
const char *r_stream_of(SEXP columns, struct ArrowArrayStream *stream);

/* A path, or the stream of such a list or of an external pointer to one, which is moved. */
tacit_status_t r_open_source(SEXP data, struct ArrowArrayStream *stream, tacit_data_source_t *source,
                             tacit_error_t *err);

/* What a call holds, on an external pointer whose finaliser ends it: an R error in between leaks nothing.
 * r_let_go() ends it now. */
SEXP r_hold(void *object, void (*end)(void *object));
void r_let_go(SEXP pointer);

/* Who may stop a call. */
typedef struct r_watch {
  SEXP tell; /* NULL, or a function of (iteration, n_iterations) */
  double next;
  bool is_stopped;
  char detail[512]; /* what the stream said: private */
} r_watch_t;

tacit_stream_watch_t r_stream_watch(r_watch_t *watch);
/* A tacit_progress_fn; user: a watch. */
bool r_on_iteration(const tacit_progress_t *progress, void *user);

/* A fit during a call, on a pointer as above; steps of it that several calls have. */
typedef struct r_fit_call {
  tacit_fit_t *fit;
  r_watch_t watch;
} r_fit_call_t;

SEXP r_hold_fit(r_fit_call_t **call);
tacit_status_t r_fit_set(r_fit_call_t *call, SEXP settings, tacit_error_t *err);
tacit_status_t r_fit_read(r_fit_call_t *call, SEXP data, tacit_error_t *err);
/* Draws, texts, and why a report that was asked for was not written. */
SEXP r_fit_result(r_fit_call_t *call, bool has_out);

/* Is a setting among those given? */
bool r_has_setting(SEXP settings, const char *name);
/* A text of the library's, freed; "" where there is none. */
SEXP r_owned_text(tacit_status_t status, char *text);

SEXP r_fit(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP data, SEXP on_plan, SEXP is_told);
SEXP r_plan(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP n);
SEXP r_want_width(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP n, SEXP width);
SEXP r_infer(SEXP model, SEXP its_name, SEXP statistic, SEXP name, SEXP settings, SEXP is_told);
SEXP r_release(SEXP formula, SEXP settings, SEXP schema, SEXP name, SEXP data);
SEXP r_refit(SEXP paths, SEXP is_disjoint, SEXP between, SEXP shown, SEXP settings, SEXP is_told);
SEXP r_check(SEXP path, SEXP by, SEXP settings, SEXP data);
SEXP r_synthesize(SEXP path, SEXP rows, SEXP sets, SEXP seed);
SEXP r_predict(SEXP fit, SEXP known_sd, SEXP data, SEXP kind, SEXP seed);
SEXP r_effects(SEXP fit, SEXP known_sd, SEXP data, SEXP columns);
SEXP r_statement(SEXP path, SEXP ledger, SEXP kind);
SEXP r_model(SEXP formula, SEXP family, SEXP schema, SEXP name);
SEXP r_schema_draft(SEXP data);
SEXP r_schema_check(SEXP schema, SEXP name, SEXP data);
SEXP r_families(void);
SEXP r_family_meant(SEXP name);
SEXP r_contrast(SEXP fit, SEXP expression);
SEXP r_settings(SEXP of);
SEXP r_account(SEXP events, SEXP counts, SEXP relation, SEXP epsilon, SEXP delta, SEXP method);
SEXP r_read(SEXP path);
SEXP r_columns(SEXP fit);
SEXP r_ledger_create(SEXP path, SEXP data_id, SEXP epsilon, SEXP delta, SEXP relation, SEXP unit,
                     SEXP max_rows);
SEXP r_ledger(SEXP path, SEXP is_thorough);
SEXP r_draws(const tacit_draws_t *draws, const char *const *labels, const char *const *names,
             const tacit_published_t *published, const tacit_evidence_t *evidence);

#endif
