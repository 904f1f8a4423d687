/*
 * TunaMH with public constants [Zhang2020, Algorithm 3; Zhang2023]: record i is counted Poisson(a + (b - x_i) / 2) times, x_i its
 * log ratio clipped to [-b, b], and adds log((a + (b + x_i) / 2) / (a + (b - x_i) / 2)) each time to the log acceptance ratio.
 * Exact for any balanced rule where nothing is clipped; with Barker's, a decision is bounded-range (docs/theory.md, section 15).
 */
#include <math.h>
#include <string.h>

#include "door/door_internal.h"

static const double unit = 0x1p32;

static int64_t intensity_units(const tacit_minibatch_rule_t *rule) {
  return (int64_t)ceil(rule->intensity * unit);
}

/*
 * Log odds move by at most b (1 + t) under substitution and b t under add-remove, t = 1 + b / a; and by what rounding each
 * log to a unit can change, at most a unit times the mean number of counts of one record.
 */
tacit_event_t tacit_minibatch_event(const tacit_minibatch_rule_t *rule, double factor) {
  double b = tacit_ratio_clip(rule->max_bound) / unit, a = (double)intensity_units(rule) / unit, t = 1 + b / a;
  double slack = 2 * (1 + (a + b) * t) / unit;
  return (tacit_event_t){.kind = TACIT_EVENT_BARKER_BIT,
                         .sensitivity = (factor > 1.5 ? b * (1 + t) : b * t) * (1 + 1e-12) + slack,
                         .count = 1,
                         .label = "accept"};
}

typedef struct tally {
  tacit_door_t *door;
  const tacit_scalars_t *of;
  int64_t b, a;
  tacit_wide_t sum;
} tally_t;

enum { BATCH = 1024 }; /* candidates drawn at a time, so that the source of noise is checked once for all */

/* Clipped log ratios of n <= 16 records, whole numbers; 0 past the last, and for those of other ranks. */
static void look_at(const tally_t *tally, const uint64_t *records, size_t n, double x[16]) {
  tacit_door_t *door = tally->door;
  const tacit_scalars_t *of = tally->of;
  tacit_workspace_t *w = &door->workspaces[0];
  size_t n_here = tacit_records_n(door->records), lane_of[16], n_lanes = 0;
  for (size_t i = 0; i < n; i++) {
    size_t record = (size_t)records[i] - door->first_record; /* wraps for those of earlier ranks */
    if (record < n_here) {
      tacit_subset_ask(door, w, record);
      lane_of[n_lanes++] = i;
    }
  }
  tacit_subset_fill(door, w);
  for (size_t i = 0; i < of->n_fresh; i++) {
    w->outs[i] = w->values + i * TACIT_DOOR_RUN_BLOCKS * 16;
  }
  tacit_scalars_evaluate(of, w->block, w->norms, 1, w);
  memset(x, 0, 16 * sizeof *x);
  for (size_t lane = 0; lane < n_lanes; lane++) {
    double before = of->before[0] < SIZE_MAX ? w->outs[of->before[0]][lane] : 0, clip = (double)tally->b;
    double ratio = rint(w->outs[of->after[0]][lane] - before);
    x[lane_of[lane]] = ratio > clip ? clip : ratio < -clip ? -clip : isnan(ratio) ? 0 : ratio;
    door->notes.n_ratio_clipped += fabs(ratio) > clip;
  }
  door->notes.n_ratio += n;
}

/* Each candidate's log ratio is known to one rank. */
static void share_ratios(const tally_t *tally, size_t n, double *x) {
  const tacit_ranks_t *ranks = tally->door->settings.ranks;
  int64_t numbers[BATCH];
  for (size_t i = 0; i < n; i++) {
    numbers[i] = (int64_t)x[i];
  }
  ranks->sum(ranks->user, n, numbers);
  for (size_t i = 0; i < n; i++) {
    x[i] = (double)numbers[i];
  }
}

/*
 * Candidates are drawn with the largest rate a + b: keep each with its own. One that is kept adds
 * log((a + (b + x) / 2) / (a + (b - x) / 2)).
 */
