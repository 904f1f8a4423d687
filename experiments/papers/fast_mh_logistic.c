/*
 * [Zhang2023, section 6.2]: logistic regression of MNIST digits 7 and 9 on 50 principal components, random
 * walks of 40000 steps. The components come from the records themselves: an experiment, not a private
 * analysis.
 */
#include <stdlib.h>
#include <string.h>

#include "papers.h"

enum { dim = 50, n_marks = 20, n_runs = 5 };

static const double norm_bound = 10.2, step_delta = 1e-5, paper_step = 4.3e-4, paper_lambda = 10;

/* The norm of a row of features, each scaled by norm_bound, is at most 1: so is what a record's log ratio
 * changes by per unit. */
static regression_source_t source_of(char formula[1024], char schema[4096]) {
  size_t f = (size_t)snprintf(formula, 1024, "is_nine ~ 0"), s;
  s = (size_t)snprintf(schema, 4096,
                       "dataset: digits\nrelation: substitute\ncolumns:\n  is_nine: {type: binary}\n");
  for (size_t j = 1; j <= dim; j++) {
    f += (size_t)snprintf(formula + f, 1024 - f, " + pc%zu", j);
    s += (size_t)snprintf(schema + s, 4096 - s, "  pc%zu: {type: numeric, lower: %g, upper: %g}\n", j,
                          -norm_bound, norm_bound);
  }
  return (regression_source_t){.formula = formula,
                               .schema = schema,
                               .train = "mnist_7v9_pca50_train.csv",
                               .test = "mnist_7v9_pca50_test.csv",
                               .family = TACIT_FAMILY_BERNOULLI,
                               .prior_sd =
                                   100, /* the paper's is flat; this one is 10 on a component's own scale */
                               .n = 15000};
}

/* ---- runs ---- */

typedef struct walk {
  const char *label, *method;
  double step_epsilon; /* of one decision; 0: not private, or planned for total_epsilon */
  double total_epsilon, batch, accept_rate, milliseconds;
  size_t n_iterations;
  double mark[n_marks], accuracy[n_marks]; /* of the mean of all draws so far, as in the authors' program */
  double last_accuracy;                    /* of the mean of the second half */
} walk_t;

static double accuracy_of(const regression_t *r, const double *theta) {
  size_t n_right = 0;
  for (size_t i = 0; i < r->n_test; i++) {
    const float *row = r->x_test + i * (dim + 1);
    double eta = 0;
    for (size_t j = 0; j < dim; j++) {
      eta += theta[j] * (double)row[j];
    }
    n_right += (eta > 0) == (row[dim] > 0.5f);
  }
  return (double)n_right / (double)r->n_test;
}

static void follow(const regression_t *r, const tacit_draws_t *draws, walk_t *walk) {
  double sum[dim] = {0}, half[dim];
  size_t n = draws->n_saved, k = 0;
  for (size_t i = 0; i < n; i++) {
    const double *theta = tacit_draws_row(draws, 0, i);
    for (size_t j = 0; j < dim; j++) {
      sum[j] += theta[j];
    }
    if (i + 1 == n / 2) {
      memcpy(half, sum, sizeof half);
    }
    if (i + 1 == (k + 1) * n / n_marks) {
      walk->mark[k] = (double)(i + 1);
      walk->accuracy[k++] = accuracy_of(r, sum);
    }
  }
  for (size_t j = 0; j < dim; j++) {
    sum[j] -= half[j];
  }
  walk->last_accuracy = accuracy_of(r, sum);
}

static void finish(const regression_t *r, trial_t *t, walk_t *walk) {
  outcome_t outcome;
  walk->n_iterations = t->settings.n_warmup + t->settings.n_draws;
  walk->total_epsilon =
      tacit_method_find(t->method)->is_private ? trial_epsilon(&r->train, t, walk->n_iterations) : INFINITY;
  trial_run(&r->train, t, &outcome);
  follow(r, &outcome.draws, walk);
  walk->batch = fmin((double)outcome.notes.n_ratio / (double)walk->n_iterations,
                     (double)r->train.n); /* lanes are padded */
  walk->accept_rate = outcome.accept_rate;
  walk->milliseconds = 1e3 * outcome.seconds / (double)walk->n_iterations;
  outcome_clear(&outcome);
}

