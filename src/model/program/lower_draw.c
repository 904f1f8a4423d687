/*
 * How records arise, where the program says it: one statement outcome ~ distribution(..) for each of their
 * numbers. A real number is a function of a base number, uniform or standard normal, whose inverse is known
 * as well; of whole numbers the density is enough.
 */
#include <math.h>
#include <string.h>

#include "program/graph_internal.h"
#include "program/lower.h"

enum { NONE = TACIT_NODE_NONE };

typedef struct statement {
  tacit_lower_t *lower;
  const tacit_stmt_t *stmt;
  const char *density; /* name of the log density */
  tacit_value_t *args; /* (n), the first is the outcome's place */
  size_t n;
  tacit_node_t from, to; /* of the truncation; NONE: there is none */
} statement_t;

static void obstruct(tacit_lower_t *lower, const char *format, const char *name) {
  if (lower->not_drawn == NULL) {
    lower->not_drawn = tacit_arena_printf(lower->arena, format, name);
  }
}

static bool has_function(const tacit_function_t *all, const char *name) {
  for (; all != NULL; all = all->next) {
    if (strcmp(all->name, name) == 0) {
      return true;
    }
  }
  return false;
}

/* The name of a function of the distribution, or NULL. */
static const char *find(const statement_t *s, const char *ending) {
  const char *name = tacit_arena_printf(s->lower->arena, "%s_%s", s->stmt->name, ending);
  bool is_there = name != NULL && (has_function(s->lower->library->functions, name) ||
                                   has_function(s->lower->source->functions, name));
  return is_there ? name : NULL;
}

/* The function at x and the distribution's parameters. */
static tacit_node_t call(const statement_t *s, const char *name, tacit_node_t x) {
  tacit_value_t *args = tacit_arena_alloc(s->lower->arena, s->n, sizeof *args);
  if (args == NULL || name == NULL) {
    return NONE;
  }
  memcpy(args, s->args, s->n * sizeof *args);
  args[0] = tacit_value_scalar(s->lower, TACIT_TYPE_REAL, x);
  tacit_value_t value = tacit_lower_call_values(s->lower, s->stmt->offset, name, args, s->n);
  return value.kind != TACIT_TYPE_VOID ? value.nodes[0] : NONE;
}

static tacit_node_t apply(const statement_t *s, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  return tacit_graph_apply(s->lower->graph, op, a, b, NONE);
}
static tacit_node_t number(const statement_t *s, double x) {
  return tacit_graph_constant(s->lower->graph, x);
}

/* A distribution as a function of a base number. */
typedef struct distribution {
  const char *of, *to; /* names of the function and of what the other way begins with */
  bool is_normal, is_falling;
} distribution_t;

static bool find_distribution(const statement_t *s, distribution_t *distribution) {
  *distribution = (distribution_t){.of = find(s, "of_normal"), .to = find(s, "to_normal"), .is_normal = true};
  if (distribution->of == NULL) {
    *distribution = (distribution_t){.of = find(s, "icdf"), .to = find(s, "lcdf")};
  }
  if (distribution->of == NULL) {
    *distribution = (distribution_t){.of = find(s, "iccdf"), .to = find(s, "lccdf"), .is_falling = true};
  }
  return distribution->of != NULL && distribution->to != NULL;
}

/* The uniform number of y; of a normal one, from the tail that a truncation leaves. */
static tacit_node_t to_uniform(const statement_t *s, const distribution_t *distribution, tacit_node_t y) {
  tacit_node_t x = call(s, distribution->to, y);
  if (!distribution->is_normal) {
    return apply(s, TACIT_OP_EXP, x, NONE);
  }
  return apply(s, TACIT_OP_PHI, distribution->is_falling ? apply(s, TACIT_OP_NEG, x, NONE) : x, NONE);
}

static tacit_node_t of_uniform(const statement_t *s, const distribution_t *distribution, tacit_node_t u) {
  if (!distribution->is_normal) {
    return call(s, distribution->of, u);
  }
  tacit_node_t z = apply(s, TACIT_OP_INV_PHI, u, NONE);
  return call(s, distribution->of, distribution->is_falling ? apply(s, TACIT_OP_NEG, z, NONE) : z);
}

/* y of the base number in `base`, and the base number of y. */
static void make(const statement_t *s, distribution_t *distribution, tacit_node_t base, tacit_node_t y,
                 tacit_lowered_draw_t *draw) {
  if (s->from == NONE && s->to == NONE) {
    draw->is_normal = distribution->is_normal;
    draw->make =
        distribution->is_normal ? call(s, distribution->of, base) : of_uniform(s, distribution, base);
    draw->unmake = distribution->is_normal ? call(s, distribution->to, y) : to_uniform(s, distribution, y);
    return;
  }
  distribution->is_falling = distribution->is_normal ? s->to == NONE : distribution->is_falling;
  tacit_node_t low =
      s->from != NONE ? to_uniform(s, distribution, s->from) : number(s, distribution->is_falling);
  tacit_node_t high =
      s->to != NONE ? to_uniform(s, distribution, s->to) : number(s, !distribution->is_falling);
  tacit_node_t width = apply(s, TACIT_OP_SUB, high, low);
  draw->make = of_uniform(s, distribution, apply(s, TACIT_OP_ADD, low, apply(s, TACIT_OP_MUL, base, width)));
  draw->unmake = apply(s, TACIT_OP_DIV, apply(s, TACIT_OP_SUB, to_uniform(s, distribution, y), low), width);
}

