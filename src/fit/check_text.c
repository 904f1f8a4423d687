/* What a check says: tables and verdicts for a person, JSON for a program. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit/fit_internal.h"
#include "report/report_internal.h"

/* Fits that are right are flagged less than once in 10^6 checks. */
static const double flagged = 4.9;

/* ---- for a person ---- */

static void put_table(tacit_text_t *text, const char *title, const char *heading, const tacit_fit_check_bin_t *bins, size_t n, bool is_counts) {
  tacit_text_printf(text, "%s\n%24s %9s %10s %10s %9s %6s\n", title, heading, "about", "predicted", is_counts ? "residual" : "observed", "sd", "z");
  for (size_t b = 0; b < n; b++) {
    char range[48];
    snprintf(range, sizeof range, "%.4g to %.4g", bins[b].low, bins[b].high);
    tacit_text_printf(text, "%24s %9.0f %10.4g %10.4g %9.3g %6.1f\n", range, bins[b].count, bins[b].predicted,
                      bins[b].residual + (is_counts ? 0 : bins[b].predicted), bins[b].sd, bins[b].residual / bins[b].sd);
  }
}

static void put_verdict(tacit_text_t *text, const char *what, double z) {
  tacit_text_printf(text, "%s: %s (z %.1f)\n\n", what,
                    z > flagged ? "the fit does not describe these records"
                    : z > 2     ? "some sign of misfit, no more than chance can make now and then"
                                : "nothing that noise and sampling do not explain",
                    z);
}

static void put_check(tacit_text_t *text, const tacit_fit_check_t *check) {
  bool has_excess = !isnan(check->excess), is_counts = has_excess && !check->is_gaussian;
  put_table(text, "Calibration", "predicted mean", check->bins, check->n_bins, is_counts);
  put_verdict(text, "calibration", check->misfit);
  if (check->n_by > 0) {
    put_table(text, check->by_label, "range", check->by, check->n_by, is_counts);
    put_verdict(text, "by term", check->by_misfit);
  }
  if (has_excess) {
    tacit_text_printf(text, check->is_gaussian
                                ? "errors: squared residuals in units of sigma (each at most 9) have a mean that differs from that of normal errors by %.3g, sd %.2g\n"
                                : "over-dispersion: squared Pearson residuals (each at most 9) exceed what the family says by %.3g on average, sd %.2g\n",
                      check->excess, check->excess_sd);
    put_verdict(text, check->is_gaussian ? "errors" : "over-dispersion", fabs(check->excess / check->excess_sd));
  }
}

/* What the fit and its check promise together, by adding up; a ledger composes more tightly. */
static void put_total(tacit_text_t *text, const tacit_fit_t *fit) {
  tacit_report_read_t read;
  tacit_error_t err;
  tacit_guarantee_t promised = tacit_fit_promised(fit);
  tacit_text_printf(text, "%s", tacit_fit_text(fit, TACIT_FIT_TEXT_SPENT));
  if (tacit_report_read(&read, fit->checked_path, &err) == TACIT_OK) {
    if (read.is_private && tacit_fit_is_private(fit)) {
      tacit_text_printf(text, "with the fit: at most epsilon %.6g at delta %g; a ledger of both says less\n", read.epsilon + promised.epsilon,
                        read.delta + promised.delta);
    }
    tacit_report_read_clear(&read);
  }
}

/* ---- for a program ---- */

static void put_number(tacit_text_t *text, const char *name, double x) {
  tacit_text_printf(text, ", \"%s\": ", name);
  tacit_text_json_number(text, x);
}

static void put_bins(tacit_text_t *text, const char *name, const tacit_fit_check_bin_t *bins, size_t n) {
  tacit_text_printf(text, ",\n  \"%s\": [", name);
  for (size_t b = 0; b < n; b++) {
    tacit_text_printf(text, "%s\n    {\"low\": ", b > 0 ? "," : "");
    tacit_text_json_number(text, bins[b].low);
    put_number(text, "high", bins[b].high);
    put_number(text, "count", bins[b].count);
    put_number(text, "predicted", bins[b].predicted);
    put_number(text, "residual", bins[b].residual);
    put_number(text, "sd", bins[b].sd);
    tacit_text_append(text, "}", 1);
  }
  tacit_text_printf(text, "\n  ]");
}

static void put_json(tacit_text_t *text, const tacit_fit_t *fit, const tacit_fit_check_t *check) {
  tacit_guarantee_t promised = tacit_fit_promised(fit);
  tacit_text_printf(text, "{\n  \"format\": \"tacit check\",\n  \"version\": 1,\n  \"fit\": \"%s\",\n  \"private\": %s", check->fit,
                    tacit_fit_is_private(fit) ? "true" : "false");
  put_number(text, "epsilon", promised.epsilon);
  put_number(text, "delta", promised.delta);
  put_number(text, "misfit_z", check->misfit);
  put_number(text, "by_misfit_z", check->by_misfit);
  put_number(text, "excess", check->excess);
  put_number(text, "excess_sd", isnan(check->excess) ? NAN : check->excess_sd);
  put_bins(text, "calibration", check->bins, check->n_bins);
  if (check->n_by > 0) {
    tacit_text_printf(text, ",\n  \"term\": ");
    tacit_text_json_string(text, check->by_label);
    put_bins(text, "by_term", check->by, check->n_by);
  }
  tacit_text_printf(text, "\n}\n");
}

/* ---- both ---- */

static tacit_status_t hand_out(tacit_text_t *made, char **text, tacit_error_t *err) {
  if (made->failed) {
    tacit_text_clear(made);
    *text = NULL;
    return tacit_error_memory(err);
  }
  *text = made->data;
  return TACIT_OK;
}

tacit_status_t tacit_fit_check_text(const tacit_fit_t *fit, const tacit_fit_check_t *check, char **text, tacit_error_t *err) {
  tacit_text_t made = {0};
  put_check(&made, check);
  put_total(&made, fit);
  return hand_out(&made, text, err);
}

tacit_status_t tacit_fit_check_json(const tacit_fit_t *fit, const tacit_fit_check_t *check, char **text, tacit_error_t *err) {
  tacit_text_t made = {0};
  put_json(&made, fit, check);
  return hand_out(&made, text, err);
}
