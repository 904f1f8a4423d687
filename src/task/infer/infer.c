/* An inference from settings to draws. */
#include "tacit/infer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#include "infer/infer_internal.h"
#include "tacit/random.h"

enum { MAX_BYTES = 1 << 22 };

/* ---- settings ---- */

/* Replace a source by copies; text may be NULL. */
static tacit_status_t set_source(tacit_infer_source_t *source, const char *name, const char *text, size_t n,
                                 tacit_error_t *err) {
  char *its_name = tacit_strdup(name), *copy = text != NULL ? tacit_alloc(n + 1, 1) : NULL;
  if (its_name == NULL || (text != NULL && copy == NULL)) {
    tacit_free(its_name);
    tacit_free(copy);
    return tacit_error_memory(err);
  }
  if (copy != NULL) {
    memcpy(copy, text, n);
    copy[n] = '\0';
  }
  tacit_free(source->name);
  tacit_free(source->text);
  *source = (tacit_infer_source_t){.name = its_name, .text = copy, .n = n};
  return TACIT_OK;
}

/* One more statistic, after those that were given. */
static tacit_status_t add_statistic(tacit_infer_t *infer, const char *name, const char *text, size_t n,
                                    tacit_error_t *err) {
  tacit_infer_source_t *more = tacit_realloc(infer->statistics, infer->n_statistics + 1, sizeof *more);
  if (more == NULL) {
    return tacit_error_memory(err);
  }
  infer->statistics = more;
  more[infer->n_statistics] = (tacit_infer_source_t){0};
  tacit_status_t status = set_source(&more[infer->n_statistics], name, text, n, err);
  infer->n_statistics += status == TACIT_OK;
  return status;
}

const tacit_setting_t *tacit_infer_settings(size_t *n) { return tacit_settings_of(TACIT_TASK_INFER, n); }

tacit_status_t tacit_infer_new(tacit_infer_t **infer, const char *model, tacit_error_t *err) {
  tacit_infer_t *new = *infer = tacit_alloc_zero(1, sizeof *new);
  if (new == NULL) {
    return tacit_error_memory(err);
  }
  new->given = tacit_settings_for(TACIT_TASK_INFER);
  new->epsilon = new->delta = new->true_delta = NAN;
  tacit_status_t status = model != NULL ? set_source(&new->source, model, NULL, 0, err) : TACIT_OK;
  if (status != TACIT_OK) {
    tacit_infer_free(new);
    *infer = NULL;
  }
  return status;
}

void tacit_infer_free(tacit_infer_t *infer) {
  if (infer == NULL) {
    return;
  }
  for (size_t j = 0; j < infer->n_reported; j++) {
    tacit_free(infer->labels != NULL ? infer->labels[j] : NULL);
    tacit_free(infer->names != NULL ? infer->names[j] : NULL);
  }
  for (size_t i = 0; i < infer->n_statistics; i++) {
    tacit_free(infer->statistics[i].name);
    tacit_free(infer->statistics[i].text);
  }
  for (size_t i = 0; i < TACIT_INFER_N_TEXTS; i++) {
    tacit_text_clear(&infer->texts[i]);
  }
  void *const owned[] = {infer->source.name,  infer->source.text,  infer->statistics, infer->labels,
                         infer->names,        infer->values,       infer->scales,     infer->concentration,
                         infer->column_lower, infer->column_upper, infer->n_levels};
  for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
    tacit_free(owned[i]);
  }
  tacit_infer_clear_population(infer);
  tacit_infer_clear_margins(infer);
  tacit_draws_clear(&infer->draws);
  tacit_settings_clear(&infer->given);
  tacit_free(infer);
}

static tacit_status_t check_stage(const tacit_infer_t *infer, tacit_infer_stage_t stage, const char *name,
                                  tacit_error_t *err) {
  return infer->stage == stage
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_STATE, name,
                               "settings, reading and the run come in this order, each once: begin another");
}

tacit_status_t tacit_infer_set(tacit_infer_t *infer, const char *name, const char *text, tacit_error_t *err) {
  tacit_status_t status = check_stage(infer, TACIT_INFER_STAGE_SETTINGS, name, err);
  return status == TACIT_OK ? tacit_settings_set(&infer->given, name, text, err) : status;
}

