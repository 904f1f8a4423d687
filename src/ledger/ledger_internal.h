/* The ledger's parts: database, entries, state. Not installed. */
#ifndef TACIT_LEDGER_INTERNAL_H
#define TACIT_LEDGER_INTERNAL_H

#include <sys/types.h>

#include <sqlite3.h>

#include "base/base_internal.h"
#include "tacit/ledger.h"

struct tacit_ledger {
  sqlite3 *db;
  char *path;
  dev_t device;
  ino_t inode;
};

/*
 * What marks the file as ours: "TCLG", and the version of what follows. Ledgers begin as version 1, which holds
 * Gaussian releases alone; the first spend of another kind makes version 2 of it, which programs that cannot add that
 * up refuse.
 */
#define TACIT_LEDGER_APPLICATION_ID "1413696583"
#define TACIT_LEDGER_VERSION "1"
#define TACIT_LEDGER_NEWEST "2"

/* ---- database.c: SQLite with our errors ---- */

/* Statements that make the tables; what the file holds is compared with them letter by letter. */
enum { TACIT_LEDGER_N_TABLES = 3 };
typedef struct tacit_ledger_table {
  const char *name, *sql;
} tacit_ledger_table_t;
extern const tacit_ledger_table_t tacit_ledger_tables[TACIT_LEDGER_N_TABLES];

/* "PATH: the ledger is broken: ...", TACIT_ERR_DATA. */
tacit_status_t tacit_ledger_broken(const tacit_ledger_t *ledger, tacit_error_t *err, const char *format, ...)
    TACIT_PRINTF(3, 4);
/* An SQLite result code as an error. */
tacit_status_t tacit_ledger_error(const tacit_ledger_t *ledger, int code, tacit_error_t *err);

tacit_status_t tacit_database_open(tacit_ledger_t *ledger, const char *path, tacit_error_t *err);
tacit_status_t tacit_database_run(tacit_ledger_t *ledger, const char *sql, tacit_error_t *err);
tacit_status_t tacit_database_prepare(tacit_ledger_t *ledger, const char *sql, sqlite3_stmt **statement,
                                      tacit_error_t *err);
tacit_status_t tacit_database_step(tacit_ledger_t *ledger, sqlite3_stmt *statement, bool *has_row, tacit_error_t *err);
/* A transaction that sees one state; a writing one excludes all others until its end. */
tacit_status_t tacit_database_begin(tacit_ledger_t *ledger, bool is_writing, tacit_error_t *err);
/* Commit if status is TACIT_OK, else roll back; returns status, or what went wrong with the commit. */
tacit_status_t tacit_database_end(tacit_ledger_t *ledger, tacit_status_t status, tacit_error_t *err);
/* The first column of the only row of a query; text is owned. */
tacit_status_t tacit_database_text(tacit_ledger_t *ledger, const char *sql, char **text, tacit_error_t *err);
/* Column i as a whole number in [lower, upper] or as an owned text, else broken. */
tacit_status_t tacit_column_count(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i, uint64_t lower, uint64_t upper,
                                  uint64_t *value, tacit_error_t *err);
tacit_status_t tacit_column_text(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i, char **text,
                                 tacit_error_t *err);
tacit_status_t tacit_column_hash(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i,
                                 char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err);

/* ---- entry.c: one reservation or settlement ---- */

typedef struct tacit_entry {
  uint64_t id, spend; /* spend: the id of the spend that it makes or settles */
  bool is_settlement;
  char *time, *who, *host, *purpose, *artefact;
  tacit_event_t *events;
  size_t n_events;
  char hash[TACIT_LEDGER_HASH_SIZE];
} tacit_entry_t;

void tacit_entry_clear(tacit_entry_t *entry);
/* A new entry by this user, now. */
tacit_status_t tacit_entry_fill(tacit_entry_t *entry, const char *purpose, const char *artefact,
                                const tacit_event_t *events, size_t n_events, tacit_error_t *err);
/* Hash of the entry and of all before it. */
tacit_status_t tacit_entry_hash(const tacit_entry_t *entry, const char *previous, char hash[TACIT_LEDGER_HASH_SIZE],
                                tacit_error_t *err);
/* Hash of the ledger's own row, with which the chain begins. */
tacit_status_t tacit_genesis_hash(const char *data_id, const char *relation, const char *epsilon, const char *delta,
                                  const char *created, char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err);
/* "2026-11-21T05:17:46Z" */
enum { TACIT_TIME_SIZE = 21 };
void tacit_time_now(char out[TACIT_TIME_SIZE]);
bool tacit_time_is_valid(const char *text);
/* Can the ledger hold this event; messages name it. */
tacit_status_t tacit_ledger_check_event(const tacit_event_t *event, tacit_error_t *err);
/* Gaussian releases and nothing else? */
bool tacit_events_are_plain(const tacit_event_t *events, size_t n_events);

/* ---- table.c: entries in the database ---- */

tacit_status_t tacit_entry_write(tacit_ledger_t *ledger, const tacit_entry_t *entry, tacit_error_t *err);
/* The row that `statement` (of tacit_entry_query) stands at, with its events. */
extern const char tacit_entry_query[];
tacit_status_t tacit_entry_read(tacit_ledger_t *ledger, sqlite3_stmt *statement, tacit_entry_t *entry,
                                tacit_error_t *err);

/* ---- state.c ---- */

/* Everything, checked; to be called inside a transaction. Clear also after failure. */
tacit_status_t tacit_state_read(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_error_t *err);
/*
 * Does each event fit into the reserved ones. Gaussian releases may also be part of the rho that was reserved with
 * bits, in whatever groups and with whatever label.
 */
bool tacit_events_are_within(const tacit_event_t *events, size_t n_events, const tacit_event_t *reserved,
                             size_t n_reserved);
/* Charge the state's budget; TACIT_ERR_BUDGET says what would fit. */
tacit_status_t tacit_state_charge(const tacit_ledger_t *ledger, tacit_ledger_state_t *state,
                                  const tacit_event_t *events, size_t n_events, tacit_error_t *err);

#endif
