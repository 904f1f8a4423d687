/* Other responses of a record: all values with their probabilities, or draws with the distribution's own
 * scores. */
#include "response_testing.h"

static void test_values_have_the_distribution_s_probabilities(void **state) {
  (void)state;
  tacit_model_t model;
  tacit_program_t *program = parsed(negbin, false, &model);
  const tacit_record_model_t *r = &model.records;
  float record[16], lane[16], blocks[4 * 16 * 16];
  double weights[64], out[16];
  assert_int_equal(r->n_others, 61);
  assert_true(r->n_columns <= 16);
  r->made_up(r->ctx, 3, 1, record);
  r->others(r->ctx, record, at, 1, 61, blocks, weights);
  /* the features are the record's: log-likelihoods of the same record with y in its place differ by log
   * probabilities */
  double sum = 0, first = 0, phi = exp(at[2]);
  r->log_lik(r->ctx, blocks, 1, at, out);
  first = out[0];
  for (size_t y = 0; y < 61; y++) {
    sum += weights[y];
    r->log_lik(r->ctx, blocks + y / 16 * r->n_columns * 16, 1, at, out);
    double free_of_theta = lgamma((double)y + 1); /* which the model leaves out */
    assert_true(fabs(log(weights[y] / weights[0]) - (out[y % 16] - first - free_of_theta)) < 1e-9);
    lane_of(blocks + y / 16 * r->n_columns * 16, r->n_columns, y % 16, lane);
    bool has_y = false;
    for (size_t j = 0; j < r->n_columns; j++) {
      has_y = has_y || fabs((double)lane[j] - (double)y) < 1e-6;
    }
    assert_true(has_y);
  }
  assert_true(fabs(sum - 1) < 1e-12);
  /* the ratio of the first two, by hand: P(1) / P(0) = phi mu / (mu + phi), which gives mu, which x gives */
  double ratio = weights[1] / weights[0], mu = ratio * phi / (phi - ratio), x = (log(mu) - at[0]) / at[1];
  bool has_x = false;
  for (size_t j = 0; j < r->n_columns; j++) {
    has_x = has_x || fabs((double)record[j] - x) < 1e-4;
  }
  assert_true(has_x);
  tacit_program_free(program);
}

/* Mean scores of draws are 0 within 5.5 of their sds, which 2 in 10^7 exceed: 44 of them. */
static void check_scores(const char *text, bool is_followed) {
  enum { N = 4096 };
  tacit_model_t model;
  tacit_program_t *program = parsed(text, is_followed, &model);
  const tacit_record_model_t *r = &model.records;
  size_t d = r->dim;
  float record[16], grad[4 * 16], theta[4];
  float *blocks = aligned_alloc(64, N * r->n_columns * sizeof *blocks);
  double *weights = malloc(N * sizeof *weights), sum[4] = {0}, square[4] = {0};
  if (r->others == NULL) {
    fail_msg("%s: %s", text, r->no_others);
  }
  r->made_up(r->ctx, 5, 1, record);
  r->others(r->ctx, record, at, 9, N, blocks, weights);
  for (size_t j = 0; j < d; j++) {
    theta[j] = (float)at[j];
  }
  for (size_t i = 0; i < N; i++) {
    if (i % 16 == 0) {
      r->grad(r->ctx, blocks + i * r->n_columns, 1, theta, grad);
    }
    for (size_t j = 0; j < d; j++) {
      double s = (double)grad[j * 16 + i % 16];
      sum[j] += s;
      square[j] += s * s;
    }
  }
  for (size_t j = 0; j < d; j++) {
    if (!(square[j] > 0) || !(fabs(sum[j]) < 5.5 * sqrt(square[j]) + 1e-4 * N)) {
      fail_msg("%s: score %zu is %g, sd %g", text, j, sum[j] / N, sqrt(square[j]) / N);
    }
  }
  free(blocks);
  free(weights);
  tacit_program_free(program);
}

