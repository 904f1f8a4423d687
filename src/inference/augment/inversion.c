/*
 * The exact likelihood of a released sum of n independent records, by Fourier inversion of
 *
 *     log E exp(t (sum c_i + noise)) = n log E e^(t c) + log E e^(t noise),     t = s + i omega,
 *
 * along a line on which the integrand is tilted (exponentially shifted) so that the distribution's mean is at
 * the released value: the result then has relative precision also where it is tiny. The trapezoid rule on
 * that line is exact up to aliases, which lie where the distribution has no mass left, and the integrand's
 * tail [Trefethen2014]. Cost does not grow with n.
 */
#include <complex.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/augment_internal.h"

enum { PANEL = 16, MAX_PANELS = 250, MAX_FREQUENCIES = 200000 };

static const double pi = 3.14159265358979323846;
static const double digits = 42; /* e^-42: what is left out of sums, below a double's resolution */

/* Gauss-Legendre on (-1, 1), 16 points: the positive nodes, logarithms of the weights. */
static const double nodes[PANEL / 2] = {0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863,
                                        0.6178762444026437484, 0.7554044083550030339, 0.8656312023878317439,
                                        0.9445750230732325761, 0.9894009349916499326};
static const double log_node_weights[PANEL / 2] = {
    -1.6636269192737427, -1.7004386086690819, -1.776930842405315,  -1.8998170265246452,
    -2.0824141855666389, -2.3522112338284447, -2.7765401357833839, -3.6062876506365718};

static double normal_cdf(double z) { return 0.5 * erfc(-z * 0.70710678118654752440); }

bool tacit_inversion_applies(const tacit_latent_model_t *model, const tacit_release_t *release) {
  double unit = release->step > 0 ? release->step : 1;
  bool is_lattice = release->step > 0 || model->kind == TACIT_LATENT_POISSON;
  if (release->kind != TACIT_RELEASE_SUM || release->noise == TACIT_RELEASE_LAPLACE) {
    return false; /* Laplace noise: its transform decays too slowly where all records are at a bound */
  }
  if (model->kind == TACIT_LATENT_POISSON && release->noise == TACIT_RELEASE_GAUSSIAN &&
      release->scales[0] < 1.5 && model->n_records > 10000) {
    return false; /* noise that hides no whole number: too many frequencies count */
  }
  double range = release->upper -
                 release->lower; /* normal records: the panels must resolve all frequencies of the noise */
  return is_lattice ? range / unit <= TACIT_INVERSION_MAX_LEVELS : range <= 200 * release->scales[0];
}

tacit_status_t tacit_inversion_init(tacit_chain_t *chain, tacit_error_t *err) {
  tacit_inversion_t *v = tacit_alloc_zero(1, sizeof *v);
  chain->inversion = v;
  if (v == NULL) {
    return tacit_error_memory(err);
  }
  v->capacity = TACIT_INVERSION_MAX_LEVELS + 1;
  v->value = tacit_alloc(6 * v->capacity, sizeof *v->value);
  if (v->value == NULL) {
    return tacit_error_memory(err);
  }
  double **parts[] = {&v->log_weight, &v->tilted, &v->rotation, &v->real, &v->imaginary};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    *parts[i] = v->value + (i + 1) * v->capacity;
  }
  return TACIT_OK;
}

void tacit_inversion_clear(tacit_chain_t *chain) {
  if (chain->inversion != NULL) {
    tacit_free(chain->inversion->value);
    tacit_free(chain->inversion);
    chain->inversion = NULL;
  }
}

static void add(tacit_inversion_t *v, double value, double log_weight) {
  if (log_weight > -INFINITY) {
    v->value[v->n] = value;
    v->log_weight[v->n++] = log_weight;
  }
}

/*
 * Clamped normal: atoms at the bounds, Gauss-Legendre panels of at most three sd and eight radians between,
 * where the distribution tilted by s, a normal about mean + s sd^2, is within e^-digits of its largest value
 * between the bounds.
 */
