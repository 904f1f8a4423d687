/*
 * The manifest of imported columns: how many rows there are, and the schema that their values keep.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/columns.h"
#include "data/rules.h"
#include "data/schema_internal.h"

const char *tacit_column_file(size_t place, char out[TACIT_COLUMN_FILE_SIZE]) {
  snprintf(out, TACIT_COLUMN_FILE_SIZE, "column-%04zu.f64", place + 1);
  return out;
}

/* ---- writing ---- */

static void append_counts(tacit_text_t *text, const char *key, const size_t *counts, size_t n) {
  tacit_text_printf(text, "%s: [", key);
  for (size_t i = 0; i < n; i++) {
    tacit_text_printf(text, "%s%zu", i > 0 ? ", " : "", counts[i]);
  }
  tacit_text_printf(text, "]\n");
}

static void append_number(tacit_text_t *text, const char *key, double value) {
  char number[TACIT_NUMBER_SIZE];
  tacit_text_printf(text, ", %s: %s", key, tacit_number_exact(value, number));
}

static void append_levels(tacit_text_t *text, const tacit_column_schema_t *column) {
  tacit_text_printf(text, ", levels: [");
  for (size_t i = 0; i < column->n_levels; i++) {
    tacit_text_printf(text, i > 0 ? ", " : "");
    tacit_schema_append_text(text, column->levels[i], strlen(column->levels[i]));
  }
  tacit_text_printf(text, "]");
}

static void append_column(tacit_text_t *text, const tacit_column_schema_t *column) {
  bool has_bounds = column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER;
  tacit_schema_append_key(text, "    ", column->name);
  tacit_text_printf(text, ": {type: %s", tacit_column_type_string(column->type));
  if (has_bounds) {
    append_number(text, "lower", column->lower);
    append_number(text, "upper", column->upper);
  }
  if (column->type == TACIT_COLUMN_CATEGORICAL) {
    append_levels(text, column);
  }
  if (column->missing == TACIT_MISSING_VALUE && column->type == TACIT_COLUMN_CATEGORICAL) {
    const char *level = column->levels[(size_t)column->missing_value];
    tacit_text_printf(text, ", missing: ");
    tacit_schema_append_text(text, level, strlen(level));
  } else if (column->missing == TACIT_MISSING_VALUE) {
    append_number(text, "missing", column->missing_value);
  } else if (column->missing == TACIT_MISSING_DROP) {
    tacit_text_printf(text, ", missing: drop");
  }
  if (column->has_since) {
    char date[TACIT_DATE_SIZE];
    tacit_text_printf(text, ", since: %s", tacit_date_format(column->since, date));
  }
  if (column->has_labels) {
    tacit_text_printf(text, ", labels: true");
  }
  tacit_text_printf(text, column->out_of_range == TACIT_RANGE_ERROR ? ", out_of_range: error}\n" : "}\n");
}

void tacit_manifest_append(tacit_text_t *text, const tacit_manifest_t *manifest, const tacit_schema_t *schema) {
  const char *unit = tacit_schema_unit(schema);
  tacit_text_printf(text,
                    "# Written by tacit import. PRIVATE: the counts here and the values in the files beside it are of records.\n"
                    "format: %d\nrows: %zu\n",
                    (int)TACIT_COLUMNS_VERSION, manifest->n_rows);
  if (unit != NULL) {
    tacit_text_printf(text, "units: %zu\nrows_dropped: %zu\n", manifest->n_units, manifest->n_rows_dropped);
  }
  if (manifest->query_hash[0] != '\0') {
    tacit_text_printf(text, "query: %s\n", manifest->query_hash);
  }
  append_counts(text, "clamped", manifest->n_clamped, manifest->n_columns);
  append_counts(text, "missing", manifest->n_missing, manifest->n_columns);
  tacit_text_printf(text, "schema:\n");
  if (unit != NULL) {
    tacit_text_printf(text, "  unit: ");
    tacit_schema_append_text(text, unit, strlen(unit));
    tacit_text_printf(text, "\n  max_rows: %zu\n", tacit_schema_max_rows(schema));
  }
  tacit_text_printf(text, "  columns:\n");
  for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
    append_column(text, tacit_schema_column(schema, i));
  }
}

/* ---- reading ---- */

typedef struct manifest_reader {
  tacit_manifest_t *manifest;
  const yaml_node_t *format, *rows, *clamped, *missing, *units, *rows_dropped;
} manifest_reader_t;

static tacit_status_t read_whole(tacit_schema_reader_t *reader, const yaml_node_t *value, const char *key, size_t *n) {
  double number = NAN;
  const char *text = value->type == YAML_SCALAR_NODE ? tacit_schema_scalar(value) : "";
  if (!tacit_number_parse(text, strlen(text), &number) || !(number >= 0 && number <= 0x1p53) || number != floor(number)) {
    return tacit_schema_fault(reader, value, "%s: expected a whole number", key);
  }
  *n = (size_t)number;
  return TACIT_OK;
}

static tacit_status_t read_format(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                  void *target) {
  size_t version = 0;
  ((manifest_reader_t *)target)->format = key;
  tacit_status_t status = read_whole(reader, value, "format", &version);
  if (status == TACIT_OK && version != TACIT_COLUMNS_VERSION) {
    return tacit_schema_fault(reader, value, "columns of format %zu, this program knows format %d: import again", version,
                              (int)TACIT_COLUMNS_VERSION);
  }
  return status;
}

static tacit_status_t read_rows(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                void *target) {
  manifest_reader_t *of = target;
  of->rows = key;
  return read_whole(reader, value, "rows", &of->manifest->n_rows);
}

