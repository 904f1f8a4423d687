#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "formula/design_internal.h"
#include "formula/names.h"
#include "program/regression.h"
#include "program/written.h"

/* A formula's program, as a person would write it. */

typedef enum {
  RESPONSE_BINARY,
  RESPONSE_REAL,
  RESPONSE_POSITIVE,
  RESPONSE_FROM_ZERO,
  RESPONSE_SHARE,
  RESPONSE_COUNT,
  RESPONSE_LEVELS,
  RESPONSE_CLASSES /* a linear predictor for each level but the first */
} response_t;

typedef struct {
  const char *name;
  response_t response;
  const char *density, *ending, *arguments; /* of the linear predictor eta */
  const char *parameters, *priors;
  bool has_cdf, needs_trials;
} family_t;

static const char shape[] = "  real<lower=0> shape;\n", shape_prior[] = "  shape ~ gamma(2, 1);\n";
static const char sigma_s[] = "  real<lower=0> sigma_s;\n",
                  sigma_s_prior[] = "  sigma_s ~ student_t(3, 0, 1);\n"; /* of a scaled response */
static const char sigma[] = "  real<lower=0> sigma;\n", sigma_prior[] = "  sigma ~ student_t(3, 0, 1);\n";
static const char phi[] = "  real<lower=0> phi;\n", phi_prior[] = "  phi ~ gamma(2, 0.5);\n";
static const char zero[] = "  real<lower=0, upper=1> zero;\n", zero_prior[] = "  zero ~ beta(1, 1);\n";
static const char sigma_zero[] = "  real<lower=0> sigma;\n  real<lower=0, upper=1> zero;\n";
static const char sigma_zero_prior[] = "  sigma ~ student_t(3, 0, 1);\n  zero ~ beta(1, 1);\n";
static const char shape_zero[] = "  real<lower=0> shape;\n  real<lower=0, upper=1> zero;\n";
static const char shape_zero_prior[] = "  shape ~ gamma(2, 1);\n  zero ~ beta(1, 1);\n";
static const char phi_zero[] = "  real<lower=0> phi;\n  real<lower=0, upper=1> zero;\n",
                  phi_zero_prior[] = "  phi ~ gamma(2, 0.5);\n  zero ~ beta(1, 1);\n";
static const family_t families[] = {
    {"bernoulli", RESPONSE_BINARY, "bernoulli_logit", "lpmf", "eta", "", "", false, false},
    {"probit", RESPONSE_BINARY, "bernoulli_probit", "lpmf", "eta", "", "", false, false},
    {"gaussian", RESPONSE_REAL, "normal", "lpdf", "eta, sigma_s", sigma_s, sigma_s_prior, true, false},
    {"student", RESPONSE_REAL, "student_t", "lpdf", "nu, eta, sigma_s",
     "  real<lower=0> sigma_s;\n  real<lower=1> nu;\n",
     "  sigma_s ~ student_t(3, 0, 0.25);\n  nu ~ gamma(2, 0.1);\n", false, false},
    {"lognormal", RESPONSE_POSITIVE, "lognormal", "lpdf", "eta, sigma", sigma, sigma_prior, true, false},
    {"weibull", RESPONSE_POSITIVE, "weibull", "lpdf", "shape, exp(eta)", shape, shape_prior, true, false},
    {"exponential", RESPONSE_POSITIVE, "exponential", "lpdf", "exp(-eta)", "", "", true, false},
    {"gamma", RESPONSE_POSITIVE, "gamma", "lpdf", "shape, shape * exp(-eta)", shape, shape_prior, false,
     false},
    {"beta", RESPONSE_SHARE, "beta_proportion", "lpdf", "inv_logit(eta), phi", phi, phi_prior, false, false},
    {"poisson", RESPONSE_COUNT, "poisson_log", "lpmf", "eta", "", "", false, false},
    {"negbinomial", RESPONSE_COUNT, "neg_binomial_2_log", "lpmf", "eta, phi", phi, phi_prior, false, false},
    {"binomial", RESPONSE_COUNT, "binomial_logit", "lpmf", "eta", "", "", false, true},
    {"beta_binomial", RESPONSE_COUNT, "beta_binomial", "lpmf", "inv_logit(eta) * phi, inv_logit(-eta) * phi",
     phi, phi_prior, false, true},
    {"cumulative", RESPONSE_LEVELS, "ordered_logistic", "lpmf", "eta, cut", "", "  cut ~ normal(0, 5);\n",
     false, false},
    {"zero_inflated_poisson", RESPONSE_COUNT, "zero_inflated_poisson_log", "lpmf", "eta, zero", zero,
     zero_prior, false, false},
    {"zero_inflated_negbinomial", RESPONSE_COUNT, "zero_inflated_neg_binomial_2_log", "lpmf",
     "eta, phi, zero", phi_zero, phi_zero_prior, false, false},
    {"zero_inflated_binomial", RESPONSE_COUNT, "zero_inflated_binomial_logit", "lpmf", "eta, zero", zero,
     zero_prior, false, true},
    {"hurdle_poisson", RESPONSE_COUNT, "hurdle_poisson_log", "lpmf", "eta, zero", zero, zero_prior, false,
     false},
    {"hurdle_negbinomial", RESPONSE_COUNT, "hurdle_neg_binomial_2_log", "lpmf", "eta, phi, zero", phi_zero,
     phi_zero_prior, false, false},
    {"hurdle_lognormal", RESPONSE_FROM_ZERO, "hurdle_lognormal", "lpdf", "eta, sigma, zero", sigma_zero,
     sigma_zero_prior, false, false},
    {"hurdle_gamma", RESPONSE_FROM_ZERO, "hurdle_gamma", "lpdf", "shape, shape * exp(-eta), zero", shape_zero,
     shape_zero_prior, false, false},
    {"categorical", RESPONSE_CLASSES, "categorical_logit", "lpmf", "eta", "", "", false, false}};

