/* tacit plan: what each method would make of a budget, by tacit_fit_compare(). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/commands.h"
#include "tacit/fit.h"
#include "tacit/report.h"

/* A number of so many digits, or that there is none. */
static void print_number(int width, int digits, double number) {
  if (isnan(number)) {
    printf(" %*s", width, "-");
  } else {
    printf(" %*.*g", width, digits, number);
  }
}

static void print_choice(const tacit_fit_choice_t *choice) {
  if (choice->status != TACIT_OK) {
    printf("%-15s %-12s  %s\n", choice->method, choice->acceptance, choice->reason);
    return;
  }
  printf("%-15s %-12s %10zu", choice->method, choice->acceptance, choice->n_iterations);
  print_number(8, 2, choice->step_size);
  print_number(8, 2, choice->penalty_sd);
  print_number(8, 2, choice->grad_noise);
  print_number(8, 3, choice->ess);
  print_number(8, 2, choice->ess_wide);
  print_number(9, 3, choice->width);
  putchar('\n');
}

static void print_field(const char *name, double number) {
  if (isnan(number)) {
    printf(", \"%s\": null", name);
  } else {
    printf(", \"%s\": %.6g", name, number);
  }
}

static void print_json(const tacit_fit_choice_t *choices) {
  for (size_t i = 0; i < TACIT_FIT_N_CHOICES; i++) {
    const tacit_fit_choice_t *choice = &choices[i];
    printf("%s{\"method\": \"%s\", \"acceptance\": \"%s\", \"iterations\": %zu", i == 0 ? "[" : ",\n ",
           choice->method, choice->acceptance, choice->n_iterations);
    if (choice->status == TACIT_OK) {
      print_field("step_size", choice->step_size);
      print_field("ess", choice->ess);
      print_field("ess_wide", choice->ess_wide);
      print_field("width", choice->width);
      if (choice->width_poor > 0) { /* of noise-aware alone, whose width is the least */
        print_field("width_poor", choice->width_poor);
      }
    }
    printf("}");
  }
  printf("]\n");
}

static void print_table(const tacit_fit_choice_t *choices, const char *n_chains, const char *advice) {
  printf("%-15s %-12s %10s %8s %8s %8s %8s %8s %9s\n", "method", "acceptance", "iterations", "step",
         "in ratio", "in grad", "ess", "if wide", "width");
  for (size_t i = 0; i < TACIT_FIT_N_CHOICES; i++) {
    print_choice(&choices[i]);
  }
  printf(
      "\niterations: of each of %s chains. step: in posterior standard deviations, were the posterior as "
      "wide as the schema suggests.\nin ratio: sd of the noise in a log acceptance ratio that is released. "
      "in grad: of that in a gradient, beside the gradient one\nposterior sd from the mode.\ness: effective "
      "draws of all chains to be expected then; if wide: of a posterior three times as wide, where features "
      "vary a third as\nmuch as their bounds suggest. width: error of a posterior mean from as many draws as "
      "ess beside that of the exact one.\nnoise-aware: its releases stand under iterations; draws given them "
      "are free. width: least posterior sd to be expected, beside the\nnon-private one. Where ess is below "
      "1, and where it says refused, tacit fit starts only with --yes.\n\n%s",
      n_chains, advice);
}

static void print_epsilon(double epsilon) {
  if (isnan(epsilon)) {
    printf(" %14s", "-");
  } else if (isinf(epsilon)) {
    printf(" %14s", "none");
  } else {
    printf(" %14.3g", epsilon);
  }
}

static void print_wants(const tacit_fit_want_t wants[2], double width, const char *n, const char *delta,
                        bool is_json) {
  if (is_json) {
    for (int i = 0; i < 2; i++) {
      printf("%s{\"relation\": \"%s\", \"want_width\": %.6g", i == 0 ? "[" : ",\n ",
             tacit_relation_string(wants[i].relation), width);
      print_field("epsilon", isinf(wants[i].epsilon) ? NAN : wants[i].epsilon);
      print_field("epsilon_unkind", isinf(wants[i].epsilon_poor) ? NAN : wants[i].epsilon_poor);
      printf("}");
    }
    printf("]\n");
    return;
  }
  printf("Intervals %.4g times as wide as without privacy, by noise-aware, n %s, delta %s, need "
         "epsilon\n\n%-12s %14s %14s\n",
         width, n, delta, "relation", "at least", "unkind columns");
  for (int i = 0; i < 2; i++) {
    printf("%-12s", tacit_relation_string(wants[i].relation));
    print_epsilon(wants[i].epsilon);
    print_epsilon(wants[i].epsilon_poor);
    putchar('\n');
  }
  printf(
      "\nat least: where columns fill their bounds. unkind columns: a two-valued feature with 2 %% in its "
      "rarer level, a feature that fills a tenth of its bounds;\ngaussian: also residuals that fill a tenth "
      "of the response's. Forecasts from n and the schema alone, no promise. A record replaced counts as\n"
      "one added and one removed: epsilon under add-remove protects against a replacement with twice "
      "that.\n");
}

