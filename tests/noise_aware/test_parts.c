/* The parts of noise-aware regression against plain computations: population, process, density and gradient.
 */
#include <string.h>

#include "noise_aware/kernel.h"
#include "noise_aware/noise_aware_internal.h"
#include "noise_aware/schedule.h"
#include "noise_aware/fixture.h"

static double *draw_normals(size_t n, uint64_t seed) {
  double *normals = malloc(n * sizeof *normals);
  tacit_rng_t *rng = generator(seed);
  for (size_t i = 0; i < n; i++) {
    normals[i] = tacit_rng_normal(rng);
  }
  tacit_rng_free(rng);
  return normals;
}

/* Moments of 2^18 rows: standard errors of 0.002; the attenuation between two signs is only approximate. */
static void test_population_has_the_moments_asked_for(void **state) {
  (void)state;
  enum { p = 3, n = 1 << 18 };
  const bool is_two_valued[p] = {false, true, true};
  double mean[p] = {0.1, -0.4, 0.2}, sd[p] = {0.2, sqrt(1 - 0.16), sqrt(1 - 0.04)}, work[6 * p * p + 4 * p];
  double cov[p * p], correlation[p * p] = {1, 0.4, -0.3, 0.4, 1, 0.1, -0.3, 0.1, 1};
  for (size_t i = 0; i < p * p; i++) {
    cov[i] = correlation[i] * sd[i / p] * sd[i % p];
  }
  tacit_shape_t shape = {.p = p, .is_two_valued = is_two_valued, .mean = mean, .cov = cov};
  double *normals = draw_normals(n * p, 3), *rows = malloc(n * (p + 1) * sizeof *rows), second[16] = {0},
         want[16];
  tacit_population(&shape, n, normals, rows, work);
  for (size_t k = 0; k < n; k++) {
    const double *x = rows + k * (p + 1);
    assert_true(x[0] >= 1 && x[0] <= 1 && fabs(x[1]) <= 1 && fabs(x[2]) >= 1 && fabs(x[2]) <= 1);
    for (size_t i = 0; i < 16; i++) {
      second[i] += x[i / 4] * x[i % 4] / n;
    }
  }
  tacit_second_moments(&shape, want);
  for (size_t i = 0; i < 16; i++) {
    assert_close(second[i], want[i], i == 11 || i == 14 ? 0.03 : 0.012);
  }
  double found_mean[p], found_cov[p * p];
  tacit_shape_t found = {.p = p, .is_two_valued = is_two_valued, .mean = found_mean, .cov = found_cov};
  for (size_t i = 0; i < 16; i++) {
    want[i] *= 3; /* only proportions count */
  }
  tacit_shape_from(&found, want);
  for (size_t i = 0; i < p * p; i++) {
    assert_close(found_cov[i], cov[i], 1e-12);
    assert_close(found_mean[i % p], mean[i % p], 1e-12);
  }
  free(normals);
  free(rows);
}

/*
 * A factor of four levels, the last of which one row in 2000 has, a number that moves with them, and the
 * product of the number and the first level. Caught: levels that are signs by themselves (rows of two
 * levels), latent covariances without what levels before take away, products that are normal.
 */
