/* The model of the records: their distribution and the prior of its parameters. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "infer/infer_internal.h"

/* "name(x, y, ..)" with at most `capacity` numbers. */
static tacit_status_t distribution(tacit_yaml_t *file, const char *key, const char *name, const char *form,
                                   double *parameters, size_t capacity, size_t *n) {
  const yaml_node_t *node = tacit_yaml_find(file, key);
  if (node == NULL) {
    return tacit_yaml_missing(file, key, form);
  }
  const char *text = tacit_yaml_scalar(node), *at = text + strlen(name), *end = text + strlen(text);
  *n = 0;
  if (strncmp(text, name, strlen(name)) != 0 || *at != '(' || end[-1] != ')') {
    return tacit_yaml_fault(file, node, "%s: expected %s, not '%s'", key, form, text);
  }
  for (at++; at < end; at++, (*n)++) {
    size_t length = strcspn(at, ",)");
    if (*n == capacity || !tacit_number_parse(at, length, &parameters[*n])) {
      return tacit_yaml_fault(file, node, "%s: expected %s, not '%s'", key, form, text);
    }
    at += length;
  }
  return TACIT_OK;
}

tacit_status_t tacit_infer_law2(tacit_yaml_t *file, const char *key, const char *name, const char *form,
                                double *first, double *second) {
  double parameters[2];
  size_t n;
  tacit_status_t status = distribution(file, key, name, form, parameters, 2, &n);
  if (status == TACIT_OK && n != 2) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, key), "%s: expected %s, not '%s'", key, form,
                            tacit_yaml_scalar(tacit_yaml_find(file, key)));
  }
  if (status == TACIT_OK) {
    *first = parameters[0];
    *second = parameters[1];
  }
  return status;
}

tacit_status_t tacit_infer_set_label(tacit_infer_t *infer, size_t j, const char *label, const char *name,
                                     tacit_error_t *err) {
  infer->labels[j] = tacit_strdup(label);
  infer->names[j] = tacit_strdup(name);
  return infer->labels[j] != NULL && infer->names[j] != NULL ? TACIT_OK : tacit_error_memory(err);
}

tacit_status_t tacit_infer_allocate_labels(tacit_infer_t *infer, size_t n, tacit_error_t *err) {
  infer->n_reported = n;
  infer->labels = tacit_alloc_zero(n, sizeof *infer->labels);
  infer->names = tacit_alloc_zero(n, sizeof *infer->names);
  return infer->labels != NULL && infer->names != NULL ? TACIT_OK : tacit_error_memory(err);
}

static tacit_status_t label_scalars(tacit_infer_t *infer, tacit_yaml_t *file, const char *first,
                                    const char *second) {
  tacit_status_t status =
      tacit_infer_allocate_labels(infer, tacit_latent_n_reported(&infer->model), file->err);
  const char *words[2] = {first, second};
  for (size_t j = 0; j < infer->n_reported && status == TACIT_OK; j++) {
    status = tacit_infer_set_label(infer, j, words[j], words[j], file->err);
  }
  return status;
}

static tacit_status_t read_gaussian(tacit_infer_t *infer, tacit_yaml_t *file) {
  tacit_latent_model_t *model = &infer->model;
  tacit_status_t status = tacit_infer_law2(file, "mean", "normal", "normal(location, scale)",
                                           &model->mean_location, &model->mean_scale);
  if (status == TACIT_OK &&
      (tacit_yaml_find(file, "sd") == NULL) == (tacit_yaml_find(file, "variance") == NULL)) {
    return tacit_error_set(file->err, TACIT_ERR_SYNTAX, "sd",
                           "%s: give either a known `sd: NUMBER` of the records or the prior `variance: "
                           "inverse_gamma(shape, scale)`",
                           file->name);
  }
  if (status == TACIT_OK && tacit_yaml_find(file, "sd") != NULL) {
    if (strchr(tacit_yaml_scalar(tacit_yaml_find(file, "sd")), '(') != NULL) {
      return tacit_yaml_fault(file, tacit_yaml_find(file, "sd"),
                              "sd is a number that is known; where it is not, leave it out and give its "
                              "square a prior, `variance: inverse_gamma(shape, scale)`");
    }
    status = tacit_yaml_number(file, "sd", &model->known_sd);
    if (status == TACIT_OK && !(model->known_sd > 0)) {
      return tacit_yaml_fault(file, tacit_yaml_find(file, "sd"), "sd must be above 0");
    }
  } else
    TACIT_THEN(status, tacit_infer_law2(file, "variance", "inverse_gamma", "inverse_gamma(shape, scale)",
                                        &model->variance_shape, &model->variance_scale));
  return status == TACIT_OK ? label_scalars(infer, file, "mean", "sd") : status;
}

