/*
 * Release of a histogram of the units' gradient norms on a public grid, from which clip bounds are chosen. Like all releases, it is
 * described as an event, charged, and only then computed; noise is added to an exact integer.
 *
 * A unit adds 2^20 to one cell, or to none if its norm is no finite number; in which cell is a function of that unit's records
 * alone, however its floating-point arithmetic rounds. Replacing a unit changes at most two cells by 2^20 each: sensitivity
 * sqrt(2) 2^20. Adding or removing one changes one: 2^20. These are the sensitivities of what is summed, without a slack.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "curator/curator_internal.h"

double tacit_norm_edge(size_t k) {
  return k + 1 < TACIT_NORM_CELLS ? exp2(0.5 * (double)k - 8) : INFINITY;
}

static size_t cell_of(double norm) {
  size_t k = 0;
  while (norm > tacit_norm_edge(k)) {
    k++;
  }
  return k;
}

/* Add record i's gradient at the one point in workspace->rows to the unit's sum. */
static void add_gradient(const tacit_curator_t *curator, const tacit_workspace_t *workspace, size_t i) {
  const tacit_record_model_t *model = curator->model;
  const float *block = tacit_records_block(curator->records, i / TACIT_BLOCK);
  size_t lane = i % TACIT_BLOCK, p = model->n_features;
  for (size_t j = 0; j < model->dim; j++) {
    size_t row = model->n_linear == 0 ? j : j < model->n_linear * p ? j / p : model->n_linear + j - model->n_linear * p;
    double factor = j < model->n_linear * p ? (double)block[j % p * TACIT_BLOCK + lane] : 1;
    workspace->unit_sum[j] += (double)workspace->rows[row * TACIT_BLOCK + lane] * factor;
  }
}

void tacit_norms_add(const tacit_curator_t *curator, tacit_workspace_t *workspace, size_t first, size_t last,
                     tacit_wide_t *totals) {
  const size_t *offsets = curator->unit_offsets;
  size_t dim = curator->model->dim, at = SIZE_MAX;
  for (size_t u = first; u < last; u++) {
    double square = 0;
    memset(workspace->unit_sum, 0, dim * sizeof *workspace->unit_sum);
    for (size_t i = offsets != NULL ? offsets[u] : u; i < (offsets != NULL ? offsets[u + 1] : u + 1); i++) {
      if (i / TACIT_BLOCK != at) {
        at = i / TACIT_BLOCK;
        tacit_curator_eval_block(curator, at, 1, workspace->rows);
      }
      if (curator->lane_norm[i] <= FLT_MAX) {
        add_gradient(curator, workspace, i);
      }
    }
    for (size_t j = 0; j < dim; j++) {
      square += workspace->unit_sum[j] * workspace->unit_sum[j];
    }
    if (square <= DBL_MAX) {
      totals[cell_of(curator->settings.temperature_power * sqrt(square))] += (tacit_wide_t)1 << TACIT_TUNING_BITS;
    }
  }
}

static void norms_part(void *user, size_t first, size_t last, size_t thread) {
  const tacit_curator_t *curator = user;
  tacit_workspace_t *workspace = &curator->workspaces[thread];
  tacit_norms_add(curator, workspace, first, last, workspace->totals);
}

tacit_status_t tacit_curator_release_norms(tacit_curator_t *curator, const double *theta, double noise_multiplier, double *out,
                                           double *noise_sd, tacit_error_t *err) {
  size_t dim = curator->model->dim;
  bool is_add_remove = tacit_curator_sensitivity_factor(curator) < 2;
  double count = 1 << TACIT_TUNING_BITS, sensitivity = is_add_remove ? 1 : sqrt(2) * (1 + 0x1p-50);
  memset(out, 0, TACIT_NORM_CELLS * sizeof *out);
  *noise_sd = 0;
  tacit_status_t status = tacit_curator_check_points(curator, 1, theta, err);
  if (status == TACIT_OK) {
    status = tacit_curator_check_noise(curator, noise_multiplier, err);
  }
  if (status == TACIT_OK) { /* room for the cells */
    status = tacit_curator_reserve(curator, (TACIT_NORM_CELLS + dim - 1) / dim, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_charge(curator, noise_multiplier, 1, "gradient norms", err);
  }
  double lattice_sd = noise_multiplier * sensitivity * count;
  if (status == TACIT_OK) {
    status = tacit_curator_draw_noise(curator, lattice_sd, TACIT_NORM_CELLS, curator->draws, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t j = 0; j < dim; j++) {
    curator->theta_float[j] = (float)theta[j];
  }
  tacit_curator_sum_units(curator, TACIT_NORM_CELLS, norms_part, curator);
  for (size_t k = 0; k < TACIT_NORM_CELLS; k++) {
    out[k] = tacit_released_value(curator->sums[k], curator->draws[k], 1 / count);
  }
  *noise_sd = curator->is_exposed ? 0 : lattice_sd / count;
  return TACIT_OK;
}
