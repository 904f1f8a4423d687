/* A released statistic from settings to YAML: order of steps, the ledger, failed allocations. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "base/memory.h"
#include "tacit/ledger.h"
#include "tacit/publish.h"

static const char schema[] =
    "columns:\n  y: {type: numeric, lower: -4, upper: 4}\n  x: {type: numeric, lower: -1, upper: 1}\n"
    "  s: {type: categorical, levels: [F, M]}\n  m: {type: numeric, lower: 0, upper: 1, missing: drop}\n";
static const char *const mean[] = {"statistic", "clamped-mean", "column", "x", "mechanism",
                                   "laplace",   "epsilon",      "2",      NULL};
static const char *const moments[] = {"statistic", "moments", "epsilon", "5", "delta", "1e-6", NULL};
static char data[64], ledger_path[64], out[64];

static int open_files(void **state) {
  (void)state;
  snprintf(data, sizeof data, "/tmp/tacit-publish-%d.csv", (int)getpid());
  snprintf(ledger_path, sizeof ledger_path, "/tmp/tacit-publish-%d.ledger", (int)getpid());
  snprintf(out, sizeof out, "/tmp/tacit-publish-%d.yaml", (int)getpid());
  FILE *file = fopen(data, "w");
  fputs("y,x,s\n", file);
  for (int i = 0; i < 300; i++) {
    fprintf(file, "%.2f,%.2f,%s\n", i % 41 / 10.0 - 2, i % 17 / 8.0 - 1, i % 3 == 0 ? "F" : "M");
  }
  return fclose(file);
}

static int close_files(void **state) {
  (void)state;
  remove(out);
  remove(ledger_path);
  return remove(data);
}

/* Everything up to the records. */
static tacit_status_t begin(tacit_publish_t **publish, const char *formula, const char *const *settings,
                            tacit_error_t *err) {
  tacit_status_t status = tacit_publish_new(publish, formula, err);
  status =
      status == TACIT_OK ? tacit_publish_set_schema(*publish, schema, strlen(schema), "schema", err) : status;
  for (size_t i = 0; settings[i] != NULL && status == TACIT_OK; i += 2) {
    status = tacit_publish_set(*publish, settings[i], settings[i + 1], err);
  }
  return status;
}

static void test_a_statistic_is_reserved_settled_and_written(void **state) {
  (void)state;
  tacit_publish_t *publish;
  tacit_ledger_t *ledger;
  tacit_ledger_state_t entries;
  tacit_error_t err;
  size_t n;
  tacit_ledger_terms_t terms = {.data_id = "d", .epsilon = 100, .delta = 1e-6, .unit = "row", .max_rows = 1};
  assert_ok(tacit_ledger_create(ledger_path, &terms, &err), err);
  assert_ok(begin(&publish, NULL, mean, &err), err);
  assert_ok(tacit_publish_set(publish, "ledger", ledger_path, &err), err);
  assert_int_equal(tacit_publish_run(publish, &err), TACIT_ERR_STATE);
  const tacit_schema_t *rules;
  const char *const *columns;
  for (int i = 0; i < 2; i++) {
    assert_ok(tacit_publish_columns(publish, &rules, &columns, &n, &err), err);
    assert_int_equal(n, 1);
    assert_string_equal(columns[0], "x");
  }
  assert_int_equal(tacit_publish_set(publish, "epsilon", "1", &err), TACIT_ERR_STATE);
  assert_ok(tacit_publish_read(publish, data, &err), err);
  assert_int_equal(tacit_publish_columns(publish, &rules, &columns, &n, &err), TACIT_ERR_STATE);
  assert_null(tacit_publish_yaml(publish));
  assert_null(tacit_publish_values(publish, &n));
  assert_ok(tacit_publish_run(publish, &err), err);
  assert_int_equal(tacit_publish_run(publish, &err), TACIT_ERR_STATE);
  const double *sum = tacit_publish_values(publish, &n), *scale = tacit_publish_scales(publish, &n);
  assert_int_equal(n, 1);
  assert_close(scale[0], 1, 1e-6); /* the sum's sensitivity over epsilon: 2 / 2 */
  assert_true(fabs(sum[0]) < 300 + 40 * scale[0]);
  assert_non_null(strstr(tacit_publish_yaml(publish), "statistic: mean\n"));
  assert_non_null(strstr(tacit_publish_spent(publish), "cost: epsilon 2 at delta 0"));
  assert_string_equal(tacit_publish_unsettled(publish), "");
  assert_ok(tacit_publish_write(publish, out, &err), err);
  assert_int_equal(tacit_publish_write(publish, out, &err), TACIT_ERR_EXISTS);
  tacit_publish_free(publish);
  assert_ok(tacit_ledger_open(&ledger, ledger_path, &err), err);
  assert_ok(tacit_ledger_read(ledger, &entries, &err), err);
  assert_true(entries.n_spends == 1 && entries.spends[0].is_settled);
  assert_string_equal(entries.spends[0].purpose, "release: clamped-mean x");
  tacit_ledger_state_clear(&entries);
  tacit_ledger_close(ledger);
}

