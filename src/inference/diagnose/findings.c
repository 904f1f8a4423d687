/*
 * What draws say about the sampling, in words. Everything here is a function of released draws.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "diagnose/diagnose_internal.h"

/* Thresholds for all parameters together: R-hat and effective draws as [Vehtari2021] advise; a drift of 4
 * standard errors. */
static const double rhat_note = 1.05, rhat_problem = 1.2, ess_few = 100, ess_hardly = 20, drift_z = 4;
static const double moves_few = 0.02, moves_hardly = 0.002;

/* Behind the others; where they are as many as there may be, in place of the last that weighs least. NULL:
 * all of them weigh as much. */
static tacit_finding_t *place_for(tacit_findings_t *findings, tacit_severity_t severity) {
  if (findings->n < TACIT_MAX_FINDINGS) {
    return &findings->items[findings->n++];
  }
  tacit_finding_t *least = &findings->items[0];
  for (size_t i = 1; i < findings->n; i++) {
    least = findings->items[i].severity <= least->severity ? &findings->items[i] : least;
  }
  return least->severity < severity ? least : NULL;
}

void tacit_findings_say(tacit_findings_t *findings, tacit_severity_t severity, const char *advice,
                        const char *format, ...) {
  tacit_finding_t *finding = place_for(findings, severity);
  if (finding == NULL) {
    return;
  }
  va_list args;
  va_start(args, format);
  vsnprintf(finding->what, sizeof finding->what, format, args);
  va_end(args);
  snprintf(finding->advice, sizeof finding->advice, "%s", advice);
  finding->severity = severity;
  findings->worst = severity > findings->worst ? severity : findings->worst;
}

/* Share of kept draws of a chain that differ from the one before. */
static double moves(const tacit_draws_t *draws, size_t chain) {
  size_t kept = tacit_draws_n_kept(draws), n = 0;
  for (size_t i = 1; i < kept; i++) {
    const double *before = tacit_draws_row(draws, chain, draws->n_warmup + i - 1);
    n += memcmp(before, tacit_draws_row(draws, chain, draws->n_warmup + i),
                draws->n_reported * sizeof *before) != 0;
  }
  return kept > 1 ? (double)n / (double)(kept - 1) : 1;
}

/* Mean of quantity j over draws [first, first + n) of all chains. */
static double mean_of(const tacit_draws_t *draws, size_t j, size_t first, size_t n) {
  double sum = 0;
  for (size_t c = 0; c < draws->n_chains; c++) {
    for (size_t i = first; i < first + n; i++) {
      sum += tacit_draws_row(draws, c, draws->n_warmup + i)[j];
    }
  }
  return sum / (double)(n * draws->n_chains);
}

/*
 * Difference of the means of the first and the last third in standard errors, by the spread and the effective
 * draws of the last half, which a drift of the beginning leaves alone [after Geweke1992]. 0 where there are
 * too few draws to say.
 */
static tacit_status_t drift(const tacit_draws_t *draws, size_t j, double *z, tacit_error_t *err) {
  size_t kept = tacit_draws_n_kept(draws), third = kept / 3, half = kept / 2;
  tacit_summary_t late;
  *z = 0;
  if (half < 8) {
    return TACIT_OK;
  }
  double *x = tacit_alloc(half * draws->n_chains, sizeof *x);
  if (x == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < half * draws->n_chains; i++) {
    x[i] = tacit_draws_row(draws, i / half, draws->n_warmup + kept - half + i % half)[j];
  }
  tacit_status_t status = tacit_summarise(x, draws->n_chains, half, &late, err);
  tacit_free(x);
  if (status == TACIT_OK && late.sd > 0 && late.ess_bulk > 0) {
    double ess = fmax(late.ess_bulk * (double)third / (double)half, 1);
    *z = (mean_of(draws, j, kept - third, third) - mean_of(draws, j, 0, third)) / (late.sd * sqrt(2 / ess));
  }
  return status;
}

