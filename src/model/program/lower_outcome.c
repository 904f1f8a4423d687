#include <math.h>
#include <stdio.h>
#include <string.h>

#include "program/graph_internal.h"
#include "program/lower.h"

/*
 * outcome ~ distribution(args). Words for outcomes that are not seen as they are: censored_right(t, event),
 * censored_left(t, event), interval(a, b), truncated(y, a, b); they say how the outcome arises, which target
 * += cannot.
 */

static const tacit_value_t NOTHING = {0};

typedef struct {
  tacit_lower_t *lower;
  const tacit_stmt_t *stmt;
  const char *density; /* name of the log density */
  tacit_value_t *args; /* [0] is the outcome's place */
  size_t n;
} outcome_t;

/* The log density, or a cumulative one, of y. */
static tacit_value_t evaluate(const outcome_t *outcome, const char *name, tacit_value_t y) {
  tacit_value_t *args = tacit_arena_alloc(outcome->lower->arena, outcome->n, sizeof *args);
  if (args == NULL) {
    return NOTHING;
  }
  memcpy(args, outcome->args, outcome->n * sizeof *args);
  args[0] = y;
  return tacit_lower_call_values(outcome->lower, outcome->stmt->offset, name, args, outcome->n);
}

static tacit_value_t cumulative(const outcome_t *outcome, const char *ending, tacit_value_t y) {
  const char *name = tacit_arena_printf(outcome->lower->arena, "%s_%s", outcome->stmt->name, ending);
  return name != NULL ? evaluate(outcome, name, y) : NOTHING;
}

/* P(Y >= a) of a count is P(Y > a - 1); a real outcome may have a bound that is written as a whole number. */
static tacit_value_t below(const outcome_t *outcome, tacit_value_t a) {
  tacit_value_t one = tacit_value_number(outcome->lower, 1, true);
  size_t length = strlen(outcome->density);
  return length > 5 && strcmp(outcome->density + length - 5, "_lpmf") == 0
             ? tacit_lower_map(outcome->lower, outcome->stmt->offset, TACIT_OP_SUB, &a, &one)
             : a;
}

static bool is_infinite(const tacit_lower_t *lower, const tacit_value_t *end) {
  double x;
  return end->kind == TACIT_TYPE_VOID || (tacit_value_constant(lower, end, &x) && isinf(x));
}

/* log P(from <= Y <= to); an end that is infinite, or NOTHING, is none. */
static tacit_value_t between(const outcome_t *outcome, tacit_value_t from, tacit_value_t to) {
  bool has_from = !is_infinite(outcome->lower, &from), has_to = !is_infinite(outcome->lower, &to);
  if (!has_from && !has_to) {
    return tacit_value_number(outcome->lower, 0, false);
  }
  if (has_from) {
    from = below(outcome, from);
  }
  if (has_from && has_to) {
    tacit_value_t ends[2] = {cumulative(outcome, "lcdf", to), cumulative(outcome, "lcdf", from)};
    return tacit_lower_call_values(outcome->lower, outcome->stmt->offset, "log_diff_exp", ends, 2);
  }
  return has_to ? cumulative(outcome, "lcdf", to) : cumulative(outcome, "lccdf", from);
}

/* -inf where a is less than b; an end that is infinite, or NOTHING, is none. */
static tacit_value_t unless_less(const outcome_t *outcome, const tacit_value_t *a, const tacit_value_t *b,
                                 tacit_value_t density) {
  if (is_infinite(outcome->lower, a) || is_infinite(outcome->lower, b) || density.kind == TACIT_TYPE_VOID) {
    return density;
  }
  tacit_value_t is_less = tacit_lower_map(outcome->lower, outcome->stmt->offset, TACIT_OP_LESS, a, b);
  tacit_value_t never = tacit_value_number(outcome->lower, -INFINITY, false);
  return is_less.kind == TACIT_TYPE_VOID
             ? NOTHING
             : tacit_lower_select(outcome->lower, outcome->stmt->offset, is_less.nodes[0], &never, &density);
}

static tacit_value_t truncate(const outcome_t *outcome, tacit_value_t y, tacit_value_t from,
                              tacit_value_t to) {
  tacit_value_t density = evaluate(outcome, outcome->density, y), probability = between(outcome, from, to);
  density = tacit_lower_map(outcome->lower, outcome->stmt->offset, TACIT_OP_SUB, &density, &probability);
  return unless_less(outcome, &y, &from, unless_less(outcome, &to, &y, density));
}

