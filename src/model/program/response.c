/*
 * Other responses of a record, from what the program says at a point, given the record's features: all whole
 * numbers of a column with their probabilities, or draws from a distribution that is known here. Draws depend
 * on the record's own content, on the seed and on nothing else.
 */
#include "base/error.h"
#include "base/memory.h"
#include "program/compiled.h"
#include "program/distribution.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NONE = TACIT_NODE_NONE, MOST_VALUES = 1024 };

/* ---- distributions ---- */

/* Numbers of a stream. */
typedef struct stream {
  tacit_uniforms_t base;
  uint64_t state;
} stream_t;

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

static double uniform(tacit_uniforms_t *of) {
  stream_t *s = (stream_t *)of;
  s->state += 0x9E3779B97F4A7C15u;
  return ((double)(mixed(s->state) >> 12) + 0.5) * 0x1p-52;
}

static const tacit_distribution_t *distribution_of(const char *name) {
  const tacit_distribution_t *distribution = tacit_distribution_find(name);
  return distribution != NULL && distribution->makes_records ? distribution : NULL;
}

/* ---- what the program says ---- */

static const char *obstacle_of(tacit_compiled_t *p) {
  const tacit_graph_t *g = p->graph;
  const tacit_graph_response_t *said = &g->response;
  tacit_response_t *r = &p->response;
  r->distribution = distribution_of(said->distribution);
  r->is_censored = said->seen != NONE;
  if (!g->keeps_responses) {
    return "its records are packed without them";
  }
  if (g->n_responses != 1 || g->record != said->density) {
    return g->n_responses > 1 ? "its records have several outcomes"
                              : "its records' term is not one statement `outcome ~ distribution(...)`";
  }
  if (said->value == NONE || !tacit_graph_affine(g, said->value, &r->value)) {
    return "its outcome is truncated, of an interval, or no column of the data";
  }
  r->is_at_random = r->is_censored && !g->is_followed_to_bound;
  if (r->is_censored &&
      (!tacit_graph_affine(g, said->seen, &r->seen) || r->distribution == NULL || r->value.a < 0)) {
    return "it is not known how its censored outcomes arise";
  }
  if (r->is_at_random && !r->distribution->is_quantile) {
    return "its outcome is censored at times of which nothing is known, and hazards of its distribution are "
           "not known (if publicly all "
           "were followed to the bound: --followed-to-bound)";
  }
  if (r->distribution != NULL) {
    return said->n_args == r->distribution->n_args
               ? NULL
               : "its outcome's distribution has parameters that are no numbers";
  }
  const tacit_graph_column_t *column = &g->columns[r->value.column];
  bool is_plain = tacit_graph_at(g, said->value)->op == TACIT_OP_COLUMN;
  r->n_values = is_plain && column->is_integer && column->upper - column->lower < MOST_VALUES
                    ? (size_t)(column->upper - column->lower) + 1
                    : 0;
  return r->n_values > 0                  ? NULL
         : is_plain && column->is_integer ? "its outcome has more than 1024 values"
                                          : "draws from its outcome's distribution are not known";
}

/* Mark what depends on what is marked, in the order of nodes. */
static void spread_marks(const tacit_graph_t *g, uint8_t *is_marked) {
  for (tacit_node_t i = 1; i < g->n_nodes; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(g, i);
    if (n->op == TACIT_OP_CONSTANT || n->op == TACIT_OP_COLUMN || n->op == TACIT_OP_PARAMETER) {
      continue;
    }
    bool is_list = n->op == TACIT_OP_DOT || n->op == TACIT_OP_LOOKUP;
    is_marked[i] |= !is_list && (is_marked[n->a] | is_marked[n->b] | is_marked[n->c]);
    is_marked[i] |= n->op == TACIT_OP_LOOKUP && is_marked[n->a];
    for (uint32_t k = 0; is_list && k < n->c; k++) {
      is_marked[i] |=
          is_marked[g->lists[n->b + k]] | (n->op == TACIT_OP_DOT && is_marked[g->lists[n->a + k]]);
    }
  }
}

