/* What a fit keeps of its releases, and fits that are drawn from what others kept: no records, nothing
 * charged. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "fit/fit_internal.h"
#include "report/read_internal.h"
#include "report/report.h"
#include "report/report_internal.h"

/* What another draw may be made with; all else was decided by the releases. */
static const char *const free_settings[] = {"prior",  "program", "prior-scale", "prior-basis", "chains",
                                            "warmup", "draws",   "thin",        "seed",        "out"};

bool tacit_fit_may_set(const tacit_fit_t *fit, const char *name) {
  static const char *const of_checks[] = {"epsilon",  "delta",     "data",    "query",   "catalog",
                                          "encoding", "delimiter", "ledger",  "data-id", "purpose",
                                          "seed",     "n-public",  "threads", "scratch"};
  bool may = fit->n_of == 0 && fit->checked == NULL;
  for (size_t i = 0; i < sizeof of_checks / sizeof of_checks[0] && fit->checked != NULL; i++) {
    may = may || strcmp(of_checks[i], name) == 0;
  }
  for (size_t i = 0; i < sizeof free_settings / sizeof free_settings[0] && fit->checked == NULL; i++) {
    may = may || strcmp(free_settings[i], name) == 0;
  }
  return may;
}

/* ---- keeping ---- */

static tacit_status_t keep_number(tacit_released_t *kept, const char *name, double value,
                                  tacit_error_t *err) {
  char text[TACIT_NUMBER_SIZE];
  return tacit_released_set(kept, name, tacit_number_format(value, text), err);
}

/* As the run used them: defaults may change from version to version. */
static tacit_status_t keep_settings(tacit_released_t *kept, const tacit_fit_t *fit, tacit_error_t *err) {
  static const char *const given[] = {"family",      "epsilon",     "delta",
                                      "sd",          "n-public",    "prior",
                                      "prior-scale", "prior-basis", "followed-to-bound"};
  const struct {
    const char *name;
    size_t n;
  } counts[] = {{"chains", fit->settings.n_chains},
                {"warmup", fit->settings.n_warmup},
                {"draws", fit->settings.n_draws},
                {"thin", fit->settings.thin}};
  tacit_status_t status = tacit_released_set(kept, "method", fit->method->name, err);
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
    const char *text;
    for (size_t k = 0;
         status == TACIT_OK && (text = tacit_settings_next(&fit->given, given[i], &k)) != NULL;) {
      status = tacit_released_set(kept, given[i], text, err);
    }
    if (status == TACIT_OK && fit->n_priors > 0 && strcmp(given[i], "prior-scale") == 0 &&
        !tacit_fit_has(fit, given[i])) {
      status = tacit_released_set(kept, given[i], tacit_fit_value(fit, given[i]), err);
    }
  }
  for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == TACIT_OK; i++) {
    status = keep_number(kept, counts[i].name, (double)counts[i].n, err);
  }
  return status;
}

tacit_status_t tacit_fit_keep(const tacit_fit_t *fit, tacit_released_t *kept, tacit_error_t *err) {
  const char *unit = tacit_schema_unit(fit->schema);
  *kept = (tacit_released_t){.formula = tacit_strdup(fit->formula),
                             .schema = tacit_strdup(fit->schema_text),
                             .unit = tacit_strdup(unit != NULL ? unit : "row"),
                             .is_private = tacit_curator_is_private(fit->curator),
                             .relation = tacit_schema_relation(fit->schema)};
  kept->releases = (tacit_releases_t){.dim = fit->releases.dim, .n_units = fit->releases.n_units};
  memcpy(kept->key, fit->aware.key, sizeof kept->key);
  bool has_program =
           fit->program != NULL && fit->effects == NULL, /* those of effects follow from the formula */
      ok = kept->formula != NULL && kept->schema != NULL && kept->unit != NULL;
  kept->program = has_program ? tacit_strdup(tacit_fit_text(fit, TACIT_FIT_TEXT_PROGRAM)) : NULL;
  tacit_status_t status =
      ok && (kept->program != NULL) == has_program ? keep_settings(kept, fit, err) : tacit_error_memory(err);
  for (size_t i = 0; i < fit->releases.n && status == TACIT_OK; i++) {
    status = tacit_releases_add(&kept->releases, &fit->releases.items[i], err);
  }
  return status;
}

/* ---- beginning with what was kept ---- */

static tacit_status_t read_text(const char *folder, const char *name, char **text, tacit_error_t *err) {
  tacit_text_t path = {0};
  size_t n;
  tacit_text_printf(&path, "%s/%s", folder, name);
  tacit_status_t status =
      path.failed ? tacit_error_memory(err) : tacit_file_read(path.data, (size_t)1 << 26, text, &n, err);
  tacit_text_clear(&path);
  return status;
}

