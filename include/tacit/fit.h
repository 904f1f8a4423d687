/**
 * @file fit.h
 * A regression under differential privacy from formula to report: everything that `tacit fit` decides. The
 * program, Python and R all call this, and so can any other.
 *
 *     tacit_fit_new(&fit, "y ~ age + sex", &err);
 *     tacit_fit_set(fit, "family", "bernoulli", &err);       settings are name and text, by the names of
 * tacit fit --help tacit_fit_read(fit, "records.csv", &err);              records behind the curator; the
 * plan; nothing is released tacit_fit_run(fit, NULL, NULL, &err);                  reserve in the ledger,
 * charge, draw, settle tacit_fit_write(fit, "results", &err); tacit_fit_free(fit);
 *
 * Steps come in this order, and whatever was decided stays: a setting after tacit_fit_read() is
 * TACIT_ERR_STATE. What these functions return is public, computed from settings, or from releases that were
 * charged before they were made. Errors name the setting at fault in tacit_error_t.field.
 */
#ifndef TACIT_FIT_H
#define TACIT_FIT_H

#include "tacit/account.h"
#include "tacit/arrow.h"
#include "tacit/base.h"
#include "tacit/curator.h"
#include "tacit/data.h"
#include "tacit/diagnose.h"
#include "tacit/draws.h"
#include "tacit/setting.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings ---- */

/** All settings of a fit, shape (*n), in the order of tacit fit --help. */
TACIT_API const tacit_setting_t *tacit_fit_settings(size_t *n);

/* ---- a fit ---- */

typedef struct tacit_fit tacit_fit_t;

/**
 * Begin, with a formula or the name of a file with a program, "visits.stan" (docs/language.md). *fit is NULL
 * on failure, which tacit_fit_free() allows.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_new(tacit_fit_t **fit, const char *formula,
                                                      tacit_error_t *err);
/** Free everything; the records are wiped with the curator. After a run that never began, nothing was spent.
 */
TACIT_API void tacit_fit_free(tacit_fit_t *fit);

/**
 * Give a setting; underscores stand for hyphens. Given again it replaces the former, but each `prior`, `set`,
 * `constants` and `public` counts.
 * @return TACIT_ERR_UNKNOWN for a name that is none, with the nearest one; TACIT_ERR_ARGUMENT for a text that
 * is not of its kind; TACIT_ERR_STATE after tacit_fit_plan() or tacit_fit_read().
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_set(tacit_fit_t *fit, const char *name, const char *text,
                                                      tacit_error_t *err);
/** The schema as n bytes of YAML instead of the setting `schema`; `name` stands for its file in messages, as
 * in tacit_schema_parse(). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_set_schema(tacit_fit_t *fit, const char *text, size_t n,
                                                             const char *name, tacit_error_t *err);

/** Several processes that fit together (tacit_ranks_t): the first one keeps the ledger and writes. */
typedef struct tacit_fit_ranks {
  const tacit_ranks_t *ranks;
  /** Called by all ranks that have not failed, before they communicate: false if one has failed, so that all
   * give up. */
  bool (*is_well)(void *user);
  void *user;
} tacit_fit_ranks_t;

/** Before anything but settings; copied, what it points to is borrowed. */
TACIT_API void tacit_fit_set_ranks(tacit_fit_t *fit, const tacit_fit_ranks_t *ranks);

/* ---- the plan ---- */

/** What a plan can be expected to yield, by the thresholds of tacit diagnose. */
typedef enum tacit_fit_verdict {
  TACIT_FIT_GOOD = 0,
  TACIT_FIT_POOR,    /**< no usable chain, or intervals several times as wide as without privacy */
  TACIT_FIT_HOPELESS /**< refused unless somebody says to go on: all chains together not worth one draw, or
                        most such fits end with a problem */
} tacit_fit_verdict_t;

