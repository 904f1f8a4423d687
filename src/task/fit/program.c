/* Models written in Stan's language, in place of a formula. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "fit/fit_internal.h"
#include "program/ast.h"
#include "program/kept.h"

/* The program that kept releases are of; NULL: there is none. */
static const char *kept_by(const tacit_fit_t *fit) {
  return fit->n_of > 0 ? fit->of->program : fit->checked != NULL ? fit->checked->of->program : NULL;
}

/* The file with the program; NULL: there is none. Releases are kept with the text. */
static const char *file_of(const tacit_fit_t *fit) {
  bool is_file = tacit_file_has_ending(fit->formula, ".stan");
  return tacit_fit_has(fit, "program")                       ? tacit_fit_value(fit, "program")
         : is_file && fit->n_of == 0 && fit->checked == NULL ? fit->formula
                                                             : NULL;
}

/* A family that has no kernels of its own. */
static bool is_written(const tacit_fit_t *fit) {
  const char *family = tacit_fit_value(fit, "family");
  tacit_family_t own;
  tacit_error_t err;
  if (family == NULL || tacit_family_parse(&own, family, &err) == TACIT_OK) {
    return false;
  }
  for (size_t i = 0; tacit_program_family(i) != NULL; i++) {
    if (strcmp(tacit_program_family(i), family) == 0) {
      return true;
    }
  }
  return false;
}

bool tacit_fit_is_program(const tacit_fit_t *fit) {
  return fit->program != NULL || file_of(fit) != NULL || kept_by(fit) != NULL || is_written(fit);
}

bool tacit_fit_is_formula(const tacit_fit_t *fit) { return file_of(fit) == NULL && kept_by(fit) == NULL; }

/* What a program says itself. */
tacit_status_t tacit_fit_check_program(const tacit_fit_t *fit, tacit_error_t *err) {
  static const char *const of_formulas[] = {"prior", "prior-scale", "sd", "family"}, *const of_programs[] = {
                                                                                         "set", "constants",
                                                                                         "records", "public"};
  bool is_program = tacit_fit_is_program(fit);
  const char *const *names = is_program ? of_formulas : of_programs;
  if (!is_program && tacit_fit_has(fit, "followed-to-bound")) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "followed-to-bound",
                           "--followed-to-bound goes with censored times, of a program or y | cens(over)");
  }
  bool keeps_priors = kept_by(fit) != NULL && !fit->has_own_prior;          /* they stand in what was kept */
  bool takes_priors = is_program && (file_of(fit) == NULL || keeps_priors); /* they are written into it */
  for (size_t i = takes_priors ? 2 : 0; i < (!is_program || file_of(fit) == fit->formula ? 4 : 3); i++) {
    if (tacit_fit_has(fit, names[i])) {
      return tacit_error_set(
          err, TACIT_ERR_ARGUMENT, names[i],
          file_of(fit) != NULL ? "--%s goes with a formula; a program says this itself"
          : is_program ? "--%s is said in the program that this formula is fitted by: see tacit model write"
                       : "--%s goes with a program, FILE.stan",
          names[i]);
    }
  }
  return TACIT_OK;
}

tacit_written_priors_t tacit_fit_written_priors(const tacit_fit_t *fit) {
  return (tacit_written_priors_t){fit->priors, fit->n_priors,
                                  strcmp(tacit_fit_value(fit, "prior-scale"), "scaled") == 0, false};
}

/* The formula's program, with the priors that were given. */
static tacit_status_t write_formula(const tacit_fit_t *fit, const char *family, tacit_written_t *written,
                                    tacit_error_t *err) {
  const tacit_written_priors_t priors = tacit_fit_written_priors(fit);
  return tacit_written_new(written, fit->formula, family, fit->schema, &priors, err);
}

/* That of kept releases, with priors that are given now; family NULL: it was no formula's. */
static tacit_status_t write_again(const tacit_fit_t *fit, const char *family, tacit_written_t *written,
                                  tacit_error_t *err) {
  return family != NULL ? write_formula(fit, family, written, err)
                        : tacit_error_set(err, TACIT_ERR_ARGUMENT, "prior",
                                          "--prior goes with formulas: here the prior is in the program; "
                                          "give it, edited, with --program");
}

/* The program of a file, or the one that a formula stands for, whose coefficients are called as those of any
 * formula. */
static tacit_status_t read_text(const tacit_fit_t *fit, tacit_written_t *written, size_t *n,
                                tacit_error_t *err) {
  if (file_of(fit) != NULL) {
    *written = (tacit_written_t){0};
    return tacit_file_read(file_of(fit), TACIT_PROGRAM_MAX_TEXT, &written->text, n, err);
  }
  tacit_status_t status = write_formula(fit, tacit_fit_value(fit, "family"), written, err);
  *n = written->text != NULL ? strlen(written->text) : 0;
  return status;
}

/* Its quantities are called as those of what was written; settings->labels is to be freed. */
static tacit_status_t set_labels(tacit_program_settings_t *settings, const tacit_written_t *written,
                                 tacit_error_t *err) {
  size_t n = written->names.n;
  tacit_program_label_t *labels = tacit_alloc_zero(n + 1, sizeof *labels);
  for (size_t i = 0; i < n && labels != NULL; i++) {
    labels[i] = (tacit_program_label_t){written->names.names[i], written->names.labels[i]};
  }
  settings->labels = labels;
  settings->n_labels = n;
  return labels != NULL ? TACIT_OK : tacit_error_memory(err);
}

