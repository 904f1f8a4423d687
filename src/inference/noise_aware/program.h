/* Inference from centred scores and their slopes: program.c. */
#ifndef TACIT_NOISE_AWARE_PROGRAM_H
#define TACIT_NOISE_AWARE_PROGRAM_H

#include <stdio.h>

#include "curator/curator.h"
#include "noise_aware/bands.h"
#include "noise_aware/engine.h"

enum {
  TACIT_PROGRAM_CENTRED = 7, /* points with clipped and centred scores; after these, scores as they are */
  TACIT_PROGRAM_MOST_PLAIN = 5,
  TACIT_PROGRAM_LOOKS = 2, /* releases of slopes before the first score */
  TACIT_PROGRAM_SIMULATED = 32,
  TACIT_PROGRAM_MADE_UP = 1,
  TACIT_PROGRAM_LAST_SEED = 8, /* of responses that are simulated at the last point */
  PARAMETERS = TACIT_NOISE_AWARE_MAX_NARROW,
  MATRIX = PARAMETERS * PARAMETERS
};

/* Where releases are made: coordinates e, theta = t + A' e, in which a record's information is about 1, and
 * how surely that is known. */
typedef struct tacit_program_metric {
  double whiten[MATRIX];      /* A */
  double unknown[PARAMETERS]; /* prior variance of element (j, k) of a record's information is unknown_j
                                 unknown_k */
} tacit_program_metric_t;

/* What was released at a point, in its coordinates. */
typedef struct tacit_program_seen {
  double theta[PARAMETERS], whiten[MATRIX], clip, most;
  double score[PARAMETERS], score_sd;
  double slope[MATRIX], doubt[MATRIX]; /* what is known of the sum of w J, and the variance of each element
                                          (diagonal; off it, too) */
  double steep[MATRIX]; /* the same with eigenvalues that are at least as large as their noise: for steps and
                           metrics alone */
  double slope_sd,
      worst; /* noise of an element on the diagonal; largest share of it that is left after all looks */
} tacit_program_seen_t;

/* What is released by length: at the last points but one scores, at the last slopes and scores. */
typedef enum tacit_program_banded_kind {
  TACIT_PROGRAM_FIRST_SCORE_LENGTHS,
  TACIT_PROGRAM_FIRST_SCORES,
  TACIT_PROGRAM_SLOPE_LENGTHS,
  TACIT_PROGRAM_SCORE_LENGTHS,
  TACIT_PROGRAM_LAST_SLOPES,
  TACIT_PROGRAM_BEYOND, /* how many scores are longer than those of the core */
  TACIT_PROGRAM_LAST_SCORES,
  TACIT_PROGRAM_N_BANDED
} tacit_program_banded_kind_t;

/* What bands of slopes and scores tell (program_bands.c). */
typedef struct tacit_program_banded {
  tacit_band_lengths_t slopes, scores;
  tacit_band_split_t slope_bands, score_bands;
  tacit_band_tails_t tails;
  double beyond, beyond_sd; /* units beyond the core, and its noise; 0: not released */
  double far_counted[BAND_CELLS], far_count_sd[BAND_CELLS]; /* of far bands, at the last point but one */
  double noise[MATRIX]; /* of the sum of scores: what is not known of it */
} tacit_program_banded_t;

/*
 * What the releases of one or two points say of theta (docs/theory.md, section 18.14): S_r = (J_r + E_r) e_r
 * + noise + sampling error, the elements of E_r normal and independent, of these variances, and integrated
 * over; the sampling error that of the same records at all points.
 */
typedef struct tacit_program_likelihood {
  size_t d, n_points;
  struct {
    double theta[PARAMETERS], back[MATRIX];                        /* e = back (theta - t) */
    double score[PARAMETERS], noise, slope[MATRIX], doubt[MATRIX]; /* noise: its variance */
  } at[2];
  double sampling[4 * MATRIX]; /* (n_points d, n_points d) */
} tacit_program_likelihood_t;

/* Records that are nobody's, spread evenly over what the schema allows, and weights. Forecasts, starting
 * points and checks rest on them alone. */
typedef struct tacit_public {
  const tacit_record_model_t *model;
  size_t d, n;
  float *records;  /* (n, n_columns) */
  double *weights; /* (n) */
  double *work;
} tacit_public_t;

/* What is said of a fit. */
typedef struct tacit_program_said {
  double last_step; /* what slopes change by on the way from the last point to the posterior, in sds of it */
  double information; /* least eigenvalue of the slope, in sds of its noise */
  double lost;        /* share of records whose scores are no finite numbers, less three sds of its noise */
  double bend;        /* of the expected score one posterior sd away, in sds of the score */
  double unseen; /* what one sd of the noise of a count of records at the bounds would do, in sds of the mean
                    score */
  double tails;  /* largest count of far scores that is taken for none, over what it may be */
} tacit_program_said_t;

