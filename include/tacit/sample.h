/**
 * @file sample.h
 * Markov chain samplers. They see the public side of a model and the curator's
 * releases, never a record.
 */
#ifndef TACIT_SAMPLE_H
#define TACIT_SAMPLE_H

#include "tacit/account.h"
#include "tacit/base.h"
#include "tacit/draws.h"
#include "tacit/random.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tacit_curator;
struct tacit_parameters;

typedef enum tacit_proposal {
  TACIT_PROPOSAL_FULL =
      0, /**< all components at once; of a length fixed beforehand where only the bit leaves */
  TACIT_PROPOSAL_ONE_COMPONENT = 1, /**< one random component (OCU) */
  TACIT_PROPOSAL_GUIDED = 2         /**< guided random walk over components (GRW) */
} tacit_proposal_t;

/** dp-barker-vcorr: what is added to the log acceptance ratio, whose noise has variance C, before its sign is
 * looked at. */
typedef enum tacit_barker_test {
  /** V such that noise and V together are as nearly logistic as can be: tacit_vcorr_error() [Heikkila2019] */
  TACIT_BARKER_VCORR = 0,
  TACIT_BARKER_PENALTY =
      1 /**< a logistic variable less C / 2: exactly balanced (docs/theory.md, section 4) */
} tacit_barker_test_t;

/** What each method is; the table behind `tacit methods`. */
typedef struct tacit_method {
  const char *name; /**< "noise-aware", "dp-hmc", "dp-mala", "rwmh", ... */
  bool is_private;  /**< needs a budget; the others need an exposed curator */
  bool is_exact;    /**< the invariant distribution is the posterior when nothing is clipped */
  bool is_one_off;  /**< no chain of releases: run by tacit_fit_run(), refused by
                       the functions here */
  const char *summary;
} tacit_method_t;

/** Method i, or NULL past the last. */
TACIT_API const tacit_method_t *tacit_method_get(size_t i);
TACIT_API const tacit_method_t *tacit_method_find(const char *name);

/** What tuning by releases came to; public, as they are. */
typedef struct tacit_tuned {
  double step_size;             /**< used for the iterations */
  double clip_grad, clip_ratio; /**< chosen clip bounds; NaN where they were not to be chosen */
  double *inv_metric; /**< the caller's array, shape (dim), or NULL; filled if the metric was tuned */
} tacit_tuned_t;

typedef struct tacit_sampler_settings {
  size_t n_chains, n_warmup, n_draws, thin; /**< iterations per chain = n_warmup + n_draws * thin */

  double step_size;  /**< in units of the metric: HMC or Langevin step, or random-walk scale; > 0 */
  double step_decay; /**< dp-sgld, dp-sghmc, dp-sgnht, sghmc: the step of iteration t is step_size
                        t^-step_decay; >= 0 */
  size_t n_leapfrog; /**< dp-hmc, hmc; dp-sghmc, sghmc: steps between draws of the momentum */
  bool step_jitter;  /**< dp-hmc, hmc: multiply step_size by a randomised base-2 Halton point [Raisa2021] */
  bool adapt;        /**< hmc only: step size (dual averaging) and diagonal metric tuned during warm-up */
  tacit_proposal_t proposal; /**< rwmh, dp-penalty */
  bool reuse_gradient;       /**< dp-hmc: k L + 1 gradient releases instead of k (L + 1) */

  const double *inv_metric; /**< inverse mass matrix, shape (dim) or (dim, dim); NULL: unit */
  bool inv_metric_is_dense;

  /**
   * Release decisions alone, made by accept_rule, instead of noisy ratios: dp-penalty and dp-hmc. Always so
   * in dp-barker, dp-fast-mh-full and dp-mala; the step and the rule's bound then fix the cost, whatever the
   * chain does.
   */
  bool accept_bit;
  tacit_accept_rule_t accept_rule;

  double sampling_rate;            /**< minibatch methods: probability of each record, (0, 1] */
  tacit_barker_test_t barker_test; /**< dp-barker-vcorr */
  double ratio_variance; /**< dp-barker-vcorr: C, up to which noise is added to the log ratio; (0, 1000] */
  double friction;       /**< dp-sghmc, dp-sgnht, sghmc: in units of the metric, > 0 */
  double intensity; /**< dp-fast-mh, tunamh: in log-ratio units: about the ratio bound or more keeps the cost
                       of a decision near that of all records */
  double max_batch; /**< dp-fast-mh, tunamh: where n_public (intensity + ratio bound) is not below it, all
                       records are looked at */
  double n_public;  /**< dp-fast-mh, tunamh: public number of records, or a nominal one */

  double noise_multiplier_grad;  /**< tau_g: noise_sd = tau_g * f * b */
  double noise_multiplier_ratio; /**< tau_l: noise_sd = tau_l * f * c */

  const double *init;  /**< shape (n_chains, dim), unconstrained; NULL: zeros */
  size_t n_init_steps; /**< gradients released, one for all chains, to climb from the first start; 0: start
                          there */
  double noise_multiplier_init; /**< of these */

  /**
   * Tuning by releases, paid for by the budget: random walks and Hamiltonian methods, private ones only.
   * Before the climb and again halfway (only at the start, if there is no climb) a diagonal metric is made
   * from the released curvature, and clip bounds are chosen so that about clip_share of the units' gradients
   * are longer, from released counts. Then the step is shortened, if tune_step, so that noise is no larger
   * than planned; the cost is as planned in any case. The curator keeps the bounds.
   */
  bool tune_metric, tune_clip_grad, tune_clip_ratio, tune_step;
  double clip_share;                                      /**< (0, 1) */
  double noise_multiplier_metric, noise_multiplier_norms; /**< of these releases */
  tacit_tuned_t *tuned;                                   /**< out; NULL: not wanted */

  unsigned char key[32]; /**< of the sampler's own randomness */
  tacit_progress_fn progress;
  void *progress_user;
} tacit_sampler_settings_t;

