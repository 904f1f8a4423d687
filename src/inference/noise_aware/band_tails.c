/*
 * Sums and squares of scores by bands. The first band, the core, is taken as it was released. How many units
 * the others hold is one of some scenarios: counts that fall by a power of the length, a heap in one place
 * (values at a bound, or of another kind), or next to none; what is released of counts, squares and sums says
 * which, and by how much each sum is shrunk. In a scenario the sum of band l has, in each of d directions, sd
 * tau M_l, M_l what it were at most if all its scores pointed there, tau from .01 to 2.4 and common to bands:
 * what is beyond the core depends on features in directions of its own.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "noise_aware/bands.h"

enum { N_TAU = 8, N_PHI = 7, MAX_SCENARIOS = 1200 };

static const double taus[N_TAU] = {0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.6, 2.4}, tau_median = 0.5, tau_sd = 1.2;
/* By how much counts fall for a factor sqrt 2; the steepest twice, for its weight. */
static const double phis[N_PHI] = {0, 0.35, 0.7, 1.2, 2, 4, 4};
/* Prior probability of next to nobody, and of a heap, and how wide that is in factors sqrt 2; what next to
 * nobody is; by how much the counts of a scenario are off; share of a sum's variance that bands do not have
 * in common. */
static const double empty = 0.7, heap = 0.02, heap_width = 1.5, floor_count = 0.02, floor_fall = 0.5,
                    count_off = 0.8, own_part = 0.25;
/* Where the model says how many units bands hold: the probability of that, of what `empty` has without; by
 * how much those counts are off. */
static const double as_said = 0.75, said_off = 0.5;
/* Bounds may be many times as wide as records are: from so many radii of the core on, records are the less
 * likely, by the square. */
static const double far_from = 16;
/* A band that is empty with this probability is taken to be: what a record there would do, next to never,
 * would else widen every interval. */
static const double surely = 0.998;
/* A far band whose count is less than this, in sds of its noise, is taken to be empty. */
static const double seen_from = 3;

/* What is the same for all scenarios, of bands 1 .. n. */
typedef struct outer {
  size_t n, d;
  double units;
  double bar[BAND_CELLS];                          /* mean square of a score there */
  double count[BAND_CELLS], count_var[BAND_CELLS]; /* units, by all that was released of it */
  double steps[BAND_CELLS];                        /* log of the radius, in sqrt 2 */
  double reach[BAND_CELLS]; /* radius over that from which on bands are far from the core */
  double sum[BAND_CELLS][BAND_DIM], sum_var[BAND_CELLS];
  double log_tau[N_TAU];
  double beyond, beyond_var; /* units in all bands, and its noise; 0: not known */
  const double *said;        /* units, as the model says, or NULL */
  bool is_empty[BAND_CELLS];
} outer_t;

/* A scenario's answer. */
typedef struct scenario {
  double log_weight;
  double mean[BAND_DIM], var[BAND_DIM]; /* (d): of the sum over bands */
  double records[BAND_CELLS], records_var[BAND_CELLS],
      none[BAND_CELLS]; /* none: probability that there is nobody */
} scenario_t;

/* Q's lower factor, of the sums' prior variances, K, and their noise. */
static bool factor_of(const outer_t *o, const scenario_t *s, double tau, double *k, double *q) {
  size_t n = o->n;
  double most[BAND_CELLS];
  for (size_t b = 0; b < n; b++) {
    most[b] = sqrt((s->records[b] * s->records[b] + s->records_var[b]) * o->bar[b] / (double)o->d) / o->units;
  }
  for (size_t a = 0; a < n * n; a++) {
    size_t i = a / n, j = a % n;
    k[a] = tau * tau * most[i] * most[j] * (i == j ? 1 + own_part : 1);
    k[a] +=
        i == j ? s->records[i] * o->bar[i] / (double)o->d / (o->units * o->units) : 0; /* independent ones */
    q[a] = k[a] + (i == j ? o->sum_var[i] : 0);
  }
  return tacit_cholesky(n, q);
}

