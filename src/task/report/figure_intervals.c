/*
 * Quantities on one axis: the 90 % interval as a thick line, the 95 % one as a thin line, the median as a
 * dot, the numbers beside them. Positions are percentages, so that a row is as wide as there is room while
 * letters and lines keep their size.
 */
#include <math.h>

#include "report/report_internal.h"

/* Of the picture that stands alone, in pixels. */
enum { WIDTH = 680, ROW = 24, TOP = 8, BOTTOM = 30, NUMBERS = 210, GAP = 16, LETTER = 7, MAX_LETTERS = 30 };
/* Numbers of a logarithmic axis are at least so many percent apart. */
static const double least_distance = 12;

static bool is_drawn(const tacit_summary_t *s) {
  return isfinite(s->q5) && isfinite(s->q50) && isfinite(s->q95);
}

typedef struct plot {
  tacit_axis_t axis;
  bool is_ratio; /* numbers are logarithms of what is read */
} plot_t;

static double percent_of(const plot_t *plot, double value) {
  double share = (value - plot->axis.low) / (plot->axis.high - plot->axis.low);
  return 100 * fmin(fmax(share, 0), 1);
}

static void attribute(tacit_text_t *text, const char *name, double value, const char *unit) {
  tacit_text_printf(text, " %s=\"", name);
  tacit_text_fixed(text, value, 1);
  tacit_text_printf(text, "%s\"", unit);
}

/* y in percent of the row. */
static void line(tacit_text_t *text, const char *class, double x1, double y1, double x2, double y2) {
  tacit_text_printf(text, "<line class=\"%s\"", class);
  attribute(text, "x1", x1, "%");
  attribute(text, "y1", y1, "%");
  attribute(text, "x2", x2, "%");
  attribute(text, "y2", y2, "%");
  tacit_text_printf(text, "/>\n");
}

/* ---- where the axis has numbers ---- */

typedef void (*tick_writer)(const plot_t *plot, double percent, bool is_zero, double number,
                            tacit_text_t *text);

static void grid_line(const plot_t *plot, double percent, bool is_zero, double number, tacit_text_t *text) {
  (void)plot, (void)number;
  line(text, is_zero ? "zero" : "grid", percent, 0, percent, 100);
}

static void tick_number(const plot_t *plot, double percent, bool is_zero, double number, tacit_text_t *text) {
  (void)is_zero;
  tacit_text_printf(text, "<text text-anchor=\"middle\"");
  attribute(text, "x", percent, "%");
  tacit_text_printf(text, " y=\"14\">");
  if (plot->is_ratio) {
    tacit_text_shortest(text, number);
  } else {
    tacit_axis_label(text, &plot->axis, (int)number);
  }
  tacit_text_printf(text, "</text>\n");
}

/* Ratios that are read at sight, upwards from the least that is there. */
static void ratio_ticks(const plot_t *plot, tick_writer write, tacit_text_t *text) {
  static const double nice[] = {1, 1.5, 2, 3, 5, 7};
  enum { N_NICE = sizeof nice / sizeof nice[0] };
  double last = -INFINITY;
  for (int i = -3 * N_NICE; i < 3 * N_NICE; i++) {
    int k = ((i % N_NICE) + N_NICE) % N_NICE, power = (i - k) / N_NICE;
    double ratio = power < 0 ? nice[k] / pow(10, -power) : nice[k] * pow(10, power), value = log(ratio),
           x = percent_of(plot, value);
    bool is_there = value > plot->axis.low && value < plot->axis.high, is_one = i == 0;
    bool is_near_one = fabs(x - percent_of(plot, 0)) <= least_distance;
    if (is_there && (is_one || (x - last > least_distance && !is_near_one))) {
      write(plot, x, is_one, ratio, text);
      last = x;
    }
  }
}

static void ticks(const plot_t *plot, tick_writer write, tacit_text_t *text) {
  if (plot->is_ratio) {
    ratio_ticks(plot, write, text);
    return;
  }
  for (int i = 0; i < plot->axis.n_ticks; i++) {
    double value = tacit_axis_tick(&plot->axis, i);
    write(plot, percent_of(plot, value), fabs(value) < 1e-9 * plot->axis.step, i, text);
  }
}

/* ---- a row ---- */

static void bar(const plot_t *plot, const tacit_summary_t *s, tacit_text_t *text) {
  ticks(plot, grid_line, text);
  if (!is_drawn(s)) {
    return;
  }
  if (isfinite(s->q2_5) && isfinite(s->q97_5)) {
    line(text, "wide", percent_of(plot, s->q2_5), 50, percent_of(plot, s->q97_5), 50);
  }
  line(text, "interval", percent_of(plot, s->q5), 50, percent_of(plot, s->q95), 50);
  tacit_text_printf(text, "<circle r=\"4\" cy=\"50%%\"");
  attribute(text, "cx", percent_of(plot, s->q50), "%");
  tacit_text_printf(text, "/>\n");
}

static void number(const plot_t *plot, double value, const tacit_summary_t *s, tacit_text_t *text) {
  if (plot->is_ratio) {
    tacit_text_estimate(text, exp(value), exp(s->q50) * s->sd); /* all with the digits of the median */
  } else {
    tacit_text_estimate(text, value, s->sd);
  }
}

