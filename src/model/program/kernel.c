#include "program/kernel.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE };

/* From here on a table is cheaper than its computation. */
static const float WORTH_A_TABLE = 4;

typedef struct collect {
  tacit_kernel_t *kernel;
  const tacit_survey_t *survey;
  tacit_layout_t *layout;
  uint8_t *seen; /* (n_nodes) */
  uint32_t *stack;
  size_t n_stack, stack_capacity;
  bool failed;
} collect_t;

static bool append(uint32_t **list, size_t *n, size_t *capacity, uint32_t value) {
  if (*n == *capacity) {
    size_t more = 2 * *n + 16;
    uint32_t *moved = tacit_realloc(*list, more, sizeof *moved);
    if (moved == NULL) {
      return false;
    }
    *list = moved;
    *capacity = more;
  }
  (*list)[(*n)++] = value;
  return true;
}

static void push(collect_t *c, tacit_node_t node) {
  c->failed = c->failed || !append(&c->stack, &c->n_stack, &c->stack_capacity, node);
}

/* A value that is computed once a pass. */
static void take_uniform(collect_t *c, tacit_node_t node) {
  tacit_kernel_t *kernel = c->kernel;
  if (tacit_graph_at(kernel->graph, node)->op != TACIT_OP_CONSTANT &&
      kernel->leaves[node].kind == TACIT_LEAF_COMPUTED) {
    kernel->leaves[node] = (tacit_leaf_t){.kind = TACIT_LEAF_UNIFORM, .number = (uint32_t)kernel->n_uniforms};
    c->failed = c->failed || !append(&kernel->uniforms, &kernel->n_uniforms, &kernel->uniform_capacity, node);
  }
}

/* Scalars, the first of which is at the place that is returned. */
static uint32_t take_scalars(collect_t *c, size_t n, const uint32_t *nodes) {
  tacit_kernel_t *kernel = c->kernel;
  uint32_t first = (uint32_t)kernel->n_scalars;
  for (size_t i = 0; i < n; i++) {
    tacit_node_t node = nodes != NULL ? nodes[i] : NONE;
    c->failed = c->failed || !append(&kernel->scalars, &kernel->n_scalars, &kernel->scalar_capacity, node);
    tacit_op_t op = (tacit_op_t)tacit_graph_at(kernel->graph, node)->op;
    if (node != NONE && op != TACIT_OP_PARAMETER) {
      take_uniform(c, node);
    }
  }
  return first;
}

static void take_lookup(collect_t *c, tacit_node_t node) {
  const tacit_graph_node_t *n = tacit_graph_at(c->kernel->graph, node);
  if (c->kernel->leaves[node].kind == TACIT_LEAF_COMPUTED) {
    uint32_t scalar = take_scalars(c, n->c, c->kernel->graph->lists + n->b);
    c->kernel->leaves[node] = (tacit_leaf_t){
        .kind = TACIT_LEAF_TABLE, .index = n->a, .scalar = scalar, .n = n->c, .first = n->value};
  }
}

/* ---- tables ---- */

static bool is_table(const collect_t *c, tacit_node_t node) {
  tacit_node_t column = c->survey->column[node];
  return column != NONE && column != TACIT_MANY_COLUMNS && c->survey->cost[node] >= WORTH_A_TABLE;
}

static tacit_fill_t *fill_of(collect_t *c, tacit_node_t column) {
  tacit_kernel_t *kernel = c->kernel;
  for (size_t i = 0; i < kernel->n_fills; i++) {
    if (kernel->fills[i].column == column) {
      return &kernel->fills[i];
    }
  }
  if (kernel->n_fills == kernel->fill_capacity) {
    size_t more = 2 * kernel->n_fills + 4;
    tacit_fill_t *fills = tacit_realloc(kernel->fills, more, sizeof *fills);
    if (fills == NULL) {
      c->failed = true;
      return NULL;
    }
    kernel->fills = fills;
    kernel->fill_capacity = more;
  }
  const tacit_graph_column_t *bounds = &kernel->graph->columns[tacit_graph_at(kernel->graph, column)->a];
  kernel->fills[kernel->n_fills] = (tacit_fill_t){
      .column = column, .first = bounds->lower, .n_values = (size_t)(bounds->upper - bounds->lower) + 1};
  return &kernel->fills[kernel->n_fills++];
}

