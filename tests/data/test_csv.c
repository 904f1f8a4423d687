/* CSV in every legal spelling, its limits, what is refused with its place, and files that are none. */
#include <errno.h>
#include <iconv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "base/memory.h"
#include "data/records.h"
#include "data_testing.h"

static void test_spellings_of_the_same_table_read_alike(void **state) {
  static const char *const spellings[] = {
      "x,k,s,y\n1.5,3,F,1\n-2,0,\"a \"\"b\"\"\",0\n",
      "x,k,s,y\r\n1.5,3,F,1\r\n-2,0,\"a \"\"b\"\"\",0\r\n",
      "x,k,s,y\n1.5,3,F,1\n-2,0,\"a \"\"b\"\"\",0",
      "\xEF\xBB\xBFx,k,s,y\n\"1.5\",\"3\",\"F\",\"1\"\n\"-2\",\"0\",\"a \"\"b\"\"\",\"0\"\n\n\n",
      "x;k;s;y\n1,5;3;F;1\n-2;0;\"a \"\"b\"\"\";0\n",
      "x\tk\ts\ty\n1.5\t3\tF\t1\n-2\t0\t\"a \"\"b\"\"\"\t0\n",
      "y,other,s,k,x\nTRUE,\"new\nline\",F,3.0,+1.5\nFALSE,,\"a \"\"b\"\"\",0, -2e0 \n",
      "x,k,s,y\n15e-1,3,F,1\n-0.2e1,0,\"a \"\"b\"\"\",0\n",
      "x,k,\"a\ttab\",s,y\n1.5,3,,F,1\n-2,0,,\"a \"\"b\"\"\",0\n",
  };
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
    tacit_table_t *table;
    tacit_error_t err;
    assert_ok(read_text(spellings[i], strlen(spellings[i]), &table, NULL, &err), err);
    assert_int_equal(tacit_table_n_rows(table), 2);
    const double *x = tacit_table_column(table, "x"), *k = tacit_table_column(table, "k"),
                 *s = tacit_table_column(table, "s"), *y = tacit_table_column(table, "y");
    assert_true(x[0] == 1.5 && x[1] == -2 && k[0] == 3 && k[1] == 0);
    assert_true(s[0] == 0 && s[1] == 2 && y[0] == 1 && y[1] == 0);
    assert_null(tacit_table_column(table, "other"));
    size_t n_units;
    assert_null(tacit_table_unit_offsets(table, &n_units));
    assert_int_equal(n_units, 2);
    tacit_table_free(table);
  }
}

