/*
 * Whom a ledger protects: relation, unit and max_rows are its own, others are refused, and an old ledger must
 * say them before anything is spent; and the times that it writes.
 *
 * A ledger that looks at the relation alone (as versions 1 and 2 did) adds up rows and persons of five rows:
 * epsilon 6.06 for a person at a printed 1.45.
 */
#include <time.h>

#include "support.h"

static time_t seconds_on;

/* The clock that a ledger looks at. */
time_t time(time_t *out) {
  struct timespec now;
  assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
  if (out != NULL) {
    *out = now.tv_sec + seconds_on;
  }
  return now.tv_sec + seconds_on;
}

static tacit_spend_request_t request_for(const tacit_event_t *event, tacit_relation_t relation,
                                         const char *unit, uint64_t max_rows) {
  tacit_spend_request_t request = request_of(event, 1);
  request.relation = relation;
  request.unit = unit;
  request.max_rows = max_rows;
  return request;
}

static tacit_ledger_t *ledger_of(const char *path, tacit_relation_t relation, const char *unit,
                                 uint64_t max_rows) {
  tacit_ledger_terms_t terms = trial;
  tacit_error_t err;
  terms.relation = relation;
  terms.unit = unit;
  terms.max_rows = max_rows;
  assert_ok(tacit_ledger_create(path, &terms, &err), err);
  return open_ledger(path);
}

static void assert_state(tacit_ledger_t *ledger, const char *unit, uint64_t max_rows, size_t n_spends) {
  tacit_ledger_state_t states[2];
  tacit_error_t err;
  assert_ok(tacit_ledger_read(ledger, &states[0], &err), err);
  assert_ok(tacit_ledger_glance(ledger, &states[1], &err), err);
  for (int i = 0; i < 2; i++) {
    assert_true(unit == NULL ? states[i].unit == NULL
                             : states[i].unit != NULL && strcmp(states[i].unit, unit) == 0);
    assert_int_equal(states[i].max_rows, max_rows);
    assert_int_equal(states[i].n_spends, n_spends);
    tacit_ledger_state_clear(&states[i]);
  }
}

static void test_others_are_refused(void **unused) {
  const tacit_event_t event = gaussian(20, 1, "gradient");
  const struct {
    tacit_relation_t relation;
    const char *unit;
    uint64_t max_rows;
    const char *words;
  } wrong[] = {{TACIT_RELATION_ADD_REMOVE, "person", 5, "relation: substitute in the schema"},
               {TACIT_RELATION_SUBSTITUTE, "row", 1, "unit: person in the schema"},
               {TACIT_RELATION_SUBSTITUTE, "ward", 5, "unit: person in the schema"},
               {TACIT_RELATION_SUBSTITUTE, "person", 4, "max_rows: 5 in the schema"},
               {TACIT_RELATION_SUBSTITUTE, "person", 6, "max_rows: 5 in the schema"}};
  tacit_ledger_t *ledger = ledger_of("units.ledger", TACIT_RELATION_SUBSTITUTE, "person", 5);
  tacit_reservation_t spend;
  tacit_error_t err;
  for (size_t i = 0; i < LENGTH(wrong); i++) {
    tacit_spend_request_t request = request_for(&event, wrong[i].relation, wrong[i].unit, wrong[i].max_rows);
    assert_int_equal(tacit_ledger_check(ledger, &request, &err), TACIT_ERR_BUDGET);
    assert_int_equal(tacit_ledger_reserve(ledger, &request, &spend, &err), TACIT_ERR_BUDGET);
    assert_non_null(strstr(err.message, wrong[i].words));
  }
  const tacit_spend_request_t none[] = {request_for(&event, TACIT_RELATION_SUBSTITUTE, NULL, 5),
                                        request_for(&event, TACIT_RELATION_SUBSTITUTE, "", 5),
                                        request_for(&event, TACIT_RELATION_SUBSTITUTE, "person", 0),
                                        request_for(&event, TACIT_RELATION_SUBSTITUTE, "row", 5)};
  for (size_t i = 0; i < LENGTH(none); i++) {
    assert_int_equal(tacit_ledger_reserve(ledger, &none[i], &spend, &err), TACIT_ERR_ARGUMENT);
  }
  tacit_spend_request_t right = request_for(&event, TACIT_RELATION_SUBSTITUTE, "person", 5);
  assert_ok(tacit_ledger_reserve(ledger, &right, &spend, &err), err);
  assert_state(ledger, "person", 5, 1);
  tacit_ledger_close(ledger);
}

