/*
 * The two files of `tacit infer`: a model of the records and a released statistic. Every message names file:line:column.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "cli/infer.h"
#include "tacit/account.h"

enum { max_bytes = 1 << 22 };

/* ---- a file of `key: value` pairs ---- */

typedef struct file {
  const char *path, *what;
  yaml_document_t document;
  bool is_open;
  tacit_error_t *err;
} file_t;

static const char *scalar(const yaml_node_t *node) {
  return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

static tacit_status_t fault(file_t *file, const yaml_node_t *at, const char *format, ...) TACIT_PRINTF(3, 4);

static tacit_status_t fault(file_t *file, const yaml_node_t *at, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return tacit_error_set(file->err, TACIT_ERR_SYNTAX, file->path, "%s:%zu:%zu: %s", file->path,
                         at->start_mark.line + 1, at->start_mark.column + 1, text);
}

static tacit_status_t load(file_t *file) {
  char *bytes;
  size_t n;
  yaml_parser_t parser;
  tacit_status_t status = tacit_file_read(file->path, max_bytes, &bytes, &n, file->err);
  if (status != TACIT_OK) {
    return status;
  }
  if (!yaml_parser_initialize(&parser)) {
    tacit_free(bytes);
    return tacit_error_memory(file->err);
  }
  yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, n);
  file->is_open = yaml_parser_load(&parser, &file->document) != 0;
  if (!file->is_open) {
    status = parser.error == YAML_MEMORY_ERROR
                 ? tacit_error_memory(file->err)
                 : tacit_error_set(file->err, TACIT_ERR_SYNTAX, file->path, "%s:%zu:%zu: not valid YAML: %s", file->path,
                                   parser.problem_mark.line + 1, parser.problem_mark.column + 1,
                                   parser.problem != NULL ? parser.problem : "unreadable text");
  }
  yaml_parser_delete(&parser);
  tacit_free(bytes);
  return status;
}

/* Read the file and refuse keys that are unknown or given twice; keys ends with NULL. */
static tacit_status_t open_file(file_t *file, const char *const *keys) {
  tacit_status_t status = load(file);
  if (status != TACIT_OK) {
    return status;
  }
  const yaml_node_t *root = yaml_document_get_root_node(&file->document);
  if (root == NULL || root->type != YAML_MAPPING_NODE) {
    return tacit_error_set(file->err, TACIT_ERR_SYNTAX, file->path, "%s: %s is made of `key: value` pairs", file->path,
                           file->what);
  }
  for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top; pair++) {
    const yaml_node_t *key = yaml_document_get_node(&file->document, pair->key);
    tacit_nearest_t nearest = {.name = scalar(key)};
    char hint[TACIT_HINT_SIZE];
    bool is_known = false;
    for (size_t i = 0; keys[i] != NULL; i++) {
      is_known = is_known || strcmp(keys[i], scalar(key)) == 0;
      tacit_nearest_offer(&nearest, keys[i]);
    }
    if (!is_known) {
      return fault(file, key, "%s has no key '%s'%s", file->what, scalar(key), tacit_nearest_hint(&nearest, hint));
    }
    for (yaml_node_pair_t *other = root->data.mapping.pairs.start; other < pair; other++) {
      if (strcmp(scalar(yaml_document_get_node(&file->document, other->key)), scalar(key)) == 0) {
        return fault(file, key, "'%s' is given twice", scalar(key));
      }
    }
  }
  return TACIT_OK;
}

static void close_file(file_t *file) {
  if (file->is_open) {
    yaml_document_delete(&file->document);
  }
}

/* The value of a key of a mapping, or NULL. */
static yaml_node_t *find_in(file_t *file, const yaml_node_t *root, const char *name) {
  for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top; pair++) {
    if (strcmp(scalar(yaml_document_get_node(&file->document, pair->key)), name) == 0) {
      return yaml_document_get_node(&file->document, pair->value);
    }
  }
  return NULL;
}

static yaml_node_t *find(file_t *file, const char *name) {
  return find_in(file, yaml_document_get_root_node(&file->document), name);
}

static tacit_status_t missing(file_t *file, const char *key, const char *example) {
  return tacit_error_set(file->err, TACIT_ERR_SYNTAX, key, "%s: %s needs `%s`, as in `%s`", file->path, file->what, key,
                         example);
}

static tacit_status_t number_at(file_t *file, const yaml_node_t *node, const char *key, double *x) {
  if (node == NULL) {
    return TACIT_OK;
  }
  double value;
  if (!tacit_number_parse(scalar(node), strlen(scalar(node)), &value) || !isfinite(value)) {
    return fault(file, node, "%s must be a finite number, not '%s'", key, scalar(node));
  }
  *x = value;
  return TACIT_OK;
}

/* A number; absent: *x unchanged. */
static tacit_status_t number(file_t *file, const char *key, double *x) {
  return number_at(file, find(file, key), key, x);
}

