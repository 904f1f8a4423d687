/* One table of kernels for each instruction set the library was built for. */
#ifndef TACIT_GLM_KERNEL_INTERNAL_H
#define TACIT_GLM_KERNEL_INTERNAL_H

#include "formula/glm_kernel.h"

extern const tacit_glm_functions_t tacit_glm_functions_portable;
#if defined(__x86_64__)
extern const tacit_glm_functions_t tacit_glm_functions_avx2;
extern const tacit_glm_functions_t tacit_glm_functions_avx512;
#endif

#endif
