/*
 * [Raisa2021, section 5]: four chains that share the budget on a banana (d = 2) and on a Gaussian mean (d = 10), n = 100000.
 *
 * A run to the largest budget contains the runs to all smaller ones, because steps and noise do not depend on the budget: the
 * results at an epsilon are those of the first iterations that it pays for, the first half of them discarded as in the paper.
 */
#include <stdlib.h>
#include <string.h>

#include "papers.h"
#include "tacit/diagnose.h"

enum { n_records = 100000, n_chains = 4, n_exact = 1000, most_dim = 10, most_repeats = 3, n_epsilons = 7 };

static const double epsilons[n_epsilons] = {2, 4, 6, 8, 10, 12, 15};

/* ---- targets ---- */

typedef struct problem {
  target_t target;
  tacit_model_t model;
  size_t dim;
  bool is_banana;
  double obs_sd[most_dim], truth[most_dim], prior_var;
  double mean[most_dim], sd[most_dim], metric[most_dim]; /* posterior: of u = (theta_1, theta_2 + 20 theta_1^2) for the banana */
  double exact[n_exact * most_dim]; /* draws */
} problem_t;

static void draw_exact(const problem_t *p, tacit_rng_t *rng, double *theta) {
  for (size_t j = 0; j < p->dim; j++) {
    theta[j] = p->mean[j] + p->sd[j] * tacit_rng_normal(rng);
  }
  if (p->is_banana) {
    theta[1] -= 20 * theta[0] * theta[0];
  }
}

/* Records, and the conjugate posterior of u from the records as stored. */
static void simulate(problem_t *p, tacit_rng_t *rng) {
  double sum[most_dim] = {0};
  float *x = allocate((size_t)n_records * p->dim, sizeof *x);
  for (size_t i = 0; i < n_records; i++) {
    for (size_t j = 0; j < p->dim; j++) {
      x[i * p->dim + j] = (float)(p->truth[j] + p->obs_sd[j] * tacit_rng_normal(rng));
      sum[j] += (double)x[i * p->dim + j];
    }
  }
  for (size_t j = 0; j < p->dim; j++) {
    double variance = p->obs_sd[j] * p->obs_sd[j], precision = 1 / p->prior_var + n_records / variance;
    p->mean[j] = sum[j] / variance / precision;
    p->sd[j] = 1 / sqrt(precision);
    p->metric[j] = 1 / precision;
  }
  for (size_t i = 0; i < n_exact; i++) {
    draw_exact(p, rng, p->exact + i * p->dim);
  }
  p->target = (target_t){.name = p->is_banana ? "banana" : "gaussian", .model = &p->model, .n = n_records, .n_columns = p->dim, .x = x};
}

static problem_t *open_problem(const run_t *run, bool is_banana) {
  problem_t *p = allocate(1, sizeof *p);
  tacit_rng_t *rng = study_rng(run, is_banana);
  tacit_error_t err;
  p->is_banana = is_banana;
  p->dim = is_banana ? 2 : 10;
  p->truth[1] = 3;
  p->prior_var = is_banana ? 1000 : 10000;
  if (is_banana) {
    const double variances[2] = {2000, 2500};
    p->obs_sd[0] = sqrt(variances[0]);
    p->obs_sd[1] = sqrt(variances[1]);
    must(tacit_model_init_banana(&p->model, 2, 20, 0, 0, p->prior_var, variances, &err), &err);
  } else { /* the paper draws variances from a gamma law of shape 1/2 that is not printed: these have its spread */
    for (size_t j = 0; j < p->dim; j++) {
      p->obs_sd[j] = sqrt(0.05 * pow(38, (double)j / 9));
    }
    must(tacit_model_init_gaussian_mean(&p->model, p->dim, p->obs_sd, sqrt(p->prior_var), &err), &err);
  }
  simulate(p, rng);
  tacit_rng_free(rng);
  return p;
}

static void close_problem(problem_t *p) {
  free((void *)p->target.x);
  tacit_model_clear(&p->model);
  free(p);
}

/* Posterior mean of theta itself. */
static double exact_mean(const problem_t *p, size_t j) {
  bool is_bent = p->is_banana && j == 1;
  return p->mean[j] - (is_bent ? 20 * (p->mean[0] * p->mean[0] + p->sd[0] * p->sd[0]) : 0);
}

/* ---- settings ---- */

typedef struct setting {
  const char *method, *source;
  bool is_scaled; /* steps in units of the posterior's sds instead of the parameters' */
  double step, clip_grad, clip_ratio, tau_grad, tau_ratio; /* noise multipliers over sqrt(n), as the authors give them */
  size_t n_leapfrog;
  tacit_proposal_t proposal;
  bool reuse_gradient;
  double rate, friction;
} setting_t;