tacit_status_t tacit_fit_open_kept(tacit_fit_t **fit, const char *const *paths, size_t n,
                                   tacit_error_t *err) {
  tacit_released_t *of = tacit_alloc_zero(n, sizeof *of);
  tacit_status_t status = of != NULL ? TACIT_OK : tacit_error_memory(err);
  size_t n_read = 0;
  *fit = NULL;
  for (; n_read < n && status == TACIT_OK; n_read += status == TACIT_OK) {
    status = tacit_released_read(&of[n_read], paths[n_read], err);
  }
  TACIT_THEN(status, tacit_fit_new(fit, of->formula, err));
  if (status != TACIT_OK) {
    for (size_t i = 0; i < n_read; i++) {
      tacit_released_clear(&of[i]);
    }
    tacit_free(of);
    return status;
  }
  (*fit)->of = of;
  (*fit)->n_of = n;
  return tacit_fit_keep_schema(*fit, of->schema, strlen(of->schema), paths[0], err);
}

tacit_status_t tacit_fit_reopen(tacit_fit_t **fit, const char *path, tacit_error_t *err) {
  tacit_status_t status = tacit_fit_open_kept(fit, &path, 1, err);
  if (status == TACIT_OK) {
    (*fit)->reopened = tacit_strdup(path);
    status = (*fit)->reopened == NULL ? tacit_error_memory(err)
                                      : read_text(path, "privacy.json", &(*fit)->privacy_json, err);
  }
  TACIT_THEN(status, read_text(path, "privacy.txt", &(*fit)->privacy_text, err));
  if (status == TACIT_ERR_MISSING &&
      *fit !=
          NULL) { /* stopped before it had written both: they are made again from what the releases cost */
    tacit_free((*fit)->privacy_json);
    (*fit)->privacy_json = NULL;
    status = TACIT_OK;
  }
  if (status != TACIT_OK) {
    tacit_fit_free(*fit);
    *fit = NULL;
  }
  return status;
}

tacit_status_t tacit_fit_show_check(tacit_fit_t *fit, const char *path, tacit_error_t *err) {
  json_t *root = NULL;
  char *text = NULL;
  size_t n;
  if (fit->n_of != 1 || fit->stage != TACIT_FIT_STAGE_SETTINGS) {
    return tacit_error_set(err, TACIT_ERR_STATE, "check",
                           "a check is shown with a fit that was reopened, before anything is drawn");
  }
  tacit_status_t status = tacit_report_load_json(path, &root, err);
  if (status == TACIT_OK) {
    const char *format = json_string_value(json_object_get(root, "format")),
               *key = json_string_value(json_object_get(root, "fit"));
    bool is_check = format != NULL && strcmp(format, "tacit check") == 0 &&
                    json_array_size(json_object_get(root, "calibration")) > 0;
    status = !is_check ? tacit_error_set(err, TACIT_ERR_SYNTAX, "check",
                                         "%s is not what tacit check --out writes", path)
                       : TACIT_OK;
    for (size_t i = 0; i < sizeof fit->of->key && status == TACIT_OK; i++) {
      unsigned byte = 256;
      if (key == NULL || strlen(key) != 2 * sizeof fit->of->key || sscanf(key + 2 * i, "%2x", &byte) != 1 ||
          byte != fit->of->key[i]) {
        status = tacit_error_set(err, TACIT_ERR_DATA, "check", "%s is a check of another fit", path);
      }
    }
  }
  TACIT_THEN(status, tacit_file_read(path, (size_t)1 << 20, &text, &n, err));
  json_decref(root);
  tacit_free(fit->check_json);
  fit->check_json = text;
  return status;
}

/* Settings as they were kept, but those given now. */
static tacit_status_t take_settings(tacit_fit_t *fit, tacit_error_t *err) {
  const tacit_released_t *of = fit->of;
  size_t n_now = fit->given.n_given;
  fit->has_own_prior = tacit_fit_has(fit, "prior");
  if (of->program == NULL && tacit_fit_has(fit, "program")) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "program",
        "the releases are those of a formula, which no program replaces: its prior is said with --prior");
  }
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < of->n_settings && status == TACIT_OK; i++) {
    bool is_given = false;
    for (size_t k = 0; k < n_now; k++) {
      is_given = is_given || strcmp(fit->given.given[k].setting->name, of->names[i]) == 0;
    }
    status = is_given ? TACIT_OK : tacit_settings_set(&fit->given, of->names[i], of->values[i], err);
  }
  bool is_unsaid = !fit->has_own_prior && tacit_fit_has(fit, "prior") && !tacit_fit_has(fit, "prior-scale");
  return status == TACIT_OK && is_unsaid ? tacit_settings_set(&fit->given, "prior-scale", "scaled", err)
                                         : status; /* of builds that kept none */
}

