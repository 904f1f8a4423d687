/*
 * Everything a ledger says, read in one transaction, checked, and added up anew from the events.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ledger/ledger_internal.h"

void tacit_ledger_state_clear(tacit_ledger_state_t *state) {
  for (size_t i = 0; i < state->n_spends; i++) {
    tacit_spend_t *spend = &state->spends[i];
    void *owned[] = {spend->time,     spend->who,      spend->host,    spend->purpose,
                     spend->artefact, spend->reserved, spend->settled, spend->settled_time};
    for (size_t k = 0; k < sizeof owned / sizeof owned[0]; k++) {
      tacit_free(owned[k]);
    }
  }
  tacit_free(state->spends);
  tacit_free(state->data_id);
  tacit_free(state->created);
  tacit_budget_free(state->budget);
  *state = (tacit_ledger_state_t){0};
}

const tacit_event_t *tacit_spend_events(const tacit_spend_t *spend, size_t *n) {
  *n = spend->is_settled ? spend->n_settled : spend->n_reserved;
  return spend->is_settled ? spend->settled : spend->reserved;
}

/* ---- the ledger's own row ---- */

typedef struct tacit_header {
  char *data_id, *relation, *epsilon, *delta, *created;
  uint64_t n_entries;
  char head[TACIT_LEDGER_HASH_SIZE];
} tacit_header_t;

static void header_clear(tacit_header_t *header) {
  char *texts[] = {header->data_id, header->relation, header->epsilon, header->delta, header->created};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    tacit_free(texts[i]);
  }
}

/* Nothing but our tables, as we make them: no trigger, no view, no column that computes. */
static tacit_status_t check_tables(tacit_ledger_t *ledger, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = true;
  size_t n = 0;
  tacit_status_t status =
      tacit_database_prepare(ledger, "SELECT name, sql FROM sqlite_master ORDER BY name", &statement, err);
  while (status == TACIT_OK && has_row) {
    status = tacit_database_step(ledger, statement, &has_row, err);
    if (status != TACIT_OK || !has_row) {
      break;
    }
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    const char *sql = (const char *)sqlite3_column_text(statement, 1);
    if (name == NULL || sql == NULL || n == TACIT_LEDGER_N_TABLES || strcmp(name, tacit_ledger_tables[n].name) != 0 ||
        strcmp(sql, tacit_ledger_tables[n].sql) != 0) {
      status = tacit_ledger_broken(ledger, err, "it holds '%.60s', which tacit did not make", name != NULL ? name : "");
    }
    n++;
  }
  sqlite3_finalize(statement);
  if (status == TACIT_OK && n != TACIT_LEDGER_N_TABLES) {
    status = tacit_ledger_broken(ledger, err, "it has %zu of %d tables", n, TACIT_LEDGER_N_TABLES);
  }
  return status;
}

static tacit_status_t read_header(tacit_ledger_t *ledger, tacit_header_t *header, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  uint64_t id;
  char **const texts[] = {&header->data_id, &header->relation, &header->epsilon, &header->delta, &header->created};
  tacit_status_t status = tacit_database_prepare(
      ledger, "SELECT id, data_id, relation, epsilon, delta, created, n_entries, head FROM ledger", &statement, err);
  if (status == TACIT_OK) {
    status = tacit_database_step(ledger, statement, &has_row, err);
  }
  if (status == TACIT_OK && !has_row) {
    status = tacit_ledger_broken(ledger, err, "its budget is missing");
  }
  if (status == TACIT_OK) {
    status = tacit_column_count(ledger, statement, 0, 1, 1, &id, err);
  }
  for (int i = 0; i < 5 && status == TACIT_OK; i++) {
    status = tacit_column_text(ledger, statement, 1 + i, texts[i], err);
  }
  if (status == TACIT_OK) {
    status = tacit_column_count(ledger, statement, 6, 0, INT64_MAX, &header->n_entries, err);
  }
  if (status == TACIT_OK) {
    status = tacit_column_hash(ledger, statement, 7, header->head, err);
  }
  if (status == TACIT_OK) {
    status = tacit_database_step(ledger, statement, &has_row, err);
  }
  if (status == TACIT_OK && has_row) {
    status = tacit_ledger_broken(ledger, err, "it has two budgets");
  }
  sqlite3_finalize(statement);
  return status;
}

