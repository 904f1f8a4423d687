/*
 * Inside the privacy boundary. Only src/curator and its tests include this.
 *
 * What a reviewer of the guarantee reads: curator.c (bounds and what counts as zero), release.c, rows.c, curvature.c, norms.c, statistics.c, accept.c, minibatch.c, trapezoid.c
 * and tuna.c (charge,
 * sum, noise or decision: the only functions that hand anything out), lattice_isa.c (clipping and rounding to integers), sum.c
 * (integer sums over blocks), unit.c (several records a unit), kept.c (what is not evaluated again), gather.c (records drawn at random), ranks.c
 * (sums over processes), scratch.c (records in a file).
 */
#ifndef TACIT_CURATOR_INTERNAL_H
#define TACIT_CURATOR_INTERNAL_H

#include "base/base_internal.h"
#include "tacit/account.h"
#include "tacit/curator.h"
#include "tacit/data.h"
#include "tacit/model.h"
#include "tacit/random.h"

__extension__ typedef __int128 tacit_wide_t;

enum {
  TACIT_LATTICE_BITS = 20,     /* m: a clipped gradient has integer norm at most 2^m */
  TACIT_RATIO_GRID_BITS = 32,  /* log-likelihoods are multiples of 2^-32 */
  TACIT_EXPOSED_GRID_BITS = 24 /* unclipped exposed gradients are multiples of 2^-24 */
};

/*
 * A lane holds an int32 per coordinate and gains at most 2^m a block; a part of this many blocks cannot
 * overflow it: 2^10 * 2^20 < 2^31. The other accumulators are int64 with |value| <= 2^51 a record.
 */
enum { TACIT_PART_BLOCKS = 1024 };

/*
 * Gradients of this many blocks are evaluated before they are summed: a core that waits for one block's exponentials has the
 * products of another to make.
 */
enum { TACIT_ROW_BLOCKS = 2 };

/* Log-likelihoods are evaluated for this many blocks at a time. */
enum { TACIT_RUN_BLOCKS = 8 };

enum { TACIT_ROW_BITS = 22 }; /* sums of weighted rows: two records' integers differ by at most 2^22 (rows.c) */

/* How a gradient becomes integers. */
typedef struct tacit_lattice {
  float scale_in;  /* T / b: contributions in units of the bound */
  float scale_out; /* 2^m (1 - slack) */
} tacit_lattice_t;

/* Per-thread buffers and totals; totals are summed over threads at the end of a pass. */
typedef struct tacit_workspace {
  float *rows;       /* residuals or gradients: (TACIT_ROW_BLOCKS, n_theta, dim, 16) */
  int32_t *lanes;    /* (n_theta, dim, 16) */
  int64_t *lanes64;  /* (n_theta, dim, 16): exposed gradients; first n_theta * 16: ratios */
  double *log_lik;   /* (TACIT_RUN_BLOCKS, 2 n_theta, 16) */
  double *grid;      /* (2 n_theta, TACIT_RUN_BLOCKS, 16): log-likelihoods on the grid of ratios, where they are not kept */
  double *unit_sum;  /* (16 + n_theta, tacit_unit_n_sums()): units' gradients; of passes over ratios: (n_theta, 17) */
  double *unit_weights; /* (dim, 16) */
  float *unit_x;     /* (16, n_features or dim, padded) */
  tacit_wide_t *totals; /* (n_theta, dim) */
  tacit_curator_notes_t notes;
} tacit_workspace_t;

/*
 * What a pass over pairs evaluates, and the log-likelihoods on the grid of ratios that are kept between passes (kept.c): a chain
 * asks for the ratio between its current point, which was an end of its last pair, and a new one.
 */
enum { TACIT_KEPT_BYTES = 1 << 23 };

typedef struct tacit_kept {
  size_t limit;    /* most bytes of values, TACIT_KEPT_BYTES; beyond, none are kept */
  size_t n_points; /* 2 for each pair there is room for; 0: none are kept */
  double *values;  /* (n_points, n_blocks, 16) */
  double *theta;   /* (n_points, dim): where the values are from */
  uint64_t *used;  /* (n_points): the last pass that used them; 0: there are none */
  uint64_t pass;

  /* The pass at hand. */
  size_t n_fresh;     /* points to evaluate */
  double *fresh;      /* (2 capacity, dim) */
  size_t *fresh_at;   /* (2 capacity): where they are kept */
  size_t *before, *after; /* (capacity): where each pair's ends are kept */
} tacit_kept_t;

