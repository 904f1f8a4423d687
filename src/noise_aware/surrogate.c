/*
 * The surrogate population: two noisy matrices of second moments, shrunk towards public guesses, turned into weighted
 * pseudo-rows; and what their moments leave uncertain.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/noise_aware_internal.h"
#include "noise_aware/schedule.h"

enum { MIN_ROWS = 512, N_CALIBRATIONS = 3 };

/* What the construction needs besides the result. */
typedef struct builder {
  tacit_surrogate_t *s;
  tacit_curator_t *curator;
  const tacit_noise_aware_settings_t *settings;
  double n; /* records */
  size_t d, n_moments;
  tacit_shape_t shape;
  double *memory;
  double *normals;   /* (n_rows, d): the leading p of each row are used */
  double *released;  /* (n_moments): svec as released */
  double *moments;   /* (n_moments): posterior means of the entries, row by row of the upper triangle */
  double *variances; /* (n_moments): and variances */
  double *products;  /* (n_rows, n_moments), n_moments >= d: upper triangle of x1 x1' */
  double *average;   /* (n_moments) */
  double *gram;      /* (n_moments, n_moments), at least 2 d^2 */
  double *metric;    /* (d, d): L1, then others */
  double *inverse;   /* (d, d) */
  double *work;      /* 6 d^2 + 4 d + 4 n_moments */
} builder_t;

/* Symmetric matrix from entries of the upper triangle, row by row. */
static void unpack(size_t d, const double *entries, double *matrix) {
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      matrix[i * d + j] = matrix[j * d + i] = entries[k];
    }
  }
}

/* Median of the off-diagonal entries of a packed triangle. */
static double median_off_diagonal(const builder_t *b, const double *entries) {
  size_t n = 0;
  for (size_t i = 0, k = 0; i < b->d; i++) {
    for (size_t j = i; j < b->d; j++, k++) {
      if (i != j) {
        b->work[n++] = entries[k];
      }
    }
  }
  return tacit_median(n, b->work);
}

/* Posterior mean and variance of one entry with a normal prior, given a released sum with noise of sd `noise_sd`. */
static void shrink(builder_t *b, size_t k, double prior_mean, double prior_sd, bool is_diagonal, double noise_sd) {
  double root = is_diagonal ? 1 : sqrt(2); /* svec */
  double sd = noise_sd / root / b->n, trust = prior_sd * prior_sd / (prior_sd * prior_sd + sd * sd);
  b->moments[k] = prior_mean + trust * (b->released[k] / root / b->n - prior_mean);
  b->variances[k] = trust * sd * sd;
}

/* First release: second moments of the features in the cube; the shape they suggest. */
static tacit_status_t learn_in_cube(builder_t *b, tacit_error_t *err) {
  size_t d = b->d, p = d - 1;
  tacit_row_weighting_t rows = {.radius = sqrt((double)d) * (1 + 1e-12)};
  double noise_sd;
  tacit_status_t status = tacit_curator_release_second_moments(
      b->curator, &rows, schedule_multiplier(b->settings->rho, share_cube), b->released, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      bool is_square = i == j, is_mean = i == 0;
      shrink(b, k, is_square ? 1.0 / 3 : 0, is_square ? 0.25 : is_mean ? 0.5 : 0.3, is_square, noise_sd);
      if (is_square && (i == 0 || b->shape.is_two_valued[i - 1])) { /* 1 for every record, publicly */
        b->moments[k] = 1;
        b->variances[k] = 0;
      }
    }
  }
  double *second = b->metric;
  unpack(d, b->moments, second);
  tacit_shape_from(&b->shape, second);
  double noise = 0.5 * sqrt(median_off_diagonal(b, b->variances) * (double)p);
  tacit_raise_eigenvalues(p, b->shape.cov, fmin(0.3, fmax(0.003, noise)), b->work);
  return TACIT_OK;
}

/* metric <- L L' = second moments of the shape; inverse <- L^-1. */
static tacit_status_t factorise_shape(builder_t *b, tacit_error_t *err) {
  tacit_second_moments(&b->shape, b->metric);
  if (!tacit_cholesky(b->d, b->metric)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "moments",
                           "the noisy second moments could not be made a covariance matrix; this should not happen, please "
                           "report it");
  }
  tacit_invert_lower(b->d, b->metric, b->inverse);
  return TACIT_OK;
}

