/*
 * What is audited: every private method on neighbours that differ as much as its bounds allow, in settings in
 * which a run of a few iterations costs an epsilon that 1e5 runs can see.
 */
#include "audit.h"

/* ---- settings ---- */

static const double unit_metric[AUDIT_MAX_DIM] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

tacit_sampler_settings_t audit_settings(const audit_case_t *of) {
  tacit_sampler_settings_t s = tacit_sampler_settings_default();
  s.n_chains = 1;
  s.n_warmup = 0;
  s.step_size = 0.1;
  s.proposal = TACIT_PROPOSAL_FULL;
  s.inv_metric = unit_metric;
  s.n_public = 1;
  s.max_batch = 1000;
  of->configure(&s);
  return s;
}

static void penalty(tacit_sampler_settings_t *s) {
  s->n_draws = 4;
  s->noise_multiplier_ratio = 2.5;
}

static void penalty_one(tacit_sampler_settings_t *s) {
  penalty(s);
  s->proposal = TACIT_PROPOSAL_ONE_COMPONENT;
}

static void penalty_guided(tacit_sampler_settings_t *s) {
  penalty(s);
  s->proposal = TACIT_PROPOSAL_GUIDED;
}

static void warm_start(tacit_sampler_settings_t *s) {
  s->n_draws = 1;
  s->noise_multiplier_ratio = 4;
  s->n_init_steps = 4;
  s->noise_multiplier_init = 2.5;
}

static void bits(tacit_sampler_settings_t *s, tacit_accept_rule_t rule) {
  s->n_draws = 8;
  s->accept_bit = true;
  s->accept_rule = rule;
}

static void barker(tacit_sampler_settings_t *s) {
  bits(s, (tacit_accept_rule_t){.kind = TACIT_ACCEPT_BARKER, .max_bound = 0.3});
}

static void penalty_bit(tacit_sampler_settings_t *s) {
  bits(s, (tacit_accept_rule_t){.kind = TACIT_ACCEPT_PENALTY, .max_bound = 0.2, .sigma = 1});
}

static void probit_bit(tacit_sampler_settings_t *s) {
  bits(s, (tacit_accept_rule_t){.kind = TACIT_ACCEPT_PROBIT, .max_bound = 0.4, .sigma = 2.5});
}

static void arcsine_bit(tacit_sampler_settings_t *s) {
  bits(s, (tacit_accept_rule_t){.kind = TACIT_ACCEPT_ARCSINE, .max_bound = 0.3, .kappa = 0.4, .cap = 0.9});
}

static void minibatch(tacit_sampler_settings_t *s) {
  bits(s, (tacit_accept_rule_t){.kind = TACIT_ACCEPT_BARKER, .max_bound = 0.4});
  s->intensity = 2.5;
}

static void sampled_penalty(tacit_sampler_settings_t *s) {
  s->n_draws = 4;
  s->step_size = 0.02;
  s->sampling_rate = 0.5;
  s->noise_multiplier_ratio = 1.2;
}

/* What --metric private --clip-ratio private asks for, where the family has no bounds of its own. */
static void tuned(tacit_sampler_settings_t *s) {
  static const double metric[2] = {1e-9, 1e-9};
  warm_start(s);
  s->inv_metric = metric;
  s->n_init_steps = 2;
  s->noise_multiplier_init = 3;
  s->noise_multiplier_ratio = 6;
  s->tune_metric = s->tune_clip_grad = s->tune_clip_ratio = s->tune_step = true;
  s->clip_share = 0.01;
  s->noise_multiplier_metric = s->noise_multiplier_norms = 3;
}

/* Means so large that a count of 0 is as far out as one of 1000. */
static void poisson(tacit_sampler_settings_t *s) {
  static const double init[2] = {5, 0};
  penalty(s);
  s->init = init;
}

static void correction(tacit_sampler_settings_t *s) {
  s->n_draws = 4;
  s->sampling_rate = 0.5;
  s->noise_multiplier_ratio = 1.2;
  s->accept_rule = (tacit_accept_rule_t){.kind = TACIT_ACCEPT_BARKER, .max_bound = 0.25};
  s->ratio_variance = 2;
}

static void correction_penalty(tacit_sampler_settings_t *s) {
  correction(s);
  s->barker_test = TACIT_BARKER_PENALTY;
}

/* Every minibatch would be larger than what is allowed. */
static void minibatch_full(tacit_sampler_settings_t *s) {
  minibatch(s);
  s->max_batch = 1;
}

static void hamiltonian(tacit_sampler_settings_t *s) {
  s->n_draws = 2;
  s->n_leapfrog = 2;
  s->noise_multiplier_grad = 3.5;
  s->noise_multiplier_ratio = 2.5;
}

