#include <string.h>

#include "sample/sample_internal.h"

static const tacit_method_t methods[] = {
    {"noise-aware", true, false, true,
     "six releases, then the posterior given them, their noise included (bernoulli, poisson)"},
    {"dp-hmc", true, true, false,
     "private Hamiltonian Monte Carlo: noisy clipped gradients, penalty-corrected acceptance"},
    {"dp-penalty", true, true, false,
     "private random-walk Metropolis with penalty-corrected noisy acceptance (full, one-component, guided)"},
    {"hmc", false, true, false, "Hamiltonian Monte Carlo, the baseline: NOT PRIVATE, needs --exposed"},
    {"rwmh", false, true, false, "random-walk Metropolis, the baseline: NOT PRIVATE, needs --exposed"},
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

tacit_status_t tacit_method_check(const tacit_method_t *method, tacit_error_t *err) {
  return !method->is_one_off ? TACIT_OK
                             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                                               "method %s is not a chain of releases: call tacit_noise_aware_fit()",
                                               method->name);
}

bool tacit_method_is_hamiltonian(const tacit_method_t *method) {
  return strcmp(method->name, "hmc") == 0 || strcmp(method->name, "dp-hmc") == 0;
}
