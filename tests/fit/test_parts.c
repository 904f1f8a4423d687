/* Records in parts: a fit that asks them for sums releases what one process does, bit for bit; what is no
 * request or no part is refused. */
#include "fit/fixture.h"

#include "fit/fit_internal.h"
#include "report/report_internal.h"

enum { MAX_PARTS = 9, N_ROWS = 1500 };

static const char binary[] =
    "columns:\n  y: {type: binary}\n  x: {type: numeric, lower: -1, upper: 1}\n  z: {type: numeric, lower: "
    "-1, upper: 1}\n";
static const char counts[] =
    "columns:\n  y: {type: integer, lower: 0, upper: 3}\n  x: {type: numeric, lower: -1, upper: 1}\n  z: "
    "{type: numeric, lower: -1, upper: 1}\n";
static const char private_number[] =
    "relation: add-remove\ncolumns:\n  y: {type: binary}\n  x: {type: numeric, lower: -1, upper: 1}\n  z: "
    "{type: numeric, lower: -1, upper: 1}\n";
static const char persons[] =
    "unit: who\nmax_rows: 3\ncolumns:\n  who: {type: id}\n  y: {type: binary}\n  x: {type: numeric, lower: "
    "-1, upper: 1}\n"
    "  z: {type: numeric, lower: -1, upper: 1}\n";

#define SHORT "epsilon", "20", "delta", "1e-5", "chains", "1", "draws", "10", "warmup", "10"
static const char *const of_outcomes[] = {"family", "bernoulli", SHORT, NULL};
static const char *const of_counts[] = {"family", "poisson", SHORT, NULL};
static const char *const of_numbers[] = {"family", "gaussian", SHORT, NULL};
static const char *const of_private_number[] = {"family", "bernoulli", SHORT, "n-public", "1500", NULL};
static const char *const of_program[] = {"family", "negbinomial", SHORT, NULL};

typedef struct variant {
  const char *formula, *schema;
  const char *const *settings;
} variant_t;

static const variant_t variants[] = {
    {"y ~ x + z", binary, of_outcomes},  {"y ~ x + z", counts, of_counts},
    {"x ~ y + z", binary, of_numbers},   {"y ~ x + z", private_number, of_private_number},
    {"y ~ x + z", persons, of_outcomes}, {"y ~ x", counts, of_program}};
enum { N_VARIANTS = sizeof variants / sizeof variants[0] };

/* Persons have 1 to 4 rows: of the last, max_rows leaves one out. */
static void write_rows(const fixture_t *f, const char *name, size_t part, size_t n_parts) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  FILE *file = fopen(path, "w");
  fputs("who,y,x,z\n", file);
  for (size_t i = 0, who = 0, left = 1; i < N_ROWS; i++) {
    if (who * 5 % n_parts == part) {
      fprintf(file, "p%zu,%d,%.2f,%.2f\n", who, i * 7 % 31 + i * 13 % 37 > 33,
              (double)(i * 7 % 31) / 15.5 - 1, (double)(i * 11 % 23) / 11.5 - 1);
    }
    if (--left == 0) {
      who++;
      left = 1 + who % 4;
    }
  }
  fclose(file);
}

/* An engine of nothing but this process. */
typedef struct engine {
  const variant_t *variant;
  size_t n, fails_at, n_asked;
  void *packed[MAX_PARTS];
  size_t sizes[MAX_PARTS];
  char *last; /* request */
} engine_t;

static tacit_fit_t *part_of(const variant_t *v) {
  tacit_fit_t *fit = fixture_new(v->formula, v->schema, v->settings);
  tacit_fit_be_part(fit);
  return fit;
}

static bool sum_parts(void *user, const char *request, size_t n, int64_t *sums) {
  engine_t *engine = user;
  tacit_error_t err;
  free(engine->last);
  engine->last = strdup(request);
  if (++engine->n_asked == engine->fails_at) {
    return false;
  }
  for (size_t p = engine->n; p-- > 0;) { /* in any order */
    size_t n_own;
    int64_t *own, *again;
    for (int i = 0; i < 2; i++) { /* the second is what a machine that comes up for a lost one makes */
      tacit_fit_t *fit = part_of(engine->variant);
      assert_ok(tacit_fit_sum_part(fit, request, engine->packed[p], engine->sizes[p], i == 0 ? &own : &again,
                                   &n_own, &err),
                err);
      assert_int_equal(n_own, n);
      tacit_fit_free(fit);
    }
    assert_memory_equal(own, again, n * sizeof *own);
    for (size_t i = 0; i < n; i++) {
      sums[i] += own[i];
    }
    tacit_free(own);
    tacit_free(again);
  }
  return true;
}

