/*
 * Units of several records (a person's rows): the unit's records are summed first, the sum is clipped and
 * rounded to integers, in double precision.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "curator/curator_internal.h"

/* Add record i's gradient (in units of the bound) to workspace->unit_sum for every theta. */
static void add_record(const tacit_unit_pass_t *pass, tacit_workspace_t *workspace, size_t i) {
  const tacit_curator_t *curator = pass->curator;
  const tacit_record_model_t *model = curator->model;
  const float *block = tacit_records_block(curator->records, i / 16);
  size_t lane = i % 16, p = model->n_features;
  size_t n_rows = model->n_linear > 0 ? model->n_linear + model->n_extra : model->dim;
  for (size_t k = 0; k < pass->n_theta; k++) {
    const float *rows = workspace->rows + k * n_rows * 16;
    double *sum = workspace->unit_sum + k * model->dim;
    for (size_t r = 0; r < model->n_linear; r++) {
      double weight = (double)rows[r * 16 + lane] * (double)pass->lattice.scale_in;
      for (size_t j = 0; j < p; j++) {
        sum[r * p + j] += weight * (double)block[j * 16 + lane];
      }
    }
    for (size_t r = model->n_linear; r < n_rows; r++) {
      sum[model->n_linear * p + r - model->n_linear] +=
          (double)rows[r * 16 + lane] * (double)pass->lattice.scale_in;
    }
  }
}

/* Clip one unit's sum for one theta and add its integers to the totals. */
static void add_unit(const tacit_unit_pass_t *pass, tacit_workspace_t *workspace, size_t k) {
  size_t dim = pass->curator->model->dim;
  const double *sum = workspace->unit_sum + k * dim;
  double n2 = 0;
  for (size_t j = 0; j < dim; j++) {
    n2 += sum[j] * sum[j];
  }
  workspace->notes.n_grad++;
  if (!(n2 <= DBL_MAX)) {
    workspace->notes.n_non_finite++;
    return;
  }
  double factor = (double)pass->lattice.scale_out;
  if (n2 > 1) {
    factor /= sqrt(n2);
    workspace->notes.n_grad_clipped++;
  }
  for (size_t j = 0; j < dim; j++) {
    workspace->totals[k * dim + j] += (int64_t)(sum[j] * factor);
  }
}

static void unit_range(const tacit_unit_pass_t *pass, size_t part, size_t *first, size_t *last) {
  *first = part * pass->units_per_part;
  *last = *first + pass->units_per_part;
  if (*last > pass->curator->n_units) {
    *last = pass->curator->n_units;
  }
}

void tacit_unit_gradients_part(void *user, size_t part, size_t thread) {
  const tacit_unit_pass_t *pass = user;
  const tacit_curator_t *curator = pass->curator;
  tacit_workspace_t *workspace = &curator->workspaces[thread];
  size_t n_sums = pass->n_theta * curator->model->dim, block = SIZE_MAX, first, last;
  unit_range(pass, part, &first, &last);
  for (size_t u = first; u < last; u++) {
    memset(workspace->unit_sum, 0, n_sums * sizeof *workspace->unit_sum);
    for (size_t i = curator->unit_offsets[u]; i < curator->unit_offsets[u + 1]; i++) {
      if (i / 16 != block) {
        block = i / 16;
        tacit_curator_eval_block(curator, block, pass->n_theta, workspace->rows);
      }
      if (curator->lane_norm[i] <= FLT_MAX) {
        add_record(pass, workspace, i);
      }
    }
    for (size_t k = 0; k < pass->n_theta; k++) {
      add_unit(pass, workspace, k);
    }
  }
}

void tacit_unit_ratios_part(void *user, size_t part, size_t thread) {
  const tacit_unit_pass_t *pass = user;
  const tacit_curator_t *curator = pass->curator;
  const tacit_record_model_t *model = curator->model;
  tacit_workspace_t *workspace = &curator->workspaces[thread];
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  double *ratios = workspace->unit_sum, *sums = ratios + pass->n_theta * 16;
  size_t block = SIZE_MAX, first, last;
  unit_range(pass, part, &first, &last);
  for (size_t u = first; u < last; u++) {
    memset(sums, 0, pass->n_theta * sizeof *sums);
    for (size_t i = curator->unit_offsets[u]; i < curator->unit_offsets[u + 1]; i++) {
      if (i / 16 != block) {
        block = i / 16;
        model->log_lik(model->ctx, tacit_records_block(curator->records, block), 2 * pass->n_theta,
                       curator->pairs, workspace->log_lik);
        for (size_t k = 0; k < pass->n_theta; k++) {
          kernel->ratio_unclipped(curator->lane_norm + block * 16, curator->settings.temperature_power,
                                  workspace->log_lik + k * 32, ratios + k * 16);
        }
      }
      for (size_t k = 0; k < pass->n_theta; k++) {
        sums[k] += ratios[k * 16 + i % 16];
      }
    }
    for (size_t k = 0; k < pass->n_theta; k++) {
      /* Whole numbers: exact below 2^53, and beyond 2^51 every clip bound has cut in. */
      double clipped = fmax(fmin(sums[k], curator->clips[k]), -curator->clips[k]);
      workspace->notes.n_ratio++;
      workspace->notes.n_ratio_clipped += fabs(sums[k]) > curator->clips[k];
      workspace->totals[k] += (int64_t)clipped;
    }
  }
}
