/* Files of public numbers: an inverse metric, start values. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "fit/fit_internal.h"

/* Numbers separated by spaces, commas or newlines; # begins a comment line. Returned owned. */
static tacit_status_t read_numbers(const char *path, double **numbers, size_t *n, tacit_error_t *err) {
  char *text;
  size_t length;
  *n = 0;
  *numbers = NULL;
  tacit_status_t status = tacit_file_read(path, (size_t)1 << 26, &text, &length, err);
  if (status != TACIT_OK) {
    return status;
  }
  *numbers = tacit_alloc(length / 2 + 1, sizeof **numbers);
  status = *numbers != NULL ? TACIT_OK : tacit_error_memory(err);
  size_t line = 1;
  for (const char *s = text; *s != '\0' && status == TACIT_OK;) {
    size_t word = strcspn(s, " ,\t\r\n#");
    if (*s == '#') {
      s += strcspn(s, "\n");
    } else if (word == 0) {
      line += *s++ == '\n';
    } else if (!tacit_number_parse(s, word, &(*numbers)[*n])) {
      status = tacit_error_set(err, TACIT_ERR_ARGUMENT, path, "%s:%zu: expected numbers", path, line);
    } else {
      (*n)++;
      s += word;
    }
  }
  tacit_free(text);
  return status;
}

tacit_status_t tacit_fit_read_metric(tacit_fit_t *fit, tacit_error_t *err) {
  const char *path = tacit_fit_value(fit, "metric-file");
  size_t dim = fit->model.parameters.dim, n;
  if (path == NULL) {
    fit->inv_metric = tacit_alloc_zero(dim, sizeof *fit->inv_metric);
    fit->tuned.inv_metric = fit->inv_metric;
    return fit->inv_metric != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  if (fit->settings.tune_metric) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "metric",
                           "give either --metric private or --metric-file");
  }
  tacit_status_t status = read_numbers(path, &fit->inv_metric, &n, err);
  if (status == TACIT_OK && n != dim && n != dim * dim) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "metric-file",
                           "%s holds %zu numbers; an inverse metric of %zu parameters has %zu or %zu", path,
                           n, dim, dim, dim * dim);
  }
  fit->settings.inv_metric = fit->inv_metric;
  fit->settings.inv_metric_is_dense = n != dim;
  return status;
}

/* theta[j] <- where between -most and most the prior is highest along parameter j; grad (dim) is for its use.
 */
static void place_at_centre(const tacit_parameters_t *of, size_t j, double *theta, double *grad) {
  enum { N_HALVES = 60 };
  const double most = 1024;
  double low = -most, high = most;
  (void)of->log_prior(of->ctx, theta, grad);
  for (int i = 0; i < N_HALVES && grad[j] != 0; i++) {
    *(grad[j] > 0 ? &low : &high) = theta[j];
    theta[j] = (low + high) / 2;
    (void)of->log_prior(of->ctx, theta, grad);
  }
}

/*
 * Nobody said where: an intercept of a formula's program begins where its prior has it, which outcomes far
 * from 1 do not let be 0 (wages, prices): from there chains of a gamma regression find no way but to shapes
 * near 0.
 */
static tacit_status_t begin_at_centre(tacit_fit_t *fit, tacit_error_t *err) {
  const tacit_parameters_t *of = &fit->model.parameters;
  size_t dim = of->dim, n = fit->settings.n_chains;
  fit->init = tacit_alloc_zero((n + 1) * dim, sizeof *fit->init);
  if (fit->init == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t j = 0; j < dim; j++) {
    if (strcmp(tacit_program_parameter(fit->program, j), "Intercept_s") == 0) {
      place_at_centre(of, j, fit->init, fit->init + n * dim);
    }
  }
  for (size_t c = 1; c < n; c++) {
    memcpy(fit->init + c * dim, fit->init, dim * sizeof *fit->init);
  }
  fit->settings.init = fit->init;
  return TACIT_OK;
}

tacit_status_t tacit_fit_read_init(tacit_fit_t *fit, tacit_error_t *err) {
  const char *path = tacit_fit_value(fit, "init");
  size_t dim = fit->model.parameters.dim, n_chains = fit->settings.n_chains, n;
  bool is_private = strcmp(path, "private") == 0;
  if (is_private || strcmp(path, "0") == 0) {
    fit->settings.n_init_steps = is_private ? TACIT_FIT_START_STEPS : 0;
    bool is_unsaid = !tacit_fit_has(fit, "init") && fit->program != NULL && tacit_fit_is_formula(fit);
    return is_unsaid ? begin_at_centre(fit, err) : TACIT_OK;
  }
  double *values;
  tacit_status_t status = read_numbers(path, &values, &n, err);
  if (status == TACIT_OK && n != dim && n != dim * n_chains) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "init",
                             "%s holds %zu numbers; start values are %zu for all chains, or %zu", path, n,
                             dim, dim * n_chains);
  }
  if (status == TACIT_OK) {
    fit->init = tacit_alloc(dim * n_chains, sizeof *fit->init);
    status = fit->init != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  for (size_t i = 0; status == TACIT_OK && i < dim * n_chains; i++) {
    fit->init[i] = values[n == dim ? i % dim : i];
  }
  tacit_free(values);
  fit->settings.init = fit->init;
  return status;
}
