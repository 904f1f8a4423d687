/* Opening the door: which records count, and workspace for what is summed. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/isa.h"
#include "base/memory.h"
#include "data/pack.h"
#include "data/records.h"
#include "door/door_internal.h"

static void measure_range(const void *of, size_t first, size_t last, size_t thread) {
  const tacit_door_t *door = of;
  (void)thread;
  for (size_t b = first; b < last; b++) {
    tacit_lattice_functions()->norms(door->settings.n_columns, door->settings.n_features,
                                     tacit_records_block(door->records, b),
                                     door->lane_norm + b * TACIT_BLOCK);
  }
  for (size_t i = tacit_records_n(door->records); i < last * TACIT_BLOCK; i++) { /* past the last record */
    door->lane_norm[i] = NAN;
  }
}

void tacit_door_measure_records(tacit_door_t *door) {
  tacit_door_run_ranges(door, false, measure_range, door);
}

static tacit_status_t check_records(const tacit_door_t *door, tacit_error_t *err) {
  const tacit_door_settings_t *settings = &door->settings;
  const size_t *offsets = door->unit_offsets;
  size_t n_columns = tacit_records_n_columns(door->records);
  if (n_columns > TACIT_MAX_NUMBERS || settings->max_unit_rows < 1 ||
      settings->max_unit_rows > (size_t)1 << 32 || settings->n_threads < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "records",
                           "the model %s asks for %zu columns, at most %zu records of a unit and %zu "
                           "threads: more than is provided for, or none",
                           settings->name, n_columns, settings->max_unit_rows, settings->n_threads);
  }
  if (n_columns != settings->n_columns || settings->n_features > n_columns) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "records",
                           "records have %zu columns, the model %s expects %zu", n_columns, settings->name,
                           settings->n_columns);
  }
  for (size_t u = 0; offsets != NULL && u < door->n_units; u++) {
    if (offsets[u + 1] - offsets[u] > settings->max_unit_rows) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_unit_rows",
                             "a unit has more records than max_unit_rows = %zu allows",
                             settings->max_unit_rows);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_door_new(tacit_door_t **out, tacit_records_t *records, tacit_budget_t *budget,
                              tacit_noise_t *noise, const tacit_door_settings_t *settings,
                              tacit_error_t *err) {
  tacit_door_t *door = *out = tacit_alloc_zero(1, sizeof *door);
  if (door == NULL) {
    tacit_records_free(records);
    return tacit_error_memory(err);
  }
  *door = (tacit_door_t){.records = records, .budget = budget, .noise = noise, .settings = *settings};
  (void)tacit_records_unit_offsets(records, &door->n_units);
  door->unit_offsets = tacit_records_edit_units(records);
  /* before anything that one rank alone could stumble over */
  tacit_status_t status =
      budget == NULL || noise != NULL
          ? tacit_door_join_ranks(door, err)
          : tacit_error_set(err, TACIT_ERR_ARGUMENT, "noise", "a private door needs a source of noise");
  TACIT_THEN(status, tacit_isa_check(err));
  TACIT_THEN(status, check_records(door, err));
  TACIT_THEN(status, tacit_pool_new(&door->pool, settings->n_threads, err));
  TACIT_THEN(status, tacit_door_arrange(door, err));
  TACIT_THEN(status, tacit_records_new_lanes(records, &door->lane_norm, err));
  if (status == TACIT_OK) {
    tacit_door_measure_records(door);
  } else {
    tacit_door_free(door);
    *out = NULL;
  }
  return status;
}

static void wipe_and_free(void *p, size_t n) {
  tacit_wipe(p, n);
  tacit_free(p);
}

/* Of these sizes. Wiped: noise, or the sums that it covers, tells the other from what was released. */
static void clear_buffers(tacit_door_t *door, const tacit_sizes_t *sizes) {
#define FREE(type, name) wipe_and_free(door->workspaces[t].name, sizes->name * sizeof(type));
  for (size_t t = 0; door->workspaces != NULL && t < door->settings.n_threads; t++) {
    TACIT_BUFFERS(FREE)
  }
  tacit_free(door->workspaces);
  door->workspaces = NULL;
  door->sums = NULL;
}

tacit_status_t tacit_door_reserve(tacit_door_t *door, const tacit_sizes_t *sizes, tacit_error_t *err) {
  const tacit_sizes_t had = door->sizes;
  bool ok = door->workspaces != NULL;
#define WIDEN(type, name)                                                                                    \
  ok = ok && sizes->name <= had.name, door->sizes.name = sizes->name > had.name ? sizes->name : had.name;
#define NEW(type, name)                                                                                      \
  ok = ok && (door->workspaces[t].name = tacit_alloc_zero(door->sizes.name + 1, sizeof(type))) != NULL;
  TACIT_BUFFERS(WIDEN)
  if (ok) {
    return TACIT_OK;
  }
  clear_buffers(door, &had);
  door->workspaces = tacit_alloc_zero(door->settings.n_threads, sizeof *door->workspaces);
  ok = door->workspaces != NULL;
  for (size_t t = 0; ok && t < door->settings.n_threads; t++) {
    TACIT_BUFFERS(NEW)
  }
  if (!ok) {
    clear_buffers(door, &door->sizes);
    door->sizes = (tacit_sizes_t){0};
    return tacit_error_memory(err);
  }
  door->sums = door->workspaces->totals;
  return TACIT_OK;
}

void tacit_door_clear(tacit_workspace_t *w, const tacit_sizes_t *sizes) {
#define CLEAR(type, name) memset(w->name, 0, sizes->name * sizeof *w->name);
  TACIT_LENT(CLEAR)
}

void tacit_door_free(tacit_door_t *door) {
  if (door == NULL) {
    return;
  }
  clear_buffers(door, &door->sizes);
  tacit_free(door->kept);
  tacit_free(door->mask);
  tacit_free(door->n_laned);
  tacit_pool_free(door->pool);
  tacit_records_free(door->records);
  tacit_free(door);
}

bool tacit_door_is_exposed(const tacit_door_t *door) { return door->budget == NULL; }

bool tacit_door_is_private(const tacit_door_t *door) {
  return door->budget != NULL && tacit_noise_is_secret(door->noise);
}

bool tacit_door_has_units(const tacit_door_t *door) {
  return door->unit_offsets != NULL || door->settings.max_unit_rows != 1;
}

/*
 * proofs/Sums.v: substitution_moves_by_one_unit, substitution_moves_by_one_unit_l1
 * proofs/Sums.v: add_remove_is_substitution_by_nothing
 */
double tacit_door_factor(const tacit_door_t *door) {
  return door->budget != NULL && tacit_budget_relation(door->budget) == TACIT_RELATION_ADD_REMOVE ? 1 : 2;
}

tacit_status_t tacit_door_n_units(const tacit_door_t *door, size_t *n, tacit_error_t *err) {
  *n = 0;
  if (door->budget != NULL && tacit_budget_relation(door->budget) == TACIT_RELATION_ADD_REMOVE) {
    return tacit_error_set(err, TACIT_ERR_STATE, "n",
                           "under add-remove the number of units is private: give a public nominal number");
  }
  *n = door->n_units_all;
  return TACIT_OK;
}

tacit_door_notes_t tacit_door_notes(const tacit_door_t *door) { return door->notes; }