static void test_rows_have_one_level_of_a_factor_and_products(void **state) {
  (void)state;
  enum { p = 5, n = 1 << 18, n_few = 512 };
  const bool is_two_valued[p] = {true, true, true, false, false};
  const tacit_feature_makeup_t makeup[p] = {{.factor = 1, .centre = 0.5, .half = 0.5},
                                            {.factor = 1, .centre = 0.5, .half = 0.5},
                                            {.factor = 1, .centre = 0.5, .half = 0.5},
                                            {.centre = 2, .half = 4},
                                            {.first = 1, .second = 4, .centre = 1, .half = 6}};
  const double share[3] = {0.5, 0.2, 0.0005}, at[4] = {0.1, -0.1, 0.3, -0.05}; /* of the number, by level */
  double mean[p] = {0}, cov[p * p] = {0}, second[p * p] = {0}, work[6 * p * p + 4 * p], own = 0;
  for (size_t l = 0; l < 4; l++) {
    double of = l < 3 ? share[l] : 0.2995, row[4] = {-1, -1, -1, at[l]};
    row[l < 3 ? l : 0] = l < 3 ? 1 : -1;
    for (size_t i = 0; i < 4; i++) {
      mean[i] += of * row[i];
      for (size_t j = 0; j < 4; j++) {
        second[i * p + j] += of * row[i] * row[j];
      }
    }
  }
  for (size_t i = 0; i < p * p; i++) {
    cov[i] = second[i] - mean[i / p] * mean[i % p] + (i == 18 ? 0.04 : 0) + (i == 24 ? 0.1 : 0);
  }
  tacit_shape_t shape = {p, is_two_valued, makeup, mean, cov, 3};
  double *normals = draw_normals(n * p, 4), *rows = malloc(n * (p + 1) * sizeof *rows), found[p] = {0},
         moved[3] = {0};
  tacit_population(&shape, n, normals, rows, work);
  for (size_t k = 0; k < n; k++) {
    const double *x = rows + k * (p + 1);
    assert_true((x[1] > 0) + (x[2] > 0) + (x[3] > 0) <= 1);
    assert_close(1 + 6 * x[5], (x[1] > 0) * (2 + 4 * x[4]), 1e-12);
    own += x[4] / n;
    for (size_t i = 0; i < 3; i++) {
      found[i] += (x[i + 1] > 0) / (double)n;
      moved[i] += (x[i + 1] - mean[i]) * x[4] / n;
    }
  }
  assert_close(own, mean[3], 0.003);
  for (size_t i = 0; i < 3; i++) {
    assert_close(found[i], share[i], 0.006 * sqrt(share[i]));
    assert_close(moved[i], cov[i * p + 3], 0.003);
  }
  tacit_population(&shape, n_few, normals, rows, work);
  size_t n_rare = 0;
  for (size_t k = 0; k < n_few; k++) {
    n_rare += rows[k * (p + 1) + 3] > 0;
  }
  assert_true(n_rare >= 3 && n_rare < 8);
  free(normals);
  free(rows);
}

static void test_surrogate_is_a_weighted_population_with_an_orthonormal_basis(void **state) {
  (void)state;
  fixture_t f;
  open_fixture(&f, TACIT_FAMILY_BERNOULLI, 1, 5, 1);
  const tacit_surrogate_t *s = &f.surrogate;
  double total = 0;
  assert_true(s->n_rows % 16 == 0 && s->n_rows >= 500 && s->n_basis >= 8 && s->n_basis <= 15);
  for (size_t k = 0; k < s->n_rows; k++) {
    total += s->weight[k];
    assert_true(s->weight[k] > 0);
    for (size_t i = 0; i < s->d; i++) {
      assert_true(fabs(s->x[k * s->d + i]) <= 1);
    }
  }
  assert_close(total, 1, 1e-12);
  for (size_t a = 0; a < s->n_basis; a++) {
    for (size_t b = 0; b <= a; b++) {
      double mean = 0, product = 0;
      for (size_t k = 0; k < s->n_rows; k++) {
        mean += s->weight[k] * s->basis[k * s->n_basis + a];
        product += s->weight[k] * s->basis[k * s->n_basis + a] * s->basis[k * s->n_basis + b];
      }
      assert_close(mean, 0, 1e-9);
      assert_close(product, a == b, 1e-8);
    }
    double variance = s->basis_cov[a * s->n_basis + a];
    assert_true(variance > 0 && variance < 1);
  }
  close_fixture(&f);
}

