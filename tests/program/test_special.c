/* The machine's functions beside numbers of 40 digits, at the ends of their domains, and on every instruction
 * set. */
#include <float.h>

#include "base/isa.h"
#include "program_testing.h"

static tacit_op_t op_named(const char *name) {
  int op = 0;
  while (op < TACIT_OP_COUNT && strcmp(tacit_op_name((tacit_op_t)op), name) != 0) {
    op++;
  }
  return (tacit_op_t)op;
}

/* Blocks of a run: some beside each other and some alone, which are to have the same bits. */
enum { BLOCKS = TACIT_CHUNK_BLOCKS - 1 };

static float float_value(tacit_op_t op, float a, float b, float c) {
  _Alignas(64) float constants[3][16], out[BLOCKS * 16], registers[16 * TACIT_CHUNK_BLOCKS];
  tacit_instruction_t in = {.op = op,
                            .d = TACIT_OPERAND_OUTPUT,
                            .a = TACIT_OPERAND_CONSTANT,
                            .b = TACIT_OPERAND_CONSTANT | 1,
                            .c = TACIT_OPERAND_CONSTANT | 2};
  for (size_t lane = 0; lane < 16; lane++) {
    constants[0][lane] = a;
    constants[1][lane] = b;
    constants[2][lane] = c;
  }
  tacit_code_t code = {.instructions = &in,
                       .n_instructions = 1,
                       .constants_float = constants[0],
                       .n_constants = 3,
                       .n_outputs = 1};
  tacit_frame_t frame = {.n_blocks = BLOCKS, .registers = registers, .out = out, .out_stride = 16};
  tacit_code_hold(&code);
  unsigned before = tacit_machine_begin();
  tacit_machine()->run_float(&code, &frame);
  tacit_machine_end(before);
  for (size_t i = 1; i < BLOCKS * 16; i++) {
    assert_memory_equal(&out[i], &out[0], sizeof out[0]);
  }
  return out[0];
}

/*
 * Error of each function in units of 2^-53 (2^-24) of max(|value|, floor). The floors are where a function
 * crosses 0 between numbers, or is computed by a difference: there the absolute error counts. Phi's operand
 * is divided by sqrt(2), which at -37 counts 37^2 times; pow's logarithm is multiplied by the exponent.
 */
static const struct tolerance {
  const char *name;
  double units, floor;
} TOLERANCES[] = {
    {"exp", 4, 0},         {"expm1", 4, 0},     {"log", 4, 0},   {"log1p", 4, 0},   {"log1p_exp", 4, 0},
    {"log1m_exp", 8, 0},   {"inv_logit", 6, 0}, {"tanh", 6, 0},  {"lgamma", 40, 1}, {"digamma", 16, 1},
    {"trigamma", 10, 0},   {"erf", 8, 0},       {"erfc", 24, 0}, {"Phi", 1500, 0},  {"log_Phi", 24, 0},
    {"inv_Phi", 24, 0.05}, {"mills", 24, 0},    {"sin", 4, 1},   {"cos", 4, 1},     {"atan", 6, 0},
    {"pow", 1200, 0},
};

static void test_reference(void **state) {
  FILE *file = fopen(REFERENCE, "r");
  char name[32];
  double x, y, value, worst[TACIT_OP_COUNT] = {0}, worst_float[TACIT_OP_COUNT] = {0};
  size_t n = 0;
  assert_non_null(file);
  while (fscanf(file, "%31s %la %la %la", name, &x, &y, &value) == 4) {
    tacit_op_t op = op_named(name);
    const struct tolerance *t = TOLERANCES;
    while (strcmp(t->name, name) != 0) {
      t++;
    }
    double scale = fmax(fabs(value), t->floor), exact = tacit_op_value(op, x, y, 0);
    worst[op] = fmax(worst[op], fabs(exact - value) / scale * 0x1p53 / t->units);
    /* float operands are other numbers: the reference is the double's function there */
    float xf = (float)x, yf = (float)y;
    double at_float = tacit_op_value(op, (double)xf, (double)yf, 0);
    if (fabs(at_float) < 1e37 && fabs(at_float) > 1e-30 && fabsf(xf) < 1e3f && fabsf(xf) > 1e-30f) {
      double error =
          fabs((double)float_value(op, xf, yf, 0) - at_float) / fmax(fabs(at_float), t->floor) * 0x1p24;
      worst_float[op] = fmax(worst_float[op], error / (4 * t->units));
    }
    n++;
  }
  fclose(file);
  assert_true(n > 1000);
  for (int op = 0; op < TACIT_OP_COUNT; op++) {
    if (worst[op] > 1 || worst_float[op] > 1) {
      print_error("%s: %.1f and, in float, %.1f times what is allowed\n", tacit_op_name((tacit_op_t)op),
                  worst[op], worst_float[op]);
    }
  }
  for (int op = 0; op < TACIT_OP_COUNT; op++) {
    assert_true(worst[op] <= 1 && worst_float[op] <= 1);
  }
}

