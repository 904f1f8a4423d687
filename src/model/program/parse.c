#include <string.h>

#include "base/error.h"
#include "program/parse_internal.h"

typedef struct {
  const char *name;
  tacit_type_kind_t kind;
  size_t n_sizes;
} type_t;

static const type_t types[] = {{"int", TACIT_TYPE_INT, 0},
                               {"real", TACIT_TYPE_REAL, 0},
                               {"vector", TACIT_TYPE_VECTOR, 1},
                               {"row_vector", TACIT_TYPE_ROW, 1},
                               {"matrix", TACIT_TYPE_MATRIX, 2},
                               {"ordered", TACIT_TYPE_ORDERED, 1},
                               {"positive_ordered", TACIT_TYPE_POSITIVE_ORDERED, 1},
                               {"simplex", TACIT_TYPE_SIMPLEX, 1},
                               {"sum_to_zero_vector", TACIT_TYPE_SUM_TO_ZERO, 1},
                               {"corr_matrix", TACIT_TYPE_CORR, 1},
                               {"cholesky_factor_corr", TACIT_TYPE_CORR_CHOLESKY, 1}};
static const char *const refused_types[] = {"cholesky_factor_cov",
                                            "cov_matrix",
                                            "unit_vector",
                                            "complex",
                                            "complex_vector",
                                            "complex_row_vector",
                                            "complex_matrix",
                                            "tuple",
                                            "sum_to_zero_matrix",
                                            "row_stochastic_matrix",
                                            "column_stochastic_matrix"};

static const type_t *find_type(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (strcmp(types[i].name, name) == 0) {
      return &types[i];
    }
  }
  return NULL;
}

bool tacit_parse_is_type(tacit_lexer_t *lexer) {
  if (lexer->kind != TACIT_TOK_NAME) {
    return false;
  }
  for (size_t i = 0; i < sizeof refused_types / sizeof refused_types[0]; i++) {
    if (strcmp(refused_types[i], lexer->name) == 0) {
      tacit_lexer_fail(lexer, lexer->offset, "type '%s' is not in the subset", refused_types[i]);
      return false;
    }
  }
  return strcmp(lexer->name, "array") == 0 || find_type(lexer->name) != NULL;
}

/* <lower=a, upper=b>, <offset=a, multiplier=b> */
static void parse_constraint(tacit_lexer_t *lexer, tacit_type_t *type) {
  if (lexer->kind != TACIT_TOK_LESS) {
    return;
  }
  do {
    tacit_lexer_next(lexer);
    size_t offset = lexer->offset;
    const char *name = tacit_lexer_take_name(lexer, "lower, upper, offset or multiplier");
    tacit_expr_t **bound = name == NULL                      ? NULL
                           : strcmp(name, "lower") == 0      ? &type->lower
                           : strcmp(name, "upper") == 0      ? &type->upper
                           : strcmp(name, "offset") == 0     ? &type->shift
                           : strcmp(name, "multiplier") == 0 ? &type->multiplier
                                                             : NULL;
    if (bound == NULL) {
      tacit_lexer_fail(lexer, offset, "a constraint is lower, upper, offset or multiplier");
      return;
    }
    if (lexer->kind != TACIT_TOK_ASSIGN) {
      tacit_lexer_unexpected(lexer, "=");
      return;
    }
    tacit_lexer_next(lexer);
    *bound = tacit_parse_bound(lexer);
  } while (lexer->status == TACIT_OK && tacit_lexer_is(lexer, ','));
  if (lexer->status == TACIT_OK && lexer->kind != TACIT_TOK_GREATER) {
    tacit_lexer_unexpected(lexer, "> after the bounds");
    return;
  }
  tacit_lexer_next(lexer);
}

static void append(tacit_lexer_t *lexer, tacit_type_t *type, size_t n, tacit_expr_t **sizes, bool is_array) {
  tacit_expr_t **all = tacit_arena_alloc(lexer->arena, type->n_sizes + n, sizeof *all);
  if (all == NULL) {
    lexer->status = tacit_error_memory(lexer->err);
    return;
  }
  size_t kept = is_array ? 0 : type->n_sizes;
  for (size_t i = 0; i < type->n_sizes; i++) {
    all[is_array ? n + i : i] = type->sizes[i];
  }
  for (size_t i = 0; i < n; i++) {
    all[kept + i] = sizes[i];
  }
  type->sizes = all;
  type->n_sizes += n;
  type->n_array += is_array ? n : 0;
  if (type->n_sizes > 6) {
    tacit_lexer_fail(lexer, lexer->offset, "more than 6 sizes");
  }
}

