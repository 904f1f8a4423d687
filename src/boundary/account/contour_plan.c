/*
 * The plan of the integral of contour.c: the releases, merged, and a saddle point, period and length by
 * estimates of a few of them.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "account/contour_plan.h"

enum { max_strata = TACIT_CONTOUR_MAX_PROXIES / 2, max_weights = 128 };

static const double pi = 3.14159265358979323846;

/* ---- the composition ---- */

static int sign_of(double x) { return (x > 0) - (x < 0); }

static int compare(const void *left, const void *right) {
  const tacit_factor_t *a = left, *b = right;
  if (a->top != b->top) {
    return a->top < b->top ? -1 : 1;
  }
  int by_rate = sign_of(a->rate - b->rate);
  return by_rate != 0 ? by_rate : sign_of(a->m - b->m);
}

static void merge(tacit_contour_problem_t *p) {
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

static void collect(tacit_contour_problem_t *p, const tacit_event_t *events, size_t n) {
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

void tacit_contour_problem_clear(tacit_contour_problem_t *p) {
  tacit_free(p->factors);
  tacit_moment_work_free(p->work);
}

tacit_status_t tacit_contour_problem_init(tacit_contour_problem_t *p, const tacit_event_t *events, size_t n,
                                          tacit_direction_t direction, double digits, tacit_error_t *err) {
  *p = (tacit_contour_problem_t){.is_add = direction == TACIT_DIRECTION_ADD,
                                 .factors = tacit_alloc(n + 1, sizeof *p->factors),
                                 .work = tacit_moment_work_new()};
  if (p->factors == NULL || p->work == NULL) {
    tacit_contour_problem_clear(p);
    return tacit_error_memory(err);
  }
  collect(p, events, n);
  merge(p);
  p->budget = 1e8 + 1e5 * (double)p->n;
  p->digits = digits;
  return TACIT_OK;
}

/* log of a bound of sum_{k > top} e^-rate rate^k / k!, rate <= 1 */
static double log_tail(double rate, size_t top) {
  double k = (double)top + 1;
  return k * log(rate) - lgamma(k + 1) - rate - log1p(-rate / (k + 1)) + 1e-9;
}

/*
 * Keep multiplicities until what is left out weighs at most e^log_mass. Left out at all, because E r^(s + 1)
 * over all of them is infinite: P without them is a part of P, so that delta is at most their mass too small
 * for remove, e^eps times it too large for add.
 */
static void set_tops(tacit_contour_problem_t *p, double log_mass) {
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
 * A few of the factors for planning: of each stratum in their order, the last, which has the least noise and
 * matters most where the tilt is large, and one in the middle with the counts of all others.
 */
static void set_proxies(tacit_contour_problem_t *p) {
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

/* ---- saddle, period, length ---- */

double tacit_contour_short_number(double x) {
  int exponent;
  double fraction = frexp(x, &exponent);
  return ldexp(floor(fraction * 0x1p20), exponent - 20);
}

static bool estimate(const tacit_contour_problem_t *p, double c, tacit_cumulants_t *sum) {
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
static void approximate(tacit_contour_plan_t *plan, const tacit_cumulants_t *k, double c, double epsilon) {
  double bend = k->curvature + 1 / (c * c) + 1 / ((c + 1) * (c + 1));
  plan->c = c;
  plan->epsilon = epsilon;
  plan->log_moment = k->value;
  plan->curvature = k->curvature;
  plan->log_delta = k->value - c * epsilon - log(c) - log1p(c) - 0.5 * log(2 * pi * bend);
}

/*
 * One evaluation of the search: the estimate at c, and Newton's step in log c towards K'(c) - 1/c - 1/(c + 1)
 * = target, or, for is_delta, towards the approximation at that epsilon being target. Both are monotone or
 * nearly so, with derivatives c and about -c^2 times the second derivative. *miss, in units of log delta, has
 * the sign of the step.
 */
static bool try_saddle(const tacit_contour_problem_t *p, bool is_delta, double target, double c,
                       tacit_contour_plan_t *plan, double *step, double *miss) {
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

/* Newton within a shrinking interval of log c, bisecting where that fails: K'' may jump by orders of
 * magnitude. */
static bool find_saddle(const tacit_contour_problem_t *p, bool is_delta, double target,
                        tacit_contour_plan_t *plan) {
  double at = 0, low = -21, high = 21;
  for (int i = 0; i < 60; i++) {
    double step = -1, miss = -1;
    bool is_finite = try_saddle(p, is_delta, target, tacit_contour_short_number(exp(at)), plan, &step, &miss);
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

double tacit_contour_log_chernoff(double c) { return -c * log1p(1 / c) - log1p(c); }

double tacit_contour_period(const tacit_contour_problem_t *p, const tacit_contour_plan_t *plan, double far,
                            double log_far) {
  double excess =
      log_far - far * plan->epsilon + tacit_contour_log_chernoff(far) - plan->log_delta + p->digits;
  return fmax(excess, 1) / (far - plan->c);
}

static double period_for(const tacit_contour_problem_t *p, const tacit_contour_plan_t *plan, double far) {
  tacit_cumulants_t k;
  return estimate(p, far, &k) ? tacit_contour_period(p, plan, far, k.value) : INFINITY;
}

/* Search for the best far, from where it would be for a Gaussian loss. */
static bool choose_period(const tacit_contour_problem_t *p, tacit_contour_plan_t *plan) {
  double away = sqrt(2 * (p->digits + 6) / plan->curvature), ratio = 1.5;
  double best = period_for(p, plan, tacit_contour_short_number(plan->c + away));
  plan->far = tacit_contour_short_number(plan->c + away);
  for (int turn = 0; turn < 2; turn++, ratio = 1 / ratio) {
    for (double next = away * ratio; next > 1e-12 * away && next < 1e6 * away; next *= ratio) {
      double far = tacit_contour_short_number(plan->c + next),
             period = far > plan->c ? period_for(p, plan, far) : INFINITY;
      bool is_worse = period > best || (isinf(period) && ratio > 1);
      if (is_worse || !(far > plan->c)) {
        break;
      }
      best = period;
      plan->far = far;
    }
  }
  plan->period = fmax(best, (p->digits - fmin(plan->log_delta, 0)) / plan->c) * 1.01;
  plan->step = tacit_contour_short_number(2 * pi / plan->period);
  return plan->period < 1e9 && plan->step > 0;
}

/* How far to go along the line until the rest, int |M| / t^2, is negligible. */
static bool choose_length(const tacit_contour_problem_t *p, tacit_contour_plan_t *plan) {
  double allowed = plan->log_delta - p->digits - (plan->log_moment - plan->c * plan->epsilon);
  double length = fmax(6 / sqrt(plan->curvature), 4 * plan->step), ratio = 1.15,
         most = TACIT_CONTOUR_MAX_POINTS * plan->step;
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

static bool make_plan(tacit_contour_problem_t *p, bool is_delta, double target, tacit_contour_plan_t *plan) {
  if (!find_saddle(p, is_delta, target, plan)) {
    return false;
  }
  if (is_delta && plan->epsilon < 0 && !find_saddle(p, false, 0, plan)) {
    return false;
  }
  return choose_period(p, plan) && choose_length(p, plan);
}

/* The weight that multiplicities left out may have. */
static double allowed_drop(const tacit_contour_problem_t *p, const tacit_contour_plan_t *plan) {
  return plan->log_delta - p->digits - (p->is_add ? fmax(plan->epsilon, 0) : 0);
}

bool tacit_contour_plan(tacit_contour_problem_t *p, bool is_delta, double target,
                        tacit_contour_plan_t *plan) {
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
  return true;
}
