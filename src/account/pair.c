/*
 * The dominating pairs of the events, as laws of their privacy loss (docs/theory.md, section 9).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "account/pair.h"

/* Phi(-z) */
static double normal_above(double z) {
  return 0.5 * erfc(z * 0.70710678118654752440);
}

/* L ~ N(m^2 / 2, m^2) under P, N(-m^2 / 2, m^2) under Q. */
static void gaussian(double m, double loss, tacit_tails_t *tails) {
  double center = loss / m, half = 0.5 * m, farthest = 1 + fabs(center) + half;
  *tails = (tacit_tails_t){.p_above = normal_above(center - half),
                           .q_above = normal_above(center + half),
                           .p_below = normal_above(half - center),
                           .q_below = normal_above(-center - half),
                           .error = 4 * DBL_EPSILON * farthest * farthest};
}

static void gaussian_tails(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  gaussian(pair->m, loss, tails);
}

/* L = (|x - 1| - |x|) / b: above loss where x < (1 - b loss) / 2. */
static void laplace_tails(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  double b = pair->scale, error = 4 * DBL_EPSILON * (2 + 1 / b);
  if (loss >= 1 / b || loss < -1 / b) {
    *tails = loss >= 1 / b ? (tacit_tails_t){0, 0, 1, 1, error, 0} : (tacit_tails_t){1, 1, 0, 0, error, 0};
    return;
  }
  double x = 0.5 * (1 - b * loss), p = 0.5 * exp(-x / b), q = 0.5 * exp((x - 1) / b);
  *tails = (tacit_tails_t){1 - p, q, p, 1 - q, error, 4 * DBL_EPSILON / b};
}

static void table_tails(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  tacit_table_tails(pair->table, loss, tails);
}

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
static void mirror(const tacit_tails_t *remove, tacit_tails_t *tails) {
  *tails = (tacit_tails_t){remove->q_below, remove->p_below, remove->q_above, remove->p_above, remove->error,
                           remove->loss_error};
}

static void sampled_add(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  tacit_tails_t remove;
  sampled_remove(pair, -loss, &remove);
  mirror(&remove, tails);
}

/* ---- Poisson multiplicities, add or remove: P = sum_k w_k N(k m, 1) against Q = N(0, 1) ---- */

/* The x at which log sum_k w_k exp(k m x - (k m)^2 / 2) = loss, convex and increasing in x; Newton from the right. */
static double multiplicity_point(const tacit_pair_t *pair, double loss) {
  double x = (loss - log(pair->weights[1])) / pair->m + 0.5 * pair->m;
  for (int i = 0; i < 100; i++) {
    double peak = -INFINITY, sum = 0, slope = 0;
    for (size_t k = 0; k < pair->n_weights; k++) {
      double shift = (double)k * pair->m;
      peak = fmax(peak, log(pair->weights[k]) + shift * (x - 0.5 * shift));
    }
    for (size_t k = 0; k < pair->n_weights; k++) {
      double shift = (double)k * pair->m, term = pair->weights[k] * exp(shift * (x - 0.5 * shift) - peak);
      sum += term;
      slope += shift * term;
    }
    double step = (log(sum) + peak - loss) * sum / slope;
    x -= step;
    if (!(fabs(step) > 4 * DBL_EPSILON * (1 + fabs(x)))) {
      break;
    }
  }
  return x;
}

static void multiplicity_remove(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  if (loss <= pair->min_loss) {
    nothing_below(tails);
    return;
  }
  /* the terms that count have logarithms below 100 + |loss| + |m x| */
  double x = multiplicity_point(pair, loss), farthest = 1 + fabs(x) + (double)pair->n_weights * pair->m;
  *tails = (tacit_tails_t){0,
                           normal_above(x),
                           0,
                           normal_above(-x),
                           4 * DBL_EPSILON * farthest * farthest,
                           16 * DBL_EPSILON * (100 + fabs(loss) + (double)pair->n_weights * pair->m * farthest)};
  for (size_t k = 0; k < pair->n_weights; k++) {
    double shift = (double)k * pair->m;
    tails->p_above += pair->weights[k] * normal_above(x - shift);
    tails->p_below += pair->weights[k] * normal_above(shift - x);
  }
}

static void multiplicity_add(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  tacit_tails_t remove;
  if (-loss <= -pair->max_loss) { /* -loss is at or below the infimum of the other direction */
    *tails = (tacit_tails_t){0, 0, 1, 1, DBL_EPSILON, DBL_EPSILON};
    return;
  }
  tacit_pair_t other = *pair;
  other.min_loss = -pair->max_loss;
  multiplicity_remove(&other, -loss, &remove);
  mirror(&remove, tails);
}

