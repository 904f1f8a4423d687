#include "cli/commands.h"
#include "cli/fit.h"
#include "cli/ranks.h"

/* One rank keeps the ledger for all. */
static int open_ledger(cli_fit_t *fit) {
  return cli_is_first_rank() ? cli_fit_ledger_open(fit) : CLI_OK;
}

static int reserve(cli_fit_t *fit) {
  return cli_is_first_rank() ? cli_fit_ledger_reserve(fit) : CLI_OK;
}

static int confirm(cli_fit_t *fit) {
  return cli_is_first_rank() ? cli_fit_confirm(fit) : CLI_OK;
}

static int run(const cli_args_t *args) {
  static int (*const steps[])(cli_fit_t *) = {cli_fit_prepare, open_ledger, cli_fit_open, confirm, reserve};
  cli_fit_t fit;
  int status = cli_ranks_agree(cli_fit_options(&fit, args));
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == CLI_OK; i++) {
    status = cli_ranks_agree(steps[i](&fit));
  }
  if (status == CLI_OK && !cli_is_given(args, "dry-run")) {
    status = cli_ranks_agree(cli_fit_run(&fit));
    cli_fit_ledger_settle(&fit);
  }
  cli_fit_clear(&fit);
  return status;
}

static const cli_option_t options[] = {
    {"family", "NAME", NULL, "bernoulli (logit), gaussian, poisson (log) or categorical (softmax)."},
    {"data", "FILE", NULL, "CSV or TSV with a header row, plain or gzipped; or a directory written by tacit import."},
    {"schema", "FILE", NULL, "YAML: what is publicly known of each column. See tacit schema draft."},
    {"out", "DIR", NULL, "New directory for draws, summary, privacy statement and report."},
    {"method", "NAME", NULL, "See tacit methods. If not said: noise-aware for families bernoulli and gaussian where it applies and no option of the "
                             "others is given, else dp-hmc."},
    {"epsilon", "E", NULL, "Privacy budget of the whole run, all chains together."},
    {"delta", "D", NULL, "Its delta: far below 1 / number of units."},
    {"ledger", "FILE", NULL, "Ledger of these data (tacit ledger init): what the run can release is reserved there first."},
    {"data-id", "NAME", NULL, "Refuse if the ledger is of another data set."},
    {"purpose", "TEXT", NULL, "What the ledger shall say of this run; method and formula if not said."},
    {"exposed", NULL, NULL, "No noise, no budget: NOT PRIVATE. For baselines and public data."},
    {"draws", "N", NULL, "Draws to keep of each chain; as many as the budget buys if not said."},
    {"warmup", "N", NULL, "Iterations of each chain before the first draw is kept."},
    {"chains", "N", "4", "Chains; they share the budget."},
    {"thin", "N", "1", "Keep every N-th iteration."},
    {"prior", "SPEC", NULL,
     "'normal(0, 2.5)' for all coefficients but the intercept, or 'age: student_t(3, 0, 1)' for one; cauchy, flat. "
     "May be repeated."},
    {"prior-scale", "SCALE", "scaled", "Priors are on coefficients of features mapped to [-1, 1] by their public bounds "
                                       "(scaled), or on those of the original columns (original)."},
    {"sd", "S", NULL, "gaussian: known residual standard deviation."},
    {"clip-grad", "B", NULL, "Bound on a unit's gradient (L2). Needed where the family has none of its own. private: chosen by counts of "
                             "gradient norms that are released and charged (dp-hmc and random walks)."},
    {"clip-ratio", "B", NULL, "Bound on a unit's log-likelihood ratio per unit of distance. Needed likewise; private likewise."},
    {"clip-share", "S", "0.01", "Share of units to be clipped by a private bound."},
    {"metric", "KIND", "schema", "Inverse metric: by the schema's bounds (schema), or from the curvature of the log-likelihood, which is "
                                 "released and charged (private; dp-hmc and random walks)."},
    {"noise-grad", "S", NULL, "Noise multiplier of gradients (noise sd / sensitivity); chosen if not said."},
    {"noise-ratio", "S", NULL, "Noise multiplier of log-likelihood ratios; chosen if not said."},
    {"step-size", "H", NULL, "Step in units of the metric; chosen if not said."},
    {"leapfrog", "L", NULL, "Leapfrog steps of a trajectory; chosen if not said. 1 makes dp-hmc a Langevin method whose gradients and "
                            "decisions have noise of their own, and are paid for apart."},
    {"proposal", "KIND", "guided", "Random walks: full, one-component or guided."},
    {"acceptance", "RULE", NULL,
     "dp-penalty, dp-hmc: penalty (noisy ratios are released), or nothing but the decision, by penalty-bit, probit-bit, "
     "barker or arcsine; dp-mala: penalty-bit (its own) or barker; dp-barker-vcorr: vcorr (its own) or barker-penalty, which is "
     "exact at --sampling-rate 1."},
    {"variance", "C", NULL, "dp-barker-vcorr: variance of the noise in the log ratio; 2 if not said, as published. With vcorr 1, 1.25, "
                            "1.5, 1.75, 2, 2.25, 2.5 or 3; acceptance probabilities are then off by up to 5.2e-8, 2.3e-6, 2.7e-5, "
                            "1.6e-4, 5.9e-4, 1.6e-3, 3.5e-3, 1.3e-2, and no law does better."},
    {"sigma", "S", NULL, "Noise in the log ratio of penalty-bit; of probit-bit in units of the sensitivity."},
    {"kappa", "K", NULL, "arcsine: square root of the information of a decision."},
    {"cap", "A", NULL, "arcsine: largest acceptance."},
    {"sampling-rate", "Q", NULL, "Minibatch methods: probability of each record; 0.1 if not said."},
    {"friction", "C", NULL, "dp-sghmc, dp-sgnht, sghmc: friction in units of the metric; 1 if not said."},
    {"step-decay", "P", NULL, "Stochastic gradient methods: the step of iteration t is H t^-P."},
    {"max-batch", "K", NULL, "dp-fast-mh, tunamh: look at all records where more than K would be drawn."},
    {"no-jitter", NULL, NULL, "Do not vary the step size between iterations."},
    {"no-reuse", NULL, NULL, "dp-hmc: redraw the first gradient of each trajectory, as the paper does: k (L + 1) releases for k L + 1."},
    {"metric-file", "FILE", NULL, "Inverse metric from public knowledge: one number a parameter, or a full matrix."},
    {"init", "FILE", "private", "Start values: private (climb from 0 by a few released gradients, charged to the budget), 0, or a file "
                               "of public ones on the scaled, unconstrained scale."},
    {"temperature", "T", "1", "Power in (0, 1] that the likelihood is raised to."},
    {"n-public", "N", NULL, "Public nominal number of units, for default settings; needed under add-remove."},
    {"threads", "N", "1", "Threads; results do not depend on it."},
    {"scratch", "DIR", NULL, "For records larger than memory: keep them in a file without a name in DIR, on a disk with room for 4 bytes a "
                             "value, and as private as the data. Results do not depend on it."},
    {"seed", "N", NULL, "Repeatable run. Noise that can be repeated protects nobody: NOT PRIVATE."},
    {"dry-run", NULL, NULL, "Say what the budget would buy, then stop: nothing is charged or released."},
    {"yes", NULL, NULL, "Do not ask, however bad the forecast is."},
    {"curator-notes", NULL, NULL, "Print private counts to standard error, for the holder of the data only."},
    {"quiet", NULL, NULL, "No progress, no plan."}};

