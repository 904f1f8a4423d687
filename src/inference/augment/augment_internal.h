/* State of one chain and the kernels that move it. Not installed. */
#ifndef TACIT_AUGMENT_INTERNAL_H
#define TACIT_AUGMENT_INTERNAL_H

#include <math.h>

#include "augment/augment.h"
#include "base/pool.h"
#include "tacit/random.h"

enum {
  TACIT_AUGMENT_BLOCK = 256, /* records proposed at a time: fits the first-level cache */
  TACIT_AUGMENT_PAD = 4,     /* arrays of records are padded to a multiple of it */
  TACIT_MAX_SMALL = 3,       /* theta and the records' mean: dimension of the small block of the mass */
  TACIT_MAX_CELLS = 65536,
  TACIT_AUGMENT_AUTO_EXACT = 1000, /* most records that AUTO keeps latent where doing without is exact */
  TACIT_AUGMENT_AUTO_MAX = 20000   /* and where it is not */
};

/* ---- variates ---- */

/* Gamma(shape, 1), shape > 0 [MarsagliaTsang2000a]. */
double tacit_draw_gamma(tacit_rng_t *rng, double shape);
/* log(k!), relative error below 1e-14; reentrant, which lgamma() is not. */
double tacit_log_factorial(double k);

/* A distribution on first .. first + n - 1, drawn by inversion with a guide table in O(1). */
typedef struct tacit_discrete {
  double *cumulative; /* shape (capacity) */
  size_t n, capacity;
  double first;
  uint32_t guide[1024];
} tacit_discrete_t;

TACIT_MUST_USE tacit_status_t tacit_discrete_init(tacit_discrete_t *distribution, size_t capacity,
                                                  tacit_error_t *err);
void tacit_discrete_clear(tacit_discrete_t *distribution);
/* Take weights >= 0 of 0 .. n - 1 already stored in `cumulative`, not all 0. */
void tacit_discrete_set(tacit_discrete_t *distribution, double first, size_t n);
/* Poisson(rate), rate < TACIT_POISSON_TABLE_MAX; mass of 1e-17 in each tail is left out, below what uniforms
 * resolve. */
void tacit_discrete_set_poisson(tacit_discrete_t *distribution, double rate);
double tacit_discrete_draw(const tacit_discrete_t *distribution, double uniform);
enum { TACIT_POISSON_TABLE_MAX = 10000, TACIT_DISCRETE_MIN_CAPACITY = 4096 };
/* Poisson(rate), rate >= 10, by transformed rejection [Hormann1993, algorithm PTRS]. */
double tacit_draw_poisson(tacit_rng_t *rng, double rate);

/*
 * One update that leaves a density invariant: slice sampling with stepping out [Neal2003, figures 3 and 5].
 * width > 0 must not depend on x; *log_at: log density at x on entry, at the result on return.
 */
typedef double (*tacit_log_density)(void *user, double x);
double tacit_slice(tacit_log_density density, void *user, double x, double *log_at, double width,
                   tacit_rng_t *rng);

/* ---- moments of clamped records ---- */

/* log Phi(z), accurate in the far tail. */
double tacit_log_normal_cdf(double z);
/* partial[k] = integral of z^k phi(z) over (lower, upper), k = 0 .. n - 1, n <= 5. */
void tacit_normal_partial_moments(double lower, double upper, size_t n, double *partial);
/* moments[k] = E clamp(x)^(k + 1), x ~ N(mean, sd^2), k = 0 .. n - 1, n <= 4. */
void tacit_clamped_normal_moments(double mean, double sd, double lower, double upper, size_t n,
                                  double *moments);

/* ---- a chain ---- */

typedef struct tacit_chain {
  const tacit_latent_model_t *model;
  const tacit_release_t *release;
  const tacit_augment_settings_t *settings;
  tacit_augment_method_t method;
  tacit_rng_t *rng;
  size_t n, n_values, n_cells, n_reported;

  bool is_laplace;
  double unit;      /* values and statistics are in multiples of it: `step`, else 1 */
  double *values;   /* shape (n_values) */
  double *weight;   /* log density of a noise e: -weight e^2, or -weight |e| */
  double *residual; /* value - statistic of the records */

  double mean, sd, rate;
  double *probabilities; /* of all factors in turn */
  double *records;       /* gaussian, padded */
  uint32_t *levels;      /* poisson counts, or cells */
  double *counts;        /* records in each cell */
  double *cell_probabilities;
  tacit_discrete_t distribution; /* of a discrete record */
  double hat_mean, hat_sd;  /* crude estimates from the release: scales of moves, never part of the target */
  double width[2], wide[2]; /* of slices in theta: of the posterior, about, and of the prior */
  struct tacit_path *path;  /* HMC only */
  struct tacit_regression *regression; /* of regressions */
  struct tacit_rows *rows;             /* of regressions with latent rows */
  struct tacit_inversion *inversion;   /* MARGINAL of a sum whose likelihood is exact */

  double n_proposed, n_accepted, min_log_ratio; /* records, since the last reset */
  double path_accept, step_size;                /* last trajectory */
  size_t n_leapfrog;
  size_t iteration;
} tacit_chain_t;

