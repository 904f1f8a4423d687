#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "program/regression.h"
#include "tacit/program.h"

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
    {"gaussian", RESPONSE_REAL, "normal", "lpdf", "eta, sigma", sigma, sigma_prior, true, false},
    {"student", RESPONSE_REAL, "student_t", "lpdf", "nu, eta, sigma", "  real<lower=0> sigma;\n  real<lower=1> nu;\n",
     "  sigma ~ student_t(3, 0, 0.25);\n  nu ~ gamma(2, 0.1);\n", false, false},
    {"lognormal", RESPONSE_POSITIVE, "lognormal", "lpdf", "eta, sigma", sigma, sigma_prior, true, false},
    {"weibull", RESPONSE_POSITIVE, "weibull", "lpdf", "shape, exp(eta)", shape, shape_prior, true, false},
    {"exponential", RESPONSE_POSITIVE, "exponential", "lpdf", "exp(-eta)", "", "", true, false},
    {"gamma", RESPONSE_POSITIVE, "gamma", "lpdf", "shape, shape * exp(-eta)", shape, shape_prior, false, false},
    {"beta", RESPONSE_SHARE, "beta_proportion", "lpdf", "inv_logit(eta), phi", phi, phi_prior, false, false},
    {"poisson", RESPONSE_COUNT, "poisson_log", "lpmf", "eta", "", "", false, false},
    {"negbinomial", RESPONSE_COUNT, "neg_binomial_2_log", "lpmf", "eta, phi", phi, phi_prior, false, false},
    {"binomial", RESPONSE_COUNT, "binomial_logit", "lpmf", "eta", "", "", false, true},
    {"beta_binomial", RESPONSE_COUNT, "beta_binomial", "lpmf", "inv_logit(eta) * phi, inv_logit(-eta) * phi", phi, phi_prior, false, true},
    {"cumulative", RESPONSE_LEVELS, "ordered_logistic", "lpmf", "eta, cut", "", "  cut ~ normal(0, 5);\n", false, false},
    {"zero_inflated_poisson", RESPONSE_COUNT, "zero_inflated_poisson_log", "lpmf", "eta, zero", zero, zero_prior, false, false},
    {"zero_inflated_negbinomial", RESPONSE_COUNT, "zero_inflated_neg_binomial_2_log", "lpmf", "eta, phi, zero", phi_zero, phi_zero_prior, false,
     false},
    {"zero_inflated_binomial", RESPONSE_COUNT, "zero_inflated_binomial_logit", "lpmf", "eta, zero", zero, zero_prior, false, true},
    {"hurdle_poisson", RESPONSE_COUNT, "hurdle_poisson_log", "lpmf", "eta, zero", zero, zero_prior, false, false},
    {"hurdle_negbinomial", RESPONSE_COUNT, "hurdle_neg_binomial_2_log", "lpmf", "eta, phi, zero", phi_zero, phi_zero_prior, false, false},
    {"hurdle_lognormal", RESPONSE_FROM_ZERO, "hurdle_lognormal", "lpdf", "eta, sigma, zero", sigma_zero, sigma_zero_prior, false, false},
    {"hurdle_gamma", RESPONSE_FROM_ZERO, "hurdle_gamma", "lpdf", "shape, shape * exp(-eta), zero", shape_zero, shape_zero_prior, false, false},
    {"categorical", RESPONSE_CLASSES, "categorical_logit", "lpmf", "eta", "", "", false, false}};

const char *tacit_program_family(size_t i) { return i < sizeof families / sizeof families[0] ? families[i].name : NULL; }

static const family_t *find_family(tacit_regression_t *r, const char *name) {
  for (size_t i = 0; tacit_program_family(i) != NULL; i++) {
    if (strcmp(families[i].name, name) == 0) {
      return &families[i];
    }
  }
  char hint[TACIT_HINT_SIZE];
  r->status = tacit_error_set(r->err, TACIT_ERR_ARGUMENT, "family", "unknown family '%.64s'%s; tacit model families lists them", name,
                              tacit_program_family_hint(name, hint));
  return NULL;
}

static bool is_whole(const tacit_column_schema_t *column) {
  return column->type == TACIT_COLUMN_INTEGER || column->type == TACIT_COLUMN_BINARY;
}

