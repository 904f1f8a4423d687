/* Draws from the distributions of the library. Not installed. */
#ifndef TACIT_PROGRAM_DISTRIBUTION_H
#define TACIT_PROGRAM_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>

/* Whoever has uniform numbers on (0, 1). */
typedef struct tacit_uniforms {
  double (*next)(struct tacit_uniforms *self);
} tacit_uniforms_t;

/* args are the distribution's, as numbers; u is a first uniform number, which quantiles are taken of where
 * there are such. */
typedef struct tacit_distribution {
  const char *name; /* "weibull" */
  size_t n_args;
  bool makes_records; /* densities that others' responses are drawn from in a fit; all are in predictions */
  bool
      is_quantile; /* draw() is the quantile at u, which rises with it, and takes no further uniform number */
  double (*draw)(const double *args, double u, tacit_uniforms_t *uniforms);
} tacit_distribution_t;

/* NULL: draws from the distribution are not known. */
const tacit_distribution_t *tacit_distribution_find(const char *name);

#endif
