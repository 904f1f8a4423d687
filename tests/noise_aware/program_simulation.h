/* Simulated data of two programs, fitted by centred scores and without noise; for a test and for
 * measurements. */
#ifndef PROGRAM_SIMULATION_H
#define PROGRAM_SIMULATION_H

#include "../program/program_testing.h"
#include "base/fault.h"
#include "curator/curator.h"
#include "data/records.h"
#include "noise_aware/noise_aware.h"
#include "program/language.h"
#include "program/program.h"
#include "tacit/account.h"
#include "tacit/random.h"

enum { PROGRAM_D = 5 };

static const char program_negbin[] = "data { vector<lower=-1, upper=1>[3] x; int<lower=0, upper=60> y; }\n"
                                     "parameters { real a; vector[3] b; real<lower=0> phi; }\n"
                                     "model { a ~ normal(0, 2.5); b ~ normal(0, 2.5); phi ~ lognormal(0, 1); "
                                     "y ~ neg_binomial_2_log(a + dot_product(x, b), phi); }\n";
static const char program_weibull[] =
    "data { vector<lower=-1, upper=1>[3] x; real<lower=0.001, upper=2> y; int<lower=0, upper=1> seen; }\n"
    "parameters { real a; vector[3] b; real<lower=0> k; }\n"
    "model { a ~ normal(0, 2.5); b ~ normal(0, 2.5); k ~ lognormal(0, 1); censored_right(y, seen) ~ "
    "weibull(k, exp(a + dot_product(x, b))); }\n";
static const char program_student[] =
    "data { vector<lower=-1, upper=1>[2] x; real<lower=-1, upper=1> y; }\n"
    "parameters { real a; vector[2] b; real<lower=0> sigma; real<lower=1> nu; }\n"
    "model { a ~ normal(0, 2.5); b ~ normal(0, 2.5); sigma ~ student_t(3, 0, 0.25); nu ~ gamma(2, 0.1); y ~ "
    "student_t(nu, a + dot_product(x, b), "
    "sigma); }\n";

typedef struct program_setup {
  bool is_weibull, is_student;
  bool has_other_tails; /* times are lognormal, fitted as Weibull ones */
  size_t n, n_draws, n_chains;
  double epsilon, delta;
  tacit_relation_t relation;
  tacit_fault_t fault;   /* while the fit is made */
  bool is_to_be_refused; /* for its budget, and nothing is charged */
  size_t max_rows;    /* 0: records are units; else n is of persons, who have 1 to this many rows, evenly; the
                         first two features are the person's */
  bool is_foretold;   /* foretold_bend is looked for */
  bool forgets_units; /* persons' rows are taken for units */
  double share;       /* of persons: the share of a row's normal score that is the person's own effect */
} program_setup_t;

typedef struct program_result {
  double theta[PROGRAM_D], mean[PROGRAM_D], sd[PROGRAM_D],
      share_below[PROGRAM_D];                        /* share of draws below the truth */
  double plain_mean[PROGRAM_D], plain_sd[PROGRAM_D]; /* without noise */
  double last_step, bend, foretold_bend;
  double prior_sd[PROGRAM_D], prior_share[PROGRAM_D];
  bool is_flagged;
  tacit_evidence_t evidence;
} program_result_t;

static inline void program_ok(tacit_status_t status, const tacit_error_t *err) {
  if (status != TACIT_OK) {
    fail_msg("%s", err->message);
  }
}

static inline double program_normal(uint64_t *seed) {
  return sqrt(-2 * log(uniform(seed) + 1e-300)) * cos(6.283185307179586 * uniform(seed));
}

static inline double program_gamma(uint64_t *seed, double shape) {
  double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (;;) {
    double z = program_normal(seed), v = pow(1 + c * z, 3);
    if (v > 0 && log(uniform(seed)) < 0.5 * z * z + d - d * v + d * log(v)) {
      return d * v * (shape < 1 ? pow(uniform(seed), 1 / shape) : 1);
    }
  }
}

static inline double program_poisson(uint64_t *seed, double mean) {
  double k = -1;
  for (double sum = 0; sum < mean; k++) {
    sum -= log(1 - uniform(seed));
  }
  return fmax(k, 0);
}

