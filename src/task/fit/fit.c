/* A fit from beginning to end, and what it lets out. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"
#include "report/report.h"

const tacit_setting_t *tacit_fit_settings(size_t *n) { return tacit_settings_of(TACIT_TASK_FIT, n); }

tacit_status_t tacit_fit_new(tacit_fit_t **fit, const char *formula, tacit_error_t *err) {
  tacit_fit_t *new = *fit = tacit_alloc_zero(1, sizeof *new);
  if (new == NULL) {
    return tacit_error_memory(err);
  }
  new->given = tacit_settings_for(TACIT_TASK_FIT);
  new->request = (tacit_request_t){.task = "fit",
                                   .what = "run",
                                   .units = "persons (rows)",
                                   .or_else = ", or relation: add-remove in the schema"};
  new->epsilon = new->delta = NAN;
  new->formula = tacit_strdup(formula);
  if (new->formula == NULL) {
    tacit_fit_free(new);
    *fit = NULL;
    return tacit_error_memory(err);
  }
  return TACIT_OK;
}

void tacit_fit_free(tacit_fit_t *fit) {
  if (fit == NULL) {
    return;
  }
  tacit_fit_leave_folder(fit);
  tacit_free(fit->reopened);
  tacit_curator_free(fit->curator);
  tacit_fit_engine_free(fit->engine);
  tacit_noise_free(fit->noise);
  tacit_budget_free(fit->budget);
  tacit_free(fit->check_json);
  tacit_fit_clear_sites(fit);
  tacit_fit_free_effects(fit);
  tacit_model_clear(&fit->model);
  tacit_design_free(fit->design);
  tacit_program_free(fit->program);
  tacit_schema_free(fit->schema);
  for (size_t i = 0; i < fit->n_priors; i++) {
    tacit_prior_entry_clear(&fit->priors[i]);
  }
  for (size_t i = 0; i < TACIT_FIT_N_TEXTS; i++) {
    tacit_text_clear(&fit->texts[i]);
  }
  tacit_wipe(fit->holder_notes.data, fit->holder_notes.capacity);
  tacit_text_clear(&fit->holder_notes);
  tacit_settings_clear(&fit->given);
  tacit_draws_clear(&fit->draws);
  tacit_rng_key_wipe(fit->settings.key);
  tacit_rng_key_wipe(fit->aware.key);
  tacit_wipe(fit->print_key, sizeof fit->print_key);
  tacit_wipe(fit->print, sizeof fit->print);
  tacit_free(fit->own_path);
  tacit_free(fit->unit_prints);
  tacit_free(fit->formula);
  tacit_free(fit->schema_text);
  tacit_free(fit->schema_name);
  tacit_free(fit->priors);
  tacit_free(fit->inv_metric);
  tacit_free(fit->init);
  tacit_free(fit->is_two_valued);
  tacit_free(fit->makeup);
  tacit_releases_clear(&fit->releases);
  for (size_t i = 0; i < fit->n_of; i++) {
    tacit_released_clear(&fit->of[i]);
  }
  tacit_free(fit->of);
  tacit_fit_free(fit->checked);
  tacit_free(fit->checked_path);
  tacit_text_clear(&fit->sites_text);
  tacit_free(fit->privacy_json);
  tacit_free(fit->privacy_text);
  tacit_free(fit->data_id);
  tacit_request_clear(&fit->request);
  tacit_free(fit);
}

tacit_status_t tacit_fit_set(tacit_fit_t *fit, const char *name, const char *text, tacit_error_t *err) {
  if (fit->stage != TACIT_FIT_STAGE_SETTINGS) {
    return tacit_error_set(err, TACIT_ERR_STATE, name,
                           "settings are settled once a fit has looked at them: begin another");
  }
  if (!tacit_fit_may_set(fit, name)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, name,
        fit->checked != NULL
            ? "a check takes epsilon, delta, data, query, catalog, encoding, delimiter, ledger, data-id, "
              "purpose, n-public, threads, scratch and seed; all else is the fit's, and there is no %s"
            : "the releases were made by other settings: draws given them take prior, prior-scale, "
              "prior-basis, program, chains, warmup, draws, thin, seed and out, and no %s",
        name);
  }
  return tacit_settings_set(&fit->given, name, text, err);
}

/* Copy without lines of comment: they are the user's notes, and may name files. Returns owned text, its
 * length in *n. */
