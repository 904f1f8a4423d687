/**
 * @file releases.h
 * Releases that are kept for inference afterwards: numbers, their noise, and the public point at which each
 * was made. Nothing here was not released, so that whatever is computed from it costs no privacy
 * (docs/releases.md).
 */
#ifndef TACIT_RELEASES_H
#define TACIT_RELEASES_H

#include "tacit/base.h"

enum { TACIT_RELEASE_MAX_PARTS = 8, TACIT_RELEASE_NAME_SIZE = 32 };

/** Numbers by a name: of a point "theta", "whiten", "radius"; shape (n). */
typedef struct tacit_release_part {
  char name[TACIT_RELEASE_NAME_SIZE];
  size_t n;
  double *values;
} tacit_release_part_t;

/** One release: Gaussian, of all records. */
typedef struct tacit_kept_release {
  char label[TACIT_RELEASE_NAME_SIZE]; /**< as it was charged, "weighted score" */
  double noise_multiplier;             /**< > 0; what it was charged by */
  double noise_sd;                     /**< of each value, >= 0 */
  size_t n_parts;
  tacit_release_part_t at[TACIT_RELEASE_MAX_PARTS]; /**< where it was made */
  size_t n_values;
  double *values;
} tacit_kept_release_t;

/** In the order in which they were made. Begin with zeros. */
typedef struct tacit_releases {
  size_t dim;     /**< features, the intercept included */
  double n_units; /**< where it is public; else 0 */
  size_t n;
  tacit_kept_release_t *items;
  size_t n_taken; /**< by tacit_releases_take() */
} tacit_releases_t;

void tacit_releases_clear(tacit_releases_t *releases);
/** Append a copy. @return TACIT_ERR_MEMORY; TACIT_ERR_ARGUMENT: too many parts. */
TACIT_MUST_USE tacit_status_t tacit_releases_add(tacit_releases_t *releases,
                                                 const tacit_kept_release_t *release, tacit_error_t *err);
/**
 * The next release, which must have this label, number of values, and parts of these names and sizes.
 * @param[in,out] release  label, n_values, names and sizes of parts are looked at; values and those of parts
 * are filled, noise too.
 * @return TACIT_ERR_DATA if the next one is another.
 */
TACIT_MUST_USE tacit_status_t tacit_releases_take(tacit_releases_t *releases, tacit_kept_release_t *release,
                                                  tacit_error_t *err);

#endif
