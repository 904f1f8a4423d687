/* What composes to a closed form: infinite losses, pure guarantees, no noise and no records, the best of
 * several releases. */
#include "support.h"

#include "account/account.h"
#include "account/renyi.h"

static tacit_guarantee_t delta_at(const char *spec, uint64_t count, tacit_relation_t relation,
                                  double epsilon) {
  tacit_event_t event = parse(spec, count);
  tacit_guarantee_t found;
  tacit_error_t err;
  const tacit_account_options_t options = {.relation = relation};
  assert_ok(tacit_account_delta(NULL, &event, 1, &options, epsilon, &found, &err), err);
  return found;
}

static tacit_guarantee_t epsilon_at(const char *spec, uint64_t count, tacit_relation_t relation,
                                    double delta) {
  tacit_event_t event = parse(spec, count);
  tacit_guarantee_t found;
  tacit_error_t err;
  const tacit_account_options_t options = {.relation = relation};
  assert_ok(tacit_account_epsilon(NULL, &event, 1, &options, delta, &found, &err), err);
  return found;
}

static void check_bracket(double lower, double upper, double truth, double width) {
  if (!(lower <= truth && truth <= upper && upper - lower <= width * truth)) {
    fail_msg("[%.12g, %.12g] does not tell %.12g within %g", lower, upper, truth, width);
  }
}

/* k uses of a mass m at an infinite loss have 1 - (1 - m)^k there. */
static void test_infinite_losses(void **state) {
  tacit_guarantee_t found =
      delta_at("approximate:epsilon=0.1,delta=0.01", 100, TACIT_RELATION_SUBSTITUTE, 50);
  check_bracket(found.delta_lower, found.delta, 1 - pow(0.99, 100), 1e-9);
  found = delta_at("approximate:epsilon=0.1,delta=0.01", 100, TACIT_RELATION_SUBSTITUTE,
                   9.9); /* (.99 e^.1 / (1 + e^.1))^100 more */
  check_bracket(found.delta_lower, found.delta, 1 - pow(0.99, 100), 1e-6);
  double rest = pow(0.99, 3), own = 1 / (1 + exp(-1)),
         other = 1 - own; /* three uses, epsilon 1, at epsilon 0.5 */
  double finite = pow(own, 3) * -expm1(0.5 - 3) + 3 * own * own * other * -expm1(0.5 - 1);
  found = delta_at("approximate:epsilon=1,delta=0.01", 3, TACIT_RELATION_SUBSTITUTE, 0.5);
  check_bracket(found.delta_lower, found.delta, 1 - rest + rest * finite, 1e-6);
  found = epsilon_at("approximate:epsilon=1,delta=0.01", 3, TACIT_RELATION_SUBSTITUTE, 0.02);
  assert_true(isinf(found.epsilon) && isinf(found.epsilon_lower));
  found = epsilon_at("approximate:epsilon=1,delta=0.01", 3, TACIT_RELATION_SUBSTITUTE, 0.03);
  check_bracket(found.epsilon_lower, found.epsilon,
                log(exp(3) - (0.03 - 1 + rest) / (rest * pow(own, 3)) * exp(3)), 2e-3);
}

