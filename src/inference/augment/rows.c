/*
 * Regressions with latent rows: exact, at a cost of n. Each row is proposed from the model and accepted by
 * the noise's likelihood ratio [Ju2022, algorithm 1]; parameters given the rows are conjugate column by
 * column (a logistic regression's: slices); and moves of the parameters carry the rows along [YuMeng2011],
 * their innovations fixed:
 *
 *     x_j = intercept + slopes . (x_0 .. x_(j-1)) + sd e_j,      y = 1{u < logistic(coefficients . (1, x))}.
 *
 * These go along the axes of curvature that regression.c finds for its approximation, which scale moves and
 * nothing else.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/regression.h"

/* The normal columns of a row and its response, by its innovations. */
static double forward(const tacit_regression_t *r, const double *parameters, const double *e, double u,
                      double *x) {
  size_t d = r->d;
  const double *own = parameters;
  for (size_t j = 0; j < d; j++) {
    x[j] = own[0] + exp(own[j + 1]) * e[j];
    for (size_t i = 0; i < j; i++) {
      x[j] += own[1 + i] * x[i];
    }
    own += j + 2;
  }
  if (!r->is_logistic) {
    return 0;
  }
  return u < tacit_logistic(tacit_row_predictor(r, own, x)) ? 1 : 0;
}

/* t <- what a row adds to the sums. */
static void statistic(const tacit_regression_t *r, const double *x, double y, double *t) {
  size_t d = r->d, m = d;
  for (size_t j = 0; j < d; j++) {
    t[j] = tacit_row_clamp(x[j]);
  }
  for (size_t j = 0; j < d; j++) {
    for (size_t k = j; k < d; k++) {
      t[m++] = t[j] * t[k];
    }
  }
  for (size_t j = 0; r->is_logistic && j <= d; j++) {
    t[m++] = (y - 0.5) * (j == 0 ? 1 : t[j - 1]);
  }
}

static double log_noise(const tacit_chain_t *chain, const double *residual) {
  double sum = 0;
  for (size_t k = 0; k < chain->n_values; k++) {
    sum += tacit_noise_log(chain, k, residual[k]);
  }
  return sum;
}

void tacit_rows_refresh(tacit_chain_t *chain) {
  const tacit_regression_t *r = chain->regression;
  const tacit_rows_t *rows = chain->rows;
  memcpy(chain->residual, chain->values, r->q * sizeof *chain->residual);
  for (size_t i = 0; i < chain->n; i++) {
    statistic(r, rows->x + i * r->d, rows->y[i], rows->t);
    for (size_t k = 0; k < r->q; k++) {
      chain->residual[k] -= rows->t[k];
    }
  }
}

/* ---- rows given parameters ---- */

static void draw_innovations(tacit_rng_t *rng, size_t d, double *e, double *u) {
  for (size_t j = 0; j < d; j++) {
    e[j] = tacit_rng_normal(rng);
  }
  *u = tacit_rng_uniform(rng);
}

static void sweep(tacit_chain_t *chain) {
  const tacit_regression_t *r = chain->regression;
  const tacit_rows_t *rows = chain->rows;
  size_t d = r->d;
  double e[TACIT_MAX_ROW_COLUMNS], x[TACIT_MAX_ROW_COLUMNS], u, at = log_noise(chain, chain->residual);
  for (size_t i = 0; i < chain->n; i++) {
    draw_innovations(chain->rng, d, e, &u);
    double y = forward(r, r->at, e, u, x);
    statistic(r, rows->x + i * d, rows->y[i], rows->t);
    statistic(r, x, y, rows->proposed);
    for (size_t k = 0; k < r->q; k++) {
      rows->proposed[k] = chain->residual[k] - rows->proposed[k] + rows->t[k];
    }
    double other = log_noise(chain, rows->proposed), log_ratio = other - at;
    chain->n_proposed++;
    chain->min_log_ratio = fmin(chain->min_log_ratio, log_ratio);
    if (tacit_accepts(log_ratio, tacit_rng_uniform(chain->rng))) {
      chain->n_accepted++;
      at = other;
      memcpy(chain->residual, rows->proposed, r->q * sizeof *chain->residual);
      memcpy(rows->x + i * d, x, d * sizeof *x);
      memcpy(rows->e + i * d, e, d * sizeof *e);
      rows->y[i] = y;
      rows->u[i] = u;
    }
  }
}

