/*
 * Records that are nobody's, made like those whose columns' moments were released (docs/theory.md, section 18.14): quantities spread and
 * correlated as their columns are, and weights for what is left.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* What equal weights are worth in records; and how many of them weights leave at least. */
static const double program_weight = 30, least_effective = 128;

enum { MAX_Z = TACIT_AWARE_MAX_COLUMNS + 1, N_PROBES = 64, N_NEWTONS = 30, N_HALVINGS = 20, N_RELAXATIONS = 12, N_NODES = 121 };

/* What weights are sought by: moments (n, q) of records, what they are wanted to be, and how much of that is noise. */
typedef struct tilt {
  size_t n, q;
  double *moments;
  const double *wanted;
  double *mean, *cov, *step;
  double doubt; /* program_weight times the variance of their noise */
} tilt_t;

/* weights proportional to exp(moments . tilt); log of their mean, less tilt . wanted, plus doubt / 2 |tilt|^2. */
static double weigh(const tilt_t *t, const double *tilt, double *weights) {
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < t->n; i++) {
    weights[i] = tacit_dot(t->q, t->moments + i * t->q, tilt);
    most = fmax(most, weights[i]);
  }
  for (size_t i = 0; i < t->n; i++) {
    weights[i] = exp(weights[i] - most);
    sum += weights[i];
  }
  for (size_t i = 0; i < t->n; i++) {
    weights[i] /= sum;
  }
  return most + log(sum) - tacit_dot(t->q, tilt, t->wanted) + 0.5 * t->doubt * tacit_dot(t->q, tilt, tilt);
}

/* t->step <- Newton's, by the weights' moments; false: none. */
static bool find_step(tilt_t *t, const double *weights, const double *tilt) {
  size_t q = t->q;
  memset(t->mean, 0, q * sizeof *t->mean);
  memset(t->cov, 0, q * q * sizeof *t->cov);
  for (size_t i = 0; i < t->n; i++) {
    const double *m = t->moments + i * q;
    for (size_t k = 0; k < q; k++) {
      t->mean[k] += weights[i] * m[k];
      for (size_t l = 0; l <= k; l++) {
        t->cov[k * q + l] += weights[i] * m[k] * m[l];
      }
    }
  }
  for (size_t k = 0; k < q; k++) {
    for (size_t l = 0; l <= k; l++) {
      t->cov[k * q + l] -= t->mean[k] * t->mean[l];
    }
    t->cov[k * q + k] += t->doubt;
    t->step[k] = t->wanted[k] - t->mean[k] - t->doubt * tilt[k];
  }
  if (!tacit_cholesky(q, t->cov)) {
    return false;
  }
  tacit_solve_lower(q, t->cov, t->step);
  tacit_solve_upper(q, t->cov, t->step);
  return true;
}

/*
 * weights (t->n) <- the least of program_weight KL(weights, equal ones) + |their moments - wanted|^2 / (2 noise_sd^2), by its dual, which is convex.
 */
static tacit_status_t find_weights(tilt_t *t, double *weights, tacit_error_t *err) {
  size_t q = t->q;
  double *own = tacit_alloc_zero(q * q + 4 * q, sizeof *own), *tilt, *next;
  if (own == NULL) {
    return tacit_error_memory(err);
  }
  t->cov = own;
  t->mean = own + q * q;
  t->step = t->mean + q;
  tilt = t->step + q;
  next = tilt + q;
  double value = weigh(t, tilt, weights);
  for (int n = 0; n < N_NEWTONS && find_step(t, weights, tilt); n++) {
    double before = value;
    for (int halving = 0; halving < N_HALVINGS; halving++) {
      for (size_t k = 0; k < q; k++) {
        next[k] = tilt[k] + ldexp(t->step[k], -halving);
      }
      value = weigh(t, next, weights);
      if (value < before) {
        break;
      }
    }
    if (!(value < before - 1e-9 * (1 + fabs(before)))) {
      break;
    }
    memcpy(tilt, next, q * sizeof *tilt);
  }
  (void)weigh(t, tilt, weights);
  tacit_free(own);
  return TACIT_OK;
}

/* out <- svec(v v') */
static void square_of(size_t d, const double *v, double *out) {
  for (size_t a = 0, k = 0; a < d; a++) {
    for (size_t b = a; b < d; b++, k++) {
      out[k] = (a == b ? 1 : sqrt(2)) * v[a] * v[b];
    }
  }
}

/* ---- spread ---- */

/* Of one quantity, shares Phi(location + scale g) of its bounds; found: its column among z, SIZE_MAX: it has none of its own. */
typedef struct source {
  size_t found;
  double location, scale;
} source_t;

static double normal_below(double x) { return 0.5 * erfc(-x * sqrt(0.5)); }

static double normal_quantile(double p) {
  double low = -9, high = 9;
  for (int i = 0; i < 60; i++) {
    double x = 0.5 * (low + high);
    *(normal_below(x) < p ? &low : &high) = x;
  }
  return 0.5 * (low + high);
}

