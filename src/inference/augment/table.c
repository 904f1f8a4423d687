/*
 * Records that are cells of a table: log p(cell) is the sum of the cell's effects, less the log of the total.
 * The distribution has no integrals, cells are not found but given, and each group of records has effects of
 * its own; all else is as for records of a program. [docs/theory.md, 12.15]
 */
#include <string.h>

#include "augment/population_internal.h"
#include "base/error.h"
#include "base/memory.h"
#include "program/program.h"

tacit_status_t tacit_cells_of_table(tacit_cells_t *cells, const tacit_table_distribution_t *table,
                                    const tacit_seen_t *seen, size_t n_seen, tacit_error_t *err) {
  *cells = (tacit_cells_t){
      .table = table, .seen = seen, .n_seen = n_seen, .n_cells = table->n_cells, .n_entries = n_seen};
  cells->entries = tacit_alloc_zero(cells->n_cells * n_seen, sizeof *cells->entries);
  if (cells->entries == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n_seen; i++) {
    bool is_of_n = seen[i].statistic == NULL;
    const uint32_t *value =
        is_of_n ? NULL : table->value + (size_t)(seen[i].statistic - table->statistics) * table->n_cells;
    for (size_t c = 0; c < cells->n_cells; c++) {
      cells->entries[c * n_seen + i] =
          (tacit_entry_t){.value = seen[i].first + (is_of_n ? 0 : value[c]), .weight = 1};
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_table_list_values(tacit_population_run_t *run, tacit_error_t *err) {
  const tacit_table_distribution_t *t = run->table;
  size_t n_values = tacit_table_n_values(t), first = 0;
  run->value_begin = tacit_alloc_zero(n_values + 2, sizeof *run->value_begin);
  run->value_cells = tacit_alloc_zero(t->n_cells * t->n_statistics, sizeof *run->value_cells);
  if (run->value_begin == NULL || run->value_cells == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t s = 0; s < t->n_statistics; first += t->statistics[s++].n_values) {
    for (size_t c = 0; c < t->n_cells; c++) {
      run->value_begin[first + t->value[s * t->n_cells + c] + 2]++;
    }
  }
  for (size_t v = 2; v < n_values + 2; v++) {
    run->value_begin[v] += run->value_begin[v - 1];
  }
  first = 0;
  for (size_t s = 0; s < t->n_statistics;
       first +=
       t->statistics[s++].n_values) { /* entry v + 1 goes from where the cells of v begin to their end */
    for (size_t c = 0; c < t->n_cells; c++) {
      run->value_cells[run->value_begin[first + t->value[s * t->n_cells + c] + 1]++] = (uint32_t)c;
    }
  }
  return TACIT_OK;
}

void tacit_table_set(const tacit_table_distribution_t *table, const double *theta, double *log_p) {
  double most = -INFINITY, sum = 0;
  for (size_t c = 0; c < table->n_cells; c++) {
    double load = 0;
    for (size_t e = table->begin[c]; e < table->begin[c + 1]; e++) {
      load += theta[table->effect[e]];
    }
    log_p[c] = load;
    most = fmax(most, load);
  }
  for (size_t c = 0; c < table->n_cells; c++) {
    sum += exp(log_p[c] - most);
  }
  double log_total = most + log(sum);
  for (size_t c = 0; c < table->n_cells; c++) {
    log_p[c] -= log_total;
  }
}

void tacit_table_add_grad(const tacit_table_distribution_t *table, const double *counts, const double *log_p,
                          double *grad) {
  double n = 0;
  for (size_t c = 0; c < table->n_cells; c++) {
    n += counts[c];
  }
  for (size_t c = 0; c < table->n_cells; c++) {
    double off = counts[c] - n * exp(log_p[c]);
    for (size_t e = table->begin[c]; e < table->begin[c + 1]; e++) {
      grad[table->effect[e]] += off;
    }
  }
}

double tacit_table_log_prior(const tacit_table_distribution_t *table, const double *theta, double *grad) {
  double precision = 1 / (table->prior_sd * table->prior_sd), value = 0;
  for (size_t j = 0; j < table->n_effects; j++) {
    value -= 0.5 * precision * theta[j] * theta[j];
    if (grad != NULL) {
      grad[j] = -precision * theta[j];
    }
  }
  return value;
}

/* ---- what is reported: effects of all groups; then, after the unknown numbers of records, shares and counts
 * of published cells ---- */

size_t tacit_table_n_values(const tacit_table_distribution_t *table) {
  size_t n = 0;
  for (size_t s = 0; s < table->n_statistics; s++) {
    n += table->statistics[s].n_values;
  }
  return n;
}

size_t tacit_table_n_reported(const tacit_table_distribution_t *table, size_t n_groups) {
  size_t n = table->n_effects, n_values = tacit_table_n_values(table);
  for (size_t v = 0; v < n_values; v++) {
    n += (size_t)((table->reported[v] & TACIT_TABLE_SHARE) != 0) +
         (size_t)((table->reported[v] & TACIT_TABLE_COUNT) != 0);
  }
  return n_groups * n;
}

/* to (n_values) <- of each cell of each statistic the sum of what the table's cells have. */
static void add_up(const tacit_table_distribution_t *table, const double *of_cells, bool is_log, double *to) {
  size_t first = 0;
  memset(to, 0, tacit_table_n_values(table) * sizeof *to);
  for (size_t s = 0; s < table->n_statistics; s++) {
    const uint32_t *value = table->value + s * table->n_cells;
    for (size_t c = 0; c < table->n_cells; c++) {
      to[first + value[c]] += is_log ? exp(of_cells[c]) : of_cells[c];
    }
    first += table->statistics[s].n_values;
  }
}

double *tacit_table_report(const tacit_table_distribution_t *table, const double *log_p, const double *counts,
                           double *workspace, double *to) {
  size_t n_values = tacit_table_n_values(table);
  for (int kind = TACIT_TABLE_SHARE; kind <= TACIT_TABLE_COUNT; kind++) {
    add_up(table, kind == TACIT_TABLE_SHARE ? log_p : counts, kind == TACIT_TABLE_SHARE, workspace);
    for (size_t v = 0; v < n_values; v++) {
      if ((table->reported[v] & kind) != 0) {
        *to++ = workspace[v];
      }
    }
  }
  return to;
}
