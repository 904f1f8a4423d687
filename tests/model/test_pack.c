/* Packing: the features and responses of records, the same on any number of threads, inside the cube. */
#include "base/isa.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/records.h"
#include "model_testing.h"

static tacit_table_t *random_table(const tacit_schema_t *schema, size_t n, uint64_t *rng) {
  tacit_text_t csv = {0};
  tacit_text_printf(&csv, "age,sex,flc,death,grp,stage,bmi,z,smoker,count,flag,wide,one,big,pid,odd name\n");
  for (size_t i = 0; i < n; i++) {
    tacit_text_printf(&csv, "%d,%c,%.17g,%d,%c,%d,%.17g,%.17g,%d,%d,%d,%d,only,%.17g,p%zu,1.5\n",
                      (int)model_testing_corner(rng, 50, 105), "FM"[model_testing_bits(rng) % 2],
                      model_testing_corner(rng, 0.3, 30), (int)(model_testing_bits(rng) % 2),
                      "abc"[model_testing_bits(rng) % 3], (int)model_testing_corner(rng, 1, 4),
                      model_testing_corner(rng, 10, 60), model_testing_corner(rng, -2, 3),
                      (int)(model_testing_bits(rng) % 2), (int)model_testing_corner(rng, 0, 50),
                      (int)(model_testing_bits(rng) % 2), (int)model_testing_corner(rng, 0, 100000),
                      model_testing_corner(rng, 1, 1e300), i / 3);
  }
  assert_false(csv.failed);
  tacit_table_t *table = model_testing_table(csv.data, csv.length, schema);
  tacit_text_clear(&csv);
  return table;
}

static double packed(const tacit_records_t *records, size_t i, size_t j) {
  return (double)tacit_records_block(records, i / 16)[j * 16 + i % 16];
}

static void test_pack_features_never_leave_the_cube(void **state) {
  static const char *const formulas[] = {
      "death ~ age*sex + log(flc) + I(z^2) + I(1/flc):grp + bmi:z + exp(z) + sqrt(bmi):smoker",
      "death ~ 0 + grp*age + I(z^3 - 2 * z) + log(flc)*z + factor(stage):z + count + big",
      "death ~ I(log(flc)/(z + 3)^2) + I((flc - 0.3)^0.5) + I(0.1 * flc + 0.2 * bmi - 0.3 * z) + wide"};
  uint64_t rng = 11;
  tacit_schema_t *schema = model_testing_schema_new();
  size_t n = (size_t)(34000 * testing_multiplier());
  tacit_table_t *table = random_table(schema, n, &rng);
  for (size_t f = 0; f < sizeof formulas / sizeof formulas[0]; f++) {
    tacit_error_t err = {0};
    tacit_design_t *design = model_testing_design(formulas[f], TACIT_FAMILY_BERNOULLI);
    tacit_records_t *records;
    assert_ok(tacit_design_pack(&records, design, table, &err), err);
    size_t p = tacit_design_n_features(design);
    assert_int_equal(tacit_records_n_columns(records), p + 1);
    assert_int_equal(tacit_records_n(records), n);
    for (size_t j = 0; j < p; j++) {
      double least = INFINITY, most = -INFINITY;
      for (size_t i = 0; i < n; i++) {
        double x = packed(records, i, j);
        if (!(fabs(x) <= 1)) {
          fail_msg("%s: feature %s of record %zu is %.17g", formulas[f], tacit_design_label(design, j), i, x);
        }
        least = fmin(least, x);
        most = fmax(most, x);
      }
      assert_true(most > 0.5 && (least < -0.5 || !tacit_design_has_intercept(design) || j == 0));
    }
    for (size_t i = 0; i < n; i++) {
      double y = packed(records, i, p);
      assert_true(y == 0 || y == 1);
    }
    tacit_records_free(records);
    tacit_design_free(design);
  }
  tacit_table_free(table);
  tacit_schema_free(schema);
}

