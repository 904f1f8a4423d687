/*
 * delta(eps) = 1/(2 pi i) int M(s) e^(-eps s) / (s (s + 1)) ds along Re s = c > 0, M = E e^(s L) of the composed privacy
 * loss, by the trapezoidal rule with certified errors (docs/theory.md, section 9.6).
 *
 * Planning (saddle point, period, length) works on uncertified estimates of a few representative releases; it decides how
 * narrow the bracket becomes, never whether it is valid.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "account/contour.h"
#include "account/moment.h"

enum { max_strata = 40, max_proxies = 2 * max_strata, max_points = 20000, max_weights = 128 };

static const double unit = 0.5 * DBL_EPSILON, pi = 3.14159265358979323846;
static const double usual_digits = 33;

/* ---- the composition ---- */

typedef struct problem {
  tacit_factor_t *factors; /* by kind, rate and noise; equal ones merged */
  size_t n;
  double rho, count; /* of the unsampled, of the sampled releases */
  double log_dropped; /* log of the mass that multiplicities above `top` have in all releases together */
  double budget;     /* evaluations of e^(s L) */
  double digits;     /* what is left out is planned to be below e^-digits of delta */
  bool is_add;
  tacit_factor_t proxies[max_proxies];
  size_t n_proxies;
  tacit_moment_work_t *work;
} problem_t;

bool tacit_contour_applies(const tacit_event_t *events, size_t n, tacit_relation_t relation) {
  for (size_t i = 0; i < n; i++) {
    bool is_gaussian = events[i].kind == TACIT_EVENT_GAUSSIAN, is_unsampled = events[i].sampling == TACIT_SAMPLING_NONE;
    bool is_sampled = relation == TACIT_RELATION_ADD_REMOVE && (events[i].sampling == TACIT_SAMPLING_POISSON ||
                                                                events[i].sampling == TACIT_SAMPLING_MULTIPLICITY);
    if (!is_gaussian || !(is_unsampled || is_sampled)) {
      return false;
    }
  }
  return true;
}

static int sign_of(double x) {
  return (x > 0) - (x < 0);
}

static int compare(const void *left, const void *right) {
  const tacit_factor_t *a = left, *b = right;
  if (a->top != b->top) {
    return a->top < b->top ? -1 : 1;
  }
  int by_rate = sign_of(a->rate - b->rate);
  return by_rate != 0 ? by_rate : sign_of(a->m - b->m);
}

static void merge(problem_t *p) {
  qsort(p->factors, p->n, sizeof *p->factors, compare);
  size_t kept = 0;
  for (size_t i = 0; i < p->n; i++) {
    if (kept > 0 && compare(&p->factors[kept - 1], &p->factors[i]) == 0) {
      p->factors[kept - 1].count += p->factors[i].count;
    } else {
      p->factors[kept++] = p->factors[i];
    }
  }
  p->n = kept;
}

static void collect(problem_t *p, const tacit_event_t *events, size_t n) {
  tacit_exact_sum_t rho = {0};
  for (size_t i = 0; i < n; i++) {
    const tacit_event_t *event = &events[i];
    bool is_poisson = event->sampling == TACIT_SAMPLING_POISSON;
    if (tacit_event_is_free(event)) {
      continue;
    }
    if (event->sampling == TACIT_SAMPLING_NONE || (is_poisson && event->sampling_rate >= 1)) {
      tacit_exact_sum_add(&rho, tacit_event_rho(event));
      continue;
    }
    p->factors[p->n++] = (tacit_factor_t){.m = 1 / event->noise_multiplier,
                                          .rate = event->sampling_rate,
                                          .count = (double)event->count,
                                          .top = is_poisson ? 1 : 2};
    p->count += (double)event->count;
  }
  p->rho = rho.high + rho.low;
}