/* Mark what marked nodes depend on, backwards. */
static void gather_marks(const tacit_graph_t *g, uint8_t *is_marked) {
  for (tacit_node_t i = (tacit_node_t)g->n_nodes - 1; i >= 1; i--) {
    const tacit_graph_node_t *n = tacit_graph_at(g, i);
    if (!is_marked[i] || n->op == TACIT_OP_CONSTANT || n->op == TACIT_OP_COLUMN ||
        n->op == TACIT_OP_PARAMETER) {
      continue;
    }
    bool is_list = n->op == TACIT_OP_DOT || n->op == TACIT_OP_LOOKUP;
    if (!is_list) {
      is_marked[n->a] = is_marked[n->b] = is_marked[n->c] = 1;
    } else if (n->op == TACIT_OP_LOOKUP) {
      is_marked[n->a] = 1;
    }
    for (uint32_t k = 0; is_list && k < n->c; k++) {
      is_marked[g->lists[n->b + k]] = 1;
      if (n->op == TACIT_OP_DOT) {
        is_marked[g->lists[n->a + k]] = 1;
      }
    }
  }
}

/* touched (n_nodes) <- depends on the response's columns. */
static void touch(const tacit_compiled_t *p, uint8_t *touched) {
  const tacit_graph_t *g = p->graph;
  for (tacit_node_t i = 1; i < g->n_nodes; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(g, i);
    bool is_response =
        n->op == TACIT_OP_COLUMN &&
        (n->a == p->response.value.column || (p->response.is_censored && n->a == p->response.seen.column));
    touched[i] = is_response;
  }
  spread_marks(g, touched);
}

tacit_status_t tacit_response_prepare(tacit_compiled_t *p, size_t *n_roots, tacit_node_t *roots,
                                      tacit_error_t *err) {
  const tacit_graph_response_t *said = &p->graph->response;
  uint8_t *touched = tacit_alloc_zero(p->graph->n_nodes, 1);
  if (touched == NULL) {
    return tacit_error_memory(err);
  }
  p->response.obstacle = obstacle_of(p);
  *n_roots = 0;
  if (p->response.obstacle == NULL) {
    touch(p, touched);
    for (size_t i = 0; i < said->n_args; i++) {
      p->response.obstacle =
          touched[said->args[i]] ? "its outcome's distribution depends on the outcome" : p->response.obstacle;
    }
  }
  if (p->response.obstacle == NULL) {
    *n_roots = p->response.distribution != NULL ? said->n_args : 1;
    for (size_t i = 0; i < *n_roots; i++) {
      roots[i] = p->response.distribution != NULL ? said->args[i] : said->density;
    }
  }
  tacit_free(touched);
  return TACIT_OK;
}

/* Columns that packed ones which depend on the response are derived from are packed too. */
tacit_status_t tacit_response_settle(tacit_compiled_t *p, tacit_error_t *err) {
  const tacit_graph_t *g = p->graph;
  tacit_response_t *r = &p->response;
  if (r->obstacle != NULL) {
    return TACIT_OK;
  }
  uint8_t *touched = tacit_alloc_zero(g->n_nodes, 1), *needed = tacit_alloc_zero(g->n_nodes, 1);
  bool ok = touched != NULL && needed != NULL;
  if (ok) {
    touch(p, touched);
    for (size_t j = 0; j < p->layout.n_columns; j++) {
      needed[p->layout.columns[j]] = touched[p->layout.columns[j]];
    }
    gather_marks(g, needed);
  }
  for (tacit_node_t i = 1; ok && i < g->n_nodes; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(g, i);
    bool is_response = n->op == TACIT_OP_COLUMN && touched[i];
    ok = n->op != TACIT_OP_COLUMN || !(needed[i] || is_response || g->keeps_columns) ||
         tacit_layout_add(&p->layout, 1, &i);
  }
  r->is_derived = tacit_alloc_zero(p->layout.n_columns, sizeof *r->is_derived);
  r->packed = tacit_alloc_zero(g->n_columns, sizeof *r->packed);
  ok = ok && r->is_derived != NULL && r->packed != NULL;
  for (size_t k = 0; ok && k < g->n_columns; k++) {
    r->packed[k] = SIZE_MAX;
  }
  for (size_t j = 0; ok && j < p->layout.n_columns; j++) {
    const tacit_graph_node_t *n = tacit_graph_at(g, p->layout.columns[j]);
    r->is_derived[j] = touched[p->layout.columns[j]];
    if (n->op == TACIT_OP_COLUMN) {
      r->packed[n->a] = j;
    }
  }
  tacit_free(touched);
  tacit_free(needed);
  return ok ? TACIT_OK : tacit_error_memory(err);
}