static void hamiltonian_anew(tacit_sampler_settings_t *s) {
  hamiltonian(s);
  s->reuse_gradient = false;
}

static void hamiltonian_bit(tacit_sampler_settings_t *s) {
  hamiltonian(s);
  s->step_jitter = false;
  s->noise_multiplier_grad = 4;
  s->accept_bit = true;
  s->accept_rule = (tacit_accept_rule_t){.kind = TACIT_ACCEPT_BARKER, .max_bound = 0.3};
}

static void hamiltonian_bit_chains(tacit_sampler_settings_t *s) {
  hamiltonian_bit(s);
  s->n_chains = 2;
  s->noise_multiplier_grad = 5.5;
}

/* Far from all that makes a record likely: residuals are 1 wherever the chain goes. */
static void langevin(tacit_sampler_settings_t *s) {
  static const double init[8] = {-40};
  s->init = init;
  s->n_draws = 8;
  s->step_size = 0.1;
  s->noise_multiplier_grad = 2 / (s->step_size * 2 * sqrt(8)); /* all the noise that the proposal has */
  s->accept_rule = (tacit_accept_rule_t){.kind = TACIT_ACCEPT_BARKER, .max_bound = 1};
}

static void langevin_penalty(tacit_sampler_settings_t *s) {
  langevin(s);
  s->accept_rule = (tacit_accept_rule_t){.kind = TACIT_ACCEPT_PENALTY, .max_bound = 1, .sigma = 0.25};
}

static void tempered(tacit_sampler_settings_t *s) {
  static const double init[8] = {-40};
  warm_start(s);
  s->init = init;
}

static void stochastic(tacit_sampler_settings_t *s) {
  s->n_draws = 4;
  s->n_leapfrog = 2;
  s->sampling_rate = 0.5;
  s->friction = 1;
  s->noise_multiplier_grad = 1.2;
}

static void stochastic_trajectories(tacit_sampler_settings_t *s) {
  stochastic(s);
  s->n_draws = 2;
}

static void stochastic_decay(tacit_sampler_settings_t *s) {
  stochastic(s);
  s->step_decay = 0.3;
}

static void stochastic_full(tacit_sampler_settings_t *s) {
  stochastic(s);
  s->sampling_rate = 1;
  s->noise_multiplier_grad = 2.5;
}

static void nothing(tacit_sampler_settings_t *s) { (void)s; }

/* ---- statistics ---- */

static const double zero = 0, one = 1, minus_one = -1, score_lower[2] = {-1, 0}, score_upper[2] = {1, 1};
static const size_t two_levels = 2;

#define SUM(distribution)                                                                                    \
  { .kind = TACIT_STATISTIC_SUM, .noise = distribution, .n_columns = 1, .lower = &zero, .upper = &one }
#define STEPS(distribution)                                                                                  \
  {                                                                                                          \
    .kind = TACIT_STATISTIC_SUM, .noise = distribution, .n_columns = 1, .lower = &zero, .upper = &one,       \
    .step = 0.25                                                                                             \
  }
#define COUNTS(distribution)                                                                                 \
  { .kind = TACIT_STATISTIC_COUNTS, .noise = distribution, .n_columns = 1, .n_levels = &two_levels }

static const tacit_statistic_t statistics[] = {
    SUM(TACIT_STATISTIC_GAUSSIAN),
    SUM(TACIT_STATISTIC_LAPLACE),
    STEPS(TACIT_STATISTIC_DISCRETE_GAUSSIAN),
    STEPS(TACIT_STATISTIC_DISCRETE_LAPLACE),
    COUNTS(TACIT_STATISTIC_GAUSSIAN),
    COUNTS(TACIT_STATISTIC_LAPLACE),
    COUNTS(TACIT_STATISTIC_DISCRETE_GAUSSIAN),
    COUNTS(TACIT_STATISTIC_DISCRETE_LAPLACE),
    {.kind = TACIT_STATISTIC_PRODUCTS,
     .noise = TACIT_STATISTIC_GAUSSIAN,
     .n_columns = 1,
     .lower = &minus_one,
     .upper = &one},
    {.kind = TACIT_STATISTIC_SCORE,
     .noise = TACIT_STATISTIC_GAUSSIAN,
     .n_columns = 2,
     .lower = score_lower,
     .upper = score_upper},
};

/* ---- the table ---- */

