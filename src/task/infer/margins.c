/* The file of noisy margins. */
#include "infer/margins.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#include "infer/infer_internal.h"

void tacit_margins_clear(tacit_margins_file_t *m) {
  for (size_t j = 0; j < m->n_columns; j++) {
    for (size_t l = 0; m->levels[j] != NULL && l < m->n_levels[j]; l++) {
      tacit_free(m->levels[j][l]);
    }
    tacit_free(m->levels[j]);
    tacit_free(m->names[j]);
  }
  for (size_t i = 0; i < m->n_margins; i++) {
    tacit_infer_noisy_clear(&m->noisy[i]);
  }
  for (size_t i = 0; i < m->n_totals; i++) {
    tacit_infer_noisy_clear(&m->totals[i]);
  }
  tacit_free(m->zeros);
  tacit_tables_free(m->tables);
  *m = (tacit_margins_file_t){0};
}

bool tacit_margins_is_file(const char *text, size_t length) {
  tacit_yaml_t file = {.name = "", .what = "a statistic"};
  bool is_margins = false;
  if (tacit_yaml_load(&file, text, length) == TACIT_OK) {
    const yaml_node_t *root = yaml_document_get_root_node(&file.document);
    const yaml_node_t *kind =
        root != NULL && root->type == YAML_MAPPING_NODE ? tacit_yaml_find_in(&file, root, "statistic") : NULL;
    is_margins = kind != NULL && strcmp(tacit_yaml_scalar(kind), "margins") == 0;
  }
  tacit_yaml_close(&file);
  return is_margins;
}

/* ---- columns ---- */

static tacit_status_t read_levels(tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *name,
                                  const yaml_node_t *levels) {
  size_t j = m->n_columns, n = tacit_yaml_length(levels);
  if (j == TACIT_TABLES_MAX_COLUMNS) {
    return tacit_yaml_fault(file, name, "factors: at most %d columns can be taken together",
                            (int)TACIT_TABLES_MAX_COLUMNS);
  }
  if (n < 2 || tacit_yaml_scalar(name)[0] == '\0') {
    return tacit_yaml_fault(file, levels,
                            "factors: expected a column's name and a list of two levels or more");
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
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
       pair < node->data.mapping.pairs.top && status == TACIT_OK; pair++) {
    const yaml_node_t *name = tacit_yaml_node(file, pair->key);
    for (size_t j = 0; j < m->n_columns && status == TACIT_OK; j++) {
      status = strcmp(m->names[j], tacit_yaml_scalar(name)) == 0
                   ? tacit_yaml_fault(file, name, "factors: column '%s' is there twice", m->names[j])
                   : TACIT_OK;
    }
    TACIT_THEN(status, read_levels(m, file, name, tacit_yaml_node(file, pair->value)));
  }
  return status;
}

/* ---- margins ---- */

static tacit_status_t read_columns(const tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *list,
                                   uint32_t *margin) {
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
                              j == m->n_columns ? "not among the factors"
                                                : "out of the factors' order, which is that of the values");
    }
    *margin |= UINT32_C(1) << j;
    last = j;
  }
  return list->type == YAML_SEQUENCE_NODE
             ? TACIT_OK
             : tacit_yaml_fault(file, list, "margins: expected columns: [name, name]; [] of all records");
}

size_t tacit_margins_n_cells(const tacit_margins_file_t *m, uint32_t margin) {
  size_t n = 1;
  for (size_t j = 0; j < m->n_columns; j++) {
    n *= (margin >> j & 1) != 0 ? m->n_levels[j] : 1;
  }
  return n;
}

void tacit_margins_name_cell(const tacit_margins_file_t *m, uint32_t columns, size_t cell, tacit_text_t *to) {
  size_t level[TACIT_TABLES_MAX_COLUMNS] = {0};
  bool is_first = true;
  for (size_t j = m->n_columns; j-- > 0;) {
    if ((columns >> j & 1) != 0) {
      level[j] = cell % m->n_levels[j];
      cell /= m->n_levels[j];
    }
  }
  for (size_t j = 0; j < m->n_columns; j++) {
    if ((columns >> j & 1) != 0) {
      tacit_text_printf(to, "%s%s=%s", is_first ? "" : ":", m->names[j], m->levels[j][level[j]]);
      is_first = false;
    }
  }
}

/* One of the list: {columns: [..], value: [..]}, and perhaps noise of its own; a table of no columns counts
 * all records. */
