/* A fit from settings to report: plans, the ledger, interruption, failed allocations. */
#include <sys/stat.h>

#include "base/directory.h"
#include "base/file.h"
#include "base/memory.h"
#include "fit/fixture.h"

static const char *const aware[] = {"family", "bernoulli", "epsilon", "2",      "delta", "1e-5", "chains",
                                    "2",      "draws",     "30",      "warmup", "20",    NULL};
static const char *const walk[] = {"family", "bernoulli", "epsilon", "20",         "delta",
                                   "1e-5",   "chains",    "2",       "draws",      "30",
                                   "warmup", "10",        "method",  "dp-penalty", NULL};

static const char *const minibatches[] = {"family", "bernoulli", "epsilon", "20",         "delta",
                                          "1e-5",   "chains",    "1",       "draws",      "30",
                                          "warmup", "10",        "method",  "dp-fast-mh", NULL};

static void test_a_plan_needs_no_records_and_is_that_of_the_records(void **state) {
  const fixture_t *f = *state;
  static const char *const *const settings[] = {aware, walk};
  for (size_t i = 0; i < 2; i++) {
    tacit_fit_plan_t before, after;
    tacit_error_t err;
    tacit_fit_t *fit = fixture_new("y ~ x + z", fixture_columns, settings[i]);
    assert_int_equal(tacit_fit_plan(fit, 0, &before, &err), TACIT_ERR_ARGUMENT);
    assert_ok(tacit_fit_plan(fit, FIXTURE_ROWS, &before, &err), err);
    char *text = tacit_strdup(tacit_fit_text(fit, TACIT_FIT_TEXT_PLAN));
    assert_ok(tacit_fit_set(fit, "purpose", "settings may still change", &err), err);
    assert_ok(tacit_fit_set(fit, "ledger", f->ledger, &err), err);
    assert_int_equal(tacit_fit_read(fit, f->data, &err), TACIT_ERR_MISSING); /* there is no such ledger */
    tacit_fit_free(fit);
    fit = fixture_new("y ~ x + z", fixture_columns, settings[i]);
    assert_ok(tacit_fit_read(fit, f->data, &err), err);
    assert_ok(tacit_fit_plan(fit, 0, &after, &err), err);
    assert_string_equal(text, tacit_fit_text(fit, TACIT_FIT_TEXT_PLAN));
    assert_string_equal(before.method, i == 0 ? "noise-aware" : "dp-penalty");
    assert_int_equal(before.n_releases > 0, i == 0);
    assert_int_equal(before.n_draws, after.n_draws);
    assert_close(before.width, after.width, 0);
    assert_close(tacit_fit_spent(fit).epsilon, 0, 0);
    tacit_free(text);
    tacit_fit_free(fit);
  }
}

static void test_methods_are_compared_without_records(void **state) {
  tacit_fit_choice_t choices[TACIT_FIT_N_CHOICES];
  tacit_fit_plan_t plan;
  tacit_error_t err;
  static const char *const small[] = {"family", "bernoulli", "epsilon", "0.3",
                                      "delta",  "1e-5",      NULL}; /* decisions are soon accounted */
  tacit_fit_t *fit = fixture_new("y ~ x + z", fixture_columns, small);
  assert_ok(tacit_fit_compare(fit, 4000, choices, &err), err);
  assert_ok(tacit_fit_plan(fit, 4000, &plan, &err), err);
  assert_string_equal(choices[0].method, plan.method);
  assert_close(choices[0].width, plan.width, 0);
  assert_int_equal(choices[0].n_iterations, plan.n_releases);
  assert_non_null(strstr(tacit_fit_text(fit, TACIT_FIT_TEXT_ADVICE), "Recommended: --method "));
  assert_int_equal(tacit_fit_compare(fit, 0.5, choices, &err), TACIT_ERR_ARGUMENT);
  tacit_fit_free(fit);
}

