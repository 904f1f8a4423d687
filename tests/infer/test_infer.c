/* An inference from settings and two texts to draws and report: order of steps, threads, stopping, failed
 * allocations. */
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#include "base/memory.h"
#include "tacit/diagnose.h"
#include "tacit/infer.h"

static const char gaussian[] = "records: gaussian\nmean: normal(0, 1)\nsd: 0.5\n";
static const char mean[] =
    "statistic: mean\nvalue: 0.3\nlower: -1\nupper: 1\nn: 200\nmechanism: gaussian\nscale: 0.01\n";
static const char regression[] =
    "records: regression\ncoefficients: normal(0, 1)\nvariance: inverse_gamma(2, 0.1)\n";
static const char products[] =
    "statistic: regression-moments\ncolumns: [x, y]\nlower: [-2, 0]\nupper: [2, 8]\nn: 500\n"
    "value: [0.1, 0.2, 0.3, 0.1, 0.2]\nmechanism: gaussian\nscale: 0.001\n";
static const char counted[] =
    "statistic: sum\nvalue: 3\nlower: 0\nupper: 1\nstep: 1\nn: 200\nmechanism: discrete-gaussian\nscale: 2\n";
static const char *const few[] = {"draws", "120", "warmup", "80", "chains", "3", "seed", "5", NULL};

/* Everything up to reading; model and statistic as YAML. */
static tacit_status_t begin(tacit_infer_t **infer, const char *model, const char *statistic,
                            const char *const *settings, tacit_error_t *err) {
  tacit_status_t status = tacit_infer_new(infer, NULL, err);
  status = status == TACIT_OK ? tacit_infer_set_model(*infer, model, strlen(model), "model", err) : status;
  status = status == TACIT_OK
               ? tacit_infer_set_statistic(*infer, statistic, strlen(statistic), "statistic", err)
               : status;
  for (size_t i = 0; settings[i] != NULL && status == TACIT_OK; i += 2) {
    status = tacit_infer_set(*infer, settings[i], settings[i + 1], err);
  }
  return status;
}

/* Every setting says what it is, and its default is one of its own texts. */
static void test_the_table_is_whole(void **state) {
  (void)state;
  size_t n;
  const tacit_setting_t *table = tacit_infer_settings(&n);
  tacit_infer_t *infer;
  tacit_error_t err;
  assert_ok(tacit_infer_new(&infer, "model.yaml", &err), err);
  for (size_t i = 0; i < n; i++) {
    const tacit_setting_t *s = &table[i];
    assert_true(s->help[0] != '\0' && s->group[0] != '\0' && strpbrk(s->name, "_ ") == NULL);
    assert_true((s->value == NULL) == (s->kind == TACIT_SETTING_FLAG || s->kind == TACIT_SETTING_PROGRAM));
    assert_true((s->choices != NULL) == (s->kind == TACIT_SETTING_CHOICE));
    if (s->kind == TACIT_SETTING_NUMBER || s->kind == TACIT_SETTING_COUNT) {
      assert_true(s->lower < s->upper);
    }
    if (s->fallback != NULL) {
      assert_ok(tacit_infer_set(infer, s->name, s->fallback, &err), err);
    }
  }
  tacit_infer_free(infer);
}

/* Where the posterior of a known sd is normal: mean (n y / v) / (n / v + 1), v = sd^2 + n scale^2, up to the
 * clamp's small share. */
