/* report.html: one page that needs nothing else. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "report/report.h"
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
  tacit_text_printf(text, ", %zu chain%s of %zu draw%s", n_chains, n_chains == 1 ? "" : "s", n_kept,
                    n_kept == 1 ? "" : "s");
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

/* Of a statistic that was released before. */
static void released_claim(const tacit_report_release_t *release, tacit_text_t *text) {
  tacit_text_printf(text,
                    "Computed from a released statistic alone: it costs no privacy beyond that release");
  if (isfinite(release->epsilon) && isfinite(release->delta)) {
    tacit_text_printf(text, " (&epsilon; = ");
    tacit_text_number_up(text, release->epsilon, 5);
    tacit_text_printf(text, ", &delta; = ");
    tacit_text_number_up(text, release->delta, 5);
    tacit_text_printf(text, ", if it was made as described)");
  }
  tacit_text_printf(text, ": ");
  tacit_text_html(text, release->statistic);
  tacit_text_printf(text, ", with noise ");
  tacit_text_html(text, release->noise);
}

/* The guarantee in a sentence; what it means is in the statement. */
static void budget_claim(const tacit_report_t *report, tacit_text_t *text) {
  bool is_row = strcmp(report->unit, "row") == 0;
  tacit_text_printf(text, "Private with &epsilon; = ");
  tacit_text_number_up(text, tacit_budget_promised(report->budget).epsilon, 5);
  tacit_text_printf(text, ", &delta; = ");
  tacit_text_number_up(text, tacit_budget_delta(report->budget), 5);
  tacit_text_printf(text, " for each %s", is_row ? "row" : "value of ");
  if (!is_row) {
    tacit_text_html(text, report->unit);
  }
  tacit_text_printf(text, tacit_budget_relation(report->budget) == TACIT_RELATION_SUBSTITUTE
                              ? ", replaced by any other"
                              : ", added or removed");
}

static void claim(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(text, "<p>");
  if (!report->is_private) {
    tacit_text_printf(text, "<strong>NOT PRIVATE</strong>: ");
    tacit_text_html(text, report->not_private_reason);
    tacit_text_printf(text, ". This page may reveal the records it was computed from.</p>\n");
    return;
  }
  if (report->release != NULL) {
    released_claim(report->release, text);
  } else {
    budget_claim(report, text);
  }
  tacit_text_printf(text, ": see the <a href=\"#privacy\">statement</a>.</p>\n");
}

static bool is_worrying(const tacit_summary_t *s) { return !(s->rhat <= worrying_rhat); }

static void finding(const tacit_finding_t *finding, tacit_text_t *text) {
  bool is_problem = finding->severity == TACIT_SEVERITY_PROBLEM;
  tacit_text_printf(text, is_problem ? "<li><strong>" : "<li>");
  tacit_text_html(text, finding->what);
  tacit_text_printf(text, is_problem ? "</strong>: " : ": ");
  tacit_text_html(text, finding->advice);
  tacit_text_printf(text, "</li>\n");
}

/* The list that the terminal and tacit diagnose print. */
static void findings(const tacit_findings_t *list, tacit_text_t *text) {
  tacit_text_printf(text, "<ul>\n");
  for (size_t i = 0; i < list->n; i++) {
    finding(&list->items[i], text);
  }
  tacit_text_printf(text, "</ul>\n");
}

static const tacit_checks_t *checks_of(const tacit_report_t *report) {
  return report->evidence != NULL ? &report->evidence->checks : NULL;
}

static bool forbids_intervals(const tacit_report_t *report) {
  return report->evidence != NULL && tacit_checks_forbid_intervals(&report->evidence->checks);
}

/* What comes before any number: whether there is an answer, and what it is; what privacy cost; what is
 * promised; what was checked. */
static void first_screen(const tacit_report_t *report, const tacit_findings_t *list,
                         const tacit_effect_t *effects, size_t n_effects, tacit_text_t *text) {
  bool is_bad = list->worst == TACIT_SEVERITY_PROBLEM, is_exposed = !report->is_private;
  tacit_text_printf(text, "<section class=\"banner%s\">\n", is_bad || is_exposed ? " exposed" : "");
  if (is_bad) {
    tacit_text_printf(text, "<p class=\"answer\"><strong>Do not rely on these numbers</strong></p>\n");
    findings(list, text);
  } else if (n_effects > 0) {
    tacit_report_answer(report, effects, n_effects, text);
  }
  if (!is_bad) {
    tacit_text_printf(text, "<p>");
    tacit_report_cost(report, text);
    if (list->n == 0) {
      tacit_text_printf(text, "Of %zu kinds of trouble that were looked for, none was seen.",
                        tacit_findings_n_looked_at(checks_of(report)));
    }
    tacit_text_printf(text, "</p>\n");
  }
  claim(report, text);
  tacit_text_printf(text, "</section>\n");
  if (!is_bad && list->n > 0) {
    tacit_text_printf(text, "<div class=\"note\">");
    findings(list, text);
    tacit_text_printf(text, "</div>\n");
  }
}

