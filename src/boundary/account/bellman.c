/*
 * The Bellman accountant of accept/reject bits (docs/theory.md, section 10.5).
 *
 * V_t(z) is the value, to an adversary who chooses a pair of the class in each of t steps knowing all that
 * was published, of E_Q (z Z - 1)+ with Z the likelihood ratio P/Q of those steps. V_0 = (z - 1)+ and
 * V_(t+1)(z) = sup over the class of q V_t(z p / q) + (1 - q) V_t(z (1 - p) / (1 - q)). Every V is convex
 * with slopes in [0, 1]: on a grid of log z its chords are above it, and beyond the grid the chord to (0, 0)
 * and the slope 1 are.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "account/bellman.h"
#include "base/error.h"
#include "base/memory.h"
#include "account/bit.h"
#include "account/grid.h"

/* Pairs one of whose outcomes is rarer than this under both distributions cost at most 4 of it in each step,
 * and are not followed. */
static const double rare = 1e-15;

enum { max_nodes = 1 << 16 };

/* A pair as a stencil: V(z) <- sum of four weights times V at shifted nodes. */
typedef struct stencil {
  ptrdiff_t accept, reject; /* shifts of the lower neighbours */
  double weight[4];
} stencil_t;

typedef struct table {
  double step;           /* of log z */
  size_t n, center;      /* nodes; z = 1 at center */
  size_t pad;            /* nodes beyond either end that stencils may read */
  double **values;       /* shape (n_most + 1): V after each step, shape (n + 2 pad) */
  double *work;          /* the like, between a step's bits and its Gaussian release */
  size_t n_done, n_most; /* steps that were taken, that the nodes reach for */
  stencil_t *stencils;
  size_t n_stencils;
  tacit_grid_t gaussian; /* dominating distribution of the Gaussian release in each step; n == 0: none */
} table_t;

static void table_clear(table_t *table) {
  for (size_t t = 0; table->values != NULL && t <= table->n_done; t++) {
    tacit_free(table->values[t]);
  }
  tacit_free(table->values);
  tacit_free(table->work);
  tacit_free(table->stencils);
  tacit_grid_clear(&table->gaussian);
}

static bool is_rare(const double *pair) {
  return fmax(pair[0], pair[1]) < rare || fmax(1 - pair[0], 1 - pair[1]) < rare;
}

/* q V(z ratio), by the chord between the two nodes around z ratio: weights in z of a grid even in log z. */
static void half_stencil(double q, double log_ratio, double step, ptrdiff_t *shift, double weight[2]) {
  double at = floor(log_ratio / step), share = expm1(log_ratio - at * step) / expm1(step);
  share = fmin(fmax(share, 0), 1);
  *shift = (ptrdiff_t)at;
  weight[0] = q * (1 - share) * (1 + 8 * DBL_EPSILON);
  weight[1] = q * share * (1 + 8 * DBL_EPSILON) + 4 * DBL_EPSILON * q / step * DBL_EPSILON;
}

/* Both orders of every pair. */
static void set_stencils(table_t *table, const tacit_bit_class_t *class) {
  for (size_t i = 0; i < class->n; i++) {
    const double *pair = class->pairs + 4 * i;
    if (is_rare(pair)) {
      continue;
    }
    for (int order = 0; order < 2; order++) {
      double q = pair[1 - order], sign = order == 0 ? 1 : -1;
      stencil_t *stencil = &table->stencils[table->n_stencils++];
      half_stencil(q, sign * pair[2], table->step, &stencil->accept, stencil->weight);
      half_stencil(1 - q, sign * pair[3], table->step, &stencil->reject, stencil->weight + 2);
    }
  }
}

/* Variance of the loss of the worst pair, and the largest shift of all that are followed. */
static void measure(const tacit_bit_class_t *class, double *variance, double *shift) {
  *variance = *shift = 0;
  for (size_t i = 0; i < class->n; i++) {
    const double *pair = class->pairs + 4 * i;
    if (!is_rare(pair)) {
      *variance = fmax(*variance, pair[1] * pair[2] * pair[2] + (1 - pair[1]) * pair[3] * pair[3]);
      *shift = fmax(*shift, fmax(fabs(pair[2]), fabs(pair[3])));
    }
  }
}

static double *new_value(const table_t *table) {
  return tacit_alloc(table->n + 2 * table->pad, sizeof(double));
}