static void test_the_first_spend_says_it_where_nobody_did(void **unused) {
  const tacit_event_t event = gaussian(20, 1, "gradient");
  tacit_ledger_t *ledger = ledger_of("first.ledger", TACIT_RELATION_SUBSTITUTE, NULL, 0);
  tacit_spend_request_t first = request_for(&event, TACIT_RELATION_SUBSTITUTE, "person", 3);
  tacit_spend_request_t other = request_for(&event, TACIT_RELATION_SUBSTITUTE, "row", 1);
  tacit_reservation_t spend;
  tacit_error_t err;
  assert_state(ledger, NULL, 0, 0);
  assert_ok(tacit_ledger_check(ledger, &other, &err), err);
  assert_state(ledger, NULL, 0, 0); /* a rehearsal says nothing */
  tacit_event_t dear = gaussian(0.01, 1, "gradient");
  first.events = &dear;
  assert_int_equal(tacit_ledger_reserve(ledger, &first, &spend, &err), TACIT_ERR_BUDGET);
  assert_state(ledger, NULL, 0, 0); /* nor does what was refused */
  first.events = &event;
  assert_ok(tacit_ledger_reserve(ledger, &first, &spend, &err), err);
  assert_state(ledger, "person", 3, 1);
  assert_int_equal(tacit_ledger_reserve(ledger, &other, &spend, &err), TACIT_ERR_BUDGET);
  assert_ok(tacit_ledger_reserve(ledger, &first, &spend, &err), err);
  assert_state(ledger, "person", 3, 2);
  tacit_ledger_close(ledger);
}

/* ---- old ledgers ---- */

/* As earlier builds made it: three tables, a write-ahead log, no unit; two spends, the first settled. */
static void make_old(const char *path, int version, uint64_t count) {
  char sql[1200], genesis[TACIT_LEDGER_HASH_SIZE];
  const char *previous = genesis;
  tacit_event_t events[] = {gaussian(10, count, "gradient"), gaussian(20, 30, "ratio"),
                            gaussian(10, count - 1, "gradient")};
  tacit_error_t err;
  if (version == 2) {
    assert_ok(tacit_event_parse(&events[1], "barker-bit:sensitivity=0.01", &err), err);
    events[1].count = 40;
  }
  edit(path, "PRAGMA journal_mode=WAL; PRAGMA application_id=" TACIT_LEDGER_APPLICATION_ID);
  for (size_t i = 0; i < TACIT_LEDGER_N_TABLES; i++) {
    if (tacit_ledger_tables[i].since == 1) {
      edit(path, tacit_ledger_tables[i].sql);
    }
  }
  assert_ok(tacit_genesis_hash("trial-7", "substitute", "6", "1e-06", "2024-05-06T07:08:09Z", genesis, &err),
            err);
  tacit_entry_t entries[3];
  for (size_t i = 0; i < 3; i++) {
    char spec[TACIT_EVENT_TEXT_SIZE];
    assert_ok(tacit_entry_fill(&entries[i], i == 2 ? TACIT_ENTRY_SETTLE : TACIT_ENTRY_RESERVE,
                               i == 2 ? "" : "old", "", &events[i], 1, &err),
              err);
    entries[i].id = i + 1;
    entries[i].spend = i % 2 + 1;
    assert_ok(tacit_entry_hash(&entries[i], previous, entries[i].hash, &err), err);
    previous = entries[i].hash;
    snprintf(sql, sizeof sql,
             "INSERT INTO entries VALUES (%d, '%s', %d, '%s', '%s', '%s', '%s', '', '%s'); INSERT INTO "
             "events VALUES (%d, 0, %d, '%s', '%s')",
             (int)i + 1, tacit_entry_kinds[entries[i].kind], (int)entries[i].spend, entries[i].time,
             entries[i].who, entries[i].host, entries[i].purpose, entries[i].hash, (int)i + 1,
             (int)events[i].count, tacit_event_format(&events[i], spec), events[i].label);
    edit(path, sql);
  }
  snprintf(sql, sizeof sql,
           "INSERT INTO ledger VALUES (1, 'trial-7', 'substitute', '6', '1e-06', '2024-05-06T07:08:09Z', 3, "
           "'%s'); PRAGMA user_version=%d",
           previous, version);
  edit(path, sql);
  for (size_t i = 0; i < 3; i++) {
    tacit_entry_clear(&entries[i]);
  }
}