/* What the family asks of the response's public range, and what goes with it. */
static void check(tacit_regression_t *r, const family_t *family) {
  const tacit_column_schema_t *y = r->response;
  bool is_number = y->type == TACIT_COLUMN_NUMERIC;
  size_t n_levels = y->type == TACIT_COLUMN_CATEGORICAL ? y->n_levels : 0;
  bool is_binary = y->type == TACIT_COLUMN_BINARY || n_levels == 2;
  const char *expected = NULL;
  switch (family->response) {
    case RESPONSE_BINARY: expected = is_binary ? NULL : "binary, or of two levels"; break;
    case RESPONSE_REAL: expected = is_number || is_whole(y) ? NULL : "a number"; break;
    case RESPONSE_POSITIVE: expected = is_number && y->lower > 0 ? NULL : "numeric with a lower bound above 0 in the schema"; break;
    case RESPONSE_FROM_ZERO: expected = is_number && y->lower >= 0 ? NULL : "numeric with a lower bound of 0 or above"; break;
    case RESPONSE_SHARE: expected = is_number && y->lower > 0 && y->upper < 1 ? NULL : "numeric with bounds above 0 and below 1 in the schema"; break;
    case RESPONSE_COUNT: expected = is_whole(y) && y->lower >= 0 ? NULL : "an integer with a lower bound of 0 or above"; break;
    case RESPONSE_LEVELS: expected = n_levels > 2 ? NULL : "categorical with three levels or more, in order"; break;
    case RESPONSE_CLASSES: expected = n_levels > 1 ? NULL : "categorical with levels in the schema"; break;
  }
  if (is_binary && family->needs_trials && r->trials == NULL) {
    tacit_regression_fail(
        r, 0, "family %s needs '%s | trials(column)', the number of trials of each record; for a response of 0 and 1 take family bernoulli",
        family->name, y->name);
  } else if (expected != NULL) {
    tacit_regression_fail(r, 0, "family %s needs a response that is %s", family->name, expected);
  } else if (family->needs_trials != (r->trials != NULL)) {
    tacit_regression_fail(r, 0, family->needs_trials ? "family %s needs '%s | trials(column)'" : "family %s has no trials ('%s | trials')",
                          family->name, y->name);
  } else if (r->cens != NULL && (!family->has_cdf || r->cens->type != TACIT_COLUMN_BINARY || r->weights != NULL)) {
    tacit_regression_fail(r, 0, !family->has_cdf             ? "family %s has no cens(): gaussian, lognormal, weibull and exponential have"
                                : r->weights != NULL ? "family %s: cens() and weights() do not go together"
                                                     : "family %s: cens(column) needs a binary column, 1 where the response is known to be larger",
                          family->name);
  } else if (family->response == RESPONSE_CLASSES && r->offset != NULL) {
    tacit_regression_fail(r, 0, "family %s has no offset: what is added to every class changes none", family->name);
  } else if ((r->trials != NULL && !is_whole(r->trials)) || (r->weights != NULL && !(r->weights->lower >= 0))) {
    tacit_regression_fail(r, 0, "trials() needs a column of whole numbers, and weights() one that is never negative");
  }
}

typedef struct {
  tacit_text_t *text;
  tacit_regression_t *r;
  const family_t *family;
  tacit_feature_t *features;
  size_t n;
  double centre, half; /* of the response, where it is scaled */
  size_t n_classes; /* beside the first; 0: a single linear predictor */
} writer_t;

static double middle(const tacit_feature_t *f) { return (f->lower + f->upper) / 2; }
static double width(const tacit_feature_t *f) { return f->upper > f->lower ? (f->upper - f->lower) / 2 : 1; }

/* The features of a product, appended: all combinations, the first factor fastest. */
static size_t expand(tacit_regression_t *r, const tacit_product_t *product, bool is_full, tacit_feature_t *features, size_t room) {
  size_t n = 1;
  for (size_t i = 0; i < product->order; i++) {
    const tacit_factor_t *factor = &r->factors[product->factors[i]];
    n *= is_full && i == 0 && factor->all != NULL ? factor->n_all : factor->n_features;
  }
  if (n > room) {
    tacit_regression_fail(r, 0, "more than %d features", TACIT_REGRESSION_MAX_FEATURES);
    return 0;
  }
  for (size_t k = 0; k < n; k++) {
    size_t rest = k;
    tacit_feature_t whole = {0};
    for (size_t i = 0; i < product->order; i++) {
      const tacit_factor_t *factor = &r->factors[product->factors[i]];
      bool is_all = is_full && i == 0 && factor->all != NULL;
      size_t size = is_all ? factor->n_all : factor->n_features;
      const tacit_feature_t *one = (is_all ? factor->all : factor->features) + rest % size;
      rest /= size;
      if (i == 0) {
        whole = *one;
        continue;
      }
      double a = whole.lower * one->lower, b = whole.lower * one->upper, c = whole.upper * one->lower, d = whole.upper * one->upper;
      whole = (tacit_feature_t){.code = tacit_arena_printf(r->arena, "%s * %s", whole.code, one->code),
                                .label = tacit_arena_printf(r->arena, "%s:%s", whole.label, one->label),
                                .lower = fmin(fmin(a, b), fmin(c, d)),
                                .upper = fmax(fmax(a, b), fmax(c, d))};
    }
    features[k] = whole;
  }
  return n;
}

