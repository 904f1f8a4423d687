/*
 * Moment generating functions of sampled Gaussians on a vertical line, with certified errors (docs/theory.md,
 * section 9.6).
 *
 * M(c + it) = E[r(x)^(e + i t sign)], x ~ N(0, 1), e = c + 1 or -c, by the trapezoidal rule in x. All
 * integrands are analytic in |Im x| < pi / m, where r has no zero, so that the rule's error falls like e^(-2
 * pi a / step) [Trefethen2014, Theorem 5.1]; its constant, a line integral, is bounded cell by cell on a
 * coarse mesh.
 */
#include <float.h>
#include <math.h>

#include "account/moment_mesh.h"

enum { lanes = 8, renewal = 8 };

static const double unit = 0.5 * DBL_EPSILON, inverse_sqrt_2pi = 0.39894228040143267794,
                    pi = 3.14159265358979323846;

/* ---- the nodes ---- */

/* Bound of the summed density and e^(-x^2/2) in a cell. */
static double cell_bound(const tacit_moment_work_t *w, size_t i) {
  double nearest = w->x[i] >= 0 ? w->x[i] : w->x[i + 1];
  return exp(w->ceiling[i]) + exp(-0.5 * nearest * nearest);
}

typedef struct range {
  size_t first, last; /* edges */
  double left_out;    /* bound of the part of the sum outside */
} range_t;

static range_t choose_range(const tacit_moment_work_t *w, double step, double error) {
  double per_cell = inverse_sqrt_2pi * step * (floor(w->width / step) + 1);
  range_t r = {0, w->n,
               inverse_sqrt_2pi * (1 / tacit_moment_reach + step) *
                   (cell_bound(w, 0) + cell_bound(w, w->n - 1))};
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
 * Rounding of base (r^(e + it) - 1), in units of 2^-53: the error of log r times |e| + t, the rounding of the
 * exponents of the density, and in e^(it log r) - 1 at most 32 t |log r| from the recurrence (3 |z| + 2 |y| a
 * step, renewed every 8th) and a unit for every addition.
 */
static double rounding(const tacit_moment_point_t *point, double x, double e, double from, double n) {
  double size = fabs(point->log_ratio), exponents = x * x + 2 * fabs(e) * size + 8;
  return (fabs(e) + from) * (point->noise + size * exponents) + from * size * (32 + n / lanes);
}

/* The sum of phi (r^e - 1), which keeps the relative precision of small losses. */
static bool fill_nodes(tacit_moment_work_t *w, nodes_t *nodes, const tacit_factor_t *f, double step,
                       range_t range, double from) {
  double first = ceil(w->x[range.first] / step), last = floor(w->x[range.last] / step), e = w->exponent;
  double n = last - first + 1, norm = step * inverse_sqrt_2pi, noise = 0;
  tacit_exact_sum_t excess = {0, 0};
  if (!(n >= 1 && n <= TACIT_MOMENT_MAX_NODES - lanes)) {
    return false;
  }
  w->n_nodes = (size_t)n;
  for (size_t j = 0; j < w->n_nodes; j++) {
    double x = (first + (double)j) * step, square = -0.5 * x * x;
    tacit_moment_point_t point = tacit_moment_point(f, x);
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
 * Shift x by i y, v = m y: |r(x + iy)^(e + it)| <= r^e e^(-rate mean(x)), rate = t sin(top v) / top, less c
 * v^2 for add. With K given x of mean(x), arg r >= sin arg r >= E sin(K v) >= mean sin(top v) / top for top v
 * <= pi/2, and -log |r(x + iy) / r(x)| <= -log(1 - v^2 mean / 2) <= v^2 mean for v^2 top <= 3/2.
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
static double choose_shift(const tacit_moment_work_t *w, const tacit_factor_t *f, double from,
                           double *estimate) {
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
 * int phi r^e (1 - e^(-rate mean)) from below: the mean increases; between two nodes, log(phi r^e), with log
 * r replaced by its tangent at the left node where e > 0, is concave, so that its integral is at least that
 * of the line between its ends, and this at least the geometric mean.
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
  double sum =
      (exp(w->ceiling[0]) + exp(w->ceiling[w->n - 1] - rate * w->mean[w->n - 1])) / tacit_moment_reach;
  for (size_t i = 0; i < w->n; i++) {
    sum += w->width * exp(w->ceiling[i] - rate * w->mean[i]);
  }
  return inverse_sqrt_2pi * sum * (1 + 1e-9);
}

static double certified_decay(const tacit_moment_work_t *w, const tacit_factor_t *f, double step, size_t n,
                              double from, double least, double most) {
  double estimate, y = choose_shift(w, f, from, &estimate),
                   rate = decay_rate(w, f, f->m * y, from) * (1 - 1e-9);
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

static double lane_sum(lane_t v) { return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])); }

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

/* count log(1 + z) into entry i; |z - truth| <= error. Where 1 + z is below its error, its modulus is taken
 * to be that. */
static void accumulate(tacit_product_t *p, size_t i, double count, double re, double im, double error) {
  double square = re * (2 + re) + im * im, modulus = fmax(hypot(1 + re, im), error);
  double log_abs = modulus > 0.5 && modulus < 2 ? 0.5 * log1p(square) : log(modulus),
         phase = atan2(im, 1 + re);
  tacit_exact_sum_add(&p->log_abs[i], count * log_abs);
  tacit_exact_sum_add(&p->phase[i], count * phase);
  p->error[i] += count * (2 * error / modulus + 16 * unit * (fabs(log_abs) + fabs(phase)));
}

static void walk(tacit_product_t *p, const tacit_factor_t *f, const tacit_line_t *line,
                 tacit_moment_work_t *w, double excess, double error) {
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

bool tacit_moment_multiply(tacit_product_t *product, const tacit_factor_t *f, const tacit_line_t *line,
                           double budget, tacit_moment_work_t *w) {
  double from = line->n > 1 ? line->step * (double)line->n : 0;
  if (!tacit_moment_scan(w, f, line->c, line->is_add)) {
    return false;
  }
  tacit_moment_raise_ceilings(w, f);
  double scale = exp(w->log_scale), log_error = log(line->tolerance) + w->log_scale;
  double step = tacit_moment_choose_step(w, f, from, log_error);
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
    product->decay +=
        f->count * certified_decay(w, f, step, n, from, 1 + nodes.excess - error, 1 + nodes.excess + error);
  }
  walk(product, f, line, w, nodes.excess, error);
  return true;
}

/* ---- estimates ---- */

bool tacit_moment_estimate(tacit_cumulants_t *cumulants, const tacit_factor_t *f, double c, bool is_add,
                           tacit_moment_work_t *w) {
  double sign = is_add ? -1 : 1, sum = 0, mean = 0, square = 0;
  if (!tacit_moment_scan(w, f, c, is_add)) {
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

double tacit_moment_estimate_decay(const tacit_factor_t *f, double c, bool is_add, double from,
                                   tacit_moment_work_t *w) {
  double estimate;
  if (!tacit_moment_scan(w, f, c, is_add)) {
    return 0;
  }
  choose_shift(w, f, from, &estimate);
  return estimate;
}
