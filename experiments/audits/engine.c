/* Runs of a method on either data set: once as a user makes and pays them, and then as often as the audit
 * needs. */
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "base/error.h"
#include "data/records.h"
#include "noise_aware/noise_aware.h"
#include "tacit/draws.h"

uint64_t audit_seed = 0;

enum { MAX_EXACT_BITS = 12 };

static const double clip_bound = 1;

static bool is_clipped(const audit_case_t *of) {
  return of->model == AUDIT_STEEP || of->model == AUDIT_TUNED || of->model == AUDIT_POISSON;
}

tacit_curator_t *audit_curator(const audit_case_t *of, size_t side, tacit_budget_t *budget,
                               tacit_noise_t *noise) {
  const side_t *data = &of->sides[side];
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  tacit_records_t *records;
  tacit_curator_t *curator;
  tacit_error_t err;
  if (is_clipped(of)) {
    settings.clip_bound_grad = settings.clip_bound_ratio = clip_bound;
  }
  if (of->temperature > 0) {
    settings.temperature_power = of->temperature;
  }
  must(tacit_records_new(&records, data->n, adversary.model.n_columns, &err), &err);
  for (size_t i = 0; i < data->n; i++) {
    size_t last = of->n_second > 0 ? 2 : 1;
    tacit_records_set(records, i,
                      data->rows[i < data->n_first                  ? 0
                                 : i < data->n_first + of->n_second ? 1
                                                                    : last]);
  }
  if (of->unit_rows > 1) {
    settings.max_unit_rows = of->unit_rows;
    must(tacit_records_set_units(records, (size_t[2]){0, data->n}, 1, &err), &err);
  }
  must(budget != NULL ? tacit_curator_new(&curator, records, &adversary.model, budget, noise, &settings, &err)
                      : tacit_curator_new_exposed(&curator, records, &adversary.model, &settings, &err),
       &err);
  return curator;
}

/* ---- released statistics ---- */

enum { MAX_VALUES = 4 };

/* What a record adds to the values released. */
static void values_of(const tacit_statistic_t *statistic, const double *row, double *values) {
  double x = row[0];
  if (statistic->kind == TACIT_STATISTIC_COUNTS) {
    values[0] = x < 0.5 ? 1 : 0;
    values[1] = 1 - values[0];
    return;
  }
  values[0] = x;
  values[1] = x * x; /* products of one column in [-1, 1] */
  if (statistic->kind == TACIT_STATISTIC_SCORE) {
    values[2] = row[1] - 0.5;
    values[3] = values[2] * x;
  }
}

static double distance(const tacit_statistic_t *statistic, double z) {
  bool is_gaussian =
      statistic->noise == TACIT_STATISTIC_GAUSSIAN || statistic->noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN;
  return is_gaussian ? 0.5 * z * z : fabs(z);
}

static tacit_status_t release_statistic(const audit_case_t *of, tacit_curator_t *curator,
                                        tacit_error_t *err) {
  double out[MAX_VALUES], scales[MAX_VALUES], values[2][MAX_VALUES];
  tacit_status_t status =
      tacit_curator_release_statistic(curator, of->statistic, of->noise_multiplier, out, scales, err);
  values_of(of->statistic, of->sides[0].rows[0], values[0]);
  values_of(of->statistic, of->sides[1].rows[0], values[1]);
  for (size_t i = 0; status == TACIT_OK && i < tacit_statistic_n_values(of->statistic); i++) {
    adversary.evidence += distance(of->statistic, (out[i] - values[1][i]) / scales[i]) -
                          distance(of->statistic, (out[i] - values[0][i]) / scales[i]);
  }
  return status;
}

/* ---- sums over rows ---- */

/*
 * Whitening that makes the second feature nearly all of a row; responses as far out as rows. Of scores both
 * responses are as likely, so that two records that differ by it are as far apart as any; of the information
 * rows of either sign of the second feature are orthogonal.
 */
