/* Predictions: draws of linear predictors, expected responses, responses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "augment/augment_internal.h"
#include "predict/predict_internal.h"

/* ---- one row ---- */

const double *tacit_predictor_draw(const tacit_predictor_t *p, size_t i) {
  const tacit_draws_t *draws = &p->fit.draws;
  size_t n_kept = tacit_draws_n_kept(draws);
  return tacit_draws_row(draws, i / n_kept, draws->n_warmup + i % n_kept);
}

static double linear(const tacit_predictor_t *p, const double *features, const double *draw, size_t r) {
  double eta = 0;
  for (size_t j = 0; j < p->n_features; j++) {
    eta += features[j] * draw[p->coefficient[r * p->n_features + j]];
  }
  return eta;
}

static double inverse_logit(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }

/* Probabilities of the classes, the first of which has linear predictor 0; shape (n_linear + 1) with stride.
 */
static void softmax(const tacit_predictor_t *p, const double *features, const double *draw, size_t stride,
                    double *out) {
  double largest = 0, sum = 0;
  out[0] = 0;
  for (size_t r = 0; r < p->n_linear; r++) {
    out[(r + 1) * stride] = linear(p, features, draw, r);
    largest = fmax(largest, out[(r + 1) * stride]);
  }
  for (size_t c = 0; c <= p->n_linear; c++) {
    sum += out[c * stride] = exp(out[c * stride] - largest);
  }
  for (size_t c = 0; c <= p->n_linear; c++) {
    out[c * stride] /= sum;
  }
}

/* In place of probabilities: 1 for the class that is drawn, else 0. */
static void draw_class(size_t n_classes, size_t stride, tacit_rng_t *rng, double *out) {
  double u = tacit_rng_uniform(rng), below = 0;
  bool is_drawn = false;
  for (size_t c = 0; c < n_classes; c++) {
    below += out[c * stride];
    bool is_it = !is_drawn && (u < below || c + 1 == n_classes);
    out[c * stride] = is_it;
    is_drawn = is_drawn || is_it;
  }
}

static double expected(const tacit_predictor_t *p, double eta) {
  return p->family == TACIT_FAMILY_BERNOULLI ? inverse_logit(eta)
         : p->family == TACIT_FAMILY_POISSON ? exp(eta)
                                             : eta;
}

/* By products of uniforms where the mean is small, else by transformed rejection [Hormann1993], which needs a
 * mean of 10. */
static double draw_count(double mean, tacit_rng_t *rng) {
  if (mean >= 10) {
    return tacit_draw_poisson(rng, mean);
  }
  double count = -1, product = 1, limit = exp(-mean);
  do {
    product *= tacit_rng_uniform(rng);
    count++;
  } while (product > limit);
  return count;
}

static double respond(const tacit_predictor_t *p, double mean, const double *draw, tacit_rng_t *rng) {
  if (p->family == TACIT_FAMILY_BERNOULLI) {
    return tacit_rng_uniform(rng) < mean;
  }
  if (p->family == TACIT_FAMILY_POISSON) {
    return draw_count(mean, rng);
  }
  return mean + (p->sigma != SIZE_MAX ? draw[p->sigma] : p->known_sd) * tacit_rng_normal(rng);
}

static void predict_row(const tacit_predictor_t *p, const double *features, tacit_prediction_kind_t kind,
                        tacit_rng_t *rng, double *draws) {
  bool is_class = tacit_design_n_classes(p->design) > 0;
  for (size_t i = 0; i < p->n_draws; i++) {
    const double *draw = tacit_predictor_draw(p, i);
    if (kind == TACIT_PREDICT_LINEAR) {
      for (size_t r = 0; r < p->n_linear; r++) {
        draws[r * p->n_draws + i] = linear(p, features, draw, r);
      }
    } else if (is_class) {
      softmax(p, features, draw, p->n_draws, draws + i);
      if (kind == TACIT_PREDICT_RESPONSE) {
        draw_class(p->n_linear + 1, p->n_draws, rng, draws + i);
      }
    } else {
      double mean = expected(p, linear(p, features, draw, 0));
      draws[i] = kind == TACIT_PREDICT_RESPONSE ? respond(p, mean, draw, rng) : mean;
    }
  }
}

double tacit_predictor_respond(const tacit_predictor_t *p, const double *features, size_t i,
                               tacit_rng_t *rng) {
  const double *draw = tacit_predictor_draw(p, i);
  return respond(p, expected(p, linear(p, features, draw, 0)), draw, rng);
}

/* ---- rows ---- */

/* There is nothing to predict from what is not there: records that lacked it were left out. */
static tacit_status_t check_is_there(const tacit_predictor_t *p, const tacit_new_rows_t *rows,
                                     tacit_error_t *err) {
  for (size_t k = 0; k < p->n_names; k++) {
    for (size_t i = 0; i < rows->n; i++) {
      if (isnan(rows->columns[k][i])) {
        return tacit_error_set(
            err, TACIT_ERR_DATA, p->names[k],
            "row %zu: column '%.64s' is missing, and the schema has no value for that: leave the row out",
            i + 1, p->names[k]);
      }
    }
  }
  return TACIT_OK;
}

static tacit_status_t make_features(const tacit_predictor_t *p, const tacit_new_rows_t *rows,
                                    double *features, tacit_error_t *err) {
  size_t n_columns;
  tacit_design_columns(p->design, &n_columns);
  const double **columns = tacit_alloc_zero(n_columns, sizeof *columns);
  if (columns == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n_columns; i++) {
    columns[i] = p->place[i] != SIZE_MAX ? rows->columns[p->place[i]] : NULL;
  }
  tacit_status_t status = tacit_design_evaluate(p->design, columns, rows->n, features, err);
  tacit_free(columns);
  return status;
}

