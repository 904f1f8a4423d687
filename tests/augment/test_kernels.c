/* Parts: gradients against differences, the mass against dense matrices, variates, bounds on acceptance, errors. */
#include "support.h"

/* ---- Hamiltonian paths ---- */

static void make_chain(tacit_chain_t *chain, const scenario_t *s, const tacit_augment_settings_t *settings) {
  tacit_error_t err;
  assert_ok(tacit_chain_init(chain, &s->model, &s->release, settings, 0, &err), err);
  tacit_chain_start(chain);
  tacit_path_t *path = chain->path;
  path->mean = chain->mean;
  path->log_sd = log(chain->sd);
  path->shift = 0;
  for (size_t i = 0; i < chain->n; i++) {
    path->z[i] = (chain->records[i] - chain->mean) / chain->sd;
  }
}

/* Log density of theta and z, written out anew. */
static double log_density(const scenario_t *s, const tacit_path_t *path, size_t n) {
  const tacit_latent_model_t *m = &s->model;
  double sum[2] = {0}, total = -0.5 * pow((path->mean - m->mean_location) / m->mean_scale, 2);
  if (!(m->known_sd > 0)) { /* inverse gamma of the variance, as a density of log sd */
    total += -(m->variance_shape + 1) * 2 * path->log_sd - m->variance_scale * exp(-2 * path->log_sd) + 2 * path->log_sd;
  }
  for (size_t i = 0; i < n; i++) {
    double z = path->z[i] + path->shift, c = test_clamp(&s->release, path->mean + exp(path->log_sd) * z);
    total -= 0.5 * z * z;
    sum[0] += c;
    sum[1] += c * c;
  }
  for (size_t j = 0; j < s->release.n_values; j++) {
    double e = s->values[j] - sum[j], scale = s->scales[j];
    total -= s->release.noise == TACIT_RELEASE_GAUSSIAN ? 0.5 * e * e / (scale * scale) : fabs(e) / scale;
  }
  return total;
}

static double difference(const scenario_t *s, tacit_path_t *path, double *at, size_t n) {
  double h = 1e-6, here = *at;
  *at = here + h;
  double up = log_density(s, path, n);
  *at = here - h;
  double down = log_density(s, path, n);
  *at = here;
  return (up - down) / (2 * h);
}

static void check_gradient(const scenario_t *s) {
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_HMC, 1, 3);
  tacit_chain_t chain;
  settings.path = TACIT_PATH_JOINT;
  make_chain(&chain, s, &settings);
  tacit_path_t *path = chain.path;
  double gradient[64], root_n = sqrt((double)chain.n);
  tacit_path_evaluate(&chain, gradient);
  assert_close(-path->potential, log_density(s, path, chain.n), 1e-9);
  assert_close(path->gradient[0], difference(s, path, &path->mean, chain.n), 1e-5);
  if (path->dim == 2) {
    assert_close(path->gradient[1], difference(s, path, &path->log_sd, chain.n), 1e-5);
  }
  assert_close(path->gradient[path->dim], difference(s, path, &path->shift, chain.n) / root_n, 1e-5);
  size_t n_clamped = 0;
  for (size_t i = 0; i < chain.n; i++) {
    double x = chain.records[i];
    n_clamped += x < s->release.lower || x > s->release.upper;
    assert_close(gradient[i], difference(s, path, &path->z[i], chain.n), 1e-5);
  }
  assert_true(n_clamped > 2 && n_clamped < chain.n - 2);
  tacit_chain_clear(&chain);
}

static void test_path_gradient_matches_differences(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 30, 1.3, TACIT_RELEASE_GAUSSIAN, 2, 20);
  check_gradient(&s);
  scenario_gaussian(&s, 31, 1.3, TACIT_RELEASE_LAPLACE, 2, 20);
  check_gradient(&s);
  scenario_moments(&s, 33, TACIT_RELEASE_GAUSSIAN, 3, 20, 60);
  check_gradient(&s);
  scenario_moments(&s, 34, TACIT_RELEASE_LAPLACE, 3, 20, 60);
  check_gradient(&s);
}

/* Solve a x = b by elimination with pivots; a is destroyed. */
static void solve(size_t n, double *a, double *x) {
  for (size_t k = 0; k < n; k++) {
    size_t p = k;
    for (size_t i = k; i < n; i++) {
      p = fabs(a[i * n + k]) > fabs(a[p * n + k]) ? i : p;
    }
    for (size_t j = 0; j < n; j++) {
      double t = a[k * n + j];
      a[k * n + j] = a[p * n + j];
      a[p * n + j] = t;
    }
    double t = x[k];
    x[k] = x[p];
    x[p] = t;
    for (size_t i = 0; i < n; i++) {
      double f = i == k ? 0 : a[i * n + k] / a[k * n + k];
      for (size_t j = k; j < n && f != 0; j++) {
        a[i * n + j] -= f * a[k * n + j];
      }
      x[i] -= f * x[k];
    }
  }
  for (size_t k = 0; k < n; k++) {
    x[k] /= a[k * n + k];
  }
}

