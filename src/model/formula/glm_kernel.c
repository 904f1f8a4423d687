#include "formula/glm_kernel.h"

#include "base/isa.h"
#include "formula/glm_kernel_internal.h"

const tacit_glm_functions_t *tacit_glm_functions(void) { return TACIT_ISA_SELECT(tacit_glm_functions); }
