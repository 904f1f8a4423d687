#include "program/code.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE };

/* A program under construction. */
typedef struct builder {
  const tacit_graph_t *graph;
  const tacit_leaves_t *leaves;
  tacit_code_t *code;
  uint32_t *order; /* nodes in the order of their instructions */
  size_t n_order;
  uint8_t *seen;         /* (n_nodes): 1 on the stack, 2 in order */
  uint32_t *last, *uses; /* (n_nodes): the last instruction that looks at a node; how many do */
  uint32_t *where;       /* (n_nodes): its operand */
  uint32_t *stack;
  size_t n_stack, stack_capacity;
  uint32_t *first_root,
      *next_root;   /* (n_nodes), (n_roots): the outputs that a node is written to, from 1; 0: no more */
  uint32_t *vacant; /* registers */
  size_t n_vacant;
  bool is_float, failed; /* is_float: columns are operands as they lie */
} builder_t;

static void push(builder_t *b, tacit_node_t node) {
  if (b->n_stack == b->stack_capacity) {
    size_t more = 2 * b->n_stack + 64;
    uint32_t *stack = tacit_realloc(b->stack, more, sizeof *stack);
    if (stack == NULL) {
      b->failed = true;
      return;
    }
    b->stack = stack;
    b->stack_capacity = more;
  }
  b->stack[b->n_stack++] = node;
}

/* Operands that an instruction looks at: none of leaves and of dot products, a table's index. */
static unsigned operands_of(const builder_t *b, tacit_node_t node, tacit_node_t out[3]) {
  const tacit_graph_node_t *n = tacit_graph_at(b->graph, node);
  unsigned arity = tacit_op_arity((tacit_op_t)n->op);
  tacit_leaf_t leaf = b->leaves->leaf(b->leaves->user, node);
  if (leaf.kind == TACIT_LEAF_TABLE) {
    out[0] = leaf.index;
    return 1;
  }
  if (arity == 0 || leaf.kind != TACIT_LEAF_COMPUTED) {
    return 0;
  }
  out[0] = n->a;
  out[1] = n->b;
  out[2] = n->c;
  return arity;
}

/* Operands before what looks at them; without recursion, since a program may be deep. */
static void sort(builder_t *b, tacit_node_t from) {
  push(b, from);
  while (b->n_stack > 0 && !b->failed) {
    tacit_node_t node = b->stack[b->n_stack - 1], operand[3];
    if (b->seen[node] == 2) {
      b->n_stack--;
      continue;
    }
    unsigned n = operands_of(b, node, operand);
    if (b->seen[node] == 0) {
      b->seen[node] = 1;
      for (unsigned i = n; i-- > 0;) {
        if (b->seen[operand[i]] == 0) {
          push(b, operand[i]);
        }
      }
      continue;
    }
    b->seen[node] = 2;
    b->n_stack--;
    b->order[b->n_order++] = node;
  }
}

static uint32_t constant(builder_t *b, double value) {
  tacit_code_t *code = b->code;
  for (size_t i = 0; i < code->n_constants; i++) {
    if (memcmp(&code->constants[i * 16], &value, sizeof value) == 0) {
      return TACIT_OPERAND_CONSTANT | (uint32_t)i;
    }
  }
  if (code->n_constants == code->constant_capacity) {
    size_t more = 2 * code->n_constants + 16;
    double *constants = tacit_realloc(code->constants, more, 16 * sizeof *constants);
    if (constants == NULL) {
      b->failed = true;
      return 0;
    }
    code->constants = constants;
    code->constant_capacity = more;
  }
  for (size_t lane = 0; lane < 16; lane++) {
    code->constants[code->n_constants * 16 + lane] = value;
  }
  return TACIT_OPERAND_CONSTANT | (uint32_t)code->n_constants++;
}

static uint32_t take_register(builder_t *b) {
  bool is_new = b->n_vacant == 0;
  return is_new ? TACIT_CHUNK_BLOCKS * (uint32_t)b->code->n_registers++ : b->vacant[--b->n_vacant];
}

static void emit(builder_t *b, tacit_instruction_t in) {
  tacit_code_t *code = b->code;
  if (code->n_instructions == code->instruction_capacity) {
    size_t more = 2 * code->n_instructions + 32;
    tacit_instruction_t *instructions = tacit_realloc(code->instructions, more, sizeof *instructions);
    if (instructions == NULL) {
      b->failed = true;
      return;
    }
    code->instructions = instructions;
    code->instruction_capacity = more;
  }
  code->instructions[code->n_instructions++] = in;
}

