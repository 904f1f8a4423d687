/*
 * Normal records: the sweep of [Ju2022, algorithm 1], conjugate updates of mean and variance, and moves of
 * theta that carry the records along. Records are only ever read and written here and in path.c.
 */
#include "augment/augment_internal.h"

#define INLINE static inline __attribute__((always_inline))

static const double to_integer =
    6755399441055744.0; /* 1.5 * 2^52: adding and subtracting it rounds to nearest */

/* First component of t(x), in multiples of the unit. */
INLINE double clamp(const tacit_chain_t *chain, double x, bool is_lattice) {
  double lower = chain->release->lower, upper = chain->release->upper;
  double c = x < lower ? lower : x;
  c = c > upper ? upper : c;
  return is_lattice ? (c / chain->unit + to_integer) - to_integer : c;
}

INLINE double log_ratio(double weight, double residual, double change, bool is_laplace) {
  return weight * (is_laplace ? fabs(residual) - fabs(residual - change) : change * (2 * residual - change));
}

/* One pass over all records; the flags are constants where it is called, so each kind has a loop of its own.
 */
INLINE void sweep(tacit_chain_t *chain, bool is_laplace, bool has_square, bool is_lattice) {
  double proposal[TACIT_AUGMENT_BLOCK], first[TACIT_AUGMENT_BLOCK], second[TACIT_AUGMENT_BLOCK];
  uint32_t bits[TACIT_AUGMENT_BLOCK];
  double mean = chain->mean, sd = chain->sd, least = chain->min_log_ratio;
  double residual = chain->residual[0], residual2 = has_square ? chain->residual[1] : 0;
  double weight = chain->weight[0], weight2 = has_square ? chain->weight[1] : 0;
  size_t n_accepted = 0;
  for (size_t start = 0; start < chain->n; start += TACIT_AUGMENT_BLOCK) {
    size_t n = chain->n - start < TACIT_AUGMENT_BLOCK ? chain->n - start : TACIT_AUGMENT_BLOCK;
    double *records = chain->records + start;
    tacit_rng_normals(chain->rng, n, proposal);
    tacit_rng_halves(chain->rng, n, bits);
    for (size_t i = 0; i < n; i++) {
      proposal[i] = mean + sd * proposal[i];
      double before = clamp(chain, records[i], is_lattice), after = clamp(chain, proposal[i], is_lattice);
      first[i] = after - before;
      second[i] = has_square ? (after - before) * (after + before) : 0;
    }
    for (size_t i = 0; i < n; i++) {
      double ratio = log_ratio(weight, residual, first[i], is_laplace);
      ratio += has_square ? log_ratio(weight2, residual2, second[i], is_laplace) : 0;
      least = ratio < least ? ratio : least;
      if (tacit_accepts_coarse(ratio, bits[i], chain->rng)) { /* foreseen by the processor more often than
                                                                 not; selections would wait for each other */
        records[i] = proposal[i];
        residual -= first[i];
        residual2 -= second[i];
        n_accepted++;
      }
    }
  }
  chain->min_log_ratio = least;
  chain->n_proposed += (double)chain->n;
  chain->n_accepted += (double)n_accepted;
}

void tacit_gaussian_sweep(tacit_chain_t *chain) {
  bool has_square = chain->n_values == 2, is_lattice = chain->release->step > 0;
  if (is_lattice) {
    chain->is_laplace ? sweep(chain, true, false, true) : sweep(chain, false, false, true);
  } else if (has_square) {
    chain->is_laplace ? sweep(chain, true, true, false) : sweep(chain, false, true, false);
  } else {
    chain->is_laplace ? sweep(chain, true, false, false) : sweep(chain, false, false, false);
  }
  tacit_gaussian_refresh(chain); /* sums that were updated n times have drifted by rounding */
}

/* Statistics of the records scale x + offset, by several accumulators so that additions need not wait. */
INLINE void sum(const tacit_chain_t *chain, double offset, double scale, double out[2], bool has_square,
                bool is_lattice) {
  enum { N = TACIT_AUGMENT_PAD };
  double first[N] = {0}, second[N] = {0};
  size_t i = 0;
  for (; i + N <= chain->n; i += N) {
    for (size_t k = 0; k < N; k++) {
      double c = clamp(chain, offset + scale * chain->records[i + k], is_lattice);
      first[k] += c;
      second[k] += has_square ? c * c : 0;
    }
  }
  for (; i < chain->n; i++) {
    double c = clamp(chain, offset + scale * chain->records[i], is_lattice);
    first[0] += c;
    second[0] += has_square ? c * c : 0;
  }
  out[0] = (first[0] + first[1]) + (first[2] + first[3]);
  out[1] = (second[0] + second[1]) + (second[2] + second[3]);
}

static void statistics(const tacit_chain_t *chain, double offset, double scale, double out[2]) {
  if (chain->release->step > 0) {
    sum(chain, offset, scale, out, false, true);
  } else if (chain->n_values == 2) {
    sum(chain, offset, scale, out, true, false);
  } else {
    sum(chain, offset, scale, out, false, false);
  }
}

