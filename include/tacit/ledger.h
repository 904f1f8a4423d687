/**
 * @file ledger.h
 * A file that records every privacy spend on a data set, across runs, people and processes, and that cannot
 * be overspent: what a run may release is reserved durably before anything is released.
 *
 * The file is an SQLite database. It holds nothing computed from records: only the data set's public name,
 * who is protected (relation, unit and the most rows of a unit, which every spend must share), the budget,
 * and for each spend its events, who made it, when (the day alone: the time between runs tells how long they
 * took, and that how many records there are or rows a person has), where and what for. Every value read back
 * is checked as if an adversary had written it, and entries are chained by hashes: a ledger that fails a
 * check refuses to spend. The hashes have no key. They show accidents and careless edits, not a forger who
 * recomputes them or who puts an older copy in the file's place.
 *
 * What is said to be spent depends on what was released (a run may end early), and is no guarantee by itself:
 * the promise that holds for all runs together, however they were chosen, is the budget.
 */
#ifndef TACIT_LEDGER_H
#define TACIT_LEDGER_H

#include "tacit/account.h"
#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open ledger file. Not thread-safe; open one for each thread or process. */
typedef struct tacit_ledger tacit_ledger_t;

enum {
  TACIT_LEDGER_HASH_SIZE = 65,    /**< SHA-256 in hexadecimal and a zero byte */
  TACIT_LEDGER_MAX_EVENTS = 1000, /**< of one spend */
  TACIT_LEDGER_MAX_TEXT = 4096    /**< bytes of a name, purpose or path */
};

/** One spend. Its reservation counts until it is settled; then what was charged counts. */
typedef struct tacit_spend {
  uint64_t id;                       /**< 1, 2, ... */
  char *time, *who, *host;           /**< UTC, user and machine of the reservation */
  char *purpose, *artefact;          /**< as given; artefact is where the results went, or "" */
  tacit_event_t *reserved, *settled; /**< shapes (n_reserved), (n_settled) */
  size_t n_reserved, n_settled;
  bool is_settled;
  char hash[TACIT_LEDGER_HASH_SIZE];         /**< of the reservation's entry */
  char settled_hash[TACIT_LEDGER_HASH_SIZE]; /**< of the settlement's entry, or "" */
} tacit_spend_t;

/** Events of a spend that count towards the total; shape (*n). Borrowed. */
TACIT_API const tacit_event_t *tacit_spend_events(const tacit_spend_t *spend, size_t *n);

/** All that a ledger says at one instant; clear with tacit_ledger_state_clear. */
typedef struct tacit_ledger_state {
  char *data_id, *created;
  char *unit;        /**< "row" or the column of persons; NULL: the first spend will say */
  uint64_t max_rows; /**< the most rows of a unit; 0 if unit is NULL */
  int version; /**< of the file: 1 and 2 do not say the unit, and must be migrated before anything is spent */
  tacit_budget_t
      *budget; /**< the ledger's whole budget, with every spend charged: Gaussian ones as one release */
  tacit_spend_t *spends; /**< shape (n_spends), by id; NULL after tacit_ledger_glance */
  size_t n_spends;
  uint64_t n_entries; /**< reservations and settlements */
  char
      head[TACIT_LEDGER_HASH_SIZE]; /**< hash of the last entry: note it down to recognise this state again */
} tacit_ledger_state_t;

/** What a ledger is made with, and holds to. */
typedef struct tacit_ledger_terms {
  const char *data_id;       /**< public name of the data set, not empty */
  double epsilon, delta;     /**< the budget of all runs together, as for tacit_budget_new */
  tacit_relation_t relation; /**< which data sets are neighbours */
  const char *unit;  /**< "row", or the column whose values are the persons protected; NULL: what the first
                        spend says */
  uint64_t max_rows; /**< the most rows of a unit, from 1 (1 of "row") */
} tacit_ledger_terms_t;

/**
 * Make a new ledger, for its owner alone (mode 0600): complete under a temporary name, synced, then named.
 * @return TACIT_ERR_EXISTS if there is anything at path.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_create(const char *path,
                                                            const tacit_ledger_terms_t *terms,
                                                            tacit_error_t *err);

/**
 * Make a ledger of version 1 or 2 one of the newest: all of it is checked, the unit that its spends were
 * meant for is entered in the chain, whose hashes stay as they are, and from then on it keeps a journal that
 * is gone after each spend instead of a log. `relation` must be the ledger's; `unit` and `max_rows` as in
 * tacit_ledger_terms_t, unit not NULL.
 * @return TACIT_ERR_STATE if it is of the newest version already, TACIT_ERR_BUDGET for another relation,
 * TACIT_ERR_IO while another process has it open.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_migrate(const char *path, tacit_relation_t relation,
                                                             const char *unit, uint64_t max_rows,
                                                             tacit_error_t *err);

/**
 * Open a ledger, for reading alone if its file cannot be written.
 * @return TACIT_ERR_MISSING; TACIT_ERR_DATA if the file is no ledger, or one of a newer version;
 * TACIT_ERR_IO.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_open(tacit_ledger_t **ledger, const char *path,
                                                          tacit_error_t *err);
TACIT_API void tacit_ledger_close(tacit_ledger_t *ledger);
/**
 * How long calls wait for other processes, 60 seconds at first, who came first writing first; then they
 * return TACIT_ERR_IO. A settlement waits ten times as long.
 */
