/* Schema, formula, model, budget: everything that needs no record. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "fit/fit_internal.h"
#include "program/regression.h"

/* All ranks draw the same noise, from a key that the first of them makes. */
static tacit_status_t open_noise(tacit_fit_t *fit, tacit_error_t *err) {
  unsigned char key[32];
  if (fit->is_seeded) {
    return tacit_noise_new_seeded_not_private(&fit->noise, fit->seed, err);
  }
  if (fit->ranks.ranks == NULL) {
    return tacit_noise_new(&fit->noise, err);
  }
  tacit_status_t status = tacit_fit_make_key(fit, key, err);
  TACIT_THEN(status, tacit_noise_new_with_key(&fit->noise, key, err));
  tacit_rng_key_wipe(key);
  return status;
}

static tacit_status_t open_schema(tacit_fit_t *fit, tacit_error_t *err) {
  char *text;
  size_t n;
  if (fit->schema != NULL) { /* given as text */
    return TACIT_OK;
  }
  tacit_status_t status = tacit_request_schema(&fit->request, &fit->given, &text, &n, err);
  TACIT_THEN(status, tacit_fit_keep_schema(fit, text, n, tacit_fit_value(fit, "schema"), err));
  tacit_free(text);
  return status;
}

static tacit_status_t open_regression(tacit_fit_t *fit, const char *formula, tacit_error_t *err) {
  tacit_error_t why;
  tacit_status_t status = tacit_design_new(&fit->design, formula, fit->schema, fit->family, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_glm_settings_t glm = tacit_glm_settings_default();
  glm.family = fit->family;
  glm.known_sd = fit->known_sd;
  glm.priors = fit->priors;
  glm.n_priors = fit->n_priors;
  glm.prior_on_original_scale = strcmp(tacit_fit_value(fit, "prior-scale"), "original") == 0;
  status = tacit_model_init_glm(&fit->model, fit->design, &glm, &why);
  if (status != TACIT_OK) {
    return tacit_error_set(err, status == TACIT_ERR_MEMORY ? status : TACIT_ERR_ARGUMENT, why.field, "%s",
                           why.message);
  }
  return TACIT_OK;
}

static void close_model(tacit_fit_t *fit) {
  tacit_fit_free_effects(fit);
  tacit_model_clear(&fit->model);
  fit->model = (tacit_model_t){0};
  tacit_design_free(fit->design);
  fit->design = NULL;
  tacit_program_free(fit->program);
  fit->program = NULL;
  tacit_text_clear(&fit->texts[TACIT_FIT_TEXT_PROGRAM]);
}

/* Of categorical outcomes noise-aware knows the program of the family alone. */
static bool goes_by_program(const tacit_fit_t *fit) {
  return fit->family == TACIT_FAMILY_CATEGORICAL && fit->method != NULL && fit->method->is_one_off;
}

/* *is_taken false: noise-aware, which nobody asked for by name, does not take the program either. */
static tacit_status_t open_as_program(tacit_fit_t *fit, bool *is_taken, tacit_error_t *err) {
  char obstacle[TACIT_FIT_OBSTACLE_SIZE];
  tacit_status_t status = tacit_fit_open_program(fit, err);
  *is_taken = status != TACIT_OK || tacit_fit_has(fit, "method") || !tacit_fit_aware_obstacle(fit, obstacle);
  if (!*is_taken) {
    close_model(fit);
  }
  return status;
}

/* A formula of groups by the releases of one without: by kernels, or as a program. */
static tacit_status_t open_groups(tacit_fit_t *fit, bool *is_taken, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  *is_taken = false;
  for (int i = tacit_fit_is_program(fit); i < 2 && tacit_fit_may_have_effects(fit) && !*is_taken; i++) {
    status = tacit_fit_open_effects(fit, i == 0 ? open_regression : NULL, is_taken, err);
    if (status != TACIT_OK) {
      return status;
    }
    if (!*is_taken) {
      close_model(fit);
    }
  }
  return status;
}

/* What has no kernels: a program, or a formula of a family that is one. */
static tacit_status_t open_written(tacit_fit_t *fit, tacit_error_t *err) {
  bool is_taken = false;
  tacit_status_t status = tacit_fit_is_formula(fit) ? open_groups(fit, &is_taken, err) : TACIT_OK;
  return status == TACIT_OK && !is_taken ? tacit_fit_open_program(fit, err) : status;
}

/*
 * A regression by its family's own kernels; a formula that these do not know, as a program. What neither
 * takes, the one says that it was written for.
 */
static tacit_status_t open_formula(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_error_t other;
  char *text;
  if (goes_by_program(fit)) {
    bool is_taken;
    tacit_status_t status = open_as_program(fit, &is_taken, err);
    if (is_taken) {
      return status;
    }
  }
  bool is_taken;
  tacit_status_t status = open_groups(fit, &is_taken, err);
  if (status != TACIT_OK || is_taken) {
    return status;
  }
  status = open_regression(fit, fit->formula, err);
  if (status != TACIT_ERR_SYNTAX ||
      tacit_program_of_formula(&text, fit->formula, tacit_fit_value(fit, "family"), fit->schema, &other) !=
          TACIT_OK) {
    bool is_of_programs = status == TACIT_ERR_SYNTAX && tacit_regression_is_own(fit->formula);
    if (is_of_programs && err != NULL) {
      *err = other;
    }
    return is_of_programs ? other.status : status;
  }
  tacit_free(text);
  close_model(fit);
  return tacit_fit_open_program(fit, err);
}

static tacit_status_t open_budget(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_relation_t relation = tacit_schema_relation(fit->schema);
  if (fit->is_exposed) {
    return TACIT_OK;
  }
  if (relation == TACIT_RELATION_ADD_REMOVE && !(fit->n_public > 0)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "n-public",
        "under relation add-remove the number of units is private: give a public nominal number with "
        "--n-public N, for the default settings");
  }
  return tacit_budget_new(&fit->budget, fit->epsilon, fit->delta, relation, err);
}

tacit_status_t tacit_fit_prepare(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_status_t status = open_schema(fit, err);
  TACIT_THEN(status, tacit_fit_is_program(fit) ? open_written(fit, err) : open_formula(fit, err));
  if (status == TACIT_OK) {
    tacit_fit_prepare_tuning(fit);
  }
  if (status == TACIT_OK && !fit->is_exposed) {
    status = tacit_fit_aware_prepare(fit, err);
  }
  TACIT_THEN(status, open_budget(fit, err));
  return status == TACIT_OK ? open_noise(fit, err)
                            : status; /* an exposed run draws nothing but minibatches from it */
}