/* A number that is written the one way in which tacit writes it. */
static bool parse_number(const char *text, double *value) {
  char again[TACIT_NUMBER_SIZE];
  return tacit_number_parse(text, strlen(text), value) &&
         strcmp(tacit_number_exact(*value, again), text) == 0;
}

static tacit_status_t make_budget(tacit_ledger_t *ledger, const tacit_header_t *header, tacit_budget_t **budget,
                                  tacit_error_t *err) {
  double epsilon, delta;
  bool is_add_remove = strcmp(header->relation, tacit_relation_string(TACIT_RELATION_ADD_REMOVE)) == 0;
  bool is_known = is_add_remove || strcmp(header->relation, tacit_relation_string(TACIT_RELATION_SUBSTITUTE)) == 0;
  tacit_error_t reason = {.message = "a number or the relation does not parse"};
  tacit_status_t status = TACIT_ERR_DATA;
  if (is_known && parse_number(header->epsilon, &epsilon) && parse_number(header->delta, &delta)) {
    status = tacit_budget_new(budget, epsilon, delta,
                              is_add_remove ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE, &reason);
  }
  if (status == TACIT_ERR_MEMORY) {
    return tacit_error_memory(err);
  }
  if (status != TACIT_OK || header->data_id[0] == '\0' || !tacit_time_is_valid(header->created)) {
    return tacit_ledger_broken(ledger, err, "its budget cannot be read: %.250s",
                               status != TACIT_OK ? reason.message : "the data set's name or the time is missing");
  }
  return TACIT_OK;
}

static tacit_status_t begin_state(tacit_ledger_t *ledger, tacit_header_t *header, tacit_ledger_state_t *state,
                                  tacit_error_t *err) {
  tacit_status_t status = check_tables(ledger, err);
  if (status == TACIT_OK) {
    status = read_header(ledger, header, err);
  }
  if (status == TACIT_OK) {
    status = make_budget(ledger, header, &state->budget, err);
  }
  if (status == TACIT_OK) {
    status = tacit_genesis_hash(header->data_id, header->relation, header->epsilon, header->delta, header->created,
                                state->head, err);
  }
  if (status == TACIT_OK) {
    state->data_id = header->data_id;
    state->created = header->created;
    header->data_id = header->created = NULL;
  }
  return status;
}

/* ---- entries into spends ---- */

static bool is_equal(double a, double b) {
  return a >= b && a <= b;
}

/* Whatever Gaussian releases are counted with bits, and in which groups. */
static bool is_same_event(const tacit_event_t *a, const tacit_event_t *b) {
  return a->kind == b->kind && a->sampling == b->sampling && is_equal(a->noise_multiplier, b->noise_multiplier) &&
         is_equal(a->sensitivity, b->sensitivity) && is_equal(a->sigma, b->sigma) && is_equal(a->kappa, b->kappa) &&
         is_equal(a->cap, b->cap) && strcmp(a->label, b->label) == 0;
}

static uint64_t total_count(const tacit_event_t *events, size_t n_events, const tacit_event_t *like) {
  uint64_t total = 0;
  for (size_t i = 0; i < n_events; i++) {
    if (is_same_event(&events[i], like) && __builtin_add_overflow(total, events[i].count, &total)) {
      return UINT64_MAX;
    }
  }
  return total;
}

/* rho of the Gaussian releases that are counted with bits. */
static double rho_with_bits(const tacit_event_t *events, size_t n_events) {
  double rho = 0;
  for (size_t i = 0; i < n_events; i++) {
    rho += events[i].rho > 0 ? (double)events[i].count * events[i].rho : 0;
  }
  return rho;
}

bool tacit_events_are_within(const tacit_event_t *events, size_t n_events, const tacit_event_t *reserved,
                             size_t n_reserved) {
  double rho = rho_with_bits(events, n_events);
  for (size_t i = 0; i < n_events; i++) {
    const tacit_event_t *event = &events[i];
    uint64_t wanted = total_count(events, n_events, event), room = total_count(reserved, n_reserved, event);
    if (wanted == UINT64_MAX || (wanted > room && event->kind != TACIT_EVENT_GAUSSIAN)) {
      return false;
    }
    if (wanted > room && total_count(events, i, event) == 0) { /* once for all alike */
      rho += 0.5 * (double)(wanted - room) / event->noise_multiplier / event->noise_multiplier;
    }
  }
  return rho <= rho_with_bits(reserved, n_reserved) * (1 + 1e-12);
}