struct tacit_curator {
  tacit_records_t *records;
  const tacit_record_model_t *model;
  tacit_budget_t *budget; /* NULL if exposed */
  tacit_noise_t *noise;   /* exposed: for subsets alone, may be NULL */
  tacit_curator_settings_t settings;
  bool is_exposed;
  size_t n_units; /* here; n_units_all, n_records: on all ranks */
  size_t n_units_all, n_records, first_record;
  bool has_aligned_ranks; /* minibatches can be drawn */
  bool has_parted;        /* the ranks no longer ask the same */
  const size_t *unit_offsets; /* NULL: every record is its own unit */

  /*
   * Per record: an upper bound of its feature norm (linear models) or 1; NaN for records that count as zero
   * and for the lanes past the last record. Computed here, so that no sensitivity rests on the packer.
   */
  float *lane_norm;
  tacit_mapping_t lane_mapping; /* of lane_norm, where the records are in a file too */

  tacit_pool_t *pool;
  tacit_workspace_t *workspaces; /* (n_threads) */
  size_t capacity;               /* n_theta the buffers were made for */
  float *theta_float;            /* (capacity, dim) */
  double *pairs;                 /* (2 capacity, dim): theta and theta_prop of each pair, adjacent */
  double *clips;                 /* (capacity): clip bound of each ratio in grid units, a whole number */
  int64_t *draws;                /* (capacity, dim) noise */
  tacit_wide_t *sums;            /* (capacity, dim) */
  int64_t *message;              /* (tacit_curator_message_size(capacity dim)) */
  struct tacit_minibatch *minibatch; /* NULL until one is drawn */
  tacit_kept_t kept;
  tacit_curator_notes_t notes;
};

/* Public bounds of one record's share of a Langevin decision. */
typedef struct tacit_trapezoid {
  double spacing;      /* of the lattice of gradients */
  double change_units; /* clip of k' - k in the norm; whole, at most 2^31 */
  double error_units;  /* clip of the error; whole, at most 2^51 */
} tacit_trapezoid_t;

/* Sums over a unit's records are padded to a multiple of this many numbers, and squared in as many partial sums. */
enum { TACIT_UNIT_ALIGNMENT = 8 };

/* The units of a block: those of u begin at lane begins[u] and end before begins[u + 1]. */
typedef struct tacit_unit_block {
  size_t n_linear, n_extra; /* predictors, and parameters that no feature multiplies */
  size_t width;             /* features, padded */
  size_t n_sums;            /* n_linear width + n_extra, padded */
  const float *x;           /* (16, width): features of a record after another; 0 where it does not count */
  unsigned valid;           /* a bit for each record that counts */
  size_t n_units;
  size_t begins[17];
  bool is_continued, continues; /* the first began in an earlier block, the last goes on in the next */
} tacit_unit_block_t;

/* Vector kernels, one table for each instruction set; see lattice_isa.c. */
typedef struct tacit_lattice_functions {
  void (*linear)(const tacit_record_model_t *model, const float *block, const float *lane_norm,
                 const tacit_lattice_t *lattice, size_t n_theta, const float *residual, int32_t *lanes,
                 tacit_curator_notes_t *notes);
  void (*dense)(const tacit_record_model_t *model, const float *lane_norm, const tacit_lattice_t *lattice,
                size_t n_theta, const float *grad, int32_t *lanes, tacit_curator_notes_t *notes);
  void (*exposed)(const tacit_record_model_t *model, const float *block, const float *lane_norm,
                  double temperature_power, size_t n_theta, const float *rows, int64_t *lanes);
  /* A bit for each of 16 records that counts. */
  unsigned (*valid)(const float *lane_norm);
  /* rows, shape (n_rows, 16), become out, shape (16, width): 0 for records that are not valid; n_rows rounded up to fours are written. */
  void (*turn)(size_t n_rows, const float *rows, unsigned valid, size_t width, float *out);
  /*
   * Sum a block's records over their units in double, in their order, and add the clipped integers of those that end to totals,
   * shape (n_sums). pending, of the same shape, is the sum of a unit that began in an earlier block, and of one that goes on. Room for
   * the work: weights (n_linear + n_extra, 16), sums (16, n_sums).
   */
  void (*units)(const tacit_unit_block_t *at, const tacit_lattice_t *lattice, const float *residual, double *weights,
                double *sums, double *pending, int64_t *totals, tacit_curator_notes_t *notes);
  /*
   * T l of one point on the grid of ratios, a whole number of units, for n_blocks blocks; NaN for records that do not count or have
   * no finite l. Block b is at log_lik + b stride and goes to out + 16 b.
   */
  void (*grid)(const float *lane_norm, double temperature_power, size_t n_blocks, const double *log_lik, size_t stride,
               double *out);
  /* lanes, shape (16), gain the clipped differences of two points' values on the grid, of shape (n_blocks, 16); NaN counts as 0. */
  void (*ratio)(const float *lane_norm, size_t n_blocks, const double *before, const double *after, double clip,
                int64_t *lanes, tacit_curator_notes_t *notes);
  /* One record's ratio in grid units before clipping, for 16 records and one pair; 0 where not finite. */
  void (*ratio_unclipped)(const float *lane_norm, double temperature_power, const double *log_lik,
                          double *out);
  /*
   * Langevin decisions (trapezoid.c): lanes (2, dim, 16) holds the integers k and k' of 16 records at both ends of a step, shape
   * (dim), ratios their log ratios in grid units. totals (2 dim + 1, 16) gains k' - k, clipped; k + k'; the trapezoidal error.
   */
  void (*trapezoid)(size_t dim, const tacit_trapezoid_t *bounds, const double *step, const int32_t *lanes,
                    const double *ratios, int64_t *totals);
  /* log((most + x) / (most - x)) in units of 2^-32, odd in x to the last bit; |x| < most. n is a multiple of 16. */
  void (*log_odds)(size_t n, double most, const double *x, int64_t *out);
} tacit_lattice_functions_t;

