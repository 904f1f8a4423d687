/*
 * How far counts vary beyond a Poisson distribution: squares of scores at the last point, released, beside
 * what the model says of them.
 *
 * With Var(y | x) = (1 + a) v + b m^2, a, b >= 0 (a quasi-Poisson and a negative binomial distribution are of
 * this form), they have mean
 *
 *     n sum omega u u' ((1 + a) v + b m^2 + (m - m_3)^2),
 *
 * linear in a and b, which least squares finds; residuals beyond the cap are shortened, so that they are
 * rather too small.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/noise_aware_internal.h"

void tacit_rounds_disperse(const tacit_rounds_t *rounds, tacit_family_moments_t *moments) {
  moments->variance_slope = (1 + rounds->excess) * moments->variance_slope +
                            2 * rounds->excess_square * moments->mean * moments->slope;
  moments->variance =
      (1 + rounds->excess) * moments->variance + rounds->excess_square * moments->mean * moments->mean;
}

/* out <- n sum omega value svec(u u'), u the rows of the last round. */
static void project(const tacit_rounds_t *r, const double *value, double *out) {
  const tacit_surrogate_t *s = r->surrogate;
  size_t n = s->n_rows, d = s->d;
  const double *rows = r->rows + (r->n_rounds - 1) * d * n;
  for (size_t i = 0, p = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, p++) {
      out[p] = 0;
      for (size_t k = 0; k < n; k++) {
        out[p] += r->n * (i == j ? 1 : sqrt(2)) * s->weight[k] * value[k] * rows[i * n + k] * rows[j * n + k];
      }
    }
  }
}

/* a, b >= 0 with the least |rest - a own - b square|^2. */
static void solve(size_t m, const double *own, const double *square, const double *rest, double *a,
                  double *b) {
  double oo = tacit_dot(m, own, own), os = tacit_dot(m, own, square), ss = tacit_dot(m, square, square);
  double ro = tacit_dot(m, rest, own), rs = tacit_dot(m, rest, square), det = oo * ss - os * os;
  *a = det > 1e-9 * oo * ss ? (ss * ro - os * rs) / det : -1;
  *b = det > 1e-9 * oo * ss ? (oo * rs - os * ro) / det : -1;
  if (*a < 0 || *b < 0) { /* on the boundary: one of them alone, whichever leaves less */
    double a_alone = oo > 0 ? fmax(ro / oo, 0) : 0, b_alone = ss > 0 ? fmax(rs / ss, 0) : 0;
    bool is_own = a_alone * (2 * ro - a_alone * oo) >= b_alone * (2 * rs - b_alone * ss);
    *a = is_own ? a_alone : 0;
    *b = is_own ? 0 : b_alone;
  }
}

/* Squares are those of rows of the metric, whose mean is about 1: the cap grows while its noise stays small
 * beside that. */
static double choose_cap(const tacit_rounds_t *r, double upper, double multiplier) {
  double least = square_cap * (double)r->surrogate->d, quiet = square_noise * r->n / (sqrt(2) * multiplier);
  return fmin(sqrt(fmax(least, quiet)), r->radius[r->n_rounds - 1] * upper);
}

static tacit_status_t learn(tacit_rounds_t *r, const tacit_round_place_t *place, double *memory,
                            tacit_error_t *err) {
  const tacit_surrogate_t *s = r->surrogate;
  size_t n = s->n_rows, d = s->d, m = d * (d + 1) / 2;
  double *own = memory, *square = own + n, *moved = square + n, *released = moved + n, *by_own = released + m,
         *by_square = by_own + m, *by_moved = by_square + m;
  double multiplier = schedule_multiplier(place->settings->rho, place->share), noise_sd,
         upper = place->settings->upper;
  double cap = choose_cap(r, upper, multiplier), radius = r->radius[r->n_rounds - 1];
  const tacit_aware_point_t at = {r->last_theta, r->last_whiten, &radius, &cap};
  tacit_status_t status = tacit_aware_release_score_squares(place->curator, place->settings, multiplier, &at,
                                                            released, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t k = 0; k < n; k++) {
    double eta = 0;
    for (size_t j = 0; j < d; j++) {
      eta += place->theta[j] * s->x[j * n + k];
    }
    tacit_family_moments_t moments = tacit_family_moments(place->settings->family, upper, eta);
    double step = moments.mean - upper / 2 - r->spread[(r->n_rounds - 1) * n + k];
    own[k] = moments.variance;
    square[k] = moments.mean * moments.mean;
    moved[k] = step * step;
  }
  project(r, own, by_own);
  project(r, square, by_square);
  project(r, moved, by_moved);
  for (size_t p = 0; p < m; p++) {
    released[p] -= by_own[p] + by_moved[p];
  }
  solve(m, by_own, by_square, released, &r->excess, &r->excess_square);
  return TACIT_OK;
}

tacit_status_t tacit_rounds_learn_dispersion(tacit_rounds_t *rounds, const tacit_round_place_t *place,
                                             tacit_error_t *err) {
  const tacit_releases_t *kept = place->settings->releases;
  if (place->curator == NULL && kept->n_taken == kept->n) { /* of a build that did not release it */
    return TACIT_OK;
  }
  size_t d = rounds->surrogate->d;
  double *memory = tacit_alloc(3 * rounds->surrogate->n_rows + 2 * d * (d + 1), sizeof *memory);
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_aware_may_start(place->settings, err);
  TACIT_THEN(status, learn(rounds, place, memory, err));
  tacit_free(memory);
  return status;
}