static void open_engine(const fixture_t *f, const variant_t *v, size_t n, engine_t *engine,
                        tacit_fit_part_t *parts) {
  tacit_error_t err;
  *engine = (engine_t){.variant = v, .n = n};
  for (size_t p = 0; p < n; p++) {
    char path[128];
    write_rows(f, "part.csv", p, n);
    snprintf(path, sizeof path, "%s/part.csv", f->folder);
    tacit_fit_t *fit = part_of(v);
    assert_ok(tacit_fit_pack(fit, &(tacit_data_source_t){.path = path}, &engine->packed[p], &engine->sizes[p],
                             &parts[p], &err),
              err);
    tacit_fit_free(fit);
  }
}

static void close_engine(engine_t *engine) {
  for (size_t p = 0; p < engine->n; p++) {
    tacit_free(engine->packed[p]);
  }
  free(engine->last);
}

static tacit_fit_t *seeded(const variant_t *v) {
  tacit_error_t err;
  tacit_fit_t *fit = fixture_new(v->formula, v->schema, v->settings);
  assert_ok(tacit_fit_set(fit, "seed", "11", &err), err);
  return fit;
}

static char *releases_of(tacit_fit_t *fit) {
  char *text;
  tacit_error_t err;
  assert_ok(tacit_fit_releases_json(fit, &text, &err), err);
  tacit_fit_free(fit);
  return text;
}

static void test_parts_release_what_one_process_does(void **state) {
  const fixture_t *f = *state;
  const size_t numbers[] = {1, 3, MAX_PARTS};
  for (size_t v = 0; v < N_VARIANTS; v++) {
    tacit_error_t err;
    char path[128];
    write_rows(f, "all.csv", 0, 1);
    snprintf(path, sizeof path, "%s/all.csv", f->folder);
    tacit_fit_t *fit = seeded(&variants[v]);
    assert_ok(tacit_fit_read(fit, path, &err), err);
    assert_ok(tacit_fit_run(fit, NULL, NULL, &err), err);
    char *alone = releases_of(fit);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
      engine_t engine;
      tacit_fit_part_t parts[MAX_PARTS];
      open_engine(f, &variants[v], numbers[i], &engine, parts);
      fit = seeded(&variants[v]);
      assert_ok(tacit_fit_read_parts(fit, &(tacit_fit_parts_t){numbers[i], parts, sum_parts, &engine}, &err),
                err);
      assert_ok(tacit_fit_run(fit, NULL, NULL, &err), err);
      char *together = releases_of(fit);
      assert_string_equal(together, alone);
      tacit_free(together);
      close_engine(&engine);
    }
    tacit_free(alone);
  }
}

/* Whatever pass it is that the engine cannot finish, nothing of it is released, the last one's included. */
static void test_a_pass_that_failed_releases_nothing(void **state) {
  const fixture_t *f = *state;
  size_t n_passes = 0;
  for (size_t fails_at = 0; fails_at <= n_passes; fails_at++) {
    engine_t engine;
    tacit_fit_part_t parts[MAX_PARTS];
    tacit_error_t err;
    open_engine(f, &variants[0], 2, &engine, parts);
    engine.fails_at = fails_at;
    tacit_fit_t *fit = seeded(&variants[0]);
    assert_ok(tacit_fit_read_parts(fit, &(tacit_fit_parts_t){2, parts, sum_parts, &engine}, &err), err);
    tacit_status_t status = tacit_fit_run(fit, NULL, NULL, &err);
    assert_int_equal(status, fails_at == 0 ? TACIT_OK : TACIT_ERR_STATE);
    n_passes = fails_at == 0 ? engine.n_asked : n_passes;
    assert_int_equal(engine.n_asked, fails_at == 0 ? n_passes : fails_at);      /* it stops there */
    assert_int_equal(fit->releases.n, fails_at == 0 ? n_passes : fails_at - 1); /* the pass's is none */
    assert_true(tacit_fit_spent(fit).epsilon > 0);
    tacit_fit_free(fit);
    close_engine(&engine);
  }
  assert_true(n_passes >= 6);
}

/* Under add-remove the moment at which somebody ends a pass tells how many records there are: not a word of
 * how far it had come. */