/* The truth is near the middle of the prior; features are skewed, narrow, and two-valued. */
static inline void program_truth(const program_setup_t *s, uint64_t *seed, double *theta) {
  theta[0] = s->is_weibull ? 0.3 * program_normal(seed) : 0.7 + 0.5 * program_normal(seed);
  for (size_t j = 1; j < 4; j++) {
    theta[j] = 0.5 * program_normal(seed);
  }
  theta[4] = 0.3 + (s->is_weibull ? 0.25 : 0.4) * program_normal(seed);
  if (s->is_student) { /* log sigma, log(nu - 1) */
    theta[0] *= 0.1;
    theta[1] *= 0.1;
    theta[2] *= 0.1;
    theta[3] = log(0.1);
    theta[4] = log(3);
  }
}

/* The count whose negative binomial distribution function reaches u. */
static inline double program_count(double mean, double shape, double u) {
  double p = pow(shape / (shape + mean), shape), sum = p, k = 0;
  for (; sum < u && k < 200; k++, p *= (k - 1 + shape) / k * mean / (shape + mean), sum += p) {
  }
  return k;
}

/* A parameter as it is sampled. */
static inline double program_free(const program_setup_t *s, size_t j, double x) {
  return j + 1 == PROGRAM_D ? log(s->is_student ? x - 1 : x) : s->is_student && j == 3 ? log(x) : x;
}

/*
 * x1, x2, x3, y, seen; of persons' rows x1, x2 are there, and the response is the quantile at the row's
 * normal score: its distribution is the program's, whatever the rows share.
 */
static inline void program_record(const program_setup_t *s, const double *theta, const double *effect,
                                  uint64_t *seed, double *x) {
  if (effect == NULL) {
    x[0] = fmin(fmax(0.2 + 0.3 * program_normal(seed), -1), 1);
    x[1] = uniform(seed) < 0.3 ? 1 : -1;
  }
  x[2] = fmin(fmax(-0.3 + 0.4 * program_normal(seed), -1), 1);
  if (s->is_student) {
    double nu = 1 + exp(theta[4]),
           y = theta[0] + theta[1] * x[0] + theta[2] * x[1] +
               exp(theta[3]) * program_normal(seed) / sqrt(program_gamma(seed, 0.5 * nu) / (0.5 * nu));
    x[3] = fmin(fmax(y, -1), 1);
    return;
  }
  double mean = exp(theta[0] + theta[1] * x[0] + theta[2] * x[1] + theta[3] * x[2]), shape = exp(theta[4]);
  double above =
      effect != NULL
          ? 0.5 * erfc((sqrt(s->share) * *effect + sqrt(1 - s->share) * program_normal(seed)) * sqrt(0.5))
          : 0;
  double y = s->has_other_tails ? mean * exp(0.8 * program_normal(seed) - 0.4)
             : s->is_weibull    ? mean * pow(-log(effect != NULL ? above : 1 - uniform(seed)), 1 / shape)
             : effect != NULL   ? program_count(mean, shape, 1 - above)
                                : program_poisson(seed, mean / shape * program_gamma(seed, shape));
  x[4] = y < 2;
  x[3] = fmin(y, s->is_weibull ? 2 : 60);
}

/* Rows (n rows, 5) of everybody, offsets (n + 1); free both. Returns the number of rows. */
static inline size_t program_rows(const program_setup_t *s, const double *theta, uint64_t *seed,
                                  double **rows, size_t **offsets) {
  size_t n = 0, most = s->max_rows > 0 ? s->max_rows : 1;
  *rows = malloc(s->n * most * 5 * sizeof **rows);
  *offsets = malloc((s->n + 1) * sizeof **offsets);
  for (size_t i = 0; i < s->n; i++) {
    size_t k = s->max_rows > 0 ? 1 + (size_t)(uniform(seed) * (double)s->max_rows) : 1;
    double own[2] = {0}, effect = 0;
    if (s->max_rows > 0) {
      effect = program_normal(seed);
      own[0] = fmin(fmax(0.2 + 0.3 * program_normal(seed), -1), 1);
      own[1] = uniform(seed) < 0.3 ? 1 : -1;
    }
    (*offsets)[i] = n;
    for (size_t t = 0; t < k; t++, n++) {
      double *x = *rows + 5 * n;
      memcpy(x, own, sizeof own);
      program_record(s, theta, s->max_rows > 0 ? &effect : NULL, seed, x);
    }
  }
  (*offsets)[s->n] = n;
  return n;
}

