/* Summaries against ArviZ, closed forms and invariances. */
#include "testing.h"

#include <float.h>
#include <string.h>

#include "base/memory.h"
#include "diagnose/diagnose_internal.h"

typedef struct reference_case {
  const char *name;
  size_t n_chains, n_draws;
  double ar, offset, shift, scale, unit;
  int is_heavy;
  double expected[9]; /* mean, sd, mcse_mean, q5, q50, q95, ess_bulk, ess_tail, rhat */
} reference_case_t;

#include "reference.h"

static double uniform(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 11) * 0x1p-53;
}

static double bell(uint64_t *state) {
  double total = 0;
  for (int k = 0; k < 12; k++) {
    total += uniform(state);
  }
  return total - 6;
}

/* The chains of reference.py. */
static double *make_chains(const reference_case_t *r, uint64_t seed) {
  double *x = malloc(r->n_chains * r->n_draws * sizeof *x);
  assert_non_null(x);
  uint64_t state = seed;
  for (size_t c = 0; c < r->n_chains; c++) {
    double state_x = 0;
    for (size_t i = 0; i < r->n_draws; i++) {
      state_x = r->ar * state_x + bell(&state);
      double value = r->is_heavy ? state_x / (1 - uniform(&state)) : state_x;
      value = r->offset + r->shift * (double)c + (1 + r->scale * (double)c) * value;
      x[c * r->n_draws + i] = r->unit > 0 ? floor(value / r->unit) * r->unit : value;
    }
  }
  return x;
}

static void as_array(const tacit_summary_t *s, double out[9]) {
  double values[9] = {s->mean, s->sd, s->mcse_mean, s->q5, s->q50, s->q95, s->ess_bulk, s->ess_tail, s->rhat};
  memcpy(out, values, sizeof values);
}

static void test_summarise_reference_matches_arviz(void **state) {
  static const char *const fields[9] = {"mean", "sd",       "mcse_mean", "q5",  "q50",
                                        "q95",  "ess_bulk", "ess_tail",  "rhat"};
  for (size_t i = 0; i < sizeof reference_cases / sizeof reference_cases[0]; i++) {
    const reference_case_t *r = &reference_cases[i];
    double *x = make_chains(r, i + 1), actual[9];
    tacit_error_t err;
    tacit_summary_t summary;
    assert_ok(tacit_summarise(x, r->n_chains, r->n_draws, &summary, &err), err);
    as_array(&summary, actual);
    for (int k = 0; k < 9; k++) {
      /* Around an offset of 10^6 the reference itself keeps about ten digits of the spread. */
      double tolerance = (r->offset > 1e3 ? 1e-8 : 1e-11) * (1 + fabs(r->expected[k]));
      if (!(fabs(actual[k] - r->expected[k]) <= tolerance)) {
        fail_msg("%s: %s = %.17g, expected %.17g", r->name, fields[k], actual[k], r->expected[k]);
      }
    }
    free(x);
  }
}

static void test_normal_quantile_matches_high_precision(void **state) {
  /* 60-digit roots of Phi(z) = p for the double p. */
  static const double table[][2] = {
      {1e-300, -37.047096299361199237},  {1e-100, -21.273453560965324294}, {1e-20, -9.2623400897984075796},
      {2.9e-11, -6.5488032073675550791}, {1e-10, -6.3613409024040561991},  {1e-5, -4.2648907939228246102},
      {0.001, -3.0902323061678135354},   {0.0749, -1.4402382675279636631}, {0.0751, -1.4388253927525399824},
      {0.1, -1.2815515655446004353},     {0.25, -0.6744897501960817432},   {0.4, -0.25334710313579974132},
      {0.49, -0.025068908258711058033},  {0.9, 1.2815515655446005935},     {0.925, 1.4395314709384562291},
      {0.99, 2.3263478740408407676},     {0.999999, 4.7534243088170877657}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    assert_close(tacit_normal_quantile(table[i][0]), table[i][1], 2e-15 * fabs(table[i][1]));
  }
  assert_true(tacit_normal_quantile(0.5) == 0);
  assert_true(tacit_normal_quantile(0) == -INFINITY);
  assert_true(tacit_normal_quantile(1) == INFINITY);
  assert_true(isnan(tacit_normal_quantile(-DBL_MIN)));
  assert_true(isnan(tacit_normal_quantile(1 + DBL_EPSILON)));
  assert_true(isnan(tacit_normal_quantile(NAN)));
}