static void set_normal(tacit_inversion_t *v, double mean, double sd, double lower, double upper,
                       double max_frequency, double s) {
  double tilted = mean + s * sd * sd, square = 2 * digits * sd * sd;
  double beyond = fmax(tilted - upper, 0), before = fmax(lower - tilted, 0);
  double a = fmax(lower, tilted - sqrt(beyond * beyond + square)),
         b = fmin(upper, tilted + sqrt(before * before + square));
  add(v, lower, tacit_log_normal_cdf((lower - mean) / sd));
  add(v, upper, tacit_log_normal_cdf((mean - upper) / sd));
  double wanted = ceil(fmax((b - a) / (3 * sd), (b - a) * max_frequency / 8));
  size_t n_panels = (size_t)fmin(fmax(wanted, 4), MAX_PANELS);
  double half = 0.5 * (b - a) / (double)n_panels, log_scale = log(half / sd) - 0.91893853320467274178;
  for (size_t p = 0; p < n_panels; p++) {
    double centre = a + (2 * (double)p + 1) * half;
    for (int k = 0; k < PANEL; k++) {
      double x = centre + half * (k % 2 ? nodes[k / 2] : -nodes[k / 2]), z = (x - mean) / sd;
      add(v, x, log_node_weights[k / 2] + log_scale - 0.5 * z * z);
    }
  }
}

/* Clamped normal rounded to whole numbers (of units). */
static void set_rounded_normal(tacit_inversion_t *v, double mean, double sd, double lower, double upper) {
  for (double k = lower; k <= upper + 0.25; k += 1) {
    double low = k > lower + 0.5 ? (k - 0.5 - mean) / sd : -INFINITY;
    double high = k < upper - 0.5 ? (k + 0.5 - mean) / sd : INFINITY;
    add(v, k, log(low > 0 ? normal_cdf(-low) - normal_cdf(-high) : normal_cdf(high) - normal_cdf(low)));
  }
}

/* Clamped Poisson: the mass at and beyond a bound goes to it, summed from its largest term. */
static void set_poisson(tacit_inversion_t *v, double rate, double lower, double upper) {
  double low = 0, high = 0, log_rate = log(rate), reach = 12 * sqrt(rate) + 60;
  double mode = floor(rate), from = fmin(lower, mode), to = fmax(upper, mode), p;
  double log_from = from * log_rate - rate - tacit_log_factorial(from);
  double log_to = to * log_rate - rate - tacit_log_factorial(to);
  p = 1;
  for (double k = from; k >= 0 && p > 1e-19; k -= 1) { /* downwards from min(lower, mode) .. */
    low += p;
    p *= k / rate;
  }
  p = 1;
  for (double k = from + 1; k <= lower && k < from + 2 * reach; k += 1) { /* .. and up to the bound */
    p *= rate / k;
    low += p;
  }
  p = 1;
  for (double k = to; p > 1e-19; k += 1) {
    high += p;
    p *= rate / (k + 1);
  }
  p = 1;
  for (double k = to - 1; k >= upper && k > to - 2 * reach; k -= 1) {
    p *= (k + 1) / rate;
    high += p;
  }
  add(v, lower, log_from + log(low));
  add(v, upper, log_to + log(high));
  for (double k = lower + 1; k < upper; k += 1) {
    add(v, k, k * log_rate - rate - tacit_log_factorial(k));
  }
}

static void set_distribution(const tacit_chain_t *chain, double mean_or_rate, double sd, double s) {
  tacit_inversion_t *v = chain->inversion;
  double unit = chain->unit, lower = chain->release->lower / unit, upper = chain->release->upper / unit;
  v->n = 0;
  if (chain->model->kind == TACIT_LATENT_POISSON) {
    set_poisson(v, mean_or_rate, lower, upper);
  } else if (chain->release->step > 0) {
    set_rounded_normal(v, mean_or_rate / unit, sd / unit, round(lower), round(upper));
  } else {
    set_normal(v, mean_or_rate, sd, lower, upper, sqrt(4 * chain->weight[0] * digits), s);
  }
}

/* Tilt by e^(s c): probabilities, log E e^(s c), mean and variance. */
typedef struct tilt {
  double s, log_mass, mean, variance;
} tilt_t;

static tilt_t tilt(tacit_inversion_t *v, double s) {
  double highest = -INFINITY, mass = 0, mean = 0, square = 0;
  for (size_t k = 0; k < v->n; k++) {
    highest = fmax(highest, v->log_weight[k] + s * v->value[k]);
  }
  for (size_t k = 0; k < v->n; k++) {
    v->tilted[k] = exp(v->log_weight[k] + s * v->value[k] - highest);
    mass += v->tilted[k];
    mean += v->tilted[k] * v->value[k];
  }
  mean /= mass;
  for (size_t k = 0; k < v->n; k++) {
    v->tilted[k] /= mass;
    square += v->tilted[k] * (v->value[k] - mean) * (v->value[k] - mean);
  }
  return (tilt_t){.s = s, .log_mass = log(mass) + highest, .mean = mean, .variance = square};
}