static void cell_end(tacit_text_t *text) { tacit_text_printf(text, "</td><td>"); }

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
  return report->evidence != NULL && report->evidence->n_terms > 0 && report->evidence->noise_factor[0] > 0
             ? report->evidence->noise_factor
             : NULL;
}

/* noise_factor 0: without the column; below 0: not known. */
static void answer_row(const char *label, const tacit_summary_t *s, double noise_factor, tacit_text_t *text) {
  tacit_text_printf(text, "<tr><td>");
  tacit_text_html(text, label);
  estimate_cell(s->mean, s->sd, text);
  interval_cell(s->q5, s->q95, s->sd, text);
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
  const double *noise = noise_factors(report);
  tacit_text_printf(
      text,
      "<section id=\"summary\">\n<h2>Table</h2>\n<div "
      "class=\"scroll\"><table>\n<tr><th>Quantity</th><th>Mean</th><th>90 %% interval</th>%s</tr>\n",
      noise != NULL ? "<th>By noise</th>" : "");
  for (size_t j = 0; j < n_common(report); j++) {
    answer_row(report->labels[j], &summaries[j],
               noise == NULL                                   ? 0
               : j < report->evidence->n_terms && noise[j] > 0 ? noise[j]
                                                               : -1,
               text);
  }
  tacit_text_printf(text, "</table></div>\n");
  if (report->release != NULL && report->release->has_own_effects) {
    tacit_text_printf(
        text, "<p>Coefficients are means over sites; each site's own are below. Sd between sites: how far "
              "one site's coefficient typically lies from that mean, in the coefficient's unit.</p>\n");
  }
  if (noise != NULL) {
    tacit_text_printf(text, "<p>By noise: intervals are so many times as wide as they would be, had records "
                            "of the same features been seen without noise, and were the model right (what "
                            "misfit adds counts as noise here). Estimated from what was released.</p>\n");
  }
  tacit_text_printf(text, "</section>\n");
}

