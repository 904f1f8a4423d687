/* Reading a report back, sound and edited, and the table and JSON of its summaries. */
#include "base/text.h"
#include "report/folder.h"

#include <jansson.h>
#include "diagnose/diagnose.h"
#include "report/report.h"

static char folder[64], path[96];
static sample_run_t *run;

static int setup(void **state) {
  tacit_error_t err;
  folder_new(folder);
  snprintf(path, sizeof path, "%s/fit", folder);
  run = sample_run_new(3, 5, 20, 3, false);
  return tacit_report_write(&run->report, path, &err) == TACIT_OK ? 0 : -1;
}

static int teardown(void **state) {
  sample_run_clear(run);
  folder_remove(folder);
  return 0;
}

static void test_read_returns_the_draws_bit_for_bit(void **state) {
  tacit_report_read_t read;
  tacit_error_t err;
  assert_ok(tacit_report_read(&read, path, &err), err);
  assert_true(read.is_private && read.delta == 1e-6);
  assert_true(read.epsilon == tacit_budget_promised(run->budget).epsilon);
  assert_int_equal(read.draws.n_chains, 3);
  assert_int_equal(read.draws.n_warmup, 0);
  assert_int_equal(tacit_draws_n_kept(&read.draws), 20);
  assert_int_equal(read.draws.n_reported, 3);
  for (size_t j = 0; j < 3; j++) {
    assert_string_equal(read.labels[j], run->labels[j]);
    assert_string_equal(read.names[j], run->names[j]);
  }
  for (size_t c = 0; c < 3; c++) {
    for (size_t i = 0; i < 20; i++) {
      assert_memory_equal(tacit_draws_row(&read.draws, c, i), tacit_draws_row(&run->draws, c, 5 + i),
                          3 * sizeof(double));
      const tacit_draw_stats_t *a = &read.draws.stats[c * 20 + i], *b = &run->draws.stats[c * 25 + 5 + i];
      assert_true(a->accept_stat == b->accept_stat && a->step_size == b->step_size &&
                  a->n_leapfrog == b->n_leapfrog && a->log_prior == 0);
    }
  }
  tacit_report_read_clear(&read);
}

static void test_read_skips_saved_warmup(void **state) {
  static const tacit_report_setting_t settings[] = {{"save-warmup", "true", false}};
  tacit_report_read_t read;
  tacit_error_t err;
  folder_remove(path);
  run->report.settings = settings;
  run->report.n_settings = 1;
  run->report.thin = 2;
  assert_ok(tacit_report_write(&run->report, path, &err), err);
  assert_ok(tacit_report_read(&read, path, &err), err);
  assert_int_equal(tacit_draws_n_kept(&read.draws), 20);
  assert_memory_equal(tacit_draws_row(&read.draws, 1, 0), tacit_draws_row(&run->draws, 1, 5),
                      3 * sizeof(double));
  tacit_report_read_clear(&read);
}

/* A statistic beyond all numbers is no number in JSON: the check is there all the same, and still forbids
 * intervals. */
static void test_read_keeps_checks_beyond_all_numbers(void **state) {
  tacit_report_read_t read;
  tacit_error_t err;
  tacit_evidence_t evidence = {0};
  tacit_checks_add(&evidence.checks, TACIT_CHECK_FAR, SIZE_MAX, INFINITY);
  tacit_checks_add(&evidence.checks, TACIT_CHECK_STATISTIC_CONTRADICTS, SIZE_MAX,
                   -INFINITY);                                               /* flagged below its threshold */
  tacit_checks_add(&evidence.checks, TACIT_CHECK_BENT, SIZE_MAX, -INFINITY); /* fine */
  folder_remove(path);
  run->report.evidence = &evidence;
  assert_ok(tacit_report_write(&run->report, path, &err), err);
  assert_ok(tacit_report_read(&read, path, &err), err);
  assert_int_equal(read.evidence.checks.n, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(tacit_check_is_flagged(&read.evidence.checks.items[i]), i < 2);
  }
  tacit_report_read_clear(&read);
  run->report.evidence = NULL;
}