static void test_what_does_not_go_together_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *formula, *settings[12], *field;
    tacit_status_t status;
  } wrong[] = {
      {NULL,
       {"statistic", "clamped-mean", "column", "x", "mechanism", "laplace", NULL},
       "epsilon",
       TACIT_ERR_ARGUMENT},
      {NULL, {"column", "x", "epsilon", "1", NULL}, "statistic", TACIT_ERR_ARGUMENT},
      {NULL, {"statistic", "clamped-mean", "column", "x", "epsilon", "1", NULL}, "delta", TACIT_ERR_ARGUMENT},
      {NULL,
       {"statistic", "clamped-mean", "column", "xx", "epsilon", "1", "delta", "1e-6", NULL},
       "column",
       TACIT_ERR_UNKNOWN},
      {NULL,
       {"statistic", "clamped-mean", "column", "s", "epsilon", "1", "delta", "1e-6", NULL},
       "column",
       TACIT_ERR_SCHEMA},
      {NULL,
       {"statistic", "clamped-mean", "column", "m", "epsilon", "1", "delta", "1e-6", NULL},
       "column",
       TACIT_ERR_SCHEMA},
      {NULL,
       {"statistic", "counts", "column", "s,s", "epsilon", "1", "delta", "1e-6", NULL},
       "column",
       TACIT_ERR_ARGUMENT},
      {"y ~ x",
       {"statistic", "counts", "epsilon", "1", "delta", "1e-6", NULL},
       "formula",
       TACIT_ERR_ARGUMENT},
      {NULL, {"statistic", "moments", "epsilon", "1", "delta", "1e-6", NULL}, "formula", TACIT_ERR_ARGUMENT},
      {NULL,
       {"statistic", "clamped-mean", "column", "x", "mechanism", "laplace", "epsilon", "1", "step", "1",
        NULL},
       "step",
       TACIT_ERR_ARGUMENT},
      {NULL,
       {"statistic", "clamped-mean", "column", "x", "mechanism", "laplace", "epsilon", "1", "purpose", "p",
        NULL},
       "purpose",
       TACIT_ERR_ARGUMENT}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    tacit_publish_t *publish;
    tacit_error_t err = {0};
    assert_ok(begin(&publish, wrong[i].formula, wrong[i].settings, &err), err);
    assert_int_equal(tacit_publish_read(publish, "/nowhere.csv", &err), wrong[i].status);
    assert_string_equal(err.field, wrong[i].field);
    tacit_publish_free(publish);
  }
  tacit_publish_free(NULL);
}

static void test_every_failed_allocation_is_an_error_return(void **state) {
  (void)state;
  tacit_status_t status = TACIT_ERR_MEMORY;
  size_t k = 1;
  for (; status != TACIT_OK; k++) {
    tacit_publish_t *publish;
    tacit_error_t err = {0};
    tacit_alloc_fail_at(k);
    status = begin(&publish, "y ~ x", moments, &err);
    status = status == TACIT_OK ? tacit_publish_read(publish, data, &err) : status;
    status = status == TACIT_OK ? tacit_publish_run(publish, &err) : status;
    tacit_alloc_fail_at(0);
    assert_true(status == TACIT_OK || (status == TACIT_ERR_MEMORY && err.status == status));
    assert_int_equal(publish != NULL && tacit_publish_yaml(publish) != NULL, status == TACIT_OK);
    tacit_publish_free(publish);
    assert_true(k < 2000);
  }
  assert_true(k > 40);
}

/* ---- a line of a program ---- */

static const char program[] = "data { real x; int<lower=1, upper=2> s; real y; } transformed data { "
                              "int<lower=0, upper=2> band = cut(x, {-0.5, 0.5}); }\n"
                              "parameters { real mu; } model { mu ~ normal(0, 1); x ~ normal(mu, 1); y ~ "
                              "normal(mu, 1); s ~ bernoulli(0.5); }\n"
                              "statistic { table = count(band, s); total = sum(fmin(fmax(x, -0.5), 0.75) * "
                              "(s == 1)); many = sum(band); open = sum(x * y); none = sum(1 / (x + "
                              "1)); }\n";

static tacit_status_t release_line(const char *name, const char *mechanism, tacit_publish_t **publish,
                                   tacit_error_t *err) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/tacit-publish-%d.stan", (int)getpid());
  FILE *file = fopen(path, "w");
  fputs(program, file);
  fclose(file);
  const char *const settings[] = {"statistic", name,   "mechanism", mechanism, "epsilon",
                                  "400",       "seed", "3",         NULL};
  tacit_status_t status = begin(publish, path, settings, err);
  status = status == TACIT_OK ? tacit_publish_read(*publish, data, err) : status;
  status = status == TACIT_OK ? tacit_publish_run(*publish, err) : status;
  remove(path);
  return status;
}

