#include <math.h>
#include <string.h>

#include "program/cumulative.h"
#include "program/lower.h"

static const tacit_value_t NOTHING = {0};

static bool ends_with(const char *name, const char *ending) {
  size_t n = strlen(name), m = strlen(ending);
  return n > m && strcmp(name + n - m, ending) == 0;
}

static bool is_density(const char *name) {
  return ends_with(name, "_lpdf") || ends_with(name, "_lpmf") || ends_with(name, "_lcdf") ||
         ends_with(name, "_lccdf");
}

/* Dimensions that an argument of this type has by itself. */
static unsigned core_dims(const tacit_type_t *type) {
  unsigned own = type->kind == TACIT_TYPE_MATRIX                                   ? 2
                 : type->kind == TACIT_TYPE_VECTOR || type->kind == TACIT_TYPE_ROW ? 1
                                                                                   : 0;
  return (unsigned)type->n_array + own;
}

/* ---- one call ---- */

/* The function's value for these arguments, or NOTHING after an error. */
static tacit_value_t run_lower_call(tacit_lower_t *lower, size_t offset, const tacit_function_t *function,
                                    const tacit_value_t *args) {
  bool is_library = function->source->is_library;
  for (size_t i = 0; i < lower->n_calls; i++) {
    if (lower->calls[i] == function && !is_library) {
      tacit_lower_fail(lower, offset, "'%s' calls itself; functions are inlined, and cannot", function->name);
      return NOTHING;
    }
  }
  if (lower->n_calls == TACIT_MAX_CALLS) {
    tacit_lower_fail(lower, offset, "functions call each other more than %d deep", TACIT_MAX_CALLS);
    return NOTHING;
  }
  size_t frame = lower->frame, n_variables = lower->n_variables;
  tacit_value_t result = NOTHING, *returned = lower->returned;
  const tacit_rest_t *rest = lower->rest;
  lower->rest = NULL;
  lower->frame = n_variables;
  lower->calls[lower->n_calls++] = function;
  lower->returned = &result;
  if (is_library && lower->n_library++ == 0) {
    lower->library_offset = offset;
  }
  for (size_t i = 0; i < function->n_args; i++) {
    tacit_lower_declare(lower, function->arg_names[i], function->offset, &args[i]);
  }
  tacit_flow_t flow = tacit_lower_body(lower, &function->body, 1);
  if (flow == TACIT_FLOW_NEXT && lower->status == TACIT_OK) {
    tacit_lower_fail(lower, function->offset, "'%s' ends without 'return'", function->name);
  }
  if (flow == TACIT_FLOW_REJECTED && function->result.kind <= TACIT_TYPE_REAL &&
      function->result.n_array == 0) {
    *lower->branch = tacit_lower_constant(lower, -INFINITY);
    result = tacit_value_number(lower, NAN, false);
    result.kind = function->result.kind;
  } else if (flow == TACIT_FLOW_REJECTED) {
    tacit_lower_fail(lower, offset, "'%s' rejects in all of its branches", function->name);
  }
  lower->n_library -= is_library;
  lower->returned = returned;
  lower->rest = rest;
  lower->n_calls--;
  lower->n_variables = n_variables;
  lower->frame = frame;
  return lower->status == TACIT_OK ? result : NOTHING;
}

/* ---- which function ---- */

/* An argument with n_lead dimensions before those of its type. */
static bool fits(const tacit_type_t *type, const tacit_value_t *arg, unsigned n_lead) {
  unsigned core = core_dims(type);
  if (arg->n_dims != core + n_lead || (type->kind == TACIT_TYPE_INT && arg->kind != TACIT_TYPE_INT)) {
    return false;
  }
  if (n_lead > 0 || core == 0) {
    return true;
  }
  bool is_array = arg->n_array > 0;
  bool is_scalar_array = is_array && arg->n_array == arg->n_dims;
  switch (type->kind) {
  case TACIT_TYPE_VECTOR:
  case TACIT_TYPE_ROW:
  case TACIT_TYPE_MATRIX:
    return arg->n_array == type->n_array && arg->kind == type->kind;
  default:
    return is_scalar_array;
  }
}

static bool fits_all(const tacit_function_t *function, const tacit_value_t *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!fits(&function->arg_types[i], &args[i], 0)) {
      return false;
    }
  }
  return true;
}

/* Library functions are also called for each element: what comes before an argument's own dimensions has to
 * agree. */