static inline double tacit_noise_log(const tacit_chain_t *chain, size_t j, double e) {
  return -chain->weight[j] * (chain->is_laplace ? fabs(e) : e * e);
}

/*
 * Accept with probability min(1, e^log_ratio): u < e^r, where 1 + r <= e^r <= 1 / (1 - r) for r < 0 decides
 * nearly always without the exponential.
 */
static inline bool tacit_accepts(double log_ratio, double uniform) {
  return uniform < 1 + log_ratio || (uniform * (1 - log_ratio) <= 1 && uniform < exp(log_ratio));
}

/* The same for a uniform number of which the first 32 bits are drawn: the rest is drawn if they do not
 * decide. */
static inline bool tacit_accepts_coarse(double log_ratio, uint32_t bits, tacit_rng_t *rng) {
  return ((double)bits + 1) * 0x1p-32 <= 1 + log_ratio ||
         tacit_accepts(log_ratio, ((double)bits + tacit_rng_uniform(rng)) * 0x1p-32);
}

TACIT_MUST_USE tacit_status_t tacit_chain_init(tacit_chain_t *chain, const tacit_latent_model_t *model,
                                               const tacit_release_t *release,
                                               const tacit_augment_settings_t *settings, size_t index,
                                               tacit_error_t *err);
void tacit_chain_clear(tacit_chain_t *chain);
/* Draw starting values: theta near a crude estimate, records given theta. */
void tacit_chain_start(tacit_chain_t *chain);
/* Variance of the noise on value j, in units of the statistic. */
double tacit_noise_variance(const tacit_chain_t *chain, size_t j);
/*
 * Width of the next slice in mean or log rate (0) or log sd (1): one in four is as wide as the prior, to
 * cross the plateau where all records are beyond a bound and the release says nothing more. Drawn
 * independently of the state.
 */
double tacit_slice_width(tacit_chain_t *chain, size_t j);
/* One iteration of the method. */
void tacit_chain_step(tacit_chain_t *chain);
/* Recompute the residuals, after records or values changed. */
void tacit_chain_refresh(tacit_chain_t *chain);
void tacit_chain_report(const tacit_chain_t *chain, double *reported);
double tacit_chain_log_prior(const tacit_chain_t *chain);

/* ---- regression.c: sums of products of the columns of a row ---- */

static inline bool tacit_latent_is_row(const tacit_latent_model_t *model) {
  return model->kind == TACIT_LATENT_REGRESSION || model->kind == TACIT_LATENT_LOGISTIC;
}

TACIT_MUST_USE tacit_status_t tacit_regression_init(tacit_chain_t *chain, tacit_error_t *err);
void tacit_regression_clear(tacit_chain_t *chain);
void tacit_regression_start(tacit_chain_t *chain);
void tacit_regression_step(tacit_chain_t *chain);
void tacit_regression_report(const tacit_chain_t *chain, double *reported);
double tacit_regression_log_prior(const tacit_chain_t *chain);

/* rows.c: the same with latent rows. */
TACIT_MUST_USE tacit_status_t tacit_rows_init(tacit_chain_t *chain, tacit_error_t *err);
void tacit_rows_clear(tacit_chain_t *chain);
void tacit_rows_start(tacit_chain_t *chain);
void tacit_rows_refresh(tacit_chain_t *chain);
void tacit_rows_step(tacit_chain_t *chain);
/* Expectations of clamped columns and of their products, in the order of the release, at parameters
 * (theory.md, 12.9). */
void tacit_regression_moments(const tacit_chain_t *chain, const double *parameters, double *expected);

/* The method that AUTO stands for. */
tacit_augment_method_t tacit_augment_choose(const tacit_latent_model_t *model, const tacit_release_t *release,
                                            tacit_augment_method_t asked);
TACIT_MUST_USE tacit_status_t tacit_augment_check_settings(const tacit_latent_model_t *model,
                                                           const tacit_release_t *release,
                                                           const tacit_augment_settings_t *settings,
                                                           tacit_error_t *err);

/* ---- kernels ---- */

void tacit_gaussian_start(tacit_chain_t *chain);
void tacit_gaussian_refresh(tacit_chain_t *chain);
void tacit_gaussian_sweep(tacit_chain_t *chain);
/* theta given the records: mean, then variance if unknown. */
void tacit_gaussian_theta(tacit_chain_t *chain);
/* Slices in mean and log sd that carry the records along (z = (x - mean) / sd fixed). */
void tacit_gaussian_interweave(tacit_chain_t *chain);