/*
 * Known sd: M^-1 p of the small matrix and the identity, mapped by x = mean + sd z, against a dense solve with the arrow
 * plus rank one in (theta, x): A_tt = 1/s0^2 + n/sx^2, A_ti = -1/sx^2, A_ij = [i=j]/sx^2 + u_i u_j/scale^2.
 */
static void test_mass_is_arrow_plus_rank_one(void **state) {
  (void)state;
  enum { N = 40, D = N + 1 };
  static double a[D * D], p[D], expected[D];
  for (int smooth = 0; smooth < 2; smooth++) {
    scenario_t s;
    scenario_gaussian(&s, N, 1.3, TACIT_RELEASE_GAUSSIAN, 2, 26);
    tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_HMC, 1, 4);
    settings.path = TACIT_PATH_JOINT;
    settings.smooth_mass = smooth;
    tacit_chain_t chain;
    make_chain(&chain, &s, &settings);
    double sx = 1.3, s0 = s.model.mean_scale, hat = 26.0 / N, u = 1, velocity[TACIT_MAX_SMALL];
    if (smooth) {
      u = 0.5 * (erf((1.5 - hat) / sx / sqrt(2)) - erf((-1 - hat) / sx / sqrt(2)));
    }
    for (size_t i = 0; i < D; i++) {
      p[i] = sin(1.7 * (double)i + 0.3);
      expected[i] = p[i];
      for (size_t j = 0; j < D; j++) {
        double arrow = i == 0 && j == 0   ? 1 / (s0 * s0) + N / (sx * sx)
                       : i == 0 || j == 0 ? -1 / (sx * sx)
                       : i == j           ? 1 / (sx * sx)
                                          : 0;
        a[i * D + j] = arrow + (i > 0 && j > 0 ? u * u / (s.scales[0] * s.scales[0]) : 0);
      }
    }
    solve(D, a, expected);
    /* momenta of (theta, z): p_theta + sum p_i, sx p_i; velocities back: v_theta, v_theta + sx v_i */
    double sum = 0, small[TACIT_MAX_SMALL] = {0};
    for (size_t i = 1; i < D; i++) {
      sum += p[i];
    }
    small[0] = p[0] + sum;
    small[1] = sx * sum / sqrt(N);
    tacit_path_velocity(chain.path, small, velocity);
    assert_close(velocity[0], expected[0], 1e-12);
    for (size_t i = 1; i < D; i++) {
      double v = sx * p[i] + (velocity[1] - small[1]) / sqrt(N);
      assert_close(velocity[0] + sx * v, expected[i], 1e-12);
    }
    tacit_chain_clear(&chain);
  }
}

/* Unknown sd and two moments: the small block times a velocity gives the momentum back. */
static void test_mass_velocity_solves(void **state) {
  (void)state;
  scenario_t s;
  scenario_moments(&s, 50, TACIT_RELEASE_GAUSSIAN, 3, 30, 70);
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_HMC, 1, 4);
  tacit_chain_t chain;
  make_chain(&chain, &s, &settings);
  const tacit_path_t *path = chain.path;
  double small[3] = {0.7, -1.1, 0.4}, velocity[3];
  tacit_path_velocity(path, small, velocity);
  for (size_t i = 0; i < 3; i++) {
    double back = 0;
    for (size_t j = 0; j < 3; j++) {
      back += path->mass[i][j] * velocity[j];
      assert_close(path->mass[i][j], path->mass[j][i], 1e-12);
    }
    assert_close(back, small[i], 1e-11);
  }
  tacit_chain_clear(&chain);
}

/* Dual averaging meets its target, for both kinds of path. */
static void test_adapted_paths_are_accepted_as_asked(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 400, 0.8, TACIT_RELEASE_GAUSSIAN, 2, 200);
  for (int p = 0; p < 2; p++) {
    tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_HMC, 1000, 8);
    tacit_augment_result_t result;
    tacit_draws_t draws;
    tacit_error_t err;
    settings.path = (tacit_augment_path_t)p;
    settings.n_chains = 2;
    assert_ok(tacit_augment(&s.model, &s.release, &settings, &draws, &result, &err), err);
    assert_true(result.path_accept > 0.65 && result.path_accept < 0.97); /* asked: 0.8 */
    assert_true(result.is_exact && result.is_complete && result.method == TACIT_AUGMENT_HMC);
    tacit_draws_clear(&draws);
  }
}

/* ---- acceptance of records ---- */

