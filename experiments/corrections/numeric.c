/* Quadrature, small kernels, simulation and an accountant that shares nothing with the library's. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corrections.h"

static const double pi_number = 3.14159265358979323846;

void must(tacit_status_t status, const tacit_error_t *err) {
  if (status != TACIT_OK) {
    fprintf(stderr, "tacit-corrections: %s\n", err->message);
    exit(1);
  }
}

void *allocate(size_t n, size_t size) {
  void *memory = calloc(n, size);
  if (memory == NULL) {
    fprintf(stderr, "tacit-corrections: out of memory\n");
    exit(1);
  }
  return memory;
}

FILE *open_output(const run_t *run, const char *name, const char *suffix) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s%s", run->out, name, suffix);
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    fprintf(stderr, "tacit-corrections: cannot write %s\n", path);
    exit(1);
  }
  return file;
}

/* ---- functions ---- */

double normal_cdf(double x) { return 0.5 * erfc(-x / sqrt(2)); }

double logistic(double w) { return w < 0 ? exp(w) / (1 + exp(w)) : 1 / (1 + exp(-w)); }

double metropolis(double w) { return w < 0 ? exp(w) : 1; }

double poisson_pmf(uint64_t k, double mean) {
  return mean > 0 ? exp((double)k * log(mean) - mean - lgamma((double)k + 1)) : (k == 0);
}

double bit_delta(double p, double q, double epsilon) {
  double e = exp(epsilon);
  return fmax(fmax(fmax(p - e * q, q - e * p), fmax(q - p + (1 - e) * (1 - q), p - q + (1 - e) * (1 - p))),
              0);
}

/* ---- quadrature and roots ---- */

double integrate(function_t f, const void *ctx, double lower, double upper, size_t n_panels) {
  static const double node[4] = {0.18343464249564980, 0.52553240991632899, 0.79666647741362674,
                                 0.96028985649753623};
  static const double weight[4] = {0.36268378337836198, 0.31370664587788729, 0.22238103445337447,
                                   0.10122853629037626};
  double sum = 0, half = (upper - lower) / (double)n_panels / 2;
  for (size_t i = 0; i < n_panels; i++) {
    double centre = lower + (2 * (double)i + 1) * half;
    for (size_t k = 0; k < 4; k++) {
      sum += weight[k] * (f(centre - half * node[k], ctx) + f(centre + half * node[k], ctx));
    }
  }
  return sum * half;
}

double bisect(function_t f, const void *ctx, double lower, double upper) {
  bool rises = f(upper, ctx) > 0;
  for (int i = 0; i < 200; i++) {
    double middle = lower + (upper - lower) / 2;
    if ((f(middle, ctx) > 0) == rises) {
      upper = middle;
    } else {
      lower = middle;
    }
  }
  return lower + (upper - lower) / 2;
}

typedef struct noisy {
  acceptance_t a;
  double shift, sigma;
} noisy_t;

static double noisy_integrand(double z, const void *ctx) {
  const noisy_t *n = ctx;
  return n->a(n->shift + n->sigma * z) * exp(-z * z / 2) / sqrt(2 * pi_number);
}

double noisy_acceptance(acceptance_t a, double w, double sigma, double penalty) {
  noisy_t n = {a, w - penalty, sigma};
  double reach = 12 + sigma; /* where e^w turns the weight into that of a shifted normal */
  double kink = fmin(fmax(-n.shift / sigma, -reach), 12);
  return integrate(noisy_integrand, &n, -reach, kink, 200) + integrate(noisy_integrand, &n, kink, 12, 200);
}

double balance_ratio(acceptance_t a, double w, double sigma) {
  double penalty = sigma * sigma / 2;
  return noisy_acceptance(a, w, sigma, penalty) / (exp(w) * noisy_acceptance(a, -w, sigma, penalty));
}

/* ---- linear algebra ---- */

