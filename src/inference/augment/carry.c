/*
 * Moves of theta that carry the records along. Under wide noise the records hold theta where they are, and
 * theta them: each update alone goes steps that are narrow beside the posterior. Here theta' is proposed, and
 * records leave cells that have become less likely for those that have become more likely, as few as can be,
 * so that they have the distribution of theta' if they had that of theta:
 *
 *     a record of cell c stays with probability min(1, q'_c / q_c), else goes to cell d in proportion to
 * max(0, q'_d - q_d),
 *
 * q being probabilities given the record's block. q_c T(c, d) is what comes back from d under theta and
 * theta' exchanged, so that of the ratio of acceptance only the prior, the blocks' probabilities and the
 * noise are left. [docs/theory.md, 12.12]
 */
#include <string.h>

#include "augment/population_internal.h"

static const double ACCEPTED = 0.25, ACCEPTED_SINGLY = 0.4; /* the share that the steps' width is tuned for:
                                                               of all parameters at once; of one */

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

/* Of many trials the one in the middle, by order of their uniform numbers, says how many of one half succeed
 * [AhrensDieter1974]. */
static double draw_binomial(tacit_rng_t *rng, double n, double p) {
  enum { FEW = 12 };
  double sum = 0;
  if (p > 0.5) {
    return n - draw_binomial(rng, n, 1 - p);
  }
  while (n > 0 && n * p > FEW) {
    double i = floor(0.5 * (n + 1)), below = tacit_draw_gamma(rng, i),
           above = tacit_draw_gamma(rng, n + 1 - i), middle = below / (below + above);
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

/* Records that left, among cells that have become more likely. more, shape (cells of the block): by how much;
 * all of it: total. */
static void settle(tacit_rng_t *rng, double n, size_t n_cells, const double *more, double total,
                   double *counts) {
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
  bool is_only = group->n_blocks == 1; /* of probability 1 */
  double was = is_only ? 0 : log_sum(group, block, part->log_p),
         is = is_only ? 0 : log_sum(group, block, part->trial_log_p);
  double n = 0, left = 0, total = 0;
  for (size_t i = first; i < first + n_cells; i++) {
    double log_q = part->log_p[group->base[i]] + group->log_channel[i] - was,
           log_new = part->trial_log_p[group->base[i]] + group->log_channel[i] - is;
    double count = part->counts[i],
           stays = count > 0 && log_new < log_q ? draw_binomial(c->rng, count, exp(log_new - log_q)) : count;
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

/* sums <- those of the trial. */
static void set_sums(const tacit_population_chain_t *c, double *sums) {
  memcpy(sums, c->sums, c->run->n_sums * sizeof *sums);
  for (size_t g = c->from; g < c->to; g++) {
    const tacit_population_group_t *group = &c->run->groups[g];
    for (size_t i = 0; i < group->n_cells; i++) {
      const tacit_entry_t *entries = tacit_group_entries(group, i);
      double more = c->parts[g].trial_counts[i] - c->parts[g].counts[i];
      for (size_t e = 0; e < group->n_entries && fabs(more) > 0; e++) {
        sums[entries[e].value] += more * entries[e].weight;
      }
    }
  }
}

static bool is_touched(const tacit_population_chain_t *c, const tacit_released_t *r) {
  size_t n = c->to - c->from;
  return ((r->groups >> c->from) & (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX)) != 0;
}

/* Of all that was published with noise of the groups at hand. */
static double log_lik(const tacit_population_chain_t *c, const double *sums) {
  const tacit_change_t none = {.a = SIZE_MAX, .b = SIZE_MAX};
  double value = 0;
  for (size_t i = 0; i < c->run->n_released; i++) {
    const tacit_released_t *r = &c->run->released[i];
    if (!is_touched(c, r)) {
      continue;
    }
    if (r->distribution.is_joint) {
      value += tacit_released_log_joint(c, r, sums, none);
    }
    for (size_t k = 0; k < r->distribution.n_sums && !r->distribution.is_joint && !r->distribution.is_exact;
         k++) {
      value += tacit_released_log_lik(c->run, r->first + k, sums[r->first + k]);
    }
  }
  return value;
}

/* ---- a move ---- */

/* Along all parameters at once, as wide as their spread. */
static void propose_all(tacit_population_chain_t *c) {
  tacit_trajectory_t *w = c->walk;
  const double *factor = w->spread != NULL ? w->spread : w->factor;
  for (size_t j = 0; j < w->dim; j++) {
    w->momentum[j] = tacit_rng_normal(c->rng);
  }
  for (size_t i = 0; i < w->dim; i++) {
    double sum = 0;
    for (size_t j = 0; j <= i; j++) {
      sum += factor[i * w->dim + j] * w->momentum[j];
    }
    w->trial[i] = w->theta[i] + w->carry_width * sum;
  }
}

static void take(tacit_population_chain_t *c) {
  memcpy(c->walk->theta, c->walk->trial, c->walk->dim * sizeof *c->walk->theta);
  memcpy(c->sums, c->trial_sums, c->run->n_sums * sizeof *c->sums);
  for (size_t g = c->from; g < c->to; g++) {
    tacit_population_part_t *part = &c->parts[g];
    double *counts = part->counts, *log_p = part->log_p;
    part->counts = part->trial_counts;
    part->trial_counts = counts;
    part->log_p = part->trial_log_p;
    part->trial_log_p = log_p;
    tacit_counts_set_apart(c, g);
  }
}

/* log of the ratio of acceptance, but for the noise at the state; -INFINITY where the trial cannot be. */
static double try_records(tacit_population_chain_t *c, double log_prior) {
  double ratio = tacit_population_chain_log_prior(c, c->walk->trial, NULL) - log_prior;
  for (size_t g = c->from; g < c->to && ratio > -INFINITY; g++) {
    ratio = tacit_population_set_distribution(c, g, c->walk->trial, ratio) ? ratio : -INFINITY;
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

/* `value`, `log_prior`: of the state. The probability of acceptance. */
static double decide(tacit_population_chain_t *c, double *value, double *log_prior) {
  double ratio = try_records(c, *log_prior) - *value, accept = ratio > -INFINITY ? fmin(1, exp(ratio)) : 0;
  if (tacit_rng_uniform(c->rng) < accept) {
    take(c);
    *value = log_lik(c, c->sums);
    *log_prior = tacit_population_chain_log_prior(c, c->walk->theta, NULL);
  }
  return accept;
}

static void tune(double *width, double accept, double target, double n) {
  *width *= exp((accept - target) / sqrt(1 + 0.1 * n));
}

void tacit_carry(tacit_population_chain_t *c, size_t n_moves, bool is_tuned) {
  tacit_trajectory_t *w = c->walk;
  double value = log_lik(c, c->sums), log_prior = tacit_population_chain_log_prior(c, w->theta, NULL);
  for (size_t i = 0; i < n_moves; i++) {
    propose_all(c);
    double accept = decide(c, &value, &log_prior);
    if (is_tuned) {
      tune(&w->carry_width, accept, ACCEPTED, w->n_carried++);
    }
  }
}

/* ---- of a table: the cells of one value at a time, at a cost of these cells and the records that move ----
 */

/* Their probability, q together, is multiplied by e^by / z, and that of all others by 1 / z. */
typedef struct shift {
  tacit_population_chain_t *c;
  size_t g;
  const uint32_t *cells; /* (n_cells) */
  size_t n_cells, value;
  double by, q, z, n_with; /* n_with: records in these cells */
  double change;           /* of the log likelihood */
} shift_t;

/* A record more or less in a cell at the trial, which is all that is written. */
static void shift_record(shift_t *s, size_t cell, double more) {
  tacit_population_chain_t *c = s->c;
  const tacit_population_group_t *group = &c->run->groups[s->g];
  const tacit_entry_t *entries = tacit_group_entries(group, cell);
  for (size_t e = 0; e < group->n_entries; e++) {
    size_t v = entries[e].value;
    if (!tacit_released_at(c->run, v)->distribution.is_exact) {
      s->change += tacit_released_log_lik(c->run, v, c->trial_sums[v] + more) -
                   tacit_released_log_lik(c->run, v, c->trial_sums[v]);
    }
    c->trial_sums[v] += more;
  }
  c->parts[s->g].trial_counts[cell] += more;
}

/* A cell in proportion to weights (n): of these cells, or of all others. */
static size_t pick(const shift_t *s, const double *weight, double total, bool is_with) {
  const tacit_population_part_t *part = &s->c->parts[s->g];
  size_t n = s->c->run->groups[s->g].n_cells, last = SIZE_MAX;
  double left = total * tacit_rng_uniform(s->c->rng);
  for (size_t i = 0; i < (is_with ? s->n_cells : n) && (left >= 0 || last == SIZE_MAX); i++) {
    size_t cell = is_with ? s->cells[i] : i;
    if ((is_with || !part->is_with[cell]) && weight[cell] > 0) {
      left -= weight[cell];
      last = cell;
    }
  }
  return last;
}

/* n records go from cells on one side to those of the other, in proportion to probabilities there. false:
 * there is no such cell. */
static bool shift_records(shift_t *s, double n, bool is_gain) {
  const tacit_population_part_t *part = &s->c->parts[s->g];
  double n_from = is_gain ? part->n - s->n_with : s->n_with;
  for (; n > 0; n--, n_from--) {
    size_t from = pick(s, part->trial_counts, n_from, !is_gain),
           to = pick(s, part->p, is_gain ? s->q : 1 - s->q, is_gain);
    if (from == SIZE_MAX || to == SIZE_MAX) {
      return false;
    }
    shift_record(s, from, -1);
    shift_record(s, to, 1);
  }
  return true;
}

static void find_shift(shift_t *s) {
  const tacit_population_part_t *part = &s->c->parts[s->g];
  s->q = s->n_with = s->change = 0;
  for (size_t i = 0; i < s->n_cells; i++) {
    s->q += part->p[s->cells[i]];
    s->n_with += part->counts[s->cells[i]];
    part->is_with[s->cells[i]] = true;
  }
  s->z = 1 + s->q * expm1(s->by);
}

static void move_theta(const tacit_population_chain_t *c, size_t value, double by, double *theta) {
  const tacit_table_distribution_t *t = c->run->table;
  for (size_t i = t->move_begin[value]; i < t->move_begin[value + 1]; i++) {
    theta[t->move_effect[i]] += t->move_sign[i] * by;
  }
}

/* What such a move adds to the log prior. */
static double prior_change(const tacit_population_chain_t *c, size_t value, double by) {
  const tacit_table_distribution_t *t = c->run->table;
  double square = 0;
  for (size_t i = t->move_begin[value]; i < t->move_begin[value + 1]; i++) {
    square += by * (2 * t->move_sign[i] * c->walk->theta[t->move_effect[i]] + by);
  }
  return -0.5 * square / (t->prior_sd * t->prior_sd);
}

static void keep_shift(shift_t *s, bool is_taken) {
  tacit_population_chain_t *c = s->c;
  tacit_population_part_t *part = &c->parts[s->g];
  size_t n = c->run->groups[s->g].n_cells;
  memcpy(is_taken ? part->counts : part->trial_counts, is_taken ? part->trial_counts : part->counts,
         n * sizeof *part->counts);
  memcpy(is_taken ? c->sums : c->trial_sums, is_taken ? c->trial_sums : c->sums,
         c->run->n_sums * sizeof *c->sums);
  for (size_t i = 0; i < s->n_cells; i++) {
    part->is_with[s->cells[i]] = false;
    part->p[s->cells[i]] *= is_taken ? exp(s->by) : 1;
    part->log_p[s->cells[i]] += is_taken ? s->by : 0;
  }
  double share = 1 / s->z, log_z = log(s->z);
  for (size_t i = 0; i < n && is_taken; i++) {
    part->p[i] *= share;
    part->log_p[i] -= log_z;
  }
  if (is_taken) {
    move_theta(c, s->value, s->by, c->walk->theta);
  }
}

/* The probability of acceptance; below 0: so many records would move that all cells are gone through as well.
 */
static double shift_value(shift_t *s) {
  tacit_population_chain_t *c = s->c;
  const tacit_population_part_t *part = &c->parts[s->g];
  find_shift(s);
  bool is_gain = s->by > 0;
  double stays = is_gain ? 1 / s->z : exp(s->by) / s->z, from = is_gain ? part->n - s->n_with : s->n_with;
  bool is_possible = s->q > 0 && s->q < 1 && stays <= 1;
  if (is_possible && from * (1 - stays) > 16 + (double)c->run->groups[s->g].n_cells / 16) {
    keep_shift(s, false);
    return -1;
  }
  bool ok = is_possible && shift_records(s, draw_binomial(c->rng, from, 1 - stays), is_gain);
  double ratio = s->change + prior_change(c, s->value, s->by), accept = ok ? fmin(1, exp(ratio)) : 0;
  keep_shift(s, tacit_rng_uniform(c->rng) < accept);
  return accept;
}

static double carry_value(tacit_population_chain_t *c, size_t j, double by) {
  size_t g = c->from;
  const tacit_population_run_t *run = c->run;
  shift_t s = {.c = c,
               .g = g,
               .cells = run->value_cells + run->value_begin[j],
               .n_cells = run->value_begin[j + 1] - run->value_begin[j],
               .value = j,
               .by = by};
  double accept = run->groups[g].n_blocks == 1 ? shift_value(&s) : -1;
  if (accept < 0) {
    double value = log_lik(c, c->sums), log_prior = tacit_population_chain_log_prior(c, c->walk->theta, NULL);
    memcpy(c->walk->trial, c->walk->theta, c->walk->dim * sizeof *c->walk->trial);
    move_theta(c, j, by, c->walk->trial);
    accept = decide(c, &value, &log_prior);
    tacit_carry_begin_singly(c);
  }
  return accept;
}

void tacit_carry_begin_singly(tacit_population_chain_t *c) {
  tacit_population_part_t *part = &c->parts[c->from];
  size_t n = c->run->groups[c->from].n_cells;
  memcpy(part->trial_counts, part->counts, n * sizeof *part->counts);
  memcpy(c->trial_sums, c->sums, c->run->n_sums * sizeof *c->sums);
  for (size_t i = 0; i < n; i++) {
    part->p[i] = exp(part->log_p[c->run->groups[c->from].base[i]]);
  }
}

void tacit_carry_singly(tacit_population_chain_t *c, size_t n_moves, bool is_tuned) {
  tacit_trajectory_t *w = c->walk;
  tacit_carry_begin_singly(c);
  size_t n_values = tacit_table_n_values(c->run->table);
  for (size_t i = 0; i < n_moves; i++) {
    size_t j = (size_t)tacit_rng_below(c->rng, n_values);
    double accept = carry_value(c, j, w->single_width[j] * tacit_rng_normal(c->rng));
    if (is_tuned) {
      tune(&w->single_width[j], accept, ACCEPTED_SINGLY, w->n_single[j]++);
    }
  }
  tacit_counts_set_apart(c, c->from);
}
