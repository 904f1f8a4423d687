/*
 * Programs: any bytes must end in success or in an error, and what compiles must be evaluated without a read
 * out of bounds. The first byte chooses the schema, or none.
 */
#include <stdlib.h>
#include <string.h>

#include "formula/model.h"
#include "program/program.h"
#include "tacit/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char schema_text[] = "columns:\n"
                                  "  t: {type: numeric, lower: 0.01, upper: 14}\n"
                                  "  x.1: {type: numeric, lower: -1, upper: 1}\n"
                                  "  x.2: {type: numeric, lower: -1, upper: 1}\n"
                                  "  x.3: {type: numeric, lower: -1, upper: 1}\n"
                                  "  g: {type: categorical, levels: [a, b, c]}\n"
                                  "  sex: {type: categorical, levels: [F, M]}\n"
                                  "  y: {type: numeric, lower: -2, upper: 3}\n"
                                  "  d: {type: binary}\n"
                                  "  n: {type: integer, lower: 0, upper: 9}\n";

/* At 0, on records of small whole numbers, which no schema need allow: indices are moved into their tables.
 */
static void evaluate(const tacit_model_t *model) {
  size_t dim = model->records.dim, n_columns = model->records.n_columns;
  if (dim > 512 || n_columns > 512) {
    return;
  }
  double *theta = calloc(dim + model->parameters.n_reported, sizeof *theta),
         *out = aligned_alloc(64, 16 * sizeof *out);
  float *block = aligned_alloc(64, n_columns * 16 * sizeof *block);
  if (theta != NULL && out != NULL && block != NULL) {
    for (size_t i = 0; i < n_columns * 16; i++) {
      block[i] = (float)(i * 7 % 13) - 2;
    }
    model->records.log_lik(model->records.ctx, block, 1, theta, out);
    model->parameters.log_prior(model->parameters.ctx, theta, NULL);
    model->parameters.report(model->parameters.ctx, theta, theta + dim);
  }
  free(theta);
  free(out);
  free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tacit_error_t err;
  tacit_schema_t *schema = NULL;
  tacit_program_t *program;
  if (size == 0 || (data[0] % 2 == 1 && tacit_schema_parse(&schema, schema_text, sizeof schema_text - 1,
                                                           "fuzz", &err) != TACIT_OK)) {
    return 0;
  }
  double three = 3;
  tacit_program_constant_t constants[] = {{"K", &three, 1}};
  tacit_program_settings_t settings = {.schema = schema, .constants = constants, .n_constants = 1};
  char *formula = malloc(size), *text;
  if (schema != NULL && formula != NULL && size > 1) { /* formulas too */
    memcpy(formula, data + 1, size - 1);
    formula[size - 1] = '\0';
    if (tacit_program_of_formula(&text, formula, tacit_program_family(data[0] / 2 % 18), schema, &err) ==
        TACIT_OK) {
      if (tacit_program_parse(&program, text, strlen(text), &settings, &err) == TACIT_OK) {
        tacit_program_free(program);
      }
      tacit_free(text);
    }
  }
  free(formula);
  if (tacit_program_parse(&program, (const char *)data + 1, size - 1, &settings, &err) == TACIT_OK) {
    tacit_model_t model;
    if (tacit_program_compile(program, &model, &err) == TACIT_OK) {
      if (tacit_model_validate(&model, &err) != TACIT_OK) {
        abort(); /* a model of the library's own making is complete */
      }
      evaluate(&model);
      tacit_model_clear(&model);
    }
    tacit_program_free(program);
  }
  tacit_schema_free(schema);
  return 0;
}
