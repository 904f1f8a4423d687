/*
 * How records come from memory before they are worked on, by the kind of processor. Blocks follow each other
 * in memory; kernels work on TACIT_BESIDE of them beside each other, and first read a few for their products,
 * then again for their sums.
 *
 * A loop may ask for blocks that come later, a line of 64 bytes for each that it works on: a core waits when
 * it has asked for too many at once. On Intel processors that is best done while sums are made, which waits
 * for nothing. Zen processors drop some of what is asked for, and wait with few lines under way; what their
 * second cache fetches by itself is faster, but only where lines are read in order and without long pauses.
 * So there short blocks of one point are read in order, few at a time, and nothing is asked for; of others
 * everything is asked for twice, when products are made and when sums are.
 */
#ifndef TACIT_AHEAD_H
#define TACIT_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  TACIT_BESIDE = 4,
  TACIT_SHORT_BLOCK = 2 << 10,
  TACIT_NEAR_BYTES = 24 << 10,
  TACIT_NEAR_IN_ORDER = 9 << 10
};

static inline bool tacit_is_zen(void) {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd");
#else
  return false;
#endif
}

/*
 * Blocks of n_bytes are read in order, and not asked for; measured on Zen 4. Vectors of less than 64 bytes
 * make pauses shorter beside the work.
 */
static inline bool tacit_reads_in_order(size_t n_bytes, size_t n_points, size_t vector_bytes) {
  size_t most = vector_bytes == 64 ? (n_points == 1 ? TACIT_SHORT_BLOCK : 0)
                                   : (n_points == 1 ? 2 * TACIT_SHORT_BLOCK : TACIT_SHORT_BLOCK);
  return n_bytes <= most && tacit_is_zen();
}

/* Blocks whose products are made before their sums, 4 to 16: they still are in the first cache then. */
static inline size_t tacit_near_blocks(size_t n_bytes, size_t n_points) {
  size_t n = (tacit_reads_in_order(n_bytes, n_points, 64) ? TACIT_NEAR_IN_ORDER : TACIT_NEAR_BYTES) / n_bytes;
  return n > 16 ? 16 : n < TACIT_BESIDE ? TACIT_BESIDE : n / TACIT_BESIDE * TACIT_BESIDE;
}

typedef struct tacit_ahead {
  size_t n; /* blocks to ask for: 0, 1, 2 or 4 */
  uintptr_t from;
} tacit_ahead_t;

/*
 * While TACIT_BESIDE blocks are worked on in turn `part` of n_parts, at point k of n_points; each asks for
 * its share. Sixteen blocks ahead; eight where several points are not done so soon. An address past the last
 * block does no harm.
 */
static inline tacit_ahead_t tacit_ahead(const float *block, size_t n_bytes, size_t n_points, size_t k,
                                        size_t n_parts, size_t part, size_t vector_bytes) {
  size_t n_turns = n_points * n_parts,
         n = n_turns == 1             ? TACIT_BESIDE
             : n_turns < TACIT_BESIDE ? 2
                                      : 1,
         first = (k * n_parts + part) * n, distance = n_points == 1 && !tacit_is_zen() ? 16 : 8;
  bool asks = first < TACIT_BESIDE && !tacit_reads_in_order(n_bytes, n_points, vector_bytes);
  return (tacit_ahead_t){asks ? n : 0, (uintptr_t)block + (distance + first) * n_bytes};
}

/* Line j of n blocks, n_bytes from each other. */
static inline __attribute__((always_inline, unused)) void tacit_ask(size_t n, uintptr_t from, size_t n_bytes,
                                                                    size_t j) {
#pragma GCC unroll 4
  for (size_t i = 0; i < n; i++) {
    __builtin_prefetch((const void *)(from + i * n_bytes + j * 64), 0, 2);
  }
}

#endif
