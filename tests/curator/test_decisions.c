/*
 * Accept/reject bits: their probabilities are the rules', the whole numbers that decide never move by more
 * than is charged for, and what is released stays within the guarantee. Errors planted: half the sensitivity
 * charged; a Langevin ratio without its clip of G + G', or charged a tenth of its quadratic term; minibatches
 * charged like all records, or with the wrong thinning; exponentials with the parity turned around.
 */
#include <float.h>
#include <string.h>

#include "accept_rule.h"
#include "logistic.h"
#include "support.h"
#include "tacit/account.h"

enum { dim = logistic_dim, n_records = 40 };

typedef struct box {
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
} box_t;

static void box_open(box_t *box, const float (*rows)[3], size_t n, tacit_relation_t relation,
                     const tacit_event_t *event) {
  tacit_records_t *records;
  tacit_error_t err;
  assert_ok(tacit_records_new(&records, n, 3, &err), err);
  for (size_t i = 0; i < n; i++) {
    double x[3] = {(double)rows[i][0], (double)rows[i][1], (double)rows[i][2]};
    tacit_records_set(records, i, x);
  }
  assert_ok(tacit_budget_new(&box->budget, 1e15, 1e-6, relation, &err), err);
  if (event != NULL) {
    assert_ok(tacit_budget_set_schedule(box->budget, event, 1, &err), err);
  }
  assert_ok(tacit_noise_new_seeded_not_private(&box->noise, 5, &err), err);
  assert_ok(tacit_curator_new(&box->curator, records, &logistic, box->budget, box->noise, NULL, &err), err);
}

static void box_close(box_t *box) {
  tacit_curator_free(box->curator);
  tacit_noise_free(box->noise);
  tacit_budget_free(box->budget);
}

static tacit_event_t event_of(const tacit_accept_rule_t *rule, const tacit_minibatch_rule_t *minibatch) {
  box_t box;
  const float rows[1][3] = {{0}};
  box_open(&box, rows, 1, TACIT_RELATION_SUBSTITUTE, NULL);
  tacit_event_t event = minibatch != NULL ? tacit_curator_minibatch_event(box.curator, minibatch)
                                          : tacit_curator_accept_event(box.curator, rule);
  event.count = 1000000000;
  box_close(&box);
  return event;
}

static void assert_share(double count, double n, double p) {
  if (fabs(count - n * p) > 5.7 * sqrt(n * p * (1 - p)) + 1) {
    fail_msg("%g of %g, expected a share of %g", count, n, p);
  }
}

/* ---- probabilities ---- */

static void test_decisions_have_the_probabilities_of_their_rules(void **state) {
  (void)state;
  const tacit_accept_rule_t rules[] = {{TACIT_ACCEPT_BARKER, 2, 0, 0, 0},
                                       {TACIT_ACCEPT_PENALTY, 2, 0.7, 0, 0},
                                       {TACIT_ACCEPT_PROBIT, 2, 0.6, 0, 0},
                                       {TACIT_ACCEPT_ARCSINE, 2, 0, 0.3, 0.8}};
  const float rows[2][3] = {{1, 0.5f, 1}, {-0.25f, 1, 0}};
  const double theta[dim] = {0.2, -0.1}, theta_prop[dim] = {0.5, 0.4}, corrections[] = {0, 1.1, -2.3};
  double bound = logistic_ratio_bound(NULL, theta, theta_prop), ratio = 0;
  for (size_t i = 0; i < 2; i++) {
    double x = (double)rows[i][0], z = (double)rows[i][1], y = (double)rows[i][2];
    double eta = theta[0] * x + theta[1] * z, eta_prop = theta_prop[0] * x + theta_prop[1] * z;
    ratio += y * (eta_prop - eta) - logistic_log1pexp(eta_prop) + logistic_log1pexp(eta);
  }
  double n = floor(1e5 * testing_multiplier());
  for (size_t r = 0; r < 4; r++) {
    tacit_event_t event = event_of(&rules[r], NULL);
    box_t box;
    box_open(&box, rows, 2, TACIT_RELATION_SUBSTITUTE, &event);
    for (size_t c = 0; c < 3; c++) {
      double accepted = 0;
      for (double k = 0; k < n; k++) {
        bool bit;
        tacit_accept_pairs_t pairs = {1, theta, theta_prop, &corrections[c], &bit};
        tacit_error_t err;
        assert_ok(tacit_curator_release_accept(box.curator, &rules[r], &pairs, &err), err);
        accepted += bit;
      }
      double sigma = rules[r].kind == TACIT_ACCEPT_PROBIT ? rules[r].sigma * 2 * bound : rules[r].sigma;
      assert_share(accepted, n, rule_accepts(&rules[r], sigma, ratio + corrections[c]));
    }
    box_close(&box);
  }
}

