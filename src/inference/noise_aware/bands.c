/* Counts of lengths, and which bands to release by them. */
#include "base/memory.h"
#include "noise_aware/bands.h"

#include <math.h>
#include <string.h>

/* ---- cells ---- */

void tacit_band_cells(tacit_band_lengths_t *lengths, double unit, double top) {
  static const double first[] = {0, 0.25, 0.5, 0.75, 1, 1.4142135623730951};
  memset(lengths, 0, sizeof *lengths);
  memcpy(lengths->edges, first, sizeof first);
  lengths->n = sizeof first / sizeof first[0] - 1;
  lengths->unit = unit;
  while (lengths->edges[lengths->n] < top && lengths->n < BAND_CELLS) {
    lengths->edges[lengths->n + 1] = lengths->edges[lengths->n] * sqrt(2);
    lengths->n++;
  }
  lengths->edges[lengths->n] = fmax(lengths->edges[lengths->n], top);
  lengths->n_near = lengths->n;
}

void tacit_band_add_far(tacit_band_lengths_t *lengths, double factor, double top) {
  while (lengths->edges[lengths->n] < top && lengths->n < BAND_CELLS) {
    lengths->edges[lengths->n + 1] = fmin(factor * lengths->edges[lengths->n], top);
    lengths->n++;
  }
}

void tacit_band_inner_edges(const tacit_band_lengths_t *lengths, double *inner) {
  for (size_t k = 1; k < lengths->n; k++) {
    inner[k - 1] = lengths->edges[k] * lengths->unit;
  }
}

/* A typical length in a cell, and how far it may be from it. */
static double length_at(const tacit_band_lengths_t *l, size_t k) {
  return l->unit * sqrt(fmax(l->edges[k], 0.3 * l->edges[k + 1]) * l->edges[k + 1]);
}

static double width_at(const tacit_band_lengths_t *l, size_t k) {
  return l->unit * (l->edges[k + 1] - l->edges[k]) / sqrt(12);
}

static double count_var(const tacit_band_lengths_t *l, size_t k) {
  return fmax(l->square[k] - l->mean[k] * l->mean[k], 0);
}

/* ---- the chain of counts ---- */

enum { N_FALLS = 7, N_LEVELS = 60, N_STATES = 1 + N_LEVELS };

/* By how much log counts fall from cell to cell; odds that this gets steeper, or flatter; that a count jumps,
 * or that there is one beyond an empty cell. */
static const double falls[N_FALLS] = {-1, 0, 0.5, 1, 2, 3.5, 6}, steeper = 0.1, flatter = 0.05, jumps = 0.03,
                    appears = 0.005, any_fall = 0.02;
/* From where on lengths are rare, in units, where they are said to be. */
static const double rare_from = 4;
/* Probability at which a cell is taken to be empty. */
static const double surely = 0.99;

typedef struct chain {
  double count[N_STATES];                       /* 0, and on a grid of logs 1 to n */
  double of_fall[N_FALLS][N_FALLS];             /* from, to */
  double of_count[N_FALLS][N_STATES][N_STATES]; /* by the fall, from, to */
} chain_t;

typedef double state_t[N_FALLS][N_STATES];

static double below(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

static void normalise(size_t n, double *p) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += p[i];
  }
  for (size_t i = 0; i < n; i++) {
    p[i] /= sum;
  }
}

static double normal(double x, double sd) { return exp(-0.5 * x * x / (sd * sd)) / sd * 0.3989422804014327; }

static void fill_counts(chain_t *c, size_t a, double n) {
  const double jump_sd = 2.5, below_one = -0.35; /* log counts less than that are 0 */
  double step = log(n) / (N_LEVELS - 1), fall = falls[a], sd = 0.35 + 0.25 * fabs(fall);
  for (size_t i = 0; i < N_STATES; i++) {
    double *to = c->of_count[a][i], g = ((double)i - 1) * step;
    to[0] = i == 0 ? 1 - appears
                   : (1 - jumps) * below((below_one - g + fall) / sd) +
                         jumps * below((below_one - g + fall) / jump_sd);
    for (size_t j = 1; j < N_STATES; j++) {
      double moved = ((double)j - (double)i) * step + fall;
      to[j] = i == 0 ? exp(-((double)j - 1) * step)
                     : step * ((1 - jumps) * normal(moved, sd) + jumps * normal(moved, jump_sd));
    }
    if (i == 0) {
      normalise(N_LEVELS, to + 1);
      for (size_t j = 1; j < N_STATES; j++) {
        to[j] *= appears;
      }
    }
    normalise(N_STATES, to);
  }
}

