/* Releases that are kept: another draw from them is the fit's own, and nothing but they enters it. */
#include <math.h>

#include "base/file.h"
#include "base/memory.h"
#include "fit/fixture.h"

#include "fit/fit_internal.h"
#include "report/report.h"
#include "report/report_internal.h"

static const char count_columns[] =
    "columns:\n  y: {type: integer, lower: 0, upper: 3}\n  x: {type: numeric, lower: -1, upper: 1}\n  z: "
    "{type: numeric, lower: -1, upper: 1}\n";

typedef struct variant {
  const char *formula, *schema;
  const char *const *settings;
} variant_t;

#define CHAINS "epsilon", "4", "delta", "1e-5", "chains", "2", "draws", "20", "warmup", "20"
static const char *const of_outcomes[] = {"family", "bernoulli", CHAINS, NULL};
static const char *const of_counts[] = {"family", "poisson", "method",       "noise-aware",
                                        CHAINS,   "prior",   "normal(0, 1)", NULL};
static const char *const of_numbers[] = {"family", "gaussian", CHAINS, "seed", "7", NULL};
static const char *const of_private_number[] = {"family", "bernoulli", CHAINS, "n-public", "400", NULL};
static const variant_t variants[] = {{"y ~ x + z", fixture_columns, of_outcomes},
                                     {"y ~ x + z", count_columns, of_counts},
                                     {"x ~ y + z", fixture_columns, of_numbers},
                                     {"y ~ x", fixture_private_number, of_private_number}};
enum { N_VARIANTS = sizeof variants / sizeof variants[0] };

/* A fit of the fixture's records, written; owned. */
static tacit_fit_t *fit_of(const fixture_t *f, const variant_t *variant) {
  tacit_error_t err;
  tacit_fit_t *fit = fixture_new(variant->formula, variant->schema, variant->settings);
  assert_ok(tacit_fit_read(fit, f->data, &err), err);
  assert_ok(tacit_fit_run(fit, NULL, NULL, &err), err);
  assert_ok(tacit_fit_write(fit, f->out, &err), err);
  return fit;
}

static void remove_out(const fixture_t *f) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", f->out);
  assert_int_equal(system(command), 0);
}

static bool are_equal(const tacit_draws_t *a, const tacit_draws_t *b) {
  size_t n = a->n_chains * (a->n_warmup + a->n_draws) * a->n_reported;
  return n == b->n_chains * (b->n_warmup + b->n_draws) * b->n_reported &&
         memcmp(a->values, b->values, n * sizeof *a->values) == 0;
}

static void test_a_refit_draws_what_the_fit_drew(void **state) {
  const fixture_t *f = *state;
  static const char *const others[][2] = {{NULL, NULL}, {"seed", "8"}, {"prior", "normal(0, 0.5)"}};
  for (size_t v = 0; v < N_VARIANTS; v++) {
    tacit_fit_t *fit = fit_of(f, &variants[v]), *again;
    tacit_error_t err;
    for (size_t i = 0; i < 3; i++) {
      assert_ok(tacit_fit_reopen(&again, f->out, &err), err);
      assert_ok(others[i][0] == NULL ? TACIT_OK : tacit_fit_set(again, others[i][0], others[i][1], &err),
                err);
      assert_ok(tacit_fit_redraw(again, NULL, NULL, &err), err);
      assert_int_equal(are_equal(tacit_fit_draws(fit), tacit_fit_draws(again)), i == 0);
      assert_int_equal(tacit_fit_is_private(again), tacit_fit_is_private(fit));
      char *mine, *its;
      assert_ok(tacit_fit_privacy_json(fit, &mine, &err), err);
      assert_ok(tacit_fit_privacy_json(again, &its, &err), err);
      assert_string_equal(mine, its); /* computed from the releases, not copied */
      tacit_free(mine);
      tacit_free(its);
      tacit_fit_free(again);
    }
    tacit_fit_free(fit);
    remove_out(f);
  }
}

static void moments(const tacit_draws_t *draws, size_t j, double *mean, double *sd) {
  tacit_summary_t summary;
  tacit_error_t err;
  assert_ok(tacit_draws_summarise(draws, j, &summary, &err), err);
  *mean = summary.mean;
  *sd = summary.sd;
}

/*
 * Scores that were released where a narrow prior held the modes, under a wide prior: as a fit that had it
 * from the beginning. Seeded, so that it cannot fail by chance; taking the scores as if they had been
 * released at the new modes moves the intercept by one sd.
 */
