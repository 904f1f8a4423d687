/* One simulated data set, fitted in this process by the library. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "curator/curator.h"
#include "diagnose/diagnose.h"
#include "honesty.h"
#include "program/compiled.h"
#include "program/language.h"
#include "program/program.h"
#include "tacit/account.h"
#include "tacit/data.h"

/* Everything of one run; freed in one place. */
typedef struct run {
  const kind_t *kind;
  tacit_error_t err;
  tacit_schema_t *schema;
  tacit_design_t *design;
  tacit_program_t *program; /* in place of a design */
  tacit_model_t model;
  tacit_rng_t *rng;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  tacit_draws_t draws;
  tacit_evidence_t evidence;
  double second[MAX_FEATURES * MAX_FEATURES]; /* (d, d): sum of x x', x in the bounds' scale */
  double cross[MAX_FEATURES], square;         /* of x y and y y */
} run_t;

static void scale(void *user, const tacit_feature_scale_t *scales) {
  tacit_model_scale_priors(user, scales, TACIT_PRIOR_BASIS_RELEASED);
}

static void normal_tails(void *user) { tacit_model_normal_tails(user); }

static tacit_status_t make_program(run_t *r, const char *formula) {
  tacit_program_settings_t settings = {.schema = r->schema,
                                       .records = "",
                                       .keeps_responses = true,
                                       .is_followed_to_bound = r->kind->program.is_censored};
  char *text = NULL;
  tacit_status_t status = tacit_program_of_formula(&text, formula, r->kind->program.name, r->schema, &r->err);
  if (status == TACIT_OK) {
    status = tacit_program_parse(&r->program, text, strlen(text), &settings, &r->err);
  }
  tacit_free(text);
  return status == TACIT_OK ? tacit_program_compile(r->program, &r->model, &r->err) : status;
}

static tacit_status_t make_model(run_t *r) {
  char text[2048], formula[160];
  kind_schema(r->kind, text, sizeof text);
  kind_formula(r->kind, formula, sizeof formula);
  tacit_glm_settings_t settings = tacit_glm_settings_default();
  settings.family = r->kind->family;
  tacit_status_t status = tacit_schema_parse(&r->schema, text, strlen(text), "honesty", &r->err);
  if (status == TACIT_OK && r->kind->program.name != NULL) {
    return make_program(r, formula);
  }
  if (status == TACIT_OK) {
    status = tacit_design_new(&r->design, formula, r->schema, r->kind->family, &r->err);
  }
  return status == TACIT_OK ? tacit_model_init_glm(&r->model, r->design, &settings, &r->err) : status;
}

/* The number of a record that a column of the program is made of: x1 .. , y, over. */
static size_t number_of(const kind_t *kind, const char *source) {
  return source[0] == 'x' ? (size_t)atoi(source + 1) - 1 : kind->n_columns + (source[0] == 'o');
}

static tacit_status_t make_program_records(run_t *r, tacit_records_t **records) {
  const tacit_compiled_t *program = r->program->compiled;
  size_t n = r->kind->n, n_raw = program->graph->n_columns, n_packed = program->layout.n_columns;
  double *raw = calloc(n_raw * n + n_packed * n + n_packed, sizeof *raw), *packed = raw + n_raw * n,
         *row = packed + n_packed * n;
  tacit_status_t status = raw != NULL ? tacit_records_new(records, n, n_packed, &r->err) : TACIT_ERR_MEMORY;
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    double record[MAX_FEATURES + 1];
    kind_record(r->kind, r->rng, record);
    for (size_t k = 0; k < n_raw; k++) {
      const tacit_graph_column_t *column = &program->graph->columns[k];
      double x = record[number_of(r->kind, column->source)];
      raw[k * n + i] = isnan(column->level) ? x + column->offset : fabs(x - column->level) < 0.5;
    }
  }
  if (status == TACIT_OK) {
    tacit_compiled_derive(program, n, raw, packed);
  }
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    for (size_t j = 0; j < n_packed; j++) {
      row[j] = packed[j * n + i];
    }
    tacit_records_set(*records, i, row);
  }
  free(raw);
  return status;
}

static tacit_status_t make_records(run_t *r, tacit_records_t **records) {
  const kind_t *kind = r->kind;
  if (kind->program.name != NULL) {
    return make_program_records(r, records);
  }
  size_t d = kind->n_columns + 1;
  tacit_status_t status = tacit_records_new(records, kind->n, d + 1, &r->err);
  for (size_t i = 0; i < kind->n && status == TACIT_OK; i++) {
    double record[MAX_FEATURES + 1], packed[MAX_FEATURES + 1] = {1};
    kind_record(kind, r->rng, record);
    for (size_t j = 1; j < d; j++) {
      double centre, half;
      tacit_design_scaling(r->design, j, &centre, &half);
      packed[j] = fmax(fmin((record[j - 1] - centre) / half, 1), -1);
    }
    packed[d] = kind->family == TACIT_FAMILY_GAUSSIAN ? record[d - 1] / kind->upper : record[d - 1];
    tacit_records_set(*records, i, packed);
    for (size_t j = 0; j < d; j++) {
      for (size_t k = 0; k < d; k++) {
        r->second[j * d + k] += packed[j] * packed[k];
      }
      r->cross[j] += packed[j] * packed[d];
    }
    r->square += packed[d] * packed[d];
  }
  return status;
}

