/* A release in a file of what was published: {mechanism, scale, value, rounded, clamped, suppressed, ...}. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "infer/infer_internal.h"

enum { MAX_DEPTH = 8 };

static const struct {
  const char *name;
  tacit_release_noise_t noise;
} mechanisms[] = {{"gaussian", TACIT_RELEASE_GAUSSIAN},
                  {"laplace", TACIT_RELEASE_LAPLACE},
                  {"discrete-gaussian", TACIT_RELEASE_DISCRETE_GAUSSIAN},
                  {"discrete-laplace", TACIT_RELEASE_DISCRETE_LAPLACE},
                  {"geometric", TACIT_RELEASE_DISCRETE_LAPLACE},
                  {"none", TACIT_RELEASE_NONE},
                  {"randomised-response", TACIT_RELEASE_RESPONSES},
                  {"randomized-response", TACIT_RELEASE_RESPONSES},
                  {"exponential", TACIT_RELEASE_EXPONENTIAL}};

const char *tacit_infer_noise_string(tacit_release_noise_t noise) {
  size_t i = 0;
  while (mechanisms[i].noise != noise) {
    i++;
  }
  return mechanisms[i].name;
}

void tacit_infer_noisy_clear(tacit_noisy_t *noisy) {
  tacit_free((void *)(uintptr_t)noisy->values);
  tacit_free((void *)(uintptr_t)noisy->channel);
  *noisy = (tacit_noisy_t){0};
}

/* ---- values ---- */

static bool parse_bound(const yaml_node_t *node, double *x) {
  const char *text = tacit_yaml_scalar(node);
  const char *word = text[0] == '-' || text[0] == '+' ? text + 1 : text;
  if (strcmp(word, "inf") == 0 || strcmp(word, ".inf") == 0) {
    *x = text[0] == '-' ? -INFINITY : INFINITY;
    return true;
  }
  return tacit_number_parse(text, strlen(text), x);
}

static tacit_status_t read_clamped(tacit_yaml_t *file, const yaml_node_t *node, tacit_noisy_t *to) {
  to->lower = -INFINITY;
  to->upper = INFINITY;
  if (node == NULL) {
    return TACIT_OK;
  }
  bool ok = node->type == YAML_SEQUENCE_NODE && tacit_yaml_length(node) == 2 &&
            parse_bound(tacit_yaml_item(file, node, 0), &to->lower) &&
            parse_bound(tacit_yaml_item(file, node, 1), &to->upper);
  return ok ? TACIT_OK
            : tacit_yaml_fault(file, node,
                               "clamped: expected the bounds that values were moved into, [0, inf]");
}

static bool is_null(const yaml_node_t *node) {
  const char *text = tacit_yaml_scalar(node);
  return node->type == YAML_SCALAR_NODE && (strcmp(text, "null") == 0 || strcmp(text, "~") == 0);
}

/* Numbers of lists within lists, row by row; out NULL: they are counted. A null is NaN where values may be
 * withheld. */
static tacit_status_t flatten(tacit_yaml_t *file, const yaml_node_t *node, const char *key, bool may_be_null,
                              int depth, double *out, size_t *n) {
  if (node->type != YAML_SEQUENCE_NODE) {
    double x = NAN;
    tacit_status_t status =
        may_be_null && is_null(node) ? TACIT_OK : tacit_yaml_number_at(file, node, key, &x);
    if (status == TACIT_OK && out != NULL) {
      out[*n] = x;
    }
    (*n)++;
    return status;
  }
  tacit_status_t status =
      depth < MAX_DEPTH
          ? TACIT_OK
          : tacit_yaml_fault(file, node, "%s: lists within lists, more than %d deep", key, MAX_DEPTH);
  for (size_t i = 0; i < tacit_yaml_length(node) && status == TACIT_OK; i++) {
    status = flatten(file, tacit_yaml_item(file, node, i), key, may_be_null, depth + 1, out, n);
  }
  return status;
}

static tacit_status_t read_numbers(tacit_yaml_t *file, const yaml_node_t *node, const char *key,
                                   bool may_be_null, double **values, size_t *n) {
  *n = 0;
  tacit_status_t status = flatten(file, node, key, may_be_null, 0, NULL, n);
  *values = status == TACIT_OK ? tacit_alloc(*n + 1, sizeof **values) : NULL;
  if (status != TACIT_OK || *values == NULL) {
    return status != TACIT_OK ? status : tacit_error_memory(file->err);
  }
  *n = 0;
  return flatten(file, node, key, may_be_null, 0, *values, n);
}

