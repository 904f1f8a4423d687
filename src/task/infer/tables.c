/*
 * A population known by noisy tables: no model of the records but the table of largest entropy, and a prior
 * of its effects. Where its cells are few enough the records' counts are drawn along, exactly and under any
 * noise; else they are integrated out, approximately, under Gaussian noise.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "infer/infer_internal.h"

static const double PRIOR_SD = 2.5, SWAMPED = 0.8; /* log odds; share of it */

static tacit_status_t read_prior(tacit_infer_t *infer, tacit_yaml_t *file, const char *text, size_t n) {
  static const char *const keys[] = {"records", "effects", NULL};
  infer->records = "table";
  infer->prior_sd = PRIOR_SD;
  if (text == NULL) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_yaml_open(file, text, n, keys);
  const yaml_node_t *records = status == TACIT_OK ? tacit_yaml_find(file, "records") : NULL;
  double location = 0;
  if (status == TACIT_OK && (records == NULL || strcmp(tacit_yaml_scalar(records), "table") != 0)) {
    return records == NULL
               ? tacit_yaml_missing(file, "records", "records: table")
               : tacit_yaml_fault(file, records,
                                  "margins go with a model of `records: table`, or none, not '%s'",
                                  tacit_yaml_scalar(records));
  }
  if (status == TACIT_OK && tacit_yaml_find(file, "effects") != NULL) {
    status = tacit_infer_law2(file, "effects", "normal", "normal(0, scale)", &location, &infer->prior_sd);
  }
  if (status == TACIT_OK && (fabs(location) > 0 || !(infer->prior_sd > 0 && infer->prior_sd <= 1e3))) {
    return tacit_yaml_fault(file, tacit_yaml_find(file, "effects"),
                            "effects: expected normal(0, scale), a scale above 0 and at most 1000");
  }
  return status;
}

/* ---- files: one of each area, or of several together ---- */

/* Areas have the same columns and levels, in the same order; columns and levels of the first file stand for
 * all. */
static tacit_status_t check_alike(const tacit_margins_file_t *a, const tacit_margins_file_t *b,
                                  tacit_yaml_t *file) {
  bool is_alike = a->n_columns == b->n_columns;
  for (size_t j = 0; j < a->n_columns && is_alike; j++) {
    is_alike = a->n_levels[j] == b->n_levels[j] && strcmp(a->names[j], b->names[j]) == 0;
    for (size_t l = 0; l < a->n_levels[j] && is_alike; l++) {
      is_alike = strcmp(a->levels[j][l], b->levels[j][l]) == 0;
    }
  }
  return is_alike
             ? TACIT_OK
             : tacit_yaml_fault(file, tacit_yaml_find(file, "factors"),
                                "factors: all files have the same columns and levels, in the same order");
}

/* A release takes the values of the file. */
static tacit_status_t move_noisy(tacit_infer_t *infer, size_t statistic, uint64_t groups,
                                 tacit_noisy_t *noisy, tacit_error_t *err) {
  tacit_status_t status = tacit_infer_add_published(infer, statistic, groups, noisy, err);
  if (status == TACIT_OK) {
    *noisy = (tacit_noisy_t){0};
  }
  return status;
}

/* The place of a table among those of all files. */
static size_t place(tacit_margins_file_t *all, uint32_t columns) {
  size_t i = 0;
  while (i < all->n_margins && all->margins[i] != columns) {
    i++;
  }
  if (i == all->n_margins && i < TACIT_TABLES_MAX_MARGINS) {
    all->margins[all->n_margins++] = columns;
  }
  return i;
}

static tacit_status_t publish(tacit_infer_t *infer, tacit_yaml_t *file, tacit_margins_file_t *m,
                              uint64_t groups) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < m->n_totals && status == TACIT_OK; i++) {
    status = move_noisy(infer, TACIT_PUBLISHED_SIZE, groups, &m->totals[i], file->err);
  }
  for (size_t i = 0; i < m->n_margins && status == TACIT_OK; i++) {
    size_t at = place(infer->margins, m->margins[i]);
    status = at < TACIT_TABLES_MAX_MARGINS ? move_noisy(infer, at, groups, &m->noisy[i], file->err)
                                           : tacit_yaml_fault(file, tacit_yaml_find(file, "margins"),
                                                              "margins: more than %d tables in all files",
                                                              (int)TACIT_TABLES_MAX_MARGINS);
  }
  return status;
}

