/* Regressions on files of the shared data, or on simulated stand-ins where these are absent; and their
 * predictions. */
#include <stdlib.h>
#include <string.h>

#include "data/records.h"
#include "papers.h"

enum { most_classes = 8, most_features = 64 };

static bool data_path(const char *file, char path[1024]) {
  const char *shared = getenv("TACIT_SHARED");
  int n = shared != NULL && file != NULL ? snprintf(path, 1024, "%s/data/%s", shared, file) : -1;
  FILE *there = n > 0 && n < 1024 ? fopen(path, "r") : NULL;
  if (there != NULL) {
    fclose(there);
  }
  return there != NULL;
}

/* Raw rows from scaled ones: what coefficients on the original scale belong to. */
static void unscale(const tacit_design_t *design, const float *from, size_t n_features, float *to) {
  for (size_t j = 0; j < n_features; j++) {
    double centre, half;
    tacit_design_scaling(design, j, &centre, &half);
    to[j] = (float)((double)from[j] * half + centre);
  }
  to[n_features] = from[n_features];
}

static void unpack(const tacit_records_t *records, size_t i, size_t n_columns, float *row) {
  const float *block = tacit_records_block(records, i / TACIT_BLOCK);
  for (size_t j = 0; j < n_columns; j++) {
    row[j] = block[j * TACIT_BLOCK + i % TACIT_BLOCK];
  }
}

/* Add the rows of a file: those whose `split` is 1, or all if is_test, to the test rows, the others to the
 * training rows. */
static void read_rows(regression_t *r, const char *path, const tacit_schema_t *schema,
                      const tacit_design_t *design, const char *split, bool is_test) {
  tacit_table_t *table;
  tacit_records_t *records;
  tacit_error_t err;
  size_t n_columns = r->n_features + 1;
  must(tacit_table_read(&table, path, schema, NULL, 0, NULL, &err), &err);
  must(tacit_design_pack(&records, design, table, &err), &err);
  const double *is_held_out = split != NULL ? tacit_table_column(table, split) : NULL;
  size_t n = tacit_table_n_rows(table);
  float *row = allocate(n_columns, sizeof *row);
  r->x = is_test ? r->x : allocate(n * n_columns, sizeof *r->x);
  r->x_test = is_test || split != NULL ? allocate(n * n_columns, sizeof *r->x_test) : r->x_test;
  for (size_t i = 0; i < n; i++) {
    unpack(records, i, n_columns, row);
    if (is_test || (is_held_out != NULL && is_held_out[i] > 0.5)) {
      unscale(design, row, r->n_features, r->x_test + r->n_test++ * n_columns);
    } else {
      memcpy(r->x + r->train.n++ * n_columns, row, n_columns * sizeof *row);
    }
  }
  free(row);
  tacit_records_free(records);
  tacit_table_free(table);
}

/* A class with probabilities proportional to exp(eta), the first one's being 0. */
static size_t draw_class(tacit_rng_t *rng, const double *eta, size_t n_classes) {
  double total = 0, at = 0;
  for (size_t c = 0; c < n_classes; c++) {
    total += exp(eta[c]);
  }
  double u = tacit_rng_uniform(rng) * total;
  for (size_t c = 0; c + 1 < n_classes; c++) {
    at += exp(eta[c]);
    if (u < at) {
      return c;
    }
  }
  return n_classes - 1;
}

/* Features uniform on [-1/2, 1/2], coefficients +-3 by turns: classes that features tell apart in part. */
static void simulate(const run_t *run, regression_t *r, const tacit_design_t *design, size_t n) {
  tacit_rng_t *rng = study_rng(run, 77);
  size_t n_columns = r->n_features + 1, n_kinds = r->n_classes > 0 ? r->n_classes : 2;
  float *row = allocate(n_columns, sizeof *row);
  r->x = allocate(n * n_columns, sizeof *r->x);
  r->x_test = allocate(n * n_columns, sizeof *r->x_test);
  for (size_t i = 0; i < n; i++) {
    double eta[most_classes] = {0};
    for (size_t j = 0; j < r->n_features; j++) {
      row[j] = j == 0 ? 1 : (float)(tacit_rng_uniform(rng) - 0.5);
      for (size_t c = 1; c < n_kinds; c++) {
        eta[c] += j == 0 ? -0.5 * (double)c : 3 * ((j + c) % 2 == 0 ? 1 : -1) * (double)row[j];
      }
    }
    row[r->n_features] = (float)draw_class(rng, eta, n_kinds);
    if (i % 5 == 0) {
      unscale(design, row, r->n_features, r->x_test + r->n_test++ * n_columns);
    } else {
      memcpy(r->x + r->train.n++ * n_columns, row, n_columns * sizeof *row);
    }
  }
  free(row);
  tacit_rng_free(rng);
}

