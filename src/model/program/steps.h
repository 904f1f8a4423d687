/*
 * The short operations of the machine. A, B, C are the operands. Where the registers of the processor have
 * room for a chunk, an operation is a choice of steps: operand i, H, may be held there, the result of the
 * instruction before (bit i of `held`), or is fetched once as it is the same for all blocks (bit i of
 * `fixed`). Which instruction takes which step: hold.c.
 */
#ifndef TACIT_PROGRAM_STEPS_H
#define TACIT_PROGRAM_STEPS_H

/* S(operation, held, fixed, value) */
#define TACIT_PLAIN_STEPS(S)                                                                                 \
  S(OP_ADD, 0, 0, A + B)                                                                                     \
  S(OP_SUB, 0, 0, A - B)                                                                                     \
  S(OP_MUL, 0, 0, A *B)                                                                                      \
  S(OP_DIV, 0, 0, A / B)                                                                                     \
  S(MACHINE_MUL_ADD, 0, 0, A *B + C)                                                                         \
  S(MACHINE_MUL_SUB, 0, 0, A *B - C)                                                                         \
  S(MACHINE_SUB_MUL, 0, 0, C - A * B)                                                                        \
  S(MACHINE_NEG_MUL, 0, 0, -(A * B))                                                                         \
  S(MACHINE_COPY, 0, 0, A)                                                                                   \
  S(OP_NEG, 0, 0, -A)                                                                                        \
  S(OP_ABS, 0, 0, size_of(A))                                                                                \
  S(OP_MIN, 0, 0, keep_nan(A, lesser(A, B)))                                                                 \
  S(OP_MAX, 0, 0, keep_nan(A, greater(A, B)))                                                                \
  S(OP_FLOOR, 0, 0, lanes_floor(A))                                                                          \
  S(OP_SQRT, 0, 0, root(A))                                                                                  \
  S(OP_LESS, 0, 0, truth(A < B))                                                                             \
  S(OP_AT_MOST, 0, 0, truth(A <= B))                                                                         \
  S(OP_EQUAL, 0, 0, truth(A == B))                                                                           \
  S(OP_SELECT, 0, 0, choose_where(A, B, C))                                                                  \
  S(OP_RATIO1, 0, 0, A / (A * A + (real)1))                                                                  \
  S(OP_RATIO2, 0, 0, (A * A) / (A * A + (real)1))

