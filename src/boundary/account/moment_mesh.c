/*
 * The integrand of moment.c: r(x) with the errors of its logarithm, bounds of the integrand cell by cell, in
 * the reals and on lines beside them (docs/theory.md, section 9.6), and the step that follows from these.
 */
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "account/moment_mesh.h"

static const double unit = 0.5 * DBL_EPSILON, inverse_sqrt_2pi = 0.39894228040143267794,
                    pi = 3.14159265358979323846;

tacit_moment_work_t *tacit_moment_work_new(void) { return tacit_alloc(1, sizeof(tacit_moment_work_t)); }

void tacit_moment_work_free(tacit_moment_work_t *work) { tacit_free(work); }

/* ---- r(x) ---- */

static tacit_moment_point_t poisson_point(double m, double q, double x) {
  double u = m * (x - 0.5 * m), spread = m * (fabs(x) + m), value, mean;
  if (u > 500) {
    double other = (1 - q) * exp(-u);
    value = u + log(q + other);
    mean = q / (q + other);
  } else {
    double power = exp(u), excess = q * (fabs(u) < 1 ? expm1(u) : power - 1);
    double ratio = excess > -0.5 ? 1 + excess : 1 - q + q * power;
    value = excess > -0.5 ? log1p(excess) : log(ratio);
    mean = q * power / ratio;
  }
  return (tacit_moment_point_t){value, mean, 8 * fabs(value) + 3 * mean * spread};
}

/* Where some e^(...) would overflow. */
static tacit_moment_point_t large_multiplicity_point(const tacit_factor_t *f, double x) {
  double peak = -INFINITY, sum = 0, slope = 0, spread = 0;
  for (size_t k = 0; k <= f->top; k++) {
    double shift = (double)k * f->m, log_weight = (double)k * log(f->rate) - f->rate - lgamma((double)k + 1);
    peak = fmax(peak, log_weight + shift * (x - 0.5 * shift));
  }
  for (size_t k = 0; k <= f->top; k++) {
    double shift = (double)k * f->m, log_weight = (double)k * log(f->rate) - f->rate - lgamma((double)k + 1);
    double term = exp(log_weight + shift * (x - 0.5 * shift) - peak);
    sum += term;
    slope += (double)k * term;
    spread += term * (fabs(log_weight) + shift * (fabs(x) + shift) + (double)(4 * k));
  }
  double value = peak + log(sum);
  return (tacit_moment_point_t){value, slope / sum, 8 * (fabs(value) + fabs(peak)) + 6 * spread / sum};
}

/* r = 1 + sum_k w_k (e^(...) - 1) less the weights left out, which are counted as an error. */
static tacit_moment_point_t multiplicity_point(const tacit_factor_t *f, double x) {
  double weight = exp(-f->rate), excess = 0, ratio = weight, slope = 0, spread = 0;
  for (size_t k = 1; k <= f->top; k++) {
    double shift = (double)k * f->m, u = shift * (x - 0.5 * shift);
    if (u > 500) {
      return large_multiplicity_point(f, x);
    }
    double power = exp(u), change = fabs(u) < 1 ? expm1(u) : power - 1;
    weight *= f->rate / (double)k;
    excess += weight * change;
    ratio += weight * power;
    slope += (double)k * weight * power;
    spread += weight * (power * shift * (fabs(x) + shift) + (double)(4 * k) * fabs(change));
  }
  bool is_near = excess > -0.5;
  double value = is_near ? log1p(excess) : log(ratio),
         wrong = is_near ? f->left_out / unit : 8 * (ratio + slope);
  return (tacit_moment_point_t){value, slope / ratio, 8 * fabs(value) + (6 * spread + wrong) / ratio};
}

tacit_moment_point_t tacit_moment_point(const tacit_factor_t *f, double x) {
  return f->top == 1 ? poisson_point(f->m, f->rate, x) : multiplicity_point(f, x);
}

/* ---- the coarse mesh ---- */

static double cell_width(const tacit_factor_t *f) {
  double width = 0.5, most = 0.75 / (f->m * sqrt((double)f->top));
  while (width > most && width > 0x1p-20) {
    width *= 0.5;
  }
  return width;
}

/*
 * log r is convex. A bound of -x^2/2 + e log r on a cell: with the chord of log r for e > 0, with the tangent
 * at the left end for e < 0; then the integrand is a parabola.
 */
static double cell_ceiling(const tacit_moment_work_t *w, size_t i) {
  double e = w->exponent, x0 = w->x[i], x1 = w->x[i + 1];
  double slope = e > 0 ? e * (w->log_ratio[i + 1] - w->log_ratio[i]) / w->width : e * w->m * w->mean[i];
  double x = fmin(fmax(slope, x0), x1);
  return -0.5 * x * x + e * w->log_ratio[i] + slope * (x - x0) + 1e-9;
}

/*
 * Beyond the mesh the log of the density falls at least with slope `tacit_moment_reach`: its slope is -x + e
 * m mean(x), mean(x) is in [0, top] and increases.
 */