static const struct {
  const char *text, *expected;
} bad[] = {
    {"", "is empty: expected a header row"},
    {"x,k,s,y\n", "has no records: under relation substitute"},
    {"x,k,s,y\n\n\n", "has no records: under relation substitute"},
    {"x,k,s,y\n1,2,F\n", "data.csv:2:1: a row of 3 fields; the header has 4"},
    {"x,k,s,y\n1,2,F,1,9\n", "data.csv:2:1: a row of 5 fields; the header has 4"},
    {"x,k,s,y\n1,2,F,1\n\n1,2,F,1\n", "data.csv:3:1: an empty line among the records"},
    {"x,k,s,y\n1,2,X,1\n", "data.csv:2:5: column 's': not one of the levels"},
    {"x,k,s,y\nabc,2,F,1\n", "data.csv:2:1: column 'x': expected a number"},
    {"x,k,s,y\n0x10,2,F,1\n", "data.csv:2:1: column 'x': expected a number"},
    {"x,k,s,y\n\"1,5\",2,F,1\n", "data.csv:2:1: column 'x': expected a number"},
    {"x,k,s,y\n1 2,2,F,1\n", "expected a number"},
    {"x,k,s,y\n1,2.5,F,1\n", "data.csv:2:3: column 'k': expected a whole number"},
    {"x,k,s,y\n1,2,F,2\n", "data.csv:2:7: column 'y': expected 0 or 1"},
    {"x,k,s,y\n1,2,F,yes\n", "column 'y': expected 0 or 1"},
    {"x,k,s,y\n,2,F,1\n", "data.csv:2:1: column 'x': a missing value (the schema says missing: error)"},
    {"x,k,s,y\nNaN,2,F,1\n", "column 'x': a missing value"},
    {"x,k,s,y\n1,2,NA,1\n", "data.csv:2:5: column 's': a missing value"},
    {"x,k,s,y\n1,2,F,1\n1,2,\"F,1\n", "data.csv:3:5: a quotation mark is never closed"},
    {"x,k,s,y\n1,2,F\"M,1\n", "data.csv:2:6: a quotation mark inside a field"},
    {"x,k,s,y\n1,2,\"F\"M,1\n",
     "data.csv:2:8: expected a separator or the end of the line after a quoted field"},
    {"x,k,s\n1,2,F\n", "has no column 'y' in its header"},
    {"x,k,s,y,x\n1,2,F,1,1\n", "data.csv:1:9: the header names column 1 and column 5 alike"},
    {"x,k,\xFF,y\n1,2,F,1\n", "data.csv:1:5: the header is not valid UTF-8"},
    {"x,k,s,y\n1,2,F,1\r1,2,F,1\n", "data.csv:2:8: a carriage return without a line feed"},
    {"x,k,s,y\n1,2,\"F\"\r,1\n", "data.csv:2:8: a carriage return without a line feed"},
    {"x,k,s,y\n1,2,\"F\nM\",1\n", "data.csv:2:5: column 's': not one of the levels"},
    {"x,k,s,y,n\n1,2,F,1,\"\n\n\"\n1,2,M,3,z\n", "data.csv:5:7: column 'y': expected 0 or 1"},
    {"x,k,s,y,n\n1,2,F,1,\"a\nbc\" \n", "data.csv:3:4: expected a separator"},
    {"x,k,s,y\n1,2,\xC3(,1\n", "data.csv:2:5: column 's': not one of the levels"},
};

static void test_bad_files_name_place_and_never_a_value(void **state) {
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tacit_table_t *table;
    tacit_error_t err = {0};
    tacit_status_t status = read_text(bad[i].text, strlen(bad[i].text), &table, NULL, &err);
    assert_true(status == TACIT_ERR_SYNTAX || status == TACIT_ERR_DATA || status == TACIT_ERR_UNKNOWN);
    assert_null(table);
    if (strstr(err.message, bad[i].expected) == NULL) {
      fail_msg("expected '%s' in '%s'", bad[i].expected, err.message);
    }
    assert_null(strstr(err.message, "abc"));
  }
  tacit_table_t *table;
  tacit_error_t err;
  static const char nul[] = "x,k,s,y\n1,2,F,1\n1,\0,F,1\n";
  assert_int_equal(read_text(nul, sizeof nul - 1, &table, NULL, &err), TACIT_ERR_SYNTAX);
  assert_non_null(strstr(err.message, "data.csv:3:3: a NUL byte"));
}

static void test_wrong_places_are_refused(void **state) {
  tacit_schema_t *schema = schema_of(plain_schema);
  tacit_table_t *table;
  tacit_error_t err;
  const char *const unknown[] = {"nonsense"};
  assert_int_equal(tacit_table_read(&table, "/nowhere.csv", schema, NULL, 0, NULL, &err), TACIT_ERR_MISSING);
  assert_int_equal(tacit_table_read(&table, folder, schema, NULL, 0, NULL, &err), TACIT_ERR_IO);
  assert_int_equal(tacit_table_read(&table, "/dev/null/x.csv", schema, NULL, 0, NULL, &err), TACIT_ERR_IO);
  assert_non_null(strstr(err.message, "cannot open /dev/null/x.csv: Not a directory"));
  write_file("x,k,s,y\n1,2,F,1\n", 16);
  assert_int_equal(tacit_table_read(&table, file, schema, unknown, 1, NULL, &err), TACIT_ERR_UNKNOWN);
  assert_int_equal(unlink(file), 0);
  assert_int_equal(symlink(file, file), 0);
  assert_int_equal(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), TACIT_ERR_IO);
  assert_int_equal(unlink(file), 0);
  if (geteuid() != 0) { /* root may read anything */
    write_file("x,k,s,y\n1,2,F,1\n", 16);
    assert_int_equal(chmod(file, 0), 0);
    assert_int_equal(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), TACIT_ERR_IO);
    assert_non_null(strstr(err.message, "Permission denied"));
    assert_int_equal(unlink(file), 0);
  }
  tacit_schema_free(schema);
}

