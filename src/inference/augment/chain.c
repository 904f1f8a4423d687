/* One chain: its memory, starting values, and what an iteration of each method is. */
#include "base/error.h"
#include "base/memory.h"
#include "augment/augment_internal.h"

double tacit_noise_variance(const tacit_chain_t *chain, size_t j) {
  double w = chain->weight[j], mass = 1, square = 0;
  if (chain->is_laplace) {
    return 2 / (w * w);
  }
  if (chain->release->noise == TACIT_RELEASE_GAUSSIAN ||
      w < 0.02) { /* discrete with scale > 5: equal in doubles */
    return 0.5 / w;
  }
  for (double k = 1; w * k * k < 750; k += 1) {
    double p = 2 * exp(-w * k * k);
    mass += p;
    square += p * k * k;
  }
  return square / mass;
}

/* Crude estimates from the released values; they only scale moves. */
static void set_hats(tacit_chain_t *chain) {
  const tacit_latent_model_t *model = chain->model;
  const tacit_release_t *release = chain->release;
  double n = (double)chain->n, average = release->values[0] / n;
  chain->hat_mean = fmin(fmax(average, release->lower), release->upper);
  if (model->kind == TACIT_LATENT_POISSON) {
    chain->hat_mean = fmax(chain->hat_mean, 0.5 / n);
    return;
  }
  chain->hat_sd = model->known_sd;
  if (!(model->known_sd > 0)) {
    chain->hat_sd = sqrt(model->variance_scale / (model->variance_shape + 1)); /* the prior's mode */
    if (release->n_values == 2) {
      double spread = release->values[1] / n - chain->hat_mean * chain->hat_mean,
             noise = release->scales[1] / n;
      chain->hat_sd = spread > 2 * noise ? sqrt(spread) : chain->hat_sd;
    }
  }
}

/*
 * Widths of slices: three standard deviations under the prior and what the release says of theta, its
 * variance being that of the noise, plus that of the records where they are integrated out.
 */
static void set_widths(tacit_chain_t *chain) {
  const tacit_latent_model_t *model = chain->model;
  double n = (double)chain->n, mean = chain->hat_mean, sd = chain->hat_sd, unit = chain->unit;
  bool is_marginal = chain->method == TACIT_AUGMENT_MARGINAL;
  chain->wide[0] =
      3 * (model->kind == TACIT_LATENT_POISSON ? 1 / sqrt(model->rate_shape) : model->mean_scale);
  chain->wide[1] = 1.5 / sqrt(model->variance_shape);
  if (model->kind == TACIT_LATENT_POISSON) {
    double variance = tacit_noise_variance(chain, 0) + n * mean;
    chain->width[0] = 3 / sqrt(model->rate_shape + n * mean * n * mean / variance);
    return;
  }
  double information[2] = {1 / (model->mean_scale * model->mean_scale),
                           4 * model->variance_scale / (sd * sd)},
         p[3];
  tacit_normal_partial_moments((chain->release->lower - mean) / sd, (chain->release->upper - mean) / sd, 3,
                               p);
  for (size_t j = 0; j < chain->n_values; j++) {
    double slope = j == 0 ? p[0] : 2 * (mean * p[0] + sd * p[1]);
    double slope_z = j == 0 ? p[1] : 2 * (mean * p[1] + sd * p[2]);
    double spread = slope * sd, variance = tacit_noise_variance(chain, j) * unit * unit;
    variance += is_marginal ? n * spread * spread : 0;
    information[0] += n * slope * n * slope / variance;
    information[1] += n * sd * slope_z * n * sd * slope_z / variance;
  }
  chain->width[0] = 3 / sqrt(information[0]);
  chain->width[1] = 3 / sqrt(information[1]);
}

double tacit_slice_width(tacit_chain_t *chain, size_t j) {
  return tacit_rng_uniform(chain->rng) < 0.25 ? chain->wide[j] : chain->width[j];
}

