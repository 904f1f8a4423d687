/*
 * The settings of all tasks, a block for each name: one table for the library, for command lines, help,
 * manual pages and completion, and for other languages. A task has them in the order in which they stand
 * here.
 */
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "settings/settings.h"

enum {
  FIT = 1 << TACIT_TASK_FIT,
  PLAN = 1 << TACIT_TASK_PLAN,
  CHECK = 1 << TACIT_TASK_CHECK,
  REFIT = 1 << TACIT_TASK_REFIT,
  COMBINE = 1 << TACIT_TASK_COMBINE,
  RELEASE = 1 << TACIT_TASK_RELEASE,
  INFER = 1 << TACIT_TASK_INFER,
  PREDICT = 1 << TACIT_TASK_PREDICT,
  SYNTHESIZE = 1 << TACIT_TASK_SYNTHESIZE
};

#define MAX_WHOLE 9007199254740992.0
#define TEXT(group) group, TACIT_SETTING_TEXT, 0, 0, NULL
#define FLAG(group) group, TACIT_SETTING_FLAG, 0, 0, NULL
#define NUMBER(group, lower, upper) group, TACIT_SETTING_NUMBER, lower, upper, NULL
#define COUNT(group, lower, upper) group, TACIT_SETTING_COUNT, lower, upper, NULL
#define BOUND(group, lower, upper) group, TACIT_SETTING_BOUND, lower, upper, NULL
#define CHOICE(group, choices) group, TACIT_SETTING_CHOICE, 0, 0, choices
#define OF_PROGRAM(group) group, TACIT_SETTING_PROGRAM, 0, 0, NULL
#define AS_FIT TEXT("") /* checked when it is given to a fit, by the row of that */

static const char *const prior_bases[] = {"released", "bounds", NULL};
static const char *const prior_scales[] = {"scaled", "original", NULL};
static const char *const proposals[] = {"full", "one-component", "guided", NULL};
static const char *const mechanisms[] = {"gaussian", "laplace", "discrete-gaussian", "discrete-laplace",
                                         NULL}; /* as tacit_statistic_noise_t */
static const char *const methods[] = {"auto", "gibbs", "hmc", "marginal",
                                      NULL};                      /* as tacit_augment_method_t */
static const char *const paths[] = {"collective", "joint", NULL}; /* as tacit_augment_path_t */

