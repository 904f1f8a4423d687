/*
 * TunaMH with public constants [Zhang2020, Algorithm 3; Zhang2023]: record i is counted Poisson(a + (b - x_i) / 2) times, x_i its
 * log ratio clipped to [-b, b], and adds log((a + (b + x_i) / 2) / (a + (b - x_i) / 2)) each time to the log acceptance ratio.
 * Exact for any balanced rule; with Barker's, a decision is bounded-range (docs/theory.md, section 15).
 */
#include <math.h>
#include <string.h>

#include "curator/gather.h"

static const double unit = 0x1p32;

/* Bounds in whole grid units: b of a pair, a of the rule. */
static int64_t intensity_units(const tacit_minibatch_rule_t *rule) {
  return (int64_t)ceil(rule->intensity * unit);
}

double tacit_curator_minibatch_size(double n, double bound, double intensity) {
  return n * (bound + intensity);
}

/*
 * Log odds move by at most b (1 + t) under substitution and b t under add-remove, t = 1 + b / a; and by what rounding each
 * log to a unit can change, at most a unit times the mean number of counts of one record.
 */
tacit_event_t tacit_curator_minibatch_event(const tacit_curator_t *curator, const tacit_minibatch_rule_t *rule) {
  double b = tacit_ratio_clip(rule->max_bound) / unit, a = (double)intensity_units(rule) / unit, t = 1 + b / a;
  bool is_substitute = tacit_curator_sensitivity_factor(curator) > 1.5;
  double slack = 2 * (1 + (a + b) * t) / unit;
  return (tacit_event_t){.kind = TACIT_EVENT_BARKER_BIT,
                         .sensitivity = (is_substitute ? b * (1 + t) : b * t) * (1 + 1e-12) + slack,
                         .count = 1,
                         .label = "accept"};
}

static tacit_status_t check_rule(const tacit_minibatch_rule_t *rule, tacit_error_t *err) {
  if (!(rule->max_bound > 0 && rule->max_bound <= 64 && rule->intensity >= 0x1p-20 && rule->intensity <= 64)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_bound",
                           "the largest bound on one record's log ratio must be above 0 and at most 64, and the intensity from "
                           "2^-20 to 64");
  }
  return TACIT_OK;
}

typedef struct tally {
  tacit_curator_t *curator;
  const double *pair; /* theta and theta_prop, adjacent */
  int64_t b, a;
  tacit_wide_t sum;
  tacit_status_t status;
  tacit_error_t *err;
} tally_t;

enum { BATCH = 1024 }; /* candidates drawn at a time, so that the source of noise is checked once for all */

/* Clipped log ratios of n <= 16 records, in whole grid units; 0 past the last, and for those of other ranks. */
static void look_at(tally_t *tally, const uint64_t *records, size_t n, double x[16]) {
  tacit_curator_t *curator = tally->curator;
  tacit_gather_t *gather = &curator->minibatch->gathers[0];
  tacit_workspace_t *w = &curator->workspaces[0];
  const tacit_record_model_t *model = curator->model;
  double ratios[16], clip = (double)tally->b;
  size_t n_here = tacit_records_n(curator->records), lane_of[16], n_lanes = 0;
  for (size_t i = 0; i < n; i++) {
    size_t record = (size_t)records[i] - curator->first_record; /* wraps for those of earlier ranks */
    if (record < n_here) {
      tacit_gather_add(gather, record);
      lane_of[n_lanes++] = i;
    }
  }
  memset(x, 0, 16 * sizeof *x);
  tacit_gather_fill(gather);
  model->log_lik(model->ctx, gather->block, 2, tally->pair, w->log_lik);
  tacit_lattice_functions()->ratio_unclipped(gather->norms, curator->settings.temperature_power, w->log_lik, ratios);
  for (size_t lane = 0; lane < n_lanes; lane++) { /* ratios are whole numbers: none is NaN */
    double ratio = ratios[lane];
    x[lane_of[lane]] = ratio > clip ? clip : ratio < -clip ? -clip : ratio;
    curator->notes.n_ratio_clipped += fabs(ratio) > clip;
  }
  curator->notes.n_ratio += n;
}

/* Each candidate's log ratio is known to one rank. */
static void share_ratios(const tally_t *tally, size_t n, double *x) {
  int64_t numbers[BATCH];
  for (size_t i = 0; i < n; i++) {
    numbers[i] = (int64_t)x[i];
  }
  tacit_curator_sum_numbers(tally->curator, n, numbers);
  for (size_t i = 0; i < n; i++) {
    x[i] = (double)numbers[i];
  }
}

/*
 * Candidates are drawn with the largest rate a + b: keep each with its own. One that is kept adds
 * log((a + (b + x) / 2) / (a + (b - x) / 2)).
 */
static void count(tally_t *tally, size_t n) {
  tacit_noise_t *noise = tally->curator->noise;
  uint64_t records[BATCH], share[BATCH];
  double x[BATCH];
  int64_t weights[BATCH];
  bool is_kept[BATCH];
  tally->status = tacit_noise_below(noise, tally->curator->n_records, n, records, tally->err);
  for (size_t i = 0; tally->status == TACIT_OK && i < n; i += 16) {
    look_at(tally, records + i, n - i < 16 ? n - i : 16, x + i);
  }
  if (tally->status == TACIT_OK && tally->curator->settings.ranks != NULL) {
    share_ratios(tally, n, x);
  }
  if (tally->status == TACIT_OK) {
    for (size_t i = 0; i < n; i++) {
      share[i] = (uint64_t)(2 * tally->a + tally->b - (int64_t)x[i]);
    }
    tacit_lattice_functions()->log_odds((n + 15) / 16 * 16, 2 * (double)tally->a + (double)tally->b, x, weights);
    tally->status =
        tacit_noise_ratio_bits(noise, n, share, 2 * (uint64_t)(tally->a + tally->b), is_kept, tally->err);
  }
  int64_t sum = 0; /* of at most BATCH logarithms below 2^7, in units of 2^-32 */
  for (size_t i = 0; tally->status == TACIT_OK && i < n; i++) {
    sum += weights[i] & -(int64_t)is_kept[i]; /* a branch on secret coins would be guessed wrong half of the time */
  }
  tally->sum += sum;
}