static double any_double(uint64_t *state) {
  static const double corners[] = {0,       -0.0,     DBL_MIN,  -DBL_MIN,  0x1p-1074, -0x1p-1074,
                                   DBL_MAX, -DBL_MAX, INFINITY, -INFINITY, 1,         -1};
  double u = uniform(state);
  return u < 0.3 ? corners[(size_t)(u / 0.3 * 12)] : ldexp(bell(state), (int)(200 * uniform(state)) - 100);
}

static void test_rank_sort_random_input_is_ordered_and_stable(void **state) {
  uint64_t seed = 11;
  size_t n_rounds = (size_t)(200 * testing_multiplier());
  for (size_t round = 0; round < n_rounds; round++) {
    double x[300];
    tacit_ranked_t sorted[300], scratch[300];
    size_t n = (size_t)(300 * uniform(&seed));
    bool seen[300] = {false};
    for (size_t i = 0; i < n; i++) {
      x[i] = any_double(&seed);
    }
    tacit_rank_sort(x, n, sorted, scratch);
    for (size_t i = 0; i < n; i++) {
      assert_false(seen[sorted[i].index]);
      seen[sorted[i].index] = true;
      if (i > 0) {
        double a = x[sorted[i - 1].index], b = x[sorted[i].index];
        assert_true(a <= b);
        assert_int_equal(a == b, sorted[i - 1].key == sorted[i].key);
        assert_true(a < b || sorted[i - 1].index < sorted[i].index);
      }
    }
  }
}

static void test_normal_scores_ties_share_their_average_rank(void **state) {
  double x[5] = {2, 1, 2, 0.0, -0.0}, z[5];
  tacit_ranked_t sorted[5], scratch[5];
  tacit_rank_sort(x, 5, sorted, scratch);
  tacit_rank_normal_scores(5, sorted, z);
  double ranks[5] = {4.5, 3, 4.5, 1.5, 1.5};
  for (int i = 0; i < 5; i++) {
    assert_close(z[i], tacit_normal_quantile((ranks[i] - 0.375) / 5.25), 1e-15);
  }
}

static void test_fold_orders_distances_as_sorting_them_does(void **state) {
  uint64_t seed = 12;
  for (size_t round = 0; round < 200; round++) {
    double x[50], distance[50];
    tacit_ranked_t sorted[50], scratch[50], folded[50];
    size_t n = 1 + (size_t)(49 * uniform(&seed));
    for (size_t i = 0; i < n; i++) {
      x[i] = round % 2 == 0 ? floor(5 * uniform(&seed)) : bell(&seed); /* with ties, or without */
    }
    tacit_rank_sort(x, n, sorted, scratch);
    double centre = tacit_quantile_sorted(sorted, x, n, uniform(&seed));
    tacit_rank_fold(x, n, centre, sorted, folded);
    for (size_t i = 0; i < n; i++) {
      distance[i] = fabs(x[i] - centre);
    }
    tacit_rank_sort(distance, n, sorted, scratch);
    bool seen[50] = {false};
    for (size_t i = 0; i < n; i++) {
      assert_int_equal(folded[i].key, sorted[i].key);
      assert_true(distance[folded[i].index] == distance[sorted[i].index]);
      assert_false(seen[folded[i].index]);
      seen[folded[i].index] = true;
    }
  }
}

static void test_quantile_sorted_is_type_7(void **state) {
  double x[4] = {4, 1, 3, 2};
  tacit_ranked_t sorted[4], scratch[4];
  tacit_rank_sort(x, 4, sorted, scratch);
  assert_close(tacit_quantile_sorted(sorted, x, 4, 0), 1, 0);
  assert_close(tacit_quantile_sorted(sorted, x, 4, 0.05), 1.15, 1e-15);
  assert_close(tacit_quantile_sorted(sorted, x, 4, 0.5), 2.5, 1e-15);
  assert_close(tacit_quantile_sorted(sorted, x, 4, 1), 4, 0);
  assert_close(tacit_quantile_sorted(sorted + 1, x, 1, 0.3), 2, 0);
}