/* Mean and variance of the noise tilted by s: Gaussian (also for discrete, near enough), or discrete Laplace.
 */
static void tilted_noise(const tacit_chain_t *chain, double s, double *mean, double *variance) {
  double w = chain->weight[0];
  *mean = 0.5 * s / w;
  *variance = 0.5 / w;
  if (chain->is_laplace) {
    double up = 1 / expm1(w - s), down = 1 / expm1(w + s); /* a e^s / (1 - a e^s), a = e^-w */
    *mean = up - down;
    *variance = up * (1 + up) + down * (1 + down);
  }
}

/* A Newton step on an increasing function, kept inside the bracket and below twice the distance from 0. */
static double next_tilt(const tacit_chain_t *chain, double s, double newton, double bracket[2]) {
  double range = (chain->release->upper - chain->release->lower) / chain->unit, most = 3 / range + fabs(s);
  double next = s + fmax(-most, fmin(most, newton));
  bracket[newton > 0 ? 0 : 1] = s;
  if (chain->is_laplace) { /* at most half of the way to where the transform ends */
    next = fmax(0.5 * (s - chain->weight[0]), fmin(0.5 * (s + chain->weight[0]), next));
  }
  return next > bracket[0] && next < bracket[1] ? next : 0.5 * (bracket[0] + bracket[1]);
}

/* Tilt so that the mean of records and noise is within half an sd of y, from the last one. Any tilt is valid.
 */
static tilt_t find_tilt(const tacit_chain_t *chain, double mean_or_rate, double sd, double *noise_variance,
                        double *away) {
  enum { MAX_NEWTON = 200 };
  tacit_inversion_t *v = chain->inversion;
  double n = (double)chain->n, bracket[2] = {-INFINITY, INFINITY};
  bool is_panelled = chain->model->kind == TACIT_LATENT_GAUSSIAN && !(chain->release->step > 0);
  for (int i = 0;; i++) {
    double noise_mean;
    if (i == 0 || is_panelled) {
      set_distribution(chain, mean_or_rate, sd, v->last_tilt);
    }
    tilt_t at = tilt(v, v->last_tilt);
    tilted_noise(chain, at.s, &noise_mean, noise_variance);
    *away = n * at.mean + noise_mean - chain->values[0];
    double curvature = n * at.variance + *noise_variance;
    if (*away * *away < 0.25 * curvature || i == MAX_NEWTON) {
      return at;
    }
    v->last_tilt = next_tilt(chain, at.s, -*away / curvature, bracket);
  }
}

/*
 * Moment generating function of the noise at s + i omega, for Gaussian kinds divided by e^(s^2 sigma^2 / 2);
 * constants in theta are left out. A discrete Gaussian of more than four steps is a Gaussian here: e^(-2 pi^2
 * 16) is below 1e-130.
 */
static double complex noise_transform(const tacit_chain_t *chain, double s, double omega) {
  double w = chain->weight[0], variance = 0.5 / w;
  if (chain->is_laplace) { /* 1 / ((1 - a e^t) (1 - a e^-t)), a = e^-w */
    return 1 / ((1 - exp(s - w) * cexp(I * omega)) * (1 - exp(-s - w) * cexp(-I * omega)));
  }
  if (chain->release->noise == TACIT_RELEASE_GAUSSIAN || variance > 16) {
    return cexp(variance * omega * (I * s - 0.5 * omega));
  }
  double complex sum = 0;
  double centre = round(s * variance);
  for (double k = centre - 40; k <= centre + 40; k += 1) {
    double d = k - s * variance;
    sum += exp(-w * d * d) * cexp(I * omega * k);
  }
  return sum;
}

