/*
 * The density of theta given noisy margins (docs/theory.md, 12.15). With s the effects' counts among the
 * records, e = S s + n 1{first} the margins',
 *
 *     log p(y | theta) = log of the integral over s of  h(s) e^(theta s - n A(theta))  N(y; e, W^-1)
 *
 * whose integrand is largest where theta = phi - S' W (y - e), s = n mu(phi). Taken as the coordinate, phi
 * makes theta explicit.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tables/tables_internal.h"

tacit_status_t tacit_tables_point_init(tacit_tables_point_t *point, const tacit_tables_target_t *target,
                                       tacit_error_t *err) {
  size_t n = target->n_effects;
  *point = (tacit_tables_point_t){.target = target};
  double **arrays[] = {&point->at,      &point->in_at, &point->theta, &point->grad,
                       &point->effects, &point->cells, &point->matrix};
  size_t sizes[] = {n + 1, n + 1, n, n, n, target->tables->n_cells, n * n};
  tacit_status_t status = tacit_tables_workspace_init(&point->fitted, target->tables, err);
  TACIT_THEN(status, tacit_tables_workspace_init(&point->model, target->tables, err));
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == TACIT_OK; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    status = *arrays[i] != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  return status;
}

void tacit_tables_point_clear(tacit_tables_point_t *point) {
  double *arrays[] = {point->at,      point->in_at, point->theta, point->grad,
                      point->effects, point->cells, point->matrix};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_tables_workspace_clear(&point->fitted);
  tacit_tables_workspace_clear(&point->model);
  *point = (tacit_tables_point_t){0};
}

/* cells <- W (y - e); the square is (y - e)' W (y - e). */
static double residuals(tacit_tables_point_t *point, double *cells) {
  const tacit_tables_target_t *t = point->target;
  double square = 0;
  for (size_t i = 0; i < t->tables->n_cells; i++) {
    double off = t->release->values[i] - point->n * point->fitted.cells[i];
    cells[i] = t->weight[i] * off;
    square += cells[i] * off;
  }
  return square;
}

/* The gradient in phi from that in theta; what n does by way of theta = phi - S' W (y - n p(phi)) is added to
 * its own. */
static void chain_rule(tacit_tables_point_t *point, double *grad) {
  const tacit_tables_target_t *t = point->target;
  const tacit_tables_t *tables = t->tables;
  size_t n = t->n_effects;
  tacit_sparse_times(&tables->counts, tables->n_cells, point->grad, point->cells);
  for (size_t i = 0; i < tables->n_cells; i++) {
    point->cells[i] *= t->weight[i];
    if (t->dim > n) {
      grad[n] += point->cells[i] * point->fitted.cells[i];
    }
  }
  tacit_sparse_turned(&tables->counts, tables->n_cells, n, point->cells, point->effects);
  tacit_tables_covariance_times(tables, &point->fitted, point->effects, grad);
  for (size_t j = 0; j < n; j++) {
    grad[j] = point->grad[j] + point->n * grad[j];
  }
}

/* W (y - e) in the cells whose columns are all at their first levels: only there n enters e apart from s. */
static double pull_on_n(const tacit_tables_t *tables, const double *cells) {
  double sum = 0;
  for (size_t i = 0; i < tables->n_margins; i++) {
    sum += cells[tables->margins[i].first];
  }
  return sum;
}

double tacit_tables_density_at(tacit_tables_point_t *point, double *grad) {
  const tacit_tables_target_t *t = point->target;
  const tacit_tables_t *tables = t->tables;
  size_t n = t->n_effects;
  double precision = 1 / (t->release->prior_sd * t->release->prior_sd), prior = 0, moved = 0;
  point->n = t->dim > n ? point->at[n] : t->release->n_records;
  if (!(point->n >= 1)) {
    return -INFINITY;
  }
  tacit_tables_product(tables, &point->fitted, point->at);
  double square = residuals(point, point->cells), pull = pull_on_n(tables, point->cells);
  tacit_sparse_turned(&tables->counts, tables->n_cells, n, point->cells, point->effects);
  for (size_t j = 0; j < n; j++) {
    point->theta[j] = point->at[j] - point->effects[j];
    prior -= 0.5 * precision * point->theta[j] * point->theta[j];
    moved += point->effects[j] * point->fitted.mean[j];
  }
  tacit_tables_product(tables, &point->model, point->theta);
  for (size_t j = 0; j < n; j++) {
    point->grad[j] = point->n * (point->fitted.mean[j] - point->model.mean[j]) - precision * point->theta[j];
  }
  if (t->dim > n) {
    grad[n] = point->fitted.log_partition - point->model.log_partition + pull;
  }
  chain_rule(point, grad);
  double divergence = moved - point->fitted.log_partition + point->model.log_partition;
  double value = prior - point->n * divergence - 0.5 * square;
  return isfinite(value) ? value : -INFINITY;
}

double tacit_tables_determinant(tacit_tables_point_t *point) {
  const tacit_tables_target_t *t = point->target;
  size_t n = t->n_effects;
  tacit_tables_covariance(t->tables, &point->fitted, point->effects, point->matrix);
  for (size_t i = 0; i < n * n; i++) {
    point->matrix[i] = t->noise[i] + point->n * point->matrix[i];
  }
  return tacit_matrix_factorise(n, point->matrix) ? 0.5 * tacit_matrix_log_determinant(n, point->matrix)
                                                  : -INFINITY;
}

static void move_to(tacit_tables_point_t *point, const double *z) {
  const tacit_tables_target_t *t = point->target;
  tacit_matrix_times(t->dim, t->spread, z, point->at);
  for (size_t i = 0; i < t->dim; i++) {
    point->at[i] += t->centre[i];
  }
}

static double along_slope(const tacit_tables_point_t *point) {
  const tacit_tables_target_t *t = point->target;
  double sum = 0;
  for (size_t i = 0; i < t->dim; i++) {
    sum += t->slope[i] * (point->at[i] - t->centre[i]);
  }
  return sum;
}

double tacit_tables_density(void *user, const double *z, double *grad) {
  tacit_tables_point_t *point = user;
  const tacit_tables_target_t *t = point->target;
  move_to(point, z);
  double value = tacit_tables_density_at(point, point->in_at);
  memset(grad, 0, t->dim * sizeof *grad);
  for (size_t i = 0; i < t->dim && value > -INFINITY; i++) {
    for (size_t j = 0; j < t->dim; j++) {
      grad[j] += t->spread[i * t->dim + j] * (point->in_at[i] + t->slope[i]);
    }
  }
  return value + along_slope(point);
}

double tacit_tables_rest(void *user, const double *z) {
  tacit_tables_point_t *point = user;
  (void)z; /* the point of the last evaluation */
  return tacit_tables_determinant(point) - along_slope(point);
}