/* (x - centre) / half to the last bit, on every instruction set, whatever part of the table is packed, in
 * memory or in a file. */
static void test_pack_numbers_exactly(void **state) {
  static const char *const names[] = {"age", "flc", "bmi", "z", "count", "wide", "big"};
  enum { n_names = sizeof names / sizeof names[0], n = 34001 };
  uint64_t rng = 15;
  tacit_schema_t *schema = model_testing_schema_new();
  tacit_table_t *table = random_table(schema, n, &rng);
  tacit_design_t *design =
      model_testing_design("death ~ age + flc + bmi + z + count + wide + big", TACIT_FAMILY_BERNOULLI);
  tacit_error_t err = {0};
  for (int isa = 0; isa < 3; isa++) {
#if defined(__x86_64__)
    tacit_isa_limit((tacit_isa_t)isa);
#endif
    size_t n_parts = isa == 0 ? 1 : 3, from = 0;
    for (size_t part = 0; part < n_parts; part++) {
      tacit_records_t *records;
      assert_ok(tacit_design_pack_part(&records, design, table, part, n_parts, (size_t)isa + 1,
                                       isa == 1 ? "/tmp" : NULL, &err),
                err);
      for (size_t i = 0; i < tacit_records_n(records); i++) {
        for (size_t j = 0; j < n_names; j++) {
          double centre, half;
          tacit_design_scaling(design, j + 1, &centre, &half);
          float expected = (float)((tacit_table_column(table, names[j])[from + i] - centre) / half);
          assert_true(packed(records, i, j + 1) == (double)expected);
        }
        assert_true(packed(records, i, n_names + 1) == tacit_table_column(table, "death")[from + i]);
      }
      from += tacit_records_n(records);
      tacit_records_free(records);
    }
    assert_int_equal(from, n);
  }
  tacit_design_free(design);
  tacit_table_free(table);
  tacit_schema_free(schema);
}

static tacit_records_t *pack_on(const tacit_design_t *design, const tacit_table_t *table, size_t part,
                                size_t n_parts, size_t n_threads, const char *scratch) {
  tacit_error_t err = {0};
  tacit_records_t *records;
  assert_ok(tacit_design_pack_part(&records, design, table, part, n_parts, n_threads, scratch, &err), err);
  return records;
}

static void assert_same_records(const tacit_records_t *a, const tacit_records_t *b) {
  size_t n_blocks = tacit_records_n_blocks(a), n_units[2];
  assert_int_equal(tacit_records_n(a), tacit_records_n(b));
  assert_memory_equal(tacit_records_block(a, 0), tacit_records_block(b, 0),
                      n_blocks * tacit_records_n_columns(a) * TACIT_BLOCK * sizeof(float));
  const size_t *offsets = tacit_records_unit_offsets(a, &n_units[0]),
               *others = tacit_records_unit_offsets(b, &n_units[1]);
  assert_int_equal(n_units[0], n_units[1]);
  assert_int_equal(offsets == NULL, others == NULL);
  if (offsets != NULL) {
    assert_memory_equal(offsets, others, (n_units[0] + 1) * sizeof *offsets);
  }
}

/* The same bits from any number of threads: rows or persons of three, the whole table or a part, in memory or
 * in a file. */
