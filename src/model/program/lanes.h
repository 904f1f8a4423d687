/*
 * Functions of a vector of floats or of doubles (TACIT_LANES_DOUBLE), on top of base/vector.h: every step is
 * one IEEE operation on a lane, none is the C library's, so that all instruction sets give the same bits. A
 * NaN gives NaN. Errors as measured in tests/program/test_special.c; where each comes from, at its function.
 */
#ifndef TACIT_PROGRAM_LANES_H
#define TACIT_PROGRAM_LANES_H

#include <float.h>
#include <math.h>

#include "base/vector.h"

#if TACIT_LANES_DOUBLE
typedef double real;
typedef vdouble vreal;
typedef vlong vwhole;
typedef vulong vbits;
#define LANES DOUBLE_LANES
#define EXPONENT_SHIFT 52
#define EXPONENT_BIAS 1023
#define ROUNDER                                                                                              \
  6755399441055744.0 /* 1.5 * 2^52: added to a small number leaves the nearest whole one in the low bits */
#define WHOLE_LIMIT 0x1p51
#define SMALLEST_NORMAL DBL_MIN
#define PICK(in_double, in_float) (in_double)
#else
typedef float real;
typedef vfloat vreal;
typedef vint vwhole;
typedef vuint vbits;
#define LANES FLOAT_LANES
#define EXPONENT_SHIFT 23
#define EXPONENT_BIAS 127
#define ROUNDER 12582912.0f
#define WHOLE_LIMIT 0x1p22f
#define SMALLEST_NORMAL FLT_MIN
#define PICK(in_double, in_float) ((real)(in_float))
#endif

TACIT_INLINE vreal set(double x) { return (vreal){0} + (real)x; } /* of -0: 0, so see minus_zero() */
TACIT_INLINE vreal minus_zero(void) { return -(vreal){0}; }
TACIT_INLINE vreal load(const real *p) {
  vreal v;
  memcpy(&v, p, sizeof v);
  return v;
}
TACIT_INLINE void store(real *p, vreal v) { memcpy(p, &v, sizeof v); }
TACIT_INLINE vreal choose(vwhole mask, vreal a, vreal b) {
  return (vreal)((mask & (vwhole)a) | (~mask & (vwhole)b));
}
/* y where x is not 0, NaN included; else z */
TACIT_INLINE vreal choose_where(vreal x, vreal y, vreal z) {
#if defined(__AVX512F__) && TACIT_LANES_DOUBLE
  __mmask8 mask = _mm512_cmp_pd_mask((__m512d)x, _mm512_setzero_pd(), _CMP_NEQ_UQ);
  return (vreal)_mm512_mask_mov_pd((__m512d)z, mask, (__m512d)y);
#elif defined(__AVX512F__)
  __mmask16 mask = _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_NEQ_UQ);
  return (vreal)_mm512_mask_mov_ps((__m512)z, mask, (__m512)y);
#else
  return choose(x != (real)0, y, z);
#endif
}
#if TACIT_LANES_DOUBLE
TACIT_INLINE vreal lesser(vreal x, vreal y) {
  return vdouble_min(x, y);
} /* a NaN in either gives y, as below */
TACIT_INLINE vreal greater(vreal x, vreal y) { return vdouble_max(x, y); }
TACIT_INLINE vreal root(vreal x) { return vdouble_sqrt(x); }
#else
TACIT_INLINE vreal lesser(vreal x, vreal y) { return vfloat_min(x, y); }
TACIT_INLINE vreal greater(vreal x, vreal y) { return vfloat_max(x, y); }
TACIT_INLINE vreal root(vreal x) { return vfloat_sqrt(x); }
#endif
TACIT_INLINE vreal size_of(vreal x) { return (vreal)((vbits)x & ~(vbits)minus_zero()); }
TACIT_INLINE vreal with_sign_of(vreal size, vreal sign) {
  vbits bit = (vbits)minus_zero();
  return (vreal)(((vbits)size & ~bit) | ((vbits)sign & bit));
}
TACIT_INLINE vreal keep_nan(vreal x, vreal y) { return choose(x == x, y, x); }
/* 1 or 0 */
TACIT_INLINE vreal truth(vwhole mask) { return (vreal)((vbits)mask & (vbits)set(1)); }
/* n terms, the highest power first; a constant n is unrolled. */
TACIT_INLINE vreal polynomial(vreal x, const double *terms, size_t n) {
  vreal p = set(terms[0]);
  _Pragma("GCC unroll 32") for (size_t i = 1; i < n; i++) { p = p * x + (real)terms[i]; }
  return p;
}
/* The sum of terms[j] T_j(x) for |x| <= 1, by Clenshaw's recurrence. */
TACIT_INLINE vreal chebyshev(vreal x, const double *terms, size_t n) {
  vreal two_x = x + x, b1 = set(0), b2 = set(0);
  _Pragma("GCC unroll 32") for (size_t j = n - 1; j > 0; j--) {
    vreal b = two_x * b1 - b2 + (real)terms[j];
    b2 = b1;
    b1 = b;
  }
  return x * b1 - b2 + (real)terms[0];
}

