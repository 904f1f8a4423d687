#ifndef TACIT_ACCOUNT_PAIR_H
#define TACIT_ACCOUNT_PAIR_H

#include "account/account_internal.h"

/*
 * The distribution of the privacy loss L = log P/Q at one threshold: the mass of {L > loss} and of {L <=
 * loss} under P and Q. At a loss within loss_error of the one asked for, the smaller of each two complements
 * is within a relative `error` of the truth.
 */
typedef struct tacit_tails {
  double p_above, q_above, p_below, q_below;
  double error, loss_error;
} tacit_tails_t;

/*
 * Which of the two neighbours comes first. Attained: where no data sets have the pair that dominates, the
 * worst that is known of two that are the same whatever is asked.
 */
typedef enum tacit_direction {
  TACIT_DIRECTION_REMOVE,
  TACIT_DIRECTION_ADD,
  TACIT_DIRECTION_REMOVE_ATTAINED,
  TACIT_DIRECTION_ADD_ATTAINED
} tacit_direction_t;

/* Discrete losses in increasing order, with sums from either end. */
typedef struct tacit_table {
  size_t n;
  double *loss, *p_above, *q_above, *p_below, *q_below; /* shape (n): above[i] = mass of losses > loss[i] */
  double error;                                         /* relative, of every mass */
} tacit_table_t;

void tacit_table_clear(tacit_table_t *table);
/*
 * From masses p and q at increasing losses, shape (n). Masses at infinite losses are left out by the caller,
 * so that the sums may fall short of one.
 */
TACIT_MUST_USE tacit_status_t tacit_table_init(tacit_table_t *table, size_t n, const double *loss,
                                               const double *p, const double *q, tacit_error_t *err);
void tacit_table_tails(const tacit_table_t *table, double loss, tacit_tails_t *tails);

enum { TACIT_MAX_MULTIPLICITY = 64 };

/* A dominating pair [Zhu2022, Definition 7]: of one event, in one direction. */
typedef struct tacit_pair {
  void (*tails)(const struct tacit_pair *pair, double loss, tacit_tails_t *tails);
  void (*base)(const struct tacit_pair *pair, double loss, tacit_tails_t *tails); /* before sampling */
  double m;                   /* Gaussian: sensitivity / noise sd */
  double scale;               /* Laplace: scale / sensitivity */
  double rate;                /* of sampling */
  double infinite;            /* bound of the mass that P has where L is infinite or not represented */
  double infinite_lower;      /* what of it is certain to be there */
  double min_loss, max_loss;  /* of the support; may be infinite */
  const tacit_table_t *table; /* borrowed, or own_table */
  tacit_table_t own_table;
  size_t n_weights; /* of a mixture of Gaussians */
  double weights[TACIT_MAX_MULTIPLICITY],
      shifts[TACIT_MAX_MULTIPLICITY]; /* shifts in noise sds, from 0; the first is the least */
  double weight_error;                /* relative, of the weights */
  double overflow,
      full_rate; /* probability that a sample would exceed its limit; of the record, where it is cut */
  bool is_add, is_opposed; /* what such a sample is otherwise */
  uint64_t count;
} tacit_pair_t;

/* Does the event have another pair in the other direction? */
bool tacit_event_is_directed(const tacit_event_t *event, tacit_relation_t relation);
/* Is the pair that dominates the event that of two data sets, whatever is asked? Else the attained directions
 * have other pairs. */
bool tacit_event_is_attained(const tacit_event_t *event, tacit_relation_t relation);
/* TACIT_ERR_ARGUMENT where no dominating pair is known for the event under the relation. */
TACIT_MUST_USE tacit_status_t tacit_pair_init(tacit_pair_t *pair, const tacit_event_t *event,
                                              tacit_relation_t relation, tacit_direction_t direction,
                                              tacit_error_t *err);
/* Complete a pair that was given nothing but its own_table, infinite and count. */
void tacit_pair_use_own_table(tacit_pair_t *pair);
void tacit_pair_init_gaussian(tacit_pair_t *pair, double rho);
void tacit_pair_clear(tacit_pair_t *pair);
/* Phi(-z) */
double tacit_normal_above(double z);
/* L ~ N(m^2 / 2, m^2) under P, N(-m^2 / 2, m^2) under Q. */
void tacit_gaussian_tails(double m, double loss, tacit_tails_t *tails);
/* The tails of (Q, P), whose loss is -L, from those of (P, Q) at -loss. */
void tacit_tails_mirror(const tacit_tails_t *remove, tacit_tails_t *tails);
TACIT_MUST_USE tacit_status_t tacit_pair_refuse(const tacit_event_t *event, tacit_relation_t relation,
                                                tacit_error_t *err);
/* Probability that a sampled release sees a record. */
double tacit_pair_seen(const tacit_event_t *event);
/* A mixture of Gaussians. */
void tacit_pair_mix(tacit_pair_t *pair, const tacit_curve_t *curve, tacit_relation_t relation,
                    tacit_direction_t direction);
/* log sum_k w_k exp(s_k x - s_k^2 / 2), the density of a mixture by that of N(0, 1), convex and not
 * decreasing, and its slope. */
double tacit_pair_log_mixture(const tacit_pair_t *pair, double x, double *slope);
/* Sample a pair that has its base. */
TACIT_MUST_USE tacit_status_t tacit_pair_sample(tacit_pair_t *pair, const tacit_event_t *event,
                                                tacit_relation_t relation, tacit_direction_t direction,
                                                tacit_error_t *err);

/* delta(epsilon) of one use of the pair, its mass at an infinite loss included, and a bound on its absolute
 * error. */
double tacit_pair_delta(const tacit_pair_t *pair, double epsilon, double *error);

struct tacit_curve {
  bool is_profile;
  tacit_table_t table;
  double infinite; /* a bound of P's mass at an infinite loss, and what of it is certain */
  double infinite_lower;
  size_t n_weights; /* of a mixture, by increasing shift */
  double weights[TACIT_MAX_MULTIPLICITY], shifts[TACIT_MAX_MULTIPLICITY];
};

#endif
