/*
 * How long a record's gradient can be: interval arithmetic over its rows, from the schema's bounds of the
 * columns and what the constraints say of parameters. Every step is rounded outwards. Columns of few whole
 * numbers (outcomes, levels) are taken one value at a time, since what a row is depends on them most.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/compiled.h"

enum { MAX_CASES = 512, MAX_VALUES = 64 };

typedef struct interval {
  double lo, hi;
} interval_t;

static const interval_t WHOLE = {-INFINITY, INFINITY};

/* Rows are floats, a few operations of relative error 2^-23 each: their bound is raised by more than that. */
static const double ROUND_UP = 1 + 1e-5;

static interval_t outwards(double lo, double hi) {
  if (isnan(lo) || isnan(hi)) {
    return WHOLE;
  }
  return (interval_t){nextafter(lo, -INFINITY), nextafter(hi, INFINITY)};
}

/* Of an operation whose value has a relative error: far more than any has. */
static interval_t loosely(double lo, double hi) {
  if (isnan(lo) || isnan(hi)) {
    return WHOLE;
  }
  return (interval_t){lo - fabs(lo) * 1e-9 - 1e-300, hi + fabs(hi) * 1e-9 + 1e-300};
}

static double times(double x, double y) {
  return x == 0 || y == 0 ? 0 : x * y;
} /* an infinite bound stands for finite numbers */

static interval_t product(interval_t x, interval_t y) {
  double p[4] = {times(x.lo, y.lo), times(x.lo, y.hi), times(x.hi, y.lo), times(x.hi, y.hi)};
  return outwards(fmin(fmin(p[0], p[1]), fmin(p[2], p[3])), fmax(fmax(p[0], p[1]), fmax(p[2], p[3])));
}

static interval_t square(interval_t x) {
  double lo = x.lo <= 0 && x.hi >= 0 ? 0 : fmin(fabs(x.lo), fabs(x.hi)), hi = fmax(fabs(x.lo), fabs(x.hi));
  return (interval_t){lo > 0 ? nextafter(lo * lo, 0) : 0, nextafter(hi * hi, INFINITY)};
}

static interval_t hull(interval_t x, interval_t y) {
  return (interval_t){fmin(x.lo, y.lo), fmax(x.hi, y.hi)};
}

static double at(tacit_op_t op, double x) {
  if (op == TACIT_OP_EXP || op == TACIT_OP_EXPM1) {
    return x > 700 ? INFINITY : tacit_op_value(op, x, 0, 0);
  }
  if (isinf(x) &&
      (op == TACIT_OP_LGAMMA || op == TACIT_OP_DIGAMMA || op == TACIT_OP_LOG || op == TACIT_OP_SQRT)) {
    return x > 0 ? INFINITY : (double)NAN;
  }
  if (op == TACIT_OP_MILLS && x < -1e100) {
    return INFINITY;
  }
  return tacit_op_value(op, x, 0, 0);
}

static interval_t rising(tacit_op_t op, interval_t x, double from, double to) {
  interval_t y = loosely(at(op, x.lo), at(op, x.hi));
  return (interval_t){fmax(y.lo, from), fmin(y.hi, to)};
}

