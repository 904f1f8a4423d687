/* The ledger's parts: database, turns, entries, totals, state. Not installed. */
#ifndef TACIT_LEDGER_INTERNAL_H
#define TACIT_LEDGER_INTERNAL_H

#include <sys/types.h>

#include <sqlite3.h>

#include "base/text.h"
#include "tacit/ledger.h"

__extension__ typedef unsigned __int128 tacit_u128_t;

/* A place in the queue of those who are about to write; turns.c. */
typedef struct tacit_turn {
  int fd; /* -1: none */
} tacit_turn_t;

struct tacit_ledger {
  sqlite3 *db;
  char *path;
  dev_t device;
  ino_t inode;
  int version;
  double patience, deadline; /* seconds; by tacit_clock */
  tacit_turn_t turn;
};

/*
 * What marks the file as ours: "TCLG", and the version of what follows. Versions 1 (Gaussian releases alone)
 * and 2 do not say who is protected: they can be read and migrated, and nothing else. Version 3 does, and
 * keeps totals.
 */
#define TACIT_LEDGER_APPLICATION_ID "1413696583"
#define TACIT_LEDGER_NEWEST "3"
enum { TACIT_LEDGER_VERSION = 3 };

/* ---- database.c: SQLite with our errors ---- */

/* Statements that make the tables, by name; what the file holds is compared with them letter by letter. */
enum { TACIT_LEDGER_N_TABLES = 6 };
typedef struct tacit_ledger_table {
  const char *name, *sql;
  int since; /* version */
} tacit_ledger_table_t;
extern const tacit_ledger_table_t tacit_ledger_tables[TACIT_LEDGER_N_TABLES];

/* "PATH: the ledger is broken: ...", TACIT_ERR_DATA. */
tacit_status_t tacit_ledger_broken(const tacit_ledger_t *ledger, tacit_error_t *err, const char *format, ...)
    TACIT_PRINTF(3, 4);
/* An SQLite result code as an error. */
tacit_status_t tacit_ledger_error(const tacit_ledger_t *ledger, int code, tacit_error_t *err);

tacit_status_t tacit_database_open(tacit_ledger_t *ledger, const char *path, tacit_error_t *err);
/* A journal that is rolled back after a crash and gone after each commit: the file alone is whole. Waits for
 * whoever has it open. */
tacit_status_t tacit_database_use_journal(tacit_ledger_t *ledger, tacit_error_t *err);
tacit_status_t tacit_database_run(tacit_ledger_t *ledger, const char *sql, tacit_error_t *err);
tacit_status_t tacit_database_prepare(tacit_ledger_t *ledger, const char *sql, sqlite3_stmt **statement,
                                      tacit_error_t *err);
tacit_status_t tacit_database_step(tacit_ledger_t *ledger, sqlite3_stmt *statement, bool *has_row,
                                   tacit_error_t *err);
/* Run a statement whose values are bound (or TACIT_ERR_MEMORY) and that has no rows, and finalize it. */
tacit_status_t tacit_database_finish(tacit_ledger_t *ledger, sqlite3_stmt *statement, bool is_bound,
                                     tacit_error_t *err);
bool tacit_bind_text(sqlite3_stmt *statement, int i, const char *text);
bool tacit_bind_count(sqlite3_stmt *statement, int i, uint64_t value);
/* A transaction that sees one state; a writing one excludes all others until its end, and comes in turn. */
tacit_status_t tacit_database_begin(tacit_ledger_t *ledger, bool is_writing, tacit_error_t *err);
/* Commit if status is TACIT_OK, else roll back; returns status, or what went wrong with the commit. */
tacit_status_t tacit_database_end(tacit_ledger_t *ledger, tacit_status_t status, tacit_error_t *err);
/* How often the file was written to, by whatever program: SQLite's own count, which a commit raises by one.
 * Inside a transaction. */
tacit_status_t tacit_database_counter(tacit_ledger_t *ledger, uint64_t *counter, tacit_error_t *err);
/* The first column of the only row of a query; text is owned. */
tacit_status_t tacit_database_text(tacit_ledger_t *ledger, const char *sql, char **text, tacit_error_t *err);
/* Column i as a whole number in [lower, upper] or as an owned text, else broken. */
tacit_status_t tacit_column_count(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i, uint64_t lower,
                                  uint64_t upper, uint64_t *value, tacit_error_t *err);
tacit_status_t tacit_column_text(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i, char **text,
                                 tacit_error_t *err);
tacit_status_t tacit_column_hash(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i,
                                 char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err);

/* ---- turns.c: who came first writes first ---- */

/*
 * Wait for one's turn until the deadline, at the most. Turns are a courtesy: where there are none to be had,
 * or they are lost, the database's own lock still lets one writer in at a time.
 */
void tacit_turn_take(tacit_turn_t *turn, const char *path, double deadline);
void tacit_turn_give_up(tacit_turn_t *turn);
void tacit_sleep(double seconds);