static void set_group_size(tacit_infer_t *infer, uint64_t groups, double n) {
  for (size_t g = 0; g < infer->n_groups; g++) {
    if (groups == UINT64_C(1) << g && n >= 1 && n <= 2147483647) {
      infer->groups[g].n_records = (size_t)n;
    }
  }
}

static tacit_status_t read_margins(tacit_infer_t *infer, tacit_yaml_t *file, const char *text, size_t length,
                                   size_t n) {
  tacit_augment_method_t asked = infer->settings.method;
  tacit_margins_file_t *m = tacit_alloc_zero(1, sizeof *m);
  uint64_t groups = 0;
  if (m == NULL) {
    return tacit_error_memory(file->err);
  }
  tacit_status_t status = tacit_margins_read(m, file, text, length);
  bool is_first = infer->margins == NULL;
  if (status == TACIT_OK && asked != TACIT_AUGMENT_AUTO && asked != TACIT_AUGMENT_MARGINAL) {
    status =
        tacit_error_set(file->err, TACIT_ERR_ARGUMENT, "method",
                        "margins are inferred from by --method marginal alone: no records are drawn along");
  }
  status = status == TACIT_OK && !is_first ? check_alike(infer->margins, m, file) : status;
  if (status == TACIT_OK && !is_first && m->n_zeros > 0) {
    status = tacit_yaml_fault(file, tacit_yaml_find(file, "zeros"), "zeros: said in the first file, of all");
  }
  TACIT_THEN(status, tacit_infer_read_groups(infer, file, &groups));
  TACIT_THEN(status, tacit_infer_read_sizes(infer, file, groups, n));
  TACIT_THEN(status, tacit_infer_read_privacy(infer, file));
  if (status != TACIT_OK) {
    tacit_margins_clear(m);
    tacit_free(m);
    return status;
  }
  set_group_size(infer, groups, m->n);
  infer->margins = is_first ? m : infer->margins;
  status = publish(infer, file, m, groups);
  if (!is_first) {
    tacit_margins_clear(m);
    tacit_free(m);
  }
  return status;
}

/* ---- the distribution of a record: effects of the cells that can be ---- */

static bool is_zero(const tacit_margins_file_t *m, const size_t *level) {
  for (size_t i = 0; i < m->n_zeros; i++) {
    bool is_in = true;
    for (size_t j = 0; j < m->n_columns && is_in; j++) {
      is_in = (m->zeros[i].columns >> j & 1) == 0 ||
              (level[j] < 64 && (m->zeros[i].levels[j] >> level[j] & 1) != 0);
    }
    if (is_in) {
      return true;
    }
  }
  return false;
}

static void split(const tacit_margins_file_t *m, size_t cell, size_t *level) {
  for (size_t j = m->n_columns; j-- > 0;) {
    level[j] = cell % m->n_levels[j];
    cell /= m->n_levels[j];
  }
}

static size_t join(const tacit_margins_file_t *m, uint32_t columns, const size_t *level) {
  size_t cell = 0;
  for (size_t j = 0; j < m->n_columns; j++) {
    cell = (columns >> j & 1) != 0 ? cell * m->n_levels[j] + level[j] : cell;
  }
  return cell;
}

/* An effect as its columns and levels, in one list for all. */
typedef struct effects {
  uint32_t *columns;
  size_t *level; /* (n, n_columns) */
  bool *is_used;
  size_t n;
} effects_t;

static tacit_status_t list_effects(const tacit_infer_t *infer, effects_t *e, tacit_error_t *err) {
  const tacit_margins_file_t *m = infer->margins;
  e->n = tacit_tables_n_effects(m->tables);
  e->columns = tacit_alloc_zero(e->n, sizeof *e->columns);
  e->level = tacit_alloc_zero(e->n * m->n_columns, sizeof *e->level);
  e->is_used = tacit_alloc_zero(e->n, sizeof *e->is_used);
  for (size_t i = 0; i < e->n && e->columns != NULL && e->level != NULL; i++) {
    e->columns[i] = tacit_tables_effect(m->tables, i, e->level + i * m->n_columns);
  }
  return e->columns != NULL && e->level != NULL && e->is_used != NULL ? TACIT_OK : tacit_error_memory(err);
}

