/* Kernels of fixed_point.h for one instruction set; TACIT_ISA names the table. All give the same integers. */
#include "base/vector.h"
#include "fixed_point.h"

typedef int16_t vshort __attribute__((vector_size(TACIT_VECTOR_BYTES)));
typedef int16_t vshort_half __attribute__((vector_size(TACIT_VECTOR_BYTES / 2)));

enum { LANES = FLOAT_LANES, SUM_LANES = 16, AHEAD_PACKS = 8 };

TACIT_INLINE vint vint_load(const void *p) {
  vint v;
  memcpy(&v, p, sizeof v);
  return v;
}
TACIT_INLINE void vint_store(void *p, vint v) { memcpy(p, &v, sizeof v); }
TACIT_INLINE vint vint_select(vint mask, vint a, vint b) { return (mask & a) | (~mask & b); }
TACIT_INLINE vint vint_min(vint x, vint y) { return vint_select(x < y, x, y); }
TACIT_INLINE vint vint_max(vint x, vint y) { return vint_select(x > y, x, y); }

/* sum + a_0 b_0 + a_1 b_1 for the two shorts of each lane */
TACIT_INLINE vint add_products(vint sum, vint a, vint b) {
#if defined(__AVX512VNNI__)
  return (vint)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__AVX512BW__)
  return sum + (vint)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return sum + (vint)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
  return sum + (vint)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

/* One integer a lane of two shorts, the same in all lanes. */
TACIT_INLINE vint pair_of(const int16_t *values) {
  int32_t both;
  memcpy(&both, values, sizeof both);
  return (vint){0} + both;
}

/* x . theta for LANES records of half a pack. */
TACIT_INLINE vfloat predictor(const int16_t *pack, size_t n_pairs, const fixed_theta_t *theta) {
  vint high[2] = {{0}}, low[2] = {{0}};
  for (size_t j = 0; j < n_pairs; j++) {
    vint x = vint_load(pack + j * 2 * PACK);
    high[j % 2] = add_products(high[j % 2], x, pair_of(theta->high + 2 * j));
    low[j % 2] = add_products(low[j % 2], x, pair_of(theta->low + 2 * j));
  }
  return __builtin_convertvector(high[0] + high[1], vfloat) * theta->scale_high +
         __builtin_convertvector(low[0] + low[1], vfloat) * theta->scale_low;
}

TACIT_INLINE vfloat residual(vfloat eta, const int16_t *response) {
  vshort_half y;
  memcpy(&y, response, sizeof y);
  return __builtin_convertvector(y, vfloat) - 1.0f / (vfloat_exp(-eta) + 1.0f);
}

/* The nearest whole number to the residual in units of 2^-bits, within what the record's norm allows:
 * truncated, it would be biased. */
TACIT_INLINE vint weight_of(vfloat r, const int16_t *most, int bits) {
  vshort_half bound;
  memcpy(&bound, most, sizeof bound);
  vint limit = __builtin_convertvector(bound, vint) >> (LONG_WEIGHT_BITS - bits);
  vint w = __builtin_convertvector((r * (float)((1 << bits) - 1) + 12582912.0f) - 12582912.0f, vint);
  return vint_max(vint_min(w, limit), -limit);
}

/* Weights of one pack and LANES of its 16 pairs of records (r, r + 16): two shorts a lane. */
TACIT_INLINE vint weights_of(const fixed_records_t *records, size_t pack, size_t lane,
                             const fixed_theta_t *theta, int bits) {
  const int16_t *x = records->by_pair + pack * PACK * records->n_features + 2 * lane;
  size_t at = pack * PACK + lane;
  vint first = weight_of(residual(predictor(x, records->n_features / 2, theta), records->response + at),
                         records->most + at, bits);
  at += PACK / 2;
  vfloat eta = predictor(x + PACK, records->n_features / 2, theta);
  vint second = weight_of(residual(eta, records->response + at), records->most + at, bits);
  return (first & 0xffff) | (second << 16);
}

/* w = 2^7 a + b, 0 <= b < 2^7, in both shorts */
TACIT_INLINE void split(vint weights, vint *high, vint *low) {
  *low = weights & 0x007f007f;
  *high = (vint)((vshort)(weights - *low) >> 7);
}

/* sums (n_parts, p, 16) += weights times features of PACKS_A_TURN packs */
TACIT_INLINE void add_features(const fixed_records_t *records, size_t pack, size_t lane,
                               vint weights[2][PACKS_A_TURN], size_t n_parts, int32_t *sums) {
  size_t p = records->n_features;
  const int16_t *x = records->by_pair + pack * PACK * p + 2 * lane;
  for (size_t j = 0; j < p / 2; j++) {
    vint sum[2][2];
    for (size_t s = 0; s < n_parts; s++) {
      for (size_t f = 0; f < 2; f++) {
        sum[s][f] = vint_load(sums + (s * p + 2 * j + f) * SUM_LANES + lane);
      }
    }
    _Pragma("GCC unroll 4") for (size_t g = 0; g < PACKS_A_TURN; g++) {
      const int16_t *at = x + g * PACK * p + j * 2 * PACK;
      __builtin_prefetch((const void *)((uintptr_t)at + sizeof(int16_t) * AHEAD_PACKS * PACK * p), 0, 2);
      __builtin_prefetch((const void *)((uintptr_t)(at + PACK) + sizeof(int16_t) * AHEAD_PACKS * PACK * p), 0,
                         2);
      vint a = vint_load(at), b = vint_load(at + PACK);
      vint even = (a & 0xffff) | (b << 16), odd = (vint)((vuint)a >> 16) | (b & ~0xffff);
      for (size_t s = 0; s < n_parts; s++) {
        sum[s][0] = add_products(sum[s][0], even, weights[s][g]);
        sum[s][1] = add_products(sum[s][1], odd, weights[s][g]);
      }
    }
    for (size_t s = 0; s < n_parts; s++) {
      for (size_t f = 0; f < 2; f++) {
        vint_store(sums + (s * p + 2 * j + f) * SUM_LANES + lane, sum[s][f]);
      }
    }
  }
}

