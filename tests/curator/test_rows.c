/*
 * Sums over weighted rows: the integers that are actually summed differ by no more than what is charged for,
 * over random and adversarial pairs of records, and worst cases come close to it; values agree with a plain
 * sum; charge before compute.
 */
#include <string.h>

#include "data/records.h"
#include "row_testing.h"

enum { max_features = 12, max_rows = 5, max_sums = (max_features + 1) * (max_features + 2) / 2 };

typedef enum kind { SECOND_MOMENTS, SCORE, INFORMATION, SQUARES, CAPPED, JOINT } kind_t;

/* A point at which responses are predicted; JOINT: the residual's theta, scale (upper) and reach; CAPPED:
 * reach is the cap. */
typedef struct fit {
  int family;
  double upper;
  const double *theta;
  double reach;
} fit_t;

typedef struct release {
  kind_t kind;
  tacit_row_weighting_t rows;
  fit_t fit;
} release_t;

static tacit_status_t make(tacit_curator_t *curator, const release_t *r, double noise_multiplier, double *out,
                           double *sd, tacit_error_t *err) {
  tacit_row_residual_t residual = {r->fit.theta, curator->model->n_features, r->fit.upper, r->fit.reach};
  tacit_score_point_t point = {r->fit.family,  r->fit.upper,   r->fit.theta,
                               r->rows.whiten, r->rows.radius, r->kind == CAPPED ? r->fit.reach : 0};
  switch (r->kind) {
  case SECOND_MOMENTS:
    return tacit_curator_release_second_moments(curator, &r->rows, noise_multiplier, out, sd, err);
  case SCORE:
    return tacit_curator_release_score(curator, &point, noise_multiplier, out, sd, err);
  case INFORMATION:
    return tacit_curator_release_information(curator, &point, noise_multiplier, out, sd, err);
  case JOINT:
    return tacit_curator_release_joint_moments(curator, &r->rows, &residual, noise_multiplier, out, sd, err);
  default:
    return tacit_curator_release_score_squares(curator, &point, noise_multiplier, out, sd, err);
  }
}

static size_t n_sums(const release_t *r, size_t d) {
  return r->kind == JOINT ? (d + 1) * (d + 2) / 2 : r->kind == SCORE ? d : d * (d + 1) / 2;
}

/* The integers of one unit of n records. */
static void integers(const release_t *r, size_t d, size_t n, const double *records, int64_t *out) {
  tacit_error_t err;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, d, 1, 0);
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  tacit_curator_t *curator;
  double values[max_sums], sd;
  size_t offsets[2] = {0, n};
  tacit_records_t *owned = records_of(n, d + 1, records);
  if (n > 1) {
    settings.max_unit_rows = n;
    assert_ok(tacit_records_set_units(owned, offsets, 1, &err), err);
  }
  assert_ok(tacit_curator_new_exposed(&curator, owned, &model, &settings, &err), err);
  assert_ok(make(curator, r, 1, values, &sd, &err), err);
  assert_true(sd >= 0 && sd <= 0);
  for (size_t i = 0; i < n_sums(r, d); i++) {
    out[i] = (int64_t)curator->door->sums[i];
  }
  tacit_curator_free(curator);
}

/*
 * Pairs of units of up to n_rows records: the distance of their integers, and the length of one's, as shares
 * of what is charged for under substitution and under add-remove. Leaving a row's weight out, or q, or a
 * unit's other rows, exceeds it.
 */
