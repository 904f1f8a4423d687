/* The acceptance rules of docs/theory.md, section 13, written anew: what tests and audits compare the
 * curator's decisions with. */
#ifndef TACIT_TESTS_ACCEPT_RULE_H
#define TACIT_TESTS_ACCEPT_RULE_H

#include <math.h>

#include "curator/curator.h"

/* The probability of acceptance at log ratio l; sigma: of the penalty test's noise. */
static inline double rule_accepts(const tacit_accept_rule_t *rule, double sigma, double l) {
  double size = fabs(l), value;
  if (rule->kind == TACIT_ACCEPT_BARKER) {
    return 1 / (1 + exp(-l));
  }
  if (rule->kind == TACIT_ACCEPT_ARCSINE) {
    double s = sin(fmin(atan(2 * rule->kappa) + 0.5 * rule->kappa * size, asin(1)));
    value = fmin(s * s, rule->cap);
  } else {
    value = 0.5 * erfc(-(size / sigma - sigma / 2) / sqrt(2)) +
            exp(size) * 0.5 * erfc((size / sigma + sigma / 2) / sqrt(2));
  }
  return l < 0 ? value * exp(-size) : value;
}

#endif