static tacit_status_t table_init(table_t *table, const tacit_event_t *event, const tacit_bit_class_t *class,
                                 uint64_t n_steps, double variance, double shift, double fineness,
                                 tacit_error_t *err) {
  double steps = (double)n_steps, all = variance + 2 * event->rho,
         rho = event->rho * (double)tacit_event_group(event);
  double gaussian = sqrt(2 * rho) + rho;
  double reach =
      fmin(steps * (shift + 12 * gaussian), 11 * sqrt(steps * all) + 4 * shift) + 0.5 * steps * all;
  table->step = sqrt(all * fineness) / 7;
  double nodes = ceil(reach / table->step) + 1, pad = ceil((shift + 12 * gaussian) / table->step) + 2;
  if (!(nodes <= max_nodes && pad <= max_nodes)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "event",
                           "the bit's sensitivity is too small or too large to be followed");
  }
  table->center = (size_t)nodes;
  table->n = 2 * table->center + 1;
  table->pad = (size_t)pad;
  table->n_most = n_steps;
  table->values = tacit_alloc_zero(table->n_most + 1, sizeof *table->values);
  table->work = new_value(table);
  table->stencils = tacit_alloc(2 * class->n + 1, sizeof *table->stencils);
  if (table->values == NULL || table->work == NULL || table->stencils == NULL ||
      (table->values[0] = new_value(table)) == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < table->n; i++) {
    table->values[0][table->pad + i] =
        fmax(expm1((double)((ptrdiff_t)i - (ptrdiff_t)table->center) * table->step), 0);
  }
  set_stencils(table, class);
  if (event->rho > 0) {
    tacit_pair_t pair;
    tacit_pair_init_gaussian(&pair, rho * (1 + 4 * DBL_EPSILON));
    return tacit_grid_init(&table->gaussian, &pair, table->step, -11 * gaussian, 11 * gaussian, 0, err);
  }
  return TACIT_OK;
}

static double z_at(const table_t *table, ptrdiff_t node) {
  return exp((double)(node - (ptrdiff_t)table->center) * table->step);
}

/* Beyond the nodes: the chord to (0, 0) below, slope 1 above. */
static void extend(const table_t *table, double *value) {
  double *inner = value + table->pad, first = inner[0] / z_at(table, 0), last = inner[table->n - 1];
  for (size_t i = 1; i <= table->pad; i++) {
    inner[-(ptrdiff_t)i] = first * z_at(table, -(ptrdiff_t)i);
    inner[table->n - 1 + i] =
        last + (z_at(table, (ptrdiff_t)(table->n - 1 + i)) - z_at(table, (ptrdiff_t)table->n - 1)) *
                   (1 + 4 * DBL_EPSILON);
  }
}

/* The same sums in the same order on every instruction set. The resolver of clones runs before the thread
 * sanitizer does. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void
apply(const stencil_t *stencils, size_t n_stencils, const double *in, double *restrict out, size_t n) {
  for (size_t s = 0; s < n_stencils; s++) {
    const double *accept = in + stencils[s].accept, *reject = in + stencils[s].reject;
    const double a = stencils[s].weight[0], b = stencils[s].weight[1], c = stencils[s].weight[2],
                 d = stencils[s].weight[3];
    for (size_t i = 0; i < n; i++) {
      double value = (a * accept[i] + b * accept[i + 1]) + (c * reject[i] + d * reject[i + 1]);
      out[i] = value > out[i] ? value : out[i];
    }
  }
}

static void step_bits(const table_t *table, double *value, double *next) {
  extend(table, value);
  memcpy(next + table->pad, value + table->pad, table->n * sizeof *next);
  apply(table->stencils, table->n_stencils, value + table->pad, next + table->pad, table->n);
}

/* V(z) <- sum_i q_i V(z e^l_i) + z P(L infinite), the release being seen before the bit is chosen. */
static void step_gaussian(const table_t *table, double *value, double *next) {
  const tacit_grid_t *grid = &table->gaussian;
  extend(table, value);
  double *restrict out = next + table->pad;
  const double *in = value + table->pad;
  for (size_t i = 0; i < table->n; i++) {
    out[i] = grid->infinite * z_at(table, (ptrdiff_t)i);
  }
  for (size_t j = 0; j < grid->n; j++) {
    ptrdiff_t shift = (ptrdiff_t)grid->first + (ptrdiff_t)j;
    double weight = grid->upper[j] * exp(-(double)shift * grid->step) * (1 + 8 * DBL_EPSILON);
    for (size_t i = 0; i < table->n; i++) {
      out[i] += weight * in[(ptrdiff_t)i + shift];
    }
  }
}

