/* Short operations; see steps.h. */
#include "program/steps_isa.h"

#include "program/steps.h"

/* ---- through memory: n_blocks blocks of an operation, then those of the next ---- */

/* Several vectors a turn, as what is counted beside an operation takes longer than it does. */
#define A load(a.at + i * a.step + lane)
#define B load(b.at + i * b.step + lane)
#define C load(c.at + i * c.step + lane)
#define EACH(value)                                                                                          \
  _Pragma("GCC unroll 4") for (size_t i = 0; i < n_blocks; i++) {                                            \
    for (size_t lane = 0; lane < 16; lane += LANES) {                                                        \
      store(d.at + i * d.step + lane, value);                                                                \
    }                                                                                                        \
  }
static void plain_step(const tacit_instruction_t *in, const places_t *places, size_t first, size_t n_blocks) {
  const operand_t a = operand(places, in->a, first), b = operand(places, in->b, first),
                  c = operand(places, in->c, first);
  const place_t d = place(places, in->d, first);
  switch (in->op) {
#define CASE(op, held, fixed, value)                                                                         \
  case TACIT_##op:                                                                                           \
    EACH(value)                                                                                              \
    break;
    TACIT_PLAIN_STEPS(CASE)
  }
}
#undef A
#undef B
#undef C
#undef CASE

static void plain_steps(const tacit_instruction_t *in, const places_t *places, size_t first,
                        size_t n_blocks) {
  for (const tacit_instruction_t *end = in + in->n_steps; in < end; in++) {
    plain_step(in, places, first, n_blocks);
  }
}

/* ---- in registers of the processor ---- */

#if TACIT_VECTOR_BYTES == 64
/*
 * One after another on as many vectors as stay in registers of the processor: a result that only the next one
 * looks at never goes to memory, and of its operands one is there already.
 */
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

TACIT_INLINE void held_steps(const tacit_instruction_t *in, const places_t *places, size_t first,
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

/* Fewer blocks are not worth a choice of operation each, nor are narrower registers. */
void TACIT_MACHINE_NAME(steps)(const tacit_instruction_t *in, const places_t *places, size_t n_blocks) {
  enum { HALF = TACIT_CHUNK_BLOCKS / 2 };
  size_t first = 0;
  if (VECTORS == 1 && n_blocks == TACIT_CHUNK_BLOCKS) {
    held_steps(in, places, 0, TACIT_CHUNK_BLOCKS);
    return;
  }
  for (; first + HALF <= n_blocks; first += HALF) {
    held_steps(in, places, first, HALF * VECTORS);
  }
  if (first < n_blocks) {
    plain_steps(in, places, first, n_blocks - first);
  }
}
#else
void TACIT_MACHINE_NAME(steps)(const tacit_instruction_t *in, const places_t *places, size_t n_blocks) {
  plain_steps(in, places, 0, n_blocks);
}
#endif
