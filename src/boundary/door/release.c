/*
 * The releases: the only functions through which anything computed from records leaves, but for decisions
 * (decide.c). Each is described as an event, charged, and only then computed; noise is added to an exact
 * integer.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "door/door_internal.h"
#include "random/noise.h"

tacit_status_t tacit_door_check_ranks(const tacit_door_t *door, tacit_error_t *err) {
  return !door->has_parted ? TACIT_OK
                           : tacit_error_set(err, TACIT_ERR_STATE, "ranks",
                                             "the ranks no longer ask for the same: run them on machines of "
                                             "one kind, with the same arguments and keys");
}

tacit_status_t tacit_door_check(const tacit_door_t *door, double noise_multiplier, tacit_error_t *err) {
  if (tacit_door_check_ranks(door, err) != TACIT_OK) {
    return TACIT_ERR_STATE;
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

/* What is lent is cleared first: a refusal must not depend on what an earlier release left. */
tacit_status_t tacit_door_probe(const tacit_probed_t *probed, tacit_probe_function function, size_t n_out,
                                tacit_probe_kind_t kind, tacit_error_t *err) {
  const tacit_door_t *door = probed->door;
  bool is_pure;
  tacit_door_clear(door->workspaces, probed->sizes);
  tacit_status_t status =
      tacit_probe(door->settings.n_columns, function, (void *)(uintptr_t)probed, n_out, kind, &is_pure, err);
  return status != TACIT_OK || is_pure ? status
                                       : tacit_error_set(err, TACIT_ERR_SENSITIVITY, "contribution",
                                                         "what a record adds by the model %s depends on more "
                                                         "than the record: on others beside it, or on "
                                                         "how often it is asked",
                                                         door->settings.name);
}

/* proofs/Sums.v: rounding_commutes_with_whole_numbers */
double tacit_released_value(tacit_wide_t sum, int64_t noise, double spacing) {
  return (double)(sum + noise) * spacing;
}

/* ---- a release that has been checked: charge, draw, sum, in this order ---- */

typedef struct release {
  tacit_event_t event;
  tacit_door_noise_t noise; /* of the scales that the first workspace holds, in whole numbers */
  bool is_apart;            /* each number is drawn by itself, whatever its neighbours' scales */
  size_t n,
      n_passes; /* n_passes: a subset of its own for each, of n / n_passes numbers; 0: all records at once */
  double rate, spacing;
  const tacit_vectors_t *vectors; /* one of the three */
  const tacit_scalars_t *scalars;
  const tacit_units_t *units;
} release_t;

/* `count` Gaussian events, sampled where the rate is below 1. */
static tacit_event_t gaussian_event(double noise_multiplier, double rate, size_t count, const char *label) {
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = noise_multiplier, .count = count};
  if (rate < 1) {
    event.sampling = TACIT_SAMPLING_POISSON;
    event.sampling_rate = rate;
  }
  snprintf(event.label, sizeof event.label, "%s", label);
  return event;
}

/* draws <- exact noise; its scale is rounded up, so that there is never less than was charged. */
static tacit_status_t draw_noise(tacit_door_t *door, tacit_door_noise_t noise, double scale, size_t n,
                                 int64_t *draws, tacit_error_t *err) {
  double up = nextafter(scale, INFINITY);
  switch (noise) {
  case TACIT_DOOR_GAUSSIAN:
    return tacit_noise_rounded_gaussian(door->noise, up, n, draws, err);
  case TACIT_DOOR_LAPLACE:
    return tacit_noise_rounded_laplace(door->noise, up, n, draws, err);
  case TACIT_DOOR_DISCRETE_GAUSSIAN:
    return tacit_noise_discrete_gaussian(door->noise, up, n, draws, err);
  default:
    return tacit_noise_discrete_laplace(door->noise, up, n, draws, err);
  }
}