static bool has_effect(const tacit_margins_file_t *m, const effects_t *e, size_t i, const size_t *level) {
  bool has = true;
  for (size_t j = 0; j < m->n_columns && has; j++) {
    has = (e->columns[i] >> j & 1) == 0 || e->level[i * m->n_columns + j] == level[j];
  }
  return has;
}

/* Cells one by one; distribution->begin, ->effect, ->value are as large as all cells may need. */
static void list_cells(const tacit_infer_t *infer, size_t n_all, effects_t *e, tacit_table_arrays_t *a) {
  const tacit_margins_file_t *m = infer->margins;
  size_t level[TACIT_TABLES_MAX_COLUMNS], at = 0;
  a->n_cells = 0;
  for (size_t cell = 0; cell < n_all; cell++) {
    split(m, cell, level);
    if (is_zero(m, level)) {
      continue;
    }
    for (size_t i = 0; i < e->n; i++) {
      if (has_effect(m, e, i, level)) {
        e->is_used[i] = true;
        if (a->effect != NULL) {
          a->effect[at] = (uint32_t)i;
        }
        at++;
      }
    }
    for (size_t s = 0; s < m->n_margins && a->effect != NULL; s++) {
      a->value[s * a->n_allowed + a->n_cells] = (uint32_t)join(m, m->margins[s], level);
    }
    a->n_cells++;
    if (a->begin != NULL) {
      a->begin[a->n_cells] = at;
    }
  }
  a->n_entries = at;
}

/* Effects that some cell has are numbered anew. */
static void renumber(const effects_t *e, tacit_table_arrays_t *a) {
  a->n_kept = 0;
  for (size_t i = 0; i < e->n; i++) {
    if (e->is_used[i]) {
      a->kept[a->n_kept] = (uint32_t)i;
      a->number[i] = (uint32_t)a->n_kept++;
    }
  }
  for (size_t i = 0; i < a->n_entries; i++) {
    a->effect[i] = a->number[a->effect[i]];
  }
}

static tacit_status_t describe_statistics(const tacit_infer_t *infer, tacit_table_arrays_t *a,
                                          tacit_error_t *err) {
  const tacit_margins_file_t *m = infer->margins;
  a->statistics = tacit_alloc_zero(m->n_margins, sizeof *a->statistics);
  a->extents = tacit_alloc_zero(m->n_margins * m->n_columns, sizeof *a->extents);
  a->names = tacit_alloc_zero(m->n_margins, sizeof *a->names);
  if (a->statistics == NULL || a->extents == NULL || a->names == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t s = 0; s < m->n_margins; s++) {
    size_t n_marks = 0, *extents = a->extents + s * m->n_columns;
    tacit_text_t name = {0};
    for (size_t j = 0; j < m->n_columns; j++) {
      if ((m->margins[s] >> j & 1) != 0) {
        tacit_text_printf(&name, "%s%s", n_marks > 0 ? " x " : "", m->names[j]);
        extents[n_marks++] = m->n_levels[j];
      }
    }
    if (name.failed) {
      tacit_text_clear(&name);
      return tacit_error_memory(err);
    }
    a->names[a->n_names++] = name.data;
    a->statistics[s] = (tacit_population_statistic_t){.name = name.data,
                                                      .is_count = true,
                                                      .is_integer = true,
                                                      .n_values = tacit_margins_n_cells(m, m->margins[s]),
                                                      .n_marks = n_marks,
                                                      .extents = extents};
    a->n_values += a->statistics[s].n_values;
  }
  return TACIT_OK;
}

/* Shares and counts of the cells that were published, but of those that cannot be, and counts that are known.
 */