static tacit_status_t release_rows(const audit_case_t *of, tacit_curator_t *curator, tacit_error_t *err) {
  static const double whiten[4] = {1e-3, 0, 0, 1e3}, theta[2] = {0, 0};
  const tacit_row_weighting_t rows = {.whiten = whiten, .radius = 1e-3};
  const tacit_score_point_t point = {TACIT_FAMILY_BERNOULLI, 1, theta, whiten, 1e-3, 0},
                            even = {TACIT_FAMILY_BERNOULLI, 1, theta, NULL, 0.5, 0};
  const tacit_row_weighting_t plain = {.radius = sqrt(2)};
  const tacit_row_residual_t residual = {
      .theta = (const double[2]){0, 0}, .n_features = 2, .scale = 1, .reach = sqrt(2)};
  const tacit_row_cells_t cells = {&residual, 0, 1, (const double[1]){0}};
  const tacit_fit_point_t sure = {.family = TACIT_FAMILY_BERNOULLI,
                                  .upper = 1,
                                  .theta = (const double[2]){0, 30},
                                  .n_bins = 1,
                                  .by = SIZE_MAX};
  static const double identity[4] = {1, 0, 0, 1};
  const double most = of->rows == ROWS_SLOPE ? 1e-3 : 1e6;
  const tacit_centred_point_t centred = {theta, identity, 1, most, 1, 1};
  const tacit_program_point_t program = {&adversary.model, centred};
  const tacit_banded_t program_scores = tacit_program_scores(&program),
                       program_slopes = tacit_program_slopes(&program);
  const tacit_contrast_t by_rows = {&program_scores, 1, 2, (const double[2]){1, 2}, (const double[2]){-1, 1}};
  const tacit_banded_t contrasts = tacit_contrasts(&by_rows);
  const tacit_bands_t one_band = {1, (const double[1]){1}, true};
  const tacit_linear_point_t line = {2, identity, theta, 1, of->unit_rows > 1};
  const tacit_banded_t rows_of_line = tacit_linear_rows(&line), scores = tacit_linear_scores(&line);
  const double radii[3] = {0.5, sqrt(2), 2};
  const tacit_bands_t bands = {3, radii, of->rows == ROWS_BANDS || of->rows == ROWS_PROGRAM_SCORES};
  double out[AUDIT_MAX_SUMS], sds[6], sd, multiplier = of->noise_multiplier;
  switch (of->rows) {
  case ROWS_SECOND_MOMENTS:
    return tacit_curator_release_second_moments(curator, &rows, multiplier, out, &sd, err);
  case ROWS_SCORE:
    return tacit_curator_release_score(curator, &point, multiplier, out, &sd, err);
  case ROWS_INFORMATION:
    return tacit_curator_release_information(curator, &even, multiplier, out, &sd, err);
  case ROWS_SQUARES:
    return tacit_curator_release_score_squares(curator, &even, multiplier, out, &sd, err);
  case ROWS_CHECK:
    return tacit_curator_release_fit_check(curator, &sure, multiplier, out, sds,
                                           err); /* of two sure predictions, both wrong */
  case ROWS_COUNT:
    return tacit_curator_release_count(curator, multiplier, out, &sd, err);
  case ROWS_UNIT_ROWS:
    return tacit_curator_release_unit_rows(curator, 2, (const size_t[2]){1, 2}, multiplier, out, &sd, err);
  case ROWS_CENTRED:
    return tacit_curator_release_centred_score(curator, &centred, multiplier, out, &sd, err);
  case ROWS_SLOPE:
    return tacit_curator_release_centred_slope(curator, &centred, multiplier, out, &sd, err);
  case ROWS_SHAPES:
    return tacit_curator_release_residual_shapes(curator, &sure, (const double[]){1, 0, 6, 1}, multiplier,
                                                 out, &sd, err);
  case ROWS_PROGRAM_SCORES:
    return tacit_curator_release_bands(curator, &program_scores, &bands, multiplier, out, &sd, err);
  case ROWS_PROGRAM_SLOPES:
    return tacit_curator_release_bands(curator, &program_slopes, &bands, multiplier, out, &sd, err);
  case ROWS_PROGRAM_LENGTHS:
    return tacit_curator_release_lengths(curator, &program_scores, 3, radii, multiplier, out, &sd, err);
  case ROWS_CONTRASTS:
    return tacit_curator_release_bands(curator, &contrasts, &one_band, multiplier, out, &sd, err);
  case ROWS_BANDS:
    return tacit_curator_release_bands(curator, &scores, &bands, multiplier, out, &sd, err);
  case ROWS_BANDS_OF_ROWS:
    return tacit_curator_release_bands(curator, &rows_of_line, &bands, multiplier, out, &sd, err);
  case ROWS_BAND_LENGTHS:
    return tacit_curator_release_lengths(curator, &scores, 3, radii, multiplier, out, &sd, err);
  case ROWS_CELLS:
    return tacit_curator_release_cells(curator, &cells, multiplier, out, &sd, err);
  default:
    return tacit_curator_release_joint_moments(curator, &plain, &residual, multiplier, out, &sd, err);
  }
}

/* ---- one run ---- */

