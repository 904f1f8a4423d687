/* plan.html: the width of every coefficient's interval against epsilon, before anything is read. */
#include <math.h>

#include "report/report_internal.h"

enum { WIDTH = 340, HEIGHT = 220, LEFT = 52, RIGHT = 330, TOP = 10, BOTTOM = 182, MAX_LABEL = 40 };

static const double z95 = 1.6448536269514722;

static const char own_style[] =
    ".substitute{stroke:var(--data);stroke-width:2.2}.add-remove{stroke:var(--warm);stroke-width:2.2;stroke-"
    "dasharray:7 4}\n"
    ".unkind-substitute{fill:var(--data);opacity:.14}.unkind-add-remove{fill:var(--warm);opacity:.14}.mark{"
    "stroke:var(--soft);fill:none}\n"
    ":root{--warm:#b35400}@media (prefers-color-scheme:dark){:root{--warm:#f0a050}}\n"
    "polyline{stroke-opacity:1}.key "
    "svg{display:inline-block;width:2.4rem;height:.7rem;vertical-align:middle;margin:0 .3rem 0 1rem}.key "
    "svg:first-child{margin-left:0}\n"
    "@media print{figure{break-inside:avoid}.panels{grid-template-columns:1fr 1fr}:root{--warm:#b35400}}\n";

typedef struct frame {
  double low, high;   /* of log widths */
  double first, last; /* of log epsilon */
} frame_t;

static double x_of(const frame_t *frame, double epsilon) {
  return LEFT + (RIGHT - LEFT) * (log(epsilon) - frame->first) / (frame->last - frame->first);
}

static double y_of(const frame_t *frame, double width) {
  double share = (log(width) - frame->low) / (frame->high - frame->low);
  return BOTTOM - (BOTTOM - TOP) * fmin(fmax(share, 0), 1);
}

static double width_of(const tacit_plan_page_t *plan, size_t j, double inflation) {
  return 2 * z95 * plan->sd[j] * inflation;
}

static const char *relation_name(int r) {
  return tacit_relation_string(r == 0 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE);
}

static frame_t frame_of(const tacit_plan_page_t *plan, size_t j) {
  double least = width_of(plan, j, 1), most = 2 * least;
  for (int r = 0; r < 2; r++) {
    for (size_t i = 0; i < plan->n_points; i++) {
      most = fmax(most, fmin(width_of(plan, j, plan->poor[r][i]),
                             1000 * least)); /* fmax leaves out what is not a number */
    }
  }
  return (frame_t){log(least) - 0.15, log(most) + 0.1, log(plan->epsilons[0]),
                   log(plan->epsilons[plan->n_points - 1])};
}

static void number(tacit_text_t *text, double x) { tacit_text_fixed(text, x, 1); }

static void text_at(tacit_text_t *text, double x, double y, const char *anchor) {
  tacit_text_printf(text, "<text text-anchor=\"%s\" x=\"", anchor);
  number(text, x);
  tacit_text_printf(text, "\" y=\"");
  number(text, y);
  tacit_text_printf(text, "\">");
}

static void path(tacit_text_t *text, const char *class, double x1, double y1, double x2, double y2) {
  tacit_text_printf(text, "<path class=\"%s\" d=\"M", class);
  number(text, x1);
  tacit_text_append(text, " ", 1);
  number(text, y1);
  tacit_text_printf(text, "L");
  number(text, x2);
  tacit_text_append(text, " ", 1);
  number(text, y2);
  tacit_text_printf(text, "\"/>\n");
}

/* 1, 2 and 5 times powers of ten, where there is room. */
static void ticks(const frame_t *frame, bool is_width, tacit_text_t *text) {
  static const double nice[] = {1, 2, 5};
  double last = is_width ? 2 * HEIGHT : -WIDTH;
  for (int k = -12; k < 13; k++) {
    for (int i = 0; i < 3; i++) {
      double value = nice[i] * pow(10, k), at = log(value);
      bool is_in = is_width ? at > frame->low && at < frame->high
                            : at > frame->first - 1e-9 && at < frame->last + 1e-9;
      double place = is_width ? y_of(frame, value) : x_of(frame, value);
      if (is_in && fabs(place - last) > (is_width ? 18 : 24)) {
        is_width ? path(text, "grid", LEFT, place, RIGHT, place)
                 : path(text, "grid", place, TOP, place, BOTTOM);
        text_at(text, is_width ? LEFT - 6 : place, is_width ? place + 4 : BOTTOM + 16,
                is_width ? "end" : "middle");
        tacit_text_significant(text, value, 1);
        tacit_text_printf(text, "</text>\n");
        last = place;
      }
    }
  }
}

