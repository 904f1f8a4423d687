/*
 * Where the posterior is, and how wide: counts of the effects by least squares from all margins, then theta
 * by Fisher scoring, each time with the phi that goes with it. No draw depends on how well that went but for
 * its speed.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tables/tables_internal.h"

enum { MOST_STEPS = 100, MOST_HALVINGS = 40 };
static const double ENOUGH = 1e-4; /* of what a step is expected to gain, in units of log density */

typedef struct solver {
  tacit_tables_target_t *target;
  tacit_tables_point_t point;
  size_t k;
  double *theta, *step, *residual, *before, *grad; /* (k + 1) */
  double *information, *work;                      /* (k, k) */
} solver_t;

/* ---- counts by least squares ---- */

static void add_precision(const tacit_tables_target_t *t, double *out) {
  const tacit_sparse_t *s = &t->tables->counts;
  memset(out, 0, t->n_effects * t->n_effects * sizeof *out);
  for (size_t i = 0; i < t->tables->n_cells; i++) {
    for (size_t a = s->begin[i]; a < s->begin[i + 1]; a++) {
      for (size_t b = s->begin[i]; b < s->begin[i + 1]; b++) {
        out[s->effect[a] * t->n_effects + s->effect[b]] += t->weight[i] * s->value[a] * s->value[b];
      }
    }
  }
}

/* The probability that chi-square of df degrees is above x [WilsonHilferty1931]. */
static double chi_square_tail(double x, double df) {
  double v = 2 / (9 * df), z = (cbrt(x / df) - 1 + v) / sqrt(v);
  return df > 0.5 ? 0.5 * erfc(z * sqrt(0.5)) : 1;
}

/* Minimise (y - S s - n first)' W (y - S s - n first) over s, and over n where it is unknown. */
static void fit_counts(solver_t *f) {
  tacit_tables_target_t *t = f->target;
  const tacit_tables_t *tables = t->tables;
  size_t k = f->k;
  double *weighted = f->point.cells, *of_first = f->step, *of_values = f->residual, first = 0, total = 0,
         square = 0;
  memset(weighted, 0, tables->n_cells * sizeof *weighted);
  for (size_t i = 0; i < tables->n_margins; i++) {
    size_t at = tables->margins[i].first;
    weighted[at] = t->weight[at];
    first += t->weight[at];
    total += t->weight[at] * t->release->values[at];
  }
  tacit_sparse_turned(&tables->counts, tables->n_cells, k, weighted, of_first);
  for (size_t i = 0; i < tables->n_cells; i++) {
    weighted[i] = t->weight[i] * t->release->values[i];
  }
  tacit_sparse_turned(&tables->counts, tables->n_cells, k, weighted, of_values);
  tacit_matrix_times(k, t->noise, of_first, f->before);
  double precision = first - tacit_matrix_dot(k, of_first, f->before);
  t->n_start = t->release->n_records;
  if (t->dim > k) {
    double n = (total - tacit_matrix_dot(k, of_values, f->before)) / precision;
    t->n_sd = 1 / sqrt(precision);
    t->n_start = fmax(n, fmax(1.5, 0.5 * t->n_sd));
  }
  for (size_t j = 0; j < k; j++) {
    f->before[j] = of_values[j] - t->n_start * of_first[j];
  }
  tacit_matrix_times(k, t->noise, f->before, t->counts);
  tacit_sparse_times(&tables->counts, tables->n_cells, t->counts, weighted);
  for (size_t i = 0; i < tables->n_margins; i++) {
    weighted[tables->margins[i].first] += t->n_start;
  }
  for (size_t i = 0; i < tables->n_cells; i++) {
    square += t->weight[i] * (t->release->values[i] - weighted[i]) * (t->release->values[i] - weighted[i]);
  }
  t->contradiction = chi_square_tail(square, (double)tables->n_cells - (double)t->dim);
}

/* ---- phi of a theta: the least of (phi - theta)' noise (phi - theta) / 2 + n A(phi) - counts phi, which is
 * convex ---- */

