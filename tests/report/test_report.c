/* What a report holds. */
#include "report/fit_folder.h"

#include <dirent.h>
#include <jansson.h>
#include "diagnose/diagnose.h"
#include "report/report.h"

static void write_ok(const sample_run_t *run) {
  tacit_error_t err;
  assert_ok(tacit_report_write(&run->report, path, &err), err);
}

static void test_write_private_run_leaves_all_files(void **state) {
  sample_run_t *run = sample_run_new(3, 10, 40, 4, false);
  write_ok(run);
  assert_int_equal(folder_count(folder), 1);
  assert_int_equal(folder_count(path), 3 + 5);
  static const char *const names[] = {"draws-1.csv",  "draws-2.csv", "draws-3.csv", "summary.csv",
                                      "privacy.json", "privacy.txt", "run.yaml",    "report.html"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char *text = file_text(path, names[i]);
    assert_true(text[0] != '\0' && text[strlen(text) - 1] == '\n');
    assert_lacks(text, "NOT PRIVATE");
    tacit_free(text);
  }
  sample_run_clear(run);
}

static void test_write_stan_csv_obeys_the_readers(void **state) {
  sample_run_t *run = sample_run_new(2, 10, 6, 2, false);
  run->report.thin = 3;
  write_ok(run);
  char *text = file_text(path, "draws-2.csv");
  assert_contains(text,
                  "#     num_samples = 18\n#     num_warmup = 10\n#     save_warmup = 0\n#     thin = 3\n");
  assert_contains(text, "#         engine = static\n");
  assert_contains(text, "#             max_depth = 10\n");
  assert_contains(text, "#         metric = diag_e\n");
  assert_contains(text, "# id = 2\n# random\n#   seed = withheld\n");
  assert_contains(text, "# tacit_private = 1\n");
  assert_contains(text, "# tacit_withheld = lp__\n");
  assert_contains(text, "# tacit_label.1 = (Intercept)\n# tacit_label.2 = age\n");
  assert_contains(
      text,
      "\nlp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,int_time__,b_Intercept,b_age\n"
      "# Adaptation terminated\n# Step size = 0.125\n"
      "# Diagonal elements of inverse mass matrix:\n# 0.01, 0.02\n0,");
  assert_lacks(text, "energy__");
  assert_lacks(text, "Elapsed");
  assert_lacks(text, "\n\n");
  size_t n_rows = 0;
  for (const char *s = strstr(text, "0.02\n") + 5; *s != '\0'; s = strchr(s, '\n') + 1) {
    unsigned accept, treedepth, n_leapfrog, divergent;
    double step_size;
    if (*s == '#') {
      assert_string_equal(s, "# \n# \n");
      break;
    }
    assert_int_equal(
        sscanf(s, "0,%u,%lf,%u,%u,%u,", &accept, &step_size, &treedepth, &n_leapfrog, &divergent), 5);
    assert_true(accept <= 1 && treedepth == 0 && n_leapfrog == 12 && divergent == 0);
    n_rows++;
  }
  assert_int_equal(n_rows, 6);
  tacit_free(text);
  sample_run_clear(run);
}

static size_t rows_of(const char *text) {
  size_t n = 0;
  for (const char *s = text; *s != '\0'; s = strchr(s, '\n') + 1) {
    n += strncmp(s, "0,", 2) == 0;
  }
  return n;
}

static void test_write_saved_warmup_is_thinned_and_comes_first(void **state) {
  static const tacit_report_setting_t settings[] = {{"save_warmup", "true", false}};
  sample_run_t *run = sample_run_new(1, 10, 6, 1, false);
  run->report.thin = 4;
  run->report.settings = settings;
  run->report.n_settings = 1;
  write_ok(run);
  char *text = file_text(path, "draws-1.csv");
  assert_contains(text, "#     num_warmup = 10\n#     save_warmup = 1\n");
  assert_int_equal(rows_of(text), 3 + 6); /* ceil(10 / 4) and 6 */
  char *adaptation = strstr(text, "# Adaptation");
  assert_non_null(adaptation);
  assert_int_equal(rows_of(adaptation), 6);
  tacit_free(text);
  sample_run_clear(run);
}