TACIT_API tacit_sampler_settings_t tacit_sampler_settings_default(void);

/**
 * Is the invariant distribution the posterior, with these settings, when nothing is clipped? At sampling_rate
 * 1 more methods are exact than tacit_method_t.is_exact says. settings as completed by tacit_plan().
 */
TACIT_API bool tacit_sampler_is_exact(const tacit_method_t *method, const tacit_sampler_settings_t *settings);

/**
 * Largest difference between the distribution functions of N(0, variance) + V and of the logistic
 * distribution, for the V of TACIT_BARKER_VCORR: no V has a smaller one (docs/theory.md, section 20). NaN
 * where none is tabulated; there are 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5 and 3.
 */
TACIT_API double tacit_vcorr_error(double variance);

/** How a run ended. */
typedef enum tacit_sample_end {
  TACIT_SAMPLE_COMPLETE = 0,   /**< all iterations done */
  TACIT_SAMPLE_BUDGET = 1,     /**< the budget refused a further release */
  TACIT_SAMPLE_INTERRUPTED = 2 /**< the progress callback asked to stop */
} tacit_sample_end_t;

/**
 * What a run of n_iterations of every chain releases at most, in order, as events; freed with tacit_free().
 * None for an exposed method. settings as completed by tacit_plan().
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_sampler_schedule(const tacit_method_t *method,
                                                               const tacit_sampler_settings_t *settings,
                                                               const struct tacit_curator *curator,
                                                               size_t n_iterations, tacit_event_t **events,
                                                               size_t *n_events, tacit_error_t *err);
/**
 * Does the method release anything but Gaussian sums over all records? Then its budget needs
 * tacit_budget_set_schedule() with the list above before the run.
 */
TACIT_API bool tacit_sampler_needs_schedule(const tacit_method_t *method,
                                            const tacit_sampler_settings_t *settings);

/** Stands for "not given" in tacit_sampler_settings_t.n_warmup when a plan is asked for. */
#define TACIT_WARMUP_AUTO SIZE_MAX

/** What planning may use; all of it is public. */
typedef struct tacit_plan_request {
  const struct tacit_curator *curator; /**< its public facts only; no release is made */
  const struct tacit_parameters *parameters;
  double n_units;        /**< public number of units (under add-remove: a nominal one), > 0 */
  double rho;            /**< budget: tacit_budget_rho() less what is spent; INFINITY if exposed */
  double epsilon, delta; /**< of the budget; for methods that need a schedule */
  bool is_quick;         /**< count iterations of bits by Renyi accounting alone: a rough plan, at once */
  tacit_relation_t relation;
} tacit_plan_request_t;

/** What the budget buys. */
typedef struct tacit_plan {
  size_t n_iterations;  /**< per chain, warm-up included */
  double penalty_sd;    /**< noise in the log acceptance ratio at a typical move; 1 to 2 is efficient */
  double grad_noise_sd; /**< noise in a released gradient; NaN if the method releases none */
  double grad_noise;    /**< the same beside a gradient one posterior sd from the mode, as public guesses have
                           it: above 1, drowned */
  double rho;           /**< what n_iterations of every chain cost; NaN for methods that need a schedule */
  double epsilon;       /**< the same at the budget's delta; NaN if exposed, and where rho is */
  double ess; /**< effective draws to be expected of all chains, were the posterior normal with the metric's
                 scale */
  double ess_wide; /**< the same, were the posterior three times as wide as guessed, as where features vary a
                      third as much as their bounds allow; same as ess if the user gave the metric */
  double width; /**< sd of the error of a posterior mean so estimated, beside the posterior's own: sqrt(1 + 1
                   / ess) */
} tacit_plan_t;

/**
 * Complete the settings of a run from public information: the metric (unit_scale_j^2 / n_units), step size,
 * trajectory length, noise multipliers, warm-up and number of draws. Fields above 0 were given by the user
 * and stay (n_warmup: unless TACIT_WARMUP_AUTO); a number of draws that the budget cannot pay for is lowered.
 *
 * @param[in,out] settings   n_chains and thin must be set.
 * @param[out]    inv_metric shape (dim): settings->inv_metric points here if the user gave none.
 * @return TACIT_ERR_BUDGET if not even one iteration of every chain is affordable;
 *         TACIT_ERR_SENSITIVITY if a bound that the method needs is unknown.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_plan(const tacit_method_t *method,
                                                   const tacit_plan_request_t *request,
                                                   tacit_sampler_settings_t *settings, double *inv_metric,
                                                   tacit_plan_t *plan, tacit_error_t *err);

/**
 * Run a method; all chains advance in lockstep, so that every release is one pass over the data.
 *
 * @param[in,out] draws  initialised by the call (clear with tacit_draws_clear, also after failure);
 *                       reported scale.
 * @param[out]    end    how the run ended; an exhausted budget is not an error.
 * @return TACIT_OK also when stopped early; else the error, with the draws so far in `draws`.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_sample(const tacit_method_t *method,
                                                     struct tacit_curator *curator,
                                                     const struct tacit_parameters *parameters,
                                                     const tacit_sampler_settings_t *settings,
                                                     tacit_draws_t *draws, tacit_sample_end_t *end,
                                                     tacit_error_t *err);

#ifdef __cplusplus
}
#endif
#endif
