/* Gradients, of all records or of some drawn at random: the model's rows. */
#include <math.h>
#include <string.h>

#include "base/ahead.h"
#include "base/error.h"
#include "base/memory.h"
#include "curator/curator_internal.h"

double tacit_curator_sampling_rate(double rate) {
  return fmin(fmax(rint(rate * 0x1p32), 1), 0x1p32) * 0x1p-32;
}

tacit_event_t tacit_curator_sampled_event(double rate, double noise_multiplier) {
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = noise_multiplier, .count = 1};
  if (rate < 1) {
    event.sampling = TACIT_SAMPLING_POISSON;
    event.sampling_rate = rate;
  }
  return event;
}

bool tacit_gradient_pieces(tacit_curator_t *curator) {
  const tacit_record_model_t *model = curator->model;
  size_t p = model->n_features, n_dense = model->dim - model->n_linear * p;
  tacit_piece_t *piece = curator->pieces = tacit_alloc_zero(model->n_linear + 1, sizeof *piece);
  for (size_t i = 0; piece != NULL && i < model->n_linear; i++) {
    *piece++ = (tacit_piece_t){.kind = TACIT_PIECE_LINEAR, .row = i, .parameter = i * p, .n = p};
  }
  if (piece != NULL && n_dense > 0) {
    *piece++ = (tacit_piece_t){
        .kind = TACIT_PIECE_DENSE, .row = model->n_linear, .parameter = model->n_linear * p, .n = n_dense};
  }
  curator->n_pieces = (size_t)(piece - curator->pieces);
  return piece != NULL;
}

/* Rows of a model without pieces: residuals, or gradients. */
static void rows(const void *ctx, const float *block, size_t n_blocks, size_t n_points, const float *points,
                 float *out) {
  const tacit_curator_t *curator = ctx;
  const tacit_record_model_t *model = curator->model;
  size_t n_rows = model->n_linear > 0 ? model->n_linear + model->n_extra : model->dim;
  if (model->n_linear > 0 && model->residual_blocks != NULL) {
    model->residual_blocks(model->ctx, block, n_blocks, n_points, points, out);
    return;
  }
  for (size_t b = 0; b < n_blocks; b++) {
    (model->n_linear > 0 ? model->residual : model->grad)(model->ctx, block + b * model->n_columns * 16,
                                                          n_points, points, out + b * n_points * n_rows * 16);
  }
}

/* A model's pieces serve where all records are summed, each a unit of its own; else its gradient does, whose
 * numbers are the same. */
tacit_vectors_t tacit_gradient_vectors(const tacit_curator_t *curator, size_t n_theta, double rate) {
  const tacit_record_model_t *model = curator->model;
  bool is_sparse = model->n_pieces > 0 && rate >= 1 && !tacit_door_has_units(curator->door);
  return (tacit_vectors_t){.n_points = n_theta,
                           .dim = model->dim,
                           .n_rows = is_sparse             ? model->n_rows
                                     : model->n_linear > 0 ? model->n_linear + model->n_extra
                                                           : model->dim,
                           .n_pieces = is_sparse ? model->n_pieces : curator->n_pieces,
                           .pieces = is_sparse ? model->pieces : curator->pieces,
                           .n_features = tacit_curator_n_features(model),
                           .n_blocks =
                               tacit_near_blocks(model->n_columns * TACIT_BLOCK * sizeof(float), n_theta),
                           .rows = is_sparse ? model->rows : rows,
                           .ctx = is_sparse ? model->ctx : curator,
                           .points = curator->theta_float,
                           .scale = curator->settings.temperature_power,
                           .clip = tacit_curator_grad_bound(curator),
                           .rate = rate,
                           .unclipped = tacit_grid_functions()->exposed,
                           .units = tacit_grid_functions()->units,
                           .label = "gradient"};
}

tacit_status_t tacit_curator_release_sampled_gradient(tacit_curator_t *curator, size_t n_theta,
                                                      const double *theta, double rate,
                                                      double noise_multiplier, double *out,
                                                      tacit_error_t *err) {
  memset(out, 0, n_theta * curator->model->dim * sizeof *out);
  tacit_status_t status = tacit_curator_check_points(curator, n_theta, theta, err);
  TACIT_THEN(status, tacit_curator_reserve(curator, n_theta, err));
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t i = 0; i < n_theta * curator->model->dim; i++) {
    curator->theta_float[i] = (float)theta[i];
  }
  tacit_vectors_t vectors = tacit_gradient_vectors(curator, n_theta, rate);
  return tacit_door_release_vectors(curator->door, &vectors, noise_multiplier, out, err);
}

tacit_status_t tacit_curator_release_gradient(tacit_curator_t *curator, size_t n_theta, const double *theta,
                                              double noise_multiplier, double *out, tacit_error_t *err) {
  return tacit_curator_release_sampled_gradient(curator, n_theta, theta, 1, noise_multiplier, out, err);
}
