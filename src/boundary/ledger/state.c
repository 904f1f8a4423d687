/*
 * What a ledger says: at a glance, for a spend, or everything, checked and added up anew from the events.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "ledger/ledger_internal.h"

void tacit_ledger_state_clear(tacit_ledger_state_t *state) {
  for (size_t i = 0; state->spends != NULL && i < state->n_spends; i++) {
    tacit_spend_t *spend = &state->spends[i];
    void *owned[] = {spend->time,     spend->who,      spend->host,   spend->purpose,
                     spend->artefact, spend->reserved, spend->settled};
    for (size_t k = 0; k < sizeof owned / sizeof owned[0]; k++) {
      tacit_free(owned[k]);
    }
  }
  tacit_free(state->spends);
  tacit_free(state->data_id);
  tacit_free(state->created);
  tacit_free(state->unit);
  tacit_budget_free(state->budget);
  *state = (tacit_ledger_state_t){0};
}

const tacit_event_t *tacit_spend_events(const tacit_spend_t *spend, size_t *n) {
  *n = spend->is_settled ? spend->n_settled : spend->n_reserved;
  return spend->is_settled ? spend->settled : spend->reserved;
}

/* ---- entries into spends ---- */

/* These take the entry's texts and events where they succeed. */
static tacit_status_t add_spend(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_entry_t *entry,
                                tacit_error_t *err) {
  size_t n = state->n_spends;
  if (entry->spend != n + 1 || entry->n_events == 0) {
    return tacit_ledger_broken(ledger, err, "entry %llu reserves nothing, or out of turn",
                               (unsigned long long)entry->id);
  }
  if ((n & (n - 1)) == 0) { /* full at powers of two */
    tacit_spend_t *spends = tacit_realloc(state->spends, n > 0 ? 2 * n : 1, sizeof *spends);
    if (spends == NULL) {
      return tacit_error_memory(err);
    }
    state->spends = spends;
  }
  tacit_spend_t *spend = &state->spends[state->n_spends++];
  *spend = (tacit_spend_t){.id = entry->spend,
                           .time = entry->time,
                           .who = entry->who,
                           .host = entry->host,
                           .purpose = entry->purpose,
                           .artefact = entry->artefact,
                           .reserved = entry->events,
                           .n_reserved = entry->n_events};
  memcpy(spend->hash, entry->hash, sizeof spend->hash);
  *entry = (tacit_entry_t){0};
  return TACIT_OK;
}

static tacit_status_t settle_spend(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_entry_t *entry,
                                   tacit_error_t *err) {
  tacit_spend_t *spend = entry->spend <= state->n_spends ? &state->spends[entry->spend - 1] : NULL;
  if (spend == NULL || spend->is_settled ||
      !tacit_events_are_within(entry->events, entry->n_events, spend->reserved, spend->n_reserved)) {
    return tacit_ledger_broken(ledger, err, "entry %llu settles what was not reserved, or twice",
                               (unsigned long long)entry->id);
  }
  spend->is_settled = true;
  spend->settled = entry->events;
  spend->n_settled = entry->n_events;
  memcpy(spend->settled_hash, entry->hash, sizeof spend->settled_hash);
  entry->events = NULL;
  tacit_entry_clear(entry);
  return TACIT_OK;
}

static tacit_status_t name_unit(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_entry_t *entry,
                                tacit_error_t *err) {
  if (state->unit != NULL || !tacit_entry_unit(entry, &state->max_rows)) {
    return tacit_ledger_broken(ledger, err, "entry %llu names no unit, or a second one",
                               (unsigned long long)entry->id);
  }
  state->unit = entry->purpose;
  entry->purpose = NULL;
  tacit_entry_clear(entry);
  return TACIT_OK;
}

