/*
 * Ledgers that hold decisions and discrete Gaussian releases beside Gaussian ones: what they add up to, how
 * they are settled, and which edits of them are refused.
 */
#include "account/account.h"
#include "account/account_internal.h"
#include "support.h"

static tacit_event_t parse(const char *text, uint64_t count, const char *label) {
  tacit_event_t event;
  tacit_error_t err;
  assert_ok(tacit_event_parse(&event, text, &err), err);
  event.count = count;
  snprintf(event.label, sizeof event.label, "%s", label);
  return event;
}

static tacit_status_t spend(tacit_ledger_t *ledger, const tacit_event_t *events, size_t n, uint64_t *id,
                            tacit_error_t *err) {
  tacit_spend_request_t request = request_of(events, n);
  tacit_reservation_t reservation;
  tacit_status_t rehearsed = tacit_ledger_check(ledger, &request, err);
  tacit_status_t status = tacit_ledger_reserve(ledger, &request, &reservation, err);
  assert_int_equal(status, rehearsed);
  *id = reservation.id;
  return status;
}

static double rho_spent(tacit_ledger_t *ledger) {
  tacit_ledger_state_t state;
  tacit_error_t err;
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  double rho = tacit_budget_rho_spent(state.budget);
  assert_true(rho <= tacit_budget_rho(state.budget));
  tacit_ledger_state_clear(&state);
  return rho;
}

static const char barker[] = "barker-bit:sensitivity=0.0078125";

/*
 * Ranges of few digits are counted as they are. k decisions cost (sqrt k + 1)^2 of one, wherever they stand
 * among other spends; Gaussian ones cost what they did.
 */
static void test_decisions_are_added_up(void **unused) {
  tacit_ledger_t *ledger = new_ledger("d.ledger");
  tacit_error_t err;
  uint64_t id;
  tacit_event_t first = parse(barker, 3000, "accept"), second = parse(barker, 1000, "accept");
  assert_ok(reserve(ledger, 10, 20, &id, &err), err);
  assert_close(rho_spent(ledger), 0.1, 1e-14);
  assert_ok(spend(ledger, &first, 1, &id, &err), err);
  assert_close(rho_spent(ledger), 0.1 + 0x1p-17 * pow(sqrt(3000) + 1, 2), 1e-9);
  assert_ok(reserve(ledger, 10, 10, &id, &err), err);
  assert_ok(spend(ledger, &second, 1, &id, &err), err);
  assert_close(rho_spent(ledger), 0.15 + 0x1p-17 * pow(sqrt(4000) + 1, 2), 1e-9);
  second.count = 100;
  assert_ok(settle(ledger, id, &second, 1, &err), err);
  assert_close(rho_spent(ledger), 0.15 + 0x1p-17 * pow(sqrt(3100) + 1, 2), 1e-9);
  assert_ok(settle(ledger, 2, NULL, 0, &err), err);
  assert_close(rho_spent(ledger), 0.15 + 0x1p-17 * pow(sqrt(100) + 1, 2), 1e-9);
  assert_ok(tacit_ledger_verify(ledger, NULL, &err), err);
  tacit_ledger_close(ledger);
  ledger = open_ledger("d.ledger");
  tacit_ledger_state_t state;
  assert_ok(tacit_ledger_read(ledger, &state, &err), err);
  char text[TACIT_EVENT_TEXT_SIZE];
  assert_string_equal(tacit_event_format(&state.spends[1].reserved[0], text), barker);
  assert_string_equal(tacit_budget_spent(state.budget).method, "filter");
  tacit_ledger_state_clear(&state);
  tacit_ledger_close(ledger);
}

