/* What each method would make of a budget, before a record is read. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/fit.h"

/* A method with one of its acceptance rules. */
typedef struct choice {
  const char *method, *acceptance;
  bool is_bit;
  tacit_accept_kind_t kind;
} choice_t;

static const choice_t choices[] = {{"noise-aware", "-", false, TACIT_ACCEPT_BARKER},
                                   {"dp-mala", "penalty-bit", true, TACIT_ACCEPT_PENALTY},
                                   {"dp-sgld", "-", false, TACIT_ACCEPT_BARKER},
                                   {"dp-sghmc", "-", false, TACIT_ACCEPT_BARKER},
                                   {"dp-sgnht", "-", false, TACIT_ACCEPT_BARKER},
                                   {"dp-penalty", "arcsine", true, TACIT_ACCEPT_ARCSINE},
                                   {"dp-penalty", "penalty-bit", true, TACIT_ACCEPT_PENALTY},
                                   {"dp-penalty", "penalty", false, TACIT_ACCEPT_BARKER},
                                   {"dp-barker", "barker", true, TACIT_ACCEPT_BARKER},
                                   {"dp-barker-vcorr", "vcorr", false, TACIT_ACCEPT_BARKER},
                                   {"dp-fast-mh", "barker", true, TACIT_ACCEPT_BARKER},
                                   {"dp-hmc", "penalty", false, TACIT_ACCEPT_BARKER}};
enum { n_choices = sizeof choices / sizeof choices[0] };

/* Its width counts as no worse than a chain's up to this factor: it leaves quantiles free of Monte Carlo error. */
static const double aware_slack = 1.1;
/* Chains worth fewer draws are not recommended. */
static const double ess_least = 4;

typedef struct row {
  tacit_sampler_settings_t settings;
  tacit_plan_t plan;
  tacit_status_t status;
  tacit_error_t err;
} row_t;

/* A curator of one blank record: its bounds are the model's and the settings', as of any other. */
static tacit_status_t open_blank(cli_fit_t *fit, tacit_error_t *err) {
  tacit_records_t *records;
  tacit_status_t status = tacit_records_new(&records, 1, fit->model.records.n_columns, err);
  if (status == TACIT_OK) {
    fit->limits.max_unit_rows = tacit_schema_max_rows(fit->schema);
    status = tacit_curator_new(&fit->curator, records, &fit->model.records, fit->budget, fit->noise, &fit->limits, err);
  }
  return status;
}

static const tacit_method_t *method_of(size_t i) {
  return tacit_method_find(choices[i].method);
}

/* Of the method that releases a few sums once; its draws cost nothing, and are as many as are asked for. */
static void plan_aware(const cli_fit_t *fit, row_t *row) {
  char obstacle[CLI_OBSTACLE_SIZE];
  row->plan = (tacit_plan_t){.penalty_sd = NAN, .grad_noise = NAN, .ess = NAN, .ess_wide = NAN};
  row->settings.step_size = NAN;
  if (cli_fit_aware_obstacle(fit, obstacle)) {
    row->status = tacit_error_set(&row->err, TACIT_ERR_ARGUMENT, "method", "%s", obstacle);
    return;
  }
  tacit_noise_aware_settings_t settings = cli_fit_aware_settings(fit);
  settings.rho = cli_fit_aware_rho(fit);
  row->status = TACIT_OK;
  row->plan.n_iterations = cli_fit_aware_n_releases(fit);
  row->plan.width = tacit_noise_aware_inflation(&settings, tacit_design_n_features(fit->design), fit->n_public);
}

static void plan_row(cli_fit_t *fit, const choice_t *choice, row_t *row) {
  tacit_plan_request_t request = {.curator = fit->curator,
                                  .parameters = &fit->model.parameters,
                                  .n_units = fit->n_public,
                                  .rho = tacit_budget_rho(fit->budget),
                                  .epsilon = fit->epsilon,
                                  .delta = fit->delta,
                                  .relation = tacit_schema_relation(fit->schema),
                                  .is_quick = true};
  const tacit_method_t *method = tacit_method_find(choice->method);
  row->settings = fit->settings;
  if (method->is_one_off) {
    plan_aware(fit, row);
    return;
  }
  row->settings.accept_bit = choice->is_bit;
  row->settings.accept_rule.kind = choice->kind;
  row->settings.inv_metric = NULL;
  row->settings.n_init_steps = CLI_START_STEPS;
  row->status = tacit_plan(method, &request, &row->settings, fit->inv_metric, &row->plan, &row->err);
}

