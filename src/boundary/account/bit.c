/*
 * The distributions of accept/reject bits, and the Renyi divergence of the worst of them (docs/theory.md,
 * section 10).
 *
 * One pair (p, q), p <= q, of Bernoulli distributions is a post-processing of another, (P, P + G), if (q - p)
 * / G is at most min(p / P, (1 - p) / (1 - P)). So one pair stands for all log ratios of a cell, at the cost
 * of a factor near 1 on its difference: how much a(l + sensitivity) - a(l) can grow within the cell, times
 * how much 1 - a can fall.
 */
#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "account/bit.h"

static const double root_half = 0.70710678118654752440;

static double normal_below(double z) { return 0.5 * erfc(-z * root_half); }

/*
 * a = Phi(y) + e^l Phi(-y - sigma), y = l / sigma - sigma / 2. For l >= 0; its complement without
 * cancellation is e^(-y^2 / 2) / 2 times the difference of two erfcx.
 */
static void penalty_upward(double sigma, double lambda, double *accept, double *reject) {
  double y = lambda / sigma - 0.5 * sigma;
  if (y < 0) {
    *accept = normal_below(y) + exp(lambda) * normal_below(-y - sigma);
    *reject = 1 - *accept;
    return;
  }
  *reject =
      0.5 * exp(-0.5 * y * y) * -tacit_erfcx_slope(y * root_half, sigma * root_half) * sigma * root_half;
  *reject = fabs(*reject);
  *accept = 1 - *reject;
}

/* a = sin^2(phi0 / 2 + kappa l / 2), tan(phi0 / 2) = 2 kappa, capped; for l >= 0. */
static void arcsine_upward(double kappa, double cap, double lambda, double *accept, double *reject) {
  double angle = fmin(atan(2 * kappa) + 0.5 * kappa * lambda, 1.57079632679489661923), s = sin(angle),
         c = cos(angle);
  bool is_capped = s * s >= cap;
  *accept = is_capped ? cap : s * s;
  *reject = is_capped ? 1 - cap : c * c;
}

void tacit_bit_accept(const tacit_event_t *event, double lambda, double *accept, double *reject) {
  double size = fabs(lambda), ratio = exp(-size);
  switch (event->kind) {
  case TACIT_EVENT_PROBIT_BIT:
    *accept = normal_below(lambda / event->sigma);
    *reject = normal_below(-lambda / event->sigma);
    return;
  case TACIT_EVENT_PENALTY_BIT:
    penalty_upward(event->sigma, size, accept, reject);
    break;
  case TACIT_EVENT_ARCSINE_BIT:
    arcsine_upward(event->kappa, event->cap, size, accept, reject);
    break;
  default:
    *accept = 1 / (1 + ratio), *reject = ratio / (1 + ratio);
    break;
  }
  if (lambda < 0) { /* balance: a(-l) = e^-l a(l) */
    *accept *= ratio;
    *reject = 1 - *accept;
  }
}

/* ---- the covering ---- */

/* A pair of Bernoulli distributions with p <= q, and their complements. */
typedef struct bernoulli {
  double p, q, reject_p, reject_q;
} bernoulli_t;

static bool has_gaussian_tails(const tacit_event_t *event) {
  return event->kind == TACIT_EVENT_PENALTY_BIT || event->kind == TACIT_EVENT_PROBIT_BIT;
}

/* A bound of the log derivative of a(l + sensitivity) - a(l) on [lambda, inf). */
static double growth(const tacit_event_t *event, double lambda) {
  return event->kind == TACIT_EVENT_PROBIT_BIT ? fmax(-lambda, 0) / event->sigma / event->sigma : 1;
}

/* Cells so narrow that the factors stay near 1: logarithms of a and 1 - a bend at the scale of sigma, faster
 * in its tails. */
static double cell_width(const tacit_event_t *event, double lambda) {
  const double fine = 0.002;
  if (!has_gaussian_tails(event)) {
    return fine;
  }
  double distance = event->kind == TACIT_EVENT_PROBIT_BIT ? fabs(lambda) : fmax(lambda, 0);
  return fine * fmin(1, event->sigma) / (1 + distance / event->sigma);
}

