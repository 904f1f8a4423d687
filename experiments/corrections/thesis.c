/* [Raisa2021thesis]: the penalty method, its subsampled variant, Barker's test with a correction, and
 * DP-MALA. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corrections.h"
#include "curator/curator.h"
#include "diagnose/diagnose.h"
#include "models/models.h"
#include "tacit/sample.h"

/* ---- acceptance ---- */

static double without_noise(double w, double sigma) { return metropolis(w - sigma * sigma / 2); }

static void run_noise_left_out(run_t *run) {
  for (int i = 1; i <= 2; i++) {
    double w = 1, s = i;
    expect_value(
        run, without_noise(w, s) / (exp(w) * without_noise(-w, s)), balance_ratio(metropolis, w, s), 1, 1e-9,
        "not reversible",
        "A(w) / (e^w A(-w)) at w = 1, sigma = %g: lambda - sigma^2/2 against lambda + xi - sigma^2/2", s);
  }
}

/* ---- sensitivity of densities and of their logarithms ---- */

static void run_log_sensitivity(run_t *run) {
  double sd = 1, bound = 3, from = 0, to = 1, of_density = 0, of_log = 0;
  for (int i = -300; i <= 300; i++) {
    double x = 0.01 * i, a = -(x - from) * (x - from) / (2 * sd * sd),
           b = -(x - to) * (x - to) / (2 * sd * sd);
    of_density = fmax(of_density, fabs(exp(b) - exp(a)) / sqrt(2 * acos(-1)));
    of_log = fmax(of_log, fabs(b - a));
  }
  /* (x - 1/2) at x = -3 */
  expect_value(
      run, of_density, of_log, bound + 0.5, 1e-9, "log missing",
      "bound of one record's ratio, N(theta, 1), |x| <= 3, theta 0 to 1: differences of p against those of "
      "log p");
}

/* ---- Theorem 7 ---- */

static double loss_tail(double loss, const void *ctx) {
  const double *c = ctx, z = loss - c[0]; /* rho, epsilon */
  return -expm1(c[1] - loss) * exp(-z * z / (4 * c[0])) / sqrt(4 * acos(-1) * c[0]);
}

static void run_rho_factor(run_t *run) {
  double tau = 20, delta = 1e-6;
  uint64_t k = 400;
  double rho = (double)k / (2 * tau * tau), theirs = tacit_gaussian_epsilon(2 * rho, log(delta));
  double ours = tacit_gaussian_epsilon(rho, log(delta));
  double c[2] = {rho, ours}, check = integrate(loss_tail, c, ours, rho + 40 * sqrt(2 * rho), 2000);
  expect_value(run,
               integrate(loss_tail, (double[]){rho, theirs}, theirs, rho + 40 * sqrt(2 * rho), 2000) / delta,
               check / delta, 1, 1e-6, "factor 2",
               "true delta at the epsilon of 400 steps, tau = 20 (%.3f by mu = 1/tau^2, %.3f by 1/(2 "
               "tau^2)), over the "
               "delta meant",
               theirs, ours);
}

/* ---- Lemma 1: sensitivity of b times the variance of a batch ---- */

enum { batch = 7 };

static double sum_of_squares(const double *r) {
  double mean = 0, sum = 0;
  for (int i = 0; i < batch; i++) {
    mean += r[i] / batch;
  }
  for (int i = 0; i < batch; i++) {
    sum += (r[i] - mean) * (r[i] - mean);
  }
  return sum;
}

typedef struct change {
  double penalty, joint;
} change_t;

/*
 * Changes when r[0] is replaced, largest over random and extreme batches of values in [-1, 1]: of half the
 * sum of squares, and of the sum less that half, which is what is released.
 */
static change_t largest_change(tacit_rng_t *rng, int n_trials) {
  change_t worst = {0, 0};
  for (int trial = 0; trial < n_trials; trial++) {
    double r[batch];
    bool extreme = trial % 2 == 0;
    for (int i = 0; i < batch; i++) {
      r[i] = 2 * tacit_rng_uniform(rng) - 1;
      r[i] = extreme ? copysign(1, r[i]) : r[i];
    }
    double before = sum_of_squares(r) / 2, first = r[0];
    r[0] = extreme ? -r[0] : 2 * tacit_rng_uniform(rng) - 1;
    double change = sum_of_squares(r) / 2 - before;
    worst.penalty = fmax(worst.penalty, fabs(change));
    worst.joint = fmax(worst.joint, fabs(r[0] - first - change));
  }
  return worst;
}

