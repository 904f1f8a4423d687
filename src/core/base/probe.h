/* Does a function of lanes look at a lane alone? Not installed. */
#ifndef TACIT_BASE_PROBE_H
#define TACIT_BASE_PROBE_H

#include "tacit/base.h"

/*
 * out (n_blocks, n_out, 16), numbers of `size` bytes, float (4) or double or int64_t (8) <- what the function
 * makes of block (n_blocks, n_columns, 16); n_blocks is 1 or 2.
 */
typedef void (*tacit_probe_function)(void *user, const float *block, size_t n_blocks, void *out);
/* *is_pure <- judged on made-up numbers in [0, 1]: is what is in a lane of `out` a function of that lane of
 * the block alone? */
TACIT_MUST_USE tacit_status_t tacit_probe(size_t n_columns, tacit_probe_function function, void *user,
                                          size_t n_out, size_t size, bool *is_pure, tacit_error_t *err);

#endif