static void test_old_ledgers_are_migrated(void **unused) {
  const tacit_event_t event = gaussian(20, 1, "gradient");
  for (int version = 1; version <= 2; version++) {
    char path[40];
    snprintf(path, sizeof path, "old-%d.ledger", version);
    make_old(path, version, 20);
    tacit_ledger_t *ledger = open_ledger(path);
    tacit_ledger_state_t before, after;
    tacit_spend_request_t request = request_of(&event, 1);
    tacit_reservation_t spend = {.id = 2};
    tacit_error_t err;
    assert_ok(tacit_ledger_verify(ledger, &before, &err), err);
    assert_int_equal(before.version, version);
    assert_null(before.unit);
    assert_int_equal(tacit_ledger_check(ledger, &request, &err), TACIT_ERR_BUDGET);
    assert_int_equal(tacit_ledger_reserve(ledger, &request, &spend, &err), TACIT_ERR_BUDGET);
    assert_non_null(strstr(err.message, "tacit ledger migrate old-"));
    spend = (tacit_reservation_t){.id = 2};
    memcpy(spend.hash, before.spends[1].hash, sizeof spend.hash);
    assert_int_equal(tacit_ledger_settle(ledger, &spend, NULL, 0, &err), TACIT_ERR_BUDGET);
    tacit_ledger_close(ledger);

    assert_int_equal(tacit_ledger_migrate(path, TACIT_RELATION_ADD_REMOVE, "row", 1, &err), TACIT_ERR_BUDGET);
    assert_int_equal(tacit_ledger_migrate(path, TACIT_RELATION_SUBSTITUTE, NULL, 1, &err),
                     TACIT_ERR_ARGUMENT);
    assert_ok(tacit_ledger_migrate(path, TACIT_RELATION_SUBSTITUTE, "row", 1, &err), err);
    assert_int_equal(tacit_ledger_migrate(path, TACIT_RELATION_SUBSTITUTE, "row", 1, &err), TACIT_ERR_STATE);
    char wal[50];
    snprintf(wal, sizeof wal, "%s-wal", path);
    assert_int_not_equal(access(wal, F_OK), 0);
    ledger = open_ledger(path);
    assert_ok(tacit_ledger_verify(ledger, &after, &err), err);
    assert_string_equal(after.unit, "row");
    assert_int_equal(after.n_entries, before.n_entries + 1);
    for (size_t i = 0; i < 2; i++) {
      assert_string_equal(after.spends[i].hash, before.spends[i].hash);
      assert_string_equal(after.spends[i].settled_hash, before.spends[i].settled_hash);
    }
    assert_true(tacit_budget_rho_spent(after.budget) == tacit_budget_rho_spent(before.budget));
    assert_ok(tacit_ledger_settle(ledger, &spend, NULL, 0, &err),
              err); /* of before: the reservation is as it was */
    assert_ok(tacit_ledger_reserve(ledger, &request, &spend, &err), err);
    request.unit = "person";
    assert_int_equal(tacit_ledger_reserve(ledger, &request, &spend, &err), TACIT_ERR_BUDGET);
    assert_state(ledger, "row", 1, 3);
    tacit_ledger_state_clear(&before);
    tacit_ledger_state_clear(&after);
    tacit_ledger_close(ledger);
  }
}

#define LAST_TAKEN_AWAY                                                                                      \
  "DELETE FROM entries WHERE id = 3; DELETE FROM events WHERE entry = 3; UPDATE ledger SET n_entries = 2"

