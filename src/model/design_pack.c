/* Packing of a table into the records of a linear model. */
#include "base/base_internal.h"
#include "model/design_internal.h"

typedef struct pack_workspace {
  const double **columns; /* as formula.columns */
  double *values;         /* (n_variables, TACIT_CHUNK) */
  double *stack;          /* (largest depth, TACIT_CHUNK) */
  double *rows;           /* (TACIT_CHUNK, n_features + 1) */
} pack_workspace_t;

static tacit_status_t find_columns(const tacit_design_t *design, const tacit_table_t *table, const double **columns,
                                   tacit_error_t *err) {
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

static tacit_status_t open_workspace(pack_workspace_t *work, const tacit_design_t *design, tacit_error_t *err) {
  size_t depth = 1, n_variables = design->formula.n_variables;
  for (size_t v = 0; v < n_variables; v++) {
    depth = design->formula.variables[v].depth > depth ? design->formula.variables[v].depth : depth;
  }
  work->columns = tacit_alloc(design->formula.n_columns, sizeof *work->columns);
  work->values = tacit_alloc(n_variables * TACIT_CHUNK, sizeof *work->values);
  work->stack = tacit_alloc(depth * TACIT_CHUNK, sizeof *work->stack);
  work->rows = tacit_alloc((design->n_features + 1) * TACIT_CHUNK, sizeof *work->rows);
  bool is_open = work->columns != NULL && work->values != NULL && work->stack != NULL && work->rows != NULL;
  return is_open ? TACIT_OK : tacit_error_memory(err);
}

static void close_workspace(pack_workspace_t *work) {
  tacit_free(work->columns);
  tacit_free(work->values);
  tacit_free(work->stack);
  tacit_free(work->rows);
}

static void eval_variables(const tacit_design_t *design, size_t first, size_t n, pack_workspace_t *work) {
  for (size_t v = 0; v < design->formula.n_variables; v++) {
    const tacit_design_variable_t *variable = &design->variables[v];
    tacit_expression_eval(&design->formula.variables[v], work->columns, first, n, work->stack);
    for (size_t i = 0; i < n; i++) {
      work->values[v * TACIT_CHUNK + i] =
          tacit_design_clamp(work->stack[i], variable->range.lower, variable->range.upper);
    }
  }
}

/*
 * The raw product is clamped to its public range, and the scaled value to [-1, 1], so that the bound
 * on a record's influence holds whatever rounding did before.
 */
static void fill_feature(const tacit_design_t *design, size_t j, size_t n, const double *values, double *rows) {
  const tacit_design_feature_t *feature = &design->features[j];
  size_t stride = design->n_features + 1;
  for (size_t i = 0; i < n; i++) {
    double product = 1;
    for (size_t k = 0; k < feature->n_parts; k++) {
      const tacit_design_part_t *part = &feature->parts[k];
      double value = values[part->variable * TACIT_CHUNK + i];
      product *= !part->is_indicator ? value : value == part->level ? 1 : 0; /* levels are exact whole numbers */
    }
    double x = tacit_design_clamp(product, feature->lower, feature->upper);
    rows[i * stride + j] = tacit_design_clamp((x - feature->centre) / feature->half, -1, 1);
  }
}

static double pack_response(const tacit_design_t *design, double value) {
  double y = tacit_design_clamp(value - design->response_offset, design->response_lower, design->response_upper);
  if (design->family != TACIT_FAMILY_GAUSSIAN) {
    return y;
  }
  return tacit_design_clamp((y - design->response_centre) / design->response_half, -1, 1);
}

/* Rows first .. first + n - 1 of the table become the records from `at`. */
static void pack_chunk(const tacit_design_t *design, size_t first, size_t n, pack_workspace_t *work,
                       tacit_records_t *records, size_t at) {
  size_t p = design->n_features, stride = p + 1;
  eval_variables(design, first, n, work);
  for (size_t j = 0; j < p; j++) {
    fill_feature(design, j, n, work->values, work->rows);
  }
  for (size_t i = 0; i < n; i++) {
    double *row = work->rows + i * stride;
    row[p] = pack_response(design, work->values[i]); /* the response is variable 0 */
    tacit_records_set(records, at + i, row);
  }
}

/* Where part `part` of n items begins, a multiple of `alignment` but for the end. */
static size_t cut(size_t n, size_t part, size_t n_parts, size_t alignment) {
  size_t n_groups = n / alignment + (n % alignment != 0);
  size_t group = n_groups / n_parts * part + (part < n_groups % n_parts ? part : n_groups % n_parts);
  return group * alignment < n ? group * alignment : n;
}

/* The part's rows and, where units have several, the offsets of its units among them. */
static tacit_status_t set_units(tacit_records_t *records, const size_t *offsets, size_t n_units, tacit_error_t *err) {
  size_t *own = tacit_alloc(n_units + 1, sizeof *own);
  if (own == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t u = 0; u <= n_units; u++) {
    own[u] = offsets[u] - offsets[0];
  }
  tacit_status_t status = tacit_records_set_units(records, own, n_units, err);
  tacit_free(own);
  return status;
}

tacit_status_t tacit_design_pack(tacit_records_t **records, const tacit_design_t *design,
                                 const tacit_table_t *table, tacit_error_t *err) {
  return tacit_design_pack_part(records, design, table, 0, 1, err);
}

tacit_status_t tacit_design_pack_part(tacit_records_t **records, const tacit_design_t *design, const tacit_table_t *table,
                                      size_t part, size_t n_parts, tacit_error_t *err) {
  *records = NULL;
  tacit_records_t *packed = NULL;
  pack_workspace_t work = {0};
  size_t n_units = 0;
  const size_t *offsets = tacit_table_unit_offsets(table, &n_units);
  size_t alignment = offsets == NULL ? 64 : 1, n_items = offsets == NULL ? tacit_table_n_rows(table) : n_units;
  size_t from = cut(n_items, part, n_parts, alignment), to = cut(n_items, part + 1, n_parts, alignment);
  size_t begin = offsets == NULL ? from : offsets[from], n = (offsets == NULL ? to : offsets[to]) - begin;
  tacit_status_t status = open_workspace(&work, design, err);
  if (status == TACIT_OK) {
    status = find_columns(design, table, work.columns, err);
  }
  if (status == TACIT_OK) {
    status = tacit_records_new(&packed, n, design->n_features + 1, err);
  }
  for (size_t first = 0; first < n && status == TACIT_OK; first += TACIT_CHUNK) {
    pack_chunk(design, begin + first, n - first < TACIT_CHUNK ? n - first : TACIT_CHUNK, &work, packed, first);
  }
  if (status == TACIT_OK && offsets != NULL) {
    status = set_units(packed, offsets + from, to - from, err);
  }
  close_workspace(&work);
  if (status != TACIT_OK) {
    tacit_records_free(packed);
    return status;
  }
  *records = packed;
  return TACIT_OK;
}