static void test_pure(void **state) {
  static const struct {
    const char *spec;
    uint64_t count;
    tacit_relation_t relation;
    double epsilon;
  } of[] = {{"laplace:scale=4", 7, TACIT_RELATION_SUBSTITUTE, 1.75},
            {"discrete-laplace:scale=4,sensitivity=3", 7, TACIT_RELATION_SUBSTITUTE, 1.75},
            {"pure:epsilon=0.3", 4, TACIT_RELATION_ADD_REMOVE, 1.2},
            {"exponential:epsilon=0.3", 4, TACIT_RELATION_ADD_REMOVE, 1.2},
            {"sparse-vector:threshold=2,query=8,positives=3", 2, TACIT_RELATION_ADD_REMOVE, 2.5},
            {"gaussian:sigma=2", 4, TACIT_RELATION_SUBSTITUTE, INFINITY},
            {"discrete-gaussian:sigma=2", 4, TACIT_RELATION_SUBSTITUTE, INFINITY},
            {"poisson-gaussian:q=0,sigma=2", 4, TACIT_RELATION_SUBSTITUTE, 0},
            {"approximate:epsilon=1,delta=0.1", 1, TACIT_RELATION_SUBSTITUTE, INFINITY}};
  for (size_t i = 0; i < LENGTH(of); i++) {
    tacit_guarantee_t found = epsilon_at(of[i].spec, of[i].count, of[i].relation, 0);
    assert_true(found.epsilon >= of[i].epsilon &&
                (isinf(of[i].epsilon) || found.epsilon <= of[i].epsilon * (1 + 1e-12)));
    assert_string_equal(found.method, "pure");
    if (isfinite(of[i].epsilon)) {
      assert_true(delta_at(of[i].spec, of[i].count, of[i].relation, found.epsilon).delta <= 0);
    }
  }
  /* log(1 - q + q e^(1 / b)) to remove, -log(1 - q + q e^(-1 / b)) to add: the first is the larger */
  tacit_guarantee_t found = epsilon_at("poisson-laplace:q=0.2,scale=1", 5, TACIT_RELATION_ADD_REMOVE, 0);
  check_bracket(found.epsilon_lower, found.epsilon, 5 * log(1 - 0.2 + 0.2 * exp(1)), 1e-8);
}

/* A record that is seen once without noise is known: q of a sample, never to the other direction. */
static void test_no_noise(void **state) {
  const char *sampled[] = {"poisson-gaussian:q=0.01,sigma=0", "fixed-size-gaussian:q=0.01,sigma=0",
                           "truncated-gaussian:q=0.01,records=50,limit=3,sigma=0"};
  for (size_t i = 0; i < LENGTH(sampled); i++) {
    for (int relation = 0; relation < 2; relation++) {
      tacit_guarantee_t found = delta_at(sampled[i], 20, (tacit_relation_t)relation, 8);
      assert_close(found.delta, 1 - pow(0.99, 20), 1e-9);
    }
  }
  tacit_guarantee_t found =
      delta_at("replacement-gaussian:records=10,draws=4,sigma=0", 2, TACIT_RELATION_SUBSTITUTE, 8);
  check_bracket(found.delta_lower, found.delta, 1 - pow(0.9, 8), 1e-9);
  assert_true(isinf(epsilon_at("gaussian:sigma=0", 2, TACIT_RELATION_SUBSTITUTE, 1e-6).epsilon));
  assert_true(isinf(epsilon_at("laplace:scale=0", 2, TACIT_RELATION_SUBSTITUTE, 1e-6).epsilon));
  assert_close(delta_at("laplace:scale=0", 2, TACIT_RELATION_SUBSTITUTE, 3).delta, 1, 0);
}

/* No budget takes what accountants answer of as a limit. */
static void test_budgets_refuse_limits(void **state) {
  tacit_event_t bare = parse("gaussian:sigma=0", 1), none = parse("poisson-gaussian:q=0,sigma=1", 1);
  tacit_error_t err;
  assert_int_equal(tacit_event_check(&bare, &err), TACIT_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "but not 0"));
  assert_int_equal(tacit_event_check(&none, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_filter_check(&bare, &err), TACIT_ERR_ARGUMENT);
}

/* ---- the best of K releases ---- */

