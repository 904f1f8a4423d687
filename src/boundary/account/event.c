/*
 * Events as people write them, and what makes one well formed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "account/account_internal.h"

/* One key of an event's text, and the field that it sets. */
typedef struct key {
  const char *name;
  size_t offset;
  double low, high; /* open below, closed above */
  const char *meaning;
} key_t;

#define FIELD(name) offsetof(tacit_event_t, name)

static const key_t sigma_key = {"sigma", FIELD(noise_multiplier), 0, INFINITY,
                                "noise sd / sensitivity, from 0"};
static const key_t scale_key = {"scale", FIELD(noise_multiplier), 0, INFINITY,
                                "noise scale / sensitivity, from 0"};
static const key_t rate_key = {"q", FIELD(sampling_rate), 0, 1, "the sampling rate, from 0 to 1"};
static const key_t probability_key = {"p", FIELD(probability), 0, 1,
                                      "the probability of a uniform answer, above 0 and at most 1"};
static const key_t buckets_key = {"buckets", FIELD(buckets), 1, 1e15, "the number of answers, from 2"};
static const key_t delta_key = {
    "sensitivity", FIELD(sensitivity), 0, 300,
    "how far a record moves the log ratio, above 0 and at most 300"}; /* e^-300: probabilities are still
                                                                         numbers */
static const key_t noise_key = {"sigma", FIELD(sigma), 0, INFINITY, "the noise sd of the log ratio, above 0"};
static const key_t rho_key = {"rho", FIELD(rho), 0, INFINITY,
                              "rho of the Gaussian releases made with each bit, above 0"};
static const key_t together_key = {"together", FIELD(together), 1, 1e15,
                                   "the number of bits made after the Gaussian releases of all, from 2"};
static const key_t shift_key = {"sensitivity", FIELD(sensitivity), 0, 1e6,
                                "the whole number of steps that a record moves the sum, at most 1e6"};
static const key_t records_key = {"records", FIELD(records), 1, 1e15, "the number of records, from 2"};
static const key_t draws_key = {"draws", FIELD(draws), 0, 1e15, "the number of draws, from 1"};
static const key_t limit_key = {"limit", FIELD(draws), 0, 1e15, "the largest size of a sample, from 1"};
static const key_t epsilon_key = {"epsilon", FIELD(epsilon), 0, 500, "a number above 0 and at most 500"};
static const key_t delta_of_key = {"delta", FIELD(delta), 0, 1, "a probability"};
static const key_t total_rho_key = {"rho", FIELD(rho), 0, INFINITY, "a number above 0"};
static const key_t xi_key = {"xi", FIELD(xi), 0, INFINITY, "a number above 0"};
static const key_t mean_key = {"mean", FIELD(mean), 0, 1e15, "the mean number of repetitions, above 0"};
static const key_t tnb_mean_key = {"mean", FIELD(mean), 1, 1e15, "the mean number of repetitions, above 1"};
static const key_t shape_key = {"shape", FIELD(shape), -1, 1e6,
                                "the shape of a negative binomial distribution, above -1"};
static const key_t leaves_key = {"leaves", FIELD(draws), 0, 1e15, "the number of leaves, from 1"};
static const key_t threshold_key = {"threshold", FIELD(epsilon), 0, INFINITY,
                                    "the threshold's noise scale / sensitivity, above 0"};
static const key_t query_key = {"query", FIELD(mean), 0, INFINITY,
                                "the queries' noise scale / sensitivity, above 0"};
static const key_t positives_key = {"positives", FIELD(draws), 0, 1e15,
                                    "the number of answers above, from 1"};
static const key_t kappa_key = {"kappa", FIELD(kappa), 0, 2,
                                "the root of the information, above 0 and at most 2"};
static const key_t cap_key = {"cap", FIELD(cap), 0, 0.999,
                              "the largest acceptance, above 0 and at most 0.999"};

enum { max_keys = 5 };