static void look_at_chains(const tacit_draws_t *draws, tacit_findings_t *findings) {
  double least = 1, total = 0;
  for (size_t c = 0; c < draws->n_chains; c++) {
    double share = moves(draws, c);
    least = fmin(least, share);
    total += share / (double)draws->n_chains;
  }
  if (least < moves_hardly) {
    tacit_findings_say(findings, TACIT_SEVERITY_PROBLEM,
                       "smaller steps (--step-size); of a fit also a larger budget, or fewer chains so that "
                       "each has more of it, of tacit infer more --draws",
                       "a chain hardly ever moved: %.2g %% of its draws differ from the one before",
                       100 * least);
  } else if (total < moves_few) {
    tacit_findings_say(findings, TACIT_SEVERITY_WARNING,
                       "smaller steps, or less noise in each decision, would accept more",
                       "only %.2g %% of draws differ from the one before", 100 * total);
  }
  size_t kept = tacit_draws_n_kept(draws);
  if (kept < 50) {
    tacit_findings_say(findings, TACIT_SEVERITY_PROBLEM,
                       "of a fit a larger budget, fewer chains, or a method that the budget takes further "
                       "(tacit plan); of tacit infer more --draws",
                       "there are only %zu draws in a chain: too few to say anything about convergence",
                       kept);
  }
}

/*
 * Several chains begin at different points: where all of them have one number, it was written so (w[1] = 0),
 * or an --init that they share never moved.
 */
static bool is_constant(const tacit_draws_t *draws, const tacit_summary_t *s) {
  return isnan(s->rhat) && s->sd == 0 && draws->n_chains > 1 && tacit_draws_n_kept(draws) >= 50;
}

static void look_at_parameter(const char *label, const tacit_summary_t *s, double z,
                              tacit_findings_t *findings) {
  if (isnan(s->rhat)) {
    tacit_findings_say(findings, TACIT_SEVERITY_PROBLEM, "there is nothing to compute from",
                       "%s: too few draws, or draws that are all the same", label);
    return;
  }
  if (s->rhat > rhat_problem) {
    tacit_findings_say(findings, TACIT_SEVERITY_PROBLEM,
                       "do not use the intervals: run longer; a fit may start nearer (--init private or a "
                       "public guess), or in fewer chains",
                       "%s: the chains disagree (R-hat %.3g)", label, s->rhat);
  } else if (s->rhat > rhat_note) {
    tacit_findings_say(findings, TACIT_SEVERITY_WARNING, "read its last digits with care, or run longer",
                       "%s: the chains agree only roughly (R-hat %.3g)", label, s->rhat);
  }
  if (s->ess_bulk < ess_hardly) {
    tacit_findings_say(findings, TACIT_SEVERITY_PROBLEM,
                       "its mean and interval are mostly luck: of a fit a larger budget or another method, "
                       "of tacit infer more --draws would help",
                       "%s: all draws are worth %.2g independent ones", label, s->ess_bulk);
  } else if (fmin(s->ess_bulk, s->ess_tail) < ess_few) {
    tacit_findings_say(findings, TACIT_SEVERITY_WARNING, "its interval ends are rough",
                       "%s: %.3g effective draws for the mean, %.3g for the tails", label, s->ess_bulk,
                       s->ess_tail);
  }
  if (fabs(z) > drift_z && s->rhat <= rhat_problem) {
    tacit_findings_say(findings, TACIT_SEVERITY_WARNING,
                       "the run had not arrived when draws were first kept: a longer --warmup would help",
                       "%s: its mean drifts over the run, by %.2g standard errors", label, z);
  }
}

tacit_status_t tacit_diagnose(const tacit_draws_t *draws, const char *const *labels,
                              tacit_findings_t *findings, tacit_error_t *err) {
  *findings = (tacit_findings_t){.worst = TACIT_SEVERITY_NOTE};
  look_at_chains(draws, findings);
  size_t n_constant = 0;
  for (size_t j = 0; j < draws->n_reported; j++) {
    tacit_summary_t summary;
    double z;
    tacit_status_t status = tacit_draws_summarise(draws, j, &summary, err);
    TACIT_THEN(status, drift(draws, j, &z, err));
    if (status != TACIT_OK) {
      return status;
    }
    if (is_constant(draws, &summary)) {
      n_constant++;
      tacit_findings_say(findings,
                         n_constant < draws->n_reported ? TACIT_SEVERITY_NOTE : TACIT_SEVERITY_PROBLEM,
                         "nothing to do where the model sets it", "%s: %g in every draw of every chain",
                         labels[j], summary.mean);
    } else {
      look_at_parameter(labels[j], &summary, z, findings);
    }
  }
  if (draws->n_chains < 2) {
    tacit_findings_say(findings, TACIT_SEVERITY_NOTE, "two or more chains would tell more",
                       "there is one chain: that it agrees with itself says little");
  }
  return TACIT_OK;
}