static void test_pack_does_not_depend_on_threads(void **state) {
  static const char unit_text[] = "unit: pid\nmax_rows: 3\n";
  const size_t threads[] = {2, 3, 7};
  tacit_design_t *design = model_testing_design(
      "death ~ age*sex + log(flc) + I(z^2) + grp + bmi:z + exp(z) + wide", TACIT_FAMILY_BERNOULLI);
  for (size_t has_persons = 0; has_persons < 2; has_persons++) {
    char text[sizeof model_testing_schema + sizeof unit_text];
    uint64_t rng = 16;
    tacit_error_t err = {0};
    tacit_schema_t *schema;
    snprintf(text, sizeof text, "%s%s", has_persons ? unit_text : "", model_testing_schema);
    assert_ok(tacit_schema_parse(&schema, text, strlen(text), "threads", &err), err);
    tacit_table_t *table = random_table(schema, 70003, &rng);
    for (size_t part = 0; part < 4; part++) { /* the whole, and thirds */
      size_t at = part > 0 ? part - 1 : 0, n_parts = part > 0 ? 3 : 1;
      tacit_records_t *expected = pack_on(design, table, at, n_parts, 1, NULL);
      for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        tacit_records_t *records =
            pack_on(design, table, at, n_parts, threads[t], t == part % 3 ? "/tmp" : NULL);
        assert_same_records(records, expected);
        tacit_records_free(records);
      }
      tacit_records_free(expected);
    }
    tacit_records_t *records;
    assert_int_equal(tacit_design_pack_part(&records, design, table, 0, 1, 0, NULL, &err),
                     TACIT_ERR_ARGUMENT);
    assert_null(records);
    tacit_table_free(table);
    tacit_schema_free(schema);
  }
  tacit_design_free(design);
}

/* Direct evaluation of the formula in double. */
static void test_pack_values_are_those_of_the_formula(void **state) {
  uint64_t rng = 12;
  tacit_schema_t *schema = model_testing_schema_new();
  tacit_table_t *table = random_table(schema, 1000, &rng);
  tacit_design_t *design = model_testing_design(
      "I(2 * count - 1) ~ log(flc) + age:sex + sex + I(bmi/10 - z^2) + factor(stage)", TACIT_FAMILY_GAUSSIAN);
  tacit_error_t err = {0};
  tacit_records_t *records;
  assert_ok(tacit_design_pack(&records, design, table, &err), err);
  const double *flc = tacit_table_column(table, "flc"), *age = tacit_table_column(table, "age");
  const double *sex = tacit_table_column(table, "sex"), *bmi = tacit_table_column(table, "bmi");
  const double *z = tacit_table_column(table, "z"), *stage = tacit_table_column(table, "stage");
  const double *count = tacit_table_column(table, "count");
  size_t p = tacit_design_n_features(design);
  static const char *const labels[] = {"Intercept",      "log(flc)",       "age:sexF",
                                       "age:sexM",       "sexM",           "I(bmi/10 - z^2)",
                                       "factor(stage)2", "factor(stage)3", "factor(stage)4"};
  assert_int_equal(p, 9);
  for (size_t i = 0; i < 1000; i++) {
    double raw[] = {1,
                    log(flc[i]),
                    age[i] * (sex[i] == 0),
                    age[i] * (sex[i] == 1),
                    sex[i],
                    bmi[i] / 10 - z[i] * z[i],
                    stage[i] == 2,
                    stage[i] == 3,
                    stage[i] == 4};
    for (size_t k = 0; k < p; k++) {
      double centre, half;
      size_t j = find_label(design, labels[k]);
      tacit_design_scaling(design, j, &centre, &half);
      assert_close(packed(records, i, j), (raw[k] - centre) / half, 1e-7);
    }
    assert_close(packed(records, i, p), (2 * count[i] - 1 - 49) / 50, 1e-7);
  }
  tacit_records_free(records);
  tacit_design_free(design);
  tacit_table_free(table);
  tacit_schema_free(schema);
}