/* The pair that stands for the log ratios in [lambda, lambda + width]. */
static bernoulli_t cover(const tacit_event_t *event, double lambda, double width) {
  bernoulli_t at, end;
  tacit_bit_accept(event, lambda, &at.p, &at.reject_p);
  tacit_bit_accept(event, lambda + event->sensitivity, &at.q, &at.reject_q);
  tacit_bit_accept(event, lambda + width, &end.p, &end.reject_p);
  double difference = at.p < 0.5 ? at.q - at.p : at.reject_p - at.reject_q;
  difference *= exp(growth(event, lambda) * width) * at.reject_p / end.reject_p * (1 + 1e-7);
  at.q = fmin(at.p + difference, 1);
  at.reject_q = fmax(at.reject_p - difference, 0);
  return at;
}

/* Is the pair a post-processing of the one last kept? */
static bool is_covered(const bernoulli_t *kept, const bernoulli_t *pair) {
  double share = (pair->q - pair->p) / (kept->q - kept->p);
  return share <= pair->p / kept->p && share <= pair->reject_p / kept->reject_p;
}

static tacit_status_t keep(tacit_bit_class_t *of, const bernoulli_t *pair, tacit_error_t *err) {
  double *pairs = tacit_grow(of->pairs, of->n, &of->capacity, 4 * sizeof *pairs);
  if (pairs == NULL) {
    return tacit_error_memory(err);
  }
  of->pairs = pairs;
  double *row = of->pairs + 4 * of->n++;
  row[0] = pair->p;
  row[1] = pair->q;
  row[2] = log(pair->p / pair->q);
  row[3] = log(pair->reject_p / pair->reject_q);
  return TACIT_OK;
}

enum { far = 13, most = 8 };

/* Log ratios outside of which one pair, or a bound of the tail, stands for the rest; up to order *
 * sensitivity / sigma = most. */
static void range(const tacit_event_t *event, double *low, double *high) {
  double reach = (double)(far + most) * event->sigma;
  switch (event->kind) {
  case TACIT_EVENT_PROBIT_BIT:
    *low = -reach, *high = reach;
    break;
  case TACIT_EVENT_PENALTY_BIT:
    *low = -20, *high = 0.5 * event->sigma * event->sigma + reach;
    break;
  case TACIT_EVENT_ARCSINE_BIT:
    *low = -20, *high = 4 / event->kappa;
    break;
  default:
    *low = -20, *high = -0.5 * event->sensitivity;
    break; /* a(-l) = 1 - a(l): above, outcomes and distributions change places */
  }
}

/*
 * log a is 1-Lipschitz in the balanced rules, so that below `low` every pair (p, q) has q <= e^sensitivity p,
 * and the one with equality and the largest p stands for all; above the range nothing happens to the capped
 * rule.
 */
static tacit_status_t keep_tail(tacit_bit_class_t *of, double low, tacit_error_t *err) {
  const tacit_event_t *event = of->event;
  bernoulli_t tail;
  if (event->kind == TACIT_EVENT_PROBIT_BIT) {
    return TACIT_OK;
  }
  tacit_bit_accept(event, low, &tail.p, &tail.reject_p);
  tail.q = tail.p * exp(event->sensitivity) * (1 + 1e-9);
  tail.reject_q = 1 - tail.q;
  return tail.q < 1 ? keep(of, &tail, err) : TACIT_OK;
}

/* Information of a pair at its middle. */
static double information(const bernoulli_t *pair) {
  double difference = pair->q - pair->p;
  return 4 * difference * difference / ((pair->p + pair->q) * (pair->reject_p + pair->reject_q));
}

static double largest_information(const tacit_event_t *event, double low, double high) {
  double largest = 0;
  for (double lambda = low; lambda < high;) {
    double width = cell_width(event, lambda);
    bernoulli_t pair = cover(event, lambda, width);
    largest = fmax(largest, pair.p > 0 && pair.reject_p > 0 ? information(&pair) : 0);
    lambda += 20 * width;
  }
  return largest;
}

/* Cells that no pair covers yet, and the pair of the last with a little to spare, which covers them all. */
typedef struct window {
  bernoulli_t cells[256], stand_in;
  size_t n;
} window_t;

static bool covers_window(const bernoulli_t *pair, const window_t *window) {
  for (size_t i = 0; i < window->n; i++) {
    if (!is_covered(pair, &window->cells[i])) {
      return false;
    }
  }
  return true;
}

static bernoulli_t spared(const bernoulli_t *pair, double spare) {
  double more = spare * (pair->q - pair->p);
  return (bernoulli_t){pair->p, fmin(pair->q + more, 1), pair->reject_p, fmax(pair->reject_q - more, 0)};
}

/* The next cell: into the window while one pair covers all that is in it; else that pair is kept, and may
 * cover the cell, too. */
