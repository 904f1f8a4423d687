/*
 * test_scale [N]: a ledger of N spends (3000 if not said), no two alike. One more spend costs as many steps
 * of the database as in a ledger of 30, a full check costs steps in proportion to N, and both say the same
 * total.
 */
#include "base/pool.h"
#include "support.h"

#include <stdlib.h>
#include <time.h>

static size_t n_spends = 3000;
/*
 * Hundreds of steps for the 512 kinds at most that the decisions here are counted as: 40, and as many again
 * for good measure. A ledger that counts each by itself takes 230 with 3000 spends.
 */
static const uint64_t most_kinds = 80;

static int count_steps(void *user) {
  (*(uint64_t *)user)++;
  return 0;
}

/* Spends of which every second is settled with half of what it reserved, in one transaction. */
static void fill(const char *path, size_t n, bool has_decisions) {
  tacit_ledger_terms_t terms = trial;
  tacit_header_t header;
  tacit_totals_t totals = {0};
  tacit_error_t err;
  terms.unit = NULL;
  terms.epsilon = 1000;
  assert_ok(tacit_ledger_create(path, &terms, &err), err);
  tacit_ledger_t *ledger = open_ledger(path);
  assert_ok(tacit_database_begin(ledger, true, &err), err);
  assert_ok(tacit_header_read(ledger, &header, &err), err);
  assert_ok(tacit_unit_append(ledger, &header, &totals, "row", 1, &err), err);
  for (size_t i = 0; i < n; i++) {
    tacit_event_t events[] = {
        gaussian(1000 + (double)i / 7, 2, "gradient"),
        {.kind = TACIT_EVENT_BARKER_BIT, .sensitivity = 1e-4 * (1 + (double)i / 1e5), .count = 2}};
    for (int kind = TACIT_ENTRY_RESERVE; kind <= (i % 2 == 0 ? TACIT_ENTRY_SETTLE : TACIT_ENTRY_RESERVE);
         kind++) {
      tacit_entry_t entry;
      events[0].count = events[1].count = kind == TACIT_ENTRY_RESERVE ? 2 : 1;
      assert_ok(tacit_entry_fill(&entry, (tacit_entry_kind_t)kind, "scale", "", events, has_decisions ? 2 : 1,
                                 &err),
                err);
      entry.spend = i + 1;
      assert_ok(tacit_entry_append(ledger, &header, &entry, &err), err);
      tacit_entry_clear(&entry);
    }
    events[0].count = events[1].count = i % 2 == 0 ? 1 : 2;
    assert_ok(tacit_totals_add(&totals, events, has_decisions ? 2 : 1, &err), err);
  }
  totals.n_spends = n;
  assert_ok(tacit_totals_merge(&totals, &err), err);
  assert_ok(tacit_totals_create(ledger, &totals, &err), err);
  assert_ok(tacit_database_end(ledger, TACIT_OK, &err), err);
  tacit_header_clear(&header);
  tacit_totals_clear(&totals);
  tacit_ledger_close(ledger);
}

typedef struct cost {
  uint64_t glance, reserve, settle, verify; /* hundreds of steps */
  double seconds[3], cpu[3];                /* by the clock, and of the processor */
} cost_t;

static double since(clock_t *work) {
  clock_t before = *work;
  *work = clock();
  return (double)(*work - before) / CLOCKS_PER_SEC;
}

static cost_t measure(const char *path) {
  tacit_ledger_t *ledger = open_ledger(path);
  tacit_ledger_state_t glance, state;
  tacit_error_t err;
  tacit_event_t event = gaussian(12345.678, 3, "gradient");
  tacit_spend_request_t request = request_of(&event, 1);
  tacit_reservation_t spend;
  cost_t cost = {0};
  double start = tacit_clock();
  clock_t work = clock();
  sqlite3_progress_handler(ledger->db, 100, count_steps, &cost.reserve);
  assert_ok(tacit_ledger_reserve(ledger, &request, &spend, &err), err);
  cost.seconds[0] = tacit_clock() - start;
  cost.cpu[0] = since(&work);
  sqlite3_progress_handler(ledger->db, 100, count_steps, &cost.settle);
  event.count = 1;
  assert_ok(tacit_ledger_settle(ledger, &spend, &event, 1, &err), err);
  cost.seconds[1] = tacit_clock() - start - cost.seconds[0];
  cost.cpu[1] = since(&work);
  sqlite3_progress_handler(ledger->db, 100, count_steps, &cost.glance);
  assert_ok(tacit_ledger_glance(ledger, &glance, &err), err);
  start = tacit_clock();
  (void)since(&work);
  sqlite3_progress_handler(ledger->db, 100, count_steps, &cost.verify);
  assert_ok(tacit_ledger_verify(ledger, NULL, &err), err);
  cost.seconds[2] = tacit_clock() - start;
  cost.cpu[2] = since(&work);
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  assert_true(tacit_budget_rho_spent(glance.budget) ==
              tacit_budget_rho_spent(state.budget)); /* to the last bit */
  assert_int_equal(glance.n_spends, state.n_spends);
  assert_int_equal(glance.n_entries, state.n_entries);
  assert_string_equal(glance.head, state.head);
  tacit_ledger_state_clear(&glance);
  tacit_ledger_state_clear(&state);
  tacit_ledger_close(ledger);
  return cost;
}

static void compare(const char *name, bool has_decisions) {
  char few[40], many[40];
  snprintf(few, sizeof few, "%s-few.ledger", name);
  snprintf(many, sizeof many, "%s-many.ledger", name);
  fill(few, 30, has_decisions);
  fill(many, n_spends, has_decisions);
  cost_t small = measure(few), large = measure(many);
  print_message("%s, %zu spends: reserve %.4f s, settle %.4f s, verify %.4f s; of the processor %.4f, %.4f, "
                "%.4f s; %llu hundred steps\n",
                name, n_spends, large.seconds[0], large.seconds[1], large.seconds[2], large.cpu[0],
                large.cpu[1], large.cpu[2], (unsigned long long)large.reserve);
  assert_true(large.verify < 2 * small.verify * n_spends / 30 + 100);
  uint64_t kinds = has_decisions ? most_kinds : 0;
  assert_true(large.reserve <= small.reserve + small.reserve / 4 + 1 + kinds);
  assert_true(large.settle <= small.settle + small.settle / 4 + 1 + kinds);
  assert_true(large.glance <= small.glance + small.glance / 4 + 1 + kinds);
}

static void test_a_spend_does_not_read_those_before_it(void **unused) { compare("gaussian", false); }

/* Kinds of decisions are read, each once; however many decisions there are, they are counted as a few
 * hundred. */
static void test_decisions_take_a_row_a_kind(void **unused) { compare("decisions", true); }

/* Another program's write, harmless as it is, makes the next spend look at everything, and the one after that
 * not. */
static void test_foreign_writes_are_noticed(void **unused) {
  fill("foreign.ledger", 500, false);
  cost_t first = measure("foreign.ledger");
  edit("foreign.ledger", "UPDATE ledger SET id = 1");
  cost_t second = measure("foreign.ledger"), third = measure("foreign.ledger");
  assert_true(second.reserve > 4 * first.reserve);
  assert_true(third.reserve <= first.reserve + first.reserve / 4 + 1);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_spend_does_not_read_those_before_it),
      cmocka_unit_test(test_decisions_take_a_row_a_kind),
      cmocka_unit_test(test_foreign_writes_are_noticed),
  };
  n_spends = argc > 1 ? strtoul(argv[1], NULL, 10) : n_spends;
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