/* What the generators take: nothing is charged for noise that cannot be drawn. */
static tacit_status_t check_scales(const tacit_door_t *door, const release_t *r, tacit_error_t *err) {
  static const double least[] = {0x1p-20, 1, 0x1p-4, 0x1p-8}, most[] = {0x1p52, 0x1p52, 0x1p26, 0x1p52};
  for (size_t i = 0; door->budget != NULL && i < r->n; i++) {
    double scale = door->workspaces->scales[i];
    if (!(scale >= least[r->noise] && scale < most[r->noise])) {
      return tacit_error_set(
          err, TACIT_ERR_ARGUMENT, "noise_multiplier",
          "the noise of this release would have a scale of %g grid units: from %g to %g can be drawn", scale,
          least[r->noise], most[r->noise]);
    }
  }
  return TACIT_OK;
}

/* Of an exposed door, zeros. */
static tacit_status_t draw_all(tacit_door_t *door, const release_t *r, tacit_error_t *err) {
  const double *scales = door->workspaces->scales;
  int64_t *draws = door->workspaces->draws;
  tacit_status_t status = TACIT_OK;
  memset(draws, 0, r->n * sizeof *draws);
  for (size_t i = 0, end; door->budget != NULL && i < r->n && status == TACIT_OK; i = end) {
    for (end = i + 1; end < r->n && !r->is_apart && scales[end] <= scales[i] && scales[end] >= scales[i];
         end++) {
    }
    status = draw_noise(door, r->noise, scales[i], end - i, draws + i, err);
  }
  return status;
}

static void sum_pass(tacit_door_t *door, const release_t *r, size_t pass) {
  if (r->vectors != NULL) {
    tacit_vectors_sum(door, r->vectors, r->n_passes > 0 ? pass : SIZE_MAX);
  } else if (r->scalars != NULL) {
    tacit_scalars_sum(door, r->scalars);
  } else {
    tacit_units_sum(door, r->units);
  }
}

static tacit_status_t release(tacit_door_t *door, const release_t *r, double *out, tacit_error_t *err) {
  size_t n_passes = r->n_passes > 0 ? r->n_passes : 1, n_a_pass = r->n / n_passes;
  tacit_status_t status = check_scales(door, r, err);
  TACIT_THEN(status, tacit_door_charge(door, &r->event, err));
  TACIT_THEN(status, draw_all(door, r, err));
  for (size_t pass = 0; status == TACIT_OK && pass < n_passes; pass++) {
    status = r->n_passes > 0 ? tacit_subset_draw(door, r->rate, err) : TACIT_OK;
    if (status == TACIT_OK) {
      sum_pass(door, r, pass);
      status = tacit_door_check_ranks(door, err); /* a sum that is not of all records is not released */
    }
    for (size_t j = 0, i = pass * n_a_pass; status == TACIT_OK && j < n_a_pass; j++, i++) {
      out[i] = tacit_released_value(door->sums[j], door->workspaces->draws[i], r->spacing);
    }
  }
  if (status != TACIT_OK) {
    memset(out, 0, r->n * sizeof *out);
  }
  return status;
}

/* proofs/Shapes.v: ball_substitute, ball_add_remove */
tacit_status_t tacit_door_release_vectors(tacit_door_t *door, const tacit_vectors_t *of,
                                          double noise_multiplier, double *out, tacit_error_t *err) {
  bool is_clipped = isfinite(of->clip);
  release_t r = {.event = gaussian_event(noise_multiplier, of->rate, of->n_points, of->label),
                 .n = of->n_points * of->dim,
                 .n_passes = of->rate < 1 ? of->n_points : 0,
                 .rate = of->rate,
                 .vectors = of,
                 .spacing = ldexp(is_clipped ? of->clip : 1,
                                  is_clipped ? -TACIT_LATTICE_BITS : -TACIT_EXPOSED_GRID_BITS)};
  memset(out, 0, r.n * sizeof *out);
  if (of->n_points == 0) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_door_check(door, noise_multiplier, err);
  TACIT_THEN(status, tacit_vectors_check(door, of, err));
  for (size_t i = 0; status == TACIT_OK && i < r.n; i++) {
    door->workspaces->scales[i] =
        noise_multiplier * tacit_door_factor(door) * (double)(1 << TACIT_LATTICE_BITS);
  }
  tacit_door_digest(door, of->points, r.n * sizeof *of->points);
  return TACIT_THEN(status, release(door, &r, out, err));
}

