/* Does a function of lanes look at a lane alone? Not installed. */
#ifndef TACIT_BASE_PROBE_H
#define TACIT_BASE_PROBE_H

#include "tacit/base.h"

/* What a function writes: float; double, of which all NaN are the same; int64_t. */
typedef enum tacit_probe_kind {
  TACIT_PROBE_FLOATS,
  TACIT_PROBE_DOUBLES,
  TACIT_PROBE_WHOLE
} tacit_probe_kind_t;

/* out (n_blocks, n_out, 16) <- what the function makes of block (n_blocks, n_columns, 16); n_blocks is 1
 * or 2. */
typedef void (*tacit_probe_function)(void *user, const float *block, size_t n_blocks, void *out);
/* *is_pure <- judged on made-up numbers in [0, 1]: is what is in a lane of `out` a function of that lane of
 * the block alone? */
TACIT_MUST_USE tacit_status_t tacit_probe(size_t n_columns, tacit_probe_function function, void *user,
                                          size_t n_out, tacit_probe_kind_t kind, bool *is_pure,
                                          tacit_error_t *err);

#endif