TACIT_API void tacit_ledger_set_patience(tacit_ledger_t *ledger, double seconds);

/**
 * Read and check everything.
 * @return TACIT_ERR_DATA if the ledger is broken: nothing can be spent on it.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_read(tacit_ledger_t *ledger, tacit_ledger_state_t *state,
                                                          tacit_error_t *err);
/**
 * The same without the spends, in a time that does not grow with their number: totals that the last spend
 * left are believed if they fit the last entry of the chain and nobody but tacit wrote to the file since;
 * otherwise everything is read and checked.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_glance(tacit_ledger_t *ledger,
                                                            tacit_ledger_state_t *state, tacit_error_t *err);
TACIT_API void tacit_ledger_state_clear(tacit_ledger_state_t *state);
/** tacit_ledger_read, and SQLite's own check of the file's structure; state may be NULL. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_verify(tacit_ledger_t *ledger,
                                                            tacit_ledger_state_t *state, tacit_error_t *err);

/** Largest epsilon, rounded down, that one more run at the ledger's delta could still have; 0 if none. */
TACIT_API double tacit_ledger_epsilon_left(const tacit_ledger_state_t *state);

/**
 * Epsilon, rounded up, that a run of these events takes of a ledger at that delta: that of the Gaussian
 * releases which dominate them whatever else is run (docs/theory.md, section 9.11). More than by themselves,
 * unless all are Gaussian; INFINITY for events that a ledger does not take, and where
 * memory runs out.
 */
TACIT_API double tacit_ledger_price(const tacit_event_t *events, size_t n_events, double delta);

/**
 * The data id of the rows that a query selects: NAME and the query's hash, "clinic (query sha256:...)". A
 * ledger of such an id takes spends of this query alone, one of another id spends of none.
 * @return owned, free with tacit_ledger_text_free(); NULL if memory runs out.
 */
TACIT_API char *tacit_ledger_query_id(const char *name, const char *query_hash);
TACIT_API void tacit_ledger_text_free(char *text);
/** Is a spend of the query with this hash ("" or NULL: of none) one of the ledger with this data id?
 * TACIT_ERR_DATA if not. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_check_query(const char *data_id, const char *query_hash,
                                                                 tacit_error_t *err);

/** What to reserve. */
typedef struct tacit_spend_request {
  const char *data_id; /**< must be the ledger's, with or without its query; NULL: whichever it is */
  const char
      *query_hash; /**< of the query that the records are from (tacit_query_hash()); "" or NULL: from none */
  tacit_relation_t relation; /**< that the events' noise multipliers are meant under; must be the ledger's */
  const char *unit;  /**< that they protect, as in tacit_ledger_terms_t, not NULL; must be the ledger's */
  uint64_t max_rows; /**< with at most so many rows; must be the ledger's */
  const char *purpose, *artefact; /**< public texts; may be "" */
  const tacit_event_t *events;    /**< all that the run can release, each of a kind that a ledger takes;
                                       shape (n_events), 1 .. TACIT_LEDGER_MAX_EVENTS */
  size_t n_events;
} tacit_spend_request_t;

/** What was reserved: proves to tacit_ledger_settle that it settles this spend and no other. */
typedef struct tacit_reservation {
  uint64_t id;
  char hash[TACIT_LEDGER_HASH_SIZE];
} tacit_reservation_t;

/**
 * Record a spend, before anything is released. When this returns TACIT_OK the spend is on disk; otherwise
 * nothing may be released, and nothing is recorded unless the message says so. The time that it takes does
 * not grow with the number of Gaussian spends.
 * @return TACIT_ERR_BUDGET if it does not fit (the message says what would), if relation, unit or max_rows
 * are not the ledger's, or if it is an old one that must be migrated first; TACIT_ERR_DATA if it is broken or
 * of another data set.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_reserve(tacit_ledger_t *ledger,
                                                             const tacit_spend_request_t *request,
                                                             tacit_reservation_t *reservation,
                                                             tacit_error_t *err);
/** Would tacit_ledger_reserve accept this now? Records nothing. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_check(tacit_ledger_t *ledger,
                                                           const tacit_spend_request_t *request,
                                                           tacit_error_t *err);

/**
 * After an orderly end: lower a reservation to the events that were charged, each of which must be among the
 * reserved ones (kind, parameters, label) with no larger count; Gaussian releases may also be part of the rho
 * that was reserved with bits. A spend is settled once. Where the file cannot be written for now, the attempt
 * is repeated until patience is out.
 * @param events  shape (n_events); n_events may be 0 if nothing was charged.
 * @return TACIT_ERR_ARGUMENT for more than was reserved, TACIT_ERR_STATE if already settled: the reservation
 * stays.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_settle(tacit_ledger_t *ledger,
                                                            const tacit_reservation_t *reservation,
                                                            const tacit_event_t *events, size_t n_events,
                                                            tacit_error_t *err);

#ifdef __cplusplus
}
#endif
#endif
