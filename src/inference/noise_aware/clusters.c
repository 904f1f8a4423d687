/*
 * Units of several rows: how many they have, and what their rows share beyond what the model gives each of
 * them.
 *
 * A unit's score is psi = sum_t w_t L x_t (y_t - m_t) over its rows. Were rows independent given their
 * features, sum psi psi' would be
 *
 *     V = n sum omega v U U',      U = W_2^1/2 L x,   W_2 = min(1, R / (|L x| q))^2 sum_k p_k / k
 *
 * with p_k the share of units that have k rows. Released, it is V + E and noise. E is what joins the
 * covariance of the last score; that of rounds a and b gains T_a E T_b', T_a the regression of the rows U_a
 * on those of the last round.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/fault.h"
#include "noise_aware/noise_aware_internal.h"

enum { D = TACIT_NOISE_AWARE_MAX_NARROW, MOST = D * (D + 1) / 2 };

/* Prior sd of the share of units in a cell, before any are counted. */
static const double share_sd = 0.25;
/* Prior sds of E beside the covariance of the last score, noise included: of its diagonal around their mean,
 * and off the diagonal. */
static const double diagonal_sd = 0.5, other_sd = 0.35;

bool tacit_aware_has_clusters(const tacit_noise_aware_settings_t *settings) { return settings->max_rows > 1; }

/* ---- how many rows ---- */

/* Cells of 1, 2, 3, 4 to 5, 6 to 8, ... rows, each from one and a half times the start of that before. */
static size_t make_cells(size_t max_rows, size_t *first) {
  size_t n = 0;
  for (size_t from = 1; from <= max_rows && n<TACIT_AWARE_ROW_CELLS; from = from + 1> from + from / 2
                            ? from + 1
                            : from + from / 2) {
    first[n++] = from;
  }
  return n;
}

/* Shares from noisy counts that sum to n units, shrunk to equal ones and not negative. */
static void fill_shares(tacit_unit_rows_t *rows, const double *counts, double noise_sd, double n) {
  double sd = noise_sd / n, trust = share_sd * share_sd / (share_sd * share_sd + sd * sd), total = 0;
  for (size_t c = 0; c < rows->n; c++) {
    double even = 1 / (double)rows->n;
    rows->share[c] = fmax(even + trust * (counts[c] / n - even), 0);
    total += rows->share[c];
  }
  for (size_t c = 0; c < rows->n; c++) {
    rows->share[c] = total > 0 ? rows->share[c] / total : 1 / (double)rows->n;
  }
}

tacit_status_t tacit_aware_learn_rows(tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings,
                                      tacit_aware_count_t count, tacit_unit_rows_t *rows,
                                      tacit_error_t *err) {
  *rows = (tacit_unit_rows_t){.n = 1, .rows = {1}, .share = {1}};
  if (!tacit_aware_has_clusters(settings)) {
    return TACIT_OK;
  }
  size_t first[TACIT_AWARE_ROW_CELLS];
  double counts[TACIT_AWARE_ROW_CELLS], noise_sd = 0;
  rows->n = make_cells(settings->max_rows, first);
  tacit_status_t status = tacit_aware_may_start(settings, err);
  TACIT_THEN(status,
             tacit_aware_release_unit_rows(curator, settings, schedule_multiplier(settings->rho, share_rows),
                                           rows->n, first, counts, &noise_sd, err));
  for (size_t c = 0; c < rows->n && status == TACIT_OK; c++) {
    double last = (double)(c + 1 < rows->n ? first[c + 1] - 1 : settings->max_rows);
    rows->rows[c] = 0.5 * ((double)first[c] + last);
  }
  if (status == TACIT_OK) {
    fill_shares(rows, counts, noise_sd, count.n);
  }
  return status;
}

void tacit_aware_weigh(const tacit_unit_rows_t *rows, double reach, double *sum, double *root) {
  double inverse = 0;
  for (size_t c = 0; c < rows->n; c++) {
    inverse += rows->share[c] / rows->rows[c];
  }
  *sum = fmin(1, reach);
  *root = *sum * sqrt(inverse);
}

/* ---- what rows of a unit share ---- */

/* out (d, d) <- n sum omega v a b' for rows a and b (d, n_rows). */
static void project(const tacit_rounds_t *r, const double *variance, const double *a, const double *b,
                    double *out) {
  const tacit_surrogate_t *s = r->surrogate;
  size_t n = s->n_rows, d = s->d;
  for (size_t i = 0; i < d * d; i++) {
    out[i] = 0;
    for (size_t k = 0; k < n; k++) {
      out[i] += r->n * s->weight[k] * variance[k] * a[i / d * n + k] * b[i % d * n + k];
    }
  }
}

/*
 * excess (d, d) <- its posterior mean in the metric of the score's whole covariance, whose lower factor is
 * given; never negative: intervals only widen. noise_sd: of a diagonal entry, sqrt(2) times that of another.
 */