/*
 * "paper": the authors' programs; DP-SGLD and DP-SGNHT with the noise that makes them sample the posterior. eta of those
 * programs is per record: DP-SGLD's drift eta / n is h^2 / 2 here, DP-SGNHT's step is eta / n.
 */
static const setting_t on_banana[] = {
    {"dp-hmc", "paper", false, 0.006, 0.05, 0.1, 0.55, 0.1, 25, TACIT_PROPOSAL_FULL, false, 0, 0},
    {"dp-penalty", "paper", false, 0.06, 0, 0.15, 0, 0.17, 0, TACIT_PROPOSAL_FULL, false, 0, 0},
    {"dp-sgld", "paper", false, 0.004472136, 0.2, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 0.01, 0},
    {"dp-sgnht", "paper", false, 0.001, 0.2, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 0.01, 50},
    {"dp-hmc", "ours", true, 0.06, 0.15, 0.1, 0.55, 0.1, 25, TACIT_PROPOSAL_FULL, true, 0, 0},
    {"dp-penalty", "ours", true, 0.8, 0, 0.1, 0, 0.17, 0, TACIT_PROPOSAL_FULL, true, 0, 0},
    {"dp-sgld", "ours", false, 0.007, 0.6, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 1, 0},
    {"dp-sgnht", "ours", false, 0.007, 0.6, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 1, 10},
};
static const setting_t on_gaussian[] = {
    {"dp-hmc", "paper", false, 0.00015, 10, 6, 0.25, 0.1, 12, TACIT_PROPOSAL_FULL, false, 0, 0},
    {"dp-penalty", "paper", false, 0.0007, 0, 10, 0, 0.05, 0, TACIT_PROPOSAL_FULL, false, 0, 0},
    {"dp-sgld", "paper", false, 0.0004, 15, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 0.01, 0},
    {"dp-sgnht", "paper", false, 0.000002, 12, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 0.01, 30},
    {"dp-hmc", "ours", false, 0.0004, 12, 6, 0.5, 0.1, 8, TACIT_PROPOSAL_FULL, true, 0, 0},
    {"dp-penalty", "ours", false, 0.001, 0, 6, 0, 0.06, 0, TACIT_PROPOSAL_FULL, true, 0, 0},
    {"dp-sgld", "ours", true, 0.4, 12, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 1, 0},
    {"dp-sgnht", "ours", true, 0.1, 12, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 1, 1},
};
enum { n_settings = sizeof on_banana / sizeof on_banana[0] };

static bool is_stochastic(const setting_t *s) {
  return s->rate > 0;
}

/* The noise that a step needs anyway, taken as privacy noise (docs/theory.md, section 17). */
static double own_noise(const setting_t *s, double largest) {
  double injected = strcmp(s->method, "dp-sgld") == 0 ? 4 : -expm1(-2 * s->friction * s->step);
  return s->rate * sqrt(injected) / (s->step * sqrt(largest)) / (2 * s->clip_grad);
}

static trial_t trial_of(const problem_t *p, const setting_t *s, size_t n_runs, uint64_t seed) {
  trial_t t = trial_default(s->method, seed);
  t.delta = 0.1 / n_records;
  t.settings.n_chains = n_chains * n_runs;
  t.settings.step_size = s->step;
  t.settings.n_leapfrog = s->n_leapfrog;
  t.settings.proposal = s->proposal;
  t.settings.reuse_gradient = s->reuse_gradient;
  t.settings.sampling_rate = is_stochastic(s) ? tacit_curator_sampling_rate(s->rate) : 0;
  t.settings.friction = s->friction;
  t.settings.inv_metric = s->is_scaled ? p->metric : NULL;
  t.settings.noise_multiplier_grad = is_stochastic(s) ? own_noise(s, s->is_scaled ? p->metric[p->dim - 1] : 1) : s->tau_grad * sqrt(n_records);
  t.settings.noise_multiplier_ratio = s->tau_ratio * sqrt(n_records);
  t.limits.clip_bound_grad = s->clip_grad;
  t.limits.clip_bound_ratio = s->clip_ratio;
  return t;
}

/* About a posterior sd off the posterior, as in the paper; with real records such a start would have to be public or paid for. */
static double *starts(const problem_t *p, tacit_rng_t *rng, size_t n) {
  double *init = allocate(n * p->dim, sizeof *init);
  for (size_t c = 0; c < n; c++) {
    draw_exact(p, rng, init + c * p->dim);
    for (size_t j = 0; j < p->dim; j++) {
      init[c * p->dim + j] += p->sd[j] * tacit_rng_normal(rng);
    }
  }
  return init;
}