/* ---- substitution: a bound of the profile from e^epsilon = 1 on, mirrored below (H(-e) = 1 - e^-e + e^-e H(e)) ---- */

static void symmetric(const tacit_pair_t *pair, double loss, tacit_tails_t *tails,
                      void (*upper)(const tacit_pair_t *pair, double loss, tacit_tails_t *above)) {
  tacit_tails_t above;
  upper(pair, fabs(loss), &above);
  double p = above.p_above, q = above.q_above;
  *tails = loss >= 0 ? (tacit_tails_t){p, q, 1 - p, 1 - q, above.error, above.loss_error}
                     : (tacit_tails_t){1 - q, 1 - p, q, p, above.error, above.loss_error};
}

/* H(y) = q h(alpha), y = 1 + q (alpha - 1) [Balle2018, Theorem 9]: the remove pair where its loss is positive. */
static void fixed_size_upper(const tacit_pair_t *pair, double loss, tacit_tails_t *above) {
  double at = base_loss(pair->rate, loss);
  gaussian(pair->m, at, above);
  above->p_above = (1 - pair->rate) * above->q_above + pair->rate * above->p_above;
  above->error += 4 * DBL_EPSILON;
  above->loss_error = base_loss_error(pair->rate, loss, at);
}

static void fixed_size_substitute(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  symmetric(pair, loss, tails, fixed_size_upper);
}

/*
 * Advanced joint convexity [Balle2018, Theorem 2], y = 1 + q (alpha - 1), beta = y / alpha:
 * H(y) = q [(1 - beta) h1(alpha) + beta h2(alpha)], h1 between a record and none, h2 between two records, both averaged
 * over the multiplicities from 1. Here q_above = -H'(y), p_above = H + y q_above.
 */
static void sampled_upper(const tacit_pair_t *pair, double loss, tacit_tails_t *above) {
  double rate = pair->rate, at = base_loss(rate, loss), p1 = 0, q1 = 0, p2 = 0, q2 = 0, error = 0;
  for (size_t k = 1; k < pair->n_weights; k++) {
    tacit_tails_t one, two;
    double weight = pair->weights[k] / rate;
    gaussian(0.5 * pair->m * (double)k, at, &one);
    gaussian(pair->m * (double)k, at, &two);
    p1 += weight * one.p_above;
    q1 += weight * one.q_above;
    p2 += weight * two.p_above;
    q2 += weight * two.q_above;
    error = fmax(error, two.error);
  }
  double y = exp(loss), alpha = exp(at), beta = rate * y / (rate + expm1(loss)), other = 1 - beta;
  double h1 = fmax(p1 - alpha * q1, 0), h2 = fmax(p2 - alpha * q2, 0), gain = fmax(h2 - h1, 0);
  above->q_above = (1 - rate) * gain / alpha / alpha + other * q1 + beta * q2;
  above->p_above = rate * (other * h1 + beta * h2) + y * above->q_above;
  above->error = 16 * error;
  above->loss_error = base_loss_error(rate, loss, at);
}

static void sampled_substitute(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  symmetric(pair, loss, tails, sampled_upper);
}

/* ---- events ---- */

bool tacit_event_is_directed(const tacit_event_t *event, tacit_relation_t relation) {
  if (event->kind == TACIT_EVENT_PAIR) {
    return true;
  }
  return relation == TACIT_RELATION_ADD_REMOVE && event->sampling != TACIT_SAMPLING_NONE;
}

/*
 * Noise of weight exp(-x^2 / (2 sigma^2)) moved by `shift` steps. A record that moves the sum by fewer is told apart no better:
 * the best tests of a shift d are thresholds t, with P(X >= t) against P(X >= t + d), which falls as d grows.
 */
static tacit_status_t init_discrete_gaussian(tacit_pair_t *pair, double sigma, double shift, tacit_error_t *err) {
  if (sigma > 1e5) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sigma",
                           "the sd of a discrete Gaussian must be at most 1e5 steps: a wider one is a Gaussian but for its name");
  }
  long reach = (long)ceil(40 * sigma + shift) + 1; /* beyond it, less than exp(-800) */
  size_t n = (size_t)(2 * reach + 1);
  double *work = tacit_alloc(n, 3 * sizeof *work), total = 0;
  if (work == NULL) {
    return tacit_error_memory(err);
  }
  for (long x = reach; x >= 0; x--) {
    double weight = exp(-0.5 * (double)x / sigma * ((double)x / sigma));
    total += x > 0 ? 2 * weight : weight;
  }
  for (size_t i = 0; i < n; i++) { /* noise x = reach - i, in increasing order of the loss (D^2 - 2 D x) / (2 sigma^2) */
    double x = (double)reach - (double)i;
    work[i] = shift * (0.5 * shift - x) / sigma / sigma;
    work[n + i] = exp(-0.5 * x / sigma * (x / sigma)) / total;
    work[2 * n + i] = exp(-0.5 * (x - shift) / sigma * ((x - shift) / sigma)) / total;
  }
  tacit_status_t status = tacit_table_init(&pair->own_table, n, work, work + n, work + 2 * n, err);
  double farthest = 1 + shift / (40 * sigma);
  pair->own_table.error = 5000 * DBL_EPSILON * farthest * farthest; /* exponents reach 800 times the square */
  tacit_free(work);
  return status;
}

