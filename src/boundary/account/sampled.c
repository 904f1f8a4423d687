/*
 * The dominating pairs of sampled releases (docs/theory.md, section 9.2).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "account/pair.h"

/* ---- Poisson sampling, add or remove: P' = (1 - q) Q + q P against Q [Zhu2022, Theorem 11] ---- */

/* The base loss at which log(1 - q + q e^base) = loss; -INFINITY at and below its infimum. */
static double base_loss(double q, double loss) {
  if (loss > 30) {
    return loss + log((1 - (1 - q) * exp(-loss)) / q);
  }
  double odds = expm1(loss) + q;
  return odds > 0 ? log(odds / q) : -INFINITY;
}

/* What the rounding of the base loss is worth in the loss: d loss / d base = q e^(base - loss). */
static double base_loss_error(double q, double loss, double at) {
  double slope = -expm1(log1p(-q) - loss);
  return 4 * DBL_EPSILON * (fabs(loss) + fmax(slope, 0) * (1 + fabs(at)));
}

static void nothing_below(tacit_tails_t *tails) {
  *tails = (tacit_tails_t){1, 1, 0, 0, DBL_EPSILON, DBL_EPSILON};
}

static void sampled_remove(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  double q = pair->rate, at = base_loss(q, loss);
  tacit_tails_t base;
  if (isinf(at)) {
    nothing_below(tails);
    return;
  }
  pair->base(pair, at, &base);
  *tails = (tacit_tails_t){(1 - q) * base.q_above + q * base.p_above,
                           base.q_above,
                           (1 - q) * base.q_below + q * base.p_below,
                           base.q_below,
                           base.error + 4 * DBL_EPSILON,
                           base.loss_error + base_loss_error(q, loss, at)};
}

/* The pair (Q, P') has the loss -L. */
void tacit_tails_mirror(const tacit_tails_t *remove, tacit_tails_t *tails) {
  *tails = (tacit_tails_t){remove->q_below, remove->p_below, remove->q_above,
                           remove->p_above, remove->error,   remove->loss_error};
}

static void sampled_add(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  tacit_tails_t remove;
  sampled_remove(pair, -loss, &remove);
  tacit_tails_mirror(&remove, tails);
}

/* ---- mixtures of shifts, add or remove: P = sum_k w_k N(s_k, 1), s_k >= 0, against Q = N(0, 1) ---- */

double tacit_pair_log_mixture(const tacit_pair_t *pair, double x, double *slope) {
  double peak = -INFINITY, sum = 0;
  for (size_t k = 0; k < pair->n_weights; k++) {
    peak = fmax(peak, log(pair->weights[k]) + pair->shifts[k] * (x - 0.5 * pair->shifts[k]));
  }
  *slope = 0;
  for (size_t k = 0; k < pair->n_weights; k++) {
    double term = pair->weights[k] * exp(pair->shifts[k] * (x - 0.5 * pair->shifts[k]) - peak);
    sum += term;
    *slope += pair->shifts[k] * term;
  }
  *slope /= sum;
  return log(sum) + peak;
}

/* The x at which g(x) = loss; Newton from the right, where one term alone is as large. */
static double mixture_point(const tacit_pair_t *pair, double loss) {
  double x = INFINITY;
  for (size_t k = 0; k < pair->n_weights; k++) {
    if (pair->shifts[k] > 0) {
      x = fmin(x, (loss - log(pair->weights[k])) / pair->shifts[k] + 0.5 * pair->shifts[k]);
    }
  }
  for (int i = 0; i < 100; i++) {
    double slope, step = tacit_pair_log_mixture(pair, x, &slope) - loss;
    step /= slope;
    x -= step;
    if (!(fabs(step) > 4 * DBL_EPSILON * (1 + fabs(x)))) {
      break;
    }
  }
  return x;
}

static double largest_shift(const tacit_pair_t *pair) {
  double largest = 0;
  for (size_t k = 0; k < pair->n_weights; k++) {
    largest = fmax(largest, pair->shifts[k]);
  }
  return largest;
}

static void mixture_remove(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  if (loss <= pair->min_loss) {
    nothing_below(tails);
    return;
  }
  /* the terms that count have logarithms below 100 + |loss| + |s x| */
  double x = mixture_point(pair, loss), largest = largest_shift(pair), farthest = 1 + fabs(x) + largest;
  *tails = (tacit_tails_t){0,
                           tacit_normal_above(x),
                           0,
                           tacit_normal_above(-x),
                           4 * DBL_EPSILON * farthest * farthest + pair->weight_error,
                           16 * DBL_EPSILON * (100 + fabs(loss) + largest * farthest)};
  for (size_t k = 0; k < pair->n_weights; k++) {
    tails->p_above += pair->weights[k] * tacit_normal_above(x - pair->shifts[k]);
    tails->p_below += pair->weights[k] * tacit_normal_above(pair->shifts[k] - x);
  }
}