tacit_status_t tacit_predictor_features(const tacit_predictor_t *p, const tacit_new_rows_t *rows,
                                        double **features, tacit_error_t *err) {
  tacit_status_t status = check_is_there(p, rows, err);
  if (status != TACIT_OK) {
    return status;
  }
  *features = tacit_alloc(rows->n, (p->n_features + 1) * sizeof **features);
  status = *features != NULL ? p->kind->features(p, rows, *features, err) : tacit_error_memory(err);
  if (status != TACIT_OK) {
    tacit_free(*features);
    *features = NULL;
  }
  return status;
}

tacit_status_t tacit_predictor_row(const tacit_predictor_t *p, const double *features,
                                   tacit_prediction_kind_t kind, size_t row, tacit_rng_t *rng, double *draws,
                                   tacit_error_t *err) {
  p->kind->row(p, features + row * p->n_features, kind, rng, draws);
  return p->kind->check_row != NULL ? p->kind->check_row(p, kind, row, draws, err) : TACIT_OK;
}

/* ---- of a formula's own kernels ---- */

static size_t n_outcomes(const tacit_predictor_t *p, tacit_prediction_kind_t kind) {
  size_t n_classes = tacit_design_n_classes(p->design);
  return kind == TACIT_PREDICT_LINEAR || n_classes == 0 ? p->n_linear : n_classes;
}

static const char *outcome(tacit_predictor_t *p, tacit_prediction_kind_t kind, size_t k) {
  return tacit_design_n_classes(p->design) == 0
             ? ""
             : tacit_design_class_label(p->design, k + (kind == TACIT_PREDICT_LINEAR));
}

static bool is_drawn(const tacit_predictor_t *p, tacit_prediction_kind_t kind) {
  (void)p;
  return kind == TACIT_PREDICT_RESPONSE;
}

static tacit_status_t check(const tacit_predictor_t *p, tacit_prediction_kind_t kind, tacit_error_t *err) {
  bool lacks_sd = kind == TACIT_PREDICT_RESPONSE && p->family == TACIT_FAMILY_GAUSSIAN &&
                  p->sigma == SIZE_MAX && !(p->known_sd > 0);
  return !lacks_sd ? TACIT_OK
                   : tacit_error_set(err, TACIT_ERR_DATA, "sd",
                                     "the fit's residual sd is neither among its parameters nor known: "
                                     "responses cannot be drawn");
}

const tacit_predictor_kind_t tacit_predictor_of_formula = {.n_outcomes = n_outcomes,
                                                           .outcome = outcome,
                                                           .is_drawn = is_drawn,
                                                           .check = check,
                                                           .features = make_features,
                                                           .row = predict_row};

/* ---- all of it ---- */

static tacit_status_t open_rng(bool is_drawn, uint64_t seed, tacit_rng_t **rng, tacit_error_t *err) {
  unsigned char key[32];
  *rng = NULL;
  if (!is_drawn) {
    return TACIT_OK;
  }
  tacit_rng_key_from_seed(key, seed);
  return tacit_rng_new(rng, key, 0, err);
}

tacit_status_t tacit_predict(const tacit_predictor_t *p, const tacit_new_rows_t *rows,
                             tacit_prediction_kind_t kind, uint64_t seed, tacit_prediction_fn take,
                             void *user, tacit_error_t *err) {
  double *features = NULL,
         *draws = tacit_alloc(tacit_predictor_n_outcomes(p, kind) * p->n_draws, sizeof *draws);
  tacit_rng_t *rng = NULL;
  tacit_status_t status = draws != NULL ? p->kind->check(p, kind, err) : tacit_error_memory(err);
  TACIT_THEN(status, tacit_predictor_features(p, rows, &features, err));
  TACIT_THEN(status, open_rng(p->kind->is_drawn(p, kind), seed, &rng, err));
  for (size_t i = 0; i < rows->n && status == TACIT_OK; i++) {
    status = tacit_predictor_row(p, features, kind, i, rng, draws, err);
    TACIT_THEN(status, take(user, i, draws, err));
  }
  tacit_rng_free(rng);
  tacit_free(features);
  tacit_free(draws);
  return status;
}

/* Quantiles between order statistics, as in tacit_summarise(). */
static double quantile(const double *sorted, size_t n, double p) {
  double position = p * (double)(n - 1);
  size_t low = (size_t)position;
  return low + 1 < n ? sorted[low] + (position - (double)low) * (sorted[low + 1] - sorted[low])
                     : sorted[n - 1];
}

tacit_summary_t tacit_prediction_summary(double *draws, size_t n) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    sum += draws[i];
  }
  double mean = sum / (double)n;
  for (size_t i = 0; i < n; i++) {
    squares += (draws[i] - mean) * (draws[i] - mean);
  }
  tacit_sort_numbers(n, draws);
  return (tacit_summary_t){.mean = mean,
                           .sd = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN,
                           .q5 = quantile(draws, n, 0.05),
                           .q50 = quantile(draws, n, 0.5),
                           .q95 = quantile(draws, n, 0.95),
                           .q2_5 = quantile(draws, n, 0.025),
                           .q97_5 = quantile(draws, n, 0.975),
                           .mcse_mean = NAN,
                           .ess_bulk = NAN,
                           .ess_tail = NAN,
                           .rhat = NAN};
}