static tacit_status_t read_margin(tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *item) {
  static const char *const keys[] = {"columns", "value",      "scale",   "mechanism", "rounded",
                                     "clamped", "suppressed", "adds_up", NULL};
  uint32_t columns = 0;
  if (item->type != YAML_MAPPING_NODE) {
    return tacit_yaml_fault(file, item, "margins: expected {columns: [sex, smoker], value: [..]}");
  }
  tacit_status_t status = tacit_yaml_check_keys(file, item, keys);
  const yaml_node_t *list = status == TACIT_OK ? tacit_yaml_find_in(file, item, "columns") : NULL;
  if (status == TACIT_OK && (list == NULL || tacit_yaml_find_in(file, item, "value") == NULL)) {
    return tacit_yaml_fault(file, item, "margins: 'columns' or 'value' is missing");
  }
  TACIT_THEN(status, read_columns(m, file, list, &columns));
  if (status == TACIT_OK && columns == 0 && m->n_totals == TACIT_MARGINS_MAX_TOTALS) {
    return tacit_yaml_fault(file, item, "margins: at most %d totals of all records",
                            (int)TACIT_MARGINS_MAX_TOTALS);
  }
  if (status != TACIT_OK) {
    return status;
  }
  tacit_noisy_t *to = columns == 0 ? &m->totals[m->n_totals++] : &m->noisy[m->n_margins];
  if (columns != 0) {
    m->margins[m->n_margins++] = columns;
  }
  return tacit_infer_read_noisy_table(file, item, tacit_margins_n_cells(m, columns), to);
}

static tacit_status_t read_all(tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *list) {
  tacit_status_t status = TACIT_OK;
  if (tacit_yaml_length(list) < 1 || tacit_yaml_length(list) > TACIT_TABLES_MAX_MARGINS) {
    return tacit_yaml_fault(
        file, list, "margins: expected a list of 1 to %d tables, {columns: [sex, smoker], value: [..]}",
        (int)TACIT_TABLES_MAX_MARGINS);
  }
  for (size_t i = 0; i < tacit_yaml_length(list) && status == TACIT_OK; i++) {
    status = read_margin(m, file, tacit_yaml_item(file, list, i));
  }
  for (size_t i = 0; i < m->n_margins && status == TACIT_OK; i++) {
    for (size_t k = 0; k < i && status == TACIT_OK; k++) {
      status = m->margins[k] == m->margins[i]
                   ? tacit_yaml_fault(file, list,
                                      "margins: tables %zu and %zu of the list are of the same columns: name "
                                      "each once in a file",
                                      k + 1, i + 1)
                   : TACIT_OK;
    }
  }
  return status;
}

/* ---- cells that cannot be ---- */

static tacit_status_t add_level(const tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *node,
                                size_t j, tacit_margins_zero_t *zero) {
  for (size_t l = 0; l < m->n_levels[j] && l < 64; l++) {
    if (strcmp(m->levels[j][l], tacit_yaml_scalar(node)) == 0) {
      zero->levels[j] |= UINT64_C(1) << l;
      return TACIT_OK;
    }
  }
  return tacit_yaml_fault(file, node, "zeros: '%s' is none of the first 64 levels of '%s'",
                          tacit_yaml_scalar(node), m->names[j]);
}

static tacit_status_t read_zero(const tacit_margins_file_t *m, tacit_yaml_t *file, const yaml_node_t *item,
                                tacit_margins_zero_t *zero) {
  tacit_status_t status = TACIT_OK;
  if (item->type != YAML_MAPPING_NODE || item->data.mapping.pairs.start == item->data.mapping.pairs.top) {
    return tacit_yaml_fault(file, item,
                            "zeros: expected {column: level, ..} or {column: [level, level], ..}, of cells "
                            "that no record can be in");
  }
  for (yaml_node_pair_t *pair = item->data.mapping.pairs.start;
       pair < item->data.mapping.pairs.top && status == TACIT_OK; pair++) {
    const yaml_node_t *name = tacit_yaml_node(file, pair->key), *value = tacit_yaml_node(file, pair->value);
    size_t j = 0;
    while (j < m->n_columns && strcmp(m->names[j], tacit_yaml_scalar(name)) != 0) {
      j++;
    }
    if (j == m->n_columns) {
      return tacit_yaml_fault(file, name, "zeros: '%s' is not among the factors", tacit_yaml_scalar(name));
    }
    zero->columns |= UINT32_C(1) << j;
    bool is_list = value->type == YAML_SEQUENCE_NODE;
    for (size_t i = 0; i < (is_list ? tacit_yaml_length(value) : 1) && status == TACIT_OK; i++) {
      status = add_level(m, file, is_list ? tacit_yaml_item(file, value, i) : value, j, zero);
    }
  }
  return status;
}

