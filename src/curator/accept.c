/*
 * Accept/reject bits: the only thing that leaves is the decision. The log acceptance ratio is a whole number of 2^-32, and
 * the decision a comparison of whole numbers, so that its probability is the rule's at that ratio.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "curator/curator_internal.h"

static const double unit = 0x1p32; /* grid units of a log ratio of one */
static const double max_log_ratio = 0x1p62;

static double max_clip(const tacit_accept_rule_t *rule) {
  return tacit_ratio_clip(rule->max_bound);
}

tacit_event_t tacit_curator_accept_event(const tacit_curator_t *curator, const tacit_accept_rule_t *rule) {
  tacit_event_t event = {.kind = TACIT_EVENT_BARKER_BIT, .count = 1, .label = "accept"};
  double factor = tacit_curator_sensitivity_factor(curator);
  event.sensitivity = factor * max_clip(rule) / unit;
  switch (rule->kind) {
    case TACIT_ACCEPT_PENALTY: /* rounding the noise moves the log ratio by at most half a unit on either side */
      event.kind = TACIT_EVENT_PENALTY_BIT;
      event.sensitivity = (factor * max_clip(rule) + 1) / unit;
      event.sigma = rule->sigma;
      break;
    case TACIT_ACCEPT_PROBIT: /* any noise sd in proportion to the pair's own bound; clips have 2^10 units or more */
      event.kind = TACIT_EVENT_PROBIT_BIT;
      event.sensitivity = 1 + 0x1p-10;
      event.sigma = rule->sigma;
      break;
    case TACIT_ACCEPT_ARCSINE:
      event.kind = TACIT_EVENT_ARCSINE_BIT;
      event.kappa = rule->kappa;
      event.cap = rule->cap;
      break;
    default: break;
  }
  return event;
}

static tacit_status_t check_rule(const tacit_curator_t *curator, const tacit_accept_rule_t *rule, tacit_error_t *err) {
  double sensitivity = tacit_curator_accept_event(curator, rule).sensitivity;
  bool is_noisy = rule->kind == TACIT_ACCEPT_PENALTY || rule->kind == TACIT_ACCEPT_PROBIT;
  if (curator->is_exposed) {
    return tacit_error_set(err, TACIT_ERR_STATE, "curator", "an exposed curator makes no secret decisions");
  }
  if (!(rule->max_bound > 0 && rule->max_bound <= 0x1p18)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_bound",
                           "the largest bound on one unit's log ratio must be above 0 and at most 2^18, not %g",
                           rule->max_bound);
  }
  if (is_noisy && !(rule->sigma >= 1e-6 && rule->sigma <= 0x1p18)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sigma", "sigma of an acceptance rule must be from 1e-6 to 2^18, not %g",
                           rule->sigma);
  }
  if (rule->kind == TACIT_ACCEPT_ARCSINE &&
      !(rule->kappa >= 0.05 && rule->kappa <= 2 && rule->cap > 0 && rule->cap <= 0.999 && sensitivity >= 1e-5)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "kappa",
                           "the arcsine rule needs kappa from 0.05 to 2, a cap above 0 and at most 0.999, and steps that move "
                           "the log ratio by 1e-5 or more");
  }
  return TACIT_OK;
}

/* sin^2(phi0 / 2 + kappa l / 2), tan(phi0 / 2) = 2 kappa, capped; l >= 0 (docs/theory.md, section 13). */
static double arcsine_accept(const tacit_accept_rule_t *rule, double log_ratio) {
  double angle = fmin(atan(2 * rule->kappa) + 0.5 * rule->kappa * log_ratio, 1.57079632679489661923), s = sin(angle);
  return fmin(s * s, rule->cap);
}

static tacit_status_t arcsine_bit(tacit_noise_t *noise, const tacit_accept_rule_t *rule, int64_t log_ratio, bool *bit,
                                  tacit_error_t *err) {
  uint64_t size = log_ratio < 0 ? -(uint64_t)log_ratio : (uint64_t)log_ratio;
  uint64_t numerator = (uint64_t)(arcsine_accept(rule, (double)size / unit) * 0x1p53);
  bool balance = true;
  tacit_status_t status = tacit_noise_ratio_bit(noise, numerator, (uint64_t)1 << 53, bit, err);
  if (status == TACIT_OK && log_ratio < 0) { /* a(-l) = e^-l a(l) */
    status = tacit_noise_exp_bit(noise, size, &balance, err);
  }
  *bit = *bit && balance;
  return status;
}

/* min(1, exp(ratio + noise - sigma^2 / 2)) */
static tacit_status_t penalty_bit(tacit_noise_t *noise, double sigma, int64_t log_ratio, bool *bit, tacit_error_t *err) {
  int64_t draw = 0;
  tacit_status_t status = tacit_noise_rounded_gaussian(noise, sigma * unit, 1, &draw, err);
  tacit_wide_t sum = (tacit_wide_t)log_ratio + draw - (tacit_wide_t)llrint(0.5 * sigma * sigma * unit);
  *bit = sum >= 0;
  if (status == TACIT_OK && sum < 0) {
    status = tacit_noise_exp_bit(noise, sum < -(tacit_wide_t)max_log_ratio ? (uint64_t)max_log_ratio : (uint64_t)-sum,
                                 bit, err);
  }
  return status;
}

