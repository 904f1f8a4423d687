#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/fit.h"
#include "cli/ranks.h"
#include "cli/result.h"

typedef struct cli_watch {
  const cli_fit_t *fit;
  bool is_shown;
  double start, last;
} cli_watch_t;

static bool watch(const tacit_progress_t *progress, void *user) {
  cli_watch_t *w = user;
  double now = tacit_clock();
  bool is_last = progress->iteration == progress->n_iterations;
  if (w->is_shown && (now - w->last > 0.1 || is_last)) {
    double left = (now - w->start) * (double)(progress->n_iterations - progress->iteration) /
                  (double)progress->iteration;
    fprintf(stderr, "\r%s: %zu of %zu iterations, acceptance %.2f", w->fit->method->name, progress->iteration,
            progress->n_iterations, progress->accept_rate);
    if (w->fit->budget != NULL) {
      fprintf(stderr, ", epsilon %.3g of %.3g", tacit_budget_spent(w->fit->budget).epsilon, w->fit->epsilon);
    }
    fprintf(stderr, ", %.0f s left   %s", left, is_last ? "\n" : "");
    w->last = now;
  }
  return !cli_ranks_any(cli_is_interrupted());
}

enum { max_settings = 40, max_text = 64 };

/* Settings as they were used, for headers and run.yaml; files and places are left out: their names may tell. */
typedef struct cli_settings {
  tacit_report_setting_t items[max_settings];
  char texts[max_settings][max_text];
  size_t n;
} cli_settings_t;

static void add_setting(cli_settings_t *settings, const cli_fit_t *fit, const char *name, const char *value) {
  settings->items[settings->n++] =
      (tacit_report_setting_t){.name = name, .value = value, .is_default = !cli_is_given(fit->args, name)};
}

static void add_number(cli_settings_t *settings, const cli_fit_t *fit, const char *name, double value) {
  char *text = settings->texts[settings->n];
  add_setting(settings, fit, name, tacit_number_format(value, text));
}

static void list_settings(cli_settings_t *settings, const cli_fit_t *fit) {
  const tacit_sampler_settings_t *s = &fit->settings;
  settings->n = 0;
  add_setting(settings, fit, "method", fit->method->name);
  if (!fit->is_exposed) {
    add_number(settings, fit, "epsilon", fit->epsilon);
    add_number(settings, fit, "delta", fit->delta);
  }
  if (!fit->is_exposed && !fit->method->is_one_off) {
    add_number(settings, fit, "noise-ratio", s->noise_multiplier_ratio);
  }
  if (!fit->is_exposed && s->n_leapfrog > 0) {
    add_number(settings, fit, "noise-grad", s->noise_multiplier_grad);
  }
  add_number(settings, fit, "chains", (double)s->n_chains);
  add_number(settings, fit, "warmup", (double)s->n_warmup);
  add_number(settings, fit, "draws", (double)s->n_draws);
  add_number(settings, fit, "thin", (double)s->thin);
  if (!fit->method->is_one_off) {
    add_number(settings, fit, "step-size", s->step_size);
  }
  if (s->n_leapfrog > 0) {
    add_number(settings, fit, "leapfrog", (double)s->n_leapfrog);
  } else if (!fit->method->is_one_off) {
    add_setting(settings, fit, "proposal", cli_value(fit->args, "proposal"));
  }
  if (fit->is_clip_grad_open) {
    add_setting(settings, fit, "clip-grad", "private");
  } else if (fit->limits.clip_bound_grad > 0) {
    add_number(settings, fit, "clip-grad", fit->limits.clip_bound_grad);
  }
  if (fit->is_clip_ratio_open) {
    add_setting(settings, fit, "clip-ratio", "private");
  } else if (fit->limits.clip_bound_ratio > 0) {
    add_number(settings, fit, "clip-ratio", fit->limits.clip_bound_ratio);
  }
  if (fit->is_clip_grad_open || fit->is_clip_ratio_open) {
    add_number(settings, fit, "clip-share", s->clip_share);
  }
  if (!fit->is_exposed && !fit->method->is_one_off && !cli_is_given(fit->args, "metric-file")) {
    add_setting(settings, fit, "metric", cli_value(fit->args, "metric"));
  }
  if (!fit->method->is_one_off) {
    add_number(settings, fit, "temperature", fit->limits.temperature_power);
  }
  add_setting(settings, fit, "prior-scale", cli_value(fit->args, "prior-scale"));
  if (fit->known_sd > 0) {
    add_number(settings, fit, "sd", fit->known_sd);
  }
  if (fit->n_public > 0) {
    add_number(settings, fit, "n-public", fit->n_public);
  }
  if (fit->is_seeded) {
    add_number(settings, fit, "seed", (double)fit->seed);
  }
  if (s->sampling_rate > 0) {
    add_number(settings, fit, "sampling-rate", s->sampling_rate);
  }
  if (s->ratio_variance > 0) {
    add_number(settings, fit, "variance", s->ratio_variance);
  }
  static const char *const rules[] = {"acceptance", "sigma", "kappa", "cap", "friction", "step-decay", "max-batch"};
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (cli_value(fit->args, rules[i]) != NULL) {
      add_setting(settings, fit, rules[i], cli_value(fit->args, rules[i]));
    }
  }
  static const char *const flags[] = {"exposed", "no-jitter", "no-reuse"};
  for (size_t i = 0; i < 3; i++) {
    if (cli_is_given(fit->args, flags[i])) {
      add_setting(settings, fit, flags[i], "true");
    }
  }
  for (size_t i = 0; i < fit->args->n_given && settings->n < max_settings; i++) {
    if (strcmp(fit->args->given[i].option->name, "prior") == 0) {
      add_setting(settings, fit, "prior", fit->args->given[i].value);
    }
  }
}