/* What an old ledger could not have held is not migrated, nor is a new one that calls itself old. */
static void test_broken_ledgers_are_not_migrated(void **unused) {
  static const char *const edits[] = {"UPDATE events SET count = 1 WHERE entry = 2",
                                      "DELETE FROM entries WHERE id = 3",
                                      "PRAGMA user_version = 3",
                                      "UPDATE ledger SET epsilon = '60'",
                                      "CREATE TABLE x(y)",
                                      LAST_TAKEN_AWAY};
  tacit_error_t err;
  for (size_t i = 0; i < LENGTH(edits); i++) {
    char path[40];
    snprintf(path, sizeof path, "bad-%zu.ledger", i);
    make_old(path, 1, 20);
    edit(path, edits[i]);
    assert_int_not_equal(tacit_ledger_migrate(path, TACIT_RELATION_SUBSTITUTE, "row", 1, &err), TACIT_OK);
    tacit_ledger_t *ledger = open_ledger(path);
    assert_int_equal(tacit_ledger_verify(ledger, NULL, &err), TACIT_ERR_DATA);
    tacit_ledger_close(ledger);
  }
  make_old("two-as-one.ledger", 2, 20);
  edit("two-as-one.ledger", "PRAGMA user_version = 1");
  assert_int_equal(tacit_ledger_migrate("two-as-one.ledger", TACIT_RELATION_SUBSTITUTE, "row", 1, &err),
                   TACIT_ERR_DATA);
  assert_non_null(strstr(err.message, "none that version 1 can hold"));
  tacit_ledger_close(new_ledger("new.ledger"));
  for (int version = 1; version <= 2; version++) {
    edit("new.ledger", version == 1 ? "PRAGMA user_version = 1" : "PRAGMA user_version = 2");
    assert_int_equal(tacit_ledger_migrate("new.ledger", TACIT_RELATION_SUBSTITUTE, "row", 1, &err),
                     TACIT_ERR_DATA);
    assert_non_null(strstr(err.message, "which tacit did not make"));
  }
}

/* While another process may still write to the log, nothing is migrated. */
static void test_a_ledger_in_use_is_not_migrated(void **unused) {
  tacit_error_t err;
  sqlite3 *other;
  make_old("used.ledger", 1, 20);
  assert_int_equal(sqlite3_open("used.ledger", &other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, "SELECT count(*) FROM entries", NULL, NULL, NULL), SQLITE_OK);
  tacit_ledger_t *ledger = open_ledger("used.ledger");
  tacit_ledger_set_patience(ledger, 0.05);
  assert_int_equal(tacit_database_use_journal(ledger, &err), TACIT_ERR_IO);
  tacit_ledger_close(ledger);
  sqlite3_close(other);
  assert_ok(tacit_ledger_migrate("used.ledger", TACIT_RELATION_SUBSTITUTE, "row", 1, &err), err);
}

/* ---- times ---- */

static char *times_of(const char *path) {
  tacit_ledger_t *ledger = open_ledger(path);
  char *text;
  tacit_error_t err;
  assert_ok(tacit_database_text(
                ledger, "SELECT group_concat(time) FROM (SELECT time FROM entries ORDER BY id)", &text, &err),
            err);
  tacit_ledger_close(ledger);
  return text;
}

/* Settled seconds later: its time is that of the reservation, which is a day. */
static void test_no_time_tells_how_long_a_run_took(void **unused) {
  const tacit_event_t event = gaussian(20, 1, "gradient");
  for (int relation = TACIT_RELATION_SUBSTITUTE; relation <= TACIT_RELATION_ADD_REMOVE; relation++) {
    const char *path = relation == TACIT_RELATION_SUBSTITUTE ? "substitute.ledger" : "add.ledger";
    tacit_ledger_t *ledger = ledger_of(path, (tacit_relation_t)relation, NULL, 0);
    tacit_spend_request_t request = request_for(&event, (tacit_relation_t)relation, "row", 1);
    tacit_reservation_t spend;
    tacit_error_t err;
    assert_ok(tacit_ledger_reserve(ledger, &request, &spend, &err), err);
    seconds_on += 86400; /* times are of days */
    assert_ok(tacit_ledger_settle(ledger, &spend, &event, 1, &err), err);
    tacit_ledger_close(ledger);
    char *times = times_of(path);
    assert_int_equal(strlen(times), 62); /* of unit, reservation and settlement */
    assert_memory_equal(times + 21, times + 42, 20);
    for (size_t i = 10; i < 62; i += 21) {
      assert_memory_equal(times + i, "T00:00:00Z", 10);
    }
    tacit_free(times);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_others_are_refused),
      cmocka_unit_test(test_the_first_spend_says_it_where_nobody_did),
      cmocka_unit_test(test_old_ledgers_are_migrated),
      cmocka_unit_test(test_broken_ledgers_are_not_migrated),
      cmocka_unit_test(test_a_ledger_in_use_is_not_migrated),
      cmocka_unit_test(test_no_time_tells_how_long_a_run_took),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
