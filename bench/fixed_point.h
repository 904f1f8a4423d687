/*
 * A trial: features held as 16-bit integers, x = k / 32767 with |k| <= 32767 (public bounds map to [-1, 1]).
 * Kernels of the logistic gradient for such records, compiled once for each instruction set
 * (fixed_point_isa.c). Not part of the product.
 */
#ifndef TACIT_BENCH_FIXED_POINT_H
#define TACIT_BENCH_FIXED_POINT_H

#include <stddef.h>
#include <stdint.h>

enum {
  FEATURE_MOST = 32767,
  PACK = 32,        /* records of a pack */
  PACKS_A_TURN = 4, /* packs whose features are summed together */
  SHORT_WEIGHT_BITS = 11,
  LONG_WEIGHT_BITS = 15, /* as 8 bits and 7 */
  MAX_FEATURES = 128
};

/*
 * Records in packs. by_pair: (n_packs, p / 2, 2, 16, 2): pair of features, half of the pack, record, feature
 * of the pair, so that one multiply-add of adjacent shorts adds two features of a record. by_feature:
 * (n_packs, 2, p, 16), as the product holds floats. response: 0 or 1. most: greatest |weight| that keeps the
 * record within the bound, in units of 2^-15.
 */
typedef struct fixed_records {
  size_t n_packs, n_features; /* both even; n_packs a multiple of PACKS_A_TURN */
  const int16_t *by_pair, *by_feature;
  const int16_t *response; /* (n_packs, 32) */
  const int16_t *most;     /* (n_packs, 32) */
} fixed_records_t;

/* theta_j = high_j scale_high + low_j scale_low, with no sum of products above 2^31. */
typedef struct fixed_theta {
  int16_t high[MAX_FEATURES], low[MAX_FEATURES];
  float scale_high, scale_low; /* of a sum of products */
  float plain[MAX_FEATURES];   /* theta / 32767, for by_feature */
} fixed_theta_t;

/* totals (n_features) gain the sum over records of weight times feature, both integers; of truncated products
 * where so named. */
typedef struct fixed_functions {
  void (*short_weights)(const fixed_records_t *records, const fixed_theta_t *theta,
                        int64_t *totals); /* in units of 2^-11 2^-15 */
  void (*long_weights)(const fixed_records_t *records, const fixed_theta_t *theta,
                       int64_t *totals); /* 2^-15 2^-15 */
  /* Shorts in memory, floats from there on: as the product's kernel, trunc(scale weight k); lanes of 2^-20.
   */
  void (*widened)(const fixed_records_t *records, const fixed_theta_t *theta, float scale, int64_t *totals);
} fixed_functions_t;

/* ---- fixed_point.c ---- */

void *make(size_t n, size_t size); /* zeros; it stops where there is no memory */
int16_t to_fixed(double x);
double logistic(double eta);

/* ---- fixed_point_posterior.c ---- */

void print_posterior(double spread);

#endif
