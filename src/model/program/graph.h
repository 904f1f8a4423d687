/*
 * The graph of a record program: what a front end (a language, a formula, a test) builds, and the engine
 * compiles.
 *
 * A node is a number; nodes are hash-consed, so that equal expressions are one node, and are simplified on
 * construction by identities of real numbers. Constructors never fail visibly: where memory or a limit is
 * exceeded, or an operand is TACIT_NODE_NONE, they give TACIT_NODE_NONE, and tacit_graph_status() tells the
 * first reason. A front end may therefore check once, at the end of a statement.
 *
 * Everything here is public: a graph knows the schema's bounds of its columns, and no record.
 */
#ifndef TACIT_PROGRAM_GRAPH_H
#define TACIT_PROGRAM_GRAPH_H

#include "tacit/base.h"

typedef struct tacit_graph tacit_graph_t;
typedef uint32_t tacit_node_t;
enum { TACIT_NODE_NONE = 0 };

/* When a value is computed; bits, so that an expression's rate is the union of its operands'. */
typedef enum tacit_rate {
  TACIT_RATE_CONSTANT = 0,
  TACIT_RATE_PARAMETER = 1, /* once a pass and parameter vector */
  TACIT_RATE_DATA = 2,      /* once, when records are packed: a derived column */
  TACIT_RATE_MIXED = 3      /* for each record and parameter vector */
} tacit_rate_t;

/* Limits; beyond them the graph's status is TACIT_ERR_ARGUMENT. */
enum {
  TACIT_GRAPH_MAX_NODES = 1 << 18, /* of one graph, what differentiation adds included */
  TACIT_GRAPH_MAX_FRONT = 1 << 16, /* of them by a front end */
  TACIT_GRAPH_MAX_COLUMNS = 4096,
  TACIT_GRAPH_MAX_PARAMETERS = 1 << 14
};

/*
 * Operations for tacit_graph_apply(). Truth is 1 or 0; a condition is true where it is not 0. Outside its
 * domain an operation gives NaN or an infinity as C's does, unless said otherwise.
 */
typedef enum tacit_op {
  /* leaves and lists have constructors of their own, below */
  TACIT_OP_CONSTANT,
  TACIT_OP_COLUMN,
  TACIT_OP_PARAMETER,
  TACIT_OP_DOT,
  TACIT_OP_LOOKUP,
  /* arithmetic */
  TACIT_OP_ADD,
  TACIT_OP_SUB,
  TACIT_OP_MUL,
  TACIT_OP_DIV,
  TACIT_OP_NEG,
  TACIT_OP_ABS,
  TACIT_OP_MIN, /* the derivative at a tie is that of the first */
  TACIT_OP_MAX,
  TACIT_OP_FLOOR, /* derivative 0 */
  TACIT_OP_SQRT,
  TACIT_OP_POW,
  /* truth */
  TACIT_OP_LESS,
  TACIT_OP_AT_MOST,
  TACIT_OP_EQUAL,
  TACIT_OP_SELECT, /* a ? b : c; a must not depend on parameters (the density would jump): a front end's to
                      check */
  /* exponentials */
  TACIT_OP_EXP,
  TACIT_OP_EXPM1,
  TACIT_OP_LOG,
  TACIT_OP_LOG1P,
  TACIT_OP_LOG1P_EXP,   /* log(1 + e^a) */
  TACIT_OP_LOG1M_EXP,   /* log(1 - e^a), a < 0 */
  TACIT_OP_LOG_ADD_EXP, /* log(e^a + e^b); of two that are -inf: -inf */
  TACIT_OP_INV_LOGIT,
  TACIT_OP_TANH,
  /* special functions */
  TACIT_OP_LGAMMA, /* log |gamma(a)| */
  TACIT_OP_DIGAMMA,
  TACIT_OP_TRIGAMMA,     /* the derivative of digamma */
  TACIT_OP_LGAMMA_DIFF,  /* log gamma(a + b) - log gamma(a), a and a + b positive: without what cancels */
  TACIT_OP_DIGAMMA_DIFF, /* digamma(a + b) - digamma(a) */
  TACIT_OP_ERF,
  TACIT_OP_ERFC,
  TACIT_OP_PHI,     /* of the standard normal */
  TACIT_OP_LOG_PHI, /* log Phi(a), to -37 and beyond without underflow */
  TACIT_OP_INV_PHI,
  TACIT_OP_SIN,
  TACIT_OP_COS,
  TACIT_OP_ATAN,
  /* made by simplification and differentiation; a front end need not use them */
  TACIT_OP_RATIO1, /* a / (1 + a^2), in [-1/2, 1/2] */
  TACIT_OP_RATIO2, /* a^2 / (1 + a^2), in [0, 1] */
  TACIT_OP_MILLS,  /* phi(a) / Phi(a): the derivative of log Phi */
  TACIT_OP_COUNT
} tacit_op_t;

/* Name of an operation and how many operands it has. */
const char *tacit_op_name(tacit_op_t op);
unsigned tacit_op_arity(tacit_op_t op);

tacit_graph_t *tacit_graph_new(void); /* NULL: out of memory */
void tacit_graph_free(tacit_graph_t *graph);
/* The first thing that went wrong: TACIT_ERR_MEMORY, TACIT_ERR_ARGUMENT (a limit, which the message names);
 * or TACIT_OK. */
tacit_status_t tacit_graph_status(const tacit_graph_t *graph, tacit_error_t *err);

/* ---- leaves ---- */

tacit_node_t tacit_graph_constant(tacit_graph_t *graph, double value);

