#include <math.h>
#include <string.h>

#include "program/lower.h"

static const tacit_value_t NOTHING = {0};

/* What one index takes of one dimension. */
typedef struct {
  bool is_kept; /* the result has this dimension, of extent `dim` */
  uint32_t dim;
  size_t n;            /* elements taken */
  uint32_t *positions; /* 0-based; NULL: chosen by nodes */
  tacit_node_t *nodes; /* 1-based whole numbers of a record */
} selection_t;

typedef struct {
  tacit_lower_t *lower;
  const char *name; /* of what is indexed, for messages */
  size_t offset;
  tacit_node_t refused; /* NONE, or the mark that all elements of the result are */
} indexing_t;

static bool select_all(indexing_t *at, uint32_t extent, selection_t *selection) {
  size_t n = extent == TACIT_AXIS ? 1 : extent;
  *selection = (selection_t){.is_kept = true, .dim = extent, .n = n};
  selection->positions = tacit_arena_alloc(at->lower->arena, n, sizeof *selection->positions);
  for (size_t i = 0; selection->positions != NULL && i < n; i++) {
    selection->positions[i] = (uint32_t)i;
  }
  return selection->positions != NULL;
}

static bool select_one(indexing_t *at, uint32_t position, selection_t *selection) {
  *selection = (selection_t){.n = 1};
  selection->positions = tacit_arena_alloc(at->lower->arena, 1, sizeof *selection->positions);
  if (selection->positions != NULL) {
    selection->positions[0] = position;
  }
  return selection->positions != NULL;
}

/* Refused when it is used: one element of nothing in particular. */
static bool refuse_lower_index(indexing_t *at, tacit_node_t mark, selection_t *selection) {
  at->refused = at->refused != TACIT_NODE_NONE ? at->refused : mark;
  return select_one(at, 0, selection);
}

static bool outside(indexing_t *at, size_t offset, double index, uint32_t extent) {
  at->lower->was_size |= at->lower->status == TACIT_OK;
  tacit_lower_fail(at->lower, offset, "'%s' has no element %.0f: indices go from 1 to %u", at->name, index,
                   (unsigned)extent);
  return false;
}

/* A scalar index of the record axis. */
static bool select_record(indexing_t *at, size_t offset, tacit_node_t node, selection_t *selection) {
  const tacit_mark_t *mark = tacit_mark_of(at->lower, node);
  if (mark != NULL && mark->kind == TACIT_MARK_RECORD) {
    return select_one(at, 0, selection);
  }
  bool is_number = mark == NULL || mark->is_other || mark->kind == TACIT_MARK_AXIS;
  return refuse_lower_index(
      at,
      is_number
          ? tacit_mark_refuse(at->lower, offset, "'%s' looks at another record than the loop's", at->name)
          : tacit_mark_use(at->lower, offset, node),
      selection);
}

static bool select_scalar(indexing_t *at, size_t offset, tacit_node_t node, uint32_t extent,
                          selection_t *selection) {
  const tacit_mark_t *mark = tacit_mark_of(at->lower, node);
  double index;
  if (extent == TACIT_AXIS) {
    return select_record(at, offset, node, selection);
  }
  if (mark != NULL && (mark->kind == TACIT_MARK_RECORD || mark->is_other)) {
    return refuse_lower_index(
        at,
        tacit_mark_refuse(at->lower, offset,
                          "'%s' has an element for each record here: a record's term may look at "
                          "what all records share and at that record alone",
                          at->name),
        selection);
  }
  if (mark != NULL) {
    return refuse_lower_index(at, tacit_mark_use(at->lower, offset, node), selection);
  }
  if (tacit_graph_is_constant(at->lower->graph, node, &index)) {
    return index >= 1 && index <= extent ? select_one(at, (uint32_t)index - 1, selection)
                                         : outside(at, offset, index, extent);
  }
  if ((tacit_lower_rate(at->lower, node) & TACIT_RATE_PARAMETER) != 0) {
    tacit_lower_fail(at->lower, offset, "an index must not depend on parameters");
    return false;
  }
  if (!tacit_lower_index_fits(at->lower, node, extent)) {
    tacit_lower_fail(at->lower, offset, "an index must be int<lower=1, upper=%u>", (unsigned)extent);
    return false;
  }
  *selection =
      (selection_t){.n = 1, .nodes = tacit_arena_alloc(at->lower->arena, 1, sizeof *selection->nodes)};
  if (selection->nodes != NULL) {
    selection->nodes[0] = node;
  }
  return selection->nodes != NULL;
}

