/*
 * Included before each source that scripts/analyze looks at: analysers see one file at a time, and cannot
 * know that these never return TACIT_OK. Not part of any build.
 */
#define _GNU_SOURCE /* as some sources do, before their first include */
#include "base/error.h"
#define tacit_error_memory(err) ((void)(tacit_error_memory)(err), TACIT_ERR_MEMORY)
#define tacit_error_set(err, status, ...) ((void)(tacit_error_set)((err), (status), __VA_ARGS__), (status))
