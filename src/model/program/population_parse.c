/* From a program's text to a population: its data are a record's numbers, with the bounds that are declared
 * or none. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/language.h"
#include "program/lower.h"
#include "program/population.h"

/* In place of an infinite bound in the graph, which has finite ones. */
static const double FAR = 1e300;

typedef struct outside {
  tacit_lower_t *lower;
  const tacit_program_constant_t *constants;
  size_t n_constants;
  tacit_population_column_t **columns; /* by the graph's numbers */
  size_t n_columns;
} outside_t;

static const tacit_program_constant_t *find(const outside_t *o, const char *name) {
  for (size_t i = 0; i < o->n_constants; i++) {
    if (strcmp(o->constants[i].name, name) == 0) {
      return &o->constants[i];
    }
  }
  return NULL;
}

static bool is_column(void *user, const tacit_stmt_t *declaration) {
  const outside_t *o = user;
  bool is_size = declaration->type.kind == TACIT_TYPE_INT && declaration->type.n_sizes == 0 &&
                 tacit_axis_is_size(o->lower->source, declaration->name);
  return find(o, declaration->name) == NULL && !is_size;
}

static bool constant(void *user, const tacit_stmt_t *declaration, size_t i, size_t n, double *value) {
  const outside_t *o = user;
  const tacit_program_constant_t *given = find(o, declaration->name);
  if (given != NULL && given->n == n) {
    *value = given->values[i];
    return true;
  }
  if (given != NULL) {
    tacit_lower_fail(o->lower, declaration->offset, "'%s' is given as %zu numbers; it has %zu",
                     declaration->name, given->n, n);
  } else {
    tacit_lower_fail(o->lower, declaration->offset,
                     "a population is the program of one record, without '%s' of them; if it is no number of "
                     "records, give it: --set %s=...",
                     declaration->name, declaration->name);
  }
  return false;
}

static tacit_node_t column(void *user, const tacit_stmt_t *declaration, const char *index, size_t i,
                           double *lower, double *upper) {
  outside_t *o = user;
  tacit_arena_t *arena = o->lower->arena;
  bool is_int = declaration->type.kind == TACIT_TYPE_INT;
  (void)i;
  const char *name =
      index[0] != '\0' ? tacit_arena_printf(arena, "%s.%s", declaration->name, index) : declaration->name;
  tacit_population_column_t *made = tacit_arena_alloc(arena, 1, sizeof *made);
  if (name == NULL || made == NULL) {
    return TACIT_NODE_NONE;
  }
  *made = (tacit_population_column_t){.name = name,
                                      .is_integer = is_int,
                                      .lower = is_int ? ceil(*lower) : *lower,
                                      .upper = is_int ? floor(*upper) : *upper};
  if (!(made->lower < made->upper)) {
    tacit_lower_fail(o->lower, declaration->offset, "the bounds of '%s' leave it nothing to vary over", name);
    return TACIT_NODE_NONE;
  }
  if (is_int && !isfinite(made->lower)) {
    tacit_lower_fail(o->lower, declaration->offset, "'%s' needs a least value: int<lower=0>", name);
    return TACIT_NODE_NONE;
  }
  void **columns = (void **)o->columns;
  tacit_list_append(arena, &columns, &o->n_columns, made);
  o->columns = (tacit_population_column_t **)columns;
  return tacit_graph_column(o->lower->graph, &(tacit_graph_column_t){.source = name,
                                                                     .level = NAN,
                                                                     .lower = fmax(made->lower, -FAR),
                                                                     .upper = fmin(made->upper, FAR),
                                                                     .is_integer = is_int});
}

static bool given(void *user, const char *text, double *value) {
  const tacit_program_constant_t *found = find(user, text);
  if (found != NULL && found->n == 1) {
    *value = found->values[0];
  }
  return found != NULL && found->n == 1;
}