/* Under pure epsilon-DP every record is accepted with probability at least e^-epsilon [Ju2022]. */
static void test_record_acceptance_is_bounded_by_epsilon(void **state) {
  (void)state;
  static const double counts[6] = {20, 10, 0, 5, 40, 25};
  const double epsilons[] = {0.2, 1, 4};
  for (size_t i = 0; i < 3; i++) {
    double epsilon = epsilons[i];
    scenario_t s[4];
    scenario_gaussian(&s[0], 100, 2, TACIT_RELEASE_LAPLACE, 2.5 / epsilon, 60);
    scenario_gaussian(&s[1], 100, 2, TACIT_RELEASE_DISCRETE_LAPLACE, 2.5 / epsilon, 60);
    s[1].release.step = 0.5;
    scenario_poisson(&s[2], 100, TACIT_RELEASE_DISCRETE_LAPLACE, 4 / epsilon, 150);
    scenario_table(&s[3], 100, TACIT_RELEASE_LAPLACE, 2 / epsilon, counts);
    for (size_t k = 0; k < 4; k++) {
      tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_GIBBS, 200, i);
      tacit_augment_result_t result;
      tacit_draws_t draws;
      tacit_error_t err;
      settings.n_warmup = 20;
      assert_ok(tacit_augment(&s[k].model, &s[k].release, &settings, &draws, &result, &err), err);
      assert_true(result.min_record_accept >= exp(-epsilon) * (1 - 1e-9));
      assert_true(result.min_record_accept <= exp(-epsilon) * 1.5); /* and comes near it */
      assert_true(result.record_accept > exp(-epsilon) && result.record_accept < 1);
      for (size_t row = 0; row < 220; row++) {
        double share = draws.stats[row].accept_stat;
        assert_true(share >= 0 && share <= 1);
      }
      tacit_draws_clear(&draws);
    }
  }
}

static void test_accepts_is_the_metropolis_rule(void **state) {
  (void)state;
  for (double r = -30; r <= 3; r += 0.013) {
    for (double u = 0.0005; u < 1; u += 0.0137) {
      assert_true(tacit_accepts(r, u) == (u < exp(r)));
    }
  }
}

/* Residuals that a sweep keeps up to date are those computed afresh. */
static void test_sweep_keeps_the_statistic(void **state) {
  (void)state;
  scenario_t s;
  scenario_moments(&s, 777, TACIT_RELEASE_GAUSSIAN, 5, 300, 500);
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_GIBBS, 1, 4);
  tacit_chain_t chain;
  tacit_error_t err;
  assert_ok(tacit_chain_init(&chain, &s.model, &s.release, &settings, 0, &err), err);
  tacit_chain_start(&chain);
  for (int i = 0; i < 20; i++) {
    double sum[2] = {0};
    tacit_chain_step(&chain);
    for (size_t k = 0; k < chain.n; k++) {
      double c = test_clamp(&s.release, chain.records[k]);
      sum[0] += c;
      sum[1] += c * c;
    }
    assert_close(chain.residual[0], s.values[0] - sum[0], 1e-9);
    assert_close(chain.residual[1], s.values[1] - sum[1], 1e-9);
  }
  tacit_chain_clear(&chain);
}

/* ---- variates and moments ---- */

static void test_log_factorial(void **state) {
  (void)state;
  for (double k = 0; k < 3000; k += 1) {
    assert_close(tacit_log_factorial(k), lgamma(k + 1), 2e-14 * (1 + lgamma(k + 1)));
  }
  assert_close(tacit_log_factorial(1e9), lgamma(1e9 + 1), 1e-5);
}

/* Mean and variance of draws within 6 standard errors, and the cumulative law at a few points. */
static void test_poisson_and_gamma_laws(void **state) {
  (void)state;
  enum { N = 200000 };
  const double rates[] = {0.02, 0.7, 11, 800, 9999, 20000, 3e6};
  unsigned char key[32];
  tacit_rng_t *rng;
  tacit_error_t err;
  tacit_discrete_t law;
  tacit_rng_key_from_seed(key, 5);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  assert_ok(tacit_discrete_init(&law, 1, &err), err);
  for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
    double sum = 0, square = 0, rate = rates[r], below = 0, at_most = 0;
    if (rate < TACIT_POISSON_TABLE_MAX) {
      tacit_discrete_set_poisson(&law, rate);
    }
    for (int i = 0; i < N; i++) {
      bool has_table = rate < TACIT_POISSON_TABLE_MAX;
      double k = has_table ? tacit_discrete_draw(&law, tacit_rng_uniform(rng)) : tacit_draw_poisson(rng, rate);
      sum += k - rate;
      square += (k - rate) * (k - rate);
      below += k <= floor(rate);
    }
    for (double k = fmax(0, floor(rate) - 40 * sqrt(rate) - 5); k <= floor(rate); k += 1) {
      at_most += exp(k * log(rate) - rate - lgamma(k + 1));
    }
    double kurtosis = 2 * rate * rate + rate;
    assert_close(sum / N, 0, 6 * sqrt(rate / N));
    assert_close(square / N, rate, 6 * sqrt(kurtosis / N));
    assert_close(below / N, at_most, 6 * sqrt(0.25 / N));
  }
  const double shapes[] = {0.05, 0.5, 1, 3.7, 500};
  for (size_t r = 0; r < sizeof shapes / sizeof shapes[0]; r++) {
    double a = shapes[r], sum = 0, square = 0;
    for (int i = 0; i < N; i++) {
      double x = tacit_draw_gamma(rng, a);
      sum += x;
      square += x * x;
    }
    double fourth = a * (a + 1) * (a + 2) * (a + 3);
    assert_close(sum / N, a, 6 * sqrt(a / N));
    assert_close(square / N, a * (a + 1), 6 * sqrt(fourth / N));
  }
  tacit_discrete_clear(&law);
  tacit_rng_free(rng);
}

