/*
 * Outcomes of a record and what their distributions say of them, for predictions: the expectation and the
 * linear predictor by functions of the library, NAME_mean, NAME_linear and NAME_location (a program may have
 * its own), probabilities of classes by the distribution itself.
 */
#include <math.h>
#include <string.h>

#include "program/graph_internal.h"
#include "program/lower.h"

enum { NONE = TACIT_NODE_NONE, MOST_CLASSES = 1024 };

typedef struct note {
  tacit_lower_t *lower;
  size_t offset;
  const char *distribution, *density;
  tacit_value_t *args; /* (n), the first is the outcome's place */
  size_t n;
} note_t;

static void obstruct(tacit_lower_t *lower, const char *format, const char *name) {
  if (lower->not_foretold == NULL) {
    lower->not_foretold = tacit_arena_printf(lower->arena, format, name);
  }
}

static const tacit_function_t *find_in(const tacit_function_t *f, const char *name) {
  while (f != NULL && strcmp(f->name, name) != 0) {
    f = f->next;
  }
  return f;
}

static const tacit_function_t *find(const tacit_lower_t *lower, const char *name) {
  const tacit_function_t *own = find_in(lower->source->functions, name);
  return own != NULL ? own : find_in(lower->library->functions, name);
}

/* The distribution's function of its parameters; VOID: it has none, or after an error. */
static tacit_value_t derived(const note_t *note, const char *ending) {
  const char *name = tacit_arena_printf(note->lower->arena, "%s_%s", note->distribution, ending);
  tacit_value_t *args = tacit_arena_alloc(note->lower->arena, note->n, sizeof *args);
  if (name == NULL || args == NULL || find(note->lower, name) == NULL) {
    return (tacit_value_t){0};
  }
  memcpy(args, note->args + 1, (note->n - 1) * sizeof *args);
  return tacit_lower_call_values(note->lower, note->offset, name, args, note->n - 1);
}

static tacit_node_t derived_number(const note_t *note, const char *ending) {
  tacit_value_t value = derived(note, ending);
  return tacit_value_of_record(note->lower, &value);
}

/* Log probabilities of all values of the outcome's column. */
static void add_classes(const note_t *note, tacit_lowered_outcome_t *outcome) {
  const tacit_graph_column_t *column = &note->lower->graph->columns[outcome->of.column];
  double lower = column->lower, upper = column->upper;
  tacit_value_t *args = tacit_arena_alloc(note->lower->arena, note->n, sizeof *args);
  size_t n = upper - lower < MOST_CLASSES ? (size_t)(upper - lower) + 1 : 0;
  outcome->classes = tacit_arena_alloc(note->lower->arena, n, sizeof *outcome->classes);
  for (size_t k = 0; k < n && args != NULL && outcome->classes != NULL && note->lower->status == TACIT_OK;
       k++) {
    memcpy(args, note->args, note->n * sizeof *args);
    args[0] = tacit_value_number(note->lower, outcome->of.a * (lower + (double)k) + outcome->of.b, true);
    tacit_value_t p = tacit_lower_call_values(note->lower, note->offset, note->density, args, note->n);
    outcome->classes[outcome->n_classes++] = tacit_value_of_record(note->lower, &p);
  }
}

/* A linear predictor, or one for each class: of all but the first, beside it. */
static void add_linear(const note_t *note, tacit_lowered_outcome_t *outcome) {
  tacit_graph_t *graph = note->lower->graph;
  tacit_value_t value = derived(note, "linear");
  bool is_of_classes = outcome->is_class && value.n > 1 && value.n == outcome->n_classes;
  outcome->location = derived_number(note, "location");
  outcome->linear = value.n == 1 ? tacit_value_of_record(note->lower, &value) : NONE;
  outcome->logits = tacit_arena_alloc(note->lower->arena, value.n + 1, sizeof *outcome->logits);
  for (size_t k = 1; is_of_classes && outcome->logits != NULL && k < value.n; k++) {
    outcome->logits[outcome->n_logits++] =
        tacit_graph_apply(graph, TACIT_OP_SUB, value.nodes[k], value.nodes[0], NONE);
  }
}

