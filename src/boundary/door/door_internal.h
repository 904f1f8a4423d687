/* Inside the door: only src/boundary/door, its tests, the benchmarks and the audits include this. README.md
 * is the map. */
#ifndef TACIT_DOOR_INTERNAL_H
#define TACIT_DOOR_INTERNAL_H

#include "base/pool.h"
#include "base/probe.h"
#include "data/records.h"
#include "door/door.h"
#include "tacit/account.h"
#include "tacit/data.h"
#include "tacit/random.h"

__extension__ typedef __int128 tacit_wide_t;

enum {
  TACIT_LATTICE_BITS = 20,      /* m: a clipped vector has integer norm at most 2^m */
  TACIT_EXPOSED_GRID_BITS = 24, /* unclipped exposed vectors are multiples of 2^-24 */
  /* A lane gains at most 2^m a block: a part of so many cannot overflow its int32, 2^10 2^20 < 2^31; int64s
     gain at most 2^51. */
  TACIT_PART_BLOCKS = 1024,
  TACIT_VECTOR_BLOCKS = 16,    /* most blocks that vectors are shown at a time, and units' rows in lanes */
  TACIT_MAX_NUMBERS = 1 << 20, /* columns, points, pairs, numbers of a vector: rounding is proved for so many
                                  (docs/theory.md, 2) */
  TACIT_N_NOTES = sizeof(tacit_door_notes_t) / sizeof(uint64_t)
};

/* How a vector becomes integers. */
typedef struct tacit_lattice {
  float scale_in;  /* T / b: contributions in units of the bound */
  float scale_out; /* 2^m (1 - slack) */
  double radius;   /* 2^m */
} tacit_lattice_t;

/*
 * Buffers of a thread. Each release says how much of each it needs. What is lent to contributions, or gathers
 * what they write, is zero where a range of records begins: nothing is left of an earlier range, pass or
 * release. The door's own are written anew by each release; the sums, draws and scales of all threads are
 * those of the first.
 */
/* clang-format off */
#define TACIT_LENT(X)                                                                                                            \
  X(float, rows) X(float, block) X(int32_t, lanes) X(int64_t, lanes64) X(double, work) X(double, values) X(double *, outs)        \
  X(double, unit_sum) X(int32_t, group_k) X(float, own_x) X(int64_t, unit_k)
/* clang-format on */
#define TACIT_OWN(X) X(tacit_wide_t, totals) X(int64_t, draws) X(double, scales) X(int64_t, message)
#define TACIT_BUFFERS(X) TACIT_LENT(X) TACIT_OWN(X)
#define TACIT_BUFFER_POINTER(type, name) type *name;
#define TACIT_BUFFER_SIZE(type, name) size_t name;

typedef struct tacit_sizes {
  TACIT_BUFFERS(TACIT_BUFFER_SIZE)
} tacit_sizes_t;

typedef struct tacit_workspace {
  TACIT_BUFFERS(TACIT_BUFFER_POINTER)
  tacit_door_notes_t notes;
  float norms[TACIT_VECTOR_BLOCKS * 16]; /* of the records in `block`; NaN in the lanes not filled */
  size_t records[16];                    /* asked for */
  size_t n_gathered;                     /* how many */
} tacit_workspace_t;

struct tacit_door {
  tacit_records_t *records;
  tacit_budget_t *budget; /* NULL if exposed */
  tacit_noise_t *noise;   /* exposed: for subsets alone, may be NULL */
  tacit_door_settings_t settings;
  size_t n_units; /* here; n_units_all, n_records: on all ranks */
  size_t n_units_all, n_records, first_record;
  bool has_aligned_ranks; /* minibatches can be drawn */
  bool has_parted;        /* the ranks no longer ask the same */
  uint64_t digest;        /* of what is public of the pass at hand */
  size_t *unit_offsets;   /* NULL: every record is its own unit */
  size_t *n_laned;        /* of each range of units: how many lie in groups of 16 (lanes.c); NULL: none */
  /* Per record: an upper bound of its features' norm, or 1 without features; NaN for records that count as
   * zero, and past the last. */
  float *lane_norm;
  tacit_pool_t *pool;
  tacit_workspace_t *workspaces; /* (n_threads) */
  tacit_sizes_t sizes;
  tacit_wide_t
      *sums;    /* the totals of the first thread: of all threads and ranks after a pass; then the notes */
  double *kept; /* (n_kept, n_blocks, 16) */
  size_t n_kept;
  uint64_t
      *mask; /* of the records of all ranks that were drawn: ((n_records + 63) / 64); NULL until needed */
  tacit_door_notes_t notes;
};