/* The file speaks of this model, and of what its method releases. */
static tacit_status_t check_kept(const tacit_fit_t *fit, const tacit_released_t *of, tacit_error_t *err) {
  const char *unit = tacit_schema_unit(fit->schema);
  if (of->program == NULL && fit->program != NULL && fit->effects == NULL) {
    return tacit_error_set(err, TACIT_ERR_DATA, "program",
                           "the releases are those of a program that is not there: an earlier tacit kept no "
                           "program in releases.json, and no draws "
                           "are made again from it");
  }
  if (!fit->method->is_one_off) {
    return tacit_error_set(
        err, TACIT_ERR_DATA, "method",
        "the releases are not those of method noise-aware: nothing can be drawn from them");
  }
  if (of->relation != tacit_schema_relation(fit->schema) ||
      strcmp(of->unit, unit != NULL ? unit : "row") != 0) {
    return tacit_error_set(err, TACIT_ERR_DATA, "schema",
                           "relation and unit of the releases are not those of the schema beside them");
  }
  if (of->releases.dim != tacit_fit_aware_dim(fit)) {
    return tacit_error_set(
        err, TACIT_ERR_DATA, "features",
        "the releases are of %zu features, the intercept included, or parameters, and the model has %zu",
        of->releases.dim, tacit_fit_aware_dim(fit));
  }
  return TACIT_OK;
}

tacit_status_t tacit_fit_charge_again(tacit_budget_t *budget, const tacit_releases_t *releases,
                                      tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < releases->n && status == TACIT_OK; i++) {
    tacit_event_t event = {
        .kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = releases->items[i].noise_multiplier, .count = 1};
    memcpy(event.label, releases->items[i].label, sizeof releases->items[i].label);
    status = tacit_budget_charge(budget, &event, err);
  }
  return status != TACIT_ERR_BUDGET
             ? status
             : tacit_error_set(err, TACIT_ERR_DATA, "releases",
                               "the releases cost more than the budget stated beside them");
}

tacit_status_t tacit_fit_prepare_kept(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_status_t status = take_settings(fit, err);
  TACIT_THEN(status, tacit_fit_read_settings(fit, err));
  bool has_seed = fit->is_seeded;
  fit->is_seeded =
      !tacit_fit_is_private(fit); /* whether the releases protect anybody is their fit's matter */
  TACIT_THEN(status, tacit_fit_prepare(fit, err));
  TACIT_THEN(status, check_kept(fit, fit->of, err));
  TACIT_THEN(status, tacit_fit_charge_again(fit->budget, &fit->of->releases, err));
  TACIT_THEN(status, tacit_fit_open_blank(fit, err));
  TACIT_THEN(status,
             tacit_fit_make_plan(
                 fit, fit->of->releases.n_units > 0 ? fit->of->releases.n_units : fit->n_public, err));
  if (status == TACIT_OK && fit->n_of > 1) {
    status = tacit_fit_settle_sites(fit, err);
  }
  if (has_seed) {
    tacit_rng_key_from_seed(fit->settings.key, fit->seed);
  } else {
    memcpy(fit->settings.key, fit->of->key, sizeof fit->settings.key);
  }
  return status;
}

tacit_status_t tacit_fit_redraw(tacit_fit_t *fit, tacit_progress_fn progress, void *user,
                                tacit_error_t *err) {
  if (fit->n_of == 0 || fit->stage != TACIT_FIT_STAGE_SETTINGS) {
    return tacit_error_set(err, TACIT_ERR_STATE, "fit",
                           "only a fit that was reopened, and not drawn yet, can be drawn again");
  }
  fit->stage = TACIT_FIT_STAGE_FAILED;
  tacit_status_t status = tacit_fit_prepare_kept(fit, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (fit->n_of == 1) {
    fit->releases = fit->of->releases;
    fit->of->releases = (tacit_releases_t){0};
  }
  if (fit->reopened != NULL && !tacit_fit_has_all_releases(fit) &&
      tacit_directory_is_unfinished(fit->reopened)) {
    return tacit_error_set(err, TACIT_ERR_DATA, "releases",
                           "the fit in %s was stopped after %zu of its releases, and its posterior needs "
                           "all: they are in releases.json, and nothing can "
                           "be drawn from them",
                           fit->reopened, fit->releases.n);
  }
  fit->settings.progress = progress;
  fit->settings.progress_user = user;
  status = tacit_fit_sample_aware(fit, NULL, err);
  if (status == TACIT_OK && tacit_draws_n_kept(&fit->draws) == 0) {
    status = tacit_error_set(err, TACIT_ERR_INTERRUPTED, "draws",
                             "stopped before the first draw after warm-up: nothing was written");
  }
  if (status == TACIT_OK) {
    tacit_text_printf(
        &fit->texts[TACIT_FIT_TEXT_SPENT],
        "nothing was spent: draws given releases that were made before, %sat epsilon %.6g, delta %g\n",
        tacit_fit_is_private(fit) ? "" : "NOT PRIVATE (seeded), ", fit->epsilon, fit->delta);
    fit->stage = TACIT_FIT_STAGE_RUN;
  }
  return status;
}
