/*
 * Totals of all spends, kept in the file so that a spend need not read those before it. They follow from the
 * entries, and nobody has to believe them: a full check adds the entries up anew and compares.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "account/filter.h"
#include "base/error.h"
#include "base/memory.h"
#include "ledger/ledger_internal.h"

static const tacit_u128_t too_much = (tacit_u128_t)1 << 127;
static const uint64_t max_count = UINT64_C(1000000000000000000);

void tacit_totals_clear(tacit_totals_t *totals) {
  tacit_free(totals->unit);
  tacit_free(totals->decisions);
  *totals = (tacit_totals_t){0};
}

/* ---- sums ---- */

/* Within 8 units of 2^-53, the term is raised by 64 of them, then to a whole multiple of 2^-80. */
static tacit_u128_t rho_of(const tacit_event_t *events, size_t n_events) {
  tacit_u128_t sum = 0;
  for (size_t i = 0; i < n_events; i++) {
    double scaled = ceil(tacit_filter_rho(&events[i]) * (1 + 0x1p-47) * 0x1p80);
    sum = scaled < 0x1p126 && sum < too_much ? sum + (tacit_u128_t)scaled : too_much;
  }
  return sum;
}

/* x > 0 to 10 binary digits: 512 numbers from each power of two to the next, 2^-9 of their size apart at
 * most. */
static double few_digits(double x, bool is_up) {
  int exponent;
  double digits = 0x1p10 * frexp(x, &exponent);
  return ldexp(is_up ? ceil(digits) : floor(digits), exponent - 10);
}

/*
 * So that a ledger of many runs, each with a decision of its own, holds a few hundred kinds. What a decision
 * costs rises with its range, that of lattice noise falls with its multiplier, whatever the reserve
 * (filter.c); by at most .4 %. Multipliers that may not fall stay.
 */
tacit_event_t tacit_totals_kind(const tacit_event_t *event) {
  tacit_event_t kind = *event;
  tacit_error_t ignored;
  if (event->kind == TACIT_EVENT_DISCRETE_GAUSSIAN) {
    kind.noise_multiplier = few_digits(event->noise_multiplier, false);
  } else if (tacit_filter_needs_reserve(event)) {
    kind.sensitivity = few_digits(event->sensitivity, true);
  }
  return tacit_filter_check(&kind, &ignored) == TACIT_OK ? kind : *event;
}

/* What the cost of a decision depends on. */
static tacit_event_t decision_of(const tacit_event_t *event) {
  tacit_event_t decision = tacit_totals_kind(event);
  decision.rho = 0;
  decision.together = 0;
  memset(decision.label, 0, sizeof decision.label);
  return decision;
}

static tacit_status_t add_decision(tacit_totals_t *totals, const tacit_event_t *event, tacit_error_t *err) {
  tacit_event_t *decisions = tacit_grow(totals->decisions, totals->n, &totals->capacity, sizeof *decisions);
  if (decisions == NULL) {
    return tacit_error_memory(err);
  }
  totals->decisions = decisions;
  totals->decisions[totals->n++] = decision_of(event);
  return TACIT_OK;
}

tacit_status_t tacit_totals_add(tacit_totals_t *totals, const tacit_event_t *events, size_t n_events,
                                tacit_error_t *err) {
  tacit_u128_t rho = rho_of(events, n_events);
  tacit_status_t status = TACIT_OK;
  totals->rho = totals->rho < too_much && rho < too_much ? totals->rho + rho : too_much;
  for (size_t i = 0; i < n_events && status == TACIT_OK; i++) {
    if (tacit_filter_needs_reserve(&events[i])) {
      status = add_decision(totals, &events[i], err);
    }
  }
  return status;
}

static int compare(const void *left, const void *right) { return tacit_event_compare(left, right); }

