/* Where every column is, by counts of it: bounds are the schema's, and may be many times as wide as the
 * records. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "noise_aware/gaussian.h"
#include "noise_aware/schedule.h"

/* Fewer where noise would hide what finer ones show. */
static size_t n_cells_of(const tacit_gaussian_t *g, double share) {
  double sd = 1 / (tacit_gaussian_mu(g->settings) * sqrt(share)); /* of a count, over sqrt(2) */
  sd *= g->square_weight > 0 && g->settings->relation == TACIT_RELATION_SUBSTITUTE ? sqrt(2) : 1;
  double bits = floor(log2(fmax(g->n / (sqrt(2) * sd) / 0.7, 1)));
  return (size_t)1 << (size_t)fmin(fmax(bits, 3), 8);
}

/* Equal cells of [-1, 1]. j 0: of the response. */
static tacit_status_t count(tacit_gaussian_t *g, size_t j, size_t n_cells, double share, double *counts,
                            double *noise_sd, tacit_error_t *err) {
  double edges[GAUSSIAN_MAX_CELLS], zero[GAUSSIAN_MAX] = {0}, unit = 1, feature = (double)j;
  for (size_t i = 0; i + 1 < n_cells; i++) {
    edges[i] = -1 + 2 * (double)(i + 1) / (double)n_cells;
  }
  const tacit_aware_cells_t response = {g->d, zero, &unit, NULL, n_cells - 1, edges},
                            of_feature = {g->d, NULL, NULL, &feature, n_cells - 1, edges};
  *noise_sd = 0;
  return tacit_aware_release_cells(g->curator, g->settings, schedule_multiplier(g->settings->rho, share),
                                   j > 0 ? &of_feature : &response, counts, noise_sd, err);
}

/* x_j = m + s u_j. */
static void set_column(tacit_gaussian_t *g, size_t j, const tacit_location_t *at) {
  g->factor[j * g->d] = at->mean;
  g->factor[j * g->d + j] = g->column_sd[j] = at->sd;
}

static tacit_status_t learn_feature(tacit_gaussian_t *g, size_t j, double share, tacit_error_t *err) {
  bool is_two_valued = g->settings->is_two_valued != NULL && g->settings->is_two_valued[j];
  size_t n_cells = is_two_valued ? 2 : n_cells_of(g, share);
  double counts[GAUSSIAN_MAX_CELLS], noise_sd;
  tacit_status_t status = count(g, j, n_cells, share, counts, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_location_t at = is_two_valued ? tacit_locate_two_valued(counts[1], noise_sd, g->n)
                                      : tacit_locate_feature(n_cells, counts, noise_sd, g->n);
  set_column(g, j, &at);
  if (is_two_valued) { /* not below what noise of the count alone would be */
    double share_of_rare = fmax(0.5 * (1 - fabs(at.mean)), noise_sd / g->n);
    g->expected_var[j] = fmin(pow(noise_sd / g->n / share_of_rare, 2), 1);
    g->level_sd[j] = 2 * sqrt(share_of_rare * fmax(1 - share_of_rare, 0));
  }
  g->expected[j] = is_two_valued ? fmin(1, (1 - at.mean * at.mean) / (at.sd * at.sd)) : 1;
  g->mean_noise = 2 * noise_sd / g->n;
  return TACIT_OK;
}

tacit_status_t tacit_gaussian_learn_columns(tacit_gaussian_t *g, tacit_error_t *err) {
  double counts[GAUSSIAN_MAX_CELLS], noise_sd, share = g->shares.columns / (double)g->d;
  size_t n_cells = n_cells_of(g, share);
  tacit_status_t status = count(g, 0, n_cells, share, counts, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  g->location = tacit_locate(n_cells, counts, noise_sd, g->n);
  memset(g->factor, 0, sizeof g->factor);
  memset(g->theta, 0, sizeof g->theta);
  g->theta[0] = g->location.mean;
  g->scale = g->location.sd;
  g->factor[0] = g->expected[0] = 1;
  g->mean_noise = 2 * noise_sd / g->n;
  for (size_t j = 1; j < g->d && status == TACIT_OK; j++) {
    status = tacit_aware_may_start(g->settings, err);
    TACIT_THEN(status, learn_feature(g, j, share, err));
  }
  if (status == TACIT_OK) {
    tacit_invert_lower(g->d, g->factor, g->inverse);
  }
  return status;
}