/* with_units: rows are persons', else units of their own. */
static inline tacit_records_t *program_records(const tacit_compiled_t *p, const program_setup_t *s,
                                               const double *theta, bool with_units, uint64_t *seed) {
  tacit_error_t err;
  tacit_records_t *records;
  size_t n_raw = p->graph->n_columns, n_columns = p->layout.n_columns, *offsets, n;
  double *rows, row[32];
  static const char *const names[] = {"x.1", "x.2", "x.3", "y", "seen"};
  n = program_rows(s, theta, seed, &rows, &offsets);
  double *raw = malloc(n_raw * n * sizeof *raw), *packed = malloc(n_columns * n * sizeof *packed);
  for (size_t i = 0; i < n * n_raw; i++) {
    for (size_t j = 0; j < 5; j++) {
      if (strcmp(p->graph->columns[i / n].source, names[j]) == 0) {
        raw[i] = rows[5 * (i % n) + j];
      }
    }
  }
  tacit_compiled_derive(p, n, raw, packed);
  program_ok(tacit_records_new(&records, n, n_columns, &err), &err);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n_columns; j++) {
      row[j] = packed[j * n + i];
    }
    tacit_records_set(records, i, row);
  }
  if (with_units && s->max_rows > 0) {
    program_ok(tacit_records_set_units(records, offsets, s->n, &err), &err);
  }
  free(raw);
  free(packed);
  free(rows);
  free(offsets);
  return records;
}

/* ---- without noise: Newton's steps from the truth, and the curvature there ---- */

static inline void program_gradient(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                    const double *theta, double *grad) {
  tacit_error_t err;
  double prior[PROGRAM_D];
  program_ok(tacit_curator_release_gradient(curator, 1, theta, 0, grad, &err), &err);
  (void)parameters->log_prior(parameters->ctx, theta, prior);
  for (size_t j = 0; j < PROGRAM_D; j++) {
    grad[j] += prior[j];
  }
}

/* a (d, d) x = b by elimination; b becomes x, inverse's diagonal is wanted too: columns of b are n. */
static inline void program_solve(double *a, double *b, size_t n) {
  for (size_t k = 0; k < PROGRAM_D; k++) {
    double pivot = a[k * PROGRAM_D + k];
    for (size_t i = 0; i < PROGRAM_D; i++) {
      double factor = i != k ? a[i * PROGRAM_D + k] / pivot : 0;
      for (size_t j = 0; j < PROGRAM_D; j++) {
        a[i * PROGRAM_D + j] -= factor * a[k * PROGRAM_D + j];
      }
      for (size_t j = 0; j < n; j++) {
        b[i * n + j] -= factor * b[k * n + j];
      }
    }
  }
  for (size_t i = 0; i < PROGRAM_D * n; i++) {
    b[i] /= a[i / n * PROGRAM_D + i / n];
  }
}

static inline void program_plain(const tacit_model_t *model, tacit_records_t *records,
                                 program_result_t *result) {
  enum { D = PROGRAM_D };
  tacit_error_t err;
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  double theta[D], hessian[D * D], right[D * (D + 1)], high[D], low[D];
  const double h = 1e-3;
  program_ok(tacit_curator_new_exposed(&curator, records, &model->records, &settings, &err), &err);
  memcpy(theta, result->theta, sizeof theta);
  for (int round = 0; round < 6; round++) {
    memset(right, 0, sizeof right);
    for (size_t j = 0; j < D; j++) {
      double at = theta[j];
      theta[j] = at + h;
      program_gradient(curator, &model->parameters, theta, high);
      theta[j] = at - h;
      program_gradient(curator, &model->parameters, theta, low);
      theta[j] = at;
      for (size_t i = 0; i < D; i++) {
        hessian[i * D + j] = (low[i] - high[i]) / (2 * h);
      }
      right[j * (D + 1) + j] = 1;
    }
    program_gradient(curator, &model->parameters, theta, high);
    for (size_t j = 0; j < D; j++) {
      right[j * (D + 1) + D] = high[j];
    }
    program_solve(hessian, right, D + 1);
    for (size_t j = 0; j < D; j++) {
      theta[j] += right[j * (D + 1) + D];
      result->plain_sd[j] = sqrt(right[j * (D + 1) + j]);
      result->plain_mean[j] = theta[j];
    }
  }
  tacit_curator_free(curator);
}

/* ---- with it ---- */

