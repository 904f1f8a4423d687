/* report.html: one page that needs nothing else. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report_internal.h"

enum { MAX_TRACES = 40 };

static const double worrying_rhat = 1.01; /* [Vehtari2021, section 4] */

static void head(const tacit_report_t *report, tacit_text_t *text) {
  tacit_page_head(report->is_private ? "" : "NOT PRIVATE: ", report->formula, "", text);
}

static void fact(tacit_text_t *text, const char *name, const char *value) {
  tacit_text_printf(text, "<dt>%s</dt><dd>", name);
  tacit_text_html(text, value);
}

/* What was asked, of whom, and how. */
static void facts(const tacit_report_t *report, tacit_text_t *text) {
  size_t n_chains = report->draws->n_chains, n_kept = tacit_draws_n_kept(report->draws);
  tacit_text_printf(text, "<dl>");
  if (report->family[0] != '\0') {
    fact(text, "Model", report->model != NULL ? report->model : report->family);
    tacit_text_printf(text, "</dd>");
  }
  fact(text, "Data", report->data_name);
  if (report->n_units > 0) {
    tacit_text_printf(text, ", %zu units", report->n_units);
  }
  tacit_text_printf(text, "</dd>");
  fact(text, "Method", report->method);
  tacit_text_printf(text, ", %zu chain%s of %zu draw%s", n_chains, n_chains == 1 ? "" : "s", n_kept, n_kept == 1 ? "" : "s");
  if (strcmp(report->end, "complete") != 0) {
    tacit_text_printf(text, "; ended early: ");
    tacit_text_html(text, report->end);
  }
  if (report->columns != NULL) {
    tacit_text_printf(text, "</dd>");
    fact(text, "Columns", report->columns);
  }
  if (report->date != NULL) {
    tacit_text_printf(text, "</dd>");
    fact(text, "Date", report->date);
  }
  tacit_text_printf(text, "</dd></dl>\n");
}

static void banner(const tacit_report_t *report, tacit_text_t *text) {
  if (!report->is_private) {
    tacit_text_printf(text, "<div class=\"banner exposed\"><strong>NOT PRIVATE</strong>Reason: ");
    tacit_text_html(text, report->not_private_reason);
    tacit_text_printf(text, ". This page may reveal the records it was computed from.</div>\n");
    return;
  }
  if (report->release != NULL) {
    tacit_text_printf(text, "<div class=\"banner\"><strong>Computed from a released statistic alone</strong>It costs no "
                            "privacy beyond that release");
    if (isfinite(report->release->epsilon) && isfinite(report->release->delta)) {
      tacit_text_printf(text, " (&epsilon; = ");
      tacit_text_number_up(text, report->release->epsilon, 5);
      tacit_text_printf(text, ", &delta; = ");
      tacit_text_number_up(text, report->release->delta, 5);
      tacit_text_printf(text, ", if it was made as described)");
    }
    tacit_text_printf(text, ": ");
    tacit_text_html(text, report->release->statistic);
    tacit_text_printf(text, ", with noise ");
    tacit_text_html(text, report->release->noise);
    tacit_text_printf(text, ". The <a href=\"#privacy\">statement</a> says what that means.</div>\n");
    return;
  }
  tacit_text_printf(text, "<div class=\"banner\"><strong>Private: &epsilon; = ");
  tacit_text_number_up(text, tacit_budget_promised(report->budget).epsilon, 5);
  tacit_text_printf(text, ", &delta; = ");
  tacit_text_number_up(text, tacit_budget_delta(report->budget), 5);
  tacit_text_printf(text, "</strong>Fixed beforehand; &epsilon; = ");
  tacit_text_number_up(text, tacit_budget_spent(report->budget).epsilon, 5);
  tacit_text_printf(text, " of it was charged, which is no guarantee. Relation %s, unit ",
                    tacit_relation_string(tacit_budget_relation(report->budget)));
  tacit_text_html(text, report->unit);
  tacit_text_printf(text, ". The <a href=\"#privacy\">statement</a> says what that means.</div>\n");
}

