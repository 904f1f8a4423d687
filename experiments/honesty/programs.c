/* Kinds of data of families that are programs: their responses, and what is true of what is reported. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "honesty.h"

#define NORMALS(half, slope)                                                                                 \
  { NORMAL, 0, 1, -(half), half, slope }
#define THREE(half) .n_columns = 3, .columns = {NORMALS(half, 0.5), NORMALS(half, -0.4), NORMALS(half, 0.3)}
#define SKEWED                                                                                               \
  .n_columns = 3, .columns = {{EXPONENTIAL, 0, 1, 0, 8, 0.3},                                                \
                              {LOGNORMAL, 0, 0.8, 0, 15, 0.1},                                               \
                              {INDICATOR, 0.1, 0, 0, 1, 0.5}}
#define TAILS .n_columns = 2, .columns = {{HEAVY, 0, 1, -10, 10, 0.3}, {HEAVY, 0, 1, -10, 10, -0.2}}
#define ORDINAL                                                                                              \
  {                                                                                                          \
    .name = "cumulative", .n_levels = 3, .levels = { -1, 0.3, 1.5 }                                          \
  }
#define CLASSES                                                                                              \
  {                                                                                                          \
    .name = "categorical", .n_levels = 2, .levels = { 0.2, -0.3 }                                            \
  }
#define COUNTS                                                                                               \
  { .name = "negbinomial", .shape = 2 }
#define GAMMAS                                                                                               \
  { .name = "gamma", .lower = 0.01, .shape = 2 }
#define STUDENTS                                                                                             \
  { .name = "student", .shape = 1 }
#define FOLLOWED                                                                                             \
  { .name = "weibull", .lower = 0.001, .shape = 1.5, .is_censored = true }
#define TIMES                                                                                                \
  { .name = "exponential", .lower = 0.001 }
#define LOGS                                                                                                 \
  { .name = "lognormal", .lower = 0.01, .shape = 0.7 }
#define SHARES                                                                                               \
  { .name = "beta", .lower = 0.001, .shape = 5 }
#define ZEROS                                                                                                \
  { .name = "zero_inflated_poisson", .zero = 0.25 }
#define HURDLES                                                                                              \
  { .name = "hurdle_poisson", .zero = 0.3 }
#define EIGHT                                                                                                \
  .n_columns = 8, .columns = {NORMALS(4, 0.4), NORMALS(4, -0.3), NORMALS(4, 0.2), NORMALS(4, 0.1),           \
                              NORMALS(4, 0),   NORMALS(4, -0.1), NORMALS(4, 0.2), NORMALS(4, -0.2)}
#define OF_LEVEL(slope)                                                                                      \
  { LEVEL, 1.0 / 15, 0, 0, 1, slope }
#define SEVENTEEN /* three numbers and the levels of a factor but the first */                               \
  .n_columns = 17,                                                                                           \
  .columns = {NORMALS(4, 0.3), NORMALS(4, -0.2), NORMALS(4, 0.1), OF_LEVEL(0.5),  OF_LEVEL(0.4),             \
              OF_LEVEL(0.3),   OF_LEVEL(0.2),    OF_LEVEL(0.1),   OF_LEVEL(0),    OF_LEVEL(-0.1),            \
              OF_LEVEL(-0.2),  OF_LEVEL(-0.3),   OF_LEVEL(-0.4),  OF_LEVEL(-0.5), OF_LEVEL(0.3),             \
              OF_LEVEL(0.2),   OF_LEVEL(-0.3)}
#define N .n = 10000

