/* Checks of what a fit rests on, and the one list of everything that is said to be wrong with it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "diagnose/diagnose_internal.h"

/*
 * Thresholds: docs/theory.md, section 18.10. Rates: of the fits of easy kinds in docs/results/honesty that
 * tacit plan does not refuse; 0 is none of them.
 */
static const tacit_check_info_t infos[TACIT_N_CHECKS] = {
    [TACIT_CHECK_FAR] =
        {"far", "how far the last score moved the mode, as a normal quantile of its chi-square",
         TACIT_SEVERITY_PROBLEM, 5, false, 0,
         "the last score contradicts those before it (%.3g, at most 5): there are no intervals to give",
         "a larger budget, tighter bounds or `typical:` in the schema, or fewer terms"},
    [TACIT_CHECK_LAST_STEP] =
        {"last-step",
         "what the slope of scores changes by between where they were released and where they lead, in "
         "sds of the scores",
         TACIT_SEVERITY_PROBLEM, 0.3, false, 0,
         "the last scores lead far from where they were released, and are no line on the way (by %.2g of "
         "their sds, at most 0.3): there are no intervals to give",
         "a larger budget, tighter priors around where parameters are, or fewer of them"},
    [TACIT_CHECK_INFORMATION] = {"information",
                                 "least eigenvalue of the released slope of the scores, in sds of its noise",
                                 TACIT_SEVERITY_PROBLEM, 4, true, 0,
                                 "how much records tell of some direction is lost in noise (%.2g sds of it, "
                                 "at least 4): there are no "
                                 "intervals to give",
                                 "a larger budget, tighter bounds in the schema, or fewer terms"},
    [TACIT_CHECK_WRONG_MEAN] = {"wrong-mean",
                                "how far weights of rows may have moved the answer, residuals along features "
                                "being off, in sds of the last score",
                                TACIT_SEVERITY_PROBLEM, 1, false, 0,
                                "means along some feature are not those that the model says, and rows far "
                                "out, which are weighted less, may have moved the answer (by %.2g "
                                "sds, at most 1): there are no intervals to give",
                                "a curve in the formula (I(x^2), bs(x)) or a transform of what is skewed, "
                                "tighter bounds, or a larger budget"},
    [TACIT_CHECK_UNLIKE] = {"unlike",
                            "least eigenvalue of what records tell of coefficients, in units of what made-up "
                            "records with the released moments do",
                            TACIT_SEVERITY_PROBLEM, 0.2, true, 0,
                            "records tell less of some direction than any with their moments should (%.2g of "
                            "it, at least 0.2): there are no intervals to give",
                            "rare levels pooled with others, fewer terms, or at most 20 features, which "
                            "rest on less"},
    [TACIT_CHECK_ASTRAY] = {"astray",
                            "how far the mean of draws is from the mode, in the normal approximation's sds "
                            "there, root mean square over axes",
                            TACIT_SEVERITY_PROBLEM, 1, false, 0,
                            "draws are far from the mode (%.2g of its sds along an axis, at most 1), as they "
                            "are where noise leaves much open: there are no intervals to give",
                            "a larger budget, fewer terms, or more records"},
    [TACIT_CHECK_LOST] =
        {"lost", "share of records whose density or score is no finite number, less three sds of its noise",
         TACIT_SEVERITY_PROBLEM, 0.005, false, 0,
         "a share of %.2g of the records or more counts for nothing, its density being no finite number: "
         "there are no intervals to give",
         "bounds in the schema that leave the program a density everywhere"},
    [TACIT_CHECK_BENT] = {"bent",
                          "how far the expected score is from the straight line through one posterior sd on "
                          "either side, that intervals rest on, in sds of the score",
                          TACIT_SEVERITY_PROBLEM, 0.25, false, 0,
                          "parameters trade off along a curve that the posterior takes for straight (by %.2g "
                          "sds, at most 0.25): there are no intervals to give",
                          "a larger budget, tighter priors around where parameters are, or fewer of them"},
    [TACIT_CHECK_UNSEEN] =
        {"unseen",
         "what one sd of the noise of a count of records at the bounds of the response would "
         "do, in sds of the mean score",
         TACIT_SEVERITY_WARNING, 2, false, 0,
         "a few records at the bounds of the response, as wrong entries are, would decide: "
         "one sd of what hides them is %.2g sds of an estimate",
         "a tighter public bound of the response, or a larger budget"},
    [TACIT_CHECK_MORE_ROWS] =
        {"more-rows",
         "how far scores of persons with more rows are from the others', over what noise and chance leave",
         TACIT_SEVERITY_WARNING, 1, false, 0,
         "persons with more rows are off the model in another way than those with fewer (%.2g times what "
         "chance leaves): every person counts once, and with every row counting once the answer would be "
         "another",
         "say which is meant: for rows, a column w of the person's number of rows over max_rows and `y | "
         "weights(w)`"},
    [TACIT_CHECK_NARROW] = {"narrow",
                            "least sd of draws in any direction, in sds that the prior and what was released "
                            "allow, by the noise that the curator added",
                            TACIT_SEVERITY_PROBLEM, 0.8, true, 0,
                            "draws are narrower than what was released allows (%.2g of it in some direction, "
                            "at least 0.8): there are no intervals to give",
                            "please report it: it is an error of tacit, whatever the records are"},
    [TACIT_CHECK_MEAN_AT_EDGE] =
        {"mean-at-edge", "distance of the released mean from the middle of the bounds, in half ranges",
         TACIT_SEVERITY_PROBLEM, 0.9, false, 0,
         "nearly all values lie at one end of the bounds (mean at %.2g of the half range)",
         "tighter bounds in the schema, or a transform such as log(x)"},
    [TACIT_CHECK_SCALE_UNKNOWN] =
        {"scale-unknown", "relative error of the released variance", TACIT_SEVERITY_PROBLEM, 0.8, false,
         0.005, "the released moments do not tell its scale (relative error %.2g)",
         "tighter bounds or `typical: [low, high]` in the schema, or a larger budget"},
    [TACIT_CHECK_PRIOR_PULLS] = {"prior-pulls", "how far the prior moves the mean, in posterior sds",
                                 TACIT_SEVERITY_PROBLEM, 1, false, 0.002,
                                 "the prior moves it by %.2g posterior sds",
                                 "give it a prior of your own (--prior), or a larger budget"},
    [TACIT_CHECK_SEPARATION] =
        {"separation", "size of the effect of one sd, where a quarter or more of it is the prior's",
         TACIT_SEVERITY_PROBLEM, 2.5, false, 0,
         "its effect is so large (%.2g for one sd) that outcomes are nearly separated by it",
         "give it a prior of your own (--prior), or leave it out"},
    [TACIT_CHECK_NORMAL_TAILS] =
        {"normal-tails", "1: heavy tails of the prior left no density to climb", TACIT_SEVERITY_PROBLEM, 0.5,
         false, 0, "the posterior had no density to climb under heavy tails: the priors were made normal",
         "give priors of your own (--prior), or a larger budget"},
    [TACIT_CHECK_TAILS] = {"tails",
                           "how far records with very large residuals, or scores, decide, or could, and are "
                           "too few to be known, over what is accepted",
                           TACIT_SEVERITY_PROBLEM, 1, false, 0,
                           "a few records with very large residuals decide, or could at these bounds, and "
                           "this budget does not tell how many (%.2g times what is accepted): no intervals",
                           "a transform such as log(y), family gamma or lognormal, a tighter public bound of "
                           "the response, or a larger budget"},
    [TACIT_CHECK_SIGMA_UNKNOWN] =
        {"sigma-unknown", "relative error of the released mean square of residuals", TACIT_SEVERITY_WARNING,
         0.5, false, 0,
         "the mean square of residuals is known to %.2g of itself alone: sigma's interval is as wide",
         "a larger budget, or a tighter public bound of the response"},
    [TACIT_CHECK_PRIOR_SHARE] = {"prior-share", "share of the prior in the posterior's precision",
                                 TACIT_SEVERITY_WARNING, 0.25, false, 0.05,
                                 "%.2g of its precision is the prior's",
                                 "read it as the prior's answer as well; a larger budget would help"},
    [TACIT_CHECK_CONFLICT] = {"conflict", "distance of prior and likelihood in their sds",
                              TACIT_SEVERITY_WARNING, 2, false, 0.005,
                              "prior and data disagree about it by %.2g sds",
                              "give it a prior of your own (--prior)"},
    [TACIT_CHECK_FEW_POSITIVES] = {"few-positives",
                                   "records of the rarer outcome, in sds of the last score's noise",
                                   TACIT_SEVERITY_WARNING, 5, true, 0,
                                   "few records have the rarer outcome (%.2g times the noise)",
                                   "a larger budget"},
    [TACIT_CHECK_RARE_LEVEL] = {"rare-level",
                                "records of the rarer level, in sds of the first release's noise",
                                TACIT_SEVERITY_WARNING, 3, true, 0.06,
                                "few records have its rarer level (%.2g times the noise)",
                                "a larger budget, or pool the level with another"},
    [TACIT_CHECK_RARE_LEVELS] =
        {"rare-levels",
         "of the groups of a term, records of a group in sds of the first release's noise: the median of "
         "groups",
         TACIT_SEVERITY_PROBLEM, 2, true, 0,
         "half of its groups have too few records for this budget (%.2g times the noise, at least 2): "
         "effects and their sd come out too small; no intervals",
         "a larger budget, or fewer groups, pooled"},
    [TACIT_CHECK_SCALE_VAGUE] = {"scale-vague", "relative error of the released variance",
                                 TACIT_SEVERITY_WARNING, 0.5, false, 0.03,
                                 "its scale is known roughly only (relative error %.2g)",
                                 "tighter bounds or `typical:` in the schema"},
    [TACIT_CHECK_WIDE_BOUNDS] = {"wide-bounds", "released sd in half ranges", TACIT_SEVERITY_WARNING, 0.1,
                                 true, 0,
                                 "its values fill a small part of their bounds (sd %.2g of the half range)",
                                 "tighter bounds in the schema"},
    [TACIT_CHECK_COLLINEAR] = {"collinear", "least eigenvalue of the whitened second moments over its floor",
                               TACIT_SEVERITY_WARNING, 1, true, 0.06,
                               "features are as good as collinear, by what the noise lets see (%.2g)",
                               "fewer terms, or a larger budget"},
    [TACIT_CHECK_MARGINS_CONTRADICT] =
        {"margins-contradict",
         "probability that noise alone makes the margins differ as much where they overlap",
         TACIT_SEVERITY_PROBLEM, 1e-6, true, 0,
         "the margins contradict each other by more than their noise (p = %.1g): there are no intervals to "
         "give",
         "margins of the same records, with the scale of the noise that they have"},
    [TACIT_CHECK_EFFECTS_SWAMPED] = {"effects-swamped", "effects that noise swamps", TACIT_SEVERITY_WARNING,
                                     0, false, 0,
                                     "noise swamps %.0f of the effects: what is said of them is the prior",
                                     "fewer or smaller margins, or a larger budget for them"},
    [TACIT_CHECK_CELLS_SPARSE] =
        {"cells-sparse", "cells with fewer than 5 records and next to no noise", TACIT_SEVERITY_WARNING, 0,
         false, 0,
         "%.0f cells have fewer than 5 records and next to no noise: the posterior is approximate there",
         "smaller margins, or levels that are pooled"},
    [TACIT_CHECK_NOISE_COARSE] = {"noise-coarse",
                                  "least scale of discrete noise, which is taken for continuous",
                                  TACIT_SEVERITY_WARNING, 0.5, true, 0,
                                  "discrete noise of scale %.3g is taken for continuous noise, which is "
                                  "wider below scale 0.5: so are the intervals",
                                  "read intervals of n and of small cells as wider than they need be"},
    [TACIT_CHECK_STATISTIC_CONTRADICTS] =
        {"statistic-contradicts",
         "probability that the model, with these parameters, publishes anything as far out",
         TACIT_SEVERITY_PROBLEM, 1e-6, true, 0,
         "the model cannot have brought forth what was published (p = %.1g): there are no intervals to give",
         "another distribution of the records, or the scale, rounding, bounds and n that the release really "
         "had"},
    [TACIT_CHECK_STATISTIC_MISFITS] =
        {"statistic-misfits",
         "probability that the model, with these parameters, publishes anything as far out",
         TACIT_SEVERITY_WARNING, 1e-3, true, 0,
         "the model fits badly what was published (p = %.1g): intervals may lie beside the truth",
         "another distribution of the records, or the scale, rounding, bounds and n that the release really "
         "had"},
    [TACIT_CHECK_TRAJECTORIES_LOST] = {
        "trajectories-lost", "share of trajectories accepted with a probability below e^-10",
        TACIT_SEVERITY_WARNING, 0.005, false, 0,
        "a share of %.2g of trajectories was lost where the posterior narrows: draws may be missing there, "
        "and means be off",
        "more --draws; more statistics, or narrower priors, where those published leave parameters open"}};

