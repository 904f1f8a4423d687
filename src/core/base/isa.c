#include "base/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { UNREAD = -1 };
static const char *const names[] = {"portable", "avx2", "avx512"};
static atomic_int limit = UNREAD; /* of what is used; the environment is read once */

/* The widest that the processor has and the library was built for. Both kinds measured, Intel's with AVX-512
 * and Zen 4, whose registers of 64 bytes are worked on in two halves, are fastest with their widest
 * (docs/performance.md). */
static tacit_isa_t widest(void) {
#if defined(__x86_64__) && !defined(TACIT_PORTABLE_KERNELS)
  return tacit_has_avx512() ? TACIT_ISA_AVX512 : tacit_has_avx2() ? TACIT_ISA_AVX2 : TACIT_ISA_PORTABLE;
#else
  return TACIT_ISA_PORTABLE;
#endif
}

/* What the environment asks for: -1 if nothing, 3 if none that there is. */
static int asked(void) {
  const char *name = getenv("TACIT_INSTRUCTION_SET");
  if (name == NULL || name[0] == '\0') {
    return -1;
  }
  int isa = 0;
  while (isa < 3 && strcmp(name, names[isa]) != 0) {
    isa++;
  }
  return isa;
}

void tacit_isa_limit(tacit_isa_t most) { atomic_store_explicit(&limit, (int)most, memory_order_relaxed); }

tacit_isa_t tacit_isa_limited(void) {
  int most = atomic_load_explicit(&limit, memory_order_relaxed);
  if (most == UNREAD) {
    most = asked();
    most = most < 0 || most > TACIT_ISA_AVX512 ? TACIT_ISA_AVX512 : most;
    tacit_isa_limit((tacit_isa_t)most);
  }
  return (tacit_isa_t)most;
}

const char *tacit_isa_name(void) {
  tacit_isa_t most = tacit_isa_limited(), has = widest();
  return names[most < has ? most : has];
}

tacit_status_t tacit_isa_check(tacit_error_t *err) {
  int isa = asked();
  if (isa > TACIT_ISA_AVX512) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "TACIT_INSTRUCTION_SET",
        "the environment's TACIT_INSTRUCTION_SET must be portable, avx2 or avx512, not '%s'",
        getenv("TACIT_INSTRUCTION_SET"));
  }
  if (isa > (int)widest()) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "TACIT_INSTRUCTION_SET",
        "the environment's TACIT_INSTRUCTION_SET is %s, which this processor lacks: at most %s", names[isa],
        names[widest()]);
  }
  return TACIT_OK;
}
