#include <math.h>
#include <string.h>

#include "program/lower.h"

static const tacit_value_t NOTHING = {0};

/* Functions of numbers that the graph has; of containers they are element by element. */
static const struct {
  const char *name;
  tacit_op_t op;
} operations[] = {{"abs", TACIT_OP_ABS},
                  {"fabs", TACIT_OP_ABS},
                  {"fmin", TACIT_OP_MIN},
                  {"fmax", TACIT_OP_MAX},
                  {"floor", TACIT_OP_FLOOR},
                  {"sqrt", TACIT_OP_SQRT},
                  {"pow", TACIT_OP_POW},
                  {"exp", TACIT_OP_EXP},
                  {"expm1", TACIT_OP_EXPM1},
                  {"log", TACIT_OP_LOG},
                  {"log1p", TACIT_OP_LOG1P},
                  {"log1p_exp", TACIT_OP_LOG1P_EXP},
                  {"log1m_exp", TACIT_OP_LOG1M_EXP},
                  {"inv_logit", TACIT_OP_INV_LOGIT},
                  {"tanh", TACIT_OP_TANH},
                  {"lgamma_of_positive", TACIT_OP_LGAMMA},
                  {"lgamma_diff", TACIT_OP_LGAMMA_DIFF},
                  {"digamma", TACIT_OP_DIGAMMA},
                  {"trigamma", TACIT_OP_TRIGAMMA},
                  {"erf", TACIT_OP_ERF},
                  {"erfc", TACIT_OP_ERFC},
                  {"Phi", TACIT_OP_PHI},
                  {"log_Phi", TACIT_OP_LOG_PHI},
                  {"inv_Phi", TACIT_OP_INV_PHI},
                  {"sin", TACIT_OP_SIN},
                  {"cos", TACIT_OP_COS},
                  {"atan", TACIT_OP_ATAN}};

static const struct {
  const char *name;
  double value;
} numbers[] = {{"pi", 3.14159265358979323846},
               {"e", 2.71828182845904523536},
               {"sqrt2", 1.41421356237309504880},
               {"log2", 0.69314718055994530942},
               {"log10", 2.30258509299404568402},
               {"not_a_number", NAN},
               {"positive_infinity", INFINITY},
               {"negative_infinity", -INFINITY},
               {"machine_precision", 2.220446049250313e-16}};

enum {
  N_OPERATIONS = sizeof operations / sizeof operations[0],
  N_NUMBERS = sizeof numbers / sizeof numbers[0]
};

void tacit_lower_offer_builtins(tacit_nearest_t *nearest) {
  for (size_t i = 0; i < N_OPERATIONS; i++) {
    tacit_nearest_offer(nearest, operations[i].name);
  }
  for (size_t i = 0; i < N_NUMBERS; i++) {
    tacit_nearest_offer(nearest, numbers[i].name);
  }
  tacit_lower_offer_containers(nearest);
}

bool tacit_lower_builtin(tacit_lower_t *lower, size_t offset, const char *name, tacit_value_t *args, size_t n,
                         tacit_value_t *result) {
  for (size_t i = 0; i < N_NUMBERS; i++) {
    if (n == 0 && strcmp(numbers[i].name, name) == 0) {
      *result = tacit_value_number(lower, numbers[i].value, false);
      return true;
    }
  }
  for (size_t i = 0; i < N_OPERATIONS; i++) {
    if (strcmp(operations[i].name, name) == 0 && tacit_op_arity(operations[i].op) == n) {
      *result = tacit_lower_map(lower, offset, operations[i].op, &args[0], n > 1 ? &args[1] : NULL);
      return true;
    }
  }
  return false;
}

