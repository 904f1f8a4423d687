/*
 * Opening a curator: a door with a model, and what a unit may contribute by that model.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "curator/curator_internal.h"

tacit_curator_settings_t tacit_curator_settings_default(void) {
  return (tacit_curator_settings_t){.temperature_power = 1, .max_unit_rows = 1, .n_threads = 1};
}

static tacit_status_t check_bound(double bound, const char *name, tacit_error_t *err) {
  if (bound == 0 || (bound >= 1e-15 && bound <= 1e15)) { /* 0 is exactly "not given" */
    return TACIT_OK;
  }
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, name,
                         "%s must be a number between 1e-15 and 1e15, or 0 for the model's own bound", name);
}

static tacit_status_t check_settings(const tacit_curator_settings_t *settings, tacit_error_t *err) {
  tacit_status_t status = check_bound(settings->clip_bound_grad, "clip_bound_grad", err);
  TACIT_THEN(status, check_bound(settings->clip_bound_ratio, "clip_bound_ratio", err));
  if (status != TACIT_OK) {
    return status;
  }
  if (!(settings->temperature_power > 0 && settings->temperature_power <= 1)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "temperature_power",
                           "temperature_power must be in (0, 1], not %g", settings->temperature_power);
  }
  if (settings->max_unit_rows < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_unit_rows", "max_unit_rows must be at least 1");
  }
  return TACIT_OK;
}

static tacit_status_t open_curator(tacit_curator_t **out, tacit_records_t *records,
                                   const tacit_record_model_t *model, tacit_budget_t *budget,
                                   tacit_noise_t *noise, const tacit_curator_settings_t *settings,
                                   tacit_error_t *err) {
  tacit_curator_settings_t s = settings != NULL ? *settings : tacit_curator_settings_default();
  tacit_status_t status = check_settings(&s, err);
  tacit_curator_t *curator = *out = status == TACIT_OK ? tacit_alloc_zero(1, sizeof *curator) : NULL;
  if (curator == NULL) {
    tacit_records_free(records);
    return status == TACIT_OK ? tacit_error_memory(err) : status;
  }
  tacit_door_settings_t door = {.name = model->name,
                                .n_columns = model->n_columns,
                                .n_features = tacit_curator_n_features(model),
                                .max_unit_rows = s.max_unit_rows,
                                .n_threads = s.n_threads,
                                .ranks = s.ranks};
  curator->model = model;
  curator->settings = s;
  curator->kept.limit = TACIT_KEPT_BYTES;
  status =
      tacit_door_new(&curator->door, records, budget, budget != NULL ? noise : s.subset_noise, &door, err);
  if (status == TACIT_OK && !tacit_gradient_pieces(curator)) {
    status = tacit_error_memory(err);
  }
  if (status != TACIT_OK) {
    tacit_curator_free(curator);
    *out = NULL;
  }
  return status;
}

tacit_status_t tacit_curator_new(tacit_curator_t **curator, tacit_records_t *records,
                                 const tacit_record_model_t *model, tacit_budget_t *budget,
                                 tacit_noise_t *noise, const tacit_curator_settings_t *settings,
                                 tacit_error_t *err) {
  if (budget == NULL || noise == NULL) {
    *curator = NULL;
    tacit_records_free(records);
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "budget",
                           "a private curator needs a budget and a source of noise");
  }
  return open_curator(curator, records, model, budget, noise, settings, err);
}

tacit_status_t tacit_curator_new_exposed(tacit_curator_t **curator, tacit_records_t *records,
                                         const tacit_record_model_t *model,
                                         const tacit_curator_settings_t *settings, tacit_error_t *err) {
  return open_curator(curator, records, model, NULL, NULL, settings, err);
}

static void buffers_clear(tacit_curator_t *curator) {
  tacit_free(curator->theta_float);
  tacit_free(curator->pairs);
  tacit_free(curator->clips);
  tacit_free(curator->index);
  tacit_free(curator->values);
  tacit_free(curator->bits);
  tacit_kept_clear(&curator->kept);
  curator->theta_float = NULL;
  curator->pairs = curator->clips = curator->values = NULL;
  curator->index = NULL;
  curator->bits = NULL;
  curator->capacity = 0;
}