static void test_draws_are_those_of_the_posterior(void **state) {
  (void)state;
  static const char *const settings[] = {"draws",  "1000",     "warmup", "200", "chains", "2",
                                         "method", "marginal", "seed",   "1",   NULL};
  static const char wide[] =
      "statistic: mean\nvalue: 0.3\nlower: -6\nupper: 6\nn: 200\nmechanism: gaussian\nscale: 0.02\n";
  tacit_infer_t *infer;
  tacit_error_t err;
  tacit_summary_t summary;
  assert_ok(begin(&infer, gaussian, wide, settings, &err), err);
  assert_ok(tacit_infer_read(infer, &err), err);
  assert_ok(tacit_infer_run(infer, NULL, NULL, &err), err);
  assert_ok(tacit_draws_summarise(tacit_infer_draws(infer), 0, &summary, &err), err);
  double variance = 0.25 / 200 + 0.02 * 0.02, precision = 1 / variance + 1;
  assert_true(fabs(summary.mean - 0.3 / variance / precision) < 6 * summary.mcse_mean);
  assert_true(fabs(summary.sd * sqrt(precision) - 1) < 0.15);
  assert_string_equal(tacit_infer_labels(infer)[0], "mean");
  assert_non_null(strstr(tacit_infer_text(infer, TACIT_INFER_TEXT_METHOD),
                         "method marginal: 200 records integrated out, exactly"));
  assert_non_null(strstr(tacit_infer_text(infer, TACIT_INFER_TEXT_COST),
                         "mean of 200 records clamped to [-6, 6], noise gaussian, scale 0.02"));
  tacit_infer_free(infer);
}

/* A mean of 200 values in [-6, 6] moves by 12 / 200 when one is replaced; Laplace noise at epsilon 2 has half
 * of that. */
static void test_a_scale_is_that_of_the_sensitivity(void **state) {
  (void)state;
  static const char priced[] =
      "statistic: mean\nvalue: 0.3\nlower: -6\nupper: 6\nn: 200\nmechanism: laplace\nepsilon: 2\n";
  tacit_infer_t *infer;
  tacit_error_t err;
  assert_ok(begin(&infer, gaussian, priced, few, &err), err);
  assert_ok(tacit_infer_read(infer, &err), err);
  assert_ok(tacit_infer_run(infer, NULL, NULL, &err), err);
  assert_non_null(strstr(tacit_infer_text(infer, TACIT_INFER_TEXT_COST), "noise laplace, scale 0.03"));
  tacit_infer_free(infer);
}

static void test_steps_come_in_their_order_and_results_after_them(void **state) {
  (void)state;
  tacit_infer_t *infer;
  tacit_error_t err;
  char out[64], path[96], *text;
  struct stat info;
  snprintf(out, sizeof out, "/tmp/tacit-infer-%d", (int)getpid());
  assert_ok(begin(&infer, regression, products, few, &err), err);
  assert_int_equal(tacit_infer_run(infer, NULL, NULL, &err), TACIT_ERR_STATE);
  assert_null(tacit_infer_draws(infer));
  assert_int_equal(tacit_infer_statement(infer, &text, &err), TACIT_ERR_STATE);
  assert_ok(tacit_infer_read(infer, &err), err);
  assert_int_equal(tacit_infer_set(infer, "draws", "9", &err), TACIT_ERR_STATE);
  assert_int_equal(tacit_infer_set_model(infer, gaussian, sizeof gaussian - 1, "model", &err),
                   TACIT_ERR_STATE);
  assert_int_equal(tacit_infer_read(infer, &err), TACIT_ERR_STATE);
  assert_ok(tacit_infer_run(infer, NULL, NULL, &err), err);
  assert_string_equal(tacit_infer_end(infer), "complete");
  const char *const labels[] = {"Intercept", "x", "sd"};
  for (size_t j = 0; j < 3; j++) {
    assert_string_equal(tacit_infer_labels(infer)[j], labels[j]);
  }
  assert_int_equal(tacit_infer_write(infer, NULL, &err), TACIT_ERR_ARGUMENT);
  assert_ok(tacit_infer_write(infer, out, &err), err);
  assert_int_equal(tacit_infer_write(infer, out, &err), TACIT_ERR_EXISTS);
  assert_ok(tacit_infer_privacy_json(infer, &text, &err), err);
  assert_non_null(strstr(text, "\"post_processing\": true"));
  tacit_free(text);
  static const char *const files[] = {"draws-1.csv", "draws-2.csv",  "draws-3.csv", "summary.csv",
                                      "privacy.txt", "privacy.json", "run.yaml",    "report.html"};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", out, files[i]);
    assert_true(stat(path, &info) == 0 && info.st_size > 0);
    remove(path);
  }
  assert_int_equal(remove(out), 0);
  tacit_infer_free(infer);
}

