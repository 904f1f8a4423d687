/* Packing of a table into the records of a linear model. */
#include "base/error.h"
#include "base/isa.h"
#include "base/memory.h"
#include "data/pack.h"
#include "data/records.h"
#include "formula/design_internal.h"
#include "formula/design_kernel.h"

extern const tacit_design_kernel_t tacit_design_kernel_portable;
#if defined(__x86_64__)
extern const tacit_design_kernel_t tacit_design_kernel_avx2;
extern const tacit_design_kernel_t tacit_design_kernel_avx512;
#endif

/* One thread's. */
typedef struct pack_workspace {
  const tacit_design_kernel_t *kernel;
  const double *const *columns; /* as formula.columns; borrowed */
  double *values;               /* (n_variables, TACIT_CHUNK) */
  double *stack;                /* (largest depth, TACIT_CHUNK) */
  double *feature;              /* (TACIT_CHUNK) */
} pack_workspace_t;

typedef struct design_packing {
  const tacit_design_t *design;
  tacit_records_t *records;
  size_t begin;                 /* row of the table that is the first record */
  const double **columns;       /* as formula.columns */
  pack_workspace_t *workspaces; /* (n_threads) */
  size_t n_threads;
} design_packing_t;

static tacit_status_t find_columns(const tacit_design_t *design, const tacit_table_t *table,
                                   const double **columns, tacit_error_t *err) {
  for (size_t i = 0; i < design->formula.n_columns; i++) {
    columns[i] = tacit_table_column(table, design->formula.columns[i]);
    if (columns[i] == NULL) {
      return tacit_error_set(err, TACIT_ERR_UNKNOWN, design->formula.columns[i],
                             "the formula needs column '%.64s', which the table was read without",
                             design->formula.columns[i]);
    }
  }
  return TACIT_OK;
}

static bool open_workspace(pack_workspace_t *work, const tacit_design_t *design,
                           const double *const *columns) {
  size_t depth = 1, n_variables = design->formula.n_variables;
  for (size_t v = 0; v < n_variables; v++) {
    depth = design->formula.variables[v].depth > depth ? design->formula.variables[v].depth : depth;
  }
  work->kernel = TACIT_ISA_SELECT(tacit_design_kernel);
  work->columns = columns;
  work->values = tacit_alloc(n_variables * TACIT_CHUNK, sizeof *work->values);
  work->stack = tacit_alloc(depth * TACIT_CHUNK, sizeof *work->stack);
  work->feature = tacit_alloc(TACIT_CHUNK, sizeof *work->feature);
  return work->values != NULL && work->stack != NULL && work->feature != NULL;
}

/* Whatever can fail does so here, before the threads begin. */
static tacit_status_t open_packing(design_packing_t *packing, const tacit_table_t *table,
                                   tacit_error_t *err) {
  packing->columns = tacit_alloc(packing->design->formula.n_columns, sizeof *packing->columns);
  packing->workspaces = tacit_alloc_zero(packing->n_threads, sizeof *packing->workspaces);
  bool is_open = packing->columns != NULL && packing->workspaces != NULL;
  for (size_t t = 0; is_open && t < packing->n_threads; t++) {
    is_open = open_workspace(&packing->workspaces[t], packing->design, packing->columns);
  }
  return is_open ? find_columns(packing->design, table, packing->columns, err) : tacit_error_memory(err);
}

static void close_packing(design_packing_t *packing) {
  for (size_t t = 0; packing->workspaces != NULL && t < packing->n_threads; t++) {
    tacit_free(packing->workspaces[t].values);
    tacit_free(packing->workspaces[t].stack);
    tacit_free(packing->workspaces[t].feature);
  }
  tacit_free(packing->workspaces);
  tacit_free(packing->columns);
}

static void eval_variables(const tacit_design_t *design, size_t first, size_t n,
                           const pack_workspace_t *work) {
  for (size_t v = 0; v < design->formula.n_variables; v++) {
    const tacit_formula_variable_t *source = &design->formula.variables[v];
    tacit_interval_t range = design->variables[v].range;
    const double *values = work->stack;
    if (source->n_steps == 1 && source->steps[0].op == TACIT_OP_COLUMN) {
      values = work->columns[source->steps[0].column] + first;
    } else {
      tacit_expression_eval(source, work->columns, first, n, work->stack);
    }
    work->kernel->clamp(n, values, range.lower, range.upper, work->values + v * TACIT_CHUNK);
  }
}

