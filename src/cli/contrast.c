/* tacit contrast: functions of parameters, and effects averaged over rows that the analyst brings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/predict.h"
#include "report/report_internal.h"

enum { MAX_ROWS = 4096 };

typedef struct contrasts {
  const cli_args_t *args;
  bool is_exponentiated;
  const char *ratio; /* what is exponentiated is */
  char *labels[MAX_ROWS];
  tacit_summary_t summaries[MAX_ROWS];
  double p_above[MAX_ROWS]; /* share of draws above no effect: 0, exponentiated 1 */
  size_t n;
} contrasts_t;

/* Takes the label. */
static tacit_status_t add(contrasts_t *all, char *label, double *draws, const tacit_draws_t *of,
                          bool is_exponentiated, tacit_error_t *err) {
  size_t n_kept = tacit_draws_n_kept(of), n = of->n_chains * n_kept, above = 0;
  if (label == NULL) {
    return tacit_error_memory(err);
  }
  if (all->n == MAX_ROWS) {
    tacit_free(label);
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "expression",
                           "more than %d contrasts: ask for them in parts", (int)MAX_ROWS);
  }
  all->labels[all->n] = label;
  for (size_t i = 0; i < n; i++) {
    above += draws[i] > 0;
    draws[i] = is_exponentiated ? exp(draws[i]) : draws[i];
  }
  all->p_above[all->n] = (double)above / (double)n;
  return tacit_summarise(draws, of->n_chains, n_kept, &all->summaries[all->n++], err);
}

static char *join(const char *format, const char *a, const char *b) {
  tacit_text_t text = {0};
  tacit_text_printf(&text, format, a, b);
  if (text.failed) {
    tacit_text_clear(&text);
  }
  return text.data;
}

static tacit_status_t add_expressions(contrasts_t *all, const tacit_report_read_t *fit, tacit_error_t *err) {
  const cli_args_t *args = all->args;
  double *draws = tacit_alloc(fit->draws.n_chains * tacit_draws_n_kept(&fit->draws), sizeof *draws);
  tacit_status_t status = draws != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 1; i < args->n_positionals && status == TACIT_OK; i++) {
    status = tacit_contrast(fit, args->positionals[i], draws, err);
    if (status == TACIT_OK) {
      const char *format = all->is_exponentiated ? "exp(%s)%s" : "%s%s";
      status =
          add(all, join(format, args->positionals[i], ""), draws, &fit->draws, all->is_exponentiated, err);
    }
  }
  tacit_free(draws);
  return status;
}

typedef struct effects {
  contrasts_t *all;
  const tacit_draws_t *of;
} effects_t;

static tacit_status_t add_effect(void *user, const char *label, double *draws, tacit_error_t *err) {
  effects_t *effects = user;
  return add(effects->all, join("%s%s", label, ""), draws, effects->of, false, err);
}

static tacit_status_t add_effects(contrasts_t *all, const char *path, tacit_error_t *err) {
  cli_new_rows_t rows = {0};
  tacit_predictor_t *predictor;
  tacit_status_t status = tacit_predictor_new(&predictor, path, err);
  TACIT_THEN(status, cli_new_rows_read(&rows, predictor, cli_value(all->args, "population"), err));
  const char *effect;
  for (size_t i = 0;
       status == TACIT_OK && (effect = tacit_settings_next(&all->args->given, "effect", &i)) != NULL;) {
    effects_t effects = {all, &tacit_predictor_fit(predictor)->draws};
    status = tacit_average_effects(predictor, &rows.rows, effect, add_effect, &effects, err);
  }
  cli_new_rows_clear(&rows);
  tacit_predictor_free(predictor);
  return status;
}

static tacit_status_t print_table(const contrasts_t *all, tacit_error_t *err) {
  char *text;
  tacit_status_t status =
      tacit_report_table((const char *const *)all->labels, all->summaries, all->n, &text, err);
  if (status != TACIT_OK) {
    return status;
  }
  fputs(text, stdout);
  tacit_report_text_free(text);
  printf("\n");
  for (size_t i = 0; i < all->n; i++) {
    printf("P(%s > %d) = %.3f\n", all->labels[i],
           strncmp(all->labels[i], "exp(", 4) == 0 && all->is_exponentiated, all->p_above[i]);
  }
  if (all->is_exponentiated && all->ratio[0] != '\0') {
    printf("\nexp() of a coefficient is %s.\n", all->ratio);
  }
  return TACIT_OK;
}