static void points(const tacit_plan_page_t *plan, const frame_t *frame, size_t j, const double *inflation,
                   bool is_backwards, tacit_text_t *text) {
  for (size_t k = 0; k < plan->n_points; k++) {
    size_t i = is_backwards ? plan->n_points - 1 - k : k;
    if (isfinite(inflation[i])) {
      number(text, x_of(frame, plan->epsilons[i]));
      tacit_text_append(text, ",", 1);
      number(text, y_of(frame, width_of(plan, j, inflation[i])));
      tacit_text_append(text, " ", 1);
    }
  }
}

static void curves(const tacit_plan_page_t *plan, const frame_t *frame, size_t j, tacit_text_t *text) {
  for (int r = 0; r < 2; r++) {
    tacit_text_printf(text, "<polygon class=\"unkind-%s\" points=\"", relation_name(r));
    points(plan, frame, j, plan->poor[r], false, text);
    points(plan, frame, j, plan->inflation[r], true, text);
    tacit_text_printf(text, "\"/>\n");
  }
  path(text, "zero", LEFT, y_of(frame, width_of(plan, j, 1)), RIGHT, y_of(frame, width_of(plan, j, 1)));
  for (int r = 0; r < 2; r++) {
    tacit_text_printf(text, "<polyline class=\"%s\" points=\"", relation_name(r));
    points(plan, frame, j, plan->inflation[r], false, text);
    tacit_text_printf(text, "\"/>\n");
  }
}

static void panel(const tacit_plan_page_t *plan, size_t j, tacit_text_t *text) {
  frame_t frame = frame_of(plan, j);
  tacit_text_printf(text, "<figure><figcaption>");
  tacit_text_html_cut(text, plan->labels[j], MAX_LABEL);
  tacit_text_printf(text,
                    "</figcaption>\n<svg class=\"widths\" role=\"img\" viewBox=\"0 0 %d %d\" "
                    "aria-label=\"width of the 90 %% interval of ",
                    (int)WIDTH, (int)HEIGHT);
  tacit_text_html(text, plan->labels[j]);
  tacit_text_printf(text, " against epsilon; the table has the numbers\">\n");
  ticks(&frame, true, text);
  ticks(&frame, false, text);
  if (plan->epsilon > plan->epsilons[0] && plan->epsilon < plan->epsilons[plan->n_points - 1]) {
    path(text, "mark", x_of(&frame, plan->epsilon), TOP, x_of(&frame, plan->epsilon), BOTTOM);
  }
  curves(plan, &frame, j, text);
  text_at(text, (LEFT + RIGHT) / 2.0, HEIGHT - 4, "middle");
  tacit_text_printf(text, "epsilon</text>\n</svg></figure>\n");
}

static void key(tacit_text_t *text) {
  tacit_text_printf(text, "<p class=\"key\">");
  for (int r = 0; r < 2; r++) {
    tacit_text_printf(text,
                      "<svg aria-hidden=\"true\" viewBox=\"0 0 38 11\"><title>%s</title><polyline "
                      "class=\"%s\" points=\"0,5 38,5\"/></svg>%s",
                      relation_name(r), relation_name(r), relation_name(r));
  }
  tacit_text_printf(text, "<svg aria-hidden=\"true\" viewBox=\"0 0 38 11\"><title>without "
                          "privacy</title><path class=\"zero\" d=\"M0 5H38\"/></svg>without privacy</p>\n");
}

/* The point of the grid that is nearest to epsilon. */
static size_t nearest(const tacit_plan_page_t *plan, double epsilon) {
  size_t best = 0;
  for (size_t i = 1; i < plan->n_points; i++) {
    best = fabs(log(plan->epsilons[i] / epsilon)) < fabs(log(plan->epsilons[best] / epsilon)) ? i : best;
  }
  return best;
}

static void cell(tacit_text_t *text, double width) {
  tacit_text_printf(text, "<td>");
  if (isfinite(width)) {
    tacit_text_significant(text, width, 2);
  } else {
    tacit_text_printf(text, "refused");
  }
  tacit_text_printf(text, "</td>");
}

