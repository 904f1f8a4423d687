/* Synthetic rows, set by set: features, columns, responses; and a comparison with what was released. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"
#include "report/report_internal.h"
#include "synthesize/synthesize_internal.h"
#include "tacit/random.h"

enum { TRIES = 3 };

typedef struct synthesis {
  tacit_fit_t *fit;
  tacit_predictor_t *predictor;
  tacit_inverse_t inverse;
  tacit_noise_aware_settings_t aware; /* with the key of the rows */
  size_t n, n_sets, n_tried, d;
  double *features, **columns; /* (n_tried, d) scaled, then reported (n, d); (n_columns) of (n_tried) */
  bool *is_exact;              /* (n_tried) */
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES];
  double sum[TACIT_NOISE_AWARE_MAX_FEATURES], square[TACIT_NOISE_AWARE_MAX_FEATURES],
      responses; /* of all rows, scaled */
  size_t n_replaced;
  tacit_text_t csv, json, html;
} synthesis_t;

/* ---- rows of a set ---- */

/* Combinations of levels that stand for none go to the end, and enter only where there are too few others. */
static void order(synthesis_t *s) {
  size_t n_columns = s->inverse.n_columns, kept = 0;
  for (size_t i = 0; i < s->n_tried && kept < s->n; i++) {
    if (s->is_exact[i]) {
      for (size_t c = 0; c < n_columns; c++) {
        double spared = s->columns[c][kept];
        s->columns[c][kept] = s->columns[c][i];
        s->columns[c][i] = spared;
      }
      s->is_exact[i] = s->is_exact[kept]; /* what stood there goes on */
      s->is_exact[kept++] = true;
    }
  }
  s->n_replaced += s->n - kept;
}

static tacit_status_t make_columns(synthesis_t *s, size_t set, tacit_error_t *err) {
  tacit_status_t status = tacit_noise_aware_features(&s->aware, s->inverse.is_used, 2 * (uint64_t)set,
                                                     s->n_tried, s->features, s->scales, err);
  TACIT_THEN(status,
             tacit_inverse_columns(&s->inverse, s->n_tried, s->features, s->columns, s->is_exact, err));
  if (status == TACIT_OK) {
    order(s);
  }
  return status;
}

/* A text or number of a column as its schema writes it. */
static void put_value(tacit_text_t *text, const tacit_column_schema_t *schema, double x) {
  if (schema != NULL && schema->type == TACIT_COLUMN_CATEGORICAL) {
    tacit_text_csv(text, schema->levels[(size_t)x]);
  } else {
    tacit_text_shortest(text, x);
  }
}

static void add_moments(synthesis_t *s, const double *features) {
  for (size_t i = 0; i < s->n; i++) {
    for (size_t j = 0; j < s->d; j++) {
      double centre, half;
      tacit_design_scaling(s->predictor->design, j, &centre, &half);
      double z = (features[i * s->d + j] - centre) / half;
      s->sum[j] += z;
      s->square[j] += z * z;
    }
  }
}

/* Coefficients are one draw for the whole set: what the posterior leaves open must differ between sets, not
 * within one. */
static tacit_status_t put_set(synthesis_t *s, size_t set, tacit_error_t *err) {
  tacit_rng_t *rng = NULL;
  double *features = NULL;
  const tacit_schema_t *schema = s->fit->schema;
  const char *response = tacit_design_response(s->predictor->design);
  tacit_status_t status = make_columns(s, set, err);
  TACIT_THEN(status, tacit_rng_new(&rng, s->aware.key, 2 * (uint64_t)set + 1, err));
  if (status == TACIT_OK) {
    status = tacit_predictor_features(
        s->predictor, &(tacit_new_rows_t){(const double *const *)s->columns, s->n}, &features, err);
  }
  if (status == TACIT_OK) {
    size_t draw = (size_t)tacit_rng_below(rng, s->predictor->n_draws);
    double lower, upper;
    tacit_design_response_range(s->predictor->design, &lower, &upper);
    add_moments(s, features);
    for (size_t i = 0; i < s->n; i++) {
      double y =
          fmax(fmin(tacit_predictor_respond(s->predictor, features + i * s->d, draw, rng), upper), lower);
      s->responses += y;
      tacit_text_printf(&s->csv, "%zu", set + 1);
      for (size_t c = 0; c < s->inverse.n_columns; c++) {
        tacit_text_append(&s->csv, ",", 1);
        put_value(&s->csv, tacit_schema_find(schema, s->predictor->names[c]), s->columns[c][i]);
      }
      tacit_text_append(&s->csv, ",", 1);
      put_value(&s->csv, tacit_schema_find(schema, response), y);
      tacit_text_append(&s->csv, "\n", 1);
    }
  }
  tacit_free(features);
  tacit_rng_free(rng);
  return status == TACIT_OK && s->csv.failed ? tacit_error_memory(err) : status;
}

