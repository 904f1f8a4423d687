/*
 * Regressions from noisy sums over clamped rows, without latent records. Columns of a row are normal, each a
 * regression on those before it (a linear regression's response is the last of them), and a logistic
 * regression's binary response follows: theta has as many numbers as there are sums. By the central limit
 * theorem the sums of n rows are N(n m(theta), n V(theta)), m and V those of what a *clamped* row adds
 * [Bernstein2019, without their assumption that nothing is clamped]; the noise is folded in exactly.
 * row_moments.c has m and V.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/regression.h"

/* ---- small dense algebra ---- */

bool tacit_dense_factorise(double *matrix, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) {
      double sum = matrix[i * n + j];
      for (size_t k = 0; k < j; k++) {
        sum -= matrix[i * n + k] * matrix[j * n + k];
      }
      if (i == j && !(sum > 0 && sum < INFINITY)) {
        return false;
      }
      matrix[i * n + j] = i == j ? sqrt(sum) : sum / matrix[j * n + j];
    }
  }
  return true;
}

void tacit_dense_solve_lower(const double *factor, size_t n, double *x) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) {
      x[i] -= factor[i * n + k] * x[k];
    }
    x[i] /= factor[i * n + i];
  }
}

void tacit_dense_solve_upper(const double *factor, size_t n, double *x) {
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) {
      x[i] -= factor[k * n + i] * x[k];
    }
    x[i] /= factor[i * n + i];
  }
}

/* ---- the posterior ---- */

double tacit_row_log_prior(const tacit_chain_t *chain, const double *parameters) {
  const tacit_latent_model_t *model = chain->model;
  double sum = 0;
  const tacit_regression_t *r = chain->regression;
  for (size_t j = 0; j < r->d; j++) {
    const double *own = parameters + tacit_row_offset(j);
    for (size_t i = 0; i <= j; i++) {
      double z = own[i] / tacit_row_scale(model);
      sum -= 0.5 * z * z;
    }
    sum -= 2 * model->variance_shape * own[j + 1] + model->variance_scale * exp(-2 * own[j + 1]);
  }
  for (size_t p = tacit_row_offset(r->d); p < r->q; p++) { /* logistic */
    double z = parameters[p] / model->coefficient_scale;
    sum -= 0.5 * z * z;
  }
  return sum;
}

/* Covariance of the released sums, factorised, into spread; false where it is not one. */
static bool set_release_distribution(const tacit_chain_t *chain, const double *parameters) {
  tacit_regression_t *r = chain->regression;
  tacit_row_set_distribution(r, parameters);
  tacit_row_set_expected(r, parameters);
  tacit_row_set_spread(r, parameters);
  for (size_t a = 0; a < r->q; a++) {
    for (size_t b = 0; b <= a; b++) {
      r->spread[a * r->q + b] *= (double)chain->n;
    }
    r->spread[a * r->q + a] += tacit_noise_variance(chain, a);
  }
  return tacit_dense_factorise(r->spread, r->q);
}

static double log_posterior(const tacit_chain_t *chain, const double *parameters) {
  tacit_regression_t *r = chain->regression;
  for (size_t j = 0; j < r->d; j++) {
    if (!(fabs(parameters[tacit_row_offset(j) + j + 1]) < TACIT_ROW_MAX_LOG_SD)) {
      return -INFINITY;
    }
  }
  if (!set_release_distribution(chain, parameters)) {
    return -INFINITY;
  }
  double sum = tacit_row_log_prior(chain, parameters), *e = r->work;
  for (size_t a = 0; a < r->q; a++) {
    e[a] = chain->values[a] - (double)chain->n * r->expected[a];
  }
  tacit_dense_solve_lower(r->spread, r->q, e);
  for (size_t a = 0; a < r->q; a++) {
    sum -= 0.5 * e[a] * e[a] + log(r->spread[a * r->q + a]);
  }
  return isnan(sum) ? -INFINITY : sum;
}

/* ---- start: Gauss-Newton steps to about the mode, and slices along the axes of the curvature there ---- */

