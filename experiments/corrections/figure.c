/* A line chart as SVG. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "corrections.h"

enum { width = 640, height = 360, left = 70, right = 20, top = 40, bottom = 50, most_ticks = 8 };

typedef struct range {
  double lower, upper, step; /* of the axis: whole numbers of steps */
} range_t;

static double scaled(const figure_t *f, double y) { return f->log_y ? (y > 0 ? log10(y) : NAN) : y; }

/* The least of 1, 2, 5, 10 times a power of ten that is not below `step`; whole decades on a logarithmic
 * axis. */
static double round_step(double step, bool is_log) {
  double power = pow(10, floor(log10(step)));
  double factor = step <= power ? 1 : step <= 2 * power ? 2 : step <= 5 * power ? 5 : 10;
  return is_log ? fmax(ceil(factor * power), 1) : factor * power;
}

static range_t range_of(const figure_t *f, bool vertical) {
  range_t r = {INFINITY, -INFINITY, 0};
  for (size_t c = 0; c < f->n_curves; c++) {
    for (size_t i = 0; i < f->curves[c].n; i++) {
      double v = vertical ? scaled(f, f->curves[c].y[i]) : f->curves[c].x[i];
      if (isfinite(v)) {
        r.lower = fmin(r.lower, v);
        r.upper = fmax(r.upper, v);
      }
    }
  }
  if (!(r.upper > r.lower)) {
    r.upper = r.lower + 1;
  }
  r.step = round_step((r.upper - r.lower) / most_ticks, vertical && f->log_y);
  r.lower = floor(r.lower / r.step) * r.step;
  r.upper = ceil(r.upper / r.step) * r.step;
  return r;
}

static double place_x(double x, range_t r) {
  return left + (x - r.lower) / (r.upper - r.lower) * (width - left - right);
}

static double place_y(double y, range_t r) {
  return height - bottom - (y - r.lower) / (r.upper - r.lower) * (height - top - bottom);
}

static void axes(FILE *file, const figure_t *f, range_t rx, range_t ry) {
  fprintf(file, "<text x='%d' y='22' font-size='15'>%s</text>\n", left, f->title);
  fprintf(file, "<text x='%d' y='%d' text-anchor='middle'>%s</text>\n", (left + width - right) / 2,
          height - 10, f->x_label);
  fprintf(file, "<text transform='translate(16 %d) rotate(-90)' text-anchor='middle'>%s</text>\n", height / 2,
          f->y_label);
  for (double x = rx.lower; x <= rx.upper + rx.step / 2; x += rx.step) {
    fprintf(file, "<text x='%.1f' y='%d' text-anchor='middle'>%.3g</text>\n", place_x(x, rx),
            height - bottom + 18, x);
  }
  for (double y = ry.lower; y <= ry.upper + ry.step / 2; y += ry.step) {
    double at = place_y(y, ry);
    fprintf(file, "<text x='%d' y='%.1f' text-anchor='end'>%.3g</text>\n", left - 6, at + 4,
            f->log_y ? pow(10, y) : y);
    fprintf(file, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#ddd'/>\n", left, width - right, at, at);
  }
}

static void draw(FILE *file, const figure_t *f, size_t c, range_t rx, range_t ry) {
  static const char *const colours[] = {"#c0392b", "#e08e0b", "#1f5fa8", "#2c7a4b"};
  const curve_t *curve = &f->curves[c];
  fprintf(file, "<path fill='none' stroke='%s' stroke-width='2' d='", colours[c]);
  bool pen = false;
  for (size_t i = 0; i < curve->n; i++) {
    double y = scaled(f, curve->y[i]);
    if (isfinite(y) && isfinite(curve->x[i])) {
      fprintf(file, "%c%.1f %.1f ", pen ? 'L' : 'M', place_x(curve->x[i], rx), place_y(y, ry));
    }
    pen = isfinite(y);
  }
  fprintf(file,
          "'/>\n<text x='%d' y='%d' text-anchor='end' fill='%s' "
          "paint-order='stroke' stroke='white' stroke-width='4'>%s</text>\n",
          width - right - 4, top + 16 + 16 * (int)c, colours[c], curve->label);
}

void write_figure(run_t *run, const figure_t *figure) {
  FILE *file = open_output(run, run->current->name, ".svg");
  range_t rx = range_of(figure, false), ry = range_of(figure, true);
  fprintf(
      file,
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='12'>\n"
      "<rect width='100%%' height='100%%' fill='white'/>\n",
      width, height);
  axes(file, figure, rx, ry);
  for (size_t c = 0; c < figure->n_curves; c++) {
    draw(file, figure, c, rx, ry);
  }
  fputs("</svg>\n", file);
  if (fclose(file) != 0) {
    fprintf(stderr, "tacit-corrections: writing %s.svg failed\n", run->current->name);
    exit(1);
  }
  run->has_figure = true;
}
