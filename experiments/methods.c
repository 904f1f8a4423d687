/*
 * Every private method at the same budget on the same posteriors: how many independent posterior draws the
 * chain's mean is worth, 1 / E[((mean - posterior mean) / posterior sd)^2] over runs and coefficients, each
 * run one chain that spends the whole budget and starts at a posterior draw (as in the comparison of
 * acceptance rules in docs/theory.md, section 13.4). Each method is given a few step sizes, and the best is
 * shown: a setting that a user would not know beforehand, for all methods alike. Seeded and simulated:
 * nothing here is private.
 *
 * Usage: methods [TARGET [RUNS [RULE [EPSILON]]]]; RULE: only contenders whose acceptance rule is named so,
 * "" for all. Writes CSV to standard output.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "curator/curator.h"
#include "data/records.h"
#include "formula/model.h"
#include "models/models.h"
#include "tacit/draws.h"
#include "tacit/random.h"
#include "tacit/sample.h"

enum { max_dim = 10, n_reference = 4000 };

typedef struct target {
  const char *name;
  size_t n, dim;
  double epsilon, clip_grad, clip_ratio;
  tacit_model_t model;
  void (*record)(const struct target *target, tacit_rng_t *rng,
                 double *x); /* simulates; NULL: read from `data` */
  tacit_records_t *(*data)(void);
  double mean[max_dim], sd[max_dim];
  tacit_draws_t reference;
} target_t;

static tacit_error_t err;

static void must(tacit_status_t status) {
  if (status != TACIT_OK) {
    fprintf(stderr, "%s\n", err.message);
    exit(1);
  }
}

static tacit_rng_t *generator(uint64_t seed) {
  unsigned char key[32];
  tacit_rng_t *rng;
  tacit_rng_key_from_seed(key, seed);
  must(tacit_rng_new(&rng, key, 0, &err));
  return rng;
}

/* ---- targets ---- */

static void logistic_record(const target_t *target, tacit_rng_t *rng, double *x) {
  static const double truth[5] = {-0.3, 1, -0.8, 0.6, 0.4};
  double eta = truth[0];
  x[0] = 1;
  for (size_t j = 1; j < target->dim; j++) {
    x[j] = 2 * tacit_rng_uniform(rng) - 1;
    eta += truth[j] * x[j];
  }
  x[target->dim] = tacit_rng_uniform(rng) < 1 / (1 + exp(-eta)) ? 1 : 0;
}

/* Features in [-1, 1], so that parameters are reported as the sampler has them. */
static void init_regression(tacit_model_t *model, const char *formula) {
  static const char schema_text[] =
      "relation: substitute\ncolumns:\n  y: {type: binary}\n"
      "  a: {type: numeric, lower: -1, upper: 1}\n  b: {type: numeric, lower: -1, upper: 1}\n"
      "  c: {type: numeric, lower: -1, upper: 1}\n  d: {type: numeric, lower: -1, upper: 1}\n";
  tacit_schema_t *schema;
  tacit_design_t *design;
  tacit_glm_settings_t settings = tacit_glm_settings_default();
  settings.family = TACIT_FAMILY_BERNOULLI;
  must(tacit_schema_parse(&schema, schema_text, sizeof schema_text - 1, "schema", &err));
  must(tacit_design_new(&design, formula, schema, TACIT_FAMILY_BERNOULLI, &err));
  must(tacit_model_init_glm(model, design, &settings, &err));
  tacit_design_free(design);
  tacit_schema_free(schema);
}

static void init_logistic(target_t *target) {
  *target = (target_t){.name = "logistic", .n = 20000, .dim = 5, .epsilon = 3, .record = logistic_record};
  init_regression(&target->model, "y ~ a + b + c + d");
}

/* The demonstration of the README: run from the project's folder. */
static const char demo_formula[] = "death ~ age + sex + log(flc)",
                  demo_schema[] = "data/flchain/flchain.yaml", demo_data[] = "data/flchain/flchain.csv";

static tacit_records_t *read_demo(void) {
  tacit_schema_t *schema;
  tacit_design_t *design;
  tacit_table_t *table;
  tacit_records_t *records;
  size_t n_columns;
  must(tacit_schema_read(&schema, demo_schema, &err));
  must(tacit_design_new(&design, demo_formula, schema, TACIT_FAMILY_BERNOULLI, &err));
  const char *const *columns = tacit_design_columns(design, &n_columns);
  must(tacit_table_read(&table, demo_data, schema, columns, n_columns, NULL, &err));
  must(tacit_design_pack(&records, design, table, &err));
  tacit_table_free(table);
  tacit_design_free(design);
  tacit_schema_free(schema);
  return records;
}

