/*
 * Accept/reject bits: the only thing that leaves is the decision. The log acceptance ratio is a whole number
 * of 2^-32, and the decision a comparison of whole numbers, so that its probability is the rule's at that
 * ratio.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "door/door_internal.h"
#include "random/noise.h"

static const double unit = 0x1p32; /* grid units of a log ratio of one */

/* ---- what a decision is charged as ---- */

/* The largest clip, 2^51 grid units (ratio 2^19), exceeds every difference of saturated log-likelihoods. */
static const double max_clip_units = 0x1p51;
/* Clips are at least this many grid units, so that the two units more hardly matter. */
static const double min_clip_units = 0x1p10;

/*
 * Two units more than the bound: each log-likelihood on the grid is within 3/4 of a unit of the exact one
 * (docs/theory.md, section 3), so that a model's own bound never clips. A larger clip on public grounds is
 * safe, since noise and charge follow the clip.
 */
double tacit_ratio_clip(double bound) {
  double clip = ceil(bound * unit) + 2;
  return clip > max_clip_units ? max_clip_units : clip < min_clip_units ? min_clip_units : clip;
}

/*
 * A unit moves the log ratio by at most factor times the largest clip. Penalty: rounding the noise moves it
 * by at most half a unit on either side. Probit: any noise sd in proportion to the pair's own clip; clips
 * have 2^10 units or more, and 2^-10 more is for rounding the sd.
 */
/* proofs/Decisions.v: scalar_moves, rounding_moves_by_one */
tacit_event_t tacit_accept_event(const tacit_accept_rule_t *rule, double factor) {
  double most = factor * tacit_ratio_clip(rule->max_bound);
  tacit_event_t event = {
      .kind = TACIT_EVENT_BARKER_BIT, .sensitivity = most / unit, .count = 1, .label = "accept"};
  if (rule->kind == TACIT_ACCEPT_PENALTY || rule->kind == TACIT_ACCEPT_PROBIT) {
    bool is_penalty = rule->kind == TACIT_ACCEPT_PENALTY;
    event.kind = is_penalty ? TACIT_EVENT_PENALTY_BIT : TACIT_EVENT_PROBIT_BIT;
    event.sensitivity = is_penalty ? (most + 1) / unit : 1 + 0x1p-9;
    event.sigma = rule->sigma;
  } else if (rule->kind == TACIT_ACCEPT_ARCSINE) {
    event.kind = TACIT_EVENT_ARCSINE_BIT;
    event.kappa = rule->kappa;
    event.cap = rule->cap;
  }
  return event;
}

/* |<A, B> - <A', B'>| <= |A - A'| |B| + |A'| |B - B'|, for a unit that is added; clipping moves no two
 * vectors apart (README.md, lemma 3.2). */
/* proofs/Decisions.v: product_moves, scaling_moves, adding_the_same_moves_nothing */
static double product_moves(const tacit_door_product_t *of) {
  double root = 0;
  for (size_t j = 0; j < of->dim; j++) {
    root = fmax(root, fabs(of->scale[j]));
  }
  return root * ((double)of->radius[0] * of->clip[1] + (double)of->radius[1] * of->clip[0]);
}

/* Part 1e-9 of the sensitivity is for rounding: check_product(). proofs/Decisions.v: product_moves */
tacit_event_t tacit_product_event(const tacit_accept_rule_t *rule, double factor,
                                  const tacit_door_product_t *of) {
  tacit_event_t event = tacit_accept_event(rule, factor);
  event.sensitivity =
      factor * ((double)of->most / unit + fabs(of->weight) * product_moves(of)) * (1 + 1e-9) + 4 / unit;
  return event;
}

static tacit_status_t refuse_decide(tacit_error_t *err, const char *field, const char *message) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, field, "%s", message);
}

