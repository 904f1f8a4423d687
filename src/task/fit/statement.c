/* What is said of a run: the privacy statement and the report. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "fit/fit_internal.h"
#include "report/report.h"
#include "report/report_internal.h"

/* Langevin decisions clip gradients in the norm of the metric, whatever the model's bounds (docs/theory.md,
 * section 16). */
static bool clips_decisions(const tacit_fit_t *fit) { return strcmp(fit->method->name, "dp-mala") == 0; }

static bool is_exact(const tacit_fit_t *fit) {
  return tacit_sampler_is_exact(fit->method, &fit->settings) &&
         tacit_curator_ratio_is_unclipped(fit->curator) && !clips_decisions(fit);
}

static size_t list_assumptions(const tacit_fit_t *fit, const char *assumptions[TACIT_FIT_MAX_ASSUMPTIONS]) {
  size_t n = 0;
  if (tacit_fit_has(fit, "followed-to-bound")) {
    assumptions[n++] = "Times that were not seen to end were followed up to the upper bound of their column "
                       "(--followed-to-bound): if some were lost before, estimates are off.";
  }
  if (fit->method->is_one_off) {
    assumptions[n++] = fit->design == NULL
                           ? "Intervals are calibrated as far as the program is right, and where it is not "
                             "as far as the releases show: sums of scores and of their slopes are taken as "
                             "normal, and the outcome's public bounds cut off next to none of its values."
                       : fit->family == TACIT_FAMILY_GAUSSIAN
                           ? "Coefficients are those of the best line where the line is not straight: "
                             "intervals include how far weights and clamps may move them. The response's "
                             "public bounds cut off next to none of its values."
                           : "Intervals are calibrated as far as the regression model is right and the "
                             "features resemble the surrogate population that stands for them.";
    if (tacit_schema_unit(fit->schema) != NULL) {
      assumptions[n++] =
          "Every unit counts once, however many rows it has: coefficients are those of a fit whose rows have "
          "weight 1 / the unit's number of rows, at every budget, and intervals know that rows of a unit "
          "hang together. A fit in which every row counts once answers otherwise where units with more rows "
          "have other outcomes, given their features; that was not looked at.";
    }
    if (fit->between > 0) {
      assumptions[n++] = "Effects are exchangeable between sites: each site's are normal around the mean "
                         "effects reported, with a half-normal prior on their sds between sites (run.yaml, "
                         "between-sd). With few sites that prior says much of them.";
    }
    if (fit->n_of > 1 && tacit_fit_n_own(fit) > 0 && fit->family == TACIT_FAMILY_GAUSSIAN) {
      assumptions[n++] = "Residuals of each site have a distribution and an sd of their own, the prior of "
                         "sigma applied to each; sigma is the sd of all records' residuals together.";
    }
    return n;
  }
  if (!tacit_curator_ratio_is_unclipped(fit->curator)) {
    assumptions[n++] = "Log-likelihood ratios are clipped: if some are, the invariant distribution is not "
                       "exactly the posterior.";
  }
  if (clips_decisions(fit)) {
    assumptions[n++] =
        "Decisions clip gradients a little beyond their usual size in units of the metric: where the metric "
        "is wider than the posterior, the invariant distribution is not exactly the posterior.";
  }
  if (fit->limits.temperature_power < 1) {
    assumptions[n++] = "The likelihood is tempered: draws are from the tempered posterior.";
  }
  if (strcmp(fit->method->name, "dp-barker-vcorr") == 0 && fit->settings.barker_test == TACIT_BARKER_VCORR) {
    assumptions[n++] = "No correction variable makes Barker's test of a noisy ratio exact: this one comes as "
                       "near as one can (tacit fit --help, option --variance).";
  }
  return n;
}

static double last_step_size(const tacit_draws_t *draws) {
  return draws->n_saved > 0 ? draws->stats[draws->n_saved - 1].step_size : 0;
}

/* Of them all, left out or not; 0 where that is private. */
static size_t public_units(const tacit_fit_t *fit) {
  size_t n = 0;
  tacit_error_t err;
  if (fit->n_of > 0) {                       /* the curator's record is a blank one */
    for (size_t i = 0; i < fit->n_of; i++) { /* 0 where it is private */
      n += (size_t)(fit->n_of == 1 ? fit->releases.n_units : fit->of[i].releases.n_units);
    }
    return n;
  }
  bool is_public = tacit_schema_relation(fit->schema) == TACIT_RELATION_SUBSTITUTE;
  return is_public && tacit_curator_n_units(fit->curator, &n, &err) == TACIT_OK ? n : 0;
}

