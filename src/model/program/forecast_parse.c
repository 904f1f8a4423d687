/* From a program's text to its forecast. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/bind.h"
#include "program/forecast.h"
#include "program/language.h"
#include "tacit/data.h"

enum { NONE = TACIT_NODE_NONE };

/* ---- what can be said of outcomes ---- */

static const char *obstacle_of(const tacit_lower_t *lower) {
  if (lower->not_foretold != NULL || lower->n_outcomes == 0) {
    return lower->not_foretold != NULL
               ? lower->not_foretold
               : "no statement `outcome ~ distribution(...)` says how a record's outcome arises";
  }
  for (size_t i = 0; i < lower->n_outcomes; i++) {
    for (size_t k = 0; k < i; k++) {
      const tacit_lowered_outcome_t *a = lower->outcomes[i], *b = lower->outcomes[k];
      if (a->value == b->value || (a->is_column && b->is_column && a->of.column == b->of.column)) {
        return tacit_arena_printf(lower->arena, "the outcome '%s' has more than one distribution", a->name);
      }
    }
  }
  return NULL;
}

/* Levels of the column, or its whole numbers. */
static void name_classes(tacit_forecast_t *f, tacit_forecast_outcome_t *o,
                         const tacit_lowered_outcome_t *from, const tacit_schema_t *schema) {
  const tacit_graph_column_t *column = &f->graph->columns[from->of.column];
  const tacit_column_schema_t *of = schema != NULL ? tacit_schema_find(schema, column->source) : NULL;
  o->n_classes = from->n_classes;
  o->classes = tacit_arena_alloc(&f->arena, o->n_classes, sizeof *o->classes);
  for (size_t k = 0; k < o->n_classes && o->classes != NULL; k++) {
    double value = column->lower + (double)k, level = value - column->offset;
    bool has_level =
        of != NULL && of->type == TACIT_COLUMN_CATEGORICAL && level >= 0 && level < (double)of->n_levels;
    const char *name = has_level ? of->levels[(size_t)level] : NULL;
    o->classes[k] = has_level ? tacit_arena_text(&f->arena, name, strlen(name))
                              : tacit_arena_printf(&f->arena, "%.0f", value);
  }
}

/* ---- the numbers of each kind ---- */

typedef struct roots {
  tacit_node_t *nodes[TACIT_FORECAST_KINDS];
} roots_t;

static void add(tacit_forecast_t *f, roots_t *roots, tacit_forecast_kind_t kind, tacit_forecast_part_t *part,
                size_t n, const tacit_node_t *nodes) {
  for (size_t i = 0; i < n; i++) {
    roots->nodes[kind][f->n_numbers[kind]++] = nodes[i];
  }
  part->n += n;
}

static void add_distribution(tacit_forecast_t *f, roots_t *roots, tacit_forecast_kind_t kind,
                             tacit_forecast_part_t *part, const tacit_lowered_outcome_t *from) {
  add(f, roots, kind, part, from->n_args, from->args);
  add(f, roots, kind, part, from->from != NONE, &from->from);
  add(f, roots, kind, part, from->to != NONE, &from->to);
}

static void add_part(tacit_forecast_t *f, roots_t *roots, tacit_forecast_kind_t kind,
                     tacit_forecast_outcome_t *o, const tacit_lowered_outcome_t *from) {
  tacit_forecast_part_t *part = &o->parts[kind];
  bool is_linear = kind == TACIT_FORECAST_LINEAR, is_whole = from->from == NONE && from->to == NONE;
  part->first = f->n_numbers[kind];
  part->n_quantities = 1;
  if (is_linear && (from->n_logits > 0 || from->linear != NONE)) {
    part->way = TACIT_WAY_NUMBER;
    part->n_quantities = from->n_logits > 0 ? from->n_logits : 1;
    add(f, roots, kind, part, part->n_quantities, from->n_logits > 0 ? from->logits : &from->linear);
  } else if (is_linear || (kind == TACIT_FORECAST_MEAN && from->mean != NONE && is_whole)) {
    tacit_node_t node = is_linear ? from->location : from->mean;
    part->way = node != NONE ? TACIT_WAY_OUTCOME : TACIT_WAY_UNKNOWN;
    add(f, roots, kind, part, node != NONE, &node);
  } else if (from->is_class) {
    part->way = TACIT_WAY_CLASSES;
    part->n_quantities = from->n_classes;
    add(f, roots, kind, part, from->n_classes, from->classes);
  } else if (o->distribution != NULL) {
    part->way = TACIT_WAY_DISTRIBUTION;
    add_distribution(f, roots, kind, part, from);
  }
  f->n_quantities[kind] += part->n_quantities;
}

/* ---- columns and parameters ---- */

/* Columns that any number depends on. */
static bool find_columns(tacit_forecast_t *f, const roots_t *roots) {
  uint8_t *needed = tacit_alloc_zero(f->graph->n_nodes, sizeof *needed);
  f->columns = tacit_arena_alloc(&f->arena, f->graph->n_columns + 1, sizeof *f->columns);
  f->places = tacit_arena_alloc(&f->arena, f->graph->n_columns + 1, sizeof *f->places);
  bool ok = needed != NULL && !f->arena.failed;
  for (int kind = 0; kind < TACIT_FORECAST_KINDS && ok; kind++) {
    for (size_t i = 0; i < f->n_numbers[kind]; i++) {
      tacit_graph_mark(f->graph, roots->nodes[kind][i], needed);
    }
  }
  for (size_t k = 0; k < f->graph->n_columns && ok; k++) {
    f->places[k] = SIZE_MAX;
  }
  for (tacit_node_t i = 1; i < f->graph->n_nodes && ok; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(f->graph, i);
    if (n->op == TACIT_OP_COLUMN && needed[i]) {
      const char *source = f->graph->columns[n->a].source;
      size_t at = 0;
      while (at < f->n_columns && strcmp(f->columns[at], source) != 0) {
        at++;
      }
      f->columns[at] = source;
      f->n_columns += at == f->n_columns;
      f->places[n->a] = at;
    }
  }
  tacit_free(needed);
  return ok;
}

