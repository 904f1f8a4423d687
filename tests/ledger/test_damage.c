/*
 * test_damage [N]: N accidents (150 if not said) to a ledger and what is beside it, at every instant of a
 * spend and of a settlement.
 *
 * What a killed process leaves is copied before each of its writes, syncs, cuts and removals. Of each copy
 * the side file is left as it is, removed, cut, garbled or exchanged for noise; or the ledger itself is cut
 * or garbled. Whatever the accident: either the ledger refuses to be read and to be spent on, or it has every
 * spend that was confirmed, at no less than it was.
 *
 * Seen to fail: without a journal (journal_mode=OFF), at the first instant; with totals whose hash nobody
 * compares, garbled ones.
 */
#include "support.h"

#include <inttypes.h>
#include <stdlib.h>

#include "shim.h"

enum { MAX_IMAGES = 400, N_BEFORE = 6 };

typedef struct bytes {
  unsigned char *data; /* NULL: no file */
  size_t n;
} bytes_t;

/* Ledger and journal at one instant, and what nobody may take back by then: rho in spends 1 .. n_spends. */
typedef struct image {
  bytes_t file, side;
  size_t n_spends;
  double rho, gaussian; /* gaussian: without decisions */
} image_t;

static image_t images[MAX_IMAGES];
static size_t n_images, n_confirmed, n_accidents = 150;
static double rho_confirmed, gaussian_confirmed;
static uint64_t seed = 20260101;

static uint64_t draw(uint64_t below) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (seed >> 33) % below;
}

static bytes_t load(const char *path) {
  bytes_t bytes = {0};
  FILE *file = fopen(path, "rb");
  if (file != NULL) {
    bytes.data = malloc(1 << 20);
    assert_non_null(bytes.data);
    bytes.n = fread(bytes.data, 1, 1 << 20, file);
    fclose(file);
  }
  return bytes;
}

static void store(const char *path, const bytes_t *bytes) {
  unlink(path);
  if (bytes->data != NULL) {
    FILE *file = fopen(path, "wb");
    assert_true(file != NULL && fwrite(bytes->data, 1, bytes->n, file) == bytes->n && fclose(file) == 0);
  }
}

static int copy_all(int failure) {
  (void)failure;
  assert_true(n_images < MAX_IMAGES);
  images[n_images++] =
      (image_t){load("d.ledger"), load("d.ledger-journal"), n_confirmed, rho_confirmed, gaussian_confirmed};
  return SQLITE_OK;
}

static double rho_of(tacit_ledger_t *ledger) {
  tacit_ledger_state_t state;
  tacit_error_t err;
  assert_ok(tacit_ledger_glance(ledger, &state, &err), err);
  double rho = tacit_budget_rho_spent(state.budget);
  tacit_ledger_state_clear(&state);
  return rho;
}

/* Spends of several kinds, then one that is watched, with its settlement. */
static void record(void) {
  tacit_ledger_t *ledger = new_ledger("d.ledger");
  tacit_error_t err;
  uint64_t id;
  for (int i = 0; i < N_BEFORE; i++) {
    assert_ok(reserve(ledger, 30 + i, 10, &id, &err), err);
  }
  tacit_event_t charged = gaussian(30, 4, "gradient");
  assert_ok(settle(ledger, 1, &charged, 1, &err), err);
  tacit_event_t events[] = {gaussian(40, 20, "gradient"),
                            {.kind = TACIT_EVENT_BARKER_BIT, .sensitivity = 0.01, .count = 100}};
  tacit_spend_request_t request = request_of(events, 2);
  tacit_reservation_t spend;
  n_confirmed = N_BEFORE;
  rho_confirmed = gaussian_confirmed = rho_of(ledger);
  shim_hook = copy_all;
  assert_ok(tacit_ledger_reserve(ledger, &request, &spend, &err), err);
  n_confirmed++;
  copy_all(0);
  events[0].count = 5;
  assert_ok(tacit_ledger_settle(ledger, &spend, events, 1, &err), err);
  shim_hook = NULL;
  tacit_ledger_close(ledger);
  copy_all(0);
}

/* The least that each image may say: of the settled last spend, what it was settled with. */
static void set_bounds(void) {
  tacit_ledger_t *ledger = open_ledger("d.ledger");
  double settled = rho_of(ledger);
  tacit_ledger_close(ledger);
  for (size_t i = 0; i < n_images; i++) {
    images[i].rho = images[i].n_spends > N_BEFORE ? settled : images[i].rho;
  }
}

typedef enum accident { NONE, REMOVED, CUT, GARBLED, NOISE, FILE_CUT, FILE_GARBLED, N_KINDS } accident_t;

