/* From the releases of the last two points to what they say of the parameters (docs/theory.md,
 * section 18.14). */
#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "noise_aware/program.h"

/*
 * What a slope changes by on the way to the posterior, as a share of it, and at most, where squares
 * contradict the program; least variance of a score, in units of the records; least relative error of
 * squares, and how much smaller they may be taken to be than the program says.
 */
static const double drift = 0.05, most_drift = 0.15, least_square = 0.05, least_misfit = 0.05,
                    most_smaller = 0.1;

/* Scores whose noise is below this share of their sampling sd are taken alone: those before add nothing but
 * the error of their slope. */
static const double is_clear = 0.5;

/*
 * The clip has opened, once it is so many times the least: then what misfit does is in the answer. From half
 * open on scores beyond it say by themselves what lengths say before.
 */
static const double is_open = 3, is_half_open = 2;

/* That a program misfits in its outcomes' tails, against that it does not, before anything is known of that.
 */
static const double prior_odds = 0.25;

/* As a normal quantile: scores beyond a clip that has opened are off what the program says. */
static const double tails_are_off = 2.33;

enum { D2 = 2 * PARAMETERS };

/* ---- the likelihood ---- */

static double trace_of(size_t d, const double *matrix) {
  double sum = 0;
  for (size_t j = 0; j < d; j++) {
    sum += matrix[j * (d + 1)];
  }
  return sum;
}

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
  double ridge = 1e-13 * trace_of(n, s.cov); /* what rounding may have left of an eigenvalue */
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

/*
 * What n numbers off by `square` in their noise say of a misfit that spreads them by as much again as noise
 * does, or more, or less: their variance is noise / kappa, kappa uniform from 0 to 1. log_odds: against none;
 * share, share2: means of 1 - kappa, and of its square.
 */
typedef struct misfit {
  double log_odds, share, share2;
} misfit_t;

static misfit_t find_misfit(double square, double n) {
  enum { STEPS = 256, MOST = 10000 };
  square = fmin(square, MOST * n);
  double sum = 0, share = 0, share2 = 0, top = square > n ? n / square : 1,
         log_top = 0.5 * (n * log(top) - top * square);
  for (int i = 0; i < STEPS; i++) {
    double kappa = pow((i + 0.5) / STEPS, 4),
           weight = kappa * STEPS / (i + 0.5) * exp(0.5 * (n * log(kappa) - kappa * square) - log_top);
    sum += weight;
    share += weight * (1 - kappa);
    share2 += weight * (1 - kappa) * (1 - kappa);
  }
  return (misfit_t){log_top + 0.5 * square + log(4 * sum / STEPS), share / sum, share2 / sum};
}

/*
 * Lengths against what the program says of them: a chi-square of one number less than there are cells, for
 * their differences sum to 0. How many records are in a cell varies by p (1 - p) a record, less what
 * parameters explain and more by what noise has these be off: for cells like these at most by 1/5 on average.
 */
static double find_lengths(const tacit_program_run_t *run, const tacit_program_seen_t *seen) {
  double mean = 0, square = 0,
         variance = seen->lengths_sd * seen->lengths_sd + 0.2 * fmax(run->n, seen->score_sd * seen->score_sd);
  for (size_t i = 0; i < TACIT_CENTRED_LENGTHS; i++) {
    mean += seen->lengths[i] / TACIT_CENTRED_LENGTHS;
  }
  for (size_t i = 0; i < TACIT_CENTRED_LENGTHS; i++) {
    square += (seen->lengths[i] - mean) * (seen->lengths[i] - mean) / variance;
  }
  return square;
}

/*
 * Scores between the clip and twice that have mean f J e under the program, f the share that J grows by:
 * where they have not, or lengths say that the program misfits, the score is mended, and is less certain.
 */
