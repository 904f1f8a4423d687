/*
 * Opening a curator: which records count, and how much one unit can contribute.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "curator/gather.h"

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
  if (status == TACIT_OK) {
    status = check_bound(settings->clip_bound_ratio, "clip_bound_ratio", err);
  }
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

/* Feature norms beyond this count as zero: below it no square underflows within a clipped norm. */
static const double max_feature_norm = 0x1p32;

/* The next float after x >= 0, finite. */
static float next_after(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits++;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Norm bounds of a block's records, NaN for those that count as zero. */
static void block_norms(const float *block, const tacit_record_model_t *model, float *norms) {
  const size_t ahead = 4 * model->n_columns * TACIT_BLOCK * sizeof *block; /* four blocks are asked for before they are needed */
  double n2[TACIT_BLOCK] = {0};
  int32_t n_faults[TACIT_BLOCK] = {0}; /* values that are not finite, the response's among them */
  for (size_t j = 0; j < model->n_columns; j++) {
    double weight = j < model->n_features ? 1 : 0;
    __builtin_prefetch((const void *)((uintptr_t)(block + j * TACIT_BLOCK) + ahead), 0, 2);
    for (size_t lane = 0; lane < TACIT_BLOCK; lane++) {
      float x = block[j * TACIT_BLOCK + lane];
      n_faults[lane] += !(fabsf(x) <= FLT_MAX);
      n2[lane] += weight * ((double)x * (double)x);
    }
  }
  for (size_t lane = 0; lane < TACIT_BLOCK; lane++) {
    double norm = sqrt(n2[lane]) * (1 + 1e-9);
    bool counts = n_faults[lane] == 0 && (model->n_linear == 0 || norm <= max_feature_norm);
    norms[lane] = !counts ? NAN : model->n_linear == 0 ? 1 : next_after((float)norm);
  }
}

static void measure_range(void *user, size_t first, size_t last, size_t thread) {
  const tacit_curator_t *curator = user;
  size_t n = tacit_records_n(curator->records);
  (void)thread;
  for (size_t b = first; b < last; b++) {
    block_norms(tacit_records_block(curator->records, b), curator->model, curator->lane_norm + b * TACIT_BLOCK);
  }
  for (size_t i = n; i < last * TACIT_BLOCK; i++) { /* past the last record */
    curator->lane_norm[i] = NAN;
  }
}

void tacit_curator_measure_records(tacit_curator_t *curator) {
  tacit_curator_run_ranges(curator, false, measure_range, curator);
}

/* Units of several records must fit max_unit_rows. */
static tacit_status_t check_units(const tacit_curator_t *curator, tacit_error_t *err) {
  const size_t *offsets = curator->unit_offsets;
  for (size_t u = 0; offsets != NULL && u < curator->n_units; u++) {
    if (offsets[u + 1] - offsets[u] > curator->settings.max_unit_rows) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_unit_rows",
                             "a unit has more records than max_unit_rows = %zu allows",
                             curator->settings.max_unit_rows);
    }
  }
  return TACIT_OK;
}

static tacit_status_t open_curator(tacit_curator_t **out, tacit_records_t *records,
                                   const tacit_record_model_t *model,
                                   const tacit_curator_settings_t *settings, tacit_error_t *err) {
  *out = NULL;
  tacit_curator_t *curator = tacit_alloc_zero(1, sizeof *curator);
  if (curator == NULL) {
    tacit_records_free(records);
    return tacit_error_memory(err);
  }
  curator->records = records;
  curator->model = model;
  curator->settings = settings != NULL ? *settings : tacit_curator_settings_default();
  curator->kept.limit = TACIT_KEPT_BYTES;
  tacit_status_t status = check_settings(&curator->settings, err);
  if (status == TACIT_OK && tacit_records_n_columns(records) != model->n_columns) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "records",
                             "records have %zu columns, the model %s expects %zu",
                             tacit_records_n_columns(records), model->name, model->n_columns);
  }
  if (status == TACIT_OK) {
    curator->unit_offsets = tacit_records_unit_offsets(records, &curator->n_units);
    status = tacit_curator_join_ranks(curator, err); /* before anything that one rank alone could stumble over */
  }
  if (status == TACIT_OK) {
    status = check_units(curator, err);
  }
  if (status == TACIT_OK) {
    status = tacit_pool_new(&curator->pool, curator->settings.n_threads, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_new_lane_norm(curator, tacit_records_n_blocks(records) * TACIT_BLOCK, err);
  }
  if (status == TACIT_OK) {
    tacit_curator_measure_records(curator);
  }
  if (status != TACIT_OK) {
    tacit_curator_free(curator);
    return status;
  }
  *out = curator;
  return TACIT_OK;
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
  tacit_status_t status = open_curator(curator, records, model, settings, err);
  if (status == TACIT_OK) {
    (*curator)->budget = budget;
    (*curator)->noise = noise;
  }
  return status;
}

