/* Numbers, quoting and axes. */
#include "testing.h"

#include <locale.h>
#include <float.h>
#include <string.h>

#include "report/report_internal.h"

static char *take(tacit_text_t *text) {
  static char copies[8][1024];
  static int next;
  assert_false(text->failed);
  char *copy = copies[next++ % 8];
  snprintf(copy, sizeof copies[0], "%s", text->data != NULL ? text->data : "");
  tacit_text_clear(text);
  return copy;
}

static char *number(double x, int digits) {
  tacit_text_t text = {0};
  tacit_text_number(&text, x, digits);
  return take(&text);
}

static char *fixed(double x, int decimals) {
  tacit_text_t text = {0};
  tacit_text_fixed(&text, x, decimals);
  return take(&text);
}

static char *estimate(double x, double sd) {
  tacit_text_t text = {0};
  tacit_text_estimate(&text, x, sd);
  return take(&text);
}

static char *significant(double x, int digits) {
  tacit_text_t text = {0};
  tacit_text_significant(&text, x, digits);
  return take(&text);
}

static char *number_up(double x, int digits) {
  tacit_text_t text = {0};
  tacit_text_number_up(&text, x, digits);
  return take(&text);
}

static void test_number_seventeen_digits_round_trip(void **state) {
  assert_string_equal(number(0, 17), "0");
  assert_string_equal(number(12, 17), "12");
  assert_string_equal(number(0.5, 17), "0.5");
  assert_string_equal(number(-1e-300, 17), "-1e-300");
  assert_string_equal(number(NAN, 17), "nan");
  assert_string_equal(number(-NAN, 17), "nan");
  assert_string_equal(number(-INFINITY, 17), "-inf");
  uint64_t bits = 7;
  for (int i = 0; i < 2000; i++) {
    bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    double x;
    memcpy(&x, &bits, sizeof x);
    if (isfinite(x)) {
      tacit_text_t shortest = {0};
      tacit_text_shortest(&shortest, x);
      assert_true(strtod(number(x, 17), NULL) == x && strtod(shortest.data, NULL) == x);
      tacit_text_clear(&shortest);
    }
  }
}

static void test_number_comma_locale_still_writes_points(void **state) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
  const char *found = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && found == NULL; i++) {
    found = setlocale(LC_NUMERIC, names[i]);
  }
  if (found == NULL) {
    skip();
  }
  char printed[16];
  snprintf(printed, sizeof printed, "%.1f", 0.5);
  char *a = number(1234.5, 17), *b = fixed(-0.25, 2), *c = number_up(1.23456, 3);
  setlocale(LC_NUMERIC, "C");
  assert_string_equal(printed, "0,5");
  assert_string_equal(a, "1234.5");
  assert_string_equal(b, "-0.25");
  assert_string_equal(c, "1.24");
}

static void test_number_up_is_never_below(void **state) {
  assert_string_equal(number_up(7.99412, 4), "7.995");
  assert_string_equal(number_up(7.994, 4), "7.994");
  assert_string_equal(number_up(0, 4), "0");
  assert_string_equal(number_up(1e-6, 4), "1e-06");
  assert_string_equal(number_up(9.9999, 3), "10");
  uint64_t bits = 9;
  for (int i = 0; i < 20000; i++) {
    bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    double x = ldexp((double)(bits >> 11) * 0x1p-53, (int)(bits % 600) - 300);
    double up = strtod(number_up(x, 5), NULL);
    assert_true(up >= x);
    assert_true(up <= x * (1 + 1.1e-4));
  }
  assert_true(strtod(number_up(0x1p-1074, 5), NULL) >= 0x1p-1074);
}

static void test_fixed_and_significant(void **state) {
  assert_string_equal(fixed(-0.004, 2), "0.00");
  assert_string_equal(fixed(-0.006, 2), "-0.01");
  assert_string_equal(fixed(NAN, 2), "NA");
  assert_string_equal(fixed(INFINITY, 2), "Inf");
  assert_string_equal(fixed(-INFINITY, 2), "-Inf");
  assert_int_equal(strlen(fixed(-DBL_MAX, 3)), 1 + 309 + 4);
  assert_string_equal(significant(0.0012345, 2), "0.0012");
  assert_string_equal(significant(0, 2), "0.0");
  assert_string_equal(significant(123456, 2), "123456");
  assert_string_equal(significant(1.5e-9, 2), "1.5e-09");
  assert_string_equal(significant(1.5e12, 2), "1.5e+12");
}

static void test_estimate_digits_follow_the_spread(void **state) {
  assert_string_equal(estimate(0.123456, 0.0234), "0.1235");
  assert_string_equal(estimate(-4.2, 0.113), "-4.200");
  assert_string_equal(estimate(123456.7, 12.3), "123456.7");
  assert_string_equal(estimate(123456.7, 4321), "123457");
  assert_string_equal(estimate(1.2345e-8, 3e-9), "1.235e-08");
  assert_string_equal(estimate(2, 0), "2.000");
  assert_string_equal(estimate(2, NAN), "2.000");
  assert_string_equal(estimate(NAN, 1), "NA");
}

static char *quoted(void (*quote)(tacit_text_t *, const char *), const char *s) {
  tacit_text_t text = {0};
  quote(&text, s);
  return take(&text);
}

