/* The answer in a reader's terms: effects per round step of a column, one sentence about them, and what
 * privacy cost them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "report/report.h"
#include "report/report_internal.h"

enum { MAX_IN_SENTENCE = 4 };

static const double log_2 = 0.69314718055994530942;

/* How a family's coefficients are read: on which quantity of the response they act, and whether they multiply
 * it. */
typedef struct reading {
  const char *family, *before, *axis; /* "Odds of " death; heading of the picture */
  bool is_ratio;
} reading_t;

static const reading_t readings[] = {
    {"bernoulli", "Odds of ", "Odds ratio", true},
    {"poisson", "Rate of ", "Rate ratio", true},
    {"", "", "Difference in the response", false},
};

static const reading_t *reading_of(const char *family) {
  size_t i = 0;
  while (readings[i].family[0] != '\0' && strcmp(readings[i].family, family) != 0) {
    i++;
  }
  return &readings[i];
}

bool tacit_report_has_effects(const tacit_report_t *report) {
  for (size_t j = 0; report->evidence != NULL && j < report->evidence->n_terms; j++) {
    if (report->evidence->feature_sd[j] > 0) {
      return true;
    }
  }
  return false;
}

/* The nearest, by ratio, of 1, 2 and 5 times a power of ten: steps that people think in. x > 0 */
static double round_step(double x) {
  static const double leading[] = {1, 2, 5, 10};
  double power = pow(10, floor(log10(x))), best = power;
  for (size_t i = 0; i < sizeof leading / sizeof leading[0]; i++) {
    double step = leading[i] * power;
    best = fabs(log(step / x)) < fabs(log(best / x)) ? step : best;
  }
  return best;
}

/* The length of the column's name in "log(flc)", 0 if the term is anything else. */
static size_t logged_name(const char *label) {
  size_t n = strlen(label);
  return strncmp(label, "log(", 4) == 0 && n > 5 && strcspn(label + 4, "()") == n - 5 ? n - 5 : 0;
}

/* Coefficient j for the step that is read: a doubling where the term is a logarithm, else about one sd of the
 * feature; a level as it is. */
static void describe(const tacit_report_t *report, const tacit_summary_t *summaries, size_t j,
                     tacit_effect_t *effect) {
  const char *label = report->labels[j];
  double sd = report->evidence->feature_sd[j], by = 1;
  size_t n_logged = sd > 0 ? logged_name(label) : 0;
  if (n_logged > 0) {
    by = log_2;
    snprintf(effect->text, sizeof effect->text, "per doubling of %.*s", (int)n_logged, label + 4);
  } else if (sd > 0) {
    tacit_text_t amount = {0};
    by = round_step(sd);
    tacit_text_shortest(&amount, by);
    const char *units = report->units != NULL ? report->units(report->units_of, label) : NULL,
               *step = amount.data != NULL ? amount.data : "";
    snprintf(effect->text, sizeof effect->text, "per %s%s%s of %s", step, units != NULL ? " " : "",
             units != NULL ? units : "", label);
    tacit_text_clear(&amount);
  } else {
    snprintf(effect->text, sizeof effect->text, "%s", label);
  }
  effect->is_level = !(sd > 0);
  effect->summary = summaries[j];
  double *const fields[] = {&effect->summary.mean, &effect->summary.sd,  &effect->summary.q5,
                            &effect->summary.q50,  &effect->summary.q95, &effect->summary.q2_5,
                            &effect->summary.q97_5};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    *fields[i] *= by;
  }
}

size_t tacit_report_effects(const tacit_report_t *report, const tacit_summary_t *summaries,
                            tacit_effect_t *effects) {
  size_t n = 0;
  for (size_t j = 1; j < report->draws->n_reported && j < report->evidence->n_terms; j++) {
    describe(report, summaries, j, &effects[n++]);
  }
  return n;
}

/* ---- the picture ---- */

void tacit_figure_effects(const tacit_report_t *report, const tacit_effect_t *effects, size_t n,
                          tacit_text_t *text) {
  const reading_t *reading = reading_of(report->family);
  const char **labels = tacit_alloc(n, sizeof *labels);
  tacit_summary_t *summaries = tacit_alloc(n, sizeof *summaries);
  if (labels == NULL || summaries == NULL) {
    text->failed = true;
  } else {
    for (size_t i = 0; i < n; i++) {
      labels[i] = effects[i].text;
      summaries[i] = effects[i].summary;
    }
    tacit_text_printf(
        text, "<h2>Effects</h2>\n<p>%s: median, 90 %% interval (thick) and 95 %% interval (thin).</p>\n",
        reading->axis);
    tacit_figure_intervals(labels, summaries, n, reading->is_ratio, text);
  }
  tacit_free(labels);
  tacit_free(summaries);
}