/* lo:hi */
static bool select_range(indexing_t *at, const tacit_expr_t *expr, uint32_t extent, selection_t *selection) {
  const tacit_expr_t *ends[2] = {expr->args[0], expr->args[1]};
  long numbers[2] = {1, extent == TACIT_AXIS ? 0 : (long)extent};
  bool is_all = true;
  for (int i = 0; i < 2; i++) {
    tacit_value_t end = ends[i] != NULL ? tacit_lower_expr(at->lower, ends[i]) : NOTHING;
    if (ends[i] == NULL) {
      continue;
    }
    const tacit_mark_t *mark = tacit_value_is_scalar(&end) ? tacit_mark_of(at->lower, end.nodes[0]) : NULL;
    double x;
    if (extent == TACIT_AXIS) {
      is_all &= i == 0 ? tacit_value_constant(at->lower, &end, &x) && x == 1
                       : mark != NULL && mark->kind == TACIT_MARK_AXIS;
    } else if (mark != NULL) {
      return refuse_lower_index(at, tacit_mark_use(at->lower, tacit_expr_begin(ends[i]), end.nodes[0]),
                                selection);
    } else if (!tacit_lower_whole(at->lower, ends[i], "the end of a range", &numbers[i])) {
      return false;
    }
  }
  if (at->lower->status != TACIT_OK) {
    return false;
  }
  if (extent == TACIT_AXIS) {
    return is_all ? select_all(at, extent, selection)
                  : refuse_lower_index(
                        at,
                        tacit_mark_refuse(at->lower, expr->offset,
                                          "'%s' looks at some records and not at others by their number",
                                          at->name),
                        selection);
  }
  size_t n = numbers[1] >= numbers[0] ? (size_t)(numbers[1] - numbers[0] + 1) : 0;
  if (n > 0 && (numbers[0] < 1 || numbers[1] > (long)extent)) {
    return outside(at, expr->offset, numbers[0] < 1 ? (double)numbers[0] : (double)numbers[1], extent);
  }
  *selection = (selection_t){.is_kept = true, .dim = (uint32_t)n, .n = n};
  selection->positions = tacit_arena_alloc(at->lower->arena, n, sizeof *selection->positions);
  for (size_t i = 0; selection->positions != NULL && i < n; i++) {
    selection->positions[i] = (uint32_t)(numbers[0] - 1) + (uint32_t)i;
  }
  return selection->positions != NULL;
}

/* An array of indices: known ones, or one of each record. */
static bool select_many(indexing_t *at, size_t offset, const tacit_value_t *index, uint32_t extent,
                        selection_t *selection) {
  *selection = (selection_t){.is_kept = true, .dim = index->dims[0], .n = index->n};
  selection->nodes = tacit_arena_alloc(at->lower->arena, index->n, sizeof *selection->nodes);
  uint32_t *positions = tacit_arena_alloc(at->lower->arena, index->n, sizeof *positions);
  bool are_known = true;
  for (size_t i = 0; i < index->n && positions != NULL && selection->nodes != NULL; i++) {
    selection_t one;
    if (!select_scalar(at, offset, index->nodes[i], extent, &one)) {
      return false;
    }
    are_known &= one.positions != NULL;
    positions[i] = one.positions != NULL ? one.positions[0] : 0;
    selection->nodes[i] =
        one.positions != NULL ? tacit_lower_constant(at->lower, positions[i] + 1) : one.nodes[0];
  }
  selection->positions = are_known ? positions : NULL;
  return !at->lower->arena->failed;
}

