#include "program/reverse.h"

#include <math.h>

#include "base/memory.h"
#include "program/derivative.h"
#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE, MAX_ELEMENTS = 512, MAX_EXPANDED = 4096 };

static tacit_node_t binary(tacit_graph_t *g, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  return tacit_graph_apply(g, op, a, b, NONE);
}
static tacit_node_t number(tacit_graph_t *g, double x) { return tacit_graph_constant(g, x); }

/* ---- masks: 1 or 0, NONE for always ---- */

static tacit_node_t both(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  return a == NONE ? b : b == NONE || a == b ? a : binary(g, TACIT_OP_MUL, a, b);
}

static tacit_node_t negated(tacit_graph_t *g, tacit_node_t condition) {
  return binary(g, TACIT_OP_EQUAL, condition, number(g, 0));
}

static tacit_node_t as_mask(tacit_graph_t *g, tacit_node_t condition) {
  const tacit_graph_node_t n = *tacit_graph_at(g, condition);
  bool is_truth = n.op == TACIT_OP_LESS || n.op == TACIT_OP_AT_MOST || n.op == TACIT_OP_EQUAL ||
                  (n.op == TACIT_OP_COLUMN && g->columns[n.a].is_integer && g->columns[n.a].lower >= 0 &&
                   g->columns[n.a].upper <= 1);
  return is_truth ? condition : negated(g, negated(g, condition));
}

static tacit_node_t shown(tacit_graph_t *g, tacit_adjoint_t a) {
  return a.mask == NONE ? a.value : tacit_graph_apply(g, TACIT_OP_SELECT, a.mask, a.value, number(g, 0));
}

static tacit_adjoint_t sum(tacit_graph_t *g, tacit_adjoint_t a, tacit_adjoint_t b) {
  if (a.mask == b.mask) {
    return (tacit_adjoint_t){binary(g, TACIT_OP_ADD, a.value, b.value), a.mask};
  }
  if (a.mask != NONE && b.mask != NONE) {
    if (negated(g, a.mask) == b.mask) {
      return (tacit_adjoint_t){tacit_graph_apply(g, TACIT_OP_SELECT, a.mask, a.value, b.value), NONE};
    }
    if (negated(g, b.mask) == a.mask) {
      return (tacit_adjoint_t){tacit_graph_apply(g, TACIT_OP_SELECT, b.mask, b.value, a.value), NONE};
    }
  }
  tacit_node_t mask = a.mask == NONE || b.mask == NONE ? NONE : binary(g, TACIT_OP_MAX, a.mask, b.mask);
  return (tacit_adjoint_t){binary(g, TACIT_OP_ADD, shown(g, a), shown(g, b)), mask};
}

/* ---- one sweep ---- */

typedef struct sweep {
  tacit_graph_t *graph;
  size_t n;                   /* nodes up to the root */
  tacit_adjoint_t *adjoint;   /* (n); value NONE: none yet */
  tacit_gradient_t *gradient; /* linear and gather slopes found, not yet compared with each other */
} sweep_t;

static void add(sweep_t *s, tacit_node_t to, tacit_node_t value, tacit_node_t mask) {
  tacit_graph_t *g = s->graph;
  double constant;
  if (value == NONE || (tacit_graph_rate(g, to) & TACIT_RATE_PARAMETER) == 0 ||
      (tacit_graph_is_constant(g, value, &constant) && constant == 0)) {
    return;
  }
  tacit_adjoint_t more = {value, mask};
  s->adjoint[to] = s->adjoint[to].value == NONE ? more : sum(g, s->adjoint[to], more);
}

static void add_slope(sweep_t *s, tacit_slope_t slope) {
  tacit_gradient_t *gradient = s->gradient;
  if (tacit_graph_grow(s->graph, &gradient->slopes, gradient->n_slopes, &gradient->capacity,
                       sizeof *gradient->slopes)) {
    gradient->slopes[gradient->n_slopes++] = slope;
  }
}

