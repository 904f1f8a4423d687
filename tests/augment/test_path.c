/* Hamiltonian paths: the gradient against differences, the mass against dense matrices, acceptance as asked.
 */
#include "support.h"

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
    total += -(m->variance_shape + 1) * 2 * path->log_sd - m->variance_scale * exp(-2 * path->log_sd) +
             2 * path->log_sd;
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
 * Known sd: M^-1 p of the small matrix and the identity, mapped by x = mean + sd z, against a dense solve
 * with the arrow plus rank one in (theta, x): A_tt = 1/s0^2 + n/sx^2, A_ti = -1/sx^2, A_ij = [i=j]/sx^2 + u_i
 * u_j/scale^2.
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_path_gradient_matches_differences),
      cmocka_unit_test(test_mass_is_arrow_plus_rank_one),
      cmocka_unit_test(test_mass_velocity_solves),
      cmocka_unit_test(test_adapted_paths_are_accepted_as_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