/* What one outcome adds, whose word has the arguments `a`. */
typedef tacit_value_t (*word_t)(const outcome_t *outcome, const tacit_value_t *a);

static tacit_value_t censored(const outcome_t *outcome, const tacit_value_t *a, const char *ending) {
  tacit_value_t seen = evaluate(outcome, outcome->density, a[0]), unseen = cumulative(outcome, ending, a[0]);
  int truth = tacit_lower_truth(outcome->lower, outcome->stmt->offset, &a[1]);
  return truth == -2 ? NOTHING
         : truth == -1
             ? tacit_lower_select(outcome->lower, outcome->stmt->offset, a[1].nodes[0], &seen, &unseen)
         : truth == 1 ? seen
                      : unseen;
}
static tacit_value_t censored_right(const outcome_t *outcome, const tacit_value_t *a) {
  return censored(outcome, a, "lccdf");
}
static tacit_value_t censored_left(const outcome_t *outcome, const tacit_value_t *a) {
  return censored(outcome, a, "lcdf");
}
static tacit_value_t interval(const outcome_t *outcome, const tacit_value_t *a) {
  return between(outcome, a[0], a[1]);
}
static tacit_value_t truncated(const outcome_t *outcome, const tacit_value_t *a) {
  return truncate(outcome, a[0], a[1], a[2]);
}

static const struct {
  const char *name;
  size_t n_args;
  word_t word;
} words[] = {{"censored_right", 2, censored_right},
             {"censored_left", 2, censored_left},
             {"interval", 2, interval},
             {"truncated", 3, truncated}};

/* A word of several outcomes: element by element of its arguments and of the distribution's. */
static tacit_value_t each(const outcome_t *whole, word_t word, const tacit_value_t *a, size_t n_a) {
  tacit_lower_t *lower = whole->lower;
  const tacit_value_t *shape = NULL;
  tacit_value_t *args = tacit_arena_alloc(lower->arena, whole->n, sizeof *args), parts[3];
  for (size_t i = 0; i < n_a + whole->n - 1; i++) {
    const tacit_value_t *value = i < n_a ? &a[i] : &whole->args[i - n_a + 1];
    if (value->kind == TACIT_TYPE_VOID || args == NULL) {
      return NOTHING;
    }
    if (value->n_dims != 0 && shape != NULL && !tacit_value_same_shape(shape, value)) {
      tacit_lower_fail(lower, whole->stmt->offset, "outcomes and arguments differ in shape: %s and %s",
                       tacit_value_describe(lower, shape), tacit_value_describe(lower, value));
      return NOTHING;
    }
    shape = value->n_dims != 0 ? value : shape;
  }
  tacit_value_t result = shape != NULL ? tacit_value_like(lower, whole->stmt->offset, shape, false)
                                       : tacit_value_number(lower, 0, false);
  for (size_t i = 0; i < result.n && result.kind != TACIT_TYPE_VOID; i++) {
    outcome_t one = *whole;
    one.args = args;
    for (size_t k = 1; k < whole->n; k++) {
      args[k] = tacit_value_element(&whole->args[k], i);
    }
    for (size_t k = 0; k < n_a; k++) {
      parts[k] = tacit_value_element(&a[k], i);
    }
    tacit_value_t term = word(&one, parts);
    if (term.kind == TACIT_TYPE_VOID) {
      return NOTHING;
    }
    result.nodes[i] = term.nodes[0];
  }
  return result;
}

/* The word that the outcome is given by; false: it is given as it is. */
static bool find_word(const tacit_expr_t *left, size_t *found) {
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (left->kind == TACIT_EXPR_CALL && strcmp(left->name, words[i].name) == 0 &&
        left->n_args == words[i].n_args) {
      *found = i;
      return true;
    }
  }
  return false;
}