/* One number or a list of them, owned; absent: *values NULL. */
static tacit_status_t numbers(file_t *file, const char *key, double **values, size_t *n) {
  yaml_node_t *node = find(file, key);
  *values = NULL;
  *n = 0;
  if (node == NULL) {
    return TACIT_OK;
  }
  bool is_list = node->type == YAML_SEQUENCE_NODE;
  size_t length = is_list ? (size_t)(node->data.sequence.items.top - node->data.sequence.items.start) : 1;
  if (length == 0) {
    return fault(file, node, "%s must be a finite number or a list of them, not an empty list", key);
  }
  double *read = tacit_alloc(length, sizeof *read);
  if (read == NULL) {
    return tacit_error_memory(file->err);
  }
  for (size_t i = 0; i < length; i++) {
    const yaml_node_t *item = is_list ? yaml_document_get_node(&file->document, node->data.sequence.items.start[i]) : node;
    if (!tacit_number_parse(scalar(item), strlen(scalar(item)), &read[i]) || !isfinite(read[i])) {
      tacit_free(read);
      return fault(file, item, "%s must be a finite number or a list of them, not '%s'", key, scalar(item));
    }
  }
  *values = read;
  *n = length;
  return TACIT_OK;
}

/* "name(x, y, ..)" with at most `capacity` numbers. */
static tacit_status_t law(file_t *file, const char *key, const char *name, const char *form, double *parameters,
                          size_t capacity, size_t *n) {
  const yaml_node_t *node = find(file, key);
  if (node == NULL) {
    return missing(file, key, form);
  }
  const char *text = scalar(node), *at = text + strlen(name), *end = text + strlen(text);
  *n = 0;
  if (strncmp(text, name, strlen(name)) != 0 || *at != '(' || end[-1] != ')') {
    return fault(file, node, "%s: expected %s, not '%s'", key, form, text);
  }
  for (at++; at < end; at++, (*n)++) {
    size_t length = strcspn(at, ",)");
    if (*n == capacity || !tacit_number_parse(at, length, &parameters[*n])) {
      return fault(file, node, "%s: expected %s, not '%s'", key, form, text);
    }
    at += length;
  }
  return TACIT_OK;
}

static tacit_status_t law2(file_t *file, const char *key, const char *name, const char *form, double *first,
                           double *second) {
  double parameters[2];
  size_t n;
  tacit_status_t status = law(file, key, name, form, parameters, 2, &n);
  if (status == TACIT_OK && n != 2) {
    return fault(file, find(file, key), "%s: expected %s, not '%s'", key, form, scalar(find(file, key)));
  }
  if (status == TACIT_OK) {
    *first = parameters[0];
    *second = parameters[1];
  }
  return status;
}

/* ---- the model ---- */

static tacit_status_t set_label(cli_infer_t *infer, file_t *file, size_t j, const char *label, const char *name) {
  infer->labels[j] = tacit_strdup(label);
  infer->names[j] = tacit_strdup(name);
  return infer->labels[j] != NULL && infer->names[j] != NULL ? TACIT_OK : tacit_error_memory(file->err);
}

static tacit_status_t allocate_labels(cli_infer_t *infer, file_t *file) {
  infer->n_reported = tacit_latent_n_reported(&infer->model);
  infer->labels = tacit_alloc_zero(infer->n_reported, sizeof *infer->labels);
  infer->names = tacit_alloc_zero(infer->n_reported, sizeof *infer->names);
  return infer->labels != NULL && infer->names != NULL ? TACIT_OK : tacit_error_memory(file->err);
}

static tacit_status_t label_scalars(cli_infer_t *infer, file_t *file, const char *first, const char *second) {
  tacit_status_t status = allocate_labels(infer, file);
  const char *words[2] = {first, second};
  for (size_t j = 0; j < infer->n_reported && status == TACIT_OK; j++) {
    status = set_label(infer, file, j, words[j], words[j]);
  }
  return status;
}

static tacit_status_t read_gaussian(cli_infer_t *infer, file_t *file) {
  tacit_latent_model_t *model = &infer->model;
  tacit_status_t status =
      law2(file, "mean", "normal", "normal(location, scale)", &model->mean_location, &model->mean_scale);
  if (status == TACIT_OK && (find(file, "sd") == NULL) == (find(file, "variance") == NULL)) {
    return tacit_error_set(file->err, TACIT_ERR_SYNTAX, "sd",
                           "%s: give either a known `sd: NUMBER` of the records or the prior `variance: "
                           "inverse_gamma(shape, scale)`",
                           file->path);
  }
  if (status == TACIT_OK && find(file, "sd") != NULL) {
    status = number(file, "sd", &model->known_sd);
    if (status == TACIT_OK && !(model->known_sd > 0)) {
      return fault(file, find(file, "sd"), "sd must be above 0");
    }
  } else if (status == TACIT_OK) {
    status = law2(file, "variance", "inverse_gamma", "inverse_gamma(shape, scale)", &model->variance_shape,
                  &model->variance_scale);
  }
  return status == TACIT_OK ? label_scalars(infer, file, "mean", "sd") : status;
}

/* Levels of factor f: a list of two names or more. */
static tacit_status_t read_levels(cli_infer_t *infer, file_t *file, const yaml_node_t *node, size_t f) {
  if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.top - node->data.sequence.items.start < 2) {
    return fault(file, node, "expected a list of at least two levels");
  }
  infer->n_levels[f] = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
  for (size_t l = 0; l < infer->n_levels[f]; l++) {
    const yaml_node_t *level = yaml_document_get_node(&file->document, node->data.sequence.items.start[l]);
    if (scalar(level)[0] == '\0') {
      return fault(file, level, "expected the name of a level");
    }
  }
  return TACIT_OK;
}

