/* Releases in memory. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "releases/releases.h"

static void clear_one(tacit_kept_release_t *release) {
  for (size_t i = 0; i < release->n_parts; i++) {
    tacit_free(release->at[i].values);
  }
  tacit_free(release->values);
}

void tacit_releases_clear(tacit_releases_t *releases) {
  for (size_t i = 0; i < releases->n; i++) {
    clear_one(&releases->items[i]);
  }
  tacit_free(releases->items);
  *releases = (tacit_releases_t){0};
}

/* Owned; NULL if there is no memory. */
static double *copy_of(const double *values, size_t n) {
  double *copy = tacit_alloc(n > 0 ? n : 1, sizeof *copy);
  if (copy != NULL && n > 0) {
    memcpy(copy, values, n * sizeof *copy);
  }
  return copy;
}

/* Room for one more. */
static bool grow(tacit_releases_t *releases) {
  tacit_kept_release_t *items = tacit_alloc(releases->n + 1, sizeof *items);
  if (items == NULL) {
    return false;
  }
  if (releases->n > 0) {
    memcpy(items, releases->items, releases->n * sizeof *items);
  }
  tacit_free(releases->items);
  releases->items = items;
  return true;
}

tacit_status_t tacit_releases_add(tacit_releases_t *releases, const tacit_kept_release_t *release,
                                  tacit_error_t *err) {
  if (release->n_parts > TACIT_RELEASE_MAX_PARTS) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "releases", "a release has at most %d parts",
                           (int)TACIT_RELEASE_MAX_PARTS);
  }
  tacit_kept_release_t copy = *release;
  bool ok = (copy.values = copy_of(release->values, release->n_values)) != NULL;
  for (size_t i = 0; i < release->n_parts; i++) {
    ok = (copy.at[i].values = copy_of(release->at[i].values, release->at[i].n)) != NULL && ok;
  }
  if (!ok || !grow(releases)) {
    clear_one(&copy);
    return tacit_error_memory(err);
  }
  releases->items[releases->n++] = copy;
  return TACIT_OK;
}

static bool is_of_shape(const tacit_kept_release_t *kept, const tacit_kept_release_t *wanted) {
  bool is_it = strcmp(kept->label, wanted->label) == 0 && kept->n_values == wanted->n_values &&
               kept->n_parts == wanted->n_parts;
  for (size_t i = 0; i < wanted->n_parts && is_it; i++) {
    is_it = strcmp(kept->at[i].name, wanted->at[i].name) == 0 && kept->at[i].n == wanted->at[i].n;
  }
  return is_it;
}

tacit_status_t tacit_releases_take(tacit_releases_t *releases, tacit_kept_release_t *release,
                                   tacit_error_t *err) {
  if (releases->n_taken >= releases->n || !is_of_shape(&releases->items[releases->n_taken], release)) {
    return tacit_error_set(err, TACIT_ERR_DATA, "releases",
                           "release %zu should be \"%s\" with %zu numbers: the releases are not those of "
                           "this method and model, or "
                           "another version of tacit made them",
                           releases->n_taken + 1, release->label, release->n_values);
  }
  const tacit_kept_release_t *kept = &releases->items[releases->n_taken++];
  release->noise_multiplier = kept->noise_multiplier;
  release->noise_sd = kept->noise_sd;
  memcpy(release->values, kept->values, kept->n_values * sizeof *kept->values);
  for (size_t i = 0; i < kept->n_parts; i++) {
    memcpy(release->at[i].values, kept->at[i].values, kept->at[i].n * sizeof *kept->at[i].values);
  }
  return TACIT_OK;
}