/* ---- measures ---- */

typedef struct score {
  double mmd, mean_error; /* the latter in posterior sds of u */
} score_t;

/* Of the second half of the first k draws of four chains. */
static score_t score_of(const problem_t *p, const tacit_draws_t *draws, size_t first_chain, size_t k) {
  size_t kept = k - k / 2, total = kept * n_chains, n = total < n_exact ? total : n_exact;
  double *sample = allocate(n * p->dim, sizeof *sample), mean[most_dim] = {0}, mmd2;
  for (size_t i = 0; i < total; i++) {
    const double *theta = tacit_draws_row(draws, first_chain + i / kept, k / 2 + i % kept);
    for (size_t j = 0; j < p->dim; j++) {
      mean[j] += theta[j] / (double)total;
    }
  }
  for (size_t i = 0; i < n; i++) {
    size_t at = i * total / n;
    memcpy(sample + i * p->dim, tacit_draws_row(draws, first_chain + at / kept, k / 2 + at % kept), p->dim * sizeof *sample);
  }
  tacit_error_t err;
  must(tacit_mmd2(sample, n, p->exact, n_exact, p->dim, 0, &mmd2, &err), &err);
  free(sample);
  score_t score = {.mmd = sqrt(fabs(mmd2))};
  for (size_t j = 0; j < p->dim; j++) {
    score.mean_error += pow(mean[j] - exact_mean(p, j), 2);
  }
  score.mean_error = sqrt(score.mean_error);
  return score;
}

/* ---- Figure 1: error against budget ---- */

typedef struct curve {
  size_t n_iterations[n_epsilons]; /* of each chain */
  double spent[n_epsilons];
  double mmd[3][n_epsilons], error[3][n_epsilons]; /* median, least, greatest over the repeats */
  double first_variance; /* of theta_1 beside the posterior's, at the largest budget */
  double accept_rate, grad_clipped, ratio_clipped, seconds;
} curve_t;

static double first_variance(const problem_t *p, const tacit_draws_t *draws, size_t n) {
  double sum = 0;
  for (size_t c = 0; c < draws->n_chains; c++) {
    for (size_t i = n / 2; i < n; i++) {
      double z = (tacit_draws_row(draws, c, i)[0] - p->mean[0]) / p->sd[0];
      sum += z * z / (double)((n - n / 2) * draws->n_chains);
    }
  }
  return sum;
}

static void summarise(double values[most_repeats], size_t n, double out[3][n_epsilons], size_t e) {
  out[0][e] = sorted_median(values, n);
  out[1][e] = values[0];
  out[2][e] = values[n - 1];
}

static void measure(const run_t *run, const problem_t *p, const setting_t *s, size_t n_budgets, size_t n_repeats, uint64_t seed,
                    curve_t *curve) {
  size_t most = !is_stochastic(s) ? 100000 : run->quick ? 400 : 8000; /* computed where the budget pays for more */
  trial_t one = trial_of(p, s, 1, seed), all = trial_of(p, s, n_repeats, seed);
  tacit_rng_t *rng = study_rng(run, 100 + seed);
  double *init = starts(p, rng, all.settings.n_chains);
  outcome_t outcome;
  for (size_t e = 0; e < n_budgets; e++) {
    curve->n_iterations[e] = trial_affordable(&p->target, &one, epsilons[e], most);
    curve->spent[e] = trial_epsilon(&p->target, &one, curve->n_iterations[e]);
  }
  all.settings.init = init;
  all.settings.n_draws = curve->n_iterations[n_budgets - 1];
  trial_run(&p->target, &all, &outcome);
  for (size_t e = 0; e < n_budgets; e++) {
    double mmd[most_repeats], error[most_repeats];
    for (size_t r = 0; r < n_repeats; r++) {
      score_t score = score_of(p, &outcome.draws, r * n_chains, curve->n_iterations[e]);
      mmd[r] = score.mmd;
      error[r] = score.mean_error;
    }
    summarise(mmd, n_repeats, curve->mmd, e);
    summarise(error, n_repeats, curve->error, e);
  }
  curve->accept_rate = outcome.accept_rate;
  curve->grad_clipped = outcome.notes.n_grad > 0 ? (double)outcome.notes.n_grad_clipped / (double)outcome.notes.n_grad : 0;
  curve->ratio_clipped = outcome.notes.n_ratio > 0 ? (double)outcome.notes.n_ratio_clipped / (double)outcome.notes.n_ratio : 0;
  curve->first_variance = first_variance(p, &outcome.draws, all.settings.n_draws);
  curve->seconds = outcome.seconds;
  outcome_clear(&outcome);
  free(init);
  tacit_rng_free(rng);
}