static tacit_status_t label_levels(cli_infer_t *infer, file_t *file, const yaml_node_t *node, size_t f, const char *factor,
                                   size_t first) {
  tacit_status_t status = TACIT_OK;
  for (size_t l = 0; l < infer->n_levels[f] && status == TACIT_OK; l++) {
    char label[160], name[64];
    const yaml_node_t *level = yaml_document_get_node(&file->document, node->data.sequence.items.start[l]);
    snprintf(label, sizeof label, factor != NULL ? "p[%s=%s]" : "p[%s%s]", factor != NULL ? factor : "", scalar(level));
    if (factor != NULL) {
      snprintf(name, sizeof name, "p_%zu.%zu", f + 1, l + 1);
    } else {
      snprintf(name, sizeof name, "p.%zu", l + 1);
    }
    status = set_label(infer, file, first + l, label, name);
  }
  return status;
}

/* One number for all levels, or one a level, all factors in turn. */
static tacit_status_t read_concentration(cli_infer_t *infer, file_t *file) {
  size_t n = infer->n_reported, n_read;
  infer->concentration = tacit_alloc(n, sizeof *infer->concentration);
  if (infer->concentration == NULL) {
    return tacit_error_memory(file->err);
  }
  tacit_status_t status = law(file, "probabilities", "dirichlet", "dirichlet(1)", infer->concentration, n, &n_read);
  if (status == TACIT_OK && n_read != 1 && n_read != n) {
    return fault(file, find(file, "probabilities"), "dirichlet takes one number, or one for each of %zu levels", n);
  }
  for (size_t j = 1; status == TACIT_OK && n_read == 1 && j < n; j++) {
    infer->concentration[j] = infer->concentration[0];
  }
  infer->model.concentration = infer->concentration;
  return status;
}

static tacit_status_t read_categorical(cli_infer_t *infer, file_t *file) {
  const yaml_node_t *levels = find(file, "levels"), *factors = find(file, "factors");
  if ((levels == NULL) == (factors == NULL)) {
    return tacit_error_set(file->err, TACIT_ERR_SYNTAX, "levels",
                           "%s: give either `levels: [a, b, ..]` or `factors: {name: [a, b, ..], ..}`, independent of each "
                           "other",
                           file->path);
  }
  if (factors != NULL &&
      (factors->type != YAML_MAPPING_NODE || factors->data.mapping.pairs.start == factors->data.mapping.pairs.top)) {
    return fault(file, factors, "factors: expected `{name: [level, level, ..], ..}`");
  }
  const yaml_node_pair_t *pairs = factors != NULL ? factors->data.mapping.pairs.start : NULL;
  size_t n = factors != NULL ? (size_t)(factors->data.mapping.pairs.top - pairs) : 1, first = 0;
  infer->n_levels = tacit_alloc(n, sizeof *infer->n_levels);
  tacit_status_t status = infer->n_levels != NULL ? TACIT_OK : tacit_error_memory(file->err);
  for (size_t f = 0; f < n && status == TACIT_OK; f++) {
    const yaml_node_t *node = factors != NULL ? yaml_document_get_node(&file->document, pairs[f].value) : levels;
    status = read_levels(infer, file, node, f);
  }
  infer->model.n_factors = status == TACIT_OK ? n : 0;
  infer->model.n_levels = infer->n_levels;
  if (status == TACIT_OK) {
    status = allocate_labels(infer, file);
  }
  for (size_t f = 0; f < n && status == TACIT_OK; first += infer->n_levels[f++]) {
    const yaml_node_t *node = factors != NULL ? yaml_document_get_node(&file->document, pairs[f].value) : levels;
    const char *name = factors != NULL ? scalar(yaml_document_get_node(&file->document, pairs[f].key)) : NULL;
    status = label_levels(infer, file, node, f, name, first);
  }
  return status == TACIT_OK ? read_concentration(infer, file) : status;
}

/* One prior for all coefficients and one for all variances, on the scale where columns are within [-1, 1]. */
static tacit_status_t read_regression(cli_infer_t *infer, file_t *file) {
  tacit_latent_model_t *model = &infer->model;
  double location = 0;
  tacit_status_t status = law2(file, "coefficients", "normal", "normal(0, scale)", &location, &model->coefficient_scale);
  if (status == TACIT_OK && fabs(location) > 0) {
    return fault(file, find(file, "coefficients"), "the prior of the coefficients is centred: normal(0, scale)");
  }
  return status == TACIT_OK ? law2(file, "variance", "inverse_gamma", "inverse_gamma(shape, scale)", &model->variance_shape,
                                   &model->variance_scale)
                            : status;
}

/* The prior of the features besides. */
static tacit_status_t read_logistic(cli_infer_t *infer, file_t *file) {
  double location = 0;
  tacit_status_t status = law2(file, "features", "normal", "normal(0, scale)", &location, &infer->model.feature_scale);
  if (status == TACIT_OK && fabs(location) > 0) {
    return fault(file, find(file, "features"), "the prior of the features' intercepts and slopes is centred: normal(0, scale)");
  }
  return status == TACIT_OK ? read_regression(infer, file) : status;
}