static void init_demo(target_t *target) {
  *target = (target_t){.name = "demo", .dim = 4, .epsilon = 6, .data = read_demo};
  init_regression(&target->model,
                  "y ~ a + b + c"); /* three features, scaled as the demonstration scales them */
  tacit_records_t *records = read_demo();
  target->n = tacit_records_n(records);
  tacit_records_free(records);
}

static void normal_record(const target_t *target, tacit_rng_t *rng, double *x) {
  for (size_t j = 0; j < target->dim; j++) {
    x[j] = 0.1 * (double)j + tacit_rng_normal(rng);
  }
}

static void init_gaussian(target_t *target) {
  double sd[10];
  *target = (target_t){.name = "gaussian",
                       .n = 20000,
                       .dim = 10,
                       .epsilon = 6,
                       .clip_grad = 5,
                       .clip_ratio = 5,
                       .record = normal_record};
  for (size_t j = 0; j < 10; j++) {
    sd[j] = 1;
  }
  must(tacit_model_init_gaussian_mean(&target->model, 10, sd, 10, &err));
}

static void banana_record(const target_t *target, tacit_rng_t *rng, double *x) {
  (void)target;
  x[0] = sqrt(20) * tacit_rng_normal(rng);
  x[1] = 3 + sqrt(25) * tacit_rng_normal(rng);
}

static void init_banana(target_t *target) {
  const double variance[2] = {20, 25};
  *target = (target_t){.name = "banana",
                       .n = 20000,
                       .dim = 2,
                       .epsilon = 6,
                       .clip_grad = 1,
                       .clip_ratio = 1,
                       .record = banana_record};
  must(tacit_model_init_banana(&target->model, 2, 20, 0, 0, 1000, variance, &err));
}

static void mixture_record(const target_t *target, tacit_rng_t *rng, double *x) {
  (void)target;
  x[0] = (tacit_rng_uniform(rng) < 0.5 ? 0 : 1) + sqrt(2) * tacit_rng_normal(rng);
}

static void init_mixture(target_t *target) {
  const double prior[2] = {10, 1};
  *target = (target_t){.name = "mixture",
                       .n = 50000,
                       .dim = 2,
                       .epsilon = 6,
                       .clip_grad = 3,
                       .clip_ratio = 3,
                       .record = mixture_record};
  must(tacit_model_init_mixture(&target->model, 2, prior, &err));
}

static tacit_records_t *simulate(const target_t *target) {
  if (target->data != NULL) {
    return target->data();
  }
  tacit_records_t *records;
  tacit_rng_t *rng = generator(1);
  must(tacit_records_new(&records, target->n, target->model.records.n_columns, &err));
  for (size_t i = 0; i < target->n; i++) {
    double x[max_dim + 1];
    target->record(target, rng, x);
    tacit_records_set(records, i, x);
  }
  tacit_rng_free(rng);
  return records;
}

/* ---- runs ---- */

typedef struct contender {
  const char *method, *acceptance;
  bool is_bit;
  tacit_accept_kind_t kind;
  double steps[4]; /* 0: the plan's own */
  tacit_proposal_t proposal;
} contender_t;

