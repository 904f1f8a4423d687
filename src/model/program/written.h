/* A formula as a program, with what its coefficients are called. Not installed. */
#ifndef TACIT_PROGRAM_WRITTEN_H
#define TACIT_PROGRAM_WRITTEN_H

#include "formula/model.h"
#include "formula/names.h"
#include "program/program.h"
#include "tacit/data.h"

typedef struct tacit_written {
  char *text;          /* owned */
  tacit_names_t names; /* of coefficients on the scale of the columns: labels as of all formulas, names as the
                          program has them */
  size_t n_features;   /* of the only predictor, its intercept first, which names begin with and unconstrained
                          parameters, too; 0: there are several predictors, or none has an intercept */
  bool has_cuts;       /* cut points are in the place of the intercept, after the features */
} tacit_written_t;

/* Priors of coefficients that take the place of the written ones: of the coefficients as reported, or of the
 * features in [-1, 1]. */
typedef struct tacit_written_priors {
  const tacit_prior_entry_t *entries; /* shape (n) */
  size_t n;
  bool are_scaled;
  bool is_level_flat; /* cut points have a prior but for where the first is */
} tacit_written_priors_t;

/* As tacit_program_of_formula(), with priors (NULL: none); clear in either case. */
TACIT_MUST_USE tacit_status_t tacit_written_new(tacit_written_t *written, const char *formula,
                                                const char *family, const tacit_schema_t *schema,
                                                const tacit_written_priors_t *priors, tacit_error_t *err);
void tacit_written_clear(tacit_written_t *written);

#endif