/** Computed from public facts alone. NaN where a method has no such number. */
typedef struct tacit_fit_plan {
  const char *method;
  size_t n_chains, n_iterations, n_warmup, n_draws; /**< of each chain; n_draws kept after thinning */
  size_t n_releases; /**< of noise-aware: its releases; draws given them cost nothing. Else 0 */
  double step_size;  /**< in units of the metric */
  double penalty_sd; /**< noise in a log acceptance ratio */
  double grad_noise; /**< noise of a gradient beside the gradient one posterior sd from the mode */
  double ess;        /**< effective draws of all chains, were the posterior as wide as the schema suggests */
  double ess_wide;   /**< were it three times as wide */
  double width; /**< error of a posterior mean beside that of the exact one; noise-aware: least sd beside the
                   non-private one */
  double epsilon; /**< of the budget */
  tacit_fit_verdict_t verdict;
} tacit_fit_plan_t;

/**
 * Plan without records, for n_units of them (under add-remove: a nominal number). After tacit_fit_read() the
 * plan of those records, and n_units is not used.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_plan(tacit_fit_t *fit, double n_units,
                                                       tacit_fit_plan_t *plan, tacit_error_t *err);

/** A method with one of its acceptance rules, under the budget. Numbers as in tacit_fit_plan_t. */
typedef struct tacit_fit_choice {
  const char *method, *acceptance; /**< acceptance: "-" where there is nothing to choose */
  tacit_status_t status; /**< TACIT_OK, or why it is none: then `reason` says so and the numbers are 0 */
  char reason[768];
  size_t n_iterations; /**< of each chain; of noise-aware: its releases */
  double step_size, penalty_sd, grad_noise, ess, ess_wide, width;
  double width_poor; /**< noise-aware: what sds are up to, about, of columns of which a two-valued one has 2 %
                        in its rarer level or one fills a tenth of its bounds; else NAN */
} tacit_fit_choice_t;

enum { TACIT_FIT_N_CHOICES = 12 };

/**
 * What each method would make of the budget, for n_units records: tacit plan. The setting `method` and what
 * goes with one of them are not looked at. Bits are counted by Renyi accounting, a rough plan at once. Which
 * one to take: TACIT_FIT_TEXT_ADVICE.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_compare(tacit_fit_t *fit, double n_units,
                                                          tacit_fit_choice_t choices[TACIT_FIT_N_CHOICES],
                                                          tacit_error_t *err);

/** An answer to: which epsilon? NaN where the method does not go with the relation, INFINITY where no epsilon
 * up to 1e6 does. */
typedef struct tacit_fit_want {
  tacit_relation_t relation;
  double epsilon;      /**< of columns that fill their bounds */
  double epsilon_poor; /**< of columns as unkind as those of tacit_fit_choice_t.width_poor */
} tacit_fit_want_t;

/**
 * Which epsilon gives intervals of a width, by the forecast of the plan of method noise-aware, under both
 * relations: substitute, then add-remove. From settings and a number of units that is typed, never read.
 *
 * @param[in] fit    with all that a plan needs, but no epsilon.
 * @param[in] width  posterior sd beside the non-private one; above 1, at most 1000.
 * @return TACIT_ERR_ARGUMENT also where the method does not apply, and says why.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_want_width(tacit_fit_t *fit, double n_units, double width,
                                                             tacit_fit_want_t wants[2], tacit_error_t *err);

/**
 * A page (HTML, stands alone) that draws the width of every coefficient's interval against epsilon, under
 * both relations, by the forecast of method noise-aware. From settings, schema and a number of units that is
 * typed, never read.
 * @param fit        with all that a plan needs; an epsilon is marked if it is set.
 * @param[out] html  owned, tacit_report_text_free().
 * @return TACIT_ERR_ARGUMENT also where the method does not apply, and says why.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_plan_page(tacit_fit_t *fit, double n_units, char **html,
                                                            tacit_error_t *err);

/* ---- records ---- */

