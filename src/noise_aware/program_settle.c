/*
 * From the last two scores to the normal law of the parameters (docs/theory.md, section 18.14). The expected score is bent: it is made linear
 * where the posterior is, not where the scores were released, which at small budgets is far from there in what the data hardly tell of.
 * What is left of the bend within the posterior's own width is measured, and said.
 */
#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "noise_aware/program.h"

/* What the squares of a record's score may be off the model's by, in whitened units, and the least eigenvalue that they are left with. */
static const double misfit_sd = 0.5, least_square = 0.05;

/* Settled is what moves by less, in posterior sds; no linearisation moves by more. */
static const double least_move = 0.02, most_move = 1.5;

/* Least eigenvalue of the posterior's correlations that secants are taken along. */
static const double least_axis = 1e-6;

enum { N_SETTLES = 12, N_SECANTS = 6 };

static bool has_secants(void) {
  return !TACIT_IS_PLANTED(TACIT_FAULT_LINES_WHERE_RELEASED) && !TACIT_IS_PLANTED(TACIT_FAULT_SQUARES_FOR_SLOPES);
}

/*
 * squares (d, d) <- those expected now, and of what the released ones are off by the part that noise does not explain. Where units have several rows
 * those of the means of these are at most what is expected, and tell nothing of the program's law: rows' squares do, of the round before.
 */
static void find_squares(tacit_program_run_t *run, const tacit_program_seen_t *seen, double *squares) {
  size_t d = run->public.d;
  double work[2 * MATRIX + TACIT_NOISE_AWARE_MAX_NARROW], noise = seen->square_sd / run->n,
                                                          share = misfit_sd * misfit_sd / (misfit_sd * misfit_sd + noise * noise);
  tacit_public_mean(&run->public, d * d, run->public.squares, squares);
  double expected = 0, seen_more = -3 * noise * sqrt((double)d);
  for (size_t i = 0, k = 0; i < d; k += d - i, i++) {
    expected += squares[i * d + i];
    seen_more += seen->squares[k] / run->n - squares[i * d + i];
  }
  run->excess = tacit_aware_has_clusters(run->settings) && !seen->are_of_rows ? run->excess : seen_more / expected;
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      squares[i * d + j] += share * (seen->squares[k] * (i == j ? 1 : sqrt(0.5)) / run->n - squares[i * d + j]);
      squares[j * d + i] = squares[i * d + j];
    }
  }
  tacit_raise_eigenvalues(d, squares, least_square, work);
  for (size_t i = 0; i < d * d; i++) {
    squares[i] *= run->n;
  }
}

/* left (d) <- the score less what is expected of it at theta, where simulation's own error at the point of release cancels. */
static void expect_at(tacit_program_run_t *run, const tacit_program_seen_t *seen, const double *theta, double *left) {
  tacit_public_expect(&run->public, &seen->point, theta);
  tacit_public_mean(&run->public, run->public.d, run->public.means, left);
  for (size_t j = 0; j < run->public.d; j++) {
    left[j] = seen->score[j] - run->n * (left[j] - seen->own[j]);
  }
}

/*
 * The root that a round's releases lead to from run->theta, and what is known of it: H the secants (d, d), or, of none, n E v s' as the model has it;
 * M what was released.
 */
static tacit_status_t find_root(tacit_program_run_t *run, const tacit_program_seen_t *seen, const double *secants, tacit_root_t *root,
                                tacit_error_t *err) {
  size_t d = run->public.d;
  double slope[MATRIX], inverse[MATRIX], squares[MATRIX], left[TACIT_NOISE_AWARE_MAX_NARROW], moved[TACIT_NOISE_AWARE_MAX_NARROW];
  const double *from = TACIT_IS_PLANTED(TACIT_FAULT_LINES_WHERE_RELEASED) ? seen->theta : run->theta;
  expect_at(run, seen, from, left);
  tacit_program_slope(run, seen->whiten, TACIT_IS_PLANTED(TACIT_FAULT_SQUARES_FOR_SLOPES) ? run->public.squares : run->public.with_score, slope);
  memcpy(slope, secants != NULL ? secants : slope, d * d * sizeof *slope);
  find_squares(run, seen, squares);
  memcpy(root->at, seen->theta, sizeof root->at);
  if (!tacit_program_invert(d, slope, inverse)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the released scores do not tell how they depend on the parameters");
  }
  tacit_program_apply(d, inverse, left, moved);
  for (size_t j = 0; j < d; j++) {
    root->theta[j] = from[j] + moved[j];
  }
  tacit_program_sandwich(d, inverse, squares, root->sampling);
  for (size_t i = 0; i < d * d; i++) {
    root->noise[i] = seen->noise_sd * seen->noise_sd * tacit_dot(d, inverse + i / d * d, inverse + i % d * d);
  }
  return TACIT_OK;
}

