/*
 * The ledger's own row: what it is the ledger of, and what it may cost.
 */
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "ledger/ledger_internal.h"

void tacit_header_clear(tacit_header_t *header) {
  char *texts[] = {header->data_id, header->relation, header->epsilon, header->delta, header->created};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    tacit_free(texts[i]);
  }
  *header = (tacit_header_t){0};
}

static size_t next_table(const tacit_ledger_t *ledger, size_t i) {
  while (i < TACIT_LEDGER_N_TABLES && tacit_ledger_tables[i].since > ledger->version) {
    i++;
  }
  return i;
}

/* Nothing but our tables, as we make them: no trigger, no view, no column that computes. */
static tacit_status_t check_tables(tacit_ledger_t *ledger, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = true;
  size_t at = next_table(ledger, 0);
  tacit_status_t status =
      tacit_database_prepare(ledger, "SELECT name, sql FROM sqlite_master ORDER BY name", &statement, err);
  while (status == TACIT_OK && has_row) {
    status = tacit_database_step(ledger, statement, &has_row, err);
    if (status != TACIT_OK || !has_row) {
      break;
    }
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    const char *sql = (const char *)sqlite3_column_text(statement, 1);
    if (name == NULL || sql == NULL || at == TACIT_LEDGER_N_TABLES ||
        strcmp(name, tacit_ledger_tables[at].name) != 0 || strcmp(sql, tacit_ledger_tables[at].sql) != 0) {
      status = tacit_ledger_broken(ledger, err, "it holds '%.60s', which tacit did not make",
                                   name != NULL ? name : "");
    }
    at = next_table(ledger, at + 1);
  }
  sqlite3_finalize(statement);
  if (status == TACIT_OK && at < TACIT_LEDGER_N_TABLES) {
    status = tacit_ledger_broken(ledger, err, "it has no table '%s'", tacit_ledger_tables[at].name);
  }
  return status;
}

static tacit_status_t read_header(tacit_ledger_t *ledger, tacit_header_t *header, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  uint64_t id;
  char **const texts[] = {&header->data_id, &header->relation, &header->epsilon, &header->delta,
                          &header->created};
  tacit_status_t status = tacit_database_prepare(
      ledger, "SELECT id, data_id, relation, epsilon, delta, created, n_entries, head FROM ledger",
      &statement, err);
  TACIT_THEN(status, tacit_database_step(ledger, statement, &has_row, err));
  if (status == TACIT_OK && !has_row) {
    status = tacit_ledger_broken(ledger, err, "its budget is missing");
  }
  TACIT_THEN(status, tacit_column_count(ledger, statement, 0, 1, 1, &id, err));
  for (int i = 0; i < 5 && status == TACIT_OK; i++) {
    status = tacit_column_text(ledger, statement, 1 + i, texts[i], err);
  }
  TACIT_THEN(status, tacit_column_count(ledger, statement, 6, 0, INT64_MAX, &header->n_entries, err));
  TACIT_THEN(status, tacit_column_hash(ledger, statement, 7, header->head, err));
  TACIT_THEN(status, tacit_database_step(ledger, statement, &has_row, err));
  if (status == TACIT_OK && has_row) {
    status = tacit_ledger_broken(ledger, err, "it has two budgets");
  }
  sqlite3_finalize(statement);
  return status;
}

/* A number that is written the one way in which tacit writes it. */
static bool parse_number(const char *text, double *value) {
  char again[TACIT_NUMBER_SIZE];
  return tacit_number_parse(text, strlen(text), value) &&
         strcmp(tacit_number_exact(*value, again), text) == 0;
}

tacit_status_t tacit_header_budget(tacit_ledger_t *ledger, const tacit_header_t *header,
                                   tacit_budget_t **budget, tacit_error_t *err) {
  double epsilon, delta;
  bool is_add_remove = strcmp(header->relation, tacit_relation_string(TACIT_RELATION_ADD_REMOVE)) == 0;
  bool is_known =
      is_add_remove || strcmp(header->relation, tacit_relation_string(TACIT_RELATION_SUBSTITUTE)) == 0;
  tacit_error_t reason = {.message = "a number or the relation does not parse"};
  tacit_status_t status = TACIT_ERR_DATA;
  if (is_known && parse_number(header->epsilon, &epsilon) && parse_number(header->delta, &delta)) {
    status = tacit_budget_new(budget, epsilon, delta,
                              is_add_remove ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE, &reason);
  }
  if (status == TACIT_ERR_MEMORY) {
    return tacit_error_memory(err);
  }
  if (status != TACIT_OK || header->data_id[0] == '\0' || !tacit_time_is_valid(header->created)) {
    return tacit_ledger_broken(ledger, err, "its budget cannot be read: %.250s",
                               status != TACIT_OK ? reason.message
                                                  : "the data set's name or the time is missing");
  }
  return TACIT_OK;
}

tacit_status_t tacit_header_read(tacit_ledger_t *ledger, tacit_header_t *header, tacit_error_t *err) {
  *header = (tacit_header_t){0};
  tacit_status_t status = check_tables(ledger, err);
  TACIT_THEN(status, read_header(ledger, header, err));
  return status == TACIT_OK ? tacit_genesis_hash(header->data_id, header->relation, header->epsilon,
                                                 header->delta, header->created, header->genesis, err)
                            : status;
}
