/*
 * A ledger in one process: what it records, what it refuses, and that no edit of its file lets a spend pass.
 */
#include "support.h"

#include <float.h>

static void test_reserve_settle_and_read(void **unused) {
  tacit_ledger_t *ledger = new_ledger("a.ledger");
  tacit_error_t err;
  tacit_event_t events[] = {gaussian(1.0 / 3, 1, "ratio"), gaussian(23.456789012345678, 50, "gradient")};
  tacit_spend_request_t request = request_of(events, 2);
  uint64_t id;
  tacit_reservation_t spend;
  assert_int_equal(tacit_ledger_check(ledger, &request, &err), TACIT_ERR_BUDGET);
  events[0] = gaussian(20.1, 7, "ratio");
  assert_ok(tacit_ledger_check(ledger, &request, &err), err);
  assert_ok(tacit_ledger_reserve(ledger, &request, &spend, &err), err);
  assert_int_equal(spend.id, 1);
  assert_ok(reserve(ledger, 10, 20, &id, &err), err);
  assert_int_equal(id, 2);
  tacit_event_t charged = gaussian(23.456789012345678, 49, "gradient");
  assert_ok(settle(ledger, 1, &charged, 1, &err), err);
  assert_ok(tacit_ledger_verify(ledger, NULL, &err), err);
  tacit_ledger_close(ledger);

  ledger = open_ledger("a.ledger");
  tacit_ledger_state_t state;
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  assert_string_equal(state.data_id, "trial-7");
  assert_int_equal(state.n_spends, 2);
  assert_int_equal(state.n_entries, 4);
  const tacit_spend_t *first = &state.spends[0];
  assert_true(first->is_settled);
  assert_int_equal(first->n_reserved, 2);
  assert_memory_equal(&first->reserved[1].noise_multiplier, &events[1].noise_multiplier, sizeof(double));
  size_t n;
  assert_int_equal(tacit_spend_events(first, &n)->count, 49);
  assert_int_equal(n, 1);
  assert_string_equal(first->purpose, "test");
  assert_string_equal(first->artefact, "/out");
  assert_false(state.spends[1].is_settled);
  double rho = 49 / (2 * charged.noise_multiplier * charged.noise_multiplier) + 20 / 200.0;
  assert_close(tacit_budget_rho_spent(state.budget), rho, 1e-14);
  tacit_ledger_state_clear(&state);
  tacit_ledger_close(ledger);
}