/* out <- out times a part's values; levels are exact whole numbers. */
static void multiply(const tacit_design_part_t *part, size_t n, const double *restrict values,
                     double *restrict out) {
  if (part->is_indicator) {
    for (size_t i = 0; i < n; i++) {
      out[i] *= values[i] == part->level ? 1 : 0;
    }
  } else {
    for (size_t i = 0; i < n; i++) {
      out[i] *= values[i];
    }
  }
}

/*
 * The raw product is clamped to its public range, and the scaled value to [-1, 1], so that the bound
 * on a record's influence holds whatever rounding did before.
 */
static void eval_feature(const tacit_design_feature_t *feature, size_t n, const pack_workspace_t *work) {
  tacit_design_scaling_t scaling = {feature->lower, feature->upper, feature->centre, feature->half};
  double *product = work->stack;
  if (feature->n_parts == 1 && !feature->parts[0].is_indicator) { /* a number: most features are */
    work->kernel->scale(n, work->values + feature->parts[0].variable * TACIT_CHUNK, &scaling, work->feature);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    product[i] = 1;
  }
  for (size_t k = 0; k < feature->n_parts; k++) {
    multiply(&feature->parts[k], n, work->values + feature->parts[k].variable * TACIT_CHUNK, product);
  }
  work->kernel->scale(n, product, &scaling, work->feature);
}

/* The response is variable 0. */
static void eval_response(const tacit_design_t *design, size_t n, const pack_workspace_t *work) {
  tacit_design_scaling_t scaling = {design->response_lower, design->response_upper, design->response_centre,
                                    design->response_half};
  double *number = work->stack;
  for (size_t i = 0; i < n; i++) {
    number[i] = work->values[i] - design->response_offset;
  }
  if (design->family == TACIT_FAMILY_GAUSSIAN) {
    work->kernel->scale(n, number, &scaling, work->feature);
  } else {
    work->kernel->clamp(n, number, scaling.lower, scaling.upper, work->feature);
  }
}

/* Rows first .. first + n - 1 of the table become the records from `at`. */
static void pack_chunk(const tacit_design_t *design, size_t first, size_t n, const pack_workspace_t *work,
                       tacit_records_t *records, size_t at) {
  eval_variables(design, first, n, work);
  for (size_t j = 0; j < design->n_features; j++) {
    eval_feature(&design->features[j], n, work);
    tacit_records_set_column(records, at, n, j, work->feature);
  }
  eval_response(design, n, work);
  tacit_records_set_column(records, at, n, design->n_features, work->feature);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void pack_range(void *user, size_t from, size_t to, size_t thread) {
  const design_packing_t *packing = user;
  for (size_t first = from; first < to; first += TACIT_CHUNK) {
    pack_chunk(packing->design, packing->begin + first, least(to - first, TACIT_CHUNK),
               &packing->workspaces[thread], packing->records, first);
  }
}

tacit_status_t tacit_design_pack(tacit_records_t **records, const tacit_design_t *design,
                                 const tacit_table_t *table, tacit_error_t *err) {
  return tacit_design_pack_part(records, design, table, 0, 1, 1, NULL, err);
}

tacit_status_t tacit_design_pack_part(tacit_records_t **records, const tacit_design_t *design,
                                      const tacit_table_t *table, size_t part, size_t n_parts,
                                      size_t n_threads, const char *scratch, tacit_error_t *err) {
  *records = NULL;
  design_packing_t packing = {.design = design, .n_threads = n_threads};
  tacit_status_t status = open_packing(&packing, table, err);
  if (status == TACIT_OK) {
    const tacit_formula_t *formula = &design->formula;
    tacit_pack_share_t share = {part,
                                n_parts,
                                n_threads,
                                design->n_features + 1,
                                scratch,
                                (const char *const *)formula->columns,
                                formula->n_columns};
    status = tacit_pack_share(&packing.records, &packing.begin, table, &share, pack_range, &packing, err);
  }
  close_packing(&packing);
  *records = packing.records;
  return status;
}