static void test_draws_have_the_distribution_s_scores(void **state) {
  (void)state;
  static const struct {
    const char *distribution, *bounds;
  } distributions[] = {{"normal(a + b * x, s)", "-100, 100"},
                       {"lognormal(a + b * x, s)", "1e-4, 1e6"},
                       {"student_t(5, a + b * x, s)", "-900, 900"},
                       {"cauchy(a + b * x, s)", "-1e7, 1e7"},
                       {"logistic(a + b * x, s)", "-300, 300"},
                       {"double_exponential(a + b * x, s)", "-300, 300"},
                       {"gumbel(a + b * x, s)", "-300, 300"},
                       {"exponential(exp(a + b * x) * s)", "1e-6, 1e3"},
                       {"weibull(s, exp(a + b * x))", "1e-6, 1e3"},
                       {"loglogistic(exp(a + b * x), s)", "1e-6, 1e6"},
                       {"rayleigh(exp(a + b * x) * s)", "1e-6, 1e3"},
                       {"gamma(s, exp(a + b * x))", "1e-7, 1e3"},
                       {"gamma(0.4 * s, exp(a + b * x))", "1e-15, 1e3"},
                       {"inv_gamma(s, exp(a + b * x))", "1e-6, 1e7"},
                       {"chi_square(s * exp(a + b * x))", "1e-12, 1e3"},
                       {"beta(s, exp(a + b * x))", "1e-7, 0.9999999"},
                       {"beta_proportion(inv_logit(a + b * x), 3 * s)", "1e-7, 0.9999999"}};
  for (size_t i = 0; i < sizeof distributions / sizeof distributions[0]; i++) {
    char text[512];
    const char *comma = strchr(distributions[i].bounds, ',');
    snprintf(text, sizeof text,
             "data { real<lower=-1, upper=1> x; real<lower=%.*s, upper=%s> y; }\nparameters { real a; real "
             "b; real<lower=0> s; }\n"
             "model { y ~ %s; }\n",
             (int)(comma - distributions[i].bounds), distributions[i].bounds, comma + 1,
             distributions[i].distribution);
    check_scores(text, false);
  }
  check_scores(
      "data { real<lower=-1, upper=1> x; real<lower=0.001, upper=1.5> y; int<lower=0, upper=1> lost; }\n"
      "parameters { real a; real b; real<lower=0> s; }\nmodel { censored_right(y, 1 - lost) ~ weibull(s, "
      "exp(a + b * x)); }\n",
      true);
  check_scores(
      "data { real<lower=-1, upper=1> x; real<lower=-70, upper=130> y; }\ntransformed data { real y_ = (y - "
      "30) / 100; }\n"
      "parameters { real a; real b; real<lower=0> s; }\nmodel { y_ ~ normal(0.1 * (a + b * x), 0.1 * s); }\n",
      false);
}