/* Slices of a standard normal and of a narrow one, whatever the width. */
static double quadratic(void *user, double x) {
  double sd = *(double *)user;
  return -0.5 * x * x / (sd * sd);
}

static void test_slice_leaves_a_normal_invariant(void **state) {
  (void)state;
  enum { N = 100000 };
  const double widths[] = {0.1, 3, 100};
  unsigned char key[32];
  tacit_rng_t *rng;
  tacit_error_t err;
  tacit_rng_key_from_seed(key, 6);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  for (size_t w = 0; w < 3; w++) { /* from an exact draw, one update: independent of how fast it mixes */
    double sd = 1.5, sum = 0, square = 0, product = 0;
    for (int i = 0; i < N; i++) {
      double x = sd * tacit_rng_normal(rng), log_at = quadratic(&sd, x);
      double y = tacit_slice(quadratic, &sd, x, &log_at, widths[w], rng);
      assert_close(log_at, quadratic(&sd, y), 0);
      sum += y;
      square += y * y;
      product += y * y * y * y;
    }
    assert_close(sum / N, 0, 6 * sd / sqrt(N));
    assert_close(square / N, sd * sd, 6 * sd * sd * sqrt(2.0 / N));
    assert_close(product / N, 3 * pow(sd, 4), 6 * pow(sd, 4) * sqrt(96.0 / N));
  }
  tacit_rng_free(rng);
}

static void test_clamped_moments_match_sums(void **state) {
  (void)state;
  const double cases[][4] = {{0.2, 0.7, -1, 1.5}, {5, 1, -1, 1}, {-3, 0.1, -1, 2}, {0.5, 30, -1, 1}, {0, 0.01, -1, 1}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    enum { N = 400000 };
    double mean = cases[c][0], sd = cases[c][1], lower = cases[c][2], upper = cases[c][3];
    double sums[4] = {0}, mass = 0, moments[4];
    for (int i = 0; i < N; i++) {
      double z = -9 + 18 * (i + 0.5) / N, p = exp(-0.5 * z * z), x = fmin(fmax(mean + sd * z, lower), upper);
      mass += p;
      for (int k = 0; k < 4; k++) {
        sums[k] += p * pow(x, k + 1);
      }
    }
    tacit_clamped_normal_moments(mean, sd, lower, upper, 4, moments);
    for (int k = 0; k < 4; k++) {
      assert_close(moments[k], sums[k] / mass, 2e-9 * pow(2, k + 1));
    }
  }
}

/* ---- the likelihood of a sum by inversion ---- */

static double inverted(const scenario_t *s, double theta) {
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_MARGINAL, 1, 1);
  tacit_chain_t chain;
  tacit_error_t err;
  assert_ok(tacit_chain_init(&chain, &s->model, &s->release, &settings, 0, &err), err);
  assert_non_null(chain.inversion);
  double log_lik = tacit_inversion_log_lik(&chain, theta, s->model.known_sd);
  tacit_chain_clear(&chain);
  return log_lik;
}

static double test_normal_cdf(double z) {
  return 0.5 * erfc(-z / sqrt(2));
}

/* One clamped record under Gaussian noise in closed form; values far outside the bounds too. */
static void test_inversion_of_one_record_is_closed_form(void **state) {
  (void)state;
  const double scales[] = {0.05, 0.7, 4}, values[] = {-3, -1, 0.4, 1.5, 2.2, 6}, means[] = {-2.5, -0.3, 0.8, 3};
  const double sds[] = {0.05, 0.8, 6}, reference = 0.5 * log(2 * 3.14159265358979323846); /* a constant that is left out */
  for (size_t i = 0; i < 3 * 6 * 3; i++) {
    double scale = scales[i % 3], y = values[i / 3 % 6], sd = sds[i / 18];
    for (size_t m = 0; m < 4; m++) {
      scenario_t s;
      scenario_gaussian(&s, 1, sd, TACIT_RELEASE_GAUSSIAN, scale, y);
      double lower = s.release.lower, upper = s.release.upper, mean = means[m], v = sd * sd + scale * scale;
      double centre = (mean * scale * scale + y * sd * sd) / v, width = sd * scale / sqrt(v);
      double inside = exp(-0.5 * (y - mean) * (y - mean) / v) / sqrt(v) *
                      (test_normal_cdf((upper - centre) / width) - test_normal_cdf((lower - centre) / width));
      double at_bounds = test_normal_cdf((lower - mean) / sd) * exp(-0.5 * pow((y - lower) / scale, 2)) +
                         test_normal_cdf((mean - upper) / sd) * exp(-0.5 * pow((y - upper) / scale, 2));
      double expected = log(inside + at_bounds / scale), got = inverted(&s, mean);
      if (expected > -600) {
        if (!(fabs(got - expected - reference) <= 1e-9 + 1e-12 * fabs(expected))) {
          fail_msg("mean %g, sd %g, scale %g, value %g: %.12g, expected %.12g", mean, sd, scale, y, got - reference,
                   expected);
        }
      }
    }
  }
}

