/*
 * Eight processes reserve from one ledger at once until it refuses them: exactly as many spends pass as fit.
 */
#include "support.h"

#include <sys/wait.h>

enum { N_PROCESSES = 8 };

/* In the child: the number of spends that passed, or 255 for any other error than a refusal. */
static int spend_until_refused(const char *path, double noise_multiplier, bool is_settling) {
  tacit_ledger_t *ledger;
  tacit_error_t err;
  tacit_status_t status = tacit_ledger_open(&ledger, path, &err);
  int n = 0;
  while (status == TACIT_OK && n < 250) {
    uint64_t id;
    tacit_event_t event = gaussian(noise_multiplier, 1, "gradient");
    status = reserve(ledger, noise_multiplier, 1, &id, &err);
    if (status == TACIT_OK && is_settling) {
      status = settle(ledger, id, &event, 1, &err);
    }
    n += status == TACIT_OK;
  }
  if (status != TACIT_ERR_BUDGET) {
    fprintf(stderr, "%s\n", err.message);
  }
  tacit_ledger_close(ledger);
  return status == TACIT_ERR_BUDGET ? n : 255;
}

static void run_processes(const char *path, bool is_settling) {
  tacit_error_t err;
  const double noise_multiplier = 12;
  tacit_event_t one = gaussian(noise_multiplier, 1, "");
  uint64_t room, passed = 0;
  pid_t children[N_PROCESSES];
  tacit_ledger_close(new_ledger(path));
  assert_ok(tacit_account_max_repetitions(NULL, 0, &one, 1, NULL, 6, 1e-6, &room, &err), err);
  assert_in_range(room, 100, 400);
  for (int i = 0; i < N_PROCESSES; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      _exit(spend_until_refused(path, noise_multiplier, is_settling));
    }
  }
  for (int i = 0; i < N_PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 255);
    passed += (uint64_t)WEXITSTATUS(status);
  }
  assert_int_equal(passed, room);
  tacit_ledger_t *ledger = open_ledger(path);
  tacit_ledger_state_t state;
  assert_ok(tacit_ledger_verify(ledger, NULL, &err), err);
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  assert_int_equal(state.n_spends, room);
  assert_int_equal(state.n_entries, 1 + (is_settling ? 2 * room : room));
  assert_true(tacit_budget_rho_spent(state.budget) <= tacit_budget_rho(state.budget));
  tacit_ledger_state_clear(&state);
  tacit_ledger_close(ledger);
}

static void test_exactly_what_fits_passes(void **unused) { run_processes("reserve.ledger", false); }

static void test_exactly_what_fits_passes_with_settlements(void **unused) {
  run_processes("settle.ledger", true);
}

/* One of several processes that make the same ledger at once succeeds; none spoils it. */
static void test_one_creator_wins(void **unused) {
  tacit_error_t err;
  for (int round = 0; round < 10; round++) {
    pid_t children[N_PROCESSES];
    int winners = 0;
    char path[40];
    snprintf(path, sizeof path, "race-%d.ledger", round);
    for (int i = 0; i < N_PROCESSES; i++) {
      children[i] = fork();
      if (children[i] == 0) {
        tacit_status_t status = tacit_ledger_create(path, &trial, &err);
        _exit(status == TACIT_OK ? 0 : status == TACIT_ERR_EXISTS ? 1 : 2);
      }
    }
    for (int i = 0; i < N_PROCESSES; i++) {
      int status;
      assert_int_equal(waitpid(children[i], &status, 0), children[i]);
      assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
      winners += WEXITSTATUS(status) == 0;
    }
    assert_int_equal(winners, 1);
    tacit_ledger_t *ledger = open_ledger(path);
    assert_ok(tacit_ledger_verify(ledger, NULL, &err), err);
    tacit_ledger_close(ledger);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exactly_what_fits_passes),
      cmocka_unit_test(test_exactly_what_fits_passes_with_settlements),
      cmocka_unit_test(test_one_creator_wins),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
