/*
 * Moves of theta that carry the records along. Under wide noise the records hold theta where they are, and theta them: each update alone goes steps
 * that are narrow beside the posterior. Here theta' is proposed, and records leave cells that have become less likely for those that have become
 * more likely, as few as can be, so that they have the law of theta' if they had that of theta:
 *
 *     a record of cell c stays with probability min(1, q'_c / q_c), else goes to cell d in proportion to max(0, q'_d - q_d),
 *
 * q being probabilities given the record's block. q_c T(c, d) is what comes back from d under theta and theta' exchanged, so that of the ratio of
 * acceptance only the prior, the blocks' probabilities and the noise are left. [docs/theory.md, 12.12]
 */
#include <string.h>

#include "augment/population_internal.h"

static const double ACCEPTED = 0.25; /* the share that the steps' width is tuned for */

/* ---- binomial numbers ---- */

/* By the gaps between successes, which are geometric: some n p + 1 logarithms. */
static double draw_by_gaps(tacit_rng_t *rng, double n, double p) {
  double at = 0, k = -1, log_failure = log1p(-p);
  while (at <= n) {
    at += floor(log(tacit_rng_uniform(rng)) / log_failure) + 1;
    k++;
  }
  return k;
}

/* Of many trials the one in the middle, by order of their uniform numbers, says how many of one half succeed [AhrensDieter1974]. */
static double draw_binomial(tacit_rng_t *rng, double n, double p) {
  enum { FEW = 12 };
  double sum = 0;
  if (p > 0.5) {
    return n - draw_binomial(rng, n, 1 - p);
  }
  while (n > 0 && n * p > FEW) {
    double i = floor(0.5 * (n + 1)), below = tacit_draw_gamma(rng, i), above = tacit_draw_gamma(rng, n + 1 - i), middle = below / (below + above);
    bool is_above = middle > p;
    sum += is_above ? 0 : i;
    n = is_above ? i - 1 : n - i;
    p = is_above ? p / middle : (p - middle) / (1 - middle);
    if (p > 0.5) {
      return sum + n - draw_binomial(rng, n, 1 - p);
    }
  }
  return n > 0 && p > 0 ? sum + draw_by_gaps(rng, n, p) : sum;
}

/* ---- records ---- */

static double log_sum(const tacit_population_group_t *group, size_t block, const double *log_p) {
  double most = -INFINITY, sum = 0;
  for (size_t i = group->block_start[block]; i < group->block_start[block + 1]; i++) {
    most = fmax(most, log_p[group->base[i]] + group->log_channel[i]);
  }
  for (size_t i = group->block_start[block]; i < group->block_start[block + 1] && most > -INFINITY; i++) {
    sum += exp(log_p[group->base[i]] + group->log_channel[i] - most);
  }
  return most + log(sum);
}

/* Records that left, among cells that have become more likely. more, shape (cells of the block): by how much; all of it: total. */
static void settle(tacit_rng_t *rng, double n, size_t n_cells, const double *more, double total, double *counts) {
  for (size_t i = 0; i < n_cells && n > 0; i++) {
    if (more[i] > 0) {
      double k = draw_binomial(rng, n, fmin(1, more[i] / total));
      counts[i] += k;
      n -= k;
      total -= more[i];
    }
  }
}

/* The trial's counts of a block; what its own probability adds to the log ratio of acceptance. */
static double carry_block(tacit_population_chain_t *c, size_t g, size_t block) {
  const tacit_population_group_t *group = &c->run->groups[g];
  tacit_population_part_t *part = &c->parts[g];
  size_t first = group->block_start[block], n_cells = group->block_start[block + 1] - first;
  double was = log_sum(group, block, part->log_p), is = log_sum(group, block, part->trial_log_p), n = 0, left = 0, total = 0;
  for (size_t i = first; i < first + n_cells; i++) {
    double log_q = part->log_p[group->base[i]] + group->log_channel[i] - was, log_new = part->trial_log_p[group->base[i]] + group->log_channel[i] - is;
    double count = part->counts[i], stays = count > 0 && log_new < log_q ? draw_binomial(c->rng, count, exp(log_new - log_q)) : count;
    part->more[i] = log_new > log_q ? exp(log_new) - exp(log_q) : 0;
    part->trial_counts[i] = stays;
    total += part->more[i];
    n += count;
    left += count - stays;
  }
  if (left > 0 && !(total > 0)) {
    return -INFINITY;
  }
  settle(c->rng, left, n_cells, part->more + first, total, part->trial_counts + first);
  return n > 0 && group->n_blocks > 1 ? n * (is - was) : 0;
}

