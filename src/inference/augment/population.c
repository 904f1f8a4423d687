/*
 * Records of a program, given what was published of their statistics: chains of theta and the records
 * (latent.c), or, where the statistics take finitely many values, of theta and the number of records in each
 * cell.
 *
 * There the published values see the counts alone, y ~ g(. | sum_c N_c t_c), and the counts see theta through
 * the cells' probabilities. So theta given N has the density p(theta) prod_c p_c(theta)^N_c.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/population_internal.h"

/* ---- theta ---- */

/* Where a trajectory has lost its way: beyond it nothing would be accepted, and nothing has to be integrated.
 */
static const double FAR_BELOW = 1000;

/*
 * Where a record's density could not be integrated, a point that is at least this far below the chain's, and
 * 2 for each parameter, is one where no chain comes to: distributions as wide as the doubles, or all but a
 * point. Nearer, the run says so.
 */
static const double NEVER_BELOW = 20;

/* At most what the records of a group say: probabilities as their counts. */
static double most_of(const tacit_population_part_t *part, size_t n_cells) {
  double n = 0, most = 0;
  for (size_t a = 0; a < n_cells; a++) {
    n += part->apart[a];
  }
  for (size_t a = 0; a < n_cells; a++) {
    most += part->apart[a] > 0 ? part->apart[a] * log(part->apart[a] / n) : 0;
  }
  return most;
}

/* The same, where only 1 - missing of the cells' probability was found. */
static double most_found(const tacit_population_part_t *part, size_t n_cells, double missing) {
  double most = 0;
  for (size_t a = 0; a < n_cells; a++) {
    most += part->apart[a] > 0 ? part->apart[a] * log(fmin(1, exp(part->trial_log_p[a]) + missing)) : 0;
  }
  return most;
}

double tacit_population_chain_log_prior(const tacit_population_chain_t *c, const double *theta,
                                        double *grad) {
  return c->run->table != NULL ? tacit_table_log_prior(c->run->table, theta, grad)
                               : tacit_population_log_prior(
                                     tacit_distribution_workspace(c->parts[0].distribution), theta, grad);
}

bool tacit_population_set_distribution(tacit_population_chain_t *c, size_t g, const double *theta,
                                       double others) {
  tacit_population_part_t *part = &c->parts[g];
  size_t n_cells = c->run->groups[g].apart.n_cells;
  double total;
  tacit_distribution_outcome_t outcome =
      tacit_distribution_set(part->distribution, theta, part->trial_log_p, &total);
  if (outcome == TACIT_DISTRIBUTION_NOT_ONE) {
    double most = most_of(part, n_cells);
    most = total < 1 ? fmin(most, most_found(part, n_cells, 1 - total)) : most;
    bool is_reached = !(others + most < c->walk->value - NEVER_BELOW - 2 * (double)c->walk->dim);
    c->n_not_one += is_reached;
    c->worst = is_reached ? total : c->worst;
  }
  c->has_no_number = c->has_no_number || outcome == TACIT_DISTRIBUTION_NO_NUMBER;
  return outcome == TACIT_DISTRIBUTION_OK;
}

/* What the records of a group say, and its gradient; `others` is the rest of the log density, or more. */
static double add_group(tacit_population_chain_t *c, size_t g, const double *theta, double others,
                        double *grad) {
  tacit_population_part_t *part = &c->parts[g];
  size_t n_cells = c->run->groups[g].apart.n_cells;
  double value = 0;
  if (!tacit_population_set_distribution(c, g, theta, others)) {
    return -INFINITY;
  }
  for (size_t a = 0; a < n_cells; a++) {
    value += part->apart[a] > 0 ? part->apart[a] * part->trial_log_p[a] : 0;
  }
  tacit_distribution_add_grad(part->distribution, part->apart, part->trial_log_p, grad);
  return value;
}

