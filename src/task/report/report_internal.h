/* Parts of a report, each written by one file here. Not installed. */
#ifndef TACIT_REPORT_INTERNAL_H
#define TACIT_REPORT_INTERNAL_H

#include "base/directory.h"
#include "report/report.h"

/* ---- numbers: a point as decimal separator whatever the locale ---- */

/* %.*g, digits <= 17; "nan", "inf", "-inf". */
void tacit_text_number(tacit_text_t *text, double x, int digits);
/* The fewest of 15, 16 or 17 digits that read back as x. */
void tacit_text_shortest(tacit_text_t *text, double x);
/* %.*f without a sign before zero; "NA", "Inf", "-Inf". */
void tacit_text_fixed(tacit_text_t *text, double x, int decimals);
/* %.*g of the least number with so many digits that is >= x: for bounds that are promised. x finite >= 0. */
void tacit_text_number_up(tacit_text_t *text, double x, int digits);
/* x with about three significant digits of its spread `sd`: the digits that mean something. */
void tacit_text_estimate(tacit_text_t *text, double x, double sd);
/* x with so many significant digits, without an exponent where that is readable; "NA" as above. */
void tacit_text_significant(tacit_text_t *text, double x, int digits);

/* ---- texts in the quoting of each format; invalid UTF-8 becomes U+FFFD ---- */

/* Code point at s (not at the end of the string) and its length in bytes; U+FFFD and 1 if invalid. */
size_t tacit_utf8_decode(const char *s, uint32_t *code);
/* Columns that the text takes on a terminal. */
size_t tacit_utf8_width(const char *s);
void tacit_text_utf8(tacit_text_t *text, uint32_t code);
void tacit_text_json_string(tacit_text_t *text, const char *s);
void tacit_text_json_number(tacit_text_t *text, double x); /* null unless finite */
/* , "name": x */
void tacit_text_json_field(tacit_text_t *text, const char *name, double x);
void tacit_text_html(tacit_text_t *text, const char *s);
void tacit_text_csv(tacit_text_t *text, const char *s); /* quoted where it must be */
void tacit_text_yaml_scalar(tacit_text_t *text, const char *s);
void tacit_text_yaml_string(tacit_text_t *text, const char *s); /* always quoted */
/* One line, no control characters: for sentences that hold a user's words. */
void tacit_text_plain(tacit_text_t *text, const char *s);
/*
 * A value of a Stan CSV header: readers take the keys flat and look for words anywhere in a comment, so
 * '=', '%', control characters and the first letter of such words are percent-encoded.
 */
void tacit_text_header_value(tacit_text_t *text, const char *s);
/* Undo it in place. */
void tacit_header_value_decode(char *s);

/* ---- the parts ---- */

/* Of the budget; substitute for a release, whose n is public. */
tacit_relation_t tacit_report_relation(const tacit_report_t *report);
/* Value of a flag among the settings, whether typed with dashes or underscores. */
bool tacit_report_has_flag(const tacit_report_t *report, const char *name);

/* tacit_report_write() into a directory that was begun; committed. */
TACIT_MUST_USE tacit_status_t tacit_report_write_into(const tacit_report_t *report, tacit_directory_t *dir,
                                                      tacit_error_t *err);
tacit_status_t tacit_report_write_chain(const tacit_report_t *report, size_t chain, tacit_directory_t *dir,
                                        tacit_error_t *err);
void tacit_report_summary_csv(const tacit_report_t *report, const tacit_summary_t *summaries,
                              tacit_text_t *text);
void tacit_report_privacy_json(const tacit_report_t *report, tacit_text_t *text);
void tacit_report_diagnostics_json(const tacit_report_t *report, tacit_text_t *text);
/* Is anything known of the priors? Then tables have two more columns. */
bool tacit_report_has_priors(const tacit_summary_t *summaries, size_t n);
/* Append releases.json; add a setting to what is kept. */
TACIT_MUST_USE tacit_status_t tacit_released_set(tacit_released_t *kept, const char *name, const char *value,
                                                 tacit_error_t *err);
