/*
 * The decision on a Langevin proposal (docs/theory.md, section 16). Gradients are those of the lattice,
 * integers k of 2^-20 of the bound: they are what the proposal's drift was made of, so that the ratio is
 * exact for them. The door adds up k' - k, k + k' and the trapezoidal errors, and takes step^2 / 8 (G - G') W
 * (G + G') of the first two.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "curator/curator_internal.h"

enum { LATTICE_BITS = 20 }; /* the door's, of vectors */

static const double unit = 0x1p32;

/* Public sizes of a step, from which every bound follows. */
typedef struct sizes {
  double grad_bound, ratio_bound; /* b and the largest B, without the temperature's power */
  double spacing;                 /* of the lattice of gradients */
  double
      rounding; /* of a lattice gradient, in the norm, in spacings: truncation and the kernels' own slack */
  double reach; /* largest step in the norm of W^-1, in steps */
  double change, sum;  /* clips of G - G' and G + G' in the norm of W */
  double change_units; /* clip of one record's share of G - G', in spacings */
  double error_units;  /* clip of one record's trapezoidal error, in units of the log ratio */
} sizes_t;

static sizes_t sizes_of(const tacit_curator_t *curator, const tacit_accept_rule_t *rule, double step) {
  const tacit_record_model_t *model = curator->model;
  double power = curator->settings.temperature_power, d = (double)model->dim;
  sizes_t s = {.grad_bound = tacit_curator_grad_bound(curator) / power,
               .ratio_bound = rule->max_bound / power};
  s.spacing = power * s.grad_bound * ldexp(1, -LATTICE_BITS);
  s.rounding = sqrt(d) + ((double)model->n_linear + 64) * 0x1p-23 * (double)(1 << LATTICE_BITS);
  s.reach = sqrt(d) + 1.5;
  s.change = 1.5 * step * s.reach;
  s.sum = 2 * (sqrt(d) + 2.5);
  s.change_units = ceil(0.25 * s.ratio_bound * (double)(1 << LATTICE_BITS) + 2 * s.rounding);
  double cubic = s.ratio_bound * s.ratio_bound * s.ratio_bound / (72 * sqrt(3));
  /* the rounding acts along the step; that of one class has at most the length of its ratio bound, an L1 norm
   */
  double length = s.ratio_bound * sqrt((double)(model->n_linear > 0 ? model->n_linear : 1));
  s.error_units = ceil(power * (cubic + s.rounding * ldexp(s.grad_bound * length, -LATTICE_BITS)) * unit) + 3;
  return s;
}

/* What the door is told of a step; the sums' scale, and what is added, are `numbers`. */
static tacit_door_product_t product_of(const tacit_curator_t *curator, const sizes_t *s, double step,
                                       const double *scale) {
  return (tacit_door_product_t){.dim = curator->model->dim,
                                .weight = -step * step / 8,
                                .scale = scale,
                                .radius = {(int64_t)fmin(s->change_units, 0x1p22), 2 << LATTICE_BITS},
                                .clip = {s->change, s->sum},
                                .most = (int64_t)fmin(s->error_units, 0x1p51)};
}

static void set_scale(const tacit_curator_t *curator, const sizes_t *s, const double *inv_metric,
                      double *scale) {
  for (size_t j = 0; j < curator->model->dim; j++) {
    scale[j] = sqrt(inv_metric[j]) * s->spacing;
  }
}

tacit_event_t tacit_curator_langevin_event(const tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                           const double *inv_metric, double step) {
  sizes_t s = sizes_of(curator, rule, step);
  bool is_bounded = curator->model->is_softmax && isfinite(s.grad_bound);
  double largest = 0, factor = tacit_curator_sensitivity_factor(curator);
  for (size_t j = 0; j < curator->model->dim; j++) {
    largest = fmax(largest, inv_metric[j]);
  }
  double scale = sqrt(largest) * s.spacing;
  tacit_door_product_t product = product_of(curator, &s, step, &scale);
  product.dim = 1; /* an event knows the largest scale alone */
  tacit_event_t event =
      is_bounded ? tacit_product_event(rule, factor, &product) : tacit_accept_event(rule, factor);
  event.sensitivity = is_bounded ? event.sensitivity : INFINITY;
  return event;
}

static tacit_status_t check_trapezoid(const tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                      tacit_error_t *err) {
  const tacit_record_model_t *model = curator->model;
  double clip = curator->settings.clip_bound_grad;
  bool is_clipped = clip > 0 && clip < curator->settings.temperature_power * model->grad_bound;
  if (tacit_curator_is_exposed(curator)) {
    return tacit_error_set(err, TACIT_ERR_STATE, "curator", "an exposed curator makes no secret decisions");
  }
  if (!model->is_softmax || is_clipped || tacit_door_has_units(curator->door)) {
    return tacit_error_set(
        err, TACIT_ERR_SENSITIVITY, "method",
        "Langevin decisions need bounds that are known for families bernoulli and categorical, without "
        "clipping and with one row a unit: use dp-hmc here");
  }
  if (rule->kind != TACIT_ACCEPT_BARKER && rule->kind != TACIT_ACCEPT_PENALTY) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rule",
                           "Langevin decisions are made by the barker or the penalty rule");
  }
  return TACIT_OK;
}

/* Scratch, in this order. */
typedef struct scratch {
  double log_lik[2 * 16], ratios[16];
} scratch_t;

static size_t scratch_size(const tacit_record_model_t *model) {
  return sizeof(scratch_t) +
         2 * 16 * ((model->n_linear + model->n_extra) * sizeof(float) + model->dim * sizeof(int32_t));
}

