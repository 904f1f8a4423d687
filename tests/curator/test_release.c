/*
 * The privacy boundary: charge before compute, refusal, noise of the right distribution, what counts as zero,
 * and an empirical lower bound on epsilon that must stay below what is charged.
 */
#include <string.h>

#include "base/memory.h"
#include "data/records.h"
#include "support.h"

static void test_release_is_charged_then_refused(void **state) {
  (void)state;
  fixture_t f;
  open_private(&f, 100, 3, 2, TACIT_RELATION_SUBSTITUTE, NULL);
  tacit_error_t err;
  double theta[3] = {0.1, 0.2, 0.3}, out[3], sigma = 5;
  size_t n_granted = 0;
  tacit_status_t status;
  while ((status = tacit_curator_release_gradient(f.curator, 1, theta, sigma, out, &err)) == TACIT_OK) {
    n_granted++;
    assert_close(tacit_budget_rho_spent(f.budget), (double)n_granted / (2 * sigma * sigma), 1e-12);
  }
  assert_int_equal(status, TACIT_ERR_BUDGET);
  assert_true(out[0] >= 0 && out[0] <= 0); /* cleared */
  size_t expected = (size_t)(tacit_gaussian_rho(2, log(1e-6)) * 2 * sigma * sigma);
  assert_int_equal(n_granted, expected);
  tacit_curator_notes_t before = tacit_curator_notes(f.curator);
  assert_int_equal(tacit_curator_release_gradient(f.curator, 1, theta, sigma, out, &err), TACIT_ERR_BUDGET);
  assert_int_equal(tacit_curator_notes(f.curator).n_grad, before.n_grad); /* nothing was computed */
  close_private(&f);
}

static void test_bad_arguments_charge_nothing(void **state) {
  (void)state;
  fixture_t f;
  open_private(&f, 50, 2, 1, TACIT_RELATION_SUBSTITUTE, NULL);
  tacit_error_t err;
  double theta[2] = {NAN, 0}, good[2] = {0, 0}, out[2], sd;
  assert_int_equal(tacit_curator_release_gradient(f.curator, 1, theta, 9, out, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_curator_release_log_ratio(f.curator, 1, good, theta, 9, out, &sd, &err),
                   TACIT_ERR_ARGUMENT);
  double bad[] = {0, -1, NAN, INFINITY, 1e-30};
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(tacit_curator_release_gradient(f.curator, 1, good, bad[i], out, &err),
                     TACIT_ERR_ARGUMENT);
  }
  /* a pair that does not move is exactly 0, without noise and without charge */
  assert_ok(tacit_curator_release_log_ratio(f.curator, 1, good, good, 9, out, &sd, &err), err);
  assert_true(out[0] >= 0 && out[0] <= 0 && sd >= 0 && sd <= 0);
  assert_ok(tacit_curator_release_gradient(f.curator, 0, good, 9, out, &err), err);
  assert_true(tacit_budget_rho_spent(f.budget) <= 0);
  close_private(&f);
}

static void test_missing_bound_is_refused_before_charge(void **state) {
  (void)state;
  tacit_error_t err;
  fixture_t f;
  open_private(&f, 20, 2, 1, TACIT_RELATION_SUBSTITUTE, NULL);
  f.model.grad_bound = INFINITY;
  double theta[2] = {0}, prop[2] = {1, 0}, out[2], sd;
  assert_int_equal(tacit_curator_release_gradient(f.curator, 1, theta, 9, out, &err), TACIT_ERR_SENSITIVITY);
  assert_int_equal(tacit_curator_release_log_ratio(f.curator, 1, theta, prop, 9, out, &sd, &err),
                   TACIT_ERR_SENSITIVITY);
  assert_true(tacit_budget_rho_spent(f.budget) <= 0);
  close_private(&f);
}

static void test_n_is_private_under_add_remove(void **state) {
  (void)state;
  tacit_error_t err;
  fixture_t f;
  size_t n;
  open_private(&f, 20, 2, 1, TACIT_RELATION_ADD_REMOVE, NULL);
  assert_int_equal(tacit_curator_n_units(f.curator, &n, &err), TACIT_ERR_STATE);
  assert_int_equal(n, 0);
  assert_close(tacit_curator_sensitivity_factor(f.curator), 1, 0);
  close_private(&f);
  open_private(&f, 20, 2, 1, TACIT_RELATION_SUBSTITUTE, NULL);
  assert_ok(tacit_curator_n_units(f.curator, &n, &err), err);
  assert_int_equal(n, 20);
  assert_close(tacit_curator_sensitivity_factor(f.curator), 2, 0);
  close_private(&f);
}