/* Vector kernels, one table for each instruction set; see lattice_isa.c. */
typedef struct tacit_lattice_functions {
  /* Of n_groups of up to 16 units, those with n_rows (n_groups, 16) > 0: lanes (16 each) += k (n_groups,
   * n_vectors, dim, 16) of one vector, or the upper triangle of sum_t k_t k_t'; nothing where a unit's k is
   * more than `radius` long. whole, of k's shape: scratch. */
  void (*shapes)(bool is_square, size_t n_groups, size_t n_vectors, size_t dim, double radius,
                 const double *n_rows, const int32_t *k, double *whole, int64_t *lanes,
                 tacit_door_notes_t *notes);
  /* lanes (n_points, dim, 16) += clipped integers of the records of n_blocks blocks, rows (n_blocks,
   * n_points, n_rows, 16). */
  void (*vectors)(const tacit_vectors_t *of, size_t n_columns, size_t n_blocks, const float *block,
                  const float *norms, const tacit_lattice_t *lattice, const float *rows, int32_t *lanes,
                  tacit_door_notes_t *notes);
  /* lanes (n, 16) += k of the first n_units lanes whose numbers are at most `radius` long. */
  void (*units)(size_t n_units, size_t n, double radius, const int32_t *k, int32_t *lanes,
                tacit_door_notes_t *notes);
  /* lanes (16) += clipped differences of values (n_blocks, 16), whole numbers; before NULL: 0. */
  void (*scalars)(const float *norms, size_t n_blocks, const double *before, const double *after, double clip,
                  int64_t *lanes, tacit_door_notes_t *notes);
  /* totals (n, 16) += lanes of the records that count and whose numbers are at most `radius` long. */
  void (*whole)(const float *norms, size_t n, double radius, const int64_t *lanes, int64_t *totals);
  /* norms (16) <- bounds of the norms of a block's features, 1 without; NaN for records that do not count. */
  void (*norms)(size_t n_columns, size_t n_features, const float *block, float *norms);
} tacit_lattice_functions_t;

const tacit_lattice_functions_t *tacit_lattice_functions(void);
/* A piece of all features: their norms are known. */
static inline bool tacit_piece_is_whole(const tacit_vectors_t *of, const tacit_piece_t *piece) {
  return piece->kind == TACIT_PIECE_LINEAR && piece->column == 0 && piece->n == of->n_features;
}
/* Scales of the lattice for a bound; the slack is proved in docs/theory.md, "Clipping". */
tacit_lattice_t tacit_lattice_for(const tacit_vectors_t *of, double bound);

/* ---- door.c ---- */

TACIT_MUST_USE tacit_status_t tacit_door_reserve(tacit_door_t *door, const tacit_sizes_t *sizes,
                                                 tacit_error_t *err);
/* Zeros in all that is lent, as much of it as the sizes say. */
void tacit_door_clear(tacit_workspace_t *workspace, const tacit_sizes_t *sizes);
/* ->lane_norm of all records, on all threads. */
void tacit_door_measure_records(tacit_door_t *door);

/* ---- lanes.c: where the records of units are ---- */

/* A range of units [first, last): n_laned of them in groups of 16 units of equally many records, which fill
 * records [from, to), block by block; the records of the others lie around these, from `start` on. */
typedef struct tacit_range {
  size_t first, last, n_laned;
  size_t start, from, to;
} tacit_range_t;

/* Put all ranges of units so; before the records are measured. */
TACIT_MUST_USE tacit_status_t tacit_door_arrange(tacit_door_t *door, tacit_error_t *err);
size_t tacit_door_range_size(const tacit_door_t *door, bool is_by_units);
tacit_range_t tacit_door_range(const tacit_door_t *door, size_t first, size_t last);
static inline size_t tacit_door_n_rows(const tacit_door_t *door, size_t u) {
  return door->unit_offsets != NULL ? door->unit_offsets[u + 1] - door->unit_offsets[u] : 1;
}
/* Which record is number t of unit u. */
size_t tacit_door_record(const tacit_door_t *door, const tacit_range_t *range, size_t u, size_t t);
/* A record's first number; the next is 16 further on. */
static inline const float *tacit_door_first_column(const tacit_door_t *door, size_t record) {
  return tacit_records_block(door->records, record / 16) + record % 16;
}