static void check_pairs(kind_t kind, size_t d, size_t n_rows, bool is_whitened, double least) {
  support_rng_t rng = {d * 10 + (size_t)kind};
  double whiten[max_features * max_features], theta[max_features], worst = 0, longest = 0;
  double a[max_rows * (max_features + 1)], b[max_rows * (max_features + 1)];
  tacit_door_shape_t shape = {
      kind == SCORE ? TACIT_SHAPE_BALL : TACIT_SHAPE_SQUARES, d + (kind == JOINT), 1 << 22, 0, 0, 0};
  double limit = tacit_door_shape_sensitivity(&shape, TACIT_DOOR_GAUSSIAN, true);
  double share = tacit_door_shape_sensitivity(&shape, TACIT_DOOR_GAUSSIAN, false) / limit;
  size_t n_pairs = (size_t)(3000 * testing_multiplier_at_least(0.7));
  for (size_t pair = 0; pair < n_pairs; pair++) {
    for (size_t i = 0; i < d * d; i++) {
      whiten[i] = i / d == i % d  ? support_uniform(&rng, 0.5, 6)
                  : i % d < i / d ? support_uniform(&rng, -2, 2)
                                  : 0;
    }
    for (size_t j = 0; j < d; j++) {
      theta[j] = 3 * support_normal(&rng);
    }
    release_t r = {
        kind,
        {is_whitened ? whiten : NULL, is_whitened ? support_uniform(&rng, 0.1, 3) : 0.4 * sqrt((double)d)},
        {TACIT_FAMILY_BERNOULLI, 1, theta, support_uniform(&rng, 0.01, 3)}};
    int64_t from[max_sums], to[max_sums];
    for (size_t i = 0; i < n_rows; i++) {
      any_record(&rng, d, r.fit.upper, a + i * (d + 1));
      any_record(&rng, d, r.fit.upper, b + i * (d + 1));
      for (size_t j = 1; j <= d && kind == SCORE && pair % 2 == 0; j++) {
        b[i * (d + 1) + j] =
            j < d ? a[i * (d + 1) + j] : 1 - a[i * (d + 1) + j]; /* the same row with the other response */
      }
    }
    integers(&r, d, n_rows, a, from);
    integers(&r, d, n_rows, b, to);
    double square = 0, length = 0;
    for (size_t i = 0, row = 0, column = 0; i < n_sums(&r, d);
         i++) { /* entries off a matrix's diagonal count twice */
      double difference = (double)(to[i] - from[i]), own = (double)from[i],
             weight = kind != SCORE && row != column ? 2 : 1;
      square += weight * difference * difference;
      length += weight * own * own;
      row += ++column == shape.dim;
      column = column == shape.dim ? row : column;
    }
    assert_true(square <= limit * limit * (1 + 1e-12) &&
                length <= share * share * limit * limit * (1 + 1e-12));
    worst = fmax(worst, sqrt(square) / limit);
    longest = fmax(longest, sqrt(length) / limit / share);
  }
  if (!(worst >= least && longest >= 0.95)) {
    fail_msg("kind %d, %zu features: the worst pair reaches only %g of the bound, the longest %g", (int)kind,
             d, worst, longest);
  }
}

static void test_no_pair_of_units_exceeds_the_sensitivity(void **state) {
  (void)state;
  check_pairs(SECOND_MOMENTS, 3, 1, false, 0.9);
  check_pairs(SECOND_MOMENTS, 5, 1, true, 0.9);
  check_pairs(SECOND_MOMENTS, 4, 5, true, 0.85);
  check_pairs(SCORE, 4, 1, false, 0.8);
  check_pairs(SCORE, 6, 1, true, 0.95);
  check_pairs(SCORE, 3, 4, true, 0.8);
  check_pairs(INFORMATION, 5, 1, true, 0.9);
  check_pairs(INFORMATION, 4, 3, true, 0.85);
  check_pairs(SQUARES, 4, 1, true, 0.9);
  check_pairs(SQUARES, 3, 4, true, 0.7);
  check_pairs(CAPPED, 4, 1, true, 0.9);
  check_pairs(CAPPED, 3, 4, true, 0.7);
  check_pairs(JOINT, 3, 1, true, 0.9);
  check_pairs(JOINT, 6, 1, true, 0.9);
  check_pairs(JOINT, 3, 4, true, 0.8);
}

