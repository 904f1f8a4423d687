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

static const choice_t choices[] = {{"dp-mala", "penalty-bit", true, TACIT_ACCEPT_PENALTY},
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

static void plan_row(cli_fit_t *fit, const choice_t *choice, row_t *row) {
  tacit_plan_request_t request = {.curator = fit->curator,
                                  .parameters = &fit->model.parameters,
                                  .n_units = fit->n_public,
                                  .rho = tacit_budget_rho(fit->budget),
                                  .epsilon = fit->epsilon,
                                  .delta = fit->delta,
                                  .relation = tacit_schema_relation(fit->schema),
                                  .is_quick = true};
  row->settings = fit->settings;
  row->settings.accept_bit = choice->is_bit;
  row->settings.accept_rule.kind = choice->kind;
  row->settings.inv_metric = NULL;
  row->settings.n_init_steps = CLI_START_STEPS;
  row->status = tacit_plan(tacit_method_find(choice->method), &request, &row->settings, fit->inv_metric, &row->plan, &row->err);
}

static void print_noise(double noise) {
  if (isnan(noise)) {
    printf(" %8s", "-");
  } else {
    printf(" %8.2g", noise);
  }
}

static void print_row(const choice_t *choice, const row_t *row) {
  if (row->status != TACIT_OK) {
    printf("%-15s %-12s  %s\n", choice->method, choice->acceptance,
           row->status == TACIT_ERR_BUDGET ? "not one draw of each chain" : row->err.message);
    return;
  }
  printf("%-15s %-12s %10zu %8.2g", choice->method, choice->acceptance, row->plan.n_iterations, row->settings.step_size);
  print_noise(row->plan.penalty_sd);
  print_noise(row->plan.grad_noise);
  printf(" %10.3g %9.3g\n", row->plan.ess, row->plan.width);
}

static void print_json(const choice_t *choice, const row_t *row, bool is_first) {
  printf("%s{\"method\": \"%s\", \"acceptance\": \"%s\", ", is_first ? "[" : ",\n ", choice->method, choice->acceptance);
  if (row->status == TACIT_OK) {
    printf("\"iterations\": %zu, \"step_size\": %.6g, \"ess\": %.6g, \"width\": %.6g}", row->plan.n_iterations,
           row->settings.step_size, row->plan.ess, row->plan.width);
  } else {
    printf("\"iterations\": 0}");
  }
}

static void recommend(const row_t *rows) {
  size_t best = n_choices;
  for (size_t i = 0; i < n_choices; i++) {
    bool is_better = rows[i].status == TACIT_OK && (best == n_choices || rows[i].plan.width < rows[best].plan.width);
    best = is_better ? i : best;
  }
  if (best == n_choices || rows[best].plan.ess < 4) {
    printf("\nNone of these will do: at this budget the best of them is worth fewer than four independent draws. A larger epsilon, "
           "more records, fewer coefficients or tighter bounds in the schema would help.\n");
    return;
  }
  printf("\nRecommended: --method %s%s%s\n", choices[best].method, strcmp(choices[best].method, "dp-penalty") == 0 ? " --acceptance " : "",
         strcmp(choices[best].method, "dp-penalty") == 0 ? choices[best].acceptance : "");
  if (!tacit_method_find(choices[best].method)->is_exact) {
    size_t exact = n_choices;
    for (size_t i = 0; i < n_choices; i++) {
      bool is_better = rows[i].status == TACIT_OK && tacit_method_find(choices[i].method)->is_exact &&
                       (exact == n_choices || rows[i].plan.width < rows[exact].plan.width);
      exact = is_better ? i : exact;
    }
    if (exact < n_choices) {
      printf("It has a bias of its own; the best of the exact ones is %s (%s).\n", choices[exact].method, choices[exact].acceptance);
    }
  }
}

static int print_plans(cli_fit_t *fit) {
  row_t rows[n_choices];
  bool as_json = cli_is_given(fit->args, "json");
  for (size_t i = 0; i < n_choices; i++) {
    plan_row(fit, &choices[i], &rows[i]);
  }
  if (!as_json) {
    printf("%-15s %-12s %10s %8s %8s %8s %10s %9s\n", "method", "acceptance", "iterations", "step", "in ratio", "in grad", "ess",
           "width");
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
         "gradient one\nposterior sd from the mode.\ness: effective draws of all chains to be expected then. width: error of a posterior mean from them beside that of "
         "the exact one.\n",
         fit->settings.n_chains);
  recommend(rows);
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
                   "number of records and the public bounds alone: nothing is read, charged or released. The forecast holds for a "
                   "posterior about as wide as the schema's bounds suggest; it compares methods, and promises nothing. Bits are "
                   "counted by Renyi accounting here; tacit fit accounts more tightly and finds about a tenth more iterations.",
    .examples = "  tacit plan 'death ~ age + sex + log(flc)' --family bernoulli --schema flchain.yaml \\\n"
                "        --n 7874 --epsilon 3 --delta 1e-6\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run};