static tacit_status_t add_cell(tacit_bit_class_t *of, window_t *window, bernoulli_t *kept,
                               const bernoulli_t *cell, double spare, tacit_error_t *err) {
  if (window->n == 0 && kept->q > kept->p && is_covered(kept, cell)) {
    return TACIT_OK;
  }
  bernoulli_t stand_in = spared(cell, spare);
  if (window->n == sizeof window->cells / sizeof *window->cells || !covers_window(&stand_in, window)) {
    *kept = window->stand_in;
    window->n = 0;
    tacit_status_t status = keep(of, kept, err);
    if (status != TACIT_OK || is_covered(kept, cell)) {
      return status;
    }
  }
  window->cells[window->n++] = *cell;
  window->stand_in = stand_in;
  return TACIT_OK;
}

tacit_status_t tacit_bit_class_init(tacit_bit_class_t *of, const tacit_event_t *event, double spare,
                                    double spare_far, double fineness, tacit_error_t *err) {
  double low, high;
  bernoulli_t kept = {1, 1, 0, 0};
  window_t window = {.n = 0};
  *of = (tacit_bit_class_t){.event = event};
  if (isinf(event->sigma) && has_gaussian_tails(event)) {
    return TACIT_OK;
  }
  range(event, &low, &high);
  low -= event->kind == TACIT_EVENT_PROBIT_BIT ? 0 : event->sensitivity;
  tacit_status_t status = keep_tail(of, low, err);
  double largest = spare_far > spare ? largest_information(event, low, high) : 1;
  double far_share = 0; /* how far the last pair is from costing most */
  for (double lambda = low; status == TACIT_OK && lambda < high;) {
    double width = fineness * cell_width(event, lambda) * (1 + 4 * far_share * far_share);
    bernoulli_t cell = cover(event, lambda, width);
    lambda += width;
    far_share = spare_far > spare ? fmin(fmax(1 - information(&cell) / largest, 0), 1) : 0;
    status = add_cell(of, &window, &kept, &cell, spare + far_share * far_share * (spare_far - spare), err);
  }
  if (status == TACIT_OK && window.n > 0) {
    status = keep(of, &window.stand_in, err);
  }
  if (status != TACIT_OK) {
    tacit_bit_class_clear(of);
  }
  return status;
}

void tacit_bit_class_clear(tacit_bit_class_t *of) {
  tacit_free(of->pairs);
  *of = (tacit_bit_class_t){0};
}

/* ---- divergence ---- */

/* The power sum of a pair, less one, for the worse of its two orders. */
static double excess(const double *pair, double order) {
  double forward = pair[1] * expm1(order * pair[2]) + (1 - pair[1]) * expm1(order * pair[3]);
  double backward = pair[0] * expm1(-order * pair[2]) + (1 - pair[0]) * expm1(-order * pair[3]);
  return fmax(forward, backward);
}

/*
 * Gaussian-like tails beyond the range: at a distance r, in units of sigma, from where the power sum peaks,
 * it is less than e^(order (order - 1) m^2 / 2 - r^2 / 2 + order m), m = sensitivity / sigma, r >= far - 1
 * [section 10.3].
 */
static double tail_excess(const tacit_event_t *event, double order) {
  double m = event->sensitivity / event->sigma;
  return exp(0.5 * order * (order - 1) * m * m - 0.5 * (far - 1) * (far - 1) + order * m);
}

double tacit_bit_class_renyi(const tacit_bit_class_t *of, double order) {
  const tacit_event_t *event = of->event;
  double simple = order * tacit_bit_zcdp(event), worst = 0;
  if (of->n == 0 || (has_gaussian_tails(event) && order * event->sensitivity > most * event->sigma)) {
    return of->n == 0 ? 0 : simple;
  }
  for (size_t i = 0; i < of->n; i++) {
    worst = fmax(worst, excess(of->pairs + 4 * i, order));
  }
  if (has_gaussian_tails(event)) {
    worst = fmax(worst, tail_excess(event, order));
  }
  return fmin(log1p(worst * (1 + 1e-9)) / (order - 1), simple);
}

double tacit_bit_zcdp(const tacit_event_t *event) {
  double m = event->sensitivity / event->sigma;
  switch (event->kind) {
  case TACIT_EVENT_BARKER_BIT:
    return 0.125 * event->sensitivity * event->sensitivity * (1 + 4 * DBL_EPSILON);
  case TACIT_EVENT_PENALTY_BIT:
  case TACIT_EVENT_PROBIT_BIT:
    return 0.5 * m * m * (1 + 4 * DBL_EPSILON);
  default:
    return INFINITY;
  }
}