static void set_sums(const tacit_population_chain_t *c, double *sums) {
  memset(sums, 0, c->run->n_sums * sizeof *sums);
  for (size_t g = 0; g < c->run->n_groups; g++) {
    const tacit_population_group_t *group = &c->run->groups[g];
    for (size_t i = 0; i < group->n_cells; i++) {
      const tacit_entry_t *entries = tacit_group_entries(group, i);
      double count = c->parts[g].trial_counts[i];
      for (size_t e = 0; e < group->n_entries && count > 0; e++) {
        sums[entries[e].value] += count * entries[e].weight;
      }
    }
  }
}

/* Of all that was published with noise. */
static double log_lik(const tacit_population_chain_t *c, const double *sums) {
  const tacit_change_t none = {.a = SIZE_MAX, .b = SIZE_MAX};
  double value = 0;
  for (size_t i = 0; i < c->run->n_released; i++) {
    const tacit_released_t *r = &c->run->released[i];
    if (r->law.is_joint) {
      value += tacit_released_log_joint(c, r, sums, none);
    }
    for (size_t k = 0; k < r->law.n_sums && !r->law.is_joint && !r->law.is_exact; k++) {
      value += tacit_released_log_lik(c->run, r->first + k, sums[r->first + k]);
    }
  }
  return value;
}

/* ---- a move ---- */

static void propose(tacit_population_chain_t *c) {
  tacit_trajectory_t *w = &c->walk;
  for (size_t j = 0; j < w->dim; j++) {
    w->momentum[j] = tacit_rng_normal(c->rng);
  }
  for (size_t i = 0; i < w->dim; i++) {
    double sum = 0;
    for (size_t j = 0; j <= i; j++) {
      sum += w->factor[i * w->dim + j] * w->momentum[j];
    }
    w->trial[i] = w->theta[i] + c->carry_width * sum;
  }
}

static void take(tacit_population_chain_t *c) {
  memcpy(c->walk.theta, c->walk.trial, c->walk.dim * sizeof *c->walk.theta);
  memcpy(c->sums, c->trial_sums, c->run->n_sums * sizeof *c->sums);
  for (size_t g = 0; g < c->run->n_groups; g++) {
    tacit_population_part_t *part = &c->parts[g];
    double *counts = part->counts, *log_p = part->log_p;
    part->counts = part->trial_counts;
    part->trial_counts = counts;
    part->log_p = part->trial_log_p;
    part->trial_log_p = log_p;
    tacit_counts_set_apart(c, g);
  }
}

/* log of the ratio of acceptance; -INFINITY where the trial cannot be. */
static double try_records(tacit_population_chain_t *c, double log_prior) {
  double ratio = tacit_population_chain_log_prior(c, c->walk.trial, NULL) - log_prior;
  for (size_t g = 0; g < c->run->n_groups && ratio > -INFINITY; g++) {
    ratio = tacit_population_set_law(c, g, c->walk.trial, ratio) ? ratio : -INFINITY;
    for (size_t b = 0; b < c->run->groups[g].n_blocks && ratio > -INFINITY; b++) {
      ratio += carry_block(c, g, b);
    }
  }
  if (!(ratio > -INFINITY)) {
    return -INFINITY;
  }
  set_sums(c, c->trial_sums);
  return ratio + log_lik(c, c->trial_sums);
}

void tacit_carry(tacit_population_chain_t *c, size_t n_moves, bool is_tuned) {
  double value = log_lik(c, c->sums), log_prior = tacit_population_chain_log_prior(c, c->walk.theta, NULL);
  for (size_t i = 0; i < n_moves; i++) {
    propose(c);
    double ratio = try_records(c, log_prior) - value, accept = ratio > -INFINITY ? fmin(1, exp(ratio)) : 0;
    if (tacit_rng_uniform(c->rng) < accept) {
      take(c);
      value = log_lik(c, c->sums);
      log_prior = tacit_population_chain_log_prior(c, c->walk.theta, NULL);
    }
    if (is_tuned) {
      c->n_carried++;
      c->carry_width *= exp((accept - ACCEPTED) / sqrt(1 + 0.1 * c->n_carried));
    }
  }
}
