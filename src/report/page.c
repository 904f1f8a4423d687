/* report.html: one page that needs nothing else. */
#include <math.h>
#include <string.h>

#include "report/report_internal.h"

enum { MAX_TRACES = 40 };

static const double worrying_rhat = 1.01; /* [Vehtari2021, section 4] */

static const char style[] =
    "body{font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;color:#1b1f24;"
    "background:#fff;max-width:60rem;margin:2.5rem auto;padding:0 1.25rem}\n"
    "h1{font-size:1.7rem;line-height:1.25;margin:0 0 .2rem;overflow-wrap:anywhere}\n"
    "h2{font-size:1.15rem;margin:2.6rem 0 .6rem;padding-top:.9rem;border-top:1px solid #d8dde3}\n"
    "h3{font-size:1rem;margin:1.3rem 0 .3rem}\n"
    "p{margin:.4rem 0;max-width:48rem}ul{margin:.3rem 0;padding-left:1.3rem;max-width:46rem}\n"
    ".facts{color:#4a535e;margin:0 0 1.2rem}\n"
    ".banner{border-left:6px solid #1a7f4b;background:#eef8f2;padding:.8rem 1.1rem;margin:1.2rem 0}\n"
    ".banner.exposed{border-color:#b3161b;background:#fdeeee}\n"
    ".banner strong{display:block;font-size:1.1rem}.exposed strong{color:#b3161b}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n"
    "#summary table{width:100%}\n"
    "th,td{padding:.32rem .7rem;text-align:right;white-space:nowrap}th{border-bottom:2px solid #8a949f;font-weight:600}\n"
    "td{border-bottom:1px solid #e6e9ed}th:first-child,td:first-child{text-align:left;padding-left:0}\n"
    "td:first-child{white-space:normal;overflow-wrap:anywhere;min-width:6rem}\n"
    ".settings th,.settings td{text-align:left}.settings td:last-child{color:#4a535e}\n"
    ".settings td{white-space:normal;overflow-wrap:anywhere}\n"
    ".worry{background:#fff1d6;font-weight:600}\n"
    ".note{background:#fff8e8;border-left:6px solid #c98a00;padding:.6rem 1.1rem}\n"
    "svg{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif}\n"
    "svg text{fill:#1b1f24}.grid{stroke:#e3e7eb;fill:none}.zero{stroke:#8a949f;stroke-dasharray:4 3}\n"
    ".interval{stroke:#0072b2;stroke-width:3;stroke-linecap:round}circle{fill:#0072b2;stroke:#fff;stroke-width:1.5}\n"
    "polyline{fill:none;stroke-width:.8;stroke-opacity:.8}.histogram{fill:#aebccb}\n"
    ".key span{display:inline-block;width:1.4rem;height:.2rem;vertical-align:middle;margin:0 .35rem 0 .9rem}"
    ".key span:first-child{margin-left:0}\n"
    "footer{margin:3rem 0 1rem;color:#4a535e;font-size:.85rem}\n"
    "@media print{body{margin:0;max-width:none}svg,tr{break-inside:avoid}}\n";

