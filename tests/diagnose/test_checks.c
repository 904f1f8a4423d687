/* Checks: the table is whole, verdicts follow thresholds, one list holds everything, problems first. */
#include <string.h>

#include "diagnose/diagnose.h"
#include "testing.h"

static void test_table_is_whole(void **state) {
  for (int i = 0; i < TACIT_N_CHECKS; i++) {
    const tacit_check_info_t *info = tacit_check_info((tacit_check_id_t)i);
    tacit_check_id_t found;
    assert_non_null(info->name);
    assert_true(tacit_check_find(info->name, &found) == info && (int)found == i);
    assert_true(strlen(info->statistic) > 5 && strlen(info->what) > 5 && strlen(info->advice) > 5);
    assert_true(isfinite(info->threshold) && info->false_alarm >= 0 &&
                info->false_alarm < (info->severity == TACIT_SEVERITY_PROBLEM ? 0.05 : 0.2));
    assert_true(info->severity == TACIT_SEVERITY_WARNING || info->severity == TACIT_SEVERITY_PROBLEM);
    double off = info->is_below ? -1e-6 : 1e-6;
    assert_true(tacit_check_is_flagged(&(tacit_check_t){(tacit_check_id_t)i, 0, info->threshold + off, ""}));
    assert_false(tacit_check_is_flagged(&(tacit_check_t){(tacit_check_id_t)i, 0, info->threshold - off, ""}));
  }
  tacit_check_id_t id;
  assert_null(tacit_check_find("no-such-check", &id));
  assert_null(tacit_check_info(TACIT_N_CHECKS));
}

/* Two chains of 400 draws that agree, of two quantities. */
static void good_draws(tacit_draws_t *draws) {
  tacit_error_t err;
  assert_ok(tacit_draws_init(draws, 2, 0, 400, 2, &err), err);
  uint64_t bits = 7;
  for (size_t i = 0; i < 2 * 400 * 2; i++) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    draws->values[i] = (double)(bits >> 33) * 0x1p-31;
  }
  draws->n_saved = 400;
}

static void test_one_list_with_problems_first(void **state) {
  static const char *const labels[] = {"Intercept", "age"};
  tacit_draws_t draws;
  tacit_findings_t findings;
  tacit_error_t err;
  tacit_checks_t checks = {0};
  good_draws(&draws);
  tacit_checks_add(&checks, TACIT_CHECK_WIDE_BOUNDS, 1, 0.05);
  tacit_checks_add(&checks, TACIT_CHECK_PRIOR_SHARE, 1, NAN); /* unknown: not there */
  tacit_checks_add(&checks, TACIT_CHECK_FEW_POSITIVES, SIZE_MAX, 80);
  tacit_checks_add(&checks, TACIT_CHECK_SCALE_VAGUE, 1, 0.9);
  tacit_checks_add(&checks, TACIT_CHECK_SCALE_UNKNOWN, 1, 0.9); /* said once */
  assert_int_equal(checks.n, 4);
  assert_ok(tacit_diagnose_fit(&draws, labels, NULL, &checks, &findings, &err), err);
  assert_int_equal(findings.n, 2);
  assert_int_equal(findings.worst, TACIT_SEVERITY_PROBLEM);
  assert_true(findings.items[0].severity == TACIT_SEVERITY_PROBLEM &&
              strstr(findings.items[0].what, "age: ") == findings.items[0].what);
  assert_true(findings.items[1].severity == TACIT_SEVERITY_WARNING &&
              strstr(findings.items[1].what, "0.05") != NULL);
  char text[512], tiny[20];
  tacit_findings_looked_at(&checks, sizeof text, text);
  assert_non_null(strstr(text, "few-positives"));
  assert_null(strstr(text, "prior-share"));
  tacit_findings_looked_at(&checks, sizeof tiny, tiny);
  assert_true(strlen(tiny) < sizeof tiny);
  tacit_draws_clear(&draws);
}

static void test_a_fit_that_ended_far_has_no_intervals(void **state) {
  tacit_draws_t draws;
  tacit_error_t err;
  tacit_summary_t summary;
  static tacit_evidence_t evidence = {.n_terms = 1, .prior_sd = {2.5}, .prior_share = {0.3}};
  good_draws(&draws);
  tacit_checks_add(&evidence.checks, TACIT_CHECK_FAR, SIZE_MAX, 4.9);
  assert_ok(tacit_draws_summarise_with(&draws, 0, &evidence, &summary, &err), err);
  assert_true(isfinite(summary.q5) && isfinite(summary.sd) && summary.prior_sd > 2 &&
              summary.prior_share > 0.2);
  assert_ok(tacit_draws_summarise_with(&draws, 1, &evidence, &summary, &err), err);
  assert_true(isnan(summary.prior_sd) && isnan(summary.prior_share));
  evidence.checks.items[0].statistic = 5.1;
  assert_ok(tacit_draws_summarise_with(&draws, 0, &evidence, &summary, &err), err);
  assert_true(isfinite(summary.mean) && isnan(summary.q5) && isnan(summary.q95) && isnan(summary.sd));
  tacit_draws_clear(&draws);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_table_is_whole),
                                     cmocka_unit_test(test_one_list_with_problems_first),
                                     cmocka_unit_test(test_a_fit_that_ended_far_has_no_intervals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
