#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "base/yaml_file.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static tacit_status_t fault_status(const tacit_yaml_t *yaml) {
  return yaml->fault != TACIT_OK ? yaml->fault : TACIT_ERR_SYNTAX;
}

/* What stands for the whole in messages. */
static const char *name_of(const tacit_yaml_t *yaml) {
  return yaml->name[0] != '\0' ? yaml->name : yaml->what;
}

/* The error for what the parser refuses. */
static tacit_status_t problem(const tacit_yaml_t *yaml, const yaml_parser_t *parser) {
  if (parser->error == YAML_MEMORY_ERROR) {
    return tacit_error_memory(yaml->err);
  }
  yaml_mark_t mark = parser->problem_mark;
  return tacit_error_set(yaml->err, TACIT_ERR_SYNTAX, name_of(yaml), "%s:%zu:%zu: not valid YAML: %s",
                         name_of(yaml), mark.line + 1, mark.column + 1,
                         parser->problem != NULL ? parser->problem : "unreadable text");
}

/* Why an event has no place in any of our files, or NULL. */
static const char *refusal(const yaml_event_t *event, size_t n_documents) {
  const yaml_char_t *anchor = event->type == YAML_SCALAR_EVENT           ? event->data.scalar.anchor
                              : event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.anchor
                              : event->type == YAML_MAPPING_START_EVENT  ? event->data.mapping_start.anchor
                                                                         : NULL;
  if (event->type == YAML_ALIAS_EVENT || anchor != NULL) {
    return "anchors (&) and aliases (*) have no place here: write the value out, or quote it if it is a text";
  }
  if (event->type == YAML_SCALAR_EVENT &&
      memchr(event->data.scalar.value, '\0', event->data.scalar.length) != NULL) {
    return "a text with a NUL byte";
  }
  if (event->type == YAML_DOCUMENT_START_EVENT && n_documents > 0) {
    return "expected one YAML document only"; /* a second one would be ignored without a word */
  }
  return NULL;
}

static tacit_status_t check_events(const tacit_yaml_t *yaml, yaml_parser_t *parser) {
  size_t n_documents = 0;
  for (bool at_end = false; !at_end;) {
    yaml_event_t event;
    if (!yaml_parser_parse(parser, &event)) {
      return problem(yaml, parser);
    }
    const char *why = refusal(&event, n_documents);
    yaml_mark_t mark = event.start_mark;
    n_documents += event.type == YAML_DOCUMENT_START_EVENT;
    at_end = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
    if (why != NULL) {
      return tacit_error_set(yaml->err, fault_status(yaml), name_of(yaml), "%s:%zu:%zu: %s", name_of(yaml),
                             mark.line + 1, mark.column + 1, why);
    }
  }
  return TACIT_OK;
}

static tacit_status_t parse(tacit_yaml_t *yaml, const char *text, size_t n, bool is_check) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) {
    return tacit_error_memory(yaml->err);
  }
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
  tacit_status_t status = is_check                                     ? check_events(yaml, &parser)
                          : yaml_parser_load(&parser, &yaml->document) ? TACIT_OK
                                                                       : problem(yaml, &parser);
  yaml_parser_delete(&parser);
  return status;
}

tacit_status_t tacit_yaml_load(tacit_yaml_t *yaml, const char *text, size_t n) {
  tacit_status_t status = parse(yaml, text, n, true);
  if (status == TACIT_OK) {
    status = parse(yaml, text, n, false);
    yaml->is_open = status == TACIT_OK;
  }
  return status;
}

/* Append the keys that lead from `from` to `at`; false where none do. */
static bool put_keys(tacit_text_t *text, yaml_document_t *document, const yaml_node_t *from,
                     const yaml_node_t *at, size_t depth) {
  enum { MAX_DEPTH = 8 }; /* of what faults are found in */
  size_t before = text->length;
  bool is_found = from == at;
  if (from->type == YAML_MAPPING_NODE && depth < MAX_DEPTH) {
    for (const yaml_node_pair_t *pair = from->data.mapping.pairs.start;
         pair < from->data.mapping.pairs.top && !is_found; pair++) {
      const yaml_node_t *key = yaml_document_get_node(document, pair->key);
      text->length = before;
      tacit_text_printf(text, "%s%.64s", before > 0 ? "." : "", tacit_yaml_scalar(key));
      is_found =
          key == at || put_keys(text, document, yaml_document_get_node(document, pair->value), at, depth + 1);
    }
  }
  if (from->type == YAML_SEQUENCE_NODE && depth < MAX_DEPTH) {
    for (const yaml_node_item_t *item = from->data.sequence.items.start;
         item < from->data.sequence.items.top && !is_found; item++) {
      text->length = before;
      tacit_text_printf(text, "[%zu]", (size_t)(item - from->data.sequence.items.start));
      is_found = put_keys(text, document, yaml_document_get_node(document, *item), at, depth + 1);
    }
  }
  return is_found;
}

