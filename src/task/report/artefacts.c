/* The small machine-readable files: summary.csv, privacy.json, diagnostics.json, run.yaml. */
#include <math.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "report/report.h"
#include "report/report_internal.h"

/* ---- summary.csv ---- */

/* R and pandas both read NaN and Inf. */
static void csv_number(tacit_text_t *text, double x) {
  if (isfinite(x)) {
    tacit_text_shortest(text, x);
  } else {
    tacit_text_printf(text, isnan(x) ? "NaN" : x > 0 ? "Inf" : "-Inf");
  }
}

void tacit_report_summary_csv(const tacit_report_t *report, const tacit_summary_t *summaries,
                              tacit_text_t *text) {
  bool has_priors = tacit_report_has_priors(summaries, report->draws->n_reported);
  tacit_text_printf(text, "name,mean,mcse_mean,sd,q5,q50,q95,ess_bulk,ess_tail,rhat%s\n",
                    has_priors ? ",prior_sd,prior_share" : "");
  for (size_t j = 0; j < report->draws->n_reported; j++) {
    const tacit_summary_t *s = &summaries[j];
    const double values[] = {s->mean,     s->mcse_mean, s->sd,   s->q5,       s->q50,        s->q95,
                             s->ess_bulk, s->ess_tail,  s->rhat, s->prior_sd, s->prior_share};
    tacit_text_printf(text, "%s", report->names[j]);
    for (size_t k = 0; k < sizeof values / sizeof values[0] - (has_priors ? 0 : 2); k++) {
      tacit_text_append(text, ",", 1);
      csv_number(text, values[k]);
    }
    tacit_text_append(text, "\n", 1);
  }
}

/* ---- privacy.json ---- */

static void json_key(tacit_text_t *text, const char *key) {
  tacit_text_printf(text, "%s\n  \"%s\": ", text->length > 1 ? "," : "", key);
}

static void json_text(tacit_text_t *text, const char *key, const char *value) {
  json_key(text, key);
  tacit_text_json_string(text, value);
}

static void json_number(tacit_text_t *text, const char *key, double value) {
  json_key(text, key);
  tacit_text_json_number(text, value);
}

static void json_bool(tacit_text_t *text, const char *key, bool value) {
  json_key(text, key);
  tacit_text_printf(text, value ? "true" : "false");
}

/* Gaussian releases of all records with their multiplier; every event as `tacit account --event` takes it. */
static void json_event(const tacit_event_t *event, tacit_text_t *text) {
  char spec[TACIT_EVENT_TEXT_SIZE];
  bool is_gaussian = event->kind == TACIT_EVENT_GAUSSIAN && event->sampling == TACIT_SAMPLING_NONE;
  tacit_event_format(event, spec);
  tacit_text_printf(text, "\n    {\"mechanism\": \"%.*s\", \"event\": \"%s\"", (int)strcspn(spec, ":"), spec,
                    spec);
  if (is_gaussian) {
    tacit_text_json_field(text, "noise_multiplier", event->noise_multiplier);
  }
  tacit_text_printf(text, ", \"count\": %llu, \"label\": ", (unsigned long long)event->count);
  tacit_text_json_string(text, event->label);
  tacit_text_append(text, "}", 1);
}

static void json_events(const char *key, const tacit_event_t *events, size_t n, tacit_text_t *text) {
  json_key(text, key);
  tacit_text_append(text, "[", 1);
  for (size_t i = 0; i < n; i++) {
    tacit_text_printf(text, i > 0 ? "," : "");
    json_event(&events[i], text);
  }
  tacit_text_printf(text, n > 0 ? "\n  ]" : "]");
}

/* What was charged; and what was planned, where the guarantee is that of the plan, made in this order. */
static void json_spent(const tacit_report_t *report, tacit_text_t *text) {
  size_t n = 0;
  const tacit_event_t *events = report->budget != NULL ? tacit_budget_events(report->budget, &n) : NULL;
  json_events("events", events, n, text);
  if (report->budget != NULL && tacit_budget_is_scheduled(report->budget)) {
    events = tacit_budget_schedule(report->budget, &n);
    json_events("schedule", events, n, text);
  }
}