static void check(const char *name, double x, double expected) {
  double value = tacit_op_value(op_named(name), x, 0, 0);
  bool ok = isnan(expected) ? isnan(value) : value >= expected && value <= expected;
  if (!ok) {
    fail_msg("%s(%g) is %g, not %g", name, x, value, expected);
  }
}

static void test_ends(void **state) {
  const double inf = INFINITY, nan = (double)NAN;
  check("exp", -inf, 0);
  check("expm1", -inf, -1);
  check("log", 0, -inf);
  check("log", inf, inf);
  check("log", -1, nan);
  check("log1p", -1, -inf);
  check("log1p", -2, nan);
  check("log1p", inf, inf);
  check("log1p_exp", -inf, 0);
  check("log1p_exp", inf, inf);
  check("log1m_exp", 0, -inf);
  check("log1m_exp", -inf, 0);
  check("inv_logit", inf, 1);
  check("tanh", inf, 1);
  check("tanh", -inf, -1);
  check("lgamma", 0, inf);
  check("lgamma", inf, inf);
  check("lgamma", -0.5, nan);
  check("digamma", 0, -inf);
  check("digamma", inf, inf);
  check("trigamma", inf, 0);
  check("erf", inf, 1);
  check("erf", -inf, -1);
  check("erfc", -inf, 2);
  check("erfc", inf, 0);
  check("Phi", inf, 1);
  check("Phi", -inf, 0);
  check("log_Phi", inf, 0);
  check("log_Phi", -inf, -inf);
  check("inv_Phi", 0, -inf);
  check("inv_Phi", 1, inf);
  check("inv_Phi", 0.5, 0);
  check("inv_Phi", 1.5, nan);
  check("mills", inf, 0);
  check("sqrt", -1, nan);
  check("floor", -1.5, -2);
  check("floor", 1e300, 1e300);
  check("abs", -inf, inf);
  for (int op = TACIT_OP_ADD; op < TACIT_OP_COUNT;
       op++) { /* a NaN goes through all functions of one number */
    if (tacit_op_arity((tacit_op_t)op) == 1) {
      check(tacit_op_name((tacit_op_t)op), nan, nan);
    }
  }
  assert_true(tacit_op_value(TACIT_OP_POW, 0, 2, 0) == 0 && isinf(tacit_op_value(TACIT_OP_POW, 0, -1, 0)));
  assert_true(tacit_op_value(TACIT_OP_POW, 5, 0, 0) == 1 && isnan(tacit_op_value(TACIT_OP_POW, -5, 0.5, 0)));
  assert_true(fabs(tacit_op_value(TACIT_OP_POW, -2, 3, 0) + 8) < 1e-13);
  assert_true(tacit_op_value(TACIT_OP_MUL, 1e-200, 1e-200, 0) == 0 &&
              tacit_op_value(TACIT_OP_ADD, DBL_MIN / 4, 0, 0) == 0); /* no denormals */
}