static bool is_worrying(const tacit_summary_t *s) {
  return !(s->rhat <= worrying_rhat);
}

static void finding(const tacit_finding_t *finding, tacit_text_t *text) {
  bool is_problem = finding->severity == TACIT_SEVERITY_PROBLEM;
  tacit_text_printf(text, is_problem ? "<li><strong>" : "<li>");
  tacit_text_html(text, finding->what);
  tacit_text_printf(text, is_problem ? "</strong>: " : ": ");
  tacit_text_html(text, finding->advice);
  tacit_text_printf(text, "</li>\n");
}

/* The list that the terminal and tacit diagnose print, before anybody reads a number off the table. */
static void findings(const tacit_report_t *report, tacit_text_t *text) {
  tacit_findings_t *list = tacit_alloc(1, sizeof *list);
  tacit_error_t err;
  const tacit_checks_t *checks = report->evidence != NULL ? &report->evidence->checks : NULL;
  if (list == NULL || tacit_diagnose_fit(report->draws, report->labels, report->published, checks, list, &err) != TACIT_OK) {
    text->failed = true;
    tacit_free(list);
    return;
  }
  char looked_at[512];
  tacit_findings_looked_at(checks, sizeof looked_at, looked_at);
  bool is_bad = list->worst == TACIT_SEVERITY_PROBLEM;
  if (list->n == 0) {
    tacit_text_printf(text, "<p>Nothing wrong was seen in %s.</p>\n", looked_at);
  } else {
    tacit_text_printf(text, "<div class=\"%s\">%s<ul>\n", is_bad ? "banner exposed" : "note",
                      is_bad ? "<strong>Do not rely on these numbers</strong>" : "");
    for (size_t i = 0; i < list->n; i++) {
      finding(&list->items[i], text);
    }
    tacit_text_printf(text, "</ul></div>\n");
  }
  tacit_free(list);
}

static void cell_end(tacit_text_t *text) {
  tacit_text_printf(text, "</td><td>");
}

static void estimate_cell(double value, double sd, tacit_text_t *text) {
  cell_end(text);
  tacit_text_estimate(text, value, sd);
}

static void interval_cell(double from, double to, double sd, tacit_text_t *text) {
  cell_end(text);
  tacit_text_estimate(text, from, sd);
  tacit_text_printf(text, " to ");
  tacit_text_estimate(text, to, sd);
}

/* By how much noise widened the interval of each quantity; NULL: not known. */
static const double *noise_factors(const tacit_report_t *report) {
  return report->evidence != NULL && report->evidence->n_terms > 0 && report->evidence->noise_factor[0] > 0 ? report->evidence->noise_factor : NULL;
}

/* noise_factor 0: without the column; below 0: not known. */
static void answer_row(const char *label, const tacit_summary_t *s, bool has_priors, double noise_factor, tacit_text_t *text) {
  tacit_text_printf(text, "<tr><td>");
  tacit_text_html(text, label);
  estimate_cell(s->mean, s->sd, text); /* what a narrow screen shows comes first */
  interval_cell(s->q5, s->q95, s->sd, text);
  interval_cell(s->q2_5, s->q97_5, s->sd, text);
  estimate_cell(s->sd, s->sd, text);
  if (has_priors) {
    cell_end(text);
    tacit_text_significant(text, s->prior_sd, 2);
    cell_end(text);
    tacit_text_fixed(text, s->prior_share, 2);
  }
  if (noise_factor > 0) {
    tacit_text_printf(text, "</td><td>&times; ");
    tacit_text_significant(text, noise_factor, 3);
  } else if (noise_factor < 0) {
    tacit_text_printf(text, "</td><td>");
  }
  tacit_text_printf(text, "</td></tr>\n");
}

