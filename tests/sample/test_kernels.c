/*
 * One-step kernels on four points, without Monte Carlo: every acceptance probability is the library's own,
 * averaged over all subsets, counts and noise (by the trapezoidal rule), and the target must be left as it is
 * to 1e-6. For approximate methods the bias is measured and held between bounds. The four points are proposed
 * uniformly, so the kernel is all acceptance.
 *
 * Errors are planted in the tests themselves: a dropped penalty, noise 10 % larger than said, the random
 * branch of [Zhang2023]. In the library these were seen to be caught: a penalty of 0.4 for 0.5 noise_sd^2, of
 * ratios and of Barker's test; half of the lacking variance of a correction distribution; a weight of it 0.02
 * smaller; psi without its 1 - q, or r for r/q; log odds of a bound 1 % larger; a(-l) = e^-0.99 l a(l) in the
 * distributions of bits. A change that keeps a rule balanced is no error here.
 */
#include <string.h>

#include "account/bit.h"
#include "base/fault.h"
#include "random/tally.h"
#include "tacit/data.h"
#include "logistic.h"
#include "sample/sample_internal.h"
#include "sample/vcorr.h"
#include "testing.h"

enum { dim = logistic_dim, n_points = 4, max_records = 10 };

static const double points[n_points][dim] = {{0, 0}, {0.8, -0.3}, {-0.5, 0.6}, {0.3, 1.1}};
static const double rows[max_records][3] = {
    {1, 0.5, 1},    {-0.25, 1, 0}, {0.75, -1, 1},   {1, 1, 1},        {-1, 0.25, 0},
    {0.5, -0.5, 0}, {1, -0.75, 1}, {-0.5, 0.75, 1}, {0.25, 0.125, 0}, {-1, -1, 1},
};

/* ---- the target, written down plainly ---- */

static double log_prior(const double *theta) { return -(theta[0] * theta[0] + theta[1] * theta[1]) / 8; }

static void target(size_t n_records, double *pi) {
  double total = 0;
  for (size_t k = 0; k < n_points; k++) {
    double sum = log_prior(points[k]);
    for (size_t i = 0; i < n_records; i++) {
      double eta = points[k][0] * rows[i][0] + points[k][1] * rows[i][1];
      sum += rows[i][2] * eta - logistic_log1pexp(eta);
    }
    pi[k] = exp(sum);
    total += pi[k];
  }
  for (size_t k = 0; k < n_points; k++) {
    pi[k] /= total;
  }
}

/* ---- what the library makes of records ---- */

typedef struct box {
  tacit_noise_t *noise;
  tacit_curator_t *curator;
} box_t;

/* Exposed: releases are the sums themselves. Clipped far beyond the ratios, so that bounds are finite. */
static void box_open(box_t *box, size_t first, size_t n) {
  tacit_records_t *records;
  tacit_curator_settings_t limits = tacit_curator_settings_default();
  tacit_error_t err;
  assert_ok(tacit_noise_new_seeded_not_private(&box->noise, 3, &err), err);
  assert_ok(tacit_records_new(&records, n, 3, &err), err);
  for (size_t i = 0; i < n; i++) {
    tacit_records_set(records, i, rows[first + i]);
  }
  limits.subset_noise = box->noise;
  limits.clip_bound_ratio = 20;
  assert_ok(tacit_curator_new_exposed(&box->curator, records, &logistic, &limits, &err), err);
}

static void box_close(box_t *box) {
  tacit_curator_free(box->curator);
  tacit_noise_free(box->noise);
}

/* sum_i l_i(to) - l_i(from) */
static double ratio_of(box_t *box, const double *from, const double *to) {
  double ratio, noise_sd;
  tacit_error_t err;
  assert_ok(tacit_curator_release_log_ratio(box->curator, 1, from, to, 1, &ratio, &noise_sd, &err), err);
  assert_true(noise_sd <= 0);
  return ratio;
}

/* psi of the box's one record: what a minibatch releases when it is drawn; 0 when not. */
static double psi_of(box_t *box, const double *from, const double *to, double rate) {
  double psi = 0, noise_sd;
  tacit_error_t err;
  for (int i = 0; i < 1000 && fabs(psi) < 1e-9; i++) {
    assert_ok(
        tacit_curator_release_sampled_log_ratio(box->curator, 1, from, to, rate, 1, &psi, &noise_sd, &err),
        err);
  }
  return psi;
}

typedef struct pair {
  const double *from, *to;
  size_t n_records;
  double prior, ratio;      /* log ratios: public part, records */
  double each[max_records]; /* of each record */
  double bound;             /* of one record's */
} pair_t;

