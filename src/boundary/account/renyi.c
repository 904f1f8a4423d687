/*
 * Renyi differential privacy [Mironov2017] of each kind of event, and the accountants built on it
 * (docs/theory.md, section 9.7).
 */
#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "account/bit.h"
#include "account/renyi.h"

/* An event with what evaluations at many orders share. */
typedef struct curve {
  const tacit_event_t *event;
  tacit_pair_t pair; /* of tables and mixtures */
  bool is_mixture, is_opposed;
  tacit_bit_class_t bits;
} curve_t;

typedef struct sum {
  curve_t *curves; /* shape (n) */
  size_t n;
} sum_t;

static tacit_status_t refuse_renyi(const tacit_event_t *event, const char *method, tacit_error_t *err) {
  char text[TACIT_EVENT_TEXT_SIZE];
  tacit_event_format(event, text);
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "event", "accountant %s has no proven bound for %s", method,
                         text);
}

/* ---- sampled Gaussian ---- */

/*
 * log E_Q (1 - q + q e^(m x - m^2 / 2))^order, x ~ N(0, 1), by the trapezoidal rule. On Im x = a the
 * integrand is at most e^(a^2 / 2) times its value on the line, since |1 - q + q e^z| <= 1 - q + q e^(Re z),
 * and it is analytic for a < pi / m: the rule errs by at most 2 e^(a^2 / 2) / (e^(2 pi a / h) - 1) of the
 * value [Trefethen2014, Theorem 5.1], here 1e-17. Beyond the range the integrand is below its Gaussian
 * envelopes, of which 1e-17 remain.
 */
static double sampled_log_moment(double q, double m, double order) {
  const double pi = 3.14159265358979323846;
  double a = fmin(0.99 * pi / m, 9), h = 2 * pi * a / (41 + 0.5 * a * a),
         spread = 9 + sqrt(2 * order * -log(q));
  double high = order * m + spread, peak = -INFINITY, total = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (double i = floor(-9.5 / h); i * h <= high; i++) {
      double x = i * h, z = m * x - 0.5 * m * m;
      double log_ratio = z > 30 ? z + log(q) + log1p((1 - q) / q * exp(-z)) : log1p(q * expm1(z));
      double term = order * log_ratio - 0.5 * x * x;
      peak = pass == 0 ? fmax(peak, term) : peak;
      total += pass == 1 ? exp(term - peak) : 0;
    }
  }
  double rounding = 4 * DBL_EPSILON * (4 + order * m * order * m); /* of the exponents that count */
  return peak + log(total * h) - 0.91893853320467274178 + rounding;
}

static double sampled_renyi(const tacit_event_t *event, double order) {
  double m = 1 / event->noise_multiplier;
  if (order * m > 1e5) {
    return 0.5 * order * m * m; /* sampling never hurts [Mironov2019] */
  }
  double moment = sampled_log_moment(event->sampling_rate, m, order);
  return fmin(fmax(moment, 0) / (order - 1), 0.5 * order * m * m);
}

/* ---- others ---- */

/* [Mironov2017, Proposition 6] */
static double laplace_renyi(double scale, double order) {
  double first = log(order / (2 * order - 1)) + (order - 1) / scale;
  double second = log((order - 1) / (2 * order - 1)) - order / scale;
  double peak = fmax(first, second);
  return fmin((peak + log1p(exp(-fabs(first - second)))) / (order - 1) * (1 + 1e-14), 1 / scale);
}

/* log E_P e^((order - 1) L) over a table, in both orders of the pair. */
static double table_renyi(const tacit_pair_t *pair, double order) {
  const tacit_table_t *table = pair->table;
  double worst = pair->infinite > 0 ? INFINITY : 0;
  for (int side = 0; side < 2; side++) {
    double peak = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
      for (size_t i = 0; i < table->n; i++) {
        double p = i > 0 ? table->p_below[i] - table->p_below[i - 1] : table->p_below[0];
        double q = i > 0 ? table->q_below[i] - table->q_below[i - 1] : table->q_below[0];
        double mass = side == 0 ? p : q, loss = side == 0 ? table->loss[i] : -table->loss[i];
        double term = mass > 0 ? log(mass) + (order - 1) * loss : -INFINITY;
        peak = pass == 0 ? fmax(peak, term) : peak;
        sum += pass == 1 ? exp(term - peak) : 0;
      }
    }
    worst = fmax(worst, (peak + log(sum) + 1e-12 * (1 + order)) / (order - 1));
  }
  return worst;
}

/* ---- the best of a random number of releases [Papernot2022] ---- */