void tacit_response_clear(tacit_response_t *response) {
  tacit_free(response->is_derived);
  tacit_free(response->packed);
}

/* ---- records ---- */

static float packed_number(double x) {
  float y = (float)x;
  return fabsf(y) < FLT_MIN ? 0 : y;
}

/* What the column is packed as where a x + b = y. */
static float column_value(const tacit_graph_t *g, const tacit_affine_t *of, double y) {
  const tacit_graph_column_t *column = &g->columns[of->column];
  double x = (y - of->b) / of->a;
  return packed_number(fmin(fmax(column->is_integer ? nearbyint(x) : x, column->lower), column->upper));
}

/* Other content of a record gives other draws. */
static uint64_t hash_of(const float *record, size_t n, uint64_t seed) {
  uint64_t hash = mixed(seed + 0x9E3779B97F4A7C15u);
  for (size_t j = 0; j < n; j++) {
    uint32_t bits;
    memcpy(&bits, &record[j], sizeof bits);
    hash = mixed((hash ^ bits) + 0x9E3779B97F4A7C15u);
  }
  return hash;
}

/* block (n_columns, 16) of the record with responses y and, where they are censored, whether they are seen,
 * of 16 lanes in workspace->raw. */
static void finish_block(const tacit_compiled_t *p, tacit_workspace_t *workspace, const float *record,
                         float *block) {
  tacit_work_prepare(workspace->work[TACIT_ROLE_DATA], 1, 0, workspace->theta);
  tacit_work_run(workspace->work[TACIT_ROLE_DATA], workspace->raw, 1, 1, p->layout.n_columns * 16,
                 workspace->out);
  for (size_t i = 0; i < p->layout.n_columns * 16; i++) {
    block[i] = p->response.is_derived[i / 16] ? packed_number(workspace->out[i]) : record[i / 16];
  }
}

static void spread_record(const tacit_compiled_t *p, const float *record, tacit_workspace_t *workspace) {
  for (size_t i = 0; i < p->graph->n_columns * 16; i++) {
    size_t at = p->response.packed[i / 16];
    workspace->raw[i] = at == SIZE_MAX ? packed_number(p->graph->columns[i / 16].lower) : record[at];
  }
}

/* Values of the response from `first` on, and their log densities. */
static void fill_values(const tacit_compiled_t *p, tacit_workspace_t *workspace, const float *record,
                        size_t first, float *block, double *weights) {
  const tacit_response_t *r = &p->response;
  double lower = p->graph->columns[r->value.column].lower;
  for (size_t lane = 0; lane < 16; lane++) {
    workspace->raw[r->value.column * 16 + lane] =
        (float)(lower + (double)(first + lane < r->n_values ? first + lane : 0));
  }
  finish_block(p, workspace, record, block);
  tacit_work_run(workspace->work[TACIT_ROLE_RESPONSE], block, 1, 1, 16, workspace->out);
  for (size_t lane = 0; lane < 16; lane++) {
    weights[first + lane] =
        first + lane < r->n_values && workspace->out[lane] <= DBL_MAX ? workspace->out[lane] : -INFINITY;
  }
}

static void normalise(size_t n, double *weights) {
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++) {
    most = fmax(most, weights[i]);
  }
  for (size_t i = 0; i < n; i++) {
    weights[i] = isfinite(most) ? exp(weights[i] - most) : 0;
    sum += weights[i];
  }
  for (size_t i = 0; i < n; i++) {
    weights[i] = sum > 0 ? weights[i] / sum : 0;
  }
}

/* What the response's column holds where u is drawn; a censored one that is not seen is at the bound. */
static float draw(const tacit_compiled_t *p, const double *args, double u, stream_t *stream, bool *is_seen) {
  const tacit_response_t *r = &p->response;
  double bound = r->value.a * p->graph->columns[r->value.column].upper + r->value.b,
         y = r->distribution->draw(args, u, &stream->base);
  *is_seen = !r->is_censored || y < bound;
  return column_value(p->graph, &r->value, *is_seen ? y : bound);
}

/* Draw `first` and the 15 that follow, of n: the i-th from the i-th part of the distribution where it is
 * given by its quantiles. */
