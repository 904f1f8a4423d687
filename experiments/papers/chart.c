/* Charts of several panels as SVG. */
#include <stdlib.h>
#include <string.h>

#include "papers.h"

enum {
  panel_width = 400,
  panel_height = 270,
  left = 62,
  right = 14,
  top = 30,
  bottom = 46,
  head = 30,
  legend_line = 20
};

/* Okabe and Ito's colours, told apart by colour-blind readers too; the last is for what is exact. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#7f7f7f", "#000000"};
enum { n_colours = sizeof colours / sizeof colours[0] };

typedef struct axis {
  double lower, upper, step; /* on a logarithmic axis, of the logarithm */
  bool is_log;
} axis_t;

series_t *panel_add(panel_t *panel, const char *label, int colour, mark_t mark, const double *x,
                    const double *y, size_t n) {
  if (panel->n_series == most_series) {
    fprintf(stderr, "tacit-papers: a panel holds at most %d series\n", (int)most_series);
    exit(1);
  }
  series_t *series = &panel->series[panel->n_series++];
  *series = (series_t){.label = label, .colour = colour % n_colours, .mark = mark, .x = x, .y = y, .n = n};
  return series;
}

static double scaled(const axis_t *axis, double v) { return axis->is_log ? (v > 0 ? log10(v) : NAN) : v; }

/* The least of 1, 2, 5, 10 times a power of ten that is not below `step`; of logarithms, whole decades or
 * 0.5. */
static double round_step(double step, bool is_log) {
  double power = pow(10, floor(log10(step))), share = step / power;
  double rounded = (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10) * power;
  return is_log ? (rounded <= 0.5 ? 0.5 : ceil(rounded)) : rounded;
}

static void widen(axis_t *axis, double v) {
  double at = scaled(axis, v);
  if (isfinite(at)) {
    axis->lower = fmin(axis->lower, at);
    axis->upper = fmax(axis->upper, at);
  }
}

static axis_t axis_of(const panel_t *panel, bool is_vertical) {
  axis_t axis = {INFINITY, -INFINITY, 0, is_vertical ? panel->log_y : panel->log_x};
  if (panel->range != NULL) {
    widen(&axis, panel->range[is_vertical ? 2 : 0]);
    widen(&axis, panel->range[is_vertical ? 3 : 1]);
  }
  for (size_t s = 0; panel->range == NULL && s < panel->n_series; s++) {
    const series_t *series = &panel->series[s];
    for (size_t i = 0; i < series->n; i++) {
      widen(&axis, is_vertical ? series->y[i] : series->x[i]);
      if (is_vertical && series->low != NULL) {
        widen(&axis, series->low[i]);
        widen(&axis, series->high[i]);
      }
    }
  }
  if (!(axis.upper > axis.lower)) {
    axis.lower = isfinite(axis.lower) ? axis.lower - 0.5 : 0;
    axis.upper = axis.lower + 1;
  }
  axis.step = round_step((axis.upper - axis.lower) / 6, axis.is_log);
  if (panel->range == NULL && is_vertical) {
    axis.lower = floor(axis.lower / axis.step + 1e-9) * axis.step;
    axis.upper = ceil(axis.upper / axis.step - 1e-9) * axis.step;
  } else if (panel->range == NULL) {
    double margin = 0.03 * (axis.upper - axis.lower);
    axis.lower -= margin;
    axis.upper += margin;
  }
  return axis;
}

static double place_x(const axis_t *axis, double v) {
  return left + (scaled(axis, v) - axis->lower) / (axis->upper - axis->lower) * (panel_width - left - right);
}

static double place_y(const axis_t *axis, double v) {
  return panel_height - bottom -
         (scaled(axis, v) - axis->lower) / (axis->upper - axis->lower) * (panel_height - top - bottom);
}

/* Ticks at whole steps; on a logarithmic axis with half steps, 3 stands for 10^0.5. */
static double tick_value(const axis_t *axis, double at) {
  if (!axis->is_log) {
    return fabs(at) < 1e-9 * axis->step ? 0 : at;
  }
  double whole = floor(at + 1e-9);
  return at - whole > 0.25 ? 3 * pow(10, whole) : pow(10, whole);
}

static void draw_axes(FILE *file, const panel_t *panel, const axis_t *x, const axis_t *y) {
  int x_end = panel_width - right, y_end = panel_height - bottom;
  fprintf(file, "<text x='%d' y='18' font-size='13' font-weight='bold'>%s</text>\n", left, panel->title);
  fprintf(file, "<text x='%d' y='%d' text-anchor='middle'>%s</text>\n", (left + x_end) / 2, panel_height - 10,
          panel->x_label);
  fprintf(file, "<text transform='translate(14 %d) rotate(-90)' text-anchor='middle'>%s</text>\n",
          (top + y_end) / 2, panel->y_label);
  for (double at = ceil(x->lower / x->step - 1e-9) * x->step; at <= x->upper + 1e-9 * x->step;
       at += x->step) {
    double v = tick_value(x, at), p = place_x(x, v);
    fprintf(
        file,
        "<text x='%.1f' y='%d' text-anchor='middle'>%.4g</text>\n<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' "
        "stroke='#ddd'/>\n",
        p, y_end + 16, v, p, p, top, y_end);
  }
  for (double at = ceil(y->lower / y->step - 1e-9) * y->step; at <= y->upper + 1e-9 * y->step;
       at += y->step) {
    double v = tick_value(y, at), p = place_y(y, v);
    fprintf(file,
            "<text x='%d' y='%.1f' text-anchor='end'>%.4g</text>\n<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' "
            "stroke='#ddd'/>\n",
            left - 6, p + 4, v, left, x_end, p, p);
  }
  fprintf(file, "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='#888'/>\n", left, top,
          x_end - left, y_end - top);
}