static void chain_row(const char *label, const tacit_summary_t *s, bool has_priors, tacit_text_t *text) {
  tacit_text_printf(text, "<tr><td>");
  tacit_text_html(text, label);
  estimate_cell(s->sd, s->sd, text);
  interval_cell(s->q2_5, s->q97_5, s->sd, text);
  if (has_priors) {
    cell_end(text);
    tacit_text_significant(text, s->prior_sd, 2);
    cell_end(text);
    tacit_text_fixed(text, s->prior_share, 2);
  }
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

static void intervals(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  tacit_text_printf(text, "<h2>Intervals</h2>\n<p>Median, 90 %% interval (thick) and 95 %% interval (thin), "
                          "each in its own unit.</p>\n");
  tacit_figure_intervals(report->labels, summaries, n_common(report), false, text);
}

/* A figure for each quantity that sites have of their own, all sites on one axis. */
static void sites(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  size_t n = report->n_sites, first = n_common(report);
  const char **labels = tacit_alloc(n, sizeof *labels);
  tacit_summary_t *own = tacit_alloc(n, sizeof *own);
  if (labels == NULL || own == NULL) {
    text->failed = true;
  } else {
    tacit_text_printf(text,
                      "<h2>Site by site</h2>\n<p>%s Median, 90 %% interval (thick) and 95 %% interval "
                      "(thin), in the quantity's own unit.</p>\n",
                      report->release != NULL && report->release->has_own_effects
                          ? "Each site's own quantities, given the releases of all: what a site tells of "
                            "itself is drawn towards the mean over sites, the more so the less it tells."
                          : "What each site has of its own; all else is common to the sites.");
    for (size_t k = 0; k < report->n_own; k++) {
      for (size_t i = 0; i < n; i++) {
        labels[i] = report->labels[first + i * report->n_own + k];
        own[i] = summaries[first + i * report->n_own + k];
      }
      tacit_figure_intervals(labels, own, n, false, text);
    }
  }
  tacit_free(labels);
  tacit_free(own);
}

static void curves(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(
      text,
      "<h2>Along each column</h2>\n<p>%s, other terms %s: median and 90 %% interval, over the public bounds "
      "of each column, whether or not there are records everywhere.</p>\n<div class=\"panels\">\n",
      report->curves_of, report->curves_at);
  for (size_t i = 0; i < report->n_curves; i++) {
    tacit_figure_curve(&report->curves[i], text);
  }
  tacit_text_printf(text, "</div>\n");
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
  bool has_priors = tacit_report_has_priors(summaries, report->draws->n_reported);
  tacit_text_printf(
      text,
      "<details><summary>All numbers: spread, %schains, traces</summary>\n<div class=\"scroll\"><table>\n"
      "<tr><th>Quantity</th><th>SD</th><th>95 %% interval</th>%s<th>MCSE</th><th>ESS bulk</th><th>ESS "
      "tail</th><th>R-hat</th></tr>\n",
      has_priors ? "prior, " : "", has_priors ? "<th>Prior SD</th><th>Prior share</th>" : "");
  for (size_t j = 0; j < report->draws->n_reported; j++) {
    chain_row(report->labels[j], &summaries[j], has_priors, text);
  }
  tacit_text_printf(text, "</table></div>\n");
  if (has_priors) {
    tacit_text_printf(text, "<p>Prior share: how much of the posterior's precision is the prior's; near 0 "
                            "the data speak, near 1 the prior does.</p>\n");
  }
  traces(report, text);
  tacit_text_printf(text, "</details>\n");
}

static void schema(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(
      text,
      "<details><summary>Schema: bounds, and levels, of which the first is the reference</summary>\n<pre>");
  tacit_text_html(text, report->schema);
  tacit_text_printf(text, "</pre></details>\n");
}

static void statement(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_t lines = {0};
  tacit_text_printf(text, "<details id=\"privacy\"><summary>Privacy statement</summary>\n");
  tacit_statement_lines(report, &lines);
  if (!lines.failed) {
    tacit_statement_html(lines.data, "h3", text);
  }
  text->failed = text->failed || lines.failed;
  tacit_text_clear(&lines);
  tacit_text_printf(text, "</details>\n");
}

static void checked(const tacit_report_t *report, tacit_text_t *text) {
  char looked_at[512];
  tacit_findings_looked_at(checks_of(report), sizeof looked_at, looked_at);
  tacit_text_printf(text, "<details><summary>What was checked</summary>\n<p>%s.</p></details>\n", looked_at);
}

static void settings(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(text,
                    "<details><summary>Settings</summary>\n<div class=\"scroll\"><table class=\"settings\">\n"
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

/* Effects where steps are known, else coefficients; sites; curves. */
static void pictures(const tacit_report_t *report, const tacit_summary_t *summaries,
                     const tacit_effect_t *effects, size_t n_effects, tacit_text_t *text) {
  if (n_effects > 0) {
    tacit_figure_effects(report, effects, n_effects, text);
  } else {
    intervals(report, summaries, text);
  }
}

static void folded(const tacit_report_t *report, const tacit_summary_t *summaries, bool is_empty,
                   tacit_text_t *text) {
  tacit_text_printf(text, "<h2>Details</h2>\n");
  facts(report, text);
  statement(report, text);
  checked(report, text);
  if (!is_empty) {
    chains(report, summaries, text);
  }
  if (report->schema != NULL) {
    schema(report, text);
  }
  settings(report, text);
}

static void body(const tacit_report_t *report, const tacit_summary_t *summaries, const tacit_findings_t *list,
                 tacit_effect_t *effects, tacit_text_t *text) {
  bool is_empty = tacit_draws_n_kept(report->draws) == 0 || report->draws->n_reported == 0,
       has_answer = !is_empty && !forbids_intervals(report);
  size_t n_effects =
      has_answer && tacit_report_has_effects(report) ? tacit_report_effects(report, summaries, effects) : 0;
  first_screen(report, list, effects, n_effects, text);
  if (forbids_intervals(report)) {
    tacit_text_printf(
        text,
        "<p>No effects, intervals or curves are drawn: a check says that there are none to give.</p>\n");
  } else if (has_answer) {
    pictures(report, summaries, effects, n_effects, text);
  }
  answers(report, summaries, text);
  if (has_answer && report->n_own > 0) {
    sites(report, summaries, text);
  }
  if (has_answer && report->n_curves > 0) {
    curves(report, text);
  }
  if (report->check_json != NULL) {
    tacit_figure_check(report->check_json, text);
  }
  folded(report, summaries, is_empty, text);
}

void tacit_report_page(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  tacit_error_t err;
  tacit_findings_t *list = tacit_alloc(1, sizeof *list);
  tacit_effect_t *effects = tacit_alloc(report->draws->n_reported, sizeof *effects);
  if (list == NULL || effects == NULL ||
      tacit_diagnose_fit(report->draws, report->labels, report->published, checks_of(report), list, &err) !=
          TACIT_OK) {
    text->failed = true;
  } else {
    head(report, text);
    body(report, summaries, list, effects, text);
    tacit_page_foot(text);
  }
  tacit_free(list);
  tacit_free(effects);
}
