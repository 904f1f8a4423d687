/* What is said of an inference: lines for a person, settings as they were used, the report. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "infer/infer_internal.h"
#include "report/report.h"
#include "report/report_internal.h"

const char *tacit_infer_method_string(tacit_augment_method_t method) {
  const tacit_settings_t settings = tacit_settings_for(TACIT_TASK_INFER);
  return tacit_settings_find(&settings, "method")->choices[method];
}

/* ---- the texts ---- */

void tacit_infer_say_latent(const tacit_infer_t *infer, tacit_text_t *to) {
  const tacit_augment_result_t *result = &infer->result;
  size_t n = infer->model.n_records;
  bool is_of_rows =
      infer->model.kind == TACIT_LATENT_REGRESSION || infer->model.kind == TACIT_LATENT_LOGISTIC;
  if (result->method == TACIT_AUGMENT_MARGINAL && result->is_exact &&
      infer->model.kind != TACIT_LATENT_CATEGORICAL) {
    tacit_text_printf(to, "%zu records integrated out, exactly\n", n);
  } else if (result->method == TACIT_AUGMENT_MARGINAL && result->is_exact) {
    tacit_text_printf(to, "the cells' counts stand for %zu records, exactly\n", n);
  } else if (result->is_exact && infer->model.kind == TACIT_LATENT_REGRESSION) {
    tacit_text_printf(
        to, "%zu records drawn along with the parameters, clamping and noise included (exact)\n", n);
  } else if (is_of_rows) {
    tacit_text_printf(to,
                      "%zu records replaced by the normal distribution of sums of their clamped columns and "
                      "products, features taken as normal (approximate)\n",
                      n);
  } else if (result->method == TACIT_AUGMENT_MARGINAL) {
    tacit_text_printf(to,
                      "%zu records replaced by the normal distribution of their sum, clamping included "
                      "(approximate; exact: --method gibbs)\n",
                      n);
  } else if (result->method == TACIT_AUGMENT_HMC) {
    tacit_text_printf(to, "paths of step size %.3g accepted with probability %.2f\n", result->step_size,
                      result->path_accept);
  }
}

static tacit_relation_t relation_of(const tacit_infer_t *infer) {
  return infer->margins != NULL && infer->margins->is_add_remove ? TACIT_RELATION_ADD_REMOVE
                                                                 : TACIT_RELATION_SUBSTITUTE;
}

void tacit_infer_say(tacit_infer_t *infer) {
  const tacit_augment_result_t *result = &infer->result;
  tacit_text_t *method = &infer->texts[TACIT_INFER_TEXT_METHOD], *cost = &infer->texts[TACIT_INFER_TEXT_COST];
  tacit_text_printf(method, "method %s%s: ", tacit_infer_method_string(result->method),
                    infer->settings.method == TACIT_AUGMENT_AUTO ? " (chosen)" : "");
  infer->kind->say(infer, method);
  if (!isnan(result->record_accept)) {
    tacit_text_printf(
        method, "%s%.4g of proposals for %zu records accepted, the least likely one with probability %.3g\n",
        result->method == TACIT_AUGMENT_HMC ? "sweeps: " : "", result->record_accept, infer->model.n_records,
        result->min_record_accept);
  }
  tacit_text_printf(cost, "release: %s, noise %s", infer->statistic, infer->noise);
  if (isfinite(infer->epsilon)) {
    tacit_text_printf(cost, " (epsilon %.6g, delta %g, relation %s)", infer->epsilon, infer->delta,
                      relation_of(infer) == TACIT_RELATION_SUBSTITUTE ? "substitute" : "add-remove");
  }
  tacit_text_printf(cost, "; inference from it costs no privacy\n");
}

/* ---- the report ---- */

static void add_text(const tacit_infer_t *infer, tacit_infer_report_t *to, const char *name,
                     const char *value) {
  to->settings[to->report.n_settings++] =
      (tacit_report_setting_t){.name = name, .value = value, .is_default = !tacit_infer_has(infer, name)};
}

static void add_number(const tacit_infer_t *infer, tacit_infer_report_t *to, const char *name, double value) {
  add_text(infer, to, name, tacit_number_format(value, to->texts[to->report.n_settings]));
}

