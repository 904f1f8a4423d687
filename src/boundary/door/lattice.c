#include <math.h>

#include "base/isa.h"
#include "door/door_internal.h"

extern const tacit_lattice_functions_t tacit_lattice_functions_portable;
#if defined(__x86_64__)
extern const tacit_lattice_functions_t tacit_lattice_functions_avx2;
extern const tacit_lattice_functions_t tacit_lattice_functions_avx512;
#endif

const tacit_lattice_functions_t *tacit_lattice_functions(void) {
  return TACIT_ISA_SELECT(tacit_lattice_functions);
}

tacit_lattice_t tacit_lattice_for(const tacit_vectors_t *of, double bound) {
  size_t terms = 0; /* of the squared norm, and of features' whose norm may not be known */
  for (size_t i = 0; i < of->n_pieces; i++) {
    const tacit_piece_t *piece = &of->pieces[i];
    terms += piece->kind == TACIT_PIECE_GATHER || tacit_piece_is_whole(of, piece) ? 1 : piece->n;
  }
  double slack = ((double)terms + 16) * 0x1p-23;
  return (tacit_lattice_t){.scale_in = (float)(of->scale / bound),
                           .scale_out = (float)((double)(1 << TACIT_LATTICE_BITS) * (1 - slack)),
                           .radius = 1 << TACIT_LATTICE_BITS};
}