static tacit_status_t choose_reported(const tacit_infer_t *infer, tacit_table_arrays_t *a,
                                      tacit_error_t *err) {
  const tacit_margins_file_t *m = infer->margins;
  a->reported = tacit_alloc_zero(a->n_values, sizeof *a->reported);
  if (a->reported == NULL) {
    return tacit_error_memory(err);
  }
  size_t first = 0;
  for (size_t s = 0; s < m->n_margins; s++) {
    bool is_known = false;
    for (size_t i = 0; i < infer->n_published; i++) {
      is_known = is_known || (infer->published[i].statistic == s &&
                              infer->published[i].noisy.noise == TACIT_RELEASE_NONE);
    }
    for (size_t c = 0; c < a->n_cells; c++) {
      a->reported[first + a->value[s * a->n_allowed + c]] =
          TACIT_TABLE_SHARE | (is_known ? 0 : TACIT_TABLE_COUNT);
    }
    first += a->statistics[s].n_values;
  }
  return TACIT_OK;
}

/* Which effects make the cells of a value likelier; those that no cell has are left out. */
static tacit_status_t list_moves(const tacit_infer_t *infer, const effects_t *e, tacit_table_arrays_t *a,
                                 tacit_error_t *err) {
  const tacit_tables_t *tables = infer->margins->tables;
  uint32_t *effects = tacit_alloc(e->n, sizeof *effects);
  double *signs = tacit_alloc(e->n, sizeof *signs);
  size_t n = 0;
  a->move_begin = tacit_alloc_zero(a->n_values + 1, sizeof *a->move_begin);
  for (int pass = 0; pass < 2 && effects != NULL && signs != NULL && a->move_begin != NULL; pass++) {
    if (pass == 1) {
      a->move_effect = tacit_alloc_zero(n + 1, sizeof *a->move_effect);
      a->move_sign = tacit_alloc_zero(n + 1, sizeof *a->move_sign);
      if (a->move_effect == NULL || a->move_sign == NULL) {
        break;
      }
    }
    n = 0;
    for (size_t v = 0; v < a->n_values; v++) {
      size_t n_effects = tacit_tables_cell_effects(tables, v, effects, signs);
      for (size_t i = 0; i < n_effects; i++) {
        if (e->is_used[effects[i]]) {
          if (pass == 1) {
            a->move_effect[n] = a->number[effects[i]];
            a->move_sign[n] = signs[i];
          }
          n++;
        }
      }
      a->move_begin[v + 1] = n;
    }
  }
  bool ok = a->move_effect != NULL && a->move_sign != NULL;
  tacit_free(effects);
  tacit_free(signs);
  return ok ? TACIT_OK : tacit_error_memory(err);
}

static tacit_status_t fill_distribution(const tacit_infer_t *infer, size_t n_all, effects_t *e,
                                        tacit_table_arrays_t *a, tacit_error_t *err) {
  list_cells(infer, n_all, e, a);
  a->n_allowed = a->n_cells;
  if (a->n_cells == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "zeros", "zeros: no cell is left for a record to be in");
  }
  a->begin = tacit_alloc_zero(a->n_cells + 1, sizeof *a->begin);
  a->effect = tacit_alloc_zero(a->n_entries + 1, sizeof *a->effect);
  a->value = tacit_alloc_zero(a->n_cells * infer->margins->n_margins, sizeof *a->value);
  a->kept = tacit_alloc_zero(e->n, sizeof *a->kept);
  a->number = tacit_alloc_zero(e->n, sizeof *a->number);
  if (a->begin == NULL || a->effect == NULL || a->value == NULL || a->kept == NULL || a->number == NULL) {
    return tacit_error_memory(err);
  }
  list_cells(infer, n_all, e, a);
  renumber(e, a);
  tacit_status_t status = describe_statistics(infer, a, err);
  TACIT_THEN(status, list_moves(infer, e, a, err));
  return status == TACIT_OK ? choose_reported(infer, a, err) : status;
}

static tacit_status_t make_distribution(tacit_infer_t *infer, size_t n_all, tacit_error_t *err) {
  effects_t e = {0};
  tacit_status_t status = list_effects(infer, &e, err);
  TACIT_THEN(status, fill_distribution(infer, n_all, &e, &infer->table, err));
  tacit_free(e.columns);
  tacit_free(e.level);
  tacit_free(e.is_used);
  const tacit_table_arrays_t *a = &infer->table;
  infer->distribution = (tacit_table_distribution_t){.n_cells = a->n_cells,
                                                     .n_effects = a->n_kept,
                                                     .begin = a->begin,
                                                     .effect = a->effect,
                                                     .prior_sd = infer->prior_sd,
                                                     .n_statistics = infer->margins->n_margins,
                                                     .statistics = a->statistics,
                                                     .value = a->value,
                                                     .reported = a->reported,
                                                     .move_begin = a->move_begin,
                                                     .move_effect = a->move_effect,
                                                     .move_sign = a->move_sign};
  return status;
}