typedef struct form {
  const char *name;
  tacit_event_kind_t kind;
  tacit_sampling_t sampling;
  const key_t *keys[max_keys];
  const char *help;
} form_t;

/* The first of a kind and sampling is how such an event is written; the others are other names of it. */
static const form_t forms[] = {
    {"gaussian", TACIT_EVENT_GAUSSIAN, TACIT_SAMPLING_NONE, {&sigma_key}, "gaussian:sigma=S"},
    {"poisson-gaussian",
     TACIT_EVENT_GAUSSIAN,
     TACIT_SAMPLING_POISSON,
     {&rate_key, &sigma_key},
     "poisson-gaussian:q=Q,sigma=S"},
    {"fixed-size-gaussian",
     TACIT_EVENT_GAUSSIAN,
     TACIT_SAMPLING_WITHOUT_REPLACEMENT,
     {&rate_key, &sigma_key},
     "fixed-size-gaussian:q=Q,sigma=S"},
    {"multiplicity-gaussian",
     TACIT_EVENT_GAUSSIAN,
     TACIT_SAMPLING_MULTIPLICITY,
     {&rate_key, &sigma_key},
     "multiplicity-gaussian:q=Q,sigma=S"},
    {"replacement-gaussian",
     TACIT_EVENT_GAUSSIAN,
     TACIT_SAMPLING_WITH_REPLACEMENT,
     {&records_key, &draws_key, &sigma_key},
     "replacement-gaussian:records=N,draws=B,sigma=S"},
    {"truncated-gaussian",
     TACIT_EVENT_GAUSSIAN,
     TACIT_SAMPLING_TRUNCATED_POISSON,
     {&rate_key, &records_key, &limit_key, &sigma_key},
     "truncated-gaussian:q=Q,records=N,limit=B,sigma=S"},
    {"gaussian-mixture",
     TACIT_EVENT_GAUSSIAN_MIXTURE,
     TACIT_SAMPLING_NONE,
     {NULL},
     "gaussian-mixture:FILE.csv"},
    {"laplace", TACIT_EVENT_LAPLACE, TACIT_SAMPLING_NONE, {&scale_key}, "laplace:scale=B"},
    {"poisson-laplace",
     TACIT_EVENT_LAPLACE,
     TACIT_SAMPLING_POISSON,
     {&rate_key, &scale_key},
     "poisson-laplace:q=Q,scale=B"},
    {"discrete-gaussian",
     TACIT_EVENT_DISCRETE_GAUSSIAN,
     TACIT_SAMPLING_NONE,
     {&sigma_key, &shift_key},
     "discrete-gaussian:sigma=S[,sensitivity=D]"},
    {"poisson-discrete-gaussian",
     TACIT_EVENT_DISCRETE_GAUSSIAN,
     TACIT_SAMPLING_POISSON,
     {&rate_key, &sigma_key},
     "poisson-discrete-gaussian:q=Q,sigma=S"},
    {"discrete-laplace",
     TACIT_EVENT_DISCRETE_LAPLACE,
     TACIT_SAMPLING_NONE,
     {&scale_key, &shift_key},
     "discrete-laplace:scale=B[,sensitivity=D]"},
    {"poisson-discrete-laplace",
     TACIT_EVENT_DISCRETE_LAPLACE,
     TACIT_SAMPLING_POISSON,
     {&rate_key, &scale_key, &shift_key},
     "poisson-discrete-laplace:q=Q,scale=B[,sensitivity=D]"},
    {"approximate",
     TACIT_EVENT_APPROXIMATE,
     TACIT_SAMPLING_NONE,
     {&epsilon_key, &delta_of_key},
     "approximate:epsilon=E[,delta=D]"},
    {"pure", TACIT_EVENT_APPROXIMATE, TACIT_SAMPLING_NONE, {&epsilon_key}, "pure:epsilon=E"},
    {"permute-and-flip",
     TACIT_EVENT_APPROXIMATE,
     TACIT_SAMPLING_NONE,
     {&epsilon_key},
     "permute-and-flip:epsilon=E"},
    {"sparse-vector",
     TACIT_EVENT_APPROXIMATE,
     TACIT_SAMPLING_NONE,
     {&threshold_key, &query_key, &positives_key},
     "sparse-vector:threshold=B,query=C,positives=N"},
    {"tree", TACIT_EVENT_GAUSSIAN, TACIT_SAMPLING_NONE, {&sigma_key, &leaves_key}, "tree:sigma=S,leaves=N"},
    {"zcdp", TACIT_EVENT_ZCDP, TACIT_SAMPLING_NONE, {&total_rho_key, &xi_key}, "zcdp:rho=R[,xi=X]"},
    {"exponential", TACIT_EVENT_EXPONENTIAL, TACIT_SAMPLING_NONE, {&epsilon_key}, "exponential:epsilon=E"},
    {"repeat-poisson",
     TACIT_EVENT_REPEAT_POISSON,
     TACIT_SAMPLING_NONE,
     {&mean_key, &sigma_key},
     "repeat-poisson:mean=M,sigma=S"},
    {"repeat-negative-binomial",
     TACIT_EVENT_REPEAT_BINOMIAL,
     TACIT_SAMPLING_NONE,
     {&tnb_mean_key, &shape_key, &sigma_key},
     "repeat-negative-binomial:mean=M,shape=H,sigma=S"},
    {"randomized-response",
     TACIT_EVENT_RANDOMIZED_RESPONSE,
     TACIT_SAMPLING_NONE,
     {&probability_key, &buckets_key},
     "randomized-response:p=P,buckets=N"},
    {"pair", TACIT_EVENT_PAIR, TACIT_SAMPLING_NONE, {NULL}, "pair:FILE.csv"},
    {"profile", TACIT_EVENT_PROFILE, TACIT_SAMPLING_NONE, {NULL}, "profile:FILE.csv"},
    {"penalty-bit",
     TACIT_EVENT_PENALTY_BIT,
     TACIT_SAMPLING_NONE,
     {&delta_key, &noise_key, &rho_key, &together_key},
     "penalty-bit:sensitivity=D,sigma=S[,rho=R[,together=N]]"},
    {"probit-bit",
     TACIT_EVENT_PROBIT_BIT,
     TACIT_SAMPLING_NONE,
     {&delta_key, &noise_key, &rho_key, &together_key},
     "probit-bit:sensitivity=D,sigma=S[,rho=R[,together=N]]"},
    {"barker-bit",
     TACIT_EVENT_BARKER_BIT,
     TACIT_SAMPLING_NONE,
     {&delta_key, &rho_key, &together_key},
     "barker-bit:sensitivity=D[,rho=R[,together=N]]"},
    {"arcsine-bit",
     TACIT_EVENT_ARCSINE_BIT,
     TACIT_SAMPLING_NONE,
     {&delta_key, &kappa_key, &cap_key, &rho_key, &together_key},
     "arcsine-bit:sensitivity=D,kappa=K,cap=A[,rho=R[,together=N]]"},
};