void tacit_gaussian_refresh(tacit_chain_t *chain) {
  double at[2];
  statistics(chain, 0, 1, at);
  for (size_t j = 0; j < chain->n_values; j++) {
    chain->residual[j] = chain->values[j] - at[j];
  }
}

/* sum (x - centre) and sum (x - centre)^2 */
static void centred_sums(const tacit_chain_t *chain, double centre, double *linear, double *square) {
  enum { N = TACIT_AUGMENT_PAD };
  double first[N] = {0}, second[N] = {0};
  for (size_t i = 0; i < chain->n; i++) {
    double d = chain->records[i] - centre;
    first[i % N] += d;
    second[i % N] += d * d;
  }
  *linear = (first[0] + first[1]) + (first[2] + first[3]);
  *square = (second[0] + second[1]) + (second[2] + second[3]);
}

void tacit_gaussian_theta(tacit_chain_t *chain) {
  const tacit_latent_model_t *model = chain->model;
  double n = (double)chain->n, old = chain->mean, linear, square;
  centred_sums(chain, old, &linear, &square);
  double prior = 1 / (model->mean_scale * model->mean_scale), likelihood = n / (chain->sd * chain->sd);
  double expected = (prior * model->mean_location + likelihood * (old + linear / n)) / (prior + likelihood);
  chain->mean = expected + tacit_rng_normal(chain->rng) / sqrt(prior + likelihood);
  if (!(model->known_sd > 0)) {
    double d = chain->mean - old, squares = square - 2 * d * linear + n * d * d;
    double scale = model->variance_scale + 0.5 * squares;
    chain->sd = sqrt(scale / tacit_draw_gamma(chain->rng, model->variance_shape + 0.5 * n));
  }
}

/* ---- moves that carry the records along ---- */

typedef struct carried {
  const tacit_chain_t *chain;
  bool moves_sd; /* else the mean */
} carried_t;

static double log_prior_mean(const tacit_latent_model_t *model, double mean) {
  double z = (mean - model->mean_location) / model->mean_scale;
  return -0.5 * z * z;
}

/* Of log sd, the variance being inverse gamma. */
static double log_prior_log_sd(const tacit_latent_model_t *model, double log_sd) {
  return -2 * model->variance_shape * log_sd - model->variance_scale * exp(-2 * log_sd);
}

/* Joint density in (theta, z) as a function of the mean, or of log sd: the distribution of z does not depend
 * on theta. */
static double carried_density(void *user, double at) {
  const carried_t *carried = user;
  const tacit_chain_t *chain = carried->chain;
  double offset = at - chain->mean, scale = 1, density, moved[2];
  if (carried->moves_sd) {
    scale = exp(at) / chain->sd;
    offset = chain->mean * (1 - scale);
    density = log_prior_log_sd(chain->model, at);
  } else {
    density = log_prior_mean(chain->model, at);
  }
  statistics(chain, offset, scale, moved);
  for (size_t j = 0; j < chain->n_values; j++) {
    density += tacit_noise_log(chain, j, chain->values[j] - moved[j]);
  }
  return density;
}

static void carry(tacit_chain_t *chain, double offset, double scale) {
  for (size_t i = 0; i < chain->n; i++) {
    chain->records[i] = offset + scale * chain->records[i];
  }
}

void tacit_gaussian_interweave(tacit_chain_t *chain) {
  carried_t carried = {.chain = chain};
  double log_at = carried_density(&carried, chain->mean);
  double mean =
      tacit_slice(carried_density, &carried, chain->mean, &log_at, tacit_slice_width(chain, 0), chain->rng);
  carry(chain, mean - chain->mean, 1);
  chain->mean = mean;
  if (!(chain->model->known_sd > 0)) {
    double log_sd = log(chain->sd);
    carried.moves_sd = true;
    log_at = carried_density(&carried, log_sd);
    log_sd = tacit_slice(carried_density, &carried, log_sd, &log_at, tacit_slice_width(chain, 1), chain->rng);
    double scale = exp(log_sd) / chain->sd;
    carry(chain, chain->mean * (1 - scale), scale);
    chain->sd *= scale;
  }
  tacit_gaussian_refresh(chain);
}

void tacit_gaussian_start(tacit_chain_t *chain) {
  double noise = chain->release->scales[0] / (double)chain->n,
         spread = chain->hat_sd / sqrt((double)chain->n);
  chain->mean = chain->hat_mean +
                fmin(2 * hypot(noise, spread), chain->model->mean_scale) * tacit_rng_normal(chain->rng);
  chain->sd = chain->hat_sd;
  for (size_t i = 0; chain->records != NULL && i < chain->n; i++) {
    chain->records[i] = chain->mean + chain->sd * tacit_rng_normal(chain->rng);
  }
}