/**
 * Read records (tacit_table_read()), look at the ledger if one is set, and plan. Nothing is charged or
 * released.
 * @return as tacit_table_read(); TACIT_ERR_ARGUMENT for settings that do not go together; TACIT_ERR_EXISTS,
 * TACIT_ERR_IO where the setting `out` cannot be written; TACIT_ERR_BUDGET for a budget that buys nothing.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_read(tacit_fit_t *fit, const char *path,
                                                       tacit_error_t *err);
/** The same from any source, one without path and stream being the settings `data` and `query`; several ranks
 * read none that can be read but once. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_read_source(tacit_fit_t *fit,
                                                              const tacit_data_source_t *source,
                                                              tacit_error_t *err);
/** What reading a table needs; settles all settings. Borrowed from the fit. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_columns(tacit_fit_t *fit, const tacit_schema_t **schema,
                                                          const char *const **columns, size_t *n_columns,
                                                          tacit_error_t *err);

/* ---- records that an engine holds in parts: a pass is a function of a part (docs/clusters.md) ---- */

/** What there is in a part. */
typedef struct tacit_fit_part {
  size_t n_records, n_units;
} tacit_fit_part_t;

/** An engine (Spark, Dask, a loop over files) that holds what tacit_fit_pack() made of each part, and adds up
 * what tacit_fit_sum_part() makes of it. */
typedef struct tacit_fit_parts {
  size_t n;                      /**< 1 to 2^20 - 1 */
  const tacit_fit_part_t *parts; /**< shape (n), in any order; copied */
  /**
   * sums (n_sums) += the sums of every part for this request, each part once, in any order; a part that was
   * lost may be summed again. The request is public; sums are PRIVATE. Returns false if it could not: the run
   * then stops with TACIT_ERR_STATE.
   */
  bool (*sum)(void *user, const char *request, size_t n_sums, int64_t *sums);
  void *user;
} tacit_fit_parts_t;

/**
 * As tacit_fit_read(), of records that are elsewhere. All rows of a unit must be in one part, and every row
 * in one part alone: nothing here can see that. Releases are, to the last bit, those of one process with the
 * same records and seed. Method noise-aware.
 * @return TACIT_ERR_ARGUMENT for another method; else as tacit_fit_read().
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_read_parts(tacit_fit_t *fit, const tacit_fit_parts_t *parts,
                                                             tacit_error_t *err);

/**
 * For a fit that packs or sums parts: it has the formula, the schema and the settings of the fit that asks,
 * but `seed`, `out`, `ledger` and what names files; nothing is charged. Before anything but settings.
 */
TACIT_API void tacit_fit_be_part(tacit_fit_t *fit);
/**
 * Pack the records of one part, once. Bytes that this version of tacit reads again on machines of one kind;
 * as PRIVATE as the records.
 * @param[out] packed  owned, shape (*n), tacit_free(). NULL on failure.
 * @return as tacit_fit_read_source(); a part may have no records.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_pack(tacit_fit_t *fit, const tacit_data_source_t *source,
                                                       void **packed, size_t *n, tacit_fit_part_t *part,
                                                       tacit_error_t *err);
/**
 * What one part adds to the sums of a request: a function of the two, and of nothing that was asked before.
 * @param[out] sums  owned, shape (*n_sums), tacit_free(); PRIVATE. NULL on failure.
 * @return TACIT_ERR_SYNTAX for bytes or a request that are none, of another version, or of a fit with other
 * settings.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_sum_part(tacit_fit_t *fit, const char *request,
                                                           const void *packed, size_t n, int64_t **sums,
                                                           size_t *n_sums, tacit_error_t *err);

/* ---- the run ---- */

