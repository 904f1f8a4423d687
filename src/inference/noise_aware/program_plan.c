/* What inference from centred scores releases, and what it may promise, of public facts alone
 * (docs/theory.md, section 18.14). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "noise_aware/program.h"

/*
 * Shares of mu^2, which sum to 1: of slopes before the first score and at the next eight points, of centred
 * scores at seven, and of what goes by length at the last two.
 */
static const double share_slopes[TACIT_PROGRAM_LOOKS + TACIT_PROGRAM_CENTRED + 1] = {
    0.02, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.02, 0.02, 0.03};
static const double share_scores[TACIT_PROGRAM_CENTRED] = {0.02, 0.02, 0.02, 0.02, 0.03, 0.03, 0.05};
static const double share_banded[TACIT_PROGRAM_N_BANDED] = {0.02, 0.10, 0.02, 0.03, 0.10, 0.08, 0.31};

/*
 * From this rho on, an epsilon of about 100 at delta 1e-6, four points with scores as they are come before
 * the last, where else one does. Clipped and centred ones lead to another place where records are not as the
 * program says, and by a slope that is not theirs one step from there is not enough; noise allows more.
 */
static const double rho_of_many = 50;
enum { N_MORE = 3 };
static const double share_more_slopes = 0.01,
                    share_banded_of_many[TACIT_PROGRAM_N_BANDED] = {0.01, 0.03, 0.02, 0.03, 0.10, 0.02, 0.30};

/*
 * Clips grow until their noise is this share of a sampling sd, and of a record's information (of twice as
 * much while they are narrow); and their least, in units of sqrt(d) and d. Far away a long score misleads:
 * only at the last points do clips of scores grow. At the last two nothing is clipped. Slopes are of scores
 * up to this length everywhere: along a rare level records have long ones, and clipped they tell too little
 * of it.
 */
static const double noise_of_score = 0.3, noise_of_slope = 0.1, most_noise_of_slope = 0.2;
static const double least_clip = 2, least_most = 2.5, least_first = 4, wide_most = 8, open_clip = 64;
enum { N_OPEN = 2 };

/* Most noise of the last slope, of a record's information, and of the core of the last scores, of a sampling
 * sd. */
static const double most_slope_noise = 0.1, most_score_noise = 1;

/* The variance that noise adds, over the noise of the core in sampling sds: bands open the further, the less
 * noise there is. Measured on counts and times of 3 to 5 parameters. */
static const double usual_tails = 8;

static bool has_many(const tacit_noise_aware_settings_t *s) { return s->rho >= rho_of_many; }

size_t tacit_program_n_points(const tacit_noise_aware_settings_t *s) {
  return TACIT_PROGRAM_CENTRED + 2 + (has_many(s) ? N_MORE : 0);
}

static double slope_share(size_t round) {
  return round < sizeof share_slopes / sizeof share_slopes[0] ? share_slopes[round] : share_more_slopes;
}

double tacit_program_multiplier(const tacit_noise_aware_settings_t *s, tacit_aware_centred_kind_t kind,
                                size_t round) {
  return schedule_multiplier(s->rho, kind == TACIT_CENTRED_SCORE ? share_scores[round] : slope_share(round));
}

double tacit_program_of_squares(const tacit_noise_aware_settings_t *s) {
  return s->relation == TACIT_RELATION_SUBSTITUTE ? sqrt(2) : 1;
}

double tacit_program_open_clip(const tacit_noise_aware_settings_t *s) {
  return open_clip * sqrt((double)s->records->dim);
}

double tacit_program_clip(const tacit_noise_aware_settings_t *s, double n, size_t point) {
  double root = sqrt((double)s->records->dim);
  if (point >= TACIT_PROGRAM_CENTRED) {
    return tacit_program_open_clip(s);
  }
  double noise = 1.25 * tacit_aware_factor(s) * tacit_program_multiplier(s, TACIT_CENTRED_SCORE, point);
  return point + N_OPEN < TACIT_PROGRAM_CENTRED ? least_clip * root
                                                : fmax(least_clip * root, noise_of_score * sqrt(n) / noise);
}

double tacit_program_most(const tacit_noise_aware_settings_t *s, double n, size_t round) {
  double d = (double)s->records->dim, least = (round == 0 ? least_first : least_most) * d;
  double unit = n / (tacit_program_of_squares(s) * tacit_program_multiplier(s, TACIT_CENTRED_SLOPE, round));
  return fmax(fmax(least, noise_of_slope * unit), fmin(wide_most * d, most_noise_of_slope * unit));
}

/* What units cost that are private in number or have several rows; the last scores give it up. */
static double share_units(const tacit_noise_aware_settings_t *s) {
  return (tacit_aware_is_count_private(s) ? share_count : 0) +
         (tacit_aware_has_clusters(s) ? share_rows + share_contrast : 0);
}

static double banded_share(const tacit_noise_aware_settings_t *s, tacit_program_banded_kind_t kind) {
  return (has_many(s) ? share_banded_of_many : share_banded)[kind] -
         (kind == TACIT_PROGRAM_LAST_SCORES ? share_units(s) : 0);
}

double tacit_program_banded_multiplier(const tacit_noise_aware_settings_t *s,
                                       tacit_program_banded_kind_t kind) {
  return schedule_multiplier(s->rho, banded_share(s, kind));
}

