/*
 * The accountants by name.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "account/account.h"
#include "account/bellman.h"
#include "account/composition.h"
#include "account/renyi.h"
#include "base/error.h"
#include "base/number.h"

tacit_status_t tacit_delta_check(double delta, tacit_error_t *err) {
  char number[TACIT_NUMBER_SIZE];
  if (!(delta > 0 && delta < 1)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "delta", "delta must be above 0 and below 1, not %s",
                           tacit_number_format(delta, number));
  }
  return TACIT_OK;
}

tacit_status_t tacit_epsilon_check(double epsilon, tacit_error_t *err) {
  char number[TACIT_NUMBER_SIZE];
  if (!(epsilon >= 0) || isinf(epsilon)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "epsilon",
                           "epsilon must be a finite number from 0, not %s",
                           tacit_number_format(epsilon, number));
  }
  return TACIT_OK;
}

tacit_status_t tacit_events_check(const tacit_event_t *events, size_t n_events, tacit_error_t *err) {
  for (size_t i = 0; i < n_events; i++) {
    tacit_status_t status = tacit_event_check(&events[i], err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return TACIT_OK;
}

bool tacit_events_are_gaussian(const tacit_event_t *events, size_t n_events) {
  for (size_t i = 0; i < n_events; i++) {
    if (!tacit_event_is_gaussian(&events[i]) && !tacit_event_is_free(&events[i])) {
      return false;
    }
  }
  return true;
}

/* What is asked of an accountant, its arguments checked; it sets epsilon or delta of the guarantee and their
 * lower bounds. */
typedef struct tacit_account_question {
  const tacit_event_t *events;
  size_t n_events;
  tacit_account_options_t options;
  bool is_epsilon_given;
  double epsilon, delta;
  tacit_bellman_t *bellman;
} question_t;

/* Is what is asked for the epsilon at delta 0? */
static bool is_pure(const question_t *question) {
  return !question->is_epsilon_given && question->delta >= 0 && question->delta <= 0;
}

static tacit_status_t check_accountant(const question_t *question, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  if (question->is_epsilon_given) {
    status = tacit_epsilon_check(question->epsilon, err);
  } else if (!is_pure(question)) {
    status = tacit_delta_check(question->delta, err);
  }
  double width = question->options.relative_width;
  if (status == TACIT_OK && !((width >= 1e-6 && width <= 0.1) || (width >= 0 && width <= 0))) {
    char number[TACIT_NUMBER_SIZE];
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "relative_width",
                             "the relative width must be from 1e-6 to 0.1, not %s",
                             tacit_number_format(width, number));
  }
  for (size_t i = 0; status == TACIT_OK && i < question->n_events; i++) {
    status = tacit_event_check_limits(&question->events[i], err);
  }
  return status;
}

/* ---- Gaussian releases: one sum of rho, three bounds of its curve ---- */

static tacit_status_t total(const question_t *question, const char *method, tacit_exact_sum_t *sum,
                            tacit_error_t *err) {
  *sum = (tacit_exact_sum_t){0, 0};
  for (size_t i = 0; i < question->n_events; i++) {
    const tacit_event_t *event = &question->events[i];
    if (tacit_event_is_free(event)) {
      continue;
    }
    if (!tacit_event_is_gaussian(event)) {
      char text[TACIT_EVENT_TEXT_SIZE];
      tacit_event_format(event, text);
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "event",
                             "accountant %s takes Gaussian releases of all records only, not %s: use auto",
                             method, text);
    }
    tacit_exact_sum_add(sum, tacit_event_rho(event));
  }
  return TACIT_OK;
}

/* The bounds of the exact curve from below, whatever the method above. */
static void set_lower(const question_t *question, const tacit_exact_sum_t *sum,
                      tacit_guarantee_t *guarantee) {
  double rho = tacit_rho_lower(sum);
  guarantee->epsilon_lower = tacit_gaussian_epsilon_lower(rho, tacit_log_above(guarantee->delta));
  if (question->is_epsilon_given) {
    double log_delta = tacit_gaussian_log_delta(rho, question->epsilon);
    guarantee->delta_lower =
        exp(log_delta - tacit_gaussian_log_delta_error(rho, question->epsilon)) * (1 - 0x1p-50);
  }
}

static tacit_status_t gaussian_answer(const question_t *question, tacit_guarantee_t *guarantee,
                                      tacit_error_t *err) {
  tacit_exact_sum_t sum;
  tacit_status_t status = total(question, guarantee->method, &sum, err);
  if (status != TACIT_OK) {
    return status;
  }
  double rho = tacit_rho_upper(&sum);
  if (question->is_epsilon_given) {
    guarantee->delta = tacit_exp_above(tacit_gaussian_log_delta_upper(rho, question->epsilon));
  } else {
    guarantee->epsilon = tacit_gaussian_epsilon(rho, tacit_log_below(question->delta));
  }
  set_lower(question, &sum, guarantee);
  return TACIT_OK;
}