/* What a table's entries need: uniforms, and tables of plain elements. */
static void take_table(collect_t *c, tacit_node_t node) {
  tacit_kernel_t *kernel = c->kernel;
  tacit_fill_t *fill = fill_of(c, c->survey->column[node]);
  if (fill == NULL) {
    return;
  }
  uint32_t scalar = take_scalars(c, fill->n_values, NULL);
  kernel->leaves[node] = (tacit_leaf_t){.kind = TACIT_LEAF_TABLE,
                                        .index = fill->column,
                                        .scalar = scalar,
                                        .n = (uint32_t)fill->n_values,
                                        .first = fill->first};
  size_t n = fill->n_tables, capacity = fill->capacity;
  c->failed = c->failed || !append(&fill->nodes, &n, &capacity, node);
  n = fill->n_tables;
  capacity = fill->capacity;
  c->failed = c->failed || !append(&fill->scalars, &n, &capacity, scalar);
  fill->n_tables = n;
  fill->capacity = capacity;
}

/* Data that are computed anew for each record, rather than packed. */
static bool is_inline(const tacit_graph_t *graph, tacit_node_t node) {
  const tacit_graph_node_t *n = tacit_graph_at(graph, node);
  const uint32_t operand[3] = {n->a, n->b, n->c};
  bool is_cheap = n->op == TACIT_OP_NEG || n->op == TACIT_OP_ADD || n->op == TACIT_OP_SUB ||
                  n->op == TACIT_OP_MUL || n->op == TACIT_OP_EQUAL || n->op == TACIT_OP_LESS ||
                  n->op == TACIT_OP_AT_MOST;
  for (unsigned i = 0; i < tacit_op_arity((tacit_op_t)n->op); i++) {
    tacit_op_t op = (tacit_op_t)tacit_graph_at(graph, operand[i])->op;
    is_cheap = is_cheap && (op == TACIT_OP_COLUMN || op == TACIT_OP_CONSTANT);
  }
  return is_cheap;
}

static void visit(collect_t *c, tacit_node_t node, bool in_table) {
  const tacit_graph_t *graph = c->kernel->graph;
  const tacit_graph_node_t *n = tacit_graph_at(graph, node);
  if (n->rate <= TACIT_RATE_PARAMETER) {
    take_uniform(c, node);
    return;
  }
  if (!in_table && n->rate == TACIT_RATE_DATA && !c->survey->is_infinite[node] && !is_inline(graph, node)) {
    c->failed = c->failed || !tacit_layout_add(c->layout, 1, &node);
    return;
  }
  if (!in_table && n->rate == TACIT_RATE_MIXED && is_table(c, node)) {
    take_table(c, node);
    push(c, c->survey->column[node]);
    return;
  }
  if (n->op == TACIT_OP_LOOKUP) {
    take_lookup(c, node);
    push(c, n->a);
    return;
  }
  if (n->op == TACIT_OP_DOT) {
    c->kernel->dot_scalar[node] = take_scalars(c, n->c, graph->lists + n->b);
    c->failed = c->failed || !tacit_layout_add(c->layout, n->c, graph->lists + n->a);
    return;
  }
  const uint32_t operand[3] = {n->a, n->b, n->c};
  for (unsigned i = 0; i < tacit_op_arity((tacit_op_t)n->op); i++) {
    push(c, operand[i]);
  }
}

static void visit_all(collect_t *c, bool in_table) {
  while (c->n_stack > 0 && !c->failed) {
    tacit_node_t node = c->stack[--c->n_stack];
    if (c->seen[node] == 0) {
      c->seen[node] = 1;
      visit(c, node, in_table);
    }
  }
}