/* sd (d + 1) <- standard errors of least squares on the original scale, and of sigma. */
static void exact(const run_t *r, double *sd) {
  size_t d = r->kind->n_columns + 1;
  double n = (double)r->kind->n, half = r->kind->upper, factor[MAX_FEATURES * MAX_FEATURES],
         inverse[MAX_FEATURES * MAX_FEATURES], fit = r->square;
  memset(inverse, 0, sizeof inverse);
  for (size_t j = 0; j < d; j++) { /* Cholesky factor of the second moments, and its inverse */
    for (size_t i = j; i < d; i++) {
      double sum = r->second[i * d + j];
      for (size_t k = 0; k < j; k++) {
        sum -= factor[i * d + k] * factor[j * d + k];
      }
      factor[i * d + j] = i == j ? sqrt(sum) : sum / factor[j * d + j];
    }
  }
  for (size_t j = 0; j < d; j++) {
    inverse[j * d + j] = 1 / factor[j * d + j];
    for (size_t i = j + 1; i < d; i++) {
      for (size_t k = j; k < i; k++) {
        inverse[i * d + j] -= factor[i * d + k] * inverse[k * d + j] / factor[i * d + i];
      }
    }
  }
  for (size_t i = 0; i < d; i++) {
    double part = 0;
    for (size_t j = 0; j <= i; j++) {
      part += inverse[i * d + j] * r->cross[j];
    }
    fit -= part * part;
  }
  double sigma = half * sqrt(fit / n), map[MAX_FEATURES];
  for (size_t j = 0; j < d;
       j++) { /* the intercept is that at all columns 0: theta_0 - sum_k centre_k / half_k theta_k */
    double variance = 0;
    for (size_t k = 0; k < d; k++) {
      double centre = 0, unit = 1;
      if (k > 0) {
        tacit_design_scaling(r->design, k, &centre, &unit);
      }
      map[k] = j > 0 ? (k == j) / unit : k == 0 ? 1 : -centre / unit;
    }
    for (size_t i = 0; i < d; i++) {
      double part = 0;
      for (size_t k = 0; k <= i; k++) {
        part += inverse[i * d + k] * map[k];
      }
      variance += part * part;
    }
    sd[j] = sigma * sqrt(variance);
  }
  sd[d] = sigma / sqrt(2 * n);
}

static tacit_status_t fit(run_t *r, tacit_relation_t relation, double epsilon, uint64_t seed,
                          const unsigned char key[32]) {
  tacit_records_t *records = NULL;
  bool is_two_valued[MAX_FEATURES] = {false};
  tacit_status_t status = make_model(r);
  if (status == TACIT_OK) {
    status = tacit_rng_new(&r->rng, key, 1 << 20, &r->err);
  }
  if (status == TACIT_OK) {
    status = make_records(r, &records);
  }
  if (status == TACIT_OK) {
    status = tacit_budget_new(&r->budget, epsilon, 1e-6, relation, &r->err);
  }
  if (status == TACIT_OK) {
    status = tacit_noise_new_seeded_not_private(&r->noise, seed, &r->err);
  }
  if (status != TACIT_OK) {
    tacit_records_free(records);
    return status;
  }
  status = tacit_curator_new(&r->curator, records, &r->model.records, r->budget, r->noise, NULL, &r->err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t j = 0; r->design != NULL && j <= r->kind->n_columns; j++) {
    is_two_valued[j] = tacit_design_is_two_valued(r->design, j);
  }
  tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
  settings.family = r->kind->family;
  settings.upper = r->kind->family == TACIT_FAMILY_GAUSSIAN ? 1 : r->kind->upper;
  settings.n_units = (double)r->kind->n;
  settings.n_features = r->kind->n_columns + 1;
  settings.delta = 1e-6;
  settings.relation = relation;
  settings.is_two_valued = is_two_valued;
  settings.rho = tacit_budget_rho(r->budget) * (1 - 1e-9);
  if (r->program != NULL) {
    settings.records = &r->model.records;
    settings.n_features = r->model.parameters.dim;
    status = tacit_noise_aware_measure(&settings, &r->model.parameters, &r->err);
  }
  settings.n_chains = 2;
  settings.n_warmup = 150;
  settings.n_draws = 300;
  settings.scaled = r->program == NULL ? scale : NULL;
  settings.normal_tails = r->program == NULL ? normal_tails : NULL;
  settings.prior_user = &r->model;
  settings.evidence = &r->evidence;
  memcpy(settings.key, key, 32);
  return status == TACIT_OK
             ? tacit_noise_aware_fit(r->curator, &r->model.parameters, &settings, &r->draws, &r->err)
             : status;
}

