/*
 * Lowering: a program's statements are carried out on graph nodes in place of numbers. Loops are unrolled,
 * functions inlined and sizes known by then, so that what is left is one expression of a record and one
 * prior. The record axis of an array program has extent 1: whatever is done along it is done to the record at
 * hand. Not installed.
 */
#ifndef TACIT_PROGRAM_LOWER_H
#define TACIT_PROGRAM_LOWER_H

#include "base/number.h"
#include "program/ast.h"
#include "program/graph_internal.h"
#include "program/program.h"

enum {
  TACIT_MAX_DIMS = 6,
  TACIT_MAX_LOOP = 2000,        /* steps of a loop, which is unrolled */
  TACIT_MAX_STEPS = 1 << 22,    /* expressions and elements looked at in all */
  TACIT_MAX_CALLS = 48,         /* functions within each other */
  TACIT_MAX_ELEMENTS = 1 << 20, /* of a container */
  TACIT_MAX_CHOICES = 64        /* elements that a record's value can choose among without a table */
};
static const uint32_t TACIT_AXIS = UINT32_MAX; /* in dims: goes over the records; counts as one element */

/*
 * A value: n nodes in row-major order. Nodes from TACIT_MARK on are marks: they stand for what is no number
 * of one record, and say so only when they are used.
 */
typedef struct tacit_value {
  tacit_type_kind_t kind; /* INT, REAL, VECTOR, ROW, MATRIX; VOID after an error */
  unsigned n_dims, n_array;
  uint32_t dims[TACIT_MAX_DIMS];
  size_t n;
  tacit_node_t *nodes;
} tacit_value_t;

static const tacit_node_t TACIT_MARK = UINT32_C(0x80000000);

typedef enum tacit_mark_kind {
  TACIT_MARK_UNSET,   /* declared, without a value */
  TACIT_MARK_AXIS,    /* the number of records */
  TACIT_MARK_RECORD,  /* the loop's record */
  TACIT_MARK_REFUSED, /* would look at other records, or ... : the reason */
  TACIT_MARK_SUM      /* over records: `record` of each, `once` beside it */
} tacit_mark_kind_t;

typedef struct tacit_mark {
  tacit_mark_kind_t kind;
  size_t offset;    /* REFUSED: where to put the caret */
  const char *text; /* REFUSED: the reason; else a name */
  bool is_unset;    /* REFUSED: it had no value */
  bool is_other;    /* REFUSED: a record's number was computed with, to look at another */
  tacit_node_t record, once;
} tacit_mark_t;

typedef struct tacit_variable {
  const char *name;
  tacit_block_t block;
  const tacit_stmt_t *declared;
  bool is_local; /* of a block within a block, or of a function */
  bool is_loop;
  tacit_value_t value;
} tacit_variable_t;

typedef struct tacit_undo {
  tacit_node_t *place, old;
} tacit_undo_t;

/* What is known of a column that may be an index. */
typedef struct tacit_index_range {
  tacit_node_t node;
  double lower, upper;
} tacit_index_range_t;

/* What stands outside of the program: its data. */
typedef struct tacit_outside {
  void *user;
  /* The number that a public constant has, element `i` in row-major order; false: it is not given, after an
   * error if there is one. */
  bool (*constant)(void *user, const tacit_stmt_t *declaration, size_t i, size_t n, double *value);
  /* Is this datum one of each record, where no axis says so? */
  bool (*is_column)(void *user, const tacit_stmt_t *declaration);
  /*
   * The node of element `i` of a datum of each record; `index` is its 1-based indices, "2.1" or "". The
   * bounds come as declared and become those that values are moved into, where they are known. NONE after an
   * error.
   */
  tacit_node_t (*column)(void *user, const tacit_stmt_t *declaration, const char *index, size_t i,
                         double *lower, double *upper);
  /* The public number in place of a function of all records, "mean(x)"; false: none is given. */
  bool (*given)(void *user, const char *text, double *value);
  bool is_assumed; /* there is no schema: bounds that are not declared are as they should be */
} tacit_outside_t;

/* A line of the block 'statistic': what is summed over records (n nodes), or the n whole numbers that make a
 * cell. */
typedef struct tacit_lowered_statistic {
  const char *name;
  bool is_count, is_integer;
  size_t n;
  tacit_node_t *nodes;
  const char **factors; /* counts, as `first` and `extents`: name of each number, its least value, and how
                           many it has */
  double *first;
  size_t *extents;
  bool is_quantile;
  double quantile, *candidates; /* of a quantile, whose one number says how many of them are at most x */
} tacit_lowered_statistic_t;