/**
 * Reserve in the ledger what the run can release, durably; without a ledger nothing. tacit_fit_run() does so
 * if it was not done.
 * @param is_trial  only say whether it would fit.
 * @return TACIT_ERR_BUDGET if it does not.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_reserve(tacit_fit_t *fit, bool is_trial,
                                                          tacit_error_t *err);
/**
 * Release, draw, and lower the reservation to what was charged.
 *
 * By noise-aware a run does not stop between its first charge and its last release: they tell nothing without
 * each other. Then draws cost nothing: where none can be returned, tacit_fit_releases_json() has what was
 * paid for, and the directory of the setting `out` keeps it (tacit refit).
 *
 * `progress` (may be NULL) is called after each iteration of all chains; before the first one, where that
 * takes time, with iteration 0. If it returns false the run stops. Before the first charge nothing is spent.
 * After it, draws so far are kept where a usable number of iterations was done; but nothing is returned, and
 * the reservation stays as it is, where the moment at which somebody stopped waiting depends on what is
 * private: how many records there are (relation add-remove), how many rows units have (max_rows above 1), how
 * many records were left out (missing: drop), how many a minibatch has.
 *
 * @return TACIT_OK with draws to be had; TACIT_ERR_INTERRUPTED or TACIT_ERR_BUDGET if there is not one; else
 * the error. What was charged is charged, tacit_fit_spent().
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_run(tacit_fit_t *fit, tacit_progress_fn progress,
                                                      void *user, tacit_error_t *err);

/* ---- draws given what an earlier fit released: no records, nothing charged ---- */

/**
 * Begin with what the fit in a directory kept (releases.json, privacy.json, privacy.txt; docs/releases.md),
 * also of one that did not end: settings, schema and releases are its own. Without the two statements they
 * are made again from what the releases cost. Settings that may be given now: prior, prior-scale,
 * prior-basis, chains, warmup, draws, thin, seed, out; a prior replaces all of the fit's. Of a program:
 * program, the fit's with another prior, in the place of the first three.
 * @return TACIT_ERR_MISSING where nothing was kept; TACIT_ERR_SYNTAX for a file that is none. *fit is NULL on
 * failure.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_reopen(tacit_fit_t **fit, const char *path,
                                                         tacit_error_t *err);
/**
 * Begin with what n >= 2 fits of one model kept, of sites that share coefficients: directories, or their
 * releases.json. The posterior is one prior times the likelihoods of all releases; never a product of
 * posteriors. Settings as above; a prior must be said where the sites' differ. Of linear regressions the
 * sites share coefficients, and each has a residual sd of its own, which is reported.
 * @param is_disjoint  nobody's records are at two sites: then the cost is the dearest site's, else epsilons
 * and deltas add up.
 * @return as tacit_fit_reopen(); tacit_fit_redraw() refuses sites with other models, and the same fit twice.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_combine(tacit_fit_t **fit, const char *const *paths,
                                                          size_t n, bool is_disjoint, tacit_error_t *err);
/**
 * Let effects differ between the sites of tacit_fit_combine(): each site's normal around mean effects, which
 * are reported, followed by the sds between sites and by each site's own effects.
 * @param between  scale of the half-normal prior of those sds, for one sd of a feature or between two levels,
 * on the scale of the linear predictor, of a gaussian in sds of the response: 0.01 to 100. 0.5 [Rover2021]
 * has median 0.34: most sites' odds ratios within a factor of 2 of the mean one.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_set_exchangeable(tacit_fit_t *fit, double between,
                                                                   tacit_error_t *err);
/**
 * Draw. Without a new seed and prior the draws are the fit's own, bit for bit, on the same machine; the seed
 * protects nothing here and may be known to anybody. Then tacit_fit_write(): the privacy statement written is
 * the fit's.
 * @return TACIT_ERR_DATA for releases that are not of the model or the budget beside them; else as
 * tacit_fit_run().
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_redraw(tacit_fit_t *fit, tacit_progress_fn progress,
                                                         void *user, tacit_error_t *err);

/**
 * Put what a check of the fit found (the file that tacit check --out wrote) into the report of a fit that was
 * reopened, before anything is drawn.
 * @return TACIT_ERR_SYNTAX for another file; TACIT_ERR_DATA for a check of another fit.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_show_check(tacit_fit_t *fit, const char *path,
                                                             tacit_error_t *err);

/* ---- private checks: one more release of the records, charged ---- */