/* E 1 / (1 + e^-(w + s h)), s ~ Poisson(a + (b - x) / 2). */
static double minibatch_accepts(double w, double x, double b, double a) {
  double rate = a + (b - x) / 2, h = log((a + (b + x) / 2) / rate), weight = exp(-rate), sum = 0;
  for (int s = 0; s < 80; weight *= rate / ++s) {
    sum += weight / (1 + exp(-(w + s * h)));
  }
  return sum;
}

static void test_minibatch_decisions(void **state) {
  (void)state;
  const tacit_minibatch_rule_t rule = {.max_bound = 1, .intensity = 0.6, .n_public = 1, .max_batch = 100};
  tacit_event_t event = event_of(NULL, &rule);
  const float rows[1][3] = {{1, 0.5f, 1}};
  const double theta[dim] = {0.2, -0.1}, theta_prop[dim] = {0.5, 0.4};
  double b = tacit_ratio_clip(logistic_ratio_bound(NULL, theta, theta_prop)) * 0x1p-32;
  double x = 0.55 - logistic_log1pexp(0.7) + logistic_log1pexp(0.15), n = floor(2e5 * testing_multiplier());
  box_t box;
  box_open(&box, rows, 1, TACIT_RELATION_SUBSTITUTE, &event);
  for (int c = -1; c <= 1; c++) {
    double accepted = 0, correction = 1.5 * c;
    for (double k = 0; k < n; k++) {
      bool bit;
      tacit_accept_pairs_t pairs = {1, theta, theta_prop, &correction, &bit};
      tacit_error_t err;
      assert_ok(tacit_curator_release_minibatch_accept(box.curator, &rule, &pairs, &err), err);
      accepted += bit;
    }
    assert_share(accepted, n, minibatch_accepts(correction, x, b, rule.intensity));
  }
  box_close(&box);
}

/* Nor does the number of records, which may be private, lead to a refusal: none, and so many that the mean
 * passes 2^24. */
static void test_minibatch_of_any_number_of_records(void **state) {
  (void)state;
  enum { many = 131200 };
  const tacit_minibatch_rule_t rule = {.max_bound = 64, .intensity = 64, .n_public = 1, .max_batch = 1e18};
  const double theta[dim] = {0, 0}, theta_prop[dim] = {45, 45}, correction = 0;
  tacit_event_t event = event_of(NULL, &rule);
  float(*rows)[3] = calloc(many, sizeof *rows);
  assert_non_null(rows);
  for (size_t i = 0; i < 2; i++) {
    box_t box;
    bool bit;
    tacit_error_t err;
    tacit_accept_pairs_t pairs = {1, theta, theta_prop, &correction, &bit};
    box_open(&box, (const float(*)[3])rows, i * many, TACIT_RELATION_ADD_REMOVE, &event);
    assert_true(tacit_curator_public_ratio_bound(box.curator, theta, theta_prop) > 63.5);
    assert_ok(tacit_curator_release_minibatch_accept(box.curator, &rule, &pairs, &err), err);
    box_close(&box);
  }
  free(rows);
}

/* The bounded range that is charged holds for every pair of ratios, and is nearly reached. */
static void test_minibatch_range(void **state) {
  (void)state;
  double closest = 0;
  const double bounds[] = {0.002, 0.05, 0.5, 2}, shares[] = {0.2, 1, 4};
  for (size_t i = 0; i < 12; i++) {
    tacit_minibatch_rule_t rule = {.max_bound = bounds[i % 4],
                                   .intensity = bounds[i % 4] * shares[i / 4],
                                   .n_public = 1,
                                   .max_batch = 10};
    double charged = event_of(NULL, &rule).sensitivity, b = rule.max_bound, most = -INFINITY,
           least = INFINITY;
    for (double w = -30; w <= 30; w += 0.5) {
      double high = -INFINITY, low = INFINITY;
      for (int k = -10; k <= 10; k++) {
        double p = minibatch_accepts(w, 0.1 * k * b, b, rule.intensity), logit = log(p) - log1p(-p);
        high = fmax(high, logit);
        low = fmin(low, logit);
      }
      if (fabs(w) < 20 || b > 0.01) { /* log1p(-p) is too coarse for small b in the tails */
        most = fmax(most, high - low);
        least = fmin(least, high - low);
      }
    }
    assert_true(most <= charged * (1 + 1e-6) + 1e-9);
    closest = fmax(closest, most / charged);
  }
  assert_true(closest > 0.85);
}