/* What sums on a grid of 2^-32 ask of a term (docs/theory.md, 3); at the ends as the functions themselves. */
static void test_short(void **state) {
  const tacit_op_t one = (tacit_op_t)TACIT_MACHINE_SHORT_LOG1P_EXP,
                   two = (tacit_op_t)TACIT_MACHINE_SHORT_LOG_ADD_EXP;
  const double inf = INFINITY, nan = (double)NAN;
  double worst = 0;
  (void)state;
  for (int i = -200000; i <= 200000; i++) {
    double x = i * 0x1p-12, y = 1e-3 * (i % 1000), a = tacit_op_value(one, x, 0, 0),
           b = tacit_op_value(two, x, y, 0);
    worst = fmax(worst, fabs(a - tacit_op_value(TACIT_OP_LOG1P_EXP, x, 0, 0)));
    worst = fmax(worst, fabs(b - tacit_op_value(TACIT_OP_LOG_ADD_EXP, x, y, 0)));
  }
  assert_true(worst < 0.18 * 0x1p-32 && worst > 0.1 * 0x1p-32);
  assert_true(tacit_op_value(one, -inf, 0, 0) < 0x1p-39 && tacit_op_value(one, inf, 0, 0) >= inf);
  assert_true(isnan(tacit_op_value(one, nan, 0, 0)) && isnan(tacit_op_value(two, 0, nan, 0)) &&
              isnan(tacit_op_value(two, nan, 0, 0)));
  assert_true(tacit_op_value(two, -inf, -inf, 0) <= -inf && tacit_op_value(two, inf, 0, 0) >= inf);
  assert_true(fabs(tacit_op_value(two, -inf, 3, 0) - 3) < 0x1p-39);
}

#if defined(__x86_64__)
/* All operations on numbers of every size, on each instruction set that this processor has. */
static void test_equal_bits(void **state) {
  enum { N = 4096 };
  uint64_t seed = 9;
  for (int op = TACIT_OP_ADD; op <= TACIT_MACHINE_SHORT_LOG_ADD_EXP;
       op = op + 1 == TACIT_OP_COUNT ? TACIT_MACHINE_SHORT_LOG1P_EXP : op + 1) {
    for (size_t i = 0; i < N; i++) {
      uint64_t bits = (uint64_t)(uniform(&seed) * 0x1p53) << 11 ^ (uint64_t)(uniform(&seed) * 0x1p53);
      uint32_t low = (uint32_t)(bits >> 16);
      double a;
      float f;
      memcpy(&a, &bits, sizeof a);
      memcpy(&f, &low, sizeof f);
      a = i % 2 == 0 ? a : 40 * uniform(&seed) - 20;
      f = i % 2 == 0 ? f : (float)a;
      double b = 8 * uniform(&seed) - 4, first = tacit_op_value((tacit_op_t)op, a, b, 1), other[1];
      float first_float = 0;
      for (int isa = TACIT_ISA_PORTABLE; isa <= TACIT_ISA_AVX512; isa++) {
        tacit_isa_limit((tacit_isa_t)isa);
        bool has_floats = op < TACIT_OP_COUNT; /* short functions are of doubles alone */
        float value = has_floats ? float_value((tacit_op_t)op, f, (float)b, 1) : 0;
        first_float = isa == TACIT_ISA_PORTABLE ? value : first_float;
        bool both_nan = isnan(value) && isnan(first_float);
        assert_true(both_nan || memcmp(&value, &first_float, sizeof value) == 0);
        _Alignas(64) double constants[3 * 16], out[BLOCKS * 16], registers[16 * TACIT_CHUNK_BLOCKS];
        tacit_instruction_t in = {.op = (uint32_t)op,
                                  .d = TACIT_OPERAND_OUTPUT,
                                  .a = TACIT_OPERAND_CONSTANT,
                                  .b = TACIT_OPERAND_CONSTANT | 1,
                                  .c = TACIT_OPERAND_CONSTANT | 2};
        for (size_t k = 0; k < 48; k++) {
          constants[k] = k < 16 ? a : k < 32 ? b : 1;
        }
        tacit_code_t code = {.instructions = &in,
                             .n_instructions = 1,
                             .constants = constants,
                             .n_constants = 3,
                             .n_outputs = 1};
        tacit_frame_t frame = {.n_blocks = BLOCKS, .registers = registers, .out = out, .out_stride = 16};
        tacit_code_hold(&code);
        unsigned before = tacit_machine_begin();
        tacit_machine()->run_double(&code, &frame);
        tacit_machine_end(before);
        for (size_t j = 1; j < BLOCKS * 16; j++) {
          assert_memory_equal(&out[j], &out[0], sizeof out[0]);
        }
        other[0] = out[5];
        assert_true((isnan(first) && isnan(other[0])) || memcmp(&first, other, sizeof first) == 0);
      }
    }
  }
  tacit_isa_limit(TACIT_ISA_AVX512);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reference),
    cmocka_unit_test(test_ends),
    cmocka_unit_test(test_short),
#if defined(__x86_64__)
    cmocka_unit_test(test_equal_bits),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