/* Sums of clamped Poisson records by convolution of whole numbers, from 1 to 1000 records, in the bulk and beyond it. */
static void test_inversion_matches_convolution(void **state) {
  (void)state;
  static double sum[4001], next[4001];
  const size_t sizes[] = {1, 4, 60, 1000};
  for (size_t i = 0; i < 4 * 3 * 3; i++) {
    static const tacit_release_noise_t noises[] = {TACIT_RELEASE_GAUSSIAN, TACIT_RELEASE_DISCRETE_GAUSSIAN,
                                                   TACIT_RELEASE_DISCRETE_LAPLACE};
    size_t n = sizes[i % 4];
    double scale = i / 4 % 3 == 0 ? 0.6 : i / 4 % 3 == 1 ? 3 : 25, reference = NAN;
    scenario_t s;
    scenario_poisson(&s, n, noises[i / 12], scale, 0);
    double value = round(2.3 * (double)n);
    for (int m = 0; m < 3; m++) {
      double rate = m == 0 ? 2.6 : m == 1 ? 2.2 : 3.1, law[5], tail = 1, expected = 0;
      for (int k = 0; k < 5; k++) {
        law[k] = k < 4 ? exp(k * log(rate) - rate - lgamma(k + 1.0)) : tail;
        tail -= law[k];
      }
      memset(sum, 0, sizeof sum);
      sum[0] = 1;
      for (size_t r = 0; r < n; r++) {
        memset(next, 0, sizeof next);
        for (size_t a = 0; a <= 4 * r; a++) {
          for (size_t b = 0; b < 5; b++) {
            next[a + b] += sum[a] * law[b];
          }
        }
        memcpy(sum, next, sizeof sum);
      }
      s.values[0] = m == 0 ? value : s.values[0];
      for (size_t a = 0; a <= 4 * n; a++) {
        double e = s.values[0] - (double)a;
        bool is_laplace = noises[i / 12] == TACIT_RELEASE_DISCRETE_LAPLACE;
        expected += sum[a] * exp(is_laplace ? -fabs(e) / scale : -0.5 * e * e / (scale * scale));
      }
      double got = inverted(&s, rate) - log(expected);
      reference = m == 0 ? got : reference;
      if (!(fabs(got - reference) <= 1e-9)) {
        fail_msg("n %zu, noise %d, scale %g, rate %g: off by %.3g", n, (int)noises[i / 12], scale, rate, got - reference);
      }
    }
  }
}

/* Records rounded to multiples of 0.5, three of them, by enumeration; a release beyond all sums. */
static void test_inversion_of_rounded_records(void **state) {
  (void)state;
  for (int far = 0; far < 2; far++) {
    double reference = 0;
    for (int m = 0; m < 4; m++) {
      scenario_t s;
      scenario_gaussian(&s, 3, 0.9, TACIT_RELEASE_DISCRETE_GAUSSIAN, 0.8, far ? 11 : 2);
      s.release.step = 0.5;
      double theta = -1 + m, p = 0, law[6];
      for (int k = 0; k < 6; k++) {
        law[k] = (k == 5 ? 1 : test_normal_cdf((-0.75 + 0.5 * k - theta) / 0.9)) -
                 (k == 0 ? 0 : test_normal_cdf((-1.25 + 0.5 * k - theta) / 0.9));
      }
      for (int abc = 0; abc < 216; abc++) {
        double e = s.values[0] + 3 - 0.5 * (abc % 6 + abc / 6 % 6 + abc / 36);
        p += law[abc % 6] * law[abc / 6 % 6] * law[abc / 36] * exp(-0.5 * e * e / 0.64);
      }
      double got = inverted(&s, theta) - log(p);
      reference = m == 0 ? got : reference;
      assert_close(got, reference, 1e-10);
    }
  }
}

