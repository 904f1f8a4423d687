/* The parts of `tacit infer`: what its two files say, and the run. */
#ifndef TACIT_CLI_INFER_H
#define TACIT_CLI_INFER_H

#include "cli/cli.h"
#include "tacit/augment.h"

/* What model.yaml and the statistic's file say, and the names of what is reported. Clear with cli_infer_clear(). */
typedef struct cli_infer {
  tacit_latent_model_t model;
  tacit_release_t release;
  const char *records;   /* "gaussian", "poisson", "categorical", "regression", "logistic" */
  char statistic[160];   /* in words, for reports */
  char noise[96];
  double epsilon, delta; /* what the release costs under substitution; NaN if not known */
  bool is_not_private;   /* the statistic's file says that its noise can be repeated */
  double true_delta;     /* classical calibration: the delta it really has at the stated epsilon; else NaN */
  double *values, *scales, *concentration;
  double *column_lower, *column_upper; /* regression: bounds of the columns, the response last, that were mapped to [-1, 1] */
  size_t *n_levels;
  char **labels, **names; /* shape (n_reported) */
  size_t n_reported;
} cli_infer_t;

/* Read both files; n is 0 if --n was not given, and then the statistic's file must have it. Clear also after failure. */
tacit_status_t cli_infer_read(cli_infer_t *infer, const char *model_path, const char *statistic_path, size_t n,
                              tacit_error_t *err);
/* Draws of a linear or logistic regression on the scale of its columns instead of the mapped one; others are left as they are. */
void cli_infer_unmap(const cli_infer_t *infer, tacit_draws_t *draws);
void cli_infer_clear(cli_infer_t *infer);

#endif