/* out <- x L^-T scaled down to the radius; returns the norm before. */
static double whiten_row(size_t d, const double *inverse, const double *x, double radius, double *out) {
  double n2 = 0;
  for (size_t i = 0; i < d; i++) {
    out[i] = tacit_dot(i + 1, inverse + i * d, x);
    n2 += out[i] * out[i];
  }
  double weight = n2 > radius * radius ? radius / sqrt(n2) : 1;
  for (size_t i = 0; i < d; i++) {
    out[i] *= weight;
  }
  return sqrt(n2);
}

/* products and their weighted average for the pseudo-rows in the whitened metric. */
static void fill_products(builder_t *b, double radius) {
  tacit_surrogate_t *s = b->s;
  double row[TACIT_NOISE_AWARE_MAX_FEATURES];
  memset(b->average, 0, b->n_moments * sizeof *b->average);
  for (size_t r = 0; r < s->n_rows; r++) {
    double *product = b->products + r * b->n_moments;
    whiten_row(b->d, b->inverse, s->x + r * b->d, radius, row);
    for (size_t i = 0, k = 0; i < b->d; i++) {
      for (size_t j = i; j < b->d; j++, k++) {
        product[k] = row[i] * row[j];
        b->average[k] += s->weight[r] * product[k];
      }
    }
  }
}

/* Second release: second moments in the whitened metric, shrunk to those of the pseudo-rows; a better shape. */
static tacit_status_t learn_whitened(builder_t *b, tacit_error_t *err) {
  size_t d = b->d;
  double radius = whitened_radius * sqrt((double)d), noise_sd;
  tacit_population(&b->shape, b->s->n_rows, b->normals, b->s->x, b->work);
  tacit_status_t status = factorise_shape(b, err);
  if (status != TACIT_OK) {
    return status;
  }
  fill_products(b, radius);
  tacit_row_weighting_t rows = {.whiten = b->inverse, .radius = radius};
  status = tacit_curator_release_second_moments(b->curator, &rows, schedule_multiplier(b->settings->rho, share_whitened),
                                                b->released, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      shrink(b, k, b->average[k], i == j ? 0.6 : 0.4, i == j, noise_sd);
    }
  }
  double *matrix = b->gram, *product = matrix + d * d; /* not in use yet */
  unpack(d, b->moments, matrix);
  double noise = 0.5 * sqrt(median_off_diagonal(b, b->variances) * (double)d);
  tacit_raise_eigenvalues(d, matrix, fmax(0.05, fmin(0.5, noise)), b->work);
  tacit_multiply(d, d, d, b->metric, matrix, product);
  for (size_t i = 0; i < d; i++) { /* matrix <- L1 N L1' */
    for (size_t j = 0; j < d; j++) {
      matrix[i * d + j] = tacit_dot(d, product + i * d, b->metric + j * d);
    }
  }
  tacit_shape_from(&b->shape, matrix);
  return TACIT_OK;
}

/* gram <- covariance of the products under the weights; fresh averages. */
static void fill_gram(builder_t *b) {
  size_t m = b->n_moments;
  const tacit_surrogate_t *s = b->s;
  memset(b->average, 0, m * sizeof *b->average);
  memset(b->gram, 0, m * m * sizeof *b->gram);
  for (size_t r = 0; r < s->n_rows; r++) {
    for (size_t i = 0; i < m; i++) {
      b->average[i] += s->weight[r] * b->products[r * m + i];
    }
  }
  for (size_t r = 0; r < s->n_rows; r++) {
    const double *product = b->products + r * m;
    for (size_t i = 0; i < m; i++) {
      double weighted = s->weight[r] * (product[i] - b->average[i]);
      for (size_t j = 0; j <= i; j++) {
        b->gram[i * m + j] += weighted * (product[j] - b->average[j]);
      }
    }
  }
}

/*
 * One round of regression calibration [Deville1992] of the weighted average of the products to their posterior means, with
 * their variances as ridge; weights stay positive.
 */
