/*
 * The public schema, from YAML. Every message names file:line:column of the text at fault.
 */
#include <math.h>
#include <string.h>

#include "data/schema_internal.h"

static tacit_status_t read_dataset(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                   void *target) {
  (void)key;
  (void)target;
  return tacit_schema_text(reader, value, "dataset", &reader->schema->dataset);
}

static tacit_status_t read_relation(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                    void *target) {
  (void)key;
  (void)target;
  const char *text = value->type == YAML_SCALAR_NODE ? tacit_schema_scalar(value) : "";
  return tacit_relation_parse(text, &reader->schema->relation)
             ? TACIT_OK
             : tacit_schema_fault(reader, value, "relation: expected substitute or add-remove");
}

static tacit_status_t read_unit(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                void *target) {
  (void)key;
  (void)target;
  reader->unit_value = value;
  return tacit_schema_text(reader, value, "unit", &reader->schema->unit);
}

static tacit_status_t read_max_rows(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                    void *target) {
  (void)target;
  double rows = 0;
  const char *text = value->type == YAML_SCALAR_NODE ? tacit_schema_scalar(value) : "";
  reader->max_rows_key = key;
  if (!tacit_number_parse(text, strlen(text), &rows) || !(rows >= 1 && rows <= 1e9) || rows != floor(rows)) {
    return tacit_schema_fault(reader, value, "max_rows: expected a whole number from 1 to 1e9");
  }
  reader->schema->max_rows = (size_t)rows;
  return TACIT_OK;
}

static tacit_status_t read_delta_meaning(tacit_schema_reader_t *reader, const yaml_node_t *key,
                                         const yaml_node_t *value, void *target) {
  (void)key;
  (void)target;
  return tacit_schema_text(reader, value, "delta_meaning", &reader->schema->delta_meaning);
}

static tacit_status_t read_columns(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                   void *target) {
  (void)key;
  (void)target;
  if (value->type != YAML_MAPPING_NODE || value->data.mapping.pairs.start == value->data.mapping.pairs.top) {
    return tacit_schema_fault(reader, value, "columns: expected `name: {type: ...}` pairs");
  }
  yaml_node_pair_t *end = value->data.mapping.pairs.top;
  size_t n = (size_t)(end - value->data.mapping.pairs.start);
  reader->schema->columns = tacit_alloc_zero(n, sizeof *reader->schema->columns);
  if (reader->schema->columns == NULL) {
    return tacit_error_memory(reader->err);
  }
  tacit_status_t status = TACIT_OK;
  tacit_dictionary_t seen = {0};
  for (yaml_node_pair_t *pair = value->data.mapping.pairs.start; pair < end && status == TACIT_OK; pair++) {
    const yaml_node_t *name = yaml_document_get_node(reader->document, pair->key);
    size_t place;
    bool is_new;
    if (name->type != YAML_SCALAR_NODE) {
      status = tacit_schema_fault(reader, name, "columns: expected a column name");
      break;
    }
    status = tacit_dictionary_add(&seen, tacit_schema_scalar(name), strlen(tacit_schema_scalar(name)), &place, &is_new, reader->err);
    if (status == TACIT_OK && !is_new) {
      status = tacit_schema_fault(reader, name, "'%s' is given twice", tacit_schema_scalar(name));
    }
    if (status == TACIT_OK) {
      status = tacit_schema_read_column(reader, name, yaml_document_get_node(reader->document, pair->value));
    }
  }
  tacit_dictionary_clear(&seen);
  return status;
}

/* `unit: row` becomes NULL; a person column must exist, be an id, and come with max_rows. */
static tacit_status_t settle_unit(tacit_schema_reader_t *reader) {
  tacit_schema_t *schema = reader->schema;
  if (schema->unit == NULL || strcmp(schema->unit, "row") == 0) {
    tacit_free(schema->unit);
    schema->unit = NULL;
    schema->max_rows = 1;
    return reader->max_rows_key == NULL
               ? TACIT_OK
               : tacit_schema_fault(reader, reader->max_rows_key, "max_rows only goes with a person column as unit");
  }
  const tacit_column_schema_t *column = tacit_schema_find(schema, schema->unit);
  if (column == NULL || column->type != TACIT_COLUMN_ID) {
    return tacit_schema_fault(reader, reader->unit_value, "unit: '%s' must be a column of type id", schema->unit);
  }
  if (reader->max_rows_key == NULL) {
    return tacit_schema_fault(reader, reader->unit_value,
                              "unit: '%s' needs max_rows, the most rows of one person that are used", schema->unit);
  }
  return TACIT_OK;
}

tacit_status_t tacit_schema_read_node(tacit_schema_reader_t *reader, const yaml_node_t *root) {
  static const tacit_schema_key_t keys[] = {{"dataset", read_dataset},             {"relation", read_relation},
                                            {"unit", read_unit},                   {"max_rows", read_max_rows},
                                            {"delta_meaning", read_delta_meaning}, {"columns", read_columns}};
  tacit_status_t status = tacit_schema_mapping(reader, root, "the schema", keys, sizeof keys / sizeof keys[0], NULL);
  if (status == TACIT_OK && reader->schema->n_columns == 0) {
    status = tacit_schema_fault(reader, root, "the schema needs the key columns");
  }
  return status == TACIT_OK ? settle_unit(reader) : status;
}

tacit_status_t tacit_schema_load(yaml_document_t *document, const char *text, size_t n, const char *name,
                                 tacit_error_t *err) {
  tacit_status_t status = tacit_schema_check_yaml(text, n, name, err);
  return status == TACIT_OK ? tacit_yaml_load(document, text, n, name, err) : status;
}

static tacit_status_t read_root(tacit_schema_reader_t *reader) {
  const yaml_node_t *root = yaml_document_get_root_node(reader->document);
  if (root == NULL) {
    return tacit_error_set(reader->err, TACIT_ERR_SCHEMA, reader->name,
                           "%s is empty: expected a schema with the key columns", reader->name);
  }
  return tacit_schema_read_node(reader, root);
}

tacit_status_t tacit_schema_parse(tacit_schema_t **out, const char *text, size_t n, const char *name,
                                  tacit_error_t *err) {
  *out = NULL;
  yaml_document_t document;
  tacit_status_t status = tacit_schema_load(&document, text, n, name, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_schema_t *schema = tacit_alloc_zero(1, sizeof *schema);
  tacit_schema_reader_t reader = {.document = &document, .name = name, .schema = schema, .err = err};
  status = schema != NULL ? read_root(&reader) : tacit_error_memory(err);
  yaml_document_delete(&document);
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