/* Levels of factor f: a list of two names or more. */
static tacit_status_t read_levels(tacit_infer_t *infer, tacit_yaml_t *file, const yaml_node_t *node,
                                  size_t f) {
  if (node->type != YAML_SEQUENCE_NODE || tacit_yaml_length(node) < 2) {
    return tacit_yaml_fault(file, node, "expected a list of at least two levels");
  }
  infer->n_levels[f] = tacit_yaml_length(node);
  for (size_t l = 0; l < infer->n_levels[f]; l++) {
    const yaml_node_t *level = tacit_yaml_item(file, node, l);
    if (tacit_yaml_scalar(level)[0] == '\0') {
      return tacit_yaml_fault(file, level, "expected the name of a level");
    }
  }
  return TACIT_OK;
}

static tacit_status_t label_levels(tacit_infer_t *infer, tacit_yaml_t *file, const yaml_node_t *node,
                                   size_t f, const char *factor, size_t first) {
  tacit_status_t status = TACIT_OK;
  for (size_t l = 0; l < infer->n_levels[f] && status == TACIT_OK; l++) {
    char label[160], name[64];
    const yaml_node_t *level = tacit_yaml_item(file, node, l);
    snprintf(label, sizeof label, factor != NULL ? "p[%s=%s]" : "p[%s%s]", factor != NULL ? factor : "",
             tacit_yaml_scalar(level));
    if (factor != NULL) {
      snprintf(name, sizeof name, "p_%zu.%zu", f + 1, l + 1);
    } else {
      snprintf(name, sizeof name, "p.%zu", l + 1);
    }
    status = tacit_infer_set_label(infer, first + l, label, name, file->err);
  }
  return status;
}

/* One number for all levels, or one a level, all factors in turn. */
static tacit_status_t read_concentration(tacit_infer_t *infer, tacit_yaml_t *file) {
  size_t n = infer->n_reported, n_read;
  infer->concentration = tacit_alloc(n, sizeof *infer->concentration);
  if (infer->concentration == NULL) {
    return tacit_error_memory(file->err);
  }
  tacit_status_t status =
      distribution(file, "probabilities", "dirichlet", "dirichlet(1)", infer->concentration, n, &n_read);
  if (status == TACIT_OK && n_read != 1 && n_read != n) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "probabilities"),
                            "dirichlet takes one number, or one for each of %zu levels", n);
  }
  for (size_t j = 1; status == TACIT_OK && n_read == 1 && j < n; j++) {
    infer->concentration[j] = infer->concentration[0];
  }
  infer->model.concentration = infer->concentration;
  return status;
}

static tacit_status_t read_categorical(tacit_infer_t *infer, tacit_yaml_t *file) {
  const yaml_node_t *levels = tacit_yaml_find(file, "levels"), *factors = tacit_yaml_find(file, "factors");
  if ((levels == NULL) == (factors == NULL)) {
    return tacit_error_set(file->err, TACIT_ERR_SYNTAX, "levels",
                           "%s: give either `levels: [a, b, ..]` or `factors: {name: [a, b, ..], ..}`, "
                           "independent of each other",
                           file->name);
  }
  if (factors != NULL && (factors->type != YAML_MAPPING_NODE ||
                          factors->data.mapping.pairs.start == factors->data.mapping.pairs.top)) {
    return tacit_yaml_fault(file, factors, "factors: expected `{name: [level, level, ..], ..}`");
  }
  const yaml_node_pair_t *pairs = factors != NULL ? factors->data.mapping.pairs.start : NULL;
  size_t n = factors != NULL ? (size_t)(factors->data.mapping.pairs.top - pairs) : 1, first = 0;
  infer->n_levels = tacit_alloc(n, sizeof *infer->n_levels);
  tacit_status_t status = infer->n_levels != NULL ? TACIT_OK : tacit_error_memory(file->err);
  for (size_t f = 0; f < n && status == TACIT_OK; f++) {
    const yaml_node_t *node = factors != NULL ? tacit_yaml_node(file, pairs[f].value) : levels;
    status = read_levels(infer, file, node, f);
  }
  infer->model.n_factors = status == TACIT_OK ? n : 0;
  infer->model.n_levels = infer->n_levels;
  TACIT_THEN(status, tacit_infer_allocate_labels(infer, tacit_latent_n_reported(&infer->model), file->err));
  for (size_t f = 0; f < n && status == TACIT_OK; first += infer->n_levels[f++]) {
    const yaml_node_t *node = factors != NULL ? tacit_yaml_node(file, pairs[f].value) : levels;
    const char *name = factors != NULL ? tacit_yaml_scalar(tacit_yaml_node(file, pairs[f].key)) : NULL;
    status = label_levels(infer, file, node, f, name, first);
  }
  return status == TACIT_OK ? read_concentration(infer, file) : status;
}