/* ---- too many cells: Gaussian noise, one file ---- */

/* One area's tables, each with noise that is Gaussian and was not touched. */
static bool is_gaussian(const tacit_infer_t *infer) {
  const tacit_margins_file_t *m = infer->margins;
  bool ok = infer->n_groups == 1 && m->n_zeros == 0;
  size_t n_values = 0;
  for (size_t i = 0; i < infer->n_published && ok; i++) {
    const tacit_noisy_t *p = &infer->published[i].noisy;
    ok = infer->published[i].statistic != TACIT_PUBLISHED_SIZE &&
         (p->noise == TACIT_RELEASE_GAUSSIAN || p->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN) &&
         !(p->rounded > 0) && !(p->suppressed > 0) && !isfinite(p->lower) && !isfinite(p->upper) &&
         !p->adds_up;
    n_values += p->n_values;
  }
  return ok && n_values == tacit_tables_n_cells(m->tables);
}

/* ->values and ->scales, in the order of the margins. */
static tacit_status_t list_values(tacit_infer_t *infer, tacit_error_t *err) {
  const tacit_margins_file_t *m = infer->margins;
  infer->values = tacit_alloc_zero(tacit_tables_n_cells(m->tables), sizeof *infer->values);
  infer->scales = tacit_alloc_zero(tacit_tables_n_cells(m->tables), sizeof *infer->scales);
  if (infer->values == NULL || infer->scales == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0, at = 0; i < infer->n_published; i++) {
    for (size_t k = 0; k < infer->published[i].noisy.n_values; k++, at++) {
      infer->values[at] = infer->published[i].noisy.values[k];
      infer->scales[at] = infer->published[i].noisy.scale;
    }
  }
  return TACIT_OK;
}

static tacit_status_t check_approximate(tacit_infer_t *infer, tacit_error_t *err) {
  return is_gaussian(infer)
             ? list_values(infer, err)
             : tacit_error_set(
                   err, TACIT_ERR_ARGUMENT, "statistic",
                   "all columns together have more than %d cells: of so many only tables of one area with "
                   "Gaussian noise, and nothing done to it, can be inferred from; leave out columns",
                   (int)TACIT_TABLE_MAX_CELLS);
}

/* ---- names ---- */

static bool is_exact(const tacit_infer_t *infer) { return infer->distribution.n_cells > 0; }

static size_t n_effects_of(const tacit_infer_t *infer) {
  return is_exact(infer) ? infer->distribution.n_effects : tacit_tables_n_effects(infer->margins->tables);
}

/* "share[north, sex=F]": what, of which area, which cell; `prefix` and the number make the column's name. */
static tacit_status_t label(tacit_infer_t *infer, size_t at, const char *what, size_t g,
                            const tacit_text_t *cell, const char *prefix, size_t number, tacit_error_t *err) {
  tacit_text_t text = {0};
  char name[48];
  bool is_of_group = infer->n_groups > 1;
  snprintf(name, sizeof name, "%s.%zu", prefix, number);
  if (what[0] == '\0' && !is_of_group) {
    tacit_text_printf(&text, "%s", cell->data);
  } else {
    tacit_text_printf(&text, "%s[%s%s%s]", what[0] != '\0' ? what : "effect",
                      is_of_group ? infer->groups[g].name : "", is_of_group ? ", " : "", cell->data);
  }
  tacit_status_t status = text.failed || cell->failed
                              ? tacit_error_memory(err)
                              : tacit_infer_set_label(infer, at, text.data, name, err);
  tacit_text_clear(&text);
  return status;
}

