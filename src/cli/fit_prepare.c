#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/fit.h"
#include "cli/ranks.h"

/* All ranks draw the same noise, from a key that the first of them makes. */
static tacit_status_t open_noise(cli_fit_t *fit, tacit_error_t *err) {
  unsigned char key[32];
  if (fit->is_seeded) {
    return tacit_noise_new_seeded_not_private(&fit->noise, fit->seed, err);
  }
  if (cli_ranks() == NULL) {
    return tacit_noise_new(&fit->noise, err);
  }
  tacit_status_t status = tacit_rng_key_from_system(key, err);
  if (status == TACIT_OK && cli_ranks_agree(CLI_OK) == CLI_OK) {
    cli_ranks_share_key(key);
    status = tacit_noise_new_with_key(&fit->noise, key, err);
  }
  tacit_rng_key_wipe(key);
  return status;
}

int cli_fit_prepare(cli_fit_t *fit) {
  const cli_args_t *args = fit->args;
  tacit_error_t err;
  if (tacit_schema_read(&fit->schema, cli_value(args, "schema"), &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  tacit_relation_t relation = tacit_schema_relation(fit->schema);
  tacit_status_t status =
      tacit_design_new(&fit->design, args->positionals[0], fit->schema, fit->family, &err);
  if (status != TACIT_OK) {
    return cli_fail(args, &err);
  }
  tacit_glm_settings_t glm = tacit_glm_settings_default();
  glm.family = fit->family;
  glm.known_sd = fit->known_sd;
  glm.priors = fit->priors;
  glm.n_priors = fit->n_priors;
  glm.prior_on_original_scale = strcmp(cli_value(args, "prior-scale"), "original") == 0;
  if (tacit_model_init_glm(&fit->model, fit->design, &glm, &err) != TACIT_OK) {
    cli_error(args, "%s", err.message);
    return err.status == TACIT_ERR_MEMORY ? CLI_FAILURE : CLI_USAGE;
  }
  cli_fit_tuning_prepare(fit);
  int prepared = fit->is_exposed ? CLI_OK : cli_fit_aware_prepare(fit);
  if (prepared != CLI_OK) {
    return prepared;
  }
  if (!fit->is_exposed && relation == TACIT_RELATION_ADD_REMOVE && !(fit->n_public > 0)) {
    cli_error(args, "under relation add-remove the number of units is private: give a public nominal number with "
                    "--n-public N, for the default settings");
    return CLI_USAGE;
  }
  if (!fit->is_exposed) {
    status = tacit_budget_new(&fit->budget, fit->epsilon, fit->delta, relation, &err);
  }
  if (status == TACIT_OK) { /* an exposed run draws nothing but minibatches from it */
    status = open_noise(fit, &err);
  }
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

/* Numbers separated by spaces, commas or newlines; # begins a comment line. Returned owned. */
static int read_numbers(const cli_args_t *args, const char *path, double **numbers, size_t *n) {
  char *text;
  size_t length;
  tacit_error_t err;
  *n = 0;
  if (tacit_file_read(path, (size_t)1 << 26, &text, &length, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  *numbers = tacit_alloc(length / 2 + 1, sizeof **numbers);
  int status = *numbers != NULL ? CLI_OK : CLI_FAILURE;
  size_t line = 1;
  for (const char *s = text; *s != '\0' && status == CLI_OK;) {
    size_t word = strcspn(s, " ,\t\r\n#");
    if (*s == '#') {
      s += strcspn(s, "\n");
    } else if (word == 0) {
      line += *s++ == '\n';
    } else if (!tacit_number_parse(s, word, &(*numbers)[*n])) {
      cli_error(args, "%s:%zu: expected numbers", path, line);
      status = CLI_USAGE;
    } else {
      (*n)++;
      s += word;
    }
  }
  tacit_free(text);
  return status;
}

static int read_metric(cli_fit_t *fit) {
  const char *path = cli_value(fit->args, "metric-file");
  size_t dim = fit->model.parameters.dim, n;
  fit->inv_metric = tacit_alloc_zero(dim, sizeof *fit->inv_metric);
  if (fit->inv_metric == NULL) {
    cli_error(fit->args, "out of memory");
    return CLI_FAILURE;
  }
  if (path == NULL) {
    fit->tuned.inv_metric = fit->inv_metric;
    return CLI_OK;
  }
  if (fit->settings.tune_metric) {
    cli_error(fit->args, "give either --metric private or --metric-file");
    return CLI_USAGE;
  }
  tacit_free(fit->inv_metric);
  int status = read_numbers(fit->args, path, &fit->inv_metric, &n);
  if (status == CLI_OK && n != dim && n != dim * dim) {
    cli_error(fit->args, "%s holds %zu numbers; an inverse metric of %zu parameters has %zu or %zu", path, n, dim, dim,
              dim * dim);
    return CLI_USAGE;
  }
  fit->settings.inv_metric = fit->inv_metric;
  fit->settings.inv_metric_is_dense = n != dim;
  return status;
}

static int read_init(cli_fit_t *fit) {
  const char *path = cli_value(fit->args, "init");
  size_t dim = fit->model.parameters.dim, n_chains = fit->settings.n_chains, n;
  bool is_private = strcmp(path, "private") == 0;
  if (is_private || strcmp(path, "0") == 0) {
    fit->settings.n_init_steps = is_private ? CLI_START_STEPS : 0;
    return CLI_OK;
  }
  double *values = NULL;
  int status = read_numbers(fit->args, path, &values, &n);
  if (status == CLI_OK && n != dim && n != dim * n_chains) {
    cli_error(fit->args, "%s holds %zu numbers; start values are %zu for all chains, or %zu", path, n, dim,
              dim * n_chains);
    status = CLI_USAGE;
  }
  fit->init = status == CLI_OK ? tacit_alloc(dim * n_chains, sizeof *fit->init) : NULL;
  for (size_t i = 0; fit->init != NULL && i < dim * n_chains; i++) {
    fit->init[i] = values[n == dim ? i % dim : i];
  }
  tacit_free(values);
  fit->settings.init = fit->init;
  return status;
}

/* The records that this rank has a share in. */
static tacit_status_t pack(cli_fit_t *fit, const tacit_table_t *table, tacit_records_t **records, tacit_error_t *err) {
  const tacit_ranks_t *ranks = cli_ranks();
  fit->limits.ranks = ranks;
  return tacit_design_pack_part(records, fit->design, table, ranks != NULL ? ranks->rank : 0,
                                ranks != NULL ? ranks->n_ranks : 1, fit->limits.n_threads, cli_value(fit->args, "scratch"), err);
}

static int open_records(cli_fit_t *fit) {
  size_t n_columns;
  const char *const *columns = tacit_design_columns(fit->design, &n_columns);
  tacit_table_t *table;
  tacit_records_t *records = NULL;
  tacit_error_t err;
  tacit_status_t status = tacit_table_read(&table, cli_value(fit->args, "data"), fit->schema, columns, n_columns,
                                           &fit->notes, &err);
  if (status == TACIT_OK) {
    status = pack(fit, table, &records, &err);
  }
  tacit_table_free(table);
  if (status == TACIT_OK && cli_ranks_agree(CLI_OK) != CLI_OK) {
    tacit_records_free(records);
    return CLI_FAILURE;
  }
  if (status == TACIT_OK) {
    fit->limits.max_unit_rows = tacit_schema_max_rows(fit->schema);
    fit->limits.subset_noise = fit->noise;
    status = fit->is_exposed ? tacit_curator_new_exposed(&fit->curator, records, &fit->model.records, &fit->limits, &err)
                             : tacit_curator_new(&fit->curator, records, &fit->model.records, fit->budget, fit->noise,
                                                 &fit->limits, &err);
  }
  return status == TACIT_OK ? CLI_OK : cli_fail(fit->args, &err);
}

/* The whole run is charged for in advance where its releases are not all Gaussian. */
static tacit_status_t set_schedule(cli_fit_t *fit, tacit_error_t *err) {
  tacit_event_t *events;
  size_t n;
  if (!tacit_sampler_needs_schedule(fit->method, &fit->settings)) {
    return TACIT_OK;
  }
  tacit_status_t status =
      tacit_sampler_schedule(fit->method, &fit->settings, fit->curator, fit->plan.n_iterations, &events, &n, err);
  if (status == TACIT_OK) {
    status = tacit_budget_set_schedule(fit->budget, events, n, err);
  }
  tacit_free(events);
  return status;
}

int cli_fit_open(cli_fit_t *fit) {
  tacit_error_t err;
  int status = read_metric(fit);
  if (status == CLI_OK) {
    status = read_init(fit);
  }
  if (status == CLI_OK) {
    status = open_records(fit);
  }
  if (status != CLI_OK) {
    return status;
  }
  if (fit->method->is_one_off) {
    return cli_fit_aware_plan(fit);
  }
  double n_units = fit->n_public;
  size_t n;
  if (!(n_units > 0)) {
    if (tacit_curator_n_units(fit->curator, &n, &err) != TACIT_OK) {
      return cli_fail(fit->args, &err);
    }
    n_units = (double)n;
  }
  tacit_plan_request_t request = {.curator = fit->curator,
                                  .parameters = &fit->model.parameters,
                                  .n_units = n_units,
                                  .rho = fit->budget != NULL ? tacit_budget_rho(fit->budget) : INFINITY,
                                  .epsilon = fit->epsilon,
                                  .delta = fit->delta,
                                  .relation = tacit_schema_relation(fit->schema)};
  if (tacit_plan(fit->method, &request, &fit->settings, fit->inv_metric, &fit->plan, &err) != TACIT_OK ||
      set_schedule(fit, &err) != TACIT_OK) {
    return cli_fail(fit->args, &err);
  }
  cli_fit_forecast(fit);
  return CLI_OK;
}

void cli_fit_clear(cli_fit_t *fit) {
  tacit_curator_free(fit->curator);
  tacit_noise_free(fit->noise);
  tacit_budget_free(fit->budget);
  tacit_model_clear(&fit->model);
  tacit_design_free(fit->design);
  tacit_schema_free(fit->schema);
  for (size_t i = 0; i < fit->n_priors; i++) {
    tacit_prior_entry_clear(&fit->priors[i]);
  }
  tacit_free(fit->priors);
  tacit_free(fit->inv_metric);
  tacit_free(fit->init);
  tacit_free(fit->is_two_valued);
  tacit_free(fit->data_id);
}
