/*
 * Opening a directory of imported columns as a table. Files are of the size that the manifest says, or they
 * are not mapped: a page beyond the end of a file could only end the program.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data/columns.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/rules.h"
#include "data/schema_internal.h"

enum { max_manifest = 1 << 26 };

bool tacit_is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

tacit_status_t tacit_columns_check_machine(tacit_error_t *err) {
  bool is_little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  return is_little_endian && sizeof(size_t) == sizeof(uint64_t)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_STATE, "data",
                               "imported columns are for little-endian machines of 64 bits: read the "
                               "CSV file here");
}

/* One opening. */
typedef struct opening {
  const char *path;
  const tacit_schema_t *schema;
  tacit_manifest_t manifest;
  tacit_error_t *err;
} opening_t;

static tacit_status_t differs(const opening_t *of, const char *column, const char *what, const char *then,
                              const char *now) {
  return tacit_error_set(
      of->err, TACIT_ERR_SCHEMA, column,
      "%s was imported under another schema: column '%.64s' had %s %.64s, now %.64s; import again", of->path,
      column, what, then, now);
}

static tacit_status_t numbers_differ(const opening_t *of, const char *column, const char *what, double then,
                                     double now) {
  char old[TACIT_NUMBER_SIZE], new[TACIT_NUMBER_SIZE];
  return differs(of, column, what, tacit_number_exact(then, old), tacit_number_exact(now, new));
}

static tacit_status_t compare_levels(const opening_t *of, const tacit_column_schema_t *then,
                                     const tacit_column_schema_t *now) {
  for (size_t i = 0; i < then->n_levels && i < now->n_levels; i++) {
    if (strcmp(then->levels[i], now->levels[i]) != 0) {
      char what[48];
      snprintf(what, sizeof what, "level %zu", i + 1);
      return differs(of, now->name, what, then->levels[i], now->levels[i]);
    }
  }
  return then->n_levels == now->n_levels
             ? TACIT_OK
             : numbers_differ(of, now->name, "levels:", (double)then->n_levels, (double)now->n_levels);
}

/* Whether values that kept the rules then keep them now, and would have been made the same. */
static tacit_status_t compare_column(const opening_t *of, const tacit_column_schema_t *then,
                                     const tacit_column_schema_t *now) {
  static const char *const missing[] = {"error", "a value", "drop"}, *const range[] = {"clamp", "error"};
  if (then->type != now->type) {
    return differs(of, now->name, "type", tacit_column_type_string(then->type),
                   tacit_column_type_string(now->type));
  }
  if (then->lower != now->lower) {
    return numbers_differ(of, now->name, "lower", then->lower, now->lower);
  }
  if (then->upper != now->upper) {
    return numbers_differ(of, now->name, "upper", then->upper, now->upper);
  }
  if (then->has_since != now->has_since || then->since != now->since) {
    char old[TACIT_DATE_SIZE], new[TACIT_DATE_SIZE];
    return differs(of, now->name, "since:", then->has_since ? tacit_date_format(then->since, old) : "no date",
                   now->has_since ? tacit_date_format(now->since, new) : "no date");
  }
  if (then->has_labels != now->has_labels) {
    return differs(of, now->name, "labels:", then->has_labels ? "true" : "false",
                   now->has_labels ? "true" : "false");
  }
  if (then->missing != now->missing) {
    return differs(of, now->name, "missing:", missing[then->missing], missing[now->missing]);
  }
  if (then->out_of_range != now->out_of_range) {
    return differs(of, now->name, "out_of_range:", range[then->out_of_range], range[now->out_of_range]);
  }
  tacit_status_t status = compare_levels(of, then, now);
  if (status == TACIT_OK && then->missing == TACIT_MISSING_VALUE &&
      then->missing_value != now->missing_value) {
    status = now->type == TACIT_COLUMN_CATEGORICAL
                 ? differs(of, now->name, "missing:", then->levels[(size_t)then->missing_value],
                           now->levels[(size_t)now->missing_value])
                 : numbers_differ(of, now->name, "missing:", then->missing_value, now->missing_value);
  }
  return status;
}

static tacit_status_t compare_unit(const opening_t *of) {
  const char *then = tacit_schema_unit(of->manifest.schema), *now = tacit_schema_unit(of->schema);
  then = then != NULL ? then : "row";
  now = now != NULL ? now : "row";
  size_t most_then = tacit_schema_max_rows(of->manifest.schema), most_now = tacit_schema_max_rows(of->schema);
  if (strcmp(then, now) != 0) {
    return tacit_error_set(
        of->err, TACIT_ERR_SCHEMA, "unit",
        "%s was imported under another schema: the unit was '%.64s', now '%.64s'; import again", of->path,
        then, now);
  }
  if (most_then != most_now) {
    return tacit_error_set(of->err, TACIT_ERR_SCHEMA, "max_rows",
                           "%s was imported under another schema: max_rows was %zu, now %zu; import again",
                           of->path, most_then, most_now);
  }
  return TACIT_OK;
}

static tacit_status_t read_manifest(opening_t *of) {
  tacit_text_t name = {0};
  tacit_text_printf(&name, "%s/" TACIT_MANIFEST_NAME, of->path);
  char *text = NULL;
  size_t n;
  tacit_status_t status = name.failed ? tacit_error_memory(of->err)
                                      : tacit_file_read(name.data, max_manifest, &text, &n, of->err);
  if (status == TACIT_ERR_MISSING) {
    status = tacit_error_set(
        of->err, TACIT_ERR_IO, of->path,
        "cannot read %s: it is a directory, and none of tacit import (it has no " TACIT_MANIFEST_NAME ")",
        of->path);
  }
  TACIT_THEN(status, tacit_manifest_parse(&of->manifest, text, n, name.data, of->err));
  tacit_free(text);
  tacit_text_clear(&name);
  return status;
}