/* Keys that go with each law of records. */
static tacit_status_t refuse_others(file_t *file, const char *const *allowed) {
  static const char *const all[] = {"mean",    "sd",            "variance",     "rate",    "levels",
                                    "factors", "probabilities", "coefficients", "features"};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    bool is_allowed = false;
    for (size_t k = 0; allowed[k] != NULL; k++) {
      is_allowed = is_allowed || strcmp(all[i], allowed[k]) == 0;
    }
    if (!is_allowed && find(file, all[i]) != NULL) {
      return fault(file, find(file, all[i]), "'%s' does not go with %s records", all[i], scalar(find(file, "records")));
    }
  }
  return TACIT_OK;
}

static tacit_status_t read_model(cli_infer_t *infer, file_t *file) {
  static const char *const keys[] = {"records", "mean",    "sd",            "variance", "rate",
                                     "levels",  "factors", "probabilities", "coefficients", "features", NULL};
  static const char *const of_regression[] = {"coefficients", "variance", NULL};
  static const char *const of_logistic[] = {"coefficients", "features", "variance", NULL};
  static const char *const of_gaussian[] = {"mean", "sd", "variance", NULL}, *const of_poisson[] = {"rate", NULL};
  static const char *const of_categorical[] = {"levels", "factors", "probabilities", NULL};
  tacit_status_t status = open_file(file, keys);
  if (status != TACIT_OK) {
    return status;
  }
  const yaml_node_t *records = find(file, "records");
  if (records == NULL) {
    return missing(file, "records", "records: gaussian");
  }
  if (strcmp(scalar(records), "gaussian") == 0) {
    infer->records = "gaussian";
    status = refuse_others(file, of_gaussian);
    return status == TACIT_OK ? read_gaussian(infer, file) : status;
  }
  if (strcmp(scalar(records), "poisson") == 0) {
    infer->records = "poisson";
    infer->model.kind = TACIT_LATENT_POISSON;
    status = refuse_others(file, of_poisson);
    if (status == TACIT_OK) {
      status = law2(file, "rate", "gamma", "gamma(shape, rate)", &infer->model.rate_shape, &infer->model.rate_rate);
    }
    return status == TACIT_OK ? label_scalars(infer, file, "rate", NULL) : status;
  }
  if (strcmp(scalar(records), "categorical") == 0) {
    infer->records = "categorical";
    infer->model.kind = TACIT_LATENT_CATEGORICAL;
    status = refuse_others(file, of_categorical);
    return status == TACIT_OK ? read_categorical(infer, file) : status;
  }
  if (strcmp(scalar(records), "regression") == 0) {
    infer->records = "regression";
    infer->model.kind = TACIT_LATENT_REGRESSION;
    status = refuse_others(file, of_regression);
    return status == TACIT_OK ? read_regression(infer, file) : status;
  }
  if (strcmp(scalar(records), "logistic") == 0) {
    infer->records = "logistic";
    infer->model.kind = TACIT_LATENT_LOGISTIC;
    status = refuse_others(file, of_logistic);
    return status == TACIT_OK ? read_logistic(infer, file) : status;
  }
  return fault(file, records, "records: expected gaussian, poisson, categorical, regression or logistic, not '%s'",
               scalar(records));
}

/* ---- the statistic ---- */

static const struct mechanism {
  const char *name;
  tacit_release_noise_t noise;
} mechanisms[] = {{"gaussian", TACIT_RELEASE_GAUSSIAN},
                  {"classical-gaussian", TACIT_RELEASE_GAUSSIAN},
                  {"laplace", TACIT_RELEASE_LAPLACE},
                  {"discrete-gaussian", TACIT_RELEASE_DISCRETE_GAUSSIAN},
                  {"discrete-laplace", TACIT_RELEASE_DISCRETE_LAPLACE}};

static bool is_laplace(const cli_infer_t *infer) {
  return infer->release.noise == TACIT_RELEASE_LAPLACE || infer->release.noise == TACIT_RELEASE_DISCRETE_LAPLACE;
}

static tacit_status_t read_mechanism(cli_infer_t *infer, file_t *file, const struct mechanism **mechanism) {
  const yaml_node_t *node = find(file, "mechanism");
  tacit_nearest_t nearest = {.name = node != NULL ? scalar(node) : ""};
  if (node == NULL) {
    return missing(file, "mechanism", "mechanism: laplace");
  }
  for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
    if (strcmp(mechanisms[i].name, scalar(node)) == 0) {
      *mechanism = &mechanisms[i];
      infer->release.noise = mechanisms[i].noise;
      return TACIT_OK;
    }
    tacit_nearest_offer(&nearest, mechanisms[i].name);
  }
  char hint[TACIT_HINT_SIZE];
  return fault(file, node, "mechanism: expected gaussian, classical-gaussian, laplace, discrete-gaussian or "
                           "discrete-laplace, not '%s'%s", scalar(node), tacit_nearest_hint(&nearest, hint));
}

/* How far one record can move each value, in the units of the file, when it is replaced. */
static void sensitivities(const cli_infer_t *infer, double per_value, double *l1, double *l2) {
  double lower = infer->release.lower, upper = infer->release.upper, first = (upper - lower) * per_value;
  double low = lower <= 0 && upper >= 0 ? 0 : fmin(lower * lower, upper * upper);
  double second = (fmax(lower * lower, upper * upper) - low) * per_value;
  switch (infer->release.kind) {
    case TACIT_RELEASE_COUNTS: /* one cell loses a record, another gains it */
      *l1 = 2;
      *l2 = sqrt(2);
      break;
    case TACIT_RELEASE_MOMENTS:
      *l1 = first + second;
      *l2 = hypot(first, second);
      break;
    case TACIT_RELEASE_PRODUCTS: /* of columns mapped to [-1, 1]; docs/theory.md, section 12.8 */
      *l2 = ((double)infer->model.n_features + 2) * per_value;
      *l1 = *l2 * sqrt((double)infer->release.n_values);
      break;
    case TACIT_RELEASE_SCORE: /* without weights: those of tacit release are said by a scale for each value */
      *l2 = ((double)infer->model.n_features + 1.25) * per_value;
      *l1 = *l2 * sqrt((double)infer->release.n_values);
      break;
    default:
      *l1 = *l2 = first;
  }
}

