/*
 * The number of records in each cell, given the cells' probabilities and what was published: N_a given N_a + N_b is binomial times the noise of
 * what the two cells differ in; a slice update of it is exact. Where n is unknown, a count is also drawn by itself, with the n! that the
 * multinomial law has in it.
 */
#include <string.h>

#include "augment/population_internal.h"

/* ---- counts ---- */

static const tacit_entry_t *entries_of(const tacit_population_chain_t *c, size_t cell) { return c->run->cells.entries + cell * c->run->cells.n_entries; }

static double log_lik_of(const tacit_population_chain_t *c, size_t value, double sum) {
  return tacit_noise_law_log_lik(&c->run->laws[c->run->law_of[value]], c->run->values[value], sum);
}

static double scale_of(const tacit_population_chain_t *c, size_t value) {
  const tacit_noisy_t *as = &c->run->laws[c->run->law_of[value]].as;
  return as->scale + as->rounded;
}

typedef struct pair {
  const tacit_population_chain_t *chain;
  const tacit_entry_t *a, *b;
  double both, count, log_odds; /* of the two cells, of a at present */
} pair_t;

/* Law of a's count given that of a and b together, as a step function on [0, both + 1). */
static double pair_density(void *user, double at) {
  const pair_t *p = user;
  double k = floor(at), rest = p->both - k, moved = k - p->count;
  if (k < 0 || rest < 0) {
    return -INFINITY;
  }
  double density = k * p->log_odds - tacit_log_factorial(k) - tacit_log_factorial(rest);
  for (size_t e = 0; e < p->chain->run->cells.n_entries; e++) {
    const tacit_entry_t *a = &p->a[e], *b = &p->b[e];
    const double *sums = p->chain->sums;
    if (a->value != b->value) {
      density += log_lik_of(p->chain, a->value, sums[a->value] + moved * a->weight) + log_lik_of(p->chain, b->value, sums[b->value] - moved * b->weight);
    } else if (fabs(a->weight - b->weight) > 0) {
      density += log_lik_of(p->chain, a->value, sums[a->value] + moved * (a->weight - b->weight));
    }
  }
  return density;
}

static void add_records(tacit_population_chain_t *c, size_t cell, double more) {
  const tacit_entry_t *entries = entries_of(c, cell);
  c->counts[cell] += more;
  for (size_t e = 0; e < c->run->cells.n_entries; e++) {
    c->sums[entries[e].value] += more * entries[e].weight;
  }
}

/* About the width of the narrowest factor. */
static double slice_width(const tacit_population_chain_t *c, const tacit_entry_t *entries, const tacit_entry_t *others, double sd) {
  double precision = 1 / (sd + 1);
  for (size_t e = 0; e < c->run->cells.n_entries; e++) {
    bool is_same = others != NULL && entries[e].value == others[e].value;
    precision += fabs(entries[e].weight - (is_same ? others[e].weight : 0)) / scale_of(c, entries[e].value);
    precision += others != NULL && !is_same ? fabs(others[e].weight) / scale_of(c, others[e].value) : 0;
  }
  return 2 + 3 / precision;
}

static void move_pair(tacit_population_chain_t *c, size_t a, size_t b) {
  pair_t pair = {.chain = c, .a = entries_of(c, a), .b = entries_of(c, b), .both = c->counts[a] + c->counts[b], .count = c->counts[a]};
  if (!(pair.both > 0) || !(c->log_p[a] > -INFINITY) || !(c->log_p[b] > -INFINITY)) {
    return;
  }
  pair.log_odds = c->log_p[a] - c->log_p[b];
  double share = 1 / (1 + exp(-pair.log_odds)), sd = sqrt(pair.both * share * (1 - share));
  double at = pair.count + tacit_rng_uniform(c->rng), log_at = pair_density(&pair, at);
  double moved = floor(tacit_slice(pair_density, &pair, at, &log_at, slice_width(c, pair.a, pair.b, sd), c->rng)) - pair.count;
  add_records(c, a, moved);
  add_records(c, b, -moved);
}

typedef struct single {
  const tacit_population_chain_t *chain;
  const tacit_entry_t *entries;
  double count, log_p;
} single_t;

/* The same of one cell's count where n is unknown. */
static double single_density(void *user, double at) {
  const single_t *s = user;
  double k = floor(at), moved = k - s->count;
  if (k < 0) {
    return -INFINITY;
  }
  double density = k * s->log_p - tacit_log_factorial(k) + tacit_log_factorial(s->chain->n + moved);
  for (size_t e = 0; e < s->chain->run->cells.n_entries; e++) {
    density += log_lik_of(s->chain, s->entries[e].value, s->chain->sums[s->entries[e].value] + moved * s->entries[e].weight);
  }
  return density;
}

static void move_single(tacit_population_chain_t *c, size_t cell) {
  single_t single = {.chain = c, .entries = entries_of(c, cell), .count = c->counts[cell], .log_p = c->log_p[cell]};
  if (!(single.log_p > -INFINITY)) {
    return;
  }
  double at = single.count + tacit_rng_uniform(c->rng), log_at = single_density(&single, at);
  double moved = floor(tacit_slice(single_density, &single, at, &log_at, slice_width(c, single.entries, NULL, sqrt(single.count)), c->rng)) - single.count;
  add_records(c, cell, moved);
  c->n += moved;
}

/* Sums afresh: differences round. */
static void refresh_sums(tacit_population_chain_t *c) {
  memset(c->sums, 0, c->run->cells.n_values * sizeof *c->sums);
  for (size_t cell = 0; cell < c->run->cells.n_cells; cell++) {
    double count = c->counts[cell];
    c->counts[cell] = 0;
    add_records(c, cell, count);
  }
}

void tacit_counts_sweep(tacit_population_chain_t *c) {
  size_t n = c->run->cells.n_cells;
  refresh_sums(c);
  for (size_t a = 0; a < n && n > 1; a++) {
    size_t b = (size_t)tacit_rng_below(c->rng, n - 1);
    move_pair(c, a, b + (b >= a));
  }
  for (size_t a = 0; a < n && c->run->of_n; a++) {
    move_single(c, a);
  }
}
