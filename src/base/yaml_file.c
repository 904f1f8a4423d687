#include "base/yaml_file.h"

#include <math.h>
#include <string.h>

tacit_status_t tacit_yaml_problem(const yaml_parser_t *parser, const char *name, tacit_error_t *err) {
  if (parser->error == YAML_MEMORY_ERROR) {
    return tacit_error_memory(err);
  }
  yaml_mark_t mark = parser->problem_mark;
  return tacit_error_set(err, TACIT_ERR_SYNTAX, name, "%s:%zu:%zu: not valid YAML: %s", name, mark.line + 1, mark.column + 1,
                         parser->problem != NULL ? parser->problem : "unreadable text");
}

tacit_status_t tacit_yaml_load(yaml_document_t *document, const char *text, size_t n, const char *name, tacit_error_t *err) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) {
    return tacit_error_memory(err);
  }
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
  tacit_status_t status = yaml_parser_load(&parser, document) ? TACIT_OK : tacit_yaml_problem(&parser, name, err);
  yaml_parser_delete(&parser);
  return status;
}

tacit_status_t tacit_yaml_fault(const tacit_yaml_t *yaml, const yaml_node_t *at, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return tacit_error_set(yaml->err, TACIT_ERR_SYNTAX, yaml->name, "%s:%zu:%zu: %s", yaml->name, at->start_mark.line + 1,
                         at->start_mark.column + 1, text);
}

tacit_status_t tacit_yaml_missing(const tacit_yaml_t *yaml, const char *key, const char *example) {
  return tacit_error_set(yaml->err, TACIT_ERR_SYNTAX, key, "%s: %s needs `%s`, as in `%s`", yaml->name, yaml->what, key, example);
}

/* The key of `pair`: one of `keys`, and not that of an earlier pair. */
static tacit_status_t check_key(tacit_yaml_t *yaml, const yaml_node_t *mapping, const yaml_node_pair_t *pair, const char *const *keys) {
  const yaml_node_t *key = tacit_yaml_node(yaml, pair->key);
  const char *name = tacit_yaml_scalar(key);
  tacit_nearest_t nearest = {.name = name};
  char hint[TACIT_HINT_SIZE];
  bool is_known = false;
  for (size_t i = 0; keys[i] != NULL; i++) {
    is_known = is_known || strcmp(keys[i], name) == 0;
    tacit_nearest_offer(&nearest, keys[i]);
  }
  if (!is_known) {
    return tacit_yaml_fault(yaml, key, "%s has no key '%s'%s", yaml->what, name, tacit_nearest_hint(&nearest, hint));
  }
  for (yaml_node_pair_t *other = mapping->data.mapping.pairs.start; other < pair; other++) {
    if (strcmp(tacit_yaml_scalar(tacit_yaml_node(yaml, other->key)), name) == 0) {
      return tacit_yaml_fault(yaml, key, "'%s' is given twice", name);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_yaml_check_keys(tacit_yaml_t *yaml, const yaml_node_t *mapping, const char *const *keys) {
  tacit_status_t status = TACIT_OK;
  for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top && status == TACIT_OK; pair++) {
    status = check_key(yaml, mapping, pair, keys);
  }
  return status;
}

tacit_status_t tacit_yaml_open(tacit_yaml_t *yaml, const char *text, size_t n, const char *const *keys) {
  tacit_status_t status = tacit_yaml_load(&yaml->document, text, n, yaml->name, yaml->err);
  if (status != TACIT_OK) {
    return status;
  }
  yaml->is_open = true;
  const yaml_node_t *root = yaml_document_get_root_node(&yaml->document);
  if (root == NULL || root->type != YAML_MAPPING_NODE) {
    return tacit_error_set(yaml->err, TACIT_ERR_SYNTAX, yaml->name, "%s: %s is made of `key: value` pairs", yaml->name, yaml->what);
  }
  return tacit_yaml_check_keys(yaml, root, keys);
}

void tacit_yaml_close(tacit_yaml_t *yaml) {
  if (yaml->is_open) {
    yaml_document_delete(&yaml->document);
    yaml->is_open = false;
  }
}

/* ---- nodes ---- */

const char *tacit_yaml_scalar(const yaml_node_t *node) {
  return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

yaml_node_t *tacit_yaml_node(tacit_yaml_t *yaml, int index) { return yaml_document_get_node(&yaml->document, index); }

yaml_node_t *tacit_yaml_find_in(tacit_yaml_t *yaml, const yaml_node_t *mapping, const char *key) {
  for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top; pair++) {
    if (strcmp(tacit_yaml_scalar(tacit_yaml_node(yaml, pair->key)), key) == 0) {
      return tacit_yaml_node(yaml, pair->value);
    }
  }
  return NULL;
}

yaml_node_t *tacit_yaml_find(tacit_yaml_t *yaml, const char *key) {
  return tacit_yaml_find_in(yaml, yaml_document_get_root_node(&yaml->document), key);
}

size_t tacit_yaml_length(const yaml_node_t *node) {
  return node->type == YAML_SEQUENCE_NODE ? (size_t)(node->data.sequence.items.top - node->data.sequence.items.start) : 0;
}

yaml_node_t *tacit_yaml_item(tacit_yaml_t *yaml, const yaml_node_t *list, size_t i) {
  return tacit_yaml_node(yaml, list->data.sequence.items.start[i]);
}

/* ---- numbers ---- */

static bool parse_number(const yaml_node_t *node, double *x) {
  const char *text = tacit_yaml_scalar(node);
  return tacit_number_parse(text, strlen(text), x) && isfinite(*x);
}

tacit_status_t tacit_yaml_number_at(const tacit_yaml_t *yaml, const yaml_node_t *node, const char *key, double *x) {
  double value;
  if (node == NULL) {
    return TACIT_OK;
  }
  if (!parse_number(node, &value)) {
    return tacit_yaml_fault(yaml, node, "%s must be a finite number, not '%s'", key, tacit_yaml_scalar(node));
  }
  *x = value;
  return TACIT_OK;
}

tacit_status_t tacit_yaml_number(tacit_yaml_t *yaml, const char *key, double *x) {
  return tacit_yaml_number_at(yaml, tacit_yaml_find(yaml, key), key, x);
}

tacit_status_t tacit_yaml_numbers(tacit_yaml_t *yaml, const char *key, double **values, size_t *n) {
  yaml_node_t *node = tacit_yaml_find(yaml, key);
  *values = NULL;
  *n = 0;
  if (node == NULL) {
    return TACIT_OK;
  }
  bool is_list = node->type == YAML_SEQUENCE_NODE;
  size_t length = is_list ? tacit_yaml_length(node) : 1;
  if (length == 0) {
    return tacit_yaml_fault(yaml, node, "%s must be a finite number or a list of them, not an empty list", key);
  }
  double *read = tacit_alloc(length, sizeof *read);
  if (read == NULL) {
    return tacit_error_memory(yaml->err);
  }
  for (size_t i = 0; i < length; i++) {
    const yaml_node_t *item = is_list ? tacit_yaml_item(yaml, node, i) : node;
    if (!parse_number(item, &read[i])) {
      tacit_free(read);
      return tacit_yaml_fault(yaml, item, "%s must be a finite number or a list of them, not '%s'", key, tacit_yaml_scalar(item));
    }
  }
  *values = read;
  *n = length;
  return TACIT_OK;
}
