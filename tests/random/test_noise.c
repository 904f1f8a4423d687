/* Noise sources as objects: keys, wiping, arguments, and what happens when something fails. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>

#include "base/memory.h"
#include "random/noise.h"
#include "random/noise_internal.h"
#include "testing.h"

#ifdef TESTING_WRAP
/* The linker sends the library's calls here (--wrap). */
static bool entropy_fails, sodium_fails;
int __real_getentropy(void *buffer, size_t length);
int __wrap_getentropy(void *buffer, size_t length);
int __real_sodium_init(void);
int __wrap_sodium_init(void);

static int entropy_left = -1; /* calls that succeed before all fail; below 0: no end */

int __wrap_getentropy(void *buffer, size_t length) {
  entropy_fails = entropy_fails || entropy_left == 0;
  entropy_left -= entropy_left > 0;
  return entropy_fails ? -1 : __real_getentropy(buffer, length);
}

/* libsodium's own call, wherever that is from. */
static bool is_system_silent;
ssize_t getrandom(void *buffer, size_t length, unsigned flags);
ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
  if (is_system_silent) {
    errno = ENOSYS;
    return -1;
  }
  return syscall(SYS_getrandom, buffer, length, flags);
}

int __wrap_sodium_init(void) { return sodium_fails ? -1 : __real_sodium_init(); }
#endif

/* Something to see that it was overwritten. */
static void spoil(int64_t *draws, size_t n) {
  for (size_t i = 0; i < n; i++) {
    draws[i] = INT64_MIN + (int64_t)i;
  }
}

static void assert_all_zero(const int64_t *draws, size_t n) {
  for (size_t i = 0; i < n; i++) {
    assert_true(draws[i] == 0);
  }
}

static tacit_noise_t *seeded(uint64_t seed) {
  tacit_error_t err;
  tacit_noise_t *noise;
  assert_ok(tacit_noise_new_seeded_not_private(&noise, seed, &err), err);
  return noise;
}

/* RFC 8439, appendix A.1, test vector 1: bytes 0 to 63 of the stream of the zero key and nonce. */
static const unsigned char rfc_block[64] = {
    0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86, 0xbd, 0x28,
    0xbd, 0xd2, 0x19, 0xb8, 0xa0, 0x8d, 0xed, 0x1a, 0xa8, 0x36, 0xef, 0xcc, 0x8b, 0x77, 0x0d, 0xc7,
    0xda, 0x41, 0x59, 0x7c, 0x51, 0x57, 0x48, 0x8d, 0x77, 0x24, 0xe0, 0x3f, 0xb8, 0xd8, 0x4a, 0x37,
    0x6a, 0x43, 0xb8, 0xf4, 0x15, 0x18, 0xa1, 0x1c, 0xc3, 0x87, 0xb6, 0x69, 0xb2, 0xee, 0x65, 0x86};

static void test_refill_takes_the_next_key_from_the_stream_and_erases_the_last(void **state) {
  tacit_noise_t *noise = seeded(1);
  memset(noise->key, 0, sizeof noise->key);
  tacit_noise_refill(noise);
  assert_memory_equal(noise->key, rfc_block, 32);
  assert_memory_equal(noise->words + NOISE_KEY_WORDS, rfc_block + 32, 32);
  for (size_t i = 0; i < NOISE_KEY_WORDS; i++) {
    assert_true(noise->words[i] == 0);
  }
  assert_true(tacit_noise_word(noise) == 0x8d4857517c5941da);

  tacit_noise_refill(noise);
  unsigned char expected[8 * NOISE_WORDS], nonce[8] = {0};
  crypto_stream_chacha20(expected, sizeof expected, nonce, rfc_block);
  assert_memory_equal(noise->key, expected, 32);
  assert_memory_equal(noise->words + NOISE_KEY_WORDS, expected + 32, sizeof expected - 32);
  tacit_noise_free(noise);
}