const char *tacit_program_family(size_t i) {
  return i < sizeof families / sizeof families[0] ? families[i].name : NULL;
}

static const family_t *find_family(tacit_regression_t *r, const char *name) {
  for (size_t i = 0; tacit_program_family(i) != NULL; i++) {
    if (strcmp(families[i].name, name) == 0) {
      return &families[i];
    }
  }
  char hint[TACIT_HINT_SIZE];
  r->status = tacit_error_set(r->err, TACIT_ERR_ARGUMENT, "family",
                              "unknown family '%.64s'%s; tacit model families lists them", name,
                              tacit_program_family_hint(name, hint));
  return NULL;
}

static bool is_whole(const tacit_column_schema_t *column) {
  return column->type == TACIT_COLUMN_INTEGER || column->type == TACIT_COLUMN_BINARY;
}

/* 0 and 1, or, of Surv(), 1 and 2. */
static bool is_status(const tacit_column_schema_t *column, bool is_event) {
  double first = is_event && column->lower > 0 ? 1 : 0;
  return column->type == TACIT_COLUMN_BINARY ||
         (column->type == TACIT_COLUMN_INTEGER && column->lower == first && column->upper == first + 1);
}

/* What the family asks of the response's public range, and what goes with it. */
static void check_regression_write(tacit_regression_t *r, const family_t *family) {
  const tacit_column_schema_t *y = r->response;
  bool is_number = y->type == TACIT_COLUMN_NUMERIC;
  size_t n_levels = y->type == TACIT_COLUMN_CATEGORICAL ? y->n_levels : 0;
  bool is_binary = y->type == TACIT_COLUMN_BINARY || n_levels == 2;
  const char *expected = NULL;
  switch (family->response) {
  case RESPONSE_BINARY:
    expected = is_binary ? NULL : "binary, or of two levels";
    break;
  case RESPONSE_REAL:
    expected = is_number || is_whole(y) ? NULL : "a number";
    break;
  case RESPONSE_POSITIVE:
    expected = is_number && y->lower > 0 ? NULL : "numeric with a lower bound above 0 in the schema";
    break;
  case RESPONSE_FROM_ZERO:
    expected = is_number && y->lower >= 0 ? NULL : "numeric with a lower bound of 0 or above";
    break;
  case RESPONSE_SHARE:
    expected = is_number && y->lower > 0 && y->upper < 1
                   ? NULL
                   : "numeric with bounds above 0 and below 1 in the schema";
    break;
  case RESPONSE_COUNT:
    expected = is_whole(y) && y->lower >= 0 ? NULL : "an integer with a lower bound of 0 or above";
    break;
  case RESPONSE_LEVELS:
    expected = n_levels > 2 ? NULL : "categorical with three levels or more, in order";
    break;
  case RESPONSE_CLASSES:
    expected = n_levels > 1 ? NULL : "categorical with levels in the schema";
    break;
  }
  if (is_binary && family->needs_trials && r->trials == NULL) {
    tacit_regression_fail(r, 0,
                          "family %s needs '%s | trials(column)', the number of trials of each record; for a "
                          "response of 0 and 1 take family bernoulli",
                          family->name, y->name);
  } else if (expected != NULL) {
    bool is_whole_time =
        family->response == RESPONSE_POSITIVE && y->type == TACIT_COLUMN_INTEGER && y->lower > 0;
    tacit_regression_fail(r, 0, "family %s needs a response that is %s%s", family->name, expected,
                          is_whole_time ? "; a time in whole days or weeks is one: type: numeric, not integer"
                                        : "");
  } else if (family->needs_trials != (r->trials != NULL)) {
    tacit_regression_fail(r, 0,
                          family->needs_trials ? "family %s needs '%s | trials(column)'"
                                               : "family %s has no trials ('%s | trials')",
                          family->name, y->name);
  } else if (r->cens != NULL &&
             (!family->has_cdf || !is_status(r->cens, r->is_event) || r->weights != NULL)) {
    tacit_regression_fail(
        r, 0,
        !family->has_cdf
            ? "family %s has no cens() nor Surv(): gaussian, lognormal, weibull and exponential have"
        : r->weights != NULL ? "family %s: censoring and weights() do not go together"
        : r->is_event
            ? "family %s: Surv(time, status) needs a binary status, 1 where the event was seen, or an "
              "integer of 1 and 2"
            : "family %s: cens(column) needs a binary column, 1 where the response is known to be larger",
        family->name);
  } else if (family->response == RESPONSE_CLASSES && r->offset != NULL) {
    tacit_regression_fail(r, 0, "family %s has no offset: what is added to every class changes none",
                          family->name);
  } else if ((r->trials != NULL && !is_whole(r->trials)) ||
             (r->weights != NULL && !(r->weights->lower >= 0))) {
    tacit_regression_fail(
        r, 0, "trials() needs a column of whole numbers, and weights() one that is never negative");
  }
}