static void shrink(size_t d, const double *factor, double noise_sd, double *excess) {
  double inverse[D * D] = {0}, half[D * D], white[D * D], work[2 * D * D + D], level = 0;
  tacit_invert_lower(d, factor, inverse);
  tacit_sandwich(d, inverse, excess, half, white);
  for (size_t i = 0; i < d; i++) {
    level += white[i * d + i] / (double)d;
  }
  level = fmax(level, 0);
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j <= i; j++) {
      const double *a = inverse + i * d, *b = inverse + j * d;
      double across = tacit_dot(d, a, b),
             noise = 0.5 * noise_sd * noise_sd * (tacit_dot(d, a, a) * tacit_dot(d, b, b) + across * across);
      double centre = i == j ? level : 0, sd = (1 + level) * (i == j ? diagonal_sd : other_sd);
      white[i * d + j] = white[j * d + i] =
          centre + sd * sd / (sd * sd + noise) * (white[i * d + j] - centre);
    }
  }
  tacit_raise_eigenvalues(d, white, 0, work);
  tacit_sandwich(d, factor, white, half, excess);
}

/* clustered <- T_a E T_b' for all rounds; and early rounds may be off by the same share of theirs as of the
 * rest. */
static bool spread_out(tacit_rounds_t *r, const double *variance, const double *excess) {
  size_t d = r->surrogate->d, n = r->surrogate->n_rows, width = TACIT_AWARE_ROUNDS * d,
         last = r->n_rounds - 1;
  double factor[D * D], by[TACIT_AWARE_ROUNDS][D * D], half[D * D];
  project(r, variance, r->sampled + last * d * n, r->sampled + last * d * n, factor);
  for (size_t i = 0; i < d;
       i++) { /* where outcomes nearly do not vary V is none: what was paid for ends in an answer */
    factor[i * d + i] += 1e-9 * r->noise_var[last];
  }
  if (!tacit_cholesky(d, factor)) {
    return false;
  }
  for (size_t a = 0; a <= last; a++) {
    project(r, variance, r->sampled + a * d * n, r->sampled + last * d * n, by[a]);
    for (size_t i = 0; i < d; i++) {
      tacit_solve_lower(d, factor, by[a] + i * d);
      tacit_solve_upper(d, factor, by[a] + i * d);
    }
  }
  for (size_t a = 0; a <= last; a++) {
    tacit_multiply(d, d, d, by[a], excess, half);
    for (size_t b = 0; b <= last; b++) {
      for (size_t i = 0; i < d * d; i++) {
        double value = tacit_dot(d, half + i / d * d, by[b] + i % d * d);
        r->clustered[(a * d + i / d) * width + b * d + i % d] = value;
        r->doubt[a * d * d + i] += a == b && a < last ? early_doubt * value : 0;
      }
    }
  }
  return true;
}

/* Four times the length that a score has in the mean were rows independent, and more where noise is small
 * beside the score's whole variance. */
static double choose_cap(const tacit_rounds_t *r, const double *expected, double upper, double multiplier) {
  size_t d = r->surrogate->d, last = r->n_rounds - 1;
  double mean = 0, quiet;
  for (size_t i = 0; i < d; i++) {
    mean += expected[i * d + i] / (double)d;
  }
  quiet = square_noise * (mean + r->noise_var[last]) / (sqrt(2) * multiplier);
  return fmin(sqrt(fmax(square_cap * (double)d * mean / r->n, quiet)), r->radius[last] * upper);
}

static tacit_status_t learn(tacit_rounds_t *r, const tacit_round_place_t *place, double *variance,
                            tacit_error_t *err) {
  const tacit_surrogate_t *s = r->surrogate;
  size_t n = s->n_rows, d = s->d, last = r->n_rounds - 1;
  double released[MOST], expected[D * D], excess[D * D], noise_sd, radius = r->radius[last],
                                                                   upper = place->settings->upper;
  double multiplier = schedule_multiplier(place->settings->rho, place->share);
  for (size_t k = 0; k < n; k++) {
    double eta = 0;
    for (size_t j = 0; j < d; j++) {
      eta += place->theta[j] * s->x[j * n + k];
    }
    variance[k] = tacit_family_moments(place->settings->family, upper, eta).variance;
  }
  project(r, variance, r->sampled + last * d * n, r->sampled + last * d * n, expected);
  double cap = choose_cap(r, expected, upper, multiplier);
  const tacit_aware_point_t at = {r->last_theta, r->last_whiten, &radius, &cap};
  tacit_status_t status = tacit_aware_release_score_squares(place->curator, place->settings, multiplier, &at,
                                                            released, &noise_sd, err);
  if (status != TACIT_OK || TACIT_IS_PLANTED(TACIT_FAULT_ROWS_INDEPENDENT)) {
    return status;
  }
  for (size_t i = 0, p = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, p++) {
      excess[i * d + j] = excess[j * d + i] = released[p] / (i == j ? 1 : sqrt(2)) - expected[i * d + j];
    }
  }
  for (size_t i = 0; i < d; i++) {
    expected[i * d + i] += r->noise_var[last];
  }
  bool ok = tacit_cholesky(d, expected);
  if (ok) {
    shrink(d, expected, noise_sd, excess);
    ok = spread_out(r, variance, excess);
  }
  return ok ? TACIT_OK
            : tacit_error_set(err, TACIT_ERR_NUMERIC, "clusters",
                              "the covariance of scores of units is not positive");
}

tacit_status_t tacit_rounds_learn_clusters(tacit_rounds_t *rounds, const tacit_round_place_t *place,
                                           tacit_error_t *err) {
  double *variance = tacit_alloc(rounds->surrogate->n_rows, sizeof *variance);
  if (variance == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_aware_may_start(place->settings, err);
  TACIT_THEN(status, learn(rounds, place, variance, err));
  tacit_free(variance);
  return status;
}
