/*
 * Simulated regressions for the tests of noise-aware regression and for
 * experiments/noise_aware_calibration.c: correlated features of several kinds in the public cube, a private
 * fit, and the non-private posterior to hold it against.
 */
#ifndef TACIT_NOISE_AWARE_SIMULATION_H
#define TACIT_NOISE_AWARE_SIMULATION_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "curator/curator.h"
#include "data/records.h"
#include "formula/model.h"
#include "noise_aware/noise_aware.h"
#include "tacit/account.h"
#include "tacit/random.h"

enum { SIMULATION_MAX_DIM = 200 };

typedef enum simulation_truth {
  TRUTH_PRIOR = 0, /* every coefficient from its prior: simulation-based calibration */
  TRUTH_FIXED,     /* slopes of alternating sign, 0.5 to 1.5; intercept 0 */
  TRUTH_RARE       /* the same with the intercept at -3.5: few positives */
} simulation_truth_t;

typedef struct simulation {
  tacit_family_t family;
  double upper; /* of the response */
  simulation_truth_t truth;
  size_t d, n;       /* coefficients, and after them the sd of a gaussian; records that count */
  size_t n_left_out; /* and that do not */
  tacit_relation_t relation;
  double epsilon, delta;
  size_t n_chains, n_warmup, n_draws;
  bool has_reference;  /* whether the non-private posterior is wanted too */
  bool is_steep;       /* counts of many features whose slopes are as those of a bernoulli */
  tacit_fault_t fault; /* while the fit is made */
} simulation_t;

/* One data set, its fit, and the normal approximation of its non-private posterior at the mode. */
typedef struct simulation_fit {
  size_t d;
  double theta[SIMULATION_MAX_DIM];                        /* the truth */
  double mean[SIMULATION_MAX_DIM], sd[SIMULATION_MAX_DIM]; /* of the private posterior */
  double share_below[SIMULATION_MAX_DIM];                  /* of its draws below the truth */
  double reference_mean[SIMULATION_MAX_DIM], reference_sd[SIMULATION_MAX_DIM];
  double seconds; /* of processors, of the private fit */
} simulation_fit_t;

static tacit_error_t simulation_error;

static inline void simulation_must(tacit_status_t status) {
  if (status != TACIT_OK) {
    fprintf(stderr, "simulation: %s\n", simulation_error.message);
    exit(1);
  }
}

static inline double simulation_clamp(double x, double lower, double upper) {
  return fmax(fmin(x, upper), lower);
}

/* Column kinds in turn: normal of sd 0.4, indicator (40 %), skewed and concentrated (sd 0.2), uniform. */
static inline bool simulation_is_indicator(size_t j) { return j % 4 == 2; }

static inline double simulation_feature(size_t j, double g) {
  double upper_tail = 0.5 * erfc(g * 0.70710678118654752);
  switch (j % 4) {
  case 1:
    return simulation_clamp(0.4 * g, -1, 1);
  case 2:
    return upper_tail < 0.4 ? 1 : -1;
  case 3:
    return simulation_clamp(-0.8 - 0.2 * log(upper_tail), -1, 1);
  default:
    return 1 - 2 * upper_tail;
  }
}

static inline double simulation_response(const simulation_t *s, double eta, double sigma, tacit_rng_t *rng) {
  double u = tacit_rng_uniform(rng);
  if (s->family == TACIT_FAMILY_BERNOULLI) {
    return u < 1 / (1 + exp(-eta));
  }
  if (s->family == TACIT_FAMILY_GAUSSIAN) {
    return (double)(float)simulation_clamp(eta + sigma * tacit_rng_normal(rng), -1, 1);
  }
  double rate = exp(eta), p = exp(-rate), y = 0;
  for (u -= p; u > 0 && y < s->upper; u -= p) {
    y++;
    p *= rate / y;
  }
  return y;
}

/* Sd of the normal priors of all coefficients; that of a gaussian's sd is half normal(0, 0.15). */
static inline double simulation_prior_sd(const simulation_t *s) {
  return s->family == TACIT_FAMILY_GAUSSIAN ? 0.1 : 2.5;
}

/* Slopes of many features are smaller, so that what they add up to is not; a gaussian's, so that responses
 * stay within [-1, 1]; its sd comes last. */