static tacit_status_t check_rule(const tacit_door_t *door, const tacit_accept_rule_t *rule,
                                 const tacit_event_t *event, tacit_error_t *err) {
  bool is_noisy = rule->kind == TACIT_ACCEPT_PENALTY || rule->kind == TACIT_ACCEPT_PROBIT;
  if (door->budget == NULL) {
    return tacit_error_set(err, TACIT_ERR_STATE, "curator", "an exposed curator makes no secret decisions");
  }
  if (!(rule->max_bound > 0 && rule->max_bound <= 0x1p18)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "max_bound",
        "the largest bound on one unit's log ratio must be above 0 and at most 2^18, not %g",
        rule->max_bound);
  }
  if (is_noisy && !(rule->sigma >= 1e-6 && rule->sigma <= 0x1p18)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sigma",
                           "sigma of an acceptance rule must be from 1e-6 to 2^18, not %g", rule->sigma);
  }
  if (rule->kind == TACIT_ACCEPT_ARCSINE && !(rule->kappa >= 0.05 && rule->kappa <= 2 && rule->cap > 0 &&
                                              rule->cap <= 0.999 && event->sensitivity >= 1e-5)) {
    return refuse_decide(
        err, "kappa",
        "the arcsine rule needs kappa from 0.05 to 2, a cap above 0 and at most 0.999, and steps "
        "that move the log ratio "
        "by 1e-5 or more");
  }
  return tacit_door_check(door, 1, err);
}

/* ---- one decision ---- */

/* proofs/Decisions.v: capping_moves_no_two_apart */
int64_t tacit_log_ratio_capped(tacit_wide_t log_ratio) {
  const tacit_wide_t limit = (tacit_wide_t)1 << 62;
  return (int64_t)(log_ratio > limit ? limit : log_ratio < -limit ? -limit : log_ratio);
}

tacit_wide_t tacit_log_ratio_units(long double log_ratio) {
  return (tacit_wide_t)rintl(fmaxl(fminl(log_ratio * unit, 0x1p62L), -0x1p62L));
}

/* In log ratios; `clip` is what one unit adds at most, in grid units. */
/* proofs/Decisions.v: scalar_moves */
static double noise_sd(const tacit_door_t *door, const tacit_accept_rule_t *rule, double clip) {
  return rule->sigma * (rule->kind == TACIT_ACCEPT_PROBIT ? tacit_door_factor(door) * clip / unit : 1);
}

static tacit_status_t decide(const tacit_door_t *door, const tacit_accept_rule_t *rule, double clip,
                             tacit_wide_t log_ratio, bool *accepted, tacit_error_t *err) {
  int64_t capped = tacit_log_ratio_capped(log_ratio);
  double sigma = noise_sd(door, rule, clip);
  switch (rule->kind) {
  case TACIT_ACCEPT_PENALTY:
  case TACIT_ACCEPT_PROBIT:
    return tacit_noise_penalty_bit(door->noise, sigma, capped, accepted, err);
  case TACIT_ACCEPT_ARCSINE:
    return tacit_noise_arcsine_bit(door->noise, rule->kappa, rule->cap, capped, accepted, err);
  default:
    return tacit_noise_logistic_bit(door->noise, capped, accepted, err);
  }
}

/* ---- decisions on sums ---- */

/* proofs/Decisions.v: scalar_moves */
tacit_status_t tacit_door_decide(tacit_door_t *door, const tacit_scalars_t *of,
                                 const tacit_accept_rule_t *rule, const double *correction, bool *accepted,
                                 tacit_error_t *err) {
  tacit_event_t event = tacit_accept_event(rule, tacit_door_factor(door));
  event.count = of->n_pairs;
  memset(accepted, 0, of->n_pairs * sizeof *accepted);
  tacit_status_t status = check_rule(door, rule, &event, err);
  if (status != TACIT_OK || of->n_pairs == 0) {
    return status;
  }
  for (size_t k = 0; k < of->n_pairs; k++) {
    if (!(of->clips[k] <= tacit_ratio_clip(rule->max_bound) && of->clips[k] >= min_clip_units &&
          isfinite(correction[k]))) {
      return refuse_decide(err, "max_bound", "a decision's clip is beyond what its rule is charged for");
    }
  }
  for (size_t k = 0; k < of->n_pairs; k++) {
    if (rule->kind == TACIT_ACCEPT_PROBIT && !(noise_sd(door, rule, of->clips[k]) <= 0x1p20)) {
      return refuse_decide(
          err, "sigma",
          "the noise of a probit decision, sigma times what a unit may move its log ratio by, is "
          "at most 2^20");
    }
  }
  status = !of->is_sampled ? tacit_scalars_check(door, of, err)
                           : refuse_decide(err, "rate", "such decisions look at all records");
  TACIT_THEN(status, tacit_door_charge(door, &event, err));
  if (status == TACIT_OK) {
    tacit_scalars_sum(door, of);
    status = tacit_door_check_ranks(door, err);
  }
  for (size_t k = 0; status == TACIT_OK && k < of->n_pairs; k++) {
    status = decide(door, rule, of->clips[k], door->sums[k] + tacit_log_ratio_units(correction[k]),
                    &accepted[k], err);
  }
  if (status != TACIT_OK) {
    memset(accepted, 0, of->n_pairs * sizeof *accepted);
  }
  return status;
}

