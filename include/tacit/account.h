/**
 * @file account.h
 * Privacy accounting: mechanism events, what a sequence of them costs, and a
 * budget that refuses what it cannot afford.
 *
 * Every epsilon and delta returned is rounded up, every affordable count down.
 */
#ifndef TACIT_ACCOUNT_H
#define TACIT_ACCOUNT_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Mechanisms. Each is a pair of output distributions (P, Q), the worst that neighbours can give under the
 * relation. */
typedef enum tacit_event_kind {
  TACIT_EVENT_GAUSSIAN = 0,        /**< noise_multiplier = noise_sd / (L2 sensitivity under the relation) */
  TACIT_EVENT_LAPLACE,             /**< noise_multiplier = scale / (L1 sensitivity under the relation) */
  TACIT_EVENT_DISCRETE_GAUSSIAN,   /**< integer noise of weight exp(-x^2 / (2 (D noise_multiplier)^2)), D =
                                      `sensitivity` or 1 */
  TACIT_EVENT_RANDOMIZED_RESPONSE, /**< with probability `probability` a uniform one of `buckets` answers; an
                                      absent record's is uniform */
  TACIT_EVENT_PAIR,                /**< a discrete pair, in `curve` */
  TACIT_EVENT_PROFILE,             /**< upper bounds of delta(epsilon), in `curve`; for symmetric relations */
  TACIT_EVENT_PENALTY_BIT,         /**< accept/reject bit of the penalty test with noise sd `sigma` */
  TACIT_EVENT_PROBIT_BIT,       /**< the same with any sd: only sensitivity / sigma matters, give sigma = 1 */
  TACIT_EVENT_BARKER_BIT,       /**< noise-free Barker test */
  TACIT_EVENT_ARCSINE_BIT,      /**< the capped arcsine rule with `kappa` and `cap` */
  TACIT_EVENT_DISCRETE_LAPLACE, /**< integer noise of weight exp(-|x| / (D noise_multiplier)), D =
                                   `sensitivity` or 1 */
  TACIT_EVENT_APPROXIMATE,      /**< anything that is (`epsilon`, `delta`)-differentially private */
  TACIT_EVENT_ZCDP,        /**< anything whose Renyi divergence of order a is at most xi + a rho, both ways */
  TACIT_EVENT_EXPONENTIAL, /**< anything of bounded range: log ratios within an interval of length `epsilon`
                            */
  TACIT_EVENT_GAUSSIAN_MIXTURE, /**< a record moves a Gaussian by s_k noise sds with probability w_k, both in
                                   `curve` */
  TACIT_EVENT_REPEAT_POISSON,   /**< the best of a Poisson number, of `mean`, of Gaussian releases with
                                   noise_multiplier */
  TACIT_EVENT_REPEAT_BINOMIAL /**< the best of a truncated negative binomial number with `mean` and `shape` */
} tacit_event_kind_t;

/** How the records of a release were drawn. */
typedef enum tacit_sampling {
  TACIT_SAMPLING_NONE = 0,            /**< all records */
  TACIT_SAMPLING_POISSON,             /**< each record independently with probability `sampling_rate` */
  TACIT_SAMPLING_WITHOUT_REPLACEMENT, /**< a fixed share `sampling_rate` of the records */
  TACIT_SAMPLING_MULTIPLICITY,        /**< each record Poisson(`sampling_rate`) times, as in DP-Fast MH */
  TACIT_SAMPLING_WITH_REPLACEMENT,    /**< `draws` times one of `records`; relation substitute only */
  TACIT_SAMPLING_TRUNCATED_POISSON /**< Poisson, of at most `records`; of more than `draws` that are drawn, so
                                      many at random */
} tacit_sampling_t;

/** A discrete pair, a privacy profile or a mixture's weights and shifts, as given by a user. */
typedef struct tacit_curve tacit_curve_t;

enum { TACIT_EVENT_TEXT_SIZE = 192 };

/**
 * One kind of release, made `count` times. Fields that a kind does not have are 0.
 *
 * Sampled Gaussians keep noise_multiplier = noise_sd / (L2 sensitivity of the unsampled sum under the
 * relation); under TACIT_RELATION_SUBSTITUTE that sensitivity is twice a record's bound.
 */