static interval_t of_one(tacit_op_t op, interval_t x) {
  switch (op) {
  case TACIT_OP_NEG:
    return (interval_t){-x.hi, -x.lo};
  case TACIT_OP_ABS:
    return x.lo >= 0 ? x : x.hi <= 0 ? (interval_t){-x.hi, -x.lo} : (interval_t){0, fmax(-x.lo, x.hi)};
  case TACIT_OP_FLOOR:
    return (interval_t){floor(x.lo), floor(x.hi)};
  case TACIT_OP_SQRT:
    return rising(op, (interval_t){fmax(x.lo, 0), x.hi}, 0, INFINITY);
  case TACIT_OP_EXP:
    return rising(op, x, 0, INFINITY);
  case TACIT_OP_EXPM1:
    return rising(op, x, -1, INFINITY);
  case TACIT_OP_LOG:
    return x.hi <= 0 ? WHOLE : rising(op, (interval_t){fmax(x.lo, 0), x.hi}, -INFINITY, INFINITY);
  case TACIT_OP_LOG1P:
    return x.hi <= -1 ? WHOLE : rising(op, (interval_t){fmax(x.lo, -1), x.hi}, -INFINITY, INFINITY);
  case TACIT_OP_LOG1P_EXP:
    return rising(op, x, 0, INFINITY);
  case TACIT_OP_INV_LOGIT:
    return rising(op, x, 0, 1);
  case TACIT_OP_PHI:
    return rising(op, x, 0, 1);
  case TACIT_OP_TANH:
  case TACIT_OP_ERF:
    return rising(op, x, -1, 1);
  case TACIT_OP_LOG_PHI:
    return rising(op, x, -INFINITY, 0);
  case TACIT_OP_ATAN:
    return rising(op, x, -1.5707963267948968, 1.5707963267948968);
  case TACIT_OP_INV_PHI:
    return x.lo < 0 || x.hi > 1 ? WHOLE : rising(op, x, -INFINITY, INFINITY);
  case TACIT_OP_LOG1M_EXP:
    return x.lo >= 0 ? WHOLE : loosely(at(op, fmin(x.hi, 0)), at(op, x.lo));
  case TACIT_OP_ERFC:
    return loosely(at(op, x.hi), at(op, x.lo));
  case TACIT_OP_MILLS:
    return loosely(at(op, x.hi), at(op, x.lo));
  case TACIT_OP_LGAMMA:
    if (x.lo < 0) {
      return WHOLE;
    }
    return loosely(x.lo <= 1.5 && x.hi >= 1.4 ? -0.1214862906 : fmin(at(op, x.lo), at(op, x.hi)),
                   fmax(at(op, x.lo), at(op, x.hi)));
  case TACIT_OP_DIGAMMA:
    return x.lo < 0 ? WHOLE : rising(op, x, -INFINITY, INFINITY);
  case TACIT_OP_TRIGAMMA:
    return x.lo < 0 ? WHOLE : loosely(at(op, x.hi), at(op, x.lo));
  case TACIT_OP_SIN:
  case TACIT_OP_COS:
    return (interval_t){-1, 1};
  case TACIT_OP_RATIO1:
    return (interval_t){x.lo >= 0 ? 0 : -0.5, x.hi <= 0 ? 0 : 0.5};
  case TACIT_OP_RATIO2:
    return (interval_t){0, 1};
  default:
    return WHOLE;
  }
}

static interval_t quotient(interval_t x, interval_t y) {
  if (y.lo <= 0 && y.hi >= 0) {
    return x.lo >= 0 && y.lo >= 0 ? (interval_t){0, INFINITY} : WHOLE;
  }
  return product(x, outwards(fmin(1 / y.lo, 1 / y.hi), fmax(1 / y.lo, 1 / y.hi)));
}

static interval_t power(interval_t x, interval_t y) {
  if (!(x.lo >= 0)) {
    return WHOLE;
  }
  interval_t exponent = product(y, of_one(TACIT_OP_LOG, x));
  return of_one(TACIT_OP_EXP, exponent);
}

/* Where b >= 0 the digammas' falls with a and rises with b; the log gammas' is bounded as a difference. */
static interval_t gamma_difference(tacit_op_t op, interval_t a, interval_t b) {
  interval_t sum = outwards(a.lo + b.lo, a.hi + b.hi);
  if (!(a.lo >= 0) || !(sum.lo >= 0)) {
    return WHOLE;
  }
  if (op == TACIT_OP_DIGAMMA_DIFF && b.lo >= 0) {
    double lo = isinf(a.hi) ? 0 : tacit_op_value(op, a.hi, b.lo, 0),
           hi = a.lo > 0 && isfinite(b.hi) ? tacit_op_value(op, a.lo, b.hi, 0) : INFINITY;
    return loosely(lo, hi);
  }
  tacit_op_t of = op == TACIT_OP_LGAMMA_DIFF ? TACIT_OP_LGAMMA : TACIT_OP_DIGAMMA;
  interval_t far = of_one(of, sum), near = of_one(of, a);
  return outwards(far.lo - near.hi, far.hi - near.lo);
}

/* 1 where it must be so, 0 where it cannot, else both. */
static interval_t comparison(bool must, bool cannot) { return (interval_t){must ? 1 : 0, cannot ? 0 : 1}; }