static void mixture_add(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  tacit_tails_t remove;
  if (-loss <= -pair->max_loss) { /* -loss is at or below the infimum of the other direction */
    *tails = (tacit_tails_t){0, 0, 1, 1, DBL_EPSILON, DBL_EPSILON};
    return;
  }
  tacit_pair_t other = *pair;
  other.min_loss = -pair->max_loss;
  mixture_remove(&other, -loss, &remove);
  tacit_tails_mirror(&remove, tails);
}

/* ---- mixtures of shifts, substitution: sum_k w_k N(s_k, 1) against sum_k w_k N(-s_k, 1) ---- */

/*
 * The x >= 0 at which g(x) - g(-x) = loss >= 0. Of a share q moved by s alone, u = e^(s x - s^2 / 2) solves a
 * quadratic: s x = loss / 2 + asinh((1 - q) / q sinh(loss / 2) e^(s^2 / 2)). Else Newton, kept inside of a
 * bracket: g(-x) <= 0.
 */
static double opposed_point(const tacit_pair_t *pair, double loss) {
  if (pair->n_weights == 2 && !(pair->shifts[0] > 0)) {
    double s = pair->shifts[1], z = pair->weights[0] / pair->weights[1] * sinh(0.5 * loss),
           half = 0.5 * s * s;
    double doubled = log(2 * z) + half; /* asinh z from a large z on */
    return (0.5 * loss + (half > 300 || doubled > 300 ? fmax(doubled, 0) : asinh(z * exp(half)))) / s;
  }
  double low = 0, high = fmax(mixture_point(pair, loss), 0) + 1, x = high;
  for (int i = 0; i < 200; i++) {
    double up, down,
        gap = tacit_pair_log_mixture(pair, x, &up) - tacit_pair_log_mixture(pair, -x, &down) - loss;
    *(gap > 0 ? &high : &low) = x;
    double next = x - gap / (up + down);
    next = next > low && next < high ? next : 0.5 * (low + high);
    bool is_there = !(fabs(next - x) > 4 * DBL_EPSILON * (1 + fabs(x)));
    x = next;
    if (is_there) {
      break;
    }
  }
  return x;
}

static void opposed(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  double x = copysign(opposed_point(pair, fabs(loss)), loss), largest = largest_shift(pair);
  double farthest = 1 + fabs(x) + largest;
  bool is_closed = pair->n_weights == 2;
  *tails =
      (tacit_tails_t){.error = 16 * DBL_EPSILON * farthest * farthest + pair->weight_error,
                      .loss_error = is_closed ? 8 * DBL_EPSILON * fabs(loss)
                                              : 32 * DBL_EPSILON * (100 + fabs(loss) + largest * farthest)};
  for (size_t k = 0; k < pair->n_weights; k++) {
    double weight = pair->weights[k], shift = pair->shifts[k];
    tails->p_above += weight * tacit_normal_above(x - shift);
    tails->p_below += weight * tacit_normal_above(shift - x);
    tails->q_above += weight * tacit_normal_above(x + shift);
    tails->q_below += weight * tacit_normal_above(-x - shift);
  }
}

/* ---- records in place of one another: a bound of the profile from e^epsilon = 1 on, mirrored below (H(-e) =
 * 1 - e^-e + e^-e H(e)) ---- */

static void mirrored(const tacit_pair_t *pair, double loss, tacit_tails_t *tails,
                     void (*upper)(const tacit_pair_t *pair, double loss, tacit_tails_t *above)) {
  tacit_tails_t above;
  upper(pair, fabs(loss), &above);
  double p = above.p_above, q = above.q_above;
  *tails = loss >= 0 ? (tacit_tails_t){p, q, 1 - p, 1 - q, above.error, above.loss_error}
                     : (tacit_tails_t){1 - q, 1 - p, q, p, above.error, above.loss_error};
}

/*
 * H(y) = sum_(k >= 1) w_k h_k(alpha), y = 1 + q (alpha - 1), h_k between outputs s_k apart, q = 1 - w_0
 * [Balle2018, Theorems 9 and 10]. Here q_above = -H'(y), p_above = H + y q_above.
 */