static void pair_init(pair_t *pair, size_t a, size_t b, size_t n_records) {
  *pair = (pair_t){.from = points[a], .to = points[b], .n_records = n_records};
  pair->prior = log_prior(points[b]) - log_prior(points[a]);
  pair->bound = logistic_ratio_bound(NULL, points[a], points[b]);
  box_t box;
  box_open(&box, 0, n_records);
  pair->ratio = ratio_of(&box, pair->from, pair->to);
  box_close(&box);
  for (size_t i = 0; i < n_records; i++) {
    box_open(&box, i, 1);
    pair->each[i] = ratio_of(&box, pair->from, pair->to);
    box_close(&box);
  }
}

/* ---- acceptance ---- */

typedef struct way {
  const char *name;
  tacit_sampler_settings_t settings; /* of ratios */
  tacit_fault_t fault;
  tacit_decision_t decision;
  tacit_accept_rule_t rule; /* of bits and minibatches */
  double multiplier;        /* noise sd of a ratio over twice the pair's bound */
  double rate, excess;      /* of sampling; true noise sd over the one declared, less 1 */
  double intensity, max_batch;
  bool is_metropolis, is_random_branch;
  size_t n_records;
  double least, most; /* of the bias; 0 and 1e-6 where exact */
} way_t;

/* E f(l + sd z) for f the acceptance by a noisy ratio. */
static double with_noise(const way_t *way, double l, double sd) {
  int n = way->rate < 1 ? 400 : 8000; /* biases of minibatches need no more */
  double sum = 0;
  if (!(sd > 0)) {
    return tacit_accept_probability(&way->settings, way->decision, l, 0);
  }
  for (int i = -n; i <= n; i++) {
    double z = 8.0 * i / n;
    sum += exp(-0.5 * z * z) *
           tacit_accept_probability(&way->settings, way->decision, l + (1 + way->excess) * sd * z, sd);
  }
  return sum * 8 / n / sqrt(2 * acos(-1));
}

static double by_ratio(const way_t *way, const pair_t *pair) {
  double bound = tacit_curator_sampled_ratio_bound(way->rate, pair->bound), psi[max_records], sum = 0;
  double sd = way->multiplier * 2 * bound;
  if (way->decision == TACIT_DECISION_SAMPLED_BARKER &&
      way->settings.barker_test == TACIT_BARKER_VCORR) { /* larger moves are rejected unseen */
    assert_true(sd * sd < way->settings.ratio_variance);
  }
  if (way->rate >= 1) {
    return with_noise(way, pair->ratio + pair->prior, sd);
  }
  for (size_t i = 0; i < pair->n_records; i++) {
    box_t box;
    box_open(&box, i, 1);
    psi[i] = psi_of(&box, pair->from, pair->to, way->rate);
    box_close(&box);
  }
  for (unsigned set = 0; set < 1u << pair->n_records; set++) {
    double weight = 1, l = pair->prior;
    for (size_t i = 0; i < pair->n_records; i++) {
      bool is_in = (set >> i & 1) != 0;
      weight *= is_in ? way->rate : 1 - way->rate;
      l += is_in ? psi[i] : 0;
    }
    sum += weight * with_noise(way, l, sd);
  }
  return sum;
}

static double by_bit(const way_t *way, const pair_t *pair, double l) {
  tacit_accept_rule_t rule = way->rule;
  if (rule.kind == TACIT_ACCEPT_PROBIT) { /* noise in proportion to the pair's own bound */
    rule.kind = TACIT_ACCEPT_PENALTY;
    rule.sigma *= 2 * pair->bound;
  }
  box_t box;
  double accept, reject;
  box_open(&box, 0, 1);
  tacit_event_t event = tacit_curator_accept_event(box.curator, &rule);
  tacit_bit_accept(&event, l, &accept, &reject);
  box_close(&box);
  return accept;
}

/* Poisson counts of all records in turn, and of the candidates that are thinned out where the branch looks at
 * them. */
typedef struct counts {
  const way_t *way;
  const pair_t *pair;
  double rate[max_records], weight[max_records]; /* of a record; log odds that one count adds */
  double thinned;                                /* rate of all candidates not kept */
} counts_t;

static double metropolis_or_barker(const way_t *way, const pair_t *pair, double l) {
  return way->is_metropolis ? fmin(1, exp(l)) : by_bit(way, pair, l);
}

static double poisson_below(double rate, double k) {
  double term = exp(-rate), sum = 0;
  for (double i = 0; i < k; term *= rate / ++i) {
    sum += term;
  }
  return sum;
}