static void fill_chain(chain_t *c, double n) {
  for (size_t i = 0; i < N_STATES; i++) {
    c->count[i] = i == 0 ? 0 : exp(log(n) * ((double)i - 1) / (N_LEVELS - 1));
  }
  for (size_t a = 0; a < N_FALLS; a++) {
    for (size_t b = 0; b < N_FALLS; b++) {
      c->of_fall[a][b] = any_fall / N_FALLS + (b == a       ? 1 - any_fall - steeper - flatter
                                               : b == a + 1 ? steeper
                                               : b + 1 == a ? flatter
                                                            : 0);
    }
    normalise(N_FALLS, c->of_fall[a]);
    fill_counts(c, a, n);
  }
}

/* By how much somebody in a cell is less likely than near the core, after an empty cell and after another. */
typedef struct shares {
  double after_none, after_some;
} shares_t;

/* Probability of a count after another. */
static double after(const chain_t *c, size_t a, size_t i, size_t j, const shares_t *shares) {
  double p = c->of_count[a][i][j], share = i > 0 ? shares->after_some : shares->after_none;
  return j > 0 ? share * p : 1 - share * (1 - p);
}

/* to <- the state before the next cell's count is seen; is_back: the same of what follows. */
static void move(const chain_t *c, state_t from, shares_t shares, bool is_back, state_t to) {
  state_t between;
  memset(between, 0, sizeof between);
  memset(to, 0, sizeof(state_t));
  for (size_t a = 0; a < N_FALLS;
       a++) { /* forwards: the fall, and by it the count; backwards the other way */
    for (size_t i = 0; i < N_STATES; i++) {
      for (size_t b = 0; !is_back && b < N_FALLS; b++) {
        between[a][i] += c->of_fall[b][a] * from[b][i];
      }
      for (size_t j = 0; is_back && j < N_STATES; j++) {
        between[a][i] += after(c, a, i, j, &shares) * from[a][j];
      }
    }
  }
  for (size_t a = 0; a < N_FALLS; a++) {
    for (size_t i = 0; i < N_STATES; i++) {
      for (size_t b = 0; is_back && b < N_FALLS; b++) {
        to[a][i] += c->of_fall[a][b] * between[b][i];
      }
      for (size_t j = 0; !is_back && j < N_STATES; j++) {
        to[a][j] += between[a][i] * after(c, a, i, j, &shares);
      }
    }
  }
}

/* state times the likelihood of a released count, normalised. */
static void see(const chain_t *c, double released, double noise_sd, state_t state) {
  double logs[N_STATES], highest = -INFINITY;
  for (size_t i = 0; i < N_STATES; i++) {
    logs[i] = -0.5 * pow((released - c->count[i]) / noise_sd, 2);
    highest = fmax(highest, logs[i]);
  }
  for (size_t a = 0; a < N_FALLS; a++) {
    for (size_t i = 0; i < N_STATES; i++) {
      state[a][i] *= exp(fmax(logs[i] - highest, -600)) + 1e-250;
    }
  }
  normalise(N_FALLS * N_STATES, state[0]);
}

/*
 * Where there is nobody nearer, somebody is the less likely the further out. Where units far out are rare,
 * the square of whose squares would decide else, it is by as much less likely that there is anybody at all.
 */
static shares_t shares_at(const tacit_band_lengths_t *l, size_t k) {
  double edge = fmax(l->edges[k], 1), far = l->are_far_rare ? fmin(1, pow(rare_from / edge, 4)) : 1;
  return (shares_t){far / edge, far < 1 ? 0.25 : 1};
}

