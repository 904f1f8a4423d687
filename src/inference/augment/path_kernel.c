#include "augment/path_kernel.h"

#include "base/isa.h"

extern const tacit_path_kernel_t tacit_path_kernel_portable;
#if defined(__x86_64__)
extern const tacit_path_kernel_t tacit_path_kernel_avx2;
extern const tacit_path_kernel_t tacit_path_kernel_avx512;
#endif

const tacit_path_kernel_t *tacit_path_kernel(void) { return TACIT_ISA_SELECT(tacit_path_kernel); }
