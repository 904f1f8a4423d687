/* [Raisa2021, Figures 2 and 3]: densities at the largest budget; what clipping does. */
#include <stdlib.h>

#include "dp_hmc.h"

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
static void smooth(const double *x, size_t n, const double range[2], double sd, double at[n_marginal],
                   double density[n_marginal]) {
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

static void run_marginals(run_t *run) {
  enum { n_methods = 4 };
  static const char *const labels[n_methods] = {"DP-HMC", "DP-penalty", "DP-SGLD", "DP-SGNHT"};
  static cloud_t clouds[n_methods + 1];
  static double at[2][n_marginal], density[2][n_methods + 1][n_marginal];
  problem_t *p = open_problem(run, true);
  double epsilon = run->quick ? 2 : 15, sds[2] = {posterior_sd(p, 0), posterior_sd(p, 1)}, worst = 0;
  static const double box[4] = {-0.5, 0.5, -1, 4.5};
  table_t table =
      table_open(run, "",
                 "method,epsilon,iterations a chain,mean of theta_1,mean of theta_2,sd of theta_1,sd of "
                 "theta_2");
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
    t.settings.n_draws = trial_affordable(&p->target, &t, epsilon,
                                          !is_stochastic(s) ? 100000
                                          : run->quick      ? 400
                                                            : 8000);
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
    table_row(&table, true, "%s,%g,%zu,%.3f,%.3f,%.3f,%.3f", s->method, epsilon, t.settings.n_draws, mean[0],
              mean[1], sqrt(square[0] - mean[0] * mean[0]), sqrt(square[1] - mean[1] * mean[1]));
  }
  table_row(&table, true, "exact,,,%.3f,%.3f,%.3f,%.3f", exact_mean(p, 0), exact_mean(p, 1), sds[0], sds[1]);
  table_close(&table);
  chart_t chart = {.title = "DP-HMC paper, Figure 2: the banana", .n_columns = 3, .n_panels = n_methods + 2};
  for (size_t j = 0; j < 2; j++) {
    chart.panels[j] = (panel_t){.title = j == 0 ? "marginal of theta_1" : "marginal of theta_2",
                                .x_label = j == 0 ? "theta_1" : "theta_2",
                                .y_label = "density"};
    for (size_t m = 0; m <= n_methods; m++) {
      smooth(j == 0 ? clouds[m].x : clouds[m].y, clouds[m].n, box + 2 * j, sds[j], at[j], density[j][m]);
      panel_add(&chart.panels[j], m < n_methods ? labels[m] : "exact posterior", m < n_methods ? (int)m : 7,
                m < n_methods ? MARK_LINE : MARK_DASHED, at[j], density[j][m], n_marginal);
    }
  }
  for (size_t m = 0; m < n_methods; m++) {
    chart.panels[2 + m] =
        (panel_t){.title = labels[m], .x_label = "theta_1", .y_label = "theta_2", .range = box};
    panel_add(&chart.panels[2 + m], "exact posterior", 7, MARK_CLOUD, clouds[n_methods].x,
              clouds[n_methods].y, clouds[n_methods].n);
    panel_add(&chart.panels[2 + m], labels[m], (int)m, MARK_CLOUD, clouds[m].x, clouds[m].y, clouds[m].n);
  }
  chart_write(run, "", &chart);
  say(run,
      "\nThe paper's settings at epsilon = %g, one repeat of four chains, the second half of each. The "
      "paper's figure "
      "shows the same "
      "panels; what differs in DP-SGLD and DP-SGNHT is told with [Figure 1](dp-hmc-budget.md). Where draws "
      "stay "
      "in one arm or lie in a few clumps, a chain has not gone round the bend: the tails are 0.01 wide "
      "across, "
      "where steps of trajectories are rejected "
      "and gradients are clipped.\n\n",
      epsilon);
  /* Chains that have hardly moved are at worst four draws of about the posterior's spread, of
   * which the mean has an sd of a half: 3 sds. Seeds are fixed. */
  check(run, worst < 1.5,
        "means of theta_2 of DP-HMC and DP-penalty are within %.2f posterior sds of the exact one", worst);
  close_problem(p);
}

