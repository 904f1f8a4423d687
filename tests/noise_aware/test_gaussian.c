/* The parts of noise-aware linear regression against plain computations: shares, location, laws of residuals, rows kept, density. */
#include "noise_aware/gaussian.h"
#include "testing.h"

static double normal_below(double x) {
  return 0.5 * erfc(-x * 0.70710678118654752);
}

static void test_shares_are_of_one_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < 400; i++) {
    tacit_noise_aware_settings_t s = tacit_noise_aware_settings_default();
    s.family = TACIT_FAMILY_GAUSSIAN;
    s.relation = i % 2 == 0 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE;
    s.n_features = 1 + i % 20;
    s.n_units = pow(10, 1 + (double)(i % 7));
    s.rho = pow(10, (double)(i % 13) - 4);
    tacit_gaussian_shares_t shares = tacit_gaussian_shares(&s);
    tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS];
    size_t n = tacit_noise_aware_events(&s, events);
    double rho = 0;
    for (size_t k = 0; k < n; k++) {
      rho += 0.5 / (events[k].noise_multiplier * events[k].noise_multiplier);
    }
    assert_true(n >= 4 && n <= TACIT_NOISE_AWARE_N_EVENTS && shares.last >= 0.5 && shares.last < 0.93);
    assert_close(rho / s.rho, 1, 1e-12);
    s.relation = TACIT_RELATION_ADD_REMOVE;
    double present = tacit_gaussian_noise_ratio(&s);
    s.relation = TACIT_RELATION_SUBSTITUTE;
    assert_true(present < tacit_gaussian_noise_ratio(&s) && tacit_noise_aware_is_noisy(&s) == (tacit_gaussian_noise_ratio(&s) > 2));
  }
}

/* Expected counts of a normal response, and of one with seven values, of which a fine histogram shows nothing but spikes. */
static void test_a_histogram_tells_where_the_response_is(void **state) {
  (void)state;
  enum { n_cells = 256 };
  const double n = 5000, mean = 0.21, sd = 0.06;
  double counts[n_cells], spikes[n_cells] = {0}, below = 0, square = 0;
  for (size_t i = 0; i < n_cells; i++) {
    double up_to = normal_below((-1 + 2.0 * (double)(i + 1) / n_cells - mean) / sd);
    counts[i] = n * (up_to - below);
    below = up_to;
  }
  tacit_location_t at = tacit_locate(n_cells, counts, 5, n);
  assert_close(at.mean, mean, 0.02);
  assert_close(at.sd, sd, 0.02);
  assert_true(at.mean_error < 0.03 && at.log_error < 0.5);
  for (size_t k = 0; k < 7; k++) { /* as many of each: sd 2/3 */
    double y = -1 + (double)k / 3;
    spikes[(size_t)fmin((y + 1) / 2 * n_cells, n_cells - 1)] += n / 7;
    square += y * y / 7;
  }
  at = tacit_locate(n_cells, spikes, 5, n);
  assert_close(at.mean, 0, 0.2);
  assert_close(at.sd / sqrt(square), 1, 0.35);
}

/* P(|t Z| < c), and second and fourth moments of t Z clamped to +-c. */
static void clamped(double t, double c, double *inside, double *second, double *fourth) {
  double a = c / t, f = 0.3989422804014327 * exp(-0.5 * a * a);
  *inside = erf(a * 0.70710678118654752);
  *second = t * t * (*inside - 2 * a * f) + c * c * (1 - *inside);
  *fourth = pow(t, 4) * (3 * *inside - 2 * f * (a * a * a + 3 * a)) + pow(c, 4) * (1 - *inside);
}

static void test_tables_are_moments_of_clamped_residuals(void **state) {
  (void)state;
  tacit_law_t *law = malloc(sizeof *law);
  tacit_law_init(law);
  for (size_t k = 0; k < GAUSSIAN_SHAPES; k++) {
    double total = 0, mean = 0, square = 0;
    for (size_t i = 0; i < GAUSSIAN_GRID; i++) {
      total += law->mass[k][i];
      mean += law->mass[k][i] * law->x[i];
      square += law->mass[k][i] * law->x[i] * law->x[i];
    }
    assert_close(total, 1, 1e-12);
    assert_close(mean, 0, 0.01);
    assert_close(square, 1, k == 5 || k == 6 ? 0.12 : 0.02); /* t of 3 and 2.5: what is beyond 60 is cut to it */
  }
  tacit_law_learn(law, NULL, 0, 1000, 0);
  for (double c = 2.5; c < 6.5; c += 0.5) {
    tacit_law_tabulate(law, c);
    for (double t = 0.05; t < 3.5; t *= 1.3) {
      double inside, second, fourth;
      clamped(t, c, &inside, &second, &fourth);
      tacit_clamped_t at = tacit_law_at(law, 0, log(t));
      assert_close(at.inside, inside, 0.01);
      assert_close(at.second / second, 1, 0.01);
      assert_close(at.fourth / fourth, 1, 0.02);
      assert_close(tacit_law_second(law, 0, t, c) / second, 1, 0.005);
    }
  }
  free(law);
}

