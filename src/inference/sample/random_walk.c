/*
 * Random-walk Metropolis, plain (rwmh) and with penalty noise (dp-penalty): all components at once, one at a
 * time (OCU), or guided (GRW) [Raisa2021, section 3.2; Gustafson1998].
 */
#include <math.h>
#include <string.h>

#include "sample/sample_internal.h"

static void propose_full(tacit_run_t *run, size_t c) {
  size_t d = run->dim;
  double *z = run->momentum + c * d, *move = run->scratch + c * d;
  for (size_t j = 0; j < d; j++) {
    z[j] = tacit_rng_normal(run->rngs[c]);
  }
  tacit_metric_scale(&run->metric, z, move);
  for (size_t j = 0; j < d; j++) {
    run->theta_prop[c * d + j] = run->theta[c * d + j] + run->step_size[c] * move[j];
  }
}

/*
 * Where only the bit leaves, or is to be charged for, or the noise is to have a variance fixed beforehand,
 * every move has the ratio bound that is charged for, or in one dimension a random share of it: shorter moves
 * would cost as much. Public and symmetric as long as the bound is one of the difference of the points alone,
 * which tacit_plan() cannot know of a user's model; a proposal beyond the bound is rejected.
 */
static void stretch(tacit_run_t *run, size_t c, bool is_single) {
  size_t d = run->dim;
  const double *from = run->theta + c * d;
  double *to = run->theta_prop + c * d, most = run->settings->accept_rule.max_bound * (1 - 1e-9);
  double share = is_single || d == 1 ? 0.5 + 0.5 * tacit_rng_uniform(run->rngs[c]) : 1;
  double factor = share * most / tacit_curator_public_ratio_bound(run->curator, from, to);
  for (size_t j = 0; j < d && isfinite(factor); j++) {
    to[j] = from[j] + factor * (to[j] - from[j]);
  }
}

/* Marginal scale of component j under the metric. */
static double component_scale(const tacit_metric_t *metric, size_t j) {
  return metric->is_dense ? sqrt(metric->inv_metric[j * metric->dim + j]) : metric->root[j];
}

/* Returns the component that moves. */
static size_t propose_component(tacit_run_t *run, size_t c, bool is_guided) {
  size_t d = run->dim, j = (size_t)tacit_rng_below(run->rngs[c], d);
  double move = run->step_size[c] * component_scale(&run->metric, j) * tacit_rng_normal(run->rngs[c]);
  if (is_guided) {
    move = fabs(move) * run->direction[c * d + j];
  }
  memcpy(run->theta_prop + c * d, run->theta + c * d, d * sizeof *run->theta);
  run->theta_prop[c * d + j] += move;
  return j;
}

tacit_status_t tacit_step_random_walk(tacit_run_t *run, tacit_error_t *err) {
  tacit_proposal_t proposal = run->settings->proposal;
  for (size_t c = 0; c < run->n_chains; c++) {
    run->correction[c] = 0;
    if (proposal == TACIT_PROPOSAL_FULL) {
      propose_full(run, c);
    } else {
      run->component[c] = propose_component(run, c, proposal == TACIT_PROPOSAL_GUIDED);
    }
    if (run->traits.decision == TACIT_DECISION_BIT || run->traits.decision == TACIT_DECISION_MINIBATCH ||
        run->traits.decision == TACIT_DECISION_SAMPLED_BARKER) {
      stretch(run, c, proposal != TACIT_PROPOSAL_FULL);
    }
    run->is_active[c] = tacit_all_finite(run->theta_prop + c * run->dim, run->dim);
  }
  tacit_status_t status = tacit_run_accept(run, err);
  if (status == TACIT_OK && proposal == TACIT_PROPOSAL_GUIDED) {
    /* A rejection turns the component around: the lifted chain stays invariant (docs/theory.md). */
    for (size_t c = 0; c < run->n_chains; c++) {
      if (!run->accepted[c]) {
        run->direction[c * run->dim + run->component[c]] *= -1;
      }
    }
  }
  return status;
}
