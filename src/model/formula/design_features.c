/* Expansion of terms into features: contrasts, products, labels, public ranges, scaling. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "formula/design_internal.h"
#include "formula/names.h"

bool tacit_design_scale(bool has_intercept, double lower, double upper, double *centre, double *half) {
  double largest = fmax(fabs(lower), fabs(upper));
  /* halves are taken first: the sum or difference of two finite bounds may overflow */
  *centre = has_intercept ? lower / 2 + upper / 2 : 0;
  *half = has_intercept ? upper / 2 - lower / 2 : largest;
  double width = upper / 2 - lower / 2;
  return width > 1e-13 * largest && width > 1e-290;
}

/* The term and position of the first factor: without an intercept it shows all its levels, as in R. */
static void find_first_factor(const tacit_design_t *design, size_t *term, size_t *position) {
  for (*term = 0; *term < design->formula.n_terms; ++*term) {
    const tacit_formula_term_t *candidate = &design->formula.terms[*term];
    for (*position = 0; *position < candidate->order; ++*position) {
      if (design->variables[candidate->variables[*position]].is_factor) {
        return;
      }
    }
  }
}

static void append_label(const tacit_design_t *design, const tacit_design_part_t *part, bool is_apart,
                         tacit_text_t *label) {
  const char *variable = design->formula.variables[part->variable].label;
  tacit_text_append(label, variable, strlen(variable));
  if (part->is_indicator) {
    char buffer[32];
    const tacit_design_variable_t *factor = &design->variables[part->variable];
    const char *level = tacit_design_level_label(factor, (size_t)(part->level - factor->first_level), buffer);
    tacit_text_printf(label, is_apart ? "[%s]" : "%s", level);
  }
}

/* "age:sexM", or, with levels apart, "age:sex[M]"; owned, NULL if memory fails. */
static char *make_label(const tacit_design_t *design, const tacit_design_feature_t *feature, bool is_apart) {
  tacit_text_t label = {0};
  if (feature->n_parts == 0) {
    tacit_text_append(&label, "Intercept", 9);
  }
  for (size_t i = 0; i < feature->n_parts; i++) {
    tacit_text_append(&label, ":", i > 0);
    append_label(design, &feature->parts[i], is_apart, &label);
  }
  if (label.failed) {
    tacit_text_clear(&label);
  }
  return label.data;
}

static bool has_levels(const tacit_design_feature_t *feature) {
  for (size_t i = 0; i < feature->n_parts; i++) {
    if (feature->parts[i].is_indicator) {
      return true;
    }
  }
  return false;
}

static tacit_status_t rename_feature(tacit_design_t *design, size_t j, const char *label,
                                     tacit_error_t *err) {
  char *own = tacit_strdup(label);
  if (own == NULL) {
    return tacit_error_memory(err);
  }
  tacit_free(design->features[j].label);
  design->features[j].label = own;
  return TACIT_OK;
}

/* Each feature its own label; the intercept's gives way to a column's. */
static tacit_status_t part_labels(tacit_design_t *design, tacit_error_t *err) {
  size_t first = design->formula.has_intercept ? 1 : 0, n = design->n_features - first, twice = SIZE_MAX;
  const char **labels = tacit_alloc_zero(n + 1, sizeof *labels);
  char **apart = tacit_alloc_zero(n + 1, sizeof *apart);
  tacit_status_t status = labels != NULL && apart != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t j = 0; j < n && status == TACIT_OK; j++) {
    labels[j] = design->features[first + j].label;
    apart[j] = has_levels(&design->features[first + j])
                   ? make_label(design, &design->features[first + j], true)
                   : NULL;
  }
  TACIT_THEN(status, tacit_names_part(n, labels, (const char *const *)apart, &twice, err));
  if (status == TACIT_OK && twice != SIZE_MAX) {
    status = tacit_formula_error(&design->formula, err, TACIT_ERR_SCHEMA, 0,
                                 "two terms are called '%.64s': rename a column or a level in the schema",
                                 labels[twice]);
  }
  for (size_t j = 0; j < n && status == TACIT_OK; j++) {
    status = labels[j] == apart[j] ? rename_feature(design, first + j, labels[j], err) : status;
  }
  if (status == TACIT_OK && first == 1 && n > 0 && tacit_names_have(n, labels, "Intercept")) {
    status = rename_feature(design, 0, "(Intercept)", err);
  }
  for (size_t j = 0; j < n && apart != NULL; j++) {
    tacit_free(apart[j]);
  }
  tacit_free(labels);
  tacit_free(apart);
  return status;
}