/* Iterations of each chain that the exact accounting allows at the paper's noise, from 60-digit arithmetic. */
static const size_t reference_counts[2][2][n_epsilons] = {
    {{27, 94, 192, 315, 459, 620, 892}, {145, 507, 1034, 1694, 2467, 3337, 4795}},
    {{16, 56, 116, 190, 277, 374, 538}, {12, 43, 89, 146, 213, 288, 414}}};

static void check_counts(run_t *run, curve_t (*curves)[n_settings], size_t n_budgets) {
  size_t n_equal = 0;
  for (size_t i = 0; i < 4 * n_budgets; i++) {
    size_t b = i / 2 % 2, m = i % 2, e = i / 4;
    n_equal += curves[b][m].n_iterations[e] == reference_counts[b][m][e];
  }
  check(run, n_equal == 4 * n_budgets,
        "of %zu iteration counts of DP-HMC and DP-penalty at the paper's settings, %zu are the reference's", 4 * n_budgets, n_equal);
}

/* MMD of exact draws from the square of the posterior: what the published DP-SGLD samples, its drift being twice too large. */
static double squared_posterior_mmd(const run_t *run, const problem_t *p) {
  tacit_rng_t *rng = study_rng(run, 50 + p->is_banana);
  double *sample = allocate(n_exact * p->dim, sizeof *sample), mmd2;
  for (size_t i = 0; i < n_exact; i++) {
    for (size_t j = 0; j < p->dim; j++) {
      sample[i * p->dim + j] = p->mean[j] + sqrt(0.5) * p->sd[j] * tacit_rng_normal(rng);
    }
    if (p->is_banana) {
      sample[i * p->dim + 1] -= 20 * sample[i * p->dim] * sample[i * p->dim];
    }
  }
  tacit_error_t err;
  must(tacit_mmd2(sample, n_exact, p->exact, n_exact, p->dim, 0, &mmd2, &err), &err);
  free(sample);
  tacit_rng_free(rng);
  return sqrt(fabs(mmd2));
}

static void draw_budget(run_t *run, curve_t (*curves)[n_settings], const double floors[2], size_t n_budgets) {
  static const char *const labels[n_settings] = {"DP-HMC, paper's settings", "DP-penalty, paper's settings", "DP-SGLD, paper's settings",
                                                 "DP-SGNHT, paper's settings", "DP-HMC, ours", "DP-penalty, ours", "DP-SGLD, ours",
                                                 "DP-SGNHT, ours"};
  chart_t chart = {.title = "DP-HMC paper, Figure 1: median and range over the repeats", .n_columns = 2, .n_panels = 4};
  for (size_t i = 0; i < 4; i++) {
    size_t b = i / 2;
    panel_t *panel = &chart.panels[i];
    *panel = (panel_t){.title = b == 0 ? "banana, d = 2" : "Gaussian, d = 10",
                       .x_label = "epsilon of the whole run (delta = 1e-6)",
                       .y_label = i % 2 == 0 ? "MMD" : "error of the mean (parameter units)",
                       .log_y = true};
    for (size_t m = 0; m < n_settings; m++) {
      double(*values)[n_epsilons] = i % 2 == 0 ? curves[b][m].mmd : curves[b][m].error;
      series_t *series = panel_add(panel, labels[m], (int)(m % 4), m < 4 ? MARK_DASHED : MARK_DOTS, epsilons, values[0], n_budgets);
      series->low = m < 4 ? NULL : values[1];
      series->high = m < 4 ? NULL : values[2];
    }
    if (i % 2 == 0) {
      static double ends[2], level[2][2];
      ends[0] = epsilons[0];
      ends[1] = epsilons[n_budgets - 1];
      level[b][0] = level[b][1] = floors[b];
      panel_add(panel, "exact draws from the squared posterior", 6, MARK_LINE, ends, level[b], 2);
    }
  }
  chart_write(run, "", &chart);
}

