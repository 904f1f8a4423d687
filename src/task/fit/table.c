/* The settings of a fit: one table for command lines, help, manual pages and other languages. */
#include "data/collect.h"
#include "fit/fit_internal.h"

static const char *const prior_bases[] = {"released", "bounds", NULL};
static const char *const prior_scales[] = {"scaled", "original", NULL};
static const char *const proposals[] = {"full", "one-component", "guided", NULL};

static const tacit_setting_t table[] = {
    {"family", "NAME", NULL,
     "bernoulli (logit), gaussian, poisson (log) or categorical (softmax); or another of tacit model "
     "families.",
     "model", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"program", "FILE", NULL, "Fit this program in place of the formula's own: --print-model, edited.",
     "model", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"print-model", NULL, NULL, "Print the program that the formula stands for, and stop.", "model",
     TACIT_SETTING_PROGRAM, 0, 0, NULL},
    {"records", "NAME", NULL,
     "Of a program: the int that counts records; the first size of what has a density if not said; none: its "
     "data are one "
     "record's.",
     "model", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"set", "NAME=V", NULL,
     "Of a program: a public number, or several: --set D=10, --set knots=1,2,3; or in place of a function of "
     "all records: "
     "--set 'mean(x)=5.2'. May be repeated.",
     "model", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"constants", "FILE", NULL, "Of a program: its public numbers, a JSON object. May be repeated.", "model",
     TACIT_SETTING_TEXT, 0, 0, NULL},
    {"public", "NAME", NULL,
     "Of a program: the numbers given as NAME are public. To be said of more than 16, and of outcomes, which "
     "could be records; they stand in what is "
     "written. May be repeated.",
     "model", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"followed-to-bound", NULL, NULL,
     "Of censored times: everybody was followed up to the upper bound of the time's column, publicly; "
     "without it "
     "noise-aware takes them as censored at any time that does not tell what would have come.",
     "model", TACIT_SETTING_FLAG, 0, 0, NULL},
    TACIT_SOURCE_SETTINGS,
    {"schema", "FILE", NULL, "YAML: what is publicly known of each column. See tacit schema draft.", "model",
     TACIT_SETTING_TEXT, 0, 0, NULL},
    {"out", "DIR", NULL, "New directory for draws, summary, privacy statement and report.", "running",
     TACIT_SETTING_TEXT, 0, 0, NULL},
    {"method", "NAME", NULL,
     "See tacit methods. If not said: noise-aware for families bernoulli, gaussian and poisson where it "
     "applies and no option of the "
     "others is given, else dp-hmc; the plan says why.",
     "sampler", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"epsilon", "E", NULL, "Privacy budget of the whole run, all chains together.", "privacy",
     TACIT_SETTING_NUMBER, 1e-12, 1e12, NULL},
    {"delta", "D", NULL, "Its delta: far below 1 / number of units.", "privacy", TACIT_SETTING_NUMBER, 0, 1,
     NULL},
    TACIT_LEDGER_SETTINGS("what the run can release", "this run; method and formula"),
    {"exposed", NULL, NULL, "No noise, no budget: NOT PRIVATE. For baselines and public data.", "privacy",
     TACIT_SETTING_FLAG, 0, 0, NULL},
    {"draws", "N", NULL, "Draws to keep of each chain; as many as the budget buys if not said.", "chains",
     TACIT_SETTING_COUNT, 1, 1e9, NULL},
    {"warmup", "N", NULL, "Iterations of each chain before the first draw is kept.", "chains",
     TACIT_SETTING_COUNT, 0, 1e9, NULL},
    {"chains", "N", "4", "Chains; they share the budget.", "chains", TACIT_SETTING_COUNT, 1, 1000, NULL},
    {"thin", "N", "1", "Keep every N-th iteration.", "chains", TACIT_SETTING_COUNT, 1, 1e9, NULL},
    {"prior", "SPEC", NULL,
     "'normal(0, 2.5)' for all coefficients but the intercept, or 'age: student_t(3, 0, 1)' for one, on the "
     "scale of the coefficients that are "
     "reported (--prior-scale), or 'phi: normal(5, 2)' for what a family has beside them; cauchy, flat. May "
     "be repeated. If not said, of "
     "noise-aware, bernoulli and poisson: student_t(7, 0, 1.25) for the effect of one sd of a feature, its "
     "sd taken from the released moments, "
     "student_t(7, 0, 2.5) for the difference between two levels, and student_t(7, 0, 1.5) for the intercept "
     "at the features' means, about uniform "
     "as a probability; gaussian: in sds of the response, as released, student_t(3, 0, 1.25) for one sd of a "
     "feature or half the difference between "
     "two levels, student_t(3, 0, 2.5) for the intercept around its mean, half student_t(3, 0, 2.5) for "
     "sigma. Else student_t(3, 0, 2.5) for half "
     "of a feature's range, half of that scale for two levels, student_t(7, 0, 1.5) for the intercept at the "
     "middle of the bounds (gaussian: "
     "student_t(3, 0, 2.5) in half ranges of the response), and half student_t(3, 0, 1) for sigma.",
     "model", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"prior-scale", "SCALE", "original",
     "What --prior speaks of: the coefficients as they are reported, per unit of their columns, the "
     "intercept where all features are 0 (original); "
     "or those of features mapped to [-1, 1] by their public bounds, and of a response so mapped (scaled).",
     "model", TACIT_SETTING_CHOICE, 0, 0, prior_scales},
    {"prior-basis", "BASIS", "released",
     "What a default prior's scale is made from: released moments (noise-aware; elsewhere nothing of the "
     "kind is released), or the public bounds of "
     "the columns.",
     "model", TACIT_SETTING_CHOICE, 0, 0, prior_bases},
    {"sd", "S", NULL, "gaussian: known residual standard deviation.", "model", TACIT_SETTING_NUMBER, 1e-300,
     1e300, NULL},
    {"clip-grad", "B", NULL,
     "Bound on a unit's gradient (L2). Needed where the family has none of its own. private: chosen by "
     "counts of "
     "gradient norms that are released and charged (dp-hmc and random walks).",
     "releases", TACIT_SETTING_BOUND, 1e-15, 1e15, NULL},
    {"clip-ratio", "B", NULL,
     "Bound on a unit's log-likelihood ratio per unit of distance. Needed likewise; private likewise.",
     "releases", TACIT_SETTING_BOUND, 1e-15, 1e15, NULL},
    {"clip-share", "S", "0.01", "Share of units to be clipped by a private bound.", "releases",
     TACIT_SETTING_NUMBER, 1e-6, 0.5, NULL},
    {"metric", "KIND", "schema",
     "Inverse metric: by the schema's bounds (schema), or from the curvature of the log-likelihood, which is "
     "released and charged (private; dp-hmc and random walks).",
     "sampler", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"noise-grad", "S", NULL, "Noise multiplier of gradients (noise sd / sensitivity); chosen if not said.",
     "releases", TACIT_SETTING_NUMBER, 1e-9, 1e8, NULL},
    {"noise-ratio", "S", NULL, "Noise multiplier of log-likelihood ratios; chosen if not said.", "releases",
     TACIT_SETTING_NUMBER, 1e-9, 1e8, NULL},
    {"step-size", "H", NULL, "Step in units of the metric; chosen if not said.", "sampler",
     TACIT_SETTING_NUMBER, 1e-12, 1e12, NULL},
    {"leapfrog", "L", NULL,
     "Leapfrog steps of a trajectory; chosen if not said. 1 makes dp-hmc a Langevin method whose gradients "
     "and "
     "decisions have noise of their own, and are paid for apart.",
     "sampler", TACIT_SETTING_COUNT, 1, 1e6, NULL},
    {"proposal", "KIND", "guided", "Random walks: full, one-component or guided.", "sampler",
     TACIT_SETTING_CHOICE, 0, 0, proposals},
    {"acceptance", "RULE", NULL,
     "dp-penalty, dp-hmc: penalty (noisy ratios are released), or nothing but the decision, by penalty-bit, "
     "probit-bit, "
     "barker or arcsine; dp-mala: penalty-bit (its own) or barker; dp-barker-vcorr: vcorr (its own) or "
     "barker-penalty, which is "
     "exact at --sampling-rate 1.",
     "sampler", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"variance", "C", NULL,
     "dp-barker-vcorr: variance of the noise in the log ratio; 2 if not said, as published. With vcorr 1, "
     "1.25, "
     "1.5, 1.75, 2, 2.25, 2.5 or 3; acceptance probabilities are then off by up to 5.2e-8, 2.3e-6, 2.7e-5, "
     "1.6e-4, 5.9e-4, 1.6e-3, 3.5e-3, 1.3e-2, and no distribution does better.",
     "sampler", TACIT_SETTING_NUMBER, 1e-3, 1000, NULL},
    {"sigma", "S", NULL, "Noise in the log ratio of penalty-bit; of probit-bit in units of the sensitivity.",
     "sampler", TACIT_SETTING_NUMBER, 1e-6, 1e4, NULL},
    {"kappa", "K", NULL, "arcsine: square root of the information of a decision.", "sampler",
     TACIT_SETTING_NUMBER, 0.05, 2, NULL},
    {"cap", "A", NULL, "arcsine: largest acceptance.", "sampler", TACIT_SETTING_NUMBER, 1e-3, 0.999, NULL},
    {"sampling-rate", "Q", NULL, "Minibatch methods: probability of each record; 0.1 if not said.",
     "releases", TACIT_SETTING_NUMBER, 0x1p-32, 1, NULL},
    {"friction", "C", NULL, "dp-sghmc, dp-sgnht, sghmc: friction in units of the metric; 1 if not said.",
     "sampler", TACIT_SETTING_NUMBER, 1e-6, 1e6, NULL},
    {"step-decay", "P", NULL, "Stochastic gradient methods: the step of iteration t is H t^-P.", "sampler",
     TACIT_SETTING_NUMBER, 0, 1, NULL},
    {"max-batch", "K", NULL, "dp-fast-mh, tunamh: look at all records where more than K would be drawn.",
     "releases", TACIT_SETTING_NUMBER, 1, 1e18, NULL},
    {"no-jitter", NULL, NULL, "Do not vary the step size between iterations.", "sampler", TACIT_SETTING_FLAG,
     0, 0, NULL},
    {"no-reuse", NULL, NULL,
     "dp-hmc: redraw the first gradient of each trajectory, as the paper does: k (L + 1) releases for k L + "
     "1.",
     "releases", TACIT_SETTING_FLAG, 0, 0, NULL},
    {"metric-file", "FILE", NULL,
     "Inverse metric from public knowledge: one number a parameter, or a full matrix.", "sampler",
     TACIT_SETTING_TEXT, 0, 0, NULL},
    {"init", "FILE", "private",
     "Start values: private (climb from 0, intercepts of programs from their prior's centre, by a few "
     "released gradients, charged to the budget), 0, or a file "
     "of public ones on the scaled, unconstrained scale.",
     "chains", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"temperature", "T", "1", "Power in (0, 1] that the likelihood is raised to.", "model",
     TACIT_SETTING_NUMBER, 1e-9, 1, NULL},
    {"n-public", "N", NULL,
     "Public nominal number of units, for default settings; needed under add-remove. Of a query under "
     "substitute: their number.",
     "privacy", TACIT_SETTING_NUMBER, 1, 1e18, NULL},
    {"threads", "N", "1", "Threads; results do not depend on it.", "running", TACIT_SETTING_COUNT, 1, 1024,
     NULL},
    {"scratch", "DIR", NULL,
     "For records larger than memory: keep them in a file without a name in DIR, on a disk with room for 4 "
     "bytes a "
     "value, and as private as the data. Results do not depend on it.",
     "running", TACIT_SETTING_TEXT, 0, 0, NULL},
    {"seed", "N", NULL, "Repeatable run. Noise that can be repeated protects nobody: NOT PRIVATE.", "privacy",
     TACIT_SETTING_COUNT, 0, 9007199254740992.0, NULL},
    {"dry-run", NULL, NULL, "Say what the budget would buy, then stop: nothing is charged or released.",
     "running", TACIT_SETTING_PROGRAM, 0, 0, NULL},
    {"yes", NULL, NULL, "Neither ask nor refuse, however bad the forecast is.", "running",
     TACIT_SETTING_PROGRAM, 0, 0, NULL},
    {"curator-notes", NULL, NULL, "Print private counts to standard error, for the holder of the data only.",
     "running", TACIT_SETTING_PROGRAM, 0, 0, NULL},
    {"quiet", NULL, NULL, "Print nothing but warnings, problems and errors.", "running",
     TACIT_SETTING_PROGRAM, 0, 0, NULL}};

const tacit_setting_t *tacit_fit_settings(size_t *n) {
  *n = sizeof table / sizeof table[0];
  return table;
}
