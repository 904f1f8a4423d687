#include <string.h>

#include "program/lower.h"

/* Which datum counts the records of an array program: the first size of what has a density. */

static const tacit_stmt_t *find_declaration(const tacit_stmt_t *stmt, const char *name) {
  if (stmt == NULL) {
    return NULL;
  }
  if (stmt->kind == TACIT_STMT_DECLARE) {
    return strcmp(stmt->name, name) == 0 ? stmt : NULL;
  }
  for (size_t i = 0; stmt->kind == TACIT_STMT_BLOCK && i < stmt->n_body; i++) {
    const tacit_stmt_t *found = find_declaration(stmt->body[i], name);
    if (found != NULL) {
      return found;
    }
  }
  return NULL;
}

const tacit_stmt_t *tacit_axis_declaration(const tacit_source_t *source, const char *name) {
  const tacit_stmt_t *found = find_declaration(source->blocks[TACIT_BLOCK_DATA], name);
  return found != NULL ? found : find_declaration(source->blocks[TACIT_BLOCK_TRANSFORMED_DATA], name);
}

static bool mentions(const tacit_expr_t *expr, const char *name) {
  if (expr == NULL) {
    return false;
  }
  if (expr->kind == TACIT_EXPR_NAME) {
    return strcmp(expr->name, name) == 0;
  }
  for (size_t i = 0; i < expr->n_args; i++) {
    if (mentions(expr->args[i], name)) {
      return true;
    }
  }
  return false;
}

static bool sizes_mention(const tacit_stmt_t *stmt, const char *name) {
  if (stmt == NULL) {
    return false;
  }
  for (size_t i = 0; stmt->kind == TACIT_STMT_DECLARE && i < stmt->type.n_sizes; i++) {
    if (mentions(stmt->type.sizes[i], name)) {
      return true;
    }
  }
  bool is_loop = stmt->kind == TACIT_STMT_FOR && (mentions(stmt->left, name) || mentions(stmt->right, name));
  for (size_t i = 0; !is_loop && i < stmt->n_body; i++) {
    is_loop = sizes_mention(stmt->body[i], name);
  }
  return is_loop;
}

bool tacit_axis_is_size(const tacit_source_t *source, const char *name) {
  for (int block = 0; block < TACIT_BLOCKS; block++) {
    if (sizes_mention(source->blocks[block], name)) {
      return true;
    }
  }
  return false;
}

typedef struct {
  const tacit_source_t *source;
  bool has_outcome;   /* there is a density of data */
  const char *found;  /* its first size */
  const char *any[2]; /* the first size of any data that the target mentions; that other statements do */
} search_t;

/* The int datum that a declaration's first size is, following transformed data such as J = n_dogs. */
static const char *first_size(const search_t *search, const tacit_stmt_t *declaration) {
  for (int i = 0; i < 8 && declaration != NULL && declaration->type.n_sizes > 0; i++) {
    const tacit_expr_t *size = declaration->type.sizes[0];
    if (size->kind != TACIT_EXPR_NAME) {
      return NULL;
    }
    const tacit_stmt_t *datum = find_declaration(search->source->blocks[TACIT_BLOCK_DATA], size->name);
    if (datum != NULL) {
      return datum->type.kind == TACIT_TYPE_INT && datum->type.n_sizes == 0 ? datum->name : NULL;
    }
    const tacit_stmt_t *other =
        find_declaration(search->source->blocks[TACIT_BLOCK_TRANSFORMED_DATA], size->name);
    if (other == NULL || other->right == NULL || other->right->kind != TACIT_EXPR_NAME) {
      return NULL;
    }
    datum = find_declaration(search->source->blocks[TACIT_BLOCK_DATA], other->right->name);
    return datum != NULL && datum->type.kind == TACIT_TYPE_INT && datum->type.n_sizes == 0 ? datum->name
                                                                                           : NULL;
  }
  return NULL;
}

/* The first name of data in an expression, that of an outcome. */
static const tacit_stmt_t *first_datum(const search_t *search, const tacit_expr_t *expr) {
  if (expr == NULL) {
    return NULL;
  }
  if (expr->kind == TACIT_EXPR_NAME) {
    return tacit_axis_declaration(search->source, expr->name);
  }
  size_t n = expr->kind == TACIT_EXPR_INDEX ? 1 : expr->n_args;
  for (size_t i = 0; i < n; i++) {
    const tacit_stmt_t *found = first_datum(search, expr->args[i]);
    if (found != NULL) {
      return found;
    }
  }
  return NULL;
}