typedef struct calibration {
  double epsilon, delta, sensitivity; /* NaN: not given */
} calibration_t;

/* The scale that (epsilon, delta) asks for. */
static tacit_status_t calibrate(cli_infer_t *infer, file_t *file, const struct mechanism *mechanism,
                                const calibration_t *c, double *scale) {
  const yaml_node_t *at = find(file, "epsilon");
  if (!(c->epsilon > 0)) {
    return fault(file, at, "epsilon must be above 0");
  }
  if (is_laplace(infer)) {
    *scale = c->sensitivity / c->epsilon;
    return TACIT_OK;
  }
  if (infer->release.noise == TACIT_RELEASE_DISCRETE_GAUSSIAN) {
    return fault(file, at, "there is no standard calibration of discrete-gaussian: give `scale`");
  }
  if (!(c->delta > 0 && c->delta < 1)) {
    return fault(file, at, "%s noise by epsilon needs a `delta` above 0 and below 1", mechanism->name);
  }
  if (strcmp(mechanism->name, "classical-gaussian") == 0) {
    *scale = c->sensitivity * sqrt(2 * log(1.25 / c->delta)) / c->epsilon;
    infer->true_delta = tacit_gaussian_delta(0.5 * pow(c->sensitivity / *scale, 2), c->epsilon);
  } else {
    *scale = c->sensitivity / sqrt(2 * tacit_gaussian_rho(c->epsilon, log(c->delta)));
  }
  return TACIT_OK;
}

/* What a release with this noise costs; NaN where the file does not say enough. */
static void set_cost(cli_infer_t *infer, const calibration_t *c, double least_scale) {
  double ratio = c->sensitivity / least_scale, rho = 0.5 * ratio * ratio;
  bool has_delta = c->delta > 0 && c->delta < 1;
  infer->delta = is_laplace(infer) ? 0 : has_delta ? c->delta : NAN;
  infer->epsilon = is_laplace(infer) ? ratio
                   : !has_delta      ? NAN
                   : infer->release.noise == TACIT_RELEASE_GAUSSIAN
                       ? tacit_gaussian_epsilon(rho, log(c->delta))
                       : tacit_rdp_gaussian_epsilon(rho, log(c->delta), NULL); /* rho-zCDP [Canonne2020, theorem 4] */
}

/* Scales of all values in the units of the file, from `scale` or from a calibration. */
static tacit_status_t read_scales(cli_infer_t *infer, file_t *file, const struct mechanism *mechanism, double per_value) {
  calibration_t c = {NAN, NAN, NAN};
  double l1, l2, *scales;
  size_t n;
  sensitivities(infer, per_value, &l1, &l2);
  c.sensitivity = is_laplace(infer) ? l1 : l2;
  tacit_status_t status = number(file, "epsilon", &c.epsilon);
  status = status == TACIT_OK ? number(file, "delta", &c.delta) : status;
  status = status == TACIT_OK ? number(file, "sensitivity", &c.sensitivity) : status;
  if (status == TACIT_OK && !(c.sensitivity > 0)) {
    status = fault(file, find(file, "sensitivity"), "sensitivity must be above 0");
  }
  status = status == TACIT_OK ? numbers(file, "scale", &scales, &n) : status;
  if (status != TACIT_OK) {
    return status;
  }
  if ((scales == NULL) == isnan(c.epsilon)) {
    tacit_free(scales);
    return tacit_error_set(file->err, TACIT_ERR_SYNTAX, "scale",
                           "%s: say how much noise there is: either `scale: NUMBER` or `epsilon: NUMBER`%s", file->path,
                           is_laplace(infer) ? "" : " with `delta: NUMBER`");
  }
  if (scales != NULL && n != 1 && n != infer->release.n_values) {
    tacit_free(scales);
    return fault(file, find(file, "scale"), "scale: expected one number, or one for each of %zu values",
                 infer->release.n_values);
  }
  double common = scales != NULL ? scales[0] : NAN, least = INFINITY;
  status = scales != NULL ? TACIT_OK : calibrate(infer, file, mechanism, &c, &common);
  for (size_t j = 0; j < infer->release.n_values && status == TACIT_OK; j++) {
    infer->scales[j] = scales != NULL && n > 1 ? scales[j] : common;
    least = fmin(least, infer->scales[j]);
    if (!(infer->scales[j] > 0)) {
      status = fault(file, find(file, "scale"), "scale must be above 0");
    }
  }
  tacit_free(scales);
  if (status == TACIT_OK) {
    set_cost(infer, &c, least);
  }
  return status;
}