/* The last two roots, whose noises are independent and whose sampling error is the same, as one normal law around theta. */
static tacit_status_t join(tacit_program_run_t *run, const tacit_root_t roots[2], tacit_error_t *err) {
  size_t d = run->public.d;
  bool is_wrong = TACIT_IS_PLANTED(TACIT_FAULT_ROUNDS_INDEPENDENT);
  tacit_program_normal_t *normal = &run->normal;
  double weights[2][MATRIX], part[TACIT_NOISE_AWARE_MAX_NARROW], sum[TACIT_NOISE_AWARE_MAX_NARROW] = {0}, cov[MATRIX];
  normal->d = d;
  for (size_t r = 0; r < 2; r++) {
    for (size_t i = 0; i < d * d; i++) {
      weights[r][i] = roots[r].noise[i] + (is_wrong ? roots[r].sampling[i] : 1e-12 * roots[r].sampling[i]);
    }
    if (!tacit_program_invert_positive(d, weights[r])) {
      return tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the noise of the released scores has no inverse");
    }
    tacit_program_apply(d, weights[r], roots[r].theta, part);
    for (size_t j = 0; j < d; j++) {
      sum[j] += part[j];
    }
  }
  for (size_t i = 0; i < d * d; i++) {
    cov[i] = weights[0][i] + weights[1][i];
  }
  bool ok = tacit_program_invert_positive(d, cov);
  tacit_program_apply(d, cov, sum, normal->theta);
  for (size_t i = 0; i < d * d; i++) {
    normal->cov[i] = normal->precision[i] = cov[i] + (is_wrong ? 0 : roots[1].sampling[i]);
  }
  ok = ok && tacit_program_invert_positive(d, normal->precision);
  /* how far the last step goes, in what it may be */
  double step[TACIT_NOISE_AWARE_MAX_NARROW], may[MATRIX], solved[TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t i = 0; i < d * d; i++) {
    may[i] = normal->cov[i] + roots[0].noise[i] + roots[1].noise[i];
  }
  for (size_t j = 0; j < d; j++) {
    step[j] = roots[1].theta[j] - roots[1].at[j];
  }
  ok = ok && tacit_program_invert_positive(d, may);
  tacit_program_apply(d, may, step, solved);
  run->moved2 = tacit_dot(d, step, solved);
  return ok ? TACIT_OK : tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the released scores do not tell how uncertain they are");
}

/* run->theta <- towards the mode; *moved <- how far that is, in posterior sds of the coordinate that moves most. */
static void move(tacit_program_run_t *run, const double *mode, const double *cov, double *moved) {
  size_t d = run->public.d;
  *moved = 0;
  for (size_t j = 0; j < d; j++) {
    *moved = fmax(*moved, fabs(mode[j] - run->theta[j]) / sqrt(cov[j * d + j]));
  }
  for (size_t j = 0; j < d; j++) {
    run->theta[j] += (mode[j] - run->theta[j]) * fmin(1, most_move / fmax(*moved, least_move));
  }
}

/* One posterior sd each along the axes of the posterior's correlations: off (d, d), one a row, and what is one over them, to (d, d). */
typedef struct axes {
  double off[MATRIX], to[MATRIX];
} axes_t;

static void find_axes(size_t d, const double *cov, axes_t *axes) {
  double correlation[MATRIX], values[TACIT_NOISE_AWARE_MAX_NARROW], vectors[MATRIX];
  for (size_t i = 0; i < d * d; i++) {
    correlation[i] = cov[i] / sqrt(cov[i / d * (d + 1)] * cov[i % d * (d + 1)]);
  }
  tacit_eigen(d, correlation, values, vectors);
  for (size_t k = 0; k < d; k++) {
    double length = sqrt(fmax(values[k], least_axis));
    for (size_t j = 0; j < d; j++) {
      double sd = sqrt(cov[j * (d + 1)]);
      axes->off[k * d + j] = length * sd * vectors[j * d + k];
      axes->to[k * d + j] = vectors[j * d + k] / (length * sd);
    }
  }
}

