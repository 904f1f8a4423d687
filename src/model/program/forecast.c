/* Quantities of outcomes: the program's expressions for sixteen draws at a time, then draws from
 * distributions where they are asked for. */
#include "base/memory.h"
#include "program/forecast.h"

#include <math.h>
#include <string.h>

enum { LANES = 16, MOST_TRIES = 100000 };

/* ---- building ---- */

static tacit_leaf_t leaf(const void *user, tacit_node_t node) {
  const tacit_forecast_t *f = user;
  const tacit_graph_node_t *n = tacit_graph_at(f->graph, node);
  return n->op == TACIT_OP_COLUMN ? (tacit_leaf_t){.kind = TACIT_LEAF_UNIFORM, .number = n->a}
         : n->op == TACIT_OP_PARAMETER
             ? (tacit_leaf_t){.kind = TACIT_LEAF_UNIFORM, .number = (uint32_t)f->graph->n_columns + n->a}
             : (tacit_leaf_t){0};
}

tacit_status_t tacit_forecast_build(tacit_forecast_t *f, tacit_node_t *const roots[TACIT_FORECAST_KINDS],
                                    tacit_error_t *err) {
  const tacit_leaves_t leaves = {f, leaf, NULL, NULL};
  for (int kind = 0; kind < TACIT_FORECAST_KINDS; kind++) {
    for (size_t i = 0; i < f->n_numbers[kind]; i++) {
      roots[kind][i] = tacit_graph_expand(f->graph, roots[kind][i]);
    }
  }
  tacit_status_t status = tacit_graph_status(f->graph, err);
  for (int kind = 0; kind < TACIT_FORECAST_KINDS && status == TACIT_OK; kind++) {
    status =
        tacit_code_build(&f->codes[kind], f->graph, &leaves, f->n_numbers[kind], roots[kind], false, err);
    f->n_registers =
        f->codes[kind].n_registers > f->n_registers ? f->codes[kind].n_registers : f->n_registers;
  }
  return status;
}

void tacit_forecast_free(tacit_forecast_t *f) {
  if (f != NULL) {
    for (int kind = 0; kind < TACIT_FORECAST_KINDS; kind++) {
      tacit_code_clear(&f->codes[kind]);
    }
    tacit_graph_free(f->graph);
    tacit_arena_clear(&f->arena);
    tacit_free(f);
  }
}

const tacit_forecast_outcome_t *tacit_forecast_of(const tacit_forecast_t *f, tacit_forecast_kind_t kind,
                                                  size_t quantity, size_t *own) {
  size_t i = 0;
  while (i + 1 < f->n_outcomes && quantity >= f->outcomes[i].parts[kind].n_quantities) {
    quantity -= f->outcomes[i++].parts[kind].n_quantities;
  }
  *own = quantity;
  return &f->outcomes[i];
}

double tacit_forecast_column(const tacit_forecast_t *f, size_t k, double x) {
  const tacit_graph_column_t *column = &f->graph->columns[k];
  return isnan(column->level) ? x + column->offset : !(x < column->level) && !(x > column->level);
}

/* ---- running ---- */

tacit_forecast_workspace_t *tacit_forecast_workspace_new(const tacit_forecast_t *f) {
  tacit_forecast_workspace_t *workspace = tacit_alloc_zero(1, sizeof *workspace);
  size_t n = 1;
  for (int kind = 0; kind < TACIT_FORECAST_KINDS; kind++) {
    n = f->n_numbers[kind] > n ? f->n_numbers[kind] : n;
  }
  if (workspace != NULL) {
    workspace->forecast = f;
    workspace->inputs =
        tacit_alloc_zero((f->graph->n_columns + f->n_parameters + 1) * LANES, sizeof *workspace->inputs);
    workspace->out = tacit_alloc_zero(n * LANES, sizeof *workspace->out);
    workspace->numbers = tacit_alloc_zero(n, sizeof *workspace->numbers);
    workspace->registers = tacit_alloc_zero(f->n_registers + 1, TACIT_CHUNK_BLOCKS * LANES * sizeof(double));
  }
  if (workspace != NULL && (workspace->inputs == NULL || workspace->out == NULL ||
                            workspace->numbers == NULL || workspace->registers == NULL)) {
    tacit_forecast_workspace_free(workspace);
    workspace = NULL;
  }
  return workspace;
}

void tacit_forecast_workspace_free(tacit_forecast_workspace_t *workspace) {
  if (workspace != NULL) {
    tacit_free(workspace->inputs);
    tacit_free(workspace->out);
    tacit_free(workspace->numbers);
    tacit_free(workspace->registers);
    tacit_free(workspace);
  }
}

