/* What a fit's folder, or a ledger, says to a privacy officer. Not installed. */
#ifndef TACIT_REPORT_STATEMENT_PAGE_H
#define TACIT_REPORT_STATEMENT_PAGE_H

#include "report/read_internal.h"

/* Texts are borrowed from root; "" where the file says nothing. */
typedef struct tacit_testimony {
  struct json_t *root;       /* privacy.json */
  tacit_report_read_t claim; /* private, post-processing, epsilon, delta; nothing else */
  tacit_stan_csv_t csv;      /* formula, family, data_name */
  char *schema;              /* NULL: the folder has none */
  tacit_relation_t relation;
  const char *unit, *version, *commit, *method, *end, *delta_meaning, *accountant, *statistic, *noise,
      *composition;
  const char *ledger; /* NULL: in none */
  uint64_t spend, max_rows;
  double n_units;        /* 0: private, or not said */
  double charged;        /* NaN: not said */
  tacit_event_t *events; /* what the claim rests on: the schedule if there is one, else what was released */
  size_t n_events;
  bool is_scheduled;
  tacit_guarantee_t again; /* of the events, computed anew; where n_events > 0 */
} tacit_testimony_t;

/* Clear after failure, too. */
TACIT_MUST_USE tacit_status_t tacit_testimony_read(tacit_testimony_t *said, const char *folder,
                                                   tacit_error_t *err);
void tacit_testimony_clear(tacit_testimony_t *said);
/* Assumption i, of which the first says why where nothing is private; NULL past the last. */
const char *tacit_testimony_assumption(const tacit_testimony_t *said, size_t i);

/* ---- parts of pages, of a fit and of a ledger: claim, relation, unit, max_rows, charged, delta_meaning and
 * events are looked at ---- */

enum { TACIT_STATEMENT_EPSILON_DIGITS = 5 };

void tacit_statement_line(tacit_text_t *text, const char *marked);
void tacit_statement_quoted(tacit_text_t *text, const char *s);
void tacit_statement_claim(const tacit_testimony_t *said, tacit_text_t *text);
/* What the best guess of 100 equally likely contents comes to, and the power of a test of level 0.01. */
double tacit_statement_guess(const tacit_testimony_t *said);
double tacit_statement_test(const tacit_testimony_t *said);
void tacit_statement_chances(const tacit_testimony_t *said, tacit_text_t *text);
/* The call of tacit account that composes the events again, and what it prints. n_events > 0. */
void tacit_statement_command(const tacit_testimony_t *said, tacit_text_t *text);
void tacit_statement_signing(tacit_text_t *text);
/* HTML that stands alone. */
void tacit_statement_document(const char *data_name, bool is_private, const char *lines, tacit_text_t *text);

#endif