static tacit_status_t take_entry(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_entry_t *entry,
                                 tacit_error_t *err) {
  char hash[TACIT_LEDGER_HASH_SIZE];
  tacit_status_t status = tacit_entry_hash(entry, state->head, hash, err);
  if (status == TACIT_OK && (entry->id != state->n_entries + 1 || strcmp(hash, entry->hash) != 0)) {
    return tacit_ledger_broken(ledger, err, "entry %llu was changed, or one before it removed",
                               (unsigned long long)entry->id);
  }
  if (status != TACIT_OK) {
    return status;
  }
  memcpy(state->head, hash, sizeof hash);
  state->n_entries++;
  switch (entry->kind) {
  case TACIT_ENTRY_RESERVE:
    return add_spend(ledger, state, entry, err);
  case TACIT_ENTRY_SETTLE:
    return settle_spend(ledger, state, entry, err);
  default:
    return name_unit(ledger, state, entry, err);
  }
}

static tacit_status_t read_entries(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_error_t *err) {
  tacit_entries_t entries;
  tacit_entry_t entry = {0};
  tacit_status_t status = tacit_entries_begin(&entries, ledger, 0, err);
  TACIT_THEN(status, tacit_entries_next(&entries, &entry, err));
  while (status == TACIT_OK && entry.id > 0) {
    status = take_entry(ledger, state, &entry, err);
    tacit_entry_clear(&entry);
    TACIT_THEN(status, tacit_entries_next(&entries, &entry, err));
  }
  tacit_entry_clear(&entry);
  tacit_entries_end(&entries);
  return status;
}

/* ---- what goes together ---- */

static tacit_status_t check_chain(tacit_ledger_t *ledger, const tacit_header_t *header,
                                  const tacit_ledger_state_t *state, tacit_error_t *err) {
  if (state->n_entries != header->n_entries) {
    return tacit_ledger_broken(ledger, err, "it has %llu entries where %llu were written",
                               (unsigned long long)state->n_entries, (unsigned long long)header->n_entries);
  }
  if (strcmp(state->head, header->head) != 0) {
    return tacit_ledger_broken(ledger, err, "its budget or its data set's name was changed");
  }
  if (ledger->version == TACIT_LEDGER_VERSION ? state->unit == NULL && state->n_spends > 0
                                              : state->unit != NULL) {
    return tacit_ledger_broken(ledger, err, "version %d does not go with its entries", ledger->version);
  }
  return TACIT_OK;
}

/* The version tells older programs what they cannot add up: it may not be set back. */
static tacit_status_t check_kinds(tacit_ledger_t *ledger, const tacit_ledger_state_t *state,
                                  tacit_error_t *err) {
  for (size_t i = 0; ledger->version == 1 && i < state->n_spends; i++) {
    const tacit_spend_t *spend = &state->spends[i];
    if (!tacit_events_are_plain(spend->reserved, spend->n_reserved)) {
      return tacit_ledger_broken(ledger, err, "spend %zu is none that version 1 can hold", i + 1);
    }
  }
  return TACIT_OK;
}

static tacit_status_t add_up(const tacit_ledger_state_t *state, tacit_totals_t *totals, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  totals->n_spends = state->n_spends;
  totals->max_rows = state->max_rows;
  totals->unit = state->unit != NULL ? tacit_strdup(state->unit) : NULL;
  if (state->unit != NULL && totals->unit == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < state->n_spends && status == TACIT_OK; i++) {
    size_t n;
    const tacit_event_t *events = tacit_spend_events(&state->spends[i], &n);
    status = tacit_totals_add(totals, events, n, err);
  }
  return status == TACIT_OK ? tacit_totals_merge(totals, err) : status;
}

static tacit_status_t charge(tacit_ledger_t *ledger, const tacit_totals_t *totals, tacit_budget_t *budget,
                             tacit_error_t *err) {
  tacit_status_t status = tacit_totals_charge(totals, budget, err);
  return status == TACIT_ERR_BUDGET ? tacit_ledger_broken(ledger, err, "its spends exceed its budget")
                                    : status;
}