/* ---- Renyi and concentrated differential privacy ---- */

static void set_answer(const question_t *question, double answer, tacit_guarantee_t *guarantee) {
  if (question->is_epsilon_given) {
    guarantee->delta = tacit_exp_above(answer);
  } else {
    guarantee->epsilon = answer;
  }
}

/* The exact curve from below, where it is known. */
static void set_lower_if_gaussian(const question_t *question, tacit_guarantee_t *guarantee) {
  tacit_exact_sum_t sum;
  if (tacit_events_are_gaussian(question->events, question->n_events) &&
      total(question, guarantee->method, &sum, NULL) == TACIT_OK) {
    set_lower(question, &sum, guarantee);
  }
}

static tacit_renyi_query_t renyi_query(const question_t *question) {
  return (tacit_renyi_query_t){question->options.relation, question->is_epsilon_given, question->epsilon,
                               question->is_epsilon_given ? 0 : tacit_log_below(question->delta),
                               question->options.is_quick};
}

static tacit_status_t rdp_answer(const question_t *question, tacit_guarantee_t *guarantee,
                                 tacit_error_t *err) {
  tacit_renyi_query_t query = renyi_query(question);
  double answer;
  tacit_exact_sum_t sum;
  if (tacit_events_are_gaussian(question->events, question->n_events)) { /* the best order in closed form */
    tacit_status_t status = total(question, guarantee->method, &sum, err);
    double rho = status == TACIT_OK ? tacit_rho_upper(&sum) : 0;
    set_answer(question,
               query.is_epsilon_given ? tacit_rdp_gaussian_log_delta(rho, query.epsilon)
                                      : tacit_rdp_gaussian_epsilon(rho, query.log_delta, &guarantee->order),
               guarantee);
    set_lower_if_gaussian(question, guarantee);
    return status;
  }
  tacit_status_t status =
      tacit_renyi_bound(question->events, question->n_events, &query, &answer, &guarantee->order, err);
  if (status == TACIT_OK) {
    set_answer(question, answer, guarantee);
  }
  return status;
}

static tacit_status_t moments_answer(const question_t *question, tacit_guarantee_t *guarantee,
                                     tacit_error_t *err) {
  tacit_renyi_query_t query = renyi_query(question);
  double answer;
  tacit_status_t status =
      tacit_moments_bound(question->events, question->n_events, &query, &answer, &guarantee->order, err);
  if (status == TACIT_OK) {
    set_answer(question, answer, guarantee);
    set_lower_if_gaussian(question, guarantee);
  }
  return status;
}

static tacit_status_t zcdp_answer(const question_t *question, tacit_guarantee_t *guarantee,
                                  tacit_error_t *err) {
  double rho;
  tacit_status_t status = tacit_zcdp_total(question->events, question->n_events, &rho, err);
  if (status == TACIT_OK) {
    set_answer(question,
               question->is_epsilon_given ? tacit_zcdp_log_delta(rho, question->epsilon)
                                          : tacit_zcdp_epsilon(rho, tacit_log_below(question->delta)),
               guarantee);
    set_lower_if_gaussian(question, guarantee);
  }
  return status;
}

/* ---- privacy loss distributions ---- */

static tacit_status_t pure_answer(const question_t *question, tacit_guarantee_t *guarantee,
                                  tacit_error_t *err) {
  tacit_status_t status = tacit_composition_pure(question->events, question->n_events,
                                                 question->options.relation, &guarantee->epsilon, err);
  guarantee->epsilon_lower = guarantee->epsilon * (1 - 0x1p-30);
  guarantee->method = "pure";
  return status;
}

static tacit_status_t pld_answer(const question_t *question, tacit_guarantee_t *guarantee,
                                 tacit_error_t *err) {
  tacit_bracket_t bracket;
  tacit_status_t status;
  if (is_pure(question)) {
    return pure_answer(question, guarantee, err);
  }
  if (question->is_epsilon_given) {
    status = tacit_composition_log_delta(question->events, question->n_events, &question->options,
                                         question->epsilon, &bracket, err);
    if (status == TACIT_OK) {
      guarantee->delta = tacit_exp_above(bracket.upper);
      guarantee->delta_lower = exp(bracket.lower) * (1 - 0x1p-50);
    }
    return status;
  }
  status = tacit_composition_epsilon(question->events, question->n_events, &question->options,
                                     log(question->delta), &bracket, err);
  if (status == TACIT_OK) {
    guarantee->epsilon = bracket.upper;
    guarantee->epsilon_lower = bracket.lower;
  }
  return status;
}

