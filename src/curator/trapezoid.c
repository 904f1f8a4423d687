/*
 * The decision on a Langevin proposal (docs/theory.md, section 16). Gradients are those of the lattice, integers k of 2^-20 of
 * the bound: they are what the proposal's drift was made of, so that the ratio is exact for them.
 */
#include <math.h>
#include <string.h>

#include "curator/curator_internal.h"

static const double unit = 0x1p32;

/* Public sizes of a step, from which every bound follows. */
typedef struct sizes {
  double grad_bound, ratio_bound; /* b and the largest B, without the temperature's power */
  double spacing;                 /* of the lattice of gradients */
  double rounding;                /* of a lattice gradient, in the norm, in spacings: truncation and the kernels' own slack */
  double reach;                   /* largest step in the norm of W^-1, in steps */
  double change, sum;             /* clips of G - G' and G + G' in the norm of W */
  double change_units;            /* clip of one record's share of G - G', in spacings */
  double error_units;             /* clip of one record's trapezoidal error, in units of the log ratio */
} sizes_t;

static sizes_t sizes_of(const tacit_curator_t *curator, const tacit_accept_rule_t *rule, double step) {
  const tacit_record_model_t *model = curator->model;
  double power = curator->settings.temperature_power, d = (double)model->dim;
  sizes_t s = {.grad_bound = tacit_curator_grad_bound(curator) / power, .ratio_bound = rule->max_bound / power};
  s.spacing = power * s.grad_bound * ldexp(1, -TACIT_LATTICE_BITS);
  s.rounding = sqrt(d) + ((double)model->n_linear + 64) * 0x1p-23 * (double)(1 << TACIT_LATTICE_BITS);
  s.reach = sqrt(d) + 1.5;
  s.change = 1.5 * step * s.reach;
  s.sum = 2 * (sqrt(d) + 2.5);
  s.change_units = ceil(0.25 * s.ratio_bound * (double)(1 << TACIT_LATTICE_BITS) + 2 * s.rounding);
  double cubic = s.ratio_bound * s.ratio_bound * s.ratio_bound / (72 * sqrt(3));
  /* the rounding acts along the step; that of one class has at most the length of its ratio bound, an L1 norm */
  double length = s.ratio_bound * sqrt((double)(model->n_linear > 0 ? model->n_linear : 1));
  s.error_units = ceil(power * (cubic + s.rounding * ldexp(s.grad_bound * length, -TACIT_LATTICE_BITS)) * unit) + 3;
  return s;
}

static double largest(const double *x, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) {
    most = fmax(most, x[i]);
  }
  return most;
}

tacit_event_t tacit_curator_langevin_event(const tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                           const double *inv_metric, double step) {
  tacit_event_t event = tacit_curator_accept_event(curator, rule);
  sizes_t s = sizes_of(curator, rule, step);
  double root = sqrt(largest(inv_metric, curator->model->dim)), factor = tacit_curator_sensitivity_factor(curator);
  double quadratic = step * step / 8 *
                     (s.change_units * s.spacing * root * s.sum + 2 * s.spacing * (double)(1 << TACIT_LATTICE_BITS) * root * s.change);
  bool is_bounded = curator->model->is_softmax && isfinite(s.grad_bound);
  event.sensitivity = is_bounded ? factor * (s.error_units / unit + quadratic) * (1 + 1e-9) + 4 / unit : INFINITY;
  return event;
}

static tacit_status_t check(const tacit_curator_t *curator, const tacit_accept_rule_t *rule, tacit_error_t *err) {
  const tacit_record_model_t *model = curator->model;
  double clip = curator->settings.clip_bound_grad;
  bool is_clipped = clip > 0 && clip < curator->settings.temperature_power * model->grad_bound;
  if (curator->is_exposed) {
    return tacit_error_set(err, TACIT_ERR_STATE, "curator", "an exposed curator makes no secret decisions");
  }
  if (!model->is_softmax || is_clipped || curator->unit_offsets != NULL || curator->settings.max_unit_rows > 1) {
    return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "method",
                           "Langevin decisions need bounds that are known for families bernoulli and categorical, without "
                           "clipping and with one row a unit: use dp-hmc here");
  }
  if (rule->kind != TACIT_ACCEPT_BARKER && rule->kind != TACIT_ACCEPT_PENALTY) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rule", "Langevin decisions are made by the barker or the penalty rule");
  }
  return TACIT_OK;
}