/* Mean and covariance of the stacked scores from their definition in noise_aware_internal.h. */
static void define_distribution(const fixture_t *f, const double *theta, double *mean, double *cov) {
  const tacit_surrogate_t *s = &f->surrogate;
  const tacit_rounds_t *r = &f->rounds;
  size_t n = s->n_rows, d = s->d, width = d * r->n_rounds, q = r->n_columns - 1;
  double *lines = malloc(width * n * sizeof *lines), *c = calloc(width * q, sizeof *c), average[3 * 8];
  for (size_t i = 0; i < width; i++) {
    average[i] = 0;
    for (size_t k = 0; k < n; k++) {
      double eta = 0;
      for (size_t j = 0; j < d; j++) {
        eta += theta[j] * s->x[j * n + k];
      }
      double spread =
          tacit_family_moments(f->s.family, f->s.upper, eta).mean - f->s.upper / 2 - r->spread[i / d * n + k];
      lines[i * n + k] = r->rows[i * n + k] * spread;
      average[i] += s->weight[k] * lines[i * n + k];
    }
    for (size_t a = 0; a < q; a++) { /* columns carry the weights, and are centred */
      c[i * q + a] = tacit_dot(n, lines + i * n, r->columns + (1 + a) * n);
    }
    mean[i] = r->n * (average[i] + tacit_dot(q, c + i * q, r->basis_shift));
  }
  for (size_t i = 0; i < width; i++) {
    for (size_t j = 0; j < width; j++) {
      double sampling = 0, plain = 0, known = 0, moments = 0;
      for (size_t k = 0; k < n; k++) {
        double eta = 0;
        for (size_t l = 0; l < d; l++) {
          eta += theta[l] * s->x[l * n + k];
        }
        tacit_family_moments_t m = tacit_family_moments(f->s.family, f->s.upper, eta);
        sampling += s->weight[k] * ((1 + r->excess) * m.variance + r->excess_square * m.mean * m.mean) *
                    r->sampled[i * n + k] * r->sampled[j * n + k];
        plain += s->weight[k] * (lines[i * n + k] - average[i]) * (lines[j * n + k] - average[j]);
      }
      for (size_t a = 0; a < q; a++) {
        known += c[i * q + a] * c[j * q + a];
        for (size_t b = 0; b < q; b++) {
          moments += c[i * q + a] * r->basis_cov[a * q + b] * c[j * q + b];
        }
      }
      sampling += r->clustered != NULL ? r->clustered[i * TACIT_AWARE_ROUNDS * d + j] / r->n : 0;
      cov[i * width + j] = r->n * sampling + r->n * r->n * (moments + (plain - known) / surrogate_weight) +
                           r->n_error * r->n_error * mean[i] * mean[j] + (i == j ? r->noise_var[i / d] : 0) +
                           (i / d == j / d ? r->doubt[i * d + j % d] : 0);
    }
  }
  free(lines);
  free(c);
}

/* Where units have several rows, something that their rows share: a g g' and a diagonal. */
static void share_something(fixture_t *f) {
  size_t width = TACIT_AWARE_ROUNDS * f->s.d;
  for (size_t i = 0; f->rounds.clustered != NULL && i < width * width; i++) {
    size_t a = i / width, b = i % width;
    f->rounds.clustered[i] =
        f->rounds.noise_var[0] * (0.1 * cos((double)a) * cos((double)b) + (a == b ? 0.3 : 0));
  }
}

static void check_distribution(tacit_family_t family, double upper) {
  fixture_t f;
  open_fixture(&f, family, upper, 4, 1);
  release_rounds(&f, 3);
  share_something(&f);
  f.rounds.excess = family == TACIT_FAMILY_POISSON ? 0.4 : 0;
  f.rounds.excess_square = family == TACIT_FAMILY_POISSON ? 0.3 : 0;
  enum { width = 12 };
  double theta[4] = {0.2, -0.3, 0.4, 0.1}, mean[width], cov[width * width];
  assert_true(isfinite(tacit_aware_posterior_log_density(&f.posterior, theta, NULL)));
  define_distribution(&f, theta, mean, cov);
  for (size_t i = 0; i < width; i++) {
    double residual = 0;
    for (size_t j = 0; j < width; j++) {
      residual += cov[i * width + j] * f.posterior.solved[j];
      if (j <= i) {
        assert_close(f.posterior.cov[i * width + j] / sqrt(cov[i * width + i] * cov[j * width + j]),
                     cov[i * width + j] / sqrt(cov[i * width + i] * cov[j * width + j]), 1e-9);
      }
    }
    assert_close(residual, f.rounds.released[i] - mean[i], 1e-6 * sqrt(cov[i * width + i]));
  }
  close_fixture(&f);
}