/* ---- the tightest ---- */

static bool has_bits(const question_t *question) {
  for (size_t i = 0; i < question->n_events; i++) {
    if (tacit_event_is_bit(&question->events[i])) {
      return true;
    }
  }
  return false;
}

static bool is_better(const tacit_guarantee_t *found, const tacit_guarantee_t *than) {
  return found->epsilon < than->epsilon || found->delta < than->delta;
}

/* A bit is a post-processing of the log ratio with Gaussian noise, where it has any: never more than that
 * Gaussian's cost. */
static bool gaussian_of_bits(const question_t *question, tacit_guarantee_t *guarantee) {
  tacit_exact_sum_t sum = {0, 0};
  for (size_t i = 0; i < question->n_events; i++) {
    const tacit_event_t *event = &question->events[i];
    bool is_noisy = event->kind == TACIT_EVENT_PENALTY_BIT || event->kind == TACIT_EVENT_PROBIT_BIT;
    if (!is_noisy && !tacit_event_is_gaussian(event)) {
      return false;
    }
    tacit_event_t gaussian = {.noise_multiplier =
                                  is_noisy ? event->sigma / event->sensitivity : event->noise_multiplier,
                              .count = tacit_event_whole_count(event)};
    tacit_exact_sum_add(&sum, tacit_event_rho(&gaussian));
    tacit_exact_sum_add(&sum, (double)gaussian.count * event->rho * (1 + 4 * DBL_EPSILON));
  }
  double rho = tacit_rho_upper(&sum);
  guarantee->method = "gaussian";
  set_answer(question,
             question->is_epsilon_given ? tacit_gaussian_log_delta_upper(rho, question->epsilon)
                                        : tacit_gaussian_epsilon(rho, tacit_log_below(question->delta)),
             guarantee);
  return true;
}

/* Bits of one kind, or one kind after another: blocks say nothing of a choice that goes back and forth
 * between kinds. */
static tacit_status_t bellman_of_bits(const question_t *question, tacit_guarantee_t *guarantee,
                                      tacit_error_t *err) {
  double answer;
  tacit_status_t status =
      question->is_epsilon_given
          ? tacit_bellman_log_delta(question->bellman, question->events, question->n_events,
                                    question->epsilon, question->options.relative_width, &answer, err)
          : tacit_bellman_epsilon(question->bellman, question->events, question->n_events,
                                  tacit_log_below(question->delta), question->options.relative_width, &answer,
                                  err);
  guarantee->method = "bits";
  if (status == TACIT_OK) {
    set_answer(question, answer, guarantee);
  } else if (status == TACIT_ERR_ARGUMENT) {
    set_answer(question, question->is_epsilon_given ? 0 : INFINITY, guarantee);
  }
  return status == TACIT_ERR_ARGUMENT ? TACIT_OK
                                      : status; /* too fine or too coarse to be followed: the others stand */
}

/* The least of three bounds; where the tight one is to be had, Renyi's, which rarely beats it, need not be
 * sharp. */
static tacit_status_t bits_answer(const question_t *question, tacit_guarantee_t *guarantee,
                                  tacit_error_t *err) {
  const tacit_guarantee_t blank = *guarantee;
  tacit_guarantee_t tight = blank, other = blank;
  question_t rough = *question;
  bool is_one_kind_at_a_time = question->n_events == 1 || question->options.is_in_order;
  tacit_status_t status = TACIT_OK;
  if (is_one_kind_at_a_time && !question->options.is_quick) {
    status = bellman_of_bits(question, &tight, err);
    rough.options.is_quick = tight.epsilon < INFINITY && tight.delta < 1;
  }
  guarantee->method = "rdp";
  TACIT_THEN(status, rdp_answer(&rough, guarantee, err));
  if (status == TACIT_OK && is_better(&tight, guarantee)) {
    *guarantee = tight;
  }
  if (status == TACIT_OK && gaussian_of_bits(question, &other) && is_better(&other, guarantee)) {
    *guarantee = other;
  }
  return status;
}

static bool has_kind(const question_t *question, tacit_event_kind_t kind) {
  for (size_t i = 0; i < question->n_events; i++) {
    if (question->events[i].kind == kind) {
      return true;
    }
  }
  return false;
}

/* The pair of bounded range holds for one use; of many Renyi's bound, which knows that a range has but two
 * ends, may be less. */