static char *without_comments(const char *text, size_t *n) {
  char *copy = tacit_alloc(*n + 1, 1);
  size_t kept = 0;
  for (size_t at = 0, next; copy != NULL && at < *n; at = next) {
    const char *end = memchr(text + at, '\n', *n - at);
    next = end != NULL ? (size_t)(end - text) + 1 : *n;
    size_t first = at;
    while (first < next && (text[first] == ' ' || text[first] == '\t')) {
      first++;
    }
    if (first == next || text[first] != '#') {
      memcpy(copy + kept, text + at, next - at);
      kept += next - at;
    }
  }
  if (copy != NULL) {
    copy[ *n = kept] = '\0';
  }
  return copy;
}

tacit_status_t tacit_fit_set_schema(tacit_fit_t *fit, const char *text, size_t n, const char *name,
                                    tacit_error_t *err) {
  if (fit->stage != TACIT_FIT_STAGE_SETTINGS) {
    return tacit_error_set(err, TACIT_ERR_STATE, "schema",
                           "settings are settled once a fit has looked at them: begin another");
  }
  return tacit_fit_keep_schema(fit, text, n, name, err);
}

tacit_status_t tacit_fit_keep_schema(tacit_fit_t *fit, const char *text, size_t n, const char *name,
                                     tacit_error_t *err) {
  tacit_schema_t *schema;
  tacit_status_t status = tacit_schema_parse(&schema, text, n, name, err);
  if (status != TACIT_OK) {
    return status;
  }
  char *copy = without_comments(text, &n), *its_name = tacit_strdup(name);
  if (copy == NULL || its_name == NULL) {
    tacit_schema_free(schema);
    tacit_free(copy);
    tacit_free(its_name);
    return tacit_error_memory(err);
  }
  tacit_schema_free(fit->schema);
  tacit_free(fit->schema_text);
  tacit_free(fit->schema_name);
  fit->schema = schema;
  fit->schema_text = copy;
  fit->schema_length = n;
  fit->schema_name = its_name;
  return TACIT_OK;
}

const tacit_draws_t *tacit_fit_draws(const tacit_fit_t *fit) {
  return fit->stage == TACIT_FIT_STAGE_RUN ? &fit->draws : NULL;
}

const char *tacit_fit_end(const tacit_fit_t *fit) {
  static const char *const words[] = {[TACIT_SAMPLE_COMPLETE] = "complete",
                                      [TACIT_SAMPLE_BUDGET] = "budget",
                                      [TACIT_SAMPLE_INTERRUPTED] = "interrupted"};
  return fit->stage == TACIT_FIT_STAGE_RUN ? words[fit->end] : "";
}

const tacit_published_t *tacit_fit_published(const tacit_fit_t *fit) {
  return fit->method == NULL || fit->method->is_one_off ? NULL : &fit->published;
}

const tacit_evidence_t *tacit_fit_evidence(const tacit_fit_t *fit) {
  return fit->evidence.n_terms > 0 ? &fit->evidence : NULL;
}

const tacit_parameters_t *tacit_fit_reported(const tacit_fit_t *fit) {
  return fit->effects != NULL ? &fit->effects->model.parameters : &fit->model.parameters;
}

/* What columns of draws are of: the regression's, until effects are drawn. */
static const tacit_parameters_t *drawn(const tacit_fit_t *fit) {
  const tacit_parameters_t *reported = tacit_fit_reported(fit);
  return fit->draws.n_reported == reported->n_reported ? reported : &fit->model.parameters;
}

const char *const *tacit_fit_labels(const tacit_fit_t *fit) {
  return fit->site_labels != NULL ? (const char *const *)fit->site_labels : drawn(fit)->labels;
}

const char *const *tacit_fit_names(const tacit_fit_t *fit) {
  return fit->site_names != NULL ? (const char *const *)fit->site_names : drawn(fit)->names;
}

tacit_guarantee_t tacit_fit_promised(const tacit_fit_t *fit) {
  return fit->budget != NULL ? tacit_budget_promised(fit->budget)
                             : (tacit_guarantee_t){.epsilon = fit->is_exposed ? NAN : 0};
}

tacit_guarantee_t tacit_fit_spent(const tacit_fit_t *fit) {
  return fit->budget != NULL ? tacit_budget_spent(fit->budget)
                             : (tacit_guarantee_t){.epsilon = fit->is_exposed ? NAN : 0};
}

bool tacit_fit_is_private(const tacit_fit_t *fit) {
  for (size_t i = 0; i < fit->n_of; i++) {
    if (!fit->of[i].is_private) {
      return false;
    }
  }
  return fit->n_of > 0 || (!tacit_fit_has(fit, "exposed") && !tacit_fit_has(fit, "seed"));
}

const char *tacit_fit_text(const tacit_fit_t *fit, tacit_fit_text_t which) {
  return which < TACIT_FIT_N_TEXTS && fit->texts[which].data != NULL ? fit->texts[which].data : "";
}