/* Mean and variance of the sum over bands in each direction given tau, and the log likelihood of what was
 * released there. */
typedef struct given_tau {
  double log_weight[N_TAU][BAND_DIM], mean[N_TAU][BAND_DIM], var[N_TAU];
} given_tau_t;

static void learn_at(const outer_t *o, const scenario_t *s, size_t t, given_tau_t *of) {
  size_t n = o->n;
  double k[BAND_CELLS * BAND_CELLS], q[BAND_CELLS * BAND_CELLS], total[BAND_CELLS], prior = 0, log_det = 0;
  bool ok = factor_of(o, s, taus[t], k, q);
  for (size_t b = 0; b < n; b++) { /* total <- Q^-1/2 of the covariance of bands with their sum */
    total[b] = 0;
    for (size_t a = 0; a < n; a++) {
      total[b] += k[b * n + a];
    }
    prior += total[b];
    log_det += ok ? 2 * log(q[b * n + b]) : 0;
  }
  if (ok) {
    tacit_solve_lower(n, q, total);
  }
  of->var[t] = prior - (ok ? tacit_dot(n, total, total) : 0);
  for (size_t j = 0; j < o->d; j++) {
    double at[BAND_CELLS];
    for (size_t b = 0; b < n; b++) {
      at[b] = o->sum[b][j];
    }
    if (ok) {
      tacit_solve_lower(n, q, at);
    }
    of->mean[t][j] = ok ? tacit_dot(n, total, at) : 0;
    of->log_weight[t][j] = ok ? o->log_tau[t] - 0.5 * (tacit_dot(n, at, at) + log_det) : -INFINITY;
  }
}

/* Log of a sum of exponentials, and what each is of it. */
static double weigh(size_t n, const double *logs, size_t stride, double *weights) {
  double highest = -INFINITY, total = 0;
  for (size_t i = 0; i < n; i++) {
    highest = fmax(highest, logs[i * stride]);
  }
  for (size_t i = 0; i < n; i++) {
    total += weights[i] = exp(logs[i * stride] - highest);
  }
  for (size_t i = 0; i < n; i++) {
    weights[i] /= total;
  }
  return highest + log(total);
}

/*
 * A count that a scenario expects to be m, off by off_by of it: negative binomial, where it is small enough
 * to be told apart from its neighbours, else normal. Mean, variance and probability of 0 given a normal
 * measurement, and its log likelihood.
 */
static double learn_count(double m, double off_by, double measured, double variance, double *mean,
                          double *mean_var, double *none) {
  const double shape = 1 / (off_by * off_by), sd = sqrt(variance);
  double prior = pow(off_by * m, 2) + m, all = prior + variance, kept = prior / all, off = measured - m;
  *mean = fmax(m + kept * off, 0.1 * m);
  *mean_var = kept * variance;
  *none = 0;
  if (fmax(measured, 0) + 6 * sd > 150 || !(m > 0)) {
    return -0.5 * (off * off / all + log(all));
  }
  double log_p = shape * log(shape / (shape + m)), ratio = m / (shape + m), total = 0, sum = 0, square = 0,
         highest = -INFINITY, logs[152];
  size_t n = 2 + (size_t)(fmax(measured, 0) + 6 * sd);
  n = n < 152 ? n : 152;
  for (size_t k = 0; k < n; k++) {
    double at = (measured - (double)k) / sd;
    logs[k] = log_p - 0.5 * at * at;
    highest = fmax(highest, logs[k]);
    log_p += log(((double)k + shape) / ((double)k + 1) * ratio);
  }
  for (size_t k = 0; k < n; k++) {
    double p = exp(logs[k] - highest);
    total += p;
    sum += p * (double)k;
    square += p * (double)(k * k);
  }
  *mean = sum / total;
  *mean_var = fmax(square / total - *mean * *mean, 0);
  *none = exp(logs[0] - highest) / total;
  return highest + log(total) - log(sd);
}

