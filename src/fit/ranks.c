/* What the ranks of a fit do together. */
#include <string.h>

#include "fit/fit_internal.h"

void tacit_fit_set_ranks(tacit_fit_t *fit, const tacit_fit_ranks_t *ranks) {
  fit->ranks = *ranks;
}

bool tacit_fit_is_first_rank(const tacit_fit_t *fit) {
  return fit->ranks.ranks == NULL || fit->ranks.ranks->rank == 0;
}

tacit_status_t tacit_fit_ranks_agree(const tacit_fit_t *fit, tacit_error_t *err) {
  if (fit->ranks.ranks == NULL || fit->ranks.is_well == NULL || fit->ranks.is_well(fit->ranks.user)) {
    return TACIT_OK;
  }
  return tacit_error_set(err, TACIT_ERR_STATE, "ranks", "another of the processes has failed");
}

tacit_status_t tacit_fit_make_key(const tacit_fit_t *fit, unsigned char key[32], tacit_error_t *err) {
  const tacit_ranks_t *ranks = fit->ranks.ranks;
  int64_t words[4] = {0};
  tacit_status_t status = tacit_rng_key_from_system(key, err);
  if (status != TACIT_OK || ranks == NULL) {
    return status;
  }
  status = tacit_fit_ranks_agree(fit, err);
  if (status == TACIT_OK) { /* the sum of the first rank's key and zeros */
    if (ranks->rank == 0) {
      memcpy(words, key, sizeof words);
    }
    ranks->sum(ranks->user, sizeof words / sizeof words[0], words);
    memcpy(key, words, sizeof words);
    tacit_rng_key_wipe((unsigned char *)words);
  }
  return status;
}