tacit_status_t tacit_infer_set_model(tacit_infer_t *infer, const char *text, size_t n, const char *name,
                                     tacit_error_t *err) {
  tacit_status_t status = check_stage(infer, TACIT_INFER_STAGE_SETTINGS, "model", err);
  return status == TACIT_OK ? set_source(&infer->source, name, text, n, err) : status;
}

tacit_status_t tacit_infer_set_statistic(tacit_infer_t *infer, const char *text, size_t n, const char *name,
                                         tacit_error_t *err) {
  tacit_status_t status = check_stage(infer, TACIT_INFER_STAGE_SETTINGS, "statistic", err);
  return status == TACIT_OK ? add_statistic(infer, name, text, n, err) : status;
}

static tacit_status_t make_key(tacit_infer_t *infer, tacit_error_t *err) {
  size_t seed = 0;
  if (!tacit_infer_has(infer, "seed")) {
    return tacit_rng_key_from_system(infer->settings.key, err);
  }
  tacit_settings_count(&infer->given, "seed", &seed);
  tacit_rng_key_from_seed(infer->settings.key, seed);
  return TACIT_OK;
}

static tacit_status_t read_settings(tacit_infer_t *infer, tacit_error_t *err) {
  const tacit_settings_t *given = &infer->given;
  tacit_augment_settings_t *s = &infer->settings;
  *s = tacit_augment_settings_default();
  s->method = (tacit_augment_method_t)tacit_settings_choice(given, "method");
  s->path = (tacit_augment_path_t)tacit_settings_choice(given, "path");
  s->interweave = !tacit_infer_has(infer, "no-interweave");
  tacit_settings_count(given, "n", &infer->n);
  tacit_settings_count(given, "chains", &s->n_chains);
  tacit_settings_count(given, "warmup", &s->n_warmup);
  tacit_settings_count(given, "draws", &s->n_draws);
  tacit_settings_count(given, "thin", &s->thin);
  tacit_settings_count(given, "threads", &s->n_threads);
  tacit_settings_number(given, "step-size", &s->step_size);
  tacit_settings_count(given, "leapfrog", &s->n_leapfrog);
  const char *of_paths = tacit_infer_has(infer, "path")        ? "path"
                         : tacit_infer_has(infer, "step-size") ? "step-size"
                         : tacit_infer_has(infer, "leapfrog")  ? "leapfrog"
                                                               : NULL;
  if (of_paths != NULL && s->method != TACIT_AUGMENT_HMC) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, of_paths,
                           "--path, --step-size and --leapfrog only go with --method hmc");
  }
  tacit_status_t status = tacit_settings_check_out(given, true, err);
  return status == TACIT_OK ? make_key(infer, err) : status;
}

/* ---- the two texts ---- */

static tacit_status_t read_source(tacit_infer_source_t *source, const char *field, tacit_error_t *err) {
  if (source->name == NULL) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, field,
        "a %s is needed, as in: tacit infer MODEL --statistic FILE ...; see tacit infer --help%s", field,
        strcmp(field, "model") == 0 ? " (MODEL.yaml: priors of the records of means, counts, moments or a "
                                      "score; MODEL.stan: a program)"
                                    : "");
  }
  return source->text != NULL ? TACIT_OK
                              : tacit_file_read(source->name, MAX_BYTES, &source->text, &source->n, err);
}

/* The same noise counted twice would make intervals too narrow; two releases that agree in every byte of
 * noise do not occur. */
static tacit_status_t refuse_twins(const tacit_infer_t *infer, tacit_error_t *err) {
  for (size_t i = 0; i < infer->n_statistics; i++) {
    for (size_t j = 0; j < i; j++) {
      const tacit_infer_source_t *a = &infer->statistics[i], *b = &infer->statistics[j];
      if (a->n == b->n && memcmp(a->text, b->text, a->n) == 0) {
        return tacit_error_set(err, TACIT_ERR_ARGUMENT, "statistic",
                               "%s holds the same release as %s: give each release once", a->name, b->name);
      }
    }
  }
  return TACIT_OK;
}