void tacit_discrete_start(tacit_chain_t *chain);
void tacit_discrete_refresh(tacit_chain_t *chain);
void tacit_discrete_sweep(tacit_chain_t *chain);
void tacit_discrete_theta(tacit_chain_t *chain);

void tacit_marginal_start(tacit_chain_t *chain);
void tacit_marginal_step(tacit_chain_t *chain);
/* Log of the approximate likelihood of the release, gaussian and poisson. */
double tacit_marginal_log_lik(const tacit_chain_t *chain, double mean_or_rate, double sd);

/* ---- exact likelihood of a sum, without records ---- */

enum { TACIT_INVERSION_MAX_LEVELS = 4096 };

/* Distribution of a clamped record as weighted points, and its rotation in the complex plane; one block of
 * memory. */
typedef struct tacit_inversion {
  size_t n, capacity;
  double last_tilt;                                                  /* where the next search begins */
  double *value, *log_weight, *tilted, *rotation, *real, *imaginary; /* shape (capacity) */
} tacit_inversion_t;

/* A sum under Gaussian or discrete noise; counts and rounded records of at most TACIT_INVERSION_MAX_LEVELS +
 * 1 values. */
bool tacit_inversion_applies(const tacit_latent_model_t *model, const tacit_release_t *release);
TACIT_MUST_USE tacit_status_t tacit_inversion_init(tacit_chain_t *chain, tacit_error_t *err);
void tacit_inversion_clear(tacit_chain_t *chain);
/* Log likelihood up to a constant; -INFINITY where it is below what doubles resolve. */
double tacit_inversion_log_lik(const tacit_chain_t *chain, double mean_or_rate, double sd);

/* ---- Hamiltonian paths ---- */

/*
 * In z = (x - mean) / sd the negative Hessian is diag(prior, 1 .. 1) plus one rank a released value, and its
 * vectors are constant over the records. So it splits exactly into a small matrix B on (theta, sum z / sqrt
 * n) and the identity on what is orthogonal: docs/theory.md, "Inference from a released statistic".
 */
typedef struct tacit_path {
  size_t dim; /* theta: 1 or 2 */
  double mass[TACIT_MAX_SMALL][TACIT_MAX_SMALL];
  double root[TACIT_MAX_SMALL][TACIT_MAX_SMALL]; /* lower Cholesky factor of mass */
  double *z, *momentum;                          /* padded; momentum: joint paths only */
  double shift;                                  /* collective: of all z */
  double mean, log_sd;
  double small[TACIT_MAX_SMALL];    /* momentum of theta and of sum z / sqrt n */
  double gradient[TACIT_MAX_SMALL]; /* of the log density, same coordinates */
  double force[2];                  /* of the noise on the statistics */
  double potential;                 /* minus log density */
  /* dual averaging */
  double shrink_towards, error_sum, log_step_average;
  size_t n_adapted;
} tacit_path_t;

/* ---- run.c: chains on threads ---- */

/* What a chain leaves behind; but for the first line, after warm-up. */
typedef struct tacit_outcome {
  tacit_status_t status;
  tacit_error_t err;
  size_t iteration, n_saved; /* done; rows of the draws that are filled */
  double step_size;
  size_t n_paths, n_full, n_lost; /* n_full: those whose steps are not short; n_lost: of these */
  double path_accept, n_proposed, n_accepted,
      min_log_ratio; /* path_accept: of all paths; the others: records */
} tacit_outcome_t;

/* Tasks are of one chain of `run`: begin finds its start, advance brings it to ->round_end or stops. Both say
 * in its outcome what became of it. */
typedef struct tacit_chains {
  const tacit_augment_settings_t *settings;
  tacit_draws_t *draws;
  tacit_pool_task begin, advance;
  tacit_outcome_t *outcomes; /* (n_chains) */
  size_t round_end;          /* iterations that every chain has, or is about to have */
} tacit_chains_t;

/*
 * All chains' iterations, in rounds, so that a run that is stopped has draws of every chain, however many
 * threads there are. *result <- what is known of any kind of chains. The first chain's error, if there is
 * one.
 */
TACIT_MUST_USE tacit_status_t tacit_chains_run(tacit_chains_t *chains, void *run,
                                               tacit_augment_result_t *result, tacit_error_t *err);

TACIT_MUST_USE tacit_status_t tacit_path_init(tacit_chain_t *chain, tacit_error_t *err);
void tacit_path_clear(tacit_chain_t *chain);
void tacit_path_step(tacit_chain_t *chain);
/* Log density and gradient at the path's point; gradient_z (may be NULL) has shape (n). */
void tacit_path_evaluate(tacit_chain_t *chain, double *gradient_z);
/* velocity = mass^-1 small */
void tacit_path_velocity(const tacit_path_t *path, const double *small, double *velocity);

#endif
