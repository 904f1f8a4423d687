/* From margins to a junction tree: columns are eliminated one by one, and what an elimination joins is a
 * clique [Lauritzen1988]. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tables/tables_internal.h"

double tacit_tables_count(const tacit_tables_t *tables, uint32_t columns) {
  double n = 1;
  for (size_t j = 0; j < tables->n_columns; j++) {
    n *= tacit_tables_has(columns, j) ? (double)tables->n_levels[j] : 1;
  }
  return n;
}

void tacit_tables_map(const tacit_tables_t *tables, uint32_t from, uint32_t columns, uint32_t *to) {
  size_t level[TACIT_TABLES_MAX_COLUMNS] = {0}, stride[TACIT_TABLES_MAX_COLUMNS] = {0},
         n = (size_t)tacit_tables_count(tables, from);
  uint32_t step = 1, at = 0;
  for (size_t j = tables->n_columns; j-- > 0;) {
    stride[j] = tacit_tables_has(columns, j) ? step : 0;
    step *= tacit_tables_has(columns, j) ? (uint32_t)tables->n_levels[j] : 1;
  }
  for (size_t i = 0; i < n; i++) {
    to[i] = at;
    for (size_t j = tables->n_columns; j-- > 0;) {
      if (!tacit_tables_has(from, j)) {
        continue;
      }
      at += (uint32_t)stride[j];
      if (++level[j] < tables->n_levels[j]) {
        break;
      }
      at -= (uint32_t)(stride[j] * tables->n_levels[j]);
      level[j] = 0;
    }
  }
}

/* ---- elimination ---- */

typedef struct elimination {
  uint32_t cliques[TACIT_TABLES_MAX_COLUMNS];
  size_t n_cliques;
  double largest, total;
} elimination_t;

static size_t count_bits(uint32_t x) { return (size_t)__builtin_popcount(x); }

/* Edges that eliminating column j would add. */
static double fill_in(const uint32_t *neighbours, size_t n_columns, size_t j) {
  double n = 0;
  for (size_t a = 0; a < n_columns; a++) {
    n += tacit_tables_has(neighbours[j], a)
             ? (double)count_bits(neighbours[j] & ~neighbours[a] & ~(UINT32_C(1) << a))
             : 0;
  }
  return n / 2;
}

static void add_clique(const tacit_tables_t *tables, elimination_t *to, uint32_t columns) {
  for (size_t i = 0; i < to->n_cliques; i++) {
    if ((columns & ~to->cliques[i]) == 0) {
      return;
    }
  }
  double n = tacit_tables_count(tables, columns);
  to->cliques[to->n_cliques++] = columns;
  to->largest = fmax(to->largest, n);
  to->total += n;
}

static elimination_t eliminate(const tacit_tables_t *tables, const tacit_margins_t *m, bool by_fill) {
  uint32_t neighbours[TACIT_TABLES_MAX_COLUMNS] = {0}, left = 0;
  elimination_t to = {.n_cliques = 0};
  for (size_t i = 0; i < m->n_margins; i++) {
    for (size_t j = 0; j < m->n_columns; j++) {
      neighbours[j] |= tacit_tables_has(m->margins[i], j) ? m->margins[i] & ~(UINT32_C(1) << j) : 0;
    }
    left |= m->margins[i];
  }
  while (left != 0) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t j = 0; j < m->n_columns; j++) {
      double cost = !tacit_tables_has(left, j) ? INFINITY
                    : by_fill                  ? fill_in(neighbours, m->n_columns, j)
                                               : tacit_tables_count(tables, neighbours[j] | UINT32_C(1) << j);
      best = cost < least ? j : best;
      least = fmin(cost, least);
    }
    uint32_t joined = neighbours[best], bit = UINT32_C(1) << best;
    add_clique(tables, &to, joined | bit);
    for (size_t j = 0; j < m->n_columns; j++) {
      neighbours[j] =
          tacit_tables_has(joined, j) ? (neighbours[j] | joined) & ~bit & ~(UINT32_C(1) << j) : neighbours[j];
    }
    left &= ~bit;
  }
  return to;
}

static void name_columns(const tacit_margins_t *m, uint32_t columns, char *out, size_t size) {
  size_t length = 0;
  out[0] = '\0';
  for (size_t j = 0; j < m->n_columns && length + 1 < size; j++) {
    char number[24];
    snprintf(number, sizeof number, "%zu", j + 1);
    if (tacit_tables_has(columns, j)) {
      length += (size_t)snprintf(out + length, size - length, "%s%.40s", length > 0 ? ", " : "",
                                 m->names != NULL ? m->names[j] : number);
    }
  }
}