/* Quantities but each site's own. */
static size_t n_common(const tacit_report_t *report) {
  return report->draws->n_reported - report->n_sites * report->n_own;
}

static void answers(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  bool has_priors = tacit_report_has_priors(summaries, report->draws->n_reported);
  const double *noise = noise_factors(report);
  tacit_text_printf(text,
                    "<div class=\"scroll\"><table>\n<tr><th>Quantity</th><th>Mean</th><th>90 %% interval</th><th>95 %% interval</th>"
                    "<th>SD</th>%s%s</tr>\n",
                    has_priors ? "<th>Prior SD</th><th>Prior share</th>" : "", noise != NULL ? "<th>By noise</th>" : "");
  for (size_t j = 0; j < n_common(report); j++) {
    answer_row(report->labels[j], &summaries[j], has_priors, noise == NULL ? 0 : j < report->evidence->n_terms && noise[j] > 0 ? noise[j] : -1, text);
  }
  tacit_text_printf(text, "</table></div>\n");
  if (has_priors) {
    tacit_text_printf(text,
                      "<p>Prior share: how much of the posterior's precision is the prior's; near 0 the data speak, near 1 the prior does.</p>\n");
  }
  if (report->release != NULL && report->release->has_own_effects) {
    tacit_text_printf(text,
                      "<p>Coefficients are means over sites; each site's own are below. Sd between sites: how far one site's coefficient typically "
                      "lies from that mean, in the coefficient's unit.</p>\n");
  }
  if (noise != NULL) {
    tacit_text_printf(
        text,
        "<p>By noise: what the privacy noise added; intervals are so many times as wide as they would be, had records of the same features been seen "
        "without noise, and were the model right (what misfit adds counts as noise here). Estimated from what was released.</p>\n");
  }
}

static void chain_row(const char *label, const tacit_summary_t *s, tacit_text_t *text) {
  tacit_text_printf(text, "<tr><td>");
  tacit_text_html(text, label);
  cell_end(text);
  tacit_text_significant(text, s->mcse_mean, 2);
  cell_end(text);
  tacit_text_fixed(text, s->ess_bulk, 0);
  cell_end(text);
  tacit_text_fixed(text, s->ess_tail, 0);
  tacit_text_printf(text, is_worrying(s) ? "</td><td class=\"worry\">" : "</td><td>");
  tacit_text_fixed(text, s->rhat, 3);
  tacit_text_printf(text, "</td></tr>\n");
}

/* ---- effects on one scale: for one sd of a feature, where that was released, or between two levels ---- */

typedef struct effects {
  const char **labels;
  char (*texts)[96];
  tacit_summary_t *summaries;
  size_t n;
} effects_t;

static tacit_summary_t scaled(const tacit_summary_t *s, double by) {
  tacit_summary_t out = *s;
  double *const fields[] = {&out.mean, &out.sd, &out.q5, &out.q50, &out.q95, &out.q2_5, &out.q97_5};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    *fields[i] *= by;
  }
  return out;
}

static bool has_scales(const tacit_report_t *report) {
  for (size_t j = 0; report->evidence != NULL && j < report->evidence->n_terms; j++) {
    if (report->evidence->feature_sd[j] > 0) {
      return true;
    }
  }
  return false;
}

/* Coefficients but the intercept, which has no sd of its own. */
static void effect(const tacit_report_t *report, const tacit_summary_t *summaries, size_t j, effects_t *to) {
  double sd = report->evidence->feature_sd[j];
  tacit_text_t amount = {0};
  to->summaries[to->n] = scaled(&summaries[j], sd > 0 ? sd : 1);
  if (sd > 0) {
    tacit_text_significant(&amount, sd, 2);
  }
  snprintf(to->texts[to->n], sizeof to->texts[0], sd > 0 ? "%.60s + %s" : "%.60s", report->labels[j], amount.data != NULL ? amount.data : "");
  to->labels[to->n] = to->texts[to->n];
  to->n++;
  tacit_text_clear(&amount);
}

