#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "formula/design_internal.h"
#include "formula/model_text.h"
#include "formula/names.h"

tacit_status_t tacit_design_new(tacit_design_t **design, const char *formula, const tacit_schema_t *schema,
                                tacit_family_t family, tacit_error_t *err) {
  *design = NULL;
  if (formula == NULL || schema == NULL || tacit_family_string(family) == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "design",
                           "a design needs a formula, a schema and a family");
  }
  tacit_design_t *made = tacit_alloc_zero(1, sizeof *made);
  if (made == NULL) {
    return tacit_error_memory(err);
  }
  made->family = family;
  tacit_status_t status = tacit_formula_parse(&made->formula, formula, err);
  TACIT_THEN(status, tacit_design_resolve(made, schema, err));
  TACIT_THEN(status, tacit_design_resolve_response(made, err));
  TACIT_THEN(status, tacit_design_expand(made, err));
  if (status != TACIT_OK) {
    tacit_design_free(made);
    return status;
  }
  for (size_t i = 0; i < made->formula.n_variables; i++) {
    made->variables[i].levels = NULL; /* the schema may be freed from here on */
  }
  *design = made;
  return TACIT_OK;
}

void tacit_design_free(tacit_design_t *design) {
  if (design == NULL) {
    return;
  }
  for (size_t j = 0; j < design->n_features; j++) {
    tacit_free(design->features[j].label);
  }
  for (size_t c = 0; c < design->n_classes; c++) {
    tacit_free(design->class_labels[c]);
  }
  tacit_free(design->features);
  tacit_free(design->class_labels);
  tacit_free(design->variables);
  tacit_formula_clear(&design->formula);
  tacit_free(design);
}

size_t tacit_design_n_features(const tacit_design_t *design) { return design->n_features; }

bool tacit_design_has_intercept(const tacit_design_t *design) { return design->formula.has_intercept; }

const char *tacit_design_label(const tacit_design_t *design, size_t j) { return design->features[j].label; }

const char *tacit_design_sigma_label(const tacit_design_t *design) {
  for (size_t j = 0; j < design->n_features; j++) {
    if (strcmp(design->features[j].label, "sigma") == 0) {
      return "(sigma)";
    }
  }
  return "sigma";
}

void tacit_design_range(const tacit_design_t *design, size_t j, double *lower, double *upper) {
  *lower = design->features[j].lower;
  *upper = design->features[j].upper;
}

void tacit_design_scaling(const tacit_design_t *design, size_t j, double *centre, double *half) {
  *centre = design->features[j].centre;
  *half = design->features[j].half;
}

double tacit_design_typical_sd(const tacit_design_t *design, size_t j) {
  const tacit_design_feature_t *feature = &design->features[j];
  return feature->has_typical ? feature->half * feature->typical_sd : 0;
}

bool tacit_design_is_two_valued(const tacit_design_t *design, size_t j) {
  const tacit_design_feature_t *feature = &design->features[j];
  for (size_t i = 0; i < feature->n_parts; i++) {
    const tacit_design_variable_t *variable = &design->variables[feature->parts[i].variable];
    bool is_zero_one =
        variable->type == TACIT_COLUMN_BINARY ||
        (variable->type == TACIT_COLUMN_INTEGER && variable->range.lower == 0 && variable->range.upper == 1);
    if (!feature->parts[i].is_indicator && !is_zero_one) {
      return false;
    }
  }
  return feature->n_parts > 0;
}

const char *const *tacit_design_columns(const tacit_design_t *design, size_t *n) {
  *n = design->formula.n_columns;
  return (const char *const *)design->formula.columns;
}

const char *tacit_design_response(const tacit_design_t *design) { return design->formula.variables[0].label; }

void tacit_design_response_range(const tacit_design_t *design, double *lower, double *upper) {
  *lower = design->response_lower;
  *upper = design->response_upper;
}

size_t tacit_design_n_classes(const tacit_design_t *design) { return design->n_classes; }

const char *tacit_design_class_label(const tacit_design_t *design, size_t c) {
  return design->class_labels[c];
}
