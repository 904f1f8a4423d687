/*
 * Effects: for each set of columns that a margin holds, one for every combination of levels that are not the
 * first. Counts of all cells of a margin follow from those of its effects and the number of records by
 * inclusion and exclusion, so that effects are as many as the margins tell apart.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tables/tables_internal.h"

typedef struct sets {
  uint32_t columns[TACIT_TABLES_MAX_EFFECTS];
  size_t first[TACIT_TABLES_MAX_EFFECTS],
      owner[TACIT_TABLES_MAX_EFFECTS]; /* of their effects; the margin whose cells have their log potentials
                                        */
  size_t n;
} sets_t;

static size_t n_effects_of(const tacit_tables_t *tables, uint32_t columns) {
  size_t n = 1;
  for (size_t j = 0; j < tables->n_columns; j++) {
    n *= tacit_tables_has(columns, j) ? tables->n_levels[j] - 1 : 1;
  }
  return n;
}

static int compare(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  int n = __builtin_popcount(x) - __builtin_popcount(y);
  return n != 0 ? n : x < y ? -1 : x > y;
}

static tacit_status_t too_many(tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin",
                         "these margins tell more than %d effects apart, and so many cannot be inferred "
                         "together: release fewer or smaller ones",
                         (int)TACIT_TABLES_MAX_EFFECTS);
}

static tacit_status_t list_sets(tacit_tables_t *tables, sets_t *sets, tacit_error_t *err) {
  for (size_t i = 0; i < tables->n_margins; i++) {
    uint32_t all = tables->margins[i].columns;
    for (uint32_t part = all; part != 0; part = (part - 1) & all) { /* every part of it */
      bool is_new = true;
      for (size_t k = 0; k < sets->n && is_new; k++) {
        is_new = sets->columns[k] != part;
      }
      if (is_new && sets->n == TACIT_TABLES_MAX_EFFECTS) {
        return too_many(err);
      }
      sets->columns[sets->n] = is_new ? part : sets->columns[sets->n];
      sets->n += is_new;
    }
  }
  qsort(sets->columns, sets->n, sizeof *sets->columns, compare);
  for (size_t k = 0; k < sets->n; k++) {
    sets->first[k] = tables->n_effects;
    tables->n_effects += n_effects_of(tables, sets->columns[k]);
    if (tables->n_effects > TACIT_TABLES_MAX_EFFECTS) {
      return too_many(err);
    }
    for (size_t i = tables->n_margins; i-- > 0;) {
      sets->owner[k] = (sets->columns[k] & ~tables->margins[i].columns) == 0 ? i : sets->owner[k];
    }
  }
  return TACIT_OK;
}

size_t tacit_tables_join(const tacit_tables_t *tables, uint32_t columns, const size_t *levels, size_t from) {
  size_t cell = 0;
  for (size_t j = 0; j < tables->n_columns; j++) {
    cell = tacit_tables_has(columns, j) ? cell * (tables->n_levels[j] - from) + levels[j] - from : cell;
  }
  return cell;
}

void tacit_tables_split(const tacit_tables_t *tables, uint32_t columns, size_t cell, size_t from,
                        size_t *levels) {
  for (size_t j = tables->n_columns; j-- > 0;) {
    size_t n = tables->n_levels[j] - from;
    if (tacit_tables_has(columns, j)) {
      levels[j] = cell % n + from;
      cell /= n;
    }
  }
}

/* ---- the two matrices ---- */

typedef struct builder {
  tacit_sparse_t *to;
  size_t n, capacity;
  bool failed;
} builder_t;

static void push(builder_t *b, size_t effect, double value) {
  if (b->n == b->capacity && !b->failed) {
    size_t capacity = 2 * b->capacity + 64;
    uint32_t *effects = tacit_realloc(b->to->effect, capacity, sizeof *effects);
    b->to->effect = effects != NULL ? effects : b->to->effect;
    double *values = tacit_realloc(b->to->value, capacity, sizeof *values);
    b->to->value = values != NULL ? values : b->to->value;
    b->failed = effects == NULL || values == NULL;
    b->capacity = b->failed ? b->capacity : capacity;
  }
  if (!b->failed) {
    b->to->effect[b->n] = (uint32_t)effect;
    b->to->value[b->n++] = value;
  }
}

/* A cell's count is that of the columns which are not at their first level, less those where further ones are
 * not, and so on. */