static tacit_status_t label_effects(tacit_infer_t *infer, size_t g, size_t *at, tacit_error_t *err) {
  const tacit_margins_file_t *m = infer->margins;
  size_t k = n_effects_of(infer), level[TACIT_TABLES_MAX_COLUMNS];
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < k && status == TACIT_OK; i++) {
    tacit_text_t cell = {0};
    uint32_t columns = tacit_tables_effect(m->tables, is_exact(infer) ? infer->table.kept[i] : i, level);
    tacit_margins_name_cell(m, columns, join(m, columns, level), &cell);
    status = label(infer, *at, "", g, &cell, "effect", g * k + i + 1, err);
    (*at)++;
    tacit_text_clear(&cell);
  }
  return status;
}

static tacit_status_t label_cells(tacit_infer_t *infer, size_t g, uint8_t kind, size_t *at,
                                  tacit_error_t *err) {
  const tacit_margins_file_t *m = infer->margins;
  const char *what = kind == TACIT_TABLE_SHARE ? "share" : "count";
  size_t v = 0;
  tacit_status_t status = TACIT_OK;
  for (size_t s = 0; s < m->n_margins; s++) {
    for (size_t c = 0; c < infer->table.statistics[s].n_values && status == TACIT_OK; c++, v++) {
      tacit_text_t cell = {0};
      if ((infer->table.reported[v] & kind) != 0) {
        tacit_margins_name_cell(m, m->margins[s], c, &cell);
        status = label(infer, *at, what, g, &cell, what, g * infer->table.n_values + v + 1, err);
        (*at)++;
      }
      tacit_text_clear(&cell);
    }
  }
  return status;
}

static tacit_status_t label_all(tacit_infer_t *infer, tacit_error_t *err) {
  size_t n_cells = 0, at = 0, n_unknown = 0;
  for (size_t v = 0; v < infer->table.n_values; v++) {
    n_cells += (size_t)((infer->table.reported[v] & TACIT_TABLE_SHARE) != 0) +
               (size_t)((infer->table.reported[v] & TACIT_TABLE_COUNT) != 0);
  }
  for (size_t g = 0; g < infer->n_groups; g++) {
    n_unknown += infer->groups[g].n_records == 0;
  }
  tacit_status_t status =
      tacit_infer_allocate_labels(infer, infer->n_groups * (n_effects_of(infer) + n_cells) + n_unknown, err);
  for (size_t g = 0; g < infer->n_groups && status == TACIT_OK; g++) {
    status = label_effects(infer, g, &at, err);
  }
  for (size_t g = 0; g < infer->n_groups && status == TACIT_OK; g++) {
    char text[160] = "n", name[32] = "n";
    if (infer->n_groups > 1) {
      snprintf(text, sizeof text, "n[%.150s]", infer->groups[g].name);
      snprintf(name, sizeof name, "n.%zu", g + 1);
    }
    status = infer->groups[g].n_records == 0 ? tacit_infer_set_label(infer, at++, text, name, err) : TACIT_OK;
  }
  for (size_t g = 0; g < infer->n_groups && status == TACIT_OK && infer->table.n_values > 0; g++) {
    status = label_cells(infer, g, TACIT_TABLE_SHARE, &at, err);
    TACIT_THEN(status, label_cells(infer, g, TACIT_TABLE_COUNT, &at, err));
  }
  return status;
}

static void describe(tacit_infer_t *infer) {
  char records[64] = "a private number of records", areas[40] = "";
  size_t n_cells = 0, n_known = 0, length = 0;
  bool is_known = true, is_seen[TACIT_RELEASE_EXPONENTIAL + 1] = {false};
  double least = INFINITY, most = 0;
  for (size_t g = 0; g < infer->n_groups; g++) {
    n_known += infer->groups[g].n_records;
    is_known = is_known && infer->groups[g].n_records > 0;
  }
  infer->model.n_records = is_known ? n_known : 0;
  if (is_known) {
    snprintf(records, sizeof records, "%zu records", n_known);
  }
  if (infer->n_groups > 1) {
    snprintf(areas, sizeof areas, " of %zu areas", infer->n_groups);
  }
  for (size_t i = 0; i < infer->n_published; i++) {
    const tacit_noisy_t *p = &infer->published[i].noisy;
    n_cells += p->n_values;
    least = p->scale > 0 ? fmin(least, p->scale) : least;
    most = fmax(most, p->scale);
    if (!is_seen[p->noise]) {
      is_seen[p->noise] = true;
      length += (size_t)snprintf(infer->noise + length, sizeof infer->noise - length, "%s%s",
                                 length > 0 ? " and " : "", tacit_infer_noise_string(p->noise));
    }
  }
  snprintf(infer->statistic, sizeof infer->statistic, "%zu margins of %s%s in %zu columns, %zu cells",
           infer->margins->n_margins, records, areas, infer->margins->n_columns, n_cells);
  if (most > 0) {
    snprintf(infer->noise + length, sizeof infer->noise - length, ", scale %.6g", least);
    length = strlen(infer->noise);
  }
  if (most > least) {
    snprintf(infer->noise + length, sizeof infer->noise - length, " to %.6g", most);
  }
}