/*
 * x = n log 2 + r, |r| <= log(2) / 2, x clamped to where 2^n is normal. *scale is 2^n and the result e^r - 1,
 * so that e^x is scale + scale (e^r - 1), and e^x - 1 is exact near 0 too. Remainder of the series below
 * 2^-56 (2^-27).
 */
TACIT_INLINE vreal exp_parts(vreal x, vreal *scale) {
  static const double terms[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
                                 1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
                                 1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        0.5};
  const size_t skip = TACIT_LANES_DOUBLE ? 0 : 6;
  x = greater(set(PICK(-708.0, -87.0f)), lesser(set(PICK(709.0, 88.0f)), x));
  vreal shifted = x * (real)1.4426950408889634 + (real)ROUNDER;
  vreal n = shifted - (real)ROUNDER;
  vreal r =
      (x - n * PICK(0x1.62e42fee00000p-1, 0.693359375f)) - n * PICK(0x1.a39ef35793c76p-33, -2.12194440e-4f);
  vreal p = polynomial(r, terms + skip, sizeof terms / sizeof terms[0] - skip);
  *scale = (vreal)(((vbits)shifted << EXPONENT_SHIFT) + (vbits)set(1)); /* of the rounder no bit is left */
  return (p * r) * r + r;
}
/* 0 below e^-708 (e^-87), and no more than e^709 (e^88). */
TACIT_INLINE vreal lanes_exp(vreal x) {
  vreal scale, p = exp_parts(x, &scale);
  return (vreal)(((vbits)(p + (real)1) + ((vbits)scale - (vbits)set(1))) &
                 ~(vbits)(x < PICK(-708.0, -87.0f)));
}
TACIT_INLINE vreal lanes_expm1(vreal x) {
  vreal scale, p = exp_parts(x, &scale);
  return scale * p + (scale - (real)1);
}