/* How many there are in all bands together, and what that says of each. */
static void learn_beyond(const outer_t *o, scenario_t *s) {
  double mean = 0, variance = o->beyond_var;
  for (size_t b = 0; b < o->n; b++) {
    mean += s->records[b];
    variance += s->records_var[b];
  }
  double off = o->beyond - mean;
  s->log_weight -= 0.5 * (off * off / variance + log(variance));
  for (size_t b = 0; b < o->n; b++) {
    double part = s->records_var[b] / variance;
    s->records[b] = fmax(s->records[b] + part * off, 0.1 * s->records[b]);
    s->records_var[b] *= 1 - part;
  }
}

/* expected (n): units in bands, off by off_by of themselves; its prior probability. */
static void learn_scenario(const outer_t *o, const double *expected, double off_by, double probability,
                           scenario_t *s) {
  s->log_weight = log(probability);
  for (size_t b = 0; b < o->n; b++) {
    s->log_weight +=
        learn_count(expected[b] + floor_count * exp(-floor_fall * o->steps[b]), off_by, o->count[b],
                    o->count_var[b], &s->records[b], &s->records_var[b], &s->none[b]);
    s->records[b] *= !o->is_empty[b];
    s->records_var[b] *= !o->is_empty[b];
  }
  if (o->beyond_var > 0) {
    learn_beyond(o, s);
  }
  given_tau_t of;
  for (size_t t = 0; t < N_TAU; t++) {
    learn_at(o, s, t, &of);
  }
  for (size_t j = 0; j < o->d; j++) {
    double w[N_TAU];
    s->log_weight += weigh(N_TAU, &of.log_weight[0][j], BAND_DIM, w);
    s->mean[j] = s->var[j] = 0;
    for (size_t t = 0; t < N_TAU; t++) {
      s->mean[j] += w[t] * of.mean[t][j];
    }
    for (size_t t = 0; t < N_TAU; t++) {
      s->var[j] += w[t] * (of.var[t] + pow(of.mean[t][j] - s->mean[j], 2));
    }
  }
}

/* Falls may end at any band that is far from the core, and do not before. places (n) <- the probability that
 * they end there; returns the first with any. */
static size_t place_ends(const outer_t *o, double *places) {
  size_t first = o->n - 1;
  double sum = 0;
  for (size_t b = o->n; b-- > 0 && o->reach[b] > 1 - 1e-9;) {
    first = b;
  }
  first = first > 0 && o->reach[first] > 1 + 1e-9 ? first - 1 : first; /* the last one that is not far */
  for (size_t b = 0; b < o->n; b++) {
    places[b] = b < first ? 0 : pow(fmax(o->reach[b], 1), -2);
    sum += places[b];
  }
  for (size_t b = 0; b < o->n; b++) {
    places[b] /= sum;
  }
  return first;
}

/* Next to nobody; on a grid of how many are in the first band beyond the core, or where a heap is, all falls
 * and where they end, and all places of a heap. */
static size_t learn_scenarios(const outer_t *o, scenario_t *s) {
  double expected[BAND_CELLS] = {0}, ends[BAND_CELLS], near[BAND_CELLS],
         all_near = 0; /* a heap is the less likely the further out it is */
  const size_t first_end = place_ends(o, ends);
  const double log_step = 0.7, most = (MAX_SCENARIOS - 2) / (double)(N_PHI * (o->n - first_end) + o->n);
  size_t n = 0, n_first = (size_t)fmax(fmin(log(o->units / 2) / log_step, most), 1);
  for (size_t b = 0; b < o->n; b++) {
    all_near += near[b] = pow(2, -0.5 * o->steps[b]) / sqrt(fmax(o->reach[b], 1));
  }
  learn_scenario(o, expected, count_off, o->said != NULL ? (1 - as_said) * empty : empty, &s[n++]);
  if (o->said != NULL) {
    learn_scenario(o, o->said, said_off, as_said * empty, &s[n++]);
  }
  for (size_t i = 0; i < n_first; i++) {
    double first = 0.5 * exp(log_step * (double)i), fall = (1 - empty - heap) / (double)(N_PHI * n_first);
    for (size_t k = 0; k < N_PHI; k++) {
      for (size_t end = first_end; end < o->n; end++) {
        for (size_t b = 0; b < o->n; b++) {
          expected[b] = b <= end ? first * exp(-phis[k] * o->steps[b]) : 0;
        }
        learn_scenario(o, expected, count_off, fall * ends[end], &s[n++]);
      }
    }
    for (size_t at = 0; at < o->n; at++) {
      for (size_t b = 0; b < o->n; b++) {
        double away = (o->steps[b] - o->steps[at]) / heap_width;
        expected[b] = first * exp(-0.5 * away * away);
      }
      if (!o->is_empty[at]) {
        learn_scenario(o, expected, count_off, heap * near[at] / (all_near * (double)n_first), &s[n++]);
      }
    }
  }
  return n;
}