/* Langevin decisions clip gradients in the norm of the metric, whatever the model's bounds (docs/theory.md, section 16). */
static bool clips_decisions(const cli_fit_t *fit) {
  return strcmp(fit->method->name, "dp-mala") == 0;
}

static bool is_exact(const cli_fit_t *fit) {
  return tacit_sampler_is_exact(fit->method, &fit->settings) && tacit_curator_ratio_is_unclipped(fit->curator) &&
         !clips_decisions(fit);
}

enum { max_assumptions = 8 };

static size_t list_assumptions(const cli_fit_t *fit, const char *assumptions[max_assumptions]) {
  size_t n = 0;
  if (fit->method->is_one_off) {
    assumptions[n++] = fit->family == TACIT_FAMILY_GAUSSIAN
                           ? "Intervals are calibrated as far as the regression model is right, errors are normal, and the "
                             "response's public bounds cut off next to none of its values."
                           : "Intervals are calibrated as far as the regression model is right and the features resemble the "
                             "surrogate population that stands for them.";
    return n;
  }
  if (!tacit_curator_ratio_is_unclipped(fit->curator)) {
    assumptions[n++] = "Log-likelihood ratios are clipped: if some are, the invariant law is not exactly the posterior.";
  }
  if (clips_decisions(fit)) {
    assumptions[n++] = "Decisions clip gradients a little beyond their usual size in units of the metric: where the metric is wider than the "
                       "posterior, the invariant law is not exactly the posterior.";
  }
  if (fit->limits.temperature_power < 1) {
    assumptions[n++] = "The likelihood is tempered: draws are from the tempered posterior.";
  }
  if (strcmp(fit->method->name, "dp-barker-vcorr") == 0 && fit->settings.barker_test == TACIT_BARKER_VCORR) {
    assumptions[n++] = "No correction variable makes Barker's test of a noisy ratio exact: this one comes as near as one can "
                       "(tacit fit --help, option --variance).";
  }
  return n;
}

static const char *end_word(tacit_sample_end_t end) {
  return end == TACIT_SAMPLE_COMPLETE ? "complete" : end == TACIT_SAMPLE_BUDGET ? "budget" : "interrupted";
}

