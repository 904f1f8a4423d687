#include "base/error.h"
#include "base/memory.h"
#include "tacit/draws.h"

tacit_status_t tacit_draws_init(tacit_draws_t *draws, size_t n_chains, size_t n_warmup, size_t n_draws,
                                size_t n_reported, tacit_error_t *err) {
  *draws = (tacit_draws_t){0};
  size_t n_rows, n_all, n_values;
  if (__builtin_add_overflow(n_warmup, n_draws, &n_rows) ||
      __builtin_mul_overflow(n_chains, n_rows, &n_all) ||
      __builtin_mul_overflow(n_all, n_reported, &n_values)) {
    return tacit_error_memory(err);
  }
  double *values = tacit_alloc_zero(n_values, sizeof *values);
  tacit_draw_stats_t *stats = tacit_alloc_zero(n_all, sizeof *stats);
  if (values == NULL || stats == NULL) {
    tacit_free(values);
    tacit_free(stats);
    return tacit_error_memory(err);
  }
  *draws = (tacit_draws_t){.n_chains = n_chains,
                           .n_warmup = n_warmup,
                           .n_draws = n_draws,
                           .n_reported = n_reported,
                           .values = values,
                           .stats = stats};
  return TACIT_OK;
}

void tacit_draws_clear(tacit_draws_t *draws) {
  tacit_free(draws->values);
  tacit_free(draws->stats);
  *draws = (tacit_draws_t){0};
}
