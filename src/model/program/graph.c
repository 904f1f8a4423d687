#include "program/graph.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/graph_internal.h"

static const struct {
  const char *name;
  unsigned arity;
} OPS[TACIT_OP_COUNT] = {
    [TACIT_OP_CONSTANT] = {"constant", 0},
    [TACIT_OP_COLUMN] = {"column", 0},
    [TACIT_OP_PARAMETER] = {"parameter", 0},
    [TACIT_OP_DOT] = {"dot", 0},
    [TACIT_OP_LOOKUP] = {"lookup", 0},
    [TACIT_OP_ADD] = {"add", 2},
    [TACIT_OP_SUB] = {"sub", 2},
    [TACIT_OP_MUL] = {"mul", 2},
    [TACIT_OP_DIV] = {"div", 2},
    [TACIT_OP_NEG] = {"neg", 1},
    [TACIT_OP_ABS] = {"abs", 1},
    [TACIT_OP_MIN] = {"min", 2},
    [TACIT_OP_MAX] = {"max", 2},
    [TACIT_OP_FLOOR] = {"floor", 1},
    [TACIT_OP_SQRT] = {"sqrt", 1},
    [TACIT_OP_POW] = {"pow", 2},
    [TACIT_OP_LESS] = {"less", 2},
    [TACIT_OP_AT_MOST] = {"at_most", 2},
    [TACIT_OP_EQUAL] = {"equal", 2},
    [TACIT_OP_SELECT] = {"select", 3},
    [TACIT_OP_EXP] = {"exp", 1},
    [TACIT_OP_EXPM1] = {"expm1", 1},
    [TACIT_OP_LOG] = {"log", 1},
    [TACIT_OP_LOG1P] = {"log1p", 1},
    [TACIT_OP_LOG1P_EXP] = {"log1p_exp", 1},
    [TACIT_OP_LOG1M_EXP] = {"log1m_exp", 1},
    [TACIT_OP_LOG_ADD_EXP] = {"log_add_exp", 2},
    [TACIT_OP_INV_LOGIT] = {"inv_logit", 1},
    [TACIT_OP_TANH] = {"tanh", 1},
    [TACIT_OP_LGAMMA] = {"lgamma", 1},
    [TACIT_OP_DIGAMMA] = {"digamma", 1},
    [TACIT_OP_LGAMMA_DIFF] = {"lgamma_diff", 2},
    [TACIT_OP_DIGAMMA_DIFF] = {"digamma_diff", 2},
    [TACIT_OP_TRIGAMMA] = {"trigamma", 1},
    [TACIT_OP_ERF] = {"erf", 1},
    [TACIT_OP_ERFC] = {"erfc", 1},
    [TACIT_OP_PHI] = {"Phi", 1},
    [TACIT_OP_LOG_PHI] = {"log_Phi", 1},
    [TACIT_OP_INV_PHI] = {"inv_Phi", 1},
    [TACIT_OP_SIN] = {"sin", 1},
    [TACIT_OP_COS] = {"cos", 1},
    [TACIT_OP_ATAN] = {"atan", 1},
    [TACIT_OP_RATIO1] = {"ratio1", 1},
    [TACIT_OP_RATIO2] = {"ratio2", 1},
    [TACIT_OP_MILLS] = {"mills", 1},
};

const char *tacit_op_name(tacit_op_t op) { return op < TACIT_OP_COUNT ? OPS[op].name : "?"; }
unsigned tacit_op_arity(tacit_op_t op) { return op < TACIT_OP_COUNT ? OPS[op].arity : 0; }

tacit_graph_t *tacit_graph_new(void) {
  tacit_graph_t *graph = tacit_alloc_zero(1, sizeof *graph);
  if (graph == NULL) {
    return NULL;
  }
  graph->limit = TACIT_GRAPH_MAX_FRONT;
  graph->n_slots = 1024;
  graph->node_capacity = 512;
  graph->n_nodes = 1;
  graph->slots = tacit_alloc_zero(graph->n_slots, sizeof *graph->slots);
  graph->nodes = tacit_alloc(graph->node_capacity, sizeof *graph->nodes);
  if (graph->slots == NULL || graph->nodes == NULL) {
    tacit_graph_free(graph);
    return NULL;
  }
  graph->nodes[0] = (tacit_graph_node_t){0};
  return graph;
}