static void test_autocov_equals_the_direct_sum(void **state) {
  uint64_t seed = 5;
  for (size_t n = 1; n <= 70; n++) {
    size_t n_series = 1 + n % 5;
    double x[5 * 70], mean[5], acov[70], few[70];
    for (size_t i = 0; i < n_series * n; i++) {
      x[i] = bell(&seed);
    }
    for (size_t c = 0; c < n_series; c++) {
      mean[c] = tacit_mean(x + c * n, n);
    }
    tacit_autocov_t work;
    tacit_error_t err;
    assert_ok(tacit_autocov_init(&work, n, &err), err);
    tacit_autocov_mean(&work, x, mean, n_series, acov);
    tacit_autocov_first(x, mean, n_series, n, n, few);
    for (size_t t = 0; t < n; t++) {
      double direct = 0;
      for (size_t c = 0; c < n_series; c++) {
        for (size_t i = 0; i + t < n; i++) {
          direct += (x[c * n + i] - mean[c]) * (x[c * n + i + t] - mean[c]);
        }
      }
      assert_close(acov[t], direct / (double)(n * n_series), 1e-13);
      assert_close(few[t], direct / (double)(n * n_series), 1e-13);
    }
    tacit_autocov_clear(&work);
  }
}

static void test_summarise_autoregression_has_the_known_ess(void **state) {
  /*
   * An AR(1) chain of N draws is worth N (1 - a) / (1 + a). With N = 4 x 20000 the estimate spreads by
   * about 3 %; 20 % is more than six standard deviations.
   */
  for (int k = -1; k <= 1; k++) {
    reference_case_t r = {.n_chains = 4, .n_draws = 20000, .ar = 0.5 * k};
    double *x = make_chains(&r, 77);
    tacit_error_t err;
    tacit_summary_t s;
    assert_ok(tacit_summarise(x, 4, 20000, &s, &err), err);
    double expected = 80000 * (1 - r.ar) / (1 + r.ar);
    assert_close(s.ess_bulk / expected, 1, 0.2);
    assert_close(s.mcse_mean, s.sd / sqrt(expected), 0.1 * s.mcse_mean);
    assert_close(s.rhat, 1, 0.002);
    free(x);
  }
}

static void assert_undefined(const tacit_summary_t *s) {
  assert_true(isnan(s->mcse_mean) && isnan(s->ess_bulk) && isnan(s->ess_tail) && isnan(s->rhat));
}

static void test_summarise_constant_has_mean_but_no_diagnostics(void **state) {
  tacit_error_t err;
  tacit_summary_t s;
  static const double values[] = {0, 0.1, -3, 0x1p-1074, DBL_MAX};
  for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
    double x[20];
    for (int i = 0; i < 20; i++) {
      x[i] = values[v];
    }
    assert_ok(tacit_summarise(x, 2, 10, &s, &err), err);
    assert_true(s.mean == values[v] && s.sd == 0 && s.q5 == values[v] && s.q95 == values[v]);
    assert_undefined(&s);
  }
}

static void test_summarise_not_finite_is_undefined(void **state) {
  tacit_error_t err;
  tacit_summary_t s;
  static const double values[] = {NAN, INFINITY, -INFINITY};
  for (int v = 0; v < 3; v++) {
    double x[8] = {1, 2, 3, 4, 5, 6, 7, values[v]};
    assert_ok(tacit_summarise(x, 2, 4, &s, &err), err);
    assert_true(isnan(s.mean) && isnan(s.sd) && isnan(s.q50));
    assert_undefined(&s);
  }
}

static void test_summarise_ends_of_intervals(void **state) {
  tacit_error_t err;
  tacit_summary_t s;
  double x[201];
  for (int i = 0; i < 201; i++) {
    x[i] = (37 * i) % 201; /* 0 .. 200 in some order */
  }
  assert_ok(tacit_summarise(x, 1, 201, &s, &err), err);
  assert_true(s.q2_5 == 5 && s.q5 == 10 && s.q50 == 100 && s.q95 == 190 && s.q97_5 == 195);
}

static void test_summarise_few_draws(void **state) {
  tacit_error_t err;
  tacit_summary_t s;
  double x[6] = {1, 2, 4, 8, 16, 32};
  assert_ok(tacit_summarise(NULL, 4, 0, &s, &err), err);
  assert_true(isnan(s.mean) && isnan(s.sd) && isnan(s.q5));
  assert_undefined(&s);
  assert_ok(tacit_summarise(NULL, 0, 100, &s, &err), err);
  assert_true(isnan(s.mean));
  assert_ok(tacit_summarise(x, 1, 1, &s, &err), err);
  assert_true(s.mean == 1 && isnan(s.sd) && s.q5 == 1 && s.q95 == 1);
  assert_undefined(&s);
  assert_ok(tacit_summarise(x, 2, 3, &s, &err), err);
  assert_close(s.mean, 10.5, 1e-15);
  assert_close(s.sd, sqrt(703.5 / 5), 1e-14);
  assert_close(s.q50, 6, 0);
  assert_undefined(&s);
  assert_int_equal(tacit_summarise(x, SIZE_MAX / 2, 4, &s, &err), TACIT_ERR_MEMORY);
}