#define TACIT_OTHER_STEPS(S)                                                                                 \
  S(OP_ADD, 0, 2, A + B)                                                                                     \
  S(OP_SUB, 0, 1, A - B)                                                                                     \
  S(OP_SUB, 0, 2, A - B)                                                                                     \
  S(OP_MUL, 0, 2, A *B)                                                                                      \
  S(MACHINE_MUL_ADD, 0, 2, A *B + C)                                                                         \
  S(MACHINE_MUL_ADD, 0, 6, A *B + C)                                                                         \
  S(MACHINE_MUL_SUB, 0, 2, A *B - C)                                                                         \
  S(MACHINE_MUL_SUB, 0, 6, A *B - C)                                                                         \
  S(MACHINE_SUB_MUL, 0, 2, C - A * B)                                                                        \
  S(MACHINE_SUB_MUL, 0, 6, C - A * B)                                                                        \
  S(MACHINE_NEG_MUL, 0, 2, -(A * B))                                                                         \
  S(OP_LESS, 0, 2, truth(A < B))                                                                             \
  S(OP_AT_MOST, 0, 2, truth(A <= B))                                                                         \
  S(OP_EQUAL, 0, 2, truth(A == B))                                                                           \
  S(OP_SELECT, 0, 4, choose_where(A, B, C))                                                                  \
  S(OP_SELECT, 0, 6, choose_where(A, B, C))                                                                  \
  S(OP_ADD, 1, 0, H + B)                                                                                     \
  S(OP_ADD, 1, 2, H + B)                                                                                     \
  S(OP_SUB, 1, 0, H - B)                                                                                     \
  S(OP_SUB, 1, 2, H - B)                                                                                     \
  S(OP_SUB, 2, 0, A - H)                                                                                     \
  S(OP_SUB, 2, 1, A - H)                                                                                     \
  S(OP_MUL, 1, 0, H *B)                                                                                      \
  S(OP_MUL, 1, 2, H *B)                                                                                      \
  S(OP_MUL, 3, 0, H *H)                                                                                      \
  S(OP_DIV, 1, 0, H / B)                                                                                     \
  S(OP_DIV, 2, 0, A / H)                                                                                     \
  S(MACHINE_MUL_ADD, 1, 0, H *B + C)                                                                         \
  S(MACHINE_MUL_ADD, 1, 2, H *B + C)                                                                         \
  S(MACHINE_MUL_ADD, 1, 4, H *B + C)                                                                         \
  S(MACHINE_MUL_ADD, 1, 6, H *B + C)                                                                         \
  S(MACHINE_MUL_ADD, 3, 0, H *H + C)                                                                         \
  S(MACHINE_MUL_ADD, 3, 4, H *H + C)                                                                         \
  S(MACHINE_MUL_ADD, 4, 0, A *B + H)                                                                         \
  S(MACHINE_MUL_ADD, 4, 2, A *B + H)                                                                         \
  S(MACHINE_MUL_SUB, 1, 0, H *B - C)                                                                         \
  S(MACHINE_MUL_SUB, 1, 2, H *B - C)                                                                         \
  S(MACHINE_MUL_SUB, 1, 4, H *B - C)                                                                         \
  S(MACHINE_MUL_SUB, 1, 6, H *B - C)                                                                         \
  S(MACHINE_MUL_SUB, 3, 0, H *H - C)                                                                         \
  S(MACHINE_MUL_SUB, 3, 4, H *H - C)                                                                         \
  S(MACHINE_MUL_SUB, 4, 0, A *B - H)                                                                         \
  S(MACHINE_MUL_SUB, 4, 2, A *B - H)                                                                         \
  S(MACHINE_SUB_MUL, 1, 0, C - H * B)                                                                        \
  S(MACHINE_SUB_MUL, 1, 2, C - H * B)                                                                        \
  S(MACHINE_SUB_MUL, 1, 4, C - H * B)                                                                        \
  S(MACHINE_SUB_MUL, 1, 6, C - H * B)                                                                        \
  S(MACHINE_SUB_MUL, 3, 0, C - H * H)                                                                        \
  S(MACHINE_SUB_MUL, 3, 4, C - H * H)                                                                        \
  S(MACHINE_SUB_MUL, 4, 0, H - A * B)                                                                        \
  S(MACHINE_SUB_MUL, 4, 2, H - A * B)                                                                        \
  S(MACHINE_NEG_MUL, 1, 0, -(H * B))                                                                         \
  S(MACHINE_NEG_MUL, 1, 2, -(H * B))                                                                         \
  S(MACHINE_NEG_MUL, 3, 0, -(H * H))                                                                         \
  S(MACHINE_COPY, 1, 0, H)                                                                                   \
  S(OP_NEG, 1, 0, -H)                                                                                        \
  S(OP_ABS, 1, 0, size_of(H))                                                                                \
  S(OP_MIN, 1, 0, keep_nan(H, lesser(H, B)))                                                                 \
  S(OP_MIN, 2, 0, keep_nan(A, lesser(A, H)))                                                                 \
  S(OP_MAX, 1, 0, keep_nan(H, greater(H, B)))                                                                \
  S(OP_MAX, 2, 0, keep_nan(A, greater(A, H)))                                                                \
  S(OP_FLOOR, 1, 0, lanes_floor(H))                                                                          \
  S(OP_SQRT, 1, 0, root(H))                                                                                  \
  S(OP_LESS, 1, 0, truth(H < B))                                                                             \
  S(OP_LESS, 2, 0, truth(A < H))                                                                             \
  S(OP_AT_MOST, 1, 0, truth(H <= B))                                                                         \
  S(OP_AT_MOST, 2, 0, truth(A <= H))                                                                         \
  S(OP_EQUAL, 1, 0, truth(H == B))                                                                           \
  S(OP_SELECT, 1, 0, choose_where(H, B, C))                                                                  \
  S(OP_SELECT, 1, 4, choose_where(H, B, C))                                                                  \
  S(OP_SELECT, 1, 6, choose_where(H, B, C))                                                                  \
  S(OP_SELECT, 2, 0, choose_where(A, H, C))                                                                  \
  S(OP_SELECT, 2, 4, choose_where(A, H, C))                                                                  \
  S(OP_SELECT, 4, 0, choose_where(A, B, H))                                                                  \
  S(OP_SELECT, 4, 2, choose_where(A, B, H))                                                                  \
  S(OP_RATIO1, 1, 0, H / (H * H + (real)1))                                                                  \
  S(OP_RATIO2, 1, 0, (H * H) / (H * H + (real)1))

#define TACIT_STEPS(S) TACIT_PLAIN_STEPS(S) TACIT_OTHER_STEPS(S)
#define TACIT_STEP_NUMBER(op, held, fixed, value) TACIT_STEP_##op##_##held##_##fixed,
enum { TACIT_STEP_NONE, TACIT_STEPS(TACIT_STEP_NUMBER) TACIT_STEP_COUNT };
#undef TACIT_STEP_NUMBER

#endif