#define SUBSTITUTE .relation = TACIT_RELATION_SUBSTITUTE
#define ADD_REMOVE .relation = TACIT_RELATION_ADD_REMOVE
/* One record, far out on either side; or one record that is there or not, beside one that adds nothing. */
#define OPPOSITE .model = AUDIT_STEEP, .dim = 2, .sides = {{1, 1, {{1000, 618}}}, {1, 1, {{-1000, -618}}}}
#define PRESENT .model = AUDIT_STEEP, .dim = 2, .sides = {{2, 1, {{0, 0}, {1000, 618}}}, {1, 1, {{0, 0}}}}
#define UNIT                                                                                                 \
  .model = AUDIT_STEEP, .dim = 2, .unit_rows = 2,                                                            \
  .sides = {{2, 1, {{1000, 618}, {900, 618}}}, {2, 1, {{-1000, -618}, {-900, -618}}}}
/* Gradients of different length and opposite direction, far beyond clip bounds; curvature as large as can be,
 * or none. */
#define FAR .model = AUDIT_TUNED, .dim = 2, .sides = {{1, 1, {{1, 1, 4e4}}}, {1, 1, {{-1, -1, 3e4}}}}
/* Gradients at the bound, all but the intercept's share opposite. */
#define FEATURES                                                                                             \
  .model = AUDIT_LOGISTIC, .dim = 8,                                                                         \
  .sides = {{1, 1, {{1, 1, 1, 1, 1, 1, 1, 1, 1}}}, {1, 1, {{1, -1, -1, -1, -1, -1, -1, -1, 1}}}}
#define STATISTIC(i)                                                                                         \
  .method = "release", .model = AUDIT_COLUMNS, .statistic = &statistics[i], SUBSTITUTE, .configure = nothing
#define ROWS(release, pairs)                                                                                 \
  .method = "noise-aware", .model = AUDIT_LOGISTIC, .dim = 2, pairs, .configure = nothing, .rows = release,  \
  .noise_multiplier = 1.2, .share = 0.75
#define CENTRED(release, pairs)                                                                              \
  .method = "noise-aware", .model = AUDIT_CENTRED, .dim = 2, pairs, .configure = nothing, .rows = release,   \
  .noise_multiplier = 1.2, .share = 0.75
#define LEVELS .sides = {{1, 1, {{0}}}, {1, 1, {{1}}}}

