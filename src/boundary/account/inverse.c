/*
 * What a budget buys, and what an attacker gets: inversions of accountants.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "account/account_internal.h"

/* A copy of the events whose counts or noise may be changed. */
static tacit_status_t copy_events(tacit_event_t **copy, const tacit_event_t *first, size_t n_first,
                                  const tacit_event_t *second, size_t n_second, tacit_error_t *err) {
  *copy = tacit_alloc(n_first + n_second + 1, sizeof **copy);
  if (*copy == NULL) {
    return tacit_error_memory(err);
  }
  if (n_first > 0) {
    memcpy(*copy, first, n_first * sizeof **copy);
  }
  if (n_second > 0) {
    memcpy(*copy + n_first, second, n_second * sizeof **copy);
  }
  return TACIT_OK;
}

/* NULL: "auto", which has shorter ways. */
static const tacit_accountant_t *accountant_of(const tacit_account_options_t *options) {
  const tacit_accountant_t *accountant = options != NULL ? options->accountant : NULL;
  return accountant != NULL && strcmp(accountant->name, "auto") != 0 ? accountant : NULL;
}

static tacit_status_t check_budget(double epsilon, double delta, tacit_error_t *err) {
  tacit_status_t status = tacit_epsilon_check(epsilon, err);
  return status == TACIT_OK ? tacit_delta_check(delta, err) : status;
}

/* ---- repetitions ---- */

typedef struct repetition {
  const tacit_event_t *fixed, *repeated;
  size_t n_fixed, n_repeated;
  const tacit_account_options_t *options;
  double epsilon, delta;
  tacit_event_t *work; /* shape (n_fixed + n_repeated) */
  const tacit_accountant_t *accountant;
  uint64_t start;   /* a count to begin from; 0: none */
  double tolerance; /* relative, of the count found */
  tacit_bellman_t *bellman;
} repetition_t;

static tacit_status_t refuse_fixed(const repetition_t *of, tacit_error_t *err) {
  char numbers[2][TACIT_NUMBER_SIZE];
  return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                         "the fixed events alone exceed (epsilon %s, delta %s): raise epsilon or their noise",
                         tacit_number_format(of->epsilon, numbers[0]),
                         tacit_number_format(of->delta, numbers[1]));
}

static void add_rho(tacit_exact_sum_t *sum, const tacit_event_t *events, size_t n_events) {
  for (size_t i = 0; i < n_events; i++) {
    tacit_exact_sum_add(sum, tacit_event_rho(&events[i]));
  }
}

/* Gaussian events: largest k with base + k each <= limit; the sums are rounded up, so this is monotone in k.
 */
static tacit_status_t gaussian_repetitions(const repetition_t *of, uint64_t *k, tacit_error_t *err) {
  tacit_exact_sum_t base = {0, 0}, step = {0, 0};
  add_rho(&base, of->fixed, of->n_fixed);
  add_rho(&step, of->repeated, of->n_repeated);
  double limit = tacit_gaussian_rho(of->epsilon, tacit_log_below(of->delta)), each = tacit_rho_upper(&step);
  if (!(tacit_rho_upper(&base) <= limit)) {
    return refuse_fixed(of, err);
  }
  uint64_t fits = 0, exceeds = TACIT_MAX_COUNT + 1;
  while (each > 0 && exceeds - fits > 1) {
    uint64_t middle = fits + (exceeds - fits) / 2;
    tacit_exact_sum_t sum = base;
    tacit_exact_sum_add(&sum, (double)middle * each);
    *(tacit_rho_upper(&sum) <= limit ? &fits : &exceeds) = middle;
  }
  *k = each > 0 ? fits : UINT64_MAX;
  return TACIT_OK;
}

static tacit_status_t epsilon_of(const repetition_t *of, uint64_t k, double *epsilon, tacit_error_t *err) {
  tacit_guarantee_t guarantee;
  for (size_t i = 0; i < of->n_repeated; i++) {
    uint64_t count = of->repeated[i].count;
    if (k > TACIT_MAX_COUNT / count) {
      *epsilon = INFINITY;
      return TACIT_OK;
    }
    of->work[of->n_fixed + i].count = count * k;
  }
  tacit_status_t status = tacit_account_epsilon_again(of->bellman, of->accountant, of->work,
                                                      of->n_fixed + (k > 0 ? of->n_repeated : 0), of->options,
                                                      of->delta, &guarantee, err);
  *epsilon = guarantee.epsilon;
  return status;
}

/* Beyond all counts tried: by epsilon ~ k^0.55 from the last, no more than twice. */
static uint64_t further(const repetition_t *of, uint64_t fits, double epsilon) {
  double most = 2 * (double)fits, guess = (double)fits * pow(of->epsilon / epsilon, 1.8) * 1.01 + 1;
  return of->start > 0 && guess < most ? (uint64_t)guess : 2 * fits;
}

/*
 * Doubling, or steps from a good start, then a search between the last that fits and the first that does not,
 * by the power distribution epsilon ~ k^p between them, held away from the ends. Only counts that were seen
 * to fit are returned.
 */
