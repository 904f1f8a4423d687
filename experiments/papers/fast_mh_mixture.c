/*
 * [Zhang2023, section 6.1]: truncated mixture of two normals, N = 50000, temperature 500; two parameters, two
 * modes.
 *
 * The acceptance rule is Barker's: with the paper's min(1, r) a decision without noise is not private at any
 * epsilon (docs/theory.md, section 11). A proposal has a fixed length M, so each decision costs the same, b
 * (2 + b / a) with b = c M.
 */
#include <stdlib.h>
#include <string.h>

#include "models/models.h"
#include "papers.h"

enum {
  n_records = 50000,
  grid = 100,
  n_cells = grid * grid,
  fine = 2,
  n_levels = 385,
  most_runs = 8,
  most_chains = 3,
  n_marks = 10
};

static const double temperature = 500, step_delta = 1e-5, paper_step = 0.06, paper_lambda = 10;
static const double box[4] = {-2, 3, -3, 3}; /* of the paper's pictures */

/* ---- data, and the exact posterior ---- */

typedef struct mixture {
  tacit_model_t model;
  target_t target;
  float *x;
  /* c: of a record's tempered log ratio per unit of length, for |x| <= 3 and |theta_j| <= 3 [Zhang2023, E.1]
   */
  double bound;
  double cells[n_cells]; /* posterior probabilities */
} mixture_t;

static double log_posterior(const double *count, double t1, double t2) {
  double sum = -t1 * t1 / 20 - t2 * t2 / 2;
  for (int k = 0; k < n_levels; k++) {
    double x = (k - 192) / 64.0, p = -(x - t1) * (x - t1) / 4, q = -(x - t1 - t2) * (x - t1 - t2) / 4;
    sum += count[k] / temperature * (fmax(p, q) + log1p(exp(-fabs(p - q))));
  }
  return sum;
}

/* Records are multiples of 1/64, so that the likelihood is a sum over 385 levels, and cells are integrated
 * over 4 points. */
static void integrate(mixture_t *m, const double *count) {
  double total = 0, top = log_posterior(count, 0, 1);
  memset(m->cells, 0, sizeof m->cells);
  for (size_t i = 0; i < grid * fine; i++) {
    for (size_t j = 0; j < grid * fine; j++) {
      double t1 = box[0] + (box[1] - box[0]) * ((double)i + 0.5) / (grid * fine);
      double t2 = box[2] + (box[3] - box[2]) * ((double)j + 0.5) / (grid * fine);
      double p = exp(log_posterior(count, t1, t2) - top);
      m->cells[i / fine * grid + j / fine] += p;
      total += p;
    }
  }
  for (size_t i = 0; i < n_cells; i++) {
    m->cells[i] /= total;
  }
}

static mixture_t *open_mixture(const run_t *run) {
  mixture_t *m = allocate(1, sizeof *m);
  tacit_rng_t *rng = study_rng(run, 0);
  tacit_error_t err;
  double count[n_levels] = {0};
  m->x = allocate(n_records, sizeof *m->x);
  for (size_t i = 0; i < n_records;) {
    double x = rint(64 * (sqrt(2) * tacit_rng_normal(rng) + (double)(tacit_rng_bits(rng) & 1))) / 64;
    if (fabs(x) <= 3) {
      count[(int)(64 * x) + 192]++;
      m->x[i++] = (float)x;
    }
  }
  tacit_rng_free(rng);
  m->bound = hypot((2 * 3 + 3 * 3) / 2.0, (3 + 2 * 3) / 2.0) / temperature;
  must(tacit_model_init_mixture(&m->model, 2, (const double[]){10, 1}, &err), &err);
  m->target = (target_t){.name = "mixture", .model = &m->model, .n = n_records, .n_columns = 1, .x = m->x};
  integrate(m, count);
  return m;
}

static void close_mixture(mixture_t *m) {
  tacit_model_clear(&m->model);
  free(m->x);
  free(m);
}

static size_t cell_of(double t1, double t2) {
  double i = floor(grid * (t1 - box[0]) / (box[1] - box[0])),
         j = floor(grid * (t2 - box[2]) / (box[3] - box[2]));
  bool is_inside = i >= 0 && i < grid && j >= 0 && j < grid;
  return is_inside ? (size_t)i * grid + (size_t)j : n_cells;
}

/* The authors' estimate: of histograms, empty cells counting 1e-13, against the exact cells here instead of a
 * long run. */
