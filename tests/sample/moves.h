/*
 * One chain on a logistic regression with one or two coefficients, its random numbers from a tape; the
 * target, written down plainly; and nodes and weights of the noise.
 */
#ifndef TACIT_TESTS_MOVES_H
#define TACIT_TESTS_MOVES_H

#include "tape.h"

enum { MOVES_DIM = 2, MOVES_RECORDS = 6, MOVES_STATE = 4 };

static const double moves_rows[MOVES_RECORDS][3] = {
    {1, 0.5, 1}, {-0.25, 1, 0}, {0.75, -1, 1}, {1, -0.75, 0}, {-1, 0.25, 0}, {0.5, -0.5, 1},
};

/* ---- the target: the first `dim` features of the first `n_records` records, prior N(0, 4 I) ---- */

typedef struct moves_target {
  size_t dim, n_records;
  double power; /* of the likelihood */
} moves_target_t;

static inline double moves_log_prior(const void *ctx, const double *theta, double *grad) {
  const moves_target_t *target = ctx;
  double sum = 0;
  for (size_t j = 0; j < target->dim; j++) {
    sum -= theta[j] * theta[j] / 8;
    if (grad != NULL) {
      grad[j] = -theta[j] / 4;
    }
  }
  return sum;
}

static inline double moves_density(const moves_target_t *target, const double *theta) {
  double sum = moves_log_prior(target, theta, NULL);
  for (size_t i = 0; i < target->n_records; i++) {
    double eta = theta[0] * moves_rows[i][0] + (target->dim > 1 ? theta[1] * moves_rows[i][1] : 0);
    sum += target->power * (moves_rows[i][2] * eta - logistic_log1pexp(eta));
  }
  return exp(sum);
}

/* ---- the same for the library ---- */

static inline void moves_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                                 double *out) {
  size_t dim = ((const moves_target_t *)ctx)->dim;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t i = 0; i < 16; i++) {
      double eta = 0;
      for (size_t j = 0; j < dim; j++) {
        eta += theta[dim * k + j] * (double)block[16 * j + i];
      }
      out[16 * k + i] = (double)block[16 * dim + i] * eta - logistic_log1pexp(eta);
    }
  }
}

static inline void moves_residual(const void *ctx, const float *block, size_t n_theta, const float *theta,
                                  float *out) {
  size_t dim = ((const moves_target_t *)ctx)->dim;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t i = 0; i < 16; i++) {
      float eta = 0;
      for (size_t j = 0; j < dim; j++) {
        eta += theta[dim * k + j] * block[16 * j + i];
      }
      out[16 * k + i] = block[16 * dim + i] - 1 / (1 + expf(-eta));
    }
  }
}

static inline double moves_ratio_bound(const void *ctx, const double *theta, const double *theta_prop) {
  double sum = 0;
  for (size_t j = 0; j < ((const moves_target_t *)ctx)->dim; j++) {
    sum += fabs(theta_prop[j] - theta[j]);
  }
  return sum * (1 + 1e-12);
}

typedef struct moves {
  moves_target_t target;
  tacit_record_model_t model;
  tacit_parameters_t parameters;
  tacit_sampler_settings_t settings;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_rng_t *rng;
  tacit_run_t run;
  double numbers[21][MOVES_DIM]; /* behind run's arrays */
  size_t index[2][1];
  bool flags[3][1];
  tacit_step_fn step;
} moves_t;

static inline void moves_arrays(moves_t *m) {
  tacit_run_t *r = &m->run;
  double **arrays[] = {&r->theta,        &r->theta_prop,      &r->log_prior,  &r->log_prior_prop,
                       &r->log_ratio,    &r->noise_sd,        &r->correction, &r->step_size,
                       &r->jitter_shift, &r->accept_prob,     &r->grad,       &r->grad_prop,
                       &r->momentum,     &r->scratch,         &r->direction,  &r->thermostat,
                       &r->prior_grad,   &r->prior_grad_prop, &r->packed_a,   &r->packed_b};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = m->numbers[i];
  }
  r->component = m->index[0];
  r->packed_chain = m->index[1];
  r->accepted = m->flags[0];
  r->is_active = m->flags[1];
  r->packed_accepted = m->flags[2];
  r->rngs = &m->rng;
}

