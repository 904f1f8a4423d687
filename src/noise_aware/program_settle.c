/*
 * From the last two scores to the normal law of the parameters (docs/theory.md, section 18.14). The expected score is bent: it is made linear
 * where the posterior is, not where the scores were released, which at small budgets is far from there in what the data hardly tell of.
 * What is left of the bend within the posterior's own width is measured, and said.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* What the squares of a record's score may be off the model's by, in whitened units, and the least eigenvalue that they are left with. */
static const double misfit_sd = 0.5, least_square = 0.05;

/* Settled is what moves by less, in posterior sds; no linearisation moves by more. */
static const double least_move = 0.02, most_move = 1.5;

enum { N_SETTLES = 12 };

/*
 * squares (d, d) <- those expected now, and of what the released ones are off by the part that noise does not explain. Where units have several rows those of
 * the means of these are at most what is expected, and tell nothing of the program's law: rows' squares do, of the round before.
 */
static void find_squares(tacit_program_run_t *run, const tacit_program_seen_t *seen, double *squares) {
  size_t d = run->public.d;
  double work[2 * MATRIX + TACIT_NOISE_AWARE_MAX_NARROW], noise = seen->square_sd / run->n, share = misfit_sd * misfit_sd / (misfit_sd * misfit_sd + noise * noise);
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

/* The root that a round's releases lead to from run->theta, and what is known of it: H = n E v s' as the model has it, M what was released. */
static tacit_status_t find_root(tacit_program_run_t *run, const tacit_program_seen_t *seen, tacit_root_t *root, tacit_error_t *err) {
  size_t d = run->public.d;
  double slope[MATRIX], inverse[MATRIX], squares[MATRIX], left[TACIT_NOISE_AWARE_MAX_NARROW], moved[TACIT_NOISE_AWARE_MAX_NARROW];
  const double *from = run->settings->fault_for_tests == TACIT_NOISE_AWARE_LINES_WHERE_RELEASED ? seen->theta : run->theta;
  expect_at(run, seen, from, left);
  tacit_program_slope(run, seen->whiten, run->settings->fault_for_tests == TACIT_NOISE_AWARE_SQUARES_FOR_SLOPES ? run->public.squares : run->public.with_score, slope);
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
  bool is_wrong = run->settings->fault_for_tests == TACIT_NOISE_AWARE_ROUNDS_INDEPENDENT;
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

/* How far the expected score at run->theta + off is from the straight line, in sds of the score by its inverse covariance there. */
static double bend_at(tacit_program_run_t *run, const tacit_program_seen_t *seen, const double *weight, const double *slope, const double *left, const double *off) {
  size_t d = run->public.d;
  double there[TACIT_NOISE_AWARE_MAX_NARROW], line[TACIT_NOISE_AWARE_MAX_NARROW], bend[TACIT_NOISE_AWARE_MAX_NARROW], solved[TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t j = 0; j < d; j++) {
    there[j] = run->theta[j] + off[j];
  }
  expect_at(run, seen, there, bend);
  tacit_program_apply(d, slope, off, line);
  for (size_t j = 0; j < d; j++) {
    bend[j] += line[j] - left[j];
  }
  tacit_program_apply(d, weight, bend, solved);
  return sqrt(fmax(tacit_dot(d, bend, solved), 0));
}

/* The largest bend of the last round's score one posterior sd from run->theta, along the axes of the posterior's correlations. */
static double worst_bend(tacit_program_run_t *run, const tacit_program_seen_t *seen, const double *cov) {
  size_t d = run->public.d;
  double weight[MATRIX], slope[MATRIX], correlation[MATRIX], values[TACIT_NOISE_AWARE_MAX_NARROW], axes[MATRIX];
  double left[TACIT_NOISE_AWARE_MAX_NARROW], off[TACIT_NOISE_AWARE_MAX_NARROW], worst = 0;
  expect_at(run, seen, run->theta, left);
  tacit_program_slope(run, seen->whiten, run->public.with_score, slope);
  if (!tacit_program_weigh(run, seen, weight)) {
    return INFINITY;
  }
  for (size_t i = 0; i < d * d; i++) {
    correlation[i] = cov[i] / sqrt(cov[i / d * (d + 1)] * cov[i % d * (d + 1)]);
  }
  tacit_eigen(d, correlation, values, axes);
  for (size_t k = 0; k < 2 * d; k++) {
    for (size_t j = 0; j < d; j++) {
      off[j] = (k % 2 == 0 ? 1 : -1) * sqrt(fmax(values[k / 2], 0) * cov[j * (d + 1)]) * axes[j * d + k / 2];
    }
    worst = fmax(worst, bend_at(run, seen, weight, slope, left, off));
  }
  return worst;
}

tacit_status_t tacit_program_settle(tacit_program_run_t *run, tacit_program_seen_t seen[2], tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  tacit_root_t roots[2];
  double mode[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX], moved = INFINITY;
  for (size_t r = 0; r < 2; r++) {
    tacit_public_expect(&run->public, &seen[r].point, seen[r].theta);
    tacit_public_mean(&run->public, run->public.d, run->public.means, seen[r].own);
  }
  tacit_program_follow(run, &seen[1]);
  for (int n = 0; n < N_SETTLES && moved > least_move && status == TACIT_OK; n++) {
    for (size_t r = 0; r < 2 && status == TACIT_OK; r++) {
      status = find_root(run, &seen[r], &roots[r], err);
    }
    status = status == TACIT_OK ? join(run, roots, err) : status;
    status = status == TACIT_OK ? tacit_program_find_posterior(run, mode, cov, err) : status;
    if (status == TACIT_OK) {
      move(run, mode, cov, &moved);
    }
  }
  if (status == TACIT_OK) {
    run->bend = fmax(worst_bend(run, &seen[1], cov), moved > least_move ? moved : 0);
  }
  return status;
}
