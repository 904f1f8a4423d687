/*
 * One entry of the ledger: who, when, what, and the hash that chains it to those before.
 */
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "account/account.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "ledger/ledger_internal.h"

const char *const tacit_entry_kinds[3] = {"reserve", "settle", "unit"};

void tacit_entry_clear(tacit_entry_t *entry) {
  char *texts[] = {entry->time, entry->who, entry->host, entry->purpose, entry->artefact};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    tacit_free(texts[i]);
  }
  tacit_free(entry->events);
  *entry = (tacit_entry_t){0};
}

void tacit_time_now(char out[TACIT_TIME_SIZE]) {
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc) == NULL || strftime(out, TACIT_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
    snprintf(out, TACIT_TIME_SIZE, "0000-00-00T00:00:00Z");
  }
}

bool tacit_time_is_valid(const char *text) {
  static const char pattern[] = "0000-00-00T00:00:00Z";
  if (strlen(text) != sizeof pattern - 1) {
    return false;
  }
  for (size_t i = 0; pattern[i] != '\0'; i++) {
    if (pattern[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != pattern[i]) {
      return false;
    }
  }
  return true;
}

/* The account that the process runs under, which a user cannot choose as they can an environment variable. */
static char *user_name(void) {
  char buffer[4096], number[32];
  struct passwd entry, *found = NULL;
  if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != NULL) {
    return tacit_strdup(entry.pw_name);
  }
  snprintf(number, sizeof number, "uid %ju", (uintmax_t)getuid());
  return tacit_strdup(number);
}

static char *host_name(void) {
  char name[256];
  if (gethostname(name, sizeof name) != 0) {
    name[0] = '\0';
  }
  name[sizeof name - 1] = '\0';
  return tacit_strdup(name);
}

static tacit_status_t check_text(const char *text, const char *what, tacit_error_t *err) {
  size_t n = strlen(text);
  return n <= TACIT_LEDGER_MAX_TEXT ? TACIT_OK
                                    : tacit_error_set(err, TACIT_ERR_ARGUMENT, what,
                                                      "the %s has %zu bytes; a ledger holds at most %d", what,
                                                      n, TACIT_LEDGER_MAX_TEXT);
}

tacit_status_t tacit_ledger_check_event(const tacit_event_t *event, tacit_error_t *err) {
  static const uint64_t max_count = UINT64_C(1000000000000000000);
  double sigma = event->noise_multiplier;
  bool is_bit = event->kind >= TACIT_EVENT_PENALTY_BIT && event->kind <= TACIT_EVENT_ARCSINE_BIT;
  if (event->kind == TACIT_EVENT_GAUSSIAN && (!(sigma > 0) || isinf(sigma))) {
    char number[TACIT_NUMBER_SIZE];
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sigma",
                           "the noise multiplier of a spend must be a finite number above 0, not %s",
                           tacit_number_format(sigma, number));
  }
  if (event->count < 1 || event->count > max_count) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "count",
                           "the count of an event must be from 1 to 1e18, not %llu",
                           (unsigned long long)event->count);
  }
  if (memchr(event->label, '\0', sizeof event->label) == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "label",
                           "the label of an event must be shorter than %zu bytes", sizeof event->label);
  }
  tacit_status_t status = tacit_filter_check(event, err);
  if (status == TACIT_OK &&
      (isinf(event->noise_multiplier) || (is_bit && (isinf(event->sigma) || isinf(event->rho))))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "event", "the noise of a spend must be finite");
  }
  return status;
}

bool tacit_events_are_plain(const tacit_event_t *events, size_t n_events) {
  for (size_t i = 0; i < n_events; i++) {
    if (events[i].kind != TACIT_EVENT_GAUSSIAN) {
      return false;
    }
  }
  return true;
}

tacit_status_t tacit_unit_check(const char *unit, uint64_t max_rows, tacit_error_t *err) {
  size_t n = unit != NULL ? strlen(unit) : 0;
  if (n == 0 || n > TACIT_LEDGER_MAX_TEXT) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "unit",
        "a ledger needs the unit that is protected: row, or the schema's column of persons");
  }
  if (max_rows < 1 || max_rows > INT64_MAX || (max_rows > 1 && strcmp(unit, "row") == 0)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "max_rows",
        "max_rows, the most rows of a unit, must be a whole number from 1, and 1 of unit row");
  }
  return TACIT_OK;
}

tacit_status_t tacit_entry_fill_unit(tacit_entry_t *entry, const char *unit, uint64_t max_rows,
                                     tacit_error_t *err) {
  char rows[32];
  *entry = (tacit_entry_t){0};
  tacit_status_t status = tacit_unit_check(unit, max_rows, err);
  if (status != TACIT_OK) {
    return status;
  }
  snprintf(rows, sizeof rows, "%llu", (unsigned long long)max_rows);
  return tacit_entry_fill(entry, TACIT_ENTRY_UNIT, unit, rows, NULL, 0, err);
}