/* Parameters from means and second moments as if nothing were clamped, the noise met by a ridge. */
static void crude_start(const tacit_chain_t *chain, double *parameters) {
  tacit_regression_t *r = chain->regression;
  size_t d = r->d;
  double n = (double)chain->n, ridge = 1e-3, *matrix = r->spread;
  bool is_definite = false;
  for (; !is_definite; ridge *= 2) {
    for (size_t i = 0, k = d; i < d; i++) {
      for (size_t j = i; j < d; j++, k++) {
        double centred = chain->values[k] / n -
                         tacit_row_clamp(chain->values[i] / n) * tacit_row_clamp(chain->values[j] / n);
        matrix[j * d + i] = centred + (i == j ? ridge : 0);
      }
    }
    is_definite = tacit_dense_factorise(matrix, d);
  }
  for (size_t j = 0; j < d;
       j++) { /* row j of the factor is slopes times the rows before it, and its own sd */
    double *own = parameters + tacit_row_offset(j);
    own[0] = tacit_row_clamp(chain->values[j] / n);
    for (size_t i = j; i-- > 0;) {
      double sum = matrix[j * d + i];
      for (size_t k = i + 1; k < j; k++) {
        sum -= own[1 + k] * matrix[k * d + i];
      }
      own[1 + i] = fmin(fmax(sum / matrix[i * d + i], -3), 3);
    }
    for (size_t i = 0; i < j; i++) {
      own[0] -= own[1 + i] * tacit_row_clamp(chain->values[i] / n);
    }
    own[j + 1] = log(fmin(fmax(matrix[j * d + j], 0.02), 2));
  }
}

/* columns <- J' V^-1 J n^2 + prior precision, factorised; step <- the rise of the log posterior, by
 * differences. */
static bool set_curvature(tacit_chain_t *chain, const double *parameters) {
  const double h = 1e-4;
  tacit_regression_t *r = chain->regression;
  size_t q = r->q;
  memcpy(r->trial, parameters, q * sizeof *r->trial);
  for (size_t p = 0; p < q; p++) {
    for (int side = -1; side <= 1; side += 2) {
      r->trial[p] = parameters[p] + side * h;
      double density = log_posterior(chain, r->trial);
      r->step[p] = (side < 0 ? 0 : r->step[p]) + side * density / (2 * h);
      for (size_t a = 0; a < q; a++) {
        double change = side * r->expected[a] * (double)chain->n / (2 * h);
        r->jacobian[p * q + a] = side < 0 ? change : r->jacobian[p * q + a] + change;
      }
    }
    r->trial[p] = parameters[p];
  }
  if (!set_release_distribution(chain, parameters)) {
    return false;
  }
  for (size_t p = 0; p < q; p++) {
    tacit_dense_solve_lower(r->spread, q, r->jacobian + p * q);
  }
  for (size_t p = 0; p < q; p++) {
    for (size_t s = 0; s <= p; s++) {
      double sum = 0;
      for (size_t a = 0; a < q; a++) {
        sum += r->jacobian[p * q + a] * r->jacobian[s * q + a];
      }
      r->columns[p * q + s] = sum;
    }
  }
  for (size_t p = tacit_row_offset(r->d); p < q; p++) {
    r->columns[p * q + p] += 1 / (chain->model->coefficient_scale * chain->model->coefficient_scale);
  }
  for (size_t j = 0; j < r->d; j++) {
    double scale = tacit_row_scale(chain->model), sd = exp(parameters[tacit_row_offset(j) + j + 1]);
    for (size_t i = 0; i <= j; i++) {
      r->columns[(tacit_row_offset(j) + i) * q + tacit_row_offset(j) + i] += 1 / (scale * scale);
    }
    size_t last = tacit_row_offset(j) + j + 1;
    r->columns[last * q + last] += 4 * chain->model->variance_scale / (sd * sd) + 1e-6;
  }
  return tacit_dense_factorise(r->columns, q);
}

/* Towards the mode, never downwards. */
static void climb(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  double here = log_posterior(chain, r->at);
  for (int i = 0; i < 20 && set_curvature(chain, r->at); i++) {
    double length = 1, gained = 0;
    tacit_dense_solve_lower(r->columns, r->q, r->step);
    tacit_dense_solve_upper(r->columns, r->q, r->step);
    for (int halving = 0; halving < 8 && !(gained > 0); halving++, length *= 0.5) {
      for (size_t p = 0; p < r->q; p++) {
        r->trial[p] = r->at[p] + length * fmin(fmax(r->step[p], -1), 1);
      }
      gained = log_posterior(chain, r->trial) - here;
    }
    if (!(gained > 0)) {
      break;
    }
    memcpy(r->at, r->trial, r->q * sizeof *r->at);
    here += gained;
    if (gained < 1e-3) {
      break;
    }
  }
}