/* Moves of norm b / c, so that a decision costs step_epsilon: 3 b with a = b, or 2 b of all records. */
static void run_walk(const run_t *run, const regression_t *r, walk_t *walk) {
  trial_t t = trial_default(walk->method, 21);
  bool is_full = strcmp(walk->method, "dp-fast-mh-full") == 0;
  double b = walk->step_epsilon * (1 - 1e-6) / (is_full ? 2 : 3);
  t.delta = step_delta;
  t.limits.clip_bound_ratio = 1;
  t.settings.n_chains = 1;
  t.settings.n_draws = run->quick ? 1500 : 40000;
  t.settings.proposal = TACIT_PROPOSAL_FULL;
  t.settings.step_size = b / sqrt(dim);
  t.settings.accept_rule = (tacit_accept_rule_t){.kind = TACIT_ACCEPT_BARKER, .max_bound = b};
  t.settings.intensity = b;
  t.settings.n_public = (double)r->train.n;
  t.settings.max_batch = (double)r->train.n;
  finish(r, &t, walk);
}

static void run_planned(const run_t *run, const regression_t *r, double epsilon, walk_t *walk) {
  trial_t t = trial_default(walk->method, 23);
  double metric[dim];
  bool is_private = tacit_method_find(walk->method)->is_private;
  t.delta = step_delta;
  t.settings.n_chains = 1;
  t.settings.n_warmup = is_private ? TACIT_WARMUP_AUTO : run->quick ? 30 : 500;
  t.settings.n_draws = is_private ? 0 : run->quick ? 30 : 1000;
  t.settings.adapt = !is_private;
  t.settings.step_size = 0;
  trial_plan(&r->train, &t, epsilon, metric);
  finish(r, &t, walk);
}

/* ---- Figure 3 ---- */

static void write_rows(run_t *run, const walk_t *walks) {
  table_t table =
      table_open(run, "",
                 "method,epsilon of one iteration,iterations,epsilon of all by our accountant,epsilon of "
                 "all by adding,mean batch,acceptance,test accuracy,milliseconds an iteration");
  for (size_t i = 0; i < n_runs; i++) {
    const walk_t *w = &walks[i];
    char one[32] = "-", all[32] = "not private", sum[32] = "-", batch[32] = "-";
    if (w->step_epsilon > 0) {
      snprintf(one, sizeof one, "%g", w->step_epsilon);
      snprintf(sum, sizeof sum, "%g", w->step_epsilon * (double)w->n_iterations);
      snprintf(batch, sizeof batch, "%.0f", w->batch);
    }
    if (isfinite(w->total_epsilon)) {
      snprintf(all, sizeof all, "%.3g", w->total_epsilon);
    }
    table_row(&table, true, "%s,%s,%zu,%s,%s,%s,%.2f,%.4f,%.3f", w->label, one, w->n_iterations, all, sum,
              batch, w->accept_rate, w->last_accuracy, w->milliseconds);
  }
  table_close(&table);
}

static void draw(run_t *run, const walk_t *walks) {
  static double total[n_runs][2], accuracy[n_runs][2];
  chart_t chart = {.title = "DP-Fast MH paper, Figure 3: MNIST 7 or 9", .n_columns = 2, .n_panels = 2};
  chart.panels[0] = (panel_t){.title = "mean of all draws so far",
                              .x_label = "iterations",
                              .y_label = "test accuracy",
                              .log_x = true};
  chart.panels[1] = (panel_t){.title = "at the end, by what the chain costs",
                              .x_label = "epsilon of all iterations (delta = 1e-5)",
                              .y_label = "test accuracy",
                              .log_x = true};
  for (int i = 0; i < n_runs; i++) {
    panel_add(&chart.panels[0], walks[i].label, i, isfinite(walks[i].total_epsilon) ? MARK_LINE : MARK_DASHED,
              walks[i].mark, walks[i].accuracy, n_marks);
    total[i][0] = isfinite(walks[i].total_epsilon) ? walks[i].total_epsilon : 0.1;
    total[i][1] = isfinite(walks[i].total_epsilon) ? total[i][0] : 100;
    accuracy[i][0] = accuracy[i][1] = walks[i].last_accuracy;
    panel_add(&chart.panels[1], walks[i].label, i, isfinite(walks[i].total_epsilon) ? MARK_DOTS : MARK_DASHED,
              total[i], accuracy[i], 2);
  }
  chart_write(run, "", &chart);
}

