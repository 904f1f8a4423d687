/*
 * The dominating pairs of the events, as distributions of their privacy loss (docs/theory.md, section 9).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "account/pair.h"

double tacit_normal_above(double z) { return 0.5 * erfc(z * 0.70710678118654752440); }

void tacit_gaussian_tails(double m, double loss, tacit_tails_t *tails) {
  double center = loss / m, half = 0.5 * m, farthest = 1 + fabs(center) + half;
  *tails = (tacit_tails_t){.p_above = tacit_normal_above(center - half),
                           .q_above = tacit_normal_above(center + half),
                           .p_below = tacit_normal_above(half - center),
                           .q_below = tacit_normal_above(-center - half),
                           .error = 4 * DBL_EPSILON * farthest * farthest};
}

static void gaussian_tails(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  tacit_gaussian_tails(pair->m, loss, tails);
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

/* The profile of bounded range, (e^(epsilon / 2) - sqrt y)^2 / (e^epsilon - 1): docs/theory.md, section 9.12.
 */
static void bounded_range_tails(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  double e = pair->max_loss, l = fmin(fmax(loss, -e), e), whole = expm1(e), up = expm1(0.5 * (e - l)),
         down = expm1(0.5 * (e + l));
  *tails = (tacit_tails_t){fmin(exp(0.5 * (e + l)) * up / whole, 1),
                           up / whole,
                           down / whole,
                           fmin(exp(0.5 * (e - l)) * down / whole, 1),
                           4 * DBL_EPSILON * (8 + e),
                           4 * DBL_EPSILON * e};
}

static void table_tails(const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  tacit_table_tails(pair->table, loss, tails);
}

/* ---- events ---- */

bool tacit_event_is_directed(const tacit_event_t *event, tacit_relation_t relation) {
  if (event->kind == TACIT_EVENT_PAIR) {
    return true;
  }
  bool is_one_sided = event->sampling != TACIT_SAMPLING_NONE ||
                      event->kind == TACIT_EVENT_RANDOMIZED_RESPONSE ||
                      event->kind == TACIT_EVENT_GAUSSIAN_MIXTURE;
  return relation == TACIT_RELATION_ADD_REMOVE && is_one_sided;
}

bool tacit_event_is_attained(const tacit_event_t *event, tacit_relation_t relation) {
  bool is_replaced =
      event->sampling == TACIT_SAMPLING_WITH_REPLACEMENT ||
      (event->sampling == TACIT_SAMPLING_WITHOUT_REPLACEMENT && relation == TACIT_RELATION_SUBSTITUTE);
  return !is_replaced && event->sampling != TACIT_SAMPLING_TRUNCATED_POISSON &&
         event->kind != TACIT_EVENT_EXPONENTIAL;
}

/*
 * Noise of weight exp(-x^2 / (2 sigma^2)) moved by `shift` steps. A record that moves the sum by fewer is
 * told apart no better: the best tests of a shift d are thresholds t, with P(X >= t) against P(X >= t + d),
 * which falls as d grows.
 */