typedef struct {
  tacit_text_t *text;
  tacit_regression_t *r;
  const family_t *family;
  tacit_feature_t *features;
  size_t n;
  double *centres, *halves; /* (n): feature j is scaled to (x - centre) / half */
  double centre, half;      /* of the response, where it is scaled */
  size_t n_classes;         /* beside the first; 0: a single linear predictor */
  tacit_names_t names;      /* of coefficients: labels, and names in the program */
  tacit_written_priors_t priors;
  bool *is_found; /* (priors.n): its term is a coefficient */
} writer_t;

/* ---- features ---- */

/* Of a factor of a product: indicators of all its levels where R has them, else contrasts. */
static size_t n_choices(const tacit_factor_t *factor, bool is_all) {
  return is_all ? factor->n_all : factor->n_features;
}

static void multiply(tacit_regression_t *r, tacit_feature_t *whole, const tacit_feature_t *one) {
  tacit_interval_t range = tacit_interval_multiply((tacit_interval_t){whole->lower, whole->upper},
                                                   (tacit_interval_t){one->lower, one->upper});
  const char *a = whole->apart != NULL ? whole->apart : whole->label,
             *b = one->apart != NULL ? one->apart : one->label;
  bool has_levels = whole->apart != NULL || one->apart != NULL;
  *whole = (tacit_feature_t){.code = tacit_arena_printf(r->arena, "%s * %s", whole->code, one->code),
                             .label = tacit_arena_printf(r->arena, "%s:%s", whole->label, one->label),
                             .apart = has_levels ? tacit_arena_printf(r->arena, "%s:%s", a, b) : NULL,
                             .lower = range.lower,
                             .upper = range.upper};
}

/* The features of a product, appended: all combinations, the first factor fastest. is_all[i]: of the i-th. */
static size_t expand(tacit_regression_t *r, const tacit_formula_term_t *product, const bool *is_all,
                     tacit_feature_t *features, size_t room) {
  size_t n = 1;
  for (size_t i = 0; i < product->order && n <= room; i++) {
    n *= n_choices(&r->factors[product->variables[i]], is_all[i]);
  }
  if (n > room) {
    tacit_regression_fail(r, product->offset, "more than %d features", TACIT_REGRESSION_MAX_FEATURES);
    return 0;
  }
  for (size_t k = 0; k < n; k++) {
    size_t rest = k;
    for (size_t i = 0; i < product->order; i++) {
      const tacit_factor_t *factor = &r->factors[product->variables[i]];
      size_t size = n_choices(factor, is_all[i]);
      const tacit_feature_t *one = (is_all[i] ? factor->all : factor->features) + rest % size;
      rest /= size;
      if (i == 0) {
        features[k] = *one;
      } else {
        multiply(r, &features[k], one);
      }
    }
  }
  return n;
}

/* Of all terms: R's contrasts. */
static void expand_all(writer_t *w) {
  tacit_regression_t *r = w->r;
  bool lacks_intercept =
      !r->has_intercept && w->family->response != RESPONSE_LEVELS; /* cut points are intercepts */
  for (size_t t = 0; t < r->n_products && r->status == TACIT_OK; t++) {
    bool is_all[TACIT_REGRESSION_MAX_ORDER];
    for (size_t i = 0; i < r->products[t].order; i++) {
      bool has_levels = r->factors[r->products[t].variables[i]].all != NULL,
           is_first = lacks_intercept && has_levels;
      is_all[i] = has_levels && (is_first || !tacit_formula_uses_contrasts(r->products, t, i));
      lacks_intercept = lacks_intercept && !is_first;
    }
    w->n += expand(r, &r->products[t], is_all, w->features + w->n, TACIT_REGRESSION_MAX_FEATURES - w->n);
  }
}

/* Features between -1 and 1; without an intercept only ever divided, since a shift is one. */
static void scale(writer_t *w, bool has_intercept) {
  for (size_t j = 0; j < w->n && w->r->status == TACIT_OK; j++) {
    const tacit_feature_t *f = &w->features[j];
    if (!tacit_design_scale(has_intercept, f->lower, f->upper, &w->centres[j], &w->halves[j])) {
      tacit_regression_fail(w->r, 0, "'%.64s' is constant by the public bounds of its columns; drop it",
                            f->label);
    }
  }
}

/* What families have beside coefficients, in the order in which it is shown. */
static const char *const own_parameters[] = {"sigma", "shape", "phi", "nu", "zero"};

static bool declares(const family_t *family, const char *name) {
  const char *at = strstr(family->parameters, name);
  return at != NULL && at[-1] == ' ' && at[strlen(name)] == ';';
}

/* Labels that two features share are written with their levels apart; "age:sexM" is named b_age_sexM, of a
 * class b_q_age_sexM. */
