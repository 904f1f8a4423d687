/*
 * Findings and checks from within the library: where they are made, and what they come to.
 */
#ifndef TACIT_DIAGNOSE_DIAGNOSE_H
#define TACIT_DIAGNOSE_DIAGNOSE_H

#include "tacit/base.h"
#include "tacit/diagnose.h"
#include "tacit/draws.h"

/**
 * Look for what makes draws unusable: chains that do not move, disagree, drift, or have few effective draws
 * [Vehtari2021]. A function of the draws alone: publishable where they are.
 * @param[in] labels shape (draws->n_reported).
 */
TACIT_MUST_USE tacit_status_t tacit_diagnose(const tacit_draws_t *draws, const char *const *labels,
                                             tacit_findings_t *findings, tacit_error_t *err);

/** What a check means. A problem makes results unusable; a warning marks what is wide or uncertain, not
 * wrong. */
typedef struct tacit_check_info {
  const char *name;      /**< "mean-at-edge" */
  const char *statistic; /**< what is compared, in words */
  tacit_severity_t severity;
  double threshold;
  bool is_below;      /**< flagged below the threshold, else above it */
  double false_alarm; /**< share of fits of easy data that it flags, measured (experiments/honesty) */
  const char *what;   /**< of a finding, after the term; %.3g is the statistic */
  const char *advice;
} tacit_check_info_t;

const tacit_check_info_t *tacit_check_info(tacit_check_id_t id);

/** NULL: there is none of that name. */
const tacit_check_info_t *tacit_check_find(const char *name, tacit_check_id_t *id);

/** No effect where the list is full, or the statistic is no number. */
void tacit_checks_add(tacit_checks_t *checks, tacit_check_id_t id, size_t term, double statistic);

/** The same of what is no reported quantity; its name is cut where it is too long. */
void tacit_checks_add_of(tacit_checks_t *checks, tacit_check_id_t id, const char *subject, double statistic);

bool tacit_check_is_flagged(const tacit_check_t *check);

/** Add to `findings` what is flagged; labels has shape (n_labels). */
void tacit_diagnose_checks(const tacit_checks_t *checks, const char *const *labels, size_t n_labels,
                           tacit_findings_t *findings);

/** All NaN, but for what a run's tally says. */
tacit_diagnostics_t tacit_diagnostics_of(const tacit_sampler_tally_t *tally);

/** The values whose row in the table says TACIT_PUBLISHABLE; NaN for the others. */
tacit_published_t tacit_diagnostics_publish(const tacit_diagnostics_t *diagnostics);

/** Add to `findings` what the sampler itself tells: few acceptances, noise in the test, drowned gradients,
 * divergences. */
void tacit_diagnose_sampler(const tacit_published_t *published, tacit_findings_t *findings);
#endif