enum { n_forms = sizeof forms / sizeof forms[0] };

static const form_t *form_of(const tacit_event_t *event) {
  for (size_t i = 0; i < n_forms; i++) {
    if (forms[i].kind == event->kind && forms[i].sampling == event->sampling) {
      return &forms[i];
    }
  }
  return NULL;
}

static bool is_whole(const key_t *key) {
  return key == &buckets_key || key == &together_key || key == &records_key || key == &draws_key ||
         key == &limit_key || key == &leaves_key || key == &positives_key;
}

static bool is_optional(const key_t *key) {
  return key == &rho_key || key == &together_key || key == &shift_key || key == &delta_of_key ||
         key == &xi_key;
}

/* The lower end is a limit, of which accountants know the cost. */
static bool has_limit(const key_t *key) { return key == &sigma_key || key == &scale_key || key == &rate_key; }

/* Numbers are doubles at the key's offset, but for whole ones. */
static double get(const tacit_event_t *event, const key_t *key) {
  if (is_whole(key)) {
    uint64_t number;
    memcpy(&number, (const char *)event + key->offset, sizeof number);
    return (double)number;
  }
  double value;
  memcpy(&value, (const char *)event + key->offset, sizeof value);
  return value;
}

static void set(tacit_event_t *event, const key_t *key, double value) {
  if (is_whole(key)) {
    uint64_t number = (uint64_t)value;
    memcpy((char *)event + key->offset, &number, sizeof number);
  } else {
    memcpy((char *)event + key->offset, &value, sizeof value);
  }
}