static void put_header(synthesis_t *s) {
  tacit_text_printf(&s->csv, "synthetic_set");
  for (size_t c = 0; c < s->inverse.n_columns; c++) {
    tacit_text_append(&s->csv, ",", 1);
    tacit_text_csv(&s->csv, s->predictor->names[c]);
  }
  tacit_text_append(&s->csv, ",", 1);
  tacit_text_csv(&s->csv, tacit_design_response(s->predictor->design));
  tacit_text_append(&s->csv, "\n", 1);
}

/* ---- beside what was released ---- */

static void put_feature(synthesis_t *s, size_t j) {
  double centre, half, n = (double)s->n * (double)s->n_sets, mean = s->sum[j] / n;
  tacit_design_scaling(s->predictor->design, j, &centre, &half);
  const tacit_feature_scale_t *scale = &s->scales[j];
  tacit_text_printf(&s->json, "%s\n    {\"term\": ", j > 1 ? "," : "");
  tacit_text_json_string(&s->json, tacit_design_label(s->predictor->design, j));
  tacit_text_json_field(&s->json, "released_mean", centre + half * scale->mean);
  tacit_text_json_field(&s->json, "released_sd", half * scale->sd);
  tacit_text_json_field(&s->json, "relative_error_of_released_variance", scale->relative_error);
  tacit_text_json_field(&s->json, "rows_mean", centre + half * mean);
  tacit_text_json_field(&s->json, "rows_sd", half * sqrt(fmax(s->square[j] / n - mean * mean, 0)));
  tacit_text_append(&s->json, "}", 1);
}

static void put_comparison(synthesis_t *s, const tacit_synthesis_settings_t *settings) {
  double n = (double)s->n * (double)s->n_sets;
  tacit_text_printf(
      &s->json,
      "{\n  \"format\": \"tacit synthetic rows\",\n  \"version\": 1,\n  \"synthetic\": true,\n"
      "  \"note\": \"Nobody's records: features from released moments, responses from the posterior "
      "predictive of one model. What that model leaves out is not in these rows.\",\n  \"formula\": ");
  tacit_text_json_string(&s->json, s->fit->formula);
  tacit_text_printf(&s->json,
                    ",\n  \"private\": %s,\n  \"rows\": %zu,\n  \"sets\": %zu,\n  \"seed\": %llu,\n  "
                    "\"rows_with_levels_replaced\": %zu,\n  \"response_mean\": ",
                    tacit_fit_is_private(s->fit) ? "true" : "false", s->n, s->n_sets,
                    (unsigned long long)settings->seed, s->n_replaced);
  tacit_text_json_number(&s->json, s->responses / n);
  tacit_text_printf(&s->json, ",\n  \"features\": [");
  for (size_t j = 1; j < s->d; j++) {
    put_feature(s, j);
  }
  tacit_text_printf(&s->json, "\n  ]\n}\n");
}

/* ---- the page ---- */

void tacit_synthesis_rules(size_t n_sets, tacit_text_t *text) {
  tacit_text_printf(text,
                    "<h2>How to infer from them</h2>\n<p>%s Analyse each set as if it were data: estimate "
                    "q<sub>m</sub> and its variance u<sub>m</sub>, m = 1 to M. Then</p>\n"
                    "<ul><li>the estimate is q, the mean of the q<sub>m</sub>;</li><li>b is the variance of "
                    "the q<sub>m</sub> (over M &minus; 1), u the mean of the u<sub>m</sub>;</li><li>its "
                    "variance is T = (1 + 1/M) b &minus; u, and intervals are by Student's t with (M &minus; "
                    "1) (1 &minus; u / ((1 + 1/M) b))&sup2; degrees of freedom.</li></ul>\n"
                    "<p>Not Rubin's rule for missing data, which adds u: here it is taken off. With few sets "
                    "T can come out negative: take 20 sets or more.",
                    n_sets == 1 ? "<strong>This is one set, and nothing can be inferred from one: make "
                                  "several (--sets 20).</strong>"
                                : "Nothing can be inferred from one set alone.");
}

static void cell(tacit_text_t *text, double x, double sd) {
  tacit_text_printf(text, "<td>");
  tacit_text_estimate(text, x, sd);
  tacit_text_printf(text, "</td>");
}

