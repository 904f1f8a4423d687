/*
 * Whatever numbers are released, a fit that has spent its budget ends with draws that are numbers, and so
 * does one from what was kept. Numbers are changed as they are released, so that what follows goes by them:
 * points of later releases, the mode that is sought, the posterior. Those that no records and no noise bring
 * about may end in an error, as releases that somebody edited may.
 */
#include <float.h>

#include "data/records.h"
#include "noise_aware/program_simulation.h"
#include "noise_aware/simulation.h"
#include "testing.h"

/* ---- what becomes of released numbers ---- */

typedef enum kind {
  AS_IT_IS,
  ZERO,
  FLIPPED,
  SCALED,    /* by `size`, of either sign */
  NEGATIVE,  /* counts of nobody and less, matrices with no positive eigenvalue */
  EQUAL,     /* `size`, all of them */
  NORMAL,    /* of sd `size`, at random */
  SPIKE,     /* one number is `size`, the others are as they are */
  ALTERNATE, /* +size and -size in turn: no matrix is positive then */
  N_KINDS
} kind_t;

static struct {
  kind_t kind;
  double size;      /* of values, in sds of the noise; of SCALED a factor */
  double share;     /* of releases that are changed */
  double n;         /* records that sums are of, at most */
  bool is_possible; /* no number is beyond what n of them sum to, and ten sds of noise */
  tacit_rng_t *rng;
  size_t n_missing; /* statistics of checks that are no numbers, and say nothing */
} adversary;

static double changed(double value, size_t i, size_t spike, double size) {
  switch (adversary.kind) {
  case ZERO:
    return 0;
  case FLIPPED:
    return -value;
  case SCALED:
    return value * adversary.size;
  case NEGATIVE:
    return -fabs(value) - size;
  case EQUAL:
    return size;
  case NORMAL:
    return size * tacit_rng_normal(adversary.rng);
  case SPIKE:
    return i == spike ? size : value;
  case ALTERNATE:
    return i % 2 == 0 ? size : -size;
  default:
    return value;
  }
}

tacit_status_t __real_tacit_releases_add(tacit_releases_t *releases, const tacit_kept_release_t *release,
                                         tacit_error_t *err);
tacit_status_t __wrap_tacit_releases_add(tacit_releases_t *releases, const tacit_kept_release_t *release,
                                         tacit_error_t *err);
tacit_status_t __wrap_tacit_releases_add(tacit_releases_t *releases, const tacit_kept_release_t *release,
                                         tacit_error_t *err) {
  if (adversary.kind != AS_IT_IS && tacit_rng_uniform(adversary.rng) < adversary.share) {
    size_t spike = (size_t)(tacit_rng_uniform(adversary.rng) * (double)release->n_values);
    double size = adversary.size * release->noise_sd, moves = release->noise_sd / release->noise_multiplier;
    double most = adversary.is_possible ? adversary.n * moves + 10 * release->noise_sd : DBL_MAX;
    for (size_t i = 0; i < release->n_values; i++) {
      release->values[i] = fmin(fmax(changed(release->values[i], i, spike, size), -most), most);
    }
  }
  return __real_tacit_releases_add(releases, release, err);
}

void __real_tacit_checks_add(tacit_checks_t *checks, tacit_check_id_t id, size_t term, double statistic);
void __wrap_tacit_checks_add(tacit_checks_t *checks, tacit_check_id_t id, size_t term, double statistic);
void __wrap_tacit_checks_add(tacit_checks_t *checks, tacit_check_id_t id, size_t term, double statistic) {
  adversary.n_missing += isnan(statistic) ? 1 : 0;
  __real_tacit_checks_add(checks, id, term, statistic);
}

/* ---- what is fitted ---- */

typedef struct engine {
  const char *name;
  tacit_family_t family;
  double upper;
  size_t d, n, max_rows;
  tacit_relation_t relation;
  double epsilon;
  const char *program;
} engine_t;

