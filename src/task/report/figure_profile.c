/* The privacy profile: delta, on a logarithmic axis, as a function of epsilon. */
#include <math.h>

#include "report/report_internal.h"

enum { WIDTH = 640, HEIGHT = 400, TOP = 16, BOTTOM = 352, LEFT = 76, RIGHT = 620 };

typedef struct frame {
  tacit_axis_t epsilon, exponent;
} frame_t;

static double x_of(const frame_t *frame, double epsilon) {
  return LEFT + (RIGHT - LEFT) * (epsilon - frame->epsilon.low) / (frame->epsilon.high - frame->epsilon.low);
}

static double y_of(const frame_t *frame, double delta) {
  double exponent = fmax(delta > 0 ? log10(delta) : -INFINITY, frame->exponent.low);
  return BOTTOM -
         (BOTTOM - TOP) * (exponent - frame->exponent.low) / (frame->exponent.high - frame->exponent.low);
}

static void number(tacit_text_t *text, double value) { tacit_text_fixed(text, value, 1); }

static void draw_ticks(const frame_t *frame, tacit_text_t *text) {
  for (int i = 0; i < frame->exponent.n_ticks; i++) {
    double exponent = tacit_axis_tick(&frame->exponent, i), y = y_of(frame, pow(10, exponent));
    tacit_text_printf(text, "<path stroke=\"#ddd\" d=\"M%d ", (int)LEFT);
    number(text, y);
    tacit_text_printf(text, "H%d\"/><text text-anchor=\"end\" x=\"%d\" y=\"", (int)RIGHT, LEFT - 8);
    number(text, y + 4);
    tacit_text_printf(text, "\">1e%d</text>\n", (int)lround(exponent));
  }
  for (int i = 0; i < frame->epsilon.n_ticks; i++) {
    double x = x_of(frame, tacit_axis_tick(&frame->epsilon, i));
    tacit_text_printf(text, "<path stroke=\"#ddd\" d=\"M");
    number(text, x);
    tacit_text_printf(text, " %dV%d\"/><text text-anchor=\"middle\" x=\"", (int)TOP, (int)BOTTOM);
    number(text, x);
    tacit_text_printf(text, "\" y=\"%d\">", BOTTOM + 20);
    tacit_axis_label(text, &frame->epsilon, i);
    tacit_text_printf(text, "</text>\n");
  }
}

static void draw_curve(const frame_t *frame, const tacit_profile_point_t *points, size_t n, bool is_lower,
                       tacit_text_t *text) {
  tacit_text_printf(text, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"",
                    tacit_figure_colour(is_lower ? 1 : 0), is_lower ? " stroke-dasharray=\"6 4\"" : "");
  for (size_t i = 0; i < n; i++) {
    double delta = is_lower ? points[i].delta_lower : points[i].delta;
    if (delta > 0) {
      number(text, x_of(frame, points[i].epsilon));
      tacit_text_append(text, ",", 1);
      number(text, y_of(frame, delta));
      tacit_text_append(text, " ", 1);
    }
  }
  tacit_text_printf(text, "\"/>\n");
}

tacit_status_t tacit_report_profile_svg(const tacit_profile_point_t *points, size_t n, char **svg,
                                        tacit_error_t *err) {
  tacit_text_t text = {0};
  frame_t frame = {.epsilon = tacit_axis_make(0, n > 0 ? points[n - 1].epsilon : 1, 8),
                   .exponent = tacit_axis_make(-12, 0, 6)};
  *svg = NULL;
  tacit_text_printf(&text,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                    "font-family=\"sans-serif\" font-size=\"13\" role=\"img\" aria-label=\"privacy "
                    "profile\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                    (int)WIDTH, (int)HEIGHT);
  draw_ticks(&frame, &text);
  draw_curve(&frame, points, n, true, &text);
  draw_curve(&frame, points, n, false, &text);
  tacit_text_printf(
      &text,
      "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">epsilon</text>\n"
      "<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">delta</text>\n"
      "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"%s\">what is promised</text>\n"
      "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#9a6a00\">dashed: no less is true</text>\n</svg>\n",
      (LEFT + RIGHT) / 2, BOTTOM + 42, (TOP + BOTTOM) / 2, RIGHT - 8, TOP + 18, tacit_figure_colour(0),
      RIGHT - 8, TOP + 36);
  return tacit_text_take(&text, TACIT_OK, svg, err);
}