/* No room: a message with both prices, which are those of the totals; and what is offered fits. */
static void test_refuses_decisions_that_do_not_fit(void **unused) {
  tacit_ledger_t *ledger = new_ledger("f.ledger");
  tacit_error_t err;
  uint64_t id;
  double left, price;
  tacit_event_t dear = parse("barker-bit:sensitivity=0.125", 1000, "accept");
  assert_ok(reserve(ledger, 10, 40, &id, &err), err);
  assert_int_equal(spend(ledger, &dear, 1, &id, &err), TACIT_ERR_BUDGET);
  const char *at = strstr(err.message, "room for one with epsilon "),
             *then = strstr(err.message, "Gaussian run with epsilon ");
  assert_true(at != NULL && then != NULL);
  assert_int_equal(sscanf(at, "room for one with epsilon %lf", &left), 1);
  assert_int_equal(sscanf(then, "Gaussian run with epsilon %lf", &price), 1);
  assert_close(price / tacit_ledger_price(&dear, 1, 1e-6), 1, 1e-3);
  assert_close(price / tacit_gaussian_epsilon(0x1p-9 * pow(sqrt(1000) + 1, 2), log(1e-6)), 1, 1e-3);
  uint64_t low = 0, high = 1000; /* the largest count that fits the budget is taken, one more is not */
  double all = tacit_gaussian_rho(6, log(1e-6));
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;
    *(0.2 + 0x1p-9 * pow(sqrt((double)middle) + 1, 2) <= all ? &low : &high) = middle;
  }
  dear.count = low + 1;
  assert_true(tacit_ledger_price(&dear, 1, 1e-6) > left);
  assert_int_equal(spend(ledger, &dear, 1, &id, &err), TACIT_ERR_BUDGET);
  dear.count = low;
  assert_ok(spend(ledger, &dear, 1, &id, &err), err);
  assert_int_equal(spend(ledger, &dear, 1, &id, &err), TACIT_ERR_BUDGET);
  tacit_event_t sampled = parse("poisson-gaussian:q=0.1,sigma=400", 1, "gradient");
  assert_int_equal(spend(ledger, &sampled, 1, &id, &err), TACIT_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "subsampled"));
  tacit_event_t free_of_noise = parse("probit-bit:sensitivity=1,sigma=1", 1, "accept");
  free_of_noise.sigma = INFINITY;
  assert_int_equal(spend(ledger, &free_of_noise, 1, &id, &err), TACIT_ERR_ARGUMENT);
  assert_true(isinf(tacit_ledger_price(&sampled, 1, 1e-6)));
  tacit_ledger_close(ledger);
}

/* Thousands of kinds are counted as some hundreds, for no less and little more; settling takes back what
 * reserving counted. */
