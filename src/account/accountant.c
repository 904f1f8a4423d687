/*
 * The accountants by name, and the inversion to a number of repetitions.
 */
#include <math.h>
#include <string.h>

#include "account/account_internal.h"

static tacit_status_t total(const tacit_event_t *events, size_t n_events, tacit_exact_sum_t *sum,
                            tacit_error_t *err) {
  *sum = (tacit_exact_sum_t){0, 0};
  for (size_t i = 0; i < n_events; i++) {
    tacit_status_t status = tacit_event_check(&events[i], err);
    if (status != TACIT_OK) {
      return status;
    }
    tacit_exact_sum_add(sum, tacit_event_rho(&events[i]));
  }
  return TACIT_OK;
}

tacit_status_t tacit_delta_check(double delta, tacit_error_t *err) {
  char number[TACIT_NUMBER_SIZE];
  if (!(delta > 0 && delta < 1)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "delta", "delta must be above 0 and below 1, not %s",
                           tacit_number_format(delta, number));
  }
  return TACIT_OK;
}

static tacit_status_t check_epsilon(double epsilon, tacit_error_t *err) {
  char number[TACIT_NUMBER_SIZE];
  if (!(epsilon >= 0) || isinf(epsilon)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "epsilon", "epsilon must be a finite number from 0, not %s",
                           tacit_number_format(epsilon, number));
  }
  return TACIT_OK;
}

/* Least epsilon that the exact profile of the events allows at log_delta, rounded down. */
static double least_epsilon(const tacit_exact_sum_t *sum, double log_delta) {
  return tacit_gaussian_epsilon_lower(tacit_rho_lower(sum), log_delta);
}

static tacit_status_t epsilon_by(double (*bound)(double rho, double log_delta), const char *method,
                                 const tacit_event_t *events, size_t n_events, double delta,
                                 tacit_guarantee_t *guarantee, tacit_error_t *err) {
  *guarantee = (tacit_guarantee_t){.epsilon = INFINITY, .delta = delta, .method = method};
  tacit_exact_sum_t sum;
  tacit_status_t status = tacit_delta_check(delta, err);
  if (status == TACIT_OK) {
    status = total(events, n_events, &sum, err);
  }
  if (status == TACIT_OK) {
    guarantee->epsilon = bound(tacit_rho_upper(&sum), tacit_log_below(delta));
    guarantee->epsilon_lower = least_epsilon(&sum, tacit_log_above(delta));
  }
  return status;
}

static tacit_status_t delta_by(double (*bound)(double rho, double epsilon), const char *method,
                               const tacit_event_t *events, size_t n_events, double epsilon,
                               tacit_guarantee_t *guarantee, tacit_error_t *err) {
  *guarantee = (tacit_guarantee_t){.epsilon = epsilon, .delta = 1, .method = method};
  tacit_exact_sum_t sum;
  tacit_status_t status = check_epsilon(epsilon, err);
  if (status == TACIT_OK) {
    status = total(events, n_events, &sum, err);
  }
  if (status == TACIT_OK) {
    guarantee->delta = tacit_exp_above(bound(tacit_rho_upper(&sum), epsilon));
    guarantee->epsilon_lower = least_epsilon(&sum, tacit_log_above(guarantee->delta));
  }
  return status;
}

static double rdp_epsilon(double rho, double log_delta) {
  return tacit_rdp_gaussian_epsilon(rho, log_delta, NULL);
}

static tacit_status_t gaussian_epsilon(const tacit_event_t *events, size_t n_events, double delta,
                                       tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return epsilon_by(tacit_gaussian_epsilon, "gaussian", events, n_events, delta, guarantee, err);
}

static tacit_status_t gaussian_delta(const tacit_event_t *events, size_t n_events, double epsilon,
                                     tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return delta_by(tacit_gaussian_log_delta_upper, "gaussian", events, n_events, epsilon, guarantee, err);
}

static tacit_status_t zcdp_epsilon(const tacit_event_t *events, size_t n_events, double delta,
                                   tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return epsilon_by(tacit_zcdp_epsilon, "zcdp", events, n_events, delta, guarantee, err);
}

static tacit_status_t zcdp_delta(const tacit_event_t *events, size_t n_events, double epsilon,
                                 tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return delta_by(tacit_zcdp_log_delta, "zcdp", events, n_events, epsilon, guarantee, err);
}

static tacit_status_t renyi_epsilon(const tacit_event_t *events, size_t n_events, double delta,
                                    tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return epsilon_by(rdp_epsilon, "rdp", events, n_events, delta, guarantee, err);
}

static tacit_status_t renyi_delta(const tacit_event_t *events, size_t n_events, double epsilon,
                                  tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return delta_by(tacit_rdp_gaussian_log_delta, "rdp", events, n_events, epsilon, guarantee, err);
}

static const tacit_accountant_t accountants[] = {
    {"auto", "the tightest accountant that is valid for the events", gaussian_epsilon, gaussian_delta},
    {"gaussian", "exact composition of Gaussian mechanisms", gaussian_epsilon, gaussian_delta},
    {"rdp", "Renyi differential privacy with the improved conversion", renyi_epsilon, renyi_delta},
    {"zcdp", "zero-concentrated differential privacy, classical conversion", zcdp_epsilon, zcdp_delta},
};

const tacit_accountant_t *tacit_accountant_get(size_t i) {
  return i < sizeof accountants / sizeof accountants[0] ? &accountants[i] : NULL;
}

const tacit_accountant_t *tacit_accountant_find(const char *name) {
  for (size_t i = 0; name != NULL && tacit_accountant_get(i) != NULL; i++) {
    if (strcmp(accountants[i].name, name) == 0) {
      return &accountants[i];
    }
  }
  return NULL;
}

/* Largest k <= TACIT_MAX_COUNT with base + k each <= limit; the sums are rounded up, so this is monotone in k. */
static uint64_t largest_count(const tacit_exact_sum_t *base, double each, double limit) {
  uint64_t fits = 0, exceeds = TACIT_MAX_COUNT + 1;
  while (exceeds - fits > 1) {
    uint64_t middle = fits + (exceeds - fits) / 2;
    tacit_exact_sum_t sum = *base;
    tacit_exact_sum_add(&sum, (double)middle * each);
    *(tacit_rho_upper(&sum) <= limit ? &fits : &exceeds) = middle;
  }
  return fits;
}

tacit_status_t tacit_account_max_repetitions(const tacit_event_t *fixed, size_t n_fixed,
                                             const tacit_event_t *repeated, size_t n_repeated, double epsilon,
                                             double delta, uint64_t *k, tacit_error_t *err) {
  *k = 0;
  tacit_exact_sum_t base, step;
  tacit_status_t status = check_epsilon(epsilon, err);
  if (status == TACIT_OK) {
    status = tacit_delta_check(delta, err);
  }
  if (status == TACIT_OK) {
    status = total(fixed, n_fixed, &base, err);
  }
  if (status == TACIT_OK) {
    status = total(repeated, n_repeated, &step, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  double limit = tacit_gaussian_rho(epsilon, tacit_log_below(delta)), each = tacit_rho_upper(&step);
  if (!(tacit_rho_upper(&base) <= limit)) {
    char numbers[2][TACIT_NUMBER_SIZE];
    return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                           "the fixed events alone exceed (epsilon %s, delta %s): raise epsilon or their noise",
                           tacit_number_format(epsilon, numbers[0]), tacit_number_format(delta, numbers[1]));
  }
  *k = each > 0 ? largest_count(&base, each, limit) : UINT64_MAX;
  return TACIT_OK;
}
