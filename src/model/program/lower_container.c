#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/lower.h"

/* Functions of containers that are about their shape; those that compute are in the library. */

static const tacit_value_t NOTHING = {0};

typedef struct {
  tacit_lower_t *lower;
  size_t offset;
  const char *name;
  tacit_value_t *args;
  size_t n;
} call_t;

static tacit_value_t scalar(const call_t *call, tacit_node_t node, bool is_integer) {
  return tacit_value_scalar(call->lower, is_integer ? TACIT_TYPE_INT : TACIT_TYPE_REAL, node);
}

/* Would go over the records. */
static tacit_value_t refuse_axis(const call_t *call) {
  return scalar(call,
                tacit_mark_refuse(call->lower, call->offset,
                                  "%s() would go over records; a record's term may look at that record "
                                  "alone",
                                  call->name),
                false);
}

static bool has_axis(const call_t *call) {
  for (size_t i = 0; i < call->n; i++) {
    if (tacit_value_has_axis(&call->args[i])) {
      return true;
    }
  }
  return false;
}

/* Argument i as a known whole number from 0 on. */
static bool whole(const call_t *call, size_t i, size_t *number) {
  double x;
  const tacit_value_t *arg = &call->args[i];
  if (!tacit_value_is_scalar(arg) || !tacit_lower_force(call->lower, call->offset, arg->nodes[0])) {
    return false;
  }
  if (!tacit_value_constant(call->lower, arg, &x) || x != floor(x) || x < 0 || x > TACIT_MAX_ELEMENTS) {
    tacit_lower_fail(call->lower, call->offset,
                     "%s() needs a whole number from 0 to %d that is known before the records are",
                     call->name, TACIT_MAX_ELEMENTS);
    return false;
  }
  *number = (size_t)x;
  return true;
}

/* A size, which may be the records'. */
static bool size_of(const call_t *call, size_t i, uint32_t *dim) {
  const tacit_mark_t *mark =
      tacit_value_is_scalar(&call->args[i]) ? tacit_mark_of(call->lower, call->args[i].nodes[0]) : NULL;
  size_t n;
  if (mark != NULL && mark->kind == TACIT_MARK_AXIS) {
    *dim = TACIT_AXIS;
    return true;
  }
  if (!whole(call, i, &n)) {
    return false;
  }
  *dim = (uint32_t)n;
  return true;
}

static tacit_value_t extent(const call_t *call, uint32_t dim) {
  return dim == TACIT_AXIS ? scalar(call,
                                    tacit_mark_new(call->lower, (tacit_mark_t){.kind = TACIT_MARK_AXIS,
                                                                               .text = call->lower->axis}),
                                    true)
                           : tacit_value_number(call->lower, dim, true);
}

static tacit_value_t size(const call_t *call) {
  const tacit_value_t *a = &call->args[0];
  bool is_last = strcmp(call->name, "cols") == 0,
       is_first = strcmp(call->name, "size") == 0 || strcmp(call->name, "rows") == 0;
  if (a->n_dims == 0) {
    return tacit_value_number(call->lower, 1, true);
  }
  if (is_first) {
    return strcmp(call->name, "rows") == 0 && a->kind == TACIT_TYPE_ROW && a->n_array == 0
               ? tacit_value_number(call->lower, 1, true)
               : extent(call, a->dims[0]);
  }
  if (is_last) {
    return a->kind == TACIT_TYPE_VECTOR && a->n_array == 0 ? tacit_value_number(call->lower, 1, true)
                                                           : extent(call, a->dims[a->n_dims - 1]);
  }
  for (unsigned i = 0; i < a->n_dims; i++) { /* num_elements */
    if (a->dims[i] == TACIT_AXIS) {
      return extent(call, TACIT_AXIS);
    }
  }
  return tacit_value_number(call->lower, (double)a->n, true);
}

static tacit_value_t dims(const call_t *call) {
  uint32_t n = call->args[0].n_dims;
  tacit_value_t result = tacit_value_new(call->lower, call->offset, TACIT_TYPE_INT, 1, 1, &n);
  for (uint32_t i = 0; i < n && result.kind != TACIT_TYPE_VOID; i++) {
    tacit_value_t one = extent(call, call->args[0].dims[i]);
    result.nodes[i] = one.kind != TACIT_TYPE_VOID ? one.nodes[0] : TACIT_NODE_NONE;
  }
  return result;
}

