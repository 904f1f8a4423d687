#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/account.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "cli/commands.h"

enum { max_orders = 256 };

/* What the command line asks; NaN: not given. */
typedef struct request {
  account_plan_t plan;
  tacit_event_t *events; /* all of them, shape (n_events); curves borrowed from the plan */
  size_t n_events;
  double epsilon, delta, fpr;
  const tacit_accountant_t *accountant;
  double orders[max_orders]; /* of the Renyi curve, shape (n_orders) */
  size_t n_orders;
  bool wants_gdp;
} request_t;

/* What is printed; NaN: not asked for. */
typedef struct answers {
  bool has_guarantee;
  tacit_guarantee_t guarantee;
  double tpr, mu, renyi[max_orders];
} answers_t;

static bool read_count(const cli_args_t *args, const char *value, uint64_t *n) {
  double count;
  if (!tacit_number_parse(value, strlen(value), &count) || !(count >= 1 && count <= 1e18) ||
      count > floor(count)) {
    cli_error(args, "option --count must be a whole number from 1, not '%s'", value);
    return false;
  }
  *n = (uint64_t)count;
  return true;
}

/* Events with their counts, in the order of the command line: --count belongs to the --event before it. */
static int read_events(const cli_args_t *args, account_plan_t *plan) {
  for (size_t i = 0; i < args->given.n_given; i++) {
    const char *name = args->given.given[i].setting->name, *value = args->given.given[i].text;
    tacit_error_t err;
    tacit_event_t event;
    if (strcmp(name, "event") == 0) {
      tacit_status_t status = tacit_event_parse(&event, value, &err);
      TACIT_THEN(status, account_plan_append(&plan->each, &plan->n_each, &event, &err));
      bool is_word =
          (status == TACIT_ERR_SYNTAX || status == TACIT_ERR_UNKNOWN) && strcmp(err.field, "event") == 0;
      if (is_word) { /* of the command line, not of a file that it names */
        cli_error(args, "%s", err.message);
        return CLI_USAGE;
      }
      if (status != TACIT_OK) {
        return cli_fail(args, &err);
      }
    } else if (strcmp(name, "count") == 0) {
      if (plan->n_each == 0) {
        cli_error(args, "--count must follow the --event that it counts");
        return CLI_USAGE;
      }
      if (!read_count(args, value, &plan->each[plan->n_each - 1].count)) {
        return CLI_USAGE;
      }
    }
  }
  plan->iterations = 1;
  return CLI_OK;
}