/* Sizes said on the command line, or by counts that add up to them; those of others are unknown. */
static tacit_status_t complete_sizes(tacit_infer_t *infer, tacit_error_t *err) {
  if (infer->n > 0 && infer->n_groups > 1) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "n",
        "option --n is for records of one area: say in each file how many there are, `n: N`");
  }
  if (infer->n > 0) {
    infer->groups[0].n_records = infer->n;
  }
  for (size_t i = 0; i < infer->n_published; i++) {
    const tacit_published_statistic_t *p = &infer->published[i];
    double sum = 0;
    for (size_t k = 0; k < p->noisy.n_values; k++) {
      sum += p->noisy.values[k];
    }
    if (p->noisy.noise == TACIT_RELEASE_NONE || p->noisy.noise == TACIT_RELEASE_RESPONSES) {
      set_group_size(infer, p->groups, sum);
    }
  }
  return TACIT_OK;
}

static tacit_status_t join_margins(tacit_infer_t *infer, tacit_error_t *err) {
  tacit_yaml_t file = {.name = infer->statistics[0].name, .what = "a statistic", .err = err};
  double n_all = 1;
  for (size_t j = 0; j < infer->margins->n_columns; j++) {
    n_all *= (double)infer->margins->n_levels[j];
  }
  tacit_status_t status = tacit_yaml_load(&file, infer->statistics[0].text, infer->statistics[0].n);
  TACIT_THEN(status, tacit_margins_build(infer->margins, &file));
  tacit_yaml_close(&file);
  TACIT_THEN(status, complete_sizes(infer, err));
  if (status == TACIT_OK) {
    bool is_small = n_all <= TACIT_TABLE_MAX_CELLS;
    status = is_small ? make_distribution(infer, (size_t)n_all, err) : check_approximate(infer, err);
    status = status == TACIT_OK && is_small && is_gaussian(infer) ? list_values(infer, err) : status;
  }
  TACIT_THEN(status, label_all(infer, err));
  if (status == TACIT_OK) {
    describe(infer);
  }
  return status;
}

/* ---- the run ---- */

/* Effects that are as wide as their prior: the noise leaves nothing of them. */
static double count_swamped(const tacit_infer_t *infer) {
  const tacit_draws_t *d = &infer->draws;
  size_t n = tacit_draws_n_kept(d), n_swamped = 0;
  for (size_t j = 0; j < infer->n_groups * infer->distribution.n_effects && n > 0; j++) {
    double mean = 0, square = 0, count = 0;
    for (size_t i = 0; i < n * d->n_chains; i++) {
      double x = tacit_draws_row(d, i / n, d->n_warmup + i % n)[j], off = x - mean;
      mean += off / ++count;
      square += off * (x - mean);
    }
    n_swamped += sqrt(square / count) > SWAMPED * infer->prior_sd;
  }
  return (double)n_swamped;
}

