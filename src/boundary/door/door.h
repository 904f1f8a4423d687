/**
 * @file door.h
 * The door: the only code that holds records, charges a budget and draws privacy noise. What is summed over
 * the records is a
 * **contribution**: a function that is shown some records and writes numbers. Nothing that it claims or
 * writes is believed: the door bounds it, makes whole numbers of it, sums these exactly, charges, adds noise
 * (src/boundary/door/README.md: the proof).
 *
 * Contributions come from src/model/curator, from models and from plug-ins. They are functions of the records
 * that they are shown and of public values, keep nothing between calls, and may be called from several
 * threads.
 */
#ifndef TACIT_DOOR_H
#define TACIT_DOOR_H

#include "tacit/base.h"
#include "tacit/random.h"

struct tacit_records;
struct tacit_piece;
struct tacit_budget;
struct tacit_event;
struct tacit_noise;

typedef struct tacit_door tacit_door_t;

/** All ranks but the last hold a multiple of this many records, where minibatches are to be drawn. */
enum { TACIT_RANK_ALIGNMENT = 64 };

/** What was clipped; PRIVATE: print it to the curator's terminal only, never to an artefact. */
typedef struct tacit_door_notes {
  uint64_t n_grad, n_grad_clipped;   /**< contributions seen and clipped over all releases of vectors */
  uint64_t n_ratio, n_ratio_clipped; /**< the same of scalars */
  uint64_t n_non_finite;             /**< contributions counted as zero */
} tacit_door_notes_t;

typedef struct tacit_door_settings {
  const char *name;           /**< of the model, for messages */
  size_t n_columns;           /**< that the records must have */
  size_t n_features;          /**< how many of the first columns linear vectors multiply; 0: none */
  size_t max_unit_rows;       /**< most records of one unit; >= 1 */
  size_t n_threads;           /**< >= 1 */
  const tacit_ranks_t *ranks; /**< NULL: one process holds all records; borrowed */
} tacit_door_settings_t;

/**
 * Open a door. Takes the records, also on failure. budget NULL: an exposed door, which charges and adds
 * nothing, NOT PRIVATE; its noise draws minibatches and may be NULL.
 */
TACIT_MUST_USE tacit_status_t tacit_door_new(tacit_door_t **door, struct tacit_records *records,
                                             struct tacit_budget *budget, struct tacit_noise *noise,
                                             const tacit_door_settings_t *settings, tacit_error_t *err);
void tacit_door_free(tacit_door_t *door);

/* ---- public facts ---- */

bool tacit_door_is_exposed(const tacit_door_t *door);
/** False for an exposed door and for one whose noise is not secret. */
bool tacit_door_is_private(const tacit_door_t *door);
/** 2 under substitution (and of an exposed door), 1 under add-remove: sensitivity of a sum of units that are
 * at most 1 long. */
double tacit_door_factor(const tacit_door_t *door);
/** True where a unit has several records, or may have. */
bool tacit_door_has_units(const tacit_door_t *door);
/** Number of units if it is public (substitute, or exposed), else TACIT_ERR_STATE. */
TACIT_MUST_USE tacit_status_t tacit_door_n_units(const tacit_door_t *door, size_t *n, tacit_error_t *err);
tacit_door_notes_t tacit_door_notes(const tacit_door_t *door);

/* ---- vectors (theorem 1) ---- */

/** Records of up to 16 units, a unit a lane: n of each, and what `rows` made of them; 0 where a unit has no
 * more, and for those that do not count. */
typedef struct tacit_layers {
  size_t n, n_columns;
  const float *x, *rows; /**< (n, n_columns, 16); (n, n_points, n_rows, 16) */
  double scale, most; /**< numbers times `scale` are in units of the clip; whole numbers of 2^-20 of it are at
                         most `most` long */
} tacit_layers_t;

/**
 * Floats that a unit's records add to n_points vectors of dim numbers. `rows` is shown up to n_blocks blocks
 * of 16 records that follow each other in memory (tacit/data.h) and fills rows (n_blocks, n_points, n_rows,
 * 16); vectors are what the pieces make of them. No two pieces share a number of the vector; what no piece
 * touches is 0. A unit's vector is the sum over its records, times `scale`, clipped to length `clip`, in
 * whole numbers of clip 2^-20.
 */