static inline void simulation_truth(const simulation_t *s, tacit_rng_t *rng, double *theta) {
  double most = s->family == TACIT_FAMILY_POISSON && s->d > 20
                    ? 2
                    : 8; /* or counts would spread over three orders of magnitude */
  double share = s->family == TACIT_FAMILY_GAUSSIAN ? 1 / (1.5 * (double)s->d)
                                                    : fmin(1, sqrt((s->is_steep ? 8 : most) / (double)s->d));
  for (size_t j = 0; j < s->d; j++) {
    double size = 0.5 + tacit_rng_uniform(rng);
    theta[j] = s->truth == TRUTH_PRIOR  ? simulation_prior_sd(s) * tacit_rng_normal(rng)
               : j > 0                  ? share * (j % 2 == 1 ? size : -size)
               : s->truth == TRUTH_RARE ? -3.5
                                        : 0;
  }
  if (s->family == TACIT_FAMILY_GAUSSIAN) {
    theta[s->d] = s->truth == TRUTH_PRIOR ? 0.15 * fabs(tacit_rng_normal(rng)) : 0.1;
  }
}

/* data (n, d + 1): x_0 = 1, features of latent correlation 0.3, response; rounded to float, as the records
 * are. */
static inline void simulation_data(const simulation_t *s, const double *theta, tacit_rng_t *rng,
                                   double *data) {
  for (size_t i = 0; i < s->n; i++) {
    double *x = data + i * (s->d + 1), common = sqrt(0.3) * tacit_rng_normal(rng), eta = theta[0];
    x[0] = 1;
    for (size_t j = 1; j < s->d; j++) {
      x[j] = (double)(float)simulation_feature(j, common + sqrt(0.7) * tacit_rng_normal(rng));
      eta += theta[j] * x[j];
    }
    x[s->d] = simulation_response(s, eta, s->family == TACIT_FAMILY_GAUSSIAN ? theta[s->d] : 0, rng);
  }
}

/* Records of n rows of data, (n, n_columns), and n_spare after them that are to be filled. */
static inline tacit_records_t *simulation_pack(const double *data, size_t n, size_t n_spare,
                                               size_t n_columns) {
  tacit_records_t *records;
  simulation_must(tacit_records_new(&records, n + n_spare, n_columns, &simulation_error));
  for (size_t i = 0; i < n; i++) {
    tacit_records_set(records, i, data + i * n_columns);
  }
  return records;
}

/* A model over d - 1 columns in [-1, 1]. */
static inline void simulation_model(const simulation_t *s, tacit_model_t *model) {
  char schema_text[64 * (SIMULATION_MAX_DIM + 3)], formula[16 * (SIMULATION_MAX_DIM + 1)];
  int at = snprintf(schema_text, sizeof schema_text, "columns:\n  y: {type: %s}\n",
                    s->family == TACIT_FAMILY_BERNOULLI  ? "binary"
                    : s->family == TACIT_FAMILY_GAUSSIAN ? "numeric, lower: -1, upper: 1"
                                                         : "integer, lower: 0, upper: 1000");
  int end = snprintf(formula, sizeof formula, "y ~ 1");
  for (size_t j = 1; j < s->d; j++) {
    at += snprintf(schema_text + at, sizeof schema_text - (size_t)at,
                   "  x%zu: {type: numeric, lower: -1, upper: 1}\n", j);
    end += snprintf(formula + end, sizeof formula - (size_t)end, " + x%zu", j);
  }
  tacit_schema_t *schema;
  tacit_design_t *design;
  tacit_prior_entry_t priors[3];
  bool is_gaussian = s->family == TACIT_FAMILY_GAUSSIAN;
  simulation_must(tacit_schema_parse(&schema, schema_text, (size_t)at, "simulation", &simulation_error));
  simulation_must(tacit_design_new(&design, formula, schema, s->family, &simulation_error));
  simulation_must(
      tacit_prior_parse(&priors[0], is_gaussian ? "normal(0, 0.1)" : "normal(0, 2.5)", &simulation_error));
  simulation_must(tacit_prior_parse(&priors[1],
                                    is_gaussian ? "Intercept: normal(0, 0.1)" : "Intercept: normal(0, 2.5)",
                                    &simulation_error));
  simulation_must(tacit_prior_parse(&priors[2], "sigma: normal(0, 0.15)", &simulation_error));
  tacit_glm_settings_t glm = tacit_glm_settings_default();
  glm.family = s->family;
  glm.priors = priors;
  glm.n_priors = is_gaussian ? 3 : 2;
  simulation_must(tacit_model_init_glm(model, design, &glm, &simulation_error));
  tacit_prior_entry_clear(&priors[0]);
  tacit_prior_entry_clear(&priors[1]);
  tacit_prior_entry_clear(&priors[2]);
  tacit_design_free(design);
  tacit_schema_free(schema);
}

