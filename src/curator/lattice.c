#include <math.h>

#include "base/isa.h"
#include "curator/curator_internal.h"

extern const tacit_lattice_functions_t tacit_lattice_functions_portable;
#if defined(__x86_64__)
extern const tacit_lattice_functions_t tacit_lattice_functions_avx2;
extern const tacit_lattice_functions_t tacit_lattice_functions_avx512;
#endif

const tacit_lattice_functions_t *tacit_lattice_functions(void) {
  return TACIT_ISA_SELECT(tacit_lattice_functions);
}

tacit_lattice_t tacit_lattice_for(const tacit_record_model_t *model, double temperature_power, double bound) {
  size_t terms = model->n_linear > 0 ? model->n_linear + model->n_extra : model->dim;
  double slack = ((double)terms + 16) * 0x1p-23;
  return (tacit_lattice_t){.scale_in = (float)(temperature_power / bound),
                           .scale_out = (float)((double)(1 << TACIT_LATTICE_BITS) * (1 - slack))};
}