/* Released minus exact: mean 0 and the stated sd, for gradients and ratios, both relations. */
static void check_noise_distribution(tacit_relation_t relation, double factor) {
  enum { repeats = 4000, p = 3 };
  tacit_error_t err;
  fixture_t f;
  open_private(&f, 300, p, 1e9, relation, NULL);
  tacit_curator_t *exposed;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = sqrt(p);
  assert_ok(tacit_curator_new_exposed(&exposed, support_logistic(300, p, 4), &f.model, &settings, &err), err);
  double theta[p] = {0.3, -0.2, 0.1}, prop[p] = {0.35, -0.2, 0.1}, truth[p], ratio, out[p], sd, sum[2] = {0},
         square[2] = {0};
  assert_ok(tacit_curator_release_gradient(exposed, 1, theta, 0, truth, &err), err);
  assert_ok(tacit_curator_release_log_ratio(exposed, 1, theta, prop, 0, &ratio, &sd, &err), err);
  for (int i = 0; i < repeats; i++) {
    assert_ok(tacit_curator_release_gradient(f.curator, 1, theta, 1.5, out, &err), err);
    for (size_t j = 0; j < p; j++) {
      double z = (out[j] - truth[j]) / (1.5 * factor * sqrt(p));
      sum[0] += z;
      square[0] += z * z;
    }
    assert_ok(tacit_curator_release_log_ratio(f.curator, 1, theta, prop, 0.7, out, &sd, &err), err);
    double c = tacit_curator_ratio_bound(f.curator, theta, prop);
    assert_close(sd, 0.7 * factor * c, 1e-8);
    sum[1] += (out[0] - ratio) / sd;
    square[1] += (out[0] - ratio) / sd * ((out[0] - ratio) / sd);
  }
  for (int kind = 0; kind < 2; kind++) { /* two-sided 5.5 sigma: false alarm below 1e-7 */
    double n = kind == 0 ? repeats * p : repeats;
    assert_close(sum[kind] / sqrt(n), 0, 5.5);
    assert_close((square[kind] / n - 1) * sqrt(n / 2), 0, 5.5);
  }
  tacit_curator_free(exposed);
  close_private(&f);
}

static void test_noise_has_the_charged_scale(void **state) {
  (void)state;
  check_noise_distribution(TACIT_RELATION_SUBSTITUTE, 2);
  check_noise_distribution(TACIT_RELATION_ADD_REMOVE, 1);
}

static void test_records_that_are_not_finite_count_as_zero(void **state) {
  (void)state;
  enum { p = 3 };
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_POISSON, p, 1, 0);
  tacit_error_t err;
  double sums[2][p], ratios[2], sd, theta[p] = {0.1, 0.2, 0.3}, prop[p] = {0.2, 0.2, 0.2};
  double bad[] = {NAN, INFINITY, -INFINITY, 1e300, 1e30};
  for (size_t clip = 0; clip < 2; clip++) {
    for (size_t b = 0; b < 5; b++) {
      for (int with = 0; with < 2; with++) {
        tacit_records_t *records;
        assert_ok(tacit_records_new(&records, (size_t)(with ? 18 : 17), p + 1, &err), err);
        for (size_t i = 0; i < 17; i++) {
          double x[p + 1] = {1, (double)i / 17, -(double)i / 20, (double)(i % 4)};
          tacit_records_set(records, i, x);
        }
        if (with) {
          double x[p + 1] = {1, bad[b], 0, 1};
          tacit_records_set(records, 17, x);
        }
        tacit_curator_settings_t settings = tacit_curator_settings_default();
        settings.clip_bound_grad = clip ? 2 : 0;
        tacit_curator_t *curator;
        assert_ok(tacit_curator_new_exposed(&curator, records, &model, &settings, &err), err);
        assert_ok(tacit_curator_release_gradient(curator, 1, theta, 0, sums[with], &err), err);
        assert_ok(tacit_curator_release_log_ratio(curator, 1, theta, prop, 0, &ratios[with], &sd, &err), err);
        tacit_curator_free(curator);
      }
      assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
      assert_memory_equal(&ratios[0], &ratios[1], sizeof ratios[0]);
    }
  }
}

/* The exposed sums against double-precision sums over the same float32 records. */
static void test_exposed_sums_are_accurate(void **state) {
  (void)state;
  enum { n = 5000, p = 4 };
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, p, 1, 0);
  tacit_error_t err;
  tacit_records_t *records = support_logistic(n, p, 8);
  double theta[p] = {-1, 0.5, 2, -0.25}, prop[p] = {-0.9, 0.4, 2.2, -0.2}, grad[p] = {0}, ratio = 0, out[p],
         sd, power = 0.5;
  for (size_t i = 0; i < n; i++) {
    const float *block = tacit_records_block(records, i / 16);
    double eta[2] = {0}, y = (double)block[p * 16 + i % 16];
    for (size_t j = 0; j < p; j++) {
      double x = (double)block[j * 16 + i % 16];
      eta[0] += x * theta[j];
      eta[1] += x * prop[j];
    }
    for (size_t j = 0; j < p; j++) {
      grad[j] += power * (y - 1 / (1 + exp(-eta[0]))) * (double)block[j * 16 + i % 16];
    }
    ratio += power * (y * (eta[1] - eta[0]) - log1p(exp(eta[1])) + log1p(exp(eta[0])));
  }
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.temperature_power = power;
  tacit_curator_t *curator;
  assert_ok(tacit_curator_new_exposed(&curator, records, &model, &settings, &err), err);
  assert_ok(tacit_curator_release_gradient(curator, 1, theta, 0, out, &err), err);
  for (size_t j = 0; j < p; j++) {
    assert_close(out[j], grad[j], 2e-3);
  }
  assert_ok(tacit_curator_release_log_ratio(curator, 1, theta, prop, 0, out, &sd, &err), err);
  assert_close(out[0], ratio, n * 0x1p-33 + 1e-9);
  tacit_curator_free(curator);
}