static void test_distribution_of_the_scores_is_their_definition(void **state) {
  (void)state;
  check_distribution(TACIT_FAMILY_BERNOULLI, 1);
  check_distribution(TACIT_FAMILY_POISSON, 8);
  count_error = 0.1;
  check_distribution(TACIT_FAMILY_BERNOULLI, 1);
  count_error = 0;
  fixture_rows = &several_rows;
  check_distribution(TACIT_FAMILY_BERNOULLI, 1);
  check_distribution(TACIT_FAMILY_POISSON, 8);
  fixture_rows = &one_row;
}

/* A unit of k rows has weight min(1, c) / k for each: as one row in the mean, their squares in the variance,
 * by hand for three sizes. */
static void test_a_unit_counts_once(void **state) {
  (void)state;
  static const struct {
    double reach, sum, square;
  } cases[] = {
      {100, 1, 0.5 + 0.2 / 3 + 0.04}, {1, 1, 0.5 + 0.2 / 3 + 0.04}, {0.5, 0.5, 0.125 + 0.05 / 3 + 0.01}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double sum, root;
    tacit_aware_weigh(&several_rows, cases[i].reach, &sum, &root);
    assert_close(sum, cases[i].sum, 1e-12);
    assert_close(root * root, cases[i].square, 1e-12);
    tacit_aware_weigh(&one_row, cases[i].reach, &sum, &root);
    assert_close(sum, fmin(1, cases[i].reach), 1e-15);
    assert_close(root, sum, 0);
  }
}

/*
 * At a budget without noise to speak of, the process knows what was released: the mean of v x x' over the
 * records at the point of the information, which the surrogate alone misses by several times as much. The
 * point: that of the second score.
 */
static void test_the_process_learns_the_information(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  open_fixture(&f, TACIT_FAMILY_BERNOULLI, 1, 4, 1e8);
  release_rounds(&f, 1);
  const tacit_surrogate_t *s = &f.surrogate;
  size_t n = s->n_rows, d = 4;
  double theta[4] = {0.3, 0.8, -0.6, 0.4},
         factor[16] = {0.05, 0, 0, 0, 0, 0.05, 0, 0, 0, 0, 0.05, 0, 0, 0, 0, 0.05}, exact[10], sd;
  tacit_score_point_t point = {
      TACIT_FAMILY_BERNOULLI, 1, theta, NULL, 1.01, 0}; /* v |x|^2 <= 1: nothing is weighted */
  assert_ok(tacit_curator_release_information(f.curator, &point, 0.02, exact, &sd, &err), err);
  tacit_round_place_t place = {f.curator, &f.settings, &f.model.parameters, f.rng,
                               theta,     factor,      share_information};
  double error[2] = {0};
  for (int after = 0; after < 2; after++) {
    for (size_t i = 0, p = 0; i < d; i++) {
      for (size_t j = i; j < d; j++, p++) {
        double mean = 0;
        for (size_t k = 0; k < n; k++) {
          double eta = 0;
          for (size_t l = 0; l < d; l++) {
            eta += theta[l] * s->x[l * n + k];
          }
          mean += f.rounds.scale[k] * tacit_family_moments(TACIT_FAMILY_BERNOULLI, 1, eta).variance *
                  s->x[i * n + k] * s->x[j * n + k];
        }
        error[after] = fmax(error[after], fabs(mean - exact[p] / (i == j ? 1 : sqrt(2)) / f.rounds.n));
      }
    }
    if (after == 0) {
      assert_ok(tacit_rounds_learn_information(&f.rounds, &place, &err), err);
    }
  }
  assert_true(error[0] > 3e-4);
  assert_close(error[1], 0, 0.1 * error[0]);
  for (size_t a = 0; a + 1 < f.rounds.n_columns; a++) {
    double variance = f.rounds.basis_cov[a * (f.rounds.n_columns - 1) + a];
    assert_true(variance > -1e-12 && variance < 1);
  }
  close_fixture(&f);
}

/*
 * Without noise to speak of, counts of variance m + m^2 / 2 are told from those of variance (1 + a) m by how
 * their squares lie: a is small and b is not (0.13 and 0.28; seeds are fixed).
 */