static void name_coefficients(writer_t *w, bool has_intercept) {
  tacit_regression_t *r = w->r;
  size_t classes = w->n_classes > 0 ? w->n_classes : 1;
  const char **labels = tacit_arena_alloc(r->arena, w->n + 1, sizeof *labels),
             **apart = tacit_arena_alloc(r->arena, w->n + 1, sizeof *apart);
  for (size_t j = 0; j < w->n && !r->arena->failed; j++) {
    labels[j] = w->features[j].label;
    apart[j] = w->features[j].apart;
  }
  size_t twice = SIZE_MAX;
  tacit_status_t status =
      r->arena->failed ? tacit_error_memory(r->err) : tacit_names_part(w->n, labels, apart, &twice, r->err);
  if (status == TACIT_OK && twice != SIZE_MAX) {
    tacit_regression_fail(r, 0, "two terms are called '%.64s': rename a column or a level in the schema",
                          labels[twice]);
    return;
  }
  const char *intercept =
      status == TACIT_OK && tacit_names_have(w->n, labels, "Intercept") ? "(Intercept)" : "Intercept";
  TACIT_THEN(status, tacit_names_init(&w->names,
                                      classes * (w->n + 1) + sizeof own_parameters / sizeof own_parameters[0],
                                      r->err));
  for (size_t c = 0; c < classes && status == TACIT_OK; c++) {
    const char *class = w->n_classes > 0 ? r->response->levels[c + 1] : NULL;
    if (has_intercept) {
      status = tacit_names_add_coefficient(&w->names, class, intercept, r->err);
    }
    for (size_t j = 0; j < w->n && status == TACIT_OK; j++) {
      status = tacit_names_add_coefficient(&w->names, class, labels[j], r->err);
    }
  }
  for (size_t i = 0; i < sizeof own_parameters / sizeof own_parameters[0] && status == TACIT_OK; i++) {
    const char *own = own_parameters[i];
    bool is_there =
        declares(w->family, own) || (strcmp(own, "sigma") == 0 && w->family->response == RESPONSE_REAL);
    const char *label = tacit_names_have(w->n, labels, own) ? tacit_arena_printf(r->arena, "(%s)", own) : own;
    status = label == NULL ? tacit_error_memory(r->err)
             : is_there    ? tacit_names_add(&w->names, label, own, r->err)
                           : status;
  }
  r->status = status;
}

/* ---- the blocks ---- */

/* Labels and columns may hold anything: none of it ends a comment. */
static const char *shown(tacit_regression_t *r, const char *label) {
  char *text = tacit_arena_text(r->arena, label, strlen(label));
  for (char *c = text; c != NULL && *c != '\0'; c++) {
    *c = (unsigned char)*c < 0x20 || *c == 0x7F ? ' ' : *c;
  }
  return text != NULL ? text : "";
}

static void declare_column(writer_t *w, const tacit_column_schema_t *c, const char *name) {
  tacit_regression_t *r = w->r;
  bool is_binary =
      c->type == TACIT_COLUMN_BINARY || (c == r->response && w->family->response == RESPONSE_BINARY);
  if (is_binary || is_whole(c)) {
    tacit_text_printf(w->text, "  int<lower=%.0f, upper=%.0f> %s;", is_binary ? 0 : c->lower,
                      is_binary ? 1 : c->upper, name);
  } else if (c->type == TACIT_COLUMN_CATEGORICAL) {
    tacit_text_printf(w->text, "  int<lower=1, upper=%zu> %s;", c->n_levels, name);
  } else {
    tacit_text_printf(w->text, "  real<lower=%s, upper=%s> %s;", tacit_exact(r, c->lower),
                      tacit_exact(r, c->upper), name);
  }
  tacit_text_printf(w->text, strcmp(c->name, name) == 0 ? "\n" : " // %s\n", shown(r, c->name));
}

static const char *called(const tacit_regression_t *r, const tacit_column_schema_t *column) {
  const char *name = column != NULL ? tacit_regression_called(r, column) : "";
  return name != NULL ? name : "";
}

/* "(x - 4) / 2" */
static const char *scaled(tacit_regression_t *r, const char *code, double centre, double half) {
  const char *text = fabs(centre) > 0
                         ? tacit_arena_printf(r->arena, "(%s - %s) / %s", code, tacit_exact(r, centre),
                                              tacit_exact_real(r, half))
                         : tacit_arena_printf(r->arena, "(%s) / %s", code, tacit_exact_real(r, half));
  return text != NULL ? text : "0";
}

static void write_data(writer_t *w) {
  tacit_regression_t *r = w->r;
  tacit_text_printf(w->text, "data {\n");
  for (size_t i = 0; i < tacit_schema_n_columns(r->schema) && i < sizeof r->names / sizeof r->names[0]; i++) {
    if (r->names[i] != NULL) {
      declare_column(w, tacit_schema_column(r->schema, i), r->names[i]);
    }
  }
  tacit_text_printf(w->text, "}\ntransformed data { // features, mapped to [-1, 1] by their public ranges\n");
  for (size_t j = 0; j < w->n; j++) {
    tacit_text_printf(w->text, "  real x%zu_ = %s; // %s\n", j + 1,
                      scaled(r, w->features[j].code, w->centres[j], w->halves[j]),
                      shown(r, w->features[j].label));
  }
  if (w->family->response == RESPONSE_REAL) {
    tacit_text_printf(w->text, "  real y_ = %s;\n", scaled(r, called(r, r->response), w->centre, w->half));
  }
  tacit_text_printf(w->text, "}\n");
}

typedef enum { GROUP_PARAMETERS, GROUP_PRIORS, GROUP_PREDICTOR } group_part_t;

