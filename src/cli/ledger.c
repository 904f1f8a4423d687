#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "cli/commands.h"
#include "report/report_internal.h"
#include "tacit/data.h"
#include "tacit/ledger.h"

/* ---- init ---- */

static bool read_relation(const cli_args_t *args, tacit_relation_t *relation) {
  const char *name = cli_value(args, "relation");
  for (int i = TACIT_RELATION_SUBSTITUTE; i <= TACIT_RELATION_ADD_REMOVE; i++) {
    *relation = (tacit_relation_t)i;
    if (strcmp(name, tacit_relation_string(*relation)) == 0) {
      return true;
    }
  }
  cli_error(args, "option --relation must be substitute or add-remove, not '%s'", name);
  return false;
}

/* --unit and --max-rows, if given; *max_rows 1 where that can be nothing else. */
static bool read_unit(const cli_args_t *args, const char **unit, uint64_t *max_rows) {
  double rows = 1;
  *unit = cli_value(args, "unit");
  bool is_row = *unit != NULL && strcmp(*unit, "row") == 0, has_rows = cli_is_given(args, "max-rows");
  if (*unit == NULL ? has_rows : !is_row && !has_rows) {
    cli_error(args,
              *unit == NULL ? "--max-rows only goes with --unit"
                            : "unit %s needs --max-rows, as in the schema",
              *unit);
    return false;
  }
  if (!cli_number(args, "max-rows", &rows)) {
    return false;
  }
  *max_rows = (uint64_t)rows;
  if (rows > floor(rows) || (is_row && rows > 1)) {
    cli_error(args, "option --max-rows must be a whole number, and 1 of --unit row");
    return false;
  }
  return true;
}

static int init(const cli_args_t *args) {
  static const char *const required[] = {"data-id", "epsilon", "delta"};
  tacit_ledger_terms_t terms = {.data_id = cli_value(args, "data-id"), .epsilon = NAN, .delta = NAN};
  tacit_error_t err;
  for (size_t i = 0; i < 3; i++) {
    if (cli_value(args, required[i]) == NULL) {
      cli_error(args, "option --%s is needed: a ledger has a data set and a budget", required[i]);
      return CLI_USAGE;
    }
  }
  if (!cli_number(args, "epsilon", &terms.epsilon) || !cli_number(args, "delta", &terms.delta) ||
      !read_relation(args, &terms.relation) || !read_unit(args, &terms.unit, &terms.max_rows)) {
    return CLI_USAGE;
  }
  const char *path = args->positionals[0];
  char *query = NULL, *data_id = NULL;
  if (cli_value(args, "query") != NULL) {
    char hash[TACIT_QUERY_HASH_SIZE];
    if (tacit_query_read(cli_value(args, "query"), &query, &err) != TACIT_OK) {
      return cli_fail(args, &err);
    }
    tacit_query_hash(query, hash);
    tacit_text_free(query);
    terms.data_id = data_id = tacit_ledger_query_id(terms.data_id, hash);
  }
  tacit_status_t created = tacit_ledger_create(path, &terms, &err);
  tacit_ledger_text_free(data_id);
  if (created != TACIT_OK) {
    return cli_fail(args, &err);
  }
  printf("made: %s%s\n", path,
         terms.unit == NULL ? " (unit and max_rows will be those of the first spend)" : "");
  return CLI_OK;
}

