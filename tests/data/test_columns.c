/* Imported columns: the table of the CSV file, however it is damaged or asked for. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "data/columns.h"
#include "data/records.h"
#include "data_testing.h"

static char columns[80], member[128];

static const char *inside(const char *name) {
  snprintf(member, sizeof member, "%s/%s", columns, name);
  return member;
}

static void remove_columns(void) {
  DIR *entries = opendir(columns);
  for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
    unlinkat(dirfd(entries), entry->d_name, 0);
  }
  if (entries != NULL) {
    closedir(entries);
  }
  rmdir(columns);
}

static int set_up_columns(void **state) {
  int status = set_up(state);
  snprintf(columns, sizeof columns, "%s/columns", folder);
  return status;
}

static int tear_down_columns(void **state) {
  remove_columns();
  return tear_down(state);
}

/* Import what `file` holds. */
static tacit_status_t import_file(const char *schema_text, tacit_table_notes_t *notes, tacit_error_t *err) {
  tacit_schema_t *schema = schema_of(schema_text);
  remove_columns();
  tacit_status_t status = tacit_table_import(file, schema, columns, notes, err);
  tacit_schema_free(schema);
  return status;
}

static tacit_status_t open_columns(const char *schema_text, tacit_table_t **table, tacit_table_notes_t *notes,
                                   tacit_error_t *err) {
  tacit_schema_t *schema = schema_of(schema_text);
  tacit_status_t status = tacit_table_read(table, columns, schema, NULL, 0, notes, err);
  tacit_schema_free(schema);
  return status;
}

static void assert_same_tables(const tacit_table_t *a, const tacit_table_t *b) {
  size_t units_a, units_b;
  const size_t *of_a = tacit_table_unit_offsets(a, &units_a), *of_b = tacit_table_unit_offsets(b, &units_b);
  assert_int_equal(tacit_table_n_rows(a), tacit_table_n_rows(b));
  assert_int_equal(units_a, units_b);
  assert_int_equal(of_a == NULL, of_b == NULL);
  if (of_a != NULL) {
    assert_memory_equal(of_a, of_b, (units_a + 1) * sizeof *of_a);
  }
  assert_int_equal(a->n_columns, b->n_columns);
  for (size_t i = 0; i < a->n_columns; i++) {
    const double *values = tacit_table_column(b, a->columns[i].name);
    assert_non_null(values);
    assert_memory_equal(a->columns[i].values, values, a->n_rows * sizeof *values);
  }
}

/* Read the file both ways. */
static void check_same(const char *schema_text) {
  tacit_table_notes_t notes, of_import, of_columns;
  tacit_table_t *table, *mapped;
  tacit_error_t err;
  tacit_schema_t *schema = schema_of(schema_text);
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, &notes, &err), err);
  assert_ok(import_file(schema_text, &of_import, &err), err);
  assert_ok(tacit_table_read(&mapped, columns, schema, NULL, 0, &of_columns, &err), err);
  assert_same_tables(table, mapped);
  tacit_table_drop(mapped, 0, tacit_table_n_rows(mapped)); /* out of memory and back */
  tacit_table_need(mapped, 0, tacit_table_n_rows(mapped) + 5);
  tacit_table_drop(table, 0, tacit_table_n_rows(table));
  assert_same_tables(table, mapped);
  assert_memory_equal(&notes, &of_import, sizeof notes);
  assert_memory_equal(&notes, &of_columns, sizeof notes);
  tacit_table_free(table);
  tacit_table_free(mapped);
  tacit_schema_free(schema);
}

static void write_rows(size_t n_rows, size_t n_persons, uint64_t seed) {
  static const char *const levels[] = {"F", "M", "\"a \"\"b\"\"\""}, *const integers[] = {"", "0", "3", "9",
                                                                                          "NA"};
  tacit_text_t text = {0};
  tacit_text_printf(&text, "x,who,k,s,y\n");
  for (size_t i = 0; i < n_rows; i++) {
    tacit_text_printf(&text, "%.17g,p%zu,%s,%s,%zu\n", (double)draw_below(&seed, 30000) / 1000 - 15,
                      draw_below(&seed, n_persons), integers[draw_below(&seed, 5)],
                      levels[draw_below(&seed, 3)], draw_below(&seed, 2));
  }
  write_file(text.data, text.length);
  tacit_text_clear(&text);
}

static void test_same_as_csv(void **state) {
  for (size_t n = 1; n < 40000; n = n < 8190   ? n * 5 + 3185
                                    : n < 8193 ? n + 1
                                               : n * 3) { /* 8191 to 8193: buffers just full */
    write_rows(n, 10, n);
    check_same(plain_schema);
  }
  write_rows(8192, 10, 1);
  check_same(plain_schema);
}