static void test_words_are_wiped_as_they_are_used(void **state) {
  tacit_noise_t *noise = seeded(2);
  unsigned char key[TACIT_KEY_BYTES];
  memcpy(key, noise->key, sizeof key);
  int64_t draws[1000];
  tacit_error_t err;
  assert_ok(tacit_noise_rounded_gaussian(noise, 10, 1000, draws, &err), err);
  assert_memory_not_equal(key, noise->key, sizeof key);
  assert_true(noise->next > NOISE_KEY_WORDS);
  for (size_t i = 0; i < noise->next; i++) {
    assert_true(noise->words[i] == 0);
  }
  tacit_noise_free(noise);
}

static void test_seed_repeats_and_does_not_depend_on_how_draws_are_split(void **state) {
  enum { N = 5000 };
  static int64_t whole[N], pieces[N], other[N];
  tacit_error_t err;
  tacit_noise_t *a = seeded(3), *b = seeded(3), *c = seeded(4);
  assert_ok(tacit_noise_rounded_gaussian(a, 1e6, N, whole, &err), err);
  for (size_t i = 0, n = 0; i < N; i += n, n = n % 97 + 1) {
    n = n < N - i ? n : N - i;
    assert_ok(tacit_noise_rounded_gaussian(b, 1e6, n, n > 0 ? pieces + i : NULL, &err), err);
  }
  assert_memory_equal(whole, pieces, sizeof whole);
  assert_ok(tacit_noise_rounded_gaussian(c, 1e6, N, other, &err), err);
  assert_memory_not_equal(whole, other, sizeof whole);
  assert_false(tacit_noise_is_secret(a));
  tacit_noise_free(a);
  tacit_noise_free(b);
  tacit_noise_free(c);
}

