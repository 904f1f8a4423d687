/* Records of a program: the program with its block 'statistic', and the file that says what was published of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/infer_internal.h"

enum { MODEL, MAX_DEPTH = 8 };

bool tacit_infer_is_program(const tacit_infer_t *infer) {
  const char *name = infer->sources[MODEL].name;
  size_t n = strlen(name);
  return n > 5 && strcmp(name + n - 5, ".stan") == 0;
}

void tacit_infer_clear_population(tacit_infer_t *infer) {
  for (size_t i = 0; i < infer->n_published; i++) {
    tacit_free((void *)(uintptr_t)infer->published[i].values);
  }
  tacit_free(infer->published);
  tacit_population_free(infer->population);
}

/* ---- the program ---- */

static tacit_status_t take_labels(tacit_infer_t *infer, bool of_n, tacit_error_t *err) {
  size_t n = tacit_population_n_reported(infer->population);
  infer->n_reported = n + of_n;
  infer->labels = tacit_alloc_zero(infer->n_reported, sizeof *infer->labels);
  infer->names = tacit_alloc_zero(infer->n_reported, sizeof *infer->names);
  for (size_t i = 0; i < infer->n_reported && infer->labels != NULL && infer->names != NULL; i++) {
    infer->labels[i] = tacit_strdup(i < n ? tacit_population_label(infer->population, i) : "n");
    infer->names[i] = tacit_strdup(i < n ? tacit_population_name(infer->population, i) : "n");
    if (infer->labels[i] == NULL || infer->names[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  return infer->labels != NULL && infer->names != NULL ? TACIT_OK : tacit_error_memory(err);
}

tacit_status_t tacit_infer_read_population(tacit_infer_t *infer, const char *name, const char *text, size_t n, tacit_error_t *err) {
  tacit_program_constants_t constants = {0};
  tacit_error_t why = {0};
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < infer->given.n_given && status == TACIT_OK; i++) {
    if (strcmp(infer->given.given[i].setting->name, "set") == 0) {
      status = tacit_program_constants_set(&constants, infer->given.given[i].text, err);
    }
  }
  if (status == TACIT_OK) {
    status = tacit_population_parse(&infer->population, text, n, constants.items, constants.n, &why);
    if (status != TACIT_OK) {
      (void)tacit_error_set(err, status, "model", "%s: %s", name, why.message);
    }
  }
  infer->records = "program";
  tacit_program_constants_clear(&constants);
  return status;
}

/* ---- what was published ---- */

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
  bool ok = node->type == YAML_SEQUENCE_NODE && tacit_yaml_length(node) == 2 && parse_bound(tacit_yaml_item(file, node, 0), &to->lower) &&
            parse_bound(tacit_yaml_item(file, node, 1), &to->upper);
  return ok ? TACIT_OK : tacit_yaml_fault(file, node, "clamped: expected the bounds that values were moved into, [0, inf]");
}

/* Numbers of lists within lists, row by row; out NULL: they are counted. */
static tacit_status_t flatten(tacit_yaml_t *file, const yaml_node_t *node, int depth, double *out, size_t *n) {
  if (node->type != YAML_SEQUENCE_NODE) {
    double x = NAN;
    tacit_status_t status = tacit_yaml_number_at(file, node, "value", &x);
    if (status == TACIT_OK && out != NULL) {
      out[*n] = x;
    }
    (*n)++;
    return status;
  }
  tacit_status_t status = depth < MAX_DEPTH ? TACIT_OK : tacit_yaml_fault(file, node, "value: lists within lists, more than %d deep", MAX_DEPTH);
  for (size_t i = 0; i < tacit_yaml_length(node) && status == TACIT_OK; i++) {
    status = flatten(file, tacit_yaml_item(file, node, i), depth + 1, out, n);
  }
  return status;
}

static tacit_status_t read_noise(tacit_yaml_t *file, const yaml_node_t *node, const char *name, tacit_release_noise_t *noise) {
  static const struct {
    const char *name;
    tacit_release_noise_t noise;
  } all[] = {{"gaussian", TACIT_RELEASE_GAUSSIAN},
             {"laplace", TACIT_RELEASE_LAPLACE},
             {"discrete-gaussian", TACIT_RELEASE_DISCRETE_GAUSSIAN},
             {"discrete-laplace", TACIT_RELEASE_DISCRETE_LAPLACE},
             {"geometric", TACIT_RELEASE_DISCRETE_LAPLACE}};
  for (size_t i = 0; node != NULL && i < sizeof all / sizeof all[0]; i++) {
    if (strcmp(all[i].name, tacit_yaml_scalar(node)) == 0) {
      *noise = all[i].noise;
      return TACIT_OK;
    }
  }
  return tacit_yaml_fault(file, node, "%s: mechanism: expected gaussian, laplace, discrete-gaussian, discrete-laplace or geometric, not '%s'", name,
                          node != NULL ? tacit_yaml_scalar(node) : "");
}

/* {mechanism, scale, value, clamped, rounded} */
static tacit_status_t read_one(tacit_yaml_t *file, const yaml_node_t *node, const char *name, tacit_noisy_t *to) {
  static const char *const keys[] = {"mechanism", "scale", "value", "clamped", "rounded", NULL};
  if (node->type != YAML_MAPPING_NODE) {
    return tacit_yaml_fault(file, node, "%s: expected {mechanism: laplace, scale: 2, value: 17}", name);
  }
  tacit_status_t status = tacit_yaml_check_keys(file, node, keys);
  const yaml_node_t *mechanism = tacit_yaml_find_in(file, node, "mechanism"), *value = tacit_yaml_find_in(file, node, "value");
  const yaml_node_t *scale = tacit_yaml_find_in(file, node, "scale");
  for (size_t i = 0; i < 3 && status == TACIT_OK; i++) {
    if (tacit_yaml_find_in(file, node, keys[i]) == NULL) {
      status = tacit_yaml_fault(file, node, "%s: '%s' is missing", name, keys[i]);
    }
  }
  status = status == TACIT_OK ? read_noise(file, mechanism, name, &to->noise) : status;
  status = status == TACIT_OK ? tacit_yaml_number_at(file, scale, "scale", &to->scale) : status;
  status = status == TACIT_OK ? read_clamped(file, tacit_yaml_find_in(file, node, "clamped"), to) : status;
  status = status == TACIT_OK ? tacit_yaml_number_at(file, tacit_yaml_find_in(file, node, "rounded"), "rounded", &to->rounded) : status;
  status = status == TACIT_OK ? flatten(file, value, 0, NULL, &to->n_values) : status;
  double *values = status == TACIT_OK ? tacit_alloc(to->n_values, sizeof *values) : NULL;
  to->values = values;
  if (status != TACIT_OK || values == NULL) {
    return status != TACIT_OK ? status : tacit_error_memory(file->err);
  }
  to->n_values = 0;
  return flatten(file, value, 0, values, &to->n_values);
}

static tacit_status_t read_all(tacit_infer_t *infer, tacit_yaml_t *file) {
  size_t n;
  const tacit_population_statistic_t *s = tacit_population_statistics(infer->population, &n);
  const yaml_node_t *all = tacit_yaml_find(file, "statistics");
  if (all == NULL) {
    return tacit_yaml_missing(file, "statistics", "statistics: {table: {mechanism: laplace, scale: 2, value: [3, 17, 4]}}");
  }
  const char **names = tacit_alloc_zero(n + 1, sizeof *names);
  if (names == NULL) {
    return tacit_error_memory(file->err);
  }
  for (size_t i = 0; i < n; i++) {
    names[i] = s[i].name;
  }
  tacit_status_t status = all->type == YAML_MAPPING_NODE ? tacit_yaml_check_keys(file, all, names)
                                                         : tacit_yaml_fault(file, all, "statistics: expected the program's statistics by name");
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    const yaml_node_t *node = tacit_yaml_find_in(file, all, s[i].name);
    status = node != NULL ? read_one(file, node, s[i].name, &infer->published[i]) : TACIT_OK;
    if (status == TACIT_OK && node != NULL && infer->published[i].n_values != s[i].n_values) {
      status = tacit_yaml_fault(file, node, "%s: %zu values, where the program's statistic has %zu", s[i].name, infer->published[i].n_values, s[i].n_values);
    }
  }
  tacit_free(names);
  return status;
}

