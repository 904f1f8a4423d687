#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE };

void tacit_graph_mark(const tacit_graph_t *g, tacit_node_t root, uint8_t *needed) {
  needed[root] = 1;
  for (tacit_node_t node = root + 1; node-- > 1;) {
    const tacit_graph_node_t *n = tacit_graph_at(g, node);
    const uint32_t operand[3] = {n->a, n->b, n->c};
    bool is_list = n->op == TACIT_OP_DOT || n->op == TACIT_OP_LOOKUP;
    for (unsigned i = 0; needed[node] && !is_list && i < tacit_op_arity((tacit_op_t)n->op); i++) {
      needed[operand[i]] = 1;
    }
    for (uint32_t i = 0; needed[node] && is_list && i < n->c; i++) {
      needed[g->lists[n->b + i]] = 1;
      needed[n->op == TACIT_OP_DOT ? g->lists[n->a + i] : n->a] = 1;
    }
  }
}

bool tacit_graph_affine(const tacit_graph_t *g, tacit_node_t node, tacit_affine_t *found) {
  const tacit_graph_node_t *n = tacit_graph_at(g, node);
  double k = 0;
  bool is_left = n->op != TACIT_OP_COLUMN && n->op != TACIT_OP_NEG && tacit_graph_is_constant(g, n->b, &k);
  bool is_right = !is_left && (n->op == TACIT_OP_ADD || n->op == TACIT_OP_SUB || n->op == TACIT_OP_MUL) &&
                  tacit_graph_is_constant(g, n->a, &k);
  if (n->op == TACIT_OP_COLUMN) {
    *found = (tacit_affine_t){.column = n->a, .a = 1};
    return true;
  }
  if ((n->op != TACIT_OP_NEG && !is_left && !is_right) ||
      !tacit_graph_affine(g, is_right ? n->b : n->a, found)) {
    return false;
  }
  double scale = n->op == TACIT_OP_MUL                                          ? k
                 : n->op == TACIT_OP_DIV                                        ? 1 / k
                 : n->op == TACIT_OP_NEG || (n->op == TACIT_OP_SUB && is_right) ? -1
                                                                                : 1;
  double shift = n->op == TACIT_OP_ADD || (n->op == TACIT_OP_SUB && is_right) ? k
                 : n->op == TACIT_OP_SUB                                      ? -k
                                                                              : 0;
  bool is_known = n->op == TACIT_OP_ADD || n->op == TACIT_OP_SUB || n->op == TACIT_OP_MUL ||
                  n->op == TACIT_OP_DIV || n->op == TACIT_OP_NEG;
  *found = (tacit_affine_t){.column = found->column, .a = scale * found->a, .b = scale * found->b + shift};
  return is_known && isfinite(found->a) && fabs(found->a) > 0 && isfinite(found->b);
}

static tacit_node_t dot(tacit_graph_t *g, const tacit_graph_node_t *n, const tacit_node_t *moved) {
  tacit_node_t *terms = tacit_alloc(n->c, sizeof *terms), sum = NONE;
  if (terms == NULL) {
    return tacit_graph_refuse(g, TACIT_ERR_MEMORY, NULL);
  }
  for (uint32_t i = 0; i < n->c; i++) {
    terms[i] = tacit_graph_apply(g, TACIT_OP_MUL, moved[g->lists[n->a + i]], moved[g->lists[n->b + i]], NONE);
  }
  sum = tacit_graph_sum(g, n->c, terms);
  tacit_free(terms);
  return sum;
}

/* Elements from `from` to below `to`. */
static tacit_node_t choose(tacit_graph_t *g, const tacit_graph_node_t *n, const tacit_node_t *moved,
                           uint32_t from, uint32_t to) {
  if (to - from == 1) {
    return moved[g->lists[n->b + from]];
  }
  uint32_t middle = from + (to - from) / 2;
  tacit_node_t low = choose(g, n, moved, from, middle), high = choose(g, n, moved, middle, to);
  tacit_node_t bound = tacit_graph_constant(g, n->value + (double)middle);
  return tacit_graph_apply(g, TACIT_OP_SELECT, tacit_graph_apply(g, TACIT_OP_LESS, moved[n->a], bound, NONE),
                           low, high);
}

tacit_node_t tacit_graph_expand(tacit_graph_t *g, tacit_node_t root) {
  size_t n_nodes = root + 1;
  uint8_t *needed = tacit_alloc_zero(n_nodes, sizeof *needed);
  tacit_node_t *moved = tacit_alloc_zero(n_nodes, sizeof *moved), result = NONE;
  if (needed == NULL || moved == NULL) {
    (void)tacit_graph_refuse(g, TACIT_ERR_MEMORY, NULL);
  } else {
    tacit_graph_mark(g, root, needed);
    for (tacit_node_t node = 1; node < n_nodes && g->status == TACIT_OK; node++) {
      const tacit_graph_node_t n = *tacit_graph_at(g, node); /* a copy: nodes move as they are added */
      if (needed[node] && n.op == TACIT_OP_DOT) {
        moved[node] = dot(g, &n, moved);
      } else if (needed[node] && n.op == TACIT_OP_LOOKUP) {
        moved[node] = choose(g, &n, moved, 0, n.c);
      } else if (needed[node]) {
        unsigned arity = tacit_op_arity((tacit_op_t)n.op);
        moved[node] = arity == 0
                          ? node
                          : tacit_graph_apply(g, (tacit_op_t)n.op, moved[n.a], arity > 1 ? moved[n.b] : NONE,
                                              arity > 2 ? moved[n.c] : NONE);
      }
    }
    result = g->status == TACIT_OK ? moved[root] : NONE;
  }
  tacit_free(needed);
  tacit_free(moved);
  return result;
}