size_t tacit_program_events(const tacit_noise_aware_settings_t *s,
                            tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  static const char *const labels[] = {"lengths of scores", "bands of scores", "lengths of slopes",
                                       "lengths of scores", "bands of slopes", "lengths of scores",
                                       "bands of scores"};
  size_t n = 0;
  for (size_t r = 0; r + 1 < TACIT_PROGRAM_LOOKS + tacit_program_n_points(s); r++) {
    tacit_aware_plan(s, slope_share(r), 1, "slope of centred scores", events, &n);
  }
  for (size_t r = 0; r < TACIT_PROGRAM_CENTRED; r++) {
    tacit_aware_plan(s, share_scores[r], 1, "centred score", events, &n);
  }
  size_t n_plain = tacit_program_n_points(s) - TACIT_PROGRAM_CENTRED - 1; /* before the last */
  for (tacit_program_banded_kind_t kind = 0; kind < TACIT_PROGRAM_N_BANDED; kind++) {
    size_t count = kind <= TACIT_PROGRAM_FIRST_SCORES ? n_plain : 1;
    tacit_aware_plan(s, banded_share(s, kind), count, labels[kind], events, &n);
  }
  tacit_aware_plan(s, tacit_aware_is_count_private(s) ? share_count : 0, 1, "number of units", events, &n);
  tacit_aware_plan(s, tacit_aware_has_clusters(s) ? share_rows : 0, 1, "numbers of rows", events, &n);
  tacit_aware_plan(s, tacit_aware_has_clusters(s) ? share_contrast : 0, 1, "bands of contrasts", events, &n);
  return n;
}

size_t tacit_program_most_parameters(const tacit_noise_aware_settings_t *s) {
  (void)s;
  return PARAMETERS;
}

tacit_status_t tacit_program_check(const tacit_noise_aware_settings_t *s,
                                   const tacit_parameters_t *parameters, tacit_error_t *err) {
  (void)parameters;
  return tacit_centred_check(s->records, err);
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
  const double usual = 0.8; /* of records, half of which are at the bound that is nearer */
  s->program_sampling = s->program_noise = s->program_reach = 0;
  tacit_status_t status = tacit_public_open(&public, s->records, err);
  if (status == TACIT_OK) {
    tacit_program_climb(d, tacit_program_prior_density, parameters, theta);
    if (tacit_public_metric(&public, theta, whiten)) {
      double root = sqrt((double)d);
      const tacit_centred_point_t point = {
          theta, whiten, least_clip * root, least_most * (double)d, TACIT_PROGRAM_SIMULATED, 1};
      tacit_public_slope(&public, &point, slope);
      status =
          tacit_public_reach(&public, &point, usual, &s->program_reach) ? TACIT_OK : tacit_error_memory(err);
      s->program_reach /= root;
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

/* Noise of the last scores, of a core of the least clip; and of the last slope. */
static double score_noise(const tacit_noise_aware_settings_t *s) {
  return tacit_aware_factor(s) * tacit_program_banded_multiplier(s, TACIT_PROGRAM_LAST_SCORES) * least_clip *
         sqrt((double)s->records->dim);
}

static double slope_noise(const tacit_noise_aware_settings_t *s) {
  return tacit_program_of_squares(s) * least_most * (double)s->records->dim *
         tacit_program_banded_multiplier(s, TACIT_PROGRAM_LAST_SLOPES);
}

double tacit_program_usual_noise(const tacit_noise_aware_settings_t *s, double n_units) {
  return sqrt(usual_tails * sqrt(n_units) * score_noise(s));
}

/* By the count beyond the core, of sensitivity 1, that of a band and that of a cell; where scores are within
 * the core whatever responses are, nobody hides. */
double tacit_program_hidden(const tacit_noise_aware_settings_t *s) {
  const double sds = 2.33, far = 16, of_pair = tacit_program_of_squares(s);
  double beyond = tacit_program_banded_multiplier(s, TACIT_PROGRAM_BEYOND),
         band = 2 * of_pair * tacit_program_banded_multiplier(s, TACIT_PROGRAM_LAST_SCORES),
         cell = of_pair * tacit_program_banded_multiplier(s, TACIT_PROGRAM_SCORE_LENGTHS);
  return s->program_reach < far ? 0 : sds / sqrt(pow(beyond, -2) + pow(band, -2) + pow(cell, -2));
}

double tacit_program_inflation(const tacit_noise_aware_settings_t *s, size_t dim, double n_units) {
  (void)dim;
  double noise = tacit_program_usual_noise(s, n_units);
  return sqrt(fmax(s->program_sampling, 1) + s->program_noise * noise * noise / n_units);
}

tacit_status_t tacit_program_check_budget(const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  if (!(s->program_noise > 0)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                           "method noise-aware takes programs whose parameters all show in the records "
                           "themselves, and of this one some do not (as the sd of "
                           "groups, which shows in their effects alone): use --method dp-hmc or dp-penalty");
  }
  double n = s->n_units, slope = slope_noise(s) / (n * most_slope_noise),
         score = score_noise(s) / (sqrt(n) * most_score_noise);
  double short_by = fmax(slope, score);
  return short_by <= 1 ? TACIT_OK
                       : tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                                         "this budget does not tell what %.0f records know of %zu "
                                         "parameters; about %.6g times the epsilon, or %.6g times the "
                                         "records, or fewer parameters would do; nothing was spent",
                                         n, s->records->dim, tacit_number_round_up(short_by),
                                         tacit_number_round_up(fmax(slope, score * score)));
}