static double symmetric_kl(const mixture_t *m, const double *count, double n) {
  double sum = 0;
  for (size_t i = 0; i < n_cells; i++) {
    double p = count[i] / n, q = m->cells[i];
    sum += (p - q) * (log(fmax(p, 1e-13)) - log(fmax(q, 1e-13)));
  }
  return sum / 2;
}

static double kl_of_draws(const mixture_t *m, const tacit_draws_t *draws, size_t chain, size_t n) {
  double *count = allocate(n_cells + 1, sizeof *count);
  for (size_t i = 0; i < n; i++) {
    const double *theta = tacit_draws_row(draws, chain, i);
    count[cell_of(theta[0], theta[1])]++;
  }
  double kl = symmetric_kl(m, count, (double)n);
  free(count);
  return kl;
}

/* Mean of the logarithm of the exact cell probability, over the draws of all chains. */
static double log_density_of_draws(const mixture_t *m, const tacit_draws_t *draws) {
  double sum = 0;
  size_t n = draws->n_saved * draws->n_chains;
  for (size_t i = 0; i < n; i++) {
    const double *theta = tacit_draws_row(draws, i / draws->n_saved, i % draws->n_saved);
    size_t cell = cell_of(theta[0], theta[1]);
    sum += log(cell < n_cells ? fmax(m->cells[cell], 1e-13) : 1e-13) / (double)n;
  }
  return sum;
}

/* What n independent draws score. */
static double kl_of_exact(const run_t *run, const mixture_t *m, size_t n) {
  tacit_rng_t *rng = study_rng(run, 1);
  double *count = allocate(n_cells, sizeof *count), *sum = allocate(n_cells + 1, sizeof *sum);
  for (size_t i = 0; i < n_cells; i++) {
    sum[i + 1] = sum[i] + m->cells[i];
  }
  for (size_t k = 0; k < n; k++) {
    double u = tacit_rng_uniform(rng) * sum[n_cells];
    size_t low = 0, high = n_cells;
    while (high - low > 1) {
      size_t middle = (low + high) / 2;
      *(sum[middle] <= u ? &low : &high) = middle;
    }
    count[low]++;
  }
  double kl = symmetric_kl(m, count, (double)n);
  free(count);
  free(sum);
  tacit_rng_free(rng);
  return kl;
}

/* ---- runs ---- */

typedef struct series_of_runs {
  double log_density[most_runs]; /* mean log_density_of_draws() */
  const char *method, *label;
  size_t n, n_iterations, n_chains;
  double step_epsilon[most_runs], total_epsilon[most_runs], length[most_runs], kl[most_runs],
      batch[most_runs], expected_batch[most_runs];
  /* the latter of one iteration of one chain */
  double one_epsilon[most_runs], accept_rate[most_runs], milliseconds[most_runs];
  double mark[n_marks], kl_at[n_marks], seconds_at[n_marks]; /* of the run at the paper's step epsilon */
} series_of_runs_t;

/*
 * Settings whose decision costs step_epsilon. All records: 2 b; penalty: the paper's noise, sqrt(2 log(1.25 /
 * delta)) / epsilon sensitivities, at the length where its sd is 1.5. Minibatch: b (2 + b / a), with a = b as
 * long as a move is not longer than is useful; what is left then pays for a smaller batch.
 */
static trial_t trial_of(const mixture_t *m, const char *method, double step_epsilon, double *length) {
  trial_t t = trial_default(method, 7);
  double longest = 0.16, multiplier = sqrt(2 * log(1.25 / step_delta)) / step_epsilon;
  bool is_penalty = strcmp(method, "dp-penalty") == 0, is_full = strcmp(method, "dp-fast-mh-full") == 0;
  *length = is_penalty ? 1.5 / (multiplier * 2 * m->bound) : step_epsilon / ((is_full ? 2 : 3) * m->bound);
  *length = fmin(*length, longest);
  double b = m->bound * *length;
  t.delta = step_delta;
  t.limits.clip_bound_ratio = m->bound;
  t.limits.temperature_power = 1 / temperature;
  t.settings.proposal = TACIT_PROPOSAL_FULL;
  t.settings.step_size = *length / sqrt(2); /* penalty: normal proposals of about this length */
  t.settings.accept_rule = (tacit_accept_rule_t){.kind = TACIT_ACCEPT_BARKER, .max_bound = b};
  t.settings.noise_multiplier_ratio = multiplier;
  t.settings.intensity = is_penalty || is_full ? b : b / (step_epsilon * (1 - 1e-6) / b - 2);
  t.settings.n_public = n_records;
  t.settings.max_batch = n_records;
  return t;
}

