/* What a check says: tables and verdicts for a person, JSON for a program. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "fit/fit_internal.h"
#include "report/report_internal.h"

/* Fits that are right are flagged less than once in 10^6 checks. */
static const double flagged = 4.9;

/* ---- for a person ---- */

static void put_table(tacit_text_t *text, const char *title, const char *heading,
                      const tacit_fit_check_bin_t *bins, size_t n, const char *const *levels,
                      bool is_counts) {
  tacit_text_printf(text, "%s\n%24s %9s %10s %10s %9s %6s\n", title, heading, "about", "predicted",
                    is_counts ? "residual" : "observed", "sd", "z");
  for (size_t b = 0; b < n; b++) {
    char range[48];
    if (levels != NULL) {
      snprintf(range, sizeof range, "%.24s", levels[b]);
    } else {
      snprintf(range, sizeof range, "%.4g to %.4g", bins[b].low, bins[b].high);
    }
    tacit_text_printf(text, "%24s %9.0f %10.4g %10.4g %9.3g %6.1f\n", range, bins[b].count, bins[b].predicted,
                      bins[b].residual + (is_counts ? 0 : bins[b].predicted), bins[b].sd,
                      bins[b].residual / bins[b].sd);
  }
}

static void put_verdict(tacit_text_t *text, const char *what, double z) {
  tacit_text_printf(text, "%s: %s (z %.1f)\n\n", what,
                    z > flagged ? "the fit does not describe these records"
                    : z > 2     ? "some sign of misfit, no more than chance can make now and then"
                                : "nothing that noise and sampling do not explain",
                    z);
}

/* What the shape's strongest feature means; "" where it has none. */
static const char *meaning_of(const tacit_fit_check_t *check) {
  double spread = check->spread_z, location = check->location_z;
  return fmax(fabs(spread), fabs(location)) < 3 ? ""
         : fabs(spread) >= fabs(location)
             ? (spread > 0 ? "responses are further out, on both sides, than the fit says: they vary more\n"
                           : "responses are nearer to the middle than the fit says: they vary less\n")
             : (location > 0 ? "responses are larger than the fit says\n"
                             : "responses are smaller than the fit says\n");
}

static void put_shape(tacit_text_t *text, const tacit_fit_check_t *check) {
  tacit_text_printf(text, "Shape\n%24s %9s %10s %10s %9s %6s\n", "of what the fit says", "", "predicted",
                    "observed", "sd", "z");
  for (size_t i = 0; i < check->n_shape; i++) {
    const tacit_fit_check_bin_t *bin = &check->shape[i];
    char range[48];
    snprintf(range, sizeof range, "%.0f to %.0f %%", 100 * bin->low, 100 * bin->high);
    tacit_text_printf(text, "%24s %9s %10.4g %10.4f %9.2g %6.1f\n", range, "", bin->predicted,
                      bin->predicted + bin->residual, bin->sd, bin->residual / bin->sd);
  }
  put_verdict(text, "shape", check->shape_misfit);
  const char *meaning = meaning_of(check);
  if (meaning[0] != '\0') {
    text->length -= text->length > 0; /* of the empty line, which comes after it */
    tacit_text_printf(text, "%s\n", meaning);
  }
}

static void put_check(tacit_text_t *text, const tacit_fit_check_t *check) {
  bool is_program = check->n_shape > 0, has_excess = !isnan(check->excess),
       is_counts = (has_excess && !check->is_gaussian) || is_program;
  if (is_program) {
    put_shape(text, check);
  }
  put_table(text, "Calibration", check->predicts_medians ? "predicted median" : "predicted mean", check->bins,
            check->n_bins, NULL, is_counts);
  put_verdict(text, "calibration", check->misfit);
  if (check->n_by > 0) {
    put_table(text, check->by_label, check->by_levels != NULL ? "level" : "range", check->by, check->n_by,
              check->by_levels, is_counts);
    put_verdict(text, is_program ? "by column" : "by term", check->by_misfit);
  }
  if (is_program) {
    tacit_text_printf(text, "residuals: what the fit gives to smaller responses less what it gives to larger "
                            "ones, from -1 to 1, 0 in the mean if the fit is right\n");
  }
  if (has_excess) {
    tacit_text_printf(text,
                      check->is_gaussian
                          ? "errors: squared residuals in units of sigma (each at most 9) have a mean that "
                            "differs from that of normal errors by %.3g, sd %.2g\n"
                          : "over-dispersion: squared Pearson residuals (each at most 9) exceed what the "
                            "family says by %.3g on average, sd %.2g\n",
                      check->excess, check->excess_sd);
    put_verdict(text, check->is_gaussian ? "errors" : "over-dispersion",
                fabs(check->excess / check->excess_sd));
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
      tacit_text_printf(text, "with the fit: at most epsilon %.6g at delta %g; a ledger of both says less\n",
                        read.epsilon + promised.epsilon, read.delta + promised.delta);
    }
    tacit_report_read_clear(&read);
  }
}

