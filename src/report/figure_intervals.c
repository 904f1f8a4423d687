/* All quantities on one axis: 5 % to 95 % as a line, the median as a dot, the numbers beside them. */
#include <math.h>

#include "report/report_internal.h"

enum { WIDTH = 900, ROW = 24, TOP = 8, BOTTOM = 30, NUMBERS = 210, GAP = 16, LETTER = 7, MAX_LETTERS = 30 };

static bool is_drawn(const tacit_summary_t *s) {
  return isfinite(s->q5) && isfinite(s->q50) && isfinite(s->q95);
}

typedef struct plot {
  tacit_axis_t axis;
  double left, right, bottom;
} plot_t;

static double x_of(const plot_t *plot, double value) {
  double share = (value - plot->axis.low) / (plot->axis.high - plot->axis.low);
  return plot->left + fmin(fmax(share, 0), 1) * (plot->right - plot->left);
}

static void line(tacit_text_t *text, const char *class, double x1, double y1, double x2, double y2) {
  const double values[4] = {x1, y1, x2, y2};
  static const char *const names[4] = {"x1", "y1", "x2", "y2"};
  tacit_text_printf(text, "<line class=\"%s\"", class);
  for (int i = 0; i < 4; i++) {
    tacit_text_printf(text, " %s=\"", names[i]);
    tacit_text_fixed(text, values[i], 1);
    tacit_text_append(text, "\"", 1);
  }
  tacit_text_printf(text, "/>\n");
}

static void text_at(tacit_text_t *text, double x, double y, const char *anchor) {
  tacit_text_printf(text, "<text text-anchor=\"%s\" x=\"", anchor);
  tacit_text_fixed(text, x, 1);
  tacit_text_printf(text, "\" y=\"");
  tacit_text_fixed(text, y, 1);
  tacit_text_printf(text, "\">");
}

static void draw_axis(const plot_t *plot, tacit_text_t *text) {
  for (int i = 0; i < plot->axis.n_ticks; i++) {
    double value = tacit_axis_tick(&plot->axis, i), x = x_of(plot, value);
    bool is_zero = fabs(value) < 1e-9 * plot->axis.step;
    line(text, is_zero ? "zero" : "grid", x, TOP, x, plot->bottom);
    text_at(text, x, plot->bottom + 17, "middle");
    tacit_axis_label(text, &plot->axis, i);
    tacit_text_printf(text, "</text>\n");
  }
}

static void draw_row(const plot_t *plot, const char *label, const tacit_summary_t *s, double y,
                     tacit_text_t *text) {
  text_at(text, plot->left - GAP, y + 4, "end");
  tacit_text_printf(text, "<title>");
  tacit_text_html(text, label);
  tacit_text_printf(text, "</title>");
  tacit_text_html_cut(text, label, MAX_LETTERS);
  tacit_text_printf(text, "</text>\n");
  if (is_drawn(s)) {
    line(text, "interval", x_of(plot, s->q5), y, x_of(plot, s->q95), y);
    tacit_text_printf(text, "<circle r=\"4\" cx=\"");
    tacit_text_fixed(text, x_of(plot, s->q50), 1);
    tacit_text_printf(text, "\" cy=\"");
    tacit_text_fixed(text, y, 1);
    tacit_text_printf(text, "\"/>\n");
  }
  text_at(text, WIDTH, y + 4, "end");
  tacit_text_estimate(text, s->q50, s->sd);
  tacit_text_printf(text, " [");
  tacit_text_estimate(text, s->q5, s->sd);
  tacit_text_printf(text, ", ");
  tacit_text_estimate(text, s->q95, s->sd);
  tacit_text_printf(text, "]</text>\n");
}

void tacit_figure_intervals(const tacit_report_t *report, const tacit_summary_t *summaries,
                            tacit_text_t *text) {
  size_t n = report->draws->n_reported, letters = 6;
  double low = INFINITY, high = -INFINITY;
  for (size_t j = 0; j < n; j++) {
    size_t width = tacit_utf8_width(report->labels[j]);
    letters = width > letters ? width : letters;
    if (is_drawn(&summaries[j])) {
      low = fmin(low, summaries[j].q5);
      high = fmax(high, summaries[j].q95);
    }
  }
  letters = letters < MAX_LETTERS ? letters : MAX_LETTERS;
  if (!(low <= high)) { /* not one quantity can be drawn */
    low = high = 0;
  }
  double margin = 0.04 * (high - low);
  plot_t plot = {.axis = tacit_axis_make(low - margin, high + margin, 6),
                 .left = (double)(LETTER * letters + GAP + 4),
                 .right = WIDTH - NUMBERS,
                 .bottom = (double)(TOP + ROW * n)};
  tacit_text_printf(text, "<svg class=\"intervals\" role=\"img\" aria-label=\"90 %% intervals and medians\" "
                          "viewBox=\"0 0 %d %zu\">\n", (int)WIDTH, TOP + ROW * n + BOTTOM);
  draw_axis(&plot, text);
  for (size_t j = 0; j < n; j++) {
    draw_row(&plot, report->labels[j], &summaries[j], TOP + ROW * ((double)j + 0.5), text);
  }
  tacit_text_printf(text, "</svg>\n");
}

tacit_status_t tacit_report_intervals_svg(const char *const *labels, const tacit_summary_t *summaries, size_t n, char **svg,
                                          tacit_error_t *err) {
  tacit_draws_t draws = {.n_reported = n};
  tacit_report_t report = {.labels = labels, .draws = &draws};
  tacit_text_t text = {0};
  tacit_text_printf(&text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\">\n"
                           "<style>text {font: 13px sans-serif} .interval {stroke: #27506f; stroke-width: 2.5} circle {fill: #27506f} "
                           ".grid {stroke: #ddd} .zero {stroke: #888}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                    (int)WIDTH, TOP + ROW * n + BOTTOM, (int)WIDTH, TOP + ROW * n + BOTTOM);
  tacit_figure_intervals(&report, summaries, &text);
  tacit_text_printf(&text, "</svg>\n");
  *svg = NULL;
  if (text.failed) {
    tacit_text_clear(&text);
    return tacit_error_memory(err);
  }
  *svg = text.data;
  return TACIT_OK;
}