void tacit_graph_free(tacit_graph_t *graph) {
  if (graph == NULL) {
    return;
  }
  for (size_t i = 0; i < graph->n_columns; i++) {
    tacit_free((void *)(uintptr_t)graph->columns[i].source);
  }
  for (size_t i = 0; i < graph->n_parameters; i++) {
    tacit_free(graph->parameters[i].name);
  }
  for (size_t i = 0; i < graph->n_reported; i++) {
    tacit_free(graph->reported[i].label);
    tacit_free(graph->reported[i].name);
  }
  tacit_free(graph->nodes);
  tacit_free(graph->lists);
  tacit_free(graph->slots);
  tacit_free(graph->columns);
  tacit_free(graph->parameters);
  tacit_free(graph->reported);
  tacit_free(graph);
}

tacit_node_t tacit_graph_refuse(tacit_graph_t *graph, tacit_status_t status, const char *message) {
  if (graph->status == TACIT_OK) {
    graph->status = status == TACIT_ERR_MEMORY
                        ? tacit_error_memory(&graph->error)
                        : tacit_error_set(&graph->error, status, "program", "%s", message);
  }
  return TACIT_NODE_NONE;
}

tacit_status_t tacit_graph_status(const tacit_graph_t *graph, tacit_error_t *err) {
  if (graph->status != TACIT_OK && err != NULL) {
    *err = graph->error;
  }
  return graph->status;
}

bool tacit_graph_grow(tacit_graph_t *graph, void *p, size_t n, size_t *capacity, size_t size) {
  if (n < *capacity) {
    return true;
  }
  void **array = p;
  size_t more = n + n / 2 + 16;
  void *moved = tacit_realloc(*array, more, size);
  if (moved == NULL) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
    return false;
  }
  *array = moved;
  *capacity = more;
  return true;
}

static uint64_t mix(uint64_t hash, uint64_t x) {
  hash = (hash ^ x) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

static uint64_t hash_list(uint64_t hash, const uint32_t *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    hash = mix(hash, list[i]);
  }
  return hash;
}

static uint64_t hash_node(const tacit_graph_t *graph, const tacit_graph_node_t *node) {
  uint64_t bits;
  memcpy(&bits, &node->value, sizeof bits);
  uint64_t hash = mix(mix(node->op, bits), node->c);
  if (node->op == TACIT_OP_DOT) {
    return hash_list(hash_list(hash, graph->lists + node->a, node->c), graph->lists + node->b, node->c);
  }
  if (node->op == TACIT_OP_LOOKUP) {
    return hash_list(mix(hash, node->a), graph->lists + node->b, node->c);
  }
  return mix(mix(hash, node->a), node->b);
}

static bool same_list(const tacit_graph_t *graph, uint32_t a, uint32_t b, size_t n) {
  return memcmp(graph->lists + a, graph->lists + b, n * sizeof *graph->lists) == 0;
}

static bool same_node(const tacit_graph_t *graph, const tacit_graph_node_t *a, const tacit_graph_node_t *b) {
  if (a->op != b->op || a->c != b->c || memcmp(&a->value, &b->value, sizeof a->value) != 0) {
    return false;
  }
  bool same_a = a->op == TACIT_OP_DOT ? same_list(graph, a->a, b->a, a->c) : a->a == b->a;
  bool has_list = a->op == TACIT_OP_DOT || a->op == TACIT_OP_LOOKUP;
  return same_a && (has_list ? same_list(graph, a->b, b->b, a->c) : a->b == b->b);
}

static bool rehash(tacit_graph_t *graph) {
  size_t n_slots = 2 * graph->n_slots;
  uint32_t *slots = tacit_alloc_zero(n_slots, sizeof *slots);
  if (slots == NULL) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
    return false;
  }
  for (uint32_t i = 1; i < graph->n_nodes; i++) {
    size_t at = hash_node(graph, &graph->nodes[i]) & (n_slots - 1);
    while (slots[at] != 0) {
      at = (at + 1) & (n_slots - 1);
    }
    slots[at] = i;
  }
  tacit_free(graph->slots);
  graph->slots = slots;
  graph->n_slots = n_slots;
  return true;
}

tacit_node_t tacit_graph_intern(tacit_graph_t *graph, tacit_graph_node_t node) {
  if (graph->status != TACIT_OK) {
    return TACIT_NODE_NONE;
  }
  size_t at = hash_node(graph, &node) & (graph->n_slots - 1);
  for (; graph->slots[at] != 0; at = (at + 1) & (graph->n_slots - 1)) {
    if (same_node(graph, &node, &graph->nodes[graph->slots[at]])) {
      return graph->slots[at];
    }
  }
  if (graph->n_nodes >= graph->limit) {
    return tacit_graph_refuse(
        graph, TACIT_ERR_ARGUMENT,
        "the program is too large: more than 65536 operations once loops are unrolled and functions inlined");
  }
  if (!tacit_graph_grow(graph, &graph->nodes, graph->n_nodes, &graph->node_capacity, sizeof *graph->nodes)) {
    return TACIT_NODE_NONE;
  }
  uint32_t number = (uint32_t)graph->n_nodes++;
  graph->nodes[number] = node;
  graph->slots[at] = number;
  if (2 * graph->n_nodes > graph->n_slots && !rehash(graph)) {
    return TACIT_NODE_NONE;
  }
  return number;
}