static double bowl(solver_t *f, const double *phi, double *gradient) {
  const tacit_tables_target_t *t = f->target;
  tacit_tables_product(t->tables, &f->point.fitted, phi);
  f->point.n = t->n_start;
  for (size_t j = 0; j < f->k; j++) {
    f->point.effects[j] = phi[j] - f->theta[j];
  }
  tacit_matrix_times(f->k, t->noise, f->point.effects, gradient);
  double value = 0.5 * tacit_matrix_dot(f->k, gradient, f->point.effects) +
                 t->n_start * f->point.fitted.log_partition - tacit_matrix_dot(f->k, t->counts, phi);
  for (size_t j = 0; j < f->k; j++) {
    gradient[j] = t->counts[j] - t->n_start * f->point.fitted.mean[j] - gradient[j];
  }
  return value;
}

static bool follow_theta(solver_t *f) {
  double *phi = f->point.at, value = bowl(f, phi, f->residual);
  for (int i = 0; i < MOST_STEPS; i++) {
    if (!isfinite(tacit_tables_determinant(&f->point))) {
      return false;
    }
    memcpy(f->step, f->residual, f->k * sizeof *f->step);
    tacit_matrix_forward(f->k, f->point.matrix, f->step);
    double gain = tacit_matrix_dot(f->k, f->step, f->step), length = 1, last = value;
    if (gain < 1e-3 * ENOUGH) {
      return true;
    }
    tacit_matrix_backward(f->k, f->point.matrix, f->step);
    memcpy(f->before, phi, f->k * sizeof *phi);
    value = INFINITY;
    for (int h = 0; h < MOST_HALVINGS && !(value <= last - 1e-4 * length * gain); h++, length *= 0.5) {
      for (size_t j = 0; j < f->k; j++) {
        phi[j] = f->before[j] + length * f->step[j];
      }
      value = bowl(f, phi, f->residual);
    }
    if (!(value < last)) { /* the last digits: as near as numbers go */
      memcpy(phi, f->before, f->k * sizeof *phi);
      (void)bowl(f, phi, f->residual);
      return isfinite(tacit_tables_determinant(&f->point));
    }
  }
  return true;
}

/* ---- theta ---- */

/* information <- lower factor of G V^-1 G + prior precision, G = n Sigma, V = noise + G, whose factor is
 * point.matrix. */
static bool set_information(solver_t *f) {
  size_t k = f->k;
  double precision = 1 / (f->target->release->prior_sd * f->target->release->prior_sd);
  tacit_tables_covariance(f->target->tables, &f->point.fitted, f->point.effects, f->work);
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < k; j++) {
      f->work[i * k + j] *= f->point.n;
    }
    tacit_matrix_forward(k, f->point.matrix, f->work + i * k);
  }
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j <= i; j++) {
      f->information[i * k + j] =
          tacit_matrix_dot(k, f->work + i * k, f->work + j * k) + (i == j ? precision : 0);
    }
  }
  return tacit_matrix_factorise(k, f->information);
}

/* The log density of ->theta, with the phi that goes with it; -INFINITY where none is found. */
static double value_here(solver_t *f) {
  return follow_theta(f) ? tacit_tables_density_at(&f->point, f->grad) : -INFINITY;
}

static bool climb(solver_t *f, double *value, double *from, double *direction) {
  size_t k = f->k;
  if (!isfinite(tacit_tables_determinant(&f->point)) || !set_information(f)) {
    return false;
  }
  memcpy(direction, f->point.grad, k * sizeof *direction);
  tacit_matrix_forward(k, f->information, direction);
  double gain = tacit_matrix_dot(k, direction, direction), last = *value, length = 1;
  if (gain < ENOUGH) {
    return false;
  }
  tacit_matrix_backward(k, f->information, direction);
  memcpy(from, f->theta, k * sizeof *from);
  *value = -INFINITY;
  for (int h = 0; h < MOST_HALVINGS && !(*value >= last + 1e-4 * length * gain); h++, length *= 0.5) {
    for (size_t j = 0; j < k; j++) {
      f->theta[j] = from[j] + length * direction[j];
    }
    *value = value_here(f);
  }
  if (!(*value > last)) {
    memcpy(f->theta, from, k * sizeof *from);
    *value = value_here(f);
    return false;
  }
  return true;
}