/* "clinic.yaml:3:7", or the keys, "columns.age.type", of a text without a name. */
static void put_place(tacit_text_t *text, const tacit_yaml_t *yaml, const yaml_node_t *at) {
  yaml_document_t document = yaml->document; /* a copy: libyaml's functions take none that is constant */
  const yaml_node_t *root = yaml_document_get_root_node(&document);
  if (yaml->name[0] != '\0') {
    tacit_text_printf(text, "%s:%zu:%zu", yaml->name, at->start_mark.line + 1, at->start_mark.column + 1);
  } else if (at == root || !put_keys(text, &document, root, at, 0)) {
    text->length = 0;
    tacit_text_printf(text, "%s", yaml->what);
  }
}

tacit_status_t tacit_yaml_fault(const tacit_yaml_t *yaml, const yaml_node_t *at, const char *format, ...) {
  tacit_text_t text = {0};
  va_list args;
  put_place(&text, yaml, at);
  tacit_text_printf(&text, ": ");
  va_start(args, format);
  tacit_text_vprintf(&text, format, args);
  va_end(args);
  tacit_status_t status =
      text.failed ? tacit_error_memory(yaml->err)
                  : tacit_error_set(yaml->err, fault_status(yaml), name_of(yaml), "%s", text.data);
  tacit_text_clear(&text);
  return status;
}

tacit_status_t tacit_yaml_missing(const tacit_yaml_t *yaml, const char *key, const char *example) {
  return tacit_error_set(yaml->err, TACIT_ERR_SYNTAX, key, "%s: %s needs `%s`, as in `%s`", name_of(yaml),
                         yaml->what, key, example);
}

/* The key of `pair`: one of `keys`, and not that of an earlier pair. */
static tacit_status_t check_key(tacit_yaml_t *yaml, const yaml_node_t *mapping, const char *what,
                                const yaml_node_pair_t *pair, const char *const *keys) {
  const yaml_node_t *key = tacit_yaml_node(yaml, pair->key);
  const char *name = tacit_yaml_scalar(key);
  tacit_nearest_t nearest = {.name = name};
  char hint[TACIT_HINT_SIZE];
  bool is_known = false;
  if (key->type != YAML_SCALAR_NODE) {
    return tacit_yaml_fault(yaml, key, "%s: expected a word as key", what);
  }
  for (size_t i = 0; keys[i] != NULL; i++) {
    is_known = is_known || strcmp(keys[i], name) == 0;
    tacit_nearest_offer(&nearest, keys[i]);
  }
  if (!is_known) {
    return tacit_yaml_fault(yaml, key, "%s has no key '%s'%s", what, name,
                            tacit_nearest_hint(&nearest, hint));
  }
  return tacit_yaml_key_in(yaml, mapping, name) == key
             ? TACIT_OK
             : tacit_yaml_fault(yaml, key, "'%s' is given twice", name);
}

tacit_status_t tacit_yaml_mapping(tacit_yaml_t *yaml, const yaml_node_t *node, const char *what,
                                  const char *const *keys) {
  tacit_status_t status = TACIT_OK;
  if (node->type != YAML_MAPPING_NODE) {
    return tacit_yaml_fault(yaml, node, "%s: expected `key: value` pairs", what);
  }
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
       pair < node->data.mapping.pairs.top && status == TACIT_OK; pair++) {
    status = check_key(yaml, node, what, pair, keys);
  }
  return status;
}

tacit_status_t tacit_yaml_check_keys(tacit_yaml_t *yaml, const yaml_node_t *mapping,
                                     const char *const *keys) {
  return tacit_yaml_mapping(yaml, mapping, yaml->what, keys);
}