/* A product that only a sum, a difference or a change of sign looks at is computed with it. *op: how; *other:
 * NONE of the last. */
static tacit_node_t product_of(const builder_t *b, tacit_node_t sum, tacit_node_t *other, uint32_t *op) {
  tacit_node_t operand[3], inner[3];
  uint32_t of = tacit_graph_at(b->graph, sum)->op;
  bool is_difference = of == TACIT_OP_SUB, is_negation = of == TACIT_OP_NEG;
  bool is_computed = b->leaves->leaf(b->leaves->user, sum).kind == TACIT_LEAF_COMPUTED;
  unsigned n =
      is_computed && (of == TACIT_OP_ADD || is_difference || is_negation) ? operands_of(b, sum, operand) : 0;
  for (unsigned i = 0; i < n; i++) {
    if (b->uses[operand[i]] == 1 && b->first_root[operand[i]] == 0 &&
        tacit_graph_at(b->graph, operand[i])->op == TACIT_OP_MUL && operands_of(b, operand[i], inner) == 2) {
      *other = is_negation ? NONE : operand[1 - i];
      *op = is_negation      ? TACIT_MACHINE_NEG_MUL
            : !is_difference ? TACIT_MACHINE_MUL_ADD
            : i == 0         ? TACIT_MACHINE_MUL_SUB
                             : TACIT_MACHINE_SUB_MUL;
      return operand[i];
    }
  }
  return NONE;
}

/* Count the uses of what is in order; then find each node's last use, by place in order. */
static void count_uses(builder_t *b) {
  tacit_node_t operand[3], other;
  for (size_t k = 0; k < b->n_order; k++) {
    unsigned n = operands_of(b, b->order[k], operand);
    for (unsigned i = 0; i < n; i++) {
      b->uses[operand[i]]++;
    }
  }
  for (size_t k = 0; k < b->n_order; k++) {
    unsigned n = operands_of(b, b->order[k], operand);
    uint32_t op;
    tacit_node_t product = product_of(b, b->order[k], &other, &op);
    for (unsigned i = 0; i < n; i++) {
      b->last[operand[i]] = (uint32_t)k;
    }
    if (product != NONE) {
      n = operands_of(b, product, operand);
      for (unsigned i = 0; i < n; i++) {
        b->last[operand[i]] = (uint32_t)k;
      }
      b->seen[product] = 3; /* has no instruction of its own */
    }
  }
}

/* Registers of operands that nobody looks at any more. */
static void give_back(builder_t *b, size_t k, unsigned n, const tacit_node_t *operand) {
  for (unsigned i = 0; i < n; i++) {
    bool is_repeated = (i > 0 && operand[i] == operand[0]) || (i > 1 && operand[i] == operand[1]);
    bool is_register = (b->where[operand[i]] & ~TACIT_OPERAND_NUMBER) == TACIT_OPERAND_REGISTER;
    if (is_register && !is_repeated && b->last[operand[i]] == k) {
      b->vacant[b->n_vacant++] = b->where[operand[i]] & TACIT_OPERAND_NUMBER;
    }
  }
}

static void copy_to_outputs(builder_t *b, tacit_node_t node) {
  uint32_t from = b->where[node];
  for (uint32_t r = b->first_root[node]; r != 0; r = b->next_root[r - 1]) {
    emit(b,
         (tacit_instruction_t){
             .op = TACIT_MACHINE_COPY, .d = TACIT_OPERAND_OUTPUT | (r - 1), .a = from, .b = from, .c = from});
  }
}

