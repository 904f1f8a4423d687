/* Small YAML files of `key: value` pairs: each message names file:line:column. */
#ifndef TACIT_BASE_YAML_FILE_H
#define TACIT_BASE_YAML_FILE_H

#include <yaml.h>

#include "tacit/base.h"

/* A document, and where errors go. All zeros but these is closed. */
typedef struct tacit_yaml {
  const char *name, *what; /* "model.yaml", "a model"; name "": a text that nobody wrote, whose faults are
                              named by their keys */
  tacit_error_t *err;
  tacit_status_t fault; /* of what is YAML and wrong; 0: TACIT_ERR_SYNTAX */
  yaml_document_t document;
  bool is_open;
} tacit_yaml_t;

/* Parse one document without anchors, aliases and NUL bytes: whatever else is refused. Close it also after
 * failure. */
TACIT_MUST_USE tacit_status_t tacit_yaml_load(tacit_yaml_t *yaml, const char *text, size_t n);
/* The same for one that is a mapping, and refuse keys that are unknown or given twice; keys ends with NULL.
 * Close it also after failure. */
TACIT_MUST_USE tacit_status_t tacit_yaml_open(tacit_yaml_t *yaml, const char *text, size_t n,
                                              const char *const *keys);
/*
 * Refuse what is no mapping, and keys that are not among `keys`, which ends with NULL, or are given twice;
 * `what` it is in messages, or yaml->what.
 */
TACIT_MUST_USE tacit_status_t tacit_yaml_mapping(tacit_yaml_t *yaml, const yaml_node_t *node,
                                                 const char *what, const char *const *keys);
TACIT_MUST_USE tacit_status_t tacit_yaml_check_keys(tacit_yaml_t *yaml, const yaml_node_t *mapping,
                                                    const char *const *keys);
void tacit_yaml_close(tacit_yaml_t *yaml);

/* "name:line:column: ...", or without a name "columns.age.type: ..."; TACIT_ERR_SYNTAX. */
tacit_status_t tacit_yaml_fault(const tacit_yaml_t *yaml, const yaml_node_t *at, const char *format, ...)
    TACIT_PRINTF(3, 4);
/* A key that must be there is not; example: "sd: 0.5". */
tacit_status_t tacit_yaml_missing(const tacit_yaml_t *yaml, const char *key, const char *example);

/* Its text; "" of what is none. */
const char *tacit_yaml_scalar(const yaml_node_t *node);
yaml_node_t *tacit_yaml_node(tacit_yaml_t *yaml, int index);
/* The value of a key of a mapping, or of the document, or NULL. */
yaml_node_t *tacit_yaml_find_in(tacit_yaml_t *yaml, const yaml_node_t *mapping, const char *key);
yaml_node_t *tacit_yaml_find(tacit_yaml_t *yaml, const char *key);
/* The key itself, for messages. */
yaml_node_t *tacit_yaml_key_in(tacit_yaml_t *yaml, const yaml_node_t *mapping, const char *key);
/* How many items a list has; 0 of what is none. */
size_t tacit_yaml_length(const yaml_node_t *node);
yaml_node_t *tacit_yaml_item(tacit_yaml_t *yaml, const yaml_node_t *list, size_t i);

/* Copy a text to *text, in place of what it held; a whole number. node NULL: nothing changes. */
TACIT_MUST_USE tacit_status_t tacit_yaml_text(const tacit_yaml_t *yaml, const yaml_node_t *node,
                                              const char *key, char **text);
TACIT_MUST_USE tacit_status_t tacit_yaml_whole(const tacit_yaml_t *yaml, const yaml_node_t *node,
                                               const char *key, double lower, double upper, size_t *n);
/* A finite number; node NULL: *x unchanged. */
TACIT_MUST_USE tacit_status_t tacit_yaml_number_at(const tacit_yaml_t *yaml, const yaml_node_t *node,
                                                   const char *key, double *x);
TACIT_MUST_USE tacit_status_t tacit_yaml_number(tacit_yaml_t *yaml, const char *key, double *x);
/* One number or a list of them, owned; absent: *values NULL. */
TACIT_MUST_USE tacit_status_t tacit_yaml_numbers(tacit_yaml_t *yaml, const char *key, double **values,
                                                 size_t *n);

#endif