/* A number of so many digits, or that there is none. */
static void print_number(int width, int digits, double number) {
  if (isnan(number)) {
    printf(" %*s", width, "-");
  } else {
    printf(" %*.*g", width, digits, number);
  }
}

static void print_row(const choice_t *choice, const row_t *row) {
  if (row->status != TACIT_OK) {
    printf("%-15s %-12s  %s\n", choice->method, choice->acceptance,
           row->status == TACIT_ERR_BUDGET ? "not one draw of each chain" : row->err.message);
    return;
  }
  printf("%-15s %-12s %10zu", choice->method, choice->acceptance, row->plan.n_iterations);
  print_number(8, 2, row->settings.step_size);
  print_number(8, 2, row->plan.penalty_sd);
  print_number(8, 2, row->plan.grad_noise);
  print_number(8, 3, row->plan.ess);
  print_number(8, 2, row->plan.ess_wide);
  print_number(9, 3, row->plan.width);
  putchar('\n');
}

static void print_field(const char *name, double number) {
  if (isnan(number)) {
    printf(", \"%s\": null", name);
  } else {
    printf(", \"%s\": %.6g", name, number);
  }
}

static void print_json(const choice_t *choice, const row_t *row, bool is_first) {
  printf("%s{\"method\": \"%s\", \"acceptance\": \"%s\", \"iterations\": %zu", is_first ? "[" : ",\n ", choice->method,
         choice->acceptance, row->status == TACIT_OK ? row->plan.n_iterations : 0);
  if (row->status == TACIT_OK) {
    print_field("step_size", row->settings.step_size);
    print_field("ess", row->plan.ess);
    print_field("ess_wide", row->plan.ess_wide);
    print_field("width", row->plan.width);
  }
  printf("}");
}

/* The chain of releases with the smallest width, or n_choices. */
static size_t best_chain(const row_t *rows, bool must_be_exact) {
  size_t best = n_choices;
  for (size_t i = 0; i < n_choices; i++) {
    bool is_one = rows[i].status == TACIT_OK && !method_of(i)->is_one_off && (method_of(i)->is_exact || !must_be_exact);
    best = is_one && (best == n_choices || rows[i].plan.width < rows[best].plan.width) ? i : best;
  }
  return best;
}

/* Where its intervals are not mostly the prior's, and no chain does better that has draws enough for intervals. */
static bool prefers_aware(const row_t *aware, const row_t *chain) {
  bool is_usable = aware->status == TACIT_OK && aware->plan.width <= CLI_INFLATION_MUCH;
  return is_usable &&
         (chain == NULL || chain->plan.ess < CLI_ESS_HARDLY || aware->plan.width <= aware_slack * chain->plan.width);
}

static void print_best_exact(const row_t *rows) {
  size_t exact = best_chain(rows, true);
  if (exact < n_choices) {
    printf("It approximates; the best of the exact ones is %s (%s), worth %.3g draws.\n", choices[exact].method,
           choices[exact].acceptance, rows[exact].plan.ess);
  }
}

static void recommend(const cli_fit_t *fit, const row_t *rows) {
  size_t aware = 0, chain = best_chain(rows, false);
  while (!method_of(aware)->is_one_off) {
    aware++;
  }
  bool is_aware = prefers_aware(&rows[aware], chain < n_choices ? &rows[chain] : NULL);
  bool is_default = rows[aware].status == TACIT_OK && cli_fit_aware_is_default(fit);
  size_t best = is_aware ? aware : chain;
  if (!is_aware && (chain == n_choices || rows[chain].plan.ess < ess_least)) {
    printf("\nNone of these will do: at this budget the best of them is worth fewer than four independent draws. A larger epsilon, "
           "more records, fewer coefficients or tighter bounds in the schema would help.\n");
    return;
  }
  bool has_rules = strcmp(choices[best].method, "dp-penalty") == 0;
  printf("\nRecommended: --method %s%s%s%s\n", choices[best].method, has_rules ? " --acceptance " : "",
         has_rules ? choices[best].acceptance : "", is_aware && is_default ? ", which tacit fit takes by itself" : "");
  if (is_aware && cli_fit_chain_option(fit->args) != NULL) {
    printf("It goes without --%s.\n", cli_fit_chain_option(fit->args));
  } else if (!is_aware && is_default) {
    printf("Say so: tacit fit takes noise-aware by itself, which is forecast to be %.3g times as wide as without privacy.\n",
           rows[aware].plan.width);
  }
  if (!method_of(best)->is_exact) {
    print_best_exact(rows);
  }
}