static tacit_value_t sum(const call_t *call) {
  return tacit_lower_sum(call->lower, call->offset, &call->args[0]);
}

static tacit_value_t log_sum_exp(const call_t *call) {
  const tacit_value_t *a = &call->args[0];
  if (has_axis(call)) {
    return refuse_axis(call);
  }
  tacit_node_t mark = tacit_lower_first_mark(call->lower, call->offset, a->n, a->nodes);
  return scalar(call,
                mark != TACIT_NODE_NONE ? mark
                : a->n == 0             ? tacit_lower_constant(call->lower, -INFINITY)
                                        : tacit_graph_log_sum_exp(call->lower->graph, a->n, a->nodes),
                false);
}

static tacit_value_t log_sum_exp_2(const call_t *call) {
  tacit_lower_t *lower = call->lower;
  tacit_value_t result = tacit_lower_map(lower, call->offset, TACIT_OP_ADD, &call->args[0], &call->args[1]);
  for (size_t i = 0; i < result.n && result.kind != TACIT_TYPE_VOID; i++) {
    tacit_node_t pair[2];
    for (int k = 0; k < 2; k++) {
      pair[k] = call->args[k].nodes[call->args[k].n_dims != 0 ? i : 0];
    }
    tacit_node_t mark = tacit_lower_first_mark(lower, call->offset, 2, pair);
    result.nodes[i] = mark != TACIT_NODE_NONE ? mark : tacit_graph_log_sum_exp(lower->graph, 2, pair);
  }
  result.kind = result.kind == TACIT_TYPE_INT ? TACIT_TYPE_REAL : result.kind;
  return result;
}

static tacit_value_t dot_product(const call_t *call) {
  const tacit_value_t *a = &call->args[0], *b = &call->args[call->n > 1];
  if (a->n_dims != 1 || b->n_dims != 1 || a->dims[0] != b->dims[0]) {
    tacit_lower_fail(call->lower, call->offset, "%s() needs two vectors of one size", call->name);
    return NOTHING;
  }
  if (has_axis(call)) {
    return refuse_axis(call);
  }
  tacit_node_t mark = tacit_lower_first_mark(call->lower, call->offset, a->n, a->nodes);
  mark = mark != TACIT_NODE_NONE ? mark : tacit_lower_first_mark(call->lower, call->offset, b->n, b->nodes);
  return scalar(
      call, mark != TACIT_NODE_NONE ? mark : tacit_graph_dot(call->lower->graph, a->n, a->nodes, b->nodes),
      false);
}

/* ---- making ---- */

/* rep_vector(x, n), rep_row_vector, rep_array(x, n, ..), rep_matrix(x, m, n), ones_vector(n),
 * zeros_row_vector(n), ... */
static tacit_value_t repeat(const call_t *call) {
  tacit_lower_t *lower = call->lower;
  bool is_rep = strncmp(call->name, "rep_", 4) == 0;
  const char *type = is_rep ? call->name + 4 : strchr(call->name, '_') + 1;
  tacit_value_t x =
      is_rep ? call->args[0]
             : tacit_value_number(lower, strncmp(call->name, "ones", 4) == 0, strstr(type, "int") != NULL);
  bool is_array = strcmp(type, "array") == 0 || strcmp(type, "int_array") == 0;
  size_t first = is_rep, n_sizes = call->n - first;
  uint32_t shape[2 * TACIT_MAX_DIMS];
  if (x.kind == TACIT_TYPE_VOID || n_sizes + x.n_dims > TACIT_MAX_DIMS || n_sizes == 0) {
    tacit_lower_fail(lower, call->offset, "%s() has too many or too few arguments", call->name);
    return NOTHING;
  }
  for (size_t i = 0; i < n_sizes; i++) {
    if (!size_of(call, first + i, &shape[i])) {
      return NOTHING;
    }
  }
  memcpy(shape + n_sizes, x.dims, x.n_dims * sizeof x.dims[0]);
  unsigned n_dims = (unsigned)n_sizes + x.n_dims;
  tacit_type_kind_t kind = is_array                          ? x.kind
                           : strcmp(type, "vector") == 0     ? TACIT_TYPE_VECTOR
                           : strcmp(type, "row_vector") == 0 ? TACIT_TYPE_ROW
                                                             : TACIT_TYPE_MATRIX;
  bool is_columns =
      kind == TACIT_TYPE_MATRIX && !is_array && x.kind == TACIT_TYPE_VECTOR; /* its columns are copies of x */
  if (is_columns) {
    uint32_t columns = shape[0];
    shape[0] = shape[1];
    shape[1] = columns;
  }
  tacit_value_t result =
      tacit_value_new(lower, call->offset, kind, is_array ? (unsigned)n_sizes + x.n_array : 0, n_dims, shape);
  size_t n_columns = is_columns && x.n > 0 ? result.n / x.n : 1;
  for (size_t i = 0; i < result.n && result.kind != TACIT_TYPE_VOID; i++) {
    result.nodes[i] = x.nodes[is_columns ? i / n_columns : i % x.n];
  }
  return result;
}