static const struct {
  int tasks;
  const char *name, *value, *fallback, *help, *group; /* as of tacit_setting_t */
  tacit_setting_kind_t kind;
  double lower, upper;
  const char *const *choices;
} table[] = {
    {FIT, "family", "NAME", NULL,
     "bernoulli (logit), gaussian, poisson (log) or categorical (softmax); or another of tacit model "
     "families.",
     TEXT("model")},
    {PLAN, "family", "NAME", NULL,
     "bernoulli (logit), gaussian, poisson (log) or categorical (softmax); of a formula.", AS_FIT},
    {COMBINE, "disjoint", NULL, NULL,
     "Nobody's records are at two sites: the cost is then the dearest site's, instead of the sum of all. You "
     "answer for it.",
     FLAG("")},
    {COMBINE, "exchangeable", NULL, NULL,
     "Effects differ between sites: each site's are normal around the mean effects. Reported are these, "
     "their sds between sites, and each site's own.",
     FLAG("")},
    {COMBINE, "between-sd", "SCALE", "0.5",
     "Of --exchangeable: scale of the half-normal prior of those sds, for one sd of a feature or between two "
     "levels, in log odds, log rates or sds of the response; of a program in what one record tells of a "
     "parameter.",
     NUMBER("", 0.01, 100)},
    {FIT, "program", "FILE", NULL, "Fit this program in place of the formula's own: --print-model, edited.",
     TEXT("model")},
    {REFIT, "program", "FILE", NULL,
     "Of a fit of a program, or of a family that is one: the same program with another prior. Anything else "
     "in it that differs is refused.",
     AS_FIT},
    {COMBINE, "program", "FILE", NULL,
     "Of fits of a program: the same with another prior, applied once. If not said: the sites', whose texts "
     "must be the same.",
     AS_FIT},
    {FIT, "print-model", NULL, NULL, "Print the program that the formula stands for, and stop.",
     OF_PROGRAM("model")},
    {FIT, "records", "NAME", NULL,
     "Of a program: the int that counts records; the first size of what has a density if not said; none: its "
     "data are one record's.",
     TEXT("model")},
    {PLAN, "records", "NAME", NULL,
     "Of a program: the int datum that counts records, or none; as in tacit fit.", AS_FIT},
    {RELEASE, "statistic", "NAME", NULL,
     "clamped-mean (mean of a column within its public bounds), counts (records in each cell of a table), "
     "moments (means, squares and products of the columns of a formula, for a linear regression), score (the "
     "score of a logistic regression at coefficients 0, and the features' moments, which tell it elsewhere) "
     "or margins (several tables at once, of which tacit infer makes a population and tacit synthesize "
     "rows). Of a program: a line of its block 'statistic', by name.",
     TEXT("statistic")},
    {INFER, "statistic", "FILE", NULL,
     "The released statistic, YAML. Of a program: may be repeated, for releases of the same records or of "
     "others (records: NAME in the file).",
     TEXT("statistic")},
    {INFER, "n", "N", NULL, "Number of records it was computed from (or n: N in the file).",
     COUNT("statistic", 1, 2147483647)},
    {FIT, "set", "NAME=V", NULL,
     "Of a program: a public number, or several: --set D=10, --set knots=1,2,3; or in place of a function of "
     "all records: --set 'mean(x)=5.2'. May be repeated.",
     TEXT("model")},
    {PLAN, "set", "NAME=VALUE", NULL, "Of a program: a public number. May be repeated.", AS_FIT},
    {RELEASE | INFER, "set", "NAME=V", NULL,
     "Of a program: a public number, or several: --set D=10, --set knots=1,2,3. May be repeated.",
     TEXT("statistic")},
    {FIT | PLAN, "constants", "FILE", NULL,
     "Of a program: its public numbers, a JSON object. May be repeated.", TEXT("model")},
    {FIT, "public", "NAME", NULL,
     "Of a program: the numbers given as NAME are public. To be said of more than 16, and of outcomes, which "
     "could be records; they stand in what is written. May be repeated.",
     TEXT("model")},
    {PLAN, "public", "NAME", NULL,
     "Of a program: the numbers given as NAME are public, as in tacit fit. May be repeated.", AS_FIT},
    {RELEASE, "public", "NAME", NULL,
     "Of a program: the numbers given as NAME are public; to be said of more than 16. May be repeated.",
     TEXT("statistic")},
    {FIT, "followed-to-bound", NULL, NULL,
     "Of censored times: everybody was followed up to the upper bound of the time's column, publicly; "
     "without it noise-aware takes them as censored at any time that does not tell what would have come.",
     FLAG("model")},
    {PLAN, "followed-to-bound", NULL, NULL, "As in tacit fit.", AS_FIT},
    {RELEASE, "column", "NAMES", NULL,
     "The column; for counts, columns joined by commas, the last one fastest in the result.",
     TEXT("statistic")},
    {RELEASE, "margin", "NAMES", NULL,
     "margins: a table, columns joined by commas. May be repeated: all of them are one release.",
     TEXT("statistic")},
    {FIT | RELEASE, "data", "FILE", NULL,
     "CSV or TSV with a header row, plain or gzipped; a SAS, SPSS or Stata file; -, the standard input; "
     "odbc:NAME, a database; or a directory written by tacit import.",
     TEXT("running")},
    {CHECK, "data", "FILE", NULL, "The fit's records, as of tacit fit.", AS_FIT},
    {FIT | RELEASE, "query", "SQL", NULL,
     "Of a database, --data odbc:NAME: a query that begins with select; @FILE: the one in FILE.",
     TEXT("running")},
    {CHECK, "query", "SQL", NULL, "Of a database: a query that begins with select; @FILE: the one in FILE.",
     AS_FIT},
    {FIT | RELEASE, "catalog", "FILE", NULL,
     "Of a SAS file: the catalogue (.sas7bcat) of its value labels, for columns with labels: true.",
     TEXT("running")},
    {CHECK, "catalog", "FILE", NULL, "Of a SAS file: the catalogue (.sas7bcat) of its value labels.", AS_FIT},
    {FIT | RELEASE, "encoding", "NAME", NULL,
     "Of text in a CSV, SAS, SPSS or Stata file that does not say it rightly: latin1, windows-1252, utf-16 "
     "...",
     TEXT("running")},
    {CHECK, "encoding", "NAME", NULL,
     "Of text in a file that does not say it rightly: latin1, windows-1252, utf-16 ...", AS_FIT},
    {FIT | RELEASE, "delimiter", "CHAR", NULL,
     "What stands between fields of CSV: ',', ';', '|' or tab. If not said, the one that the header row has "
     "most often.",
     TEXT("running")},
    {CHECK, "delimiter", "CHAR", NULL,
     "What stands between fields of CSV, ',', ';', '|' or tab, if the header row does not show it.", AS_FIT},
    {FIT, "schema", "FILE", NULL, "YAML: what is publicly known of each column. See tacit schema draft.",
     TEXT("model")},
    {PLAN, "schema", "FILE", NULL, "YAML: what is publicly known of each column.", AS_FIT},
    {CHECK, "schema", "FILE", NULL, "Must be the fit's; its own copy is taken if not said.", OF_PROGRAM("")},
    {RELEASE, "schema", "FILE", NULL,
     "YAML: what is publicly known of each column. Its bounds are where values are clamped.",
     TEXT("statistic")},
    {PREDICT, "newdata", "FILE", NULL,
     "CSV with the columns of the formula or the program (the response is not needed), checked against the "
     "fit's schema: a value out of its bounds or no level is refused, and one that is missing, unless the "
     "schema has a public value for it. 'grid' makes rows over the public ranges: each column varies in turn "
     "while the others stay at the middle of their bounds, or at their first level.",
     TEXT("")},
    {FIT, "out", "DIR", NULL, "New directory for draws, summary, privacy statement and report.",
     TEXT("running")},
    {RELEASE, "out", "FILE", NULL, "The released statistic, YAML; must not exist.", TEXT("running")},
    {INFER, "out", "DIR", NULL, "Directory for the results; must not exist.", TEXT("running")},
    {PREDICT, "out", "FILE", NULL, "Write there instead of to standard output; must not exist.", TEXT("")},
    {FIT, "method", "NAME", NULL,
     "See tacit methods. If not said: noise-aware for families bernoulli, gaussian and poisson where it "
     "applies and no option of the others is given, else dp-hmc; the plan says why.",
     TEXT("sampler")},
    {INFER, "method", "M", "auto",
     "gibbs: latent records, any model. hmc: gaussian records under continuous noise. marginal: no latent "
     "records, cost free of n; approximate for Laplace noise and moments, else exact. auto: marginal where "
     "it is exact (gaussian: above 1000 records), and above 20000 records; else gibbs. Of a program both are "
     "exact; auto: marginal where it applies.",
     CHOICE("sampler", methods)},
    {PLAN, "n", "N", NULL, "Number of records, public or nominal.", NUMBER("", 1, 1e18)},
    {RELEASE, "mechanism", "NAME", "gaussian",
     "gaussian, laplace, discrete-gaussian or discrete-laplace; moments, score: gaussian; margins: gaussian "
     "or discrete-gaussian. The discrete ones live on whole counts, or on multiples of --step.",
     CHOICE("privacy", mechanisms)},
    {FIT | PLAN, "epsilon", "E", NULL, "Privacy budget of the whole run, all chains together.",
     NUMBER("privacy", 1e-12, 1e12)},
    {CHECK, "epsilon", "E", NULL, "Privacy budget of the check; what it buys are the sds in the table.",
     AS_FIT},
    {RELEASE, "epsilon", "E", NULL, "What the release may cost.", NUMBER("privacy", 1e-6, 500)},
    {FIT | PLAN, "delta", "D", NULL, "Its delta: far below 1 / number of units.", NUMBER("privacy", 0, 1)},
    {CHECK, "delta", "D", NULL, "Its delta.", AS_FIT},
    {RELEASE, "delta", "D", NULL, "Its delta, far below 1 / number of rows; Gaussian noise only.",
     NUMBER("privacy", 1e-300, 0.5)},
    {CHECK, "by", "TERM", NULL,
     "Also residuals in bins of this term of the formula, of programs this column, for a quarter of the "
     "budget.",
     TEXT("")},
    {FIT, "ledger", "FILE", NULL,
     "Ledger of these data (tacit ledger init): what the run can release is reserved there first.",
     TEXT("privacy")},
    {CHECK, "ledger", "FILE", NULL,
     "Ledger of these data, that of the fit: the check is a spend of its own there.", AS_FIT},
    {FIT | CHECK, "data-id", "NAME", NULL, "Refuse if the ledger is of another data set.", TEXT("privacy")},
    {FIT, "purpose", "TEXT", NULL, "What the ledger shall say of this run; method and formula if not said.",
     TEXT("privacy")},
    {CHECK, "purpose", "TEXT", NULL, "What the ledger shall say; check and formula if not said.", AS_FIT},
    {FIT, "exposed", NULL, NULL, "No noise, no budget: NOT PRIVATE. For baselines and public data.",
     FLAG("privacy")},
    {FIT, "draws", "N", NULL, "Draws to keep of each chain; as many as the budget buys if not said.",
     COUNT("chains", 1, 1e9)},
    {FIT, "warmup", "N", NULL, "Iterations of each chain before the first draw is kept.",
     COUNT("chains", 0, 1e9)},
    {PLAN, "want-width", "W", NULL,
     "In place of --epsilon: which epsilon gives intervals W times as wide as without privacy, under both "
     "relations?",
     NUMBER("", 1, 1000)},
    {FIT | PLAN, "chains", "N", "4", "Chains; they share the budget.", COUNT("chains", 1, 1000)},
    {INFER, "chains", "K", "4", "Number of chains.", COUNT("chains", 1, 1000)},
    {FIT, "thin", "N", "1", "Keep every N-th iteration.", COUNT("chains", 1, 1e9)},
    {FIT, "prior", "SPEC", NULL,
     "'normal(0, 2.5)' for all coefficients but the intercept, or 'age: student_t(3, 0, 1)' for one, on the "
     "scale of the coefficients that are reported (--prior-scale), or 'phi: normal(5, 2)' for what a family "
     "has beside them; cauchy, flat. May be repeated. If not said, of noise-aware, bernoulli and poisson: "
     "student_t(7, 0, 1.25) for the effect of one sd of a feature, its sd taken from the released moments, "
     "student_t(7, 0, 2.5) for the difference between two levels, and student_t(7, 0, 1.5) for the intercept "
     "at the features' means, about uniform as a probability; gaussian: in sds of the response, as released, "
     "student_t(3, 0, e) for one sd of a feature, e from 0.2 to 1.25 as released moments tell, the same for "
     "half the difference between two levels (more where one is rare), student_t(3, 0, 2.5) for the "
     "intercept around its mean, half student_t(3, 0, 2.5) for sigma. Else student_t(3, 0, "
     "2.5) for half of a feature's range, half of that scale for two levels, student_t(7, 0, 1.5) for the "
     "intercept at the middle of the bounds (gaussian: student_t(3, 0, 2.5) in half ranges of the response), "
     "and half student_t(3, 0, 1) for sigma.",
     TEXT("model")},
    {REFIT, "prior", "SPEC", NULL,
     "As in tacit fit. May be repeated; the first replaces all of the fit's. If not said: the fit's own.",
     AS_FIT},
    {COMBINE, "prior", "SPEC", NULL,
     "As in tacit fit, applied once. May be repeated. If not said: that of the sites, which must agree.",
     AS_FIT},
    {FIT, "prior-scale", "SCALE", "original",
     "What --prior speaks of: the coefficients as they are reported, per unit of their columns, the "
     "intercept where all features are 0 (original); or those of features mapped to [-1, 1] by their public "
     "bounds, and of a response so mapped (scaled).",
     CHOICE("model", prior_scales)},
    {REFIT, "prior-scale", "SCALE", NULL, "As in tacit fit; the fit's if not said.", AS_FIT},
    {COMBINE, "prior-scale", "SCALE", NULL, "As in tacit fit; the first site's if not said.", AS_FIT},
    {FIT, "prior-basis", "BASIS", "released",
     "What a default prior's scale is made from: released moments (noise-aware; elsewhere nothing of the "
     "kind is released), or the public bounds of the columns.",
     CHOICE("model", prior_bases)},
    {REFIT, "prior-basis", "BASIS", NULL, "As in tacit fit; the fit's if not said.", AS_FIT},
    {COMBINE, "prior-basis", "BASIS", NULL,
     "As in tacit fit; released moments are those of all sites together.", AS_FIT},
    {FIT, "sd", "S", NULL, "gaussian: known residual standard deviation.", NUMBER("model", 1e-300, 1e300)},
    {REFIT, "chains", "N", NULL, "As in tacit fit; the fit's if not said. So of the next three.", AS_FIT},
    {COMBINE, "chains", "N", NULL, "As in tacit fit; the first site's if not said. So of the next three.",
     AS_FIT},
    {REFIT | COMBINE, "warmup", "N", NULL, "Iterations of each chain before the first draw is kept.", AS_FIT},
    {INFER, "warmup", "W", "1000", "Iterations that are dropped, per chain.", COUNT("chains", 0, 1e9)},
    {PLAN, "draws", "N", NULL, "Draws to keep of each chain; as many as the budget buys if not said.",
     AS_FIT},
    {REFIT | COMBINE, "draws", "N", NULL, "Draws to keep of each chain.", AS_FIT},
    {INFER, "draws", "D", "1000", "Draws kept, per chain.", COUNT("chains", 1, 1e9)},
    {FIT, "clip-grad", "B", NULL,
     "Bound on a unit's gradient (L2). Needed where the family has none of its own. private: chosen by "
     "counts of gradient norms that are released and charged (dp-hmc and random walks).",
     BOUND("releases", 1e-15, 1e15)},
    {PLAN, "clip-grad", "B", NULL,
     "Bound on a unit's gradient (L2). Needed where the family has none of its own; or private, as in tacit "
     "fit.",
     AS_FIT},
    {FIT, "clip-ratio", "B", NULL,
     "Bound on a unit's log-likelihood ratio per unit of distance. Needed likewise; private likewise.",
     BOUND("releases", 1e-15, 1e15)},
    {PLAN, "clip-ratio", "B", NULL,
     "Bound on a unit's log-likelihood ratio per unit of distance. Needed likewise.", AS_FIT},
    {FIT, "clip-share", "S", "0.01", "Share of units to be clipped by a private bound.",
     NUMBER("releases", 1e-6, 0.5)},
    {PLAN, "clip-share", "S", "0.01", "As in tacit fit.", AS_FIT},
    {FIT, "metric", "KIND", "schema",
     "Inverse metric: by the schema's bounds (schema), or from the curvature of the log-likelihood, which is "
     "released and charged (private; dp-hmc and random walks).",
     TEXT("sampler")},
    {PLAN, "metric", "KIND", "schema", "As in tacit fit: schema or private.", AS_FIT},
    {FIT, "noise-grad", "S", NULL,
     "Noise multiplier of gradients (noise sd / sensitivity); chosen if not said.",
     NUMBER("releases", 1e-9, 1e8)},
    {FIT, "noise-ratio", "S", NULL, "Noise multiplier of log-likelihood ratios; chosen if not said.",
     NUMBER("releases", 1e-9, 1e8)},
    {FIT, "step-size", "H", NULL, "Step in units of the metric; chosen if not said.",
     NUMBER("sampler", 1e-12, 1e12)},
    {FIT, "leapfrog", "L", NULL,
     "Leapfrog steps of a trajectory; chosen if not said. 1 makes dp-hmc a Langevin method whose gradients "
     "and decisions have noise of their own, and are paid for apart.",
     COUNT("sampler", 1, 1e6)},
    {FIT, "proposal", "KIND", "guided", "Random walks: full, one-component or guided.",
     CHOICE("sampler", proposals)},
    {FIT, "acceptance", "RULE", NULL,
     "dp-penalty, dp-hmc: penalty (noisy ratios are released), or nothing but the decision, by penalty-bit, "
     "probit-bit, barker or arcsine; dp-mala: penalty-bit (its own) or barker; dp-barker-vcorr: vcorr (its "
     "own) or barker-penalty, which is exact at --sampling-rate 1.",
     TEXT("sampler")},
    {FIT, "variance", "C", NULL,
     "dp-barker-vcorr: variance of the noise in the log ratio; 2 if not said, as published. With vcorr 1, "
     "1.25, 1.5, 1.75, 2, 2.25, 2.5 or 3; acceptance probabilities are then off by up to 5.2e-8, 2.3e-6, "
     "2.7e-5, 1.6e-4, 5.9e-4, 1.6e-3, 3.5e-3, 1.3e-2, and no distribution does better.",
     NUMBER("sampler", 1e-3, 1000)},
    {FIT, "sigma", "S", NULL,
     "Noise in the log ratio of penalty-bit; of probit-bit in units of the sensitivity.",
     NUMBER("sampler", 1e-6, 1e4)},
    {FIT, "kappa", "K", NULL, "arcsine: square root of the information of a decision.",
     NUMBER("sampler", 0.05, 2)},
    {FIT, "cap", "A", NULL, "arcsine: largest acceptance.", NUMBER("sampler", 1e-3, 0.999)},
    {FIT, "sampling-rate", "Q", NULL, "Minibatch methods: probability of each record; 0.1 if not said.",
     NUMBER("releases", 0x1p-32, 1)},
    {FIT, "friction", "C", NULL, "dp-sghmc, dp-sgnht, sghmc: friction in units of the metric; 1 if not said.",
     NUMBER("sampler", 1e-6, 1e6)},
    {FIT, "step-decay", "P", NULL, "Stochastic gradient methods: the step of iteration t is H t^-P.",
     NUMBER("sampler", 0, 1)},
    {FIT, "max-batch", "K", NULL, "dp-fast-mh, tunamh: look at all records where more than K would be drawn.",
     NUMBER("releases", 1, 1e18)},
    {FIT, "no-jitter", NULL, NULL, "Do not vary the step size between iterations.", FLAG("sampler")},
    {FIT, "no-reuse", NULL, NULL,
     "dp-hmc: redraw the first gradient of each trajectory, as the paper does: k (L + 1) releases for k L + "
     "1.",
     FLAG("releases")},
    {FIT, "metric-file", "FILE", NULL,
     "Inverse metric from public knowledge: one number a parameter, or a full matrix.", TEXT("sampler")},
    {FIT, "init", "FILE", "private",
     "Start values: private (climb from 0, intercepts of programs from their prior's centre, by a few "
     "released gradients, charged to the budget), 0, or a file of public ones on the scaled, unconstrained "
     "scale.",
     TEXT("chains")},
    {FIT, "temperature", "T", "1", "Power in (0, 1] that the likelihood is raised to.",
     NUMBER("model", 1e-9, 1)},
    {RELEASE, "step", "S", NULL,
     "clamped-mean under discrete noise: values are rounded to its multiples. 1 for whole numbers if not "
     "said.",
     NUMBER("statistic", 1e-12, 1e12)},
    {FIT, "n-public", "N", NULL,
     "Public nominal number of units, for default settings; needed under add-remove. Of a query under "
     "substitute: their number.",
     NUMBER("privacy", 1, 1e18)},
    {CHECK, "n-public", "N", NULL, "Public nominal number of units; needed under add-remove.", AS_FIT},
    {RELEASE, "n-public", "N", NULL,
     "Of a query under relation substitute: the number of its rows, which is public.",
     COUNT("privacy", 1, MAX_WHOLE)},
    {FIT | CHECK | RELEASE, "threads", "N", "1", "Threads; results do not depend on it.",
     COUNT("running", 1, 1024)},
    {FIT, "scratch", "DIR", NULL,
     "For records larger than memory: keep them in a file without a name in DIR, on a disk with room for 4 "
     "bytes a value, and as private as the data. Results do not depend on it.",
     TEXT("running")},
    {RELEASE, "scratch", "DIR", NULL,
     "For records larger than memory: keep them in a file without a name in DIR, on a disk with room for 4 "
     "bytes a value of the columns used and 4 a record, and as private as the data. Results do not depend on "
     "it.",
     TEXT("running")},
    {REFIT | COMBINE, "thin", "N", NULL, "Keep every N-th iteration.", AS_FIT},
    {INFER, "thin", "T", "1", "Iterations for each draw.", COUNT("chains", 1, 1e9)},
    {REFIT, "check", "FILE", NULL,
     "What tacit check --out wrote of this fit: its calibration goes into the report.", TEXT("")},
    {RELEASE, "ledger", "FILE", NULL,
     "Ledger of these data (tacit ledger init): the release is reserved there first.", TEXT("privacy")},
    {RELEASE, "data-id", "NAME", NULL, "Refuse if the ledger is of another data set.", TEXT("privacy")},
    {RELEASE, "purpose", "TEXT", NULL,
     "What the ledger shall say of this release; statistic and columns if not said.", TEXT("privacy")},
    {INFER, "threads", "T", "1", "Chains at a time; results do not depend on it.", COUNT("running", 1, 1024)},
    {PREDICT, "response", NULL, NULL, "Predictive draws of the response itself, instead of its expectation.",
     FLAG("")},
    {PREDICT, "linear", NULL, NULL, "The linear predictor, instead of the expected response.", FLAG("")},
    {SYNTHESIZE, "rows", "N", NULL,
     "Rows of each set; as many as there were records if not said, where their number is public.",
     COUNT("", 1, 1e8)},
    {SYNTHESIZE, "sets", "M", "1",
     "Sets, each with moments and coefficients of its own: five or more, combined by the rules of "
     "docs/releases.md, where anything is to be inferred from the rows.",
     COUNT("", 1, 1000)},
    {FIT, "seed", "N", NULL, "Repeatable run. Noise that can be repeated protects nobody: NOT PRIVATE.",
     COUNT("privacy", 0, MAX_WHOLE)},
    {CHECK, "seed", "N", NULL, "Repeatable check. Noise that can be repeated protects nobody: NOT PRIVATE.",
     AS_FIT},
    {REFIT, "seed", "N", NULL,
     "Of the draws; the fit's own key if not said. There is no noise here that it could give away.", AS_FIT},
    {COMBINE, "seed", "N", NULL,
     "Of the draws; the first site's key if not said. There is no noise here that it could give away.",
     AS_FIT},
    {RELEASE, "seed", "N", NULL, "Repeatable noise. Noise that can be repeated protects nobody: NOT PRIVATE.",
     COUNT("privacy", 0, MAX_WHOLE)},
    {INFER, "seed", "S", NULL, "Make the run repeatable.", COUNT("running", 0, MAX_WHOLE)},
    {PREDICT, "seed", "N", "1", "Of the simulated responses.", COUNT("", 0, MAX_WHOLE)},
    {SYNTHESIZE, "seed", "N", "1",
     "Of the rows; those of one seed are the same. There is no noise here that it could give away.",
     COUNT("", 0, MAX_WHOLE)},
    {FIT, "dry-run", NULL, NULL, "Say what the budget would buy, then stop: nothing is charged or released.",
     OF_PROGRAM("running")},
    {FIT, "yes", NULL, NULL, "Neither ask nor refuse, however bad the forecast is.", OF_PROGRAM("running")},
    {FIT, "curator-notes", NULL, NULL,
     "Print private counts to standard error, for the holder of the data only.", OF_PROGRAM("running")},
    {INFER, "no-interweave", NULL, NULL,
     "gibbs: without the moves that carry all records along: the plain algorithm, slower to mix.",
     FLAG("sampler")},
    {INFER, "path", "P", "collective",
     "hmc: collective moves parameters and the records' mean and sweeps the records; joint moves all.",
     CHOICE("sampler", paths)},
    {INFER, "step-size", "E", NULL,
     "hmc: fixed step size, in units where a period is 2 pi. Default: adapted during warm-up.",
     NUMBER("sampler", 1e-6, 10)},
    {INFER, "leapfrog", "L", NULL, "hmc: fixed number of steps. Default: a length around pi/2.",
     COUNT("sampler", 1, 1e6)},
    {FIT | INFER, "quiet", NULL, NULL, "Print nothing but warnings, problems and errors.",
     OF_PROGRAM("running")},
    {PLAN, "prior-scale", "SCALE", "original", "As in tacit fit.", AS_FIT},
    {PLAN, "html", "FILE", NULL,
     "Write a page that draws the width of every coefficient against epsilon, under both relations; must not "
     "exist. --epsilon, if given, is marked.",
     TEXT("")},
    {PLAN, "json", NULL, NULL, "Print JSON.", FLAG("")},
    {CHECK, "out", "FILE", NULL,
     "Write the check as JSON, too; must not exist. tacit refit DIR --check FILE puts it into a report.",
     OF_PROGRAM("")},
    {REFIT, "out", "DIR", NULL,
     "New directory, as of tacit fit. Of a fit that did not end, after kill -9 say: its own directory if not "
     "said, which is ended.",
     AS_FIT},
    {COMBINE, "out", "DIR", NULL, "New directory, as of tacit fit.", AS_FIT},
    {SYNTHESIZE, "out", "FILE", NULL,
     "CSV to write; must not exist. FILE.json and FILE.html, a page, are written beside it.", TEXT("")}};

