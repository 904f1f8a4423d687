#include "program/machine.h"

#include <math.h>

#include "base/isa.h"
#include "program/code.h"
#include "program/graph_internal.h"

#define DECLARE(isa)                                                                                         \
  void tacit_machine_run_float_##isa(const tacit_code_t *code, const tacit_frame_t *frame);                  \
  void tacit_machine_run_double_##isa(const tacit_code_t *code, const tacit_frame_t *frame);                 \
  static const tacit_machine_t machine_##isa = {tacit_machine_run_float_##isa, tacit_machine_run_double_##isa}

DECLARE(portable);
#if defined(__x86_64__)
DECLARE(avx2);
DECLARE(avx512);
#endif

const tacit_machine_t *tacit_machine(void) { return TACIT_ISA_SELECT(machine); }

#if defined(__x86_64__)
enum { ZERO_DENORMALS = 0x8040 }; /* flush to zero, denormals are zero */
unsigned tacit_machine_begin(void) {
  unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | ZERO_DENORMALS);
  return before;
}
void tacit_machine_end(unsigned before) { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__)
unsigned tacit_machine_begin(void) {
  uint64_t before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  __asm__ volatile("msr fpcr, %0" : : "r"(before | (uint64_t)1 << 24));
  return (unsigned)before;
}
void tacit_machine_end(unsigned before) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)before)); }
#else
unsigned tacit_machine_begin(void) { return 0; }
void tacit_machine_end(unsigned before) { (void)before; }
#endif

double tacit_op_value(tacit_op_t op, double a, double b, double c) {
  _Alignas(64) double constants[3][16], out[16], registers[16 * TACIT_CHUNK_BLOCKS];
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
  tacit_code_t code = {
      .instructions = &in, .n_instructions = 1, .constants = constants[0], .n_constants = 3, .n_outputs = 1};
  tacit_frame_t frame = {.n_blocks = 1, .registers = registers, .out = out, .out_stride = 16};
  tacit_code_hold(&code);
  unsigned before = tacit_machine_begin();
  tacit_machine_run_double_portable(&code, &frame);
  tacit_machine_end(before);
  return out[0];
}