typedef struct watch {
  pthread_t caller;
  size_t n_calls, furthest, stop_after;
} watch_t;

static bool count(const tacit_progress_t *progress, void *user) {
  watch_t *w = user;
  assert_true(pthread_equal(pthread_self(), w->caller) && progress->n_iterations == 200);
  assert_true(progress->iteration >= w->furthest && progress->iteration <= 200);
  w->furthest = progress->iteration;
  return ++w->n_calls < w->stop_after;
}

static void test_draws_do_not_depend_on_threads_and_progress_stays_on_the_caller(void **state) {
  (void)state;
  tacit_infer_t *infer[2];
  tacit_error_t err;
  for (size_t i = 0; i < 2; i++) {
    watch_t w = {.caller = pthread_self(), .stop_after = SIZE_MAX};
    assert_ok(begin(&infer[i], gaussian, mean, few, &err), err);
    assert_ok(tacit_infer_set(infer[i], "method", "gibbs", &err), err);
    assert_ok(tacit_infer_set(infer[i], "threads", i == 0 ? "1" : "3", &err), err);
    assert_ok(tacit_infer_read(infer[i], &err), err);
    assert_ok(tacit_infer_run(infer[i], count, &w, &err), err);
    assert_true(w.n_calls > 0 && (i > 0 || w.furthest == 200));
  }
  const tacit_draws_t *one = tacit_infer_draws(infer[0]), *other = tacit_infer_draws(infer[1]);
  assert_memory_equal(one->values, other->values, 3 * 200 * one->n_reported * sizeof *one->values);
  tacit_infer_free(infer[0]);
  tacit_infer_free(infer[1]);
}

static void test_a_stopped_run_keeps_the_draws_that_all_chains_have(void **state) {
  (void)state;
  static const struct {
    size_t after;
    tacit_status_t status;
  } cases[] = {{3, TACIT_ERR_INTERRUPTED}, {480, TACIT_OK}};
  for (size_t i = 0; i < 2; i++) {
    tacit_infer_t *infer;
    tacit_error_t err;
    watch_t w = {.caller = pthread_self(), .stop_after = cases[i].after};
    assert_ok(begin(&infer, gaussian, mean, few, &err), err);
    assert_ok(tacit_infer_read(infer, &err), err);
    assert_int_equal(tacit_infer_run(infer, count, &w, &err), cases[i].status);
    assert_string_equal(tacit_infer_end(infer), cases[i].status == TACIT_OK ? "interrupted" : "");
    if (cases[i].status == TACIT_OK) {
      size_t n = tacit_draws_n_kept(tacit_infer_draws(infer));
      assert_true(n > 0 && n < 120);
    }
    tacit_infer_free(infer);
  }
}

