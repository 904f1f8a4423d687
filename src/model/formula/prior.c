/* Densities of priors, up to constants, and their text form. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "formula/model.h"
#include "formula/model_text.h"

/*
 * log(1 + z^2 / df) without overflow of z^2: beyond 2^500 the 1 is below an ulp of the result.
 */
static double log1p_square(double z, double df) {
  return fabs(z) < 0x1p500 ? log1p(z * z / df) : 2 * log(fabs(z)) - log(df);
}

/* d/dz of -(df + 1)/2 log(1 + z^2 / df); the second form cannot overflow. */
static double student_slope(double z, double df) {
  return fabs(z) < 1 ? -(df + 1) * z / (df + z * z) : -(df + 1) / (df / z + z);
}

double tacit_prior_log_density(const tacit_prior_t *prior, double x, double *grad) {
  double z = (x - prior->location) / prior->scale;
  double value = 0, slope = 0;
  switch (prior->kind) {
  case TACIT_PRIOR_FLAT:
    if (grad != NULL) {
      *grad = 0;
    }
    return 0;
  case TACIT_PRIOR_NORMAL:
    value = -0.5 * z * z;
    slope = -z;
    break;
  case TACIT_PRIOR_STUDENT_T:
    value = -0.5 * (prior->df + 1) * log1p_square(z, prior->df);
    slope = student_slope(z, prior->df);
    break;
  case TACIT_PRIOR_CAUCHY:
    value = -log1p_square(z, 1);
    slope = student_slope(z, 1);
    break;
  }
  if (grad != NULL) {
    *grad = slope / prior->scale;
  }
  return value;
}

double tacit_prior_precision(const tacit_prior_t *prior, double x) {
  double s2 = prior->scale * prior->scale, z = x - prior->location;
  switch (prior->kind) {
  case TACIT_PRIOR_NORMAL:
    return 1 / s2;
  case TACIT_PRIOR_STUDENT_T:
    return (prior->df + 1) / (prior->df * s2 + z * z);
  case TACIT_PRIOR_CAUCHY:
    return 2 / (s2 + z * z);
  default:
    return 0;
  }
}

double tacit_prior_sd(const tacit_prior_t *prior) {
  bool is_student = prior->kind == TACIT_PRIOR_STUDENT_T && prior->df > 2;
  return prior->kind == TACIT_PRIOR_NORMAL ? prior->scale
         : is_student                      ? prior->scale * sqrt(prior->df / (prior->df - 2))
                                           : INFINITY;
}

typedef struct prior_form {
  const char *name;
  tacit_prior_kind_t kind;
  size_t n_arguments;
  const char *usage;
} prior_form_t;

static const prior_form_t forms[] = {
    {"normal", TACIT_PRIOR_NORMAL, 2, "normal(location, scale)"},
    {"student_t", TACIT_PRIOR_STUDENT_T, 3, "student_t(df, location, scale)"},
    {"cauchy", TACIT_PRIOR_CAUCHY, 2, "cauchy(location, scale)"},
    {"flat", TACIT_PRIOR_FLAT, 0, "flat"},
};
enum { N_FORMS = sizeof forms / sizeof forms[0], MAX_ARGUMENTS = 3 };

typedef struct prior_scanner {
  const char *text;
  size_t position;
  tacit_error_t *err;
} prior_scanner_t;

static void skip_space(prior_scanner_t *scanner) {
  scanner->position += strspn(scanner->text + scanner->position, " \t\r\n");
}

static tacit_status_t fail(const prior_scanner_t *scanner, size_t offset, const char *what,
                           const char *detail) {
  return tacit_caret_error(scanner->err, TACIT_ERR_SYNTAX, "prior", scanner->text, offset, "%s%s", what,
                           detail);
}