/* Theorem 6, with (log(1 + 1 / (order - 1)), delta) of one release. */
static double repeat_poisson_renyi(const tacit_event_t *event, double order) {
  double rho = 0.5 / event->noise_multiplier / event->noise_multiplier;
  double delta =
      tacit_exp_above(tacit_gaussian_log_delta_upper(rho, log1p(1 / (order - 1)) * (1 - 4 * DBL_EPSILON)));
  double log_mean = log(event->mean) / (order - 1);
  return fmax(order * rho + event->mean * delta + log_mean, 0) +
         8 * DBL_EPSILON * (order * rho + fabs(log_mean) + 1);
}

/* Mean of the truncated negative binomial number of shape h: h (1 - g) / (g (1 - g^h)), falling in g. */
static double mean_repeats(double shape, double log_gamma) {
  double few = -expm1(log_gamma),
         none = fabs(shape * log_gamma) < 1e-12 ? -log_gamma : -expm1(shape * log_gamma) / shape;
  return few * exp(-log_gamma) / none;
}

/*
 * Theorem 2: R'(order) = R(order) + (1 + h) [(1 - 1 / o) R(o) + log(1 / g) / o] + log(mean) / (order - 1) at
 * the best o >= 1; of a Gaussian release R(o) = o rho.
 */
static double repeat_binomial_renyi(const tacit_event_t *event, double order) {
  double rho = 0.5 / event->noise_multiplier / event->noise_multiplier, low = -800, high = 0;
  for (int i = 0; i < 100; i++) { /* low has too large a mean: log(1 / g) is rounded up */
    double middle = 0.5 * (low + high);
    *(mean_repeats(event->shape, middle) >= event->mean ? &low : &high) = middle;
  }
  double other = fmax(sqrt(-low / rho), 1), log_mean = log(event->mean) / (order - 1);
  double bracket = (1 + event->shape) * ((other - 1) * rho - low / other);
  return order * rho + bracket + log_mean + 16 * DBL_EPSILON * (order * rho + bracket + log_mean + 1);
}

static double renyi(const curve_t *curve, double order) {
  const tacit_event_t *event = curve->event;
  if (curve->is_mixture) {
    return tacit_mixture_renyi(&curve->pair, curve->is_opposed, order);
  }
  switch (event->kind) {
  case TACIT_EVENT_GAUSSIAN:
    return event->sampling == TACIT_SAMPLING_NONE
               ? 0.5 * order / event->noise_multiplier / event->noise_multiplier
               : sampled_renyi(event, order);
  case TACIT_EVENT_LAPLACE:
    return laplace_renyi(event->noise_multiplier, order);
  case TACIT_EVENT_DISCRETE_GAUSSIAN: /* [Canonne2020, Proposition 5] */
    return 0.5 * order / event->noise_multiplier / event->noise_multiplier;
  case TACIT_EVENT_RANDOMIZED_RESPONSE:
  case TACIT_EVENT_DISCRETE_LAPLACE:
  case TACIT_EVENT_APPROXIMATE:
  case TACIT_EVENT_PAIR:
    return table_renyi(&curve->pair, order);
  case TACIT_EVENT_ZCDP:
    return event->xi + order * event->rho;
  case TACIT_EVENT_EXPONENTIAL:
    return fmin(0.125 * order * event->epsilon * event->epsilon, event->epsilon);
  case TACIT_EVENT_REPEAT_POISSON:
    return repeat_poisson_renyi(event, order);
  case TACIT_EVENT_REPEAT_BINOMIAL:
    return repeat_binomial_renyi(event, order);
  default:
    return tacit_bit_class_renyi(&curve->bits, order) + order * event->rho;
  }
}

/* ---- sums ---- */

/* Events whose dominating pair is a mixture of Gaussians; the Poisson sample without a record is that by a
 * closed form. */
static bool is_mixture(const tacit_event_t *event, tacit_relation_t relation) {
  bool is_poisson = event->kind == TACIT_EVENT_GAUSSIAN && event->sampling == TACIT_SAMPLING_POISSON;
  return event->kind == TACIT_EVENT_GAUSSIAN_MIXTURE || (is_poisson && relation == TACIT_RELATION_SUBSTITUTE);
}

/* What a bound is proven for: the sampled Gaussian by its remove direction, the larger [Mironov2019, Theorem
 * 5]. */
static bool has_renyi(const tacit_event_t *event) {
  if (event->sampling != TACIT_SAMPLING_NONE) {
    return event->kind == TACIT_EVENT_GAUSSIAN && event->sampling == TACIT_SAMPLING_POISSON;
  }
  bool is_repeat = event->kind == TACIT_EVENT_REPEAT_POISSON || event->kind == TACIT_EVENT_REPEAT_BINOMIAL;
  bool is_loud = is_repeat && !(event->noise_multiplier > 0);
  return event->kind != TACIT_EVENT_PROFILE && !is_loud;
}