/* ---- parameters given rows ---- */

/* Products of (1, x_0 .. x_j): lower triangle, shape (j + 2, j + 2). */
static void fill_products(const tacit_chain_t *chain, size_t j, double *products) {
  size_t d = chain->regression->d, m = j + 2;
  memset(products, 0, m * m * sizeof *products);
  for (size_t i = 0; i < chain->n; i++) {
    const double *x = chain->rows->x + i * d;
    for (size_t a = 0; a < m; a++) {
      double left = a == 0 ? 1 : x[a - 1];
      for (size_t b = 0; b <= a; b++) {
        products[a * m + b] += left * (b == 0 ? 1 : x[b - 1]);
      }
    }
  }
}

/* Intercept and slopes of column j given its variance, normal; then its variance given them, inverse gamma.
 */
static void draw_column(tacit_chain_t *chain, size_t j) {
  const tacit_latent_model_t *model = chain->model;
  const tacit_rows_t *rows = chain->rows;
  size_t m = j + 1;
  double *own = chain->regression->at + tacit_row_offset(j), *products = rows->products,
         *precision = rows->precision;
  double variance = exp(2 * own[m]), scale = tacit_row_scale(model), square;
  fill_products(chain, j, products);
  const double *with_own = products + m * (m + 1); /* the last row: column j with the others and itself */
  for (size_t a = 0; a < m; a++) {
    for (size_t b = 0; b <= a; b++) {
      precision[a * m + b] = products[a * (m + 1) + b] / variance + (a == b ? 1 / (scale * scale) : 0);
    }
    own[a] = with_own[a] / variance;
  }
  if (!tacit_dense_factorise(precision, m)) { /* unreachable: a Gram matrix and a ridge */
    return;
  }
  tacit_dense_solve_lower(precision, m, own);
  for (size_t a = 0; a < m; a++) {
    own[a] += tacit_rng_normal(chain->rng);
  }
  tacit_dense_solve_upper(precision, m, own);
  square = with_own[m];
  for (size_t a = 0; a < m; a++) { /* |x_j - (1, x) own|^2 */
    square -= 2 * own[a] * with_own[a];
    for (size_t b = 0; b < m; b++) {
      square += own[a] * own[b] * products[a >= b ? a * (m + 1) + b : b * (m + 1) + a];
    }
  }
  double shape = model->variance_shape + 0.5 * (double)chain->n;
  own[m] = 0.5 * log((model->variance_scale + 0.5 * fmax(square, 0)) / tacit_draw_gamma(chain->rng, shape));
}

typedef struct coefficient {
  const tacit_chain_t *chain;
  size_t j;
} coefficient_t;

/* Log density of one logistic coefficient given the rows and the others. */
static double log_density(void *user, double value) {
  const coefficient_t *c = user;
  const tacit_regression_t *r = c->chain->regression;
  const tacit_rows_t *rows = c->chain->rows;
  double *coefficients = r->trial + tacit_row_offset(r->d), z = value / c->chain->model->coefficient_scale,
         sum = -0.5 * z * z;
  coefficients[c->j] = value;
  for (size_t i = 0; i < c->chain->n; i++) {
    double eta = tacit_row_predictor(r, coefficients, rows->x + i * r->d);
    sum -= log1p(exp(rows->y[i] > 0.5 ? -eta : eta));
  }
  return sum;
}

static void draw_coefficients(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  const tacit_rows_t *rows = chain->rows;
  double *coefficients = r->at + tacit_row_offset(r->d), width = fmin(chain->model->coefficient_scale, 1);
  memcpy(r->trial, r->at, r->q * sizeof *r->at);
  for (size_t j = 0; j <= r->d; j++) {
    coefficient_t c = {.chain = chain, .j = j};
    double log_at = log_density(&c, coefficients[j]);
    coefficients[j] = tacit_slice(log_density, &c, coefficients[j], &log_at, width, chain->rng);
    r->trial[tacit_row_offset(r->d) + j] = coefficients[j];
  }
  for (size_t i = 0; i < chain->n; i++) { /* u given the response */
    double p = tacit_logistic(tacit_row_predictor(r, coefficients, rows->x + i * r->d)),
           v = tacit_rng_uniform(chain->rng);
    rows->u[i] = rows->y[i] > 0.5 ? p * v : p + (1 - p) * v;
  }
}

