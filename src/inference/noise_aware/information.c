/*
 * The information at a point, released: what its products add to the basis of the process, and what the
 * process learns from it.
 *
 * The products G of the rows t = sqrt(v) L x, scaled to |t| <= R, split into their regression on Q and a
 * remainder; its principal directions Q_2 have means with prior N(0, I / weight), as all that the moments do
 * not tell. The release is the mean of G, linear in the means of (Q, Q_2), with normal noise.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/noise_aware_internal.h"

/* Directions of less variance than this share of the largest add nothing. */
static const double negligible = 1e-3;

typedef struct learner {
  tacit_rounds_t *r;
  size_t m, q, q2; /* products; columns of Q and of Q_2 */
  double *memory;
  double *whiten, *mean_var;      /* (d, d), (n_rows) */
  double *products;               /* (n_rows, m), centred, then their remainder */
  double *mean;                   /* (m) */
  double *on_basis;               /* (m, q): covariance with Q */
  double *loading;                /* (m, q + q2) */
  double *cov, *vectors, *values; /* (m, m), (m, m), (m) */
  double *gain;                   /* (m, q + q2) */
  double *prior;                  /* (q + q2, q + q2) */
} learner_t;

static void fill_products(learner_t *l, const tacit_round_place_t *place, const double *theta,
                          const double *whiten, double radius) {
  const tacit_surrogate_t *s = l->r->surrogate;
  size_t d = s->d, n = s->n_rows;
  double x[TACIT_NOISE_AWARE_MAX_NARROW], row[TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t k = 0; k < n; k++) {
    double eta = 0, *product = l->products + k * l->m;
    for (size_t i = 0; i < d; i++) {
      x[i] = s->x[i * n + k];
      eta += theta[i] * x[i];
    }
    double sd = sqrt(tacit_family_moments(place->settings->family, place->settings->upper, eta).variance);
    for (size_t i = 0; i < d; i++) {
      x[i] *= sd;
    }
    tacit_weigh_row(d, whiten, x, radius, row);
    for (size_t i = 0, p = 0; i < d; i++) {
      for (size_t j = i; j < d; j++, p++) {
        product[p] = (i == j ? 1 : sqrt(2)) * row[i] * row[j];
        l->mean[p] += s->weight[k] * product[p];
      }
    }
  }
}

/* Centre, regress on Q, leave the remainder; its covariance. */
static void regress(learner_t *l) {
  const tacit_surrogate_t *s = l->r->surrogate;
  size_t n = s->n_rows, m = l->m, q = l->q;
  for (size_t k = 0; k < n; k++) {
    double *product = l->products + k * m;
    for (size_t p = 0; p < m; p++) {
      product[p] -= l->mean[p];
      for (size_t a = 0; a < q; a++) {
        l->on_basis[p * q + a] += product[p] * l->r->columns[(1 + a) * n + k];
      }
    }
  }
  for (size_t k = 0; k < n; k++) {
    double *product = l->products + k * m;
    for (size_t p = 0; p < m; p++) {
      product[p] -= tacit_dot(q, l->on_basis + p * q, s->basis + k * q);
    }
    for (size_t p = 0; p < m; p++) {
      for (size_t o = 0; o <= p; o++) {
        l->cov[p * m + o] += s->weight[k] * product[p] * product[o];
      }
    }
  }
  for (size_t p = 0; p < m; p++) {
    for (size_t o = 0; o < p; o++) {
      l->cov[o * m + p] = l->cov[p * m + o];
    }
  }
}

/* Q_2 becomes columns of the process; loading <- how the means of G depend on those of (Q, Q_2). */
static void extend(learner_t *l) {
  tacit_rounds_t *r = l->r;
  const tacit_surrogate_t *s = r->surrogate;
  size_t n = s->n_rows, m = l->m, q = l->q,
         kept[TACIT_NOISE_AWARE_MAX_NARROW * (TACIT_NOISE_AWARE_MAX_NARROW + 1) / 2];
  double largest = 0;
  tacit_eigen(m, l->cov, l->values, l->vectors);
  for (size_t p = 0; p < m; p++) {
    largest = fmax(largest, l->values[p]);
  }
  for (size_t p = 0; p < m; p++) {
    if (l->values[p] > negligible * largest && l->values[p] > 1e-12) {
      kept[l->q2++] = p;
    }
  }
  size_t width = q + l->q2;
  for (size_t p = 0; p < m; p++) {
    memcpy(l->loading + p * width, l->on_basis + p * q, q * sizeof *l->loading);
    for (size_t a = 0; a < l->q2; a++) {
      l->loading[p * width + q + a] = l->vectors[p * m + kept[a]] * sqrt(l->values[kept[a]]);
    }
  }
  for (size_t k = 0; k < n; k++) {
    for (size_t a = 0; a < l->q2; a++) {
      double sum = 0;
      for (size_t p = 0; p < m; p++) {
        sum += l->products[k * m + p] * l->vectors[p * m + kept[a]];
      }
      r->columns[(1 + q + a) * n + k] = s->weight[k] * sum / sqrt(l->values[kept[a]]);
    }
  }
  for (size_t a = 0; a < width; a++) {
    for (size_t b = 0; b < width; b++) {
      l->prior[a * width + b] = a < q && b < q ? r->basis_cov[a * q + b] : a == b ? 1 / r->weight : 0;
    }
    r->basis_shift[a] = a < q ? r->basis_shift[a] : 0;
  }
  r->n_columns = 1 + width;
}

