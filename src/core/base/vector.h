/*
 * One record a lane, in the compilers' portable vector extension: the same source is compiled for each
 * instruction set, with vectors of its registers' width, and a block of 16 records is worked through in as
 * many pieces as that takes. Wider vectors would be kept on the stack, and compared lane by lane. Every
 * operation is a single IEEE operation (no fused multiply-add: -ffp-contract=off) on one lane, so that all
 * instruction sets give the same bits.
 */
#ifndef TACIT_VECTOR_H
#define TACIT_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define TACIT_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define TACIT_VECTOR_BYTES 32
#else
#define TACIT_VECTOR_BYTES 16
#endif

typedef float vfloat __attribute__((vector_size(TACIT_VECTOR_BYTES)));
typedef int32_t vint __attribute__((vector_size(TACIT_VECTOR_BYTES)));
typedef uint32_t vuint
    __attribute__((vector_size(TACIT_VECTOR_BYTES))); /* for the bits of floats: wraps where a NaN goes in */
typedef double vdouble __attribute__((vector_size(TACIT_VECTOR_BYTES)));
typedef int64_t vlong __attribute__((vector_size(TACIT_VECTOR_BYTES)));
typedef uint64_t vulong __attribute__((vector_size(TACIT_VECTOR_BYTES)));
/* As many floats and integers as a vdouble has lanes. */
typedef float vfloat_half __attribute__((vector_size(TACIT_VECTOR_BYTES / 2)));
typedef int32_t vint_half __attribute__((vector_size(TACIT_VECTOR_BYTES / 2)));

enum { FLOAT_LANES = TACIT_VECTOR_BYTES / 4, DOUBLE_LANES = TACIT_VECTOR_BYTES / 8 };

#define TACIT_INLINE static inline __attribute__((always_inline, unused))

TACIT_INLINE vfloat vfloat_load(const float *p) {
  vfloat v;
  memcpy(&v, p, sizeof v);
  return v;
}
TACIT_INLINE void vfloat_store(float *p, vfloat v) { memcpy(p, &v, sizeof v); }
TACIT_INLINE vdouble vdouble_load(const double *p) {
  vdouble v;
  memcpy(&v, p, sizeof v);
  return v;
}
TACIT_INLINE vint_half vint_half_load(const int32_t *p) {
  vint_half v;
  memcpy(&v, p, sizeof v);
  return v;
}
/* Widened; the compilers' own conversion goes by halves of a register. */
TACIT_INLINE vdouble vdouble_from_floats(vfloat_half v) {
#if defined(__AVX512F__)
  return (vdouble)_mm512_cvtps_pd((__m256)v);
#elif defined(__AVX2__)
  return (vdouble)_mm256_cvtps_pd((__m128)v);
#else
  return __builtin_convertvector(v, vdouble);
#endif
}
TACIT_INLINE vdouble vdouble_from_ints(vint_half v) {
#if defined(__AVX512F__)
  return (vdouble)_mm512_cvtepi32_pd((__m256i)v);
#elif defined(__AVX2__)
  return (vdouble)_mm256_cvtepi32_pd((__m128i)v);
#else
  return __builtin_convertvector(v, vdouble);
#endif
}
TACIT_INLINE vlong vlong_from_ints(vint_half v) {
#if defined(__AVX512F__)
  return (vlong)_mm512_cvtepi32_epi64((__m256i)v);
#elif defined(__AVX2__)
  return (vlong)_mm256_cvtepi32_epi64((__m128i)v);
#else
  return __builtin_convertvector(v, vlong);
#endif
}
/* DOUBLE_LANES floats, widened. */
TACIT_INLINE vdouble vdouble_load_floats(const float *p) {
  vfloat_half v;
  memcpy(&v, p, sizeof v);
  return vdouble_from_floats(v);
}
/* Rounded to nearest. */
TACIT_INLINE vfloat_half vfloats_from_doubles(vdouble v) {
#if defined(__AVX512F__)
  return (vfloat_half)_mm512_cvtpd_ps((__m512d)v);
#elif defined(__AVX2__)
  return (vfloat_half)_mm256_cvtpd_ps((__m256d)v);
#else
  return __builtin_convertvector(v, vfloat_half);
#endif
}
TACIT_INLINE void vdouble_store(double *p, vdouble v) { memcpy(p, &v, sizeof v); }
TACIT_INLINE vfloat vfloat_set(float x) { return (vfloat){0} + x; }
TACIT_INLINE vdouble vdouble_set(double x) { return (vdouble){0} + x; }

