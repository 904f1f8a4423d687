/* Records behind the curator. */
#include <string.h>

#include "base/error.h"
#include "data/collect.h"
#include "data/records.h"
#include "fit/fit_internal.h"

/* The records that this rank has a share in: a tacit_packer_t's. */
static tacit_status_t pack(void *user, const tacit_table_t *table, tacit_records_t **records,
                           tacit_error_t *err) {
  tacit_fit_t *fit = user;
  tacit_fit_ranks_print(fit, table);
  tacit_status_t status = tacit_fit_print_units(fit, table, err);
  if (status != TACIT_OK) {
    return status;
  }
  const tacit_ranks_t *ranks = fit->own_path == NULL ? fit->ranks.ranks : NULL;
  size_t part = ranks != NULL ? ranks->rank : 0, n_parts = ranks != NULL ? ranks->n_ranks : 1;
  return tacit_fit_kind(fit)->pack(fit, records, table, part, n_parts, err);
}

/* Takes the records. */
static tacit_status_t open_curator(tacit_fit_t *fit, tacit_records_t *records, tacit_error_t *err) {
  tacit_status_t status = tacit_fit_ranks_agree(fit, err);
  TACIT_THEN(status, tacit_fit_ranks_compare(fit, err));
  TACIT_THEN(status, tacit_fit_parts_disjoint(fit, err));
  if (status != TACIT_OK) {
    tacit_records_free(records);
    return status;
  }
  fit->limits.ranks = fit->ranks.ranks;
  fit->limits.max_unit_rows = tacit_schema_max_rows(fit->schema);
  fit->limits.subset_noise = fit->noise;
  return fit->is_exposed
             ? tacit_curator_new_exposed(&fit->curator, records, &fit->model.records, &fit->limits, err)
             : tacit_curator_new(&fit->curator, records, &fit->model.records, fit->budget, fit->noise,
                                 &fit->limits, err);
}

/* Is it public how many there are, or nothing that a run depends on? */
static bool is_free(const tacit_fit_t *fit) {
  return fit->is_exposed || tacit_schema_relation(fit->schema) == TACIT_RELATION_ADD_REMOVE;
}

static tacit_status_t read_query(tacit_fit_t *fit, tacit_error_t *err) {
  return tacit_request_read_query(&fit->request, &fit->given, is_free(fit) || fit->n_public > 0, err);
}

static tacit_status_t settle_settings(tacit_fit_t *fit, tacit_error_t *err) {
  if (fit->stage == TACIT_FIT_STAGE_PREPARED) {
    return TACIT_OK;
  }
  if (fit->stage != TACIT_FIT_STAGE_SETTINGS) {
    return tacit_error_set(err, TACIT_ERR_STATE, "data",
                           "this fit has its records, or has failed: begin another");
  }
  fit->stage = TACIT_FIT_STAGE_FAILED;
  tacit_status_t (*const steps[])(tacit_fit_t *, tacit_error_t *) = {
      tacit_fit_read_settings, tacit_fit_prepare,     read_query,
      tacit_fit_open_ledger,   tacit_fit_read_metric, tacit_fit_read_init,
      tacit_fit_ranks_make_key};
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == TACIT_OK; i++) {
    status = steps[i](fit, err);
  }
  if (status == TACIT_OK) {
    fit->stage = TACIT_FIT_STAGE_PREPARED;
  }
  return status;
}

const char *const *tacit_fit_used(const tacit_fit_t *fit, size_t *n_columns) {
  return tacit_fit_kind(fit)->columns(fit, n_columns);
}

const char *tacit_fit_dropping(const tacit_fit_t *fit) {
  size_t n_columns;
  const char *const *columns = tacit_fit_used(fit, &n_columns);
  return tacit_schema_dropping(fit->schema, columns, n_columns);
}

tacit_status_t tacit_fit_columns(tacit_fit_t *fit, const tacit_schema_t **schema, const char *const **columns,
                                 size_t *n_columns, tacit_error_t *err) {
  *schema = NULL;
  *columns = NULL;
  *n_columns = 0;
  tacit_status_t status = settle_settings(fit, err);
  if (status == TACIT_OK) {
    *schema = fit->schema;
    *columns = tacit_fit_used(fit, n_columns);
  }
  return status;
}

