/* Short operations; see steps.h. */
#include "program/steps_isa.h"

#include "program/steps.h"

#if TACIT_VECTOR_BYTES == 64
/*
 * One after another on as many vectors as stay in registers of the processor: a result that only the next one
 * looks at never goes to memory, and of its operands one is there already.
 */
enum { MOST_HELD = 16 };
#define BLOCK_AT(operand, u) ((operand).at + (u) / VECTORS * (operand).step + (u) % VECTORS * LANES)
#define A ((fixed & 1) != 0 ? a0[u % VECTORS] : load(BLOCK_AT(a, u)))
#define B ((fixed & 2) != 0 ? b0[u % VECTORS] : load(BLOCK_AT(b, u)))
#define C ((fixed & 4) != 0 ? c0[u % VECTORS] : load(BLOCK_AT(c, u)))
#define FETCH(bit, operand, to)                                                                              \
  vreal to[VECTORS] = {set(0)};                                                                              \
  for (size_t v = 0; (fixed & bit) != 0 && v < VECTORS; v++) {                                               \
    to[v] = load(operand.at + v * LANES);                                                                    \
  }                                                                                                          \
  (void)to;
#define ON_ONE(i, value)                                                                                     \
  if ((i) < n_vectors) {                                                                                     \
    enum { u = i };                                                                                          \
    const vreal H = h##i;                                                                                    \
    (void)H;                                                                                                 \
    h##i = value;                                                                                            \
  }
#define ON_ALL(S)                                                                                            \
  ON_ONE(0, S);                                                                                              \
  ON_ONE(1, S);                                                                                              \
  ON_ONE(2, S);                                                                                              \
  ON_ONE(3, S);                                                                                              \
  ON_ONE(4, S);                                                                                              \
  ON_ONE(5, S);                                                                                              \
  ON_ONE(6, S);                                                                                              \
  ON_ONE(7, S);                                                                                              \
  ON_ONE(8, S);                                                                                              \
  ON_ONE(9, S);                                                                                              \
  ON_ONE(10, S);                                                                                             \
  ON_ONE(11, S);                                                                                             \
  ON_ONE(12, S);                                                                                             \
  ON_ONE(13, S);                                                                                             \
  ON_ONE(14, S);                                                                                             \
  ON_ONE(15, S);

TACIT_INLINE void short_steps(const tacit_instruction_t *in, const places_t *places, size_t first,
                              const size_t n_vectors) {
  vreal h0 = set(0), h1 = h0, h2 = h0, h3 = h0, h4 = h0, h5 = h0, h6 = h0, h7 = h0, h8 = h0, h9 = h0,
        h10 = h0, h11 = h0, h12 = h0, h13 = h0, h14 = h0, h15 = h0;
  for (const tacit_instruction_t *end = in + in->n_steps; in < end; in++) {
    const operand_t a = operand(places, in->a, first), b = operand(places, in->b, first),
                    c = operand(places, in->c, first);
    switch (in->step) {
#define CASE(op, held, which, value)                                                                         \
  case TACIT_STEP_##op##_##held##_##which: {                                                                 \
    enum { fixed = which };                                                                                  \
    FETCH(1, a, a0) FETCH(2, b, b0) FETCH(4, c, c0) ON_ALL(value)                                            \
  } break;
      TACIT_STEPS(CASE)
    default:
      __builtin_unreachable(); /* hold.c */
    }
    if (in->is_stored) {
      const place_t d = place(places, in->d, first);
      ON_ALL((store(BLOCK_AT(d, u), H), H))
    }
  }
}

void TACIT_MACHINE_NAME(steps)(const tacit_instruction_t *in, const places_t *places, size_t n_blocks) {
  const size_t most = MOST_HELD / VECTORS, some = most < 4 ? most : 4; /* blocks */
  size_t first = 0;
  if (most == TACIT_CHUNK_BLOCKS && n_blocks == most) {
    short_steps(in, places, 0, MOST_HELD);
    return;
  }
  for (; most > some && most < TACIT_CHUNK_BLOCKS && first + most <= n_blocks; first += most) {
    short_steps(in, places, first, MOST_HELD);
  }
  for (; first + some <= n_blocks; first += some) {
    short_steps(in, places, first, some * VECTORS);
  }
  for (; first < n_blocks; first++) {
    short_steps(in, places, first, VECTORS);
  }
}

#else
/* Registers that hold too little to be worth a choice of operation each: all blocks of an operation, then
 * those of the next. Several vectors a turn, as what is counted beside an operation takes longer than it
 * does. */
#define A load(a.at + i * a.step + lane)
#define B load(b.at + i * b.step + lane)
#define C load(c.at + i * c.step + lane)
#define EACH(value)                                                                                          \
  _Pragma("GCC unroll 4") for (size_t i = 0; i < n_blocks; i++) {                                            \
    for (size_t lane = 0; lane < 16; lane += LANES) {                                                        \
      store(d.at + i * d.step + lane, value);                                                                \
    }                                                                                                        \
  }
static void plain_step(const tacit_instruction_t *in, const places_t *places, size_t n_blocks) {
  const operand_t a = operand(places, in->a, 0), b = operand(places, in->b, 0), c = operand(places, in->c, 0);
  const place_t d = place(places, in->d, 0);
  switch (in->op) {
#define CASE(op, held, fixed, value)                                                                         \
  case TACIT_##op:                                                                                           \
    EACH(value)                                                                                              \
    break;
    TACIT_PLAIN_STEPS(CASE)
  }
}

void TACIT_MACHINE_NAME(steps)(const tacit_instruction_t *in, const places_t *places, size_t n_blocks) {
  for (const tacit_instruction_t *end = in + in->n_steps; in < end; in++) {
    plain_step(in, places, n_blocks);
  }
}
#endif