static void json_assumptions(const tacit_report_t *report, tacit_text_t *text) {
  json_key(text, "assumptions");
  tacit_text_append(text, "[", 1);
  bool is_first = true;
  if (!report->is_private) {
    tacit_text_t reason = {0};
    tacit_text_printf(&reason, "NOT PRIVATE: %s", report->not_private_reason);
    tacit_text_printf(text, "\n    ");
    tacit_text_json_string(text, reason.failed ? "" : reason.data);
    text->failed = text->failed || reason.failed;
    tacit_text_clear(&reason);
    is_first = false;
  }
  for (size_t i = 0; i < report->n_assumptions; i++) {
    tacit_text_printf(text, is_first ? "\n    " : ",\n    ");
    tacit_text_json_string(text, report->assumptions[i]);
    is_first = false;
  }
  tacit_text_printf(text, is_first ? "]" : "\n  ]");
}

static void json_release(const tacit_report_t *report, tacit_text_t *text) {
  if (report->release != NULL) {
    json_bool(text, "post_processing", true);
    json_text(text, "statistic", report->release->statistic);
    json_text(text, "noise", report->release->noise);
    if (report->release->composition != NULL) {
      json_text(text, "composition", report->release->composition);
    }
  }
}

void tacit_report_privacy_json(const tacit_report_t *report, tacit_text_t *text) {
  bool is_private = report->is_private;
  tacit_guarantee_t promised = {.epsilon = NAN, .delta = NAN};
  double budget_epsilon = NAN, charged = NAN, delta = NAN;
  if (report->release != NULL) {
    promised.epsilon = report->release->epsilon;
    delta = report->release->delta;
  } else if (is_private) {
    promised = tacit_budget_promised(report->budget);
    charged = tacit_budget_spent(report->budget).epsilon;
    budget_epsilon = tacit_budget_epsilon(report->budget);
    delta = tacit_budget_delta(report->budget);
  }
  tacit_text_append(text, "{", 1);
  json_bool(text, "private", is_private);
  json_number(text, "epsilon", promised.epsilon);
  json_number(text, "delta", delta);
  json_key(text, "relation");
  if (is_private) {
    tacit_text_json_string(text, tacit_relation_string(tacit_report_relation(report)));
  } else {
    tacit_text_printf(text, "null");
  }
  json_text(text, "unit", report->unit);
  json_key(text, "accountant");
  if (is_private && promised.method != NULL) {
    tacit_text_json_string(text, promised.method);
  } else {
    tacit_text_printf(text, "null");
  }
  json_spent(report, text);
  if (report->ledger_data_id != NULL) {
    json_key(text, "ledger");
    tacit_text_printf(text, "{\"data_id\": ");
    tacit_text_json_string(text, report->ledger_data_id);
    tacit_text_printf(text, ", \"spend\": %llu}", (unsigned long long)report->ledger_spend);
  }
  json_text(text, "version", tacit_version());
  json_text(text, "commit", tacit_commit());
  json_text(text, "method", report->method);
  json_bool(text, "exact", report->is_exact);
  json_text(text, "end", report->end);
  json_assumptions(report, text);
  if (report->delta_meaning[0] != '\0') {
    json_text(text, "delta_meaning", report->delta_meaning);
  }
  json_number(text, "epsilon_charged", charged); /* the name, too, says that it is not what is guaranteed */
  json_bool(text, "epsilon_charged_is_a_guarantee", false);
  json_number(text, "epsilon_budget", budget_epsilon);
  json_number(text, "delta_budget", report->release != NULL ? NAN : delta);
  json_release(report, text);
  json_number(text, "n_units", report->n_units > 0 ? (double)report->n_units : NAN); /* where it is public */
  json_key(text, "max_rows");
  tacit_text_printf(text, "%zu\n}\n", report->max_rows);
}

/* ---- diagnostics.json ---- */