static tacit_status_t map_file(const opening_t *of, tacit_mapping_t *mapping, const char *name,
                               size_t n_values) {
  tacit_text_t path = {0};
  tacit_text_printf(&path, "%s/%s", of->path, name);
  tacit_status_t status = path.failed
                              ? tacit_error_memory(of->err)
                              : tacit_mapping_open(mapping, path.data, n_values * sizeof(double), of->err);
  tacit_text_clear(&path);
  return status;
}

/* The place of a column among those that hold values; SIZE_MAX if there is none of that name. */
static size_t find_place(const tacit_schema_t *schema, const char *name) {
  size_t place = 0;
  for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
    const tacit_column_schema_t *column = tacit_schema_column(schema, i);
    if (strcmp(column->name, name) == 0) {
      return column->type != TACIT_COLUMN_ID ? place : SIZE_MAX;
    }
    place += column->type != TACIT_COLUMN_ID;
  }
  return SIZE_MAX;
}

static tacit_status_t open_column(const opening_t *of, tacit_table_column_t *column,
                                  tacit_table_notes_t *notes) {
  const tacit_column_schema_t *now = tacit_schema_find(of->schema, column->name);
  char name[TACIT_COLUMN_FILE_SIZE];
  if (now == NULL || now->type == TACIT_COLUMN_ID) {
    return tacit_reader_no_column(now, column->name, of->err);
  }
  size_t place = find_place(of->manifest.schema, column->name);
  if (place == SIZE_MAX) {
    return tacit_error_set(of->err, TACIT_ERR_UNKNOWN, column->name,
                           "%s has no column '%s': it was imported under another schema; import again",
                           of->path, column->name);
  }
  tacit_status_t status = compare_column(of, tacit_schema_find(of->manifest.schema, column->name), now);
  TACIT_THEN(status, map_file(of, &column->mapping, tacit_column_file(place, name), of->manifest.n_rows));
  column->values = (const double *)column->mapping.data;
  column->has_gaps = now->missing == TACIT_MISSING_DROP;
  column->notes = (tacit_column_notes_t){.n_clamped = of->manifest.n_clamped[place],
                                         .n_missing = of->manifest.n_missing[place]};
  notes->n_clamped += of->manifest.n_clamped[place];
  notes->n_missing += of->manifest.n_missing[place];
  return status;
}

static tacit_status_t open_units(const opening_t *of, tacit_table_t *table) {
  size_t n = table->n_units = of->manifest.n_units, most = tacit_schema_max_rows(of->schema);
  tacit_status_t status = map_file(of, &table->offsets_mapping, TACIT_OFFSETS_NAME, n + 1);
  if (status != TACIT_OK) {
    return status;
  }
  const size_t *offsets = table->unit_offsets = (const size_t *)table->offsets_mapping.data;
  bool ok = offsets[0] == 0 && offsets[n] == table->n_rows;
  for (size_t u = 0; u < n && ok; u++) {
    ok = offsets[u] < offsets[u + 1] && offsets[u + 1] - offsets[u] <= most;
  }
  return ok ? TACIT_OK
            : tacit_error_set(of->err, TACIT_ERR_DATA, of->path,
                              "%s/" TACIT_OFFSETS_NAME
                              " is damaged: it does not divide the rows among persons; import again",
                              of->path);
}

static tacit_status_t open_table(opening_t *of, tacit_table_t **table, const char *const *columns,
                                 size_t n_columns, tacit_table_notes_t *notes) {
  tacit_status_t status = tacit_columns_check_machine(of->err);
  TACIT_THEN(status, read_manifest(of));
  TACIT_THEN(status, compare_unit(of));
  TACIT_THEN(status, tacit_check_any_rows(of->schema, of->manifest.n_rows, of->path, of->err));
  TACIT_THEN(status, tacit_table_new(table, columns, n_columns, of->err));
  if (status != TACIT_OK) {
    return status;
  }
  (*table)->n_rows = of->manifest.n_rows;
  memcpy((*table)->query_hash, of->manifest.query_hash, sizeof(*table)->query_hash);
  notes->n_rows_dropped = of->manifest.n_rows_dropped;
  for (size_t i = 0; i < n_columns && status == TACIT_OK; i++) {
    status = open_column(of, &(*table)->columns[i], notes);
  }
  return status == TACIT_OK && tacit_schema_unit(of->schema) != NULL ? open_units(of, *table) : status;
}

tacit_status_t tacit_columns_open(tacit_table_t **table, const char *path, const tacit_schema_t *schema,
                                  const char *const *columns, size_t n_columns, tacit_table_notes_t *notes,
                                  tacit_error_t *err) {
  size_t n_all = 0, n_schema = tacit_schema_n_columns(schema);
  const char **all = tacit_alloc(n_schema, sizeof *all);
  if (all == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n_schema; i++) {
    const tacit_column_schema_t *column = tacit_schema_column(schema, i);
    if (column->type != TACIT_COLUMN_ID) {
      all[n_all++] = column->name;
    }
  }
  opening_t of = {.path = path, .schema = schema, .err = err};
  tacit_status_t status =
      open_table(&of, table, n_columns > 0 ? columns : all, n_columns > 0 ? n_columns : n_all, notes);
  tacit_manifest_clear(&of.manifest);
  tacit_free(all);
  return status;
}
