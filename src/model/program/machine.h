/*
 * The machine: straight programs over blocks of 16 records, one operation after another on all lanes of some
 * blocks. Values are floats or doubles; the same source is compiled for both and each instruction set
 * (machine_isa.c, columns_isa.c, steps_isa.c), with equal bits on all sets.
 */
#ifndef TACIT_PROGRAM_MACHINE_H
#define TACIT_PROGRAM_MACHINE_H

#include "program/graph.h"

enum { TACIT_CHUNK_BLOCKS = 16 }; /* most blocks of a run */

/* Operations beside those of graphs. */
enum {
  TACIT_MACHINE_LOAD = TACIT_OP_COUNT, /* d <- column a */
  TACIT_MACHINE_MUL_ADD,               /* d <- a b + c, rounded twice */
  TACIT_MACHINE_MUL_SUB,               /* d <- a b - c, the same */
  TACIT_MACHINE_SUB_MUL,               /* d <- c - a b, the same */
  TACIT_MACHINE_NEG_MUL,               /* d <- -(a b) */
  TACIT_MACHINE_COPY,                  /* d <- a */
  TACIT_MACHINE_SHORT_LOG1P_EXP,       /* d <- log(1 + e^a) to 2^-34, of doubles alone (shorten.c) */
  TACIT_MACHINE_SHORT_LOG_ADD_EXP      /* d <- log(e^a + e^b), the same */
};

/*
 * Operands a, b, c: a kind and a number, of 16 lanes each; destination d: a register or an output. A register
 * has TACIT_CHUNK_BLOCKS numbers, the first of which stands for it. Columns are operands of machines of
 * floats alone, as they lie. DOT: d <- sum of column a + j times scalar b + j, j < n. LOOKUP: d
 * <- scalar b + i, i = operand a less `first`, clamped to 0 .. n - 1.
 */
#define TACIT_OPERAND_REGISTER 0u
#define TACIT_OPERAND_UNIFORM (1u << 30)
#define TACIT_OPERAND_CONSTANT (2u << 30)
#define TACIT_OPERAND_COLUMN (3u << 30)
#define TACIT_OPERAND_NUMBER ((1u << 30) - 1)
#define TACIT_OPERAND_OUTPUT (1u << 30)

typedef struct tacit_instruction {
  uint32_t op, d, a, b, c, n;
  float first;
  uint32_t step, n_steps; /* of a short operation: its number (steps.h); short ones from here on */
  bool is_held;           /* an operand is the result before, which is held */
  bool is_stored;         /* else whoever looks at the result holds it */
} tacit_instruction_t;

typedef struct tacit_code {
  tacit_instruction_t *instructions;
  size_t n_instructions, instruction_capacity;
  double *constants;      /* (n_constants, 16) */
  float *constants_float; /* the same */
  size_t n_constants, constant_capacity;
  size_t n_registers, n_outputs;
  size_t n_dots;
} tacit_code_t;

/* What a run works on; pointers to floats or to doubles, as the machine is. 64-byte aligned. */
typedef struct tacit_frame {
  const float *block; /* (n_blocks, block_stride): columns of 16 */
  size_t block_stride, n_blocks;
  void *registers;       /* (n_registers, TACIT_CHUNK_BLOCKS, 16) */
  const void *uniforms;  /* (any, 16), the same for all blocks */
  const void *scalars;   /* parameters of dot products, tables */
  const void *scalars_2; /* of the next parameter vector: its dot products go to the stash; or NULL */
  void *stash;           /* (n_dots, TACIT_CHUNK_BLOCKS, 16) */
  bool has_stash;        /* dot products are there already */
  void *out;             /* output o of block b is at out + b out_stride + 16 o */
  size_t out_stride;
} tacit_frame_t;

typedef struct tacit_machine {
  void (*run_float)(const tacit_code_t *code, const tacit_frame_t *frame);
  void (*run_double)(const tacit_code_t *code, const tacit_frame_t *frame);
} tacit_machine_t;

const tacit_machine_t *tacit_machine(void);

/*
 * Denormal numbers count as zero from begin to end: they take a hundred times as long, which is time lost
 * and, worse, time that tells of the records.
 */
unsigned tacit_machine_begin(void);
void tacit_machine_end(unsigned before);

#endif
