/*
 * [ChangAwanRao], Hamiltonian Monte Carlo on (theta, x) given a released mean of clamped records: theta ~
 * N(0, s0^2), x_i ~ N(theta, sx^2), released s = (1/n) sum clamp(x_i, -C, C) + N(0, sd^2). The mass matrix A
 * is minus the Hessian with no record clamped: an arrowhead plus a matrix of rank one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corrections.h"

static const double delta_release = 1e-5;

typedef struct target {
  size_t n;
  double s0, sx, sd, limit, released;
} target_t;

/* Points, gradients and momenta hold theta first and then the n records. */
static double clamp(double x, double limit) { return fmax(fmin(x, limit), -limit); }

static double log_density(const target_t *t, const double *z) {
  double theta = z[0], sum = 0, squares = 0;
  for (size_t i = 1; i <= t->n; i++) {
    sum += clamp(z[i], t->limit);
    squares += (z[i] - theta) * (z[i] - theta);
  }
  double off = t->released - sum / (double)t->n;
  return -theta * theta / (2 * t->s0 * t->s0) - squares / (2 * t->sx * t->sx) -
         off * off / (2 * t->sd * t->sd);
}

static void gradient(const target_t *t, const double *z, double *g) {
  double n = (double)t->n, theta = z[0], sum = 0, pull = 0, precision = 1 / (t->sx * t->sx);
  for (size_t i = 1; i <= t->n; i++) {
    sum += clamp(z[i], t->limit);
    pull += z[i] - theta;
  }
  double off = (t->released - sum / n) / (n * t->sd * t->sd);
  g[0] = -theta / (t->s0 * t->s0) + pull * precision;
  for (size_t i = 1; i <= t->n; i++) {
    g[i] = -(z[i] - theta) * precision + (fabs(z[i]) < t->limit ? off : 0);
  }
}

/* ---- the mass matrix ---- */

static void dense_mass(const target_t *t, double *a) {
  size_t m = t->n + 1;
  double precision = 1 / (t->sx * t->sx), u = 1 / (double)t->n;
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < m; j++) {
      double records = (i == j ? precision : 0) + u * u / (t->sd * t->sd);
      double corner = 1 / (t->s0 * t->s0) + (double)t->n * precision;
      a[i * m + j] = i > 0 && j > 0 ? records : (i == j ? corner : -precision);
    }
  }
}

/* y = A^-1 p by the arrowhead's inverse and the formula of Sherman and Morrison; returns the products it
 * took. */
static uint64_t inverse_mass(const target_t *t, const double *p, double *y) {
  double u = 1 / (double)t->n, s0 = t->s0 * t->s0, sx = t->sx * t->sx, sum = 0, dot = 0;
  uint64_t n_products = 0;
  for (size_t i = 0; i <= t->n; i++) {
    sum += p[i];
  }
  y[0] = s0 * sum;
  for (size_t i = 1; i <= t->n; i++, n_products += 2) {
    y[i] = y[0] + sx * p[i];
    dot += u * y[i];
  }
  double w0 = s0, w = s0 + sx * u; /* A0^-1 (0, u): sum u = 1, all u equal */
  double factor = dot / (t->sd * t->sd + w);
  y[0] -= factor * w0;
  for (size_t i = 1; i <= t->n; i++, n_products++) {
    y[i] -= factor * w;
  }
  return n_products;
}

static void draw_momentum(const target_t *t, tacit_rng_t *rng, double *p) {
  double common = tacit_rng_normal(rng) / ((double)t->n * t->sd), sum = 0;
  for (size_t i = 1; i <= t->n; i++) {
    double z = tacit_rng_normal(rng) / t->sx;
    sum += z;
    p[i] = z + common;
  }
  p[0] = tacit_rng_normal(rng) / t->s0 - sum;
}

static target_t example(size_t n, double epsilon, double variance_ratio) {
  target_t t = {.n = n, .s0 = 1, .sx = sqrt(variance_ratio), .limit = 1.5, .released = 0.4};
  t.sd = 2 * t.limit / ((double)n * epsilon) * sqrt(2 * log(1.25 / delta_release));
  return t;
}