/* ---- the sentence ---- */

/* With as many decimals as its spread has a first digit in: 4.6 of spread .2. */
static void brief(tacit_text_t *text, double x, double sd) {
  if (isfinite(x) && isfinite(sd) && sd > 0) {
    double decimals = fmin(fmax(-floor(log10(sd)), 0), 6);
    tacit_text_fixed(text, x, (int)decimals);
  } else {
    tacit_text_significant(text, x, 2);
  }
}

static void brief_interval(const tacit_summary_t *s, bool is_ratio, tacit_text_t *text) {
  double middle = is_ratio ? exp(s->q50) : s->q50, sd = is_ratio ? middle * s->sd : s->sd;
  tacit_text_printf(text, "<strong>");
  brief(text, middle, sd);
  tacit_text_printf(text, "</strong> (");
  brief(text, is_ratio ? exp(s->q5) : s->q5, sd);
  tacit_text_printf(text, " to ");
  brief(text, is_ratio ? exp(s->q95) : s->q95, sd);
  tacit_text_printf(text, ")");
}

/* How sure the sign of an effect is, in sds. */
static double clearness(const tacit_effect_t *effect) {
  return fabs(effect->summary.mean) / effect->summary.sd;
}

static bool is_among_clearest(const tacit_effect_t *effects, size_t n, size_t i) {
  size_t n_clearer = 0;
  for (size_t k = 0; k < n; k++) {
    n_clearer += clearness(&effects[k]) > clearness(&effects[i]) ||
                 (k < i && !(clearness(&effects[k]) < clearness(&effects[i])));
  }
  return n_clearer < MAX_IN_SENTENCE;
}

static void response(const tacit_report_t *report, tacit_text_t *text) {
  size_t n = strcspn(report->formula, "~");
  while (n > 0 && report->formula[n - 1] == ' ') {
    n--;
  }
  char name[96];
  snprintf(name, sizeof name, "%.*s", (int)n, report->formula);
  tacit_text_html(text, name);
}

void tacit_report_answer(const tacit_report_t *report, const tacit_effect_t *effects, size_t n,
                         tacit_text_t *text) {
  const reading_t *reading = reading_of(report->family);
  size_t n_said = n < MAX_IN_SENTENCE ? n : MAX_IN_SENTENCE, said = 0;
  tacit_text_printf(text, "<p class=\"answer\">%s", reading->before);
  response(report, text);
  tacit_text_printf(text, reading->is_ratio ? ": multiplied by " : ": changed by ");
  for (size_t i = 0; i < n; i++) {
    if (is_among_clearest(effects, n, i)) {
      said++;
      brief_interval(&effects[i].summary, reading->is_ratio, text);
      tacit_text_printf(text, effects[i].is_level ? " for " : " ");
      tacit_text_html(text, effects[i].text);
      tacit_text_printf(text, said == n_said ? "" : said + 1 == n_said ? " and by " : ", by ");
    }
  }
  tacit_text_printf(text, ". In brackets: 90 %% intervals%s.</p>\n",
                    n > n_said ? "; the other effects are in the picture" : "");
}

/* "Privacy noise widened the intervals by 15 to 23 %." */
void tacit_report_cost(const tacit_report_t *report, tacit_text_t *text) {
  double least = INFINITY, largest = 0;
  for (size_t j = 0; report->evidence != NULL && j < report->evidence->n_terms; j++) {
    double factor = report->evidence->noise_factor[j];
    if (factor > 0) {
      least = fmin(least, factor);
      largest = fmax(largest, factor);
    }
  }
  if (!(largest > 0)) {
    return;
  }
  bool is_percent = largest < 2;
  int from = (int)lround(is_percent ? 100 * fmax(least - 1, 0) : 10 * least),
      to = (int)lround(is_percent ? 100 * fmax(largest - 1, 0) : 10 * largest);
  tacit_text_printf(text, is_percent ? "Privacy noise widened the intervals by "
                                     : "Privacy noise made the intervals ");
  if (from < to) {
    tacit_text_fixed(text, is_percent ? from : from / 10., is_percent ? 0 : 1);
    tacit_text_printf(text, " to ");
  }
  tacit_text_fixed(text, is_percent ? to : to / 10., is_percent ? 0 : 1);
  tacit_text_printf(text, is_percent ? " %%. " : " times as wide. ");
}
