/* Quantities on one axis: the 90 % interval as a thick line, the 95 % one as a thin line, the median as a dot, the numbers beside them. */
#include <math.h>

#include "report/report_internal.h"

enum { WIDTH = 680, ROW = 24, TOP = 8, BOTTOM = 30, NUMBERS = 210, GAP = 16, LETTER = 7, MAX_LETTERS = 30, APART = 48 };

static bool is_drawn(const tacit_summary_t *s) {
  return isfinite(s->q5) && isfinite(s->q50) && isfinite(s->q95);
}

typedef struct plot {
  tacit_axis_t axis;
  double left, right, bottom;
  bool is_ratio; /* numbers are logarithms of what is read */
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

/* A line at x; its number is to follow. */
static void tick(const plot_t *plot, double x, bool is_zero, tacit_text_t *text) {
  line(text, is_zero ? "zero" : "grid", x, TOP, x, plot->bottom);
  text_at(text, x, plot->bottom + 17, "middle");
}

static void draw_axis(const plot_t *plot, tacit_text_t *text) {
  for (int i = 0; i < plot->axis.n_ticks; i++) {
    double value = tacit_axis_tick(&plot->axis, i);
    tick(plot, x_of(plot, value), fabs(value) < 1e-9 * plot->axis.step, text);
    tacit_axis_label(text, &plot->axis, i);
    tacit_text_printf(text, "</text>\n");
  }
}

/* Ratios that are read at sight, upwards from the least that is there. */
static void draw_ratios(const plot_t *plot, tacit_text_t *text) {
  static const double nice[] = {1, 1.5, 2, 3, 5, 7};
  enum { N_NICE = sizeof nice / sizeof nice[0] };
  double last = -INFINITY;
  for (int i = -3 * N_NICE; i < 3 * N_NICE; i++) {
    int k = ((i % N_NICE) + N_NICE) % N_NICE, power = (i - k) / N_NICE;
    double ratio = power < 0 ? nice[k] / pow(10, -power) : nice[k] * pow(10, power), value = log(ratio), x = x_of(plot, value);
    bool is_there = value > plot->axis.low && value < plot->axis.high, is_one = i == 0, is_near_one = fabs(x - x_of(plot, 0)) <= APART;
    if (is_there && (is_one || (x - last > APART && !is_near_one))) {
      tick(plot, x, is_one, text);
      tacit_text_shortest(text, ratio);
      tacit_text_printf(text, "</text>\n");
      last = x;
    }
  }
}

static void number(const plot_t *plot, double value, const tacit_summary_t *s, tacit_text_t *text) {
  if (plot->is_ratio) {
    tacit_text_estimate(text, exp(value), exp(value) * s->sd);
  } else {
    tacit_text_estimate(text, value, s->sd);
  }
}

static void draw_row(const plot_t *plot, const char *label, const tacit_summary_t *s, double y, tacit_text_t *text) {
  text_at(text, plot->left - GAP, y + 4, "end");
  tacit_text_printf(text, "<title>");
  tacit_text_html(text, label);
  tacit_text_printf(text, "</title>");
  tacit_text_html_cut(text, label, MAX_LETTERS);
  tacit_text_printf(text, "</text>\n");
  if (is_drawn(s)) {
    if (isfinite(s->q2_5) && isfinite(s->q97_5)) {
      line(text, "wide", x_of(plot, s->q2_5), y, x_of(plot, s->q97_5), y);
    }
    line(text, "interval", x_of(plot, s->q5), y, x_of(plot, s->q95), y);
    tacit_text_printf(text, "<circle r=\"4\" cx=\"");
    tacit_text_fixed(text, x_of(plot, s->q50), 1);
    tacit_text_printf(text, "\" cy=\"");
    tacit_text_fixed(text, y, 1);
    tacit_text_printf(text, "\"/>\n");
  }
  text_at(text, WIDTH, y + 4, "end");
  number(plot, s->q50, s, text);
  tacit_text_printf(text, " [");
  number(plot, s->q5, s, text);
  tacit_text_printf(text, ", ");
  number(plot, s->q95, s, text);
  tacit_text_printf(text, "]</text>\n");
}

void tacit_figure_intervals(const char *const *labels, const tacit_summary_t *summaries, size_t n, bool is_ratio, tacit_text_t *text) {
  size_t letters = 6;
  double low = INFINITY, high = -INFINITY;
  for (size_t j = 0; j < n; j++) {
    const tacit_summary_t *s = &summaries[j];
    size_t width = tacit_utf8_width(labels[j]);
    letters = width > letters ? width : letters;
    if (is_drawn(s)) {
      low = fmin(low, fmin(s->q5, s->q2_5)); /* fmin leaves out what is not a number */
      high = fmax(high, fmax(s->q95, s->q97_5));
    }
  }
  letters = letters < MAX_LETTERS ? letters : MAX_LETTERS;
  if (!(low <= high)) { /* not one quantity can be drawn */
    low = high = 0;
  }
  if (is_ratio) { /* what changes nothing is always to be seen */
    low = fmin(low, 0);
    high = fmax(high, 0);
  }
  double margin = 0.04 * (high - low);
  plot_t plot = {.axis = tacit_axis_make(low - margin, high + margin, 6),
                 .left = (double)(LETTER * letters + GAP + 4),
                 .right = WIDTH - NUMBERS,
                 .bottom = (double)(TOP + ROW * n),
                 .is_ratio = is_ratio};
  tacit_text_printf(text, "<svg class=\"intervals\" role=\"img\" aria-label=\"medians, 90 %% and 95 %% intervals\" "
                          "viewBox=\"0 0 %d %zu\">\n", (int)WIDTH, TOP + ROW * n + BOTTOM);
  (is_ratio ? draw_ratios : draw_axis)(&plot, text);
  for (size_t j = 0; j < n; j++) {
    draw_row(&plot, labels[j], &summaries[j], TOP + ROW * ((double)j + 0.5), text);
  }
  tacit_text_printf(text, "</svg>\n");
}

tacit_status_t tacit_report_intervals_svg(const char *const *labels, const tacit_summary_t *summaries, size_t n, char **svg,
                                          tacit_error_t *err) {
  tacit_text_t text = {0};
  tacit_text_printf(&text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\">\n"
                           "<style>text {font: 13px sans-serif} .interval {stroke: #27506f; stroke-width: 4} .wide {stroke: #27506f} "
                           "circle {fill: #27506f} .grid {stroke: #ddd} .zero {stroke: #888}</style>\n"
                           "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                    (int)WIDTH, TOP + ROW * n + BOTTOM, (int)WIDTH, TOP + ROW * n + BOTTOM);
  tacit_figure_intervals(labels, summaries, n, false, &text);
  tacit_text_printf(&text, "</svg>\n");
  return tacit_text_take(&text, TACIT_OK, svg, err);
}
