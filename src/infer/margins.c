/* The file of noisy margins. */
#include "infer/margins.h"

#include <math.h>
#include <string.h>

void tacit_margins_clear(tacit_margins_file_t *m) {
  for (size_t j = 0; j < m->n_columns; j++) {
    for (size_t l = 0; m->levels[j] != NULL && l < m->n_levels[j]; l++) {
      tacit_free(m->levels[j][l]);
    }
    tacit_free(m->levels[j]);
    tacit_free(m->names[j]);
  }
  tacit_free(m->values);
  tacit_free(m->scales);
  tacit_tables_free(m->tables);
  *m = (tacit_margins_file_t){0};
}

bool tacit_margins_is_file(const char *text, size_t length) {
  tacit_yaml_t file = {.name = "", .what = "a statistic"};
  bool is_margins = false;
  if (tacit_yaml_load(&file, text, length) == TACIT_OK) {
    const yaml_node_t *root = yaml_document_get_root_node(&file.document);
    const yaml_node_t *kind = root != NULL && root->type == YAML_MAPPING_NODE ? tacit_yaml_find_in(&file, root, "statistic") : NULL;
    is_margins = kind != NULL && strcmp(tacit_yaml_scalar(kind), "margins") == 0;
  }
  tacit_yaml_close(&file);
  return is_margins;
}

/* ---- columns ---- */

static tacit_status_t read_levels(tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *name, const yaml_node_t *levels) {
  size_t j = m->n_columns, n = tacit_yaml_length(levels);
  if (j == TACIT_TABLES_MAX_COLUMNS) {
    return tacit_yaml_fault(file, name, "factors: at most %d columns can be taken together", (int)TACIT_TABLES_MAX_COLUMNS);
  }
  if (n < 2 || tacit_yaml_scalar(name)[0] == '\0') {
    return tacit_yaml_fault(file, levels, "factors: expected a column's name and a list of two levels or more");
  }
  m->names[j] = tacit_strdup(tacit_yaml_scalar(name));
  m->levels[j] = tacit_alloc_zero(n, sizeof *m->levels[j]);
  m->n_levels[j] = n;
  m->n_columns++;
  bool ok = m->names[j] != NULL && m->levels[j] != NULL;
  for (size_t l = 0; l < n && ok; l++) {
    m->levels[j][l] = tacit_strdup(tacit_yaml_scalar(tacit_yaml_item(file, levels, l)));
    ok = m->levels[j][l] != NULL;
  }
  return ok ? TACIT_OK : tacit_error_memory(file->err);
}

static tacit_status_t read_factors(tacit_margins_file_t *m, tacit_yaml_t *file) {
  const yaml_node_t *node = tacit_yaml_find(file, "factors");
  if (node == NULL) {
    return tacit_yaml_missing(file, "factors", "factors: {sex: [F, M], smoker: [no, yes]}");
  }
  if (node->type != YAML_MAPPING_NODE) {
    return tacit_yaml_fault(file, node, "factors: expected `{name: [level, level, ..], ..}`");
  }
  tacit_status_t status = TACIT_OK;
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top && status == TACIT_OK; pair++) {
    const yaml_node_t *name = tacit_yaml_node(file, pair->key);
    for (size_t j = 0; j < m->n_columns && status == TACIT_OK; j++) {
      status = strcmp(m->names[j], tacit_yaml_scalar(name)) == 0 ? tacit_yaml_fault(file, name, "factors: column '%s' is there twice", m->names[j])
                                                                 : TACIT_OK;
    }
    status = status == TACIT_OK ? read_levels(m, file, name, tacit_yaml_node(file, pair->value)) : status;
  }
  return status;
}

/* ---- margins ---- */

static tacit_status_t read_columns(const tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *list, uint32_t *margin) {
  size_t n = tacit_yaml_length(list), last = 0;
  *margin = 0;
  for (size_t i = 0; i < n; i++) {
    const yaml_node_t *node = tacit_yaml_item(file, list, i);
    size_t j = 0;
    while (j < m->n_columns && strcmp(m->names[j], tacit_yaml_scalar(node)) != 0) {
      j++;
    }
    if (j == m->n_columns || (*margin != 0 && j <= last)) {
      return tacit_yaml_fault(file, node, "margins: '%s' is %s", tacit_yaml_scalar(node),
                              j == m->n_columns ? "not among the factors" : "out of the factors' order, which is that of the values");
    }
    *margin |= UINT32_C(1) << j;
    last = j;
  }
  return n > 0 ? TACIT_OK : tacit_yaml_fault(file, list, "margins: expected columns: [name, name]");
}

static size_t count(const tacit_margins_file_t *m, uint32_t margin) {
  size_t n = 1;
  for (size_t j = 0; j < m->n_columns; j++) {
    n *= (margin >> j & 1) != 0 ? m->n_levels[j] : 1;
  }
  return n;
}

/* One of the list: {columns: [..], value: [..]}, and perhaps a scale of its own. */
static const yaml_node_t *part(tacit_yaml_t *file, const yaml_node_t *list, size_t i, const char *key) {
  return tacit_yaml_find_in(file, tacit_yaml_item(file, list, i), key);
}

