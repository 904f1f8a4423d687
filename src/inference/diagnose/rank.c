#include <math.h>
#include <string.h>

#include "diagnose/diagnose_internal.h"

/* Order-preserving map of doubles to integers; adding 0 turns -0 into 0. */
static uint64_t sort_key(double x) {
  double value = x + 0.0;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits >> 63 ? ~bits : bits | (UINT64_C(1) << 63);
}

/*
 * Radix sort by bytes, least first; a byte that all keys share costs no pass. Linear in n, where a
 * comparison sort of 10^5 draws would dominate a summary.
 */
void tacit_rank_sort(const double *x, size_t n, tacit_ranked_t *sorted, tacit_ranked_t *scratch) {
  size_t counts[8][256] = {{0}};
  for (size_t i = 0; i < n; i++) {
    uint64_t key = sort_key(x[i]);
    sorted[i] = (tacit_ranked_t){key, i};
    for (int b = 0; b < 8; b++) {
      counts[b][(key >> (8 * b)) & 255]++;
    }
  }
  tacit_ranked_t *from = sorted, *to = scratch;
  for (int b = 0; b < 8; b++) {
    size_t *count = counts[b];
    if (n == 0 || count[(from[0].key >> (8 * b)) & 255] == n) {
      continue;
    }
    size_t start = 0;
    for (int v = 0; v < 256; v++) {
      size_t here = count[v];
      count[v] = start;
      start += here;
    }
    for (size_t i = 0; i < n; i++) {
      to[count[(from[i].key >> (8 * b)) & 255]++] = from[i];
    }
    tacit_ranked_t *swap = from;
    from = to;
    to = swap;
  }
  if (from != sorted) {
    memcpy(sorted, from, n * sizeof *sorted);
  }
}

void tacit_rank_fold(const double *x, size_t n, double centre, const tacit_ranked_t *sorted,
                     tacit_ranked_t *folded) {
  size_t above = 0, out = 0;
  while (above < n && x[sorted[above].index] < centre) {
    above++;
  }
  for (size_t below = above; out < n;) { /* next below: below - 1, downwards */
    uint64_t down = below > 0 ? sort_key(fabs(x[sorted[below - 1].index] - centre)) : UINT64_MAX;
    uint64_t up = above < n ? sort_key(fabs(x[sorted[above].index] - centre)) : UINT64_MAX;
    bool is_up = below == 0 || (above < n && up < down);
    folded[out++] =
        (tacit_ranked_t){is_up ? up : down, is_up ? sorted[above].index : sorted[below - 1].index};
    above += is_up;
    below -= !is_up;
  }
}

void tacit_rank_normal_scores(size_t n, const tacit_ranked_t *sorted, double *z) {
  for (size_t first = 0, next; first < n; first = next) {
    for (next = first + 1; next < n && sorted[next].key == sorted[first].key;) {
      next++;
    }
    /* Ranks first+1 .. next, on average (first + 1 + next) / 2. */
    double rank = 0.5 * (double)(first + 1 + next);
    double score = tacit_normal_quantile((rank - 0.375) / ((double)n + 0.25));
    for (size_t i = first; i < next; i++) {
      z[sorted[i].index] = score;
    }
  }
}

double tacit_quantile_sorted(const tacit_ranked_t *sorted, const double *x, size_t n, double p) {
  double position = p * (double)(n - 1);
  size_t low = (size_t)position;
  if (low + 1 >= n) {
    return x[sorted[n - 1].index];
  }
  double a = x[sorted[low].index], b = x[sorted[low + 1].index];
  return a + (position - (double)low) * (b - a);
}
