/* From a table's rows to packed records, and what the public columns say of the scale of a posterior. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/pack.h"
#include "data/records.h"
#include "program/compiled.h"

static double clamped(const tacit_graph_column_t *column, double x) {
  return fmin(fmax(x, column->lower), column->upper);
}

/* workspace->out, shape (n packed columns, 16), of workspace->raw. */
static void derive_block(const tacit_compiled_t *p, tacit_workspace_t *workspace) {
  tacit_work_prepare(workspace->work[TACIT_ROLE_DATA], 1, 0, workspace->theta);
  tacit_work_run(workspace->work[TACIT_ROLE_DATA], workspace->raw, 1, 1, p->layout.n_columns * 16,
                 workspace->out);
  for (size_t i = 0; i < p->layout.n_columns * 16; i++) {
    workspace->out[i] = (double)tacit_packed(workspace->out[i]);
  }
}

void tacit_compiled_derive(const tacit_compiled_t *p, size_t n, const double *x, double *out) {
  size_t n_raw = p->graph->n_columns, n_columns = p->layout.n_columns;
  bool is_spare;
  tacit_workspace_t *workspace = tacit_workspace_take(p, 1, &is_spare);
  for (size_t first = 0; first < n; first += 16) {
    for (size_t i = 0; i < n_raw * 16; i++) {
      size_t at = first + i % 16;
      workspace->raw[i] = tacit_packed(clamped(&p->graph->columns[i / 16], at < n ? x[i / 16 * n + at] : 0));
    }
    derive_block(p, workspace);
    for (size_t j = 0; j < n_columns; j++) {
      for (size_t lane = 0; lane < 16 && first + lane < n; lane++) {
        out[j * n + first + lane] = workspace->out[j * 16 + lane];
      }
    }
  }
  tacit_workspace_give_back(p, is_spare);
}

typedef struct packing {
  const tacit_compiled_t *program;
  const double **columns; /* of the table, for each of the graph's */
  tacit_records_t *records;
  size_t begin;
} packing_t;

/* What the graph calls a column's value; levels are exact whole numbers. */
static double value_of(const tacit_graph_column_t *column, double x) {
  return clamped(column, isnan(column->level)                       ? x + column->offset
                         : x >= column->level && x <= column->level ? 1
                                                                    : 0);
}

static void pack_range(void *user, size_t from, size_t to, size_t thread) {
  const packing_t *packing = user;
  const tacit_compiled_t *p = packing->program;
  bool is_spare;
  (void)thread;
  tacit_workspace_t *workspace = tacit_workspace_take(p, 1, &is_spare);
  for (size_t first = from; first < to; first += 16) {
    size_t n = to - first < 16 ? to - first : 16;
    for (size_t i = 0; i < p->graph->n_columns * 16; i++) {
      size_t at = first + (i % 16 < n ? i % 16 : 0);
      workspace->raw[i] =
          tacit_packed(value_of(&p->graph->columns[i / 16], packing->columns[i / 16][packing->begin + at]));
    }
    derive_block(p, workspace);
    for (size_t j = 0; j < p->layout.n_columns; j++) {
      tacit_records_set_column(packing->records, first, n, j, workspace->out + j * 16);
    }
  }
  tacit_workspace_give_back(p, is_spare);
}