/* ---- entry.c: one reservation or settlement, or who is protected ---- */

typedef enum tacit_entry_kind {
  TACIT_ENTRY_RESERVE,
  TACIT_ENTRY_SETTLE,
  TACIT_ENTRY_UNIT /* spend 0; purpose: the unit, artefact: its largest number of rows */
} tacit_entry_kind_t;

typedef struct tacit_entry {
  uint64_t id, spend; /* spend: the id of the spend that it makes or settles */
  tacit_entry_kind_t kind;
  char *time, *who, *host, *purpose, *artefact;
  tacit_event_t *events;
  size_t n_events;
  char hash[TACIT_LEDGER_HASH_SIZE];
} tacit_entry_t;

extern const char *const tacit_entry_kinds[3];

void tacit_entry_clear(tacit_entry_t *entry);
/* A new entry by this user, now. */
tacit_status_t tacit_entry_fill(tacit_entry_t *entry, tacit_entry_kind_t kind, const char *purpose,
                                const char *artefact, const tacit_event_t *events, size_t n_events,
                                tacit_error_t *err);
/* The same of a unit. */
tacit_status_t tacit_entry_fill_unit(tacit_entry_t *entry, const char *unit, uint64_t max_rows,
                                     tacit_error_t *err);
/* What the unit's entry says; false if it says nothing that tacit writes. */
bool tacit_entry_unit(const tacit_entry_t *entry, uint64_t *max_rows);
/* A unit as people give it: "row" with 1, or a name with 1 and more. */
tacit_status_t tacit_unit_check(const char *unit, uint64_t max_rows, tacit_error_t *err);
/* Hash of the entry and of all before it. */
tacit_status_t tacit_entry_hash(const tacit_entry_t *entry, const char *previous,
                                char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err);
/* Hash of the ledger's own row, with which the chain begins. */
tacit_status_t tacit_genesis_hash(const char *data_id, const char *relation, const char *epsilon,
                                  const char *delta, const char *created, char hash[TACIT_LEDGER_HASH_SIZE],
                                  tacit_error_t *err);
/* Append with its length first, so that no two lists of values give the same text; hash and clear. */
void tacit_hash_put(tacit_text_t *text, const char *value);
void tacit_hash_put_count(tacit_text_t *text, uint64_t value);
tacit_status_t tacit_hash_finish(tacit_text_t *text, char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err);
/* "2026-11-21T05:17:46Z" */
enum { TACIT_TIME_SIZE = 21 };
void tacit_time_now(char out[TACIT_TIME_SIZE]);
bool tacit_time_is_valid(const char *text);
/* Can the ledger hold this event; messages name it. */
tacit_status_t tacit_ledger_check_event(const tacit_event_t *event, tacit_error_t *err);
/* Gaussian releases and nothing else? */
bool tacit_events_are_plain(const tacit_event_t *events, size_t n_events);
/*
 * Does each event fit into the reserved ones. Gaussian releases may also be part of the rho that was reserved
 * with bits, in whatever groups and with whatever label.
 */
bool tacit_events_are_within(const tacit_event_t *events, size_t n_events, const tacit_event_t *reserved,
                             size_t n_reserved);

/* ---- table.c: entries in the database ---- */

tacit_status_t tacit_entry_write(tacit_ledger_t *ledger, const tacit_entry_t *entry, tacit_error_t *err);
/* Parse an event as it is written, letter by letter. */
tacit_status_t tacit_event_read(tacit_ledger_t *ledger, uint64_t entry, const char *spec, uint64_t count,
                                const char *label, tacit_event_t *event, tacit_error_t *err);

/* Entries in their order, from `first` on, each with its events. */
typedef struct tacit_entries {
  tacit_ledger_t *ledger;
  sqlite3_stmt *rows, *events;
  bool has_event; /* does `events` stand at a row */
} tacit_entries_t;

tacit_status_t tacit_entries_begin(tacit_entries_t *entries, tacit_ledger_t *ledger, uint64_t first,
                                   tacit_error_t *err);
/* entry->id 0 past the last; events that belong to no entry are an error then. */
tacit_status_t tacit_entries_next(tacit_entries_t *entries, tacit_entry_t *entry, tacit_error_t *err);
void tacit_entries_end(tacit_entries_t *entries);
/* Entry `id`, whose hash must be that of its contents after the entry before it, or after `genesis`. */
tacit_status_t tacit_entry_find(tacit_ledger_t *ledger, uint64_t id, const char *genesis,
                                tacit_entry_t *entry, tacit_error_t *err);
/* The entry that reserves a spend, or 0, and whether one settles it. */
tacit_status_t tacit_spend_find(tacit_ledger_t *ledger, uint64_t spend, uint64_t *entry, bool *is_settled,
                                tacit_error_t *err);

/* ---- header.c: the ledger's own row ---- */