static void test_pack_codes_each_response(void **state) {
  static const struct {
    const char *formula;
    tacit_family_t family;
    const char *column;
    double offset;
  } cases[] = {
      {"death ~ age", TACIT_FAMILY_BERNOULLI, "death", 0},
      {"sex ~ age", TACIT_FAMILY_BERNOULLI, "sex", 0},
      {"flag ~ age", TACIT_FAMILY_BERNOULLI, "flag", 0},
      {"factor(death) ~ age", TACIT_FAMILY_BERNOULLI, "death", 0},
      {"count ~ age", TACIT_FAMILY_POISSON, "count", 0},
      {"grp ~ age", TACIT_FAMILY_CATEGORICAL, "grp", 0},
      {"factor(stage) ~ age", TACIT_FAMILY_CATEGORICAL, "stage", 1},
      {"sex ~ age", TACIT_FAMILY_CATEGORICAL, "sex", 0},
  };
  uint64_t rng = 13;
  tacit_schema_t *schema = model_testing_schema_new();
  tacit_table_t *table = random_table(schema, 200, &rng);
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    tacit_error_t err = {0};
    tacit_design_t *design = model_testing_design(cases[c].formula, cases[c].family);
    tacit_records_t *records;
    assert_ok(tacit_design_pack(&records, design, table, &err), err);
    for (size_t i = 0; i < 200; i++) {
      assert_true(packed(records, i, 2) == tacit_table_column(table, cases[c].column)[i] - cases[c].offset);
    }
    tacit_records_free(records);
    tacit_design_free(design);
  }
  tacit_table_free(table);
  tacit_schema_free(schema);
}

