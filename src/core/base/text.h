/* Growing texts; after a failed append, `failed` stays set and further appends do nothing. Not installed. */
#ifndef TACIT_BASE_TEXT_H
#define TACIT_BASE_TEXT_H

#include <stdarg.h>

#include "tacit/base.h"

typedef struct tacit_text {
  char *data; /* NUL-terminated once anything was appended; free with tacit_free */
  size_t length, capacity;
  bool failed;
} tacit_text_t;

void tacit_text_append(tacit_text_t *text, const char *bytes, size_t n);
void tacit_text_printf(tacit_text_t *text, const char *format, ...) TACIT_PRINTF(2, 3);
void tacit_text_vprintf(tacit_text_t *text, const char *format, va_list args) TACIT_PRINTF(2, 0);
void tacit_text_clear(tacit_text_t *text);
/* Hand the text over to *out where all went well; else clear it, *out is NULL. Returns `status`, or that
 * memory was out. */
TACIT_MUST_USE tacit_status_t tacit_text_take(tacit_text_t *text, tacit_status_t status, char **out,
                                              tacit_error_t *err);
/* Append a path from the root of the file system: others read it from elsewhere. */
void tacit_text_put_path(tacit_text_t *text, const char *path);

#endif