static void calibrate(builder_t *b) {
  size_t m = b->n_moments;
  tacit_surrogate_t *s = b->s;
  double *slope = b->work, total = 0, trace = 0;
  fill_gram(b);
  for (size_t i = 0; i < m; i++) {
    trace += b->gram[i * m + i];
  }
  for (size_t i = 0; i < m; i++) {
    b->gram[i * m + i] += b->variances[i] + 1e-9 * trace + 1e-12;
    slope[i] = b->moments[i] - b->average[i];
  }
  if (!tacit_cholesky(m, b->gram)) {
    return; /* the weights stay as they are, and the error of the averages is carried on by basis_shift */
  }
  tacit_solve_lower(m, b->gram, slope);
  tacit_solve_upper(m, b->gram, slope);
  double constant = tacit_dot(m, slope, b->average);
  for (size_t r = 0; r < s->n_rows; r++) {
    double factor = 1 + tacit_dot(m, slope, b->products + r * m) - constant;
    s->weight[r] = fmax(s->weight[r] * fmax(0.1, fmin(4, factor)), 0.05 / (double)s->n_rows);
    total += s->weight[r];
  }
  for (size_t r = 0; r < s->n_rows; r++) {
    s->weight[r] /= total;
  }
}

/*
 * Cholesky factor of gram with pivoting, stopped where the products that are left are combinations of those before to
 * within 1e-4 of their variance (the square of a +-1 feature is constant); returns the rank. In the upper left of
 * gram: the lower factor; order: the products taken.
 */
static size_t pivoted_factor(builder_t *b, size_t *order) {
  size_t m = b->n_moments;
  double *gram = b->gram, *left = b->work;
  for (size_t i = 0; i < m; i++) {
    order[i] = i;
    left[i] = gram[i * m + i];
    for (size_t j = 0; j < i; j++) {
      gram[j * m + i] = gram[i * m + j];
    }
  }
  for (size_t k = 0; k < m; k++) {
    size_t best = k;
    for (size_t i = k + 1; i < m; i++) {
      best = left[i] > left[best] ? i : best;
    }
    if (!(left[best] > 1e-4 * left[0] && left[best] > 1e-10)) { /* left[0]: the largest variance of all */
      return k;
    }
    for (size_t i = 0; i < m; i++) { /* exchange rows, then columns, of what is left and of the factor so far */
      double swapped = gram[k * m + i];
      gram[k * m + i] = gram[best * m + i];
      gram[best * m + i] = swapped;
    }
    for (size_t i = k; i < m; i++) {
      double swapped = gram[i * m + k];
      gram[i * m + k] = gram[i * m + best];
      gram[i * m + best] = swapped;
    }
    size_t index = order[k];
    double variance = left[k];
    order[k] = order[best];
    order[best] = index;
    left[k] = left[best];
    left[best] = variance;
    double pivot = sqrt(left[k]);
    gram[k * m + k] = pivot;
    for (size_t i = k + 1; i < m; i++) {
      gram[i * m + k] = (gram[i * m + k] - tacit_dot(k, gram + i * m, gram + k * m)) / pivot;
      left[i] -= gram[i * m + k] * gram[i * m + k];
    }
  }
  return m;
}

/*
 * basis_cov <- V (I + V)^-1 and basis_shift <- (I + V)^-1 e for the noise V and the error e in coordinates of the basis: a
 * standard normal prior on the mean of each coordinate, which has variance 1 in the population. It matters only in
 * directions that the pseudo-rows hardly fill.
 */
static bool regularise(tacit_surrogate_t *s, double *noise, double *work) {
  size_t r = s->n_basis;
  memcpy(work, noise, r * r * sizeof *work);
  for (size_t i = 0; i < r; i++) {
    work[i * r + i] += 1;
  }
  if (!tacit_cholesky(r, work)) {
    return false;
  }
  tacit_solve_lower(r, work, s->basis_shift);
  tacit_solve_upper(r, work, s->basis_shift);
  for (size_t i = 0; i < r; i++) { /* V is symmetric and commutes with (I + V)^-1 */
    memcpy(s->basis_cov + i * r, noise + i * r, r * sizeof *noise);
    tacit_solve_lower(r, work, s->basis_cov + i * r);
    tacit_solve_upper(r, work, s->basis_cov + i * r);
  }
  return true;
}