/* ---- from what was released ---- */

static size_t n_packed(const tacit_band_scores_t *of) { return (of->m + 1) * (of->m + 2) / 2; }

/* Place of entry (i, j), i <= j, among the squares of a band's vectors, which follow count and sums. */
static size_t place(const tacit_band_scores_t *of, size_t i, size_t j) {
  return (i + 1) * (of->m + 1) - i * (i + 1) / 2 + j - i;
}

static double noise_of(const tacit_band_scores_t *of) {
  return fmax(of->noise_sd, 1e-6); /* an exposed curator adds none */
}

double tacit_band_trace(const tacit_band_scores_t *of, size_t b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += of->released[b * n_packed(of) + place(of, i, i)];
  }
  return sum;
}

/* Mean square of a score in a band, by counts of lengths. */
static double mean_square(const tacit_band_scores_t *of, size_t b) {
  const tacit_band_lengths_t *l = of->lengths;
  double sum = 0, records = 0, c2 = of->split->radii[b] * of->split->radii[b];
  for (size_t k = of->split->first[b]; k < of->split->first[b + 1]; k++) {
    double length = 0.98 * l->unit * sqrt(fmax(l->edges[k], 0.3 * l->edges[k + 1]) * l->edges[k + 1]);
    sum += l->mean[k] * length * length;
    records += l->mean[k];
  }
  return fmin(fmax(records > 1e-6 ? sum / records : 0.5 * c2, 0.3 * c2), 0.95 * c2);
}

static void fill_outer(const tacit_band_scores_t *of, const double *bar, outer_t *o) {
  double sd = noise_of(of), lengths_var = pow(fmax(of->lengths->noise_sd, 1e-6), 2), weight = 0;
  o->d = of->d;
  o->units = of->n;
  o->said = of->said != NULL ? of->said + 1 : NULL;
  o->beyond = of->beyond;
  o->beyond_var = of->beyond_sd > 0 ? pow(fmax(of->beyond_sd, 1e-6), 2) : 0;
  for (size_t t = 0; t < N_TAU; t++) {
    o->log_tau[t] = -0.5 * pow(log(taus[t] / tau_median) / tau_sd, 2);
    weight += exp(o->log_tau[t]);
  }
  for (size_t t = 0; t < N_TAU; t++) {
    o->log_tau[t] -= log(weight);
  }
  for (size_t b = 0; b + 1 < of->split->n; b++) {
    const double *released = of->released + (b + 1) * n_packed(of);
    double radius = of->split->radii[b + 1], c2 = radius * radius, counted = 0, n_cells = 0;
    for (size_t k = of->split->first[b + 1]; k < of->split->first[b + 2]; k++, n_cells++) {
      counted += of->lengths->counts[k];
    }
    o->bar[b] = bar[b + 1];
    o->steps[b] = log(radius / of->split->radii[1]) / (0.5 * log(2));
    o->reach[b] = radius / (far_from * of->split->radii[0]);
    double by_count = 1 / (sd * sd), by_lengths = 1 / (lengths_var * n_cells),
           by_squares = pow(o->bar[b] / (sd * c2), 2) / (double)of->m;
    o->count_var[b] = 1 / (by_count + by_lengths + by_squares);
    o->count[b] = o->count_var[b] * (released[0] * by_count + counted * by_lengths +
                                     tacit_band_trace(of, b + 1, of->m) * c2 / o->bar[b] * by_squares);
    o->sum_var[b] = pow(sd / sqrt(2) * radius / of->n, 2);
    for (size_t j = 0; j < o->d; j++) {
      o->sum[b][j] = released[1 + j] / sqrt(2) * radius / of->n;
    }
  }
}