void solve(size_t n, double *a, double *b) {
  for (size_t k = 0; k < n; k++) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; i++) {
      pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
    }
    for (size_t j = 0; j < n; j++) {
      double swap = a[k * n + j];
      a[k * n + j] = a[pivot * n + j];
      a[pivot * n + j] = swap;
    }
    double swap = b[k];
    b[k] = b[pivot];
    b[pivot] = swap;
    for (size_t i = k + 1; i < n; i++) {
      double factor = a[i * n + k] / a[k * n + k];
      for (size_t j = k; j < n; j++) {
        a[i * n + j] -= factor * a[k * n + j];
      }
      b[i] -= factor * b[k];
    }
  }
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; j++) {
      b[k] -= a[k * n + j] * b[j];
    }
    b[k] /= a[k * n + k];
  }
}

void stationary(size_t n, const double *kernel, double *distribution) {
  double *a = allocate(n * n, sizeof *a);
  for (size_t i = 0; i < n; i++) { /* balance in state i; the last equation is the normalisation */
    for (size_t j = 0; j < n; j++) {
      a[i * n + j] = i + 1 < n ? kernel[j * n + i] - (i == j) : 1;
    }
    distribution[i] = i + 1 < n ? 0 : 1;
  }
  solve(n, a, distribution);
  free(a);
}

double total_variation(size_t n, const double *p, const double *q) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += fabs(p[i] - q[i]) / 2;
  }
  return sum;
}

void stationary_covariance(const double a[4], const double noise[3], double v[3]) {
  double trace = a[0] + a[3], determinant = a[0] * a[3] - a[1] * a[2];
  if (!(fabs(determinant) < 1 &&
        fabs(trace) < 1 + determinant)) { /* Jury's criterion: both eigenvalues below 1 */
    v[0] = v[1] = v[2] = INFINITY;
    return;
  }
  double system[9] = {1 - a[0] * a[0], -2 * a[0] * a[1],
                      -a[1] * a[1], /* v11 */
                      -a[0] * a[2],    1 - a[0] * a[3] - a[1] * a[2],
                      -a[1] * a[3], /* v12 */
                      -a[2] * a[2],    -2 * a[2] * a[3],
                      1 - a[3] * a[3]};
  memcpy(v, noise, 3 * sizeof *v);
  solve(3, system, v);
}

/* ---- simulation ---- */

tacit_rng_t *case_rng(const run_t *run, uint64_t stream) {
  unsigned char key[32];
  uint64_t seed = 1469598103934665603u; /* FNV-1a of the case's name */
  for (const char *c = run->current->name; *c != '\0'; c++) {
    seed = (seed ^ (unsigned char)*c) * 1099511628211u;
  }
  tacit_error_t err;
  tacit_rng_t *rng;
  tacit_rng_key_from_seed(key, seed);
  must(tacit_rng_new(&rng, key, stream, &err), &err);
  return rng;
}

void series_init(series_t *series, uint64_t n_total) {
  *series = (series_t){.batch_length = n_total / 256 > 0 ? n_total / 256 : 1};
}

void series_add(series_t *series, double x) {
  uint64_t batch = (uint64_t)series->n / series->batch_length;
  if (batch < 256) {
    series->sum[batch] += x;
    series->n++;
  }
}

double series_mean(const series_t *series) {
  double sum = 0;
  for (size_t i = 0; i < 256; i++) {
    sum += series->sum[i];
  }
  return sum / series->n;
}

double series_error(const series_t *series) {
  double mean = series_mean(series), squares = 0;
  for (size_t i = 0; i < 256; i++) {
    double difference = series->sum[i] / (double)series->batch_length - mean;
    squares += difference * difference;
  }
  return sqrt(squares / 255 / 256);
}

/* ---- accounting ---- */

enum { log2_points = 17, n_points = 1 << log2_points, n_nodes = 1 << 16 };
static const double widest_loss = 12;

static void transform(double complex *x, size_t n, double sign) {
  for (size_t i = 1, j = 0; i < n; i++) { /* bit reversal */
    size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) {
      j ^= bit;
    }
    j ^= bit;
    if (i < j) {
      double complex swap = x[i];
      x[i] = x[j];
      x[j] = swap;
    }
  }
  for (size_t length = 2; length <= n; length <<= 1) {
    for (size_t k = 0; k < length / 2; k++) {
      double angle = sign * 2 * pi_number * (double)k / (double)length;
      double complex root = cos(angle) + I * sin(angle);
      for (size_t i = k; i < n; i += length) {
        double complex even = x[i], odd = x[i + length / 2] * root;
        x[i] = even + odd;
        x[i + length / 2] = even - odd;
      }
    }
  }
}

