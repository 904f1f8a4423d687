/*
 * Releases that look at records drawn at random: every record independently (Poisson sampling), or a Poisson number of times
 * (TunaMH). Who was drawn, and how many, is secret and does not leave.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "curator/gather.h"

static const double unit = 0x1p32; /* grid units of a log ratio of one; of a rate of one */

/* The records in the mask, 16 at a time. */
static void for_each_block(tacit_curator_t *curator, void (*task)(tacit_curator_t *, const tacit_gather_t *, void *),
                           void *user) {
  struct tacit_minibatch *of = curator->minibatch;
  size_t n_words = (tacit_records_n(curator->records) + 63) / 64;
  for (size_t w = 0; w < n_words; w++) {
    for (uint64_t left = of->mask[w]; left != 0; left &= left - 1) {
      tacit_gather_add(&of->gather, w * 64 + (size_t)__builtin_ctzll(left));
      if (of->gather.n == 16) {
        task(curator, &of->gather, user);
        tacit_gather_clear(&of->gather);
      }
    }
  }
  if (of->gather.n > 0) {
    task(curator, &of->gather, user);
    tacit_gather_clear(&of->gather);
  }
}

static tacit_status_t check_rate(double rate, tacit_error_t *err) {
  if (rate > 0 && rate <= 1 && rate * unit == floor(rate * unit)) {
    return TACIT_OK;
  }
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rate",
                         "the sampling rate must be a multiple of 2^-32, above 0 and at most 1, not %.17g", rate);
}

double tacit_curator_sampling_rate(double rate) {
  return fmin(fmax(rint(rate * unit), 1), unit) / unit;
}

tacit_event_t tacit_curator_sampled_event(double rate, double noise_multiplier) {
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = noise_multiplier, .count = 1};
  if (rate < 1) {
    event.sampling = TACIT_SAMPLING_POISSON;
    event.sampling_rate = rate;
  }
  return event;
}

static tacit_status_t charge(tacit_curator_t *curator, double rate, double noise_multiplier, size_t count,
                             const char *label, tacit_error_t *err) {
  if (curator->is_exposed) {
    return TACIT_OK;
  }
  tacit_event_t event = tacit_curator_sampled_event(rate, noise_multiplier);
  event.count = count;
  snprintf(event.label, sizeof event.label, "%s", label);
  return tacit_budget_charge(curator->budget, &event, err);
}

static tacit_status_t prepare(tacit_curator_t *curator, size_t n_theta, const double *theta, double rate,
                              double noise_multiplier, tacit_error_t *err) {
  tacit_status_t status = tacit_curator_check_points(curator, n_theta, theta, err);
  if (status == TACIT_OK) {
    status = tacit_curator_check_noise(curator, noise_multiplier, err);
  }
  if (status == TACIT_OK) {
    status = check_rate(rate, err);
  }
  if (status == TACIT_OK) {
    status = tacit_minibatch_open(curator, err);
  }
  return status == TACIT_OK ? tacit_curator_reserve(curator, n_theta, err) : status;
}

static tacit_status_t draw_subset(tacit_curator_t *curator, double rate, tacit_error_t *err) {
  return tacit_noise_subset(curator->noise, (uint64_t)(rate * unit), tacit_records_n(curator->records),
                            curator->minibatch->mask, err);
}

/* ---- gradients ---- */

typedef struct gradient_task {
  size_t k;
  bool is_clipped;
  tacit_lattice_t lattice;
} gradient_task_t;

static void add_gradients(tacit_curator_t *curator, const tacit_gather_t *gather, void *user) {
  const gradient_task_t *task = user;
  const tacit_record_model_t *model = curator->model;
  tacit_workspace_t *w = &curator->workspaces[0];
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  const float *theta = curator->theta_float + task->k * model->dim;
  size_t n_lanes = 16 * model->dim;
  memset(w->lanes, 0, n_lanes * sizeof *w->lanes);
  memset(w->lanes64, 0, n_lanes * sizeof *w->lanes64);
  if (model->n_linear > 0) {
    model->residual(model->ctx, gather->block, 1, theta, w->rows);
  } else {
    model->grad(model->ctx, gather->block, 1, theta, w->rows);
  }
  if (!task->is_clipped) {
    kernel->exposed(model, gather->block, gather->norms, curator->settings.temperature_power, 1, w->rows, w->lanes64);
  } else if (model->n_linear > 0) {
    kernel->linear(model, gather->block, gather->norms, &task->lattice, 1, w->rows, w->lanes, &curator->notes);
  } else {
    kernel->dense(model, gather->norms, &task->lattice, 1, w->rows, w->lanes, &curator->notes);
  }
  curator->notes.n_grad += gather->n;
  for (size_t i = 0; i < n_lanes; i++) {
    curator->sums[task->k * model->dim + i / 16] += task->is_clipped ? w->lanes[i] : w->lanes64[i];
  }
}