static void numbers(const plot_t *plot, const tacit_summary_t *s, tacit_text_t *text) {
  number(plot, s->q50, s, text);
  tacit_text_printf(text, " [");
  number(plot, s->q5, s, text);
  tacit_text_printf(text, ", ");
  number(plot, s->q95, s, text);
  tacit_text_printf(text, "]");
}

static plot_t plot_of(const tacit_summary_t *summaries, size_t n, bool is_ratio) {
  double low = INFINITY, high = -INFINITY;
  for (size_t j = 0; j < n; j++) {
    const tacit_summary_t *s = &summaries[j];
    if (is_drawn(s)) {
      low = fmin(low, fmin(s->q5, s->q2_5)); /* fmin leaves out what is not a number */
      high = fmax(high, fmax(s->q95, s->q97_5));
    }
  }
  if (!(low <= high)) { /* not one quantity can be drawn */
    low = high = 0;
  }
  if (is_ratio) { /* what changes nothing is always to be seen */
    low = fmin(low, 0);
    high = fmax(high, 0);
  }
  double margin = 0.04 * (high - low);
  return (plot_t){.axis = tacit_axis_make(low - margin, high + margin, 6), .is_ratio = is_ratio};
}

/* ---- on a page: a grid of name, bar and numbers; on a narrow screen the bar is below the other two ---- */

void tacit_figure_intervals(const char *const *labels, const tacit_summary_t *summaries, size_t n,
                            bool is_ratio, tacit_text_t *text) {
  plot_t plot = plot_of(summaries, n, is_ratio);
  tacit_text_printf(text, "<div class=\"intervals\">\n");
  for (size_t j = 0; j < n; j++) {
    tacit_text_printf(text, "<div class=\"name\">");
    tacit_text_html(text, labels[j]);
    tacit_text_printf(text, "</div><div class=\"numbers\">");
    numbers(&plot, &summaries[j], text);
    tacit_text_printf(text, "</div><svg class=\"bar\" aria-hidden=\"true\">\n");
    bar(&plot, &summaries[j], text);
    tacit_text_printf(text, "</svg>\n");
  }
  tacit_text_printf(text, "<svg class=\"ticks\" aria-hidden=\"true\">\n");
  ticks(&plot, tick_number, text);
  tacit_text_printf(text, "</svg></div>\n");
}

/* ---- standing alone: the same bars in an SVG of fixed width ---- */

static size_t letters_of(const char *const *labels, size_t n) {
  size_t letters = 6;
  for (size_t j = 0; j < n; j++) {
    size_t width = tacit_utf8_width(labels[j]);
    letters = width > letters ? width : letters;
  }
  return letters < MAX_LETTERS ? letters : MAX_LETTERS;
}

static void lone_text(double x, double y, tacit_text_t *text) {
  tacit_text_printf(text, "<text text-anchor=\"end\"");
  attribute(text, "x", x, "");
  attribute(text, "y", y, "");
  tacit_text_printf(text, ">");
}

static void lone_row(const plot_t *plot, const char *label, const tacit_summary_t *s, double left, size_t y,
                     tacit_text_t *text) {
  lone_text(left - GAP, (double)y + 16, text);
  tacit_text_html_cut(text, label, MAX_LETTERS);
  tacit_text_printf(text, "</text><svg x=\"%d\" y=\"%zu\" width=\"%d\" height=\"%d\">\n", (int)left, y,
                    WIDTH - NUMBERS - (int)left, (int)ROW);
  bar(plot, s, text);
  tacit_text_printf(text, "</svg>");
  lone_text(WIDTH, (double)y + 16, text);
  numbers(plot, s, text);
  tacit_text_printf(text, "</text>\n");
}

tacit_status_t tacit_report_intervals_svg(const char *const *labels, const tacit_summary_t *summaries,
                                          size_t n, char **svg, tacit_error_t *err) {
  plot_t plot = plot_of(summaries, n, false);
  double left = (double)(LETTER * letters_of(labels, n) + GAP + 4);
  tacit_text_t text = {0};
  tacit_text_printf(
      &text,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"medians, 90 %% and 95 %% "
      "intervals\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\">\n"
      "<style>text {font: 13px sans-serif} .interval {stroke: #27506f; stroke-width: 4} .wide {stroke: "
      "#27506f} circle {fill: #27506f} .grid {stroke: #ddd} .zero {stroke: #888}</style>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      (int)WIDTH, TOP + ROW * n + BOTTOM, (int)WIDTH, TOP + ROW * n + BOTTOM);
  for (size_t j = 0; j < n; j++) {
    lone_row(&plot, labels[j], &summaries[j], left, TOP + ROW * j, &text);
  }
  tacit_text_printf(&text, "<svg x=\"%d\" y=\"%zu\" width=\"%d\" height=\"%d\" overflow=\"visible\">\n",
                    (int)left, TOP + ROW * n, WIDTH - NUMBERS - (int)left, (int)BOTTOM);
  ticks(&plot, tick_number, &text);
  tacit_text_printf(&text, "</svg></svg>\n");
  return tacit_text_take(&text, TACIT_OK, svg, err);
}