static bool is_valid(const key_t *key, double value, bool allows_limits) {
  bool must_be_whole = is_whole(key) || key == &shift_key, is_limit = has_limit(key) && value >= key->low;
  return (value > key->low || (is_limit && allows_limits)) && value <= key->high &&
         (!must_be_whole || value == floor(value));
}

static tacit_status_t check_event(const tacit_event_t *event, bool allows_limits, tacit_error_t *err) {
  char number[TACIT_NUMBER_SIZE];
  const form_t *form = form_of(event);
  if (form == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "kind", "event of unknown kind %d with sampling %d",
                           (int)event->kind, (int)event->sampling);
  }
  for (size_t i = 0; i < max_keys && form->keys[i] != NULL; i++) {
    double value = get(event, form->keys[i]);
    bool is_absent = is_optional(form->keys[i]) && value <= 0 && value >= 0;
    if (!is_absent && !is_valid(form->keys[i], value, allows_limits)) {
      return tacit_error_set(
          err, TACIT_ERR_ARGUMENT, form->keys[i]->name, "%s of a %s event must be %s%s, not %s",
          form->keys[i]->name, form->name, form->keys[i]->meaning,
          has_limit(form->keys[i]) && !allows_limits ? " but not 0" : "", tacit_number_format(value, number));
    }
  }
  if (form->keys[0] == NULL && event->curve == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "curve", "a %s event needs its curve", form->name);
  }
  if (event->count < 1 || event->count > TACIT_MAX_COUNT) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "count",
                           "the count of an event must be from 1 to 1e18, not %llu",
                           (unsigned long long)event->count);
  }
  if (memchr(event->label, '\0', sizeof event->label) == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "label",
                           "the label of an event must end with a zero byte within its %zu bytes",
                           sizeof event->label);
  }
  return TACIT_OK;
}

tacit_status_t tacit_event_check(const tacit_event_t *event, tacit_error_t *err) {
  return check_event(event, false, err);
}

tacit_status_t tacit_event_check_limits(const tacit_event_t *event, tacit_error_t *err) {
  return check_event(event, true, err);
}

bool tacit_event_is_scaled(const tacit_event_t *event) {
  return event->kind <= TACIT_EVENT_DISCRETE_GAUSSIAN || event->kind == TACIT_EVENT_DISCRETE_LAPLACE;
}

static bool is_rated(const tacit_event_t *event) {
  return event->sampling != TACIT_SAMPLING_NONE && event->sampling != TACIT_SAMPLING_WITH_REPLACEMENT;
}

bool tacit_event_is_free(const tacit_event_t *event) {
  bool is_bit_free = tacit_event_is_bit(event) && isinf(event->sigma) && !(event->rho > 0);
  bool is_noise_infinite = tacit_event_is_scaled(event) && isinf(event->noise_multiplier);
  return is_bit_free || is_noise_infinite || (is_rated(event) && !(event->sampling_rate > 0));
}

bool tacit_event_is_bare(const tacit_event_t *event) {
  return tacit_event_is_scaled(event) && !(event->noise_multiplier > 0) && !tacit_event_is_free(event);
}

