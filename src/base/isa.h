/*
 * Choice of instruction set at run time. All give the same bits (see vector.h), so the choice is
 * a matter of speed alone.
 */
#ifndef TACIT_ISA_H
#define TACIT_ISA_H

#if defined(__x86_64__)
static inline int tacit_has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
static inline int tacit_has_avx2(void) {
  return __builtin_cpu_supports("avx2");
}
/* Choose among the three variants of a table named `prefix_<isa>`. */
#  define TACIT_ISA_SELECT(prefix) \
    (tacit_has_avx512() ? &prefix##_avx512 : tacit_has_avx2() ? &prefix##_avx2 : &prefix##_portable)
#else
#  define TACIT_ISA_SELECT(prefix) (&prefix##_portable)
#endif

#endif