static double density(void *user, const double *theta, double *grad) {
  tacit_population_chain_t *c = user;
  double others = 0; /* at most what groups say that were not looked at yet */
  for (size_t j = 0; j < c->walk->dim; j++) {
    if (!isfinite(theta[j])) {
      return -INFINITY;
    }
  }
  for (size_t g = c->from; g < c->to; g++) {
    others += most_of(&c->parts[g], c->run->groups[g].apart.n_cells);
  }
  double value = tacit_population_chain_log_prior(c, theta, grad);
  if (!isfinite(value) || value + others < c->walk->value - FAR_BELOW) {
    return -INFINITY;
  }
  for (size_t g = c->from; g < c->to && value > -INFINITY; g++) {
    others -= most_of(&c->parts[g], c->run->groups[g].apart.n_cells);
    value += add_group(c, g, theta, value + others, grad);
  }
  if (!(value > -INFINITY)) {
    return -INFINITY;
  }
  for (size_t j = 0; j < c->walk->dim; j++) {
    if (!isfinite(grad[j])) {
      return -INFINITY;
    }
  }
  return isnan(value) ? -INFINITY : value;
}

/* ---- a chain ---- */

/* The parameters at hand are those of walk i: of a table those of group i, else all. */
static void choose_walk(tacit_population_chain_t *c, size_t i) {
  bool is_table = c->run->table != NULL;
  c->walk = &c->walks[i];
  c->from = is_table ? i : 0;
  c->to = is_table ? i + 1 : c->run->n_groups;
}

static tacit_status_t refuse_start(tacit_population_chain_t *c) {
  if (c->n_not_one > 0) {
    return tacit_error_set(&c->outcome->err, TACIT_ERR_ARGUMENT, "model",
                           "the density of a record adds up to 1 %+.3g over the values that it is declared "
                           "to have: every number of the data "
                           "needs a distribution, and bounds inside its range a truncation, T[a, b]",
                           c->worst - 1);
  }
  return tacit_error_set(&c->outcome->err, TACIT_ERR_ARGUMENT, "model",
                         c->has_no_number ? "the density of a record is no finite number for some of the "
                                            "values that it is declared to have: give it the bounds of its "
                                            "distribution, real<lower=0>"
                                          : "no parameters were found that agree with what was published: is "
                                            "a cell filled that the model cannot reach?");
}

static tacit_status_t begin_cells(tacit_population_chain_t *c) {
  enum { N_SWEEPS = 30 };
  if (!tacit_counts_begin(c)) { /* even, then as the published values say */
    return refuse_start(c);
  }
  for (int i = 0; i < N_SWEEPS; i++) {
    tacit_counts_sweep(c);
  }
  for (size_t i = 0; i < c->n_walks; i++) {
    choose_walk(c, i);
    if (!tacit_trajectory_start(c->walk, c->rng)) {
      return refuse_start(c);
    }
    if (c->run->table != NULL) { /* theta moves as far as the counts of the moment let it, along all of which
                                    the curvature is known */
      tacit_trajectory_start_at(c->walk);
    }
  }
  return TACIT_OK;
}

static tacit_status_t make_parts(tacit_population_chain_t *c) {
  const tacit_population_run_t *run = c->run;
  tacit_status_t status = TACIT_OK;
  c->parts = tacit_alloc_zero(run->n_groups, sizeof *c->parts);
  if (c->parts == NULL) {
    return tacit_error_memory(&c->outcome->err);
  }
  for (size_t g = 0; g < run->n_groups && status == TACIT_OK; g++) {
    tacit_population_part_t *part = &c->parts[g];
    double **arrays[] = {&part->counts, &part->trial_counts, &part->more,
                         &part->apart,  &part->log_p,        &part->trial_log_p};
    for (size_t i = 0; i < 6; i++) {
      *arrays[i] =
          tacit_alloc_zero(i > 2 ? run->groups[g].apart.n_cells : run->groups[g].n_cells, sizeof **arrays[i]);
      if (*arrays[i] == NULL) {
        return tacit_error_memory(&c->outcome->err);
      }
    }
    part->p = tacit_alloc_zero(run->groups[g].n_cells, sizeof *part->p);
    part->is_with = tacit_alloc_zero(run->groups[g].n_cells, sizeof *part->is_with);
    if (part->p == NULL || part->is_with == NULL) {
      return tacit_error_memory(&c->outcome->err);
    }
    status = tacit_distribution_new(&part->distribution, &run->groups[g].apart, &c->outcome->err);
  }
  return status;
}

