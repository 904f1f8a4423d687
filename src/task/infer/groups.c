/* Which records a file of published statistics is of, how many they are, and what is given of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "infer/infer_internal.h"

static bool has(uint64_t groups, size_t g) { return (groups >> g & 1) != 0; }

/* ---- records: NAME | [NAME, ..] | {NAME: N, ..} ---- */

static tacit_status_t add(tacit_infer_t *infer, tacit_yaml_t *file, const yaml_node_t *node, const char *name,
                          size_t *g) {
  for (*g = 0; *g < infer->n_groups; (*g)++) {
    if (strcmp(infer->groups[*g].name, name) == 0) {
      return TACIT_OK;
    }
  }
  if (infer->n_groups == TACIT_MAX_GROUPS) {
    return tacit_yaml_fault(file, node, "more than %d groups of records", TACIT_MAX_GROUPS);
  }
  tacit_group_t *more = tacit_realloc(infer->groups, infer->n_groups + 1, sizeof *more);
  infer->groups = more != NULL ? more : infer->groups;
  char *copy = tacit_strdup(name);
  if (more == NULL || copy == NULL) {
    tacit_free(copy);
    return tacit_error_memory(file->err);
  }
  more[infer->n_groups++] = (tacit_group_t){.name = copy};
  return TACIT_OK;
}

static tacit_status_t set_size(tacit_infer_t *infer, tacit_yaml_t *file, const yaml_node_t *node, size_t g) {
  double n = NAN;
  tacit_group_t *group = &infer->groups[g];
  tacit_status_t status = tacit_yaml_number_at(file, node, "n", &n);
  if (status == TACIT_OK && (!(n >= 1 && n <= 2147483647) || n > floor(n))) {
    return tacit_yaml_fault(file, node, "n must be a whole number from 1 to 2^31 - 1");
  }
  if (status == TACIT_OK && group->n_records > 0 && fabs(n - (double)group->n_records) > 0) {
    return tacit_yaml_fault(file, node, "n is %.0f here and %zu elsewhere, of the same records", n,
                            group->n_records);
  }
  group->n_records = status == TACIT_OK ? (size_t)n : group->n_records;
  return status;
}

static tacit_status_t read_names(tacit_infer_t *infer, tacit_yaml_t *file, const yaml_node_t *node,
                                 uint64_t *groups) {
  tacit_status_t status = TACIT_OK;
  size_t g;
  if (node->type == YAML_SEQUENCE_NODE) {
    for (size_t i = 0; i < tacit_yaml_length(node) && status == TACIT_OK; i++) {
      const yaml_node_t *name = tacit_yaml_item(file, node, i);
      status = add(infer, file, name, tacit_yaml_scalar(name), &g);
      *groups |= status == TACIT_OK ? UINT64_C(1) << g : 0;
    }
    return status;
  }
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
       pair < node->data.mapping.pairs.top && status == TACIT_OK; pair++) {
    status = add(infer, file, node, tacit_yaml_scalar(tacit_yaml_node(file, pair->key)), &g);
    TACIT_THEN(status, set_size(infer, file, tacit_yaml_node(file, pair->value), g));
    *groups |= status == TACIT_OK ? UINT64_C(1) << g : 0;
  }
  return status;
}

/* ---- given: {column: number} ---- */

static tacit_status_t give(tacit_infer_t *infer, tacit_yaml_t *file, const yaml_node_t *name,
                           const yaml_node_t *value, size_t g) {
  size_t n, j = 0;
  double x = NAN;
  const tacit_population_column_t *c = tacit_population_columns(infer->population, &n);
  while (j < n && strcmp(c[j].name, tacit_yaml_scalar(name)) != 0) {
    j++;
  }
  if (j == n) {
    return tacit_yaml_fault(file, name, "given: the program's data have no number '%s'",
                            tacit_yaml_scalar(name));
  }
  tacit_status_t status = tacit_yaml_number_at(file, value, "given", &x);
  if (status == TACIT_OK && (x < c[j].lower || x > c[j].upper || (c[j].is_integer && x > floor(x)))) {
    return tacit_yaml_fault(file, value, "given: %g is not what '%s' is declared to be", x, c[j].name);
  }
  double *given = (double *)(uintptr_t)infer->groups[g].given;
  if (given == NULL && status == TACIT_OK) {
    infer->groups[g].given = given = tacit_alloc(n, sizeof *given);
    for (size_t i = 0; i < n && given != NULL; i++) {
      given[i] = NAN;
    }
    status = given != NULL ? TACIT_OK : tacit_error_memory(file->err);
  }
  if (status == TACIT_OK && fabs(given[j] - x) > 0) {
    return tacit_yaml_fault(file, value, "given: '%s' is %g here and %g elsewhere, of the same records",
                            c[j].name, x, given[j]);
  }
  if (status == TACIT_OK) {
    given[j] = x;
  }
  return status;
}

