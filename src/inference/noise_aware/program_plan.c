/* What inference from centred scores releases, and what it may promise, of public facts alone
 * (docs/theory.md, section 18.14). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "noise_aware/program.h"

/*
 * Shares of mu^2, which sum to 1: of slopes before the first score and at the nine points, of scores there,
 * at the last of tails, of squares and of levels, and of lengths where that leads. Where the number of units
 * is private, the last score gives up what that costs.
 */
static const double share_slopes[TACIT_PROGRAM_LOOKS + TACIT_PROGRAM_POINTS] = {
    0.02, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.02, 0.02, 0.03, 0.05};
static const double share_scores[TACIT_PROGRAM_POINTS] = {0.02, 0.02, 0.02, 0.02, 0.03,
                                                          0.03, 0.05, 0.09, 0.33};
static const double share_tails = 0.06, share_of_squares = 0.04, share_levels = 0.01, share_lengths = 0.08;

/*
 * Clips grow until their noise is this share of a sampling sd, of a record's information, of squares; and
 * their least, in units of sqrt(d), d and sqrt(d). Far away a long score misleads: only at the last points do
 * clips grow.
 */
static const double noise_of_score = 0.3, noise_of_slope = 0.02, noise_of_square = 0.05;
static const double least_clip = 2, least_most = 2.5, least_first = 4, least_cap = 2.5;
enum { N_OPEN = 3 };

/* Most noise of the last slope, of a record's information, and of the last score, of a sampling sd. */
static const double most_slope_noise = 0.1, most_score_noise = 1;

/* sds that a number of records is flagged from; the share of records whose scores are beyond the least clip;
 * and by how much of a clip some may be. */
static const double flag_takes = 2.33, beyond_clip = 0.05, too_long = 0.75;

double tacit_program_multiplier(const tacit_noise_aware_settings_t *s, tacit_aware_centred_kind_t kind,
                                size_t round) {
  bool is_last = round + 1 == TACIT_PROGRAM_POINTS;
  double share = share_levels;
  switch (kind) {
  case TACIT_CENTRED_SCORE:
    share = share_scores[round] - (is_last && tacit_aware_is_count_private(s) ? share_count : 0);
    break;
  case TACIT_CENTRED_SLOPE:
    share = share_slopes[round];
    break;
  case TACIT_CENTRED_TAILS:
    share = share_tails;
    break;
  case TACIT_CENTRED_SQUARES:
    share = share_of_squares;
    break;
  case TACIT_CENTRED_LENGTH:
    share = share_lengths;
    break;
  default:
    break;
  }
  return schedule_multiplier(s->rho, share);
}

static double of_squares(const tacit_noise_aware_settings_t *s) {
  return s->relation == TACIT_RELATION_SUBSTITUTE ? sqrt(2) : 1;
}

double tacit_program_clip(const tacit_noise_aware_settings_t *s, double n, size_t point) {
  double least = least_clip * sqrt((double)s->records->dim),
         noise = 1.25 * tacit_aware_factor(s) * tacit_program_multiplier(s, TACIT_CENTRED_SCORE, point);
  return point + N_OPEN < TACIT_PROGRAM_POINTS ? least : fmax(least, noise_of_score * sqrt(n) / noise);
}

double tacit_program_most(const tacit_noise_aware_settings_t *s, double n, size_t round) {
  double least = (round == 0 ? least_first : least_most) * (double)s->records->dim;
  return fmax(least,
              noise_of_slope * n / (of_squares(s) * tacit_program_multiplier(s, TACIT_CENTRED_SLOPE, round)));
}

double tacit_program_cap(const tacit_noise_aware_settings_t *s, double n) {
  double most = 1.25 * tacit_program_clip(s, n, TACIT_PROGRAM_POINTS - 1);
  double grown =
      sqrt(noise_of_square * n / (of_squares(s) * tacit_program_multiplier(s, TACIT_CENTRED_SQUARES, 0)));
  return fmin(most, fmax(least_cap * sqrt((double)s->records->dim), grown));
}

static void add_event(tacit_event_t *events, size_t *n, double multiplier, const char *label) {
  events[*n] = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = multiplier, .count = 1};
  snprintf(events[(*n)++].label, sizeof events->label, "%s", label);
}

size_t tacit_program_events(const tacit_noise_aware_settings_t *s,
                            tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  size_t n = 0;
  for (size_t r = 0; r < TACIT_PROGRAM_LOOKS + TACIT_PROGRAM_POINTS; r++) {
    add_event(events, &n, tacit_program_multiplier(s, TACIT_CENTRED_SLOPE, r), "slope of centred scores");
  }
  for (size_t r = 0; r < TACIT_PROGRAM_POINTS; r++) {
    add_event(events, &n, tacit_program_multiplier(s, TACIT_CENTRED_SCORE, r), "centred score");
  }
  add_event(events, &n, tacit_program_multiplier(s, TACIT_CENTRED_TAILS, 0), "tails of centred scores");
  add_event(events, &n, tacit_program_multiplier(s, TACIT_CENTRED_SQUARES, 0), "squares of centred scores");
  add_event(events, &n, tacit_program_multiplier(s, TACIT_CENTRED_LEVEL, 0), "levels of centred scores");
  add_event(events, &n, tacit_program_multiplier(s, TACIT_CENTRED_LENGTH, 0), "lengths of centred scores");
  if (tacit_aware_is_count_private(s)) {
    add_event(events, &n, schedule_multiplier(s->rho, share_count), "number of units");
  }
  return n;
}

