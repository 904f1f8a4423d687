/*
 * The work of a draw does not tell its value: each call of a secret source takes as many words as
 * noise_internal.h allows it, and what it allows is Chernoff's bound to 2^-80 of what the draws need, whose
 * moment generating function is estimated here on seeded draws, which stop when they are done. Seen to be
 * caught: 9 words for a normal draw, half the rest for discrete ones, a bit that stops when it is done; a
 * penalty's second bit left out where the first decides.
 */
#include "random/noise.h"
#include "random/noise_internal.h"
#include "testing.h"

typedef tacit_status_t (*numbers_t)(tacit_noise_t *noise, double scale, size_t n, int64_t *out,
                                    tacit_error_t *err);

typedef struct kind {
  const char *name;
  numbers_t numbers; /* or a bit: */
  tacit_status_t (*bit)(tacit_noise_t *noise, double scale, bool *out, tacit_error_t *err);
  const tacit_noise_work_t *work;
  double scales[6]; /* up to the first 0 */
} kind_t;

static tacit_status_t exp_bit(tacit_noise_t *noise, double x, bool *out, tacit_error_t *err) {
  return tacit_noise_exp_bit(noise, (uint64_t)(x * 0x1p32), out, err);
}

static tacit_status_t logistic_bit(tacit_noise_t *noise, double x, bool *out, tacit_error_t *err) {
  return tacit_noise_logistic_bit(noise, (int64_t)(x * 0x1p32), out, err);
}

static tacit_status_t penalty_bit(tacit_noise_t *noise, double x, bool *out, tacit_error_t *err) {
  return tacit_noise_penalty_bit(noise, 0.8, (int64_t)(x * 0x1p32), out, err);
}

static tacit_status_t arcsine_bit(tacit_noise_t *noise, double x, bool *out, tacit_error_t *err) {
  return tacit_noise_arcsine_bit(noise, 0.3, 0.9, (int64_t)(x * 0x1p32), out, err);
}

static const kind_t kinds[] = {
    {"rounded gaussian", tacit_noise_rounded_gaussian, NULL, &TACIT_NORMAL_WORK, {0x1p-20, 0.6, 30, 1e9}},
    {"rounded laplace", tacit_noise_rounded_laplace, NULL, &TACIT_LAPLACE_WORK, {1, 1.3, 77, 1e9 + 0.5}},
    {"discrete laplace",
     tacit_noise_discrete_laplace,
     NULL,
     &TACIT_DISCRETE_WORK,
     {0x1p-8, 0.3, 1, 2.7, 1e9 + 0.5}},
    {"discrete gaussian",
     tacit_noise_discrete_gaussian,
     NULL,
     &TACIT_DISCRETE_WORK,
     {0x1p-4, 0.4, 1, 1.01, 33.3, 1e7}},
    {"exp bit", NULL, exp_bit, &TACIT_BIT_WORK, {1e-9, 0.5, 1, 3, 40}},
    {"logistic bit", NULL, logistic_bit, &TACIT_BIT_WORK, {1e-9, 0.5, 1, 3, -40}},
};

static uint64_t words_of(const kind_t *kind, tacit_noise_t *noise, double scale) {
  uint64_t before = tacit_noise_n_words(noise);
  tacit_error_t err;
  int64_t number;
  bool bit;
  assert_ok(kind->numbers != NULL ? kind->numbers(noise, scale, 1, &number, &err)
                                  : kind->bit(noise, scale, &bit, &err),
            err);
  return tacit_noise_n_words(noise) - before;
}

/* E exp(s W) <= exp(s each), s = 80 log 2 / rest, with room for the estimate's error. */
static void test_allowance(void **state) {
  tacit_error_t err;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    double s = 80 * log(2) / (double)kinds[k].work->rest, each = (double)kinds[k].work->each;
    for (size_t i = 0; i < 6 && kinds[k].scales[i] != 0; i++) {
      tacit_noise_t *noise;
      double n = floor(1e5 * testing_multiplier_at_least(0.3)), sum = 0, squares = 0, words = 0;
      assert_ok(tacit_noise_new_seeded_not_private(&noise, 12 + i, &err), err);
      for (double j = 0; j < n; j++) {
        double w = (double)words_of(&kinds[k], noise, kinds[k].scales[i]), e = exp(s * w);
        words += w;
        sum += e;
        squares += e * e;
      }
      tacit_noise_free(noise);
      double mean = sum / n, sd = sqrt(fmax(squares / n - mean * mean, 0) / n),
             needed = log(mean + 6 * sd) / s;
      print_message("%s %g: %.1f words, %.1f needed, %.0f allowed\n", kinds[k].name, kinds[k].scales[i],
                    words / n, needed, each);
      assert_true(needed <= each);
    }
  }
}

/* What a call takes: the allowance, and at most the draw over which it ends. */
static void check_spent(const char *name, double scale, uint64_t words, const tacit_noise_work_t *work,
                        size_t n) {
  uint64_t allowed = work->rest + n * work->each;
  if (words < allowed || words > allowed + 1000) {
    fail_msg("%s %g: %.0f words, %.0f allowed", name, scale, (double)words, (double)allowed);
  }
}

static void test_spent(void **state) {
  tacit_error_t err;
  tacit_noise_t *noise;
  assert_ok(tacit_noise_new(&noise, &err), err);
  for (size_t round = 0; round < 300; round++) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      for (size_t i = 0; i < 6 && kinds[k].scales[i] != 0; i++) {
        check_spent(kinds[k].name, kinds[k].scales[i], words_of(&kinds[k], noise, kinds[k].scales[i]),
                    kinds[k].work, 1);
      }
    }
    for (double x = -9; x <= 9; x += 4.5) {
      const kind_t penalty = {"penalty bit", NULL, penalty_bit, NULL, {0}},
                   arcsine = {"arcsine bit", NULL, arcsine_bit, NULL, {0}};
      const tacit_noise_work_t both = {TACIT_NORMAL_WORK.rest + TACIT_BIT_WORK.rest,
                                       TACIT_NORMAL_WORK.each + TACIT_BIT_WORK.each};
      check_spent(penalty.name, x, words_of(&penalty, noise, x), &both, 1);
      check_spent(arcsine.name, x, words_of(&arcsine, noise, x), &TACIT_BIT_WORK, 1);
    }
    int64_t many[40];
    uint64_t before = tacit_noise_n_words(noise);
    assert_ok(tacit_noise_rounded_gaussian(noise, 5, 40, many, &err), err);
    check_spent("40 normal", 5, tacit_noise_n_words(noise) - before, &TACIT_NORMAL_WORK, 40);
  }
  tacit_noise_free(noise);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_allowance), cmocka_unit_test(test_spent)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
