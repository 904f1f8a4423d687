/*
 * Releases that look at records drawn at random: every record independently (Poisson sampling), or a Poisson number of times
 * (TunaMH). Who was drawn, and how many, is secret and does not leave.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "curator/gather.h"

static const double unit = 0x1p32; /* grid units of a log ratio of one; of a rate of one */

enum { WORD_BLOCKS = 64 / TACIT_BLOCK }; /* of a word of the mask; ranges of blocks begin with a word */

typedef struct subset_pass subset_pass_t;
typedef void (*subset_task)(const subset_pass_t *pass, const tacit_gather_t *gather, size_t n, tacit_workspace_t *workspace);

/* One release's pass over the records in the mask. */
struct subset_pass {
  tacit_curator_t *curator;
  subset_task task;
  size_t k, n_sums;
  bool is_clipped;
  tacit_lattice_t lattice;
  double rate, clip;
};

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
  return tacit_noise_subset(curator->noise, (uint64_t)(rate * unit), curator->n_records,
                            curator->minibatch->mask, err);
}

static void finish_block(const subset_pass_t *pass, tacit_gather_t *gather, tacit_workspace_t *workspace) {
  size_t n = tacit_gather_fill(gather);
  pass->task(pass, gather, n, workspace);
}

/* Records are lanes of their own, so that sums do not depend on which of them share a block. */
static void subset_part(void *user, size_t first, size_t last, size_t thread) {
  const subset_pass_t *pass = user;
  const struct tacit_minibatch *of = pass->curator->minibatch;
  const uint64_t *mask = of->mask + pass->curator->first_record / 64;
  tacit_workspace_t *workspace = &pass->curator->workspaces[thread];
  tacit_gather_t *gather = &of->gathers[thread];
  memset(workspace->lanes, 0, pass->n_sums * 16 * sizeof *workspace->lanes);
  memset(workspace->lanes64, 0, pass->n_sums * 16 * sizeof *workspace->lanes64);
  for (size_t w = first / WORD_BLOCKS; w * WORD_BLOCKS < last; w++) {
    for (uint64_t left = mask[w]; left != 0; left &= left - 1) {
      tacit_gather_add(gather, w * 64 + (size_t)__builtin_ctzll(left));
      if (gather->n == 16) {
        finish_block(pass, gather, workspace);
      }
    }
  }
  if (gather->n > 0) {
    finish_block(pass, gather, workspace);
  }
  tacit_workspace_flush(workspace, pass->n_sums, !pass->is_clipped);
}

/* Sums over the records in the mask, into curator->sums[0 .. n_sums - 1]. */
static void sum_subset(subset_pass_t *pass) {
  tacit_curator_sum_blocks(pass->curator, pass->n_sums, subset_part, pass);
}

/* ---- gradients ---- */

static void add_gradients(const subset_pass_t *pass, const tacit_gather_t *gather, size_t n, tacit_workspace_t *w) {
  const tacit_curator_t *curator = pass->curator;
  const tacit_record_model_t *model = curator->model;
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  const float *theta = curator->theta_float + pass->k * model->dim;
  if (model->n_linear > 0) {
    model->residual(model->ctx, gather->block, 1, theta, w->rows);
  } else {
    model->grad(model->ctx, gather->block, 1, theta, w->rows);
  }
  if (!pass->is_clipped) {
    kernel->exposed(model, gather->block, gather->norms, curator->settings.temperature_power, 1, w->rows, w->lanes64);
  } else if (model->n_linear > 0) {
    kernel->linear(model, gather->block, gather->norms, &pass->lattice, 1, w->rows, w->lanes, &w->notes);
  } else {
    kernel->dense(model, gather->norms, &pass->lattice, 1, w->rows, w->lanes, &w->notes);
  }
  w->notes.n_grad += n;
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
  subset_pass_t pass = {.curator = curator, .task = add_gradients, .n_sums = dim, .is_clipped = isfinite(bound)};
  if (pass.is_clipped) {
    pass.lattice = tacit_lattice_for(curator->model, curator->settings.temperature_power, bound);
  }
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    curator->theta_float[i] = (float)theta[i];
  }
  double spacing = isfinite(bound) ? ldexp(bound, -TACIT_LATTICE_BITS) : ldexp(1, -TACIT_EXPOSED_GRID_BITS);
  for (; status == TACIT_OK && pass.k < n_theta; pass.k++) { /* a subset of its own for each point: separate releases */
    status = draw_subset(curator, rate, err);
    if (status == TACIT_OK) {
      sum_subset(&pass);
    }
    for (size_t j = 0, at = pass.k * dim; status == TACIT_OK && j < dim; j++, at++) {
      out[at] = tacit_released_value(curator->sums[j], curator->draws[at], spacing);
    }
  }
  if (status != TACIT_OK) {
    memset(out, 0, n * sizeof *out);
  }
  return status;
}

