/*
 * Choice of instruction set at run time: the widest that the processor has, or the one that the environment
 * names, TACIT_INSTRUCTION_SET. All give the same bits (see vector.h), so the choice is a matter of speed
 * alone.
 */
#ifndef TACIT_ISA_H
#define TACIT_ISA_H

#include "tacit/base.h"

typedef enum tacit_isa { TACIT_ISA_PORTABLE = 0, TACIT_ISA_AVX2, TACIT_ISA_AVX512 } tacit_isa_t;

/* At most this is used from now on, whatever the processor has and the environment says; for tests. Not to be
 * called while others compute. */
void tacit_isa_limit(tacit_isa_t most);
tacit_isa_t tacit_isa_limited(void);
/* Of what is used: portable, avx2, avx512. */
const char *tacit_isa_name(void);
/* TACIT_ERR_ARGUMENT where the environment names what does not exist or the processor lacks. */
TACIT_MUST_USE tacit_status_t tacit_isa_check(tacit_error_t *err);

#if defined(__x86_64__)
static inline int tacit_has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
static inline int tacit_has_avx2(void) { return __builtin_cpu_supports("avx2"); }
#endif

/* Choose among the variants of a table named `prefix_<isa>`. */
#if defined(__x86_64__) && !defined(TACIT_PORTABLE_KERNELS)
#define TACIT_ISA_SELECT(prefix)                                                                             \
  (tacit_has_avx512() && tacit_isa_limited() >= TACIT_ISA_AVX512 ? &prefix##_avx512                          \
   : tacit_has_avx2() && tacit_isa_limited() >= TACIT_ISA_AVX2   ? &prefix##_avx2                            \
                                                                 : &prefix##_portable)
#else
#define TACIT_ISA_SELECT(prefix) (&prefix##_portable)
#endif

#endif
