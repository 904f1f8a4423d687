#include "program/bind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "program/identifier.h"
#include "tacit/data.h"

static const tacit_program_constant_t *find_constant(const tacit_bind_t *bind, const char *name) {
  for (size_t i = 0; i < bind->settings->n_constants; i++) {
    if (strcmp(bind->settings->constants[i].name, name) == 0) {
      return &bind->settings->constants[i];
    }
  }
  return NULL;
}

/* The column of element "2.1" of x: x.2.1, x_2_1, x[2,1], or x2 where there is one index. NULL: there is
 * none. */
static const tacit_column_schema_t *find_column(const tacit_bind_t *bind, const char *name,
                                                const char *index) {
  if (index[0] == '\0') {
    return tacit_schema_find(bind->settings->schema, name);
  }
  static const struct {
    const char *before, *between, *after;
  } forms[] = {{".", ".", ""}, {"_", "_", ""}, {"[", ",", "]"}, {"", "_", ""}};
  for (size_t form = 0; form < sizeof forms / sizeof forms[0]; form++) {
    char text[256];
    size_t n = (size_t)snprintf(text, sizeof text, "%s%s", name, forms[form].before);
    for (const char *s = index; *s != '\0' && n + 2 < sizeof text; s++) {
      text[n++] = *s == '.' ? forms[form].between[0] : *s;
    }
    if (n + 2 >= sizeof text) {
      return NULL;
    }
    snprintf(text + n, sizeof text - n, "%s", forms[form].after);
    const tacit_column_schema_t *column = tacit_schema_find(bind->settings->schema, text);
    if (column != NULL) {
      return column;
    }
  }
  return NULL;
}

static void fail_missing(tacit_bind_t *bind, const tacit_stmt_t *declaration, const char *index) {
  const tacit_schema_t *schema = bind->settings->schema;
  tacit_nearest_t nearest = {.name = declaration->name};
  for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
    tacit_nearest_offer(&nearest, tacit_schema_column(schema, i)->name);
  }
  char hint[TACIT_HINT_SIZE];
  if (index[0] == '\0') {
    tacit_lower_fail(bind->lower, declaration->offset, "the schema has no column '%s'%s", declaration->name,
                     tacit_nearest_hint(&nearest, hint));
  } else {
    tacit_lower_fail(bind->lower, declaration->offset,
                     "the schema has no column '%.32s.%.32s' (nor '%.32s_%.32s'), an element of '%.32s'; if "
                     "it is the same number for all records, as a "
                     "column of ones: --set %.32s.%.32s=1",
                     declaration->name, index, declaration->name, index, declaration->name, declaration->name,
                     index);
  }
}

/* ---- columns ---- */

/* Type and range of a column as the program sees it; false after an error. */
static bool describe(tacit_bind_t *bind, const tacit_stmt_t *declaration, const tacit_column_schema_t *column,
                     double lower, double upper, tacit_graph_column_t *described) {
  bool is_int = declaration->type.kind == TACIT_TYPE_INT;
  *described = (tacit_graph_column_t){.source = column->name,
                                      .level = NAN,
                                      .lower = column->lower,
                                      .upper = column->upper,
                                      .is_integer = is_int};
  switch (column->type) {
  case TACIT_COLUMN_ID:
    tacit_lower_fail(bind->lower, declaration->offset,
                     "'%s' says whose record it is: it is no variable of a model", column->name);
    return false;
  case TACIT_COLUMN_CATEGORICAL: {
    bool is_indicator = lower == 0 && upper == 1 && column->n_levels == 2;
    if (!is_int) {
      tacit_lower_fail(bind->lower, declaration->offset,
                       "'%s' has levels in the schema: declare it int<lower=1, upper=%zu>", column->name,
                       column->n_levels);
      return false;
    }
    if (!is_indicator && isfinite(upper) && upper != (double)column->n_levels) {
      tacit_lower_fail(bind->lower, declaration->offset,
                       "'%s' has %zu levels in the schema, the program says %g", column->name,
                       column->n_levels, upper);
      return false;
    }
    described->offset = is_indicator ? 0 : 1;
    described->lower = described->offset;
    described->upper = described->offset + (double)column->n_levels - 1;
    break;
  }
  case TACIT_COLUMN_NUMERIC:
    if (is_int) {
      tacit_lower_fail(bind->lower, declaration->offset,
                       "'%s' is numeric in the schema, and int in the program", column->name);
      return false;
    }
    break;
  case TACIT_COLUMN_INTEGER:
  case TACIT_COLUMN_BINARY:
    break;
  }
  if (lower > described->upper || upper < described->lower) {
    tacit_lower_fail(bind->lower, declaration->offset,
                     "'%s' is from %g to %g in the schema: nothing of that is within the program's bounds",
                     column->name, described->lower, described->upper);
    return false;
  }
  described->lower = fmax(described->lower, lower);
  described->upper = fmin(described->upper, upper);
  return true;
}