static void test_scores_count_where_they_were_released(void **state) {
  const fixture_t *f = *state;
  static const char *const narrow[] = {
      "family", "bernoulli", "epsilon", "60",   "delta", "1e-5",  "chains",          "2", "warmup",
      "200",    "draws",     "300",     "seed", "3",     "prior", "normal(0, 0.05)", NULL};
  static const char *const wide[] = {"family", "bernoulli", "epsilon", "60",           "delta", "1e-5",
                                     "chains", "2",         "warmup",  "200",          "draws", "300",
                                     "seed",   "4",         "prior",   "normal(0, 1)", NULL};
  const variant_t first = {"y ~ x + z", fixture_columns, narrow},
                  second = {"y ~ x + z", fixture_columns, wide};
  tacit_fit_t *fit = fit_of(f, &first), *again, *direct;
  tacit_error_t err;
  assert_ok(tacit_fit_reopen(&again, f->out, &err), err);
  assert_ok(tacit_fit_set(again, "prior", "normal(0, 1)", &err), err);
  assert_ok(tacit_fit_redraw(again, NULL, NULL, &err), err);
  remove_out(f);
  direct = fit_of(f, &second);
  for (size_t j = 0; j < 3; j++) {
    double before, mean, expected, sd, unused;
    moments(tacit_fit_draws(fit), j, &before, &unused);
    moments(tacit_fit_draws(again), j, &mean, &unused);
    moments(tacit_fit_draws(direct), j, &expected, &sd);
    assert_close(mean, expected, 0.5 * sd);
  }
  tacit_fit_free(fit);
  tacit_fit_free(again);
  tacit_fit_free(direct);
}

/* Two fits of the fixture's records with seeds of their own, written to a and b in its folder. */
static void fit_sites(const fixture_t *f, const char *epsilon, char a[96], char b[96]) {
  const char *const first[] = {"family", "bernoulli", "epsilon", epsilon,        "delta", "1e-5",
                               "chains", "2",         "warmup",  "150",          "draws", "250",
                               "seed",   "11",        "prior",   "normal(0, 1)", NULL};
  const char *const second[] = {"family", "bernoulli", "epsilon", epsilon,        "delta", "1e-5",
                                "chains", "2",         "warmup",  "150",          "draws", "250",
                                "seed",   "12",        "prior",   "normal(0, 1)", NULL};
  const char *const *const settings[] = {first, second};
  char *const paths[] = {a, b};
  tacit_error_t err;
  for (size_t i = 0; i < 2; i++) {
    const variant_t variant = {"y ~ x + z", fixture_columns, settings[i]};
    tacit_fit_t *fit = fit_of(f, &variant);
    snprintf(paths[i], 96, "%s/site%zu-%s", f->folder, i, epsilon);
    assert_ok(tacit_fit_write(fit, paths[i], &err), err);
    tacit_fit_free(fit);
    remove_out(f);
  }
}

/*
 * Where releases say next to nothing the posterior of two sites is the prior, not its square; where they say
 * nearly all, precisions add up. Seeded: it cannot fail by chance. With the prior in both likelihoods the
 * first sds are 0.6 to 0.7 times as large.
 */
static void test_sites_have_one_prior_and_all_likelihoods(void **state) {
  const fixture_t *f = *state;
  char a[96], b[96];
  for (int is_telling = 0; is_telling < 2; is_telling++) {
    tacit_error_t err;
    tacit_fit_t *both, *one, *other;
    fit_sites(f, is_telling ? "40" : "0.001", a, b);
    const char *const paths[] = {a, b}, *const same[] = {a, a};
    assert_ok(tacit_fit_combine(&both, paths, 2, false, &err), err);
    assert_ok(tacit_fit_redraw(both, NULL, NULL, &err), err);
    assert_ok(tacit_fit_reopen(&one, a, &err), err);
    assert_ok(tacit_fit_redraw(one, NULL, NULL, &err), err);
    assert_ok(tacit_fit_reopen(&other, b, &err), err);
    assert_ok(tacit_fit_redraw(other, NULL, NULL, &err), err);
    for (size_t j = 0; j < 3; j++) {
      double mean, sd, mean_a, sd_a, mean_b, sd_b;
      moments(tacit_fit_draws(both), j, &mean, &sd);
      moments(tacit_fit_draws(one), j, &mean_a, &sd_a);
      moments(tacit_fit_draws(other), j, &mean_b, &sd_b);
      assert_close(sd, is_telling ? sd_a / sqrt(2) : sd_a, 0.12 * sd_a);
      assert_close(mean, (mean_a + mean_b) / 2, is_telling ? 0.3 * sd_a : INFINITY);
    }
    tacit_fit_free(both);
    assert_ok(tacit_fit_combine(&both, same, 2, false, &err), err);
    assert_int_equal(tacit_fit_redraw(both, NULL, NULL, &err),
                     TACIT_ERR_ARGUMENT); /* its releases would count twice */
    tacit_fit_free(both);
    tacit_fit_free(one);
    tacit_fit_free(other);
  }
}