const audit_case_t audit_cases[] = {
    {"penalty-full", "dp-penalty", "all components, noisy ratios", SUBSTITUTE, OPPOSITE, .configure = penalty,
     .share = 0.75, .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_NO_CLIP, FAULT_UNIFORM_NOISE}},
    {"penalty-one", "dp-penalty", "one component, noisy ratios", SUBSTITUTE, OPPOSITE,
     .configure = penalty_one, .share = 0.75,
     .faults = {FAULT_UNIFORM_NOISE, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_NO_CLIP}},
    {"penalty-guided", "dp-penalty", "guided, noisy ratios", SUBSTITUTE, OPPOSITE,
     .configure = penalty_guided, .share = 0.75,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_UNIFORM_NOISE}},
    {"penalty-add-remove", "dp-penalty", "all components, noisy ratios", ADD_REMOVE, PRESENT,
     .configure = penalty, .share = 0.75,
     .faults = {FAULT_UNIFORM_NOISE, FAULT_HALF_NOISE, FAULT_NO_CLIP, FAULT_HALF_RHO}},
    {"penalty-unit", "dp-penalty", "a unit of two records, noisy ratios", SUBSTITUTE, UNIT,
     .configure = penalty, .share = 0.75,
     .faults = {FAULT_ROWS_APART, FAULT_HALF_SENSITIVITY, FAULT_HALF_NOISE}},
    {"unit-start", "dp-penalty", "a unit of two records, four gradients, then one step", SUBSTITUTE, UNIT,
     .configure = warm_start, .share = 0.75, .faults = {FAULT_ROWS_APART, FAULT_HALF_NOISE, FAULT_NO_CLIP}},
    {"warm-start", "dp-penalty", "four gradients, then one step", SUBSTITUTE, OPPOSITE,
     .configure = warm_start, .share = 0.75,
     .faults = {FAULT_FREE_START, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_NO_CLIP}},
    {"penalty-tuned", "dp-penalty", "metric and clip bounds by releases, then one step", SUBSTITUTE, FAR,
     .configure = tuned, .share = 0.75,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_FREE_TUNING, FAULT_HALF_RHO}},
    {"penalty-tempered", "dp-penalty", "temperature 0.5, four gradients, then one step", SUBSTITUTE, FEATURES,
     .configure = tempered, .temperature = 0.5, .share = 0.65,
     .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY}},
    {"penalty-poisson", "dp-penalty", "poisson regression, clipped noisy ratios", SUBSTITUTE,
     .model = AUDIT_POISSON, .dim = 2, .sides = {{1, 1, {{1, 1, 1000}}}, {1, 1, {{1, 1, 0}}}},
     .configure = poisson, .share = 0.75,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_UNIFORM_NOISE}},
    {"penalty-bit", "dp-penalty", "penalty-bit", SUBSTITUTE, OPPOSITE, .configure = penalty_bit, .n_bits = 8,
     .share = 0.5, .share_exact = 0.7, .faults = {FAULT_NO_CLIP, FAULT_HALF_SENSITIVITY, FAULT_HALF_NOISE}},
    {"probit-bit", "dp-penalty", "probit-bit", SUBSTITUTE, OPPOSITE, .configure = probit_bit, .n_bits = 8,
     .share = 0.5, .share_exact = 0.7, .faults = {FAULT_NO_CLIP, FAULT_HALF_SENSITIVITY, FAULT_HALF_SIGMA}},
    {"barker-bit", "dp-penalty", "barker", SUBSTITUTE, OPPOSITE, .configure = barker, .n_bits = 8,
     .share = 0.5, .share_exact = 0.85,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_FREE_BIT}},
    {"arcsine-bit", "dp-penalty", "arcsine", SUBSTITUTE, OPPOSITE, .configure = arcsine_bit, .n_bits = 8,
     .share = 0.5, .share_exact = 0.7, .faults = {FAULT_NO_CLIP, FAULT_HALF_SENSITIVITY}},
    {"barker", "dp-barker", "", SUBSTITUTE, OPPOSITE, .configure = barker, .n_bits = 8, .share = 0.5,
     .share_exact = 0.85,
     .faults = {FAULT_FREE_BIT, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_NO_CLIP}},
    {"barker-add-remove", "dp-barker", "", ADD_REMOVE, PRESENT, .configure = barker, .n_bits = 8,
     .share = 0.5, .share_exact = 0.85, .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_FREE_BIT}},
    {"fast-mh-full", "dp-fast-mh-full", "", SUBSTITUTE, OPPOSITE, .configure = barker, .n_bits = 8,
     .share = 0.5, .share_exact = 0.85,
     .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_NO_CLIP, FAULT_FREE_BIT}},
    {"fast-mh", "dp-fast-mh", "", SUBSTITUTE, OPPOSITE, .configure = minibatch, .n_bits = 8, .share = 0.5,
     .share_exact = 0.7, .faults = {FAULT_HALF_SENSITIVITY, FAULT_FREE_BIT}, .quick_effort = 3},
    {"fast-mh-add-remove", "dp-fast-mh", "", ADD_REMOVE, PRESENT, .configure = minibatch, .n_bits = 8,
     .share = 0.5, .share_exact = 0.7, .faults = {FAULT_FREE_BIT}},
    {"fast-mh-full-batch", "dp-fast-mh", "minibatches not allowed to be so large", SUBSTITUTE, OPPOSITE,
     .configure = minibatch_full, .n_bits = 8, .share = 0.5, .share_exact = 0.7,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_FREE_BIT}},
    {"barker-vcorr", "dp-barker-vcorr", "correction distribution, q = 0.5", SUBSTITUTE, OPPOSITE,
     .configure = correction, .share = 0.5,
     .faults = {FAULT_DOUBLE_RATE, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_UNIFORM_NOISE},
     .quick_effort = 3},
    {"barker-vcorr-penalty", "dp-barker-vcorr", "barker-penalty, q = 0.5", SUBSTITUTE, OPPOSITE,
     .configure = correction_penalty, .share = 0.5,
     .faults = {FAULT_DOUBLE_RATE, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_UNIFORM_NOISE},
     .quick_effort = 0.5},
    {"penalty-subsampled", "dp-penalty-subsampled", "q = 0.5", SUBSTITUTE, OPPOSITE,
     .configure = sampled_penalty, .share = 0.5,
     .faults = {FAULT_DOUBLE_RATE, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_UNIFORM_NOISE},
     .quick_effort = 3},
    {"hmc", "dp-hmc", "noisy ratios, gradients reused", SUBSTITUTE, OPPOSITE, .configure = hamiltonian,
     .share = 0.75,
     .faults = {FAULT_UNIFORM_NOISE, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_NO_CLIP,
                FAULT_FREE_GRADIENTS}},
    {"hmc-anew", "dp-hmc", "noisy ratios, gradients anew", SUBSTITUTE, OPPOSITE,
     .configure = hamiltonian_anew, .share = 0.75,
     .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_NO_CLIP, FAULT_UNIFORM_NOISE}},
    {"hmc-bit", "dp-hmc", "barker", SUBSTITUTE, OPPOSITE, .configure = hamiltonian_bit, .share = 0.5,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY}},
    {"hmc-bit-chains", "dp-hmc", "barker, two chains", SUBSTITUTE, OPPOSITE,
     .configure = hamiltonian_bit_chains, .share = 0.5, .share_quick = 0.2,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY}},
    {"mala", "dp-mala", "barker", SUBSTITUTE, FEATURES, .configure = langevin, .share = 0.5,
     .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY}, .quick_effort = 3},
    {"mala-penalty", "dp-mala", "penalty-bit", SUBSTITUTE, FEATURES, .configure = langevin_penalty,
     .share = 0.5, .faults = {FAULT_HALF_SENSITIVITY, FAULT_HALF_NOISE}, .quick_effort = 3},
    {"sgld", "dp-sgld", "q = 0.5", SUBSTITUTE, OPPOSITE, .configure = stochastic, .share = 0.5,
     .faults = {FAULT_DOUBLE_RATE, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_NO_CLIP},
     .quick_effort = 3},
    {"sgld-decay", "dp-sgld", "q = 0.5, falling steps", SUBSTITUTE, OPPOSITE, .configure = stochastic_decay,
     .share = 0.5, .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_DOUBLE_RATE}},
    {"sgld-full", "dp-sgld", "q = 1", SUBSTITUTE, OPPOSITE, .configure = stochastic_full, .share = 0.75,
     .faults = {FAULT_HALF_SENSITIVITY, FAULT_HALF_NOISE, FAULT_NO_CLIP}},
    {"sgld-add-remove", "dp-sgld", "q = 0.5", ADD_REMOVE, PRESENT, .configure = stochastic, .share = 0.5,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_DOUBLE_RATE}},
    {"sghmc", "dp-sghmc", "q = 0.5", SUBSTITUTE, OPPOSITE, .configure = stochastic_trajectories, .share = 0.5,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_DOUBLE_RATE}},
    {"sgnht", "dp-sgnht", "q = 0.5", SUBSTITUTE, OPPOSITE, .configure = stochastic, .share = 0.5,
     .faults = {FAULT_NO_CLIP, FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_DOUBLE_RATE}},
    {"noise-aware", "noise-aware", "bernoulli, two features", SUBSTITUTE, .model = AUDIT_LOGISTIC, .dim = 2,
     .sides = {{121, 60, {{1, 0, 0}, {1, 0, 1}, {1, 1, 1}}}, {121, 60, {{1, 0, 0}, {1, 0, 1}, {1, -1, 1}}}},
     .n_second = 60, .configure = nothing, .rho = 0.3, .quick_effort = 0.1, .share = 0.5, .share_quick = 0.05,
     .faults = {FAULT_HALF_NOISE}},
    {"noise-aware-gaussian", "noise-aware", "gaussian, two features", SUBSTITUTE, .model = AUDIT_LOGISTIC,
     .dim = 2, .family = TACIT_FAMILY_GAUSSIAN,
     .sides = {{121, 60, {{1, 0.65, 0}, {1, -0.65, 0}, {1, 1, 1}}},
               {121, 60, {{1, 0.65, 0}, {1, -0.65, 0}, {1, -1, 1}}}},
     .n_second = 60, .configure = nothing, .rho = 0.3, .quick_effort = 0.25, .share = 0.5,
     .share_quick = 0.08, .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2}},
    {"rows-moments", ROWS(ROWS_SECOND_MOMENTS, SUBSTITUTE), .setting = "second moments of rows",
     .sides = {{1, 1, {{1, 1, 1}}}, {1, 1, {{1, 0, 1}}}}, .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2}},
    {"rows-score", ROWS(ROWS_SCORE, SUBSTITUTE), .setting = "weighted score",
     .sides = {{1, 1, {{1, 1, 1}}}, {1, 1, {{1, 1, 0}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY, FAULT_LONG_ROWS}},
    {"rows-score-present", ROWS(ROWS_SCORE, ADD_REMOVE), .setting = "weighted score, a record more",
     .sides = {{2, 1, {{1, 0, 1}, {1, 1, 1}}}, {1, 1, {{1, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"rows-information", ROWS(ROWS_INFORMATION, SUBSTITUTE), .setting = "information",
     .sides = {{1, 1, {{1, 1, 1}}}, {1, 1, {{1, -1, 1}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2, FAULT_LONG_ROWS}},
    {"rows-squares", ROWS(ROWS_SQUARES, SUBSTITUTE), .setting = "squares of scores",
     .sides = {{1, 1, {{1, 1, 1}}}, {1, 1, {{1, -1, 1}}}}, .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2}},
    {"rows-check", .setting = "check of a fit", .method = "noise-aware", .model = AUDIT_LOGISTIC, .dim = 2,
     SUBSTITUTE, .configure = nothing, .rows = ROWS_CHECK, .noise_multiplier = 1.2,
     .share = 0.6, /* counts and squares of any two records agree here: 0.92 of the sensitivity is reached */
     .sides = {{1, 1, {{1, 1, 0}}}, {1, 1, {{1, -1, 1}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY}},
    {"rows-shapes", .setting = "residuals along features", .method = "noise-aware", .model = AUDIT_LOGISTIC,
     .dim = 2, SUBSTITUTE, .configure = nothing, .rows = ROWS_SHAPES, .noise_multiplier = 1.2, .share = 0.6,
     .sides = {{1, 1, {{1, 1, 0}}}, {1, 1, {{1, -1, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"rows-count", ROWS(ROWS_COUNT, ADD_REMOVE), .setting = "number of units",
     .sides = {{2, 1, {{1, 0, 1}, {1, 1, 1}}}, {1, 1, {{1, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"rows-unit-score", ROWS(ROWS_SCORE, SUBSTITUTE), .setting = "weighted score of a unit of two records",
     .unit_rows = 2, .sides = {{2, 1, {{1, 1, 1}, {1, 1, 1}}}, {2, 1, {{1, 1, 0}, {1, 1, 0}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROWS_APART}},
    {"rows-unit-squares", ROWS(ROWS_SQUARES, SUBSTITUTE),
     .setting = "squares of scores of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 1}, {1, 1, 1}}}, {2, 1, {{1, -1, 1}, {1, -1, 1}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROWS_APART}},
    {"rows-unit-moments", ROWS(ROWS_SECOND_MOMENTS, SUBSTITUTE),
     .setting = "second moments of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 1}, {1, 1, 1}}}, {2, 1, {{1, 0, 1}, {1, 0, 1}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROWS_APART}},
    {"rows-unit-rows", ROWS(ROWS_UNIT_ROWS, SUBSTITUTE), .setting = "numbers of rows of units",
     .unit_rows = 2, .sides = {{2, 1, {{1, 1, 1}, {1, 1, 1}}}, {1, 1, {{1, 1, 1}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2}},
    {"rows-joint", ROWS(ROWS_JOINT, SUBSTITUTE), .setting = "joint second moments of rows and residuals",
     .sides = {{1, 1, {{1, 1, 2}}}, {1, 1, {{1, 1, -2}}}}, .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2}},
    {"rows-cells", ROWS(ROWS_CELLS, SUBSTITUTE), .setting = "counts of residuals",
     .sides = {{1, 1, {{1, 1, 2}}}, {1, 1, {{1, 1, -2}}}}, .faults = {FAULT_HALF_NOISE}},
    {"rows-cells-present", ROWS(ROWS_CELLS, ADD_REMOVE), .setting = "counts of residuals, a record more",
     .sides = {{2, 1, {{1, 0, 1}, {1, 1, 1}}}, {1, 1, {{1, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"rows-unit-joint", ROWS(ROWS_JOINT, SUBSTITUTE),
     .setting = "joint second moments of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 2}, {1, 1, 2}}}, {2, 1, {{1, 1, -2}, {1, 1, -2}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROWS_APART}},
    {"rows-unit-cells", .setting = "counts of residuals of a unit of two records", .method = "noise-aware",
     .model = AUDIT_LOGISTIC, .dim = 2, SUBSTITUTE, .configure = nothing, .rows = ROWS_CELLS,
     .noise_multiplier = 1.2, .unit_rows = 2, .share = 0.48,
     .quick_effort = 4, /* cells are sqrt 2 apart, the ball they are in is 2 wide */
     .sides = {{2, 1, {{1, 1, 2}, {1, 1, 2}}}, {2, 1, {{1, 1, -2}, {1, 1, -2}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROWS_APART}},
    {"bands-scores", ROWS(ROWS_BANDS, SUBSTITUTE), .setting = "bands of linear scores",
     .sides = {{1, 1, {{1, 1, 1}}}, {1, 1, {{1, 1, -1}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2, FAULT_HALF_SENSITIVITY}},
    {"bands-scores-apart", ROWS(ROWS_BANDS, SUBSTITUTE), .setting = "bands of linear scores, two bands",
     .sides = {{1, 1, {{1, 1, 1}}}, {1, 1, {{1, 1, 2}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2, FAULT_HALF_SENSITIVITY}},
    {"bands-scores-present", ROWS(ROWS_BANDS, ADD_REMOVE), .setting = "bands of linear scores, a record more",
     .sides = {{2, 1, {{0, 0, 1}, {1, 1, 1}}}, {1, 1, {{0, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"bands-scores-unit", ROWS(ROWS_BANDS, SUBSTITUTE),
     .setting = "bands of linear scores of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 1.16}, {1, 1, 1.16}}}, {2, 1, {{1, 1, -1.16}, {1, 1, -1.16}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROWS_APART, FAULT_HALF_SENSITIVITY}},
    {"bands-rows", ROWS(ROWS_BANDS_OF_ROWS, SUBSTITUTE), .setting = "bands of rows",
     .sides = {{1, 1, {{1, 1, 0}}}, {1, 1, {{1, -1, 0}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2, FAULT_HALF_SENSITIVITY}},
    {"bands-rows-unit", ROWS(ROWS_BANDS_OF_ROWS, SUBSTITUTE),
     .setting = "bands of rows of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1.42, 1.42, 0}, {1.42, 1.42, 0}}}, {2, 1, {{1.42, -1.42, 0}, {1.42, -1.42, 0}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROWS_APART, FAULT_HALF_SENSITIVITY}},
    {"bands-rows-unit-present", ROWS(ROWS_BANDS_OF_ROWS, ADD_REMOVE),
     .setting = "bands of rows of a unit of two records that is there or not", .unit_rows = 2,
     .sides = {{2, 1, {{1.42, 1.42, 0}, {1.42, 1.42, 0}}}, {2, 1, {{0, 0, 0}, {0, 0, 0}}}},
     .faults = {FAULT_HALF_NOISE}},
    {"bands-lengths", ROWS(ROWS_BAND_LENGTHS, SUBSTITUTE), .setting = "lengths of linear scores",
     .sides = {{1, 1, {{1, 1, 1}}}, {1, 1, {{1, 1, 2}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY}},
    {"bands-lengths-unit", ROWS(ROWS_BAND_LENGTHS, SUBSTITUTE),
     .setting = "lengths of linear scores of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 1}, {1, 1, 1}}}, {2, 1, {{1, 1, 0}, {1, 1, 0}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROWS_APART}},
    {"bands-lengths-present", ROWS(ROWS_BAND_LENGTHS, ADD_REMOVE),
     .setting = "lengths of linear scores, a record more",
     .sides = {{2, 1, {{0, 0, 1}, {1, 1, 1}}}, {1, 1, {{0, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"centred-score", CENTRED(ROWS_CENTRED, SUBSTITUTE), .setting = "centred scores of a program",
     .sides = {{1, 1, {{1, 1, 1e3}}}, {1, 1, {{1, 1, -1e3}}}},
     .faults = {FAULT_HALF_SENSITIVITY, FAULT_HALF_NOISE}},
    {"centred-score-unit", CENTRED(ROWS_CENTRED, SUBSTITUTE),
     .setting = "centred scores of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 1e3}, {1, 1, 1e3}}}, {2, 1, {{1, 1, -1e3}, {1, 1, -1e3}}}},
     .faults = {FAULT_ROWS_APART, FAULT_HALF_NOISE}},
    {"centred-score-present", CENTRED(ROWS_CENTRED, ADD_REMOVE),
     .setting = "centred scores of a program, a record more",
     .sides = {{2, 1, {{0, 0, 1}, {1, 1, 1e3}}}, {1, 1, {{0, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"centred-slope", CENTRED(ROWS_SLOPE, SUBSTITUTE), .setting = "slopes of centred scores of a program",
     .sides = {{1, 1, {{1, 1, 1e3}}}, {1, 1, {{1, -1, 1e3}}}}, .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2}},
    {"centred-slope-unit", CENTRED(ROWS_SLOPE, SUBSTITUTE),
     .setting = "slopes of centred scores of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 1e3}, {1, 1, 1e3}}}, {2, 1, {{1, -1, 1e3}, {1, -1, 1e3}}}},
     .faults = {FAULT_ROWS_APART, FAULT_HALF_NOISE}},
    {"centred-slope-present", CENTRED(ROWS_SLOPE, ADD_REMOVE),
     .setting = "slopes of centred scores of a program, a record more",
     .sides = {{2, 1, {{0, 0, 1}, {1, 1, 1e3}}}, {1, 1, {{0, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"program-scores", CENTRED(ROWS_PROGRAM_SCORES, SUBSTITUTE), .setting = "bands of scores of a program",
     .sides = {{1, 1, {{1, 1, 1e3}}}, {1, 1, {{1, 1, -1e3}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2, FAULT_HALF_SENSITIVITY}},
    {"program-scores-unit", CENTRED(ROWS_PROGRAM_SCORES, SUBSTITUTE),
     .setting = "bands of scores of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 1e3}, {1, 1, 1e3}}}, {2, 1, {{1, 1, -1e3}, {1, 1, -1e3}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY}},
    {"program-scores-present", CENTRED(ROWS_PROGRAM_SCORES, ADD_REMOVE),
     .setting = "bands of scores of a program, a record more",
     .sides = {{2, 1, {{0, 0, 1}, {1, 1, 1e3}}}, {1, 1, {{0, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"program-slopes", CENTRED(ROWS_PROGRAM_SLOPES, SUBSTITUTE), .setting = "bands of slopes of a program",
     .sides = {{1, 1, {{1, 1, 1e3}}}, {1, 1, {{1, -1, 1e3}}}}, .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2}},
    {"program-slopes-unit", CENTRED(ROWS_PROGRAM_SLOPES, SUBSTITUTE),
     .setting = "bands of slopes of a unit of two records", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 1e3}, {1, 1, 1e3}}}, {2, 1, {{1, -1, 1e3}, {1, -1, 1e3}}}},
     .faults = {FAULT_HALF_NOISE}},
    {"program-slopes-present", CENTRED(ROWS_PROGRAM_SLOPES, ADD_REMOVE),
     .setting = "bands of slopes of a program, a record more",
     .sides = {{2, 1, {{0, 0, 1}, {1, 1, 1e3}}}, {1, 1, {{0, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"program-lengths", CENTRED(ROWS_PROGRAM_LENGTHS, SUBSTITUTE),
     .setting = "lengths of scores of a program", .sides = {{1, 1, {{1, 1, 1e3}}}, {1, 1, {{1, 1, 0}}}},
     .faults = {FAULT_HALF_NOISE}},
    {"program-contrasts", CENTRED(ROWS_CONTRASTS, SUBSTITUTE),
     .setting = "scores of a program by numbers of rows",
     .sides = {{1, 1, {{1, 1, 1e3}}}, {1, 1, {{1, 1, -1e3}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_ROOT_2, FAULT_HALF_SENSITIVITY}},
    {"program-contrasts-unit", CENTRED(ROWS_CONTRASTS, SUBSTITUTE),
     .setting = "scores of a unit of two records by its number of rows", .unit_rows = 2,
     .sides = {{2, 1, {{1, 1, 1e3}, {1, 1, 1e3}}}, {2, 1, {{1, 1, -1e3}, {1, 1, -1e3}}}},
     .faults = {FAULT_HALF_NOISE, FAULT_HALF_SENSITIVITY}},
    {"program-contrasts-present", CENTRED(ROWS_CONTRASTS, ADD_REMOVE),
     .setting = "scores of a program by numbers of rows, a record more",
     .sides = {{2, 1, {{0, 0, 1}, {1, 1, 1e3}}}, {1, 1, {{0, 0, 1}}}}, .faults = {FAULT_HALF_NOISE}},
    {"sum-gaussian", STATISTIC(0), .setting = "clamped sum, gaussian", LEVELS, .noise_multiplier = 1.2,
     .share = 0.75, .faults = {FAULT_HALF_NOISE, FAULT_UNIFORM_NOISE}},
    {"sum-laplace", STATISTIC(1), .setting = "clamped sum, laplace", LEVELS, .noise_multiplier = 1,
     .share = 0.75, .faults = {FAULT_HALF_NOISE}},
    {"sum-discrete-gaussian", STATISTIC(2), .setting = "clamped sum, discrete gaussian", LEVELS,
     .noise_multiplier = 1.2, .share = 0.75, .faults = {FAULT_HALF_NOISE}},
    {"sum-discrete-laplace", STATISTIC(3), .setting = "clamped sum, discrete laplace", LEVELS,
     .noise_multiplier = 1, .share = 0.75, .faults = {FAULT_HALF_NOISE}},
    {"counts-gaussian", STATISTIC(4), .setting = "counts, gaussian", LEVELS, .noise_multiplier = 1.2,
     .share = 0.75, .faults = {FAULT_HALF_NOISE, FAULT_UNIFORM_NOISE}},
    {"counts-laplace", STATISTIC(5), .setting = "counts, laplace", LEVELS, .noise_multiplier = 1,
     .share = 0.75, .faults = {FAULT_HALF_NOISE}},
    {"counts-discrete-gaussian", STATISTIC(6), .setting = "counts, discrete gaussian", LEVELS,
     .noise_multiplier = 1.2, .share = 0.75, .faults = {FAULT_HALF_NOISE}},
    {"counts-discrete-laplace", STATISTIC(7), .setting = "counts, discrete laplace", LEVELS,
     .noise_multiplier = 1, .share = 0.5, .faults = {FAULT_HALF_NOISE}},
    {"products-gaussian", STATISTIC(8), .setting = "products, gaussian",
     .sides = {{1, 1, {{-1}}}, {1, 1, {{1}}}}, .noise_multiplier = 1.2, .share = 0.75,
     .faults = {FAULT_HALF_NOISE, FAULT_UNIFORM_NOISE}},
    {"score-gaussian", STATISTIC(9), .setting = "score, gaussian",
     .sides = {{1, 1, {{1, 1}}}, {1, 1, {{1, 0}}}}, .noise_multiplier = 1.2, .share = 0.7,
     .faults = {FAULT_HALF_NOISE, FAULT_UNIFORM_NOISE}},
};

const size_t n_audit_cases = sizeof audit_cases / sizeof audit_cases[0];