static void table_of(const tacit_plan_page_t *plan, int r, tacit_text_t *text) {
  enum { N_COLUMNS = 5 };
  static const double shown[N_COLUMNS] = {0.2, 0.5, 1, 2, 5};
  tacit_text_printf(text,
                    "<h3>Relation %s%s</h3>\n<div "
                    "class=\"scroll\"><table>\n<tr><th>Coefficient</th><th>Without privacy</th>",
                    relation_name(r),
                    (r == 0) == (plan->relation == TACIT_RELATION_SUBSTITUTE) ? ", which the schema says"
                                                                              : "");
  for (size_t k = 0; k < N_COLUMNS; k++) {
    tacit_text_printf(text, "<th>&epsilon; = ");
    tacit_text_significant(text, shown[k], 1);
    tacit_text_printf(text, "</th>");
  }
  tacit_text_printf(text, "</tr>\n");
  for (size_t j = 0; j < plan->n_terms; j++) {
    tacit_text_printf(text, "<tr><td>");
    tacit_text_html(text, plan->labels[j]);
    tacit_text_printf(text, "</td>");
    cell(text, width_of(plan, j, 1));
    for (size_t k = 0; k < N_COLUMNS; k++) {
      cell(text, width_of(plan, j, plan->inflation[r][nearest(plan, shown[k])]));
    }
    tacit_text_printf(text, "</tr>\n");
  }
  tacit_text_printf(text, "<tr><td>times as wide, columns that fill their bounds</td><td>1</td>");
  for (size_t k = 0; k < N_COLUMNS; k++) {
    cell(text, plan->inflation[r][nearest(plan, shown[k])]);
  }
  tacit_text_printf(text, "</tr>\n<tr><td>times as wide, unkind columns</td><td>1</td>");
  for (size_t k = 0; k < N_COLUMNS; k++) {
    cell(text, plan->poor[r][nearest(plan, shown[k])]);
  }
  tacit_text_printf(text, "</tr>\n</table></div>\n");
}

static void facts(const tacit_plan_page_t *plan, tacit_text_t *text) {
  tacit_text_printf(
      text,
      "<div class=\"banner\"><strong>Nothing was read, charged or released</strong>This is forecast from the "
      "schema, %.0f as the number of units, which somebody typed, and &delta; = ",
      plan->n_units);
  tacit_text_number_up(text, plan->delta, 5);
  tacit_text_printf(text, ". It promises nothing.</div>\n<p>Family ");
  tacit_text_html(text, plan->family);
  tacit_text_printf(text, ", method noise-aware. Under relation substitute a unit is replaced by another and "
                          "the number of units is public; under add-remove one is there or not, and their "
                          "number is private. A replacement counts as one removed and one added: epsilon "
                          "under add-remove protects against a replacement with twice that.</p>\n");
}

static void assumptions(const tacit_plan_page_t *plan, tacit_text_t *text) {
  tacit_text_printf(
      text, "<h2>What is assumed</h2>\n<ul><li>Widths are of 90 %% intervals, in the unit of each "
            "coefficient as <code>summary.csv</code> has it, from the likelihood alone: a prior that is "
            "narrower keeps an interval narrower, and then it is the prior that speaks.</li>\n<li>");
  tacit_text_html(text, plan->assumed);
  tacit_text_printf(
      text,
      "</li>\n<li>Lines: columns that fill their bounds, the least to be expected. Shaded up to: unkind "
      "columns, a two-valued feature with 2 %% in its rarer level or a feature that fills a tenth of its "
      "bounds. Those have wider intervals without privacy, too, which is not in the picture: a feature that "
      "fills a tenth of its bounds has a coefficient ten times as uncertain.</li>\n"
      "<li>%s</li></ul>\n",
      plan->is_refused ? "Where a line does not go, the budget would buy next to nothing and is refused "
                         "before anything is spent."
                       : "No budget in the picture is refused; tacit plan and tacit fit warn where what is "
                         "released is likely not to tell a feature's scale.");
}

tacit_status_t tacit_report_plan_page(const tacit_plan_page_t *plan, char **html, tacit_error_t *err) {
  tacit_text_t text = {0};
  *html = NULL;
  tacit_page_head("Plan: ", plan->formula, own_style, &text);
  facts(plan, &text);
  tacit_text_printf(&text, "<h2>How wide would intervals be?</h2>\n");
  tacit_text_printf(&text,
                    "<p>Upwards the width of the 90 %% interval, in the coefficient's unit; both scales are "
                    "logarithmic.%s</p>\n",
                    isnan(plan->epsilon) ? "" : " The upright line is the epsilon that was asked about.");
  key(&text);
  tacit_text_printf(&text, "<div class=\"panels\">\n");
  for (size_t j = 0; j < plan->n_terms; j++) {
    panel(plan, j, &text);
  }
  tacit_text_printf(&text, "</div>\n<h2>The same in numbers</h2>\n");
  table_of(plan, 0, &text);
  table_of(plan, 1, &text);
  assumptions(plan, &text);
  tacit_page_foot(&text);
  return tacit_text_take(&text, TACIT_OK, html, err);
}
