/* A released statistic: what was computed, of how many records, within which bounds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "infer/infer_internal.h"

static tacit_status_t read_kind(tacit_infer_t *infer, tacit_yaml_t *file, bool *is_mean) {
  const yaml_node_t *node = tacit_yaml_find(file, "statistic");
  if (node == NULL) {
    return tacit_yaml_missing(file, "statistic", "statistic: mean");
  }
  const char *text = tacit_yaml_scalar(node);
  bool is_moments = strcmp(text, "moments") == 0, is_counts = strcmp(text, "counts") == 0;
  bool is_products = strcmp(text, "regression-moments") == 0, is_score = strcmp(text, "logistic-score") == 0;
  *is_mean = strcmp(text, "mean") == 0 || is_moments || is_products || is_score;
  infer->release.kind = is_moments    ? TACIT_RELEASE_MOMENTS
                        : is_products ? TACIT_RELEASE_PRODUCTS
                        : is_score    ? TACIT_RELEASE_SCORE
                        : is_counts   ? TACIT_RELEASE_COUNTS
                                      : TACIT_RELEASE_SUM;
  if (!*is_mean && !is_counts && strcmp(text, "sum") != 0) {
    return tacit_yaml_fault(file, node,
                            "statistic: expected mean, sum, moments (means of x and of x^2), "
                            "regression-moments, logistic-score or counts, not '%s'",
                            text);
  }
  if (is_counts && (tacit_yaml_find(file, "lower") != NULL || tacit_yaml_find(file, "upper") != NULL)) {
    return tacit_yaml_fault(file,
                            tacit_yaml_find(file, tacit_yaml_find(file, "lower") != NULL ? "lower" : "upper"),
                            "counts have no clamp bounds");
  }
  if (!is_counts && tacit_yaml_find(file, "lower") == NULL) {
    return tacit_yaml_missing(file, "lower", "lower: 0");
  }
  return is_counts || tacit_yaml_find(file, "upper") != NULL ? TACIT_OK
                                                             : tacit_yaml_missing(file, "upper", "upper: 10");
}

static tacit_status_t label_columns(tacit_infer_t *infer, tacit_yaml_t *file, const yaml_node_t *columns) {
  tacit_status_t status =
      tacit_infer_allocate_labels(infer, tacit_latent_n_reported(&infer->model), file->err);
  size_t d = infer->model.n_features;
  for (size_t j = 0; j < infer->n_reported && status == TACIT_OK; j++) {
    char name[32];
    const char *label = j == 0 ? "Intercept" : "sd";
    if (j > 0 && j <= d) {
      label = tacit_yaml_scalar(tacit_yaml_item(file, columns, j - 1));
    }
    snprintf(name, sizeof name, "b.%zu", j);
    status = tacit_infer_set_label(infer, j, label,
                                   j == 0       ? "Intercept"
                                   : j == d + 1 ? "sd"
                                                : name,
                                   file->err);
  }
  return status;
}

static bool is_of_rows(const tacit_infer_t *infer) {
  return infer->release.kind == TACIT_RELEASE_PRODUCTS || infer->release.kind == TACIT_RELEASE_SCORE;
}

/* Columns of released products, the response last, and the bounds that were mapped to [-1, 1]. */
static tacit_status_t read_columns(tacit_infer_t *infer, tacit_yaml_t *file) {
  yaml_node_t *columns = tacit_yaml_find(file, "columns");
  size_t n_lower = 0, n_upper = 0;
  bool is_score = infer->release.kind == TACIT_RELEASE_SCORE;
  if (infer->model.kind != (is_score ? TACIT_LATENT_LOGISTIC : TACIT_LATENT_REGRESSION)) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "statistic"), "%s with a model of `records: %s`",
                            is_score ? "a logistic-score goes" : "regression-moments go",
                            is_score ? "logistic" : "regression");
  }
  if (columns == NULL) {
    return tacit_yaml_missing(file, "columns", "columns: [x1, x2, y]");
  }
  size_t n = tacit_yaml_length(columns);
  if (n < 2 || n > 21) {
    return tacit_yaml_fault(file, columns, "columns: expected a list of 1 to 20 features and the response");
  }
  infer->model.n_features = n - 1;
  tacit_status_t status = tacit_yaml_numbers(file, "lower", &infer->column_lower, &n_lower);
  TACIT_THEN(status, tacit_yaml_numbers(file, "upper", &infer->column_upper, &n_upper));
  if (status == TACIT_OK && (n_lower != n || n_upper != n)) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, n_lower != n ? "lower" : "upper"),
                            "expected one bound for each of %zu columns", n);
  }
  for (size_t j = 0; status == TACIT_OK && j < n; j++) {
    if (!(infer->column_lower[j] < infer->column_upper[j])) {
      return tacit_yaml_fault(file, tacit_yaml_find(file, "lower"),
                              "the clamp bounds are reversed: lower must be below upper");
    }
  }
  infer->release.lower = -1;
  infer->release.upper = 1;
  return status == TACIT_OK ? label_columns(infer, file, columns) : status;
}