/* A pass over all records for one pair; curator->pairs holds theta and theta_prop, theta_float the same. */
typedef struct langevin_pass {
  tacit_curator_t *curator;
  const double *step;
  tacit_lattice_t lattice;
  tacit_trapezoid_t bounds;
} langevin_pass_t;

static void langevin_part(void *user, size_t first, size_t last, size_t thread) {
  const langevin_pass_t *pass = user;
  const tacit_curator_t *curator = pass->curator;
  const tacit_record_model_t *model = curator->model;
  tacit_workspace_t *w = &curator->workspaces[thread];
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  size_t dim = model->dim;
  double ratios[16];
  memset(w->lanes64, 0, (2 * dim + 1) * 16 * sizeof *w->lanes64);
  for (size_t b = first; b < last; b++) {
    const float *block = tacit_records_block(curator->records, b), *norms = curator->lane_norm + b * 16;
    memset(w->lanes, 0, 2 * dim * 16 * sizeof *w->lanes);
    model->residual(model->ctx, block, 2, curator->theta_float, w->rows);
    kernel->linear(model, block, norms, &pass->lattice, 2, w->rows, w->lanes, &w->notes);
    model->log_lik(model->ctx, block, 2, curator->pairs, w->log_lik);
    kernel->ratio_unclipped(norms, curator->settings.temperature_power, w->log_lik, ratios);
    kernel->trapezoid(dim, &pass->bounds, pass->step, w->lanes, ratios, w->lanes64);
  }
  tacit_workspace_flush(w, 2 * dim + 1, true);
}

/* curator->sums <- k' - k, clipped, shape (dim); k + k', shape (dim); trapezoidal errors in units of the log ratio. */
static void sum_records(tacit_curator_t *curator, const sizes_t *s, const double *step) {
  langevin_pass_t pass = {.curator = curator, .step = step};
  pass.lattice = tacit_lattice_for(curator->model, curator->settings.temperature_power, tacit_curator_grad_bound(curator));
  /* Log ratios saturate at 2^51 units: no clip is ever larger. Nor is a change, of two integers of 2^20, larger than 2^22. */
  pass.bounds = (tacit_trapezoid_t){s->spacing, fmin(s->change_units, 0x1p22), fmin(s->error_units, 0x1p51)};
  tacit_curator_sum_blocks(curator, 2 * curator->model->dim + 1, langevin_part, &pass);
}

/* Scale x, shape (n), to norm at most `most`. */
static void clip(double *x, size_t n, double most) {
  double square = 0;
  for (size_t j = 0; j < n; j++) {
    square += x[j] * x[j];
  }
  double factor = square > most * most ? most / sqrt(square) : 1;
  for (size_t j = 0; j < n; j++) {
    x[j] *= factor;
  }
}

/* step^2 / 8 (G - G') W (G + G'), the two factors clipped; `work` has shape (2, dim). */
static double quadratic_term(const tacit_curator_t *curator, const sizes_t *s, const tacit_langevin_pairs_t *l, size_t k,
                             double *work) {
  size_t dim = curator->model->dim;
  const tacit_wide_t *changes = curator->sums, *sums = changes + dim;
  double *change = work, *sum = work + dim, product = 0;
  for (size_t j = 0; j < dim; j++) {
    double root = sqrt(l->inv_metric[j]), g = l->prior_grad[k * dim + j], g_prop = l->prior_grad_prop[k * dim + j];
    change[j] = root * (g - g_prop - s->spacing * (double)changes[j]);
    sum[j] = root * (g + g_prop + s->spacing * (double)sums[j]);
  }
  clip(change, dim, s->change);
  clip(sum, dim, s->sum);
  for (size_t j = 0; j < dim; j++) {
    product += change[j] * sum[j];
  }
  return l->step * l->step / 8 * product;
}

