/* A schema, designs, tables and random numbers for the tests of model. */
#ifndef TACIT_MODEL_TESTING_H
#define TACIT_MODEL_TESTING_H

#include "testing.h"

#include <string.h>
#include <unistd.h>

#include "formula/model.h"
#include "tacit/data.h"

static const char model_testing_schema[] = "dataset: models\n"
                                           "columns:\n"
                                           "  age: {type: integer, lower: 50, upper: 105}\n"
                                           "  sex: {type: categorical, levels: [F, M]}\n"
                                           "  flc: {type: numeric, lower: 0.3, upper: 30}\n"
                                           "  death: {type: binary}\n"
                                           "  grp: {type: categorical, levels: [a, b, c]}\n"
                                           "  stage: {type: integer, lower: 1, upper: 4}\n"
                                           "  bmi: {type: numeric, lower: 10, upper: 60}\n"
                                           "  z: {type: numeric, lower: -2, upper: 3}\n"
                                           "  smoker: {type: binary}\n"
                                           "  count: {type: integer, lower: 0, upper: 50}\n"
                                           "  flag: {type: integer, lower: 0, upper: 1}\n"
                                           "  odd name: {type: numeric, lower: 1, upper: 2}\n"
                                           "  wide: {type: integer, lower: 0, upper: 100000}\n"
                                           "  one: {type: categorical, levels: [only]}\n"
                                           "  big: {type: numeric, lower: 1, upper: 1.0e+300}\n"
                                           "  pid: {type: id}\n";

static inline tacit_schema_t *model_testing_schema_new(void) {
  tacit_error_t err = {0};
  tacit_schema_t *schema = NULL;
  assert_ok(tacit_schema_parse(&schema, model_testing_schema, strlen(model_testing_schema), "test", &err),
            err);
  return schema;
}

static inline tacit_design_t *model_testing_design(const char *formula, tacit_family_t family) {
  tacit_error_t err = {0};
  tacit_schema_t *schema = model_testing_schema_new();
  tacit_design_t *design = NULL;
  tacit_status_t status = tacit_design_new(&design, formula, schema, family, &err);
  tacit_schema_free(schema);
  if (status != TACIT_OK) {
    fail_msg("%s: %s", formula, err.message);
  }
  return design;
}

static inline tacit_model_t model_testing_model(const tacit_design_t *design,
                                                const tacit_glm_settings_t *settings) {
  tacit_error_t err = {0};
  tacit_model_t model;
  assert_ok(tacit_model_init_glm(&model, design, settings, &err), err);
  assert_ok(tacit_model_validate(&model, &err), err);
  return model;
}

/* splitmix64 */
static inline uint64_t model_testing_bits(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static inline double model_testing_uniform(uint64_t *state, double lower, double upper) {
  return lower + (upper - lower) * (double)(model_testing_bits(state) >> 11) * 0x1p-53;
}

/* In [lower, upper], the ends and the neighbourhood of 0 having extra weight. */
static inline double model_testing_corner(uint64_t *state, double lower, double upper) {
  double x = model_testing_uniform(state, lower, upper);
  switch (model_testing_bits(state) % 6) {
  case 0:
    return lower;
  case 1:
    return upper;
  case 2:
    return lower < 0 && upper > 0 ? x * 1e-9 : x;
  default:
    return x;
  }
}

/* Read CSV text as a table by way of a temporary file. */
static inline tacit_table_t *model_testing_table(const char *csv, size_t n, const tacit_schema_t *schema) {
  char path[] = "/tmp/tacit-test-model-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  FILE *file = fdopen(fd, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(csv, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
  tacit_error_t err = {0};
  tacit_table_t *table = NULL;
  tacit_status_t status = tacit_table_read(&table, path, schema, NULL, 0, NULL, &err);
  unlink(path);
  if (status != TACIT_OK) {
    fail_msg("table: %s", err.message);
  }
  return table;
}

static inline size_t find_label(const tacit_design_t *design, const char *label) {
  for (size_t j = 0; j < tacit_design_n_features(design); j++) {
    if (strcmp(tacit_design_label(design, j), label) == 0) {
      return j;
    }
  }
  fail_msg("no feature '%s'", label);
  return 0;
}

#endif