static tacit_status_t problem_init(problem_t *p, const tacit_event_t *events, size_t n, tacit_direction_t direction,
                                   tacit_error_t *err) {
  *p = (problem_t){.is_add = direction == TACIT_DIRECTION_ADD,
                   .factors = tacit_alloc(n + 1, sizeof *p->factors),
                   .work = tacit_moment_work_new()};
  if (p->factors == NULL || p->work == NULL) {
    tacit_free(p->factors);
    tacit_moment_work_free(p->work);
    return tacit_error_memory(err);
  }
  collect(p, events, n);
  merge(p);
  p->budget = 1e8 + 1e5 * (double)p->n;
  p->digits = usual_digits;
  return TACIT_OK;
}

static void problem_clear(problem_t *p) {
  tacit_free(p->factors);
  tacit_moment_work_free(p->work);
}

/* log of a bound of sum_{k > top} e^-rate rate^k / k!, rate <= 1 */
static double log_tail(double rate, size_t top) {
  double k = (double)top + 1;
  return k * log(rate) - lgamma(k + 1) - rate - log1p(-rate / (k + 1)) + 1e-9;
}

/*
 * Keep multiplicities until what is left out weighs at most e^log_mass. Left out at all, because E r^(s + 1) over all of
 * them is infinite: P without them is a part of P, so that delta is at most their mass too small for remove, e^eps times
 * it too large for add.
 */
static void set_tops(problem_t *p, double log_mass) {
  double sum = 0, target = log_mass - log(p->count);
  for (size_t i = 0; i < p->n; i++) {
    tacit_factor_t *f = &p->factors[i];
    if (f->top > 1) {
      for (f->top = 2; f->top < max_weights && !(log_tail(f->rate, f->top) <= target); f->top++) {
      }
      f->left_out = exp(log_tail(f->rate, f->top));
      sum += f->count * exp(log_tail(f->rate, f->top) - target);
    }
  }
  p->log_dropped = sum > 0 ? log(sum) + target : -INFINITY;
}

/*
 * A few of the factors for planning: of each stratum in their order, the last, which has the least noise and matters most
 * where the tilt is large, and one in the middle with the counts of all others.
 */
static void set_proxies(problem_t *p) {
  size_t n_strata = p->n < max_strata ? p->n : max_strata;
  p->n_proxies = 0;
  for (size_t j = 0; j < n_strata; j++) {
    size_t first = j * p->n / n_strata, last = (j + 1) * p->n / n_strata - 1;
    double count = 0;
    for (size_t i = first; i < last; i++) {
      count += p->factors[i].count;
    }
    p->proxies[p->n_proxies++] = p->factors[last];
    if (count > 0) {
      p->proxies[p->n_proxies] = p->factors[(first + last) / 2];
      p->proxies[p->n_proxies++].count = count;
    }
  }
}

/* ---- planning ---- */

typedef struct plan {
  double c, epsilon, log_delta; /* estimates at the saddle */
  double log_moment, curvature; /* log M(c), (log M)''(c) */
  double far;                   /* a larger c, for Chernoff's bound */
  double period, step;          /* in epsilon and t; their product is 2 pi */
  size_t n;
} plan_t;

/* 20 bits, so that c + 1 and multiples of steps are exact */
static double short_number(double x) {
  int exponent;
  double fraction = frexp(x, &exponent);
  return ldexp(floor(fraction * 0x1p20), exponent - 20);
}

static bool estimate(const problem_t *p, double c, tacit_cumulants_t *sum) {
  *sum = (tacit_cumulants_t){p->rho * c * (c + 1), p->rho * (2 * c + 1), 2 * p->rho};
  for (size_t j = 0; j < p->n_proxies; j++) {
    const tacit_factor_t *f = &p->proxies[j];
    tacit_cumulants_t one;
    if (!tacit_moment_estimate(&one, f, c, p->is_add, p->work)) {
      return false;
    }
    sum->value += f->count * one.value;
    sum->slope += f->count * one.slope;
    sum->curvature += f->count * one.curvature;
  }
  return isfinite(sum->value) && sum->curvature > 0;
}