static void test_kinds_are_counted_on_a_grid(void **unused) {
  enum { n_kinds = 900 };
  static tacit_event_t events[n_kinds], fewer[n_kinds];
  tacit_ledger_t *ledger = new_ledger("k.ledger");
  tacit_error_t err;
  tacit_budget_t *budget;
  uint64_t id;
  for (size_t i = 0; i < n_kinds; i++) {
    events[i] = parse(i % 2 == 0 ? barker : "discrete-gaussian:sigma=900,sensitivity=2", 3, "accept");
    *(i % 2 == 0 ? &events[i].sensitivity : &events[i].noise_multiplier) *= 1 + (double)i / n_kinds;
    tacit_event_t kind = tacit_totals_kind(&events[i]), again = tacit_totals_kind(&kind);
    assert_true(kind.sensitivity >= events[i].sensitivity &&
                kind.sensitivity <= events[i].sensitivity * (1 + 0x1p-9));
    assert_true(kind.noise_multiplier <= events[i].noise_multiplier &&
                kind.noise_multiplier >= events[i].noise_multiplier * (1 - 0x1p-9));
    assert_int_equal(tacit_event_compare(&kind, &again), 0);
    fewer[i] = events[i];
    fewer[i].count = 1;
  }
  assert_ok(tacit_budget_new(&budget, 6, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(tacit_budget_charge_all(budget, fewer, n_kinds, &err), err);
  assert_ok(spend(ledger, events, n_kinds, &id, &err), err);
  double reserved = rho_spent(ledger);
  assert_ok(settle(ledger, id, fewer, n_kinds, &err), err);
  double spent = rho_spent(ledger), exact = tacit_budget_rho_spent(budget);
  assert_true(spent >= exact && spent <= 1.005 * exact && reserved > 1.5 * spent);
  assert_ok(tacit_ledger_verify(ledger, NULL, &err), err);
  tacit_budget_free(budget);
  tacit_ledger_close(ledger);
}

/* Gradients that were reserved as part of a group of bits are settled as what they are. */
static void test_settles_groups(void **unused) {
  tacit_ledger_t *ledger = new_ledger("g.ledger");
  tacit_error_t err;
  uint64_t id;
  tacit_event_t reserved[] = {gaussian(50, 2, "gradient"),
                              parse("barker-bit:sensitivity=0.0078125,rho=0.001,together=2", 200, "accept")};
  assert_ok(spend(ledger, reserved, 2, &id, &err), err);
  double all = rho_spent(ledger);
  assert_close(all, 0.2 + 2.0 / 5000 + 0x1p-17 * pow(sqrt(200) + 1, 2), 1e-9);
  double sd = sqrt(500); /* rho 0.001 */
  tacit_event_t bits = parse(barker, 200, "accept"), gradients = gaussian(sd * (1 + 1e-14), 200, "gradient");
  tacit_event_t start = gaussian(50, 2, "gradient"), other = gaussian(40, 1, "curvature");
  tacit_event_t more_bits = parse(barker, 201, "accept"),
                other_bits = parse("barker-bit:sensitivity=0.015625", 1, "accept");
  tacit_event_t more_gradients = gaussian(sd, 201, "gradient"), more_start = gaussian(50, 3, "gradient");
  tacit_event_t with_rho = parse("barker-bit:sensitivity=0.0078125,rho=0.001", 1, "accept");
  const tacit_event_t wrong[][3] = {{more_bits, gradients, start}, {other_bits, gradients, start},
                                    {bits, more_gradients, start}, {bits, gradients, more_start},
                                    {bits, gradients, other},      {with_rho, gradients, start}};
  for (size_t i = 0; i < LENGTH(wrong); i++) {
    assert_int_equal(settle(ledger, id, wrong[i], 3, &err), TACIT_ERR_ARGUMENT);
  }
  const tacit_event_t twice[] = {bits, gradients, gradients};
  assert_int_equal(settle(ledger, id, twice, 3, &err), TACIT_ERR_ARGUMENT);
  assert_close(rho_spent(ledger), all, 0);
  gradients.count = 100;
  const tacit_event_t right[] = {bits, start, gradients, gradients};
  assert_ok(settle(ledger, id, right, 4, &err), err);
  assert_close(rho_spent(ledger), all, 1e-9);
  assert_ok(spend(ledger, reserved, 2, &id, &err), err);
  assert_ok(settle(ledger, id, reserved, 2, &err), err); /* as they were reserved */
  assert_ok(tacit_ledger_verify(ledger, NULL, &err), err);
  tacit_ledger_close(ledger);
}

/* Each edit on a fresh copy: reading and spending refuse. */
static void test_edits_are_refused(void **unused) {
  static const char *const edits[][2] = {
      {"UPDATE events SET spec = 'barker-bit:sensitivity=0.001' WHERE entry = 3", "was changed"},
      {"UPDATE events SET spec = 'barker-bit:sensitivity=0.010' WHERE entry = 3",
       "not written as tacit does"},
      {"UPDATE events SET spec = 'barker-bit:sensitivity=nan' WHERE entry = 3", "finite"},
      {"UPDATE events SET spec = 'barker-bit:sensitivity=-1' WHERE entry = 3", "above 0"},
      {"UPDATE events SET spec = 'barker-bit:sensitivity=1e9' WHERE entry = 3", "at most 300"},
      {"UPDATE events SET spec = 'arcsine-bit:sensitivity=0.01,kappa=0.3,cap=1' WHERE entry = 3",
       "at most 0.999"},
      {"UPDATE events SET spec = 'discrete-gaussian:sigma=0.5' WHERE entry = 3", "1 step"},
      {"UPDATE events SET spec = 'poisson-gaussian:q=0.01,sigma=10' WHERE entry = 2", "subsampled"},
      {"UPDATE events SET spec = 'randomized-response:p=0.5,buckets=2' WHERE entry = 2", "one after another"},
      {"UPDATE events SET spec = 'pair:kinds.csv' WHERE entry = 3", "names a file"},
      {"UPDATE events SET spec = 'profile:kinds.csv' WHERE entry = 3", "names a file"},
      {"UPDATE events SET count = 2 WHERE entry = 3", "was changed"},
      {"UPDATE decisions SET count = 999", "totals were changed"},
      {"DELETE FROM decisions", "totals were changed"},
      {"UPDATE decisions SET spec = 'gaussian:sigma=1'", "totals were changed"},
  };
  FILE *file = fopen("kinds.csv", "w"); /* that could be read, were it opened */
  assert_true(file != NULL && fputs("p,q\n0.5,0.5\n0.5,0.5\n", file) >= 0 && fclose(file) == 0);
  for (size_t i = 0; i < LENGTH(edits); i++) {
    char path[40];
    snprintf(path, sizeof path, "kind-%zu.ledger", i);
    tacit_ledger_t *ledger = new_ledger(path);
    tacit_error_t err;
    uint64_t id;
    tacit_event_t event = parse(barker, 1000, "accept");
    assert_ok(reserve(ledger, 10, 20, &id, &err), err);
    assert_ok(spend(ledger, &event, 1, &id, &err), err);
    tacit_ledger_close(ledger);
    assert_edit_is_refused(path, edits[i][0], edits[i][1]);
  }
}

/* A forger who recomputes every hash cannot let decisions pass the budget either. */
static void test_a_consistent_overspend_is_refused(void **unused) {
  tacit_error_t err;
  uint64_t id;
  tacit_ledger_t *ledger = new_ledger("forged.ledger");
  tacit_ledger_state_t forged;
  tacit_event_t event = parse("barker-bit:sensitivity=0.09375", 400, "accept");
  assert_ok(spend(ledger, &event, 1, &id, &err), err);
  for (int i = 0; i < 2; i++) {
    forge("forged.ledger", "6", i == 0 ? 401 : 4000);
    assert_int_equal(tacit_ledger_read(ledger, &forged, &err), i == 0 ? TACIT_OK : TACIT_ERR_DATA);
    tacit_ledger_state_clear(&forged);
  }
  assert_non_null(strstr(err.message, "exceed its budget"));
  tacit_ledger_close(ledger);
}

static void test_lattice_noise_and_noisy_decisions(void **unused) {
  tacit_ledger_t *ledger = new_ledger("l.ledger");
  tacit_error_t err;
  uint64_t id;
  tacit_event_t counts = parse("discrete-gaussian:sigma=8", 2, "counts"),
                noisy = parse("penalty-bit:sensitivity=0.1,sigma=2", 50, "accept");
  assert_ok(spend(ledger, &noisy, 1, &id, &err), err);
  assert_close(rho_spent(ledger), 50 * 0.00125, 1e-9);
  assert_ok(spend(ledger, &counts, 1, &id, &err), err);
  double rho = 1.0 / 64, total = rho_spent(ledger);
  assert_true(total >= 0.0625 + rho + 0.5 * rho / 63 &&
              total <= (0.0625 + rho + 0.5 * rho / 63) * (1 + 1e-5));
  tacit_event_t fine = parse("discrete-gaussian:sigma=8,sensitivity=1000", 1, "clamped sum");
  assert_ok(spend(ledger, &fine, 1, &id, &err), err);
  assert_close(rho_spent(ledger) - total, 0.5 * rho, 1e-8);
  assert_ok(tacit_ledger_verify(ledger, NULL, &err), err);
  tacit_ledger_close(ledger);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_decisions_are_added_up),
      cmocka_unit_test(test_refuses_decisions_that_do_not_fit),
      cmocka_unit_test(test_kinds_are_counted_on_a_grid),
      cmocka_unit_test(test_settles_groups),
      cmocka_unit_test(test_edits_are_refused),
      cmocka_unit_test(test_a_consistent_overspend_is_refused),
      cmocka_unit_test(test_lattice_noise_and_noisy_decisions),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