/* Without a schema: a column with the bounds that are declared, and others where they are not. */
static tacit_node_t assumed_column(tacit_bind_t *bind, const tacit_stmt_t *declaration, const char *index,
                                   double lower, double upper) {
  bool is_int = declaration->type.kind == TACIT_TYPE_INT;
  double width = is_int ? 9 : 10;
  tacit_graph_column_t column = {.level = NAN, .lower = lower, .upper = upper, .is_integer = is_int};
  column.source = index[0] != '\0' ? tacit_arena_printf(bind->lower->arena, "%s.%s", declaration->name, index)
                                   : declaration->name;
  if (!isfinite(lower)) {
    column.lower = isfinite(upper) ? upper - width : is_int ? 0 : -width;
  }
  if (!isfinite(upper)) {
    column.upper = column.lower + (isfinite(lower) || is_int ? width : 2 * width);
  }
  column.lower = is_int ? ceil(column.lower) : column.lower;
  column.upper = is_int ? floor(column.upper) : column.upper;
  if (!(column.lower <= column.upper)) {
    tacit_lower_fail(bind->lower, declaration->offset, "no value is within the bounds of '%s'",
                     declaration->name);
    return TACIT_NODE_NONE;
  }
  return column.source != NULL ? tacit_graph_column(bind->lower->graph, &column) : TACIT_NODE_NONE;
}

static tacit_node_t column_node(void *user, const tacit_stmt_t *declaration, const char *index, size_t i,
                                double *lower, double *upper) {
  tacit_bind_t *bind = user;
  (void)i;
  if (bind->settings->schema == NULL) {
    return assumed_column(bind, declaration, index, *lower, *upper);
  }
  const tacit_column_schema_t *column =
      index[0] == '\0' ? tacit_identifier_column(bind->settings->schema, declaration->name)
                       : find_column(bind, declaration->name, index);
  tacit_graph_column_t described;
  const char *element = index[0] != '\0'
                            ? tacit_arena_printf(bind->lower->arena, "%s.%s", declaration->name, index)
                            : declaration->name;
  const tacit_program_constant_t *fixed = element != NULL ? find_constant(bind, element) : NULL;
  if (column == NULL && fixed != NULL &&
      fixed->n == 1) { /* the same for all records, as a design matrix's column of ones */
    *lower = *upper = fixed->values[0];
    return tacit_lower_constant(bind->lower, fixed->values[0]);
  }
  if (column == NULL) {
    fail_missing(bind, declaration, index);
    return TACIT_NODE_NONE;
  }
  if (!describe(bind, declaration, column, *lower, *upper, &described)) {
    return TACIT_NODE_NONE;
  }
  *lower = described.lower;
  *upper = described.upper;
  return tacit_graph_column(bind->lower->graph, &described);
}

