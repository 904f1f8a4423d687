/*
 * Exact normal deviates, rounded after scaling [Karney2016, Algorithm N].
 *
 * A uniform deviate is an unending sequence of random digits of which only those are drawn that a decision
 * needs, so every comparison is decided as it would be for real numbers. The digits have `width` bits, a
 * constant in each use: 64 in the library; the tests take 4, where ties and extensions, which 64-bit digits
 * almost never show, are frequent.
 *
 * Departs from [Karney2016, Algorithm N, N1-N2] in how the integer part k is drawn, not in its distribution
 * P(k) ~ exp(-k^2/2): by inversion, against its distribution function to 512 bits, which takes one digit
 * where the two rejection steps take about nine. A decision that 512 bits leave open (probability below
 * 2^-450 a draw) fails the source for good rather than being settled arbitrarily.
 *
 * The time of a draw depends on the value drawn; what a caller can time does not (noise_internal.h).
 */
#ifndef TACIT_EXACT_NORMAL_H
#define TACIT_EXACT_NORMAL_H

#include <math.h>

#include "random/noise_internal.h"
#include "random/tables.h"

__extension__ typedef unsigned __int128 tacit_u128_t;
__extension__ typedef __int128 tacit_i128_t;

#define EXACT_INLINE static inline __attribute__((always_inline, unused))
#define EXACT_RARE static __attribute__((noinline, unused))

enum { EXACT_BITS = 64 * TACIT_CDF_WORDS, EXACT_MIN_WIDTH = 4 };

/* A uniform deviate on (0, 1), n digits of it drawn so far, most significant first. */
typedef struct exact_uniform {
  unsigned n;
  uint64_t digit[EXACT_BITS / EXACT_MIN_WIDTH];
} exact_uniform_t;

/* A standard deviation as mantissa * 2^(64 - shift), with 2^52 <= mantissa < 2^53 and shift >= 64. */
typedef struct exact_scale {
  uint64_t mantissa;
  unsigned shift;
} exact_scale_t;

/* Take sd in [2^-20, 2^52] apart, without error. */
static inline exact_scale_t exact_scale(double sd) {
  int exponent;
  double fraction = frexp(sd, &exponent);
  return (exact_scale_t){.mantissa = (uint64_t)ldexp(fraction, 53), .shift = (unsigned)(64 + 53 - exponent)};
}

EXACT_INLINE uint64_t exact_draw_digit(tacit_noise_t *noise, unsigned width) {
  return tacit_noise_word(noise) >> (64 - width);
}

EXACT_INLINE void exact_draw_uniform(tacit_noise_t *noise, exact_uniform_t *x, unsigned width) {
  x->digit[0] = exact_draw_digit(noise, width);
  x->n = 1;
}

/* Digit i of x, drawn if it was not yet; i < EXACT_BITS / width and at most one beyond those drawn. */
EXACT_INLINE uint64_t exact_digit(tacit_noise_t *noise, exact_uniform_t *x, unsigned i, unsigned width) {
  if (i == x->n) {
    x->digit[x->n++] = exact_draw_digit(noise, width);
  }
  return x->digit[i];
}

/* Digit i of 2^-512 floor(2^512 F(k)). */
EXACT_INLINE uint64_t exact_cdf_digit(unsigned k, unsigned i, unsigned width) {
  unsigned bit = i * width;
  return tacit_integer_part_cdf[bit / 64][k] << bit % 64 >> (64 - width);
}

/* a < b, where the first digits agree. */
EXACT_RARE bool exact_less_tied(tacit_noise_t *noise, exact_uniform_t *a, exact_uniform_t *b,
                                unsigned width) {
  for (unsigned i = 1; i < EXACT_BITS / width; i++) {
    uint64_t digit_a = exact_digit(noise, a, i, width), digit_b = exact_digit(noise, b, i, width);
    if (digit_a != digit_b) {
      return digit_a < digit_b;
    }
  }
  noise->has_failed = true;
  return false;
}

EXACT_INLINE bool exact_less(tacit_noise_t *noise, exact_uniform_t *a, exact_uniform_t *b, unsigned width) {
  if (__builtin_expect(a->digit[0] == b->digit[0], 0)) {
    return exact_less_tied(noise, a, b, width);
  }
  return a->digit[0] < b->digit[0];
}

/* The least j >= k with u < F(j), where the first digit of u is that of F(k). */
EXACT_RARE unsigned exact_integer_part_tied(tacit_noise_t *noise, exact_uniform_t *u, unsigned k,
                                            unsigned width) {
  for (; k < TACIT_N_INTEGER_PARTS; k++) {
    unsigned i = 0;
    while (i < EXACT_BITS / width && exact_digit(noise, u, i, width) == exact_cdf_digit(k, i, width)) {
      i++;
    }
    if (i == EXACT_BITS / width) {
      break;
    }
    if (u->digit[i] < exact_cdf_digit(k, i, width)) {
      return k;
    }
  }
  noise->has_failed = true;
  return 0;
}

/* N1, N2: draw k >= 0 with probability proportional to exp(-k^2/2). */
EXACT_INLINE unsigned exact_integer_part(tacit_noise_t *noise, unsigned width) {
  exact_uniform_t u;
  exact_draw_uniform(noise, &u, width);
  unsigned k = 0;
  while (u.digit[0] > exact_cdf_digit(k, 0, width)) {
    k++; /* ends: all digits of the last entry are the largest there is */
  }
  if (__builtin_expect(u.digit[0] == exact_cdf_digit(k, 0, width), 0)) {
    return exact_integer_part_tied(noise, &u, k, width);
  }
  return k;
}