/* Those given as texts, then those given as files; what they hold says whether a model is needed. */
static tacit_status_t open_statistics(tacit_infer_t *infer, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  const char *name;
  for (size_t i = 0;
       status == TACIT_OK && (name = tacit_settings_next(&infer->given, "statistic", &i)) != NULL;) {
    status = add_statistic(infer, name, NULL, 0, err);
  }
  for (size_t i = 0; i < infer->n_statistics && status == TACIT_OK; i++) {
    status = read_source(&infer->statistics[i], "statistic", err);
  }
  TACIT_THEN(status, refuse_twins(infer, err));
  for (size_t i = 0; i < infer->n_statistics && status == TACIT_OK; i++) {
    bool is_margins = tacit_margins_is_file(infer->statistics[i].text, infer->statistics[i].n);
    infer->kind = is_margins ? &tacit_infer_of_tables : infer->kind;
  }
  return status;
}

static tacit_status_t read_model(tacit_infer_t *infer, tacit_error_t *err) {
  tacit_infer_source_t *source = &infer->source;
  if (infer->kind != NULL && source->name == NULL) {
    return infer->kind->read_model(infer, NULL, NULL, 0);
  }
  tacit_status_t status = read_source(source, "model", err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_yaml_t file = {.name = source->name, .what = "a model", .err = err};
  infer->kind = infer->kind != NULL                            ? infer->kind
                : tacit_file_has_ending(source->name, ".stan") ? &tacit_infer_of_program
                                                               : &tacit_infer_of_latent;
  status = infer->kind->read_model(infer, &file, source->text, source->n);
  tacit_yaml_close(&file);
  return status;
}

static tacit_status_t read_statistic(tacit_infer_t *infer, tacit_infer_source_t *source, tacit_error_t *err) {
  tacit_yaml_t file = {.name = source->name, .what = "a statistic", .err = err};
  tacit_status_t status = infer->kind->read_statistic(infer, &file, source->text, source->n, infer->n);
  tacit_yaml_close(&file);
  return status;
}

static tacit_status_t read_statistics(tacit_infer_t *infer, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  if (infer->n_statistics == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "statistic",
                           "option --statistic is needed; see tacit infer --help");
  }
  if (infer->n_statistics > 1 && !infer->kind->takes_several) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "statistic",
        "several statistics go with records of a program, a model that is named .stan, and with tables");
  }
  for (size_t i = 0; i < infer->n_statistics && status == TACIT_OK; i++) {
    status = read_statistic(infer, &infer->statistics[i], err);
  }
  return status == TACIT_OK && infer->kind->join != NULL ? infer->kind->join(infer, err) : status;
}

static void warn(tacit_infer_t *infer) {
  tacit_text_t *to = &infer->texts[TACIT_INFER_TEXT_WARNING];
  if (infer->is_not_private) {
    tacit_text_printf(
        to, "warning: the statistic is not private: its noise can be repeated by whoever knows the seed\n");
  }
  if (infer->true_delta > infer->delta) {
    tacit_text_printf(to,
                      "warning: classical-gaussian noise is proven for epsilon below 1 only; here its true "
                      "delta is %.3g, not %.3g: the release protected less than it claimed\n",
                      infer->true_delta, infer->delta);
  }
}

tacit_status_t tacit_infer_read(tacit_infer_t *infer, tacit_error_t *err) {
  tacit_status_t (*const steps[])(tacit_infer_t *, tacit_error_t *) = {read_settings, open_statistics,
                                                                       read_model, read_statistics};
  tacit_status_t status = check_stage(infer, TACIT_INFER_STAGE_SETTINGS, "statistic", err);
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == TACIT_OK; i++) {
    infer->stage = TACIT_INFER_STAGE_FAILED;
    status = steps[i](infer, err);
  }
  if (status == TACIT_OK) {
    warn(infer);
    infer->stage = TACIT_INFER_STAGE_READ;
  }
  return status;
}

/* ---- the run ---- */

typedef struct watch {
  pthread_t caller;
  tacit_progress_fn progress;
  void *user;
  size_t n_iterations, furthest;
  atomic_bool is_stopped;
} watch_t;

/* Chains are on any thread, progress is asked on the caller's: it has a share in every round of them. */
static bool proceed(size_t chain, size_t iteration, void *user) {
  watch_t *w = user;
  (void)chain;
  if (w->progress != NULL && pthread_equal(pthread_self(), w->caller)) {
    w->furthest = iteration + 1 > w->furthest ? iteration + 1 : w->furthest;
    const tacit_progress_t now = {
        .iteration = w->furthest, .n_iterations = w->n_iterations, .accept_rate = NAN};
    if (!w->progress(&now, w->user)) {
      atomic_store(&w->is_stopped, true);
    }
  }
  return !atomic_load_explicit(&w->is_stopped, memory_order_relaxed);
}

