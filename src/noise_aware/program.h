/* Inference from centred scores: program.c. */
#ifndef TACIT_NOISE_AWARE_PROGRAM_H
#define TACIT_NOISE_AWARE_PROGRAM_H

#include <stdio.h>

#include "noise_aware/noise_aware_internal.h"
#include "noise_aware/schedule.h"
#include "tacit/curator.h"

enum {
  TACIT_PROGRAM_ROUNDS = 5,
  TACIT_PROGRAM_SIMULATED = 32,
  TACIT_PROGRAM_MADE_UP = 1,
  MATRIX = TACIT_NOISE_AWARE_MAX_NARROW * TACIT_NOISE_AWARE_MAX_NARROW
};

/* Made-up records, their weights, and expectations at a point. */
typedef struct tacit_public {
  const tacit_record_model_t *model;
  size_t d, n;
  float *records;                             /* (n, n_columns) */
  double *weights;                            /* (n) */
  double *means;                              /* (n, d): tacit_centred_expect() */
  double *squares, *with_score, *information; /* (n, d, d): likewise */
  double *work;
  tacit_aware_columns_t columns; /* that no outcome enters */
  double *spread;                /* (2 n_sources + n_sources^2): how records were made up, as location, scale and factor; NULL: evenly */
  double unknown;                /* relative error of the variance of the column that is known worst */
} tacit_public_t;

/* What a round found: released at this point, a root theta, whose noise and sampling error have these covariances. */
typedef struct tacit_root {
  double at[TACIT_NOISE_AWARE_MAX_NARROW], theta[TACIT_NOISE_AWARE_MAX_NARROW];
  double noise[MATRIX], sampling[MATRIX];
} tacit_root_t;

/* theta has a normal law, by the likelihood of the releases. */
typedef struct tacit_program_normal {
  size_t d;
  double theta[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX], precision[MATRIX];
} tacit_program_normal_t;

typedef struct tacit_program_run {
  tacit_curator_t *curator;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  tacit_public_t public;
  double n, theta[TACIT_NOISE_AWARE_MAX_NARROW], whiten[MATRIX];
  double moved2; /* squared last step, in what it may be */
  double excess; /* of squared scores over what is expected of them, as a share, less three sds of their noise */
  double bend;   /* of the expected score one posterior sd away, in sds of the score */
  tacit_program_normal_t normal;
} tacit_program_run_t;

/* ---- program.c ---- */

/* All releases, and the normal law that they lead to; what is public of the run stays, to be closed. */
TACIT_MUST_USE tacit_status_t tacit_program_learn(tacit_program_run_t *run, tacit_error_t *err);
/* Draws from prior and normal law. */
TACIT_MUST_USE tacit_status_t tacit_program_draw(tacit_program_run_t *run, tacit_draws_t *draws, tacit_error_t *err);
/* settings->evidence <- its checks, and, where draws are from prior and normal law, what of the reported quantities is the prior's. */
TACIT_MUST_USE tacit_status_t tacit_program_end(const tacit_program_run_t *run, bool has_shares, tacit_error_t *err);
/* program_share.c: sds and shares of the prior. */
TACIT_MUST_USE tacit_status_t tacit_program_share(const tacit_program_run_t *run, tacit_evidence_t *evidence, tacit_error_t *err);

/* mode (d), cov (d, d) <- of the posterior by prior and normal law, climbed to from run->theta. */
TACIT_MUST_USE tacit_status_t tacit_program_find_posterior(const tacit_program_run_t *run, double *mode, double *cov, tacit_error_t *err);

/* program_plan.c */
bool tacit_program_has_squares(size_t round); /* the last two */
double tacit_program_columns_multiplier(const tacit_noise_aware_settings_t *settings, bool is_whitened);
double tacit_program_score_multiplier(const tacit_noise_aware_settings_t *settings, size_t round);
double tacit_program_square_multiplier(const tacit_noise_aware_settings_t *settings, size_t round);
/* Of all scores from this round on together: sd of an element of their sum. */
double tacit_program_noise(const tacit_noise_aware_settings_t *settings, size_t from);

