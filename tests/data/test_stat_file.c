/* Files of SAS, SPSS and Stata: the table of the CSV file of the same values, and one clear line where they
 * are damaged. */
#include <dirent.h>
#include <math.h>

#include "base/memory.h"
#include "data/columns.h"
#include "data/records.h"
#include "data/rules.h"
#include "data/stat_file.h"
#include "data_testing.h"
#include "stat_testing.h"

enum { N = 3000 };
static visit_t visits[N];
static char path[96];

static int set_up_files(void **state) {
  for (long i = 0; i < N; i++) {
    visits[i] = visit_of(i);
  }
  return set_up(state);
}

/* Names as the kind has them; `sex` by labels or by codes. */
static tacit_schema_t *schema_for(const stat_kind_t *kind, const char *unit, bool by_labels) {
  char text[1024];
  snprintf(text, sizeof text,
           "unit: %s\nmax_rows: 2\ncolumns:\n  who: {type: id}\n  no: {type: id}\n  age: {type: numeric, "
           "lower: 0, upper: 100, missing: 50}\n"
           "  sex: {type: categorical, levels: [%s], labels: %s}\n  ill: {type: binary}\n"
           "  day: {type: numeric, since: 2000-01-01, lower: 0, upper: 4000}\n",
           unit, by_labels ? "M, F" : "2, 1", by_labels ? "true" : "false");
  for (char *c = text; kind != NULL && kind->is_plain && *c != '\0';
       c++) { /* keys of columns, and the unit */
    static const char *const names[] = {"who", "no", "age", "sex", "ill", "day"};
    for (size_t i = 0; i < 6; i++) {
      size_t n = strlen(names[i]);
      if (strncmp(c, names[i], n) == 0 && (c[n] == ':' || c[n] == '\n') && (c[-1] == ' ')) {
        for (size_t j = 0; j < n; j++) {
          c[j] = (char)(c[j] - 32);
        }
      }
    }
  }
  return schema_of(text);
}

static void write_csv(bool by_labels) {
  tacit_text_t text = {0};
  tacit_text_printf(&text, "age,sex,ill,day,who,no\n");
  for (long i = 0; i < N; i++) {
    char date[TACIT_DATE_SIZE], age[40] = "";
    if (!isnan(visits[i].age) && visits[i].age != -99) {
      snprintf(age, sizeof age, "%.17g", visits[i].age);
    }
    tacit_text_printf(&text, "%s,%s,%d,%s,\"M\xC3\xBCller %d\",%d\n", age,
                      by_labels            ? visits[i].sex == 1 ? "F" : "M"
                      : visits[i].sex == 1 ? "1"
                                           : "2",
                      visits[i].ill, tacit_date_format(visits[i].date, date), visits[i].who, visits[i].who);
  }
  write_file(text.data, text.length);
  tacit_text_clear(&text);
}

/* Portable files hold numbers in base 30, and so round them. */
static void assert_equal_tables(const tacit_table_t *a, const tacit_table_t *b, double tolerance) {
  size_t units_a, units_b;
  const size_t *of_a = tacit_table_unit_offsets(a, &units_a), *of_b = tacit_table_unit_offsets(b, &units_b);
  assert_int_equal(a->n_rows, b->n_rows);
  assert_int_equal(units_a, units_b);
  assert_memory_equal(of_a, of_b, (units_a + 1) * sizeof *of_a);
  assert_int_equal(a->n_columns, b->n_columns);
  for (size_t i = 0; i < a->n_columns; i++) {
    for (size_t r = 0; r < a->n_rows; r++) {
      assert_true(fabs(a->columns[i].values[r] - b->columns[i].values[r]) <=
                  tolerance * fabs(b->columns[i].values[r]));
    }
  }
}

static void write_kind(const stat_kind_t *kind) {
  snprintf(path, sizeof path, "%s/d.%s", folder, kind->ending);
  assert_int_equal(write_stat(kind, path, visits, N), 0);
}

/* By codes and labels, by persons who are texts and numbers: values, levels, dates, missing values, persons
 * and their rows. */
