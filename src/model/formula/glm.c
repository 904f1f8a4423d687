#include "formula/glm.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "formula/design_internal.h"

enum { MAX_DIM = 65536 };

/* Public guess of a gaussian's unknown sd, as a part of half the response's range. */
static const double SIGMA_GUESS = 0.25;

tacit_glm_settings_t tacit_glm_settings_default(void) {
  return (tacit_glm_settings_t){.family = TACIT_FAMILY_BERNOULLI};
}

static tacit_status_t check_settings(const tacit_design_t *design, const tacit_glm_settings_t *settings,
                                     tacit_error_t *err) {
  if (settings->family != design->family) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "family",
        "the design was made for family %s, the settings ask for another; give both the same",
        tacit_family_string(design->family));
  }
  if (!(settings->known_sd >= 0 && isfinite(settings->known_sd))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "known_sd",
                           "known_sd must be finite and above 0, or 0 if the sd is unknown");
  }
  if (settings->known_sd > 0 && design->family != TACIT_FAMILY_GAUSSIAN) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "known_sd", "known_sd is for family gaussian, not %s",
                           tacit_family_string(design->family));
  }
  size_t n_linear = design->family == TACIT_FAMILY_CATEGORICAL ? design->n_classes - 1 : 1;
  if (n_linear > MAX_DIM / design->n_features) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "design",
                           "%zu features for each of %zu classes make more than %d parameters; use fewer",
                           design->n_features, design->n_classes, (int)MAX_DIM);
  }
  return TACIT_OK;
}

static void glm_free(tacit_glm_t *glm) {
  if (glm == NULL) {
    return;
  }
  tacit_names_clear(&glm->names);
  tacit_free(glm->centre);
  tacit_free(glm->slope);
  tacit_free(glm->priors);
  tacit_free(glm->sources);
  tacit_free(glm->prior_at);
  tacit_free(glm->is_two_valued);
  tacit_free(glm->typical);
  tacit_free(glm->unit_scale);
  tacit_free(glm);
}

static void free_model(tacit_model_t *model) { glm_free(model->parameters.ctx); }

static tacit_glm_t *glm_alloc(const tacit_design_t *design, const tacit_glm_settings_t *settings) {
  tacit_glm_t *glm = tacit_alloc_zero(1, sizeof *glm);
  if (glm == NULL) {
    return NULL;
  }
  bool is_gaussian = design->family == TACIT_FAMILY_GAUSSIAN;
  glm->kernel.family = design->family;
  glm->kernel.n_features = design->n_features;
  glm->kernel.n_linear = design->family == TACIT_FAMILY_CATEGORICAL ? design->n_classes - 1 : 1;
  glm->kernel.n_extra = is_gaussian && settings->known_sd == 0 ? 1 : 0; /* exact: 0 means unknown */
  glm->kernel.known_sd = settings->known_sd / design->response_half;
  glm->kernel.has_intercept = design->formula.has_intercept;
  glm->dim = glm->kernel.n_linear * glm->kernel.n_features + glm->kernel.n_extra;
  glm->has_intercept = design->formula.has_intercept;
  glm->prior_on_original_scale = settings->prior_on_original_scale;
  glm->centre_y = design->response_centre;
  glm->half_y = design->response_half;
  glm->centre = tacit_alloc(design->n_features, sizeof *glm->centre);
  glm->slope = tacit_alloc(design->n_features, sizeof *glm->slope);
  glm->priors = tacit_alloc(glm->dim, sizeof *glm->priors);
  glm->sources = tacit_alloc_zero(glm->dim, sizeof *glm->sources);
  glm->prior_at = tacit_alloc_zero(design->n_features, sizeof *glm->prior_at);
  glm->is_two_valued = tacit_alloc_zero(design->n_features, sizeof *glm->is_two_valued);
  glm->typical = tacit_alloc_zero(design->n_features, sizeof *glm->typical);
  glm->unit_scale = tacit_alloc(glm->dim, sizeof *glm->unit_scale);
  if (glm->centre == NULL || glm->slope == NULL || glm->priors == NULL || glm->unit_scale == NULL ||
      glm->sources == NULL || glm->prior_at == NULL || glm->is_two_valued == NULL || glm->typical == NULL) {
    glm_free(glm);
    return NULL;
  }
  for (size_t j = 0; j < design->n_features; j++) {
    const tacit_design_feature_t *feature = &design->features[j];
    glm->is_two_valued[j] = tacit_design_is_two_valued(design, j);
    if (feature->has_typical) {
      glm->typical[j] = (tacit_feature_scale_t){.mean = feature->typical_mean, .sd = feature->typical_sd};
    }
  }
  return glm;
}

static tacit_status_t set_names(tacit_glm_t *glm, const tacit_design_t *design, tacit_error_t *err) {
  tacit_status_t status = tacit_names_init(&glm->names, glm->dim, err);
  for (size_t r = 0; r < glm->kernel.n_linear; r++) {
    const char *class_label = design->n_classes > 0 ? design->class_labels[r + 1] : NULL;
    for (size_t j = 0; j < design->n_features && status == TACIT_OK; j++) {
      status = tacit_names_add_coefficient(&glm->names, class_label, design->features[j].label, err);
    }
  }
  if (status == TACIT_OK && glm->kernel.n_extra == 1) {
    status = tacit_names_add(&glm->names, tacit_design_sigma_label(design), "sigma", err);
  }
  return status;
}

