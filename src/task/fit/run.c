/* Charge, release, draw, settle. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/diagnose.h"
#include "fit/fit_internal.h"
#include "report/doubt.h"
#include "sample/sample_internal.h"

static double share(uint64_t part, uint64_t whole) { return whole > 0 ? (double)part / (double)whole : NAN; }

/* The curator's own knowledge included: only tacit_diagnostics_publish() leads on from here. */
tacit_diagnostics_t tacit_fit_diagnose(const tacit_fit_t *fit) {
  tacit_diagnostics_t d = tacit_diagnostics_of(&fit->draws.tally);
  tacit_curator_notes_t notes = tacit_curator_notes(fit->curator);
  d.values[TACIT_DIAGNOSTIC_CLIP_GRAD] = fit->tuned.clip_grad;
  d.values[TACIT_DIAGNOSTIC_CLIP_RATIO] = fit->tuned.clip_ratio;
  d.values[TACIT_DIAGNOSTIC_GRADIENTS_CLIPPED] = share(notes.n_grad_clipped, notes.n_grad);
  d.values[TACIT_DIAGNOSTIC_RATIOS_CLIPPED] = share(notes.n_ratio_clipped, notes.n_ratio);
  d.values[TACIT_DIAGNOSTIC_NOT_FINITE] = (double)notes.n_non_finite;
  d.values[TACIT_DIAGNOSTIC_VALUES_CLAMPED] = (double)fit->notes.n_clamped;
  d.values[TACIT_DIAGNOSTIC_VALUES_REPLACED] = (double)fit->notes.n_missing;
  d.values[TACIT_DIAGNOSTIC_ROWS_DROPPED] = (double)fit->notes.n_rows_dropped;
  return d;
}

static void say_tuned(tacit_fit_t *fit) {
  tacit_text_t *to = &fit->texts[TACIT_FIT_TEXT_TUNED];
  if (!tacit_fit_is_tuned(fit) || isnan(fit->tuned.step_size)) {
    return;
  }
  tacit_text_printf(to, "tuned by releases: step size %.3g", fit->tuned.step_size);
  if (!isnan(fit->tuned.clip_grad)) {
    tacit_text_printf(to, ", clip bound of gradients %.4g", fit->tuned.clip_grad);
  }
  if (!isnan(fit->tuned.clip_ratio)) {
    tacit_text_printf(to, ", of ratios %.4g", fit->tuned.clip_ratio);
  }
  tacit_text_printf(to, "\n");
}

/* What was charged until somebody stopped the run can tell as much as its draws. */
void tacit_fit_say_spent(tacit_fit_t *fit, bool is_silent) {
  tacit_text_t *to = &fit->texts[TACIT_FIT_TEXT_SPENT];
  if (fit->is_exposed) {
    tacit_text_printf(to, "NOT PRIVATE: exposed run\n");
    return;
  }
  tacit_guarantee_t promised = tacit_budget_promised(fit->budget);
  const char *unit = tacit_schema_unit(fit->schema);
  tacit_text_printf(to, "%sepsilon %.6g at delta %g (relation %s, unit %s)",
                    fit->is_seeded ? "NOT PRIVATE (seeded): " : "private: ", promised.epsilon, promised.delta,
                    tacit_relation_string(tacit_budget_relation(fit->budget)), unit != NULL ? unit : "row");
  if (!is_silent) {
    tacit_text_printf(to,
                      "; charged %.6g of it: a count of what the run used, and the guarantee is the budget",
                      tacit_budget_spent(fit->budget).epsilon);
  }
  tacit_text_printf(to, "\n");
  if (fit->request.spend.id > 0) {
    tacit_text_printf(to, "spend %llu in the ledger %s\n", (unsigned long long)fit->request.spend.id,
                      tacit_fit_value(fit, "ledger"));
  } else if (!fit->is_seeded) {
    tacit_text_printf(to, TACIT_BUDGET_FORGOTTEN);
  }
}