static void look_at_outcome(search_t *search, const tacit_expr_t *expr) {
  const tacit_stmt_t *declaration = first_datum(search, expr);
  if (declaration != NULL) {
    search->has_outcome = true;
    if (search->found == NULL) {
      search->found = first_size(search, declaration);
    }
  }
}

static void look_at_expr(search_t *search, const tacit_expr_t *expr, const char **any) {
  if (expr == NULL) {
    return;
  }
  size_t n = expr->kind == TACIT_EXPR_CALL ? strlen(expr->name) : 0;
  if (n > 5 && expr->n_args > 0 &&
      (strcmp(expr->name + n - 5, "_lpdf") == 0 || strcmp(expr->name + n - 5, "_lpmf") == 0)) {
    look_at_outcome(search, expr->args[0]);
  }
  if (expr->kind == TACIT_EXPR_NAME && *any == NULL) {
    const tacit_stmt_t *declaration = tacit_axis_declaration(search->source, expr->name);
    *any = declaration != NULL ? first_size(search, declaration) : NULL;
  }
  for (size_t i = 0; i < expr->n_args; i++) {
    look_at_expr(search, expr->args[i], any);
  }
}

static void look_at(search_t *search, const tacit_stmt_t *stmt) {
  if (stmt == NULL) {
    return;
  }
  if (stmt->kind == TACIT_STMT_TILDE) {
    look_at_outcome(search, stmt->left);
  }
  if (stmt->kind == TACIT_STMT_TARGET || stmt->kind == TACIT_STMT_ASSIGN ||
      stmt->kind == TACIT_STMT_DECLARE) {
    look_at_expr(search, stmt->right, &search->any[stmt->kind != TACIT_STMT_TARGET]);
  }
  for (size_t i = 0; i < stmt->n_body; i++) {
    look_at(search, stmt->body[i]);
  }
}

/* ---- outcomes of other records ---- */

/* The datum that an outcome is, or is made from, if no record has one of its own: not declared for the axis.
 * NULL: there is none. */
static const tacit_stmt_t *other_datum(const search_t *search, const tacit_expr_t *expr, const char *axis,
                                       int depth) {
  const tacit_stmt_t *declaration = first_datum(search, expr);
  if (declaration == NULL || depth > 8) {
    return NULL;
  }
  if (find_declaration(search->source->blocks[TACIT_BLOCK_DATA], declaration->name) == NULL) {
    return other_datum(search, declaration->right, axis, depth + 1);
  }
  const char *size = first_size(search, declaration);
  return size != NULL && strcmp(size, axis) == 0 ? NULL : declaration;
}

static bool is_density(const char *name) {
  static const char *const ends[] = {"_lpdf", "_lpmf", "_lcdf", "_lccdf", "_cdf", "_ccdf"};
  size_t n = strlen(name);
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    size_t n_end = strlen(ends[i]);
    if (n > n_end && strcmp(name + n - n_end, ends[i]) == 0) {
      return true;
    }
  }
  return false;
}

static const tacit_stmt_t *other_in_expr(const search_t *search, const tacit_expr_t *expr, const char *axis) {
  const tacit_stmt_t *found = NULL;
  if (expr == NULL) {
    return NULL;
  }
  if (expr->kind == TACIT_EXPR_CALL && expr->n_args > 0 && is_density(expr->name)) {
    found = other_datum(search, expr->args[0], axis, 0);
  }
  for (size_t i = 0; i < expr->n_args && found == NULL; i++) {
    found = other_in_expr(search, expr->args[i], axis);
  }
  return found;
}

static const tacit_stmt_t *other_in(const search_t *search, const tacit_stmt_t *stmt, const char *axis) {
  if (stmt == NULL) {
    return NULL;
  }
  const tacit_stmt_t *found = stmt->kind == TACIT_STMT_TILDE ? other_datum(search, stmt->left, axis, 0)
                                                             : other_in_expr(search, stmt->right, axis);
  for (size_t i = 0; i < stmt->n_body && found == NULL; i++) {
    found = other_in(search, stmt->body[i], axis);
  }
  return found;
}

const tacit_stmt_t *tacit_axis_other(const tacit_source_t *source, const char *axis) {
  const search_t search = {.source = source};
  return other_in(&search, source->blocks[TACIT_BLOCK_MODEL], axis);
}

const char *tacit_axis_find(const tacit_source_t *source) {
  search_t search = {.source = source};
  look_at(&search, source->blocks[TACIT_BLOCK_MODEL]);
  if (search.found == NULL && !search.has_outcome) {
    look_at(&search, source->blocks[TACIT_BLOCK_TRANSFORMED_PARAMETERS]);
  }
  return search.found != NULL    ? search.found
         : search.has_outcome    ? NULL
         : search.any[0] != NULL ? search.any[0]
                                 : search.any[1];
}
