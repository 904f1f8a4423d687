/*
 * The last releases of a program: its slopes, and its scores as they are, in bands by their length
 * (docs/theory.md, section 18.14). Together the scores are those of the answer without privacy: nothing is
 * clipped, and nothing is less what the program expects.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/program.h"

/* In sqrt(d): what is longer is shortened to this. */
static const double top = 64;
/* Of the directions of scores in a band, by what is expected: residuals of counts and times lean one way. */
static const double agreement = 0.6;
/* What a slope may be off by, beside what the looks before left: on the diagonal, off it, and at most. */
static const double diagonal_off = 0.2, off = 0.1, most_off = 0.6;

static tacit_status_t release_lengths(tacit_program_run_t *run, const tacit_aware_banded_t *at,
                                      tacit_program_banded_kind_t kind, tacit_error_t *err) {
  bool is_of_slopes = kind == TACIT_PROGRAM_SLOPE_LENGTHS;
  tacit_band_lengths_t *lengths = is_of_slopes ? &run->bands.slopes : &run->bands.scores;
  double inner[BAND_CELLS], multiplier = tacit_program_banded_multiplier(run->settings, kind);
  tacit_band_cells(lengths, sqrt((double)run->parameters->dim), top);
  lengths->are_far_rare = is_of_slopes;
  tacit_band_inner_edges(lengths, inner);
  tacit_status_t status = tacit_aware_may_start(run->settings, err);
  TACIT_THEN(status, tacit_aware_release_lengths(run->curator, run->settings, multiplier, at, lengths->n - 1,
                                                 inner, lengths->counts, &lengths->noise_sd, err));
  return status == TACIT_OK && !tacit_band_learn_counts(lengths, run->n) ? tacit_error_memory(err) : status;
}

/* values: room for all bands. */
static tacit_status_t release_bands(tacit_program_run_t *run, const tacit_aware_banded_t *at,
                                    tacit_program_banded_kind_t kind, double *values, double *noise_sd,
                                    tacit_error_t *err) {
  tacit_program_banded_t *b = &run->bands;
  bool is_of_slopes = kind == TACIT_PROGRAM_LAST_SLOPES;
  tacit_band_split_t *split = is_of_slopes ? &b->slope_bands : &b->score_bands;
  size_t d = run->parameters->dim;
  double multiplier = tacit_program_banded_multiplier(run->settings, kind);
  if (is_of_slopes) {
    tacit_band_split_squares(&b->slopes, d, tacit_program_of_squares(run->settings) * multiplier, split);
  } else {
    tacit_band_split_scores(&b->scores, d, tacit_aware_factor(run->settings) * multiplier, run->n, 2 * run->n,
                            0, agreement, split);
  }
  tacit_status_t status = tacit_aware_may_start(run->settings, err);
  *noise_sd = 0;
  return status == TACIT_OK ? tacit_aware_release_bands(run->curator, run->settings, multiplier, at, split->n,
                                                        split->radii, !is_of_slopes, values, noise_sd, err)
                            : status;
}

/* seen->slope, doubt, steep <- by bands of slopes; the metric moves on. */
static void set_slope(tacit_program_run_t *run, tacit_program_seen_t *seen, const double *values,
                      double noise_sd) {
  size_t d = run->parameters->dim;
  double n = run->n, unknown = 0, doubt = 0;
  for (size_t j = 0; j < d; j++) {
    unknown += run->metric.unknown[j] * run->metric.unknown[j] / (double)d;
  }
  const tacit_band_guess_t guess = {fmin(unknown + diagonal_off * diagonal_off, most_off * most_off),
                                    fmin(unknown + off * off, most_off * most_off), NULL, NULL};
  tacit_band_squares(&run->bands.slopes, &run->bands.slope_bands, d, n, values, noise_sd, &guess, seen->slope,
                     seen->doubt);
  for (size_t i = 0; i < d * d; i++) {
    seen->slope[i] *= n;
    seen->doubt[i] *= n * n;
    doubt += i / d == i % d ? seen->doubt[i] / (double)d : 0;
  }
  seen->slope_sd = sqrt(doubt);
  seen->worst = 1;
  tacit_program_turn(run, seen);
}

/* said (bands) <- units in each if the program is right, by public records that are weighted as slopes tell;
 * false: it cannot be told. */
static bool say(tacit_program_run_t *run, const tacit_centred_point_t *point, double *said) {
  const tacit_band_split_t *split = &run->bands.score_bands;
  bool is_known = tacit_public_lengths(&run->public, point, split->n - 1, split->radii, said);
  for (size_t b = 0; b < split->n; b++) {
    said[b] *= run->n;
  }
  return is_known;
}

