/*
 * Where a column is, from noisy counts: coarse to fine, since a column with few values makes a fine histogram
 * spiky, and a spike would be taken for the column.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/gaussian.h"

enum { N_MEANS = 99, N_SDS = 45, COARSEST = 8 };

/* Ends of the grid; a share of records that is anywhere; misfit of a cell as a share of its count; sd in
 * cells below which cells are halved. */
static const double mean_end = 0.98, sd_least = 0.006, anywhere = 0.05, misfit = 0.3, cells_per_sd = 0.8;

typedef struct grid {
  double log_density[N_MEANS][N_SDS];
  double mean[N_MEANS], sd[N_SDS];
} grid_t;

static double log_density(size_t n_cells, const double *counts, double noise_sd, double n, double mean,
                          double sd) {
  double below = 0, sum = 0, even = anywhere / (double)n_cells;
  for (size_t i = 0; i < n_cells; i++) {
    double edge = -1 + 2 * (double)(i + 1) / (double)n_cells;
    double up_to = i + 1 < n_cells ? 0.5 * erfc((mean - edge) / sd * 0.70710678118654752) : 1;
    double expected = n * ((1 - anywhere) * (up_to - below) + even), off = counts[i] - expected;
    double variance = noise_sd * noise_sd + expected + misfit * misfit * expected * expected;
    sum -= 0.5 * (off * off / variance + log(variance));
    below = up_to;
  }
  double prior_sd = log(sd / 0.25), prior_mean = mean / 0.5;
  return sum - 0.5 * (prior_sd * prior_sd + prior_mean * prior_mean);
}

static void fill(grid_t *g, size_t n_cells, const double *counts, double noise_sd, double n) {
  double highest = -INFINITY, total = 0;
  for (size_t i = 0; i < N_MEANS; i++) {
    g->mean[i] = mean_end * (2 * (double)i / (N_MEANS - 1) - 1);
    for (size_t j = 0; j < N_SDS; j++) {
      g->sd[j] = sd_least * pow(1 / sd_least, (double)j / (N_SDS - 1));
      g->log_density[i][j] = log_density(n_cells, counts, noise_sd, n, g->mean[i], g->sd[j]);
      highest = fmax(highest, g->log_density[i][j]);
    }
  }
  for (size_t k = 0; k < N_MEANS * N_SDS; k++) {
    double *value = &g->log_density[k / N_SDS][k % N_SDS];
    total += *value = exp(*value - highest);
  }
  for (size_t k = 0; k < N_MEANS * N_SDS; k++) {
    g->log_density[k / N_SDS][k % N_SDS] /= total;
  }
}

static tacit_location_t summarise(const grid_t *g) {
  double m = 0, m2 = 0, s2 = 0, s4 = 0, l = 0, l2 = 0;
  for (size_t k = 0; k < N_MEANS * N_SDS; k++) {
    double p = g->log_density[k / N_SDS][k % N_SDS], mean = g->mean[k / N_SDS], sd = g->sd[k % N_SDS],
           log_sd = log(sd);
    m += p * mean;
    m2 += p * mean * mean;
    s2 += p * sd * sd;
    s4 += p * sd * sd * sd * sd;
    l += p * log_sd;
    l2 += p * log_sd * log_sd;
  }
  double variance = fmax(m2 - m * m, 0);
  return (tacit_location_t){
      m, sqrt(variance), sqrt(s2 + variance), sqrt(fmax(s4 - s2 * s2, 0)), sqrt(fmax(l2 - l * l, 0)), 0};
}

tacit_location_t tacit_locate(size_t n_cells, const double *counts, double noise_sd, double n) {
  grid_t g;
  tacit_location_t location = {0};
  size_t n_looked_at = 0;
  for (size_t n_merged = COARSEST; n_merged <= n_cells; n_merged *= 2) {
    double merged[GAUSSIAN_MAX_CELLS] = {0}, width = 2 / (double)n_merged;
    for (size_t i = 0; i < n_cells; i++) {
      merged[i * n_merged / n_cells] += counts[i];
    }
    fill(&g, n_merged, merged, noise_sd * sqrt((double)(n_cells / n_merged)), n);
    location = summarise(&g);
    n_looked_at = n_merged;
    if (location.sd > cells_per_sd * width) {
      break;
    }
  }
  location.n_cells = n_looked_at;
  return location;
}

