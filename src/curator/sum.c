/*
 * Sums over the records, one record a unit. Integer addition is associative: totals do not depend on the
 * number of threads, the order of blocks, or the order of records.
 */
#include <math.h>
#include <string.h>

#include "curator/curator_internal.h"

typedef struct tacit_pass {
  tacit_curator_t *curator;
  size_t n_theta;
  tacit_lattice_t lattice;
  bool is_clipped;
} tacit_pass_t;

void tacit_curator_eval_block(const tacit_curator_t *curator, size_t b, size_t n_theta, float *rows) {
  const tacit_record_model_t *model = curator->model;
  const float *block = tacit_records_block(curator->records, b);
  if (model->n_linear > 0) {
    model->residual(model->ctx, block, n_theta, curator->theta_float, rows);
  } else {
    model->grad(model->ctx, block, n_theta, curator->theta_float, rows);
  }
}

void tacit_workspace_flush(tacit_workspace_t *workspace, size_t n, bool is_wide) {
  for (size_t i = 0; i < n; i++) {
    int64_t sum = 0;
    for (size_t lane = 0; lane < 16; lane++) {
      sum += is_wide ? workspace->lanes64[i * 16 + lane] : workspace->lanes[i * 16 + lane];
    }
    workspace->totals[i] += sum;
  }
}

/* Add block b's gradients, from its residuals or gradients in rows, to the lanes. */
static void add_gradients(const tacit_pass_t *pass, tacit_workspace_t *workspace, size_t b, const float *rows) {
  const tacit_curator_t *curator = pass->curator;
  const tacit_record_model_t *model = curator->model;
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  const float *block = tacit_records_block(curator->records, b), *lane_norm = curator->lane_norm + b * 16;
  if (!pass->is_clipped) {
    kernel->exposed(model, block, lane_norm, curator->settings.temperature_power, pass->n_theta, rows, workspace->lanes64);
  } else if (model->n_linear > 0) {
    kernel->linear(model, block, lane_norm, &pass->lattice, pass->n_theta, rows, workspace->lanes, &workspace->notes);
  } else {
    kernel->dense(model, lane_norm, &pass->lattice, pass->n_theta, rows, workspace->lanes, &workspace->notes);
  }
}

static void gradients_part(void *user, size_t first, size_t last, size_t thread) {
  const tacit_pass_t *pass = user;
  tacit_curator_t *curator = pass->curator;
  tacit_workspace_t *workspace = &curator->workspaces[thread];
  size_t n_sums = pass->n_theta * curator->model->dim;
  memset(workspace->lanes, 0, n_sums * 16 * sizeof *workspace->lanes);
  memset(workspace->lanes64, 0, n_sums * 16 * sizeof *workspace->lanes64);
  size_t at_a_time = curator->model->n_linear > 1 ? TACIT_ROW_BLOCKS : 1;
  for (size_t b = first; b < last; b += at_a_time) {
    size_t n = last - b < at_a_time ? last - b : at_a_time;
    for (size_t i = 0; i < n; i++) {
      tacit_curator_eval_block(curator, b + i, pass->n_theta, workspace->rows + i * n_sums * 16);
    }
    for (size_t i = 0; i < n; i++) {
      add_gradients(pass, workspace, b + i, workspace->rows + i * n_sums * 16);
    }
  }
  workspace->notes.n_grad += (last - first) * 16 * pass->n_theta;
  tacit_workspace_flush(workspace, n_sums, !pass->is_clipped);
}

/* Log-likelihoods of the points that the pass evaluates, for n blocks from b on. */
static void eval_log_lik(const tacit_curator_t *curator, tacit_workspace_t *workspace, size_t b, size_t n) {
  const tacit_record_model_t *model = curator->model;
  const tacit_kept_t *kept = &curator->kept;
  if (model->log_lik_blocks != NULL) {
    model->log_lik_blocks(model->ctx, tacit_records_block(curator->records, b), n, kept->n_fresh, kept->fresh, workspace->log_lik);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    model->log_lik(model->ctx, tacit_records_block(curator->records, b + i), kept->n_fresh, kept->fresh,
                   workspace->log_lik + i * kept->n_fresh * 16);
  }
}