static void test_pack_carries_units_and_single_rows(void **state) {
  static const char schema_text[] = "unit: pid\n"
                                    "max_rows: 2\n"
                                    "columns:\n"
                                    "  pid: {type: id}\n"
                                    "  x: {type: numeric, lower: 0, upper: 4}\n"
                                    "  y: {type: binary}\n";
  static const char csv[] = "pid,x,y\n1,0,0\n1,4,1\n2,2,1\n";
  tacit_error_t err = {0};
  tacit_schema_t *schema;
  assert_ok(tacit_schema_parse(&schema, schema_text, sizeof schema_text - 1, "units", &err), err);
  tacit_table_t *table = model_testing_table(csv, sizeof csv - 1, schema);
  tacit_design_t *design;
  assert_ok(tacit_design_new(&design, "y ~ x", schema, TACIT_FAMILY_BERNOULLI, &err), err);
  tacit_records_t *records;
  assert_ok(tacit_design_pack(&records, design, table, &err), err);
  size_t n_units;
  const size_t *offsets = tacit_records_unit_offsets(records, &n_units);
  assert_non_null(offsets);
  assert_int_equal(n_units, 2);
  assert_int_equal(offsets[1], 2);
  assert_int_equal(offsets[2], 3);
  assert_true(packed(records, 0, 1) == -1 && packed(records, 1, 1) == 1 && packed(records, 2, 1) == 0);
  tacit_records_free(records);
  for (size_t k = 1;; k++) {
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_design_pack_part(&records, design, table, 0, 1, 2, NULL, &err);
    tacit_alloc_fail_at(0);
    if (status == TACIT_OK) {
      break;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
    assert_null(records);
  }
  tacit_records_free(records);
  tacit_design_free(design);
  tacit_table_free(table);
  tacit_schema_free(schema);
}

static void test_pack_missing_column_is_unknown(void **state) {
  static const char csv[] = "age,death\n60,1\n";
  tacit_error_t err = {0};
  tacit_schema_t *schema = model_testing_schema_new();
  static const char narrow[] =
      "columns:\n  age: {type: integer, lower: 50, upper: 105}\n  death: {type: binary}\n";
  tacit_schema_t *narrow_schema;
  assert_ok(tacit_schema_parse(&narrow_schema, narrow, sizeof narrow - 1, "narrow", &err), err);
  tacit_table_t *table = model_testing_table(csv, sizeof csv - 1, narrow_schema);
  tacit_design_t *design = model_testing_design("death ~ age + bmi", TACIT_FAMILY_BERNOULLI);
  tacit_records_t *records;
  assert_int_equal(tacit_design_pack(&records, design, table, &err), TACIT_ERR_UNKNOWN);
  assert_non_null(strstr(err.message, "'bmi'"));
  assert_null(records);
  tacit_design_free(design);
  tacit_table_free(table);
  tacit_schema_free(narrow_schema);
  tacit_schema_free(schema);
}

/* The packed records, mapped back to the scale of the data, are the features, up to the rounding of float32.
 */
static void test_features_are_what_is_packed(void **state) {
  uint64_t rng = 5;
  enum { n = 500 };
  tacit_error_t err = {0};
  tacit_schema_t *schema = model_testing_schema_new();
  tacit_table_t *table = random_table(schema, n, &rng);
  tacit_design_t *design = model_testing_design(
      "death ~ age*sex + log(flc) + I(z^2) + I(1/flc):grp + factor(stage):z", TACIT_FAMILY_BERNOULLI);
  tacit_records_t *records;
  assert_ok(tacit_design_pack(&records, design, table, &err), err);
  size_t p = tacit_design_n_features(design);
  double *features = malloc(n * p * sizeof *features);
  assert_ok(tacit_design_features(design, table, features, &err), err);
  for (size_t j = 0; j < p; j++) {
    double centre, half;
    tacit_design_scaling(design, j, &centre, &half);
    for (size_t i = 0; i < n; i++) {
      assert_close((features[i * p + j] - centre) / half, packed(records, i, j), 1e-7);
    }
  }
  free(features);
  tacit_records_free(records);
  tacit_design_free(design);
  tacit_table_free(table);
  tacit_schema_free(schema);
}

/* Rows of an analyst have no response. */
static void test_features_need_the_columns_of_the_terms(void **state) {
  static const char csv[] = "age,sex\n60,M\n200,F\n", *const columns[] = {"age", "sex"};
  tacit_error_t err = {0};
  tacit_schema_t *schema = model_testing_schema_new(), *narrow_schema;
  static const char narrow[] =
      "columns:\n  age: {type: integer, lower: 50, upper: 105}\n  sex: {type: categorical, levels: [F, M]}\n";
  assert_ok(tacit_schema_parse(&narrow_schema, narrow, sizeof narrow - 1, "narrow", &err), err);
  tacit_table_t *table = model_testing_table(csv, sizeof csv - 1, narrow_schema);
  tacit_design_t *design = model_testing_design("death ~ I(age/2):sex + sex", TACIT_FAMILY_BERNOULLI);
  const char *names[3];
  assert_int_equal(tacit_design_term_columns(design, names), 2);
  assert_string_equal(names[0], columns[0]);
  assert_string_equal(names[1], columns[1]);
  double x[8];
  assert_int_equal(tacit_design_n_features(design), 4);
  assert_ok(tacit_design_features(design, table, x, &err), err);
  assert_true(x[0] == 1 && x[1] == 1 && x[2] == 0 && x[3] == 30);
  assert_true(x[4] == 1 && x[5] == 0 && x[6] == 52.5 && x[7] == 0); /* 200 is held at its bound, 105 */
  tacit_design_free(design);
  design = model_testing_design("death ~ age + bmi", TACIT_FAMILY_BERNOULLI);
  assert_int_equal(tacit_design_features(design, table, x, &err), TACIT_ERR_UNKNOWN);
  assert_string_equal(err.field, "bmi");
  tacit_design_free(design);
  tacit_table_free(table);
  tacit_schema_free(narrow_schema);
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pack_features_never_leave_the_cube),
      cmocka_unit_test(test_pack_numbers_exactly),
      cmocka_unit_test(test_pack_does_not_depend_on_threads),
      cmocka_unit_test(test_pack_values_are_those_of_the_formula),
      cmocka_unit_test(test_pack_codes_each_response),
      cmocka_unit_test(test_pack_carries_units_and_single_rows),
      cmocka_unit_test(test_pack_missing_column_is_unknown),
      cmocka_unit_test(test_features_are_what_is_packed),
      cmocka_unit_test(test_features_need_the_columns_of_the_terms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