const kind_t program_kinds[] = {
    {"ordinal", true, .program = ORDINAL, N, THREE(4)},
    {"ordinal-rare", false, .program = {.name = "cumulative", .n_levels = 3, .levels = {0.5, 3, 4.5}}, N,
     THREE(4)},
    {"ordinal-correlated", false, .program = ORDINAL, N, .correlation = 0.9, THREE(4)},
    {"ordinal-skewed", false, .program = ORDINAL, N, SKEWED},
    {"ordinal-tails", false, .program = ORDINAL, N, TAILS},
    {"ordinal-wide", false, .program = ORDINAL, N, THREE(12)},
    {"ordinal-small", false, .program = ORDINAL, .n = 1500, THREE(4)},
    {"classes", true, .program = CLASSES, N, THREE(4)},
    {"classes-rare", false, .program = {.name = "categorical", .n_levels = 2, .levels = {-0.5, -3.5}}, N,
     THREE(4)},
    {"classes-skewed", false, .program = CLASSES, N, SKEWED},
    {"negbinomial", true, .program = COUNTS, .upper = 60, N, .intercept = 0.4, THREE(4)},
    {"negbinomial-rare", false, .program = COUNTS, .upper = 20, N, .intercept = -2.3, THREE(4)},
    {"negbinomial-skewed", false, .program = COUNTS, .upper = 60, N, .intercept = 0.2, SKEWED},
    {"negbinomial-tails", false, .program = COUNTS, .upper = 60, N, .intercept = 0.4, TAILS},
    {"negbinomial-wide", false, .program = COUNTS, .upper = 60, N, .intercept = 0.4, THREE(12)},
    {"negbinomial-small", false, .program = COUNTS, .upper = 60, .n = 1500, .intercept = 0.4, THREE(4)},
    {"negbinomial-zeros", false,
     .program = {.name = "negbinomial", .shape = 2, .zero = 0.3, .wrong = EXTRA_ZEROS}, .upper = 60, N,
     .intercept = 0.8, THREE(4)},
    {"gamma", true, .program = GAMMAS, .upper = 20, .n = 4000, .intercept = 0.3, THREE(4)},
    {"gamma-tails", false, .program = GAMMAS, .upper = 20, .n = 4000, .intercept = 0.3, TAILS},
    {"gamma-wrong", false,
     .program = {.name = "gamma", .lower = 0.01, .shape = 0.8, .wrong = LOGNORMAL_FACTOR}, .upper = 40,
     .n = 4000, .intercept = 0.3, THREE(4)},
    {"student", true, .program = STUDENTS, .upper = 10, .n = 4000, .intercept = 0.5, THREE(4)},
    {"student-skewed", false, .program = STUDENTS, .upper = 10, .n = 4000, .intercept = 0.5, SKEWED},
    {"student-wide-y", false, .program = STUDENTS, .upper = 50, .n = 4000, .intercept = 0.5, THREE(4)},
    {"student-wrong", false, .program = {.name = "student", .shape = 1, .wrong = SKEWED_ERRORS}, .upper = 10,
     .n = 4000, .intercept = 0.5, THREE(4)},
    {"weibull", true, .program = FOLLOWED, .upper = 2, N, .intercept = 0.3, THREE(4)},
    {"weibull-few", false, .program = FOLLOWED, .upper = 2, N, .intercept = 2.2, THREE(4)},
    {"weibull-correlated", false, .program = FOLLOWED, .upper = 2, N, .intercept = 0.3, .correlation = 0.9,
     THREE(4)},
    {"weibull-small", false, .program = FOLLOWED, .upper = 2, .n = 1500, .intercept = 0.3, THREE(4)},
    {"weibull-wrong", false,
     .program = {.name = "weibull", .lower = 0.001, .shape = 0.8, .wrong = LOGNORMAL_FACTOR}, .upper = 50, N,
     .intercept = 0.3, THREE(4)},
    {"exponential", true, .program = TIMES, .upper = 30, N, .intercept = 0.3, THREE(4)},
    {"exponential-less", false,
     .program = {.name = "exponential", .lower = 0.001, .shape = 3, .wrong = GAMMA_FACTOR}, .upper = 30, N,
     .intercept = 0.3, THREE(4)},
    {"exponential-more", false,
     .program = {.name = "exponential", .lower = 0.001, .shape = 0.6, .wrong = GAMMA_FACTOR}, .upper = 30, N,
     .intercept = 0.3, THREE(4)},
    {"lognormal", true, .program = LOGS, .upper = 50, N, .intercept = 0.3, THREE(4)},
    {"lognormal-skewed", false, .program = LOGS, .upper = 50, N, .intercept = 0.1, SKEWED},
    {"lognormal-wrong", false,
     .program = {.name = "lognormal", .lower = 0.001, .shape = 2, .wrong = GAMMA_FACTOR}, .upper = 50, N,
     .intercept = 0.3, THREE(4)},
    {"beta", true, .program = SHARES, .upper = 0.999, .n = 4000, .intercept = 0.2, THREE(4)},
    {"beta-edge", false, .program = SHARES, .upper = 0.999, .n = 4000, .intercept = -2.5, THREE(4)},
    {"zeros", true, .program = ZEROS, .upper = 30, N, .intercept = 0.6, THREE(4)},
    {"zeros-rare", false, .program = ZEROS, .upper = 10, N, .intercept = -1.5, THREE(4)},
    {"zeros-skewed", false, .program = ZEROS, .upper = 30, N, .intercept = 0.4, SKEWED},
    {"hurdle", true, .program = HURDLES, .upper = 30, N, .intercept = 0.6, THREE(4)},
    {"gamma-eight", true, .program = GAMMAS, .upper = 20, .n = 20000, .intercept = 0.3, EIGHT},
    {"negbinomial-factor", true, .program = COUNTS, .upper = 60, .n = 20000, .intercept = 0.4, SEVENTEEN}};