void regression_open(const run_t *run, const regression_source_t *source, regression_t *r) {
  tacit_schema_t *schema;
  tacit_design_t *design;
  tacit_error_t err;
  tacit_glm_settings_t settings = tacit_glm_settings_default();
  char train[1024], test[1024];
  *r = (regression_t){.is_real = data_path(source->train, train) &&
                                 (source->test == NULL || data_path(source->test, test))};
  must(tacit_schema_parse(&schema, source->schema, strlen(source->schema), "schema", &err), &err);
  must(tacit_design_new(&design, source->formula, schema, source->family, &err), &err);
  settings.family = source->family;
  tacit_prior_entry_t prior = {NULL, {TACIT_PRIOR_NORMAL, 0, 0, source->prior_sd}};
  settings.priors = source->prior_sd > 0 ? &prior : NULL;
  settings.n_priors = source->prior_sd > 0 ? 1 : 0;
  must(tacit_model_init_glm(&r->model, design, &settings, &err), &err);
  r->n_features = tacit_design_n_features(design);
  r->n_classes = tacit_design_n_classes(design);
  if (r->n_features > most_features || r->n_classes > most_classes) {
    fprintf(stderr, "tacit-papers: too many features or classes\n");
    exit(1);
  }
  if (r->is_real) {
    read_rows(r, train, schema, design, source->split, false);
    if (source->test != NULL) {
      read_rows(r, test, schema, design, NULL, true);
    }
  } else {
    simulate(run, r, design, source->n);
  }
  r->train.name = r->is_real ? source->train : "simulated";
  r->train.model = &r->model;
  r->train.n_columns = r->n_features + 1;
  r->train.x = r->x;
  tacit_design_free(design);
  tacit_schema_free(schema);
}

void regression_clear(regression_t *r) {
  tacit_model_clear(&r->model);
  free(r->x);
  free(r->x_test);
}

/* Probabilities of the classes of one row, added to sum. */
static void add_probabilities(const regression_t *r, const float *row, const double *theta, double *sum) {
  size_t n_kinds = r->n_classes > 0 ? r->n_classes : 2;
  double eta[most_classes] = {0}, most = 0, total = 0;
  for (size_t c = 1; c < n_kinds; c++) {
    for (size_t j = 0; j < r->n_features; j++) {
      eta[c] += theta[(c - 1) * r->n_features + j] * (double)row[j];
    }
    most = fmax(most, eta[c]);
  }
  for (size_t c = 0; c < n_kinds; c++) {
    total += exp(eta[c] - most);
  }
  for (size_t c = 0; c < n_kinds; c++) {
    sum[c] += exp(eta[c] - most) / total;
  }
}

/* Of rows first .. of all chains, n of them evenly spaced, probabilities averaged. */
prediction_t predict(const regression_t *r, const tacit_draws_t *draws, size_t first, size_t n) {
  size_t kept = draws->n_saved - first, total = kept * draws->n_chains,
         n_kinds = r->n_classes > 0 ? r->n_classes : 2;
  prediction_t prediction = {0, 0};
  n = n < total ? n : total;
  for (size_t i = 0; i < r->n_test; i++) {
    const float *row = r->x_test + i * (r->n_features + 1);
    size_t truth = (size_t)row[r->n_features], best = 0;
    double sum[most_classes] = {0};
    for (size_t k = 0; k < n; k++) {
      size_t at = k * total / n;
      add_probabilities(r, row, tacit_draws_row(draws, at / kept, first + at % kept), sum);
    }
    for (size_t c = 1; c < n_kinds; c++) {
      best = sum[c] > sum[best] ? c : best;
    }
    prediction.accuracy += (best == truth) / (double)r->n_test;
    prediction.log_score += log(fmax(sum[truth] / (double)n, 1e-12)) / (double)r->n_test;
  }
  return prediction;
}