static void replaced_upper(const tacit_pair_t *pair, double loss, tacit_tails_t *above) {
  double rate = pair->rate, at = base_loss(rate, loss), error = 0;
  *above = (tacit_tails_t){.loss_error = base_loss_error(rate, loss, at)};
  for (size_t k = 1; k < pair->n_weights; k++) {
    tacit_tails_t one;
    double weight = pair->weights[k] / rate;
    tacit_gaussian_tails(pair->shifts[k], at, &one);
    above->q_above += weight * one.q_above;
    above->p_above += weight * ((1 - rate) * one.q_above + rate * one.p_above);
    error = fmax(error, one.error);
  }
  above->error = error + pair->weight_error + 8 * DBL_EPSILON;
}

static void replaced(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  mirrored(pair, loss, tails, replaced_upper);
}

/* ---- Poisson samples cut to a limit: with probability `overflow` a record takes the place of another, at
 * its own rate ---- */

static void set_rate(tacit_pair_t *pair, double rate) {
  pair->rate = rate;
  pair->weights[0] = 1 - rate;
  pair->weights[1] = rate;
}

static void truncated(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  tacit_tails_t whole, full;
  tacit_pair_t other = *pair;
  if (pair->is_opposed) {
    opposed(pair, loss, &whole);
    other.shifts[1] *= 2;
    set_rate(&other, pair->full_rate);
    replaced(&other, loss, &full);
  } else {
    void (*sampled)(const tacit_pair_t *, double, tacit_tails_t *) =
        pair->is_add ? sampled_add : sampled_remove;
    sampled(pair, loss, &whole);
    other.m *= 2;
    other.rate = pair->full_rate;
    sampled(&other, loss, &full);
  }
  double t = pair->overflow;
  *tails = (tacit_tails_t){(1 - t) * whole.p_above + t * full.p_above,
                           (1 - t) * whole.q_above + t * full.q_above,
                           (1 - t) * whole.p_below + t * full.p_below,
                           (1 - t) * whole.q_below + t * full.q_below,
                           fmax(whole.error, full.error) + pair->weight_error + 4 * DBL_EPSILON,
                           fmax(whole.loss_error, full.loss_error)};
}

/* ---- how often a record is drawn ---- */

/* w_k = e^-q q^k / k! until what is left is below 1e-40. */
static void set_poisson(tacit_pair_t *pair, double mean, double shift) {
  double weight = exp(-mean);
  for (size_t k = 0; k < TACIT_MAX_MULTIPLICITY; k++) {
    pair->weights[k] = weight;
    pair->shifts[k] = (double)k * shift;
    pair->n_weights = k + 1;
    weight *= mean / (double)(k + 1);
    if (k > 0 && weight < 1e-40) {
      break;
    }
  }
  pair->infinite += 2 * weight;
  pair->rate = -expm1(-mean);
  pair->weight_error = 4 * DBL_EPSILON * (double)(pair->n_weights + 2);
}

static tacit_status_t refuse_draws(tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "draws",
                         "so many draws from so few records may take a record more than %d times: draw fewer",
                         TACIT_MAX_MULTIPLICITY - 1);
}

/* Binomial(n, 1 / N), rounded up, until what is left is below 1e-40. */
static tacit_status_t set_binomial(tacit_pair_t *pair, double draws, double records, double shift,
                                   tacit_error_t *err) {
  double odds = 1 / (records - 1), weight = exp(draws * log1p(-1 / records));
  for (size_t k = 0; k < TACIT_MAX_MULTIPLICITY; k++) {
    pair->weights[k] = weight;
    pair->shifts[k] = (double)k * shift;
    pair->n_weights = k + 1;
    weight *= (draws - (double)k) / (double)(k + 1) * odds;
    bool is_falling = (draws - (double)k) * odds < 0.5 * (double)(k + 1);
    if (weight <= 0 || (is_falling && weight < 1e-40)) {
      pair->infinite += 4 * fmax(weight, 0);
      pair->rate = -expm1(draws * log1p(-1 / records));
      pair->weight_error = 4 * DBL_EPSILON * ((double)pair->n_weights + 2 + draws / records);
      return TACIT_OK;
    }
  }
  return refuse_draws(err);
}

/* log n! less Stirling's formula without its series. */
static double stirling_rest(double n) {
  if (n < 16) {
    return n > 0 ? lgamma(n + 1) - (n + 0.5) * log(n) + n - 0.91893853320467274178 : 0;
  }
  return (1. / 12 - (1. / 360 - 1. / 1260 / n / n) / n / n) / n; /* within 2e-12 */
}