const size_t n_program_kinds = sizeof program_kinds / sizeof program_kinds[0];

static const double nu = 4,
                    second_class =
                        -0.5; /* degrees of freedom; slopes of the last class over those of the second */

static double exponential_draw(tacit_rng_t *rng) { return -log(tacit_rng_uniform(rng)); }

/* [Marsaglia2000]; a shape below 1 by a power of a uniform number. */
double gamma_draw(double shape, tacit_rng_t *rng) {
  double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d),
         boost = shape < 1 ? pow(tacit_rng_uniform(rng), 1 / shape) : 1;
  for (;;) {
    double x = tacit_rng_normal(rng), v = pow(1 + c * x, 3);
    if (v > 0 && log(tacit_rng_uniform(rng)) < 0.5 * x * x + d - d * v + d * log(v)) {
      return boost * d * v;
    }
  }
}

static double poisson_draw(double rate, tacit_rng_t *rng) {
  double count = 0;
  for (double time = exponential_draw(rng); time < rate && count < 1000; time += exponential_draw(rng)) {
    count++;
  }
  return count;
}

/* The first of ordered levels whose cut point a logistic number around eta does not pass; or of classes, each
 * with a predictor. */
static double level_draw(const program_family_t *f, double eta, tacit_rng_t *rng) {
  double u = tacit_rng_uniform(rng), level = 0, weights[MAX_LEVELS] = {1}, sum = 1;
  if (strcmp(f->name, "cumulative") == 0) {
    double x = eta + log(u) - log1p(-u);
    while (level < (double)f->n_levels && x > f->levels[(size_t)level]) {
      level++;
    }
    return level;
  }
  for (size_t k = 0; k < f->n_levels; k++) {
    weights[k + 1] = exp(f->levels[k] + (k == 0 ? 1 : second_class) * eta);
    sum += weights[k + 1];
  }
  for (u *= sum; level < (double)f->n_levels && u > weights[(size_t)level]; level++) {
    u -= weights[(size_t)level];
  }
  return level;
}

/* A positive response over its scale, of mean 1 where that is what the family is about. */
static double factor_draw(const program_family_t *f, tacit_rng_t *rng) {
  bool is_gamma = strcmp(f->name, "gamma") == 0 || f->wrong == GAMMA_FACTOR;
  return f->wrong == LOGNORMAL_FACTOR      ? exp(f->shape * tacit_rng_normal(rng) - 0.5 * f->shape * f->shape)
         : is_gamma                        ? gamma_draw(f->shape, rng) / f->shape
         : strcmp(f->name, "weibull") == 0 ? pow(exponential_draw(rng), 1 / f->shape)
         : strcmp(f->name, "lognormal") == 0 ? exp(f->shape * tacit_rng_normal(rng))
                                             : exponential_draw(rng);
}

static bool is_count(const program_family_t *f) {
  return strcmp(f->name, "negbinomial") == 0 || strcmp(f->name, "zero_inflated_poisson") == 0 ||
         strcmp(f->name, "hurdle_poisson") == 0;
}