/* Parameters that uniforms are computed from. */
static void find_inputs(collect_t *c) {
  tacit_kernel_t *kernel = c->kernel;
  memset(c->seen, 0, kernel->graph->n_nodes);
  for (size_t i = 0; i < kernel->n_uniforms; i++) {
    push(c, kernel->uniforms[i]);
  }
  while (c->n_stack > 0 && !c->failed) {
    tacit_node_t node = c->stack[--c->n_stack];
    const tacit_graph_node_t *n = tacit_graph_at(kernel->graph, node);
    const uint32_t operand[3] = {n->a, n->b, n->c};
    if (c->seen[node] == 1) {
      continue;
    }
    c->seen[node] = 1;
    if (n->op == TACIT_OP_PARAMETER) {
      c->failed = !append(&kernel->inputs, &kernel->n_inputs, &kernel->input_capacity, node);
    }
    for (unsigned i = 0; i < tacit_op_arity((tacit_op_t)n->op); i++) {
      push(c, operand[i]);
    }
  }
}

tacit_status_t tacit_kernel_collect(tacit_kernel_t *kernel, const tacit_graph_t *graph,
                                    const tacit_survey_t *survey, tacit_layout_t *layout, bool is_double,
                                    bool is_data, size_t n_roots, const tacit_node_t *roots,
                                    tacit_error_t *err) {
  *kernel = (tacit_kernel_t){
      .graph = graph, .is_double = is_double, .is_data = is_data, .layout = layout, .n_roots = n_roots};
  kernel->leaves = tacit_alloc_zero(graph->n_nodes, sizeof *kernel->leaves);
  kernel->dot_scalar = tacit_alloc_zero(graph->n_nodes, sizeof *kernel->dot_scalar);
  kernel->roots = tacit_alloc_zero(n_roots, sizeof *kernel->roots);
  collect_t c = {.kernel = kernel, .survey = survey, .layout = layout};
  c.seen = tacit_alloc_zero(graph->n_nodes, sizeof *c.seen);
  c.failed = kernel->leaves == NULL || kernel->dot_scalar == NULL || kernel->roots == NULL || c.seen == NULL;
  for (size_t r = 0; !c.failed && r < n_roots; r++) {
    kernel->roots[r] = roots[r];
    push(&c, roots[r]);
  }
  if (!c.failed) {
    visit_all(&c, is_data);
    memset(c.seen, 0, graph->n_nodes); /* a node may be both in a table and computed for each record */
  }
  for (size_t f = 0; !c.failed && f < kernel->n_fills; f++) {
    for (size_t i = 0; i < kernel->fills[f].n_tables; i++) {
      push(&c, kernel->fills[f].nodes[i]);
    }
    visit_all(&c, true);
  }
  if (!c.failed) {
    find_inputs(&c);
  }
  tacit_free(c.seen);
  tacit_free(c.stack);
  if (c.failed) {
    tacit_kernel_clear(kernel);
    return tacit_error_memory(err);
  }
  return TACIT_OK;
}

/* ---- programs ---- */

static tacit_leaf_t each_leaf(const void *user, tacit_node_t node) {
  const tacit_kernel_t *kernel = user;
  tacit_leaf_t leaf = kernel->leaves[node];
  const tacit_graph_node_t *n = tacit_graph_at(kernel->graph, node);
  if (kernel->is_data && n->op == TACIT_OP_COLUMN) {
    return (tacit_leaf_t){.kind = TACIT_LEAF_COLUMN, .number = n->a};
  }
  if (kernel->is_data) {
    return leaf;
  }
  if (leaf.kind == TACIT_LEAF_COMPUTED && n->rate == TACIT_RATE_DATA) {
    size_t column = tacit_layout_find(kernel->layout, 1, &node);
    if (column != SIZE_MAX) {
      return (tacit_leaf_t){.kind = TACIT_LEAF_COLUMN, .number = (uint32_t)column};
    }
  }
  return leaf;
}