static tacit_value_t diagonal(const call_t *call) {
  const tacit_value_t *a = &call->args[0];
  uint32_t shape[2] = {a->dims[0], a->dims[0]};
  if (a->n_dims != 1 || has_axis(call)) {
    return has_axis(call) ? refuse_axis(call) : NOTHING;
  }
  tacit_value_t result = tacit_value_new(call->lower, call->offset, TACIT_TYPE_MATRIX, 0, 2, shape);
  for (size_t i = 0; i < result.n && result.kind != TACIT_TYPE_VOID; i++) {
    result.nodes[i] = i / a->n == i % a->n ? a->nodes[i / a->n] : tacit_lower_constant(call->lower, 0);
  }
  return result;
}

/* to_vector, to_row_vector, to_array_1d: a matrix column by column, an array as it is written. */
static tacit_value_t flatten(const call_t *call) {
  const tacit_value_t *a = &call->args[0];
  bool is_matrix = a->kind == TACIT_TYPE_MATRIX && a->n_array == 0;
  tacit_type_kind_t kind = strcmp(call->name, "to_vector") == 0       ? TACIT_TYPE_VECTOR
                           : strcmp(call->name, "to_row_vector") == 0 ? TACIT_TYPE_ROW
                           : a->kind == TACIT_TYPE_INT                ? TACIT_TYPE_INT
                                                                      : TACIT_TYPE_REAL;
  unsigned n_array = kind == TACIT_TYPE_INT || kind == TACIT_TYPE_REAL;
  if (tacit_value_has_axis(a) && a->n != 1) {
    return refuse_axis(call);
  }
  uint32_t n = tacit_value_has_axis(a) ? TACIT_AXIS : (uint32_t)a->n;
  tacit_value_t result = tacit_value_new(call->lower, call->offset, kind, n_array, 1, &n);
  for (size_t i = 0; i < result.n && result.kind != TACIT_TYPE_VOID; i++) {
    size_t rows = is_matrix ? a->dims[0] == TACIT_AXIS ? 1 : a->dims[0] : 1,
           columns = rows > 0 ? a->n / rows : 0;
    result.nodes[i] = is_matrix ? a->nodes[(i % rows) * columns + i / rows] : a->nodes[i];
  }
  return result;
}

/* to_matrix(v, m, n) fills column by column; to_matrix(array[m, n]) keeps rows. */
static tacit_value_t to_matrix(const call_t *call) {
  const tacit_value_t *a = &call->args[0];
  uint32_t shape[2] = {a->dims[0], a->n_dims > 1 ? a->dims[1] : 1};
  if (call->n == 3 ? !size_of(call, 1, &shape[0]) || !size_of(call, 2, &shape[1]) : call->n != 1) {
    return NOTHING;
  }
  tacit_value_t result = tacit_value_new(call->lower, call->offset, TACIT_TYPE_MATRIX, 0, 2, shape);
  if (result.kind != TACIT_TYPE_VOID && result.n != a->n) {
    tacit_lower_fail(call->lower, call->offset, "to_matrix() of %zu elements cannot have %zu", a->n,
                     result.n);
    return NOTHING;
  }
  bool is_by_row = call->n == 1 || a->kind == TACIT_TYPE_MATRIX;
  size_t rows = shape[0] == TACIT_AXIS ? 1 : shape[0], columns = rows > 0 ? result.n / rows : 0;
  for (size_t i = 0; i < result.n; i++) {
    result.nodes[i] = is_by_row ? a->nodes[i] : a->nodes[(i % columns) * rows + i / columns];
  }
  return result;
}