static void json_evidence(const tacit_report_t *report, tacit_text_t *text) {
  const tacit_evidence_t *evidence = report->evidence;
  json_key(text, "checks");
  for (size_t i = 0; i < evidence->checks.n; i++) {
    const tacit_check_t *check = &evidence->checks.items[i];
    const tacit_check_info_t *info = tacit_check_info(check->id);
    tacit_text_printf(text, "%s\n    {\"id\": \"%s\", \"term\": ", i > 0 ? "," : "[", info->name);
    tacit_text_json_string(text, check->term < report->draws->n_reported ? report->labels[check->term]
                                                                         : check->subject);
    tacit_text_json_field(text, "statistic", check->statistic);
    tacit_text_json_field(text, "threshold", info->threshold);
    tacit_text_json_field(text, "false_alarm", info->false_alarm);
    bool is_problem = info->severity == TACIT_SEVERITY_PROBLEM;
    tacit_text_printf(text, ", \"verdict\": \"%s\"}",
                      !tacit_check_is_flagged(check) ? "fine"
                      : is_problem                   ? "problem"
                                                     : "warning");
  }
  tacit_text_printf(text, evidence->checks.n > 0 ? "\n  ]" : "[]");
  json_key(text, "prior");
  for (size_t j = 0; j < evidence->n_terms; j++) {
    tacit_text_printf(text, "%s\n    {\"term\": ", j > 0 ? "," : "[");
    tacit_text_json_string(text, report->labels[j]);
    tacit_text_json_field(text, "sd", evidence->prior_sd[j]);
    tacit_text_json_field(text, "share", evidence->prior_share[j]);
    tacit_text_json_field(text, "noise_factor",
                          evidence->noise_factor[j] > 0 ? evidence->noise_factor[j] : NAN);
    tacit_text_printf(text, "}");
  }
  tacit_text_printf(text, evidence->n_terms > 0 ? "\n  ]" : "[]");
}

void tacit_report_diagnostics_json(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_append(text, "{", 1);
  for (size_t i = 0; report->published != NULL && i < TACIT_N_PUBLISHABLE; i++) {
    json_number(text, tacit_diagnostic_info(i)->name, report->published->values[i]);
  }
  if (report->evidence != NULL) {
    json_evidence(report, text);
  }
  tacit_text_printf(text, "\n}\n");
}

/* ---- run.yaml ---- */

static bool is_listed_before(const tacit_report_t *report, size_t i) {
  for (size_t k = 0; k < i; k++) {
    if (strcmp(report->settings[k].name, report->settings[i].name) == 0) {
      return true;
    }
  }
  return false;
}

static size_t count_of_name(const tacit_report_t *report, const char *name) {
  size_t n = 0;
  for (size_t k = 0; k < report->n_settings; k++) {
    n += strcmp(report->settings[k].name, name) == 0;
  }
  return n;
}

/* An option that was given several times becomes a list. */
static void yaml_list(const tacit_report_t *report, const char *name, tacit_text_t *text) {
  bool is_first = true;
  for (size_t k = 0; k < report->n_settings; k++) {
    if (strcmp(report->settings[k].name, name) == 0) {
      tacit_text_printf(text, is_first ? "[" : ", ");
      tacit_text_yaml_string(text, report->settings[k].value);
      is_first = false;
    }
  }
  tacit_text_append(text, "]", 1);
}

static void yaml_extra(const tacit_report_t *report, const char *name, const char *value,
                       tacit_text_t *text) {
  if (count_of_name(report, name) == 0 && value[0] != '\0') {
    tacit_text_printf(text, "%s: ", name);
    tacit_text_yaml_scalar(text, value);
    tacit_text_append(text, "\n", 1);
  }
}

void tacit_report_run_yaml(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(text, "# Settings of this run; all of them are public.%s\n",
                    report->is_private ? "" : " The run was NOT PRIVATE.");
  yaml_extra(report, "tacit-version", tacit_version(), text);
  yaml_extra(report, "formula", report->formula, text);
  yaml_extra(report, "family", report->family, text);
  yaml_extra(report, "method", report->method, text);
  for (size_t i = 0; i < report->n_settings; i++) {
    const tacit_report_setting_t *setting = &report->settings[i];
    if (is_listed_before(report, i)) {
      continue;
    }
    tacit_text_yaml_scalar(text, setting->name);
    tacit_text_append(text, ": ", 2);
    if (count_of_name(report, setting->name) > 1) {
      yaml_list(report, setting->name, text);
    } else {
      tacit_text_yaml_scalar(text, setting->value);
    }
    tacit_text_printf(text, setting->is_default ? "  # default\n" : "\n");
  }
}