/* The plan with the epsilon that a width needs forecasts that width, under both relations. */
static void test_a_wanted_width_is_what_its_epsilon_is_planned_to_give(void **state) {
  static const char *const no_epsilon[] = {"family", "bernoulli", "delta", "1e-5", NULL};
  static const double widths[] = {1.01, 1.3, 4, 50};
  for (size_t i = 0; i < 2 * sizeof widths / sizeof widths[0]; i++) {
    double width = widths[i / 2];
    const char *schema = i % 2 == 0 ? fixture_columns : fixture_private_number;
    tacit_fit_want_t wants[2];
    tacit_fit_plan_t plan;
    tacit_error_t err;
    tacit_fit_t *fit = fixture_new("y ~ x", schema, no_epsilon);
    assert_ok(tacit_fit_want_width(fit, 4000, width, wants, &err), err);
    assert_int_equal(wants[i % 2].relation,
                     i % 2 == 0 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE);
    assert_true(wants[1].epsilon < wants[0].epsilon && wants[0].epsilon <= wants[0].epsilon_poor);
    char epsilon[32];
    snprintf(epsilon, sizeof epsilon, "%.15g", wants[i % 2].epsilon);
    assert_ok(tacit_fit_set(fit, "epsilon", epsilon, &err), err);
    assert_ok(tacit_fit_plan(fit, 4000, &plan, &err), err);
    assert_close(plan.width, width, 1e-6 * width);
    assert_int_equal(tacit_fit_want_width(fit, 4000, width, wants, &err),
                     TACIT_ERR_ARGUMENT); /* epsilon is given */
    tacit_fit_free(fit);
  }
}

/* Too small a budget is told beforehand, with one that would do; what is publicly typical, or has two values,
 * needs no budget. */
static void test_a_scale_that_no_release_will_tell_is_told_beforehand(void **state) {
  static const char *const small[] = {"family", "bernoulli", "epsilon", "0.5", "delta", "1e-6", NULL};
  static const char typical[] =
      "columns:\n  y: {type: binary}\n  x: {type: numeric, lower: -1, upper: 1, typical: [-0.3, 0.3]}\n";
  static const char two_valued[] = "columns:\n  y: {type: binary}\n  x: {type: binary}\n";
  const char *const schemas[] = {fixture_columns, typical, two_valued, fixture_columns};
  char epsilon[32] = "";
  for (size_t i = 0; i < 4; i++) {
    tacit_error_t err;
    tacit_fit_plan_t plan;
    tacit_fit_choice_t choices[TACIT_FIT_N_CHOICES];
    tacit_fit_t *fit = fixture_new("y ~ x", schemas[i], small);
    if (i == 3) { /* rounded up, and then the intervals are no wider than the plan allows */
      assert_ok(tacit_fit_set(fit, "epsilon", epsilon, &err), err);
    }
    assert_ok(tacit_fit_plan(fit, 600, &plan, &err), err);
    const char *text = tacit_fit_text(fit, TACIT_FIT_TEXT_WARNING),
               *untold = strstr(text, "not at this budget: ");
    assert_int_equal(untold != NULL, i == 0);
    if (i == 0) {
      assert_true(plan.verdict == TACIT_FIT_HOPELESS &&
                  sscanf(strstr(untold, "; epsilon "), "; epsilon %31s", epsilon) == 1);
      assert_ok(tacit_fit_compare(fit, 600, choices, &err), err);
      assert_true(choices[0].status == TACIT_ERR_BUDGET &&
                  strstr(choices[0].reason, "refused: not at this budget: ") == choices[0].reason);
    }
    tacit_fit_free(fit);
  }
}

