/*
 * Texts in the order in which they were first met, found again by hashing: levels, identifiers, names of a
 * header.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/data_internal.h"

enum { first_slots = 16 };

static uint64_t hash(const char *text, size_t n) { /* FNV-1a, finished by a mixer */
  uint64_t h = 0xCBF29CE484222325u;
  for (size_t i = 0; i < n; i++) {
    h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
  }
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  return h ^ (h >> 32);
}

static bool is_entry(const tacit_dictionary_t *dictionary, tacit_dictionary_slot_t slot, uint64_t h,
                     const char *text, size_t n) {
  if (slot.hash != h) {
    return false; /* spares a look at the text, which is seldom in the cache */
  }
  const tacit_dictionary_entry_t *entry = &dictionary->entries[slot.entry - 1];
  return entry->length == n && memcmp(dictionary->texts.data + entry->start, text, n) == 0;
}

/* Slot of a text: the one that holds it, or the empty one where it belongs. */
static tacit_dictionary_slot_t *find_slot(const tacit_dictionary_t *dictionary, uint64_t h, const char *text,
                                          size_t n) {
  size_t mask = dictionary->n_slots - 1, i = (size_t)h & mask;
  while (dictionary->slots[i].entry != 0 && !is_entry(dictionary, dictionary->slots[i], h, text, n)) {
    i = (i + 1) & mask;
  }
  return &dictionary->slots[i];
}

/* Twice as many slots, and room for entries in half of them. */
static tacit_status_t grow(tacit_dictionary_t *dictionary, tacit_error_t *err) {
  size_t n_slots = dictionary->n_slots > 0 ? 2 * dictionary->n_slots : first_slots, mask = n_slots - 1;
  tacit_dictionary_slot_t *slots = tacit_alloc_zero(n_slots, sizeof *slots);
  tacit_dictionary_entry_t *entries = tacit_realloc(dictionary->entries, n_slots / 2, sizeof *entries);
  dictionary->entries = entries != NULL ? entries : dictionary->entries;
  if (slots == NULL || entries == NULL) {
    tacit_free(slots);
    return tacit_error_memory(err);
  }
  for (size_t k = 0; k < dictionary->n_slots; k++) {
    if (dictionary->slots[k].entry != 0) {
      size_t i = (size_t)dictionary->slots[k].hash & mask;
      while (slots[i].entry != 0) {
        i = (i + 1) & mask;
      }
      slots[i] = dictionary->slots[k];
    }
  }
  tacit_free(dictionary->slots);
  dictionary->slots = slots;
  dictionary->n_slots = n_slots;
  return TACIT_OK;
}

size_t tacit_dictionary_find(const tacit_dictionary_t *dictionary, const char *text, size_t n) {
  if (dictionary->n_entries == 0) {
    return SIZE_MAX;
  }
  return find_slot(dictionary, hash(text, n), text, n)->entry - (size_t)1; /* an empty slot is 0: SIZE_MAX */
}

tacit_status_t tacit_dictionary_add(tacit_dictionary_t *dictionary, const char *text, size_t n, size_t *index,
                                    bool *is_new, tacit_error_t *err) {
  *is_new = false;
  if (2 * dictionary->n_entries >= dictionary->n_slots) {
    tacit_status_t status = grow(dictionary, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  uint64_t h = hash(text, n);
  tacit_dictionary_slot_t *slot = find_slot(dictionary, h, text, n);
  if (slot->entry == 0) {
    size_t start = dictionary->texts.length;
    tacit_text_append(&dictionary->texts, text, n);
    if (dictionary->texts.failed) {
      return tacit_error_memory(err);
    }
    dictionary->entries[dictionary->n_entries] = (tacit_dictionary_entry_t){.start = start, .length = n};
    *slot = (tacit_dictionary_slot_t){.hash = h, .entry = ++dictionary->n_entries};
    *is_new = true;
  }
  *index = slot->entry - 1;
  return TACIT_OK;
}

void tacit_dictionary_clear(tacit_dictionary_t *dictionary) {
  tacit_text_clear(&dictionary->texts);
  tacit_free(dictionary->entries);
  tacit_free(dictionary->slots);
  *dictionary = (tacit_dictionary_t){0};
}