/* Saddle-point approximation of log delta at epsilon, by the exponent's second derivative, poles included. */
static void approximate(plan_t *plan, const tacit_cumulants_t *k, double c, double epsilon) {
  double bend = k->curvature + 1 / (c * c) + 1 / ((c + 1) * (c + 1));
  plan->c = c;
  plan->epsilon = epsilon;
  plan->log_moment = k->value;
  plan->curvature = k->curvature;
  plan->log_delta = k->value - c * epsilon - log(c) - log1p(c) - 0.5 * log(2 * pi * bend);
}

/*
 * One evaluation of the search: the estimate at c, and Newton's step in log c towards K'(c) - 1/c - 1/(c + 1) = target,
 * or, for is_delta, towards the approximation at that epsilon being target. Both are monotone or nearly so, with
 * derivatives c and about -c^2 times the second derivative. *miss, in units of log delta, has the sign of the step.
 */
static bool try_saddle(const problem_t *p, bool is_delta, double target, double c, plan_t *plan, double *step,
                       double *miss) {
  tacit_cumulants_t k;
  if (!estimate(p, c, &k)) {
    return false;
  }
  double slope = k.slope - 1 / c - 1 / (c + 1), bend = k.curvature + 1 / (c * c) + 1 / ((c + 1) * (c + 1));
  approximate(plan, &k, c, is_delta ? slope : target);
  *miss = is_delta ? plan->log_delta - target : c * (target - slope);
  *step = *miss / (c * c * bend);
  return true;
}

/* Newton within a shrinking interval of log c, bisecting where that fails: K'' may jump by orders of magnitude. */
static bool find_saddle(const problem_t *p, bool is_delta, double target, plan_t *plan) {
  double at = 0, low = -21, high = 21;
  for (int i = 0; i < 60; i++) {
    double step = -1, miss = -1;
    bool is_finite = try_saddle(p, is_delta, target, short_number(exp(at)), plan, &step, &miss);
    *(miss > 0 ? &low : &high) = at;
    bool is_close = fabs(step) < 0.03 && fabs(miss) < 0.3;
    if (is_finite && (is_close || high - low < 1e-5)) {
      return true;
    }
    double next = at + fmin(fmax(step, -2), 2);
    bool is_inside = next > low && next < high && (i % 8 < 4 || fabs(step) > 0.1);
    at = is_inside ? next : 0.5 * (low + high);
  }
  return false;
}

/* log of sup_y (1 - e^-y) e^(-c y) = c^c / (1 + c)^(1 + c) */
static double log_chernoff(double c) {
  return -c * log1p(1 / c) - log1p(c);
}

/* The period that makes what comes from the right negligible, by Chernoff's bound at `far`. */
static double period_by(const problem_t *p, const plan_t *plan, double far, double log_far) {
  double excess = log_far - far * plan->epsilon + log_chernoff(far) - plan->log_delta + p->digits;
  return fmax(excess, 1) / (far - plan->c);
}

static double period_for(const problem_t *p, const plan_t *plan, double far) {
  tacit_cumulants_t k;
  return estimate(p, far, &k) ? period_by(p, plan, far, k.value) : INFINITY;
}

/* Search for the best far, from where it would be for a Gaussian loss. */
static bool choose_period(const problem_t *p, plan_t *plan) {
  double away = sqrt(2 * (p->digits + 6) / plan->curvature), ratio = 1.5;
  double best = period_for(p, plan, short_number(plan->c + away));
  plan->far = short_number(plan->c + away);
  for (int turn = 0; turn < 2; turn++, ratio = 1 / ratio) {
    for (double next = away * ratio; next > 1e-12 * away && next < 1e6 * away; next *= ratio) {
      double far = short_number(plan->c + next), period = far > plan->c ? period_for(p, plan, far) : INFINITY;
      bool is_worse = period > best || (isinf(period) && ratio > 1);
      if (is_worse || !(far > plan->c)) {
        break;
      }
      best = period;
      plan->far = far;
    }
  }
  plan->period = fmax(best, (p->digits - fmin(plan->log_delta, 0)) / plan->c) * 1.01;
  plan->step = short_number(2 * pi / plan->period);
  return plan->period < 1e9 && plan->step > 0;
}