static void test_a_seeded_run_says_that_it_protects_nobody(void **state) {
  const fixture_t *f = *state;
  tacit_error_t err;
  char *text;
  tacit_fit_t *fit = fixture_new("y ~ x", fixture_columns, walk);
  assert_ok(tacit_fit_set(fit, "seed", "1", &err), err);
  assert_ok(tacit_fit_read(fit, f->data, &err), err);
  assert_ok(tacit_fit_run(fit, NULL, NULL, &err), err);
  assert_false(tacit_fit_is_private(fit));
  assert_ok(tacit_fit_privacy_json(fit, &text, &err), err);
  assert_non_null(strstr(text, "\"private\": false"));
  assert_non_null(strstr(text, "NOT PRIVATE: seeded"));
  tacit_free(text);
  tacit_fit_free(fit);
}

static void make_ledger(const fixture_t *f, tacit_relation_t relation) {
  tacit_ledger_terms_t terms = {.data_id = "people", .epsilon = 100, .delta = 1e-5, .relation = relation};
  tacit_error_t err;
  assert_ok(tacit_ledger_create(f->ledger, &terms, &err), err);
}

static void test_a_run_reserves_settles_and_writes(void **state) {
  const fixture_t *f = *state;
  tacit_ledger_t *ledger;
  tacit_ledger_state_t entries;
  tacit_error_t err;
  char *statement, path[160];
  make_ledger(f, TACIT_RELATION_SUBSTITUTE);
  tacit_fit_t *fit = fixture_new("y ~ x + z", fixture_columns, walk);
  assert_ok(tacit_fit_set(fit, "ledger", f->ledger, &err), err);
  assert_int_equal(tacit_fit_reserve(fit, false, &err), TACIT_ERR_STATE);
  assert_ok(tacit_fit_read(fit, f->data, &err), err);
  assert_int_equal(tacit_fit_write(fit, f->out, &err), TACIT_ERR_STATE);
  assert_ok(tacit_fit_reserve(fit, true, &err), err);
  assert_ok(tacit_fit_run(fit, NULL, NULL, &err), err);
  assert_int_equal(tacit_fit_run(fit, NULL, NULL, &err), TACIT_ERR_STATE);
  const tacit_draws_t *draws = tacit_fit_draws(fit);
  assert_int_equal(tacit_draws_n_kept(draws), 30);
  assert_string_equal(tacit_fit_end(fit), "complete");
  assert_string_equal(tacit_fit_labels(fit)[1], "x");
  assert_string_equal(tacit_fit_names(fit)[1], "b_x");
  tacit_guarantee_t spent = tacit_fit_spent(fit);
  assert_true(tacit_fit_is_private(fit) && spent.epsilon > 0 && spent.epsilon <= 20);
  assert_non_null(strstr(tacit_fit_text(fit, TACIT_FIT_TEXT_SPENT), "spend 1 in the ledger "));
  assert_ok(tacit_fit_statement(fit, &statement, &err), err);
  assert_non_null(strstr(statement, "people"));
  tacit_free(statement);
  assert_int_equal(tacit_fit_write(fit, NULL, &err), TACIT_ERR_ARGUMENT);
  assert_ok(tacit_fit_write(fit, f->out, &err), err);
  assert_int_equal(tacit_fit_write(fit, f->out, &err), TACIT_ERR_EXISTS);
  snprintf(path, sizeof path, "%s/privacy.json", f->out);
  assert_int_equal(access(path, R_OK), 0);
  tacit_fit_free(fit);
  assert_ok(tacit_ledger_open(&ledger, f->ledger, &err), err);
  assert_ok(tacit_ledger_read(ledger, &entries, &err), err);
  assert_true(entries.n_spends == 1 && entries.spends[0].is_settled);
  assert_string_equal(entries.spends[0].purpose, "dp-penalty: y ~ x + z");
  tacit_ledger_state_clear(&entries);
  tacit_ledger_close(ledger);
}

/* Stops at call `stop`, 1-based. */
typedef struct patience {
  size_t stop, n_calls;
} patience_t;

static bool is_patient(const tacit_progress_t *progress, void *user) {
  patience_t *patience = user;
  assert_true(progress->iteration <= progress->n_iterations);
  return ++patience->n_calls < patience->stop;
}