static void mend_tails(tacit_program_run_t *run, tacit_program_seen_t *seen, bool *is_mended) {
  size_t d = run->parameters->dim;
  double grown = fmax(seen->levels[1] / fmax(trace_of(d, seen->slope), 0.1 * run->n), 0), e[PARAMETERS],
         copy[MATRIX], expected[PARAMETERS], off2 = 0;
  memcpy(copy, seen->steep, d * d * sizeof *copy);
  memset(e, 0, sizeof e);
  if (tacit_program_invert_positive(d, copy)) {
    tacit_program_apply(d, copy, seen->score, e);
  }
  tacit_program_apply(d, seen->slope, e, expected);
  double variance =
      seen->tails_sd * seen->tails_sd + grown * run->n + grown * grown * seen->score_sd * seen->score_sd;
  for (size_t j = 0; j < d; j++) {
    off2 += (seen->tails[j] - grown * expected[j]) * (seen->tails[j] - grown * expected[j]) / variance;
  }
  misfit_t of = find_misfit(off2, (double)d);
  bool has_opened = seen->clip >= is_open * 2 * sqrt((double)d);
  double off_lengths = find_lengths(run, seen), quantile = tacit_chi_square_quantile(off2, (double)d);
  double lengths = tacit_chi_square_quantile(off_lengths, TACIT_CENTRED_LENGTHS - 1);
  double log_odds =
      of.log_odds + log(prior_odds) + find_misfit(off_lengths, TACIT_CENTRED_LENGTHS - 1).log_odds;
  double is_off = has_opened ? quantile > tails_are_off
                             : 1 / (1 + exp(-log_odds)); /* beyond an open clip there is next to nothing */
  run->said.tails = has_opened                                         ? 0
                    : seen->clip >= is_half_open * 2 * sqrt((double)d) ? quantile
                                                                       : fmax(quantile, lengths);
  /* of a misfit that is hardly seen as much of what lies there as noise lets believe, of one that lengths
   * show all */
  double share = is_off * fmax(of.share, is_off),
         doubt = fmax(is_off * fmax(of.share2, is_off * is_off) - share * share, 0);
  *is_mended = is_off > 0.5;
  for (size_t j = 0; j < d; j++) {
    seen->score[j] += share * seen->tails[j];
  }
  for (size_t i = 0; i < d * d; i++) {
    seen->slope[i] *= 1 + share * grown;
    seen->doubt[i] *= (1 + share * grown) * (1 + share * grown);
  }
  seen->score_sd = sqrt(seen->score_sd * seen->score_sd + share * seen->tails_sd * seen->tails_sd +
                        doubt * fmin(off2, 1e6) * variance / (double)d);
}

/*
 * sampling (d, d) <- of the last score: what the program expects, b of the slope, and what the squares are
 * off it by, as far as noise does not explain that.
 */
static double find_sampling(tacit_program_run_t *run, const tacit_program_seen_t *seen, double *sampling) {
  size_t d = run->parameters->dim;
  double level = fmin(fmax(seen->levels[0] / fmax(trace_of(d, seen->slope), 0.1 * run->n), 0.05), 1),
         square = 0, off = 0, of = 0;
  double noise = seen->squares_sd / run->n, work[2 * MATRIX + PARAMETERS],
         count = 0.5 * (double)(d * (d + 1));
  for (size_t i = 0; i < d * d; i++) {
    double misfit = (seen->squares[i] - level * seen->slope[i]) / run->n;
    square += misfit * misfit / count;
  }
  for (size_t j = 0; j < d; j++) {
    off += seen->squares[j * (d + 1)] - level * seen->slope[j * (d + 1)];
    of += level * seen->slope[j * (d + 1)];
  }
  double variance = fmax(least_misfit * least_misfit, square - noise * noise),
         share = variance / (variance + noise * noise);
  bool is_of_rows = !tacit_aware_has_clusters(run->settings);
  for (size_t i = 0; i < d * d; i++) {
    sampling[i] = share * (seen->squares[i] - level * seen->slope[i]) / run->n;
  }
  if (is_of_rows) { /* squares that are smaller than the program says hardly make its intervals narrower; of
                       several rows of a unit they do */
    tacit_raise_eigenvalues(d, sampling, -most_smaller, work);
  }
  for (size_t i = 0; i < d * d; i++) {
    sampling[i] += level * seen->slope[i] / run->n;
  }
  tacit_raise_eigenvalues(d, sampling, least_square, work);
  for (size_t i = 0; i < d * d; i++) {
    sampling[i] *= run->n;
  }
  double sd = hypot(seen->squares_sd * sqrt((double)d), seen->levels_sd * seen->most);
  bool is_told = is_of_rows && of > 0;
  run->said.excess = is_told && seen->clip < is_open * 2 * sqrt((double)d) ? fmax((off - 3 * sd) / of, 0) : 0;
  return is_told && fabs(off) > 3 * sd ? fmin(fabs(off) / of, 1) : 0;
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
        TACIT_IS_PLANTED(TACIT_FAULT_SQUARES_FOR_SLOPES) ? run->last[1].squares[i] : seen->slope[i];
    l->at[r].doubt[i] = TACIT_IS_PLANTED(TACIT_FAULT_SLOPES_CERTAIN) ? 0 : seen->doubt[i] + changed;
  }
  if (!tacit_program_invert(d, transposed, l->at[r].back)) {
    memset(l->at[r].back, 0, sizeof l->at[r].back); /* no coordinate tells anything */
  }
  memcpy(l->at[r].theta, seen->theta, sizeof seen->theta);
  memcpy(l->at[r].score, seen->score, sizeof seen->score);
  l->at[r].noise = seen->score_sd * seen->score_sd * (TACIT_IS_PLANTED(TACIT_FAULT_HALF_NOISE) ? 0.25 : 1);
}