typedef struct tacit_vectors {
  size_t n_points, dim, n_rows, n_pieces, n_blocks; /**< n_blocks from 1 to 16 */
  const struct tacit_piece *pieces;                 /**< (n_pieces), tacit/data.h */
  size_t n_features; /**< as in the settings: the norm of so many first columns is known */
  void (*rows)(const void *ctx, const float *block, size_t n_blocks, size_t n_points, const float *points,
               float *rows);
  const void *ctx;
  const float *points; /**< (n_points, dim), public: handed to `rows` */
  double scale, clip;  /**< clip INFINITY: an exposed door alone, by way of `unclipped` */
  double rate; /**< 1: all records; else each is drawn with this probability, anew for every point: a multiple
                  of 2^-32 */
  /**
   * Units of several records, 16 at a time, each a function of its own lane, however many layers its
   * neighbours have: sums (n_points, dim, 16), zero at first, += what these of their records add; or, k not
   * NULL, k (n_points, dim, 16), zero at first, <- the sums, clipped, in whole numbers. Those too long count
   * as zero. All that is lent is cleared after a group.
   */
  void (*units)(const struct tacit_vectors *of, const tacit_layers_t *layers, double *sums, int32_t *k,
                tacit_door_notes_t *notes);
  /** Exposed doors: lanes (n_points, dim, 16) += what 16 records add, in units of 2^-24; norms NaN: a record
   * that does not count. */
  void (*unclipped)(const struct tacit_vectors *of, const float *block, const float *norms, const float *rows,
                    int64_t *lanes);
  const char *label; /**< of the event */
} tacit_vectors_t;

/**
 * out (n_points, dim) <- sums + N(0, (noise_multiplier f clip)^2), f = tacit_door_factor(); each point is one
 * Gaussian event. Zero on failure.
 * @return TACIT_ERR_BUDGET: refused, nothing computed; TACIT_ERR_SENSITIVITY: no clip; TACIT_ERR_STATE: also
 * for contributions that are no functions of a record (docs/errors.md).
 */
TACIT_MUST_USE tacit_status_t tacit_door_release_vectors(tacit_door_t *door, const tacit_vectors_t *vectors,
                                                         double noise_multiplier, double *out,
                                                         tacit_error_t *err);

/* ---- whole numbers of a unit (theorems 1 and 2) ---- */

/** Where a unit's whole numbers k lie; a unit whose numbers lie elsewhere counts as zero. Sizes are checked
 * in exact arithmetic. */
typedef enum tacit_door_shape_kind {
  TACIT_SHAPE_BALL, /**< |k|_2 <= radius */
  TACIT_SHAPE_BOX,  /**< low <= k_i <= high, low <= 0 <= high */
  TACIT_SHAPE_CELL, /**< `high` numbers (0: one), each 0, or k_i - 1 is a cell, of dim, that gains `radius`;
                       those above 0 rise */
  /**
   * Vectors v_t, sum_t |v_t|_2^2 <= radius^2: summed is the upper triangle of sum_t v_t v_t', by rows. Of
   * `high` > 1 blocks, one triangle after another, v_t adds to one, whose number from 0 is written before it.
   */
  TACIT_SHAPE_SQUARES,
  TACIT_SHAPE_PRODUCTS /**< |k_i| <= radius, and last, if high > 0, |r| <= high: radius k_i; k_i k_j, i <= j;
                          r radius, r k_i */
} tacit_door_shape_kind_t;

typedef struct tacit_door_shape {
  tacit_door_shape_kind_t kind;
  size_t dim;                /**< numbers of k or of one v; cells */
  int64_t radius, low, high; /**< at most 2^26 in size; where numbers are multiplied, 2^22 */
  size_t n_vectors;          /**< of squares: how many v_t a unit has; 0: as many as it has rows */
} tacit_door_shape_t;

/** Numbers summed. */
size_t tacit_door_shape_n_sums(const tacit_door_shape_t *shape);

/** Noise of each sum, independent; distributions as in random/noise.h and augment/augment.h. Squares and
 * products: gaussian only. */
typedef enum tacit_door_noise {
  TACIT_DOOR_GAUSSIAN = 0,
  TACIT_DOOR_LAPLACE = 1,
  TACIT_DOOR_DISCRETE_GAUSSIAN = 2, /**< shape: a box of one number, or a cell of radius 1 */
  TACIT_DOOR_DISCRETE_LAPLACE = 3
} tacit_door_noise_t;

