/* Records at the edges of what floats can hold, and the cells that tests of rows count in. */
#ifndef TACIT_CURATOR_ROW_TESTING_H
#define TACIT_CURATOR_ROW_TESTING_H

#include <float.h>

#include "support.h"

static inline tacit_records_t *records_of(size_t n, size_t n_columns, const double *x) {
  tacit_error_t err;
  tacit_records_t *records;
  assert_ok(tacit_records_new(&records, n, n_columns, &err), err);
  for (size_t i = 0; i < n; i++) {
    tacit_records_set(records, i, x + i * n_columns);
  }
  return records;
}

static inline double adversarial(support_rng_t *rng) {
  static const double special[] = {0,         FLT_TRUE_MIN, FLT_MAX, -FLT_MAX, NAN, INFINITY,
                                   -INFINITY, 1e-20,        1e9,     -4e9,     1,   -1};
  switch (support_bits(rng) % 3) {
  case 0:
    return special[support_bits(rng) % (sizeof special / sizeof special[0])];
  case 1:
    return support_normal(rng);
  default:
    return ldexp(support_uniform(rng, -1, 1), (int)(support_bits(rng) % 80) - 40);
  }
}

/* A record: a vertex of the cube, a point of it, or anything a float can hold. */
static inline void any_record(support_rng_t *rng, size_t d, double upper, double *record) {
  size_t kind = support_bits(rng) % 4;
  for (size_t j = 0; j <= d; j++) {
    record[j] = kind < 2    ? (support_bits(rng) & 1 ? 1 : -1)
                : kind == 2 ? support_uniform(rng, -1, 1)
                            : adversarial(rng);
  }
  record[0] = kind < 3 ? 1 : record[0];
  record[d] = kind < 3 ? (support_bits(rng) & 1 ? upper : 0) : record[d];
}

enum { n_cells = 6 };
static const double edges[n_cells - 1] = {-1, 0, 0.5, 2, 1e6};

#endif
