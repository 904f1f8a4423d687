/* Functions that need not be as exact as doubles are, where what is computed is rounded to a grid. */
#include <math.h>

#include "base/memory.h"
#include "program/code.h"

/* Most that errors of short functions count in an output, in errors of one. */
static const double MOST_WEIGHT = 4;

/*
 * From the last instruction to the first: by how much at most the output moves for what a register's value
 * moves; infinite where that is not known here.
 */
typedef struct weights {
  const tacit_code_t *code;
  double *of; /* (n_registers) */
  double spent;
} weights_t;

static double *of_register(weights_t *w, uint32_t which) {
  bool is_register = (which & ~TACIT_OPERAND_NUMBER) == TACIT_OPERAND_REGISTER;
  return is_register ? &w->of[which / TACIT_CHUNK_BLOCKS] : NULL;
}

static void add(weights_t *w, uint32_t which, double weight) {
  double *of = of_register(w, which);
  if (of != NULL && weight > 0) {
    *of += weight;
  }
}

/* To both factors, of which one may be a constant. */
static void add_product(weights_t *w, const tacit_instruction_t *in, double weight) {
  const uint32_t factor[2] = {in->a, in->b};
  for (unsigned i = 0; i < 2; i++) {
    uint32_t other = factor[1 - i];
    bool is_constant = (other & ~TACIT_OPERAND_NUMBER) == TACIT_OPERAND_CONSTANT;
    double size =
        is_constant ? fabs(w->code->constants[(size_t)(other & TACIT_OPERAND_NUMBER) * 16]) : INFINITY;
    add(w, factor[i], weight > 0 && size > 0 ? weight * size : 0);
  }
}

/* To the operands of an instruction whose result has a weight. */
static void spread(weights_t *w, const tacit_instruction_t *in, double weight) {
  switch (in->op) {
  case TACIT_OP_NEG:
  case TACIT_MACHINE_COPY:
  case TACIT_OP_LOG1P_EXP: /* slopes of 0 .. 1 */
    add(w, in->a, weight);
    break;
  case TACIT_OP_ADD:
  case TACIT_OP_SUB:
  case TACIT_OP_MIN:
  case TACIT_OP_MAX:
  case TACIT_OP_LOG_ADD_EXP:
    add(w, in->a, weight);
    add(w, in->b, weight);
    break;
  case TACIT_OP_MUL:
  case TACIT_MACHINE_NEG_MUL:
    add_product(w, in, weight);
    break;
  case TACIT_MACHINE_MUL_ADD:
  case TACIT_MACHINE_MUL_SUB:
  case TACIT_MACHINE_SUB_MUL:
    add_product(w, in, weight);
    add(w, in->c, weight);
    break;
  case TACIT_OP_SELECT:
    add(w, in->a, INFINITY);
    add(w, in->b, weight);
    add(w, in->c, weight);
    break;
  case TACIT_MACHINE_LOAD:
  case TACIT_OP_DOT:
    break;
  default:
    add(w, in->a, INFINITY);
    add(w, in->b, INFINITY);
    add(w, in->c, INFINITY);
  }
}

static uint32_t short_of(uint32_t op) {
  return op == TACIT_OP_LOG1P_EXP     ? TACIT_MACHINE_SHORT_LOG1P_EXP
         : op == TACIT_OP_LOG_ADD_EXP ? TACIT_MACHINE_SHORT_LOG_ADD_EXP
                                      : op;
}

bool tacit_code_shorten(tacit_code_t *code) {
  weights_t w = {.code = code, .of = tacit_alloc_zero(code->n_registers, sizeof *w.of)};
  if (w.of == NULL) {
    return false;
  }
  for (size_t k = code->n_instructions; k-- > 0;) {
    tacit_instruction_t *in = &code->instructions[k];
    double *of = of_register(&w, in->d), weight = of != NULL ? *of : 1;
    if (of != NULL) {
      *of = 0;
    }
    if (weight > 0) {
      spread(&w, in, weight);
    }
    if (weight > 0 && short_of(in->op) != in->op && w.spent + weight <= MOST_WEIGHT) {
      w.spent += weight;
      in->op = short_of(in->op);
    }
  }
  tacit_free(w.of);
  tacit_code_hold(code);
  return true;
}