static void keep_path(const mixture_t *m, series_of_runs_t *s, const outcome_t *outcome) {
  for (size_t k = 0; k < n_marks; k++) {
    size_t n = (k + 1) * s->n_iterations / n_marks;
    double kl[most_chains];
    for (size_t c = 0; c < s->n_chains; c++) {
      kl[c] = kl_of_draws(m, &outcome->draws, c, n);
    }
    s->mark[k] = (double)n;
    s->kl_at[k] = sorted_median(kl, s->n_chains);
    s->seconds_at[k] = outcome->seconds / (double)s->n_chains * (double)(k + 1) / n_marks;
  }
}

static void run_series(const mixture_t *m, series_of_runs_t *s, const double *step_epsilons, size_t n) {
  s->n = n;
  for (size_t i = 0; i < n; i++) {
    trial_t t = trial_of(m, s->method, step_epsilons[i], &s->length[i]);
    outcome_t outcome;
    double kl[most_chains];
    t.settings.n_chains = 1;
    s->step_epsilon[i] = step_epsilons[i];
    s->one_epsilon[i] = trial_epsilon(&m->target, &t, 1);
    s->expected_batch[i] =
        tacit_curator_minibatch_size(n_records, t.settings.accept_rule.max_bound, t.settings.intensity);
    s->total_epsilon[i] = trial_epsilon(&m->target, &t, s->n_iterations);
    t.settings.n_chains = s->n_chains;
    t.settings.n_draws = s->n_iterations;
    trial_run(&m->target, &t, &outcome);
    for (size_t c = 0; c < s->n_chains; c++) {
      kl[c] = kl_of_draws(m, &outcome.draws, c, s->n_iterations);
    }
    double n_decisions = (double)(s->n_chains * s->n_iterations);
    s->kl[i] = sorted_median(kl, s->n_chains);
    s->batch[i] = (double)outcome.notes.n_ratio / n_decisions;
    s->log_density[i] = log_density_of_draws(m, &outcome.draws);
    s->accept_rate[i] = outcome.accept_rate;
    s->milliseconds[i] = 1e3 * outcome.seconds / n_decisions;
    if (fabs(step_epsilons[i] - 0.05) < 1e-9) {
      keep_path(m, s, &outcome);
    }
    outcome_clear(&outcome);
  }
}

/* ---- Figure 1 ---- */

enum { n_series = 3, n_curve = 40 };

static void draw(run_t *run, const mixture_t *m, const series_of_runs_t *s, const double *floor_at) {
  static double batch[n_curve], cost[2][n_curve], one_batch, one_cost;
  double b = m->bound * paper_step * sqrt(acos(-1) / 2);
  for (size_t k = 0; k < n_curve; k++) { /* 0: minibatch; 1: all records */
    double a = b * pow(10, -1.5 + 3.0 * (double)k / (n_curve - 1));
    batch[k] = tacit_curator_minibatch_size(n_records, b, a);
    cost[0][k] = b * (2 + b / a);
    cost[1][k] = 2 * b;
  }
  double a = paper_lambda / n_records;
  one_batch = tacit_curator_minibatch_size(n_records, b, a);
  one_cost = b * (2 + b / a);
  chart_t chart = {.title = "DP-Fast MH paper, Figure 1: truncated mixture", .n_columns = 2, .n_panels = 5};
  chart.panels[0] = (panel_t){.title = "(a) as in the paper: epsilon of one iteration",
                              .x_label = "epsilon of one iteration",
                              .y_label = "symmetric KL",
                              .log_x = true,
                              .log_y = true};
  chart.panels[1] = (panel_t){.title = "the same, by epsilon of the whole chain",
                              .x_label = "epsilon of all iterations (delta = 1e-5)",
                              .y_label = "symmetric KL",
                              .log_x = true,
                              .log_y = true};
  chart.panels[2] = (panel_t){.title = "(b) at epsilon = 0.05 an iteration",
                              .x_label = "iterations",
                              .y_label = "symmetric KL",
                              .log_y = true};
  chart.panels[3] = (panel_t){.title = "(c) at epsilon = 0.05 an iteration",
                              .x_label = "seconds",
                              .y_label = "symmetric KL",
                              .log_x = true,
                              .log_y = true};
  chart.panels[4] = (panel_t){.title = "(d) batch size against privacy, step 0.06",
                              .x_label = "mean batch size",
                              .y_label = "epsilon of one iteration",
                              .log_x = true,
                              .log_y = true};
  for (int i = 0; i < n_series; i++) {
    panel_add(&chart.panels[0], s[i].label, i, MARK_DOTS, s[i].step_epsilon, s[i].kl, s[i].n);
    panel_add(&chart.panels[1], s[i].label, i, MARK_DOTS, s[i].total_epsilon, s[i].kl, s[i].n);
    panel_add(&chart.panels[2], s[i].label, i, MARK_DOTS, s[i].mark, s[i].kl_at, n_marks);
    panel_add(&chart.panels[3], s[i].label, i, MARK_DOTS, s[i].seconds_at, s[i].kl_at, n_marks);
  }
  panel_add(&chart.panels[2], "independent exact draws", 6, MARK_DASHED, s[0].mark, floor_at, n_marks);
  panel_add(&chart.panels[4], s[0].label, 0, MARK_LINE, batch, cost[0], n_curve);
  panel_add(&chart.panels[4], s[1].label, 1, MARK_LINE, batch, cost[1], n_curve);
  panel_add(&chart.panels[4], "at the paper's lambda = 10", 3, MARK_DOTS, &one_batch, &one_cost, 1);
  chart_write(run, "", &chart);
}

