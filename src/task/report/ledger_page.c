/* The officer's page of a data set: what its ledger promises for all runs together, every run, and the same
 * as an entry for a registry. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/statement_page.h"
#include "tacit/ledger.h"

/* More kinds of events make no command that anybody would type. */
enum { MAX_KINDS = 40 };

/* A ledger's state, and what the sections of a fit's page need of it. */
typedef struct account {
  tacit_ledger_state_t state;
  tacit_testimony_t said; /* texts are borrowed; events owned: kinds with their counts over all runs, none if
                             there are too many */
} account_t;

/* ---- reading ---- */

static bool is_same_kind(const tacit_event_t *a, const tacit_event_t *b) {
  char x[TACIT_EVENT_TEXT_SIZE], y[TACIT_EVENT_TEXT_SIZE];
  return strcmp(tacit_event_format(a, x), tacit_event_format(b, y)) == 0;
}

/* False if there are too many kinds. */
static bool add_kind(tacit_testimony_t *said, const tacit_event_t *event) {
  size_t k = 0;
  while (k < said->n_events && !is_same_kind(&said->events[k], event)) {
    k++;
  }
  if (k == MAX_KINDS) {
    return false;
  }
  if (k < said->n_events) {
    said->events[k].count += event->count;
  } else {
    said->events[said->n_events++] = *event;
  }
  return true;
}

static tacit_status_t compose_again(account_t *account, tacit_error_t *err) {
  const tacit_account_options_t options = {.relation = account->said.relation};
  tacit_testimony_t *said = &account->said;
  said->events = tacit_alloc_zero(MAX_KINDS, sizeof *said->events);
  if (said->events == NULL) {
    return tacit_error_memory(err);
  }
  bool fits = true;
  for (size_t i = 0; i < account->state.n_spends && fits; i++) {
    size_t n;
    const tacit_event_t *events = tacit_spend_events(&account->state.spends[i], &n);
    for (size_t k = 0; k < n && fits; k++) {
      fits = add_kind(said, &events[k]);
    }
  }
  said->n_events = fits ? said->n_events : 0;
  return said->n_events == 0 ? TACIT_OK
                             : tacit_account_epsilon(NULL, said->events, said->n_events, &options,
                                                     said->claim.delta, &said->again, err);
}

static tacit_status_t read_account(account_t *account, const char *path, tacit_error_t *err) {
  tacit_ledger_t *ledger;
  const tacit_ledger_state_t *state = &account->state;
  *account = (account_t){0};
  tacit_status_t status = tacit_ledger_open(&ledger, path, err);
  TACIT_THEN(status, tacit_ledger_verify(ledger, &account->state, err));
  tacit_ledger_close(ledger);
  if (status != TACIT_OK) {
    return status;
  }
  if (state->unit == NULL) {
    return tacit_error_set(err, TACIT_ERR_STATE, "unit",
                           "%s does not say yet whom it protects, so there is no claim to sign: %s", path,
                           state->version < 3 ? "tacit ledger migrate says it"
                                              : "the first run says it, or tacit ledger init --unit");
  }
  account->said = (tacit_testimony_t){.claim = {.is_private = true,
                                                .epsilon = tacit_budget_epsilon(state->budget),
                                                .delta = tacit_budget_delta(state->budget)},
                                      .relation = tacit_budget_relation(state->budget),
                                      .unit = state->unit,
                                      .max_rows = state->max_rows,
                                      .delta_meaning = "",
                                      .charged = tacit_budget_spent(state->budget).epsilon};
  return compose_again(account, err);
}

static void clear_account(account_t *account) {
  tacit_ledger_state_clear(&account->state);
  tacit_free(account->said.events);
}

/* ---- the page ---- */

static void number_up(tacit_text_t *text, double x) {
  tacit_text_number_up(text, x, TACIT_STATEMENT_EPSILON_DIGITS);
}

static void headline(const account_t *account, tacit_text_t *text) {
  tacit_text_printf(text, "# Differential privacy of all runs together: epsilon = ");
  number_up(text, account->said.claim.epsilon);
  tacit_text_printf(text, ", delta = ");
  number_up(text, account->said.claim.delta);
  tacit_text_printf(text, "\nAbout the data set ");
  tacit_statement_quoted(text, account->state.data_id);
  tacit_text_printf(text,
                    " and every result of the %zu run%s entered in its ledger, made %s, and of those still "
                    "to come. Terms as in NIST SP 800-226.\n",
                    account->state.n_spends, account->state.n_spends == 1 ? "" : "s", account->state.created);
}