typedef struct tacit_event {
  tacit_event_kind_t kind;
  tacit_sampling_t sampling;
  double noise_multiplier; /**< > 0; an infinite one costs nothing; 0 is for accountants alone: no noise */
  double sampling_rate;    /**< in (0, 1]; 0 is for accountants alone: no record is drawn */
  double probability;      /**< of a uniform answer, in (0, 1] */
  double sensitivity; /**< bits: how far a record can move the log acceptance ratio; discrete Gaussian: 0 or D
                         steps */
  double sigma;       /**< penalty bit: noise sd, in units of the log ratio */
  double rho;         /**< bits: of the Gaussian releases made with each bit; may be 0 */
  uint64_t together; /**< bits: made in groups of this many, after the Gaussian releases of all; 0: 1. A count
                        that is no multiple costs what the next multiple does */
  double kappa, cap; /**< arcsine bit: square root of the information, largest acceptance */
  uint64_t buckets;  /**< number of answers, from 2 */
  uint64_t records, draws;    /**< of sampling: from 2, and from 1 */
  double epsilon, delta, xi;  /**< what is known of an event; delta and xi may be 0 */
  double mean, shape;         /**< of the number of repetitions: > 0; > -1 */
  const tacit_curve_t *curve; /**< borrowed */
  uint64_t count;
  char label[32]; /**< what was released: "gradient", "log-ratio" */
} tacit_event_t;

/**
 * Parse "gaussian:sigma=20", "poisson-gaussian:q=0.01,sigma=1", ... into an event with count 1;
 * `tacit account --help` lists them all. Pairs and profiles are read from the file that the text names, and
 * then belong to the event: tacit_event_clear(). Errors name the key and what was expected.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_event_parse(tacit_event_t *event, const char *text,
                                                          tacit_error_t *err);
/** Does the text name a file, as those of pairs, profiles and mixtures do? What is read from elsewhere must
 * not. */
TACIT_API bool tacit_event_names_file(const char *text);
/** Inverse of tacit_event_parse(), without count and label, to the last bit; returns text. Kinds with a curve
 * give their name alone. */
TACIT_API const char *tacit_event_format(const tacit_event_t *event, char text[TACIT_EVENT_TEXT_SIZE]);
TACIT_API void tacit_event_clear(tacit_event_t *event);
/**
 * The events as JSON with the class and field names of Google's dp_accounting library, for independent
 * recomputation; freed with tacit_free(). Bits, which it does not know, are given as the zCDP events that
 * bound them.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_events_json(const tacit_event_t *events, size_t n_events,
                                                          char **json, tacit_error_t *err);
/** exp of the above, rounded up. */
TACIT_API double tacit_gaussian_delta(double rho, double epsilon);
/** Least epsilon >= 0 with delta(epsilon) <= delta, rounded up (relative 1e-12). log_delta < 0. */
TACIT_API double tacit_gaussian_epsilon(double rho, double log_delta);
/** What plans take of a rho: sums of shares of it are rounded, and must not pass the whole. */
#define TACIT_PLANNED_SHARE (1 - 1e-9)

/** Largest rho with delta(epsilon; rho) <= delta, rounded down. */
TACIT_API double tacit_gaussian_rho(double epsilon, double log_delta);
/**
 * Improved RDP conversion, minimised over continuous orders [Canonne2020, Proposition 12]:
 * eps = min_alpha alpha rho + log(1 - 1/alpha) - (log delta + log alpha)/(alpha - 1).
 * @param[out] alpha the optimal order; may be NULL.
 */
TACIT_API double tacit_rdp_gaussian_epsilon(double rho, double log_delta, double *alpha);

/** A guarantee with its certified bracket. */
typedef struct tacit_guarantee {
  double epsilon, delta; /**< what is promised: the one asked for is an upper bound */
  double epsilon_lower;  /**< no smaller epsilon is true for the pairs that the events stand for; 0 if not
                            known */
  double delta_lower;    /**< the same for delta, where that was asked for */
  double order;          /**< Renyi order that attains the bound; 0 for other methods */
  const char *method; /**< "gaussian" (exact), "pld", "bits", "rdp", "zcdp", "moments"; "filter": of a budget
                         that took bits */
} tacit_guarantee_t;

/** What a computation is asked for besides its events. */
typedef struct tacit_account_options {
  tacit_relation_t relation; /**< which pairs the events stand for */
  double relative_width; /**< of the bracket of epsilon that "pld" must reach, in [1e-6, 0.1]; 0: 1e-3; below,
                            bits are covered more finely, at a cost of its inverse to the 1.5 */
  bool is_quick; /**< bits by Renyi accounting alone: a hundredth of the time, about a tenth fewer iterations
                  */
  bool
      is_in_order; /**< the events are made in the order listed, each as often as it counts before the next */
  const struct tacit_accountant *accountant; /**< of tacit_account_max_repetitions() and _noise_factor():
                                                NULL, or "auto": the tightest valid */
} tacit_account_options_t;

