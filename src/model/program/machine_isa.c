/*
 * The machine of machine.h for one instruction set and one kind of number; compiled once for each
 * (meson.build), TACIT_ISA naming the function and TACIT_LANES_DOUBLE the kind.
 */
#include "program/lanes.h"
#include "program/machine.h"

enum { REGISTER = TACIT_CHUNK_BLOCKS * 16 };

/* An operand of all blocks: where the first lane is, and how far it is to the next block. */
typedef struct operand {
  const real *at;
  size_t step;
} operand_t;

TACIT_INLINE operand_t operand(const tacit_code_t *code, const tacit_frame_t *frame, uint32_t which) {
  size_t number = which & TACIT_OPERAND_NUMBER;
  switch (which & ~TACIT_OPERAND_NUMBER) {
  case TACIT_OPERAND_UNIFORM:
    return (operand_t){(const real *)frame->uniforms + number * 16, 0};
  case TACIT_OPERAND_CONSTANT:
#if TACIT_LANES_DOUBLE
    return (operand_t){code->constants + number * 16, 0};
#else
    return (operand_t){code->constants_float + number * 16, 0};
  case TACIT_OPERAND_COLUMN:
    return (operand_t){frame->block + number * 16, frame->block_stride};
#endif
  default:
    return (operand_t){(const real *)frame->registers + number * REGISTER, 16};
  }
}

typedef struct place {
  real *at;
  size_t step;
} place_t;

TACIT_INLINE place_t place(const tacit_frame_t *frame, uint32_t which) {
  size_t number = which & TACIT_OPERAND_NUMBER;
  return (which & TACIT_OPERAND_OUTPUT) != 0 ? (place_t){(real *)frame->out + number * 16, frame->out_stride}
                                             : (place_t){(real *)frame->registers + number * REGISTER, 16};
}

TACIT_INLINE vreal load_floats(const float *p) {
#if TACIT_LANES_DOUBLE
  return vdouble_load_floats(p);
#else
  return vfloat_load(p);
#endif
}

static void load_column(const tacit_frame_t *frame, size_t column, place_t d) {
  for (size_t i = 0; i < frame->n_blocks; i++) {
    const float *x = frame->block + i * frame->block_stride + column * 16;
    for (size_t lane = 0; lane < 16; lane += LANES) {
      store(d.at + i * d.step + lane, load_floats(x + lane));
    }
  }
}