static void test_whoever_ends_a_pass_learns_no_time(void **state) {
  const fixture_t *f = *state;
  engine_t engine;
  tacit_fit_part_t parts[MAX_PARTS];
  tacit_error_t err;
  open_engine(f, &variants[3], 2, &engine, parts);
  engine.fails_at = 4;
  tacit_fit_t *fit = fixture_new(variants[3].formula, variants[3].schema, variants[3].settings);
  assert_ok(tacit_fit_read_parts(fit, &(tacit_fit_parts_t){2, parts, sum_parts, &engine}, &err), err);
  assert_int_equal(tacit_fit_run(fit, NULL, NULL, &err), TACIT_ERR_INTERRUPTED);
  assert_int_equal(fit->releases.n, 0);
  assert_null(strstr(tacit_fit_text(fit, TACIT_FIT_TEXT_SPENT), "charged"));
  tacit_fit_free(fit);
  close_engine(&engine);
}

static tacit_status_t sum_of(const variant_t *v, const char *request, const void *packed, size_t n,
                             tacit_error_t *err) {
  int64_t *sums;
  size_t n_sums;
  tacit_fit_t *fit = part_of(v);
  tacit_status_t status = tacit_fit_sum_part(fit, request, packed, n, &sums, &n_sums, err);
  assert_true((status == TACIT_OK) == (sums != NULL));
  assert_null(status == TACIT_OK ? NULL : strchr(err->message, '\n'));
  tacit_free(sums);
  tacit_fit_free(fit);
  return status;
}

static void test_what_is_no_request_or_no_part_is_refused(void **state) {
  const fixture_t *f = *state;
  engine_t engine;
  tacit_fit_part_t parts[MAX_PARTS];
  tacit_error_t err;
  open_engine(f, &variants[0], 1, &engine, parts);
  tacit_fit_t *fit = seeded(&variants[0]);
  assert_ok(tacit_fit_read_parts(fit, &(tacit_fit_parts_t){1, parts, sum_parts, &engine}, &err), err);
  assert_ok(tacit_fit_run(fit, NULL, NULL, &err), err);
  tacit_fit_free(fit);
  const size_t n = engine.sizes[0], length = strlen(engine.last);
  unsigned char *packed = engine.packed[0];
  assert_ok(sum_of(&variants[0], engine.last, packed, n, &err), err);
  for (size_t at = 0; at < length;
       at += 1 + length / 97) { /* cut off anywhere; a letter that does not belong there */
    char *cut = strndup(engine.last, at), *other = strdup(engine.last);
    assert_int_equal(sum_of(&variants[0], cut, packed, n, &err), TACIT_ERR_SYNTAX);
    other[at] = '#';
    assert_int_equal(sum_of(&variants[0], other, packed, n, &err), TACIT_ERR_SYNTAX);
    free(cut);
    free(other);
  }
  for (size_t at = 0; at < n; at += 1 + n / 53) {
    unsigned char *other = malloc(n);
    memcpy(other, packed, n);
    other[at] ^= 1;
    assert_int_equal(sum_of(&variants[0], engine.last, other, n, &err), TACIT_ERR_SYNTAX);
    free(other);
    other = malloc(at + 1);
    memcpy(other, packed, at + 1);
    assert_int_equal(sum_of(&variants[0], engine.last, other, at, &err), TACIT_ERR_SYNTAX);
    free(other);
  }
  assert_int_equal(sum_of(&variants[1], engine.last, packed, n, &err), TACIT_ERR_SYNTAX); /* of another fit */
  assert_non_null(strstr(err.message, "other settings"));
  close_engine(&engine);
}

static void test_what_cannot_be_fitted_in_parts_is_refused(void **state) {
  (void)state;
  static const char *const steps[] = {"family", "bernoulli", "epsilon", "20", "delta",
                                      "1e-5",   "method",    "dp-hmc",  NULL};
  tacit_fit_part_t part = {10, 10};
  tacit_error_t err;
  tacit_fit_t *fit = fixture_new("y ~ x", binary, steps);
  assert_int_equal(tacit_fit_read_parts(fit, &(tacit_fit_parts_t){1, &part, sum_parts, NULL}, &err),
                   TACIT_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "noise-aware"));
  tacit_fit_free(fit);
  fit = fixture_new("y ~ x", binary, of_outcomes);
  assert_int_equal(tacit_fit_read_parts(fit, &(tacit_fit_parts_t){0, &part, sum_parts, NULL}, &err),
                   TACIT_ERR_ARGUMENT);
  tacit_fit_free(fit);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_parts_release_what_one_process_does, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_a_pass_that_failed_releases_nothing, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_whoever_ends_a_pass_learns_no_time, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_what_is_no_request_or_no_part_is_refused, fixture_open,
                                      fixture_close),
      cmocka_unit_test(test_what_cannot_be_fitted_in_parts_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
