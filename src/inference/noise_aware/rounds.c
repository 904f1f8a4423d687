/* Releases of scores and of the information, and the process that they are observations of; see
 * noise_aware_internal.h. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/fault.h"
#include "noise_aware/kernel.h"
#include "noise_aware/noise_aware_internal.h"

enum { N_RADII = 40 };

/* Largest possible |y - m| as a share of upper. */
static double residual_share(double spread, double upper) { return 0.5 + fabs(spread) / upper; }

void tacit_rounds_fill(tacit_rounds_t *r) {
  size_t n = r->surrogate->n_rows, nb = r->n_columns, q = nb - 1;
  for (size_t k = 0; k < n; k++) {
    r->scale[k] = r->columns[k];
    for (size_t a = 0; a < q; a++) {
      r->scale[k] += r->columns[(1 + a) * n + k] * r->basis_shift[a];
    }
  }
  memset(r->quadratic, 0, nb * nb * sizeof *r->quadratic);
  r->quadratic[0] = -1 / r->weight;
  for (size_t a = 0; a < q; a++) {
    for (size_t b = 0; b < q; b++) {
      r->quadratic[(1 + a) * nb + 1 + b] = r->basis_cov[a * q + b] - (a == b ? 1 / r->weight : 0);
    }
  }
  double variance = r->n_error * r->n_error;
  for (size_t a = 0; a < nb; a++) { /* the mean over n is linear in the columns, with these factors */
    for (size_t b = 0; b < nb; b++) {
      r->quadratic[a * nb + b] +=
          variance * (a > 0 ? r->basis_shift[a - 1] : 1) * (b > 0 ? r->basis_shift[b - 1] : 1);
    }
  }
}

tacit_status_t tacit_rounds_init(tacit_rounds_t *rounds, const tacit_surrogate_t *surrogate,
                                 tacit_aware_count_t count, const tacit_unit_rows_t *unit_rows,
                                 tacit_error_t *err) {
  bool has_clusters = unit_rows->n > 1;
  size_t d = surrogate->d, k = surrogate->n_rows, q = surrogate->n_basis,
         most = surrogate->is_wide ? 1 : 1 + q + d * (d + 1) / 2;
  *rounds =
      (tacit_rounds_t){.surrogate = surrogate,
                       .n = count.n,
                       .n_error = count.error,
                       .weight = surrogate->is_wide ? wide_weight * (double)surrogate->d : surrogate_weight,
                       .unit_rows = *unit_rows,
                       .n_columns = 1 + q};
  rounds->columns = tacit_alloc_zero(most * k, sizeof *rounds->columns);
  rounds->basis_cov = tacit_alloc_zero(most * most, sizeof *rounds->basis_cov);
  rounds->basis_shift = tacit_alloc_zero(most, sizeof *rounds->basis_shift);
  rounds->scale = tacit_alloc_zero(k, sizeof *rounds->scale);
  rounds->quadratic = tacit_alloc_zero(most * most, sizeof *rounds->quadratic);
  rounds->rows = tacit_alloc_zero(TACIT_AWARE_ROUNDS * d * k, sizeof *rounds->rows);
  rounds->sampled =
      has_clusters ? tacit_alloc_zero(TACIT_AWARE_ROUNDS * d * k, sizeof *rounds->sampled) : rounds->rows;
  rounds->clustered = has_clusters ? tacit_alloc_zero(TACIT_AWARE_ROUNDS * d * TACIT_AWARE_ROUNDS * d,
                                                      sizeof *rounds->clustered)
                                   : NULL;
  rounds->spread = tacit_alloc_zero(TACIT_AWARE_ROUNDS * k, sizeof *rounds->spread);
  rounds->released = tacit_alloc_zero(TACIT_AWARE_ROUNDS * d, sizeof *rounds->released);
  rounds->doubt = tacit_alloc_zero(TACIT_AWARE_ROUNDS * d * d, sizeof *rounds->doubt);
  if (rounds->columns == NULL || rounds->basis_cov == NULL || rounds->basis_shift == NULL ||
      rounds->scale == NULL || rounds->quadratic == NULL || rounds->rows == NULL || rounds->spread == NULL ||
      rounds->released == NULL || rounds->doubt == NULL || rounds->sampled == NULL ||
      (has_clusters && rounds->clustered == NULL)) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < k; i++) {
    rounds->columns[i] = surrogate->weight[i];
    for (size_t a = 0; a < q; a++) {
      rounds->columns[(1 + a) * k + i] = surrogate->weight[i] * surrogate->basis[i * q + a];
    }
  }
  if (q > 0) {
    memcpy(rounds->basis_cov, surrogate->basis_cov, q * q * sizeof *rounds->basis_cov);
    memcpy(rounds->basis_shift, surrogate->basis_shift, q * sizeof *rounds->basis_shift);
  }
  tacit_rounds_fill(rounds);
  return TACIT_OK;
}