static void test_write_run_that_stopped_states_what_it_did(void **state) {
  static const size_t saved[] = {10 + 3, 10, 4, 0};
  static const char *const headers[] = {
      "num_samples = 3\n#     num_warmup = 10\n", "num_samples = 0\n#     num_warmup = 10\n",
      "num_samples = 0\n#     num_warmup = 4\n", "num_samples = 0\n#     num_warmup = 0\n"};
  for (size_t i = 0; i < 4; i++) {
    sample_run_t *run = sample_run_new(2, 10, 6, 2, false);
    run->draws.n_saved = saved[i];
    run->report.end = "interrupted";
    write_ok(run);
    char *text = file_text(path, "draws-1.csv"), *statement = file_text(path, "privacy.txt");
    assert_contains(text, headers[i]);
    assert_contains(text, "# tacit_end = interrupted\n");
    assert_int_equal(rows_of(text), saved[i] > 10 ? saved[i] - 10 : 0);
    assert_contains(statement, "interrupted");
    tacit_free(text);
    tacit_free(statement);
    folder_remove(path);
    sample_run_clear(run);
  }
}

static void test_write_metrics(void **state) {
  sample_run_t *run = sample_run_new(1, 0, 4, 2, false);
  run->report.inv_metric = NULL;
  write_ok(run);
  char *text = file_text(path, "draws-1.csv");
  assert_contains(text, "metric = unit_e\n");
  assert_contains(text, "# Step size = 0.125\n# No free parameters for unit metric\n0,");
  tacit_free(text);
  folder_remove(path);
  static const double dense[4] = {1, 0.25, 0.25, 2};
  run->report.inv_metric = dense;
  run->report.inv_metric_is_dense = true;
  write_ok(run);
  text = file_text(path, "draws-1.csv");
  assert_contains(text, "metric = dense_e\n");
  assert_contains(text, "# Elements of inverse mass matrix:\n# 1, 0.25\n# 0.25, 2\n0,");
  tacit_free(text);
  sample_run_clear(run);
}

static void assert_keys(const json_t *root) {
  static const char *const keys[] = {"private",
                                     "epsilon",
                                     "delta",
                                     "relation",
                                     "unit",
                                     "accountant",
                                     "events",
                                     "version",
                                     "commit",
                                     "method",
                                     "exact",
                                     "end",
                                     "assumptions",
                                     "epsilon_budget",
                                     "delta_budget",
                                     "n_units",
                                     "max_rows",
                                     "epsilon_charged",
                                     "epsilon_charged_is_a_guarantee"};
  const json_t *meaning = json_object_get(root, "delta_meaning"); /* there if there is one */
  assert_true(meaning == NULL || json_string_length(meaning) > 0);
  assert_int_equal(json_object_size(root), sizeof keys / sizeof keys[0] + (meaning != NULL));
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    assert_non_null(json_object_get(root, keys[i]));
  }
}

static json_t *privacy_json(void) {
  char *text = file_text(path, "privacy.json");
  json_error_t problem;
  json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
  if (root == NULL) {
    fail_msg("%d:%d: %s", problem.line, problem.column, problem.text);
  }
  tacit_free(text);
  assert_keys(root);
  return root;
}

static void test_write_privacy_json_of_private_run(void **state) {
  sample_run_t *run = sample_run_new(1, 0, 4, 1, false);
  run->report.delta_meaning = "one in \"a million\"";
  write_ok(run);
  json_t *root = privacy_json();
  assert_true(json_is_true(json_object_get(root, "private")));
  tacit_guarantee_t spent = tacit_budget_spent(run->budget);
  assert_true(json_number_value(json_object_get(root, "epsilon")) == 8); /* whatever was charged */
  assert_true(json_real_value(json_object_get(root, "epsilon_charged")) == spent.epsilon);
  assert_true(json_is_false(json_object_get(root, "epsilon_charged_is_a_guarantee")));
  assert_true(spent.epsilon > 0 && spent.epsilon < 8);
  assert_true(json_real_value(json_object_get(root, "delta")) == 1e-6);
  assert_true(json_number_value(json_object_get(root, "epsilon_budget")) == 8);
  assert_string_equal(json_string_value(json_object_get(root, "relation")), "substitute");
  assert_string_equal(json_string_value(json_object_get(root, "unit")), "row");
  assert_string_equal(json_string_value(json_object_get(root, "accountant")), "filter");
  assert_string_equal(json_string_value(json_object_get(root, "delta_meaning")), "one in \"a million\"");
  const json_t *events = json_object_get(root, "events");
  assert_int_equal(json_array_size(events), 2);
  uint64_t total = 0;
  for (size_t i = 0; i < 2; i++) {
    const json_t *event = json_array_get(events, i);
    assert_string_equal(json_string_value(json_object_get(event, "mechanism")), "gaussian");
    assert_true(json_number_value(json_object_get(event, "noise_multiplier")) > 40);
    total += (uint64_t)json_integer_value(json_object_get(event, "count"));
  }
  assert_int_equal(total, 16000);
  assert_int_equal(json_integer_value(json_object_get(root, "max_rows")), 1);
  json_decref(root);
  sample_run_clear(run);
}