/* "years" of age, "days" of dates; NULL of what is no column of numbers. */
static const char *units_of(const void *schema, const char *label) {
  const tacit_column_schema_t *column = tacit_schema_find(schema, label);
  return column == NULL ? NULL : column->units != NULL ? column->units : column->has_since ? "days" : NULL;
}

static tacit_report_t describe(const tacit_fit_t *fit) {
  const tacit_draws_t *draws = &fit->draws;
  bool is_private = tacit_curator_is_private(fit->curator);
  return (tacit_report_t){
      .method = fit->method->name,
      .formula = fit->formula,
      .family = tacit_fit_kind(fit)->words(fit).family,
      .data_name = tacit_schema_dataset(fit->schema),
      .schema = fit->schema_text,
      .units = units_of,
      .units_of = fit->schema,
      .unit = tacit_schema_unit(fit->schema) != NULL ? tacit_schema_unit(fit->schema) : "row",
      .max_rows = tacit_schema_max_rows(fit->schema),
      .delta_meaning = tacit_schema_delta_meaning(fit->schema),
      .is_private = is_private,
      .not_private_reason = is_private        ? ""
                            : fit->is_exposed ? "exposed: no noise was added and no budget was charged"
                                              : "seeded: whoever knows the seed can subtract the noise",
      .is_noise_aware = fit->method->is_one_off,
      .is_exact = is_exact(fit),
      .budget = fit->n_of > 1 ? NULL : fit->budget,
      .release = fit->n_of > 1 && is_private ? &fit->sites : NULL,
      .ledger_data_id = fit->data_id,
      .ledger_spend = fit->request.spend.id,
      .end = tacit_fit_end(fit),
      .labels = tacit_fit_labels(fit),
      .names = tacit_fit_names(fit),
      .n_sites = fit->n_of > 1 ? fit->n_of : 0,
      .n_own = tacit_fit_n_own(fit),
      .inv_metric = fit->settings.inv_metric,
      .metric_dim = fit->model.parameters.dim,
      .inv_metric_is_dense = fit->settings.inv_metric_is_dense,
      .step_size = fit->method->is_one_off   ? last_step_size(draws)
                   : tacit_fit_is_tuned(fit) ? fit->tuned.step_size
                                             : fit->settings.step_size,
      .thin = fit->settings.thin,
      .draws = draws};
}

void tacit_fit_describe(const tacit_fit_t *fit, tacit_fit_report_t *described) {
  described->report = describe(fit);
  described->report.n_units = public_units(fit);
  tacit_fit_list_settings(fit, described);
  described->report.settings = described->settings;
  described->report.assumptions = described->assumptions;
  described->report.n_assumptions = list_assumptions(fit, described->assumptions);
  described->report.published = tacit_fit_published(fit);
  described->report.evidence = tacit_fit_evidence(fit);
  described->report.privacy_json = fit->privacy_json;
  described->report.privacy_text = fit->privacy_text;
}

static tacit_status_t check_results(const tacit_fit_t *fit, tacit_error_t *err) {
  return tacit_fit_draws(fit) != NULL
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_STATE, "fit", "there are no draws: nothing was run");
}

tacit_status_t tacit_fit_statement(const tacit_fit_t *fit, char **text, tacit_error_t *err) {
  tacit_fit_report_t described;
  *text = NULL;
  tacit_status_t status = check_results(fit, err);
  if (status == TACIT_OK) {
    tacit_fit_describe(fit, &described);
    status = tacit_report_statement(&described.report, text, err);
  }
  return status;
}

tacit_status_t tacit_fit_privacy_json(const tacit_fit_t *fit, char **text, tacit_error_t *err) {
  tacit_fit_report_t described;
  tacit_text_t json = {0};
  tacit_status_t status = check_results(fit, err);
  if (status == TACIT_OK) {
    tacit_fit_describe(fit, &described);
    tacit_report_privacy_json(&described.report, &json);
  }
  return tacit_text_take(&json, status, text, err);
}

