#define _DEFAULT_SOURCE /* mincore */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/isa.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/pool.h"
#include "tacit/setting.h"
#include "testing.h"

static void test_status_string_is_total(void **state) {
  for (int status = -2000; status <= 2000; status++) {
    const char *text = tacit_status_string(status);
    assert_non_null(text);
    assert_true(strlen(text) > 3);
  }
  assert_string_equal(tacit_status_string(TACIT_OK), "success");
  assert_string_not_equal(tacit_status_string(TACIT_ERR_BUDGET), "unknown status");
}

static void test_instruction_set_is_the_environments(void **state) {
  tacit_error_t err;
  unsetenv("TACIT_INSTRUCTION_SET");
  assert_int_equal(tacit_isa_check(&err), TACIT_OK);
  setenv("TACIT_INSTRUCTION_SET", "", 1);
  assert_int_equal(tacit_isa_check(&err), TACIT_OK);
  for (const char *const *bad = (const char *const[]){"sse", "AVX2", "2", "portable,avx2", NULL};
       *bad != NULL; bad++) {
    setenv("TACIT_INSTRUCTION_SET", *bad, 1);
    assert_int_equal(tacit_isa_check(&err), TACIT_ERR_ARGUMENT);
    assert_string_equal(err.field, "TACIT_INSTRUCTION_SET");
    assert_non_null(strstr(err.message, *bad));
  }
  setenv("TACIT_INSTRUCTION_SET", "portable", 1);
  assert_int_equal(tacit_isa_check(&err), TACIT_OK);
  assert_string_equal(tacit_isa_name(), "portable"); /* nobody has asked before */
  unsetenv("TACIT_INSTRUCTION_SET");
  assert_string_equal(tacit_isa_name(), "portable"); /* read once */
  tacit_isa_limit(TACIT_ISA_AVX512);
#if defined(__x86_64__)
  assert_string_equal(tacit_isa_name(), tacit_has_avx512() ? "avx512"
                                        : tacit_has_avx2() ? "avx2"
                                                           : "portable");
  setenv("TACIT_INSTRUCTION_SET", "avx512", 1);
  assert_int_equal(tacit_isa_check(&err), tacit_has_avx512() ? TACIT_OK : TACIT_ERR_ARGUMENT);
  unsetenv("TACIT_INSTRUCTION_SET");
#endif
}

static void test_error_set_truncates_and_accepts_null(void **state) {
  char longer[4096];
  memset(longer, 'x', sizeof longer);
  longer[sizeof longer - 1] = '\0';
  tacit_error_t err;
  assert_int_equal(tacit_error_set(&err, TACIT_ERR_IO, longer, "%s", longer), TACIT_ERR_IO);
  assert_int_equal(strlen(err.message), sizeof err.message - 1);
  assert_string_equal(err.message + sizeof err.message - 5, "x...");
  assert_int_equal(strlen(err.field), sizeof err.field - 1);
  for (size_t i = 5; i < sizeof longer - 1; i += 6) {
    longer[i] = ' ';
  }
  assert_int_equal(tacit_error_set(&err, TACIT_ERR_IO, NULL, "%s", longer), TACIT_ERR_IO);
  size_t n = strlen(err.message); /* whole words */
  assert_true(n > sizeof err.message - 10 && n % 6 == 2 && strcmp(err.message + n - 4, "x...") == 0);
  assert_int_equal(tacit_error_set(NULL, TACIT_ERR_IO, NULL, "x"), TACIT_ERR_IO);
}

static void test_alloc_refuses_overflow_and_serves_zero(void **state) {
  assert_null(tacit_alloc(SIZE_MAX, 2));
  assert_null(tacit_alloc_zero(SIZE_MAX / 4, 8));
  assert_null(tacit_alloc_zero(1, SIZE_MAX));
  void *p = tacit_alloc(0, 8), *q = tacit_alloc_zero(3, 0);
  assert_non_null(p);
  assert_non_null(q);
  tacit_free(p);
  tacit_free(q);
  unsigned char *zeroed = tacit_alloc_zero(1000, 1);
  assert_int_equal((uintptr_t)zeroed % 64, 0);
  for (size_t i = 0; i < 1000; i++) {
    assert_int_equal(zeroed[i], 0);
  }
  tacit_free(zeroed);
  tacit_alloc_fail_at(2);
  p = tacit_alloc(1, 1);
  assert_non_null(p);
  assert_null(tacit_strdup("second"));
  q = tacit_strdup("third");
  assert_string_equal(q, "third");
  tacit_free(p);
  tacit_free(q);
}

/* Pages of the n_bytes at p that are somewhere. */
static size_t count_resident(void *p, size_t n_bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
  unsigned char *seen = malloc(n_bytes / page);
  assert_int_equal(mincore(p, n_bytes / page * page, seen), 0);
  for (size_t i = 0; i < n_bytes / page; i++) {
    n += seen[i] & 1;
  }
  free(seen);
  return n;
}