static tacit_status_t init_randomized_response(tacit_pair_t *pair, double probability, uint64_t buckets,
                                               tacit_error_t *err) {
  double other = probability / (double)buckets, own = 1 - probability + other, odds = log(own / other);
  if (!(odds > 0)) {
    double nothing = 0, one = 1;
    return tacit_table_init(&pair->own_table, 1, &nothing, &one, &one, err);
  }
  const double loss[] = {-odds, 0, odds}, rest = other * (double)(buckets - 2);
  const double p[] = {other, rest, own}, q[] = {own, rest, other};
  return tacit_table_init(&pair->own_table, 3, loss, p, q, err);
}

/* w_k = e^-q q^k / k! until what is left is below 1e-40; returns the mass from 1 on. */
static double set_multiplicities(tacit_pair_t *pair, double mean) {
  double weight = exp(-mean);
  for (size_t k = 0; k < TACIT_MAX_MULTIPLICITY; k++) {
    pair->weights[k] = weight;
    pair->n_weights = k + 1;
    weight *= mean / (double)(k + 1);
    if (k > 0 && weight < 1e-40) {
      break;
    }
  }
  pair->infinite += 2 * weight;
  return -expm1(-mean);
}

static tacit_status_t refuse(const tacit_event_t *event, tacit_relation_t relation, tacit_error_t *err) {
  char text[TACIT_EVENT_TEXT_SIZE];
  tacit_event_format(event, text);
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "event", "event %s has no proven dominating pair under relation %s",
                         text, tacit_relation_string(relation));
}

static tacit_status_t init_base(tacit_pair_t *pair, const tacit_event_t *event, tacit_relation_t relation,
                                tacit_error_t *err) {
  switch (event->kind) {
    case TACIT_EVENT_GAUSSIAN:
      pair->m = 1 / event->noise_multiplier;
      pair->base = gaussian_tails;
      return TACIT_OK;
    case TACIT_EVENT_LAPLACE:
      pair->scale = event->noise_multiplier;
      pair->max_loss = 1 / pair->scale;
      pair->min_loss = -pair->max_loss;
      pair->base = laplace_tails;
      return TACIT_OK;
    case TACIT_EVENT_DISCRETE_GAUSSIAN: {
      double shift = fmax(event->sensitivity, 1);
      return init_discrete_gaussian(pair, event->noise_multiplier * shift, shift, err);
    }
    case TACIT_EVENT_RANDOMIZED_RESPONSE:
      return relation == TACIT_RELATION_SUBSTITUTE
                 ? init_randomized_response(pair, event->probability, event->buckets, err)
                 : refuse(event, relation, err);
    case TACIT_EVENT_PAIR:
    case TACIT_EVENT_PROFILE:
      pair->table = &event->curve->table;
      pair->infinite = event->curve->infinite;
      return TACIT_OK;
    default: return refuse(event, relation, err);
  }
}

static void finish_table(tacit_pair_t *pair) {
  if (pair->base == NULL) {
    pair->table = pair->table != NULL ? pair->table : &pair->own_table;
    pair->base = table_tails;
    pair->min_loss = pair->table->loss[0];
    pair->max_loss = pair->table->loss[pair->table->n - 1];
  }
}

static void reversed_tails(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  tacit_tails_t forward;
  pair->base(pair, -loss, &forward);
  mirror(&forward, tails);
}

/* A user's pair in the other order; its mass at an infinite loss is then that of -infinity. */
static void reverse(tacit_pair_t *pair) {
  double sum_q = pair->table->q_below[pair->table->n - 1], max_loss = pair->max_loss;
  pair->infinite = fmax(1 - sum_q, 0) > 4e-15 ? 1 - sum_q : 0;
  pair->max_loss = -pair->min_loss;
  pair->min_loss = -max_loss;
  pair->tails = reversed_tails;
}

