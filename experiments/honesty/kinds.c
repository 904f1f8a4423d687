/* Kinds of data. */
#include <math.h>
#include <string.h>

#include "honesty.h"

#define B .family = TACIT_FAMILY_BERNOULLI, .upper = 1
#define P .family = TACIT_FAMILY_POISSON
#define G(s) .family = TACIT_FAMILY_GAUSSIAN, .sd = s
#define EIGHT(half)                                                                                          \
  .n_columns = 8,                                                                                            \
  .columns = {NORMALS(half, 0.5), NORMALS(half, -0.5), NORMALS(half, 0.3), NORMALS(half, -0.3),              \
              NORMALS(half, 0.2), NORMALS(half, -0.2), NORMALS(half, 0.1), NORMALS(half, 0)}
#define NORMALS(half, slope)                                                                                 \
  { NORMAL, 0, 1, -(half), half, slope }
#define THREE(half) .n_columns = 3, .columns = {NORMALS(half, 0.5), NORMALS(half, -0.4), NORMALS(half, 0.3)}
#define ONE(half, slope) .n_columns = 1, .columns = {NORMALS(half, slope)}
#define SEVENTH 0.125

const kind_t kinds[] = {
    {"plain", true, B, .n = 8000, THREE(4)},
    {"correlated", true, B, .n = 8000, .correlation = 0.9, THREE(4)},
    {"thousand", true, B, .n = 1000, THREE(4)},
    {"age", true, B, .n = 8000, .intercept = -2.5, .n_columns = 2,
     .columns = {{NORMAL, 50, 15, 0, 120, 0.05}, {INDICATOR, 0.5, 0, 0, 1, 0.5}}},
    {"indicator-2%", true, B, .n = 6000, .n_columns = 2,
     .columns = {NORMALS(4, 0.5), {INDICATOR, 0.02, 0, 0, 1, 0.7}}},
    {"strong", false, B, .n = 1000, ONE(5, 2)},
    {"very-strong", false, B, .n = 5000, ONE(5, 4)},
    {"wide-40", false, B, .n = 10000, ONE(40, 0.7)},
    {"wide-12", false, B, .n = 1000, ONE(12, 0.7)},
    {"year", false, B, .n = 5000, .intercept = -200, .n_columns = 1,
     .columns = {{NORMAL, 2000, 5, 1900, 2100, 0.1}}},
    {"narrow-2000", false, B, .n = 2000, THREE(15)},
    {"narrow-500", false, B, .n = 500, THREE(15)},
    {"rare-500", false, B, .n = 500, .intercept = -3.5, THREE(4)},
    {"rare-2000", false, B, .n = 2000, .intercept = -3.5, THREE(4)},
    {"rare-20000", false, B, .n = 20000, .intercept = -3.5, THREE(4)},
    {"rare-1%", false, B, .n = 20000, .intercept = -4.9, THREE(4)},
    {"small-500", false, B, .n = 500, THREE(4)},
    {"small-300", false, B, .n = 300, ONE(4, 0.7)},
    {"lognormal-300", false, B, .n = 10000, .intercept = -0.5, .n_columns = 1,
     .columns = {{LOGNORMAL, 1, 0.8, 0, 300, 0.2}}},
    {"lognormal-20", false, B, .n = 10000, .intercept = -0.5, .n_columns = 1,
     .columns = {{LOGNORMAL, 1, 0.8, 0, 20, 0.2}}},
    {"separated", false, B, .n = 400, ONE(5, 12)},
    {"heavy-tails", false, B, .n = 8000, .n_columns = 2,
     .columns = {{HEAVY, 0, 1, -10, 10, 0.4}, {HEAVY, 0, 1, -10, 10, -0.3}}},
    {"exponential", false, B, .n = 8000, .intercept = -0.5, .n_columns = 2,
     .columns = {{EXPONENTIAL, 0, 1, 0, 8, 0.4}, NORMALS(4, 0.5)}},
    {"eight-levels", false, B, .n = 10000, .n_columns = 7,
     .columns = {{LEVEL, SEVENTH, 0, 0, 1, 0.2},
                 {LEVEL, SEVENTH, 0, 0, 1, -0.3},
                 {LEVEL, SEVENTH, 0, 0, 1, 0.5},
                 {LEVEL, SEVENTH, 0, 0, 1, -0.6},
                 {LEVEL, SEVENTH, 0, 0, 1, 0.1},
                 {LEVEL, SEVENTH, 0, 0, 1, 0.8},
                 {LEVEL, SEVENTH, 0, 0, 1, -0.2}}},
    {"large", true, B, .n = 200000, THREE(4)},
    {"icu-flag", false, B, .n = 5000, .intercept = -1.5, .n_columns = 3,
     .columns = {{NORMAL, 60, 15, 0, 120, 0.02},
                 {INDICATOR, 0.02, 0, 0, 1, 1.5},
                 {INDICATOR, 0.5, 0, 0, 1, 0.3}}},
    {"crp", false, B, .n = 5000, .intercept = -1, .n_columns = 2,
     .columns = {{EXPONENTIAL, 0, 20, 0, 500, 0.02}, {NORMAL, 60, 15, 0, 120, 0.01}}},
    {"beyond-bound", false, B, .n = 5000, .n_columns = 2,
     .columns = {{NORMAL, 10, 1, 0, 5, 0}, NORMALS(4, 0.6)}},
    {"poisson", true, P, .upper = 20, .n = 8000, .intercept = 0.4, THREE(4)},
    {"poisson-1000", false, P, .upper = 10, .n = 1000, .intercept = 0.4, ONE(4, 0.4)},
    {"poisson-rare", false, P, .upper = 5, .n = 10000, .intercept = -2.3, THREE(4)},
    {"poisson-wide", false, P, .upper = 20, .n = 8000, .intercept = 0.4, ONE(20, 0.4)},
    {"poisson-over", false, P, .upper = 20, .n = 8000, .intercept = 0.4, .overdispersion = 0.5, ONE(4, 0.4)},
    {"eight-features", false, B, .n = 20000, .correlation = 0.3, EIGHT(4)},
    {"g-tight", true, G(1), .upper = 5, .n = 20000, .correlation = 0.3, EIGHT(4)},
    {"g-wide-3", false, G(1), .upper = 15, .n = 5000, .correlation = 0.3, EIGHT(12)},
    {"g-wide-10", false, G(1), .upper = 50, .n = 20000, .correlation = 0.3, EIGHT(40)},
    {"g-wide-y", false, G(1), .upper = 50, .n = 20000, .correlation = 0.3, EIGHT(4)},
    {"g-t3", false, G(1), .upper = 20, .n = 5000, .errors = T3_ERRORS, THREE(4)},
    {"g-heavy", false, G(1), .upper = 8, .n = 8000, .n_columns = 2,
     .columns = {{HEAVY, 0, 1, -10, 10, 0.4}, {HEAVY, 0, 1, -10, 10, -0.3}}},
    {"g-skewed", false, G(1), .upper = 12, .n = 8000, .n_columns = 3,
     .columns = {{EXPONENTIAL, 0, 1, 0, 8, 0.4},
                 {LOGNORMAL, 0, 0.8, 0, 15, 0.2},
                 {INDICATOR, 0.1, 0, 0, 1, 0.5}}},
    {"g-curve", false, G(1), .upper = 12, .n = 12000, .curve = 0.5, .n_columns = 2,
     .columns = {NORMALS(4, 0.5), NORMALS(4, -0.4)}},
    {"g-small", false, G(1), .upper = 6, .n = 1000, .n_columns = 2,
     .columns = {NORMALS(4, 0.5), NORMALS(4, -0.4)}},
    {"g-scale", false, G(8), .upper = 100, .n = 12000, .intercept = 20, .n_columns = 3,
     .columns = {{NORMAL, 50, 15, 0, 120, 0.3}, {INDICATOR, 0.5, 0, 0, 1, 5}, NORMALS(4, -2)}}};
