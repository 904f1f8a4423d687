/*
 * delta(eps) = 1/(2 pi i) int M(s) e^(-eps s) / (s (s + 1)) ds along Re s = c > 0, M = E e^(s L) of the
 * composed privacy loss, by the trapezoidal rule with certified errors (docs/theory.md, section 9.6).
 */
#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "account/contour_plan.h"

static const double unit = 0.5 * DBL_EPSILON, pi = 3.14159265358979323846;
static const double usual_digits = 33;

bool tacit_contour_applies(const tacit_event_t *events, size_t n, tacit_relation_t relation) {
  for (size_t i = 0; i < n; i++) {
    bool is_gaussian = events[i].kind == TACIT_EVENT_GAUSSIAN,
         is_unsampled = events[i].sampling == TACIT_SAMPLING_NONE;
    bool is_sampled =
        relation == TACIT_RELATION_ADD_REMOVE &&
        (events[i].sampling == TACIT_SAMPLING_POISSON || events[i].sampling == TACIT_SAMPLING_MULTIPLICITY);
    if (!is_gaussian || !(is_unsampled || is_sampled) || tacit_event_is_bare(&events[i])) {
      return false;
    }
  }
  return true;
}

/* ---- the integral ---- */

/* delta(eps) e^(c eps) / |M(c)| = sum_j of amplitude_j e^(i (phase_j - t_j eps)) and what bounds the rest */
typedef struct integral {
  double c, step, far;
  size_t n;
  double *amplitude, *phase,
      *wrong;                 /* shape (n): wrong bounds the error of a term beside that of its phase */
  double log_moment, log_far; /* log M(c); a bound of log M(far) */
  double rest;                /* bound of the terms from n on */
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

static bool multiply_all(const tacit_contour_problem_t *p, tacit_product_t *q, const tacit_line_t *line) {
  multiply_gaussian(q, p->rho, line);
  for (size_t i = 0; i < p->n; i++) {
    if (!tacit_moment_multiply(q, &p->factors[i], line, p->budget, p->work)) {
      return false;
    }
  }
  return true;
}

/* log M(far) from above */
static bool bound_far(const tacit_contour_problem_t *p, double far, double tolerance, double *log_far) {
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
static bool settle_far(const tacit_contour_problem_t *p, tacit_contour_plan_t *plan, double tolerance,
                       double *log_far) {
  if (!bound_far(p, plan->far, tolerance, log_far)) {
    return false;
  }
  double period = tacit_contour_period(p, plan, plan->far, *log_far);
  for (int i = 0; i < 6 && period > plan->period; i++) {
    double other = tacit_contour_short_number(plan->c + (plan->far - plan->c) / 1.5), log_other;
    if (!(other > plan->c) || !bound_far(p, other, tolerance, &log_other)) {
      break;
    }
    double other_period = tacit_contour_period(p, plan, other, log_other);
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
    plan->step = tacit_contour_short_number(2 * pi / period);
    plan->n = (size_t)fmin(ceil(length / plan->step), 1e9);
  }
  return plan->n <= TACIT_CONTOUR_MAX_POINTS;
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

static bool integrate(const tacit_contour_problem_t *p, tacit_contour_plan_t *plan, integral_t *in) {
  tacit_product_t q = {0};
  double tolerance = 20 * exp(-p->digits) / (1 + p->count), log_far;
  if (!settle_far(p, plan, tolerance, &log_far)) {
    return false;
  }
  *in = (integral_t){.c = plan->c,
                     .step = plan->step,
                     .far = plan->far,
                     .n = plan->n,
                     .log_far = log_far,
                     .log_dropped = p->log_dropped,
                     .is_add = p->is_add,
                     .amplitude = tacit_alloc(plan->n, 3 * sizeof(double))};
  bool is_done = product_init(&q, plan->n) && in->amplitude != NULL;
  in->is_out_of_memory = !is_done;
  if (is_done) {
    in->phase = in->amplitude + in->n;
    in->wrong = in->phase + in->n;
    tacit_line_t line = {
        .c = plan->c, .step = plan->step, .n = plan->n, .is_add = p->is_add, .tolerance = tolerance};
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
  double base;         /* log M(c) - c eps; the others are relative to its exponential */
  double value, slope; /* the sum and its derivative by eps, base included */
  double wrong;        /* bound of the error of the sum */
  double above, below; /* how far the exact sum over all t can exceed delta, and fall short of it */
} delta_t;

/* The exact sum is sum_m e^(c m period) delta(eps + m period), all of whose terms are >= 0. */
static double aliases(const integral_t *in, double epsilon, double base) {
  double period = 2 * pi / in->step * (1 - 4 * unit);
  double left = exp(-in->c * period - base) / -expm1(-in->c * period);
  double exponent = in->log_far - in->far * epsilon + tacit_contour_log_chernoff(in->far),
         gap = (in->far - in->c) * period;
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
    d.wrong +=
        in->wrong[j] + unit * in->amplitude[j] * (2 * fabs(t * epsilon) + fabs(turn) + (double)(in->n + 8));
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
 * Where the sum is the target, by Newton on its log; how far from there its error may reach, in *away. False
 * where the error is too large a part of the sum to say.
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

static bool prepare(tacit_contour_problem_t *p, bool is_delta, double target, tacit_contour_plan_t *plan,
                    integral_t *in) {
  return tacit_contour_plan(p, is_delta, target, plan) && integrate(p, plan, in);
}

static bool is_empty(const tacit_contour_problem_t *p) { return p->n == 0 && !(p->rho > 0); }

tacit_status_t tacit_contour_epsilon(const tacit_event_t *events, size_t n, tacit_direction_t direction,
                                     double log_delta, tacit_bracket_t *epsilon, tacit_error_t *err) {
  tacit_contour_problem_t p;
  tacit_contour_plan_t plan;
  integral_t in = {0};
  *epsilon = (tacit_bracket_t){0, INFINITY};
  tacit_status_t status = tacit_contour_problem_init(&p, events, n, direction, usual_digits, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (log_delta >= 0 || is_empty(&p)) {
    epsilon->upper = 0;
  } else if (isfinite(log_delta) && prepare(&p, true, log_delta, &plan, &in)) {
    *epsilon = solve(&in, plan.epsilon, log_delta);
  }
  integral_clear(&in);
  tacit_contour_problem_clear(&p);
  return in.is_out_of_memory ? tacit_error_memory(err) : TACIT_OK;
}

tacit_status_t tacit_contour_log_delta_planned(const tacit_event_t *events, size_t n,
                                               tacit_direction_t direction, double epsilon, double digits,
                                               tacit_bracket_t *log_delta, tacit_error_t *err) {
  tacit_contour_problem_t p;
  tacit_contour_plan_t plan;
  integral_t in = {0};
  *log_delta = (tacit_bracket_t){-INFINITY, 0};
  tacit_status_t status = tacit_contour_problem_init(&p, events, n, direction, digits, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (is_empty(&p)) {
    log_delta->upper = -INFINITY;
  } else if (epsilon >= 0 && isfinite(epsilon) && prepare(&p, false, epsilon, &plan, &in)) {
    delta_t d = delta_at(&in, epsilon);
    *log_delta = (tacit_bracket_t){log_lower(&d), log_upper(&d)};
  }
  integral_clear(&in);
  tacit_contour_problem_clear(&p);
  return in.is_out_of_memory ? tacit_error_memory(err) : TACIT_OK;
}

tacit_status_t tacit_contour_log_delta(const tacit_event_t *events, size_t n, tacit_direction_t direction,
                                       double epsilon, tacit_bracket_t *log_delta, tacit_error_t *err) {
  return tacit_contour_log_delta_planned(events, n, direction, epsilon, usual_digits, log_delta, err);
}
