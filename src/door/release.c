/*
 * The releases: the only functions through which anything computed from records leaves, but for decisions (decide.c). Each is
 * described as an event, charged, and only then computed; noise is added to an exact integer.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "door/door_internal.h"

tacit_status_t tacit_door_check(const tacit_door_t *door, double noise_multiplier, tacit_error_t *err) {
  if (door->has_parted) {
    return tacit_error_set(err, TACIT_ERR_STATE, "ranks",
                           "the ranks no longer ask for the same: run them on machines of one kind, with the same arguments and keys");
  }
  if (door->budget == NULL || (noise_multiplier >= 0x1p-30 && noise_multiplier <= 0x1p28)) {
    return TACIT_OK;
  }
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "noise_multiplier",
                         "the noise multiplier must be between 2^-30 and 2^28, not %g", noise_multiplier);
}

tacit_status_t tacit_door_charge(tacit_door_t *door, const tacit_event_t *event, tacit_error_t *err) {
  return door->budget != NULL ? tacit_budget_charge(door->budget, event, err) : TACIT_OK;
}

/* `count` Gaussian events, sampled where the rate is below 1. */
static tacit_status_t charge_gaussian(tacit_door_t *door, double noise_multiplier, double rate, size_t count, const char *label,
                                      tacit_error_t *err) {
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = noise_multiplier, .count = count};
  if (rate < 1) {
    event.sampling = TACIT_SAMPLING_POISSON;
    event.sampling_rate = rate;
  }
  snprintf(event.label, sizeof event.label, "%s", label);
  return tacit_door_charge(door, &event, err);
}

tacit_status_t tacit_door_probe(tacit_door_t *door, tacit_probe_function function, const void *contribution, size_t n_out,
                                size_t size, tacit_error_t *err) {
  tacit_probed_t probed = {contribution, door->workspaces, door->settings.n_columns};
  bool is_pure;
  tacit_status_t status = tacit_probe(door->settings.n_columns, function, &probed, n_out, size, &is_pure, err);
  return status != TACIT_OK || is_pure
             ? status
             : tacit_error_set(err, TACIT_ERR_SENSITIVITY, "contribution",
                               "what a record adds by the model %s depends on more than the record: on others beside it, or on "
                               "how often it is asked",
                               door->settings.name);
}

/* draws <- exact noise, zeros if exposed; its scale is rounded up, so that there is never less than was charged. */
static tacit_status_t draw_noise(tacit_door_t *door, tacit_door_noise_t noise, double scale, size_t n, int64_t *draws,
                                 tacit_error_t *err) {
  double up = nextafter(scale, INFINITY);
  if (door->budget == NULL) {
    memset(draws, 0, n * sizeof *draws);
    return TACIT_OK;
  }
  switch (noise) {
    case TACIT_DOOR_GAUSSIAN: return tacit_noise_rounded_gaussian(door->noise, up, n, draws, err);
    case TACIT_DOOR_LAPLACE: return tacit_noise_rounded_laplace(door->noise, up, n, draws, err);
    case TACIT_DOOR_DISCRETE_GAUSSIAN: return tacit_noise_discrete_gaussian(door->noise, up, n, draws, err);
    default: return tacit_noise_discrete_laplace(door->noise, up, n, draws, err);
  }
}

double tacit_released_value(tacit_wide_t sum, int64_t noise, double spacing) {
  return (double)(sum + noise) * spacing;
}

/* ---- vectors ---- */

static void probe_rows(void *user, const float *block, size_t n_blocks, void *out) {
  const tacit_vectors_t *of = ((tacit_probed_t *)user)->contribution;
  of->rows(of->ctx, block, n_blocks, of->n_points, of->points, out);
}

static bool is_within(size_t from, size_t n, size_t most) { return n <= most && from <= most - n; }

/* Pieces lie within the rows, columns and numbers that there are, and no two share a number: else their norm would not be the vector's. */
static bool check_pieces(const tacit_door_t *door, const tacit_vectors_t *of, uint8_t *is_taken) {
  bool ok = true;
  for (size_t i = 0; ok && i < of->n_pieces; i++) {
    const tacit_piece_t *piece = &of->pieces[i];
    bool is_gather = piece->kind == TACIT_PIECE_GATHER, is_dense = piece->kind == TACIT_PIECE_DENSE;
    size_t n = piece->n, stride = is_gather ? piece->stride : 1, n_columns = is_dense ? 0 : is_gather ? 1 : n, last;
    ok = piece->kind <= TACIT_PIECE_GATHER && n >= 1 && n <= of->dim && stride >= 1 && isfinite(piece->first) &&
         is_within(piece->row, is_dense ? n : 1, of->n_rows) && is_within(piece->column, n_columns, door->settings.n_columns) &&
         !__builtin_mul_overflow(n - 1, stride, &last) && last < of->dim && is_within(piece->parameter, last + 1, of->dim);
    for (size_t j = 0; ok && j < n; j++) {
      ok = !is_taken[piece->parameter + j * stride];
      is_taken[piece->parameter + j * stride] = 1;
    }
  }
  return ok;
}

