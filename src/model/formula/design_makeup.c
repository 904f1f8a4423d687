/* Which features follow from others: levels of a factor, of which a row has one, and products. */
#include "formula/design_internal.h"

static bool is_same(const tacit_design_part_t *a, const tacit_design_part_t *b) {
  return a->variable == b->variable && a->is_indicator == b->is_indicator &&
         (!a->is_indicator || a->level == b->level);
}

/* Does the feature have this part? Of a factor, at any level unless the level counts. */
static bool has_part(const tacit_design_feature_t *feature, const tacit_design_part_t *part, bool at_level) {
  for (size_t i = 0; i < feature->n_parts; i++) {
    const tacit_design_part_t *own = &feature->parts[i];
    if (at_level ? is_same(own, part) : own->variable == part->variable && own->is_indicator) {
      return true;
    }
  }
  return false;
}

/* The feature before `end` of all parts of `of` but part `left_out`, or of that part alone; 0: none. */
static size_t find_rest(const tacit_design_t *design, size_t end, const tacit_design_feature_t *of,
                        size_t left_out, bool is_alone) {
  for (size_t j = 1; j < end; j++) {
    const tacit_design_feature_t *feature = &design->features[j];
    bool is_it = feature->n_parts == (is_alone ? 1 : of->n_parts - 1);
    for (size_t i = 0; i < of->n_parts && is_it; i++) {
      is_it = (i == left_out) != is_alone || has_part(feature, &of->parts[i], true);
    }
    if (is_it) {
      return j;
    }
  }
  return 0;
}

/* Are both made of levels of the same factors? Then no row has both. */
static bool are_levels(const tacit_design_feature_t *a, const tacit_design_feature_t *b) {
  bool are = a->n_parts == b->n_parts && a->n_parts > 0;
  for (size_t i = 0; i < a->n_parts && are; i++) {
    are = a->parts[i].is_indicator && has_part(b, &a->parts[i], false);
  }
  return are;
}

tacit_feature_makeup_t tacit_design_makeup(const tacit_design_t *design, size_t j) {
  const tacit_design_feature_t *feature = &design->features[j];
  tacit_feature_makeup_t makeup = {.centre = feature->centre, .half = feature->half};
  for (size_t i = 0; i < feature->n_parts && feature->n_parts > 1 && makeup.first == 0; i++) {
    size_t rest = find_rest(design, j, feature, i, false), part = find_rest(design, j, feature, i, true);
    if (rest > 0 && part > 0) {
      makeup.first = rest;
      makeup.second = part;
    }
  }
  for (size_t i = 1; i <= j && makeup.first == 0 && makeup.factor == 0; i++) {
    makeup.factor = are_levels(feature, &design->features[i]) ? i : 0;
  }
  return makeup;
}