/* One prior for all coefficients and one for all variances, on the scale where columns are within [-1, 1]. */
static tacit_status_t read_regression(tacit_infer_t *infer, tacit_yaml_t *file) {
  tacit_latent_model_t *model = &infer->model;
  double location = 0;
  tacit_status_t status = tacit_infer_law2(file, "coefficients", "normal", "normal(0, scale)", &location,
                                           &model->coefficient_scale);
  if (status == TACIT_OK && fabs(location) > 0) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "coefficients"),
                            "the prior of the coefficients is centred: normal(0, scale)");
  }
  return status == TACIT_OK
             ? tacit_infer_law2(file, "variance", "inverse_gamma", "inverse_gamma(shape, scale)",
                                &model->variance_shape, &model->variance_scale)
             : status;
}

/* The prior of the features besides. */
static tacit_status_t read_logistic(tacit_infer_t *infer, tacit_yaml_t *file) {
  double location = 0;
  tacit_status_t status = tacit_infer_law2(file, "features", "normal", "normal(0, scale)", &location,
                                           &infer->model.feature_scale);
  if (status == TACIT_OK && fabs(location) > 0) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "features"),
                            "the prior of the features' intercepts and slopes is centred: normal(0, scale)");
  }
  return status == TACIT_OK ? read_regression(infer, file) : status;
}

static tacit_status_t read_poisson(tacit_infer_t *infer, tacit_yaml_t *file) {
  tacit_status_t status = tacit_infer_law2(file, "rate", "gamma", "gamma(shape, rate)",
                                           &infer->model.rate_shape, &infer->model.rate_rate);
  return status == TACIT_OK ? label_scalars(infer, file, "rate", NULL) : status;
}

/* Distributions of records, and the keys that go with each. */
static const struct records {
  const char *name;
  tacit_latent_kind_t kind;
  const char *keys[4];
  tacit_status_t (*read)(tacit_infer_t *infer, tacit_yaml_t *file);
} all[] = {
    {"gaussian", TACIT_LATENT_GAUSSIAN, {"mean", "sd", "variance", NULL}, read_gaussian},
    {"poisson", TACIT_LATENT_POISSON, {"rate", NULL}, read_poisson},
    {"categorical", TACIT_LATENT_CATEGORICAL, {"levels", "factors", "probabilities", NULL}, read_categorical},
    {"regression", TACIT_LATENT_REGRESSION, {"coefficients", "variance", NULL}, read_regression},
    {"logistic", TACIT_LATENT_LOGISTIC, {"coefficients", "features", "variance", NULL}, read_logistic}};

static const char *const keys[] = {"records", "mean",          "sd",           "variance", "rate", "levels",
                                   "factors", "probabilities", "coefficients", "features", NULL};

static tacit_status_t refuse_others(tacit_yaml_t *file, const struct records *records) {
  for (size_t i = 1; keys[i] != NULL; i++) {
    bool is_allowed = false;
    for (size_t k = 0; records->keys[k] != NULL; k++) {
      is_allowed = is_allowed || strcmp(keys[i], records->keys[k]) == 0;
    }
    const yaml_node_t *other = is_allowed ? NULL : tacit_yaml_find(file, keys[i]);
    if (other != NULL) {
      return tacit_yaml_fault(file, other, "'%s' does not go with %s records", keys[i], records->name);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_infer_read_model(tacit_infer_t *infer, tacit_yaml_t *file, const char *text, size_t n) {
  tacit_status_t status = tacit_yaml_open(file, text, n, keys);
  if (status != TACIT_OK) {
    return status;
  }
  const yaml_node_t *node = tacit_yaml_find(file, "records");
  if (node == NULL) {
    return tacit_yaml_missing(file, "records", "records: gaussian");
  }
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    if (strcmp(tacit_yaml_scalar(node), all[i].name) == 0) {
      infer->records = all[i].name;
      infer->model.kind = all[i].kind;
      status = refuse_others(file, &all[i]);
      return status == TACIT_OK ? all[i].read(infer, file) : status;
    }
  }
  return tacit_yaml_fault(
      file, node, "records: expected gaussian, poisson, categorical, regression or logistic, not '%s'",
      tacit_yaml_scalar(node));
}