static tacit_status_t read_values(tacit_yaml_t *file, const yaml_node_t *node, const char *name,
                                  size_t n_values, tacit_noisy_t *to) {
  const yaml_node_t *value = tacit_yaml_find_in(file, node, "value");
  double *values;
  if (value == NULL) {
    return tacit_yaml_fault(file, node, "%s: 'value' is missing", name);
  }
  tacit_status_t status = read_numbers(file, value, "value", to->suppressed > 0, &values, &to->n_values);
  to->values = values;
  return status != TACIT_OK || to->n_values == n_values
             ? status
             : tacit_yaml_fault(file, node, "%s: %zu values, where %zu are counted or summed", name,
                                to->n_values, n_values);
}

/* ---- mechanisms ---- */

/* The mechanism or the scale of one of several tables: its own, or that of the file. */
static const yaml_node_t *find_common(tacit_yaml_t *file, const yaml_node_t *node, const char *key,
                                      bool is_table) {
  const yaml_node_t *own = tacit_yaml_find_in(file, node, key);
  return own != NULL || !is_table ? own : tacit_yaml_find(file, key);
}

static tacit_status_t read_noise(tacit_yaml_t *file, const yaml_node_t *node, const char *name, bool is_table,
                                 tacit_release_noise_t *noise) {
  const yaml_node_t *mechanism = find_common(file, node, "mechanism", is_table);
  if (mechanism == NULL) {
    return tacit_yaml_fault(file, node, "%s: 'mechanism' is missing", name);
  }
  for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
    if (strcmp(mechanisms[i].name, tacit_yaml_scalar(mechanism)) == 0) {
      *noise = mechanisms[i].noise;
      return TACIT_OK;
    }
  }
  return tacit_yaml_fault(file, mechanism,
                          "%s: mechanism: expected gaussian, laplace, discrete-gaussian, discrete-laplace, "
                          "geometric, exponential, randomised-response or none, not '%s'",
                          name, tacit_yaml_scalar(mechanism));
}

/* Keys that go with some mechanisms alone. */
static tacit_status_t check_keys(tacit_yaml_t *file, const yaml_node_t *node, const char *name, bool is_table,
                                 tacit_release_noise_t noise) {
  static const struct {
    const char *key;
    bool of_noise, of_answers, of_choice;
  } all[] = {{"scale", true, false, true},    {"rounded", true, false, false},
             {"clamped", true, false, false}, {"suppressed", true, false, false},
             {"adds_up", true, false, false}, {"truth", false, true, false},
             {"channel", false, true, false}, {"epsilon", false, true, false}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    bool is_allowed = noise == TACIT_RELEASE_RESPONSES     ? all[i].of_answers
                      : noise == TACIT_RELEASE_EXPONENTIAL ? all[i].of_choice
                                                           : noise != TACIT_RELEASE_NONE && all[i].of_noise;
    const yaml_node_t *found = tacit_yaml_find_in(file, node, all[i].key);
    if (found != NULL && !is_allowed) {
      return tacit_yaml_fault(file, found, "%s: '%s' does not go with mechanism %s", name, all[i].key,
                              tacit_infer_noise_string(noise));
    }
  }
  bool has_scale = noise != TACIT_RELEASE_RESPONSES && noise != TACIT_RELEASE_NONE;
  return has_scale && find_common(file, node, "scale", is_table) == NULL
             ? tacit_yaml_fault(file, node, "%s: 'scale' is missing", name)
             : TACIT_OK;
}

/* Rows of the channel: the true cell with probability `truth`, every other one alike; by epsilon, the largest
 * such probability. */
static tacit_status_t fill_channel(tacit_yaml_t *file, const yaml_node_t *node, const char *name,
                                   tacit_noisy_t *to) {
  size_t k = to->n_values;
  double truth = NAN, epsilon = NAN;
  double *channel = tacit_alloc(k * k, sizeof *channel);
  to->channel = channel;
  if (channel == NULL) {
    return tacit_error_memory(file->err);
  }
  tacit_status_t status =
      tacit_yaml_number_at(file, tacit_yaml_find_in(file, node, "truth"), "truth", &truth);
  TACIT_THEN(status,
             tacit_yaml_number_at(file, tacit_yaml_find_in(file, node, "epsilon"), "epsilon", &epsilon));
  truth = isnan(truth) ? 1 / (1 + (double)(k - 1) * exp(-epsilon)) : truth;
  if (status == TACIT_OK && !(truth >= 0 && truth <= 1 && k > 1)) {
    return tacit_yaml_fault(
        file, node,
        "%s: truth: the probability that a record gives the cell it is in, one of several, from 0 to 1",
        name);
  }
  for (size_t i = 0; i < k * k; i++) {
    channel[i] = i / k == i % k ? truth : (1 - truth) / (double)(k - 1);
  }
  return status;
}