static tacit_status_t find_columns(packing_t *packing, const tacit_table_t *table, tacit_error_t *err) {
  const tacit_graph_t *g = packing->program->graph;
  for (size_t i = 0; i < g->n_columns; i++) {
    const char *source = g->columns[i].source;
    packing->columns[i] = tacit_table_column(table, source);
    if (packing->columns[i] == NULL) {
      return tacit_error_set(err, TACIT_ERR_UNKNOWN, source,
                             "the program needs column '%.64s', which the table was read without", source);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_compiled_pack_part(tacit_records_t **records, const tacit_compiled_t *p,
                                        const tacit_table_t *table, size_t part, size_t n_parts,
                                        size_t n_threads, const char *scratch, tacit_error_t *err) {
  packing_t packing = {.program = p, .columns = tacit_alloc(p->graph->n_columns, sizeof *packing.columns)};
  tacit_status_t status =
      packing.columns != NULL ? find_columns(&packing, table, err) : tacit_error_memory(err);
  if (status == TACIT_OK) {
    tacit_pack_share_t share = {part,    n_parts,    n_threads,   p->layout.n_columns,
                                scratch, p->sources, p->n_sources};
    status = tacit_pack_share(&packing.records, &packing.begin, table, &share, pack_range, &packing, err);
  }
  tacit_free(packing.columns);
  *records = packing.records;
  return status;
}

/* ---- the scale of a posterior ---- */

enum { N_PROBES = 256 };

/* Numbers spread evenly over [0, 1), by the golden ratio's multiples in each dimension: no seed, no
 * generator. */
static double spread(size_t i, size_t dimension) {
  uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u * (2 * dimension + 1);
  x = (x ^ x >> 31) * 0xBF58476D1CE4E5B9u;
  x ^= x >> 29;
  return (double)(x >> 11) * 0x1p-53;
}

/* Log-likelihood of all probes at a point; NaN where it is not finite. */
static double probe(const tacit_compiled_t *p, const float *blocks, const double *theta, double *out) {
  double sum = 0;
  tacit_program_log_lik_blocks(p, blocks, N_PROBES / 16, 1, theta, out);
  for (size_t i = 0; i < N_PROBES; i++) {
    sum += out[i];
  }
  return sum / N_PROBES;
}

/*
 * sd(theta_j) is about 1 / sqrt(n w), w the curvature of a record's log-likelihood: here that of records
 * spread over the schema's ranges, at 0, by second differences. A guess for step sizes: nothing is wrong
 * where it is poor.
 */
tacit_status_t tacit_compiled_scale(tacit_compiled_t *p, tacit_error_t *err) {
  size_t dim = p->graph->n_parameters, n_raw = p->graph->n_columns, n_columns = p->layout.n_columns;
  double *raw = tacit_alloc(n_raw * N_PROBES, sizeof *raw),
         *derived = tacit_alloc(n_columns * N_PROBES, sizeof *derived);
  float *blocks = tacit_alloc(n_columns * N_PROBES, sizeof *blocks);
  double *theta = tacit_alloc_zero(dim, sizeof *theta), out[N_PROBES];
  const double step = 0x1p-6;
  bool ok = raw != NULL && derived != NULL && blocks != NULL && theta != NULL;
  for (size_t i = 0; ok && i < n_raw * N_PROBES; i++) {
    const tacit_graph_column_t *column = &p->graph->columns[i / N_PROBES];
    double width = column->upper - column->lower + (column->is_integer ? 1 : 0),
           u = spread(i % N_PROBES, i / N_PROBES);
    raw[i] = column->lower + (column->is_integer ? floor(u * width) : u * width);
  }
  if (ok) {
    tacit_compiled_derive(p, N_PROBES, raw, derived);
    for (size_t i = 0; i < n_columns * N_PROBES; i++) {
      size_t record = i % N_PROBES;
      blocks[(record / 16 * n_columns + i / N_PROBES) * 16 + record % 16] = (float)derived[i];
    }
    double middle = probe(p, blocks, theta, out);
    for (size_t j = 0; j < dim; j++) {
      theta[j] = step;
      double curvature = 2 * middle - probe(p, blocks, theta, out);
      theta[j] = -step;
      curvature = (curvature - probe(p, blocks, theta, out)) / (step * step);
      theta[j] = 0;
      p->unit_scale[j] = isfinite(curvature) && curvature > 1e-6 ? fmax(1 / sqrt(curvature), 1e-3) : 1;
    }
  }
  tacit_free(raw);
  tacit_free(derived);
  tacit_free(blocks);
  tacit_free(theta);
  return ok ? TACIT_OK : tacit_error_memory(err);
}