tacit_status_t tacit_totals_merge(tacit_totals_t *totals, tacit_error_t *err) {
  size_t n = 0;
  if (totals->n > 0) {
    qsort(totals->decisions, totals->n, sizeof *totals->decisions, compare);
  }
  for (size_t i = 0; i < totals->n; i++) {
    tacit_event_t *last = n > 0 ? &totals->decisions[n - 1] : NULL;
    if (last == NULL || tacit_event_compare(last, &totals->decisions[i]) != 0) {
      totals->decisions[n++] = totals->decisions[i];
    } else if (last->count > max_count - totals->decisions[i].count) {
      return tacit_error_set(err, TACIT_ERR_BUDGET, "count",
                             "a ledger counts at most 1e18 decisions of one kind");
    } else {
      last->count += totals->decisions[i].count;
    }
  }
  totals->n = n;
  return TACIT_OK;
}

bool tacit_totals_are_equal(const tacit_totals_t *a, const tacit_totals_t *b) {
  bool is_unit_equal =
      a->unit == NULL || b->unit == NULL ? a->unit == b->unit : strcmp(a->unit, b->unit) == 0;
  bool is_equal = a->n_spends == b->n_spends && is_unit_equal && a->max_rows == b->max_rows &&
                  a->rho == b->rho && a->n == b->n;
  for (size_t i = 0; is_equal && i < a->n; i++) {
    is_equal = tacit_event_compare(&a->decisions[i], &b->decisions[i]) == 0 &&
               a->decisions[i].count == b->decisions[i].count;
  }
  return is_equal;
}

/* All Gaussian releases as one that costs as much, or a little more. */
tacit_status_t tacit_totals_charge(const tacit_totals_t *totals, tacit_budget_t *budget, tacit_error_t *err) {
  double rho = (double)totals->rho * 0x1p-80 * (1 + 0x1p-50);
  if (totals->rho >= too_much) {
    return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon", "the spends exceed any budget");
  }
  tacit_event_t gaussian = {
      .kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = sqrt(0.5 / rho) * (1 - 0x1p-51), .count = 1};
  tacit_status_t status = totals->rho > 0 ? tacit_budget_charge(budget, &gaussian, err) : TACIT_OK;
  return status == TACIT_OK ? tacit_budget_charge_all(budget, totals->decisions, totals->n, err) : status;
}

/* ---- in the file ---- */

static void put_rho(tacit_u128_t rho, char text[33]) {
  snprintf(text, 33, "%016llx%016llx", (unsigned long long)(rho >> 64), (unsigned long long)rho);
}

static bool parse_rho(const char *text, tacit_u128_t *rho) {
  char again[33];
  *rho = 0;
  for (const char *s = text; *s != '\0'; s++) {
    *rho = *rho << 4 | (unsigned)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
  }
  put_rho(*rho, again);
  return strcmp(again, text) == 0;
}

/* Everything that the totals say, the header they belong to and the state of the file that they were written
 * for. */
static void put_fields(tacit_text_t *text, const tacit_header_t *header, const tacit_totals_t *totals,
                       uint64_t counter) {
  char rho[33];
  put_rho(totals->rho, rho);
  const char *const values[] = {"tacit totals", header->genesis, header->head,
                                totals->unit != NULL ? totals->unit : "", rho};
  const uint64_t counts[] = {header->n_entries, totals->n_spends, totals->max_rows, counter};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    tacit_hash_put(text, values[i]);
  }
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    tacit_hash_put_count(text, counts[i]);
  }
}

/* Into text, for the hash, and into totals where that is not NULL. */
static tacit_status_t read_decisions(tacit_ledger_t *ledger, tacit_text_t *text, tacit_totals_t *totals,
                                     tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = true;
  tacit_status_t status =
      tacit_database_prepare(ledger, "SELECT spec, count FROM decisions ORDER BY spec", &statement, err);
  while (status == TACIT_OK && has_row) {
    char *spec = NULL;
    uint64_t count = 0;
    tacit_event_t event;
    status = tacit_database_step(ledger, statement, &has_row, err);
    if (status != TACIT_OK || !has_row) {
      break;
    }
    status = tacit_column_text(ledger, statement, 0, &spec, err);
    TACIT_THEN(status, tacit_column_count(ledger, statement, 1, 1, max_count, &count, err));
    if (status == TACIT_OK) {
      tacit_hash_put(text, spec);
      tacit_hash_put_count(text, count);
      status = totals == NULL ? TACIT_OK : tacit_event_read(ledger, 0, spec, count, "", &event, err);
    }
    if (status == TACIT_OK && totals != NULL) {
      status = add_decision(totals, &event, err);
    }
    tacit_free(spec);
  }
  sqlite3_finalize(statement);
  return status;
}

