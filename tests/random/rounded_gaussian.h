/* Chi-square of integers against the exact cell probabilities of round(N(0, sd^2)). */
#ifndef TACIT_TESTS_RANDOM_ROUNDED_GAUSSIAN_H
#define TACIT_TESTS_RANDOM_ROUNDED_GAUSSIAN_H

#include "statistics.h"

enum { MAX_CELLS = 128 };

/* Cell j holds edge[j] <= k < edge[j + 1]; the first and the last are unbounded. */
typedef struct cells {
  int n;
  int64_t edge[MAX_CELLS];
  double probability[MAX_CELLS];
} cells_t;

/* P(round(N(0, sd^2)) >= k). */
static inline double at_least(int64_t k, double sd) { return 0.5 * erfc(((double)k - 0.5) / (sd * sqrt(2))); }

/* P(a <= round(N(0, sd^2)) < b), from the tail in which it loses no digits. */
static inline double between(int64_t a, int64_t b, double sd) {
  return a + b > 0 ? at_least(a, sd) - at_least(b, sd) : at_least(1 - b, sd) - at_least(1 - a, sd);
}

/* About 100 cells of equal width out to 4.2 sd, fewer for small sd; each expects 20 of n_draws at least. */
static inline cells_t cells_make(double sd, double n_draws) {
  const int64_t far = INT64_MAX / 4;
  cells_t cells = {.n = 0, .edge = {-far}};
  for (int j = -50; j <= 50; j++) {
    int64_t edge = llround(sd * 4.2 * j / 50);
    int64_t start = cells.edge[cells.n];
    if (edge > start && n_draws * between(start, edge, sd) >= 20 && n_draws * between(edge, far, sd) >= 20) {
      cells.probability[cells.n++] = between(start, edge, sd);
      cells.edge[cells.n] = edge;
    }
  }
  cells.probability[cells.n] = between(cells.edge[cells.n], far, sd);
  cells.n++;
  cells.edge[cells.n] = far;
  return cells;
}

static inline double cells_p(const cells_t *cells, const int64_t *draws, size_t n_draws) {
  double counts[MAX_CELLS] = {0}, statistic = 0;
  for (size_t i = 0; i < n_draws; i++) {
    int low = 0, high = cells->n;
    while (high - low > 1) {
      int middle = (low + high) / 2;
      if (draws[i] >= cells->edge[middle]) {
        low = middle;
      } else {
        high = middle;
      }
    }
    counts[low]++;
  }
  for (int j = 0; j < cells->n; j++) {
    double expected = (double)n_draws * cells->probability[j];
    statistic += (counts[j] - expected) * (counts[j] - expected) / expected;
  }
  return chi_square_p(statistic, cells->n - 1);
}

#endif