/* program_matrix.c: matrix (d, d) <- its inverse, of a symmetric positive one; false: it is not. */
TACIT_MUST_USE bool tacit_program_invert_positive(size_t d, double *matrix);
/* inverse <- a^-1; false: singular. a is destroyed. */
TACIT_MUST_USE bool tacit_program_invert(size_t d, double *a, double *inverse);
void tacit_program_apply(size_t d, const double *matrix, const double *v, double *out);               /* out (d) <- matrix v */
void tacit_program_sandwich(size_t d, const double *a, const double *b, double *out);                   /* out <- a b a' */

/* program_mode.c: minus the second derivative of the log prior, its eigenvalues not below 0. */
void tacit_program_prior_precision(const tacit_parameters_t *of, const double *theta, double *precision);
/* The log prior of tacit_parameters_t; grad, precision: (d), (d, d), or NULL. */
double tacit_program_prior_density(const void *of, const double *theta, double *grad, double *precision);
/* theta <- where the density is highest, from where it is. */
void tacit_program_climb(size_t d, double (*density)(const void *of, const double *theta, double *grad, double *precision), const void *of,
                         double *theta);

/* program_public.c */
TACIT_MUST_USE tacit_status_t tacit_public_open(tacit_public_t *p, const tacit_record_model_t *model, tacit_error_t *err);
void tacit_public_close(tacit_public_t *p);
/* Expectations of every record of what is centred at the point, responses by the model at `law`. */
void tacit_public_expect(tacit_public_t *p, const tacit_centred_point_t *point, const double *law);
/* out (size) <- the weighted mean of one of them. */
void tacit_public_mean(const tacit_public_t *p, size_t size, const double *of, double *out);
/* Columns that no outcome enters, at most TACIT_AWARE_MAX_COLUMNS. */
size_t tacit_public_n_columns(const tacit_record_model_t *model);
/* program_spread.c: the whitening matrix of columns, by their mean squares svec(E z z'). */
TACIT_MUST_USE tacit_status_t tacit_public_scale(tacit_public_t *p, const double *moments, double noise_sd, tacit_error_t *err);
/* Records whose columns' whitened mean squares are these as far as their noise lets see. */
TACIT_MUST_USE tacit_status_t tacit_public_learn(tacit_public_t *p, const double *moments, double noise_sd, tacit_error_t *err);
/* whiten (d, d) <- L^-1, L L' the information of a record at theta; false, and nothing is changed, where it has none. */
bool tacit_public_metric(tacit_public_t *p, const double *theta, double *whiten);

/* What a round released, at theta, scores by this whitening matrix. */
typedef struct tacit_program_seen {
  tacit_centred_point_t point; /* of the two below */
  double theta[TACIT_NOISE_AWARE_MAX_NARROW], whiten[MATRIX], score[TACIT_NOISE_AWARE_MAX_NARROW], noise_sd;
  double squares[MATRIX], square_sd;        /* svec, of the last two rounds */
  double own[TACIT_NOISE_AWARE_MAX_NARROW]; /* what simulation has for a record's score at theta, which is 0 */
  bool are_of_rows;                         /* squares: of units' rows, not of the units */
} tacit_program_seen_t;

/* program_follow.c: slope (d, d) <- n E v s' = n E v u' L^-1', by what is expected now of scores by `whiten`. */
void tacit_program_slope(const tacit_program_run_t *run, const double *whiten, const double *of, double *slope);
/* weight (d, d) <- the inverse of the score's covariance by what is expected now; false: none. */
bool tacit_program_weigh(const tacit_program_run_t *run, const tacit_program_seen_t *seen, double *weight);
/* run->theta <- the point that a round's score leads to from there. */
void tacit_program_follow(tacit_program_run_t *run, const tacit_program_seen_t *seen);

/* program_settle.c: run->normal <- the law of theta by the last two rounds; run->theta <- the posterior's mode. */
TACIT_MUST_USE tacit_status_t tacit_program_settle(tacit_program_run_t *run, tacit_program_seen_t seen[2], tacit_error_t *err);
/*
 * secants (d, d) <- the slopes of a round's expected score between one posterior sd on either side of run->theta, along the axes of the posterior's
 * correlations. Returns how far from the line through these ends it is at run->theta, in sds of the score, at most.
 */
double tacit_program_line(tacit_program_run_t *run, const tacit_program_seen_t *seen, const double *cov, double *secants);

#endif
