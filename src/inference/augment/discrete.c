/* Poisson counts and cells of a table: the sweep of [Ju2022, algorithm 1] and conjugate updates. */
#include <string.h>

#include "augment/augment_internal.h"

static bool is_categorical(const tacit_chain_t *chain) {
  return chain->model->kind == TACIT_LATENT_CATEGORICAL;
}

/* Probability of a cell, the product of its levels' in all factors; the last factor is the fastest. */
static void set_distribution(tacit_chain_t *chain) {
  const tacit_latent_model_t *model = chain->model;
  if (!is_categorical(chain)) {
    if (chain->levels != NULL && chain->rate < TACIT_POISSON_TABLE_MAX) {
      tacit_discrete_set_poisson(&chain->distribution, chain->rate);
    }
    return;
  }
  double *cells = chain->cell_probabilities;
  size_t n_cells = 1, first = 0;
  cells[0] = 1;
  for (size_t f = 0; f < model->n_factors; f++) {
    size_t n_levels = model->n_levels[f];
    for (size_t c = n_cells; c-- > 0;) { /* backwards: entry c becomes entries c n_levels .. */
      double p = cells[c];
      for (size_t l = n_levels; l-- > 0;) {
        cells[c * n_levels + l] = p * chain->probabilities[first + l];
      }
    }
    n_cells *= n_levels;
    first += n_levels;
  }
  if (chain->levels != NULL) {
    memcpy(chain->distribution.cumulative, cells, n_cells * sizeof *cells);
    tacit_discrete_set(&chain->distribution, 0, n_cells);
  }
}

static uint32_t propose(tacit_chain_t *chain, double uniform) {
  if (!is_categorical(chain) && chain->rate >= TACIT_POISSON_TABLE_MAX) {
    return (uint32_t)fmin(tacit_draw_poisson(chain->rng, chain->rate), UINT32_MAX);
  }
  return (uint32_t)tacit_discrete_draw(&chain->distribution, uniform);
}

static double clamp(const tacit_chain_t *chain, uint32_t count) {
  return fmin(fmax((double)count, chain->release->lower), chain->release->upper);
}

void tacit_discrete_refresh(tacit_chain_t *chain) {
  double total = 0;
  if (is_categorical(chain)) {
    if (chain->levels != NULL) {
      memset(chain->counts, 0, chain->n_cells * sizeof *chain->counts);
    }
    for (size_t i = 0; chain->levels != NULL && i < chain->n; i++) {
      chain->counts[chain->levels[i]] += 1;
    }
    for (size_t j = 0; j < chain->n_cells; j++) {
      chain->residual[j] = chain->values[j] - chain->counts[j];
    }
    return;
  }
  for (size_t i = 0; i < chain->n; i++) {
    total += clamp(chain, chain->levels[i]);
  }
  chain->residual[0] = chain->values[0] - total;
}

/* Change of the noise's log density when a record leaves cell a for cell b. */
static double move_ratio(const tacit_chain_t *chain, size_t a, size_t b) {
  double from = chain->residual[a], to = chain->residual[b];
  return a == b ? 0
                : tacit_noise_log(chain, a, from + 1) - tacit_noise_log(chain, a, from) +
                      tacit_noise_log(chain, b, to - 1) - tacit_noise_log(chain, b, to);
}

static void sweep_cells(tacit_chain_t *chain, uint32_t *levels, const double *uniform, const double *place,
                        size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t a = levels[i], b = propose(chain, place[i]);
    double ratio = move_ratio(chain, a, b);
    chain->min_log_ratio = fmin(chain->min_log_ratio, ratio);
    if (tacit_accepts(ratio, uniform[i])) {
      levels[i] = b;
      chain->residual[a] += 1;
      chain->residual[b] -= 1;
      chain->n_accepted += 1;
    }
  }
}