struct tacit_account_question;

/**
 * An accountant turns events into a guarantee: "auto" (the tightest valid), "gaussian", "pld", "rdp", "zcdp",
 * "moments".
 */
typedef struct tacit_accountant {
  const char *name;
  const char *summary;
  tacit_status_t (*answer)(
      const struct tacit_account_question *question, tacit_guarantee_t *guarantee,
      tacit_error_t *err); /**< internal: call tacit_account_epsilon() or tacit_account_delta() */
} tacit_accountant_t;

/** NULL if unknown. */
TACIT_API const tacit_accountant_t *tacit_accountant_find(const char *name);

/**
 * Least epsilon that the accountant (NULL: "auto") proves for the events at delta in (0, 1), or delta at
 * epsilon >= 0.
 * @param options NULL: relation substitute and the default width.
 * @return TACIT_ERR_ARGUMENT for events that the accountant has no proven bound for.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_account_epsilon(const tacit_accountant_t *accountant,
                                                              const tacit_event_t *events, size_t n_events,
                                                              const tacit_account_options_t *options,
                                                              double delta, tacit_guarantee_t *guarantee,
                                                              tacit_error_t *err);
TACIT_API TACIT_MUST_USE tacit_status_t tacit_account_delta(const tacit_accountant_t *accountant,
                                                            const tacit_event_t *events, size_t n_events,
                                                            const tacit_account_options_t *options,
                                                            double epsilon, tacit_guarantee_t *guarantee,
                                                            tacit_error_t *err);

/**
 * Largest number of repetitions k such that `fixed` (shape n_fixed, may be 0) followed by k times
 * all of `repeated` satisfies (epsilon, delta) by the accountant of the options. UINT64_MAX if repetitions
 * cost nothing. Of bits, 0.8 % fewer may be returned.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_account_max_repetitions(
    const tacit_event_t *fixed, size_t n_fixed, const tacit_event_t *repeated, size_t n_repeated,
    const tacit_account_options_t *options, double epsilon, double delta, uint64_t *k, tacit_error_t *err);

/**
 * Smallest factor, rounded up (relative 1e-6), by which the noise multipliers of all events must be scaled so
 * that they satisfy (epsilon, delta). Gaussian, Laplace and discrete Gaussian events only, sampled or not.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_account_noise_factor(const tacit_event_t *events,
                                                                   size_t n_events,
                                                                   const tacit_account_options_t *options,
                                                                   double epsilon, double delta,
                                                                   double *factor, tacit_error_t *err);

/**
 * Noise multiplier of the Gaussian release that is no more private than any mechanism with pure epsilon-DP,
 * rounded down: 1 / (2 z), Phi(z) = e^epsilon / (1 + e^epsilon) (docs/theory.md, section 12.8). By it pure
 * mechanisms can be added up with Gaussian ones.
 * @param epsilon > 0, at most 700; NaN outside.
 */
TACIT_API double tacit_pure_gaussian_multiplier(double epsilon);

/**
 * Upper bound of the true-positive rate of any test of "was this record in the data" at false-positive rate
 * fpr in (0, 1): min over epsilon of delta(epsilon) + e^epsilon fpr [Dong2022, Proposition 2.12].
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_account_attack_rate(const tacit_event_t *events,
                                                                  size_t n_events,
                                                                  const tacit_account_options_t *options,
                                                                  double fpr, double *tpr,
                                                                  tacit_error_t *err);

/** A point of a privacy profile: what is promised at epsilon, and the delta of the pairs themselves; 0 if not
 * known. */
typedef struct tacit_profile_point {
  double epsilon, delta, delta_lower;
} tacit_profile_point_t;