/* The normal law of a sum of many records, near its posterior, against the exact one: noise and clamping alike. */
static void test_normal_law_of_sums_nears_the_exact_one(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    scenario_t s;
    double centre = 1.2, spread = 0.006;
    if (kind == 0) {
      scenario_gaussian(&s, 40000, 1.1, TACIT_RELEASE_GAUSSIAN, 150, 0);
    } else {
      scenario_poisson(&s, 40000, kind == 1 ? TACIT_RELEASE_GAUSSIAN : TACIT_RELEASE_DISCRETE_LAPLACE, 100, 0);
      centre = 2.5;
      spread = 0.01;
    }
    tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_MARGINAL, 1, 1);
    tacit_chain_t chain;
    tacit_error_t err;
    assert_ok(tacit_chain_init(&chain, &s.model, &s.release, &settings, 0, &err), err);
    double best = -INFINITY; /* the value at which `centre` is likeliest */
    for (double y = 0; y < 4.0 * 40000; y += 20) {
      double here = chain.values[0];
      chain.values[0] = y;
      double at = tacit_marginal_log_lik(&chain, centre, s.model.known_sd);
      chain.values[0] = at > best ? y : here;
      best = fmax(best, at);
    }
    double lowest = INFINITY, highest = -INFINITY;
    for (int i = -2; i <= 2; i++) {
      double normal = tacit_marginal_log_lik(&chain, centre + i * spread, s.model.known_sd);
      double exact = tacit_inversion_log_lik(&chain, centre + i * spread, s.model.known_sd);
      lowest = fmin(lowest, normal - exact);
      highest = fmax(highest, normal - exact);
    }
    double drop = tacit_inversion_log_lik(&chain, centre, s.model.known_sd) -
                  tacit_inversion_log_lik(&chain, centre + 2 * spread, s.model.known_sd);
    assert_true(drop > 0.5 && drop < 8 && highest - lowest < 0.01); /* over points that span the posterior */

    tacit_chain_clear(&chain);
  }
}

/* The bivariate normal law of two moments, with means and covariances of clamped records summed here. */
static void test_normal_law_of_moments(void **state) {
  (void)state;
  enum { N = 200000 };
  const double n = 500, theta[3][2] = {{0.2, 0.7}, {1.1, 0.5}, {-0.9, 1.6}};
  scenario_t s;
  scenario_moments(&s, (size_t)n, TACIT_RELEASE_GAUSSIAN, 3, 130, 300);
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_MARGINAL, 1, 1);
  tacit_chain_t chain;
  tacit_error_t err;
  assert_ok(tacit_chain_init(&chain, &s.model, &s.release, &settings, 0, &err), err);
  for (size_t t = 0; t < 3; t++) {
    double m[5] = {0};
    for (int i = 0; i < N; i++) {
      double z = -9 + 18 * (i + 0.5) / N, p = exp(-0.5 * z * z), c = test_clamp(&s.release, theta[t][0] + theta[t][1] * z);
      for (int k = 0; k < 5; k++) {
        m[k] += p * pow(c, k);
      }
    }
    double mean[2] = {m[1] / m[0], m[2] / m[0]}, scale = s.scales[0], scale2 = s.scales[1];
    double v = n * (mean[1] - mean[0] * mean[0]) + scale * scale, c = n * (m[3] / m[0] - mean[0] * mean[1]);
    double w = n * (m[4] / m[0] - mean[1] * mean[1]) + scale2 * scale2, det = v * w - c * c;
    double e = s.values[0] - n * mean[0], f = s.values[1] - n * mean[1];
    double expected = -0.5 * (w * e * e - 2 * c * e * f + v * f * f) / det - 0.5 * log(det);
    assert_close(tacit_marginal_log_lik(&chain, theta[t][0], theta[t][1]), expected, 1e-5 * fabs(expected));
  }
  tacit_chain_clear(&chain);
}

/* Laplace noise folded with a normal, against a sum over a fine grid. */
static void test_normal_law_under_laplace_noise(void **state) {
  (void)state;
  enum { N = 400000 };
  const double values[] = {20, 44, 60, 90}, n = 100, mean = 0.5, sd = 0.7;
  for (size_t i = 0; i < 4; i++) {
    scenario_t s;
    double moments[2], total = 0;
    scenario_gaussian(&s, (size_t)n, sd, TACIT_RELEASE_LAPLACE, 4, values[i]);
    tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_MARGINAL, 1, 1);
    tacit_chain_t chain;
    tacit_error_t err;
    assert_ok(tacit_chain_init(&chain, &s.model, &s.release, &settings, 0, &err), err);
    tacit_clamped_normal_moments(mean, sd, -1, 1.5, 2, moments);
    double spread = sqrt(n * (moments[1] - moments[0] * moments[0]));
    for (int k = 0; k < N; k++) {
      double z = -9 + 18 * (k + 0.5) / N;
      total += exp(-0.5 * z * z - fabs(values[i] - n * moments[0] - spread * z) / 4) * 18 / N / sqrt(2 * 3.14159265358979323846);
    }
    assert_close(tacit_marginal_log_lik(&chain, mean, sd), log(total), 1e-6);
    tacit_chain_clear(&chain);
  }
}

/* ---- the driver ---- */

static void test_seeded_runs_repeat_on_any_number_of_threads(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 60, 0, TACIT_RELEASE_LAPLACE, 2, 20);
  for (int m = TACIT_AUGMENT_GIBBS; m <= TACIT_AUGMENT_MARGINAL; m++) {
    tacit_augment_settings_t settings = settings_for((tacit_augment_method_t)m, 50, 9);
    tacit_draws_t one, three;
    tacit_error_t err;
    settings.n_warmup = 20;
    assert_ok(tacit_augment(&s.model, &s.release, &settings, &one, NULL, &err), err);
    settings.n_threads = 3;
    assert_ok(tacit_augment(&s.model, &s.release, &settings, &three, NULL, &err), err);
    assert_memory_equal(one.values, three.values, 4 * 70 * 2 * sizeof(double));
    assert_true(one.n_saved == 70 && tacit_draws_row(&one, 0, 60)[0] != tacit_draws_row(&one, 1, 60)[0]);
    tacit_draws_clear(&one);
    tacit_draws_clear(&three);
  }
}