/* Replace the first `from` in folder/name by `to`. */
static void edit(const char *name, const char *from, const char *to) {
  char *text = file_text(path, name), file[160];
  assert_contains(text, from);
  size_t before = (size_t)(strstr(text, from) - text), after = before + strlen(from);
  tacit_text_t edited = {0};
  tacit_text_append(&edited, text, before);
  tacit_text_append(&edited, to, strlen(to));
  tacit_text_append(&edited, text + after, strlen(text + after));
  snprintf(file, sizeof file, "%s/%s", path, name);
  tacit_error_t err;
  assert_ok(tacit_file_write(file, edited.data, edited.length, &err), err);
  tacit_text_clear(&edited);
  tacit_free(text);
}

static void assert_read_fails(tacit_status_t expected, const char *message) {
  tacit_report_read_t read;
  tacit_error_t err = {0};
  tacit_status_t status = tacit_report_read(&read, path, &err);
  if (status != expected) {
    fail_msg("status %d (%s), expected %d", status, status == TACIT_OK ? "" : err.message, expected);
  }
  assert_contains(err.message, message);
  assert_null(read.names);
}

static void test_read_edited_draws_are_refused_with_file_and_line(void **state) {
  static const struct {
    const char *from, *to, *message;
  } edits[] = {
      {"num_samples = 20", "num_samples = 21", "was edited"},
      {"num_samples = 20", "num_samples = 2x", "draws-2.csv:7: num_samples must be a whole number"},
      {"num_samples = 20", "num_samples = 99999999999999999999999", "must be a whole number"},
      {"thin = 1", "thin = 0", "thin must be at least 1"},
      {"b_age", "b_bmi", "column 9 is named \"b_bmi\", but \"b_age\" in draws-1.csv"},
      {",b_age", "", "quantities, but draws-1.csv has"},
      {"b_Intercept", "", "must have a name"},
      {"b_sexM", "b_sexM,late__", "column 11 must have a name, and columns whose name ends in __ come first"},
      {"\n0,", "\n0,0,", "the row has more or fewer columns"},
      {"\n0,", "\n\n0,", "blank line"},
      {"\n0,", "\nzero,", "column 1 of 10 is not a number"},
      {"\n0,", "\n0x0,", "column 1 of 10 is not a number"},
      {"\n0,", "\n,", "column 1 of 10 is not a number"},
      {"\n# \n", "x\n# \n", "column 10 of 10 is not a number"},
      {"lp__,", "#lp__,", "draws-2.csv"}};
  char *sound = file_text(path, "draws-2.csv"), file[160];
  snprintf(file, sizeof file, "%s/draws-2.csv", path);
  tacit_error_t err;
  for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
    edit("draws-2.csv", edits[i].from, edits[i].to);
    assert_read_fails(TACIT_ERR_SYNTAX, edits[i].message);
    assert_ok(tacit_file_write(file, sound, strlen(sound), &err), err);
  }
  for (size_t n = 0; n + 4 < strlen(sound); n += 97) { /* cut short anywhere */
    tacit_report_read_t read;
    assert_ok(tacit_file_write(file, sound, n, &err), err);
    assert_int_equal(tacit_report_read(&read, path, &err), TACIT_ERR_SYNTAX);
  }
  assert_ok(tacit_file_write(file, "a\0b", 3, &err), err);
  assert_read_fails(TACIT_ERR_SYNTAX, "NUL");
  tacit_free(sound);
}

/* Mutations tried, each of which fails here: fewer chains than announced taken as they are; flags that are
 * not there taken for none. */