static double over_counts(const counts_t *of, size_t i, double n_kept, double l) {
  const pair_t *pair = of->pair;
  if (i == pair->n_records) {
    double share = of->way->is_random_branch ? poisson_below(of->thinned, of->way->max_batch - n_kept) : 1;
    double mini = metropolis_or_barker(of->way, pair, l);
    return share < 1
               ? share * mini + (1 - share) * metropolis_or_barker(of->way, pair, pair->ratio + pair->prior)
               : mini;
  }
  double sum = 0, probability = exp(-of->rate[i]);
  for (int s = 0; s < 18; probability *= of->rate[i] / ++s) {
    sum += probability * over_counts(of, i + 1, n_kept + s, l + s * of->weight[i]);
  }
  return sum;
}

static double by_minibatch(const way_t *way, const pair_t *pair) {
  counts_t of = {.way = way, .pair = pair};
  double b = pair->bound, a = way->intensity, n = (double)pair->n_records, x[32] = {0};
  int64_t units[32];
  if (!way->is_random_branch && !(tacit_curator_minibatch_size(n, b, a) < way->max_batch)) {
    return metropolis_or_barker(way, pair, pair->ratio + pair->prior);
  }
  for (size_t i = 0; i < pair->n_records; i++) {
    x[i] = rint(pair->each[i] * 0x1p32);
    of.rate[i] = a + (b - pair->each[i]) / 2;
    of.thinned += (b + pair->each[i]) / 2;
  }
  tacit_log_odds(32, rint((2 * a + b) * 0x1p32), x, units);
  for (size_t i = 0; i < pair->n_records; i++) {
    of.weight[i] = (double)units[i] * 0x1p-32;
  }
  return over_counts(&of, 0, 0, pair->prior);
}

static double acceptance(const way_t *way, size_t a, size_t b) {
  pair_t pair;
  pair_init(&pair, a, b, way->n_records);
  switch (way->decision) {
  case TACIT_DECISION_BIT:
    return by_bit(way, &pair, pair.ratio + pair.prior);
  case TACIT_DECISION_MINIBATCH:
    return by_minibatch(way, &pair);
  default:
    return by_ratio(way, &pair);
  }
}

/* ---- kernels ---- */

typedef struct verdict {
  double moved;  /* largest |pi K - pi| */
  double bias;   /* total variation between pi and the invariant distribution */
  double accept; /* mean acceptance under pi */
} verdict_t;

static verdict_t verdict_of(const way_t *way) {
  double kernel[n_points][n_points], pi[n_points], distribution[n_points], next[n_points];
  verdict_t verdict = {0};
  target(way->n_records, pi);
  for (size_t a = 0; a < n_points; a++) {
    kernel[a][a] = 1;
    for (size_t b = 0; b < n_points; b++) {
      double move = a == b ? 0 : acceptance(way, a, b) / (n_points - 1);
      kernel[a][b] = a == b ? kernel[a][b] : move;
      kernel[a][a] -= move;
      verdict.accept += pi[a] * move;
    }
  }
  memcpy(distribution, pi, sizeof distribution);
  for (int step = 0; step < 5000; step++) {
    for (size_t b = 0; b < n_points; b++) {
      next[b] = 0;
      for (size_t a = 0; a < n_points; a++) {
        next[b] += distribution[a] * kernel[a][b];
      }
      verdict.moved = step == 0 ? fmax(verdict.moved, fabs(next[b] - pi[b])) : verdict.moved;
    }
    memcpy(distribution, next, sizeof distribution);
  }
  for (size_t b = 0; b < n_points; b++) {
    verdict.bias += 0.5 * fabs(distribution[b] - pi[b]);
  }
  print_message("%-52s acceptance %.3f, one step moves pi by %.2g, invariant distribution off by %.2g\n",
                way->name, verdict.accept, verdict.moved, verdict.bias);
  assert_true(verdict.accept > 0.02);
  return verdict;
}

#define RATIO(sd) .decision = TACIT_DECISION_RATIO, .rate = 1, .multiplier = sd, .n_records = max_records
#define BARKER(test, c, sd)                                                                                  \
  .decision = TACIT_DECISION_SAMPLED_BARKER, .multiplier = sd,                                               \
  .settings = {.barker_test = test, .ratio_variance = c}
#define SUBSAMPLED(sd) .decision = TACIT_DECISION_SAMPLED_RATIO, .multiplier = sd
#define ALL .rate = 1, .n_records = max_records
#define HALF .rate = 0.5, .n_records = max_records
#define BIT(...) .decision = TACIT_DECISION_BIT, .rule = {__VA_ARGS__}, .n_records = max_records
#define MINI(a, k)                                                                                           \
  .decision = TACIT_DECISION_MINIBATCH, .intensity = a, .max_batch = k, .rule = {.max_bound = 2},            \
  .n_records = 3