/* The header's texts go to the state. */
static tacit_status_t begin_state(tacit_ledger_t *ledger, tacit_header_t *header, tacit_ledger_state_t *state,
                                  tacit_error_t *err) {
  *state = (tacit_ledger_state_t){.version = ledger->version};
  tacit_status_t status = tacit_header_read(ledger, header, err);
  TACIT_THEN(status, tacit_header_budget(ledger, header, &state->budget, err));
  state->data_id = status == TACIT_OK ? tacit_strdup(header->data_id) : NULL;
  state->created = status == TACIT_OK ? tacit_strdup(header->created) : NULL;
  if (status == TACIT_OK && (state->data_id == NULL || state->created == NULL)) {
    status = tacit_error_memory(err);
  }
  return status;
}

tacit_status_t tacit_state_read_entries(tacit_ledger_t *ledger, tacit_header_t *header,
                                        tacit_totals_t *totals, tacit_ledger_state_t *state,
                                        tacit_error_t *err) {
  *totals = (tacit_totals_t){0};
  tacit_status_t status = begin_state(ledger, header, state, err);
  if (status == TACIT_OK) {
    memcpy(state->head, header->genesis, sizeof state->head);
    status = read_entries(ledger, state, err);
  }
  TACIT_THEN(status, check_chain(ledger, header, state, err));
  TACIT_THEN(status, check_kinds(ledger, state, err));
  TACIT_THEN(status, add_up(state, totals, err));
  return status == TACIT_OK ? charge(ledger, totals, state->budget, err) : status;
}

tacit_status_t tacit_state_read(tacit_ledger_t *ledger, tacit_header_t *header, tacit_totals_t *totals,
                                tacit_ledger_state_t *state, tacit_error_t *err) {
  tacit_status_t status = tacit_state_read_entries(ledger, header, totals, state, err);
  if (status == TACIT_OK && ledger->version == TACIT_LEDGER_VERSION) {
    tacit_totals_t stored;
    bool is_current;
    status = tacit_totals_read(ledger, header, &stored, &is_current, err);
    if (status == TACIT_OK && !tacit_totals_are_equal(totals, &stored)) {
      status = tacit_ledger_broken(ledger, err, "its totals are not those of its entries");
    }
    tacit_totals_clear(&stored);
  }
  return status;
}

/* The last entry must be where the head is, and say what its hash says. */
static tacit_status_t check_last(tacit_ledger_t *ledger, const tacit_header_t *header, tacit_error_t *err) {
  tacit_entry_t last = {0};
  tacit_status_t status = TACIT_OK;
  if (header->n_entries > 0) {
    status = tacit_entry_find(ledger, header->n_entries, header->genesis, &last, err);
  }
  if (status == TACIT_OK && strcmp(header->n_entries > 0 ? last.hash : header->genesis, header->head) != 0) {
    status = tacit_ledger_broken(ledger, err, "its last entry is not the one that was written last");
  }
  tacit_entry_clear(&last);
  return status;
}

tacit_status_t tacit_state_glance(tacit_ledger_t *ledger, tacit_header_t *header, tacit_totals_t *totals,
                                  tacit_ledger_state_t *state, tacit_error_t *err) {
  bool is_current = false;
  *totals = (tacit_totals_t){0};
  tacit_status_t status = begin_state(ledger, header, state, err);
  if (status == TACIT_OK && ledger->version == TACIT_LEDGER_VERSION) {
    status = tacit_totals_read(ledger, header, totals, &is_current, err);
    if (status == TACIT_OK && is_current) {
      status = check_last(ledger, header, err);
    }
    is_current = is_current && status == TACIT_OK;
  }
  if (!is_current) { /* another program wrote to it, or something does not fit: read all, which says what */
    tacit_header_clear(header);
    tacit_totals_clear(totals);
    tacit_ledger_state_clear(state);
    return status == TACIT_ERR_MEMORY || status == TACIT_ERR_IO
               ? status
               : tacit_state_read(ledger, header, totals, state, err);
  }
  status = charge(ledger, totals, state->budget, err);
  memcpy(state->head, header->head, sizeof state->head);
  state->n_entries = header->n_entries;
  state->n_spends = totals->n_spends;
  state->max_rows = totals->max_rows;
  state->unit = totals->unit != NULL ? tacit_strdup(totals->unit) : NULL;
  return status == TACIT_OK && totals->unit != NULL && state->unit == NULL ? tacit_error_memory(err) : status;
}