/* What says that a posterior is not where its releases lead: there must be no intervals from it. */
static const tacit_check_id_t forbidding[] = {TACIT_CHECK_FAR,
                                              TACIT_CHECK_TAILS,
                                              TACIT_CHECK_LAST_STEP,
                                              TACIT_CHECK_INFORMATION,
                                              TACIT_CHECK_LOST,
                                              TACIT_CHECK_WRONG_MEAN,
                                              TACIT_CHECK_UNLIKE,
                                              TACIT_CHECK_ASTRAY,
                                              TACIT_CHECK_BENT,
                                              TACIT_CHECK_NARROW,
                                              TACIT_CHECK_RARE_LEVELS,
                                              TACIT_CHECK_MARGINS_CONTRADICT,
                                              TACIT_CHECK_STATISTIC_CONTRADICTS};

const tacit_check_info_t *tacit_check_info(tacit_check_id_t id) {
  return (size_t)id < TACIT_N_CHECKS ? &infos[id] : NULL;
}

const tacit_check_info_t *tacit_check_find(const char *name, tacit_check_id_t *id) {
  for (int i = 0; i < TACIT_N_CHECKS; i++) {
    if (strcmp(infos[i].name, name) == 0) {
      *id = (tacit_check_id_t)i;
      return &infos[i];
    }
  }
  return NULL;
}