static tacit_status_t read_kind(cli_infer_t *infer, file_t *file, bool *is_mean) {
  const yaml_node_t *node = find(file, "statistic");
  if (node == NULL) {
    return missing(file, "statistic", "statistic: mean");
  }
  const char *text = scalar(node);
  bool is_moments = strcmp(text, "moments") == 0, is_counts = strcmp(text, "counts") == 0;
  bool is_products = strcmp(text, "regression-moments") == 0, is_score = strcmp(text, "logistic-score") == 0;
  *is_mean = strcmp(text, "mean") == 0 || is_moments || is_products || is_score;
  infer->release.kind = is_moments    ? TACIT_RELEASE_MOMENTS
                        : is_products ? TACIT_RELEASE_PRODUCTS
                        : is_score    ? TACIT_RELEASE_SCORE
                        : is_counts   ? TACIT_RELEASE_COUNTS
                                      : TACIT_RELEASE_SUM;
  if (!*is_mean && !is_counts && strcmp(text, "sum") != 0) {
    return fault(file, node, "statistic: expected mean, sum, moments (means of x and of x^2), regression-moments, logistic-score or "
                             "counts, not '%s'", text);
  }
  if (is_counts && (find(file, "lower") != NULL || find(file, "upper") != NULL)) {
    return fault(file, find(file, find(file, "lower") != NULL ? "lower" : "upper"), "counts have no clamp bounds");
  }
  if (!is_counts && find(file, "lower") == NULL) {
    return missing(file, "lower", "lower: 0");
  }
  return is_counts || find(file, "upper") != NULL ? TACIT_OK : missing(file, "upper", "upper: 10");
}

static tacit_status_t label_columns(cli_infer_t *infer, file_t *file, const yaml_node_t *columns) {
  tacit_status_t status = allocate_labels(infer, file);
  size_t d = infer->model.n_features;
  for (size_t j = 0; j < infer->n_reported && status == TACIT_OK; j++) {
    char name[32];
    const char *label = j == 0 ? "Intercept" : "sd";
    if (j > 0 && j <= d) {
      label = scalar(yaml_document_get_node(&file->document, columns->data.sequence.items.start[j - 1]));
    }
    snprintf(name, sizeof name, "b.%zu", j);
    status = set_label(infer, file, j, label, j == 0 ? "Intercept" : j == d + 1 ? "sd" : name);
  }
  return status;
}

static bool is_of_rows(const cli_infer_t *infer) {
  return infer->release.kind == TACIT_RELEASE_PRODUCTS || infer->release.kind == TACIT_RELEASE_SCORE;
}

/* Columns of released products, the response last, and the bounds that were mapped to [-1, 1]. */
static tacit_status_t read_columns(cli_infer_t *infer, file_t *file) {
  yaml_node_t *columns = find(file, "columns");
  size_t n_lower = 0, n_upper = 0;
  bool is_score = infer->release.kind == TACIT_RELEASE_SCORE;
  if (infer->model.kind != (is_score ? TACIT_LATENT_LOGISTIC : TACIT_LATENT_REGRESSION)) {
    return fault(file, find(file, "statistic"), "%s with a model of `records: %s`",
                 is_score ? "a logistic-score goes" : "regression-moments go", is_score ? "logistic" : "regression");
  }
  if (columns == NULL) {
    return missing(file, "columns", "columns: [x1, x2, y]");
  }
  bool is_list = columns->type == YAML_SEQUENCE_NODE;
  size_t n = is_list ? (size_t)(columns->data.sequence.items.top - columns->data.sequence.items.start) : 0;
  if (n < 2 || n > 21) {
    return fault(file, columns, "columns: expected a list of 1 to 20 features and the response");
  }
  infer->model.n_features = n - 1;
  tacit_status_t status = numbers(file, "lower", &infer->column_lower, &n_lower);
  status = status == TACIT_OK ? numbers(file, "upper", &infer->column_upper, &n_upper) : status;
  if (status == TACIT_OK && (n_lower != n || n_upper != n)) {
    return fault(file, find(file, n_lower != n ? "lower" : "upper"), "expected one bound for each of %zu columns", n);
  }
  for (size_t j = 0; status == TACIT_OK && j < n; j++) {
    if (!(infer->column_lower[j] < infer->column_upper[j])) {
      return fault(file, find(file, "lower"), "the clamp bounds are reversed: lower must be below upper");
    }
  }
  infer->release.lower = -1;
  infer->release.upper = 1;
  return status == TACIT_OK ? label_columns(infer, file, columns) : status;
}

static tacit_status_t read_bounds(cli_infer_t *infer, file_t *file) {
  if (is_of_rows(infer)) {
    return read_columns(infer, file);
  }
  if (infer->model.kind == TACIT_LATENT_REGRESSION || infer->model.kind == TACIT_LATENT_LOGISTIC) {
    return fault(file, find(file, "statistic"), "records: %s goes with `statistic: %s`", infer->records,
                 infer->model.kind == TACIT_LATENT_LOGISTIC ? "logistic-score" : "regression-moments");
  }
  tacit_status_t status = number(file, "lower", &infer->release.lower);
  return status == TACIT_OK ? number(file, "upper", &infer->release.upper) : status;
}