static tacit_status_t ranges_answer(const question_t *question, tacit_guarantee_t *guarantee,
                                    tacit_error_t *err) {
  tacit_guarantee_t other = *guarantee;
  tacit_error_t ignored;
  guarantee->method = "pld";
  other.method = "rdp";
  tacit_status_t status = pld_answer(question, guarantee, err);
  if (status == TACIT_OK && rdp_answer(question, &other, &ignored) == TACIT_OK &&
      is_better(&other, guarantee)) {
    other.epsilon_lower = guarantee->epsilon_lower;
    other.delta_lower = guarantee->delta_lower;
    *guarantee = other;
  }
  return status;
}

static tacit_status_t auto_answer(const question_t *question, tacit_guarantee_t *guarantee,
                                  tacit_error_t *err) {
  if (tacit_events_are_gaussian(question->events, question->n_events) && !is_pure(question)) {
    guarantee->method = "gaussian";
    return gaussian_answer(question, guarantee, err);
  }
  if (has_bits(question)) {
    return bits_answer(question, guarantee, err);
  }
  if (has_kind(question, TACIT_EVENT_ZCDP) || has_kind(question, TACIT_EVENT_REPEAT_POISSON) ||
      has_kind(question, TACIT_EVENT_REPEAT_BINOMIAL)) { /* no pair is known */
    guarantee->method = "rdp";
    return rdp_answer(question, guarantee, err);
  }
  if (has_kind(question, TACIT_EVENT_EXPONENTIAL) && !is_pure(question)) {
    return ranges_answer(question, guarantee, err);
  }
  guarantee->method = "pld";
  return pld_answer(question, guarantee, err);
}

/* ---- the table ---- */

static const tacit_accountant_t accountants[] = {
    {"auto", "the tightest accountant that is valid for the events", auto_answer},
    {"gaussian", "exact composition of Gaussian mechanisms", gaussian_answer},
    {"pld", "privacy loss distributions, with bounds from both sides", pld_answer},
    {"rdp", "Renyi differential privacy with the improved conversion", rdp_answer},
    {"zcdp", "zero-concentrated differential privacy, classical conversion", zcdp_answer},
    {"moments", "the moments accountant: integer orders, classical conversion", moments_answer},
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

static tacit_status_t ask(const tacit_accountant_t *accountant, question_t *question,
                          const tacit_account_options_t *options, tacit_guarantee_t *guarantee,
                          tacit_error_t *err) {
  const tacit_accountant_t *chosen = accountant != NULL ? accountant : &accountants[0];
  tacit_bellman_t own = {NULL}, *given = question->bellman;
  *guarantee = (tacit_guarantee_t){.epsilon = question->is_epsilon_given ? question->epsilon : INFINITY,
                                   .delta = question->is_epsilon_given ? 1 : question->delta,
                                   .method = chosen->name};
  question->options =
      options != NULL ? *options : (tacit_account_options_t){.relation = TACIT_RELATION_SUBSTITUTE};
  question->bellman = given != NULL ? given : &own;
  tacit_status_t status = check_accountant(question, err);
  TACIT_THEN(status, chosen->answer(question, guarantee, err));
  tacit_bellman_clear(&own);
  question->bellman = given;
  return status;
}

tacit_status_t tacit_account_epsilon_again(tacit_bellman_t *bellman, const tacit_accountant_t *accountant,
                                           const tacit_event_t *events, size_t n_events,
                                           const tacit_account_options_t *options, double delta,
                                           tacit_guarantee_t *guarantee, tacit_error_t *err) {
  question_t question = {.events = events, .n_events = n_events, .delta = delta, .bellman = bellman};
  return ask(accountant, &question, options, guarantee, err);
}

tacit_status_t tacit_account_delta_again(tacit_bellman_t *bellman, const tacit_accountant_t *accountant,
                                         const tacit_event_t *events, size_t n_events,
                                         const tacit_account_options_t *options, double epsilon,
                                         tacit_guarantee_t *guarantee, tacit_error_t *err) {
  question_t question = {.events = events,
                         .n_events = n_events,
                         .is_epsilon_given = true,
                         .epsilon = epsilon,
                         .bellman = bellman};
  return ask(accountant, &question, options, guarantee, err);
}

tacit_status_t tacit_account_epsilon(const tacit_accountant_t *accountant, const tacit_event_t *events,
                                     size_t n_events, const tacit_account_options_t *options, double delta,
                                     tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return tacit_account_epsilon_again(NULL, accountant, events, n_events, options, delta, guarantee, err);
}

tacit_status_t tacit_account_delta(const tacit_accountant_t *accountant, const tacit_event_t *events,
                                   size_t n_events, const tacit_account_options_t *options, double epsilon,
                                   tacit_guarantee_t *guarantee, tacit_error_t *err) {
  return tacit_account_delta_again(NULL, accountant, events, n_events, options, epsilon, guarantee, err);
}