static tacit_status_t search_repetitions(const repetition_t *of, uint64_t *k, tacit_error_t *err) {
  uint64_t fits = 0, exceeds = 0;
  double low = 0, high = INFINITY;
  tacit_status_t status = epsilon_of(of, 0, &low, err);
  if (status == TACIT_OK && !(low <= of->epsilon)) {
    return refuse_fixed(of, err);
  }
  while (status == TACIT_OK &&
         (exceeds == 0 || (double)(exceeds - fits) > 1 + of->tolerance * (double)fits)) {
    uint64_t middle = fits == 0 ? (of->start > 1 ? of->start : 1) : further(of, fits, low);
    if (exceeds > 0) {
      double share = low > 0 && isfinite(high) ? log(of->epsilon / low) / log(high / low) : 0.5;
      double guess = exp((1 - share) * log((double)(fits > 0 ? fits : 1)) + share * log((double)exceeds));
      uint64_t margin = 1 + (exceeds - fits) / 64;
      middle = (uint64_t)fmin(fmax(guess, 0), 2e18);
      middle = middle < fits + margin ? fits + margin : middle;
      middle = middle > exceeds - margin ? exceeds - margin : middle;
      middle = middle <= fits || middle >= exceeds ? fits + (exceeds - fits) / 2 : middle;
    } else if (fits > TACIT_MAX_COUNT) {
      break;
    }
    double epsilon = INFINITY;
    TACIT_THEN(status, epsilon_of(of, middle, &epsilon, err));
    if (epsilon <= of->epsilon) {
      fits = middle;
      low = epsilon;
    } else {
      exceeds = middle;
      high = epsilon;
    }
  }
  *k = fits;
  return status;
}

/* The tight accountant of bits takes a second for what Renyi's takes a hundredth, and allows a little more.
 */
static tacit_status_t start_from_renyi(repetition_t *of, tacit_error_t *err) {
  tacit_account_options_t rough =
      of->options != NULL ? *of->options : (tacit_account_options_t){.is_quick = true};
  repetition_t quick = *of;
  rough.is_quick = true;
  quick.options = &rough;
  quick.tolerance = 0.02;
  quick.accountant = tacit_accountant_find("rdp");
  tacit_status_t status = search_repetitions(&quick, &of->start, err);
  of->tolerance = 0.008;
  return status == TACIT_ERR_MEMORY ? status : TACIT_OK; /* where it allows nothing, the other may */
}

tacit_status_t tacit_account_max_repetitions(const tacit_event_t *fixed, size_t n_fixed,
                                             const tacit_event_t *repeated, size_t n_repeated,
                                             const tacit_account_options_t *options, double epsilon,
                                             double delta, uint64_t *k, tacit_error_t *err) {
  *k = 0;
  repetition_t of = {.fixed = fixed,
                     .repeated = repeated,
                     .n_fixed = n_fixed,
                     .n_repeated = n_repeated,
                     .options = options,
                     .accountant = accountant_of(options),
                     .epsilon = epsilon,
                     .delta = delta};
  tacit_bellman_t bellman = {NULL};
  of.bellman = &bellman;
  tacit_status_t status = check_budget(epsilon, delta, err);
  TACIT_THEN(status, tacit_events_check(fixed, n_fixed, err));
  TACIT_THEN(status, tacit_events_check(repeated, n_repeated, err));
  if (status != TACIT_OK) {
    return status;
  }
  if (of.accountant == NULL && tacit_events_are_gaussian(fixed, n_fixed) &&
      tacit_events_are_gaussian(repeated, n_repeated)) {
    return gaussian_repetitions(&of, k, err);
  }
  bool is_free = true, has_bits = false;
  for (size_t i = 0; i < n_repeated; i++) {
    is_free = is_free && tacit_event_is_free(&repeated[i]);
    has_bits = has_bits || tacit_event_is_bit(&repeated[i]);
  }
  status = copy_events(&of.work, fixed, n_fixed, repeated, n_repeated, err);
  if (status == TACIT_OK && has_bits && of.accountant == NULL && !(options != NULL && options->is_quick)) {
    status = start_from_renyi(&of, err);
  }
  TACIT_THEN(status, search_repetitions(&of, k, err));
  tacit_free(of.work);
  tacit_bellman_clear(&bellman);
  *k = status == TACIT_OK && is_free ? UINT64_MAX : *k;
  return status;
}

/* ---- noise ---- */

static tacit_status_t scaled_epsilon(const tacit_event_t *events, tacit_event_t *work, size_t n_events,
                                     const tacit_account_options_t *options, double delta, double log_factor,
                                     double *epsilon, tacit_error_t *err) {
  tacit_guarantee_t guarantee;
  for (size_t i = 0; i < n_events; i++) {
    work[i].noise_multiplier = events[i].noise_multiplier * exp(log_factor);
  }
  tacit_status_t status =
      tacit_account_epsilon(accountant_of(options), work, n_events, options, delta, &guarantee, err);
  *epsilon = guarantee.epsilon;
  return status;
}