/* Innovations of the rows under new parameters. */
static void set_innovations(tacit_chain_t *chain) {
  const tacit_regression_t *r = chain->regression;
  for (size_t i = 0; i < chain->n; i++) {
    const double *x = chain->rows->x + i * r->d, *own = r->at;
    for (size_t j = 0; j < r->d; j++) {
      double expected = own[0];
      for (size_t k = 0; k < j; k++) {
        expected += own[1 + k] * x[k];
      }
      chain->rows->e[i * r->d + j] = (x[j] - expected) * exp(-own[j + 1]);
      own += j + 2;
    }
  }
}

static void draw_parameters(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  for (size_t j = 0; j < r->d; j++) {
    draw_column(chain, j);
  }
  set_innovations(chain);
  if (r->is_logistic) {
    draw_coefficients(chain);
  }
}

/* ---- parameters that carry the rows along ---- */

typedef struct line {
  tacit_chain_t *chain;
  const double *direction;
} line_t;

static void move_rows(tacit_chain_t *chain, const double *parameters) {
  const tacit_regression_t *r = chain->regression;
  for (size_t i = 0; i < chain->n; i++) {
    chain->rows->y[i] =
        forward(r, parameters, chain->rows->e + i * r->d, chain->rows->u[i], chain->rows->x + i * r->d);
  }
  tacit_rows_refresh(chain);
}

/* Leaves the rows at the point: whoever is done puts them where they belong. */
static double along(void *user, double distance) {
  const line_t *line = user;
  tacit_regression_t *r = line->chain->regression;
  for (size_t p = 0; p < r->q; p++) {
    r->trial[p] = r->at[p] + distance * line->direction[p];
  }
  for (size_t j = 0; j < r->d; j++) {
    if (!(fabs(r->trial[tacit_row_offset(j) + j + 1]) < TACIT_ROW_MAX_LOG_SD)) {
      return -INFINITY;
    }
  }
  move_rows(line->chain, r->trial);
  double density = tacit_row_log_prior(line->chain, r->trial) + log_noise(line->chain, line->chain->residual);
  return isnan(density) ? -INFINITY : density;
}

static void interweave(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  for (size_t p = 0; p < r->q; p++) {
    line_t line = {.chain = chain, .direction = r->columns + p * r->q};
    double width = tacit_rng_uniform(chain->rng) < 0.25 ? 12 : 3, log_at = along(&line, 0);
    double distance = tacit_slice(along, &line, 0, &log_at, width, chain->rng);
    for (size_t s = 0; s < r->q; s++) {
      r->at[s] += distance * line.direction[s];
    }
  }
  move_rows(chain, r->at);
}

/* ---- a chain ---- */

void tacit_rows_start(tacit_chain_t *chain) {
  const tacit_rows_t *rows = chain->rows;
  size_t d = chain->regression->d;
  tacit_regression_start(chain);
  for (size_t i = 0; i < chain->n; i++) {
    draw_innovations(chain->rng, d, rows->e + i * d, &rows->u[i]);
  }
  move_rows(chain, chain->regression->at);
}

void tacit_rows_step(tacit_chain_t *chain) {
  sweep(chain);
  tacit_rows_refresh(chain); /* without what rounding added up */
  draw_parameters(chain);
  if (chain->settings->interweave) {
    interweave(chain);
  }
}

tacit_status_t tacit_rows_init(tacit_chain_t *chain, tacit_error_t *err) {
  tacit_rows_t *rows = chain->rows = tacit_alloc_zero(1, sizeof *rows);
  if (rows == NULL) {
    return tacit_error_memory(err);
  }
  size_t n = chain->n, d = chain->regression->d, q = chain->regression->q;
  double **arrays[] = {&rows->x, &rows->e,        &rows->u,        &rows->y,
                       &rows->t, &rows->proposed, &rows->products, &rows->precision};
  size_t sizes[] = {n * d, n * d, n, n, q, q, (d + 1) * (d + 1), d * d};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  return TACIT_OK;
}

void tacit_rows_clear(tacit_chain_t *chain) {
  tacit_rows_t *rows = chain->rows;
  if (rows == NULL) {
    return;
  }
  double *arrays[] = {rows->x, rows->e,        rows->u,        rows->y,
                      rows->t, rows->proposed, rows->products, rows->precision};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_free(rows);
  chain->rows = NULL;
}
