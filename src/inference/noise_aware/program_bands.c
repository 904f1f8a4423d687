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

/* In sqrt(d): scores beyond this are far. They are in bands by this factor, up to the longest that nearly all
 * public records have with responses at their bounds, and a bit more, but no further than most_top: what is
 * longer is shortened to that. */
static const double near_top = 64, far_factor = 4, nearly_all = 0.98, beyond_public = 1.5, most_top = 65536;
/* Counts of far bands, in sds of their noise, that one of 1, 2 .. bands has in 2 % where there is nobody. */
static const double most_hidden[] = {2.05, 2.33, 2.47, 2.58, 2.65};
/* Of the directions of scores in a band, by what is expected: residuals of counts and times lean one way. */
static const double agreement = 0.6;
/* What a slope may be off by, beside what the looks before left: on the diagonal, off it, and at most. */
static const double diagonal_off = 0.2, off = 0.1, most_off = 0.6;

static tacit_status_t release_lengths(tacit_program_run_t *run, const tacit_aware_banded_t *at,
                                      tacit_program_banded_kind_t kind, const tacit_centred_point_t *point,
                                      tacit_error_t *err) {
  bool is_of_slopes = kind == TACIT_PROGRAM_SLOPE_LENGTHS;
  tacit_band_lengths_t *lengths = is_of_slopes ? &run->bands.slopes : &run->bands.scores;
  double inner[BAND_CELLS], multiplier = tacit_program_banded_multiplier(run->settings, kind);
  tacit_band_cells(lengths, sqrt((double)run->parameters->dim), near_top);
  if (!is_of_slopes) {
    double reach;
    if (!tacit_public_reach(&run->public, point, nearly_all, &reach)) {
      return tacit_error_memory(err);
    }
    tacit_band_add_far(lengths, far_factor, fmin(beyond_public * reach / lengths->unit, most_top));
  }
  lengths->are_far_rare = is_of_slopes;
  tacit_band_inner_edges(lengths, inner);
  tacit_status_t status = tacit_aware_may_start(run->settings, err);
  TACIT_THEN(status, tacit_aware_release_lengths(run->curator, run->settings, multiplier, at, lengths->n - 1,
                                                 inner, lengths->counts, &lengths->noise_sd, err));
  if (status == TACIT_OK && !tacit_band_learn_counts(lengths, run->n)) {
    return tacit_error_memory(err);
  }
  return status;
}

static void split(tacit_program_run_t *run, tacit_program_banded_kind_t kind) {
  tacit_program_banded_t *b = &run->bands;
  size_t d = run->parameters->dim;
  double multiplier = tacit_program_banded_multiplier(run->settings, kind);
  if (kind == TACIT_PROGRAM_LAST_SLOPES) {
    tacit_band_split_squares(&b->slopes, d, tacit_program_of_squares(run->settings) * multiplier,
                             &b->slope_bands);
  } else {
    tacit_band_split_scores(&b->scores, d, tacit_aware_factor(run->settings) * multiplier, run->n, 2 * run->n,
                            0, agreement, &b->score_bands);
  }
}

/* run->bands.beyond <- how many scores are longer than the core's. A row that is substituted moves between
 * two counts that sum to n, which says as much as one count of less noise. */
static tacit_status_t release_beyond(tacit_program_run_t *run, const tacit_aware_banded_t *at,
                                     tacit_error_t *err) {
  tacit_program_banded_t *b = &run->bands;
  double counts[2], noise_sd,
      edge = b->score_bands.radii[0],
      multiplier = tacit_program_banded_multiplier(run->settings, TACIT_PROGRAM_BEYOND);
  bool has_both = run->settings->relation == TACIT_RELATION_SUBSTITUTE;
  tacit_status_t status = tacit_aware_may_start(run->settings, err);
  TACIT_THEN(status, tacit_aware_release_lengths(run->curator, run->settings, multiplier, at, 1, &edge,
                                                 counts, &noise_sd, err));
  if (status == TACIT_OK) {
    b->beyond = has_both ? 0.5 * (counts[1] + run->n - counts[0]) : counts[1];
    b->beyond_sd = fmax(has_both ? noise_sd / sqrt(2) : noise_sd, 1e-6);
  }
  return status;
}

