/* What inference from centred scores releases, and what it may promise, of public facts alone (docs/theory.md, section 18.14). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "noise_aware/program.h"

/*
 * Shares of mu^2: of the columns' moments, plain and whitened, and of the rounds. The last two release squares beside scores; where the number of
 * units is private, the last gives up what that costs.
 */
static const double share_columns[2] = {0.03, 0.06}, shares[TACIT_PROGRAM_ROUNDS] = {0.04, 0.05, 0.08, 0.18, 0.56};
static const double share_scores = 0.8;

static double share_of(const tacit_noise_aware_settings_t *s, size_t round) {
  return shares[round] - (round + 1 == TACIT_PROGRAM_ROUNDS && tacit_aware_is_count_private(s) ? share_count : 0);
}

bool tacit_program_has_squares(size_t round) { return round + 2 >= TACIT_PROGRAM_ROUNDS; }

double tacit_program_columns_multiplier(const tacit_noise_aware_settings_t *s, bool is_whitened) {
  return schedule_multiplier(s->rho, share_columns[is_whitened]);
}

double tacit_program_score_multiplier(const tacit_noise_aware_settings_t *s, size_t round) {
  return schedule_multiplier(s->rho, (tacit_program_has_squares(round) ? share_scores : 1) * share_of(s, round));
}

double tacit_program_square_multiplier(const tacit_noise_aware_settings_t *s, size_t round) {
  return schedule_multiplier(s->rho, (1 - share_scores) * share_of(s, round));
}

static void add_event(tacit_event_t *events, size_t *n, double multiplier, const char *label) {
  events[*n] = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = multiplier, .count = 1};
  snprintf(events[(*n)++].label, sizeof events->label, "%s", label);
}

size_t tacit_program_events(const tacit_noise_aware_settings_t *s, tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  size_t n = 0;
  if (tacit_public_n_columns(s->records) > 0) {
    add_event(events, &n, tacit_program_columns_multiplier(s, false), "moments of columns");
    add_event(events, &n, tacit_program_columns_multiplier(s, true), "whitened moments of columns");
  }
  for (size_t round = 0; round < TACIT_PROGRAM_ROUNDS; round++) {
    add_event(events, &n, tacit_program_score_multiplier(s, round), "centred score");
    if (tacit_program_has_squares(round)) {
      add_event(events, &n, tacit_program_square_multiplier(s, round), "squares of centred scores");
    }
  }
  if (tacit_aware_is_count_private(s)) {
    add_event(events, &n, schedule_multiplier(s->rho, share_count), "number of units");
  }
  return n;
}

/*
 * Most that noise may move the last two roots by, together, in units in which a record's information is 1, and an element of the columns'
 * whitened mean squares: beyond it the score's slope is not known well enough (coverage .77 at .06 and .16).
 */
static const double most_noise = 0.03, most_column_noise = 0.06;

/* Do records' scores tell something of every parameter? */
static bool shows_all(size_t d, const double *squares) {
  double copy[MATRIX], values[TACIT_NOISE_AWARE_MAX_NARROW], vectors[MATRIX], least = INFINITY;
  memcpy(copy, squares, d * d * sizeof *copy);
  tacit_eigen(d, copy, values, vectors);
  for (size_t j = 0; j < d; j++) {
    least = fmin(least, values[j]);
  }
  return least > 1e-6;
}

tacit_status_t tacit_noise_aware_measure(tacit_noise_aware_settings_t *s, const tacit_parameters_t *parameters, tacit_error_t *err) {
  size_t d = s->records->dim;
  double theta[TACIT_NOISE_AWARE_MAX_NARROW] = {0}, whiten[MATRIX], squares[MATRIX], with_score[MATRIX], inverse[MATRIX], sampling[MATRIX];
  tacit_public_t public;
  s->program_sampling = s->program_noise = 0;
  tacit_status_t status = tacit_public_open(&public, s->records, err);
  if (status == TACIT_OK) {
    tacit_program_climb(d, tacit_program_prior_density, parameters, theta);
    if (tacit_public_metric(&public, theta, whiten)) {
      tacit_public_expect(&public, &(tacit_centred_point_t){theta, whiten, 2 * sqrt((double)d), TACIT_PROGRAM_SIMULATED, 1}, theta);
      tacit_public_mean(&public, d * d, public.squares, squares);
      tacit_public_mean(&public, d * d, public.with_score, with_score);
    } else {
      status = tacit_error_set(err, TACIT_ERR_NUMERIC, "prior", "at the centre of its prior no record tells anything of the parameters");
    }
  }
  if (status == TACIT_OK && shows_all(d, squares) && tacit_program_invert(d, with_score, inverse)) {
    tacit_program_sandwich(d, inverse, squares, sampling);
    for (size_t i = 0; i < d; i++) { /* harmonic means: of a parameter that is hardly told of, the prior stays */
      s->program_sampling += 1 / (sampling[i * d + i] * (double)d);
      s->program_noise += 1 / (tacit_dot(d, inverse + i * d, inverse + i * d) * (double)d);
    }
    s->program_sampling = 1 / s->program_sampling;
    s->program_noise = 1 / s->program_noise;
  }
  tacit_public_close(&public);
  return status;
}

double tacit_program_noise(const tacit_noise_aware_settings_t *s, size_t from) {
  double share = 0;
  for (size_t round = from; round < TACIT_PROGRAM_ROUNDS; round++) {
    share += (tacit_program_has_squares(round) ? share_scores : 1) * share_of(s, round);
  }
  return tacit_aware_factor(s) * 1.25 * 2 * sqrt((double)s->records->dim) * schedule_multiplier(s->rho, share);
}

double tacit_program_inflation(const tacit_noise_aware_settings_t *s, double n_units) {
  double noise_sd = tacit_program_noise(s, TACIT_PROGRAM_ROUNDS - 2);
  return sqrt(fmax(s->program_sampling, 1) + s->program_noise * noise_sd * noise_sd / n_units);
}

tacit_status_t tacit_program_check(const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  if (!(s->program_noise > 0)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "method",
        "method noise-aware takes programs whose parameters all show in the records themselves, and of this one some do not (as the sd of "
        "groups, which shows in their effects alone): use --method dp-hmc or dp-penalty");
  }
  double z = (double)tacit_public_n_columns(s->records) + 1, bound = whitened_radius * whitened_radius * z;
  double factor = s->relation == TACIT_RELATION_SUBSTITUTE ? sqrt(2) : 1;
  double short_by = fmax(tacit_program_noise(s, TACIT_PROGRAM_ROUNDS - 2) * sqrt(s->program_noise) / (s->n_units * most_noise),
                         factor * bound * tacit_program_columns_multiplier(s, true) / (s->n_units * most_column_noise));
  return short_by <= 1
             ? TACIT_OK
             : tacit_error_set(
                   err, TACIT_ERR_BUDGET, "epsilon",
                   "this budget does not tell what %.0f records know of %zu parameters, nor what their columns are like; about %.6g "
                   "times the epsilon or the records, fewer parameters, or priors centred where they are likely would do; nothing was spent",
                   s->n_units, s->records->dim, tacit_number_round_up(short_by));
}
