/* Decisions on proposals: pairs that public facts decide are decided here, the others by the door. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "curator/curator_internal.h"

tacit_event_t tacit_curator_accept_event(const tacit_curator_t *curator, const tacit_accept_rule_t *rule) {
  return tacit_accept_event(rule, tacit_curator_sensitivity_factor(curator));
}

/*
 * The pairs to decide on, in curator->pairs: not those that public facts decide, points without change being
 * accepted and points without prior density, or farther apart than the rule allows, rejected.
 */
static size_t gather(tacit_curator_t *curator, double max_clip, const tacit_accept_pairs_t *pairs,
                     size_t first, size_t last) {
  size_t dim = curator->model->dim, n = 0;
  for (size_t k = first; k < last; k++) {
    const double *from = pairs->theta + k * dim, *to = pairs->theta_prop + k * dim;
    pairs->accepted[k] = memcmp(from, to, dim * sizeof *from) == 0;
    double clip = tacit_ratio_clip(tacit_curator_public_ratio_bound(curator, from, to));
    if (pairs->accepted[k] || !(clip <= max_clip) || !isfinite(pairs->correction[k])) {
      continue;
    }
    memcpy(curator->pairs + 2 * n * dim, from, dim * sizeof *from);
    memcpy(curator->pairs + (2 * n + 1) * dim, to, dim * sizeof *to);
    curator->clips[n] = clip;
    curator->values[n] = pairs->correction[k];
    curator->index[n++] = k;
  }
  return n;
}

static tacit_status_t prepare(tacit_curator_t *curator, const tacit_accept_pairs_t *pairs, size_t n_theta,
                              tacit_error_t *err) {
  memset(pairs->accepted, 0, pairs->n * sizeof *pairs->accepted);
  tacit_status_t status = tacit_curator_check_points(curator, pairs->n, pairs->theta, err);
  TACIT_THEN(status, tacit_curator_check_points(curator, pairs->n, pairs->theta_prop, err));
  TACIT_THEN(status, tacit_curator_reserve(curator, n_theta, err));
  return status == TACIT_OK ? tacit_kept_reserve(curator, n_theta, err) : status;
}

tacit_status_t tacit_curator_release_accept(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                            const tacit_accept_pairs_t *pairs, tacit_error_t *err) {
  tacit_status_t status = prepare(curator, pairs, pairs->n, err);
  size_t n = status == TACIT_OK ? gather(curator, tacit_ratio_clip(rule->max_bound), pairs, 0, pairs->n) : 0;
  if (status == TACIT_OK) { /* without pairs, too: a wrong rule is refused */
    tacit_scalars_t scalars = tacit_ratio_scalars(curator, n);
    status = tacit_door_decide(curator->door, &scalars, rule, curator->values, curator->bits, err);
    tacit_kept_settle(curator, status);
  }
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    pairs->accepted[curator->index[i]] = curator->bits[i];
  }
  if (status != TACIT_OK) {
    memset(pairs->accepted, 0, pairs->n * sizeof *pairs->accepted);
  }
  return status;
}

/* ---- by minibatch ---- */

double tacit_curator_minibatch_size(double n, double bound, double intensity) {
  return tacit_door_minibatch_size(n, bound, intensity);
}

tacit_event_t tacit_curator_minibatch_event(const tacit_curator_t *curator,
                                            const tacit_minibatch_rule_t *rule) {
  return tacit_minibatch_event(rule, tacit_curator_sensitivity_factor(curator));
}

/* The pair's log ratio, at both ends: records drawn are not those of the last pair. */
static void pair_values(const void *ctx, const float *block, size_t n_blocks, double *work,
                        double *const *out) {
  const tacit_curator_t *curator = ctx;
  const tacit_record_model_t *model = curator->model;
  for (size_t b = 0; b < n_blocks; b++) {
    model->log_lik(model->ctx, block + b * model->n_columns * 16, 2, curator->pairs, work);
    tacit_grid_functions()->ratio(curator->settings.temperature_power, work, out[0] + b * 16);
  }
}

static tacit_status_t decide_by_minibatch(tacit_curator_t *curator, const tacit_minibatch_rule_t *rule,
                                          bool *accepted, tacit_error_t *err) {
  static const size_t first = 0, none = SIZE_MAX;
  tacit_scalars_t scalars = {.n_pairs = 1,
                             .n_fresh = 1,
                             .values = pair_values,
                             .ctx = curator,
                             .n_work = 2 * 16,
                             .fresh_at = &first,
                             .before = &none,
                             .after = &first,
                             .clips = curator->clips,
                             .points = curator->pairs,
                             .n_numbers = 2 * curator->model->dim,
                             .is_sampled = true,
                             .rate = 1,
                             .label = "accept"};
  if (tacit_door_is_full(rule, curator->clips[0])) {
    scalars = tacit_ratio_scalars(curator, 1);
  }
  tacit_status_t status =
      tacit_door_decide_minibatch(curator->door, &scalars, rule, curator->values[0], accepted, err);
  tacit_kept_settle(curator, status);
  return status;
}

tacit_status_t tacit_curator_release_minibatch_accept(tacit_curator_t *curator,
                                                      const tacit_minibatch_rule_t *rule,
                                                      const tacit_accept_pairs_t *pairs, tacit_error_t *err) {
  tacit_status_t status = prepare(curator, pairs, 1, err);
  for (size_t k = 0; status == TACIT_OK && k < pairs->n; k++) {
    if (gather(curator, tacit_ratio_clip(rule->max_bound), pairs, k, k + 1) > 0) {
      status = decide_by_minibatch(curator, rule, &pairs->accepted[k], err);
    }
  }
  if (status != TACIT_OK) {
    memset(pairs->accepted, 0, pairs->n * sizeof *pairs->accepted);
  }
  return status;
}