static void append_sizes(tacit_lexer_t *lexer, tacit_type_t *type, size_t expected, bool is_array) {
  tacit_expr_t **sizes;
  size_t n;
  size_t offset = lexer->offset;
  tacit_parse_list(lexer, ']', &sizes, &n);
  if (lexer->status == TACIT_OK && (n == 0 || (expected > 0 && n != expected))) {
    tacit_lexer_fail(lexer, offset, "expected %zu size%s", expected > 0 ? expected : 1,
                     expected > 1 ? "s" : "");
  }
  if (lexer->status == TACIT_OK) {
    append(lexer, type, n, sizes, is_array);
  }
}

/* [array [..]] type [<..>] [..]; a name follows. */
static void parse_type(tacit_lexer_t *lexer, tacit_type_t *type) {
  *type = (tacit_type_t){0};
  if (tacit_lexer_is_name(lexer, "array")) {
    tacit_lexer_next(lexer);
    tacit_lexer_expect(lexer, '[', "array");
    append_sizes(lexer, type, 0, true);
    if (!tacit_parse_is_type(lexer) && lexer->status == TACIT_OK) {
      tacit_lexer_unexpected(lexer, "a type");
    }
  }
  const type_t *found = lexer->status == TACIT_OK ? find_type(lexer->name) : NULL;
  if (found == NULL) {
    return;
  }
  type->kind = found->kind;
  tacit_lexer_next(lexer);
  parse_constraint(lexer, type);
  if (found->n_sizes > 0) {
    tacit_lexer_expect(lexer, '[', found->name);
    append_sizes(lexer, type, found->n_sizes, false);
  }
  if (found->kind >= TACIT_TYPE_CORR && lexer->status == TACIT_OK) { /* square: its one size is both */
    append(lexer, type, 1, &type->sizes[type->n_sizes - 1], false);
  }
}

static tacit_stmt_t *new_statement(tacit_lexer_t *lexer, tacit_stmt_kind_t kind) {
  tacit_stmt_t *stmt = tacit_arena_alloc(lexer->arena, 1, sizeof *stmt);
  if (stmt == NULL) {
    if (lexer->status == TACIT_OK) {
      lexer->status = tacit_error_memory(lexer->err);
    }
    return NULL;
  }
  stmt->kind = kind;
  stmt->offset = lexer->offset;
  return stmt;
}

/* type name [= e] {, name [= e]} ; several names make a block without a scope of its own, which only
 * declarations are. */
static tacit_stmt_t *parse_declaration(tacit_lexer_t *lexer) {
  tacit_type_t type;
  parse_type(lexer, &type);
  void **items = NULL;
  size_t n = 0;
  tacit_stmt_t *stmt = NULL;
  do {
    stmt = lexer->status == TACIT_OK ? new_statement(lexer, TACIT_STMT_DECLARE) : NULL;
    if (stmt == NULL) {
      return NULL;
    }
    stmt->type = type;
    stmt->name = tacit_lexer_take_name(lexer, "a name");
    if (tacit_lexer_is(lexer, '[')) { /* int y[N]; of Stan before 2.26 */
      tacit_lexer_next(lexer);
      append_sizes(lexer, &stmt->type, 0, true);
    }
    if (lexer->kind == TACIT_TOK_ASSIGN) {
      tacit_lexer_next(lexer);
      stmt->right = tacit_parse_expr(lexer);
    }
    tacit_list_append(lexer->arena, &items, &n, stmt);
  } while (lexer->status == TACIT_OK && tacit_lexer_take(lexer, ','));
  tacit_lexer_expect(lexer, ';', "a declaration");
  if (n > 1) {
    stmt = new_statement(lexer, TACIT_STMT_BLOCK);
    if (stmt != NULL) {
      stmt->name = ""; /* no scope */
      stmt->body = (tacit_stmt_t **)items;
      stmt->n_body = n;
    }
  }
  return stmt;
}