static const way_t exact[] = {
    {"metropolis (rwmh, hmc)", RATIO(0)},
    {"noisy ratio (dp-penalty, dp-hmc)", RATIO(0.4)},
    {"noisy ratio, little noise", RATIO(0.05)},
    {"barker, penalty (dp-barker-vcorr, all records)", BARKER(TACIT_BARKER_PENALTY, 2, 0.4), ALL},
    {"barker bit (dp-barker, dp-fast-mh-full)", BIT(TACIT_ACCEPT_BARKER, 2, 0, 0, 0)},
    {"penalty bit", BIT(TACIT_ACCEPT_PENALTY, 2, 1.3, 0, 0)},
    {"probit bit", BIT(TACIT_ACCEPT_PROBIT, 2, 0.6, 0, 0)},
    {"arcsine bit", BIT(TACIT_ACCEPT_ARCSINE, 2, 0, 0.4, 0.9)},
    {"arcsine bit, cap that is reached", BIT(TACIT_ACCEPT_ARCSINE, 2, 0, 0.8, 0.7)},
    {"minibatches (dp-fast-mh)", MINI(0.5, 1e9)},
    {"minibatches or all, by the public rule", MINI(0.5, 4)},
    {"minibatches, metropolis (tunamh)", MINI(0.5, 1e9), .is_metropolis = true},
};

static void test_exact_methods_leave_the_target_alone(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
    verdict_t verdict = verdict_of(&exact[i]);
    assert_true(verdict.moved < 1e-6 && verdict.bias < 1e-6);
  }
}

static const way_t planted[] = {
    {"PLANTED: no penalty", RATIO(0.4), .fault = TACIT_FAULT_NO_PENALTY},
    {"PLANTED: no penalty in barker's test", .decision = TACIT_DECISION_SAMPLED_BARKER, .multiplier = 0.4,
     .rate = 1, .settings = {.barker_test = TACIT_BARKER_PENALTY, .ratio_variance = 2},
     .fault = TACIT_FAULT_NO_PENALTY, .n_records = max_records},
    {"PLANTED: noise 10 % larger than said", RATIO(0.4), .excess = 0.1},
    {"PLANTED: branch by the size of the batch", MINI(0.5, 5), .is_metropolis = true,
     .is_random_branch = true},
    {"PLANTED: the same with barker's rule", MINI(0.5, 5), .is_random_branch = true},
};

static void test_planted_errors_are_seen(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
    TACIT_PLANT(planted[i].fault);
    verdict_t verdict = verdict_of(&planted[i]);
    TACIT_PLANT(TACIT_FAULT_NONE);
    assert_true(verdict.moved > 1e-4 && verdict.bias > 1e-3);
  }
}

/* Bounds of the distance between the invariant distribution and the target, about half and twice what was
 * measured. */
static const way_t approximate[] = {
    {"vcorr, C = 1, all records", BARKER(TACIT_BARKER_VCORR, 1, 0.2), ALL, .least = 2e-8, .most = 1.2e-7},
    {"vcorr, C = 2, all records", BARKER(TACIT_BARKER_VCORR, 2, 0.2), ALL, .least = 2e-4, .most = 8e-4},
    {"vcorr, C = 3, all records", BARKER(TACIT_BARKER_VCORR, 3, 0.2), ALL, .least = 5e-3, .most = 0.02},
    {"vcorr, C = 2, half of the records", BARKER(TACIT_BARKER_VCORR, 2, 0.05), HALF, .least = 0.018,
     .most = 0.075},
    {"barker, penalty, half of the records", BARKER(TACIT_BARKER_PENALTY, 2, 0.05), HALF, .least = 0.018,
     .most = 0.075},
    {"penalty, half of the records (dp-penalty-subsampled)", SUBSAMPLED(0.05), HALF, .least = 0.018,
     .most = 0.075},
    {"penalty, 7 of 8 records", SUBSAMPLED(0.2), .rate = 0.875, .n_records = max_records, .least = 1e-3,
     .most = 4.5e-3},
};

static void test_approximate_methods_have_the_bias_they_are_said_to_have(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof approximate / sizeof approximate[0]; i++) {
    verdict_t verdict = verdict_of(&approximate[i]);
    assert_true(verdict.bias > approximate[i].least && verdict.bias < approximate[i].most);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_methods_leave_the_target_alone),
      cmocka_unit_test(test_planted_errors_are_seen),
      cmocka_unit_test(test_approximate_methods_have_the_bias_they_are_said_to_have)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
