/* The public face: what can be asked of tables without anything released. */
#include "base/error.h"
#include "base/memory.h"
#include "tables/tables.h"

#include <string.h>

#include "tables/tables_internal.h"
#include "tacit/random.h"

static tacit_status_t check_tables(const tacit_margins_t *m, tacit_error_t *err) {
  uint32_t all = 0;
  if (m->n_columns < 1 || m->n_columns > TACIT_TABLES_MAX_COLUMNS || m->n_margins < 1 ||
      m->n_margins > TACIT_TABLES_MAX_MARGINS) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin",
                           "1 to %d margins of 1 to %d columns can be taken together, not %zu of %zu",
                           (int)TACIT_TABLES_MAX_MARGINS, (int)TACIT_TABLES_MAX_COLUMNS, m->n_margins,
                           m->n_columns);
  }
  for (size_t i = 0; i < m->n_margins; i++) {
    for (size_t k = 0; k < i; k++) {
      if (m->margins[k] == m->margins[i]) {
        return tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin",
                               "margins %zu and %zu are of the same columns: name each once", k + 1, i + 1);
      }
    }
    all |= m->margins[i];
    if (m->margins[i] == 0) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin", "margin %zu is of no columns", i + 1);
    }
  }
  if (all != (UINT32_C(1) << m->n_columns) - 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin",
                           "each column must be in a margin, and each margin's columns among those listed");
  }
  for (size_t j = 0; j < m->n_columns; j++) {
    if (m->n_levels[j] < 2 || m->n_levels[j] > TACIT_TABLES_MAX_EFFECTS + 1) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "levels",
                             "a column of a margin has 2 to %d levels, not %zu",
                             (int)TACIT_TABLES_MAX_EFFECTS + 1, m->n_levels[j]);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_tables_new(tacit_tables_t **tables, const tacit_margins_t *margins, tacit_error_t *err) {
  *tables = NULL;
  tacit_status_t status = check_tables(margins, err);
  tacit_tables_t *new = status == TACIT_OK ? tacit_alloc_zero(1, sizeof *new) : NULL;
  if (new == NULL) {
    return status == TACIT_OK ? tacit_error_memory(err) : status;
  }
  new->n_columns = margins->n_columns;
  memcpy(new->n_levels, margins->n_levels, new->n_columns * sizeof *new->n_levels);
  status = tacit_tables_grow_tree(new, margins, err);
  TACIT_THEN(status, tacit_tables_find_effects(new, err));
  if (status != TACIT_OK) {
    tacit_tables_free(new);
    return status;
  }
  *tables = new;
  return TACIT_OK;
}

void tacit_tables_free(tacit_tables_t *tables) {
  if (tables == NULL) {
    return;
  }
  for (size_t i = 0; tables->cliques != NULL && i < tables->n_cliques; i++) {
    tacit_free(tables->cliques[i].to_separator);
    tacit_free(tables->cliques[i].from_parent);
  }
  for (size_t i = 0; tables->margins != NULL && i < tables->n_margins; i++) {
    tacit_free(tables->margins[i].to_margin);
  }
  tacit_sparse_t *matrices[] = {&tables->loads, &tables->counts};
  for (size_t i = 0; i < 2; i++) {
    tacit_free(matrices[i]->begin);
    tacit_free(matrices[i]->effect);
    tacit_free(matrices[i]->value);
  }
  tacit_free(tables->cliques);
  tacit_free(tables->margins);
  tacit_free(tables->effects);
  tacit_free(tables);
}

size_t tacit_tables_n_effects(const tacit_tables_t *tables) { return tables->n_effects; }

size_t tacit_tables_n_cells(const tacit_tables_t *tables) { return tables->n_cells; }

size_t tacit_tables_largest_clique(const tacit_tables_t *tables) { return tables->largest; }

tacit_status_t tacit_tables_evaluate(const tacit_tables_t *tables, const double *theta, double *log_partition,
                                     double *cells, tacit_error_t *err) {
  tacit_tables_workspace_t workspace;
  tacit_status_t status = tacit_tables_workspace_init(&workspace, tables, err);
  if (status == TACIT_OK) {
    tacit_tables_product(tables, &workspace, theta);
    *log_partition = workspace.log_partition;
    if (cells != NULL) {
      memcpy(cells, workspace.cells, tables->n_cells * sizeof *cells);
    }
  }
  tacit_tables_workspace_clear(&workspace);
  return status;
}