/* V after n_steps; the steps up to there are kept. */
static tacit_status_t follow(table_t *table, uint64_t n_steps, uint64_t group, tacit_error_t *err) {
  while (table->n_done < n_steps) {
    size_t t = table->n_done + 1;
    bool has_gaussian = table->gaussian.n > 0 && t % group == 0;
    table->values[t] = new_value(table);
    if (table->values[t] == NULL) {
      return tacit_error_memory(err);
    }
    table->n_done = t;
    step_bits(table, table->values[t - 1], has_gaussian ? table->work : table->values[t]);
    if (has_gaussian) {
      step_gaussian(table, table->work, table->values[t]);
    }
  }
  return TACIT_OK;
}

/*
 * V = E_P (z - e^-L)+ is linear between nodes: P has at L = -log z_i the change of V's slope there, and at an
 * infinite loss the slope from 0 on.
 */
static tacit_status_t to_pair(const table_t *table, tacit_pair_t *pair, uint64_t n_steps, uint64_t count,
                              tacit_error_t *err) {
  size_t n = table->n;
  double *work = tacit_alloc(n, 3 * sizeof *work);
  if (work == NULL) {
    return tacit_error_memory(err);
  }
  const double *value = table->values[n_steps] + table->pad;
  double before = value[0] / z_at(table, 0), rounding = 1 + 32 * DBL_EPSILON * (double)n_steps;
  *pair =
      (tacit_pair_t){.rate = 1, .count = count, .infinite = before * rounding + 4 * rare * (double)n_steps};
  for (size_t i = 0; i < n; i++) { /* losses increase as z falls */
    double z = z_at(table, (ptrdiff_t)i);
    double after = i + 1 < n ? (value[i + 1] - value[i]) / (z * expm1(table->step)) : 1;
    double p = fmax(after - before, 0) * rounding;
    work[n - 1 - i] = -(double)((ptrdiff_t)i - (ptrdiff_t)table->center) * table->step;
    work[n + n - 1 - i] = p;
    work[2 * n + n - 1 - i] = p * z;
    before = after;
  }
  tacit_status_t status = tacit_table_init(&pair->own_table, n, work, work + n, work + 2 * n, err);
  if (status == TACIT_OK) {
    tacit_pair_use_own_table(pair);
  }
  tacit_free(work);
  return status;
}

/* ---- what is kept for the next question ---- */

struct tacit_followed {
  tacit_event_t event; /* of its count, whether it is below `few` */
  double fineness;
  table_t table;
  tacit_followed_t *next;
};

/* Few bits are worth a finer covering. */
enum { few = 100 };

/* Steps in a block: enough for what a heavy tail loses at the seams not to matter, few enough to be followed
 * quickly. */
static uint64_t block_length(const tacit_event_t *event, double variance) {
  double length = fmin(fmax(ceil(0.25 / (variance + 2 * event->rho)), 16), event->count < few ? few : 200);
  uint64_t group = tacit_event_group(event);
  return group * (uint64_t)ceil(length / (double)group);
}

static void followed_free(tacit_followed_t *followed) {
  if (followed != NULL) {
    table_clear(&followed->table);
    tacit_free(followed);
  }
}

void tacit_bellman_clear(tacit_bellman_t *bellman) {
  while (bellman->first != NULL) {
    tacit_followed_t *next = bellman->first->next;
    followed_free(bellman->first);
    bellman->first = next;
  }
}

static tacit_status_t followed_init(tacit_followed_t *followed, tacit_error_t *err) {
  tacit_bit_class_t class;
  double variance, shift, fineness = followed->fineness;
  const tacit_event_t *event = &followed->event;
  tacit_status_t status = tacit_bit_class_init(&class, event, 0.004 * fineness,
                                               (event->count < few ? 0.004 : 0.03) * fineness, fineness, err);
  if (status == TACIT_OK) {
    measure(&class, &variance, &shift);
    status = table_init(&followed->table, event, &class, block_length(event, variance), variance, shift,
                        fineness, err);
    tacit_bit_class_clear(&class);
  }
  return status;
}

static bool serves(const tacit_followed_t *followed, const tacit_event_t *event, double fineness) {
  return tacit_event_compare(&followed->event, event) == 0 &&
         (followed->event.count < few) == (event->count < few) && fabs(followed->fineness - fineness) <= 0;
}

/* *found: what is kept of such bits, or else new. */
static tacit_status_t find(tacit_bellman_t *bellman, const tacit_event_t *event, double fineness,
                           tacit_followed_t **found, tacit_error_t *err) {
  for (*found = bellman->first; *found != NULL; *found = (*found)->next) {
    if (serves(*found, event, fineness)) {
      return TACIT_OK;
    }
  }
  tacit_followed_t *followed = tacit_alloc_zero(1, sizeof *followed);
  if (followed == NULL) {
    return tacit_error_memory(err);
  }
  *followed = (tacit_followed_t){.event = *event, .fineness = fineness, .next = bellman->first};
  tacit_status_t status = followed_init(followed, err);
  if (status != TACIT_OK) {
    followed_free(followed);
    return status;
  }
  *found = bellman->first = followed;
  return TACIT_OK;
}