static tacit_status_t read_n(cli_infer_t *infer, file_t *file, size_t n) {
  double in_file = NAN;
  tacit_status_t status = number(file, "n", &in_file);
  if (status == TACIT_OK && isnan(in_file) && n == 0) {
    return tacit_error_set(file->err, TACIT_ERR_ARGUMENT, "n", "the number of records is needed: --n N, or `n: N` in %s",
                           file->path);
  }
  if (status == TACIT_OK && !isnan(in_file) && (!(in_file >= 1 && in_file <= 1e12) || in_file > floor(in_file))) {
    return fault(file, find(file, "n"), "n must be a whole number from 1");
  }
  if (status == TACIT_OK && !isnan(in_file) && n > 0 && (in_file < (double)n || in_file > (double)n)) {
    return fault(file, find(file, "n"), "n is %.0f here and %zu on the command line", in_file, n);
  }
  infer->model.n_records = n > 0 || status != TACIT_OK ? n : (size_t)in_file;
  return status;
}

/* What the file says its release cost, where it does: a release may be one of several, or its noise not said by epsilon. */
static tacit_status_t read_privacy(cli_infer_t *infer, file_t *file) {
  const yaml_node_t *node = find(file, "privacy");
  double epsilon = NAN, delta = NAN;
  if (node == NULL) {
    return TACIT_OK;
  }
  if (node->type != YAML_MAPPING_NODE) {
    return fault(file, node, "privacy: expected `{epsilon: NUMBER, delta: NUMBER, ..}`");
  }
  const yaml_node_t *at_epsilon = find_in(file, node, "epsilon"), *at_delta = find_in(file, node, "delta");
  const yaml_node_t *is_private = find_in(file, node, "is_private");
  infer->is_not_private = is_private != NULL && strcmp(scalar(is_private), "false") == 0;
  tacit_status_t status = number_at(file, at_epsilon, "epsilon", &epsilon);
  status = status == TACIT_OK ? number_at(file, at_delta, "delta", &delta) : status;
  if (status == TACIT_OK && at_epsilon != NULL && !(epsilon > 0)) {
    return fault(file, at_epsilon, "epsilon must be above 0");
  }
  if (status == TACIT_OK && at_delta != NULL && !(delta >= 0 && delta < 1)) {
    return fault(file, at_delta, "delta must be from 0 to below 1");
  }
  if (status == TACIT_OK && (infer->is_not_private || (at_epsilon != NULL && at_delta != NULL))) {
    infer->epsilon = infer->is_not_private ? NAN : epsilon;
    infer->delta = infer->is_not_private ? NAN : delta;
  }
  return status;
}

/* Factors and levels of released counts must be the model's, in the same order: equal numbers alone say nothing. */
static tacit_status_t check_factors(cli_infer_t *infer, file_t *file) {
  const yaml_node_t *node = find(file, "factors");
  size_t j = 0;
  if (node == NULL) {
    return TACIT_OK;
  }
  if (node->type != YAML_MAPPING_NODE || infer->release.kind != TACIT_RELEASE_COUNTS) {
    return fault(file, node, "factors: expected `{name: [level, level, ..], ..}`, with counts");
  }
  bool is_table = infer->labels != NULL && strchr(infer->labels[0], '=') == NULL; /* `levels:` name the cells themselves */
  size_t n_factors = (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
    const yaml_node_t *name = yaml_document_get_node(&file->document, pair->key);
    const yaml_node_t *levels = yaml_document_get_node(&file->document, pair->value);
    if (levels->type != YAML_SEQUENCE_NODE) {
      return fault(file, levels, "expected a list of levels");
    }
    for (yaml_node_item_t *item = levels->data.sequence.items.start; item < levels->data.sequence.items.top; item++, j++) {
      const yaml_node_t *level = yaml_document_get_node(&file->document, *item);
      char label[160];
      if (is_table) {
        snprintf(label, sizeof label, "p[%s]", scalar(level));
      } else {
        snprintf(label, sizeof label, "p[%s=%s]", scalar(name), scalar(level));
      }
      bool is_checked = !is_table || n_factors == 1;
      if (is_checked && (j >= infer->n_reported || strcmp(label, infer->labels[j]) != 0)) {
        return fault(file, level, "level '%s' of '%s' was counted here, where the model has %s", scalar(level), scalar(name),
                     j < infer->n_reported ? infer->labels[j] : "no more levels");
      }
    }
  }
  return TACIT_OK;
}

static void describe(cli_infer_t *infer, const struct mechanism *mechanism, bool is_mean, double unit) {
  const tacit_release_t *r = &infer->release;
  size_t n = infer->model.n_records;
  if (r->kind == TACIT_RELEASE_COUNTS) {
    snprintf(infer->statistic, sizeof infer->statistic, "counts of %zu records in %zu cells", n, r->n_values);
  } else if (r->kind == TACIT_RELEASE_SCORE) {
    snprintf(infer->statistic, sizeof infer->statistic,
             "score of a binary response and means, squares and products of %zu clamped features of %zu records",
             infer->model.n_features, n);
  } else if (r->kind == TACIT_RELEASE_PRODUCTS) {
    snprintf(infer->statistic, sizeof infer->statistic, "means, squares and products of %zu clamped columns of %zu records",
             infer->model.n_features + 1, n);
  } else {
    snprintf(infer->statistic, sizeof infer->statistic, "%s of %zu records clamped to [%g, %g]",
             r->kind == TACIT_RELEASE_MOMENTS ? "means of values and of their squares"
             : is_mean                        ? "mean"
                                              : "sum",
             n, r->lower, r->upper);
  }
  int length = snprintf(infer->noise, sizeof infer->noise, "%s, scale %.6g", mechanism->name, infer->scales[0] / unit);
  if (r->kind == TACIT_RELEASE_SCORE) {
    snprintf(infer->noise + length, sizeof infer->noise - (size_t)length, " (moments) and %.6g (score)",
             infer->scales[r->n_values - 1] / unit);
  }
}

