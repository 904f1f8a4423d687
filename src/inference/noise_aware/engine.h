/*
 * One skeleton for all fits: the schedule of what is learned when, of one site or of several, what is drawn,
 * and what is said of it (fit.c). What depends on the family is a provider's: a table of functions, chosen by
 * the settings in one place (provider.c). scores.c, gaussian.c and program.c each end with theirs.
 */
#ifndef TACIT_NOISE_AWARE_ENGINE_H
#define TACIT_NOISE_AWARE_ENGINE_H

#include "noise_aware/noise_aware_internal.h"

enum { TACIT_AWARE_MAX_DIM = TACIT_NOISE_AWARE_MAX_FEATURES + 1 };

typedef struct tacit_aware_provider tacit_aware_provider_t;

/* What one site's releases tell. */
typedef struct tacit_aware_site {
  tacit_curator_t *curator; /* NULL: what it released is in settings->releases */
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  bool is_alone;        /* else it is one of those that are combined */
  bool has_begun_again; /* see must_begin_again */
  size_t n_kept;        /* so many releases are there already, if so */
  tacit_aware_count_t count;
  tacit_unit_rows_t unit_rows; /* of providers that count them */
  void *of;                    /* its provider's: size bytes, which are zeros at first */
  /* ---- what the provider finds, besides ---- */
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES];
  double mean_noise, eigenvalue; /* as of tacit_aware_common_t */
  double contrast;               /* of scores by numbers of rows: contrast.c; 0: none was released */
  bool has_normal_tails;         /* heavy tails of the prior left nothing to climb */
} tacit_aware_site_t;

/* One site, or several under one prior, and what is drawn. */
typedef struct tacit_aware_fit {
  const tacit_aware_provider_t *provider;
  tacit_aware_site_t *sites; /* (n) */
  size_t n;
  bool is_combined; /* else there is one site, which may have a curator */
  double between;   /* of sites that are combined: scale of spreads between them, in the linear predictor's
                       unit, of a program in 1 / scales.sd; 0: effects are common */
  tacit_draws_t *draws;
  /*
   * Coefficients, d of them; of a program all parameters. A log sd of residuals, if there is one, is the
   * parameter after them. Settings are those of the first site. Scales: of features, all sites together;
   * of a program sd is the root of what a record tells of the parameter. It points to what follows.
   */
  tacit_aware_common_t common;
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES];
  double mean[TACIT_AWARE_MAX_DIM], cov[TACIT_AWARE_MAX_DIM * TACIT_AWARE_MAX_DIM]; /* (d), (d, d) */
} tacit_aware_fit_t;

/* Scores of units at the last point, in coordinates in which a row's have a variance of about 1. */
typedef struct tacit_aware_scores_at {
  tacit_linear_point_t linear; /* the point, by one of these */
  tacit_score_point_t family;
  tacit_family_point_t of_family;
  tacit_program_point_t program;
  tacit_aware_banded_t banded;
} tacit_aware_scores_at_t;

/* NULL: there is no such thing, unless said otherwise. */
struct tacit_aware_provider {
  /* ---- of public numbers alone: what noise_aware.h promises of functions of these names ---- */
  size_t (*events)(const tacit_noise_aware_settings_t *settings,
                   tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]);
  double (*inflation)(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);
  double (*inflation_poor)(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);
  tacit_status_t (*check_budget)(const tacit_noise_aware_settings_t *settings, tacit_error_t *err);
  bool (*is_noisy)(const tacit_noise_aware_settings_t *settings); /* NULL: false */
  double (*scale_doubt)(const tacit_noise_aware_settings_t *settings, size_t dim,
                        double n_units);                          /* NULL: 0 */
  double (*hidden)(const tacit_noise_aware_settings_t *settings); /* NULL: 0 */
  size_t (*most)(const tacit_noise_aware_settings_t *settings);   /* coefficients of one site */
  bool (*has_sd)(const tacit_noise_aware_settings_t *settings);   /* a log sd of residuals; NULL: false */
  tacit_status_t (*check)(const tacit_noise_aware_settings_t *settings, const tacit_parameters_t *parameters,
                          tacit_error_t *err);
  bool is_regression;    /* of features, whose scales the prior may go by; budgets do not go by the prior */
  bool counts_unit_rows; /* releases how many rows units have, where these may have several */

  /* ---- one site: all that it releases ---- */
  size_t size;
  tacit_status_t (*open)(tacit_aware_site_t *site, tacit_error_t *err); /* before anything is released */
  tacit_status_t (*learn_features)(tacit_aware_site_t *site, tacit_error_t *err); /* before the prior's scale
                                                                                     is known: site->scales */
  tacit_status_t (*learn_scores)(tacit_aware_site_t *site, tacit_error_t *err);
  /* Does what has been learned show that it must be learned from the same releases in another way? Then all
   * is cleared and begins again, with has_begun_again. */
  bool (*must_begin_again)(const tacit_aware_site_t *site);
  void (*scores_at)(const tacit_aware_site_t *site, tacit_aware_scores_at_t *at); /* after learn_scores */
  void (*clear)(void *of);                                                        /* also after failure */

  /* ---- the likelihood of one site's releases, of coefficients theta (d) ---- */
  double (*log_likelihood)(void *of, const double *theta); /* up to a constant */
  /* A point (d) about where that is highest; its slope (d) and Gauss-Newton precision (d, d) there. */
  void (*look)(void *of, double *at, double *slope, double *precision);
  /*
   * Of sites with a residual sd and what belongs to it, which enter the likelihood: begin them, and draw them
   * given the coefficients. log_sd: log of the residual sd.
   */
  void (*begin)(void *of, const double *theta, tacit_rng_t *rng);
  void (*renew)(void *of, const double *theta, tacit_rng_t *rng);
  double (*log_sd)(void *of, const double *theta);
  /* Of one site alone, log density of all parameters (dim), prior included. */
  double (*log_density)(void *of, const double *theta);

  /* ---- the fit ---- */
  /* fit->scales <- those of all sites; returns the unit of `between`. NULL: tacit_aware_pool_scales(), 1. */
  double (*pool)(tacit_aware_fit_t *fit);
  /* fit->draws, mean, cov <- common effects. Where sites have a sd of their own tacit_aware_together() draws
   * those that are combined. */
  tacit_status_t (*draw)(tacit_aware_fit_t *fit, tacit_error_t *err);
  /* precision (d, d) += what the records of site i would tell without noise, at the draws' mean. False: it is
   * not known. */
  bool (*add_information)(const tacit_aware_fit_t *fit, size_t i, double *precision);
  /* Of the sum of scores of site i, at the draws' mean: minus its slope in theta (d, d), and its covariance
   * by sampling alone (d, d), both symmetric and zeros before. False: they are not known. */
  bool (*sampling)(const tacit_aware_fit_t *fit, size_t i, double *slope, double *cov);
  /* evidence <- its checks, and the prior beside the posterior. */
  tacit_status_t (*conclude)(const tacit_aware_fit_t *fit, tacit_evidence_t *evidence, tacit_error_t *err);

  /* Moments of the d - 1 features besides the intercept, drawn from what the releases of a site tell; of no
   * other site, and no scores are needed. */
  tacit_status_t (*draw_moments)(tacit_aware_site_t *site, tacit_rng_t *rng, double *mean, double *cov,
                                 tacit_error_t *err);
};