static void explain_budget(run_t *run, curve_t (*curves)[n_settings], const double floors[2], size_t n_budgets) {
  size_t last = n_budgets - 1;
  say(run,
      "\n**What the paper shows.** Box plots of ten repeats without numbers; so what can be compared exactly is what the budget "
      "buys, and the order of the methods. The iteration counts of DP-HMC and DP-penalty follow from the printed noise and agree "
      "to the last one; reuse of the gradient at the start of a trajectory buys a few more (`ours`). MMD is the root of its unbiased "
      "estimate against 1000 exact draws, bandwidth the median distance; the first half of each chain is discarded.\n\n"
      "**What differs.** (1) The paper's DP-SGLD moves by the gradient times eta, with noise eta: twice the drift that belongs to "
      "that noise, so it samples the squared posterior, at an MMD of %.2f (banana) and %.2f (Gaussian) whatever its budget. "
      "Here drift is as published and the noise is what it must be. (2) Twice that noise variance, and an accounting that does not halve "
      "the noise a second time, leave DP-SGLD and DP-SGNHT far more iterations than the paper had: where `epsilon spent` is below "
      "`epsilon`, the run was stopped by the number of iterations computed, not by privacy. (3) At a batch of 1000 the "
      "gradient's own variance heats DP-SGLD by a factor of 1 + h^2 / (4 q sd^2): the Gaussian's narrowest direction has %.1f times "
      "the posterior's variance at the paper's step. With all records in each step (`ours`) the same noise costs the same epsilon and there is no such heat. (4) The "
      "Gaussian's variances are drawn in the paper from a gamma law by a seed of another generator: here they are 0.05 to 1.9, evenly "
      "spaced in the logarithm, which clips about as many gradients. (5) DP-SGNHT's thermostat is updated after the momentum, as "
      "[Ding2014] has it.\n\n"
      "**What it shows.** At the paper's settings and epsilon = %g, DP-HMC, DP-penalty, DP-SGLD and DP-SGNHT have an MMD of %.2f, %.2f, %.2f and %.2f "
      "on the banana and %.2f, %.2f, %.2f and %.2f on the Gaussian: DP-HMC is level with the penalty method, as the paper finds, and the "
      "other two depend on the target. With all records in each step they are ahead of DP-HMC on the Gaussian at every budget (%.3f "
      "and %.3f at the largest), unlike in the paper, for reasons (1) and (3): all of their privacy noise is noise that the sampler needs "
      "anyway, while DP-HMC pays for noise in gradients and again in the test. On the banana no chain is long enough for this to "
      "matter. Three repeats leave an MMD uncertain by a factor of about 1.5: see the ranges. Chains start about a posterior standard deviation from the "
      "posterior, as in the paper.\n\n",
      floors[0], floors[1], curves[1][2].first_variance, epsilons[last], curves[0][0].mmd[0][last], curves[0][1].mmd[0][last],
      curves[0][2].mmd[0][last], curves[0][3].mmd[0][last], curves[1][0].mmd[0][last], curves[1][1].mmd[0][last], curves[1][2].mmd[0][last],
      curves[1][3].mmd[0][last], curves[1][6].mmd[0][last], curves[1][7].mmd[0][last]);
}

static void add_rows(table_t *table, const char *target, const setting_t *s, const curve_t *c, size_t n_budgets) {
  for (size_t e = 0; e < n_budgets; e++) {
    bool is_shown = e == 0 || e == n_budgets - 1;
    table_row(table, is_shown, "%s,%s,%s,%g,%.3g,%zu,%.3f,%.3f,%.3f,%.3g,%.3g,%.3g,%.2f,%.3f,%.3f,%.1f", target, s->method, s->source,
              epsilons[e], c->spent[e], c->n_iterations[e], c->mmd[0][e], c->mmd[1][e], c->mmd[2][e], c->error[0][e], c->error[1][e],
              c->error[2][e], c->accept_rate, c->grad_clipped, c->ratio_clipped, c->seconds);
  }
}