static int print_plans(cli_fit_t *fit) {
  row_t rows[n_choices];
  bool as_json = cli_is_given(fit->args, "json");
  for (size_t i = 0; i < n_choices; i++) {
    plan_row(fit, &choices[i], &rows[i]);
  }
  if (!as_json) {
    printf("%-15s %-12s %10s %8s %8s %8s %8s %8s %9s\n", "method", "acceptance", "iterations", "step", "in ratio", "in grad", "ess",
           "if wide", "width");
  }
  for (size_t i = 0; i < n_choices; i++) {
    if (as_json) {
      print_json(&choices[i], &rows[i], i == 0);
    } else {
      print_row(&choices[i], &rows[i]);
    }
  }
  if (as_json) {
    printf("]\n");
    return CLI_OK;
  }
  printf("\niterations: of each of %zu chains. step: in posterior standard deviations, were the posterior as wide as the schema "
         "suggests.\nin ratio: sd of the noise in a log acceptance ratio that is released. in grad: of that in a gradient, beside the "
         "gradient one\nposterior sd from the mode.\ness: effective draws of all chains to be expected then; if wide: of a posterior three "
         "times as wide, where features vary a third as\nmuch as their bounds suggest. width: error of a posterior mean from as many "
         "draws as ess beside that of the exact one.\nnoise-aware: its releases stand under iterations; draws given them are free. width: "
         "least posterior sd to be expected, beside the\nnon-private one.\n",
         fit->settings.n_chains);
  recommend(fit, rows);
  return CLI_OK;
}

static int run(const cli_args_t *args) {
  cli_fit_t fit;
  tacit_error_t err;
  int status = cli_plan_options(&fit, args);
  if (status == CLI_OK) {
    status = cli_fit_prepare(&fit);
  }
  if (status == CLI_OK) {
    fit.inv_metric = tacit_alloc_zero(fit.model.parameters.dim, sizeof *fit.inv_metric);
    tacit_status_t opened = fit.inv_metric != NULL ? open_blank(&fit, &err) : tacit_error_memory(&err);
    status = opened == TACIT_OK ? print_plans(&fit) : cli_fail(args, &err);
  }
  cli_fit_clear(&fit);
  return status;
}

static const cli_option_t options[] = {
    {"family", "NAME", NULL, "bernoulli (logit), gaussian, poisson (log) or categorical (softmax)."},
    {"schema", "FILE", NULL, "YAML: what is publicly known of each column."},
    {"n", "N", NULL, "Number of records, public or nominal."},
    {"epsilon", "E", NULL, "Privacy budget of the whole run, all chains together."},
    {"delta", "D", NULL, "Its delta: far below 1 / number of units."},
    {"chains", "N", "4", "Chains; they share the budget."},
    {"draws", "N", NULL, "Draws to keep of each chain; as many as the budget buys if not said."},
    {"clip-grad", "B", NULL, "Bound on a unit's gradient (L2). Needed where the family has none of its own; or private, as in tacit fit."},
    {"clip-ratio", "B", NULL, "Bound on a unit's log-likelihood ratio per unit of distance. Needed likewise."},
    {"clip-share", "S", "0.01", "As in tacit fit."},
    {"metric", "KIND", "schema", "As in tacit fit: schema or private."},
    {"prior-scale", "SCALE", "scaled", "As in tacit fit."},
    {"json", NULL, NULL, "Print JSON."}};

const cli_command_t cli_plan = {
    .name = "plan",
    .positionals = "FORMULA",
    .n_positionals = 1,
    .summary = "say what a budget would buy, by every method, before a record is read",
    .description = "Lists for each method how many iterations the budget pays for and what they can be expected to be worth, from the "
                   "number of records and the public bounds alone: nothing is read, charged or released. One forecast (ess) is of a "
                   "posterior as wide as the schema's bounds suggest, one (if wide) of a posterior three times as wide, which "
                   "features that vary less than their bounds allow make it; they compare methods, and promise nothing. Bits are "
                   "counted by Renyi accounting here; tacit fit accounts more tightly and finds about a tenth more iterations. "
                   "noise-aware releases a few sums once, where family, schema and formula allow it: what stands for its "
                   "iterations is their number. It is recommended unless a chain worth 20 draws or more is narrower by a tenth.",
    .examples = "  tacit plan 'death ~ age + sex + log(flc)' --family bernoulli --schema flchain.yaml \\\n"
                "        --n 7874 --epsilon 3 --delta 1e-6\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run};