extern const tacit_aware_provider_t tacit_provider_scores, tacit_provider_gaussian, tacit_provider_program;

/* ---- provider.c ---- */

const tacit_aware_provider_t *tacit_aware_provider(const tacit_noise_aware_settings_t *settings);
size_t tacit_aware_n_extra(
    const tacit_noise_aware_settings_t *settings); /* parameters besides coefficients */
/* What can be seen to be wrong before anything is released; curator NULL: of kept releases. */
TACIT_MUST_USE tacit_status_t tacit_aware_check_settings(const tacit_curator_t *curator,
                                                         const tacit_parameters_t *parameters,
                                                         const tacit_noise_aware_settings_t *settings,
                                                         tacit_error_t *err);
/* events[*n] <- `count` releases, each with this share of mu^2; 0 of either: none. */
void tacit_aware_plan(const tacit_noise_aware_settings_t *settings, double share, size_t count,
                      const char *label, tacit_event_t *events, size_t *n);

/* ---- fit.c ---- */

/* Sites of these settings (n), with nothing learned. Close also after failure. */
TACIT_MUST_USE tacit_status_t tacit_aware_open(const tacit_noise_aware_settings_t *settings, size_t n,
                                               const tacit_parameters_t *parameters, tacit_aware_fit_t **fit,
                                               tacit_error_t *err);
void tacit_aware_close(tacit_aware_fit_t *fit);
/* All releases of all sites; in between the prior's scale. */
TACIT_MUST_USE tacit_status_t tacit_aware_learn(tacit_aware_fit_t *fit, tacit_error_t *err);
/* The first of them: units that count, and rows of units. */
TACIT_MUST_USE tacit_status_t tacit_aware_learn_units(tacit_aware_site_t *site, tacit_error_t *err);
/* Who makes a site's next release; NULL: it is there already. */
tacit_curator_t *tacit_aware_curator(const tacit_aware_site_t *site);
/* fit->scales (d) <- mean and variance of each feature in all sites together. */
void tacit_aware_pool_scales(tacit_aware_fit_t *fit);

/* ---- contrast.c ---- */

/* site->contrast <- how far scores of units with more rows are from the others', over what noise and chance
 * leave; of units of one row alone, and where the provider has no scores, nothing. */
TACIT_MUST_USE tacit_status_t tacit_aware_learn_contrast(const tacit_aware_provider_t *of,
                                                         tacit_aware_site_t *site, tacit_error_t *err);

/* ---- allowed.c ---- */

/* Are draws narrower than prior and releases allow, whatever the provider made of them? */
TACIT_MUST_USE tacit_status_t tacit_aware_check_allowed(const tacit_aware_fit_t *fit,
                                                        tacit_evidence_t *evidence, tacit_error_t *err);

/* ---- exchange_run.c ---- */

/*
 * Chains over effects (docs/theory.md, section 18.16), into draws of tacit_aware_together_columns(): the
 * parameters at the mean effects, or at the common ones, an sd being that of all records; of effects that
 * differ, a spread for each of the d coefficients, in its unit (of the intercept: at the features' means),
 * then each site's own parameters; of common ones each site's sd, if there is one. fit->mean, cov: of the
 * kept mean effects, unconstrained.
 */
TACIT_MUST_USE tacit_status_t tacit_aware_together(tacit_aware_fit_t *fit, tacit_error_t *err);
size_t tacit_aware_together_columns(const tacit_aware_fit_t *fit);

#endif