/* ---- log ratios with the penalty of their own sampling noise ---- */

/* psi(r) = r / q - (1 - q) r^2 / (2 q^2), all in grid units; |psi| <= psi(-clip) (docs/theory.md, section 14). */
static double psi(double ratio, double rate) {
  return ratio / rate - (1 - rate) / (2 * rate * rate) * ratio * (ratio / unit);
}

/* psi(-clip), in grid units: the largest share of a record. */
static double largest_psi(double clip, double rate) {
  return ceil(fabs(psi(-clip, rate)));
}

double tacit_curator_sampled_ratio_bound(double rate, double ratio_bound) {
  return largest_psi(tacit_ratio_clip(ratio_bound), rate) / unit;
}

static void add_psi(const subset_pass_t *pass, const tacit_gather_t *gather, size_t n, tacit_workspace_t *w) {
  const tacit_curator_t *curator = pass->curator;
  const tacit_record_model_t *model = curator->model;
  double ratios[16], most = largest_psi(pass->clip, pass->rate);
  model->log_lik(model->ctx, gather->block, 2, curator->pairs + 2 * pass->k * model->dim, w->log_lik);
  tacit_lattice_functions()->ratio_unclipped(gather->norms, curator->settings.temperature_power, w->log_lik, ratios);
  for (size_t lane = 0; lane < n; lane++) {
    double clipped = fmax(fmin(ratios[lane], pass->clip), -pass->clip);
    w->notes.n_ratio_clipped += fabs(ratios[lane]) > pass->clip;
    w->totals[0] += (int64_t)fmax(fmin(rint(psi(clipped, pass->rate)), most), -most);
  }
  w->notes.n_ratio += n;
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
  subset_pass_t pass = {.curator = curator, .task = add_psi, .n_sums = 1, .rate = rate};
  for (; status == TACIT_OK && pass.k < n_theta; pass.k++) {
    const double *from = theta + pass.k * dim, *to = theta_prop + pass.k * dim;
    memcpy(curator->pairs + 2 * pass.k * dim, from, dim * sizeof *from);
    memcpy(curator->pairs + (2 * pass.k + 1) * dim, to, dim * sizeof *to);
    pass.clip = tacit_ratio_clip(tacit_curator_ratio_bound(curator, from, to));
    double sd = noise_multiplier * tacit_curator_sensitivity_factor(curator) * largest_psi(pass.clip, rate);
    if (!(sd <= 0x1p51)) {
      return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_ratio",
                             "the log-likelihood ratio of model %s needs a smaller clip bound between these points",
                             curator->model->name);
    }
    status = tacit_curator_draw_noise(curator, sd, 1, curator->draws, err);
    if (status == TACIT_OK) {
      status = draw_subset(curator, rate, err);
    }
    if (status == TACIT_OK) {
      sum_subset(&pass);
      out[pass.k] = tacit_released_value(curator->sums[0], curator->draws[0], 1 / unit);
      noise_sd[pass.k] = curator->is_exposed ? 0 : sd / unit;
    }
  }
  return status;
}
