/*
 * Records of a population from base numbers, one for each of their numbers and independent of each other and
 * of the parameters: real ones by a formula, whole ones by going through their probabilities, where the base
 * number is uniform. And base numbers of records.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/population.h"

enum { NONE = TACIT_NODE_NONE, LANES = 16 };

/* Beyond this many values a distribution of whole numbers is taken not to add up to 1. */
static const double MOST_VALUES = 1e6;

/* ---- building ---- */

static bool is_made(const tacit_population_t *p, size_t n, uint32_t column) {
  for (size_t i = 0; i < n; i++) {
    if (p->draws[i].column == column) {
      return true;
    }
  }
  return false;
}

/* Does the draw look at numbers that are made before it alone? */
static bool is_ready(const tacit_population_t *p, const tacit_lowered_draw_t *draw, uint8_t *needed) {
  const tacit_graph_t *g = p->graph;
  memset(needed, 0, g->n_nodes);
  for (size_t i = 0; i < draw->n_needs; i++) {
    if (draw->needs[i] != NONE) {
      tacit_graph_mark(g, draw->needs[i], needed);
    }
  }
  for (tacit_node_t i = 1; i < g->n_nodes; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(g, i);
    if (needed[i] && n->op == TACIT_OP_COLUMN && !is_made(p, p->n_draws, n->a)) {
      return false;
    }
  }
  return true;
}

static tacit_status_t add(tacit_population_t *p, const tacit_lowered_draw_t *from, tacit_error_t *err) {
  tacit_population_draw_t *draw = &p->draws[p->n_draws++];
  *draw = (tacit_population_draw_t){
      .column = from->column, .is_integer = from->is_integer, .is_normal = from->is_normal};
  tacit_node_t make = tacit_graph_expand(p->graph, from->make),
               unmake = from->is_integer ? NONE : tacit_graph_expand(p->graph, from->unmake);
  tacit_status_t status = tacit_graph_status(p->graph, err);
  TACIT_THEN(status, tacit_population_code(p, &draw->make, 1, &make, err));
  return status == TACIT_OK && !from->is_integer ? tacit_population_code(p, &draw->unmake, 1, &unmake, err)
                                                 : status;
}

tacit_status_t tacit_population_build_draws(tacit_population_t *p, size_t n, tacit_lowered_draw_t *const *all,
                                            tacit_error_t *err) {
  bool is_on = true;
  tacit_status_t status = TACIT_OK;
  p->draws = tacit_arena_alloc(&p->arena, n + 1, sizeof *p->draws);
  if (p->draws == NULL) {
    return tacit_error_memory(err);
  }
  while (is_on && p->n_draws < n && status == TACIT_OK) { /* those whose own needs are met, until all are */
    is_on = false;
    for (size_t i = 0; i < n && status == TACIT_OK; i++) {
      uint8_t *needed = tacit_alloc_zero(p->graph->n_nodes, 1);
      bool is_next = needed != NULL && !is_made(p, p->n_draws, all[i]->column) && is_ready(p, all[i], needed);
      status = needed != NULL ? TACIT_OK : tacit_error_memory(err);
      tacit_free(needed);
      status = is_next ? add(p, all[i], err) : status;
      is_on = is_on || is_next;
    }
  }
  if (p->not_drawn == NULL && (p->n_draws < n || n < p->graph->n_columns)) {
    p->not_drawn = n < p->graph->n_columns
                       ? "not every number of the record has a statement outcome ~ distribution(..)"
                       : "numbers of the record have several statements, or look at each other";
  }
  return status;
}

/* ---- running ---- */

const char *tacit_population_obstacle(const tacit_population_t *p) { return p->not_drawn; }

bool tacit_population_base_is_normal(const tacit_population_t *p, size_t column) {
  for (size_t i = 0; i < p->n_draws; i++) {
    if (p->draws[i].column == column) {
      return p->draws[i].is_normal;
    }
  }
  return false;
}

/* Probabilities of k in its place, of all lanes. */
static const double *probabilities(tacit_population_workspace_t *workspace,
                                   const tacit_population_draw_t *draw, double k) {
  double *at = workspace->inputs + (size_t)draw->column * LANES;
  for (size_t lane = 0; lane < LANES; lane++) {
    at[lane] = k;
  }
  tacit_population_execute(workspace, &draw->make);
  for (size_t lane = 0; lane < LANES; lane++) {
    workspace->out[lane] = exp(workspace->out[lane]);
  }
  return workspace->out;
}