static void fill_draws(const tacit_compiled_t *p, tacit_workspace_t *workspace, const double *args,
                       size_t first, size_t n, stream_t *stream) {
  const tacit_response_t *r = &p->response;
  for (size_t lane = 0; lane < 16; lane++) {
    size_t i = (first + lane) % n;
    bool is_seen;
    double u = ((double)i + uniform(&stream->base)) / (double)n;
    workspace->raw[r->value.column * 16 + lane] = draw(p, args, u, stream, &is_seen);
    if (r->is_censored) {
      workspace->raw[r->seen.column * 16 + lane] = column_value(p->graph, &r->seen, is_seen);
    }
  }
}

/* args <- of the distribution that the record's response has. */
static void find_distribution(const tacit_compiled_t *p, const float *record, tacit_workspace_t *workspace,
                              double *args) {
  for (size_t i = 0; i < p->layout.n_columns * 16; i++) {
    workspace->block[i] = record[i / 16];
  }
  tacit_work_run(workspace->work[TACIT_ROLE_RESPONSE], workspace->block, 1, 1,
                 p->kernels[TACIT_ROLE_RESPONSE].n_roots * 16, workspace->out);
  for (size_t i = 0; i < p->response.distribution->n_args; i++) {
    args[i] = workspace->out[i * 16];
  }
}

void tacit_program_others(const void *ctx, const float *record, const double *theta, uint64_t seed, size_t n,
                          float *blocks, double *weights) {
  const tacit_compiled_t *p = ctx;
  size_t n_columns = p->layout.n_columns, n_blocks = (n + 15) / 16;
  stream_t stream = {{uniform}, hash_of(record, n_columns, seed)};
  double args[4] = {0};
  bool is_spare;
  tacit_workspace_t *workspace = tacit_workspace_take(p, 1, &is_spare);
  tacit_work_prepare(workspace->work[TACIT_ROLE_RESPONSE], 1, p->graph->n_parameters, theta);
  spread_record(p, record, workspace);
  if (p->response.distribution != NULL) {
    find_distribution(p, record, workspace, args);
  }
  for (size_t b = 0; b < n_blocks; b++) {
    if (p->response.distribution == NULL) {
      fill_values(p, workspace, record, 16 * b, blocks + b * n_columns * 16, weights);
      continue;
    }
    fill_draws(p, workspace, args, 16 * b, n, &stream);
    finish_block(p, workspace, record, blocks + b * n_columns * 16);
    for (size_t lane = 0; lane < 16; lane++) {
      weights[16 * b + lane] = 16 * b + lane < n ? 1 / (double)n : 0;
    }
  }
  tacit_workspace_give_back(p, is_spare);
  if (p->response.distribution == NULL) {
    normalise(16 * n_blocks, weights);
  }
}

void tacit_program_responses(const void *ctx, const float *record, const double *theta, uint64_t seed,
                             size_t n, double *values, bool *is_seen, double *weights) {
  const tacit_compiled_t *p = ctx;
  const tacit_response_t *r = &p->response;
  stream_t stream = {{uniform}, hash_of(record, p->layout.n_columns, seed)};
  double args[4] = {0}, lower = p->graph->columns[r->value.column].lower;
  size_t n_all = (n + 15) / 16 * 16;
  bool is_spare, of_one;
  tacit_workspace_t *workspace = tacit_workspace_take(p, 1, &is_spare);
  tacit_work_prepare(workspace->work[TACIT_ROLE_RESPONSE], 1, p->graph->n_parameters, theta);
  if (r->distribution != NULL) {
    find_distribution(p, record, workspace, args);
  } else {
    spread_record(p, record, workspace);
  }
  for (size_t first = 0; r->distribution == NULL && first < n_all; first += 16) {
    fill_values(p, workspace, record, first, workspace->block, weights);
  }
  for (size_t i = 0; i < n_all; i++) {
    bool *seen = is_seen != NULL ? &is_seen[i] : &of_one;
    *seen = true;
    values[i] = (double)(r->distribution == NULL ? packed_number(lower + (double)i)
                         : i < n                 ? draw(p, args, uniform(&stream.base), &stream, seen)
                                                 : 0);
    weights[i] = r->distribution == NULL ? weights[i] : i < n ? 1 / (double)n : 0;
  }
  tacit_workspace_give_back(p, is_spare);
  if (r->distribution == NULL) {
    normalise(n_all, weights);
  }
}

/* ---- censored at times of which nothing is known ---- */

