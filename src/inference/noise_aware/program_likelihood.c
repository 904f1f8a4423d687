/* From the releases of the last two points to what they say of the parameters (docs/theory.md,
 * section 18.14). */
#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "noise_aware/program.h"

/*
 * What a slope changes by on the way to the posterior, as a share of it; least variance of a score, in units
 * of what the program expects, where units are rows, and where they have several.
 */
static const double drift = 0.05, least_of_rows = 0.9, least_square = 0.05;

enum { D2 = 2 * PARAMETERS };

/* ---- the likelihood ---- */

/* Of all points: what is left of scores, the covariance that this has, slopes in theta; (n d), (n d, n d), (n
 * d, d). */
typedef struct stacked {
  double off[D2], e[D2], cov[4 * MATRIX], slope[2 * MATRIX];
} stacked_t;

static void stack(const tacit_program_likelihood_t *l, const double *theta, stacked_t *s) {
  size_t d = l->d, n = l->n_points * d;
  memcpy(s->cov, l->sampling, n * n * sizeof *s->cov);
  for (size_t r = 0; r < l->n_points; r++) {
    double *e = s->e + r * d, step[PARAMETERS];
    for (size_t j = 0; j < d; j++) {
      step[j] = theta[j] - l->at[r].theta[j];
    }
    tacit_program_apply(d, l->at[r].back, step, e);
    tacit_multiply(d, d, d, l->at[r].slope, l->at[r].back, s->slope + r * d * d);
    for (size_t i = 0; i < d; i++) {
      double *row = s->cov + (r * d + i) * n + r * d;
      s->off[r * d + i] = l->at[r].score[i] - tacit_dot(d, l->at[r].slope + i * d, e);
      row[i] += l->at[r].noise;
      for (size_t j = 0; j < d; j++) {
        double doubt = l->at[r].doubt[i * d + j];
        row[i] += doubt * e[j] * e[j];
        row[j] += i != j ? doubt * e[i] * e[j] : 0;
      }
    }
  }
}

/* grad (d) += the derivative by what is expected of scores, and by their covariance, which E e is a part of.
 * solved: cov^-1 off. */
static void add_gradient(const tacit_program_likelihood_t *l, const stacked_t *s, const double *inverse,
                         const double *solved, double *grad) {
  size_t d = l->d, n = l->n_points * d;
  for (size_t r = 0; r < l->n_points; r++) {
    const double *e = s->e + r * d, *a = solved + r * d;
    double by[PARAMETERS], back[PARAMETERS];
    for (size_t m = 0; m < d; m++) {
      by[m] = 0;
      for (size_t i = 0; i < d; i++) {
        double doubt = l->at[r].doubt[i * d + m], own = a[i] * a[i] - inverse[(r * d + i) * (n + 1)];
        double both = a[i] * a[m] - inverse[(r * d + i) * n + r * d + m];
        by[m] += l->at[r].slope[i * d + m] * a[i] + doubt * (own * e[m] + (i != m ? both * e[i] : 0));
      }
    }
    tacit_program_apply_back(d, l->at[r].back, by, back);
    for (size_t j = 0; j < d; j++) {
      grad[j] += back[j];
    }
  }
}

double tacit_program_log_likelihood(const tacit_program_likelihood_t *l, const double *theta, double *grad,
                                    double *precision) {
  size_t d = l->d, n = l->n_points * d;
  double inverse[4 * MATRIX], work[4 * MATRIX], solved[D2], log_det = 0;
  stacked_t s;
  stack(l, theta, &s);
  double ridge = 1e-13 * tacit_program_trace(n, s.cov); /* what rounding may have left of an eigenvalue */
  for (size_t i = 0; i < n; i++) {
    s.cov[i * (n + 1)] += ridge;
  }
  if (!tacit_cholesky(n, s.cov)) {
    return -INFINITY;
  }
  for (size_t i = 0; i < n; i++) {
    log_det += log(s.cov[i * (n + 1)]);
  }
  memcpy(solved, s.off, n * sizeof *solved);
  tacit_solve_lower(n, s.cov, solved);
  double value = -log_det - 0.5 * tacit_dot(n, solved, solved);
  if (grad == NULL && precision == NULL) {
    return value;
  }
  tacit_solve_upper(n, s.cov, solved);
  tacit_invert_factored(n, s.cov, work, inverse);
  if (grad != NULL) {
    add_gradient(l, &s, inverse, solved, grad);
  }
  if (precision != NULL) {
    double half[2 * MATRIX];
    tacit_multiply(n, n, d, inverse, s.slope, half);
    for (size_t i = 0; i < d * d; i++) {
      for (size_t k = 0; k < n; k++) {
        precision[i] += s.slope[k * d + i / d] * half[k * d + i % d];
      }
    }
  }
  return value;
}

/* ---- what it is made of ---- */

/* white (d, d) <- squares of scores in units of what the program expects, the slope, whose factor (d, d) that
 * makes. False where it has none. */