bool tacit_band_learn_counts(tacit_band_lengths_t *l, double n) {
  chain_t *c = tacit_alloc(1, sizeof *c);
  state_t *forward = tacit_alloc(l->n, sizeof *forward), back, seen;
  if (c == NULL || forward == NULL) {
    tacit_free(c);
    tacit_free(forward);
    return false;
  }
  double noise_sd = fmax(l->noise_sd, 0.1); /* what is exact lies between levels */
  fill_chain(c, fmax(n, 2));
  for (size_t k = 0; k < l->n; k++) {
    if (k == 0) {
      for (size_t i = 0; i < N_FALLS * N_STATES; i++) {
        forward[0][i / N_STATES][i % N_STATES] = 1;
      }
    } else {
      move(c, forward[k - 1], shares_at(l, k), false, forward[k]);
    }
    see(c, l->counts[k], fmax(noise_sd, 0.03 * fabs(l->counts[k])), forward[k]);
  }
  for (size_t i = 0; i < N_FALLS * N_STATES; i++) {
    back[i / N_STATES][i % N_STATES] = 1;
  }
  for (size_t k = l->n; k-- > 0;) {
    double total = 0, sum = 0, square = 0, none = 0;
    for (size_t i = 0; i < N_FALLS * N_STATES; i++) {
      double p = forward[k][i / N_STATES][i % N_STATES] * back[i / N_STATES][i % N_STATES],
             m = c->count[i % N_STATES];
      total += p;
      none += i % N_STATES == 0 ? p : 0;
      sum += p * m;
      square += p * m * m;
    }
    bool is_empty = none > surely * total; /* what one far out would do, next to never, would else decide */
    l->mean[k] = is_empty ? 0 : sum / total;
    l->square[k] = is_empty ? 0 : square / total;
    memcpy(seen, back, sizeof seen);
    see(c, l->counts[k], fmax(noise_sd, 0.03 * fabs(l->counts[k])), seen);
    move(c, seen, shares_at(l, k), true, back);
    normalise(N_FALLS * N_STATES, back[0]);
  }
  tacit_free(c);
  tacit_free(forward);
  return true;
}

/* ---- bands ---- */

/* A first band of `core` cells, then bands by a factor, and what is far cell by cell. */
static void split_by(const tacit_band_lengths_t *l, size_t core, double factor, tacit_band_split_t *split) {
  split->n = split->n_near = 0;
  for (size_t from = 0, to = core; from < l->n; from = to, to = from) {
    while (split->n > 0 && to < l->n_near && (to == from || l->edges[to] < 0.999 * factor * l->edges[from])) {
      to++;
    }
    to += from >= l->n_near;
    split->n_near += from < l->n_near;
    split->first[split->n] = from;
    split->radii[split->n++] = l->edges[to] * l->unit;
    split->first[split->n] = to;
  }
}

/* What bands are wanted for; agreement: of the directions of scores. */
typedef struct wanted {
  const tacit_band_lengths_t *lengths;
  size_t d;
  double noise, variance, square_variance, square_weight, agreement;
} wanted_t;

/* Expected square of a sum over a band's units of vectors with lengths that counts tell, in each of d
 * numbers. */
typedef double (*band_prior)(const wanted_t *w, size_t first, size_t last);

/* Of sums: lengths by their directions, which agree by a share, and as many independent ones. */
static double prior_of_scores(const wanted_t *w, size_t first, size_t last) {
  const tacit_band_lengths_t *l = w->lengths;
  double sum = 0, variance = 0, squares = 0;
  for (size_t k = first; k < last; k++) {
    double length = 0.98 * length_at(l, k);
    sum += l->mean[k] * length;
    variance += length * length * count_var(l, k) + l->square[k] * pow(0.35 * width_at(l, k), 2);
    squares += l->mean[k] * length * length;
  }
  return (w->agreement * w->agreement * (sum * sum + variance) + squares) / (double)w->d;
}

static double prior_of_squares(const wanted_t *w, size_t first, size_t last) {
  const tacit_band_lengths_t *l = w->lengths;
  double sum = 0, variance = 0;
  for (size_t k = first; k < last; k++) {
    double square = pow(length_at(l, k), 2);
    sum += l->mean[k] * square;
    variance += square * square * count_var(l, k);
  }
  return (0.3 * sum * sum + variance) / (double)(w->d * w->d);
}

/* What noise leaves unknown of a sum over all bands: of the first all, of the others as far as it is not
 * known before. */
static double unknown(const wanted_t *w, double noise, double power, band_prior prior,
                      const tacit_band_split_t *split) {
  double sum = 0;
  for (size_t b = 0; b < split->n; b++) {
    double variance = pow(noise * pow(split->radii[b], power), 2);
    sum += b == 0 ? variance
                  : 1 / (1 / variance + 1 / fmax(prior(w, split->first[b], split->first[b + 1]), 1e-9));
  }
  return sum;
}

/* A loss of bands, of context. */
typedef double (*band_loss)(const wanted_t *wanted, const tacit_band_split_t *split);

