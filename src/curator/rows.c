/*
 * Releases of sums over whitened, weighted rows: second moments, responses, fitted means. Like those of release.c, each
 * is described as an event, charged, and only then computed; noise is added to an exact integer.
 *
 * A contribution v (a vector of D numbers) becomes the integers round(v / spacing). If any two contributions differ by at
 * most Delta in norm, their integers differ by at most Delta / spacing + sqrt(D), each coordinate's rounding moving the
 * difference by at most 1; the spacing is chosen so that this is at most 2^22. A record that counts as zero contributes
 * the zero vector, which is no further than Delta from any contribution.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "curator/curator_internal.h"

typedef enum row_sum { ROW_SECOND_MOMENTS, ROW_RESPONSE, ROW_FITTED, ROW_JOINT } row_sum_t;

/* What is summed over the records. */
typedef struct row_pass {
  tacit_curator_t *curator;
  row_sum_t what;
  const tacit_row_weighting_t *rows;
  const tacit_fitted_mean_t *fitted; /* ROW_FITTED */
  const tacit_row_residual_t *residual; /* ROW_JOINT */
  double centre, reach;              /* of the response or the fitted mean: |. - centre| <= reach */
  double spacing;
  size_t n_out;
} row_pass_t;

static const double root_2 = 1.41421356237309514547; /* sqrt(2), rounded */

/* row <- w u; false if it is not finite. */
static bool weigh(const tacit_row_weighting_t *rows, size_t d, const double *x, double *row, double *weight) {
  double n2 = 0;
  for (size_t i = 0; i < d; i++) {
    row[i] = rows->whiten == NULL ? x[i] : 0;
    for (size_t j = 0; rows->whiten != NULL && j <= i; j++) {
      row[i] += rows->whiten[i * d + j] * x[j];
    }
    n2 += row[i] * row[i];
  }
  double norm = sqrt(n2);
  *weight = norm > rows->radius ? rows->radius / norm : 1;
  for (size_t i = 0; i < d; i++) {
    row[i] *= *weight;
  }
  return n2 <= DBL_MAX;
}

/* What multiplies the row: the response or the fitted mean, centred and clamped; false if it is not a number. */
static bool multiplier(const row_pass_t *pass, const double *x, double y, double *value) {
  if (pass->what == ROW_FITTED) {
    double eta = 0;
    for (size_t j = 0; j < pass->curator->model->n_features; j++) {
      eta += pass->fitted->theta[j] * x[j];
    }
    y = tacit_family_moments((tacit_family_t)pass->fitted->family, pass->fitted->upper, eta).mean;
  }
  *value = fmax(fmin(y - pass->centre, pass->reach), -pass->reach);
  return !isnan(y);
}

/* By way of 64 bits, a single instruction: a record's integers are at most 2^22. */
static void add(const row_pass_t *pass, tacit_wide_t *total, double value) {
  *total += (int64_t)nearbyint(value / pass->spacing);
}

/* The residual of a record from a public fit, clamped; false if it is not a number. */
static bool residual_of(const row_pass_t *pass, const double *x, double y, double *value) {
  const tacit_row_residual_t *residual = pass->residual;
  for (size_t j = 0; j < pass->curator->model->n_features; j++) {
    y -= residual->theta[j] * x[j];
  }
  *value = fmax(fmin(y / residual->scale, residual->reach), -residual->reach);
  return !isnan(y);
}

static void add_record(const row_pass_t *pass, const double *x, double y, tacit_wide_t *totals) {
  size_t d = pass->curator->model->n_features;
  double row[TACIT_MAX_ROW_FEATURES + 1], value, weight;
  if (!weigh(pass->rows, d, x, row, &weight)) {
    return;
  }
  if (pass->what == ROW_JOINT) {
    if (!residual_of(pass, x, y, &value)) {
      return;
    }
    row[d++] = weight * value;
  } else if (pass->what != ROW_SECOND_MOMENTS) {
    for (size_t j = 0; multiplier(pass, x, y, &value) && j < d; j++) {
      add(pass, &totals[j], row[j] * value);
    }
    return;
  }
  for (size_t i = 0, k = 0; i < d; i++) {
    add(pass, &totals[k++], row[i] * row[i]);
    for (size_t j = i + 1; j < d; j++) {
      add(pass, &totals[k++], root_2 * (row[i] * row[j]));
    }
  }
}