const tacit_lattice_functions_t *tacit_lattice_functions(void);

/* Scales of the lattice for a bound b and a model; the slack is proved in docs/theory.md, "Clipping". */
tacit_lattice_t tacit_lattice_for(const tacit_record_model_t *model, double temperature_power, double bound);

/* Make buffers for n_theta parameter vectors. */
TACIT_MUST_USE tacit_status_t tacit_curator_reserve(tacit_curator_t *curator, size_t n_theta,
                                                    tacit_error_t *err);

/* ->lane_norm of all records, on all threads. */
void tacit_curator_measure_records(tacit_curator_t *curator);

/* ---- release.c: the steps of every release ---- */

TACIT_MUST_USE tacit_status_t tacit_curator_check_noise(const tacit_curator_t *curator, double noise_multiplier,
                                                        tacit_error_t *err);
/* Charge `count` Gaussian events; free if exposed. */
TACIT_MUST_USE tacit_status_t tacit_curator_charge(tacit_curator_t *curator, double noise_multiplier, size_t count,
                                                   const char *label, tacit_error_t *err);
/*
 * draws <- n exact rounded Gaussian integers; zeros if exposed. sd is rounded up, so that the noise is never less
 * than what was charged.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_draw_noise(tacit_curator_t *curator, double sd, size_t n, int64_t *draws,
                                                       tacit_error_t *err);

/* ---- ranks.c ---- */

/* Learn from the other ranks where these records belong. */
TACIT_MUST_USE tacit_status_t tacit_curator_join_ranks(tacit_curator_t *curator, tacit_error_t *err);
size_t tacit_curator_message_size(size_t n_sums);
/* ->sums[0 .. n_sums - 1] and the notes of a pass <- their sums over the ranks. */
void tacit_curator_sum_ranks(tacit_curator_t *curator, size_t n_sums, tacit_curator_notes_t *notes);
/* The same for n numbers whose sums fit. */
void tacit_curator_sum_numbers(tacit_curator_t *curator, size_t n, int64_t *numbers);

/* ---- scratch.c: records in a file rather than in memory ---- */

TACIT_MUST_USE tacit_status_t tacit_curator_new_lane_norm(tacit_curator_t *curator, size_t n_lanes, tacit_error_t *err);
void tacit_curator_free_lane_norm(tacit_curator_t *curator);
/* Blocks [from, to) are looked at next; are done with, and may leave memory. */
void tacit_curator_need(const tacit_curator_t *curator, size_t from, size_t to);
void tacit_curator_drop(const tacit_curator_t *curator, size_t from, size_t to);
/* What is done with the blocks or units [first, last). */
typedef void (*tacit_range_task)(void *pass, size_t first, size_t last, size_t thread);
/*
 * Run the task over all blocks, or units, on all threads, in ranges that begin with a multiple of 16 and hold at most TACIT_PART_BLOCKS blocks
 * (of units, 16 times as many); records in a file are read ahead and given back.
 */
void tacit_curator_run_ranges(tacit_curator_t *curator, bool is_by_units, tacit_range_task task, void *pass);

/* ---- kept.c ---- */