static void test_files_are_the_csv_file(void **state) {
  tacit_error_t err;
  for (size_t k = 0; k < N_STAT_KINDS; k++) {
    const stat_kind_t *kind = &stat_kinds[k];
    write_kind(kind);
    for (int way = 0; way < (kind->has_labels ? 4 : 2); way++) {
      char unit[8];
      snprintf(unit, sizeof unit, "%s", way % 2 ? "no" : "who");
      tacit_schema_t *schema = schema_for(kind, unit, way >= 2), *plain = schema_for(NULL, unit, way >= 2);
      tacit_table_notes_t notes, csv_notes;
      tacit_table_t *table, *expected;
      write_csv(way >= 2);
      assert_ok(tacit_table_read(&expected, file, plain, NULL, 0, &csv_notes, &err), err);
      assert_ok(tacit_table_read(&table, path, schema, NULL, 0, &notes, &err), err);
      assert_equal_tables(table, expected, strcmp(kind->ending, "por") == 0 ? 1e-14 : 0);
      assert_memory_equal(&notes, &csv_notes, sizeof notes);
      assert_true(notes.n_clamped > 100 && notes.n_missing > 100 && notes.n_rows_dropped > 100);
      tacit_table_free(table);
      tacit_table_free(expected);
      tacit_schema_free(schema);
      tacit_schema_free(plain);
    }
    unlink(path);
  }
}

/* Formats with missing values of their own: a text "NA" says Namibia, or is refused; that of blanks is
 * missing. */
static void test_a_text_na_is_a_value(void **state) {
  (void)state;
  static const char *const texts[] = {"NA", "DE", "", "NA"};
  for (size_t k = 0; k < N_STAT_KINDS; k++) {
    const stat_kind_t *kind = &stat_kinds[k];
    snprintf(path, sizeof path, "%s/na.%s", folder, kind->ending);
    FILE *out = fopen(path, "wb");
    readstat_writer_t *writer = readstat_writer_init();
    readstat_set_data_writer(writer, write_stat_bytes);
    readstat_variable_t *variable =
        readstat_add_variable(writer, kind->is_plain ? "C" : "c", READSTAT_TYPE_STRING, 8);
    assert_int_equal(kind->begin(writer, out, 4), READSTAT_OK);
    for (int i = 0; i < 4; i++) {
      assert_int_equal(readstat_begin_row(writer), READSTAT_OK);
      assert_int_equal(readstat_insert_string_value(writer, variable, texts[i]), READSTAT_OK);
      assert_int_equal(readstat_end_row(writer), READSTAT_OK);
    }
    assert_int_equal(readstat_end_writing(writer), READSTAT_OK);
    readstat_writer_free(writer);
    fclose(out);
    tacit_schema_t *with = schema_of(
        kind->is_plain ? "columns:\n  C: {type: categorical, levels: [DE, FR, 'NA'], missing: FR}\n"
                       : "columns:\n  c: {type: categorical, levels: [DE, FR, 'NA'], missing: FR}\n");
    tacit_schema_t *without =
        schema_of(kind->is_plain ? "columns:\n  C: {type: categorical, levels: [DE, FR], missing: FR}\n"
                                 : "columns:\n  c: {type: categorical, levels: [DE, FR], missing: FR}\n");
    tacit_table_t *table;
    tacit_error_t err;
    assert_ok(tacit_table_read(&table, path, with, NULL, 0, NULL, &err), err);
    const double *values = tacit_table_column(table, kind->is_plain ? "C" : "c");
    assert_true(values[0] == 2 && values[1] == 0 && values[2] == 1 && values[3] == 2);
    tacit_table_free(table);
    assert_int_equal(tacit_table_read(&table, path, without, NULL, 0, NULL, &err), TACIT_ERR_DATA);
    assert_non_null(strstr(err.message, "row 1"));
    tacit_schema_free(with);
    tacit_schema_free(without);
    unlink(path);
  }
}

static void test_templates_hold_labels_and_no_values(void **state) {
  tacit_error_t err;
  char *text;
  for (size_t k = 0; k < N_STAT_KINDS; k++) {
    const stat_kind_t *kind = &stat_kinds[k];
    write_kind(kind);
    assert_ok(tacit_schema_draft(path, &text, &err), err);
    assert_non_null(strstr(text, kind->is_plain ? "\n  AGE: {type: \"?\"}\n" : "\n  age: {type: \"?\"}\n"));
    assert_int_equal(strstr(text, "{type: \"?\"}   # labels in the file: F, M\n") != NULL, kind->has_labels);
    assert_null(strstr(text, "ller"));
    tacit_text_free(text);
    unlink(path);
  }
}