/* How far to go along the line until the rest, int |M| / t^2, is negligible. */
static bool choose_length(const problem_t *p, plan_t *plan) {
  double allowed = plan->log_delta - p->digits - (plan->log_moment - plan->c * plan->epsilon);
  double length = fmax(6 / sqrt(plan->curvature), 4 * plan->step), ratio = 1.15, most = max_points * plan->step;
  for (; length < most; length *= ratio) {
    double decay = -p->rho * length * length;
    for (size_t j = 0; j < p->n_proxies; j++) {
      const tacit_factor_t *f = &p->proxies[j];
      decay += 0.9 * f->count * tacit_moment_estimate_decay(f, plan->c, p->is_add, length, p->work);
    }
    if (decay - log(pi * length) <= allowed) {
      plan->n = (size_t)ceil(length / plan->step) + 1;
      return true;
    }
  }
  return false;
}

/* ---- the integral ---- */

/* delta(eps) e^(c eps) / |M(c)| = sum_j of amplitude_j e^(i (phase_j - t_j eps)) and what bounds the rest */
typedef struct integral {
  double c, step, far;
  size_t n;
  double *amplitude, *phase, *wrong; /* shape (n): wrong bounds the error of a term beside that of its phase */
  double log_moment, log_far;        /* log M(c); a bound of log M(far) */
  double rest;                       /* bound of the terms from n on */
  double log_dropped;
  bool is_add, is_out_of_memory;
} integral_t;

static bool product_init(tacit_product_t *q, size_t n) {
  *q = (tacit_product_t){.log_abs = tacit_alloc_zero(2 * n, sizeof *q->log_abs),
                         .error = tacit_alloc_zero(n, sizeof *q->error)};
  q->phase = q->log_abs != NULL ? q->log_abs + n : NULL;
  return q->log_abs != NULL && q->error != NULL;
}

static void product_clear(tacit_product_t *q) {
  tacit_free(q->log_abs);
  tacit_free(q->error);
}

/* log M of the unsampled releases is rho s (s + 1); rho is within 2^-48 of the truth. */
static void multiply_gaussian(tacit_product_t *q, double rho, const tacit_line_t *line) {
  double c = line->c;
  for (size_t j = 0; j < line->n; j++) {
    double t = (double)j * line->step, real = rho * (c * (c + 1) - t * t), turn = rho * t * (2 * c + 1);
    tacit_exact_sum_add(&q->log_abs[j], real);
    tacit_exact_sum_add(&q->phase[j], turn);
    q->error[j] += 40 * unit * (rho * (c * (c + 1) + t * t) + turn);
  }
  double from = line->step * (double)line->n;
  q->decay -= rho * from * from * (1 - 1e-12);
}

static bool multiply_all(const problem_t *p, tacit_product_t *q, const tacit_line_t *line) {
  multiply_gaussian(q, p->rho, line);
  for (size_t i = 0; i < p->n; i++) {
    if (!tacit_moment_multiply(q, &p->factors[i], line, p->budget, p->work)) {
      return false;
    }
  }
  return true;
}

/* log M(far) from above */
static bool bound_far(const problem_t *p, double far, double tolerance, double *log_far) {
  tacit_exact_sum_t sums[2] = {{0, 0}, {0, 0}};
  double error = 0;
  tacit_product_t q = {.log_abs = sums, .phase = sums + 1, .error = &error};
  tacit_line_t point = {.c = far, .n = 1, .step = 0, .is_add = p->is_add, .tolerance = tolerance};
  if (!multiply_all(p, &q, &point)) {
    return false;
  }
  *log_far = (sums[0].high + sums[0].low) * (1 + 4 * unit) + error + 1e-12;
  return isfinite(*log_far);
}