/* In a table there is one column, and nothing is looked up but plain elements. */
static tacit_leaf_t fill_leaf(const void *user, tacit_node_t node) {
  const tacit_kernel_t *kernel = user;
  const tacit_graph_node_t *n = tacit_graph_at(kernel->graph, node);
  if (n->op == TACIT_OP_COLUMN) {
    return (tacit_leaf_t){.kind = TACIT_LEAF_COLUMN};
  }
  bool is_given = n->rate <= TACIT_RATE_PARAMETER || n->op == TACIT_OP_LOOKUP;
  return is_given ? kernel->leaves[node] : (tacit_leaf_t){0};
}

static tacit_leaf_t once_leaf(const void *user, tacit_node_t node) {
  const tacit_kernel_t *kernel = user;
  for (size_t i = 0; tacit_graph_at(kernel->graph, node)->op == TACIT_OP_PARAMETER && i < kernel->n_inputs;
       i++) {
    if (kernel->inputs[i] == node) {
      return (tacit_leaf_t){.kind = TACIT_LEAF_UNIFORM, .number = (uint32_t)i};
    }
  }
  return (tacit_leaf_t){0};
}

static uint32_t dot_column(const void *user, tacit_node_t node) {
  const tacit_kernel_t *kernel = user;
  const tacit_graph_node_t *n = tacit_graph_at(kernel->graph, node);
  return (uint32_t)tacit_layout_find(kernel->layout, n->c, kernel->graph->lists + n->a);
}

static uint32_t dot_scalar(const void *user, tacit_node_t node) {
  const tacit_kernel_t *kernel = user;
  return kernel->dot_scalar[node];
}

tacit_status_t tacit_kernel_build(tacit_kernel_t *kernel, tacit_error_t *err) {
  const tacit_leaves_t each = {kernel, each_leaf, dot_column, dot_scalar},
                       once = {kernel, once_leaf, NULL, NULL};
  const tacit_leaves_t fill = {kernel, fill_leaf, NULL, NULL};
  tacit_status_t status =
      tacit_code_build(&kernel->once, kernel->graph, &once, kernel->n_uniforms, kernel->uniforms, false, err);
  for (size_t f = 0; f < kernel->n_fills && status == TACIT_OK; f++) {
    status = tacit_code_build(&kernel->fills[f].code, kernel->graph, &fill, kernel->fills[f].n_tables,
                              kernel->fills[f].nodes, false, err);
  }
  TACIT_THEN(status, tacit_code_build(&kernel->each, kernel->graph, &each, kernel->n_roots, kernel->roots,
                                      !kernel->is_double, err));
  if (status == TACIT_OK && kernel->is_on_grid && !tacit_code_shorten(&kernel->each)) {
    status = tacit_error_memory(err);
  }
  kernel->scalar_uniform = tacit_alloc(kernel->n_scalars, sizeof *kernel->scalar_uniform);
  if (status == TACIT_OK && kernel->scalar_uniform == NULL) {
    status = tacit_error_memory(err);
  }
  for (size_t i = 0; status == TACIT_OK && i < kernel->n_scalars; i++) {
    tacit_leaf_t leaf = kernel->leaves[kernel->scalars[i]];
    kernel->scalar_uniform[i] = leaf.kind == TACIT_LEAF_UNIFORM ? leaf.number : UINT32_MAX;
  }
  tacit_free(kernel->leaves);
  tacit_free(kernel->dot_scalar);
  kernel->leaves = NULL;
  kernel->dot_scalar = NULL;
  return status;
}

void tacit_kernel_clear(tacit_kernel_t *kernel) {
  for (size_t f = 0; f < kernel->n_fills; f++) {
    tacit_free(kernel->fills[f].nodes);
    tacit_free(kernel->fills[f].scalars);
    tacit_code_clear(&kernel->fills[f].code);
  }
  tacit_free(kernel->leaves);
  tacit_free(kernel->dot_scalar);
  tacit_free(kernel->roots);
  tacit_free(kernel->uniforms);
  tacit_free(kernel->scalars);
  tacit_free(kernel->inputs);
  tacit_free(kernel->fills);
  tacit_free(kernel->scalar_uniform);
  tacit_code_clear(&kernel->once);
  tacit_code_clear(&kernel->each);
  *kernel = (tacit_kernel_t){0};
}