static int compare_draws(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* At sd 2^52, 2000 draws hold an equal pair with probability 2000^2/2/(2 sqrt(pi) 2^52) < 2e-10. */
static void test_two_system_sources_never_repeat(void **state) {
  enum { N = 1000 };
  static int64_t draws[2 * N];
  tacit_error_t err;
  tacit_noise_t *a, *b;
  assert_ok(tacit_noise_new(&a, &err), err);
  assert_ok(tacit_noise_new(&b, &err), err);
  assert_true(tacit_noise_is_secret(a) && tacit_noise_is_secret(b));
  assert_ok(tacit_noise_rounded_gaussian(a, 0x1p52, N, draws, &err), err);
  assert_ok(tacit_noise_rounded_gaussian(b, 0x1p52, N, draws + N, &err), err);
  qsort(draws, 2 * N, sizeof *draws, compare_draws);
  for (size_t i = 1; i < 2 * N; i++) {
    assert_true(draws[i] != draws[i - 1]);
  }
  tacit_noise_free(a);
  tacit_noise_free(b);
}

static void test_refused_sd_leaves_zeros(void **state) {
  const double refused[] = {0,
                            -0.0,
                            -1,
                            NAN,
                            INFINITY,
                            -INFINITY,
                            0x1p-1074,
                            1e300,
                            0x1p53,
                            -0x1p52,
                            nextafter(0x1p-20, 0),
                            nextafter(0x1p52, INFINITY)};
  tacit_noise_t *noise = seeded(5);
  for (size_t j = 0; j < sizeof refused / sizeof refused[0]; j++) {
    int64_t draws[7];
    tacit_error_t err;
    spoil(draws, 7);
    assert_int_equal(tacit_noise_rounded_gaussian(noise, refused[j], 7, draws, &err), TACIT_ERR_ARGUMENT);
    assert_all_zero(draws, 7);
    assert_string_equal(err.field, "sd");
    assert_int_equal(err.status, TACIT_ERR_ARGUMENT);
    assert_int_equal(tacit_noise_rounded_gaussian(noise, refused[j], 0, NULL, NULL), TACIT_ERR_ARGUMENT);
  }
  tacit_noise_free(noise);
}

static void test_edges_of_sd_are_accepted(void **state) {
  enum { N = 2000 };
  static int64_t draws[N];
  tacit_error_t err;
  tacit_noise_t *noise = seeded(6);
  const double vanishing[] = {0x1p-20, nextafter(0x1p-20, 1), 0x1p-11, 0x1p-10, 0x1.8p-9, 1.0 / 64};
  for (size_t j = 0; j < sizeof vanishing / sizeof vanishing[0]; j++) {
    spoil(draws, N);
    assert_ok(tacit_noise_rounded_gaussian(noise, vanishing[j], N, draws, &err), err);
    assert_all_zero(draws, N); /* a draw other than 0 is 32 sd away or more */
  }
  const double large[] = {0x1p52, nextafter(0x1p52, 0), 0x1.fffffffffffffp50};
  for (size_t j = 0; j < sizeof large / sizeof large[0]; j++) {
    double squares = 0;
    assert_ok(tacit_noise_rounded_gaussian(noise, large[j], N, draws, &err), err);
    for (size_t i = 0; i < N; i++) {
      squares += (double)draws[i] / large[j] * ((double)draws[i] / large[j]);
    }
    assert_close(squares / N, 1, 6.5 * sqrt(2.0 / N));
  }
  assert_ok(tacit_noise_rounded_gaussian(noise, 1, 0, NULL, &err), err);
  assert_ok(tacit_noise_rounded_gaussian(noise, 1, 1, draws, NULL), err);
  tacit_noise_free(noise);
}

/* All words zero: every comparison is a tie to the last digit. */
static void test_undecided_draw_fails_the_source_for_good_and_leaves_zeros(void **state) {
  tacit_noise_t *noise = seeded(7);
  tacit_noise_refill(noise);
  memset(noise->words, 0, sizeof noise->words);
  for (int again = 0; again < 2; again++) {
    int64_t draws[5];
    tacit_error_t err;
    spoil(draws, 5);
    assert_int_equal(tacit_noise_rounded_gaussian(noise, 1, 5, draws, &err), TACIT_ERR_NOISE);
    assert_int_equal(err.status, TACIT_ERR_NOISE);
    assert_all_zero(draws, 5);
    tacit_noise_refill(noise);
  }
  tacit_noise_free(noise);
}

static void test_forked_child_is_refused(void **state) {
  int64_t draws[3];
  tacit_error_t err;
  tacit_noise_t *noise;
  assert_ok(tacit_noise_new(&noise, &err), err);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    spoil(draws, 3);
    bool refused = tacit_noise_rounded_gaussian(noise, 1e9, 3, draws, &err) == TACIT_ERR_NOISE;
    _exit(refused && draws[0] == 0 && draws[1] == 0 && draws[2] == 0 ? 0 : 1);
  }
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  assert_ok(tacit_noise_rounded_gaussian(noise, 1e9, 3, draws, &err), err);
  tacit_noise_free(noise);
}

/* What a child process makes of it: 0 if it did as it should. */
static int status_of(pid_t child) {
  int how = 0;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &how, 0), child);
  return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static bool refuses(tacit_noise_t *noise) {
  int64_t draws[3];
  bool bit;
  tacit_error_t err;
  return tacit_noise_rounded_gaussian(noise, 1e9, 3, draws, &err) == TACIT_ERR_NOISE && draws[0] == 0 &&
         draws[2] == 0 && tacit_noise_discrete_laplace(noise, 10, 3, draws, &err) == TACIT_ERR_NOISE &&
         tacit_noise_logistic_bit(noise, 1, &bit, &err) == TACIT_ERR_NOISE;
}