static void read_labels(const char *catalog, const char *encoding, tacit_status_t expected,
                        const char *message) {
  tacit_schema_t *schema = schema_of("columns: {sex: {type: categorical, levels: [M, F], labels: true}}");
  const tacit_data_source_t source = {.path = path, .catalog = catalog, .encoding = encoding};
  tacit_table_t *table;
  tacit_error_t err;
  assert_int_equal(tacit_table_read_source(&table, &source, schema, NULL, 0, NULL, &err), expected);
  if (expected != TACIT_OK) {
    assert_non_null(strstr(err.message, message));
  } else {
    for (size_t i = 0; i < N; i++) {
      assert_true(tacit_table_column(table, "sex")[i] == 2 - visits[i].sex);
    }
  }
  tacit_table_free(table);
  tacit_schema_free(schema);
}

/* SAS: the format's name in the file, with a width, and its labels in a catalogue. */
static void test_labels_of_sas_come_from_its_catalogue(void **state) {
  char catalog[96];
  snprintf(catalog, sizeof catalog, "%s/formats.sas7bcat", folder);
  assert_int_equal(write_catalog(catalog), 0);
  for (size_t k = 0; k < 2; k++) {
    write_kind(&stat_kinds[k]);
    read_labels(catalog, NULL, TACIT_OK, NULL);
    read_labels(catalog, "windows-1252", TACIT_OK, NULL);
    read_labels(NULL, NULL, TACIT_ERR_DATA,
                "SAS keeps them in a catalogue, which --catalog FILE.sas7bcat names");
    write_file("age,sex\n1,F\n", 12);
    read_labels(file, NULL, TACIT_ERR_SYNTAX, "data.csv is cut short or damaged");
    read_labels("/nowhere.sas7bcat", NULL, TACIT_ERR_MISSING, "cannot open /nowhere.sas7bcat");
    char *text;
    tacit_error_t err;
    assert_ok(tacit_schema_draft_source(&(tacit_data_source_t){.path = path, .catalog = catalog}, false,
                                        &text, &err),
              err);
    assert_true((strstr(text, "# labels in the file: F, M\n") != NULL) +
                    (strstr(text, "# labels in the file: M, F\n") != NULL) ==
                1); /* as the catalogue has them */
    assert_null(strstr(text, "elsewhere"));
    tacit_text_free(text);
    unlink(path);
  }
  write_kind(&stat_kinds[2]);
  read_labels(catalog, NULL, TACIT_ERR_ARGUMENT, "--catalog only goes with a SAS file");
  unlink(path);
  unlink(catalog);
}

/* Old files that name no encoding, or another than theirs. */
static void test_an_encoding_can_be_said(void **state) {
  tacit_table_t *table;
  tacit_error_t err;
  static const char schema_text[] = "columns: {who: {type: categorical, levels: [\"%s 5\"]}}";
  visit_t all[2] = {visits[0], visits[1]};
  all[0].who = all[1].who = 5;
  snprintf(path, sizeof path, "%s/d.dta", folder);
  assert_int_equal(write_stat(&stat_kinds[4], path, all, 2), 0);
  static const char *const ways[][2] = {
      {NULL, "M\xC3\xBCller"},
      {"latin1", "M\xC3\x83\xC2\xBCller"}}; /* UTF-8 taken for Latin-1: each byte a letter */
  for (size_t i = 0; i < 2; i++) {
    char text[128];
    snprintf(text, sizeof text, schema_text, ways[i][1]);
    tacit_schema_t *schema = schema_of(text);
    const tacit_data_source_t source = {.path = path, .encoding = ways[i][0]};
    assert_ok(tacit_table_read_source(&table, &source, schema, NULL, 0, NULL, &err), err);
    tacit_table_free(table);
    tacit_schema_free(schema);
  }
  unlink(path);
}