typedef struct analysis {
  const tacit_graph_t *graph;
  const double *fixed; /* (n_columns): a value, or NaN */
  const tacit_layout_t *layout;
  const uint8_t *needed; /* (n_nodes) */
  const interval_t
      *box;       /* (n_columns), in place of fixed and layout, of numbers that are not packed; or NULL */
  interval_t *of; /* (n_nodes) */
} analysis_t;

/* A column as it is packed: rounded to float, to either side. */
static interval_t rounded(interval_t x) {
  return (interval_t){x.lo - fabs(x.lo) * 0x1p-23, x.hi + fabs(x.hi) * 0x1p-23};
}

static interval_t of_lookup(const analysis_t *a, const tacit_graph_node_t *n) {
  interval_t index = a->of[n->a], y = {INFINITY, -INFINITY};
  for (uint32_t i = 0; i < n->c; i++) {
    double k = n->value + (double)i;
    bool is_end = i == 0 ? index.lo <= k : i + 1 == n->c && index.hi >= k;
    if (is_end || (k >= index.lo - 0.5 && k <= index.hi + 0.5)) {
      y = hull(y, a->of[a->graph->lists[n->b + i]]);
    }
  }
  return y;
}

/* Whole numbers whose sums doubles hold. */
static bool are_whole(interval_t x, interval_t y) {
  const double most = 0x1p50;
  return fabs(x.lo) < most && fabs(x.hi) < most && fabs(y.lo) < most && fabs(y.hi) < most &&
         floor(x.lo) == x.lo && floor(x.hi) == x.hi && floor(y.lo) == y.lo && floor(y.hi) == y.hi;
}

static interval_t of_node(const analysis_t *a, tacit_node_t node) {
  const tacit_graph_node_t *n = tacit_graph_at(a->graph, node);
  const interval_t x = a->of[n->a < node ? n->a : 0], y = a->of[n->b < node ? n->b : 0],
                   z = a->of[n->c < node ? n->c : 0];
  switch (n->op) {
  case TACIT_OP_CONSTANT:
    return isnan(n->value) ? WHOLE : (interval_t){n->value, n->value};
  case TACIT_OP_COLUMN: {
    if (a->box != NULL) {
      return a->box[n->a];
    }
    const tacit_graph_column_t *c = &a->graph->columns[n->a];
    return isnan(a->fixed[n->a]) ? rounded((interval_t){c->lower, c->upper})
                                 : (interval_t){a->fixed[n->a], a->fixed[n->a]};
  }
  case TACIT_OP_PARAMETER:
    return WHOLE;
  case TACIT_OP_DOT: {
    interval_t sum = {0, 0};
    for (uint32_t i = 0; i < n->c; i++) {
      interval_t term = product(a->of[a->graph->lists[n->a + i]], a->of[a->graph->lists[n->b + i]]);
      sum = outwards(sum.lo + term.lo, sum.hi + term.hi);
    }
    return sum;
  }
  case TACIT_OP_LOOKUP:
    return of_lookup(a, n);
  case TACIT_OP_ADD:
    if (a->box != NULL && are_whole(x, y)) {
      return (interval_t){x.lo + y.lo, x.hi + y.hi};
    }
    return outwards(x.lo + y.lo, x.hi + y.hi);
  case TACIT_OP_SUB:
    if (a->box != NULL && are_whole(x, y)) {
      return (interval_t){x.lo - y.hi, x.hi - y.lo};
    }
    return outwards(x.lo - y.hi, x.hi - y.lo);
  case TACIT_OP_MUL: {
    const tacit_graph_node_t *p = tacit_graph_at(a->graph, n->a), *q = tacit_graph_at(a->graph, n->b);
    if (n->a == n->b) {
      return square(x);
    }
    interval_t both = product(x, y);
    bool are_opposite =
        p->op == TACIT_OP_INV_LOGIT && q->op == TACIT_OP_INV_LOGIT &&
        ((tacit_graph_at(a->graph, p->a)->op == TACIT_OP_NEG && tacit_graph_at(a->graph, p->a)->a == q->a) ||
         (tacit_graph_at(a->graph, q->a)->op == TACIT_OP_NEG && tacit_graph_at(a->graph, q->a)->a == p->a));
    return are_opposite ? (interval_t){fmax(both.lo, 0), fmin(both.hi, 0.25 * (1 + 1e-9))} : both;
  }
  case TACIT_OP_DIV:
    return quotient(x, y);
  case TACIT_OP_POW:
    return power(x, y);
  case TACIT_OP_MIN:
    return (interval_t){fmin(x.lo, y.lo), fmin(x.hi, y.hi)};
  case TACIT_OP_MAX:
    return (interval_t){fmax(x.lo, y.lo), fmax(x.hi, y.hi)};
  case TACIT_OP_LGAMMA_DIFF:
  case TACIT_OP_DIGAMMA_DIFF:
    return gamma_difference((tacit_op_t)n->op, x, y);
  case TACIT_OP_LOG_ADD_EXP:
    return loosely(tacit_op_value(TACIT_OP_LOG_ADD_EXP, x.lo, y.lo, 0),
                   tacit_op_value(TACIT_OP_LOG_ADD_EXP, x.hi, y.hi, 0));
  case TACIT_OP_LESS:
    return comparison(x.hi < y.lo, x.lo >= y.hi);
  case TACIT_OP_AT_MOST:
    return comparison(x.hi <= y.lo, x.lo > y.hi);
  case TACIT_OP_EQUAL:
    return comparison(x.lo >= y.hi && x.hi <= y.lo, x.hi < y.lo || x.lo > y.hi);
  case TACIT_OP_SELECT:
    return x.lo > 0 || x.hi < 0 ? y : x.lo >= 0 && x.hi <= 0 ? z : hull(y, z);
  default:
    return of_one((tacit_op_t)n->op, x);
  }
}