/* Large arrays are zeros that nobody has written: the first to do so decides where their pages are. */
static void test_pages_are_zero_and_nowhere(void **state) {
  enum { large = 17000000 };
  unsigned char *small = tacit_alloc_pages(1000, 3), *p = tacit_alloc_pages(large, 1),
                *none = tacit_alloc_pages(0, 8);
  assert_non_null(none);
  assert_true((uintptr_t)small % 64 == 0 && (uintptr_t)p % (1 << 21) == 0); /* for huge pages */
  assert_int_equal(count_resident(p, large), 0);
  p[large / 2] = 1;
  size_t n = count_resident(p, large);
  assert_true(n > 0 && n <= 512);
  for (size_t i = 0; i < large; i++) {
    assert_int_equal(p[i], i == large / 2);
  }
  for (size_t i = 0; i < 3000; i++) {
    assert_int_equal(small[i], 0);
  }
#if !defined(__SANITIZE_ADDRESS__)
  double *grown = NULL;
  for (size_t m = 100; m <= 1000000; m *= 10) {
    grown = tacit_grow_private(grown, m / 10 * (grown != NULL), m, sizeof *grown);
    assert_non_null(grown);
    assert_true(m == 100 || grown[m / 10 - 1] == (double)m);
    grown[m - 1] = 10.0 * (double)m;
    assert_true(testing_is_kept_private(grown));
  }
  tacit_free_private(grown, 1000000, sizeof *grown);
  assert_true(testing_is_kept_private(small) && testing_is_kept_private(p) &&
              testing_is_kept_private(p + large - 1));
  assert_false(testing_is_kept_private(&grown));
#endif
  tacit_free_pages(small, 1000, 3);
  tacit_free_pages(p, large, 1);
  tacit_free_pages(none, 0, 8);
  tacit_free_pages(NULL, large, 1);
  assert_null(tacit_alloc_pages(SIZE_MAX, 2));
  assert_null(tacit_alloc_pages(SIZE_MAX / 4, 1)); /* more than there are addresses for */
  for (size_t size = 1; size <= large; size += large - 1) {
    tacit_alloc_fail_at(1);
    assert_null(tacit_alloc_pages(size, 1));
    tacit_alloc_fail_at(0);
  }
}

static void test_text_grows_and_remembers_failure(void **state) {
  tacit_text_t text = {0};
  for (int i = 0; i < 1000; i++) {
    tacit_text_printf(&text, "%d,", i);
  }
  assert_false(text.failed);
  assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
  tacit_alloc_fail_at(1);
  char big[5000] = {0};
  tacit_text_append(&text, big, sizeof big);
  assert_true(text.failed);
  tacit_text_printf(&text, "ignored");
  assert_true(text.failed);
  tacit_text_clear(&text);
  assert_null(text.data);
}

static void test_file_write_is_whole_or_nothing(void **state) {
  char dir[] = "/tmp/tacit-test-XXXXXX", path[64], *bytes;
  size_t n;
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/file", dir);
  tacit_error_t err;
  assert_ok(tacit_file_write(path, "one", 3, &err), err);
  assert_ok(tacit_file_write(path, "three", 5, &err), err);
  assert_ok(tacit_file_read(path, 100, &bytes, &n, &err), err);
  assert_int_equal(n, 5);
  assert_string_equal(bytes, "three");
  tacit_free(bytes);
  assert_int_equal(tacit_file_read(path, 4, &bytes, &n, &err), TACIT_ERR_IO);
  assert_null(bytes);
  assert_int_equal(tacit_file_read(dir, 100, &bytes, &n, &err), TACIT_ERR_IO);
  unlink(path);
  assert_int_equal(tacit_file_read(path, 100, &bytes, &n, &err), TACIT_ERR_MISSING);
  assert_int_equal(tacit_file_write("/nowhere/at/all", "x", 1, &err), TACIT_ERR_IO);
  assert_non_null(strstr(err.message, "/nowhere/at/all"));
  assert_int_equal(rmdir(dir), 0); /* no temporary was left behind */
}

typedef struct counts {
  int seen[5000];
  size_t n_threads;
  bool bad_thread;
} counts_t;

static void count_part(void *user, size_t part, size_t thread) {
  counts_t *counts = user;
  counts->seen[part]++;
  if (thread >= counts->n_threads) {
    counts->bad_thread = true;
  }
}