typedef struct tacit_header {
  char *data_id, *relation, *epsilon, *delta, *created;
  uint64_t n_entries;
  char head[TACIT_LEDGER_HASH_SIZE], genesis[TACIT_LEDGER_HASH_SIZE];
} tacit_header_t;

void tacit_header_clear(tacit_header_t *header);
/* After a look at the tables. Clear also after failure. */
tacit_status_t tacit_header_read(tacit_ledger_t *ledger, tacit_header_t *header, tacit_error_t *err);
/* Its budget, with nothing charged. */
tacit_status_t tacit_header_budget(tacit_ledger_t *ledger, const tacit_header_t *header,
                                   tacit_budget_t **budget, tacit_error_t *err);

/* ---- totals.c: all that a new spend needs to know of those before it ---- */

/*
 * The sums are exact, so that they do not depend on the order of spends and that a settlement takes out what
 * its reservation put in: rho in units of 2^-80, each term rounded up, and counts of decisions of each kind.
 */
typedef struct tacit_totals {
  uint64_t n_spends;
  char *unit; /* NULL: not said yet */
  uint64_t max_rows;
  tacit_u128_t rho;
  tacit_event_t *decisions; /* shape (n), by tacit_event_compare, none equal */
  size_t n, capacity;
} tacit_totals_t;

void tacit_totals_clear(tacit_totals_t *totals);
/* The event that one is counted as: it costs as much, or a little more. */
tacit_event_t tacit_totals_kind(const tacit_event_t *event);
/* Into rho, and into the list of decisions, which then wants tacit_totals_merge. Too large a rho stays too
 * large. */
tacit_status_t tacit_totals_add(tacit_totals_t *totals, const tacit_event_t *events, size_t n_events,
                                tacit_error_t *err);
tacit_status_t tacit_totals_merge(tacit_totals_t *totals, tacit_error_t *err);
bool tacit_totals_are_equal(const tacit_totals_t *a, const tacit_totals_t *b);
/* Charge all of it; TACIT_ERR_BUDGET. */
tacit_status_t tacit_totals_charge(const tacit_totals_t *totals, tacit_budget_t *budget, tacit_error_t *err);
/*
 * As they were last written. *is_current: by the last program that wrote to the file, which was tacit, with
 * the header as it is.
 */
tacit_status_t tacit_totals_read(tacit_ledger_t *ledger, const tacit_header_t *header, tacit_totals_t *totals,
                                 bool *is_current, tacit_error_t *err);
/* The first, of an old or a new ledger; entries were written already. */
tacit_status_t tacit_totals_create(tacit_ledger_t *ledger, const tacit_totals_t *totals, tacit_error_t *err);
/* After the last entry of a transaction: what `without` was counted no more, and `with` is; shapes
 * (n_without), (n_with). */
tacit_status_t tacit_totals_write(tacit_ledger_t *ledger, tacit_totals_t *totals,
                                  const tacit_event_t *without, size_t n_without, const tacit_event_t *with,
                                  size_t n_with, tacit_error_t *err);

/* ---- state.c ---- */

/*
 * What a spend is judged by: header, totals and budget alone, the chain's last entry checked. Where another
 * program wrote to the file, or anything does not fit, all of it is read and checked. Clear all three also
 * after failure.
 */
tacit_status_t tacit_state_glance(tacit_ledger_t *ledger, tacit_header_t *header, tacit_totals_t *totals,
                                  tacit_ledger_state_t *state, tacit_error_t *err);
/* Everything, checked; to be called inside a transaction. */
tacit_status_t tacit_state_read(tacit_ledger_t *ledger, tacit_header_t *header, tacit_totals_t *totals,
                                tacit_ledger_state_t *state, tacit_error_t *err);
/* The same but for the totals that the file holds, which are not looked at. */
tacit_status_t tacit_state_read_entries(tacit_ledger_t *ledger, tacit_header_t *header,
                                        tacit_totals_t *totals, tacit_ledger_state_t *state,
                                        tacit_error_t *err);
/* Charge the state's budget; TACIT_ERR_BUDGET says what would fit. */
tacit_status_t tacit_state_charge(const tacit_ledger_t *ledger, tacit_ledger_state_t *state,
                                  const tacit_event_t *events, size_t n_events, tacit_error_t *err);

/* ---- query.c ---- */

/* Is it the ledger's data id, with or without its query? */
bool tacit_ledger_is_data_id(const char *data_id, const char *wanted);

/* ---- ledger.c ---- */

/* Number, chain and write an entry; the head moves on. */
tacit_status_t tacit_entry_append(tacit_ledger_t *ledger, tacit_header_t *header, tacit_entry_t *entry,
                                  tacit_error_t *err);
/* Append the entry of a unit and note it in the totals. */
tacit_status_t tacit_unit_append(tacit_ledger_t *ledger, tacit_header_t *header, tacit_totals_t *totals,
                                 const char *unit, uint64_t max_rows, tacit_error_t *err);

#endif