/* Four partial sums hide the latency of the additions; their order is fixed. */
TACIT_INLINE vreal dot_one(const float *x, const real *w, size_t n) {
  vreal sum[4] = {0};
  size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    for (size_t u = 0; u < 4; u++) {
      sum[u] += load_floats(x + (j + u) * 16) * w[j + u];
    }
  }
  for (; j < n; j++) {
    sum[0] += load_floats(x + j * 16) * w[j];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The same of two parameter vectors, which share the columns. */
TACIT_INLINE void dot_two(const float *x, const real *w, const real *v, size_t n, vreal out[2]) {
  vreal sum[4] = {0}, other[4] = {0};
  size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    for (size_t u = 0; u < 4; u++) {
      vreal value = load_floats(x + (j + u) * 16);
      sum[u] += value * w[j + u];
      other[u] += value * v[j + u];
    }
  }
  for (; j < n; j++) {
    vreal value = load_floats(x + j * 16);
    sum[0] += value * w[j];
    other[0] += value * v[j];
  }
  out[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  out[1] = (other[0] + other[1]) + (other[2] + other[3]);
}

static void dot(const tacit_frame_t *frame, const tacit_instruction_t *in, size_t number, place_t d) {
  const real *w = (const real *)frame->scalars + in->b, *v = (const real *)frame->scalars_2;
  real *stash = (real *)frame->stash + number * REGISTER;
  for (size_t i = 0; i < frame->n_blocks; i++) {
    const float *x = frame->block + i * frame->block_stride + in->a * 16;
    for (size_t lane = 0; lane < 16; lane += LANES) {
      vreal sums[2];
      if (frame->has_stash) {
        sums[0] = load(stash + i * 16 + lane);
      } else if (v != NULL) {
        dot_two(x + lane, w, v + in->b, in->n, sums);
        store(stash + i * 16 + lane, sums[1]);
      } else {
        sums[0] = dot_one(x + lane, w, in->n);
      }
      store(d.at + i * d.step + lane, sums[0]);
    }
  }
}

/* The place in a table, whatever the number is: a NaN's is the first. */
static void lookup(const tacit_frame_t *frame, const tacit_instruction_t *in, operand_t index, place_t d) {
  const real *table = (const real *)frame->scalars + in->b;
  const vreal first = set((double)in->first), most = set((double)(in->n - 1));
  for (size_t i = 0; i < frame->n_blocks; i++) {
    for (size_t lane = 0; lane < 16; lane += LANES) {
      vwhole at = __builtin_convertvector(
          greater(lesser(load(index.at + i * index.step + lane) - first, most), set(0)), vwhole);
      real *to = d.at + i * d.step + lane;
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
  }
}

/* Several blocks a turn: what is counted beside a short operation takes longer than it does. */
#define EACH(expression)                                                                                     \
  _Pragma("GCC unroll 4") for (size_t i = 0; i < n; i++) {                                                   \
    const real *pa = a.at + i * a.step, *pb = b.at + i * b.step, *pc = c.at + i * c.step;                    \
    real *pd = d.at + i * d.step;                                                                            \
    (void)pb;                                                                                                \
    (void)pc;                                                                                                \
    for (size_t lane = 0; lane < 16; lane += LANES) {                                                        \
      vreal x = load(pa + lane);                                                                             \
      store(pd + lane, expression);                                                                          \
    }                                                                                                        \
  }                                                                                                          \
  break
#define Y load(pb + lane)
#define Z load(pc + lane)

/* The same of a function of one operand that is a long chain of dependent operations: four vectors beside
 * each other fill each other's waits (meson.build has the compiler schedule them so). */
enum { VECTORS = 16 / LANES }; /* of a block */
#define AT(operand, u) ((operand).at + (u) / VECTORS * (operand).step + (u) % VECTORS * LANES)
#define EACH_LONG(function)                                                                                  \
  size_t u = 0;                                                                                              \
  for (; u + 4 <= n * VECTORS; u += 4) {                                                                     \
    vreal r0 = function(load(AT(a, u))), r1 = function(load(AT(a, u + 1)));                                  \
    vreal r2 = function(load(AT(a, u + 2))), r3 = function(load(AT(a, u + 3)));                              \
    store(AT(d, u), r0);                                                                                     \
    store(AT(d, u + 1), r1);                                                                                 \
    store(AT(d, u + 2), r2);                                                                                 \
    store(AT(d, u + 3), r3);                                                                                 \
  }                                                                                                          \
  for (; u < n * VECTORS; u++) {                                                                             \
    store(AT(d, u), function(load(AT(a, u))));                                                               \
  }                                                                                                          \
  break

static void apply(uint32_t op, size_t n, operand_t a, operand_t b, operand_t c, place_t d) {
  switch (op) {
  case TACIT_OP_ADD:
    EACH(x + Y);
  case TACIT_OP_SUB:
    EACH(x - Y);
  case TACIT_OP_MUL:
    EACH(x * Y);
  case TACIT_OP_DIV:
    EACH(x / Y);
  case TACIT_MACHINE_MUL_ADD:
    EACH(x * Y + Z);
  case TACIT_MACHINE_MUL_SUB:
    EACH(x * Y - Z);
  case TACIT_MACHINE_SUB_MUL:
    EACH(Z - x * Y);
  case TACIT_MACHINE_NEG_MUL:
    EACH(-(x * Y));
  case TACIT_MACHINE_COPY:
    EACH(x);
  case TACIT_OP_NEG:
    EACH(-x);
  case TACIT_OP_ABS:
    EACH(size_of(x));
  case TACIT_OP_MIN:
    EACH(keep_nan(x, lesser(x, Y)));
  case TACIT_OP_MAX:
    EACH(keep_nan(x, greater(x, Y)));
  case TACIT_OP_FLOOR:
    EACH(lanes_floor(x));
  case TACIT_OP_SQRT:
    EACH(root(x));
  case TACIT_OP_POW:
    EACH(lanes_pow(x, Y));
  case TACIT_OP_LESS:
    EACH(truth(x < Y));
  case TACIT_OP_AT_MOST:
    EACH(truth(x <= Y));
  case TACIT_OP_EQUAL:
    EACH(truth(x == Y));
  case TACIT_OP_SELECT:
    EACH(choose(x != (real)0, Y, Z));
  case TACIT_OP_EXP: {
    EACH_LONG(lanes_exp);
  }
  case TACIT_OP_EXPM1: {
    EACH_LONG(lanes_expm1);
  }
  case TACIT_OP_LOG: {
    EACH_LONG(lanes_log);
  }
  case TACIT_OP_LOG1P: {
    EACH_LONG(lanes_log1p);
  }
  case TACIT_OP_LOG1P_EXP: {
    EACH_LONG(lanes_log1p_exp);
  }
  case TACIT_OP_LOG1M_EXP: {
    EACH_LONG(lanes_log1m_exp);
  }
  case TACIT_OP_LOG_ADD_EXP:
    EACH(lanes_log_add_exp(x, Y));
  case TACIT_OP_INV_LOGIT: {
    EACH_LONG(lanes_inv_logit);
  }
  case TACIT_OP_TANH: {
    EACH_LONG(lanes_tanh);
  }
  case TACIT_OP_LGAMMA:
    EACH(lanes_lgamma(x));
  case TACIT_OP_DIGAMMA:
    EACH(lanes_digamma(x));
  case TACIT_OP_TRIGAMMA:
    EACH(lanes_trigamma(x));
  case TACIT_OP_LGAMMA_DIFF:
    EACH(lanes_lgamma_diff(x, Y));
  case TACIT_OP_DIGAMMA_DIFF:
    EACH(lanes_digamma_diff(x, Y));
  case TACIT_OP_ERF:
    EACH(lanes_erf(x));
  case TACIT_OP_ERFC:
    EACH(lanes_erfc(x));
  case TACIT_OP_PHI:
    EACH(lanes_phi(x));
  case TACIT_OP_LOG_PHI:
    EACH(lanes_log_phi(x));
  case TACIT_OP_INV_PHI:
    EACH(lanes_inv_phi(x));
  case TACIT_OP_SIN:
    EACH(lanes_sin(x));
  case TACIT_OP_COS:
    EACH(lanes_cos(x));
  case TACIT_OP_ATAN:
    EACH(lanes_atan(x));
  case TACIT_OP_RATIO1:
    EACH(x / (x * x + (real)1));
  case TACIT_OP_RATIO2:
    EACH((x * x) / (x * x + (real)1));
  case TACIT_OP_MILLS:
    EACH(lanes_mills(x));
  default:
    EACH(set(NAN) + x);
  }
}

#define NAME__(isa, kind) tacit_machine_run_##kind##_##isa
#define NAME_(isa, kind) NAME__(isa, kind)
#if TACIT_LANES_DOUBLE
#define NAME NAME_(TACIT_ISA, double)
#else
#define NAME NAME_(TACIT_ISA, float)
#endif
void NAME(const tacit_code_t *code, const tacit_frame_t *frame);
void NAME(const tacit_code_t *code, const tacit_frame_t *frame) {
  size_t n_dots = 0;
  for (size_t k = 0; k < code->n_instructions; k++) {
    const tacit_instruction_t *in = &code->instructions[k];
    place_t d = place(frame, in->d);
    if (in->op == TACIT_MACHINE_LOAD) {
      load_column(frame, in->a, d);
    } else if (in->op == TACIT_OP_DOT) {
      dot(frame, in, n_dots++, d);
    } else if (in->op == TACIT_OP_LOOKUP) {
      lookup(frame, in, operand(code, frame, in->a), d);
    } else {
      apply(in->op, frame->n_blocks, operand(code, frame, in->a), operand(code, frame, in->b),
            operand(code, frame, in->c), d);
    }
  }
}