tacit_node_t tacit_graph_constant(tacit_graph_t *graph, double value) {
  value = isnan(value) ? (double)NAN : value + 0.0; /* one NaN, one zero */
  return tacit_graph_intern(graph, (tacit_graph_node_t){.op = TACIT_OP_CONSTANT, .value = value});
}

static bool same_number(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

tacit_node_t tacit_graph_column(tacit_graph_t *graph, const tacit_graph_column_t *column) {
  size_t i = 0;
  for (; i < graph->n_columns; i++) {
    const tacit_graph_column_t *other = &graph->columns[i];
    if (strcmp(other->source, column->source) == 0 && other->is_integer == column->is_integer &&
        same_number(other->offset, column->offset) && same_number(other->level, column->level) &&
        same_number(other->lower, column->lower) && same_number(other->upper, column->upper)) {
      break;
    }
  }
  if (i == graph->n_columns) {
    if (!(isfinite(column->lower) && isfinite(column->upper) && column->lower <= column->upper &&
          isfinite(column->offset))) {
      return tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT,
                                "a column needs finite bounds, the lower one first");
    }
    if (column->is_integer &&
        (floor(column->lower) != column->lower || floor(column->upper) != column->upper)) {
      return tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "a column of whole numbers needs whole bounds");
    }
    if (i >= TACIT_GRAPH_MAX_COLUMNS) {
      return tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "the program names more than 4096 columns");
    }
    if (!tacit_graph_grow(graph, &graph->columns, i, &graph->column_capacity, sizeof *graph->columns)) {
      return TACIT_NODE_NONE;
    }
    graph->columns[i] = *column;
    graph->columns[i].source = tacit_strdup(column->source);
    if (graph->columns[i].source == NULL) {
      return tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
    }
    graph->n_columns++;
  }
  return tacit_graph_intern(
      graph, (tacit_graph_node_t){.op = TACIT_OP_COLUMN, .rate = TACIT_RATE_DATA, .a = (uint32_t)i});
}

tacit_rate_t tacit_graph_rate(const tacit_graph_t *graph, tacit_node_t node) {
  return (tacit_rate_t)graph->nodes[node].rate;
}

bool tacit_graph_is_constant(const tacit_graph_t *graph, tacit_node_t node, double *value) {
  if (node == TACIT_NODE_NONE || graph->nodes[node].op != TACIT_OP_CONSTANT) {
    return false;
  }
  *value = graph->nodes[node].value;
  return true;
}

void tacit_graph_add_record_term(tacit_graph_t *graph, tacit_node_t term) {
  graph->record = graph->record == TACIT_NODE_NONE
                      ? term
                      : tacit_graph_apply(graph, TACIT_OP_ADD, graph->record, term, TACIT_NODE_NONE);
}

void tacit_graph_set_response(tacit_graph_t *graph, const tacit_graph_response_t *response) {
  graph->response = *response;
  graph->n_responses++;
}

void tacit_graph_add_prior_term(tacit_graph_t *graph, tacit_node_t term) {
  if ((tacit_graph_rate(graph, term) & TACIT_RATE_DATA) != 0) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "a prior may not depend on the records");
    return;
  }
  graph->prior = graph->prior == TACIT_NODE_NONE
                     ? term
                     : tacit_graph_apply(graph, TACIT_OP_ADD, graph->prior, term, TACIT_NODE_NONE);
}

void tacit_graph_report(tacit_graph_t *graph, const char *label, const char *name, tacit_node_t value) {
  if (value == TACIT_NODE_NONE) {
    return;
  }
  if ((tacit_graph_rate(graph, value) & TACIT_RATE_DATA) != 0) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "a reported quantity may not depend on the records");
    return;
  }
  if (!tacit_graph_grow(graph, &graph->reported, graph->n_reported, &graph->reported_capacity,
                        sizeof *graph->reported)) {
    return;
  }
  tacit_graph_reported_t *reported = &graph->reported[graph->n_reported++];
  *reported =
      (tacit_graph_reported_t){.label = tacit_strdup(label), .name = tacit_strdup(name), .value = value};
  if (reported->label == NULL || reported->name == NULL) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
  }
}