tacit_value_t tacit_lower_sum(tacit_lower_t *lower, size_t offset, const tacit_value_t *a) {
  if (a->kind == TACIT_TYPE_VOID || a->n_dims == 0) {
    return *a;
  }
  tacit_type_kind_t kind = a->kind == TACIT_TYPE_INT ? TACIT_TYPE_INT : TACIT_TYPE_REAL;
  tacit_node_t sum = TACIT_NODE_NONE;
  for (size_t i = 0; i < a->n && sum == TACIT_NODE_NONE; i++) {
    const tacit_mark_t *mark = tacit_mark_of(lower, a->nodes[i]);
    if (mark != NULL && mark->kind != TACIT_MARK_SUM) {
      sum = tacit_mark_use(lower, offset, a->nodes[i]);
    } else if (mark != NULL) {
      tacit_node_t all = a->nodes[0];
      for (size_t k = 1; k < a->n; k++) {
        all = tacit_lower_apply(lower, offset, TACIT_OP_ADD, all, a->nodes[k], TACIT_NODE_NONE);
      }
      return tacit_value_scalar(lower, kind, all);
    }
  }
  if (sum == TACIT_NODE_NONE) {
    sum = tacit_graph_sum(lower->graph, a->n, a->nodes);
    if (tacit_value_has_axis(a)) {
      sum = tacit_mark_new(
          lower,
          (tacit_mark_t){.kind = TACIT_MARK_SUM, .record = sum, .once = tacit_lower_constant(lower, 0)});
    }
  }
  return tacit_value_scalar(lower, kind, sum);
}

/* ---- regression in one call: x is a row of the features, what follows are the other arguments ---- */

static bool starts_with(const char *name, const char *beginning) {
  return strncmp(name, beginning, strlen(beginning)) == 0;
}

bool tacit_lower_glm(tacit_lower_t *lower, size_t offset, const char *name, tacit_value_t *args, size_t n,
                     tacit_value_t *result) {
  static const struct {
    const char *name, *density;
    size_t n_args;
    bool has_cutpoints; /* x, beta, c in place of x, alpha, beta */
  } forms[] = {{"bernoulli_logit_glm_lp", "bernoulli_logit_lpmf", 4, false},
               {"poisson_log_glm_lp", "poisson_log_lpmf", 4, false},
               {"neg_binomial_2_log_glm_lp", "neg_binomial_2_log_lpmf", 5, false},
               {"normal_id_glm_lp", "normal_lpdf", 5, false},
               {"categorical_logit_glm_lp", "categorical_logit_lpmf", 4, false},
               {"ordered_logistic_glm_lp", "ordered_logistic_lpmf", 4, true}};
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    if (!starts_with(name, forms[i].name) || n != forms[i].n_args) {
      continue;
    }
    tacit_value_t x = args[1], beta = args[forms[i].has_cutpoints ? 2 : 3];
    if (x.kind == TACIT_TYPE_ROW && x.n_array == 0) { /* one record's features */
      x.kind = TACIT_TYPE_ROW;
    }
    tacit_value_t eta = tacit_lower_product(lower, offset, &x, &beta);
    if (!forms[i].has_cutpoints && eta.kind != TACIT_TYPE_VOID) {
      tacit_value_t alpha = args[2];
      if (strcmp(forms[i].density, "categorical_logit_lpmf") ==
          0) { /* x is a row, alpha a vector with a place for each class */
        alpha.kind = TACIT_TYPE_ROW;
        eta.kind = eta.n_dims == 2 && eta.dims[0] == TACIT_AXIS ? TACIT_TYPE_ROW : eta.kind;
        eta.n_array = eta.n_dims == 2 ? 1 : 0;
        for (size_t k = 0; k < eta.n && alpha.n == eta.n; k++) {
          eta.nodes[k] =
              tacit_lower_apply(lower, offset, TACIT_OP_ADD, eta.nodes[k], alpha.nodes[k], TACIT_NODE_NONE);
        }
      } else {
        eta = tacit_lower_map(lower, offset, TACIT_OP_ADD, &eta, &alpha);
      }
    }
    if (eta.kind == TACIT_TYPE_VOID) {
      return true;
    }
    tacit_value_t rest[3] = {args[0], eta, forms[i].has_cutpoints ? args[3] : n > 4 ? args[4] : NOTHING};
    size_t n_rest = forms[i].has_cutpoints || n > 4 ? 3 : 2;
    lower->glm.density = forms[i].density;
    lower->glm.n = n_rest;
    memcpy(lower->glm.args, rest, sizeof rest);
    *result = tacit_lower_call_values(lower, offset, forms[i].density, rest, n_rest);
    return true;
  }
  return false;
}
