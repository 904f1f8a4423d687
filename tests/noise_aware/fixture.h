/* What tests of the parts of noise-aware regression start from: a surrogate, rounds and a posterior from
 * simulated data. */
#ifndef TACIT_NOISE_AWARE_FIXTURE_H
#define TACIT_NOISE_AWARE_FIXTURE_H

#include "noise_aware/noise_aware_internal.h"
#include "noise_aware/schedule.h"
#include "noise_aware/simulation.h"
#include "testing.h"

static inline tacit_rng_t *generator(uint64_t seed) {
  unsigned char key[32];
  tacit_error_t err;
  tacit_rng_t *rng;
  tacit_rng_key_from_seed(key, seed);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  return rng;
}

/* A surrogate, process and posterior from simulated data, kept for a test. */
typedef struct fixture {
  simulation_t s;
  tacit_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  tacit_noise_aware_settings_t settings;
  tacit_surrogate_t surrogate;
  tacit_rounds_t rounds;
  tacit_aware_posterior_t posterior;
  tacit_rng_t *rng;
} fixture_t;

static const bool two_valued[TACIT_NOISE_AWARE_MAX_NARROW] = {
    [2] = true, [6] = true, [10] = true, [14] = true, [18] = true};
static bool fixture_is_wide; /* of the fixtures to come: surrogates as of many features */

/* Of the fixtures to come: relative error of the number of records; rows of units, whatever the records are,
 * of which each is one. */
static double count_error;
static const tacit_unit_rows_t one_row = {.n = 1, .rows = {1}, .share = {1}};
static const tacit_unit_rows_t several_rows = {.n = 3, .rows = {1, 3, 7.5}, .share = {0.5, 0.2, 0.3}};
static const tacit_unit_rows_t *fixture_rows = &one_row;
static double fixture_truth[SIMULATION_MAX_DIM]; /* of the last fixture */
static bool fixture_varies_more;                 /* counts of mean m have variance m + m^2 / 2 */

static inline void open_fixture(fixture_t *f, tacit_family_t family, double upper, size_t d, double epsilon) {
  tacit_error_t err;
  double theta[SIMULATION_MAX_DIM];
  f->s = (simulation_t){.family = family,
                        .upper = upper,
                        .truth = TRUTH_FIXED,
                        .d = d,
                        .n = 2000,
                        .epsilon = epsilon,
                        .delta = 1e-6};
  f->rng = generator(4);
  double *data = malloc(f->s.n * (d + 1) * sizeof *data);
  simulation_truth(&f->s, f->rng, theta);
  simulation_data(&f->s, theta, f->rng, data);
  memcpy(fixture_truth, theta, sizeof theta);
  for (size_t i = 0; fixture_varies_more && i < f->s.n; i++) {
    double *x = data + i * (d + 1), gamma = -0.5 * log(tacit_rng_uniform(f->rng) * tacit_rng_uniform(f->rng));
    x[d] = simulation_response(&f->s, tacit_dot(d, x, theta) + log(gamma), 0, f->rng);
  }
  tacit_records_t *records = simulation_pack(data, f->s.n, 0, d + 1);
  free(data);
  simulation_model(&f->s, &f->model);
  assert_ok(tacit_budget_new(&f->budget, epsilon, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(tacit_noise_new_seeded_not_private(&f->noise, 5, &err), err);
  assert_ok(tacit_curator_new(&f->curator, records, &f->model.records, f->budget, f->noise, NULL, &err), err);
  f->settings = tacit_noise_aware_settings_default();
  f->settings.family = family;
  f->settings.upper = upper;
  f->settings.is_two_valued = two_valued;
  f->settings.rho = tacit_budget_rho(f->budget) * (1 - 1e-9);
  assert_ok(tacit_surrogate_init(&f->surrogate, f->curator, &f->settings,
                                 (tacit_aware_count_t){(double)f->s.n, count_error}, fixture_is_wide, f->rng,
                                 &err),
            err);
  assert_ok(tacit_rounds_init(&f->rounds, &f->surrogate, (tacit_aware_count_t){(double)f->s.n, count_error},
                              fixture_rows, &err),
            err);
  assert_ok(tacit_aware_posterior_init(&f->posterior, &f->rounds, &f->model.parameters, &f->settings, &err),
            err);
}

static inline void close_fixture(fixture_t *f) {
  tacit_aware_posterior_clear(&f->posterior);
  tacit_rounds_clear(&f->rounds);
  tacit_surrogate_clear(&f->surrogate);
  tacit_curator_free(f->curator);
  tacit_noise_free(f->noise);
  tacit_budget_free(f->budget);
  tacit_model_clear(&f->model);
  tacit_rng_free(f->rng);
}

/* Three rounds at points of a normal around 0, and the information before the last. */
static inline void release_rounds(fixture_t *f, size_t n_rounds) {
  tacit_error_t err;
  double theta[SIMULATION_MAX_DIM] = {0}, factor[SIMULATION_MAX_DIM * SIMULATION_MAX_DIM] = {0};
  size_t d = f->s.d;
  for (size_t i = 0; i < d; i++) {
    factor[i * d + i] = 0.2;
  }
  tacit_round_place_t place = {.curator = f->curator,
                               .settings = &f->settings,
                               .parameters = &f->model.parameters,
                               .rng = f->rng,
                               .theta = theta};
  for (size_t j = 0; j < n_rounds; j++) {
    if (j == 2) {
      place.share = share_information;
      assert_ok(tacit_rounds_learn_information(&f->rounds, &place, &err), err);
    }
    place.share = share_score[j];
    assert_ok(tacit_rounds_release(&f->rounds, &place, &err), err);
    assert_true(f->rounds.n_rounds == j + 1 && f->rounds.radius[j] > 0 && f->rounds.noise_var[j] > 0);
    place.factor = factor;
    for (size_t i = 0; i < d; i++) {
      theta[i] = 0.5 * tacit_rng_normal(f->rng);
    }
  }
}

#endif