/* parts (3) <- what the outcome is given by, *word what that is called, NULL: nothing. */
static tacit_value_t outcome_value(const outcome_t *outcome, tacit_value_t *parts, const char **word) {
  tacit_lower_t *lower = outcome->lower;
  const tacit_stmt_t *stmt = outcome->stmt;
  size_t found;
  if (find_word(stmt->left, &found)) {
    *word = words[found].name;
    for (size_t i = 0; i < words[found].n_args; i++) {
      parts[i] = tacit_lower_expr(lower, stmt->left->args[i]);
    }
    return each(outcome, words[found].word, parts, words[found].n_args);
  }
  parts[0] = tacit_lower_expr(lower, stmt->left);
  if (!stmt->is_truncated) {
    return evaluate(outcome, outcome->density, parts[0]);
  }
  if (parts[0].kind != TACIT_TYPE_VOID && !tacit_value_is_scalar(&parts[0])) {
    tacit_lower_fail(lower, stmt->offset, "T[ , ] is of one outcome: write the statement in a loop");
    return NOTHING;
  }
  parts[1] = stmt->from != NULL ? tacit_lower_expr(lower, stmt->from) : NOTHING;
  parts[2] = stmt->to != NULL ? tacit_lower_expr(lower, stmt->to) : NOTHING;
  return lower->status == TACIT_OK ? truncate(outcome, parts[0], parts[1], parts[2]) : NOTHING;
}

tacit_node_t tacit_value_of_record(const tacit_lower_t *lower, const tacit_value_t *value) {
  bool is_one = value->kind != TACIT_TYPE_VOID && value->n == 1;
  const tacit_mark_t *mark = is_one ? tacit_mark_of(lower, value->nodes[0]) : NULL;
  return !is_one                        ? TACIT_NODE_NONE
         : mark == NULL                 ? value->nodes[0]
         : mark->kind == TACIT_MARK_SUM ? mark->record
                                        : TACIT_NODE_NONE;
}

/* ---- responses ---- */

/* Draws are from the library's distributions, not from others of these names: a program's own function is the
 * library's if it says the same. */
static bool is_library_s(tacit_lower_t *lower, size_t offset, const char *density, const tacit_value_t *args,
                         size_t n, const tacit_function_t *function, tacit_node_t value) {
  tacit_value_t *copy = tacit_arena_alloc(lower->arena, n, sizeof *copy);
  if (function->source->is_library || copy == NULL) {
    return function->source->is_library;
  }
  memcpy(copy, args, n * sizeof *copy);
  const tacit_function_t *f = lower->library->functions;
  while (f != NULL && (strcmp(f->name, density) != 0 || f->n_args != n)) {
    f = f->next;
  }
  if (f == NULL) {
    return false;
  }
  lower->n_library++; /* where the program's own functions are not seen */
  tacit_value_t same = tacit_lower_call_values(lower, offset, density, copy, n);
  lower->n_library--;
  return same.kind != TACIT_TYPE_VOID && tacit_value_of_record(lower, &same) == value;
}

/* Arguments of a distribution beside its outcome; of NAME_glm those of NAME. */
static void fill_distribution(tacit_lower_t *lower, size_t offset, const char *name,
                              const tacit_value_t *args, size_t n, tacit_graph_response_t *response) {
  size_t length = strlen(name);
  bool is_glm = length > 4 && strcmp(name + length - 4, "_glm") == 0 && lower->glm.n > 0;
  if (is_glm) {
    args = lower->glm.args;
    n = lower->glm.n;
    name = lower->glm.density;
    length = strlen(name) - 5;
  }
  const char *density, *distribution = tacit_arena_text(lower->arena, name, length);
  const tacit_function_t *function =
      distribution != NULL ? tacit_lower_density(lower, distribution, n, &density) : NULL;
  if (function != NULL && is_library_s(lower, offset, density, args, n, function, response->density)) {
    snprintf(response->distribution, sizeof response->distribution, "%s", distribution);
  }
  bool are_numbers = n - 1 <= sizeof response->args / sizeof response->args[0];
  for (size_t i = 1; i < n && are_numbers; i++) {
    response->args[i - 1] = tacit_value_of_record(lower, &args[i]);
    are_numbers = response->args[i - 1] != TACIT_NODE_NONE;
  }
  response->n_args = are_numbers ? n - 1 : 0;
}

/* In a branch the other one has its say, too. */
static void say(tacit_lower_t *lower, const tacit_graph_response_t *response, bool is_tail) {
  if (lower->branch == NULL) {
    tacit_graph_set_response(lower->graph, response);
    return;
  }
  lower->in_branch.n++;
  lower->in_branch.is_tail = is_tail;
  lower->in_branch.response = *response;
}