static void refuse(const char *schema_text, const char *message) {
  tacit_schema_t *schema = schema_of(schema_text);
  tacit_table_t *table;
  tacit_error_t err;
  assert_int_not_equal(tacit_table_read(&table, path, schema, NULL, 0, NULL, &err), TACIT_OK);
  if (strstr(err.message, message) == NULL) {
    fail_msg("no '%s' in '%s'", message, err.message);
  }
  tacit_schema_free(schema);
}

static void test_what_does_not_suit_is_told(void **state) {
  write_kind(&stat_kinds[4]);
  refuse("columns: {day: {type: numeric, lower: 0, upper: 9}}",
         "row 1, column 'day': expected a number, found a date or time: say since:");
  refuse("columns: {age: {type: numeric, since: 2000-01-01, lower: 0, upper: 9}}",
         "row 1, column 'age': expected a date");
  refuse("columns: {sex: {type: categorical, levels: [F, X], labels: true}}",
         "column 'sex': not one of the levels");
  refuse("columns: {ill: {type: categorical, levels: [no, yes], labels: true}}", "has no labels for it");
  refuse("columns: {age: {type: numeric, lower: 0, upper: 200}}", "row 4, column 'age': a missing value");
  refuse("columns: {who: {type: numeric, lower: 0, upper: 200}}", "row 1, column 'who': expected a number");
  refuse("columns: {age: {type: categorical, levels: [a]}}", "column 'age'");
  refuse("columns: {other: {type: binary}}", "has no column 'other' in its header");
  visits[7].sex = 3; /* has no label */
  write_kind(&stat_kinds[2]);
  visits[7] = visit_of(7);
  refuse("columns: {sex: {type: categorical, levels: [F, M], labels: true}}",
         "row 8, column 'sex': a value without a label");
  rename(path, file);
  snprintf(path, sizeof path, "%s/d.dta", folder);
  rename(file, path);
  refuse("columns: {ill: {type: binary}}", "is not the file that its name says, or damaged");
  unlink(path);
  refuse("columns: {ill: {type: binary}}", "cannot open");
  assert_int_equal(write_stat(&stat_kinds[4], path, visits, 0), 0);
  refuse("columns: {ill: {type: binary}}", "has no records");
  unlink(path);
  snprintf(path, sizeof path, "%s/d.sav", folder);
  unlink(path);
}

/* As SAS marks rows that somebody deleted: the number of them, the type of a page, the kind of a compressed
 * row. */
static void test_deleted_rows_of_sas_are_refused(void **state) {
  static char bytes[1 << 20], changed[1 << 20];
  const stat_kind_t *kind = &stat_kinds[0];
  tacit_schema_t *schema = schema_for(kind, "who", kind->has_labels);
  tacit_table_t *table;
  tacit_error_t err;
  snprintf(path, sizeof path, "%s/d.%s", folder, kind->ending);
  assert_int_equal(write_stat(kind, path, visits, 200), 0);
  FILE *in = fopen(path, "rb");
  size_t n = fread(bytes, 1, sizeof bytes, in), header = 0, page = 0;
  fclose(in);
  bool is_wide = bytes[32] == 0x33;
  size_t pad = bytes[35] == 0x33 ? 4 : 0, word = is_wide ? 8 : 4, head = is_wide ? 40 : 24;
  memcpy(&header, bytes + 196 + pad, 4);
  memcpy(&page, bytes + 200 + pad, 4);
  size_t rows = header;
  while (rows + 64 < n && memcmp(bytes + rows, "\xF7\xF7\xF7\xF7", 4) != 0) {
    rows++;
  }
  assert_true(rows + 64 < n && header > 0 && page > 0 && bytes[37] == 1);
  const struct {
    size_t at;
    char is;
  } changes[] = {{0, bytes[0]},
                 {rows + 7 * word, 3},
                 {header + page + head - 8, (char)0x80},
                 {header + head + 2 * word, 5}};
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    memcpy(changed, bytes, n);
    changed[changes[i].at] = (char)(i == 2 ? changed[changes[i].at] | changes[i].is : changes[i].is);
    FILE *out = fopen(path, "wb");
    assert_int_equal(fwrite(changed, 1, n, out), n);
    fclose(out);
    tacit_status_t status = tacit_table_read(&table, path, schema, NULL, 0, NULL, &err);
    assert_int_equal(status == TACIT_OK, i == 0);
    if (i == 0) {
      tacit_table_free(table);
    } else if (i <
               3) { /* of the last the first pointer's subheader is gone, too, which ReadStat notices first */
      assert_non_null(strstr(err.message, "deleted in SAS"));
    }
  }
  tacit_schema_free(schema);
  unlink(path);
}