/* Solve a x = b by Gauss-Jordan elimination; inverse (d, d) <- a^-1. */
static inline void simulation_invert(size_t d, double *a, double *inverse) {
  for (size_t i = 0; i < d * d; i++) {
    inverse[i] = i / d == i % d;
  }
  for (size_t k = 0; k < d; k++) { /* positive definite: no pivoting */
    double pivot = a[k * d + k];
    for (size_t j = 0; j < d; j++) {
      a[k * d + j] /= pivot;
      inverse[k * d + j] /= pivot;
    }
    for (size_t i = 0; i < d; i++) {
      double factor = a[i * d + k];
      for (size_t j = 0; j < d && i != k; j++) {
        a[i * d + j] -= factor * a[k * d + j];
        inverse[i * d + j] -= factor * inverse[k * d + j];
      }
    }
  }
}

/* Non-private mode and standard deviations by Newton's method. */
static inline void simulation_reference(const simulation_t *s, const double *data, simulation_fit_t *fit) {
  size_t d = s->d;
  double *hessian = malloc(2 * d * d * sizeof *hessian), *inverse = hessian + d * d;
  double *theta = fit->reference_mean, precision = 1 / (simulation_prior_sd(s) * simulation_prior_sd(s));
  bool is_gaussian = s->family == TACIT_FAMILY_GAUSSIAN;
  double sigma = is_gaussian ? fit->theta[d] : 0; /* known, as good as */
  memset(theta, 0, d * sizeof *theta);
  double moved = 1;
  for (int iteration = 0; iteration < 30 && moved > 1e-9; iteration++) {
    double grad[SIMULATION_MAX_DIM];
    moved = 0;
    for (size_t i = 0; i < d * d; i++) {
      hessian[i] = i / d == i % d ? precision : 0;
    }
    for (size_t j = 0; j < d; j++) {
      grad[j] = -theta[j] * precision;
    }
    for (size_t i = 0; i < s->n; i++) {
      const double *x = data + i * (d + 1);
      double eta = 0;
      for (size_t j = 0; j < d; j++) {
        eta += theta[j] * x[j];
      }
      tacit_family_moments_t m = {.mean = eta, .slope = 1};
      if (!is_gaussian) {
        m = tacit_family_moments(s->family, s->upper, eta);
      }
      double weight = is_gaussian ? 1 / (sigma * sigma) : 1;
      for (size_t j = 0; j < d; j++) {
        grad[j] += weight * x[j] * (x[d] - m.mean);
        for (size_t l = 0; l < d; l++) {
          hessian[j * d + l] += weight * m.slope * x[j] * x[l];
        }
      }
    }
    simulation_invert(d, hessian, inverse);
    for (size_t j = 0; j < d; j++) {
      double move = 0;
      for (size_t l = 0; l < d; l++) {
        move += inverse[j * d + l] * grad[l];
      }
      theta[j] += simulation_clamp(move, -1, 1);
      moved = fmax(moved, fabs(move));
    }
  }
  for (size_t j = 0; j < d; j++) {
    fit->reference_sd[j] = sqrt(inverse[j * d + j]);
  }
  if (is_gaussian) {
    double square = 0;
    for (size_t i = 0; i < s->n; i++) {
      double residual = data[i * (d + 1) + d];
      for (size_t j = 0; j < d; j++) {
        residual -= theta[j] * data[i * (d + 1) + j];
      }
      square += residual * residual;
    }
    theta[d] = sqrt(square / (double)s->n);
    fit->reference_sd[d] = sigma / sqrt(2 * (double)s->n);
  }
  free(hessian);
}