/* Public: is the proposal near enough for its bounds to hold? step <- theta_prop - theta */
static bool is_near(const tacit_curator_t *curator, const tacit_accept_rule_t *rule, const tacit_langevin_pairs_t *l,
                    const sizes_t *s, size_t k, double *step) {
  size_t dim = curator->model->dim;
  const double *from = l->pairs.theta + k * dim, *to = l->pairs.theta_prop + k * dim;
  double square = 0;
  for (size_t j = 0; j < dim; j++) {
    step[j] = to[j] - from[j];
    square += step[j] * step[j] / l->inv_metric[j];
  }
  return tacit_curator_ratio_bound(curator, from, to) <= rule->max_bound && sqrt(square) <= l->step * s->reach;
}

/* The prior's own trapezoidal error; l->pairs.correction is the log prior ratio. */
static double public_part(const tacit_langevin_pairs_t *l, size_t k, size_t dim, const double *step) {
  double sum = l->pairs.correction[k];
  for (size_t j = 0; j < dim; j++) {
    sum -= 0.5 * step[j] * (l->prior_grad[k * dim + j] + l->prior_grad_prop[k * dim + j]);
  }
  return sum;
}

bool tacit_langevin_is_near(const tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                            const tacit_langevin_pairs_t *l, size_t k, double *work) {
  sizes_t s = sizes_of(curator, rule, l->step);
  return is_near(curator, rule, l, &s, k, work) && isfinite(l->pairs.correction[k]);
}

tacit_wide_t tacit_langevin_log_ratio(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                      const tacit_langevin_pairs_t *l, size_t k, double *work) {
  size_t dim = curator->model->dim;
  sizes_t s = sizes_of(curator, rule, l->step);
  double *step = work, *factors = work + dim;
  memcpy(curator->pairs, l->pairs.theta + k * dim, dim * sizeof *curator->pairs);
  memcpy(curator->pairs + dim, l->pairs.theta_prop + k * dim, dim * sizeof *curator->pairs);
  for (size_t j = 0; j < 2 * dim; j++) {
    curator->theta_float[j] = (float)curator->pairs[j];
  }
  for (size_t j = 0; j < dim; j++) {
    step[j] = curator->pairs[dim + j] - curator->pairs[j];
  }
  sum_records(curator, &s, step);
  double quadratic = quadratic_term(curator, &s, l, k, factors);
  return curator->sums[2 * dim] + tacit_public_log_ratio(quadratic) + tacit_public_log_ratio(public_part(l, k, dim, step));
}

static tacit_status_t decide_pair(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                  const tacit_langevin_pairs_t *l, size_t k, double *work, tacit_error_t *err) {
  if (!tacit_langevin_is_near(curator, rule, l, k, work)) {
    return TACIT_OK;
  }
  tacit_event_t event = tacit_curator_langevin_event(curator, rule, l->inv_metric, l->step);
  tacit_status_t status = tacit_budget_charge(curator->budget, &event, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_wide_t log_ratio = tacit_langevin_log_ratio(curator, rule, l, k, work);
  return tacit_curator_decide(curator, rule, 0, log_ratio, &l->pairs.accepted[k], err);
}

tacit_status_t tacit_curator_release_langevin_accept(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                                     const tacit_langevin_pairs_t *l, tacit_error_t *err) {
  size_t dim = curator->model->dim;
  memset(l->pairs.accepted, 0, l->pairs.n * sizeof *l->pairs.accepted);
  tacit_status_t status = check(curator, rule, err);
  if (status == TACIT_OK) {
    status = tacit_curator_check_points(curator, l->pairs.n, l->pairs.theta, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_check_points(curator, l->pairs.n, l->pairs.theta_prop, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_reserve(curator, 3, err);
  }
  double *work = status == TACIT_OK ? tacit_alloc(3 * dim, sizeof *work) : NULL;
  if (status == TACIT_OK && work == NULL) {
    status = tacit_error_memory(err);
  }
  for (size_t k = 0; status == TACIT_OK && k < l->pairs.n; k++) {
    status = decide_pair(curator, rule, l, k, work, err);
  }
  tacit_free(work);
  if (status != TACIT_OK) {
    memset(l->pairs.accepted, 0, l->pairs.n * sizeof *l->pairs.accepted);
  }
  return status;
}