/* Do records' scores tell something of every parameter? */
static bool shows_all(size_t d, const double *slope) {
  double copy[MATRIX], values[PARAMETERS], vectors[MATRIX], least = INFINITY;
  memcpy(copy, slope, d * d * sizeof *copy);
  tacit_eigen(d, copy, values, vectors);
  for (size_t j = 0; j < d; j++) {
    least = fmin(least, values[j]);
  }
  return least > 1e-6;
}

tacit_status_t tacit_noise_aware_measure(tacit_noise_aware_settings_t *s,
                                         const tacit_parameters_t *parameters, tacit_error_t *err) {
  size_t d = s->records->dim;
  double theta[PARAMETERS] = {0}, whiten[MATRIX], slope[MATRIX];
  tacit_public_t public;
  s->program_sampling = s->program_noise = 0;
  tacit_status_t status = tacit_public_open(&public, s->records, err);
  if (status == TACIT_OK) {
    tacit_program_climb(d, tacit_program_prior_density, parameters, theta);
    if (tacit_public_metric(&public, theta, whiten)) {
      double clip = least_clip * sqrt((double)d);
      tacit_public_slope(&public,
                         &(tacit_centred_point_t){theta, whiten, clip, least_most * (double)d, clip,
                                                  TACIT_PROGRAM_SIMULATED, 1},
                         slope);
    } else {
      status = tacit_error_set(err, TACIT_ERR_NUMERIC, "prior",
                               "at the centre of its prior no record tells anything of the parameters");
    }
  }
  if (status == TACIT_OK && shows_all(d, slope) && tacit_program_invert_positive(d, slope)) {
    for (size_t i = 0; i < d;
         i++) { /* harmonic means: of a parameter that is hardly told of, the prior stays */
      s->program_sampling += 1 / (slope[i * d + i] * (double)d);
      s->program_noise += 1 / (tacit_dot(d, slope + i * d, slope + i * d) * (double)d);
    }
    s->program_sampling = 1 / s->program_sampling;
    s->program_noise = 1 / s->program_noise;
  }
  tacit_public_close(&public);
  return status;
}

/* Noise of the last score, and of the last slope. */
static double score_noise(const tacit_noise_aware_settings_t *s, double n) {
  size_t last = TACIT_PROGRAM_POINTS - 1;
  return 1.25 * tacit_aware_factor(s) * tacit_program_clip(s, n, last) *
         tacit_program_multiplier(s, TACIT_CENTRED_SCORE, last);
}

static double slope_noise(const tacit_noise_aware_settings_t *s, double n) {
  size_t last = TACIT_PROGRAM_LOOKS + TACIT_PROGRAM_POINTS - 1;
  return of_squares(s) * tacit_program_most(s, n, last) *
         tacit_program_multiplier(s, TACIT_CENTRED_SLOPE, last);
}

/*
 * As many records as a flag takes, by noise of lengths and how many there may be anyway, of scores that are
 * too long by most of a clip, in sds of the posterior. Where the clip has opened, what they do is in the
 * answer.
 */
double tacit_noise_aware_unseen(const tacit_noise_aware_settings_t *s, double n_units, double *share) {
  *share = 0;
  if (s->records == NULL) {
    return 0;
  }
  double noise = score_noise(s, n_units), least = least_clip * sqrt((double)s->records->dim),
         clip = tacit_program_clip(s, n_units, TACIT_PROGRAM_POINTS - 1);
  double lengths = sqrt(2) * tacit_aware_factor(s) * tacit_program_multiplier(s, TACIT_CENTRED_LENGTH, 0);
  double records = flag_takes * sqrt(lengths * lengths + beyond_clip * pow(least / clip, 4) * n_units);
  if (clip >= 3 * least) {
    return 0;
  }
  *share = fmin(records / n_units, 1);
  return records * too_long * clip / sqrt(n_units + noise * noise);
}

double tacit_program_inflation(const tacit_noise_aware_settings_t *s, double n_units) {
  double noise_sd = score_noise(s, n_units);
  return sqrt(fmax(s->program_sampling, 1) + s->program_noise * noise_sd * noise_sd / n_units);
}

tacit_status_t tacit_program_check(const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  if (!(s->program_noise > 0)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                           "method noise-aware takes programs whose parameters all show in the records "
                           "themselves, and of this one some do not (as the sd of "
                           "groups, which shows in their effects alone): use --method dp-hmc or dp-penalty");
  }
  double n = s->n_units, slope = slope_noise(s, n) / (n * most_slope_noise),
         score = score_noise(s, n) / (sqrt(n) * most_score_noise);
  double short_by = fmax(slope, score);
  return short_by <= 1 ? TACIT_OK
                       : tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                                         "this budget does not tell what %.0f records know of %zu "
                                         "parameters; about %.6g times the epsilon, or %.6g times the "
                                         "records, or fewer parameters would do; nothing was spent",
                                         n, s->records->dim, tacit_number_round_up(short_by),
                                         tacit_number_round_up(fmax(slope, score * score)));
}
