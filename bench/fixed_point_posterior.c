/* How far a posterior moves when features are rounded to 16 bits. */
#include "fixed_point.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { POSTERIOR_P = 10, POSTERIOR_N = 100000, N_POINTS = 20 };

typedef struct posterior {
  double mean[POSTERIOR_P],
      hessian[POSTERIOR_P][POSTERIOR_P]; /* the lower triangle of the information, then its Cholesky root */
} posterior_t;

static double log_lik(const double *x, const int16_t *y, const double *theta, double *grad,
                      double (*hessian)[POSTERIOR_P]) {
  double sum = 0;
  for (size_t i = 0; i < POSTERIOR_N; i++) {
    const double *row = x + i * POSTERIOR_P;
    double eta = 0;
    for (size_t j = 0; j < POSTERIOR_P; j++) {
      eta += row[j] * theta[j];
    }
    double mean = logistic(eta);
    sum += y[i] * eta - (fmax(eta, 0) + log1p(exp(-fabs(eta))));
    for (size_t j = 0; grad != NULL && j < POSTERIOR_P; j++) {
      grad[j] += (y[i] - mean) * row[j];
      for (size_t k = 0; k <= j; k++) {
        hessian[j][k] += mean * (1 - mean) * row[j] * row[k];
      }
    }
  }
  return sum;
}

static void factor(double (*a)[POSTERIOR_P]) {
  for (size_t j = 0; j < POSTERIOR_P; j++) {
    for (size_t k = 0; k <= j; k++) {
      double sum = a[j][k];
      for (size_t m = 0; m < k; m++) {
        sum -= a[j][m] * a[k][m];
      }
      a[j][k] = j == k ? sqrt(sum) : sum / a[k][k];
    }
  }
}

/* v <- R^-T v, with R R' the information: of a standard normal vector, a draw about the mean. */
static void solve_upper(double (*root)[POSTERIOR_P], double *v) {
  for (size_t j = POSTERIOR_P; j-- > 0;) {
    for (size_t k = j + 1; k < POSTERIOR_P; k++) {
      v[j] -= root[k][j] * v[k];
    }
    v[j] /= root[j][j];
  }
}

/* Newton's method under a flat prior. */
static void find_posterior(const double *x, const int16_t *y, posterior_t *posterior) {
  memset(posterior, 0, sizeof *posterior);
  for (int step = 0; step < 8; step++) {
    double grad[POSTERIOR_P] = {0};
    memset(posterior->hessian, 0, sizeof posterior->hessian);
    log_lik(x, y, posterior->mean, grad, posterior->hessian);
    factor(posterior->hessian);
    for (size_t j = 0; j < POSTERIOR_P; j++) {
      for (size_t k = 0; k < j; k++) {
        grad[j] -= posterior->hessian[j][k] * grad[k];
      }
      grad[j] /= posterior->hessian[j][j];
    }
    solve_upper(posterior->hessian, grad);
    for (size_t j = 0; j < POSTERIOR_P; j++) {
      posterior->mean[j] += grad[j];
    }
  }
}

/* Features that fill `spread` of the range that their public bounds allow, as they are and rounded; theta is
 * as much larger. */
typedef struct pair {
  double *x, *rounded; /* (POSTERIOR_N, POSTERIOR_P) */
  int16_t *y;
  uint64_t state;
} pair_t;

static pair_t make_pair(double spread) {
  pair_t pair = {make(POSTERIOR_N * POSTERIOR_P, sizeof(double)),
                 make(POSTERIOR_N * POSTERIOR_P, sizeof(double)), make(POSTERIOR_N, sizeof(int16_t)), 3};
  for (size_t i = 0; i < POSTERIOR_N; i++) {
    double eta = 0;
    for (size_t j = 0; j < POSTERIOR_P; j++) {
      size_t at = i * POSTERIOR_P + j;
      double theta = (j % 2 == 0 ? 0.8 : -0.8) / (j == 0 ? 1 : spread);
      pair.x[at] = j == 0 ? 1 : spread * (2 * bench_uniform(&pair.state) - 1);
      pair.rounded[at] = (double)to_fixed(pair.x[at]) / FEATURE_MOST;
      eta += pair.x[at] * theta;
    }
    pair.y[i] = bench_uniform(&pair.state) < logistic(eta);
  }
  return pair;
}

/* |R' (a - b)|, R R' the information: in posterior sd. */
static double distance(double (*root)[POSTERIOR_P], const double *a, const double *b) {
  double square = 0;
  for (size_t j = 0; j < POSTERIOR_P; j++) {
    double along = 0;
    for (size_t k = j; k < POSTERIOR_P; k++) {
      along += root[k][j] * (a[k] - b[k]);
    }
    square += along * along;
  }
  return sqrt(square);
}

static double log_density_change(const pair_t *pair, const double *theta) {
  return log_lik(pair->rounded, pair->y, theta, NULL, NULL) - log_lik(pair->x, pair->y, theta, NULL, NULL);
}

/* The mean and a vector of sums of uniforms, of variance 1, in posterior sd about it. */
static void draw(posterior_t *posterior, uint64_t *state, double *theta) {
  for (size_t j = 0; j < POSTERIOR_P; j++) {
    theta[j] = 0;
    for (int i = 0; i < 12; i++) {
      theta[j] += bench_uniform(state) - 0.5;
    }
  }
  solve_upper(posterior->hessian, theta);
  for (size_t j = 0; j < POSTERIOR_P; j++) {
    theta[j] += posterior->mean[j];
  }
}

/* How far the means are apart, how much the difference of the log densities varies over draws, and the bound
 * of that: n |theta|_1 h. */
void print_posterior(double spread) {
  pair_t pair = make_pair(spread);
  posterior_t exact, moved;
  find_posterior(pair.x, pair.y, &exact);
  find_posterior(pair.rounded, pair.y, &moved);
  double at_mean = log_density_change(&pair, exact.mean), most = 0, size = 0;
  for (size_t point = 0; point < N_POINTS; point++) {
    double theta[POSTERIOR_P];
    draw(&exact, &pair.state, theta);
    most = fmax(most, fabs(log_density_change(&pair, theta) - at_mean));
  }
  for (size_t j = 0; j < POSTERIOR_P; j++) {
    size += fabs(exact.mean[j]);
  }
  printf("posterior n=%d d=%d, features over %.0e of their range: means %.2e sd apart; log density changes "
         "by %.2e, of which %.2e "
         "varies over the posterior (bound: %.1e)\n",
         POSTERIOR_N, POSTERIOR_P, spread, distance(exact.hessian, moved.mean, exact.mean), at_mean, most,
         POSTERIOR_N * size / FEATURE_MOST);
  tacit_free(pair.x);
  tacit_free(pair.rounded);
  tacit_free(pair.y);
}