static void test_write_exposed_run_says_not_private_everywhere(void **state) {
  sample_run_t *run = sample_run_new(2, 0, 8, 2, true);
  write_ok(run);
  static const char *const names[] = {"draws-1.csv", "draws-2.csv", "privacy.json",
                                      "privacy.txt", "run.yaml",    "report.html"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char *text = file_text(path, names[i]);
    assert_contains(text, "NOT PRIVATE");
    tacit_free(text);
  }
  char *draws = file_text(path, "draws-1.csv");
  assert_contains(draws, "# tacit_private = 0\n");
  assert_lacks(draws, "dp_epsilon");
  tacit_free(draws);
  json_t *root = privacy_json();
  assert_true(json_is_false(json_object_get(root, "private")));
  assert_true(json_is_null(json_object_get(root, "epsilon")) && json_is_null(json_object_get(root, "delta")));
  assert_int_equal(json_array_size(json_object_get(root, "events")), 0);
  json_decref(root);
  sample_run_clear(run);
}

/* A number that only the curator may see, planted in every place for one, is in no file. */
static void test_curator_only_numbers_are_in_no_file(void **state) {
  static const double planted = 7130917;
  tacit_diagnostics_t all;
  for (size_t i = 0; i < TACIT_N_DIAGNOSTICS; i++) {
    all.values[i] = tacit_diagnostic_info(i)->visibility == TACIT_CURATOR_ONLY ? planted : 0.25 + (double)i;
  }
  const tacit_published_t published = tacit_diagnostics_publish(&all);
  sample_run_t *run = sample_run_new(2, 0, 8, 2, false);
  run->report.published = &published;
  write_ok(run);
  DIR *files = opendir(path);
  assert_non_null(files);
  size_t n = 0;
  for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
    if (entry->d_name[0] != '.') {
      char *text = file_text(path, entry->d_name);
      assert_lacks(text, "7130917");
      assert_lacks(text, "7.130917");
      for (size_t i = TACIT_N_PUBLISHABLE; i < TACIT_N_DIAGNOSTICS; i++) {
        assert_lacks(text, tacit_diagnostic_info(i)->name);
      }
      tacit_free(text);
      n++;
    }
  }
  closedir(files);
  assert_int_equal(n, 8);
  tacit_report_read_t read;
  tacit_error_t err;
  assert_ok(tacit_report_read(&read, path, &err), err);
  for (size_t i = 0; i < TACIT_N_PUBLISHABLE; i++) {
    assert_true(read.published.values[i] == 0.25 + (double)i);
  }
  tacit_report_read_clear(&read);
  sample_run_clear(run);
}

/* Line ends as spaces, so that wrapping does not matter. */
static void unwrap(char *text) {
  for (char *s = text; (s = strchr(s, '\n')) != NULL;) {
    *s = ' ';
  }
}

static void test_write_seeded_noise_promises_nothing(void **state) {
  sample_run_t *run = sample_run_new(1, 0, 8, 2, false);
  run->report.is_private = false;
  run->report.not_private_reason = "the noise was seeded";
  write_ok(run);
  json_t *root = privacy_json();
  assert_true(json_is_false(json_object_get(root, "private")) &&
              json_is_null(json_object_get(root, "epsilon")));
  assert_string_equal(json_string_value(json_array_get(json_object_get(root, "assumptions"), 0)),
                      "NOT PRIVATE: the noise was seeded");
  json_decref(root);
  char *statement = file_text(path, "privacy.txt");
  assert_contains(statement, "NOT PRIVATE\n===========\n\nReason: the noise was seeded.\n");
  assert_lacks(statement, "epsilon");
  tacit_free(statement);
  sample_run_clear(run);
}

