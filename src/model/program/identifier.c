#include "program/identifier.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#include "formula/names.h"

static const char suffix[] = "_column";

/* Words that no variable can be called. */
static bool is_word(const char *name) {
  static const char *const words[] = {"for",
                                      "in",
                                      "while",
                                      "repeat",
                                      "until",
                                      "if",
                                      "then",
                                      "else",
                                      "true",
                                      "false",
                                      "target",
                                      "int",
                                      "real",
                                      "complex",
                                      "vector",
                                      "simplex",
                                      "unit_vector",
                                      "sum_to_zero_vector",
                                      "ordered",
                                      "positive_ordered",
                                      "row_vector",
                                      "matrix",
                                      "cholesky_factor_corr",
                                      "column_stochastic_matrix",
                                      "row_stochastic_matrix",
                                      "cholesky_factor_cov",
                                      "corr_matrix",
                                      "cov_matrix",
                                      "complex_vector",
                                      "complex_row_vector",
                                      "complex_matrix",
                                      "functions",
                                      "model",
                                      "data",
                                      "parameters",
                                      "quantities",
                                      "transformed",
                                      "generated",
                                      "statistic",
                                      "var",
                                      "return",
                                      "break",
                                      "continue",
                                      "lower",
                                      "upper",
                                      "offset",
                                      "multiplier",
                                      "print",
                                      "reject",
                                      "fatal_error",
                                      "profile",
                                      "array",
                                      "tuple",
                                      "void",
                                      "truncate",
                                      "jacobian"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(words[i], name) == 0) {
      return true;
    }
  }
  return false;
}

static bool can_stand(const char *name) { return tacit_name_is_legal(name) && strchr(name, '.') == NULL; }

/* The name of column i as it can be spelled in ASCII. */
static bool spell(tacit_text_t *text, const char *name, size_t i) {
  text->length = 0;
  if (name[0] >= '0' && name[0] <= '9') {
    tacit_text_printf(text, "x");
  }
  if (!tacit_name_append_plain(text, name) || text->length == 0 || text->data[0] == '_') {
    text->length = 0;
    tacit_text_printf(text, "column_%zu", i + 1);
  }
  return !text->failed;
}

/* names->names[k] <- how column order[k] is spelled: first those that are names already, which keep them. */
static bool spell_all(tacit_names_t *names, size_t *order, const tacit_schema_t *schema) {
  size_t n = tacit_schema_n_columns(schema);
  tacit_text_t text = {0};
  tacit_error_t err;
  bool ok = tacit_names_init(names, n > 0 ? n : 1, &err) == TACIT_OK;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < n && ok; i++) {
      const char *name = tacit_schema_column(schema, i)->name;
      if (can_stand(name) == (pass == 0)) {
        order[names->n] = i;
        ok = (pass == 0 || spell(&text, name, i)) &&
             tacit_names_add(names, name, pass == 0 ? name : text.data, &err) == TACIT_OK;
      }
    }
  }
  tacit_text_clear(&text);
  return ok;
}

/* The place of the column that is spelled so; SIZE_MAX: there is none. */
static size_t find_spelled(const tacit_names_t *names, const char *name, size_t length) {
  for (size_t k = 0; k < names->n; k++) {
    if (strlen(names->names[k]) == length && strncmp(names->names[k], name, length) == 0) {
      return k;
    }
  }
  return SIZE_MAX;
}

const tacit_column_schema_t *tacit_identifier_column(const tacit_schema_t *schema, const char *name) {
  const tacit_column_schema_t *column = tacit_schema_find(schema, name);
  size_t *order = column == NULL ? tacit_alloc_zero(tacit_schema_n_columns(schema) + 1, sizeof *order) : NULL,
         n = strlen(name);
  if (order == NULL) {
    return column;
  }
  tacit_names_t names;
  if (spell_all(&names, order, schema)) {
    size_t k = find_spelled(&names, name, n), more = sizeof suffix - 1;
    if (k == SIZE_MAX && n > more && strcmp(name + n - more, suffix) == 0) {
      k = find_spelled(&names, name, n - more);
      k = k == SIZE_MAX ? find_spelled(&names, name, n - more + 1)
                        : k; /* "x_column" of x_, as no name holds two '_' */
    }
    column = k != SIZE_MAX ? tacit_schema_column(schema, order[k]) : NULL;
  }
  tacit_names_clear(&names);
  tacit_free(order);
  return column;
}

const char *tacit_identifier_of(tacit_arena_t *arena, const tacit_schema_t *schema,
                                const tacit_column_schema_t *column,
                                bool (*is_taken)(const void *user, const char *name), const void *user) {
  size_t *order = tacit_arena_alloc(arena, tacit_schema_n_columns(schema) + 1, sizeof *order);
  const char *name = column->name;
  tacit_names_t names = {0};
  if (order != NULL && spell_all(&names, order, schema)) {
    for (size_t k = 0; k < names.n; k++) {
      name = tacit_schema_column(schema, order[k]) == column
                 ? tacit_arena_text(arena, names.names[k], strlen(names.names[k]))
                 : name;
    }
  } else {
    arena->failed = true;
  }
  tacit_names_clear(&names);
  if (arena->failed || !(is_word(name) || (is_taken != NULL && is_taken(user, name)))) {
    return arena->failed ? NULL : name;
  }
  name = tacit_arena_printf(arena, "%s%s", name, suffix + (name[strlen(name) - 1] == '_'));
  return name != NULL && tacit_identifier_column(schema, name) == column ? name : NULL;
}