/* Sums in plain double arithmetic, without a lattice. */
static void plain_sum(const release_t *r, size_t n, size_t d, const double *x, double *out) {
  memset(out, 0, n_sums(r, d) * sizeof *out);
  for (size_t i = 0; i < n; i++) {
    const double *record = x + i * (d + 1);
    double u[max_features + 1], norm = 0, eta = 0;
    for (size_t a = 0; a < d; a++) {
      u[a] = r->rows.whiten == NULL ? (double)(float)record[a] : 0;
      for (size_t b = 0; r->rows.whiten != NULL && b <= a; b++) {
        u[a] += r->rows.whiten[a * d + b] * (double)(float)record[b];
      }
      norm += u[a] * u[a];
      eta += r->fit.theta[a] * (double)(float)record[a];
    }
    double p = 1 / (1 + exp(-eta)), residual = record[d] - p, root = 1;
    bool is_square = r->kind == SQUARES || r->kind == CAPPED;
    double reach = r->kind == SCORE || is_square ? fmax(p, 1 - p)
                   : r->kind == INFORMATION      ? sqrt(p * (1 - p))
                                                 : 1;
    double weight = fmin(1, r->rows.radius / (sqrt(norm) * reach));
    size_t m = r->kind == JOINT ? d + 1 : d;
    root = r->kind == INFORMATION ? reach : is_square ? residual : 1;
    double length = weight * sqrt(norm) * fabs(residual);
    root *= r->kind == CAPPED && length > r->fit.reach ? r->fit.reach / length : 1;
    double clamped = fmax(fmin((record[d] - eta) / r->fit.upper, r->fit.reach), -r->fit.reach);
    u[d] = clamped / weight; /* is not weighted */
    for (size_t a = 0, k = 0; a < m; a++) {
      for (size_t b = a; b < m && r->kind != SCORE; b++) {
        out[k++] += (a == b ? 1 : sqrt(2)) * weight * u[a] * weight * u[b] * root * root;
      }
      out[a] += r->kind == SCORE ? weight * u[a] * residual : 0;
    }
  }
}

static void test_sums_agree_with_plain_arithmetic_on_any_number_of_threads(void **state) {
  (void)state;
  enum { n = 4099, d = 5 };
  support_rng_t rng = {11};
  static double x[n * (d + 1)];
  double whiten[d * d] = {1}, theta[d] = {0.3, -1, 0.5, 2, -0.2}, expected[max_sums], out[max_sums], sd;
  for (size_t i = 0; i < n * (d + 1); i++) {
    x[i] = i % (d + 1) == 0   ? 1
           : i % (d + 1) == d ? (double)(support_bits(&rng) & 1)
                              : support_uniform(&rng, -1, 1);
  }
  for (size_t i = d; i < d * d; i++) {
    whiten[i] = i % d <= i / d ? support_uniform(&rng, 0.5, 1.5) : 0;
  }
  tacit_error_t err;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, d, 1, 0);
  for (size_t threads = 1; threads <= 3; threads++) {
    tacit_curator_settings_t settings = tacit_curator_settings_default();
    settings.n_threads = threads;
    tacit_curator_t *curator;
    assert_ok(tacit_curator_new_exposed(&curator, records_of(n, d + 1, x), &model, &settings, &err), err);
    for (kind_t kind = SECOND_MOMENTS; kind <= JOINT; kind++) {
      release_t r = {kind, {whiten, 1.7}, {TACIT_FAMILY_BERNOULLI, 1, theta, 0.5}};
      assert_ok(make(curator, &r, 1, out, &sd, &err), err);
      plain_sum(&r, n, d, x, expected);
      for (size_t i = 0; i < n_sums(&r, d); i++) { /* n roundings of half a spacing each */
        assert_close(out[i], expected[i], 6 * n * 0x1p-22);
      }
    }
    tacit_curator_free(curator);
  }
}

/*
 * Noise of 3000 releases against its announced standard deviation, which must be the noise multiplier times
 * the sensitivity to 1e-4: the sum of squares of 3000 n normals is within 6 of its own standard deviations,
 * false alarm 2e-9. Halving the noise is 50 of them off.
 */
static void check_noise(kind_t kind, double sensitivity) {
  fixture_t f;
  tacit_error_t err;
  double theta[3] = {0.5, 1, -1}, whiten[9] = {1, 0, 0, 0.2, 1.5, 0, 0.1, -0.3, 2}, exact[max_sums],
         out[max_sums], sd;
  release_t r = {kind, {whiten, 2}, {TACIT_FAMILY_BERNOULLI, 1, theta, 0.4}};
  tacit_curator_t *exposed;
  f.model = support_glm(&f.kernel, TACIT_FAMILY_BERNOULLI, 3, 1, 0);
  assert_ok(tacit_curator_new_exposed(&exposed, support_logistic(40, 3, 4), &f.model, NULL, &err), err);
  assert_ok(make(exposed, &r, 1, exact, &sd, &err), err);
  tacit_curator_free(exposed);
  open_private(&f, 40, 3, 1e6, TACIT_RELATION_SUBSTITUTE, NULL);
  double square = 0, n = 0;
  for (size_t i = 0; i < 3000; i++) {
    assert_ok(make(f.curator, &r, 0.7, out, &sd, &err), err);
    assert_close(sd / (0.7 * sensitivity), 1 + 5e-5, 5e-5);
    for (size_t j = 0; j < n_sums(&r, 3); j++, n++) {
      square += (out[j] - exact[j]) * (out[j] - exact[j]) / (sd * sd);
    }
  }
  assert_close(square, n, 6 * sqrt(2 * n));
  size_t n_events;
  const tacit_event_t *events = tacit_budget_events(f.budget, &n_events);
  assert_int_equal(n_events, 1);
  assert_int_equal(events[0].kind, TACIT_EVENT_GAUSSIAN);
  assert_int_equal(events[0].count, 3000);
  assert_close(events[0].noise_multiplier, 0.7, 0);
  close_private(&f);
}