/* Of effects by name: their declaration and priors; with classes each has its own. */
static void declare_group(writer_t *w, group_part_t what, const char *name, size_t n_levels,
                          const char *label) {
  if (what == GROUP_PARAMETERS && w->n_classes == 0) {
    tacit_text_printf(w->text, "  real<lower=0> sd_%s; vector[%zu] r_%s;%s%s\n", name, n_levels, name,
                      label[0] != '\0' ? " // " : "", label);
  } else if (what == GROUP_PARAMETERS) {
    tacit_text_printf(w->text, "  vector<lower=0>[%zu] sd_%s; array[%zu] vector[%zu] r_%s;%s%s\n",
                      w->n_classes, name, w->n_classes, n_levels, name, label[0] != '\0' ? " // " : "",
                      label);
  } else {
    tacit_text_printf(w->text, "  sd_%s ~ student_t(3, 0, 1);", name);
    for (size_t c = 1; c <= w->n_classes; c++) {
      tacit_text_printf(w->text, " r_%s[%zu] ~ normal(0, sd_%s[%zu]);", name, c, name, c);
    }
    if (w->n_classes == 0) {
      tacit_text_printf(w->text, " r_%s ~ normal(0, sd_%s);", name, name);
    }
    tacit_text_printf(w->text, "\n");
  }
}

/* `of_class` is "[2]", or "" for a single predictor. */
static void write_groups(writer_t *w, group_part_t what, const char *of_class) {
  static const bool contrasts[TACIT_REGRESSION_MAX_ORDER] = {false};
  tacit_regression_t *r = w->r;
  for (size_t i = 0; i < r->n_groups; i++) {
    const tacit_group_t *g = &r->groups[i];
    const char *by = called(r, g->column);
    tacit_feature_t features[32];
    size_t n = 0, number = 0;
    for (size_t k = 0; k < g->n_products; k++) {
      n += expand(r, &g->products[k], contrasts, features + n, 32 - n);
    }
    for (size_t k = g->has_intercept ? 0 : 1; k <= n; k++, number++) {
      const tacit_feature_t *f = k > 0 ? &features[k - 1] : NULL;
      double centre = 0, half = 1;
      char name[128];
      snprintf(name, sizeof name, number == 0 ? "%.90s_%zu" : "%.90s_%zu_%zu", by, i + 1, number);
      if (f != NULL && !tacit_design_scale(g->has_intercept, f->lower, f->upper, &centre, &half)) {
        tacit_regression_fail(r, 0, "'%.64s' is constant by the public bounds of its columns; drop it",
                              f->label);
      } else if (what != GROUP_PREDICTOR) {
        declare_group(w, what, name, g->column->n_levels, f != NULL ? shown(r, f->label) : "");
      } else if (f == NULL) {
        tacit_text_printf(w->text, " + r_%s%s[%s]", name, of_class, by);
      } else {
        tacit_text_printf(w->text, " + r_%s%s[%s] * %s", name, of_class, by,
                          scaled(r, f->code, centre, half));
      }
    }
  }
}

static bool has_intercept(const writer_t *w) {
  return w->r->has_intercept && w->family->response != RESPONSE_LEVELS;
}

static void write_parameters(writer_t *w) {
  tacit_text_printf(w->text, "parameters {\n");
  if (has_intercept(w) && w->n_classes > 0) {
    tacit_text_printf(w->text, "  vector[%zu] Intercept_s;\n", w->n_classes);
  } else if (has_intercept(w)) {
    tacit_text_printf(w->text, "  real Intercept_s;\n");
  }
  if (w->n > 0 && w->n_classes > 0) {
    tacit_text_printf(w->text, "  array[%zu] vector[%zu] b_s;\n", w->n_classes, w->n);
  } else if (w->n > 0) {
    tacit_text_printf(w->text, "  vector[%zu] b_s;\n", w->n);
  }
  if (w->family->response == RESPONSE_LEVELS) {
    tacit_text_printf(w->text, "  ordered[%zu] cut;\n", w->r->response->n_levels - 1);
  }
  tacit_text_printf(w->text, "%s", w->family->parameters);
  write_groups(w, GROUP_PARAMETERS, "");
  tacit_text_printf(w->text, "}\n");
}

static void write_predictor(writer_t *w, const char *of_class) {
  tacit_text_printf(w->text, "%s%s", has_intercept(w) ? "Intercept_s" : "0",
                    has_intercept(w) ? of_class : "");
  if (w->n > 0) {
    tacit_text_printf(w->text, " + dot_product([");
    for (size_t j = 0; j < w->n; j++) {
      tacit_text_printf(w->text, "%sx%zu_", j > 0 ? ", " : "", j + 1);
    }
    tacit_text_printf(w->text, "], b_s%s)", of_class);
  }
  write_groups(w, GROUP_PREDICTOR, of_class);
}

/* Is a prior's term the k-th quantity, feature j (SIZE_MAX: none)? "age" is "[ill] age" of every class;
 * "(sigma)" is no column, whatever they are called. */
static bool is_named(const writer_t *w, size_t k, size_t j, const char *term) {
  const char *label = w->names.labels[k];
  size_t n = strlen(term), m = strlen(label);
  bool is_of_class = w->n_classes > 0 && m > n + 2 && strcmp(label + m - n, term) == 0 &&
                     strncmp(label + m - n - 2, "] ", 2) == 0;
  bool is_in_parentheses =
      j >= w->n && n == m + 2 && term[0] == '(' && strncmp(term + 1, label, m) == 0 && term[n - 1] == ')';
  return strcmp(term, label) == 0 || strcmp(term, w->names.names[k]) == 0 || is_of_class || is_in_parentheses;
}