static void write_data(writer_t *w) {
  tacit_regression_t *r = w->r;
  tacit_text_printf(w->text, "data {\n");
  for (size_t i = 0; i < tacit_schema_n_columns(r->schema) && i < sizeof r->is_used; i++) {
    const tacit_column_schema_t *c = tacit_schema_column(r->schema, i);
    if (!r->is_used[i]) {
      continue;
    }
    bool is_binary = c->type == TACIT_COLUMN_BINARY || (c == r->response && w->family->response == RESPONSE_BINARY);
    if (is_binary || is_whole(c)) {
      tacit_text_printf(w->text, "  int<lower=%.0f, upper=%.0f> %s;\n", is_binary ? 0 : c->lower, is_binary ? 1 : c->upper, c->name);
    } else if (c->type == TACIT_COLUMN_CATEGORICAL) {
      tacit_text_printf(w->text, "  int<lower=1, upper=%zu> %s;\n", c->n_levels, c->name);
    } else {
      tacit_text_printf(w->text, "  real<lower=%s, upper=%s> %s;\n", tacit_exact(r, c->lower), tacit_exact(r, c->upper), c->name);
    }
  }
  tacit_text_printf(w->text, "}\ntransformed data { // features, mapped to [-1, 1] by their public ranges\n");
  for (size_t j = 0; j < w->n; j++) {
    tacit_text_printf(w->text, "  real x%zu_ = (%s - %s) / %s; // %s\n", j + 1, w->features[j].code, tacit_exact(r, middle(&w->features[j])),
                      tacit_exact_real(r, width(&w->features[j])), w->features[j].label);
  }
  if (w->family->response == RESPONSE_REAL) {
    tacit_text_printf(w->text, "  real y_ = (%s - %s) / %s;\n", r->response->name, tacit_exact(r, w->centre), tacit_exact_real(r, w->half));
  }
  tacit_text_printf(w->text, "}\n");
}

typedef enum { GROUP_PARAMETERS, GROUP_PRIORS, GROUP_PREDICTOR } group_part_t;

/* Of effects by name: their declaration and priors; with classes each has its own. */
static void declare_group(writer_t *w, group_part_t what, const char *name, size_t n_levels, const char *label) {
  if (what == GROUP_PARAMETERS && w->n_classes == 0) {
    tacit_text_printf(w->text, "  real<lower=0> sd_%s; vector[%zu] r_%s;%s%s\n", name, n_levels, name, label[0] != '\0' ? " // " : "", label);
  } else if (what == GROUP_PARAMETERS) {
    tacit_text_printf(w->text, "  vector<lower=0>[%zu] sd_%s; array[%zu] vector[%zu] r_%s;%s%s\n", w->n_classes, name, w->n_classes, n_levels, name,
                      label[0] != '\0' ? " // " : "", label);
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
  tacit_regression_t *r = w->r;
  for (size_t i = 0; i < r->n_groups; i++) {
    const tacit_group_t *g = &r->groups[i];
    tacit_feature_t features[32];
    size_t n = 0, number = 0;
    for (size_t k = 0; k < g->n_products; k++) {
      n += expand(r, &g->products[k], false, features + n, 32 - n);
    }
    for (size_t k = g->has_intercept ? 0 : 1; k <= n; k++, number++) {
      char name[128];
      snprintf(name, sizeof name, number == 0 ? "%s_%zu" : "%s_%zu_%zu", g->column->name, i + 1, number);
      if (what != GROUP_PREDICTOR) {
        declare_group(w, what, name, g->column->n_levels, k > 0 ? features[k - 1].label : "");
      } else if (k == 0) {
        tacit_text_printf(w->text, " + r_%s%s[%s]", name, of_class, g->column->name);
      } else {
        tacit_text_printf(w->text, " + r_%s%s[%s] * (%s - %s) / %s", name, of_class, g->column->name, features[k - 1].code,
                          tacit_exact(r, middle(&features[k - 1])), tacit_exact(r, width(&features[k - 1])));
      }
    }
  }
}

static bool has_intercept(const writer_t *w) { return w->r->has_intercept && w->family->response != RESPONSE_LEVELS; }

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
  tacit_text_printf(w->text, "%s%s", has_intercept(w) ? "Intercept_s" : "0", has_intercept(w) ? of_class : "");
  if (w->n > 0) {
    tacit_text_printf(w->text, " + dot_product([");
    for (size_t j = 0; j < w->n; j++) {
      tacit_text_printf(w->text, "%sx%zu_", j > 0 ? ", " : "", j + 1);
    }
    tacit_text_printf(w->text, "], b_s%s)", of_class);
  }
  write_groups(w, GROUP_PREDICTOR, of_class);
}