/* At epsilon 400 noise is next to nothing: values are those of the rows, and scales the bounds of a row over
 * epsilon. */
static void test_a_line_of_a_program_is_released_by_its_bounds(void **state) {
  (void)state;
  tacit_publish_t *publish;
  tacit_error_t err;
  double table[6] = {0}, total = 0, many = 0;
  size_t n;
  for (int i = 0; i < 300; i++) {
    double x = (float)(nearbyint(100 * (i % 17 / 8.0 - 1)) / 100); /* as the file has it */
    int band = (x >= -0.5) + (x >= 0.5), is_male = i % 3 != 0;
    table[2 * band + is_male]++;
    total += is_male ? 0 : fmin(fmax(x, -0.5), 0.75);
    many += band;
  }
  assert_ok(release_line("table", "discrete-laplace", &publish, &err), err);
  const double *values = tacit_publish_values(publish, &n);
  assert_int_equal(n, 6);
  for (size_t k = 0; k < 6; k++) {
    assert_close(values[k], table[k], 0);
  }
  assert_close(tacit_publish_scales(publish, &n)[0], 2.0 / 400, 1e-6);
  assert_non_null(
      strstr(tacit_publish_yaml(publish), "statistics:\n  table:\n    mechanism: discrete-laplace\n"));
  tacit_publish_free(publish);
  assert_ok(release_line("total", "laplace", &publish, &err), err);
  assert_close(tacit_publish_scales(publish, &n)[0], 1.25 / 400, 1e-6); /* from -0.5 to 0.75 */
  assert_close(tacit_publish_values(publish, &n)[0], total, 0.05);
  assert_null(strstr(tacit_publish_warnings(publish), "beyond the schema's bounds"));
  tacit_publish_free(publish);
  assert_ok(release_line("many", "discrete-laplace", &publish, &err), err);
  assert_close(tacit_publish_scales(publish, &n)[0], 2.0 / 400, 1e-6);
  assert_close(tacit_publish_values(publish, &n)[0], many, 0);
  tacit_publish_free(publish);
  assert_ok(release_line("open", "laplace", &publish, &err),
            err); /* the program's x has no bounds, the schema's has */
  assert_non_null(strstr(tacit_publish_warnings(publish), "values of 'x' beyond the schema's bounds"));
  assert_close(tacit_publish_scales(publish, &n)[0], 8.0 / 400, 1e-6);
  tacit_publish_free(publish);
  assert_int_equal(release_line("none", "laplace", &publish, &err), TACIT_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "clamp it"));
  tacit_publish_free(publish);
  assert_int_equal(release_line("total", "discrete-laplace", &publish, &err), TACIT_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "sums of ints"));
  tacit_publish_free(publish);
  assert_int_equal(release_line("tabel", "laplace", &publish, &err), TACIT_ERR_UNKNOWN);
  assert_non_null(strstr(err.message, "did you mean 'table'?"));
  tacit_publish_free(publish);
}

/* 300 records; Laplace noise of scale 1 / epsilon in what one of them can change: an sd of .0024 of all of
 * them at epsilon 2, of .47 at .01. */
static void test_noise_that_swamps_is_said_beforehand(void **state) {
  (void)state;
  static const char *const little[] = {"statistic", "clamped-mean", "column", "x", "mechanism",
                                       "laplace",   "epsilon",      "0.01",   NULL};
  tacit_publish_t *publish;
  tacit_error_t err;
  assert_ok(begin(&publish, NULL, mean, &err), err);
  assert_ok(tacit_publish_read(publish, data, &err), err);
  assert_null(strstr(tacit_publish_warnings(publish), "swamp"));
  tacit_publish_free(publish);
  assert_ok(begin(&publish, NULL, little, &err), err);
  assert_ok(tacit_publish_read(publish, data, &err), err);
  assert_non_null(strstr(
      tacit_publish_warnings(publish),
      "swamp what is released: its sd is 0.47 times what all records together can change; about 4.8 times"));
  tacit_publish_free(publish);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_line_of_a_program_is_released_by_its_bounds, open_files,
                                      close_files),
      cmocka_unit_test_setup_teardown(test_a_statistic_is_reserved_settled_and_written, open_files,
                                      close_files),
      cmocka_unit_test_setup_teardown(test_noise_that_swamps_is_said_beforehand, open_files, close_files),
      cmocka_unit_test(test_what_does_not_go_together_is_refused),
      cmocka_unit_test_setup_teardown(test_every_failed_allocation_is_an_error_return, open_files,
                                      close_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
