#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "report/report_internal.h"
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

static int init(const cli_args_t *args) {
  static const char *const required[] = {"data-id", "epsilon", "delta"};
  double epsilon = NAN, delta = NAN;
  tacit_relation_t relation;
  tacit_error_t err;
  for (size_t i = 0; i < 3; i++) {
    if (cli_value(args, required[i]) == NULL) {
      cli_error(args, "option --%s is needed: a ledger has a data set and a budget", required[i]);
      return CLI_USAGE;
    }
  }
  if (!cli_number(args, "epsilon", 0, 1e12, &epsilon) || !cli_number(args, "delta", 0, 1, &delta) ||
      !read_relation(args, &relation)) {
    return CLI_USAGE;
  }
  const char *path = args->positionals[0];
  if (tacit_ledger_create(path, cli_value(args, "data-id"), epsilon, delta, relation, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  printf("made: %s\n", path);
  return CLI_OK;
}

/* ---- reading ---- */

static int read_ledger(const cli_args_t *args, bool is_thorough, tacit_ledger_state_t *state) {
  tacit_ledger_t *ledger;
  tacit_error_t err;
  *state = (tacit_ledger_state_t){0};
  tacit_status_t status = tacit_ledger_open(&ledger, args->positionals[0], &err);
  if (status == TACIT_OK && is_thorough) {
    status = tacit_ledger_verify(ledger, &err);
  }
  if (status == TACIT_OK) {
    status = tacit_ledger_read(ledger, state, &err);
  }
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

static void put_totals(tacit_text_t *text, const tacit_ledger_state_t *state) {
  const tacit_budget_t *budget = state->budget;
  tacit_text_printf(text, "data set  ");
  tacit_text_plain(text, state->data_id);
  tacit_text_printf(text, " (relation %s), ledger made %s\nbudget    epsilon ",
                    tacit_relation_string(tacit_budget_relation(budget)), state->created);
  tacit_text_shortest(text, tacit_budget_epsilon(budget));
  tacit_text_printf(text, " at delta ");
  tacit_text_shortest(text, tacit_budget_delta(budget));
  tacit_text_printf(text, " for all runs together (rho %.6g)\nspent     epsilon ", tacit_budget_rho(budget));
  tacit_text_number_up(text, tacit_budget_spent(budget).epsilon, 6);
  tacit_text_printf(text, " at that delta (rho ");
  tacit_text_number_up(text, tacit_budget_rho_spent(budget), 6);
  tacit_text_printf(text, "), composed over all events below\n"
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
    tacit_text_printf(&text, state.n_spends > 0 ? "\n id  time                  status    who  purpose; events; results\n"
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
    printf("ok: %zu spends in %llu entries, within the budget; head %s\n", state.n_spends,
           (unsigned long long)state.n_entries, state.head);
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
  json_text(text, "settled_time", spend->is_settled ? spend->settled_time : "");
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

static const cli_option_t init_options[] = {
    {"data-id", "NAME", NULL, "Public name of the data set whose spends are recorded."},
    {"epsilon", "E", NULL, "Budget of all runs on these data together, by whomever."},
    {"delta", "D", NULL, "Its delta: far below 1 / number of units."},
    {"relation", "R", "substitute", "Which data sets are neighbours: substitute or add-remove, as in the schema."}};

const cli_command_t cli_ledger_init = {
    .name = "ledger init",
    .positionals = "LEDGER",
    .n_positionals = 1,
    .summary = "make a ledger, which adds up all runs on a data set",
    .description = "Makes a file that records every privacy spend on a data set and refuses what its budget does not "
                   "cover. Give it to every run as tacit fit --ledger LEDGER. Keep one ledger for a data set, on a local "
                   "disk (not a network folder), in a folder that all who spend can write to, and back it up: a lost "
                   "ledger is a lost record of what was promised.",
    .examples = "  tacit ledger init clinic.ledger --data-id clinic-2026 --epsilon 3 --delta 1e-6\n",
    .options = init_options,
    .n_options = sizeof init_options / sizeof init_options[0],
    .run = init};

const cli_command_t cli_ledger_show = {
    .name = "ledger show",
    .positionals = "LEDGER",
    .n_positionals = 1,
    .summary = "show what was spent on a data set, and what is left",
    .description = "Prints the budget, what all spends together cost by composition of their events (exact for Gaussian "
                   "releases; decisions and discrete noise at a price that holds whatever else is run), what is left, "
                   "and each spend. A spend that is \"reserved\" belongs to a run that goes on or that was killed: it "
                   "counts in full. One that is \"settled\" counts with what the run charged.",
    .examples = "  tacit ledger show clinic.ledger\n",
    .run = show};

static const cli_option_t export_options[] = {{"json", NULL, NULL, "Print JSON, which is the one format there is."}};

const cli_command_t cli_ledger_export = {
    .name = "ledger export",
    .positionals = "LEDGER",
    .n_positionals = 1,
    .summary = "print a ledger for other programs",
    .description = "Prints everything that the ledger holds, and the totals, as JSON.",
    .examples = "  tacit ledger export clinic.ledger --json > clinic-ledger.json\n",
    .options = export_options,
    .n_options = sizeof export_options / sizeof export_options[0],
    .run = export};

const cli_command_t cli_ledger_verify = {
    .name = "ledger verify",
    .positionals = "LEDGER",
    .n_positionals = 1,
    .summary = "check a ledger",
    .description = "Checks the file, the chain of hashes over its entries and every value, adds the events up anew, and "
                   "prints the last hash: who keeps that elsewhere will notice a ledger that was rolled back or rewritten, "
                   "which the file alone cannot show. Exit status 3 if anything is wrong.",
    .examples = "  tacit ledger verify clinic.ledger\n",
    .run = verify};
