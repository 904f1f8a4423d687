/* What each family accepts as its response, and how that becomes a number. */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "formula/design_internal.h"

static tacit_status_t refuse_design_response(const tacit_design_t *design, tacit_error_t *err,
                                             const char *needs) {
  const tacit_formula_variable_t *response = &design->formula.variables[0];
  return tacit_formula_error(&design->formula, err, TACIT_ERR_SCHEMA, response->offset,
                             "family %s cannot take '%.64s' as its response; it needs %s",
                             tacit_family_string(design->family), response->label, needs);
}

static void take_factor(tacit_design_t *design) {
  const tacit_design_variable_t *response = &design->variables[0];
  design->response_offset = response->first_level;
  design->response_lower = 0;
  design->response_upper = (double)response->n_levels - 1;
}

static tacit_status_t take_bernoulli(tacit_design_t *design, tacit_error_t *err) {
  const tacit_design_variable_t *response = &design->variables[0];
  if (response->is_factor && response->n_levels == 2) {
    take_factor(design);
    return TACIT_OK;
  }
  bool is_unit_range = response->range.lower == 0 && response->range.upper == 1; /* exact, from the schema */
  bool is_zero_one = response->type == TACIT_COLUMN_BINARY ||
                     (response->type == TACIT_COLUMN_INTEGER && !response->is_factor && is_unit_range);
  return is_zero_one
             ? TACIT_OK
             : refuse_design_response(design, err,
                                      "a binary column, a categorical one of two levels (the second counts "
                                      "as 1) or an integer one with bounds 0 and 1");
}

static tacit_status_t take_gaussian(tacit_design_t *design, tacit_error_t *err) {
  if (design->variables[0].is_factor) {
    return refuse_design_response(
        design, err, "a number: a numeric, integer or binary column, or arithmetic such as log(y)");
  }
  if (!tacit_design_scale(design->formula.has_intercept, design->response_lower, design->response_upper,
                          &design->response_centre, &design->response_half)) {
    return refuse_design_response(design, err, "a response that can vary within its public bounds");
  }
  return TACIT_OK;
}

static tacit_status_t take_poisson(tacit_design_t *design, tacit_error_t *err) {
  const tacit_design_variable_t *response = &design->variables[0];
  bool is_count =
      response->type == TACIT_COLUMN_INTEGER && !response->is_factor && response->range.lower >= 0;
  return is_count ? TACIT_OK
                  : refuse_design_response(design, err,
                                           "counts: an integer column with a lower bound of at least 0");
}

static tacit_status_t take_categorical(tacit_design_t *design, tacit_error_t *err) {
  const tacit_design_variable_t *response = &design->variables[0];
  if (!response->is_factor || response->n_levels < 2) {
    return refuse_design_response(design, err,
                                  "two levels or more: a categorical column, or factor() of an integer one");
  }
  take_factor(design);
  design->class_labels = tacit_alloc(response->n_levels, sizeof *design->class_labels);
  if (design->class_labels == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t c = 0; c < response->n_levels; c++) {
    char buffer[32];
    design->class_labels[c] = tacit_strdup(tacit_design_level_label(response, c, buffer));
    if (design->class_labels[c] == NULL) {
      return tacit_error_memory(err);
    }
    design->n_classes++;
  }
  return TACIT_OK;
}

tacit_status_t tacit_design_resolve_response(tacit_design_t *design, tacit_error_t *err) {
  design->response_lower = design->variables[0].range.lower;
  design->response_upper = design->variables[0].range.upper;
  design->response_centre = 0;
  design->response_half = 1;
  switch (design->family) {
  case TACIT_FAMILY_BERNOULLI:
    return take_bernoulli(design, err);
  case TACIT_FAMILY_GAUSSIAN:
    return take_gaussian(design, err);
  case TACIT_FAMILY_POISSON:
    return take_poisson(design, err);
  case TACIT_FAMILY_CATEGORICAL:
    return take_categorical(design, err);
  }
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "family", "there is no family number %d",
                         (int)design->family);
}
