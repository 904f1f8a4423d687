#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/compiled.h"

enum { NONE = TACIT_NODE_NONE, MAX_TERMS = 20000 };

/* What is left of a sum without the terms that are free of parameters; NONE: nothing. *budget: nodes that may
 * still be looked at. */
static tacit_node_t dependent(tacit_graph_t *g, tacit_node_t node, unsigned depth, size_t *budget) {
  const tacit_graph_node_t n = *tacit_graph_at(g, node);
  if ((n.rate & TACIT_RATE_PARAMETER) == 0) {
    return NONE;
  }
  bool is_sum = n.op == TACIT_OP_ADD || n.op == TACIT_OP_SUB || n.op == TACIT_OP_NEG;
  if (!is_sum || depth == 0 || *budget == 0) {
    return node;
  }
  (*budget)--;
  tacit_node_t a = dependent(g, n.a, depth - 1, budget);
  if (n.op == TACIT_OP_NEG) {
    return tacit_graph_apply(g, TACIT_OP_NEG, a, NONE, NONE);
  }
  tacit_node_t b = dependent(g, n.b, depth - 1, budget);
  if (b == NONE) {
    return a;
  }
  if (a == NONE) {
    return n.op == TACIT_OP_ADD ? b : tacit_graph_apply(g, TACIT_OP_NEG, b, NONE, NONE);
  }
  return tacit_graph_apply(g, (tacit_op_t)n.op, a, b, NONE);
}

tacit_node_t tacit_graph_dependent(tacit_graph_t *graph, tacit_node_t sum) {
  size_t budget = MAX_TERMS;
  return dependent(graph, sum, 2000, &budget);
}

static tacit_status_t refuse_compile(tacit_error_t *err, const char *what) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "program", "%s", what);
}

static tacit_status_t check_compile(const tacit_graph_t *graph, tacit_error_t *err) {
  if (graph->status != TACIT_OK) {
    return tacit_graph_status(graph, err);
  }
  if (graph->n_parameters == 0) {
    return refuse_compile(err, "the program has no parameters");
  }
  if (graph->record == NONE || (tacit_graph_rate(graph, graph->record) & TACIT_RATE_PARAMETER) == 0) {
    return refuse_compile(err, "nothing that the program says of a record depends on a parameter");
  }
  return graph->n_reported > 0 ? TACIT_OK : refuse_compile(err, "the program reports nothing");
}

static tacit_status_t differentiate(tacit_compiled_t *p, tacit_error_t *err) {
  tacit_graph_t *g = p->graph;
  g->limit = TACIT_GRAPH_MAX_NODES;
  tacit_node_t record = tacit_graph_guard(g, g->record);
  g->response.density = g->response.density == g->record ? record : g->response.density;
  g->record = record;
  p->record_root = g->status == TACIT_OK ? tacit_graph_dependent(g, g->record) : NONE;
  tacit_status_t status = tacit_reverse(g, p->record_root, &p->record_gradient, err);
  if (status == TACIT_OK && g->prior == NONE) {
    g->prior = tacit_graph_constant(g, 0);
  }
  TACIT_THEN(status, tacit_reverse(g, g->prior, &p->prior_gradient, err));
  return status;
}

static size_t place_of(const tacit_compiled_t *p, tacit_node_t row) {
  size_t i = 0;
  while (i < p->n_rows && p->rows[i] != row) {
    i++;
  }
  return i;
}

