/*
 * Log-likelihoods that are kept between passes over pairs, on the grid of ratios. A chain's next pair begins
 * where the last one ended or, after a rejection, began: half of the work is done already. Values are reused
 * where the parameters are the same to the last bit, and a log-likelihood is a function of record and
 * parameters: the integers summed are those of a pass without.
 *
 * They take 16 bytes a record and chain. Beyond TACIT_KEPT_BYTES nothing is kept, so that memory stays near
 * that of the records for large data; nor is anything for units of several records.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "curator/curator_internal.h"

void tacit_kept_clear(tacit_kept_t *kept) {
  size_t limit = kept->limit;
  tacit_free(kept->theta);
  tacit_free(kept->used);
  tacit_free(kept->fresh);
  tacit_free(kept->fresh_at);
  tacit_free(kept->before);
  tacit_free(kept->after);
  *kept = (tacit_kept_t){.limit = limit};
}

bool tacit_kept_init(tacit_kept_t *kept, size_t n_theta, size_t dim) {
  tacit_kept_clear(kept);
  kept->fresh = tacit_alloc_zero(n_theta * dim, 2 * sizeof *kept->fresh);
  kept->fresh_at = tacit_alloc_zero(n_theta, 2 * sizeof *kept->fresh_at);
  kept->before = tacit_alloc_zero(n_theta, sizeof *kept->before);
  kept->after = tacit_alloc_zero(n_theta, sizeof *kept->after);
  return kept->fresh != NULL && kept->fresh_at != NULL && kept->before != NULL && kept->after != NULL;
}

static void forget(tacit_kept_t *kept) {
  tacit_free(kept->theta);
  tacit_free(kept->used);
  kept->theta = NULL;
  kept->used = NULL;
  kept->n_points = 0;
}

tacit_status_t tacit_kept_reserve(tacit_curator_t *curator, size_t n_pairs, tacit_error_t *err) {
  tacit_kept_t *kept = &curator->kept;
  size_t n_points, before = kept->n_points;
  tacit_status_t status = tacit_door_keep(curator->door, 2 * n_pairs, kept->limit, &n_points, err);
  if (n_points == before && (before == 0 || kept->theta != NULL)) {
    return status;
  }
  forget(kept);
  kept->theta = tacit_alloc_zero(n_points * curator->model->dim + 1, sizeof *kept->theta);
  kept->used = tacit_alloc_zero(n_points + 1, sizeof *kept->used);
  if (kept->theta == NULL || kept->used == NULL) {
    forget(kept);
    return tacit_error_memory(err);
  }
  kept->n_points = n_points;
  return status;
}

/* The point whose values are kept; n_points if they are not. */
static size_t find(const tacit_kept_t *kept, const double *theta, size_t dim) {
  size_t i = 0;
  while (i < kept->n_points &&
         (kept->used[i] == 0 || memcmp(kept->theta + i * dim, theta, dim * sizeof *theta) != 0)) {
    i++;
  }
  return i;
}

/* Where values can be kept: in place of those that were not used for longest. */
static size_t oldest(const tacit_kept_t *kept) {
  size_t oldest = 0;
  for (size_t i = 1; i < kept->n_points; i++) {
    oldest = kept->used[i] < kept->used[oldest] ? i : oldest;
  }
  return oldest;
}

/* Have theta evaluated; returns where its values will be. */
static size_t evaluate(tacit_kept_t *kept, const double *theta, size_t dim) {
  size_t at = kept->n_fresh;
  memcpy(kept->fresh + kept->n_fresh * dim, theta, dim * sizeof *theta);
  if (kept->n_points > 0) {
    at = oldest(kept);
    memcpy(kept->theta + at * dim, theta, dim * sizeof *theta);
    kept->used[at] = kept->pass;
  }
  kept->fresh_at[kept->n_fresh++] = at;
  return at;
}

/* Values that this pass needs must not make room for others: first all that are kept are marked, then the
 * rest find places. */
static void mark(tacit_kept_t *kept, const double *points, size_t n, size_t dim) {
  for (size_t i = 0; i < n; i++) {
    size_t at = find(kept, points + i * dim, dim);
    if (at < kept->n_points) {
      kept->used[at] = kept->pass;
    }
  }
}

static size_t find_or_evaluate(tacit_kept_t *kept, const double *theta, size_t dim) {
  size_t at = find(kept, theta, dim);
  return at < kept->n_points ? at : evaluate(kept, theta, dim);
}

void tacit_kept_settle(tacit_curator_t *curator, tacit_status_t status) {
  for (size_t i = 0; status != TACIT_OK && i < curator->kept.n_points; i++) {
    curator->kept.used[i] = 0;
  }
}

void tacit_kept_plan(tacit_curator_t *curator, size_t n_pairs) {
  tacit_kept_t *kept = &curator->kept;
  size_t dim = curator->model->dim;
  kept->pass++;
  kept->n_fresh = 0;
  mark(kept, curator->pairs, 2 * n_pairs, dim);
  for (size_t k = 0; k < n_pairs; k++) {
    kept->before[k] = find_or_evaluate(kept, curator->pairs + 2 * k * dim, dim);
    kept->after[k] = find_or_evaluate(kept, curator->pairs + (2 * k + 1) * dim, dim);
  }
}