/** Public: the sensitivity of the sums, L2, or L1 under Laplace noise; what a release is charged as. */
double tacit_door_shape_sensitivity(const tacit_door_shape_t *shape, tacit_door_noise_t noise,
                                    bool is_substitute);
struct tacit_event tacit_door_shape_event(const tacit_door_shape_t *shape, tacit_door_noise_t noise,
                                          bool is_substitute, double noise_multiplier, const char *label);

/** Whole numbers that a unit adds. `unit` is shown its records that count, x (n_rows, n_columns), row by row,
 * and none else. */
typedef struct tacit_units {
  tacit_door_shape_t shape;
  /**
   * k (dim), zero on entry, as many as there are for cells; of squares (n_rows, dim) or (n_vectors, dim), 1 +
   * dim where there are blocks. work (n_work) is scratch.
   */
  void (*unit)(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k);
  /**
   * NULL, or what is asked in its place of units of up to TACIT_GROUP_ROWS rows, 16 at a time: x (n_layers,
   * n_columns, 16), of lane l the first n_rows[l] layers, which count; 0 behind them. k (numbers written for
   * n_layers rows, 16), zero on entry. A lane is a function of its own. Balls, and squares without blocks.
   */
  void (*lanes)(const void *ctx, size_t n_layers, const double *n_rows, const float *x, int32_t *k);
  const void *ctx;
  size_t n_work;
  const char *label; /**< of the event */
} tacit_units_t;

enum { TACIT_GROUP_ROWS = 16 };

/**
 * out (tacit_door_shape_n_sums()) <- sums + noise, in whole numbers; *scale <- that of the noise:
 * noise_multiplier times the sensitivity; for squares the noise off the diagonal is sqrt(2) less. Zero on
 * failure. But for Gaussian noise the budget must have been given the event as its schedule.
 */
TACIT_MUST_USE tacit_status_t tacit_door_release_units(tacit_door_t *door, const tacit_units_t *units,
                                                       tacit_door_noise_t noise, double noise_multiplier,
                                                       double *out, double *scale, tacit_error_t *err);

/* ---- scalars (theorems 1 and 3) ---- */

enum { TACIT_DOOR_RUN_BLOCKS = 8 }; /**< blocks that scalars are shown at a time, at most */

/**
 * Differences of numbers that a record adds to n_pairs sums. `values` is shown n_blocks blocks of 16 records
 * and writes n_fresh functions, out[i] (n_blocks, 16); where values are kept (tacit_door_keep()) function i
 * is kept at fresh_at[i]. Pair k is the difference, after less before, of what is kept at after[k] and at
 * before[k] (SIZE_MAX: 0), summed over a unit's records, clipped to
 * +-clips[k] and rounded to a whole number; NaN counts as zero.
 */
typedef struct tacit_scalars {
  size_t n_pairs, n_fresh;
  void (*values)(const void *ctx, const float *block, size_t n_blocks, double *work, double *const *out);
  const void *ctx;
  size_t n_work; /**< numbers of scratch for `values` */
  const size_t *fresh_at, *before, *after;
  const double *clips;  /**< whole numbers from 1 to 2^51 */
  const double *points; /**< public, n_numbers of them: what the functions depend on, so that ranks notice
                           when they part */
  size_t n_numbers;
  bool is_sampled; /**< of records drawn: one pair, and nothing is kept; places are those in `out` */
  double rate;     /**< 1, or where records are drawn each with this probability: a multiple of 2^-32 */
  const char *label;
} tacit_scalars_t;

/** Room for n_points kept functions (0: none), which lose their values when their number changes. *n is how
 * many there are. */
TACIT_MUST_USE tacit_status_t tacit_door_keep(tacit_door_t *door, size_t n_points, size_t limit, size_t *n,
                                              tacit_error_t *err);
/** As vectors are clipped and rounded: lanes (n_points, dim, 16) += whole numbers of clip 2^-20. Public, for
 * contributions. */
void tacit_door_round(const tacit_vectors_t *vectors, size_t n_columns, const float *block,
                      const float *norms, const float *rows, int32_t *lanes);