/* A run of parameters that follow each other is a linear slope; other factors are differentiated one by one.
 */
static void through_dot(sweep_t *s, const tacit_graph_node_t n, tacit_adjoint_t adjoint) {
  tacit_graph_t *g = s->graph;
  for (uint32_t i = 0; i < n.c;) {
    uint32_t length = 1;
    tacit_graph_node_t first = *tacit_graph_at(g, g->lists[n.b + i]);
    while (first.op == TACIT_OP_PARAMETER && i + length < n.c) {
      const tacit_graph_node_t *next = tacit_graph_at(g, g->lists[n.b + i + length]);
      if (next->op != TACIT_OP_PARAMETER || next->a != first.a + length) {
        break;
      }
      length++;
    }
    if (length > 1) {
      add_slope(s, (tacit_slope_t){.kind = TACIT_PIECE_LINEAR,
                                   .row = shown(g, adjoint),
                                   .parameter = first.a,
                                   .n = length,
                                   .data = n.a + i});
    } else {
      add(s, g->lists[n.b + i], binary(g, TACIT_OP_MUL, adjoint.value, g->lists[n.a + i]), adjoint.mask);
    }
    i += length;
  }
}

/* table[j] becomes the lookup of the elements' derivatives by parameter j. */
static void through_table(sweep_t *s, const tacit_graph_node_t n, tacit_adjoint_t adjoint) {
  tacit_graph_t *g = s->graph;
  size_t n_parameters = g->n_parameters, n_hard = 0;
  tacit_node_t zero = number(g, 0), one = number(g, 1);
  tacit_gradient_t *parts = tacit_alloc_zero(n.c, sizeof *parts);
  tacit_node_t *elements = tacit_alloc(n.c, sizeof *elements);
  uint8_t *touched = tacit_alloc_zero(n_parameters, sizeof *touched);
  bool ok = parts != NULL && elements != NULL && touched != NULL;
  for (uint32_t i = 0; ok && i < n.c && g->status == TACIT_OK; i++) {
    tacit_node_t element = g->lists[n.b + i];
    const tacit_graph_node_t e = *tacit_graph_at(g, element);
    if (e.op == TACIT_OP_PARAMETER) {
      touched[e.a] = 1;
    } else if ((e.rate & TACIT_RATE_PARAMETER) != 0) {
      if (++n_hard > MAX_ELEMENTS) {
        (void)tacit_graph_refuse(
            g, TACIT_ERR_ARGUMENT,
            "more than 512 different expressions of parameters are chosen among by one index");
      } else if (tacit_reverse(g, element, &parts[i], NULL) != TACIT_OK) {
        break;
      }
      for (size_t k = 0; k < parts[i].n_slopes; k++) {
        touched[parts[i].slopes[k].parameter] = 1;
      }
    }
  }
  for (size_t j = 0; ok && j < n_parameters && g->status == TACIT_OK; j++) {
    for (uint32_t i = 0; touched[j] && i < n.c; i++) {
      const tacit_graph_node_t *e = tacit_graph_at(g, g->lists[n.b + i]);
      elements[i] = e->op == TACIT_OP_PARAMETER && e->a == j ? one : zero;
      for (size_t k = 0; k < parts[i].n_slopes; k++) {
        elements[i] = parts[i].slopes[k].parameter == j ? parts[i].slopes[k].row : elements[i];
      }
    }
    if (touched[j]) {
      tacit_node_t table = tacit_graph_intern_lookup(g, n.a, n.value, n.c, elements);
      add(s, g->parameters[j].node, binary(g, TACIT_OP_MUL, adjoint.value, table), adjoint.mask);
    }
  }
  for (uint32_t i = 0; parts != NULL && i < n.c; i++) {
    tacit_gradient_clear(&parts[i]);
  }
  tacit_free(parts);
  tacit_free(elements);
  tacit_free(touched);
  if (!ok) {
    (void)tacit_graph_refuse(g, TACIT_ERR_MEMORY, NULL);
  }
}