static tacit_status_t check_all_pieces(tacit_door_t *door, const tacit_vectors_t *of, tacit_error_t *err) {
  uint8_t *is_taken = tacit_alloc_zero(of->dim, sizeof *is_taken);
  bool ok = is_taken != NULL && check_pieces(door, of, is_taken);
  tacit_status_t status = TACIT_OK;
  if (is_taken == NULL) {
    status = tacit_error_memory(err);
  } else if (!ok) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "vectors", "the pieces of the model %s overlap, or lie outside of its records or vectors",
                             door->settings.name);
  }
  tacit_free(is_taken);
  return status;
}

static tacit_status_t check_vectors(tacit_door_t *door, const tacit_vectors_t *of, tacit_error_t *err) {
  if (of->dim == 0 || of->n_blocks < 1 || of->n_blocks > TACIT_VECTOR_BLOCKS || !(of->scale > 0) || of->n_features != door->settings.n_features) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "vectors", "the model %s does not say what its vectors are made of",
                           door->settings.name);
  }
  bool is_clip = of->clip >= 0x1p-60 && of->clip <= 0x1p60;
  if (!is_clip && (door->budget != NULL || of->unclipped == NULL)) {
    return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_grad",
                           "the gradient of model %s has no bound of its own: give a clip bound for it", door->settings.name);
  }
  tacit_status_t status = of->rate < 1 || !(of->rate <= 1) ? tacit_subset_check(door, of->rate, err) : TACIT_OK;
  if (status == TACIT_OK) {
    tacit_room_t room = tacit_vectors_room(door, of);
    status = tacit_door_reserve(door, &room, err);
  }
  if (status == TACIT_OK) {
    status = check_all_pieces(door, of, err);
  }
  return status == TACIT_OK ? tacit_door_probe(door, probe_rows, of, of->n_points * of->n_rows, sizeof(float), err) : status;
}

tacit_status_t tacit_door_release_vectors(tacit_door_t *door, const tacit_vectors_t *of, double noise_multiplier, double *out,
                                          tacit_error_t *err) {
  size_t n = of->n_points * of->dim;
  double lattice_sd = noise_multiplier * tacit_door_factor(door) * (double)(1 << TACIT_LATTICE_BITS);
  double spacing = ldexp(isfinite(of->clip) ? of->clip : 1, isfinite(of->clip) ? -TACIT_LATTICE_BITS : -TACIT_EXPOSED_GRID_BITS);
  memset(out, 0, n * sizeof *out);
  if (of->n_points == 0) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_door_check(door, noise_multiplier, err);
  if (status == TACIT_OK) {
    status = check_vectors(door, of, err);
  }
  if (status == TACIT_OK) {
    status = charge_gaussian(door, noise_multiplier, of->rate, of->n_points, of->label, err);
  }
  if (status == TACIT_OK) {
    status = draw_noise(door, TACIT_DOOR_GAUSSIAN, lattice_sd, n, door->draws, err);
  }
  tacit_door_digest(door, of->points, n * sizeof *of->points);
  size_t n_passes = of->rate < 1 ? of->n_points : 1, n_a_pass = n / n_passes; /* a subset of its own for each point */
  for (size_t pass = 0; status == TACIT_OK && pass < n_passes; pass++) {
    status = of->rate < 1 ? tacit_subset_draw(door, of->rate, err) : TACIT_OK;
    if (status == TACIT_OK) {
      tacit_vectors_sum(door, of, of->rate < 1 ? pass : SIZE_MAX);
    }
    for (size_t j = 0, i = pass * n_a_pass; status == TACIT_OK && j < n_a_pass; j++, i++) {
      out[i] = tacit_released_value(door->sums[j], door->draws[i], spacing);
    }
  }
  if (status != TACIT_OK) {
    memset(out, 0, n * sizeof *out);
  }
  return status;
}

/* ---- whole numbers of a unit ---- */