static tacit_status_t minibatch_ratio(tally_t *tally, tacit_error_t *err) {
  size_t n = tally->curator->n_records;
  uint64_t left, mean;
  if (__builtin_mul_overflow((uint64_t)(tally->a + tally->b), (uint64_t)n, &mean)) {
    mean = UINT64_MAX; /* refused by the draw */
  }
  tally->status = tacit_noise_poisson(tally->curator->noise, mean, &left, err);
  while (tally->status == TACIT_OK && left > 0) {
    size_t some = left < BATCH ? (size_t)left : BATCH;
    count(tally, some);
    tacit_curator_drop(tally->curator, 0, tacit_records_n_blocks(tally->curator->records));
    left -= some;
  }
  return tally->status;
}

/* The full batch where a minibatch would be larger: a public rule, symmetric in the two points. */
static tacit_status_t log_ratio(tally_t *tally, const tacit_minibatch_rule_t *rule, tacit_error_t *err) {
  double size = tacit_curator_minibatch_size(rule->n_public, (double)tally->b / unit, (double)tally->a / unit);
  if (size < rule->max_batch) {
    return minibatch_ratio(tally, err);
  }
  tally->curator->clips[0] = (double)tally->b;
  tacit_curator_sum_ratios(tally->curator, 1);
  tally->sum = tally->curator->sums[0];
  return TACIT_OK;
}

/* min(1, e^l) for exposed curators that ask for it. */
static tacit_status_t decide(tacit_curator_t *curator, const tacit_minibatch_rule_t *rule, tacit_wide_t sum, bool *accepted,
                             tacit_error_t *err) {
  const tacit_wide_t limit = (tacit_wide_t)1 << 62;
  int64_t capped = (int64_t)(sum > limit ? limit : sum < -limit ? -limit : sum);
  if (!rule->is_metropolis) {
    return tacit_noise_logistic_bit(curator->noise, capped, accepted, err);
  }
  *accepted = true;
  return capped < 0 ? tacit_noise_exp_bit(curator->noise, (uint64_t)-capped, accepted, err) : TACIT_OK;
}

static tacit_status_t decide_pair(tacit_curator_t *curator, const tacit_minibatch_rule_t *rule,
                                  const tacit_accept_pairs_t *pairs, size_t k, tacit_error_t *err) {
  size_t dim = curator->model->dim;
  const double *from = pairs->theta + k * dim, *to = pairs->theta_prop + k * dim;
  double clip = tacit_ratio_clip(tacit_curator_public_ratio_bound(curator, from, to));
  pairs->accepted[k] = memcmp(from, to, dim * sizeof *from) == 0;
  if (pairs->accepted[k] || !(clip <= tacit_ratio_clip(rule->max_bound)) || !isfinite(pairs->correction[k])) {
    return TACIT_OK;
  }
  memcpy(curator->pairs, from, dim * sizeof *from);
  memcpy(curator->pairs + dim, to, dim * sizeof *to);
  tally_t tally = {.curator = curator, .pair = curator->pairs, .b = (int64_t)clip, .a = intensity_units(rule), .err = err};
  tacit_status_t status = TACIT_OK;
  if (!curator->is_exposed) {
    tacit_event_t event = tacit_curator_minibatch_event(curator, rule);
    status = tacit_budget_charge(curator->budget, &event, err);
  }
  if (status == TACIT_OK) {
    status = log_ratio(&tally, rule, err);
  }
  if (status == TACIT_OK) {
    status = decide(curator, rule, tally.sum + tacit_public_log_ratio(pairs->correction[k]), &pairs->accepted[k], err);
  }
  return status;
}

tacit_status_t tacit_curator_release_minibatch_accept(tacit_curator_t *curator, const tacit_minibatch_rule_t *rule,
                                                      const tacit_accept_pairs_t *pairs, tacit_error_t *err) {
  memset(pairs->accepted, 0, pairs->n * sizeof *pairs->accepted);
  tacit_status_t status = check_rule(rule, err);
  if (status == TACIT_OK && rule->is_metropolis && !curator->is_exposed) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "is_metropolis",
                             "the Metropolis rule without noise is not private at any epsilon: use Barker's");
  }
  if (status == TACIT_OK) {
    status = tacit_curator_check_points(curator, pairs->n, pairs->theta, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_check_points(curator, pairs->n, pairs->theta_prop, err);
  }
  if (status == TACIT_OK) {
    status = tacit_minibatch_open(curator, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_reserve(curator, 1, err);
  }
  for (size_t k = 0; status == TACIT_OK && k < pairs->n; k++) {
    status = decide_pair(curator, rule, pairs, k, err);
  }
  if (status != TACIT_OK) {
    memset(pairs->accepted, 0, pairs->n * sizeof *pairs->accepted);
  }
  return status;
}
