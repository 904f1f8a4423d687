#include "base/isa.h"

#if defined(__x86_64__)
static tacit_isa_t limit = TACIT_ISA_AVX512;

void tacit_isa_limit(tacit_isa_t most) { limit = most; }

tacit_isa_t tacit_isa_limited(void) { return limit; }
#else
typedef int tacit_no_choice_t; /* a file must declare something */
#endif