tacit_stmt_t *tacit_parse_block(tacit_lexer_t *lexer) {
  tacit_stmt_t *block = new_statement(lexer, TACIT_STMT_BLOCK);
  if (block == NULL || !tacit_lexer_enter(lexer)) {
    return NULL;
  }
  block->offset = lexer->last_end > 0 ? lexer->last_end - 1 : 0; /* of the brace */
  void **items = NULL;
  size_t n = 0;
  while (lexer->status == TACIT_OK && !tacit_lexer_is(lexer, '}')) {
    if (lexer->kind == TACIT_TOK_END) {
      tacit_lexer_fail(lexer, block->offset, "a block is not closed: expected }");
      return NULL;
    }
    tacit_stmt_t *stmt = tacit_parse_is_type(lexer) ? parse_declaration(lexer) : tacit_parse_statement(lexer);
    if (stmt == NULL || lexer->status != TACIT_OK) {
      return NULL;
    }
    tacit_list_append(lexer->arena, &items, &n, stmt);
  }
  tacit_lexer_take(lexer, '}');
  lexer->depth--;
  block->body = (tacit_stmt_t **)items;
  block->n_body = n;
  return lexer->status == TACIT_OK ? block : NULL;
}

void tacit_parse_argument_type(tacit_lexer_t *lexer, tacit_type_t *type) {
  *type = (tacit_type_t){0};
  if (tacit_lexer_is_name(lexer, "data")) {
    tacit_lexer_next(lexer);
  }
  if (tacit_lexer_is_name(lexer, "array")) {
    tacit_lexer_next(lexer);
    tacit_lexer_expect(lexer, '[', "array");
    for (type->n_array = 1; tacit_lexer_take(lexer, ','); type->n_array++) {
    }
    tacit_lexer_expect(lexer, ']', "the commas of an array");
  }
  bool is_void = tacit_lexer_is_name(lexer, "void");
  if (!is_void && !tacit_parse_is_type(lexer)) {
    if (lexer->status == TACIT_OK) {
      tacit_lexer_unexpected(lexer, "a type");
    }
    return;
  }
  const type_t *found = is_void ? NULL : find_type(lexer->name);
  type->kind = found != NULL ? found->kind : TACIT_TYPE_VOID;
  tacit_lexer_next(lexer);
  if (tacit_lexer_take(lexer, '[')) { /* real[,] of Stan before 2.26 */
    for (type->n_array++; tacit_lexer_take(lexer, ','); type->n_array++) {
    }
    tacit_lexer_expect(lexer, ']', "the commas of an array");
  }
}

static void parse_function(tacit_lexer_t *lexer) {
  tacit_function_t *function = tacit_arena_alloc(lexer->arena, 1, sizeof *function);
  if (function == NULL) {
    lexer->status = tacit_error_memory(lexer->err);
    return;
  }
  tacit_parse_argument_type(lexer, &function->result);
  function->offset = lexer->offset;
  function->source = lexer->source;
  function->name = tacit_lexer_take_name(lexer, "a function's name");
  tacit_lexer_expect(lexer, '(', "a function's name");
  tacit_type_t arg_types[32];
  const char *arg_names[32];
  size_t n = 0;
  if (!tacit_lexer_take(lexer, ')')) {
    do {
      if (n == 32) {
        tacit_lexer_fail(lexer, lexer->offset, "more than 32 arguments");
        return;
      }
      tacit_parse_argument_type(lexer, &arg_types[n]);
      arg_names[n++] = tacit_lexer_take_name(lexer, "an argument's name");
    } while (lexer->status == TACIT_OK && tacit_lexer_take(lexer, ','));
    tacit_lexer_expect(lexer, ')', "the last argument");
  }
  function->n_args = n;
  function->arg_types = tacit_arena_alloc(lexer->arena, n, sizeof arg_types[0]);
  function->arg_names = tacit_arena_alloc(lexer->arena, n, sizeof arg_names[0]);
  if (function->arg_types == NULL || function->arg_names == NULL) {
    if (lexer->status == TACIT_OK) {
      lexer->status = tacit_error_memory(lexer->err);
    }
    return;
  }
  for (size_t i = 0; i < n; i++) {
    function->arg_types[i] = arg_types[i];
    function->arg_names[i] = arg_names[i];
  }
  if (tacit_lexer_take(lexer, ';')) {
    return; /* a declaration ahead of the definition */
  }
  tacit_lexer_expect(lexer, '{', "a function's head");
  function->body = tacit_parse_block(lexer);
  function->next = lexer->source->functions;
  lexer->source->functions = function;
}