/* ---- a feature ---- */

/* Counts put together into n cells. */
static void merge(size_t n_cells, const double *counts, size_t n, double *merged) {
  memset(merged, 0, n * sizeof *merged);
  for (size_t i = 0; i < n_cells; i++) {
    merged[i * n / n_cells] += counts[i];
  }
}

static double middle_of(size_t i, size_t n) { return (2 * (double)i + 1) / (double)n - 1; }

/* Records beyond what a normal column would have there; of the two sets of cells the smaller one carries less
 * noise. *sd <- its noise. */
static double far_away(const tacit_location_t *at, const double *merged, double noise_sd, double n,
                       double *sd) {
  double outside = 0, inside = 0, n_outside = 0, n_inside = 0, reach = 2.5 * at->sd + 1 / (double)at->n_cells;
  for (size_t i = 0; i < at->n_cells; i++) {
    bool is_far = fabs(middle_of(i, at->n_cells) - at->mean) > reach;
    *(is_far ? &outside : &inside) += merged[i];
    *(is_far ? &n_outside : &n_inside) += 1;
  }
  *sd = noise_sd * sqrt(fmin(n_outside, n_inside));
  return n_outside <= n_inside ? outside : n - inside;
}

/* Mean and sd of the coarsest cells that stand out of the noise: of columns of few values. */
static void take_coarse(tacit_location_t *at, const double *merged, double noise_sd) {
  double sum = 1e-9, first = sum * middle_of(0, COARSEST), square = 0;
  for (size_t i = 0; i < COARSEST; i++) {
    double p = merged[i] > 1.2 * noise_sd ? merged[i] : 0;
    sum += p;
    first += p * middle_of(i, COARSEST);
  }
  for (size_t i = 0; i < COARSEST; i++) {
    double off = middle_of(i, COARSEST) - first / sum;
    square += (merged[i] > 1.2 * noise_sd ? merged[i] : 0) * off * off;
  }
  at->mean = first / sum;
  at->sd = fmax(at->sd, sqrt(square / sum));
}

/* Most records at a bound, and some at the other side that noise may hide: codes of few values, of which the
 * histogram shows one. */
static void look_across(tacit_location_t *at, const double *merged, double noise_sd, double n) {
  double across = 0, n_across = 0, side = at->mean > 0 ? 1 : -1;
  for (size_t i = 0; i < COARSEST; i++) {
    bool is_across = side * middle_of(i, COARSEST) < -1.0 / COARSEST;
    across += is_across ? merged[i] : 0;
    n_across += is_across;
  }
  if (fabs(at->mean) + 2 * at->sd > 0.85 && fmax(across, 0) + 2 * noise_sd * sqrt(n_across) > 0.04 * n) {
    double q = fmin(fmax(across / n, 0.05), 0.3);
    at->mean -= 1.5 * q * at->mean;
    at->sd = fmax(at->sd, 1.7 * sqrt(q * (1 - q)));
  }
}

tacit_location_t tacit_locate_feature(size_t n_cells, const double *counts, double noise_sd, double n) {
  double merged[GAUSSIAN_MAX_CELLS], away_sd;
  tacit_location_t at = tacit_locate(n_cells, counts, noise_sd, n);
  merge(n_cells, counts, at.n_cells, merged);
  double away = far_away(&at, merged, noise_sd * sqrt((double)(n_cells / at.n_cells)), n, &away_sd);
  double coarse_sd = noise_sd * sqrt((double)(n_cells / COARSEST));
  merge(n_cells, counts, COARSEST, merged);
  bool has_few = away > 0.06 * n + 2 * away_sd;
  if (has_few) {
    take_coarse(&at, merged, coarse_sd);
  }
  if (!has_few || fabs(at.mean) > 0.5) {
    look_across(&at, merged, coarse_sd, n);
  }
  return at;
}

tacit_location_t tacit_locate_two_valued(double count, double noise_sd, double n) {
  const double guess = 0.5, guess_var = 0.04, least = 0.45;
  double noise = noise_sd / n,
         q = (count / n + guess * noise * noise / guess_var) / (1 + noise * noise / guess_var);
  q = fmin(fmax(q, 0.01), 0.99);
  return (tacit_location_t){
      .mean = 2 * q - 1, .mean_error = 2 * noise, .sd = fmax(2 * sqrt(q * (1 - q)), least)};
}