static tacit_status_t allow_single(tacit_trajectory_t *w, size_t n, tacit_error_t *err) {
  w->single_width = tacit_alloc(n, sizeof *w->single_width);
  w->n_single = tacit_alloc_zero(n, sizeof *w->n_single);
  for (size_t j = 0; j < n && w->single_width != NULL; j++) {
    w->single_width[j] = 1;
  }
  return w->single_width != NULL && w->n_single != NULL ? TACIT_OK : tacit_error_memory(err);
}

static tacit_status_t make_walks(tacit_population_chain_t *c, tacit_trajectory_density of) {
  const tacit_table_distribution_t *table = c->run->table;
  size_t n = table != NULL ? c->run->n_groups : 1,
         dim = table != NULL ? table->n_effects : tacit_population_n_parameters(c->run->population);
  c->walks = tacit_alloc_zero(n, sizeof *c->walks);
  c->table_workspace =
      table != NULL ? tacit_alloc_zero(tacit_table_n_values(table), sizeof *c->table_workspace) : NULL;
  tacit_status_t status = c->walks != NULL && (table == NULL || c->table_workspace != NULL)
                              ? TACIT_OK
                              : tacit_error_memory(&c->outcome->err);
  for (; status == TACIT_OK && c->n_walks < n; c->n_walks++) {
    status = tacit_trajectory_init(&c->walks[c->n_walks], dim, of, c, &c->outcome->err);
    c->walks[c->n_walks].carry_width = 1;
    status = status == TACIT_OK && table != NULL
                 ? allow_single(&c->walks[c->n_walks], tacit_table_n_values(table), &c->outcome->err)
                 : status;
  }
  if (status == TACIT_OK) {
    choose_walk(c, 0);
  }
  return status;
}

static tacit_status_t begin(tacit_population_chain_t *c, const tacit_population_run_t *run, size_t index) {
  bool is_latent = run->method == TACIT_AUGMENT_GIBBS;
  c->run = run;
  c->outcome = &run->chains.outcomes[index];
  c->sums = tacit_alloc_zero(run->n_sums, sizeof *c->sums);
  c->trial_sums = tacit_alloc_zero(run->n_sums, sizeof *c->trial_sums);
  c->workspace = tacit_alloc_zero(2 * run->n_sums, sizeof *c->workspace);
  tacit_status_t status = c->sums != NULL && c->trial_sums != NULL && c->workspace != NULL
                              ? tacit_rng_new(&c->rng, run->chains.settings->key, index, &c->outcome->err)
                              : tacit_error_memory(&c->outcome->err);
  status = status == TACIT_OK ? (is_latent ? tacit_latent_new(c, &c->outcome->err) : make_parts(c)) : status;
  status = status == TACIT_OK && run->chains.settings->misfit != NULL
               ? tacit_misfit_new(&c->misfit, run, index, &c->outcome->err)
               : status;
  status = status == TACIT_OK ? make_walks(c, is_latent ? tacit_latent_density : density) : status;
  return status != TACIT_OK ? status : is_latent ? tacit_latent_begin(c) : begin_cells(c);
}

static void step_cells(tacit_population_chain_t *c, size_t iteration, double *accept) {
  enum { CARRIES = 8, MANY = 60, SINGLES = 3 };
  size_t n_warmup = c->run->chains.settings->n_warmup;
  double total;
  *accept = 0;
  for (size_t i = 0; i < c->n_walks; i++) {
    choose_walk(c, i);
    tacit_trajectory_refresh(c->walk);
    double accepted = tacit_trajectory_step(c->walk, c->rng);
    *accept += accepted / (double)c->n_walks;
    if (iteration < n_warmup) {
      tacit_trajectory_tune(c->walk, accepted, iteration, n_warmup);
    }
    for (size_t g = c->from; g < c->to; g++) {
      (void)tacit_distribution_set(c->parts[g].distribution, c->walk->theta, c->parts[g].log_p, &total);
    }
  }
  tacit_counts_sweep(c);
  for (size_t i = 0; i < c->n_walks; i++) {
    choose_walk(c, i);
    if (c->run->table == NULL || c->walk->dim <= MANY) {
      tacit_carry(c, CARRIES, iteration < n_warmup);
    }
    if (c->run->table != NULL) {
      tacit_carry_singly(c, SINGLES * tacit_table_n_values(c->run->table), iteration < n_warmup);
    }
  }
}