/* ---- pass.c: a pass over the records, on threads and ranks ---- */

/* Records as a pass shows them: n blocks that follow each other, the first of them block `at` of the door's,
 * SIZE_MAX if they are copies. */
typedef struct tacit_shown {
  const float *block, *norms;
  size_t n, at;
} tacit_shown_t;

/* What a pass adds to n_sums numbers: n_lanes of each in ->lanes, or ->lanes64 if is_wide; n_lanes 0: to
 * ->totals, without lanes. */
typedef struct tacit_pass tacit_pass_t;
struct tacit_pass {
  tacit_door_t *door;
  const void *of;                      /* the contribution */
  const tacit_sizes_t *sizes;          /* that it was given */
  size_t n_sums, n_lanes, n_blocks;    /* n_blocks: shown at a time */
  bool is_wide, is_drawn, is_by_units; /* is_drawn: of the records drawn alone */
  bool is_scalar;                      /* for the notes, of n_noted contributions a record or unit */
  size_t n_noted;
  void (*show)(const tacit_pass_t *pass, const tacit_shown_t *shown,
               tacit_workspace_t *workspace); /* may be NULL where units are shown, as group_end may */
  /* By units in groups of up to 16, a lane each: blocks at .. at + n - 1 of those shown hold their next
   * records; these were all. */
  void (*group_add)(const tacit_pass_t *pass, const tacit_shown_t *shown, size_t at, size_t n,
                    tacit_workspace_t *workspace);
  void (*group_end)(const tacit_pass_t *pass, size_t n_units, tacit_workspace_t *workspace);
  /* Or NULL: in their place, for groups of n_rows blocks each, which are all that is shown. */
  void (*run_add)(const tacit_pass_t *pass, const tacit_shown_t *shown, size_t n_rows,
                  tacit_workspace_t *workspace);
  /* By units one by one: where there is no group_add, and of more rows than are shown at a time. */
  void (*unit)(const tacit_pass_t *pass, const tacit_range_t *range, size_t u, tacit_workspace_t *workspace);
};

/* Are norms (n_blocks, 16) those of records that count, all of them? */
bool tacit_door_all_count(const float *norms, size_t n_blocks);

/* ->sums[0 .. n_sums - 1] <- sums over all blocks, or units, of all ranks; ->notes. */
void tacit_door_sum(const tacit_pass_t *pass);
/* What is done with blocks or units [first, last): in ranges of at most TACIT_PART_BLOCKS blocks, 16 times as
 * many units, from a multiple of 16. */
typedef void (*tacit_range_task)(const void *pass, size_t first, size_t last, size_t thread);
void tacit_door_run_ranges(const tacit_door_t *door, bool is_by_units, tacit_range_task task,
                           const void *pass);

/* ---- ranks.c ---- */

/* Learn from the other ranks where these records belong. */
TACIT_MUST_USE tacit_status_t tacit_door_join_ranks(tacit_door_t *door, tacit_error_t *err);
bool tacit_door_is_alone(const tacit_door_t *door);
size_t tacit_door_message_size(size_t n_sums);
/* ->digest <- that of what is public of a pass. */
void tacit_door_digest(tacit_door_t *door, const void *bytes, size_t n);
/* ->sums (n) of all ranks. */
void tacit_door_sum_ranks(tacit_door_t *door, size_t n);

/* ---- subset.c: records drawn at random ---- */