/* Mean of p' A^-1 p over drawn momenta: the dimension, n + 1, if their covariance is A. */
static void expect_momenta(run_t *run) {
  enum { n_draws = 100000 };
  target_t t = example(200, 10, 1);
  size_t m = t.n + 1;
  double *p = allocate(m, sizeof *p), *y = allocate(m, sizeof *y);
  series_t mean;
  tacit_rng_t *rng = case_rng(run, 1);
  series_init(&mean, n_draws);
  for (int k = 0; k < n_draws; k++) {
    double sum = 0;
    draw_momentum(&t, rng, p);
    inverse_mass(&t, p, y);
    for (size_t i = 0; i < m; i++) {
      sum += p[i] * y[i];
    }
    series_add(&mean, sum);
  }
  tacit_rng_free(rng);
  free(p);
  free(y);
  expect_value(run, NONE, series_mean(&mean), (double)m, z_limit * series_error(&mean), "correct",
               "mean of p' A^-1 p of momenta drawn in O(n), n = 200 (within %.2g); expected: n + 1",
               z_limit * series_error(&mean));
}

static void run_cost(run_t *run) {
  target_t t = example(200, 1, 1);
  size_t m = t.n + 1;
  double *a = allocate(m * m, sizeof *a), *p = allocate(m, sizeof *p), *fast = allocate(m, sizeof *fast);
  double error = 0, scale = 0;
  tacit_rng_t *rng = case_rng(run, 0);
  draw_momentum(&t, rng, p);
  uint64_t n_products = inverse_mass(&t, p, fast);
  dense_mass(&t, a);
  solve(m, a, p);
  for (size_t i = 0; i < m; i++) {
    error = fmax(error, fabs(fast[i] - p[i]));
    scale = fmax(scale, fabs(p[i]));
  }
  expect_that(run, error < 1e-10 * scale && n_products < 4 * m, (double)(m * m), (double)n_products, NONE,
              "O(n^2)",
              "products for one A^-1 p, n = 200: dense inverse against arrowhead and rank one (relative "
              "difference %.1g)",
              error / scale);
  double *g = allocate(m, sizeof *g), worst = 0, h = 1e-5;
  for (size_t i = 0; i < m; i++) {
    p[i] = 0.4 + tacit_rng_normal(rng);
  }
  tacit_rng_free(rng);
  gradient(&t, p, g);
  for (size_t i = 0; i < m; i++) {
    double centre = p[i], up, down;
    p[i] = centre + h;
    up = log_density(&t, p);
    p[i] = centre - h;
    down = log_density(&t, p);
    p[i] = centre;
    worst = fmax(worst, fabs((up - down) / (2 * h) - g[i]));
  }
  expect_that(run, worst < 1e-5, NONE, worst, 0, "correct",
              "equations (9), (10): largest error against difference quotients");
  expect_momenta(run);
  free(a);
  free(p);
  free(fast);
  free(g);
}

/* ---- the clamp ---- */

static void run_continuity(run_t *run) {
  target_t t = example(20, 1, 1);
  double z[21], g[2][21], value[2];
  static const double steps[] = {1e-3, 1e-6};
  double jump[2], kink[2];
  for (int k = 0; k < 2; k++) {
    for (int side = 0; side < 2; side++) {
      for (size_t i = 0; i <= t.n; i++) {
        z[i] = 0.1;
      }
      z[1] = t.limit + (side == 0 ? -steps[k] : steps[k]);
      value[side] = log_density(&t, z);
      gradient(&t, z, g[side]);
    }
    jump[k] = fabs(value[1] - value[0]);
    kink[k] = fabs(g[1][1] - g[0][1]);
  }
  double mean = (0.1 * (double)(t.n - 1) + t.limit) / (double)t.n;
  double force =
      fabs(t.released - mean) / ((double)t.n * t.sd * t.sd); /* what the record loses beyond the clamp */
  expect_that(run, jump[1] < 2e-3 * jump[0], NONE, jump[1], 0, "continuous",
              "change of the log density across |x_i| = C, 1e-6 to either side (1e-3: %.3g)", jump[0]);
  expect_value(run, 0, kink[1], force, 1e-5, "gradient jumps", "jump of the gradient there (1e-3: %.3g)",
               kink[0]);
}

typedef struct outcome {
  double acceptance, lag1;
} outcome_t;

