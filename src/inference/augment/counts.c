/*
 * The number of records in each cell, given the cells' probabilities and what was published: N_a given N_a +
 * N_b is binomial times the noise of what the two cells differ in; a slice update of it is exact. Where n is
 * unknown, a count is also drawn by itself, with the n! that the multinomial distribution has in it.
 */
#include <string.h>

#include "augment/population_internal.h"

/* ---- likelihood ---- */

/* Likelihood of the releases that look at an entry, if `moved` records are added to it and taken from `other`
 * (NULL: from nowhere). */
static double log_lik_moved(const tacit_population_chain_t *c, const tacit_entry_t *entry,
                            const tacit_entry_t *other, double moved) {
  const tacit_released_t *r = tacit_released_at(c->run, entry->value);
  bool is_same = other == NULL || other->value == entry->value;
  double more = moved * entry->weight - (other != NULL ? moved * other->weight * is_same : 0);
  if (other != NULL && is_same && !(fabs(entry->weight - other->weight) > 0)) {
    return 0;
  }
  if (r->distribution.is_joint) {
    tacit_change_t change = {.a = entry->value - r->first, .b = SIZE_MAX, .more_a = more};
    if (!is_same) {
      change.b = other->value - r->first;
      change.more_b = -moved * other->weight;
    }
    return tacit_released_log_joint(c, r, c->sums, change);
  }
  double value = tacit_released_log_lik(c->run, entry->value, c->sums[entry->value] + more);
  return is_same ? value
                 : value + tacit_released_log_lik(c->run, other->value,
                                                  c->sums[other->value] - moved * other->weight);
}

/* Counts without noise do not move. */
static double scale_of(const tacit_population_chain_t *c, size_t sum) {
  const tacit_noise_distribution_t *distribution = &tacit_released_at(c->run, sum)->distribution;
  return distribution->is_exact ? INFINITY : distribution->as.scale + distribution->as.rounded;
}

/* ---- counts ---- */

typedef struct pair {
  const tacit_population_chain_t *chain;
  size_t n_entries;
  const tacit_entry_t *a, *b; /* b NULL: records of a alone, whose number is unknown */
  double both, count, log_odds,
      n; /* of the two cells, of a at present; log_odds: of a, or its log p; n: of all */
} pair_t;

/* Distribution of a's count given that of a and b together, or of all other cells, as a step function from 0
 * on. */
static double density(void *user, double at) {
  const pair_t *p = user;
  double k = floor(at), rest = p->both - k, moved = k - p->count;
  if (k < 0 || rest < 0) {
    return -INFINITY;
  }
  double value = k * p->log_odds - tacit_log_factorial(k) +
                 (p->b != NULL ? -tacit_log_factorial(rest) : tacit_log_factorial(p->n + moved));
  for (size_t e = 0; e < p->n_entries; e++) {
    value += log_lik_moved(p->chain, &p->a[e], p->b != NULL ? &p->b[e] : NULL, moved);
  }
  return value;
}

static void add_records(tacit_population_chain_t *c, size_t g, size_t cell, double more) {
  const tacit_population_group_t *group = &c->run->groups[g];
  const tacit_entry_t *entries = tacit_group_entries(group, cell);
  c->parts[g].counts[cell] += more;
  for (size_t e = 0; e < group->n_entries; e++) {
    c->sums[entries[e].value] += more * entries[e].weight;
  }
}

/* About the width of the narrowest factor. */
static double slice_width(const pair_t *p, double sd) {
  double precision = 1 / (sd + 1);
  for (size_t e = 0; e < p->n_entries; e++) {
    bool is_same = p->b != NULL && p->a[e].value == p->b[e].value;
    precision += fabs(p->a[e].weight - (is_same ? p->b[e].weight : 0)) / scale_of(p->chain, p->a[e].value);
    precision += p->b != NULL && !is_same ? fabs(p->b[e].weight) / scale_of(p->chain, p->b[e].value) : 0;
  }
  return 2 + 3 / precision;
}

static double log_p_of(const tacit_population_chain_t *c, size_t g, size_t cell) {
  const tacit_population_group_t *group = &c->run->groups[g];
  return c->parts[g].log_p[group->base[cell]] + group->log_channel[cell];
}

/* A slice update; how many records more there are in a. */
static double move(pair_t *p, double sd) {
  double at = p->count + tacit_rng_uniform(p->chain->rng), log_at = density(p, at);
  return floor(tacit_slice(density, p, at, &log_at, slice_width(p, sd), p->chain->rng)) - p->count;
}

static void move_pair(tacit_population_chain_t *c, size_t g, size_t a, size_t b) {
  const tacit_population_group_t *group = &c->run->groups[g];
  const double *counts = c->parts[g].counts;
  double log_a = log_p_of(c, g, a), log_b = log_p_of(c, g, b);
  pair_t pair = {.chain = c,
                 .n_entries = group->n_entries,
                 .a = tacit_group_entries(group, a),
                 .b = tacit_group_entries(group, b),
                 .both = counts[a] + counts[b],
                 .count = counts[a],
                 .log_odds = log_a - log_b};
  if (!(pair.both > 0) || !(log_a > -INFINITY) || !(log_b > -INFINITY)) {
    return;
  }
  double share = 1 / (1 + exp(-pair.log_odds)), moved = move(&pair, sqrt(pair.both * share * (1 - share)));
  add_records(c, g, a, moved);
  add_records(c, g, b, -moved);
}