/* Entries of an upper triangle off the diagonal stand for two of the matrix, whose norm is what is bounded:
 * sqrt(2) less noise. */
/* proofs/Squares.v: less_noise_off_the_diagonal */
static void fill_scales(tacit_door_t *door, const tacit_door_shape_t *shape, double scale) {
  size_t n = tacit_door_shape_n_sums(shape), diagonal = 0, left = shape->dim;
  bool is_triangle = shape->kind == TACIT_SHAPE_SQUARES;
  for (size_t i = 0; i < n; i++) {
    door->workspaces->scales[i] = !is_triangle || i == diagonal ? scale : scale * sqrt(0.5) * (1 + 0x1p-50);
    diagonal += i == diagonal ? left-- : 0;
    left = left == 0 ? shape->dim : left; /* the next block's */
  }
}

/* What a shape's numbers move by, sums do; proofs/Sums.v: substitution_moves_by_one_unit */
tacit_status_t tacit_door_release_units(tacit_door_t *door, const tacit_units_t *of, tacit_door_noise_t noise,
                                        double noise_multiplier, double *out, double *scale,
                                        tacit_error_t *err) {
  bool is_substitute = tacit_door_factor(door) > 1;
  double lattice_scale = noise_multiplier * tacit_door_shape_sensitivity(&of->shape, noise, is_substitute);
  release_t r = {.event =
                     tacit_door_shape_event(&of->shape, noise, is_substitute, noise_multiplier, of->label),
                 .noise = noise,
                 .n = tacit_door_shape_n_sums(&of->shape),
                 .units = of,
                 .spacing = 1};
  memset(out, 0, r.n * sizeof *out);
  *scale = 0;
  tacit_status_t status = tacit_door_check(door, noise_multiplier, err);
  TACIT_THEN(status, tacit_units_check(door, of, noise, err));
  if (status == TACIT_OK) {
    fill_scales(door, &of->shape, lattice_scale);
    tacit_door_digest(door, &lattice_scale, sizeof lattice_scale);
  }
  TACIT_THEN(status, release(door, &r, out, err));
  *scale = door->budget == NULL || status != TACIT_OK ? 0 : lattice_scale;
  return status;
}

/* proofs/Decisions.v: scalar_moves */
tacit_status_t tacit_door_release_scalars(tacit_door_t *door, const tacit_scalars_t *of,
                                          double noise_multiplier, double *out, double *noise_sd,
                                          tacit_error_t *err) {
  double factor = noise_multiplier * tacit_door_factor(door);
  release_t r = {.event = gaussian_event(noise_multiplier, of->rate, of->n_pairs, of->label),
                 .n = of->n_pairs,
                 .is_apart = true,
                 .n_passes = of->is_sampled,
                 .rate = of->rate,
                 .scalars = of,
                 .spacing = 1};
  memset(out, 0, of->n_pairs * sizeof *out);
  memset(noise_sd, 0, of->n_pairs * sizeof *noise_sd);
  if (of->n_pairs == 0) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_door_check(door, noise_multiplier, err);
  TACIT_THEN(status, tacit_scalars_check(door, of, err));
  for (size_t k = 0; status == TACIT_OK && k < of->n_pairs; k++) {
    door->workspaces->scales[k] = factor * of->clips[k];
    if (door->budget != NULL && !(factor * of->clips[k] <= 0x1p51)) {
      status = tacit_error_set(
          err, TACIT_ERR_SENSITIVITY, "clip_bound_ratio",
          "the log-likelihood ratio of model %s needs a smaller clip bound between these points",
          door->settings.name);
    }
  }
  TACIT_THEN(status, release(door, &r, out, err));
  for (size_t k = 0; status == TACIT_OK && door->budget != NULL && k < of->n_pairs; k++) {
    noise_sd[k] = factor * of->clips[k];
  }
  return status;
}
