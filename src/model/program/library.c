#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/ast.h"
#include "program/language.h"

static bool has_ending(const char *name, const char *ending) {
  size_t n = strlen(name), m = strlen(ending);
  return n > m && strcmp(name + n - m, ending) == 0;
}

/* What is there for distributions, not for people. */
static bool is_helper(const char *name) {
  static const char *const endings[] = {"_lcdf", "_lccdf",    "_half",  "_helper",
                                        "_mean", "_location", "_linear"};
  bool is_one = false;
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    is_one = is_one || has_ending(name, endings[i]);
  }
  return is_one;
}

/* The comment on the line above a function. */
static const char *summary_of(tacit_arena_t *arena, const tacit_source_t *source, size_t offset) {
  size_t end = offset;
  while (end > 0 && source->text[end - 1] != '\n') {
    end--;
  }
  if (end == 0) {
    return "";
  }
  size_t begin = --end;
  while (begin > 0 && source->text[begin - 1] != '\n') {
    begin--;
  }
  if (end - begin < 4 || strncmp(source->text + begin, "// ", 3) != 0 || source->text[begin + 3] == '-') {
    return "";
  }
  return tacit_arena_text(arena, source->text + begin + 3, end - begin - 3);
}

static const char *arguments_of(tacit_arena_t *arena, const tacit_function_t *f, size_t first) {
  const char *text = "";
  for (size_t i = first; i < f->n_args && text != NULL; i++) {
    text = tacit_arena_printf(arena, "%s%s%s", text, i > first ? ", " : "", f->arg_names[i]);
  }
  return text;
}

static int by_name(const void *a, const void *b) {
  const tacit_program_entry_t *left = a, *right = b;
  if (left->is_distribution != right->is_distribution) {
    return left->is_distribution ? -1 : 1;
  }
  int order = strcmp(left->name, right->name);
  return order != 0 ? order : strcmp(left->arguments, right->arguments);
}

/* Functions that the graph has by itself are of one or two numbers, and named as there. */
static size_t add_operations(tacit_program_entry_t *entries) {
  static const char *const names[][3] = {
      {"abs", "x", "|x|"},
      {"floor", "x", ""},
      {"sqrt", "x", "square root"},
      {"pow", "x, y", "x^y"},
      {"fmin", "x, y", "the smaller"},
      {"fmax", "x, y", "the larger"},
      {"exp", "x", ""},
      {"expm1", "x", "exp(x) - 1"},
      {"log", "x", "natural logarithm"},
      {"log1p", "x", "log(1 + x)"},
      {"log1p_exp", "x", "log(1 + exp(x))"},
      {"log1m_exp", "x", "log(1 - exp(x)), x < 0"},
      {"inv_logit", "x", "1 / (1 + exp(-x))"},
      {"tanh", "x", ""},
      {"sin", "x", ""},
      {"cos", "x", ""},
      {"atan", "x", ""},
      {"lgamma_diff", "a, b", "lgamma(a + b) - lgamma(a) without what cancels, a and a + b positive"},
      {"digamma", "x", "derivative of lgamma"},
      {"trigamma", "x", "derivative of digamma"},
      {"erf", "x", "error function"},
      {"erfc", "x", "1 - erf(x)"},
      {"Phi", "x", "probability below x of the standard normal"},
      {"log_Phi", "x", "log of Phi, without underflow"},
      {"inv_Phi", "p", "quantile of the standard normal"},
      {"sum", "x", "of all elements"},
      {"prod", "x", "of all elements"},
      {"mean", "x", "of a record's values, of parameters or public numbers"},
      {"min", "x", ""},
      {"max", "x", ""},
      {"log_sum_exp", "x", "log(sum(exp(x)))"},
      {"dot_product", "x, y", "sum(x .* y)"},
      {"dot_self", "x", "sum(x .* x)"},
      {"cumulative_sum", "x", ""},
      {"rep_vector", "x, n", ""},
      {"rep_row_vector", "x, n", ""},
      {"rep_matrix", "x, m, n", ""},
      {"rep_array", "x, n", ""},
      {"append_row", "x, y", ""},
      {"append_col", "x, y", ""},
      {"append_array", "x, y", ""},
      {"head", "x, n", "the first n"},
      {"tail", "x, n", "the last n"},
      {"segment", "x, i, n", "n from the i-th on"},
      {"col", "m, j", ""},
      {"row", "m, i", ""},
      {"size", "x", ""},
      {"rows", "m", ""},
      {"cols", "m", ""},
      {"num_elements", "x", ""},
      {"dims", "x", ""},
      {"diag_matrix", "v", ""},
      {"to_vector", "x", ""},
      {"to_row_vector", "x", ""},
      {"to_array_1d", "x", ""},
      {"to_matrix", "x, m, n", ""},
      {"to_int", "x", "of a known number"}};
  size_t n = sizeof names / sizeof names[0];
  for (size_t i = 0; entries != NULL && i < n; i++) {
    entries[i] =
        (tacit_program_entry_t){.name = names[i][0], .arguments = names[i][1], .summary = names[i][2]};
  }
  return n;
}

tacit_status_t tacit_program_library_init(tacit_program_library_t *library, tacit_error_t *err) {
  tacit_source_t source;
  *library = (tacit_program_library_t){0};
  tacit_arena_t *arena = library->owner = tacit_alloc_zero(1, sizeof *arena);
  if (arena == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_source_parse(&source, arena, tacit_library, tacit_library_size, true, err);
  size_t most = add_operations(NULL);
  for (const tacit_function_t *f = status == TACIT_OK ? source.functions : NULL; f != NULL; f = f->next) {
    most++;
  }
  tacit_program_entry_t *list = tacit_arena_alloc(arena, most, sizeof *list);
  size_t n = list != NULL ? add_operations(list) : 0;
  for (const tacit_function_t *f = list != NULL ? source.functions : NULL; f != NULL; f = f->next) {
    bool is_density = has_ending(f->name, "_lpdf") || has_ending(f->name, "_lpmf");
    if (!is_helper(f->name)) {
      list[n++] = (tacit_program_entry_t){
          .name = tacit_arena_text(arena, f->name, strlen(f->name) - (is_density ? 5 : 0)),
          .arguments = arguments_of(arena, f, is_density),
          .summary = summary_of(arena, &source, f->offset),
          .is_distribution = is_density};
    }
  }
  if (status == TACIT_OK && arena->failed) {
    status = tacit_error_memory(err);
  }
  if (status != TACIT_OK) {
    tacit_program_library_clear(library);
    return status;
  }
  qsort(list, n, sizeof *list, by_name);
  library->entries = list;
  library->n = n;
  return TACIT_OK;
}

void tacit_program_library_clear(tacit_program_library_t *library) {
  if (library->owner != NULL) {
    tacit_arena_clear(library->owner);
    tacit_free(library->owner);
  }
  *library = (tacit_program_library_t){0};
}