static bool has_table(const tacit_event_t *event) {
  return event->kind == TACIT_EVENT_RANDOMIZED_RESPONSE || event->kind == TACIT_EVENT_PAIR ||
         event->kind == TACIT_EVENT_DISCRETE_LAPLACE || event->kind == TACIT_EVENT_APPROXIMATE;
}

static void sum_clear(sum_t *sum) {
  for (size_t i = 0; i < sum->n; i++) {
    tacit_pair_clear(&sum->curves[i].pair);
    tacit_bit_class_clear(&sum->curves[i].bits);
  }
  tacit_free(sum->curves);
}

static tacit_status_t sum_init(sum_t *sum, const tacit_event_t *events, size_t n_events,
                               const tacit_renyi_query_t *query, const char *method, tacit_error_t *err) {
  tacit_relation_t relation = query->relation;
  *sum = (sum_t){.curves = tacit_alloc_zero(n_events + 1, sizeof *sum->curves)};
  tacit_status_t status = sum->curves != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; status == TACIT_OK && i < n_events; i++) {
    if (tacit_event_is_free(&events[i])) {
      continue;
    }
    curve_t *curve = &sum->curves[sum->n];
    curve->event = &events[i];
    curve->is_mixture = is_mixture(&events[i], relation);
    curve->is_opposed = relation == TACIT_RELATION_SUBSTITUTE;
    if (!has_renyi(&events[i])) {
      status = refuse_renyi(&events[i], method, err);
    } else if (has_table(&events[i]) || curve->is_mixture) {
      status = tacit_pair_init(&curve->pair, &events[i], relation, TACIT_DIRECTION_REMOVE, err);
    } else if (tacit_event_is_bit(&events[i])) {
      status = tacit_bit_class_init(&curve->bits, &events[i], 0.001, query->is_quick ? 0.03 : 0.001, 1, err);
    }
    sum->n += status == TACIT_OK;
  }
  if (status != TACIT_OK) {
    sum_clear(sum);
  }
  return status;
}

static double sum_at(const sum_t *sum, double order) {
  double total = 0;
  for (size_t i = 0; i < sum->n; i++) {
    total += (double)tacit_event_whole_count(sum->curves[i].event) * renyi(&sum->curves[i], order);
  }
  return total * (1 + 1e-14 * (double)(sum->n + 4));
}

/* ---- conversions ---- */

/* The bound that an order gives: epsilon, or log delta. */
static double improved(const tacit_renyi_query_t *query, double total, double order) {
  double excess = order - 1, log_ratio = log1p(-1 / order), log_order = log(order);
  if (query->is_epsilon_given) {
    double log_delta = excess * (total - query->epsilon + log_ratio) - log_order;
    return fmin(log_delta + 8 * DBL_EPSILON * (excess * (total + query->epsilon) + log_order + 1), 0);
  }
  double epsilon = total + log_ratio - (query->log_delta + log_order) / excess;
  return fmax(epsilon + 8 * DBL_EPSILON * (total + (log_order - query->log_delta) / excess + 1), 0);
}

static double classical(const tacit_renyi_query_t *query, double total, double order) {
  double bound = query->is_epsilon_given ? fmin((order - 1) * (total - query->epsilon), 0)
                                         : total - query->log_delta / (order - 1);
  return bound + 8 * DBL_EPSILON * fabs(bound);
}

typedef struct search {
  const sum_t *sum;
  const tacit_renyi_query_t *query;
  double best, order;
} search_t;

/* The bound at order 1 + e^x. */
static double try_order(search_t *search, double x) {
  double order = 1 + exp(x), value = improved(search->query, sum_at(search->sum, order), order);
  if (value < search->best) {
    search->best = value;
    search->order = order;
  }
  return value;
}

/* A grid of orders, and golden section around the best: every order is valid, so the search need not be
 * exact. */
static double search(const sum_t *sum, const tacit_renyi_query_t *query, double *order) {
  const double golden = 0.61803398874989484820, spacing = 0.25;
  search_t of = {sum, query, INFINITY, 0};
  for (double x = -5; x <= 11.5; x += spacing) {
    try_order(&of, x);
  }
  double low = log(of.order - 1) - spacing, high = low + 2 * spacing;
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = try_order(&of, left), at_right = try_order(&of, right);
  for (int i = 0; i < 30; i++) {
    if (at_left < at_right) {
      high = right, right = left, at_right = at_left;
      left = high - golden * (high - low);
      at_left = try_order(&of, left);
    } else {
      low = left, left = right, at_left = at_right;
      right = low + golden * (high - low);
      at_right = try_order(&of, right);
    }
  }
  *order = of.order;
  return of.best;
}

