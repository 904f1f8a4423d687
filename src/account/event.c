/*
 * Events as people write them, and what makes one well formed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/account_internal.h"

/* One key of an event's text, and the field that it sets. */
typedef struct key {
  const char *name;
  size_t offset;
  double low, high; /* open below, closed above; buckets: both closed */
  const char *meaning;
} key_t;

#define FIELD(name) offsetof(tacit_event_t, name)

static const key_t sigma_key = {"sigma", FIELD(noise_multiplier), 0, INFINITY, "noise sd / sensitivity, above 0"};
static const key_t scale_key = {"scale", FIELD(noise_multiplier), 0, INFINITY, "noise scale / sensitivity, above 0"};
static const key_t rate_key = {"q", FIELD(sampling_rate), 0, 1, "the sampling rate, above 0 and at most 1"};
static const key_t probability_key = {"p", FIELD(probability), 0, 1,
                                      "the probability of a uniform answer, above 0 and at most 1"};
static const key_t buckets_key = {"buckets", FIELD(buckets), 1, 1e15, "the number of answers, from 2"};
static const key_t delta_key = {"sensitivity", FIELD(sensitivity), 0, 300,
                                "how far a record moves the log ratio, above 0 and at most 300"}; /* e^-300: probabilities are still numbers */
static const key_t noise_key = {"sigma", FIELD(sigma), 0, INFINITY, "the noise sd of the log ratio, above 0"};
static const key_t rho_key = {"rho", FIELD(rho), 0, INFINITY, "rho of the Gaussian releases made with each bit, above 0"};
static const key_t together_key = {"together", FIELD(together), 1, 1e15,
                                   "the number of bits made after the Gaussian releases of all, from 2"};
static const key_t shift_key = {"sensitivity", FIELD(sensitivity), 0, 1e6,
                                "the whole number of steps that a record moves the sum, at most 1e6"};
static const key_t kappa_key = {"kappa", FIELD(kappa), 0, 2, "the root of the information, above 0 and at most 2"};
static const key_t cap_key = {"cap", FIELD(cap), 0, 0.999, "the largest acceptance, above 0 and at most 0.999"};

enum { max_keys = 5 };

typedef struct form {
  const char *name;
  tacit_event_kind_t kind;
  tacit_sampling_t sampling;
  const key_t *keys[max_keys];
  const char *help;
} form_t;

static const form_t forms[] = {
    {"gaussian", TACIT_EVENT_GAUSSIAN, TACIT_SAMPLING_NONE, {&sigma_key}, "gaussian:sigma=S"},
    {"poisson-gaussian", TACIT_EVENT_GAUSSIAN, TACIT_SAMPLING_POISSON, {&rate_key, &sigma_key},
     "poisson-gaussian:q=Q,sigma=S"},
    {"fixed-size-gaussian", TACIT_EVENT_GAUSSIAN, TACIT_SAMPLING_WITHOUT_REPLACEMENT, {&rate_key, &sigma_key},
     "fixed-size-gaussian:q=Q,sigma=S"},
    {"multiplicity-gaussian", TACIT_EVENT_GAUSSIAN, TACIT_SAMPLING_MULTIPLICITY, {&rate_key, &sigma_key},
     "multiplicity-gaussian:q=Q,sigma=S"},
    {"laplace", TACIT_EVENT_LAPLACE, TACIT_SAMPLING_NONE, {&scale_key}, "laplace:scale=B"},
    {"poisson-laplace", TACIT_EVENT_LAPLACE, TACIT_SAMPLING_POISSON, {&rate_key, &scale_key},
     "poisson-laplace:q=Q,scale=B"},
    {"discrete-gaussian", TACIT_EVENT_DISCRETE_GAUSSIAN, TACIT_SAMPLING_NONE, {&sigma_key, &shift_key},
     "discrete-gaussian:sigma=S[,sensitivity=D]"},
    {"poisson-discrete-gaussian", TACIT_EVENT_DISCRETE_GAUSSIAN, TACIT_SAMPLING_POISSON, {&rate_key, &sigma_key},
     "poisson-discrete-gaussian:q=Q,sigma=S"},
    {"randomized-response", TACIT_EVENT_RANDOMIZED_RESPONSE, TACIT_SAMPLING_NONE, {&probability_key, &buckets_key},
     "randomized-response:p=P,buckets=N"},
    {"pair", TACIT_EVENT_PAIR, TACIT_SAMPLING_NONE, {NULL}, "pair:FILE.csv"},
    {"profile", TACIT_EVENT_PROFILE, TACIT_SAMPLING_NONE, {NULL}, "profile:FILE.csv"},
    {"penalty-bit", TACIT_EVENT_PENALTY_BIT, TACIT_SAMPLING_NONE, {&delta_key, &noise_key, &rho_key, &together_key},
     "penalty-bit:sensitivity=D,sigma=S[,rho=R[,together=N]]"},
    {"probit-bit", TACIT_EVENT_PROBIT_BIT, TACIT_SAMPLING_NONE, {&delta_key, &noise_key, &rho_key, &together_key},
     "probit-bit:sensitivity=D,sigma=S[,rho=R[,together=N]]"},
    {"barker-bit", TACIT_EVENT_BARKER_BIT, TACIT_SAMPLING_NONE, {&delta_key, &rho_key, &together_key},
     "barker-bit:sensitivity=D[,rho=R[,together=N]]"},
    {"arcsine-bit", TACIT_EVENT_ARCSINE_BIT, TACIT_SAMPLING_NONE, {&delta_key, &kappa_key, &cap_key, &rho_key, &together_key},
     "arcsine-bit:sensitivity=D,kappa=K,cap=A[,rho=R[,together=N]]"},
};