/* Wide bands first, whose counts show a few units far out best: narrower ones have to gain something. */
static void split_best(const wanted_t *wanted, band_loss loss, double gain, tacit_band_split_t *split) {
  static const double factors[] = {4, 2.8284271247461903, 2};
  double best = INFINITY;
  split->n = 0;
  for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++, best -= gain) {
    for (size_t core = 4; core <= wanted->lengths->n_near; core++) {
      tacit_band_split_t at;
      split_by(wanted->lengths, core, factors[f], &at);
      double lost = loss(wanted, &at);
      if (lost < best || split->n == 0) {
        best = lost;
        *split = at;
      }
    }
  }
}

/* Logs of variances, that of sampling included: of d sums, and with a weight of the mean square of residuals,
 * a score's length over that of its row. */
static double loss_of_scores(const wanted_t *w, const tacit_band_split_t *split) {
  double sums = (double)w->d * log(w->variance + unknown(w, w->noise, 1, prior_of_scores, split));
  return w->square_weight > 0
             ? sums + w->square_weight *
                          log(w->square_variance + unknown(w, sqrt(2) * w->noise, 2, prior_of_squares, split))
             : sums;
}

static double loss_of_squares(const wanted_t *w, const tacit_band_split_t *split) {
  return unknown(w, w->noise, 2, prior_of_squares, split);
}

void tacit_band_split_scores(const tacit_band_lengths_t *lengths, size_t d, double noise, double variance,
                             double square_variance, double square_weight, double agreement,
                             tacit_band_split_t *split) {
  split_best(&(wanted_t){lengths, d, noise, variance, square_variance, square_weight, agreement},
             loss_of_scores, 0.03 * (double)d, split);
}

void tacit_band_split_squares(const tacit_band_lengths_t *lengths, size_t d, double noise,
                              tacit_band_split_t *split) {
  split_best(&(wanted_t){.lengths = lengths, .d = d, .noise = noise}, loss_of_squares, 0, split);
}

/* ---- squares of vectors ---- */

/* The share of a released number that is kept, beside a guess with this variance. */
static double kept_of(double prior, double noise) { return noise > 0 ? prior / (prior + noise) : 1; }

/* Entry (i, j) of band b: where the guess is, and its variance; count: of a mean square, by counts. */
static double guess_entry(const tacit_band_guess_t *guessed, size_t b, bool is_diagonal, double count,
                          double count_var, double *prior) {
  *prior = b > 0 ? 0.36 * count * count + count_var : is_diagonal ? guessed->diagonal_var : guessed->off_var;
  return !is_diagonal ? 0 : b == 0 ? fmin(count, 1) : count;
}

/* The sum of all bands beside what is expected. */
static void shrink_sum(size_t d, const tacit_band_guess_t *guessed, double *moments, double *variances) {
  for (size_t a = 0; a < d * d; a++) {
    size_t i = a / d, j = a % d;
    double both = guessed->expected[i] * guessed->expected[j],
           kept = kept_of(
               both * (i == j ? fmax(guessed->diagonal_var, guessed->expected_var[i]) : guessed->off_var),
               variances[a]),
           guess = i == j ? guessed->expected[i] : 0;
    moments[a] = guess + kept * (moments[a] - guess);
    variances[a] *= kept;
  }
}

void tacit_band_squares(const tacit_band_lengths_t *l, const tacit_band_split_t *split, size_t d, double n,
                        const double *released, double noise_sd, const tacit_band_guess_t *guessed,
                        double *moments, double *variances) {
  memset(moments, 0, d * d * sizeof *moments);
  memset(variances, 0, d * d * sizeof *variances);
  for (size_t b = 0; b < split->n; b++) {
    double scale = split->radii[b] * split->radii[b] / n, trace = 0, trace_var = 0;
    for (size_t k = split->first[b]; k < split->first[b + 1]; k++) {
      double square = pow(length_at(l, k), 2) / (double)d / n;
      trace += square * l->mean[k];
      trace_var += square * square * count_var(l, k);
    }
    for (size_t i = 0; i < d; i++) {
      for (size_t j = i; j < d; j++, released++) {
        bool is_diagonal = i == j;
        double unit = is_diagonal ? 1 : sqrt(2), value = *released / unit * scale,
               noise = pow(noise_sd * scale / unit, 2);
        double prior, guess = guess_entry(guessed, b, is_diagonal, trace, trace_var, &prior),
                      kept = b == 0 && guessed->expected != NULL ? 1 : kept_of(prior, noise);
        moments[i * d + j] += guess + kept * (value - guess);
        variances[i * d + j] += kept * noise;
        moments[j * d + i] = moments[i * d + j];
        variances[j * d + i] = variances[i * d + j];
      }
    }
  }
  if (guessed->expected != NULL) {
    shrink_sum(d, guessed, moments, variances);
  }
}