static void run_variance_sensitivity(run_t *run) {
  tacit_rng_t *rng = case_rng(run, 0);
  change_t found = largest_change(rng, 200000); /* one in 2^7 of the extreme batches attains both */
  tacit_rng_free(rng);
  double factor = (double)(batch - 1) / batch;
  expect_value(
      run, 3 * factor, 2 * factor, found.penalty, 1e-9, "loose",
      "sensitivity of sigma_b^2/2, b = 7, in units of (n T/b)^2 c^2: 3 (b-1)/b against 2 (b-1)/b; expected: "
      "found by search");
  expect_value(run, 2 + 3 * factor, 2 + 2 * factor, found.joint, 1e-9, "loose",
               "the same of lambda - sigma_b^2/2 at n T/b = c = 1: 2 + 3 (b-1)/b against 2 + 2 (b-1)/b");
}

/* ---- variance of a batch estimate ---- */

static void run_batch_variance(run_t *run) {
  enum { n = 8, b = 3 };
  static const double r[n] = {0.3, -1.2, 0.7, 2.1, -0.4, 0.1, 1.6, -0.9};
  double mean = 0, square = 0, sample_variance = 0, count = 0;
  for (int i = 0; i < n; i++) {
    mean += r[i] / n;
  }
  for (unsigned set = 0; set < 1u << n;
       set++) { /* all batches: variance of n/b sum, mean of a batch's estimate */
    double sum = 0, squares = 0;
    int size = 0;
    for (int i = 0; i < n; i++) {
      bool in = (set >> i & 1) != 0;
      sum += in ? r[i] : 0;
      squares += in ? r[i] * r[i] : 0;
      size += in;
    }
    if (size == b) {
      double estimate = sum * n / b - mean * n;
      square += estimate * estimate;
      sample_variance += squares / b - sum * sum / (b * b); /* divided by b, as printed */
      count++;
    }
  }
  double exact = square / count, mean_of_printed = sample_variance / count;
  expect_value(
      run, (double)n / (b * b) * mean_of_printed,
      (double)(n * n) / b * mean_of_printed * b / (b - 1) * (1 - (double)b / n), exact, 1e-9,
      "factors missing",
      "mean of the estimate sigma_b^2, n = 8, b = 3; expected: variance of n/b sum over all 56 batches "
      "(without the finite-"
      "population factors: %.3f)",
      (double)(n * n) / b * mean_of_printed);
}

/* ---- Theorem 9: tau or tau^2 ---- */

typedef struct renyi {
  double alpha, sigma;
} renyi_t;

/* p^alpha q^(1 - alpha) for N(2, sigma^2) and N(0, sigma^2). */
static double renyi_integrand(double x, const void *ctx) {
  const renyi_t *r = ctx;
  double p = (x - 2) / r->sigma, q = x / r->sigma;
  return exp(-r->alpha * p * p / 2 - (1 - r->alpha) * q * q / 2) / (r->sigma * sqrt(2 * acos(-1)));
}

static void run_tau_square(run_t *run) {
  double tau = 4, alpha = 3; /* ratios in [-c, c] = [-1, 1]: released sum +- 2, noise sd tau times that */
  renyi_t r = {alpha, 2 * tau};
  double exact = log(integrate(renyi_integrand, &r, -150, 170, 4000)) / (alpha - 1);
  expect_value(
      run, alpha / (2 * tau), alpha / (2 * tau * tau), exact, 1e-9, "inconsistent",
      "Renyi divergence of order 3 at tau = 4 with noise tau c: alpha/(2 tau) against alpha/(2 tau^2)");
}

/* ---- Theorem 8 ---- */

/* Renyi divergence of two Gaussians with mean difference up to 2/sqrt(b), variances v1 and v2. */
static double gaussian_renyi(double alpha, double difference, double v1, double v2) {
  double mixed = alpha * v2 + (1 - alpha) * v1;
  return log(v2 / v1) / 2 + log(v2 / mixed) / (2 * (alpha - 1)) +
         alpha * difference * difference / (2 * mixed);
}