/* Bands up to the last that is near, or far and seen. */
static size_t count_seen(const tacit_band_scores_t *of, const outer_t *o) {
  size_t n = of->split->n_near - 1;
  for (size_t b = n; b + 1 < of->split->n; b++) {
    n = o->count[b] > seen_from * sqrt(o->count_var[b]) ? b + 1 : n;
  }
  return n;
}

/* Bands that are empty so surely that they are taken to be; is there one? */
static bool find_empty(outer_t *o, size_t n, const scenario_t *s) {
  double w[MAX_SCENARIOS];
  bool is_any = false;
  (void)weigh(n, &s->log_weight, sizeof *s / sizeof(double), w);
  for (size_t b = 0; b < o->n; b++) {
    double none = 0;
    for (size_t i = 0; i < n; i++) {
      none += w[i] * s[i].none[b];
    }
    o->is_empty[b] = none > surely;
    is_any = is_any || o->is_empty[b];
  }
  return is_any;
}

/* Means over scenarios, and how they differ. */
static void mix(const outer_t *o, size_t n, const scenario_t *s, tacit_band_tails_t *tails) {
  double w[MAX_SCENARIOS], mean[BAND_DIM] = {0};
  (void)weigh(n, &s->log_weight, sizeof *s / sizeof(double), w);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < o->d; j++) {
      mean[j] += w[i] * s[i].mean[j];
    }
    for (size_t b = 0; b < o->n; b++) {
      tails->records[b + 1] += w[i] * s[i].records[b];
    }
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t a = 0; a < o->d * o->d; a++) {
      size_t j = a / o->d, k = a % o->d;
      tails->tail_cov[a] +=
          w[i] * ((j == k ? s[i].var[j] : 0) + (s[i].mean[j] - mean[j]) * (s[i].mean[k] - mean[k]));
    }
    for (size_t b = 0; b < o->n; b++) {
      tails->records_var[b + 1] +=
          w[i] * (s[i].records_var[b] + pow(s[i].records[b] - tails->records[b + 1], 2));
    }
  }
  for (size_t j = 0; j < o->d; j++) {
    tails->sum[j] += mean[j];
  }
}

/* What counts say of the squares of band b, its variance, and noise: of d numbers, or of the one beside them;
 * how squares are shared between these is not known. */
typedef struct guess {
  double square, var, noise;
} guess_t;

static guess_t guess_of(const tacit_band_scores_t *of, const double *bar, size_t b,
                        const tacit_band_tails_t *tails) {
  bool is_shared = of->m > of->d;
  double part = is_shared ? 0.5 : 1,
         spread = b == 0      ? 1
                  : is_shared ? 0.6
                              : 0.3,
         square = part * (tails->records[b] * bar[b] / of->n),
         var = part * part * bar[b] * bar[b] * tails->records_var[b] / (of->n * of->n);
  return (guess_t){square, pow(spread * square, 2) + var,
                   noise_of(of) * (of->split->radii[b] * of->split->radii[b] / of->n)};
}

/* Squares of band b, shrunk: their trace towards what counts imply, the rest towards the shape in the core
 * and in the others towards the identity. */
