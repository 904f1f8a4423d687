/* Inference from centred scores: program.c. */
#ifndef TACIT_NOISE_AWARE_PROGRAM_H
#define TACIT_NOISE_AWARE_PROGRAM_H

#include <stdio.h>

#include "noise_aware/noise_aware_internal.h"
#include "noise_aware/schedule.h"
#include "tacit/curator.h"

enum { TACIT_PROGRAM_ROUNDS = 7, MATRIX = TACIT_NOISE_AWARE_MAX_NARROW * TACIT_NOISE_AWARE_MAX_NARROW };

/* Made-up records, their weights, and expectations at a point. */
typedef struct tacit_public {
  const tacit_record_model_t *model;
  size_t d, n;
  float *records;                             /* (n, n_columns) */
  double *weights;                            /* (n) */
  double *squares, *with_score, *information; /* (n, d, d): tacit_centred_expect() */
  double *work, *moments;
} tacit_public_t;

/* What a round found: theta = at + inverse score, whose noise and sampling error have these covariances. */
typedef struct tacit_root {
  double at[TACIT_NOISE_AWARE_MAX_NARROW], theta[TACIT_NOISE_AWARE_MAX_NARROW], score[TACIT_NOISE_AWARE_MAX_NARROW];
  double slope[MATRIX], inverse[MATRIX], squares[MATRIX]; /* H, H^-1, M */
  double noise[MATRIX], sampling[MATRIX], noise_var;
} tacit_root_t;

/* theta has a normal law, by the likelihood of the releases. */
typedef struct tacit_program_normal {
  size_t d;
  double theta[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX], precision[MATRIX];
} tacit_program_normal_t;

typedef struct tacit_program_run {
  tacit_curator_t *curator;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  tacit_public_t public;
  double n, theta[TACIT_NOISE_AWARE_MAX_NARROW], whiten[MATRIX];
  double least;  /* eigenvalue of the last squares, in units of what noise does to one */
  double moved2; /* squared last step, in what it may be */
  tacit_program_normal_t normal;
} tacit_program_run_t;

#endif