static const char *ratio_of(const char *family) {
  return strcmp(family, "bernoulli") == 0 ? "Odds ratio" : strcmp(family, "poisson") == 0 ? "Rate ratio" : NULL;
}

static void effects(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  size_t n = report->draws->n_reported;
  effects_t to = {tacit_alloc(n, sizeof *to.labels), tacit_alloc(n, sizeof *to.texts), tacit_alloc(n, sizeof *to.summaries), 0};
  if (to.labels == NULL || to.texts == NULL || to.summaries == NULL) {
    text->failed = true;
  } else {
    const char *ratio = ratio_of(report->family);
    for (size_t j = 1; j < n && j < report->evidence->n_terms; j++) {
      effect(report, summaries, j, &to);
    }
    tacit_text_printf(text,
                      "<h2>Effects</h2>\n<p>%s of one released standard deviation of each feature (after the +), or of a level beside the first "
                      "one: median, 90 %% interval (thick) and 95 %% interval (thin).</p>\n<div class=\"scroll\">",
                      ratio != NULL ? ratio : "Difference in the response");
    tacit_figure_intervals(to.labels, to.summaries, to.n, ratio != NULL, text);
    tacit_text_printf(text, "</div>\n");
  }
  tacit_free(to.labels);
  tacit_free(to.texts);
  tacit_free(to.summaries);
}

static void intervals(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  tacit_text_printf(text, "<h2>Intervals</h2>\n<p>Median, 90 %% interval (thick) and 95 %% interval (thin), each in its own unit.</p>\n"
                          "<div class=\"scroll\">");
  tacit_figure_intervals(report->labels, summaries, n_common(report), false, text);
  tacit_text_printf(text, "</div>\n");
}

/* A figure for each quantity that sites have of their own, all sites on one axis. */
static void sites(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  size_t n = report->n_sites, first = n_common(report);
  const char **labels = tacit_alloc(n, sizeof *labels);
  tacit_summary_t *own = tacit_alloc(n, sizeof *own);
  if (labels == NULL || own == NULL) {
    text->failed = true;
  } else {
    tacit_text_printf(
        text, "<h2>Site by site</h2>\n<p>%s Median, 90 %% interval (thick) and 95 %% interval (thin), in the quantity's own unit.</p>\n",
        report->release != NULL && report->release->has_own_effects ? "Each site's own quantities, given the releases of all: what a site tells of "
                                                                      "itself is drawn towards the mean over sites, the more so the less it tells."
                                                                    : "What each site has of its own; all else is common to the sites.");
    for (size_t k = 0; k < report->n_own; k++) {
      for (size_t i = 0; i < n; i++) {
        labels[i] = report->labels[first + i * report->n_own + k];
        own[i] = summaries[first + i * report->n_own + k];
      }
      tacit_text_printf(text, "<div class=\"scroll\">");
      tacit_figure_intervals(labels, own, n, false, text);
      tacit_text_printf(text, "</div>\n");
    }
  }
  tacit_free(labels);
  tacit_free(own);
}

static void curves(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(
      text,
      "<h2>Along each column</h2>\n<p>%s, other terms %s: median and 90 %% interval, over the public bounds of each column, whether or not there are "
      "records everywhere.</p>\n<div class=\"panels\">\n",
      report->curves_of, report->curves_at);
  for (size_t i = 0; i < report->n_curves; i++) {
    tacit_figure_curve(&report->curves[i], text);
  }
  tacit_text_printf(text, "</div>\n");
}

static void pictures(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  (has_scales(report) ? effects : intervals)(report, summaries, text);
  if (report->n_own > 0) {
    sites(report, summaries, text);
  }
  if (report->n_curves > 0) {
    curves(report, text);
  }
}

/* ---- what is folded away ---- */

