/*
 * Formulas and priors: any bytes must end in success or in an error. The first byte chooses the
 * family, the rest is parsed as a formula against a fixed schema and as a prior.
 */
#include <stdlib.h>
#include <string.h>

#include "formula/model.h"
#include "tacit/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char schema_text[] = "columns:\n"
                                  "  age: {type: integer, lower: 50, upper: 105}\n"
                                  "  sex: {type: categorical, levels: [F, M]}\n"
                                  "  grp: {type: categorical, levels: [a, b, c]}\n"
                                  "  flc: {type: numeric, lower: 0.3, upper: 30}\n"
                                  "  z: {type: numeric, lower: -2, upper: 3}\n"
                                  "  y: {type: binary}\n"
                                  "  n: {type: integer, lower: 0, upper: 9}\n";

static void fuzz_design(const char *formula, const tacit_schema_t *schema, tacit_family_t family) {
  tacit_design_t *design = NULL;
  tacit_error_t err;
  if (tacit_design_new(&design, formula, schema, family, &err) != TACIT_OK) {
    return;
  }
  tacit_model_t model;
  tacit_glm_settings_t settings = tacit_glm_settings_default();
  settings.family = family;
  if (tacit_model_init_glm(&model, design, &settings, &err) == TACIT_OK) {
    if (tacit_model_validate(&model, &err) != TACIT_OK) {
      abort(); /* a model of the library's own making is complete */
    }
    tacit_model_clear(&model);
  }
  tacit_design_free(design);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  tacit_schema_t *schema = NULL;
  tacit_error_t err;
  if (size == 0 || text == NULL ||
      tacit_schema_parse(&schema, schema_text, sizeof schema_text - 1, "fuzz", &err) != TACIT_OK) {
    free(text);
    return 0;
  }
  memcpy(text, data + 1, size - 1);
  text[size - 1] = '\0';
  fuzz_design(text, schema, (tacit_family_t)(data[0] % 4));
  tacit_prior_entry_t entry;
  if (tacit_prior_parse(&entry, text, &err) == TACIT_OK) {
    tacit_prior_entry_clear(&entry);
  }
  tacit_schema_free(schema);
  free(text);
  return 0;
}