/* Where a number of a record comes from. The column stands for the base number in `make` of a real one, for
 * itself elsewhere. */
typedef struct tacit_lowered_draw {
  uint32_t column;
  bool is_integer, is_normal; /* is_normal: the base number is standard normal, else uniform */
  tacit_node_t make, unmake;  /* reals: of the base number, and back; whole numbers: the log probability */
  tacit_node_t *needs;        /* (n_needs): what these look at of the record; NONE: nothing */
  size_t n_needs;
} tacit_lowered_draw_t;

/*
 * An outcome of the record and what its distribution says of it, for predictions. The value is a x + b of a
 * column x, or an expression of several. NONE: not known.
 */
typedef struct tacit_lowered_outcome {
  const char *name, *distribution; /* as the program writes it; name of the distribution */
  bool is_column;                  /* of one column; else a is 1 and b is 0 */
  tacit_affine_t of;
  bool is_class; /* whole numbers without an expectation */
  tacit_node_t value, mean, linear, location;
  size_t n_classes, n_logits, n_args;
  tacit_node_t *classes; /* (n_classes): log probabilities of the column's values */
  tacit_node_t *logits;  /* (n_logits): of the classes, their linear predictors */
  tacit_node_t *args;    /* (n_args): of the distribution; n_args is SIZE_MAX where they are no numbers */
  tacit_node_t from, to; /* of the truncation */
} tacit_lowered_outcome_t;

/* What a branch says of outcomes: how many, and of the last. */
typedef struct tacit_said {
  size_t n;
  bool is_tail; /* that it is larger than what is seen */
  tacit_graph_response_t response;
  tacit_node_t target; /* all that the branch adds */
} tacit_said_t;

typedef struct tacit_lower {
  tacit_arena_t *arena;
  tacit_graph_t *graph;
  const tacit_source_t *source, *library;
  const tacit_outside_t *outside;
  tacit_error_t *err;
  tacit_status_t status;
  bool was_mark;    /* the error is a mark's: of looking at other records and the like */
  bool was_size;    /* the error may be one of sizes that were assumed */
  const char *axis; /* the datum that counts records, or NULL */
  tacit_block_t block;
  bool is_generated; /* generated quantities: nothing there enters the density */
  size_t scope;      /* blocks within the program's block */
  tacit_mark_t *marks;
  size_t n_marks, marks_capacity;
  tacit_variable_t *variables;
  size_t n_variables, variables_capacity, frame; /* a function sees variables from `frame` on */
  tacit_undo_t *undo;
  size_t n_undo, undo_capacity, n_undoing; /* n_undoing: depth of branches that keep it */
  size_t n_steps;
  const tacit_function_t *calls[TACIT_MAX_CALLS];
  size_t level; /* of the recursion over expressions and statements */
  size_t n_calls, n_library;
  size_t library_offset;   /* of the call that led into the library */
  size_t n_record;         /* depth of record loops and of conditions on data */
  const char *record_loop; /* the variable of the loop over records, or NULL */
  tacit_node_t *branch;    /* where a branch collects what it adds to the target; NULL: at once */
  struct {                 /* conditions of the branches that are being carried out, and whether they hold */
    tacit_node_t condition;
    bool holds;
  } given[TACIT_PROGRAM_MAX_DEPTH];
  size_t n_given;
  tacit_value_t *returned;
  const struct tacit_rest *rest; /* of the function */
  tacit_index_range_t **ranges;
  size_t n_ranges;
  /* notes for people: what was left out */
  char **notes;
  size_t n_notes;
  bool has_statistics; /* the block 'statistic' is of interest */
  tacit_lowered_statistic_t **statistics;
  size_t n_statistics;
  tacit_lowered_draw_t **draws;
  size_t n_draws;
  bool is_forecast; /* parameters are as they are reported, and outcomes are looked at */
  tacit_lowered_outcome_t **outcomes;
  size_t n_outcomes;
  struct { /* densities that the statement target += has mentioned so far: of how many outcomes, and of the
              last */
    size_t n;
    tacit_node_t first, density;
    bool is_cumulative;
  } said;
  struct { /* what the last distribution of the form NAME_glm stood for */
    const char *density;
    tacit_value_t args[3];
    size_t n;
  } glm;
  struct { /* the last call in an expression */
    const tacit_expr_t *expr;
    const tacit_value_t *args;
  } called;
  tacit_said_t in_branch;
  const char *not_foretold; /* why outcomes cannot be predicted, or NULL */
  tacit_node_t drawn;       /* the part of the record's term whose statements are among `draws` */
  const char *not_drawn;    /* why one is not, or NULL */
} tacit_lower_t;

