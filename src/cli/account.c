#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "tacit/account.h"

/* Events with their counts, in the order of the command line: --count belongs to the --event before it. */
static bool read_events(const cli_args_t *args, tacit_event_t *events, size_t *n_events) {
  *n_events = 0;
  for (size_t i = 0; i < args->n_given; i++) {
    const char *name = args->given[i].option->name, *value = args->given[i].value;
    tacit_error_t err;
    if (strcmp(name, "event") == 0) {
      if (tacit_event_parse(&events[(*n_events)++], value, &err) != TACIT_OK) {
        cli_error(args, "%s", err.message);
        return false;
      }
    } else if (strcmp(name, "count") == 0) {
      double count;
      if (*n_events == 0 || !tacit_number_parse(value, strlen(value), &count) || !(count >= 1 && count <= 1e18) ||
          count != floor(count)) {
        cli_error(args, *n_events == 0 ? "--count must follow the --event that it counts"
                                       : "option --count must be a whole number from 1, not '%s'",
                  value);
        return false;
      }
      events[*n_events - 1].count = (uint64_t)count;
    }
  }
  if (*n_events == 0) {
    cli_error(args, "say what was released: --event gaussian:sigma=NOISE_MULTIPLIER");
    return false;
  }
  return true;
}

static int print(const cli_args_t *args, const tacit_guarantee_t *guarantee, double given_epsilon) {
  if (cli_is_given(args, "json")) {
    if (isinf(guarantee->epsilon)) {
      printf("{\"epsilon\": null, \"epsilon_lower\": null, \"delta\": %.17g, \"method\": \"%s\"}\n", guarantee->delta,
             guarantee->method);
    } else {
      printf("{\"epsilon\": %.17g, \"epsilon_lower\": %.17g, \"delta\": %.17g, \"method\": \"%s\"}\n",
             guarantee->epsilon, guarantee->epsilon_lower, guarantee->delta, guarantee->method);
    }
  } else if (!isnan(given_epsilon)) {
    printf("delta %.10g at epsilon %g (%s)\n", guarantee->delta, given_epsilon, guarantee->method);
  } else {
    printf("epsilon %.10g at delta %g (%s; at least %.10g)\n", guarantee->epsilon, guarantee->delta,
           guarantee->method, guarantee->epsilon_lower);
  }
  return CLI_OK;
}

static int solve_count(const cli_args_t *args, const tacit_event_t *events, size_t n_events, double epsilon,
                       double delta) {
  uint64_t k;
  tacit_error_t err;
  if (isnan(epsilon) || isnan(delta)) {
    cli_error(args, "--solve count needs both --epsilon and --delta");
    return CLI_USAGE;
  }
  if (tacit_account_max_repetitions(NULL, 0, events, n_events, NULL, epsilon, delta, &k, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  if (cli_is_given(args, "json")) {
    printf("{\"count\": %llu, \"epsilon\": %.17g, \"delta\": %.17g}\n", (unsigned long long)k, epsilon, delta);
  } else {
    printf("%llu repetitions fit into (epsilon %g, delta %g)\n", (unsigned long long)k, epsilon, delta);
  }
  return CLI_OK;
}

static int answer(const cli_args_t *args, const tacit_event_t *events, size_t n_events) {
  double epsilon = NAN, delta = NAN;
  if (!cli_number(args, "epsilon", 0, 1e300, &epsilon) || !cli_number(args, "delta", 1e-300, 0.999999, &delta)) {
    return CLI_USAGE;
  }
  const char *solve = cli_value(args, "solve"), *method = cli_value(args, "method");
  if (solve != NULL) {
    if (strcmp(solve, "count") != 0) {
      cli_error(args, "option --solve must be count, not '%s'", solve);
      return CLI_USAGE;
    }
    return solve_count(args, events, n_events, epsilon, delta);
  }
  const tacit_accountant_t *accountant = tacit_accountant_find(method);
  if (accountant == NULL) {
    cli_error(args, "unknown accountant '%s': expected auto, gaussian, rdp or zcdp", method);
    return CLI_USAGE;
  }
  if (isnan(epsilon) == isnan(delta)) {
    cli_error(args, "give either --delta (to get epsilon) or --epsilon (to get delta)");
    return CLI_USAGE;
  }
  tacit_guarantee_t guarantee;
  tacit_error_t err;
  tacit_status_t status = isnan(epsilon) ? tacit_account_epsilon(accountant, events, n_events, NULL, delta, &guarantee, &err)
                                         : tacit_account_delta(accountant, events, n_events, NULL, epsilon, &guarantee, &err);
  return status == TACIT_OK ? print(args, &guarantee, epsilon) : cli_fail(args, &err);
}

static int run(const cli_args_t *args) {
  size_t n_events;
  tacit_event_t *events = tacit_alloc_zero(args->n_given, sizeof *events);
  int status = CLI_FAILURE;
  if (events == NULL) {
    cli_error(args, "out of memory");
  } else {
    status = read_events(args, events, &n_events) ? answer(args, events, n_events) : CLI_USAGE;
  }
  tacit_free(events);
  return status;
}

static const cli_option_t options[] = {
    {"event", "SPEC", NULL, "A release: gaussian:sigma=S, S being noise sd / L2 sensitivity. May be repeated."},
    {"count", "N", NULL, "How often the --event before it is made; 1 if not said."},
    {"delta", "D", NULL, "Get epsilon at this delta."},
    {"epsilon", "E", NULL, "Get delta at this epsilon."},
    {"method", "NAME", "auto", "Accountant: auto, gaussian, rdp or zcdp."},
    {"solve", "count", NULL, "With --epsilon and --delta: how many repetitions of all events fit."},
    {"json", NULL, NULL, "Print JSON."}};

const cli_command_t cli_account = {
    .name = "account",
    .positionals = "",
    .summary = "compute what a sequence of releases costs",
    .description = "Composes events and prints the guarantee, rounded up. Nothing is read or released.",
    .examples = "  tacit account --event gaussian:sigma=20 --count 1000 --delta 1e-6\n"
                "  tacit account --event gaussian:sigma=20 --count 100 --event gaussian:sigma=5 --epsilon 2\n"
                "  tacit account --event gaussian:sigma=20 --epsilon 2 --delta 1e-6 --solve count\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run};