static const engine_t engines[] = {
    {"bernoulli", TACIT_FAMILY_BERNOULLI, 1, 4, 400, 1, TACIT_RELATION_SUBSTITUTE, 2, NULL},
    {"bernoulli, persons", TACIT_FAMILY_BERNOULLI, 1, 3, 300, 4, TACIT_RELATION_ADD_REMOVE, 4, NULL},
    {"poisson", TACIT_FAMILY_POISSON, 20, 3, 400, 1, TACIT_RELATION_ADD_REMOVE, 2, NULL},
    {"wide", TACIT_FAMILY_BERNOULLI, 1, 24, 2000, 1, TACIT_RELATION_SUBSTITUTE, 30, NULL},
    {"wide counts", TACIT_FAMILY_POISSON, 20, 22, 2000, 1, TACIT_RELATION_SUBSTITUTE, 30, NULL},
    {"gaussian", TACIT_FAMILY_GAUSSIAN, 1, 3, 500, 1, TACIT_RELATION_SUBSTITUTE, 5, NULL},
    {"gaussian, wide", TACIT_FAMILY_GAUSSIAN, 1, 12, 500, 1, TACIT_RELATION_ADD_REMOVE, 20, NULL},
    {"negative binomial", 0, 0, 0, 500, 0, TACIT_RELATION_SUBSTITUTE, 10, program_negbin},
    {"Weibull, persons", 0, 0, 0, 400, 3, TACIT_RELATION_ADD_REMOVE, 10, program_weibull},
    {"Student", 0, 0, 0, 500, 0, TACIT_RELATION_SUBSTITUTE, 10, program_student},
};
enum { N_ENGINES = sizeof engines / sizeof engines[0] };

typedef struct model_of {
  tacit_model_t model;
  tacit_program_t *program; /* or NULL */
  tacit_records_t *records;
  size_t n_units;
} model_of_t;

static void open_program(const engine_t *e, uint64_t seed, model_of_t *of) {
  tacit_error_t err;
  double theta[PROGRAM_D];
  const program_setup_t s = {.n = e->n,
                             .max_rows = e->max_rows,
                             .share = 0.5,
                             .is_weibull = e->program == program_weibull,
                             .is_student = e->program == program_student};
  tacit_program_settings_t settings = {.records = "", .keeps_responses = true, .is_followed_to_bound = true};
  assert_ok(tacit_program_parse(&of->program, e->program, strlen(e->program), &settings, &err), err);
  assert_ok(tacit_program_compile(of->program, &of->model, &err), err);
  program_truth(&s, &seed, theta);
  of->records = program_records(of->program->compiled, &s, theta, true, &seed);
  of->n_units = e->n;
}

static void open_regression(const engine_t *e, tacit_rng_t *rng, model_of_t *of) {
  tacit_error_t err;
  const simulation_t s = {.family = e->family, .upper = e->upper, .truth = TRUTH_FIXED, .d = e->d, .n = e->n};
  double theta[SIMULATION_MAX_DIM], *data = malloc(e->n * (e->d + 1) * sizeof *data);
  simulation_truth(&s, rng, theta);
  simulation_data(&s, theta, rng, data);
  simulation_model(&s, &of->model);
  of->records = simulation_pack(data, e->n, 0, e->d + 1);
  of->n_units = e->n;
  free(data);
  if (e->max_rows > 1) {
    size_t *offsets = malloc((e->n + 1) * sizeof *offsets), n = 0;
    for (size_t i = 0; i < e->n; i += 1 + n % e->max_rows) {
      offsets[n++] = i;
    }
    offsets[n] = e->n;
    assert_ok(tacit_records_set_units(of->records, offsets, n, &err), err);
    of->n_units = n;
    free(offsets);
  }
}

/* ---- the fit ---- */

static const bool two_valued[SIMULATION_MAX_DIM] = {
    [2] = true, [6] = true, [10] = true, [14] = true, [18] = true, [22] = true};

static void set_fit(const engine_t *e, const model_of_t *of, tacit_noise_aware_settings_t *settings) {
  tacit_error_t err;
  settings->family = e->family;
  settings->upper = e->upper;
  settings->relation = e->relation;
  settings->max_rows = e->max_rows;
  settings->n_units = (double)of->n_units;
  settings->n_features = e->d;
  settings->is_two_valued = two_valued;
  settings->n_chains = 1;
  settings->n_warmup = 10;
  settings->n_draws = 10;
  if (of->program != NULL) {
    settings->records = &of->model.records;
    assert_ok(tacit_noise_aware_measure(settings, &of->model.parameters, &err), err);
  }
}

static bool are_finite(const tacit_draws_t *draws) {
  bool ok = draws->n_saved == draws->n_warmup + draws->n_draws;
  for (size_t i = 0; i < draws->n_chains * draws->n_saved * draws->n_reported; i++) {
    ok = ok && isfinite(draws->values[i]);
  }
  return ok;
}

/* Of draws and of draws from what was kept. */
typedef struct ends {
  tacit_status_t first, again;
  bool are_numbers, are_alike, is_flagged;
  tacit_error_t err;
} ends_t;

static size_t n_numbers(const tacit_draws_t *draws) {
  return draws->n_chains * draws->n_saved * draws->n_reported;
}

