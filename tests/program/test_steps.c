/*
 * Chains of short operations, whose results stay in registers of the processor where there is room (hold.c),
 * beside one operation after another through memory: equal bits, whatever the order of operands, the number
 * of blocks and the instruction set.
 */
#include "base/isa.h"
#include "program/steps.h"
#include "program_testing.h"

enum {
  N_REGISTERS = 4,
  N_FIXED = 3,
  N_COLUMNS = 3,
  N_OUTPUTS = 3,
  MOST_INSTRUCTIONS = 12,
  CHUNK = TACIT_CHUNK_BLOCKS
};

static size_t below(uint64_t *seed, size_t n) { return (size_t)(uniform(seed) * (double)n); }

static uint32_t random_operand(uint64_t *seed, bool has_columns) {
  switch (below(seed, has_columns ? 8 : 7)) {
  case 5:
    return TACIT_OPERAND_UNIFORM | (uint32_t)below(seed, N_FIXED);
  case 6:
    return TACIT_OPERAND_CONSTANT | (uint32_t)below(seed, N_FIXED);
  case 7:
    return TACIT_OPERAND_COLUMN | (uint32_t)below(seed, N_COLUMNS);
  default:
    return CHUNK * (uint32_t)below(seed, N_REGISTERS);
  }
}

/* All operations of one step or more; some of a long function, between which chains end. */
static uint32_t random_op(uint64_t *seed) {
#define OP(op, held, fixed, value) TACIT_##op,
  static const uint32_t ops[] = {TACIT_PLAIN_STEPS(OP) TACIT_OP_EXP, TACIT_MACHINE_SHORT_LOG1P_EXP,
                                 TACIT_MACHINE_SHORT_LOG_ADD_EXP};
#undef OP
  return ops[below(seed, sizeof ops / sizeof ops[0])];
}

typedef struct trial {
  tacit_instruction_t instructions[MOST_INSTRUCTIONS];
  _Alignas(64) double constants[N_FIXED * 16];
  _Alignas(64) float constants_float[N_FIXED * 16];
  _Alignas(64) float block[CHUNK * N_COLUMNS * 16];
  _Alignas(64) double uniforms[N_FIXED * 16], start[N_REGISTERS * CHUNK * 16],
      registers[N_REGISTERS * CHUNK * 16], out[2][CHUNK * N_OUTPUTS * 16];
  tacit_code_t code;
  size_t n_blocks;
  bool is_double;
} trial_t;

/* Number i of those at a place, doubles or floats. */
static void store_number(bool is_double, void *at, size_t i, double x) {
  float y = (float)x;
  memcpy((char *)at + i * (is_double ? sizeof x : sizeof y), is_double ? (void *)&x : (void *)&y,
         is_double ? sizeof x : sizeof y);
}
static double load_number(bool is_double, const void *at, size_t i) {
  double x;
  float y;
  memcpy(&x, (const char *)at + (is_double ? i * sizeof x : 0), sizeof x);
  memcpy(&y, (const char *)at + i * sizeof y, sizeof y);
  return is_double ? x : (double)y;
}

/* Numbers of which some are zero, so that truths are of both kinds. */
static double some_number(uint64_t *seed) { return below(seed, 4) == 0 ? 0 : 4 * uniform(seed) - 2; }

static void draw(trial_t *t, uint64_t *seed) {
  t->is_double = below(seed, 2) == 0;
  t->n_blocks = 1 + below(seed, CHUNK);
  size_t n = 2 + below(seed, MOST_INSTRUCTIONS - 1);
  for (size_t k = 0; k < n; k++) {
    t->instructions[k] = (tacit_instruction_t){.op = random_op(seed),
                                               .d = CHUNK * (uint32_t)below(seed, N_REGISTERS),
                                               .a = random_operand(seed, !t->is_double),
                                               .b = random_operand(seed, !t->is_double),
                                               .c = random_operand(seed, !t->is_double)};
    if (k + N_OUTPUTS >= n || below(seed, 6) == 0) {
      t->instructions[k].d = TACIT_OPERAND_OUTPUT | (uint32_t)(k % N_OUTPUTS);
    } else if (below(seed, 2) == 0 && k > 0 && (t->instructions[k - 1].d & TACIT_OPERAND_OUTPUT) == 0) {
      uint32_t *operand[3] = {&t->instructions[k].a, &t->instructions[k].b, &t->instructions[k].c};
      *operand[below(seed, 3)] = t->instructions[k - 1].d;
    }
  }
  for (size_t i = 0; i < N_FIXED * 16; i++) {
    t->constants[i] = some_number(seed);
    t->constants_float[i] = (float)t->constants[i];
    store_number(t->is_double, t->uniforms, i, some_number(seed));
  }
  for (size_t i = 0; i < CHUNK * N_COLUMNS * 16; i++) {
    t->block[i] = (float)some_number(seed);
  }
  for (size_t i = 0; i < N_REGISTERS * CHUNK * 16; i++) {
    store_number(t->is_double, t->start, i, some_number(seed));
  }
  t->code = (tacit_code_t){.instructions = t->instructions,
                           .n_instructions = n,
                           .constants = t->constants,
                           .constants_float = t->constants_float,
                           .n_constants = N_FIXED,
                           .n_registers = N_REGISTERS,
                           .n_outputs = N_OUTPUTS};
}

