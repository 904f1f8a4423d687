/*
 * Moves of few evaluations. A multivariate t around the mode, and from
 * warm-up on around the states seen, carries the moves. Given its scale, which is drawn first, it is a normal
 * distribution, and a state and an independent draw of that distribution span an ellipse that the
 * distribution turns on; a move along it is judged by the posterior over the t [Nishihara2014], without a
 * gradient. Two kinds of moves at random: a turn by a fixed angle, which is accepted or not, for where the t
 * is near the posterior, and the elliptical slice [Murray2010], which always moves, for where it is not.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/walk.h"

enum { MAX_LOOKS = 100, MOST_MOVES = 6 };

/* Angle of a turn: past a right one, so that the part of a state in the next one, its cosine, is negative. */
static const double turn = 2;

/* Share of slices among the moves: at first, and at least. */
static const double first_slices = 0.5, least_slices = 0.2;

/* Degrees of freedom that the t may have, and the one that it starts with. */
static const double all_tails[] = {3, 4, 5, 6, 8, 11, 16, 25, 60}, first_tails = 6;

/*
 * What few states cannot tell is taken to be wide, so that no chain stays where the t is far below the
 * posterior: at least so many states for a degree of freedom, and the variance raised by so much for a
 * coordinate in a state. Without, .05 of short chains (130 states) on easy data had an R-hat above 1.05.
 */
static const double states_per_tail = 16, wider = 10;

static const double two_pi = 6.283185307179586;

/* norms <- squared norms of n states; tails <- the most likely ones. */
static void fit_tails(walk_t *w, size_t n, const double *states) {
  double d = (double)w->d, best = -INFINITY;
  for (size_t k = 0; k < n; k++) {
    double at[TACIT_NOISE_AWARE_MAX_FEATURES];
    for (size_t j = 0; j < w->d; j++) {
      at[j] = states[k * w->d + j] - w->centre[j];
    }
    tacit_solve_lower(w->d, w->factor, at);
    w->norms[k] = tacit_dot(w->d, at, at);
  }
  for (size_t i = 0;
       i < sizeof all_tails / sizeof all_tails[0] && (i == 0 || all_tails[i] * states_per_tail <= (double)n);
       i++) {
    double tails = all_tails[i];
    double value = (double)n * (lgamma(0.5 * (tails + d)) - lgamma(0.5 * tails) - 0.5 * d * log(tails));
    for (size_t k = 0; k < n; k++) {
      value -= 0.5 * (tails + d) * log1p(w->norms[k] / tails);
    }
    if (value > best) {
      best = value;
      w->tails = tails;
    }
  }
}

/*
 * The t <- the most likely one for n states [Liu1995], its scale matrix shrunk towards that in use as if that
 * were 2 (d + 10) of them, and made wider.
 */
static void fit_t(walk_t *w, size_t n, const double *states) {
  enum { N_ROUNDS = 10 };
  size_t d = w->d;
  double old[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES], *cov = w->square,
                                                                               n_old = 2 * ((double)d + 10);
  for (size_t i = 0; i < d * d; i++) {
    size_t most = i / d < i % d ? i / d : i % d;
    old[i] = n_old * tacit_dot(most + 1, w->factor + i / d * d, w->factor + i % d * d);
  }
  for (size_t round = 0; round < N_ROUNDS; round++) {
    double mean[TACIT_NOISE_AWARE_MAX_FEATURES] = {0}, total = 0;
    fit_tails(w, n, states);
    for (size_t k = 0; k < n; k++) {
      double weight = w->norms[k] = (w->tails + (double)d) / (w->tails + w->norms[k]);
      total += weight;
      for (size_t j = 0; j < d; j++) {
        mean[j] += weight * states[k * d + j];
      }
    }
    for (size_t j = 0; j < d; j++) {
      w->centre[j] = mean[j] / total;
    }
    memcpy(cov, old, d * d * sizeof *cov);
    for (size_t k = 0; k < n; k++) {
      for (size_t i = 0; i < d; i++) {
        double from = w->norms[k] * (states[k * d + i] - w->centre[i]);
        for (size_t j = 0; j <= i; j++) {
          cov[i * d + j] += from * (states[k * d + j] - w->centre[j]);
        }
      }
    }
    for (size_t i = 0; i < d * d; i++) {
      cov[i] /= (double)n + n_old;
    }
    if (!tacit_cholesky(d, cov)) {
      break;
    }
    memcpy(w->factor, cov, d * d * sizeof *cov);
  }
  for (size_t i = 0; i < d * d; i++) {
    w->factor[i] *= sqrt(1 + wider * (double)d / (double)n);
  }
}

/* A point in the coordinates in which the t is round, and the posterior over the t there. */
typedef struct place {
  double at[TACIT_NOISE_AWARE_MAX_FEATURES], theta[TACIT_NOISE_AWARE_MAX_FEATURES], value, excess;
} place_t;

