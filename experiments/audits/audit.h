/*
 * The frame of the privacy audit: a case is one private method in one setting on two neighbouring data sets
 * that are as far apart as its bounds allow. An adversary who knows both data sets, the settings and the
 * sampler's own randomness sees every release; how well he tells the two apart bounds epsilon from below.
 */
#ifndef AUDIT_H
#define AUDIT_H

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

/* delta at which epsilon is charged and bounded: a tail that so many runs can see. */
static const double audit_delta = 0.01;

enum { AUDIT_MAX_DIM = 16, AUDIT_MAX_SUMS = 1024, AUDIT_MAX_FAULTS = 5 };

/* Errors that the audit must find; each is made inside the method's own code (faults.c). */
typedef enum fault {
  FAULT_NONE = 0,
  FAULT_HALF_NOISE,       /* of every release; of Barker's bit: log odds doubled */
  FAULT_HALF_SENSITIVITY, /* the factor 2 of substitution forgotten, in noise and in charges */
  FAULT_NO_CLIP,          /* contributions are clipped at eight times the bound */
  FAULT_UNIFORM_NOISE,    /* sd rand() for sd randn() [Zhang2023, code] */
  FAULT_FREE_BIT,         /* min(1, r) without noise, "privacy for free" [Zhang2023] */
  FAULT_DOUBLE_RATE,      /* records are drawn twice as often as charged for */
  FAULT_FREE_START,       /* the released gradients of the start are not charged */
  FAULT_FREE_GRADIENTS,   /* nor are those of the chain */
  FAULT_FREE_TUNING,      /* nor is what the sampler is tuned by */
  FAULT_ROOT_2, /* sqrt(2) missing in the noise, as where two outer products are taken to be as far apart as
                   one is long */
  FAULT_HALF_SIGMA, /* of the probit rule: the factor 2 forgotten in what it draws, not in its charge */
  FAULT_ROWS_APART, /* records of a unit are clipped one by one */
  FAULT_LONG_ROWS,  /* norms of whitened rows come out half as large, so that they are weighted too late */
  FAULT_HALF_RHO,   /* half of what is charged under Gaussian noise, in rho */
  N_FAULTS
} fault_t;

extern const char *const fault_names[N_FAULTS];

/*
 * Likelihoods as steep as clipping lets them be, alone or with a curvature; those of a logistic regression;
 * the library's own poisson regression; none; or scores as long as they can be beside what is expected of
 * them.
 */
typedef enum audit_model {
  AUDIT_STEEP,
  AUDIT_TUNED,
  AUDIT_LOGISTIC,
  AUDIT_POISSON,
  AUDIT_COLUMNS,
  AUDIT_CENTRED
} audit_model_t;

/* One data set of n records: rows[0] n_first times, then rows[1], of which there may be a number too, then
 * rows[2]. */
typedef struct side {
  size_t n, n_first;
  double rows[3][AUDIT_MAX_DIM + 1];
} side_t;

/* Releases of sums over rows, made once with a fixed weighting. */
typedef enum row_release {
  ROWS_NONE = 0,
  ROWS_SECOND_MOMENTS,
  ROWS_SCORE,
  ROWS_INFORMATION,
  ROWS_SQUARES,
  ROWS_COUNT,
  ROWS_UNIT_ROWS,
  ROWS_JOINT,
  ROWS_CELLS,
  ROWS_CHECK,
  ROWS_CENTRED,
  ROWS_SLOPE,
  ROWS_PROGRAM_SCORES,
  ROWS_PROGRAM_SLOPES,
  ROWS_PROGRAM_LENGTHS,
  ROWS_CONTRASTS,
  ROWS_SHAPES,
  ROWS_BANDS,
  ROWS_BANDS_OF_ROWS,
  ROWS_BAND_LENGTHS
} row_release_t;