void tacit_checks_add(tacit_checks_t *checks, tacit_check_id_t id, size_t term, double statistic) {
  if (checks->n < TACIT_MAX_CHECKS && !isnan(statistic)) {
    checks->items[checks->n++] = (tacit_check_t){.id = id, .term = term, .statistic = statistic};
  }
}

void tacit_checks_add_of(tacit_checks_t *checks, tacit_check_id_t id, const char *subject, double statistic) {
  size_t at = checks->n;
  tacit_checks_add(checks, id, SIZE_MAX, statistic);
  if (checks->n > at) {
    snprintf(checks->items[at].subject, sizeof checks->items[at].subject, "%s", subject);
  }
}

bool tacit_check_is_flagged(const tacit_check_t *check) {
  const tacit_check_info_t *info = &infos[check->id];
  return info->is_below ? check->statistic < info->threshold : check->statistic > info->threshold;
}

bool tacit_checks_forbid_intervals(const tacit_checks_t *checks) {
  bool is_forbidden = false;
  for (size_t i = 0; i < checks->n; i++) {
    for (size_t k = 0; k < sizeof forbidding / sizeof forbidding[0]; k++) {
      is_forbidden =
          is_forbidden || (checks->items[i].id == forbidding[k] && tacit_check_is_flagged(&checks->items[i]));
    }
  }
  return is_forbidden;
}