static void run_barker_divergence(run_t *run) {
  static const double settings[][2] = {{1000, 2}, {1000, 10}, {10000, 2}};
  for (size_t i = 0; i < 3; i++) {
    double b = settings[i][0], alpha = settings[i][1], exact = 0,
           tail = 2 * alpha / (b - 5 * alpha) + 5 / (2 * b);
    for (int k = 0; k <= 200; k++) { /* variances in [1, 2], 4/b apart */
      double v = 1 + k * (1 - 4 / b) / 200, w = v + 4 / b;
      exact = fmax(exact,
                   fmax(gaussian_renyi(alpha, 2 / sqrt(b), v, w), gaussian_renyi(alpha, 2 / sqrt(b), w, v)));
    }
    double printed = tail + log(2 * b / (b - 5 * alpha)) / (2 * (alpha - 1));
    double corrected = tail + log(b / (b - 5 * alpha)) / (2 * (alpha - 1));
    expect_that(run, corrected >= exact && printed > 2 * corrected, printed, corrected, exact, "loose",
                "bound at order %g, b = %g: ln(2b/(b - 5a)) against ln(b/(b - 5a)); expected: the supremum",
                alpha, b);
  }
}

/* ---- a whole run of Barker's test from minibatches ---- */

enum { max_order = 64 };

/*
 * Renyi divergence of order alpha of a minibatch without replacement, share gamma, from the divergences e[j]
 * of orders 2 to alpha of what is done with it [WangBK2019, Theorem 9, without the terms in the divergence of
 * infinite order].
 */
static double amplified(const double *e, int alpha, double gamma) {
  double sum = 1, choose = 1, power = 1;
  for (int j = 1; j <= alpha; j++) {
    choose *= (double)(alpha - j + 1) / j;
    power *= gamma;
    double factor = j < 2 ? 0 : j == 2 ? fmin(4 * expm1(e[2]), 2 * exp(e[2])) : 2 * exp((j - 1) * e[j]);
    sum += choose * power * factor;
  }
  return log(sum) / (alpha - 1);
}

/* Epsilon of k minibatches of b out of n by the bound of Theorem 8, `inner` in its logarithm. */
static double published_epsilon(double b, double n, double k, double inner, double delta) {
  double e[max_order + 1] = {0}, best = INFINITY;
  for (int alpha = 2; alpha <= max_order && 5 * alpha < b; alpha++) {
    e[alpha] =
        5 / (2 * b) + log(inner * b / (b - 5 * alpha)) / (2 * (alpha - 1)) + 2 * alpha / (b - 5 * alpha);
    double order = alpha, of_run = k * amplified(e, alpha, b / n);
    best = fmin(best, of_run + log1p(-1 / order) - (log(delta) + log(order)) / (order - 1));
  }
  return best;
}

static void run_barker_accounting(run_t *run) {
  static const double settings[][3] = {{1000, 1e5, 1000}, {2000, 1e5, 5000}}; /* b, n, steps */
  const double delta = 1e-6;
  for (size_t i = 0; i < 2; i++) {
    double b = settings[i][0], n = settings[i][1], k = settings[i][2], c = sqrt(b) / n, share;
    double rate = tacit_curator_sampling_rate(b / n);
    share = tacit_curator_sampled_ratio_bound(rate, c);
    tacit_event_t event = tacit_curator_sampled_event(rate, sqrt(2) / (2 * share)); /* variance C = 2 */
    event.count = (uint64_t)k;
    tacit_guarantee_t ours;
    tacit_account_options_t options = {.relation = TACIT_RELATION_SUBSTITUTE};
    tacit_error_t err;
    must(tacit_account_epsilon(NULL, &event, 1, &options, delta, &ours, &err), &err);
    double corrected = published_epsilon(b, n, k, 1, delta), printed = published_epsilon(b, n, k, 2, delta);
    expect_that(run, ours.epsilon < corrected && corrected < printed, printed, ours.epsilon, corrected,
                "loose",
                "epsilon of %g steps, C = 2, %g of %g records a step: Theorem 8, without replacement, "
                "against Poisson; "
                "expected: the former with Theorem 8 corrected",
                k, b, n);
  }
}

/* ---- the correction variable ---- */

/* Modulus of the characteristic function that V must have for N(0, c) + V to be logistic. */
static double needed_chf(double t, double c) {
  double x = acos(-1) * t;
  return x / sinh(x) * exp(c * t * t / 2);
}

static double chf_excess(double t, const void *c) { return log(needed_chf(t, *(const double *)c)); }

