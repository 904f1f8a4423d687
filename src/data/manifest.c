/*
 * The manifest of imported columns: how many rows there are, and the schema that their values keep.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
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

void tacit_manifest_append(tacit_text_t *text, const tacit_manifest_t *manifest,
                           const tacit_schema_t *schema) {
  const char *unit = tacit_schema_unit(schema);
  tacit_text_printf(text,
                    "# Written by tacit import. PRIVATE: the counts here and the values in the files beside "
                    "it are of records.\n"
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

static tacit_status_t read_counts(tacit_yaml_t *yaml, const yaml_node_t *root, const char *key, size_t n,
                                  size_t **counts) {
  const yaml_node_t *list = tacit_yaml_find_in(yaml, root, key);
  if (list == NULL || list->type != YAML_SEQUENCE_NODE || tacit_yaml_length(list) != n) {
    return tacit_yaml_fault(yaml, list != NULL ? list : root,
                            "%s: expected a list of %zu counts, one a column", key, n);
  }
  *counts = tacit_alloc_zero(n, sizeof **counts);
  tacit_status_t status = *counts != NULL ? TACIT_OK : tacit_error_memory(yaml->err);
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = tacit_yaml_whole(yaml, tacit_yaml_item(yaml, list, i), key, 0, 0x1p53, &(*counts)[i]);
  }
  return status;
}

static tacit_status_t read_query(tacit_yaml_t *yaml, const yaml_node_t *value, tacit_manifest_t *manifest) {
  if (value != NULL && strlen(tacit_yaml_scalar(value)) != TACIT_QUERY_HASH_SIZE - 1) {
    return tacit_yaml_fault(yaml, value, "query: expected a hash");
  }
  if (value != NULL) {
    memcpy(manifest->query_hash, tacit_yaml_scalar(value), TACIT_QUERY_HASH_SIZE);
  }
  return TACIT_OK;
}

/* What the parts must be together; counts are as many as the schema says. */
static tacit_status_t settle(tacit_yaml_t *yaml, tacit_manifest_t *manifest, const yaml_node_t *root) {
  const yaml_node_t *units = tacit_yaml_key_in(yaml, root, "units");
  bool has_units = tacit_schema_unit(manifest->schema) != NULL,
       has_dropped = tacit_yaml_key_in(yaml, root, "rows_dropped") != NULL;
  if (has_units != (units != NULL) || has_units != has_dropped || manifest->n_units > manifest->n_rows ||
      (has_units && (manifest->n_units == 0) != (manifest->n_rows == 0))) {
    return tacit_yaml_fault(
        yaml, units != NULL ? units : root,
        "units and rows_dropped go with a person column as unit, of at least one row each");
  }
  for (size_t i = 0; i < tacit_schema_n_columns(manifest->schema); i++) {
    manifest->n_columns += tacit_schema_column(manifest->schema, i)->type != TACIT_COLUMN_ID;
  }
  tacit_status_t status = read_counts(yaml, root, "clamped", manifest->n_columns, &manifest->n_clamped);
  return status == TACIT_OK ? read_counts(yaml, root, "missing", manifest->n_columns, &manifest->n_missing)
                            : status;
}

static tacit_status_t read_root(tacit_yaml_t *yaml, tacit_manifest_t *manifest, const yaml_node_t *root) {
  static const char *const keys[] = {"format", "rows",  "units", "rows_dropped", "clamped", "missing",
                                     "schema", "query", NULL};
  size_t version = 0, *const counts[] = {&version, &manifest->n_rows, &manifest->n_units,
                                         &manifest->n_rows_dropped};
  tacit_status_t status = tacit_yaml_mapping(yaml, root, "a manifest", keys);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == TACIT_OK; i++) {
    status = tacit_yaml_whole(yaml, tacit_yaml_find_in(yaml, root, keys[i]), keys[i], 0, 0x1p53, counts[i]);
  }
  if (status != TACIT_OK) {
    return status;
  }
  const yaml_node_t *format = tacit_yaml_find_in(yaml, root, "format"),
                    *schema = tacit_yaml_find_in(yaml, root, "schema");
  if (format != NULL && version != TACIT_COLUMNS_VERSION) {
    return tacit_yaml_fault(yaml, format, "columns of format %zu, this program knows format %d: import again",
                            version, (int)TACIT_COLUMNS_VERSION);
  }
  if (format == NULL || schema == NULL || tacit_yaml_find_in(yaml, root, "rows") == NULL) {
    return tacit_yaml_fault(yaml, root, "a manifest needs its format, rows and a schema");
  }
  status = read_query(yaml, tacit_yaml_find_in(yaml, root, "query"), manifest);
  if (status == TACIT_OK) {
    manifest->schema = tacit_alloc_zero(1, sizeof *manifest->schema);
    status = manifest->schema != NULL ? tacit_schema_read_node(yaml, manifest->schema, schema)
                                      : tacit_error_memory(yaml->err);
  }
  return status == TACIT_OK ? settle(yaml, manifest, root) : status;
}

tacit_status_t tacit_manifest_parse(tacit_manifest_t *manifest, const char *text, size_t n, const char *name,
                                    tacit_error_t *err) {
  tacit_yaml_t yaml = {.name = name, .err = err, .fault = TACIT_ERR_SCHEMA};
  *manifest = (tacit_manifest_t){0};
  tacit_status_t status = tacit_yaml_load(&yaml, text, n);
  if (status == TACIT_OK) {
    const yaml_node_t *root = yaml_document_get_root_node(&yaml.document);
    status = root != NULL ? read_root(&yaml, manifest, root)
                          : tacit_error_set(err, TACIT_ERR_SCHEMA, name, "%s is empty: import again", name);
  }
  tacit_yaml_close(&yaml);
  return status;
}

void tacit_manifest_clear(tacit_manifest_t *manifest) {
  tacit_free(manifest->n_clamped);
  tacit_free(manifest->n_missing);
  tacit_schema_free(manifest->schema);
  *manifest = (tacit_manifest_t){0};
}