/* What is written as an increment of the target makes the same records as the statement with ~. */
static void test_increments_are_statements(void **state) {
  static const char data[] = "data { int N; vector<lower=-1, upper=1>[N] x; vector<lower=0.01, upper=9>[N] "
                             "y; array[N] int<lower=0, upper=30> n;\n"
                             "  array[N] int<lower=0, upper=1> c; matrix<lower=-1, upper=1>[N, 2] z; }\n"
                             "parameters { real a; real b; real<lower=0> s; vector[2] w; }\nmodel {\n";
  static const char *const cases[][2] = {
      {"n ~ poisson_log(a + b * x);", "target += poisson_log_lpmf(n | a + b * x);"},
      {"n ~ poisson_log(a + b * x);", "target += poisson_log_lupmf(n | a + b * x);"},
      {"n ~ poisson_log(a + b * x);", "for (i in 1:N) target += poisson_log_lpmf(n[i] | a + b * x[i]);"},
      {"y ~ normal(a + b * x, s);", "target += normal_lpdf(y | a + b * x, s);"},
      {"y ~ normal(a + z * w, s);", "target += normal_id_glm_lpdf(y | z, a, w, s);"},
      {"y ~ normal(a + z * w, s);", "y ~ normal_id_glm(z, a, w, s);"},
      {"for (i in 1:N) censored_right(y[i], c[i]) ~ weibull(s, exp(a + b * x[i]));",
       "for (i in 1:N) { if (c[i]) target += weibull_lpdf(y[i] | s, exp(a + b * x[i])); else target += "
       "weibull_lccdf(y[i] | s, exp(a + b * x[i])); }"},
      {"for (i in 1:N) censored_right(y[i], c[i]) ~ weibull(s, exp(a + b * x[i]));",
       "for (i in 1:N) { if (c[i] == 1) target += weibull_lpdf(y[i] | s, exp(a + b * x[i])); else target += "
       "weibull_lccdf(y[i] | s, exp(a + b * x[i])); }"},
      {"for (i in 1:N) censored_right(y[i], 1 - c[i]) ~ weibull(s, exp(a + b * x[i]));",
       "for (i in 1:N) { if (c[i] == 0) { y[i] ~ weibull(s, exp(a + b * x[i])); } else if (c[i] == 1) { "
       "target += weibull_lccdf(y[i] | s, exp(a + b * x[i])); } "
       "else if (c[i] == -1) target += weibull_lcdf(y[i] | s, exp(a + b * x[i])); }"},
      {"for (i in 1:N) censored_right(y[i], 1 - c[i]) ~ weibull(s, exp(a + b * x[i]));",
       "for (i in 1:N) { if (c[i]) target += weibull_lccdf(y[i] | s, exp(a + b * x[i])); else target += "
       "weibull_lpdf(y[i] | s, exp(a + b * x[i])); }"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_response_t said[2];
    char sources[2][2][8] = {{""}};
    tacit_program_t *programs[2];
    for (size_t k = 0; k < 2; k++) {
      char text[2048];
      tacit_error_t err = {0};
      tacit_model_t model;
      tacit_program_settings_t settings = {.keeps_responses = true, .is_followed_to_bound = true};
      snprintf(text, sizeof text, "%s%s\n}\n", data, cases[i][k]);
      ok(tacit_program_parse(&programs[k], text, strlen(text), &settings, &err), &err);
      ok(tacit_program_compile(programs[k], &model, &err), &err);
      if (model.records.no_others != NULL) {
        fail_msg("%s: %s", cases[i][k], model.records.no_others);
      }
      const tacit_compiled_t *p = model.records.ctx;
      said[k] = p->response;
      snprintf(sources[k][0], 8, "%s", p->graph->columns[said[k].value.column].source);
      snprintf(sources[k][1], 8, "%s",
               said[k].is_censored ? p->graph->columns[said[k].seen.column].source : "");
    }
    assert_string_equal(sources[0][0], sources[1][0]);
    assert_string_equal(sources[0][1], sources[1][1]);
    assert_true(said[0].distribution == said[1].distribution && said[0].n_values == said[1].n_values &&
                said[0].is_censored == said[1].is_censored);
    assert_true(fabs(said[0].value.a - said[1].value.a) + fabs(said[0].value.b - said[1].value.b) < 1e-15);
    assert_true(!said[0].is_censored ||
                fabs(said[0].seen.a - said[1].seen.a) + fabs(said[0].seen.b - said[1].seen.b) < 1e-15);
    tacit_program_free(programs[0]);
    tacit_program_free(programs[1]);
  }
}

/*
 * Of Weibull times that may be censored at any time: pairs of lanes are the record seen and censored then,
 * their times lie in their parts of the hazard (t / scale)^shape, which sum to what the record was followed
 * for; by another distribution each part has that distribution's hazard.
 */
static void test_hazards_are_the_distribution_s(void **state) {
  (void)state;
  enum { N = 31 };
  static const double theta[] = {0.2, 0.4}, distribution[] = {0.3, 0.5},
                      times[][2] = {{1.7, 0}, {1.7, 1}, {0.02, 1}, {8.5, 1}, {1e-3, 1}};
  tacit_model_t model;
  tacit_program_t *program = parsed(
      "data { real<lower=0.001, upper=9> y; int<lower=0, upper=1> lost; } parameters { real a; real k; }\n"
      "model { censored_right(y, 1 - lost) ~ weibull(exp(k), exp(a)); }",
      false, &model);
  const tacit_record_model_t *r = &model.records;
  float record[16], blocks[4 * 16 * 16];
  double weights[64];
  assert_true(r->others == NULL && r->responses != NULL && r->hazards != NULL && r->n_columns <= 16);
  for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
    r->made_up(r->ctx, 1, 1, record);
    for (size_t j = 0; j < r->n_columns; j++) {
      record[j] = r->of_outcome[j] ? 0 : record[j];
    }
    record[r->outcome] = (float)times[i][0];
    record[r->seen] = (float)times[i][1];
    double all = pow(times[i][0] / exp(theta[0]), exp(theta[1])), step = (double)TACIT_FOLLOWED_HAZARD / N,
           sum = 0, more = 0, last = 0;
    r->hazards(r->ctx, record, theta, distribution, 3, N, blocks, weights);
    for (size_t m = 0; m <= N; m++) {
      const float *block = blocks + 2 * m / 16 * r->n_columns * 16;
      size_t lane = 2 * m % 16;
      double t = (double)block[r->outcome * 16 + lane], hazard = pow(t / exp(theta[0]), exp(theta[1]));
      bool is_seen = fabs((double)block[r->seen * 16 + lane] - r->unseen) > 0.5,
           is_censored = fabs((double)block[r->seen * 16 + lane + 1] - r->unseen) < 0.5;
      assert_true(is_seen && is_censored && fabs(t - (double)block[r->outcome * 16 + lane + 1]) <= 0);
      if (m < N && weights[2 * m] > 0) {
        assert_true(hazard > step * (double)m - 1e-4 && hazard < step * (double)m + weights[2 * m] + 1e-4 &&
                    weights[2 * m] <= step * (1 + 1e-12));
        assert_true(t >= last);
        sum += weights[2 * m];
        more += weights[2 * m] + weights[2 * m + 1];
        last = t;
      }
    }
    double end = fmin(all, TACIT_FOLLOWED_HAZARD), until = exp(theta[0]) * pow(end, exp(-theta[1]));
    assert_true(fabs(sum - end) < 1e-5 &&
                fabs(more - pow(until / exp(distribution[0]), exp(distribution[1]))) < 1e-5);
    assert_true(fabs(weights[2 * N] - (times[i][1] < 0.5 && all < TACIT_FOLLOWED_HAZARD)) <= 0);
  }
  tacit_program_free(program);
}