static tacit_status_t scan_form(prior_scanner_t *scanner, const prior_form_t **form) {
  skip_space(scanner);
  const char *start = scanner->text + scanner->position;
  size_t length = strspn(start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  char name[64] = "", hint[TACIT_HINT_SIZE];
  memcpy(name, start, length < sizeof name ? length : sizeof name - 1);
  tacit_nearest_t nearest = {.name = name};
  for (size_t i = 0; i < N_FORMS; i++) {
    if (strcmp(name, forms[i].name) == 0) {
      *form = &forms[i];
      scanner->position += length;
      return TACIT_OK;
    }
    tacit_nearest_offer(&nearest, forms[i].name);
  }
  return fail(
      scanner, scanner->position,
      "expected normal(location, scale), student_t(df, location, scale), cauchy(location, scale) or flat",
      tacit_nearest_hint(&nearest, hint));
}

/* A signed number; `where` is its place for messages about its value. */
static tacit_status_t scan_number(prior_scanner_t *scanner, const prior_form_t *form, double *value,
                                  size_t *where) {
  skip_space(scanner);
  *where = scanner->position;
  char sign = scanner->text[scanner->position];
  scanner->position += sign == '-' || sign == '+';
  size_t length = tacit_number_scan(scanner->text + scanner->position, value);
  if (length == 0) {
    return fail(scanner, scanner->position, "expected a number of ", form->usage);
  }
  if (!isfinite(*value)) {
    return fail(scanner, *where, "this number is too large or too long", "");
  }
  *value = sign == '-' ? -*value : *value;
  scanner->position += length;
  return TACIT_OK;
}

static tacit_status_t expect(prior_scanner_t *scanner, char symbol, const prior_form_t *form) {
  skip_space(scanner);
  if (scanner->text[scanner->position] != symbol) {
    return tacit_caret_error(scanner->err, TACIT_ERR_SYNTAX, "prior", scanner->text, scanner->position,
                             "expected '%c' in %s", symbol, form->usage);
  }
  scanner->position++;
  return TACIT_OK;
}

static tacit_status_t scan_arguments(prior_scanner_t *scanner, const prior_form_t *form, double *arguments,
                                     size_t *places) {
  tacit_status_t status = expect(scanner, '(', form);
  for (size_t i = 0; i < form->n_arguments && status == TACIT_OK; i++) {
    if (i > 0) {
      status = expect(scanner, ',', form);
    }
    TACIT_THEN(status, scan_number(scanner, form, &arguments[i], &places[i]));
  }
  return status != TACIT_OK ? status : expect(scanner, ')', form);
}

static tacit_status_t scan_prior(prior_scanner_t *scanner, tacit_prior_t *prior) {
  const prior_form_t *form = NULL;
  double arguments[MAX_ARGUMENTS] = {0};
  size_t places[MAX_ARGUMENTS] = {0};
  tacit_status_t status = scan_form(scanner, &form);
  if (status != TACIT_OK) {
    return status;
  }
  skip_space(scanner);
  if (form->n_arguments > 0 || scanner->text[scanner->position] == '(') {
    status = scan_arguments(scanner, form, arguments, places);
  }
  skip_space(scanner);
  if (status == TACIT_OK && scanner->text[scanner->position] != '\0') {
    status = fail(scanner, scanner->position, "expected the end after ", form->usage);
  }
  size_t last = form->n_arguments - 1;
  if (status == TACIT_OK && form->n_arguments > 0 && !(arguments[last] > 0)) {
    status = fail(scanner, places[last], "scale must be above 0 in ", form->usage);
  }
  if (status == TACIT_OK && form->kind == TACIT_PRIOR_STUDENT_T && !(arguments[0] > 0)) {
    status = fail(scanner, places[0], "df must be above 0 in ", form->usage);
  }
  if (status != TACIT_OK) {
    return status;
  }
  *prior = (tacit_prior_t){.kind = form->kind, .scale = 1};
  if (form->n_arguments > 0) {
    prior->df = form->kind == TACIT_PRIOR_STUDENT_T ? arguments[0] : 0;
    prior->location = arguments[last - 1];
    prior->scale = arguments[last];
  }
  return TACIT_OK;
}

/* A term may hold colons of its own (age:sexM), a distribution never does: the last colon divides. */
static tacit_status_t scan_term(prior_scanner_t *scanner, char **term) {
  *term = NULL;
  skip_space(scanner);
  const char *colon = strrchr(scanner->text, ':');
  if (colon == NULL) {
    return TACIT_OK;
  }
  const char *first = scanner->text + scanner->position, *last = colon;
  while (last > first && strchr(" \t\r\n", last[-1]) != NULL) {
    last--;
  }
  size_t length = (size_t)(last - first);
  if (length == 0) {
    return fail(scanner, (size_t)(colon - scanner->text),
                "there is no term before ':'; write 'age: normal(0, 1)'", "");
  }
  *term = tacit_alloc(length + 1, 1);
  if (*term == NULL) {
    return tacit_error_memory(scanner->err);
  }
  memcpy(*term, first, length);
  (*term)[length] = '\0';
  scanner->position = (size_t)(colon - scanner->text) + 1;
  return TACIT_OK;
}

tacit_status_t tacit_prior_parse(tacit_prior_entry_t *entry, const char *text, tacit_error_t *err) {
  *entry = (tacit_prior_entry_t){0};
  prior_scanner_t scanner = {.text = text, .err = err};
  tacit_status_t status = scan_term(&scanner, &entry->term);
  TACIT_THEN(status, scan_prior(&scanner, &entry->prior));
  if (status != TACIT_OK) {
    tacit_prior_entry_clear(entry);
  }
  return status;
}

void tacit_prior_entry_clear(tacit_prior_entry_t *entry) {
  if (entry != NULL) {
    tacit_free(entry->term);
    *entry = (tacit_prior_entry_t){0};
  }
}