static tacit_status_t want(const cli_args_t *args, tacit_fit_t *fit, double n_units, double width,
                           tacit_error_t *err) {
  tacit_fit_want_t wants[2];
  tacit_status_t status = tacit_fit_want_width(fit, n_units, width, wants, err);
  if (status == TACIT_OK) {
    print_wants(wants, width, cli_value(args, "n"), cli_value(args, "delta"), cli_is_given(args, "json"));
  }
  return status;
}

static tacit_status_t write_page(const cli_args_t *args, tacit_fit_t *fit, double n_units,
                                 tacit_error_t *err) {
  const char *path = cli_value(args, "html");
  char *html;
  tacit_status_t status = tacit_fit_plan_page(fit, n_units, &html, err);
  if (status == TACIT_OK) {
    status = tacit_file_create(path, html, strlen(html), err);
    tacit_report_text_free(html);
  }
  return status;
}

/* What is asked for besides the page, if anything. */
static tacit_status_t answer(const cli_args_t *args, tacit_fit_t *fit, double n_units, double width,
                             tacit_error_t *err) {
  tacit_fit_choice_t choices[TACIT_FIT_N_CHOICES];
  if (cli_is_given(args, "want-width")) {
    return want(args, fit, n_units, width, err);
  }
  if (cli_is_given(args, "html") && !cli_is_given(args, "epsilon")) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_fit_compare(fit, n_units, choices, err);
  if (status == TACIT_OK && cli_is_given(args, "json")) {
    print_json(choices);
  } else if (status == TACIT_OK) {
    print_table(choices, cli_value(args, "chains"), tacit_fit_text(fit, TACIT_FIT_TEXT_ADVICE));
  }
  return status;
}

static int run_plan(const cli_args_t *args) {
  tacit_fit_t *fit;
  tacit_error_t err;
  double n_units, width = 0;
  if (!cli_number(args, "n", &n_units) || !cli_number(args, "want-width", &width)) {
    return CLI_USAGE;
  }
  tacit_status_t status = tacit_fit_new(&fit, args->positionals[0], &err);
  TACIT_THEN(status, cli_set_fit(args, fit, &err));
  bool has_page = cli_is_given(args, "html");
  if (status == TACIT_OK && has_page) {
    status = write_page(args, fit, n_units, &err);
  }
  TACIT_THEN(status, answer(args, fit, n_units, width, &err));
  if (status == TACIT_OK && has_page && !cli_is_given(args, "json")) {
    printf("written: %s, how wide intervals would be at which epsilon\n", cli_value(args, "html"));
  }
  tacit_fit_free(fit);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

const cli_command_t cli_plan = {
    .name = "plan",
    .positionals = "FORMULA|PROGRAM",
    .n_positionals = 1,
    .summary = "say what a budget would buy, by every method, before a record is read",
    .description =
        "Lists for each method how many iterations the budget pays for and what they can be expected to be "
        "worth, from the number of records and the public bounds alone: nothing is read, charged or "
        "released. One forecast (ess) is of a posterior as wide as the schema's bounds suggest, one (if "
        "wide) of a posterior three times as wide, which features that vary less than their bounds allow "
        "make it; they compare methods, and promise nothing. Bits are counted by Renyi accounting here; "
        "tacit fit accounts more tightly and finds about a tenth more iterations. noise-aware releases a few "
        "sums once, where family, schema and formula allow it: what stands for its iterations is their "
        "number. It is recommended unless a chain worth 20 draws or more is narrower by a tenth. With "
        "--want-width and without --epsilon it answers the other way round, from noise-aware's forecast; "
        "--html draws that forecast.",
    .examples = "  tacit plan 'death ~ age + sex + log(flc)' --family bernoulli --schema flchain.yaml \\\n"
                "        --n 7874 --epsilon 3 --delta 1e-6\n"
                "  tacit plan 'death ~ age + sex' --family bernoulli --schema flchain.yaml --n 7874 --delta "
                "1e-6 --want-width 1.3\n"
                "  tacit plan 'death ~ age + sex' --family bernoulli --schema flchain.yaml --n 7874 --delta "
                "1e-6 --html plan.html\n",
    .task = TACIT_TASK_PLAN,
    .required = {"schema", "n"},
    .run = run_plan};
