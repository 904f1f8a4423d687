/* Records that are nobody's, and what a program expects of them (docs/theory.md, section 18.14). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* Least eigenvalue of the information of a record, in units of their mean. */
static const double least_information = 0.01;

enum { N_RECORDS = 1024 };

size_t tacit_public_n_columns(const tacit_record_model_t *model) {
  size_t n = 0;
  for (size_t j = 0; j < model->n_columns && model->of_outcome != NULL && n < TACIT_AWARE_MAX_COLUMNS; j++) {
    n += !model->of_outcome[j];
  }
  return n;
}

/* Columns that are no outcome's, and where they are among records spread evenly. */
static void choose_columns(tacit_public_t *p) {
  const tacit_record_model_t *model = p->model;
  for (size_t j = 0; j < model->n_columns && model->of_outcome != NULL && p->columns.n < TACIT_AWARE_MAX_COLUMNS; j++) {
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < p->n && !model->of_outcome[j]; i++) {
      low = fminf(low, p->records[i * model->n_columns + j]);
      high = fmaxf(high, p->records[i * model->n_columns + j]);
    }
    if (!model->of_outcome[j]) {
      p->columns.column[p->columns.n] = j;
      p->columns.middle[p->columns.n] = 0.5 * ((double)low + (double)high);
      p->columns.half[p->columns.n++] = high > low ? 0.5 * ((double)high - (double)low) : 1;
    }
  }
}

tacit_status_t tacit_public_open(tacit_public_t *p, const tacit_record_model_t *model, tacit_error_t *err) {
  size_t d = model->dim;
  tacit_centred_point_t point = {.n_simulated = TACIT_PROGRAM_SIMULATED};
  *p = (tacit_public_t){.model = model, .d = d, .n = N_RECORDS};
  p->records = tacit_alloc_zero(p->n * model->n_columns, sizeof *p->records);
  p->weights = tacit_alloc_zero(p->n, sizeof *p->weights);
  p->means = tacit_alloc_zero(p->n * d, sizeof *p->means);
  p->squares = tacit_alloc_zero(p->n * d * d, sizeof *p->squares);
  p->with_score = tacit_alloc_zero(p->n * d * d, sizeof *p->with_score);
  p->information = tacit_alloc_zero(p->n * d * d, sizeof *p->information);
  p->work = tacit_alloc_zero(tacit_centred_n_work(model, &point), sizeof *p->work);
  bool ok = p->records != NULL && p->weights != NULL && p->means != NULL && p->squares != NULL && p->with_score != NULL &&
            p->information != NULL && p->work != NULL;
  if (!ok) {
    return tacit_error_memory(err);
  }
  model->made_up(model->ctx, TACIT_PROGRAM_MADE_UP, p->n, NULL, p->records);
  choose_columns(p);
  for (size_t i = 0; i < p->n; i++) {
    p->weights[i] = 1 / (double)p->n;
  }
  return TACIT_OK;
}

void tacit_public_close(tacit_public_t *p) {
  double *const arrays[] = {p->weights, p->means, p->squares, p->with_score, p->information, p->work};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_free(p->spread);
  tacit_free(p->records);
}

void tacit_public_expect(tacit_public_t *p, const tacit_centred_point_t *point, const double *law) {
  size_t size = p->d * p->d;
  for (size_t i = 0; i < p->n; i++) {
    tacit_centred_expect(p->model, point, law, p->records + i * p->model->n_columns, p->work, p->means + i * p->d, p->squares + i * size,
                         p->with_score + i * size, p->information + i * size);
  }
}

void tacit_public_mean(const tacit_public_t *p, size_t size, const double *of, double *out) {
  memset(out, 0, size * sizeof *out);
  for (size_t i = 0; i < p->n; i++) {
    for (size_t k = 0; k < size; k++) {
      out[k] += isfinite(of[i * size + k]) ? p->weights[i] * of[i * size + k] : 0;
    }
  }
}

bool tacit_public_metric(tacit_public_t *p, const double *theta, double *whiten) {
  size_t d = p->d;
  double one[MATRIX] = {0}, information[MATRIX], work[2 * MATRIX + TACIT_NOISE_AWARE_MAX_NARROW], trace = 0;
  for (size_t j = 0; j < d; j++) {
    one[j * d + j] = 1;
  }
  tacit_public_expect(p, &(tacit_centred_point_t){theta, one, 1e15, TACIT_PROGRAM_SIMULATED, 1}, theta);
  tacit_public_mean(p, d * d, p->information, information);
  for (size_t j = 0; j < d; j++) {
    trace += information[j * d + j];
  }
  if (!(trace > 0 && trace <= DBL_MAX)) {
    return false;
  }
  tacit_raise_eigenvalues(d, information, least_information * trace / (double)d, work);
  if (!tacit_cholesky(d, information)) {
    return false;
  }
  tacit_invert_lower(d, information, whiten);
  return true;
}