/* l->sampling <- of all points, the sampling error being one; `last` that of the last, point 0. */
static void spread_sampling(tacit_program_likelihood_t *l, const tacit_program_seen_t *before,
                            const double *last, bool is_one) {
  size_t d = l->d, n = l->n_points * d;
  double back[MATRIX], to[MATRIX], both[MATRIX], crossed[MATRIX];
  for (size_t i = 0; i < d * d; i++) {
    l->sampling[i / d * n + i % d] = last[i];
    back[i] = l->at[0].back[i % d * d + i / d]; /* A_0^-1 */
  }
  if (l->n_points == 2) {
    tacit_multiply(d, d, d, before->whiten, back, to);
    tacit_program_sandwich(d, to, last, both);
    tacit_multiply(d, d, d, to, last, crossed);
    for (size_t i = 0; i < d * d; i++) {
      l->sampling[(d + i / d) * n + d + i % d] = both[i];
      l->sampling[(d + i / d) * n + i % d] = l->sampling[i % d * n + d + i / d] = is_one ? crossed[i] : 0;
    }
  }
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

/* How far the posterior is from the last point, in what that may be: posterior, and what the point before
 * told. */
static double find_last_step(const tacit_program_run_t *run, const double *sampling) {
  size_t d = run->parameters->dim;
  const tacit_program_seen_t *last = &run->last[1];
  double may[MATRIX], inverse[MATRIX], squares[MATRIX], off[PARAMETERS], step[PARAMETERS], solved[PARAMETERS];
  memcpy(inverse, last->steep, d * d * sizeof *inverse);
  for (size_t i = 0; i < d * d; i++) {
    double noise = last->score_sd * last->score_sd + run->last[0].score_sd * run->last[0].score_sd;
    squares[i] = 2 * sampling[i] + (i / d == i % d ? noise : 0);
  }
  for (size_t j = 0; j < d; j++) {
    step[j] = run->theta[j] - last->theta[j];
  }
  tacit_program_apply(d, run->own.at[0].back, step, off);
  if (!tacit_program_invert_positive(d, inverse)) {
    return INFINITY;
  }
  tacit_program_sandwich(d, inverse, squares, may);
  if (!tacit_program_invert_positive(d, may)) {
    return INFINITY;
  }
  tacit_program_apply(d, may, off, solved);
  return tacit_chi_square_quantile(fmax(tacit_dot(d, off, solved), 0), (double)d);
}

void tacit_program_conclude(tacit_program_run_t *run) {
  size_t d = run->parameters->dim;
  tacit_program_seen_t *before = &run->last[0], *last = &run->last[1];
  double sampling[MATRIX];
  bool is_mended;
  mend_tails(run, last, &is_mended);
  double misfit = find_sampling(run, last, sampling), change = fmin(fmax(drift, misfit), most_drift);
  run->own = (tacit_program_likelihood_t){.d = d};
  add_point(&run->own, run, last, change);
  bool is_wrong = TACIT_IS_PLANTED(TACIT_FAULT_ROUNDS_INDEPENDENT);
  if ((last->score_sd >= is_clear * sqrt(run->n) && !is_mended) || is_wrong) {
    add_point(&run->own, run, before, change);
  }
  spread_sampling(&run->own, before, sampling, !is_wrong);
  run->likelihoods = &run->own;
  run->n_likelihoods = 1;
  run->said.information = find_information(d, last);
  run->said.lost = fmax((last->levels[2] - 3 * last->levels_sd) / run->n, 0);
  double mode[PARAMETERS], cov[MATRIX];
  if (tacit_program_find_posterior(run, mode, cov, NULL) == TACIT_OK) {
    memcpy(run->theta, mode, sizeof run->theta);
  }
  run->said.last_step = find_last_step(run, sampling);
}