static bool is_of_record(const tacit_lower_t *lower, tacit_node_t density) {
  return !lower->is_generated && density != TACIT_NODE_NONE &&
         (tacit_lower_rate(lower, density) & TACIT_RATE_DATA) != 0;
}

/* Tell the graph of a response: the outcome as it is, or censored from above. */
static void note_response(const outcome_t *outcome, const tacit_value_t *parts, const char *word,
                          const tacit_value_t *density) {
  tacit_lower_t *lower = outcome->lower;
  tacit_graph_response_t response = {.value = tacit_value_of_record(lower, &parts[0]),
                                     .density = tacit_value_of_record(lower, density)};
  bool is_censored = word != NULL && strcmp(word, "censored_right") == 0;
  if (!is_of_record(lower, response.density)) {
    return; /* a prior */
  }
  response.seen = is_censored ? tacit_value_of_record(lower, &parts[1]) : TACIT_NODE_NONE;
  if (outcome->stmt->is_truncated || (word != NULL && response.seen == TACIT_NODE_NONE)) {
    response.value = TACIT_NODE_NONE; /* its distribution is another's */
  }
  fill_distribution(lower, outcome->stmt->offset, outcome->stmt->name, outcome->args, outcome->n, &response);
  say(lower, &response, false);
}

typedef enum said { NOTHING_SAID, DENSITY, UPPER_TAIL, OTHER_TAIL } said_t;

static said_t said_by(const char *name, size_t *length) {
  static const struct {
    const char *ending;
    said_t said;
  } all[] = {{"_lpdf", DENSITY},  {"_lpmf", DENSITY},     {"_lupdf", DENSITY},
             {"_lupmf", DENSITY}, {"_lccdf", UPPER_TAIL}, {"_lcdf", OTHER_TAIL}};
  size_t n = strlen(name);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    size_t m = strlen(all[i].ending);
    if (n > m && strcmp(name + n - m, all[i].ending) == 0) {
      *length = n - m;
      return all[i].said;
    }
  }
  return NOTHING_SAID;
}

void tacit_lower_note_density(tacit_lower_t *lower, const tacit_expr_t *expr, const tacit_value_t *args,
                              const tacit_value_t *value, tacit_node_t before) {
  size_t length = 0;
  said_t said = said_by(expr->name, &length);
  tacit_graph_response_t response = {.density = tacit_value_of_record(lower, value)};
  const char *name =
      said != NOTHING_SAID && expr->n_args > 0 ? tacit_arena_text(lower->arena, expr->name, length) : NULL;
  if (name == NULL || !is_of_record(lower, response.density)) {
    return;
  }
  response.value = said != OTHER_TAIL ? tacit_value_of_record(lower, &args[0]) : TACIT_NODE_NONE;
  bool is_alone =
      said == UPPER_TAIL && lower->branch == NULL; /* every record's is larger than what is seen */
  response.value = is_alone || (tacit_lower_rate(lower, response.value) & TACIT_RATE_DATA) == 0
                       ? TACIT_NODE_NONE
                       : response.value;
  fill_distribution(lower, expr->offset, name, args, expr->n_args, &response);
  say(lower, &response, said == UPPER_TAIL);
  tacit_stmt_t stmt = {.name = name, .offset = expr->offset};
  const tacit_value_t parts[3] = {args[0], NOTHING, NOTHING};
  const char *density = NULL;
  tacit_lower_density(lower, name, expr->n_args, &density);
  tacit_lower_note_draw(lower, &stmt, density, args, expr->n_args, parts, said == DENSITY, before);
}

/* 1 where the condition holds, as a number of the record that is a column of 0 and 1 or one less it; else the
 * condition. */
static tacit_node_t indicator(tacit_lower_t *lower, tacit_node_t condition) {
  const tacit_graph_node_t *n = tacit_graph_at(lower->graph, condition);
  double k;
  if (n->op != TACIT_OP_EQUAL || !tacit_graph_is_constant(lower->graph, n->b, &k) ||
      (fabs(k) > 0 && fabs(k - 1) > 0)) {
    return condition;
  }
  tacit_node_t of = indicator(lower, n->a), one = tacit_lower_constant(lower, 1);
  const tacit_graph_node_t *inner = tacit_graph_at(lower->graph, of);
  bool is_binary = inner->op == TACIT_OP_COLUMN && lower->graph->columns[inner->a].is_integer &&
                   lower->graph->columns[inner->a].lower >= 0 && lower->graph->columns[inner->a].upper <= 1;
  bool is_less = inner->op == TACIT_OP_SUB && of != n->a;
  return !is_binary && !is_less ? condition
         : k > 0                ? of
                                : tacit_graph_apply(lower->graph, TACIT_OP_SUB, one, of, TACIT_NODE_NONE);
}