/* n as a number, here or on the command line, or as a release. */
static tacit_status_t read_n(tacit_infer_t *infer, tacit_yaml_t *file, size_t n) {
  const yaml_node_t *node = tacit_yaml_find(file, "n");
  tacit_noisy_t *of_n = &infer->published[infer->n_published - 1];
  double in_file = NAN;
  if (node != NULL && node->type == YAML_MAPPING_NODE && n == 0) {
    return read_one(file, node, "n", of_n);
  }
  if (node != NULL && node->type == YAML_MAPPING_NODE) {
    return tacit_yaml_fault(file, node, "n is released with noise here and %zu on the command line: which is it?", n);
  }
  tacit_status_t status = tacit_yaml_number_at(file, node, "n", &in_file);
  if (status == TACIT_OK && node == NULL && n == 0) {
    return tacit_error_set(file->err, TACIT_ERR_ARGUMENT, "n", "the number of records is needed: --n N, or in %s `n: N`, or its release, `n: {mechanism: laplace, scale: 1, value: 812}`",
                           file->name);
  }
  if (status == TACIT_OK && node != NULL && (!(in_file >= 1 && in_file <= 2147483647) || in_file > floor(in_file))) {
    return tacit_yaml_fault(file, node, "n must be a whole number from 1 to 2^31 - 1");
  }
  if (status == TACIT_OK && node != NULL && n > 0 && fabs(in_file - (double)n) > 0) {
    return tacit_yaml_fault(file, node, "n is %.0f here and %zu on the command line", in_file, n);
  }
  infer->model.n_records = n > 0 || status != TACIT_OK ? n : (size_t)in_file;
  return status;
}