/* left (d) <- expect_at() at run->theta + sign off. */
static void expect_off(tacit_program_run_t *run, const tacit_program_seen_t *seen, double sign, const double *off, double *left) {
  double there[TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t j = 0; j < run->public.d; j++) {
    there[j] = run->theta[j] + sign * off[j];
  }
  expect_at(run, seen, there, left);
}

double tacit_program_line(tacit_program_run_t *run, const tacit_program_seen_t *seen, const double *cov, double *secants) {
  size_t d = run->public.d;
  double weight[MATRIX], solved[TACIT_NOISE_AWARE_MAX_NARROW], bend[TACIT_NOISE_AWARE_MAX_NARROW], worst = 0;
  double before[TACIT_NOISE_AWARE_MAX_NARROW], here[TACIT_NOISE_AWARE_MAX_NARROW], after[TACIT_NOISE_AWARE_MAX_NARROW];
  axes_t axes;
  find_axes(d, cov, &axes);
  expect_at(run, seen, run->theta, here);
  bool is_weighed = tacit_program_weigh(run, seen, weight);
  memset(secants, 0, d * d * sizeof *secants);
  for (size_t k = 0; k < d; k++) {
    expect_off(run, seen, -1, axes.off + k * d, before);
    expect_off(run, seen, 1, axes.off + k * d, after);
    for (size_t i = 0; i < d * d; i++) {
      secants[i] += 0.5 * (before[i / d] - after[i / d]) * axes.to[k * d + i % d];
    }
    for (size_t j = 0; j < d; j++) {
      bend[j] = 0.5 * (before[j] + after[j]) - here[j];
    }
    tacit_program_apply(d, weight, bend, solved);
    worst = fmax(worst, sqrt(fmax(tacit_dot(d, bend, solved), 0)));
  }
  return is_weighed ? worst : INFINITY;
}

/*
 * run->normal <- by lines with these slopes, or, of none, the model's own; run->theta and cov (d, d) <- the mode that it leads to and the posterior
 * there.
 */
static tacit_status_t take_step(tacit_program_run_t *run, const tacit_program_seen_t seen[2], double *const secants[2], double *cov, double *moved,
                                tacit_error_t *err) {
  tacit_root_t roots[2];
  double mode[TACIT_NOISE_AWARE_MAX_NARROW];
  tacit_status_t status = TACIT_OK;
  for (size_t r = 0; r < 2 && status == TACIT_OK; r++) {
    status = find_root(run, &seen[r], secants[r], &roots[r], err);
  }
  status = status == TACIT_OK ? join(run, roots, err) : status;
  status = status == TACIT_OK ? tacit_program_find_posterior(run, mode, cov, err) : status;
  if (status == TACIT_OK) {
    move(run, mode, cov, moved);
  }
  return status;
}

tacit_status_t tacit_program_settle(tacit_program_run_t *run, tacit_program_seen_t seen[2], tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  double cov[MATRIX], secants[2][MATRIX], moved = INFINITY;
  for (size_t r = 0; r < 2; r++) {
    tacit_public_expect(&run->public, &seen[r].point, seen[r].theta);
    tacit_public_mean(&run->public, run->public.d, run->public.means, seen[r].own);
  }
  tacit_program_follow(run, &seen[1]);
  for (int n = 0; n < N_SETTLES && moved > least_move && status == TACIT_OK; n++) {
    status = take_step(run, seen, (double *const[2]){NULL, NULL}, cov, &moved, err);
  }
  moved = has_secants() ? INFINITY : moved;
  for (int n = 0; n < N_SECANTS && moved > least_move && status == TACIT_OK; n++) {
    for (size_t r = 0; r < 2; r++) {
      run->bend = tacit_program_line(run, &seen[r], cov, secants[r]);
    }
    status = take_step(run, seen, (double *const[2]){secants[0], secants[1]}, cov, &moved, err);
  }
  run->bend = fmax(run->bend, moved > least_move ? moved : 0);
  return status;
}
