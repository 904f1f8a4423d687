/*
 * Which rows belong to which person: identifiers in a hash table, rows grouped by counting.
 */
#include <string.h>

#include "data/data_internal.h"

static uint64_t hash(const char *text, size_t n) { /* FNV-1a, finished by a mixer */
  uint64_t h = 0xCBF29CE484222325u;
  for (size_t i = 0; i < n; i++) {
    h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
  }
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  return h ^ (h >> 32);
}

static bool is_unit(const tacit_units_t *units, size_t u, const char *text, size_t n) {
  size_t start = units->units[u].start, length = units->units[u].length;
  return length == n && memcmp(units->ids.data + start, text, n) == 0;
}

/* Slot of an identifier: the one that holds it, or the empty one where it belongs. */
static size_t find_slot(const tacit_units_t *units, const char *text, size_t n) {
  size_t mask = units->n_slots - 1, slot = hash(text, n) & mask;
  while (units->slots[slot] != 0 && !is_unit(units, units->slots[slot] - 1, text, n)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

static tacit_status_t grow_slots(tacit_units_t *units, tacit_error_t *err) {
  size_t n_slots = units->n_slots > 0 ? 2 * units->n_slots : 1024;
  size_t *slots = tacit_alloc_zero(n_slots, sizeof *slots), *old = units->slots;
  tacit_unit_t *grown = tacit_realloc(units->units, n_slots / 2, sizeof *grown);
  units->units = grown != NULL ? grown : units->units;
  if (slots == NULL || grown == NULL) {
    tacit_free(slots);
    return tacit_error_memory(err);
  }
  units->slots = slots;
  units->n_slots = n_slots;
  for (size_t u = 0; u < units->n_units; u++) {
    size_t slot = find_slot(units, units->ids.data + units->units[u].start, units->units[u].length);
    units->slots[slot] = u + 1;
  }
  tacit_free(old);
  return TACIT_OK;
}

static tacit_status_t add_row(tacit_units_t *units, size_t u, tacit_error_t *err) {
  if (units->n_rows == units->row_capacity) {
    size_t capacity = units->row_capacity > 0 ? 2 * units->row_capacity : 1024;
    size_t *rows = tacit_realloc(units->unit_of_row, capacity, sizeof *rows);
    if (rows == NULL) {
      return tacit_error_memory(err);
    }
    units->unit_of_row = rows;
    units->row_capacity = capacity;
  }
  units->unit_of_row[units->n_rows++] = u;
  units->units[u].n_rows++;
  return TACIT_OK;
}

tacit_status_t tacit_units_add(tacit_units_t *units, const char *id, size_t n, size_t max_rows, bool *is_kept,
                               tacit_error_t *err) {
  *is_kept = false;
  if (2 * units->n_units >= units->n_slots) {
    tacit_status_t status = grow_slots(units, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  size_t slot = find_slot(units, id, n);
  if (units->slots[slot] == 0) {
    size_t start = units->ids.length;
    tacit_text_append(&units->ids, id, n);
    if (units->ids.failed) {
      return tacit_error_memory(err);
    }
    units->units[units->n_units] = (tacit_unit_t){.start = start, .length = n};
    units->slots[slot] = ++units->n_units;
  }
  size_t u = units->slots[slot] - 1;
  *is_kept = units->units[u].n_rows < max_rows;
  return *is_kept ? add_row(units, u, err) : TACIT_OK;
}

tacit_status_t tacit_units_group(const tacit_units_t *units, size_t **order, size_t **offsets, size_t *n_units,
                                 tacit_error_t *err) {
  *n_units = units->n_units;
  *order = tacit_alloc(units->n_rows, sizeof **order);
  *offsets = tacit_alloc_zero(units->n_units + 1, sizeof **offsets);
  size_t *next = tacit_alloc_zero(units->n_units, sizeof *next);
  if (*order == NULL || *offsets == NULL || next == NULL) {
    tacit_free(*order);
    tacit_free(next);
    *order = NULL;
    return tacit_error_memory(err);
  }
  for (size_t u = 0; u < units->n_units; u++) {
    next[u] = (*offsets)[u];
    (*offsets)[u + 1] = (*offsets)[u] + units->units[u].n_rows;
  }
  for (size_t r = 0; r < units->n_rows; r++) {
    (*order)[next[units->unit_of_row[r]]++] = r;
  }
  tacit_free(next);
  return TACIT_OK;
}

void tacit_units_clear(tacit_units_t *units) {
  tacit_free(units->slots);
  tacit_free(units->units);
  tacit_free(units->unit_of_row);
  tacit_text_clear(&units->ids);
  *units = (tacit_units_t){0};
}