static void draw_line(FILE *file, const series_t *series, const axis_t *x, const axis_t *y) {
  fprintf(file, "<path fill='none' stroke='%s' stroke-width='1.8'%s d='", colours[series->colour],
          series->mark == MARK_DASHED ? " stroke-dasharray='5 4'" : "");
  bool pen = false;
  for (size_t i = 0; i < series->n; i++) {
    double px = place_x(x, series->x[i]), py = place_y(y, series->y[i]);
    bool is_there = isfinite(px) && isfinite(py);
    if (is_there) {
      fprintf(file, "%c%.1f %.1f ", pen ? 'L' : 'M', px, py);
    }
    pen = is_there;
  }
  fputs("'/>\n", file);
}

static void draw_points(FILE *file, const series_t *series, const axis_t *x, const axis_t *y) {
  bool is_cloud = series->mark == MARK_CLOUD;
  fprintf(file, "<g fill='%s'%s stroke='none'>\n", colours[series->colour],
          is_cloud ? " fill-opacity='0.35'" : "");
  for (size_t i = 0; i < series->n; i++) {
    double px = place_x(x, series->x[i]), py = place_y(y, series->y[i]);
    if (isfinite(px) && isfinite(py)) {
      fprintf(file, "<circle cx='%.1f' cy='%.1f' r='%s'/>\n", px, py, is_cloud ? "1.1" : "3");
    }
  }
  fputs("</g>\n", file);
}

static void draw_bars(FILE *file, const series_t *series, const axis_t *x, const axis_t *y) {
  for (size_t i = 0; i < series->n; i++) {
    double px = place_x(x, series->x[i]), low = place_y(y, series->low[i]),
           high = place_y(y, series->high[i]);
    if (isfinite(px) && isfinite(low) && isfinite(high)) {
      fprintf(file, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='%s' stroke-width='1'/>\n", px, px,
              low, high, colours[series->colour]);
    }
  }
}

static void draw_panel(FILE *file, const panel_t *panel, size_t id) {
  axis_t x = axis_of(panel, false), y = axis_of(panel, true);
  draw_axes(file, panel, &x, &y);
  fprintf(file,
          "<clipPath id='c%zu'><rect x='%d' y='%d' width='%d' height='%d'/></clipPath><g "
          "clip-path='url(#c%zu)'>\n",
          id, left, top, panel_width - left - right, panel_height - top - bottom, id);
  for (size_t s = 0; s < panel->n_series; s++) {
    const series_t *series = &panel->series[s];
    if (series->low != NULL) {
      draw_bars(file, series, &x, &y);
    }
    if (series->mark != MARK_CLOUD) {
      draw_line(file, series, &x, &y);
    }
    if (series->mark == MARK_DOTS || series->mark == MARK_CLOUD) {
      draw_points(file, series, &x, &y);
    }
  }
  fputs("</g>\n", file);
}

/* The distinct labels of all panels, in rows of two panels' width. */
static size_t draw_legend(FILE *file, const chart_t *chart, double y, double width) {
  const char *seen[most_panels * most_series];
  size_t n_seen = 0, n_lines = 1;
  double x = left;
  for (size_t p = 0; p < chart->n_panels; p++) {
    for (size_t s = 0; s < chart->panels[p].n_series; s++) {
      const series_t *series = &chart->panels[p].series[s];
      bool is_new = series->label != NULL;
      for (size_t i = 0; i < n_seen && is_new; i++) {
        is_new = strcmp(seen[i], series->label) != 0;
      }
      if (!is_new) {
        continue;
      }
      seen[n_seen++] = series->label;
      double length = 46 + 6.6 * (double)strlen(series->label);
      if (x + length > width && x > left) {
        x = left;
        y += legend_line;
        n_lines++;
      }
      if (file != NULL) {
        fprintf(file, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='%s' stroke-width='%s'%s/>", x,
                x + 26, y - 4, y - 4, colours[series->colour],
                series->mark == MARK_CLOUD ? "4' stroke-dasharray='3 5" : "2",
                series->mark == MARK_DASHED ? " stroke-dasharray='5 4'" : "");
        fprintf(file, "<text x='%.1f' y='%.1f'>%s</text>\n", x + 32, y, series->label);
      }
      x += length;
    }
  }
  return n_lines;
}

void chart_write(run_t *run, const char *suffix, const chart_t *chart) {
  size_t n_rows = (chart->n_panels + chart->n_columns - 1) / chart->n_columns;
  int width = (int)chart->n_columns * panel_width, panels_end = head + (int)n_rows * panel_height;
  int height = panels_end + legend_line * (int)draw_legend(NULL, chart, 0, width) + 10;
  FILE *file = open_output(run, suffix, ".svg");
  fprintf(file,
          "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' "
          "font-family='sans-serif' "
          "font-size='11'>\n<rect width='100%%' height='100%%' fill='white'/>\n<text x='14' y='20' "
          "font-size='15'>%s</text>\n",
          width, height, width, height, chart->title);
  for (size_t p = 0; p < chart->n_panels; p++) {
    fprintf(file, "<g transform='translate(%d %d)'>\n", (int)(p % chart->n_columns) * panel_width,
            head + (int)(p / chart->n_columns) * panel_height);
    draw_panel(file, &chart->panels[p], p);
    fputs("</g>\n", file);
  }
  draw_legend(file, chart, panels_end + 14, width);
  fputs("</svg>\n", file);
  close_output(file);
  say(run, "\n![%s](%s%s%s.svg)\n", chart->title, run->study->name, suffix[0] != '\0' ? "-" : "", suffix);
}