/* Where the estimate was too low, a smaller far or a longer period. */
static bool settle_far(const problem_t *p, plan_t *plan, double tolerance, double *log_far) {
  if (!bound_far(p, plan->far, tolerance, log_far)) {
    return false;
  }
  double period = period_by(p, plan, plan->far, *log_far);
  for (int i = 0; i < 6 && period > plan->period; i++) {
    double other = short_number(plan->c + (plan->far - plan->c) / 1.5), log_other;
    if (!(other > plan->c) || !bound_far(p, other, tolerance, &log_other)) {
      break;
    }
    double other_period = period_by(p, plan, other, log_other);
    if (!(other_period < period)) {
      break;
    }
    plan->far = other;
    *log_far = log_other;
    period = other_period;
  }
  if (period > plan->period) {
    double length = plan->step * (double)plan->n;
    plan->period = period;
    plan->step = short_number(2 * pi / period);
    plan->n = (size_t)fmin(ceil(length / plan->step), 1e9);
  }
  return plan->n <= max_points;
}

static void set_terms(integral_t *in, const tacit_product_t *q) {
  double log_moment = q->log_abs[0].high + q->log_abs[0].low;
  for (size_t j = 0; j < in->n; j++) {
    double t = (double)j * in->step, log_abs = q->log_abs[j].high + q->log_abs[j].low;
    double weight = in->step / pi * (j == 0 ? 0.5 : 1) / (hypot(in->c, t) * hypot(in->c + 1, t));
    double phase = q->phase[j].high + q->phase[j].low;
    double error = q->error[j] + unit * (2 * fabs(log_abs) + 2 * fabs(log_moment) + 2 * fabs(phase) + 40);
    in->amplitude[j] = weight * exp(log_abs - log_moment);
    in->phase[j] = phase - atan2(t, in->c) - atan2(t, in->c + 1);
    in->wrong[j] = error < 1 ? in->amplitude[j] * expm1(error) : weight * exp(log_abs - log_moment + error);
  }
  in->log_moment = log_moment;
  in->rest = exp(q->decay - log(pi * in->step * (double)(in->n - 1)) + 1e-9);
}

static bool integrate(const problem_t *p, plan_t *plan, integral_t *in) {
  tacit_product_t q = {0};
  double tolerance = 20 * exp(-p->digits) / (1 + p->count), log_far;
  if (!settle_far(p, plan, tolerance, &log_far)) {
    return false;
  }
  *in = (integral_t){.c = plan->c, .step = plan->step, .far = plan->far, .n = plan->n, .log_far = log_far,
                     .log_dropped = p->log_dropped, .is_add = p->is_add,
                     .amplitude = tacit_alloc(plan->n, 3 * sizeof(double))};
  bool is_done = product_init(&q, plan->n) && in->amplitude != NULL;
  in->is_out_of_memory = !is_done;
  if (is_done) {
    in->phase = in->amplitude + in->n;
    in->wrong = in->phase + in->n;
    tacit_line_t line = {.c = plan->c, .step = plan->step, .n = plan->n, .is_add = p->is_add, .tolerance = tolerance};
    is_done = multiply_all(p, &q, &line);
  }
  if (is_done) {
    set_terms(in, &q);
    is_done = isfinite(in->log_moment) && isfinite(in->rest);
  }
  product_clear(&q);
  return is_done;
}

static void integral_clear(integral_t *in) {
  tacit_free(in->amplitude);
  in->amplitude = NULL;
}

/* ---- delta on the line ---- */

typedef struct delta {
  double base;        /* log M(c) - c eps; the others are relative to its exponential */
  double value, slope; /* the sum and its derivative by eps, base included */
  double wrong;       /* bound of the error of the sum */
  double above, below; /* how far the exact sum over all t can exceed delta, and fall short of it */
} delta_t;