static bool select_dim(indexing_t *at, const tacit_expr_t *expr, uint32_t extent, selection_t *selection) {
  if (expr->kind == TACIT_EXPR_RANGE) {
    return select_range(at, expr, extent, selection);
  }
  tacit_value_t index = tacit_lower_expr(at->lower, expr);
  size_t offset = tacit_expr_begin(expr);
  if (index.kind == TACIT_TYPE_VOID) {
    return false;
  }
  if (index.kind != TACIT_TYPE_INT || index.n_dims > 1) {
    tacit_lower_fail(at->lower, offset, "an index is an int or an array of them, not %s",
                     tacit_value_describe(at->lower, &index));
    return false;
  }
  return index.n_dims == 0 ? select_scalar(at, offset, index.nodes[0], extent, selection)
                           : select_many(at, offset, &index, extent, selection);
}

/* The type and sizes of what is taken; nodes not yet. */
static tacit_value_t shape_of(indexing_t *at, const tacit_value_t *base, const selection_t *selections) {
  uint32_t dims[TACIT_MAX_DIMS];
  unsigned n_dims = 0, n_array = 0;
  for (unsigned i = 0; i < base->n_dims; i++) {
    if (selections[i].is_kept) {
      dims[n_dims++] = selections[i].dim;
      n_array += i < base->n_array;
    }
  }
  tacit_type_kind_t kind = base->kind;
  unsigned n_core = n_dims - n_array;
  if (base->kind == TACIT_TYPE_MATRIX && n_core == 1) {
    kind = selections[base->n_array].is_kept ? TACIT_TYPE_VECTOR : TACIT_TYPE_ROW;
  } else if (n_core == 0 && base->kind != TACIT_TYPE_INT) {
    kind = TACIT_TYPE_REAL;
  }
  return tacit_value_new(at->lower, at->offset, kind, n_array, n_dims, dims);
}

static size_t extent_of(const tacit_value_t *value, unsigned i) {
  return value->dims[i] == TACIT_AXIS ? 1 : value->dims[i];
}

/* The element at one place of the result, where some of its indices are a record's: one of all that they
 * could choose. */
static tacit_node_t choose(indexing_t *at, const tacit_value_t *base, const selection_t *selections,
                           const size_t *place) {
  tacit_lower_t *lower = at->lower;
  size_t n = 1;
  tacit_node_t index = TACIT_NODE_NONE;
  for (unsigned i = 0; i < base->n_dims; i++) {
    if (selections[i].positions == NULL) {
      tacit_node_t one = selections[i].nodes[place[i]],
                   extent = tacit_lower_constant(lower, (double)extent_of(base, i));
      n *= extent_of(base, i);
      if (index == TACIT_NODE_NONE) {
        index = one;
      } else { /* (index - 1) * extent + one */
        tacit_node_t zero_based = tacit_lower_apply(lower, at->offset, TACIT_OP_SUB, index,
                                                    tacit_lower_constant(lower, 1), TACIT_NODE_NONE);
        tacit_node_t skipped =
            tacit_lower_apply(lower, at->offset, TACIT_OP_MUL, zero_based, extent, TACIT_NODE_NONE);
        index = tacit_lower_apply(lower, at->offset, TACIT_OP_ADD, skipped, one, TACIT_NODE_NONE);
      }
    }
  }
  tacit_node_t *elements =
      tacit_lower_step(lower, at->offset, n) ? tacit_arena_alloc(lower->arena, n, sizeof *elements) : NULL;
  if (elements == NULL) {
    return TACIT_NODE_NONE;
  }
  for (size_t k = 0; k < n; k++) {
    size_t rest = k, where[TACIT_MAX_DIMS], flat = 0;
    for (unsigned i = base->n_dims; i-- > 0;) {
      where[i] =
          selections[i].positions != NULL ? selections[i].positions[place[i]] : rest % extent_of(base, i);
      rest /= selections[i].positions != NULL ? 1 : extent_of(base, i);
    }
    for (unsigned i = 0; i < base->n_dims; i++) {
      flat = flat * extent_of(base, i) + where[i];
    }
    elements[k] = base->nodes[flat];
  }
  tacit_node_t mark = tacit_lower_first_mark(lower, at->offset, n, elements);
  return mark != TACIT_NODE_NONE ? mark : tacit_graph_index(lower->graph, index, n, elements);
}