/* Scores that are neither clipped nor centred, at points on the way. */
typedef struct tacit_program_secants {
  size_t n;
  double theta[TACIT_PROGRAM_MOST_PLAIN][PARAMETERS];
  double score[TACIT_PROGRAM_MOST_PLAIN][PARAMETERS]; /* in theta */
  double noise2[TACIT_PROGRAM_MOST_PLAIN];            /* of an element of the score in e */
} tacit_program_secants_t;

typedef struct tacit_program_run {
  tacit_curator_t *curator;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  tacit_public_t public;
  double n, theta[PARAMETERS];
  tacit_program_metric_t metric;
  tacit_program_seen_t seen; /* at the last point */
  tacit_program_banded_t bands;
  tacit_program_said_t said;
  tacit_program_likelihood_t own;
  tacit_program_secants_t secants;
  const struct tacit_program_run *before; /* of sites together: the one before, whose likelihood counts too */
} tacit_program_run_t;

/* ---- program.c ---- */

/* program_share.c: sds and shares of the prior. */
TACIT_MUST_USE tacit_status_t tacit_program_share(const tacit_program_run_t *run, const double *mean,
                                                  tacit_evidence_t *evidence, tacit_error_t *err);
/* mode (d), cov (d, d) <- of the posterior, climbed to from run->theta. */
TACIT_MUST_USE tacit_status_t tacit_program_find_posterior(const tacit_program_run_t *run, double *mode,
                                                           double *cov, tacit_error_t *err);

/* ---- program_bands.c ---- */

/* run->bands, seen->score, score_sd <- lengths of scores, and scores in bands, at the last point but one;
 * then at the last the same of slopes as well. */
TACIT_MUST_USE tacit_status_t tacit_program_learn_plain(tacit_program_run_t *run, tacit_program_seen_t *seen,
                                                        tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_program_learn_last(tacit_program_run_t *run, tacit_program_seen_t *seen,
                                                       tacit_error_t *err);

/* ---- program_metric.c ---- */

/* seen->slope, doubt, steep <- by its released slope, svec, and what was known before; the metric moves on.
 * is_first: nothing was released before. */
void tacit_program_look(tacit_program_run_t *run, const double *released, bool is_first,
                        tacit_program_seen_t *seen);
/* seen->steep and the metric <- by seen->slope and doubt. */
void tacit_program_turn(tacit_program_run_t *run, tacit_program_seen_t *seen);
/* run->theta <- where the score leads, by the prior and the slope, at most 1.5 in any coordinate. */
void tacit_program_step(tacit_program_run_t *run, tacit_public_t *public, const tacit_program_seen_t *seen);

/* ---- program_likelihood.c ---- */

/* out (d, d) <- back' matrix back: of scores in coordinates, those in theta. */
void tacit_program_in_theta(const tacit_program_likelihood_t *of, const double *matrix, double *out);
/* sampling (d, d) <- the covariance of the sum of scores without noise, by their squares. */
bool tacit_program_find_sampling(const tacit_program_run_t *run, const tacit_program_seen_t *seen,
                                 double *sampling);
/* run->own and run->said <- by the last point. */
void tacit_program_conclude(tacit_program_run_t *run);
/* Up to a constant; grad (d), precision (d, d), Gauss and Newton's, or NULL. */
double tacit_program_log_likelihood(const tacit_program_likelihood_t *of, const double *theta, double *grad,
                                    double *precision);

/* ---- program_secant.c ---- */

/* A score that is neither clipped nor centred is there: seen->steep <- by what such scores changed by so far.
 */
void tacit_program_learn_secants(tacit_program_run_t *run, tacit_program_seen_t *seen);

/* ---- program_plan.c ---- */

size_t tacit_program_events(const tacit_noise_aware_settings_t *settings,
                            tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]);
double tacit_program_hidden(const tacit_noise_aware_settings_t *settings);
double tacit_program_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);
TACIT_MUST_USE tacit_status_t tacit_program_check_budget(const tacit_noise_aware_settings_t *settings,
                                                         tacit_error_t *err);
size_t tacit_program_most_parameters(const tacit_noise_aware_settings_t *settings);
TACIT_MUST_USE tacit_status_t tacit_program_check(const tacit_noise_aware_settings_t *settings,
                                                  const tacit_parameters_t *parameters, tacit_error_t *err);
double tacit_program_multiplier(const tacit_noise_aware_settings_t *settings, tacit_aware_centred_kind_t kind,
                                size_t round); /* slopes: looks first */