static void fit(const engine_t *e, uint64_t seed, ends_t *ends) {
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  tacit_draws_t draws, again;
  tacit_releases_t releases = {0};
  tacit_evidence_t evidence = {0};
  tacit_error_t *err = &ends->err;
  model_of_t of = {0};
  tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
  tacit_curator_settings_t limits = tacit_curator_settings_default();
  if (e->program != NULL) {
    open_program(e, seed * 1000003, &of);
  } else {
    open_regression(e, adversary.rng, &of);
  }
  limits.max_unit_rows = e->max_rows > 1 ? e->max_rows : 1;
  assert_ok(tacit_budget_new(&budget, e->epsilon, 1e-6, e->relation, err), *err);
  assert_ok(tacit_noise_new_seeded_not_private(&noise, seed, err), *err);
  assert_ok(tacit_curator_new(&curator, of.records, &of.model.records, budget, noise, &limits, err), *err);
  settings.rho = tacit_budget_rho(budget) * (1 - 1e-9);
  settings.releases = &releases;
  settings.evidence = &evidence;
  set_fit(e, &of, &settings);
  ends->first = tacit_noise_aware_fit(curator, &of.model.parameters, &settings, &draws, err);
  ends->is_flagged = tacit_checks_forbid_intervals(&evidence.checks);
  ends->are_numbers = are_finite(&draws);
  ends->again = tacit_noise_aware_fit(NULL, &of.model.parameters, &settings, &again, err);
  ends->are_alike = n_numbers(&again) == n_numbers(&draws) &&
                    memcmp(again.values, draws.values, n_numbers(&draws) * sizeof *draws.values) == 0;
  tacit_draws_clear(&again);
  tacit_draws_clear(&draws);
  tacit_releases_clear(&releases);
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
  if (of.program != NULL) {
    tacit_program_free(of.program);
  } else {
    tacit_model_clear(&of.model);
  }
}

/* The kinds in turn, of a size and a share of releases by chance, every third time all of them. */
static void choose(const engine_t *e, uint64_t seed, bool is_possible) {
  static const double sizes[] = {1e-6, 1e-3, 1, 10, 1e3, 1e6, 1e12};
  tacit_error_t err;
  unsigned char key[32];
  tacit_rng_key_from_seed(key, seed);
  tacit_rng_free(adversary.rng);
  assert_ok(tacit_rng_new(&adversary.rng, key, (uint64_t)(e - engines), &err), err);
  adversary.kind = (kind_t)(seed % N_KINDS);
  adversary.size = sizes[(size_t)(tacit_rng_uniform(adversary.rng) * 7)] *
                   (tacit_rng_uniform(adversary.rng) < 0.5 ? -1 : 1);
  adversary.share = seed % 3 == 0 ? 1 : tacit_rng_uniform(adversary.rng);
  adversary.is_possible = is_possible;
  adversary.n = (double)e->n;
}

static void check_all(bool is_possible) {
  size_t n = (size_t)(10 * N_KINDS * testing_multiplier()), n_answers = 0, n_flagged = 0;
  for (size_t i = 0; i < N_ENGINES; i++) {
    bool is_program = engines[i].program != NULL;
    if (engines[i].program == program_student && n < 50) { /* the dearest: at length alone */
      continue;
    }
    for (uint64_t seed = 0; seed < n; seed += (is_program ? 3u : 1u) * (is_possible ? 1u : 2u)) {
      ends_t ends = {0};
      choose(&engines[i], seed, is_possible);
      fit(&engines[i], seed, &ends);
      bool is_answered =
          ends.first == TACIT_OK && ends.again == TACIT_OK && ends.are_numbers && ends.are_alike;
      if (!is_answered && (is_possible || ends.first == TACIT_OK || ends.err.message[0] == '\0')) {
        fail_msg("%s, seed %d: status %d and %d, %s", engines[i].name, (int)seed, ends.first, ends.again,
                 ends.err.message);
      }
      n_answers += is_answered;
      n_flagged += ends.is_flagged;
    }
  }
  assert_true(n_flagged > n / 2 && n_answers > n_flagged && adversary.n_missing == 0);
}

static void test_numbers_that_there_can_be_are_answered(void **state) { check_all(true); }

static void test_numbers_that_cannot_be_end_cleanly(void **state) { check_all(false); }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_that_there_can_be_are_answered),
                                     cmocka_unit_test(test_numbers_that_cannot_be_end_cleanly)};
  int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
  tacit_rng_free(adversary.rng);
  return n_failed;
}
