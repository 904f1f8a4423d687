/* The design: what tacit_design_new resolves and tacit_design_pack evaluates. */
#ifndef TACIT_DESIGN_INTERNAL_H
#define TACIT_DESIGN_INTERNAL_H

#include "formula/expression.h"
#include "formula/model.h"
#include "tacit/data.h"

enum {
  TACIT_DESIGN_MAX_FEATURES = 16384,
  TACIT_DESIGN_MAX_INTEGER_LEVELS = 1000, /* of factor(integer column) */
};

/* A variable of the formula after resolution. A factor's values are first_level + level index. */
typedef struct tacit_design_variable {
  tacit_column_type_t type; /* of its column; numeric for arithmetic */
  bool is_factor;
  tacit_interval_t range; /* number: public range; factor: range of its values */
  bool has_typical;
  tacit_interval_t typical; /* number: where its values typically lie, by what the schema says; else range */
  size_t n_levels;
  double first_level;
  const char *const *levels; /* borrowed from the schema during resolution; NULL: integers */
} tacit_design_variable_t;

/* A factor of a product: a variable's number, or the indicator of one of its levels. */
typedef struct tacit_design_part {
  size_t variable;
  bool is_indicator;
  double level;
} tacit_design_part_t;

typedef struct tacit_design_feature {
  char *label;
  size_t n_parts; /* 0: the intercept */
  tacit_design_part_t parts[TACIT_FORMULA_MAX_ORDER];
  double lower, upper, centre, half;
  bool has_typical;
  double typical_mean, typical_sd; /* of the scaled feature, by `typical:` of its columns */
  double mean_square;              /* guess of E scaled^2, see design_features.c */
} tacit_design_feature_t;

struct tacit_design {
  tacit_family_t family;
  tacit_formula_t formula;
  tacit_design_variable_t *variables; /* as formula.variables, the response first */
  tacit_design_feature_t *features;
  size_t n_features, features_capacity;
  double response_lower, response_upper; /* of the response as a number */
  double response_offset;                /* first level of a factor: its number is value - offset */
  double response_centre, response_half; /* scaling: gaussian only, else 0 and 1 */
  char **class_labels;
  size_t n_classes;
};

/* design_resolve.c: columns and variables against the schema; fills design->variables. */
TACIT_MUST_USE tacit_status_t tacit_design_resolve(tacit_design_t *design, const tacit_schema_t *schema,
                                                   tacit_error_t *err);
/* design_response.c: fills the response's part, by family. */
TACIT_MUST_USE tacit_status_t tacit_design_resolve_response(tacit_design_t *design, tacit_error_t *err);
/* design_features.c: expands the terms. */
TACIT_MUST_USE tacit_status_t tacit_design_expand(tacit_design_t *design, tacit_error_t *err);

/*
 * centre and half of the scaling x -> (x - centre) / half of [lower, upper] into [-1, 1]; without an
 * intercept the centre must stay 0, since a shift is an intercept. False if the range is so narrow
 * that rounding would rule the scaled value.
 */
TACIT_MUST_USE bool tacit_design_scale(bool has_intercept, double lower, double upper, double *centre,
                                       double *half);

/* Label of a factor's level: "M", or "2" of an integer. */
const char *tacit_design_level_label(const tacit_design_variable_t *variable, size_t level, char buffer[32]);

/* x clamped to [lower, upper]; NaN gives lower. */
static inline double tacit_design_clamp(double x, double lower, double upper) {
  double least = x >= lower ? x : lower; /* two selections, for vectors */
  return least > upper ? upper : least;
}

#endif