static void test_summarise_stuck_chains_never_look_converged(void **state) {
  double x[16];
  for (int i = 0; i < 16; i++) {
    x[i] = i / 8;
  }
  tacit_error_t err;
  tacit_summary_t s;
  assert_ok(tacit_summarise(x, 2, 8, &s, &err), err);
  assert_true(s.rhat == INFINITY || isnan(s.rhat));
  assert_true(isnan(s.ess_tail) || s.ess_tail < 8);
}

static void test_summarise_scaling_by_powers_of_two_is_exact(void **state) {
  reference_case_t r = {.n_chains = 3, .n_draws = 101, .ar = 0.4};
  double *x = make_chains(&r, 9), *y = malloc(303 * sizeof *y);
  assert_non_null(y);
  tacit_error_t err;
  tacit_summary_t a, b;
  assert_ok(tacit_summarise(x, 3, 101, &a, &err), err);
  static const int powers[] = {-900, -1, 1, 1019};
  for (int p = 0; p < 4; p++) {
    for (int i = 0; i < 303; i++) {
      y[i] = ldexp(x[i], powers[p]);
    }
    assert_ok(tacit_summarise(y, 3, 101, &b, &err), err);
    assert_true(b.mean == ldexp(a.mean, powers[p]) && b.sd == ldexp(a.sd, powers[p]));
    assert_true(b.mcse_mean == ldexp(a.mcse_mean, powers[p]) && b.q95 == ldexp(a.q95, powers[p]));
    assert_true(b.ess_bulk == a.ess_bulk && b.ess_tail == a.ess_tail && b.rhat == a.rhat);
  }
  for (int i = 0; i < 303; i++) {
    y[i] = exp(x[i]);
  }
  assert_ok(tacit_summarise(y, 3, 101, &b, &err), err);
  assert_true(b.ess_bulk == a.ess_bulk && b.ess_tail == a.ess_tail);
  free(x);
  free(y);
}

static void test_draws_summarise_leaves_warmup_and_unsaved_rows_out(void **state) {
  tacit_error_t err;
  tacit_draws_t draws;
  assert_ok(tacit_draws_init(&draws, 2, 5, 50, 3, &err), err);
  draws.n_saved = 5 + 20;
  double x[40];
  uint64_t seed = 3;
  for (size_t c = 0; c < 2; c++) {
    for (size_t i = 0; i < 55; i++) {
      double value = bell(&seed);
      bool is_kept = i >= 5 && i < 25;
      tacit_draws_row(&draws, c, i)[1] = is_kept ? value : 1e9;
      if (is_kept) {
        x[c * 20 + i - 5] = value;
      }
    }
  }
  tacit_summary_t a, b;
  assert_ok(tacit_draws_summarise(&draws, 1, &a, &err), err);
  assert_ok(tacit_summarise(x, 2, 20, &b, &err), err);
  assert_memory_equal(&a, &b, sizeof a);
  assert_int_equal(tacit_draws_summarise(&draws, 3, &a, &err), TACIT_ERR_ARGUMENT);
  assert_string_equal(err.field, "j");
  for (size_t k = 1;; k++) {
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_draws_summarise(&draws, 1, &a, &err);
    tacit_alloc_fail_at(0);
    if (status == TACIT_OK) {
      assert_true(k > 5);
      break;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
  }
  tacit_draws_clear(&draws);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_summarise_reference_matches_arviz),
      cmocka_unit_test(test_normal_quantile_matches_high_precision),
      cmocka_unit_test(test_rank_sort_random_input_is_ordered_and_stable),
      cmocka_unit_test(test_fold_orders_distances_as_sorting_them_does),
      cmocka_unit_test(test_normal_scores_ties_share_their_average_rank),
      cmocka_unit_test(test_quantile_sorted_is_type_7),
      cmocka_unit_test(test_autocov_equals_the_direct_sum),
      cmocka_unit_test(test_summarise_autoregression_has_the_known_ess),
      cmocka_unit_test(test_summarise_constant_has_mean_but_no_diagnostics),
      cmocka_unit_test(test_summarise_not_finite_is_undefined),
      cmocka_unit_test(test_summarise_few_draws),
      cmocka_unit_test(test_summarise_ends_of_intervals),
      cmocka_unit_test(test_summarise_stuck_chains_never_look_converged),
      cmocka_unit_test(test_summarise_scaling_by_powers_of_two_is_exact),
      cmocka_unit_test(test_draws_summarise_leaves_warmup_and_unsaved_rows_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