/* The prior that was given for a quantity, the last of its own or else, of a feature, of all; NULL: none was.
 */
static const tacit_prior_t *given_prior(writer_t *w, size_t k, size_t j) {
  const tacit_prior_t *own = NULL, *all = NULL;
  for (size_t i = 0; i < w->priors.n; i++) {
    const tacit_prior_entry_t *entry = &w->priors.entries[i];
    if (entry->term == NULL) {
      all = j < w->n ? &entry->prior : NULL;
    } else if (is_named(w, k, j, entry->term)) {
      own = &entry->prior;
      w->is_found[i] = true;
    }
  }
  return own != NULL ? own : all;
}

/* "  what ~ normal(0, 1);" of (what - shift) / factor; nothing where it is flat. */
static void write_prior(writer_t *w, const char *what, const tacit_prior_t *prior, double shift,
                        double factor) {
  static const char *const names[] = {[TACIT_PRIOR_NORMAL] = "normal",
                                      [TACIT_PRIOR_STUDENT_T] = "student_t",
                                      [TACIT_PRIOR_CAUCHY] = "cauchy"};
  if (prior->kind != TACIT_PRIOR_FLAT) {
    bool has_df = prior->kind == TACIT_PRIOR_STUDENT_T;
    tacit_text_printf(w->text, "  %s ~ %s(%s%s%s, %s);\n", what, names[prior->kind],
                      has_df ? tacit_exact(w->r, prior->df) : "", has_df ? ", " : "",
                      tacit_exact(w->r, (prior->location - shift) / factor),
                      tacit_exact(w->r, prior->scale / factor));
  }
}

/* An intercept on the scale of the columns but for the response's, as the program has it: linear, so that its
 * density needs no Jacobian. */
static const char *intercept_code(writer_t *w, const char *of_class) {
  const char *code = tacit_arena_printf(w->r->arena, "(Intercept_s%s", of_class);
  for (size_t j = 0; j < w->n; j++) {
    if (fabs(w->centres[j]) > 0) {
      code = tacit_arena_printf(w->r->arena, "%s - b_s%s[%zu] * %s / %s", code, of_class, j + 1,
                                tacit_exact(w->r, w->centres[j]), tacit_exact(w->r, w->halves[j]));
    }
  }
  return tacit_arena_printf(w->r->arena, "%s)", code);
}

/*
 * Of outcomes above 0: 0, where 1 is well between their bounds, however far the lower one is, and half the
 * log of an upper one above 400; else the middle of the logs of the bounds (wages from 10 to 400: 4.1, as
 * outcomes about 1 could not be), or of small ones somewhat below the upper; to a tenth.
 */
static double intercept_centre(const writer_t *w) {
  const tacit_column_schema_t *y = w->r->response;
  if (w->family->response != RESPONSE_POSITIVE && w->family->response != RESPONSE_FROM_ZERO) {
    return 0;
  }
  double low = y->lower > 0 ? log(y->lower) : -INFINITY, high = log(y->upper), centre = (low + high) / 2;
  if (low <= -1 && high >= 0.5) {
    centre = y->upper > 400 ? high / 2 : 0;
  } else if (low <= -1) {
    centre = fmax(centre, high - 1.5);
  }
  return round(10 * centre) / 10;
}

/* Priors of a class, or of the only predictor, some of which were given; the first coefficient is the k-th of
 * all. */
static size_t write_given_priors(writer_t *w, size_t k, const char *of_class) {
  const bool are_scaled = w->priors.are_scaled;
  if (has_intercept(w)) {
    const tacit_prior_t *prior = given_prior(w, k++, SIZE_MAX);
    const tacit_prior_t written = {TACIT_PRIOR_NORMAL, 0, intercept_centre(w), 10};
    const char *own = tacit_arena_printf(w->r->arena, "Intercept_s%s", of_class);
    bool is_original = prior != NULL && !are_scaled;
    write_prior(w, is_original ? intercept_code(w, of_class) : own, prior != NULL ? prior : &written,
                is_original ? w->centre : 0, is_original ? w->half : 1);
  }
  for (size_t j = 0; j < w->n; j++) {
    const tacit_prior_t *prior = given_prior(w, k++, j);
    const tacit_prior_t written = {TACIT_PRIOR_STUDENT_T, 3, 0, 2.5};
    write_prior(w, tacit_arena_printf(w->r->arena, "b_s%s[%zu]", of_class, j + 1),
                prior != NULL ? prior : &written, 0,
                prior != NULL && !are_scaled ? w->half / w->halves[j] : 1);
  }
  return k;
}

/* Of cut points, whose level is free. */
static void write_priors_of_distances(writer_t *w) {
  for (size_t k = 2; k < w->r->response->n_levels; k++) {
    tacit_text_printf(w->text, "  cut[%zu] - cut[1] ~ normal(0, 5);\n", k);
  }
}

/* Those of the family's own parameters, a line each; of the response's sd, that of the scaled one is sampled.
 * They are the k-th quantities and on. */
