/* The parts below the readers: UTF-8 and the dictionary of texts. */
#include "base/memory.h"
#include "data/data_internal.h"
#include "data_testing.h"

/* UTF-8 as RFC 3629, section 3 writes it. */
static size_t encode(uint32_t code, char out[4]) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t k = length - 1; k > 0; k--) {
    out[k] = (char)(0x80 | (code & 0x3F));
    code >>= 6;
  }
  out[0] = (char)((length == 2 ? 0xC0 : length == 3 ? 0xE0 : 0xF0) | code);
  return length;
}

static void test_every_code_point_is_decoded_and_no_surrogate(void **state) {
  for (uint32_t code = 0; code < 0x110000; code++) {
    char text[4];
    uint32_t decoded = 0;
    size_t n = encode(code, text);
    bool is_surrogate = code >= 0xD800 && code < 0xE000;
    size_t length = tacit_data_utf8_decode(text, n, &decoded);
    if (length != (is_surrogate ? 0 : n) || (!is_surrogate && decoded != code)) {
      fail_msg("code point %X", (unsigned)code);
    }
    for (size_t short_of = 0; short_of < n; short_of++) {
      assert_int_equal(tacit_data_utf8_decode(text, short_of, &decoded), 0);
    }
  }
}

static void test_what_is_not_utf8_is_refused(void **state) {
  static const char *const bad[] = {
      "\x80",     "\xC0\x80", "\xC1\xBF",         "\xE0\x9F\xBF",     "\xF0\x8F\xBF\xBF",
      "\xC3\x28", "\xFF",     "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "ok\xE2\x82"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_false(tacit_is_utf8(bad[i], strlen(bad[i])));
  }
  assert_true(tacit_is_utf8("", 0));
  assert_true(tacit_is_utf8("a\u00e9\u20ac\U0001F600", 10));
}

/* Beside a list that is searched from the front. */
static void test_dictionary_agrees_with_a_list(void **state) {
  enum { n_texts = 3000, longest = 3 };
  static struct {
    char text[longest];
    size_t n;
  } list[n_texts];
  tacit_dictionary_t dictionary = {0};
  tacit_error_t err;
  size_t n_list = 0;
  uint64_t seed = 5;
  assert_true(tacit_dictionary_find(&dictionary, "", 0) == SIZE_MAX);
  for (size_t t = 0; t < n_texts; t++) {
    char text[longest] = {0};
    size_t n = draw_below(&seed, longest + 1), place = 0, index;
    for (size_t i = 0; i < n; i++) {
      text[i] = (char)draw_below(&seed, 12); /* NUL among them */
    }
    while (place < n_list && (list[place].n != n || memcmp(list[place].text, text, n) != 0)) {
      place++;
    }
    bool is_new;
    assert_true(tacit_dictionary_find(&dictionary, text, n) == (place < n_list ? place : SIZE_MAX));
    assert_ok(tacit_dictionary_add(&dictionary, text, n, &index, &is_new, &err), err);
    assert_true(index == place && is_new == (place == n_list));
    if (is_new) {
      memcpy(list[n_list].text, text, longest);
      list[n_list++].n = n;
    }
  }
  assert_int_equal(dictionary.n_entries, n_list);
  tacit_dictionary_clear(&dictionary);
}

/* A failed addition leaves what was there, and the next one works. */
static void test_dictionary_survives_failed_allocations(void **state) {
  tacit_dictionary_t dictionary = {0};
  tacit_error_t err;
  size_t index, n_failures = 0;
  bool is_new;
  for (size_t t = 0; t < 2000; t++) {
    char text[16];
    size_t n = (size_t)snprintf(text, sizeof text, "id-%zu", t);
    for (size_t k = 3; k > 0; k--) {
      tacit_alloc_fail_at(k);
      tacit_status_t status = tacit_dictionary_add(&dictionary, text, n, &index, &is_new, &err);
      tacit_alloc_fail_at(0);
      if (status == TACIT_OK) {
        break;
      }
      n_failures++;
      dictionary.texts.failed = false; /* a text that failed to grow stays as it was */
    }
    assert_ok(tacit_dictionary_add(&dictionary, text, n, &index, &is_new, &err), err);
    assert_int_equal(index, t);
  }
  assert_true(n_failures > 0);
  assert_int_equal(tacit_dictionary_find(&dictionary, "id-7", 4), 7);
  tacit_dictionary_clear(&dictionary);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_code_point_is_decoded_and_no_surrogate),
      cmocka_unit_test(test_what_is_not_utf8_is_refused),
      cmocka_unit_test(test_dictionary_agrees_with_a_list),
      cmocka_unit_test(test_dictionary_survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