static void test_settling_never_raises_and_happens_once(void **unused) {
  tacit_ledger_t *ledger = new_ledger("s.ledger");
  tacit_error_t err;
  uint64_t id;
  assert_ok(reserve(ledger, 10, 20, &id, &err), err);
  tacit_event_t more[] = {gaussian(10, 21, "gradient"),  gaussian(10, 20, "ratio"),
                          gaussian(9.99, 1, "gradient"), gaussian(10, UINT64_MAX, "gradient"),
                          gaussian(NAN, 1, "gradient"),  gaussian(INFINITY, 1, "gradient")};
  for (size_t i = 0; i < LENGTH(more); i++) {
    assert_int_equal(settle(ledger, id, &more[i], 1, &err), TACIT_ERR_ARGUMENT);
  }
  tacit_event_t twice[] = {gaussian(10, 11, "gradient"), gaussian(10, 10, "gradient")};
  assert_int_equal(settle(ledger, id, twice, 2, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(settle(ledger, 0, twice, 1, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(settle(ledger, 2, twice, 1, &err), TACIT_ERR_ARGUMENT);
  tacit_ledger_state_t state;
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  assert_int_equal(state.n_entries, 2);
  tacit_ledger_state_clear(&state);
  assert_ok(settle(ledger, id, NULL, 0, &err), err);
  assert_int_equal(settle(ledger, id, NULL, 0, &err), TACIT_ERR_STATE);
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  assert_close(tacit_budget_rho_spent(state.budget), 0, 0);
  tacit_ledger_state_clear(&state);
  tacit_ledger_close(ledger);
}

/* As many as fit, one by one: what a budget in memory allows, and the message tells the truth. */
static void test_refuses_what_does_not_fit(void **unused) {
  tacit_ledger_t *ledger = new_ledger("r.ledger");
  tacit_error_t err;
  tacit_event_t one = gaussian(10, 1, "");
  uint64_t id, room;
  assert_ok(tacit_account_max_repetitions(NULL, 0, &one, 1, NULL, 6, 1e-6, &room, &err), err);
  assert_int_equal(reserve(ledger, 10, room + 1, &id, &err), TACIT_ERR_BUDGET);
  assert_int_equal(id, 0);
  char expected[60];
  snprintf(expected, sizeof expected, "for %d releases with noise multiplier 10 (not %d)", (int)room,
           (int)room + 1);
  assert_non_null(strstr(err.message, expected));
  assert_ok(reserve(ledger, 10, room - 3, &id, &err), err);
  assert_int_equal(reserve(ledger, 10, 5, &id, &err), TACIT_ERR_BUDGET);
  assert_non_null(strstr(err.message, "for 3 releases with"));
  for (int i = 0; i < 3; i++) {
    assert_ok(reserve(ledger, 10, 1, &id, &err), err);
  }
  assert_int_equal(reserve(ledger, 10, 1, &id, &err), TACIT_ERR_BUDGET);
  tacit_ledger_state_t state;
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  assert_int_equal(state.n_spends, 4);
  assert_true(tacit_budget_rho_spent(state.budget) <= tacit_budget_rho(state.budget));
  tacit_ledger_state_clear(&state);
  tacit_ledger_close(ledger);
}

static void test_the_epsilon_left_fits(void **unused) {
  tacit_ledger_t *ledger = new_ledger("e.ledger");
  tacit_error_t err;
  uint64_t id;
  for (int i = 0; i < 6; i++) {
    tacit_ledger_state_t state;
    assert_ok(tacit_ledger_read(ledger, &state, &err), err);
    double left = tacit_ledger_epsilon_left(&state);
    tacit_budget_t *one_run;
    assert_ok(tacit_budget_new(&one_run, left, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
    double rho = tacit_budget_rho(one_run);
    assert_true(rho + tacit_budget_rho_spent(state.budget) <= tacit_budget_rho(state.budget));
    assert_true(rho + tacit_budget_rho_spent(state.budget) > tacit_budget_rho(state.budget) * (1 - 1e-6));
    tacit_budget_free(one_run);
    tacit_ledger_state_clear(&state);
    assert_ok(reserve(ledger, sqrt(0.5 / (0.5 * rho)), 1, &id, &err), err); /* half of what is left */
  }
  tacit_ledger_close(ledger);
}

static void test_refuses_numbers_that_are_none(void **unused) {
  tacit_ledger_t *ledger = new_ledger("n.ledger");
  tacit_error_t err;
  uint64_t id;
  double sigmas[] = {0, -0.0, -1, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < LENGTH(sigmas); i++) {
    assert_int_equal(reserve(ledger, sigmas[i], 1, &id, &err), TACIT_ERR_ARGUMENT);
    assert_string_equal(err.field, "sigma");
  }
  uint64_t counts[] = {0, UINT64_C(1000000000000000001), UINT64_MAX};
  for (size_t i = 0; i < LENGTH(counts); i++) {
    assert_int_equal(reserve(ledger, 1e30, counts[i], &id, &err), TACIT_ERR_ARGUMENT);
    assert_string_equal(err.field, "count");
  }
  double dear[] = {DBL_TRUE_MIN, DBL_MIN / 2, 1e-200, 1e-9};
  for (size_t i = 0; i < LENGTH(dear); i++) {
    assert_int_equal(reserve(ledger, dear[i], 1, &id, &err), TACIT_ERR_BUDGET);
  }
  assert_int_equal(reserve(ledger, 1, UINT64_C(1000000000000000000), &id, &err), TACIT_ERR_BUDGET);
  assert_ok(reserve(ledger, 1e300, 1, &id, &err), err); /* costs next to nothing, and more than nothing */
  tacit_reservation_t spend;
  tacit_event_t odd = gaussian(10, 1, "");
  tacit_spend_request_t request = request_of(&odd, 1);
  odd.kind = (tacit_event_kind_t)77;
  assert_int_equal(tacit_ledger_reserve(ledger, &request, &spend, &err), TACIT_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "unknown kind"));
  odd.kind = TACIT_EVENT_GAUSSIAN;
  memset(odd.label, 'x', sizeof odd.label);
  assert_int_equal(tacit_ledger_reserve(ledger, &request, &spend, &err), TACIT_ERR_ARGUMENT);
  request.n_events = 0;
  assert_int_equal(tacit_ledger_reserve(ledger, &request, &spend, &err), TACIT_ERR_ARGUMENT);
  tacit_ledger_state_t state;
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  assert_int_equal(state.n_spends, 1);
  assert_true(tacit_budget_rho_spent(state.budget) > 0);
  tacit_ledger_state_clear(&state);
  tacit_ledger_close(ledger);
}

/* Each edit on a fresh copy of the same ledger: reading, verifying and spending all refuse. */
static void test_edited_ledgers_refuse_to_spend(void **unused) {
  static const char *const edits[] = {
      "UPDATE events SET count = 1 WHERE entry = 3",
      "UPDATE events SET count = 0 WHERE entry = 3",
      "UPDATE events SET count = -5 WHERE entry = 3",
      "UPDATE events SET count = 9223372036854775807 WHERE entry = 3",
      "UPDATE events SET count = 1e300 WHERE entry = 3",
      "UPDATE events SET count = 'many' WHERE entry = 3",
      "UPDATE events SET count = x'0001' WHERE entry = 3",
      "UPDATE events SET spec = 'gaussian:sigma=nan' WHERE entry = 3",
      "UPDATE events SET spec = 'gaussian:sigma=inf' WHERE entry = 3",
      "UPDATE events SET spec = 'gaussian:sigma=-10' WHERE entry = 3",
      "UPDATE events SET spec = 'gaussian:sigma=0' WHERE entry = 3",
      "UPDATE events SET spec = 'gaussian:sigma=4.9406564584124654e-324' WHERE entry = 3",
      "UPDATE events SET spec = 'gaussian:sigma=1e300' WHERE entry = 3",
      "UPDATE events SET spec = 'gaussian:sigma=10.0' WHERE entry = 3",
      "UPDATE events SET spec = 'gaussian:sigma=10' || char(0) || '0' WHERE entry = 3",
      "UPDATE events SET spec = 'laplace:scale=10' WHERE entry = 3",
      "UPDATE events SET spec = '' WHERE entry = 3",
      "UPDATE events SET label = hex(zeroblob(5000)) WHERE entry = 3",
      "UPDATE events SET label = 'another' WHERE entry = 3",
      "UPDATE events SET position = 1 WHERE entry = 3",
      "DELETE FROM events WHERE entry = 3",
      "DELETE FROM events",
      "INSERT INTO events VALUES (77, 0, 1, 'gaussian:sigma=10', '')",
      "INSERT INTO events VALUES (3, 1, 1, 'gaussian:sigma=10', '')",
      "DELETE FROM entries WHERE id = 4",
      "DELETE FROM entries WHERE id = 3; DELETE FROM events WHERE entry = 3",
      "DELETE FROM entries; DELETE FROM events",
      "DELETE FROM entries; DELETE FROM events; UPDATE ledger SET n_entries = 0",
      "UPDATE entries SET spend = 2 WHERE id = 4",
      "UPDATE entries SET kind = 'settle' WHERE id = 3",
      "UPDATE entries SET kind = 'refund' WHERE id = 3",
      "UPDATE entries SET id = -2 WHERE id = 3",
      "UPDATE entries SET who = 'somebody' WHERE id = 2",
      "UPDATE entries SET time = '2020-01-01T00:00:00Z' WHERE id = 2",
      "UPDATE entries SET hash = substr(hash, 2) WHERE id = 2",
      "UPDATE entries SET hash = (SELECT hash FROM entries WHERE id = 2) WHERE id = 3",
      "INSERT INTO entries SELECT 5, 'settle', 2, time, who, host, '', '', hash FROM entries WHERE id = 4",
      "UPDATE ledger SET epsilon = '600'",
      "UPDATE ledger SET epsilon = 'inf'",
      "UPDATE ledger SET epsilon = 'nan'",
      "UPDATE ledger SET epsilon = '6.0'",
      "UPDATE ledger SET epsilon = x'36'",
      "UPDATE ledger SET delta = '0.1'",
      "UPDATE ledger SET delta = '1'",
      "UPDATE ledger SET relation = 'add-remove'",
      "UPDATE ledger SET relation = 'none'",
      "UPDATE ledger SET data_id = 'other'",
      "UPDATE ledger SET data_id = ''",
      "UPDATE ledger SET head = hex(zeroblob(32))",
      "UPDATE ledger SET n_entries = -1",
      "UPDATE ledger SET id = 2",
      "DELETE FROM ledger",
      "INSERT INTO ledger SELECT 2, data_id, relation, '600', delta, created, n_entries, head FROM ledger",
      "CREATE TRIGGER thief AFTER INSERT ON events BEGIN UPDATE events SET count = 1; END",
      "CREATE TABLE other(x)",
      "DROP TABLE events",
      ("ALTER TABLE events RENAME TO e; CREATE VIEW events AS SELECT entry, position, 1 AS count, spec, "
       "label FROM e"),
      "ALTER TABLE entries ADD COLUMN extra",
      "UPDATE totals SET rho = '00000000000000000000000000000001'",
      "UPDATE totals SET rho = 'x'",
      "UPDATE totals SET n_spends = 1",
      "UPDATE totals SET counter = counter + 1",
      "UPDATE totals SET unit = 'person', max_rows = 9",
      "UPDATE totals SET hash = (SELECT head FROM ledger)",
      "DELETE FROM totals",
      "INSERT INTO decisions VALUES ('barker-bit:sensitivity=0.01', 1)",
      "UPDATE entries SET purpose = 'person' WHERE id = 1",
      "UPDATE entries SET artefact = '9' WHERE id = 1",
      "UPDATE entries SET artefact = '01' WHERE id = 1",
      "UPDATE entries SET spend = 3 WHERE id = 1",
      "DELETE FROM entries WHERE id = 1",
      "DROP INDEX entries_of_spends",
  };
  for (size_t i = 0; i < LENGTH(edits); i++) {
    char path[40];
    snprintf(path, sizeof path, "edit-%zu.ledger", i);
    tacit_ledger_t *ledger = new_ledger(path);
    tacit_error_t err;
    uint64_t id;
    assert_ok(reserve(ledger, 10, 20, &id, &err), err);
    assert_ok(reserve(ledger, 10, 40, &id, &err), err);
    tacit_event_t charged = gaussian(10, 19, "gradient");
    assert_ok(settle(ledger, 1, &charged, 1, &err), err);
    tacit_ledger_close(ledger);
    assert_edit_is_refused(path, edits[i], "");
  }
}

/* A forger who recomputes every hash still cannot pass the budget's own check. */
static void test_a_consistent_overspend_is_refused(void **unused) {
  tacit_error_t err;
  uint64_t id;
  tacit_ledger_t *ledger = new_ledger("forged.ledger");
  tacit_ledger_state_t forged;
  assert_ok(reserve(ledger, 10, 60, &id, &err), err);
  for (int i = 0; i < 2;
       i++) { /* with epsilon as it was, to see that the forgery is a good one; then lowered */
    forge("forged.ledger", i == 0 ? "6" : "1", 60);
    assert_int_equal(tacit_ledger_read(ledger, &forged, &err), i == 0 ? TACIT_OK : TACIT_ERR_DATA);
    tacit_ledger_state_clear(&forged);
  }
  assert_non_null(strstr(err.message, "exceed its budget"));
  tacit_ledger_close(ledger);
}

static void test_only_the_same_data_and_the_own_spend(void **unused) {
  tacit_error_t err;
  tacit_ledger_t *ledger = new_ledger("o.ledger");
  tacit_event_t event = gaussian(10, 5, "");
  tacit_spend_request_t request = request_of(&event, 1);
  request.data_id = "trial-8";
  tacit_reservation_t mine, other;
  assert_int_equal(tacit_ledger_reserve(ledger, &request, &mine, &err), TACIT_ERR_DATA);
  request.data_id = "trial-7";
  request.relation = TACIT_RELATION_ADD_REMOVE;
  assert_int_equal(tacit_ledger_reserve(ledger, &request, &mine, &err), TACIT_ERR_BUDGET);
  assert_int_equal(tacit_ledger_check(ledger, &request, &err), TACIT_ERR_BUDGET);
  request.relation = TACIT_RELATION_SUBSTITUTE;
  assert_ok(tacit_ledger_reserve(ledger, &request, &mine, &err), err);
  assert_ok(tacit_ledger_reserve(ledger, &request, &other, &err), err);
  tacit_reservation_t mixed = {.id = other.id};
  assert_int_equal(tacit_ledger_settle(ledger, &mixed, &event, 1, &err), TACIT_ERR_ARGUMENT);
  memcpy(mixed.hash, mine.hash, sizeof mixed.hash);
  assert_int_equal(tacit_ledger_settle(ledger, &mixed, &event, 1, &err), TACIT_ERR_ARGUMENT);
  assert_ok(tacit_ledger_settle(ledger, &other, &event, 1, &err), err);
  tacit_ledger_close(ledger);
}

static void test_creating_overwrites_nothing(void **unused) {
  tacit_error_t err;
  tacit_ledger_t *ledger = new_ledger("c.ledger");
  tacit_ledger_close(ledger);
  assert_int_equal(tacit_ledger_create("c.ledger", &trial, &err), TACIT_ERR_EXISTS);
  assert_int_equal(symlink("nowhere", "link.ledger"), 0);
  assert_int_equal(tacit_ledger_create("link.ledger", &trial, &err), TACIT_ERR_EXISTS);
  FILE *left = fopen("old.ledger-wal", "w");
  fclose(left);
  assert_int_equal(tacit_ledger_create("old.ledger", &trial, &err), TACIT_ERR_EXISTS);
  assert_int_equal(tacit_ledger_create("no/c.ledger", &trial, &err), TACIT_ERR_MISSING);
  const tacit_ledger_terms_t wrong[] = {{"", 1, 1e-6, TACIT_RELATION_SUBSTITUTE, NULL, 0},
                                        {NULL, 1, 1e-6, TACIT_RELATION_SUBSTITUTE, NULL, 0},
                                        {"x", 1, 1e-6, TACIT_RELATION_SUBSTITUTE, "row", 2},
                                        {"x", 1, 1e-6, TACIT_RELATION_SUBSTITUTE, "p", 0},
                                        {"x", 1, 1e-6, TACIT_RELATION_SUBSTITUTE, "", 1},
                                        {"x", 1, 1e-6, (tacit_relation_t)7, NULL, 0}};
  for (size_t i = 0; i < LENGTH(wrong); i++) {
    assert_int_equal(tacit_ledger_create("d.ledger", &wrong[i], &err), TACIT_ERR_ARGUMENT);
  }
  double bad[] = {0, -1, NAN, INFINITY};
  for (size_t i = 0; i < LENGTH(bad); i++) {
    tacit_ledger_terms_t terms = trial;
    terms.epsilon = bad[i];
    assert_int_equal(tacit_ledger_create("d.ledger", &terms, &err), TACIT_ERR_ARGUMENT);
    terms = trial;
    terms.delta = bad[i];
    assert_int_equal(tacit_ledger_create("d.ledger", &terms, &err), TACIT_ERR_ARGUMENT);
  }
  assert_int_not_equal(access("d.ledger", F_OK), 0);
  assert_int_equal(system("ls | grep -q tmp-"), 256); /* nothing half made is left */
  ledger = new_ledger(":memory:");
  tacit_ledger_close(ledger);
  struct stat info;
  assert_int_equal(stat(":memory:", &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
}

static void test_opens_ledgers_only(void **unused) {
  tacit_ledger_t *ledger;
  tacit_error_t err;
  assert_int_equal(tacit_ledger_open(&ledger, "nowhere", &err), TACIT_ERR_MISSING);
  assert_null(ledger);
  assert_int_equal(tacit_ledger_open(&ledger, ".", &err), TACIT_ERR_IO);
  assert_int_equal(tacit_ledger_open(&ledger, "/dev/null", &err), TACIT_ERR_IO);
  assert_int_equal(system("mkfifo pipe; : > empty; head -c 9000 /dev/urandom > noise; echo text > text"), 0);
  assert_int_equal(tacit_ledger_open(&ledger, "pipe", &err), TACIT_ERR_IO);
  const char *const wrong[] = {"empty", "noise", "text"};
  for (size_t i = 0; i < LENGTH(wrong); i++) {
    assert_int_equal(tacit_ledger_open(&ledger, wrong[i], &err), TACIT_ERR_DATA);
    assert_non_null(strstr(err.message, "not a ledger"));
  }
  edit("other.db", "CREATE TABLE t(x)");
  assert_int_equal(tacit_ledger_open(&ledger, "other.db", &err), TACIT_ERR_DATA);
  tacit_ledger_close(new_ledger("v.ledger"));
  edit("v.ledger", "PRAGMA user_version = 4");
  assert_int_equal(tacit_ledger_open(&ledger, "v.ledger", &err), TACIT_ERR_DATA);
  assert_non_null(strstr(err.message, "version 4"));
  tacit_ledger_close(new_ledger("h.ledger"));
  assert_int_equal(link("h.ledger", "h2.ledger"), 0);
  assert_int_equal(tacit_ledger_open(&ledger, "h2.ledger", &err), TACIT_ERR_DATA);
  assert_non_null(strstr(err.message, "hard links"));
}

static void test_a_symbolic_link_is_the_same_ledger(void **unused) {
  tacit_error_t err;
  uint64_t id;
  tacit_ledger_t *ledger = new_ledger("real.ledger");
  assert_int_equal(mkdir("elsewhere", 0777), 0);
  assert_int_equal(symlink("../real.ledger", "elsewhere/link.ledger"), 0);
  tacit_ledger_t *other = open_ledger("elsewhere/link.ledger");
  assert_ok(reserve(ledger, 10, 1, &id, &err), err);
  assert_ok(reserve(other, 10, 1, &id, &err), err);
  assert_int_equal(id, 2);
  tacit_ledger_close(ledger);
  tacit_ledger_close(other);
  assert_int_equal(system("test $(ls elsewhere | wc -l) = 1"),
                   0); /* what SQLite and turns need is beside the file itself */
}

static void test_a_replaced_file_is_noticed(void **unused) {
  tacit_error_t err;
  uint64_t id;
  tacit_ledger_t *ledger = new_ledger("p.ledger");
  assert_int_equal(system("cp p.ledger q.ledger && mv q.ledger p.ledger"), 0);
  assert_int_equal(reserve(ledger, 10, 1, &id, &err), TACIT_ERR_IO);
  assert_non_null(strstr(err.message, "was replaced"));
  tacit_ledger_close(ledger);
}

static void test_a_locked_ledger_is_waited_for(void **unused) {
  tacit_error_t err;
  uint64_t id;
  tacit_ledger_t *ledger = new_ledger("l.ledger");
  sqlite3 *other;
  assert_int_equal(sqlite3_open("l.ledger", &other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  tacit_ledger_set_patience(ledger, 0.05);
  assert_int_equal(reserve(ledger, 10, 1, &id, &err), TACIT_ERR_IO);
  assert_non_null(strstr(err.message, "locked by another process"));
  assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(other);
  assert_ok(reserve(ledger, 10, 1, &id, &err), err);
  tacit_ledger_close(ledger);
}

/* A failed allocation anywhere in a spend is an error, and never half a spend. */
static void test_memory_running_out(void **unused) {
  tacit_error_t err;
  uint64_t id, expected = 0;
  tacit_ledger_t *ledger = new_ledger("m.ledger");
  for (size_t k = 1; k < 400; k++) {
    tacit_alloc_fail_at(k);
    tacit_status_t status = reserve(ledger, 100, 1, &id, &err);
    tacit_alloc_fail_at(0);
    expected += status == TACIT_OK;
    assert_true(status == TACIT_OK || status == TACIT_ERR_MEMORY);
    if (expected == 3) {
      break;
    }
  }
  tacit_ledger_state_t state;
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  assert_int_equal(state.n_spends, expected);
  assert_int_equal(expected, 3);
  tacit_ledger_state_clear(&state);
  tacit_ledger_close(ledger);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reserve_settle_and_read),
      cmocka_unit_test(test_settling_never_raises_and_happens_once),
      cmocka_unit_test(test_refuses_what_does_not_fit),
      cmocka_unit_test(test_the_epsilon_left_fits),
      cmocka_unit_test(test_refuses_numbers_that_are_none),
      cmocka_unit_test(test_edited_ledgers_refuse_to_spend),
      cmocka_unit_test(test_a_consistent_overspend_is_refused),
      cmocka_unit_test(test_only_the_same_data_and_the_own_spend),
      cmocka_unit_test(test_creating_overwrites_nothing),
      cmocka_unit_test(test_opens_ledgers_only),
      cmocka_unit_test(test_a_symbolic_link_is_the_same_ledger),
      cmocka_unit_test(test_a_replaced_file_is_noticed),
      cmocka_unit_test(test_a_locked_ledger_is_waited_for),
      cmocka_unit_test(test_memory_running_out),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