static void test_statement_says_who_what_and_how_much(void **state) {
  sample_run_t *run = sample_run_new(1, 0, 4, 1, false);
  tacit_error_t err;
  char *text;
  assert_ok(tacit_report_statement(&run->report, &text, &err), err);
  static const char *const parts[] = {"Private: epsilon = ",
                                      "Who is protected",
                                      "one row of the data set \"flchain\"",
                                      "(relation: substitute)",
                                      "of the epsilon = 8 promised",
                                      "12000 of \"gradient\"",
                                      "4000 of \"log-ratio\"",
                                      "What is assumed",
                                      "What is not promised"};
  for (const char *s = text; *s != '\0'; s = strchr(s, '\n') + 1) {
    assert_true(strchr(s, '\n') - s <= 78);
  }
  unwrap(text);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    assert_contains(text, parts[i]);
  }
  tacit_report_text_free(text);
  tacit_budget_free(run->budget);
  run->budget = support_budget(TACIT_RELATION_ADD_REMOVE);
  run->report.budget = run->budget;
  run->report.unit = "patient_id";
  run->report.max_rows = 7;
  run->report.is_exact = false;
  run->report.delta_meaning = "below one in a thousand patients";
  assert_ok(tacit_report_statement(&run->report, &text, &err), err);
  unwrap(text);
  assert_contains(text, "(relation: add-remove)");
  assert_contains(text, "\"patient_id\"");
  assert_contains(text, "at most 7 rows");
  assert_contains(text, "clipped");
  assert_contains(text, "below one in a thousand patients");
  tacit_report_text_free(text);
  sample_run_clear(run);
}

static void test_write_hostile_words_stay_text(void **state) {
  static const char hostile[] = "<script>x</script>\n\"y' & # = (Total)";
  sample_run_t *run = sample_run_new(1, 0, 8, 1, false);
  run->label_list[0] = run->report.formula = run->report.data_name = run->report.unit = hostile;
  run->report.delta_meaning = run->report.method = run->report.family = run->report.end = hostile;
  const tacit_report_setting_t settings[] = {{hostile, hostile, false}};
  run->report.settings = settings;
  run->report.n_settings = 1;
  write_ok(run);
  char *page = file_text(path, "report.html"), *csv = file_text(path, "draws-1.csv");
  assert_lacks(page, "<script");
  assert_lacks(csv, "(Total)");
  json_decref(privacy_json());
  tacit_free(page);
  tacit_free(csv);
  tacit_report_read_t read;
  tacit_error_t err;
  assert_ok(tacit_report_read(&read, path, &err), err);
  assert_string_equal(read.labels[0], hostile);
  tacit_report_read_clear(&read);
  sample_run_clear(run);
}

static void test_write_page_stands_alone(void **state) {
  sample_run_t *run = sample_run_new(20, 0, 30, 45, false);
  write_ok(run);
  char *page = file_text(path, "report.html");
  static const char *const external[] = {"http:", "https:", "src=", "@import", "url(", "<script", "<link"};
  for (size_t i = 0; i < sizeof external / sizeof external[0]; i++) {
    assert_lacks(page, external[i]);
  }
  assert_contains(page, "The first 40 of 45 quantities.");
  assert_contains(page, "</html>");
  tacit_free(page);
  sample_run_clear(run);
}

static void test_write_odd_values_and_sizes(void **state) {
  static const size_t shapes[][2] = {{1, 1}, {1, 0}, {4, 3}, {1, 4}}; /* chains, draws */
  static const double odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 0x1p-1074};
  for (size_t i = 0; i < 4; i++) {
    for (size_t n = 0; n < 2; n++) {
      sample_run_t *run = sample_run_new(shapes[i][0], 0, shapes[i][1], n, false);
      for (size_t k = 0; k < shapes[i][0] * shapes[i][1] * n; k++) {
        run->draws.values[k] = odd[k % 6];
      }
      write_ok(run);
      tacit_report_read_t read;
      tacit_error_t err;
      assert_ok(tacit_report_read(&read, path, &err), err);
      for (size_t k = 0; k < shapes[i][0] * shapes[i][1] * n; k++) {
        assert_true(read.draws.values[k] == odd[k % 6] || (isnan(read.draws.values[k]) && isnan(odd[k % 6])));
      }
      tacit_report_read_clear(&read);
      folder_remove(path);
      sample_run_clear(run);
    }
  }
}