static void add_args(const note_t *note, tacit_lowered_outcome_t *outcome) {
  outcome->n_args = note->n - 1;
  outcome->args = tacit_arena_alloc(note->lower->arena, note->n, sizeof *outcome->args);
  for (size_t i = 1; i < note->n && outcome->args != NULL && outcome->n_args != SIZE_MAX; i++) {
    outcome->args[i - 1] = tacit_value_of_record(note->lower, &note->args[i]);
    outcome->n_args = outcome->args[i - 1] != NONE ? outcome->n_args : SIZE_MAX;
  }
}

/* The words of the program from `begin` on, to what ends an outcome. */
static const char *words_of(const tacit_lower_t *lower, size_t begin) {
  const char *text = lower->source->text;
  size_t end = begin, depth = 0;
  while (end < lower->source->length && !(depth == 0 && strchr("~|,);", text[end]) != NULL)) {
    depth += strchr("([", text[end]) != NULL;
    depth -= depth > 0 && strchr(")]", text[end]) != NULL;
    end++;
  }
  while (end > begin && strchr(" \t\r\n", text[end - 1]) != NULL) {
    end--;
  }
  return tacit_arena_text(lower->arena, text + begin, end - begin);
}

static void add_outcome(const note_t *note, tacit_node_t value, const tacit_node_t ends[2],
                        const char *words) {
  tacit_lower_t *lower = note->lower;
  tacit_lowered_outcome_t *outcome = tacit_arena_alloc(lower->arena, 1, sizeof *outcome);
  if (outcome == NULL) {
    return;
  }
  *outcome = (tacit_lowered_outcome_t){.name = words,
                                       .distribution = note->distribution,
                                       .of = {.a = 1},
                                       .value = value,
                                       .from = ends[0],
                                       .to = ends[1]};
  outcome->is_column = tacit_graph_affine(lower->graph, value, &outcome->of);
  if (outcome->is_column) {
    outcome->name = lower->graph->columns[outcome->of.column].source;
  } else {
    outcome->of = (tacit_affine_t){.a = 1};
  }
  bool is_whole =
      strlen(note->density) > 5 && strcmp(note->density + strlen(note->density) - 5, "_lpmf") == 0;
  outcome->mean = derived_number(note, "mean");
  outcome->is_class =
      is_whole && outcome->is_column && outcome->mean == NONE && ends[0] == NONE && ends[1] == NONE;
  if (outcome->is_class) {
    add_classes(note, outcome);
  }
  add_linear(note, outcome);
  add_args(note, outcome);
  void **outcomes = (void **)lower->outcomes;
  tacit_list_append(lower->arena, &outcomes, &lower->n_outcomes, outcome);
  lower->outcomes = (tacit_lowered_outcome_t **)outcomes;
}

void tacit_lower_note_outcome(tacit_lower_t *lower, size_t begin, const char *distribution,
                              const char *density, const tacit_value_t *args, size_t n,
                              const tacit_value_t *parts) {
  tacit_node_t first = parts[0].n == 1  ? tacit_value_of_record(lower, &parts[0])
                       : parts[0].n > 0 ? parts[0].nodes[0]
                                        : NONE;
  const tacit_node_t ends[2] = {parts[1].kind != TACIT_TYPE_VOID ? parts[1].nodes[0] : NONE,
                                parts[2].kind != TACIT_TYPE_VOID ? parts[2].nodes[0] : NONE};
  if (lower->is_generated || lower->status != TACIT_OK || first == NONE ||
      (tacit_lower_rate(lower, first) & TACIT_RATE_DATA) == 0) {
    return; /* a prior */
  }
  size_t length = strlen(distribution);
  if (length > 4 && strcmp(distribution + length - 4, "_glm") == 0 && lower->glm.n > 0) {
    density = lower->glm.density;
    args = lower->glm.args;
    n = lower->glm.n;
    distribution = tacit_arena_text(lower->arena, density, strlen(density) - 5);
  }
  const tacit_function_t *function = find(lower, density);
  note_t note = {.lower = lower,
                 .offset = begin,
                 .distribution = distribution,
                 .density = density,
                 .args = tacit_arena_alloc(lower->arena, n + 2, sizeof *note.args),
                 .n = n};
  if (function != NULL &&
      (function->arg_types[0].kind > TACIT_TYPE_REAL || function->arg_types[0].n_array > 0)) {
    obstruct(lower, "'%s' is of several numbers together", distribution);
    return;
  }
  for (size_t i = 0; i < parts[0].n && note.args != NULL && lower->status == TACIT_OK; i++) {
    for (size_t k = 1; k < n; k++) {
      note.args[k] = parts[0].n > 1 && args[k].n == parts[0].n ? tacit_value_element(&args[k], i) : args[k];
    }
    add_outcome(&note, parts[0].n == 1 ? first : parts[0].nodes[i], ends, words_of(lower, begin));
  }
}