static tacit_status_t read_shapes(tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *list) {
  static const char *const keys[] = {"columns", "value", "scale", NULL};
  tacit_status_t status = TACIT_OK;
  if (tacit_yaml_length(list) < 1 || tacit_yaml_length(list) > TACIT_TABLES_MAX_MARGINS) {
    return tacit_yaml_fault(file, list, "margins: expected a list of 1 to %d tables, {columns: [sex, smoker], value: [..]}",
                            (int)TACIT_TABLES_MAX_MARGINS);
  }
  for (; m->n_margins < tacit_yaml_length(list) && status == TACIT_OK; m->n_margins++) {
    const yaml_node_t *item = tacit_yaml_item(file, list, m->n_margins);
    if (item->type != YAML_MAPPING_NODE) {
      return tacit_yaml_fault(file, item, "margins: expected {columns: [sex, smoker], value: [..]}");
    }
    status = tacit_yaml_check_keys(file, item, keys);
    if (status == TACIT_OK && (tacit_yaml_find_in(file, item, "columns") == NULL || tacit_yaml_find_in(file, item, "value") == NULL)) {
      return tacit_yaml_fault(file, item, "margins: 'columns' or 'value' is missing");
    }
    status = status == TACIT_OK ? read_columns(m, file, tacit_yaml_find_in(file, item, "columns"), &m->margins[m->n_margins]) : status;
  }
  return status;
}

static tacit_status_t read_values(tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *list) {
  size_t n = tacit_tables_n_cells(m->tables), at = 0;
  m->values = tacit_alloc_zero(n, sizeof *m->values);
  m->scales = tacit_alloc_zero(n, sizeof *m->scales);
  tacit_status_t status = m->values != NULL && m->scales != NULL ? TACIT_OK : tacit_error_memory(file->err);
  for (size_t i = 0; i < m->n_margins && status == TACIT_OK; i++) {
    const yaml_node_t *values = part(file, list, i, "value"), *own = part(file, list, i, "scale"),
                      *scale = own != NULL ? own : tacit_yaml_find(file, "scale");
    size_t n_cells = count(m, m->margins[i]);
    double sd = NAN;
    if (scale == NULL) {
      return tacit_yaml_missing(file, "scale", "scale: 8.4");
    }
    if (tacit_yaml_length(values) != n_cells) {
      return tacit_yaml_fault(file, values, "value: %zu numbers, where the table has %zu cells", tacit_yaml_length(values), n_cells);
    }
    status = tacit_yaml_number_at(file, scale, "scale", &sd);
    if (status == TACIT_OK && !(sd > 0)) {
      return tacit_yaml_fault(file, scale, "scale must be above 0");
    }
    for (size_t k = 0; k < n_cells && status == TACIT_OK; k++, at++) {
      m->scales[at] = sd;
      status = tacit_yaml_number_at(file, tacit_yaml_item(file, values, k), "value", &m->values[at]);
    }
  }
  return status;
}

static tacit_status_t read_mechanism(tacit_margins_file_t *m, tacit_yaml_t *file) {
  const yaml_node_t *node = tacit_yaml_find(file, "mechanism");
  if (node == NULL) {
    return tacit_yaml_missing(file, "mechanism", "mechanism: discrete-gaussian");
  }
  m->is_discrete = strcmp(tacit_yaml_scalar(node), "discrete-gaussian") == 0;
  return m->is_discrete || strcmp(tacit_yaml_scalar(node), "gaussian") == 0
             ? TACIT_OK
             : tacit_yaml_fault(file, node, "mechanism: margins have gaussian or discrete-gaussian noise, not '%s'", tacit_yaml_scalar(node));
}

static tacit_status_t read_n(tacit_margins_file_t *m, tacit_yaml_t *file) {
  const yaml_node_t *node = tacit_yaml_find(file, "n"), *privacy = tacit_yaml_find(file, "privacy");
  tacit_status_t status = tacit_yaml_number_at(file, node, "n", &m->n);
  if (status == TACIT_OK && node != NULL && (!(m->n >= 1 && m->n <= 1e15) || m->n > floor(m->n))) {
    return tacit_yaml_fault(file, node, "n must be a whole number from 1; leave it out where it is private");
  }
  const yaml_node_t *relation = privacy != NULL && privacy->type == YAML_MAPPING_NODE ? tacit_yaml_find_in(file, privacy, "relation") : NULL;
  m->is_add_remove = relation != NULL && strcmp(tacit_yaml_scalar(relation), "add-remove") == 0;
  return status;
}

tacit_status_t tacit_margins_read(tacit_margins_file_t *m, tacit_yaml_t *file, const char *text, size_t length) {
  static const char *const keys[] = {"statistic", "factors", "margins", "n", "mechanism", "scale", "privacy", NULL};
  *m = (tacit_margins_file_t){0};
  tacit_status_t status = tacit_yaml_open(file, text, length, keys);
  const yaml_node_t *list = status == TACIT_OK ? tacit_yaml_find(file, "margins") : NULL;
  if (status == TACIT_OK && list == NULL) {
    return tacit_yaml_missing(file, "margins", "margins: [{columns: [sex, smoker], value: [30, 12, 25, 17]}]");
  }
  status = status == TACIT_OK ? read_factors(m, file) : status;
  status = status == TACIT_OK ? read_shapes(m, file, list) : status;
  status = status == TACIT_OK ? read_mechanism(m, file) : status;
  status = status == TACIT_OK ? read_n(m, file) : status;
  tacit_error_t why = {0};
  const tacit_margins_t shape = {
      .n_columns = m->n_columns, .n_levels = m->n_levels, .names = (const char *const *)m->names, .n_margins = m->n_margins, .margins = m->margins};
  if (status == TACIT_OK) {
    status = tacit_tables_new(&m->tables, &shape, &why);
    if (status == TACIT_ERR_ARGUMENT) {
      return tacit_yaml_fault(file, list, "%s", why.message);
    }
    status = status == TACIT_OK ? status : tacit_error_memory(file->err);
  }
  return status == TACIT_OK ? read_values(m, file, list) : status;
}