/* ---- what decides ---- */

static float feature(support_rng_t *rng) {
  static const float special[] = {0, 1, -1, NAN, INFINITY, FLT_MAX, FLT_TRUE_MIN, 1, -1, 1};
  return support_bits(rng) % 3 == 0 ? special[support_bits(rng) % 10] : (float)support_uniform(rng, -1, 1);
}

/* Records as adversarial as the packer lets them be, or more. */
static void random_record(support_rng_t *rng, float row[3]) {
  row[0] = feature(rng);
  row[1] = feature(rng);
  row[2] = (float)(support_bits(rng) % 2);
}

typedef struct pair {
  double theta[dim], theta_prop[dim], grad[dim], grad_prop[dim], metric[dim], correction;
} pair_t;

static double worst_move(float (*rows)[3], const float other[3], const pair_t *p, double step,
                         const tacit_accept_rule_t *rule) {
  tacit_wide_t values[2];
  double charged = 0;
  for (int side = 0; side < 2; side++) {
    float saved[3];
    memcpy(saved, rows[7], sizeof saved);
    if (side == 1) {
      memcpy(rows[7], other, sizeof saved);
    }
    box_t box;
    box_open(&box, (const float(*)[3])rows, n_records, TACIT_RELATION_SUBSTITUTE, NULL);
    memcpy(rows[7], saved, sizeof saved);
    bool bit;
    tacit_langevin_pairs_t l = {
        {1, p->theta, p->theta_prop, &p->correction, &bit}, p->grad, p->grad_prop, p->metric, step};
    (void)support_langevin(box.curator, rule, &l, 0, &values[side]);
    charged = tacit_curator_langevin_event(box.curator, rule, p->metric, step).sensitivity;
    box_close(&box);
  }
  return fabs((double)(values[1] - values[0])) * 0x1p-32 / charged;
}

static void test_langevin_ratios_move_no_more_than_charged(void **state) {
  (void)state;
  support_rng_t rng = {99};
  double worst = 0;
  size_t n = (size_t)(4000 * testing_multiplier());
  for (size_t i = 0; i < n; i++) {
    float rows[n_records][3], other[3];
    for (size_t r = 0; r < n_records; r++) {
      random_record(&rng, rows[r]);
    }
    random_record(&rng, other);
    double step = pow(10, support_uniform(&rng, -2, 0.3));
    pair_t p = {.correction = 0};
    for (size_t j = 0; j < dim; j++) {
      p.metric[j] = pow(10, support_uniform(&rng, -3, 0.5));
      p.theta[j] = support_uniform(&rng, -2, 2);
      p.theta_prop[j] = p.theta[j] + step * sqrt(p.metric[j]) * support_uniform(&rng, -2, 2);
      double steep = i % 2 ? 20 : 2000; /* the prior's own gradient may be far beyond the clips */
      p.grad[j] = support_uniform(&rng, -steep, steep);
      p.grad_prop[j] =
          i % 3 ? p.grad[j] + support_uniform(&rng, -1, 1) * step : support_uniform(&rng, -steep, steep);
    }
    tacit_accept_rule_t rule = {TACIT_ACCEPT_PENALTY,
                                logistic_ratio_bound(NULL, p.theta, p.theta_prop) * 1.0001, 0.25, 0, 0};
    worst = fmax(worst, worst_move(rows, other, &p, step, &rule));
  }
  print_message("Langevin: a record moves the ratio by up to %.2f of what is charged\n", worst);
  assert_true(worst <= 1);
  assert_true(worst > 0.25);
}

/* A lower bound of epsilon from many decisions on worst-case neighbours, beside what is charged. */
static void test_audit(void **state) {
  (void)state;
  const tacit_accept_rule_t rule = {TACIT_ACCEPT_BARKER, 0.5001, 0, 0, 0};
  const float rows[2][1][3] = {{{1, 1, 1}}, {{1, -1, 1}}}; /* ratios +0.5 and -0.5 */
  const double theta[dim] = {-40, 0}, theta_prop[dim] = {-40, 0.5}, correction = -4;
  double n = floor(4e5 * testing_multiplier()), count[2] = {0, 0};
  for (int side = 0; side < 2; side++) {
    tacit_event_t event = event_of(&rule, NULL);
    box_t box;
    box_open(&box, rows[side], 1, TACIT_RELATION_SUBSTITUTE, &event);
    for (double k = 0; k < n; k++) {
      bool bit;
      tacit_accept_pairs_t pairs = {1, theta, theta_prop, &correction, &bit};
      tacit_error_t err;
      assert_ok(tacit_curator_release_accept(box.curator, &rule, &pairs, &err), err);
      count[side] += bit;
    }
    box_close(&box);
  }
  double p = count[0] / n, q = count[1] / n;
  double lower = log((p - 5.7 * sqrt(p / n)) / (q + 5.7 * sqrt((q + 1 / n) / n)));
  double charged = event_of(&rule, NULL).sensitivity;
  print_message("audit: epsilon of one decision at least %.3f, charged %.3f\n", lower, charged);
  assert_true(lower <= charged);
  assert_true(lower > (n > 2e5 ? 0.6 : 0.4) * charged); /* fewer runs prove less */
}