static void lanes(const void *ctx, const float *block, const float *norms, void *work, int64_t *out) {
  const tacit_langevin_work_t *of = ctx;
  const tacit_curator_t *curator = of->curator;
  const tacit_record_model_t *model = curator->model;
  scratch_t *scratch = work;
  int32_t *gradients = (int32_t *)(scratch + 1);
  float *rows = (float *)(gradients + 2 * 16 * model->dim);
  memset(gradients, 0, 2 * 16 * model->dim * sizeof *gradients);
  model->residual(model->ctx, block, 2, curator->theta_float, rows);
  tacit_door_round(&of->vectors, model->n_columns, block, norms, rows, gradients);
  model->log_lik(model->ctx, block, 2, curator->pairs, scratch->log_lik);
  tacit_grid_functions()->ratio(curator->settings.temperature_power, scratch->log_lik, scratch->ratios);
  tacit_grid_functions()->trapezoid(model->dim, &of->bounds, of->step, gradients, scratch->ratios, out);
}

/* Public: is the proposal near enough for its bounds to hold? step <- theta_prop - theta */
static bool is_near(const tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                    const tacit_langevin_pairs_t *l, const sizes_t *s, size_t k, double *step) {
  size_t dim = curator->model->dim;
  const double *from = l->pairs.theta + k * dim, *to = l->pairs.theta_prop + k * dim;
  double square = 0;
  for (size_t j = 0; j < dim; j++) {
    step[j] = to[j] - from[j];
    square += step[j] * step[j] / l->inv_metric[j];
  }
  return tacit_curator_ratio_bound(curator, from, to) <= rule->max_bound &&
         sqrt(square) <= l->step * s->reach;
}

/* The prior's own trapezoidal error; l->pairs.correction is the log prior ratio. */
static double public_part(const tacit_langevin_pairs_t *l, size_t k, size_t dim, const double *step) {
  double sum = l->pairs.correction[k];
  for (size_t j = 0; j < dim; j++) {
    sum -= 0.5 * step[j] * (l->prior_grad[k * dim + j] + l->prior_grad_prop[k * dim + j]);
  }
  return sum;
}

bool tacit_langevin_product(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                            const tacit_langevin_pairs_t *l, size_t k, double *workspace,
                            tacit_langevin_work_t *work, tacit_door_product_t *product) {
  const tacit_record_model_t *model = curator->model;
  size_t dim = model->dim;
  sizes_t s = sizes_of(curator, rule, l->step);
  double *step = workspace, *scale = step + dim, *change = scale + dim, *sum = change + dim;
  if (!is_near(curator, rule, l, &s, k, step) || !isfinite(l->pairs.correction[k])) {
    return false;
  }
  memcpy(curator->pairs, l->pairs.theta + k * dim, dim * sizeof *curator->pairs);
  memcpy(curator->pairs + dim, l->pairs.theta_prop + k * dim, dim * sizeof *curator->pairs);
  for (size_t j = 0; j < 2 * dim; j++) {
    curator->theta_float[j] = (float)curator->pairs[j];
  }
  set_scale(curator, &s, l->inv_metric, scale);
  for (size_t j = 0; j < dim; j++) {
    double root = sqrt(l->inv_metric[j]), g = l->prior_grad[k * dim + j],
           g_prop = l->prior_grad_prop[k * dim + j];
    change[j] = root * (g_prop - g);
    sum[j] = root * (g_prop + g);
  }
  /* Log ratios saturate at 2^51 units: no clip is ever larger. Nor is a change, of two integers of 2^20,
   * larger than 2^22. */
  *work = (tacit_langevin_work_t){
      .curator = curator,
      .vectors = tacit_gradient_vectors(curator, 2, 1),
      .bounds = {s.spacing, fmin(s.change_units, 0x1p22), fmin(s.error_units, 0x1p51)},
      .step = step,
      .correction = public_part(l, k, dim, step)};
  *product = product_of(curator, &s, l->step, scale);
  product->add[0] = change;
  product->add[1] = sum;
  product->lanes = lanes;
  product->ctx = work;
  product->n_work = scratch_size(model);
  product->points = curator->pairs;
  product->n_numbers = 2 * dim;
  return true;
}

tacit_status_t tacit_curator_release_langevin_accept(tacit_curator_t *curator,
                                                     const tacit_accept_rule_t *rule,
                                                     const tacit_langevin_pairs_t *l, tacit_error_t *err) {
  memset(l->pairs.accepted, 0, l->pairs.n * sizeof *l->pairs.accepted);
  tacit_status_t status = check_trapezoid(curator, rule, err);
  TACIT_THEN(status, tacit_curator_check_points(curator, l->pairs.n, l->pairs.theta, err));
  TACIT_THEN(status, tacit_curator_check_points(curator, l->pairs.n, l->pairs.theta_prop, err));
  TACIT_THEN(status, tacit_curator_reserve(curator, 2, err));
  double *workspace = status == TACIT_OK
                          ? tacit_alloc(TACIT_LANGEVIN_WORKSPACE * curator->model->dim, sizeof *workspace)
                          : NULL;
  if (status == TACIT_OK && workspace == NULL) {
    status = tacit_error_memory(err);
  }
  for (size_t k = 0; status == TACIT_OK && k < l->pairs.n; k++) {
    tacit_langevin_work_t work;
    tacit_door_product_t product;
    if (tacit_langevin_product(curator, rule, l, k, workspace, &work, &product)) {
      status = tacit_door_decide_product(curator->door, &product, rule, work.correction,
                                         &l->pairs.accepted[k], err);
    }
  }
  tacit_free(workspace);
  if (status != TACIT_OK) {
    memset(l->pairs.accepted, 0, l->pairs.n * sizeof *l->pairs.accepted);
  }
  return status;
}