double pair_delta(const density_pair_t *pair, double epsilon) {
  double step = (pair->upper - pair->lower) / n_nodes, sum = 0;
  for (size_t i = 0; i < n_nodes; i++) {
    double x = pair->lower + ((double)i + 0.5) * step;
    sum += fmax(pair->p(x, pair->ctx) - exp(epsilon) * pair->q(x, pair->ctx), 0) * step;
  }
  return sum;
}

/* The mass of each loss goes to the two points beside it and keeps its mean: the error is quadratic in the
 * spacing. */
static void losses(const density_pair_t *pair, double complex *mass) {
  double spacing = 2 * widest_loss / n_points, step = (pair->upper - pair->lower) / n_nodes;
  memset(mass, 0, n_points * sizeof *mass);
  for (size_t i = 0; i < n_nodes; i++) {
    double x = pair->lower + ((double)i + 0.5) * step;
    double p = pair->p(x, pair->ctx);
    double at = log(p / pair->q(x, pair->ctx)) / spacing + n_points / 2;
    if (p > 0 && at >= 0 && at < n_points - 1) {
      size_t below = (size_t)at;
      mass[below] += p * step * ((double)below + 1 - at);
      mass[below + 1] += p * step * (at - (double)below);
    }
  }
}

static double complex whole_power(double complex z, uint64_t k) {
  double complex power = 1;
  for (; k > 0; k >>= 1, z *= z) {
    power *= (k & 1) != 0 ? z : 1;
  }
  return power;
}

static double delta_of(const double complex *mass, double epsilon) {
  double sum = 0, spacing = 2 * widest_loss / n_points;
  for (size_t i = 0; i < n_points; i++) {
    double loss = ((double)i - n_points / 2) * spacing;
    sum += loss > epsilon ? -expm1(epsilon - loss) * creal(mass[i]) : 0;
  }
  return sum;
}

double composed_epsilon(const density_pair_t *pairs, size_t n_pairs, uint64_t count, double delta) {
  double complex *mass = allocate(n_points, sizeof *mass), *product = allocate(n_points, sizeof *product);
  for (size_t i = 0; i < n_points; i++) {
    product[i] = 1;
  }
  for (size_t k = 0; k < n_pairs; k++) {
    losses(&pairs[k], mass);
    transform(mass, n_points, -1);
    for (size_t i = 0; i < n_points; i++) { /* (-1)^i moves the zero loss to index 0 */
      product[i] *= whole_power((i & 1) != 0 ? -mass[i] : mass[i], count);
    }
  }
  for (size_t i = 1; i < n_points; i += 2) {
    product[i] = -product[i];
  }
  transform(product, n_points, 1);
  for (size_t i = 0; i < n_points; i++) {
    product[i] /= n_points;
  }
  double lower = 0, upper = widest_loss;
  for (int i = 0; i < 40; i++) {
    double middle = (lower + upper) / 2;
    *(delta_of(product, middle) > delta ? &lower : &upper) = middle;
  }
  free(mass);
  free(product);
  return (lower + upper) / 2;
}

double library_epsilon(const tacit_event_t *events, size_t n_events, tacit_relation_t relation, double delta,
                       const char *accountant) {
  tacit_account_options_t options = {.relation = relation};
  tacit_guarantee_t guarantee;
  tacit_error_t err;
  must(tacit_account_epsilon(tacit_accountant_find(accountant), events, n_events, &options, delta, &guarantee,
                             &err),
       &err);
  return guarantee.epsilon;
}

double library_delta(const tacit_event_t *events, size_t n_events, tacit_relation_t relation,
                     double epsilon) {
  tacit_account_options_t options = {.relation = relation};
  tacit_guarantee_t guarantee;
  tacit_error_t err;
  must(tacit_account_delta(NULL, events, n_events, &options, epsilon, &guarantee, &err), &err);
  return guarantee.delta;
}