static tacit_status_t read_channel(tacit_yaml_t *file, const yaml_node_t *node, const char *name,
                                   tacit_noisy_t *to) {
  const yaml_node_t *rows = tacit_yaml_find_in(file, node, "channel");
  bool has_truth = tacit_yaml_find_in(file, node, "truth") != NULL,
       has_epsilon = tacit_yaml_find_in(file, node, "epsilon") != NULL;
  size_t n_given = (size_t)(rows != NULL) + (size_t)has_truth + (size_t)has_epsilon, n;
  double *channel;
  if (n_given != 1 || to->n_values > 4096) {
    return tacit_yaml_fault(file, node,
                            n_given != 1 ? "%s: randomised-response takes one of truth: 0.75, epsilon: 1 and "
                                           "channel: [[0.8, 0.2], [0.4, 0.6]]"
                                         : "%s: answers are at most 4096",
                            name);
  }
  if (rows == NULL) {
    return fill_channel(file, node, name, to);
  }
  tacit_status_t status = read_numbers(file, rows, "channel", false, &channel, &n);
  to->channel = channel;
  return status != TACIT_OK || n == to->n_values * to->n_values
             ? status
             : tacit_yaml_fault(file, rows,
                                "%s: channel: %zu rows of %zu probabilities, one row for each cell that a "
                                "record may be in",
                                name, to->n_values, to->n_values);
}

static tacit_status_t read_adds_up(tacit_yaml_t *file, const yaml_node_t *node, bool *adds_up) {
  if (node == NULL) {
    return TACIT_OK;
  }
  *adds_up = strcmp(tacit_yaml_scalar(node), "true") == 0;
  return *adds_up || strcmp(tacit_yaml_scalar(node), "false") == 0
             ? TACIT_OK
             : tacit_yaml_fault(file, node, "adds_up: expected true or false");
}

static tacit_status_t read_noisy(tacit_yaml_t *file, const yaml_node_t *node, const char *name,
                                 size_t n_values, bool is_table, tacit_noisy_t *to) {
  const yaml_node_t *scale = find_common(file, node, "scale", is_table);
  tacit_status_t status = read_noise(file, node, name, is_table, &to->noise);
  bool has_scale = to->noise != TACIT_RELEASE_NONE && to->noise != TACIT_RELEASE_RESPONSES;
  TACIT_THEN(status, check_keys(file, node, name, is_table, to->noise));
  status = status == TACIT_OK && has_scale ? tacit_yaml_number_at(file, scale, "scale", &to->scale) : status;
  if (status == TACIT_OK && has_scale && !(to->scale > 0)) {
    return tacit_yaml_fault(file, scale, "%s: scale must be above 0", name);
  }
  TACIT_THEN(status, read_clamped(file, tacit_yaml_find_in(file, node, "clamped"), to));
  TACIT_THEN(status,
             tacit_yaml_number_at(file, tacit_yaml_find_in(file, node, "rounded"), "rounded", &to->rounded));
  TACIT_THEN(status, tacit_yaml_number_at(file, tacit_yaml_find_in(file, node, "suppressed"), "suppressed",
                                          &to->suppressed));
  TACIT_THEN(status, read_adds_up(file, tacit_yaml_find_in(file, node, "adds_up"), &to->adds_up));
  TACIT_THEN(status, read_values(file, node, name, n_values, to));
  return status == TACIT_OK && to->noise == TACIT_RELEASE_RESPONSES ? read_channel(file, node, name, to)
                                                                    : status;
}

tacit_status_t tacit_infer_read_noisy(tacit_yaml_t *file, const yaml_node_t *node, const char *name,
                                      size_t n_values, tacit_noisy_t *to) {
  static const char *const keys[] = {"mechanism", "scale", "value",   "clamped", "rounded", "suppressed",
                                     "adds_up",   "truth", "channel", "epsilon", NULL};
  *to = (tacit_noisy_t){0};
  if (node->type != YAML_MAPPING_NODE) {
    return tacit_yaml_fault(file, node, "%s: expected {mechanism: laplace, scale: 2, value: 17}", name);
  }
  tacit_status_t status = tacit_yaml_check_keys(file, node, keys);
  return status == TACIT_OK ? read_noisy(file, node, name, n_values, false, to) : status;
}

tacit_status_t tacit_infer_read_noisy_table(tacit_yaml_t *file, const yaml_node_t *node, size_t n_values,
                                            tacit_noisy_t *to) {
  *to = (tacit_noisy_t){0};
  return read_noisy(file, node, "margins", n_values, true, to);
}

tacit_status_t tacit_infer_add_published(tacit_infer_t *infer, size_t statistic, uint64_t groups,
                                         const tacit_noisy_t *noisy, tacit_error_t *err) {
  tacit_published_statistic_t *more = tacit_realloc(infer->published, infer->n_published + 1, sizeof *more);
  if (more == NULL) {
    return tacit_error_memory(err);
  }
  infer->published = more;
  more[infer->n_published++] =
      (tacit_published_statistic_t){.statistic = statistic, .groups = groups, .noisy = *noisy};
  return TACIT_OK;
}
