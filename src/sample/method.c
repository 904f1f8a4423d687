#include <string.h>

#include "sample/sample_internal.h"

static const tacit_method_t methods[] = {
    {"dp-hmc", true, true,
     "private Hamiltonian Monte Carlo: noisy clipped gradients, penalty-corrected acceptance"},
    {"dp-penalty", true, true,
     "private random-walk Metropolis with penalty-corrected noisy acceptance (full, one-component, guided)"},
    {"hmc", false, true, "Hamiltonian Monte Carlo, the baseline: NOT PRIVATE, needs --exposed"},
    {"rwmh", false, true, "random-walk Metropolis, the baseline: NOT PRIVATE, needs --exposed"},
};

const tacit_method_t *tacit_method_get(size_t i) {
  return i < sizeof methods / sizeof methods[0] ? &methods[i] : NULL;
}

const tacit_method_t *tacit_method_find(const char *name) {
  for (size_t i = 0; tacit_method_get(i) != NULL; i++) {
    if (strcmp(methods[i].name, name) == 0) {
      return &methods[i];
    }
  }
  return NULL;
}

bool tacit_method_is_hamiltonian(const tacit_method_t *method) {
  return strcmp(method->name, "hmc") == 0 || strcmp(method->name, "dp-hmc") == 0;
}