/* Draws of a regression on the scale of its columns instead of the mapped one; others are left as they are.
 */
static void unmap(tacit_infer_t *infer) {
  size_t d = infer->model.n_features;
  bool is_linear = infer->model.kind == TACIT_LATENT_REGRESSION;
  if (!is_linear && infer->model.kind != TACIT_LATENT_LOGISTIC) {
    return;
  }
  const double *lower = infer->column_lower, *upper = infer->column_upper;
  double half = is_linear ? 0.5 * (upper[d] - lower[d]) : 1,
         middle = is_linear ? 0.5 * (lower[d] + upper[d]) : 0;
  for (size_t c = 0; c < infer->draws.n_chains; c++) {
    for (size_t i = 0; i < infer->draws.n_warmup + infer->draws.n_draws; i++) {
      double *row = tacit_draws_row(&infer->draws, c, i);
      row[0] = middle + half * row[0];
      for (size_t j = 1; j <= d; j++) {
        row[j] *= half / (0.5 * (upper[j - 1] - lower[j - 1]));
        row[0] -= row[j] * 0.5 * (lower[j - 1] + upper[j - 1]);
      }
      if (is_linear) {
        row[d + 1] *= half;
      }
    }
  }
}

static tacit_status_t run_latent(tacit_infer_t *infer, tacit_error_t *err) {
  tacit_status_t status =
      tacit_augment(&infer->model, &infer->release, &infer->settings, &infer->draws, &infer->result, err);
  if (status == TACIT_OK) {
    unmap(infer);
  }
  return status;
}

const tacit_infer_kind_t tacit_infer_of_latent = {.read_model = tacit_infer_read_model,
                                                  .read_statistic = tacit_infer_read_statistic,
                                                  .run = run_latent,
                                                  .say = tacit_infer_say_latent};

tacit_status_t tacit_infer_run(tacit_infer_t *infer, tacit_progress_fn progress, void *user,
                               tacit_error_t *err) {
  tacit_status_t status = check_stage(infer, TACIT_INFER_STAGE_READ, "statistic", err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_augment_settings_t *s = &infer->settings;
  watch_t watch = {.caller = pthread_self(),
                   .progress = progress,
                   .user = user,
                   .n_iterations = s->n_warmup + s->n_draws * s->thin};
  s->proceed = proceed;
  s->user = &watch;
  infer->stage = TACIT_INFER_STAGE_FAILED;
  status = infer->kind->run(infer, err);
  if (status == TACIT_OK && tacit_draws_n_kept(&infer->draws) == 0) {
    status = tacit_error_set(err, TACIT_ERR_INTERRUPTED, "progress",
                             "stopped before the first draw after warm-up: nothing was written");
  }
  if (status == TACIT_OK) {
    tacit_infer_say(infer);
    infer->stage = TACIT_INFER_STAGE_RUN;
  }
  return status;
}

/* ---- results ---- */

static bool is_run(const tacit_infer_t *infer) { return infer->stage == TACIT_INFER_STAGE_RUN; }

const tacit_draws_t *tacit_infer_draws(const tacit_infer_t *infer) {
  return is_run(infer) ? &infer->draws : NULL;
}

const tacit_evidence_t *tacit_infer_evidence(const tacit_infer_t *infer) {
  return is_run(infer) && infer->evidence.checks.n > 0 ? &infer->evidence : NULL;
}

const char *tacit_infer_end(const tacit_infer_t *infer) {
  return !is_run(infer) ? "" : infer->result.is_complete ? "complete" : "interrupted";
}

const char *tacit_infer_statistic(const tacit_infer_t *infer) { return infer->statistic; }

const char *tacit_infer_records(const tacit_infer_t *infer) { return infer->records; }

const char *const *tacit_infer_labels(const tacit_infer_t *infer) {
  return (const char *const *)infer->labels;
}

const char *const *tacit_infer_names(const tacit_infer_t *infer) { return (const char *const *)infer->names; }

const char *tacit_infer_text(const tacit_infer_t *infer, tacit_infer_text_t which) {
  return which < TACIT_INFER_N_TEXTS && infer->texts[which].data != NULL ? infer->texts[which].data : "";
}