static void test_gzip_reads_alike_and_truncation_is_seen(void **state) {
  tacit_schema_t *schema = schema_of(plain_schema);
  tacit_table_t *table;
  tacit_error_t err;
  gzFile out = gzopen(file, "wb");
  assert_non_null(out);
  gzputs(out, "x,k,s,y\n");
  for (int i = 0; i < 50000; i++) {
    gzprintf(out, "%d.%d,%d,%s,%d\n", i % 10, i % 7919, i % 6, i % 3 ? "F" : "M", i & 1);
  }
  assert_int_equal(gzclose(out), Z_OK);
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), err);
  assert_int_equal(tacit_table_n_rows(table), 50000);
  assert_close(tacit_table_column(table, "k")[49999], 49999 % 6, 0);
  tacit_table_free(table);
  FILE *member = fopen(file, "ab"); /* members one after another are one file [RFC 1952, section 2.2] */
  assert_non_null(member);
  gzFile more = gzdopen(dup(fileno(member)), "wb");
  gzputs(more, "1,1,M,0\n");
  assert_int_equal(gzclose(more), Z_OK);
  fclose(member);
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), err);
  assert_int_equal(tacit_table_n_rows(table), 50001);
  tacit_table_free(table);
  assert_int_equal(truncate(file, 40000), 0);
  assert_int_equal(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), TACIT_ERR_IO);
  assert_non_null(strstr(err.message, "truncated"));
  tacit_schema_free(schema);
}

static void test_gzip_with_a_wrong_checksum_is_refused(void **state) {
  tacit_schema_t *schema = schema_of(plain_schema);
  tacit_table_t *table;
  tacit_error_t err;
  gzFile out = gzopen(file, "wb");
  gzputs(out, "x,k,s,y\n1,2,F,1\n");
  assert_int_equal(gzclose(out), Z_OK);
  FILE *again = fopen(file, "r+b");
  assert_int_equal(fseek(again, -8, SEEK_END), 0); /* CRC-32, then the length */
  int byte = fgetc(again);
  assert_int_equal(fseek(again, -8, SEEK_END), 0);
  fputc(byte ^ 1, again);
  assert_int_equal(fclose(again), 0);
  assert_int_equal(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), TACIT_ERR_IO);
  assert_null(table);
  tacit_schema_free(schema);
}

static void test_a_pipe_is_read(void **state) {
  unlink(file);
  assert_int_equal(mkfifo(file, 0600), 0);
  pid_t writer = fork();
  if (writer == 0) {
    FILE *out = fopen(file, "wb");
    _exit(out != NULL && fputs("x,k,s,y\n1,2,F,1\n", out) >= 0 && fclose(out) == 0 ? 0 : 1);
  }
  assert_true(writer > 0);
  tacit_schema_t *schema = schema_of(plain_schema);
  tacit_table_t *table;
  tacit_error_t err;
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), err);
  assert_int_equal(tacit_table_n_rows(table), 1);
  tacit_table_free(table);
  tacit_schema_free(schema);
  int status;
  assert_int_equal(waitpid(writer, &status, 0), writer);
  assert_int_equal(status, 0);
  assert_int_equal(unlink(file), 0);
}

