/* CSV again: random tables, in random ones of all legal spellings, are read back exactly. */
#include <zlib.h>

#include "data_testing.h"

static const char *const hard_schema = "columns:\n  x: {type: numeric, lower: -10, upper: 10}\n"
                                       "  \"k \\\"1\\\"\": {type: integer, lower: -9, upper: 9}\n"
                                       "  s: {type: categorical, levels: [plain, \"a,b\", \"\\\"q\\\"\", "
                                       "\"two\\nlines\", \"tab\\there\", \"\u00e9\",\n"
                                       "      ' NA']}\n"
                                       "  y: {type: binary}\n";
static const char *const hard_names[] = {"x", "k \"1\"", "s", "y", "ignored"};
static const char *const hard_levels[] = {"plain",     "a,b",    "\"q\"", "two\nlines",
                                          "tab\there", "\u00e9", " NA"};

/* A field as it is where that is legal and chance says so, else quoted. */
static void append_field(tacit_text_t *text, const char *field, char separator, uint64_t *seed) {
  const char special[] = {'"', '\n', '\r', separator, '\0'};
  if (strpbrk(field, special) == NULL && draw_below(seed, 2) == 0) {
    tacit_text_append(text, field, strlen(field));
    return;
  }
  tacit_text_append(text, "\"", 1);
  for (const char *s = field; *s != '\0'; s++) {
    tacit_text_append(text, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
  }
  tacit_text_append(text, "\"", 1);
}

static void draw_field(size_t column, double value, char out[64], uint64_t *seed) {
  static const char *const numbers[] = {"%.17g", "%+.17g", " %.17g ", "%.17e"};
  static const char *const words[] = {"", "NA", "x\r\ny,z", "\t,", "\"\"", "0"};
  if (column == 0 || (column == 1 && draw_below(seed, 2) == 0)) {
    snprintf(out, 64, numbers[draw_below(seed, 4)], value); /* the tests run in the C locale */
  } else if (column == 1) {
    snprintf(out, 64, "%.1f", value);
  } else if (column == 2) {
    snprintf(out, 64, "%s", hard_levels[(size_t)value]);
  } else if (column == 3) {
    snprintf(out, 64, "%s", draw_below(seed, 2) ? (value > 0 ? "TRUE" : "FALSE") : (value > 0 ? "1" : "0.0"));
  } else {
    snprintf(out, 64, "%s", words[draw_below(seed, 6)]);
  }
}

static double draw_value(size_t column, uint64_t *seed) {
  switch (column) {
  case 0:
    return ((double)draw_below(seed, 1u << 31) - 0x1p30) * 0x1p-27 / (double)(1 + draw_below(seed, 1000));
  case 1:
    return (double)draw_below(seed, 19) - 9;
  case 2:
    return (double)draw_below(seed, 7);
  default:
    return (double)draw_below(seed, 2);
  }
}

enum { hard_columns = 5, hard_rows = 40 };

static void write_spelling(const tacit_text_t *text, bool is_zipped) {
  if (!is_zipped) {
    write_file(text->data, text->length);
    return;
  }
  gzFile out = gzopen(file, "wb");
  assert_int_equal(gzwrite(out, text->data, (unsigned)text->length), text->length);
  assert_int_equal(gzclose(out), Z_OK);
}

/* Write a table of n_rows rows in some legal spelling. */
static void spell(size_t n_rows, double values[hard_rows][hard_columns], uint64_t *seed) {
  char separator = draw_below(seed, 2) ? ',' : '\t';
  size_t order[hard_columns] = {0, 1, 2, 3, 4}, n_columns = 4 + draw_below(seed, 2);
  for (size_t i = n_columns - 1; i > 0; i--) {
    size_t j = draw_below(seed, i + 1), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  tacit_text_t text = {0};
  tacit_text_printf(&text, "%s", draw_below(seed, 2) ? "\xEF\xBB\xBF" : "");
  for (size_t row = 0; row <= n_rows; row++) {
    for (size_t i = 0; i < n_columns; i++) {
      char field[64];
      if (row > 0) {
        draw_field(order[i], values[row - 1][order[i]], field, seed);
      }
      append_field(&text, row > 0 ? field : hard_names[order[i]], separator, seed);
      tacit_text_append(&text, &separator, i + 1 < n_columns);
    }
    tacit_text_printf(&text, "%s",
                      row == n_rows && draw_below(seed, 2) ? ""
                      : draw_below(seed, 2)                ? "\r\n"
                                                           : "\n");
  }
  if (text.data[text.length - 1] == '\n') {
    append_repeated(&text, "\n", draw_below(seed, 3));
  }
  write_spelling(&text, draw_below(seed, 2));
  tacit_text_clear(&text);
}

static void test_random_spellings_read_back(void **state) {
  tacit_schema_t *schema = schema_of(hard_schema);
  size_t n_tables = (size_t)(400 * testing_multiplier());
  for (size_t t = 0; t < n_tables; t++) {
    uint64_t seed = t;
    double values[hard_rows][hard_columns];
    size_t n_rows = 1 + draw_below(&seed, hard_rows);
    for (size_t i = 0; i < n_rows; i++) {
      for (size_t j = 0; j < hard_columns; j++) {
        values[i][j] = draw_value(j, &seed);
      }
    }
    spell(n_rows, values, &seed);
    tacit_table_t *table;
    tacit_error_t err;
    if (tacit_table_read(&table, file, schema, NULL, 0, NULL, &err) != TACIT_OK) {
      fail_msg("seed %zu: %s", t, err.message);
    }
    assert_int_equal(tacit_table_n_rows(table), n_rows);
    for (size_t j = 0; j < 4; j++) {
      const double *column = tacit_table_column(table, hard_names[j]);
      for (size_t i = 0; i < n_rows; i++) {
        if (column[i] != values[i][j]) {
          fail_msg("seed %zu: row %zu of %s is %.17g, not %.17g", t, i, hard_names[j], column[i],
                   values[i][j]);
        }
      }
    }
    tacit_table_free(table);
  }
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_spellings_read_back),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