enum { n_forms = sizeof forms / sizeof forms[0] };

const char *tacit_event_help(size_t i) {
  return i < n_forms ? forms[i].help : NULL;
}

static const form_t *form_of(const tacit_event_t *event) {
  for (size_t i = 0; i < n_forms; i++) {
    if (forms[i].kind == event->kind && forms[i].sampling == event->sampling) {
      return &forms[i];
    }
  }
  return NULL;
}

static bool is_whole(const key_t *key) {
  return key == &buckets_key || key == &together_key;
}

static bool is_optional(const key_t *key) {
  return key == &rho_key || key == &together_key || key == &shift_key;
}

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

static bool is_valid(const key_t *key, double value) {
  bool must_be_whole = is_whole(key) || key == &shift_key;
  return value > key->low && value <= key->high && (!must_be_whole || value == floor(value));
}

tacit_status_t tacit_event_check(const tacit_event_t *event, tacit_error_t *err) {
  char number[TACIT_NUMBER_SIZE];
  const form_t *form = form_of(event);
  if (form == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "kind", "event of unknown kind %d with sampling %d",
                           (int)event->kind, (int)event->sampling);
  }
  for (size_t i = 0; i < max_keys && form->keys[i] != NULL; i++) {
    double value = get(event, form->keys[i]);
    bool is_absent = is_optional(form->keys[i]) && value <= 0 && value >= 0;
    if (!is_absent && !is_valid(form->keys[i], value)) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, form->keys[i]->name, "%s of a %s event must be %s, not %s",
                             form->keys[i]->name, form->name, form->keys[i]->meaning,
                             tacit_number_format(value, number));
    }
  }
  if ((event->kind == TACIT_EVENT_PAIR || event->kind == TACIT_EVENT_PROFILE) && event->curve == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "curve", "a %s event needs its curve", form->name);
  }
  if (event->count < 1 || event->count > TACIT_MAX_COUNT) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "count", "the count of an event must be from 1 to 1e18, not %llu",
                           (unsigned long long)event->count);
  }
  if (memchr(event->label, '\0', sizeof event->label) == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "label",
                           "the label of an event must end with a zero byte within its %zu bytes",
                           sizeof event->label);
  }
  return TACIT_OK;
}

bool tacit_event_is_free(const tacit_event_t *event) {
  bool is_bit_free = tacit_event_is_bit(event) && isinf(event->sigma) && !(event->rho > 0);
  return is_bit_free || (event->kind <= TACIT_EVENT_DISCRETE_GAUSSIAN && isinf(event->noise_multiplier));
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
static tacit_status_t parse_key(tacit_event_t *event, const form_t *form, unsigned *given, const char *at, size_t n,
                                const char *text, tacit_error_t *err) {
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
    if (!tacit_number_parse(at + n_key + 1, n - n_key - 1, &value) || isinf(value) || !is_valid(key, value)) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, "event", SHOWN ": %s must be a finite number: %s", text, key->name,
                             key->meaning);
    }
    set(event, key, value);
    return TACIT_OK;
  }
  if (n_key == n) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event", SHOWN ": expected KEY=NUMBER, as in %s", text, form->help);
  }
  return tacit_error_set(err, TACIT_ERR_UNKNOWN, "event", SHOWN ": unknown key '%.*s'; expected %s", text,
                         n_key < 30 ? (int)n_key : 30, at, form->help);
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

tacit_status_t tacit_event_parse(tacit_event_t *event, const char *text, tacit_error_t *err) {
  size_t n = strcspn(text, ":");
  const form_t *form = NULL;
  for (size_t i = 0; i < n_forms && form == NULL; i++) {
    form = strlen(forms[i].name) == n && strncmp(forms[i].name, text, n) == 0 ? &forms[i] : NULL;
  }
  *event = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .count = 1};
  if (form == NULL) {
    return unknown_form(text, n, err);
  }
  event->kind = form->kind;
  event->sampling = form->sampling;
  if (form->keys[0] != NULL) {
    return parse_keys(event, form, text + n, text, err);
  }
  if (text[n] != ':' || text[n + 1] == '\0') {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event", SHOWN ": expected %s", text, form->help);
  }
  tacit_curve_t *curve;
  tacit_status_t status = form->kind == TACIT_EVENT_PAIR ? tacit_curve_read_pair(&curve, text + n + 1, err)
                                                         : tacit_curve_read_profile(&curve, text + n + 1, err);
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
    n += (size_t)snprintf(text + n, TACIT_EVENT_TEXT_SIZE - n, "%c%s=%s", i == 0 ? ':' : ',', form->keys[i]->name,
                          tacit_number_exact(get(event, form->keys[i]), number));
  }
  return text;
}

void tacit_event_clear(tacit_event_t *event) {
  tacit_curve_free((tacit_curve_t *)event->curve);
  event->curve = NULL;
}