/* Statistics and columns as they are shown. */
static tacit_status_t describe(tacit_population_t *p, const tacit_lower_t *lower, const outside_t *o,
                               tacit_error_t *err) {
  size_t mark = 0;
  for (size_t i = 0; i < lower->n_statistics; i++) {
    p->n_marks += lower->statistics[i]->n;
  }
  p->n_statistics = lower->n_statistics;
  p->statistics = tacit_arena_alloc(&p->arena, p->n_statistics, sizeof *p->statistics);
  p->marks = tacit_arena_alloc(&p->arena, p->n_marks, sizeof *p->marks);
  p->columns = tacit_arena_alloc(&p->arena, o->n_columns, sizeof *p->columns);
  if (p->arena.failed) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < o->n_columns; i++) {
    p->columns[i] = *o->columns[i];
  }
  for (size_t i = 0; i < lower->n_statistics; i++) {
    const tacit_lowered_statistic_t *from = lower->statistics[i];
    size_t n_cells = 1;
    for (size_t k = 0; k < from->n; k++) {
      n_cells *= from->is_count ? from->extents[k] : 1;
      p->marks[mark + k] = from->nodes[k];
    }
    p->statistics[i] = (tacit_population_statistic_t){.name = from->name,
                                                      .is_count = from->is_count,
                                                      .is_integer = from->is_integer,
                                                      .n_values = from->is_quantile ? 1
                                                                  : from->is_count  ? n_cells
                                                                                    : from->n,
                                                      .first_mark = mark,
                                                      .n_marks = from->n,
                                                      .factors = from->factors,
                                                      .first = from->first,
                                                      .extents = from->extents,
                                                      .is_quantile = from->is_quantile,
                                                      .quantile = from->quantile,
                                                      .candidates = from->candidates};
    mark += from->n;
  }
  return TACIT_OK;
}

static tacit_status_t check_population_parse(const tacit_lower_t *lower, const tacit_population_t *p,
                                             tacit_error_t *err) {
  if (lower->source->blocks[TACIT_BLOCK_STATISTIC] == NULL || lower->n_statistics == 0) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "program",
                           "the program does not say what was released: add a block `statistic { table = "
                           "count(band); total = sum(x); }`");
  }
  if (p->graph->n_columns == 0 || p->graph->n_parameters == 0 || p->graph->n_reported == 0) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "program",
                           "a population has data, the numbers of one record, and parameters");
  }
  return TACIT_OK;
}

static tacit_status_t lower_text(tacit_population_t *p, const char *text, size_t n, outside_t *o,
                                 tacit_error_t *err) {
  tacit_source_t source, library;
  tacit_status_t status = tacit_source_parse(&source, &p->arena, text, n, false, err);
  TACIT_THEN(status, tacit_source_parse(&library, &p->arena, tacit_library, tacit_library_size, true, err));
  if (status != TACIT_OK) {
    return status;
  }
  tacit_outside_t outside = {
      .user = o, .constant = constant, .is_column = is_column, .column = column, .given = given};
  tacit_lower_t lower = {.arena = &p->arena,
                         .graph = p->graph,
                         .source = &source,
                         .library = &library,
                         .outside = &outside,
                         .err = err,
                         .has_statistics = true};
  o->lower = &lower;
  tacit_lower_program(&lower);
  if (lower.status != TACIT_OK) {
    return lower.status;
  }
  status = p->arena.failed ? tacit_error_memory(err) : tacit_graph_status(p->graph, err);
  TACIT_THEN(status, check_population_parse(&lower, p, err));
  TACIT_THEN(status, describe(p, &lower, o, err));
  p->not_drawn = lower.not_drawn != NULL ? lower.not_drawn
                 : lower.drawn != p->graph->record
                     ? "something else than outcome ~ distribution(..) is said of the record"
                     : NULL;
  p->graph->limit = TACIT_GRAPH_MAX_NODES;
  TACIT_THEN(status, tacit_population_build_draws(p, lower.n_draws, lower.draws, err));
  return status == TACIT_OK ? tacit_population_build(p, err) : status;
}

tacit_status_t tacit_population_parse(tacit_population_t **population, const char *text, size_t n,
                                      const tacit_program_constant_t *constants, size_t n_constants,
                                      tacit_error_t *err) {
  outside_t outside = {.constants = constants, .n_constants = n_constants};
  *population = NULL;
  tacit_population_t *made = tacit_alloc_zero(1, sizeof *made);
  tacit_graph_t *graph = tacit_graph_new();
  if (made == NULL || graph == NULL) {
    tacit_free(made);
    tacit_graph_free(graph);
    return tacit_error_memory(err);
  }
  made->graph = graph;
  tacit_status_t status = lower_text(made, text, n, &outside, err);
  if (status != TACIT_OK) {
    tacit_population_free(made);
    return status;
  }
  *population = made;
  return TACIT_OK;
}