tacit_status_t tacit_curator_decide(tacit_curator_t *curator, const tacit_accept_rule_t *rule, double clip,
                                    tacit_wide_t log_ratio, bool *accepted, tacit_error_t *err) {
  const tacit_wide_t limit = (tacit_wide_t)max_log_ratio;
  int64_t capped = (int64_t)(log_ratio > limit ? limit : log_ratio < -limit ? -limit : log_ratio);
  switch (rule->kind) {
    case TACIT_ACCEPT_PENALTY: return penalty_bit(curator->noise, rule->sigma, capped, accepted, err);
    case TACIT_ACCEPT_PROBIT:
      return penalty_bit(curator->noise, rule->sigma * tacit_curator_sensitivity_factor(curator) * clip / unit, capped,
                         accepted, err);
    case TACIT_ACCEPT_ARCSINE: return arcsine_bit(curator->noise, rule, capped, accepted, err);
    default: return tacit_noise_logistic_bit(curator->noise, capped, accepted, err);
  }
}

tacit_wide_t tacit_public_log_ratio(double correction) {
  return (tacit_wide_t)rint(fmax(fmin(correction * unit, max_log_ratio), -max_log_ratio));
}

tacit_status_t tacit_curator_charge_accept(tacit_curator_t *curator, const tacit_accept_rule_t *rule, size_t count,
                                           tacit_error_t *err) {
  tacit_event_t event = tacit_curator_accept_event(curator, rule);
  event.count = count;
  return tacit_budget_charge(curator->budget, &event, err);
}

/*
 * The pairs to decide on, in curator->pairs: not those that public facts decide, points without change being accepted and
 * points without prior density, or farther apart than the rule allows, rejected.
 */
static size_t gather(tacit_curator_t *curator, const tacit_accept_rule_t *rule, const tacit_accept_pairs_t *pairs,
                     size_t *index) {
  size_t dim = curator->model->dim, n = 0;
  for (size_t k = 0; k < pairs->n; k++) {
    const double *from = pairs->theta + k * dim, *to = pairs->theta_prop + k * dim;
    pairs->accepted[k] = memcmp(from, to, dim * sizeof *from) == 0;
    double clip = tacit_ratio_clip(tacit_curator_ratio_bound(curator, from, to));
    if (pairs->accepted[k] || !(clip <= max_clip(rule)) || !isfinite(pairs->correction[k])) {
      continue;
    }
    memcpy(curator->pairs + 2 * n * dim, from, dim * sizeof *from);
    memcpy(curator->pairs + (2 * n + 1) * dim, to, dim * sizeof *to);
    curator->clips[n] = clip;
    index[n++] = k;
  }
  return n;
}

static tacit_status_t decide_all(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                 const tacit_accept_pairs_t *pairs, size_t *index, tacit_error_t *err) {
  size_t n = gather(curator, rule, pairs, index);
  tacit_status_t status = n > 0 ? tacit_curator_charge_accept(curator, rule, n, err) : TACIT_OK;
  if (n == 0 || status != TACIT_OK) {
    return status;
  }
  tacit_curator_sum_ratios(curator, n);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    size_t k = index[i];
    status = tacit_curator_decide(curator, rule, curator->clips[i],
                                  curator->sums[i] + tacit_public_log_ratio(pairs->correction[k]), &pairs->accepted[k], err);
  }
  return status;
}

tacit_status_t tacit_curator_release_accept(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                            const tacit_accept_pairs_t *pairs, tacit_error_t *err) {
  memset(pairs->accepted, 0, pairs->n * sizeof *pairs->accepted);
  tacit_status_t status = check_rule(curator, rule, err);
  if (status == TACIT_OK) {
    status = tacit_curator_check_points(curator, pairs->n, pairs->theta, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_check_points(curator, pairs->n, pairs->theta_prop, err);
  }
  if (status == TACIT_OK && pairs->n > 0) {
    status = tacit_curator_reserve(curator, pairs->n, err);
  }
  if (status == TACIT_OK && pairs->n > 0) {
    status = tacit_kept_reserve(curator, pairs->n, err);
  }
  size_t *index = status == TACIT_OK ? tacit_alloc(pairs->n + 1, sizeof *index) : NULL;
  if (status == TACIT_OK) {
    status = index != NULL ? decide_all(curator, rule, pairs, index, err) : tacit_error_memory(err);
  }
  tacit_free(index);
  if (status != TACIT_OK) {
    memset(pairs->accepted, 0, pairs->n * sizeof *pairs->accepted);
  }
  return status;
}