/* Whatever byte of a row the end of the reader's buffer (2^17 bytes) falls on, the row is the same. */
static void test_rows_across_the_buffer_end(void **state) {
  static const char row[] = "\",1.5,3,\"a \"\"b\"\"\",1\r\nz,-2,0,M,0\r\n";
  for (size_t back = 0; back < sizeof row + 16; back++) {
    tacit_text_t text = {0};
    tacit_text_printf(&text, "pad,x,k,s,y\n\"");
    while (text.length < ((size_t)1 << 17) - back) {
      tacit_text_append(&text, "p", 1);
    }
    tacit_text_append(&text, row, sizeof row - 1);
    tacit_table_t *table;
    tacit_error_t err;
    assert_ok(read_text(text.data, text.length, &table, NULL, &err), err);
    const double *x = tacit_table_column(table, "x"), *s = tacit_table_column(table, "s");
    assert_int_equal(tacit_table_n_rows(table), 2);
    assert_true(x[0] == 1.5 && x[1] == -2 && s[0] == 2 && s[1] == 1);
    tacit_table_free(table);
    tacit_text_clear(&text);
  }
}

static void test_limits_of_a_field_and_of_a_row(void **state) {
  for (size_t extra = 0; extra < 2; extra++) {
    for (int is_quoted = 0; is_quoted < 2; is_quoted++) {
      tacit_text_t text = {0};
      tacit_text_printf(&text, "pad,x,k,s,y\n%s", is_quoted ? "\"" : "");
      append_repeated(&text, "p", ((size_t)1 << 20) + extra);
      tacit_text_printf(&text, "%s,1,2,F,1\n", is_quoted ? "\"" : "");
      tacit_table_t *table;
      tacit_error_t err = {0};
      assert_int_equal(read_text(text.data, text.length, &table, NULL, &err),
                       extra == 0 ? TACIT_OK : TACIT_ERR_SYNTAX);
      assert_true(extra == 0 || strstr(err.message, "data.csv:2:1: a field is longer than 1 MiB") != NULL);
      tacit_table_free(table);
      tacit_text_clear(&text);
    }
    tacit_text_t text = {0};
    tacit_text_printf(&text, "x,k,s,y");
    for (size_t i = 4; i < ((size_t)1 << 16) + extra; i++) {
      tacit_text_printf(&text, ",c%zu", i);
    }
    tacit_text_printf(&text, "\n1,2,F,1");
    append_repeated(&text, ",", ((size_t)1 << 16) - 4 + extra);
    tacit_table_t *table;
    tacit_error_t err = {0};
    assert_int_equal(read_text(text.data, text.length, &table, NULL, &err),
                     extra == 0 ? TACIT_OK : TACIT_ERR_SYNTAX);
    assert_true(extra == 0 || strstr(err.message, "more than 65536 fields") != NULL);
    tacit_table_free(table);
    tacit_text_clear(&text);
  }
}

/* A table in another encoding, longer than any buffer; returns owned. */
static char *in_encoding(const char *encoding, size_t n_rows, size_t *n) {
  tacit_text_t text = {0};
  tacit_text_printf(&text, "x,gr\xC3\xB6\xC3\x9F"
                           "e,s\n");
  for (size_t i = 0; i < n_rows; i++) {
    tacit_text_printf(&text, "%zu,%zu,%s\n", i % 9, i % 300,
                      i % 3 == 0   ? "K\xC3\xB6ln"
                      : i % 3 == 1 ? "Z\xC3\xBCrich"
                                   : "Ulm");
  }
  size_t room = 4 * text.length, left = text.length;
  char *bytes = tacit_alloc(room, 1), *from = text.data, *to = bytes;
  iconv_t converter = iconv_open(encoding, "UTF-8");
  assert_true(converter != (iconv_t)-1 && iconv(converter, &from, &left, &to, &room) == 0);
  iconv_close(converter);
  tacit_text_clear(&text);
  *n = (size_t)(to - bytes);
  return bytes;
}

