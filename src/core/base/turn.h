/* Rows of 16 lanes turned into 16 rows, on the instruction set of whoever includes this. */
#ifndef TACIT_BASE_TURN_H
#define TACIT_BASE_TURN_H

#include "base/vector.h"

/* Four floats of each of n_rows rows, 16 apart, become four rows, `width` apart; rows past the fourth are for
 * the next tile. */
TACIT_INLINE void turn_tile(const float *from, size_t n_rows, float *to, size_t width) {
#if defined(__x86_64__)
  const __m128 zero = _mm_setzero_ps();
  __m128 a = _mm_loadu_ps(from), b = n_rows > 1 ? _mm_loadu_ps(from + 16) : zero;
  __m128 c = n_rows > 2 ? _mm_loadu_ps(from + 32) : zero, d = n_rows > 3 ? _mm_loadu_ps(from + 48) : zero;
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + width, b);
  _mm_storeu_ps(to + 2 * width, c);
  _mm_storeu_ps(to + 3 * width, d);
#else
  for (size_t lane = 0; lane < 4; lane++) {
    for (size_t row = 0; row < 4; row++) {
      to[lane * width + row] = row < n_rows ? from[row * 16 + lane] : 0;
    }
  }
#endif
}

#if defined(__AVX2__)
/* The same for eight floats of each of eight rows. */
TACIT_INLINE void turn_large_tile(const float *from, float *to, size_t width) {
  __m256 r[8], s[8];
  for (size_t i = 0; i < 8; i++) {
    r[i] = _mm256_loadu_ps(from + i * 16);
  }
  for (size_t i = 0; i < 8; i += 4) {
    __m256 a = _mm256_unpacklo_ps(r[i], r[i + 1]), b = _mm256_unpackhi_ps(r[i], r[i + 1]);
    __m256 c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
    s[i] = _mm256_shuffle_ps(a, c, 0x44);
    s[i + 1] = _mm256_shuffle_ps(a, c, 0xEE);
    s[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
    s[i + 3] = _mm256_shuffle_ps(b, d, 0xEE);
  }
  for (size_t i = 0; i < 4; i++) {
    _mm256_storeu_ps(to + i * width, _mm256_permute2f128_ps(s[i], s[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * width, _mm256_permute2f128_ps(s[i], s[i + 4], 0x31));
  }
}
#endif

/* rows (n_rows, 16) become out (16, width); n_rows rounded up to fours are written. */
TACIT_INLINE void vfloats_turn(size_t n_rows, const float *rows, size_t width, float *out) {
  size_t row = 0;
#if defined(__AVX2__)
  for (; row + 8 <= n_rows; row += 8) {
    turn_large_tile(rows + row * 16, out + row, width);
    turn_large_tile(rows + row * 16 + 8, out + 8 * width + row, width);
  }
#endif
  for (; row < n_rows; row += 4) {
    for (size_t lane = 0; lane < 16; lane += 4) {
      turn_tile(rows + row * 16 + lane, n_rows - row, out + lane * width + row, width);
    }
  }
}

#endif