static bool whiten_squares(const tacit_program_run_t *run, const tacit_program_seen_t *seen, double *factor,
                           double *white) {
  size_t d = run->parameters->dim;
  double inverse[MATRIX] = {0};
  for (size_t i = 0; i < d * d; i++) {
    factor[i] = seen->steep[i] / run->n;
  }
  if (!tacit_cholesky(d, factor)) {
    return false;
  }
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i + 1; j < d; j++) {
      factor[i * d + j] = 0;
    }
  }
  tacit_invert_lower(d, factor, inverse);
  tacit_program_sandwich(d, inverse, run->bands.tails.squares, white);
  return true;
}

/*
 * sampling (d, d) <- of the scores, by their squares: what the program expects is the slope, and squares that
 * are smaller hardly make intervals narrower; of several rows of a unit they do.
 */
bool tacit_program_find_sampling(const tacit_program_run_t *run, const tacit_program_seen_t *seen,
                                 double *sampling) {
  size_t d = run->parameters->dim;
  double factor[MATRIX], work[2 * MATRIX + PARAMETERS];
  if (!whiten_squares(run, seen, factor, sampling)) {
    return false;
  }
  tacit_raise_eigenvalues(d, sampling, tacit_aware_has_clusters(run->settings) ? least_square : least_of_rows,
                          work);
  memcpy(work, sampling, d * d * sizeof *work);
  tacit_program_sandwich(d, factor, work, sampling);
  for (size_t i = 0; i < d * d; i++) {
    sampling[i] *= run->n;
  }
  return true;
}

double tacit_program_misfit(const tacit_program_run_t *run) {
  size_t d = run->parameters->dim;
  double factor[MATRIX], white[MATRIX], values[PARAMETERS], vectors[MATRIX], most = 0;
  if (!whiten_squares(run, &run->seen, factor, white)) {
    return INFINITY;
  }
  tacit_eigen(d, white, values, vectors);
  for (size_t j = 0; j < d; j++) {
    most = fmax(most, fabs(values[j] - 1));
  }
  return most;
}

void tacit_program_in_theta(const tacit_program_likelihood_t *l, const double *matrix, double *out) {
  double transposed[MATRIX];
  for (size_t i = 0; i < l->d * l->d; i++) {
    transposed[i] = l->at[0].back[i % l->d * l->d + i / l->d];
  }
  tacit_program_sandwich(l->d, transposed, matrix, out);
}

/* l->at[r] <- of a point; slopes change by this share on the way. */
static void add_point(tacit_program_likelihood_t *l, const tacit_program_run_t *run,
                      const tacit_program_seen_t *seen, double change) {
  size_t d = l->d, r = l->n_points++;
  double transposed[MATRIX], n = run->n;
  for (size_t i = 0; i < d * d; i++) {
    transposed[i] = seen->whiten[i % d * d + i / d];
    double changed = change * n * change * n * (i / d == i % d ? 1 : 0.5);
    l->at[r].slope[i] =
        TACIT_IS_PLANTED(TACIT_FAULT_SQUARES_FOR_SLOPES) ? n * run->bands.tails.squares[i] : seen->slope[i];
    l->at[r].doubt[i] = TACIT_IS_PLANTED(TACIT_FAULT_SLOPES_CERTAIN) ? 0 : seen->doubt[i] + changed;
  }
  if (!tacit_program_invert(d, transposed, l->at[r].back)) {
    memset(l->at[r].back, 0, sizeof l->at[r].back); /* no coordinate tells anything */
  }
  memcpy(l->at[r].theta, seen->theta, sizeof seen->theta);
  memcpy(l->at[r].score, seen->score, sizeof seen->score);
  l->at[r].noise = 0; /* it is in the covariance of sampling */
}

/* The least eigenvalue of the slope in sds of what it may be off by. */
static double find_information(size_t d, const tacit_program_seen_t *seen) {
  double copy[MATRIX], values[PARAMETERS], vectors[MATRIX], least = INFINITY;
  memcpy(copy, seen->slope, d * d * sizeof *copy);
  tacit_eigen(d, copy, values, vectors);
  for (size_t j = 0; j < d; j++) {
    least = fmin(least, values[j]);
  }
  return least / (seen->slope_sd * seen->worst);
}

void tacit_program_conclude(tacit_program_run_t *run) {
  size_t d = run->parameters->dim;
  const tacit_program_seen_t *last = &run->seen;
  double sampling[MATRIX] = {0}, counted = 0;
  (void)tacit_program_find_sampling(run, last, sampling);
  run->own = (tacit_program_likelihood_t){.d = d};
  add_point(&run->own, run, last, drift);
  for (size_t i = 0; i < d * d; i++) {
    run->own.sampling[i] =
        sampling[i] + run->bands.noise[i] * (TACIT_IS_PLANTED(TACIT_FAULT_HALF_NOISE) ? 0.25 : 1);
  }
  run->said.information = find_information(d, last);
  for (size_t k = 0; k < run->bands.scores.n; k++) {
    counted += run->bands.scores.counts[k];
  }
  run->said.lost =
      fmax(1 - (counted + 3 * run->bands.scores.noise_sd * sqrt((double)run->bands.scores.n)) / run->n, 0);
  double mode[PARAMETERS], cov[MATRIX];
  if (tacit_program_find_posterior(run, mode, cov, NULL) == TACIT_OK) {
    memcpy(run->theta, mode, sizeof run->theta);
    if (run->public.records != NULL) {
      run->said.last_step = tacit_program_last_step(run, mode, run->own.sampling);
    }
  }
}