static void rows_part(void *user, size_t first, size_t last, size_t thread) {
  const row_pass_t *pass = user;
  const tacit_curator_t *curator = pass->curator;
  size_t d = curator->model->n_features;
  for (size_t b = first; b < last; b++) {
    const float *block = tacit_records_block(curator->records, b);
    for (size_t lane = 0; lane < 16; lane++) {
      double x[TACIT_MAX_ROW_FEATURES];
      if (!(curator->lane_norm[b * 16 + lane] <= FLT_MAX)) {
        continue;
      }
      for (size_t j = 0; j < d; j++) {
        x[j] = (double)block[j * 16 + lane];
      }
      add_record(pass, x, (double)block[d * 16 + lane], curator->workspaces[thread].totals);
    }
  }
}

/* may_be_extra: a parameter beside the coefficients does no harm, as in a gaussian's with unknown sd. */
static tacit_status_t check_curator(const tacit_curator_t *curator, bool may_be_extra, tacit_error_t *err) {
  const tacit_record_model_t *model = curator->model;
  if (model->n_linear != 1 || (model->n_extra != 0 && !may_be_extra) || model->dim != model->n_features + model->n_extra ||
      model->n_columns != model->n_features + 1 || model->n_features > TACIT_MAX_ROW_FEATURES) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "model",
                           "sums of rows need one linear predictor of at most %d features and one response, and no further "
                           "parameter",
                           (int)TACIT_MAX_ROW_FEATURES);
  }
  if (curator->unit_offsets != NULL || curator->settings.max_unit_rows != 1) {
    return tacit_error_set(err, TACIT_ERR_STATE, "unit", "sums of rows protect one row: a unit must not have several");
  }
  if (curator->settings.temperature_power < 1) {
    return tacit_error_set(err, TACIT_ERR_STATE, "temperature", "sums of rows are not tempered: leave the temperature at 1");
  }
  if (!curator->is_exposed && tacit_budget_relation(curator->budget) != TACIT_RELATION_SUBSTITUTE) {
    return tacit_error_set(err, TACIT_ERR_STATE, "relation",
                           "sums of rows are read with the number of records, which is public under relation substitute only");
  }
  return TACIT_OK;
}

static tacit_status_t check_weighting(const row_pass_t *pass, tacit_error_t *err) {
  size_t d = pass->curator->model->n_features;
  bool ok = pass->rows->radius >= 1e-15 && pass->rows->radius <= 1e15;
  for (size_t i = 0; pass->rows->whiten != NULL && i < d * d; i++) {
    ok = ok && isfinite(pass->rows->whiten[i]);
  }
  if (!ok) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rows",
                           "rows need a finite whitening matrix and a radius between 1e-15 and 1e15");
  }
  if (pass->what != ROW_SECOND_MOMENTS && pass->what != ROW_JOINT && !(pass->reach >= 1e-15 && pass->reach <= 1e15)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "reach",
                           "the bound on what multiplies a row must be a number between 1e-15 and 1e15");
  }
  return TACIT_OK;
}