static void test_noise_is_what_was_charged(void **state) {
  (void)state;
  check_noise(SECOND_MOMENTS, sqrt(2) * 4);
  check_noise(SCORE, 2 * 2);
  check_noise(INFORMATION, sqrt(2) * 4);
  check_noise(SQUARES, sqrt(2) * 4);
  check_noise(JOINT, sqrt(2) * (4 + 0.4 * 0.4));
}

static void test_release_is_charged_then_refused(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  double theta[3] = {0}, out[max_sums], sd;
  for (kind_t kind = SECOND_MOMENTS; kind <= JOINT; kind++) {
    release_t r = {kind, {NULL, 1}, {TACIT_FAMILY_BERNOULLI, 1, theta, 0.5}};
    size_t n_granted = 0;
    tacit_status_t status;
    open_private(&f, 40, 3, 2, TACIT_RELATION_SUBSTITUTE, NULL);
    while ((status = make(f.curator, &r, 5, out, &sd, &err)) == TACIT_OK) {
      n_granted++;
      assert_close(tacit_budget_rho_spent(f.budget), (double)n_granted / 50, 1e-12);
    }
    assert_int_equal(status, TACIT_ERR_BUDGET);
    assert_int_equal(n_granted, (size_t)(tacit_gaussian_rho(2, log(1e-6)) * 50));
    assert_close(out[0], 0, 0);
    assert_close(sd, 0, 0);
    close_private(&f);
  }
}

static void test_bad_arguments_charge_nothing(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  open_private(&f, 40, 3, 1, TACIT_RELATION_SUBSTITUTE, NULL);
  double good[3] = {0}, bad[3] = {0, NAN, 0}, broken[9] = {INFINITY}, out[max_sums], sd;
  const release_t refused[] = {{SCORE, {NULL, 1}, {TACIT_FAMILY_BERNOULLI, 1, bad, 0}},
                               {SCORE, {NULL, 1}, {TACIT_FAMILY_BERNOULLI, 2, good, 0}},
                               {SCORE, {NULL, 1}, {TACIT_FAMILY_POISSON, 2.5, good, 0}},
                               {SCORE, {NULL, 1}, {TACIT_FAMILY_GAUSSIAN, 1, good, 0}},
                               {SCORE, {NULL, NAN}, {TACIT_FAMILY_BERNOULLI, 1, good, 0}},
                               {INFORMATION, {NULL, 0}, {TACIT_FAMILY_BERNOULLI, 1, good, 0}},
                               {SQUARES, {broken, 1}, {TACIT_FAMILY_BERNOULLI, 1, good, 0}},
                               {INFORMATION, {NULL, 1}, {TACIT_FAMILY_BERNOULLI, -1, good, 0}},
                               {JOINT, {NULL, 1}, {0, 1, bad, 1}},
                               {JOINT, {NULL, 1}, {0, 0, good, 1}},
                               {JOINT, {NULL, 1}, {0, 1, good, INFINITY}},
                               {SECOND_MOMENTS, {NULL, INFINITY}, {0, 0, NULL, 0}},
                               {SECOND_MOMENTS, {broken, 1}, {0, 0, NULL, 0}}};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    assert_int_equal(make(f.curator, &refused[i], 5, out, &sd, &err), TACIT_ERR_ARGUMENT);
  }
  release_t r = {SECOND_MOMENTS, {NULL, 1}, {0, 0, NULL, 0}};
  const double same[2] = {1, 1}, endless[1] = {INFINITY};
  const tacit_row_residual_t wrong = {bad, 3, 1, 1}, narrow = {good, 2, 1, 1};
  const tacit_row_cells_t cells[] = {{NULL, 0, 2, same},   {NULL, 0, 0, same},   {NULL, 0, 1, endless},
                                     {NULL, 3, 1, same},   {&wrong, 0, 1, same}, {&narrow, 0, 1, same},
                                     {NULL, 0, 1024, same}};
  for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
    assert_int_equal(tacit_curator_release_cells(f.curator, &cells[i], 5, out, &sd, &err),
                     TACIT_ERR_ARGUMENT);
  }
  const double multipliers[] = {0, -1, NAN, INFINITY, 1e-30};
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(make(f.curator, &r, multipliers[i], out, &sd, &err), TACIT_ERR_ARGUMENT);
  }
  assert_true(tacit_budget_rho_spent(f.budget) <= 0);
  close_private(&f);
}