/* In bands that were split. values: room for all. */
static tacit_status_t release_bands(tacit_program_run_t *run, const tacit_aware_banded_t *at,
                                    tacit_program_banded_kind_t kind, double *values, double *noise_sd,
                                    tacit_error_t *err) {
  bool is_of_slopes = kind == TACIT_PROGRAM_LAST_SLOPES;
  tacit_band_split_t *bands = is_of_slopes ? &run->bands.slope_bands : &run->bands.score_bands;
  tacit_status_t status = tacit_aware_may_start(run->settings, err);
  *noise_sd = 0;
  TACIT_THEN(status, tacit_aware_release_bands(run->curator, run->settings,
                                               tacit_program_banded_multiplier(run->settings, kind), at,
                                               bands->n, bands->radii, !is_of_slopes, values, noise_sd, err));
  return status;
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
  const tacit_band_scores_t of = {&b->scores, &b->score_bands, d,           d, run->n, values, noise_sd, said,
                                  shape,      b->beyond,       b->beyond_sd};
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
static bool find_unseen_shift(tacit_program_run_t *run, const tacit_centred_point_t *point) {
  const double usual = 0.8, most_reach = 4096; /* of records, half of which are at the bound that is nearer */
  const tacit_program_banded_t *b = &run->bands;
  size_t d = run->parameters->dim;
  double cov[MATRIX], reach;
  bool ok = tacit_public_reach(&run->public, point, usual, &reach);
  for (size_t i = 0; i < d * d; i++) {
    cov[i] = (b->noise[i] / run->n + b->tails.squares[i]) / run->n;
  }
  run->said.unseen = tacit_band_unseen_shift(&b->score_bands, &b->tails, pow(b->beyond_sd, -2), d, run->n,
                                             fmin(reach, most_reach * sqrt((double)d)), cov);
  return ok;
}

/* The largest count of a far band that is taken to be empty, by both points and by what there is beyond the
 * core that is taken for nobody, over what it may be. */
static double hidden_tails(const tacit_program_run_t *run) {
  const tacit_program_banded_t *b = &run->bands;
  const size_t first = b->score_bands.n_near, n_far = b->score_bands.n - first,
               n_most = sizeof most_hidden / sizeof most_hidden[0];
  const double half_a_record = 0.5, moved = 3; /* sds: who was there is elsewhere in today's coordinates */
  double largest = 0, of_all = pow(b->beyond_sd, -2), excess = b->beyond;
  for (size_t k = 1; k < b->score_bands.n; k++) {
    excess -= b->tails.records[k];
  }
  for (size_t k = 0; k < n_far; k++) {
    double counted = b->tails.counted[first + k], sd = b->tails.count_sd[first + k];
    bool is_as_before =
        b->far_count_sd[k] > 0 && fabs(counted - b->far_counted[k]) < moved * hypot(sd, b->far_count_sd[k]);
    double precision = pow(sd, -2), before = is_as_before ? pow(b->far_count_sd[k], -2) : 0,
           all = precision + before + of_all,
           hidden = (counted * precision + b->far_counted[k] * before + excess * of_all) / all;
    bool is_taken = b->tails.records[first + k] > 0.5 * counted || hidden < half_a_record;
    largest = is_taken ? largest : fmax(largest, hidden * sqrt(all));
  }
  return n_far > 0 ? largest / most_hidden[(n_far < n_most ? n_far : n_most) - 1] : 0;
}

static void keep_far_counts(tacit_program_banded_t *b) {
  memset(b->far_count_sd, 0, sizeof b->far_count_sd);
  for (size_t k = 0; b->score_bands.n_near + k < b->score_bands.n; k++) {
    b->far_counted[k] = b->tails.counted[b->score_bands.n_near + k];
    b->far_count_sd[k] = b->tails.count_sd[b->score_bands.n_near + k];
  }
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
  TACIT_THEN(status, release_lengths(run, &scores, TACIT_PROGRAM_FIRST_SCORE_LENGTHS, &point.at, err));
  if (status == TACIT_OK) {
    split(run, TACIT_PROGRAM_FIRST_SCORES);
    run->bands.beyond_sd = 0;
  }
  TACIT_THEN(status, release_bands(run, &scores, TACIT_PROGRAM_FIRST_SCORES, values, &noise_sd, err));
  TACIT_THEN(status, set_score(run, seen, NULL, values, noise_sd, err));
  keep_far_counts(&run->bands);
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
  TACIT_THEN(status, release_lengths(run, &slopes, TACIT_PROGRAM_SLOPE_LENGTHS, NULL, err));
  TACIT_THEN(status, release_lengths(run, &scores, TACIT_PROGRAM_SCORE_LENGTHS, &point.at, err));
  if (status == TACIT_OK) {
    split(run, TACIT_PROGRAM_LAST_SLOPES);
    split(run, TACIT_PROGRAM_LAST_SCORES);
  }
  TACIT_THEN(status, release_bands(run, &slopes, TACIT_PROGRAM_LAST_SLOPES, values, &noise_sd, err));
  if (status == TACIT_OK) {
    set_slope(run, seen, values, noise_sd);
    status = tacit_public_learn(&run->public, run, err);
  }
  TACIT_THEN(status, release_beyond(run, &scores, err));
  TACIT_THEN(status, release_bands(run, &scores, TACIT_PROGRAM_LAST_SCORES, values, &noise_sd, err));
  if (status == TACIT_OK) {
    bool is_said = say(run, &point.at, said);
    status = set_score(run, seen, is_said ? said : NULL, values, noise_sd, err);
  }
  if (status == TACIT_OK) {
    run->said.tails = hidden_tails(run);
    status = find_unseen_shift(run, &point.at) ? TACIT_OK : tacit_error_memory(err);
  }
  tacit_free(values);
  return status;
}
