/*
 * The distribution of a record as a function of the record. Codes of the machine in double precision over
 * sixteen lanes, all of whose inputs, columns and parameters alike, are given as uniforms: a lane each.
 */
#include "program/population.h"
#include "base/error.h"
#include "base/memory.h"

#include <string.h>

#include "program/reverse.h"

enum { NONE = TACIT_NODE_NONE };

/* ---- building ---- */

static tacit_leaf_t leaf(const void *user, tacit_node_t node) {
  const tacit_population_t *p = user;
  const tacit_graph_node_t *n = tacit_graph_at(p->graph, node);
  if (n->op == TACIT_OP_COLUMN) {
    return (tacit_leaf_t){.kind = TACIT_LEAF_UNIFORM, .number = n->a};
  }
  if (n->op == TACIT_OP_PARAMETER) {
    return (tacit_leaf_t){.kind = TACIT_LEAF_UNIFORM, .number = (uint32_t)p->graph->n_columns + n->a};
  }
  return (tacit_leaf_t){0};
}

tacit_status_t tacit_population_code(tacit_population_t *p, tacit_code_t *code, size_t n,
                                     const tacit_node_t *roots, tacit_error_t *err) {
  const tacit_leaves_t leaves = {p, leaf, NULL, NULL};
  p->n_out = n > p->n_out ? n : p->n_out;
  tacit_status_t status = tacit_code_build(code, p->graph, &leaves, n, roots, false, err);
  p->n_registers = code->n_registers > p->n_registers ? code->n_registers : p->n_registers;
  return status;
}

static tacit_status_t build(tacit_population_t *p, tacit_population_role_t role, size_t n,
                            const tacit_node_t *roots, tacit_error_t *err) {
  return tacit_population_code(p, &p->codes[role], n, roots, err);
}

/* The value at `node`, and with its derivatives. */
static tacit_status_t build_with_gradient(tacit_population_t *p, tacit_population_role_t role,
                                          tacit_node_t node, size_t **slopes, size_t *n_slopes,
                                          tacit_error_t *err) {
  tacit_gradient_t gradient = {0};
  tacit_status_t status = tacit_reverse(p->graph, node, &gradient, err);
  tacit_node_t *roots = tacit_alloc(gradient.n_slopes + 1, sizeof *roots);
  *slopes = tacit_arena_alloc(&p->arena, gradient.n_slopes + 1, sizeof **slopes);
  if (status == TACIT_OK && (roots == NULL || *slopes == NULL)) {
    status = tacit_error_memory(err);
  }
  if (status == TACIT_OK) {
    *n_slopes = gradient.n_slopes;
    roots[0] = node;
    for (size_t i = 0; i < gradient.n_slopes; i++) { /* all dense: there is no dot product and no lookup */
      roots[i + 1] = gradient.slopes[i].row;
      (*slopes)[i] = gradient.slopes[i].parameter;
    }
    status = build(p, role, gradient.n_slopes + 1, roots, err);
  }
  tacit_gradient_clear(&gradient);
  tacit_free(roots);
  return status;
}

static tacit_status_t build_report(tacit_population_t *p, tacit_error_t *err) {
  tacit_graph_t *g = p->graph;
  tacit_node_t *roots = tacit_alloc(g->n_reported + 1, sizeof *roots);
  if (roots == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < g->n_reported; i++) {
    roots[i] = tacit_graph_expand(g, g->reported[i].value);
  }
  tacit_status_t status = tacit_graph_status(g, err);
  TACIT_THEN(status, build(p, TACIT_POPULATION_REPORT, g->n_reported, roots, err));
  tacit_free(roots);
  return status;
}

tacit_status_t tacit_population_build(tacit_population_t *p, tacit_error_t *err) {
  tacit_graph_t *g = p->graph;
  tacit_node_t record = tacit_graph_expand(g, g->record),
               prior = g->prior != NONE ? tacit_graph_expand(g, g->prior) : tacit_graph_constant(g, 0);
  for (size_t i = 0; i < p->n_marks; i++) {
    p->marks[i] = tacit_graph_expand(g, p->marks[i]);
  }
  tacit_status_t status = tacit_graph_status(g, err);
  TACIT_THEN(status, build(p, TACIT_POPULATION_LOG_LIK, 1, &record, err));
  TACIT_THEN(status, build_with_gradient(p, TACIT_POPULATION_GRAD, record, &p->slopes, &p->n_slopes, err));
  TACIT_THEN(status, build_with_gradient(p, TACIT_POPULATION_PRIOR, prior, &p->prior_slopes,
                                         &p->n_prior_slopes, err));
  TACIT_THEN(status, build(p, TACIT_POPULATION_MARKS, p->n_marks, p->marks, err));
  TACIT_THEN(status, build_report(p, err));
  p->needed = status == TACIT_OK ? tacit_alloc_zero(g->n_nodes, sizeof *p->needed) : NULL;
  if (status == TACIT_OK && p->needed == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; status == TACIT_OK && i < p->n_marks; i++) {
    tacit_graph_mark(g, p->marks[i], p->needed);
  }
  return status;
}

void tacit_population_free(tacit_population_t *p) {
  if (p != NULL) {
    for (int role = 0; role < TACIT_POPULATION_ROLES; role++) {
      tacit_code_clear(&p->codes[role]);
    }
    for (size_t i = 0; i < p->n_draws; i++) {
      tacit_code_clear(&p->draws[i].make);
      tacit_code_clear(&p->draws[i].unmake);
    }
    tacit_free(p->needed);
    tacit_graph_free(p->graph);
    tacit_arena_clear(&p->arena);
    tacit_free(p);
  }
}

/* ---- what it is ---- */