/** A row of a table: records whose predicted mean, or whose term, lies between low and high. */
typedef struct tacit_fit_check_bin {
  double low, high;
  double count;     /**< about how many records: released with noise, and drawn towards their share of the
                       pseudo-population */
  double count_sd;  /**< of the noise in what was released of it; 0 by term: nothing was */
  double predicted; /**< mean response by the fit, of the pseudo-population there */
  double residual;  /**< observed less predicted, mean; gaussian: each clamped to 3 sigma; poisson: of Pearson
                       residuals clamped to +-3, in sds */
  double sd; /**< of `residual` if the fit is right: privacy noise, sampling, and what the posterior leaves
                open */
} tacit_fit_check_bin_t;

/**
 * Of fits of programs residuals are lo + hi - 1, lo and hi what the fit gives to responses below a record's
 * own and up to it, from -1 to 1 and 0 in the mean; and there is a shape: of each tenth of what the fit gives
 * to responses the share of records' responses in it, which is 1/10 if the fit is right.
 */
typedef struct tacit_fit_check {
  char fit[65];        /**< of which fit: the key in its releases.json */
  size_t n_bins, n_by; /**< n_by 0: no term was asked for */
  tacit_fit_check_bin_t bins[TACIT_FIT_MAX_BINS], by[TACIT_FIT_MAX_BINS];
  const char *by_label;
  double misfit, by_misfit; /**< all rows together, as a standard normal if the fit is right (by a
                               chi-square); NaN: none */
  double excess, excess_sd; /**< poisson, gaussian: mean of squared Pearson residuals, each at most 9, above
                               what the model says; NaN: none */
  size_t n_shape;           /**< programs: tenths; 0: there is no shape */
  tacit_fit_check_bin_t
      shape[TACIT_PIT_CELLS];  /**< predicted: 1/10, residual: the share less that; count 0 */
  double shape_misfit;         /**< as the others; NaN: there is no shape */
  double spread_z, location_z; /**< of the shape's bend, above 0 where responses are further out than the fit
                                  says; of its slope, above 0 where they are larger */
  bool predicts_medians;       /**< predictions are medians, not means */
  const char *const
      *by_levels; /**< shape (n_by): names of the bins of a column of levels; NULL: it has none; the fit's */
  bool is_gaussian; /**< then residuals are in the response's unit, and the excess is that of normal errors of
                       the fit's sigma */
} tacit_fit_check_t;

/**
 * Begin a check of the fit in a directory (by noise-aware), against records that are read next:
 * tacit_fit_set() epsilon, delta, ledger, ..., tacit_fit_read(), tacit_fit_check(). `schema`: a file that
 * must be the fit's schema; NULL: nothing to compare. *fit is NULL on failure.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_begin_check(tacit_fit_t **fit, const char *path,
                                                              const char *schema, tacit_error_t *err);
/**
 * Reserve, release (counts and residuals in bins, of programs the shape of their responses, too; the whole
 * budget), settle. Bins of predictions are tenths of the fit's pseudo-population.
 * @param[in]  by  label of a term, of programs a column that records have, whose bins get residuals of their
 * own, for a quarter of the budget; NULL: none.
 * @return TACIT_ERR_BUDGET if the ledger refuses; TACIT_ERR_ARGUMENT for a term that is none. What is spent:
 * TACIT_FIT_TEXT_SPENT.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_check(tacit_fit_t *fit, const char *by,
                                                        tacit_fit_check_t *check, tacit_error_t *err);
/** What was found, as tables with verdicts in words, and what it cost, with the fit's promise added; owned,
 * tacit_free(). After tacit_fit_check(). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_check_text(const tacit_fit_t *fit,
                                                             const tacit_fit_check_t *check, char **text,
                                                             tacit_error_t *err);
/** The same as JSON: z of each verdict, and the bins; owned, tacit_free(). After tacit_fit_check(). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_check_json(const tacit_fit_t *fit,
                                                             const tacit_fit_check_t *check, char **text,
                                                             tacit_error_t *err);

/* ---- results: NULL, 0 or "" before tacit_fit_run() has returned TACIT_OK; borrowed from the fit ---- */