static void through_lookup(sweep_t *s, const tacit_graph_node_t n, tacit_adjoint_t adjoint) {
  size_t stride;
  int64_t first = tacit_graph_run(s->graph, s->graph->lists + n.b, n.c, &stride);
  if (first < 0) {
    through_table(s, n, adjoint);
    return;
  }
  add_slope(s, (tacit_slope_t){.kind = TACIT_PIECE_GATHER,
                               .row = shown(s->graph, adjoint),
                               .parameter = (size_t)first,
                               .n = n.c,
                               .stride = stride,
                               .index = n.a,
                               .first = n.value});
}

static void through(sweep_t *s, tacit_node_t node) {
  tacit_graph_t *g = s->graph;
  const tacit_graph_node_t n = *tacit_graph_at(g, node);
  const tacit_adjoint_t adjoint = s->adjoint[node];
  if (n.op == TACIT_OP_DOT) {
    through_dot(s, n, adjoint);
  } else if (n.op == TACIT_OP_LOOKUP) {
    through_lookup(s, n, adjoint);
  } else if (n.op == TACIT_OP_SELECT) {
    add(s, n.b, adjoint.value, both(g, adjoint.mask, as_mask(g, n.a)));
    add(s, n.c, adjoint.value, both(g, adjoint.mask, negated(g, n.a)));
  } else if (n.op == TACIT_OP_MIN || n.op == TACIT_OP_MAX) {
    tacit_node_t is_first =
        n.op == TACIT_OP_MIN ? binary(g, TACIT_OP_AT_MOST, n.a, n.b) : binary(g, TACIT_OP_AT_MOST, n.b, n.a);
    add(s, n.a, adjoint.value, both(g, adjoint.mask, is_first));
    add(s, n.b, adjoint.value, both(g, adjoint.mask, negated(g, is_first)));
  } else if (n.op != TACIT_OP_PARAMETER) {
    const tacit_node_t operand[3] = {n.a, n.b, n.c};
    for (unsigned i = 0; i < tacit_op_arity((tacit_op_t)n.op); i++) {
      if ((tacit_graph_rate(g, operand[i]) & TACIT_RATE_PARAMETER) != 0) {
        tacit_node_t at = operand[i], slope = tacit_derivative(g, node, i, adjoint.value, &at);
        add(s, at, slope, adjoint.mask);
      }
    }
  }
}

/* ---- slopes by parameters that are not each other's ---- */

static bool is_same_place(const tacit_graph_t *g, const tacit_slope_t *a, const tacit_slope_t *b) {
  if (a->kind != b->kind || a->parameter != b->parameter || a->n != b->n || a->stride != b->stride ||
      a->index != b->index || a->first < b->first || a->first > b->first) {
    return false;
  }
  for (size_t j = 0; a->kind == TACIT_PIECE_LINEAR && j < a->n; j++) {
    if (g->lists[a->data + j] != g->lists[b->data + j]) {
      return false;
    }
  }
  return true;
}

static void merge(sweep_t *s) {
  tacit_gradient_t *gradient = s->gradient;
  size_t n = 0;
  for (size_t i = 0; i < gradient->n_slopes; i++) {
    size_t k = 0;
    while (k < n && !is_same_place(s->graph, &gradient->slopes[k], &gradient->slopes[i])) {
      k++;
    }
    if (k == n) {
      gradient->slopes[n++] = gradient->slopes[i];
    } else {
      gradient->slopes[k].row =
          binary(s->graph, TACIT_OP_ADD, gradient->slopes[k].row, gradient->slopes[i].row);
    }
  }
  gradient->n_slopes = n;
}

static size_t parameter_of(const tacit_slope_t *slope, size_t j) {
  return slope->parameter + (slope->kind == TACIT_PIECE_GATHER ? j * slope->stride : j);
}

