/*
 * What a fit writes, and what is kept of its releases.
 */
#ifndef TACIT_REPORT_REPORT_H
#define TACIT_REPORT_REPORT_H

#include "releases/releases.h"
#include "tacit/account.h"
#include "tacit/base.h"
#include "tacit/diagnose.h"
#include "tacit/draws.h"
#include "tacit/report.h"

/** One setting as the user could type it, for headers and run.yaml; all are public. */
typedef struct tacit_report_setting {
  const char *name;  /**< the long option without dashes */
  const char *value; /**< as typed, or the default */
  bool is_default;
} tacit_report_setting_t;

/** A noisy statistic released before the run, of which everything in a report is post-processing. Borrows
 * everything. */
typedef struct tacit_report_release {
  const char *statistic; /**< "mean of 500 records clamped to [-1, 1]" */
  const char *noise;     /**< "laplace, scale 0.02" */
  double epsilon, delta; /**< what the release costs by its description; NaN if that does not say */
  tacit_relation_t relation;
  const char
      *composition;     /**< of several releases: a sentence on how their costs add up; NULL: there is one */
  bool has_own_effects; /**< of several releases: each has effects of its own, around those that are reported
                         */
} tacit_report_release_t;

enum { TACIT_RELEASED_VERSION = 1 };

/** releases.json: what a fit released, and all else that inference from it needs. Everything is public. Owns
 * everything. */
typedef struct tacit_released {
  char *formula;
  char *schema;           /**< its text */
  char *unit;             /**< "row" or the person column */
  char *program;          /**< of a fit of one, what program.stan holds; else NULL */
  char **names, **values; /**< settings as tacit_fit_set() takes them; shape (n_settings) */
  size_t n_settings;
  bool is_private;
  tacit_relation_t relation;
  unsigned char key[32]; /**< of what is random after the releases; their noise has another */
  tacit_releases_t releases;
} tacit_released_t;

/** Read releases.json: `path` is the file, or a directory with it. Cleared on failure. */
TACIT_MUST_USE tacit_status_t tacit_released_read(tacit_released_t *kept, const char *path,
                                                  tacit_error_t *err);

/** The same from bytes; `name` stands for the file in messages. */
TACIT_MUST_USE tacit_status_t tacit_released_parse(tacit_released_t *kept, const char *bytes, size_t n,
                                                   const char *name, tacit_error_t *err);

void tacit_released_clear(tacit_released_t *kept);

/** What is expected of the response along one term, the other terms where `curves_at` says; all of shape (n).
 */
typedef struct tacit_curve {
  const char *label;
  size_t n;
  const double *x, *low, *middle, *high; /**< median and 90 % interval of the expected response */
} tacit_curve_t;

/** All that is said about a run. Borrows everything. */
typedef struct tacit_report {
  const char *method;    /**< "dp-hmc" */
  const char *formula;   /**< or the model's name */
  const char *family;    /**< or "" */
  const char *model;     /**< on the page instead of it: the family that a program stands for; may be NULL */
  const char *program;   /**< written as program.stan, for predictions; NULL: there is none */
  const char *statistic; /**< the text of what was released, written as statistic.yaml for tacit synthesize;
                            NULL: not needed */
  const char *data_name; /**< the schema's dataset name, never a private file name */
  const char *schema;    /**< the schema's text, written as schema.yaml; NULL: there is none */
  const char *unit;      /**< "row" or the person column */
  size_t max_rows;
  size_t n_units;                 /**< public number of units; 0: private, or not known */
  const char *delta_meaning;      /**< or "" */
  bool is_private;                /**< false: every artefact says NOT PRIVATE and why */
  const char *not_private_reason; /**< "exposed", "seeded noise", ...; "" if private */
  bool is_exact;                  /**< nothing can be clipped, the invariant distribution is the posterior */
  bool is_noise_aware; /**< the draws are from the posterior given the releases, their noise included */
  const tacit_budget_t *budget;          /**< NULL if exposed, and if there is a release */
  const tacit_report_release_t *release; /**< NULL, or what the run knows instead of records */
  const char *ledger_data_id;            /**< data set whose ledger holds this run, or NULL */
  uint64_t ledger_spend;                 /**< which spend of that ledger it is */
  const char *const *assumptions;        /**< sentences for the statement; shape (n_assumptions) */
  size_t n_assumptions;
  const char *end;           /**< "complete", "budget", "interrupted" */
  const char *const *labels; /**< shape (draws->n_reported) */
  const char *const *names;
  size_t n_sites, n_own; /**< of several sites: the last n_sites x n_own quantities are each site's own, shown
                            apart; 0: none */
  const double *inv_metric; /**< shape (dim) or (dim, dim) or NULL; public */
  size_t metric_dim;
  bool inv_metric_is_dense;
  double step_size;
  size_t thin;
  const tacit_report_setting_t *settings;
  size_t n_settings;
  const tacit_draws_t *draws;
  const tacit_published_t *published; /**< of the sampler, for diagnostics.json; NULL: nothing of it */
  const tacit_evidence_t *evidence; /**< what the fit rests on, for the same; NULL: nothing of it, and no such
                                       file without either */
  const tacit_released_t *kept;     /**< written as releases.json; NULL: there are none */
  const char
      *date; /**< of the run, "2026-11-22"; the day alone: times tell how long runs take. NULL: not said */
  const char *(*units)(
      const void *of,
      const char *label); /**< what one of a column is, "years", or NULL; NULL: nothing is known of any */
  const void *units_of;   /**< what it is asked with */
  const char *columns;    /**< bounds and levels of the columns used, in a sentence; NULL: not said */
  const tacit_curve_t *curves; /**< shape (n_curves) */
  size_t n_curves;
  const char *curves_of, *curves_at; /**< what of the response is drawn; where the other terms are */
  const char *check_json; /**< what tacit check wrote of this fit, its form looked at; NULL: none was made */
  const char *privacy_json, *privacy_text; /**< of the fit whose releases these draws are given: its claim
                                              stands. NULL: of this run */
} tacit_report_t;

/**
 * Write draws-1.csv .. draws-C.csv, summary.csv, privacy.json, privacy.txt, run.yaml, report.html,
 * schema.yaml and program.stan if there is one and, if anything is published, diagnostics.json into a new
 * directory: assembled under a temporary name beside it, then renamed, so that `path` either holds a whole
 * report or does not exist.
 * @return TACIT_ERR_EXISTS if path exists; TACIT_ERR_IO with the reason (disk full: nothing is left).
 */
TACIT_MUST_USE tacit_status_t tacit_report_write(const tacit_report_t *report, const char *path,
                                                 tacit_error_t *err);

/** The privacy statement in words, returned owned (tacit_report_text_free). */
TACIT_MUST_USE tacit_status_t tacit_report_statement(const tacit_report_t *report, char **text,
                                                     tacit_error_t *err);
#endif
