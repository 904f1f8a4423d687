#include "models/analytic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/isa.h"

const tacit_analytic_functions_t *tacit_analytic_functions(void) {
  return TACIT_ISA_SELECT(tacit_analytic_functions);
}

void tacit_analytic_set_functions(tacit_model_t *model, const tacit_analytic_pair_t *functions) {
  model->records.log_lik = functions->log_lik;
  model->records.log_lik_blocks = functions->log_lik_blocks;
  model->records.grad = functions->grad;
}

static void analytic_free(tacit_analytic_t *analytic) {
  tacit_names_clear(&analytic->names);
  tacit_free(analytic->inv_obs_var);
  tacit_free(analytic->inv_prior_var);
  tacit_free(analytic->unit_scale);
  tacit_free(analytic);
}

static void free_model(tacit_model_t *model) { analytic_free(model->parameters.ctx); }

static void report(const void *ctx, const double *theta, double *reported) {
  const tacit_analytic_t *analytic = ctx;
  memcpy(reported, theta, analytic->dim * sizeof *theta);
}

static tacit_status_t set_names(tacit_analytic_t *analytic, tacit_error_t *err) {
  tacit_status_t status = tacit_names_init(&analytic->names, analytic->dim, err);
  for (size_t j = 1; j <= analytic->dim && status == TACIT_OK; j++) {
    char label[32], name[32];
    snprintf(label, sizeof label, "theta[%zu]", j);
    snprintf(name, sizeof name, "theta.%zu", j);
    status = tacit_names_add(&analytic->names, label, name, err);
  }
  return status;
}

static bool alloc_arrays(tacit_analytic_t *analytic) {
  analytic->inv_obs_var = tacit_alloc(analytic->n_columns, sizeof(double));
  analytic->inv_prior_var = tacit_alloc(analytic->dim, sizeof(double));
  analytic->unit_scale = tacit_alloc(analytic->dim, sizeof(double));
  return analytic->inv_obs_var != NULL && analytic->inv_prior_var != NULL && analytic->unit_scale != NULL;
}

tacit_analytic_t *tacit_analytic_init(tacit_model_t *model, const char *name, size_t dim, size_t n_columns,
                                      tacit_error_t *err) {
  *model = (tacit_model_t){0};
  tacit_analytic_t *analytic = tacit_alloc_zero(1, sizeof *analytic);
  if (analytic == NULL) {
    (void)tacit_error_memory(err);
    return NULL;
  }
  analytic->dim = dim;
  analytic->n_columns = n_columns;
  tacit_status_t status = set_names(analytic, err);
  if (status == TACIT_OK && !alloc_arrays(analytic)) {
    status = tacit_error_memory(err);
  }
  if (status != TACIT_OK) {
    analytic_free(analytic);
    return NULL;
  }
  model->records = (tacit_record_model_t){
      .name = name, .dim = dim, .n_columns = n_columns, .grad_bound = INFINITY, .ctx = analytic};
  model->parameters = (tacit_parameters_t){.dim = dim,
                                           .n_reported = dim,
                                           .labels = analytic->names.labels,
                                           .names = analytic->names.names,
                                           .report = report,
                                           .unit_scale = analytic->unit_scale,
                                           .ctx = analytic};
  model->free = free_model;
  return analytic;
}

tacit_status_t tacit_analytic_check_positive(const double *values, size_t n, const char *field,
                                             tacit_error_t *err) {
  for (size_t i = 0; i < n; i++) {
    if (!(values[i] > 0 && isfinite(values[i]))) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, field,
                             "%s must be finite and above 0 (element %zu is not)", field, i);
    }
  }
  return TACIT_OK;
}
