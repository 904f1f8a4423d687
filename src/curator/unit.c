/*
 * Units of several records (a person's rows): the unit's records are summed first, the sum is clipped and rounded to integers, in
 * double precision. A block's features are turned around, so that vectors run over the parameters of one record.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "curator/curator_internal.h"

static size_t padded(size_t n) {
  return (n + TACIT_UNIT_ALIGNMENT - 1) / TACIT_UNIT_ALIGNMENT * TACIT_UNIT_ALIGNMENT;
}

size_t tacit_unit_n_sums(const tacit_record_model_t *model) {
  return model->n_linear > 0 ? model->n_linear * padded(model->n_features) + padded(model->n_extra) : padded(model->dim);
}

static tacit_unit_block_t unit_block(const tacit_record_model_t *model) {
  tacit_unit_block_t at = {.n_linear = 1, .width = padded(model->dim), .n_sums = tacit_unit_n_sums(model)};
  if (model->n_linear > 0) {
    at.n_linear = model->n_linear;
    at.n_extra = model->n_extra;
    at.width = padded(model->n_features);
  }
  return at;
}

/*
 * at <- the units with records in block b, from *unit on and before `last`; *unit becomes the first that begins in a later block,
 * or the one that goes on there. Units without records are passed over: their sums are zero.
 */
static void find_units(const tacit_curator_t *curator, size_t b, size_t *unit, size_t last, tacit_unit_block_t *at) {
  const size_t *offsets = curator->unit_offsets;
  size_t u = *unit, n = 0, start = b * 16, end = start + 16;
  bool continues = false;
  at->is_continued = offsets[u] < start;
  for (; u < last && offsets[u] < end && !continues; u += !continues) {
    size_t from = offsets[u] > start ? offsets[u] : start, to = offsets[u + 1];
    if (from < to) {
      continues = to > end;
      at->begins[n++] = from - start;
      at->begins[n] = continues ? 16 : to - start;
    }
  }
  *unit = u;
  at->n_units = n;
  at->continues = continues;
}

/* Add a block's records to their units. */
static void add_block(const tacit_unit_pass_t *pass, tacit_workspace_t *workspace, size_t b, const tacit_unit_block_t *at) {
  static const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const tacit_curator_t *curator = pass->curator;
  const tacit_record_model_t *model = curator->model;
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  bool is_linear = model->n_linear > 0;
  size_t n_rows = is_linear ? model->n_linear + model->n_extra : model->dim;
  if (is_linear) {
    kernel->turn(model->n_features, tacit_records_block(curator->records, b), at->valid, at->width, workspace->unit_x);
  }
  for (size_t k = 0; k < pass->n_theta; k++) {
    const float *rows = workspace->rows + k * n_rows * 16;
    if (!is_linear) {
      kernel->turn(n_rows, rows, at->valid, at->width, workspace->unit_x);
    }
    kernel->units(at, &pass->lattice, is_linear ? rows : ones, workspace->unit_weights, workspace->unit_sum,
                  workspace->unit_sum + (16 + k) * at->n_sums, workspace->lanes64 + k * at->n_sums, &workspace->notes);
  }
}

/* Totals without the padding. */
static void flush(const tacit_unit_pass_t *pass, tacit_workspace_t *workspace) {
  const tacit_record_model_t *model = pass->curator->model;
  size_t n_linear = model->n_linear, p = n_linear > 0 ? model->n_features : model->dim;
  for (size_t i = 0; i < pass->n_theta * model->dim; i++) {
    size_t j = i % model->dim, n_products = n_linear * p;
    bool is_extra = n_linear > 0 && j >= n_products;
    size_t at = is_extra ? n_linear * padded(p) + j - n_products : j / p * padded(p) + j % p;
    workspace->totals[i] += workspace->lanes64[i / model->dim * tacit_unit_n_sums(model) + at];
  }
}

/* Sums of one unit's gradient in units of the bound, one record after another: their bits depend on nothing else. */
void tacit_unit_gradients_part(void *user, size_t first, size_t last, size_t thread) {
  const tacit_unit_pass_t *pass = user;
  const tacit_curator_t *curator = pass->curator;
  tacit_workspace_t *workspace = &curator->workspaces[thread];
  memset(workspace->lanes64, 0, pass->n_theta * tacit_unit_n_sums(curator->model) * sizeof *workspace->lanes64);
  workspace->notes.n_grad += (last - first) * pass->n_theta;
  size_t end = curator->unit_offsets[last], unit = first;
  tacit_unit_block_t at = unit_block(curator->model);
  at.x = workspace->unit_x;
  for (size_t b = curator->unit_offsets[first] / 16; b * 16 < end; b++) {
    find_units(curator, b, &unit, last, &at);
    at.valid = tacit_lattice_functions()->valid(curator->lane_norm + b * 16);
    tacit_curator_eval_block(curator, b, pass->n_theta, workspace->rows);
    add_block(pass, workspace, b, &at);
  }
  flush(pass, workspace);
}

void tacit_unit_ratios_part(void *user, size_t first, size_t last, size_t thread) {
  const tacit_unit_pass_t *pass = user;
  const tacit_curator_t *curator = pass->curator;
  const tacit_record_model_t *model = curator->model;
  tacit_workspace_t *workspace = &curator->workspaces[thread];
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  double *ratios = workspace->unit_sum, *sums = ratios + pass->n_theta * 16;
  size_t block = SIZE_MAX;
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