static bool trajectory(const target_t *t, tacit_rng_t *rng, double step, int n_steps, double *z,
                       double *work) {
  size_t m = t->n + 1;
  double *p = work, *end = work + m, *g = work + 2 * m, *v = work + 3 * m, start = -log_density(t, z), stop;
  draw_momentum(t, rng, p);
  inverse_mass(t, p, v);
  memcpy(end, z, m * sizeof *z);
  for (size_t i = 0; i < m; i++) {
    start += p[i] * v[i] / 2;
  }
  gradient(t, end, g);
  for (int j = 0; j < n_steps; j++) {
    for (size_t i = 0; i < m; i++) {
      p[i] += step / 2 * g[i];
    }
    inverse_mass(t, p, v);
    for (size_t i = 0; i < m; i++) {
      end[i] += step * v[i];
    }
    gradient(t, end, g);
    for (size_t i = 0; i < m; i++) {
      p[i] += step / 2 * g[i];
    }
  }
  stop = -log_density(t, end);
  inverse_mass(t, p, v);
  for (size_t i = 0; i < m; i++) {
    stop += p[i] * v[i] / 2;
  }
  bool accept = tacit_rng_uniform(rng) < metropolis(start - stop);
  memcpy(z, accept ? end : z, accept ? m * sizeof *z : 0);
  return accept;
}

static outcome_t run_hmc(const run_t *run, const target_t *t, double step, int n_steps, int n_iterations) {
  size_t m = t->n + 1;
  double *z = allocate(m, sizeof *z), *work = allocate(4 * m, sizeof *work);
  double *theta = allocate((size_t)n_iterations, sizeof *theta);
  double accepted = 0, mean = 0, square = 0, product = 0;
  tacit_rng_t *rng = case_rng(run, (uint64_t)n_steps);
  z[0] = t->released;
  for (size_t i = 1; i < m; i++) {
    z[i] = z[0] + t->sx * tacit_rng_normal(rng);
  }
  for (int i = -200; i < n_iterations; i++) { /* warm-up with short steps, which always move */
    bool accept = trajectory(t, rng, i < 0 ? 0.02 : step, n_steps, z, work);
    if (i >= 0) {
      accepted += accept;
      theta[i] = z[0];
      mean += z[0] / n_iterations;
    }
  }
  for (int i = 0; i < n_iterations; i++) {
    square += (theta[i] - mean) * (theta[i] - mean);
    product += i > 0 ? (theta[i] - mean) * (theta[i - 1] - mean) : 0;
  }
  tacit_rng_free(rng);
  free(z);
  free(work);
  free(theta);
  return (outcome_t){accepted / n_iterations, product / square};
}

static void run_clamp_kink(run_t *run) {
  static const struct { double epsilon, ratio; } settings[] = {{1, 1}, {10, 1}, {10, 10}};
  int n = run->quick ? 800 : 8000;
  double fine[3], coarse[3];
  for (size_t i = 0; i < 3; i++) {
    target_t t = example(1000, settings[i].epsilon, settings[i].ratio);
    fine[i] = run_hmc(run, &t, 0.03, 20, n).acceptance;
    coarse[i] = run_hmc(run, &t, 0.1, 15, n).acceptance;
  }
  /* 800 trajectories give a rate to 0.018 at most; the limits are seven of that from what is seen. */
  expect_that(run, fine[0] > 0.85 && coarse[0] > 0.75, NONE, coarse[0], NONE, "exact",
              "acceptance at step 0.1, 15 steps, n = 1000, epsilon = 1 (step 0.03: %.2f)", fine[0]);
  expect_that(run, coarse[1] < coarse[0] - 0.05, coarse[1], NONE, coarse[0], "kinks cost",
              "the same, epsilon = 10 (step 0.03: %.2f); expected: at epsilon = 1", fine[1]);
  expect_that(run, coarse[2] < 0.2 && fine[2] < fine[0] - 0.1, coarse[2], NONE, coarse[0], "kinks cost",
              "the same, epsilon = 10, sx^2 / s0^2 = 10 (step 0.03: %.2f)", fine[2]);
}

static void run_trajectory_length(run_t *run) {
  target_t t = example(100, 0.1, 1), open = t;
  open.limit = 50; /* no record is ever clamped: the target is Gaussian */
  int n = run->quick ? 4000 : 40000;
  for (int i = 0; i < 2; i++) {
    const target_t *target = i == 0 ? &open : &t;
    outcome_t theirs = run_hmc(run, target, 0.03, 20, n), ours = run_hmc(run, target, 0.1, 15, n);
    /*
     * In units of A a Gaussian target is an oscillator of period 2 pi and the correlation cos(eta L), to the
     * standard error of at most 1/sqrt(n) and one trajectory in fifty that is rejected. Clamped records are
     * no Gaussians: there the limits are six errors from what is seen.
     */
    double tolerance = z_limit / sqrt(n) + 0.02;
    bool holds = i == 0 ? fabs(theirs.lag1 - cos(0.6)) < tolerance && fabs(ours.lag1 - cos(1.5)) < tolerance
                        : theirs.lag1 > 0.7 && ours.lag1 < 0.5;
    expect_that(
        run, holds, theirs.lag1, ours.lag1, cos(1.5), "too short",
        "lag-1 correlation of theta, %s: eta L = 0.6 as published (cos: %.3f) against 1.5 (acceptance %.2f, "
        "%.2f)",
        i == 0 ? "no clamping" : "C = 1.5 sx", cos(0.6), theirs.acceptance, ours.acceptance);
  }
}

