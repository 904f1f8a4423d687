#include <math.h>
#include <string.h>

#include "base/error.h"
#include "formula/model.h"
#include "formula/names.h"

void tacit_model_clear(tacit_model_t *model) {
  if (model == NULL) {
    return;
  }
  if (model->free != NULL) {
    model->free(model);
  }
  memset(model, 0, sizeof *model);
}

static tacit_status_t refuse_model(tacit_error_t *err, const char *field, const char *needs) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, field, "the model's %s %s", field, needs);
}

static tacit_status_t validate_linear(const tacit_record_model_t *records, tacit_error_t *err) {
  if (records->residual == NULL) {
    return refuse_model(err, "records.residual", "is NULL; a model with n_linear > 0 needs it");
  }
  if (records->n_features == 0 || records->n_features > records->n_columns) {
    return refuse_model(err, "records.n_features", "must be at least 1 and at most n_columns");
  }
  size_t dim;
  bool overflows = __builtin_mul_overflow(records->n_linear, records->n_features, &dim) ||
                   __builtin_add_overflow(dim, records->n_extra, &dim);
  if (overflows || dim != records->dim) {
    return refuse_model(err, "records.dim", "must be n_linear * n_features + n_extra");
  }
  return TACIT_OK;
}

static tacit_status_t validate_records(const tacit_record_model_t *records, tacit_error_t *err) {
  if (records->name == NULL) {
    return refuse_model(err, "records.name", "is NULL; give the model a name");
  }
  if (records->dim == 0) {
    return refuse_model(err, "records.dim", "must be at least 1");
  }
  if (records->n_columns == 0) {
    return refuse_model(err, "records.n_columns", "must be at least 1");
  }
  if (!(records->grad_bound > 0)) {
    return refuse_model(err, "records.grad_bound", "must be above 0, or INFINITY if no bound is known");
  }
  if (records->log_lik == NULL) {
    return refuse_model(err, "records.log_lik", "is NULL; every model needs it");
  }
  if (records->n_linear > 0) {
    return validate_linear(records, err);
  }
  if (records->n_pieces > 0 && (records->pieces == NULL || records->rows == NULL || records->n_rows == 0)) {
    return refuse_model(err, "records.pieces", "need rows, and a function that fills them");
  }
  return records->grad != NULL
             ? TACIT_OK
             : refuse_model(err, "records.grad", "is NULL; a model with n_linear == 0 needs it");
}

static tacit_status_t validate_names(const tacit_parameters_t *parameters, tacit_error_t *err) {
  if (parameters->labels == NULL || parameters->names == NULL) {
    return refuse_model(err, parameters->labels == NULL ? "parameters.labels" : "parameters.names",
                        "is NULL");
  }
  tacit_names_t seen;
  tacit_status_t status = tacit_names_init(&seen, parameters->n_reported, err);
  for (size_t i = 0; i < parameters->n_reported && status == TACIT_OK; i++) {
    const char *label = parameters->labels[i], *name = parameters->names[i];
    if (label == NULL || name == NULL) {
      status =
          refuse_model(err, label == NULL ? "parameters.labels" : "parameters.names", "has a NULL entry");
    } else if (!tacit_name_is_legal(name)) {
      status =
          tacit_error_set(err, TACIT_ERR_ARGUMENT, "parameters.names",
                          "the name '%.64s' is not legal in Stan CSV; use letters, digits and single '_', "
                          "beginning with a letter, then indices such as '.1'",
                          name);
    } else {
      status = tacit_names_add(&seen, label, name, err);
    }
    if (status == TACIT_OK && strcmp(seen.names[i], name) != 0) {
      status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "parameters.names", "the name '%.64s' is used twice",
                               name);
    }
  }
  tacit_names_clear(&seen);
  return status;
}

static tacit_status_t validate_parameters(const tacit_parameters_t *parameters, size_t dim,
                                          tacit_error_t *err) {
  if (parameters->dim != dim) {
    return refuse_model(err, "parameters.dim", "must equal records.dim");
  }
  if (parameters->n_reported == 0) {
    return refuse_model(err, "parameters.n_reported", "must be at least 1");
  }
  if (parameters->log_prior == NULL) {
    return refuse_model(err, "parameters.log_prior", "is NULL; every model needs it");
  }
  if (parameters->report == NULL) {
    return refuse_model(err, "parameters.report", "is NULL; every model needs it");
  }
  if (parameters->unit_scale == NULL) {
    return refuse_model(err, "parameters.unit_scale",
                        "is NULL; give a public guess, such as 1, for each parameter");
  }
  for (size_t j = 0; j < dim; j++) {
    if (!(parameters->unit_scale[j] > 0 && isfinite(parameters->unit_scale[j]))) {
      return refuse_model(err, "parameters.unit_scale", "must be finite and above 0");
    }
  }
  return validate_names(parameters, err);
}

tacit_status_t tacit_model_validate(const tacit_model_t *model, tacit_error_t *err) {
  if (model == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "model", "the model is NULL");
  }
  tacit_status_t status = validate_records(&model->records, err);
  return status != TACIT_OK ? status : validate_parameters(&model->parameters, model->records.dim, err);
}
