/* A fit read back for prediction: which draw multiplies which feature. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/records.h"
#include "formula/names.h"
#include "predict/predict_internal.h"
#include "report/read_internal.h"

static tacit_status_t read_schema(const char *path, tacit_schema_t **schema, tacit_error_t *err) {
  tacit_text_t name = {0};
  tacit_text_printf(&name, "%s/schema.yaml", path);
  tacit_status_t status = name.failed ? tacit_error_memory(err) : TACIT_OK;
  if (status == TACIT_OK && !tacit_report_exists(name.data)) {
    status = tacit_error_set(err, TACIT_ERR_MISSING, "schema",
                             "%s has no schema.yaml, which a fit writes: what tacit infer wrote is of a "
                             "statistic, without columns to predict from",
                             path);
  }
  TACIT_THEN(status, tacit_schema_read(schema, name.data, err));
  tacit_text_clear(&name);
  return status;
}

/* The columns that features are made of: all of the formula's but those of the response alone. */
static tacit_status_t choose_columns(tacit_predictor_t *p, tacit_error_t *err) {
  size_t n;
  const char *const *columns = tacit_design_columns(p->design, &n);
  p->columns = tacit_alloc_zero(n, sizeof *p->columns);
  p->place = tacit_alloc(n, sizeof *p->place);
  p->names = tacit_alloc(n, sizeof *p->names);
  if (p->columns == NULL || p->place == NULL || p->names == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n; i++) {
    p->place[i] = SIZE_MAX;
    if (tacit_design_uses(p->design, i)) {
      p->place[i] = p->n_names;
      p->names[p->n_names++] = columns[i];
    }
  }
  return TACIT_OK;
}

static size_t find_label(const tacit_report_read_t *fit, const char *label) {
  for (size_t j = 0; j < fit->draws.n_reported; j++) {
    if (strcmp(fit->labels[j], label) == 0) {
      return j;
    }
  }
  return SIZE_MAX;
}

static tacit_status_t find_coefficient(tacit_predictor_t *p, size_t r, size_t j, tacit_error_t *err) {
  tacit_text_t label = {0};
  if (tacit_design_n_classes(p->design) > 0) {
    tacit_text_printf(&label, "[%s] ", tacit_design_class_label(p->design, r + 1));
  }
  tacit_text_printf(&label, "%s", tacit_design_label(p->design, j));
  tacit_status_t status = label.failed ? tacit_error_memory(err) : TACIT_OK;
  if (status == TACIT_OK) {
    size_t found = p->coefficient[r * p->n_features + j] = find_label(&p->fit, label.data);
    if (found == SIZE_MAX) {
      status = tacit_error_set(err, TACIT_ERR_DATA, "draws",
                               "the draws have no coefficient '%.80s' of the formula: are they of this fit?",
                               label.data);
    }
  }
  tacit_text_clear(&label);
  return status;
}

tacit_status_t tacit_read_setting(const char *path, const char *setting, double *value, tacit_error_t *err) {
  tacit_text_t name = {0}, key = {0};
  char *text = NULL;
  size_t n;
  tacit_text_printf(&name, "%s/run.yaml", path);
  tacit_text_printf(&key, "\n");
  tacit_text_yaml_scalar(&key, setting);
  tacit_text_printf(&key, ": ");
  tacit_status_t status = name.failed || key.failed
                              ? tacit_error_memory(err)
                              : tacit_file_read(name.data, (size_t)1 << 20, &text, &n, err);
  const char *line = status == TACIT_OK ? strstr(text, key.data) : NULL;
  if (line != NULL) {
    tacit_number_scan(line + key.length, value);
  }
  tacit_free(text);
  tacit_text_clear(&name);
  tacit_text_clear(&key);
  return status;
}

static tacit_status_t find_coefficients(tacit_predictor_t *p, tacit_error_t *err) {
  size_t n_classes = tacit_design_n_classes(p->design);
  p->n_features = tacit_design_n_features(p->design);
  p->n_linear = n_classes > 0 ? n_classes - 1 : 1;
  p->coefficient = tacit_alloc(p->n_linear * p->n_features, sizeof *p->coefficient);
  tacit_status_t status = p->coefficient != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t r = 0; r < p->n_linear && status == TACIT_OK; r++) {
    for (size_t j = 0; j < p->n_features && status == TACIT_OK; j++) {
      status = find_coefficient(p, r, j, err);
    }
  }
  p->sigma = p->family == TACIT_FAMILY_GAUSSIAN ? find_label(&p->fit, tacit_design_sigma_label(p->design))
                                                : SIZE_MAX;
  p->n_draws = p->fit.draws.n_chains * tacit_draws_n_kept(&p->fit.draws);
  return status;
}

static tacit_status_t check_formula(const tacit_report_read_t *fit, const char *what, tacit_error_t *err) {
  if (fit->program != NULL ||
      (fit->formula != NULL && fit->family != NULL && strcmp(fit->family, "program") != 0)) {
    return TACIT_OK;
  }
  return tacit_error_set(err, TACIT_ERR_DATA, "formula",
                         "%s: predictions are made of a regression's formula or of a program that tacit fit "
                         "kept in program.stan; this has neither",
                         what);
}