void tacit_regression_start(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  size_t q = r->q;
  crude_start(chain, r->at);
  climb(chain);
  bool has_curvature = set_curvature(chain, r->at);
  for (size_t p = 0; p < q; p++) { /* directions: rows p of L^-1, so that steps of 1 are posterior sds */
    memset(r->step, 0, q * sizeof *r->step);
    r->step[p] = has_curvature ? 1 : 0.1;
    if (has_curvature) {
      tacit_dense_solve_upper(r->columns, q, r->step);
    }
    memcpy(r->jacobian + p * q, r->step, q * sizeof *r->step);
  }
  memcpy(r->columns, r->jacobian, q * q * sizeof *r->columns);
  memcpy(r->trial, r->at, q * sizeof *r->trial);
  for (size_t p = 0; p < q; p++) { /* overdispersed, if that is not outside of the prior's reach */
    double z = 1.5 * tacit_rng_normal(chain->rng);
    for (size_t s = 0; s < q; s++) {
      r->trial[s] += z * r->columns[p * q + s];
    }
  }
  if (log_posterior(chain, r->trial) > -INFINITY) {
    memcpy(r->at, r->trial, q * sizeof *r->at);
  }
}

/* ---- an iteration: slices along all directions ---- */

typedef struct line {
  const tacit_chain_t *chain;
  const double *direction;
} line_t;

static double along(void *user, double x) {
  const line_t *line = user;
  tacit_regression_t *r = line->chain->regression;
  for (size_t p = 0; p < r->q; p++) {
    r->trial[p] = r->at[p] + x * line->direction[p];
  }
  return log_posterior(line->chain, r->trial);
}

void tacit_regression_step(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  double log_at = log_posterior(chain, r->at);
  for (size_t p = 0; p < r->q; p++) {
    line_t line = {.chain = chain, .direction = r->columns + p * r->q};
    double width = tacit_rng_uniform(chain->rng) < 0.25 ? 12 : 3; /* some long ones, for tails */
    double x = tacit_slice(along, &line, 0, &log_at, width, chain->rng);
    for (size_t s = 0; s < r->q; s++) {
      r->at[s] += x * line.direction[s];
    }
  }
}

void tacit_row_report(const tacit_regression_t *r, const double *parameters, double *reported) {
  if (r->is_logistic) {
    memcpy(reported, parameters + tacit_row_offset(r->d), (r->d + 1) * sizeof *reported);
    return;
  }
  const double *own = parameters + tacit_row_offset(r->d - 1);
  memcpy(reported, own, r->d * sizeof *reported);
  reported[r->d] = exp(own[r->d]);
}

void tacit_regression_report(const tacit_chain_t *chain, double *reported) {
  const tacit_regression_t *r = chain->regression;
  tacit_row_report(r, r->at, reported);
}

double tacit_regression_log_prior(const tacit_chain_t *chain) {
  return tacit_row_log_prior(chain, chain->regression->at);
}

/* ---- memory ---- */

tacit_status_t tacit_regression_init(tacit_chain_t *chain, tacit_error_t *err) {
  tacit_regression_t *r = chain->regression = tacit_alloc_zero(1, sizeof *r);
  if (r == NULL) {
    return tacit_error_memory(err);
  }
  r->is_logistic = chain->model->kind == TACIT_LATENT_LOGISTIC;
  size_t d = chain->model->n_features + (r->is_logistic ? 0 : 1),
         q = tacit_row_offset(d) + (r->is_logistic ? d + 1 : 0);
  r->d = d;
  r->q = q;
  double **arrays[] = {&r->at,     &r->trial,    &r->step,   &r->columns,  &r->nodes, &r->mean,
                       &r->factor, &r->expected, &r->spread, &r->jacobian, &r->work,  &r->shifted};
  size_t sizes[] = {q, q, q, q * q, TACIT_ROW_NODES * d, d, d * d, q, q * q, q * q, q, q};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  tacit_row_set_nodes(r);
  return TACIT_OK;
}

void tacit_regression_clear(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  if (r == NULL) {
    return;
  }
  double *arrays[] = {r->at,     r->trial,    r->step,   r->columns,  r->nodes, r->mean,
                      r->factor, r->expected, r->spread, r->jacobian, r->work,  r->shifted};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_free(r);
  chain->regression = NULL;
}

void tacit_regression_moments(const tacit_chain_t *chain, const double *parameters, double *expected) {
  tacit_row_set_distribution(chain->regression, parameters);
  tacit_row_set_expected(chain->regression, parameters);
  memcpy(expected, chain->regression->expected, chain->regression->q * sizeof *expected);
}
