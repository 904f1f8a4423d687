/*
 * What releases by bands tell (docs/theory.md, 18.20): counts of units by the length of their whitened score,
 * and, band by band, count, sum and squares. Pure functions of released numbers and public facts, of scores
 * of any model. Lengths are in units of sqrt(d), in which a score's expected square is 1.
 */
#ifndef TACIT_NOISE_AWARE_BANDS_H
#define TACIT_NOISE_AWARE_BANDS_H

#include "noise_aware/noise_aware_internal.h"

enum {
  BAND_CELLS = 64, /* of lengths, at most */
  BAND_DIM = TACIT_NOISE_AWARE_MAX_NARROW + 1,
  BAND_PACKED = (BAND_DIM + 1) * (BAND_DIM + 2) / 2
};

/* Lengths in cells, from the shortest, and what counts of them tell. */
typedef struct tacit_band_lengths {
  size_t n;                            /* cells; cell k is from edges[k] to edges[k + 1] */
  size_t n_near;                       /* the others are far: nobody is there unless it is seen */
  double unit;                         /* sqrt(d) */
  double edges[BAND_CELLS + 1];        /* in units; edges[0] = 0 */
  bool are_far_rare;                   /* for ->mean: units far out are, as rows are and scores need not be */
  double counts[BAND_CELLS], noise_sd; /* as released */
  double mean[BAND_CELLS], square[BAND_CELLS]; /* posterior mean and mean square of each count */
} tacit_band_lengths_t;

/* Cells that end at 1/4, 1/2, 3/4, 1 and from there by factors of sqrt 2, until one reaches `top`, in units:
 * no length is beyond it. */
void tacit_band_cells(tacit_band_lengths_t *lengths, double unit, double top);
/* Cells that are far, after those that are there: each ends at `factor` times where it begins, the last one
 * at `top`, in units. */
void tacit_band_add_far(tacit_band_lengths_t *lengths, double factor, double top);
/* inner (n - 1) <- the edges between cells, as a release wants them. */
void tacit_band_inner_edges(const tacit_band_lengths_t *lengths, double *inner);
/*
 * ->mean, ->square from ->counts and ->noise_sd, of n units. Log counts fall from cell to cell by steps that
 * mostly stay as they are or get steeper; beyond an empty cell there is nothing, as a rule (a hidden Markov
 * chain, forwards and backwards). False: no memory.
 */
bool tacit_band_learn_counts(tacit_band_lengths_t *lengths, double n);

/* Cells put together: band l has cells first[l] to first[l + 1] - 1. Each far cell is a band, after the
 * n_near others. */
typedef struct tacit_band_split {
  size_t n, n_near, first[BAND_CELLS + 1];
  double radii[BAND_CELLS];
} tacit_band_split_t;

/*
 * Bands in which sums of scores are best released, of noise with sd `noise` times the radius in each of d
 * numbers, the first without shrinking, whose sampling has the variance `variance` in each, and
 * square_variance in the sum of squares in one direction. square_weight: what the latter counts beside a
 * number of the sum; 0: nothing. agreement: the share of the lengths of a band's scores that their sum comes
 * to, by what is expected.
 */
void tacit_band_split_scores(const tacit_band_lengths_t *lengths, size_t d, double noise, double variance,
                             double square_variance, double square_weight, double agreement,
                             tacit_band_split_t *split);
/* The same of squares of vectors, of noise `noise` times the square of the radius. */
void tacit_band_split_squares(const tacit_band_lengths_t *lengths, size_t d, double noise,
                              tacit_band_split_t *split);

/* How far squares of the first band may be from the identity, or those of all bands together from expected
 * mean squares: variances of entries, relative. */
typedef struct tacit_band_guess {
  double diagonal_var, off_var;
  const double *expected;     /* (d): of all; NULL: of the first band */
  const double *expected_var; /* (d): at least that of a mean square, where there are expected ones */
} tacit_band_guess_t;

/*
 * moments (d, d) <- mean over n units of the squares of their vectors from bands without counts, released as
 * svec, and variances (d, d) of its entries. Bands beyond the first are shrunk towards what their counts
 * imply, those that hold next to nobody to 0; and to the guess the first one, or the sum of all. noise_sd:
 * of each number.
 */
void tacit_band_squares(const tacit_band_lengths_t *lengths, const tacit_band_split_t *split, size_t d,
                        double n, const double *released, double noise_sd, const tacit_band_guess_t *guessed,
                        double *moments, double *variances);

/* Bands of scores with counts, as released. */
typedef struct tacit_band_scores {
  const tacit_band_lengths_t *lengths;
  const tacit_band_split_t *split;
  size_t d, m;            /* scores; numbers of a vector: d, or one more of which only squares are asked */
  double n;               /* units */
  const double *released; /* (split->n, (m + 1) (m + 2) / 2): svec of (1, v / radius) */
  double noise_sd;
  const double *said;  /* (split->n): units in each band as the model says, or NULL; one of the scenarios of
                          those beyond the core */
  const double *shape; /* (d, d): what squares of scores are taken to be in proportion to, as far as they are
                          not known */
  double beyond, beyond_sd; /* units beyond the first band by a release of their own, and its noise; 0: there
                               is none */
} tacit_band_scores_t;

/* What they tell, all per unit. */
typedef struct tacit_band_tails {
  double sum[BAND_DIM]; /* (d): mean score, of the core as released and of the other bands shrunk */
  double core_var;      /* of its noise, in each number of the core's */
  double tail_cov[BAND_DIM * BAND_DIM]; /* (d, d): uncertainty of what is beyond the core */
  double squares[BAND_DIM * BAND_DIM];  /* (d, d): mean of v v' of scores */
  double records[BAND_CELLS];           /* units in each band, */
  double records_var[BAND_CELLS];
  double counted[BAND_CELLS];  /* the same by what was released of how many there are, and */
  double count_sd[BAND_CELLS]; /* noise of that; 0 in the core */
  double expected[BAND_CELLS]; /* squares by band, sum of d numbers, as counts alone say they are */
  double last[BAND_CELLS],
      last_var[BAND_CELLS]; /* squares by band of the first number, or where m > d of the last */
} tacit_band_tails_t;

/* Sum over band b of the squares of the first n numbers, in squares of its radius, as released. */
double tacit_band_trace(const tacit_band_scores_t *scores, size_t b, size_t n);
/* False: no memory. */
bool tacit_band_learn_scores(const tacit_band_scores_t *scores, tacit_band_tails_t *tails);
/* By how many sds of the mean score, of covariance cov (d, d), it would move in some direction, if the noise
 * of a count hid one sd of units with scores as long as reach; n: units; others: precision of other counts of
 * such units. 0 where the core has them. */
double tacit_band_unseen_shift(const tacit_band_split_t *split, const tacit_band_tails_t *tails,
                               double others, size_t d, double n, double reach, const double *cov);

#endif