bool tacit_moment_scan(tacit_moment_work_t *w, const tacit_factor_t *f, double c, bool is_add) {
  double e = is_add ? -c : c + 1, sum = 0, peak = -INFINITY;
  double left = is_add ? -tacit_moment_reach - c * f->m * tacit_moment_point(f, 0).mean : -tacit_moment_reach;
  double right = is_add ? tacit_moment_reach : tacit_moment_reach + e * f->m * (double)f->top;
  w->width = cell_width(f);
  w->exponent = e;
  w->m = f->m;
  w->is_add = is_add;
  double first = floor(left / w->width), n = ceil(right / w->width) - first;
  if (!(n <= TACIT_MOMENT_MAX_CELLS)) {
    return false;
  }
  w->n = (size_t)n;
  for (size_t i = 0; i <= w->n; i++) {
    double x = (first + (double)i) * w->width;
    tacit_moment_point_t point = tacit_moment_point(f, x);
    w->x[i] = x;
    w->log_ratio[i] = point.log_ratio;
    w->mean[i] = point.mean;
    w->density[i] = -0.5 * x * x + e * point.log_ratio;
    peak = fmax(peak, w->density[i]);
  }
  for (size_t i = 0; i <= w->n; i++) {
    sum += exp(w->density[i] - peak);
  }
  w->log_scale = peak + log(sum * w->width * inverse_sqrt_2pi);
  return fabs(w->log_scale) < 500;
}

void tacit_moment_raise_ceilings(tacit_moment_work_t *w, const tacit_factor_t *f) {
  for (size_t i = 0; i < w->n; i++) {
    w->ceiling[i] = cell_ceiling(w, i);
  }
  for (size_t j = 0; j < TACIT_MOMENT_N_BEYOND; j++) {
    w->beyond[j] = tacit_moment_point(f, w->x[w->n] + (double)(j + 1)).mean;
  }
}

/* ---- the step in x ---- */

/*
 * |arg r(x + ia)| by the mean at x, v = m a. top 1: tan arg = p sin v / (1 - p + p cos v), p = mean. top > 1,
 * v^2 top <= 1: the k given x are ultra-log-concave, so Var <= mean, |r(x + ia)| >= r(x) (1 - v^2 mean / 2)
 * and d arg / dv <= 2 mean.
 */
static double angle(size_t top, double mean, double v) {
  if (top > 1) {
    return 2 * v * mean;
  }
  double real = 1 - mean + mean * cos(v);
  return real > 0 ? fmin(v, mean * sin(v) / real) : v;
}

/* -log |r(x + ia) / r(x)| for mean in [low, high] */
static double shrinkage(size_t top, double low, double high, double v) {
  if (top > 1) {
    return -log1p(-0.5 * v * v * high);
  }
  return -0.5 * log1p(-2 * fmin(0.25, high * (1 - low)) * (1 - cos(v)));
}

/* log of a bound of |f(x + ia)| beside the density, |t| <= from, mean in [low, high] */
static double gain(const tacit_moment_work_t *w, const tacit_factor_t *f, double low, double high, double v,
                   double from) {
  double turned = from * angle(f->top, high, v);
  return w->is_add ? turned - w->exponent * shrinkage(f->top, low, high, v) : turned;
}

/*
 * Terms of line_integral, as logs: the cells, what is left of them, and to the right by units of x and then
 * all the rest.
 */
static size_t line_terms(const tacit_moment_work_t *w, const tacit_factor_t *f, double v, double from,
                         double *term) {
  size_t n = w->n;
  double last = w->density[n] + 1e-9;
  for (size_t i = 0; i < n; i++) {
    term[i] = w->ceiling[i] + gain(w, f, w->mean[i], w->mean[i + 1], v, from) + log(w->width);
  }
  term[n] = w->ceiling[0] + gain(w, f, 0, w->mean[0], v, from) - log(tacit_moment_reach);
  for (size_t j = 0; j < TACIT_MOMENT_N_BEYOND; j++) {
    double u = (double)j;
    term[n + 1 + j] = last - u * (tacit_moment_reach + 0.5 * u) + gain(w, f, 0, w->beyond[j], v, from);
  }
  double u = TACIT_MOMENT_N_BEYOND;
  term[n + 1 + TACIT_MOMENT_N_BEYOND] =
      last - u * (tacit_moment_reach + 0.5 * u) + gain(w, f, 0, (double)f->top, v, from);
  return n + 2 + TACIT_MOMENT_N_BEYOND;
}

/* log of a bound of int |f(x + ia)| dx, |t| <= from, f = phi (r^(e + it) - 1) */
static double line_integral(tacit_moment_work_t *w, const tacit_factor_t *f, double a, double from) {
  double *term = w->re, peak = 0, sum = 0; /* re is not yet in use */
  size_t n = line_terms(w, f, f->m * a, from, term);
  for (size_t i = 0; i < n; i++) {
    peak = fmax(peak, term[i]);
  }
  for (size_t i = 0; i < n; i++) {
    sum += exp(term[i] - peak);
  }
  return log(inverse_sqrt_2pi * sum + exp(-peak)) + peak + 0.5 * a * a + 1e-9;
}

/* At most `step`, with few bits, so that its multiples are exact. */
static double short_number(double step) {
  int exponent;
  double fraction = frexp(step, &exponent);
  return ldexp(floor(fraction * 0x1p16), exponent - 16);
}

double tacit_moment_choose_step(tacit_moment_work_t *w, const tacit_factor_t *f, double from,
                                double log_error) {
  static const double shares[] = {1,    0.75, 0.56, 0.42, 0.32, 0.24, 0.18,
                                  0.13, 0.1,  0.07, 0.05, 0.03, 0.02, 0.01};
  double most = f->top == 1 ? 0.96 * pi / f->m : 1 / (f->m * sqrt((double)f->top)), best = 0;
  most = fmin(most, 12);
  for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
    double a = most * shares[i],
           log_bound = 0.69314718055994530942 + line_integral(w, f, a, from) - log_error;
    double step = 2 * pi * a / (log_bound > 30 ? log_bound + 1e-9 : log1p(exp(log_bound)));
    if (step < best) {
      break;
    }
    best = step;
  }
  return short_number(fmin(best, 1) * (1 - 1e-12));
}