static void test_persons_as_csv(void **state) {
  char schema[512];
  for (size_t n_persons = 1; n_persons <= 20000; n_persons *= 20) {
    snprintf(schema, sizeof schema, "unit: who\nmax_rows: %d\n%s  who: {type: id}\n",
             n_persons == 1 ? 20000 : 2, plain_schema);
    write_rows(20000, n_persons, n_persons);
    check_same(schema);
  }
  tacit_error_t err;
  assert_int_equal(access(inside("order.tmp"), F_OK), -1);
  assert_int_equal(access(inside("rows-1.tmp"), F_OK), -1);
  tacit_table_t *table;
  assert_int_equal(open_columns(plain_schema, &table, NULL, &err), TACIT_ERR_SCHEMA);
  assert_non_null(strstr(err.message, "the unit was 'who', now 'row'; import again"));
  snprintf(schema, sizeof schema, "unit: who\nmax_rows: 3\n%s  who: {type: id}\n", plain_schema);
  assert_int_equal(open_columns(schema, &table, NULL, &err), TACIT_ERR_SCHEMA);
  assert_non_null(strstr(err.message, "max_rows was 2, now 3; import again"));
}

static void test_for_its_owner_alone(void **state) {
  struct stat info;
  tacit_error_t err;
  mode_t before = umask(0);
  write_rows(10, 1, 1);
  assert_ok(import_file(plain_schema, NULL, &err), err);
  umask(before);
  assert_int_equal(stat(columns, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
  static const char *const names[] = {"manifest.yaml", "column-0001.f64", "column-0004.f64"};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(stat(inside(names[i]), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
  }
  tacit_schema_t *schema = schema_of(plain_schema);
  assert_int_equal(tacit_table_import(file, schema, columns, NULL, &err), TACIT_ERR_EXISTS);
  tacit_schema_free(schema);
}

/* Whatever a schema can be, the manifest says it again. */
static void test_manifest_keeps_the_schema(void **state) {
  const char *text =
      "unit: \"wh\\\"o\\t\"\nmax_rows: 7\ncolumns:\n"
      "  \"a\\u2028b\": {type: numeric, lower: -0.12345678901234567, upper: 1e300, missing: 0.3}\n"
      "  yes: {type: integer, lower: -3, upper: 4, missing: upper, out_of_range: error}\n"
      "  \"\\U0001F600: {\": {type: categorical, levels: [\"no\", 'x, y]', \"\\x07\", '12'], missing: "
      "\"\\x07\"}\n"
      "  b: {type: binary, missing: drop}\n  \"wh\\\"o\\t\": {type: id}\n";
  tacit_schema_t *schema = schema_of(text);
  size_t counts[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  tacit_manifest_t made = {.n_rows = 99, .n_units = 30, .n_rows_dropped = 2, .n_columns = 4};
  made.n_clamped = counts;
  made.n_missing = counts + 4;
  tacit_manifest_t read;
  tacit_text_t yaml = {0};
  tacit_error_t err;
  tacit_manifest_append(&yaml, &made, schema);
  assert_ok(tacit_manifest_parse(&read, yaml.data, yaml.length, "m", &err), err);
  assert_true(read.n_rows == 99 && read.n_units == 30 && read.n_rows_dropped == 2 && read.n_columns == 4);
  assert_memory_equal(read.n_clamped, counts, 4 * sizeof *counts);
  assert_memory_equal(read.n_missing, counts + 4, 4 * sizeof *counts);
  assert_string_equal(tacit_schema_unit(read.schema), "wh\"o\t");
  assert_int_equal(tacit_schema_max_rows(read.schema), 7);
  for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
    const tacit_column_schema_t *a = tacit_schema_column(schema, i), *b = tacit_schema_column(read.schema, i);
    assert_string_equal(a->name, b->name);
    assert_true(a->type == b->type && a->lower == b->lower && a->upper == b->upper &&
                a->missing == b->missing);
    assert_true(
        (a->missing_value == b->missing_value || (isnan(a->missing_value) && isnan(b->missing_value))) &&
        a->out_of_range == b->out_of_range && a->n_levels == b->n_levels);
    for (size_t k = 0; k < a->n_levels; k++) {
      assert_string_equal(a->levels[k], b->levels[k]);
    }
  }
  tacit_text_clear(&yaml);
  tacit_manifest_clear(&read);
  tacit_schema_free(schema);
}

/* What a column was like, what it is to be now, and what is said. */
static void test_other_schemas_are_refused(void **state) {
  static const struct {
    const char *then, *now, *message;
  } cases[] = {
      {"lower: -10, upper: 10", "lower: -10, upper: 10.5", "column 'x' had upper 10, now 10.5; import again"},
      {"lower: -10, upper: 10", "lower: -11, upper: 10", "column 'x' had lower -10, now -11; import again"},
      {"numeric", "integer", "column 'x' had type numeric, now integer; import again"},
      {"upper: 10}", "upper: 10, out_of_range: error}",
       "column 'x' had out_of_range: clamp, now error; import again"},
      {"upper: 10}", "upper: 10, missing: 0}", "column 'x' had missing: error, now a value; import again"},
      {"missing: 2", "missing: drop", "column 'k' had missing: a value, now drop; import again"},
      {"missing: 2", "missing: 3", "column 'k' had missing: 2, now 3; import again"},
      {"[F, M", "[M, F", "column 's' had level 1 F, now M; import again"},
      {"[F, M, ", "[F, M, Z, ", "column 's' had level 3 a \"b\", now Z; import again"},
      {"'a \"b\"']", "'a \"b\"', Z]", "column 's' had levels: 3, now 4; import again"},
      {"  y:", "  z:", "has no column 'z': it was imported under another schema; import again"},
  };
  tacit_error_t err;
  tacit_table_t *table;
  write_rows(100, 1, 3);
  assert_ok(import_file(plain_schema, NULL, &err), err);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_text_t text = {0};
    const char *at = strstr(plain_schema, cases[i].then);
    tacit_text_append(&text, plain_schema, (size_t)(at - plain_schema));
    tacit_text_printf(&text, "%s%s", cases[i].now, at + strlen(cases[i].then));
    tacit_status_t status = open_columns(text.data, &table, NULL, &err);
    assert_null(table);
    assert_true(status == TACIT_ERR_SCHEMA || status == TACIT_ERR_UNKNOWN);
    if (strstr(err.message, cases[i].message) == NULL) {
      fail_msg("'%s' does not say '%s'", err.message, cases[i].message);
    }
    tacit_text_clear(&text);
  }
  /* what has no part in values may change; a column that is not needed too */
  const char *other = "dataset: d\nrelation: add-remove\ncolumns: {y: {type: binary}, x: {type: numeric, "
                      "lower: -99, upper: 99}}";
  tacit_schema_t *schema = schema_of(other);
  const char *names[] = {"y"};
  assert_ok(tacit_table_read(&table, columns, schema, names, 1, NULL, &err), err);
  assert_null(tacit_table_column(table, "x"));
  tacit_table_free(table);
  names[0] = "nothing";
  assert_int_equal(tacit_table_read(&table, columns, schema, names, 1, NULL, &err), TACIT_ERR_UNKNOWN);
  tacit_schema_free(schema);
}

static void put(const char *name, const char *bytes, size_t n) {
  unlink(inside(name));
  FILE *out = fopen(inside(name), "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(bytes, 1, n, out), n);
  assert_int_equal(fclose(out), 0);
}

/* One clear line for files that are gone, too short, too long, or something else. */
static void test_damage_is_noticed(void **state) {
  const char *schema =
      "unit: who\nmax_rows: 2\ncolumns:\n  x: {type: numeric, lower: -10, upper: 10}\n  who: {type: id}\n";
  tacit_table_t *table;
  tacit_error_t err;
  write_rows(50, 40, 3);
  for (int damage = 0; damage < 9; damage++) {
    static const char *const said[] = {"column-0001.f64 is damaged",
                                       "column-0001.f64 is damaged",
                                       "column-0001.f64: No such file",
                                       "units.u64 is damaged",
                                       "units.u64 is damaged",
                                       "units.u64 is damaged",
                                       "is a directory, and none of tacit import",
                                       "manifest.yaml is empty",
                                       "column-0001.f64 is damaged"};
    uint64_t word = 0;
    assert_ok(import_file(schema, NULL, &err), err);
    assert_ok(open_columns(schema, &table, NULL, &err), err);
    tacit_table_free(table);
    switch (damage) {
    case 0:
      assert_int_equal(truncate(inside("column-0001.f64"), 8), 0);
      break;
    case 1:
      assert_int_equal(truncate(inside("column-0001.f64"), 1 << 20), 0);
      break;
    case 2:
      assert_int_equal(unlink(inside("column-0001.f64")), 0);
      break;
    case 3:
      assert_int_equal(truncate(inside("units.u64"), 16), 0);
      break;
    case 4:
    case 5: {
      int fd = open(inside("units.u64"), O_RDWR);
      word = damage == 4 ? 0 : UINT64_MAX - 7; /* a person without rows; one with more than there are */
      assert_int_equal(pwrite(fd, &word, sizeof word, 8), sizeof word);
      close(fd);
      break;
    }
    case 6:
      assert_int_equal(unlink(inside("manifest.yaml")), 0);
      break;
    case 7:
      put("manifest.yaml", "", 0);
      break;
    default:
      unlink(inside("column-0001.f64"));
      assert_int_equal(mkfifo(inside("column-0001.f64"), 0600), 0);
    }
    assert_int_not_equal(open_columns(schema, &table, NULL, &err), TACIT_OK);
    assert_null(table);
    if (strstr(err.message, said[damage]) == NULL || strchr(err.message, '\n') != NULL) {
      fail_msg("damage %d: '%s' does not say '%s'", damage, err.message, said[damage]);
    }
  }
}

/*
 * Under add-remove no records are a neighbour of one, and are read both ways, whatever the unit:
 * empty columns are there, and persons are persons.
 */
static void test_no_records(void **state) {
  static const char *const units[] = {"", "unit: who\nmax_rows: 2\n"};
  tacit_table_t *table;
  tacit_error_t err;
  for (size_t i = 0; i < 2; i++) {
    char schema[512], public[512];
    snprintf(schema, sizeof schema, "relation: add-remove\n%s%s%s", units[i], plain_schema,
             i > 0 ? "  who: {type: id}\n" : "");
    snprintf(public, sizeof public, "relation: substitute\n%s", strchr(schema, '\n') + 1);
    write_rows(0, 1, 1);
    check_same(schema);
    assert_int_equal(open_columns(public, &table, NULL, &err), TACIT_ERR_DATA);
    assert_non_null(strstr(err.message, "has no records"));
    assert_int_equal(import_file(public, NULL, &err), TACIT_ERR_DATA);
    assert_ok(import_file(schema, NULL, &err), err);
    assert_ok(open_columns(schema, &table, NULL, &err), err);
    size_t n_units = 1;
    assert_int_equal(tacit_table_unit_offsets(table, &n_units) != NULL, i > 0);
    assert_int_equal(n_units, 0);
    tacit_records_t *records;
    const char *names[] = {"x", "k"};
    tacit_schema_t *read = schema_of(schema);
    assert_ok(tacit_table_verify(table, read, &err), err);
    assert_ok(tacit_table_pack(&records, table, names, 2, 2, NULL, &err), err);
    assert_int_equal(tacit_records_n(records), 0);
    tacit_records_free(records);
    tacit_schema_free(read);
    tacit_table_free(table);
  }
}

/* A value that no CSV file could have left there. */
static void test_values_are_verified(void **state) {
  static const struct {
    const char *name;
    double value;
    const char *column;
  } cases[] = {{"column-0001.f64", 10.5, "'x'"}, {"column-0001.f64", NAN, "'x'"},
               {"column-0002.f64", 2.5, "'k'"},  {"column-0002.f64", -1, "'k'"},
               {"column-0003.f64", 3, "'s'"},    {"column-0003.f64", -1, "'s'"},
               {"column-0003.f64", 0.5, "'s'"},  {"column-0004.f64", 0.5, "'y'"}};
  tacit_schema_t *schema = schema_of(plain_schema);
  for (size_t i = 0; i <= sizeof cases / sizeof cases[0]; i++) {
    tacit_table_t *table;
    tacit_error_t err;
    write_rows(40000, 10, i);
    assert_ok(import_file(plain_schema, NULL, &err), err);
    if (i > 0) {
      int fd = open(inside(cases[i - 1].name), O_RDWR);
      assert_int_equal(pwrite(fd, &cases[i - 1].value, sizeof(double), 35000 * sizeof(double)),
                       sizeof(double));
      close(fd);
    }
    assert_ok(tacit_table_read(&table, columns, schema, NULL, 0, NULL, &err), err);
    assert_int_equal(tacit_table_verify(table, schema, &err), i > 0 ? TACIT_ERR_DATA : TACIT_OK);
    if (i > 0 &&
        (strstr(err.message, cases[i - 1].column) == NULL || strstr(err.message, "row 35001 does") == NULL)) {
      fail_msg("%s", err.message);
    }
    tacit_table_free(table);
  }
  tacit_schema_free(schema);
}

static void test_manifests_are_checked(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"rows: 1\nclamped: [0]\nmissing: [0]\nschema: {columns: {x: {type: binary}}}",
       "m:1:1: a manifest needs its format"},
      {"format: 2\nrows: 1\n", "m:1:9: columns of format 2, this program knows format 1: import again"},
      {"format: 1\nclamped: [0]\nmissing: [0]\nschema: {columns: {x: {type: binary}}}",
       "format, rows and a schema"},
      {"format: 1\nrows: -1", "m:2:7: rows: expected a whole number"},
      {"format: 1\nrows: 1e300", "m:2:7: rows: expected a whole number"},
      {"format: 1\nrows: 3", "a manifest needs its format, rows and a schema"},
      {"format: 1\nrows: 3\nschema: {columns: {x: {type: nothing}}}", "m:3:30: type: expected numeric"},
      {"format: 1\nrows: 3\nclamped: [0, 0]\nmissing: [0]\nschema: {columns: {x: {type: binary}}}",
       "m:3:10: clamped: expected a list of 1"},
      {"format: 1\nrows: 3\nclamped: [0]\nschema: {columns: {x: {type: binary}}}",
       "m:1:1: missing: expected a list of 1"},
      {"format: 1\nrows: 3\nunits: 2\nclamped: [0]\nmissing: [0]\nschema: {columns: {x: {type: binary}}}",
       "m:3:1: units and rows_dropped"},
      {"format: 1\nrows: 3\nunits: 4\nrows_dropped: 0\nclamped: []\nmissing: []\nschema: {unit: w, max_rows: "
       "2, columns: {w: {type: id}}}",
       "m:3:1: units and rows_dropped"},
      {"format: 1\nrows: 3\nrows: 3", "'rows' is given twice"},
      {"[1]", "a manifest: expected `key: value` pairs"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_manifest_t manifest;
    tacit_error_t err;
    assert_int_not_equal(tacit_manifest_parse(&manifest, cases[i].text, strlen(cases[i].text), "m", &err),
                         TACIT_OK);
    tacit_manifest_clear(&manifest);
    if (strstr(err.message, cases[i].message) == NULL) {
      fail_msg("'%s' does not say '%s'", err.message, cases[i].message);
    }
  }
}

/* A file with an error in it, or memory that runs out, leaves nothing behind. */
static void test_failures_leave_nothing(void **state) {
  static const char person[] =
      "unit: who\nmax_rows: 2\ncolumns:\n  x: {type: numeric, lower: -10, upper: 10}\n  who: {type: id}\n";
  tacit_error_t err;
  const char *text = "x,k,s,y\n1,1,F,1\n1,1,X,1\n";
  write_file(text, strlen(text));
  assert_int_equal(import_file(plain_schema, NULL, &err), TACIT_ERR_DATA);
  assert_non_null(strstr(err.message, "data.csv:3:5: column 's': not one of the levels"));
  write_rows(50, 40, 3);
  for (int i = 0; i < 2; i++) {
    tacit_schema_t *schema = schema_of(i == 0 ? plain_schema : person);
    tacit_status_t status = TACIT_ERR_MEMORY;
    size_t k;
    for (k = 1; status != TACIT_OK; k++) {
      remove_columns();
      tacit_alloc_fail_at(k);
      status = tacit_table_import(file, schema, columns, NULL, &err);
      tacit_alloc_fail_at(0);
      assert_true(status == TACIT_OK || status == TACIT_ERR_MEMORY);
      assert_int_equal(access(columns, F_OK), status == TACIT_OK ? 0 : -1);
    }
    assert_true(k > 10);
    for (k = 1, status = TACIT_ERR_MEMORY; status != TACIT_OK; k++) {
      tacit_table_t *table;
      tacit_alloc_fail_at(k);
      status = tacit_table_read(&table, columns, schema, NULL, 0, NULL, &err);
      tacit_alloc_fail_at(0);
      assert_true(status == TACIT_OK ? table != NULL : status == TACIT_ERR_MEMORY && table == NULL);
      tacit_table_free(table);
    }
    tacit_schema_free(schema);
  }
  DIR *entries = opendir(folder);
  size_t n = 0;
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    n += strstr(entry->d_name, ".tmp-") != NULL;
  }
  closedir(entries);
  assert_int_equal(n, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_as_csv),
      cmocka_unit_test(test_persons_as_csv),
      cmocka_unit_test(test_for_its_owner_alone),
      cmocka_unit_test(test_manifest_keeps_the_schema),
      cmocka_unit_test(test_other_schemas_are_refused),
      cmocka_unit_test(test_damage_is_noticed),
      cmocka_unit_test(test_no_records),
      cmocka_unit_test(test_values_are_verified),
      cmocka_unit_test(test_manifests_are_checked),
      cmocka_unit_test(test_failures_leave_nothing),
  };
  return cmocka_run_group_tests(tests, set_up_columns, tear_down_columns);
}