static inline void simulation_summarise(const tacit_draws_t *draws, simulation_fit_t *fit) {
  double n = (double)(draws->n_chains * draws->n_draws);
  for (size_t j = 0; j < fit->d; j++) {
    double sum = 0, square = 0, below = 0;
    for (size_t c = 0; c < draws->n_chains; c++) {
      for (size_t i = 0; i < draws->n_draws; i++) {
        double value = tacit_draws_row(draws, c, draws->n_warmup + i)[j];
        sum += value;
        square += value * value;
        below += value < fit->theta[j];
      }
    }
    fit->mean[j] = sum / n;
    fit->sd[j] = sqrt(fmax(square / n - fit->mean[j] * fit->mean[j], 0));
    fit->share_below[j] = below / n;
  }
}

/*
 * Fit records, which it takes, of n_units units of at most max_rows rows; key and seed as simulation_run()
 * has them. evidence may be NULL.
 */
static inline void simulation_fit_records(const simulation_t *s, tacit_records_t *records, size_t n_units,
                                          size_t max_rows, const unsigned char key[32], uint64_t seed,
                                          tacit_evidence_t *evidence, simulation_fit_t *fit) {
  tacit_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  tacit_draws_t draws;
  tacit_curator_settings_t limits = tacit_curator_settings_default();
  limits.max_unit_rows = max_rows;
  simulation_model(s, &model);
  simulation_must(tacit_budget_new(&budget, s->epsilon, s->delta, s->relation, &simulation_error));
  simulation_must(tacit_noise_new_seeded_not_private(&noise, seed, &simulation_error));
  simulation_must(
      tacit_curator_new(&curator, records, &model.records, budget, noise, &limits, &simulation_error));
  bool is_two_valued[SIMULATION_MAX_DIM];
  for (size_t j = 0; j < s->d; j++) {
    is_two_valued[j] = simulation_is_indicator(j);
  }
  tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
  settings.family = s->family;
  settings.upper = s->upper;
  settings.relation = s->relation;
  settings.max_rows = max_rows;
  settings.n_units = (double)n_units;
  settings.n_features = s->d;
  settings.may_drop = s->n_left_out > 0;
  settings.is_two_valued = is_two_valued;
  settings.rho = tacit_budget_rho(budget) * (1 - 1e-9);
  settings.n_chains = s->n_chains;
  settings.n_warmup = s->n_warmup;
  settings.n_draws = s->n_draws;
  settings.evidence = evidence;
  memcpy(settings.key, key, sizeof settings.key);
  clock_t before = clock();
  TACIT_PLANT(s->fault);
  simulation_must(tacit_noise_aware_fit(curator, &model.parameters, &settings, &draws, &simulation_error));
  TACIT_PLANT(TACIT_FAULT_NONE);
  fit->seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
  simulation_summarise(&draws, fit);
  tacit_draws_clear(&draws);
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
  tacit_model_clear(&model);
}

/* Simulate and fit; repeats for a seed. evidence may be NULL. */
static inline void simulation_run_checked(const simulation_t *s, uint64_t seed, tacit_evidence_t *evidence,
                                          simulation_fit_t *fit) {
  unsigned char key[32];
  tacit_rng_t *rng;
  double *data = malloc(s->n * (s->d + 1) * sizeof *data);
  *fit = (simulation_fit_t){.d = s->d + (s->family == TACIT_FAMILY_GAUSSIAN)};
  tacit_rng_key_from_seed(key, seed);
  simulation_must(tacit_rng_new(&rng, key, 1 << 20, &simulation_error));
  simulation_truth(s, rng, fit->theta);
  simulation_data(s, fit->theta, rng, data);
  if (s->has_reference) {
    simulation_reference(s, data, fit);
  }
  tacit_records_t *records = simulation_pack(data, s->n, s->n_left_out, s->d + 1);
  for (size_t i = 0; i < s->n_left_out; i++) {
    tacit_records_leave_out(records, s->n + i);
  }
  simulation_fit_records(s, records, s->n + s->n_left_out, 1, key, seed, evidence, fit);
  tacit_rng_free(rng);
  free(data);
}

static inline void simulation_run(const simulation_t *s, uint64_t seed, simulation_fit_t *fit) {
  simulation_run_checked(s, seed, NULL, fit);
}

#endif