static double square_of_share(double location, double scale) {
  double sum = 0, total = 0;
  for (int i = 0; i < N_NODES; i++) {
    double g = 12.0 * i / (N_NODES - 1) - 6, weight = exp(-0.5 * g * g), share = normal_below(location + scale * g);
    sum += weight * share * share;
    total += weight;
  }
  return sum / total;
}

/* Location and scale such that shares have this mean and variance, which grows with scale. */
static void fit_source(double mean, double var, source_t *source) {
  double m = fmin(fmax(mean, 0.002), 0.998), q = normal_quantile(m), low = log(0.01), high = log(50);
  for (int i = 0; i < 40; i++) {
    double scale = exp(0.5 * (low + high));
    *(square_of_share(q * hypot(1, scale), scale) - m * m < var ? &low : &high) = log(scale);
  }
  source->scale = exp(0.5 * (low + high));
  source->location = q * hypot(1, source->scale);
}

/* The column among z that alone moves with a source, where the others stay in the middle. */
static tacit_status_t find_column(const tacit_public_t *p, size_t s, const tacit_spread_t *still, double *scale, source_t *source,
                                  tacit_error_t *err) {
  const tacit_record_model_t *model = p->model;
  float *records = tacit_alloc_zero(N_PROBES * model->n_columns, sizeof *records);
  if (records == NULL) {
    return tacit_error_memory(err);
  }
  scale[s] = 1;
  model->made_up(model->ctx, 2, N_PROBES, still, records);
  scale[s] = 0;
  *source = (source_t){SIZE_MAX, 0, 1};
  for (size_t j = 0, n = 0; j < p->columns.n; j++) {
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < N_PROBES; i++) {
      low = fminf(low, records[i * model->n_columns + p->columns.column[j]]);
      high = fmaxf(high, records[i * model->n_columns + p->columns.column[j]]);
    }
    if ((double)high - (double)low > 0.1 * p->columns.half[j]) {
      source->found = ++n == 1 ? j : SIZE_MAX;
    }
  }
  tacit_free(records);
  return TACIT_OK;
}

/* factor (n, n) <- that of the correlations of the sources' columns by mean squares of z, (d, d). */
static bool correlate(size_t n, const source_t *sources, size_t d, const double *squares, double *factor, double *work) {
  for (size_t a = 0; a < n; a++) {
    for (size_t b = 0; b <= a; b++) {
      size_t i = sources[a].found + 1, j = sources[b].found + 1;
      bool is_told = a != b && i > 0 && j > 0;
      double cov = is_told ? squares[i * d + j] - squares[i] * squares[j] : 0;
      double var = is_told ? (squares[i * d + i] - squares[i] * squares[i]) * (squares[j * d + j] - squares[j] * squares[j]) : 1;
      double r = var > 0 ? cov / sqrt(var) : 0;
      factor[a * n + b] = factor[b * n + a] = a == b ? 1 : fmin(fmax(r, -0.95), 0.95);
    }
  }
  tacit_raise_eigenvalues(n, factor, 0.05, work);
  if (!tacit_cholesky(n, factor)) {
    return false;
  }
  for (size_t a = 0; a < n; a++) {
    double norm = sqrt(tacit_dot(a + 1, factor + a * n, factor + a * n));
    for (size_t b = 0; b < n; b++) {
      factor[a * n + b] = b <= a ? factor[a * n + b] / norm : 0;
    }
  }
  return true;
}

/* Records are made up anew, by mean squares of z (d, d), whose elements have noise of `noise` times the root of their diagonals. */
static tacit_status_t make_up(tacit_public_t *p, const double *squares, double noise, tacit_error_t *err) {
  const tacit_record_model_t *model = p->model;
  size_t d = p->columns.n + 1, n = model->n_sources;
  double *numbers = tacit_alloc_zero(2 * n + n * n + 2 * n * n + n, sizeof *numbers), *location = numbers, *scale = numbers + n,
         *factor = numbers + 2 * n;
  source_t *sources = tacit_alloc_zero(n, sizeof *sources);
  const tacit_spread_t spread = {location, scale, factor};
  tacit_status_t status = numbers != NULL && sources != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t s = 0; s < n && status == TACIT_OK; s++) {
    factor[s * n + s] = 1;
  }
  for (size_t s = 0; s < n && status == TACIT_OK; s++) {
    status = find_column(p, s, &spread, scale, &sources[s], err);
    size_t j = sources[s].found;
    if (status == TACIT_OK && j != SIZE_MAX) {
      double mean = fmin(fmax(squares[j + 1], -1), 1), square = squares[(j + 1) * d + j + 1];
      fit_source(0.5 + 0.5 * mean, 0.25 * (fmax(square - mean * mean, 0) + noise * square), &sources[s]);
    }
  }
  for (size_t s = 0; s < n && status == TACIT_OK; s++) {
    location[s] = sources[s].location;
    scale[s] = sources[s].scale;
  }
  if (status == TACIT_OK && correlate(n, sources, d, squares, factor, factor + n * n)) {
    model->made_up(model->ctx, TACIT_PROGRAM_MADE_UP, p->n, &spread, p->records);
    tacit_free(p->spread);
    p->spread = numbers;
    numbers = NULL;
  }
  tacit_free(sources);
  tacit_free(numbers);
  return status;
}