/*
 * sd(theta_j) is about 1 / sqrt(n w E x_j^2) with w the expected information of a record about its
 * linear predictor: 1/4 at even odds (bernoulli), (1/C)(1 - 1/C) at equal classes (categorical),
 * 1 at rate 1 (poisson), 1/sigma^2 (gaussian), for which log sigma has information 2.
 */
static void set_unit_scale(tacit_glm_t *glm, const tacit_design_t *design) {
  double weight = 1;
  switch (design->family) {
  case TACIT_FAMILY_BERNOULLI:
    weight = 0.25;
    break;
  case TACIT_FAMILY_CATEGORICAL: {
    double share = 1 / (double)design->n_classes;
    weight = share * (1 - share);
    break;
  }
  case TACIT_FAMILY_POISSON:
    break;
  case TACIT_FAMILY_GAUSSIAN: {
    double sd = glm->kernel.n_extra == 1 ? SIGMA_GUESS : glm->kernel.known_sd;
    weight = 1 / (sd * sd);
    break;
  }
  }
  size_t p = design->n_features;
  for (size_t i = 0; i < glm->kernel.n_linear * p; i++) {
    glm->unit_scale[i] = 1 / sqrt(weight * design->features[i % p].mean_square);
  }
  if (glm->kernel.n_extra == 1) {
    glm->unit_scale[glm->dim - 1] = sqrt(0.5);
  }
}

static void set_transform(tacit_glm_t *glm, const tacit_design_t *design) {
  for (size_t j = 0; j < design->n_features; j++) {
    glm->centre[j] = design->features[j].centre;
    glm->slope[j] = design->response_half / design->features[j].half;
  }
}

/*
 * ||grad l|| = ||residual|| ||x||: |residual| <= 1 for bernoulli; for categorical the residual
 * e_y - probabilities has norm at most sqrt(2); ||x|| <= sqrt(p). Rounded up.
 */
static double grad_bound(tacit_family_t family, double p) {
  switch (family) {
  case TACIT_FAMILY_BERNOULLI:
    return sqrt(p) * (1 + 1e-12);
  case TACIT_FAMILY_CATEGORICAL:
    return sqrt(2 * p) * (1 + 1e-12);
  default:
    return INFINITY;
  }
}

static void fill_model(tacit_model_t *model, tacit_glm_t *glm) {
  tacit_family_t family = glm->kernel.family;
  size_t p = glm->kernel.n_features;
  *model = (tacit_model_t){
      .records = {.name = tacit_family_string(family),
                  .dim = glm->dim,
                  .n_columns = p + 1,
                  .grad_bound = grad_bound(family, (double)p),
                  .ratio_bound = family == TACIT_FAMILY_BERNOULLI     ? tacit_glm_bernoulli_ratio_bound
                                 : family == TACIT_FAMILY_CATEGORICAL ? tacit_glm_categorical_ratio_bound
                                                                      : NULL,
                  .is_softmax = family == TACIT_FAMILY_BERNOULLI || family == TACIT_FAMILY_CATEGORICAL,
                  .log_lik = tacit_glm_functions()->log_lik,
                  .log_lik_blocks = tacit_glm_functions()->log_lik_blocks,
                  .n_linear = glm->kernel.n_linear,
                  .n_extra = glm->kernel.n_extra,
                  .n_features = p,
                  .residual = tacit_glm_functions()->residual,
                  .residual_blocks = tacit_glm_functions()->residual_blocks,
                  .curvature_bound = tacit_glm_curvature_bound,
                  .curvature = tacit_glm_curvature,
                  .ctx = &glm->kernel},
      .parameters = {.dim = glm->dim,
                     .n_reported = glm->dim,
                     .labels = glm->names.labels,
                     .names = glm->names.names,
                     .log_prior = tacit_glm_log_prior,
                     .prior_precision = tacit_glm_prior_precision,
                     .report = tacit_glm_report,
                     .unit_scale = glm->unit_scale,
                     .ctx = glm},
      .free = free_model};
}

tacit_status_t tacit_model_init_glm(tacit_model_t *model, const tacit_design_t *design,
                                    const tacit_glm_settings_t *settings, tacit_error_t *err) {
  *model = (tacit_model_t){0};
  tacit_status_t status = check_settings(design, settings, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_glm_t *glm = glm_alloc(design, settings);
  if (glm == NULL) {
    return tacit_error_memory(err);
  }
  status = set_names(glm, design, err);
  TACIT_THEN(status, tacit_glm_set_priors(glm, design, settings, err));
  if (status != TACIT_OK) {
    glm_free(glm);
    return status;
  }
  set_unit_scale(glm, design);
  set_transform(glm, design);
  fill_model(model, glm);
  return TACIT_OK;
}