static bool fits_each(const tacit_function_t *function, const tacit_value_t *args, size_t n,
                      const tacit_value_t **shape, unsigned *n_lead) {
  *shape = NULL;
  *n_lead = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned core = core_dims(&function->arg_types[i]);
    if (args[i].n_dims < core ||
        (function->arg_types[i].kind == TACIT_TYPE_INT && args[i].kind != TACIT_TYPE_INT)) {
      return false;
    }
    unsigned lead = args[i].n_dims - core;
    if (lead > 0 && *shape != NULL &&
        (lead != *n_lead || memcmp((*shape)->dims, args[i].dims, lead * sizeof args[i].dims[0]) != 0)) {
      return false;
    }
    if (lead > 0 && *shape == NULL) {
      *shape = &args[i];
      *n_lead = lead;
    }
  }
  return true;
}

static const tacit_function_t *find_function(const tacit_function_t *from, const char *name, size_t n_args) {
  for (; from != NULL; from = from->next) {
    if (strcmp(from->name, name) == 0 && from->n_args == n_args && from->body != NULL) {
      return from;
    }
  }
  return NULL;
}

/* Vectors where the type says an array and the like: for one dimension the distinction is of no consequence
 * to the library. */
static tacit_value_t as_type(const tacit_type_t *type, tacit_value_t value) {
  bool is_one = core_dims(type) == 1 && value.n_dims == 1;
  if (is_one && type->n_array == 0) {
    value.kind = type->kind;
    value.n_array = 0;
  }
  return value;
}

/* Argument i at place k of the leading dimensions. */
static tacit_value_t part(const tacit_type_t *type, const tacit_value_t *arg, size_t k) {
  unsigned core = core_dims(type), lead = arg->n_dims - core;
  tacit_value_t value = *arg;
  size_t n = 1;
  memmove(value.dims, value.dims + lead, (TACIT_MAX_DIMS - lead) * sizeof value.dims[0]);
  value.n_dims = core;
  for (unsigned i = 0; i < core; i++) {
    n *= value.dims[i] == TACIT_AXIS ? 1 : value.dims[i];
  }
  value.n = n;
  value.nodes += lead > 0 ? k * n : 0;
  value.n_array = (unsigned)type->n_array;
  if (core == 0) {
    value.kind = arg->kind == TACIT_TYPE_INT ? TACIT_TYPE_INT : TACIT_TYPE_REAL;
  } else if (type->n_array < core) {
    value.kind = type->kind;
  }
  return value;
}

/* Is a type's own dimension, which the function goes over, that of the records? */
static bool core_has_axis(const tacit_function_t *function, const tacit_value_t *args) {
  for (size_t i = 0; i < function->n_args; i++) {
    unsigned core = core_dims(&function->arg_types[i]);
    for (unsigned j = args[i].n_dims - core; j < args[i].n_dims; j++) {
      if (args[i].dims[j] == TACIT_AXIS) {
        return true;
      }
    }
  }
  return false;
}

static tacit_value_t run_each(tacit_lower_t *lower, size_t offset, const tacit_function_t *function,
                              const tacit_value_t *args, const tacit_value_t *shape, unsigned n_lead) {
  size_t n = 1;
  for (unsigned i = 0; i < n_lead; i++) {
    n *= shape->dims[i] == TACIT_AXIS ? 1 : shape->dims[i];
  }
  if (core_has_axis(function, args)) {
    return tacit_value_scalar(
        lower, TACIT_TYPE_REAL,
        tacit_mark_refuse(lower, offset,
                          "%s() would go over records; a record's term may look at that record alone",
                          function->name));
  }
  tacit_value_t *parts = tacit_arena_alloc(lower->arena, function->n_args, sizeof *parts), result = NOTHING;
  bool is_summed = is_density(function->name);
  tacit_type_kind_t kind = shape == NULL || shape->n_dims != n_lead || shape->kind == TACIT_TYPE_INT
                               ? function->result.kind
                               : shape->kind;
  if (n_lead > 0) {
    bool is_array = shape->n_dims != n_lead || shape->n_array == shape->n_dims;
    result = tacit_value_new(lower, offset, is_array ? function->result.kind : kind,
                             is_array ? n_lead : shape->n_array, n_lead, shape->dims);
  }
  for (size_t k = 0; parts != NULL && k < n && lower->status == TACIT_OK; k++) {
    for (size_t i = 0; i < function->n_args; i++) {
      parts[i] = part(&function->arg_types[i], &args[i], k);
    }
    tacit_value_t one = run_lower_call(lower, offset, function, parts);
    if (n_lead == 0) {
      return one;
    }
    if (one.kind == TACIT_TYPE_VOID || one.n_dims != 0 || result.kind == TACIT_TYPE_VOID) {
      tacit_lower_fail(lower, offset, "%s() is not called element by element", function->name);
      return NOTHING;
    }
    result.nodes[k] = one.nodes[0];
  }
  return lower->status == TACIT_OK && is_summed ? tacit_lower_sum(lower, offset, &result) : result;
}

