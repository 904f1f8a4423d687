/*
 * The public schema, from YAML. Every message names file:line:column of the text at fault, or its key.
 */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/schema_internal.h"

static tacit_status_t read_columns(tacit_yaml_t *yaml, tacit_schema_t *schema, const yaml_node_t *value) {
  if (value->type != YAML_MAPPING_NODE || value->data.mapping.pairs.start == value->data.mapping.pairs.top) {
    return tacit_yaml_fault(yaml, value, "columns: expected `name: {type: ...}` pairs");
  }
  yaml_node_pair_t *end = value->data.mapping.pairs.top;
  schema->columns =
      tacit_alloc_zero((size_t)(end - value->data.mapping.pairs.start), sizeof *schema->columns);
  if (schema->columns == NULL) {
    return tacit_error_memory(yaml->err);
  }
  tacit_status_t status = TACIT_OK;
  tacit_dictionary_t seen = {0};
  for (yaml_node_pair_t *pair = value->data.mapping.pairs.start; pair < end && status == TACIT_OK; pair++) {
    const yaml_node_t *key = tacit_yaml_node(yaml, pair->key);
    const char *name = tacit_yaml_scalar(key);
    size_t place;
    bool is_new;
    if (key->type != YAML_SCALAR_NODE) {
      status = tacit_yaml_fault(yaml, key, "columns: expected a column name");
      break;
    }
    status = tacit_dictionary_add(&seen, name, strlen(name), &place, &is_new, yaml->err);
    if (status == TACIT_OK && !is_new) {
      status = tacit_yaml_fault(yaml, key, "'%s' is given twice", name);
    }
    TACIT_THEN(status, tacit_schema_read_column(yaml, schema, key, tacit_yaml_node(yaml, pair->value)));
  }
  tacit_dictionary_clear(&seen);
  return status;
}

/* `unit: row` becomes NULL; a person column must exist, be an id, and come with max_rows. */
static tacit_status_t settle_unit(tacit_yaml_t *yaml, tacit_schema_t *schema, const yaml_node_t *root) {
  const yaml_node_t *max_rows = tacit_yaml_key_in(yaml, root, "max_rows"),
                    *unit = tacit_yaml_find_in(yaml, root, "unit");
  if (schema->unit == NULL || strcmp(schema->unit, "row") == 0) {
    tacit_free(schema->unit);
    schema->unit = NULL;
    schema->max_rows = 1;
    return max_rows == NULL
               ? TACIT_OK
               : tacit_yaml_fault(yaml, max_rows, "max_rows only goes with a person column as unit");
  }
  const tacit_column_schema_t *column = tacit_schema_find(schema, schema->unit);
  if (column == NULL || column->type != TACIT_COLUMN_ID) {
    return tacit_yaml_fault(yaml, unit, "unit: '%s' must be a column of type id", schema->unit);
  }
  return max_rows != NULL
             ? TACIT_OK
             : tacit_yaml_fault(yaml, unit,
                                "unit: '%s' needs max_rows, the most rows of one person that are used",
                                schema->unit);
}

tacit_status_t tacit_schema_read_node(tacit_yaml_t *yaml, tacit_schema_t *schema, const yaml_node_t *root) {
  static const char *const keys[] = {"dataset", "unit", "delta_meaning", "relation", "max_rows",
                                     "columns", NULL};
  char **const texts[] = {&schema->dataset, &schema->unit, &schema->delta_meaning};
  tacit_status_t status = tacit_yaml_mapping(yaml, root, "the schema", keys);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == TACIT_OK; i++) {
    status = tacit_yaml_text(yaml, tacit_yaml_find_in(yaml, root, keys[i]), keys[i], texts[i]);
  }
  if (status != TACIT_OK) {
    return status;
  }
  const yaml_node_t *relation = tacit_yaml_find_in(yaml, root, "relation"),
                    *columns = tacit_yaml_find_in(yaml, root, "columns");
  if (relation != NULL && !tacit_relation_parse(tacit_yaml_scalar(relation), &schema->relation)) {
    return tacit_yaml_fault(yaml, relation, "relation: expected substitute or add-remove");
  }
  status = tacit_yaml_whole(yaml, tacit_yaml_find_in(yaml, root, "max_rows"), "max_rows", 1, 1e9,
                            &schema->max_rows);
  TACIT_THEN(status, columns != NULL ? read_columns(yaml, schema, columns)
                                     : tacit_yaml_fault(yaml, root, "the schema needs the key columns"));
  return status == TACIT_OK ? settle_unit(yaml, schema, root) : status;
}

tacit_status_t tacit_schema_parse(tacit_schema_t **out, const char *text, size_t n, const char *name,
                                  tacit_error_t *err) {
  tacit_yaml_t yaml = {.name = name, .what = "the schema", .err = err, .fault = TACIT_ERR_SCHEMA};
  tacit_schema_t *schema = NULL;
  *out = NULL;
  tacit_status_t status = tacit_yaml_load(&yaml, text, n);
  if (status == TACIT_OK) {
    const yaml_node_t *root = yaml_document_get_root_node(&yaml.document);
    schema = tacit_alloc_zero(1, sizeof *schema);
    status = schema == NULL ? tacit_error_memory(err)
             : root != NULL ? tacit_schema_read_node(&yaml, schema, root)
                            : tacit_error_set(err, TACIT_ERR_SCHEMA, name[0] != '\0' ? name : "schema",
                                              "%s is empty: expected a schema with the key columns",
                                              name[0] != '\0' ? name : "the schema");
  }
  tacit_yaml_close(&yaml);
  if (status != TACIT_OK) {
    tacit_schema_free(schema);
    return status;
  }
  *out = schema;
  return TACIT_OK;
}

tacit_status_t tacit_schema_read(tacit_schema_t **schema, const char *path, tacit_error_t *err) {
  *schema = NULL;
  char *text;
  size_t n;
  tacit_status_t status = tacit_file_read(path, TACIT_SCHEMA_MAX_BYTES, &text, &n, err);
  if (status == TACIT_OK) {
    status = tacit_schema_parse(schema, text, n, path, err);
    tacit_free(text);
  }
  return status;
}