/** out (n_pairs) <- sums + N(0, noise_sd[k]^2), noise_sd[k] = noise_multiplier f clips[k]; each pair is one
 * Gaussian event. */
TACIT_MUST_USE tacit_status_t tacit_door_release_scalars(tacit_door_t *door, const tacit_scalars_t *scalars,
                                                         double noise_multiplier, double *out,
                                                         double *noise_sd, tacit_error_t *err);

/** TunaMH with public constants: what a decision by minibatch may look at. */
typedef struct tacit_minibatch_rule {
  double max_bound; /**< b: pairs with a larger ratio bound are rejected unseen; at most 64 */
  double intensity; /**< a, in log-ratio units: about b or more keeps the cost of a decision near that of all
                       records */
  double n_public;  /**< public number of records, or a nominal one */
  double max_batch; /**< where n_public (a + b) is not below it, all records are looked at */
  bool is_metropolis; /**< min(1, e^l) instead of Barker's rule; exposed curators only */
} tacit_minibatch_rule_t;

/** The product of two vector sums that a decision adds to its log ratio: `weight` <A, B>, see
 * tacit_door_decide_product(). */
typedef struct tacit_door_product {
  size_t dim;
  double weight;
  const double *scale;  /**< (dim): what sums are multiplied by, coordinate by coordinate */
  const double *add[2]; /**< (dim): public, added to either */
  int64_t radius[2];    /**< a unit's whole numbers are at most so long, in either; else it counts as zero; at
                           most 2^26 */
  double clip[2];       /**< of A and B, in norm */
  int64_t most;         /**< of a unit's own share of the log ratio, in units of 2^-32; at most 2^51 */
  /** lanes (2 dim + 1, 16), zero on entry: whole numbers of 16 records for A's sum, B's, and the log ratio
   * itself. */
  void (*lanes)(const void *ctx, const float *block, const float *norms, void *work, int64_t *lanes);
  const void *ctx;
  size_t n_work;        /**< bytes of scratch */
  const double *points; /**< public, n_numbers of them */
  size_t n_numbers;
} tacit_door_product_t;

/** Clip of a bound on log ratios in whole units of 2^-32, two more than the bound, from 2^10 to 2^51. */
double tacit_ratio_clip(double bound);
/** What one decision is charged as: of a sum that a unit moves by at most factor times its clip; by
 * minibatch; of a product. */
struct tacit_event tacit_accept_event(const tacit_accept_rule_t *rule, double factor);
struct tacit_event tacit_minibatch_event(const tacit_minibatch_rule_t *rule, double factor);
/** Expected number of records that a decision with ratio bound b and intensity a looks at; does one of this
 * clip look at all? */
double tacit_door_minibatch_size(double n, double bound, double intensity);
bool tacit_door_is_full(const tacit_minibatch_rule_t *rule, double clip);
struct tacit_event tacit_product_event(const tacit_accept_rule_t *rule, double factor,
                                       const tacit_door_product_t *of);

/**
 * Decide on pairs with log ratio sum + correction[k] (NULL where n_pairs is 0); each decision is one event.
 * The sums never leave. clips[k] at most that of the rule's max_bound. Needs a private door with a budget for
 * a schedule.
 */
TACIT_MUST_USE tacit_status_t tacit_door_decide(tacit_door_t *door, const tacit_scalars_t *scalars,
                                                const tacit_accept_rule_t *rule, const double *correction,
                                                bool *accepted, tacit_error_t *err);
/**
 * Decide on the one pair by looking at about n (a + b) records drawn at random (scalars is_sampled), or,
 * tacit_door_is_full(), at all; also of an exposed door.
 */
TACIT_MUST_USE tacit_status_t tacit_door_decide_minibatch(tacit_door_t *door, const tacit_scalars_t *scalars,
                                                          const tacit_minibatch_rule_t *rule,
                                                          double correction, bool *accepted,
                                                          tacit_error_t *err);
/** Decide on a log ratio sum + weight <A, B> + correction, A and B sums times scale, plus add, clipped.
 * Barker or penalty. */
TACIT_MUST_USE tacit_status_t tacit_door_decide_product(tacit_door_t *door, const tacit_door_product_t *of,
                                                        const tacit_accept_rule_t *rule, double correction,
                                                        bool *accepted, tacit_error_t *err);
#endif