tacit_status_t tacit_renyi_total(const tacit_event_t *events, size_t n_events, tacit_relation_t relation,
                                 double order, double *total, tacit_error_t *err) {
  sum_t sum;
  const tacit_renyi_query_t query = {.relation = relation};
  tacit_status_t status = sum_init(&sum, events, n_events, &query, "rdp", err);
  if (status == TACIT_OK) {
    *total = sum_at(&sum, order);
    sum_clear(&sum);
  }
  return status;
}

tacit_status_t tacit_renyi_bound(const tacit_event_t *events, size_t n_events,
                                 const tacit_renyi_query_t *query, double *answer, double *order,
                                 tacit_error_t *err) {
  sum_t sum;
  tacit_status_t status = sum_init(&sum, events, n_events, query, "rdp", err);
  if (status == TACIT_OK) {
    *order = 0;
    *answer = sum.n > 0 ? search(&sum, query, order) : query->is_epsilon_given ? -INFINITY : 0;
    sum_clear(&sum);
  }
  return status;
}

tacit_status_t tacit_moments_bound(const tacit_event_t *events, size_t n_events,
                                   const tacit_renyi_query_t *query, double *answer, double *order,
                                   tacit_error_t *err) {
  for (size_t i = 0; i < n_events; i++) {
    if (events[i].kind != TACIT_EVENT_GAUSSIAN) {
      return refuse_renyi(&events[i], "moments", err);
    }
  }
  sum_t sum;
  tacit_status_t status = sum_init(&sum, events, n_events, query, "moments", err);
  if (status != TACIT_OK) {
    return status;
  }
  *order = 0;
  *answer = sum.n > 0 ? INFINITY : query->is_epsilon_given ? -INFINITY : 0;
  for (int alpha = 2; sum.n > 0 && alpha <= 256; alpha++) {
    double value = classical(query, sum_at(&sum, alpha), alpha);
    *order = value < *answer ? alpha : *order;
    *answer = fmin(*answer, value);
  }
  sum_clear(&sum);
  return TACIT_OK;
}

/* A pure epsilon gives epsilon^2 / 2 [BunSteinke2016, Proposition 1.4]. */
static double zcdp_of(const tacit_event_t *event) {
  double scale = event->noise_multiplier;
  switch (event->kind) {
  case TACIT_EVENT_GAUSSIAN:
  case TACIT_EVENT_DISCRETE_GAUSSIAN:
  case TACIT_EVENT_LAPLACE:
    return 0.5 / scale / scale;
  case TACIT_EVENT_RANDOMIZED_RESPONSE: { /* against a uniform answer it is less */
    double other = event->probability / (double)event->buckets,
           odds = log((1 - event->probability + other) / other);
    return 0.5 * odds * odds;
  }
  case TACIT_EVENT_DISCRETE_LAPLACE:
    return 0.5 / scale / scale;
  case TACIT_EVENT_APPROXIMATE:
    return event->delta > 0 ? INFINITY : 0.5 * event->epsilon * event->epsilon;
  case TACIT_EVENT_ZCDP:
    return event->xi > 0 ? INFINITY : event->rho;
  case TACIT_EVENT_EXPONENTIAL:
    return 0.125 * event->epsilon * event->epsilon;
  default:
    return tacit_event_is_bit(event) ? tacit_bit_zcdp(event) + event->rho : INFINITY;
  }
}

tacit_status_t tacit_zcdp_total(const tacit_event_t *events, size_t n_events, double *rho,
                                tacit_error_t *err) {
  tacit_exact_sum_t sum = {0, 0};
  for (size_t i = 0; i < n_events; i++) {
    const tacit_event_t *event = &events[i];
    if (tacit_event_is_free(event)) {
      continue;
    }
    bool is_bare = tacit_event_is_bare(event);
    double each = event->sampling == TACIT_SAMPLING_NONE ? zcdp_of(event) : INFINITY;
    if (isinf(each) && !is_bare) {
      return refuse_renyi(event, "zcdp", err);
    }
    tacit_exact_sum_add(
        &sum, fmax((double)tacit_event_whole_count(event) * each * (1 + 16 * DBL_EPSILON), DBL_MIN));
  }
  *rho = tacit_rho_upper(&sum);
  return TACIT_OK;
}
