/* Gradients, of all records or of some drawn at random: the model's rows. */
#include <math.h>
#include <string.h>

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

tacit_vectors_t tacit_gradient_vectors(const tacit_curator_t *curator, size_t n_theta, double rate) {
  const tacit_record_model_t *model = curator->model;
  return (tacit_vectors_t){.n_points = n_theta,
                           .dim = model->dim,
                           .n_linear = model->n_linear,
                           .n_features = model->n_features,
                           .n_extra = model->n_extra,
                           .rows = model->n_linear > 0 ? model->residual : model->grad,
                           .n_pieces = model->n_pieces,
                           .n_rows = model->n_rows,
                           .pieces = model->pieces,
                           .blocks = model->rows,
                           .ctx = model->ctx,
                           .points = curator->theta_float,
                           .scale = curator->settings.temperature_power,
                           .clip = tacit_curator_grad_bound(curator),
                           .rate = rate,
                           .unclipped = tacit_grid_functions()->exposed,
                           .label = "gradient"};
}

tacit_status_t tacit_curator_release_sampled_gradient(tacit_curator_t *curator, size_t n_theta, const double *theta,
                                                      double rate, double noise_multiplier, double *out,
                                                      tacit_error_t *err) {
  memset(out, 0, n_theta * curator->model->dim * sizeof *out);
  tacit_status_t status = tacit_curator_check_points(curator, n_theta, theta, err);
  if (status == TACIT_OK) {
    status = tacit_curator_reserve(curator, n_theta, err);
  }
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