/* For --curator-notes alone. */
static void note_columns(tacit_fit_t *fit, const tacit_table_t *table) {
  size_t n_columns;
  const char *const *columns = tacit_fit_used(fit, &n_columns);
  for (size_t i = 0; i < n_columns; i++) {
    char text[512];
    tacit_column_notes_t notes = tacit_table_column_notes(table, columns[i]);
    bool is_response = fit->design != NULL && strcmp(columns[i], tacit_design_response(fit->design)) == 0;
    tacit_column_notes_say(tacit_schema_find(fit->schema, columns[i]), &notes, tacit_table_n_rows(table),
                           is_response, text, sizeof text);
    if (text[0] != '\0') {
      tacit_text_printf(&fit->holder_notes, "  %s\n", text);
    }
  }
}

/* From the records of a table on, which is read for its notes; takes both. */
static tacit_status_t take(tacit_fit_t *fit, tacit_records_t *records, tacit_table_t *table,
                           const tacit_table_notes_t *notes, tacit_error_t *err) {
  fit->notes = *notes;
  note_columns(fit, table);
  tacit_status_t status = tacit_request_take_query(&fit->request, table, is_free(fit), fit->n_public, err);
  tacit_table_free(table);
  if (status != TACIT_OK) {
    tacit_records_free(records);
    fit->stage = TACIT_FIT_STAGE_FAILED;
    return status;
  }
  status = open_curator(fit, records, err);
  TACIT_THEN(status, tacit_fit_make_plan(fit, fit->n_public, err));
  fit->stage = status == TACIT_OK ? TACIT_FIT_STAGE_READ : TACIT_FIT_STAGE_FAILED;
  return status;
}

static tacit_status_t check_source(const tacit_fit_t *fit, const tacit_data_source_t *source,
                                   tacit_error_t *err) {
  tacit_status_t status = tacit_request_check_source(&fit->request, source, err);
  bool is_split = fit->ranks.ranks != NULL && fit->ranks.ranks->n_ranks > 1;
  return status != TACIT_OK || !is_split || !tacit_data_source_is_stream(source)
             ? status
             : tacit_error_set(
                   err, TACIT_ERR_ARGUMENT, "data",
                   "%s can be read once, and each of several processes reads the data: tacit import it first",
                   tacit_data_source_name(source));
}

tacit_status_t tacit_fit_collect(tacit_fit_t *fit, const tacit_data_source_t *source,
                                 tacit_records_t **records, tacit_table_t **table, tacit_table_notes_t *notes,
                                 tacit_error_t *err) {
  const tacit_schema_t *schema;
  const char *const *columns;
  size_t n_columns;
  tacit_status_t status = tacit_fit_columns(fit, &schema, &columns, &n_columns, err);
  tacit_data_source_t settled = tacit_request_source(&fit->request, source, &fit->given);
  TACIT_THEN(status, tacit_fit_own_part(fit, &settled, err));
  TACIT_THEN(status, check_source(fit, &settled, err));
  if (status != TACIT_OK) {
    tacit_request_leave_source(source);
    return status;
  }
  fit->stage = TACIT_FIT_STAGE_FAILED;
  bool is_whole = fit->ranks.ranks != NULL || tacit_fit_has(fit, "scratch");
  const tacit_packer_t packer = {
      .pack = pack, .user = fit, .is_whole = is_whole, .n_threads = fit->limits.n_threads};
  return tacit_records_collect(records, table, &settled, schema, columns, n_columns, &packer, notes, err);
}

tacit_status_t tacit_fit_read_source(tacit_fit_t *fit, const tacit_data_source_t *source,
                                     tacit_error_t *err) {
  tacit_table_t *table;
  tacit_records_t *records;
  tacit_table_notes_t notes;
  tacit_status_t status = tacit_fit_collect(fit, source, &records, &table, &notes, err);
  return status == TACIT_OK ? take(fit, records, table, &notes, err) : status;
}

tacit_status_t tacit_fit_read(tacit_fit_t *fit, const char *path, tacit_error_t *err) {
  return tacit_fit_read_source(fit, &(tacit_data_source_t){.path = path}, err);
}