/* Place number k of the result in terms of all dimensions of the base; the flat position where every index is
 * known. */
static size_t place_of(const tacit_value_t *base, const selection_t *selections, size_t k,
                       size_t place[TACIT_MAX_DIMS]) {
  size_t flat = 0;
  for (unsigned i = base->n_dims; i-- > 0;) {
    place[i] = k % selections[i].n;
    k /= selections[i].n;
  }
  for (unsigned i = 0; i < base->n_dims; i++) {
    flat =
        flat * extent_of(base, i) + (selections[i].positions != NULL ? selections[i].positions[place[i]] : 0);
  }
  return flat;
}

/* Selections of all dimensions from n indices, the rest as they are. */
static bool select_dims(indexing_t *at, const tacit_value_t *base, tacit_expr_t *const *indices, size_t n,
                        selection_t *selections) {
  if (n > base->n_dims) {
    tacit_lower_fail(at->lower, at->offset, "'%s' is %s: it has no %zu indices", at->name,
                     tacit_value_describe(at->lower, base), n);
    return false;
  }
  for (unsigned i = 0; i < base->n_dims; i++) {
    if (!(i < n ? select_dim(at, indices[i], base->dims[i], &selections[i])
                : select_all(at, base->dims[i], &selections[i]))) {
      return false;
    }
  }
  return true;
}

static const char *name_of(const tacit_expr_t *expr) {
  while (expr->kind == TACIT_EXPR_INDEX) {
    expr = expr->args[0];
  }
  return expr->name != NULL ? expr->name : "this";
}

tacit_value_t tacit_lower_index(tacit_lower_t *lower, const tacit_expr_t *expr) {
  tacit_value_t base = tacit_lower_expr(lower, expr->args[0]);
  indexing_t at = {.lower = lower, .name = name_of(expr->args[0]), .offset = expr->offset};
  selection_t selections[TACIT_MAX_DIMS];
  if (base.kind == TACIT_TYPE_VOID ||
      !select_dims(&at, &base, expr->args + 1, expr->n_args - 1, selections)) {
    return NOTHING;
  }
  tacit_value_t result = shape_of(&at, &base, selections);
  for (size_t k = 0; k < result.n && result.kind != TACIT_TYPE_VOID; k++) {
    size_t place[TACIT_MAX_DIMS], flat = place_of(&base, selections, k, place);
    bool is_known = true;
    for (unsigned i = 0; i < base.n_dims; i++) {
      is_known &= selections[i].positions != NULL;
    }
    result.nodes[k] = at.refused != TACIT_NODE_NONE ? at.refused
                      : is_known                    ? base.nodes[flat]
                                                    : choose(&at, &base, selections, place);
  }
  return lower->status == TACIT_OK ? result : NOTHING;
}

/* a[i][j] as the indices i, j of a. False after an error. */
static bool flatten(tacit_lower_t *lower, const tacit_expr_t *left, tacit_expr_t *indices[TACIT_MAX_DIMS],
                    size_t *n, const char **name) {
  if (left->kind == TACIT_EXPR_NAME) {
    *name = left->name;
    *n = 0;
    return true;
  }
  if (left->kind != TACIT_EXPR_INDEX) {
    tacit_lower_fail(lower, left->offset, "only a variable or its elements can be given a value");
    return false;
  }
  if (!flatten(lower, left->args[0], indices, n, name)) {
    return false;
  }
  for (size_t i = 1; i < left->n_args; i++) {
    if (*n == TACIT_MAX_DIMS ||
        (left->args[0]->kind == TACIT_EXPR_INDEX && indices[*n - 1]->kind == TACIT_EXPR_RANGE)) {
      tacit_lower_fail(lower, left->offset, "too many indices");
      return false;
    }
    indices[(*n)++] = left->args[i];
  }
  return true;
}