/* A number of each record. */
typedef struct tacit_graph_column {
  const char *source; /* column of the table; copied */
  double offset;      /* is added to the table's value: 1 for levels, which the table numbers from 0 */
  double level; /* not NaN: the number is 1 where the table has this value and 0 elsewhere (an indicator of a
                   level) */
  double lower, upper; /* finite; values beyond are moved to the nearer one when records are packed. After
                          offset, level */
  bool is_integer;     /* whole numbers: bounds must be whole; may index */
} tacit_graph_column_t;
/* Equal declarations give the same node. */
tacit_node_t tacit_graph_column(tacit_graph_t *graph, const tacit_graph_column_t *column);

/* ---- expressions ---- */

/* Operands that `op` does not have are TACIT_NODE_NONE. */
tacit_node_t tacit_graph_apply(tacit_graph_t *graph, tacit_op_t op, tacit_node_t a, tacit_node_t b,
                               tacit_node_t c);
/* Sum of n nodes, 0 for none: balanced, so that it is as exact as it can be. */
tacit_node_t tacit_graph_sum(tacit_graph_t *graph, size_t n, const tacit_node_t *terms);
/*
 * Sum of a[i] b[i]. Where one side is data and the other parameters, it is one operation, and its gradient
 * takes no room: use it for linear predictors, also where either side's elements are expressions.
 */
tacit_node_t tacit_graph_dot(tacit_graph_t *graph, size_t n, const tacit_node_t *a, const tacit_node_t *b);
/*
 * elements[index - 1]; the index is clamped to 1 .. n. Constants, or data of whole numbers. Elements of any
 * rate. An element may be an infinite constant where that is a limit: an ordered outcome's cut points, with
 * -inf and inf at the ends, need no cases: with h = c[y], l = c[y - 1] so extended, log P(y) = -log1p_exp(eta
 * - h) - log1p_exp(l - eta) + log1m_exp(l - h) has slopes in [-1, 1] and is never masked.
 */
tacit_node_t tacit_graph_index(tacit_graph_t *graph, tacit_node_t index, size_t n,
                               const tacit_node_t *elements);
/* log of the sum of e^terms[i], n >= 1; each weight in its gradient is in [0, 1] by construction. */
tacit_node_t tacit_graph_log_sum_exp(tacit_graph_t *graph, size_t n, const tacit_node_t *terms);

tacit_rate_t tacit_graph_rate(const tacit_graph_t *graph, tacit_node_t node);
/* Is it a constant, and which? */
bool tacit_graph_is_constant(const tacit_graph_t *graph, tacit_node_t node, double *value);

/* ---- parameters ---- */

typedef enum tacit_constraint {
  TACIT_CONSTRAINT_NONE,
  TACIT_CONSTRAINT_LOWER,    /* a + e^u */
  TACIT_CONSTRAINT_UPPER,    /* b - e^u */
  TACIT_CONSTRAINT_INTERVAL, /* a + (b - a) inv_logit(u) */
  TACIT_CONSTRAINT_AFFINE,   /* a + b u: offset a, multiplier b > 0 */
  TACIT_CONSTRAINT_ORDERED,  /* increasing; gaps are log(1 + e^u), so that a gap's slope is at most 1 */
  TACIT_CONSTRAINT_POSITIVE_ORDERED,
  TACIT_CONSTRAINT_SIMPLEX,     /* stick breaking; n values of n - 1 parameters */
  TACIT_CONSTRAINT_SUM_TO_ZERO, /* n values of n - 1 parameters, by an isometry: independent normals of one sd
                                   stay such */
  TACIT_CONSTRAINT_CORR,        /* L L', L as below; n = k^2 values, by rows, of k (k - 1) / 2 parameters */
  TACIT_CONSTRAINT_CORR_CHOLESKY /* lower triangular of unit rows and positive diagonal, by partial
                                    correlations tanh(u) */
} tacit_constraint_t;

/*
 * Declare n >= 1 values under a constraint that holds for each (or, from ordered on, for them together): adds
 * the unconstrained parameters, in order, and the log Jacobian of the transform to the prior. values, shape
 * (n), are the constrained ones. a and b as above, TACIT_NODE_NONE where not used; they may depend on earlier
 * parameters, not on data. `name` is for messages; copied.
 */
void tacit_graph_parameters(tacit_graph_t *graph, const char *name, tacit_constraint_t constraint, size_t n,
                            tacit_node_t a, tacit_node_t b, tacit_node_t *values);

/* ---- what the program says ---- */

/* Add to a record's log-likelihood. */
void tacit_graph_add_record_term(tacit_graph_t *graph, tacit_node_t term);
/* Add to the log prior, which counts once; its rate is at most parameter. */
void tacit_graph_add_prior_term(tacit_graph_t *graph, tacit_node_t term);
/* How a record's response arises, where one statement says it: `value` is what is distributed, at data rate.
 */
typedef struct tacit_graph_response {
  tacit_node_t value, density; /* its log density, censored or not */
  tacit_node_t
      seen; /* data: 1 where the response is seen, 0 where it is known to be larger; NONE: always seen */
  char distribution[32]; /* name of the distribution: "weibull" */
  size_t n_args;
  tacit_node_t args[4]; /* of the distribution, where they are numbers and at most 4; else n_args is 0 */
} tacit_graph_response_t;
/* Of several responses, none counts. */
void tacit_graph_set_response(tacit_graph_t *graph, const tacit_graph_response_t *response);
/* Report a value at parameter rate: label "mu[1]" for people, name "mu.1" for Stan CSV; both copied. In the
 * order of the calls. */
void tacit_graph_report(tacit_graph_t *graph, const char *label, const char *name, tacit_node_t value);

#endif
