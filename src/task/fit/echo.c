/* Settings as they were used, for headers and run.yaml; files and places are left out: their names may tell.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "fit/fit_internal.h"
#include "report/report.h"

static void add_setting(tacit_fit_report_t *described, const tacit_fit_t *fit, const char *name,
                        const char *value) {
  described->settings[described->report.n_settings++] =
      (tacit_report_setting_t){.name = name, .value = value, .is_default = !tacit_fit_has(fit, name)};
}

static void add_number(tacit_fit_report_t *described, const tacit_fit_t *fit, const char *name,
                       double value) {
  char *text = described->texts[described->report.n_settings];
  add_setting(described, fit, name, tacit_number_format(value, text));
}

/* The priors as they were, so that they can be given again with --prior. */
static void list_priors(const tacit_fit_t *fit, tacit_fit_report_t *described) {
  static const char *const kinds[] = {"flat", "normal", "student_t", "cauchy"};
  static const char *const bases[] = {"bounds", "typical", "released moments", "the user"};
  tacit_prior_view_t view;
  for (size_t i = 0;
       i < fit->model.parameters.n_reported && described->report.n_settings < TACIT_FIT_MAX_SETTINGS; i++) {
    if (fit->effects != NULL && tacit_fit_is_of_effects(fit->effects, i)) {
      continue; /* that of effects is in the program */
    }
    if (!tacit_parameters_prior(&fit->model.parameters, i, &view)) {
      return;
    }
    const tacit_prior_t *prior = &view.prior;
    char *text = described->texts[described->report.n_settings], numbers[3 * TACIT_NUMBER_SIZE] = "";
    if (prior->kind != TACIT_PRIOR_FLAT) {
      bool is_student = prior->kind == TACIT_PRIOR_STUDENT_T;
      snprintf(numbers, sizeof numbers, is_student ? "(%.6g, %.6g, %.6g)" : "(%.6g, %.6g)",
               is_student ? prior->df : prior->location, is_student ? prior->location : prior->scale,
               prior->scale);
    }
    int n = snprintf(text, sizeof described->texts[0], "%.64s: %s%s, by %s", fit->model.parameters.labels[i],
                     kinds[prior->kind], numbers, bases[view.source.basis]);
    if (view.source.basis == TACIT_PRIOR_BASIS_RELEASED && view.source.released_sd > 0 && n > 0 &&
        (size_t)n < sizeof described->texts[0]) {
      snprintf(text + n, sizeof described->texts[0] - (size_t)n,
               " (sd %.3g of the half range, relative error %.2g)", view.source.released_sd,
               view.source.relative_error);
    }
    described->settings[described->report.n_settings++] =
        (tacit_report_setting_t){"prior-used", text, !tacit_fit_has(fit, "prior")};
  }
}

void tacit_fit_list_settings(const tacit_fit_t *fit, tacit_fit_report_t *described) {
  const tacit_sampler_settings_t *s = &fit->settings;
  described->report.n_settings = 0;
  add_setting(described, fit, "method", fit->method->name);
  if (!fit->is_exposed) {
    add_number(described, fit, "epsilon", fit->epsilon);
    add_number(described, fit, "delta", fit->delta);
  }
  if (!fit->is_exposed && !fit->method->is_one_off) {
    add_number(described, fit, "noise-ratio", s->noise_multiplier_ratio);
  }
  if (!fit->is_exposed && s->n_leapfrog > 0) {
    add_number(described, fit, "noise-grad", s->noise_multiplier_grad);
  }
  add_number(described, fit, "chains", (double)s->n_chains);
  add_number(described, fit, "warmup", (double)s->n_warmup);
  add_number(described, fit, "draws", (double)s->n_draws);
  add_number(described, fit, "thin", (double)s->thin);
  if (!fit->method->is_one_off) {
    add_number(described, fit, "step-size", s->step_size);
  }
  if (s->n_leapfrog > 0) {
    add_number(described, fit, "leapfrog", (double)s->n_leapfrog);
  } else if (!fit->method->is_one_off) {
    add_setting(described, fit, "proposal", tacit_fit_value(fit, "proposal"));
  }
  if (fit->is_clip_grad_open) {
    add_setting(described, fit, "clip-grad", "private");
  } else if (fit->limits.clip_bound_grad > 0) {
    add_number(described, fit, "clip-grad", fit->limits.clip_bound_grad);
  }
  if (fit->is_clip_ratio_open) {
    add_setting(described, fit, "clip-ratio", "private");
  } else if (fit->limits.clip_bound_ratio > 0) {
    add_number(described, fit, "clip-ratio", fit->limits.clip_bound_ratio);
  }
  if (fit->is_clip_grad_open || fit->is_clip_ratio_open) {
    add_number(described, fit, "clip-share", s->clip_share);
  }
  if (!fit->is_exposed && !fit->method->is_one_off && !tacit_fit_has(fit, "metric-file")) {
    add_setting(described, fit, "metric", tacit_fit_value(fit, "metric"));
  }
  if (!fit->method->is_one_off) {
    add_number(described, fit, "temperature", fit->limits.temperature_power);
  }
  add_setting(described, fit, "prior-scale", tacit_fit_value(fit, "prior-scale"));
  add_setting(described, fit, "prior-basis", tacit_fit_value(fit, "prior-basis"));
  if (fit->known_sd > 0) {
    add_number(described, fit, "sd", fit->known_sd);
  }
  if (fit->between > 0) {
    add_number(described, fit, "between-sd", fit->between);
  }
  if (fit->n_public > 0) {
    add_number(described, fit, "n-public", fit->n_public);
  }
  if (tacit_fit_has(fit, "seed")) {
    add_number(described, fit, "seed", (double)fit->seed);
  }
  if (s->sampling_rate > 0) {
    add_number(described, fit, "sampling-rate", s->sampling_rate);
  }
  if (s->ratio_variance > 0) {
    add_number(described, fit, "variance", s->ratio_variance);
  }
  static const char *const rules[] = {"acceptance", "sigma",      "kappa",    "cap",
                                      "friction",   "step-decay", "max-batch"};
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (tacit_fit_value(fit, rules[i]) != NULL) {
      add_setting(described, fit, rules[i], tacit_fit_value(fit, rules[i]));
    }
  }
  static const char *const flags[] = {"exposed", "no-jitter", "no-reuse"};
  for (size_t i = 0; i < 3; i++) {
    if (tacit_fit_has(fit, flags[i])) {
      add_setting(described, fit, flags[i], "true");
    }
  }
  list_priors(fit, described);
  const char *prior;
  for (size_t i = 0; described->report.n_settings < TACIT_FIT_MAX_SETTINGS &&
                     (prior = tacit_settings_next(&fit->given, "prior", &i)) != NULL;) {
    add_setting(described, fit, "prior", prior);
  }
}