static tacit_value_t call_library(tacit_lower_t *lower, size_t offset, const char *name, tacit_value_t *args,
                                  size_t n, bool *is_found) {
  const tacit_function_t *found = NULL;
  const tacit_value_t *shape = NULL;
  unsigned n_lead = 0;
  *is_found = false;
  for (const tacit_function_t *f = find_function(lower->library->functions, name, n); f != NULL;
       f = find_function(f->next, name, n)) {
    const tacit_value_t *its_shape;
    unsigned its_lead;
    *is_found = true;
    if (fits_each(f, args, n, &its_shape, &its_lead) && (found == NULL || its_lead < n_lead)) {
      found = f;
      shape = its_shape;
      n_lead = its_lead;
    }
  }
  if (found != NULL) {
    for (size_t i = 0; i < n; i++) {
      args[i] = as_type(&found->arg_types[i], args[i]);
    }
    return run_each(lower, offset, found, args, shape, n_lead);
  }
  return NOTHING;
}

/* ---- names ---- */

static void offer_functions(const tacit_function_t *f, tacit_nearest_t *nearest) {
  for (; f != NULL; f = f->next) {
    tacit_nearest_offer(nearest, f->name);
  }
}

/* Functions that are no fixed expression: an error. */
static bool is_outside(tacit_lower_t *lower, size_t offset, const char *name) {
  static const char *const outside[] = {"integrate_ode", "ode_",         "dae",      "algebra_solver",
                                        "solve_",        "integrate_1d", "map_rect", "reduce_sum"};
  for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
    if (strncmp(name, outside[i], strlen(outside[i])) == 0) {
      tacit_lower_fail(lower, offset,
                       "'%s' is not in the subset: a record's log-likelihood is a fixed expression", name);
      return true;
    }
  }
  return false;
}

static void fail_unknown(tacit_lower_t *lower, size_t offset, const char *name) {
  tacit_nearest_t nearest = {.name = name};
  tacit_lower_offer_builtins(&nearest);
  offer_functions(lower->library->functions, &nearest);
  offer_functions(lower->source->functions, &nearest);
  tacit_lower_fail(lower, offset, "no function '%s'%s%s%s", name, nearest.best != NULL ? "; there is '" : "",
                   nearest.best != NULL ? nearest.best : "", nearest.best != NULL ? "'" : "");
}

void tacit_lower_offer_densities(const tacit_lower_t *lower, tacit_nearest_t *nearest) {
  const tacit_function_t *lists[2] = {lower->library->functions, lower->source->functions};
  for (int i = 0; i < 2; i++) {
    for (const tacit_function_t *f = lists[i]; f != NULL; f = f->next) {
      if (ends_with(f->name, "_lpdf") || ends_with(f->name, "_lpmf")) {
        char *name = tacit_arena_text(lower->arena, f->name, strlen(f->name) - 5);
        if (name != NULL) {
          tacit_nearest_offer(nearest, name);
        }
      }
    }
  }
}

const tacit_function_t *tacit_lower_density(tacit_lower_t *lower, const char *distribution, size_t n_args,
                                            const char **name) {
  static const char *const endings[] = {"lpdf", "lpmf"};
  *name = NULL;
  for (int i = 0; i < 2; i++) {
    const char *full = tacit_arena_printf(lower->arena, "%s_%s", distribution, endings[i]);
    if (full == NULL) {
      return NULL;
    }
    const tacit_function_t *found = find_function(lower->source->functions, full, n_args);
    found = found != NULL ? found : find_function(lower->library->functions, full, n_args);
    if (found != NULL) {
      *name = full;
      return found;
    }
    for (const tacit_function_t *f = lower->library->functions; *name == NULL && f != NULL; f = f->next) {
      *name = strcmp(f->name, full) == 0 ? full : NULL; /* with other arguments: the call says so */
    }
  }
  if (*name == NULL && ends_with(distribution, "_glm")) {
    *name = tacit_arena_printf(lower->arena, "%s_lpdf", distribution);
  }
  return NULL;
}