static inline void moves_open_curator(moves_t *m, bool is_exposed) {
  tacit_records_t *records;
  tacit_curator_settings_t limits = tacit_curator_settings_default();
  tacit_error_t err;
  size_t dim = m->target.dim;
  assert_ok(tacit_noise_new_seeded_not_private(&m->noise, 3, &err), err);
  assert_ok(tacit_records_new(&records, m->target.n_records, dim + 1, &err), err);
  for (size_t i = 0; i < m->target.n_records; i++) {
    double row[MOVES_DIM + 1] = {moves_rows[i][0], moves_rows[i][1]};
    row[dim] = moves_rows[i][2];
    tacit_records_set(records, i, row);
  }
  limits.subset_noise = m->noise;
  limits.temperature_power = m->target.power;
  assert_ok(tacit_budget_new(&m->budget, 1, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(is_exposed
                ? tacit_curator_new_exposed(&m->run.curator, records, &m->model, &limits, &err)
                : tacit_curator_new(&m->run.curator, records, &m->model, m->budget, m->noise, &limits, &err),
            err);
}

/* m->target and m->settings are set; m must not be moved afterwards. */
static inline void moves_open(moves_t *m, const char *method, tacit_step_fn step) {
  size_t dim = m->target.dim;
  tacit_error_t err;
  m->model = (tacit_record_model_t){.name = "logistic",
                                    .dim = dim,
                                    .n_columns = dim + 1,
                                    .grad_bound = sqrt((double)dim),
                                    .ratio_bound = moves_ratio_bound,
                                    .is_softmax = true,
                                    .log_lik = moves_log_lik,
                                    .n_linear = 1,
                                    .n_features = dim,
                                    .residual = moves_residual,
                                    .ctx = &m->target};
  m->parameters = (tacit_parameters_t){.dim = dim, .log_prior = moves_log_prior, .ctx = &m->target};
  m->run = (tacit_run_t){.method = tacit_method_find(method),
                         .settings = &m->settings,
                         .own = &m->settings,
                         .parameters = &m->parameters,
                         .n_chains = 1,
                         .dim = dim};
  m->run.traits = tacit_method_traits(m->run.method, &m->settings);
  m->step = step;
  m->settings.n_warmup = 1; /* nothing is tallied */
  moves_arrays(m);
  m->run.step_size[0] = m->settings.step_size;
  moves_open_curator(m, !m->run.method->is_private);
  assert_ok(
      tacit_metric_init(&m->run.metric, dim, m->settings.inv_metric, m->settings.inv_metric_is_dense, &err),
      err);
  assert_ok(tacit_barker_check(m->run.traits, m->run.curator, &m->settings, &err), err);
}

static inline void moves_close(moves_t *m) {
  tacit_metric_clear(&m->run.metric);
  tacit_curator_free(m->run.curator);
  tacit_budget_free(m->budget);
  tacit_noise_free(m->noise);
}

static inline void moves_set(moves_t *m, const double *theta) {
  memcpy(m->run.theta, theta, m->target.dim * sizeof *theta);
  m->run.log_prior[0] = moves_log_prior(&m->target, theta, NULL);
}

/* One iteration with the numbers on the tape, all of which are used. */
static inline void moves_step(moves_t *m, bool accepts) {
  tacit_error_t err;
  tape.at = 0;
  tape.accepts = accepts;
  assert_ok(m->step(&m->run, &err), err);
  if (tape.at != tape.n) {
    fail_msg("%zu numbers of %zu were asked for", tape.at, tape.n);
  }
}

/* ---- axes of integration: what goes onto the tape, with weights ---- */

enum { MOVES_NODES = 400, MOVES_AXES = 8 };

typedef struct axis {
  size_t n;
  char kind;
  bool has_two;    /* both normals of a direction */
  bool is_aligned; /* nodes depend on the others': see axis_align() */
  double value[MOVES_NODES][2], weight[MOVES_NODES];
} axis_t;

static inline void axis_add(axis_t *axis, double value, double weight) {
  assert_true(axis->n < MOVES_NODES);
  axis->value[axis->n][0] = value;
  axis->weight[axis->n++] = weight;
}

/* Gauss' rule on [from, to]; density NULL: 1. */
static inline void axis_add_piece(axis_t *axis, double from, double to, double (*density)(double)) {
  const gauss_t *rule = gauss_rule();
  for (size_t i = 0; i < GAUSS_POINTS; i++) {
    double x = 0.5 * (from + to) + 0.5 * (to - from) * rule->x[i];
    axis_add(axis, x, 0.5 * (to - from) * rule->weight[i] * (density != NULL ? density(x) : 1));
  }
}

/* The trapezoidal rule with n nodes a unit. */
static inline void axis_add_normal(axis_t *axis, double n) {
  double reach = floor(widest * n), total = 0;
  for (double k = -reach; k <= reach; k++) {
    axis_add(axis, k / n, normal_density(k / n) / n);
    total += normal_density(k / n) / n;
  }
  assert_close(total, 1, 1e-7);
}

/*
 * Nodes, after the others are on the tape, that lead a move which is linear in number k from a multiple of
 * `spacing` to multiples of it. Distributions of moves may then bend or break where they like: what a
 * reversible one carries forth is what it carries back, node by node. Weights are those of the trapezoidal
 * rule, which does not mind where its nodes begin. A hair beside them, as a point that does not move is
 * accepted without a decision.
 */
static inline void axis_align(axis_t *axis, moves_t *m, size_t k, double spacing, void (*restore)(void *),
                              void *user) {
  double ends[2][MOVES_DIM] = {{0}}, total = 0;
  for (int z = 0; z < 2; z++) {
    restore(user);
    tape.value[k] = z;
    moves_step(m, false);
    memcpy(ends[z], m->run.theta_prop, m->target.dim * sizeof ends[z][0]);
  }
  size_t j = fabs(ends[1][0] - ends[0][0]) > 0 ? 0 : 1; /* one component moves */
  double to = ends[0][j], slope = ends[1][j] - to;
  axis->n = 0;
  for (double at = ceil((to - widest * fabs(slope)) / spacing) * spacing; at < to + widest * fabs(slope);
       at += spacing) {
    axis_add(axis, (at + 1e-9 - to) / slope, normal_density((at - to) / slope) * spacing / fabs(slope));
    total += axis->weight[axis->n - 1];
  }
  assert_close(total, 1, 1e-7);
}

/*
 * Letters as on a tape; a, b: n and g of an aligned axis, h: a normal number on which distributions depend by
 * its size, d: the direction of two, p: a sign; capitals: numbers that are asked for but must not count.
 */
static inline axis_t axis_of(char letter, double n_normal, const moves_target_t *target, double rate) {
  axis_t axis = {.kind = letter};
  switch (letter) {
  case 'n':
    axis_add_normal(&axis, n_normal);
    break;
  case 'g':
    axis_add_normal(&axis, 1);
    break; /* moves follow it less */
  case 'a':
  case 'b':
    axis_add(&axis, 0, 1);
    axis.kind = letter == 'a' ? 'n' : 'g';
    axis.is_aligned = true;
    break;
  case 'h':
    axis_add_piece(&axis, -widest, 0, normal_density);
    axis_add_piece(&axis, 0, widest, normal_density);
    axis.kind = 'n';
    break;
  case 'd':
    for (int k = 0; k < 4; k++) {
      axis_add_piece(&axis, k * acos(0), (k + 1) * acos(0), NULL);
    }
    for (size_t i = 0; i < axis.n; i++) {
      double angle = axis.value[i][0];
      axis.value[i][0] = cos(angle);
      axis.value[i][1] = sin(angle);
      axis.weight[i] /= 4 * acos(0);
    }
    axis.kind = 'n';
    axis.has_two = true;
    break;
  case 'p':
    axis_add(&axis, 0.7, 0.5);
    axis_add(&axis, -0.7, 0.5);
    axis.kind = 'n';
    break;
  case 'u':
    axis_add_piece(&axis, 0, 1, NULL);
    break;
  case 'c':
    for (size_t j = 0; j < target->dim; j++) {
      axis_add(&axis, (double)j, 1 / (double)target->dim);
    }
    break;
  case 's':
    for (unsigned set = 0; set < 1u << target->n_records; set++) {
      double n_in = (double)__builtin_popcount(set);
      axis_add(&axis, set, pow(rate, n_in) * pow(1 - rate, (double)target->n_records - n_in));
    }
    break;
  default:
    axis_add(&axis, letter == 'S' ? 1 : 0.3, 1);
    axis.kind = (char)(letter - 'A' + 'a');
    break;
  }
  return axis;
}

/* The next of all combinations of nodes; false after the last. */
static inline bool axes_next(const axis_t *axes, size_t n, size_t *at) {
  for (size_t k = 0; k < n; k++) {
    if (++at[k] < axes[k].n) {
      return true;
    }
    at[k] = 0;
  }
  return false;
}

/* tape <- the nodes; returns their weight */
static inline double axes_record(const axis_t *axes, size_t n, const size_t *at) {
  double weight = 1;
  tape_clear();
  for (size_t k = 0; k < n; k++) {
    weight *= axes[k].weight[at[k]];
    tape_push(axes[k].kind, axes[k].value[at[k]][0]);
    if (axes[k].has_two) {
      tape_push(axes[k].kind, axes[k].value[at[k]][1]);
    }
  }
  return weight;
}

#endif
