/* Error texts, and steps of which each is taken if all before it went well. Not installed. */
#ifndef TACIT_BASE_ERROR_H
#define TACIT_BASE_ERROR_H

#include "tacit/base.h"

/* Fill err (may be NULL) and return status. field may be NULL. */
tacit_status_t tacit_error_set(tacit_error_t *err, tacit_status_t status, const char *field,
                               const char *format, ...) TACIT_PRINTF(4, 5);
/* Out of memory, in the words used everywhere. */
tacit_status_t tacit_error_memory(tacit_error_t *err);

/* Take a step if all went well so far: status <- the step's; else leave it as it is, the step not taken. */
#define TACIT_THEN(status, step) ((status) = (status) == TACIT_OK ? (step) : (status))

#endif