static void test_write_run_yaml_lists_repeated_options(void **state) {
  sample_run_t *run = sample_run_new(1, 0, 4, 1, false);
  write_ok(run);
  char *text = file_text(path, "run.yaml");
  assert_contains(text, "formula: \"death ~ age + sex + log(flc)\"\n");
  assert_contains(text, "\nepsilon: 8\ndelta: 1e-6\nchains: 4  # default\n");
  assert_contains(text, "\nprior: [\"normal(0, 2.5)\", \"age: student_t(3, 0, 1)\"]\n");
  assert_contains(text, "\nnote: \"yes\"\n");
  tacit_free(text);
  sample_run_clear(run);
}

/* Post-processing of a release: no budget, no claim but that of the release, whose cost may be unknown. */
static void test_write_post_processing_states_the_release(void **state) {
  for (int is_known = 0; is_known < 2; is_known++) {
    sample_run_t *run = sample_run_new(2, 0, 8, 2, true);
    tacit_report_release_t release = {.statistic = "mean of 500 records clamped to [-1, 1]",
                                      .noise = "laplace, scale 0.02",
                                      .epsilon = is_known ? 1.5 : NAN,
                                      .delta = is_known ? 0 : NAN};
    run->report.is_private = true;
    run->report.not_private_reason = "";
    run->report.release = &release;
    write_ok(run);
    static const char *const names[] = {"draws-1.csv", "privacy.json", "privacy.txt", "report.html"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
      char *text = file_text(path, names[i]);
      unwrap(text);
      assert_contains(text, "mean of 500 records clamped to [-1, 1]");
      assert_lacks(text, "NOT PRIVATE");
      tacit_free(text);
    }
    char *statement = file_text(path, "privacy.txt");
    unwrap(statement);
    assert_contains(statement, "No privacy cost beyond the release");
    assert_contains(statement, is_known ? "epsilon = 1.5 at delta = 0" : "does not say what it cost");
    tacit_free(statement);
    char *json = file_text(path, "privacy.json");
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
    tacit_free(json);
    assert_true(json_is_true(json_object_get(root, "post_processing")));
    assert_true(is_known ? json_is_number(json_object_get(root, "epsilon"))
                         : json_is_null(json_object_get(root, "epsilon")));
    assert_true(json_is_null(json_object_get(root, "epsilon_budget")));
    json_decref(root);
    tacit_report_read_t read;
    tacit_error_t err;
    assert_ok(tacit_report_read(&read, path, &err), err);
    assert_true(read.is_private && read.is_post_processing &&
                (is_known ? read.epsilon > 1.49 : isnan(read.epsilon)));
    tacit_report_read_clear(&read);
    run->report.is_private = false;
    run->report.not_private_reason = "exposed";
    assert_int_equal(tacit_report_write(&run->report, "elsewhere", &err), TACIT_ERR_ARGUMENT);
    assert_string_equal(err.field, "release");
    sample_run_clear(run);
    teardown(state);
    setup(state);
  }
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      in_folder(test_write_private_run_leaves_all_files),
      in_folder(test_write_stan_csv_obeys_the_readers),
      in_folder(test_write_saved_warmup_is_thinned_and_comes_first),
      in_folder(test_write_run_that_stopped_states_what_it_did),
      in_folder(test_write_metrics),
      in_folder(test_write_privacy_json_of_private_run),
      in_folder(test_curator_only_numbers_are_in_no_file),
      in_folder(test_write_exposed_run_says_not_private_everywhere),
      in_folder(test_write_seeded_noise_promises_nothing),
      in_folder(test_write_post_processing_states_the_release),
      in_folder(test_statement_says_who_what_and_how_much),
      in_folder(test_write_hostile_words_stay_text),
      in_folder(test_write_page_stands_alone),
      in_folder(test_write_odd_values_and_sizes),
      in_folder(test_write_run_yaml_lists_repeated_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
