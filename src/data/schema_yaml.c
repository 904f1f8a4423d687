/*
 * What YAML a schema may be made of: one document of mappings, lists and texts, without anchors and aliases.
 */
#include <string.h>

#include "data/schema_internal.h"

tacit_status_t tacit_schema_fault(const tacit_schema_reader_t *reader, const yaml_node_t *at, const char *format, ...) {
  tacit_text_t what = {0};
  va_list args;
  va_start(args, format);
  tacit_text_vprintf(&what, format, args);
  va_end(args);
  tacit_status_t status =
      what.failed ? tacit_error_memory(reader->err)
                  : tacit_error_set(reader->err, TACIT_ERR_SCHEMA, reader->name, "%s:%zu:%zu: %s", reader->name,
                                    at->start_mark.line + 1, at->start_mark.column + 1, what.data);
  tacit_text_clear(&what);
  return status;
}

tacit_status_t tacit_schema_text(const tacit_schema_reader_t *reader, const yaml_node_t *node, const char *key,
                                char **text) {
  if (node->type != YAML_SCALAR_NODE) {
    return tacit_schema_fault(reader, node, "%s: expected one word or text", key);
  }
  tacit_free(*text);
  *text = tacit_strdup(tacit_schema_scalar(node));
  return *text != NULL ? TACIT_OK : tacit_error_memory(reader->err);
}

static const tacit_schema_key_t *find_key(const tacit_schema_key_t *keys, size_t n_keys, const char *name,
                                          tacit_nearest_t *nearest) {
  for (size_t i = 0; i < n_keys; i++) {
    if (strcmp(keys[i].name, name) == 0) {
      return &keys[i];
    }
    tacit_nearest_offer(nearest, keys[i].name);
  }
  return NULL;
}

/* Refuse the key of `pair` if an earlier pair of the mapping has it; known keys are few. */
static tacit_status_t refuse_duplicate(const tacit_schema_reader_t *reader, const yaml_node_t *mapping, const yaml_node_pair_t *pair) {
  const yaml_node_t *key = yaml_document_get_node(reader->document, pair->key);
  for (yaml_node_pair_t *other = mapping->data.mapping.pairs.start; other < pair; other++) {
    const yaml_node_t *known = yaml_document_get_node(reader->document, other->key);
    if (known->type == YAML_SCALAR_NODE && strcmp(tacit_schema_scalar(known), tacit_schema_scalar(key)) == 0) {
      return tacit_schema_fault(reader, key, "'%s' is given twice", tacit_schema_scalar(key));
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_schema_mapping(tacit_schema_reader_t *reader, const yaml_node_t *mapping, const char *what,
                                    const tacit_schema_key_t *keys, size_t n_keys, void *target) {
  if (mapping->type != YAML_MAPPING_NODE) {
    return tacit_schema_fault(reader, mapping, "%s: expected `key: value` pairs", what);
  }
  yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
  for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < end; pair++) {
    const yaml_node_t *key = yaml_document_get_node(reader->document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(reader->document, pair->value);
    if (key->type != YAML_SCALAR_NODE) {
      return tacit_schema_fault(reader, key, "%s: expected a word as key", what);
    }
    tacit_nearest_t nearest = {.name = tacit_schema_scalar(key)};
    const tacit_schema_key_t *known = find_key(keys, n_keys, tacit_schema_scalar(key), &nearest);
    char hint[TACIT_HINT_SIZE];
    if (known == NULL) {
      return tacit_schema_fault(reader, key, "%s has no key '%s'%s", what, tacit_schema_scalar(key),
                                tacit_nearest_hint(&nearest, hint));
    }
    tacit_status_t status = refuse_duplicate(reader, mapping, pair);
    if (status == TACIT_OK) {
      status = known->read(reader, key, value, target);
    }
    if (status != TACIT_OK) {
      return status;
    }
  }
  return TACIT_OK;
}

/* Why an event has no place in a schema, or NULL. */
static const char *refusal(const yaml_event_t *event, size_t n_documents) {
  const yaml_char_t *anchor = event->type == YAML_SCALAR_EVENT           ? event->data.scalar.anchor
                              : event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.anchor
                              : event->type == YAML_MAPPING_START_EVENT  ? event->data.mapping_start.anchor
                                                                         : NULL;
  if (event->type == YAML_ALIAS_EVENT || anchor != NULL) {
    return "anchors (&) and aliases (*) have no place in a schema: write the value out, or quote it if it is a text";
  }
  if (event->type == YAML_SCALAR_EVENT && memchr(event->data.scalar.value, '\0', event->data.scalar.length) != NULL) {
    return "a text with a NUL byte";
  }
  if (event->type == YAML_DOCUMENT_START_EVENT && n_documents > 0) {
    return "expected one YAML document only"; /* a second one would be ignored without a word */
  }
  return NULL;
}

static tacit_status_t check_events(yaml_parser_t *parser, const char *name, tacit_error_t *err) {
  size_t n_documents = 0;
  for (bool at_end = false; !at_end;) {
    yaml_event_t event;
    if (!yaml_parser_parse(parser, &event)) {
      return tacit_yaml_problem(parser, name, err);
    }
    const char *why = refusal(&event, n_documents);
    yaml_mark_t mark = event.start_mark;
    n_documents += event.type == YAML_DOCUMENT_START_EVENT;
    at_end = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
    if (why != NULL) {
      return tacit_error_set(err, TACIT_ERR_SCHEMA, name, "%s:%zu:%zu: %s", name, mark.line + 1, mark.column + 1, why);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_schema_check_yaml(const char *text, size_t n, const char *name, tacit_error_t *err) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) {
    return tacit_error_memory(err);
  }
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
  tacit_status_t status = check_events(&parser, name, err);
  yaml_parser_delete(&parser);
  return status;
}