static void traces(const tacit_report_t *report, tacit_text_t *text) {
  size_t n = report->draws->n_reported, n_traces = n < MAX_TRACES ? n : MAX_TRACES;
  tacit_text_printf(text, "<p class=\"key\">");
  size_t n_keys = report->draws->n_chains < 8 ? report->draws->n_chains : 8;
  for (size_t c = 0; c < n_keys; c++) {
    tacit_text_printf(text, "<span style=\"background:%s\"></span>chain %zu", tacit_figure_colour(c), c + 1);
  }
  tacit_text_printf(text, n_keys < report->draws->n_chains ? " and so on</p>\n" : "</p>\n");
  if (n_traces < n) {
    tacit_text_printf(text, "<p>The first %zu of %zu quantities.</p>\n", n_traces, n);
  }
  for (size_t j = 0; j < n_traces; j++) {
    tacit_text_printf(text, "<h3>");
    tacit_text_html(text, report->labels[j]);
    tacit_text_printf(text, "</h3>\n");
    tacit_figure_trace(report, j, text);
  }
}

static void chains(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  tacit_text_printf(text, "<details><summary>Chains: errors of simulation, agreement, traces</summary>\n<div class=\"scroll\"><table>\n"
                          "<tr><th>Quantity</th><th>MCSE</th><th>ESS bulk</th><th>ESS tail</th><th>R-hat</th></tr>\n");
  for (size_t j = 0; j < report->draws->n_reported; j++) {
    chain_row(report->labels[j], &summaries[j], text);
  }
  tacit_text_printf(text, "</table></div>\n");
  traces(report, text);
  tacit_text_printf(text, "</details>\n");
}

static void schema(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(text, "<details><summary>Schema: bounds, and levels, of which the first is the reference</summary>\n<pre>");
  tacit_text_html(text, report->schema);
  tacit_text_printf(text, "</pre></details>\n");
}

static void statement(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_t lines = {0};
  tacit_text_printf(text, "<section id=\"privacy\">\n<h2>Privacy statement</h2>\n");
  tacit_statement_lines(report, &lines);
  if (!lines.failed) {
    tacit_statement_html(lines.data, "h3", text);
  }
  text->failed = text->failed || lines.failed;
  tacit_text_clear(&lines);
  tacit_text_printf(text, "</section>\n");
}

static void settings(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(text, "<details><summary>Settings</summary>\n<div class=\"scroll\"><table class=\"settings\">\n"
                          "<tr><th>Setting</th><th>Value</th><th></th></tr>\n");
  for (size_t i = 0; i < report->n_settings; i++) {
    tacit_text_printf(text, "<tr><td>");
    tacit_text_html(text, report->settings[i].name);
    tacit_text_printf(text, "</td><td>");
    tacit_text_html(text, report->settings[i].value);
    tacit_text_printf(text, "</td><td>%s</td></tr>\n", report->settings[i].is_default ? "default" : "");
  }
  tacit_text_printf(text, "</table></div></details>\n");
}

void tacit_report_page(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  bool is_empty = tacit_draws_n_kept(report->draws) == 0 || report->draws->n_reported == 0;
  head(report, text);
  banner(report, text);
  facts(report, text);
  tacit_text_printf(text, "<section id=\"summary\">\n<h2>Answer</h2>\n");
  findings(report, text);
  answers(report, summaries, text);
  tacit_text_printf(text, "</section>\n");
  if (report->evidence != NULL && tacit_checks_forbid_intervals(&report->evidence->checks)) {
    tacit_text_printf(text, "<p>No effects, intervals or curves are drawn: a check says that there are none to give.</p>\n");
  } else if (!is_empty) {
    pictures(report, summaries, text);
  }
  if (report->check_json != NULL) {
    tacit_figure_check(report->check_json, text);
  }
  statement(report, text);
  tacit_text_printf(text, "<h2>Details</h2>\n");
  if (!is_empty) {
    chains(report, summaries, text);
  }
  if (report->schema != NULL) {
    schema(report, text);
  }
  settings(report, text);
  tacit_page_foot(text);
}