static tacit_status_t read_row(tacit_ledger_t *ledger, tacit_totals_t *totals, uint64_t *counter,
                               char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  char *rho = NULL;
  tacit_status_t status = tacit_database_prepare(
      ledger, "SELECT n_spends, unit, max_rows, rho, counter, hash FROM totals WHERE id = 1", &statement,
      err);
  TACIT_THEN(status, tacit_database_step(ledger, statement, &has_row, err));
  if (status == TACIT_OK && !has_row) {
    status = tacit_ledger_broken(ledger, err, "its totals are missing");
  }
  TACIT_THEN(status, tacit_column_count(ledger, statement, 0, 0, INT64_MAX, &totals->n_spends, err));
  TACIT_THEN(status, tacit_column_text(ledger, statement, 1, &totals->unit, err));
  TACIT_THEN(status, tacit_column_count(ledger, statement, 2, 0, INT64_MAX, &totals->max_rows, err));
  TACIT_THEN(status, tacit_column_text(ledger, statement, 3, &rho, err));
  if (status == TACIT_OK && !parse_rho(rho, &totals->rho)) {
    status = tacit_ledger_broken(ledger, err, "its totals were changed");
  }
  TACIT_THEN(status, tacit_column_count(ledger, statement, 4, 0, UINT32_MAX, counter, err));
  TACIT_THEN(status, tacit_column_hash(ledger, statement, 5, hash, err));
  if (totals->unit != NULL && totals->unit[0] == '\0') {
    tacit_free(totals->unit);
    totals->unit = NULL;
  }
  tacit_free(rho);
  sqlite3_finalize(statement);
  return status;
}

tacit_status_t tacit_totals_read(tacit_ledger_t *ledger, const tacit_header_t *header, tacit_totals_t *totals,
                                 bool *is_current, tacit_error_t *err) {
  char stored[TACIT_LEDGER_HASH_SIZE], hash[TACIT_LEDGER_HASH_SIZE];
  uint64_t counter, now = 0;
  tacit_text_t text = {0};
  *totals = (tacit_totals_t){0};
  *is_current = false;
  tacit_status_t status = read_row(ledger, totals, &counter, stored, err);
  if (status == TACIT_OK) {
    put_fields(&text, header, totals, counter);
    status = read_decisions(ledger, &text, totals, err);
  }
  TACIT_THEN(status, tacit_hash_finish(&text, hash, err));
  tacit_text_clear(&text);
  if (status == TACIT_OK && strcmp(hash, stored) != 0) {
    status = tacit_ledger_broken(ledger, err, "its totals were changed");
  }
  TACIT_THEN(status, tacit_database_counter(ledger, &now, err));
  *is_current = status == TACIT_OK && now == counter;
  return status == TACIT_OK ? tacit_totals_merge(totals, err) : status;
}