/* The basis Q of centred products, orthonormal under the weights; V_Q and e_Q. */
static tacit_status_t make_basis(builder_t *b, tacit_error_t *err) {
  tacit_surrogate_t *s = b->s;
  size_t m = b->n_moments, *order = tacit_alloc(m, sizeof *order);
  if (order == NULL) {
    return tacit_error_memory(err);
  }
  fill_gram(b);
  size_t r = s->n_basis = pivoted_factor(b, order);
  double *factor = tacit_alloc_zero(3 * r * r, sizeof *factor), *inverse = factor + r * r, *noise = inverse + r * r;
  s->basis = tacit_alloc(s->n_rows * r, sizeof *s->basis);
  s->basis_cov = tacit_alloc(r * r, sizeof *s->basis_cov);
  s->basis_shift = tacit_alloc(r, sizeof *s->basis_shift);
  bool ok = factor != NULL && s->basis != NULL && s->basis_cov != NULL && s->basis_shift != NULL;
  for (size_t i = 0; ok && i < r; i++) {
    memcpy(factor + i * r, b->gram + i * m, (i + 1) * sizeof *factor);
    s->basis_shift[i] = b->moments[order[i]] - b->average[order[i]];
  }
  for (size_t k = 0; ok && k < s->n_rows; k++) {
    for (size_t i = 0; i < r; i++) {
      s->basis[k * r + i] = b->products[k * m + order[i]] - b->average[order[i]];
    }
    tacit_solve_lower(r, factor, s->basis + k * r);
  }
  if (ok) {
    tacit_solve_lower(r, factor, s->basis_shift);
    tacit_invert_lower(r, factor, inverse);
    for (size_t i = 0; i < r * r; i++) {
      for (size_t l = 0; l < r; l++) {
        noise[i] += inverse[i / r * r + l] * inverse[i % r * r + l] * b->variances[order[l]];
      }
    }
    ok = regularise(s, noise, factor);
  }
  tacit_free(factor);
  tacit_free(order);
  return ok ? TACIT_OK : tacit_error_memory(err);
}

/* Asymptotic variance of an estimate with row weights of radius c sqrt(d), over that without weights or noise. */
static double relative_variance(const builder_t *b, const double *norms, double c) {
  const tacit_surrogate_t *s = b->s;
  double d = (double)b->d, radius = c * sqrt(d), first = 0, second = 0;
  for (size_t k = 0; k < s->n_rows; k++) {
    double weight = fmin(1, radius / norms[k]), n2 = norms[k] * norms[k] / d;
    first += s->weight[k] * weight * n2;
    second += s->weight[k] * weight * weight * n2;
  }
  double variance = b->settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1, upper = b->settings->upper;
  double mu2 = 2 * b->settings->rho * (1 - share_cube - share_whitened);
  double noise = 4 * upper * upper * c * c * d / (mu2 * b->n * variance);
  return (second + noise) / (first * first);
}

/* The final metric, the radius that is best in it by public knowledge and the surrogate, and the weighted rows. */
static tacit_status_t weigh_rows(builder_t *b, tacit_error_t *err) {
  tacit_surrogate_t *s = b->s;
  tacit_status_t status = factorise_shape(b, err);
  if (status != TACIT_OK) {
    return status;
  }
  memcpy(s->whiten, b->inverse, b->d * b->d * sizeof *s->whiten);
  double *norms = b->normals, best = INFINITY, row[TACIT_NOISE_AWARE_MAX_FEATURES];
  for (size_t k = 0; k < s->n_rows; k++) {
    norms[k] = whiten_row(b->d, s->whiten, s->x + k * b->d, INFINITY, row);
  }
  for (int step = 0; step <= 88; step++) {
    double c = 0.8 + 0.025 * step, value = relative_variance(b, norms, c);
    if (value < best) {
      best = value;
      s->radius = c * sqrt((double)b->d);
    }
  }
  for (size_t k = 0; k < s->n_rows; k++) {
    whiten_row(b->d, s->whiten, s->x + k * b->d, s->radius, row);
    for (size_t i = 0; i < b->d; i++) {
      s->rows[i * s->n_rows + k] = row[i];
    }
  }
  double *rows = b->products; /* the pseudo-rows are wanted line by line from now on */
  memcpy(rows, s->x, s->n_rows * b->d * sizeof *rows);
  for (size_t i = 0; i < s->n_rows * b->d; i++) {
    s->x[i % b->d * s->n_rows + i / b->d] = rows[i];
  }
  return TACIT_OK;
}

