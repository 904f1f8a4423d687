#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/pool.h"

const char *tacit_status_string(int status) {
  switch (status) {
  case TACIT_OK:
    return "success";
  case TACIT_ERR_MEMORY:
    return "out of memory";
  case TACIT_ERR_ARGUMENT:
    return "an argument is outside its documented range";
  case TACIT_ERR_STATE:
    return "the object cannot do this in its present state";
  case TACIT_ERR_INTERRUPTED:
    return "interrupted";
  case TACIT_ERR_SYNTAX:
    return "the text does not parse";
  case TACIT_ERR_SCHEMA:
    return "the schema is inconsistent or incomplete";
  case TACIT_ERR_DATA:
    return "a record breaks a rule of the schema";
  case TACIT_ERR_UNKNOWN:
    return "the name is not known";
  case TACIT_ERR_NUMERIC:
    return "a computation left its domain or did not converge";
  case TACIT_ERR_BUDGET:
    return "the privacy budget refuses the release";
  case TACIT_ERR_NOISE:
    return "privacy noise could not be drawn";
  case TACIT_ERR_SENSITIVITY:
    return "no bound on a record's influence is known";
  case TACIT_ERR_IO:
    return "reading or writing failed";
  case TACIT_ERR_EXISTS:
    return "refuses to overwrite something that exists";
  case TACIT_ERR_MISSING:
    return "the file or directory does not exist";
  default:
    return "unknown status";
  }
}

const char *tacit_version(void) { return TACIT_VERSION; }

bool tacit_relation_parse(const char *text, tacit_relation_t *relation) {
  bool is_add_remove = strcmp(text, "add-remove") == 0;
  *relation = is_add_remove ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE;
  return is_add_remove || strcmp(text, "substitute") == 0;
}

const char *tacit_relation_string(tacit_relation_t relation) {
  return relation == TACIT_RELATION_ADD_REMOVE ? "add-remove" : "substitute";
}

/* Of a text that fills its `size`: whole words, and dots that say that there was more, as names and paths may
 * be of any length. */
static void end_with_dots(char *text, size_t size) {
  char *end = text + size - sizeof "...";
  for (size_t back = 0; back < 80 && *end != ' '; back++) {
    end--;
  }
  memcpy(*end == ' ' ? end : text + size - sizeof "...", "...", sizeof "...");
}

tacit_status_t tacit_error_set(tacit_error_t *err, tacit_status_t status, const char *field,
                               const char *format, ...) {
  if (err == NULL) {
    return status;
  }
  err->status = status;
  snprintf(err->field, sizeof err->field, "%s", field != NULL ? field : "");
  va_list args;
  va_start(args, format);
  int length = vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  if (length >= (int)sizeof err->message) {
    end_with_dots(err->message, sizeof err->message);
  }
  return status;
}

tacit_status_t tacit_error_memory(tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_MEMORY, NULL, "out of memory");
}

double tacit_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