/* append_row, append_col, append_array; a number is a vector of one. */
static tacit_value_t append(const call_t *call) {
  bool is_row = strcmp(call->name, "append_row") == 0, is_array = strcmp(call->name, "append_array") == 0;
  tacit_value_t parts[2] = {call->args[0], call->args[1]};
  tacit_type_kind_t line = is_row ? TACIT_TYPE_VECTOR : TACIT_TYPE_ROW;
  bool is_matrix = false;
  for (int i = 0; i < 2 && !is_array; i++) {
    is_matrix |= parts[i].n_dims == 2 || (parts[i].n_dims == 1 && parts[i].kind != line);
  }
  uint32_t rows[2], columns[2];
  for (int i = 0; i < 2; i++) {
    bool is_line =
        parts[i].n_dims < 2 && (parts[i].kind == TACIT_TYPE_VECTOR || (parts[i].n_dims == 0 && is_row));
    rows[i] = parts[i].n_dims == 0 ? 1 : parts[i].n_dims == 2 || is_line || is_array ? parts[i].dims[0] : 1;
    columns[i] = parts[i].n_dims == 2              ? parts[i].dims[1]
                 : parts[i].n_dims == 0 || is_line ? 1
                                                   : parts[i].dims[0];
  }
  if (is_array) {
    uint32_t shape[TACIT_MAX_DIMS];
    memcpy(shape, parts[0].dims, sizeof shape);
    if (parts[0].n_dims == 0 || parts[0].n_dims != parts[1].n_dims || has_axis(call)) {
      return has_axis(call) ? refuse_axis(call) : NOTHING;
    }
    shape[0] = parts[0].dims[0] + parts[1].dims[0];
    tacit_value_t both =
        tacit_value_new(call->lower, call->offset, parts[0].kind, parts[0].n_array, parts[0].n_dims, shape);
    if (both.kind != TACIT_TYPE_VOID && both.n == parts[0].n + parts[1].n) {
      memcpy(both.nodes, parts[0].nodes, parts[0].n * sizeof *both.nodes);
      memcpy(both.nodes + parts[0].n, parts[1].nodes, parts[1].n * sizeof *both.nodes);
      return both;
    }
    return NOTHING;
  }
  if (is_row ? columns[0] != columns[1] : rows[0] != rows[1]) {
    tacit_lower_fail(call->lower, call->offset, "%s(): %s and %s do not fit", call->name,
                     tacit_value_describe(call->lower, &parts[0]),
                     tacit_value_describe(call->lower, &parts[1]));
    return NOTHING;
  }
  if ((is_row ? rows : columns)[0] == TACIT_AXIS || (is_row ? rows : columns)[1] == TACIT_AXIS) {
    return refuse_axis(call);
  }
  uint32_t shape[2] = {is_row ? rows[0] + rows[1] : rows[0], is_row ? columns[0] : columns[0] + columns[1]};
  size_t n_rows = shape[0] == TACIT_AXIS ? 1 : shape[0], n_columns = shape[1] == TACIT_AXIS ? 1 : shape[1];
  uint32_t length = is_row ? shape[0] : shape[1];
  tacit_value_t result = is_matrix
                             ? tacit_value_new(call->lower, call->offset, TACIT_TYPE_MATRIX, 0, 2, shape)
                             : tacit_value_new(call->lower, call->offset, line, 0, 1, &length);
  size_t split = is_row ? rows[0] : columns[0];
  for (size_t i = 0; i < n_rows && result.kind != TACIT_TYPE_VOID; i++) {
    for (size_t j = 0; j < n_columns; j++) {
      size_t k = (is_row ? i : j) >= split, row = is_row && k ? i - split : i,
             column = !is_row && k ? j - split : j;
      size_t width = is_row ? n_columns : k ? n_columns - split : split;
      result.nodes[i * n_columns + j] = parts[k].nodes[row * width + column];
    }
  }
  return result;
}

/* ---- parts: head, tail, segment of what has one dimension ---- */