static void run_budget(run_t *run) {
  size_t n_budgets = run->quick ? 2 : n_epsilons, n_repeats = run->quick ? 1 : most_repeats;
  static curve_t curves[2][n_settings];
  double floors[2];
  say(run, "\n%zu repeat%s; runs at smaller budgets are the first iterations of those at the largest. Seconds, acceptance and clipped "
           "fractions are of the longest run, all repeats together.\n", n_repeats, n_repeats == 1 ? "" : "s");
  table_t table = table_open(run, "", "target,method,settings,epsilon,epsilon spent,iterations a chain,MMD median,MMD least,MMD "
                                      "most,mean error median,mean error least,mean error most,acceptance,gradients "
                                      "clipped,ratios clipped,seconds");
  for (size_t b = 0; b < 2; b++) {
    problem_t *p = open_problem(run, b == 0);
    floors[b] = squared_posterior_mmd(run, p);
    for (size_t i = 0; i < n_settings; i++) {
      const setting_t *s = b == 0 ? &on_banana[i] : &on_gaussian[i];
      measure(run, p, s, n_budgets, n_repeats, i, &curves[b][i]);
      add_rows(&table, p->target.name, s, &curves[b][i], n_budgets);
    }
    close_problem(p);
  }
  table_close(&table);
  draw_budget(run, curves, floors, n_budgets);
  explain_budget(run, curves, floors, n_budgets);
  check_counts(run, curves, n_budgets);
  const curve_t *gaussian = curves[1];
  size_t last = n_budgets - 1;
  /* Seeds are fixed. Over other seeds the MMD of 50 to 500 poorly mixing DP-HMC draws stays above 0.1, and that of full-batch DP-SGLD
   * is about sqrt(1 / effective draws): below 0.2 at 300 and more. */
  check(run, gaussian[6].mmd[0][last] < gaussian[0].mmd[0][last] && gaussian[7].mmd[0][last] < gaussian[0].mmd[0][last],
        "Gaussian, epsilon = %g: MMD %.3f of full-batch DP-SGLD and %.3f of DP-SGNHT are below %.3f of DP-HMC", epsilons[last],
        gaussian[6].mmd[0][last], gaussian[7].mmd[0][last], gaussian[0].mmd[0][last]);
  /* theta moves by -a theta + noise, a = h^2 / (2 sd^2) = 0.16, and stays at (h^2 + h^4 / (4 q sd^2)) / (1 - (1 - a)^2) = 9.8 sd^2; 100
   * effective draws and more estimate it to within 14 %. */
  check(run, gaussian[2].first_variance > 4.9 && gaussian[2].first_variance < 15,
        "DP-SGLD with batches of 1000 has %.1f times the posterior's variance in the Gaussian's narrowest direction; 9.8 expected",
        gaussian[2].first_variance);
  check(run, gaussian[4].n_iterations[last] > gaussian[0].n_iterations[last] && curves[0][4].n_iterations[last] > curves[0][0].n_iterations[last],
        "DP-HMC with reused gradients gets more iterations than as published");
}

const study_t study_hmc_budget = {"dp-hmc-budget", 'a', "[Raisa2021], Figure 1", "DP-HMC: error against privacy budget", run_budget};

/* ---- Figure 2: marginals and densities at the largest budget ---- */

enum { n_marginal = 60, n_cloud = 1500 };

typedef struct cloud {
  double x[n_cloud], y[n_cloud];
  size_t n;
} cloud_t;

/* Points of the second half of all chains. */
static void keep_cloud(const tacit_draws_t *draws, cloud_t *cloud) {
  size_t kept = draws->n_saved - draws->n_saved / 2, total = kept * draws->n_chains;
  cloud->n = total < n_cloud ? total : n_cloud;
  for (size_t i = 0; i < cloud->n; i++) {
    size_t at = i * total / cloud->n;
    const double *theta = tacit_draws_row(draws, at / kept, draws->n_saved / 2 + at % kept);
    cloud->x[i] = theta[0];
    cloud->y[i] = theta[1];
  }
}

/* Gaussian kernel estimate on a grid, bandwidth by Silverman's rule from the exact posterior's sd. */
static void smooth(const double *x, size_t n, const double range[2], double sd, double at[n_marginal], double density[n_marginal]) {
  double h = 0.6 * sd * pow((double)n, -0.2);
  for (size_t k = 0; k < n_marginal; k++) {
    at[k] = range[0] + (range[1] - range[0]) * (double)k / (n_marginal - 1);
    density[k] = 0;
    for (size_t i = 0; i < n; i++) {
      double z = (x[i] - at[k]) / h;
      density[k] += exp(-0.5 * z * z) / ((double)n * h * 2.5066282746310002);
    }
  }
}

/* Banana: sd of theta_2, 20 theta_1^2 having variance 2 (20 sd_1^2)^2. */
static double second_sd(const problem_t *p) {
  return hypot(p->sd[1], 20 * sqrt(2) * p->sd[0] * p->sd[0]);
}