/* Counts of a shape at scale 0.8: it and the scale are found; far beyond the scales that are looked at no shape gains. */
static void test_a_histogram_tells_shape_and_scale(void **state) {
  (void)state;
  const double n = 20000, scale = 0.8, sds[] = {20, 300};
  tacit_law_t *law = malloc(sizeof *law);
  for (size_t k = 0; k < GAUSSIAN_SHAPES; k += 5) {
    double counts[GAUSSIAN_RESIDUAL_EDGES + 1] = {0}, hidden, hidden_sd, shift, shift_sd;
    tacit_law_init(law);
    for (size_t i = 0; i < GAUSSIAN_GRID; i++) {
      size_t cell = 0;
      while (cell < GAUSSIAN_RESIDUAL_EDGES && scale * law->x[i] >= tacit_residual_edges[cell]) {
        cell++;
      }
      counts[cell] += n * law->mass[k][i];
    }
    for (size_t i = 0; i < 2; i++) {
      tacit_law_learn(law, counts, sds[i], n, 0);
      assert_close(law->sd, scale, i == 0 ? 0.06 : 0.15); /* a core without its tails is narrower */
      assert_true(i > 0 || law->shape_weight[k] > 0.1);
      tacit_law_hidden(law, 4, &hidden, &hidden_sd);
      assert_true(i > 0 || (k == 5 ? hidden > 0.08 : hidden < 0.05)); /* 5: t of 3 degrees of freedom */
      tacit_law_asymmetry(law, 3, &shift, &shift_sd);
      assert_true(k == 0 || k == 5 ? fabs(shift) < 1e-3 : shift_sd > 0);
      for (size_t j = 0; j < GAUSSIAN_SHAPES; j++) {
        assert_true(tacit_law_profile(law, j, 5) <= 0 && tacit_law_profile(law, j, -5) <= 0);
        assert_true(tacit_law_profile(law, j, 10) <= tacit_law_profile(law, j, 5));
      }
    }
  }
  tacit_law_learn(law, NULL, 0, n, 0);
  assert_close(law->shape_weight[0], 0.46 / 1.0, 0.03);
  assert_close(tacit_law_profile(law, 0, -1), 0, 0);
  free(law);
}

/* Of normal rows, counted exactly: shares, and moments that weights keep. */
static void test_norms_tell_what_weights_keep(void **state) {
  (void)state;
  for (size_t d = 1; d <= 20; d += 3) {
    tacit_norms_t norms;
    tacit_norms_learn(&norms, d, NULL, 0, 1000);
    for (double radius = 1.5; radius < 4; radius += 0.5) {
      double once, twice, r = radius * sqrt((double)d);
      tacit_normal_rows(d, r, &once, &twice);
      tacit_kept_rows_t kept = tacit_norms_kept(&norms, r);
      assert_true(kept.twice <= kept.once && kept.once <= kept.whole * (1 + 1e-12) && kept.touched >= 0 && kept.touched < 0.25);
      assert_close(kept.once / once, 1, 0.05); /* norms are in cells */
      assert_close(kept.twice / twice, 1, 0.05);
      assert_true(kept.error >= 0 && twice <= once && once <= (double)d * (1 + 1e-9));
    }
  }
}

/* A posterior of known moments: at the truth the density is highest, and theta and sigma are those of the point. */
static double flat_prior(const void *ctx, const double *theta, double *grad) {
  (void)ctx, (void)theta, (void)grad;
  return 0;
}

static void test_the_density_is_highest_at_the_truth(void **state) {
  (void)state;
  enum { d = 3 };
  const tacit_parameters_t parameters = {.dim = d + 1, .log_prior = flat_prior};
  const double truth[d + 1] = {0.1, -0.3, 0.2, log(0.9)};
  tacit_law_t *law = malloc(sizeof *law);
  tacit_linear_posterior_t *p = calloc(1, sizeof *p);
  tacit_law_init(law);
  tacit_law_learn(law, NULL, 0, 1e6, 0);
  tacit_law_tabulate(law, 6);
  *p = (tacit_linear_posterior_t){.d = d, .dim = d + 1, .parameters = &parameters, .n = 1e6, .scale = 0.2, .kept_ratio = 1, .kept_twice = 1,
                                  .response_var = 1e-6, .square_var = 1e-6, .radii = {5, 6, 0, 0, 0}, .location = {0, 0, 0.2, 0, 1}, .law = law};
  for (size_t i = 0; i < d; i++) {
    p->moments[i * d + i] = p->slope[i * d + i] = p->shape[i * d + i] = p->factor[i * d + i] = 1;
    p->response[i] = truth[i];
  }
  p->square = 0.81;
  double highest = tacit_linear_log_density(p, truth, 0), theta[d + 1];
  for (size_t i = 0; i <= d; i++) {
    for (int sign = -1; sign <= 1; sign += 2) {
      double point[d + 1];
      memcpy(point, truth, sizeof point);
      point[i] += 0.01 * sign;
      assert_true(tacit_linear_log_density(p, point, 0) < highest - 5);
    }
  }
  assert_true(tacit_linear_unmap(p, truth, theta));
  for (size_t i = 0; i < d; i++) {
    assert_close(theta[i], 0.2 * truth[i], 1e-12);
  }
  assert_close(exp(theta[d]), 0.2 * sqrt(0.81 - 0.14), 1e-12); /* 0.14: what the step explains */
  const double beyond[d + 1] = {1, 1, 1, 0};
  assert_false(tacit_linear_unmap(p, beyond, theta));
  assert_true(tacit_linear_log_density(p, beyond, 0) < -1e300);
  free(p);
  free(law);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares_are_of_one_whole),
                                     cmocka_unit_test(test_a_histogram_tells_where_the_response_is),
                                     cmocka_unit_test(test_tables_are_moments_of_clamped_residuals),
                                     cmocka_unit_test(test_a_histogram_tells_shape_and_scale),
                                     cmocka_unit_test(test_norms_tell_what_weights_keep),
                                     cmocka_unit_test(test_the_density_is_highest_at_the_truth)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