static double log_t(const walk_t *w, const double *at) {
  return -0.5 * (w->tails + (double)w->d) * log1p(tacit_dot(w->d, at, at) / w->tails);
}

/* The point of the ellipse through a state and a draw that lies this angle from the state. */
static void look(const walk_t *w, size_t c, const double *state, const double *draw, double angle,
                 place_t *to) {
  double along = cos(angle), aside = sin(angle);
  for (size_t j = 0; j < w->d; j++) {
    to->at[j] = along * state[j] + aside * draw[j];
  }
  for (size_t i = 0; i < w->d; i++) {
    to->theta[i] = w->centre[i] + tacit_dot(i + 1, w->factor + i * w->d, to->at);
  }
  to->value = tacit_aware_posterior_log_density(w->own[c], to->theta, NULL);
  to->excess = to->value - log_t(w, to->at);
}

/* draw (d) <- a draw of the t given its scale, and that given the state. */
static void draw_beside(const walk_t *w, const double *state, tacit_rng_t *rng, double *draw) {
  double chi2 = 0, norm2 = tacit_dot(w->d, state, state);
  for (double k = 0; k < w->tails + (double)w->d; k++) {
    double z = tacit_rng_normal(rng);
    chi2 += z * z;
  }
  for (size_t j = 0; j < w->d; j++) {
    draw[j] = sqrt((w->tails + norm2) / chi2) * tacit_rng_normal(rng);
  }
}

/* One move of chain c; its part in the stats. */
static void move(walk_t *w, size_t c, tacit_draw_stats_t *stats) {
  tacit_rng_t *rng = w->rngs[c];
  double *theta = w->theta + c * w->d, state[TACIT_NOISE_AWARE_MAX_FEATURES],
         draw[TACIT_NOISE_AWARE_MAX_FEATURES];
  for (size_t j = 0; j < w->d; j++) {
    state[j] = theta[j] - w->centre[j];
  }
  tacit_solve_lower(w->d, w->factor, state);
  draw_beside(w, state, rng, draw);
  bool is_slice = tacit_rng_uniform(rng) < w->slices;
  double angle = is_slice ? two_pi * tacit_rng_uniform(rng) : turn, low = angle - two_pi, high = angle;
  double excess = w->value[c] - log_t(w, state), level = excess + log(tacit_rng_uniform(rng));
  size_t n_looks = 1;
  place_t place;
  look(w, c, state, draw, angle, &place);
  for (; is_slice && !(place.excess > level) && n_looks < MAX_LOOKS;
       n_looks++) { /* the bracket shrinks towards the state */
    *(angle < 0 ? &low : &high) = angle;
    angle = low + (high - low) * tacit_rng_uniform(rng);
    look(w, c, state, draw, angle, &place);
  }
  if (!is_slice) {
    w->n_turns[c]++;
    w->n_accepted[c] += fmin(exp(place.excess - excess), 1);
  }
  bool is_accepted = place.excess > level;
  if (is_accepted) {
    memcpy(theta, place.theta, w->d * sizeof *theta);
    w->value[c] = place.value;
  }
  stats->accept_stat += (double)is_accepted / (double)w->n_moves;
  stats->n_leapfrog += (double)n_looks;
}

static double iteration(walk_t *w, size_t c, tacit_draw_stats_t *stats) {
  *stats = (tacit_draw_stats_t){.step_size = turn};
  for (size_t m = 0; m < w->n_moves; m++) {
    move(w, c, stats);
  }
  return stats->accept_stat;
}

/* Fit the t to the later half of the states so far, four times; from then on few moves that are accepted are
 * made up for by their number. */
static void tune(walk_t *w, size_t iteration, double accept_rate) {
  (void)accept_rate;
  size_t n = w->n_warmup, done = iteration + 1;
  memcpy(w->warm + iteration * w->n_chains * w->d, w->theta, w->n_chains * w->d * sizeof *w->warm);
  if (done == n / 6 || done == n / 3 || done == n - n / 3 || done == n - n / 8) {
    double n_turns = 0, n_accepted = 0;
    for (size_t c = 0; c < w->n_chains; c++) {
      n_turns += w->n_turns[c];
      n_accepted += w->n_accepted[c];
      w->n_turns[c] = w->n_accepted[c] = 0;
    }
    double accept = n_accepted / fmax(n_turns, 1);
    fit_t(w, (done - done / 2) * w->n_chains, w->warm + done / 2 * w->n_chains * w->d);
    w->slices = fmax(1 - accept, least_slices);
    w->n_moves = done < n - n / 8                   ? 1
                 : accept * accept * MOST_MOVES > 1 ? (size_t)round(1 / (accept * accept))
                                                    : MOST_MOVES;
    tacit_walk_forget_states(w); /* fit_t() had their place */
  }
}

static void begin(walk_t *w) {
  w->tails = first_tails;
  w->slices = first_slices;
  w->n_moves = 1;
}

const walk_moves_t tacit_walk_turns = {false, begin, iteration, tune};