/* One slope a parameter instead of one for all of them. */
static void expand(sweep_t *s, const tacit_slope_t slope) {
  tacit_graph_t *g = s->graph;
  if (slope.n > MAX_EXPANDED) {
    (void)tacit_graph_refuse(g, TACIT_ERR_ARGUMENT,
                             "more than 4096 parameters are used both through an index and otherwise");
  }
  for (size_t j = 0; j < slope.n && g->status == TACIT_OK; j++) {
    tacit_node_t to = g->parameters[parameter_of(&slope, j)].node;
    if (slope.kind == TACIT_PIECE_LINEAR) {
      add(s, to, binary(g, TACIT_OP_MUL, slope.row, g->lists[slope.data + j]), NONE);
    } else {
      tacit_node_t value = number(g, slope.first + (double)j),
                   here; /* the index is clamped to the first and the last */
      here = j == 0             ? binary(g, TACIT_OP_AT_MOST, slope.index, value)
             : j + 1 == slope.n ? binary(g, TACIT_OP_AT_MOST, value, slope.index)
                                : binary(g, TACIT_OP_EQUAL, slope.index, value);
      add(s, to, slope.row, here);
    }
  }
}

static void separate(sweep_t *s, uint32_t *count) {
  tacit_graph_t *g = s->graph;
  tacit_gradient_t *gradient = s->gradient;
  size_t n = 0, n_before;
  merge(s);
  n_before = gradient->n_slopes;
  for (size_t j = 0; j < g->n_parameters; j++) {
    count[j] = g->parameters[j].node < s->n && s->adjoint[g->parameters[j].node].value != NONE;
  }
  for (size_t i = 0; i < n_before; i++) {
    for (size_t j = 0; j < gradient->slopes[i].n; j++) {
      count[parameter_of(&gradient->slopes[i], j)]++;
    }
  }
  for (size_t i = 0; i < n_before; i++) {
    bool is_alone = true;
    for (size_t j = 0; j < gradient->slopes[i].n; j++) {
      is_alone = is_alone && count[parameter_of(&gradient->slopes[i], j)] == 1;
    }
    if (is_alone) {
      gradient->slopes[n++] = gradient->slopes[i];
    } else {
      expand(s, gradient->slopes[i]);
    }
  }
  gradient->n_slopes = n;
  for (size_t j = 0; j < g->n_parameters; j++) {
    tacit_node_t node = g->parameters[j].node;
    if (node < s->n && s->adjoint[node].value != NONE) {
      add_slope(s, (tacit_slope_t){
                       .kind = TACIT_PIECE_DENSE, .row = shown(g, s->adjoint[node]), .parameter = j, .n = 1});
    }
  }
}

tacit_status_t tacit_reverse(tacit_graph_t *graph, tacit_node_t root, tacit_gradient_t *gradient,
                             tacit_error_t *err) {
  *gradient = (tacit_gradient_t){0};
  sweep_t s = {.graph = graph, .n = (size_t)root + 1, .gradient = gradient};
  s.adjoint = tacit_alloc_zero(s.n, sizeof *s.adjoint);
  uint32_t *count = tacit_alloc_zero(graph->n_parameters, sizeof *count);
  if (s.adjoint == NULL || count == NULL) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
  } else if (root != NONE) {
    add(&s, root, number(graph, 1), NONE);
    for (tacit_node_t node = root; node > 0 && graph->status == TACIT_OK; node--) {
      if (s.adjoint[node].value != NONE) {
        through(&s, node);
      }
    }
    separate(&s, count);
  }
  tacit_free(s.adjoint);
  tacit_free(count);
  if (graph->status != TACIT_OK) {
    tacit_gradient_clear(gradient);
  }
  return tacit_graph_status(graph, err);
}

void tacit_gradient_clear(tacit_gradient_t *gradient) {
  tacit_free(gradient->slopes);
  *gradient = (tacit_gradient_t){0};
}