static tacit_status_t step(tacit_population_chain_t *c, size_t iteration, double *accept) {
  size_t n_warmup = c->run->chains.settings->n_warmup;
  if (c->latent == NULL) {
    step_cells(c, iteration, accept);
    return TACIT_OK;
  }
  tacit_status_t status = tacit_latent_step(c, accept);
  if (status == TACIT_OK && iteration < n_warmup) {
    tacit_trajectory_tune(c->walk, *accept, iteration, n_warmup);
  }
  return status;
}

/* Effects of all groups; numbers of records that are unknown; shares and counts. */
static double keep_table(tacit_population_chain_t *c, double *to) {
  const tacit_population_run_t *run = c->run;
  double log_prior = 0;
  for (size_t g = 0; g < run->n_groups; g++) {
    memcpy(to, c->walks[g].theta, run->table->n_effects * sizeof *to);
    log_prior += tacit_table_log_prior(run->table, c->walks[g].theta, NULL);
    to += run->table->n_effects;
  }
  for (size_t g = 0; g < run->n_groups; g++) {
    if (run->groups[g].as->n_records == 0) {
      *to++ = c->parts[g].n;
    }
  }
  for (size_t g = 0; g < run->n_groups; g++) {
    to = tacit_table_report(run->table, c->parts[g].log_p, c->parts[g].counts, c->table_workspace, to);
  }
  return log_prior;
}

static double keep_program(tacit_population_chain_t *c, double *to) {
  const tacit_population_run_t *run = c->run;
  tacit_population_workspace_t *workspace = c->latent != NULL
                                                ? tacit_latent_workspace(c->latent)
                                                : tacit_distribution_workspace(c->parts[0].distribution);
  tacit_population_report(workspace, c->walk->theta, to);
  size_t at = tacit_population_n_reported(run->population);
  for (size_t g = 0; g < run->n_groups; g++) {
    if (run->groups[g].as->n_records == 0) {
      to[at++] = c->parts[g].n;
    }
  }
  return tacit_population_log_prior(workspace, c->walk->theta, NULL);
}

static void keep(tacit_population_chain_t *c, size_t index, size_t row, double accept) {
  tacit_draws_t *draws = c->run->chains.draws;
  double *to = tacit_draws_row(draws, index, row),
         log_prior = c->run->table != NULL ? keep_table(c, to) : keep_program(c, to);
  draws->stats[index * (draws->n_warmup + draws->n_draws) + row] =
      (tacit_draw_stats_t){.log_prior = log_prior,
                           .accept_stat = accept,
                           .step_size = c->walks[0].step_size,
                           .n_leapfrog = (double)c->walks[0].n_leapfrog};
}

static void begin_task(void *user, size_t index, size_t thread) {
  const tacit_population_run_t *run = user;
  (void)thread;
  run->chains.outcomes[index].status = begin(&run->each[index], run, index);
}