/* Both take the entry's texts and events where they succeed. */
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
  spend->settled_time = entry->time;
  spend->settled = entry->events;
  spend->n_settled = entry->n_events;
  memcpy(spend->settled_hash, entry->hash, sizeof spend->settled_hash);
  entry->time = NULL;
  entry->events = NULL;
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
  if (status == TACIT_OK) {
    memcpy(state->head, hash, sizeof hash);
    state->n_entries++;
    status = (entry->is_settlement ? settle_spend : add_spend)(ledger, state, entry, err);
  }
  return status;
}

/* Events of no entry would be spends that no total counts. */
static tacit_status_t check_n_events(tacit_ledger_t *ledger, const tacit_ledger_state_t *state, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row;
  uint64_t n = 0, expected = 0;
  for (size_t i = 0; i < state->n_spends; i++) {
    expected += state->spends[i].n_reserved + state->spends[i].n_settled;
  }
  tacit_status_t status = tacit_database_prepare(ledger, "SELECT count(*) FROM events", &statement, err);
  if (status == TACIT_OK) {
    status = tacit_database_step(ledger, statement, &has_row, err);
  }
  if (status == TACIT_OK) {
    status = tacit_column_count(ledger, statement, 0, 0, INT64_MAX, &n, err);
  }
  sqlite3_finalize(statement);
  if (status == TACIT_OK && n != expected) {
    status = tacit_ledger_broken(ledger, err, "it holds %llu events, its entries have %llu", (unsigned long long)n,
                                 (unsigned long long)expected);
  }
  return status;
}

static tacit_status_t read_entries(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = true;
  tacit_status_t status = tacit_database_prepare(ledger, tacit_entry_query, &statement, err);
  while (status == TACIT_OK && has_row) {
    tacit_entry_t entry = {0};
    status = tacit_database_step(ledger, statement, &has_row, err);
    if (status == TACIT_OK && has_row) {
      status = tacit_entry_read(ledger, statement, &entry, err);
    }
    if (status == TACIT_OK && has_row) {
      status = take_entry(ledger, state, &entry, err);
    }
    tacit_entry_clear(&entry);
  }
  sqlite3_finalize(statement);
  return status == TACIT_OK ? check_n_events(ledger, state, err) : status;
}

/* The version tells older programs what they cannot add up: it may not be set back. */
static tacit_status_t check_kinds(tacit_ledger_t *ledger, const tacit_ledger_state_t *state, tacit_error_t *err) {
  char *version = NULL;
  tacit_status_t status = tacit_database_text(ledger, "PRAGMA user_version", &version, err);
  for (size_t i = 0; status == TACIT_OK && i < state->n_spends; i++) {
    const tacit_spend_t *spend = &state->spends[i];
    if (strcmp(version, TACIT_LEDGER_VERSION) == 0 && !tacit_events_are_plain(spend->reserved, spend->n_reserved)) {
      status = tacit_ledger_broken(ledger, err, "spend %zu is none that version %s can hold", i + 1, version);
    }
  }
  tacit_free(version);
  return status;
}

static tacit_status_t charge_all(tacit_budget_t *budget, const tacit_event_t *events, size_t n, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = tacit_budget_charge(budget, &events[i], err);
  }
  return status;
}

tacit_status_t tacit_state_read(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_error_t *err) {
  tacit_header_t header = {0};
  *state = (tacit_ledger_state_t){0};
  tacit_status_t status = begin_state(ledger, &header, state, err);
  if (status == TACIT_OK) {
    status = read_entries(ledger, state, err);
  }
  if (status == TACIT_OK && (state->n_entries != header.n_entries || strcmp(state->head, header.head) != 0)) {
    status = state->n_entries != header.n_entries
                 ? tacit_ledger_broken(ledger, err, "it has %llu entries where %llu were written",
                                       (unsigned long long)state->n_entries, (unsigned long long)header.n_entries)
                 : tacit_ledger_broken(ledger, err, "its budget or its data set's name was changed");
  }
  if (status == TACIT_OK) {
    status = check_kinds(ledger, state, err);
  }
  header_clear(&header);
  for (size_t i = 0; i < state->n_spends && status == TACIT_OK; i++) {
    size_t n;
    const tacit_event_t *events = tacit_spend_events(&state->spends[i], &n);
    status = charge_all(state->budget, events, n, err);
    if (status == TACIT_ERR_BUDGET) {
      status = tacit_ledger_broken(ledger, err, "its spends exceed its budget from spend %zu on", i + 1);
    }
  }
  return status;
}

