/* Errors with a caret under the fault. Not installed. */
#ifndef TACIT_MODEL_TEXT_H
#define TACIT_MODEL_TEXT_H

#include "tacit/base.h"

/*
 * Fill err with "<what>: <reason>", a line with the text (a window of it if it is long) and a line
 * with a caret under byte `offset`; return status.
 */
tacit_status_t tacit_caret_error(tacit_error_t *err, tacit_status_t status, const char *what,
                                 const char *text, size_t offset, const char *format, ...) TACIT_PRINTF(6, 7);

#endif