/* ---- errors ---- */

/* The first error counts; inside the library it is the call's. */
void tacit_lower_fail(tacit_lower_t *lower, size_t offset, const char *format, ...) TACIT_PRINTF(3, 4);
void tacit_lower_note(tacit_lower_t *lower, size_t offset, const char *format, ...) TACIT_PRINTF(3, 4);
/* Count a step; false, with an error, beyond the limits. */
bool tacit_lower_step(tacit_lower_t *lower, size_t offset, size_t n);
/* Where an expression begins. */
size_t tacit_expr_begin(const tacit_expr_t *expr);

/* ---- values ---- */

/* n elements are counted from dims; nodes are NONE. VOID after an error. */
tacit_value_t tacit_value_new(tacit_lower_t *lower, size_t offset, tacit_type_kind_t kind, unsigned n_array,
                              unsigned n_dims, const uint32_t *dims);
/* The same shape, of reals unless both are ints. */
tacit_value_t tacit_value_like(tacit_lower_t *lower, size_t offset, const tacit_value_t *shape,
                               bool is_integer);
tacit_value_t tacit_value_scalar(tacit_lower_t *lower, tacit_type_kind_t kind, tacit_node_t node);
tacit_value_t tacit_value_number(tacit_lower_t *lower, double number, bool is_integer);
bool tacit_value_is_scalar(const tacit_value_t *value);
/* Elements are whole numbers? */
bool tacit_value_is_integer(const tacit_value_t *value);
/* Element i, a scalar; a scalar itself. */
tacit_value_t tacit_value_element(const tacit_value_t *value, size_t i);
bool tacit_value_same_shape(const tacit_value_t *a, const tacit_value_t *b);
bool tacit_value_has_axis(const tacit_value_t *value);
/* "vector[3]", "array[N] int" as people write it. */
const char *tacit_value_describe(tacit_lower_t *lower, const tacit_value_t *value);
/* A known number; false otherwise, marks included. */
bool tacit_value_constant(const tacit_lower_t *lower, const tacit_value_t *value, double *number);

/* ---- nodes and marks ---- */

const tacit_mark_t *tacit_mark_of(const tacit_lower_t *lower, tacit_node_t node); /* NULL: it is a node */
tacit_node_t tacit_mark_new(tacit_lower_t *lower, tacit_mark_t mark);
/* REFUSED, with a reason. */
tacit_node_t tacit_mark_refuse(tacit_lower_t *lower, size_t offset, const char *format, ...)
    TACIT_PRINTF(3, 4);
/* What a mark that is no sum says when it is used as a number: REFUSED. */
tacit_node_t tacit_mark_use(tacit_lower_t *lower, size_t offset, tacit_node_t node);
/* A mark becomes an error, which is where laziness ends; true: it is a number of one record. */
bool tacit_lower_force(tacit_lower_t *lower, size_t offset, tacit_node_t node);
/* Of nodes and marks. */
tacit_node_t tacit_lower_apply(tacit_lower_t *lower, size_t offset, tacit_op_t op, tacit_node_t a,
                               tacit_node_t b, tacit_node_t c);
tacit_node_t tacit_lower_constant(tacit_lower_t *lower, double number);
/* Marks count as mixed. */
tacit_rate_t tacit_lower_rate(const tacit_lower_t *lower, tacit_node_t node);
/* The first mark among nodes, as a use of it; NONE if there is none. */
tacit_node_t tacit_lower_first_mark(tacit_lower_t *lower, size_t offset, size_t n, const tacit_node_t *nodes);
/* A condition that is decided now: 1 or 0; -1: it depends on data (or, in generated quantities, on
 * parameters); -2 after an error. */
int tacit_lower_truth(tacit_lower_t *lower, size_t offset, const tacit_value_t *value);

/* ---- expressions ---- */

tacit_value_t tacit_lower_expr(tacit_lower_t *lower, const tacit_expr_t *expr);
/* A whole number that is known: a size, a bound of a loop. */
bool tacit_lower_whole(tacit_lower_t *lower, const tacit_expr_t *expr, const char *what, long *number);
tacit_value_t tacit_lower_binary(tacit_lower_t *lower, size_t offset, tacit_token_kind op,
                                 const tacit_value_t *a, const tacit_value_t *b);