/* What the ledger says of a run that was stopped: nothing charged, part of it, or all that was reserved. */
static void check_stopped(const fixture_t *f, const char *schema, const char *const *settings, size_t stop,
                          tacit_status_t expected, bool is_settled, bool is_charged) {
  patience_t patience = {.stop = stop};
  tacit_ledger_t *ledger;
  tacit_ledger_state_t entries;
  tacit_error_t err;
  size_t n;
  bool is_open = strstr(schema, "add-remove") == NULL;
  remove(f->ledger);
  make_ledger(f, is_open ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE);
  tacit_fit_t *fit = fixture_new("y ~ x", schema, settings);
  assert_ok(tacit_fit_set(fit, "ledger", f->ledger, &err), err);
  if (!is_open) {
    assert_ok(tacit_fit_set(fit, "n-public", "400", &err), err);
  }
  assert_ok(tacit_fit_read(fit, f->data, &err), err);
  assert_int_equal(tacit_fit_run(fit, is_patient, &patience, &err), expected);
  assert_int_equal(patience.n_calls, stop);
  if (expected == TACIT_OK) {
    assert_string_equal(tacit_fit_end(fit), "interrupted");
    assert_true(tacit_draws_n_kept(tacit_fit_draws(fit)) > 0);
  } else {
    assert_null(tacit_fit_draws(fit));
    assert_int_equal(tacit_fit_write(fit, f->out, &err), TACIT_ERR_STATE);
  }
  assert_int_equal(tacit_fit_spent(fit).epsilon > 0, is_charged);
  tacit_fit_free(fit);
  assert_ok(tacit_ledger_open(&ledger, f->ledger, &err), err);
  assert_ok(tacit_ledger_read(ledger, &entries, &err), err);
  assert_true(entries.n_spends == 1 && entries.spends[0].is_settled == is_settled);
  tacit_spend_events(&entries.spends[0], &n);
  assert_int_equal(n > 0, is_charged);
  tacit_ledger_state_clear(&entries);
  tacit_ledger_close(ledger);
}

static void test_who_stops_a_run_gets_what_the_relation_allows(void **state) {
  const fixture_t *f = *state;
  check_stopped(f, fixture_columns, aware, 1, TACIT_ERR_INTERRUPTED, true, false);
  check_stopped(f, fixture_columns, aware, 3, TACIT_ERR_INTERRUPTED, true, true);
  check_stopped(f, fixture_columns, walk, 5, TACIT_ERR_INTERRUPTED, true, true);
  check_stopped(f, fixture_columns, walk, 25, TACIT_OK, true, true);
  /* draws so far, and the number of charges, would tell when somebody lost patience, which depends on the
   * number of records, of their rows, ... */
  static const char persons[] = "unit: z\nmax_rows: 40\ncolumns:\n  y: {type: binary}\n  x: {type: numeric, "
                                "lower: -1, upper: 1}\n  z: {type: id}\n";
  static const char with_gaps[] =
      "columns:\n  y: {type: binary}\n  x: {type: numeric, lower: -1, upper: 1, missing: drop}\n";
  const char *const private[] = {fixture_private_number, persons, with_gaps};
  for (size_t i = 0; i < 3; i++) {
    check_stopped(f, private[i], walk, 5, TACIT_ERR_INTERRUPTED, false, true);
    check_stopped(f, private[i], walk, 25, TACIT_ERR_INTERRUPTED, false, true);
  }
  check_stopped(f, persons, walk, 1, TACIT_ERR_INTERRUPTED, false, true);
  check_stopped(f, fixture_columns, minibatches, 25, TACIT_ERR_INTERRUPTED, false, true);
}

/* From its first charge on a run by noise-aware makes all its releases, whoever stops it, and they are to be
 * had: in `out`, or from the fit. */