static void describe(tacit_infer_t *infer) {
  static const char *const noises[] = {"gaussian", "laplace", "discrete-gaussian", "discrete-laplace"};
  size_t n, length = 0, noise_length = 0;
  const tacit_population_statistic_t *s = tacit_population_statistics(infer->population, &n);
  for (size_t i = 0; i < n; i++) {
    const tacit_noisy_t *p = &infer->published[i];
    if (p->n_values > 0 && length + 1 < sizeof infer->statistic && noise_length + 1 < sizeof infer->noise) {
      length += (size_t)snprintf(infer->statistic + length, sizeof infer->statistic - length, "%s%s (%zu %s%s)", length > 0 ? ", " : "", s[i].name,
                                 p->n_values, s[i].is_count ? "count" : "sum", p->n_values > 1 ? "s" : "");
      noise_length += (size_t)snprintf(infer->noise + noise_length, sizeof infer->noise - noise_length, "%s%s, scale %.6g%s%s", noise_length > 0 ? "; " : "",
                                       noises[p->noise], p->scale, p->rounded > 0 ? ", rounded" : "",
                                       isfinite(p->lower) || isfinite(p->upper) ? ", clamped" : "");
    }
  }
  if (length + 1 < sizeof infer->statistic && infer->model.n_records > 0) {
    snprintf(infer->statistic + length, sizeof infer->statistic - length, " of %zu records", infer->model.n_records);
  } else if (length + 1 < sizeof infer->statistic) {
    snprintf(infer->statistic + length, sizeof infer->statistic - length, " of a number of records released with noise");
  }
}

tacit_status_t tacit_infer_read_published(tacit_infer_t *infer, tacit_yaml_t *file, const char *text, size_t length, size_t n) {
  static const char *const keys[] = {"statistics", "n", "privacy", NULL};
  size_t n_statistics;
  (void)tacit_population_statistics(infer->population, &n_statistics);
  infer->published = tacit_alloc_zero(n_statistics + 1, sizeof *infer->published);
  if (infer->published == NULL) {
    return tacit_error_memory(file->err);
  }
  infer->n_published = n_statistics + 1;
  tacit_status_t status = tacit_yaml_open(file, text, length, keys);
  status = status == TACIT_OK ? read_all(infer, file) : status;
  status = status == TACIT_OK ? read_n(infer, file, n) : status;
  status = status == TACIT_OK ? tacit_infer_read_privacy(infer, file) : status;
  status = status == TACIT_OK ? take_labels(infer, infer->model.n_records == 0, file->err) : status;
  if (status == TACIT_OK) {
    describe(infer);
  }
  return status;
}

tacit_status_t tacit_infer_run_population(tacit_infer_t *infer, tacit_error_t *err) {
  const tacit_noisy_t *of_n = &infer->published[infer->n_published - 1];
  return tacit_augment_population(infer->population, infer->model.n_records, of_n->n_values > 0 ? of_n : NULL, infer->published, &infer->settings,
                                  &infer->draws, &infer->result, err);
}