/* What of the record a statement's right-hand side looks at. */
static void note_needs(const statement_t *s, tacit_lowered_draw_t *draw) {
  draw->needs = tacit_arena_alloc(s->lower->arena, s->n + 1, sizeof *draw->needs);
  for (size_t i = 1; i < s->n && draw->needs != NULL; i++) {
    for (size_t k = 0; k < s->args[i].n; k++) {
      tacit_node_t node = s->args[i].nodes[k];
      draw->needs[i - 1] = k == 0 ? node : apply(s, TACIT_OP_ADD, draw->needs[i - 1], node);
    }
  }
  if (draw->needs != NULL) {
    draw->needs[s->n - 1] = s->from;
    draw->needs[s->n] = s->to;
    draw->n_needs = s->n + 1;
  }
}

static bool note_element(statement_t *s, tacit_node_t outcome) {
  tacit_lower_t *lower = s->lower;
  tacit_graph_t *graph = lower->graph;
  tacit_affine_t affine;
  distribution_t distribution;
  if (!tacit_graph_affine(graph, outcome, &affine)) {
    obstruct(lower, "the outcome of '~ %s' is no number of the record", s->stmt->name);
    return false;
  }
  tacit_lowered_draw_t *draw = tacit_arena_alloc(lower->arena, 1, sizeof *draw);
  tacit_node_t column = tacit_graph_column(graph, &graph->columns[affine.column]);
  if (draw == NULL) {
    return false;
  }
  *draw =
      (tacit_lowered_draw_t){.column = affine.column, .is_integer = graph->columns[affine.column].is_integer};
  s->args[0] = tacit_value_scalar(lower, draw->is_integer ? TACIT_TYPE_INT : TACIT_TYPE_REAL, outcome);
  if (draw->is_integer && (s->from != NONE || s->to != NONE)) {
    obstruct(lower, "the whole number of '~ %s' is truncated", s->stmt->name);
    return false;
  }
  if (draw->is_integer) {
    tacit_value_t density = tacit_lower_call_values(lower, s->stmt->offset, s->density, s->args, s->n);
    draw->make = density.kind != TACIT_TYPE_VOID ? density.nodes[0] : NONE;
  } else if (!find_distribution(s, &distribution)) {
    obstruct(lower, "draws from the distribution '%s' are not known", s->stmt->name);
    return false;
  } else {
    make(s, &distribution, column, outcome, draw);
    draw->make =
        apply(s, TACIT_OP_DIV, apply(s, TACIT_OP_SUB, draw->make, number(s, affine.b)), number(s, affine.a));
  }
  note_needs(s, draw);
  void **draws = (void **)lower->draws;
  tacit_list_append(lower->arena, &draws, &lower->n_draws, draw);
  lower->draws = (tacit_lowered_draw_t **)draws;
  return lower->status == TACIT_OK;
}

void tacit_lower_note_draw(tacit_lower_t *lower, const tacit_stmt_t *stmt, const char *density,
                           const tacit_value_t *args, size_t n, const tacit_value_t *parts, bool is_plain,
                           tacit_node_t before) {
  if (!lower->has_statistics || lower->is_generated || lower->status != TACIT_OK ||
      (lower->graph->record == before && lower->branch == NULL)) {
    return; /* a prior */
  }
  if (!is_plain || before != lower->drawn) {
    obstruct(lower,
             is_plain ? "'~ %s' is not all that is said of the record"
                      : "the outcome of '~ %s' is not seen as it is",
             stmt->name);
    return;
  }
  statement_t s = {.lower = lower,
                   .stmt = stmt,
                   .density = density,
                   .args = tacit_arena_alloc(lower->arena, n, sizeof *s.args),
                   .n = n};
  bool ok = s.args != NULL;
  s.from = parts[1].kind != TACIT_TYPE_VOID ? parts[1].nodes[0] : NONE;
  s.to = parts[2].kind != TACIT_TYPE_VOID ? parts[2].nodes[0] : NONE;
  for (size_t i = 0; i < parts[0].n && ok; i++) {
    for (size_t k = 1; k < n; k++) {
      s.args[k] =
          parts[0].n_dims != 0 && args[k].n == parts[0].n ? tacit_value_element(&args[k], i) : args[k];
    }
    ok = note_element(&s, parts[0].nodes[i]);
  }
  lower->drawn = ok ? lower->graph->record : lower->drawn;
}