/* ---- what is left ---- */

static double rho_left(const tacit_budget_t *budget) {
  double left = (tacit_budget_rho(budget) - tacit_budget_rho_spent(budget)) * (1 - 1e-12);
  return left > 0 ? left : 0;
}

double tacit_ledger_epsilon_left(const tacit_ledger_state_t *state) {
  double left = rho_left(state->budget), log_delta = log(tacit_budget_delta(state->budget)) * (1 + 8 * DBL_EPSILON);
  if (!(left > 0)) {
    return 0;
  }
  double epsilon = tacit_gaussian_epsilon(left, log_delta), step = 1e-12;
  while (tacit_gaussian_rho(epsilon, log_delta) > left && step < 1) {
    epsilon *= 1 - step;
    step *= 2;
  }
  return step < 1 ? epsilon : 0;
}

/* Five digits, rounded down: what the message offers must fit. */
static double few_digits_below(double x) {
  if (!(x > 0)) {
    return 0;
  }
  double scale = pow(10, 4 - floor(log10(x)));
  return floor(x * scale * (1 - 1e-12)) / scale;
}

/* ", or for N releases" of a kind; empty where that is not the question. */
static void offer_releases(char *text, size_t size, const tacit_budget_t *budget, const tacit_event_t *events,
                           size_t n_events) {
  size_t n_fixed;
  const tacit_event_t *fixed = tacit_budget_events(budget, &n_fixed);
  char number[TACIT_NUMBER_SIZE];
  tacit_event_t one = events[0];
  uint64_t room;
  one.count = 1;
  text[0] = '\0';
  if (n_events == 1 && tacit_events_are_plain(&one, 1) && tacit_events_are_plain(fixed, n_fixed) &&
      tacit_account_max_repetitions(fixed, n_fixed, &one, 1, NULL, tacit_budget_epsilon(budget),
                                    tacit_budget_delta(budget), &room, NULL) == TACIT_OK) {
    snprintf(text, size, ", or for %llu release%s with noise multiplier %s (not %llu)", (unsigned long long)room,
             room == 1 ? "" : "s", tacit_number_format(one.noise_multiplier, number),
             (unsigned long long)events[0].count);
  }
}

double tacit_ledger_price(const tacit_event_t *events, size_t n_events, double delta) {
  tacit_budget_t *budget;
  double epsilon = INFINITY;
  if (tacit_budget_new(&budget, 1e12, delta, TACIT_RELATION_SUBSTITUTE, NULL) == TACIT_OK) {
    epsilon = charge_all(budget, events, n_events, NULL) == TACIT_OK ? tacit_budget_spent(budget).epsilon : INFINITY;
  }
  tacit_budget_free(budget);
  return epsilon;
}

static tacit_status_t refuse(const tacit_ledger_t *ledger, const tacit_budget_t *budget, double epsilon_left,
                             const tacit_event_t *events, size_t n_events, tacit_error_t *err) {
  char numbers[4][TACIT_NUMBER_SIZE], more[160];
  double epsilon = tacit_budget_epsilon(budget), delta = tacit_budget_delta(budget);
  if (tacit_events_are_plain(events, n_events)) {
    offer_releases(more, sizeof more, budget, events, n_events);
  } else {
    snprintf(more, sizeof more, ", and here this one is as dear as a Gaussian run with epsilon %s",
             tacit_number_format(tacit_ledger_price(events, n_events, delta), numbers[3]));
  }
  return tacit_error_set(err, TACIT_ERR_BUDGET, "ledger",
                         "the ledger %.200s (epsilon %s, delta %s for all runs together) has no room for this spend; it "
                         "has room for one with epsilon %s at that delta%s",
                         ledger->path, tacit_number_format(epsilon, numbers[0]),
                         tacit_number_format(delta, numbers[1]),
                         tacit_number_format(few_digits_below(epsilon_left), numbers[2]), more);
}

/* A refusal leaves the state's budget partly charged: it is of no further use. A single event is charged whole or not. */
tacit_status_t tacit_state_charge(const tacit_ledger_t *ledger, tacit_ledger_state_t *state,
                                  const tacit_event_t *events, size_t n_events, tacit_error_t *err) {
  double epsilon_left = tacit_ledger_epsilon_left(state);
  tacit_status_t status = charge_all(state->budget, events, n_events, err);
  return status == TACIT_ERR_BUDGET ? refuse(ledger, state->budget, epsilon_left, events, n_events, err) : status;
}
