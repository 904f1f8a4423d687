#ifndef TACIT_SCHEMA_INTERNAL_H
#define TACIT_SCHEMA_INTERNAL_H

#include "base/yaml_file.h"
#include "data/data_internal.h"

typedef struct tacit_schema_column_owned {
  tacit_column_schema_t public;
  char *name, **levels;
} tacit_schema_column_owned_t;

struct tacit_schema {
  char *dataset, *unit, *delta_meaning;
  tacit_relation_t relation;
  size_t max_rows;
  tacit_schema_column_owned_t *columns;
  size_t n_columns;
};

/* What the reading functions share. */
typedef struct tacit_schema_reader {
  yaml_document_t *document;
  const char *name; /* of the file, in messages */
  tacit_schema_t *schema;
  const yaml_node_t *max_rows_key, *unit_value;
  tacit_error_t *err;
} tacit_schema_reader_t;

/* One key of a mapping: where its value goes is up to `read`. */
typedef struct tacit_schema_key {
  const char *name;
  tacit_status_t (*read)(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                         void *target);
} tacit_schema_key_t;

/* Set the error "file:line:column: ..." for the place of a node. */
tacit_status_t tacit_schema_fault(const tacit_schema_reader_t *reader, const yaml_node_t *at, const char *format, ...)
    TACIT_PRINTF(3, 4);

/* The text of a scalar; it holds no NUL but the one at its end, which tacit_schema_check_yaml() has seen to. */
static inline const char *tacit_schema_scalar(const yaml_node_t *node) {
  return (const char *)node->data.scalar.value;
}

/* Copy a scalar to *text, in place of what it held. */
TACIT_MUST_USE tacit_status_t tacit_schema_text(const tacit_schema_reader_t *reader, const yaml_node_t *node,
                                                const char *key, char **text);

/* Read all pairs of a mapping by a table of keys; unknown and repeated keys are refused. */
TACIT_MUST_USE tacit_status_t tacit_schema_mapping(tacit_schema_reader_t *reader, const yaml_node_t *mapping,
                                                   const char *what, const tacit_schema_key_t *keys, size_t n_keys,
                                                   void *target);

/* Read one column, `key: value` in the mapping columns, into the schema's next place. */
TACIT_MUST_USE tacit_status_t tacit_schema_read_column(tacit_schema_reader_t *reader, const yaml_node_t *key,
                                                       const yaml_node_t *value);

/* Read a whole schema from a mapping into reader->schema. */
TACIT_MUST_USE tacit_status_t tacit_schema_read_node(tacit_schema_reader_t *reader, const yaml_node_t *root);

/* Check n bytes of YAML and load them; delete the document after success. */
TACIT_MUST_USE tacit_status_t tacit_schema_load(yaml_document_t *document, const char *text, size_t n, const char *name,
                                                tacit_error_t *err);

/* A name or text, UTF-8, as YAML: plain where it needs no quotes, else in double quotes with escapes. */
void tacit_schema_append_text(tacit_text_t *text, const char *name, size_t n);
/* The same as a key, with its indent; ": value" is to follow. */
void tacit_schema_append_key(tacit_text_t *text, const char *indent, const char *name);

/* "numeric" */
const char *tacit_column_type_string(tacit_column_type_t type);

/* Refuse YAML that does not parse, and constructs that a schema has no use for. */
TACIT_MUST_USE tacit_status_t tacit_schema_check_yaml(const char *text, size_t n, const char *name,
                                                      tacit_error_t *err);

/* Narrow the bounds of a column of numbers; other columns stay as they are. */
void tacit_schema_narrow(tacit_schema_t *schema, const char *name, double lower, double upper);

#endif