static tacit_status_t allocate(builder_t *b, tacit_error_t *err) {
  tacit_surrogate_t *s = b->s;
  size_t d = b->d, m = b->n_moments, n = s->n_rows;
  size_t n_gram = m * m > 2 * d * d ? m * m : 2 * d * d, n_work = 6 * d * d + 4 * d + 4 * m;
  s->x = tacit_alloc(n * d, sizeof *s->x);
  s->rows = tacit_alloc(n * d, sizeof *s->rows);
  s->weight = tacit_alloc(n, sizeof *s->weight);
  s->whiten = tacit_alloc(d * d, sizeof *s->whiten);
  b->memory = tacit_alloc_zero(n * d + 4 * m + n * m + n_gram + 2 * d * d + n_work + d + d * d, sizeof *b->memory);
  if (s->x == NULL || s->rows == NULL || s->weight == NULL || s->whiten == NULL || b->memory == NULL) {
    return tacit_error_memory(err);
  }
  double *next = b->memory;
  double **const arrays[] = {&b->normals, &b->released, &b->moments, &b->variances,  &b->average,   &b->products,
                             &b->gram,    &b->metric,   &b->inverse, &b->shape.mean, &b->shape.cov, &b->work};
  const size_t sizes[] = {n * d, m, m, m, m, n * m, n_gram, d * d, d * d, d, d * d, n_work};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    *arrays[i] = next;
    next += sizes[i];
  }
  return TACIT_OK;
}

/* Rows of standard normals, each followed by its mirror image. */
static void draw_normals(builder_t *b, tacit_rng_t *rng) {
  size_t p = b->d - 1;
  for (size_t k = 0; k + 1 < b->s->n_rows; k += 2) {
    for (size_t j = 0; j < p; j++) {
      double g = tacit_rng_normal(rng);
      b->normals[k * p + j] = g;
      b->normals[(k + 1) * p + j] = -g;
    }
  }
}

static tacit_status_t build(builder_t *b, tacit_error_t *err) {
  tacit_surrogate_t *s = b->s;
  for (size_t k = 0; k < s->n_rows; k++) {
    s->weight[k] = 1 / (double)s->n_rows;
  }
  tacit_status_t status = learn_in_cube(b, err);
  if (status == TACIT_OK) {
    status = learn_whitened(b, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  /* new rows of the better shape; products stay those of the metric that the release was made in */
  tacit_population(&b->shape, s->n_rows, b->normals, s->x, b->work);
  fill_products(b, whitened_radius * sqrt((double)b->d));
  for (size_t i = 0; i < N_CALIBRATIONS; i++) {
    calibrate(b);
  }
  status = make_basis(b, err);
  return status == TACIT_OK ? weigh_rows(b, err) : status;
}

tacit_status_t tacit_surrogate_init(tacit_surrogate_t *surrogate, tacit_curator_t *curator,
                                    const tacit_noise_aware_settings_t *settings, double n_units, tacit_rng_t *rng,
                                    tacit_error_t *err) {
  static const bool none[TACIT_NOISE_AWARE_MAX_FEATURES];
  size_t d = tacit_curator_dim(curator), n_moments = d * (d + 1) / 2;
  size_t enough = (4 * n_moments + 15) / 16 * 16;
  *surrogate = (tacit_surrogate_t){.d = d, .n_rows = enough > MIN_ROWS ? enough : MIN_ROWS};
  builder_t b = {.s = surrogate, .curator = curator, .settings = settings, .n = n_units, .d = d, .n_moments = n_moments};
  b.shape.p = d - 1;
  b.shape.is_two_valued = settings->is_two_valued != NULL ? settings->is_two_valued + 1 : none; /* past the intercept */
  tacit_status_t status = allocate(&b, err);
  if (status == TACIT_OK) {
    draw_normals(&b, rng);
    status = build(&b, err);
  }
  tacit_free(b.memory);
  return status;
}

void tacit_surrogate_clear(tacit_surrogate_t *surrogate) {
  tacit_free(surrogate->x);
  tacit_free(surrogate->weight);
  tacit_free(surrogate->basis);
  tacit_free(surrogate->basis_cov);
  tacit_free(surrogate->basis_shift);
  tacit_free(surrogate->whiten);
  tacit_free(surrogate->rows);
  *surrogate = (tacit_surrogate_t){0};
}