static void scale_priors(void *user, const tacit_feature_scale_t *scales) {
  tacit_fit_t *fit = user;
  tacit_model_scale_priors(&fit->model, scales, TACIT_PRIOR_BASIS_RELEASED);
}

static void keep_releases(void *user) { tacit_fit_keep_releases(user); }

/* Between its first charge and its last release a run by noise-aware does not stop: some releases are paid
 * for and tell nothing without the others. */
static bool goes_on(const tacit_progress_t *progress, void *user) {
  tacit_fit_t *fit = user;
  size_t n_charged = 0;
  fit->is_stopping = fit->is_stopping || (fit->watch != NULL && !fit->watch(progress, fit->watch_user));
  if (fit->budget != NULL) {
    tacit_budget_events(fit->budget, &n_charged);
  }
  return !fit->is_stopping || (n_charged > 0 && !tacit_fit_has_all_releases(fit));
}

static void make_tails_normal(void *user) {
  tacit_fit_t *fit = user;
  tacit_model_normal_tails(&fit->model);
}

tacit_status_t tacit_fit_sample_aware(tacit_fit_t *fit, tacit_curator_t *curator, tacit_error_t *err) {
  memcpy(fit->aware.key, fit->settings.key, sizeof fit->aware.key);
  fit->watch = fit->settings.progress;
  fit->watch_user = fit->settings.progress_user;
  fit->aware.progress = goes_on;
  fit->aware.progress_user = fit;
  fit->aware.kept = keep_releases;
  fit->aware.asked = fit->engine != NULL ? tacit_fit_ask_parts : NULL;
  fit->aware.scaled = strcmp(tacit_fit_value(fit, "prior-basis"), "released") == 0 ? scale_priors : NULL;
  fit->aware.normal_tails = make_tails_normal;
  fit->aware.prior_user = fit;
  fit->aware.evidence = &fit->evidence;
  fit->aware.releases = &fit->releases;
  fit->aware.effects = fit->effects != NULL ? &fit->effects->aware : NULL;
  tacit_status_t status =
      fit->n_of > 1 ? tacit_fit_sample_sites(fit, err)
                    : tacit_noise_aware_fit(curator, &fit->model.parameters, &fit->aware, &fit->draws, err);
  if (fit->effects != NULL) {
    TACIT_THEN(status, tacit_fit_evidence_of_effects(fit, err));
  }
  bool is_whole = fit->draws.n_saved == fit->draws.n_warmup + fit->draws.n_draws;
  fit->end = is_whole ? TACIT_SAMPLE_COMPLETE : TACIT_SAMPLE_INTERRUPTED;
  return status;
}

static tacit_status_t sample(tacit_fit_t *fit, tacit_error_t *err) {
  return fit->method->is_one_off ? tacit_fit_sample_aware(fit, fit->curator, err)
                                 : tacit_sample(fit->method, fit->curator, &fit->model.parameters,
                                                &fit->settings, &fit->draws, &fit->end, err);
}

const char *tacit_fit_secret_of_time(const tacit_fit_t *fit) {
  return fit->is_exposed ? NULL
         : tacit_schema_relation(fit->schema) == TACIT_RELATION_ADD_REMOVE
             ? "how many records there are, which relation add-remove keeps private"
         : tacit_schema_max_rows(fit->schema) > 1 ? "how many rows units have, which is private"
         : tacit_fit_dropping(fit) != NULL        ? "how many records were left out, which is private"
         : tacit_method_is_by_minibatch(fit->method, &fit->settings)
             ? "how many records its minibatches had, which is secret"
             : NULL;
}

/* Somebody stopped the run after a charge, and when tells what is private. */
static bool must_be_silent(const tacit_fit_t *fit, tacit_status_t sampled) {
  size_t n_charged;
  if (tacit_fit_has_all_releases(fit)) {
    return false; /* as any other run: it did not stop before */
  }
  bool is_stopped = sampled == TACIT_ERR_INTERRUPTED ||
                    (sampled == TACIT_OK && fit->end == TACIT_SAMPLE_INTERRUPTED) ||
                    tacit_fit_engine_has_failed(fit); /* as somebody can make it fail */
  if (!is_stopped || tacit_fit_secret_of_time(fit) == NULL) {
    return false;
  }
  tacit_budget_events(fit->budget, &n_charged);
  return n_charged > 0;
}