static void test_what_does_not_go_together_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *model, *statistic, *settings[6], *field, *message;
    tacit_status_t status;
  } wrong[] = {
      {gaussian, mean, {"leapfrog", "9", NULL}, "leapfrog", "only go with --method hmc", TACIT_ERR_ARGUMENT},
      {gaussian, mean, {"out", "/", NULL}, "out", "/ exists", TACIT_ERR_EXISTS},
      {gaussian, mean, {"n", "300", NULL}, "statistic", "statistic:5:4: n is 200 here", TACIT_ERR_SYNTAX},
      {gaussian, products, {NULL}, "statistic", "regression-moments go with a model", TACIT_ERR_SYNTAX},
      {"records: gaussian\nmean: normal(0, 1)\nrate: 2\nsd: 1\n",
       mean,
       {NULL},
       "model",
       "model:3:7: 'rate' does not go",
       TACIT_ERR_SYNTAX},
      {"records: [", mean, {NULL}, "model", "not valid YAML", TACIT_ERR_SYNTAX},
      {"records: gauss\n", mean, {NULL}, "model", "expected gaussian, poisson", TACIT_ERR_SYNTAX},
      {gaussian,
       "statistic: mean\nlower: 0\nupper: 1\nmechanism: laplase\n",
       {"n", "5", NULL},
       "statistic",
       "did you mean 'laplace'",
       TACIT_ERR_SYNTAX},
      {gaussian, counted, {"method", "hmc", NULL}, NULL, "hmc needs", TACIT_ERR_ARGUMENT},
      {"records: poisson\nrate: gamma(1, 1)\n",
       mean,
       {NULL},
       NULL,
       "must be whole numbers from 0",
       TACIT_ERR_ARGUMENT}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    tacit_infer_t *infer;
    tacit_error_t err = {0};
    assert_ok(begin(&infer, wrong[i].model, wrong[i].statistic, wrong[i].settings, &err), err);
    tacit_status_t status = tacit_infer_read(infer, &err);
    status = status == TACIT_OK ? tacit_infer_run(infer, NULL, NULL, &err) : status;
    assert_int_equal(status, wrong[i].status);
    if (wrong[i].field != NULL) {
      assert_string_equal(err.field, wrong[i].field);
    }
    if (strstr(err.message, wrong[i].message) == NULL) {
      fail_msg("%zu: %s", i, err.message);
    }
    tacit_infer_free(infer);
  }
  tacit_infer_t *infer;
  tacit_error_t err;
  assert_ok(tacit_infer_new(&infer, "/nowhere.yaml", &err), err);
  assert_int_equal(tacit_infer_read(infer, &err), TACIT_ERR_MISSING);
  tacit_infer_free(infer);
  assert_ok(tacit_infer_new(&infer, NULL, &err), err);
  assert_int_equal(tacit_infer_read(infer, &err), TACIT_ERR_ARGUMENT);
  assert_string_equal(err.field, "model");
  tacit_infer_free(infer);
  tacit_infer_free(NULL);
}

static void test_every_failed_allocation_is_an_error_return(void **state) {
  (void)state;
  static const char *const settings[] = {"draws", "4", "warmup", "2", "chains", "1", "seed", "1", NULL};
  tacit_status_t status = TACIT_ERR_MEMORY;
  size_t k = 1;
  for (; status != TACIT_OK; k++) {
    tacit_infer_t *infer;
    tacit_error_t err = {0};
    char *text = NULL;
    tacit_alloc_fail_at(k);
    status = begin(&infer, regression, products, settings, &err);
    status = status == TACIT_OK ? tacit_infer_read(infer, &err) : status;
    status = status == TACIT_OK ? tacit_infer_run(infer, NULL, NULL, &err) : status;
    status = status == TACIT_OK ? tacit_infer_privacy_json(infer, &text, &err) : status;
    tacit_alloc_fail_at(0);
    assert_true(status == TACIT_OK || (status == TACIT_ERR_MEMORY && err.status == status));
    tacit_free(text);
    tacit_infer_free(infer);
    assert_true(k < 2000);
  }
  assert_true(k > 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_table_is_whole),
      cmocka_unit_test(test_draws_are_those_of_the_posterior),
      cmocka_unit_test(test_a_scale_is_that_of_the_sensitivity),
      cmocka_unit_test(test_steps_come_in_their_order_and_results_after_them),
      cmocka_unit_test(test_draws_do_not_depend_on_threads_and_progress_stays_on_the_caller),
      cmocka_unit_test(test_a_stopped_run_keeps_the_draws_that_all_chains_have),
      cmocka_unit_test(test_what_does_not_go_together_is_refused),
      cmocka_unit_test(test_every_failed_allocation_is_an_error_return)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