/* mask ? a : b, lane by lane; mask lanes are all ones or all zeros */
TACIT_INLINE vfloat vfloat_select(vint mask, vfloat a, vfloat b) {
  return (vfloat)((mask & (vint)a) | (~mask & (vint)b));
}
TACIT_INLINE vdouble vdouble_select(vlong mask, vdouble a, vdouble b) {
  return (vdouble)((mask & (vlong)a) | (~mask & (vlong)b));
}
/* A NaN in either gives y: x > y ? x : y, which is one instruction of its own. */
TACIT_INLINE vfloat vfloat_max(vfloat x, vfloat y) {
#if defined(__AVX512F__)
  return (vfloat)_mm512_max_ps((__m512)x, (__m512)y);
#elif defined(__AVX2__)
  return (vfloat)_mm256_max_ps((__m256)x, (__m256)y);
#elif defined(__x86_64__)
  return (vfloat)_mm_max_ps((__m128)x, (__m128)y);
#else
  return vfloat_select(x > y, x, y);
#endif
}
TACIT_INLINE vfloat vfloat_min(vfloat x, vfloat y) {
#if defined(__AVX512F__)
  return (vfloat)_mm512_min_ps((__m512)x, (__m512)y);
#elif defined(__AVX2__)
  return (vfloat)_mm256_min_ps((__m256)x, (__m256)y);
#elif defined(__x86_64__)
  return (vfloat)_mm_min_ps((__m128)x, (__m128)y);
#else
  return vfloat_select(x < y, x, y);
#endif
}
TACIT_INLINE vdouble vdouble_max(vdouble x, vdouble y) {
#if defined(__AVX512F__)
  return (vdouble)_mm512_max_pd((__m512d)x, (__m512d)y);
#elif defined(__AVX2__)
  return (vdouble)_mm256_max_pd((__m256d)x, (__m256d)y);
#elif defined(__x86_64__)
  return (vdouble)_mm_max_pd((__m128d)x, (__m128d)y);
#else
  return vdouble_select(x > y, x, y);
#endif
}
TACIT_INLINE vdouble vdouble_min(vdouble x, vdouble y) {
#if defined(__AVX512F__)
  return (vdouble)_mm512_min_pd((__m512d)x, (__m512d)y);
#elif defined(__AVX2__)
  return (vdouble)_mm256_min_pd((__m256d)x, (__m256d)y);
#elif defined(__x86_64__)
  return (vdouble)_mm_min_pd((__m128d)x, (__m128d)y);
#else
  return vdouble_select(x < y, x, y);
#endif
}
TACIT_INLINE vdouble vdouble_abs(vdouble x) { return (vdouble)((vlong)x & INT64_MAX); }

/* One bit a lane of a mask. */
TACIT_INLINE unsigned vint_bits(vint mask) {
#if defined(__AVX512DQ__)
  return _mm512_movepi32_mask((__m512i)mask);
#elif defined(__AVX2__)
  return (unsigned)_mm256_movemask_ps((__m256)mask);
#elif defined(__x86_64__)
  return (unsigned)_mm_movemask_ps((__m128)mask);
#else
  unsigned bits = 0;
  for (size_t lane = 0; lane < FLOAT_LANES; lane++) {
    bits |= (unsigned)(mask[lane] & 1) << lane;
  }
  return bits;
#endif
}
TACIT_INLINE unsigned vlong_bits(vlong mask) {
#if defined(__AVX512DQ__)
  return _mm512_movepi64_mask((__m512i)mask);
#elif defined(__AVX2__)
  return (unsigned)_mm256_movemask_pd((__m256d)mask);
#elif defined(__x86_64__)
  return (unsigned)_mm_movemask_pd((__m128d)mask);
#else
  unsigned bits = 0;
  for (size_t lane = 0; lane < DOUBLE_LANES; lane++) {
    bits |= (unsigned)(mask[lane] & 1) << lane;
  }
  return bits;
#endif
}

/* A lane each, of comparisons of floats. */
#if defined(__AVX512F__)
typedef __mmask16 vmask;
#else
typedef vint vmask;
#endif

/* A NaN is at most nothing. */
TACIT_INLINE vmask vfloat_at_most(vfloat x, vfloat y) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_LE_OQ);
#else
  return x <= y;