static tacit_status_t read_statistic(cli_infer_t *infer, file_t *file, size_t n) {
  static const char *const keys[] = {"statistic", "value",       "lower", "upper", "mechanism", "scale",
                                     "epsilon",   "delta", "sensitivity", "step",  "n",     "columns",
                                     "factors",   "privacy",     NULL};
  const struct mechanism *mechanism = NULL;
  bool is_mean = false;
  tacit_status_t status = open_file(file, keys);
  status = status == TACIT_OK ? read_n(infer, file, n) : status;
  status = status == TACIT_OK ? read_kind(infer, file, &is_mean) : status;
  status = status == TACIT_OK ? read_mechanism(infer, file, &mechanism) : status;
  status = status == TACIT_OK ? read_bounds(infer, file) : status;
  status = status == TACIT_OK ? number(file, "step", &infer->release.step) : status;
  status = status == TACIT_OK ? numbers(file, "value", &infer->values, &infer->release.n_values) : status;
  if (status == TACIT_OK && infer->values == NULL) {
    return missing(file, "value", "value: 0.37");
  }
  bool has_range = infer->release.kind != TACIT_RELEASE_COUNTS && !is_of_rows(infer);
  if (status == TACIT_OK && has_range && !(infer->release.lower < infer->release.upper)) {
    return fault(file, find(file, "lower"), "the clamp bounds are reversed: lower must be below upper");
  }
  if (status == TACIT_OK) {
    infer->scales = tacit_alloc(infer->release.n_values, sizeof *infer->scales);
    status = infer->scales != NULL ? TACIT_OK : tacit_error_memory(file->err);
  }
  double unit = is_mean ? (double)infer->model.n_records : 1; /* the library takes sums */
  status = status == TACIT_OK ? read_scales(infer, file, mechanism, 1 / unit) : status;
  for (size_t j = 0; j < infer->release.n_values && status == TACIT_OK; j++) {
    infer->values[j] *= unit;
    infer->scales[j] *= unit;
  }
  infer->release.values = infer->values;
  infer->release.scales = infer->scales;
  if (infer->model.kind == TACIT_LATENT_POISSON && fabs(infer->release.step - 1) <= 0) {
    infer->release.step = 0; /* the lattice of counts, said */
  }
  status = status == TACIT_OK ? read_privacy(infer, file) : status;
  status = status == TACIT_OK && infer->model.kind == TACIT_LATENT_CATEGORICAL ? check_factors(infer, file) : status;
  if (status == TACIT_OK) {
    describe(infer, mechanism, is_mean, unit);
    status = tacit_augment_validate(&infer->model, &infer->release, file->err);
  }
  return status;
}

tacit_status_t cli_infer_read(cli_infer_t *infer, const char *model_path, const char *statistic_path, size_t n,
                              tacit_error_t *err) {
  *infer = (cli_infer_t){.epsilon = NAN, .delta = NAN, .true_delta = NAN};
  file_t model = {.path = model_path, .what = "a model", .err = err};
  tacit_status_t status = read_model(infer, &model);
  close_file(&model);
  if (status == TACIT_OK) {
    file_t statistic = {.path = statistic_path, .what = "a statistic", .err = err};
    status = read_statistic(infer, &statistic, n);
    close_file(&statistic);
  }
  return status;
}

void cli_infer_unmap(const cli_infer_t *infer, tacit_draws_t *draws) {
  size_t d = infer->model.n_features;
  bool is_linear = infer->model.kind == TACIT_LATENT_REGRESSION;
  if (!is_linear && infer->model.kind != TACIT_LATENT_LOGISTIC) {
    return;
  }
  const double *lower = infer->column_lower, *upper = infer->column_upper;
  double half = is_linear ? 0.5 * (upper[d] - lower[d]) : 1, middle = is_linear ? 0.5 * (lower[d] + upper[d]) : 0;
  for (size_t c = 0; c < draws->n_chains; c++) {
    for (size_t i = 0; i < draws->n_warmup + draws->n_draws; i++) {
      double *row = tacit_draws_row(draws, c, i);
      row[0] = middle + half * row[0];
      for (size_t j = 1; j <= d; j++) {
        row[j] *= half / (0.5 * (upper[j - 1] - lower[j - 1]));
        row[0] -= row[j] * 0.5 * (lower[j - 1] + upper[j - 1]);
      }
      if (is_linear) {
        row[d + 1] *= half;
      }
    }
  }
}

void cli_infer_clear(cli_infer_t *infer) {
  for (size_t j = 0; j < infer->n_reported; j++) {
    tacit_free(infer->labels != NULL ? infer->labels[j] : NULL);
    tacit_free(infer->names != NULL ? infer->names[j] : NULL);
  }
  tacit_free(infer->labels);
  tacit_free(infer->names);
  tacit_free(infer->values);
  tacit_free(infer->scales);
  tacit_free(infer->concentration);
  tacit_free(infer->column_lower);
  tacit_free(infer->column_upper);
  tacit_free(infer->n_levels);
  *infer = (cli_infer_t){0};
}