static void one_run(const account_t *account, const tacit_spend_t *spend, tacit_text_t *text) {
  size_t n;
  const tacit_event_t *events = tacit_spend_events(spend, &n);
  tacit_text_printf(text, "Run %llu, %s, by ", (unsigned long long)spend->id, spend->time);
  tacit_text_plain(text, spend->who);
  tacit_text_printf(text, "@");
  tacit_text_plain(text, spend->host);
  if (spend->purpose[0] != '\0') {
    tacit_text_printf(text, ", for ");
    tacit_statement_quoted(text, spend->purpose);
  }
  if (spend->artefact[0] != '\0') {
    tacit_text_printf(text, ", results in ");
    tacit_statement_quoted(text, spend->artefact);
  }
  tacit_text_printf(text, "; epsilon ");
  number_up(text, tacit_ledger_price(events, n, account->said.claim.delta));
  tacit_text_printf(text, " by itself at that delta%s\n",
                    spend->is_settled ? "" : ", not settled: counts with all that it reserved");
  for (size_t i = 0; i < n; i++) {
    tacit_statement_event(&events[i], text);
  }
  if (n == 0) {
    tacit_statement_line(text, "- nothing was charged");
  }
}

static void runs(const account_t *account, tacit_text_t *text) {
  tacit_statement_line(text, "# Mechanism, composition, and every run");
  tacit_statement_line(
      text, "What a unit adds is bounded; sums over records are exact integers, noise is drawn from a "
            "cryptographic generator and rounded exactly. A run reserves in the ledger what it may release "
            "before it releases anything; the ledger adds up all runs (exactly for Gaussian releases; "
            "decisions and discrete noise at a price that holds whatever else is run) and refuses what would "
            "pass its budget: the claim holds however runs are chosen by what earlier ones said.");
  for (size_t i = 0; i < account->state.n_spends; i++) {
    one_run(account, &account->state.spends[i], text);
  }
  if (account->state.n_spends == 0) {
    tacit_statement_line(text, "No run yet.");
  }
  tacit_text_printf(text, "Left: one more run with epsilon ");
  tacit_text_number(text, tacit_ledger_epsilon_left(&account->state) * (1 - 5e-6),
                    TACIT_STATEMENT_EPSILON_DIGITS);
  tacit_text_printf(text, " would fit.\n");
}

static void trust(tacit_text_t *text) {
  tacit_statement_line(text, "# Trust model");
  tacit_statement_line(
      text, "Central model with a trusted curator: the program on the holder's machine sees the records. "
            "Whoever receives results is taken as the adversary, with any knowledge besides and any "
            "computing power that does not break the generator. Schemas, models, settings, purposes and "
            "names of files are public: given by people, not read off the data.");
  tacit_statement_line(text, "# What is outside");
  tacit_statement_line(text, "- Releases from the same records that the ledger does not hold, by this "
                             "program or any other: the costs of all of them add up.");
  tacit_statement_line(text, "- The same people in another data set: each ledger counts its own.");
  tacit_statement_line(
      text,
      "- Side channels: running time, memory use, what the program shows the holder of the data alone.");
  tacit_statement_line(text, "- The curator's machine, its operating system, its source of random numbers, "
                             "and who has access to them and to the records.");
  tacit_statement_line(text, "# Data set and schema");
  tacit_statement_line(text, "A ledger holds nothing computed from records, and no schema: the statement of "
                             "each run (tacit statement DIR) prints the one it used.");
}

static void check_ledger_page(const account_t *account, tacit_text_t *text) {
  const tacit_ledger_state_t *state = &account->state;
  tacit_statement_line(text, "# The ledger, and how to check it");
  tacit_text_printf(text, "Checked for this page: %llu entries, the last one's hash\n    %s\n",
                    (unsigned long long)state->n_entries, state->head);
  tacit_statement_line(text,
                       "`tacit ledger verify LEDGER` checks it again and prints that hash. Note it down "
                       "elsewhere: whoever can write the file can rewrite it, and an older copy in its place "
                       "passes every check but this one. `tacit ledger show LEDGER` lists the runs.");
  if (account->said.n_events > 0) {
    tacit_statement_line(text, "This composes the releases of all runs again:");
    tacit_statement_command(&account->said, text);
  } else if (state->n_spends > 0) {
    tacit_statement_line(text, "The runs released more kinds of noise than a command has room for: `tacit "
                               "ledger export --json` lists them all.");
  }
  tacit_text_printf(text, "# Software\nWritten by tacit %s (commit %s) from the ledger alone.\n",
                    tacit_version(), tacit_commit());
}

