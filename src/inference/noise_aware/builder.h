/* Construction of the surrogate population: shape.c learns its shape, surrogate.c fits rows to it. */
#ifndef TACIT_NOISE_AWARE_BUILDER_H
#define TACIT_NOISE_AWARE_BUILDER_H

#include "noise_aware/noise_aware_internal.h"

/* What the construction needs besides the result. */
typedef struct tacit_builder {
  tacit_surrogate_t *s;
  tacit_curator_t *curator;
  const tacit_noise_aware_settings_t *settings;
  tacit_aware_count_t count;
  double radius; /* of rows in the second release */
  size_t d, n_moments;
  tacit_shape_t shape;
  double *memory;
  double *normals;   /* (n_rows, d): the leading p of each row are used */
  double *released;  /* (n_moments): svec as released */
  double *moments;   /* (n_moments): posterior means of the entries, row by row of the upper triangle */
  double *variances; /* (n_moments): and variances */
  double *products;  /* (n_rows, n_moments), n_moments >= d: upper triangle of x1 x1' */
  double *average;   /* (n_moments) */
  double *gram;      /* (n_moments, n_moments), at least 2 d^2 */
  double *metric;    /* (d, d): L1, then others */
  double *inverse;   /* (d, d) */
  double *work;      /* 6 d^2 + 4 d + 4 n_moments */
} tacit_builder_t;

/* Make the two releases of second moments; shape, moments and variances as they suggest, metric and inverse
 * of the second. */
TACIT_MUST_USE tacit_status_t tacit_builder_learn(tacit_builder_t *b, tacit_error_t *err);
/* Pseudo-rows of the shape, and their weights. */
TACIT_MUST_USE tacit_status_t tacit_builder_populate(tacit_builder_t *b, tacit_error_t *err);
/* metric <- L, L L' = second moments of the shape; inverse <- L^-1. */
TACIT_MUST_USE tacit_status_t tacit_builder_factorise(tacit_builder_t *b, tacit_error_t *err);
/* products, and their weighted average, for the pseudo-rows in the whitened metric. */
void tacit_builder_fill_products(tacit_builder_t *b);

#endif