static void run_marginals(run_t *run) {
  enum { n_methods = 4 };
  static const char *const labels[n_methods] = {"DP-HMC", "DP-penalty", "DP-SGLD", "DP-SGNHT"};
  static cloud_t clouds[n_methods + 1];
  static double at[2][n_marginal], density[2][n_methods + 1][n_marginal];
  problem_t *p = open_problem(run, true);
  double epsilon = run->quick ? 2 : 15, sds[2] = {p->sd[0], second_sd(p)}, worst = 0;
  static const double box[4] = {-0.5, 0.5, -1, 4.5};
  table_t table = table_open(run, "", "method,epsilon,iterations a chain,mean of theta_1,mean of theta_2,sd of theta_1,sd of theta_2");
  for (size_t i = 0; i < n_exact; i++) {
    clouds[n_methods].x[i] = p->exact[i * 2];
    clouds[n_methods].y[i] = p->exact[i * 2 + 1];
  }
  clouds[n_methods].n = n_exact;
  for (size_t m = 0; m < n_methods; m++) {
    const setting_t *s = &on_banana[m];
    trial_t t = trial_of(p, s, 1, 40 + m);
    tacit_rng_t *rng = study_rng(run, 10 + m);
    double *init = starts(p, rng, n_chains);
    outcome_t outcome;
    t.settings.init = init;
    t.settings.n_draws = trial_affordable(&p->target, &t, epsilon, !is_stochastic(s) ? 100000 : run->quick ? 400 : 8000);
    trial_run(&p->target, &t, &outcome);
    keep_cloud(&outcome.draws, &clouds[m]);
    outcome_clear(&outcome);
    free(init);
    tacit_rng_free(rng);
    double mean[2] = {0}, square[2] = {0};
    for (size_t i = 0; i < clouds[m].n; i++) {
      for (size_t j = 0; j < 2; j++) {
        double v = j == 0 ? clouds[m].x[i] : clouds[m].y[i];
        mean[j] += v / (double)clouds[m].n;
        square[j] += v * v / (double)clouds[m].n;
      }
    }
    worst = is_stochastic(s) ? worst : fmax(worst, fabs(mean[1] - exact_mean(p, 1)) / sds[1]);
    table_row(&table, true, "%s,%g,%zu,%.3f,%.3f,%.3f,%.3f", s->method, epsilon, t.settings.n_draws, mean[0], mean[1],
              sqrt(square[0] - mean[0] * mean[0]), sqrt(square[1] - mean[1] * mean[1]));
  }
  table_row(&table, true, "exact,,,%.3f,%.3f,%.3f,%.3f", exact_mean(p, 0), exact_mean(p, 1), sds[0], sds[1]);
  table_close(&table);
  chart_t chart = {.title = "DP-HMC paper, Figure 2: the banana", .n_columns = 3, .n_panels = n_methods + 2};
  for (size_t j = 0; j < 2; j++) {
    chart.panels[j] = (panel_t){.title = j == 0 ? "marginal of theta_1" : "marginal of theta_2", .x_label = j == 0 ? "theta_1" : "theta_2", .y_label = "density"};
    for (size_t m = 0; m <= n_methods; m++) {
      smooth(j == 0 ? clouds[m].x : clouds[m].y, clouds[m].n, box + 2 * j, sds[j], at[j], density[j][m]);
      panel_add(&chart.panels[j], m < n_methods ? labels[m] : "exact posterior", m < n_methods ? (int)m : 7, m < n_methods ? MARK_LINE : MARK_DASHED, at[j],
                density[j][m], n_marginal);
    }
  }
  for (size_t m = 0; m < n_methods; m++) {
    chart.panels[2 + m] = (panel_t){.title = labels[m], .x_label = "theta_1", .y_label = "theta_2", .range = box};
    panel_add(&chart.panels[2 + m], "exact posterior", 7, MARK_CLOUD, clouds[n_methods].x, clouds[n_methods].y, clouds[n_methods].n);
    panel_add(&chart.panels[2 + m], labels[m], (int)m, MARK_CLOUD, clouds[m].x, clouds[m].y, clouds[m].n);
  }
  chart_write(run, "", &chart);
  say(run, "\nThe paper's settings at epsilon = %g, one repeat of four chains, the second half of each. The paper's figure shows the same "
           "panels; what differs in DP-SGLD and DP-SGNHT is told with [Figure 1](dp-hmc-budget.md). Where draws stay in one arm or lie in "
           "a few clumps, a chain has not gone round the bend: the tails are 0.01 wide across, where steps of trajectories are rejected "
           "and gradients are clipped.\n\n", epsilon);
  /* Chains that have hardly moved are at worst four draws, each an sd off: sd 1/sqrt(2) of their mean; seeds are fixed. Without a test,
   * the other two can leave by the tails, where the heat of subsampling exceeds the clipped drift. */
  check(run, worst < 3, "means of theta_2 of DP-HMC and DP-penalty are within %.2f posterior sds of the exact one", worst);
  close_problem(p);
}

const study_t study_hmc_marginals = {"dp-hmc-marginals", 'a', "[Raisa2021], Figure 2", "DP-HMC: marginals and densities", run_marginals};

/* ---- Figure 3: clipping, without noise ---- */

enum { n_bounds = 6 };
static const double clip_bounds[2][n_bounds] = {{0.01, 0.05, 0.1, 0.2, 0.5, 10}, {0.2, 1, 2, 5, 10, 100}};

typedef struct clip_curve {
  double mmd[n_bounds], clipped[n_bounds];
} clip_curve_t;