static tacit_status_t check_size(const tacit_tables_t *tables, const tacit_margins_t *m,
                                 const elimination_t *e, tacit_error_t *err) {
  for (size_t i = 0; i < e->n_cliques; i++) {
    if (tacit_tables_count(tables, e->cliques[i]) > TACIT_TABLES_MAX_CELLS) {
      char names[400];
      name_columns(m, e->cliques[i], names, sizeof names);
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin",
                             "these margins hang together in a clique of %.4g cells, where at most %d can be "
                             "added up (columns %s): leave out margins that "
                             "close a circle of columns, or take fewer levels",
                             tacit_tables_count(tables, e->cliques[i]), (int)TACIT_TABLES_MAX_CELLS, names);
    }
  }
  return TACIT_OK;
}

/* ---- the tree ---- */

/* A spanning tree of largest separators is a junction tree; cliques come in the order in which they join it.
 */
static void order_cliques(tacit_tables_t *tables, elimination_t *e) {
  for (size_t n = 0; n < e->n_cliques; n++) {
    size_t best = n, parent = 0, most = 0;
    for (size_t i = n; i < e->n_cliques && n > 0; i++) {
      for (size_t c = 0; c < n; c++) {
        size_t shared = count_bits(e->cliques[i] & tables->cliques[c].columns);
        if (shared > most) {
          most = shared;
          best = i;
          parent = c;
        }
      }
    }
    uint32_t columns = e->cliques[best];
    e->cliques[best] = e->cliques[n];
    tables->cliques[n] = (tacit_clique_t){.columns = columns,
                                          .separator = n > 0 ? columns & tables->cliques[parent].columns : 0,
                                          .parent = parent};
  }
}

static tacit_status_t map_clique(tacit_tables_t *tables, size_t i, tacit_error_t *err) {
  tacit_clique_t *c = &tables->cliques[i];
  c->n_cells = (size_t)tacit_tables_count(tables, c->columns);
  c->n_separator = (size_t)tacit_tables_count(tables, c->separator);
  c->first = tables->n_clique_cells;
  c->first_separator = tables->n_separator_cells;
  tables->n_clique_cells += c->n_cells;
  tables->n_separator_cells += c->n_separator;
  tables->largest = c->n_cells > tables->largest ? c->n_cells : tables->largest;
  c->to_separator = tacit_alloc(c->n_cells, sizeof *c->to_separator);
  c->from_parent = i > 0 ? tacit_alloc(tables->cliques[c->parent].n_cells, sizeof *c->from_parent) : NULL;
  if (c->to_separator == NULL || (i > 0 && c->from_parent == NULL)) {
    return tacit_error_memory(err);
  }
  tacit_tables_map(tables, c->columns, c->separator, c->to_separator);
  if (i > 0) {
    tacit_tables_map(tables, tables->cliques[c->parent].columns, c->separator, c->from_parent);
  }
  return TACIT_OK;
}

/* Each margin belongs to the smallest clique that holds it. */
static tacit_status_t place_margin(tacit_tables_t *tables, tacit_margin_t *margin, uint32_t columns,
                                   tacit_error_t *err) {
  double least = INFINITY;
  for (size_t i = 0; i < tables->n_cliques; i++) {
    double n = (double)tables->cliques[i].n_cells;
    if ((columns & ~tables->cliques[i].columns) == 0 && n < least) {
      margin->clique = i;
      least = n;
    }
  }
  const tacit_clique_t *c = &tables->cliques[margin->clique];
  margin->columns = columns;
  margin->n_cells = (size_t)tacit_tables_count(tables, columns);
  margin->first = tables->n_cells;
  tables->n_cells += margin->n_cells;
  margin->to_margin = tacit_alloc(c->n_cells, sizeof *margin->to_margin);
  if (margin->to_margin == NULL) {
    return tacit_error_memory(err);
  }
  tacit_tables_map(tables, c->columns, columns, margin->to_margin);
  return TACIT_OK;
}

tacit_status_t tacit_tables_grow_tree(tacit_tables_t *tables, const tacit_margins_t *margins,
                                      tacit_error_t *err) {
  elimination_t by_cells = eliminate(tables, margins, false), by_fill = eliminate(tables, margins, true);
  bool is_better = by_fill.largest < by_cells.largest ||
                   (by_fill.largest <= by_cells.largest && by_fill.total < by_cells.total);
  elimination_t *best = is_better ? &by_fill : &by_cells;
  tacit_status_t status = check_size(tables, margins, best, err);
  if (status != TACIT_OK) {
    return status;
  }
  tables->n_cliques = best->n_cliques;
  tables->n_margins = margins->n_margins;
  tables->cliques = tacit_alloc_zero(tables->n_cliques, sizeof *tables->cliques);
  tables->margins = tacit_alloc_zero(tables->n_margins, sizeof *tables->margins);
  if (tables->cliques == NULL || tables->margins == NULL) {
    return tacit_error_memory(err);
  }
  order_cliques(tables, best);
  for (size_t i = 0; i < tables->n_cliques && status == TACIT_OK; i++) {
    status = map_clique(tables, i, err);
  }
  for (size_t i = 0; i < tables->n_margins && status == TACIT_OK; i++) {
    status = place_margin(tables, &tables->margins[i], margins->margins[i], err);
  }
  return status;
}