static bool stop_after(size_t chain, size_t iteration, void *user) {
  (void)chain;
  return iteration < *(size_t *)user;
}

static void test_stopped_run_keeps_common_draws(void **state) {
  (void)state;
  scenario_t s;
  scenario_poisson(&s, 20, TACIT_RELEASE_LAPLACE, 2, 30);
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_AUTO, 50, 9);
  tacit_augment_result_t result;
  tacit_draws_t draws;
  tacit_error_t err;
  size_t limit = 41;
  settings.n_warmup = 20;
  settings.thin = 2;
  settings.proceed = stop_after;
  settings.user = &limit;
  assert_ok(tacit_augment(&s.model, &s.release, &settings, &draws, &result, &err), err);
  assert_false(result.is_complete);
  assert_int_equal(result.method, TACIT_AUGMENT_GIBBS);
  assert_int_equal(tacit_draws_n_kept(&draws), 10);
  tacit_draws_clear(&draws);
}

static void test_auto_chooses_by_n(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 1000, 0.5, TACIT_RELEASE_GAUSSIAN, 2, 20);
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_GIBBS);
  s.model.n_records++;
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_MARGINAL);
  scenario_gaussian(&s, 20000, 0.5, TACIT_RELEASE_LAPLACE, 2, 20);
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_GIBBS);
  s.model.n_records++;
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_MARGINAL);
  scenario_moments(&s, 100000, TACIT_RELEASE_LAPLACE, 2, 20, 30);
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_GIBBS);
}

static void test_failed_allocations_are_errors(void **state) {
  (void)state;
  static const double counts[6] = {2, 0, 3, 1, 1, 0};
  for (int m = TACIT_AUGMENT_GIBBS; m <= TACIT_AUGMENT_MARGINAL; m++) {
    for (int kind = 0; kind < 2; kind++) {
      scenario_t s;
      scenario_gaussian(&s, 10, 0.5, TACIT_RELEASE_GAUSSIAN, 2, 3);
      if (kind == 1) {
        scenario_table(&s, 7, TACIT_RELEASE_GAUSSIAN, 2, counts);
      }
      bool is_done = kind == 1 && m == TACIT_AUGMENT_HMC;
      for (size_t k = 1; !is_done && k < 200; k++) {
        tacit_augment_settings_t settings = settings_for((tacit_augment_method_t)m, 5, 9);
        tacit_draws_t draws;
        tacit_error_t err;
        settings.n_warmup = 2;
        settings.path = TACIT_PATH_JOINT;
        tacit_alloc_fail_at(k);
        tacit_status_t status = tacit_augment(&s.model, &s.release, &settings, &draws, NULL, &err);
        tacit_alloc_fail_at(0);
        is_done = status == TACIT_OK;
        assert_true(is_done || (status == TACIT_ERR_MEMORY && err.message[0] != '\0' && tacit_draws_n_kept(&draws) == 0));
        assert_true(!is_done || k > 5);
        tacit_draws_clear(&draws);
      }
      assert_true(is_done);
    }
  }
}

static void expect_refusal(const scenario_t *s, const tacit_augment_settings_t *settings, const char *field) {
  tacit_draws_t draws;
  tacit_error_t err;
  tacit_status_t status = tacit_augment(&s->model, &s->release, settings, &draws, NULL, &err);
  if (status != TACIT_ERR_ARGUMENT || strcmp(err.field, field) != 0) {
    fail_msg("expected a refusal of %s, got status %d, field %s: %s", field, (int)status, status ? err.field : "",
             status ? err.message : "");
  }
  tacit_draws_clear(&draws);
}

static void test_bad_models_and_releases_are_refused(void **state) {
  (void)state;
  static const double counts[6] = {2, 0, 3, 1, 1, 0};
  scenario_t good, s;
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_AUTO, 5, 9), bad;
  scenario_gaussian(&good, 10, 0.5, TACIT_RELEASE_GAUSSIAN, 2, 3);