/* n <= TACIT_RUN_BLOCKS blocks from b on. */
static void ratios_run(const tacit_pass_t *pass, tacit_workspace_t *workspace, size_t b, size_t n) {
  const tacit_curator_t *curator = pass->curator;
  const tacit_kept_t *kept = &curator->kept;
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  const float *lane_norm = curator->lane_norm + b * 16;
  bool is_kept = kept->n_points > 0;
  double *values = is_kept ? kept->values + b * 16 : workspace->grid;
  size_t stride = is_kept ? tacit_records_n_blocks(curator->records) * 16 : TACIT_RUN_BLOCKS * 16;
  eval_log_lik(curator, workspace, b, n);
  for (size_t i = 0; i < kept->n_fresh; i++) {
    kernel->grid(lane_norm, curator->settings.temperature_power, n, workspace->log_lik + i * 16, kept->n_fresh * 16,
                 values + kept->fresh_at[i] * stride);
  }
  for (size_t k = 0; k < pass->n_theta; k++) {
    kernel->ratio(lane_norm, n, values + kept->before[k] * stride, values + kept->after[k] * stride, curator->clips[k],
                  workspace->lanes64 + k * 16, &workspace->notes);
  }
}

static void ratios_part(void *user, size_t first, size_t last, size_t thread) {
  const tacit_pass_t *pass = user;
  tacit_workspace_t *workspace = &pass->curator->workspaces[thread];
  memset(workspace->lanes64, 0, pass->n_theta * 16 * sizeof *workspace->lanes64);
  for (size_t b = first; b < last; b += TACIT_RUN_BLOCKS) {
    ratios_run(pass, workspace, b, last - b < TACIT_RUN_BLOCKS ? last - b : TACIT_RUN_BLOCKS);
  }
  workspace->notes.n_ratio += (last - first) * 16 * pass->n_theta;
  tacit_workspace_flush(workspace, pass->n_theta, true);
}

static void begin(tacit_curator_t *curator, size_t n_sums) {
  for (size_t t = 0; t < curator->settings.n_threads; t++) {
    memset(curator->workspaces[t].totals, 0, n_sums * sizeof *curator->workspaces[t].totals);
    curator->workspaces[t].notes = (tacit_curator_notes_t){0};
  }
}

static void add_notes(tacit_curator_notes_t *to, const tacit_curator_notes_t *notes) {
  to->n_grad += notes->n_grad;
  to->n_grad_clipped += notes->n_grad_clipped;
  to->n_ratio += notes->n_ratio;
  to->n_ratio_clipped += notes->n_ratio_clipped;
  to->n_non_finite += notes->n_non_finite;
}

static void finish(tacit_curator_t *curator, size_t n_sums) {
  tacit_curator_notes_t notes = {0};
  memset(curator->sums, 0, n_sums * sizeof *curator->sums);
  for (size_t t = 0; t < curator->settings.n_threads; t++) {
    const tacit_workspace_t *workspace = &curator->workspaces[t];
    for (size_t i = 0; i < n_sums; i++) {
      curator->sums[i] += workspace->totals[i];
    }
    add_notes(&notes, &workspace->notes);
  }
  tacit_curator_sum_ranks(curator, n_sums, &notes);
  add_notes(&curator->notes, &notes);
}

void tacit_curator_sum_blocks(tacit_curator_t *curator, size_t n_sums, tacit_range_task task, void *pass) {
  begin(curator, n_sums);
  tacit_curator_run_ranges(curator, false, task, pass);
  finish(curator, n_sums);
}

void tacit_curator_sum_units(tacit_curator_t *curator, size_t n_sums, tacit_range_task task, void *pass) {
  begin(curator, n_sums);
  tacit_curator_run_ranges(curator, true, task, pass);
  finish(curator, n_sums);
}

void tacit_curator_sum_gradients(tacit_curator_t *curator, size_t n_theta, double bound) {
  const tacit_record_model_t *model = curator->model;
  tacit_pass_t pass = {.curator = curator, .n_theta = n_theta, .is_clipped = isfinite(bound)};
  if (pass.is_clipped) {
    pass.lattice = tacit_lattice_for(model, curator->settings.temperature_power, bound);
  }
  if (curator->unit_offsets != NULL && pass.is_clipped) {
    tacit_unit_pass_t unit_pass = {.curator = curator, .n_theta = n_theta, .lattice = pass.lattice};
    tacit_curator_sum_units(curator, n_theta * model->dim, tacit_unit_gradients_part, &unit_pass);
  } else {
    tacit_curator_sum_blocks(curator, n_theta * model->dim, gradients_part, &pass);
  }
}

void tacit_curator_sum_ratios(tacit_curator_t *curator, size_t n_pairs) {
  if (curator->unit_offsets != NULL) {
    tacit_unit_pass_t unit_pass = {.curator = curator, .n_theta = n_pairs};
    tacit_curator_sum_units(curator, n_pairs, tacit_unit_ratios_part, &unit_pass);
  } else {
    tacit_pass_t pass = {.curator = curator, .n_theta = n_pairs};
    tacit_kept_plan(curator, n_pairs);
    tacit_curator_sum_blocks(curator, n_pairs, ratios_part, &pass);
  }
}