tacit_status_t tacit_curator_release_sampled_gradient(tacit_curator_t *curator, size_t n_theta, const double *theta,
                                                      double rate, double noise_multiplier, double *out,
                                                      tacit_error_t *err) {
  size_t dim = curator->model->dim, n = n_theta * dim;
  memset(out, 0, n * sizeof *out);
  double bound = tacit_curator_grad_bound(curator);
  if (n_theta == 0) {
    return TACIT_OK;
  }
  if (!curator->is_exposed && !isfinite(bound)) {
    return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_grad",
                           "the gradient of model %s has no bound of its own: give a clip bound for it",
                           curator->model->name);
  }
  tacit_status_t status = prepare(curator, n_theta, theta, rate, noise_multiplier, err);
  if (status == TACIT_OK) {
    status = charge(curator, rate, noise_multiplier, n_theta, "gradient", err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_draw_noise(curator,
                                      noise_multiplier * tacit_curator_sensitivity_factor(curator) *
                                          (double)(1 << TACIT_LATTICE_BITS),
                                      n, curator->draws, err);
  }
  gradient_task_t task = {.is_clipped = isfinite(bound)};
  if (task.is_clipped) {
    task.lattice = tacit_lattice_for(curator->model, curator->settings.temperature_power, bound);
  }
  memset(curator->sums, 0, status == TACIT_OK ? n * sizeof *curator->sums : 0);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    curator->theta_float[i] = (float)theta[i];
  }
  for (; status == TACIT_OK && task.k < n_theta; task.k++) { /* a subset of its own for each point: separate releases */
    status = draw_subset(curator, rate, err);
    if (status == TACIT_OK) {
      for_each_block(curator, add_gradients, &task);
    }
  }
  double spacing = isfinite(bound) ? ldexp(bound, -TACIT_LATTICE_BITS) : ldexp(1, -TACIT_EXPOSED_GRID_BITS);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    out[i] = tacit_released_value(curator->sums[i], curator->draws[i], spacing);
  }
  return status;
}

/* ---- log ratios with the penalty of their own sampling noise ---- */

typedef struct ratio_task {
  size_t k;
  double rate, clip;
} ratio_task_t;

/* psi(r) = r / q - (1 - q) r^2 / (2 q^2), all in grid units; |psi| <= psi(-clip) (docs/theory.md, section 14). */
static double psi(double ratio, double rate) {
  return ratio / rate - (1 - rate) / (2 * rate * rate) * ratio * (ratio / unit);
}

static void add_psi(tacit_curator_t *curator, const tacit_gather_t *gather, void *user) {
  const ratio_task_t *task = user;
  const tacit_record_model_t *model = curator->model;
  tacit_workspace_t *w = &curator->workspaces[0];
  double ratios[16], most = ceil(fabs(psi(-task->clip, task->rate)));
  model->log_lik(model->ctx, gather->block, 2, curator->pairs + 2 * task->k * model->dim, w->log_lik);
  tacit_lattice_functions()->ratio_unclipped(gather->norms, curator->settings.temperature_power, w->log_lik, ratios);
  for (size_t lane = 0; lane < gather->n; lane++) {
    double clipped = fmax(fmin(ratios[lane], task->clip), -task->clip);
    curator->notes.n_ratio_clipped += fabs(ratios[lane]) > task->clip;
    curator->sums[task->k] += (int64_t)fmax(fmin(rint(psi(clipped, task->rate)), most), -most);
  }
  curator->notes.n_ratio += gather->n;
}

tacit_status_t tacit_curator_release_sampled_log_ratio(tacit_curator_t *curator, size_t n_theta, const double *theta,
                                                       const double *theta_prop, double rate, double noise_multiplier,
                                                       double *out, double *noise_sd, tacit_error_t *err) {
  size_t dim = curator->model->dim;
  memset(out, 0, n_theta * sizeof *out);
  memset(noise_sd, 0, n_theta * sizeof *noise_sd);
  tacit_status_t status = tacit_curator_check_points(curator, n_theta, theta_prop, err);
  if (status == TACIT_OK && n_theta > 0) {
    status = prepare(curator, n_theta, theta, rate, noise_multiplier, err);
  }
  if (status == TACIT_OK && n_theta > 0) {
    status = charge(curator, rate, noise_multiplier, n_theta, "log-ratio", err);
  }
  ratio_task_t task = {.rate = rate};
  for (; status == TACIT_OK && task.k < n_theta; task.k++) {
    const double *from = theta + task.k * dim, *to = theta_prop + task.k * dim;
    memcpy(curator->pairs + 2 * task.k * dim, from, dim * sizeof *from);
    memcpy(curator->pairs + (2 * task.k + 1) * dim, to, dim * sizeof *to);
    task.clip = tacit_ratio_clip(tacit_curator_ratio_bound(curator, from, to));
    double sd = noise_multiplier * tacit_curator_sensitivity_factor(curator) * ceil(fabs(psi(-task.clip, rate)));
    if (!(sd <= 0x1p51)) {
      return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_ratio",
                             "the log-likelihood ratio of model %s needs a smaller clip bound between these points",
                             curator->model->name);
    }
    status = tacit_curator_draw_noise(curator, sd, 1, curator->draws, err);
    curator->sums[task.k] = 0;
    if (status == TACIT_OK) {
      status = draw_subset(curator, rate, err);
    }
    if (status == TACIT_OK) {
      for_each_block(curator, add_psi, &task);
      out[task.k] = tacit_released_value(curator->sums[task.k], curator->draws[0], 1 / unit);
      noise_sd[task.k] = curator->is_exposed ? 0 : sd / unit;
    }
  }
  return status;
}