static void test_sites_add_up_what_they_cost(void **state) {
  const fixture_t *f = *state;
  char a[96], b[96];
  tacit_fit_t *fits[2];
  tacit_error_t err;
  for (size_t i = 0; i < 2; i++) { /* not seeded: what is not private has no cost */
    fits[i] = fit_of(f, &variants[0]);
    char *const path = i == 0 ? a : b;
    snprintf(path, 96, "%s/private%zu", f->folder, i);
    assert_ok(tacit_fit_write(fits[i], path, &err), err);
    tacit_fit_free(fits[i]);
    remove_out(f);
  }
  const char *const paths[] = {a, b};
  for (int is_disjoint = 0; is_disjoint < 2; is_disjoint++) {
    tacit_fit_t *both;
    char *text;
    assert_ok(tacit_fit_combine(&both, paths, 2, is_disjoint, &err), err);
    assert_ok(tacit_fit_redraw(both, NULL, NULL, &err), err);
    assert_ok(tacit_fit_privacy_json(both, &text, &err), err);
    assert_non_null(strstr(text, is_disjoint ? "\"epsilon\": 4," : "\"epsilon\": 8,"));
    assert_non_null(strstr(text, is_disjoint ? "\"delta\": 1e-05," : "\"delta\": 2e-05,"));
    assert_non_null(strstr(text, "\"post_processing\": true"));
    tacit_free(text);
    tacit_fit_free(both);
  }
}

static void test_what_decided_the_releases_cannot_be_changed(void **state) {
  const fixture_t *f = *state;
  static const char *const fixed[][2] = {
      {"epsilon", "9"}, {"family", "poisson"}, {"method", "dp-hmc"}, {"ledger", "l"}, {"exposed", "true"}};
  tacit_fit_t *fit = fit_of(f, &variants[0]), *again;
  tacit_error_t err;
  assert_int_equal(tacit_fit_redraw(fit, NULL, NULL, &err), TACIT_ERR_STATE);
  assert_ok(tacit_fit_reopen(&again, f->out, &err), err);
  for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
    assert_int_equal(tacit_fit_set(again, fixed[i][0], fixed[i][1], &err), TACIT_ERR_ARGUMENT);
  }
  tacit_fit_free(again);
  tacit_fit_free(fit);
}

/* The bytes of releases.json with the first `from` replaced by `to`. */
static char *edited(const char *bytes, const char *from, const char *to) {
  const char *at = strstr(bytes, from);
  assert_non_null(at);
  size_t n = strlen(bytes) + strlen(to) + 1, head = (size_t)(at - bytes);
  char *copy = tacit_alloc(n, 1);
  snprintf(copy, n, "%.*s%s%s", (int)head, bytes, to, at + strlen(from));
  return copy;
}