/* Names of no length are NULL to ReadStat. */
static void test_columns_without_names_are_refused(void **state) {
  static char bytes[1 << 20];
  for (size_t k = 0; k < N_STAT_KINDS; k++) {
    const stat_kind_t *kind = &stat_kinds[k];
    tacit_schema_t *schema = schema_for(kind, "who", kind->has_labels);
    snprintf(path, sizeof path, "%s/d.%s", folder, kind->ending);
    assert_int_equal(write_stat(kind, path, visits, 20), 0);
    FILE *in = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    for (size_t at = 0; at + 3 < n; at++) { /* wherever a name stands: nothing, blanks, what is no text */
      bool is_name = memcmp(bytes + at, "age", 3) == 0 || memcmp(bytes + at, "AGE", 3) == 0;
      for (int how = 0; how < 3 && is_name; how++) {
        char kept[3];
        tacit_table_t *table;
        tacit_error_t err;
        memcpy(kept, bytes + at, 3);
        memset(bytes + at, how == 0 ? 0 : how == 1 ? ' ' : 0x81, 3);
        FILE *out = fopen(path, "wb");
        assert_int_equal(fwrite(bytes, 1, n, out), n);
        fclose(out);
        if (tacit_table_read(&table, path, schema, NULL, 0, NULL, &err) == TACIT_OK) {
          tacit_table_free(table);
        } else {
          assert_true(strlen(err.message) > 10 && strchr(err.message, '\n') == NULL);
        }
        memcpy(bytes + at, kept, 3);
      }
    }
    tacit_schema_free(schema);
    unlink(path);
  }
}

/* Cut anywhere, or with bytes turned over: a clear line or, where nothing shows it, a table; never a value of
 * a record in a message. */
static void test_damaged_files(void **state) {
  uint64_t seed = 11;
  for (size_t k = 0; k < N_STAT_KINDS; k++) {
    const stat_kind_t *kind = &stat_kinds[k];
    tacit_schema_t *schema = schema_for(kind, "who", kind->has_labels);
    static char bytes[1 << 20], damaged[1 << 20];
    snprintf(path, sizeof path, "%s/d.%s", folder, kind->ending);
    assert_int_equal(write_stat(kind, path, visits, 200), 0);
    FILE *in = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, in), n_refused = 0,
           n_tries = (size_t)(120 * testing_multiplier_at_least(1)) /* shares are judged */;
    fclose(in);
    for (size_t i = 0; i < n_tries; i++) {
      bool is_cut = i % 2 == 0;
      size_t length = is_cut ? draw_below(&seed, n) : n;
      memcpy(damaged, bytes, n);
      for (size_t flips = is_cut ? 0 : 1 + draw_below(&seed, 4); flips > 0; flips--) {
        damaged[draw_below(&seed, n)] = (char)draw_below(&seed, 256);
      }
      FILE *out = fopen(path, "wb");
      assert_int_equal(fwrite(damaged, 1, length, out), length);
      fclose(out);
      tacit_table_t *table;
      tacit_error_t err;
      if (tacit_table_read(&table, path, schema, NULL, 0, NULL, &err) != TACIT_OK) {
        n_refused += is_cut;
        assert_true(strlen(err.message) > 10 && strchr(err.message, '\n') == NULL &&
                    strstr(err.message, "ller") == NULL);
      } else {
        tacit_table_free(table);
      }
    }
    assert_true(
        10 * n_refused >=
        9 * (n_tries /
             2)); /* transport files cut between records of 80 bytes, portable ones after their end mark */
    tacit_schema_free(schema);
    unlink(path);
  }
}

