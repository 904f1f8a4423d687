/*
 * Largest gradient, rows of it and log-likelihood ratio that a search finds, over what the analysis says they
 * are at most: random records, corners of the columns' ranges, parameters of all sizes, and ascent from the
 * best so far.
 */
#ifndef TACIT_PROGRAM_BOUND_SEARCH_H
#define TACIT_PROGRAM_BOUND_SEARCH_H

#include "program/language.h"
#include "program_testing.h"
#include "tacit/data.h"

typedef struct bounded {
  const char *name, *text;
  double at_most; /* of bound / largest found; 0: no bound is to be found */
} bounded_t;

static const char BOUNDED_SCHEMA[] =
    "columns:\n  y: {type: binary}\n  k: {type: integer, lower: 0, upper: 20}\n"
    "  v: {type: integer, lower: 1, upper: 5}\n  g: {type: integer, lower: 1, upper: 30}\n"
    "  t: {type: numeric, lower: 0.01, upper: 14}\n  r: {type: numeric, lower: -5, upper: 5}\n"
    "  x1: {type: numeric, lower: -1, upper: 1}\n  x2: {type: numeric, lower: -1, upper: 1}\n"
    "  x3: {type: numeric, lower: 0, upper: 2}\n"
    "  n: {type: integer, lower: 20, upper: 25}\n  s: {type: numeric, lower: 0.01, upper: 0.99}\n"
    "  c: {type: categorical, levels: [a, b, c]}\n  h: {type: categorical, levels: [p, q, r, u]}\n";

#define X "vector[3] x; "
static const bounded_t BOUNDED[] = {
    {"logistic",
     "data { " X
     "int y; } parameters { real a; vector[3] b; } model { y ~ bernoulli_logit(a + dot_product(x, b)); }",
     1.3},
    {"ordered",
     "data { " X "int v; } parameters { vector[3] b; ordered[4] c; } model { v ~ "
     "ordered_logistic(dot_product(x, b), c); }",
     4},
    {"groups",
     "data { " X "int y; int g; } parameters { vector[3] b; vector[30] alpha; } model { y ~ "
     "bernoulli_logit(alpha[g] + dot_product(x, b)); }",
     1.3},
    {"student",
     "data { " X "real r; } parameters { vector[3] b; } model { r ~ student_t(4, dot_product(x, b), 0.5); }",
     1.5},
    {"bounded scale",
     "data { " X "real r; } parameters { vector<lower=-1, upper=1>[3] b; real<lower=0.5, upper=2> s; } model "
     "{ r ~ normal(dot_product(x, b), s); }",
     8},
    {"binomial, bounded",
     "data { int k; real x1; } parameters { real a; real b; } model { k ~ binomial_logit(20, a + b * x1); }",
     1.3},
    {"negative binomial, bounded",
     "data { int k; real x1; } parameters { real<lower=-1, upper=1> a; real<lower=0.5, upper=4> phi; } model "
     "{ k ~ neg_binomial_2_log(a * x1, phi); "
     "}",
     8},
    {"sine", "data { real r; } parameters { real m; } model { r ~ normal(exp(-2 * sin(m)), 1); }", 5},
    {"poisson", "data { int k; real x1; } parameters { real a; } model { k ~ poisson_log(a * x1); }", 0},
    {"normal", "data { real r; } parameters { real m; real<lower=0> s; } model { r ~ normal(m, s); }", 0},
    {"beyond floats",
     "data { real r; } parameters { real<lower=-1, upper=1> m; } model { r ~ normal(exp(60 * m), 1); }", 0},
    {"mixture of two",
     "data { real r; } parameters { vector<lower=-3, upper=3>[2] m; real<lower=0, upper=1> p; } model { "
     "target += log_mix(p, normal_lpdf(r | m[1], "
     "1), normal_lpdf(r | m[2], 1)); }",
     8},
    {"branches",
     "data { real x1; real r; } parameters { real m; } model { if (x1 > 0) r ~ student_t(4, 3 * m, 0.5); "
     "else r ~ student_t(4, m, 0.5); }",
     1.5},
    {"two whole numbers",
     "data { int y; int k; } parameters { real a; } model { target += k * inv_logit(a) + y * inv_logit(2 * "
     "a); }",
     1.5},
    {"weibull, censored, bounded",
     "data { real t; int y; real x1; } parameters { real<lower=0.5, upper=2> k; real<lower=-1, upper=1> b; } "
     "model { "
     "if (y == 1) target += weibull_lpdf(t | k, exp(b * x1)); else target += weibull_lccdf(t | k, exp(b * "
     "x1)); }",
     15},
};
enum { N_BOUNDED = sizeof BOUNDED / sizeof BOUNDED[0] };
#undef X

enum { SEARCH_BLOCKS = 4, SEARCH_RECORDS = SEARCH_BLOCKS * 16 };
typedef enum searched { SEARCHED_NORM, SEARCHED_ROW, SEARCHED_RATIO, N_SEARCHED } searched_t;