static tacit_status_t run_noise_aware(const audit_case_t *of, tacit_curator_t *curator, uint64_t seed,
                                      tacit_draws_t *draws, tacit_error_t *err) {
  tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
  tacit_parameters_t parameters = audit_parameters(of);
  settings.rho = of->rho;
  settings.family = of->family;
  settings.relation = of->relation;
  settings.known_sd = 0.5;
  settings.n_units = (double)of->sides[0].n;
  settings.n_features = of->dim;
  settings.n_chains = settings.n_draws = 1;
  settings.n_warmup = 1;
  tacit_rng_key_from_seed(settings.key, seed);
  return tacit_noise_aware_fit(curator, &parameters, &settings, draws, err);
}

static tacit_status_t run_sampler(const audit_case_t *of, tacit_curator_t *curator, uint64_t seed,
                                  tacit_draws_t *draws, tacit_error_t *err) {
  tacit_sampler_settings_t settings = audit_settings(of);
  tacit_parameters_t parameters = audit_parameters(of);
  tacit_sample_end_t end;
  tacit_rng_key_from_seed(settings.key, seed);
  tacit_status_t status =
      tacit_sample(tacit_method_find(of->method), curator, &parameters, &settings, draws, &end, err);
  return status == TACIT_OK && end != TACIT_SAMPLE_COMPLETE
             ? tacit_error_set(err, TACIT_ERR_STATE, "run", "%s: the budget ended before the run", of->name)
             : status;
}

/* Draws are to be cleared, also after failure. */
static tacit_status_t run_once(const audit_case_t *of, tacit_curator_t *curator, uint64_t seed,
                               tacit_draws_t *draws, tacit_error_t *err) {
  adversary_begin_run();
  *draws = (tacit_draws_t){0};
  if (is_clipped(of)) { /* another run's releases may have changed them */
    must(tacit_curator_set_clip_bounds(curator, clip_bound, clip_bound, err), err);
  }
  return of->statistic != NULL   ? release_statistic(of, curator, err)
         : of->rows != ROWS_NONE ? release_rows(of, curator, err)
         : of->rho > 0           ? run_noise_aware(of, curator, seed, draws, err)
                                 : run_sampler(of, curator, seed, draws, err);
}

/* ---- what a user pays ---- */

static void set_schedule(const audit_case_t *of, const tacit_curator_t *curator, tacit_budget_t *budget) {
  tacit_error_t err;
  if (of->statistic != NULL) {
    tacit_event_t event = tacit_statistic_event(of->statistic, of->noise_multiplier);
    must(tacit_budget_set_schedule(budget, &event, 1, &err), &err);
    return;
  }
  const tacit_method_t *method = tacit_method_find(of->method);
  tacit_sampler_settings_t settings = audit_settings(of);
  tacit_event_t *events;
  size_t n;
  if (!method->is_one_off && tacit_sampler_needs_schedule(method, &settings)) {
    must(tacit_sampler_schedule(method, &settings, curator, settings.n_draws, &events, &n, &err), &err);
    must(tacit_budget_set_schedule(budget, events, n, &err), &err);
    tacit_free(events);
  }
}

double audit_charge(const audit_case_t *of, fault_t fault) {
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_draws_t draws;
  tacit_error_t err;
  must(tacit_budget_new(&budget, 1000, audit_delta, of->relation, &err), &err);
  must(tacit_noise_new_seeded_not_private(&noise, 7, &err), &err);
  tacit_curator_t *curator = audit_curator(of, 0, budget, noise);
  adversary.is_paid = true;
  fault_at_work = fault;
  set_schedule(of, curator, budget);
  must(run_once(of, curator, 1, &draws, &err), &err);
  double epsilon = tacit_budget_spent(budget).epsilon;
  fault_at_work = FAULT_NONE;
  adversary.is_paid = false;
  tacit_draws_clear(&draws);
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
  return epsilon;
}

/* ---- what an adversary learns ---- */

/* A data set behind a curator whose releases are not charged. */
typedef struct victim {
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
} victim_t;

static void victim_open(victim_t *victim, const audit_case_t *of, size_t side) {
  tacit_error_t err;
  must(tacit_budget_new(&victim->budget, 1, audit_delta, of->relation, &err), &err);
  must(tacit_noise_new_seeded_not_private(&victim->noise, 100 + side + 1000 * audit_seed, &err), &err);
  victim->curator = audit_curator(of, side, victim->budget, victim->noise);
}

static void victim_close(victim_t *victim) {
  tacit_curator_free(victim->curator);
  tacit_noise_free(victim->noise);
  tacit_budget_free(victim->budget);
}

