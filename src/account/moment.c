/*
 * Moment generating functions of sampled Gaussians on a vertical line, with certified errors (docs/theory.md, section
 * 9.6).
 *
 * M(c + it) = E[r(x)^(e + i t sign)], x ~ N(0, 1), e = c + 1 or -c, by the trapezoidal rule in x. All integrands are
 * analytic in |Im x| < pi / m, where r has no zero, so that the rule's error falls like e^(-2 pi a / step)
 * [Trefethen2014, Theorem 5.1]; its constant, a line integral, is bounded cell by cell on a coarse mesh.
 */
#include <float.h>
#include <math.h>

#include "account/moment.h"

enum { max_cells = 2048, max_nodes = 8192, lanes = 8, renewal = 8, n_beyond = 24 };

static const double unit = 0.5 * DBL_EPSILON, inverse_sqrt_2pi = 0.39894228040143267794, pi = 3.14159265358979323846;

/* Everything is integrated to where the slope of the log of the integrand is at least this. */
static const double reach = 10;

struct tacit_moment_work {
  /* coarse mesh: n cells of width `width`, n + 1 edges */
  size_t n;
  double width, exponent, m;
  bool is_add;
  double x[max_cells + 1], log_ratio[max_cells + 1], mean[max_cells + 1];
  double density[max_cells + 1]; /* log of e^(-x^2/2) r^e */
  double ceiling[max_cells];     /* its largest value on a cell */
  double beyond[n_beyond];       /* mean at 1, 2, ... to the right of the mesh */
  double log_scale;              /* estimate of log M(c) */
  /* fine nodes, n_nodes of them, filled up with zeros to whole lanes */
  size_t n_nodes;
  double ratio[max_nodes], mass[max_nodes], node_mean[max_nodes];
  double re[max_nodes], im[max_nodes], turn_re[max_nodes], turn_im[max_nodes];
};

tacit_moment_work_t *tacit_moment_work_new(void) {
  return tacit_alloc(1, sizeof(tacit_moment_work_t));
}

void tacit_moment_work_free(tacit_moment_work_t *work) {
  tacit_free(work);
}

/* ---- r(x) ---- */

typedef struct point {
  double log_ratio; /* log r */
  double mean;      /* sum_k k w_k e^(...) / r = (log r)' / m */
  double noise;     /* bound of the error of log_ratio, in units of 2^-53, that of m included */
} point_t;

static point_t poisson_point(double m, double q, double x) {
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
  return (point_t){value, mean, 8 * fabs(value) + 3 * mean * spread};
}

/* Where some e^(...) would overflow. */
static point_t large_multiplicity_point(const tacit_factor_t *f, double x) {
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
  return (point_t){value, slope / sum, 8 * (fabs(value) + fabs(peak)) + 6 * spread / sum};
}

/* r = 1 + sum_k w_k (e^(...) - 1) less the weights left out, which are counted as an error. */
static point_t multiplicity_point(const tacit_factor_t *f, double x) {
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
  double value = is_near ? log1p(excess) : log(ratio), wrong = is_near ? f->left_out / unit : 8 * (ratio + slope);
  return (point_t){value, slope / ratio, 8 * fabs(value) + (6 * spread + wrong) / ratio};
}