/* Values over their bounds; 0 where there is no bound. */
typedef struct search_found {
  double largest[N_SEARCHED];
  double norm; /* of a gradient, bound or no bound */
  size_t n_points, n_bounded_rows;
} search_found_t;

/* What is searched over, and the best so far of each value. */
typedef struct search {
  const tacit_compiled_t *p;
  tacit_model_t model;
  size_t dim, n_raw, n_columns;
  double *raw, *packed, *theta; /* (n_raw, SEARCH_RECORDS), (n_columns, SEARCH_RECORDS), (2, dim) */
  float *blocks, *at, *rows;
  double *log_lik;
  double *best_raw[N_SEARCHED], *best_theta[N_SEARCHED], best[N_SEARCHED];
  uint64_t seed;
} search_t;

static inline double search_uniform(search_t *s) { return uniform(&s->seed); }

static inline double random_raw(search_t *s, const tacit_graph_column_t *c) {
  double u = search_uniform(s), width = c->upper - c->lower;
  u = search_uniform(s) < 0.5 ? floor(u * 2) : u;
  return c->is_integer ? c->lower + fmin(floor(u * (width + 1)), width) : c->lower + u * width;
}

static inline double moved_raw(search_t *s, const tacit_graph_column_t *c, double x) {
  double step = (c->upper - c->lower) * pow(10, -4 * search_uniform(s)) * (2 * search_uniform(s) - 1);
  x += c->is_integer ? copysign(fmax(1, round(fabs(step))), step) : step;
  return search_uniform(s) < 0.5 ? random_raw(s, c) : fmin(fmax(x, c->lower), c->upper);
}

/* All anew, or near the best of a value: of parameters some or none differ, of records all but the first
 * some. */
static inline void search_propose(search_t *s) {
  bool is_near = search_uniform(s) < 0.75;
  searched_t of = (searched_t)(search_uniform(s) * N_SEARCHED);
  double size = pow(10, (is_near ? 5 : 3) * search_uniform(s) - (is_near ? 4 : 1.5)),
         share = fmax(1 / (double)s->dim, 0.5 * search_uniform(s) - 0.1);
  for (size_t j = 0; j < s->dim; j++) {
    double step = size * (2 * search_uniform(s) - 1) * (search_uniform(s) < 0.3 ? 10 : 1),
           other = 0.2 * size * (2 * search_uniform(s) - 1);
    bool is_moved = search_uniform(s) < share;
    s->theta[j] = (double)(float)(is_near ? s->best_theta[of][j] + (is_moved ? step : 0) : step);
    s->theta[s->dim + j] =
        is_near ? s->best_theta[of][s->dim + j] + (is_moved ? step + other : 0) : s->theta[j] + other;
  }
  for (size_t i = 0; i < s->n_raw; i++) {
    const tacit_graph_column_t *c = &s->p->graph->columns[i];
    for (size_t k = 0; k < SEARCH_RECORDS; k++) {
      double *x = &s->raw[i * SEARCH_RECORDS + k];
      bool is_moved = k > 0 && search_uniform(s) * (double)s->n_raw < 2;
      *x = !is_near ? random_raw(s, c) : is_moved ? moved_raw(s, c, s->best_raw[of][i]) : s->best_raw[of][i];
    }
  }
}

static inline void search_keep(search_t *s, searched_t of, double value, size_t k) {
  if (value > s->best[of]) {
    s->best[of] = value;
    memcpy(s->best_theta[of], s->theta, 2 * s->dim * sizeof *s->theta);
    for (size_t i = 0; i < s->n_raw; i++) {
      s->best_raw[of][i] = s->raw[i * SEARCH_RECORDS + k];
    }
  }
}