static void parse_functions(tacit_lexer_t *lexer) {
  while (lexer->status == TACIT_OK && !tacit_lexer_is(lexer, '}') && lexer->kind != TACIT_TOK_END) {
    parse_function(lexer);
  }
}

/* The name of a block, which may be two words; TACIT_BLOCKS after an error. */
static tacit_block_t parse_block_name(tacit_lexer_t *lexer) {
  static const char *const names[TACIT_BLOCKS][2] = {
      {"functions", NULL},           {"data", NULL},  {"transformed", "data"},     {"parameters", NULL},
      {"transformed", "parameters"}, {"model", NULL}, {"generated", "quantities"}, {"statistic", NULL}};
  const char *first = lexer->kind == TACIT_TOK_NAME ? lexer->name : "";
  tacit_block_t found = TACIT_BLOCKS;
  bool has_second = strcmp(first, "transformed") == 0 || strcmp(first, "generated") == 0;
  size_t offset = lexer->offset;
  if (lexer->kind == TACIT_TOK_NAME) {
    tacit_lexer_next(lexer);
  }
  for (int i = 0; i < TACIT_BLOCKS; i++) {
    if (strcmp(names[i][0], first) == 0 &&
        (has_second ? names[i][1] != NULL && tacit_lexer_is_name(lexer, names[i][1]) : names[i][1] == NULL)) {
      found = (tacit_block_t)i;
    }
  }
  if (found == TACIT_BLOCKS) {
    tacit_lexer_fail(
        lexer, offset,
        "expected a block: data, parameters, model, or functions, transformed data, transformed parameters, "
        "generated quantities, statistic");
  } else if (has_second) {
    tacit_lexer_next(lexer);
  }
  return found;
}

static void parse_program(tacit_lexer_t *lexer) {
  int last = -1;
  while (lexer->status == TACIT_OK && lexer->kind != TACIT_TOK_END) {
    size_t offset = lexer->offset;
    tacit_block_t block = parse_block_name(lexer);
    if (lexer->status == TACIT_OK && (int)block <= last) {
      tacit_lexer_fail(
          lexer, offset,
          "this block comes too late, or twice: the order is functions, data, transformed data, parameters, "
          "transformed parameters, model, generated quantities, statistic");
    }
    last = (int)block;
    tacit_lexer_expect(lexer, '{', "a block's name");
    if (lexer->status != TACIT_OK) {
      return;
    }
    if (block == TACIT_BLOCK_FUNCTIONS) {
      parse_functions(lexer);
      tacit_lexer_expect(lexer, '}', "the last function");
    } else {
      lexer->source->blocks[block] = tacit_parse_block(lexer);
    }
  }
  if (lexer->status == TACIT_OK && lexer->source->blocks[TACIT_BLOCK_MODEL] == NULL) {
    tacit_lexer_fail(lexer, lexer->last_end, "there is no block 'model'");
  }
}

tacit_status_t tacit_source_parse(tacit_source_t *source, tacit_arena_t *arena, const char *text,
                                  size_t length, bool is_library, tacit_error_t *err) {
  *source = (tacit_source_t){.text = text, .length = length, .is_library = is_library};
  if (length > TACIT_PROGRAM_MAX_TEXT) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, NULL, "a program has at most %d bytes",
                           TACIT_PROGRAM_MAX_TEXT);
  }
  tacit_lexer_t lexer = {.source = source, .arena = arena, .err = err};
  tacit_lexer_next(&lexer);
  if (is_library) {
    parse_functions(&lexer);
  } else {
    parse_program(&lexer);
  }
  return lexer.status == TACIT_OK && arena->failed ? tacit_error_memory(err) : lexer.status;
}