static void list_settings(const tacit_infer_t *infer, tacit_infer_report_t *to) {
  const tacit_augment_settings_t *s = &infer->settings;
  add_text(infer, to, "method", tacit_infer_method_string(infer->result.method));
  add_number(infer, to, "n", (double)infer->model.n_records);
  add_number(infer, to, "chains", (double)s->n_chains);
  add_number(infer, to, "warmup", (double)s->n_warmup);
  add_number(infer, to, "draws", (double)s->n_draws);
  add_number(infer, to, "thin", (double)s->thin);
  if (infer->result.method == TACIT_AUGMENT_HMC) {
    add_text(infer, to, "path", tacit_infer_value(infer, "path"));
    add_number(infer, to, "step-size", infer->result.step_size);
  }
  if (s->n_leapfrog > 0) {
    add_number(infer, to, "leapfrog", (double)s->n_leapfrog);
  }
  if (tacit_infer_has(infer, "no-interweave")) {
    add_text(infer, to, "no-interweave", "true");
  }
  if (tacit_infer_has(infer, "seed")) {
    add_text(infer, to, "seed", tacit_infer_value(infer, "seed"));
  }
}

void tacit_infer_describe(const tacit_infer_t *infer, tacit_infer_report_t *to) {
  to->release = (tacit_report_release_t){.statistic = infer->statistic,
                                         .noise = infer->noise,
                                         .epsilon = infer->epsilon,
                                         .delta = infer->delta,
                                         .relation = relation_of(infer)};
  to->report = (tacit_report_t){
      .method = tacit_infer_method_string(infer->result.method),
      .formula = infer->statistic,
      .family = infer->records,
      .data_name = "released statistic",
      .statistic = infer->margins != NULL && infer->n_statistics == 1 ? infer->statistics[0].text : NULL,
      .unit = "row",
      .max_rows = 1,
      .delta_meaning = "",
      .is_private = !infer->is_not_private,
      .not_private_reason = infer->is_not_private ? "the statistic's noise was drawn from a seed" : "",
      .is_exact = infer->result.is_exact,
      .release = infer->is_not_private ? NULL : &to->release,
      .end = tacit_infer_end(infer),
      .labels = tacit_infer_labels(infer),
      .names = tacit_infer_names(infer),
      .step_size = infer->result.step_size,
      .thin = infer->settings.thin,
      .evidence = tacit_infer_evidence(infer),
      .draws = &infer->draws};
  list_settings(infer, to);
  to->report.settings = to->settings;
}

static tacit_status_t check_results(const tacit_infer_t *infer, tacit_error_t *err) {
  return tacit_infer_draws(infer) != NULL
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_STATE, "infer", "there are no draws: nothing was run");
}

tacit_status_t tacit_infer_statement(const tacit_infer_t *infer, char **text, tacit_error_t *err) {
  tacit_infer_report_t described;
  *text = NULL;
  tacit_status_t status = check_results(infer, err);
  if (status == TACIT_OK) {
    tacit_infer_describe(infer, &described);
    status = tacit_report_statement(&described.report, text, err);
  }
  return status;
}

tacit_status_t tacit_infer_privacy_json(const tacit_infer_t *infer, char **text, tacit_error_t *err) {
  tacit_infer_report_t described;
  tacit_text_t json = {0};
  tacit_status_t status = check_results(infer, err);
  if (status == TACIT_OK) {
    tacit_infer_describe(infer, &described);
    tacit_report_privacy_json(&described.report, &json);
  }
  return tacit_text_take(&json, status, text, err);
}

tacit_status_t tacit_infer_write(const tacit_infer_t *infer, const char *path, tacit_error_t *err) {
  tacit_infer_report_t described;
  path = path != NULL ? path : tacit_infer_value(infer, "out");
  tacit_status_t status = check_results(infer, err);
  if (status == TACIT_OK && path == NULL) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "out", "say where the results go");
  }
  if (status == TACIT_OK) {
    tacit_infer_describe(infer, &described);
    status = tacit_report_write(&described.report, path, err);
  }
  return status;
}
