/* What the machine's files of one instruction set and kind of number share. */
#ifndef TACIT_PROGRAM_STEPS_ISA_H
#define TACIT_PROGRAM_STEPS_ISA_H

#include "program/lanes.h"
#include "program/machine.h"

enum { REGISTER = TACIT_CHUNK_BLOCKS * 16, VECTORS = 16 / LANES }; /* VECTORS: of a block */

/* An operand of all blocks: where the first lane is, and how far it is to the next block. */
typedef struct operand {
  const real *at;
  size_t step;
} operand_t;

typedef struct place {
  real *at;
  size_t step;
} place_t;

/* Where operands of each kind, and results, are. */
typedef struct places {
  operand_t from[4];
  place_t to[2];
} places_t;

/* From a block on. The kind is in the two highest bits. */
TACIT_INLINE operand_t operand(const places_t *places, uint32_t which, size_t first) {
  const operand_t *of = &places->from[which >> 30];
  return (operand_t){of->at + (size_t)(which & TACIT_OPERAND_NUMBER) * 16 + first * of->step, of->step};
}
TACIT_INLINE place_t place(const places_t *places, uint32_t which, size_t first) {
  const place_t *of = &places->to[which >> 30];
  return (place_t){of->at + (size_t)(which & TACIT_OPERAND_NUMBER) * 16 + first * of->step, of->step};
}

#define TACIT_MACHINE_NAME__(what, isa, kind) tacit_machine_##what##_##kind##_##isa
#define TACIT_MACHINE_NAME_(what, isa, kind) TACIT_MACHINE_NAME__(what, isa, kind)
#if TACIT_LANES_DOUBLE
#define TACIT_MACHINE_NAME(what) TACIT_MACHINE_NAME_(what, TACIT_ISA, double)
#else
#define TACIT_MACHINE_NAME(what) TACIT_MACHINE_NAME_(what, TACIT_ISA, float)
#endif

/* A column as numbers of the machine, and the `number`-th product of n columns from in->a on with n scalars
 * from in->b on: with two parameter vectors of both, the second's kept in the frame's stash. */
void TACIT_MACHINE_NAME(load)(const tacit_frame_t *frame, size_t column, place_t d);
void TACIT_MACHINE_NAME(dot)(const tacit_frame_t *frame, const tacit_instruction_t *in, size_t number,
                             place_t d);

/* The short operations from an instruction to the last of its run, on all blocks. */
void TACIT_MACHINE_NAME(steps)(const tacit_instruction_t *in, const places_t *places, size_t n_blocks);

#endif
