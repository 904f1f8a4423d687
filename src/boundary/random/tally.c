/* TunaMH with public constants [Zhang2020, Algorithm 3; Zhang2023]: records counted by thinning
 * (docs/theory.md, section 15). */
#include "random/tally.h"

#include "base/isa.h"
#include "random/noise.h"

extern tacit_log_odds_function tacit_log_odds_portable;
#if defined(__x86_64__)
extern tacit_log_odds_function tacit_log_odds_avx2, tacit_log_odds_avx512;
#endif

void tacit_log_odds(size_t n, double most, const double *x, int64_t *out) {
  TACIT_ISA_SELECT(tacit_log_odds)(n, most, x, out);
}

/*
 * Poisson with mean n (a + b), of as many items at a time as the argument holds. How many there are may be
 * private: no number of them may lead to a refusal.
 */
static tacit_status_t draw_size(tacit_noise_t *noise, uint64_t n, uint64_t rate, uint64_t *size,
                                tacit_error_t *err) {
  uint64_t most = UINT64_MAX / rate;
  tacit_status_t status = TACIT_OK;
  for (*size = 0; n > 0 && status == TACIT_OK;) {
    uint64_t some = n < most ? n : most, part;
    status = tacit_noise_poisson(noise, rate * some, &part, err);
    *size += part;
    n -= some;
  }
  return status;
}

tacit_status_t tacit_noise_tally(tacit_noise_t *noise, uint64_t n, int64_t a, int64_t b,
                                 tacit_tally_function function, void *user, int64_t *sum,
                                 tacit_error_t *err) {
  __extension__ typedef __int128 wide_t;
  const wide_t limit = (wide_t)1 << 62;
  uint64_t items[TACIT_TALLY_BATCH], share[TACIT_TALLY_BATCH], left;
  double x[TACIT_TALLY_BATCH] = {0};
  int64_t weights[TACIT_TALLY_BATCH];
  bool is_kept[TACIT_TALLY_BATCH];
  wide_t total = 0;
  tacit_status_t status = draw_size(noise, n, (uint64_t)(a + b), &left, err);
  while (status == TACIT_OK && left > 0) {
    /* candidates are drawn with the largest rate a + b: keep each with its own */
    size_t some = left < TACIT_TALLY_BATCH ? (size_t)left : TACIT_TALLY_BATCH;
    status = tacit_noise_below(noise, n, some, items, err);
    if (status == TACIT_OK) {
      function(user, some, items, x);
      for (size_t i = 0; i < some; i++) {
        share[i] = (uint64_t)(2 * a + b - (int64_t)x[i]);
      }
      tacit_log_odds((some + 31) / 32 * 32, 2 * (double)a + (double)b, x, weights);
      status = tacit_noise_ratio_bits(noise, some, share, 2 * (uint64_t)(a + b), is_kept, err);
    }
    for (size_t i = 0; status == TACIT_OK && i < some; i++) {
      total += weights[i] &
               -(int64_t)is_kept[i]; /* a branch on secret coins would be guessed wrong half of the time */
    }
    left -= some;
  }
  *sum = status != TACIT_OK ? 0 : (int64_t)(total > limit ? limit : total < -limit ? -limit : total);
  return status;
}