typedef struct moments {
  tacit_interval_t range;
  double mean, variance;
} moments_t;

/*
 * Range of the product, and its moments for parts that are independent, numbers uniform on their
 * range, binary columns and indicators equal to either end with probability 1/2. Multiplying a
 * product (mean m, variance v) by a part (mean a, variance s) gives the mean m a and the variance
 * v s + v a^2 + m^2 s: no cancellation.
 */
static moments_t measure(const tacit_design_t *design, const tacit_design_feature_t *feature) {
  moments_t product = {.range = {1, 1}, .mean = 1};
  for (size_t i = 0; i < feature->n_parts; i++) {
    const tacit_design_variable_t *variable = &design->variables[feature->parts[i].variable];
    bool has_two_values = feature->parts[i].is_indicator || variable->type == TACIT_COLUMN_BINARY;
    tacit_interval_t x = feature->parts[i].is_indicator ? (tacit_interval_t){0, 1} : variable->range;
    product.range = tacit_interval_multiply(product.range, x);
    double mean = x.lower / 2 + x.upper / 2, width = x.upper - x.lower;
    double variance = width * width / (has_two_values ? 4 : 12);
    product.variance = product.variance * (variance + mean * mean) + product.mean * product.mean * variance;
    product.mean *= mean;
  }
  return product;
}

/* Nine in ten values of a normal lie within 3.3 standard deviations. */
static void find_typical(const tacit_design_t *design, tacit_design_feature_t *feature) {
  tacit_interval_t product = {1, 1};
  for (size_t i = 0; i < feature->n_parts; i++) {
    const tacit_design_variable_t *variable = &design->variables[feature->parts[i].variable];
    bool is_indicator = feature->parts[i].is_indicator;
    product = tacit_interval_multiply(product, is_indicator ? (tacit_interval_t){0, 1} : variable->typical);
    feature->has_typical = feature->has_typical || (!is_indicator && variable->has_typical);
  }
  feature->typical_mean = (product.lower / 2 + product.upper / 2 - feature->centre) / feature->half;
  feature->typical_sd = (product.upper - product.lower) / 3.3 / feature->half;
  feature->has_typical = feature->has_typical && feature->typical_sd > 0;
}

static tacit_status_t scale(const tacit_design_t *design, tacit_design_feature_t *feature, size_t offset,
                            tacit_error_t *err) {
  moments_t product = measure(design, feature);
  feature->lower = product.range.lower;
  feature->upper = product.range.upper;
  if (!(isfinite(feature->lower) && isfinite(feature->upper))) {
    return tacit_formula_error(
        &design->formula, err, TACIT_ERR_SCHEMA, offset,
        "the range of '%.64s' overflows by the public bounds of its columns; tighten them", feature->label);
  }
  if (!tacit_design_scale(design->formula.has_intercept, feature->lower, feature->upper, &feature->centre,
                          &feature->half)) {
    return tacit_formula_error(&design->formula, err, TACIT_ERR_SCHEMA, offset,
                               "'%.64s' is constant by the public bounds of its columns; drop it",
                               feature->label);
  }
  double shift = (product.mean - feature->centre) / feature->half,
         sd = sqrt(product.variance) / feature->half;
  feature->mean_square = sd * sd + shift * shift;
  if (!(feature->mean_square >= 1e-6 && feature->mean_square <= 1)) {
    feature->mean_square = 1.0 / 3; /* the variance over- or underflowed: a guess will do */
  }
  find_typical(design, feature);
  return TACIT_OK;
}