static void write_priors(writer_t *w) {
  tacit_text_printf(w->text, "%s", has_intercept(w) ? "  Intercept_s ~ normal(0, 10);\n" : "");
  for (size_t c = 1; c <= w->n_classes && w->n > 0; c++) {
    tacit_text_printf(w->text, "  b_s[%zu] ~ normal(0, 2.5);\n", c);
  }
  tacit_text_printf(w->text, "%s%s", w->n > 0 && w->n_classes == 0 ? "  b_s ~ normal(0, 2.5);\n" : "", w->family->priors);
  write_groups(w, GROUP_PRIORS, "");
}

static void write_model(writer_t *w) {
  tacit_regression_t *r = w->r;
  const family_t *f = w->family;
  tacit_text_printf(w->text, w->n_classes > 0 ? "model {\n  vector[%zu] eta = [0" : "model {\n  real eta = ", w->n_classes + 1);
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
    tacit_text_printf(w->text, f->response == RESPONSE_REAL ? " + %s / %s" : " + %s", r->offset, tacit_exact_real(r, w->half));
  }
  tacit_text_printf(w->text, w->n_classes > 0 ? "]';\n" : ";\n");
  write_priors(w);
  const char *y = f->response == RESPONSE_REAL ? "y_" : r->response->name, *trials = r->trials != NULL ? r->trials->name : "";
  const char *comma = r->trials != NULL ? ", " : "";
  if (r->weights != NULL) {
    tacit_text_printf(w->text, "  target += %s * %s_%s(%s | %s%s%s);\n}\n", r->weights->name, f->density, f->ending, y, trials, comma, f->arguments);
  } else if (r->cens != NULL) {
    tacit_text_printf(w->text, "  censored_right(%s, 1 - %s) ~ %s(%s);\n}\n", y, r->cens->name, f->density, f->arguments);
  } else {
    tacit_text_printf(w->text, "  %s ~ %s(%s%s%s);\n}\n", y, f->density, trials, comma, f->arguments);
  }
}

/* b_age_sexM, of a class b_q_age_sexM. */
static const char *legal_name(writer_t *w, size_t class, const char *label) {
  char name[160] = "b_";
  size_t n = 2;
  const char *parts[2] = {class > 0 ? w->r->response->levels[class] : "", label};
  for (int i = 0; i < 2; i++) {
    for (const char *s = parts[i]; *s != '\0' && n < 120; s++) {
      if (isalnum((unsigned char)*s)) {
        name[n++] = *s;
      } else if (name[n - 1] != '_') {
        name[n++] = '_';
      }
    }
    if (i == 0 && n > 2 && name[n - 1] != '_') {
      name[n++] = '_';
    }
  }
  n -= name[n - 1] == '_' && n > 2;
  const char *copy = tacit_arena_text(w->r->arena, name, n);
  return copy != NULL ? copy : "b";
}

/* "  real NAME = "; a number is added to a name that an earlier one has. */
static void write_name(writer_t *w, const char **names, size_t *n_names, size_t class, const char *label) {
  const char *name = legal_name(w, class, label);
  size_t same = 0;
  for (size_t i = 0; i < *n_names; i++) {
    same += strcmp(names[i], name) == 0;
  }
  names[(*n_names)++] = name;
  tacit_text_printf(w->text, same > 0 ? "  real %s_v%zu = " : "  real %s = ", name, same + 1);
}