/* One cell's count where n is unknown. */
static void move_single(tacit_population_chain_t *c, size_t g, size_t cell) {
  const tacit_population_group_t *group = &c->run->groups[g];
  double count = c->parts[g].counts[cell], log_p = log_p_of(c, g, cell);
  pair_t pair = {.chain = c,
                 .n_entries = group->n_entries,
                 .a = tacit_group_entries(group, cell),
                 .both = INFINITY,
                 .count = count,
                 .log_odds = log_p,
                 .n = c->parts[g].n};
  if (log_p > -INFINITY) {
    double moved = move(&pair, sqrt(count));
    add_records(c, g, cell, moved);
    c->parts[g].n += moved;
  }
}

/* Sums afresh: differences round. */
static void refresh_sums(tacit_population_chain_t *c) {
  memset(c->sums, 0, c->run->n_sums * sizeof *c->sums);
  for (size_t g = 0; g < c->run->n_groups; g++) {
    for (size_t cell = 0; cell < c->run->groups[g].n_cells; cell++) {
      double count = c->parts[g].counts[cell];
      c->parts[g].counts[cell] = 0;
      add_records(c, g, cell, count);
    }
  }
}

void tacit_counts_set_apart(tacit_population_chain_t *c, size_t g) {
  const tacit_population_group_t *group = &c->run->groups[g];
  memset(c->parts[g].apart, 0, group->apart.n_cells * sizeof *c->parts[g].apart);
  for (size_t cell = 0; cell < group->n_cells; cell++) {
    c->parts[g].apart[group->base[cell]] += c->parts[g].counts[cell];
  }
}

/* p of a part, from `first` on: probabilities added up, (n). */
static void add_up(const tacit_population_chain_t *c, size_t g, size_t first, size_t n) {
  double sum = 0;
  for (size_t i = first; i < first + n; i++) {
    c->parts[g].p[i] = sum += exp(log_p_of(c, g, i));
  }
}

/* A cell in proportion to its probability, which counts do not change. */
static size_t likely(const tacit_population_chain_t *c, size_t g, size_t first, size_t n) {
  const double *p = c->parts[g].p + first;
  double at = p[n - 1] * tacit_rng_uniform(c->rng);
  size_t low = 0, high = n - 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    low = p[middle] < at ? middle + 1 : low;
    high = p[middle] < at ? high : middle;
  }
  return first + low;
}

/* Each cell with any other; of a table then with likely ones, since where most cells are all but empty any
 * other has no records to give. */
static void move_block(tacit_population_chain_t *c, size_t g, size_t first, size_t n) {
  enum { LIKELY = 4 };
  for (size_t a = 0; a < n && n > 1; a++) {
    size_t b = (size_t)tacit_rng_below(c->rng, n - 1);
    move_pair(c, g, first + a, first + b + (b >= a));
  }
  if (c->run->table == NULL || n < 3) {
    return;
  }
  add_up(c, g, first, n);
  for (size_t i = 0; i < LIKELY * n; i++) {
    size_t a = first + i % n, b = likely(c, g, first, n);
    if (a != b) {
      move_pair(c, g, a, b);
    }
  }
}

void tacit_counts_sweep(tacit_population_chain_t *c) {
  refresh_sums(c);
  for (size_t g = 0; g < c->run->n_groups; g++) {
    const tacit_population_group_t *group = &c->run->groups[g];
    for (size_t block = 0; block < group->n_blocks; block++) {
      move_block(c, g, group->block_start[block], group->block_start[block + 1] - group->block_start[block]);
    }
    for (size_t a = 0; a < group->n_cells && group->as->n_records == 0; a++) {
      move_single(c, g, a);
    }
    tacit_counts_set_apart(c, g);
  }
}

/* The number of records that a release tells; withheld values count for nothing. */
static double total_of(const tacit_population_chain_t *c, const tacit_released_t *r) {
  double sum = 0;
  for (size_t k = 0; k < r->distribution.n_sums; k++) {
    double y = c->run->values[r->first + k];
    sum += isnan(y) ? 0 : y;
  }
  return sum;
}

/* Records of a group of unknown size: as many as a release says, of it or of all groups that it is of. */
static double guess_n(const tacit_population_chain_t *c, size_t g) {
  double n = 1;
  for (size_t i = 0; i < c->run->n_released; i++) {
    const tacit_released_t *r = &c->run->released[i];
    if ((r->statistic == NULL || c->run->table != NULL) && (r->groups >> g & 1) != 0) {
      n = fmax(n, nearbyint(total_of(c, r) / __builtin_popcountll(r->groups)));
    }
  }
  return n;
}

bool tacit_counts_begin(tacit_population_chain_t *c) {
  for (size_t g = 0; g < c->run->n_groups; g++) {
    const tacit_population_group_t *group = &c->run->groups[g];
    tacit_population_part_t *part = &c->parts[g];
    part->n = group->as->n_records > 0 ? (double)group->as->n_records : guess_n(c, g);
    for (size_t block = 0; block < group->n_blocks; block++) {
      size_t first = group->block_start[block], n = group->block_start[block + 1] - first;
      double all = group->exact != NULL ? c->run->values[group->exact->first + block] : part->n;
      for (size_t a = 0; a < n; a++) {
        part->counts[first + a] = floor(all / (double)n) + (a < (size_t)fmod(all, (double)n) ? 1 : 0);
      }
      if (all > 0 && n == 0) {
        return false;
      }
    }
  }
  return true;
}