static tacit_status_t init_discrete_gaussian(tacit_pair_t *pair, double sigma, double shift,
                                             tacit_error_t *err) {
  if (sigma > 1e5) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sigma",
                           "the sd of a discrete Gaussian must be at most 1e5 steps: a wider one is a "
                           "Gaussian but for its name");
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
  for (size_t i = 0; i < n;
       i++) { /* noise x = reach - i, in increasing order of the loss (D^2 - 2 D x) / (2 sigma^2) */
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

/* Noise of weight r^|x|, r = e^(-1 / scale), moved by `shift` steps; losses from -shift / scale to shift /
 * scale. */
static tacit_status_t init_discrete_laplace(tacit_pair_t *pair, double scale, double shift,
                                            tacit_error_t *err) {
  size_t n = (size_t)shift + 1;
  double *work = tacit_alloc(n, 3 * sizeof *work), r = exp(-1 / scale), inner = -expm1(-1 / scale) / (1 + r);
  if (work == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n; i++) { /* outcomes at most 0, 1, ..., at least shift */
    double x = (double)i, weight = i == 0 || i + 1 == n ? 1 / (1 + r) : inner;
    work[i] = (2 * x - shift) / scale;
    work[n + i] = weight * exp((x - shift) / scale);
    work[2 * n + i] = weight * exp(-x / scale);
  }
  tacit_status_t status = tacit_table_init(&pair->own_table, n, work, work + n, work + 2 * n, err);
  pair->own_table.error = 8 * DBL_EPSILON * (4 + shift / scale + 1 / scale);
  tacit_free(work);
  return status;
}

static tacit_status_t init_two(tacit_pair_t *pair, const double loss[2], const double p[2], const double q[2],
                               tacit_error_t *err) {
  tacit_status_t status = tacit_table_init(&pair->own_table, 2, loss, p, q, err);
  pair->own_table.error = 4 * DBL_EPSILON * (8 + fmax(fabs(loss[0]), fabs(loss[1])));
  return status;
}

/* Of all that are (epsilon, delta)-differentially private, the worst [Kairouz2015]. */
static tacit_status_t init_approximate(tacit_pair_t *pair, double epsilon, double delta, tacit_error_t *err) {
  double other = (1 - delta) * exp(-epsilon) / (1 + exp(-epsilon)), own = (1 - delta) / (1 + exp(-epsilon));
  pair->infinite = delta;
  pair->infinite_lower = delta;
  return init_two(pair, (const double[]){-epsilon, epsilon}, (const double[]){other, own},
                  (const double[]){own, other}, err);
}

/* An answer against a uniform one. */
static tacit_status_t init_absent_response(tacit_pair_t *pair, double probability, uint64_t buckets,
                                           tacit_error_t *err) {
  double n = (double)buckets, other = probability / n, own = 1 - probability + other;
  return init_two(pair, (const double[]){log(probability), log(n * own)},
                  (const double[]){other * (n - 1), own}, (const double[]){(n - 1) / n, 1 / n}, err);
}

/* Without noise: a record that is seen, with probability `rate`, is certain; of which data set is then first
 * tells its name. */
static tacit_status_t init_bare(tacit_pair_t *pair, const tacit_event_t *event, tacit_relation_t relation,
                                tacit_direction_t direction, tacit_error_t *err) {
  double rate = tacit_pair_seen(event), rest = 1 - rate, p = rest, q = rest, loss = 0;
  bool is_add = direction == TACIT_DIRECTION_ADD || direction == TACIT_DIRECTION_ADD_ATTAINED;
  if (tacit_event_is_directed(event, relation)) {
    *(is_add ? &p : &q) = 1;
    loss = rest > 0 ? (is_add ? -log1p(-rate) : log1p(-rate)) : 0;
    rate = is_add ? 0 : rate;
  }
  pair->infinite = fmin(rate * (1 + 4 * DBL_EPSILON), 1);
  pair->infinite_lower =
      event->sampling == TACIT_SAMPLING_TRUNCATED_POISSON ? 0 : rate * (1 - 4 * DBL_EPSILON);
  return tacit_table_init(&pair->own_table, 1, &loss, &p, &q, err);
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

tacit_status_t tacit_pair_refuse(const tacit_event_t *event, tacit_relation_t relation, tacit_error_t *err) {
  char text[TACIT_EVENT_TEXT_SIZE];
  tacit_event_format(event, text);
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "event",
                         "event %s has no proven dominating pair under relation %s", text,
                         tacit_relation_string(relation));
}

static tacit_status_t init_base(tacit_pair_t *pair, const tacit_event_t *event, tacit_relation_t relation,
                                bool is_attained, tacit_error_t *err) {
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
  case TACIT_EVENT_DISCRETE_LAPLACE: {
    double shift = fmax(event->sensitivity, 1);
    return init_discrete_laplace(pair, event->noise_multiplier * shift, shift, err);
  }
  case TACIT_EVENT_RANDOMIZED_RESPONSE:
    return relation == TACIT_RELATION_SUBSTITUTE || event->probability >= 1
               ? init_randomized_response(pair, event->probability, event->buckets, err)
               : init_absent_response(pair, event->probability, event->buckets, err);
  case TACIT_EVENT_APPROXIMATE:
    return init_approximate(pair, event->epsilon, event->delta, err);
  case TACIT_EVENT_EXPONENTIAL:
    if (is_attained) { /* of all ranges of this length the even one */
      return init_approximate(pair, 0.5 * event->epsilon, 0, err);
    }
    pair->max_loss = event->epsilon;
    pair->min_loss = -event->epsilon;
    pair->base = bounded_range_tails;
    return TACIT_OK;
  case TACIT_EVENT_GAUSSIAN_MIXTURE:
    pair->base = gaussian_tails; /* not used: the mixture has its own */
    return TACIT_OK;
  case TACIT_EVENT_PAIR:
  case TACIT_EVENT_PROFILE:
    pair->table = &event->curve->table;
    pair->infinite = event->curve->infinite;
    pair->infinite_lower = event->curve->infinite_lower;
    return TACIT_OK;
  default:
    return tacit_pair_refuse(event, relation, err);
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
  tacit_tails_mirror(&forward, tails);
}

/* A pair of tables in the other order; its mass at an infinite loss is then that of -infinity. */
static void reverse(tacit_pair_t *pair) {
  double sum_q = pair->table->q_below[pair->table->n - 1], max_loss = pair->max_loss;
  pair->infinite = fmax(1 - sum_q, 0) > 4e-15 ? 1 - sum_q : 0;
  pair->infinite_lower = fmax(pair->infinite - 4e-9, 0); /* columns add up to 1 within 1e-9 */
  pair->max_loss = -pair->min_loss;
  pair->min_loss = -max_loss;
  pair->tails = reversed_tails;
}

tacit_status_t tacit_pair_init(tacit_pair_t *pair, const tacit_event_t *event, tacit_relation_t relation,
                               tacit_direction_t direction, tacit_error_t *err) {
  *pair = (tacit_pair_t){.rate = 1, .min_loss = -INFINITY, .max_loss = INFINITY, .count = event->count};
  bool is_attained =
      direction == TACIT_DIRECTION_REMOVE_ATTAINED || direction == TACIT_DIRECTION_ADD_ATTAINED;
  bool is_add = direction == TACIT_DIRECTION_ADD || direction == TACIT_DIRECTION_ADD_ATTAINED;
  bool is_bare = tacit_event_is_bare(event);
  tacit_status_t status = is_bare ? init_bare(pair, event, relation, direction, err)
                                  : init_base(pair, event, relation, is_attained, err);
  if (status == TACIT_OK) {
    finish_table(pair);
    pair->tails = pair->base;
    if (is_bare) {
      return TACIT_OK;
    }
    if (is_add && tacit_event_is_directed(event, relation) && pair->base == table_tails &&
        event->sampling == TACIT_SAMPLING_NONE) {
      reverse(pair);
    }
    if (event->kind == TACIT_EVENT_GAUSSIAN_MIXTURE) {
      tacit_pair_mix(pair, event->curve, relation, direction);
    } else if (event->sampling != TACIT_SAMPLING_NONE) {
      status = tacit_pair_sample(pair, event, relation, direction, err);
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

void tacit_pair_clear(tacit_pair_t *pair) { tacit_table_clear(&pair->own_table); }

double tacit_pair_delta(const tacit_pair_t *pair, double epsilon, double *error) {
  tacit_tails_t tails;
  pair->tails(pair, epsilon, &tails);
  /* a mass that is no longer a normal number may be anything up to the least one, and pay for up to all of
   * P's */
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