static void head(const tacit_report_t *report, tacit_text_t *text) {
  tacit_text_printf(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
  tacit_text_printf(text, report->is_private ? "" : "NOT PRIVATE: ");
  tacit_text_html(text, report->formula);
  tacit_text_printf(text, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
  tacit_text_html(text, report->formula);
  tacit_text_printf(text, "</h1>\n<p class=\"facts\">");
  if (report->family[0] != '\0') {
    tacit_text_html(text, report->family);
    tacit_text_printf(text, " &middot; ");
  }
  tacit_text_printf(text, "data set ");
  tacit_text_html(text, report->data_name);
  tacit_text_printf(text, " &middot; ");
  tacit_text_html(text, report->method);
  size_t n_chains = report->draws->n_chains, n_kept = tacit_draws_n_kept(report->draws);
  tacit_text_printf(text, " &middot; %zu chain%s of %zu draw%s", n_chains, n_chains == 1 ? "" : "s", n_kept,
                    n_kept == 1 ? "" : "s");
  if (strcmp(report->end, "complete") != 0) {
    tacit_text_printf(text, " &middot; ended early: ");
    tacit_text_html(text, report->end);
  }
  tacit_text_printf(text, "</p>\n");
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
                            "privacy beyond that release: ");
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
  tacit_text_printf(text, " of it was charged, which is no guarantee. Relation %s, unit ", tacit_relation_string(tacit_budget_relation(report->budget)));
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

static void summary_row(const char *label, const tacit_summary_t *s, bool has_priors, tacit_text_t *text) {
  const double estimates[] = {s->mean, s->sd, s->q5, s->q50, s->q95};
  tacit_text_printf(text, "<tr><td>");
  tacit_text_html(text, label);
  for (size_t k = 0; k < sizeof estimates / sizeof estimates[0]; k++) {
    cell_end(text);
    tacit_text_estimate(text, estimates[k], s->sd);
  }
  cell_end(text);
  tacit_text_significant(text, s->mcse_mean, 2);
  cell_end(text);
  tacit_text_fixed(text, s->ess_bulk, 0);
  cell_end(text);
  tacit_text_fixed(text, s->ess_tail, 0);
  tacit_text_printf(text, is_worrying(s) ? "</td><td class=\"worry\">" : "</td><td>");
  tacit_text_fixed(text, s->rhat, 3);
  if (has_priors) {
    cell_end(text);
    tacit_text_significant(text, s->prior_sd, 2);
    cell_end(text);
    tacit_text_fixed(text, s->prior_share, 2);
  }
  tacit_text_printf(text, "</td></tr>\n");
}

static void summary_table(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  tacit_text_printf(text, "<section id=\"summary\">\n<h2>Summary</h2>\n");
  bool has_priors = tacit_report_has_priors(summaries, report->draws->n_reported);
  findings(report, text);
  tacit_text_printf(text, "<div class=\"scroll\"><table>\n<tr><th>Quantity</th><th>Mean</th><th>SD</th><th>5 %%</th>"
                          "<th>Median</th><th>95 %%</th><th>MCSE</th><th>ESS bulk</th><th>ESS tail</th>"
                          "<th>R-hat</th>%s</tr>\n", has_priors ? "<th>Prior SD</th><th>Prior share</th>" : "");
  for (size_t j = 0; j < report->draws->n_reported; j++) {
    summary_row(report->labels[j], &summaries[j], has_priors, text);
  }
  tacit_text_printf(text, "</table></div>\n</section>\n");
}

static void figures(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  size_t n = report->draws->n_reported, n_traces = n < MAX_TRACES ? n : MAX_TRACES;
  tacit_text_printf(text, "<h2>90 %% intervals</h2>\n");
  tacit_figure_intervals(report, summaries, text);
  tacit_text_printf(text, "<h2>Traces</h2>\n<p class=\"key\">");
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
  tacit_text_printf(text, "<h2>Settings</h2>\n<div class=\"scroll\"><table class=\"settings\">\n"
                          "<tr><th>Setting</th><th>Value</th><th></th></tr>\n");
  for (size_t i = 0; i < report->n_settings; i++) {
    tacit_text_printf(text, "<tr><td>");
    tacit_text_html(text, report->settings[i].name);
    tacit_text_printf(text, "</td><td>");
    tacit_text_html(text, report->settings[i].value);
    tacit_text_printf(text, "</td><td>%s</td></tr>\n", report->settings[i].is_default ? "default" : "");
  }
  tacit_text_printf(text, "</table></div>\n");
}

void tacit_report_page(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text) {
  head(report, text);
  banner(report, text);
  summary_table(report, summaries, text);
  if (tacit_draws_n_kept(report->draws) > 0 && report->draws->n_reported > 0) {
    figures(report, summaries, text);
  }
  statement(report, text);
  settings(report, text);
  tacit_text_printf(text, "<footer>Written by tacit %s.</footer>\n</body>\n</html>\n", tacit_version());
}