static void test_squares_tell_how_counts_vary(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  fixture_varies_more = true;
  open_fixture(&f, TACIT_FAMILY_POISSON, 40, 2, 1e8);
  fixture_varies_more = false;
  f.settings.rho *= 0.5;
  release_rounds(&f, 3);
  tacit_round_place_t place = {f.curator,     &f.settings, &f.model.parameters, f.rng,
                               fixture_truth, NULL,        share_squares};
  assert_ok(tacit_rounds_learn_dispersion(&f.rounds, &place, &err), err);
  assert_true(f.rounds.excess >= 0 && f.rounds.excess < 0.3);
  assert_true(f.rounds.excess_square > 0.15 && f.rounds.excess_square < 0.8);
  close_fixture(&f);
}

/*
 * Without noise to speak of, and with independent rows taken for a tenth of what they vary by: what is found
 * to be shared makes up for it, to the squares of the last score. (Rows of U are shrunk, so that nothing is
 * below 0 and raised.)
 */
static void test_what_rows_share_is_what_squares_are_short_of(void **state) {
  (void)state;
  enum { width = 12, at = 8 };
  fixture_t f;
  tacit_error_t err;
  double theta[4] = {0.1, 0.4, -0.3, 0.2}, released[10], cov[width * width], sd;
  fixture_rows = &several_rows;
  open_fixture(&f, TACIT_FAMILY_BERNOULLI, 1, 4, 1e8);
  fixture_rows = &one_row;
  f.settings.rho *= 0.5; /* the rest is for what follows */
  release_rounds(&f, 3);
  for (size_t i = 0; i < width * f.surrogate.n_rows; i++) {
    f.rounds.sampled[i] *= 0.3;
  }
  memset(f.rounds.doubt, 0, width * 4 * sizeof *f.rounds.doubt);
  tacit_round_place_t place = {f.curator, &f.settings, &f.model.parameters, f.rng,
                               theta,     NULL,        share_clusters};
  assert_ok(tacit_rounds_learn_clusters(&f.rounds, &place, &err), err);
  const tacit_score_point_t point = {TACIT_FAMILY_BERNOULLI, 1, f.rounds.last_theta, f.rounds.last_whiten,
                                     f.rounds.radius[2],     0};
  assert_ok(tacit_curator_release_score_squares(f.curator, &point, 2e-4, released, &sd, &err), err);
  for (size_t i = 0; i < width * width; i++) {
    size_t a = i / width, b = i % width;
    double own = 0;
    for (size_t k = 0; k < f.surrogate.n_rows; k++) {
      double eta = 0;
      for (size_t j = 0; j < 4; j++) {
        eta += theta[j] * f.surrogate.x[j * f.surrogate.n_rows + k];
      }
      own += f.rounds.n * f.surrogate.weight[k] *
             tacit_family_moments(TACIT_FAMILY_BERNOULLI, 1, eta).variance *
             f.rounds.sampled[a * f.surrogate.n_rows + k] * f.rounds.sampled[b * f.surrogate.n_rows + k];
    }
    cov[i] = own + f.rounds.clustered[i];
  }
  for (size_t i = 0, p = 0; i < 4; i++) {
    for (size_t j = i; j < 4; j++, p++) {
      double scale = released[0];
      assert_close(cov[(at + i) * width + at + j] / scale, released[p] / (i == j ? 1 : sqrt(2)) / scale,
                   0.05); /* six sds of the noise of both */
    }
  }
  close_fixture(&f);
}