/* The iterations of a round of one chain. */
static void advance(void *user, size_t index, size_t thread) {
  const tacit_population_run_t *run = user;
  tacit_population_chain_t *c = &run->each[index];
  const tacit_augment_settings_t *s = run->chains.settings;
  tacit_outcome_t *o = c->outcome;
  (void)thread;
  for (; o->iteration < run->chains.round_end; o->iteration++) {
    size_t i = o->iteration;
    double accept;
    if (s->proceed != NULL && !s->proceed(index, i, s->user)) {
      break;
    }
    if (i == s->n_warmup) {
      c->n_not_one = 0;
      o->n_proposed = o->n_accepted = o->min_log_ratio = 0;
    }
    o->status = step(c, i, &accept);
    if (o->status != TACIT_OK) {
      return;
    }
    if (i >= s->n_warmup) {
      o->path_accept += accept;
      o->n_paths++;
      o->n_full += !c->walk->is_short;
      o->n_lost += !c->walk->is_short && accept < TACIT_LOST_BELOW;
    }
    if (i < s->n_warmup || (i - s->n_warmup + 1) % s->thin == 0) {
      keep(c, index, o->n_saved++, accept);
    }
    if (c->misfit != NULL && i >= s->n_warmup && (i - s->n_warmup + 1) % s->thin == 0) {
      tacit_misfit_look(c, (i - s->n_warmup) / s->thin);
    }
  }
  o->step_size = c->walk->step_size;
}

static void chain_clear(tacit_population_chain_t *c) {
  for (size_t i = 0; i < c->n_walks; i++) {
    tacit_trajectory_clear(&c->walks[i]);
  }
  tacit_free(c->walks);
  tacit_free(c->table_workspace);
  for (size_t g = 0; c->parts != NULL && g < c->run->n_groups; g++) {
    tacit_population_part_t *part = &c->parts[g];
    tacit_distribution_free(part->distribution);
    tacit_free(part->counts);
    tacit_free(part->trial_counts);
    tacit_free(part->more);
    tacit_free(part->p);
    tacit_free(part->is_with);
    tacit_free(part->apart);
    tacit_free(part->log_p);
    tacit_free(part->trial_log_p);
  }
  tacit_latent_free(c->latent);
  tacit_misfit_free(c->misfit);
  tacit_rng_free(c->rng);
  tacit_free(c->parts);
  tacit_free(c->sums);
  tacit_free(c->trial_sums);
  tacit_free(c->workspace);
}

/* ---- a run ---- */

static tacit_status_t conclude(const tacit_population_run_t *run, tacit_augment_result_t *result,
                               tacit_error_t *err) {
  result->method = run->method;
  result->is_exact = true;
  for (size_t g = 0; g < run->n_groups && run->method == TACIT_AUGMENT_MARGINAL; g++) {
    result->n_cells += run->groups[g].n_cells;
  }
  for (size_t c = 0; c < run->chains.settings->n_chains; c++) {
    if (run->each[c].n_not_one > 0) {
      run->chains.draws->n_saved = 0;
      return tacit_error_set(
          err, TACIT_ERR_NUMERIC, "model",
          "the density of a record added up to 1 %+.3g at parameters that a chain came to: bounds inside its "
          "range need a "
          "truncation, T[a, b], and narrower priors keep chains from where it cannot be integrated",
          run->each[c].worst - 1);
    }
  }
  return TACIT_OK;
}

static tacit_status_t run_all(tacit_population_run_t *run, tacit_augment_result_t *result,
                              tacit_error_t *err) {
  size_t n = run->chains.settings->n_chains;
  run->each = tacit_alloc_zero(n, sizeof *run->each);
  tacit_status_t status =
      run->each != NULL ? tacit_chains_run(&run->chains, run, result, err) : tacit_error_memory(err);
  TACIT_THEN(status, conclude(run, result, err));
  if (status == TACIT_OK && run->chains.settings->misfit != NULL) {
    tacit_misfit_conclude(run, run->chains.settings->misfit);
  }
  for (size_t c = 0; run->each != NULL && c < n; c++) {
    chain_clear(&run->each[c]);
  }
  tacit_free(run->each);
  return status;
}

static tacit_status_t check_population(const tacit_augment_settings_t *s, tacit_error_t *err) {
  if (s->n_chains < 1 || s->n_draws < 1 || s->thin < 1 || s->n_threads < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "draws",
                           "chains, draws, thin and threads must be at least 1");
  }
  if (s->method == TACIT_AUGMENT_HMC) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                           "for the records of a program there are --method marginal and --method gibbs");
  }
  return TACIT_OK;
}