/* An integer uniform on 0 .. m - 1 for a small m, by rejection of the words that would make it uneven. */
EXACT_INLINE uint64_t exact_choice(tacit_noise_t *noise, uint64_t m) {
  tacit_u128_t product = (tacit_u128_t)tacit_noise_word(noise) * m;
  if (__builtin_expect((uint64_t)product < m, 0)) {
    uint64_t uneven = -m % m;
    while ((uint64_t)product < uneven) {
      product = (tacit_u128_t)tacit_noise_word(noise) * m;
    }
  }
  return (uint64_t)(product >> 64);
}

/* True with probability (2k + x)/(2k + 2) = (m - 2 + x)/m. */
EXACT_INLINE bool exact_step(tacit_noise_t *noise, unsigned k, exact_uniform_t *x, unsigned width) {
  uint64_t choice = exact_choice(noise, 2 * (uint64_t)k + 2);
  if (choice != 1) {
    return choice != 0;
  }
  exact_uniform_t r;
  exact_draw_uniform(noise, &r, width);
  return exact_less(noise, &r, x, width);
}

/*
 * Algorithm B: true with probability exp(-x (2k + x)/(2k + 2)). The first n of x > z_1 > z_2 > ... hold, each
 * with a step, with probability (x p)^n/n!, and the alternating sum of these is exp(-x p).
 */
EXACT_INLINE bool exact_accept(tacit_noise_t *noise, unsigned k, exact_uniform_t *x, unsigned width) {
  exact_uniform_t z[2], *y = x;
  unsigned n = 0;
  for (;; n++) {
    exact_uniform_t *next = &z[n & 1];
    exact_draw_uniform(noise, next, width);
    if (!exact_less(noise, next, y, width) || !exact_step(noise, k, x, width)) {
      return (n & 1) == 0;
    }
    y = next;
  }
}

/* N3, N4: draw a uniform x and keep it with probability exp(-x (2k + x)/2), in k + 1 runs of Algorithm B. */
EXACT_INLINE bool exact_fraction(tacit_noise_t *noise, unsigned k, exact_uniform_t *x, unsigned width) {
  exact_draw_uniform(noise, x, width);
  for (unsigned run = 0; run <= k; run++) {
    if (!exact_accept(noise, k, x, width)) {
      return false;
    }
  }
  return true;
}

/*
 * Say on which side of a boundary the product lies, given that the 64 bits drawn leave it open: the boundary
 * is `gap` above the product, 0 < gap < mantissa, in units of which the digits still to come span `mantissa`.
 * So what remains is to compare those digits, as a number in (0, 1), with gap/mantissa, by long division.
 */
EXACT_RARE bool exact_reaches(tacit_noise_t *noise, uint64_t mantissa, uint64_t gap, exact_uniform_t *x,
                              unsigned width) {
  tacit_i128_t rest = gap;
  for (unsigned i = 64 / width; i < EXACT_BITS / width; i++) {
    rest = (rest << width) - (tacit_i128_t)mantissa * exact_digit(noise, x, i, width);
    if (rest <= 0) {
      return true;
    }
    if (rest >= mantissa) {
      return false;
    }
  }
  noise->has_failed = true;
  return false;
}

/* The integer nearest to sd (k + x). */
EXACT_INLINE uint64_t exact_round(tacit_noise_t *noise, exact_scale_t scale, unsigned k, exact_uniform_t *x,
                                  unsigned width) {
  /* mantissa (k + x) < 2^(53 + 5): below 1/2 from here on, and the shifts below would leave 128 bits. */
  if (scale.shift > 126) {
    return 0;
  }
  uint64_t lead = 0;
  for (unsigned i = 0; i < 64 / width; i++) {
    /* Not lead << width: a shift by 64 is undefined. */
    lead |= exact_digit(noise, x, i, width) << (64 - width * (i + 1));
  }
  /* The product lies in [low, low + mantissa) 2^-shift, less than 2^-11 wide: across one boundary at most. */
  tacit_u128_t low = ((tacit_u128_t)(k * scale.mantissa) << 64) + (tacit_u128_t)lead * scale.mantissa;
  tacit_u128_t half = (tacit_u128_t)1 << (scale.shift - 1);
  uint64_t down = (uint64_t)((low + half) >> scale.shift);
  uint64_t up = (uint64_t)((low + half + scale.mantissa - 1) >> scale.shift);
  if (__builtin_expect(down == up, 1)) {
    return down;
  }
  uint64_t gap = (uint64_t)(((tacit_u128_t)up << scale.shift) - half - low);
  return exact_reaches(noise, scale.mantissa, gap, x, width) ? up : down;
}

/* Algorithm N, scaled and rounded; halves, which have probability zero, away from zero. */
EXACT_INLINE int64_t exact_rounded_normal(tacit_noise_t *noise, exact_scale_t scale, unsigned width) {
  exact_uniform_t x;
  unsigned k;
  do {
    k = exact_integer_part(noise, width);
  } while (!exact_fraction(noise, k, &x, width));
  int64_t magnitude = (int64_t)exact_round(noise, scale, k, &x, width);
  return tacit_noise_coin(noise) ? -magnitude : magnitude;
}

#endif