void tacit_rounds_clear(tacit_rounds_t *rounds) {
  double *const arrays[] = {rounds->columns,
                            rounds->basis_cov,
                            rounds->basis_shift,
                            rounds->scale,
                            rounds->quadratic,
                            rounds->rows,
                            rounds->spread,
                            rounds->released,
                            rounds->doubt,
                            rounds->clustered,
                            rounds->sampled != rounds->rows ? rounds->sampled : NULL};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  *rounds = (tacit_rounds_t){0};
}

/* ---- the radius ---- */

/* What the choice looks at: the rows in the metric, their norms times q, and weighted products. */
typedef struct choice {
  const tacit_surrogate_t *s;
  const double *mean_var, *prior;
  const tacit_unit_rows_t *unit_rows;
  double n, noise_per_radius;
  double *white, *norms, *work; /* (d, n_rows), (n_rows), 3 n_rows + 6 d^2 */
} choice_t;

/* out (d, d) <- n sum omega weight a a' for lines a, b; symmetric or not. */
static void weighted_products(const choice_t *c, const double *weight, const double *a, const double *b,
                              double *out) {
  size_t d = c->s->d, n = c->s->n_rows;
  double *line = c->work;
  for (size_t i = 0; i < d; i++) {
    for (size_t k = 0; k < n; k++) {
      line[k] = c->n * c->s->weight[k] * weight[k] * a[i * n + k];
    }
    tacit_aware_kernel()->project(n, 1, d, line, b, out + i * d);
  }
}

/* tr(I0 V(R)): predicted variance in units of the non-private one, summed over the parameters; INFINITY if
 * there is none. */
static double predicted_loss(const choice_t *c, const double *information, double radius) {
  size_t d = c->s->d, n = c->s->n_rows;
  double *first = c->work + n, *second = first + n, *jacobian = second + n, *cov = jacobian + d * d,
         *precision = cov + d * d, *inverse = precision + d * d, trace = 0;
  for (size_t k = 0; k < n; k++) {
    double sum, root;
    tacit_aware_weigh(c->unit_rows, radius / c->norms[k], &sum, &root);
    first[k] = sum * c->mean_var[k];
    second[k] = root * root * c->mean_var[k];
  }
  weighted_products(c, first, c->s->x, c->white, jacobian); /* row j: derivative of the score by theta_j */
  weighted_products(c, second, c->white, c->white, cov);    /* rows of a unit as if they were independent */
  double noise = c->noise_per_radius * radius;
  for (size_t i = 0; i < d; i++) {
    cov[i * d + i] += noise * noise;
  }
  if (!tacit_cholesky(d, cov)) {
    return INFINITY;
  }
  for (size_t j = 0; j < d; j++) {
    tacit_solve_lower(d, cov, jacobian + j * d);
  }
  for (size_t i = 0; i < d * d; i++) {
    precision[i] = tacit_dot(d, jacobian + i / d * d, jacobian + i % d * d) + c->prior[i];
  }
  if (!tacit_cholesky(d, precision)) {
    return INFINITY;
  }
  tacit_invert_lower(d, precision, inverse);
  for (size_t k = 0; k < d; k++) { /* V = sum_k of outer products of the rows of the inverse factor */
    for (size_t i = 0; i <= k; i++) {
      for (size_t j = 0; j <= k; j++) {
        trace += information[i * d + j] * inverse[k * d + i] * inverse[k * d + j];
      }
    }
  }
  return trace;
}

/* The largest radius that loses next to nothing: the fewer rows are weighted, the less a model that is wrong
 * shifts. */
static double choose_radius(const choice_t *c, const double *whiten) {
  size_t d = c->s->d;
  double most = tacit_cube_norm(d, whiten), least = 0.15 * sqrt((double)d), losses[N_RADII], best = INFINITY;
  double *information = c->work + 3 * c->s->n_rows + 4 * d * d, radius = fmax(most, 1e-6), ratio;
  least = fmin(least, 0.5 * radius);
  ratio = pow(radius / least, 1.0 / (N_RADII - 1));
  weighted_products(c, c->mean_var, c->s->x, c->s->x, information);
  for (int i = 0; i < N_RADII; i++) {
    losses[i] = predicted_loss(c, information, least * pow(ratio, i));
    best = fmin(best, losses[i]);
  }
  double p = (double)d, excess = fmax(best - p, 0);
  double more = d > TACIT_NOISE_AWARE_MAX_NARROW ? 0 : fmin(radius_more * excess, radius_most * p);
  double allowed = best + radius_slack * excess + more + radius_loss * p;
  for (int i = N_RADII; i-- > 0;) {
    if (losses[i] <= allowed) {
      return i == N_RADII - 1 ? radius : least * pow(ratio, i);
    }
  }
  return radius;
}

/* ---- a score ---- */

