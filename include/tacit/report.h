/**
 * @file report.h
 * What a run leaves on disk: Stan CSV draws, summary, privacy statement, settings, a page to look at.
 * Every file is written to a temporary name, synced, then renamed.
 */
#ifndef TACIT_REPORT_H
#define TACIT_REPORT_H

#include "tacit/account.h"
#include "tacit/base.h"
#include "tacit/diagnose.h"
#include "tacit/draws.h"

#ifdef __cplusplus
extern "C" {
#endif

TACIT_API void tacit_report_text_free(char *text);

/** A picture of a privacy profile, points in increasing order of epsilon; SVG, owned
 * (tacit_report_text_free). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_report_profile_svg(const tacit_profile_point_t *points,
                                                                 size_t n, char **svg, tacit_error_t *err);

/** A picture of medians and 90 % intervals, labels and summaries of shape (n); SVG that stands alone, owned
 * (tacit_report_text_free). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_report_intervals_svg(const char *const *labels,
                                                                   const tacit_summary_t *summaries, size_t n,
                                                                   char **svg, tacit_error_t *err);

/** A report directory read back. */
typedef struct tacit_report_read {
  tacit_draws_t draws; /**< reported parameters; warm-up excluded */
  char **labels, **names;
  char *formula, *family, *method; /**< as the header of draws-1.csv has them; NULL where it has none */
  char *program; /**< program.stan: what was fitted, with a first line of what it was fitted with; NULL: no
                    such file */
  bool is_private;
  bool is_post_processing;     /**< of a release made before: private without cost */
  double epsilon, delta;       /**< NaN if not private, or not known of the release */
  tacit_published_t published; /**< diagnostics.json; NaN where it says nothing, and without the file */
  tacit_evidence_t evidence;   /**< the same; n_terms 0 where it says nothing */
} tacit_report_read_t;

/** Read a report directory: draws-*.csv, privacy.json and, of noise-aware, diagnostics.json must be there. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_report_read(tacit_report_read_t *read, const char *path,
                                                          tacit_error_t *err);

TACIT_API void tacit_report_read_clear(tacit_report_read_t *read);

/**
 * One page about a report directory for a privacy officer to check and to sign: the claim and what it means
 * in chances, mechanism, trust model, what is outside of it, schema, ledger, version, and the command that
 * computes the number again, which is done here, too. Needs privacy.json, draws-1.csv and, if there is one,
 * schema.yaml.
 * @param is_html a page that stands alone; else plain text.
 * @param[out] text owned (tacit_report_text_free).
 * @return TACIT_ERR_SYNTAX, too, if the releases listed compose to more than is claimed.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_report_statement_page(const char *path, bool is_html,
                                                                    char **text, tacit_error_t *err);

/** What a page is written as. */
typedef enum tacit_page_kind {
  TACIT_PAGE_TEXT = 0,
  TACIT_PAGE_HTML, /**< stands alone */
  TACIT_PAGE_JSON  /**< of a ledger: an entry for a registry of deployments, without names of people, machines
                      and files */
} tacit_page_kind_t;

/**
 * The page of a data set: what its ledger promises for all runs together, those to come included, what that
 * means in chances, and every run. The ledger is verified, and the releases of all runs are composed again.
 * @param[in]  path  of a ledger (tacit/ledger.h).
 * @param[out] text  owned (tacit_report_text_free).
 * @return as tacit_ledger_open() and tacit_ledger_verify(); TACIT_ERR_STATE if it does not say yet whom it
 * protects.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_report_ledger_page(const char *path, tacit_page_kind_t kind,
                                                                 char **text, tacit_error_t *err);

/** What the page of a plan draws; computed by tacit_fit_plan_page(). Borrows everything. */
typedef struct tacit_plan_page {
  const char *formula, *family;
  tacit_relation_t relation; /**< the schema's */
  double n_units, delta;     /**< typed, never read */
  double epsilon;            /**< marked; NaN: none */
  const char *const *labels; /**< shape (n_terms) */
  const double *sd;          /**< posterior sd without privacy, in the coefficient's unit; shape (n_terms) */
  size_t n_terms;
  const double *epsilons;     /**< rising, > 0; shape (n_points), n_points >= 2 */
  const double *inflation[2]; /**< substitute, add-remove: sd beside the non-private one; NaN: refused; shape
                                 (n_points) */
  const double *poor[2];      /**< the same of columns as unkind as those of tacit_fit_choice_t.width_poor */
  size_t n_points;
  bool is_refused;     /**< some budget is */
  const char *assumed; /**< a sentence: of which data sd is */
} tacit_plan_page_t;

/** The width of every coefficient's interval against epsilon; HTML that stands alone, owned
 * (tacit_report_text_free). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_report_plan_page(const tacit_plan_page_t *plan, char **html,
                                                               tacit_error_t *err);

/** Format a table of summaries for a terminal; returned owned. labels and summaries have shape (n). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_report_table(const char *const *labels,
                                                           const tacit_summary_t *summaries, size_t n,
                                                           char **text, tacit_error_t *err);

/** The same as the documented JSON of `tacit summary --json`; returned owned. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_report_summary_json(const tacit_report_read_t *read,
                                                                  char **text, tacit_error_t *err);
#ifdef __cplusplus
}
#endif
#endif
