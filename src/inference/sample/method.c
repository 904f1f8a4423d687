#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "sample/sample_internal.h"

static const tacit_method_t methods[] = {
    {"noise-aware", true, false, true,
     "six releases, then the posterior given them, their noise included (bernoulli; poisson: seven; "
     "gaussian: five to seven)"},
    {"dp-barker", true, true, false,
     "private random walk: nothing but Barker's accept/reject bit is released, no noise anywhere"},
    {"dp-barker-vcorr", true, false, false,
     "Barker's test of a noisy ratio from Poisson minibatches, with the correction variable that comes "
     "nearest; approximate"},
    {"dp-fast-mh", true, true, false,
     "private TunaMH: Barker's bit from a random minibatch, with public constants"},
    {"dp-fast-mh-full", true, true, false, "the same from all records: as dp-barker, all components at once"},
    {"dp-hmc", true, true, false,
     "private Hamiltonian Monte Carlo: noisy clipped gradients, penalty-corrected acceptance"},
    {"dp-mala", true, true, false,
     "private Langevin: the proposal's noise hides the gradient, the decision costs little; bernoulli, "
     "categorical"},
    {"dp-penalty", true, true, false,
     "private random-walk Metropolis with penalty-corrected noisy acceptance (full, one-component, guided)"},
    {"dp-penalty-subsampled", true, false, false,
     "the same from Poisson minibatches; nearly exact as long as the sampling noise is nearly normal"},
    {"dp-sghmc", true, false, false,
     "private stochastic gradient HMC with friction, Poisson minibatches; no acceptance test"},
    {"dp-sgld", true, false, false,
     "private stochastic gradient Langevin dynamics, Poisson minibatches; no acceptance test"},
    {"dp-sgnht", true, false, false,
     "private stochastic gradient Nose-Hoover thermostat, Poisson minibatches; no acceptance test"},
    {"hmc", false, true, false, "Hamiltonian Monte Carlo, the baseline: NOT PRIVATE, needs --exposed"},
    {"rwmh", false, true, false, "random-walk Metropolis, the baseline: NOT PRIVATE, needs --exposed"},
    {"sghmc", false, false, false,
     "stochastic gradient HMC with friction, the baseline: NOT PRIVATE, needs --exposed"},
    {"sghmc-naive", false, false, false,
     "the same without friction, too hot by design: NOT PRIVATE, needs --exposed"},
    {"tunamh", false, true, false,
     "minibatch Metropolis, exact where no log ratio is clipped, the baseline: NOT PRIVATE, needs --exposed"},
};

/* In the same order. */
static const tacit_traits_t traits[] = {
    {TACIT_MOVE_WALK, TACIT_DECISION_RATIO}, /* no chain of releases: not used */
    {TACIT_MOVE_WALK, TACIT_DECISION_BIT},
    {TACIT_MOVE_WALK, TACIT_DECISION_SAMPLED_BARKER},
    {TACIT_MOVE_WALK, TACIT_DECISION_MINIBATCH},
    {TACIT_MOVE_WALK, TACIT_DECISION_BIT},
    {TACIT_MOVE_HAMILTONIAN, TACIT_DECISION_RATIO_OR_BIT},
    {TACIT_MOVE_LANGEVIN, TACIT_DECISION_LANGEVIN},
    {TACIT_MOVE_WALK, TACIT_DECISION_RATIO_OR_BIT},
    {TACIT_MOVE_WALK, TACIT_DECISION_SAMPLED_RATIO},
    {TACIT_MOVE_SGHMC, TACIT_DECISION_NONE},
    {TACIT_MOVE_SGLD, TACIT_DECISION_NONE},
    {TACIT_MOVE_SGNHT, TACIT_DECISION_NONE},
    {TACIT_MOVE_HAMILTONIAN, TACIT_DECISION_RATIO_OR_BIT},
    {TACIT_MOVE_WALK, TACIT_DECISION_RATIO_OR_BIT},
    {TACIT_MOVE_SGHMC, TACIT_DECISION_NONE},
    {TACIT_MOVE_SGHMC_NAIVE, TACIT_DECISION_NONE},
    {TACIT_MOVE_WALK, TACIT_DECISION_MINIBATCH},
};

static_assert(sizeof methods / sizeof methods[0] == sizeof traits / sizeof traits[0], "one row each");

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

tacit_traits_t tacit_method_traits(const tacit_method_t *method, const tacit_sampler_settings_t *settings) {
  tacit_traits_t of = traits[method - methods];
  if (of.decision == TACIT_DECISION_RATIO_OR_BIT) {
    of.decision = settings->accept_bit && method->is_private ? TACIT_DECISION_BIT : TACIT_DECISION_RATIO;
  }
  return of;
}

bool tacit_traits_is_stochastic(tacit_traits_t traits_of) {
  return traits_of.decision == TACIT_DECISION_NONE;
}

bool tacit_decision_is_sampled_ratio(tacit_decision_t decision) {
  return decision == TACIT_DECISION_SAMPLED_RATIO || decision == TACIT_DECISION_SAMPLED_BARKER;
}

bool tacit_decision_is_by_ratio(tacit_decision_t decision) {
  return decision == TACIT_DECISION_RATIO || tacit_decision_is_sampled_ratio(decision);
}

bool tacit_sampler_is_exact(const tacit_method_t *method, const tacit_sampler_settings_t *settings) {
  bool is_full_batch = !method->is_one_off &&
                       tacit_decision_is_sampled_ratio(tacit_method_traits(method, settings).decision) &&
                       settings->sampling_rate >= 1;
  bool is_corrected =
      strcmp(method->name, "dp-barker-vcorr") != 0 || settings->barker_test == TACIT_BARKER_PENALTY;
  return method->is_exact || (is_full_batch && is_corrected);
}

bool tacit_method_is_by_minibatch(const tacit_method_t *method, const tacit_sampler_settings_t *settings) {
  if (method->is_one_off) {
    return false;
  }
  tacit_traits_t of = tacit_method_traits(method, settings);
  bool has_rate = of.decision == TACIT_DECISION_NONE || tacit_decision_is_sampled_ratio(of.decision);
  return of.decision == TACIT_DECISION_MINIBATCH || (has_rate && settings->sampling_rate < 1);
}

tacit_status_t tacit_method_check(const tacit_method_t *method, tacit_error_t *err) {
  return !method->is_one_off
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                               "method %s is not a chain of releases: call tacit_noise_aware_fit()",
                               method->name);
}