const size_t n_kinds = sizeof kinds / sizeof kinds[0];

void kind_truth(const kind_t *kind, double *truth) {
  truth[0] = kind->intercept;
  for (size_t j = 0; j < kind->n_columns; j++) {
    truth[j + 1] = kind->columns[j].slope;
  }
  if (kind->family == TACIT_FAMILY_GAUSSIAN) { /* a square around the mean of a normal is uncorrelated with
                                                  it, of variance 2 sd^4 */
    truth[kind->n_columns + 1] = hypot(kind->sd, sqrt(2) * kind->curve * pow(kind->columns[0].sd, 2));
  }
}

/* Student's t of 3 degrees of freedom over its sd. */
static double t3_draw(tacit_rng_t *rng) {
  double z = tacit_rng_normal(rng), square = 0;
  for (int k = 0; k < 3; k++) {
    double g = tacit_rng_normal(rng);
    square += g * g;
  }
  return z / sqrt(square);
}

static double response(const kind_t *kind, double eta, tacit_rng_t *rng) {
  if (kind->family == TACIT_FAMILY_GAUSSIAN) {
    return fmax(fmin(eta + kind->sd * (kind->errors == T3_ERRORS ? t3_draw(rng) : tacit_rng_normal(rng)),
                     kind->upper),
                -kind->upper);
  }
  double u = tacit_rng_uniform(rng);
  if (kind->family == TACIT_FAMILY_BERNOULLI) {
    return u < 1 / (1 + exp(-eta));
  }
  double shape = kind->overdispersion > 0 ? 1 / kind->overdispersion : 0,
         factor = shape > 0 ? gamma_draw(shape, rng) / shape : 1;
  double rate = exp(eta) * factor, p = exp(-rate), y = 0;
  for (u -= p; u > 0 && y < kind->upper; u -= p) {
    y++;
    p *= rate / y;
  }
  return y;
}

