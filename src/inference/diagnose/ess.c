#include <math.h>

#include "diagnose/diagnose_internal.h"

double tacit_mean(const double *x, size_t n) {
  double sum = 0, rest = 0;
  for (size_t i = 0; i < n; i++) {
    sum += x[i];
  }
  double mean = sum / (double)n;
  for (size_t i = 0; i < n; i++) {
    rest += x[i] - mean;
  }
  return mean + rest / (double)n;
}

double tacit_sum_squares(const double *x, size_t n, double mean) {
  double squares = 0, rest = 0;
  for (size_t i = 0; i < n; i++) {
    double d = x[i] - mean;
    squares += d * d;
    rest += d;
  }
  return fmax(squares - rest * rest / (double)n, 0);
}

/* Sample variance of the means; 0 for a single series. */
static double variance_between(const double *means, size_t n_series) {
  if (n_series < 2) {
    return 0;
  }
  return tacit_sum_squares(means, n_series, tacit_mean(means, n_series)) / (double)(n_series - 1);
}

double tacit_rhat(const double *x, size_t n_series, size_t n, double *means) {
  double within = 0;
  for (size_t c = 0; c < n_series; c++) {
    means[c] = tacit_mean(x + c * n, n);
    within += tacit_sum_squares(x + c * n, n, means[c]) / (double)(n - 1);
  }
  within /= (double)n_series;
  double between = (double)n * variance_between(means, n_series);
  return sqrt((between / within + (double)(n - 1)) / (double)n);
}

/* How many lags are summed before a transform is worth while: independent draws need no more. */
enum { N_FEW = 16 };

/*
 * Integrated autocorrelation time -1 + 2 sum_t rho_t over Geyer's initial monotone sequence: pairs
 * rho_2k + rho_2k+1 while they stay positive, each made no larger than the one before. rho has shape (n), of
 * which n_known are known, rho[0] = 1; NAN if these are not enough. As in Stan, the first even term after the
 * cut is added once when positive.
 */
static double autocorrelation_time(const double *rho, size_t n, size_t n_known) {
  double last_even = rho[0];
  bool is_positive = rho[0] + rho[1] > 0;
  size_t end = 0; /* pairs before this index are in the sequence */
  while (end + 4 < n && is_positive) {
    end += 2;
    if (end + 2 > n_known) {
      return NAN;
    }
    last_even = rho[end];
    is_positive = rho[end] + rho[end + 1] > 0;
  }
  double tau = -1, pair = INFINITY;
  for (size_t k = 0; k < end; k += 2) {
    double sum = rho[k] + rho[k + 1];
    pair = sum < pair ? sum : pair;
    tau += 2 * pair;
  }
  return last_even > 0 ? tau + last_even : tau;
}

/* acov (n_known) <- autocorrelations; false if all values are equal. */
static bool normalise(size_t n, size_t n_known, double between, double *acov) {
  double within = acov[0] * (double)n / (double)(n - 1), total = acov[0] + between;
  for (size_t t = 1; t < n_known; t++) {
    acov[t] = 1 - (within - acov[t]) / total;
  }
  acov[0] = 1;
  return total > 0;
}

double tacit_ess(tacit_autocov_t *work, const double *x, size_t n_series, double *means, double *acov) {
  size_t n = work->n, n_few = n < N_FEW ? n : N_FEW;
  for (size_t c = 0; c < n_series; c++) {
    means[c] = tacit_mean(x + c * n, n);
  }
  double between = variance_between(means, n_series);
  tacit_autocov_first(x, means, n_series, n, n_few, acov);
  if (!normalise(n, n_few, between, acov)) {
    return NAN;
  }
  double time = autocorrelation_time(acov, n, n_few);
  if (isnan(time)) {
    tacit_autocov_mean(work, x, means, n_series, acov);
    (void)normalise(n, n, between, acov);
    time = autocorrelation_time(acov, n, n);
  }
  double size = (double)n_series * (double)n;
  /* Antithetic chains may beat independent draws, but an estimate above size log10(size) is noise. */
  double tau = fmax(time, 1 / log10(size));
  return size / tau;
}