static void run_correction_variable(run_t *run) {
  static const double variances[] = {0.5, 1, 2, 3};
  for (size_t i = 0; i < 4; i++) {
    double c = variances[i], w = 1.3, first = bisect(chf_excess, &c, 0.4, 14), s = sqrt(c);
    double ratio = balance_ratio(logistic, w, s);
    double peak = needed_chf(first * 1.02, c);
    expect_that(run, peak > 1 && fabs(ratio - 1) < 1e-9, peak, ratio, 1, "does not exist",
                "C = %g: |E e^(itV)| that V would need at t = %.3g (a distribution has at most 1; exceeded "
                "from t = %.4g on); "
                "corrected: A(w)/(e^w A(-w)) with the penalty",
                c, 1.02 * first, first);
  }
  static const double smallest[] = {1e-8,
                                    5e-4}; /* what the nearest distribution leaves, by order of magnitude */
  for (size_t i = 0; i < 2; i++) {
    double c = 1 + (double)i, error = tacit_vcorr_error(c);
    expect_that(run, error > smallest[i] && error < 10 * smallest[i], 0, error, NONE, "approximate",
                "C = %g: largest difference of the distribution functions of N(0, C) + V and of the logistic "
                "distribution, for the best V",
                c);
  }
  if (!run->quick) {
    enum { n = 200 };
    static double t[n], y[4][n];
    figure_t figure = {.title = "Characteristic function that the correction variable would need",
                       .x_label = "t",
                       .y_label = "modulus (at most 1 for a distribution)",
                       .log_y = true,
                       .n_curves = 4};
    static const char *const labels[] = {"C = 0.5", "C = 1", "C = 2", "C = 3"};
    for (size_t i = 0; i < 4; i++) {
      for (size_t k = 0; k < n; k++) {
        t[k] = 0.06 * (double)(k + 1);
        y[i][k] = needed_chf(t[k], variances[i]);
        y[i][k] = y[i][k] < 10 ? y[i][k] : NAN;
      }
      figure.curves[i] = (curve_t){labels[i], t, y[i], n};
    }
    write_figure(run, &figure);
  }
}

/* ---- DP-MALA ---- */

/* Largest change of the log proposal ratio when one of n gradients, all in [-1, 1], is replaced; step sd s.
 */
static double proposal_sensitivity(double n, double s, double move) {
  double worst = 0;
  for (int k = 0; k < 4; k++) {
    double rest = (k & 1) != 0 ? n - 1 : 1 - n, own = (k & 2) != 0 ? 1 : -1, value[2];
    for (int side = 0; side < 2; side++) {
      double g = rest + (side == 0 ? own : -own),
             back = rest; /* at the other end the record differs, no other */
      double forward = move - s * s / 2 * g, reverse = -move - s * s / 2 * (back - (side == 0 ? own : -own));
      value[side] = (forward * forward - reverse * reverse) / (2 * s * s);
    }
    worst = fmax(worst, fabs(value[1] - value[0]));
  }
  return worst;
}

static void run_mala(run_t *run) {
  double s = 0.1, u = 3.7, v = -1.9, z = 0.6; /* released gradients at both ends, proposal draw */
  double theta = 0.2, prop = theta + s * s / 2 * u + s * z;
  double forward = prop - theta - s * s / 2 * u, reverse = theta - prop - s * s / 2 * v;
  double from_releases = (forward * forward - reverse * reverse) / (2 * s * s);
  double p = z + s / 2 * u, end = p + s / 2 * v; /* one leapfrog step: momentum z, kicks s/2 u and s/2 v */
  expect_value(
      run, -from_releases, from_releases, (z * z - end * end) / 2, 1e-12, "sign reversed",
      "log proposal ratio from the two released gradients; expected: kinetic energy difference of one "
      "leapfrog step");
  double small = proposal_sensitivity(100, s, 0.05), large = proposal_sensitivity(10000, s, 0.05);
  expect_that(
      run, large > 50 * small, large, NONE, NONE, "unnecessary",
      "sensitivity of the log proposal ratio, n = 10000 (n = 100: %.3g); none is needed where both gradients "
      "are released",
      small);
}

/* ---- the distance of samples ---- */

/* Unbiased squared discrepancy with kernel exp(sign d^2 / (2 s^2)). */
static double discrepancy(const double *x, const double *y, size_t n, double sign) {
  double within = 0, between = 0;
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      double dx = x[i] - x[j], dy = y[i] - y[j], dxy = x[i] - y[j];
      within += i == j ? 0 : exp(sign * dx * dx / 2) + exp(sign * dy * dy / 2);
      between += exp(sign * dxy * dxy / 2);
    }
  }
  double pairs = (double)n * ((double)n - 1);
  return within / pairs - 2 * between / ((double)n * (double)n);
}