static tacit_status_t read_bounds(tacit_infer_t *infer, tacit_yaml_t *file) {
  if (is_of_rows(infer)) {
    return read_columns(infer, file);
  }
  if (infer->model.kind == TACIT_LATENT_REGRESSION || infer->model.kind == TACIT_LATENT_LOGISTIC) {
    return tacit_yaml_fault(
        file, tacit_yaml_find(file, "statistic"), "records: %s goes with `statistic: %s`", infer->records,
        infer->model.kind == TACIT_LATENT_LOGISTIC ? "logistic-score" : "regression-moments");
  }
  tacit_status_t status = tacit_yaml_number(file, "lower", &infer->release.lower);
  return status == TACIT_OK ? tacit_yaml_number(file, "upper", &infer->release.upper) : status;
}

static tacit_status_t read_n(tacit_infer_t *infer, tacit_yaml_t *file, size_t n) {
  double in_file = NAN;
  tacit_status_t status = tacit_yaml_number(file, "n", &in_file);
  if (status == TACIT_OK && isnan(in_file) && n == 0) {
    return tacit_error_set(file->err, TACIT_ERR_ARGUMENT, "n",
                           "the number of records is needed: --n N, or `n: N` in %s", file->name);
  }
  if (status == TACIT_OK && !isnan(in_file) &&
      (!(in_file >= 1 && in_file <= 1e12) || in_file > floor(in_file))) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "n"), "n must be a whole number from 1");
  }
  if (status == TACIT_OK && !isnan(in_file) && n > 0 && (in_file < (double)n || in_file > (double)n)) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "n"), "n is %.0f here and %zu on the command line",
                            in_file, n);
  }
  infer->model.n_records = n > 0 || status != TACIT_OK ? n : (size_t)in_file;
  return status;
}

/* What the file says its release cost, where it does: a release may be one of several, or its noise not said
 * by epsilon. */
tacit_status_t tacit_infer_read_privacy(tacit_infer_t *infer, tacit_yaml_t *file) {
  const yaml_node_t *node = tacit_yaml_find(file, "privacy");
  double epsilon = NAN, delta = NAN;
  if (node == NULL) {
    return TACIT_OK;
  }
  if (node->type != YAML_MAPPING_NODE) {
    return tacit_yaml_fault(file, node, "privacy: expected `{epsilon: NUMBER, delta: NUMBER, ..}`");
  }
  const yaml_node_t *at_epsilon = tacit_yaml_find_in(file, node, "epsilon"),
                    *at_delta = tacit_yaml_find_in(file, node, "delta");
  const yaml_node_t *is_private = tacit_yaml_find_in(file, node, "is_private");
  infer->is_not_private = is_private != NULL && strcmp(tacit_yaml_scalar(is_private), "false") == 0;
  tacit_status_t status = tacit_yaml_number_at(file, at_epsilon, "epsilon", &epsilon);
  TACIT_THEN(status, tacit_yaml_number_at(file, at_delta, "delta", &delta));
  if (status == TACIT_OK && at_epsilon != NULL && !(epsilon > 0)) {
    return tacit_yaml_fault(file, at_epsilon, "epsilon must be above 0");
  }
  if (status == TACIT_OK && at_delta != NULL && !(delta >= 0 && delta < 1)) {
    return tacit_yaml_fault(file, at_delta, "delta must be from 0 to below 1");
  }
  if (status == TACIT_OK && (infer->is_not_private || (at_epsilon != NULL && at_delta != NULL))) {
    infer->epsilon = infer->is_not_private ? NAN : epsilon;
    infer->delta = infer->is_not_private ? NAN : delta;
  }
  return status;
}

/* Factors and levels of released counts must be the model's, in the same order: equal numbers alone say
 * nothing. */
static tacit_status_t check_factors(tacit_infer_t *infer, tacit_yaml_t *file) {
  const yaml_node_t *node = tacit_yaml_find(file, "factors");
  size_t j = 0;
  if (node == NULL) {
    return TACIT_OK;
  }
  if (node->type != YAML_MAPPING_NODE || infer->release.kind != TACIT_RELEASE_COUNTS) {
    return tacit_yaml_fault(file, node, "factors: expected `{name: [level, level, ..], ..}`, with counts");
  }
  bool is_table = infer->labels != NULL &&
                  strchr(infer->labels[0], '=') == NULL; /* `levels:` name the cells themselves */
  size_t n_factors = (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
    const yaml_node_t *name = tacit_yaml_node(file, pair->key);
    const yaml_node_t *levels = tacit_yaml_node(file, pair->value);
    if (levels->type != YAML_SEQUENCE_NODE) {
      return tacit_yaml_fault(file, levels, "expected a list of levels");
    }
    for (yaml_node_item_t *item = levels->data.sequence.items.start; item < levels->data.sequence.items.top;
         item++, j++) {
      const yaml_node_t *level = tacit_yaml_node(file, *item);
      char label[160];
      if (is_table) {
        snprintf(label, sizeof label, "p[%s]", tacit_yaml_scalar(level));
      } else {
        snprintf(label, sizeof label, "p[%s=%s]", tacit_yaml_scalar(name), tacit_yaml_scalar(level));
      }
      bool is_checked = !is_table || n_factors == 1;
      if (is_checked && (j >= infer->n_reported || strcmp(label, infer->labels[j]) != 0)) {
        return tacit_yaml_fault(file, level, "level '%s' of '%s' was counted here, where the model has %s",
                                tacit_yaml_scalar(level), tacit_yaml_scalar(name),
                                j < infer->n_reported ? infer->labels[j] : "no more levels");
      }
    }
  }
  return TACIT_OK;
}