static void explain(run_t *run, const regression_t *r, const walk_t *walks) {
  double length = paper_step * sqrt(dim), rate = (double)r->train.n * norm_bound * length + paper_lambda,
         own = 0;
  for (size_t i = 0; i < r->train.n; i++) {
    double square = 0;
    for (size_t j = 0; j < dim; j++) {
      square += pow((double)r->x[i * (dim + 1) + j] * norm_bound, 2);
    }
    own += sqrt(square);
  }
  say(run,
      "\n**What the paper says.** epsilon = 0.05 and delta = 1e-5 an iteration, steps normal(0, (4.3e-4)^2), "
      "lambda "
      "= 10, K = 225, 40000 iterations, accuracy of the mean of all draws.\n\n**What differs.** (1) Its code "
      "compares 2 log(1 + 1 / (lambda C M)) with the budget instead of 2 log(1 + C M / lambda), so that no "
      "noise is "
      "ever added ([corrections](../corrections/corrections.md), `wrong-threshold`); the rule is min(1, r), "
      "which "
      "is not private without. Here it is Barker's. (2) Its bounds are the norms of the records, which are "
      "private; "
      "here the bound is one public norm, %g. At the paper's step the mean batch is %.0f with its bounds, "
      "about K, "
      "and %.0f with ours: beyond K, so that all records would be looked at. Batches here are n (a + b) with "
      "a = b. "
      "(3) A move has one length, which makes a decision cost the epsilon given.\n\n**What it shows.** At "
      "0.05 an "
      "iteration the walk of minibatches reaches an accuracy of %.3f, that of all records, whose moves are "
      "half as "
      "long again, %.3f; HMC without privacy %.3f. The chain costs epsilon = %.3g by our accountant, not "
      "0.05, and "
      "%g by adding up. At %.3g for everything, DP-MALA with settings from public facts has %.3f.\n\n",
      norm_bound, own * length + paper_lambda, rate, walks[0].last_accuracy, walks[1].last_accuracy,
      walks[4].last_accuracy, walks[0].total_epsilon, walks[0].step_epsilon * (double)walks[0].n_iterations,
      walks[3].total_epsilon, walks[3].last_accuracy);
}

static void run_logistic(run_t *run) {
  static walk_t walks[n_runs] = {
      {.label = "DP-Fast MH: 0.05 an iteration", .method = "dp-fast-mh", .step_epsilon = 0.05},
      {.label = "the same with all records", .method = "dp-fast-mh-full", .step_epsilon = 0.05},
      {.label = "DP-Fast MH: 0.01 an iteration", .method = "dp-fast-mh", .step_epsilon = 0.01},
      {.label = "DP-MALA planned", .method = "dp-mala"},
      {.label = "HMC without privacy", .method = "hmc"}};
  char formula[1024], schema[4096];
  regression_source_t source = source_of(formula, schema);
  regression_t r;
  regression_open(run, &source, &r);
  say(run, "\n%s: %zu records for fitting, %zu for tests.\n",
      r.is_real ? "MNIST, digits 7 and 9" : "A simulated stand-in, because the files are not there",
      r.train.n, r.n_test);
  for (size_t i = 0; i < 3; i++) {
    run_walk(run, &r, &walks[i]);
  }
  run_planned(run, &r, 2, &walks[3]);
  run_planned(run, &r, 1, &walks[4]);
  write_rows(run, walks);
  draw(run, walks);
  explain(run, &r, walks);
  /* One decision of bounded range epsilon is epsilon^2 / 8 zCDP; that of 1500 and more costs far less than
   * their sum.
   * */
  check(run, walks[0].total_epsilon < 0.15 * walks[0].step_epsilon * (double)walks[0].n_iterations,
        "the accountant's epsilon of the chain, %.3g, is below 15 %% of the sum", walks[0].total_epsilon);
  check(run, fabs(walks[0].batch / ((double)r.train.n * 2 * 0.05 / 3) - 1) < 0.02,
        "the mean batch is %.1f, of %.1f expected", walks[0].batch, (double)r.train.n * 2 * 0.05 / 3);
  /* The standard error of a share of 2000 and more test rows is below 0.012. */
  check(run, walks[4].last_accuracy > walks[0].last_accuracy - 0.03 && walks[0].last_accuracy > 0.6,
        "accuracy %.3f of the walk, %.3f without privacy", walks[0].last_accuracy, walks[4].last_accuracy);
  regression_clear(&r);
}

const study_t study_fast_logistic = {"fast-mh-logistic", 'c', "[Zhang2023], Figure 3",
                                     "DP-Fast MH: logistic regression", run_logistic};