bool tacit_entry_unit(const tacit_entry_t *entry, uint64_t *max_rows) {
  uint64_t rows = 0;
  const char *s = entry->artefact;
  for (; *s >= '0' && *s <= '9' && rows < INT64_MAX / 10; s++) {
    rows = 10 * rows + (uint64_t)(*s - '0');
  }
  *max_rows = rows;
  return *s == '\0' && entry->artefact[0] != '0' && entry->n_events == 0 && entry->spend == 0 &&
         tacit_unit_check(entry->purpose, rows, NULL) == TACIT_OK;
}

tacit_status_t tacit_entry_fill(tacit_entry_t *entry, tacit_entry_kind_t kind, const char *purpose,
                                const char *artefact, const tacit_event_t *events, size_t n_events,
                                tacit_error_t *err) {
  *entry = (tacit_entry_t){.kind = kind};
  if (n_events > TACIT_LEDGER_MAX_EVENTS) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_events", "a spend has at most %d events, not %zu",
                           TACIT_LEDGER_MAX_EVENTS, n_events);
  }
  tacit_status_t status = check_text(purpose, "purpose", err);
  TACIT_THEN(status, check_text(artefact, "artefact", err));
  for (size_t i = 0; i < n_events && status == TACIT_OK; i++) {
    status = tacit_ledger_check_event(&events[i], err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  char now[TACIT_TIME_SIZE];
  tacit_time_now(now);
  memcpy(now + strlen("2026-11-21T"), "00:00:00",
         8); /* the time between two runs tells how long the first took, and that what is private */
  entry->time = tacit_strdup(now);
  entry->who = user_name();
  entry->host = host_name();
  entry->purpose = tacit_strdup(purpose);
  entry->artefact = tacit_strdup(artefact);
  entry->events = tacit_alloc(n_events, sizeof *entry->events);
  if (entry->time == NULL || entry->who == NULL || entry->host == NULL || entry->purpose == NULL ||
      entry->artefact == NULL || entry->events == NULL) {
    tacit_entry_clear(entry);
    return tacit_error_memory(err);
  }
  if (n_events > 0) {
    memcpy(entry->events, events, n_events * sizeof *events);
  }
  entry->n_events = n_events;
  return TACIT_OK;
}

/* ---- hashes ---- */

void tacit_hash_put(tacit_text_t *text, const char *value) {
  char length[32];
  size_t n = strlen(value);
  tacit_text_append(text, length, (size_t)snprintf(length, sizeof length, "%zu:", n));
  tacit_text_append(text, value, n);
  tacit_text_append(text, "\n", 1);
}

void tacit_hash_put_count(tacit_text_t *text, uint64_t value) {
  char number[32];
  snprintf(number, sizeof number, "%llu", (unsigned long long)value);
  tacit_hash_put(text, number);
}

tacit_status_t tacit_hash_finish(tacit_text_t *text, char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err) {
  unsigned char digest[crypto_hash_sha256_BYTES];
  tacit_status_t status = text->failed ? tacit_error_memory(err) : TACIT_OK;
  if (status == TACIT_OK) {
    crypto_hash_sha256(digest, (const unsigned char *)text->data, text->length);
    sodium_bin2hex(hash, TACIT_LEDGER_HASH_SIZE, digest, sizeof digest);
  }
  tacit_text_clear(text);
  return status;
}

tacit_status_t tacit_genesis_hash(const char *data_id, const char *relation, const char *epsilon,
                                  const char *delta, const char *created, char hash[TACIT_LEDGER_HASH_SIZE],
                                  tacit_error_t *err) {
  tacit_text_t text = {0};
  const char *const values[] = {"tacit ledger 1", data_id, relation, epsilon, delta, created};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    tacit_hash_put(&text, values[i]);
  }
  return tacit_hash_finish(&text, hash, err);
}

tacit_status_t tacit_entry_hash(const tacit_entry_t *entry, const char *previous,
                                char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err) {
  tacit_text_t text = {0};
  char spec[TACIT_EVENT_TEXT_SIZE];
  tacit_hash_put(&text, previous);
  tacit_hash_put_count(&text, entry->id);
  tacit_hash_put(&text, tacit_entry_kinds[entry->kind]);
  tacit_hash_put_count(&text, entry->spend);
  const char *const values[] = {entry->time, entry->who, entry->host, entry->purpose, entry->artefact};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    tacit_hash_put(&text, values[i]);
  }
  tacit_hash_put_count(&text, entry->n_events);
  for (size_t i = 0; i < entry->n_events; i++) {
    tacit_hash_put_count(&text, entry->events[i].count);
    tacit_hash_put(&text, tacit_event_format(&entry->events[i], spec));
    tacit_hash_put(&text, entry->events[i].label);
  }
  return tacit_hash_finish(&text, hash, err);
}