const tacit_population_column_t *tacit_population_columns(const tacit_population_t *p, size_t *n) {
  *n = p->graph->n_columns;
  return p->columns;
}
const tacit_population_statistic_t *tacit_population_statistics(const tacit_population_t *p, size_t *n) {
  *n = p->n_statistics;
  return p->statistics;
}
size_t tacit_population_n_marks(const tacit_population_t *p) { return p->n_marks; }
size_t tacit_population_n_parameters(const tacit_population_t *p) { return p->graph->n_parameters; }
size_t tacit_population_n_reported(const tacit_population_t *p) { return p->graph->n_reported; }
const char *tacit_population_label(const tacit_population_t *p, size_t i) {
  return p->graph->reported[i].label;
}
const char *tacit_population_name(const tacit_population_t *p, size_t i) {
  return p->graph->reported[i].name;
}

/* ---- running ---- */

tacit_status_t tacit_population_workspace_new(tacit_population_workspace_t **workspace,
                                              const tacit_population_t *p, tacit_error_t *err) {
  tacit_population_workspace_t *made = *workspace = tacit_alloc_zero(1, sizeof *made);
  if (made == NULL) {
    return tacit_error_memory(err);
  }
  made->population = p;
  made->inputs = tacit_alloc_zero((p->graph->n_columns + p->graph->n_parameters) * 16, sizeof *made->inputs);
  made->out = tacit_alloc_zero(p->n_out * 16, sizeof *made->out);
  made->ranges = tacit_alloc_zero(p->graph->n_nodes * 2, sizeof *made->ranges);
  made->registers = tacit_alloc_zero(p->n_registers + 1, TACIT_CHUNK_BLOCKS * 16 * sizeof(double));
  if (made->inputs == NULL || made->out == NULL || made->ranges == NULL || made->registers == NULL) {
    tacit_population_workspace_free(made);
    *workspace = NULL;
    return tacit_error_memory(err);
  }
  return TACIT_OK;
}

void tacit_population_workspace_free(tacit_population_workspace_t *workspace) {
  if (workspace != NULL) {
    tacit_free(workspace->inputs);
    tacit_free(workspace->out);
    tacit_free(workspace->ranges);
    tacit_free(workspace->registers);
    tacit_free(workspace);
  }
}

void tacit_population_set(tacit_population_workspace_t *workspace, const double *theta, const double *x) {
  const tacit_graph_t *g = workspace->population->graph;
  double *parameters = workspace->inputs + g->n_columns * 16;
  if (x != NULL) {
    memcpy(workspace->inputs, x, g->n_columns * 16 * sizeof *x);
  }
  for (size_t i = 0; theta != NULL && i < g->n_parameters * 16; i++) {
    parameters[i] = theta[i / 16];
  }
}

void tacit_population_execute(tacit_population_workspace_t *workspace, const tacit_code_t *code) {
  tacit_frame_t frame = {.n_blocks = 1,
                         .registers = workspace->registers,
                         .uniforms = workspace->inputs,
                         .out = workspace->out,
                         .out_stride = code->n_outputs * 16};
  unsigned before = tacit_machine_begin();
  tacit_machine()->run_double(code, &frame);
  tacit_machine_end(before);
}

static void run_population(tacit_population_workspace_t *workspace, tacit_population_role_t role,
                           const double *theta, const double *x) {
  tacit_population_set(workspace, theta, x);
  tacit_population_execute(workspace, &workspace->population->codes[role]);
}

void tacit_population_log_lik(tacit_population_workspace_t *workspace, const double *theta, const double *x,
                              double *log_lik, double *grad) {
  const tacit_population_t *p = workspace->population;
  run_population(workspace, grad != NULL ? TACIT_POPULATION_GRAD : TACIT_POPULATION_LOG_LIK, theta, x);
  memcpy(log_lik, workspace->out, 16 * sizeof *log_lik);
  if (grad != NULL) {
    memset(grad, 0, p->graph->n_parameters * 16 * sizeof *grad);
    for (size_t i = 0; i < p->n_slopes; i++) {
      memcpy(grad + p->slopes[i] * 16, workspace->out + (i + 1) * 16, 16 * sizeof *grad);
    }
  }
}

void tacit_population_marks(tacit_population_workspace_t *workspace, const double *x, double *marks) {
  run_population(workspace, TACIT_POPULATION_MARKS, NULL, x);
  memcpy(marks, workspace->out, workspace->population->n_marks * 16 * sizeof *marks);
}

void tacit_population_mark_ranges(tacit_population_workspace_t *workspace, const double *box,
                                  double *ranges) {
  const tacit_population_t *p = workspace->population;
  tacit_graph_range(p->graph, p->needed, box, workspace->ranges);
  for (size_t i = 0; i < p->n_marks; i++) {
    memcpy(ranges + 2 * i, workspace->ranges + 2 * p->marks[i], 2 * sizeof *ranges);
  }
}

double tacit_population_log_prior(tacit_population_workspace_t *workspace, const double *theta,
                                  double *grad) {
  const tacit_population_t *p = workspace->population;
  run_population(workspace, TACIT_POPULATION_PRIOR, theta, NULL);
  if (grad != NULL) {
    memset(grad, 0, p->graph->n_parameters * sizeof *grad);
    for (size_t i = 0; i < p->n_prior_slopes; i++) {
      grad[p->prior_slopes[i]] = workspace->out[(i + 1) * 16];
    }
  }
  return workspace->out[0];
}

void tacit_population_report(tacit_population_workspace_t *workspace, const double *theta, double *reported) {
  run_population(workspace, TACIT_POPULATION_REPORT, theta, NULL);
  for (size_t i = 0; i < workspace->population->graph->n_reported; i++) {
    reported[i] = workspace->out[i * 16];
  }
}