static void run_kernel_sign(run_t *run) {
  enum { n = 400 };
  static double x[n], y[n];
  double library;
  tacit_rng_t *rng = case_rng(run, 0);
  tacit_error_t err;
  for (size_t i = 0; i < n; i++) {
    x[i] = 1.5 * tacit_rng_normal(rng);
    y[i] = 1.5 * tacit_rng_normal(rng) + 1;
  }
  tacit_rng_free(rng);
  must(tacit_mmd2(x, n, y, n, 1, 1, &library, &err), &err);
  double theirs = discrepancy(x, y, n, 1);
  expect_value(
      run, theirs, library, discrepancy(x, y, n, -1), 1e-9, "sign wrong",
      "squared MMD of N(0, 1.5^2) and N(1, 1.5^2), bandwidth 1: kernel exp(+d^2/2) against the library's");
}

static const correction_case_t cases[] = {
    {"noise-left-out", "acceptance in sections 3.1, 4.1",
     "Accept with probability min(1, exp(lambda - sigma^2/2)).",
     "lambda must be the released, noisy ratio lambda + xi: without xi the penalty breaks what it is there "
     "to restore. "
     "(There "
     "too: \"theta_i = theta if accepted\", for theta'.)",
     "4", run_noise_left_out},
    {"log-sensitivity", "Theorem 6", "c bounds differences of p(x | theta).",
     "The released sum has differences of log p, which are larger.", "3", run_log_sensitivity},
    {"rho-factor", "Theorem 7", "The mean of the privacy loss is mu = 1/(tau^2 n^(2a)) a step.",
     "It is 1/(2 tau^2 n^(2a)), as for any Gaussian. Safe, but half of the steps are given away, and the "
     "erfc's "
     "arguments no longer fit.",
     "1", run_rho_factor},
    {"variance-sensitivity", "Lemma 1", "The penalty's sensitivity is 3 (n T/b)^2 c^2 (b-1)/b.",
     "The proof's own steps give 2.5; the tight constant is 2. Valid, 1.5 times too "
     "large.",
     "11.2", run_variance_sensitivity},
    {"batch-variance", "sigma_b^2",
     "The variance of the batch estimate is (n T^2/|B|^2) sum (r_j - rbar)^2 /...",
     "It is (n T)^2/b times the batch's variance, with the factors b/(b-1) and 1 - b/n of a small sample "
     "from a finite "
     "population.",
     "11.2", run_batch_variance},
    {"tau-square", "Theorem 9", "The noise variance is tau c^2 and the divergence alpha/(2 tau).",
     "Everywhere else tau multiplies the standard deviation: alpha/(2 tau^2).", "1", run_tau_square},
    {"barker-divergence", "Theorem 8", "The divergence contains ln(2b/(b - 5a))/(2(a - 1)).",
     "It is ln(b/(b - 5a)): the extra ln 2/(2(a - 1)) does not vanish with b.", "11.2",
     run_barker_divergence},
    {"barker-accounting", "accounting of Barker's test",
     "A run costs what Theorem 8 and amplification without replacement give.",
     "Theorem 8's extra logarithm makes it many times dearer, and noise whose variance is computed from the "
     "minibatch, drawn without "
     "replacement, is known by Renyi bounds alone. Poisson minibatches, each with the penalty of its own "
     "sampling noise, and noise of "
     "fixed variance cost less for the same total variance.",
     "11.2", run_barker_accounting},
    {"correction-variable", "section on Barker's test",
     "There is a distribution V_corr with N(0, C) + V_corr logistic.",
     "Its characteristic function would exceed 1, for every C > 0. Barker's test on the noisy ratio less C/2 "
     "is exact "
     "instead.",
     "11.1", run_correction_variable},
    {"mala-sensitivity", "DP-MALA, Lemma 3 and the proposal's sensitivity",
     "The log ratio of proposal densities has a sensitivity of its own, with a term in (n - 1) L^2.",
     "The term makes the bound useless, and it is unnecessary: with the gradients at both ends released the "
     "ratio is "
     "post-processing. (Its sign is reversed as printed.)",
     "5", run_mala},
    {"kernel-sign", "definition of the MMD", "The kernel is exp(||x - y||^2/(2 s^2)).",
     "The minus sign is missing: as printed the kernel is not bounded.", "11.2", run_kernel_sign},
};

const source_t source_thesis = {"Raisa2021thesis", cases, sizeof cases / sizeof cases[0]};