static void test_what_cannot_be_simulated_says_why(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"data { real<lower=-1, upper=1> y; } parameters { real a; } model { target += 2 * normal_lpdf(y | a, "
       "1); }",
       "not one statement"},
      {"functions { real weibull_lpdf(real y, real a, real b) { return -square(y - a); } } data { "
       "real<lower=0.1, upper=1> y; } parameters { real a; } "
       "model { y ~ weibull(a, 1); }",
       "not known"},
      {"data { real<lower=-1, upper=1> y; int<lower=0, upper=1> c; } parameters { real a; } model { if (c == "
       "1) target += normal_lpdf(y | a, 1); "
       "else target += normal_lccdf(y | a + 1, 1); }",
       "no column"},
      {"data { real<lower=-1, upper=1> y; } parameters { real a; } model { target += 2 * a * y; y ~ "
       "normal(a, 1); }",
       "not one statement"},
      {"data { real<lower=-1, upper=1> y; real<lower=-1, upper=1> z; } parameters { real a; } model { y ~ "
       "normal(a, 1); z ~ normal(a, 1); }",
       "several outcomes"},
      {"data { real<lower=0, upper=9> y; } parameters { real a; } model { y ~ normal(a, 1) T[0, ]; }",
       "truncated"},
      {"data { real<lower=0.1, upper=9> y; } parameters { real a; } model { square(y) ~ normal(a, 1); }",
       "no column"},
      {"data { int<lower=0, upper=90000> y; } parameters { real a; } model { y ~ poisson_log(a); }",
       "more than 1024"},
      {"data { real<lower=0.1, upper=9> y; int<lower=0, upper=1> seen; } parameters { real a; } model { "
       "censored_right(y, seen) ~ "
       "student_t(3, a, 1); }",
       "hazards of its distribution"},
      {"data { real<lower=0.1, upper=9> y; } parameters { real a; } model { y ~ skew_normal(a, 1, 2); }",
       "not known"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_model_t model;
    tacit_program_t *program = parsed(cases[i][0], false, &model);
    assert_null(model.records.others);
    if (model.records.no_others == NULL || strstr(model.records.no_others, cases[i][1]) == NULL) {
      fail_msg("%s: %s", cases[i][0], model.records.no_others != NULL ? model.records.no_others : "nothing");
    }
    tacit_program_free(program);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_increments_are_statements),
      cmocka_unit_test(test_values_have_the_distribution_s_probabilities),
      cmocka_unit_test(test_draws_have_the_distribution_s_scores),
      cmocka_unit_test(test_hazards_are_the_distribution_s),
      cmocka_unit_test(test_what_cannot_be_simulated_says_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