static tacit_status_t run_exact(tacit_infer_t *infer, tacit_error_t *err) {
  double *misfit = infer->settings.misfit = tacit_alloc_zero(infer->n_published + 1, sizeof *misfit);
  tacit_checks_t *checks = &infer->evidence.checks;
  if (misfit == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status =
      tacit_augment_table(&infer->distribution, infer->n_groups, infer->groups, infer->n_published,
                          infer->published, &infer->settings, &infer->draws, &infer->result, err);
  double contradiction = 1;
  if (status == TACIT_OK && infer->values != NULL) {
    const tacit_noisy_margins_t release = {.values = infer->values,
                                           .scales = infer->scales,
                                           .n_records = (double)infer->groups[0].n_records,
                                           .prior_sd = infer->prior_sd};
    status = tacit_tables_contradiction(infer->margins->tables, &release, &contradiction, err);
  }
  if (status == TACIT_OK) {
    double least =
        contradiction; /* tables that contradict each other are each far from where all of them put it */
    for (size_t i = 0; i < infer->n_published; i++) {
      least = fmin(least, isnan(misfit[i]) ? 1 : misfit[i] * (double)infer->n_published);
    }
    tacit_checks_add(checks, TACIT_CHECK_MARGINS_CONTRADICT, SIZE_MAX, least);
    tacit_checks_add(checks, TACIT_CHECK_EFFECTS_SWAMPED, SIZE_MAX, count_swamped(infer));
  }
  infer->settings.misfit = NULL;
  tacit_free(misfit);
  return status;
}

static tacit_status_t run_approximate(tacit_infer_t *infer, tacit_error_t *err) {
  const tacit_margins_file_t *m = infer->margins;
  const tacit_tables_findings_t *f = &infer->findings;
  tacit_checks_t *checks = &infer->evidence.checks;
  const tacit_noisy_margins_t release = {.values = infer->values,
                                         .scales = infer->scales,
                                         .n_records = (double)infer->groups[0].n_records,
                                         .prior_sd = infer->prior_sd};
  tacit_status_t status = tacit_tables_infer(m->tables, &release, &infer->settings, &infer->draws,
                                             &infer->result, &infer->findings, err);
  if (status != TACIT_OK) {
    return status;
  }
  double least = INFINITY;
  for (size_t i = 0; i < infer->n_published; i++) {
    const tacit_noisy_t *p = &infer->published[i].noisy;
    least = p->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN ? fmin(least, p->scale) : least;
  }
  tacit_checks_add(checks, TACIT_CHECK_MARGINS_CONTRADICT, SIZE_MAX, f->contradiction);
  tacit_checks_add(checks, TACIT_CHECK_EFFECTS_SWAMPED, SIZE_MAX, (double)f->n_swamped);
  tacit_checks_add(checks, TACIT_CHECK_CELLS_SPARSE, SIZE_MAX, (double)f->n_sparse);
  if (isfinite(least)) {
    tacit_checks_add(checks, TACIT_CHECK_NOISE_COARSE, SIZE_MAX, least);
  }
  return TACIT_OK;
}

static tacit_status_t run(tacit_infer_t *infer, tacit_error_t *err) {
  return is_exact(infer) ? run_exact(infer, err) : run_approximate(infer, err);
}

static void say(const tacit_infer_t *infer, tacit_text_t *to) {
  tacit_text_printf(
      to, "the table of largest entropy with these margins, %zu effects, each normal(0, %.4g) beforehand; ",
      infer->n_groups * n_effects_of(infer), infer->prior_sd);
  if (is_exact(infer)) {
    tacit_text_printf(to, "the counts of %zu cells stand for the records, exactly", infer->result.n_cells);
  } else {
    tacit_text_printf(to, "records integrated out (approximate)");
  }
  tacit_text_printf(to, "; trajectories accepted with probability %.2f\n", infer->result.path_accept);
}

void tacit_infer_clear_margins(tacit_infer_t *infer) {
  tacit_table_arrays_t *a = &infer->table;
  for (size_t i = 0; i < a->n_names; i++) {
    tacit_free(a->names[i]);
  }
  void *const owned[] = {a->begin,      a->effect,  a->value, a->kept,       a->number,      a->reported,
                         a->statistics, a->extents, a->names, a->move_begin, a->move_effect, a->move_sign};
  for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
    tacit_free(owned[i]);
  }
  if (infer->margins != NULL) {
    tacit_margins_clear(infer->margins);
    tacit_free(infer->margins);
  }
}

const tacit_infer_kind_t tacit_infer_of_tables = {.takes_several = true,
                                                  .read_model = read_prior,
                                                  .read_statistic = read_margins,
                                                  .join = join_margins,
                                                  .run = run,
                                                  .say = say};