/* Cumulative distributions that are known of numbers alone; false: it is none of these, or the library has it
 * for these arguments. */
static bool cumulative(tacit_lower_t *lower, size_t offset, const char *name, const tacit_value_t *args,
                       size_t n, tacit_value_t *result) {
  enum { MOST = 4 };
  double x[MOST], value;
  bool are_numbers = n <= MOST, is_whole = false;
  if (!tacit_cumulative(name, n, NULL, NULL)) {
    return false;
  }
  for (size_t i = 0; i < n && are_numbers; i++) {
    are_numbers = tacit_value_is_scalar(&args[i]) && tacit_value_constant(lower, &args[i], &x[i]);
    is_whole = is_whole || (i == 1 && are_numbers && x[1] == floor(x[1]));
  }
  if (strncmp(name, "student_t", 9) == 0 && !(are_numbers && !is_whole)) {
    return false; /* by the library, where the degrees of freedom are whole */
  }
  if (!are_numbers) {
    tacit_lower_fail(lower, offset, "%s() is known of numbers alone: its parameters are no numbers here",
                     name);
    return true;
  }
  (void)tacit_cumulative(name, n, x, &value);
  *result = tacit_value_number(lower, value, false);
  return true;
}

static const char *describe_all(tacit_lower_t *lower, const tacit_value_t *args, size_t n) {
  const char *text = "";
  for (size_t i = 0; i < n && text != NULL; i++) {
    text = tacit_arena_printf(lower->arena, "%s%s%s", text, i > 0 ? ", " : "",
                              tacit_value_describe(lower, &args[i]));
  }
  return text != NULL ? text : "";
}

/* ---- calls ---- */

tacit_value_t tacit_lower_call_values(tacit_lower_t *lower, size_t offset, const char *name,
                                      tacit_value_t *args, size_t n) {
  tacit_value_t result = NOTHING;
  bool is_found = false, is_own = false;
  for (size_t i = 0; i < n; i++) {
    if (args[i].kind == TACIT_TYPE_VOID) {
      return NOTHING;
    }
  }
  for (const tacit_function_t *f = lower->n_library > 0 ? NULL
                                                        : find_function(lower->source->functions, name, n);
       f != NULL; f = find_function(f->next, name, n)) {
    is_own = true;
    if (fits_all(f, args, n)) {
      return run_lower_call(lower, offset, f, args);
    }
  }
  if (!is_own && (tacit_lower_builtin(lower, offset, name, args, n, &result) ||
                  tacit_lower_container(lower, offset, name, args, n, &result) ||
                  tacit_lower_glm(lower, offset, name, args, n, &result) ||
                  cumulative(lower, offset, name, args, n, &result))) {
    return lower->status == TACIT_OK ? result : NOTHING;
  }
  if (!is_own) {
    result = call_library(lower, offset, name, args, n, &is_found);
    if (result.kind != TACIT_TYPE_VOID || lower->status != TACIT_OK) {
      return lower->status == TACIT_OK ? result : NOTHING;
    }
  }
  for (const tacit_function_t *f = lower->library->functions; f != NULL && !is_found; f = f->next) {
    is_found = strcmp(f->name, name) == 0;
  }
  for (const tacit_function_t *f = lower->source->functions; f != NULL && !is_own; f = f->next) {
    is_own = strcmp(f->name, name) == 0;
  }
  if (ends_with(name, "_lupdf") || ends_with(name, "_lupmf")) {
    const char *full =
        tacit_arena_printf(lower->arena, "%.*slp%s", (int)strlen(name) - 5, name, name + strlen(name) - 2);
    return full != NULL ? tacit_lower_call_values(lower, offset, full, args, n) : NOTHING;
  }
  if (is_found || is_own) {
    tacit_lower_fail(lower, offset, "'%s' does not take (%s)", name, describe_all(lower, args, n));
  } else {
    fail_unknown(lower, offset, name);
  }
  return NOTHING;
}

/* How a public number in place of a function of all records is named: "mean(x)", of a column of a matrix
 * "mean(X[:,2])"; NULL: it is none. */
