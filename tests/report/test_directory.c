/* A report appears whole or not at all, and a bad one not at all. */
#include "report/fit_folder.h"

#include <signal.h>
#include <sys/resource.h>
#include "report/report.h"

static void test_write_refuses_what_exists(void **state) {
  sample_run_t *run = sample_run_new(1, 0, 4, 1, false);
  tacit_error_t err;
  char slashed[128];
  snprintf(slashed, sizeof slashed, "%s//", path);
  assert_ok(tacit_report_write(&run->report, slashed, &err), err);
  assert_int_equal(tacit_report_write(&run->report, path, &err), TACIT_ERR_EXISTS);
  assert_contains(err.message, "choose another name or remove it");
  folder_remove(path);
  assert_int_equal(symlink("nowhere", path), 0);
  assert_int_equal(tacit_report_write(&run->report, path, &err), TACIT_ERR_EXISTS);
  assert_int_equal(folder_count(folder), 1);
  snprintf(slashed, sizeof slashed, "%s/no/fit", folder);
  assert_int_equal(tacit_report_write(&run->report, slashed, &err), TACIT_ERR_MISSING);
  assert_int_equal(tacit_report_write(&run->report, "", &err), TACIT_ERR_ARGUMENT);
  snprintf(slashed, sizeof slashed, "/proc/tacit-fit");
  assert_int_not_equal(tacit_report_write(&run->report, slashed, &err), TACIT_OK);
  sample_run_clear(run);
}

static void test_write_relative_path_and_left_over_folder(void **state) {
  sample_run_t *run = sample_run_new(1, 0, 4, 1, false);
  char before[512], left_over[160];
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(folder), 0);
  snprintf(left_over, sizeof left_over, "fit.tmp-%ld", (long)getpid());
  assert_int_equal(mkdir(left_over, 0777), 0);
  tacit_error_t err;
  assert_ok(tacit_report_write(&run->report, "fit", &err), err);
  assert_int_equal(folder_count("."), 2);
  assert_int_equal(chdir(before), 0);
  sample_run_clear(run);
}

static void test_write_file_that_cannot_grow_leaves_nothing(void **state) {
  sample_run_t *run = sample_run_new(1, 0, 2000, 4, false);
  struct rlimit before, limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = 100000;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  tacit_error_t err;
  tacit_status_t status = tacit_report_write(&run->report, path, &err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  assert_int_equal(status, TACIT_ERR_IO);
  assert_contains(err.message, "draws-1.csv");
  assert_int_equal(folder_count(folder), 0);
  sample_run_clear(run);
}

static void test_write_full_disk_leaves_nothing(void **state) {
  const char *full = getenv("TACIT_FULL_DISK"); /* a folder on a file system of a few kilobytes */
  if (full == NULL) {
    skip();
  }
  sample_run_t *run = sample_run_new(1, 0, 2000, 4, false);
  char out[512];
  snprintf(out, sizeof out, "%s/fit", full);
  tacit_error_t err;
  assert_int_equal(tacit_report_write(&run->report, out, &err), TACIT_ERR_IO);
  assert_contains(err.message, "No space left");
  assert_int_equal(folder_count(full), 0);
  sample_run_clear(run);
}

static void test_write_bad_reports_are_refused(void **state) {
  static const char *const names[] = {"",      "1b",  "b__x", "b__", "b.", "b.0",
                                      "b.1.x", "b x", "b,c",  "_b",  "b-c"};
  sample_run_t *run = sample_run_new(1, 0, 4, 2, false);
  tacit_error_t err;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    run->name_list[1] = names[i];
    assert_int_equal(tacit_report_write(&run->report, path, &err), TACIT_ERR_ARGUMENT);
    assert_string_equal(err.field, "names");
  }
  run->name_list[1] = run->name_list[0];
  assert_int_equal(tacit_report_write(&run->report, path, &err), TACIT_ERR_ARGUMENT);
  run->name_list[1] = "b.1.2";
  run->report.budget = NULL;
  assert_int_equal(tacit_report_write(&run->report, path, &err), TACIT_ERR_ARGUMENT);
  assert_string_equal(err.field, "budget");
  run->report.budget = run->budget;
  run->report.is_private = false;
  assert_int_equal(tacit_report_write(&run->report, path, &err), TACIT_ERR_ARGUMENT);
  assert_string_equal(err.field, "not_private_reason");
  run->report.is_private = true;
  run->report.thin = 0;
  assert_int_equal(tacit_report_write(&run->report, path, &err), TACIT_ERR_ARGUMENT);
  run->report.thin = 1;
  run->report.step_size = NAN;
  char *text;
  assert_int_equal(tacit_report_statement(&run->report, &text, &err), TACIT_ERR_ARGUMENT);
  assert_null(text);
  assert_int_equal(folder_count(folder), 0);
  sample_run_clear(run);
}

static void test_write_failed_allocations_leave_nothing(void **state) {
  sample_run_t *run = sample_run_new(2, 0, 8, 2, true);
  tacit_error_t err;
  size_t k = 1;
  for (;; k++) {
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_report_write(&run->report, path, &err);
    tacit_alloc_fail_at(0);
    if (status == TACIT_OK) {
      break;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
    assert_int_equal(folder_count(folder), 0);
  }
  assert_true(k > 30);
  for (k = 1;; k++) {
    char *text;
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_report_statement(&run->report, &text, &err);
    tacit_alloc_fail_at(0);
    tacit_report_text_free(text);
    if (status == TACIT_OK) {
      break;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
  }
  sample_run_clear(run);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      in_folder(test_write_refuses_what_exists),
      in_folder(test_write_relative_path_and_left_over_folder),
      in_folder(test_write_file_that_cannot_grow_leaves_nothing),
      in_folder(test_write_full_disk_leaves_nothing),
      in_folder(test_write_bad_reports_are_refused),
      in_folder(test_write_failed_allocations_leave_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