static tacit_status_t read_zeros(tacit_margins_file_t *m, tacit_yaml_t *file) {
  const yaml_node_t *list = tacit_yaml_find(file, "zeros");
  tacit_status_t status = TACIT_OK;
  if (list == NULL) {
    return TACIT_OK;
  }
  if (list->type != YAML_SEQUENCE_NODE || tacit_yaml_length(list) > TACIT_MARGINS_MAX_ZEROS) {
    return tacit_yaml_fault(file, list, "zeros: expected a list of at most %d, [{sex: M, pregnant: 'yes'}]",
                            (int)TACIT_MARGINS_MAX_ZEROS);
  }
  m->zeros = tacit_alloc_zero(tacit_yaml_length(list) + 1, sizeof *m->zeros);
  if (m->zeros == NULL) {
    return tacit_error_memory(file->err);
  }
  for (; m->n_zeros < tacit_yaml_length(list) && status == TACIT_OK; m->n_zeros++) {
    status = read_zero(m, file, tacit_yaml_item(file, list, m->n_zeros), &m->zeros[m->n_zeros]);
  }
  return status;
}

/* ---- the file ---- */

static tacit_status_t read_n(tacit_margins_file_t *m, tacit_yaml_t *file) {
  const yaml_node_t *node = tacit_yaml_find(file, "n"), *privacy = tacit_yaml_find(file, "privacy");
  bool is_known = node != NULL && node->type != YAML_MAPPING_NODE;
  tacit_status_t status = is_known ? tacit_yaml_number_at(file, node, "n", &m->n) : TACIT_OK;
  if (status == TACIT_OK && is_known && (!(m->n >= 1 && m->n <= 1e15) || m->n > floor(m->n))) {
    return tacit_yaml_fault(
        file, node, "n must be a whole number from 1, or its own release; leave it out where it is private");
  }
  const yaml_node_t *relation = privacy != NULL && privacy->type == YAML_MAPPING_NODE
                                    ? tacit_yaml_find_in(file, privacy, "relation")
                                    : NULL;
  m->is_add_remove = relation != NULL && strcmp(tacit_yaml_scalar(relation), "add-remove") == 0;
  return status;
}

/* The only size that there can be, if a total was published as it is. */
static void take_exact_total(tacit_margins_file_t *m) {
  for (size_t i = m->n_totals; i-- > 0;) {
    if (m->totals[i].noise == TACIT_RELEASE_NONE) {
      m->n = m->totals[i].values[0];
      tacit_infer_noisy_clear(&m->totals[i]);
      m->totals[i] = m->totals[--m->n_totals];
    }
  }
}

tacit_status_t tacit_margins_read(tacit_margins_file_t *m, tacit_yaml_t *file, const char *text,
                                  size_t length) {
  static const char *const keys[] = {"statistic", "factors", "margins", "n",     "mechanism",
                                     "scale",     "privacy", "records", "zeros", NULL};
  *m = (tacit_margins_file_t){0};
  tacit_status_t status = tacit_yaml_open(file, text, length, keys);
  const yaml_node_t *list = status == TACIT_OK ? tacit_yaml_find(file, "margins") : NULL;
  if (status == TACIT_OK && list == NULL) {
    return tacit_yaml_missing(file, "margins",
                              "margins: [{columns: [sex, smoker], value: [30, 12, 25, 17]}]");
  }
  TACIT_THEN(status, read_factors(m, file));
  TACIT_THEN(status, read_all(m, file, list));
  TACIT_THEN(status, read_zeros(m, file));
  TACIT_THEN(status, read_n(m, file));
  if (status == TACIT_OK) {
    take_exact_total(m);
  }
  return status;
}

tacit_status_t tacit_margins_build(tacit_margins_file_t *m, tacit_yaml_t *file) {
  tacit_error_t why = {0};
  const tacit_margins_t shape = {.n_columns = m->n_columns,
                                 .n_levels = m->n_levels,
                                 .names = (const char *const *)m->names,
                                 .n_margins = m->n_margins,
                                 .margins = m->margins};
  tacit_status_t status = tacit_tables_new(&m->tables, &shape, &why);
  return status == TACIT_ERR_ARGUMENT
             ? tacit_yaml_fault(file, tacit_yaml_find(file, "margins"), "%s", why.message)
         : status == TACIT_OK ? TACIT_OK
                              : tacit_error_memory(file->err);
}