/* Of the noise-aware method: what follows is drawn from them. */
static size_t n_aware_releases(const audit_case_t *of) {
  tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS];
  tacit_noise_aware_settings_t settings = {.family = of->family,
                                           .relation = of->relation,
                                           .rho = of->rho,
                                           .n_units = (double)of->sides[0].n,
                                           .n_features = of->dim};
  size_t n = of->rho > 0 ? tacit_noise_aware_events(&settings, events) : 0, sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += (size_t)events[i].count;
  }
  return sum;
}

double audit_run(const audit_case_t *of, fault_t fault, size_t n_runs, double alpha) {
  double *evidence[2] = {malloc(n_runs * sizeof(double)), malloc(n_runs * sizeof(double))};
  if (evidence[0] == NULL || evidence[1] == NULL) {
    must(TACIT_ERR_MEMORY, &(tacit_error_t){.message = "out of memory"});
  }
  adversary.stop_after = n_aware_releases(of);
  for (size_t side = 0; side < 2; side++) {
    victim_t victim;
    fault_at_work = fault;
    victim_open(&victim, of, side);
    for (size_t i = 0; i < n_runs; i++) {
      tacit_draws_t draws;
      tacit_error_t err;
      fault_at_work = fault;
      tacit_status_t status = run_once(of, victim.curator, (audit_seed << 40) + 2 * i + side, &draws, &err);
      fault_at_work = FAULT_NONE;
      tacit_draws_clear(&draws);
      if (adversary.stop_after == 0 || adversary.n_releases < adversary.stop_after) {
        must(status, &err);
      }
      evidence[side][i] = adversary.evidence;
    }
    victim_close(&victim);
  }
  adversary.stop_after = 0;
  double bound = epsilon_lower_bound(evidence, n_runs, audit_delta, alpha);
  free(evidence[0]);
  free(evidence[1]);
  return bound;
}

/* Exact epsilon of the decisions of one set of proposals. */
static double exact_of(const audit_case_t *of, tacit_curator_t *curator, uint64_t seed) {
  double distributions[2][1 << MAX_EXACT_BITS], sum = 0;
  size_t n = (size_t)1 << of->n_bits;
  for (size_t path = 0; path < n; path++) {
    tacit_draws_t draws;
    tacit_error_t err;
    adversary.path = path;
    must(run_once(of, curator, seed, &draws, &err), &err);
    tacit_draws_clear(&draws);
    distributions[0][path] = exp(adversary.log_probability[0]);
    distributions[1][path] = exp(adversary.log_probability[1]);
    sum += distributions[0][path];
  }
  if (!(fabs(sum - 1) < 1e-9)) {
    must(TACIT_ERR_NUMERIC,
         &(tacit_error_t){.message = "the probabilities of all decisions do not add up to 1"});
  }
  return epsilon_of_distributions(distributions[0], distributions[1], n, audit_delta);
}

double audit_exact(const audit_case_t *of) {
  enum { n_proposals = 8 };
  double most = 0;
  victim_t victim;
  victim_open(&victim, of, 0);
  adversary.is_on_path = true;
  for (uint64_t seed = 0; seed < n_proposals; seed++) {
    most = fmax(most, exact_of(of, victim.curator, seed));
  }
  adversary.is_on_path = false;
  victim_close(&victim);
  return most;
}

/* Draws of one data set's run, its releases recorded or replayed. */
static void taped_run(const audit_case_t *of, size_t side, tape_t tape, tacit_draws_t *draws) {
  victim_t victim;
  tacit_error_t err;
  victim_open(&victim, of, side);
  adversary.tape = tape;
  must(run_once(of, victim.curator, 5, draws, &err), &err);
  adversary.tape = TAPE_OFF;
  victim_close(&victim);
}

bool audit_replay(const audit_case_t *of) {
  tacit_draws_t first, second;
  taped_run(of, 0, TAPE_RECORD, &first);
  adversary.tape_size = adversary.tape_at;
  taped_run(of, 1, TAPE_REPLAY, &second);
  size_t n = first.n_chains * (first.n_warmup + first.n_draws);
  bool is_same = adversary.tape_at == adversary.tape_size && first.n_saved == second.n_saved &&
                 memcmp(first.values, second.values, n * first.n_reported * sizeof *first.values) == 0 &&
                 memcmp(first.stats, second.stats, n * sizeof *first.stats) == 0;
  tacit_draws_clear(&first);
  tacit_draws_clear(&second);
  return is_same;
}