static void test_a_file_is_read_strictly(void **state) {
  const fixture_t *f = *state;
  static const struct {
    const char *from, *to, *field;
  } faults[] = {{"tacit releases", "releases", "format"},
                {"\"version\": 1", "\"version\": 2", "version"},
                {"\"unit\"", "\"units\"", "releases"},
                {"\"private\": true", "\"private\": 1", "private"},
                {"substitute\",\n  \"unit", "swap\",\n  \"unit", "relation"},
                {"\"n\": 400", "\"n\": null", "n"},
                {"\"n\": 400", "\"n\": 0", "n"},
                {"\"features\": 3", "\"features\": 3.5", "features"},
                {"\"key\": \"", "\"key\": \"0", "key"},
                {"\"noise_sd\": ", "\"noise_sd\": -", "noise_sd"},
                {"\"noise_multiplier\": ", "\"noise_multiplier\": -", "noise_multiplier"},
                {"\"radius\": [", "\"radius\": [-", "radius"},
                {"\"values\": [", "\"values\": [null, ", "values"},
                {"\"label\": \"", "\"name\": \"x\", \"label\": \"", "releases"},
                {"{\n", "{\n\"n\": 3,", "releases"},
                {"\"family\": [\"bernoulli\"]", "\"family\": \"bernoulli\"", "settings"}};
  tacit_fit_t *fit = fit_of(f, &variants[0]);
  tacit_released_t kept;
  tacit_text_t text = {0};
  tacit_error_t err;
  assert_ok(tacit_released_read(&kept, f->out, &err), err);
  tacit_released_json(&kept, &text);
  tacit_released_clear(&kept);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    char *bytes = edited(text.data, faults[i].from, faults[i].to);
    assert_int_equal(tacit_released_parse(&kept, bytes, strlen(bytes), "f", &err), TACIT_ERR_SYNTAX);
    assert_string_equal(err.field, faults[i].field);
    tacit_free(bytes);
  }
  for (size_t n = 0; n < text.length - 2; n += 97) { /* a file that was cut */
    assert_int_equal(tacit_released_parse(&kept, text.data, n, "f", &err), TACIT_ERR_SYNTAX);
  }
  tacit_text_clear(&text);
  tacit_fit_free(fit);
}

/* Numbers that were edited so that the file parses, but says what cannot be. */
static void test_releases_of_another_fit_are_refused(void **state) {
  const fixture_t *f = *state;
  static const char *const faults[][2] = {
      {"\"epsilon\": [\"4\"]", "\"epsilon\": [\"0.5\"]"}, /* the releases cost more */
      {"y ~ x + z", "y ~ x"},
      {"\"label\": \"information\"", "\"label\": \"formation\""},
      {"\"unit\": \"row\"", "\"unit\": \"person\""}};
  tacit_fit_t *fit = fit_of(f, &variants[0]), *again;
  tacit_released_t kept;
  tacit_text_t text = {0}, path = {0};
  tacit_error_t err;
  assert_ok(tacit_released_read(&kept, f->out, &err), err);
  tacit_released_json(&kept, &text);
  tacit_released_clear(&kept);
  tacit_text_printf(&path, "%s/releases.json", f->out);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    char *bytes = edited(text.data, faults[i][0], faults[i][1]);
    assert_ok(tacit_file_write(path.data, bytes, strlen(bytes), &err), err);
    assert_ok(tacit_fit_reopen(&again, f->out, &err), err);
    assert_int_equal(tacit_fit_redraw(again, NULL, NULL, &err), TACIT_ERR_DATA);
    tacit_fit_free(again);
    tacit_free(bytes);
  }
  tacit_text_clear(&text);
  tacit_text_clear(&path);
  tacit_fit_free(fit);
}

static void test_every_failed_allocation_of_a_refit_is_an_error_return(void **state) {
  const fixture_t *f = *state;
  tacit_fit_t *fit = fit_of(f, &variants[0]), *again;
  tacit_status_t status = TACIT_ERR_MEMORY;
  tacit_error_t err;
  size_t k = 1;
  for (; status != TACIT_OK; k += 1 + k / 50) {
    tacit_alloc_fail_at(k);
    status = tacit_fit_reopen(&again, f->out, &err);
    if (status == TACIT_OK) {
      status = tacit_fit_redraw(again, NULL, NULL, &err);
    }
    tacit_alloc_fail_at(0);
    tacit_fit_free(again);
    assert_true(status == TACIT_OK || status == TACIT_ERR_MEMORY);
  }
  assert_true(k > 100);
  tacit_fit_free(fit);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_refit_draws_what_the_fit_drew, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_scores_count_where_they_were_released, fixture_open,
                                      fixture_close),
      cmocka_unit_test_setup_teardown(test_sites_have_one_prior_and_all_likelihoods, fixture_open,
                                      fixture_close),
      cmocka_unit_test_setup_teardown(test_sites_add_up_what_they_cost, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_what_decided_the_releases_cannot_be_changed, fixture_open,
                                      fixture_close),
      cmocka_unit_test_setup_teardown(test_a_file_is_read_strictly, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_releases_of_another_fit_are_refused, fixture_open, fixture_close),
      cmocka_unit_test_setup_teardown(test_every_failed_allocation_of_a_refit_is_an_error_return,
                                      fixture_open, fixture_close)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