bool tacit_event_is_bit(const tacit_event_t *event) {
  return event->kind >= TACIT_EVENT_PENALTY_BIT && event->kind <= TACIT_EVENT_ARCSINE_BIT;
}

bool tacit_event_is_gaussian(const tacit_event_t *event) {
  return event->kind == TACIT_EVENT_GAUSSIAN && event->sampling == TACIT_SAMPLING_NONE;
}

uint64_t tacit_event_group(const tacit_event_t *event) {
  return tacit_event_is_bit(event) && event->rho > 0 && event->together > 1 ? event->together : 1;
}

uint64_t tacit_event_whole_count(const tacit_event_t *event) {
  uint64_t group = tacit_event_group(event);
  return (event->count - 1) / group * group + group;
}

int tacit_event_compare(const tacit_event_t *left, const tacit_event_t *right) {
  const form_t *form = form_of(left);
  if (left->kind != right->kind || left->sampling != right->sampling) {
    int difference = (int)left->kind - (int)right->kind;
    return difference != 0 ? difference : (int)left->sampling - (int)right->sampling;
  }
  if (left->curve != right->curve) {
    return (uintptr_t)left->curve < (uintptr_t)right->curve ? -1 : 1;
  }
  for (size_t i = 0; form != NULL && i < max_keys && form->keys[i] != NULL; i++) {
    double a = get(left, form->keys[i]), b = get(right, form->keys[i]);
    if (a < b || a > b) {
      return a < b ? -1 : 1;
    }
  }
  return 0;
}

/* Echoed in messages: enough of a wrong text to recognise it. */
#define SHOWN "event '%.60s'"

/* "key=value", n bytes at `at`. */
static tacit_status_t parse_key(tacit_event_t *event, const form_t *form, unsigned *given, const char *at,
                                size_t n, const char *text, tacit_error_t *err) {
  size_t n_key = strcspn(at, "=,");
  for (size_t i = 0; i < max_keys && form->keys[i] != NULL && n_key < n; i++) {
    const key_t *key = form->keys[i];
    double value;
    if (strlen(key->name) != n_key || strncmp(key->name, at, n_key) != 0) {
      continue;
    }
    if (*given & 1u << i) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, "event", SHOWN ": %s is given twice", text, key->name);
    }
    *given |= 1u << i;
    if (!tacit_number_parse(at + n_key + 1, n - n_key - 1, &value) || isinf(value) ||
        !is_valid(key, value, true)) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, "event", SHOWN ": %s must be a finite number: %s", text,
                             key->name, key->meaning);
    }
    set(event, key, value);
    return TACIT_OK;
  }
  if (n_key == n) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event", SHOWN ": expected KEY=NUMBER, as in %s", text,
                           form->help);
  }
  return tacit_error_set(err, TACIT_ERR_UNKNOWN, "event", SHOWN ": unknown key '%.*s'; expected %s", text,
                         n_key < 30 ? (int)n_key : 30, at, form->help);
}

/*
 * A leaf is in as many of the finished nodes of a binary tree as their number has digits in base 2, and in no
 * more: so many releases of the noise multiplier, or one with that over the root.
 */
static void finish_tree(tacit_event_t *event) {
  int depth = 0;
  for (uint64_t leaves = event->draws; leaves > 0; leaves >>= 1) {
    depth++;
  }
  event->noise_multiplier /= sqrt((double)depth) * (1 + 0x1p-51);
  event->draws = 0;
}

/* [Lyu2017, Theorem 4] */
static void finish_sparse_vector(tacit_event_t *event) {
  event->epsilon = (1 / event->epsilon + 2 * (double)event->draws / event->mean) * (1 + 0x1p-50);
  event->mean = 0;
  event->draws = 0;
}

/* Of another name: from its keys to the kind's. */
static void finish(const form_t *form, tacit_event_t *event) {
  if (form->keys[1] == &leaves_key) {
    finish_tree(event);
  } else if (form->keys[0] == &threshold_key) {
    finish_sparse_vector(event);
  }
}