/* Charge, sum, noise. `diameter` bounds the distance of two contributions. */
static tacit_status_t release(row_pass_t *pass, double diameter, double noise_multiplier, const char *label, double *out,
                              double *noise_sd, tacit_error_t *err) {
  tacit_curator_t *curator = pass->curator;
  /* 1 + 1e-9 exceeds the rounding of a contribution before it meets the lattice: at most 64 terms of 2^-53 each */
  pass->spacing = diameter * (1 + 1e-9) / (0x1p22 - sqrt((double)pass->n_out) - 1);
  tacit_status_t status = check_weighting(pass, err);
  if (status == TACIT_OK) {
    status = tacit_curator_check_noise(curator, noise_multiplier, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_reserve(curator, curator->model->dim + 2, err); /* at least n_out sums */
  }
  if (status == TACIT_OK) {
    status = tacit_curator_charge(curator, noise_multiplier, 1, label, err);
  }
  double lattice_sd = noise_multiplier * (double)(1 << TACIT_ROW_BITS);
  if (status == TACIT_OK) {
    status = tacit_curator_draw_noise(curator, lattice_sd, pass->n_out, curator->draws, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  tacit_curator_sum_blocks(curator, pass->n_out, rows_part, pass);
  for (size_t i = 0; i < pass->n_out; i++) {
    out[i] = (double)(curator->sums[i] + curator->draws[i]) * pass->spacing;
  }
  *noise_sd = curator->is_exposed ? 0 : lattice_sd * pass->spacing;
  return TACIT_OK;
}

tacit_status_t tacit_curator_release_second_moments(tacit_curator_t *curator, const tacit_row_weighting_t *rows,
                                                    double noise_multiplier, double *out, double *noise_sd,
                                                    tacit_error_t *err) {
  size_t d = curator->model->dim;
  row_pass_t pass = {.curator = curator, .what = ROW_SECOND_MOMENTS, .rows = rows, .n_out = d * (d + 1) / 2};
  memset(out, 0, pass.n_out * sizeof *out);
  *noise_sd = 0;
  tacit_status_t status = check_curator(curator, false, err);
  return status != TACIT_OK ? status
                            : release(&pass, sqrt(2) * rows->radius * rows->radius, noise_multiplier,
                                      rows->whiten == NULL ? "second moments" : "whitened second moments", out, noise_sd,
                                      err);
}

tacit_status_t tacit_curator_release_response(tacit_curator_t *curator, const tacit_row_weighting_t *rows, double upper,
                                              double noise_multiplier, double *out, double *noise_sd,
                                              tacit_error_t *err) {
  row_pass_t pass = {.curator = curator,
                     .what = ROW_RESPONSE,
                     .rows = rows,
                     .centre = upper / 2,
                     .reach = upper / 2,
                     .n_out = curator->model->dim};
  memset(out, 0, pass.n_out * sizeof *out);
  *noise_sd = 0;
  tacit_status_t status = check_curator(curator, false, err);
  return status != TACIT_OK ? status
                            : release(&pass, upper * rows->radius, noise_multiplier, "responses times rows", out, noise_sd,
                                      err);
}

static tacit_status_t check_fitted(const tacit_curator_t *curator, const tacit_fitted_mean_t *fitted, tacit_error_t *err) {
  for (size_t j = 0; j < curator->model->dim; j++) {
    if (!isfinite(fitted->theta[j])) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "theta", "a release needs finite parameters");
    }
  }
  if (!tacit_family_has_moments((tacit_family_t)fitted->family, fitted->upper)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "family",
                           "means are known for bernoulli with upper bound 1 and for poisson with a whole number from 1 to "
                           "%d as its upper bound",
                           (int)TACIT_FAMILY_MAX_COUNT);
  }
  return TACIT_OK;
}

tacit_status_t tacit_curator_release_fitted(tacit_curator_t *curator, const tacit_row_weighting_t *rows,
                                            const tacit_fitted_mean_t *fitted, double noise_multiplier, double *out,
                                            double *noise_sd, tacit_error_t *err) {
  row_pass_t pass = {.curator = curator,
                     .what = ROW_FITTED,
                     .rows = rows,
                     .fitted = fitted,
                     .centre = fitted->upper / 2,
                     .reach = fitted->reach,
                     .n_out = curator->model->dim};
  memset(out, 0, pass.n_out * sizeof *out);
  *noise_sd = 0;
  tacit_status_t status = check_curator(curator, false, err);
  if (status == TACIT_OK) {
    status = check_fitted(curator, fitted, err);
  }
  return status != TACIT_OK ? status
                            : release(&pass, 2 * fitted->reach * rows->radius, noise_multiplier, "fitted means times rows",
                                      out, noise_sd, err);
}

static tacit_status_t check_residual(const tacit_curator_t *curator, const tacit_row_residual_t *residual, tacit_error_t *err) {
  bool ok = residual->scale >= 1e-15 && residual->scale <= 1e15 && residual->reach >= 1e-15 && residual->reach <= 1e15 &&
            residual->n_features == curator->model->n_features;
  for (size_t j = 0; ok && j < residual->n_features; j++) {
    ok = isfinite(residual->theta[j]);
  }
  return ok ? TACIT_OK
            : tacit_error_set(err, TACIT_ERR_ARGUMENT, "residual",
                              "a residual needs a finite parameter for each of the model's %zu features, and a scale and a reach "
                              "between 1e-15 and 1e15",
                              curator->model->n_features);
}

tacit_status_t tacit_curator_release_joint_moments(tacit_curator_t *curator, const tacit_row_weighting_t *rows,
                                                   const tacit_row_residual_t *residual, double noise_multiplier, double *out,
                                                   double *noise_sd, tacit_error_t *err) {
  size_t d = curator->model->n_features + 1;
  row_pass_t pass = {.curator = curator, .what = ROW_JOINT, .rows = rows, .residual = residual, .n_out = d * (d + 1) / 2};
  memset(out, 0, pass.n_out * sizeof *out);
  *noise_sd = 0;
  tacit_status_t status = check_curator(curator, true, err);
  if (status == TACIT_OK) {
    status = check_residual(curator, residual, err);
  }
  double norm2 = rows->radius * rows->radius + residual->reach * residual->reach;
  return status != TACIT_OK ? status
                            : release(&pass, sqrt(2) * norm2, noise_multiplier,
                                      rows->whiten == NULL ? "joint moments" : "whitened joint moments", out, noise_sd, err);
}
