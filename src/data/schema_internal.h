#ifndef TACIT_SCHEMA_INTERNAL_H
#define TACIT_SCHEMA_INTERNAL_H

#include "base/yaml_file.h"
#include "data/data_internal.h"

typedef struct tacit_schema_column_owned {
  tacit_column_schema_t public;
  char *name, **levels, *units;
} tacit_schema_column_owned_t;

struct tacit_schema {
  char *dataset, *unit, *delta_meaning;
  tacit_relation_t relation;
  size_t max_rows;
  tacit_schema_column_owned_t *columns;
  size_t n_columns;
  bool is_of_new_rows; /* tacit_schema_for_new_rows() */
};

/* Read one column, `key: value` in the mapping columns, into the schema's next place. */
TACIT_MUST_USE tacit_status_t tacit_schema_read_column(tacit_yaml_t *yaml, tacit_schema_t *schema,
                                                       const yaml_node_t *key, const yaml_node_t *value);

/* Read a whole schema from a mapping. */
TACIT_MUST_USE tacit_status_t tacit_schema_read_node(tacit_yaml_t *yaml, tacit_schema_t *schema,
                                                     const yaml_node_t *root);

/* A name or text, UTF-8, as YAML: plain where it needs no quotes, else in double quotes with escapes. */
void tacit_schema_append_text(tacit_text_t *text, const char *name, size_t n);
/* The same as a key, with its indent; ": value" is to follow. */
void tacit_schema_append_key(tacit_text_t *text, const char *indent, const char *name);

/* "numeric" */
const char *tacit_column_type_string(tacit_column_type_t type);

/* Narrow the bounds of a column of numbers; other columns stay as they are. */
void tacit_schema_narrow(tacit_schema_t *schema, const char *name, double lower, double upper);

#endif
