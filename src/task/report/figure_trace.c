/* Trace of one quantity, a line per chain, with the histogram of all its draws on the same vertical axis. */
#include <math.h>
#include <string.h>

#include "report/report.h"
#include "report/report_internal.h"

enum {
  WIDTH = 900,
  HEIGHT = 150,
  TOP = 10,
  BOTTOM = 22,
  LEFT = 70,
  RIGHT = 720,
  HISTOGRAM = 740,
  END = 890,
  N_BINS = 40,
  MAX_CHAINS = 16,
  MAX_POINTS = 2400
};

typedef struct panel {
  const tacit_draws_t *draws;
  size_t j, n_kept, n_chains;
  tacit_axis_t axis;
} panel_t;

/* Okabe and Ito's colours, told apart by colour-blind readers too. */
const char *tacit_figure_colour(size_t chain) {
  static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                        "#56b4e9", "#d55e00", "#7f7f7f", "#332288"};
  return colours[chain % (sizeof colours / sizeof colours[0])];
}

static double value_at(const panel_t *panel, size_t chain, size_t i) {
  return tacit_draws_row(panel->draws, chain, panel->draws->n_warmup + i)[panel->j];
}

static double y_of(const panel_t *panel, double value) {
  double share = (value - panel->axis.low) / (panel->axis.high - panel->axis.low);
  return HEIGHT - BOTTOM - fmin(fmax(share, 0), 1) * (HEIGHT - BOTTOM - TOP);
}

static void point(const panel_t *panel, size_t i, double value, tacit_text_t *text) {
  double span = panel->n_kept > 1 ? (double)(panel->n_kept - 1) : 1;
  tacit_text_fixed(text, LEFT + (RIGHT - LEFT) * (double)i / span, 1);
  tacit_text_append(text, ",", 1);
  tacit_text_fixed(text, y_of(panel, value), 1);
  tacit_text_append(text, " ", 1);
}

/* Least and largest draw of rows begin .. end-1 in the order in which they came: excursions stay visible. */
static void extremes(const panel_t *panel, size_t chain, size_t begin, size_t end, tacit_text_t *text) {
  size_t low = end, high = end;
  for (size_t i = begin; i < end; i++) {
    double value = value_at(panel, chain, i);
    if (isfinite(value)) {
      low = low == end || value < value_at(panel, chain, low) ? i : low;
      high = high == end || value > value_at(panel, chain, high) ? i : high;
    }
  }
  if (low == end) {
    return;
  }
  size_t first = low < high ? low : high, second = low < high ? high : low;
  point(panel, first, value_at(panel, chain, first), text);
  if (second != first) {
    point(panel, second, value_at(panel, chain, second), text);
  }
}

static void draw_chain(const panel_t *panel, size_t chain, tacit_text_t *text) {
  size_t n_bins = MAX_POINTS / (2 * panel->n_chains);
  n_bins = n_bins < panel->n_kept ? n_bins : panel->n_kept;
  tacit_text_printf(text, "<polyline stroke=\"%s\" points=\"", tacit_figure_colour(chain));
  for (size_t b = 0; b < n_bins; b++) {
    size_t begin = (size_t)((double)b * (double)panel->n_kept / (double)n_bins);
    size_t end =
        b + 1 == n_bins ? panel->n_kept : (size_t)((double)(b + 1) * (double)panel->n_kept / (double)n_bins);
    extremes(panel, chain, begin, end, text);
  }
  tacit_text_printf(text, "\"/>\n");
}

static void draw_histogram(const panel_t *panel, tacit_text_t *text) {
  size_t counts[N_BINS] = {0}, most = 1;
  for (size_t c = 0; c < panel->draws->n_chains; c++) {
    for (size_t i = 0; i < panel->n_kept; i++) {
      double share = (value_at(panel, c, i) - panel->axis.low) / (panel->axis.high - panel->axis.low);
      if (share >= 0 && share <= 1) {
        size_t bin = (size_t)(share * N_BINS);
        counts[bin < N_BINS ? bin : N_BINS - 1]++;
      }
    }
  }
  for (int b = 0; b < N_BINS; b++) {
    most = counts[b] > most ? counts[b] : most;
  }
  double height = (double)(HEIGHT - BOTTOM - TOP) / N_BINS;
  tacit_text_printf(text, "<path class=\"histogram\" d=\"M%d %d", (int)HISTOGRAM, HEIGHT - BOTTOM);
  for (int b = 0; b < N_BINS; b++) {
    double x = HISTOGRAM + (END - HISTOGRAM) * (double)counts[b] / (double)most;
    tacit_text_append(text, "H", 1);
    tacit_text_fixed(text, x, 1);
    tacit_text_append(text, "V", 1);
    tacit_text_fixed(text, HEIGHT - BOTTOM - (b + 1) * height, 1);
  }
  tacit_text_printf(text, "H%dZ\"/>\n", (int)HISTOGRAM);
}

static void draw_axes(const panel_t *panel, tacit_text_t *text) {
  for (int i = 0; i < panel->axis.n_ticks; i++) {
    double y = y_of(panel, tacit_axis_tick(&panel->axis, i));
    tacit_text_printf(text, "<path class=\"grid\" d=\"M%d ", (int)LEFT);
    tacit_text_fixed(text, y, 1);
    tacit_text_printf(text, "H%d\"/><text text-anchor=\"end\" x=\"%d\" y=\"", (int)END, LEFT - 8);
    tacit_text_fixed(text, y + 4, 1);
    tacit_text_printf(text, "\">");
    tacit_axis_label(text, &panel->axis, i);
    tacit_text_printf(text, "</text>\n");
  }
  tacit_text_printf(text, "<text x=\"%d\" y=\"%d\">1</text>", (int)LEFT, HEIGHT - 6);
  tacit_text_printf(text, "<text text-anchor=\"end\" x=\"%d\" y=\"%d\">draw %zu</text>\n", (int)RIGHT,
                    HEIGHT - 6, panel->n_kept);
}

void tacit_figure_trace(const tacit_report_t *report, size_t j, tacit_text_t *text) {
  const tacit_draws_t *draws = report->draws;
  panel_t panel = {.draws = draws,
                   .j = j,
                   .n_kept = tacit_draws_n_kept(draws),
                   .n_chains = draws->n_chains < MAX_CHAINS ? draws->n_chains : MAX_CHAINS};
  double low = INFINITY, high = -INFINITY;
  for (size_t c = 0; c < draws->n_chains; c++) {
    for (size_t i = 0; i < panel.n_kept; i++) {
      double value = value_at(&panel, c, i);
      if (isfinite(value)) {
        low = fmin(low, value);
        high = fmax(high, value);
      }
    }
  }
  panel.axis = tacit_axis_make(low <= high ? low : 0, low <= high ? high : 0, 4);
  tacit_text_printf(
      text, "<svg class=\"trace\" role=\"img\" aria-label=\"trace and histogram\" viewBox=\"0 0 %d %d\">\n",
      (int)WIDTH, (int)HEIGHT);
  draw_axes(&panel, text);
  for (size_t c = 0; c < panel.n_chains; c++) {
    draw_chain(&panel, c, text);
  }
  draw_histogram(&panel, text);
  tacit_text_printf(text, "</svg>\n");
}
