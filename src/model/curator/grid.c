#include "base/isa.h"
#include "curator/curator_internal.h"

extern const tacit_grid_functions_t tacit_grid_functions_portable;
#if defined(__x86_64__)
extern const tacit_grid_functions_t tacit_grid_functions_avx2;
extern const tacit_grid_functions_t tacit_grid_functions_avx512;
#endif

const tacit_grid_functions_t *tacit_grid_functions(void) { return TACIT_ISA_SELECT(tacit_grid_functions); }