#define REFUSED(change, field)              \
  do {                                      \
    s = good;                               \
    s.release.values = s.values;            \
    s.release.scales = s.scales;            \
    s.model.n_levels = s.levels;            \
    s.model.concentration = s.concentration; \
    change;                                 \
    expect_refusal(&s, &settings, field);   \
  } while (0)
  REFUSED(s.model.n_records = 0, "n");
  REFUSED(s.model.n_records = (size_t)1 << 31, "n");
  REFUSED(s.model.mean_scale = 0, "mean");
  REFUSED(s.model.mean_location = NAN, "mean");
  REFUSED(s.model.known_sd = -1, "sd");
  REFUSED((s.model.known_sd = 0, s.model.variance_shape = 0), "variance");
  REFUSED(s.model.kind = (tacit_latent_kind_t)7, "records");
  REFUSED(s.release.kind = TACIT_RELEASE_COUNTS, "statistic");
  REFUSED(s.release.kind = TACIT_RELEASE_MOMENTS, "value");
  REFUSED(s.release.lower = 2, "lower");
  REFUSED(s.release.upper = INFINITY, "lower");
  REFUSED(s.release.step = 0.5, "step");
  REFUSED(s.release.noise = TACIT_RELEASE_DISCRETE_LAPLACE, "step");
  REFUSED((s.release.noise = TACIT_RELEASE_DISCRETE_LAPLACE, s.release.step = 0.3), "step");
  REFUSED((s.release.noise = TACIT_RELEASE_DISCRETE_LAPLACE, s.release.step = 0.5, s.values[0] = 3.2), "value");
  REFUSED(s.values[0] = NAN, "value");
  REFUSED(s.scales[0] = 0, "scale");
  scenario_poisson(&good, 10, TACIT_RELEASE_GAUSSIAN, 2, 3);
  REFUSED(s.release.upper = 2.5, "lower");
  REFUSED(s.release.lower = -1, "lower");
  REFUSED(s.model.rate_shape = 0, "rate");
  REFUSED(s.model.rate_rate = 1e-300, "rate");
  REFUSED(s.release.kind = TACIT_RELEASE_MOMENTS, "statistic");
  REFUSED((s.release.noise = TACIT_RELEASE_DISCRETE_GAUSSIAN, s.values[0] = 3.5), "value");
  scenario_table(&good, 10, TACIT_RELEASE_GAUSSIAN, 2, counts);
  REFUSED(s.levels[0] = 1, "levels");
  REFUSED(s.levels[0] = 70000, "levels");
  REFUSED(s.levels[1] = 40000, "levels");
  REFUSED(s.concentration[4] = 0, "probabilities");
  REFUSED(s.release.n_values = 5, "value");
  REFUSED(s.release.kind = TACIT_RELEASE_SUM, "statistic");
  REFUSED(s.model.n_factors = 0, "levels");
#undef REFUSED
  bad = settings;
  bad.method = TACIT_AUGMENT_HMC;
  expect_refusal(&good, &bad, "method");
  scenario_moments(&s, 10, TACIT_RELEASE_LAPLACE, 2, 3, 4);
  bad.method = TACIT_AUGMENT_MARGINAL;
  expect_refusal(&s, &bad, "method");
  scenario_gaussian(&s, 10, 0.5, TACIT_RELEASE_DISCRETE_GAUSSIAN, 2, 3);
  s.release.step = 1.0 / 4096;
  s.release.upper = 1;
  expect_refusal(&s, &bad, "method");
  bad.method = TACIT_AUGMENT_HMC;
  expect_refusal(&s, &bad, "method");
  bad = settings;
  bad.n_chains = 0;
  expect_refusal(&good, &bad, "chains");
  bad = settings;
  bad.thin = 0;
  expect_refusal(&good, &bad, "draws");
  bad = settings;
  bad.n_threads = 0;
  expect_refusal(&good, &bad, "threads");
  bad = settings;
  bad.step_size = -1;
  expect_refusal(&good, &bad, "step-size");
  bad = settings;
  bad.method = TACIT_AUGMENT_HMC;
  bad.n_warmup = 0;
  expect_refusal(&good, &bad, "step-size");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_path_gradient_matches_differences),
      cmocka_unit_test(test_mass_is_arrow_plus_rank_one),
      cmocka_unit_test(test_mass_velocity_solves),
      cmocka_unit_test(test_adapted_paths_are_accepted_as_asked),
      cmocka_unit_test(test_record_acceptance_is_bounded_by_epsilon),
      cmocka_unit_test(test_accepts_is_the_metropolis_rule),
      cmocka_unit_test(test_sweep_keeps_the_statistic),
      cmocka_unit_test(test_log_factorial),
      cmocka_unit_test(test_poisson_and_gamma_laws),
      cmocka_unit_test(test_slice_leaves_a_normal_invariant),
      cmocka_unit_test(test_clamped_moments_match_sums),
      cmocka_unit_test(test_inversion_of_one_record_is_closed_form),
      cmocka_unit_test(test_inversion_matches_convolution),
      cmocka_unit_test(test_inversion_of_rounded_records),
      cmocka_unit_test(test_normal_law_of_sums_nears_the_exact_one),
      cmocka_unit_test(test_normal_law_of_moments),
      cmocka_unit_test(test_normal_law_under_laplace_noise),
      cmocka_unit_test(test_seeded_runs_repeat_on_any_number_of_threads),
      cmocka_unit_test(test_stopped_run_keeps_common_draws),
      cmocka_unit_test(test_auto_chooses_by_n),
      cmocka_unit_test(test_failed_allocations_are_errors),
      cmocka_unit_test(test_bad_models_and_releases_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
