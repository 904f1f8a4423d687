#include "noise_aware/kernel.h"

#include "base/isa.h"

extern const tacit_aware_kernel_t tacit_aware_kernel_portable;
#if defined(__x86_64__)
extern const tacit_aware_kernel_t tacit_aware_kernel_avx2;
extern const tacit_aware_kernel_t tacit_aware_kernel_avx512;
#endif

const tacit_aware_kernel_t *tacit_aware_kernel(void) { return TACIT_ISA_SELECT(tacit_aware_kernel); }