/* Of the state of the file that the commit will make. */
static tacit_status_t write_row(tacit_ledger_t *ledger, const tacit_header_t *header,
                                const tacit_totals_t *totals, tacit_error_t *err) {
  char rho[33], hash[TACIT_LEDGER_HASH_SIZE];
  uint64_t counter;
  tacit_text_t text = {0};
  sqlite3_stmt *statement = NULL;
  tacit_status_t status = tacit_database_counter(ledger, &counter, err);
  if (status == TACIT_OK) {
    counter = (counter + 1) & UINT32_MAX;
    put_fields(&text, header, totals, counter);
    status = read_decisions(ledger, &text, NULL, err);
  }
  TACIT_THEN(status, tacit_hash_finish(&text, hash, err));
  tacit_text_clear(&text);
  TACIT_THEN(status, tacit_database_prepare(
                         ledger,
                         "INSERT OR REPLACE INTO totals(id, n_spends, unit, max_rows, rho, counter, hash) "
                         "VALUES (1, ?, ?, ?, ?, ?, ?)",
                         &statement, err));
  if (status != TACIT_OK) {
    return status;
  }
  put_rho(totals->rho, rho);
  bool ok = tacit_bind_count(statement, 1, totals->n_spends) &&
            tacit_bind_text(statement, 2, totals->unit != NULL ? totals->unit : "") &&
            tacit_bind_count(statement, 3, totals->max_rows) && tacit_bind_text(statement, 4, rho) &&
            tacit_bind_count(statement, 5, counter) && tacit_bind_text(statement, 6, hash);
  return tacit_database_finish(ledger, statement, ok, err);
}

/* Add to the count of one kind of decision, or take from it; none is left as no row. */
static tacit_status_t move_decision(tacit_ledger_t *ledger, const tacit_event_t *event, int sign,
                                    tacit_error_t *err) {
  static const char *const queries[] = {
      "INSERT INTO decisions(spec, count) VALUES (?1, ?2) ON CONFLICT(spec) DO UPDATE SET count = count + ?2",
      "DELETE FROM decisions WHERE spec = ?1 AND count <= ?2"};
  char spec[TACIT_EVENT_TEXT_SIZE];
  tacit_event_t decision = decision_of(event);
  tacit_event_format(&decision, spec);
  tacit_status_t status = TACIT_OK;
  for (int i = 0; i < (sign > 0 ? 1 : 2) && status == TACIT_OK; i++) {
    sqlite3_stmt *statement = NULL;
    sqlite3_int64 count = (sqlite3_int64)event->count * (i == 0 ? sign : 0);
    status = tacit_database_prepare(ledger, queries[i], &statement, err);
    if (status == TACIT_OK) {
      bool ok = tacit_bind_text(statement, 1, spec) && sqlite3_bind_int64(statement, 2, count) == SQLITE_OK;
      status = tacit_database_finish(ledger, statement, ok, err);
    }
  }
  return status;
}

static tacit_status_t move_decisions(tacit_ledger_t *ledger, const tacit_event_t *events, size_t n_events,
                                     int sign, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n_events && status == TACIT_OK; i++) {
    if (tacit_filter_needs_reserve(&events[i])) {
      status = move_decision(ledger, &events[i], sign, err);
    }
  }
  return status;
}

static tacit_status_t write_under_header(tacit_ledger_t *ledger, const tacit_totals_t *totals,
                                         tacit_error_t *err) {
  tacit_header_t header = {0};
  tacit_status_t status = tacit_header_read(ledger, &header, err);
  TACIT_THEN(status, write_row(ledger, &header, totals, err));
  tacit_header_clear(&header);
  return status;
}

tacit_status_t tacit_totals_create(tacit_ledger_t *ledger, const tacit_totals_t *totals, tacit_error_t *err) {
  tacit_status_t status = move_decisions(ledger, totals->decisions, totals->n, 1, err);
  return status == TACIT_OK ? write_under_header(ledger, totals, err) : status;
}

/* What is added comes first, so that a settlement with what was reserved passes through no count below 0. */
tacit_status_t tacit_totals_write(tacit_ledger_t *ledger, tacit_totals_t *totals,
                                  const tacit_event_t *without, size_t n_without, const tacit_event_t *with,
                                  size_t n_with, tacit_error_t *err) {
  tacit_status_t status = tacit_totals_add(totals, with, n_with, err);
  if (status == TACIT_OK && n_without == 0) {
    status = tacit_totals_merge(totals, err); /* checks what a row can count */
  }
  totals->rho -= rho_of(without, n_without);
  TACIT_THEN(status, move_decisions(ledger, with, n_with, 1, err));
  TACIT_THEN(status, move_decisions(ledger, without, n_without, -1, err));
  return status == TACIT_OK ? write_under_header(ledger, totals, err) : status;
}