/* ---- for a program ---- */

static void put_bins(tacit_text_t *text, const char *name, const tacit_fit_check_bin_t *bins, size_t n,
                     const char *const *levels) {
  tacit_text_printf(text, ",\n  \"%s\": [", name);
  for (size_t b = 0; b < n; b++) {
    tacit_text_printf(text, "%s\n    {\"low\": ", b > 0 ? "," : "");
    tacit_text_json_number(text, bins[b].low);
    tacit_text_json_field(text, "high", bins[b].high);
    tacit_text_json_field(text, "count", bins[b].count);
    tacit_text_json_field(text, "predicted", bins[b].predicted);
    tacit_text_json_field(text, "residual", bins[b].residual);
    tacit_text_json_field(text, "sd", bins[b].sd);
    if (levels != NULL) {
      tacit_text_printf(text, ", \"level\": ");
      tacit_text_json_string(text, levels[b]);
    }
    tacit_text_append(text, "}", 1);
  }
  tacit_text_printf(text, "\n  ]");
}

static void put_json(tacit_text_t *text, const tacit_fit_t *fit, const tacit_fit_check_t *check) {
  tacit_guarantee_t promised = tacit_fit_promised(fit);
  tacit_text_printf(
      text, "{\n  \"format\": \"tacit check\",\n  \"version\": 1,\n  \"fit\": \"%s\",\n  \"private\": %s",
      check->fit, tacit_fit_is_private(fit) ? "true" : "false");
  tacit_text_json_field(text, "epsilon", promised.epsilon);
  tacit_text_json_field(text, "delta", promised.delta);
  tacit_text_json_field(text, "misfit_z", check->misfit);
  tacit_text_json_field(text, "by_misfit_z", check->by_misfit);
  tacit_text_json_field(text, "excess", check->excess);
  tacit_text_json_field(text, "excess_sd", isnan(check->excess) ? NAN : check->excess_sd);
  if (check->n_shape > 0) {
    tacit_text_json_field(text, "shape_z", check->shape_misfit);
    tacit_text_json_field(text, "spread_z", check->spread_z);
    tacit_text_json_field(text, "location_z", check->location_z);
    tacit_text_printf(text, ",\n  \"predicts\": \"%s\"", check->predicts_medians ? "median" : "mean");
    put_bins(text, "shape", check->shape, check->n_shape, NULL);
  }
  put_bins(text, "calibration", check->bins, check->n_bins, NULL);
  if (check->n_by > 0) {
    tacit_text_printf(text, ",\n  \"term\": ");
    tacit_text_json_string(text, check->by_label);
    put_bins(text, "by_term", check->by, check->n_by, check->by_levels);
  }
  tacit_text_printf(text, "\n}\n");
}

/* ---- both ---- */

tacit_status_t tacit_fit_check_text(const tacit_fit_t *fit, const tacit_fit_check_t *check, char **text,
                                    tacit_error_t *err) {
  tacit_text_t made = {0};
  put_check(&made, check);
  put_total(&made, fit);
  return tacit_text_take(&made, TACIT_OK, text, err);
}

tacit_status_t tacit_fit_check_json(const tacit_fit_t *fit, const tacit_fit_check_t *check, char **text,
                                    tacit_error_t *err) {
  tacit_text_t made = {0};
  put_json(&made, fit, check);
  return tacit_text_take(&made, TACIT_OK, text, err);
}