tacit_status_t tacit_predict_check_fit(const tacit_report_read_t *fit, tacit_error_t *err) {
  return !tacit_checks_forbid_intervals(&fit->evidence.checks)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_DATA, "fit",
                               "a check of the fit forbids intervals (tacit diagnose), and what is computed "
                               "from its draws would hide that: nothing is");
}

static tacit_status_t set_up(tacit_predictor_t *p, const tacit_schema_t *schema, tacit_error_t *err) {
  tacit_status_t status = tacit_predict_check_fit(&p->fit, err);
  if (status != TACIT_OK) {
    return status;
  }
  p->kind = p->fit.program != NULL ? &tacit_predictor_of_program : &tacit_predictor_of_formula;
  if (p->fit.program != NULL) {
    return tacit_predictor_open_program(p, schema, err);
  }
  status = tacit_family_parse(&p->family, p->fit.family, err);
  TACIT_THEN(status, tacit_design_new(&p->design, p->fit.formula, schema, p->family, err));
  TACIT_THEN(status, choose_columns(p, err));
  TACIT_THEN(status, tacit_schema_for_new_rows(&p->schema, schema, p->names, p->n_names, err));
  return status == TACIT_OK ? find_coefficients(p, err) : status;
}

static tacit_status_t open_predictor(tacit_predictor_t *p, const char *path, tacit_error_t *err) {
  tacit_schema_t *schema = NULL;
  tacit_status_t status = tacit_report_read(&p->fit, path, err);
  TACIT_THEN(status, check_formula(&p->fit, path, err));
  TACIT_THEN(status, read_schema(path, &schema, err));
  TACIT_THEN(status, set_up(p, schema, err));
  tacit_schema_free(schema);
  bool may_have_sd =
      p->forecast == NULL && p->family == TACIT_FAMILY_GAUSSIAN; /* one that was given is no parameter */
  return status == TACIT_OK && may_have_sd ? tacit_read_setting(path, "sd", &p->known_sd, err) : status;
}

/* What began well, or nothing. */
static tacit_status_t hand_out(tacit_predictor_t **predictor, tacit_status_t status) {
  if (status != TACIT_OK) {
    tacit_predictor_free(*predictor);
    *predictor = NULL;
  }
  return status;
}

tacit_status_t tacit_predictor_new(tacit_predictor_t **predictor, const char *path, tacit_error_t *err) {
  *predictor = tacit_alloc_zero(1, sizeof **predictor);
  return hand_out(predictor,
                  *predictor != NULL ? open_predictor(*predictor, path, err) : tacit_error_memory(err));
}

tacit_status_t tacit_predictor_of(tacit_predictor_t **predictor, const tacit_report_read_t *fit,
                                  const tacit_schema_t *schema, double known_sd, tacit_error_t *err) {
  *predictor = NULL;
  tacit_status_t status = check_formula(fit, "the fit", err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_predictor_t *new = *predictor = tacit_alloc_zero(1, sizeof *new);
  if (new == NULL) {
    return tacit_error_memory(err);
  }
  new->fit = *fit;
  new->is_borrowed = true;
  new->known_sd = known_sd;
  return hand_out(predictor, set_up(new, schema, err));
}

void tacit_predictor_free(tacit_predictor_t *predictor) {
  if (predictor == NULL) {
    return;
  }
  if (!predictor->is_borrowed) {
    tacit_report_read_clear(&predictor->fit);
  }
  tacit_predictor_close_program(predictor);
  tacit_schema_free(predictor->schema);
  tacit_design_free(predictor->design);
  tacit_free(predictor->columns);
  tacit_free(predictor->place);
  tacit_free(predictor->names);
  tacit_free(predictor->coefficient);
  tacit_free(predictor);
}

const tacit_report_read_t *tacit_predictor_fit(const tacit_predictor_t *predictor) { return &predictor->fit; }

const char *const *tacit_predictor_columns(const tacit_predictor_t *predictor, size_t *n) {
  *n = predictor->n_names;
  return predictor->names;
}

const tacit_schema_t *tacit_predictor_schema(const tacit_predictor_t *predictor) { return predictor->schema; }

const char *tacit_predictor_note(const tacit_predictor_t *predictor, tacit_prediction_kind_t kind) {
  return kind == TACIT_PREDICT_MEAN && predictor->note.data != NULL ? predictor->note.data : "";
}

size_t tacit_predictor_n_draws(const tacit_predictor_t *predictor) { return predictor->n_draws; }

size_t tacit_predictor_n_outcomes(const tacit_predictor_t *predictor, tacit_prediction_kind_t kind) {
  return predictor->kind->n_outcomes(predictor, kind);
}

const char *tacit_predictor_outcome(const tacit_predictor_t *predictor, tacit_prediction_kind_t kind,
                                    size_t outcome) {
  return predictor->kind->outcome((tacit_predictor_t *)(uintptr_t)predictor, kind, outcome);
}