static void describe(tacit_infer_t *infer, const tacit_infer_mechanism_t *mechanism, bool is_mean,
                     double unit) {
  const tacit_release_t *r = &infer->release;
  size_t n = infer->model.n_records;
  if (r->kind == TACIT_RELEASE_COUNTS) {
    snprintf(infer->statistic, sizeof infer->statistic, "counts of %zu records in %zu cells", n, r->n_values);
  } else if (r->kind == TACIT_RELEASE_SCORE) {
    snprintf(
        infer->statistic, sizeof infer->statistic,
        "score of a binary response and means, squares and products of %zu clamped features of %zu records",
        infer->model.n_features, n);
  } else if (r->kind == TACIT_RELEASE_PRODUCTS) {
    snprintf(infer->statistic, sizeof infer->statistic,
             "means, squares and products of %zu clamped columns of %zu records", infer->model.n_features + 1,
             n);
  } else {
    snprintf(infer->statistic, sizeof infer->statistic, "%s of %zu records clamped to [%g, %g]",
             r->kind == TACIT_RELEASE_MOMENTS ? "means of values and of their squares"
             : is_mean                        ? "mean"
                                              : "sum",
             n, r->lower, r->upper);
  }
  int length =
      snprintf(infer->noise, sizeof infer->noise, "%s, scale %.6g", mechanism->name, infer->scales[0] / unit);
  if (r->kind == TACIT_RELEASE_SCORE) {
    snprintf(infer->noise + length, sizeof infer->noise - (size_t)length, " (moments) and %.6g (score)",
             infer->scales[r->n_values - 1] / unit);
  }
}

tacit_status_t tacit_infer_read_statistic(tacit_infer_t *infer, tacit_yaml_t *file, const char *text,
                                          size_t length, size_t n) {
  static const char *const keys[] = {"statistic", "value",   "lower",   "upper",       "mechanism",
                                     "scale",     "epsilon", "delta",   "sensitivity", "step",
                                     "n",         "columns", "factors", "privacy",     NULL};
  const tacit_infer_mechanism_t *mechanism = NULL;
  bool is_mean = false;
  tacit_status_t status = tacit_yaml_open(file, text, length, keys);
  TACIT_THEN(status, read_n(infer, file, n));
  TACIT_THEN(status, read_kind(infer, file, &is_mean));
  TACIT_THEN(status, tacit_infer_read_mechanism(infer, file, &mechanism));
  TACIT_THEN(status, read_bounds(infer, file));
  TACIT_THEN(status, tacit_yaml_number(file, "step", &infer->release.step));
  TACIT_THEN(status, tacit_yaml_numbers(file, "value", &infer->values, &infer->release.n_values));
  if (status == TACIT_OK && infer->values == NULL) {
    return tacit_yaml_missing(file, "value", "value: 0.37");
  }
  bool has_range = infer->release.kind != TACIT_RELEASE_COUNTS && !is_of_rows(infer);
  if (status == TACIT_OK && has_range && !(infer->release.lower < infer->release.upper)) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "lower"),
                            "the clamp bounds are reversed: lower must be below upper");
  }
  if (status == TACIT_OK) {
    infer->scales = tacit_alloc(infer->release.n_values, sizeof *infer->scales);
    status = infer->scales != NULL ? TACIT_OK : tacit_error_memory(file->err);
  }
  double unit = is_mean ? (double)infer->model.n_records : 1; /* the library takes sums */
  TACIT_THEN(status, tacit_infer_read_scales(infer, file, mechanism, 1 / unit));
  for (size_t j = 0; j < infer->release.n_values && status == TACIT_OK; j++) {
    infer->values[j] *= unit;
    infer->scales[j] *= unit;
  }
  infer->release.values = infer->values;
  infer->release.scales = infer->scales;
  if (infer->model.kind == TACIT_LATENT_POISSON && fabs(infer->release.step - 1) <= 0) {
    infer->release.step = 0; /* the lattice of counts, said */
  }
  TACIT_THEN(status, tacit_infer_read_privacy(infer, file));
  status = status == TACIT_OK && infer->model.kind == TACIT_LATENT_CATEGORICAL ? check_factors(infer, file)
                                                                               : status;
  if (status == TACIT_OK) {
    describe(infer, mechanism, is_mean, unit);
    status = tacit_augment_validate(&infer->model, &infer->release, file->err);
  }
  return status;
}
