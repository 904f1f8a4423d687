/* Layouts of packed records, and what is known of nodes before programs are written. */
#include <string.h>

#include "base/memory.h"
#include "program/graph_internal.h"
#include "program/kernel.h"

size_t tacit_layout_find(const tacit_layout_t *layout, size_t n, const uint32_t *nodes) {
  for (size_t i = 0; i + n <= layout->n_columns; i++) {
    if (memcmp(layout->columns + i, nodes, n * sizeof *nodes) == 0) {
      return i;
    }
  }
  return SIZE_MAX;
}

bool tacit_layout_add(tacit_layout_t *layout, size_t n, const uint32_t *nodes) {
  if (tacit_layout_find(layout, n, nodes) != SIZE_MAX) {
    return true;
  }
  if (layout->n_columns + n > layout->capacity) {
    size_t more = 2 * layout->n_columns + n + 16;
    uint32_t *columns = tacit_realloc(layout->columns, more, sizeof *columns);
    if (columns == NULL) {
      return false;
    }
    layout->columns = columns;
    layout->capacity = more;
  }
  memcpy(layout->columns + layout->n_columns, nodes, n * sizeof *nodes);
  layout->n_columns += n;
  return true;
}

/* In about the time of an addition. */
static float cost_of(tacit_op_t op) {
  switch (op) {
  case TACIT_OP_CONSTANT:
  case TACIT_OP_COLUMN:
  case TACIT_OP_PARAMETER:
    return 0;
  case TACIT_OP_LOOKUP:
    return 2;
  case TACIT_OP_DIV:
  case TACIT_OP_SQRT:
    return 3;
  case TACIT_OP_LGAMMA_DIFF:
  case TACIT_OP_DIGAMMA_DIFF:
    return 160;
  case TACIT_OP_LGAMMA:
  case TACIT_OP_DIGAMMA:
  case TACIT_OP_TRIGAMMA:
    return 60;
  default:
    return op >= TACIT_OP_EXP || op == TACIT_OP_POW ? 12 : 1;
  }
}

static tacit_node_t joined(tacit_node_t a, tacit_node_t b) {
  return a == TACIT_NODE_NONE || a == b ? b : b == TACIT_NODE_NONE ? a : TACIT_MANY_COLUMNS;
}

static void look(tacit_survey_t *survey, const tacit_graph_t *graph, tacit_node_t node) {
  const tacit_graph_node_t *n = tacit_graph_at(graph, node);
  tacit_node_t column = TACIT_NODE_NONE;
  float cost = cost_of((tacit_op_t)n->op);
  if (n->op == TACIT_OP_COLUMN) {
    const tacit_graph_column_t *c = &graph->columns[n->a];
    column = c->is_integer && c->upper - c->lower < TACIT_GRAPH_MAX_TABLE ? node : TACIT_MANY_COLUMNS;
  } else if (n->op == TACIT_OP_DOT) {
    column = TACIT_MANY_COLUMNS;
    cost = (float)n->c;
  } else if (n->op == TACIT_OP_LOOKUP) {
    column = survey->column[n->a];
  } else {
    const uint32_t operand[3] = {n->a, n->b, n->c};
    for (unsigned i = 0; i < tacit_op_arity((tacit_op_t)n->op); i++) {
      column = joined(column, survey->column[operand[i]]);
      cost += survey->cost[operand[i]];
    }
  }
  survey->column[node] = column;
  survey->cost[node] = n->rate <= TACIT_RATE_PARAMETER ? 0 : cost;
}

bool tacit_survey_init(tacit_survey_t *survey, const tacit_graph_t *graph) {
  survey->column = tacit_alloc_zero(graph->n_nodes, sizeof *survey->column);
  survey->cost = tacit_alloc_zero(graph->n_nodes, sizeof *survey->cost);
  survey->is_infinite = tacit_alloc_zero(graph->n_nodes, sizeof *survey->is_infinite);
  if (survey->column == NULL || survey->cost == NULL || survey->is_infinite == NULL) {
    tacit_survey_clear(survey);
    return false;
  }
  for (tacit_node_t node = 1; node < graph->n_nodes; node++) {
    look(survey, graph, node);
  }
  tacit_graph_infinite(graph, graph->n_nodes, survey->is_infinite);
  return true;
}

void tacit_survey_clear(tacit_survey_t *survey) {
  tacit_free(survey->column);
  tacit_free(survey->cost);
  tacit_free(survey->is_infinite);
  *survey = (tacit_survey_t){0};
}