static void test_read_of_a_folder_copied_in_part_is_refused(void **state) {
  char file[160];
  snprintf(file, sizeof file, "%s/draws-3.csv", path);
  assert_int_equal(remove(file), 0);
  assert_read_fails(TACIT_ERR_MISSING, "draws-1.csv is one of 3 chains, but draws-3.csv is missing");
  edit("draws-1.csv", "num_chains = 3", "num_chains = 1"); /* as of programs that run one chain each */
  tacit_report_read_t read;
  tacit_error_t err;
  assert_ok(tacit_report_read(&read, path, &err), err);
  tacit_report_read_clear(&read);
  edit("draws-1.csv", "tacit_method = dp-hmc", "tacit_method = noise-aware");
  assert_read_fails(TACIT_ERR_MISSING, "diagnostics.json is missing, which says what of the fit cannot be");
}

static void test_read_tolerates_crlf_and_missing_labels(void **state) {
  edit("draws-1.csv", "# tacit_label.2 = age\n", "");
  edit("draws-1.csv", "thin = 1\n", "thin = 1 (Default)\r\n");
  tacit_report_read_t read;
  tacit_error_t err;
  assert_ok(tacit_report_read(&read, path, &err), err);
  assert_string_equal(read.labels[1], "b_age");
  tacit_report_read_clear(&read);
}

static void test_read_edited_privacy_is_refused(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {{"{", "privacy.json:1:"},
               {"[]", "\"private\" must be there"},
               {"{\"private\": 1}", "true or false"},
               {"{\"private\": true, \"epsilon\": null, \"delta\": 1e-6}", "\"epsilon\" >= 0"},
               {"{\"private\": true, \"epsilon\": 1, \"delta\": 2}", "from 0 to 1"},
               {"{\"private\": true, \"private\": false}", "duplicate"}};
  char file[160];
  tacit_error_t err;
  snprintf(file, sizeof file, "%s/privacy.json", path);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_ok(tacit_file_write(file, cases[i].text, strlen(cases[i].text), &err), err);
    assert_read_fails(TACIT_ERR_SYNTAX, cases[i].message);
  }
  assert_ok(tacit_file_write(file, "{\"private\": false}", 18, &err), err);
  tacit_report_read_t read;
  assert_ok(tacit_report_read(&read, path, &err), err);
  assert_true(!read.is_private && isnan(read.epsilon) && isnan(read.delta));
  tacit_report_read_clear(&read);
  assert_int_equal(unlink(file), 0);
  assert_read_fails(TACIT_ERR_MISSING, "privacy.json");
}

static void test_read_what_is_no_report(void **state) {
  tacit_report_read_t read;
  tacit_error_t err;
  assert_int_equal(tacit_report_read(&read, folder, &err), TACIT_ERR_MISSING);
  assert_contains(err.message, "draws-1.csv is missing");
  assert_int_equal(tacit_report_read(&read, "/nonexistent/fit", &err), TACIT_ERR_MISSING);
  char file[160];
  snprintf(file, sizeof file, "%s/run.yaml", path);
  assert_int_equal(tacit_report_read(&read, file, &err), TACIT_ERR_IO);
}

