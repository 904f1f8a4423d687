#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { MAX_NAME = 64, MAX_EDITS = 2 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Levenshtein distance by rows, a swap of neighbours counting as one edit (Damerau). */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b) {
  size_t rows[3][MAX_NAME + 1];
  for (size_t j = 0; j <= n_b; j++) {
    rows[0][j] = j;
  }
  for (size_t i = 1; i <= n_a; i++) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= n_b; j++) {
      row[j] = least(least(row[j - 1], above[j]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = least(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return rows[n_a % 3][n_b];
}

void tacit_nearest_offer(tacit_nearest_t *nearest, const char *candidate) {
  size_t n = strlen(nearest->name), m = strlen(candidate);
  if (n == 0 || n > MAX_NAME || m > MAX_NAME) {
    return;
  }
  size_t distance = edit_distance(nearest->name, n, candidate, m);
  bool is_near = distance <= MAX_EDITS && distance < n && distance < m;
  if (is_near && (nearest->best == NULL || distance < nearest->distance)) {
    nearest->best = candidate;
    nearest->distance = distance;
  }
}

const char *tacit_nearest_hint(const tacit_nearest_t *nearest, char out[TACIT_HINT_SIZE]) {
  out[0] = '\0';
  if (nearest->best != NULL) {
    snprintf(out, TACIT_HINT_SIZE, " (did you mean '%s'?)", nearest->best);
  }
  return out;
}