/* Coefficients of a class, or of the only predictor, on the scale of the columns. */
static void write_coefficients(writer_t *w, const char **names, size_t *n_names, size_t class) {
  tacit_regression_t *r = w->r;
  char of_class[24] = "";
  if (class > 0) {
    snprintf(of_class, sizeof of_class, "[%zu]", class);
  }
  if (has_intercept(w)) {
    write_name(w, names, n_names, class, "Intercept");
    tacit_text_printf(w->text, "%s + %s * (Intercept_s%s", tacit_exact(r, w->centre), tacit_exact(r, w->half), of_class);
    for (size_t j = 0; j < w->n; j++) {
      if (fabs(middle(&w->features[j])) > 0) {
        tacit_text_printf(w->text, " - b_s%s[%zu] * %s / %s", of_class, j + 1, tacit_exact(r, middle(&w->features[j])),
                          tacit_exact(r, width(&w->features[j])));
      }
    }
    tacit_text_printf(w->text, ");\n");
  }
  for (size_t j = 0; j < w->n; j++) {
    write_name(w, names, n_names, class, w->features[j].label);
    tacit_text_printf(w->text, "b_s%s[%zu] * %s / %s;\n", of_class, j + 1, tacit_exact(r, w->half), tacit_exact(r, width(&w->features[j])));
  }
}

static void write_generated(writer_t *w) {
  size_t n_names = 0, classes = w->n_classes > 0 ? w->n_classes : 1;
  const char **names = tacit_arena_alloc(w->r->arena, classes * (w->n + 1), sizeof *names);
  if (names == NULL) {
    w->r->status = tacit_error_memory(w->r->err);
    return;
  }
  tacit_text_printf(w->text, "generated quantities { // on the scale of the columns\n");
  for (size_t c = w->n_classes > 0 ? 1 : 0; c <= w->n_classes; c++) {
    write_coefficients(w, names, &n_names, c);
  }
  if (w->family->response == RESPONSE_REAL) {
    bool has_tails = strcmp(w->family->name, "student") == 0; /* of Student's t the sd is the scale times sqrt(nu / (nu - 2)) */
    tacit_text_printf(w->text, "  real %s_residual = %s * sigma;\n", has_tails ? "scale" : "sd", tacit_exact(w->r, w->half));
  }
  tacit_text_printf(w->text, "}\n");
}

static void write(tacit_regression_t *r, const family_t *family, tacit_text_t *text) {
  writer_t w = {.text = text, .r = r, .family = family, .centre = 0, .half = 1};
  w.features = tacit_arena_alloc(r->arena, TACIT_REGRESSION_MAX_FEATURES, sizeof *w.features);
  if (w.features == NULL) {
    r->status = tacit_error_memory(r->err);
    return;
  }
  w.n_classes = family->response == RESPONSE_CLASSES ? r->response->n_levels - 1 : 0;
  bool is_full = !r->has_intercept && family->response != RESPONSE_LEVELS; /* the first column with levels takes the intercept's place */
  for (size_t i = 0; i < r->n_products; i++) {
    bool has_levels = r->products[i].order == 1 && r->factors[r->products[i].factors[0]].all != NULL;
    w.n += expand(r, &r->products[i], is_full && has_levels, w.features + w.n, TACIT_REGRESSION_MAX_FEATURES - w.n);
    is_full = is_full && !has_levels;
  }
  if (family->response == RESPONSE_REAL) {
    w.centre = (r->response->lower + r->response->upper) / 2;
    w.half = r->response->upper > r->response->lower ? (r->response->upper - r->response->lower) / 2 : 1;
  }
  if (r->status != TACIT_OK) {
    return;
  }
  tacit_text_printf(text, "// %s, family %s\n", r->text, family->name);
  write_data(&w);
  write_parameters(&w);
  write_model(&w);
  write_generated(&w);
}

tacit_status_t tacit_program_of_formula(char **text, const char *formula, const char *family, const struct tacit_schema *schema, tacit_error_t *err) {
  tacit_arena_t arena = {0};
  tacit_text_t written = {0};
  tacit_regression_t *r = tacit_arena_alloc(&arena, 1, sizeof *r);
  *text = NULL;
  if (r == NULL) {
    tacit_arena_clear(&arena);
    return tacit_error_memory(err);
  }
  *r = (tacit_regression_t){.text = formula, .arena = &arena, .schema = schema, .err = err};
  const family_t *found = find_family(r, family);
  if (found != NULL) {
    tacit_regression_parse(r);
  }
  if (r->status == TACIT_OK) {
    check(r, found);
  }
  if (r->status == TACIT_OK) {
    write(r, found, &written);
  }
  tacit_status_t status = r->status;
  if (status == TACIT_OK && (arena.failed || written.failed)) {
    status = tacit_error_memory(err);
  }
  tacit_arena_clear(&arena);
  if (status != TACIT_OK) {
    tacit_text_clear(&written);
    return status;
  }
  *text = written.data;
  return TACIT_OK;
}
