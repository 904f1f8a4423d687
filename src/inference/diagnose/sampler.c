/*
 * Diagnostics of a run, and who may see them. The table below is the one place that says so: what writes
 * artefacts takes a type that has no room for the others.
 */
#include <math.h>

#include "diagnose/diagnose.h"
#include "diagnose/diagnose_internal.h"

static const tacit_diagnostic_info_t table[TACIT_N_DIAGNOSTICS] = {
    [TACIT_DIAGNOSTIC_ACCEPT_RATE] = {"accept_rate", TACIT_PUBLISHABLE,
                                      "share of proposals accepted after warm-up"},
    [TACIT_DIAGNOSTIC_RATIO_NOISE_VARIANCE] =
        {"ratio_noise_variance", TACIT_PUBLISHABLE,
         "mean variance of the privacy noise in a log acceptance ratio"},
    [TACIT_DIAGNOSTIC_GRADIENT_SIGNAL] =
        {"gradient_signal", TACIT_PUBLISHABLE,
         "size of the gradient in a coordinate, beside the noise it was released with"},
    [TACIT_DIAGNOSTIC_DIVERGENT_SHARE] =
        {"divergent_share", TACIT_PUBLISHABLE,
         "share of moves that left the finite numbers or went too far for any release"},
    [TACIT_DIAGNOSTIC_CLIP_GRAD] = {"clip_grad", TACIT_PUBLISHABLE,
                                    "clip bound of gradients, where a release chose it"},
    [TACIT_DIAGNOSTIC_CLIP_RATIO] = {"clip_ratio", TACIT_PUBLISHABLE,
                                     "clip bound of ratios per unit of distance, where a release chose it"},
    [TACIT_DIAGNOSTIC_GRADIENTS_CLIPPED] = {"gradients_clipped", TACIT_CURATOR_ONLY,
                                            "share of gradient contributions clipped"},
    [TACIT_DIAGNOSTIC_RATIOS_CLIPPED] = {"ratios_clipped", TACIT_CURATOR_ONLY,
                                         "share of log-likelihood ratios clipped"},
    [TACIT_DIAGNOSTIC_NOT_FINITE] = {"not_finite", TACIT_CURATOR_ONLY,
                                     "contributions that were no finite number, counted as zero"},
    [TACIT_DIAGNOSTIC_VALUES_CLAMPED] = {"values_clamped", TACIT_CURATOR_ONLY,
                                         "values clamped to the bounds of their column"},
    [TACIT_DIAGNOSTIC_VALUES_REPLACED] = {"values_replaced", TACIT_CURATOR_ONLY,
                                          "missing values, replaced or dropped with their records"},
    [TACIT_DIAGNOSTIC_ROWS_DROPPED] = {"rows_dropped", TACIT_CURATOR_ONLY,
                                       "rows beyond max_rows of their unit"}};

const tacit_diagnostic_info_t *tacit_diagnostic_info(size_t i) {
  return i < TACIT_N_DIAGNOSTICS ? &table[i] : NULL;
}

static double ratio(double sum, uint64_t n) { return n > 0 ? sum / (double)n : NAN; }

tacit_diagnostics_t tacit_diagnostics_of(const tacit_sampler_tally_t *tally) {
  tacit_diagnostics_t d;
  for (size_t i = 0; i < TACIT_N_DIAGNOSTICS; i++) {
    d.values[i] = NAN;
  }
  d.values[TACIT_DIAGNOSTIC_ACCEPT_RATE] = ratio((double)tally->n_accepted, tally->n_decisions);
  d.values[TACIT_DIAGNOSTIC_DIVERGENT_SHARE] = ratio((double)tally->n_divergent, tally->n_moves);
  d.values[TACIT_DIAGNOSTIC_RATIO_NOISE_VARIANCE] = ratio(tally->ratio_noise, tally->n_ratios);
  double square = ratio(tally->grad_square, tally->n_gradients); /* E = signal^2 + 1 */
  d.values[TACIT_DIAGNOSTIC_GRADIENT_SIGNAL] = square > 1 ? sqrt(square - 1) : square >= 0 ? 0 : NAN;
  return d;
}

tacit_published_t tacit_diagnostics_publish(const tacit_diagnostics_t *diagnostics) {
  tacit_published_t published;
  for (size_t i = 0; i < TACIT_N_PUBLISHABLE; i++) {
    published.values[i] = table[i].visibility == TACIT_PUBLISHABLE ? diagnostics->values[i] : NAN;
  }
  return published;
}

/* ---- in words ---- */

/* Variance of noise whose acceptance at best, 2 Phi(-s / 2), is a third; and 5 %. */
static const double variance_much = 4, variance_too_much = 16;
static const double accept_few = 0.1, accept_hardly = 0.02;
static const double signal_weak = 0.5, signal_drowned = 0.2;
static const double divergent_some = 0.01, divergent_many = 0.2;

static void look_at_test(double variance, double accepted, tacit_findings_t *findings) {
  if (variance > variance_much) {
    double best = 200 * 0.5 * erfc(0.5 * sqrt(variance) * 0.70710678118654752440);
    tacit_findings_say(findings,
                       variance > variance_too_much ? TACIT_SEVERITY_PROBLEM : TACIT_SEVERITY_WARNING,
                       "the budget is too small for the plan: fewer --draws or --chains, a smaller "
                       "--step-size, or a larger epsilon",
                       "privacy noise of variance %.3g in the acceptance test: the best proposal is accepted "
                       "%.2g %% of the time",
                       variance, best);
  }
  if (accepted < accept_few && !(variance > variance_much)) {
    tacit_findings_say(findings, accepted < accept_hardly ? TACIT_SEVERITY_PROBLEM : TACIT_SEVERITY_WARNING,
                       "proposals go too far for this posterior: a smaller --step-size, or a metric that "
                       "fits it (--metric private, --metric-file)",
                       "%.2g %% of proposals were accepted, and privacy noise is not the reason",
                       100 * accepted);
  }
}

void tacit_diagnose_sampler(const tacit_published_t *published, tacit_findings_t *findings) {
  const double *v = published->values;
  double signal = v[TACIT_DIAGNOSTIC_GRADIENT_SIGNAL], divergent = v[TACIT_DIAGNOSTIC_DIVERGENT_SHARE];
  look_at_test(v[TACIT_DIAGNOSTIC_RATIO_NOISE_VARIANCE], v[TACIT_DIAGNOSTIC_ACCEPT_RATE], findings);
  if (signal < signal_weak) {
    tacit_findings_say(findings, signal < signal_drowned ? TACIT_SEVERITY_PROBLEM : TACIT_SEVERITY_WARNING,
                       "trajectories go by noise: fewer --draws or --leapfrog, a larger epsilon, or --method "
                       "dp-penalty, which needs none",
                       "gradients are drowned in privacy noise: their size is %.2g times its", signal);
  }
  if (divergent > divergent_some) {
    tacit_findings_say(findings, divergent > divergent_many ? TACIT_SEVERITY_PROBLEM : TACIT_SEVERITY_WARNING,
                       "take a smaller --step-size; if that does not help, fewer --leapfrog steps",
                       "%.2g %% of moves diverged and were rejected unseen", 100 * divergent);
  }
}
