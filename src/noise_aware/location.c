/*
 * Where a response is, from noisy counts: coarse to fine, since a response with few values makes a fine histogram spiky, and a spike would be
 * taken for the response.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/gaussian.h"

enum { N_MEANS = 99, N_SDS = 45, COARSEST = 8 };

/* Ends of the grid; a share of records that is anywhere; misfit of a cell as a share of its count; sd in cells below which cells are halved. */
static const double mean_end = 0.98, sd_least = 0.006, anywhere = 0.05, misfit = 0.3, cells_per_sd = 0.8;

typedef struct grid {
  double log_density[N_MEANS][N_SDS];
  double mean[N_MEANS], sd[N_SDS];
} grid_t;

static double log_density(size_t n_cells, const double *counts, double noise_sd, double n, double mean, double sd) {
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
    double p = g->log_density[k / N_SDS][k % N_SDS], mean = g->mean[k / N_SDS], sd = g->sd[k % N_SDS], log_sd = log(sd);
    m += p * mean;
    m2 += p * mean * mean;
    s2 += p * sd * sd;
    s4 += p * sd * sd * sd * sd;
    l += p * log_sd;
    l2 += p * log_sd * log_sd;
  }
  double variance = fmax(m2 - m * m, 0);
  return (tacit_location_t){m, sqrt(variance), sqrt(s2 + variance), sqrt(fmax(s4 - s2 * s2, 0)), sqrt(fmax(l2 - l * l, 0))};
}

tacit_location_t tacit_locate(size_t n_cells, const double *counts, double noise_sd, double n) {
  grid_t g;
  tacit_location_t location = {0};
  for (size_t n_merged = COARSEST; n_merged <= n_cells; n_merged *= 2) {
    double merged[GAUSSIAN_MAX_CELLS] = {0}, width = 2 / (double)n_merged;
    for (size_t i = 0; i < n_cells; i++) {
      merged[i * n_merged / n_cells] += counts[i];
    }
    fill(&g, n_merged, merged, noise_sd * sqrt((double)(n_cells / n_merged)), n);
    location = summarise(&g);
    if (location.sd > cells_per_sd * width) {
      break;
    }
  }
  return location;
}