const study_t study_hmc_marginals = {"dp-hmc-marginals", 'a', "[Raisa2021], Figure 2",
                                     "DP-HMC: marginals and densities", run_marginals};

/* ---- Figure 3: clipping, without noise ---- */

enum { n_bounds = 6 };
static const double clip_bounds[2][n_bounds] = {{0.01, 0.05, 0.1, 0.2, 0.5, 10}, {0.2, 1, 2, 5, 10, 100}};

typedef struct clip_curve {
  double mmd[n_bounds], clipped[n_bounds];
} clip_curve_t;

/* HMC and random walks of exposed curators, which clip ratios at the bound given and add no noise. */
static void measure_clipping(const run_t *run, const problem_t *p, bool is_hmc, size_t n_points,
                             clip_curve_t *curve) {
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
  chart_t chart = {
      .title = "DP-HMC paper, Figure 3: ratios clipped; no noise", .n_columns = 2, .n_panels = 4};
  table_t table = table_open(run, "", "target,method,clip bound of ratios per unit,ratios clipped,MMD");
  for (size_t b = 0; b < 2; b++) {
    problem_t *p = open_problem(run, b == 0);
    chart.panels[2 * b] = (panel_t){.title = b == 0 ? "banana, d = 2" : "Gaussian, d = 10",
                                    .x_label = "clip bound (per unit of length)",
                                    .y_label = "MMD",
                                    .log_x = true,
                                    .log_y = true};
    chart.panels[2 * b + 1] = (panel_t){.title = b == 0 ? "banana, d = 2" : "Gaussian, d = 10",
                                        .x_label = "share of ratios clipped",
                                        .y_label = "MMD",
                                        .log_y = true};
    for (int m = 0; m < 2; m++) {
      clip_curve_t *c = &curves[b][m];
      measure_clipping(run, p, m == 0, n_points, c);
      for (size_t i = 0; i < n_points; i++) {
        used[b][i] = clip_bounds[b][run->quick ? i * (n_bounds - 1) : i];
        table_row(&table, true, "%s,%s,%g,%.4f,%.3f", p->target.name, labels[m], used[b][i], c->clipped[i],
                  c->mmd[i]);
      }
      panel_add(&chart.panels[2 * b], labels[m], m, MARK_DOTS, used[b], c->mmd, n_points);
      panel_add(&chart.panels[2 * b + 1], labels[m], m, MARK_DOTS, c->clipped, c->mmd, n_points);
    }
    close_problem(p);
  }
  table_close(&table);
  chart_write(run, "", &chart);
  say(run,
      "\nAs in the paper, tests without noise and ratios clipped: what clipping alone does to the invariant "
      "distribution. Four "
      "chains, one repeat, "
      "%d trajectories or %d steps a chain (the paper: 1000 and 12000 or 25000, ten repeats), steps in units "
      "of posterior sds. A clipped sum of ratios is no difference of a potential, so no "
      "formula for the distribution is known: it has to be seen.\n\n",
      run->quick ? 25 : 300, run->quick ? 125 : 1500);
  size_t last = n_points - 1;
  for (size_t b = 0; b < 2; b++) {
    /* Every record is clipped at the least bound, none at the largest: facts of the bounds, not of the draws.
     */
    check(run, curves[b][1].clipped[0] > 0.5 && curves[b][1].clipped[last] < 1e-3,
          "%s: %.2f of the ratios are clipped at the least bound, %.4f at the largest",
          b == 0 ? "banana" : "Gaussian", curves[b][1].clipped[0], curves[b][1].clipped[last]);
  }
}

const study_t study_hmc_clipping = {"dp-hmc-clipping", 'a', "[Raisa2021], Figure 3",
                                    "DP-HMC: what clipping does", run_clipping};
