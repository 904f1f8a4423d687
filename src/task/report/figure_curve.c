/* Small panels of the page: the expected response along one term, and what a check found in tenths of the
 * predictions. */
#include <math.h>

#include <jansson.h>

#include "report/report.h"
#include "report/report_internal.h"

enum { WIDTH = 340, HEIGHT = 220, LEFT = 52, RIGHT = 330, TOP = 10, BOTTOM = 186 };

typedef struct panel {
  tacit_axis_t x, y;
} panel_t;

static double place(const tacit_axis_t *axis, double value, double from, double to) {
  return from + (to - from) * fmin(fmax((value - axis->low) / (axis->high - axis->low), 0), 1);
}

static void put(tacit_text_t *text, double value) { tacit_text_fixed(text, value, 1); }

static void point(const panel_t *panel, double x, double y, tacit_text_t *text) {
  put(text, place(&panel->x, x, LEFT, RIGHT));
  tacit_text_append(text, ",", 1);
  put(text, place(&panel->y, y, BOTTOM, TOP));
  tacit_text_append(text, " ", 1);
}

static void ticks(const tacit_axis_t *axis, bool is_x, tacit_text_t *text) {
  for (int i = 0; i < axis->n_ticks; i++) {
    double at = is_x ? place(axis, tacit_axis_tick(axis, i), LEFT, RIGHT)
                     : place(axis, tacit_axis_tick(axis, i), BOTTOM, TOP);
    tacit_text_printf(text, "<path class=\"grid\" d=\"M");
    put(text, is_x ? at : LEFT);
    tacit_text_append(text, " ", 1);
    put(text, is_x ? TOP : at);
    tacit_text_append(text, is_x ? "V" : "H", 1);
    put(text, is_x ? BOTTOM : RIGHT);
    tacit_text_printf(text, "\"/><text text-anchor=\"%s\" x=\"", is_x ? "middle" : "end");
    put(text, is_x ? at : LEFT - 6);
    tacit_text_printf(text, "\" y=\"");
    put(text, is_x ? BOTTOM + 16 : at + 4);
    tacit_text_printf(text, "\">");
    tacit_axis_label(text, axis, i);
    tacit_text_printf(text, "</text>\n");
  }
}

static void begin(const panel_t *panel, const char *what, const char *label, tacit_text_t *text) {
  tacit_text_printf(text, "<figure><figcaption>");
  tacit_text_html(text, label);
  tacit_text_printf(text, "</figcaption>\n<svg role=\"img\" viewBox=\"0 0 %d %d\" aria-label=\"%s",
                    (int)WIDTH, (int)HEIGHT, what);
  tacit_text_html(text, label);
  tacit_text_printf(text, "\">\n");
  ticks(&panel->x, true, text);
  ticks(&panel->y, false, text);
}

void tacit_figure_curve(const tacit_curve_t *curve, tacit_text_t *text) {
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < curve->n; i++) {
    low = fmin(low, curve->low[i]);
    high = fmax(high, curve->high[i]);
  }
  panel_t panel = {tacit_axis_make(curve->x[0], curve->x[curve->n - 1], 5), tacit_axis_make(low, high, 5)};
  begin(&panel, "expected response along ", curve->label, text);
  tacit_text_printf(text, "<polygon class=\"band\" points=\"");
  for (size_t i = 0; i < curve->n; i++) {
    point(&panel, curve->x[i], curve->high[i], text);
  }
  for (size_t i = curve->n; i > 0; i--) {
    point(&panel, curve->x[i - 1], curve->low[i - 1], text);
  }
  tacit_text_printf(text, "\"/>\n<polyline class=\"curve\" points=\"");
  for (size_t i = 0; i < curve->n; i++) {
    point(&panel, curve->x[i], curve->middle[i], text);
  }
  tacit_text_printf(text, "\"/>\n</svg></figure>\n");
}

/* ---- checks ---- */