/* x log(x / mean) + mean - x, and a bound of its rounding. */
static double deviance(double x, double mean, double *slack) {
  double log_ratio = x > 0 ? log1p((x - mean) / mean) : 0;
  *slack += 4 * DBL_EPSILON * (x * fabs(log_ratio) + fabs(mean - x) + 1);
  return x * log_ratio + mean - x;
}

/*
 * P(Binomial(n, q) >= limit) within a relative *error, or of one less it: the largest term [Loader2000], and
 * a geometric series that bounds the rest.
 */
static double binomial_above(double n, double q, double limit, double *error) {
  if (limit > n || q <= 0 || q >= 1) {
    return limit <= n && q >= 1 ? 1 : 0;
  }
  if (limit <= n * q) {
    return 1 - binomial_above(n, 1 - q, n - limit + 1, error);
  }
  double slack = 1e-11, apart = deviance(limit, n * q, &slack) + deviance(n - limit, n * (1 - q), &slack);
  double log_term = limit < n ? stirling_rest(n) - stirling_rest(limit) - stirling_rest(n - limit) - apart +
                                    0.5 * log(n / (6.283185307179586 * limit * (n - limit)))
                              : n * log(q);
  double odds = q / (1 - q), sum = 0, term = 1;
  for (double k = limit; k <= n && term > 1e-17 * sum; k++) {
    sum += term;
    term *= (n - k) / (k + 1) * odds;
  }
  *error += slack + 1e-12;
  return exp(log_term) * sum;
}

/*
 * Of the other records at least `limit` are drawn with probability t. Those kept are then as many of them at
 * random, or the record with one less, whatever their number: the record with probability limit P(more than
 * limit of all n are drawn) / (n t).
 */
static void set_overflow(tacit_pair_t *pair, double n, double limit) {
  double error = 0, t = binomial_above(n - 1, pair->rate, limit, &error);
  double drawn = binomial_above(n, pair->rate, limit + 1, &error) * limit / n;
  if (!(t > 1e-300)) {
    t = 1e-300;
    drawn = pair->rate * t;
  }
  pair->overflow = fmin(t, 1);
  pair->full_rate = fmin(drawn / t * (1 + 4 * error), pair->rate * limit / (limit + 1));
  pair->weight_error += 2 * error / fmax(1 - pair->overflow, 1e-9);
}

/* ---- which pair ---- */

static bool is_add(tacit_direction_t direction) {
  return direction == TACIT_DIRECTION_ADD || direction == TACIT_DIRECTION_ADD_ATTAINED;
}

static void set_sampled(tacit_pair_t *pair, tacit_direction_t direction) {
  double least = log1p(-pair->rate),
         largest = isinf(pair->max_loss) ? INFINITY : log1p(pair->rate * expm1(pair->max_loss));
  double lowest = isinf(pair->min_loss) ? least : log1p(pair->rate * expm1(pair->min_loss));
  pair->infinite *= is_add(direction) ? 0 : pair->rate;
  pair->tails = is_add(direction) ? sampled_add : sampled_remove;
  pair->min_loss = is_add(direction) ? -largest : lowest;
  pair->max_loss = is_add(direction) ? -lowest : largest;
}

static void set_mixture(tacit_pair_t *pair, tacit_direction_t direction) {
  double still = 0;
  for (size_t k = 0; k < pair->n_weights; k++) {
    still += pair->shifts[k] > 0 ? 0 : pair->weights[k];
  }
  pair->tails = is_add(direction) ? mixture_add : mixture_remove;
  *(is_add(direction) ? &pair->max_loss : &pair->min_loss) = is_add(direction) ? -log(still) : log(still);
}

/* Shifts are those of a record against none: half of what one in place of another makes. */
static void set_opposed(tacit_pair_t *pair) {
  for (size_t k = 0; k < pair->n_weights; k++) {
    pair->shifts[k] *= 0.5;
  }
  pair->tails = opposed;
}

static void set_pair_of_weights(tacit_pair_t *pair) {
  pair->n_weights = 2;
  set_rate(pair, pair->rate);
  pair->shifts[0] = 0;
  pair->shifts[1] = pair->m;
}