/* By the count of forks alone: the memory is kept, and the child has its parent's number. */
static void test_a_child_with_its_parents_number_is_refused(void **state) {
  tacit_error_t err;
  tacit_noise_t *noise;
  assert_ok(tacit_noise_new(&noise, &err), err);
#if defined(MADV_KEEPONFORK) && !defined(__SANITIZE_ADDRESS__)
  assert_int_equal(madvise(noise, sizeof *noise, MADV_KEEPONFORK), 0);
#endif
  pid_t child = fork();
  if (child == 0) {
    noise->owner = getpid();
    bool is_copy = noise->is_made && noise->next > 0;
    _exit(is_copy && refuses(noise) ? 0 : 1);
  }
  assert_int_equal(status_of(child), 0);
  tacit_noise_free(noise);
}

/* By the system alone: a child made without the C library, which therefore counts no fork. */
static void test_a_child_finds_nothing_of_a_source(void **state) {
#if !defined(MADV_WIPEONFORK) || defined(__SANITIZE_ADDRESS__)
  skip();
#else
  static const tacit_noise_t zeros;
  int64_t draw;
  tacit_error_t err;
  tacit_noise_t *noise;
  assert_ok(tacit_noise_new(&noise, &err), err);
  assert_ok(tacit_noise_rounded_gaussian(noise, 1e9, 1, &draw, &err), err);
  pid_t child = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    _exit(memcmp(noise, &zeros, sizeof zeros) == 0 && refuses(noise) ? 0 : 1);
  }
  assert_int_equal(status_of(child), 0);
  assert_ok(tacit_noise_rounded_gaussian(noise, 1e9, 1, &draw, &err), err);
  tacit_noise_free(noise);
#endif
}

/* Process 1 of a namespace of processes of its own; or less than 0: such are not permitted here. */
static pid_t fork_apart(void) {
  return unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 ? fork() : -1;
}

/* Parent and child are process 1, each of its own namespace. */
static void test_a_child_in_another_namespace_is_refused(void **state) {
  enum { NOT_PERMITTED = 77 };
  pid_t middle = fork(); /* this process stays where it is */
  if (middle == 0) {
    pid_t parent = fork_apart();
    if (parent == 0) {
      tacit_error_t err;
      tacit_noise_t *noise;
      int how = 1;
      if (tacit_noise_new(&noise, &err) == TACIT_OK) {
        pid_t child = fork_apart();
        if (child == 0) {
          _exit(getpid() == 1 && refuses(noise) ? 0 : 1);
        }
        how = child < 0                                            ? NOT_PERMITTED
              : waitpid(child, &how, 0) == child && WIFEXITED(how) ? WEXITSTATUS(how)
                                                                   : 1;
      }
      _exit(how);
    }
    int how;
    _exit(parent < 0                                             ? NOT_PERMITTED
          : waitpid(parent, &how, 0) == parent && WIFEXITED(how) ? WEXITSTATUS(how)
                                                                 : 1);
  }
  int how = status_of(middle);
  if (how == NOT_PERMITTED) {
    skip();
  }
  assert_int_equal(how, 0);
}

static void test_a_source_is_in_no_core_dump(void **state) {
  tacit_noise_t *noise = seeded(1);
#if !defined(__SANITIZE_ADDRESS__)
  assert_true(testing_is_kept_private(noise) && testing_is_kept_private((const char *)(noise + 1) - 1));
#endif
  tacit_noise_free(noise);
}

static void test_failed_allocation_gives_no_source(void **state) {
  tacit_error_t err;
  tacit_noise_t *noise = (tacit_noise_t *)&err;
  tacit_alloc_fail_at(1);
  assert_int_equal(tacit_noise_new(&noise, &err), TACIT_ERR_MEMORY);
  assert_null(noise);
  tacit_alloc_fail_at(1);
  noise = (tacit_noise_t *)&err;
  assert_int_equal(tacit_noise_new_seeded_not_private(&noise, 1, &err), TACIT_ERR_MEMORY);
  assert_null(noise);
  tacit_alloc_fail_at(2);
  assert_ok(tacit_noise_new(&noise, &err), err);
  tacit_alloc_fail_at(0);
  tacit_noise_free(noise);
  tacit_noise_free(NULL);
}

