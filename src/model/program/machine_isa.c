/*
 * The machine of machine.h for one instruction set and one kind of number; compiled once for each
 * (meson.build), TACIT_ISA naming the function and TACIT_LANES_DOUBLE the kind.
 */
#include "program/lanes.h"
#include "program/machine.h"
#include "program/steps.h"
#include "program/steps_isa.h"

static places_t places_of(const tacit_code_t *code, const tacit_frame_t *frame){
    return (places_t){{{frame->registers, 16},
                       {frame->uniforms, 0},
#if TACIT_LANES_DOUBLE
                       {code->constants, 0}},
#else
                       {code->constants_float, 0},
                       {frame->block, frame->block_stride}},
#endif
                      {{frame->registers, 16}, {frame->out, frame->out_stride}}};
}

/* ---- tables ---- */

/* As much of a table as registers hold, from which lanes are picked by one instruction. */
#if defined(__AVX512F__)
enum { MOST_PICKED = 2 * LANES };
typedef struct picked {
  vreal low, high;
} picked_t;
TACIT_INLINE unsigned first_lanes(size_t n) { return n >= LANES ? (1u << LANES) - 1 : (1u << n) - 1; }
TACIT_INLINE picked_t hold_table(const real *table, size_t n) {
  const unsigned low = first_lanes(n), high = n > LANES ? first_lanes(n - LANES) : 0;
#if TACIT_LANES_DOUBLE
  return (picked_t){(vreal)_mm512_maskz_loadu_pd((__mmask8)low, table),
                    (vreal)_mm512_maskz_loadu_pd((__mmask8)high, table + LANES)};
#else
  return (picked_t){(vreal)_mm512_maskz_loadu_ps((__mmask16)low, table),
                    (vreal)_mm512_maskz_loadu_ps((__mmask16)high, table + LANES)};
#endif
}
TACIT_INLINE vreal pick(const picked_t *from, vwhole at) {
#if TACIT_LANES_DOUBLE
  return (vreal)_mm512_permutex2var_pd((__m512d)from->low, (__m512i)at, (__m512d)from->high);
#else
  return (vreal)_mm512_permutex2var_ps((__m512)from->low, (__m512i)at, (__m512)from->high);
#endif
}
#elif defined(__AVX2__) && !TACIT_LANES_DOUBLE
enum { MOST_PICKED = LANES };
typedef vreal picked_t;
TACIT_INLINE picked_t hold_table(const real *table, size_t n) {
  const vwhole lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return (picked_t)_mm256_maskload_ps(table, (__m256i)(lane < (int32_t)n));
}
TACIT_INLINE vreal pick(const picked_t *from, vwhole at) {
  return (vreal)_mm256_permutevar8x32_ps((__m256)*from, (__m256i)at);
}
#else
enum { MOST_PICKED = 0 };
#endif

/* The place in a table, whatever the number is: a NaN's is the last. */
TACIT_INLINE vwhole place_in(const real *index, vreal first, vreal most) {
  return __builtin_convertvector(greater(lesser(load(index) - first, most), set(0)), vwhole);
}

TACIT_INLINE void gather(const real *table, vwhole at, real *to) {
#if defined(__AVX512F__) && TACIT_LANES_DOUBLE
  store(to, (vreal)_mm512_i64gather_pd((__m512i)at, table, 8));
#elif defined(__AVX512F__)
  store(to, (vreal)_mm512_i32gather_ps((__m512i)at, table, 4));
#elif defined(__AVX2__) && !TACIT_LANES_DOUBLE
  store(to, (vreal)_mm256_i32gather_ps(table, (__m256i)at, 4));
#else
  for (size_t j = 0; j < LANES; j++) {
    to[j] = table[at[j]];
  }
#endif
}

static void lookup(const tacit_frame_t *frame, const tacit_instruction_t *in, operand_t index, place_t d) {
  const real *table = (const real *)frame->scalars + in->b;
  const vreal first = set((double)in->first), most = set((double)(in->n - 1));
  const size_t n_gathered = in->n > MOST_PICKED ? frame->n_blocks : 0;
#if defined(__AVX512F__) || (defined(__AVX2__) && !TACIT_LANES_DOUBLE)
  const size_t n_picked = frame->n_blocks - n_gathered;
  const picked_t held = hold_table(table, n_picked > 0 ? in->n : 0);
  for (size_t i = 0; i < n_picked; i++) {
    for (size_t lane = 0; lane < 16; lane += LANES) {
      store(d.at + i * d.step + lane, pick(&held, place_in(index.at + i * index.step + lane, first, most)));
    }
  }
#endif
  for (size_t i = 0; i < n_gathered; i++) {
    for (size_t lane = 0; lane < 16; lane += LANES) {
      gather(table, place_in(index.at + i * index.step + lane, first, most), d.at + i * d.step + lane);
    }
  }
}

/* Several blocks a turn: what is counted beside a short operation takes longer than it does. */
#define EACH(expression)                                                                                     \
  _Pragma("GCC unroll 4") for (size_t i = 0; i < n; i++) {                                                   \
    const real *pa = a.at + i * a.step, *pb = b.at + i * b.step;                                             \
    real *pd = d.at + i * d.step;                                                                            \
    (void)pb;                                                                                                \
    for (size_t lane = 0; lane < 16; lane += LANES) {                                                        \
      vreal x = load(pa + lane);                                                                             \
      store(pd + lane, expression);                                                                          \
    }                                                                                                        \
  }                                                                                                          \
  break
#define Y load(pb + lane)

/* The same of a function that is a long chain of dependent operations: four vectors beside each other fill
 * each other's waits (meson.build has the compiler schedule them so). */
