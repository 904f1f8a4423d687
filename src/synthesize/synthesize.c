/* Synthetic rows, set by set: features, columns, responses; and a comparison with what was released. */
#include <math.h>
#include <string.h>

#include "fit/fit_internal.h"
#include "report/report_internal.h"
#include "synthesize/synthesize_internal.h"
#include "tacit/random.h"

enum { TRIES = 3, MAX_SETS = 1000, MAX_ROWS = 100000000 };

typedef struct synthesis {
  tacit_fit_t *fit;
  tacit_predictor_t *predictor;
  tacit_inverse_t inverse;
  tacit_noise_aware_settings_t aware; /* with the key of the rows */
  size_t n, n_sets, n_tried, d;
  double *features, **columns; /* (n_tried, d) scaled, then reported (n, d); (n_columns) of (n_tried) */
  bool *is_exact;              /* (n_tried) */
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES];
  double sum[TACIT_NOISE_AWARE_MAX_FEATURES], square[TACIT_NOISE_AWARE_MAX_FEATURES], responses; /* of all rows, scaled */
  size_t n_replaced;
  tacit_text_t csv, json;
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
  tacit_status_t status = tacit_noise_aware_features(&s->aware, s->inverse.is_used, 2 * (uint64_t)set, s->n_tried, s->features, s->scales, err);
  if (status == TACIT_OK) {
    status = tacit_inverse_columns(&s->inverse, s->n_tried, s->features, s->columns, s->is_exact, err);
  }
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

/* Coefficients are one draw for the whole set: what the posterior leaves open must differ between sets, not within one. */
static tacit_status_t put_set(synthesis_t *s, size_t set, tacit_error_t *err) {
  tacit_rng_t *rng = NULL;
  double *features = NULL;
  const tacit_schema_t *schema = s->fit->schema;
  const char *response = tacit_design_response(s->predictor->design);
  tacit_status_t status = make_columns(s, set, err);
  if (status == TACIT_OK) {
    status = tacit_rng_new(&rng, s->aware.key, 2 * (uint64_t)set + 1, err);
  }
  if (status == TACIT_OK) {
    status = tacit_predictor_features(s->predictor, &(tacit_new_rows_t){(const double *const *)s->columns, s->n}, &features, err);
  }
  if (status == TACIT_OK) {
    size_t draw = (size_t)tacit_rng_below(rng, s->predictor->n_draws);
    add_moments(s, features);
    for (size_t i = 0; i < s->n; i++) {
      double y = fmin(tacit_predictor_respond(s->predictor, features + i * s->d, draw, rng), s->aware.upper);
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

static void put_number(tacit_text_t *text, const char *name, double x) {
  tacit_text_printf(text, ", \"%s\": ", name);
  tacit_text_json_number(text, x);
}

static void put_feature(synthesis_t *s, size_t j) {
  double centre, half, n = (double)s->n * (double)s->n_sets, mean = s->sum[j] / n;
  tacit_design_scaling(s->predictor->design, j, &centre, &half);
  const tacit_feature_scale_t *scale = &s->scales[j];
  tacit_text_printf(&s->json, "%s\n    {\"term\": ", j > 1 ? "," : "");
  tacit_text_json_string(&s->json, tacit_design_label(s->predictor->design, j));
  put_number(&s->json, "released_mean", centre + half * scale->mean);
  put_number(&s->json, "released_sd", half * scale->sd);
  put_number(&s->json, "relative_error_of_released_variance", scale->relative_error);
  put_number(&s->json, "rows_mean", centre + half * mean);
  put_number(&s->json, "rows_sd", half * sqrt(fmax(s->square[j] / n - mean * mean, 0)));
  tacit_text_append(&s->json, "}", 1);
}

static void put_comparison(synthesis_t *s, const tacit_synthesis_settings_t *settings) {
  double n = (double)s->n * (double)s->n_sets;
  tacit_text_printf(&s->json, "{\n  \"format\": \"tacit synthetic rows\",\n  \"version\": 1,\n  \"synthetic\": true,\n"
                              "  \"note\": \"Nobody's records: features from released moments, responses from the posterior predictive of one model. What that model "
                              "leaves out is not in these rows.\",\n  \"formula\": ");
  tacit_text_json_string(&s->json, s->fit->formula);
  tacit_text_printf(&s->json, ",\n  \"private\": %s,\n  \"rows\": %zu,\n  \"sets\": %zu,\n  \"seed\": %llu,\n  \"rows_with_levels_replaced\": %zu,\n  \"response_mean\": ",
                    tacit_fit_is_private(s->fit) ? "true" : "false", s->n, s->n_sets, (unsigned long long)settings->seed, s->n_replaced);
  tacit_text_json_number(&s->json, s->responses / n);
  tacit_text_printf(&s->json, ",\n  \"features\": [");
  for (size_t j = 1; j < s->d; j++) {
    put_feature(s, j);
  }
  tacit_text_printf(&s->json, "\n  ]\n}\n");
}

/* ---- all of it ---- */

static tacit_status_t choose_size(synthesis_t *s, const tacit_synthesis_settings_t *settings, tacit_error_t *err) {
  if (settings->n_sets < 1 || settings->n_sets > MAX_SETS) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sets", "1 to %d sets can be made, not %zu", (int)MAX_SETS, settings->n_sets);
  }
  double n_public = s->fit->of->releases.n_units;
  if (settings->n_rows == 0 && !(n_public > 0)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rows", "under relation add-remove the number of records is private: say how many rows to make, --rows N");
  }
  double n = settings->n_rows > 0 ? (double)settings->n_rows : n_public;
  if (!(n <= MAX_ROWS)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rows", "at most %d rows of a set can be made, not %.10g", (int)MAX_ROWS, n);
  }
  s->n = (size_t)n;
  s->n_sets = settings->n_sets;
  s->n_tried = TRIES * s->n + 50;
  return TACIT_OK;
}

static tacit_status_t open_all(synthesis_t *s, const char *path, const tacit_synthesis_settings_t *settings, tacit_error_t *err) {
  tacit_status_t status = tacit_fit_reopen(&s->fit, path, err);
  if (status == TACIT_OK) {
    status = choose_size(s, settings, err);
  }
  if (status == TACIT_OK) {
    status = tacit_fit_prepare_kept(s->fit, err);
  }
  if (status == TACIT_OK) {
    status = tacit_predictor_new(&s->predictor, path, err);
  }
  if (status == TACIT_OK) {
    status = tacit_inverse_init(&s->inverse, s->predictor, err);
  }
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

tacit_status_t tacit_synthesize(const char *path, const tacit_synthesis_settings_t *settings, char **csv, char **json, tacit_error_t *err) {
  synthesis_t s = {.fit = NULL};
  *csv = *json = NULL;
  tacit_status_t status = open_all(&s, path, settings, err);
  if (status == TACIT_OK) {
    put_header(&s);
  }
  for (size_t set = 0; set < s.n_sets && status == TACIT_OK; set++) {
    status = put_set(&s, set, err);
  }
  if (status == TACIT_OK) {
    put_comparison(&s, settings);
    status = s.json.failed ? tacit_error_memory(err) : TACIT_OK;
  }
  clear(&s);
  if (status == TACIT_OK) {
    *csv = s.csv.data;
    *json = s.json.data;
  } else {
    tacit_text_clear(&s.csv);
    tacit_text_clear(&s.json);
  }
  return status;
}
