/**
 * @file ledger.h
 * A file that records every privacy spend on a data set, across runs, people and processes, and that cannot be
 * overspent: what a run may release is reserved durably before anything is released.
 *
 * The file is an SQLite database. It holds nothing computed from records: only the data set's public name, the
 * budget, and for each spend its events, who made it, when, where and what for. Every value read back is checked
 * as if an adversary had written it, and entries are chained by hashes: a ledger that fails a check refuses to spend.
 * The hashes have no key. They show accidents and careless edits, not a forger who recomputes them or who puts an
 * older copy in the file's place.
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
  uint64_t id;                                         /**< 1, 2, ... */
  char *time, *who, *host;                             /**< UTC, user and machine of the reservation */
  char *purpose, *artefact;                            /**< as given; artefact is where the results went, or "" */
  tacit_event_t *reserved, *settled;                   /**< shapes (n_reserved), (n_settled) */
  size_t n_reserved, n_settled;
  bool is_settled;
  char *settled_time;                                  /**< NULL unless settled */
  char hash[TACIT_LEDGER_HASH_SIZE];                   /**< of the reservation's entry */
  char settled_hash[TACIT_LEDGER_HASH_SIZE];           /**< of the settlement's entry, or "" */
} tacit_spend_t;

/** Events of a spend that count towards the total; shape (*n). Borrowed. */
TACIT_API const tacit_event_t *tacit_spend_events(const tacit_spend_t *spend, size_t *n);

/** All that a ledger says at one instant; clear with tacit_ledger_state_clear. */
typedef struct tacit_ledger_state {
  char *data_id, *created;
  tacit_budget_t *budget; /**< the ledger's whole budget, with every spend charged */
  tacit_spend_t *spends;  /**< shape (n_spends), by id */
  size_t n_spends;
  uint64_t n_entries;                /**< reservations and settlements */
  char head[TACIT_LEDGER_HASH_SIZE]; /**< hash of the last entry: note it down to recognise this state again */
} tacit_ledger_state_t;

/**
 * Make a new ledger: complete under a temporary name, synced, then named.
 * @param data_id  public name of the data set, not empty.
 * @param epsilon, delta  the budget of all runs together, as for tacit_budget_new.
 * @return TACIT_ERR_EXISTS if there is anything at path.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_create(const char *path, const char *data_id, double epsilon,
                                                            double delta, tacit_relation_t relation,
                                                            tacit_error_t *err);

/**
 * Open a ledger, for reading alone if its file cannot be written.
 * @return TACIT_ERR_MISSING; TACIT_ERR_DATA if the file is no ledger, or one of a newer version; TACIT_ERR_IO.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_open(tacit_ledger_t **ledger, const char *path,
                                                          tacit_error_t *err);
TACIT_API void tacit_ledger_close(tacit_ledger_t *ledger);
/** How long calls wait for other processes, 30 seconds at first; then they return TACIT_ERR_IO. */
TACIT_API void tacit_ledger_set_patience(tacit_ledger_t *ledger, double seconds);

/**
 * Read and check everything.
 * @return TACIT_ERR_DATA if the ledger is broken: nothing can be spent on it.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_read(tacit_ledger_t *ledger, tacit_ledger_state_t *state,
                                                          tacit_error_t *err);
TACIT_API void tacit_ledger_state_clear(tacit_ledger_state_t *state);
/** tacit_ledger_read, and SQLite's own check of the file's structure. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_verify(tacit_ledger_t *ledger, tacit_error_t *err);

/** Largest epsilon, rounded down, that one more run at the ledger's delta could still have; 0 if none. */
TACIT_API double tacit_ledger_epsilon_left(const tacit_ledger_state_t *state);

/**
 * Epsilon, rounded up, that a run of these events takes of a ledger at that delta: that of the Gaussian releases which dominate
 * them whatever else is run (docs/theory.md, section 9.11). More than by themselves, unless all are Gaussian; INFINITY for events that
 * a ledger does not take, tacit_filter_check(), and where memory runs out.
 */
TACIT_API double tacit_ledger_price(const tacit_event_t *events, size_t n_events, double delta);

/** What to reserve. */
typedef struct tacit_spend_request {
  const char *data_id;            /**< must be the ledger's; NULL: whichever it is */
  tacit_relation_t relation;      /**< that the events' noise multipliers are meant under; must be the ledger's */
  const char *purpose, *artefact; /**< public texts; may be "" */
  const tacit_event_t *events;    /**< all that the run can release, each as tacit_filter_check() takes it;
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
 * nothing may be released.
 * @return TACIT_ERR_BUDGET if it does not fit: nothing is recorded and the message says what would fit;
 *         TACIT_ERR_DATA if the ledger is broken, of another data set or of another relation.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_reserve(tacit_ledger_t *ledger,
                                                             const tacit_spend_request_t *request,
                                                             tacit_reservation_t *reservation, tacit_error_t *err);
/** Would tacit_ledger_reserve accept this now? Records nothing. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_check(tacit_ledger_t *ledger,
                                                           const tacit_spend_request_t *request, tacit_error_t *err);

/**
 * After an orderly end: lower a reservation to the events that were charged, each of which must be among the
 * reserved ones (kind, parameters, label) with no larger count; Gaussian releases may also be part of the rho that was reserved with
 * bits. A spend is settled once.
 * @param events  shape (n_events); n_events may be 0 if nothing was charged.
 * @return TACIT_ERR_ARGUMENT for more than was reserved, TACIT_ERR_STATE if already settled: the reservation stays.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_ledger_settle(tacit_ledger_t *ledger,
                                                            const tacit_reservation_t *reservation,
                                                            const tacit_event_t *events, size_t n_events,
                                                            tacit_error_t *err);

#ifdef __cplusplus
}
#endif
#endif