static inline void program_fit(const program_setup_t *s, uint64_t seed, program_result_t *result) {
  tacit_error_t err = {0};
  tacit_program_t *program;
  tacit_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  tacit_draws_t draws;
  tacit_evidence_t evidence = {0};
  const char *text = s->is_student ? program_student : s->is_weibull ? program_weibull : program_negbin;
  tacit_program_settings_t program_settings = {
      .records = "", .keeps_responses = true, .is_followed_to_bound = true};
  uint64_t data_seed = seed * 1000003;
  program_ok(tacit_program_parse(&program, text, strlen(text), &program_settings, &err), &err);
  program_ok(tacit_program_compile(program, &model, &err), &err);
  program_truth(s, &data_seed, result->theta);
  uint64_t again = data_seed;
  program_plain(&model, program_records(program->compiled, s, result->theta, false, &again), result);
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.max_unit_rows = s->max_rows > 0 && !s->forgets_units ? s->max_rows : 1;
  program_ok(tacit_budget_new(&budget, s->epsilon, s->delta, s->relation, &err), &err);
  program_ok(tacit_noise_new_seeded_not_private(&noise, seed, &err), &err);
  program_ok(
      tacit_curator_new(&curator,
                        program_records(program->compiled, s, result->theta, !s->forgets_units, &data_seed),
                        &model.records, budget, noise, &settings, &err),
      &err);
  tacit_noise_aware_settings_t aware = tacit_noise_aware_settings_default();
  aware.records = &model.records;
  aware.relation = s->relation;
  aware.n_units = (double)s->n;
  aware.max_rows = s->forgets_units ? 0 : s->max_rows;
  aware.rho = tacit_budget_rho(budget) * (1 - 1e-9);
  aware.n_chains = s->n_chains;
  aware.n_warmup = 200;
  aware.n_draws = s->n_draws;
  aware.evidence = &evidence;
  program_ok(tacit_noise_aware_measure(&aware, &model.parameters, &err), &err);
  if (s->is_foretold) {
    program_ok(tacit_noise_aware_bend(&aware, &model.parameters, aware.n_units, &result->foretold_bend, &err),
               &err);
  }
  if (s->is_to_be_refused) {
    size_t n_charged;
    assert_int_equal(tacit_noise_aware_fit(curator, &model.parameters, &aware, &draws, &err),
                     TACIT_ERR_BUDGET);
    (void)tacit_budget_events(budget, &n_charged);
    assert_int_equal(n_charged, 0);
    goto done;
  }
  TACIT_PLANT(s->fault);
  program_ok(tacit_noise_aware_fit(curator, &model.parameters, &aware, &draws, &err), &err);
  TACIT_PLANT(TACIT_FAULT_NONE);
  /* what was charged is what was said beforehand, and the budget */
  tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS];
  size_t n_charged, n_said = 0;
  const tacit_event_t *charged = tacit_budget_events(budget, &n_charged);
  for (size_t i = n_charged, n = n_charged = 0; n < i; n++) {
    n_charged += (size_t)charged[n].count;
  }
  for (size_t i = 0, n = tacit_noise_aware_events(&aware, events); i < n; i++) {
    n_said += (size_t)events[i].count;
  }
  assert_int_equal(n_charged, n_said);
  assert_true(tacit_budget_spent(budget).epsilon <= s->epsilon &&
              tacit_budget_spent(budget).epsilon > 0.999 * s->epsilon);
  for (size_t j = 0; j < PROGRAM_D; j++) {
    double sum = 0, square = 0, below = 0, n = (double)(draws.n_chains * draws.n_draws);
    for (size_t i = 0; i < draws.n_chains * draws.n_draws; i++) {
      double x = tacit_draws_row(&draws, i / draws.n_draws, draws.n_warmup + i % draws.n_draws)[j];
      x = program_free(s, j, x);
      sum += x;
      square += x * x;
      below += x < result->theta[j];
    }
    result->mean[j] = sum / n;
    result->sd[j] = sqrt((square - sum * sum / n) / (n - 1));
    result->share_below[j] = below / n;
  }
  result->evidence = evidence;
  result->is_flagged = tacit_checks_forbid_intervals(&evidence.checks);
  memcpy(result->prior_sd, evidence.prior_sd, sizeof result->prior_sd);
  memcpy(result->prior_share, evidence.prior_share, sizeof result->prior_share);
  for (size_t i = 0; i < evidence.checks.n; i++) {
    result->last_step = evidence.checks.items[i].id == TACIT_CHECK_LAST_STEP
                            ? evidence.checks.items[i].statistic
                            : result->last_step;
    result->bend =
        evidence.checks.items[i].id == TACIT_CHECK_BENT ? evidence.checks.items[i].statistic : result->bend;
  }
done:
  tacit_draws_clear(&draws);
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
  tacit_program_free(program);
}

#endif