static double last_step_size(const tacit_draws_t *draws) {
  return draws->stats[draws->n_warmup + draws->n_draws - 1].step_size;
}

static tacit_report_t describe(const cli_fit_t *fit, const tacit_draws_t *draws, tacit_sample_end_t end) {
  bool is_private = tacit_curator_is_private(fit->curator);
  return (tacit_report_t){
      .method = fit->method->name,
      .formula = fit->args->positionals[0],
      .family = tacit_family_string(fit->family),
      .data_name = tacit_schema_dataset(fit->schema),
      .unit = tacit_schema_unit(fit->schema) != NULL ? tacit_schema_unit(fit->schema) : "row",
      .max_rows = tacit_schema_max_rows(fit->schema),
      .delta_meaning = tacit_schema_delta_meaning(fit->schema),
      .is_private = is_private,
      .not_private_reason = is_private        ? ""
                            : fit->is_exposed ? "exposed: no noise was added and no budget was charged"
                                              : "seeded: whoever knows the seed can subtract the noise",
      .is_noise_aware = fit->method->is_one_off,
      .is_exact = is_exact(fit),
      .budget = fit->budget,
      .ledger_data_id = fit->data_id,
      .ledger_spend = fit->spend.id,
      .end = end_word(end),
      .labels = fit->model.parameters.labels,
      .names = fit->model.parameters.names,
      .inv_metric = fit->settings.inv_metric,
      .metric_dim = fit->model.parameters.dim,
      .inv_metric_is_dense = fit->settings.inv_metric_is_dense,
      .step_size = fit->method->is_one_off ? last_step_size(draws)
                   : cli_fit_is_tuned(fit) ? fit->tuned.step_size
                                           : fit->settings.step_size,
      .thin = fit->settings.thin,
      .draws = draws};
}

static void print_guarantee(const cli_fit_t *fit, FILE *to) {
  if (fit->is_exposed) {
    fprintf(to, "\nNOT PRIVATE: exposed run\n");
    return;
  }
  tacit_guarantee_t spent = tacit_budget_spent(fit->budget);
  fprintf(to, "\n%sepsilon %.6g of %.6g spent at delta %g (relation %s, unit %s)\n",
          fit->is_seeded ? "NOT PRIVATE (seeded): " : "private: ", spent.epsilon, fit->epsilon, spent.delta,
          tacit_relation_string(tacit_budget_relation(fit->budget)),
          tacit_schema_unit(fit->schema) != NULL ? tacit_schema_unit(fit->schema) : "row");
  if (fit->spend.id > 0) {
    fprintf(to, "spend %llu in the ledger %s\n", (unsigned long long)fit->spend.id, cli_value(fit->args, "ledger"));
  }
}

static double share(uint64_t part, uint64_t whole) {
  return whole > 0 ? (double)part / (double)whole : NAN;
}