static void write_family_priors(writer_t *w, size_t k) {
  for (const char *line = w->family->priors, *end; *line != '\0'; line = end + 1) {
    char name[32] = "";
    end = strchr(line, '\n');
    sscanf(line, " %31[a-z_]", name);
    bool is_sigma_s = strcmp(name, "sigma_s") == 0;
    const tacit_prior_t *prior = NULL;
    for (size_t i = k; i < w->names.n; i++) {
      prior =
          strcmp(w->names.names[i], is_sigma_s ? "sigma" : name) == 0 ? given_prior(w, i, SIZE_MAX) : prior;
    }
    if (w->priors.is_level_flat && strcmp(name, "cut") == 0) {
      write_priors_of_distances(w);
    } else if (prior != NULL) {
      write_prior(w, name, prior, 0, is_sigma_s && !w->priors.are_scaled ? w->half : 1);
    } else {
      tacit_text_printf(w->text, "%.*s\n", (int)(end - line), line);
    }
  }
}

static void check_terms(writer_t *w) {
  for (size_t i = 0; i < w->priors.n && w->r->status == TACIT_OK; i++) {
    const char *term = w->priors.entries[i].term;
    if (term != NULL && !w->is_found[i]) {
      tacit_nearest_t nearest = {.name = term};
      char hint[TACIT_HINT_SIZE];
      for (size_t k = 0; k < w->names.n; k++) {
        tacit_nearest_offer(&nearest, w->names.labels[k]);
      }
      w->r->status = tacit_error_set(
          w->r->err, TACIT_ERR_ARGUMENT, "prior",
          "the prior's term '%.64s' is no coefficient of the model%s; priors of other parameters are "
          "said in the program, which tacit model write writes",
          term, tacit_nearest_hint(&nearest, hint));
    }
  }
}

static void write_priors(writer_t *w) {
  size_t k = 0;
  for (size_t c = w->n_classes > 0 ? 1 : 0; c <= w->n_classes && w->priors.n > 0; c++) {
    char of_class[24] = "";
    if (c > 0) {
      snprintf(of_class, sizeof of_class, "[%zu]", c);
    }
    k = write_given_priors(w, k, of_class);
  }
  if (w->priors.n == 0) {
    if (has_intercept(w)) {
      tacit_text_printf(w->text, "  Intercept_s ~ normal(%g, 10);\n", intercept_centre(w));
    }
    for (size_t c = 1; c <= w->n_classes && w->n > 0; c++) {
      tacit_text_printf(w->text, "  b_s[%zu] ~ student_t(3, 0, 2.5);\n", c);
    }
    tacit_text_printf(w->text, "%s", w->n > 0 && w->n_classes == 0 ? "  b_s ~ student_t(3, 0, 2.5);\n" : "");
  }
  write_family_priors(w, k);
  check_terms(w);
  write_groups(w, GROUP_PRIORS, "");
}

static void write_model(writer_t *w) {
  tacit_regression_t *r = w->r;
  const family_t *f = w->family;
  tacit_text_printf(w->text, w->n_classes > 0 ? "model {\n  vector[%zu] eta = [0" : "model {\n  real eta = ",
                    w->n_classes + 1);
  for (size_t c = 1; c <= w->n_classes; c++) {
    char of_class[24];
    snprintf(of_class, sizeof of_class, "[%zu]", c);
    tacit_text_printf(w->text, ", ");
    write_predictor(w, of_class);
  }
  if (w->n_classes == 0) {
    write_predictor(w, "");
  }
  if (r->offset != NULL) {
    tacit_text_printf(w->text, f->response == RESPONSE_REAL ? " + %s / %s" : " + %s", r->offset,
                      tacit_exact_real(r, w->half));
  }
  tacit_text_printf(w->text, w->n_classes > 0 ? "]';\n" : ";\n");
  write_priors(w);
  const char *y = f->response == RESPONSE_REAL ? "y_" : called(r, r->response),
             *trials = called(r, r->trials);
  const char *comma = r->trials != NULL ? ", " : "";
  if (r->weights != NULL) {
    tacit_text_printf(w->text, "  target += %s * %s_%s(%s | %s%s%s);\n}\n", called(r, r->weights), f->density,
                      f->ending, y, trials, comma, f->arguments);
  } else if (r->cens != NULL) {
    bool is_two =
        r->cens->type == TACIT_COLUMN_INTEGER && r->cens->upper > 1; /* 1 and 2, as survival has it */
    const char *known = is_two        ? "%s - 1"
                        : r->is_event ? "%s"
                                      : "1 - %s",
               *code = tacit_arena_printf(r->arena, known, called(r, r->cens));
    tacit_text_printf(w->text, "  censored_right(%s, %s) ~ %s(%s);\n}\n", y, code, f->density, f->arguments);
  } else {
    tacit_text_printf(w->text, "  %s ~ %s(%s%s%s);\n}\n", y, f->density, trials, comma, f->arguments);
  }
}

/* Coefficients of a class, or of the only predictor, on the scale of the columns; the first of them is the
 * k-th of all. */
static size_t write_coefficients(writer_t *w, size_t k, size_t class) {
  tacit_regression_t *r = w->r;
  char of_class[24] = "";
  if (class > 0) {
    snprintf(of_class, sizeof of_class, "[%zu]", class);
  }
  if (has_intercept(w)) {
    tacit_text_printf(w->text, "  real %s = %s + %s * (Intercept_s%s", w->names.names[k++],
                      tacit_exact(r, w->centre), tacit_exact(r, w->half), of_class);
    for (size_t j = 0; j < w->n; j++) {
      if (fabs(w->centres[j]) > 0) {
        tacit_text_printf(w->text, " - b_s%s[%zu] * %s / %s", of_class, j + 1, tacit_exact(r, w->centres[j]),
                          tacit_exact(r, w->halves[j]));
      }
    }
    tacit_text_printf(w->text, ");\n");
  }
  for (size_t j = 0; j < w->n; j++) {
    tacit_text_printf(w->text, "  real %s = b_s%s[%zu] * %s / %s;\n", w->names.names[k++], of_class, j + 1,
                      tacit_exact(r, w->half), tacit_exact(r, w->halves[j]));
  }
  return k;
}

