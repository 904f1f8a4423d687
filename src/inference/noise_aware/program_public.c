/* Records that are nobody's, and what a program expects of them: for starting points, forecasts and checks
 * (docs/theory.md, section 18.14). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "curator/centred.h"
#include "noise_aware/program.h"

/* Least eigenvalue of the information of a record, in units of their mean. */
static const double least_information = 0.01;

enum { N_RECORDS = 1024 }; /* a multiple of 16 */

tacit_status_t tacit_public_open(tacit_public_t *p, const tacit_record_model_t *model, tacit_error_t *err) {
  tacit_centred_point_t point = {.n_simulated = TACIT_PROGRAM_SIMULATED};
  *p = (tacit_public_t){.model = model, .d = model->dim, .n = N_RECORDS};
  p->records = tacit_alloc_zero(p->n * model->n_columns, sizeof *p->records);
  p->weights = tacit_alloc_zero(p->n, sizeof *p->weights);
  p->work = tacit_alloc_zero(tacit_centred_n_work(model, &point), sizeof *p->work);
  if (p->records == NULL || p->weights == NULL || p->work == NULL) {
    return tacit_error_memory(err);
  }
  model->made_up(model->ctx, TACIT_PROGRAM_MADE_UP, p->n, p->records);
  for (size_t i = 0; i < p->n; i++) {
    p->weights[i] = 1 / (double)p->n;
  }
  return TACIT_OK;
}

void tacit_public_close(tacit_public_t *p) {
  tacit_free(p->weights);
  tacit_free(p->records);
  tacit_free(p->work);
}

static void add(size_t size, const double *of, double weight, double *out) {
  for (size_t k = 0; k < size; k++) {
    out[k] += isfinite(of[k]) ? weight * of[k] : 0;
  }
}

void tacit_public_slope(tacit_public_t *p, const tacit_centred_point_t *point, double *slope) {
  double one[MATRIX];
  memset(slope, 0, p->d * p->d * sizeof *slope);
  for (size_t i = 0; i < p->n; i++) {
    tacit_centred_slope(p->model, point, p->records + i * p->model->n_columns, p->work, one);
    add(p->d * p->d, one, p->weights[i], slope);
  }
}

void tacit_public_expect(tacit_public_t *p, const tacit_centred_point_t *point, const double *distribution,
                         double *mean) {
  double one[PARAMETERS];
  memset(mean, 0, p->d * sizeof *mean);
  for (size_t i = 0; i < p->n; i++) {
    tacit_centred_expect(p->model, point, distribution, p->records + i * p->model->n_columns, p->work, one);
    add(p->d, one, p->weights[i], mean);
  }
}

bool tacit_public_lengths(tacit_public_t *p, const tacit_centred_point_t *point, size_t n_edges,
                          const double *edges, double *shares) {
  bool is_known = true;
  memset(shares, 0, (n_edges + 1) * sizeof *shares);
  for (size_t i = 0; i < p->n && is_known; i++) {
    is_known = tacit_centred_lengths(p->model, point, p->records + i * p->model->n_columns, p->work, n_edges,
                                     edges, p->weights[i], shares);
  }
  return is_known;
}

/* lengths (p->n) <- of scores of these records, NaN where they are no finite numbers. */
static void find_lengths(tacit_public_t *p, const tacit_centred_point_t *point, const float *records,
                         double *lengths) {
  const tacit_centred_workspace_t workspace = tacit_centred_workspace(p->model, point, p->work);
  size_t n_columns = p->model->n_columns;
  for (size_t i = 0; i < p->n; i += 16) {
    for (size_t k = 0; k < 16 * n_columns; k++) {
      workspace.blocks[k] = records[(i + k % 16) * n_columns + k / 16];
    }
    tacit_centred_whiten(p->model, point, workspace.blocks, 16, workspace.gradient, workspace.scores,
                         lengths + i);
  }
}

bool tacit_public_reach(tacit_public_t *p, const tacit_centred_point_t *point, double share, double *reach) {
  double lengths[N_RECORDS], low = 0, all = 0;
  float *records = tacit_alloc(p->n * p->model->n_columns, sizeof *records);
  *reach = 0;
  if (records == NULL) {
    return false;
  }
  p->model->made_up(p->model->ctx, TACIT_PROGRAM_MADE_UP | TACIT_AT_BOUNDS, p->n, records);
  find_lengths(p, point, records, lengths);
  tacit_free(records);
  for (size_t i = 0; i < p->n; i++) {
    *reach = fmax(*reach, lengths[i]);
    all += isnan(lengths[i]) ? 0 : p->weights[i];
  }
  for (int k = 0; k < 60; k++) {
    double middle = 0.5 * (low + *reach), within = 0;
    for (size_t i = 0; i < p->n; i++) {
      within += lengths[i] <= middle ? p->weights[i] : 0;
    }
    *(within < share * all ? &low : reach) = middle;
  }
  return true;
}

bool tacit_public_metric(tacit_public_t *p, const double *theta, double *whiten) {
  size_t d = p->d;
  double one[MATRIX] = {0}, information[MATRIX], work[2 * MATRIX + PARAMETERS], trace = 0;
  for (size_t j = 0; j < d; j++) {
    one[j * d + j] = 1;
  }
  tacit_public_slope(p, &(tacit_centred_point_t){theta, one, 1e15, 1e15, TACIT_PROGRAM_SIMULATED, 1},
                     information);
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