/* The schedule's own event, of that rate and no other. */
static void test_a_minibatch_is_charged_at_its_rate(void **state) {
  (void)state;
  const float rows[1][3] = {{1, 1, 1}};
  const double theta[dim] = {0, 0};
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN,
                         .sampling = TACIT_SAMPLING_POISSON,
                         .sampling_rate = 0.25,
                         .noise_multiplier = 4,
                         .count = 3};
  box_t box;
  tacit_error_t err;
  double out[dim];
  size_t n;
  box_open(&box, rows, 1, TACIT_RELATION_ADD_REMOVE, &event);
  assert_int_equal(tacit_curator_release_sampled_gradient(box.curator, 1, theta, 0.125, 4, out, &err),
                   TACIT_ERR_BUDGET);
  assert_ok(tacit_curator_release_sampled_gradient(box.curator, 1, theta, 0.25, 4, out, &err), err);
  const tacit_event_t *charged = tacit_budget_events(box.budget, &n);
  assert_true(n == 1 && charged->count == 1 && charged->sampling == TACIT_SAMPLING_POISSON &&
              charged->sampling_rate == 0.25);
  box_close(&box);
}

static void test_refusals(void **state) {
  (void)state;
  const float rows[1][3] = {{1, 1, 1}};
  const double theta[dim] = {0, 0}, theta_prop[dim] = {0.4, 0.4}, correction = 0;
  bool bit;
  tacit_error_t err;
  tacit_accept_pairs_t pairs = {1, theta, theta_prop, &correction, &bit};
  tacit_accept_rule_t rule = {TACIT_ACCEPT_BARKER, 0.5, 0, 0, 0};
  tacit_event_t event = event_of(&rule, NULL);
  box_t box;
  box_open(&box, rows, 1, TACIT_RELATION_SUBSTITUTE, &event);
  for (int k = 0; k < 50; k++) { /* beyond the rule's bound: rejected, and not charged */
    assert_ok(tacit_curator_release_accept(box.curator, &rule, &pairs, &err), err);
    assert_false(bit);
  }
  pairs.theta_prop = theta;
  assert_ok(tacit_curator_release_accept(box.curator, &rule, &pairs, &err), err);
  assert_true(bit);
  size_t n;
  tacit_budget_events(box.budget, &n);
  assert_int_equal(n, 0);
  rule.max_bound = 2; /* another event than the schedule's */
  pairs.theta_prop = theta_prop;
  assert_int_equal(tacit_curator_release_accept(box.curator, &rule, &pairs, &err), TACIT_ERR_BUDGET);
  rule.kind = TACIT_ACCEPT_PENALTY;
  assert_int_equal(tacit_curator_release_accept(box.curator, &rule, &pairs, &err), TACIT_ERR_ARGUMENT);
  tacit_minibatch_rule_t minibatch = {
      .max_bound = 2, .intensity = 1, .n_public = 1, .max_batch = 5, .is_metropolis = true};
  assert_int_equal(tacit_curator_release_minibatch_accept(box.curator, &minibatch, &pairs, &err),
                   TACIT_ERR_ARGUMENT);
  double out[dim];
  assert_int_equal(tacit_curator_release_sampled_gradient(box.curator, 1, theta, 0.1, 1, out, &err),
                   TACIT_ERR_ARGUMENT);
  box_close(&box);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_decisions_have_the_probabilities_of_their_rules),
                                     cmocka_unit_test(test_minibatch_decisions),
                                     cmocka_unit_test(test_minibatch_of_any_number_of_records),
                                     cmocka_unit_test(test_minibatch_range),
                                     cmocka_unit_test(test_langevin_ratios_move_no_more_than_charged),
                                     cmocka_unit_test(test_audit),
                                     cmocka_unit_test(test_a_minibatch_is_charged_at_its_rate),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