tacit_status_t tacit_curator_new_exposed(tacit_curator_t **curator, tacit_records_t *records,
                                         const tacit_record_model_t *model,
                                         const tacit_curator_settings_t *settings, tacit_error_t *err) {
  tacit_status_t status = open_curator(curator, records, model, settings, err);
  if (status == TACIT_OK) {
    (*curator)->is_exposed = true;
    (*curator)->noise = (*curator)->settings.subset_noise;
  }
  return status;
}

static void workspace_clear(tacit_workspace_t *workspace) {
  tacit_free(workspace->rows);
  tacit_free(workspace->lanes);
  tacit_free(workspace->lanes64);
  tacit_free(workspace->log_lik);
  tacit_free(workspace->grid);
  tacit_free(workspace->unit_sum);
  tacit_free(workspace->unit_weights);
  tacit_free(workspace->unit_x);
  tacit_free(workspace->totals);
  *workspace = (tacit_workspace_t){0};
}

static void buffers_clear(tacit_curator_t *curator) {
  for (size_t t = 0; curator->workspaces != NULL && t < curator->settings.n_threads; t++) {
    workspace_clear(&curator->workspaces[t]);
  }
  tacit_free(curator->workspaces);
  tacit_free(curator->theta_float);
  tacit_free(curator->pairs);
  tacit_free(curator->clips);
  tacit_free(curator->draws);
  tacit_free(curator->sums);
  tacit_free(curator->message);
  tacit_kept_clear(&curator->kept);
  curator->workspaces = NULL;
  curator->theta_float = NULL;
  curator->pairs = NULL;
  curator->clips = NULL;
  curator->draws = NULL;
  curator->sums = NULL;
  curator->message = NULL;
  curator->capacity = 0;
}

static bool workspace_init(tacit_workspace_t *workspace, size_t n_theta, const tacit_record_model_t *model) {
  size_t dim = model->dim, n = n_theta * dim, n_sums = tacit_unit_n_sums(model), wide = n_sums > 17 ? n_sums : 17;
  workspace->rows = tacit_alloc_zero(n, TACIT_ROW_BLOCKS * 16 * sizeof *workspace->rows);
  workspace->lanes = tacit_alloc_zero(n, 16 * sizeof *workspace->lanes);
  workspace->lanes64 = tacit_alloc_zero(n, 16 * sizeof *workspace->lanes64);
  workspace->log_lik = tacit_alloc_zero(2 * n_theta, TACIT_RUN_BLOCKS * 16 * sizeof *workspace->log_lik);
  workspace->grid = tacit_alloc_zero(2 * n_theta, TACIT_RUN_BLOCKS * 16 * sizeof *workspace->grid);
  workspace->unit_sum = tacit_alloc_zero((n_theta + 16) * wide, sizeof *workspace->unit_sum);
  workspace->unit_weights = tacit_alloc_zero(dim, 16 * sizeof *workspace->unit_weights);
  workspace->unit_x = tacit_alloc_zero(n_sums, 16 * sizeof *workspace->unit_x);
  workspace->totals = tacit_alloc_zero(n, sizeof *workspace->totals);
  return workspace->rows != NULL && workspace->lanes != NULL && workspace->lanes64 != NULL &&
         workspace->log_lik != NULL && workspace->grid != NULL && workspace->unit_sum != NULL && workspace->unit_weights != NULL &&
         workspace->unit_x != NULL && workspace->totals != NULL;
}