TACIT_API const tacit_draws_t *tacit_fit_draws(const tacit_fit_t *fit);
/** "complete", "budget" or "interrupted". */
TACIT_API const char *tacit_fit_end(const tacit_fit_t *fit);
/** How the sampler fared, and what the fit rests on: for tacit_diagnose_fit(). NULL where there is nothing of
 * it. */
TACIT_API const tacit_published_t *tacit_fit_published(const tacit_fit_t *fit);
TACIT_API const tacit_evidence_t *tacit_fit_evidence(const tacit_fit_t *fit);
/** As the user writes them, "log(flc)"; shape (draws->n_reported). */
TACIT_API const char *const *tacit_fit_labels(const tacit_fit_t *fit);
/** As Stan CSV names them, "b_log_flc". */
TACIT_API const char *const *tacit_fit_names(const tacit_fit_t *fit);
/** The privacy statement in words; owned, tacit_free(). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_statement(const tacit_fit_t *fit, char **text,
                                                            tacit_error_t *err);
/** The same as the JSON of privacy.json; owned, tacit_free(). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_privacy_json(const tacit_fit_t *fit, char **text,
                                                               tacit_error_t *err);
/**
 * What was released, as releases.json has it: in a directory tacit_fit_reopen() takes it. Owned,
 * tacit_free(). Also after TACIT_ERR_INTERRUPTED, if all releases had been made.
 * @return TACIT_ERR_MISSING where nothing can be drawn from what the method releases.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_releases_json(const tacit_fit_t *fit, char **text,
                                                                tacit_error_t *err);
/**
 * Write the report into a new directory; NULL: that of the setting `out`, which the
 * run made before its first charge, or the directory of a fit that did not end and was reopened.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_fit_write(tacit_fit_t *fit, const char *path,
                                                        tacit_error_t *err);

/* ---- at any time ---- */

/**
 * What is promised: fixed before anything is released, and the figure to quote. Zeros before the budget is
 * known, NaN of an exposed fit.
 */
TACIT_API tacit_guarantee_t tacit_fit_promised(const tacit_fit_t *fit);
/**
 * What was charged so far, also while progress() is called; zeros before anything was, NaN of an exposed fit.
 * No guarantee: tacit_budget_spent().
 */
TACIT_API tacit_guarantee_t tacit_fit_spent(const tacit_fit_t *fit);
/** False for exposed and seeded fits, which protect nobody. */
TACIT_API bool tacit_fit_is_private(const tacit_fit_t *fit);

/** Sentences for a person, of lines that end with a newline; "" where there is nothing to say. */
typedef enum tacit_fit_text {
  TACIT_FIT_TEXT_PLAN = 0,  /**< the plan and its forecast */
  TACIT_FIT_TEXT_WARNING,   /**< what is poor about it */
  TACIT_FIT_TEXT_ADVICE,    /**< which of the methods that were compared to take */
  TACIT_FIT_TEXT_PRICE,     /**< what the run takes of the ledger, where that is more than by itself */
  TACIT_FIT_TEXT_TUNED,     /**< what releases led to, where settings were tuned by them */
  TACIT_FIT_TEXT_SPENT,     /**< what is promised and what was charged, in one line; a second one names the
                               ledger's entry */
  TACIT_FIT_TEXT_UNSETTLED, /**< why the ledger keeps all that was reserved */
  TACIT_FIT_TEXT_PROGRAM,   /**< the program that was fitted, as it is kept with a report for predictions:
                               tacit_report_read_t.program */
  TACIT_FIT_N_TEXTS
} tacit_fit_text_t;

TACIT_API const char *tacit_fit_text(const tacit_fit_t *fit, tacit_fit_text_t which);
#ifdef __cplusplus
}
#endif
#endif
