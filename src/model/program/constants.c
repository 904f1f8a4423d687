#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "program/kept.h"

enum { MAX_BYTES = 1 << 26 };

/* Values are taken. */
static tacit_status_t add(tacit_program_constants_t *constants, const char *name, size_t length,
                          double *values, size_t n, tacit_error_t *err) {
  char *copy = tacit_alloc(length + 1, 1);
  tacit_program_constant_t *items =
      tacit_grow(constants->items, constants->n, &constants->capacity, sizeof *items);
  constants->items = items != NULL ? items : constants->items;
  if (copy == NULL || values == NULL || items == NULL) {
    tacit_free(copy);
    tacit_free(values);
    return tacit_error_memory(err);
  }
  memcpy(copy, name, length);
  copy[length] = '\0';
  constants->items[constants->n++] = (tacit_program_constant_t){.name = copy, .values = values, .n = n};
  return TACIT_OK;
}

tacit_status_t tacit_program_constants_set(tacit_program_constants_t *constants, const char *text,
                                           tacit_error_t *err) {
  const char *equal = strchr(text, '=');
  size_t n = 1;
  if (equal == NULL || equal == text) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "set",
                           "option --set must be NAME=NUMBER or NAME=NUMBER,NUMBER,..., not '%s'", text);
  }
  for (const char *s = equal; *s != '\0'; s++) {
    n += *s == ',';
  }
  double *values = tacit_alloc(n, sizeof *values);
  const char *s = equal + 1;
  for (size_t i = 0; values != NULL && i < n; i++, s++) {
    size_t length = strcspn(s, ",");
    if (!tacit_number_parse(s, length, &values[i])) {
      tacit_free(values);
      return tacit_error_set(
          err, TACIT_ERR_ARGUMENT, "set", "option --set %s: '%.*s' is no number%s", text, (int)length, s,
          memchr(s, '=', length) != NULL ? "; each name wants its own: --set a=1 --set b=2" : "");
    }
    s += length;
  }
  return add(constants, text, (size_t)(equal - text), values, n, err);
}

/* Numbers of a JSON value, nested arrays row by row; `values` NULL: only count. SIZE_MAX: something else is
 * among them. */
static size_t flatten(const json_t *value, double *values) {
  if (json_is_number(value) || json_is_boolean(value)) {
    if (values != NULL) {
      *values = json_is_number(value) ? json_number_value(value) : json_is_true(value);
    }
    return 1;
  }
  size_t n = 0, i;
  const json_t *item;
  if (!json_is_array(value)) {
    return SIZE_MAX;
  }
  json_array_foreach(value, i, item) {
    size_t more = flatten(item, values != NULL ? values + n : NULL);
    if (more == SIZE_MAX) {
      return SIZE_MAX;
    }
    n += more;
  }
  return n;
}

tacit_status_t tacit_program_constants_take(tacit_program_constants_t *constants, const json_t *root,
                                            const char *path, tacit_error_t *err) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)root, name, value) {
    size_t n = flatten(value, NULL);
    if (n == SIZE_MAX) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, "constants", "%s: '%s' holds something that is no number",
                             path, name);
    }
    double *values = tacit_alloc(n, sizeof *values);
    if (values != NULL) {
      flatten(value, values);
    }
    tacit_status_t status = add(constants, name, strlen(name), values, n, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_program_constants_read(tacit_program_constants_t *constants, const char *path,
                                            tacit_error_t *err) {
  char *text;
  size_t length;
  tacit_status_t status = tacit_file_read(path, MAX_BYTES, &text, &length, err);
  if (status != TACIT_OK) {
    return status;
  }
  json_error_t wrong = {0};
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &wrong);
  tacit_free(text);
  if (!json_is_object(root)) {
    status = tacit_error_set(err, TACIT_ERR_SYNTAX, "constants",
                             "%s:%d:%d: expected a JSON object of numbers and arrays: %s", path, wrong.line,
                             wrong.column, root == NULL ? wrong.text : "it is none");
    json_decref(root);
    return status;
  }
  status = tacit_program_constants_take(constants, root, path, err);
  json_decref(root);
  return status;
}

tacit_status_t tacit_program_constants_public(tacit_program_constants_t *constants, const char *name,
                                              tacit_error_t *err) {
  bool is_found = false;
  for (size_t i = 0; i < constants->n; i++) {
    bool is_it = strcmp(constants->items[i].name, name) == 0;
    constants->items[i].is_public = constants->items[i].is_public || is_it;
    is_found = is_found || is_it;
  }
  return is_found
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "public",
                               "--public %s: no numbers are given under that name, by --set or --constants",
                               name);
}

tacit_status_t tacit_program_constants_check(const tacit_program_constants_t *constants, tacit_error_t *err) {
  for (size_t i = 0; i < constants->n; i++) {
    const tacit_program_constant_t *given = &constants->items[i];
    if (given->n > TACIT_PROGRAM_MOST_CONSTANTS && !given->is_public) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "set",
                             "'%s' is given as %zu numbers, which stand as they are in what is written: if "
                             "they are public, say --public %s; if they are "
                             "of records, make them a column",
                             given->name, given->n, given->name);
    }
  }
  return TACIT_OK;
}

void tacit_program_constants_clear(tacit_program_constants_t *constants) {
  for (size_t i = 0; i < constants->n; i++) {
    tacit_free((void *)constants->items[i].name);
    tacit_free((void *)constants->items[i].values);
  }
  tacit_free(constants->items);
  *constants = (tacit_program_constants_t){0};
}