static int migrate(const cli_args_t *args) {
  tacit_relation_t relation;
  const char *unit;
  uint64_t max_rows;
  tacit_error_t err;
  if (cli_value(args, "relation") == NULL || cli_value(args, "unit") == NULL) {
    cli_error(args, "options --relation and --unit are needed: whom the runs in this ledger protected, as "
                    "their schemas said");
    return CLI_USAGE;
  }
  if (!read_relation(args, &relation) || !read_unit(args, &unit, &max_rows)) {
    return CLI_USAGE;
  }
  if (tacit_ledger_migrate(args->positionals[0], relation, unit, max_rows, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  printf("migrated: %s; its entries and their hashes are as they were\n", args->positionals[0]);
  return CLI_OK;
}

/* ---- reading ---- */

static int read_ledger(const cli_args_t *args, bool is_thorough, tacit_ledger_state_t *state) {
  tacit_ledger_t *ledger;
  tacit_error_t err;
  *state = (tacit_ledger_state_t){0};
  tacit_status_t status = tacit_ledger_open(&ledger, args->positionals[0], &err);
  TACIT_THEN(status,
             is_thorough ? tacit_ledger_verify(ledger, state, &err) : tacit_ledger_read(ledger, state, &err));
  tacit_ledger_close(ledger);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

/* Print what was put together, or say that memory ran out. */
static int print_text(const cli_args_t *args, tacit_text_t *text) {
  int status = CLI_OK;
  if (text->failed) {
    cli_error(args, "out of memory");
    status = CLI_FAILURE;
  } else {
    fputs(text->data, stdout);
  }
  tacit_text_clear(text);
  return status;
}

static double rho_left(const tacit_budget_t *budget) {
  return fmax(tacit_budget_rho(budget) - tacit_budget_rho_spent(budget), 0);
}

static void put_unit(tacit_text_t *text, const tacit_ledger_state_t *state) {
  tacit_text_printf(text, "protects  ");
  if (state->unit == NULL) {
    tacit_text_printf(text,
                      state->version < 3
                          ? "not said by this old ledger: nothing can be spent before tacit ledger migrate\n"
                          : "the unit of the first spend\n");
    return;
  }
  tacit_text_printf(text, "unit ");
  tacit_text_plain(text, state->unit);
  tacit_text_printf(text, ", of at most %llu row%s\n", (unsigned long long)state->max_rows,
                    state->max_rows == 1 ? "" : "s");
}

static void put_totals(tacit_text_t *text, const tacit_ledger_state_t *state) {
  const tacit_budget_t *budget = state->budget;
  tacit_text_printf(text, "data set  ");
  tacit_text_plain(text, state->data_id);
  tacit_text_printf(text, " (relation %s), ledger made %s\n",
                    tacit_relation_string(tacit_budget_relation(budget)), state->created);
  put_unit(text, state);
  tacit_text_printf(text, "promised  epsilon ");
  tacit_text_shortest(text, tacit_budget_epsilon(budget));
  tacit_text_printf(text, " at delta ");
  tacit_text_shortest(text, tacit_budget_delta(budget));
  tacit_text_printf(text, " for all runs together, those to come included (rho %.6g)\ncharged   epsilon ",
                    tacit_budget_rho(budget));
  tacit_text_number_up(text, tacit_budget_spent(budget).epsilon, 6);
  tacit_text_printf(text, " at that delta (rho ");
  tacit_text_number_up(text, tacit_budget_rho_spent(budget), 6);
  tacit_text_printf(text,
                    "), composed over all events below: no guarantee, as runs\n"
                    "          may end, or be left out, by what was released\n"
                    "left      room for one more run with epsilon %.6g (rho %.6g)\n",
                    tacit_ledger_epsilon_left(state) * (1 - 5e-6), rho_left(budget) * (1 - 5e-6));
}

static void put_event(tacit_text_t *text, const tacit_event_t *event) {
  char number[TACIT_NUMBER_SIZE], spec[TACIT_EVENT_TEXT_SIZE];
  tacit_text_printf(text, "\n     %llu x ", (unsigned long long)event->count);
  if (event->kind == TACIT_EVENT_GAUSSIAN) {
    tacit_text_printf(text, "gaussian:sigma=%s ", tacit_number_format(event->noise_multiplier, number));
  } else {
    tacit_text_printf(text, "%s ", tacit_event_format(event, spec));
  }
  tacit_text_plain(text, event->label);
}

static void put_spend(tacit_text_t *text, const tacit_spend_t *spend) {
  size_t n;
  const tacit_event_t *events = tacit_spend_events(spend, &n);
  tacit_text_printf(text, "\n%3llu  %s  %-8s  ", (unsigned long long)spend->id, spend->time,
                    spend->is_settled ? "settled" : "reserved");
  tacit_text_plain(text, spend->who);
  tacit_text_printf(text, "@");
  tacit_text_plain(text, spend->host);
  tacit_text_printf(text, "  ");
  tacit_text_plain(text, spend->purpose);
  for (size_t i = 0; i < n; i++) {
    put_event(text, &events[i]);
  }
  if (n == 0) {
    tacit_text_printf(text, "\n     nothing was charged");
  }
  if (spend->artefact[0] != '\0') {
    tacit_text_printf(text, "\n     in ");
    tacit_text_plain(text, spend->artefact);
  }
  tacit_text_printf(text, "\n");
}

static int show(const cli_args_t *args) {
  tacit_ledger_state_t state;
  tacit_text_t text = {0};
  int status = read_ledger(args, false, &state);
  if (status == CLI_OK) {
    put_totals(&text, &state);
    tacit_text_printf(&text, state.n_spends > 0
                                 ? "\n id  time                  status    who  purpose; events; results\n"
                                 : "\nno spends\n");
    for (size_t i = 0; i < state.n_spends; i++) {
      put_spend(&text, &state.spends[i]);
    }
    status = print_text(args, &text);
  }
  tacit_ledger_state_clear(&state);
  return status;
}

static int verify(const cli_args_t *args) {
  tacit_ledger_state_t state;
  int status = read_ledger(args, true, &state);
  if (status == CLI_OK) {
    printf("ok: %zu spend%s in %llu entries, within the budget; head %s\n", state.n_spends,
           state.n_spends == 1 ? "" : "s", (unsigned long long)state.n_entries, state.head);
  }
  tacit_ledger_state_clear(&state);
  return status;
}

/* ---- export ---- */

static void json_text(tacit_text_t *text, const char *key, const char *value) {
  tacit_text_printf(text, "\"%s\": ", key);
  tacit_text_json_string(text, value);
  tacit_text_printf(text, ", ");
}

static void json_number(tacit_text_t *text, const char *key, double value) {
  tacit_text_printf(text, "\"%s\": ", key);
  tacit_text_json_number(text, value);
  tacit_text_printf(text, ", ");
}

static void json_events(tacit_text_t *text, const char *key, const tacit_event_t *events, size_t n) {
  char spec[TACIT_EVENT_TEXT_SIZE];
  tacit_text_printf(text, "\"%s\": [", key);
  for (size_t i = 0; i < n; i++) {
    tacit_text_printf(text, "%s{\"event\": \"%s\", \"count\": %llu, \"label\": ", i > 0 ? ", " : "",
                      tacit_event_format(&events[i], spec), (unsigned long long)events[i].count);
    tacit_text_json_string(text, events[i].label);
    tacit_text_printf(text, "}");
  }
  tacit_text_printf(text, "]");
}

static void json_spend(tacit_text_t *text, const tacit_spend_t *spend) {
  size_t n;
  const tacit_event_t *events = tacit_spend_events(spend, &n);
  tacit_text_printf(text, "{\"id\": %llu, ", (unsigned long long)spend->id);
  json_text(text, "time", spend->time);
  json_text(text, "who", spend->who);
  json_text(text, "host", spend->host);
  json_text(text, "purpose", spend->purpose);
  json_text(text, "artefact", spend->artefact);
  json_text(text, "status", spend->is_settled ? "settled" : "reserved");
  json_text(text, "hash", spend->hash);
  json_text(text, "settled_hash", spend->settled_hash);
  json_events(text, "reserved", spend->reserved, spend->n_reserved);
  tacit_text_printf(text, ",\n   ");
  json_events(text, "events", events, n);
  tacit_text_printf(text, "}");
}

static void json_ledger(tacit_text_t *text, const tacit_ledger_state_t *state) {
  const tacit_budget_t *budget = state->budget;
  tacit_text_printf(text, "{");
  json_text(text, "data_id", state->data_id);
  json_text(text, "relation", tacit_relation_string(tacit_budget_relation(budget)));
  if (state->unit != NULL) {
    json_text(text, "unit", state->unit);
  } else {
    tacit_text_printf(text, "\"unit\": null, ");
  }
  tacit_text_printf(text, "\"max_rows\": %llu, \"version\": %d, ", (unsigned long long)state->max_rows,
                    state->version);
  json_text(text, "created", state->created);
  json_number(text, "epsilon", tacit_budget_epsilon(budget));
  json_number(text, "delta", tacit_budget_delta(budget));
  json_number(text, "epsilon_spent", tacit_budget_spent(budget).epsilon);
  json_number(text, "epsilon_left", tacit_ledger_epsilon_left(state));
  json_number(text, "rho", tacit_budget_rho(budget));
  json_number(text, "rho_spent", tacit_budget_rho_spent(budget));
  json_number(text, "rho_left", rho_left(budget));
  json_text(text, "head", state->head);
  tacit_text_printf(text, "\"n_entries\": %llu,\n \"spends\": [", (unsigned long long)state->n_entries);
  for (size_t i = 0; i < state->n_spends; i++) {
    tacit_text_printf(text, i > 0 ? ",\n  " : "\n  ");
    json_spend(text, &state->spends[i]);
  }
  tacit_text_printf(text, "]}\n");
}

static int export(const cli_args_t *args) {
  tacit_ledger_state_t state;
  tacit_text_t text = {0};
  int status = read_ledger(args, false, &state);
  if (status == CLI_OK) {
    json_ledger(&text, &state);
    status = print_text(args, &text);
  }
  tacit_ledger_state_clear(&state);
  return status;
}

/* ---- commands ---- */

static const tacit_setting_t init_options[] = {
    {"data-id", "NAME", NULL, "Public name of the data set whose spends are recorded.", CLI_TEXT},
    {"query", "SQL", NULL,
     "Of rows from a database: their query (@FILE: in FILE), whose hash the ledger keeps; it refuses any "
     "other.",
     CLI_TEXT},
    {"epsilon", "E", NULL, "Budget of all runs on these data together, by whomever.", CLI_NUMBER(0, 1e12)},
    {"delta", "D", NULL, "Its delta: far below 1 / number of units.", CLI_NUMBER(0, 1)},
    {"relation", "R", "substitute",
     "Which data sets are neighbours: substitute or add-remove, as in the schema.", CLI_TEXT},
    {"unit", "UNIT", NULL,
     "Who is protected, as in the schema: row, or the column of persons. If not said, the first run says it.",
     CLI_TEXT},
    {"max-rows", "K", NULL, "The most rows of a person, as in the schema.", CLI_NUMBER(1, 1e15)},
    {0}};

const cli_command_t cli_ledger_init = {
    .name = "ledger init",
    .positionals = "LEDGER",
    .n_positionals = 1,
    .summary = "make a ledger, which adds up all runs on a data set",
    .description =
        "Makes a file that records every privacy spend on a data set and refuses what its budget does not "
        "cover. Give it to every run as tacit fit --ledger LEDGER. All its runs protect the same unit under "
        "the same relation; others are refused (exit status 4), as their sum would hold for nobody. Keep one "
        "ledger for a data set, on a local disk (not a network folder), in a folder that all who spend can "
        "write to, and back it up: a lost ledger is a lost record of what was promised. Between spends the "
        "file alone is whole; LEDGER-turns beside it only says whose turn it is, and may be removed. The "
        "file is made for you alone: chmod it, and give it to a group, where others spend, too.",
    .examples = "  tacit ledger init clinic.ledger --data-id clinic-2026 --epsilon 3 --delta 1e-6\n"
                "  tacit ledger init ward.ledger --data-id ward-2026 --epsilon 3 --delta 1e-6 --unit patient "
                "--max-rows 5\n",
    .options = init_options,
    .run = init};

static const tacit_setting_t migrate_options[] = {
    {"relation", "R", NULL, "Which data sets are neighbours; what the ledger was made with.", CLI_TEXT},
    {"unit", "UNIT", NULL, "Who was protected by the runs in it: row, or the column of persons.", CLI_TEXT},
    {"max-rows", "K", NULL, "The most rows of a person.", CLI_NUMBER(1, 1e15)},
    {0}};

const cli_command_t cli_ledger_migrate = {
    .name = "ledger migrate",
    .positionals = "LEDGER",
    .n_positionals = 1,
    .summary = "make an old ledger say who is protected",
    .description = "Ledgers of earlier builds did not say which unit their runs protected, and added up runs "
                   "that protected different ones. This checks such a ledger, appends whom all its runs "
                   "protected, and makes it one that keeps no log beside it. Entries and hashes stay as they "
                   "are, and are still verified. Look at the runs' privacy.json first (unit, max_rows): if "
                   "they differ, their total holds for nobody, and no answer here is right. Back the file up "
                   "before, together with LEDGER-wal if there is one.",
    .examples = "  tacit ledger migrate clinic.ledger --relation substitute --unit row\n"
                "  tacit ledger migrate ward.ledger --relation substitute --unit patient --max-rows 5\n",
    .options = migrate_options,
    .run = migrate};

const cli_command_t cli_ledger_show = {
    .name = "ledger show",
    .positionals = "LEDGER",
    .n_positionals = 1,
    .summary = "show what was spent on a data set, and what is left",
    .description =
        "Prints whom it protects, what is promised (the budget: it holds for all runs together, however they "
        "are chosen), what all spends so far were charged by composition of their events (exact for Gaussian "
        "releases; decisions and discrete noise at a price that holds whatever else is run; no guarantee by "
        "itself, as it can depend on what was released), what is left, and each spend. A spend that is "
        "\"reserved\" belongs to a run that goes on or that was killed: it counts in full. One that is "
        "\"settled\" counts with what the run charged.",
    .examples = "  tacit ledger show clinic.ledger\n",
    .run = show};

static const tacit_setting_t export_options[] = {
    {"json", NULL, NULL, "Print JSON, which is the one format there is.", CLI_FLAG}, {0}};

const cli_command_t cli_ledger_export = {
    .name = "ledger export",
    .positionals = "LEDGER",
    .n_positionals = 1,
    .summary = "print a ledger for other programs",
    .description = "Prints everything that the ledger holds, and the totals, as JSON.",
    .examples = "  tacit ledger export clinic.ledger --json > clinic-ledger.json\n",
    .options = export_options,
    .run = export};

const cli_command_t cli_ledger_verify = {
    .name = "ledger verify",
    .positionals = "LEDGER",
    .n_positionals = 1,
    .summary = "check a ledger",
    .description =
        "Checks the file, the chain of hashes over its entries and every value, adds the events up anew, and "
        "prints the last hash: who keeps that elsewhere will notice a ledger that was rolled back or "
        "rewritten, which the file alone cannot show. Exit status 3 if anything is wrong.",
    .examples = "  tacit ledger verify clinic.ledger\n",
    .run = verify};