tacit_status_t tacit_curator_reserve(tacit_curator_t *curator, size_t n_theta, tacit_error_t *err) {
  if (n_theta <= curator->capacity) {
    return TACIT_OK;
  }
  size_t dim = curator->model->dim, n;
  if (__builtin_mul_overflow(n_theta, dim, &n)) {
    return tacit_error_memory(err);
  }
  buffers_clear(curator);
  curator->theta_float = tacit_alloc_zero(n, sizeof *curator->theta_float);
  curator->pairs = tacit_alloc_zero(n, 2 * sizeof *curator->pairs);
  curator->clips = tacit_alloc_zero(n_theta, sizeof *curator->clips);
  curator->index = tacit_alloc_zero(n_theta, sizeof *curator->index);
  curator->values = tacit_alloc_zero(n_theta, 2 * sizeof *curator->values);
  curator->bits = tacit_alloc_zero(n_theta, sizeof *curator->bits);
  bool ok = curator->theta_float != NULL && curator->pairs != NULL && curator->clips != NULL &&
            curator->index != NULL && curator->values != NULL && curator->bits != NULL &&
            tacit_kept_init(&curator->kept, n_theta, dim);
  if (!ok) {
    buffers_clear(curator);
    return tacit_error_memory(err);
  }
  curator->capacity = n_theta;
  return TACIT_OK;
}

void tacit_curator_free(tacit_curator_t *curator) {
  if (curator == NULL) {
    return;
  }
  buffers_clear(curator);
  tacit_free(curator->pieces);
  tacit_door_free(curator->door);
  tacit_free(curator);
}

tacit_status_t tacit_curator_check_points(const tacit_curator_t *curator, size_t n_theta, const double *theta,
                                          tacit_error_t *err) {
  for (size_t i = 0; i < n_theta * curator->model->dim; i++) {
    if (!isfinite(theta[i])) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "theta", "a release needs finite parameters");
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_curator_set_clip_bounds(tacit_curator_t *curator, double grad, double ratio,
                                             tacit_error_t *err) {
  tacit_status_t status = check_bound(grad, "clip_bound_grad", err);
  TACIT_THEN(status, check_bound(ratio, "clip_bound_ratio", err));
  if (status == TACIT_OK) {
    tacit_curator_settings_t *s = &curator->settings;
    s->clip_bound_grad = grad > 0 ? grad : s->clip_bound_grad;
    s->clip_bound_ratio = ratio > 0 ? ratio : s->clip_bound_ratio;
  }
  return status;
}

bool tacit_curator_is_private(const tacit_curator_t *curator) { return tacit_door_is_private(curator->door); }

bool tacit_curator_is_exposed(const tacit_curator_t *curator) { return tacit_door_is_exposed(curator->door); }

size_t tacit_curator_dim(const tacit_curator_t *curator) { return curator->model->dim; }

tacit_status_t tacit_curator_n_units(const tacit_curator_t *curator, size_t *n, tacit_error_t *err) {
  return tacit_door_n_units(curator->door, n, err);
}

double tacit_curator_sensitivity_factor(const tacit_curator_t *curator) {
  return tacit_door_factor(curator->door);
}

/* The model's bound for a unit: T times the bound of a record times the most records a unit has. */
static double model_bound(const tacit_curator_t *curator, double record_bound) {
  return curator->settings.temperature_power * record_bound * (double)curator->settings.max_unit_rows;
}

double tacit_curator_grad_bound(const tacit_curator_t *curator) {
  double clip = curator->settings.clip_bound_grad;
  if (tacit_curator_is_exposed(curator)) {
    return clip > 0 ? clip : INFINITY;
  }
  double bound = model_bound(curator, curator->model->grad_bound);
  return clip > 0 && clip < bound ? clip : bound;
}

double tacit_curator_public_ratio_bound(const tacit_curator_t *curator, const double *theta,
                                        const double *theta_prop) {
  const tacit_record_model_t *model = curator->model;
  double d2 = 0;
  for (size_t j = 0; j < model->dim; j++) {
    d2 += (theta_prop[j] - theta[j]) * (theta_prop[j] - theta[j]);
  }
  double distance = sqrt(d2) * (1 + 1e-12);
  double record_bound = model->ratio_bound != NULL ? model->ratio_bound(model->ctx, theta, theta_prop)
                                                   : model->grad_bound * distance;
  double bound = model_bound(curator, record_bound), clip = curator->settings.clip_bound_ratio;
  return clip > 0 && !(clip * distance >= bound) ? clip * distance : bound;
}

double tacit_curator_ratio_bound(const tacit_curator_t *curator, const double *theta,
                                 const double *theta_prop) {
  bool is_unbounded = tacit_curator_is_exposed(curator) && !(curator->settings.clip_bound_ratio > 0);
  return is_unbounded ? INFINITY : tacit_curator_public_ratio_bound(curator, theta, theta_prop);
}

bool tacit_curator_ratio_is_unclipped(const tacit_curator_t *curator) {
  double clip = curator->settings.clip_bound_ratio;
  return clip == 0 || clip >= model_bound(curator, curator->model->grad_bound); /* 0 is "not given" */
}

double tacit_curator_clip_ratio(const tacit_curator_t *curator) { return curator->settings.clip_bound_ratio; }

tacit_curator_notes_t tacit_curator_notes(const tacit_curator_t *curator) {
  return tacit_door_notes(curator->door);
}
