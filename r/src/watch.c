/* Calls that take long: what they hold until they end, and who may stop them. R may jump, so it is called
 * where jumps end. */
#include "tacit_r.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- what a call holds ---- */

typedef struct held {
  void *object;
  void (*end)(void *object);
} held_t;

static void finalise(SEXP pointer) {
  held_t *held = R_ExternalPtrAddr(pointer);
  if (held != NULL) {
    R_ClearExternalPtr(pointer);
    held->end(held->object);
    R_Free(held);
  }
}

SEXP r_hold(void *object, void (*end)(void *object)) {
  held_t *held = R_Calloc(1, held_t);
  *held = (held_t){object, end};
  SEXP pointer = PROTECT(R_MakeExternalPtr(held, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, finalise, TRUE);
  UNPROTECT(1);
  return pointer;
}

void r_let_go(SEXP pointer) { finalise(pointer); }

/* ---- who may stop it ---- */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_due(r_watch_t *watch, double seconds) {
  double now = seconds_now();
  if (now < watch->next) {
    return false;
  }
  watch->next = now + seconds;
  return true;
}

static void look(void *user) {
  (void)user;
  R_CheckUserInterrupt();
}

static bool go_on(void *user) {
  r_watch_t *watch = user;
  if (is_due(watch, 0.05) && !R_ToplevelExec(look, NULL)) {
    watch->is_stopped = true;
  }
  return !watch->is_stopped;
}

static void said(void *user, const char *text) {
  r_watch_t *watch = user;
  snprintf(watch->detail, sizeof watch->detail, "%s", text);
}

tacit_stream_watch_t r_stream_watch(r_watch_t *watch) {
  return (tacit_stream_watch_t){.go_on = go_on, .said = said, .user = watch};
}

typedef struct telling {
  SEXP function;
  const tacit_progress_t *progress;
} telling_t;

static void tell(void *user) {
  telling_t *telling = user;
  R_CheckUserInterrupt();
  if (telling->function != R_NilValue) {
    SEXP n = PROTECT(Rf_ScalarReal((double)telling->progress->n_iterations)),
         i = PROTECT(Rf_ScalarReal((double)telling->progress->iteration));
    SEXP expression = PROTECT(Rf_lang3(telling->function, i, n));
    Rf_eval(expression, R_GlobalEnv);
    UNPROTECT(3);
  }
}

bool r_on_iteration(const tacit_progress_t *progress, void *user) {
  r_watch_t *watch = user;
  telling_t telling = {watch->tell, progress};
  if (is_due(watch, 0.1) && !R_ToplevelExec(tell, &telling)) {
    watch->is_stopped = true;
  }
  return !watch->is_stopped;
}

/* ---- texts and streams ---- */

SEXP r_owned_text(tacit_status_t status, char *text) {
  if (status != TACIT_OK) {
    return Rf_mkString("");
  }
  SEXP out = PROTECT(r_texts((const char *const *)&text, 1));
  tacit_free(text);
  UNPROTECT(1);
  return out;
}

tacit_status_t r_open_source(SEXP data, struct ArrowArrayStream *stream, tacit_data_source_t *source,
                             tacit_error_t *err) {
  const char *wrong = "data: expected a data frame, a path, or what nanoarrow makes a stream of";
  if (TYPEOF(data) == STRSXP) {
    source->path = r_text(data);
    return TACIT_OK;
  }
  source->stream = stream;
  if (TYPEOF(data) == VECSXP) {
    wrong = r_stream_of(data, stream);
  } else if (TYPEOF(data) == EXTPTRSXP && R_ExternalPtrAddr(data) != NULL) {
    struct ArrowArrayStream *held = R_ExternalPtrAddr(data);
    *stream = *held; /* moved: its own finaliser sees a released one */
    held->release = NULL;
    wrong = NULL;
  }
  if (wrong == NULL) {
    return TACIT_OK;
  }
  *err = (tacit_error_t){.status = TACIT_ERR_ARGUMENT, .field = "data"};
  snprintf(err->message, sizeof err->message, "%s", wrong);
  return err->status;
}