/* Each value of the block 'parameters' is reported, first of all. */
static bool name_parameters(tacit_forecast_t *f) {
  f->n_parameters = f->graph->n_parameters;
  f->parameters = tacit_arena_alloc(&f->arena, f->n_parameters + 1, sizeof *f->parameters);
  if (f->arena.failed) {
    return false;
  }
  for (size_t j = 0; j < f->n_parameters; j++) {
    f->parameters[j] = NULL;
  }
  for (size_t i = 0; i < f->graph->n_reported; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(f->graph, f->graph->reported[i].value);
    if (n->op == TACIT_OP_PARAMETER && f->parameters[n->a] == NULL) {
      f->parameters[n->a] = f->graph->reported[i].name;
    }
  }
  return true;
}

static tacit_status_t take(tacit_forecast_t *f, const tacit_lower_t *lower, const tacit_schema_t *schema,
                           tacit_error_t *err) {
  size_t most = 0;
  roots_t roots;
  f->n_outcomes = lower->n_outcomes;
  f->outcomes = tacit_arena_alloc(&f->arena, f->n_outcomes, sizeof *f->outcomes);
  for (size_t i = 0; i < f->n_outcomes; i++) {
    const tacit_lowered_outcome_t *from = lower->outcomes[i];
    most += from->n_classes + from->n_logits + (from->n_args != SIZE_MAX ? from->n_args : 0) + 3;
  }
  for (int kind = 0; kind < TACIT_FORECAST_KINDS; kind++) {
    roots.nodes[kind] = tacit_arena_alloc(&f->arena, most, sizeof *roots.nodes[kind]);
  }
  for (size_t i = 0; i < f->n_outcomes && !f->arena.failed; i++) {
    const tacit_lowered_outcome_t *from = lower->outcomes[i];
    const tacit_distribution_t *distribution = tacit_distribution_find(from->distribution);
    f->outcomes[i] = (tacit_forecast_outcome_t){.name = from->name,
                                                .distribution_name = from->distribution,
                                                .of = from->of,
                                                .has_from = from->from != NONE,
                                                .has_to = from->to != NONE};
    f->outcomes[i].distribution =
        distribution != NULL && from->n_args == distribution->n_args ? distribution : NULL;
    if (from->is_class) {
      name_classes(f, &f->outcomes[i], from, schema);
    }
    for (int kind = 0; kind < TACIT_FORECAST_KINDS; kind++) {
      add_part(f, &roots, (tacit_forecast_kind_t)kind, &f->outcomes[i], from);
    }
  }
  bool ok = !f->arena.failed && find_columns(f, &roots) && name_parameters(f) && !f->arena.failed;
  f->graph->limit = TACIT_GRAPH_MAX_NODES;
  return ok ? tacit_forecast_build(f, roots.nodes, err) : tacit_error_memory(err);
}

/* ---- the text ---- */

static tacit_status_t lower_text(tacit_forecast_t *f, const char *text, size_t n,
                                 const tacit_program_settings_t *settings, tacit_error_t *err) {
  tacit_source_t source, library;
  tacit_bind_t bind;
  tacit_status_t status = tacit_source_parse(&source, &f->arena, text, n, false, err);
  TACIT_THEN(status, tacit_source_parse(&library, &f->arena, tacit_library, tacit_library_size, true, err));
  if (status != TACIT_OK) {
    return status;
  }
  tacit_lower_t lower = {.arena = &f->arena,
                         .graph = f->graph,
                         .source = &source,
                         .library = &library,
                         .err = err,
                         .status = TACIT_OK,
                         .is_forecast = true};
  status = tacit_axis_choose(&lower, settings);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_bind_init(&bind, &lower, settings, 3);
  lower.outside = &bind.outside;
  tacit_lower_program(&lower);
  status = lower.status != TACIT_OK ? lower.status
           : f->arena.failed        ? tacit_error_memory(err)
                                    : tacit_graph_status(f->graph, err);
  if (status != TACIT_OK) {
    return status;
  }
  const char *obstacle = obstacle_of(&lower);
  return obstacle == NULL ? take(f, &lower, settings->schema, err)
                          : tacit_error_set(err, TACIT_ERR_DATA, "program",
                                            "predictions of this program are not known: %s", obstacle);
}

tacit_status_t tacit_forecast_new(tacit_forecast_t **forecast, const char *text, size_t n,
                                  const tacit_program_settings_t *settings, tacit_error_t *err) {
  tacit_forecast_t *made = *forecast = tacit_alloc_zero(1, sizeof *made);
  if (made != NULL) {
    made->graph = tacit_graph_new();
  }
  tacit_status_t status = made != NULL && made->graph != NULL ? lower_text(made, text, n, settings, err)
                                                              : tacit_error_memory(err);
  if (status != TACIT_OK) {
    tacit_forecast_free(made);
    *forecast = NULL;
  }
  return status;
}