/* Means and sds of a feature, and by how many released sds the rows' mean is off, as a bar. */
static void page_row(const synthesis_t *s, size_t j, tacit_text_t *text) {
  double centre, half, n = (double)s->n * (double)s->n_sets, mean = s->sum[j] / n;
  const tacit_feature_scale_t *scale = &s->scales[j];
  tacit_design_scaling(s->predictor->design, j, &centre, &half);
  double sd = half * scale->sd, off = scale->sd > 0 ? (mean - scale->mean) / scale->sd : 0,
         end = 50 + 50 * fmax(fmin(off, 1), -1);
  tacit_text_printf(text, "<tr><td>");
  tacit_text_html(text, tacit_design_label(s->predictor->design, j));
  tacit_text_printf(text, "</td>");
  cell(text, centre + half * scale->mean, sd);
  cell(text, centre + half * mean, sd);
  cell(text, sd, sd);
  cell(text, half * sqrt(fmax(s->square[j] / n - mean * mean, 0)), sd);
  tacit_text_printf(text, "<td>");
  tacit_text_fixed(text, off, 2);
  tacit_text_printf(text, " <svg class=\"off\" role=\"img\" aria-label=\"the rows' mean is ");
  tacit_text_fixed(text, off, 2);
  tacit_text_printf(text, " released sds from the released one\" viewBox=\"0 0 100 10\"><path class=\"zero\" "
                          "d=\"M50 0V10\"/><path class=\"wide\" d=\"M50 5H");
  tacit_text_fixed(text, end, 1);
  tacit_text_printf(text, "\"/></svg></td></tr>\n");
}

static void page(const synthesis_t *s, const tacit_synthesis_settings_t *settings, tacit_text_t *text) {
  static const char own_style[] =
      ".off{display:inline-block;width:5rem;height:.6rem;vertical-align:middle}.off .wide{stroke-width:6}\n";
  tacit_page_head("Synthetic rows: ", s->fit->formula, own_style, text);
  tacit_text_printf(
      text,
      "<div class=\"banner%s\"><strong>Synthetic: these rows are nobody's</strong>%zu set%s of %zu rows "
      "(seed %llu), made of what a fit released and of nothing else: no record was read, %s.</div>\n",
      tacit_fit_is_private(s->fit) ? "" : " exposed", s->n_sets, s->n_sets == 1 ? "" : "s", s->n,
      (unsigned long long)settings->seed,
      tacit_fit_is_private(s->fit) ? "and they cost no privacy beyond the fit's"
                                   : "but the fit was seeded and is NOT PRIVATE, and so are they");
  tacit_text_printf(
      text,
      "<p>They hold one model, and means and covariances of its features. Shapes beyond the normal, "
      "interactions that the formula does not have, columns outside the formula and rare cases are the "
      "model's, not the data's: an analysis of those finds what this construction assumes. %s</p>\n"
      "<h2>Beside what was released</h2>\n<div class=\"scroll\"><table>\n<tr><th>Feature</th><th>Mean "
      "released</th><th>of rows</th><th>SD released</th><th>of rows</th><th>Means differ by, in "
      "SDs</th></tr>\n",
      s->fit->family == TACIT_FAMILY_GAUSSIAN
          ? "Errors around the line are normal here, whatever they are in the data."
          : "");
  for (size_t j = 1; j < s->d; j++) {
    page_row(s, j, text);
  }
  tacit_text_printf(
      text, "</table></div>\n<p>Means of sets differ by what the releases leave open. Moments of products "
            "such as a:b follow from the model, not from a release. Mean response of the rows: ");
  tacit_text_significant(text, s->responses / ((double)s->n * (double)s->n_sets), 3);
  tacit_text_printf(text, ". Rows whose levels stood for none and were replaced: %zu.</p>\n", s->n_replaced);
  tacit_synthesis_rules(s->n_sets, text);
  tacit_text_printf(text,
                    " One set taken for data gives intervals that are too narrow: of 90 %% ones some 58 %% "
                    "held the truth in simulations, of combined ones 94 %% (docs/results/synthetic). Whoever "
                    "only wants the coefficients has the fit itself, which is narrower.</p>\n");
  tacit_page_foot(text);
}

/* ---- all of it ---- */

static tacit_status_t choose_size(synthesis_t *s, const tacit_synthesis_settings_t *settings,
                                  tacit_error_t *err) {
  if (settings->n_sets < 1 || settings->n_sets > TACIT_SYNTHESIS_MAX_SETS) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sets", "1 to %d sets can be made, not %zu",
                           (int)TACIT_SYNTHESIS_MAX_SETS, settings->n_sets);
  }
  double n_public = s->fit->of->releases.n_units;
  if (settings->n_rows == 0 && !(n_public > 0)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "rows",
        "under relation add-remove the number of records is private: say how many rows to make, --rows N");
  }
  double n = settings->n_rows > 0 ? (double)settings->n_rows : n_public;
  if (!(n <= TACIT_SYNTHESIS_MAX_ROWS)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rows", "at most %d rows of a set can be made, not %.10g",
                           (int)TACIT_SYNTHESIS_MAX_ROWS, n);
  }
  s->n = (size_t)n;
  s->n_sets = settings->n_sets;
  s->n_tried = TRIES * s->n + 50;
  return TACIT_OK;
}