const cli_command_t cli_fit = {
    .name = "fit",
    .positionals = "FORMULA",
    .n_positionals = 1,
    .summary = "fit a Bayesian regression under differential privacy",
    .description = "Draws from the posterior of a regression. FORMULA is R's: 'y ~ a + b + a:b + log(c) + factor(d) + "
                   "I(e^2)'. The records stay behind the curator: what leaves is bounded, summed exactly, covered by exact "
                   "Gaussian noise and charged to the budget beforehand. The directory given by --out holds the draws (Stan "
                   "CSV), a summary, the privacy statement in words and JSON, the settings, and report.html. Before anything is "
                   "spent, the plan is printed with a forecast from public facts. If that promises no usable chain (fewer than 20 "
                   "effective draws in all, or 50 draws a chain), a terminal is asked whether to go on, unless --yes is given; a run "
                   "that nobody can answer goes on with a warning. A budget that is spent does not come back.",
    .examples = "  tacit fit 'death ~ age + sex + log(flc)' --family bernoulli --data flchain.csv \\\n"
                "        --schema flchain.yaml --epsilon 1 --delta 1e-6 --out fit/\n"
                "  tacit fit 'death ~ age + sex' --family bernoulli --data flchain.csv --schema flchain.yaml \\\n"
                "        --method hmc --exposed --draws 2000 --out baseline/\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run};