static tacit_status_t read_encoding(const char *encoding, tacit_table_t **table, tacit_error_t *err) {
  tacit_schema_t *schema =
      schema_of("columns:\n  x: {type: numeric, lower: 0, upper: 9}\n  gr\xC3\xB6\xC3\x9F"
                "e: {type: numeric, lower: 0, upper: 300}\n"
                "  s: {type: categorical, levels: [Ulm, K\xC3\xB6ln, Z\xC3\xBCrich]}\n");
  const tacit_data_source_t source = {.path = file, .encoding = encoding};
  tacit_status_t status = tacit_table_read_source(table, &source, schema, NULL, 0, NULL, err);
  tacit_schema_free(schema);
  return status;
}

static void test_encodings_are_read_alike(void **state) {
  enum { n_rows = 40000 };
  static const struct {
    const char *written, *said;
  } ways[] = {{"UTF-8", NULL},
              {"UTF-16", NULL},
              {"UTF-16", "utf-16"},
              {"UTF-16LE", "UTF-16LE"},
              {"UTF-16BE", "utf-16be"},
              {"ISO-8859-1", "latin1"},
              {"WINDOWS-1252", "windows-1252"},
              {"UTF-8", "utf-8"}};
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    size_t n;
    tacit_table_t *table;
    tacit_error_t err;
    char *bytes = in_encoding(ways[i].written, n_rows, &n);
    write_file(bytes, n);
    tacit_free(bytes);
    assert_ok(read_encoding(ways[i].said, &table, &err), err);
    assert_int_equal(tacit_table_n_rows(table), n_rows);
    const double *x = tacit_table_column(table, "x"), *s = tacit_table_column(table, "s"),
                 *size = tacit_table_column(table, "gr\xC3\xB6\xC3\x9F"
                                                   "e");
    for (size_t r = 0; r < n_rows; r++) {
      assert_true(x[r] == (double)(r % 9) && size[r] == (double)(r % 300) && s[r] == (double)((r + 1) % 3));
    }
    tacit_table_free(table);
  }
}

static void test_other_encodings_are_told_by_place(void **state) {
  static const struct {
    const char *written, *said, *expected;
    size_t cut;
  } ways[] = {
      {"ISO-8859-1", NULL,
       "data.csv:1:3: the header is not valid UTF-8: is the file in Latin-1? --encoding latin1 reads it", 0},
      {"ISO-8859-1", "utf-8", "data.csv:1:5: bytes that are no text in the encoding", 0},
      {"UTF-16", NULL, "data.csv:3:11: bytes that are no text in the encoding", 3},
      {"UTF-16LE", NULL, "data.csv:1:2: a NUL byte", 0},
      {"UTF-8", "utf-8//ignore", "--encoding 'utf-8//ignore' is not known here", 0},
      {"UTF-8", "", "--encoding '' is not known here", 0},
      {"UTF-8", "klingon", "--encoding 'klingon' is not known here", 0}};
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    size_t n;
    tacit_table_t *table;
    tacit_error_t err;
    char *bytes = in_encoding(ways[i].written, 2, &n);
    write_file(bytes, n - ways[i].cut);
    tacit_free(bytes);
    assert_int_not_equal(read_encoding(ways[i].said, &table, &err), TACIT_OK);
    if (strstr(err.message, ways[i].expected) == NULL) {
      fail_msg("no '%s' in '%s'", ways[i].expected, err.message);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spellings_of_the_same_table_read_alike),
      cmocka_unit_test(test_bad_files_name_place_and_never_a_value),
      cmocka_unit_test(test_wrong_places_are_refused),
      cmocka_unit_test(test_gzip_reads_alike_and_truncation_is_seen),
      cmocka_unit_test(test_gzip_with_a_wrong_checksum_is_refused),
      cmocka_unit_test(test_a_pipe_is_read),
      cmocka_unit_test(test_rows_across_the_buffer_end),
      cmocka_unit_test(test_limits_of_a_field_and_of_a_row),
      cmocka_unit_test(test_encodings_are_read_alike),
      cmocka_unit_test(test_other_encodings_are_told_by_place),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