#endif
}
TACIT_INLINE vmask vmask_and(vmask a, vmask b) { return (vmask)(a & b); }
TACIT_INLINE vmask vmask_and_not(vmask a, vmask b) { return (vmask)(a & ~b); }
TACIT_INLINE unsigned vmask_bits(vmask mask) {
#if defined(__AVX512F__)
  return mask;
#else
  return vint_bits(mask);
#endif
}
/* 0 where the mask is not set. */
TACIT_INLINE vfloat vfloat_where(vmask mask, vfloat x) {
#if defined(__AVX512F__)
  return (vfloat)_mm512_maskz_mov_ps(mask, (__m512)x);
#else
  return (vfloat)(mask & (vint)x);
#endif
}
TACIT_INLINE vfloat vfloat_choose(vmask mask, vfloat a, vfloat b) {
#if defined(__AVX512F__)
  return (vfloat)_mm512_mask_mov_ps((__m512)b, mask, (__m512)a);
#else
  return vfloat_select(mask, a, b);
#endif
}

/* Do all lanes have x <= y? A NaN does not. */
TACIT_INLINE bool vfloat_all_at_most(vfloat x, vfloat y) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_LE_OQ) == 0xFFFF;
#else
  return vint_bits(~(x <= y)) == 0;
#endif
}
TACIT_INLINE bool vdouble_all_at_most(vdouble x, vdouble y) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask((__m512d)x, (__m512d)y, _CMP_LE_OQ) == 0xFF;
#else
  return vlong_bits(~(x <= y)) == 0;
#endif
}

/* Each root is rounded correctly. */
TACIT_INLINE vfloat vfloat_sqrt(vfloat x) {
#if defined(__AVX512F__)
  return (vfloat)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
  return (vfloat)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
  return (vfloat)_mm_sqrt_ps((__m128)x);
#else
  for (size_t lane = 0; lane < FLOAT_LANES; lane++) {
    x[lane] = __builtin_sqrtf(x[lane]);
  }
  return x;
#endif
}

TACIT_INLINE vdouble vdouble_sqrt(vdouble x) {
#if defined(__AVX512F__)
  return (vdouble)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__)
  return (vdouble)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
  return (vdouble)_mm_sqrt_pd((__m128d)x);
#else
  for (size_t lane = 0; lane < DOUBLE_LANES; lane++) {
    x[lane] = __builtin_sqrt(x[lane]);
  }
  return x;
#endif
}

/* The nearest whole number of |x| <= 2^51, ties to even. */
TACIT_INLINE vdouble vdouble_whole(vdouble x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

/* The same as an integer: added to 1.5 * 2^52 it is the low bits of the sum. */
TACIT_INLINE vlong vdouble_nearest(vdouble x) { return (vlong)(x + 6755399441055744.0) - 0x4338000000000000; }

/*
 * e^x in float for x clamped to [-87, 88]; NaN stays NaN. Relative error at most 2.5e-7 (measured
 * over all of the range, tests/model). Cody-Waite reduction, degree 6 polynomial.
 */
TACIT_INLINE vfloat vfloat_exp_clamped(vfloat x) {
  vfloat shifted = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds to nearest */
  vfloat n = shifted - 12582912.0f;
  vfloat r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  vfloat p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * r) * r + r + 1.0f;
  return (vfloat)((vuint)p + ((vuint)shifted << 23)); /* of 1.5 * 2^23 no bit is left */
}

TACIT_INLINE vfloat vfloat_exp(vfloat x) {
  return vfloat_exp_clamped(vfloat_max(vfloat_set(-87.0f), vfloat_min(vfloat_set(88.0f), x)));
}

/* The same for x <= 0, or NaN. */
TACIT_INLINE vfloat vfloat_exp_negative(vfloat x) {
  return vfloat_exp_clamped(vfloat_max(vfloat_set(-87.0f), x));
}

/* The same to the bit, of n vectors beside each other, whose chains of operations fill each other's waits. */
TACIT_INLINE void vfloats_exp(size_t n, vfloat *x) {
  static const float coefficients[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                                       5.0000001201e-1f};
  vfloat shifted[8], r[8], p[8];
#define TACIT_EACH_FLOAT _Pragma("GCC unroll 8") for (size_t i = 0; i < n; i++)
  TACIT_EACH_FLOAT {
    x[i] = vfloat_max(vfloat_set(-87.0f), vfloat_min(vfloat_set(88.0f), x[i]));
    shifted[i] = x[i] * 1.44269504f + 12582912.0f;
  }
  TACIT_EACH_FLOAT {
    vfloat whole = shifted[i] - 12582912.0f;
    r[i] = (x[i] - whole * 0.693359375f) - whole * -2.12194440e-4f;
    p[i] = vfloat_set(1.9875691500e-4f);
  }
  _Pragma("GCC unroll 8") for (size_t c = 0; c < sizeof coefficients / sizeof coefficients[0]; c++) {
    TACIT_EACH_FLOAT { p[i] = p[i] * r[i] + coefficients[c]; }
  }
  TACIT_EACH_FLOAT {
    p[i] = (p[i] * r[i]) * r[i] + r[i] + 1.0f;
    x[i] = (vfloat)((vuint)p[i] + ((vuint)shifted[i] << 23));
  }
}