static inline void search_look(search_t *s, search_found_t *found) {
  const tacit_compiled_t *p = s->p;
  const tacit_record_model_t *m = &s->model.records;
  double l[2][SEARCH_RECORDS],
      ratio_bound = m->ratio_bound != NULL ? m->ratio_bound(m->ctx, s->theta, s->theta + s->dim) : INFINITY;
  tacit_compiled_derive(p, SEARCH_RECORDS, s->raw, s->packed);
  for (size_t i = 0; i < s->n_columns * SEARCH_RECORDS; i++) {
    size_t column = i / SEARCH_RECORDS, k = i % SEARCH_RECORDS;
    s->blocks[(k / 16 * s->n_columns + column) * 16 + k % 16] = (float)s->packed[i];
  }
  for (size_t j = 0; j < s->dim; j++) {
    s->at[j] = (float)s->theta[j];
  }
  m->rows(m->ctx, s->blocks, SEARCH_BLOCKS, 1, s->at, s->rows);
  for (size_t b = 0; b < SEARCH_BLOCKS && isfinite(ratio_bound); b++) {
    m->log_lik(m->ctx, s->blocks + b * s->n_columns * 16, 2, s->theta, s->log_lik);
    memcpy(&l[0][b * 16], s->log_lik, 16 * sizeof *s->log_lik);
    memcpy(&l[1][b * 16], s->log_lik + 16, 16 * sizeof *s->log_lik);
  }
  for (size_t k = 0; k < SEARCH_RECORDS; k++) {
    const float *rows = s->rows + k / 16 * p->n_rows * 16 + k % 16,
                *block = s->blocks + k / 16 * s->n_columns * 16 + k % 16;
    double square = 0, row_share = 0;
    for (size_t i = 0; i < p->n_pieces; i++) {
      const tacit_piece_t *piece = &p->pieces[i];
      double row = (double)rows[piece->row * 16], weight = piece->kind == TACIT_PIECE_LINEAR ? 0 : 1;
      for (size_t j = 0; piece->kind == TACIT_PIECE_LINEAR && j < piece->n; j++) {
        weight += (double)block[(piece->column + j) * 16] * (double)block[(piece->column + j) * 16];
      }
      square += weight > 0 ? row * row * weight : 0;
      row_share = fmax(row_share, isfinite(p->row_bound[piece->row]) && p->row_bound[piece->row] > 0
                                      ? fabs(row) / p->row_bound[piece->row]
                                      : 0);
    }
    double norm = sqrt(square), norm_share = isfinite(m->grad_bound) ? norm / m->grad_bound : 0;
    found->norm = fmax(found->norm, norm);
    search_keep(s, SEARCHED_NORM, isfinite(m->grad_bound) ? norm_share : norm, k);
    search_keep(s, SEARCHED_ROW, row_share, k);
    found->largest[SEARCHED_NORM] = fmax(found->largest[SEARCHED_NORM], norm_share);
    found->largest[SEARCHED_ROW] = fmax(found->largest[SEARCHED_ROW], row_share);
    if (isfinite(ratio_bound) && ratio_bound > 0) { /* less what the difference of two doubles may be off */
      double share =
          fmax(fabs(l[1][k] - l[0][k]) - 1e-12 * (1 + fabs(l[0][k]) + fabs(l[1][k])), 0) / ratio_bound;
      search_keep(s, SEARCHED_RATIO, share, k);
      found->largest[SEARCHED_RATIO] = fmax(found->largest[SEARCHED_RATIO], share);
    }
  }
  found->n_points += SEARCH_RECORDS;
}

static inline void *search_workspace(size_t n, size_t size) {
  void *made = aligned_alloc(64, (n * size + 64) / 64 * 64 + 64);
  assert_non_null(made);
  memset(made, 0, n * size);
  return made;
}

static inline search_found_t search_bounds(const tacit_compiled_t *p, size_t n_points, uint64_t seed) {
  search_t s = {.p = p,
                .model = tacit_compiled_model(p),
                .n_raw = p->graph->n_columns,
                .n_columns = p->layout.n_columns,
                .seed = seed};
  search_found_t found = {.norm = 0};
  s.dim = s.model.records.dim;
  s.raw = search_workspace(s.n_raw * SEARCH_RECORDS, sizeof *s.raw);
  s.packed = search_workspace(s.n_columns * SEARCH_RECORDS, sizeof *s.packed);
  s.theta = search_workspace(2 * s.dim, sizeof *s.theta);
  s.blocks = search_workspace(s.n_columns * SEARCH_RECORDS, sizeof *s.blocks);
  s.at = search_workspace(s.dim, sizeof *s.at);
  s.rows = search_workspace(p->n_rows * SEARCH_RECORDS, sizeof *s.rows);
  s.log_lik = search_workspace(32, sizeof *s.log_lik);
  for (int of = 0; of < N_SEARCHED; of++) {
    s.best_raw[of] = search_workspace(s.n_raw, sizeof *s.raw);
    s.best_theta[of] = search_workspace(2 * s.dim, sizeof *s.theta);
    for (size_t i = 0; i < s.n_raw; i++) {
      s.best_raw[of][i] = random_raw(&s, &p->graph->columns[i]);
    }
  }
  for (size_t r = 0; r < p->n_rows; r++) {
    found.n_bounded_rows += isfinite(p->row_bound[r]) ? 1 : 0;
  }
  bool is_bounded = isfinite(s.model.records.grad_bound) || found.n_bounded_rows > 0;
  while (is_bounded && found.n_points < n_points) { /* else nothing is claimed */
    search_propose(&s);
    search_look(&s, &found);
  }
  void *workspaces[] = {s.raw, s.packed, s.theta, s.blocks, s.at, s.rows, s.log_lik};
  for (size_t i = 0; i < sizeof workspaces / sizeof workspaces[0]; i++) {
    free(workspaces[i]);
  }
  for (int of = 0; of < N_SEARCHED; of++) {
    free(s.best_raw[of]);
    free(s.best_theta[of]);
  }
  return found;
}

static inline bool search_holds(const search_found_t *found) {
  return found->largest[SEARCHED_NORM] <= 1 && found->largest[SEARCHED_ROW] <= 1 &&
         found->largest[SEARCHED_RATIO] <= 1;
}

#endif