/* Illinois' false position on log epsilon as a function of log factor, from a bracket found by steps that
 * grow. */
static tacit_status_t search_factor(const tacit_event_t *events, tacit_event_t *work, size_t n_events,
                                    const tacit_account_options_t *options, double epsilon, double delta,
                                    double *factor, tacit_error_t *err) {
  double x[2] = {NAN, NAN}, f[2] = {0, 0}, at = 0, step = 0.5; /* x[0]: too little noise, x[1]: enough */
  int last = -1;
  for (int i = 0; i < 200 && !(x[1] - x[0] < 5e-7); i++) {
    double found;
    tacit_status_t status = scaled_epsilon(events, work, n_events, options, delta, at, &found, err);
    if (status != TACIT_OK) {
      return status;
    }
    int side = found <= epsilon;
    x[side] = at;
    f[side] = fmin(log(found) - log(epsilon), 700);
    f[side] = side == 1 ? fmax(fmin(f[side], -1e-300), -700) : f[side];
    if (isnan(x[!side])) {
      at += side == 1 ? -step : step;
      step *= 2;
      if (fabs(at) > 200) {
        break;
      }
      continue;
    }
    f[!side] = last == side ? 0.5 * f[!side] : f[!side];
    last = side;
    double share = epsilon > 0 ? f[0] / (f[0] - f[1]) : 0.5; /* 0 has no logarithm to aim at */
    at = x[0] + fmin(fmax(share, 1e-3), 0.999) * (x[1] - x[0]);
    if (share > 0.5) { /* aim a little inside, so that both ends close in */
      at = fmin(at + 2e-7, 0.5 * (at + x[1]));
    }
  }
  *factor = isnan(x[1]) ? INFINITY : exp(x[1]) * (1 + 0x1p-50);
  return TACIT_OK;
}

tacit_status_t tacit_account_noise_factor(const tacit_event_t *events, size_t n_events,
                                          const tacit_account_options_t *options, double epsilon,
                                          double delta, double *factor, tacit_error_t *err) {
  *factor = INFINITY;
  tacit_status_t status = check_budget(epsilon, delta, err);
  TACIT_THEN(status, tacit_events_check(events, n_events, err));
  for (size_t i = 0; status == TACIT_OK && i < n_events; i++) {
    if (!tacit_event_is_scaled(&events[i])) {
      char text[TACIT_EVENT_TEXT_SIZE];
      tacit_event_format(&events[i], text);
      status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "event", "the noise of %s cannot be scaled", text);
    }
  }
  tacit_event_t *work = NULL;
  TACIT_THEN(status, copy_events(&work, events, n_events, NULL, 0, err));
  TACIT_THEN(status, search_factor(events, work, n_events, options, epsilon, delta, factor, err));
  tacit_free(work);
  return status;
}

/* ---- the best attack ---- */

/* Type I error a, type II error b: a + e^eps b >= 1 - delta and e^eps a + b >= 1 - delta. */
static double rate_at(double epsilon, double delta, double fpr) {
  double by_first = delta + exp(epsilon) * fpr, by_second = 1 - exp(-epsilon) * fmax(1 - delta - fpr, 0);
  return fmin(fmin(by_first, by_second) * (1 + 0x1p-45), 1);
}

/* Every epsilon gives a bound; the best one's delta is of the order of fpr: a grid up to where it is far
 * less, refined twice. */
tacit_status_t tacit_account_attack_rate(const tacit_event_t *events, size_t n_events,
                                         const tacit_account_options_t *options, double fpr, double *tpr,
                                         tacit_error_t *err) {
  *tpr = 1;
  if (!(fpr > 0 && fpr < 1)) {
    char number[TACIT_NUMBER_SIZE];
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "fpr",
                           "the false-positive rate must be above 0 and below 1, not %s",
                           tacit_number_format(fpr, number));
  }
  tacit_guarantee_t guarantee;
  tacit_bellman_t bellman = {NULL};
  tacit_status_t status =
      tacit_account_epsilon_again(&bellman, NULL, events, n_events, options, 1e-3 * fpr, &guarantee, err);
  double high = fmin(guarantee.epsilon, 1e3), low = 0, best_at = 0;
  for (int round = 0; status == TACIT_OK && round < 3; round++) {
    double step = (high - low) / 6;
    for (int i = 0; status == TACIT_OK && i <= 6; i++) {
      double epsilon = low + i * step;
      status = tacit_account_delta_again(&bellman, NULL, events, n_events, options, epsilon, &guarantee, err);
      double rate = status == TACIT_OK ? rate_at(epsilon, guarantee.delta, fpr) : 1;
      best_at = rate < *tpr ? epsilon : best_at;
      *tpr = fmin(*tpr, rate);
    }
    low = fmax(best_at - step, 0);
    high = best_at + step;
  }
  tacit_bellman_clear(&bellman);
  return status;
}