/* The longest block of features comes first among the packed columns. */
static bool lay_out(tacit_compiled_t *p) {
  const tacit_gradient_t *gradient = &p->record_gradient;
  const tacit_slope_t *longest = NULL;
  bool ok = true;
  for (size_t i = 0; i < gradient->n_slopes; i++) {
    const tacit_slope_t *slope = &gradient->slopes[i];
    if (slope->kind == TACIT_PIECE_LINEAR && (longest == NULL || slope->n > longest->n)) {
      longest = slope;
    }
    if (place_of(p, slope->row) == p->n_rows) {
      p->rows[p->n_rows++] = slope->row;
    }
  }
  if (longest != NULL) {
    ok = tacit_layout_add(&p->layout, longest->n, p->graph->lists + longest->data);
    p->layout.n_features = longest->n;
  }
  for (size_t i = 0; i < gradient->n_slopes; i++) {
    const tacit_slope_t *slope = &gradient->slopes[i];
    if (slope->kind == TACIT_PIECE_LINEAR) {
      ok = ok && tacit_layout_add(&p->layout, slope->n, p->graph->lists + slope->data);
    } else if (slope->kind == TACIT_PIECE_GATHER) {
      ok = ok && tacit_layout_add(&p->layout, 1, &slope->index);
    }
  }
  return ok;
}

static void set_pieces(tacit_compiled_t *p) {
  for (size_t i = 0; i < p->record_gradient.n_slopes; i++) {
    const tacit_slope_t *slope = &p->record_gradient.slopes[i];
    tacit_piece_t piece = {
        .kind = slope->kind, .row = place_of(p, slope->row), .parameter = slope->parameter, .n = slope->n};
    if (slope->kind == TACIT_PIECE_LINEAR) {
      piece.column = tacit_layout_find(&p->layout, slope->n, p->graph->lists + slope->data);
    } else if (slope->kind == TACIT_PIECE_GATHER) {
      piece.column = tacit_layout_find(&p->layout, 1, &slope->index);
      piece.stride = slope->stride;
      piece.first = slope->first;
    }
    p->pieces[p->n_pieces++] = piece;
  }
}

/* Roots of the prior's kernel: its value, then its derivatives; of the report's: what is reported. */
static tacit_status_t collect_public(tacit_compiled_t *p, const tacit_survey_t *survey, tacit_error_t *err) {
  const tacit_gradient_t *prior = &p->prior_gradient;
  size_t n = prior->n_slopes + 1 > p->graph->n_reported ? prior->n_slopes + 1 : p->graph->n_reported;
  tacit_node_t *roots = tacit_alloc(n, sizeof *roots);
  if (roots == NULL) {
    return tacit_error_memory(err);
  }
  roots[0] = p->graph->prior;
  for (size_t i = 0; i < prior->n_slopes; i++) {
    roots[i + 1] = prior->slopes[i].row;
  }
  tacit_status_t status = tacit_kernel_collect(&p->kernels[TACIT_ROLE_PRIOR], p->graph, survey, &p->layout,
                                               true, false, prior->n_slopes + 1, roots, err);
  for (size_t i = 0; i < p->graph->n_reported; i++) {
    roots[i] = p->graph->reported[i].value;
  }
  TACIT_THEN(status, tacit_kernel_collect(&p->kernels[TACIT_ROLE_REPORT], p->graph, survey, &p->layout, true,
                                          false, p->graph->n_reported, roots, err));
  tacit_free(roots);
  return status;
}