static bool may_assign(tacit_lower_t *lower, const tacit_variable_t *variable, const char *name,
                       size_t offset) {
  if (variable == NULL) {
    tacit_lower_fail(lower, offset, "'%s' is not declared", name);
  } else if (!variable->is_local && variable->block == TACIT_BLOCK_DATA) {
    tacit_lower_fail(lower, offset,
                     "'%s' is a datum, which is not given a value; declare a variable of another name for "
                     "what is computed of it",
                     name);
  } else if (!variable->is_local && variable->block != lower->block) {
    tacit_lower_fail(lower, offset, "'%s' is given its value in another block", name);
  } else if (variable->is_loop) {
    tacit_lower_fail(lower, offset, "'%s' is a loop's variable: it has its value from the loop", name);
  } else if (!variable->is_local &&
             (lower->block == TACIT_BLOCK_DATA || lower->block == TACIT_BLOCK_PARAMETERS)) {
    tacit_lower_fail(lower, offset, "data and parameters are not given values");
  }
  return lower->status == TACIT_OK;
}

/* What is refused where it is used, normal_rng(mu, sigma) of a vector, has no shape of its own: it takes the
 * target's. */
static tacit_value_t spread(tacit_lower_t *lower, const tacit_value_t *target, const tacit_value_t *value) {
  bool is_refused = value->kind == TACIT_TYPE_INT && value->n == 1 && value->nodes[0] >= TACIT_MARK &&
                    tacit_mark_of(lower, value->nodes[0])->kind == TACIT_MARK_REFUSED;
  tacit_value_t all = *target;
  all.nodes = is_refused ? tacit_arena_alloc(lower->arena, target->n + 1, sizeof *all.nodes) : NULL;
  for (size_t k = 0; k < target->n && all.nodes != NULL; k++) {
    all.nodes[k] = value->nodes[0];
  }
  return all.nodes != NULL ? all : *value;
}

void tacit_lower_assign(tacit_lower_t *lower, const tacit_expr_t *left, size_t offset,
                        const tacit_value_t *value) {
  tacit_expr_t *indices[TACIT_MAX_DIMS];
  size_t n;
  const char *name;
  if (value->kind == TACIT_TYPE_VOID || !flatten(lower, left, indices, &n, &name)) {
    return;
  }
  size_t begin = tacit_expr_begin(left);
  tacit_variable_t *variable = tacit_lower_find(lower, name);
  if (!may_assign(lower, variable, name, begin)) {
    return;
  }
  tacit_value_t base = variable->value;
  indexing_t at = {.lower = lower, .name = name, .offset = begin};
  selection_t selections[TACIT_MAX_DIMS];
  if (!select_dims(&at, &base, indices, n, selections)) {
    return;
  }
  if (at.refused != TACIT_NODE_NONE) {
    tacit_lower_force(lower, begin, at.refused);
    return;
  }
  tacit_value_t target = shape_of(&at, &base, selections);
  if (target.kind == TACIT_TYPE_VOID) {
    return;
  }
  tacit_value_t given = spread(lower, &target, value);
  value = &given;
  if (!tacit_value_same_shape(&target, value) ||
      (target.kind == TACIT_TYPE_INT && value->kind != TACIT_TYPE_INT)) {
    tacit_lower_fail(lower, offset, "%s cannot be given to %s", tacit_value_describe(lower, value),
                     tacit_value_describe(lower, &target));
    return;
  }
  for (size_t k = 0; k < target.n; k++) {
    size_t place[TACIT_MAX_DIMS], flat = place_of(&base, selections, k, place);
    for (unsigned i = 0; i < base.n_dims; i++) {
      if (selections[i].positions == NULL) {
        lower->was_mark |= lower->status == TACIT_OK;
        tacit_lower_fail(lower, begin, "the element that is given a value must not be chosen by data");
        return;
      }
    }
    tacit_lower_write(lower, &base.nodes[flat], value->nodes[k]);
  }
}