static const char *summary_text(tacit_lower_t *lower, const tacit_expr_t *expr) {
  const tacit_expr_t *arg = expr->n_args == 1 ? expr->args[0] : NULL;
  if (arg == NULL || lower->n_calls > 0) {
    return NULL;
  }
  if (arg->kind == TACIT_EXPR_NAME) {
    return tacit_arena_printf(lower->arena, "%s(%s)", expr->name, arg->name);
  }
  bool is_range = arg->kind == TACIT_EXPR_INDEX && arg->n_args == 3 &&
                  arg->args[1]->kind == TACIT_EXPR_RANGE && arg->args[1]->args[0] == NULL &&
                  arg->args[1]->args[1] == NULL;
  bool is_call = arg->kind == TACIT_EXPR_CALL && arg->n_args == 2 && strcmp(arg->name, "col") == 0;
  const tacit_expr_t *matrix = is_range || is_call ? arg->args[0] : NULL, *column = is_range  ? arg->args[2]
                                                                                    : is_call ? arg->args[1]
                                                                                              : NULL;
  double k;
  if (matrix == NULL || matrix->kind != TACIT_EXPR_NAME || column->kind == TACIT_EXPR_RANGE) {
    return NULL;
  }
  tacit_value_t which = tacit_lower_expr(lower, column);
  return tacit_value_is_scalar(&which) && tacit_value_constant(lower, &which, &k)
             ? tacit_arena_printf(lower->arena, "%s(%s[:,%.0f])", expr->name, matrix->name, k)
             : NULL;
}

/*
 * A function of all records, where it computes with data: the public number that was given in its place. In a
 * check of the language alone it is taken as given, as sizes are, and said.
 */
static bool find_given(tacit_lower_t *lower, const tacit_expr_t *expr, const tacit_value_t *arg,
                       const char *text, tacit_value_t *value) {
  static const struct {
    const char *name;
    double number;
  } assumed[] = {{"mean", 0}, {"sd", 1}, {"variance", 1}, {"min", 1}, {"max", 3}};
  enum { N_ASSUMED = sizeof assumed / sizeof assumed[0] };
  double x;
  if (lower->outside->given(lower->outside->user, text, &x)) {
    *value = tacit_value_number(lower, x, arg->kind == TACIT_TYPE_INT && x == floor(x));
    return true;
  }
  size_t i = 0;
  while (i < N_ASSUMED && strcmp(assumed[i].name, expr->name) != 0) {
    i++;
  }
  if (i == N_ASSUMED || lower->block != TACIT_BLOCK_TRANSFORMED_DATA || !tacit_value_has_axis(arg)) {
    return false;
  }
  if (lower->outside->is_assumed) {
    tacit_lower_note(lower, expr->offset,
                     "%s would go over records: a fit needs a public number in its place, --set '%s=...'",
                     text, text);
    *value = tacit_value_number(lower, assumed[i].number,
                                arg->kind == TACIT_TYPE_INT && expr->name[0] == 'm' && expr->name[1] != 'e');
  } else {
    *value = tacit_value_scalar(
        lower, TACIT_TYPE_REAL,
        tacit_mark_refuse(lower, expr->offset,
                          "%s would go over records; a record's term may look at that record "
                          "alone: give a public number in its place, --set '%s=...'",
                          text, text));
  }
  return true;
}

tacit_value_t tacit_lower_call(tacit_lower_t *lower, const tacit_expr_t *expr) {
  tacit_value_t value, *args = tacit_arena_alloc(lower->arena, expr->n_args, sizeof *args);
  if (args == NULL || is_outside(lower, expr->offset, expr->name)) {
    return NOTHING;
  }
  for (size_t i = 0; i < expr->n_args; i++) {
    args[i] = tacit_lower_expr(lower, expr->args[i]);
    if (args[i].kind == TACIT_TYPE_VOID) {
      return NOTHING;
    }
  }
  const char *text = summary_text(lower, expr);
  if (text != NULL && find_given(lower, expr, &args[0], text, &value)) {
    return value;
  }
  if (ends_with(expr->name, "_rng")) {
    return tacit_value_scalar(lower, TACIT_TYPE_INT,
                              tacit_mark_refuse(lower, expr->offset,
                                                "%s() draws random numbers, and nothing is "
                                                "drawn for each posterior draw",
                                                expr->name));
  }
  value = tacit_lower_call_values(lower, expr->offset, expr->name, args, expr->n_args);
  lower->called.expr = expr;
  lower->called.args = args;
  if (lower->is_forecast && value.kind != TACIT_TYPE_VOID) {
    tacit_lower_note_call(lower, expr, args, &value);
  }
  return value;
}