static void garble(bytes_t *bytes) {
  for (uint64_t k = 1 + draw(8); k > 0 && bytes->n > 0; k--) {
    bytes->data[draw(bytes->n)] ^= (unsigned char)(1 + draw(255));
  }
}

static bytes_t copy_of(const bytes_t *bytes) {
  bytes_t copy = {bytes->data != NULL ? malloc(bytes->n + 1) : NULL, bytes->n};
  if (copy.data != NULL) {
    memcpy(copy.data, bytes->data, bytes->n);
  }
  return copy;
}

static void have_accident(const image_t *image, accident_t accident) {
  bytes_t file = copy_of(&image->file), side = copy_of(&image->side);
  switch (accident) {
  case REMOVED:
    side.n = 0;
    free(side.data);
    side.data = NULL;
    break;
  case CUT:
    side.n = side.n > 0 ? draw(side.n) : 0;
    break;
  case GARBLED:
    garble(&side);
    break;
  case NOISE:
    free(side.data);
    side = (bytes_t){malloc(5000), 1 + draw(5000)};
    for (size_t i = 0; i < side.n; i++) {
      side.data[i] = (unsigned char)draw(256);
    }
    break;
  case FILE_CUT:
    file.n = draw(file.n);
    break;
  case FILE_GARBLED:
    garble(&file);
    break;
  default:
    break;
  }
  store("x.ledger", &file);
  store("x.ledger-journal", &side);
  free(file.data);
  free(side.data);
}

/* 1: it has all that was confirmed; 0: it refuses. Fails for anything else. */
static int look(const image_t *image) {
  tacit_ledger_t *ledger;
  tacit_ledger_state_t state;
  tacit_error_t err;
  uint64_t id;
  if (tacit_ledger_open(&ledger, "x.ledger", &err) != TACIT_OK) {
    return 0;
  }
  tacit_ledger_set_patience(ledger, 0);
  int answer = 1;
  if (tacit_ledger_glance(ledger, &state, &err) == TACIT_OK) {
    assert_true(tacit_budget_rho_spent(state.budget) >= image->rho && state.n_spends >= image->n_spends);
    assert_true(tacit_budget_epsilon(state.budget) <= 6 && tacit_budget_delta(state.budget) <= 1e-6);
  } else {
    answer = 0;
    if (reserve(ledger, 1e6, 1, &id, &err) ==
        TACIT_OK) { /* an old row is past reading, and the totals that counted it are sound */
      char *rho = NULL;
      assert_ok(tacit_database_text(ledger, "SELECT rho FROM totals", &rho, &err), err);
      uint64_t high = 0, low = 0;
      assert_int_equal(sscanf(rho, "%16" SCNx64 "%16" SCNx64, &high, &low), 2);
      tacit_free(rho);
      assert_true(ldexp((double)high, -16) + ldexp((double)low, -80) >= image->gaussian);
    }
  }
  tacit_ledger_state_clear(&state);
  if (tacit_ledger_verify(ledger, &state, &err) == TACIT_OK) {
    assert_true(tacit_budget_rho_spent(state.budget) >= image->rho && state.n_spends >= image->n_spends);
  } else {
    answer = 0;
  }
  tacit_ledger_state_clear(&state);
  tacit_ledger_close(ledger);
  return answer;
}

static void test_no_accident_gives_back_a_spend(void **unused) {
  size_t n_whole = 0, n_of[N_KINDS] = {0}, whole_of[N_KINDS] = {0};
  record();
  set_bounds();
  for (size_t i = 0; i < n_images; i++) { /* killed at this instant, and nothing else */
    have_accident(&images[i], NONE);
    assert_int_equal(look(&images[i]), 1);
    if (images[i].side.data == NULL) { /* a copy of the file alone */
      n_whole++;
    }
  }
  assert_true(n_whole >= 3);
  for (size_t i = 0; i < n_accidents; i++) {
    accident_t accident = (accident_t)(1 + i % (N_KINDS - 1));
    const image_t *image = &images[draw(n_images)];
    have_accident(image, accident);
    n_of[accident]++;
    whole_of[accident] += (size_t)look(image);
  }
  print_message("%zu instants, %zu of them with the file alone; %zu accidents:", n_images, n_whole,
                n_accidents);
  static const char *const names[] = {"",      "removed",    "cut",           "garbled",
                                      "noise", "ledger cut", "ledger garbled"};
  for (int k = 1; k < N_KINDS; k++) {
    print_message(" %s %zu (whole %zu)", names[k], n_of[k], whole_of[k]);
  }
  print_message("\n");
  for (size_t i = 0; i < n_images; i++) {
    free(images[i].file.data);
    free(images[i].side.data);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_accident_gives_back_a_spend)};
  n_accidents = argc > 1 ? strtoul(argv[1], NULL, 10) : n_accidents;
  shim_install();
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