static int read_releases(const cli_args_t *args, account_plan_t *plan) {
  const char *path = cli_value(args, "plan");
  tacit_error_t err;
  if (path == NULL && !cli_is_given(args, "event")) {
    cli_error(args, "say what was released: --event gaussian:sigma=NOISE_MULTIPLIER, or --plan FILE");
    return CLI_USAGE;
  }
  if (path == NULL) {
    return read_events(args, plan);
  }
  if (cli_is_given(args, "event")) {
    cli_error(args, "give either --plan or --event");
    return CLI_USAGE;
  }
  return account_plan_read(plan, path, &err) == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

/* Orders of the Renyi curve, between commas. */
static bool read_orders(const cli_args_t *args, request_t *request) {
  const char *at = cli_value(args, "renyi");
  while (at != NULL) {
    size_t length = strcspn(at, ",");
    double order = 0;
    if (request->n_orders >= max_orders || !tacit_number_parse(at, length, &order) ||
        !(order > 1 && order <= 1e6)) {
      cli_error(
          args,
          "option --renyi must be up to %d orders above 1 and at most 1e6 between commas, as 2,4,8, not '%s'",
          max_orders, cli_value(args, "renyi"));
      return false;
    }
    request->orders[request->n_orders++] = order;
    at = at[length] == ',' ? at + length + 1 : NULL;
  }
  return true;
}

static int read_request(const cli_args_t *args, request_t *request) {
  const char *relation = cli_value(args, "relation"), *method = cli_value(args, "method");
  request->epsilon = request->delta = request->fpr = NAN;
  double width = 0;
  if (!cli_number(args, "epsilon", &request->epsilon) || !cli_number(args, "delta", &request->delta) ||
      !cli_number(args, "fpr", &request->fpr) || !cli_number(args, "width", &width) ||
      !read_orders(args, request)) {
    return CLI_USAGE;
  }
  request->accountant = tacit_accountant_find(method);
  if (request->accountant == NULL) {
    cli_error(args, "unknown accountant '%s': expected auto, gaussian, pld, rdp, zcdp or moments", method);
    return CLI_USAGE;
  }
  int status = read_releases(args, &request->plan);
  if (status != CLI_OK) {
    return status;
  }
  if (relation != NULL && !tacit_relation_parse(relation, &request->plan.options.relation)) {
    cli_error(args, "option --relation must be substitute or add-remove, not '%s'", relation);
    return CLI_USAGE;
  }
  request->plan.options.relative_width = width;
  request->plan.options.accountant = request->accountant;
  request->wants_gdp = cli_is_given(args, "gdp");
  request->plan.options.is_in_order = cli_is_given(args, "in-order");
  return CLI_OK;
}

/* ---- answers ---- */

static void print_number(const char *key, double value) {
  char number[TACIT_NUMBER_SIZE];
  printf("\"%s\": %s", key, isfinite(value) ? tacit_number_exact(value, number) : "null");
}

static void print_guarantee_json(const request_t *request, const tacit_guarantee_t *guarantee) {
  print_number("epsilon", guarantee->epsilon);
  printf(", ");
  print_number("epsilon_lower", isinf(guarantee->epsilon) ? NAN : guarantee->epsilon_lower);
  printf(", ");
  print_number("delta", guarantee->delta);
  if (isnan(request->delta)) {
    printf(", ");
    print_number("delta_lower", guarantee->delta_lower);
  }
  printf(", \"method\": \"%s\", ", guarantee->method);
}

static void print_json(const request_t *request, const answers_t *answers) {
  printf("{");
  if (answers->has_guarantee) {
    print_guarantee_json(request, &answers->guarantee);
  }
  printf("\"relation\": \"%s\"", tacit_relation_string(request->plan.options.relation));
  if (answers->has_guarantee && answers->guarantee.order > 0) {
    printf(", ");
    print_number("order", answers->guarantee.order);
  }
  if (!isnan(answers->tpr)) {
    printf(", \"attack\": {");
    print_number("false_positive_rate", request->fpr);
    printf(", ");
    print_number("true_positive_rate", answers->tpr);
    printf("}");
  }
  if (request->wants_gdp) {
    printf(", ");
    print_number("gdp_mu", answers->mu);
  }
  for (size_t i = 0; i < request->n_orders; i++) {
    printf("%s{", i > 0 ? ", " : ", \"renyi\": [");
    print_number("order", request->orders[i]);
    printf(", ");
    print_number("divergence", answers->renyi[i]);
    printf("}%s", i + 1 == request->n_orders ? "]" : "");
  }
  printf("}\n");
}

static void print_guarantee_text(const request_t *request, const tacit_guarantee_t *guarantee) {
  if (isnan(request->delta)) {
    printf("delta %.10g at epsilon %g", guarantee->delta, request->epsilon);
  } else {
    printf("epsilon %.10g at delta %g", guarantee->epsilon, guarantee->delta);
  }
  double lower = isnan(request->delta) ? guarantee->delta_lower : guarantee->epsilon_lower;
  printf(" (%s", guarantee->method);
  if (guarantee->order > 0) {
    printf(", order %.4g", guarantee->order);
  }
  if (lower > 0) {
    printf("; at least %.10g", lower);
  }
  printf(")\n");
}

static void print_text(const request_t *request, const answers_t *answers) {
  if (answers->has_guarantee) {
    print_guarantee_text(request, &answers->guarantee);
  }
  if (!isnan(answers->tpr)) {
    printf("a test that wrongly claims presence for %g %% of those absent finds at most %.4g %% of those "
           "present\n",
           100 * request->fpr, 100 * answers->tpr);
  }
  if (request->wants_gdp) {
    printf("Gaussian differential privacy mu %.10g: no more is learnt than from one Gaussian release with "
           "noise %.10g\n",
           answers->mu, 1 / answers->mu);
  }
  for (size_t i = 0; i < request->n_orders; i++) {
    printf("Renyi divergence of order %.10g: at most %.10g\n", request->orders[i], answers->renyi[i]);
  }
}

/* The picture of the risk goes with auto, the method that the rates are computed by. */
static tacit_status_t compute(const request_t *request, answers_t *answers, tacit_error_t *err) {
  const tacit_account_options_t *options = &request->plan.options;
  const tacit_event_t *events = request->events;
  size_t n = request->n_events;
  tacit_status_t status = TACIT_OK;
  if (answers->has_guarantee) {
    status = isnan(request->epsilon) ? tacit_account_epsilon(request->accountant, events, n, options,
                                                             request->delta, &answers->guarantee, err)
                                     : tacit_account_delta(request->accountant, events, n, options,
                                                           request->epsilon, &answers->guarantee, err);
  }
  if (status == TACIT_OK && !isnan(request->fpr)) {
    status = tacit_account_attack_rate(events, n, options, request->fpr, &answers->tpr, err);
  }
  if (status == TACIT_OK && request->wants_gdp) {
    status = tacit_account_gdp(events, n, &answers->mu, err);
  }
  for (size_t i = 0; status == TACIT_OK && i < request->n_orders; i++) {
    status = tacit_account_renyi(events, n, options, request->orders[i], &answers->renyi[i], err);
  }
  return status;
}

static int print_answers(const cli_args_t *args, const request_t *request, bool has_guarantee) {
  answers_t answers = {.has_guarantee = has_guarantee, .tpr = NAN};
  tacit_error_t err;
  if (compute(request, &answers, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  cli_is_given(args, "json") ? print_json(request, &answers) : print_text(request, &answers);
  return CLI_OK;
}

static int print_repetitions(const cli_args_t *args, const request_t *request, const char *what) {
  const account_plan_t *plan = &request->plan;
  uint64_t k;
  tacit_error_t err;
  if (tacit_account_max_repetitions(plan->once, plan->n_once, plan->each, plan->n_each, &plan->options,
                                    request->epsilon, request->delta, &k, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  if (cli_is_given(args, "json")) {
    printf("{\"%s\": %llu, \"epsilon\": %.17g, \"delta\": %.17g}\n", what, (unsigned long long)k,
           request->epsilon, request->delta);
  } else {
    printf("%llu %s fit into (epsilon %g, delta %g)\n", (unsigned long long)k,
           strcmp(what, "count") == 0 ? "repetitions" : what, request->epsilon, request->delta);
  }
  return CLI_OK;
}

static int print_noise(const cli_args_t *args, const request_t *request) {
  double factor;
  tacit_error_t err;
  if (tacit_account_noise_factor(request->events, request->n_events, &request->plan.options, request->epsilon,
                                 request->delta, &factor, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  if (cli_is_given(args, "json")) {
    printf("{");
    print_number("noise_factor", factor);
    printf(", ");
    print_number("noise_multiplier", factor * request->events[0].noise_multiplier);
    printf("}\n");
    return CLI_OK;
  }
  for (size_t i = 0; i < request->n_events; i++) {
    tacit_event_t scaled = request->events[i];
    char before[TACIT_EVENT_TEXT_SIZE], after[TACIT_EVENT_TEXT_SIZE];
    tacit_event_format(&scaled, before);
    scaled.noise_multiplier *= factor;
    tacit_event_format(&scaled, after);
    printf("%s instead of %s\n", after, before);
  }
  return CLI_OK;
}

static int solve(const cli_args_t *args, const request_t *request, const char *what) {
  bool is_known = strcmp(what, "count") == 0 || strcmp(what, "iterations") == 0 || strcmp(what, "noise") == 0;
  if (!is_known) {
    cli_error(args, "option --solve must be count, iterations or noise, not '%s'", what);
    return CLI_USAGE;
  }
  if (isnan(request->epsilon) || isnan(request->delta)) {
    cli_error(args, "--solve %s needs both --epsilon and --delta", what);
    return CLI_USAGE;
  }
  return strcmp(what, "noise") == 0 ? print_noise(args, request) : print_repetitions(args, request, what);
}

/* All or none: what is there already is seen before the first is written. */
static bool are_new(const cli_args_t *args, const char *const *paths, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (paths[i] != NULL && tacit_file_exists(paths[i])) {
      cli_error(args, "%s exists and is not overwritten: choose another name or remove it", paths[i]);
      return false;
    }
  }
  return true;
}

static int write_files(const cli_args_t *args, const request_t *request) {
  const char *csv = cli_value(args, "profile"), *svg = cli_value(args, "plot"),
             *path = cli_value(args, "export");
  tacit_error_t err;
  if (!are_new(args, (const char *const[]){csv, svg, path}, 3)) {
    return CLI_FAILURE;
  }
  if ((csv != NULL || svg != NULL) &&
      account_curve_write(request->events, request->n_events, &request->plan.options, csv, svg, &err) !=
          TACIT_OK) {
    return cli_fail(args, &err);
  }
  if (path == NULL) {
    return CLI_OK;
  }
  char *json;
  tacit_status_t status = tacit_events_json(request->events, request->n_events, &json, &err);
  if (status == TACIT_OK) {
    status = tacit_file_create(path, json, strlen(json), &err);
    tacit_free(json);
  }
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

static int answer(const cli_args_t *args, request_t *request) {
  const char *what = cli_value(args, "solve");
  tacit_error_t err;
  bool needs_iterations = what == NULL || strcmp(what, "noise") == 0;
  if (needs_iterations && request->plan.n_each > 0 && request->plan.iterations == 0) {
    cli_error(args,
              "the plan does not say how many iterations: add `iterations: N`, or ask --solve iterations");
    return CLI_USAGE;
  }
  if (account_plan_events(&request->plan, &request->events, &request->n_events, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  if (what != NULL) {
    return solve(args, request, what);
  }
  bool writes = cli_is_given(args, "profile") || cli_is_given(args, "plot") || cli_is_given(args, "export");
  bool asks = !isnan(request->epsilon) || !isnan(request->delta),
       shows = request->wants_gdp || request->n_orders > 0;
  if (isnan(request->epsilon) == isnan(request->delta) && (asks || !(writes || shows))) {
    cli_error(args, "give either --delta (to get epsilon) or --epsilon (to get delta)");
    return CLI_USAGE;
  }
  int status = asks || shows ? print_answers(args, request, asks) : CLI_OK;
  return status == CLI_OK ? write_files(args, request) : status;
}

static int run_account(const cli_args_t *args) {
  request_t request = {0};
  int status = read_request(args, &request);
  if (status == CLI_OK) {
    status = answer(args, &request);
  }
  tacit_free(request.events);
  account_plan_clear(&request.plan);
  return status;
}

static const tacit_setting_t options[] = {
    {"event", "SPEC", NULL, "A release, in one of the forms above. May be repeated.", CLI_TEXT},
    {"count", "N", NULL, "How often the --event before it is made; 1 if not said.", CLI_TEXT},
    {"plan", "FILE", NULL,
     "Releases from a YAML file instead: lists `once` and `each_iteration` of `event: SPEC` and `count: N`, "
     "and `iterations`, `relation`.",
     CLI_TEXT},
    {"delta", "D", NULL, "Get epsilon at this delta; 0: where losses are bounded.", CLI_NUMBER(0, 0.999999)},
    {"epsilon", "E", NULL, "Get delta at this epsilon.", CLI_NUMBER(0, 1e300)},
    {"relation", "NAME", NULL,
     "Who neighbours are: substitute (one record replaced; the default) or add-remove. It matters to sampled "
     "releases.",
     CLI_TEXT},
    {"method", "NAME", "auto", "Accountant: auto, gaussian, pld, rdp, zcdp or moments.", CLI_TEXT},
    {"in-order", NULL, NULL,
     "The events are made in the order given, each as often as it counts before the next: tighter for bits.",
     CLI_FLAG},
    {"width", "W", NULL, "Largest relative width of the bracket of epsilon; 0.001 if not said.",
     CLI_NUMBER(1e-6, 0.1)},
    {"fpr", "P", NULL, "Also bound what an attacker finds who is wrong about a share P of those absent.",
     CLI_NUMBER(1e-300, 0.999999)},
    {"renyi", "ORDERS", NULL,
     "Print the Renyi divergence of these orders, as 2,4,8; where a bound of it is proven.", CLI_TEXT},
    {"gdp", NULL, NULL,
     "Print mu of Gaussian differential privacy: the events cost no more than a Gaussian release with noise "
     "1 / mu. Exact for Gaussian releases.",
     CLI_FLAG},
    {"solve", "WHAT", NULL,
     "With --epsilon and --delta: count (how many repetitions of all events fit), iterations (of a plan), or "
     "noise (the least noise that fits).",
     CLI_TEXT},
    {"profile", "FILE", NULL,
     "Write delta as a function of epsilon, as CSV; must not exist. So of the next two.", CLI_TEXT},
    {"plot", "FILE", NULL, "The same as an SVG picture.", CLI_TEXT},
    {"export", "FILE", NULL, "Write the events as JSON in the names of the library dp_accounting.", CLI_TEXT},
    {"json", NULL, NULL, "Print JSON.", CLI_FLAG},
    {0}};

const cli_command_t cli_account = {
    .name = "account",
    .positionals = "",
    .summary = "compute what a sequence of releases costs",
    .description =
        "Composes events and prints the guarantee, rounded up, and the value that no proof can go below: "
        "that of two data sets, or of a mechanism that meets what the event says (of exponential, randomised "
        "response: loose for few uses). Nothing is read or released.\n\n"
        "Forms of --event; sigma is noise sd / L2 sensitivity under the relation, scale is noise scale / L1 "
        "sensitivity:\n"
        "- gaussian:sigma=S: all records\n"
        "- poisson-gaussian:q=Q,sigma=S: each record with probability Q\n"
        "- fixed-size-gaussian:q=Q,sigma=S: a share Q of them; under add-remove, where one record takes "
        "another's place in a sample, S is by one record's norm, and what the exchange doubles is counted\n"
        "- replacement-gaussian:records=N,draws=B,sigma=S: B times one of N records (relation substitute)\n"
        "- truncated-gaussian:q=Q,records=N,limit=B,sigma=S: each of N with probability Q, and of more than "
        "B so drawn B at random\n"
        "- multiplicity-gaussian:q=Q,sigma=S: each record Poisson(Q) times\n"
        "- gaussian-mixture:FILE.csv: moved by `shift` noise sds with probability `weight`, columns "
        "weight,shift\n"
        "- tree:sigma=S,leaves=N: sums of a binary tree, each with noise S\n"
        "- repeat-poisson:mean=M,sigma=S and repeat-negative-binomial:mean=M,shape=H,sigma=S: the best of so "
        "many Gaussian releases\n"
        "- laplace:scale=B and poisson-laplace:q=Q,scale=B\n"
        "- discrete-laplace:scale=B[,sensitivity=D], poisson-discrete-laplace: whole numbers, D steps for a "
        "record\n"
        "- discrete-gaussian:sigma=S[,sensitivity=D] and poisson-discrete-gaussian:q=Q,sigma=S\n"
        "- randomized-response:p=P,buckets=N: with probability P a uniform answer; an absent record's is "
        "uniform\n"
        "- exponential:epsilon=E: the exponential mechanism, or anything of bounded range; "
        "permute-and-flip:epsilon=E\n"
        "- sparse-vector:threshold=B,query=C,positives=N: Laplace scales / sensitivity of the threshold and "
        "of the queries\n"
        "- pure:epsilon=E, approximate:epsilon=E,delta=D, zcdp:rho=R[,xi=X]: anything with that guarantee\n"
        "- pair:FILE.csv: a discrete pair of output distributions, columns p,q\n"
        "- profile:FILE.csv: a privacy profile, columns epsilon,delta\n"
        "- penalty-bit:sensitivity=D,sigma=S, probit-bit:sensitivity=D,sigma=S, barker-bit:sensitivity=D, "
        "arcsine-bit:sensitivity=D,kappa=K,cap=C: accept/reject bits, D being how far a record can move the "
        "log ratio; add rho=R for Gaussian releases of that rho with every bit, and together=N where those "
        "of N bits come before any of the N (a count that is no multiple of N is rounded up to one)",
    .examples = "  tacit account --event gaussian:sigma=20 --count 1000 --delta 1e-6\n"
                "  tacit account --event poisson-gaussian:q=0.01,sigma=1 --count 10000 --delta 1e-6 "
                "--relation add-remove\n"
                "  tacit account --event gaussian:sigma=20 --count 100 --event laplace:scale=50 --count 3 "
                "--epsilon 2\n"
                "  tacit account --event gaussian:sigma=20 --epsilon 2 --delta 1e-6 --solve count\n"
                "  tacit account --plan run.yaml --epsilon 2 --delta 1e-6 --solve iterations\n"
                "  tacit account --event gaussian:sigma=5 --profile profile.csv --plot profile.svg\n",
    .options = options,
    .run = run_account};