/* ---- decisions on sums and the product of two vectors ---- */

/* What is not written is zero. */
static void ask(const tacit_door_product_t *of, const float *block, const float *norms, void *work,
                int64_t *lanes) {
  memset(lanes, 0, (2 * of->dim + 1) * 16 * sizeof *lanes);
  memset(work, 0, of->n_work);
  of->lanes(of->ctx, block, norms, work, lanes);
}

static void probe_lanes(void *user, const float *block, size_t n_blocks, void *out) {
  const tacit_probed_t *probed = user;
  const tacit_door_product_t *of = probed->contribution;
  size_t n = (2 * of->dim + 1) * 16;
  float norms[16];
  for (size_t lane = 0; lane < 16; lane++) {
    norms[lane] = 0x1p16f; /* a public bound of made-up records' norms */
  }
  for (size_t b = 0; b < n_blocks; b++) {
    ask(of, block + b * probed->door->settings.n_columns * 16, norms, probed->door->workspaces->work,
        (int64_t *)out + b * n);
  }
}

/* Totals, and what is at hand after them. */
static void add_lanes(const tacit_pass_t *pass, const tacit_shown_t *shown, tacit_workspace_t *w) {
  const tacit_door_product_t *of = pass->of;
  size_t n = of->dim * 16;
  int64_t *lanes = w->lanes64 + 2 * n + 16;
  ask(of, shown->block, shown->norms, w->work, lanes);
  for (size_t side = 0; side < 2; side++) {
    tacit_lattice_functions()->whole(shown->norms, of->dim, (double)of->radius[side], lanes + side * n,
                                     w->lanes64 + side * n);
  }
  tacit_lattice_functions()->whole(shown->norms, 1, (double)of->most, lanes + 2 * n, w->lanes64 + 2 * n);
}

/* <A, B>, both clipped; of a rounding that rounding_of() bounds. */
/* proofs/Clipping.v: clipping_moves_no_two_apart, product_of_clipped_moves */
static long double product_of(const tacit_door_t *door, const tacit_door_product_t *of) {
  long double square[2] = {0, 0}, product = 0;
  for (size_t j = 0; j < of->dim; j++) {
    long double x[2];
    for (size_t side = 0; side < 2; side++) {
      x[side] = (long double)of->scale[j] * (long double)door->sums[side * of->dim + j] +
                (long double)of->add[side][j];
      square[side] += x[side] * x[side];
    }
    product += x[0] * x[1];
  }
  for (size_t side = 0; side < 2; side++) {
    long double most = of->clip[side];
    product *= square[side] > most * most ? most / sqrtl(square[side]) : 1;
  }
  return product;
}

/* How far product_of() may be from <A, B>, at most (docs/theory.md, 2): public. */
static long double rounding_of(const tacit_door_product_t *of) {
  long double added[2] = {0, 0}, clip[2] = {of->clip[0], of->clip[1]};
  for (size_t side = 0; side < 2; side++) {
    for (size_t j = 0; j < of->dim; j++) {
      added[side] += (long double)of->add[side][j] * (long double)of->add[side][j];
    }
    added[side] = sqrtl(added[side]);
  }
  return LDBL_EPSILON *
         ((long double)(of->dim + 16) * clip[0] * clip[1] + 2 * (added[0] * clip[1] + added[1] * clip[0]));
}