/* In the unit of the column that the outcome is a x + b of. */
static double of_column(const tacit_forecast_outcome_t *o, double y) { return (y - o->of.b) / o->of.a; }

/* One draw within the truncation, by rejection. */
static double draw(const tacit_forecast_outcome_t *o, const double *numbers, size_t n,
                   tacit_uniforms_t *uniforms) {
  size_t n_args = n - o->has_from - o->has_to;
  double from = o->has_from ? numbers[n_args] : -INFINITY, to = o->has_to ? numbers[n - 1] : INFINITY;
  for (int i = 0; i < MOST_TRIES; i++) {
    double y = o->distribution->draw(numbers, uniforms->next(uniforms), uniforms);
    if (!isfinite(y)) {
      break;
    }
    if (y >= from && y <= to) {
      return of_column(o, y);
    }
  }
  return NAN;
}

static double expected(const tacit_forecast_outcome_t *o, const double *numbers, size_t n,
                       tacit_uniforms_t *uniforms) {
  double sum = 0;
  for (int i = 0; i < TACIT_FORECAST_INNER; i++) {
    sum += draw(o, numbers, n, uniforms);
  }
  return sum / TACIT_FORECAST_INNER;
}

/* Probabilities, or an indicator of the class that is drawn; quantities of one lane. */
static void run_classes(const tacit_forecast_part_t *part, tacit_forecast_kind_t kind, const double *numbers,
                        tacit_uniforms_t *uniforms, double *quantities) {
  double below = 0, total = 0, u = kind == TACIT_FORECAST_DRAW ? uniforms->next(uniforms) : 0;
  bool is_drawn = false;
  for (size_t k = 0; k < part->n; k++) {
    total += exp(numbers[k]);
  }
  for (size_t k = 0; k < part->n; k++) {
    double p = fabs(total - 1) < 1e-6 ? exp(numbers[k]) : NAN;
    below += p;
    bool is_it = !is_drawn && (u < below || k + 1 == part->n);
    is_drawn = is_drawn || is_it;
    quantities[k * LANES] = kind == TACIT_FORECAST_MEAN || isnan(p) ? p : is_it;
  }
}

static void run_part(const tacit_forecast_outcome_t *o, tacit_forecast_kind_t kind, const double *numbers,
                     tacit_uniforms_t *uniforms, double *quantities) {
  const tacit_forecast_part_t *part = &o->parts[kind];
  switch (part->way) {
  case TACIT_WAY_UNKNOWN:
    break;
  case TACIT_WAY_CLASSES:
    run_classes(part, kind, numbers, uniforms, quantities);
    break;
  case TACIT_WAY_OUTCOME:
    quantities[0] = of_column(o, numbers[0]);
    break;
  case TACIT_WAY_DISTRIBUTION:
    quantities[0] = kind == TACIT_FORECAST_MEAN ? expected(o, numbers, part->n, uniforms)
                                                : draw(o, numbers, part->n, uniforms);
    break;
  case TACIT_WAY_NUMBER:
    for (size_t k = 0; k < part->n; k++) {
      quantities[k * LANES] = numbers[k];
    }
    break;
  }
}

void tacit_forecast_run(tacit_forecast_workspace_t *workspace, tacit_forecast_kind_t kind, const double *x,
                        tacit_uniforms_t *uniforms, double *quantities) {
  const tacit_forecast_t *f = workspace->forecast;
  const tacit_code_t *code = &f->codes[kind];
  for (size_t i = 0; i < f->graph->n_columns * LANES; i++) {
    workspace->inputs[i] = x[i / LANES];
  }
  tacit_frame_t frame = {.n_blocks = 1,
                         .registers = workspace->registers,
                         .uniforms = workspace->inputs,
                         .out = workspace->out,
                         .out_stride = code->n_outputs * LANES};
  unsigned before = tacit_machine_begin();
  tacit_machine()->run_double(code, &frame);
  tacit_machine_end(before);
  for (size_t lane = 0; lane < LANES; lane++) {
    double *at = quantities + lane;
    for (size_t i = 0; i < f->n_outcomes; i++) {
      const tacit_forecast_part_t *part = &f->outcomes[i].parts[kind];
      for (size_t k = 0; k < part->n; k++) {
        workspace->numbers[k] = workspace->out[(part->first + k) * LANES + lane];
      }
      run_part(&f->outcomes[i], kind, workspace->numbers, uniforms, at);
      at += part->n_quantities * LANES;
    }
  }
}