static void run(trial_t *t, const tacit_code_t *code, double *out) {
  tacit_frame_t frame = {.block = t->block,
                         .block_stride = N_COLUMNS * 16,
                         .n_blocks = t->n_blocks,
                         .registers = t->registers,
                         .uniforms = t->uniforms,
                         .out = out,
                         .out_stride = N_OUTPUTS * 16};
  (t->is_double ? tacit_machine()->run_double : tacit_machine()->run_float)(code, &frame);
}

/* Every instruction a program of its own, in which nothing can be held. */
static void run_alone(trial_t *t, double *out) {
  memcpy(t->registers, t->start, sizeof t->registers);
  memset(out, 0, sizeof t->out[0]);
  for (size_t k = 0; k < t->code.n_instructions; k++) {
    tacit_instruction_t in = t->instructions[k];
    tacit_code_t one = t->code;
    one.instructions = &in;
    one.n_instructions = 1;
    tacit_code_hold(&one);
    run(t, &one, out);
  }
}

static void run_together(trial_t *t, double *out) {
  memcpy(t->registers, t->start, sizeof t->registers);
  memset(out, 0, sizeof t->out[0]);
  tacit_code_hold(&t->code);
  run(t, &t->code, out);
}

static bool is_equal(const trial_t *t) {
  bool ok = true;
  for (size_t i = 0; i < CHUNK * N_OUTPUTS * 16; i++) {
    double x = load_number(t->is_double, t->out[0], i), y = load_number(t->is_double, t->out[1], i);
    ok = ok && ((isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0);
  }
  return ok;
}

static void test_chains(void **state) {
  enum { N = 10000 };
  static trial_t trial;
  uint64_t seed = 11;
  size_t n_held = 0, n_kept = 0;
  (void)state;
  for (size_t i = 0; i < N; i++) {
    draw(&trial, &seed);
    tacit_isa_limit(TACIT_ISA_PORTABLE);
    run_alone(&trial, trial.out[0]);
    for (int isa = TACIT_ISA_PORTABLE; isa <= TACIT_ISA_AVX512; isa++) {
      tacit_isa_limit((tacit_isa_t)isa);
      run_together(&trial, trial.out[1]);
      if (!is_equal(&trial)) {
        fail_msg("program %zu, %zu instructions, %zu blocks, %s: not what its instructions give alone", i,
                 trial.code.n_instructions, trial.n_blocks, tacit_isa_name());
      }
    }
    for (size_t k = 0; k < trial.code.n_instructions; k++) {
      n_held += trial.instructions[k].is_held;
      n_kept += !trial.instructions[k].is_stored;
    }
  }
  tacit_isa_limit(TACIT_ISA_AVX512);
  assert_true(n_held > N / 2 && n_kept > N / 4);
}

/* Every step is some program's. */
static void test_all_steps(void **state) {
  static trial_t trial;
  bool seen[TACIT_STEP_COUNT] = {false};
  uint64_t seed = 12;
  (void)state;
  for (size_t i = 0; i < 200000; i++) {
    draw(&trial, &seed);
    tacit_code_hold(&trial.code);
    for (size_t k = 0; k < trial.code.n_instructions; k++) {
      seen[trial.instructions[k].step] = true;
    }
  }
  for (size_t step = 1; step < TACIT_STEP_COUNT; step++) {
    if (!seen[step]) {
      fail_msg("no program takes step %zu", step);
    }
  }
}

/* Tables of all lengths around what registers hold, looked up within, beside and by NaN. */
static void test_tables(void **state) {
  enum { MOST = 40 };
  _Alignas(64) float index[CHUNK * 16];
  _Alignas(64) double table[MOST], registers[CHUNK * 16], out[CHUNK * 16];
  (void)state;
  for (size_t i = 0; i < 3 * 2 * MOST; i++) {
    size_t n = 1 + i / 6;
    bool is_double = i % 2 == 0;
    tacit_isa_limit((tacit_isa_t)(i / 2 % 3));
    for (size_t j = 0; j < MOST; j++) {
      store_number(is_double, table, j, j < n ? (double)j + 0.25 : (double)NAN); /* NaN: not to be seen */
    }
    for (size_t j = 0; j < CHUNK * 16; j++) {
      index[j] = j % 50 == 49 ? NAN : (float)(j % 50) + 2;
    }
    tacit_instruction_t in[] = {{.op = TACIT_MACHINE_LOAD},
                                {.op = TACIT_OP_LOOKUP,
                                 .d = TACIT_OPERAND_OUTPUT,
                                 .a = is_double ? TACIT_OPERAND_REGISTER : TACIT_OPERAND_COLUMN,
                                 .n = (uint32_t)n,
                                 .first = 5}};
    tacit_code_t code = {.instructions = in, .n_instructions = 2, .n_registers = 1, .n_outputs = 1};
    tacit_frame_t frame = {.block = index,
                           .block_stride = 16,
                           .n_blocks = CHUNK - 1,
                           .registers = registers,
                           .scalars = table,
                           .out = out,
                           .out_stride = 16};
    tacit_code_hold(&code);
    (is_double ? tacit_machine()->run_double : tacit_machine()->run_float)(&code, &frame);
    for (size_t j = 0; j < (CHUNK - 1) * 16; j++) {
      double at = isnan(index[j]) ? (double)n - 1 : fmin(fmax((double)index[j] - 5, 0), (double)n - 1);
      double found = load_number(is_double, out, j);
      assert_true(found >= at + 0.25 && found <= at + 0.25);
    }
  }
  tacit_isa_limit(TACIT_ISA_AVX512);
}

/* Instruction k writes register k. */
static tacit_instruction_t instruction(uint32_t op, uint32_t d, uint32_t a, uint32_t b, uint32_t c) {
  return (tacit_instruction_t){.op = op, .d = d, .a = a, .b = b, .c = c};
}

static uint32_t shortened(tacit_instruction_t *in, size_t n, double *constants) {
  tacit_code_t code = {
      .instructions = in, .n_instructions = n, .constants = constants, .n_registers = n, .n_outputs = 1};
  uint32_t which = 0;
  assert_true(tacit_code_shorten(&code));
  for (size_t k = 0; k < n; k++) {
    bool is_short = in[k].op == TACIT_MACHINE_SHORT_LOG1P_EXP || in[k].op == TACIT_MACHINE_SHORT_LOG_ADD_EXP;
    which |= (uint32_t)is_short << k;
  }
  return which;
}

/* Functions are short where the output moves by no more than four of them do. */
static void test_shorten(void **state) {
  enum { R = TACIT_CHUNK_BLOCKS, OUT = TACIT_OPERAND_OUTPUT };
  double constants[3 * 16] = {0};
  const uint32_t half = TACIT_OPERAND_CONSTANT, five = TACIT_OPERAND_CONSTANT | 1;
  constants[0] = 0.5;
  constants[16] = -5;
  (void)state;
  for (uint32_t times = 1; times <= 6; times++) { /* log1p_exp, added so many times to itself */
    tacit_instruction_t sum[8] = {instruction(TACIT_MACHINE_LOAD, 0, 0, 0, 0),
                                  instruction(TACIT_OP_LOG1P_EXP, R, 0, 0, 0)};
    for (uint32_t k = 1; k < times; k++) {
      sum[k + 1] = instruction(TACIT_OP_ADD, (k + 1) * R, k * R, R, 0);
    }
    sum[times + 1] = instruction(TACIT_OP_NEG, OUT, times * R, 0, 0);
    assert_int_equal(shortened(sum, times + 2, constants), times <= 4 ? 2 : 0);
  }
  tacit_instruction_t product[] = {instruction(TACIT_OP_LOG1P_EXP, 0, five, 0, 0),
                                   instruction(TACIT_OP_LOG_ADD_EXP, R, 0, five, 0),
                                   instruction(TACIT_MACHINE_SUB_MUL, OUT, R, half, 0)};
  assert_int_equal(shortened(product, 3, constants), 3); /* the first counts half through the second, and 1 */
  product[2] = instruction(TACIT_OP_MUL, OUT, five, R, 0);
  product[0].op = product[1].op = TACIT_OP_LOG1P_EXP;
  assert_int_equal(shortened(product, 3, constants), 0);
  product[2] = instruction(TACIT_OP_MUL, OUT, R, TACIT_OPERAND_UNIFORM, 0);
  assert_int_equal(shortened(product, 3, constants), 0);
  product[2] = instruction(TACIT_OP_SELECT, OUT, R, five, 0); /* what is chosen by jumps */
  assert_int_equal(shortened(product, 3, constants), 0);
  product[2] = instruction(TACIT_OP_SELECT, OUT, five, R, half);
  assert_int_equal(shortened(product, 3, constants), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_chains), cmocka_unit_test(test_all_steps),
                                     cmocka_unit_test(test_tables), cmocka_unit_test(test_shorten)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