static void test_failed_generator_gives_no_source_and_no_key(void **state) {
#ifdef TESTING_WRAP
  tacit_error_t err;
  tacit_noise_t *noise;
  tacit_rng_t *rng;
  unsigned char key[TACIT_KEY_BYTES];
  static const unsigned char zero[TACIT_KEY_BYTES];
  entropy_fails = true;
  memset(key, 1, sizeof key);
  noise = (tacit_noise_t *)&err;
  assert_int_equal(tacit_noise_new(&noise, &err), TACIT_ERR_NOISE);
  assert_null(noise);
  assert_int_equal(tacit_rng_key_from_system(key, &err), TACIT_ERR_NOISE);
  assert_memory_equal(key, zero, sizeof key);
  entropy_fails = false;

  sodium_fails = true;
  noise = (tacit_noise_t *)&err;
  assert_int_equal(tacit_noise_new(&noise, &err), TACIT_ERR_NOISE);
  assert_null(noise);
  noise = (tacit_noise_t *)&err;
  assert_int_equal(tacit_noise_new_seeded_not_private(&noise, 1, NULL), TACIT_ERR_NOISE);
  assert_null(noise);
  rng = (tacit_rng_t *)&err;
  assert_int_equal(tacit_rng_new(&rng, key, 0, &err), TACIT_ERR_NOISE);
  assert_null(rng);
  sodium_fails = false;
#else
  skip();
#endif
}

/*
 * A system that gives random bytes for the key and refuses the next ones, those that libsodium wants to begin
 * with, is an error and not the end of the process. libsodium by itself would end in abort().
 */
static void test_a_generator_that_fails_later_is_an_error(void **state) {
#ifdef TESTING_WRAP
  for (int k = 0; k < 4; k++) {
    pid_t child = fork(); /* where libsodium has not been initialised */
    if (child == 0) {
      tacit_noise_t *noise;
      int64_t draw;
      entropy_left = k;
      is_system_silent = true;
      close(STDERR_FILENO);
      tacit_status_t first = tacit_noise_new(&noise, NULL);
      if (first == TACIT_OK && tacit_noise_rounded_gaussian(noise, 1, 1, &draw, NULL) != TACIT_OK) {
        _exit(9);
      }
      entropy_left = -1;
      entropy_fails = false;
      tacit_status_t second = tacit_noise_new(&noise, NULL); /* asked again, it may answer */
      _exit(first != TACIT_OK && first != TACIT_ERR_NOISE ? 8 : second != TACIT_OK ? 7 : first == TACIT_OK);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_true(WEXITSTATUS(how) <= 1);
    assert_int_equal(WEXITSTATUS(how), k >= 2); /* the key, and what guards its heap */
  }
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(
          test_a_generator_that_fails_later_is_an_error), /* first: before libsodium is initialised */
      cmocka_unit_test(test_failed_generator_gives_no_source_and_no_key),
      cmocka_unit_test(test_refill_takes_the_next_key_from_the_stream_and_erases_the_last),
      cmocka_unit_test(test_words_are_wiped_as_they_are_used),
      cmocka_unit_test(test_seed_repeats_and_does_not_depend_on_how_draws_are_split),
      cmocka_unit_test(test_two_system_sources_never_repeat),
      cmocka_unit_test(test_refused_sd_leaves_zeros),
      cmocka_unit_test(test_edges_of_sd_are_accepted),
      cmocka_unit_test(test_undecided_draw_fails_the_source_for_good_and_leaves_zeros),
      cmocka_unit_test(test_forked_child_is_refused),
      cmocka_unit_test(test_a_child_with_its_parents_number_is_refused),
      cmocka_unit_test(test_a_child_finds_nothing_of_a_source),
      cmocka_unit_test(test_a_child_in_another_namespace_is_refused),
      cmocka_unit_test(test_a_source_is_in_no_core_dump),
      cmocka_unit_test(test_failed_allocation_gives_no_source),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