static void test_json_string_escapes_and_repairs(void **state) {
  assert_string_equal(quoted(tacit_text_json_string, "a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  assert_string_equal(quoted(tacit_text_json_string, "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
                      "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  /* Stray continuation, overlong, surrogate, cut short. */
  assert_string_equal(quoted(tacit_text_json_string, "\x80|\xC0\x80|\xED\xA0\x80|\xE2\x82"),
                      "\"\xEF\xBF\xBD|\xEF\xBF\xBD\xEF\xBF\xBD|\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD|"
                      "\xEF\xBF\xBD\xEF\xBF\xBD\"");
  assert_string_equal(quoted(tacit_text_json_string, ""), "\"\"");
}

static void test_html_escapes_everything(void **state) {
  assert_string_equal(quoted(tacit_text_html, "<script>alert('x')</script> & \"q\"\n"),
                      "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;q&quot; ");
  tacit_text_t text = {0};
  tacit_text_html_cut(&text, "abcdefgh", 5);
  assert_string_equal(take(&text), "abcd\xE2\x80\xA6");
  tacit_text_html_cut(&text, "abcde", 5);
  assert_string_equal(take(&text), "abcde");
}

static void test_yaml_scalar_quotes_what_would_change_type(void **state) {
  static const char *const plain[] = {"8",    "-1",    "1e-6",   "0.5",    "0",
                                      "true", "false", "normal", "dp-hmc", "a/b.yaml"};
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
    assert_string_equal(quoted(tacit_text_yaml_scalar, plain[i]), plain[i]);
  }
  static const char *const odd[] = {"",     "yes",   "No",         "off",  "null", "~",   "010",
                                    "0x10", "1:30",  "2020-01-01", "a: b", "a #b", "- a", "normal(0, 2.5)",
                                    "*x",   "1_000", ".5",         "nan",  "é",    "{a}", "y"};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    char expected[64];
    snprintf(expected, sizeof expected, "\"%s\"", odd[i]);
    assert_string_equal(quoted(tacit_text_yaml_scalar, odd[i]), expected);
  }
}

static void test_header_value_hides_what_readers_look_for_and_comes_back(void **state) {
  static const char *const values[] = {"log(flc)",
                                       "a = b",
                                       "100%",
                                       " edge ",
                                       "x\ny",
                                       "(Total)",
                                       "t (Default)",
                                       "inverse mass matrix",
                                       "fixed_param diag_e",
                                       "Elapsed Time",
                                       "%41",
                                       "",
                                       "\xC3\xA9",
                                       "\xFF"};
  static const char *const forbidden[] = {"=",           "(Total)", "(Default)", "inverse mass",
                                          "fixed_param", "diag_e",  "\n",        "Elapsed Time"};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    char *encoded = quoted(tacit_text_header_value, values[i]);
    for (size_t k = 0; k < sizeof forbidden / sizeof forbidden[0]; k++) {
      assert_null(strstr(encoded, forbidden[k]));
    }
    assert_true(encoded[0] != ' ' && (encoded[0] == '\0' || encoded[strlen(encoded) - 1] != ' '));
    tacit_header_value_decode(encoded);
    assert_string_equal(encoded, values[i]);
  }
  assert_string_equal(quoted(tacit_text_header_value, "log(flc)"), "log(flc)");
  char odd[] = "a%zz%4%00";
  tacit_header_value_decode(odd);
  assert_string_equal(odd, "a%zz%4%00");
}

static void test_width_counts_columns(void **state) {
  assert_int_equal(tacit_utf8_width(""), 0);
  assert_int_equal(tacit_utf8_width("abc"), 3);
  assert_int_equal(tacit_utf8_width("\xC3\xA9"), 1);
  assert_int_equal(tacit_utf8_width("e\xCC\x81"), 1);
  assert_int_equal(tacit_utf8_width("\xE6\x97\xA5\xE6\x9C\xAC"), 4);
  assert_int_equal(tacit_utf8_width("\xFF"), 1);
}

static void test_axis_ticks_are_round_and_inside(void **state) {
  static const double ranges[][2] = {
      {0, 1}, {-4.7, 3.1},     {1e6, 1e6 + 3},      {-1e-9, 2e-9},          {5, 5},
      {0, 0}, {-1e300, 1e300}, {-DBL_MAX, DBL_MAX}, {0x1p-1074, 0x1p-1074}, {DBL_MAX, DBL_MAX}};
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    tacit_axis_t axis = tacit_axis_make(ranges[i][0], ranges[i][1], 5);
    assert_true(axis.low < axis.high && axis.step > 0);
    assert_in_range(axis.n_ticks, 1, 12);
    for (int k = 0; k < axis.n_ticks; k++) {
      double tick = tacit_axis_tick(&axis, k), slack = 1e-6 * (axis.high - axis.low);
      assert_true(tick >= axis.low - slack && tick <= axis.high + slack);
    }
  }
  tacit_axis_t axis = tacit_axis_make(-0.31, 0.52, 4);
  tacit_text_t text = {0};
  for (int k = 0; k < axis.n_ticks; k++) {
    tacit_axis_label(&text, &axis, k);
    tacit_text_append(&text, " ", 1);
  }
  assert_string_equal(take(&text), "0.0 0.5 ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_number_seventeen_digits_round_trip),
      cmocka_unit_test(test_number_comma_locale_still_writes_points),
      cmocka_unit_test(test_number_up_is_never_below),
      cmocka_unit_test(test_fixed_and_significant),
      cmocka_unit_test(test_estimate_digits_follow_the_spread),
      cmocka_unit_test(test_json_string_escapes_and_repairs),
      cmocka_unit_test(test_html_escapes_everything),
      cmocka_unit_test(test_yaml_scalar_quotes_what_would_change_type),
      cmocka_unit_test(test_header_value_hides_what_readers_look_for_and_comes_back),
      cmocka_unit_test(test_width_counts_columns),
      cmocka_unit_test(test_axis_ticks_are_round_and_inside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
