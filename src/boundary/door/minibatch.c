/*
 * TunaMH with public constants [Zhang2020, Algorithm 3; Zhang2023]: record i is counted Poisson(a + (b - x_i)
 * / 2) times, x_i its log ratio clipped to [-b, b], and adds log((a + (b + x_i) / 2) / (a + (b - x_i) / 2))
 * each time to the log acceptance ratio. Exact for any balanced rule where nothing is clipped; with Barker's,
 * a decision is bounded-range (docs/theory.md, section 15).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "data/records.h"
#include "door/door_internal.h"
#include "random/noise.h"
#include "random/tally.h"

static const double unit = 0x1p32;

static int64_t intensity_units(const tacit_minibatch_rule_t *rule) {
  return (int64_t)ceil(rule->intensity * unit);
}

/*
 * Log odds move by at most b (1 + t) under substitution and b t under add-remove, t = 1 + b / a; and by what
 * rounding each log to a unit can change, at most a unit times the mean number of counts of one record.
 */
/*
 * proofs/Minibatch.v: odds_of_a_minibatch, counts_are_poisson, log_odds_of_a_record, log_odds_move
 * proofs/Poisson.v: log_odds_of_a_minibatch
 */
tacit_event_t tacit_minibatch_event(const tacit_minibatch_rule_t *rule, double factor) {
  double b = tacit_ratio_clip(rule->max_bound) / unit, a = (double)intensity_units(rule) / unit,
         t = 1 + b / a;
  double slack = 2 * (1 + (a + b) * t) / unit;
  return (tacit_event_t){.kind = TACIT_EVENT_BARKER_BIT,
                         .sensitivity = (factor > 1.5 ? b * (1 + t) : b * t) * (1 + 1e-12) + slack,
                         .count = 1,
                         .label = "accept"};
}

typedef struct pair {
  tacit_door_t *door;
  const tacit_scalars_t *of;
  double clip;
} pair_t;

/* Clipped log ratios of n <= 16 records, whole numbers; 0 past the last, and for those of other ranks. */
static void look_at_few(const pair_t *pair, const uint64_t *records, size_t n, double x[16]) {
  tacit_door_t *door = pair->door;
  const tacit_scalars_t *of = pair->of;
  tacit_workspace_t *w = door->workspaces;
  size_t n_here = tacit_records_n(door->records), lane_of[16], n_lanes = 0;
  for (size_t i = 0; i < n; i++) {
    size_t record = (size_t)records[i] - door->first_record; /* wraps for those of earlier ranks */
    if (record < n_here) {
      tacit_subset_ask(door, w, record);
      lane_of[n_lanes++] = i;
    }
  }
  tacit_shown_t shown = tacit_subset_fill(door, w);
  tacit_scalars_evaluate(door, of, &shown, w);
  const double *after = tacit_scalars_place(door, w, of->after[0], SIZE_MAX);
  const double *before =
      of->before[0] < SIZE_MAX ? tacit_scalars_place(door, w, of->before[0], SIZE_MAX) : NULL;
  const double clip = pair->clip;
  memset(x, 0, n * sizeof *x);
  for (size_t lane = 0; lane < n_lanes; lane++) {
    double ratio = rint(after[lane] - (before != NULL ? before[lane] : 0));
    x[lane_of[lane]] = ratio > clip ? clip : ratio < -clip ? -clip : isnan(ratio) ? 0 : ratio;
    door->notes.n_ratio_clipped += fabs(ratio) > clip;
  }
  door->notes.n_ratio += n;
}

/* Each record's log ratio is known to one rank. */
static void share_ratios(const tacit_ranks_t *ranks, size_t n, double *x) {
  int64_t numbers[TACIT_TALLY_BATCH];
  for (size_t i = 0; i < n; i++) {
    numbers[i] = (int64_t)x[i];
  }
  ranks->sum(ranks->user, n, numbers);
  for (size_t i = 0; i < n; i++) {
    x[i] = (double)numbers[i];
  }
}

static void look_at(void *user, size_t n, const uint64_t *records, double *x) {
  const pair_t *pair = user;
  const tacit_door_t *door = pair->door;
  for (size_t i = 0; i < n; i += 16) {
    look_at_few(pair, records + i, n - i < 16 ? n - i : 16, x + i);
  }
  if (!tacit_door_is_alone(door)) {
    share_ratios(door->settings.ranks, n, x);
  }
  tacit_records_drop(door->records, 0, tacit_records_n_blocks(door->records));
}

double tacit_door_minibatch_size(double n, double bound, double intensity) { return n * (bound + intensity); }

/* All records where a minibatch would be larger: a public rule, symmetric in the two points. */
bool tacit_door_is_full(const tacit_minibatch_rule_t *rule, double clip) {
  double size = tacit_door_minibatch_size(rule->n_public, clip / unit, (double)intensity_units(rule) / unit);
  return !(size < rule->max_batch);
}

static tacit_status_t check_minibatch(tacit_door_t *door, const tacit_scalars_t *of,
                                      const tacit_minibatch_rule_t *rule, tacit_error_t *err) {
  if (!(rule->max_bound > 0 && rule->max_bound <= 64 && rule->intensity >= 0x1p-20 &&
        rule->intensity <= 64)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "max_bound",
        "the largest bound on one record's log ratio must be above 0 and at most 64, and the intensity from "
        "2^-20 to 64");
  }
  if (rule->is_metropolis && door->budget != NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "is_metropolis",
                           "the Metropolis rule without noise is not private at any epsilon: use Barker's");
  }
  if (of->n_pairs != 1 || !(of->clips[0] <= tacit_ratio_clip(rule->max_bound)) ||
      of->is_sampled == tacit_door_is_full(rule, of->clips[0])) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_bound",
                           "a decision's clip is beyond what its rule is charged for");
  }
  tacit_status_t status = tacit_door_check(door, 1, err);
  TACIT_THEN(status, tacit_subset_check(door, 1, err));
  return TACIT_THEN(status, tacit_scalars_check(door, of, err));
}

/* proofs/Poisson.v: log_odds_of_a_minibatch */
tacit_status_t tacit_door_decide_minibatch(tacit_door_t *door, const tacit_scalars_t *of,
                                           const tacit_minibatch_rule_t *rule, double correction,
                                           bool *accepted, tacit_error_t *err) {
  *accepted = false;
  tacit_status_t status = check_minibatch(door, of, rule, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_event_t event = tacit_minibatch_event(rule, tacit_door_factor(door));
  pair_t pair = {door, of, of->clips[0]};
  int64_t tally = 0;
  status = tacit_door_charge(door, &event, err);
  if (status == TACIT_OK && of->is_sampled) {
    status = tacit_noise_tally(door->noise, door->n_records, intensity_units(rule), (int64_t)of->clips[0],
                               look_at, &pair, &tally, err);
  } else if (status == TACIT_OK) {
    tacit_scalars_sum(door, of);
    status = tacit_door_check_ranks(door, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  int64_t log_ratio =
      tacit_log_ratio_capped((of->is_sampled ? tally : door->sums[0]) + tacit_log_ratio_units(correction));
  *accepted = rule->is_metropolis && log_ratio >= 0;
  return !rule->is_metropolis ? tacit_noise_logistic_bit(door->noise, log_ratio, accepted, err)
         : log_ratio < 0      ? tacit_noise_exp_bit(door->noise, (uint64_t)-log_ratio, accepted, err)
                              : TACIT_OK;
}