static tacit_value_t segment(const call_t *call) {
  tacit_value_t part = call->args[0];
  size_t numbers[2] = {0, 0};
  for (size_t i = 1; i < call->n; i++) {
    if (!whole(call, i, &numbers[i - 1])) {
      return NOTHING;
    }
  }
  if (part.n_dims != 1 || has_axis(call)) {
    return has_axis(call) ? refuse_axis(call) : NOTHING;
  }
  bool is_segment = strcmp(call->name, "segment") == 0;
  size_t n = is_segment ? numbers[1] : numbers[0];
  size_t first = is_segment ? numbers[0] - 1 : strcmp(call->name, "tail") == 0 ? part.n - n : 0;
  if ((is_segment && numbers[0] < 1) || n > part.n || first > part.n - n) {
    tacit_lower_fail(call->lower, call->offset, "%s() goes beyond the %zu elements", call->name, part.n);
    return NOTHING;
  }
  part.nodes += first;
  part.n = n;
  part.dims[0] = (uint32_t)n;
  return part;
}

/* col(m, j), row(m, i) */
static tacit_value_t line(const call_t *call) {
  tacit_value_t m = call->args[0];
  bool is_row = strcmp(call->name, "row") == 0;
  size_t k;
  if (m.kind != TACIT_TYPE_MATRIX || m.n_dims != 2 || m.dims[is_row ? 0 : 1] == TACIT_AXIS ||
      !whole(call, 1, &k)) {
    return m.n_dims == 2 && m.dims[is_row ? 0 : 1] == TACIT_AXIS ? refuse_axis(call) : NOTHING;
  }
  if (k < 1 || k > m.dims[is_row ? 0 : 1]) {
    tacit_lower_fail(call->lower, call->offset, "%s() goes beyond the matrix", call->name);
    return NOTHING;
  }
  tacit_value_t result = tacit_value_new(
      call->lower, call->offset, is_row ? TACIT_TYPE_ROW : TACIT_TYPE_VECTOR, 0, 1, &m.dims[is_row ? 1 : 0]);
  size_t columns = m.dims[1] == TACIT_AXIS ? 1 : m.dims[1];
  for (size_t i = 0; i < result.n && result.kind != TACIT_TYPE_VOID; i++) {
    result.nodes[i] = m.nodes[is_row ? (k - 1) * columns + i : i * columns + k - 1];
  }
  return result;
}

static tacit_value_t transpose(const call_t *call) {
  return tacit_lower_transpose(call->lower, call->offset, &call->args[0]);
}

/* max, min of known whole numbers keep their type; of containers the library has them. */
static tacit_value_t of_two(const call_t *call) {
  return tacit_lower_map(call->lower, call->offset,
                         strcmp(call->name, "min") == 0 ? TACIT_OP_MIN : TACIT_OP_MAX, &call->args[0],
                         &call->args[1]);
}

static tacit_value_t reduce(const call_t *call) {
  const tacit_value_t *a = &call->args[0];
  tacit_op_t op = strcmp(call->name, "min") == 0   ? TACIT_OP_MIN
                  : strcmp(call->name, "max") == 0 ? TACIT_OP_MAX
                                                   : TACIT_OP_MUL;
  bool is_product = op == TACIT_OP_MUL;
  if (has_axis(call)) {
    tacit_value_t refused = refuse_axis(call);
    refused.kind =
        refused.kind != TACIT_TYPE_VOID && a->kind == TACIT_TYPE_INT ? TACIT_TYPE_INT : refused.kind;
    return refused;
  }
  if (a->n == 0) {
    return tacit_value_number(call->lower, is_product ? 1 : op == TACIT_OP_MIN ? INFINITY : -INFINITY, false);
  }
  tacit_node_t all = a->nodes[0];
  for (size_t i = 1; i < a->n; i++) {
    all = tacit_lower_apply(call->lower, call->offset, op, all, a->nodes[i], TACIT_NODE_NONE);
  }
  return scalar(call, all, a->kind == TACIT_TYPE_INT);
}

static tacit_value_t mean(const call_t *call) {
  tacit_value_t total = has_axis(call) ? refuse_axis(call) : sum(call),
                n = tacit_value_number(call->lower, (double)call->args[0].n, false);
  total.kind = total.kind == TACIT_TYPE_INT ? TACIT_TYPE_REAL : total.kind;
  return has_axis(call) ? total : tacit_lower_map(call->lower, call->offset, TACIT_OP_DIV, &total, &n);
}