/* Why records cannot be drawn along, or NULL. */
static const char *find_obstacle(const tacit_population_run_t *run) {
  if (run->table != NULL) {
    return "they are cells of a table, whose counts stand for them";
  }
  for (size_t g = 0; g < run->n_groups; g++) {
    if (run->groups[g].exact != NULL) {
      return "counts without noise, or of answers, go with cells";
    }
    if (run->groups[g].as->given != NULL) {
      return "some of their numbers are given";
    }
  }
  return run->n_unknown > 0 ? "their number is unknown" : tacit_population_obstacle(run->population);
}

/* Cells where there are such, whose cost is free of n; else records, where they can be drawn. */
static tacit_status_t choose(tacit_population_run_t *run, tacit_error_t *err) {
  const char *obstacle = find_obstacle(run);
  tacit_augment_method_t asked = run->chains.settings->method;
  tacit_error_t why = {0};
  run->method = TACIT_AUGMENT_MARGINAL;
  tacit_status_t status = asked != TACIT_AUGMENT_GIBBS ? tacit_groups_cut(run, &why) : TACIT_OK;
  bool has_cells =
      asked != TACIT_AUGMENT_GIBBS && !(status == TACIT_ERR_ARGUMENT && strcmp(why.field, "method") == 0);
  if (has_cells || asked == TACIT_AUGMENT_MARGINAL) {
    if (err != NULL && status != TACIT_OK) {
      *err = why;
    }
    return status;
  }
  run->method = TACIT_AUGMENT_GIBBS;
  return obstacle == NULL
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "method", "%s%srecords cannot be drawn along: %s",
                               why.message, why.message[0] != '\0' ? "; and " : "", obstacle);
}

static tacit_status_t augment(tacit_population_run_t *run, size_t n_groups, const tacit_group_t *groups,
                              size_t n_published, const tacit_published_statistic_t *published,
                              tacit_augment_result_t *result, tacit_error_t *err) {
  const tacit_augment_settings_t *s = run->chains.settings;
  tacit_augment_result_t ignored;
  tacit_draws_t *draws = run->chains.draws;
  run->chains.begin = begin_task;
  run->chains.advance = advance;
  *draws = (tacit_draws_t){0};
  tacit_status_t status = check_population(s, err);
  TACIT_THEN(status, tacit_groups_collect(run, n_groups, groups, n_published, published, err));
  TACIT_THEN(status, choose(run, err));
  status = status == TACIT_OK && run->table != NULL ? tacit_table_list_values(run, err) : status;
  size_t n_reported = run->n_unknown + (run->table != NULL ? tacit_table_n_reported(run->table, n_groups)
                                                           : tacit_population_n_reported(run->population));
  TACIT_THEN(status, tacit_draws_init(draws, s->n_chains, s->n_warmup, s->n_draws, n_reported, err));
  status = status == TACIT_OK ? run_all(run, result != NULL ? result : &ignored, err) : status;
  tacit_groups_clear(run);
  return status;
}

tacit_status_t tacit_augment_population(const struct tacit_population *population, size_t n_groups,
                                        const tacit_group_t *groups, size_t n_published,
                                        const tacit_published_statistic_t *published,
                                        const tacit_augment_settings_t *settings, tacit_draws_t *draws,
                                        tacit_augment_result_t *result, tacit_error_t *err) {
  tacit_population_run_t run = {.population = population, .chains = {.settings = settings, .draws = draws}};
  return augment(&run, n_groups, groups, n_published, published, result, err);
}

tacit_status_t tacit_augment_table(const tacit_table_distribution_t *table, size_t n_groups,
                                   const tacit_group_t *groups, size_t n_published,
                                   const tacit_published_statistic_t *published,
                                   const tacit_augment_settings_t *settings, tacit_draws_t *draws,
                                   tacit_augment_result_t *result, tacit_error_t *err) {
  tacit_population_run_t run = {.table = table, .chains = {.settings = settings, .draws = draws}};
  return augment(&run, n_groups, groups, n_published, published, result, err);
}
