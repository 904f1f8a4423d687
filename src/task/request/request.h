/* What tasks that read records share: where these come from, and what they cost in the ledger of their data.
 */
#ifndef TACIT_REQUEST_REQUEST_H
#define TACIT_REQUEST_REQUEST_H

#include "base/text.h"
#include "program/program.h"
#include "settings/settings.h"
#include "tacit/data.h"
#include "tacit/ledger.h"

/* Words of a task for its messages; clear with tacit_request_clear(). */
typedef struct tacit_request {
  const char *task;    /* "fit": the program's command */
  const char *what;    /* "run": what is reserved for */
  const char *units;   /* "persons (rows)": what a query selects */
  const char *or_else; /* what else makes their number public, behind a comma; "": nothing */
  char *query;         /* that records come from; NULL: from none */
  char query_hash[TACIT_QUERY_HASH_SIZE]; /* of that, or of the one that was imported; "": there is none */
  tacit_reservation_t spend;              /* in the ledger; id 0: nothing is reserved */
} tacit_request_t;

void tacit_request_clear(tacit_request_t *request);

/* ---- source.c ---- */

/* "query", if it is given, and its hash. is_public: is the number of what it selects? */
TACIT_MUST_USE tacit_status_t tacit_request_read_query(tacit_request_t *request,
                                                       const tacit_settings_t *given, bool is_public,
                                                       tacit_error_t *err);
/*
 * The hash of the query that a table came from. Where their number is public, it must select as many units as
 * were said: n_public, 0 if none were; a refusal would tell of a number that is private (is_free).
 */
TACIT_MUST_USE tacit_status_t tacit_request_take_query(tacit_request_t *request, const tacit_table_t *table,
                                                       bool is_free, double n_public, tacit_error_t *err);
/* What is given, else the settings "data", "catalog", "encoding" and "delimiter", and the text of the query
 * that was checked, whatever happens to its file. */
tacit_data_source_t tacit_request_source(const tacit_request_t *request, const tacit_data_source_t *source,
                                         const tacit_settings_t *given);
/* TACIT_ERR_ARGUMENT where a settled source is nowhere. */
TACIT_MUST_USE tacit_status_t tacit_request_check_source(const tacit_request_t *request,
                                                         const tacit_data_source_t *source,
                                                         tacit_error_t *err);
/* Of a source that is not read. */
void tacit_request_leave_source(const tacit_data_source_t *source);
/* The file that "schema" names, owned: *text, n bytes. */
TACIT_MUST_USE tacit_status_t tacit_request_schema(const tacit_request_t *request,
                                                   const tacit_settings_t *given, char **text, size_t *n,
                                                   tacit_error_t *err);
/* Of a program: "set", "constants" and "public" in the order in which they were given. Clear after failure,
 * too. */
TACIT_MUST_USE tacit_status_t tacit_request_constants(const tacit_settings_t *given,
                                                      tacit_program_constants_t *constants,
                                                      tacit_error_t *err);

/* ---- spend.c: reserved before the first release, settled after the last ---- */

/* not_private: why not, "a seeded"; NULL if it is. */
TACIT_MUST_USE tacit_status_t tacit_request_check_ledger(const tacit_request_t *request,
                                                         const tacit_settings_t *given,
                                                         const char *not_private, tacit_error_t *err);
/* Reserve what the spend says, but query, purpose and artefact, which are the settings' and `purpose` where
 * none is given; is_trial: only ask. */
TACIT_MUST_USE tacit_status_t tacit_request_reserve(tacit_request_t *request, const tacit_settings_t *given,
                                                    const char *purpose, tacit_spend_request_t spend,
                                                    bool is_trial, tacit_error_t *err);
/* Lower the reservation to what was charged; a warning where that cannot be written. */
void tacit_request_settle(const tacit_request_t *request, const tacit_settings_t *given,
                          const tacit_event_t *events, size_t n, tacit_text_t *warning);

#endif