/* The sum of scores, and what is not known of it; said: units in bands, or NULL. */
static tacit_status_t set_score(tacit_program_run_t *run, tacit_program_seen_t *seen, const double *said,
                                const double *values, double noise_sd, tacit_error_t *err) {
  tacit_program_banded_t *b = &run->bands;
  size_t d = run->parameters->dim;
  double shape[MATRIX], mean = 0;
  for (size_t i = 0; i < d * d; i++) {
    shape[i] = seen->steep[i] / run->n;
  }
  const tacit_band_scores_t of = {&b->scores, &b->score_bands, d, d, run->n, values, noise_sd, said, shape};
  if (!tacit_band_learn_scores(&of, &b->tails)) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < d * d; i++) {
    bool is_diagonal = i / d == i % d;
    b->noise[i] = run->n * run->n * (b->tails.tail_cov[i] + (is_diagonal ? b->tails.core_var : 0));
    mean += is_diagonal ? b->noise[i] / (double)d : 0;
  }
  for (size_t j = 0; j < d; j++) {
    seen->score[j] = run->n * b->tails.sum[j];
  }
  seen->score_sd = sqrt(mean);
  return TACIT_OK;
}

/* Of usual records with responses at the bounds. */
static double unseen_shift(tacit_program_run_t *run, const tacit_centred_point_t *point) {
  const double at_bounds = 0.9, most_reach = 4096; /* of responses that are spread over them */
  const tacit_program_banded_t *b = &run->bands;
  size_t d = run->parameters->dim;
  double cov[MATRIX], reach = tacit_public_reach(&run->public, point, at_bounds);
  for (size_t i = 0; i < d * d; i++) {
    cov[i] = (b->noise[i] / run->n + b->tails.squares[i]) / run->n;
  }
  return tacit_band_unseen_shift(&b->score_bands, &b->tails, d, run->n,
                                 fmin(reach, most_reach * sqrt((double)d)), cov);
}

static tacit_program_point_t point_of(const tacit_program_run_t *run, const tacit_program_seen_t *seen) {
  return (tacit_program_point_t){
      run->settings->records,
      {seen->theta, seen->whiten, seen->clip, seen->most, TACIT_PROGRAM_SIMULATED, TACIT_PROGRAM_LAST_SEED}};
}

static tacit_aware_banded_t banded_scores(size_t d, const tacit_program_point_t *point,
                                          tacit_program_seen_t *seen) {
  return (tacit_aware_banded_t){.of = tacit_program_scores(point),
                                .n_parts = 2,
                                .parts = {{"theta", d, seen->theta}, {"whiten", d * d, seen->whiten}}};
}

/* values <- room for all bands, where the curator's model has such scores. */
static tacit_status_t prepare(const tacit_program_run_t *run, const tacit_program_point_t *point,
                              double **values, tacit_error_t *err) {
  *values = tacit_alloc((size_t)BAND_CELLS * BAND_PACKED, sizeof **values);
  return *values == NULL        ? tacit_error_memory(err)
         : run->curator != NULL ? tacit_program_point_check(run->curator, point, err)
                                : TACIT_OK;
}

tacit_status_t tacit_program_learn_plain(tacit_program_run_t *run, tacit_program_seen_t *seen,
                                         tacit_error_t *err) {
  const tacit_program_point_t point = point_of(run, seen);
  const tacit_aware_banded_t scores = banded_scores(run->parameters->dim, &point, seen);
  double *values, noise_sd = 0;
  tacit_status_t status = prepare(run, &point, &values, err);
  TACIT_THEN(status, release_lengths(run, &scores, TACIT_PROGRAM_FIRST_SCORE_LENGTHS, err));
  TACIT_THEN(status, release_bands(run, &scores, TACIT_PROGRAM_FIRST_SCORES, values, &noise_sd, err));
  TACIT_THEN(status, set_score(run, seen, NULL, values, noise_sd, err));
  tacit_free(values);
  return status;
}

tacit_status_t tacit_program_learn_last(tacit_program_run_t *run, tacit_program_seen_t *seen,
                                        tacit_error_t *err) {
  size_t d = run->parameters->dim;
  const tacit_program_point_t point = point_of(run, seen);
  const tacit_aware_banded_t scores = banded_scores(d, &point, seen);
  const tacit_aware_banded_t slopes = {
      .of = tacit_program_slopes(&point),
      .n_parts = 3,
      .parts = {{"theta", d, seen->theta}, {"whiten", d * d, seen->whiten}, {"clip", 1, &seen->clip}}};
  double *values, said[BAND_CELLS], noise_sd = 0;
  tacit_status_t status = prepare(run, &point, &values, err);
  TACIT_THEN(status, release_lengths(run, &slopes, TACIT_PROGRAM_SLOPE_LENGTHS, err));
  TACIT_THEN(status, release_lengths(run, &scores, TACIT_PROGRAM_SCORE_LENGTHS, err));
  TACIT_THEN(status, release_bands(run, &slopes, TACIT_PROGRAM_LAST_SLOPES, values, &noise_sd, err));
  if (status == TACIT_OK) {
    set_slope(run, seen, values, noise_sd);
    status = tacit_public_learn(&run->public, run, err);
  }
  TACIT_THEN(status, release_bands(run, &scores, TACIT_PROGRAM_LAST_SCORES, values, &noise_sd, err));
  if (status == TACIT_OK) {
    bool is_said = say(run, &point.at, said);
    status = set_score(run, seen, is_said ? said : NULL, values, noise_sd, err);
  }
  if (status == TACIT_OK) {
    run->said.unseen = unseen_shift(run, &point.at);
  }
  tacit_free(values);
  return status;
}