static bool is_column(void *user, const tacit_stmt_t *declaration) {
  const tacit_bind_t *bind = user;
  if (find_constant(bind, declaration->name) != NULL) {
    return false;
  }
  bool is_size = declaration->type.kind == TACIT_TYPE_INT && declaration->type.n_sizes == 0 &&
                 tacit_axis_is_size(bind->lower->source, declaration->name);
  if (bind->settings->schema == NULL) {
    return !is_size;
  }
  return !is_size || find_column(bind, declaration->name, "") != NULL;
}

/* ---- constants ---- */

static bool is_name(const tacit_expr_t *expr, const char *name) {
  return expr != NULL && expr->kind == TACIT_EXPR_NAME && strcmp(expr->name, name) == 0;
}

/* How many columns x.1, x.2, ... there are, or numbers in their place. */
static size_t count_columns(const tacit_bind_t *bind, const char *name) {
  for (size_t n = 0;; n++) {
    char index[24];
    char element[256];
    snprintf(index, sizeof index, "%zu", n + 1);
    snprintf(element, sizeof element, "%s.%s", name, index);
    if (find_column(bind, name, index) == NULL && find_constant(bind, element) == NULL) {
      return n;
    }
  }
}

/*
 * A size that the schema knows: the levels of a column whose upper bound it is, or the columns that a vector
 * is made of. The schema is public, so this tells nothing.
 */
static bool infer(const tacit_bind_t *bind, const tacit_stmt_t *stmt, const char *name, double *value) {
  if (stmt == NULL) {
    return false;
  }
  for (size_t i = 0; stmt->kind == TACIT_STMT_BLOCK && i < stmt->n_body; i++) {
    if (infer(bind, stmt->body[i], name, value)) {
      return true;
    }
  }
  if (stmt->kind != TACIT_STMT_DECLARE) {
    return false;
  }
  const tacit_column_schema_t *column = find_column(bind, stmt->name, "");
  if (stmt->type.kind == TACIT_TYPE_INT && is_name(stmt->type.upper, name) && column != NULL &&
      (column->type == TACIT_COLUMN_CATEGORICAL || column->type == TACIT_COLUMN_INTEGER)) {
    *value = column->type == TACIT_COLUMN_CATEGORICAL ? (double)column->n_levels : column->upper;
    return true;
  }
  const char *axis = bind->lower->axis;
  size_t own = 0;
  bool is_size = false;
  for (size_t i = 0; i < stmt->type.n_sizes; i++) {
    bool is_axis = axis != NULL && is_name(stmt->type.sizes[i], axis);
    own += !is_axis;
    is_size |= !is_axis && is_name(stmt->type.sizes[i], name);
  }
  *value = is_size && own == 1 ? (double)count_columns(bind, stmt->name) : 0;
  return *value > 0;
}

/* The loop over 2:K, or 1:K, that fills what has Kc columns. */
static const tacit_stmt_t *find_loop(const tacit_stmt_t *stmt, const char *end) {
  if (stmt != NULL && stmt->kind == TACIT_STMT_FOR && is_name(stmt->right, end) &&
      stmt->left->kind == TACIT_EXPR_NUMBER) {
    return stmt;
  }
  const tacit_stmt_t *found = NULL;
  for (size_t i = 0; stmt != NULL && i < stmt->n_body && found == NULL; i++) {
    found = find_loop(stmt->body[i], end);
  }
  return found;
}

/* As brms writes it: Kc columns are those of the K that are centred, all but the intercept's. */
static bool infer_centred(const tacit_bind_t *bind, const char *name, double *value) {
  const tacit_source_t *source = bind->lower->source;
  if (strncmp(name, "Kc", 2) != 0 || strlen(name) > 60) {
    return false;
  }
  char whole[64];
  snprintf(whole, sizeof whole, "K%s", name + 2);
  const tacit_stmt_t *loop = find_loop(source->blocks[TACIT_BLOCK_TRANSFORMED_DATA], whole);
  const tacit_program_constant_t *given = find_constant(bind, whole);
  double n = bind->assumed_size;
  bool is_known = loop != NULL && tacit_axis_declaration(source, whole) != NULL &&
                  (given != NULL || bind->settings->schema == NULL ||
                   infer(bind, source->blocks[TACIT_BLOCK_DATA], whole, &n));
  *value = (given != NULL ? given->values[0] : n) - (loop != NULL ? loop->left->number : 1) + 1;
  return is_known && *value > 0;
}