enum { N_TABLE = sizeof table / sizeof table[0] };

/* Written once, before anybody reads it: the rows of each task, one after another, as callers have them. */
static tacit_setting_t rows[TACIT_N_TASKS][N_TABLE];
static size_t n_rows[TACIT_N_TASKS];

static void sort_rows(void) {
  for (size_t i = 0; i < N_TABLE; i++) {
    for (size_t task = 0; task < TACIT_N_TASKS; task++) {
      if ((table[i].tasks >> task & 1) != 0) {
        rows[task][n_rows[task]++] = (tacit_setting_t){table[i].name,  table[i].value, table[i].fallback,
                                                       table[i].help,  table[i].group, table[i].kind,
                                                       table[i].lower, table[i].upper, table[i].choices};
      }
    }
  }
}

const tacit_setting_t *tacit_settings_of(tacit_task_t task, size_t *n) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, sort_rows); /* fails of what is no pthread_once_t alone */
  *n = n_rows[task];
  return rows[task];
}

tacit_settings_t tacit_settings_for(tacit_task_t task) {
  tacit_settings_t settings = {0};
  settings.table = tacit_settings_of(task, &settings.n_table);
  return settings;
}

/* Where it is to stand; failed: no memory. */
static tacit_text_t folder_of(const char *out) {
  tacit_text_t folder = {0};
  size_t n = strlen(out);
  while (n > 1 && out[n - 1] == '/') {
    n--;
  }
  while (n > 0 && out[n - 1] != '/') {
    n--;
  }
  tacit_text_append(&folder, n > 0 ? out : ".", n > 1 ? n - 1 : 1);
  return folder;
}

tacit_status_t tacit_settings_check_out(const tacit_settings_t *settings, bool is_folder,
                                        tacit_error_t *err) {
  const char *out = tacit_settings_text(settings, "out");
  struct stat info;
  if (out == NULL) {
    return TACIT_OK;
  }
  if (out[0] == '\0') {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "out",
                           "--out is empty: say what the results are to be called");
  }
  if (!is_folder && out[strlen(out) - 1] == '/') {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "out",
                           "--out %s names a folder, and the results are one file: give it a name", out);
  }
  if (tacit_file_exists(out)) {
    return tacit_error_set(err, TACIT_ERR_EXISTS, "out", "%s exists: choose another --out, or remove it",
                           out);
  }
  tacit_text_t folder = folder_of(out);
  tacit_status_t status = folder.failed ? tacit_error_memory(err) : TACIT_OK;
  if (status == TACIT_OK &&
      !(stat(folder.data, &info) == 0 && S_ISDIR(info.st_mode) && access(folder.data, W_OK) == 0)) {
    status = tacit_error_set(err, TACIT_ERR_IO, "out",
                             "cannot create %s: %s is not a directory one can write to", out, folder.data);
  }
  tacit_text_clear(&folder);
  return status;
}