static void test_what_noise_aware_was_paid_for_is_kept(void **state) {
  const fixture_t *f = *state;
  const char *const schemas[] = {fixture_columns, fixture_private_number};
  for (size_t i = 0; i < 8; i++) {
    bool has_out = i % 4 < 2, is_private = i % 2 == 1;
    patience_t patience = {.stop = i < 4 ? 2 : 3};
    tacit_error_t err;
    char *text, out[128], command[160];
    snprintf(out, sizeof out, "%s/stopped-%zu", f->folder, i);
    tacit_fit_t *again, *fit = fixture_new("y ~ x", schemas[is_private], aware);
    if (has_out) {
      assert_ok(tacit_fit_set(fit, "out", out, &err), err);
    }
    if (is_private) {
      assert_ok(tacit_fit_set(fit, "n-public", "400", &err), err);
    }
    assert_ok(tacit_fit_read(fit, f->data, &err), err);
    assert_int_equal(tacit_fit_run(fit, is_patient, &patience, &err), TACIT_ERR_INTERRUPTED);
    assert_true(strstr(err.message, "after all releases were made: epsilon 2 is charged") != NULL);
    assert_null(tacit_fit_draws(fit));
    assert_ok(tacit_fit_releases_json(fit, &text, &err), err);
    if (!has_out) {
      assert_int_equal(access(out, F_OK), -1);
      assert_int_equal(mkdir(out, 0777), 0);
      snprintf(command, sizeof command, "%s/releases.json", out);
      assert_ok(tacit_file_write(command, text, strlen(text), &err), err);
    }
    tacit_free(text);
    tacit_fit_free(fit);
    assert_int_equal(tacit_directory_is_unfinished(out), has_out);
    assert_ok(tacit_fit_reopen(&again, out, &err), err);
    assert_ok(tacit_fit_redraw(again, NULL, NULL, &err), err);
    assert_int_equal(tacit_draws_n_kept(tacit_fit_draws(again)), 30);
    if (has_out) {
      assert_ok(tacit_fit_write(again, NULL, &err), err);
      assert_false(tacit_directory_is_unfinished(out));
      assert_int_equal(tacit_fit_write(again, out, &err), TACIT_ERR_EXISTS);
    }
    tacit_fit_free(again);
  }
}

/* The whole way, seeded, with one allocation failing; the last status. */
static tacit_status_t go(const fixture_t *f, const char *const *settings, size_t k, tacit_draws_t *copy) {
  tacit_fit_t *fit;
  tacit_fit_plan_t plan;
  tacit_error_t err = {0};
  char *text = NULL;
  tacit_alloc_fail_at(k);
  tacit_status_t status = tacit_fit_new(&fit, "y ~ x", &err);
  status = status != TACIT_OK
               ? status
               : tacit_fit_set_schema(fit, fixture_columns, strlen(fixture_columns), "schema", &err);
  status = status != TACIT_OK ? status : fixture_set(fit, settings, &err);
  status = status != TACIT_OK ? status : tacit_fit_set(fit, "seed", "1", &err);
  status = status != TACIT_OK ? status : tacit_fit_plan(fit, FIXTURE_ROWS, &plan, &err);
  status = status != TACIT_OK ? status : tacit_fit_read(fit, f->data, &err);
  status = status != TACIT_OK ? status : tacit_fit_run(fit, NULL, NULL, &err);
  status = status != TACIT_OK ? status : tacit_fit_statement(fit, &text, &err);
  tacit_alloc_fail_at(0);
  tacit_free(text);
  assert_true(status == TACIT_OK || (status == TACIT_ERR_MEMORY && err.status == status));
  if (status == TACIT_OK) {
    const tacit_draws_t *draws = tacit_fit_draws(fit);
    size_t n = draws->n_chains * draws->n_saved * draws->n_reported;
    if (copy->values != NULL) { /* nothing was left out for want of memory */
      assert_memory_equal(draws->values, copy->values, n * sizeof *draws->values);
    } else {
      assert_ok(
          tacit_draws_init(copy, draws->n_chains, draws->n_warmup, draws->n_draws, draws->n_reported, &err),
          err);
      memcpy(copy->values, draws->values, n * sizeof *draws->values);
    }
  }
  tacit_fit_free(fit);
  return status;
}