static tacit_status_t find_mode(solver_t *f, tacit_error_t *err) {
  double *from = tacit_alloc_zero(f->k, sizeof *from), *direction = tacit_alloc_zero(f->k, sizeof *direction),
         value = -INFINITY;
  tacit_status_t status = from != NULL && direction != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    f->point.at[f->k] = f->target->n_start;
    value = value_here(f);
    for (int i = 0; i < MOST_STEPS && climb(f, &value, from, direction); i++) {
    }
    bool ok = isfinite(value) && isfinite(tacit_tables_determinant(&f->point)) && set_information(f);
    status = ok ? TACIT_OK
                : tacit_error_set(
                      err, TACIT_ERR_NUMERIC, "statistic",
                      "no mode of the posterior was found: are the counts and scales those of one release?");
  }
  tacit_free(from);
  tacit_free(direction);
  return status;
}

/* spread <- V^-1 noise L^-T, for L L' the information about theta: phi moves by V^-1 noise where theta moves
 * by 1. */
static void set_spread(solver_t *f) {
  tacit_tables_target_t *t = f->target;
  size_t k = f->k, d = t->dim;
  memcpy(t->centre, f->point.at, d * sizeof *t->centre);
  for (size_t j = 0; j < k; j++) { /* column j of V^-1 noise */
    memcpy(f->step, t->noise + j * k, k * sizeof *f->step);
    tacit_matrix_forward(k, f->point.matrix, f->step);
    tacit_matrix_backward(k, f->point.matrix, f->step);
    for (size_t i = 0; i < k; i++) {
      t->spread[i * d + j] = f->step[i];
    }
  }
  for (size_t i = 0; i < k; i++) {
    tacit_matrix_forward(k, f->information, t->spread + i * d);
  }
  if (d > k) {
    t->spread[k * d + k] = t->n_sd;
  }
}

/*
 * The derivative of log |V| / 2, V = noise + n Sigma(phi), V^-1 = sum r r': n / 2 times the sum of the third
 * derivatives of A along r, r, by differences of Sigma r. Only trajectories follow it; what it leaves out is
 * in their acceptance.
 */
static void set_slope(solver_t *f) {
  tacit_tables_target_t *t = f->target;
  size_t k = f->k;
  for (size_t i = 0; i < k; i++) {
    double largest = 0, curvature;
    memset(f->step, 0, k * sizeof *f->step);
    f->step[i] = 1;
    tacit_matrix_backward(k, f->point.matrix, f->step);
    for (size_t j = 0; j < k; j++) {
      largest = fmax(largest, fabs(f->step[j]));
    }
    for (int side = -1; side <= 1; side += 2) {
      double h = side * 1e-3 / largest;
      for (size_t j = 0; j < k; j++) {
        f->before[j] = t->centre[j] + h * f->step[j];
      }
      tacit_tables_product(t->tables, &f->point.model, f->before);
      tacit_tables_covariance_times(t->tables, &f->point.model, f->step, f->residual);
      curvature = tacit_matrix_dot(k, f->residual, f->step);
      for (size_t j = 0; j < k; j++) {
        t->slope[j] += 0.25 * f->point.n * f->residual[j] / h;
      }
      if (t->dim > k) {
        t->slope[k] += 0.25 * curvature;
      }
    }
  }
}

/* ---- all of it ---- */