typedef struct audit_case {
  const char *name, *method, *setting;
  audit_model_t model;
  tacit_relation_t relation;
  size_t dim, unit_rows; /* unit_rows: of the only unit; 0 or 1: records are units */
  side_t sides[2];
  size_t n_second; /* of rows[1] of either; 0: as many as are left */
  void (*configure)(tacit_sampler_settings_t *settings);
  size_t n_bits; /* decisions in a run that releases nothing else: then epsilon is also computed exactly; 0:
                    no */
  double share, share_exact;        /* least share of the charge that the audit must reach */
  double share_quick;               /* the same of a quick run; 0: a fixed part of it */
  fault_t faults[AUDIT_MAX_FAULTS]; /* planted, up to the first FAULT_NONE; in a quick run the first alone */
  double quick_effort; /* times as many runs as other cases in a quick run, 0: once; below 1 nothing is
                          planted */
  const tacit_statistic_t *statistic; /* the only release, or NULL */
  row_release_t rows;                 /* likewise */
  double noise_multiplier;            /* of either */
  double rho;                         /* noise-aware */
  tacit_family_t family;              /* likewise */
  double temperature;                 /* of the likelihood; 0: it is not tempered */
} audit_case_t;

extern const audit_case_t audit_cases[];
extern const size_t n_audit_cases;

/* What it makes is freed by audit_model_clear(). */
void audit_record_model(const audit_case_t *of, tacit_record_model_t *model);
void audit_model_clear(void);
tacit_parameters_t audit_parameters(const audit_case_t *of);
tacit_sampler_settings_t audit_settings(const audit_case_t *of);

/* ---- the adversary (adversary.c) ---- */

/* What he does with releases besides looking at them. */
typedef enum tape { TAPE_OFF, TAPE_RECORD, TAPE_REPLAY } tape_t;

typedef struct adversary {
  tacit_record_model_t model;  /* of the case: what all its curators borrow */
  tacit_curator_t *exposed[2]; /* his own copies of the two data sets: sums without noise */
  tacit_curator_t *replica[2]; /* the same behind a private curator, for what exposed ones refuse */
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  bool is_paid;    /* releases are charged to the budget, as for a user; else not */
  double evidence; /* log likelihood ratio of the releases of a run, first data set over second */
  size_t n_releases,
      stop_after; /* stop_after: the run ends with an error after that many releases; 0: never */
  /* Exact probabilities: decisions are those of a path, and evidence is not gathered. */
  bool is_on_path;
  uint64_t path;
  size_t n_decided;
  double log_probability[2];
  tape_t tape;
  size_t tape_at, tape_size;
  unsigned char tape_data[1 << 17];
} adversary_t;

extern adversary_t adversary;

void adversary_open(const audit_case_t *of);
void adversary_close(void);
void adversary_begin_run(void);

/* A curator of one data set; budget NULL: exposed. */
tacit_curator_t *audit_curator(const audit_case_t *of, size_t side, tacit_budget_t *budget,
                               tacit_noise_t *noise);

/* ---- planted errors (faults.c) ---- */

/* The error at work; none while the adversary computes. */
extern fault_t fault_at_work;

/* ---- bounds (bound.c) ---- */

/* Clopper-Pearson: with probability 1 - alpha the probability is at least, or at most, this. */
double binomial_lower(double successes, double n, double alpha);
double binomial_upper(double successes, double n, double alpha);

/*
 * Lower bound, with confidence 1 - alpha, of any epsilon for which the mechanism is (epsilon, delta)-private,
 * from evidence of n runs on either data set: a threshold chosen on the first quarter of them, judged on the
 * others. The arrays are reordered.
 */
double epsilon_lower_bound(double *evidence[2], size_t n, double delta, double alpha);

/* Least epsilon for which two discrete distributions, shape (n), are (epsilon, delta)-close, both ways. */
double epsilon_of_distributions(const double *p, const double *q, size_t n, double delta);

/* ---- runs (engine.c) ---- */

/* Of all noise, and of the samplers' own randomness; 0 unless asked for. */
extern uint64_t audit_seed;

/* What a user is charged for one run, at audit_delta. */
double audit_charge(const audit_case_t *of, fault_t fault);
/* Lower bound of epsilon from n_runs runs on each data set. */
double audit_run(const audit_case_t *of, fault_t fault, size_t n_runs, double alpha);
/* Exact epsilon of all paths of decisions, the proposals being public: the largest of a few sets of
 * proposals. */
double audit_exact(const audit_case_t *of);
/* Do the draws of one data set's run come out the same, to the last bit, if the other's releases are played
 * to it? */
bool audit_replay(const audit_case_t *of);

/* Stop with a message if a call failed. */
void must(tacit_status_t status, const tacit_error_t *err);

#endif
