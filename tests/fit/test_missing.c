/*
 * `missing: drop`: a fit of records with gaps is that of the complete ones, to the last draw, by every method
 * that looks at all records: what is summed is the same, and nothing else of them is used. Under relation
 * substitute noise-aware fits release how many there are.
 *
 * Mutations tried, each of which fails here: nothing left out (a gap becomes the reference level, or a
 * bound); gaps looked for in one column alone; records of zeros in place of those that are left out.
 */
#include "fit/fixture.h"

enum { N_ROWS = 240 };

static const char *const relations[] = {"substitute", "add-remove"};

/* Rows (y, x, g, u, who); whoever has a gap in x or g is in `complete` no more. Gaps in u, which no formula
 * uses, do not matter. */
static void write_data(const fixture_t *f, char gaps[128], char complete[128]) {
  snprintf(gaps, 128, "%s/gaps.csv", f->folder);
  snprintf(complete, 128, "%s/complete.csv", f->folder);
  FILE *a = fopen(gaps, "w"), *b = fopen(complete, "w");
  fputs("y,x,g,u,who\n", a);
  fputs("y,x,g,u,who\n", b);
  for (int i = 0; i < N_ROWS; i++) {
    const char *unused = i % 3 == 0 ? "" : "0.5", *level = i * 11 % 3 == 0   ? "a"
                                                           : i * 11 % 3 == 1 ? "b"
                                                                             : "c";
    double x = i * 7 % 31 / 15.5 - 1;
    int y = i * 7 % 31 + i * 13 % 37 > 33;
    if (i % 10 == 3) {
      fprintf(a, "%d,NA,%s,%s,p%d\n", y, level, unused, i / 3);
    } else if (i % 10 == 8) {
      fprintf(a, "%d,%.2f,,%s,p%d\n", y, x, unused, i / 3);
    } else {
      fprintf(a, "%d,%.2f,%s,%s,p%d\n", y, x, level, unused, i / 3);
      fprintf(b, "%d,%.2f,%s,%s,p%d\n", y, x, level, unused, i / 3);
    }
  }
  fclose(a);
  fclose(b);
}

typedef struct how {
  const char *relation, *method, *family, *formula;
  bool is_by_person;
} how_t;

static tacit_fit_t *open_fit(const how_t *how, const char *missing) {
  char schema[512], epsilon[] = "20";
  snprintf(
      schema, sizeof schema,
      "relation: %s\n%scolumns:\n  y: {type: %s}\n  x: {type: numeric, lower: -1, upper: 1, missing: %s}\n"
      "  g: {type: categorical, levels: [a, b, c], missing: %s}\n  u: {type: numeric, lower: 0, upper: 1, "
      "missing: %s}\n%s",
      how->relation, how->is_by_person ? "unit: who\nmax_rows: 3\n" : "",
      strcmp(how->family, "bernoulli") == 0 ? "binary" : "numeric, lower: -3, upper: 3", missing, missing,
      missing, how->is_by_person ? "  who: {type: id}\n" : "");
  const char *const settings[] = {"method",
                                  how->method,
                                  "epsilon",
                                  epsilon,
                                  "delta",
                                  "1e-6",
                                  "draws",
                                  "20",
                                  "warmup",
                                  "10",
                                  "chains",
                                  "2",
                                  "seed",
                                  "4",
                                  "n-public",
                                  how->is_by_person ? "80" : "240",
                                  strstr(how->formula, ".stan") == NULL ? "family" : NULL,
                                  how->family,
                                  NULL};
  return fixture_new(how->formula, schema, settings);
}

/* Draws (n_chains, n_saved, n_columns) of a fit, one after another; how many numbers. */
static size_t fit_draws(const how_t *how, const char *missing, const char *path, double *out) {
  tacit_error_t err;
  tacit_fit_t *fit = open_fit(how, missing);
  assert_ok(tacit_fit_read(fit, path, &err), err);
  assert_ok(tacit_fit_run(fit, NULL, NULL, &err), err);
  const tacit_draws_t *draws = tacit_fit_draws(fit);
  size_t n = 0;
  for (size_t c = 0; c < draws->n_chains; c++) {
    for (size_t i = 0; i < draws->n_draws; i++) {
      memcpy(out + n, tacit_draws_row(draws, c, draws->n_warmup + i), draws->n_reported * sizeof *out);
      n += draws->n_reported;
    }
  }
  tacit_fit_free(fit);
  return n;
}

static void check_same(const how_t *how, const char *gaps, const char *complete) {
  static double a[2 * 20 * 8], b[2 * 20 * 8];
  size_t n = fit_draws(how, "drop", gaps, a), n_complete = fit_draws(how, "error", complete, b);
  assert_true(n == n_complete && n > 0);
  if (memcmp(a, b, n * sizeof *a) != 0) {
    fail_msg("%s, %s, %s: draws differ", how->relation, how->method,
             how->is_by_person ? "by person" : "by row");
  }
}