/* Characteristic function of a tilted record about its mean at multiples of the spacing, by rotation. */
static void begin_rotation(tacit_inversion_t *v, double mean, double spacing) {
  for (size_t k = 0; k < v->n; k++) {
    double angle = spacing * (v->value[k] - mean);
    v->rotation[k] = angle;
    v->real[k] = v->tilted[k];
    v->imaginary[k] = 0;
  }
  for (size_t k = 0; k < v->n; k++) { /* value is no longer needed: it holds the sine */
    double angle = v->rotation[k];
    v->rotation[k] = cos(angle);
    v->value[k] = sin(angle);
  }
}

static double complex rotate(tacit_inversion_t *v) {
  double real = 0, imaginary = 0;
  for (size_t k = 0; k < v->n; k++) {
    double r = v->real[k] * v->rotation[k] - v->imaginary[k] * v->value[k];
    v->imaginary[k] = v->real[k] * v->value[k] + v->imaginary[k] * v->rotation[k];
    v->real[k] = r;
    real += r;
    imaginary += v->imaginary[k];
  }
  return real + I * imaginary;
}

/* How far the tilted sum can stray from its mean but for e^-digits: its range, or Bernstein's inequality. */
static double reach(const tacit_chain_t *chain, const tilt_t *at, double noise_variance, double away) {
  double n = (double)chain->n, range = (chain->release->upper - chain->release->lower) / chain->unit;
  double b = digits * range / 3, bernstein = b + sqrt(b * b + 2 * digits * n * at->variance);
  double noise =
      chain->is_laplace ? digits / (chain->weight[0] - fabs(at->s)) : sqrt(2 * digits * noise_variance) + 1;
  return fmin(n * range, bernstein) + noise + fabs(away);
}

/*
 * Does the integrand, once negligible, remain so? It can come back at 2 pi / range, where atoms at both
 * bounds are in phase again, and at 2 pi, where whole numbers are (beyond the period that is integrated, if
 * the noise is discrete too).
 */
static bool stays_small(const tacit_chain_t *chain, double mean, double variance) {
  const tacit_inversion_t *v = chain->inversion;
  bool is_lattice = chain->release->noise != TACIT_RELEASE_GAUSSIAN;
  double omega = 2 * pi * chain->unit / (chain->release->upper - chain->release->lower);
  if (is_lattice && omega > pi) {
    return true;
  }
  double complex sum = 0;
  for (size_t k = 0; k < v->n; k++) {
    sum += v->tilted[k] * cexp(I * omega * (v->value[k] - mean));
  }
  double log_size = (double)chain->n * log(cabs(sum)) - (is_lattice ? 0 : 0.5 * variance * omega * omega);
  bool has_atoms = !is_lattice && chain->model->kind == TACIT_LATENT_POISSON;
  return log_size < -digits && (!has_atoms || 2 * pi * pi * variance > digits);
}

double tacit_inversion_log_lik(const tacit_chain_t *chain, double mean_or_rate, double sd) {
  enum { QUIET = 4 }; /* so many negligible terms end the sum */
  tacit_inversion_t *v = chain->inversion;
  bool is_lattice = chain->release->noise != TACIT_RELEASE_GAUSSIAN;
  double n = (double)chain->n, y = chain->values[0], variance, excess;
  tilt_t at = find_tilt(chain, mean_or_rate, sd, &variance, &excess);
  double spacing = 2 * pi / reach(chain, &at, variance, excess),
         last = is_lattice ? pi : sqrt(2 * digits / variance);
  if (is_lattice) { /* an odd number of points on the circle: none lies at its end */
    double n_points = 2 * ceil(pi / spacing) + 1;
    spacing = 2 * pi / n_points;
  }
  bool is_decaying = stays_small(chain, at.mean, variance);
  double size = creal(noise_transform(chain, at.s, 0)), sum = size, away = n * at.mean - y;
  size_t n_quiet = 0;
  begin_rotation(v, at.mean, spacing);
  for (size_t j = 1; (double)j * spacing < last && j < MAX_FREQUENCIES && n_quiet < QUIET; j++) {
    double omega = (double)j * spacing;
    double complex power = cexp(n * clog(rotate(v)) + I * omega * away);
    double complex term = power * noise_transform(chain, at.s, omega);
    sum += 2 * creal(term);
    n_quiet = is_decaying && cabs(term) < 1e-19 * size ? n_quiet + 1 : 0;
  }
  double factor = chain->is_laplace ? 0 : 0.5 * variance * at.s * at.s;
  return n * at.log_mass + factor - at.s * y + log(fmax(sum * spacing, 0));
}