static void sweep_counts(tacit_chain_t *chain, uint32_t *levels, const double *uniform, const double *place,
                         size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t proposal = propose(chain, place[i]);
    double after = chain->residual[0] + clamp(chain, levels[i]) - clamp(chain, proposal);
    double ratio = tacit_noise_log(chain, 0, after) - tacit_noise_log(chain, 0, chain->residual[0]);
    chain->min_log_ratio = fmin(chain->min_log_ratio, ratio);
    if (tacit_accepts(ratio, uniform[i])) {
      levels[i] = proposal;
      chain->residual[0] = after;
      chain->n_accepted += 1;
    }
  }
}

void tacit_discrete_sweep(tacit_chain_t *chain) {
  double uniform[TACIT_AUGMENT_BLOCK], place[TACIT_AUGMENT_BLOCK];
  for (size_t start = 0; start < chain->n; start += TACIT_AUGMENT_BLOCK) {
    size_t n = chain->n - start < TACIT_AUGMENT_BLOCK ? chain->n - start : TACIT_AUGMENT_BLOCK;
    tacit_rng_uniforms(chain->rng, n, uniform);
    tacit_rng_uniforms(chain->rng, n, place);
    (is_categorical(chain) ? sweep_cells : sweep_counts)(chain, chain->levels + start, uniform, place, n);
  }
  chain->n_proposed += (double)chain->n;
  tacit_discrete_refresh(chain);
}

/* Dirichlet(concentration + margin) for each factor, by independent gammas. */
static void draw_probabilities(tacit_chain_t *chain) {
  const tacit_latent_model_t *model = chain->model;
  size_t first = 0, stride = chain->n_cells;
  for (size_t f = 0; f < model->n_factors; f++) {
    size_t n_levels = model->n_levels[f];
    double *p = chain->probabilities + first, total = 0;
    stride /= n_levels;
    for (size_t l = 0; l < n_levels; l++) {
      p[l] = model->concentration[first + l];
    }
    for (size_t c = 0; c < chain->n_cells; c++) {
      p[c / stride % n_levels] += chain->counts[c];
    }
    for (size_t l = 0; l < n_levels; l++) {
      p[l] = fmax(tacit_draw_gamma(chain->rng, p[l]), 0x1p-1000); /* never 0 / 0 where all underflow */
      total += p[l];
    }
    for (size_t l = 0; l < n_levels; l++) {
      p[l] /= total;
    }
    first += n_levels;
  }
}

void tacit_discrete_theta(tacit_chain_t *chain) {
  if (is_categorical(chain)) {
    draw_probabilities(chain);
  } else {
    double total = 0;
    for (size_t i = 0; i < chain->n; i++) {
      total += (double)chain->levels[i];
    }
    chain->rate = tacit_draw_gamma(chain->rng, chain->model->rate_shape + total) /
                  (chain->model->rate_rate + (double)chain->n);
  }
  set_distribution(chain);
}

/* Cell counts near the released ones that add up to n. */
static void start_counts(tacit_chain_t *chain) {
  double total = 0, n = (double)chain->n, placed = 0;
  for (size_t c = 0; c < chain->n_cells; c++) {
    chain->counts[c] = fmax(chain->values[c], 0.5);
    total += chain->counts[c];
  }
  for (size_t c = 0; c < chain->n_cells; c++) {
    chain->counts[c] = floor(chain->counts[c] * n / total);
    placed += chain->counts[c];
  }
  for (size_t c = 0; placed < n; c = (c + 1) % chain->n_cells, placed += 1) {
    chain->counts[c] += 1;
  }
}

void tacit_discrete_start(tacit_chain_t *chain) {
  if (is_categorical(chain)) {
    start_counts(chain);
    draw_probabilities(chain);
  } else {
    chain->rate = tacit_draw_gamma(chain->rng, 1 + chain->hat_mean * (double)chain->n) / (double)chain->n;
  }
  set_distribution(chain);
  for (size_t i = 0; chain->levels != NULL && i < chain->n; i++) {
    chain->levels[i] = propose(chain, tacit_rng_uniform(chain->rng));
  }
}