static void push_counts(const tacit_tables_t *tables, const sets_t *sets, size_t k, uint32_t raised,
                        size_t *level, builder_t *counts) {
  uint32_t rest = sets->columns[k] & ~raised;
  size_t n = n_effects_of(tables, rest), at_level[TACIT_TABLES_MAX_COLUMNS];
  memcpy(at_level, level, sizeof at_level);
  for (size_t i = 0; i < n; i++) {
    tacit_tables_split(tables, rest, i, 1, at_level);
    push(counts, sets->first[k] + tacit_tables_join(tables, sets->columns[k], at_level, 1),
         __builtin_popcount(rest) % 2 == 0 ? 1 : -1);
  }
}

static void push_cell(const tacit_tables_t *tables, const sets_t *sets, size_t margin, size_t cell,
                      builder_t *loads, builder_t *counts) {
  size_t level[TACIT_TABLES_MAX_COLUMNS] = {0};
  uint32_t columns = tables->margins[margin].columns, raised = 0;
  tacit_tables_split(tables, columns, cell, 0, level);
  for (size_t j = 0; j < tables->n_columns; j++) {
    raised |= tacit_tables_has(columns, j) && level[j] > 0 ? UINT32_C(1) << j : 0;
  }
  for (size_t k = 0; k < sets->n; k++) {
    uint32_t set = sets->columns[k];
    if (sets->owner[k] == margin && (set & ~raised) == 0) {
      push(loads, sets->first[k] + tacit_tables_join(tables, set, level, 1), 1);
    }
    if ((set & ~columns) == 0 && (raised & ~set) == 0) {
      push_counts(tables, sets, k, raised, level, counts);
    }
  }
}

static tacit_status_t build(tacit_tables_t *tables, const sets_t *sets, tacit_error_t *err) {
  builder_t loads = {.to = &tables->loads}, counts = {.to = &tables->counts};
  tables->loads.begin = tacit_alloc_zero(tables->n_cells + 1, sizeof *tables->loads.begin);
  tables->counts.begin = tacit_alloc_zero(tables->n_cells + 1, sizeof *tables->counts.begin);
  tables->effects = tacit_alloc_zero(tables->n_effects, sizeof *tables->effects);
  if (tables->loads.begin == NULL || tables->counts.begin == NULL || tables->effects == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t k = 0; k < sets->n; k++) {
    size_t n = n_effects_of(tables, sets->columns[k]);
    for (size_t i = 0; i < n; i++) {
      tables->effects[sets->first[k] + i] = (tacit_effect_t){sets->columns[k], i};
    }
  }
  for (size_t i = 0; i < tables->n_margins; i++) {
    for (size_t cell = 0; cell < tables->margins[i].n_cells; cell++) {
      push_cell(tables, sets, i, cell, &loads, &counts);
      tables->loads.begin[tables->margins[i].first + cell + 1] = loads.n;
      tables->counts.begin[tables->margins[i].first + cell + 1] = counts.n;
    }
  }
  return loads.failed || counts.failed ? tacit_error_memory(err) : TACIT_OK;
}

tacit_status_t tacit_tables_find_effects(tacit_tables_t *tables, tacit_error_t *err) {
  sets_t *sets = tacit_alloc_zero(1, sizeof *sets);
  if (sets == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = list_sets(tables, sets, err);
  TACIT_THEN(status, build(tables, sets, err));
  tacit_free(sets);
  return status;
}

uint32_t tacit_tables_effect(const tacit_tables_t *tables, size_t i, size_t *levels) {
  const tacit_effect_t *e = &tables->effects[i];
  memset(levels, 0, tables->n_columns * sizeof *levels);
  tacit_tables_split(tables, e->columns, e->cell, 1, levels);
  return e->columns;
}

size_t tacit_tables_cell_effects(const tacit_tables_t *tables, size_t cell, uint32_t *effects,
                                 double *signs) {
  const tacit_sparse_t *s = &tables->counts;
  size_t n = s->begin[cell + 1] - s->begin[cell];
  memcpy(effects, s->effect + s->begin[cell], n * sizeof *effects);
  memcpy(signs, s->value + s->begin[cell], n * sizeof *signs);
  return n;
}

void tacit_sparse_times(const tacit_sparse_t *m, size_t n_cells, const double *effects, double *cells) {
  for (size_t i = 0; i < n_cells; i++) {
    double sum = 0;
    for (size_t e = m->begin[i]; e < m->begin[i + 1]; e++) {
      sum += m->value[e] * effects[m->effect[e]];
    }
    cells[i] = sum;
  }
}

void tacit_sparse_turned(const tacit_sparse_t *m, size_t n_cells, size_t n_effects, const double *cells,
                         double *effects) {
  memset(effects, 0, n_effects * sizeof *effects);
  for (size_t i = 0; i < n_cells; i++) {
    for (size_t e = m->begin[i]; e < m->begin[i + 1]; e++) {
      effects[m->effect[e]] += m->value[e] * cells[i];
    }
  }
}