/* Keep what the last round's covariance may be off by, before another joins it. */
static void doubt_last(tacit_rounds_t *r, const double *mean_var) {
  const tacit_surrogate_t *s = r->surrogate;
  size_t d = s->d, n = s->n_rows, j = r->n_rounds - 1;
  const double *rows = r->sampled + j * d * n;
  for (size_t i = 0; i < d * d; i++) {
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
      sum += s->weight[k] * mean_var[k] * rows[i / d * n + k] * rows[i % d * n + k];
    }
    r->doubt[j * d * d + i] = early_doubt * r->n * sum;
  }
}

/* white <- whiten x; norms <- |whiten x| q. */
static void whiten_all(const choice_t *c, const double *whiten, const double *spread, double upper) {
  size_t d = c->s->d, n = c->s->n_rows;
  memset(c->norms, 0, n * sizeof *c->norms);
  memset(c->white, 0, d * n * sizeof *c->white);
  for (size_t i = 0; i < d; i++) {
    double *line = c->white + i * n;
    for (size_t j = 0; j <= i; j++) {
      for (size_t k = 0; k < n; k++) {
        line[k] += whiten[i * d + j] * c->s->x[j * n + k];
      }
    }
    for (size_t k = 0; k < n; k++) {
      c->norms[k] += line[k] * line[k];
    }
  }
  for (size_t k = 0; k < n; k++) {
    c->norms[k] = fmax(sqrt(c->norms[k]) * residual_share(spread[k], upper), 1e-300);
  }
}

static tacit_status_t release_score(tacit_rounds_t *r, const tacit_round_place_t *place, double *memory,
                                    tacit_error_t *err) {
  const tacit_surrogate_t *s = r->surrogate;
  size_t d = s->d, n = s->n_rows, j = r->n_rounds;
  double *whiten = memory, *prior = whiten + d * d, *mean_var = prior + d * d, upper = place->settings->upper,
         noise_sd;
  double *spread = r->spread + j * n, multiplier = schedule_multiplier(place->settings->rho, place->share);
  choice_t c = {.s = s, .mean_var = mean_var, .prior = prior, .unit_rows = &r->unit_rows, .n = r->n};
  c.white = mean_var + n;
  c.norms = c.white + d * n;
  c.work = c.norms + n;
  c.noise_per_radius = tacit_aware_factor(place->settings) * upper * multiplier;
  tacit_round_spread(s, place->settings, place->theta, spread);
  tacit_status_t status = tacit_round_metric(s, place, whiten, mean_var, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_add_prior_precision(place->parameters, d, place->theta, prior);
  whiten_all(&c, whiten, spread, upper);
  double radius = choose_radius(&c, whiten);
  double theta[TACIT_NOISE_AWARE_MAX_FEATURES];
  memcpy(theta, place->theta, d * sizeof *theta);
  const tacit_aware_point_t at = {theta, whiten, &radius, NULL};
  status = tacit_aware_release_score(place->curator, place->settings, multiplier, &at, r->released + j * d,
                                     &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (place->curator == NULL) { /* rows as they were at the point of the release */
    tacit_round_spread(s, place->settings, theta, spread);
    whiten_all(&c, whiten, spread, upper);
  }
  if (j > 0) {
    doubt_last(r, mean_var);
  }
  double mean_weight = 0;
  memcpy(r->last_theta, theta, d * sizeof *theta);
  memcpy(r->last_whiten, whiten, d * d * sizeof *whiten);
  r->radius[j] = radius;
  for (size_t k = 0; k < n; k++) {
    double sum, root;
    tacit_aware_weigh(&r->unit_rows, radius / c.norms[k], &sum, &root);
    mean_weight += s->weight[k] * sum;
    r->touched[j] += sum < 1 ? s->weight[k] : 0;
    for (size_t i = 0; i < d; i++) {
      r->rows[(j * d + i) * n + k] = sum * c.white[i * n + k];
      r->sampled[(j * d + i) * n + k] = root * c.white[i * n + k];
    }
  }
  /* each record's rounding to the lattice, 2^-22 of the sensitivity apart, is noise too where there is next
   * to no other */
  double spacing = c.noise_per_radius * radius / multiplier * 0x1p-22;
  noise_sd *= TACIT_IS_PLANTED(TACIT_FAULT_HALF_NOISE) ? 0.5 : 1;
  r->noise_var[j] = noise_sd * noise_sd + r->n * spacing * spacing / 12;
  r->count_noise =
      noise_sd / whiten[0] / mean_weight; /* L is lower triangular and x_0 = 1: S_0 = L_00 sum w (y - m) */
  r->n_rounds++;
  return TACIT_OK;
}

tacit_status_t tacit_rounds_release(tacit_rounds_t *rounds, const tacit_round_place_t *place,
                                    tacit_error_t *err) {
  size_t d = rounds->surrogate->d, n = rounds->surrogate->n_rows;
  double *memory = tacit_alloc_zero(2 * d * d + n + d * n + n + 3 * n + 6 * d * d, sizeof *memory);
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_aware_may_start(place->settings, err);
  TACIT_THEN(status, release_score(rounds, place, memory, err));
  tacit_free(memory);
  return status;
}