static void set_truncated(tacit_pair_t *pair, const tacit_event_t *event, tacit_relation_t relation,
                          tacit_direction_t direction) {
  set_overflow(pair, (double)event->records, (double)event->draws);
  if (direction == TACIT_DIRECTION_REMOVE_ATTAINED ||
      direction == TACIT_DIRECTION_ADD_ATTAINED) { /* all other records 0 */
    double t = pair->overflow;
    pair->rate =
        ((1 - t) * pair->rate + t * pair->full_rate) * (1 - 8 * pair->weight_error - 8 * DBL_EPSILON);
    pair->overflow = 0;
  }
  if (relation == TACIT_RELATION_ADD_REMOVE) {
    set_sampled(pair, direction);
    pair->is_add = is_add(direction);
  } else {
    set_pair_of_weights(pair);
    set_opposed(pair);
    pair->is_opposed = true;
  }
  pair->tails = pair->overflow > 0 ? truncated : pair->tails;
}

/* One record in place of another, in samples of a given size. */
static tacit_status_t set_replaced(tacit_pair_t *pair, const tacit_event_t *event,
                                   tacit_direction_t direction, tacit_error_t *err) {
  if (event->sampling == TACIT_SAMPLING_WITH_REPLACEMENT) {
    tacit_status_t status = set_binomial(pair, (double)event->draws, (double)event->records, pair->m, err);
    if (status != TACIT_OK) {
      return status;
    }
  } else {
    set_pair_of_weights(pair);
  }
  pair->tails = replaced;
  if (direction == TACIT_DIRECTION_REMOVE_ATTAINED || direction == TACIT_DIRECTION_ADD_ATTAINED) {
    set_mixture(pair, direction); /* all other records where the second of the two is */
  }
  return TACIT_OK;
}

double tacit_pair_seen(const tacit_event_t *event) {
  switch (event->sampling) {
  case TACIT_SAMPLING_NONE:
    return 1;
  case TACIT_SAMPLING_MULTIPLICITY:
    return -expm1(-event->sampling_rate);
  case TACIT_SAMPLING_WITH_REPLACEMENT:
    return -expm1((double)event->draws * log1p(-1 / (double)event->records));
  default:
    return event->sampling_rate;
  }
}

void tacit_pair_mix(tacit_pair_t *pair, const tacit_curve_t *curve, tacit_relation_t relation,
                    tacit_direction_t direction) {
  pair->n_weights = curve->n_weights;
  memcpy(pair->weights, curve->weights, sizeof pair->weights);
  memcpy(pair->shifts, curve->shifts, sizeof pair->shifts);
  pair->weight_error = 8 * DBL_EPSILON;
  pair->infinite = curve->infinite;
  relation == TACIT_RELATION_SUBSTITUTE ? set_opposed(pair) : set_mixture(pair, direction);
}

tacit_status_t tacit_pair_sample(tacit_pair_t *pair, const tacit_event_t *event, tacit_relation_t relation,
                                 tacit_direction_t direction, tacit_error_t *err) {
  bool is_gaussian = event->kind == TACIT_EVENT_GAUSSIAN, is_opposed = relation == TACIT_RELATION_SUBSTITUTE;
  pair->rate = event->sampling_rate;
  switch (event->sampling) {
  case TACIT_SAMPLING_POISSON:
    if (pair->rate >= 1) {
      return TACIT_OK;
    }
    if (!is_opposed) {
      set_sampled(pair, direction);
      return TACIT_OK;
    }
    set_pair_of_weights(pair);
    set_opposed(pair);
    return is_gaussian ? TACIT_OK : tacit_pair_refuse(event, relation, err);
  case TACIT_SAMPLING_TRUNCATED_POISSON:
    set_truncated(pair, event, relation, direction);
    return TACIT_OK;
  case TACIT_SAMPLING_MULTIPLICITY:
    set_poisson(pair, pair->rate, pair->m);
    is_opposed ? set_opposed(pair) : set_mixture(pair, direction);
    return TACIT_OK;
  case TACIT_SAMPLING_WITHOUT_REPLACEMENT:
    if (!is_opposed) { /* of n records or n + 1: the record takes the place of another [Zhu2022, Theorem 11]
                        */
      pair->m *= 2;
      set_sampled(pair, direction);
      return TACIT_OK;
    }
    return pair->rate >= 1 ? TACIT_OK : set_replaced(pair, event, direction, err);
  case TACIT_SAMPLING_WITH_REPLACEMENT:
    return is_opposed ? set_replaced(pair, event, direction, err) : tacit_pair_refuse(event, relation, err);
  default:
    return TACIT_OK;
  }
}
