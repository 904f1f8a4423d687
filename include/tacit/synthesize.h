/**
 * @file synthesize.h
 * Rows that nobody is: features as the released moments of a fit by method noise-aware tell of them,
 * responses from its posterior predictive; or rows of the table that noisy margins tell.
 * Nothing but releases, draws and public settings enters: no records, no privacy cost (docs/releases.md).
 */
#ifndef TACIT_SYNTHESIZE_H
#define TACIT_SYNTHESIZE_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tacit_synthesis_settings {
  size_t n_rows; /**< of each set, at most 10^8; 0: as many as there were records, where that is public */
  size_t n_sets; /**< 1 to 1000: each has moments and coefficients of its own, drawn from their posteriors */
  uint64_t seed;
} tacit_synthesis_settings_t;

/**
 * Make synthetic rows of the formula's columns, or the margins', which respect the schema's types, bounds and
 * levels.
 *
 * @param[in]  path  directory of a fit by method noise-aware, of a formula, or of tacit infer from margins
 * (each set from a draw of its own). Errors of a linear regression are drawn as normal.
 * @param[out] csv   a header and n_sets n_rows rows, the first column the number of the set, "synthetic_set";
 * owned, tacit_free().
 * @param[out] json  what was released of each feature beside what the rows have; owned, tacit_free().
 * @param[out] html  the same as a page that stands alone, with the rules for inference from several sets;
 * owned, tacit_free(); NULL: not wanted.
 * @return TACIT_ERR_MISSING for a fit without releases; TACIT_ERR_ARGUMENT: also for n_rows 0 where the
 * number of records is private, and for a column that the formula's features cannot be turned back into.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_synthesize(const char *path,
                                                         const tacit_synthesis_settings_t *settings,
                                                         char **csv, char **json, char **html,
                                                         tacit_error_t *err);

#ifdef __cplusplus
}
#endif
#endif