static void test_every_allocation_of_ours_may_fail(void **state) {
  tacit_schema_t *schema = schema_for(&stat_kinds[2], "no", true);
  snprintf(path, sizeof path, "%s/d.sav", folder);
  assert_int_equal(write_stat(&stat_kinds[2], path, visits, 60), 0);
  for (size_t k = 1;; k++) {
    tacit_table_t *table;
    tacit_error_t err;
    assert_true(k < 500);
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_table_read(&table, path, schema, NULL, 0, NULL, &err);
    tacit_alloc_fail_at(0);
    tacit_table_free(table);
    if (status == TACIT_OK) {
      break;
    }
    if (status != TACIT_ERR_MEMORY) {
      fail_msg("allocation %zu: %s", k, err.message);
    }
  }
  tacit_schema_free(schema);
  unlink(path);
}

static bool stop(void *user) { return ++*(int *)user < 2; }

static void test_reading_is_interrupted(void **state) {
  int n_asked = 0;
  const tacit_stream_watch_t watch = {.go_on = stop, .user = &n_asked};
  tacit_schema_t *schema = schema_of("columns: {ill: {type: binary}}");
  tacit_table_t *table;
  tacit_error_t err;
  write_kind(&stat_kinds[4]);
  tacit_data_source_t source = {.path = path, .watch = &watch};
  assert_int_equal(tacit_table_read_source(&table, &source, schema, NULL, 0, NULL, &err),
                   TACIT_ERR_INTERRUPTED);
  tacit_schema_free(schema);
  unlink(path);
}

/* SAS has a variant with each separator of many formats: one that is not known is a number, days since 1960,
 * in silence. */
static void test_every_format_of_dates_is_known(void **state) {
  static const struct {
    const char *format;
    tacit_stat_date_unit_t unit;
  } formats[] = {{"DATE9", TACIT_STAT_DAY},           {"mmddyyd10", TACIT_STAT_DAY},
                 {"YYMMDDN8", TACIT_STAT_DAY},        {"NLDATEW", TACIT_STAT_DAY},
                 {"DATETIME20", TACIT_STAT_SECOND},   {"B8601DN8", TACIT_STAT_SECOND},
                 {"E8601DN10", TACIT_STAT_SECOND},    {"B8601DZ", TACIT_STAT_SECOND},
                 {"NLDATMAP", TACIT_STAT_SECOND},     {"MMYY7", TACIT_STAT_OTHER_DATE},
                 {"MMYYC7", TACIT_STAT_OTHER_DATE},   {"MMYYD7", TACIT_STAT_OTHER_DATE},
                 {"YYMMS7", TACIT_STAT_OTHER_DATE},   {"YYQRD", TACIT_STAT_OTHER_DATE},
                 {"B8601TZ", TACIT_STAT_OTHER_DATE},  {"NLTIMAP", TACIT_STAT_OTHER_DATE},
                 {"NLDATEYM", TACIT_STAT_OTHER_DATE}, {"BEST12", TACIT_STAT_NO_DATE},
                 {"DOLLAR8.2", TACIT_STAT_NO_DATE},   {"YESNO", TACIT_STAT_NO_DATE},
                 {"DATENTRY", TACIT_STAT_NO_DATE}};
  (void)state;
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    if (tacit_stat_date_unit(TACIT_STAT_SAS, formats[i].format) != formats[i].unit) {
      fail_msg("%s", formats[i].format);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_format_of_dates_is_known),
                                     cmocka_unit_test(test_files_are_the_csv_file),
                                     cmocka_unit_test(test_a_text_na_is_a_value),
                                     cmocka_unit_test(test_templates_hold_labels_and_no_values),
                                     cmocka_unit_test(test_labels_of_sas_come_from_its_catalogue),
                                     cmocka_unit_test(test_an_encoding_can_be_said),
                                     cmocka_unit_test(test_what_does_not_suit_is_told),
                                     cmocka_unit_test(test_deleted_rows_of_sas_are_refused),
                                     cmocka_unit_test(test_columns_without_names_are_refused),
                                     cmocka_unit_test(test_damaged_files),
                                     cmocka_unit_test(test_every_allocation_of_ours_may_fail),
                                     cmocka_unit_test(test_reading_is_interrupted)};
  return cmocka_run_group_tests(tests, set_up_files, tear_down);
}