static void flush(int32_t *sums, size_t n, int64_t unit, int64_t *totals) {
  for (size_t j = 0; j < n; j++) {
    int64_t total = 0;
    for (size_t lane = 0; lane < SUM_LANES; lane++) {
      total += sums[j * SUM_LANES + lane];
    }
    totals[j] += total * unit;
  }
  memset(sums, 0, n * SUM_LANES * sizeof *sums);
}

/*
 * A lane gains at most 2 2^15 2^bits a pack, bits being those of the greatest part of a weight: after 2^(31 -
 * 16 - bits) packs its sum must go to 64 bits.
 */
TACIT_INLINE void sum_weighted(const fixed_records_t *records, const fixed_theta_t *theta, int bits,
                               size_t n_parts, int64_t *totals) {
  size_t p = records->n_features, n_between = (size_t)1 << (15 - (n_parts == 2 ? 8 : bits));
  int32_t sums[2 * MAX_FEATURES * SUM_LANES] = {0};
  for (size_t pack = 0; pack < records->n_packs; pack += PACKS_A_TURN) {
    for (size_t lane = 0; lane < SUM_LANES; lane += LANES) {
      vint weights[2][PACKS_A_TURN];
      for (size_t g = 0; g < PACKS_A_TURN; g++) {
        weights[0][g] = weights_of(records, pack + g, lane, theta, bits);
        if (n_parts == 2) {
          split(weights[0][g], &weights[0][g], &weights[1][g]);
        }
      }
      add_features(records, pack, lane, weights, n_parts, sums);
    }
    if ((pack + PACKS_A_TURN) % n_between == 0 || pack + PACKS_A_TURN >= records->n_packs) {
      flush(sums, p, n_parts == 2 ? 128 : 1, totals);
      if (n_parts == 2) {
        flush(sums + p * SUM_LANES, p, 1, totals);
      }
    }
  }
}

static void short_weights(const fixed_records_t *records, const fixed_theta_t *theta, int64_t *totals) {
  sum_weighted(records, theta, SHORT_WEIGHT_BITS, 1, totals);
}

static void long_weights(const fixed_records_t *records, const fixed_theta_t *theta, int64_t *totals) {
  sum_weighted(records, theta, LONG_WEIGHT_BITS, 2, totals);
}

TACIT_INLINE vfloat widen(const int16_t *x) {
  vshort_half v;
  memcpy(&v, x, sizeof v);
  return __builtin_convertvector(__builtin_convertvector(v, vint), vfloat);
}

/* The product's kernel (lattice_isa.c, glm_kernel_isa.c) with another load, and clipped as those above. */
TACIT_INLINE void widened_piece(const int16_t *x, size_t p, const fixed_theta_t *theta, float scale,
                                const int16_t *response, const int16_t *most, int32_t *sums) {
  vfloat sum[4] = {{0}};
  size_t j = 0;
  for (; j + 4 <= p; j += 4) {
    for (size_t u = 0; u < 4; u++) {
      sum[u] += widen(x + (j + u) * 16) * theta->plain[j + u];
    }
  }
  for (; j < p; j++) {
    sum[0] += widen(x + j * 16) * theta->plain[j];
  }
  vfloat r = residual((sum[0] + sum[1]) + (sum[2] + sum[3]), response), limit = widen(most) * (1 / 32768.0f);
  vfloat weight = vfloat_max(vfloat_min(r, limit), -limit) * scale;
  for (j = 0; j < p; j++) {
    __builtin_prefetch((const void *)((uintptr_t)(x + j * 16) + sizeof(int16_t) * 4 * PACK / 2 * p), 0, 2);
    vint product = __builtin_convertvector(weight * widen(x + j * 16), vint);
    vint_store(sums + j * SUM_LANES, vint_load(sums + j * SUM_LANES) + product);
  }
}

static void widened(const fixed_records_t *records, const fixed_theta_t *theta, float scale,
                    int64_t *totals) {
  size_t p = records->n_features, n_blocks = 2 * records->n_packs;
  int32_t sums[MAX_FEATURES * SUM_LANES] = {0};
  for (size_t block = 0; block < n_blocks; block++) {
    for (size_t lane = 0; lane < SUM_LANES; lane += LANES) {
      widened_piece(records->by_feature + block * 16 * p + lane, p, theta, scale,
                    records->response + block * 16 + lane, records->most + block * 16 + lane, sums + lane);
    }
    if (block % 1024 == 1023 || block + 1 == n_blocks) {
      flush(sums, p, 1, totals);
    }
  }
}

#define TABLE_NAME_(isa) bench_fixed_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const fixed_functions_t TABLE_NAME(TACIT_ISA);
const fixed_functions_t TABLE_NAME(TACIT_ISA) = {short_weights, long_weights, widened};