/* The exact sum is sum_m e^(c m period) delta(eps + m period), all of whose terms are >= 0. */
static double aliases(const integral_t *in, double epsilon, double base) {
  double period = 2 * pi / in->step * (1 - 4 * unit);
  double left = exp(-in->c * period - base) / -expm1(-in->c * period);
  double exponent = in->log_far - in->far * epsilon + log_chernoff(in->far), gap = (in->far - in->c) * period;
  double right = exp(exponent - base - gap) / -expm1(-gap);
  return (left + right) * (1 + 1e-9);
}

static delta_t delta_at(const integral_t *in, double epsilon) {
  delta_t d = {.base = in->log_moment - in->c * epsilon, .wrong = in->rest};
  double sum = 0;
  for (size_t j = 0; j < in->n; j++) {
    double t = (double)j * in->step, turn = in->phase[j] - t * epsilon;
    double re = in->amplitude[j] * cos(turn), im = in->amplitude[j] * sin(turn);
    d.value += re;
    d.slope -= in->c * re - t * im;
    d.wrong += in->wrong[j] + unit * in->amplitude[j] * (2 * fabs(t * epsilon) + fabs(turn) + (double)(in->n + 8));
    sum += in->amplitude[j];
  }
  d.wrong += 8 * unit * sum * (fabs(in->log_moment) + in->c * epsilon);
  d.wrong *= 1 + 1e-9;
  double log_dropped = in->log_dropped - d.base;
  d.below = in->is_add ? 0 : exp(log_dropped);
  d.above = aliases(in, epsilon, d.base) + (in->is_add ? exp(log_dropped + epsilon) : 0);
  return d;
}

static double log_upper(const delta_t *d) {
  double value = d->value + d->wrong + d->below;
  double log_value = value > 0 ? log(value) + d->base : INFINITY; /* no NaN passes */
  return fmin(log_value + 4 * unit * (fabs(log_value) + fabs(d->base)), 0);
}

static double log_lower(const delta_t *d) {
  double value = d->value - d->wrong - d->above;
  double log_value = value > 0 ? log(value) + d->base : -INFINITY;
  return isfinite(log_value) ? log_value - 4 * unit * (fabs(log_value) + fabs(d->base)) : -INFINITY;
}

static double upper_at(const integral_t *in, double epsilon) {
  delta_t d = delta_at(in, epsilon);
  return log_upper(&d);
}

static double lower_at(const integral_t *in, double epsilon) {
  delta_t d = delta_at(in, epsilon);
  return log_lower(&d);
}

/* ---- epsilon ---- */

/*
 * Where the sum is the target, by Newton on its log; how far from there its error may reach, in *away. False where the
 * error is too large a part of the sum to say.
 */
static bool newton(const integral_t *in, double log_delta, double *epsilon, double *away) {
  double most = 3 / in->c;
  for (int i = 0; i < 50; i++) {
    delta_t d = delta_at(in, *epsilon);
    double slope = d.slope / d.value, step = (log(d.value) + d.base - log_delta) / slope;
    double wrong = d.wrong + d.above + d.below;
    if (!(d.value > 2 * wrong) || !(slope < 0)) {
      return false;
    }
    *away = (wrong / d.value + 8 * unit * (1 + fabs(d.base) + fabs(log_delta))) / -slope;
    step = fmin(fmax(step, -most), most);
    *epsilon = fmax(*epsilon - step, 0);
    if (!(fabs(step) > 0.1 * *away)) {
      return *away < INFINITY;
    }
  }
  return true;
}

/* delta is decreasing: bounds of it at single points bound epsilon. */
static tacit_bracket_t solve(const integral_t *in, double guess, double log_delta) {
  tacit_bracket_t bracket = {0, INFINITY};
  if (upper_at(in, 0) <= log_delta) {
    return (tacit_bracket_t){0, 0};
  }
  double away, epsilon = fmax(guess, 0);
  if (!newton(in, log_delta, &epsilon, &away)) {
    return bracket;
  }
  double reach = 1.2 * away;
  for (int i = 0; i < 20 && isinf(bracket.upper); i++, reach *= 1.5) {
    bracket.upper = upper_at(in, epsilon + reach) <= log_delta ? epsilon + reach : INFINITY;
  }
  reach = 1.2 * away;
  for (int i = 0; i < 20 && epsilon > reach && bracket.lower <= 0; i++, reach *= 1.5) {
    bracket.lower = lower_at(in, epsilon - reach) > log_delta ? epsilon - reach : 0;
  }
  return bracket;
}