static tacit_status_t read_units(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                 void *target) {
  manifest_reader_t *of = target;
  of->units = key;
  return read_whole(reader, value, "units", &of->manifest->n_units);
}

static tacit_status_t read_dropped(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                   void *target) {
  manifest_reader_t *of = target;
  of->rows_dropped = key;
  return read_whole(reader, value, "rows_dropped", &of->manifest->n_rows_dropped);
}

static tacit_status_t read_query(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value, void *target) {
  tacit_manifest_t *manifest = ((manifest_reader_t *)target)->manifest;
  const char *text = value->type == YAML_SCALAR_NODE ? tacit_schema_scalar(value) : "";
  (void)key;
  if (strlen(text) != TACIT_QUERY_HASH_SIZE - 1) {
    return tacit_schema_fault(reader, value, "query: expected a hash");
  }
  memcpy(manifest->query_hash, text, TACIT_QUERY_HASH_SIZE);
  return TACIT_OK;
}

/* Lists of counts are as long as the schema says, which may come later. */
static tacit_status_t note_clamped(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                   void *target) {
  (void)reader;
  (void)key;
  ((manifest_reader_t *)target)->clamped = value;
  return TACIT_OK;
}

static tacit_status_t note_missing(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                   void *target) {
  (void)reader;
  (void)key;
  ((manifest_reader_t *)target)->missing = value;
  return TACIT_OK;
}

static tacit_status_t read_schema(tacit_schema_reader_t *reader, const yaml_node_t *key, const yaml_node_t *value,
                                  void *target) {
  manifest_reader_t *of = target;
  (void)key;
  reader->schema = of->manifest->schema = tacit_alloc_zero(1, sizeof *reader->schema);
  return reader->schema != NULL ? tacit_schema_read_node(reader, value) : tacit_error_memory(reader->err);
}

static tacit_status_t read_counts(tacit_schema_reader_t *reader, const yaml_node_t *root, const yaml_node_t *list,
                                  const char *key, size_t n, size_t **counts) {
  size_t n_items = list != NULL && list->type == YAML_SEQUENCE_NODE
                       ? (size_t)(list->data.sequence.items.top - list->data.sequence.items.start)
                       : SIZE_MAX;
  if (n_items != n) {
    return tacit_schema_fault(reader, list != NULL ? list : root, "%s: expected a list of %zu counts, one a column", key, n);
  }
  *counts = tacit_alloc_zero(n, sizeof **counts);
  tacit_status_t status = *counts != NULL ? TACIT_OK : tacit_error_memory(reader->err);
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    const yaml_node_t *item = yaml_document_get_node(reader->document, list->data.sequence.items.start[i]);
    status = read_whole(reader, item, key, &(*counts)[i]);
  }
  return status;
}

/* What the parts must be together. */
static tacit_status_t settle(tacit_schema_reader_t *reader, manifest_reader_t *of, const yaml_node_t *root) {
  tacit_manifest_t *manifest = of->manifest;
  if (of->format == NULL || manifest->schema == NULL || of->rows == NULL) {
    return tacit_schema_fault(reader, root, "a manifest needs its format, rows and a schema");
  }
  bool has_units = tacit_schema_unit(manifest->schema) != NULL;
  if (has_units != (of->units != NULL) || has_units != (of->rows_dropped != NULL) || manifest->n_units > manifest->n_rows ||
      (has_units && (manifest->n_units == 0) != (manifest->n_rows == 0))) {
    return tacit_schema_fault(reader, of->units != NULL ? of->units : root,
                              "units and rows_dropped go with a person column as unit, of at least one row each");
  }
  for (size_t i = 0; i < tacit_schema_n_columns(manifest->schema); i++) {
    manifest->n_columns += tacit_schema_column(manifest->schema, i)->type != TACIT_COLUMN_ID;
  }
  tacit_status_t status = read_counts(reader, root, of->clamped, "clamped", manifest->n_columns, &manifest->n_clamped);
  return status == TACIT_OK ? read_counts(reader, root, of->missing, "missing", manifest->n_columns, &manifest->n_missing)
                            : status;
}

static tacit_status_t read_root(tacit_schema_reader_t *reader, manifest_reader_t *of) {
  static const tacit_schema_key_t keys[] = {{"format", read_format},         {"rows", read_rows},
                                            {"units", read_units},           {"rows_dropped", read_dropped},
                                            {"clamped", note_clamped},       {"missing", note_missing},
                                            {"schema", read_schema},         {"query", read_query}};
  const yaml_node_t *root = yaml_document_get_root_node(reader->document);
  if (root == NULL) {
    return tacit_error_set(reader->err, TACIT_ERR_SCHEMA, reader->name, "%s is empty: import again", reader->name);
  }
  tacit_status_t status = tacit_schema_mapping(reader, root, "a manifest", keys, sizeof keys / sizeof keys[0], of);
  return status == TACIT_OK ? settle(reader, of, root) : status;
}

tacit_status_t tacit_manifest_parse(tacit_manifest_t *manifest, const char *text, size_t n, const char *name,
                                    tacit_error_t *err) {
  yaml_document_t document;
  *manifest = (tacit_manifest_t){0};
  tacit_status_t status = tacit_schema_load(&document, text, n, name, err);
  if (status != TACIT_OK) {
    return status;
  }
  manifest_reader_t of = {.manifest = manifest};
  tacit_schema_reader_t reader = {.document = &document, .name = name, .err = err};
  status = read_root(&reader, &of);
  yaml_document_delete(&document);
  return status;
}

void tacit_manifest_clear(tacit_manifest_t *manifest) {
  tacit_free(manifest->n_clamped);
  tacit_free(manifest->n_missing);
  tacit_schema_free(manifest->schema);
  *manifest = (tacit_manifest_t){0};
}