static tacit_status_t parse_keys(tacit_event_t *event, const form_t *form, const char *at, const char *text,
                                 tacit_error_t *err) {
  unsigned given = 0;
  while (*at == ':' || *at == ',') {
    at++;
    size_t n = strcspn(at, ",");
    tacit_status_t status = parse_key(event, form, &given, at, n, text, err);
    if (status != TACIT_OK) {
      return status;
    }
    at += n;
  }
  for (size_t i = 0; i < max_keys && form->keys[i] != NULL; i++) {
    if (!(given & 1u << i) && !is_optional(form->keys[i])) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, "event", SHOWN ": %s is missing; expected %s", text,
                             form->keys[i]->name, form->help);
    }
  }
  return TACIT_OK;
}

static tacit_status_t unknown_form(const char *text, size_t n, tacit_error_t *err) {
  char name[40], hint[TACIT_HINT_SIZE];
  snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name - 1, text);
  tacit_nearest_t nearest = {.name = name};
  for (size_t i = 0; i < n_forms; i++) {
    tacit_nearest_offer(&nearest, forms[i].name);
  }
  return tacit_error_set(err, TACIT_ERR_UNKNOWN, "event",
                         SHOWN ": unknown mechanism '%s'%s; 'tacit account --help' lists all", text, name,
                         tacit_nearest_hint(&nearest, hint));
}

static const form_t *form_named(const char *text) {
  size_t n = strcspn(text, ":");
  for (size_t i = 0; i < n_forms; i++) {
    if (strlen(forms[i].name) == n && strncmp(forms[i].name, text, n) == 0) {
      return &forms[i];
    }
  }
  return NULL;
}

bool tacit_event_names_file(const char *text) {
  const form_t *form = form_named(text);
  return form != NULL && form->keys[0] == NULL;
}

tacit_status_t tacit_event_parse(tacit_event_t *event, const char *text, tacit_error_t *err) {
  size_t n = strcspn(text, ":");
  const form_t *form = form_named(text);
  *event = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .count = 1};
  if (form == NULL) {
    return unknown_form(text, n, err);
  }
  event->kind = form->kind;
  event->sampling = form->sampling;
  if (form->keys[0] != NULL) {
    tacit_status_t status = parse_keys(event, form, text + n, text, err);
    if (status == TACIT_OK) {
      finish(form, event);
    }
    return status;
  }
  if (text[n] != ':' || text[n + 1] == '\0') {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event", SHOWN ": expected %s", text, form->help);
  }
  tacit_curve_t *curve;
  tacit_status_t status = form->kind == TACIT_EVENT_PAIR ? tacit_curve_read_pair(&curve, text + n + 1, err)
                          : form->kind == TACIT_EVENT_PROFILE
                              ? tacit_curve_read_profile(&curve, text + n + 1, err)
                              : tacit_curve_read_mixture(&curve, text + n + 1, err);
  event->curve = curve;
  return status;
}

const char *tacit_event_format(const tacit_event_t *event, char text[TACIT_EVENT_TEXT_SIZE]) {
  const form_t *form = form_of(event);
  size_t n = (size_t)snprintf(text, TACIT_EVENT_TEXT_SIZE, "%s", form != NULL ? form->name : "unknown");
  for (size_t i = 0; form != NULL && i < max_keys && form->keys[i] != NULL; i++) {
    if (is_optional(form->keys[i]) && !(get(event, form->keys[i]) > 0)) {
      continue;
    }
    char number[TACIT_NUMBER_SIZE];
    n += (size_t)snprintf(text + n, TACIT_EVENT_TEXT_SIZE - n, "%c%s=%s", i == 0 ? ':' : ',',
                          form->keys[i]->name, tacit_number_exact(get(event, form->keys[i]), number));
  }
  return text;
}

void tacit_event_clear(tacit_event_t *event) {
  tacit_curve_free((tacit_curve_t *)event->curve);
  event->curve = NULL;
}