static double normal_below(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

/* d/ds E s^K, K Poisson(4), or truncated negative binomial of shape h. */
static double slope_poisson(double s) { return 4 * exp(4 * (s - 1)); }

static double slope_binomial(double s, double shape, double g) {
  double base = 1 - (1 - g) * s;
  return shape * (1 - g) * pow(base, -shape - 1) / (pow(g, -shape) - 1);
}

/* Renyi divergence of the largest output, or of the smallest when scores fall with the outputs, at an order.
 */
static double best_of(double order, double m, bool is_poisson, double shape, double g, double sign) {
  double sum = is_poisson ? exp(-4) : 0; /* nothing is made: no output */
  for (double x = -12; x < 12; x += 1e-3) {
    double f = normal_below(sign * x), h = normal_below(sign * (x - m));
    double a = exp(-0.5 * (x - m) * (x - m)) * (is_poisson ? slope_poisson(h) : slope_binomial(h, shape, g));
    double b = exp(-0.5 * x * x) * (is_poisson ? slope_poisson(f) : slope_binomial(f, shape, g));
    sum += a > 0 && b > 0 ? 1e-3 * 0.39894228040143267794 * exp(order * log(a) - (order - 1) * log(b)) : 0;
  }
  return log(sum) / (order - 1);
}

static void test_repeated_releases(void **state) {
  const double orders[] = {1.5, 2, 5, 12}, g = 0.1, sigma = 2;
  for (size_t i = 0; i < LENGTH(orders); i++) {
    for (int sign = -1; sign <= 1; sign += 2) {
      tacit_event_t event = parse("repeat-poisson:mean=4,sigma=2", 1);
      double total;
      tacit_error_t err;
      assert_ok(tacit_renyi_total(&event, 1, TACIT_RELATION_SUBSTITUTE, orders[i], &total, &err), err);
      assert_true(best_of(orders[i], 1 / sigma, true, 0, 0, sign) <= total);
      double excess = orders[i] - 1, at = log1p(1 / excess),
             rho = 0.5 / sigma / sigma; /* by hand: Theorem 6 */
      assert_close(total, orders[i] * rho + 4 * exp(tacit_gaussian_log_delta(rho, at)) + log(4) / excess,
                   1e-9);
      const double shapes[] = {-0.5, 0.5, 1, 3};
      for (size_t j = 0; j < LENGTH(shapes); j++) {
        char spec[100];
        double h = shapes[j], mean = slope_binomial(1, h, g);
        snprintf(spec, sizeof spec, "repeat-negative-binomial:mean=%.17g,shape=%.17g,sigma=2", mean, h);
        event = parse(spec, 1);
        assert_ok(tacit_renyi_total(&event, 1, TACIT_RELATION_SUBSTITUTE, orders[i], &total, &err), err);
        /* by hand, g being known: Theorem 2 at the best other order */
        double o = fmax(sqrt(-log(g) / rho), 1);
        double bound =
            orders[i] * rho + (1 + h) * ((1 - 1 / o) * o * rho - log(g) / o) + log(mean) / (orders[i] - 1);
        assert_close(total, bound, 1e-9);
        assert_true(best_of(orders[i], 1 / sigma, false, h, g, sign) <= total);
      }
    }
  }
}

static void test_tree(void **state) {
  const struct {
    const char *spec;
    double depth;
  } of[] = {{"tree:sigma=2,leaves=1", 1}, {"tree:sigma=2,leaves=2", 2},     {"tree:sigma=2,leaves=3", 2},
            {"tree:sigma=2,leaves=4", 3}, {"tree:sigma=2,leaves=1023", 10}, {"tree:sigma=2,leaves=1024", 11}};
  for (size_t i = 0; i < LENGTH(of); i++) {
    tacit_event_t event = parse(of[i].spec, 1);
    assert_true(tacit_event_is_gaussian(&event));
    assert_close(event.noise_multiplier, 2 / sqrt(of[i].depth), 1e-14);
    assert_true(event.noise_multiplier <= 2 / sqrt(of[i].depth));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_infinite_losses),   cmocka_unit_test(test_pure),
      cmocka_unit_test(test_no_noise),          cmocka_unit_test(test_budgets_refuse_limits),
      cmocka_unit_test(test_repeated_releases), cmocka_unit_test(test_tree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