static tacit_status_t judge(tacit_fit_t *fit, tacit_status_t sampled, tacit_error_t *err) {
  if (must_be_silent(fit, sampled)) {
    tacit_draws_clear(&fit->draws);
    tacit_releases_clear(&fit->releases);
    fit->evidence = (tacit_evidence_t){0};
    return tacit_error_set(err, TACIT_ERR_INTERRUPTED, "progress",
                           "interrupted: when a run is stopped can tell %s, so that nothing is returned; "
                           "what was reserved or charged stays so",
                           tacit_fit_secret_of_time(fit));
  }
  bool is_stopped =
      sampled == TACIT_ERR_INTERRUPTED || (sampled == TACIT_OK && fit->end == TACIT_SAMPLE_INTERRUPTED);
  bool has_no_draws = tacit_draws_n_kept(&fit->draws) == 0 || tacit_fit_secret_of_time(fit) != NULL;
  if (is_stopped && has_no_draws && tacit_fit_has_all_releases(fit)) {
    tacit_draws_clear(&fit->draws);
    return tacit_error_set(err, TACIT_ERR_INTERRUPTED, "draws",
                           "interrupted before there were draws to return, after all releases were made: "
                           "epsilon %.6g is charged; draws from them cost nothing more: %s%s",
                           tacit_budget_promised(fit->budget).epsilon,
                           fit->has_kept_all ? "tacit refit " : "tacit refit of a folder with releases.json",
                           fit->has_kept_all ? tacit_fit_value(fit, "out") : "");
  }
  if (sampled != TACIT_OK) {
    return sampled;
  }
  if (tacit_draws_n_kept(&fit->draws) == 0) {
    return tacit_error_set(
        err, fit->end == TACIT_SAMPLE_INTERRUPTED ? TACIT_ERR_INTERRUPTED : TACIT_ERR_BUDGET, "draws",
        "stopped before the first draw after warm-up, with epsilon %.6g charged: nothing was written",
        fit->budget != NULL ? tacit_budget_spent(fit->budget).epsilon : 0);
  }
  return TACIT_OK;
}

static tacit_status_t make_key(tacit_fit_t *fit, tacit_error_t *err) {
  if (fit->is_seeded) {
    tacit_rng_key_from_seed(fit->settings.key, fit->seed);
    return TACIT_OK;
  }
  return tacit_fit_make_key(fit, fit->settings.key, err);
}

tacit_status_t tacit_fit_run(tacit_fit_t *fit, tacit_progress_fn progress, void *user, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  if (fit->stage != TACIT_FIT_STAGE_RESERVED) {
    status = tacit_fit_reserve(fit, false, err);
  }
  if (status == TACIT_OK) {
    fit->stage = TACIT_FIT_STAGE_FAILED;
    status = make_key(fit, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  fit->settings.progress = progress;
  fit->settings.progress_user = user;
  tacit_status_t sampled = sample(fit, err);
  sampled = tacit_fit_engine_failed(fit, sampled, err);
  const tacit_diagnostics_t diagnostics = tacit_fit_diagnose(fit);
  bool is_silent = must_be_silent(fit, sampled);
  if (!is_silent) { /* that something was tuned by then tells when the run was stopped */
    say_tuned(fit);
  }
  status = judge(fit, sampled, err);
  tacit_fit_say_spent(fit, is_silent);
  if (!is_silent) {
    tacit_fit_settle(fit);
  }
  if (status == TACIT_OK) {
    fit->published = tacit_diagnostics_publish(&diagnostics);
    fit->stage = TACIT_FIT_STAGE_RUN;
  }
  return status;
}
