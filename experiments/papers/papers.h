/*
 * The frame of the reproductions: a study recomputes one figure or table of a paper with the library's own
 * methods, and writes NAME.csv, NAME.svg and NAME.md: numbers, picture, and what differs from the paper and
 * why. What must hold is asserted.
 */
#ifndef PAPERS_H
#define PAPERS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "curator/curator.h"
#include "formula/model.h"
#include "tacit/account.h"
#include "tacit/data.h"
#include "tacit/random.h"
#include "tacit/sample.h"

typedef struct run run_t;

typedef struct study {
  const char *name;   /* --only NAME */
  char part;          /* --only a, b, c or d */
  const char *source; /* key of docs/references.md, and place */
  const char *title;
  void (*run)(run_t *run);
} study_t;

extern const study_t study_hmc_budget, study_hmc_marginals, study_hmc_clipping;
extern const study_t study_sghmc_accounting, study_sghmc_radon, study_sghmc_phase;
extern const study_t study_fast_mixture, study_fast_logistic;
extern const study_t study_privatized_grid;

struct run {
  bool quick;
  const char *out; /* folder */
  const study_t *study;
  char *text; /* Markdown so far; grown by say() */
  size_t text_length;
  size_t n_checks, n_failed;
};

/* ---- what a study writes (output.c) ---- */

/* Open STUDY[-suffix].extension in the folder. */
FILE *open_output(const run_t *run, const char *suffix, const char *extension);
void close_output(FILE *file);

/* Add to the Markdown. */
__attribute__((format(printf, 2, 3))) void say(run_t *run, const char *format, ...);

/* A table: a CSV file, and a Markdown table of the rows that are to be read. */
typedef struct table {
  run_t *run;
  FILE *csv;
  size_t n_columns;
} table_t;
/* columns: names separated by commas; units in the names. */
table_t table_open(run_t *run, const char *suffix, const char *columns);
/* One row, fields separated by commas; is_shown: in the Markdown too. */
__attribute__((format(printf, 3, 4))) void table_row(table_t *table, bool is_shown, const char *format, ...);
void table_close(table_t *table);

/* Assert; the sentence goes to the Markdown, and what failed to standard error. */
__attribute__((format(printf, 3, 4))) void check(run_t *run, bool holds, const char *format, ...);

void study_begin(run_t *run, const study_t *study);
void study_end(run_t *run);

/* ---- pictures (chart.c) ---- */

/* dots: a line with dots; cloud: points only */
typedef enum mark { MARK_LINE = 0, MARK_DASHED, MARK_DOTS, MARK_CLOUD } mark_t;

enum { most_series = 10, most_panels = 15 };

typedef struct series {
  const char *label; /* NULL: not in the legend */
  int colour;        /* equal labels have equal colours */
  mark_t mark;
  const double *x, *y;      /* shape (n); points that are not finite break a line */
  const double *low, *high; /* error bars, or NULL */
  size_t n;
} series_t;

typedef struct panel {
  const char *title, *x_label, *y_label;
  bool log_x, log_y;
  const double *range; /* x from, x to, y from, y to; NULL: that of the series */
  series_t series[most_series];
  size_t n_series;
} panel_t;

typedef struct chart {
  const char *title;
  size_t n_columns;
  panel_t panels[most_panels];
  size_t n_panels;
} chart_t;

/* Add a curve to a panel and return it. */
series_t *panel_add(panel_t *panel, const char *label, int colour, mark_t mark, const double *x,
                    const double *y, size_t n);
/* Write STUDY[-suffix].svg and refer to it in the Markdown. */
void chart_write(run_t *run, const char *suffix, const chart_t *chart);

/* ---- runs (engine.c) ---- */

/* Stop with a message if a call failed: the program has no other use for an error. */
void must(tacit_status_t status, const tacit_error_t *err);
void *allocate(size_t n, size_t size);
double seconds(void);
tacit_rng_t *study_rng(const run_t *run, uint64_t stream);

/* A data set of a study: records are packed anew for each curator. */
typedef struct target {
  const char *name;
  const tacit_model_t *model;
  size_t n, n_columns;
  const float *x; /* shape (n, n_columns) */
} target_t;

/* A run of a method, with the library's own curator, budget and schedule. */
typedef struct trial {
  const char *method;
  tacit_sampler_settings_t settings;
  tacit_curator_settings_t limits;
  double delta;
  tacit_relation_t relation;
  uint64_t seed; /* of the noise and of the sampler's moves: repeatable, and therefore not private */
} trial_t;

/* Its draws, and what was clipped: here the records are simulated or public. */
typedef struct outcome {
  tacit_draws_t draws;
  tacit_curator_notes_t notes;
  double accept_rate, seconds; /* of all iterations and chains; of sampling alone */
} outcome_t;

/* No warm-up: studies choose what to discard. */
trial_t trial_default(const char *method, uint64_t seed);
/* Certified epsilon at trial.delta of n_iterations of every chain, all together; 0 of an exposed method. */
double trial_epsilon(const target_t *target, const trial_t *trial, size_t n_iterations);
/*
 * Most iterations of every chain, at most `most`, with trial_epsilon() <= epsilon: exact for Gaussian
 * releases, else up to 1 % fewer.
 */
size_t trial_affordable(const target_t *target, const trial_t *trial, double epsilon, size_t most);
/* Complete the settings by tacit_plan() for a budget of epsilon; inv_metric: shape (dim), to be kept until
 * after the run. */
void trial_plan(const target_t *target, trial_t *trial, double epsilon, double *inv_metric);
/* Run settings.n_draws iterations, whatever they cost. */
void trial_run(const target_t *target, const trial_t *trial, outcome_t *outcome);
void outcome_clear(outcome_t *outcome);

/* ---- data sets of a formula (design.c) ---- */

/* Scaled features and response of all rows, unpacked, and the model; parameters are reported as the sampler
 * has them.
 * */
typedef struct regression {
  tacit_model_t model;
  target_t train;
  float *x, *x_test;                    /* rows of n_features + 1, the response last */
  size_t n_features, n_test, n_classes; /* classes: of a categorical response, else 0 */
  bool is_real;                         /* false: simulated, because the file is not there */
} regression_t;

/*
 * Read TACIT_SHARED/data/train (rows for which the column `split` is 1 are the test set; or, if split is
 * NULL, the file `test` is), or simulate n records (a fifth of them for tests) from the model with
 * coefficients of size 1.
 */
typedef struct regression_source {
  const char *formula, *schema, *train, *test, *split;
  tacit_family_t family;
  double prior_sd; /* of all coefficients, features scaled to [-1, 1]; 0: the default priors */
  size_t n;
} regression_source_t;
void regression_open(const run_t *run, const regression_source_t *source, regression_t *regression);
void regression_clear(regression_t *regression);

/* Share of test rows whose most probable class is right, and mean log probability of the right one, averaged
 * over n draws. */
typedef struct prediction {
  double accuracy, log_score;
} prediction_t;
prediction_t predict(const regression_t *regression, const tacit_draws_t *draws, size_t first, size_t n);

/* Median of n numbers, which are sorted. */
double sorted_median(double *x, size_t n);

#endif