static void test_every_failed_allocation_is_an_error_return(void **state) {
  static const char *const few_aware[] = {
      "family", "bernoulli", "epsilon", "9", "delta", "1e-5",         "chains", "1",
      "draws",  "2",         "warmup",  "2", "prior", "normal(0, 2)", NULL};
  static const char *const few_walk[] = {"family", "bernoulli", "epsilon",   "20",      "delta",  "1e-5",
                                         "chains", "1",         "draws",     "2",       "warmup", "2",
                                         "method", "dp-hmc",    "clip-grad", "private", NULL};
  const char *const *const settings[] = {few_aware, few_walk};
  for (size_t i = 0; i < 2; i++) {
    tacit_draws_t draws = {0};
    assert_int_equal(go(*state, settings[i], 0, &draws), TACIT_OK);
    tacit_status_t status = TACIT_ERR_MEMORY;
    size_t k = 1;
    for (; status != TACIT_OK; k++) {
      status = go(*state, settings[i], k, &draws);
      assert_true(k < 5000);
    }
    assert_true(k > 100);
    tacit_draws_clear(&draws);
  }
}

/* Draws, and releases, of a seeded fit on any number of threads: records and chains are handed out, and
 * neither sees another's. */
static void test_draws_do_not_depend_on_threads(void **state) {
  const fixture_t *f = *state;
  static const char *const threads[] = {"1", "2", "7"}, *const families[] = {"bernoulli", "gaussian"};
  for (size_t k = 0; k < 2; k++) {
    tacit_fit_t *fits[3];
    tacit_error_t err;
    for (size_t i = 0; i < 3; i++) {
      const char *const settings[] = {"family",  families[k], "epsilon", "20", "delta", "1e-5",
                                      "chains",  "3",         "warmup",  "40", "draws", "30",
                                      "threads", threads[i],  "seed",    "9",  NULL};
      fits[i] = fixture_new(k == 0 ? "y ~ x + z" : "x ~ y + z", fixture_columns, settings);
      assert_ok(tacit_fit_read(fits[i], f->data, &err), err);
      assert_ok(tacit_fit_run(fits[i], NULL, NULL, &err), err);
      const tacit_draws_t *one = tacit_fit_draws(fits[0]), *other = tacit_fit_draws(fits[i]);
      assert_memory_equal(one->values, other->values,
                          one->n_chains * (one->n_warmup + one->n_draws) * one->n_reported *
                              sizeof *one->values);
    }
    for (size_t i = 0; i < 3; i++) {
      tacit_fit_free(fits[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_plan_needs_no_records_and_is_that_of_the_records, fixture_open,
                                      fixture_close),
      cmocka_unit_test(test_methods_are_compared_without_records),
      cmocka_unit_test(test_a_scale_that_no_release_will_tell_is_told_beforehand),
      cmocka_unit_test(test_a_wanted_width_is_what_its_epsilon_is_planned_to_give),
      cmocka_unit_test_setup_teardown(test_a_seeded_run_says_that_it_protects_nobody, fixture_open,
                                      fixture_close),
      cmocka_unit_test_setup_teardown(test_a_run_reserves_settles_and_writes, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_who_stops_a_run_gets_what_the_relation_allows, fixture_open,
                                      fixture_close),
      cmocka_unit_test_setup_teardown(test_what_noise_aware_was_paid_for_is_kept, fixture_open,
                                      fixture_close),
      cmocka_unit_test_setup_teardown(test_every_failed_allocation_is_an_error_return, fixture_open,
                                      fixture_close),
      cmocka_unit_test_setup_teardown(test_draws_do_not_depend_on_threads, fixture_open, fixture_close)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