/*
 * In double, four vectors at a time: each is a long chain of dependent operations, and four of them fill the
 * time that one would wait.
 */
enum { GROUP = 4, GROUP_LANES = GROUP * DOUBLE_LANES };
#define TACIT_EACH_OF(n, i) _Pragma("GCC unroll 8") for (size_t i = 0; i < (n); i++)
#define TACIT_EACH(i) TACIT_EACH_OF(GROUP, i)

/*
 * x <- e^x for x clamped to [-708, 709]; NaN stays NaN. Relative error at most 4e-16
 * (measured). Taylor polynomial of degree 13 on |r| <= log(2)/2: remainder below 2^-56.
 */
TACIT_INLINE void vdoubles_exp(vdouble x[GROUP]) {
  static const double coefficients[] = {1.0 / 479001600.0,
                                        1.0 / 39916800.0,
                                        1.0 / 3628800.0,
                                        1.0 / 362880.0,
                                        1.0 / 40320.0,
                                        1.0 / 5040.0,
                                        1.0 / 720.0,
                                        1.0 / 120.0,
                                        1.0 / 24.0,
                                        1.0 / 6.0,
                                        0.5};
  vdouble shifted[GROUP], r[GROUP], p[GROUP];
  TACIT_EACH(i) {
    x[i] = vdouble_max(vdouble_set(-708.0), vdouble_min(vdouble_set(709.0), x[i]));
    shifted[i] = x[i] * 1.4426950408889634 + 6755399441055744.0; /* 1.5 * 2^52 */
  }
  TACIT_EACH(i) {
    vdouble n = shifted[i] - 6755399441055744.0;
    r[i] = (x[i] - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
    p[i] = vdouble_set(1.0 / 6227020800.0);
  }
  _Pragma("GCC unroll 16") for (size_t c = 0; c < sizeof coefficients / sizeof coefficients[0]; c++) {
    TACIT_EACH(i) { p[i] = p[i] * r[i] + coefficients[c]; }
  }
  TACIT_EACH(i) {
    p[i] = (p[i] * r[i]) * r[i] + r[i] + 1.0;
    x[i] = (vdouble)((vulong)p[i] + ((vulong)shifted[i] << 52)); /* of 1.5 * 2^52 no bit is left */
  }
}

/*
 * u <- log(1 + u) for u in [0, 1]: 2 atanh(s), s = u / (2 + u) <= 1/3, series to s^33 (remainder below
 * 3^-35 / 35). Relative error at most 4e-16 (measured).
 */
TACIT_INLINE void vdoubles_log1p_unit(vdouble u[GROUP]) {
  vdouble s[GROUP], t[GROUP], p[GROUP];
  TACIT_EACH(i) {
    s[i] = u[i] / (u[i] + 2.0);
    t[i] = s[i] * s[i];
    p[i] = vdouble_set(1.0 / 33.0);
  }
  _Pragma("GCC unroll 16") for (int k = 31; k >= 3; k -= 2) {
    TACIT_EACH(i) { p[i] = p[i] * t[i] + 1.0 / (double)k; }
  }
  TACIT_EACH(i) { u[i] = 2.0 * s[i] + 2.0 * ((s[i] * t[i]) * p[i]); }
}

/*
 * x <- log(1 + e^-x) for x >= 0; NaN stays NaN. Only as exact as sums on a grid of 2^-32 ask: absolute error
 * below 2^-34 (proved in docs/theory.md, section 3), at half the cost of the two functions above. With y = x
 * / log(2), at most 40, and k whole, e^-x = 2^-k 2^f, |f| <= 1/2; log(1 + u) = s g(s^2), s = u / (2 + u),
 * g(t) = 2 atanh(sqrt t) / sqrt t. Both polynomials interpolate at Chebyshev's nodes: 2^f at 8 of them on
 * [-1/2, 1/2], g at 7 on [0, 1/9].
 */
static const double TACIT_SHORT_POWER[] = {
    0x1.00c0e4e15189cp-16, 0x1.446c79efd4834p-13, 0x1.5d877598350dep-10, 0x1.3b29d8bb0b97ep-7,
    0x1.c6b08da70cce3p-5,  0x1.ebfbe0aa03df0p-3,  0x1.62e42fef9cc69p-1,  0x1.ffffffffa7135p-1};
static const double TACIT_SHORT_SERIES[] = {0x1.bfb4561e8dc48p-3, 0x1.5eab67b0d884cp-3, 0x1.c8cf1b3455de3p-3,
                                            0x1.2489ae158dab2p-2, 0x1.9999c2d1aee49p-2, 0x1.5555553081220p-1,
                                            0x1.0000000002acdp+1};
enum { TACIT_N_SHORT_POWER = 8, TACIT_N_SHORT_SERIES = 7 };
TACIT_INLINE void vdoubles_log1p_exp_negative_of(size_t n, vdouble *x) {
  vdouble shifted[2 * GROUP], f[2 * GROUP], p[2 * GROUP], s[2 * GROUP];
  TACIT_EACH_OF(n, i) {
    vdouble y = vdouble_min(vdouble_set(40), x[i] * 1.4426950408889634);
    shifted[i] = 6755399441055744.0 - y; /* 1.5 * 2^52, less the nearest whole number */
    f[i] = (6755399441055744.0 - shifted[i]) - y;
    p[i] = f[i] * TACIT_SHORT_POWER[0] + TACIT_SHORT_POWER[1];
  }
  _Pragma("GCC unroll 16") for (size_t c = 2; c < TACIT_N_SHORT_POWER; c++) {
    TACIT_EACH_OF(n, i) { p[i] = p[i] * f[i] + TACIT_SHORT_POWER[c]; }
  }
  TACIT_EACH_OF(n, i) {
    vdouble u = (vdouble)((vulong)p[i] + ((vulong)shifted[i] << 52));
    s[i] = u / (u + 2.0);
    f[i] = s[i] * s[i];
    p[i] = f[i] * TACIT_SHORT_SERIES[0] + TACIT_SHORT_SERIES[1];
  }
  _Pragma("GCC unroll 16") for (size_t c = 2; c < TACIT_N_SHORT_SERIES; c++) {
    TACIT_EACH_OF(n, i) { p[i] = p[i] * f[i] + TACIT_SHORT_SERIES[c]; }
  }
  TACIT_EACH_OF(n, i) { x[i] = s[i] * p[i]; }
}

TACIT_INLINE void vdoubles_log1p_exp_negative(vdouble x[GROUP]) { vdoubles_log1p_exp_negative_of(GROUP, x); }

/*
 * x <- log x for normal x > 0; NaN stays NaN. x = 2^k m with m from sqrt(1/2) to sqrt(2), log m = 2 atanh(s),
 * s = (m - 1) / (m + 1), |s| <= 0.172, series to s^21 (remainder below 2^-58). Error at most 4e-16 (1 + |log
 * x|) (measured). Unlike the C library's, the same on every processor.
 */
TACIT_INLINE void vdoubles_log(vdouble x[GROUP]) {
  const uint64_t root_half = 0x3FE6A09E667F3BCD; /* the bits of sqrt(1/2) */
  vdouble k[GROUP], s[GROUP], t[GROUP], p[GROUP];
  TACIT_EACH(i) {
    vulong exponent = ((vulong)x[i] - root_half + 0x3FF0000000000000u) >> 52; /* k + 1023 */
    vdouble m = (vdouble)((vulong)x[i] - ((exponent - 1023) << 52));
    k[i] = (vdouble)(exponent + 0x4338000000000000u) - (6755399441055744.0 + 1023.0) + (x[i] - x[i]);
    s[i] = (m - 1.0) / (m + 1.0);
    t[i] = s[i] * s[i];
    p[i] = vdouble_set(1.0 / 21.0);
  }
  _Pragma("GCC unroll 16") for (int c = 19; c >= 3; c -= 2) {
    TACIT_EACH(i) { p[i] = p[i] * t[i] + 1.0 / (double)c; }
  }
  TACIT_EACH(i) { x[i] = k[i] * 0x1.62e42fefa39efp-1 + (2.0 * s[i] + 2.0 * ((s[i] * t[i]) * p[i])); }
}

#endif