static void set_noise(tacit_chain_t *chain) {
  const tacit_release_t *release = chain->release;
  chain->is_laplace =
      release->noise == TACIT_RELEASE_LAPLACE || release->noise == TACIT_RELEASE_DISCRETE_LAPLACE;
  chain->unit = release->step > 0 ? release->step : 1;
  for (size_t j = 0; j < release->n_values; j++) {
    double scale = release->scales[j] / chain->unit;
    chain->values[j] = release->values[j] / chain->unit;
    chain->weight[j] = chain->is_laplace ? 1 / scale : 0.5 / (scale * scale);
  }
}

/* Cells, and memory for latent records where the method has them. */
static tacit_status_t allocate(tacit_chain_t *chain, tacit_error_t *err) {
  const tacit_latent_model_t *model = chain->model;
  bool has_records = chain->method != TACIT_AUGMENT_MARGINAL,
       is_gaussian = model->kind == TACIT_LATENT_GAUSSIAN;
  size_t padded = (chain->n + TACIT_AUGMENT_PAD - 1) / TACIT_AUGMENT_PAD * TACIT_AUGMENT_PAD, n_cells = 1;
  for (size_t f = 0; model->kind == TACIT_LATENT_CATEGORICAL && f < model->n_factors; f++) {
    n_cells *= model->n_levels[f];
  }
  chain->n_cells = n_cells;
  double **arrays[] = {
      &chain->values,        &chain->weight, &chain->residual, &chain->counts, &chain->cell_probabilities,
      &chain->probabilities, &chain->records};
  size_t sizes[] = {chain->n_values, chain->n_values,   chain->n_values, n_cells,
                    n_cells,         chain->n_reported, padded};
  size_t n_arrays = sizeof arrays / sizeof arrays[0] - (has_records && is_gaussian ? 0 : 1);
  for (size_t i = 0; i < n_arrays; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  if (has_records && !is_gaussian && !tacit_latent_is_row(model)) {
    chain->levels = tacit_alloc_zero(chain->n, sizeof *chain->levels);
    return chain->levels != NULL ? tacit_discrete_init(&chain->distribution, n_cells, err)
                                 : tacit_error_memory(err);
  }
  return TACIT_OK;
}

tacit_status_t tacit_chain_init(tacit_chain_t *chain, const tacit_latent_model_t *model,
                                const tacit_release_t *release, const tacit_augment_settings_t *settings,
                                size_t index, tacit_error_t *err) {
  *chain = (tacit_chain_t){.model = model,
                           .release = release,
                           .settings = settings,
                           .method = tacit_augment_choose(model, release, settings->method),
                           .n = model->n_records,
                           .n_values = release->n_values,
                           .n_reported = tacit_latent_n_reported(model)};
  tacit_status_t status = tacit_rng_new(&chain->rng, settings->key, index, err);
  TACIT_THEN(status, allocate(chain, err));
  if (status != TACIT_OK) {
    return status;
  }
  set_noise(chain);
  if (tacit_latent_is_row(model)) {
    status = tacit_regression_init(chain, err);
    return status == TACIT_OK && chain->method == TACIT_AUGMENT_GIBBS ? tacit_rows_init(chain, err) : status;
  }
  if (model->kind != TACIT_LATENT_CATEGORICAL) {
    set_hats(chain);
    set_widths(chain);
  }
  if (chain->method == TACIT_AUGMENT_MARGINAL && tacit_inversion_applies(model, release)) {
    return tacit_inversion_init(chain, err);
  }
  return chain->method == TACIT_AUGMENT_HMC ? tacit_path_init(chain, err) : TACIT_OK;
}

void tacit_chain_clear(tacit_chain_t *chain) {
  double *arrays[] = {
      chain->values,        chain->weight, chain->residual, chain->counts, chain->cell_probabilities,
      chain->probabilities, chain->records};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_free(chain->levels);
  tacit_discrete_clear(&chain->distribution);
  tacit_path_clear(chain);
  tacit_inversion_clear(chain);
  tacit_rows_clear(chain);
  tacit_regression_clear(chain);
  tacit_rng_free(chain->rng);
  *chain = (tacit_chain_t){0};
}

void tacit_chain_refresh(tacit_chain_t *chain) {
  if (chain->model->kind == TACIT_LATENT_GAUSSIAN) {
    tacit_gaussian_refresh(chain);
  } else if (chain->rows != NULL) {
    tacit_rows_refresh(chain);
  } else {
    tacit_discrete_refresh(chain);
  }
}

static void gibbs(tacit_chain_t *chain) {
  if (chain->rows != NULL) {
    tacit_rows_step(chain);
    return;
  }
  if (chain->model->kind != TACIT_LATENT_GAUSSIAN) {
    tacit_discrete_sweep(chain);
    tacit_discrete_theta(chain);
    return;
  }
  tacit_gaussian_sweep(chain);
  tacit_gaussian_theta(chain);
  if (chain->settings->interweave) {
    tacit_gaussian_interweave(chain);
  }
}

void tacit_chain_start(tacit_chain_t *chain) {
  enum { PATH_SWEEPS = 10 }; /* paths begin with records that agree with the release */
  if (chain->method == TACIT_AUGMENT_MARGINAL) {
    tacit_marginal_start(chain);
  } else if (chain->model->kind == TACIT_LATENT_GAUSSIAN) {
    tacit_gaussian_start(chain);
  } else if (chain->rows != NULL) {
    tacit_rows_start(chain);
  } else {
    tacit_discrete_start(chain);
  }
  if (chain->method != TACIT_AUGMENT_MARGINAL) {
    tacit_chain_refresh(chain);
  }
  for (int i = 0; chain->method == TACIT_AUGMENT_HMC && i < PATH_SWEEPS; i++) {
    gibbs(chain);
  }
}

void tacit_chain_step(tacit_chain_t *chain) {
  switch (chain->method) {
  case TACIT_AUGMENT_MARGINAL:
    tacit_marginal_step(chain);
    break;
  case TACIT_AUGMENT_HMC:
    if (chain->settings->path == TACIT_PATH_COLLECTIVE) {
      tacit_gaussian_sweep(chain);
    }
    tacit_path_step(chain);
    break;
  default:
    gibbs(chain);
  }
  chain->iteration++;
}

void tacit_chain_report(const tacit_chain_t *chain, double *reported) {
  switch (chain->model->kind) {
  case TACIT_LATENT_GAUSSIAN:
    reported[0] = chain->mean;
    if (chain->n_reported == 2) {
      reported[1] = chain->sd;
    }
    break;
  case TACIT_LATENT_POISSON:
    reported[0] = chain->rate;
    break;
  case TACIT_LATENT_REGRESSION:
  case TACIT_LATENT_LOGISTIC:
    tacit_regression_report(chain, reported);
    break;
  default:
    for (size_t j = 0; j < chain->n_reported; j++) {
      reported[j] = chain->probabilities[j];
    }
  }
}

double tacit_chain_log_prior(const tacit_chain_t *chain) {
  const tacit_latent_model_t *model = chain->model;
  double sum = 0, z = (chain->mean - model->mean_location) / model->mean_scale;
  switch (model->kind) {
  case TACIT_LATENT_GAUSSIAN:
    sum = -0.5 * z * z;
    if (!(model->known_sd > 0)) { /* of the sd */
      sum -=
          (2 * model->variance_shape + 1) * log(chain->sd) + model->variance_scale / (chain->sd * chain->sd);
    }
    return sum;
  case TACIT_LATENT_POISSON:
    return (model->rate_shape - 1) * log(chain->rate) - model->rate_rate * chain->rate;
  case TACIT_LATENT_REGRESSION:
  case TACIT_LATENT_LOGISTIC:
    return tacit_regression_log_prior(chain);
  default:
    for (size_t j = 0; j < chain->n_reported; j++) {
      sum += (model->concentration[j] - 1) * log(chain->probabilities[j]);
    }
    return sum;
  }
}