static void write_rows(run_t *run, const series_of_runs_t *s) {
  table_t table =
      table_open(run, "",
                 "method,epsilon of one iteration,iterations,epsilon of all by our accountant,epsilon of "
                 "all by adding,length of a move,mean batch,acceptance,symmetric KL,milliseconds an "
                 "iteration");
  for (size_t k = 0; k < n_series; k++) {
    for (size_t i = 0; i < s[k].n; i++) {
      table_row(&table, true, "%s,%g,%zu,%.3g,%.4g,%.3g,%.0f,%.2f,%.3f,%.3f", s[k].method,
                s[k].step_epsilon[i], s[k].n_iterations, s[k].total_epsilon[i],
                s[k].step_epsilon[i] * (double)s[k].n_iterations, s[k].length[i], s[k].batch[i],
                s[k].accept_rate[i], s[k].kl[i], s[k].milliseconds[i]);
    }
  }
  table_close(&table);
}

static void explain(run_t *run, const mixture_t *m, const series_of_runs_t *s, double floor) {
  double b = m->bound * paper_step * sqrt(acos(-1) / 2), a = paper_lambda / n_records;
  size_t last = s[0].n - 1;
  say(run,
      "\n**What the paper says.** epsilon = 0.05 and delta = 1e-5 an iteration, lambda = 10, K = 60, steps "
      "normal(0, 0.06^2), 20000 iterations; its curves have no numbers. Symmetric KL is estimated as in the "
      "authors' program, from 100 by 100 cells with empty ones counted as 1e-13, here against exact cell "
      "probabilities: %.2f for as many independent draws as the longest run has.\n\n**What differs.** (1) "
      "The "
      "acceptance rule: min(1, r) without noise, the paper's free branch, is not private at any epsilon "
      "([corrections](../corrections/corrections.md), `reject-minibatch`); Barker's rule is, at c M (2 + C M "
      "/ "
      "lambda) a step. (2) c is public, %.4f, and the same for all records, from |x| <= 3 and |theta| <= 3, "
      "and is "
      "enforced by clipping: it is the paper's bound at |x| = 3. (3) A move has one length, so that every "
      "decision "
      "costs the same. (4) Branches follow a public rule.\n\n**What it shows.** At the paper's own steps and "
      "lambda "
      "a decision costs %.4f, not 0.05, with the guarantee proven (its batch: %.0f records). At 0.05 a "
      "decision, "
      "moves can be as long as is useful (0.16; longer ones are rejected too often for this estimate, which "
      "counts "
      "empty cells), and what is left buys smaller batches: panel (d) is the paper's three-way trade-off. "
      "But "
      "epsilon of one iteration says nothing of a chain: %zu of them at 0.05 add up to %.0f, at which "
      "nothing is "
      "protected; our accountant certifies %.3g for the same decisions, because a decision's cost falls with "
      "the "
      "square of its bound (panel 2, and column 4). The paper's noise makes the penalty method of all "
      "records "
      "cheaper in total than its %g an iteration suggest (%.3g for %zu iterations), at %.0f times the time "
      "of a "
      "minibatch.\n\n",
      floor, m->bound, b * (2 + b / a), tacit_curator_minibatch_size(n_records, b, a), s[0].n_iterations,
      0.05 * (double)s[0].n_iterations, s[0].total_epsilon[last], 0.05, s[2].total_epsilon[1],
      s[2].n_iterations, s[2].milliseconds[1] / s[0].milliseconds[last]);
}