/* Every element by one operation, shapes as they are. */
tacit_value_t tacit_lower_map(tacit_lower_t *lower, size_t offset, tacit_op_t op, const tacit_value_t *a,
                              const tacit_value_t *b);
tacit_value_t tacit_lower_transpose(tacit_lower_t *lower, size_t offset, const tacit_value_t *a);
tacit_value_t tacit_lower_product(tacit_lower_t *lower, size_t offset, const tacit_value_t *a,
                                  const tacit_value_t *b);
/* condition ? a : b, element by element, of equal shapes. */
tacit_value_t tacit_lower_select(tacit_lower_t *lower, size_t offset, tacit_node_t condition,
                                 const tacit_value_t *a, const tacit_value_t *b);
tacit_value_t tacit_lower_index(tacit_lower_t *lower, const tacit_expr_t *expr);
/* Write `value` where `left` says. */
void tacit_lower_assign(tacit_lower_t *lower, const tacit_expr_t *left, size_t offset,
                        const tacit_value_t *value);
/* Does a record's whole number stay within 1 .. extent, as far as its declaration and the schema say? */
bool tacit_lower_index_fits(const tacit_lower_t *lower, tacit_node_t node, uint32_t extent);
/* from, to: values of a column of whole numbers, less those at the ends that the conditions around exclude;
 * false: none is left. */
bool tacit_lower_narrow(const tacit_lower_t *lower, tacit_node_t node, double *from, double *to);
tacit_value_t tacit_lower_sum(tacit_lower_t *lower, size_t offset, const tacit_value_t *a);

/* ---- calls ---- */

tacit_value_t tacit_lower_call(tacit_lower_t *lower, const tacit_expr_t *expr);
/* A function of the program or the library, or built in, on values. */
tacit_value_t tacit_lower_call_values(tacit_lower_t *lower, size_t offset, const char *name,
                                      tacit_value_t *args, size_t n);
/* Built-in functions; false: there is none of this name. */
bool tacit_lower_builtin(tacit_lower_t *lower, size_t offset, const char *name, tacit_value_t *args, size_t n,
                         tacit_value_t *result);
bool tacit_lower_container(tacit_lower_t *lower, size_t offset, const char *name, tacit_value_t *args,
                           size_t n, tacit_value_t *result);
void tacit_lower_offer_builtins(tacit_nearest_t *nearest);
void tacit_lower_offer_containers(tacit_nearest_t *nearest);
/* Names of distributions that a misspelt one may have meant. */
void tacit_lower_offer_densities(const tacit_lower_t *lower, tacit_nearest_t *nearest);
/* The log density that a name with or without its ending stands for: "normal" to "normal_lpdf"; NULL: there
 * is none. */
const tacit_function_t *tacit_lower_density(tacit_lower_t *lower, const char *distribution, size_t n_args,
                                            const char **name);
/* x * beta + alpha of the glm forms; false: it is none of them. */
bool tacit_lower_glm(tacit_lower_t *lower, size_t offset, const char *name, tacit_value_t *args, size_t n,
                     tacit_value_t *result);

/* ---- statements ---- */

/* REJECTED: what a branch says is that records that take it have density 0. */
typedef enum tacit_flow {
  TACIT_FLOW_NEXT,
  TACIT_FLOW_RETURN,
  TACIT_FLOW_REJECTED,
  TACIT_FLOW_FAILED
} tacit_flow_t;
/* What a function has left to do after the statement at hand: statements, or the steps of a loop; innermost
 * first. */
typedef struct tacit_rest {
  const struct tacit_rest *outer;
  tacit_stmt_t *const *body;
  size_t n;
  const tacit_stmt_t *loop; /* NULL: statements */
  const tacit_value_t *all; /* what the loop goes over; NULL: a range */
  double next, last;
  size_t n_variables; /* that it sees */
} tacit_rest_t;
/* Steps of a loop from rest->next on. */
tacit_flow_t tacit_lower_steps(tacit_lower_t *lower, const tacit_rest_t *rest);
/* Go one level deeper, or fail; lower->level-- afterwards in any case. */
bool tacit_lower_enter(tacit_lower_t *lower, size_t offset);
tacit_flow_t tacit_lower_statement(tacit_lower_t *lower, const tacit_stmt_t *stmt);
/* outcome ~ distribution(...): adds its log density to the target. */
void tacit_lower_tilde(tacit_lower_t *lower, const tacit_stmt_t *stmt);
tacit_flow_t tacit_lower_loop(tacit_lower_t *lower, const tacit_stmt_t *stmt);
tacit_flow_t tacit_lower_while(tacit_lower_t *lower, const tacit_stmt_t *stmt);
/* The statements of a block in a scope of their own, which ends with it. */
tacit_flow_t tacit_lower_body(tacit_lower_t *lower, tacit_stmt_t *const *body, size_t n);
void tacit_lower_add_target(tacit_lower_t *lower, size_t offset, const tacit_value_t *value);
/* Remember what is written over while a branch runs. */
void tacit_lower_write(tacit_lower_t *lower, tacit_node_t *place, tacit_node_t node);