static void test_pool_runs_every_part_once(void **state) {
  tacit_error_t err;
  size_t threads[] = {1, 2, 3, 7};
  for (size_t t = 0; t < 4; t++) {
    tacit_pool_t *pool;
    assert_ok(tacit_pool_new(&pool, threads[t], &err), err);
    for (size_t round = 0; round < 50; round++) {
      counts_t counts = {.n_threads = threads[t]};
      size_t n_parts = round * 97 % 5000;
      tacit_pool_run(pool, n_parts, count_part, &counts);
      for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(counts.seen[i], i < n_parts);
      }
      assert_false(counts.bad_thread);
    }
    tacit_pool_free(pool);
  }
  tacit_pool_t *pool;
  assert_int_equal(tacit_pool_new(&pool, 0, &err), TACIT_ERR_ARGUMENT);
  assert_null(pool);
  tacit_pool_free(NULL);
}

static void test_pool_shares_are_within_limits(void **state) {
  for (size_t n = 0; n < 100000; n = n * 3 / 2 + 1) {
    for (size_t n_threads = 1; n_threads <= 64; n_threads *= 2) {
      size_t share = tacit_pool_share(n, n_threads, 1024);
      assert_true(share >= 16 && share <= 1024 && share % 16 == 0);
      assert_true(n < 128 * n_threads || n / share >= 4 * n_threads); /* something for all */
    }
  }
}

/* What a message says would do, does, and is no more than two digits must be. */
static void test_numbers_are_rounded_up_as_they_are_printed(void **state) {
  for (int i = 0; i < 10000; i++) {
    double x = pow(10, 0.0012 * i - 5), read;
    char text[32];
    snprintf(text, sizeof text, "%.2g", tacit_number_round_up(x));
    assert_true(tacit_number_parse(text, strlen(text), &read) && read >= x * (1 - 2e-9) && read < 1.1 * x);
  }
  static const double same[] = {1.3, 12, 0.07, 100, 4.4e5, 1e-3};
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    assert_true(fabs(tacit_number_round_up(same[i]) / same[i] - 1) < 1e-12);
  }
  assert_true(isinf(tacit_number_round_up(INFINITY)));
}

static void test_messages_are_spelled_as_their_reader_writes(void **state) {
  (void)state;
  static const tacit_setting_t table[] = {
      {.name = "epsilon", .value = "E"}, {.name = "exposed"}, {.name = "method", .value = "NAME"}};
  static const struct {
    const char *of_program, *of_python, *of_r;
  } cases[] = {{"a private run needs a budget: --epsilon E --delta D (missing: --epsilon)",
                "a private run needs a budget: epsilon=E delta=D (missing: epsilon=)",
                "a private run needs a budget: epsilon = E delta = D (missing: epsilon =)"},
               {"option --clip-grad must be a number between 0 and 1, not '--x y'",
                "clip_grad= must be a number between 0 and 1, not '--x y'",
                "clip_grad = must be a number between 0 and 1, not '--x y'"},
               {"say --exposed, or take --method dp-hmc.", "say exposed=True, or take method=\"dp-hmc\".",
                "say exposed = TRUE, or take method = \"dp-hmc\"."},
               {"the fit's own: --set 'mean(x)=5' or --seed only",
                "the fit's own: set=\"mean(x)=5\" or seed_not_private= only",
                "the fit's own: set = \"mean(x)=5\" or seed_not_private = only"},
               {"--metric private, --n-public 12.", "metric=\"private\", n_public=12.",
                "metric = \"private\", n_public = 12."},
               {"see tacit fit --help; tacit methods lists them",
                "see tacit.settings(); tacit.plan() lists them", "see ?tacit; ?tacit lists them"},
               {"", "", ""},
               {"a -- b --1 x--y", "a -- b --1 x--y", "a -- b --1 x--y"},
               {"not 'closed --epsilon", "not 'closed epsilon=", "not 'closed epsilon ="}};
  tacit_error_t err;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *const expected[] = {cases[i].of_program, cases[i].of_python, cases[i].of_r};
    for (int as = TACIT_SPELLING_PROGRAM; as <= TACIT_SPELLING_R; as++) {
      char *spelled;
      assert_ok(tacit_spell(cases[i].of_program, (tacit_spelling_t)as, table, 3, &spelled, &err), err);
      assert_string_equal(spelled, expected[as]);
      tacit_free(spelled);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_instruction_set_is_the_environments),
      cmocka_unit_test(test_status_string_is_total),
      cmocka_unit_test(test_error_set_truncates_and_accepts_null),
      cmocka_unit_test(test_alloc_refuses_overflow_and_serves_zero),
      cmocka_unit_test(test_pages_are_zero_and_nowhere),
      cmocka_unit_test(test_text_grows_and_remembers_failure),
      cmocka_unit_test(test_file_write_is_whole_or_nothing),
      cmocka_unit_test(test_pool_runs_every_part_once),
      cmocka_unit_test(test_pool_shares_are_within_limits),
      cmocka_unit_test(test_numbers_are_rounded_up_as_they_are_printed),
      cmocka_unit_test(test_messages_are_spelled_as_their_reader_writes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