/* Room for the plan of passes over n_theta pairs. */
bool tacit_kept_init(tacit_kept_t *kept, size_t n_theta, size_t dim);
void tacit_kept_clear(tacit_kept_t *kept);
/* Make room to keep the values of n_pairs pairs, if they fit the limit. */
TACIT_MUST_USE tacit_status_t tacit_kept_reserve(tacit_curator_t *curator, size_t n_pairs, tacit_error_t *err);
/* Find out what a pass over the first n_pairs of curator->pairs must evaluate. */
void tacit_kept_plan(tacit_curator_t *curator, size_t n_pairs);

/* ---- sum.c ---- */

/*
 * Exact integer sums over the records, into curator->sums. `bound` is finite for clipped sums on the lattice
 * bound 2^-m; INFINITY (exposed only) for unclipped ones on 2^-24.
 */
void tacit_curator_sum_gradients(tacit_curator_t *curator, size_t n_theta, double bound);
/* Sums of clipped integer ratios of the pairs in curator->pairs, clipped at curator->clips. */
void tacit_curator_sum_ratios(tacit_curator_t *curator, size_t n_pairs);

/* Clear the totals of all threads, run the task over all blocks, or over all units, add the totals into ->sums. */
void tacit_curator_sum_blocks(tacit_curator_t *curator, size_t n_sums, tacit_range_task task, void *pass);
void tacit_curator_sum_units(tacit_curator_t *curator, size_t n_sums, tacit_range_task task, void *pass);
/* Add n rows of 16 lanes, of lanes64 if is_wide, else of lanes, to the totals. */
void tacit_workspace_flush(tacit_workspace_t *workspace, size_t n, bool is_wide);

/* The same for units of several records. */
typedef struct tacit_unit_pass {
  tacit_curator_t *curator;
  size_t n_theta;
  tacit_lattice_t lattice;
} tacit_unit_pass_t;
/* Numbers in the sum of a unit's records, padding included. */
size_t tacit_unit_n_sums(const tacit_record_model_t *model);
void tacit_unit_gradients_part(void *pass, size_t first, size_t last, size_t thread);
void tacit_unit_ratios_part(void *pass, size_t first, size_t last, size_t thread);

TACIT_MUST_USE tacit_status_t tacit_curator_check_points(const tacit_curator_t *curator, size_t n_theta,
                                                         const double *theta, tacit_error_t *err);
/* An integer of the lattice as a double; rounding to double is post-processing. */
double tacit_released_value(tacit_wide_t sum, int64_t noise, double spacing);
/* Clip of a ratio bound in whole units of 2^-32, two more than the bound, from 2^10 to 2^51. */
double tacit_ratio_clip(double bound);

/*
 * Decisions on log acceptance ratios in units of 2^-32: charge `count` of them; the public part of a ratio; and one decision.
 * `clip` is the bound of what one unit adds, in the same units.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_charge_accept(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                                          size_t count, tacit_error_t *err);
tacit_wide_t tacit_public_log_ratio(double correction);
TACIT_MUST_USE tacit_status_t tacit_curator_decide(tacit_curator_t *curator, const tacit_accept_rule_t *rule, double clip,
                                                   tacit_wide_t log_ratio, bool *accepted, tacit_error_t *err);

/*
 * Langevin pair k: is it near enough for its bounds to hold, by public facts; and its log acceptance ratio in units of 2^-32,
 * secret. work has shape (3, dim); room for three points must be reserved.
 */
bool tacit_langevin_is_near(const tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                            const tacit_langevin_pairs_t *langevin, size_t k, double *work);
tacit_wide_t tacit_langevin_log_ratio(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                      const tacit_langevin_pairs_t *langevin, size_t k, double *work);

/* statistics.c: the integers one record adds to the totals, and how far two records' can be apart: L2, or L1 under Laplace noise. */
void tacit_statistic_add(const tacit_statistic_t *statistic, const double *x, tacit_wide_t *totals);
double tacit_statistic_sensitivity(const tacit_statistic_t *statistic);

/* curvature.c, norms.c: the integers that units first .. last - 1 add to totals, of length dim and TACIT_NORM_CELLS. */
void tacit_curvature_add(const tacit_curator_t *curator, const double *theta, const double *bound, size_t first, size_t last,
                         tacit_wide_t *totals);
void tacit_norms_add(const tacit_curator_t *curator, tacit_workspace_t *workspace, size_t first, size_t last,
                     tacit_wide_t *totals);
enum { TACIT_TUNING_BITS = 20 }; /* a count, and the bound of a curvature, are 2^20 of the integers summed */

/* Fill rows with residuals (linear models) or gradients of block b. */
void tacit_curator_eval_block(const tacit_curator_t *curator, size_t b, size_t n_theta, float *rows);

#endif