static double number_of(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

/* By tenth: what was predicted, and the mean residual with what noise, sampling and the posterior explain of
 * it. */
static void bins(const json_t *list, tacit_text_t *text) {
  tacit_text_printf(
      text, "<div class=\"scroll\"><table>\n<tr><th>Predicted from</th><th>to</th><th>About</th><th>Mean "
            "predicted</th><th>Mean residual</th><th>SD if the fit is right</th></tr>\n");
  for (size_t i = 0; i < json_array_size(list); i++) {
    static const char *const keys[] = {"low", "high", "count", "predicted", "residual", "sd"};
    const json_t *bin = json_array_get(list, i);
    tacit_text_printf(text, "<tr>");
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
      tacit_text_printf(text, "<td>");
      if (k == 2) {
        tacit_text_fixed(text, number_of(bin, keys[k]), 0);
      } else if (k == 3 || k == 4) {
        tacit_text_estimate(text, number_of(bin, keys[k]), number_of(bin, "sd"));
      } else {
        tacit_text_significant(text, number_of(bin, keys[k]), 3);
      }
      tacit_text_printf(text, "</td>");
    }
    tacit_text_printf(text, "</tr>\n");
  }
  tacit_text_printf(text, "</table></div>\n");
}

static void bars(const json_t *list, tacit_text_t *text) {
  double reach = 0, low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *bin = json_array_get(list, i);
    reach = fmax(reach, fabs(number_of(bin, "residual")) + 2 * number_of(bin, "sd"));
    low = fmin(low, number_of(bin, "predicted"));
    high = fmax(high, number_of(bin, "predicted"));
  }
  panel_t panel = {tacit_axis_make(low, high, 5), tacit_axis_make(-reach, reach, 5)};
  begin(&panel, "calibration: ", "mean residual against mean prediction", text);
  tacit_text_printf(text, "<polyline class=\"zero\" points=\"");
  point(&panel, panel.x.low, 0, text);
  point(&panel, panel.x.high, 0, text);
  tacit_text_printf(text, "\"/>\n");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *bin = json_array_get(list, i);
    double x = number_of(bin, "predicted"), y = number_of(bin, "residual"), sd = number_of(bin, "sd");
    tacit_text_printf(text, "<polyline class=\"curve\" points=\"");
    point(&panel, x, y - 2 * sd, text);
    point(&panel, x, y + 2 * sd, text);
    tacit_text_printf(text, "\"/><circle r=\"4\" cx=\"");
    put(text, place(&panel.x, x, LEFT, RIGHT));
    tacit_text_printf(text, "\" cy=\"");
    put(text, place(&panel.y, y, BOTTOM, TOP));
    tacit_text_printf(text, "\"/>\n");
  }
  tacit_text_printf(text, "</svg></figure>\n");
}

void tacit_figure_check(const char *check_json, tacit_text_t *text) {
  json_t *root = json_loads(check_json, 0, NULL);
  const json_t *list = json_object_get(root, "calibration");
  bool is_program = json_object_get(root, "shape") != NULL;
  double z = fmax(fmax(number_of(root, "misfit_z"), number_of(root, "by_misfit_z")),
                  is_program ? number_of(root, "shape_z") : 0);
  if (root == NULL || json_array_size(list) == 0) {
    text->failed = true; /* it was looked at when it was read: memory ran out */
  } else {
    tacit_text_printf(text, "<h2>Calibration</h2>\n<p>%s (z ",
                      z > 4.9 ? "<strong>The fit does not describe these records</strong>"
                      : z > 2 ? "Some sign of misfit, no more than chance can make now and then"
                              : "Nothing that noise and sampling do not explain");
    tacit_text_fixed(text, z, 1);
    tacit_text_printf(text, "). From <code>tacit check</code>, a release of its own: epsilon ");
    tacit_text_number_up(text, number_of(root, "epsilon"), 5);
    tacit_text_printf(text, " at delta ");
    tacit_text_number_up(text, number_of(root, "delta"), 5);
    tacit_text_printf(text,
                      " on top of the fit's%s. Mean residual%s, in tenths of the predictions; bars are two "
                      "standard deviations, were the fit right.</p>\n<div class=\"panels\">",
                      json_is_true(json_object_get(root, "private")) ? "" : ", seeded and so NOT PRIVATE",
                      is_program
                          ? ", what the fit gives to smaller responses less what it gives to larger ones"
                          : ", observed less predicted");
    bars(list, text);
    tacit_text_printf(text, "</div>\n");
    bins(list, text);
  }
  json_decref(root);
}