tacit_status_t tacit_yaml_open(tacit_yaml_t *yaml, const char *text, size_t n, const char *const *keys) {
  tacit_status_t status = tacit_yaml_load(yaml, text, n);
  if (status != TACIT_OK) {
    return status;
  }
  const yaml_node_t *root = yaml_document_get_root_node(&yaml->document);
  if (root == NULL || root->type != YAML_MAPPING_NODE) {
    return tacit_error_set(yaml->err, fault_status(yaml), name_of(yaml),
                           "%s: %s is made of `key: value` pairs", name_of(yaml), yaml->what);
  }
  return tacit_yaml_mapping(yaml, root, yaml->what, keys);
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

yaml_node_t *tacit_yaml_node(tacit_yaml_t *yaml, int index) {
  return yaml_document_get_node(&yaml->document, index);
}

static const yaml_node_pair_t *find_pair(tacit_yaml_t *yaml, const yaml_node_t *mapping, const char *key) {
  for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
       pair < mapping->data.mapping.pairs.top; pair++) {
    if (strcmp(tacit_yaml_scalar(tacit_yaml_node(yaml, pair->key)), key) == 0) {
      return pair;
    }
  }
  return NULL;
}

yaml_node_t *tacit_yaml_find_in(tacit_yaml_t *yaml, const yaml_node_t *mapping, const char *key) {
  const yaml_node_pair_t *pair = find_pair(yaml, mapping, key);
  return pair != NULL ? tacit_yaml_node(yaml, pair->value) : NULL;
}

yaml_node_t *tacit_yaml_key_in(tacit_yaml_t *yaml, const yaml_node_t *mapping, const char *key) {
  const yaml_node_pair_t *pair = find_pair(yaml, mapping, key);
  return pair != NULL ? tacit_yaml_node(yaml, pair->key) : NULL;
}

yaml_node_t *tacit_yaml_find(tacit_yaml_t *yaml, const char *key) {
  return tacit_yaml_find_in(yaml, yaml_document_get_root_node(&yaml->document), key);
}

size_t tacit_yaml_length(const yaml_node_t *node) {
  return node->type == YAML_SEQUENCE_NODE
             ? (size_t)(node->data.sequence.items.top - node->data.sequence.items.start)
             : 0;
}

yaml_node_t *tacit_yaml_item(tacit_yaml_t *yaml, const yaml_node_t *list, size_t i) {
  return tacit_yaml_node(yaml, list->data.sequence.items.start[i]);
}

/* ---- texts, numbers ---- */

tacit_status_t tacit_yaml_text(const tacit_yaml_t *yaml, const yaml_node_t *node, const char *key,
                               char **text) {
  if (node == NULL) {
    return TACIT_OK;
  }
  if (node->type != YAML_SCALAR_NODE) {
    return tacit_yaml_fault(yaml, node, "%s: expected one word or text", key);
  }
  tacit_free(*text);
  *text = tacit_strdup(tacit_yaml_scalar(node));
  return *text != NULL ? TACIT_OK : tacit_error_memory(yaml->err);
}

tacit_status_t tacit_yaml_whole(const tacit_yaml_t *yaml, const yaml_node_t *node, const char *key,
                                double lower, double upper, size_t *n) {
  double value;
  if (node == NULL) {
    return TACIT_OK;
  }
  if (!tacit_number_parse(tacit_yaml_scalar(node), strlen(tacit_yaml_scalar(node)), &value) ||
      !(value >= lower && value <= upper) || value > floor(value)) {
    return tacit_yaml_fault(yaml, node, "%s: expected a whole number from %g to %g", key, lower, upper);
  }
  *n = (size_t)value;
  return TACIT_OK;
}

static bool parse_number(const yaml_node_t *node, double *x) {
  const char *text = tacit_yaml_scalar(node);
  return tacit_number_parse(text, strlen(text), x) && isfinite(*x);
}

tacit_status_t tacit_yaml_number_at(const tacit_yaml_t *yaml, const yaml_node_t *node, const char *key,
                                    double *x) {
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
    return tacit_yaml_fault(yaml, node, "%s must be a finite number or a list of them, not an empty list",
                            key);
  }
  double *read = tacit_alloc(length, sizeof *read);
  if (read == NULL) {
    return tacit_error_memory(yaml->err);
  }
  for (size_t i = 0; i < length; i++) {
    const yaml_node_t *item = is_list ? tacit_yaml_item(yaml, node, i) : node;
    if (!parse_number(item, &read[i])) {
      tacit_free(read);
      return tacit_yaml_fault(yaml, item, "%s must be a finite number or a list of them, not '%s'", key,
                              tacit_yaml_scalar(item));
    }
  }
  *values = read;
  *n = length;
  return TACIT_OK;
}