/* When a record has been followed for so much hazard. */
static double time_at(const tacit_compiled_t *p, const double *args, double hazard) {
  stream_t none = {{uniform}, 0};
  return p->response.distribution->draw(args, -expm1(-hazard), &none.base);
}

/* The hazard up to a time, from `low` to `high`, as what lies outside of that counts. */
static double hazard_at(const tacit_compiled_t *p, const double *args, double time, double low, double high) {
  if (time_at(p, args, high) <= time) {
    return high;
  }
  for (int i = 0; i < 40; i++) {
    double middle = 0.5 * (low + high);
    *(time_at(p, args, middle) <= time ? &low : &high) = middle;
  }
  return low;
}

/* A pair of lanes: seen then, and censored then. */
static void fill_pair(const tacit_compiled_t *p, tacit_workspace_t *workspace, size_t pair, double time) {
  const tacit_response_t *r = &p->response;
  const tacit_graph_column_t *column = &p->graph->columns[r->value.column];
  for (size_t i = 0; i < 2; i++) {
    size_t lane = (2 * pair + i) % 16;
    workspace->raw[r->value.column * 16 + lane] =
        packed_number(fmin(fmax((time - r->value.b) / r->value.a, column->lower), column->upper));
    workspace->raw[r->seen.column * 16 + lane] = column_value(p->graph, &r->seen, i == 0);
  }
}

void tacit_program_hazards(const void *ctx, const float *record, const double *theta,
                           const double *distribution, uint64_t seed, size_t n, float *blocks,
                           double *weights) {
  enum { TINY = -1000, MOST = 36 }; /* 1 - exp(-36) is the last but one number below 1 */
  const tacit_compiled_t *p = ctx;
  const tacit_response_t *r = &p->response;
  size_t n_columns = p->layout.n_columns;
  stream_t stream = {{uniform}, hash_of(record, n_columns, seed)};
  double args[4] = {0}, other[4] = {0}, step = TACIT_FOLLOWED_HAZARD / (double)n;
  double own = r->value.a * (double)record[r->packed[r->value.column]] + r->value.b,
         seen = (double)record[r->packed[r->seen.column]];
  bool is_spare;
  tacit_workspace_t *workspace = tacit_workspace_take(p, 1, &is_spare);
  if (distribution != NULL) {
    tacit_work_prepare(workspace->work[TACIT_ROLE_RESPONSE], 1, p->graph->n_parameters, distribution);
    find_distribution(p, record, workspace, other);
  }
  tacit_work_prepare(workspace->work[TACIT_ROLE_RESPONSE], 1, p->graph->n_parameters, theta);
  find_distribution(p, record, workspace, args);
  spread_record(p, record, workspace);
  double followed = hazard_at(p, args, own, 0, TACIT_FOLLOWED_HAZARD), start = 0;
  for (size_t pair = 0; pair < (2 * n + 2 + 15) / 16 * 8; pair++) {
    double from = step * (double)pair,
           part = pair < n ? fmax(fmin(followed - from, step), pair == 0 ? ldexp(1, TINY) : 0) : 0;
    bool is_part = part > 0;
    weights[2 * pair] =
        is_part ? part
                : pair == n && followed < TACIT_FOLLOWED_HAZARD && fabs(r->seen.a * seen + r->seen.b) > 0.5;
    double end = is_part && distribution != NULL
                     ? hazard_at(p, other, time_at(p, args, from + part), start, MOST)
                     : start;
    weights[2 * pair + 1] = is_part && distribution != NULL ? end - start - part : 0;
    start = end;
    fill_pair(p, workspace, pair,
              is_part ? fmin(time_at(p, args, from + uniform(&stream.base) * part), own) : own);
    if (pair % 8 == 7) {
      finish_block(p, workspace, record, blocks + pair / 8 * n_columns * 16);
    }
  }
  tacit_workspace_give_back(p, is_spare);
}