/* Add a feature whose parts are given. */
static tacit_status_t add_feature(tacit_design_t *design, const tacit_design_feature_t *given, size_t offset,
                                  tacit_error_t *err) {
  if (design->n_features == TACIT_DESIGN_MAX_FEATURES) {
    return tacit_formula_error(&design->formula, err, TACIT_ERR_SCHEMA, offset,
                               "the formula has more than %d features; write fewer interactions or levels",
                               (int)TACIT_DESIGN_MAX_FEATURES);
  }
  void *features =
      tacit_grow(design->features, design->n_features, &design->features_capacity, sizeof *design->features);
  if (features == NULL) {
    return tacit_error_memory(err);
  }
  design->features = features;
  tacit_design_feature_t *feature = &design->features[design->n_features];
  *feature = *given;
  feature->label = make_label(design, feature, false);
  if (feature->label == NULL) {
    return tacit_error_memory(err);
  }
  design->n_features++;
  return feature->n_parts == 0 ? TACIT_OK : scale(design, feature, offset, err);
}

typedef struct expansion {
  size_t first[TACIT_FORMULA_MAX_ORDER]; /* first level that has an indicator */
  size_t level[TACIT_FORMULA_MAX_ORDER]; /* odometer over levels; unused for numbers */
} expansion_t;

static void set_parts(const tacit_design_t *design, const tacit_formula_term_t *term,
                      const expansion_t *expansion, tacit_design_feature_t *feature) {
  *feature = (tacit_design_feature_t){.n_parts = term->order};
  for (size_t i = 0; i < term->order; i++) {
    const tacit_design_variable_t *variable = &design->variables[term->variables[i]];
    feature->parts[i] = (tacit_design_part_t){.variable = term->variables[i],
                                              .is_indicator = variable->is_factor,
                                              .level = variable->first_level + (double)expansion->level[i]};
  }
}

/* Step to the next combination of levels, the first factor fastest; false after the last. */
static bool advance(const tacit_design_t *design, const tacit_formula_term_t *term, expansion_t *expansion) {
  for (size_t i = 0; i < term->order; i++) {
    const tacit_design_variable_t *variable = &design->variables[term->variables[i]];
    if (variable->is_factor) {
      if (++expansion->level[i] < variable->n_levels) {
        return true;
      }
      expansion->level[i] = expansion->first[i];
    }
  }
  return false;
}

static tacit_status_t expand_term(tacit_design_t *design, size_t t, size_t full_position,
                                  tacit_error_t *err) {
  const tacit_formula_term_t *term = &design->formula.terms[t];
  expansion_t expansion = {0};
  for (size_t i = 0; i < term->order; i++) {
    const tacit_design_variable_t *variable = &design->variables[term->variables[i]];
    if (variable->is_factor && variable->n_levels < 2) {
      return tacit_formula_error(&design->formula, err, TACIT_ERR_SCHEMA, term->offset,
                                 "'%.64s' has a single level and so is constant; drop it",
                                 design->formula.variables[term->variables[i]].label);
    }
    if (variable->is_factor && i != full_position &&
        tacit_formula_uses_contrasts(design->formula.terms, t, i)) {
      expansion.first[i] = expansion.level[i] = 1;
    }
  }
  tacit_status_t status = TACIT_OK;
  do {
    tacit_design_feature_t feature;
    set_parts(design, term, &expansion, &feature);
    status = add_feature(design, &feature, term->offset, err);
  } while (status == TACIT_OK && advance(design, term, &expansion));
  return status;
}

tacit_status_t tacit_design_expand(tacit_design_t *design, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  size_t first_term = SIZE_MAX, first_position = SIZE_MAX;
  if (design->formula.has_intercept) {
    tacit_design_feature_t intercept = {.lower = 1, .upper = 1, .half = 1, .mean_square = 1};
    status = add_feature(design, &intercept, 0, err);
  } else {
    find_first_factor(design, &first_term, &first_position);
  }
  for (size_t t = 0; t < design->formula.n_terms && status == TACIT_OK; t++) {
    status = expand_term(design, t, t == first_term ? first_position : SIZE_MAX, err);
  }
  return status == TACIT_OK ? part_labels(design, err) : status;
}