/*
 * What `parts` (outcome, and its truncation) ~ distribution(args from the second on) says of how records
 * arise, after it was added to the target; is_plain: the outcome is seen as it is. `before`: the record's
 * term before it.
 */
void tacit_lower_note_draw(tacit_lower_t *lower, const tacit_stmt_t *stmt, const char *density,
                           const tacit_value_t *args, size_t n, const tacit_value_t *parts, bool is_plain,
                           tacit_node_t before);

/* After target += the call at hand, whose value it is: what NAME_lpdf(y | ...) and NAME_lccdf(y | ...) say is
 * what y ~ NAME(...) does. */
void tacit_lower_note_density(tacit_lower_t *lower, const tacit_expr_t *expr, const tacit_value_t *args,
                              const tacit_value_t *value, tacit_node_t before);
/* Two branches, of which one says that the outcome is seen, and the other that it is larger: one censored
 * response. */
void tacit_lower_join_responses(tacit_lower_t *lower, tacit_node_t condition, const tacit_said_t *yes,
                                const tacit_said_t *no, tacit_node_t density);
/* A number of one record, or NONE. */
tacit_node_t tacit_value_of_record(const tacit_lower_t *lower, const tacit_value_t *value);
/*
 * For predictions: what `parts` (outcome, and its truncation), written from byte `begin` on, have for a
 * distribution, whose arguments are those from the second on. lower_forecast.c
 */
void tacit_lower_note_outcome(tacit_lower_t *lower, size_t begin, const char *distribution,
                              const char *density, const tacit_value_t *args, size_t n,
                              const tacit_value_t *parts);
/* The same of NAME_lpdf(y | ...) in an expression; of NAME_lccdf and the like, that it was mentioned. */
void tacit_lower_note_call(tacit_lower_t *lower, const tacit_expr_t *expr, const tacit_value_t *args,
                           const tacit_value_t *value);
/* After target += value: something else than a density would make another distribution. */
void tacit_lower_note_target(tacit_lower_t *lower, const tacit_expr_t *expr, const tacit_value_t *value);

/* A line of the block 'statistic'. */
void tacit_lower_statistic(tacit_lower_t *lower, const tacit_stmt_t *stmt);
/* All blocks of lower->source. */
void tacit_lower_program(tacit_lower_t *lower);

/* ---- declarations ---- */

tacit_variable_t *tacit_lower_find(tacit_lower_t *lower, const char *name);
tacit_variable_t *tacit_lower_declare(tacit_lower_t *lower, const char *name, size_t offset,
                                      const tacit_value_t *value);
/* The sizes of a type as dims; false after an error. */
bool tacit_lower_dims(tacit_lower_t *lower, const tacit_type_t *type, uint32_t dims[TACIT_MAX_DIMS]);
void tacit_lower_data(tacit_lower_t *lower, const tacit_stmt_t *stmt);
void tacit_lower_parameter(tacit_lower_t *lower, const tacit_stmt_t *stmt);
void tacit_lower_local(tacit_lower_t *lower, const tacit_stmt_t *stmt);
/* Report the variables of the block that ends, from the first of `first` on. */
void tacit_lower_report(tacit_lower_t *lower, size_t first);

/* ---- the record axis ---- */

/* The datum that counts records, or NULL. */
const char *tacit_axis_find(const tacit_source_t *source);
/* A datum with a density, though no record has one of its own: outcomes of other records, as numbers. NULL:
 * there is none. */
const tacit_stmt_t *tacit_axis_other(const tacit_source_t *source, const char *axis);
/* What counts records: as the settings say, or found. TACIT_ERR_UNKNOWN: they name no such datum. */
TACIT_MUST_USE tacit_status_t tacit_axis_choose(tacit_lower_t *lower,
                                                const tacit_program_settings_t *settings);
/* Is the name an int datum that sizes are made of? */
bool tacit_axis_is_size(const tacit_source_t *source, const char *name);
/* A declaration of the data block or the transformed data, or NULL. */
const tacit_stmt_t *tacit_axis_declaration(const tacit_source_t *source, const char *name);

#endif
