/*
 * Persons of 1 to K rows whose responses hang together, for the tests of units of several rows and for
 * experiments/person_rounds.c. Given a person's own effect rows are independent; averaged over it they follow
 * the regression exactly, so that its coefficients are the truth:
 *
 * - bernoulli: the effect has the bridge distribution, sd pi sqrt((phi^-2 - 1) / 3), and coefficients given
 * it are 1 / phi times those of the margin [Wang2003];
 * - poisson: the rate's factor is gamma of mean 1;
 * - gaussian: the effect is normal, of 1 - phi of the residuals' variance.
 */
#ifndef TACIT_NOISE_AWARE_PERSON_SIMULATION_H
#define TACIT_NOISE_AWARE_PERSON_SIMULATION_H

#include "noise_aware/simulation.h"

typedef struct person_setup {
  simulation_t s;        /* s.n: persons */
  size_t max_rows;       /* numbers of rows are even from 1 to this */
  double phi;            /* in (0, 1], 1: rows are independent; poisson: the gamma's variance is 1/phi - 1 */
  bool is_row_by_x;      /* who has more of the first feature has more rows */
  bool is_row_by_effect; /* who has a larger effect of its own has more rows: they tell of responses */
  double plain_mean[SIMULATION_MAX_DIM],
      plain_sd[SIMULATION_MAX_DIM]; /* of the last run without noise: generalised estimating equations */
} person_setup_t;

/* Gamma of mean 1 and this variance, at most 1: Marsaglia and Tsang's method. */
static inline double person_gamma(double variance, tacit_rng_t *rng) {
  double shape = 1 / variance, d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (;;) {
    double z = tacit_rng_normal(rng), v = pow(1 + c * z, 3), u = tacit_rng_uniform(rng);
    if (v > 0 && log(u) < 0.5 * z * z + d - d * v + d * log(v)) {
      return d * v / shape;
    }
  }
}

static inline size_t person_n_rows(const person_setup_t *p, double x, double effect, tacit_rng_t *rng) {
  double u = tacit_rng_uniform(rng), by = p->is_row_by_effect ? 0.25 * effect : x,
         at = p->is_row_by_x || p->is_row_by_effect ? 0.5 * u + 0.5 * fmin(fmax(0.5 + by, 0), 0.999) : u;
  return 1 + (size_t)(at * (double)p->max_rows);
}

/* data (rows, d + 1), offsets (n + 1): features 1 and 2 are the person's, the others the row's. */
static inline size_t person_data(const person_setup_t *p, const double *theta, tacit_rng_t *rng, double *data,
                                 size_t *offsets) {
  const simulation_t *s = &p->s;
  size_t d = s->d, at = 0;
  bool is_bernoulli = s->family == TACIT_FAMILY_BERNOULLI, is_gaussian = s->family == TACIT_FAMILY_GAUSSIAN;
  double sigma = is_gaussian ? theta[d] : 0;
  for (size_t i = 0; i < s->n; i++) {
    double own[SIMULATION_MAX_DIM], common = sqrt(0.3) * tacit_rng_normal(rng), effect = 0;
    for (size_t j = 1; j < d; j++) {
      own[j] = (double)(float)simulation_feature(j, common + sqrt(0.7) * tacit_rng_normal(rng));
    }
    if (p->phi < 1 && is_bernoulli) {
      double turn = 3.14159265358979 * p->phi, u = tacit_rng_uniform(rng);
      effect = log(sin(turn * u) / sin(turn * (1 - u))) / p->phi;
    } else if (p->phi < 1 && is_gaussian) {
      effect = sigma * sqrt(1 - p->phi) * tacit_rng_normal(rng);
    } else if (p->phi < 1) {
      effect = log(person_gamma(1 / p->phi - 1, rng));
    }
    size_t k = person_n_rows(p, own[1], is_gaussian ? effect / sigma : effect, rng);
    offsets[i] = at;
    for (size_t t = 0; t < k; t++, at++) {
      double *x = data + at * (d + 1), eta = theta[0], row_common = sqrt(0.3) * tacit_rng_normal(rng);
      x[0] = 1;
      for (size_t j = 1; j < d; j++) {
        x[j] = j <= 2 ? own[j]
                      : (double)(float)simulation_feature(j, row_common + sqrt(0.7) * tacit_rng_normal(rng));
        eta += theta[j] * x[j];
      }
      x[d] = simulation_response(s, is_bernoulli ? eta / p->phi + effect : eta + effect, sigma * sqrt(p->phi),
                                 rng);
    }
  }
  offsets[s->n] = at;
  return at;
}