tacit_status_t tacit_fit_releases_json(const tacit_fit_t *fit, char **text, tacit_error_t *err) {
  tacit_released_t kept = {0};
  tacit_text_t json = {0};
  bool has_all = fit->stage >= TACIT_FIT_STAGE_RUN && fit->releases.n > 0 &&
                 tacit_fit_has_all_releases(fit); /* also where no draws came of them */
  tacit_status_t status = has_all ? TACIT_OK : check_results(fit, err);
  if (status == TACIT_OK && fit->releases.n == 0) {
    status = tacit_error_set(err, TACIT_ERR_MISSING, "releases",
                             "only fits by method noise-aware keep releases that inference can start from");
  }
  TACIT_THEN(status, tacit_fit_keep(fit, &kept, err));
  if (status == TACIT_OK) {
    tacit_released_json(&kept, &json);
  }
  tacit_released_clear(&kept);
  return tacit_text_take(&json, status, text, err);
}

/* The day alone: times tell how long runs take. */
static const char *today(char date[16]) {
  time_t now = time(NULL);
  struct tm utc;
  return gmtime_r(&now, &utc) != NULL && strftime(date, 16, "%Y-%m-%d", &utc) > 0 ? date : NULL;
}

static tacit_status_t write_report(const tacit_fit_t *fit, const char *path, tacit_error_t *err) {
  tacit_fit_report_t described;
  tacit_released_t kept = {0};
  tacit_fit_curves_t curves = {0};
  tacit_text_t columns = {0};
  char date[16];
  tacit_status_t status = fit->releases.n > 0 ? tacit_fit_keep(fit, &kept, err) : TACIT_OK;
  TACIT_THEN(status, tacit_fit_curves(fit, &curves, err));
  TACIT_THEN(status, tacit_fit_describe_columns(fit, &columns, err));
  if (status == TACIT_OK) {
    tacit_fit_describe(fit, &described);
    described.report.kept = fit->releases.n > 0 ? &kept : NULL;
    described.report.date = today(date);
    described.report.columns = columns.data;
    described.report.curves = curves.items;
    described.report.n_curves = curves.n;
    described.report.curves_of = tacit_fit_kind(fit)->words(fit).expected;
    described.report.curves_at = fit->program == NULL && fit->evidence.n_terms > 0
                                     ? "at their released means"
                                     : "in the middle of their bounds, or at their reference level";
    described.report.program =
        fit->program != NULL || fit->effects != NULL ? tacit_fit_text(fit, TACIT_FIT_TEXT_PROGRAM) : NULL;
    described.report.check_json = fit->check_json;
    described.report.model = fit->program != NULL ? tacit_fit_value(fit, "family") : NULL;
    status = path != NULL ? tacit_report_write(&described.report, path, err)
                          : tacit_report_write_into(&described.report, fit->folder, err);
  }
  tacit_text_clear(&columns);
  tacit_fit_curves_clear(&curves);
  tacit_released_clear(&kept);
  return status;
}

/* Into the folder that was claimed, where there is one and no other is said. */
tacit_status_t tacit_fit_write(tacit_fit_t *fit, const char *path, tacit_error_t *err) {
  tacit_status_t status = check_results(fit, err);
  bool has_own = path == NULL && !tacit_fit_has(fit, "out") && fit->reopened != NULL &&
                 tacit_directory_is_unfinished(fit->reopened);
  if (status == TACIT_OK && has_own) {
    status = tacit_fit_reopen_folder(fit, err);
  }
  if (status == TACIT_OK && path == NULL && fit->folder != NULL) {
    tacit_error_t why;
    status = write_report(fit, NULL, &why);
    if (status != TACIT_OK) {
      tacit_error_set(err, status, why.field, "%s%s%s%s", why.message,
                      fit->has_kept_all ? "; what was released is kept: tacit refit " : "",
                      fit->has_kept_all ? fit->folder->path.data : "",
                      fit->has_kept_all ? " ends the fit, and nothing more is spent" : "");
    }
    tacit_fit_leave_folder(fit);
    return status;
  }
  path = path != NULL ? path : tacit_fit_value(fit, "out");
  if (status == TACIT_OK && path == NULL) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "out", "say where the results go");
  }
  if (status == TACIT_OK && tacit_fit_is_first_rank(fit)) {
    status = write_report(fit, path, err);
  }
  return status;
}