static tacit_sizes_t sizes_of(const tacit_door_product_t *of) {
  size_t n = 2 * of->dim + 1;
  return (tacit_sizes_t){.lanes64 = 2 * n * 16,
                         .work = of->n_work / sizeof(double) + 1,
                         .totals = n + TACIT_N_NOTES,
                         .message = tacit_door_message_size(n)};
}

tacit_status_t tacit_door_product_sum(tacit_door_t *door, const tacit_door_product_t *of,
                                      tacit_wide_t *log_ratio, tacit_error_t *err) {
  size_t n = 2 * of->dim + 1;
  tacit_sizes_t sizes = sizes_of(of);
  tacit_pass_t pass = {.door = door,
                       .of = of,
                       .sizes = &sizes,
                       .n_sums = n,
                       .n_lanes = 16,
                       .n_blocks = 1,
                       .is_wide = true,
                       .show = add_lanes};
  tacit_status_t status = tacit_door_reserve(door, &sizes, err);
  if (status == TACIT_OK) {
    tacit_door_digest(door, of->points, of->n_numbers * sizeof *of->points);
    tacit_door_sum(&pass);
    *log_ratio = door->sums[n - 1] + tacit_log_ratio_units((long double)of->weight * product_of(door, of));
  }
  return status;
}

static tacit_status_t check_product(tacit_door_t *door, const tacit_door_product_t *of,
                                    const tacit_accept_rule_t *rule, tacit_error_t *err) {
  bool ok = of->dim >= 1 && of->dim <= TACIT_MAX_NUMBERS && of->n_work <= (size_t)1 << 40 &&
            isfinite(of->weight) && of->most >= 1 && of->most <= (int64_t)1 << 51;
  for (size_t side = 0; side < 2; side++) {
    ok = ok && of->radius[side] >= 1 && of->radius[side] <= 1 << 26 && of->clip[side] > 0 &&
         of->clip[side] <= 1e15;
    for (size_t j = 0; ok && j < of->dim; j++) {
      ok = isfinite(of->add[side][j]) && fabs(of->scale[j]) <= 1e15;
    }
  }
  if (!ok || tacit_door_has_units(door)) {
    return refuse_decide(err, "product", "decisions on products need finite numbers and one record a unit");
  }
  if (rule->kind != TACIT_ACCEPT_BARKER && rule->kind != TACIT_ACCEPT_PENALTY) {
    return refuse_decide(err, "rule", "Langevin decisions are made by the barker or the penalty rule");
  }
  if (!(rounding_of(of) <= 0x1p-32L * (long double)product_moves(of))) {
    return refuse_decide(
        err, "product",
        "a product's clips, or what is added to its sums, are so large beside what a record moves "
        "that rounding would show");
  }
  tacit_sizes_t sizes = sizes_of(of);
  tacit_probed_t probed = {.door = door, .contribution = of, .sizes = &sizes};
  tacit_status_t status = tacit_door_reserve(door, &sizes, err);
  return TACIT_THEN(status, tacit_door_probe(&probed, probe_lanes, 2 * of->dim + 1, TACIT_PROBE_WHOLE, err));
}

/* proofs/Decisions.v: product_moves */
tacit_status_t tacit_door_decide_product(tacit_door_t *door, const tacit_door_product_t *of,
                                         const tacit_accept_rule_t *rule, double correction, bool *accepted,
                                         tacit_error_t *err) {
  tacit_event_t event = tacit_product_event(rule, tacit_door_factor(door), of);
  tacit_wide_t log_ratio = 0;
  *accepted = false;
  tacit_status_t status = check_rule(door, rule, &event, err);
  TACIT_THEN(status, check_product(door, of, rule, err));
  TACIT_THEN(status, tacit_door_charge(door, &event, err));
  TACIT_THEN(status, tacit_door_product_sum(door, of, &log_ratio, err));
  TACIT_THEN(status, tacit_door_check_ranks(door, err));
  return TACIT_THEN(status,
                    decide(door, rule, 0, log_ratio + tacit_log_ratio_units(correction), accepted, err));
}