static tacit_status_t count(tally_t *tally, size_t n, tacit_error_t *err) {
  tacit_door_t *door = tally->door;
  uint64_t records[BATCH], share[BATCH];
  double x[BATCH];
  int64_t weights[BATCH], sum = 0; /* of at most BATCH logarithms below 2^7, in units of 2^-32 */
  bool is_kept[BATCH];
  tacit_status_t status = tacit_noise_below(door->noise, door->n_records, n, records, err);
  for (size_t i = 0; status == TACIT_OK && i < n; i += 16) {
    look_at(tally, records + i, n - i < 16 ? n - i : 16, x + i);
  }
  if (status == TACIT_OK && door->settings.ranks != NULL && door->settings.ranks->n_ranks > 1) {
    share_ratios(tally, n, x);
  }
  if (status == TACIT_OK) {
    for (size_t i = 0; i < n; i++) {
      share[i] = (uint64_t)(2 * tally->a + tally->b - (int64_t)x[i]);
    }
    tacit_lattice_functions()->log_odds((n + 15) / 16 * 16, 2 * (double)tally->a + (double)tally->b, x, weights);
    status = tacit_noise_ratio_bits(door->noise, n, share, 2 * (uint64_t)(tally->a + tally->b), is_kept, err);
  }
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    sum += weights[i] & -(int64_t)is_kept[i]; /* a branch on secret coins would be guessed wrong half of the time */
  }
  tally->sum += sum;
  return status;
}

/*
 * Poisson with mean n (a + b), of as many records at a time as the argument holds. How many there are may be private: no number of them
 * may lead to a refusal.
 */
static tacit_status_t draw_size(const tally_t *tally, uint64_t *size, tacit_error_t *err) {
  uint64_t rate = (uint64_t)(tally->a + tally->b), most = UINT64_MAX / rate;
  tacit_status_t status = TACIT_OK;
  *size = 0;
  for (uint64_t n = tally->door->n_records; n > 0 && status == TACIT_OK;) {
    uint64_t some = n < most ? n : most, part;
    status = tacit_noise_poisson(tally->door->noise, rate * some, &part, err);
    *size += part;
    n -= some;
  }
  return status;
}

static tacit_status_t draw_ratio(tally_t *tally, tacit_error_t *err) {
  tacit_door_t *door = tally->door;
  uint64_t left;
  tacit_status_t status = draw_size(tally, &left, err);
  while (status == TACIT_OK && left > 0) {
    size_t some = left < BATCH ? (size_t)left : BATCH;
    status = count(tally, some, err);
    tacit_door_drop(door, 0, tacit_records_n_blocks(door->records));
    left -= some;
  }
  return status;
}

double tacit_door_minibatch_size(double n, double bound, double intensity) {
  return n * (bound + intensity);
}

/* All records where a minibatch would be larger: a public rule, symmetric in the two points. */
bool tacit_door_is_full(const tacit_minibatch_rule_t *rule, double clip) {
  double size = tacit_door_minibatch_size(rule->n_public, clip / unit, (double)intensity_units(rule) / unit);
  return !(size < rule->max_batch);
}

static tacit_status_t check(tacit_door_t *door, const tacit_scalars_t *of, const tacit_minibatch_rule_t *rule, tacit_error_t *err) {
  if (!(rule->max_bound > 0 && rule->max_bound <= 64 && rule->intensity >= 0x1p-20 && rule->intensity <= 64)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_bound",
                           "the largest bound on one record's log ratio must be above 0 and at most 64, and the intensity from "
                           "2^-20 to 64");
  }
  if (rule->is_metropolis && door->budget != NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "is_metropolis",
                           "the Metropolis rule without noise is not private at any epsilon: use Barker's");
  }
  if (of->n_pairs != 1 || !(of->clips[0] <= tacit_ratio_clip(rule->max_bound)) ||
      of->is_sampled == tacit_door_is_full(rule, of->clips[0])) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_bound", "a decision's clip is beyond what its rule is charged for");
  }
  tacit_status_t status = tacit_door_check(door, 1, err);
  if (status == TACIT_OK) {
    status = tacit_subset_check(door, 1, err);
  }
  return status == TACIT_OK ? tacit_scalars_check(door, of, err) : status;
}

tacit_status_t tacit_door_decide_minibatch(tacit_door_t *door, const tacit_scalars_t *of, const tacit_minibatch_rule_t *rule,
                                           double correction, bool *accepted, tacit_error_t *err) {
  *accepted = false;
  tacit_status_t status = check(door, of, rule, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_event_t event = tacit_minibatch_event(rule, tacit_door_factor(door));
  tally_t tally = {.door = door, .of = of, .b = (int64_t)of->clips[0], .a = intensity_units(rule)};
  status = tacit_door_charge(door, &event, err);
  if (status == TACIT_OK && of->is_sampled) {
    status = draw_ratio(&tally, err);
  } else if (status == TACIT_OK) {
    tacit_scalars_sum(door, of);
    tally.sum = door->sums[0];
  }
  if (status != TACIT_OK) {
    return status;
  }
  int64_t log_ratio = tacit_log_ratio_capped(tally.sum + tacit_log_ratio_units(correction));
  *accepted = rule->is_metropolis && log_ratio >= 0;
  return !rule->is_metropolis ? tacit_noise_logistic_bit(door->noise, log_ratio, accepted, err)
         : log_ratio < 0      ? tacit_noise_exp_bit(door->noise, (uint64_t)-log_ratio, accepted, err)
                              : TACIT_OK;
}