/* Linear-Gaussian conditioning of (e, V) on the released mean of G, whose noise has variance noise_var, and
 * an error of n in common. */
static bool condition(learner_t *l, const double *released, double noise_var) {
  tacit_rounds_t *r = l->r;
  size_t m = l->m, width = l->q + l->q2;
  double *gram = l->cov, *error = l->values; /* both are done with */
  tacit_multiply(m, width, width, l->loading, l->prior, l->gain);
  for (size_t p = 0; p < m; p++) {
    for (size_t o = 0; o <= p; o++) {
      gram[p * m + o] = tacit_dot(width, l->gain + p * width, l->loading + o * width) +
                        (p == o ? noise_var : 0) + r->n_error * r->n_error * l->mean[p] * l->mean[o];
    }
    error[p] = released[p] - l->mean[p] - tacit_dot(width, l->loading + p * width, r->basis_shift);
  }
  if (!tacit_cholesky(m, gram)) {
    return false;
  }
  tacit_solve_lower(m, gram, error);
  for (size_t a = 0; a < width; a++) { /* gain <- L^-1 H V, column by column */
    double *column = l->vectors;
    for (size_t p = 0; p < m; p++) {
      column[p] = l->gain[p * width + a];
    }
    tacit_solve_lower(m, gram, column);
    for (size_t p = 0; p < m; p++) {
      l->gain[p * width + a] = column[p];
    }
  }
  for (size_t a = 0; a < width; a++) {
    for (size_t p = 0; p < m; p++) {
      r->basis_shift[a] += l->gain[p * width + a] * error[p];
    }
  }
  memcpy(r->basis_cov, l->prior, width * width * sizeof *r->basis_cov);
  for (size_t p = 0; p < m; p++) {
    const double *row = l->gain + p * width;
    for (size_t a = 0; a < width; a++) {
      for (size_t b = 0; b < width; b++) {
        r->basis_cov[a * width + b] -= row[a] * row[b];
      }
    }
  }
  return true;
}

static tacit_status_t allocate(learner_t *l, size_t n, size_t d, tacit_error_t *err) {
  size_t m = l->m, most = l->q + m;
  const size_t sizes[] = {d * d, n, n * m, m, m * l->q, m * most, m * m, m * m, m, m * most, most * most};
  double **const arrays[] = {&l->whiten, &l->mean_var, &l->products, &l->mean, &l->on_basis, &l->loading,
                             &l->cov,    &l->vectors,  &l->values,   &l->gain, &l->prior};
  l->memory = tacit_alloc_arrays(sizeof sizes / sizeof sizes[0], arrays, sizes);
  return l->memory != NULL ? TACIT_OK : tacit_error_memory(err);
}

static tacit_status_t learn(learner_t *l, const tacit_round_place_t *place, tacit_error_t *err) {
  const tacit_surrogate_t *s = l->r->surrogate;
  size_t d = s->d, m = l->m;
  double *whiten = l->whiten, *mean_var = l->mean_var, *released = l->values, noise_sd;
  double multiplier = schedule_multiplier(place->settings->rho, place->share);
  tacit_status_t status = tacit_round_metric(s, place, whiten, mean_var, err);
  if (status != TACIT_OK) {
    return status;
  }
  double radius = tacit_matrix_radius(d, whiten, l->r->n, multiplier), theta[TACIT_NOISE_AWARE_MAX_NARROW];
  double kept[TACIT_NOISE_AWARE_MAX_NARROW * (TACIT_NOISE_AWARE_MAX_NARROW + 1) / 2];
  memcpy(theta, place->theta, d * sizeof *theta);
  const tacit_aware_point_t at = {theta, whiten, &radius, NULL};
  status = tacit_aware_release_information(place->curator, place->settings, multiplier, &at, released,
                                           &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t p = 0; p < m; p++) {
    kept[p] = released[p] / l->r->n;
  }
  fill_products(l, place, theta, whiten, radius);
  regress(l);
  extend(l);
  double sd = fmax(noise_sd / l->r->n, 1e-9 * radius * radius);
  return condition(l, kept, sd * sd)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "information",
                               "the covariance of the released information is not positive");
}

tacit_status_t tacit_rounds_learn_information(tacit_rounds_t *rounds, const tacit_round_place_t *place,
                                              tacit_error_t *err) {
  size_t d = rounds->surrogate->d;
  learner_t l = {.r = rounds, .m = d * (d + 1) / 2, .q = rounds->n_columns - 1};
  tacit_status_t status = tacit_aware_may_start(place->settings, err);
  TACIT_THEN(status, allocate(&l, rounds->surrogate->n_rows, d, err));
  TACIT_THEN(status, learn(&l, place, err));
  if (status == TACIT_OK) {
    tacit_rounds_fill(rounds);
  }
  tacit_free(l.memory);
  return status;
}
