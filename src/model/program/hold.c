/* Which results stay in registers of the processor from one instruction to the next. */
#include "program/code.h"
#include "program/steps.h"

#define ROW(op, held, fixed, value) {TACIT_##op, held, fixed},
static const struct { uint32_t op, held, fixed; } STEPS[] = {{UINT32_MAX, 0, 0}, TACIT_STEPS(ROW)};
#undef ROW

/* The step that fetches once the most of what is fixed. */
static uint32_t step_of(uint32_t op, uint32_t held, uint32_t fixed) {
  uint32_t best = TACIT_STEP_NONE;
  for (uint32_t step = TACIT_STEP_NONE + 1; step < TACIT_STEP_COUNT; step++) {
    bool fits = STEPS[step].op == op && STEPS[step].held == held && (STEPS[step].fixed & ~fixed) == 0;
    if (fits && (best == TACIT_STEP_NONE ||
                 __builtin_popcount(STEPS[step].fixed) > __builtin_popcount(STEPS[best].fixed))) {
      best = step;
    }
  }
  return best;
}

static void swap(uint32_t *a, uint32_t *b) {
  uint32_t kept = *a;
  *a = *b;
  *b = kept;
}

/* What multiplies or is added first may as well be second. */
static bool is_symmetric(uint32_t op) {
  return op == TACIT_OP_ADD || op == TACIT_OP_MUL || op == TACIT_OP_EQUAL || op == TACIT_MACHINE_MUL_ADD ||
         op == TACIT_MACHINE_MUL_SUB || op == TACIT_MACHINE_SUB_MUL || op == TACIT_MACHINE_NEG_MUL;
}

static unsigned arity_of(uint32_t op) {
  switch (op) {
  case TACIT_MACHINE_MUL_ADD:
  case TACIT_MACHINE_MUL_SUB:
  case TACIT_MACHINE_SUB_MUL:
    return 3;
  case TACIT_MACHINE_NEG_MUL:
  case TACIT_MACHINE_SHORT_LOG_ADD_EXP:
    return 2;
  case TACIT_MACHINE_COPY:
  case TACIT_MACHINE_SHORT_LOG1P_EXP:
    return 1;
  case TACIT_MACHINE_LOAD:
    return 0;
  default:
    return tacit_op_arity((tacit_op_t)op);
  }
}

static uint32_t operands_equal(const tacit_instruction_t *in, uint32_t which) {
  const uint32_t operand[3] = {in->a, in->b, in->c};
  uint32_t mask = 0;
  for (unsigned i = 0; i < arity_of(in->op); i++) {
    mask |= (uint32_t)(operand[i] == which) << i;
  }
  return mask;
}

static bool is_fixed(uint32_t which) {
  uint32_t kind = which & ~TACIT_OPERAND_NUMBER;
  return kind == TACIT_OPERAND_UNIFORM || kind == TACIT_OPERAND_CONSTANT;
}

/* The step of an instruction behind one that writes register `last`, if that can be held for it. */
static void take_step(tacit_instruction_t *in, uint32_t last) {
  if (is_symmetric(in->op) && (in->b == last || is_fixed(in->a))) {
    swap(&in->a, &in->b);
  }
  uint32_t fixed =
      (uint32_t)is_fixed(in->a) | (uint32_t)is_fixed(in->b) << 1 | (uint32_t)is_fixed(in->c) << 2;
  uint32_t held = operands_equal(in, last);
  in->step = held != 0 ? step_of(in->op, held, fixed) : TACIT_STEP_NONE;
  in->is_held = in->step != TACIT_STEP_NONE;
  if (!in->is_held) {
    in->step = step_of(in->op, 0, fixed);
  }
}

static bool is_read(const tacit_instruction_t *in, uint32_t which) {
  bool has_operands = in->op != TACIT_MACHINE_LOAD && in->op != TACIT_OP_DOT;
  return has_operands && (in->op == TACIT_OP_LOOKUP ? in->a == which : operands_equal(in, which) != 0);
}

/* Whether anyone looks at a register after instruction k, before it is written again. */
static bool is_wanted(const tacit_code_t *code, size_t k, uint32_t which) {
  for (size_t i = k + 1; i < code->n_instructions; i++) {
    if (is_read(&code->instructions[i], which)) {
      return true;
    }
    if (code->instructions[i].d == which) {
      return false;
    }
  }
  return false;
}

void tacit_code_hold(tacit_code_t *code) {
  tacit_instruction_t *in = code->instructions;
  for (size_t k = 0; k < code->n_instructions; k++) {
    bool is_behind = k > 0 && in[k - 1].step != TACIT_STEP_NONE;
    bool is_register = is_behind && (in[k - 1].d & TACIT_OPERAND_OUTPUT) == 0;
    take_step(&in[k], is_register ? in[k - 1].d : UINT32_MAX);
    if (in[k].is_held) {
      in[k - 1].is_stored = in[k - 1].d != in[k].d && is_wanted(code, k, in[k - 1].d);
    }
    in[k].is_stored = true;
  }
  for (size_t k = code->n_instructions; k-- > 0;) {
    bool is_short = in[k].step != TACIT_STEP_NONE, is_last = k + 1 == code->n_instructions;
    in[k].n_steps = !is_short ? 0 : is_last ? 1 : in[k + 1].n_steps + 1;
  }
}