static void emit_node(builder_t *b, size_t k) {
  tacit_node_t node = b->order[k], operand[3] = {NONE, NONE, NONE}, other = NONE;
  const tacit_graph_node_t *n = tacit_graph_at(b->graph, node);
  tacit_leaf_t leaf = b->leaves->leaf(b->leaves->user, node);
  if (n->op == TACIT_OP_CONSTANT) {
    b->where[node] = constant(b, n->value);
    copy_to_outputs(b, node);
    return;
  }
  if (leaf.kind == TACIT_LEAF_UNIFORM || (leaf.kind == TACIT_LEAF_COLUMN && b->is_float)) {
    b->where[node] =
        (leaf.kind == TACIT_LEAF_UNIFORM ? TACIT_OPERAND_UNIFORM : TACIT_OPERAND_COLUMN) | leaf.number;
    copy_to_outputs(b, node);
    return;
  }
  if (b->seen[node] == 3) {
    return;
  }
  tacit_instruction_t in = {.op = n->op};
  if (leaf.kind == TACIT_LEAF_COLUMN) {
    in = (tacit_instruction_t){.op = TACIT_MACHINE_LOAD, .a = leaf.number};
  } else if (leaf.kind == TACIT_LEAF_TABLE) {
    in = (tacit_instruction_t){.op = TACIT_OP_LOOKUP,
                               .a = b->where[leaf.index],
                               .b = leaf.scalar,
                               .n = leaf.n,
                               .first = (float)leaf.first};
    give_back(b, k, 1, &leaf.index);
  } else if (n->op == TACIT_OP_DOT) {
    in.a = b->leaves->dot_column(b->leaves->user, node);
    in.b = b->leaves->dot_scalar(b->leaves->user, node);
    in.n = n->c;
    b->code->n_dots++;
  } else {
    uint32_t op = 0;
    tacit_node_t product = product_of(b, node, &other, &op);
    unsigned arity = operands_of(b, node, operand);
    if (product != NONE) {
      in.op = op;
      (void)operands_of(b, product, operand);
      operand[2] = other;
      arity = other == NONE ? 2 : 3;
    }
    in.a = b->where[operand[0]];
    in.b = arity > 1 ? b->where[operand[1]] : in.a;
    in.c = arity > 2 ? b->where[operand[2]] : in.a;
    give_back(b, k, arity, operand);
  }
  uint32_t root = b->first_root[node];
  if (b->uses[node] == 0 && root != 0 && b->next_root[root - 1] == 0) { /* for one output alone */
    in.d = TACIT_OPERAND_OUTPUT | (root - 1);
    emit(b, in);
    return;
  }
  in.d = b->where[node] = take_register(b);
  emit(b, in);
  copy_to_outputs(b, node);
  if (b->uses[node] == 0) {
    b->vacant[b->n_vacant++] = in.d;
  }
}

static void builder_clear(builder_t *b) {
  tacit_free(b->order);
  tacit_free(b->seen);
  tacit_free(b->last);
  tacit_free(b->uses);
  tacit_free(b->where);
  tacit_free(b->stack);
  tacit_free(b->vacant);
  tacit_free(b->first_root);
  tacit_free(b->next_root);
}

static bool constants_to_float(tacit_code_t *code) {
  code->constants_float = tacit_alloc(code->n_constants * 16, sizeof *code->constants_float);
  for (size_t i = 0; code->constants_float != NULL && i < code->n_constants * 16; i++) {
    code->constants_float[i] = (float)code->constants[i];
  }
  return code->constants_float != NULL;
}

tacit_status_t tacit_code_build(tacit_code_t *code, const tacit_graph_t *graph, const tacit_leaves_t *leaves,
                                size_t n_roots, const tacit_node_t *roots, bool is_float,
                                tacit_error_t *err) {
  size_t n = graph->n_nodes;
  *code = (tacit_code_t){.n_outputs = n_roots};
  builder_t b = {.graph = graph, .leaves = leaves, .code = code, .is_float = is_float};
  b.order = tacit_alloc_zero(n, sizeof *b.order);
  b.seen = tacit_alloc_zero(n, sizeof *b.seen);
  b.last = tacit_alloc_zero(n, sizeof *b.last);
  b.uses = tacit_alloc_zero(n, sizeof *b.uses);
  b.where = tacit_alloc_zero(n, sizeof *b.where);
  b.vacant = tacit_alloc_zero(n, sizeof *b.vacant);
  b.first_root = tacit_alloc_zero(n, sizeof *b.first_root);
  b.next_root = tacit_alloc_zero(n_roots, sizeof *b.next_root);
  b.failed = b.first_root == NULL || b.next_root == NULL || b.order == NULL || b.seen == NULL ||
             b.last == NULL || b.uses == NULL || b.where == NULL || b.vacant == NULL;
  for (size_t r = 0; r < n_roots && !b.failed; r++) {
    b.next_root[r] = b.first_root[roots[r]];
    b.first_root[roots[r]] = (uint32_t)r + 1;
    sort(&b, roots[r]);
  }
  if (!b.failed) {
    count_uses(&b);
    for (size_t k = 0; k < b.n_order && !b.failed; k++) {
      emit_node(&b, k);
    }
  }
  bool ok = !b.failed && constants_to_float(code);
  builder_clear(&b);
  if (!ok) {
    tacit_code_clear(code);
    return tacit_error_memory(err);
  }
  tacit_code_hold(code);
  return TACIT_OK;
}

void tacit_code_clear(tacit_code_t *code) {
  tacit_free(code->instructions);
  tacit_free(code->constants);
  tacit_free(code->constants_float);
  *code = (tacit_code_t){0};
}