static void write_generated(writer_t *w) {
  size_t k = 0;
  tacit_text_printf(w->text, "generated quantities { // on the scale of the columns\n");
  for (size_t c = w->n_classes > 0 ? 1 : 0; c <= w->n_classes; c++) {
    k = write_coefficients(w, k, c);
  }
  if (w->family->response == RESPONSE_REAL) {
    tacit_text_printf(w->text, "  real sigma = %s * sigma_s;\n", tacit_exact(w->r, w->half));
  }
  tacit_text_printf(w->text, "}\n");
}

static void scale_response(writer_t *w) {
  const tacit_column_schema_t *y = w->r->response;
  bool is_binary = y->type == TACIT_COLUMN_BINARY;
  if (w->family->response == RESPONSE_REAL && w->r->status == TACIT_OK &&
      !tacit_design_scale(w->r->has_intercept, is_binary ? 0 : y->lower, is_binary ? 1 : y->upper, &w->centre,
                          &w->half)) {
    tacit_regression_fail(w->r, 0, "family %s needs a response that can vary within its public bounds",
                          w->family->name);
  }
}

static void write(tacit_regression_t *r, const family_t *family, const tacit_written_priors_t *priors,
                  tacit_text_t *text, tacit_written_t *written) {
  writer_t w = {.text = text, .r = r, .family = family, .centre = 0, .half = 1};
  bool is_centred = r->has_intercept || family->response == RESPONSE_LEVELS;
  w.features = tacit_arena_alloc(r->arena, TACIT_REGRESSION_MAX_FEATURES, sizeof *w.features);
  w.centres = tacit_arena_alloc(r->arena, 2 * TACIT_REGRESSION_MAX_FEATURES, sizeof *w.centres);
  if (priors != NULL) {
    w.priors = *priors;
    w.is_found = tacit_arena_alloc(r->arena, priors->n + 1, sizeof *w.is_found);
  }
  if (r->arena->failed) {
    r->status = tacit_error_memory(r->err);
    return;
  }
  w.halves = w.centres + TACIT_REGRESSION_MAX_FEATURES;
  w.n_classes = family->response == RESPONSE_CLASSES ? r->response->n_levels - 1 : 0;
  expand_all(&w);
  scale(&w, is_centred);
  scale_response(&w);
  if (r->status == TACIT_OK) {
    name_coefficients(&w, has_intercept(&w));
  }
  if (r->status == TACIT_OK) {
    tacit_text_printf(text, "// %s, family %s\n", shown(r, r->text), family->name);
    write_data(&w);
    write_parameters(&w);
    write_model(&w);
    write_generated(&w);
  }
  written->names = w.names;
  written->has_cuts = family->response == RESPONSE_LEVELS;
  written->n_features = has_intercept(&w) && w.n_classes == 0 ? 1 + w.n : written->has_cuts ? w.n : 0;
}

tacit_status_t tacit_written_new(tacit_written_t *written, const char *formula, const char *family,
                                 const tacit_schema_t *schema, const tacit_written_priors_t *priors,
                                 tacit_error_t *err) {
  tacit_arena_t arena = {0};
  tacit_text_t text = {0};
  tacit_regression_t *r = tacit_arena_alloc(&arena, 1, sizeof *r);
  *written = (tacit_written_t){0};
  if (r == NULL) {
    tacit_arena_clear(&arena);
    return tacit_error_memory(err);
  }
  *r = (tacit_regression_t){.text = formula,
                            .arena = &arena,
                            .schema = schema,
                            .err = err,
                            .formula = {.text = tacit_strdup(formula)}};
  r->status = r->formula.text != NULL ? TACIT_OK : tacit_error_memory(err);
  const family_t *found = r->status == TACIT_OK ? find_family(r, family) : NULL;
  if (found != NULL) {
    tacit_regression_parse(r);
  }
  if (found != NULL && r->status == TACIT_OK) {
    check_regression_write(r, found);
  }
  if (found != NULL && r->status == TACIT_OK) {
    write(r, found, priors, &text, written);
  }
  tacit_status_t status = r->status;
  if (status == TACIT_OK && (arena.failed || text.failed)) {
    status = tacit_error_memory(err);
  }
  tacit_formula_clear(&r->formula);
  tacit_arena_clear(&arena);
  written->text = text.data;
  if (status != TACIT_OK) {
    tacit_text_clear(&text);
    written->text = NULL;
    tacit_written_clear(written);
  }
  return status;
}

void tacit_written_clear(tacit_written_t *written) {
  tacit_free(written->text);
  tacit_names_clear(&written->names);
  *written = (tacit_written_t){0};
}

tacit_status_t tacit_program_of_formula(char **text, const char *formula, const char *family,
                                        const struct tacit_schema *schema, tacit_error_t *err) {
  tacit_written_t written;
  tacit_status_t status = tacit_written_new(&written, formula, family, schema, NULL, err);
  *text = written.text;
  written.text = NULL;
  tacit_written_clear(&written);
  return status;
}