/* HMC and random walks of exposed curators, which clip ratios at the bound given and add no noise. */
static void measure_clipping(const run_t *run, const problem_t *p, bool is_hmc, size_t n_points, clip_curve_t *curve) {
  size_t b = p->is_banana ? 0 : 1;
  for (size_t i = 0; i < n_points; i++) {
    size_t at = run->quick ? i * (n_bounds - 1) : i;
    trial_t t = trial_default(is_hmc ? "hmc" : "rwmh", 60 + at);
    tacit_rng_t *rng = study_rng(run, 30); /* the same starts at all bounds */
    double *init = starts(p, rng, n_chains);
    outcome_t outcome;
    t.limits.clip_bound_ratio = clip_bounds[b][at];
    t.settings.n_chains = n_chains;
    t.settings.init = init;
    t.settings.inv_metric = p->metric;
    t.settings.n_leapfrog = p->is_banana ? 25 : 8;
    t.settings.proposal = TACIT_PROPOSAL_FULL;
    t.settings.step_size = is_hmc ? (p->is_banana ? 0.08 : 0.35) : (p->is_banana ? 0.8 : 0.75);
    t.settings.n_draws = (is_hmc ? 300u : 1500u) / (run->quick ? 12 : 1);
    trial_run(&p->target, &t, &outcome);
    curve->mmd[i] = score_of(p, &outcome.draws, 0, t.settings.n_draws).mmd;
    curve->clipped[i] = (double)outcome.notes.n_ratio_clipped / (double)outcome.notes.n_ratio;
    outcome_clear(&outcome);
    free(init);
    tacit_rng_free(rng);
  }
}

static void run_clipping(run_t *run) {
  static const char *const labels[2] = {"HMC", "random walk"};
  static clip_curve_t curves[2][2];
  static double used[2][n_bounds];
  size_t n_points = run->quick ? 2 : n_bounds;
  chart_t chart = {.title = "DP-HMC paper, Figure 3: ratios clipped; no noise", .n_columns = 2, .n_panels = 4};
  table_t table = table_open(run, "", "target,method,clip bound of ratios per unit,ratios clipped,MMD");
  for (size_t b = 0; b < 2; b++) {
    problem_t *p = open_problem(run, b == 0);
    chart.panels[2 * b] = (panel_t){.title = b == 0 ? "banana, d = 2" : "Gaussian, d = 10", .x_label = "clip bound (per unit of length)", .y_label = "MMD", .log_x = true, .log_y = true};
    chart.panels[2 * b + 1] = (panel_t){.title = b == 0 ? "banana, d = 2" : "Gaussian, d = 10", .x_label = "share of ratios clipped", .y_label = "MMD", .log_y = true};
    for (int m = 0; m < 2; m++) {
      clip_curve_t *c = &curves[b][m];
      measure_clipping(run, p, m == 0, n_points, c);
      for (size_t i = 0; i < n_points; i++) {
        used[b][i] = clip_bounds[b][run->quick ? i * (n_bounds - 1) : i];
        table_row(&table, true, "%s,%s,%g,%.4f,%.3f", p->target.name, labels[m], used[b][i], c->clipped[i], c->mmd[i]);
      }
      panel_add(&chart.panels[2 * b], labels[m], m, MARK_DOTS, used[b], c->mmd, n_points);
      panel_add(&chart.panels[2 * b + 1], labels[m], m, MARK_DOTS, c->clipped, c->mmd, n_points);
    }
    close_problem(p);
  }
  table_close(&table);
  chart_write(run, "", &chart);
  say(run, "\nAs in the paper, tests without noise and ratios clipped: what clipping alone does to the invariant law. Four chains, one repeat, "
           "%d trajectories or %d steps a chain (the paper: 1000 and 12000 or 25000, ten repeats), steps in units of posterior sds. "
           "A clipped sum of ratios is no difference of a potential: where most ratios are clipped the walk follows the "
           "median record rather than the sum.\n\n",
      run->quick ? 25 : 300, run->quick ? 125 : 1500);
  size_t last = n_points - 1;
  for (size_t b = 0; b < 2; b++) {
    /* Every record is clipped at the least bound, none at the largest: facts of the bounds, not of the draws. */
    check(run, curves[b][1].clipped[0] > 0.5 && curves[b][1].clipped[last] < 1e-3, "%s: %.2f of the ratios are clipped at the least bound, %.4f at the largest",
          b == 0 ? "banana" : "Gaussian", curves[b][1].clipped[0], curves[b][1].clipped[last]);
  }
}

const study_t study_hmc_clipping = {"dp-hmc-clipping", 'a', "[Raisa2021], Figure 3", "DP-HMC: what clipping does", run_clipping};
