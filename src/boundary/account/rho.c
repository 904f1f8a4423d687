/*
 * rho of events and of their totals, with certified rounding.
 */
#include <float.h>
#include <math.h>

#include "account/account_internal.h"

double tacit_event_rho(const tacit_event_t *event) {
  if (isinf(event->noise_multiplier)) {
    return 0;
  }
  /* in this order, so that a large multiplier does not overflow when squared */
  double rho = 0.5 * (double)event->count / event->noise_multiplier / event->noise_multiplier;
  return fmax(rho, DBL_MIN); /* below it, doubles lose relative precision */
}

void tacit_exact_sum_add(tacit_exact_sum_t *sum, double term) {
  double total = sum->high + term;
  if (isinf(total)) {
    *sum = (tacit_exact_sum_t){INFINITY, 0};
    return;
  }
  double virtual_term = total - sum->high; /* Knuth's two-sum */
  sum->low += (sum->high - (total - virtual_term)) + (term - virtual_term);
  sum->high = total;
}

/* Terms are within 4 units of 2^-53, their compensated sum within one more: 16 covers all. */
double tacit_rho_upper(const tacit_exact_sum_t *sum) { return (sum->high + sum->low) * (1 + 16 * 0x1p-53); }

double tacit_rho_lower(const tacit_exact_sum_t *sum) {
  double rho = (sum->high + sum->low) * (1 - 16 * 0x1p-53);
  if (isinf(rho)) {
    return 0.5 * DBL_MAX; /* the true total is beyond the doubles */
  }
  return rho < 0x1p-900 ? 0 : rho; /* there, terms raised to DBL_MIN could weigh */
}