static tacit_status_t reserve_units(tacit_door_t *door, const tacit_units_t *of, tacit_error_t *err) {
  size_t n = tacit_door_shape_n_sums(&of->shape), most_rows = door->settings.max_unit_rows;
  tacit_room_t room = {.unit_x = most_rows * door->settings.n_columns,
                       .lanes64 = tacit_door_shape_n_written(&of->shape, most_rows),
                       .work = of->n_work,
                       .totals = n,
                       .draws = n,
                       .sums = n,
                       .message = tacit_door_message_size(n)};
  return tacit_door_reserve(door, &room, err);
}

/* Entries of the upper triangle off the diagonal stand for two of the matrix, whose norm is what is bounded: sqrt(2) less noise. */
static tacit_status_t draw_square_noise(tacit_door_t *door, double scale, size_t d, tacit_error_t *err) {
  int64_t *at = door->draws;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < d && status == TACIT_OK; i++, at += d - i + 1) {
    status = draw_noise(door, TACIT_DOOR_GAUSSIAN, scale, 1, at, err);
    if (status == TACIT_OK && i + 1 < d) {
      status = draw_noise(door, TACIT_DOOR_GAUSSIAN, scale * sqrt(0.5) * (1 + 0x1p-50), d - i - 1, at + 1, err);
    }
  }
  return status;
}

tacit_status_t tacit_door_release_units(tacit_door_t *door, const tacit_units_t *of, tacit_door_noise_t noise,
                                        double noise_multiplier, double *out, double *scale, tacit_error_t *err) {
  bool is_substitute = tacit_door_factor(door) > 1;
  size_t n = tacit_door_shape_n_sums(&of->shape);
  double lattice_scale = noise_multiplier * tacit_door_shape_sensitivity(&of->shape, noise, is_substitute);
  memset(out, 0, n * sizeof *out);
  *scale = 0;
  tacit_status_t status = tacit_door_check(door, noise_multiplier, err);
  if (status == TACIT_OK) {
    status = tacit_door_shape_check(&of->shape, noise, err);
  }
  if (status == TACIT_OK) {
    status = reserve_units(door, of, err);
  }
  if (status == TACIT_OK) {
    tacit_event_t event = tacit_door_shape_event(&of->shape, noise, is_substitute, noise_multiplier, of->label);
    status = tacit_door_charge(door, &event, err);
  }
  if (status == TACIT_OK) {
    status = of->shape.kind == TACIT_SHAPE_SQUARES ? draw_square_noise(door, lattice_scale, of->shape.dim, err)
                                                   : draw_noise(door, noise, lattice_scale, n, door->draws, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  tacit_door_digest(door, &lattice_scale, sizeof lattice_scale);
  tacit_units_sum(door, of);
  for (size_t i = 0; i < n; i++) {
    out[i] = tacit_released_value(door->sums[i], door->draws[i], 1);
  }
  *scale = door->budget == NULL ? 0 : lattice_scale;
  return TACIT_OK;
}

/* ---- scalars ---- */

tacit_status_t tacit_door_release_scalars(tacit_door_t *door, const tacit_scalars_t *of, double noise_multiplier, double *out,
                                          double *noise_sd, tacit_error_t *err) {
  memset(out, 0, of->n_pairs * sizeof *out);
  memset(noise_sd, 0, of->n_pairs * sizeof *noise_sd);
  if (of->n_pairs == 0) {
    return TACIT_OK;
  }
  double factor = noise_multiplier * tacit_door_factor(door);
  tacit_status_t status = tacit_door_check(door, noise_multiplier, err);
  if (status == TACIT_OK) {
    status = tacit_scalars_check(door, of, err);
  }
  for (size_t k = 0; status == TACIT_OK && door->budget != NULL && k < of->n_pairs; k++) {
    if (!(factor * of->clips[k] <= 0x1p51)) {
      status = tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_ratio",
                               "the log-likelihood ratio of model %s needs a smaller clip bound between these points",
                               door->settings.name);
    }
  }
  if (status == TACIT_OK) {
    status = charge_gaussian(door, noise_multiplier, of->rate, of->n_pairs, of->label, err);
  }
  for (size_t k = 0; status == TACIT_OK && k < of->n_pairs; k++) {
    status = draw_noise(door, TACIT_DOOR_GAUSSIAN, factor * of->clips[k], 1, &door->draws[k], err);
  }
  if (status == TACIT_OK && of->is_sampled) {
    status = tacit_subset_draw(door, of->rate, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  tacit_scalars_sum(door, of);
  for (size_t k = 0; k < of->n_pairs; k++) {
    out[k] = tacit_released_value(door->sums[k], door->draws[k], 1);
    noise_sd[k] = door->budget == NULL ? 0 : factor * of->clips[k];
  }
  return TACIT_OK;
}