/* ---- rows ---- */

/* A clique's cells by the separator's cell that they belong to, with running sums of their probabilities
 * given it. */
typedef struct sorted {
  size_t *begin;   /* (n_separator + 1) */
  uint32_t *cell;  /* (n_cells) */
  double *running; /* (n_cells) */
} sorted_t;

static tacit_status_t sort_clique(const tacit_clique_t *c, const double *given, sorted_t *to,
                                  tacit_error_t *err) {
  to->begin = tacit_alloc_zero(c->n_separator + 2, sizeof *to->begin);
  to->cell = tacit_alloc(c->n_cells, sizeof *to->cell);
  to->running = tacit_alloc(c->n_cells, sizeof *to->running);
  if (to->begin == NULL || to->cell == NULL || to->running == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t k = 0; k < c->n_cells; k++) {
    to->begin[c->to_separator[k] + 2]++;
  }
  for (size_t s = 0; s < c->n_separator; s++) {
    to->begin[s + 2] += to->begin[s + 1];
  }
  for (size_t k = 0; k < c->n_cells; k++) { /* begin[s + 1] ends as the end of s */
    to->cell[to->begin[c->to_separator[k] + 1]++] = (uint32_t)k;
  }
  for (size_t s = 0; s < c->n_separator; s++) {
    double sum = 0;
    for (size_t i = to->begin[s]; i < to->begin[s + 1]; i++) {
      to->running[i] = sum += given[to->cell[i]];
    }
  }
  return TACIT_OK;
}

/* A cell of those of separator cell s; u is uniform. Rounding of the last sum is the last cell's. */
static size_t pick(const sorted_t *from, size_t s, double u) {
  size_t low = from->begin[s], high = from->begin[s + 1] - 1;
  u *= from->running[high];
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (from->running[middle] > u) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return from->cell[low];
}

static void draw_rows(const tacit_tables_t *t, const sorted_t *sorted, size_t n_rows, tacit_rng_t *rng,
                      uint16_t *levels) {
  size_t row[TACIT_TABLES_MAX_COLUMNS] = {0};
  for (size_t i = 0; i < n_rows; i++) {
    for (size_t c = 0; c < t->n_cliques; c++) {
      size_t separator = tacit_tables_join(t, t->cliques[c].separator, row, 0);
      tacit_tables_split(t, t->cliques[c].columns, pick(&sorted[c], separator, tacit_rng_uniform(rng)), 0,
                         row);
    }
    for (size_t j = 0; j < t->n_columns; j++) {
      levels[i * t->n_columns + j] = (uint16_t)row[j];
    }
  }
}

tacit_status_t tacit_tables_draw(const tacit_tables_t *tables, const double *theta, size_t n_rows,
                                 tacit_rng_t *rng, uint16_t *levels, tacit_error_t *err) {
  tacit_tables_workspace_t workspace;
  sorted_t *sorted = tacit_alloc_zero(tables->n_cliques, sizeof *sorted);
  tacit_status_t status = tacit_tables_workspace_init(&workspace, tables, err);
  if (status == TACIT_OK && sorted == NULL) {
    status = tacit_error_memory(err);
  }
  if (status == TACIT_OK) {
    tacit_tables_product(tables, &workspace, theta);
  }
  for (size_t c = 0; c < tables->n_cliques && status == TACIT_OK; c++) {
    status = sort_clique(&tables->cliques[c], workspace.given + tables->cliques[c].first, &sorted[c], err);
  }
  if (status == TACIT_OK) {
    draw_rows(tables, sorted, n_rows, rng, levels);
  }
  for (size_t c = 0; sorted != NULL && c < tables->n_cliques; c++) {
    tacit_free(sorted[c].begin);
    tacit_free(sorted[c].cell);
    tacit_free(sorted[c].running);
  }
  tacit_free(sorted);
  tacit_tables_workspace_clear(&workspace);
  return status;
}
