/* The grid of honesty: simulated data of many kinds, fitted privately, and how often intervals hold the
 * truth. */
#ifndef HONESTY_H
#define HONESTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formula/model.h"
#include "noise_aware/noise_aware.h"
#include "tacit/random.h"

enum { MAX_FEATURES = 19, MAX_TERMS = MAX_FEATURES + 1, MAX_NAME = 24, MAX_LEVELS = 5 };

/* How a column is distributed; all but indicators have a public range. */
typedef enum shape { NORMAL = 0, HEAVY, EXPONENTIAL, LOGNORMAL, INDICATOR, LEVEL } shape_t;

typedef struct column {
  shape_t shape;
  double mean, sd;     /* normal, heavy (t3, times sd); exponential: its mean is sd; indicator: share is mean;
                          level: exclusive, share is mean */
  double lower, upper; /* public bounds */
  double slope;        /* for one unit of it */
} column_t;

/* What responses of a family that is a program are like beside it. */
typedef enum wrong { RIGHT = 0, LOGNORMAL_FACTOR, GAMMA_FACTOR, SKEWED_ERRORS, EXTRA_ZEROS } wrong_t;

/* A family that is a program (tacit model write), and its parameters beside the coefficients. */
typedef struct family {
  const char *name; /* NULL: none */
  double lower, shape,
      zero; /* of the response's bounds; the parameter of shape, precision or scale; the share of zeros */
  size_t n_levels;
  double levels[MAX_LEVELS]; /* cut points, or intercepts of all classes but the first */
  bool is_censored;          /* at the upper bound, up to which all are followed */
  wrong_t wrong;             /* coefficients but the slopes have no truth then */
} program_family_t;

typedef struct kind {
  char name[MAX_NAME];
  bool is_easy; /* at most 2 % of its fits may be flagged as problems, of programs 1 % at epsilon 8 */
  tacit_family_t family;
  double upper; /* of a count; of a gaussian half the range of its bounds */
  size_t n;
  double intercept, correlation,
      overdispersion; /* correlation of normal columns; variance of a gamma factor on a count's rate */
  double sd, curve;   /* gaussian: sd of errors, and coefficient of (x_1 - mean)^2 - sd^2, which the formula
                         leaves out */
  enum { NORMAL_ERRORS = 0, T3_ERRORS } errors;
  program_family_t program; /* then family counts for nothing */
  size_t n_columns;
  column_t columns[MAX_FEATURES - 1];
} kind_t;

extern const kind_t kinds[], program_kinds[];
extern const size_t n_kinds, n_program_kinds;

/* Truth of the reported coefficients, (n_columns + 1), and of a gaussian's sd around the best line. */
void kind_truth(const kind_t *kind, double *truth);
/* One record: columns as they are, then the response, of a program also whether it is known to be larger. */
void kind_record(const kind_t *kind, tacit_rng_t *rng, double *record);
double gamma_draw(double shape, tacit_rng_t *rng);
/* Public schema text of at most n bytes, and formula. */
void kind_schema(const kind_t *kind, char *text, size_t n);
void kind_formula(const kind_t *kind, char *text, size_t n);

/* ---- programs.c ---- */

double program_response(const kind_t *kind, double eta, tacit_rng_t *rng);
/* Truth by the name of what is reported; false: it has none. */
bool program_truth(const kind_t *kind, const char *name, double *truth);
/* Schema text; columns: that of the features. */
void program_schema(const kind_t *kind, const char *columns, char *text, size_t n);

/* What a fit of one data set says. */
typedef struct outcome {
  size_t n_terms;
  bool has_sigma; /* the last term; then exact_sd is known */
  double truth[MAX_TERMS], mean[MAX_TERMS], sd[MAX_TERMS], q5[MAX_TERMS], q95[MAX_TERMS], share[MAX_TERMS];
  double exact_sd[MAX_TERMS];                         /* of the non-private posterior */
  char problems[160], warnings[256], statistics[512]; /* names of checks, joined by +; NAME=the statistic
                                                         furthest in the flagged direction */
  double seconds;
} outcome_t;

/* Simulate and fit; a function of the seed. False, with the reason in the outcome's problems, if the fit
 * failed or was refused before it spent. */
bool kind_run(const kind_t *kind, tacit_relation_t relation, double epsilon, uint64_t seed,
              outcome_t *outcome);

/* table.c: the results of a file of runs as a table; false if it cannot be read. */
bool table_write(const char *runs, FILE *to);

#endif
