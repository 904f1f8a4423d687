/*
 * Units count once, whatever their number of rows is (docs/theory.md, 18.15). Where those with more rows have
 * other scores than the others, an answer in which every row counts once would be another. Asked of
 *
 *     T = sum_i c(k_i) u_i,    c(k) = (k - m) / max(m - 1, k_max - m),
 *
 * u_i the unit's score at the last point, shortened, k_i its number of rows by cells and m the released mean
 * of these: were u_i and k_i independent, T would be noise, and chance of variance sum c^2 u u', which is
 * released with it.
 */
#include <math.h>

#include "base/error.h"
#include "noise_aware/engine.h"
#include "noise_aware/schedule.h"

/* Longer scores are shortened to so many sqrt(d); chance is told for a finding this often, at most: of the
 * largest of d normal numbers, each of which is further out than z with probability exp(-z^2 / 2) or less. */
static const double longest = 3, tail = 1e-4;

/* first (n): of cells whose middle is known; weights (n), and their largest size, 1. */
static void weigh(const tacit_unit_rows_t *rows, double *first, double *weights) {
  double mean = 0, before = 0, most = 0;
  for (size_t c = 0; c < rows->n; c++) {
    mean += rows->share[c] * rows->rows[c];
    first[c] = before + 1;
    before = 2 * rows->rows[c] - first[c]; /* the middle of first and last */
  }
  for (size_t c = 0; c < rows->n; c++) {
    most = fmax(most, fabs(rows->rows[c] - mean));
  }
  for (size_t c = 0; c < rows->n; c++) {
    weights[c] = most > 0 ? (rows->rows[c] - mean) / most : 0;
  }
}

/* Of one band: its count, sums and squares, in units of the radius. */
static double largest(size_t d, const double *values, double noise_sd) {
  double most = 0;
  const double *square = values + d + 1;
  for (size_t j = 0; j < d; square += d - j, j++) {
    double sum = values[1 + j] / sqrt(2), variance = 0.5 * noise_sd * noise_sd + fmax(*square, 0);
    most = fmax(most, fabs(sum) / sqrt(variance));
  }
  return most / sqrt(2 * log((double)d / tail));
}

tacit_status_t tacit_aware_learn_contrast(const tacit_aware_provider_t *of, tacit_aware_site_t *site,
                                          tacit_error_t *err) {
  enum { D = TACIT_NOISE_AWARE_MAX_NARROW + 1 };
  const tacit_noise_aware_settings_t *settings = site->settings;
  if (!tacit_aware_has_clusters(settings) || of->scores_at == NULL || site->unit_rows.n < 2) {
    return TACIT_OK;
  }
  tacit_aware_scores_at_t at;
  of->scores_at(site, &at);
  size_t d = at.banded.of.dim, n = site->unit_rows.n;
  double first[TACIT_AWARE_ROW_CELLS], weights[TACIT_AWARE_ROW_CELLS], values[D * (D + 1) / 2],
      noise_sd = 0, radius = longest * sqrt((double)d);
  weigh(&site->unit_rows, first, weights);
  const tacit_contrast_t contrast = {&at.banded.of, radius, n, first, weights};
  tacit_aware_banded_t banded = at.banded;
  banded.of = tacit_contrasts(&contrast);
  banded.parts[banded.n_parts++] = (tacit_release_part_t){"first", n, first};
  banded.parts[banded.n_parts++] = (tacit_release_part_t){"weights", n, weights};
  tacit_status_t status = tacit_aware_may_start(settings, err);
  TACIT_THEN(status, tacit_aware_release_bands(tacit_aware_curator(site), settings,
                                               schedule_multiplier(settings->rho, share_contrast), &banded, 1,
                                               &radius, true, values, &noise_sd, err));
  if (status == TACIT_OK) {
    site->contrast = largest(d, values, noise_sd);
  }
  return status;
}