/* ---- blocks ---- */

typedef struct blocks {
  tacit_pair_t *pairs; /* shape (n): of each event, whole blocks and the rest */
  size_t n;
} blocks_t;

static void blocks_clear(blocks_t *blocks) {
  for (size_t i = 0; i < blocks->n; i++) {
    tacit_pair_clear(&blocks->pairs[i]);
  }
  tacit_free(blocks->pairs);
}

static tacit_status_t add_block(blocks_t *blocks, table_t *table, uint64_t group, uint64_t n_steps,
                                uint64_t count, tacit_error_t *err) {
  if (n_steps == 0 || count == 0) {
    return TACIT_OK;
  }
  tacit_status_t status = follow(table, n_steps, group, err);
  if (status == TACIT_OK) {
    status = to_pair(table, &blocks->pairs[blocks->n], n_steps, count, err);
    blocks->n += status == TACIT_OK;
  }
  return status;
}

static tacit_status_t add_bits(blocks_t *blocks, tacit_bellman_t *bellman, const tacit_event_t *event,
                               double fineness, tacit_error_t *err) {
  tacit_followed_t *followed;
  tacit_status_t status = find(bellman, event, fineness, &followed, err);
  if (status != TACIT_OK) {
    return status;
  }
  table_t *table = &followed->table;
  uint64_t group = tacit_event_group(event), count = tacit_event_whole_count(event), length = table->n_most;
  status = add_block(blocks, table, group, count % length, 1, err);
  return status == TACIT_OK ? add_block(blocks, table, group, length, count / length, err) : status;
}

static tacit_status_t blocks_init(blocks_t *blocks, tacit_bellman_t *bellman, const tacit_event_t *events,
                                  size_t n, double fineness, tacit_error_t *err) {
  *blocks = (blocks_t){.pairs = tacit_alloc(2 * n + 1, sizeof *blocks->pairs)};
  tacit_status_t status = blocks->pairs != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    if (tacit_event_is_bit(&events[i])) {
      status = add_bits(blocks, bellman, &events[i], fineness, err);
    } else if (tacit_event_is_gaussian(&events[i])) {
      tacit_pair_init_gaussian(&blocks->pairs[blocks->n++],
                               tacit_event_rho(&events[i]) * (1 + 4 * DBL_EPSILON));
    } else {
      status =
          tacit_error_set(err, TACIT_ERR_ARGUMENT, "event", "not a bit or a Gaussian release of all records");
    }
  }
  if (status != TACIT_OK) {
    blocks_clear(blocks);
  }
  return status;
}

/* Of the covering and the grid, for a relative width asked for. */
static double fineness_of(double width) { return width > 0 ? fmin(fmax(width / 1e-3, 0.05), 1) : 1; }

tacit_status_t tacit_bellman_epsilon(tacit_bellman_t *bellman, const tacit_event_t *events, size_t n,
                                     double log_delta, double width, double *epsilon, tacit_error_t *err) {
  blocks_t blocks;
  tacit_bracket_t bracket = {0, INFINITY};
  tacit_status_t status = blocks_init(&blocks, bellman, events, n, fineness_of(width), err);
  if (status == TACIT_OK) {
    const tacit_composition_t composition = {blocks.pairs, blocks.n};
    status = tacit_pld_epsilon(&composition, log_delta, 2e-3 * fineness_of(width), &bracket, err);
    blocks_clear(&blocks);
  }
  *epsilon = bracket.upper;
  return status;
}

tacit_status_t tacit_bellman_log_delta(tacit_bellman_t *bellman, const tacit_event_t *events, size_t n,
                                       double epsilon, double width, double *log_delta, tacit_error_t *err) {
  blocks_t blocks;
  tacit_bracket_t bracket = {-INFINITY, 0};
  tacit_status_t status = blocks_init(&blocks, bellman, events, n, fineness_of(width), err);
  if (status == TACIT_OK) {
    const tacit_composition_t composition = {blocks.pairs, blocks.n};
    status = tacit_pld_log_delta(&composition, epsilon, 2e-3 * fineness_of(width), &bracket, err);
    blocks_clear(&blocks);
  }
  *log_delta = bracket.upper;
  return status;
}