static tacit_status_t open_all(synthesis_t *s, const char *path, const tacit_synthesis_settings_t *settings,
                               tacit_error_t *err) {
  tacit_status_t status = tacit_fit_reopen(&s->fit, path, err);
  TACIT_THEN(status, choose_size(s, settings, err));
  TACIT_THEN(status, tacit_fit_prepare_kept(s->fit, err));
  if (status == TACIT_OK && s->fit->program != NULL) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "program",
                             "rows are made of fits of families bernoulli, poisson and gaussian; of a "
                             "program's columns only moments of what enters it are known");
  }
  if (status == TACIT_OK && s->fit->effects != NULL) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "formula",
                             "rows are not made of fits with (1 | g): fit the formula with '+ g' in its "
                             "place (of slopes '+ g + x:g'), at the same price");
  }
  TACIT_THEN(status, tacit_predictor_new(&s->predictor, path, err));
  TACIT_THEN(status, tacit_inverse_init(&s->inverse, s->predictor, err));
  if (status != TACIT_OK) {
    return status;
  }
  s->d = s->predictor->n_features;
  s->aware = s->fit->aware;
  s->aware.releases = &s->fit->of->releases;
  tacit_rng_key_from_seed(s->aware.key, settings->seed);
  s->features = tacit_alloc(s->n_tried, s->d * sizeof *s->features);
  s->is_exact = tacit_alloc(s->n_tried, sizeof *s->is_exact);
  s->columns = tacit_alloc_zero(s->inverse.n_columns + 1, sizeof *s->columns);
  bool ok = s->features != NULL && s->is_exact != NULL && s->columns != NULL;
  for (size_t c = 0; c < s->inverse.n_columns && ok; c++) {
    s->columns[c] = tacit_alloc(s->n_tried, sizeof **s->columns);
    ok = s->columns[c] != NULL;
  }
  return ok ? TACIT_OK : tacit_error_memory(err);
}

static void clear(synthesis_t *s) {
  for (size_t c = 0; s->columns != NULL && c < s->inverse.n_columns; c++) {
    tacit_free(s->columns[c]);
  }
  tacit_free(s->columns);
  tacit_free(s->is_exact);
  tacit_free(s->features);
  tacit_inverse_clear(&s->inverse);
  tacit_predictor_free(s->predictor);
  tacit_fit_free(s->fit);
}

static tacit_status_t of_fit(const char *path, const tacit_synthesis_settings_t *settings, tacit_text_t *csv,
                             tacit_text_t *json, tacit_text_t *html, tacit_error_t *err) {
  synthesis_t s = {.fit = NULL};
  tacit_status_t status = open_all(&s, path, settings, err);
  if (status == TACIT_OK) {
    put_header(&s);
  }
  for (size_t set = 0; set < s.n_sets && status == TACIT_OK; set++) {
    status = put_set(&s, set, err);
  }
  if (status == TACIT_OK) {
    put_comparison(&s, settings);
    if (html != NULL) {
      page(&s, settings, &s.html);
    }
    status = s.json.failed || s.html.failed ? tacit_error_memory(err) : TACIT_OK;
  }
  clear(&s);
  *csv = s.csv;
  *json = s.json;
  if (html != NULL) {
    *html = s.html;
  }
  return status;
}

tacit_status_t tacit_synthesize(const char *path, const tacit_synthesis_settings_t *settings, char **csv,
                                char **json, char **html, tacit_error_t *err) {
  tacit_text_t texts[3] = {{0}};
  char **const to[3] = {csv, json, html};
  bool is_of_tables;
  tacit_status_t status = tacit_synthesis_is_of_tables(path, &is_of_tables, err);
  TACIT_THEN(status, (is_of_tables ? tacit_synthesize_tables : of_fit)(path, settings, &texts[0], &texts[1],
                                                                       html != NULL ? &texts[2] : NULL, err));
  for (size_t i = 0; i < 3; i++) {
    if (status != TACIT_OK) {
      tacit_text_clear(&texts[i]);
    }
    if (to[i] != NULL) {
      *to[i] = texts[i].data;
    }
  }
  return status;
}