double program_response(const kind_t *kind, double eta, tacit_rng_t *rng) {
  const program_family_t *f = &kind->program;
  if (f->n_levels > 0) {
    return level_draw(f, eta, rng);
  }
  double y;
  if (strcmp(f->name, "hurdle_poisson") == 0) {
    for (y = 0; y < 1;) {
      y = poisson_draw(exp(eta), rng);
    }
    y = tacit_rng_uniform(rng) < f->zero ? 0 : y;
  } else if (is_count(f)) {
    double factor = f->shape > 0 ? gamma_draw(f->shape, rng) / f->shape : 1;
    y = tacit_rng_uniform(rng) < f->zero ? 0 : poisson_draw(exp(eta) * factor, rng);
  } else if (strcmp(f->name, "student") == 0) {
    double error = f->wrong == SKEWED_ERRORS
                       ? exponential_draw(rng) - 1
                       : tacit_rng_normal(rng) / sqrt(gamma_draw(0.5 * nu, rng) / (0.5 * nu));
    return fmin(fmax(eta + f->shape * error, -kind->upper), kind->upper);
  } else if (strcmp(f->name, "beta") == 0) {
    double mean = 1 / (1 + exp(-eta)), a = gamma_draw(mean * f->shape, rng),
           b = gamma_draw((1 - mean) * f->shape, rng);
    y = a / (a + b);
  } else {
    y = exp(eta) * factor_draw(f, rng);
  }
  return fmin(fmax(y, f->lower), kind->upper);
}

bool program_truth(const kind_t *kind, const char *name, double *truth) {
  const program_family_t *f = &kind->program;
  bool is_classes = strcmp(f->name, "categorical") == 0, is_last = strncmp(name, "b_r_", 4) == 0;
  const char *term = is_classes ? name + 4 : name + 2,
             *own = strcmp(f->name, "beta") == 0 || strcmp(f->name, "negbinomial") == 0    ? "phi"
                    : strcmp(f->name, "student") == 0 || strcmp(f->name, "lognormal") == 0 ? "sigma"
                                                                                           : "shape";
  if (strncmp(name, "b_", 2) == 0 && strncmp(name, "b_s", 3) != 0 && strlen(name) > 3 && term[0] == 'x') {
    *truth = kind->columns[atoi(term + 1) - 1].slope * (is_last ? second_class : 1);
    return true;
  }
  if (f->wrong != RIGHT) {
    return false;
  }
  if (strncmp(name, "b_", 2) == 0 && strlen(name) > 4 && strcmp(term, "Intercept") == 0) {
    *truth = is_classes ? f->levels[is_last] : kind->intercept;
    return true;
  }
  if (strncmp(name, "cut.", 4) == 0) { /* of columns less the middles of their bounds */
    *truth = f->levels[atoi(name + 4) - 1];
    for (size_t j = 0; j < kind->n_columns; j++) {
      *truth -= kind->columns[j].slope * 0.5 * (kind->columns[j].lower + kind->columns[j].upper);
    }
    return true;
  }
  bool is_own = f->shape > 0 && strcmp(name, own) == 0, is_zero = f->zero > 0 && strcmp(name, "zero") == 0,
       is_nu = strcmp(name, "nu") == 0;
  *truth = is_own ? f->shape : is_zero ? f->zero : nu;
  return is_own || is_zero || is_nu;
}

void program_schema(const kind_t *kind, const char *columns, char *text, size_t n) {
  const program_family_t *f = &kind->program;
  if (f->n_levels > 0) {
    snprintf(text, n, "columns:\n  y: {type: categorical, levels: [%s]}\n%s",
             f->n_levels == 2 ? "p, q, r" : "p, q, r, s", columns);
    return;
  }
  bool is_real = strcmp(f->name, "student") == 0;
  snprintf(text, n, "columns:\n  y: {type: %s, lower: %g, upper: %g}\n%s%s",
           is_count(f) ? "integer" : "numeric", is_real ? -kind->upper : f->lower, kind->upper,
           f->is_censored ? "  over: {type: binary}\n" : "", columns);
}