/* As it is kept with the fit, for predictions. */
static tacit_status_t keep(tacit_fit_t *fit, const char *text, size_t n,
                           const tacit_program_settings_t *settings, const char *family, tacit_error_t *err) {
  char *kept = NULL;
  tacit_text_t *to = &fit->texts[TACIT_FIT_TEXT_PROGRAM];
  tacit_status_t status = tacit_program_keep(&kept, text, n, settings, family, err);
  tacit_text_clear(to);
  if (status == TACIT_OK) {
    tacit_text_append(to, kept, strlen(kept));
    status = to->failed ? tacit_error_memory(err) : TACIT_OK;
  }
  tacit_free(kept);
  return status;
}

static tacit_status_t parse(tacit_fit_t *fit, const char *text, size_t n,
                            const tacit_program_settings_t *settings, tacit_error_t *err) {
  tacit_error_t why;
  const char *path = file_of(fit);
  tacit_status_t status = tacit_program_parse(&fit->program, text, n, settings, &why);
  if (status != TACIT_OK) {
    return path != NULL ? tacit_error_set(err, status, why.field, "%s: %s", path, why.message)
                        : (*err = why, status);
  }
  return path == NULL ? tacit_fit_check_program(fit, err) : TACIT_OK;
}

static tacit_program_settings_t settings_of(const tacit_fit_t *fit, const char *records,
                                            const tacit_program_constants_t *constants) {
  return (tacit_program_settings_t){.schema = fit->schema,
                                    .records = records != NULL && strcmp(records, "none") == 0 ? "" : records,
                                    .constants = constants->items,
                                    .n_constants = constants->n,
                                    .is_followed_to_bound = tacit_fit_has(fit, "followed-to-bound"),
                                    .keeps_columns = fit->checked != NULL,
                                    .keeps_responses = fit->method == NULL || fit->method->is_one_off};
}

tacit_status_t tacit_fit_compare_program(const tacit_fit_t *fit, const char *text, tacit_error_t *err) {
  tacit_program_t *program = NULL;
  tacit_model_t model = {0};
  tacit_program_kept_t kept;
  tacit_status_t status = tacit_program_kept_read(&kept, text, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_program_settings_t settings = settings_of(fit, kept.records, &kept.constants);
  status = tacit_program_parse(&program, kept.text, strlen(kept.text), &settings, err);
  TACIT_THEN(status, tacit_program_compile(program, &model, err));
  TACIT_THEN(status, tacit_program_compare_records(program, fit->program, err));
  tacit_model_clear(&model);
  tacit_program_free(program);
  tacit_program_kept_clear(&kept);
  return status;
}

/* The program that releases were kept with, or the same with another prior. */
static tacit_status_t open_kept(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_program_kept_t kept;
  char *edited = NULL;
  size_t n = 0;
  tacit_status_t status = tacit_program_kept_read(&kept, kept_by(fit), err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_program_settings_t settings = settings_of(fit, kept.records, &kept.constants);
  settings.labels = kept.labels;
  settings.n_labels = kept.n_labels;
  if (file_of(fit) != NULL) {
    status = tacit_file_read(file_of(fit), TACIT_PROGRAM_MAX_TEXT, &edited, &n, err);
  }
  tacit_written_t written = {0};
  if (status == TACIT_OK && fit->has_own_prior) {
    status = write_again(fit, kept.family, &written, err);
  }
  const char *text = edited != NULL ? edited : written.text != NULL ? written.text : kept.text;
  TACIT_THEN(status, parse(fit, text, strlen(text), &settings, err));
  TACIT_THEN(status, keep(fit, text, strlen(text), &settings, kept.family, err));
  TACIT_THEN(status, tacit_program_compile(fit->program, &fit->model, err));
  if (status == TACIT_OK && text != kept.text) {
    status = tacit_fit_compare_program(fit, kept_by(fit), err);
  }
  tacit_free(edited);
  tacit_written_clear(&written);
  tacit_program_kept_clear(&kept);
  return status;
}

tacit_status_t tacit_fit_open_written(const tacit_fit_t *fit, const char *formula,
                                      const tacit_written_priors_t *priors, tacit_written_t *written,
                                      tacit_program_t **program, tacit_model_t *model, tacit_error_t *err) {
  const tacit_program_constants_t none = {0};
  tacit_status_t status =
      tacit_written_new(written, formula, tacit_fit_value(fit, "family"), fit->schema, priors, err);
  tacit_program_settings_t settings = settings_of(fit, "none", &none);
  TACIT_THEN(status, set_labels(&settings, written, err));
  TACIT_THEN(status, tacit_program_parse(program, written->text, strlen(written->text), &settings, err));
  tacit_free((void *)settings.labels);
  return status == TACIT_OK ? tacit_program_compile(*program, model, err) : status;
}

tacit_status_t tacit_fit_open_program(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_program_constants_t constants = {0};
  tacit_written_t written = {0};
  size_t n = 0;
  if (kept_by(fit) != NULL) {
    return open_kept(fit, err);
  }
  tacit_status_t status = tacit_request_constants(&fit->given, &constants, err);
  TACIT_THEN(status, read_text(fit, &written, &n, err));
  bool is_formula = tacit_fit_is_formula(fit);
  tacit_program_settings_t settings =
      settings_of(fit, is_formula ? "none" : tacit_fit_value(fit, "records"), &constants);
  TACIT_THEN(status, set_labels(&settings, &written, err));
  TACIT_THEN(status, parse(fit, written.text, n, &settings, err));
  TACIT_THEN(status,
             keep(fit, written.text, n, &settings, is_formula ? tacit_fit_value(fit, "family") : NULL, err));
  tacit_free((void *)settings.labels);
  tacit_written_clear(&written);
  tacit_program_constants_clear(&constants);
  return status == TACIT_OK ? tacit_program_compile(fit->program, &fit->model, err) : status;
}