static void sample_poisson(tacit_pair_t *pair, tacit_direction_t direction) {
  double least = log1p(-pair->rate), most = isinf(pair->max_loss) ? INFINITY : log1p(pair->rate * expm1(pair->max_loss));
  double lowest = isinf(pair->min_loss) ? least : log1p(pair->rate * expm1(pair->min_loss));
  bool is_remove = direction == TACIT_DIRECTION_REMOVE;
  pair->tails = is_remove ? sampled_remove : sampled_add;
  pair->min_loss = is_remove ? lowest : -most;
  pair->max_loss = is_remove ? most : -lowest;
}

static tacit_status_t sample(tacit_pair_t *pair, const tacit_event_t *event, tacit_relation_t relation,
                             tacit_direction_t direction, tacit_error_t *err) {
  bool is_gaussian = event->kind == TACIT_EVENT_GAUSSIAN, is_remove = direction == TACIT_DIRECTION_REMOVE;
  pair->rate = event->sampling_rate;
  if (event->sampling != TACIT_SAMPLING_MULTIPLICITY && pair->rate >= 1) {
    return TACIT_OK;
  }
  if (relation == TACIT_RELATION_ADD_REMOVE) {
    if (event->sampling == TACIT_SAMPLING_POISSON) {
      sample_poisson(pair, direction);
      return TACIT_OK;
    }
    if (event->sampling == TACIT_SAMPLING_WITHOUT_REPLACEMENT || !is_gaussian) {
      return refuse(event, relation, err);
    }
    set_multiplicities(pair, pair->rate);
    pair->tails = is_remove ? multiplicity_remove : multiplicity_add;
    *(is_remove ? &pair->min_loss : &pair->max_loss) = is_remove ? -pair->rate : pair->rate;
    return TACIT_OK;
  }
  if (!is_gaussian) {
    return refuse(event, relation, err);
  }
  if (event->sampling == TACIT_SAMPLING_WITHOUT_REPLACEMENT) {
    pair->tails = fixed_size_substitute;
    return TACIT_OK;
  }
  if (event->sampling == TACIT_SAMPLING_POISSON) {
    pair->n_weights = 2;
    pair->weights[1] = pair->rate;
  } else {
    pair->rate = set_multiplicities(pair, pair->rate);
  }
  pair->tails = sampled_substitute;
  return TACIT_OK;
}

tacit_status_t tacit_pair_init(tacit_pair_t *pair, const tacit_event_t *event, tacit_relation_t relation,
                               tacit_direction_t direction, tacit_error_t *err) {
  *pair = (tacit_pair_t){.rate = 1, .min_loss = -INFINITY, .max_loss = INFINITY, .count = event->count};
  tacit_status_t status = init_base(pair, event, relation, err);
  if (status == TACIT_OK) {
    finish_table(pair);
    pair->tails = pair->base;
    if (event->kind == TACIT_EVENT_PAIR && direction == TACIT_DIRECTION_ADD) {
      reverse(pair);
    }
    if (event->sampling != TACIT_SAMPLING_NONE) {
      status = sample(pair, event, relation, direction, err);
    }
  }
  if (status != TACIT_OK) {
    tacit_pair_clear(pair);
  }
  return status;
}

void tacit_pair_use_own_table(tacit_pair_t *pair) {
  pair->table = NULL; /* own_table may since have moved with the pair */
  pair->base = NULL;
  finish_table(pair);
  pair->tails = pair->base;
}

void tacit_pair_init_gaussian(tacit_pair_t *pair, double rho) {
  *pair = (tacit_pair_t){.tails = gaussian_tails,
                         .base = gaussian_tails,
                         .m = sqrt(2 * rho),
                         .rate = 1,
                         .min_loss = -INFINITY,
                         .max_loss = INFINITY,
                         .count = 1};
}

void tacit_pair_clear(tacit_pair_t *pair) {
  tacit_table_clear(&pair->own_table);
}

double tacit_pair_delta(const tacit_pair_t *pair, double epsilon, double *error) {
  tacit_tails_t tails;
  pair->tails(pair, epsilon, &tails);
  /* a mass that is no longer a normal number may be anything up to the least one, and pay for up to all of P's */
  double least = fmin(exp(epsilon + log(DBL_MIN)), tails.p_above);
  double paid = tails.q_above > 0 ? exp(epsilon + log(tails.q_above)) : 0, exponent = 1 + 2 * epsilon;
  if (epsilon < 700) {
    paid = exp(epsilon) * tails.q_above;
    exponent = 1;
  }
  paid = fmin(paid, tails.p_above);
  *error = (tails.error + 4 * DBL_EPSILON * exponent) * (tails.p_above + paid) + tails.loss_error * paid +
           (tails.q_above < 2 * DBL_MIN ? least : 0);
  return tails.p_above - paid + pair->infinite;
}