/**
 * delta as a function of epsilon: at n_points values of epsilon, evenly from 0 to where delta is 1e-12.
 * @param points shape (n_points), at least 2.
 * @return TACIT_ERR_ARGUMENT where no epsilon holds at 1e-12.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_account_profile(const tacit_event_t *events, size_t n_events,
                                                              const tacit_account_options_t *options,
                                                              size_t n_points, tacit_profile_point_t *points,
                                                              tacit_error_t *err);
/**
 * Renyi divergence of an order > 1 [Mironov2017], summed over the events and rounded up; INFINITY where there
 * is none.
 * @return TACIT_ERR_ARGUMENT for events of which no bound is proven: profiles, and samples other than Poisson
 * samples of Gaussians.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_account_renyi(const tacit_event_t *events, size_t n_events,
                                                            const tacit_account_options_t *options,
                                                            double order, double *divergence,
                                                            tacit_error_t *err);
/**
 * mu of Gaussian differential privacy [Dong2022], rounded up: all events together are dominated by a Gaussian
 * release with noise sd / sensitivity 1 / mu. Exact for Gaussian releases; pure epsilon-DP counts as the
 * Gaussian of tacit_pure_gaussian_multiplier().
 * @return TACIT_ERR_ARGUMENT for events that no Gaussian release is known to dominate.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_account_gdp(const tacit_event_t *events, size_t n_events,
                                                          double *mu, tacit_error_t *err);

/**
 * A budget: a privacy filter over adaptively chosen events. For Gaussian events it is the rho
 * filter: sum rho_j <= rho(epsilon, delta), valid when noise multipliers are chosen adaptively
 * (GDP/RDP filters [Feldman2021, SmithThakurta2022]). Accept/reject bits and discrete Gaussian releases,
 * which may come in between, are added up as the Gaussian releases that dominate them (docs/theory.md,
 * section 9.11). Not thread-safe.
 */
typedef struct tacit_budget tacit_budget_t;

/** @param epsilon finite > 0;  @param delta in (0, 1). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_budget_new(tacit_budget_t **budget, double epsilon,
                                                         double delta, tacit_relation_t relation,
                                                         tacit_error_t *err);
/**
 * Give an unused budget a schedule fixed in advance, which may hold events of any kind: refused if all of it
 * together exceeds (epsilon, delta). Charges must then follow the list: each is part of the event at hand or
 * of a later one, and what was passed over is forfeited; a Gaussian charge may be part of the rho of a bit,
 * before the bits of its group. Stopping early and the choice of when to make which charge may depend on
 * earlier releases (docs/theory.md, section 9.9).
 *
 * @param events shape (n_events), copied; none with a curve.
 * @return TACIT_ERR_BUDGET, TACIT_ERR_STATE after a charge, TACIT_ERR_ARGUMENT.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_budget_set_schedule(tacit_budget_t *budget,
                                                                  const tacit_event_t *events,
                                                                  size_t n_events, tacit_error_t *err);
TACIT_API void tacit_budget_free(tacit_budget_t *budget);
/**
 * Charge an event, before it is computed. Charges are never refunded.
 * @return TACIT_ERR_BUDGET if it does not fit: nothing is charged and the message says what would fit.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_budget_charge(tacit_budget_t *budget,
                                                            const tacit_event_t *event, tacit_error_t *err);
TACIT_API double tacit_budget_epsilon(const tacit_budget_t *budget);
TACIT_API double tacit_budget_delta(const tacit_budget_t *budget);
TACIT_API tacit_relation_t tacit_budget_relation(const tacit_budget_t *budget);
/** Was it made for a schedule? */
TACIT_API bool tacit_budget_is_scheduled(const tacit_budget_t *budget);
/** The schedule as it was set; shape (*n), 0 if there is none. Borrowed. */
TACIT_API const tacit_event_t *tacit_budget_schedule(const tacit_budget_t *budget, size_t *n);
/** Guarantee of the whole schedule. */
TACIT_API tacit_guarantee_t tacit_budget_planned(const tacit_budget_t *budget);
/** Total rho that the budget allows and what has been charged; NaN for a schedule. */
TACIT_API double tacit_budget_rho(const tacit_budget_t *budget);
TACIT_API double tacit_budget_rho_spent(const tacit_budget_t *budget);
/**
 * What is promised, fixed before the first charge: the budget's (epsilon, delta), method "filter"; of a
 * schedule its own guarantee. It holds whatever was released, and for whoever stops, or chose what to
 * release, by what came out.
 */
TACIT_API tacit_guarantee_t tacit_budget_promised(const tacit_budget_t *budget);
/**
 * What has been charged so far, at the budget's delta; epsilon 0 if nothing was. Of a schedule, all of which
 * counts from the first charge on. No guarantee: how much is charged depends on what was released (a
 * divergent move skips releases, a run ends early), and one who stops when he likes what he sees is not
 * covered by it.
 */
TACIT_API tacit_guarantee_t tacit_budget_spent(const tacit_budget_t *budget);
/** Charged events, equal ones merged; shape (*n). Borrowed until the next charge. */
TACIT_API const tacit_event_t *tacit_budget_events(const tacit_budget_t *budget, size_t *n);
#ifdef __cplusplus
}
#endif
#endif