static void check_gradient(tacit_family_t family, double upper, double epsilon) {
  for (size_t n_rounds = 1; n_rounds <= TACIT_AWARE_ROUNDS; n_rounds++) {
    fixture_t f;
    open_fixture(&f, family, upper, 4, epsilon);
    size_t d = f.s.d;
    release_rounds(&f, n_rounds);
    share_something(&f);
    f.rounds.excess = family == TACIT_FAMILY_POISSON ? 0.4 : 0;
    f.rounds.excess_square = family == TACIT_FAMILY_POISSON ? 0.3 : 0;
    for (int attempt = 0; attempt < 5; attempt++) {
      double theta[SIMULATION_MAX_DIM], grad[SIMULATION_MAX_DIM], precision[64];
      for (size_t j = 0; j < d; j++) {
        theta[j] = tacit_rng_normal(f.rng);
      }
      double at = tacit_aware_posterior_log_density(&f.posterior, theta, grad);
      tacit_aware_posterior_precision(&f.posterior, theta, precision);
      assert_true(isfinite(at) && tacit_cholesky(d, precision));
      for (size_t j = 0; j < d; j++) {
        const double h = 1e-5;
        double there = theta[j];
        theta[j] = there + h;
        double above = tacit_aware_posterior_log_density(&f.posterior, theta, NULL);
        theta[j] = there - h;
        double below = tacit_aware_posterior_log_density(&f.posterior, theta, NULL);
        theta[j] = there;
        assert_close(grad[j], (above - below) / (2 * h), 1e-5 * (1 + fabs(at) + fabs(grad[j])));
      }
    }
    close_fixture(&f);
  }
}

static void test_gradient_is_the_derivative_of_the_density(void **state) {
  (void)state;
  check_gradient(TACIT_FAMILY_BERNOULLI, 1, 1);
  check_gradient(TACIT_FAMILY_BERNOULLI, 1, 0.05);
  check_gradient(TACIT_FAMILY_POISSON, 8, 2);
  count_error = 0.1;
  check_gradient(TACIT_FAMILY_BERNOULLI, 1, 1);
  count_error = 0;
  fixture_rows = &several_rows;
  check_gradient(TACIT_FAMILY_BERNOULLI, 1, 1);
  check_gradient(TACIT_FAMILY_POISSON, 8, 2);
  fixture_rows = &one_row;
}

/*
 * Two coefficients of which the data know the difference badly together: each prior pulls its own by .19 sds,
 * and both together by .36. Caught: pulls of each prior alone.
 */
static void test_priors_pull_together(void **state) {
  (void)state;
  enum { d = 3 };
  const simulation_t s = {.family = TACIT_FAMILY_BERNOULLI, .d = d};
  tacit_model_t model;
  simulation_model(&s, &model); /* priors normal(0, 2.5) */
  const double mean[d] = {0, 2, 2}, cov[d * d] = {1, 0, 0, 0, 0.36, 0.324, 0, 0.324, 0.36};
  const tacit_feature_scale_t scales[d] = {{0, 1, 0, 0}, {0, 0.5, 0, 0}, {0, 0.5, 0, 0}};
  tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
  tacit_evidence_t evidence;
  settings.family = TACIT_FAMILY_BERNOULLI;
  tacit_aware_check_common(
      &(tacit_aware_common_t){d, &model.parameters, &settings, scales, mean, cov, 0.01, 1}, &evidence);
  double pulls[d] = {-1, -1, -1};
  for (size_t k = 0; k < evidence.checks.n; k++) {
    const tacit_check_t *check = &evidence.checks.items[k];
    if (check->id == TACIT_CHECK_PRIOR_PULLS) {
      pulls[check->term] = check->statistic;
    }
  }
  assert_close(pulls[0], 0, 1e-12);
  assert_close(pulls[1], 2 / 6.25 * (0.36 + 0.324) / 0.6, 1e-9);
  assert_close(pulls[2], pulls[1], 1e-12);
  tacit_model_clear(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_population_has_the_moments_asked_for),
      cmocka_unit_test(test_rows_have_one_level_of_a_factor_and_products),
      cmocka_unit_test(test_priors_pull_together),
      cmocka_unit_test(test_surrogate_is_a_weighted_population_with_an_orthonormal_basis),
      cmocka_unit_test(test_distribution_of_the_scores_is_their_definition),
      cmocka_unit_test(test_a_unit_counts_once),
      cmocka_unit_test(test_the_process_learns_the_information),
      cmocka_unit_test(test_squares_tell_how_counts_vary),
      cmocka_unit_test(test_what_rows_share_is_what_squares_are_short_of),
      cmocka_unit_test(test_gradient_is_the_derivative_of_the_density),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