static point_t point_at(const tacit_factor_t *f, double x) {
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
 * log r is convex. A bound of -x^2/2 + e log r on a cell: with the chord of log r for e > 0, with the tangent at the left
 * end for e < 0; then the integrand is a parabola.
 */
static double cell_ceiling(const tacit_moment_work_t *w, size_t i) {
  double e = w->exponent, x0 = w->x[i], x1 = w->x[i + 1];
  double slope = e > 0 ? e * (w->log_ratio[i + 1] - w->log_ratio[i]) / w->width : e * w->m * w->mean[i];
  double x = fmin(fmax(slope, x0), x1);
  return -0.5 * x * x + e * w->log_ratio[i] + slope * (x - x0) + 1e-9;
}

/*
 * Beyond the mesh the log of the density falls at least with slope `reach`: its slope is -x + e m mean(x), mean(x) is in
 * [0, top] and increases.
 */
static bool scan(tacit_moment_work_t *w, const tacit_factor_t *f, double c, bool is_add) {
  double e = is_add ? -c : c + 1, sum = 0, peak = -INFINITY;
  double left = is_add ? -reach - c * f->m * point_at(f, 0).mean : -reach;
  double right = is_add ? reach : reach + e * f->m * (double)f->top;
  w->width = cell_width(f);
  w->exponent = e;
  w->m = f->m;
  w->is_add = is_add;
  double first = floor(left / w->width), n = ceil(right / w->width) - first;
  if (!(n <= max_cells)) {
    return false;
  }
  w->n = (size_t)n;
  for (size_t i = 0; i <= w->n; i++) {
    double x = (first + (double)i) * w->width;
    point_t point = point_at(f, x);
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

static void raise_ceilings(tacit_moment_work_t *w, const tacit_factor_t *f) {
  for (size_t i = 0; i < w->n; i++) {
    w->ceiling[i] = cell_ceiling(w, i);
  }
  for (size_t j = 0; j < n_beyond; j++) {
    w->beyond[j] = point_at(f, w->x[w->n] + (double)(j + 1)).mean;
  }
}

/* ---- the step in x ---- */

/*
 * |arg r(x + ia)| by the mean at x, v = m a. top 1: tan arg = p sin v / (1 - p + p cos v), p = mean. top > 1, v^2 top <= 1:
 * the k given x are ultra-log-concave, so Var <= mean, |r(x + ia)| >= r(x) (1 - v^2 mean / 2) and d arg / dv <= 2 mean.
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
 * Terms of line_integral, as logs: the cells, what is left of them, and to the right by units of x and then all the rest.
 */
static size_t line_terms(const tacit_moment_work_t *w, const tacit_factor_t *f, double v, double from, double *term) {
  size_t n = w->n;
  double last = w->density[n] + 1e-9;
  for (size_t i = 0; i < n; i++) {
    term[i] = w->ceiling[i] + gain(w, f, w->mean[i], w->mean[i + 1], v, from) + log(w->width);
  }
  term[n] = w->ceiling[0] + gain(w, f, 0, w->mean[0], v, from) - log(reach);
  for (size_t j = 0; j < n_beyond; j++) {
    double u = (double)j;
    term[n + 1 + j] = last - u * (reach + 0.5 * u) + gain(w, f, 0, w->beyond[j], v, from);
  }
  term[n + 1 + n_beyond] = last - n_beyond * (reach + 0.5 * n_beyond) + gain(w, f, 0, (double)f->top, v, from);
  return n + 2 + n_beyond;
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

/* The largest step found for which 2 N(a) / (e^(2 pi a / step) - 1) <= e^log_error for some a. */
static double choose_step(tacit_moment_work_t *w, const tacit_factor_t *f, double from, double log_error) {
  static const double shares[] = {1, 0.75, 0.56, 0.42, 0.32, 0.24, 0.18, 0.13, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01};
  double most = f->top == 1 ? 0.96 * pi / f->m : 1 / (f->m * sqrt((double)f->top)), best = 0;
  most = fmin(most, 12);
  for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
    double a = most * shares[i], log_bound = 0.69314718055994530942 + line_integral(w, f, a, from) - log_error;
    double step = 2 * pi * a / (log_bound > 30 ? log_bound + 1e-9 : log1p(exp(log_bound)));
    if (step < best) {
      break;
    }
    best = step;
  }
  return short_number(fmin(best, 1) * (1 - 1e-12));
}

/* ---- the nodes ---- */

/* Bound of the summed density and e^(-x^2/2) in a cell. */
static double cell_bound(const tacit_moment_work_t *w, size_t i) {
  double nearest = w->x[i] >= 0 ? w->x[i] : w->x[i + 1];
  return exp(w->ceiling[i]) + exp(-0.5 * nearest * nearest);
}

typedef struct range {
  size_t first, last;  /* edges */
  double left_out; /* bound of the part of the sum outside */
} range_t;

static range_t choose_range(const tacit_moment_work_t *w, double step, double error) {
  double per_cell = inverse_sqrt_2pi * step * (floor(w->width / step) + 1);
  range_t r = {0, w->n, inverse_sqrt_2pi * (1 / reach + step) * (cell_bound(w, 0) + cell_bound(w, w->n - 1))};
  for (double sum = 0; r.first < w->n; r.first++) {
    double bound = per_cell * cell_bound(w, r.first);
    if (!((sum += bound) <= error)) {
      break;
    }
    r.left_out += bound;
  }
  for (double sum = 0; r.last > r.first; r.last--) {
    double bound = per_cell * cell_bound(w, r.last - 1);
    if (!((sum += bound) <= error)) {
      break;
    }
    r.left_out += bound;
  }
  return r;
}

typedef struct nodes {
  double excess; /* M(c) - 1 */
  double noise;  /* bound of the rounding errors of M(c + it), t < from */
} nodes_t;

/*
 * Rounding of base (r^(e + it) - 1), in units of 2^-53: the error of log r times |e| + t, the rounding of the exponents
 * of the density, and in e^(it log r) - 1 at most 32 t |log r| from the recurrence (3 |z| + 2 |y| a step, renewed every
 * 8th) and a unit for every addition.
 */
static double rounding(const point_t *point, double x, double e, double from, double n) {
  double size = fabs(point->log_ratio), exponents = x * x + 2 * fabs(e) * size + 8;
  return (fabs(e) + from) * (point->noise + size * exponents) + from * size * (32 + n / lanes);
}

/* The sum of phi (r^e - 1), which keeps the relative precision of small losses. */
static bool fill_nodes(tacit_moment_work_t *w, nodes_t *nodes, const tacit_factor_t *f, double step, range_t range,
                       double from) {
  double first = ceil(w->x[range.first] / step), last = floor(w->x[range.last] / step), e = w->exponent;
  double n = last - first + 1, norm = step * inverse_sqrt_2pi, noise = 0;
  tacit_exact_sum_t excess = {0, 0};
  if (!(n >= 1 && n <= max_nodes - lanes)) {
    return false;
  }
  w->n_nodes = (size_t)n;
  for (size_t j = 0; j < w->n_nodes; j++) {
    double x = (first + (double)j) * step, square = -0.5 * x * x;
    point_t point = point_at(f, x);
    double power = e * point.log_ratio, base = norm * exp(square), mass = norm * exp(square + power);
    tacit_exact_sum_add(&excess, fabs(power) < 1 ? base * expm1(power) : mass - base);
    noise += fmax(mass, base) * rounding(&point, x, e, from, n);
    w->ratio[j] = w->is_add ? -point.log_ratio : point.log_ratio;
    w->mass[j] = mass;
    w->node_mean[j] = point.mean;
  }
  *nodes = (nodes_t){excess.high + excess.low, unit * noise * (1 + 1e-9)};
  for (; w->n_nodes % lanes != 0; w->n_nodes++) {
    w->ratio[w->n_nodes] = w->mass[w->n_nodes] = w->node_mean[w->n_nodes] = 0;
  }
  return isfinite(nodes->excess) && isfinite(nodes->noise);
}

/* ---- the decay of M(c + it) ---- */

/*
 * Shift x by i y, v = m y: |r(x + iy)^(e + it)| <= r^e e^(-rate mean(x)), rate = t sin(top v) / top, less c v^2 for add.
 * With K given x of mean(x), arg r >= sin arg r >= E sin(K v) >= mean sin(top v) / top for top v <= pi/2, and -log |r(x +
 * iy) / r(x)| <= -log(1 - v^2 mean / 2) <= v^2 mean for v^2 top <= 3/2.
 */
static double decay_rate(const tacit_moment_work_t *w, const tacit_factor_t *f, double v, double from) {
  double top = (double)f->top;
  return from * sin(top * v) / top + (w->is_add ? w->exponent * v * v : 0);
}

static double log_decay_estimate(const tacit_moment_work_t *w, double y, double rate) {
  double kept = 0, all = 0, peak = w->log_scale;
  for (size_t i = 0; i <= w->n; i++) {
    double mass = exp(w->density[i] - peak);
    all += mass;
    kept -= mass * expm1(-rate * w->mean[i]);
  }
  return 0.5 * y * y + log1p(-fmin(kept / all, 1));
}

/* A good y by its estimate, in *estimate. */
static double choose_shift(const tacit_moment_work_t *w, const tacit_factor_t *f, double from, double *estimate) {
  double sum = 0, mean = 0, square = 0, best = 0;
  for (size_t i = 0; i <= w->n; i++) {
    double mass = exp(w->density[i] - w->log_scale);
    sum += mass;
    mean += mass * w->mean[i];
    square += mass * w->mean[i] * w->mean[i];
  }
  double turn = from * f->m, start = turn * mean / (sum + turn * turn * square);
  double most = fmin(0.5 * pi / (double)f->top, 1.2 / sqrt((double)f->top)) / f->m;
  *estimate = 0;
  for (double factor = 0.7; factor < 1e4; factor *= 1.5) {
    double y = fmin(start * factor, most), rate = decay_rate(w, f, f->m * y, from);
    double value = rate > 0 ? log_decay_estimate(w, y, rate) : 0;
    if (value >= *estimate) {
      break;
    }
    *estimate = value;
    best = y;
    if (y >= most) {
      break;
    }
  }
  return best;
}

/*
 * int phi r^e (1 - e^(-rate mean)) from below: the mean increases; between two nodes, log(phi r^e), with log r replaced
 * by its tangent at the left node where e > 0, is concave, so that its integral is at least that of the line between its
 * ends, and this at least the geometric mean.
 */
static double missing_mass(const tacit_moment_work_t *w, double step, size_t n, double rate) {
  double sum = 0, e = w->exponent, sign = w->is_add ? -1 : 1;
  for (size_t j = 0; j + 1 < n; j++) {
    double mass = sqrt(w->mass[j] * w->mass[j + 1]);
    if (e > 0) {
      double bend = sign * (w->ratio[j + 1] - w->ratio[j]) - step * w->m * w->node_mean[j];
      mass *= exp(-0.5 * e * fmax(bend, 0));
    }
    sum -= mass * expm1(-rate * w->node_mean[j]);
  }
  return sum * (1 - 1e-11);
}

/* int phi r^e e^(-rate mean) from above, which is better where little is kept. */
static double kept_mass(const tacit_moment_work_t *w, double rate) {
  double sum = (exp(w->ceiling[0]) + exp(w->ceiling[w->n - 1] - rate * w->mean[w->n - 1])) / reach;
  for (size_t i = 0; i < w->n; i++) {
    sum += w->width * exp(w->ceiling[i] - rate * w->mean[i]);
  }
  return inverse_sqrt_2pi * sum * (1 + 1e-9);
}

static double certified_decay(const tacit_moment_work_t *w, const tacit_factor_t *f, double step, size_t n, double from,
                              double least, double most) {
  double estimate, y = choose_shift(w, f, from, &estimate), rate = decay_rate(w, f, f->m * y, from) * (1 - 1e-9);
  if (!(rate > 0) || !(estimate < 0) || !(least > 0)) {
    return 0;
  }
  double kept = 1 - fmin(missing_mass(w, step, n, rate) / most, 1);
  if (kept < 0.2) {
    kept = fmin(fmax(kept, 1e-9), kept_mass(w, rate) / least);
  }
  return fmin(0.5 * y * y + log(kept) + 1e-15, 0);
}

/* ---- the points of the line ---- */

/* e^(i t log r) - 1 afresh */
static void renew(tacit_moment_work_t *w, double t, double *re, double *im) {
  for (size_t j = 0; j < w->n_nodes; j++) {
    double half = 0.5 * t * w->ratio[j], s = sin(half), c = cos(half);
    re[j] = -2 * s * s;
    im[j] = 2 * s * c;
  }
}

typedef double lane_t __attribute__((vector_size(lanes * sizeof(double))));

/* One step along the line: (1 + y)(1 + z) - 1 = y + z + y z. */
static void advance(tacit_moment_work_t *w) {
  for (size_t j = 0; j < w->n_nodes; j++) {
    double re = w->re[j], im = w->im[j], zr = w->turn_re[j], zi = w->turn_im[j];
    w->re[j] = re + zr + (re * zr - im * zi);
    w->im[j] = im + zi + (re * zi + im * zr);
  }
}

static double lane_sum(lane_t v) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

static void weigh(const tacit_moment_work_t *w, double *re, double *im) {
  lane_t sum_re = {0}, sum_im = {0}, mass, part_re, part_im;
  for (size_t j = 0; j < w->n_nodes; j += lanes) {
    __builtin_memcpy(&mass, w->mass + j, sizeof mass);
    __builtin_memcpy(&part_re, w->re + j, sizeof mass);
    __builtin_memcpy(&part_im, w->im + j, sizeof mass);
    sum_re += mass * part_re;
    sum_im += mass * part_im;
  }
  *re = lane_sum(sum_re);
  *im = lane_sum(sum_im);
}

/* count log(1 + z) into entry i; |z - truth| <= error. Where 1 + z is below its error, its modulus is taken to be that. */
static void accumulate(tacit_product_t *p, size_t i, double count, double re, double im, double error) {
  double square = re * (2 + re) + im * im, modulus = fmax(hypot(1 + re, im), error);
  double log_abs = modulus > 0.5 && modulus < 2 ? 0.5 * log1p(square) : log(modulus), phase = atan2(im, 1 + re);
  tacit_exact_sum_add(&p->log_abs[i], count * log_abs);
  tacit_exact_sum_add(&p->phase[i], count * phase);
  p->error[i] += count * (2 * error / modulus + 16 * unit * (fabs(log_abs) + fabs(phase)));
}

static void walk(tacit_product_t *p, const tacit_factor_t *f, const tacit_line_t *line, tacit_moment_work_t *w,
                 double excess, double error) {
  accumulate(p, 0, f->count, excess, 0, error);
  if (line->n > 1) {
    renew(w, line->step, w->turn_re, w->turn_im);
  }
  for (size_t i = 1; i < line->n; i++) {
    double re, im;
    if (i == 1 || i % renewal == 0) {
      renew(w, (double)i * line->step, w->re, w->im);
    } else {
      advance(w);
    }
    weigh(w, &re, &im);
    accumulate(p, i, f->count, excess + re, im, error);
  }
}

bool tacit_moment_multiply(tacit_product_t *product, const tacit_factor_t *f, const tacit_line_t *line, double budget,
                           tacit_moment_work_t *w) {
  double from = line->n > 1 ? line->step * (double)line->n : 0;
  if (!scan(w, f, line->c, line->is_add)) {
    return false;
  }
  raise_ceilings(w, f);
  double scale = exp(w->log_scale), log_error = log(line->tolerance) + w->log_scale;
  double step = choose_step(w, f, from, log_error);
  if (!(step > 0)) {
    return false;
  }
  nodes_t nodes;
  range_t range = choose_range(w, step, line->tolerance * scale);
  product->point_cost += (w->x[range.last] - w->x[range.first]) / step * (double)(line->n + 30);
  if (!(product->point_cost <= budget) || !fill_nodes(w, &nodes, f, step, range, from)) {
    return false;
  }
  double error = (line->tolerance * scale + 2 * range.left_out + nodes.noise) * (1 + 1e-9);
  size_t n = (size_t)(floor(w->x[range.last] / step) - ceil(w->x[range.first] / step)) + 1;
  if (line->n > 1) {
    product->decay += f->count * certified_decay(w, f, step, n, from, 1 + nodes.excess - error, 1 + nodes.excess + error);
  }
  walk(product, f, line, w, nodes.excess, error);
  return true;
}

/* ---- estimates ---- */

bool tacit_moment_estimate(tacit_cumulants_t *cumulants, const tacit_factor_t *f, double c, bool is_add,
                           tacit_moment_work_t *w) {
  double sign = is_add ? -1 : 1, sum = 0, mean = 0, square = 0;
  if (!scan(w, f, c, is_add)) {
    return false;
  }
  for (size_t i = 0; i <= w->n; i++) {
    double mass = exp(w->density[i] - w->log_scale);
    sum += mass;
    mean += mass * w->log_ratio[i];
  }
  mean /= sum;
  for (size_t i = 0; i <= w->n; i++) {
    double away = w->log_ratio[i] - mean;
    square += exp(w->density[i] - w->log_scale) * away * away;
  }
  *cumulants = (tacit_cumulants_t){w->log_scale, sign * mean, square / sum};
  return true;
}

double tacit_moment_estimate_decay(const tacit_factor_t *f, double c, bool is_add, double from, tacit_moment_work_t *w) {
  double estimate;
  if (!scan(w, f, c, is_add)) {
    return 0;
  }
  choose_shift(w, f, from, &estimate);
  return estimate;
}
