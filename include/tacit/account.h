/**
 * @file account.h
 * Privacy accounting: mechanism events, what a sequence of them costs, and a
 * budget that refuses what it cannot afford.
 *
 * Every epsilon and delta returned is rounded up, every affordable count down.
 */
#ifndef TACIT_ACCOUNT_H
#define TACIT_ACCOUNT_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tacit_event_kind {
  TACIT_EVENT_GAUSSIAN = 0 /**< noise_multiplier = noise_sd / (L2 sensitivity under the relation) */
} tacit_event_kind_t;

/** One kind of release, made `count` times. */
typedef struct tacit_event {
  tacit_event_kind_t kind;
  double noise_multiplier; /**< > 0; an infinite one costs nothing */
  uint64_t count;
  char label[32]; /**< what was released: "gradient", "log-ratio" */
} tacit_event_t;

/**
 * Gaussian composition with total rho = sum count / (2 noise_multiplier^2), exact
 * [Sommer2019; Raisa2021, Theorem 3.5]:
 *
 *     delta(eps) = 1/2 [ erfc((eps - rho)/(2 sqrt rho)) - e^eps erfc((eps + rho)/(2 sqrt rho)) ]
 *
 * Natural logarithm of delta, stable down to log delta = -1e6 and below.
 * @param rho >= 0;  @param epsilon >= 0.  NaN outside the domain; -INFINITY for rho == 0.
 */
TACIT_API double tacit_gaussian_log_delta(double rho, double epsilon);
/** exp of the above, rounded up. */
TACIT_API double tacit_gaussian_delta(double rho, double epsilon);
/** Least epsilon >= 0 with delta(epsilon) <= delta, rounded up (relative 1e-12). log_delta < 0. */
TACIT_API double tacit_gaussian_epsilon(double rho, double log_delta);
/** Largest rho with delta(epsilon; rho) <= delta, rounded down. */
TACIT_API double tacit_gaussian_rho(double epsilon, double log_delta);

/** zCDP conversion epsilon = rho + 2 sqrt(rho log(1/delta)) [BunSteinke2016, Proposition 1.3]. */
TACIT_API double tacit_zcdp_epsilon(double rho, double log_delta);
/**
 * Improved RDP conversion, minimised over continuous orders [Canonne2020, Proposition 12]:
 * eps = min_alpha alpha rho + log(1 - 1/alpha) - (log delta + log alpha)/(alpha - 1).
 * @param[out] alpha the optimal order; may be NULL.
 */
TACIT_API double tacit_rdp_gaussian_epsilon(double rho, double log_delta, double *alpha);

/** A guarantee with its certified bracket. */
typedef struct tacit_guarantee {
  double epsilon;       /**< upper bound: what is promised */
  double epsilon_lower; /**< no smaller epsilon is true for the events as stated */
  double delta;
  const char *method; /**< "gaussian" (exact), "zcdp", "rdp" */
} tacit_guarantee_t;

/**
 * An accountant turns events into a guarantee. tacit_accountant_find() returns one by name:
 * "auto" (the tightest valid), "gaussian", "zcdp", "rdp"; NULL if unknown.
 */
typedef struct tacit_accountant {
  const char *name;
  const char *summary;
  tacit_status_t (*epsilon)(const tacit_event_t *events, size_t n_events, double delta,
                            tacit_guarantee_t *guarantee, tacit_error_t *err);
  tacit_status_t (*delta)(const tacit_event_t *events, size_t n_events, double epsilon,
                          tacit_guarantee_t *guarantee, tacit_error_t *err);
} tacit_accountant_t;

TACIT_API const tacit_accountant_t *tacit_accountant_find(const char *name);
/** Accountant i, or NULL past the last. */
TACIT_API const tacit_accountant_t *tacit_accountant_get(size_t i);

/**
 * Parse "gaussian:sigma=20" (sigma is the noise multiplier) into an event with count 1.
 * Errors name the key and what was expected.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_event_parse(tacit_event_t *event, const char *text,
                                                          tacit_error_t *err);

enum { TACIT_EVENT_TEXT_SIZE = 64 };
/**
 * Write the mechanism of an event as tacit_event_parse reads it, with all digits that are needed to get the same
 * noise multiplier back; count and label are not part of it. Returns `text`.
 */
TACIT_API const char *tacit_event_format(const tacit_event_t *event, char text[TACIT_EVENT_TEXT_SIZE]);

/**
 * Largest number of repetitions k such that `fixed` (shape n_fixed, may be 0) followed by k times
 * all of `repeated` satisfies (epsilon, delta). UINT64_MAX if repetitions cost nothing.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_account_max_repetitions(
    const tacit_event_t *fixed, size_t n_fixed, const tacit_event_t *repeated, size_t n_repeated,
    double epsilon, double delta, uint64_t *k, tacit_error_t *err);

/**
 * A budget: a privacy filter over adaptively chosen events. For Gaussian events it is the rho
 * filter: sum rho_j <= rho(epsilon, delta), valid when noise multipliers are chosen adaptively
 * (GDP/RDP filters [Feldman2021, SmithThakurta2022]). Not thread-safe.
 */
typedef struct tacit_budget tacit_budget_t;

/** @param epsilon finite > 0;  @param delta in (0, 1). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_budget_new(tacit_budget_t **budget, double epsilon,
                                                         double delta, tacit_relation_t relation,
                                                         tacit_error_t *err);
TACIT_API void tacit_budget_free(tacit_budget_t *budget);
/**
 * Charge an event, before it is computed. Charges are never refunded.
 * @return TACIT_ERR_BUDGET if it does not fit: nothing is charged and the message says what would fit.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_budget_charge(tacit_budget_t *budget,
                                                            const tacit_event_t *event, tacit_error_t *err);
TACIT_API double tacit_budget_epsilon(const tacit_budget_t *budget);
TACIT_API double tacit_budget_delta(const tacit_budget_t *budget);
TACIT_API tacit_relation_t tacit_budget_relation(const tacit_budget_t *budget);
/** Total rho that the budget allows and what has been charged. */
TACIT_API double tacit_budget_rho(const tacit_budget_t *budget);
TACIT_API double tacit_budget_rho_spent(const tacit_budget_t *budget);
/** Guarantee of what has been charged so far, at the budget's delta; epsilon 0 if nothing was. */
TACIT_API tacit_guarantee_t tacit_budget_spent(const tacit_budget_t *budget);
/** Charged events, equal ones merged; shape (*n). Borrowed until the next charge. */
TACIT_API const tacit_event_t *tacit_budget_events(const tacit_budget_t *budget, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