#define AT(operand, u) ((operand).at + (u) / VECTORS * (operand).step + (u) % VECTORS * LANES)
#define OF_ONE(u) load(AT(a, u))
#define OF_TWO(u) load(AT(a, u)), load(AT(b, u))
#define EACH_LONG(function, OPERANDS)                                                                        \
  size_t u = 0;                                                                                              \
  for (; u + 4 <= n * VECTORS; u += 4) {                                                                     \
    vreal r0 = function(OPERANDS(u)), r1 = function(OPERANDS(u + 1));                                        \
    vreal r2 = function(OPERANDS(u + 2)), r3 = function(OPERANDS(u + 3));                                    \
    store(AT(d, u), r0);                                                                                     \
    store(AT(d, u + 1), r1);                                                                                 \
    store(AT(d, u + 2), r2);                                                                                 \
    store(AT(d, u + 3), r3);                                                                                 \
  }                                                                                                          \
  for (; u < n * VECTORS; u++) {                                                                             \
    store(AT(d, u), function(OPERANDS(u)));                                                                  \
  }                                                                                                          \
  break

static void apply_long(uint32_t op, size_t n, operand_t a, operand_t b, place_t d) {
  switch (op) {
  case TACIT_OP_POW: {
    EACH_LONG(lanes_pow, OF_TWO);
  }
  case TACIT_OP_EXP: {
    EACH_LONG(lanes_exp, OF_ONE);
  }
  case TACIT_OP_EXPM1: {
    EACH_LONG(lanes_expm1, OF_ONE);
  }
  case TACIT_OP_LOG: {
    EACH_LONG(lanes_log, OF_ONE);
  }
  case TACIT_OP_LOG1P: {
    EACH_LONG(lanes_log1p, OF_ONE);
  }
  case TACIT_OP_LOG1P_EXP: {
    EACH_LONG(lanes_log1p_exp, OF_ONE);
  }
  case TACIT_OP_LOG1M_EXP: {
    EACH_LONG(lanes_log1m_exp, OF_ONE);
  }
  case TACIT_OP_LOG_ADD_EXP: {
    EACH_LONG(lanes_log_add_exp, OF_TWO);
  }
#if TACIT_LANES_DOUBLE
  case TACIT_MACHINE_SHORT_LOG1P_EXP: {
    EACH_LONG(lanes_short_log1p_exp, OF_ONE);
  }
  case TACIT_MACHINE_SHORT_LOG_ADD_EXP: {
    EACH_LONG(lanes_short_log_add_exp, OF_TWO);
  }
#endif
  case TACIT_OP_INV_LOGIT: {
    EACH_LONG(lanes_inv_logit, OF_ONE);
  }
  case TACIT_OP_TANH: {
    EACH_LONG(lanes_tanh, OF_ONE);
  }
  case TACIT_OP_LGAMMA: {
    EACH_LONG(lanes_lgamma, OF_ONE);
  }
  case TACIT_OP_DIGAMMA: {
    EACH_LONG(lanes_digamma, OF_ONE);
  }
  case TACIT_OP_TRIGAMMA:
    EACH(lanes_trigamma(x));
  case TACIT_OP_LGAMMA_DIFF:
    EACH(lanes_lgamma_diff(x, Y));
  case TACIT_OP_DIGAMMA_DIFF:
    EACH(lanes_digamma_diff(x, Y));
  case TACIT_OP_ERF: {
    EACH_LONG(lanes_erf, OF_ONE);
  }
  case TACIT_OP_ERFC: {
    EACH_LONG(lanes_erfc, OF_ONE);
  }
  case TACIT_OP_PHI: {
    EACH_LONG(lanes_phi, OF_ONE);
  }
  case TACIT_OP_LOG_PHI: {
    EACH_LONG(lanes_log_phi, OF_ONE);
  }
  case TACIT_OP_INV_PHI: {
    EACH_LONG(lanes_inv_phi, OF_ONE);
  }
  case TACIT_OP_SIN: {
    EACH_LONG(lanes_sin, OF_ONE);
  }
  case TACIT_OP_COS: {
    EACH_LONG(lanes_cos, OF_ONE);
  }
  case TACIT_OP_ATAN: {
    EACH_LONG(lanes_atan, OF_ONE);
  }
  case TACIT_OP_MILLS:
    EACH(lanes_mills(x));
  default:
    EACH(set(NAN) + x);
  }
}

void TACIT_MACHINE_NAME(run)(const tacit_code_t *code, const tacit_frame_t *frame);
void TACIT_MACHINE_NAME(run)(const tacit_code_t *code, const tacit_frame_t *frame) {
  const places_t places = places_of(code, frame);
  size_t n_dots = 0;
  for (size_t k = 0; k < code->n_instructions; k++) {
    const tacit_instruction_t *in = &code->instructions[k];
    place_t d = place(&places, in->d, 0);
    if (in->step != TACIT_STEP_NONE) {
      TACIT_MACHINE_NAME(steps)(in, &places, frame->n_blocks);
      k += in->n_steps - 1;
    } else if (in->op == TACIT_MACHINE_LOAD) {
      TACIT_MACHINE_NAME(load)(frame, in->a, d);
    } else if (in->op == TACIT_OP_DOT) {
      TACIT_MACHINE_NAME(dot)(frame, in, n_dots++, d);
    } else if (in->op == TACIT_OP_LOOKUP) {
      lookup(frame, in, operand(&places, in->a, 0), d);
    } else {
      apply_long(in->op, frame->n_blocks, operand(&places, in->a, 0), operand(&places, in->b, 0), d);
    }
  }
}