static tacit_value_t cumulate(const call_t *call) {
  tacit_value_t result =
      tacit_value_like(call->lower, call->offset, &call->args[0], tacit_value_is_integer(&call->args[0]));
  if (has_axis(call)) {
    return refuse_axis(call);
  }
  for (size_t i = 0; i < result.n && result.kind != TACIT_TYPE_VOID; i++) {
    result.nodes[i] = i == 0 ? call->args[0].nodes[0]
                             : tacit_lower_apply(call->lower, call->offset, TACIT_OP_ADD, result.nodes[i - 1],
                                                 call->args[0].nodes[i], TACIT_NODE_NONE);
  }
  return result;
}

static tacit_value_t to_int(const call_t *call) {
  double x;
  if (!tacit_value_constant(call->lower, &call->args[0], &x)) {
    tacit_lower_fail(call->lower, call->offset,
                     "to_int() needs a number that is known before the records are");
    return NOTHING;
  }
  return tacit_value_number(call->lower, trunc(x), true);
}

typedef tacit_value_t (*function_t)(const call_t *call);

static const char *const names[] = {"size",
                                    "rows",
                                    "cols",
                                    "num_elements",
                                    "dims",
                                    "sum",
                                    "log_sum_exp",
                                    "log_sum_exp",
                                    "dot_product",
                                    "dot_self",
                                    "rep_vector",
                                    "rep_row_vector",
                                    "rep_matrix",
                                    "rep_array",
                                    "ones_vector",
                                    "zeros_vector",
                                    "ones_row_vector",
                                    "zeros_row_vector",
                                    "ones_array",
                                    "zeros_array",
                                    "diag_matrix",
                                    "to_vector",
                                    "to_row_vector",
                                    "to_array_1d",
                                    "to_matrix",
                                    "append_row",
                                    "append_col",
                                    "append_array",
                                    "head",
                                    "tail",
                                    "segment",
                                    "col",
                                    "row",
                                    "transpose",
                                    "min",
                                    "max",
                                    "min",
                                    "max",
                                    "prod",
                                    "mean",
                                    "cumulative_sum",
                                    "to_int",
                                    "ones_int_array",
                                    "zeros_int_array"};
static const struct {
  function_t function;
  size_t least, most;
} functions[] = {
    {size, 1, 1},     {size, 1, 1},        {size, 1, 1},          {size, 1, 1},        {dims, 1, 1},
    {sum, 1, 1},      {log_sum_exp, 1, 1}, {log_sum_exp_2, 2, 2}, {dot_product, 2, 2}, {dot_product, 1, 1},
    {repeat, 2, 2},   {repeat, 2, 2},      {repeat, 2, 3},        {repeat, 2, 4},      {repeat, 1, 1},
    {repeat, 1, 1},   {repeat, 1, 1},      {repeat, 1, 1},        {repeat, 1, 1},      {repeat, 1, 1},
    {diagonal, 1, 1}, {flatten, 1, 1},     {flatten, 1, 1},       {flatten, 1, 1},     {to_matrix, 1, 3},
    {append, 2, 2},   {append, 2, 2},      {append, 2, 2},        {segment, 2, 2},     {segment, 2, 2},
    {segment, 3, 3},  {line, 2, 2},        {line, 2, 2},          {transpose, 1, 1},   {reduce, 1, 1},
    {reduce, 1, 1},   {of_two, 2, 2},      {of_two, 2, 2},        {reduce, 1, 1},      {mean, 1, 1},
    {cumulate, 1, 1}, {to_int, 1, 1},      {repeat, 1, 1},        {repeat, 1, 1}};
enum { N_NAMES = sizeof names / sizeof names[0] };
_Static_assert(sizeof functions / sizeof functions[0] == N_NAMES, "a function for each name");

void tacit_lower_offer_containers(tacit_nearest_t *nearest) {
  for (size_t i = 0; i < N_NAMES; i++) {
    tacit_nearest_offer(nearest, names[i]);
  }
}

bool tacit_lower_container(tacit_lower_t *lower, size_t offset, const char *name, tacit_value_t *args,
                           size_t n, tacit_value_t *result) {
  for (size_t i = 0; i < N_NAMES; i++) {
    if (strcmp(names[i], name) == 0 && n >= functions[i].least && n <= functions[i].most) {
      call_t call = {.lower = lower, .offset = offset, .name = name, .args = args, .n = n};
      *result = functions[i].function(&call);
      if (result->kind == TACIT_TYPE_VOID) {
        tacit_lower_fail(lower, offset, "%s() does not take %s", name, tacit_value_describe(lower, &args[0]));
      }
      return true;
    }
  }
  return false;
}
