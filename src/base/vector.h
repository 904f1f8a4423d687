/*
 * Sixteen lanes at a time, one record a lane, in the compilers' portable vector extension: the
 * same source is compiled for each instruction set. Every operation is a single IEEE operation
 * (no fused multiply-add: -ffp-contract=off), so that all of them give the same bits.
 */
#ifndef TACIT_VECTOR_H
#define TACIT_VECTOR_H

#include <stdint.h>
#include <string.h>

typedef float v16f __attribute__((vector_size(64)));
typedef int32_t v16i __attribute__((vector_size(64)));
typedef double v16d __attribute__((vector_size(128)));
typedef int64_t v16l __attribute__((vector_size(128)));
typedef uint32_t v16u __attribute__((vector_size(64)));  /* for the bits of floats: wraps where a NaN goes in */
typedef uint64_t v16ul __attribute__((vector_size(128)));

#define TACIT_INLINE static inline __attribute__((always_inline, unused))

TACIT_INLINE v16f v16f_load(const float *p) {
  v16f v;
  memcpy(&v, p, sizeof v);
  return v;
}
TACIT_INLINE void v16f_store(float *p, v16f v) { memcpy(p, &v, sizeof v); }
TACIT_INLINE v16d v16d_load(const double *p) {
  v16d v;
  memcpy(&v, p, sizeof v);
  return v;
}
TACIT_INLINE void v16d_store(double *p, v16d v) { memcpy(p, &v, sizeof v); }
TACIT_INLINE v16f v16f_set(float x) { return (v16f){0} + x; }
TACIT_INLINE v16d v16d_set(double x) { return (v16d){0} + x; }

/* mask ? a : b, lane by lane; mask lanes are all ones or all zeros */
TACIT_INLINE v16f v16f_select(v16i mask, v16f a, v16f b) {
  return (v16f)((mask & (v16i)a) | (~mask & (v16i)b));
}
TACIT_INLINE v16d v16d_select(v16l mask, v16d a, v16d b) {
  return (v16d)((mask & (v16l)a) | (~mask & (v16l)b));
}
/* A NaN in x gives y. */
TACIT_INLINE v16f v16f_max(v16f x, v16f y) { return v16f_select(x > y, x, y); }
TACIT_INLINE v16f v16f_min(v16f x, v16f y) { return v16f_select(x < y, x, y); }
TACIT_INLINE v16d v16d_max(v16d x, v16d y) { return v16d_select(x > y, x, y); }
TACIT_INLINE v16d v16d_min(v16d x, v16d y) { return v16d_select(x < y, x, y); }
/* Sum of all lanes, by halves. */
TACIT_INLINE int32_t v16i_sum(v16i x) {
  typedef int32_t v8i __attribute__((vector_size(32)));
  typedef int32_t v4i __attribute__((vector_size(16)));
  v8i half[2];
  v4i quarter[2];
  memcpy(half, &x, sizeof x);
  half[0] += half[1];
  memcpy(quarter, half, sizeof quarter);
  quarter[0] += quarter[1];
  return (quarter[0][0] + quarter[0][1]) + (quarter[0][2] + quarter[0][3]);
}
TACIT_INLINE v16d v16d_abs(v16d x) { return (v16d)((v16l)x & INT64_MAX); }

/*
 * e^x in float for x clamped to [-87, 88]; NaN stays NaN. Relative error at most 2.5e-7 (measured
 * over all of the range, tests/model). Cody-Waite reduction, degree 6 polynomial.
 */
TACIT_INLINE v16f v16f_exp(v16f x) {
  x = v16f_select(x > 88.0f, v16f_set(88.0f), x);
  x = v16f_select(x < -87.0f, v16f_set(-87.0f), x);
  v16f shifted = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds to nearest */
  v16f n = shifted - 12582912.0f;
  v16f r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  v16f p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * r) * r + r + 1.0f;
  v16u e = ((v16u)shifted - 0x4B400000u) << 23;
  return (v16f)((v16u)p + e);
}

/*
 * e^x in double for x clamped to [-708, 709]; NaN stays NaN. Relative error at most 4e-16
 * (measured). Taylor polynomial of degree 13 on |r| <= log(2)/2: remainder below 2^-56.
 */
TACIT_INLINE v16d v16d_exp(v16d x) {
  x = v16d_select(x > 709.0, v16d_set(709.0), x);
  x = v16d_select(x < -708.0, v16d_set(-708.0), x);
  v16d shifted = x * 1.4426950408889634 + 6755399441055744.0; /* 1.5 * 2^52 */
  v16d n = shifted - 6755399441055744.0;
  v16d r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
  v16d p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = (p * r) * r + r + 1.0;
  v16ul e = ((v16ul)shifted - 0x4338000000000000u) << 52;
  return (v16d)((v16ul)p + e);
}

/*
 * log(1 + u) for u in [0, 1]: 2 atanh(s), s = u / (2 + u) <= 1/3, series to s^33 (remainder below
 * 3^-35 / 35). Relative error at most 4e-16 (measured).
 */
TACIT_INLINE v16d v16d_log1p_unit(v16d u) {
  v16d s = u / (u + 2.0);
  v16d t = s * s;
  v16d p = v16d_set(1.0 / 33.0);
  for (int k = 31; k >= 3; k -= 2) {
    p = p * t + 1.0 / (double)k;
  }
  return 2.0 * s + 2.0 * ((s * t) * p);
}

#endif