static const contender_t contenders[] = {
    {"dp-penalty", "penalty", false, TACIT_ACCEPT_BARKER, {0, 1.2, 0.6, 0.3}, TACIT_PROPOSAL_FULL},
    {"dp-penalty", "penalty, guided", false, TACIT_ACCEPT_BARKER, {0, 1.5, 0.75, 0.4}, TACIT_PROPOSAL_GUIDED},
    {"dp-penalty", "penalty-bit", true, TACIT_ACCEPT_PENALTY, {0, 0.8, 0.4, 0.25}, TACIT_PROPOSAL_FULL},
    {"dp-penalty",
     "penalty-bit, guided",
     true,
     TACIT_ACCEPT_PENALTY,
     {0, 1, 0.5, 0.3},
     TACIT_PROPOSAL_GUIDED},
    {"dp-penalty", "arcsine, guided", true, TACIT_ACCEPT_ARCSINE, {0, 1, 0.5, 0.3}, TACIT_PROPOSAL_GUIDED},
    {"dp-penalty", "arcsine", true, TACIT_ACCEPT_ARCSINE, {0, 0.8, 0.4, 0.25}, TACIT_PROPOSAL_FULL},
    {"dp-barker", "barker", true, TACIT_ACCEPT_BARKER, {0, 0.8, 0.4, 0.2}, TACIT_PROPOSAL_FULL},
    {"dp-barker", "barker, guided", true, TACIT_ACCEPT_BARKER, {0, 1.5, 0.75, 0.4}, TACIT_PROPOSAL_GUIDED},
    {"dp-fast-mh", "barker", true, TACIT_ACCEPT_BARKER, {0, 0.8, 0.4, 0.2}, TACIT_PROPOSAL_FULL},
    {"dp-hmc", "penalty", false, TACIT_ACCEPT_BARKER, {0, 0.4, 0.2, 0.1}, TACIT_PROPOSAL_FULL},
    {"dp-hmc", "penalty, no reuse", false, TACIT_ACCEPT_BARKER, {0, 0.4, 0.2, 0.1}, TACIT_PROPOSAL_FULL},
    {"dp-hmc", "barker", true, TACIT_ACCEPT_BARKER, {0, 0.4, 0.2, 0.1}, TACIT_PROPOSAL_FULL},
    {"dp-penalty-subsampled", "penalty", false, TACIT_ACCEPT_BARKER, {0, 0.8, 0.4, 0.2}, TACIT_PROPOSAL_FULL},
    {"dp-barker-vcorr", "vcorr", false, TACIT_ACCEPT_BARKER, {0, 0.8, 0.4, 0.2}, TACIT_PROPOSAL_FULL},
    {"dp-mala", "penalty-bit", true, TACIT_ACCEPT_PENALTY, {0, 0.2, 0.15, 0.1}, TACIT_PROPOSAL_FULL},
    {"dp-mala", "barker", true, TACIT_ACCEPT_BARKER, {0, 0.5, 0.4, 0.3}, TACIT_PROPOSAL_FULL},
    {"dp-sgld", "none", false, TACIT_ACCEPT_BARKER, {0, 0.3, 0.2, 0.6}, TACIT_PROPOSAL_FULL},
    {"dp-sghmc", "none", false, TACIT_ACCEPT_BARKER, {0, 0.3, 0.2, 0.05}, TACIT_PROPOSAL_FULL},
    {"dp-sgnht", "none", false, TACIT_ACCEPT_BARKER, {0, 0.3, 0.2, 0.05}, TACIT_PROPOSAL_FULL},
};

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static tacit_status_t plan_runs(const target_t *target, const contender_t *of, double step,
                                const double *metric, tacit_curator_t *curator, tacit_budget_t *budget,
                                tacit_sampler_settings_t *s, double *forecast) {
  const tacit_method_t *method = tacit_method_find(of->method);
  tacit_plan_request_t request = {.curator = curator,
                                  .parameters = &target->model.parameters,
                                  .n_units = (double)target->n,
                                  .rho = tacit_budget_rho(budget),
                                  .epsilon = target->epsilon,
                                  .delta = 1e-6,
                                  .relation = TACIT_RELATION_SUBSTITUTE,
                                  .is_quick = true};
  tacit_plan_t plan;
  double unused[max_dim];
  *s = tacit_sampler_settings_default();
  s->n_draws = 0;
  s->n_warmup = 0;
  s->n_chains = 1;
  s->step_size = step;
  s->proposal = of->proposal;
  s->accept_bit = of->is_bit;
  s->reuse_gradient =
      strstr(of->acceptance, "no reuse") == NULL; /* else k(L + 1) gradients, as the paper has it */
  s->accept_rule.kind = of->kind;
  s->inv_metric = metric;
  tacit_status_t status = tacit_plan(method, &request, s, unused, &plan, &err);
  *forecast = plan.ess;
  return status;
}

static void set_schedule(const contender_t *of, const tacit_sampler_settings_t *s,
                         const tacit_curator_t *curator, tacit_budget_t *budget) {
  const tacit_method_t *method = tacit_method_find(of->method);
  tacit_event_t *events;
  size_t n;
  if (tacit_sampler_needs_schedule(method, s)) {
    must(tacit_sampler_schedule(method, s, curator, s->n_warmup + s->n_draws, &events, &n, &err));
    must(tacit_budget_set_schedule(budget, events, n, &err));
    tacit_free(events);
  }
}

typedef struct tally {
  double square, acceptance, iterations, seconds, step, forecast;
  size_t n;
} tally_t;