/* The first number up to which probabilities add up to more than u; what is left belongs to the last. */
static void make_whole(tacit_population_workspace_t *workspace, const tacit_population_draw_t *draw,
                       const double *u, double *x) {
  const tacit_population_column_t *column = &workspace->population->columns[draw->column];
  double total[LANES] = {0}, at[LANES];
  size_t n_left = LANES;
  bool is_done[LANES] = {false};
  for (double k = column->lower; n_left > 0; k++) {
    bool is_last = k >= column->upper || k - column->lower > MOST_VALUES;
    const double *p = is_last ? NULL : probabilities(workspace, draw, k);
    for (size_t lane = 0; lane < LANES; lane++) {
      total[lane] += is_last ? 1 : p[lane];
      if (!is_done[lane] && (u[lane] < total[lane] || is_last)) {
        at[lane] = k;
        is_done[lane] = true;
        n_left--;
      }
    }
  }
  memcpy(x, at, sizeof at);
  memcpy(workspace->inputs + (size_t)draw->column * LANES, at, sizeof at);
}

/* A place, by v, among the uniform numbers that make x. */
static void unmake_whole(tacit_population_workspace_t *workspace, const tacit_population_draw_t *draw,
                         const double *x, const double *v, double *u) {
  const tacit_population_column_t *column = &workspace->population->columns[draw->column];
  double below[LANES] = {0}, last = 0;
  for (size_t lane = 0; lane < LANES; lane++) {
    last = fmax(last, x[lane]);
  }
  for (double k = column->lower; k <= last; k++) {
    const double *p = probabilities(workspace, draw, k);
    for (size_t lane = 0; lane < LANES; lane++) {
      if (k < x[lane]) {
        below[lane] += p[lane];
      } else if (k <= x[lane]) {
        bool is_last = k >= column->upper;
        workspace->is_not_one =
            workspace->is_not_one || (is_last && !(fabs(below[lane] + p[lane] - 1) < 1e-8));
        u[lane] = below[lane] + v[lane] * (is_last ? 1 - below[lane] : p[lane]);
      }
    }
  }
  memcpy(workspace->inputs + (size_t)draw->column * LANES, x, LANES * sizeof *x);
}

/* A truncated number next to its bound may come out beyond it by rounding. */
static double at_bound(const tacit_population_column_t *column, double x) {
  const double rounding = 1e-9;
  double low = column->lower - x, high = x - column->upper;
  return low > 0 && low < rounding * (1 + fabs(column->lower))     ? column->lower
         : high > 0 && high < rounding * (1 + fabs(column->upper)) ? column->upper
                                                                   : x;
}

bool tacit_population_make(tacit_population_workspace_t *workspace, const double *theta, const double *base,
                           double *x) {
  const tacit_population_t *p = workspace->population;
  bool is_within = true;
  tacit_population_set(workspace, theta, base);
  for (size_t i = 0; i < p->n_draws; i++) {
    const tacit_population_draw_t *draw = &p->draws[i];
    const tacit_population_column_t *column = &p->columns[draw->column];
    double *at = x + (size_t)draw->column * LANES, *input = workspace->inputs + (size_t)draw->column * LANES;
    if (draw->is_integer) {
      make_whole(workspace, draw, base + (size_t)draw->column * LANES, at);
    } else {
      tacit_population_execute(workspace, &draw->make);
      memcpy(at, workspace->out, LANES * sizeof *at);
      memcpy(input, workspace->out, LANES * sizeof *at);
    }
    for (size_t lane = 0; lane < LANES; lane++) {
      at[lane] = input[lane] = at_bound(column, at[lane]);
      is_within = is_within && at[lane] >= column->lower && at[lane] <= column->upper;
    }
  }
  return is_within;
}

bool tacit_population_unmake(tacit_population_workspace_t *workspace, const double *theta, const double *x,
                             const double *v, double *base) {
  const tacit_population_t *p = workspace->population;
  tacit_population_set(workspace, theta, x);
  workspace->is_not_one = false;
  for (size_t i = 0; i < p->n_draws; i++) {
    const tacit_population_draw_t *draw = &p->draws[i];
    size_t at = (size_t)draw->column * LANES;
    if (draw->is_integer) {
      unmake_whole(workspace, draw, x + at, v + at, base + at);
    } else {
      tacit_population_execute(workspace, &draw->unmake);
      for (size_t lane = 0; lane < LANES; lane++) {
        base[at + lane] =
            draw->is_normal ? workspace->out[lane] : fmin(fmax(workspace->out[lane], 0x1p-1022), 1 - 0x1p-53);
      }
    }
  }
  return !workspace->is_not_one;
}