/* 2 atanh(s), |s| <= 0.172: remainder of the series below 2^-58 (2^-33). */
TACIT_INLINE vreal twice_atanh(vreal s) {
  static const double terms[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
  const size_t skip = TACIT_LANES_DOUBLE ? 0 : 6;
  vreal t = s * s;
  return (real)2 * s +
         (real)2 * ((s * t) * polynomial(t, terms + skip, sizeof terms / sizeof terms[0] - skip));
}
/* Of a normal x > 0: x = 2^k m, m from sqrt(1/2) to sqrt(2). */
TACIT_INLINE vreal log_normal(vreal x) {
  const vbits root_half = (vbits)set(0.70710678118654752), one = (vbits)set(1);
  vbits exponent = ((vbits)x - root_half + one) >> EXPONENT_SHIFT; /* k + bias */
  vreal m = (vreal)((vbits)x - ((exponent - EXPONENT_BIAS) << EXPONENT_SHIFT));
  vreal k = (vreal)(exponent + (vbits)set((double)ROUNDER)) - ((real)ROUNDER + (real)EXPONENT_BIAS);
  vreal tail = twice_atanh((m - (real)1) / (m + (real)1));
  return k * PICK(0x1.62e42fee00000p-1, 0.693359375f) +
         (k * PICK(0x1.a39ef35793c76p-33, -2.12194440e-4f) + tail);
}
/* -inf at 0 and for denormals, inf at inf, NaN below 0. */
TACIT_INLINE vreal lanes_log(vreal x) {
  vreal y = choose(x >= SMALLEST_NORMAL, log_normal(x), choose(x >= (real)0, set(-INFINITY), set(NAN)));
  return choose(x == (real)INFINITY, x, y);
}
/* log(1 + x) with what 1 + x loses by rounding put back. */
TACIT_INLINE vreal lanes_log1p(vreal x) {
  vreal u = x + (real)1, lost = x - (u - (real)1);
  vreal y = lanes_log(u) + choose((u > (real)0) & (u < (real)INFINITY), lost / u, set(0));
  return choose(size_of(x) < PICK(0x1p-54, 0x1p-26f), x, y);
}
/* 0 <= u <= 1 */
TACIT_INLINE vreal log1p_unit(vreal u) {
  vwhole is_small = u <= (real)0.4;
  /* log(1 + u) = log 2 + log((1 + u) / 2) beyond: |s| <= 0.172 in both */
  vreal s = choose(is_small, u, u - (real)1) / (u + choose(is_small, set(2), set(3)));
  return choose(is_small, set(0), set(0.69314718055994531)) + twice_atanh(s);
}
TACIT_INLINE vreal lanes_log1p_exp(vreal x) {
  return greater(set(0), x) + log1p_unit(lanes_exp(-size_of(x)));
}
/* Also where one or both are infinite. */
TACIT_INLINE vreal lanes_log_add_exp(vreal x, vreal y) {
  vreal sum = greater(x, y) + log1p_unit(lanes_exp(-size_of(x - y)));
  return keep_nan(x, keep_nan(y, choose(x == y, x + (real)0.69314718055994531, sum)));
}
#if TACIT_LANES_DOUBLE
/* Both only as exactly as sums on a grid of 2^-32 ask, as vdoubles_log1p_exp_negative() of base/vector.h is:
 * absolute error below 2^-34. */
TACIT_INLINE vreal short_log1p_exp_negative(vreal x) {
  vreal y = lesser(set(40), x * (real)1.4426950408889634), shifted = (real)ROUNDER - y;
  vreal f = ((real)ROUNDER - shifted) - y;
  vreal power = polynomial(f, TACIT_SHORT_POWER, TACIT_N_SHORT_POWER);
  vreal u = (vreal)((vbits)power + ((vbits)shifted << EXPONENT_SHIFT)), s = u / (u + (real)2);
  return s * polynomial(s * s, TACIT_SHORT_SERIES, TACIT_N_SHORT_SERIES);
}
TACIT_INLINE vreal lanes_short_log1p_exp(vreal x) {
  return greater(set(0), x) + short_log1p_exp_negative(size_of(x));
}
TACIT_INLINE vreal lanes_short_log_add_exp(vreal x, vreal y) {
  vreal sum = greater(x, y) + short_log1p_exp_negative(size_of(x - y));
  return keep_nan(x, keep_nan(y, choose(x == y, x + (real)0.69314718055994531, sum)));
}
#endif
/* log(1 - e^x), x < 0: -inf at 0, NaN above. */
TACIT_INLINE vreal lanes_log1m_exp(vreal x) {
  vreal near = lanes_log(-lanes_expm1(x)), far = lanes_log1p(-lanes_exp(x));
  return choose(x > (real)-0.69314718055994531, near, far);
}
TACIT_INLINE vreal lanes_inv_logit(vreal x) { return (real)1 / (lanes_exp(-x) + (real)1); }
TACIT_INLINE vreal lanes_tanh(vreal x) {
  vreal e = lanes_expm1((real)-2 * size_of(x));
  return keep_nan(x, with_sign_of(-e / (e + (real)2), x));
}

TACIT_INLINE vreal lanes_nearest(vreal x) {
  vreal y = (x + (real)ROUNDER) - (real)ROUNDER;
  return choose(size_of(x) < (real)WHOLE_LIMIT, y, x);
}
TACIT_INLINE vreal lanes_floor(vreal x) {
  vreal y = lanes_nearest(x);
  return y - truth(y > x);
}
TACIT_INLINE vreal lanes_pow(vreal x, vreal y) {
  vreal p = lanes_exp(y * lanes_log(size_of(x)));
  vreal half = y * (real)0.5;
  p = choose((x < (real)0) & (lanes_floor(half) != half), -p, p);
  p = choose((x < (real)0) & (lanes_floor(y) != y), set(NAN), p);
  p = choose(x == (real)0, choose(y > (real)0, set(0), set(INFINITY)), p);
  return choose((y == (real)0) | (x == (real)1), set(1), keep_nan(x, keep_nan(y, p)));
}

#include "program/lanes_special.h"

#endif