/* All that is known of the run, the curator's own knowledge included: only tacit_diagnostics_publish() leads on from here. */
static tacit_diagnostics_t diagnose(const cli_fit_t *fit, const tacit_draws_t *draws) {
  tacit_diagnostics_t d = tacit_diagnostics_of(&draws->tally);
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

static void print_notes(const tacit_diagnostics_t *diagnostics) {
  fprintf(stderr, "FOR THE CURATOR ONLY - not covered by the privacy guarantee\n");
  for (size_t i = 0; i < TACIT_N_DIAGNOSTICS; i++) {
    const tacit_diagnostic_info_t *info = tacit_diagnostic_info(i);
    if (info->visibility == TACIT_CURATOR_ONLY && !isnan(diagnostics->values[i])) {
      fprintf(stderr, "  %-18s %.6g  %s\n", info->name, diagnostics->values[i], info->meaning);
    }
  }
}

static int write_result(cli_fit_t *fit, const tacit_draws_t *draws, tacit_sample_end_t end,
                        const tacit_published_t *published) {
  const char *out = cli_value(fit->args, "out");
  if (!cli_is_first_rank()) {
    return CLI_OK;
  }
  cli_settings_t settings;
  const char *assumptions[max_assumptions];
  tacit_error_t err;
  list_settings(&settings, fit);
  tacit_report_t report = describe(fit, draws, end);
  report.settings = settings.items;
  report.n_settings = settings.n;
  report.assumptions = assumptions;
  report.n_assumptions = list_assumptions(fit, assumptions);
  report.published = fit->method->is_one_off ? NULL : published;
  if (tacit_report_write(&report, out, &err) != TACIT_OK) {
    int status = cli_fail(fit->args, &err);
    print_guarantee(fit, stderr);
    return status;
  }
  int status = cli_print_summary(fit->args, draws, fit->model.parameters.labels);
  print_guarantee(fit, stdout);
  printf("written: %s/ (report.html, privacy.txt, summary.csv, draws-*.csv, run.yaml)\n", out);
  return status;
}

static int make_key(cli_fit_t *fit) {
  tacit_error_t err;
  if (fit->is_seeded) {
    tacit_rng_key_from_seed(fit->settings.key, fit->seed);
    return CLI_OK;
  }
  if (tacit_rng_key_from_system(fit->settings.key, &err) != TACIT_OK) {
    return cli_fail(fit->args, &err);
  }
  int status = cli_ranks_agree(CLI_OK);
  if (status == CLI_OK) {
    cli_ranks_share_key(fit->settings.key);
  }
  return status;
}

static tacit_status_t sample(cli_fit_t *fit, tacit_draws_t *draws, tacit_sample_end_t *end, tacit_error_t *err) {
  if (!fit->method->is_one_off) {
    return tacit_sample(fit->method, fit->curator, &fit->model.parameters, &fit->settings, draws, end, err);
  }
  *end = TACIT_SAMPLE_COMPLETE;
  memcpy(fit->aware.key, fit->settings.key, sizeof fit->aware.key);
  return tacit_noise_aware_fit(fit->curator, &fit->model.parameters, &fit->aware, draws, err);
}

int cli_fit_run(cli_fit_t *fit) {
  tacit_draws_t draws;
  tacit_sample_end_t end;
  tacit_error_t err;
  double now = tacit_clock();
  cli_watch_t state = {.fit = fit, .start = now, .last = now};
  state.is_shown = isatty(STDERR_FILENO) && !cli_is_given(fit->args, "quiet");
  int status = make_key(fit);
  if (status != CLI_OK) {
    return status;
  }
  fit->settings.progress = watch;
  fit->settings.progress_user = &state;
  cli_catch_signals();
  tacit_status_t sampled = sample(fit, &draws, &end, &err);
  if (state.is_shown && end != TACIT_SAMPLE_COMPLETE) {
    fputc('\n', stderr);
  }
  cli_fit_tuning_print(fit);
  const tacit_diagnostics_t diagnostics = diagnose(fit, &draws);
  if (sampled != TACIT_OK) {
    status = cli_fail(fit->args, &err);
    print_guarantee(fit, stderr);
  } else if (tacit_draws_n_kept(&draws) == 0) {
    cli_error(fit->args, "stopped before the first draw after warm-up: nothing was written");
    print_guarantee(fit, stderr);
    status = end == TACIT_SAMPLE_INTERRUPTED ? CLI_INTERRUPTED : CLI_BUDGET;
  } else {
    const tacit_published_t published = tacit_diagnostics_publish(&diagnostics);
    status = write_result(fit, &draws, end, &published);
    if (status == CLI_OK && end == TACIT_SAMPLE_INTERRUPTED) {
      fprintf(stderr, "interrupted: %zu draws a chain were kept\n", tacit_draws_n_kept(&draws));
      status = CLI_INTERRUPTED;
    }
  }
  if (cli_is_given(fit->args, "curator-notes")) {
    print_notes(&diagnostics);
  }
  tacit_draws_clear(&draws);
  return status;
}