/* A feature whose scale is unknown need not be said to be vague as well, nor what contradicts to fit badly.
 */
static bool is_said_already(const tacit_checks_t *checks, const tacit_check_t *check) {
  bool is_vague = check->id == TACIT_CHECK_SCALE_VAGUE;
  for (size_t i = 0; i < checks->n && (is_vague || check->id == TACIT_CHECK_STATISTIC_MISFITS); i++) {
    const tacit_check_t *other = &checks->items[i];
    bool is_same = other->id == (is_vague ? TACIT_CHECK_SCALE_UNKNOWN : TACIT_CHECK_STATISTIC_CONTRADICTS) &&
                   other->term == check->term;
    if (is_same && strcmp(other->subject, check->subject) == 0 && tacit_check_is_flagged(other)) {
      return true;
    }
  }
  return false;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* of the table above */
static void say(tacit_findings_t *findings, const tacit_check_t *check, const char *label) {
  const tacit_check_info_t *info = &infos[check->id];
  char what[sizeof findings->items[0].what];
  snprintf(what, sizeof what, info->what, check->statistic);
  tacit_findings_say(findings, info->severity, info->advice, "%s%s%s", label, label[0] != '\0' ? ": " : "",
                     what);
}
#pragma GCC diagnostic pop

void tacit_diagnose_checks(const tacit_checks_t *checks, const char *const *labels, size_t n_labels,
                           tacit_findings_t *findings) {
  for (size_t i = 0; i < checks->n; i++) {
    const tacit_check_t *check = &checks->items[i];
    if (tacit_check_is_flagged(check) && !is_said_already(checks, check)) {
      say(findings, check, check->term < n_labels ? labels[check->term] : check->subject);
    }
  }
}

/* Problems before warnings before notes, each in their order. */
static void sort(tacit_findings_t *findings) {
  for (size_t i = 1; i < findings->n; i++) {
    tacit_finding_t moved = findings->items[i];
    size_t at = i;
    for (; at > 0 && findings->items[at - 1].severity < moved.severity; at--) {
      findings->items[at] = findings->items[at - 1];
    }
    findings->items[at] = moved;
  }
}

tacit_status_t tacit_diagnose_fit(const tacit_draws_t *draws, const char *const *labels,
                                  const tacit_published_t *published, const tacit_checks_t *checks,
                                  tacit_findings_t *findings, tacit_error_t *err) {
  tacit_status_t status = tacit_diagnose(draws, labels, findings, err);
  if (status == TACIT_OK && published != NULL) {
    tacit_diagnose_sampler(published, findings);
  }
  if (status == TACIT_OK && checks != NULL) {
    tacit_diagnose_checks(checks, labels, draws->n_reported, findings);
  }
  sort(findings);
  return status;
}

static bool is_looked_at(const tacit_checks_t *checks, int id) {
  for (size_t i = 0; checks != NULL && i < checks->n; i++) {
    if (checks->items[i].id == (tacit_check_id_t)id) {
      return true;
    }
  }
  return false;
}

void tacit_findings_looked_at(const tacit_checks_t *checks, size_t n, char *text) {
  size_t at = (size_t)snprintf(text, n, "the chains' moves, agreement (R-hat), drift and effective draws");
  for (int id = 0; id < TACIT_N_CHECKS; id++) {
    if (is_looked_at(checks, id) && at < n) {
      at += (size_t)snprintf(text + at, n - at, ", %s", infos[id].name);
    }
  }
}

size_t tacit_findings_n_looked_at(const tacit_checks_t *checks) {
  size_t n = 4; /* of chains */
  for (int id = 0; id < TACIT_N_CHECKS; id++) {
    n += is_looked_at(checks, id);
  }
  return n;
}

tacit_status_t tacit_draws_summarise_with(const tacit_draws_t *draws, size_t j,
                                          const tacit_evidence_t *evidence, tacit_summary_t *summary,
                                          tacit_error_t *err) {
  tacit_status_t status = tacit_draws_summarise(draws, j, summary, err);
  if (status != TACIT_OK || evidence == NULL) {
    return status;
  }
  if (j < evidence->n_terms) {
    summary->prior_sd = evidence->prior_sd[j];
    summary->prior_share = evidence->prior_share[j];
  }
  if (tacit_checks_forbid_intervals(&evidence->checks)) {
    summary->sd = summary->q5 = summary->q50 = summary->q95 = summary->q2_5 = summary->q97_5 = NAN;
  }
  return TACIT_OK;
}