/* score (d), meat and bread (d, d) <- at theta, every person counting once: means over its rows, with the
 * prior; a gaussian's times its variance, which is known. */
static inline void person_equations(const person_setup_t *p, const double *data, const size_t *offsets,
                                    double variance, const double *theta, double *score, double *meat,
                                    double *bread) {
  const simulation_t *s = &p->s;
  size_t d = s->d;
  double prior = variance / (simulation_prior_sd(s) * simulation_prior_sd(s));
  for (size_t i = 0; i < d * d; i++) {
    bread[i] = i / d == i % d ? prior : 0;
    meat[i] = 0;
    score[i / d] = -prior * theta[i / d];
  }
  for (size_t i = 0; i < s->n; i++) {
    double own[SIMULATION_MAX_DIM] = {0}, k = (double)(offsets[i + 1] - offsets[i]);
    for (size_t t = offsets[i]; t < offsets[i + 1]; t++) {
      const double *x = data + t * (d + 1);
      double eta = 0;
      for (size_t j = 0; j < d; j++) {
        eta += theta[j] * x[j];
      }
      tacit_family_moments_t m = {.mean = eta, .slope = 1};
      if (s->family != TACIT_FAMILY_GAUSSIAN) {
        m = tacit_family_moments(s->family, s->upper, eta);
      }
      for (size_t j = 0; j < d; j++) {
        own[j] += x[j] * (x[d] - m.mean) / k;
        for (size_t l = 0; l < d; l++) {
          bread[j * d + l] += m.slope * x[j] * x[l] / k;
        }
      }
    }
    for (size_t a = 0; a < d * d; a++) {
      meat[a] += own[a / d] * own[a % d];
    }
    for (size_t j = 0; j < d; j++) {
      score[j] += own[j];
    }
  }
}

/* Estimating equations for independent rows, every person counting once; sandwich by persons [Liang1986]. */
static inline void person_plain(person_setup_t *p, const double *data, const size_t *offsets,
                                const double *truth) {
  size_t d = p->s.d;
  double score[SIMULATION_MAX_DIM], meat[SIMULATION_MAX_DIM * SIMULATION_MAX_DIM],
      bread[SIMULATION_MAX_DIM * SIMULATION_MAX_DIM], inverse[SIMULATION_MAX_DIM * SIMULATION_MAX_DIM];
  double variance = p->s.family == TACIT_FAMILY_GAUSSIAN ? truth[d] * truth[d] : 1;
  memset(p->plain_mean, 0, sizeof p->plain_mean);
  for (int n = 0; n < 20; n++) {
    person_equations(p, data, offsets, variance, p->plain_mean, score, meat, bread);
    simulation_invert(d, bread, inverse);
    for (size_t j = 0; j < d && n < 19; j++) {
      for (size_t l = 0; l < d; l++) {
        p->plain_mean[j] += inverse[j * d + l] * score[l];
      }
    }
  }
  for (size_t j = 0; j < d; j++) {
    double square = 0;
    for (size_t a = 0; a < d * d; a++) {
      square += inverse[j * d + a / d] * meat[a] * inverse[j * d + a % d];
    }
    p->plain_sd[j] = sqrt(square);
  }
}

/* Simulate and fit; repeats for a seed. evidence may be NULL. */
static inline void person_run(person_setup_t *p, uint64_t seed, simulation_fit_t *fit,
                              tacit_evidence_t *evidence) {
  const simulation_t *s = &p->s;
  unsigned char key[32];
  tacit_rng_t *rng;
  tacit_error_t *err = &simulation_error;
  double *data = malloc(s->n * p->max_rows * (s->d + 1) * sizeof *data);
  size_t *offsets = malloc((s->n + 1) * sizeof *offsets);
  *fit = (simulation_fit_t){.d = s->d + (s->family == TACIT_FAMILY_GAUSSIAN)};
  tacit_rng_key_from_seed(key, seed);
  simulation_must(tacit_rng_new(&rng, key, 1 << 20, err));
  simulation_truth(s, rng, fit->theta);
  size_t n_rows = person_data(p, fit->theta, rng, data, offsets);
  person_plain(p, data, offsets, fit->theta);
  tacit_records_t *records = simulation_pack(data, n_rows, 0, s->d + 1);
  simulation_must(tacit_records_set_units(records, offsets, s->n, err));
  simulation_fit_records(s, records, s->n, p->max_rows, key, seed, evidence, fit);
  tacit_rng_free(rng);
  free(offsets);
  free(data);
}

#endif