static void test_what_the_sums_cannot_protect_is_refused(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  double out[max_sums], theta[3] = {0}, sd;
  tacit_curator_settings_t tempered = tacit_curator_settings_default();
  tempered.temperature_power = 0.5;
  for (size_t i = 0; i < 2; i++) {
    release_t r = {i == 1 ? SECOND_MOMENTS : JOINT, {NULL, 1}, {TACIT_FAMILY_BERNOULLI, 1, theta, 1}};
    open_private(&f, 40, 3, 1, TACIT_RELATION_SUBSTITUTE, &tempered);
    assert_int_equal(make(f.curator, &r, 5, out, &sd, &err), TACIT_ERR_STATE);
    assert_true(tacit_budget_rho_spent(f.budget) <= 0);
    close_private(&f);
  }
  release_t r = {SECOND_MOMENTS, {NULL, 1}, {0, 0, NULL, 0}};
  tacit_record_model_t echo = support_echo();
  tacit_curator_t *curator;
  const double x[3] = {1, 2, 3};
  assert_ok(tacit_curator_new_exposed(&curator, records_of(1, 3, x), &echo, NULL, &err), err);
  assert_int_equal(make(curator, &r, 1, out, &sd, &err), TACIT_ERR_ARGUMENT);
  tacit_curator_free(curator);
}

/* Under add-remove the noise is that of one unit's length; the count's noise is the multiplier. */
static void test_add_remove_pays_for_a_unit_s_length(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  double out[max_sums], theta[3] = {0.1, 0.2, 0.3}, sd, expected[] = {4, 2, 4, 4, 0.25, 4 + 0.25};
  open_private(&f, 40, 3, 1e5, TACIT_RELATION_ADD_REMOVE, NULL);
  tacit_row_cells_t cells = {NULL, 0, n_cells - 1, edges};
  assert_ok(tacit_curator_release_cells(f.curator, &cells, 3, out, &sd, &err), err);
  assert_close(sd, 3, 1e-3);
  for (kind_t kind = SECOND_MOMENTS; kind <= JOINT; kind++) {
    release_t r = {kind, {NULL, 2}, {TACIT_FAMILY_BERNOULLI, 1, theta, 0.5}};
    assert_ok(make(f.curator, &r, 3, out, &sd, &err), err);
    assert_close(sd / (3 * expected[kind]), 1 + 5e-5, 5e-5);
  }
  double sum = 0;
  for (int i = 0; i < 400; i++) {
    assert_ok(tacit_curator_release_count(f.curator, 3, out, &sd, &err), err);
    assert_close(sd, 3, 1e-3);
    sum += out[0];
  }
  assert_close(sum / 400, 40, 6 * 3 / sqrt(400)); /* false alarm 2e-9 */
  close_private(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_pair_of_units_exceeds_the_sensitivity),
      cmocka_unit_test(test_sums_agree_with_plain_arithmetic_on_any_number_of_threads),
      cmocka_unit_test(test_noise_is_what_was_charged),
      cmocka_unit_test(test_release_is_charged_then_refused),
      cmocka_unit_test(test_bad_arguments_charge_nothing),
      cmocka_unit_test(test_what_the_sums_cannot_protect_is_refused),
      cmocka_unit_test(test_add_remove_pays_for_a_unit_s_length),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