double tacit_program_clip(const tacit_noise_aware_settings_t *settings, double n, size_t point);
double tacit_program_open_clip(const tacit_noise_aware_settings_t *settings);
double tacit_program_most(const tacit_noise_aware_settings_t *settings, double n, size_t round);
double tacit_program_banded_multiplier(const tacit_noise_aware_settings_t *settings,
                                       tacit_program_banded_kind_t kind);
size_t tacit_program_n_points(const tacit_noise_aware_settings_t *settings);
/* Noise of the last scores, with what is usually not known beyond the core. */
double tacit_program_usual_noise(const tacit_noise_aware_settings_t *settings, double n_units);
double tacit_program_of_squares(const tacit_noise_aware_settings_t *settings);

/* ---- program_matrix.c ---- */

/* matrix (d, d) <- its inverse, of a symmetric positive one; false: it is not. */
TACIT_MUST_USE bool tacit_program_invert_positive(size_t d, double *matrix);
/* inverse <- a^-1; false: singular. a is destroyed. */
TACIT_MUST_USE bool tacit_program_invert(size_t d, double *a, double *inverse);
void tacit_program_apply(size_t d, const double *matrix, const double *v,
                         double *out); /* out (d) <- matrix v */
void tacit_program_apply_back(size_t d, const double *matrix, const double *v,
                              double *out); /* out (d) <- matrix' v */
double tacit_program_trace(size_t d, const double *matrix);
void tacit_program_sandwich(size_t d, const double *a, const double *b, double *out); /* out <- a b a' */
/* Is a matrix, in every direction, more than low and less than high times another, of whose lower factor this
 * is the inverse? */
bool tacit_program_ratios_between(size_t d, const double *inverse, const double *matrix, double low,
                                  double high);

/* program_mode.c: minus the second derivative of the log prior, its eigenvalues not below 0. */
void tacit_program_prior_precision(const tacit_parameters_t *of, const double *theta, double *precision);
/* The log prior of tacit_parameters_t; grad, precision: (d), (d, d), or NULL. */
double tacit_program_prior_density(const void *of, const double *theta, double *grad, double *precision);
/* theta <- where the density is highest, from where it is. */
void tacit_program_climb(size_t d,
                         double (*density)(const void *of, const double *theta, double *grad,
                                           double *precision),
                         const void *of, double *theta);

/* ---- program_public.c ---- */

TACIT_MUST_USE tacit_status_t tacit_public_open(tacit_public_t *p, const tacit_record_model_t *model,
                                                tacit_error_t *err);
void tacit_public_close(tacit_public_t *p);
/* slope (d, d) <- the weighted mean of w J; mean (d) <- that of E v, responses by the model at
 * `distribution`. */
void tacit_public_slope(tacit_public_t *p, const tacit_centred_point_t *point, double *slope);
void tacit_public_expect(tacit_public_t *p, const tacit_centred_point_t *point, const double *distribution,
                         double *mean);
/* shares (n_edges + 1) <- how likely scores are to have lengths between these edges, responses by the model
 * at the point; false: it cannot be told. */
bool tacit_public_lengths(tacit_public_t *p, const tacit_centred_point_t *point, size_t n_edges,
                          const double *edges, double *shares);
/* reach <- a length that this share of weighted records' own scores have at most, their responses being at a
 * bound, the lower one or the upper; false: no memory. */
TACIT_MUST_USE bool tacit_public_reach(tacit_public_t *p, const tacit_centred_point_t *point, double share,
                                       double *reach);
/* whiten (d, d) <- L^-1, L L' the information of a record at theta; false, and nothing is changed, where it
 * has none. */
bool tacit_public_metric(tacit_public_t *p, const double *theta, double *whiten);
/* program_weights.c: weights such that records' slopes at the last point have the mean that was released. */
TACIT_MUST_USE tacit_status_t tacit_public_learn(tacit_public_t *p, const tacit_program_run_t *run,
                                                 tacit_error_t *err);

/* program_likelihood.c: how far squares of scores are from the slope at most, which they are if the program
 * describes the records, in units of it. */
double tacit_program_misfit(const tacit_program_run_t *run);
/* program_bend.c: what slopes change by from the last point to theta, half of which the score is off by
 * there, in sds of the score, of covariance cov (d, d); more where the way is long and the program misfits,
 * so that what it expects of slopes is not what they are. */
double tacit_program_last_step(tacit_program_run_t *run, const double *theta, const double *cov);
/* How far the expected score at a point is from a line within the posterior of this mode and
 * cov, in sds of the score. */
double tacit_program_bend(tacit_public_t *p, const tacit_centred_point_t *point, double n, double noise_sd,
                          const double *mode, const double *cov);

#endif