static void test_failed_allocations_release_nothing(void **state) {
  (void)state;
  tacit_error_t err;
  double theta[3] = {0}, prop[3] = {0.1, 0, 0}, out[3], sd;
  for (size_t k = 1; k < 60; k++) {
    tacit_glm_kernel_t kernel;
    tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, 3, 1, 0);
    tacit_records_t *records = support_logistic(10, 3, 4);
    tacit_curator_t *curator;
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_curator_new_exposed(&curator, records, &model, NULL, &err);
    if (status == TACIT_OK) {
      status = tacit_curator_release_gradient(curator, 1, theta, 1, out, &err);
    }
    if (status == TACIT_OK) {
      status = tacit_curator_release_log_ratio(curator, 1, theta, prop, 1, out, &sd, &err);
    }
    tacit_alloc_fail_at(0);
    assert_true(status == TACIT_OK || status == TACIT_ERR_MEMORY);
    tacit_curator_free(curator);
    if (status == TACIT_OK) {
      return;
    }
  }
  fail_msg("an allocation failed in every round");
}

/*
 * An adversary who knows everything but one record, and sees one gradient release, decides between worst-case
 * neighbours by the likelihood ratio. A lower confidence limit (Hoeffding, 1e-7) of the delta that a test at
 * this epsilon achieves must not exceed the charged delta, and must come near it, or the audit could not see
 * a fault.
 */
static double audited_delta(double noise_multiplier, double epsilon, double *limit_below) {
  enum { repeats = 200000 };
  tacit_record_model_t model = support_echo();
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = 1;
  tacit_error_t err;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  assert_ok(tacit_budget_new(&budget, 1e9, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(tacit_noise_new_seeded_not_private(&noise, 77, &err),
            err); /* a secret source is slower by design, and of the same distribution */
  double share[2] = {0}, theta[3] = {0}, out[3];
  for (int side = 0; side < 2; side++) {
    tacit_records_t *records;
    assert_ok(tacit_records_new(&records, 1, 3, &err), err);
    double x[3] = {side == 0 ? -8 : 8, 0, 0}; /* clipped to gradients -1 and +1 */
    tacit_records_set(records, 0, x);
    tacit_curator_t *curator;
    assert_ok(tacit_curator_new(&curator, records, &model, budget, noise, &settings, &err), err);
    /* log p_0/p_1 of N(-1, s^2) against N(+1, s^2), s = 2 noise_multiplier, exceeds epsilon below this */
    double threshold = -epsilon * 4 * noise_multiplier * noise_multiplier / 2;
    for (int i = 0; i < repeats; i++) {
      assert_ok(tacit_curator_release_gradient(curator, 1, theta, noise_multiplier, out, &err), err);
      share[side] += (out[0] <= threshold) / (double)repeats;
    }
    tacit_curator_free(curator);
  }
  tacit_noise_free(noise);
  tacit_budget_free(budget);
  double delta = share[0] - exp(epsilon) * share[1];
  *limit_below = delta - (1 + exp(epsilon)) * sqrt(log(1e7) / (2.0 * repeats));
  return delta;
}

static void test_empirical_epsilon_stays_below_charge(void **state) {
  (void)state;
  double sigmas[] = {0.5, 1, 2};
  for (size_t i = 0; i < 3; i++) {
    double rho = 1 / (2 * sigmas[i] * sigmas[i]), epsilon = 0.5, lower;
    double delta = audited_delta(sigmas[i], epsilon, &lower), charged = tacit_gaussian_delta(rho, epsilon);
    print_message("sigma %.1f: delta(%.1f) charged %.5f, attained %.5f (at least %.5f)\n", sigmas[i], epsilon,
                  charged, delta, lower);
    assert_true(lower <= charged);
    assert_true(delta >= charged - (1 + exp(epsilon)) * sqrt(log(1e7) / (2.0 * 200000)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_release_is_charged_then_refused),
      cmocka_unit_test(test_bad_arguments_charge_nothing),
      cmocka_unit_test(test_missing_bound_is_refused_before_charge),
      cmocka_unit_test(test_n_is_private_under_add_remove),
      cmocka_unit_test(test_noise_has_the_charged_scale),
      cmocka_unit_test(test_records_that_are_not_finite_count_as_zero),
      cmocka_unit_test(test_exposed_sums_are_accurate),
      cmocka_unit_test(test_failed_allocations_release_nothing),
      cmocka_unit_test(test_empirical_epsilon_stays_below_charge),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