/* Numbers for a check without a schema, within their bounds. */
static double assumed_number(const tacit_bind_t *bind, const tacit_stmt_t *declaration, size_t i,
                             double lower, double upper) {
  bool is_int = declaration->type.kind == TACIT_TYPE_INT;
  double x = is_int ? declaration->type.n_sizes > 0
                    : 0.3 + 0.1 * (double)(i * 7 % 5); /* arrays of ints are mostly indices */
  if (is_int && declaration->type.n_sizes == 0 &&
      tacit_axis_is_size(bind->lower->source, declaration->name)) {
    x = infer_centred(bind, declaration->name, &x) ? x : bind->assumed_size;
  }
  if (declaration->type.kind == TACIT_TYPE_ORDERED || declaration->type.kind == TACIT_TYPE_POSITIVE_ORDERED) {
    x = 1 + (double)i;
  }
  if (declaration->type.kind >= TACIT_TYPE_CORR) {
    x = i % ((size_t)bind->assumed_size + 1) == 0;
  }
  return fmin(fmax(x, lower), upper);
}

static double bound(tacit_lower_t *lower, const tacit_expr_t *expr, double fallback) {
  double x;
  if (expr == NULL) {
    return fallback;
  }
  tacit_value_t value = tacit_lower_expr(lower, expr);
  return tacit_value_constant(lower, &value, &x) ? x : fallback;
}

static bool constant(void *user, const tacit_stmt_t *declaration, size_t i, size_t n, double *value) {
  tacit_bind_t *bind = user;
  const tacit_program_constant_t *given = find_constant(bind, declaration->name);
  if (given != NULL) {
    if (given->n != n) {
      tacit_lower_fail(bind->lower, declaration->offset, "'%s' is given as %zu numbers; it has %zu",
                       declaration->name, given->n, n);
      return false;
    }
    *value = given->values[i];
    return true;
  }
  if (bind->settings->schema == NULL) {
    *value = assumed_number(bind, declaration, i, bound(bind->lower, declaration->type.lower, -INFINITY),
                            bound(bind->lower, declaration->type.upper, INFINITY));
    return true;
  }
  bool is_size = declaration->type.kind == TACIT_TYPE_INT && declaration->type.n_sizes == 0;
  if (is_size && (infer(bind, bind->lower->source->blocks[TACIT_BLOCK_DATA], declaration->name, value) ||
                  infer_centred(bind, declaration->name, value))) {
    return true;
  }
  if (bind->lower->axis != NULL && find_column(bind, declaration->name, "") != NULL) {
    tacit_lower_fail(bind->lower, declaration->offset,
                     "'%s' is a column of the schema, and not declared for '%s' records: write vector[%s] or "
                     "array[%s]",
                     declaration->name, bind->lower->axis, bind->lower->axis, bind->lower->axis);
    return false;
  }
  tacit_lower_fail(bind->lower, declaration->offset,
                   "'%s' is no column of the schema, and no public number is given for it: --set %s=...",
                   declaration->name, declaration->name);
  return false;
}

static bool given(void *user, const char *text, double *value) {
  const tacit_program_constant_t *found = find_constant(user, text);
  if (found != NULL && found->n == 1) {
    *value = found->values[0];
  }
  return found != NULL && found->n == 1;
}

void tacit_bind_init(tacit_bind_t *bind, tacit_lower_t *lower, const tacit_program_settings_t *settings,
                     double assumed_size) {
  *bind = (tacit_bind_t){.lower = lower,
                         .settings = settings,
                         .assumed_size = assumed_size,
                         .outside = {.user = bind,
                                     .constant = constant,
                                     .is_column = is_column,
                                     .column = column_node,
                                     .given = given,
                                     .is_assumed = settings->schema == NULL}};
}