static void test_read_failed_allocations_are_reported(void **state) {
  tacit_report_read_t read;
  tacit_error_t err;
  size_t k = 1;
  for (;; k++) {
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_report_read(&read, path, &err);
    tacit_alloc_fail_at(0);
    if (status == TACIT_OK) {
      break;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
    assert_null(read.names);
  }
  assert_true(k > 20);
  for (k = 1;; k++) {
    char *text;
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_report_summary_json(&read, &text, &err);
    tacit_alloc_fail_at(0);
    if (status == TACIT_OK) {
      tacit_report_text_free(text);
      break;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
    assert_null(text);
  }
  tacit_report_read_clear(&read);
}

static void test_summary_json_holds_the_contract(void **state) {
  tacit_report_read_t read;
  tacit_error_t err;
  char *text;
  assert_ok(tacit_report_read(&read, path, &err), err);
  for (size_t c = 0; c < 3; c++) { /* a constant: its diagnostics are undefined */
    for (size_t i = 0; i < 20; i++) {
      tacit_draws_row(&read.draws, c, i)[2] = 1;
    }
  }
  assert_ok(tacit_report_summary_json(&read, &text, &err), err);
  json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  assert_int_equal(json_object_size(root), 4);
  assert_true(json_is_true(json_object_get(root, "private")));
  assert_int_equal(json_integer_value(json_object_get(root, "n_chains")), 3);
  assert_int_equal(json_integer_value(json_object_get(root, "n_draws")), 20);
  const json_t *parameters = json_object_get(root, "parameters");
  assert_int_equal(json_array_size(parameters), 3);
  static const char *const keys[] = {"name", "mean",      "sd",       "q5",       "q50",
                                     "q95",  "mcse_mean", "ess_bulk", "ess_tail", "rhat"};
  for (size_t j = 0; j < 3; j++) {
    const json_t *parameter = json_array_get(parameters, j);
    assert_int_equal(json_object_size(parameter), 10);
    for (size_t k = 0; k < 10; k++) {
      assert_non_null(json_object_get(parameter, keys[k]));
    }
    assert_string_equal(json_string_value(json_object_get(parameter, "name")), run->labels[j]);
    assert_int_equal(json_is_null(json_object_get(parameter, "rhat")), j == 2);
  }
  tacit_summary_t summary;
  assert_ok(tacit_draws_summarise(&run->draws, 1, &summary, &err), err);
  assert_true(json_number_value(json_object_get(json_array_get(parameters, 1), "ess_bulk")) ==
              summary.ess_bulk);
  json_decref(root);
  tacit_report_text_free(text);
  tacit_report_read_clear(&read);
}

static void test_table_aligns_columns(void **state) {
  static const char *const labels[] = {"(Intercept)", "\xC3\xA9t\xC3\xA9", "\xE6\x97\xA5\xE6\x9C\xAC"};
  static const tacit_summary_t summaries[] = {
      {-4.2034, 0.11234, 0.0034, -4.4, -4.2, -4.02, 1234.4, 987.6, 1.0012, 0, 0, NAN, NAN},
      {12.5, 3.25, 0.1, 7, 12.4, 18, 512, 400, 1.0149, 0, 0, NAN, NAN},
      {1, 0, NAN, 1, 1, 1, NAN, NAN, NAN, 0, 0, NAN, NAN}};
  char *text;
  tacit_error_t err;
  assert_ok(tacit_report_table(labels, summaries, 3, &text, &err), err);
  assert_string_equal(
      text, "parameter      mean     sd      5%     50%     95%    mcse  ess_bulk  ess_tail   rhat\n"
            "(Intercept)  -4.203  0.112  -4.400  -4.200  -4.020  0.0034      1234       988  1.001\n"
            "\xC3\xA9t\xC3\xA9           12.50   3.25    7.00   12.40   18.00    0.10       512"
            "       400  1.015\n"
            "\xE6\x97\xA5\xE6\x9C\xAC          1.000  0.000   1.000   1.000   1.000      NA"
            "        NA        NA     NA\n");
  tacit_report_text_free(text);
  assert_ok(tacit_report_table(NULL, NULL, 0, &text, &err), err);
  assert_int_equal(strchr(text, '\n') - text, (long)strlen(text) - 1);
  tacit_report_text_free(text);
  for (size_t k = 1;; k++) {
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_report_table(labels, summaries, 3, &text, &err);
    tacit_alloc_fail_at(0);
    tacit_report_text_free(text);
    if (status == TACIT_OK) {
      break;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
  }
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      in_folder(test_read_returns_the_draws_bit_for_bit),
      in_folder(test_read_skips_saved_warmup),
      in_folder(test_read_keeps_checks_beyond_all_numbers),
      in_folder(test_read_edited_draws_are_refused_with_file_and_line),
      in_folder(test_read_of_a_folder_copied_in_part_is_refused),
      in_folder(test_read_tolerates_crlf_and_missing_labels),
      in_folder(test_read_edited_privacy_is_refused),
      in_folder(test_read_what_is_no_report),
      in_folder(test_read_failed_allocations_are_reported),
      in_folder(test_summary_json_holds_the_contract),
      cmocka_unit_test(test_table_aligns_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