size_t tacit_compiled_packed(const tacit_compiled_t *p, const char *source, size_t most, size_t *columns,
                             double *factors, double *offset) {
  size_t n = 0;
  bool is_whole = false; /* the column as it is, beside indicators of its levels */
  *offset = 0;
  for (size_t k = 0; p->response.packed != NULL && k < p->graph->n_columns && !is_whole; k++) {
    const tacit_graph_column_t *column = &p->graph->columns[k];
    if (strcmp(column->source, source) != 0 || p->response.packed[k] == SIZE_MAX) {
      continue;
    }
    is_whole = isnan(column->level);
    n = is_whole ? 0 : n;
    if (n == most) {
      return 0;
    }
    columns[n] = p->response.packed[k];
    factors[n++] = is_whole ? 1 : column->level;
    *offset = is_whole ? column->offset : 0;
  }
  return n;
}

/* ---- records that are nobody's ---- */

/* Where the u-quantile of even numbers within bounds goes: share of the way to it from a place in them. */
typedef struct nearness {
  double from, share; /* place in the bounds, from 0 to 1; 1: spread evenly */
} nearness_t;

/* A column's number in its bounds by the number u in (0, 1) of its source; indicators of one source agree. */
static double made_up(const tacit_graph_t *g, const tacit_graph_column_t *column, const nearness_t *near,
                      double u) {
  double width = column->upper - column->lower, last = column->level;
  for (size_t k = 0; k < g->n_columns && !isnan(column->level); k++) {
    last = strcmp(g->columns[k].source, column->source) == 0 ? fmax(last, g->columns[k].level) : last;
  }
  double at = near->from + near->share * (u - near->from);
  return !isnan(column->level) ? (double)(fabs(floor(u * (last + 1)) - column->level) < 0.5)
         : column->is_integer  ? column->lower + floor(at * (width + 1))
                               : column->lower + at * width;
}

/* Zero's place in a column's bounds, or their middle's where it lies outside. */
static double place_of_zero(const tacit_graph_column_t *column) {
  double place = -column->lower / (column->upper - column->lower);
  return place >= 0 && place <= 1 ? place : 0.5;
}

/* Uniform numbers of the record's sources, by position in the data of nobody. */
static double even(uint64_t seed, size_t source) {
  stream_t stream = {{uniform}, mixed(seed) ^ mixed(source + 1)};
  return uniform(&stream.base);
}

/*
 * Bounds may be many times as wide as what lies in them. Every other record is nearer to one place in all of
 * its bounds, their middle, their lower end or zero, by a share from 1/1000 to 1 of the way, evenly in its
 * log.
 */
static nearness_t nearness_of(const tacit_graph_column_t *column, uint64_t seed, size_t i) {
  const size_t of_share = 1u << 20, of_place = of_share + 1; /* no column's source */
  if (i % 2 == 0) {
    return (nearness_t){0, 1};
  }
  double u = 3 * even(seed + i, of_place);
  return (nearness_t){u < 1   ? 0.5
                      : u < 2 ? 0
                              : place_of_zero(column),
                      pow(10, -3 * even(seed + i, of_share))};
}

void tacit_program_made_up(const void *ctx, uint64_t seed, size_t n, float *records) {
  const tacit_compiled_t *p = ctx;
  const tacit_graph_t *g = p->graph;
  bool is_at_bounds = (seed & TACIT_AT_BOUNDS) > 0;
  seed &= ~TACIT_AT_BOUNDS;
  size_t n_columns = p->layout.n_columns;
  bool is_spare;
  tacit_workspace_t *workspace = tacit_workspace_take(p, 1, &is_spare);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < g->n_columns; k++) {
      size_t source = 0;
      while (strcmp(p->sources[source], g->columns[k].source) != 0) {
        source++;
      }
      double u = even(seed + i, source);
      nearness_t near = nearness_of(&g->columns[k], seed, i);
      if (is_at_bounds && k == p->response.value.column) {
        near = (nearness_t){0, 1};
        u = (double)(i / 2 % 2);
      }
      double x = made_up(g, &g->columns[k], &near, fmin(fmax(u, 0x1p-53), 1 - 0x1p-53));
      for (size_t lane = 0; lane < 16; lane++) {
        workspace->raw[k * 16 + lane] = packed_number(x);
      }
    }
    tacit_work_prepare(workspace->work[TACIT_ROLE_DATA], 1, 0, workspace->theta);
    tacit_work_run(workspace->work[TACIT_ROLE_DATA], workspace->raw, 1, 1, n_columns * 16, workspace->out);
    for (size_t j = 0; j < n_columns; j++) {
      records[i * n_columns + j] = packed_number(workspace->out[j * 16]);
    }
  }
  tacit_workspace_give_back(p, is_spare);
}