/* What rows are computed in: beyond the largest float there is no bound. */
static interval_t as_float(interval_t x) {
  return (interval_t){x.lo < -(double)FLT_MAX ? -INFINITY : x.lo, x.hi > (double)FLT_MAX ? INFINITY : x.hi};
}

static void analyse(analysis_t *a) {
  a->of[0] = (interval_t){0, 0};
  for (tacit_node_t node = 1; node < a->graph->n_nodes; node++) {
    if (a->needed[node]) {
      a->of[node] = a->box == NULL ? as_float(of_node(a, node)) : of_node(a, node);
      if (a->box == NULL && tacit_graph_rate(a->graph, node) == TACIT_RATE_DATA &&
          tacit_layout_find(a->layout, 1, &node) != SIZE_MAX) {
        a->of[node] =
            tacit_graph_at(a->graph, node)->op == TACIT_OP_COLUMN ? a->of[node] : rounded(a->of[node]);
      }
    }
  }
}

/* What the rows are computed from. */
static void mark(const tacit_compiled_t *p, uint8_t *needed) {
  const tacit_graph_t *g = p->graph;
  for (size_t r = 0; r < p->n_rows; r++) {
    needed[p->rows[r]] = 1;
  }
  for (size_t j = 0; j < p->layout.n_columns; j++) {
    needed[p->layout.columns[j]] = 1;
  }
  for (tacit_node_t node = (tacit_node_t)g->n_nodes; node-- > 1;) {
    const tacit_graph_node_t *n = tacit_graph_at(g, node);
    const uint32_t operand[3] = {n->a, n->b, n->c};
    for (unsigned i = 0; needed[node] && i < tacit_op_arity((tacit_op_t)n->op); i++) {
      needed[operand[i]] = 1;
    }
    bool is_list = n->op == TACIT_OP_DOT || n->op == TACIT_OP_LOOKUP;
    for (uint32_t i = 0; needed[node] && is_list && i < n->c; i++) {
      needed[g->lists[n->b + i]] = 1;
      needed[n->op == TACIT_OP_DOT ? g->lists[n->a + i] : n->a] = 1;
    }
  }
}

static double largest(interval_t x) { return fmax(fabs(x.lo), fabs(x.hi)); }

