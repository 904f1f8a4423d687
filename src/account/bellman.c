/*
 * The Bellman accountant of accept/reject bits (docs/theory.md, section 10.5).
 *
 * V_t(z) is the value, to an adversary who chooses a pair of the class in each of t steps knowing all that was published, of
 * E_Q (z Z - 1)+ with Z the likelihood ratio P/Q of those steps. V_0 = (z - 1)+ and V_(t+1)(z) = sup over the class of
 * q V_t(z p / q) + (1 - q) V_t(z (1 - p) / (1 - q)). Every V is convex with slopes in [0, 1]: on a grid of log z its chords are
 * above it, and beyond the grid the chord to (0, 0) and the slope 1 are.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "account/bellman.h"
#include "account/bit.h"
#include "account/grid.h"

/* Pairs one of whose outcomes is rarer than this under both laws cost at most 4 of it in each step, and are not followed. */
static const double rare = 1e-15;

enum { max_nodes = 1 << 16 };

/* A pair as a stencil: V(z) <- sum of four weights times V at shifted nodes. */
typedef struct stencil {
  ptrdiff_t accept, reject; /* shifts of the lower neighbours */
  double weight[4];
} stencil_t;

typedef struct table {
  double step;       /* of log z */
  size_t n, center;  /* nodes; z = 1 at center */
  size_t pad;        /* nodes beyond either end that stencils may read */
  double *value, *next; /* shape (n + 2 pad) */
  stencil_t *stencils;
  size_t n_stencils;
  tacit_grid_t gaussian; /* dominating law of the Gaussian release in each step; n == 0: none */
} table_t;

static void table_clear(table_t *table) {
  tacit_free(table->value);
  tacit_free(table->next);
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

static tacit_status_t table_init(table_t *table, const tacit_event_t *event, const tacit_bit_class_t *class,
                                 uint64_t n_steps, double variance, double shift, double fineness, tacit_error_t *err) {
  double steps = (double)n_steps, all = variance + 2 * event->rho, rho = event->rho * (double)tacit_event_group(event);
  double gaussian = sqrt(2 * rho) + rho;
  double reach = fmin(steps * (shift + 12 * gaussian), 11 * sqrt(steps * all) + 4 * shift) + 0.5 * steps * all;
  table->step = sqrt(all * fineness) / 7;
  double nodes = ceil(reach / table->step) + 1, pad = ceil((shift + 12 * gaussian) / table->step) + 2;
  if (nodes > max_nodes || pad > max_nodes) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "event", "the bit's sensitivity is too small or too large to be followed");
  }
  table->center = (size_t)nodes;
  table->n = 2 * table->center + 1;
  table->pad = (size_t)pad;
  size_t length = table->n + 2 * table->pad;
  table->value = tacit_alloc(length, sizeof *table->value);
  table->next = tacit_alloc(length, sizeof *table->next);
  table->stencils = tacit_alloc(2 * class->n + 1, sizeof *table->stencils);
  if (table->value == NULL || table->next == NULL || table->stencils == NULL) {
    return tacit_error_memory(err);
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
        last + (z_at(table, (ptrdiff_t)(table->n - 1 + i)) - z_at(table, (ptrdiff_t)table->n - 1)) * (1 + 4 * DBL_EPSILON);
  }
}

/* The same sums in the same order on every instruction set. The resolver of clones runs before the thread sanitizer does. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void apply(const stencil_t *stencils, size_t n_stencils, const double *in, double *restrict out, size_t n) {
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

static void step_bits(table_t *table) {
  extend(table, table->value);
  const double *in = table->value + table->pad;
  double *out = table->next + table->pad;
  memcpy(out, in, table->n * sizeof *out);
  apply(table->stencils, table->n_stencils, in, out, table->n);
  double *swap = table->value;
  table->value = table->next;
  table->next = swap;
}

/* V(z) <- sum_i q_i V(z e^l_i) + z P(L infinite), the release being seen before the bit is chosen. */
static void step_gaussian(table_t *table) {
  const tacit_grid_t *grid = &table->gaussian;
  if (grid->n == 0) {
    return;
  }
  extend(table, table->value);
  double *restrict out = table->next + table->pad;
  const double *in = table->value + table->pad;
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
  double *swap = table->value;
  table->value = table->next;
  table->next = swap;
}

/*
 * V = E_P (z - e^-L)+ is linear between nodes: P has at L = -log z_i the change of V's slope there, and at an infinite loss the
 * slope from 0 on.
 */
