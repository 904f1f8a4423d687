/* What releases are to choose: the metric, clip bounds. Charged, and listed like any other release. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "fit/fit_internal.h"

/* Norms of gradients beside their root mean square: few records are beyond. */
static const double norm_reach = 2.5;

bool tacit_fit_is_tuned(const tacit_fit_t *fit) {
  return fit->settings.tune_metric || fit->settings.tune_clip_grad || fit->settings.tune_clip_ratio;
}

static bool read_clip(const tacit_fit_t *fit, const char *name, double *bound) {
  const char *text = tacit_fit_value(fit, name);
  bool is_open = text != NULL && strcmp(text, "private") == 0;
  if (!is_open) {
    tacit_settings_number(&fit->given, name, bound);
  }
  return is_open;
}

static tacit_status_t read_metric(tacit_fit_t *fit, tacit_error_t *err) {
  const char *value = tacit_fit_value(fit, "metric");
  fit->settings.tune_metric = strcmp(value, "private") == 0;
  if (!fit->settings.tune_metric && strcmp(value, "schema") != 0) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "metric",
        "option --metric must be schema or private, not '%s'; --metric-file FILE takes one from a file",
        value);
  }
  return TACIT_OK;
}

/* One release serves both bounds, so that asking for one of ratios alone asks for one of gradients too. */
static void read_clips(tacit_fit_t *fit) {
  fit->is_clip_grad_open = read_clip(fit, "clip-grad", &fit->limits.clip_bound_grad);
  fit->is_clip_ratio_open = read_clip(fit, "clip-ratio", &fit->limits.clip_bound_ratio);
  tacit_settings_number(&fit->given, "clip-share", &fit->settings.clip_share);
  bool has_own = fit->family == TACIT_FAMILY_BERNOULLI || fit->family == TACIT_FAMILY_CATEGORICAL;
  if (fit->is_clip_ratio_open && !has_own && !tacit_fit_has(fit, "clip-grad")) {
    fit->is_clip_grad_open = true;
  }
  fit->settings.tune_clip_grad = fit->is_clip_grad_open;
  fit->settings.tune_clip_ratio = fit->is_clip_ratio_open;
}

tacit_status_t tacit_fit_read_tuning(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_status_t status = read_metric(fit, err);
  if (status != TACIT_OK) {
    return status;
  }
  read_clips(fit);
  if (tacit_fit_has(fit, "clip-share") && !fit->is_clip_grad_open && !fit->is_clip_ratio_open) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "clip-share",
                           "--clip-share only goes with --clip-grad private or --clip-ratio private");
  }
  if (fit->is_exposed && tacit_fit_is_tuned(fit)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "exposed",
        "an exposed run releases nothing to tune by: leave out 'private', or choose a private method");
  }
  return TACIT_OK;
}

void tacit_fit_prepare_tuning(tacit_fit_t *fit) {
  const tacit_parameters_t *parameters = &fit->model.parameters;
  double information = 0; /* of a record: the mean square of its gradient where the model is right */
  for (size_t j = 0; j < parameters->dim; j++) {
    information += 1 / (parameters->unit_scale[j] * parameters->unit_scale[j]);
  }
  double bound = norm_reach * sqrt(information) * fit->limits.temperature_power *
                 (double)tacit_schema_max_rows(fit->schema);
  fit->limits.clip_bound_grad = fit->is_clip_grad_open ? bound : fit->limits.clip_bound_grad;
  fit->limits.clip_bound_ratio = fit->is_clip_ratio_open ? bound : fit->limits.clip_bound_ratio;
  fit->tuned = (tacit_tuned_t){.step_size = NAN, .clip_grad = NAN, .clip_ratio = NAN};
  fit->settings.tuned = &fit->tuned;
}