/* The first run makes the plan, *s, which the others follow. */
static bool run(const target_t *target, const contender_t *of, double step, uint64_t seed,
                tacit_sampler_settings_t *s, tally_t *tally) {
  tacit_curator_settings_t limits = tacit_curator_settings_default();
  limits.clip_bound_grad = target->clip_grad;
  limits.clip_bound_ratio = target->clip_ratio;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  double metric[max_dim];
  for (size_t j = 0; j < target->dim; j++) {
    metric[j] = target->sd[j] * target->sd[j];
  }
  must(tacit_budget_new(&budget, target->epsilon, 1e-6, TACIT_RELATION_SUBSTITUTE, &err));
  must(tacit_noise_new_seeded_not_private(&noise, seed, &err));
  must(tacit_curator_new(&curator, simulate(target), &target->model.records, budget, noise, &limits, &err));
  tacit_status_t status = TACIT_OK;
  if (tally->n == 0) {
    status = plan_runs(target, of, step, metric, curator, budget, s, &tally->forecast);
  }
  s->inv_metric = metric;
  if (status == TACIT_OK) {
    set_schedule(of, s, curator, budget);
    s->init =
        tacit_draws_row(&target->reference, seed % 4, target->reference.n_warmup + seed * 37 % n_reference);
    tacit_rng_key_from_seed(s->key, seed + 1000);
    tacit_draws_t draws;
    tacit_sample_end_t end;
    double start = seconds();
    must(tacit_sample(tacit_method_find(of->method), curator, &target->model.parameters, s, &draws, &end,
                      &err));
    tally->seconds += seconds() - start;
    size_t kept = tacit_draws_n_kept(&draws);
    for (size_t j = 0; j < target->dim; j++) {
      double sum = 0;
      for (size_t i = 0; i < kept; i++) {
        sum += tacit_draws_row(&draws, 0, i)[j];
      }
      double z = (sum / (double)kept - target->mean[j]) / target->sd[j];
      tally->square += z * z / (double)target->dim;
    }
    for (size_t i = 0; i < kept; i++) {
      tally->acceptance += draws.stats[i].accept_stat / (double)kept;
    }
    tally->iterations += (double)(s->n_warmup + s->n_draws);
    tally->step = s->step_size;
    tally->n++;
    tacit_draws_clear(&draws);
  }
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
  return status == TACIT_OK;
}

/* The posterior by a long exposed run; parameters are compared as they are reported. */
static void set_reference(target_t *target) {
  tacit_curator_t *curator;
  must(tacit_curator_new_exposed(&curator, simulate(target), &target->model.records, NULL, &err));
  tacit_sampler_settings_t s = tacit_sampler_settings_default();
  double metric[max_dim];
  for (size_t j = 0; j < target->dim; j++) {
    metric[j] = pow(target->model.parameters.unit_scale[j], 2) / (double)target->n;
  }
  s.n_draws = n_reference;
  s.n_warmup = 1000;
  s.step_size = 0.3;
  s.n_leapfrog = 8;
  s.adapt = true;
  s.inv_metric = metric;
  tacit_rng_key_from_seed(s.key, 3);
  tacit_sample_end_t end;
  must(tacit_sample(tacit_method_find("hmc"), curator, &target->model.parameters, &s, &target->reference,
                    &end, &err));
  for (size_t j = 0; j < target->dim; j++) {
    double sum = 0, square = 0;
    for (size_t i = 0; i < 4 * n_reference; i++) {
      double x = tacit_draws_row(&target->reference, i / n_reference, s.n_warmup + i % n_reference)[j];
      sum += x;
      square += x * x;
    }
    target->mean[j] = sum / (4 * n_reference);
    target->sd[j] = sqrt(square / (4 * n_reference) - target->mean[j] * target->mean[j]);
  }
  tacit_curator_free(curator);
}

static void compare(target_t *target, size_t n_runs, const char *rule) {
  set_reference(target);
  for (size_t m = 0; m < sizeof contenders / sizeof contenders[0]; m++) {
    bool is_wanted = rule == NULL || *rule == '\0' || strcmp(rule, contenders[m].acceptance) == 0;
    for (size_t k = 0; is_wanted && k < 4; k++) {
      tally_t t = {0};
      tacit_sampler_settings_t s;
      for (uint64_t seed = 1; seed <= n_runs; seed++) {
        if (!run(target, &contenders[m], contenders[m].steps[k], seed, &s, &t)) {
          break;
        }
      }
      double n = (double)t.n;
      if (t.n == 0) { /* not one iteration */
        continue;
      }
      printf("%s,%g,%s,\"%s\",%.3g,%.0f,%.3f,%.2f,%.3f,%.2f\n", target->name, target->epsilon,
             contenders[m].method, contenders[m].acceptance, t.step, t.iterations / n, t.acceptance / n,
             n / t.square, t.seconds / n, t.forecast);
      fflush(stdout);
    }
  }
  tacit_draws_clear(&target->reference);
  tacit_model_clear(&target->model);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*init)(target_t *target);
  } targets[] = {{"logistic", init_logistic},
                 {"demo", init_demo},
                 {"gaussian", init_gaussian},
                 {"banana", init_banana},
                 {"mixture", init_mixture}};
  size_t n_runs = argc > 2 ? (size_t)atoi(argv[2]) : 16;
  printf("target,epsilon,method,acceptance rule,step size,iterations,acceptance,effective "
         "draws,seconds,forecast\n");
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    if (argc < 2 || strcmp(argv[1], targets[i].name) == 0) {
      target_t target;
      targets[i].init(&target);
      target.epsilon = argc > 4 ? atof(argv[4]) : target.epsilon;
      compare(&target, n_runs, argc > 3 ? argv[3] : NULL);
    }
  }
  return 0;
}