static void unpack(size_t d, const double *svec, double *squares) {
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      squares[i * d + j] = squares[j * d + i] = svec[k] * (i == j ? 1 : sqrt(0.5));
    }
  }
}

tacit_status_t tacit_public_scale(tacit_public_t *p, const double *moments, double noise_sd, tacit_error_t *err) {
  size_t d = p->columns.n + 1;
  double squares[MAX_Z * MAX_Z], work[2 * MAX_Z * MAX_Z + MAX_Z];
  unpack(d, moments, squares);
  squares[0] = 1; /* the first of z is 1 */
  tacit_raise_eigenvalues(d, squares, fmax(1e-4, noise_sd * sqrt((double)d)), work);
  if (!tacit_cholesky(d, squares)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the released moments of columns are those of no columns");
  }
  tacit_invert_lower(d, squares, p->columns.whiten);
  p->columns.radius = whitened_radius * sqrt((double)d);
  return TACIT_OK;
}

/* squares (d, d) <- L^-1 W L^-1', W mean squares of L z; that of its first, 1, is 1. */
static void unwhiten(size_t d, const double *whiten, const double *moments, double *squares) {
  double inverse[MAX_Z * MAX_Z], whitened[MAX_Z * MAX_Z], half[MAX_Z * MAX_Z];
  unpack(d, moments, whitened);
  tacit_invert_lower(d, whiten, inverse);
  tacit_multiply(d, d, d, inverse, whitened, half);
  for (size_t i = 0; i < d * d; i++) {
    squares[i] = tacit_dot(d, half + i / d * d, inverse + i % d * d);
  }
  for (size_t i = d * d; i-- > 0;) {
    squares[i] /= fmax(squares[0], 0.1);
  }
}

/*
 * The variance of a column is u' W u, u = L^-1' (e_j - mean e_0), W whitened mean squares, whose noise of noise_sd an element gives it an error
 * of noise_sd |u|^2. Largest, over columns, of error / variance.
 */
static double worst_error(size_t d, const double *whiten, const double *squares, double noise_sd) {
  double inverse[MAX_Z * MAX_Z], worst = 0;
  tacit_invert_lower(d, whiten, inverse);
  for (size_t j = 1; j < d; j++) {
    double length2 = 0, var = squares[j * d + j] - squares[j] * squares[j];
    for (size_t k = 0; k <= j; k++) {
      double u = inverse[j * d + k] - (k == 0 ? squares[j] * inverse[0] : 0);
      length2 += u * u;
    }
    worst = fmax(worst, var > 0 ? fmin(noise_sd * length2 / var, 1e6) : 1e6);
  }
  return worst;
}

tacit_status_t tacit_public_learn(tacit_public_t *p, const double *moments, double noise_sd, tacit_error_t *err) {
  size_t d = p->columns.n + 1, q = d * (d + 1) / 2;
  const tacit_record_columns_t columns = {p->columns.n, p->columns.column, p->columns.middle, p->columns.half, p->columns.whiten, p->columns.radius};
  double v[MAX_Z], squares[MAX_Z * MAX_Z], effective = 0;
  unwhiten(d, p->columns.whiten, moments, squares);
  p->unknown = worst_error(d, p->columns.whiten, squares, noise_sd);
  tacit_status_t status = make_up(p, squares, noise_sd, err);
  tilt_t t = {.n = p->n, .q = q, .wanted = moments, .doubt = program_weight * noise_sd * noise_sd};
  t.moments = tacit_alloc_zero(p->n * q, sizeof *t.moments);
  if (status != TACIT_OK || t.moments == NULL) {
    tacit_free(t.moments);
    return status != TACIT_OK ? status : tacit_error_memory(err);
  }
  for (size_t i = 0; i < p->n; i++) {
    tacit_record_columns_read(&columns, p->records + i * p->model->n_columns, v);
    square_of(d, v, t.moments + i * q);
  }
  for (int n = 0; n < N_RELAXATIONS && effective < least_effective && status == TACIT_OK;
       n++) { /* what the weights cannot reach is not sought at any price */
    t.doubt = n == 0 ? t.doubt : fmax(4 * t.doubt, 1e-6);
    status = find_weights(&t, p->weights, err);
    effective = 1 / tacit_dot(p->n, p->weights, p->weights);
  }
  tacit_free(t.moments);
  return status;
}
