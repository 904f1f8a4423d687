/*
 * Weights of made-up records such that the slopes that the program gives them at the last point have the mean
 * that was released (docs/theory.md, section 18.14): for checks, no interval rests on them.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/program.h"

/* What equal weights are worth in records; and how many of them weights leave at least. */
static const double program_weight = 30, least_effective = 128;

enum { N_NEWTONS = 30, N_HALVINGS = 20, N_RELAXATIONS = 12 };

/* Fewer records than so many are next to nobody. */
static const double nobody = 0.5;

/* What weights are sought by: moments (n, q) of records, what they are wanted to be, and how much of that is
 * noise. */
typedef struct tilt {
  size_t n, q;
  bool *can_be; /* others have weight 0 */
  double *moments;
  const double *wanted;
  double *mean, *cov, *step;
  double doubt; /* program_weight times the variance of their noise */
} tilt_t;

/* weights proportional to exp(moments . tilt); log of their mean, less tilt . wanted, plus doubt / 2
 * |tilt|^2. */
static double weigh(const tilt_t *t, const double *tilt, double *weights) {
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < t->n; i++) {
    weights[i] = t->can_be[i] ? tacit_dot(t->q, t->moments + i * t->q, tilt) : -INFINITY;
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
 * weights (t->n) <- the least of program_weight KL(weights, equal ones) + |their moments - wanted|^2 / (2
 * noise_sd^2), by its dual, which is convex.
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

/* moments (d (d + 1) / 2) <- svec of a matrix. */
static void pack(size_t d, const double *matrix, double scale, double *svec) {
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i; j < d; j++) {
      *svec++ = matrix[i * d + j] * scale * (i == j ? 1 : sqrt(2));
    }
  }
}

/* The longest slope, (tr J)^1/2, that there is, by what counts of them told. */
static double longest_slope(const tacit_band_lengths_t *lengths) {
  size_t k = lengths->n;
  while (k > 1 && lengths->mean[k - 1] < nobody) {
    k--;
  }
  return lengths->edges[k] * lengths->unit;
}

tacit_status_t tacit_public_learn(tacit_public_t *p, const tacit_program_run_t *run, tacit_error_t *err) {
  size_t d = p->d, q = d * (d + 1) / 2;
  const tacit_program_seen_t *last = &run->seen;
  const tacit_centred_point_t point = {
      last->theta, last->whiten, last->clip, last->most, TACIT_PROGRAM_SIMULATED, TACIT_PROGRAM_LAST_SEED};
  double wanted[PARAMETERS * (PARAMETERS + 1) / 2], slope[MATRIX], effective = 0,
                                                                   noise = last->slope_sd / run->n;
  tilt_t t = {.n = p->n, .q = q, .wanted = wanted, .doubt = program_weight * noise * noise};
  t.moments = tacit_alloc_zero(p->n * q, sizeof *t.moments);
  t.can_be = tacit_alloc_zero(p->n, sizeof *t.can_be);
  if (t.moments == NULL || t.can_be == NULL) {
    tacit_free(t.moments);
    tacit_free(t.can_be);
    return tacit_error_memory(err);
  }
  double longest = longest_slope(&run->bands.slopes);
  size_t n_can_be = 0;
  pack(d, last->slope, 1 / run->n, wanted);
  for (size_t i = 0; i < p->n; i++) {
    tacit_centred_slope(p->model, &point, p->records + i * p->model->n_columns, p->work, slope);
    t.can_be[i] = tacit_program_trace(d, slope) <= longest * longest;
    if (t.can_be[i]) {
      n_can_be++;
      pack(d, slope, 1, t.moments + i * q);
    }
  }
  for (size_t i = 0; i < p->n && n_can_be == 0; i++) { /* no record is like those that there are */
    t.can_be[i] = true;
  }
  tacit_status_t status = TACIT_OK;
  for (int n = 0; n < N_RELAXATIONS && effective < least_effective && status == TACIT_OK;
       n++) { /* what cannot be reached is not sought at any price */
    t.doubt = n == 0 ? t.doubt : fmax(4 * t.doubt, 1e-6);
    status = find_weights(&t, p->weights, err);
    effective = 1 / tacit_dot(p->n, p->weights, p->weights);
  }
  tacit_free(t.moments);
  tacit_free(t.can_be);
  return status;
}