static void join(char *to, size_t n, const char *name) {
  if (strstr(to, name) == NULL && strlen(to) + strlen(name) + 2 < n) {
    strcat(to, to[0] != '\0' ? "+" : "");
    strcat(to, name);
  }
}

/* Of each check the statistic of the term that is nearest to its flag, or past it furthest. */
static void write_statistics(const tacit_checks_t *checks, char *to, size_t n) {
  size_t at = 0;
  for (int id = 0; id < TACIT_N_CHECKS; id++) {
    const tacit_check_info_t *info = tacit_check_info((tacit_check_id_t)id);
    double worst = NAN;
    for (size_t i = 0; i < checks->n; i++) {
      if (checks->items[i].id == (tacit_check_id_t)id) {
        double statistic = checks->items[i].statistic;
        worst = info->is_below ? fmin(worst, statistic) : fmax(worst, statistic);
      }
    }
    if (!isnan(worst) && at < n) {
      at += (size_t)snprintf(to + at, n - at, "%s%s=%.4g", at > 0 ? "+" : "", info->name, worst);
    }
  }
}

/* Terms whose truth is known, and where they are among what is reported. */
static void find_terms(const run_t *r, outcome_t *o, size_t *reported) {
  if (r->program == NULL) {
    o->has_sigma = r->kind->family == TACIT_FAMILY_GAUSSIAN;
    o->n_terms = r->kind->n_columns + 1 + o->has_sigma;
    kind_truth(r->kind, o->truth);
    for (size_t j = 0; j < o->n_terms; j++) {
      reported[j] = j;
    }
    return;
  }
  for (size_t i = 0; i < tacit_program_n_reported(r->program) && o->n_terms < MAX_TERMS; i++) {
    if (program_truth(r->kind, tacit_program_name(r->program, i), &o->truth[o->n_terms])) {
      reported[o->n_terms++] = i;
    }
  }
}

static tacit_status_t summarise(run_t *r, outcome_t *o) {
  size_t reported[MAX_TERMS];
  find_terms(r, o, reported);
  if (o->has_sigma) {
    exact(r, o->exact_sd);
  }
  for (size_t j = 0; j < o->n_terms; j++) {
    tacit_summary_t s;
    tacit_status_t status = tacit_draws_summarise_with(&r->draws, reported[j], &r->evidence, &s, &r->err);
    if (status != TACIT_OK) {
      return status;
    }
    o->mean[j] = s.mean;
    o->sd[j] = s.sd;
    o->q5[j] = s.q5;
    o->q95[j] = s.q95;
    o->share[j] = s.prior_share;
    if (s.rhat > 1.2) {
      join(o->problems, sizeof o->problems, "rhat");
    } else if (s.rhat > 1.05) {
      join(o->warnings, sizeof o->warnings, "rhat");
    }
  }
  write_statistics(&r->evidence.checks, o->statistics, sizeof o->statistics);
  for (size_t i = 0; i < r->evidence.checks.n; i++) {
    const tacit_check_t *check = &r->evidence.checks.items[i];
    const tacit_check_info_t *info = tacit_check_info(check->id);
    if (tacit_check_is_flagged(check) && info->severity == TACIT_SEVERITY_PROBLEM) {
      join(o->problems, sizeof o->problems, info->name);
    } else if (tacit_check_is_flagged(check)) {
      join(o->warnings, sizeof o->warnings, info->name);
    }
  }
  return TACIT_OK;
}

bool kind_run(const kind_t *kind, tacit_relation_t relation, double epsilon, uint64_t seed,
              outcome_t *outcome) {
  *outcome = (outcome_t){0};
  run_t *r = calloc(1, sizeof *r);
  if (r == NULL) {
    snprintf(outcome->problems, sizeof outcome->problems, "out of memory");
    return false;
  }
  unsigned char key[32];
  r->kind = kind;
  tacit_rng_key_from_seed(key, seed);
  clock_t start = clock();
  tacit_status_t status = fit(r, relation, epsilon, seed, key);
  outcome->seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  if (status == TACIT_OK) {
    status = summarise(r, outcome);
  }
  if (status != TACIT_OK) {
    if (status == TACIT_ERR_BUDGET) {
      snprintf(outcome->problems, sizeof outcome->problems, "refused");
    } else {
      snprintf(outcome->problems, sizeof outcome->problems, "FAILED: %.120s", r->err.message);
    }
    for (char *c = outcome->problems; *c != '\0'; c++) {
      *c = *c == ',' || *c == '\n' ? ' ' : *c;
    }
  }
  tacit_draws_clear(&r->draws);
  tacit_curator_free(r->curator);
  tacit_noise_free(r->noise);
  tacit_budget_free(r->budget);
  tacit_rng_free(r->rng);
  tacit_model_clear(&r->model);
  tacit_program_free(r->program);
  tacit_design_free(r->design);
  tacit_schema_free(r->schema);
  free(r);
  return status == TACIT_OK;
}