static tacit_status_t print_json(const contrasts_t *all, tacit_error_t *err) {
  tacit_text_t text = {0};
  tacit_text_printf(&text, "[");
  for (size_t i = 0; i < all->n; i++) {
    const tacit_summary_t *s = &all->summaries[i];
    tacit_text_printf(&text, "%s\n  {\"name\": ", i > 0 ? "," : "");
    tacit_text_json_string(&text, all->labels[i]);
    tacit_text_json_field(&text, "mean", s->mean);
    tacit_text_json_field(&text, "sd", s->sd);
    tacit_text_json_field(&text, "q5", s->q5);
    tacit_text_json_field(&text, "q50", s->q50);
    tacit_text_json_field(&text, "q95", s->q95);
    tacit_text_json_field(&text, "p_above", all->p_above[i]);
    tacit_text_json_field(&text, "mcse_mean", s->mcse_mean);
    tacit_text_json_field(&text, "ess_bulk", s->ess_bulk);
    tacit_text_json_field(&text, "ess_tail", s->ess_tail);
    tacit_text_json_field(&text, "rhat", s->rhat);
    if (all->is_exponentiated && strncmp(all->labels[i], "exp(", 4) == 0 && all->ratio[0] != '\0') {
      tacit_text_printf(&text, ", \"of_coefficient\": ");
      tacit_text_json_string(&text, all->ratio);
    }
    tacit_text_printf(&text, "}");
  }
  tacit_text_printf(&text, "\n]\n");
  tacit_status_t status = text.failed ? tacit_error_memory(err) : TACIT_OK;
  if (status == TACIT_OK) {
    fwrite(text.data, 1, text.length, stdout);
  }
  tacit_text_clear(&text);
  return status;
}

static tacit_status_t write_picture(const contrasts_t *all, const char *path, tacit_error_t *err) {
  char *svg;
  tacit_status_t status =
      tacit_report_intervals_svg((const char *const *)all->labels, all->summaries, all->n, &svg, err);
  if (status == TACIT_OK) {
    status = tacit_file_create(path, svg, strlen(svg), err);
    tacit_report_text_free(svg);
  }
  return status;
}

static tacit_status_t contrast(contrasts_t *all, tacit_error_t *err) {
  const cli_args_t *args = all->args;
  tacit_report_read_t fit;
  tacit_status_t status = tacit_report_read(&fit, args->positionals[0], err);
  if (status == TACIT_OK) {
    all->ratio = tacit_ratio_of(&fit);
    status = add_expressions(all, &fit, err);
  }
  tacit_report_read_clear(&fit);
  if (status == TACIT_OK && cli_is_given(args, "effect")) {
    status = add_effects(all, args->positionals[0], err);
  }
  if (status == TACIT_OK && cli_is_given(args, "picture")) {
    status = write_picture(all, cli_value(args, "picture"), err);
  }
  TACIT_THEN(status, cli_is_given(args, "json") ? print_json(all, err) : print_table(all, err));
  return status;
}

static int run_contrast(const cli_args_t *args) {
  bool has_effect = cli_is_given(args, "effect");
  if (has_effect != cli_is_given(args, "population")) {
    cli_error(args, "%s",
              has_effect ? "--effect averages over rows: give them with --population FILE"
                         : "--population needs --effect COLUMN");
    return CLI_USAGE;
  }
  if (args->n_positionals < 2 && !has_effect) {
    cli_error(args, "nothing to compute: give an expression such as 'age - sexM', or --effect COLUMN with "
                    "--population FILE");
    return CLI_USAGE;
  }
  contrasts_t *all = tacit_alloc_zero(1, sizeof *all);
  tacit_error_t err;
  tacit_status_t status = all != NULL ? TACIT_OK : tacit_error_memory(&err);
  if (status == TACIT_OK) {
    all->args = args;
    all->is_exponentiated = cli_is_given(args, "exponentiate");
    status = contrast(all, &err);
  }
  for (size_t i = 0; all != NULL && i < all->n; i++) {
    tacit_free(all->labels[i]);
  }
  tacit_free(all);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

static const tacit_setting_t options[] = {
    {"exponentiate", NULL, NULL,
     "Of the expressions: of coefficients odds ratios (bernoulli, cumulative), rate ratios (poisson, "
     "negbinomial), time ratios (weibull), ...; it is said which.",
     CLI_FLAG},
    {"effect", "COLUMN", NULL,
     "What changing a column does to the expected response, averaged over --population: of a categorical or "
     "binary column each level less the first, of a number its derivative. May be repeated.",
     CLI_TEXT},
    {"population", "FILE", NULL,
     "CSV of rows to average over, public or released; checked as by tacit predict.", CLI_TEXT},
    {"picture", "FILE", NULL, "Write medians and 90 % intervals as SVG there; must not exist.", CLI_TEXT},
    {"json", NULL, NULL, "Print JSON.", CLI_FLAG},
    {0}};

const cli_command_t cli_contrast = {
    .name = "contrast",
    .positionals = "DIR [EXPRESSION ...]",
    .n_positionals = 1,
    .n_optional = MAX_ROWS,
    .summary = "compute functions of parameters: ratios, differences, average effects",
    .description =
        "Evaluates expressions in the parameters of a fit for every draw, and summarises them: + - * / ^, "
        "parentheses, numbers, exp, log, sqrt, inv_logit, and parameters by the labels of tacit summary or "
        "their names in Stan CSV (a label is taken before a function of the same spelling, and may stand in "
        "backquotes). Computed from released draws: costs no privacy.",
    .examples = "  tacit contrast fit/ sexM 'age * 10' --exponentiate\n  tacit contrast fit/ --effect sex "
                "--population public.csv --json\n",
    .options = options,
    .run = run_contrast};