static tacit_status_t to_pair(const table_t *table, tacit_pair_t *pair, uint64_t n_steps, uint64_t count,
                              tacit_error_t *err) {
  size_t n = table->n;
  double *work = tacit_alloc(n, 3 * sizeof *work);
  if (work == NULL) {
    return tacit_error_memory(err);
  }
  const double *value = table->value + table->pad;
  double before = value[0] / z_at(table, 0), rounding = 1 + 32 * DBL_EPSILON * (double)n_steps;
  *pair = (tacit_pair_t){.rate = 1, .count = count, .infinite = before * rounding + 4 * rare * (double)n_steps};
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

/* Steps in a block: enough for what a heavy tail loses at the seams not to matter, few enough to be followed quickly. */
static uint64_t block_length(const tacit_event_t *event, double variance) {
  double length = fmin(fmax(ceil(0.25 / (variance + 2 * event->rho)), 16), 200);
  uint64_t group = tacit_event_group(event), groups = (uint64_t)ceil(length / (double)group);
  return groups * group < event->count ? groups * group : tacit_event_whole_count(event);
}

static tacit_status_t run_blocks(table_t *table, blocks_t *blocks, const tacit_event_t *event, uint64_t length,
                                 tacit_error_t *err) {
  uint64_t group = tacit_event_group(event), count = tacit_event_whole_count(event), rest = count % length;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < table->n; i++) {
    table->value[table->pad + i] = fmax(expm1((double)((ptrdiff_t)i - (ptrdiff_t)table->center) * table->step), 0);
  }
  for (uint64_t t = 1; status == TACIT_OK && t <= length; t++) {
    step_bits(table);
    if (t % group == 0) {
      step_gaussian(table);
    }
    if (t == rest || t == length) {
      status = to_pair(table, &blocks->pairs[blocks->n], t, t == rest ? 1 : count / length, err);
      blocks->n += status == TACIT_OK;
    }
  }
  return status;
}

static tacit_status_t add_bits(blocks_t *blocks, const tacit_event_t *event, double fineness, tacit_error_t *err) {
  tacit_bit_class_t class;
  table_t table = {0};
  double variance, shift;
  tacit_status_t status = tacit_bit_class_init(&class, event, 0.004 * fineness, (event->count < 100 ? 0.004 : 0.03) * fineness, fineness, err);
  if (status != TACIT_OK) {
    return status;
  }
  measure(&class, &variance, &shift);
  uint64_t length = block_length(event, variance);
  status = table_init(&table, event, &class, length, variance, shift, fineness, err);
  if (status == TACIT_OK) {
    status = run_blocks(&table, blocks, event, length, err);
  }
  table_clear(&table);
  tacit_bit_class_clear(&class);
  return status;
}

static tacit_status_t blocks_init(blocks_t *blocks, const tacit_event_t *events, size_t n, double fineness,
                                  tacit_error_t *err) {
  *blocks = (blocks_t){.pairs = tacit_alloc(2 * n + 1, sizeof *blocks->pairs)};
  tacit_status_t status = blocks->pairs != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    if (tacit_event_is_bit(&events[i])) {
      status = add_bits(blocks, &events[i], fineness, err);
    } else if (tacit_event_is_gaussian(&events[i])) {
      tacit_pair_init_gaussian(&blocks->pairs[blocks->n++], tacit_event_rho(&events[i]) * (1 + 4 * DBL_EPSILON));
    } else {
      status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "event", "not a bit or a Gaussian release of all records");
    }
  }
  if (status != TACIT_OK) {
    blocks_clear(blocks);
  }
  return status;
}

/* Of the covering and the grid, for a relative width asked for. */
static double fineness_of(double width) {
  return width > 0 ? fmin(fmax(width / 1e-3, 0.05), 1) : 1;
}

tacit_status_t tacit_bellman_epsilon(const tacit_event_t *events, size_t n, double log_delta, double width,
                                     double *epsilon, tacit_error_t *err) {
  blocks_t blocks;
  tacit_bracket_t bracket = {0, INFINITY};
  tacit_status_t status = blocks_init(&blocks, events, n, fineness_of(width), err);
  if (status == TACIT_OK) {
    const tacit_composition_t composition = {blocks.pairs, blocks.n};
    status = tacit_pld_epsilon(&composition, log_delta, 2e-3 * fineness_of(width), &bracket, err);
    blocks_clear(&blocks);
  }
  *epsilon = bracket.upper;
  return status;
}

tacit_status_t tacit_bellman_log_delta(const tacit_event_t *events, size_t n, double epsilon, double width,
                                       double *log_delta, tacit_error_t *err) {
  blocks_t blocks;
  tacit_bracket_t bracket = {-INFINITY, 0};
  tacit_status_t status = blocks_init(&blocks, events, n, fineness_of(width), err);
  if (status == TACIT_OK) {
    const tacit_composition_t composition = {blocks.pairs, blocks.n};
    status = tacit_pld_log_delta(&composition, epsilon, 2e-3 * fineness_of(width), &bracket, err);
    blocks_clear(&blocks);
  }
  *log_delta = bracket.upper;
  return status;
}