static void test_gaps_are_as_if_their_records_were_not_there(void **state) {
  static const char *const methods[] = {"dp-hmc", "dp-penalty", "dp-barker", "dp-fast-mh-full", "dp-mala"};
  char gaps[128], complete[128];
  write_data(*state, gaps, complete);
  size_t n_methods = getenv("TACIT_TEST_FULL") != NULL ? 5 : 2; /* decisions take a while to account for */
  for (size_t r = 0; r < 2; r++) {
    for (size_t m = 0; m < n_methods; m++) {
      for (int is_by_person = 0; is_by_person < (m < 3 ? 2 : 1); is_by_person++) {
        check_same(&(how_t){relations[r], methods[m], "bernoulli", "y ~ x + g", is_by_person}, gaps,
                   complete);
      }
    }
  }
  check_same(&(how_t){"substitute", "dp-barker", "bernoulli", "y ~ x + g", false}, gaps, complete);
  check_same(&(how_t){"add-remove", "noise-aware", "bernoulli", "y ~ x + g", false}, gaps, complete);
}

static const char program[] =
    "data { int N; vector[N] x; array[N] int y; }\nparameters { real a; real b; }\n"
    "model { a ~ normal(0, 2); b ~ normal(0, 2); y ~ bernoulli_logit(a + b * x); }\n";

static void test_programs_leave_out_what_they_use(void **state) {
  const fixture_t *f = *state;
  char gaps[128], complete[128], path[128];
  write_data(f, gaps, complete);
  snprintf(path, sizeof path, "%s/p.stan", f->folder);
  FILE *file = fopen(path, "w");
  fputs(program, file);
  fclose(file);
  file = fopen(complete, "w"); /* g is not used: its gaps stay */
  fputs("y,x,g,u,who\n", file);
  for (int i = 0; i < N_ROWS; i++) {
    if (i % 10 != 3) {
      fprintf(file, "%d,%.2f,a,,p\n", i * 7 % 31 + i * 13 % 37 > 33, i * 7 % 31 / 15.5 - 1);
    }
  }
  fclose(file);
  for (size_t r = 0; r < 2; r++) {
    check_same(&(how_t){relations[r], "dp-hmc", "bernoulli", path, false}, gaps, complete);
  }
}

/* Imported columns, records in a file, and CSV: the same draws; and a schema that says otherwise is refused.
 */
static void test_imported_columns_keep_their_gaps(void **state) {
  const fixture_t *f = *state;
  static double a[2 * 20 * 8], b[2 * 20 * 8];
  how_t how = {"substitute", "dp-hmc", "bernoulli", "y ~ x + g", false};
  char gaps[128], complete[128], folder[128];
  tacit_error_t err;
  const tacit_schema_t *schema;
  const char *const *columns;
  size_t n_columns;
  write_data(f, gaps, complete);
  snprintf(folder, sizeof folder, "%s/imported", f->folder);
  tacit_fit_t *fit = open_fit(&how, "drop");
  assert_ok(tacit_fit_columns(fit, &schema, &columns, &n_columns, &err), err);
  assert_ok(tacit_table_import(gaps, schema, folder, NULL, &err), err);
  tacit_fit_free(fit);
  size_t n = fit_draws(&how, "drop", gaps, a);
  assert_int_equal(fit_draws(&how, "drop", folder, b), n);
  assert_memory_equal(a, b, n * sizeof *a);
  fit = open_fit(&how, "error");
  assert_int_equal(tacit_fit_read(fit, folder, &err), TACIT_ERR_SCHEMA);
  assert_non_null(strstr(err.message, "missing: drop, now error"));
  tacit_fit_free(fit);
}

static void test_the_number_of_records_that_count_is_charged(void **state) {
  char gaps[128], complete[128];
  tacit_error_t err;
  write_data(*state, gaps, complete);
  for (int is_dropping = 0; is_dropping < 2; is_dropping++) {
    for (int is_gaussian = 0; is_gaussian < 2; is_gaussian++) {
      how_t how = {"substitute", "noise-aware", is_gaussian ? "gaussian" : "bernoulli", "y ~ x + g", false};
      char *json;
      tacit_fit_t *fit = open_fit(&how, is_dropping ? "drop" : "error");
      assert_ok(tacit_fit_read(fit, is_dropping ? gaps : complete, &err), err);
      assert_int_equal(strstr(tacit_fit_text(fit, TACIT_FIT_TEXT_PLAN), "(missing: drop) adds nothing") !=
                           NULL,
                       is_dropping);
      assert_ok(tacit_fit_run(fit, NULL, NULL, &err), err);
      assert_ok(tacit_fit_privacy_json(fit, &json, &err), err);
      assert_int_equal(strstr(json, "number of units") != NULL, is_dropping);
      tacit_free(json);
      tacit_fit_free(fit);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_gaps_are_as_if_their_records_were_not_there, fixture_open,
                                      fixture_close),
      cmocka_unit_test_setup_teardown(test_programs_leave_out_what_they_use, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_imported_columns_keep_their_gaps, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_the_number_of_records_that_count_is_charged, fixture_open,
                                      fixture_close)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