static void all_lines(const account_t *account, tacit_text_t *text) {
  headline(account, text);
  tacit_statement_claim(&account->said, text);
  tacit_statement_chances(&account->said, text);
  runs(account, text);
  trust(text);
  check_ledger_page(account, text);
  tacit_statement_signing(text);
}

/* ---- the entry for a registry: no names of people, machines or files ---- */

static void json_text(tacit_text_t *text, const char *key, const char *value) {
  tacit_text_printf(text, ", \"%s\": ", key);
  tacit_text_json_string(text, value);
}

static void json_up(tacit_text_t *text, const char *key, double value) {
  tacit_text_printf(text, ", \"%s\": ", key);
  if (isfinite(value)) {
    number_up(text, value);
  } else {
    tacit_text_printf(text, "null");
  }
}

static void json_run(const account_t *account, const tacit_spend_t *spend, tacit_text_t *text) {
  size_t n;
  char spec[TACIT_EVENT_TEXT_SIZE];
  const tacit_event_t *events = tacit_spend_events(spend, &n);
  tacit_text_printf(text, "{\"id\": %llu, \"date\": \"%.10s\"", (unsigned long long)spend->id, spend->time);
  json_text(text, "purpose", spend->purpose);
  json_text(text, "status", spend->is_settled ? "settled" : "reserved");
  json_up(text, "epsilon_by_itself", tacit_ledger_price(events, n, account->said.claim.delta));
  tacit_text_printf(text, ", \"mechanisms\": [");
  for (size_t i = 0; i < n; i++) {
    tacit_text_printf(text, "%s{\"event\": \"%s\", \"count\": %llu", i > 0 ? ", " : "",
                      tacit_event_format(&events[i], spec), (unsigned long long)events[i].count);
    json_text(text, "statistic", events[i].label);
    tacit_text_printf(text, "}");
  }
  tacit_text_printf(text, "]}");
}

static void entry(const account_t *account, tacit_text_t *text) {
  const tacit_ledger_state_t *state = &account->state;
  const tacit_testimony_t *said = &account->said;
  tacit_text_printf(text, "{\"format\": \"tacit-registry-entry\", \"version\": 1");
  json_text(text, "data_set", state->data_id);
  tacit_text_printf(
      text, ",\n \"guarantee\": \"(epsilon, delta)-differential privacy\", \"trust_model\": \"central\"");
  json_text(text, "unit", said->unit);
  tacit_text_printf(text, ", \"max_rows\": %llu, \"relation\": \"%s\"", (unsigned long long)said->max_rows,
                    tacit_relation_string(said->relation));
  json_up(text, "epsilon", said->claim.epsilon);
  json_up(text, "delta", said->claim.delta);
  json_up(text, "epsilon_charged", said->charged);
  tacit_text_printf(text, ",\n \"chances\": {\"guess_of_100_contents\": ");
  number_up(text, fmin(1, tacit_statement_guess(said)));
  json_up(text, "power_of_a_test_of_level_0.01", tacit_statement_test(said));
  tacit_text_printf(
      text,
      "},\n \"accounting\": \"privacy filter over all runs, each reserved before it releases; Gaussian "
      "releases composed exactly\",\n \"ledger\": {\"made\": \"%s\", \"entries\": %llu, \"head\": \"%s\"},\n "
      "\"software\": {\"name\": \"tacit\", \"version\": \"%s\", \"commit\": \"%s\"},\n \"runs\": [",
      state->created, (unsigned long long)state->n_entries, state->head, tacit_version(), tacit_commit());
  for (size_t i = 0; i < state->n_spends; i++) {
    tacit_text_printf(text, i > 0 ? ",\n  " : "\n  ");
    json_run(account, &state->spends[i], text);
  }
  tacit_text_printf(text, "]}\n");
}

tacit_status_t tacit_report_ledger_page(const char *path, tacit_page_kind_t kind, char **out,
                                        tacit_error_t *err) {
  account_t account;
  tacit_text_t lines = {0}, text = {0};
  *out = NULL;
  tacit_status_t status = read_account(&account, path, err);
  if (status == TACIT_OK && kind == TACIT_PAGE_JSON) {
    entry(&account, &text);
  } else if (status == TACIT_OK) {
    all_lines(&account, &lines);
    if (!lines.failed && kind == TACIT_PAGE_HTML) {
      tacit_statement_document(account.state.data_id, true, lines.data, &text);
    } else if (!lines.failed) {
      tacit_statement_text(lines.data, &text);
    }
  }
  status = tacit_statement_hand_over(status, &lines, &text, out, err);
  clear_account(&account);
  return status;
}