static void check_mixture(run_t *run, const mixture_t *m, const series_of_runs_t *s) {
  size_t last = s[0].n - 1;
  double worst_batch = 0, worst_step = 0;
  for (size_t i = 0; i <= last; i++) {
    worst_batch = fmax(worst_batch, fabs(s[0].batch[i] / s[0].expected_batch[i] - 1));
    worst_step = fmax(worst_step, s[0].one_epsilon[i] / s[0].step_epsilon[i]);
  }
  for (size_t i = 0; i < 2; i++) {
    worst_step = fmax(worst_step, s[1].one_epsilon[i] / s[1].step_epsilon[i]);
  }
  /* A Poisson number of records in each of 2000 iterations, 67 and more a batch: relative sd below 0.3 %. */
  check(run, worst_batch < 0.02, "mean batches are within %.2g of n (a + b)", worst_batch);
  check(run, worst_step <= 1.0001, "one decision costs at most its epsilon: %.4f of it", worst_step);
  check(run, s[0].total_epsilon[last] < 0.2 * s[0].step_epsilon[last] * (double)s[0].n_iterations,
        "the accountant's epsilon of the chain, %.3g, is below a fifth of the sum", s[0].total_epsilon[last]);
  double expected = 0;
  for (size_t i = 0; i < n_cells; i++) {
    expected += m->cells[i] > 0 ? m->cells[i] * log(m->cells[i]) : 0;
  }
  /* A log density in two dimensions has an sd of about 1, and a chain of 2000 moves some 100 effective values
   * of it; a likelihood raised to the power p has a mean 1 - 1 / p higher. */
  check(run, fabs(s[0].log_density[last] - expected) < (run->quick ? 0.4 : 0.15),
        "mean log probability of the cells that draws are in: %.3f, expected %.3f", s[0].log_density[last],
        expected);
  /* Seeds are fixed. The modes are 2.2 apart: moves of 0.038, all that 0.002 buys, need thousands of steps
   * from one to the other; moves of 0.16 some two hundred. */
  check(run, s[0].kl[last] < s[0].kl[0],
        "symmetric KL at epsilon = 0.05 an iteration, %.2f, is below %.2f at 0.002", s[0].kl[last],
        s[0].kl[0]);
}

static void run_mixture(run_t *run) {
  static const double all[] = {0.002, 0.005, 0.01, 0.02, 0.05}, few[] = {0.002, 0.05};
  static series_of_runs_t s[n_series];
  static double floor_at[n_marks];
  mixture_t *m = open_mixture(run);
  size_t n_chains = run->quick ? 1 : most_chains, n_iterations = run->quick ? 2000 : 20000;
  static const char *const methods[n_series] = {"dp-fast-mh", "dp-fast-mh-full", "dp-penalty"};
  static const char *const labels[n_series] = {"DP-Fast MH, Barker's rule", "the same with all records",
                                               "penalty method, the paper's noise"};
  for (size_t i = 0; i < n_series; i++) {
    s[i] = (series_of_runs_t){.method = methods[i],
                              .label = labels[i],
                              .n_chains = i == 0 ? n_chains : 1,
                              .n_iterations = i == 0       ? n_iterations
                                              : run->quick ? 150
                                                           : 5000};
    bool is_short = run->quick || i > 0;
    run_series(m, &s[i], is_short ? few : all, is_short ? 2 : 5);
  }
  for (size_t k = 0; k < n_marks; k++) {
    floor_at[k] = kl_of_exact(run, m, (k + 1) * n_iterations / n_marks);
  }
  say(run,
      "\n%zu chain%s of %zu iterations for minibatches (the median is given), one of %zu where all records "
      "are looked "
      "at; all start "
      "at 0, nothing is discarded, as in the authors' program.\n",
      n_chains, n_chains > 1 ? "s" : "", n_iterations, s[1].n_iterations);
  write_rows(run, s);
  draw(run, m, s, floor_at);
  explain(run, m, s, floor_at[n_marks - 1]);
  check_mixture(run, m, s);
  close_mixture(m);
}

const study_t study_fast_mixture = {"fast-mh-mixture", 'c', "[Zhang2023], Figure 1",
                                    "DP-Fast MH: truncated mixture", run_mixture};