static tacit_status_t read_given(tacit_infer_t *infer, tacit_yaml_t *file, uint64_t groups) {
  const yaml_node_t *node = tacit_yaml_find(file, "given");
  tacit_status_t status = TACIT_OK;
  if (node != NULL && node->type != YAML_MAPPING_NODE) {
    return tacit_yaml_fault(file, node, "given: expected numbers that all of these records have, {site: 2}");
  }
  for (yaml_node_pair_t *pair = node != NULL ? node->data.mapping.pairs.start : NULL;
       pair != NULL && pair < node->data.mapping.pairs.top && status == TACIT_OK; pair++) {
    for (size_t g = 0; g < infer->n_groups && status == TACIT_OK; g++) {
      status = has(groups, g) ? give(infer, file, tacit_yaml_node(file, pair->key),
                                     tacit_yaml_node(file, pair->value), g)
                              : TACIT_OK;
    }
  }
  return status;
}

tacit_status_t tacit_infer_read_groups(tacit_infer_t *infer, tacit_yaml_t *file, uint64_t *groups) {
  const yaml_node_t *node = tacit_yaml_find(file, "records");
  size_t g = 0;
  *groups = 0;
  tacit_status_t status = node == NULL || node->type == YAML_SCALAR_NODE
                              ? add(infer, file, node, node != NULL ? tacit_yaml_scalar(node) : "", &g)
                              : read_names(infer, file, node, groups);
  *groups = status == TACIT_OK && *groups == 0 ? UINT64_C(1) << g : *groups;
  return status == TACIT_OK ? read_given(infer, file, *groups) : status;
}

/* ---- n ---- */

tacit_status_t tacit_infer_read_sizes(tacit_infer_t *infer, tacit_yaml_t *file, uint64_t groups, size_t n) {
  const yaml_node_t *node = tacit_yaml_find(file, "n");
  size_t g = 0;
  if (node == NULL) {
    return TACIT_OK;
  }
  if (node->type == YAML_MAPPING_NODE && n > 0) {
    return tacit_yaml_fault(file, node,
                            "n is released with noise here and %zu on the command line: which is it?", n);
  }
  if (node->type == YAML_MAPPING_NODE) {
    tacit_noisy_t noisy;
    tacit_status_t status = tacit_infer_read_noisy(file, node, "n", 1, &noisy);
    TACIT_THEN(status, tacit_infer_add_published(infer, TACIT_PUBLISHED_SIZE, groups, &noisy, file->err));
    if (status != TACIT_OK) {
      tacit_infer_noisy_clear(&noisy);
    }
    return status;
  }
  while (!has(groups, g)) {
    g++;
  }
  if (groups >> g != 1) {
    return tacit_yaml_fault(
        file, node,
        "this file is of several groups of records: say how many each has, records: {a: 300, b: 500}");
  }
  tacit_status_t status = set_size(infer, file, node, g);
  return status == TACIT_OK && n > 0 && infer->groups[g].n_records != n
             ? tacit_yaml_fault(file, node, "n is %zu here and %zu on the command line",
                                infer->groups[g].n_records, n)
             : status;
}

/* What is known of the size of group g: it was released, or counts without noise add up to it. */
static bool find_size(tacit_infer_t *infer, size_t g) {
  bool is_released = false;
  for (size_t i = 0; i < infer->n_published; i++) {
    const tacit_published_statistic_t *p = &infer->published[i];
    bool is_exact = p->noisy.noise == TACIT_RELEASE_NONE || p->noisy.noise == TACIT_RELEASE_RESPONSES;
    double sum = 0;
    for (size_t k = 0; k < p->noisy.n_values && is_exact && p->groups == UINT64_C(1) << g; k++) {
      sum += p->noisy.values[k];
    }
    infer->groups[g].n_records = infer->groups[g].n_records == 0 && sum >= 1 && sum <= 2147483647
                                     ? (size_t)sum
                                     : infer->groups[g].n_records;
    is_released = is_released || (p->statistic == TACIT_PUBLISHED_SIZE && has(p->groups, g));
  }
  return is_released || infer->groups[g].n_records > 0;
}

tacit_status_t tacit_infer_complete_sizes(tacit_infer_t *infer, tacit_error_t *err) {
  if (infer->n > 0 && infer->n_groups > 1) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "n",
        "option --n is for records of one group: say in each file how many there are, `n: N`");
  }
  for (size_t g = 0; g < infer->n_groups; g++) {
    tacit_group_t *group = &infer->groups[g];
    if (infer->n > 0 && group->n_records > 0 && group->n_records != infer->n) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n",
                             "option --n says %zu, and a file %zu of the same records: say it once", infer->n,
                             group->n_records);
    }
    group->n_records = infer->n > 0 ? infer->n : group->n_records;
    if (!find_size(infer, g)) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n",
                             "the number of records%s%s is needed: --n N, or in %s `n: N`, or its release, "
                             "`n: {mechanism: laplace, scale: 1, value: 812}`",
                             group->name[0] != '\0' ? " of " : "", group->name,
                             infer->n_groups > 1 ? "a file" : infer->statistics[0].name);
    }
  }
  return TACIT_OK;
}