void tacit_released_json(const tacit_released_t *kept, tacit_text_t *text);
void tacit_report_run_yaml(const tacit_report_t *report, tacit_text_t *text);
void tacit_report_page(const tacit_report_t *report, const tacit_summary_t *summaries, tacit_text_t *text);

/*
 * The statement in lines: "# heading", "- item", four spaces and what is kept as it is, else a paragraph; the
 * headline comes first. Rendered as plain text and as HTML.
 */
void tacit_statement_lines(const tacit_report_t *report, tacit_text_t *lines);
void tacit_statement_text(const char *lines, tacit_text_t *text);
/* The end of a page: its text to `out`, or, after an error of it or of memory, freed; lines are freed.
 * Returns what went wrong. */
tacit_status_t tacit_statement_hand_over(tacit_status_t status, tacit_text_t *lines, tacit_text_t *text,
                                         char **out, tacit_error_t *err);
void tacit_statement_html(const char *lines, const char *heading, tacit_text_t *text); /* heading: "h3" */
/* "- 3 of "gradient" with Gaussian noise of ..." */
void tacit_statement_event(const tacit_event_t *event, tacit_text_t *text);
/* " (replacing one row; the number of rows is public)": the change that a cost is for. */
void tacit_statement_change(tacit_relation_t relation, const char *unit, tacit_text_t *text);

/* ---- pages ---- */

/* Up to and with the heading: `before` is in the title alone, of_page the style that this page has besides.
 */
void tacit_page_head(const char *before, const char *title, const char *of_page, tacit_text_t *text);
void tacit_page_foot(tacit_text_t *text);

/* ---- answer.c: effects in a reader's terms ---- */

typedef struct tacit_effect {
  char text[128];          /* "per 10 of age", "per doubling of flc", "sexM" */
  bool is_level;           /* of two values: there is no step */
  tacit_summary_t summary; /* of the coefficient times the step */
} tacit_effect_t;

/* Are sds of features known, by which steps are chosen? */
bool tacit_report_has_effects(const tacit_report_t *report);
/* effects (draws->n_reported) <- those of all terms but the intercept; returns how many there are. */
size_t tacit_report_effects(const tacit_report_t *report, const tacit_summary_t *summaries,
                            tacit_effect_t *effects);
/* A sentence on the clearest effects; what noise added to intervals, if that is known. */
void tacit_report_answer(const tacit_report_t *report, const tacit_effect_t *effects, size_t n,
                         tacit_text_t *text);
void tacit_report_cost(const tacit_report_t *report, tacit_text_t *text);
void tacit_figure_effects(const tacit_report_t *report, const tacit_effect_t *effects, size_t n,
                          tacit_text_t *text);

/* ---- figures of the page ---- */

/* Numbers of an axis: multiples of step from first to last. */
typedef struct tacit_axis {
  double low, high; /* the data's range, widened if empty */
  double first, step;
  int n_ticks;
  int decimals; /* of a label; -1: labels need an exponent */
} tacit_axis_t;

tacit_axis_t tacit_axis_make(double low, double high, int target);
double tacit_axis_tick(const tacit_axis_t *axis, int i);
void tacit_axis_label(tacit_text_t *text, const tacit_axis_t *axis, int i);
/* A label cut to so many columns, an ellipsis in place of the rest, escaped. */
void tacit_text_html_cut(tacit_text_t *text, const char *s, size_t max_width);

/* shape (n); is_ratio: the summaries are of logarithms, and ratios are read. */
void tacit_figure_intervals(const char *const *labels, const tacit_summary_t *summaries, size_t n,
                            bool is_ratio, tacit_text_t *text);
void tacit_figure_curve(const tacit_curve_t *curve, tacit_text_t *text);
/* Section, figure and table of what tacit check wrote. */
void tacit_figure_check(const char *check_json, tacit_text_t *text);
void tacit_figure_trace(const tacit_report_t *report, size_t j, tacit_text_t *text);
const char *tacit_figure_colour(size_t chain);

#endif