/* ---- the release ---- */

static void run_classical_noise(run_t *run) {
  static const double epsilons[] = {1, 3, 10};
  for (size_t i = 0; i < 3; i++) {
    double epsilon = epsilons[i], classical = sqrt(2 * log(1.25 / delta_release)) / epsilon;
    double tight = 1 / sqrt(2 * tacit_gaussian_rho(epsilon, log(delta_release)));
    double theirs = tacit_gaussian_delta(1 / (2 * classical * classical), epsilon);
    double ours = tacit_gaussian_delta(1 / (2 * tight * tight), epsilon);
    bool holds = (theirs > delta_release) == (i == 2) && fabs(ours / delta_release - 1) < 1e-6;
    expect_that(run, holds, theirs, ours, delta_release, i == 2 ? "violated" : "wasteful",
                "true delta at epsilon = %g of noise for delta = 1e-5 (sd %.3f against %.3f)", epsilon,
                classical, tight);
  }
}

static void run_gibbs_acceptance(run_t *run) {
  double epsilon = 1, worst_laplace = 1, worst_gauss = 1;
  double sd = 1 / sqrt(2 * tacit_gaussian_rho(epsilon, log(delta_release))); /* sensitivity 1 */
  for (int i = -400; i <= 400; i++) { /* released value, statistic 0 now and +-1 proposed */
    double s = 0.1 * i;
    worst_laplace = fmin(worst_laplace, exp(-epsilon * (fabs(s - 1) - fabs(s))));
    worst_gauss = fmin(worst_gauss, exp(-((s - 1) * (s - 1) - s * s) / (2 * sd * sd)));
  }
  expect_that(run, fabs(worst_laplace - exp(-epsilon)) < 1e-12 && worst_gauss < 0.5 * exp(-epsilon),
              worst_gauss, worst_laplace, exp(-epsilon), "pure privacy only",
              "least acceptance of a record's move, epsilon = 1, releases up to 40 off: Gaussian against "
              "Laplace noise");
}

static const correction_case_t cases[] = {
    {"leapfrog-cost", "cost", "A leapfrog step costs O(n).",
     "With the dense inverse of an (n+1) x (n+1) mass matrix, as described, it is O(n^2), and O(n^3) to set "
     "up. The "
     "matrix is an arrowhead plus "
     "rank one: its inverse applies in 3 n products.",
     "11.2", run_cost},
    {"continuity", "text", "Clamping makes the likelihood discontinuous.",
     "It is continuous; its gradient jumps. The chain is exact whatever is done at the kink.", "11.2",
     run_continuity},
    {"clamp-kink", "experiments", "The sampler is run on clamped records at epsilon up to 10.",
     "Each crossing adds an energy error of first order: acceptance collapses where epsilon is large and "
     "many records "
     "lie near C.",
     "11.2", run_clamp_kink},
    {"trajectory-length", "experiments", "Twenty steps of 0.03 are used.",
     "In units of the mass matrix a quarter period is 1.57; trajectories of length 0.6 keep most of the "
     "correlation.",
     "11.2", run_trajectory_length},
    {"classical-noise", "experiments",
     "Noise (2C/(n epsilon)) sqrt(2 log(1.25/delta)) at epsilon = 1, 3, 10.",
     "The formula is proved for epsilon < 1. Below it wastes, at 10 it breaks the promise. (delta is not "
     "stated; 1e-5 "
     "here.)",
     "1", run_classical_noise},
    {"gibbs-acceptance", "Gibbs sampler", "A record's move is accepted with probability at least e^-epsilon.",
     "That needs pure differential privacy. With Gaussian noise there is no such bound.", "11.2",
     run_gibbs_acceptance},
};

const source_t source_privatized = {"ChangAwanRao", cases, sizeof cases / sizeof cases[0]};