static tacit_status_t translate(tacit_compiled_t *p, tacit_error_t *err) {
  tacit_survey_t survey = {0};
  tacit_node_t zero = tacit_graph_constant(p->graph, 0);
  if (zero == NONE || !tacit_survey_init(&survey, p->graph) || !lay_out(p)) {
    tacit_survey_clear(&survey);
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_kernel_collect(&p->kernels[TACIT_ROLE_ROWS], p->graph, &survey, &p->layout,
                                               false, false, p->n_rows, p->rows, err);
  TACIT_THEN(status, tacit_kernel_collect(&p->kernels[TACIT_ROLE_LOG_LIK], p->graph, &survey, &p->layout,
                                          true, false, 1, &p->record_root, err));
  if (status == TACIT_OK) {
    p->kernels[TACIT_ROLE_LOG_LIK].is_on_grid = true;
    size_t n_roots;
    tacit_node_t roots[4];
    status = tacit_response_prepare(p, &n_roots, roots, err);
    TACIT_THEN(status, tacit_kernel_collect(&p->kernels[TACIT_ROLE_RESPONSE], p->graph, &survey, &p->layout,
                                            true, false, n_roots, roots, err));
  }
  TACIT_THEN(status, collect_public(p, &survey, err));
  TACIT_THEN(status, tacit_response_settle(p, err));
  if (status == TACIT_OK &&
      p->layout.n_columns == 0) { /* records of which nothing is asked still are records */
    status = tacit_layout_add(&p->layout, 1, &zero) ? TACIT_OK : tacit_error_memory(err);
  }
  if (status == TACIT_OK) {
    p->raw.n_columns = p->graph->n_columns;
    status = tacit_kernel_collect(&p->kernels[TACIT_ROLE_DATA], p->graph, &survey, &p->raw, true, true,
                                  p->layout.n_columns, p->layout.columns, err);
  }
  for (int role = 0; role < TACIT_ROLE_COUNT && status == TACIT_OK; role++) {
    status = tacit_kernel_build(&p->kernels[role], err);
  }
  tacit_survey_clear(&survey);
  return status;
}

static void set_names(tacit_compiled_t *p) {
  for (size_t i = 0; i < p->graph->n_reported; i++) {
    p->labels[i] = p->graph->reported[i].label;
    p->names[i] = p->graph->reported[i].name;
  }
  for (size_t i = 0; i < p->graph->n_columns; i++) {
    size_t k = 0;
    while (k < p->n_sources && strcmp(p->sources[k], p->graph->columns[i].source) != 0) {
      k++;
    }
    if (k == p->n_sources) {
      p->sources[p->n_sources++] = p->graph->columns[i].source;
    }
  }
}

static bool make_room(tacit_compiled_t *p, const char *name) {
  const tacit_graph_t *g = p->graph;
  size_t n_slopes = p->record_gradient.n_slopes;
  p->name = tacit_strdup(name);
  p->rows = tacit_alloc_zero(n_slopes, sizeof *p->rows);
  p->pieces = tacit_alloc_zero(n_slopes, sizeof *p->pieces);
  p->sources = tacit_alloc_zero(g->n_columns, sizeof *p->sources);
  p->labels = tacit_alloc_zero(g->n_reported, sizeof *p->labels);
  p->names = tacit_alloc_zero(g->n_reported, sizeof *p->names);
  p->unit_scale = tacit_alloc_zero(g->n_parameters, sizeof *p->unit_scale);
  return p->name != NULL && p->rows != NULL && p->pieces != NULL && p->sources != NULL && p->labels != NULL &&
         p->names != NULL && p->unit_scale != NULL;
}

static tacit_status_t compile(tacit_compiled_t *p, const char *name, tacit_error_t *err) {
  tacit_status_t status = check_compile(p->graph, err);
  TACIT_THEN(status, differentiate(p, err));
  if (status == TACIT_OK && !make_room(p, name)) {
    status = tacit_error_memory(err);
  }
  TACIT_THEN(status, translate(p, err));
  if (status == TACIT_OK) {
    set_pieces(p);
    set_names(p);
    status = tacit_compiled_bound(p, err);
  }
  if (status == TACIT_OK) {
    p->has_key = pthread_key_create(&p->key, NULL) == 0;
    p->spare = tacit_workspace_new(p, 1);
    status = p->has_key && p->spare != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  TACIT_THEN(status, tacit_compiled_scale(p, err));
  return status;
}

tacit_status_t tacit_compile(tacit_compiled_t **program, tacit_graph_t *graph, const char *name,
                             tacit_error_t *err) {
  *program = NULL;
  tacit_compiled_t *p = tacit_alloc_zero(1, sizeof *p);
  if (p == NULL) {
    tacit_graph_free(graph);
    return tacit_error_memory(err);
  }
  p->graph = graph;
  pthread_mutex_init(&p->lock, NULL);
  tacit_status_t status = compile(p, name, err);
  if (status != TACIT_OK) {
    tacit_compiled_free(p);
    return status;
  }
  *program = p;
  return TACIT_OK;
}

void tacit_compiled_free(tacit_compiled_t *p) {
  if (p == NULL) {
    return;
  }
  for (tacit_workspace_t *workspace = p->workspaces, *next; workspace != NULL; workspace = next) {
    next = workspace->next;
    tacit_workspace_free(workspace);
  }
  tacit_workspace_free(p->spare);
  if (p->has_key) {
    pthread_key_delete(p->key);
  }
  pthread_mutex_destroy(&p->lock);
  for (int role = 0; role < TACIT_ROLE_COUNT; role++) {
    tacit_kernel_clear(&p->kernels[role]);
  }
  tacit_gradient_clear(&p->record_gradient);
  tacit_gradient_clear(&p->prior_gradient);
  tacit_graph_free(p->graph);
  tacit_free(p->layout.columns);
  tacit_free(p->name);
  tacit_free(p->rows);
  tacit_free(p->pieces);
  tacit_free(p->sources);
  tacit_free(p->labels);
  tacit_free(p->names);
  tacit_free(p->unit_scale);
  tacit_free(p->row_bound);
  tacit_free(p->column_bound);
  tacit_response_clear(&p->response);
  tacit_free(p);
}

tacit_model_t tacit_compiled_model(const tacit_compiled_t *p) {
  void *ctx = (void *)(uintptr_t)p;
  size_t dim = p->graph->n_parameters;
  return (tacit_model_t){
      .records =
          {.name = p->name,
           .dim = dim,
           .n_columns = p->layout.n_columns,
           .grad_bound = p->grad_bound,
           .ratio_bound = isfinite(p->grad_bound) ? tacit_program_ratio_bound : NULL,
           .log_lik = tacit_program_log_lik,
           .log_lik_blocks = tacit_program_log_lik_blocks,
           .grad = tacit_program_grad,
           .n_features = p->layout.n_features,
           .n_pieces = p->n_pieces,
           .n_rows = p->n_rows,
           .pieces = p->pieces,
           .rows = tacit_program_rows,
           .curvature_bound = isfinite(p->grad_bound) ? tacit_program_curvature_bound : NULL,
           .curvature = isfinite(p->grad_bound) ? tacit_program_curvature : NULL,
           .n_others =
               p->response.obstacle == NULL && p->response.distribution == NULL ? p->response.n_values : 0,
           .no_others = p->response.is_at_random && p->response.obstacle == NULL
                            ? "its outcome is censored at times of which nothing is known"
                            : p->response.obstacle,
           .others = p->response.obstacle == NULL && !p->response.is_at_random ? tacit_program_others : NULL,
           .responses = p->response.obstacle == NULL ? tacit_program_responses : NULL,
           .hazards = p->response.obstacle == NULL && p->response.is_at_random ? tacit_program_hazards : NULL,
           .outcome = p->response.obstacle == NULL ? p->response.packed[p->response.value.column] : 0,
           .seen = p->response.obstacle == NULL && p->response.is_censored
                       ? p->response.packed[p->response.seen.column]
                       : SIZE_MAX,
           .unseen = p->response.obstacle == NULL && p->response.is_censored
                         ? -p->response.seen.b / p->response.seen.a
                         : 0,
           .of_outcome = p->response.is_derived,
           .made_up = p->response.obstacle == NULL ? tacit_program_made_up : NULL,
           .ctx = ctx},
      .parameters = {.dim = dim,
                     .n_reported = p->graph->n_reported,
                     .labels = p->labels,
                     .names = p->names,
                     .log_prior = tacit_program_log_prior,
                     .report = tacit_program_report,
                     .unit_scale = p->unit_scale,
                     .ctx = ctx}};
}