/* One case: raises the bounds. */
static void raise_bounds(tacit_compiled_t *p, const analysis_t *a) {
  double square_sum = 0;
  for (size_t j = 0; j < p->layout.n_columns; j++) {
    p->column_bound[j] = fmax(p->column_bound[j], largest(a->of[p->layout.columns[j]]));
  }
  for (size_t i = 0; i < p->n_pieces; i++) {
    const tacit_piece_t *piece = &p->pieces[i];
    double row = largest(a->of[p->rows[piece->row]]), weight = 1;
    if (piece->kind == TACIT_PIECE_LINEAR) {
      weight = 0;
      for (size_t j = 0; j < piece->n; j++) {
        double x = largest(a->of[p->layout.columns[piece->column + j]]);
        weight += x * x;
      }
    }
    square_sum += times(row * row, weight);
    p->row_bound[piece->row] = fmax(p->row_bound[piece->row], row * ROUND_UP);
  }
  p->grad_bound = fmax(p->grad_bound, sqrt(square_sum) * ROUND_UP);
}

/* Columns that are taken one value at a time: as many as make at most MAX_CASES cases, those of fewest values
 * first. */
static size_t choose_cases(const tacit_graph_t *g, uint8_t *is_chosen) {
  size_t n_cases = 1;
  for (size_t values = 1; values <= MAX_VALUES; values++) {
    for (size_t i = 0; i < g->n_columns; i++) {
      const tacit_graph_column_t *c = &g->columns[i];
      if (c->is_integer && c->upper - c->lower + 1 == (double)values && n_cases * values <= MAX_CASES) {
        is_chosen[i] = 1;
        n_cases *= values;
      }
    }
  }
  return n_cases;
}

tacit_status_t tacit_compiled_bound(tacit_compiled_t *p, tacit_error_t *err) {
  const tacit_graph_t *g = p->graph;
  double *fixed = tacit_alloc(g->n_columns, sizeof *fixed);
  uint8_t *chosen = tacit_alloc_zero(g->n_columns, sizeof *chosen),
          *needed = tacit_alloc_zero(g->n_nodes, sizeof *needed);
  interval_t *of = tacit_alloc_zero(g->n_nodes, sizeof *of);
  p->row_bound = tacit_alloc_zero(p->n_rows, sizeof *p->row_bound);
  p->column_bound = tacit_alloc_zero(p->layout.n_columns, sizeof *p->column_bound);
  bool ok = fixed != NULL && chosen != NULL && needed != NULL && of != NULL && p->row_bound != NULL &&
            p->column_bound != NULL;
  if (ok) {
    mark(p, needed);
    size_t n_cases = choose_cases(g, chosen);
    for (size_t k = 0; k < n_cases; k++) {
      size_t rest = k;
      for (size_t i = 0; i < g->n_columns; i++) {
        size_t values = (size_t)(g->columns[i].upper - g->columns[i].lower) + 1;
        fixed[i] = chosen[i] ? g->columns[i].lower + (double)(rest % values) : (double)NAN;
        rest = chosen[i] ? rest / values : rest;
      }
      analyse(&(analysis_t){.graph = g, .fixed = fixed, .layout = &p->layout, .needed = needed, .of = of});
      raise_bounds(p, &(analysis_t){.graph = g, .of = of});
    }
  }
  tacit_free(fixed);
  tacit_free(chosen);
  tacit_free(needed);
  tacit_free(of);
  if (!(p->grad_bound > 0)) { /* a gradient that is always 0 is within every bound */
    p->grad_bound = p->grad_bound <= 0 ? 1e-9 : INFINITY;
  }
  return ok ? TACIT_OK : tacit_error_memory(err);
}

double tacit_compiled_grad_bound(const tacit_compiled_t *p, double *of_piece) {
  for (size_t i = 0; of_piece != NULL && i < p->n_pieces; i++) {
    double weight = p->pieces[i].kind == TACIT_PIECE_LINEAR ? 0 : 1;
    for (size_t j = 0; p->pieces[i].kind == TACIT_PIECE_LINEAR && j < p->pieces[i].n; j++) {
      double x = p->column_bound[p->pieces[i].column + j];
      weight += x * x;
    }
    of_piece[i] = times(p->row_bound[p->pieces[i].row], sqrt(weight));
  }
  return p->grad_bound;
}

void tacit_graph_range(const tacit_graph_t *graph, const uint8_t *needed, const double *box, double *of) {
  analyse(&(analysis_t){
      .graph = graph, .needed = needed, .box = (const interval_t *)box, .of = (interval_t *)of});
}