TACIT_MUST_USE tacit_status_t tacit_subset_check(tacit_door_t *door, double rate, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_subset_draw(tacit_door_t *door, double rate, tacit_error_t *err);
/* Show the pass the records drawn of blocks [first, last); how many they are. */
size_t tacit_subset_show(const tacit_pass_t *pass, size_t first, size_t last, tacit_workspace_t *workspace);
/* Ask for a record, at most 16; copy those asked for into ->block, and ask for none. */
void tacit_subset_ask(const tacit_door_t *door, tacit_workspace_t *workspace, size_t record);
tacit_shown_t tacit_subset_fill(const tacit_door_t *door, tacit_workspace_t *workspace);

/* ---- vectors.c, scalars.c, shapes.c, units.c ---- */

/* All but the budget: pieces, clip, sizes, the subset's rate, and a probe. */
TACIT_MUST_USE tacit_status_t tacit_vectors_check(tacit_door_t *door, const tacit_vectors_t *vectors,
                                                  tacit_error_t *err);
/* Point k of the vectors over the records drawn; SIZE_MAX: all points over all records. */
void tacit_vectors_sum(tacit_door_t *door, const tacit_vectors_t *vectors, size_t k);
/* The same of places, clips, sizes, the subset's rate, and a probe. */
TACIT_MUST_USE tacit_status_t tacit_scalars_check(tacit_door_t *door, const tacit_scalars_t *scalars,
                                                  tacit_error_t *err);
void tacit_scalars_sum(tacit_door_t *door, const tacit_scalars_t *scalars);
/* Values of all functions, NaN for records that do not count; where those of function or place i begin. */
void tacit_scalars_evaluate(const tacit_door_t *door, const tacit_scalars_t *scalars,
                            const tacit_shown_t *shown, tacit_workspace_t *workspace);
double *tacit_scalars_place(const tacit_door_t *door, const tacit_workspace_t *workspace, size_t i,
                            size_t at);
/* The whole numbers that a unit adds to totals; false: they are not where the shape says, and nothing is
 * added. */
bool tacit_door_shape_add(const tacit_door_shape_t *shape, size_t n_rows, const int64_t *k,
                          tacit_wide_t *totals);
/* |k|_2 <= radius <= 2^26, exactly. */
bool tacit_door_is_in_ball(const int64_t *k, size_t n, int64_t radius);
/* Whole numbers that `unit` writes for a unit of n_rows records. */
size_t tacit_door_shape_n_written(const tacit_door_shape_t *shape, size_t n_rows);
TACIT_MUST_USE tacit_status_t tacit_door_shape_check(const tacit_door_shape_t *shape,
                                                     tacit_door_noise_t noise, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_units_check(tacit_door_t *door, const tacit_units_t *units,
                                                tacit_door_noise_t noise, tacit_error_t *err);
void tacit_units_sum(tacit_door_t *door, const tacit_units_t *units);

/* ---- decide.c, product.c, minibatch.c: log ratios in units of 2^-32 ---- */

int64_t tacit_log_ratio_capped(tacit_wide_t log_ratio);
tacit_wide_t tacit_log_ratio_units(long double log_ratio);
/* Secret: the log ratio of a product's decision, without its public part. */
TACIT_MUST_USE tacit_status_t tacit_door_product_sum(tacit_door_t *door, const tacit_door_product_t *of,
                                                     tacit_wide_t *log_ratio, tacit_error_t *err);

/* ---- release.c ---- */

/* TACIT_ERR_STATE where the ranks no longer ask the same; after a sum: it is not of all records, and nothing
 * may come of it. */
TACIT_MUST_USE tacit_status_t tacit_door_check_ranks(const tacit_door_t *door, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_door_check(const tacit_door_t *door, double noise_multiplier,
                                               tacit_error_t *err);
/* Free if exposed. */
TACIT_MUST_USE tacit_status_t tacit_door_charge(tacit_door_t *door, const tacit_event_t *event,
                                                tacit_error_t *err);
/* An integer of the lattice as a double; rounding to double is post-processing. */
double tacit_released_value(tacit_wide_t sum, int64_t noise, double spacing);

/* A contribution, as the probe asks for it. */
typedef struct tacit_probed {
  tacit_door_t *door;
  const void *contribution;
  const tacit_sizes_t *sizes;
  size_t n_calls; /* of a function of units in lanes */
} tacit_probed_t;

/*
 * What a record adds must not depend on the records beside it, on its lane or on calls before: no clip mends
 * that. So before each release the contribution is asked for made-up records. They are public, and so are its
 * parameters: a refusal tells nothing of the data.
 */
TACIT_MUST_USE tacit_status_t tacit_door_probe(const tacit_probed_t *probed, tacit_probe_function function,
                                               size_t n_out, tacit_probe_kind_t kind, tacit_error_t *err);

#endif