void tacit_lower_join_responses(tacit_lower_t *lower, tacit_node_t condition, const tacit_said_t *yes,
                                const tacit_said_t *no, tacit_node_t density) {
  const tacit_said_t *seen = yes->is_tail ? no : yes, *larger = yes->is_tail ? yes : no;
  if (yes->n + no->n == 0) {
    return;
  }
  bool is_one = yes->n == 1 && no->n == 1 && !seen->is_tail && larger->is_tail &&
                seen->response.value == larger->response.value && seen->response.value != TACIT_NODE_NONE &&
                seen->response.density == seen->target && larger->response.density == larger->target &&
                strcmp(seen->response.distribution, larger->response.distribution) == 0 &&
                seen->response.n_args == larger->response.n_args &&
                memcmp(seen->response.args, larger->response.args, sizeof seen->response.args) == 0;
  tacit_graph_response_t response = is_one ? seen->response : (tacit_graph_response_t){0};
  if (is_one) {
    tacit_node_t is_seen = indicator(lower, condition), one = tacit_lower_constant(lower, 1);
    response.seen =
        seen == yes ? is_seen : tacit_graph_apply(lower->graph, TACIT_OP_SUB, one, is_seen, TACIT_NODE_NONE);
  }
  response.density = density;
  say(lower, &response, false);
}

/* Censored: the outcome itself; of an interval it is known by no column. */
static void note_outcome(const outcome_t *outcome, const tacit_value_t *parts, const char *word) {
  tacit_lower_t *lower = outcome->lower;
  bool is_truncated = outcome->stmt->is_truncated || (word != NULL && strcmp(word, "truncated") == 0),
       is_interval = word != NULL && strcmp(word, "interval") == 0;
  const tacit_expr_t *left = word != NULL ? outcome->stmt->left->args[0] : outcome->stmt->left;
  const tacit_value_t shown[3] = {parts[0], is_truncated ? parts[1] : NOTHING,
                                  is_truncated ? parts[2] : NOTHING};
  if (is_interval && lower->not_foretold == NULL) {
    lower->not_foretold = "an outcome that is known by an interval is no column";
    return;
  }
  tacit_lower_note_outcome(lower, tacit_expr_begin(left), outcome->stmt->name, outcome->density,
                           outcome->args, outcome->n, shown);
}

void tacit_lower_tilde(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  outcome_t outcome = {.lower = lower, .stmt = stmt, .n = stmt->n_args + 1};
  outcome.args = tacit_arena_alloc(lower->arena, outcome.n, sizeof *outcome.args);
  if (outcome.args == NULL) {
    return;
  }
  tacit_lower_density(lower, stmt->name, outcome.n, &outcome.density);
  if (outcome.density == NULL) {
    tacit_nearest_t nearest = {.name = stmt->name};
    tacit_lower_offer_densities(lower, &nearest);
    tacit_lower_fail(lower, stmt->offset, "no distribution '%s'%s%s%s", stmt->name,
                     nearest.best != NULL ? "; there is '" : "", nearest.best != NULL ? nearest.best : "",
                     nearest.best != NULL ? "'" : "");
    return;
  }
  for (size_t i = 0; i < stmt->n_args; i++) {
    outcome.args[i + 1] = tacit_lower_expr(lower, stmt->args[i]);
  }
  const char *word = NULL;
  tacit_node_t before = lower->graph->record;
  tacit_value_t parts[3] = {{0}}, density = outcome_value(&outcome, parts, &word);
  note_response(&outcome, parts, word, &density);
  if (lower->is_forecast && density.kind != TACIT_TYPE_VOID && parts[0].kind != TACIT_TYPE_VOID) {
    note_outcome(&outcome, parts, word);
  }
  tacit_lower_add_target(lower, tacit_expr_begin(stmt->left), &density);
  tacit_lower_note_draw(lower, stmt, outcome.density, outcome.args, outcome.n, parts,
                        word == NULL || strcmp(word, "truncated") == 0, before);
}
