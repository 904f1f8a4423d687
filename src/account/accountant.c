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

static tacit_status_t check_delta(double delta, tacit_error_t *err) {
  if (!(delta > 0 && delta < 1)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "delta", "delta must be above 0 and below 1, not %g", delta);
  }
  return TACIT_OK;
}

static tacit_status_t check_epsilon(double epsilon, tacit_error_t *err) {
  if (!(epsilon >= 0) || isinf(epsilon)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "epsilon", "epsilon must be a finite number from 0, not %g",
                           epsilon);
  }
  return TACIT_OK;
}

static double rdp_epsilon(double rho, double log_delta) {
  return tacit_rdp_gaussian_epsilon(rho, log_delta, NULL);
}

static tacit_status_t epsilon_by(double (*bound)(double rho, double log_delta), const char *method,
                                 const tacit_event_t *events, size_t n_events, double delta,
                                 tacit_guarantee_t *guarantee, tacit_error_t *err) {
  *guarantee = (tacit_guarantee_t){.delta = delta, .method = method};
  tacit_exact_sum_t sum;
  tacit_status_t status = check_delta(delta, err);
  if (status == TACIT_OK) {
    status = total(events, n_events, &sum, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  guarantee->epsilon = bound(tacit_rho_upper(&sum), log(delta) - 1e-15);
  guarantee->epsilon_lower = tacit_gaussian_epsilon_lower(tacit_rho_lower(&sum), log(delta) + 1e-15);
  return TACIT_OK;
}

/* log delta of the zCDP conversion: -(eps - rho)^2 / (4 rho). */
static double zcdp_log_delta(double rho, double epsilon) {
  double excess = epsilon - rho;
  return excess <= 0 ? 0 : rho <= 0 ? -INFINITY : -excess * excess / (4 * rho) * (1 - 1e-14);
}

/* Least log delta at which the improved conversion gives epsilon: it decreases in log delta, so bisect. */
static double rdp_log_delta(double rho, double epsilon) {
  double lower = zcdp_log_delta(rho, epsilon) - 1000, upper = 0;
  if (rho <= 0) {
    return -INFINITY;
  }
  for (int i = 0; i < 200 && upper - lower > 1e-13 * (1 - upper); i++) {
    double middle = 0.5 * (lower + upper);
    *(rdp_epsilon(rho, middle) <= epsilon ? &upper : &lower) = middle;
  }
  return upper;
}

static double exact_log_delta(double rho, double epsilon) {
  return rho <= 0 ? -INFINITY
                  : tacit_gaussian_log_delta(rho, epsilon) + tacit_gaussian_log_delta_error(rho, epsilon);
}

static tacit_status_t delta_by(double (*bound)(double rho, double epsilon), const char *method,
                               const tacit_event_t *events, size_t n_events, double epsilon,
                               tacit_guarantee_t *guarantee, tacit_error_t *err) {
  *guarantee = (tacit_guarantee_t){.epsilon = epsilon, .epsilon_lower = epsilon, .method = method};
  tacit_exact_sum_t sum;
  tacit_status_t status = check_epsilon(epsilon, err);
  if (status == TACIT_OK) {
    status = total(events, n_events, &sum, err);
  }
  if (status == TACIT_OK) {
    guarantee->delta = fmin(exp(bound(tacit_rho_upper(&sum), epsilon)) * (1 + 1e-15), 1);
  }
  return status;
}

static tacit_status_t gaussian_epsilon(const tacit_event_t *events, size_t n_events, double delta,
                                       tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return epsilon_by(tacit_gaussian_epsilon, "gaussian", events, n_events, delta, guarantee, err);
}

static tacit_status_t gaussian_delta(const tacit_event_t *events, size_t n_events, double epsilon,
                                     tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return delta_by(exact_log_delta, "gaussian", events, n_events, epsilon, guarantee, err);
}

static tacit_status_t zcdp_epsilon(const tacit_event_t *events, size_t n_events, double delta,
                                   tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return epsilon_by(tacit_zcdp_epsilon, "zcdp", events, n_events, delta, guarantee, err);
}

static tacit_status_t zcdp_delta(const tacit_event_t *events, size_t n_events, double epsilon,
                                 tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return delta_by(zcdp_log_delta, "zcdp", events, n_events, epsilon, guarantee, err);
}

static tacit_status_t renyi_epsilon(const tacit_event_t *events, size_t n_events, double delta,
                                    tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return epsilon_by(rdp_epsilon, "rdp", events, n_events, delta, guarantee, err);
}

static tacit_status_t renyi_delta(const tacit_event_t *events, size_t n_events, double epsilon,
                                  tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return delta_by(rdp_log_delta, "rdp", events, n_events, epsilon, guarantee, err);
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
  for (size_t i = 0; tacit_accountant_get(i) != NULL; i++) {
    if (strcmp(accountants[i].name, name) == 0) {
      return &accountants[i];
    }
  }
  return NULL;
}

tacit_status_t tacit_account_max_repetitions(const tacit_event_t *fixed, size_t n_fixed,
                                             const tacit_event_t *repeated, size_t n_repeated, double epsilon,
                                             double delta, uint64_t *k, tacit_error_t *err) {
  *k = 0;
  tacit_exact_sum_t base, step;
  tacit_status_t status = check_epsilon(epsilon, err);
  if (status == TACIT_OK) {
    status = check_delta(delta, err);
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
  double left = tacit_gaussian_rho(epsilon, log(delta)) - tacit_rho_upper(&base);
  double each = tacit_rho_upper(&step);
  if (!(left >= 0)) {
    return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                           "the fixed events alone exceed (epsilon %g, delta %g)", epsilon, delta);
  }
  double count = each > 0 ? floor(left / each) : INFINITY;
  *k = count >= 0x1p63 ? UINT64_MAX : (uint64_t)count;
  while (*k > 0 && *k != UINT64_MAX && (double)*k * each > left) {
    (*k)--;
  }
  return TACIT_OK;
}