tacit_status_t tacit_curator_reserve(tacit_curator_t *curator, size_t n_theta, tacit_error_t *err) {
  if (n_theta <= curator->capacity) {
    return TACIT_OK;
  }
  size_t dim = curator->model->dim, n_sums;
  if (__builtin_mul_overflow(n_theta, dim, &n_sums)) {
    return tacit_error_memory(err);
  }
  buffers_clear(curator);
  curator->workspaces = tacit_alloc_zero(curator->settings.n_threads, sizeof *curator->workspaces);
  curator->theta_float = tacit_alloc_zero(n_sums, sizeof *curator->theta_float);
  curator->pairs = tacit_alloc_zero(n_sums, 2 * sizeof *curator->pairs);
  curator->clips = tacit_alloc_zero(n_theta, sizeof *curator->clips);
  curator->draws = tacit_alloc_zero(n_sums, sizeof *curator->draws);
  curator->sums = tacit_alloc_zero(n_sums, sizeof *curator->sums);
  curator->message = tacit_alloc_zero(tacit_curator_message_size(n_sums), sizeof *curator->message);
  bool ok = curator->workspaces != NULL && curator->theta_float != NULL && curator->pairs != NULL &&
            curator->clips != NULL && curator->draws != NULL && curator->sums != NULL && curator->message != NULL &&
            tacit_kept_init(&curator->kept, n_theta, dim);
  for (size_t t = 0; ok && t < curator->settings.n_threads; t++) {
    ok = workspace_init(&curator->workspaces[t], n_theta, curator->model);
  }
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
  tacit_minibatch_free(curator->minibatch, curator->settings.n_threads);
  tacit_pool_free(curator->pool);
  tacit_curator_free_lane_norm(curator);
  tacit_records_free(curator->records);
  tacit_free(curator);
}

tacit_status_t tacit_curator_set_clip_bounds(tacit_curator_t *curator, double grad, double ratio, tacit_error_t *err) {
  tacit_status_t status = check_bound(grad, "clip_bound_grad", err);
  if (status == TACIT_OK) {
    status = check_bound(ratio, "clip_bound_ratio", err);
  }
  if (status == TACIT_OK) {
    tacit_curator_settings_t *s = &curator->settings;
    s->clip_bound_grad = grad > 0 ? grad : s->clip_bound_grad;
    s->clip_bound_ratio = ratio > 0 ? ratio : s->clip_bound_ratio;
  }
  return status;
}

bool tacit_curator_is_private(const tacit_curator_t *curator) {
  return !curator->is_exposed && tacit_noise_is_secret(curator->noise);
}

bool tacit_curator_is_exposed(const tacit_curator_t *curator) {
  return curator->is_exposed;
}

size_t tacit_curator_dim(const tacit_curator_t *curator) {
  return curator->model->dim;
}

tacit_status_t tacit_curator_n_units(const tacit_curator_t *curator, size_t *n, tacit_error_t *err) {
  *n = 0;
  if (!curator->is_exposed && tacit_budget_relation(curator->budget) == TACIT_RELATION_ADD_REMOVE) {
    return tacit_error_set(err, TACIT_ERR_STATE, "n",
                           "under add-remove the number of units is private: give a public nominal number");
  }
  *n = curator->n_units_all;
  return TACIT_OK;
}

double tacit_curator_sensitivity_factor(const tacit_curator_t *curator) {
  bool is_add_remove = curator->budget != NULL &&
                       tacit_budget_relation(curator->budget) == TACIT_RELATION_ADD_REMOVE;
  return is_add_remove ? 1 : 2;
}

/* The model's bound for a unit: T times the bound of a record times the most records a unit has. */
static double model_bound(const tacit_curator_t *curator, double record_bound) {
  return curator->settings.temperature_power * record_bound * (double)curator->settings.max_unit_rows;
}

double tacit_curator_grad_bound(const tacit_curator_t *curator) {
  double clip = curator->settings.clip_bound_grad;
  if (curator->is_exposed) {
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

double tacit_curator_ratio_bound(const tacit_curator_t *curator, const double *theta, const double *theta_prop) {
  bool is_unbounded = curator->is_exposed && !(curator->settings.clip_bound_ratio > 0);
  return is_unbounded ? INFINITY : tacit_curator_public_ratio_bound(curator, theta, theta_prop);
}

bool tacit_curator_ratio_is_unclipped(const tacit_curator_t *curator) {
  double clip = curator->settings.clip_bound_ratio;
  return clip == 0 || clip >= model_bound(curator, curator->model->grad_bound); /* 0 is "not given" */
}

double tacit_curator_clip_ratio(const tacit_curator_t *curator) {
  return curator->settings.clip_bound_ratio;
}

tacit_curator_notes_t tacit_curator_notes(const tacit_curator_t *curator) {
  return curator->notes;
}