/* ---- both queries ---- */

static bool make_plan(problem_t *p, bool is_delta, double target, plan_t *plan) {
  if (!find_saddle(p, is_delta, target, plan)) {
    return false;
  }
  if (is_delta && plan->epsilon < 0 && !find_saddle(p, false, 0, plan)) {
    return false;
  }
  return choose_period(p, plan) && choose_length(p, plan);
}

/* The weight that multiplicities left out may have. */
static double allowed_drop(const problem_t *p, const plan_t *plan) {
  return plan->log_delta - p->digits - (p->is_add ? fmax(plan->epsilon, 0) : 0);
}

static bool prepare(problem_t *p, bool is_delta, double target, plan_t *plan, integral_t *in) {
  if (p->count > 0x1p53) {
    return false; /* counts are doubles */
  }
  double drop = is_delta ? target - p->digits : -60;
  for (int i = 0; i < 4; i++) {
    set_tops(p, drop);
    set_proxies(p);
    if (p->log_dropped > drop + 3 || !make_plan(p, is_delta, target, plan)) {
      return false;
    }
    if (p->log_dropped <= allowed_drop(p, plan) + 3) {
      break;
    }
    drop = allowed_drop(p, plan);
  }
  return integrate(p, plan, in);
}

static bool is_empty(const problem_t *p) {
  return p->n == 0 && !(p->rho > 0);
}

tacit_status_t tacit_contour_epsilon(const tacit_event_t *events, size_t n, tacit_direction_t direction, double log_delta,
                                     tacit_bracket_t *epsilon, tacit_error_t *err) {
  problem_t p;
  plan_t plan;
  integral_t in = {0};
  *epsilon = (tacit_bracket_t){0, INFINITY};
  tacit_status_t status = problem_init(&p, events, n, direction, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (log_delta >= 0 || is_empty(&p)) {
    epsilon->upper = 0;
  } else if (isfinite(log_delta) && prepare(&p, true, log_delta, &plan, &in)) {
    *epsilon = solve(&in, plan.epsilon, log_delta);
  }
  integral_clear(&in);
  problem_clear(&p);
  return in.is_out_of_memory ? tacit_error_memory(err) : TACIT_OK;
}

tacit_status_t tacit_contour_log_delta_planned(const tacit_event_t *events, size_t n, tacit_direction_t direction,
                                               double epsilon, double digits, tacit_bracket_t *log_delta,
                                               tacit_error_t *err) {
  problem_t p;
  plan_t plan;
  integral_t in = {0};
  *log_delta = (tacit_bracket_t){-INFINITY, 0};
  tacit_status_t status = problem_init(&p, events, n, direction, err);
  if (status != TACIT_OK) {
    return status;
  }
  p.digits = digits;
  if (is_empty(&p)) {
    log_delta->upper = -INFINITY;
  } else if (epsilon >= 0 && isfinite(epsilon) && prepare(&p, false, epsilon, &plan, &in)) {
    delta_t d = delta_at(&in, epsilon);
    *log_delta = (tacit_bracket_t){log_lower(&d), log_upper(&d)};
  }
  integral_clear(&in);
  problem_clear(&p);
  return in.is_out_of_memory ? tacit_error_memory(err) : TACIT_OK;
}

tacit_status_t tacit_contour_log_delta(const tacit_event_t *events, size_t n, tacit_direction_t direction, double epsilon,
                                       tacit_bracket_t *log_delta, tacit_error_t *err) {
  return tacit_contour_log_delta_planned(events, n, direction, epsilon, usual_digits, log_delta, err);
}