void kind_record(const kind_t *kind, tacit_rng_t *rng, double *record) {
  double common = tacit_rng_normal(rng), level = tacit_rng_uniform(rng), eta = kind->intercept, below = 0;
  for (size_t j = 0; j < kind->n_columns; j++) {
    const column_t *c = &kind->columns[j];
    double z = sqrt(kind->correlation) * common + sqrt(1 - kind->correlation) * tacit_rng_normal(rng),
           x = c->mean + c->sd * z;
    switch (c->shape) {
    case NORMAL:
      break;
    case HEAVY: {
      double square = 0;
      for (int k = 0; k < 3; k++) {
        double g = tacit_rng_normal(rng);
        square += g * g;
      }
      x = c->mean + c->sd * z / sqrt(square / 3);
      break;
    }
    case EXPONENTIAL:
      x = -c->sd * log(tacit_rng_uniform(rng));
      break;
    case LOGNORMAL:
      x = exp(c->mean + c->sd * z);
      break;
    case INDICATOR:
      x = tacit_rng_uniform(rng) < c->mean;
      break;
    case LEVEL:
      x = level >= below && level < below + c->mean;
      below += c->mean;
      break;
    }
    x = fmax(fmin(x, c->upper), c->lower); /* what the model is of: values as the schema clamps them */
    record[j] = x;
    eta += c->slope * x + (j == 0 ? kind->curve * (pow(x - c->mean, 2) - c->sd * c->sd) : 0);
  }
  record[kind->n_columns] =
      kind->program.name != NULL ? program_response(kind, eta, rng) : response(kind, eta, rng);
  record[kind->n_columns + 1] = record[kind->n_columns] >= kind->upper;
}

static void kind_columns(const kind_t *kind, char *text, size_t n) {
  int at = snprintf(text, n, "%s", "");
  for (size_t j = 0; j < kind->n_columns && at >= 0 && (size_t)at < n; j++) {
    const column_t *c = &kind->columns[j];
    bool is_binary = c->shape == INDICATOR || c->shape == LEVEL;
    at += is_binary ? snprintf(text + at, n - (size_t)at, "  x%zu: {type: binary}\n", j + 1)
                    : snprintf(text + at, n - (size_t)at, "  x%zu: {type: numeric, lower: %g, upper: %g}\n",
                               j + 1, c->lower, c->upper);
  }
}

static void kind_terms(const kind_t *kind, char *text, size_t n) {
  int at = snprintf(text, n, " ~ 1");
  for (size_t j = 0; j < kind->n_columns && at > 0 && (size_t)at < n; j++) {
    at += snprintf(text + at, n - (size_t)at, " + x%zu", j + 1);
  }
}

void kind_schema(const kind_t *kind, char *text, size_t n) {
  char columns[1024];
  kind_columns(kind, columns, sizeof columns);
  if (kind->program.name != NULL) {
    program_schema(kind, columns, text, n);
  } else if (kind->family == TACIT_FAMILY_GAUSSIAN) {
    snprintf(text, n, "columns:\n  y: {type: numeric, lower: %g, upper: %g}\n%s", -kind->upper, kind->upper,
             columns);
  } else if (kind->family == TACIT_FAMILY_BERNOULLI) {
    snprintf(text, n, "columns:\n  y: {type: binary}\n%s", columns);
  } else {
    snprintf(text, n, "columns:\n  y: {type: integer, lower: 0, upper: %g}\n%s", kind->upper, columns);
  }
}

void kind_formula(const kind_t *kind, char *text, size_t n) {
  char terms[128];
  kind_terms(kind, terms, sizeof terms);
  snprintf(text, n, "%s%s", kind->program.is_censored ? "y | cens(over)" : "y", terms);
}
