/* What `tacit fit` and `tacit plan` let releases choose: the metric, clip bounds. Charged, and listed like any other release. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/fit.h"

/* Norms of gradients beside their root mean square: few records are beyond. */
static const double norm_reach = 2.5;

bool cli_fit_is_tuned(const cli_fit_t *fit) {
  return fit->settings.tune_metric || fit->settings.tune_clip_grad || fit->settings.tune_clip_ratio;
}

static bool read_clip(const cli_args_t *args, const char *name, double *bound, bool *is_open) {
  const char *value = cli_value(args, name);
  *is_open = value != NULL && strcmp(value, "private") == 0;
  return *is_open || cli_number(args, name, 1e-15, 1e15, bound);
}

static bool read_metric(cli_fit_t *fit) {
  const char *value = cli_value(fit->args, "metric");
  fit->settings.tune_metric = strcmp(value, "private") == 0;
  if (!fit->settings.tune_metric && strcmp(value, "schema") != 0) {
    cli_error(fit->args, "option --metric must be schema or private, not '%s'; --metric-file FILE takes one from a file", value);
    return false;
  }
  return true;
}

/* One release serves both bounds, so that asking for one of ratios alone asks for one of gradients too. */
static bool read_clips(cli_fit_t *fit) {
  tacit_curator_settings_t *limits = &fit->limits;
  bool ok = read_clip(fit->args, "clip-grad", &limits->clip_bound_grad, &fit->is_clip_grad_open) &&
            read_clip(fit->args, "clip-ratio", &limits->clip_bound_ratio, &fit->is_clip_ratio_open) &&
            cli_number(fit->args, "clip-share", 1e-6, 0.5, &fit->settings.clip_share);
  bool has_own = fit->family == TACIT_FAMILY_BERNOULLI || fit->family == TACIT_FAMILY_CATEGORICAL;
  if (ok && fit->is_clip_ratio_open && !has_own && !cli_is_given(fit->args, "clip-grad")) {
    fit->is_clip_grad_open = true;
  }
  fit->settings.tune_clip_grad = fit->is_clip_grad_open;
  fit->settings.tune_clip_ratio = fit->is_clip_ratio_open;
  return ok;
}

static bool check_use(const cli_fit_t *fit) {
  if (cli_is_given(fit->args, "clip-share") && !fit->is_clip_grad_open && !fit->is_clip_ratio_open) {
    cli_error(fit->args, "--clip-share only goes with --clip-grad private or --clip-ratio private");
    return false;
  }
  if (fit->is_exposed && cli_fit_is_tuned(fit)) {
    cli_error(fit->args, "an exposed run releases nothing to tune by: leave out 'private', or choose a private method");
    return false;
  }
  return true;
}

bool cli_fit_tuning_options(cli_fit_t *fit) {
  return read_metric(fit) && read_clips(fit) && check_use(fit);
}

void cli_fit_tuning_prepare(cli_fit_t *fit) {
  const tacit_parameters_t *parameters = &fit->model.parameters;
  double information = 0; /* of a record: the mean square of its gradient where the model is right */
  for (size_t j = 0; j < parameters->dim; j++) {
    information += 1 / (parameters->unit_scale[j] * parameters->unit_scale[j]);
  }
  double bound = norm_reach * sqrt(information) * fit->limits.temperature_power * (double)tacit_schema_max_rows(fit->schema);
  fit->limits.clip_bound_grad = fit->is_clip_grad_open ? bound : fit->limits.clip_bound_grad;
  fit->limits.clip_bound_ratio = fit->is_clip_ratio_open ? bound : fit->limits.clip_bound_ratio;
  fit->tuned = (tacit_tuned_t){.step_size = NAN, .clip_grad = NAN, .clip_ratio = NAN};
  fit->settings.tuned = &fit->tuned;
}

void cli_fit_tuning_print(const cli_fit_t *fit) {
  if (!cli_fit_is_tuned(fit) || isnan(fit->tuned.step_size) || cli_is_given(fit->args, "quiet")) {
    return;
  }
  fprintf(stderr, "tuned by releases: step size %.3g", fit->tuned.step_size);
  if (!isnan(fit->tuned.clip_grad)) {
    fprintf(stderr, ", clip bound of gradients %.4g", fit->tuned.clip_grad);
  }
  if (!isnan(fit->tuned.clip_ratio)) {
    fprintf(stderr, ", of ratios %.4g", fit->tuned.clip_ratio);
  }
  fputc('\n', stderr);
}