static void add_squares(const tacit_band_scores_t *of, const double *bar, size_t b,
                        tacit_band_tails_t *tails) {
  const double *released = of->released + b * n_packed(of);
  size_t d = of->d;
  const guess_t guess = guess_of(of, bar, b, tails);
  double c2 = of->split->radii[b] * of->split->radii[b] / of->n, shape_trace = 0;
  double kept = guess.var / (guess.var + (double)d * guess.noise * guess.noise),
         trace =
             fmax(guess.square + kept * (tacit_band_trace(of, b, d) * c2 - guess.square), 0.2 * guess.square);
  for (size_t i = 0; i < d; i++) {
    shape_trace += of->shape[i * d + i];
  }
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i; j < d; j++) {
      double unit = i == j ? 1 : sqrt(2), value = released[place(of, i, j)] / unit * c2,
             own = pow(guess.noise / unit, 2);
      double size = trace / (double)d, at = b == 0   ? trace * of->shape[i * d + j] / shape_trace
                                            : i == j ? size
                                                     : 0;
      double prior = pow((b == 0 ? 0.5 : 0.8) * size, 2) + 0.5 * guess.var / (double)(d * d) + 1e-18,
             share = prior / (prior + own);
      at += share * (value - at);
      at = i == j && b > 0 ? fmax(at, 0.1 * size)
                           : at; /* noise is large there, and squares are not negative */
      tails->squares[i * d + j] += at;
      tails->squares[j * d + i] = tails->squares[i * d + j];
      if (i == 0 && j == 0) {
        tails->last[b] = fmax(at, 0);
        tails->last_var[b] = share * own;
      }
    }
  }
  tails->expected[b] = guess.square;
}

/* Of the number beside the scores. */
static void set_last(const tacit_band_scores_t *of, const double *bar, size_t b, tacit_band_tails_t *tails) {
  const guess_t guess = guess_of(of, bar, b, tails);
  double c2 = of->split->radii[b] * of->split->radii[b] / of->n,
         value = of->released[b * n_packed(of) + place(of, of->d, of->d)] * c2,
         share = guess.var / (guess.var + guess.noise * guess.noise);
  tails->last[b] = fmax(guess.square + share * (value - guess.square), 0);
  tails->last_var[b] = share * guess.noise * guess.noise;
}

bool tacit_band_learn_scores(const tacit_band_scores_t *of, tacit_band_tails_t *tails) {
  outer_t *o = tacit_alloc_zero(1, sizeof *o);
  scenario_t *s = tacit_alloc(MAX_SCENARIOS, sizeof *s);
  double bar[BAND_CELLS], radius = of->split->radii[0];
  memset(tails, 0, sizeof *tails);
  for (size_t b = 0; b < of->split->n; b++) {
    bar[b] = mean_square(of, b);
  }
  tails->records[0] = of->released[0];
  tails->core_var = pow(noise_of(of) / sqrt(2) * radius / of->n, 2);
  for (size_t j = 0; j < of->d; j++) {
    tails->sum[j] = of->released[1 + j] / sqrt(2) * radius / of->n;
  }
  bool ok = o != NULL && s != NULL;
  if (ok && of->split->n > 1) {
    fill_outer(of, bar, o);
    o->n = count_seen(of, o);
    if (o->n > 0) {
      size_t n = learn_scenarios(o, s);
      mix(o, find_empty(o, n, s) ? learn_scenarios(o, s) : n, s, tails);
    }
    for (size_t b = 1; b < of->split->n; b++) {
      tails->counted[b] = o->count[b - 1];
      tails->count_sd[b] = sqrt(o->count_var[b - 1]);
    }
  }
  for (size_t b = 0; b < of->split->n; b++) {
    add_squares(of, bar, b, tails);
    if (of->m > of->d) {
      set_last(of, bar, b, tails);
    }
  }
  tacit_free(o);
  tacit_free(s);
  return ok;
}

double tacit_band_unseen_shift(const tacit_band_split_t *split, const tacit_band_tails_t *tails,
                               double others, size_t d, double n, double reach, const double *cov) {
  size_t b = 0;
  double least = INFINITY;
  while (b + 1 < split->n && split->radii[b] < reach) {
    b++;
  }
  for (size_t j = 0; j < d; j++) {
    least = fmin(least, cov[j * d + j]);
  }
  double sd = tails->count_sd[b] > 0 ? 1 / sqrt(pow(tails->count_sd[b], -2) + others) : 0;
  return sd > 0 ? sd * reach / sqrt((double)d) / n / sqrt(least) : 0;
}