typedef enum ending { NO_DENSITY, DENSITY, CUMULATIVE } ending_t;

/* What a function is by its name, and how long that is without its ending. */
static ending_t ending_of(const char *name, size_t *length) {
  static const struct {
    const char *text;
    ending_t ending;
  } endings[] = {{"_lpdf", DENSITY},  {"_lpmf", DENSITY},    {"_lupdf", DENSITY},
                 {"_lupmf", DENSITY}, {"_lcdf", CUMULATIVE}, {"_lccdf", CUMULATIVE}};
  size_t n = strlen(name);
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    size_t m = strlen(endings[i].text);
    if (n > m && strcmp(name + n - m, endings[i].text) == 0) {
      *length = n - m;
      return endings[i].ending;
    }
  }
  return NO_DENSITY;
}

void tacit_lower_note_call(tacit_lower_t *lower, const tacit_expr_t *expr, const tacit_value_t *args,
                           const tacit_value_t *value) {
  size_t length = 0;
  ending_t ending = ending_of(expr->name, &length);
  if (lower->block != TACIT_BLOCK_MODEL || lower->n_calls > 0 || expr->n_args == 0 || ending == NO_DENSITY) {
    return;
  }
  tacit_node_t first = tacit_value_of_record(lower, &args[0]), density = tacit_value_of_record(lower, value);
  if (density == NONE || (tacit_lower_rate(lower, density) & TACIT_RATE_DATA) == 0) {
    if (ending == CUMULATIVE) {
      lower->said.n++; /* of parameters alone: a truncation's */
    }
    return;
  }
  lower->said.n += first != lower->said.first; /* of the same outcome: censoring */
  lower->said.first = first;
  lower->said.is_cumulative = lower->said.is_cumulative || ending == CUMULATIVE;
  if (ending == DENSITY) {
    const tacit_value_t parts[3] = {args[0], {0}, {0}};
    const char *distribution = tacit_arena_text(lower->arena, expr->name, length);
    const char *name = distribution != NULL ? tacit_arena_printf(lower->arena, "%s_lp%s", distribution,
                                                                 expr->name + strlen(expr->name) - 2)
                                            : NULL;
    lower->said.density = density;
    if (name != NULL) {
      tacit_lower_note_outcome(lower, tacit_expr_begin(expr->args[0]), distribution, name, args, expr->n_args,
                               parts);
    }
  }
}

/*
 * The density, or that times a number without parameters: looked for in what is written, since the graph may
 * have moved signs and constants from one factor to the other.
 */
static bool is_of_density(tacit_lower_t *lower, const tacit_expr_t *expr, tacit_node_t node) {
  bool is_product = expr->kind == TACIT_EXPR_BINARY && expr->op == TACIT_TOK_MULTIPLY;
  for (size_t i = 0; i < 2 && is_product; i++) {
    size_t length;
    if (expr->args[i]->kind == TACIT_EXPR_CALL && ending_of(expr->args[i]->name, &length) == DENSITY) {
      tacit_value_t factor = tacit_lower_expr(lower, expr->args[1 - i]);
      tacit_value_t weight = tacit_lower_sum(lower, 0, &factor);
      tacit_node_t times = tacit_value_of_record(lower, &weight);
      return times != NONE && (tacit_lower_rate(lower, times) & TACIT_RATE_PARAMETER) == 0;
    }
  }
  return node == lower->said.density;
}

void tacit_lower_note_target(tacit_lower_t *lower, const tacit_expr_t *expr, const tacit_value_t *value) {
  tacit_value_t sum = value->kind != TACIT_TYPE_VOID ? tacit_lower_sum(lower, 0, value) : *value;
  tacit_node_t node = tacit_value_of_record(lower, &sum);
  if (node == NONE || tacit_lower_rate(lower, node) != TACIT_RATE_MIXED) {
    return;
  }
  if (lower->said.n != 1 || !(lower->said.is_cumulative || is_of_density(lower, expr, node))) {
    obstruct(lower, "%s",
             lower->said.n == 0 ? "a statement `target += ...` holds no density of an outcome"
                                : "a statement `target += ...` holds more than one density of an outcome, or "
                                  "one times what depends on parameters");
  }
}