static tacit_status_t check_mode(const tacit_tables_target_t *t, tacit_error_t *err) {
  const tacit_noisy_margins_t *r = t->release;
  if (!(r->n_records >= 0 && r->n_records <= 1e15) || (r->n_records > 0 && r->n_records < 1) ||
      !(r->prior_sd > 0 && r->prior_sd <= 1e3)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "n",
        "the number of records is from 1 to 1e15, or unknown, and the prior's sd above 0 and at most 1000");
  }
  for (size_t i = 0; i < t->tables->n_cells; i++) {
    if (!(fabs(r->values[i]) <= 1e15) || !(r->scales[i] >= 1e-3 && r->scales[i] <= 1e12)) {
      return tacit_error_set(
          err, TACIT_ERR_ARGUMENT, "value",
          "counts of margins are at most 1e15 in size, and the scale of their noise from 1e-3 to 1e12");
    }
  }
  return TACIT_OK;
}

static tacit_status_t allocate(tacit_tables_target_t *t, solver_t *f, tacit_error_t *err) {
  size_t k = f->k, d = t->dim;
  double **arrays[] = {&t->weight, &t->noise,       &t->counts, &t->centre,   &t->spread,
                       &t->slope,  &f->theta,       &f->step,   &f->residual, &f->before,
                       &f->grad,   &f->information, &f->work};
  size_t sizes[] = {t->tables->n_cells, k * k, k, d, d * d, d, d, d, d, d, d, k * k, k * k};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  return tacit_tables_point_init(&f->point, t, err);
}

/* Counts of the effects by least squares, and whether margins contradict each other. */
static tacit_status_t solve_counts(solver_t *f, tacit_error_t *err) {
  tacit_tables_target_t *t = f->target;
  for (size_t i = 0; i < t->tables->n_cells; i++) {
    t->weight[i] = 1 / (t->release->scales[i] * t->release->scales[i]);
  }
  add_precision(t, f->work);
  if (!tacit_matrix_factorise(f->k, f->work)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "scale",
                           "the scales of the margins' noise are too far apart to be taken together");
  }
  tacit_matrix_invert(f->k, f->work, t->noise);
  fit_counts(f);
  return TACIT_OK;
}

static tacit_status_t solve(solver_t *f, tacit_error_t *err) {
  tacit_tables_target_t *t = f->target;
  tacit_status_t status = solve_counts(f, err);
  TACIT_THEN(status, find_mode(f, err));
  if (status == TACIT_OK) {
    set_spread(f);
    for (size_t i = 0; i < t->tables->n_cells; i++) {
      t->n_sparse += f->point.n * f->point.fitted.cells[i] < 5 && t->release->scales[i] < 2;
    }
    set_slope(f);
  }
  return status;
}

static tacit_status_t init(tacit_tables_target_t *target, const tacit_tables_t *tables,
                           const tacit_noisy_margins_t *release,
                           tacit_status_t (*solve_it)(solver_t *, tacit_error_t *), tacit_error_t *err) {
  *target = (tacit_tables_target_t){.tables = tables, .release = release, .n_effects = tables->n_effects};
  target->dim = target->n_effects + !(release->n_records > 0);
  solver_t f = {.target = target, .k = target->n_effects};
  tacit_status_t status = check_mode(target, err);
  TACIT_THEN(status, allocate(target, &f, err));
  TACIT_THEN(status, solve_it(&f, err));
  double *arrays[] = {f.theta, f.step, f.residual, f.before, f.grad, f.information, f.work};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_tables_point_clear(&f.point);
  return status;
}

tacit_status_t tacit_tables_target_init(tacit_tables_target_t *target, const tacit_tables_t *tables,
                                        const tacit_noisy_margins_t *release, tacit_error_t *err) {
  return init(target, tables, release, solve, err);
}

void tacit_tables_target_clear(tacit_tables_target_t *t) {
  double *arrays[] = {t->weight, t->noise, t->counts, t->centre, t->spread, t->slope};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  *t = (tacit_tables_target_t){0};
}

tacit_status_t tacit_tables_contradiction(const tacit_tables_t *tables, const tacit_noisy_margins_t *release,
                                          double *p, tacit_error_t *err) {
  tacit_tables_target_t target;
  tacit_status_t status = init(&target, tables, release, solve_counts, err);
  *p = status == TACIT_OK ? target.contradiction : NAN;
  tacit_tables_target_clear(&target);
  return status;
}
