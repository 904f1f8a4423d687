/* What can be said of a schema, and of records beside it: of the schema to anybody, of records to whoever
 * holds them. */
#include "data/records.h"
#include "data/schema_internal.h"

/* From the schema alone. */
static void say_constants(tacit_text_t *text, const tacit_schema_t *schema) {
  for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
    const tacit_column_schema_t *column = tacit_schema_column(schema, i);
    if (column->type == TACIT_COLUMN_CATEGORICAL && column->n_levels == 1) {
      tacit_text_printf(text,
                        "warning: column '%s' has a single level: it says nothing, and no formula takes it\n",
                        column->name);
    }
  }
}

/* *out <- the text of a report, owned, be it empty. */
static tacit_status_t take(tacit_text_t *text, char **out, tacit_error_t *err) {
  tacit_text_append(text, "", 0);
  return tacit_text_take(text, TACIT_OK, out, err);
}

tacit_status_t tacit_schema_report(const tacit_schema_t *schema, tacit_schema_report_t *report,
                                   tacit_error_t *err) {
  tacit_text_t says = {0}, warns = {0};
  tacit_text_printf(&says, "ok: %zu columns, relation %s, unit %s\n", tacit_schema_n_columns(schema),
                    tacit_relation_string(tacit_schema_relation(schema)),
                    tacit_schema_unit(schema) != NULL ? tacit_schema_unit(schema) : "row");
  say_constants(&warns, schema);
  *report = (tacit_schema_report_t){0};
  tacit_status_t status = take(&says, &report->says, err), warned = take(&warns, &report->warns, err);
  return status == TACIT_OK ? warned : status;
}

static void say_columns(tacit_text_t *text, const tacit_table_t *table, const tacit_schema_t *schema) {
  char line[512];
  for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
    const tacit_column_schema_t *column = tacit_schema_column(schema, i);
    tacit_column_notes_t notes = tacit_table_column_notes(table, column->name);
    tacit_column_notes_say(column, &notes, tacit_table_n_rows(table), false, line, sizeof line);
    if (line[0] != '\0') {
      tacit_text_printf(text, "for the holder of the data only: %s\n", line);
    }
  }
  if (tacit_table_identifier(table)[0] != '\0') {
    tacit_text_printf(text,
                      "question: column '%s' seems to say whose record it is, and the unit is a row: if one "
                      "person has several rows, each row is protected, "
                      "the person is not; then give the column type id, and say unit: and max_rows:\n",
                      tacit_table_identifier(table));
  }
}

tacit_status_t tacit_schema_report_records(const tacit_schema_t *schema, const tacit_data_source_t *source,
                                           tacit_schema_report_t *report, tacit_error_t *err) {
  tacit_table_t *table;
  tacit_text_t text = {0};
  tacit_status_t status = tacit_table_read_source(&table, source, schema, NULL, 0, &report->notes, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_table_verify(table, schema, err);
  if (status == TACIT_OK) {
    say_columns(&text, table, schema);
    tacit_free(report->for_holder);
    report->n_rows = tacit_table_n_rows(table);
    tacit_table_unit_offsets(table, &report->n_units);
    status = take(&text, &report->for_holder, err);
  }
  tacit_table_free(table);
  return status;
}

void tacit_schema_report_clear(tacit_schema_report_t *report) {
  tacit_free(report->says);
  tacit_free(report->warns);
  tacit_free(report->for_holder);
  *report = (tacit_schema_report_t){0};
}
