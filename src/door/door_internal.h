/* Inside the door: only src/door, its tests, the benchmarks and the audits include this. README.md is the map. */
#ifndef TACIT_DOOR_INTERNAL_H
#define TACIT_DOOR_INTERNAL_H

#include "base/base_internal.h"
#include "tacit/account.h"
#include "tacit/data.h"
#include "tacit/door.h"
#include "tacit/random.h"

__extension__ typedef __int128 tacit_wide_t;

enum {
  TACIT_LATTICE_BITS = 20,      /* m: a clipped vector has integer norm at most 2^m */
  TACIT_EXPOSED_GRID_BITS = 24, /* unclipped exposed vectors are multiples of 2^-24 */
  /* A lane gains at most 2^m a block: a part of so many cannot overflow its int32, 2^10 2^20 < 2^31; int64s gain at most 2^51. */
  TACIT_PART_BLOCKS = 1024,
  TACIT_VECTOR_BLOCKS = 16, /* most blocks that vectors are shown at a time */
  TACIT_PADDING = 8         /* of a unit's sums, so that loops over them are of whole machine vectors */
};

/* How a vector becomes integers. */
typedef struct tacit_lattice {
  float scale_in;  /* T / b: contributions in units of the bound */
  float scale_out; /* 2^m (1 - slack) */
} tacit_lattice_t;

/* Buffers: of a thread, then of the door. Each release says how much of each it needs. */
#define TACIT_THREAD_BUFFERS(X)                                                                                          \
  X(float, rows) X(float, block) X(int32_t, lanes) X(int64_t, lanes64) X(double, work) X(double, values) X(double *, outs) \
  X(double, unit_sum) X(float, unit_x) X(tacit_wide_t, totals)
#define TACIT_DOOR_BUFFERS(X) X(int64_t, draws) X(tacit_wide_t, sums) X(int64_t, message)
#define TACIT_BUFFER_POINTER(type, name) type *name;
#define TACIT_BUFFER_SIZE(type, name) size_t name;

typedef struct tacit_room {
  TACIT_THREAD_BUFFERS(TACIT_BUFFER_SIZE)
  TACIT_DOOR_BUFFERS(TACIT_BUFFER_SIZE)
} tacit_room_t;

typedef struct tacit_workspace {
  TACIT_THREAD_BUFFERS(TACIT_BUFFER_POINTER)
  tacit_door_notes_t notes;
  float norms[16];    /* of the records in `block`; NaN in the lanes not filled */
  size_t records[16]; /* asked for */
  size_t n_gathered;  /* how many */
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
  const size_t *unit_offsets; /* NULL: every record is its own unit */
  /* Per record: an upper bound of its features' norm, or 1 without features; NaN for records that count as zero, and past the last. */
  float *lane_norm;
  tacit_mapping_t lane_mapping; /* of lane_norm, where the records are in a file too */
  tacit_pool_t *pool;
  tacit_workspace_t *workspaces; /* (n_threads) */
  tacit_room_t room;
  TACIT_DOOR_BUFFERS(TACIT_BUFFER_POINTER)
  double *kept; /* (n_kept, n_blocks, 16) */
  size_t n_kept;
  uint64_t *mask; /* of the records of all ranks that were drawn: ((n_records + 63) / 64); NULL until needed */
  tacit_door_notes_t notes;
};

/* Numbers of 16 records, a record's after another's. */
typedef struct tacit_turned {
  float *at; /* (16, width), and TACIT_PADDING more */
  size_t width;
} tacit_turned_t;

static inline size_t tacit_padded(size_t n) { return (n + TACIT_PADDING - 1) / TACIT_PADDING * TACIT_PADDING; }
/* Numbers of a unit's sum at one point: those of the pieces, one after another, each padded. */
static inline size_t tacit_padded_sums(const tacit_vectors_t *of) {
  size_t n = 0;
  for (size_t i = 0; i < of->n_pieces; i++) {
    n += tacit_padded(of->pieces[i].n);
  }
  return n;
}

/* Vector kernels, one table for each instruction set; see lattice_isa.c. */
typedef struct tacit_lattice_functions {
  /* lanes (n_points, dim, 16) += clipped integers of 16 records. */
  void (*vectors)(const tacit_vectors_t *of, size_t n_columns, const float *block, const float *norms, const tacit_lattice_t *lattice,
                  const float *rows, int32_t *lanes, tacit_door_notes_t *notes);
  /* rows (n_rows, 16) become out, n_rows <= width: 0 for records that do not count. */
  void (*turn)(size_t n_rows, const float *rows, const float *norms, const tacit_turned_t *out);
  /* sums (n_points, padded) += pieces of vectors, in units of the bound, of the records in lanes from .. to - 1. */
  void (*unit_add)(const tacit_vectors_t *of, const tacit_lattice_t *lattice, size_t from, size_t to, const tacit_turned_t *x,
                   const tacit_turned_t *rows, double *sums);
  /* totals (padded) += clipped integers of a unit's sum at one point, which becomes zero. */
  void (*unit_end)(const tacit_vectors_t *of, const tacit_lattice_t *lattice, double *sum, int64_t *totals, tacit_door_notes_t *notes);
  /* lanes (16) += clipped differences of values (n_blocks, 16), whole numbers; before NULL: 0. */
  void (*scalars)(const float *norms, size_t n_blocks, const double *before, const double *after, double clip, int64_t *lanes,
                  tacit_door_notes_t *notes);
  /* totals (n, 16) += lanes of the records that count and whose numbers are at most `radius` long. */
  void (*whole)(const float *norms, size_t n, double radius, const int64_t *lanes, int64_t *totals);
  /* log((most + x) / (most - x)) in units of 2^-32, odd in x to the last bit; |x| < most. n is a multiple of 16. */
  void (*log_odds)(size_t n, double most, const double *x, int64_t *out);
} tacit_lattice_functions_t;

const tacit_lattice_functions_t *tacit_lattice_functions(void);
/* A piece of all features: their norms are known. */
static inline bool tacit_piece_is_whole(const tacit_vectors_t *of, const tacit_piece_t *piece) {
  return piece->kind == TACIT_PIECE_LINEAR && piece->column == 0 && piece->n == of->n_features;
}
/* Scales of the lattice for a bound; the slack is proved in docs/theory.md, "Clipping". */
tacit_lattice_t tacit_lattice_for(const tacit_vectors_t *of, double bound);

/* ---- door.c ---- */

TACIT_MUST_USE tacit_status_t tacit_door_reserve(tacit_door_t *door, const tacit_room_t *room, tacit_error_t *err);
/* ->lane_norm of all records, on all threads. */
void tacit_door_measure_records(tacit_door_t *door);

/* ---- pass.c: passes over the records, on threads and ranks ---- */

/* What is done with the blocks or units [first, last). */
typedef void (*tacit_range_task)(void *pass, size_t first, size_t last, size_t thread);
/* In ranges that begin with a multiple of 16 and hold at most TACIT_PART_BLOCKS blocks (of units, 16 times as many). */
void tacit_door_run_ranges(tacit_door_t *door, bool is_by_units, tacit_range_task task, void *pass);
/* Blocks [from, to) are done with, and may leave memory where they are in a file. */
void tacit_door_drop(const tacit_door_t *door, size_t from, size_t to);
/* ->sums[0 .. n_sums - 1] and the notes <- what the task adds to threads' totals, over all blocks, or units, of all ranks. */
void tacit_door_sum(tacit_door_t *door, size_t n_sums, bool is_by_units, tacit_range_task task, void *pass);
/* Learn from the other ranks where these records belong. */
TACIT_MUST_USE tacit_status_t tacit_door_join_ranks(tacit_door_t *door, tacit_error_t *err);
size_t tacit_door_message_size(size_t n_sums);
/* ->digest <- that of what is public of a pass. */
void tacit_door_digest(tacit_door_t *door, const void *bytes, size_t n);
/* Add n rows of 16 lanes, of lanes64 if is_wide, else of lanes, to the totals. */
void tacit_workspace_flush(tacit_workspace_t *workspace, size_t n, bool is_wide);

/* ---- subset.c: records drawn at random ---- */

TACIT_MUST_USE tacit_status_t tacit_subset_check(tacit_door_t *door, double rate, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_subset_draw(tacit_door_t *door, double rate, tacit_error_t *err);
/* What is done with n records in ->block and ->norms. */
typedef void (*tacit_subset_task)(const void *pass, size_t n, tacit_workspace_t *workspace);
void tacit_subset_sum(tacit_door_t *door, size_t n_sums, bool is_wide, tacit_subset_task task, const void *pass);
/* Ask for a record, at most 16; copy those asked for, and ask for none: how many there are. */
void tacit_subset_ask(const tacit_door_t *door, tacit_workspace_t *workspace, size_t record);
size_t tacit_subset_fill(const tacit_door_t *door, tacit_workspace_t *workspace);

/* ---- vectors.c, scalars.c, shapes.c ---- */

/* Point k of the vectors over the records drawn; SIZE_MAX: all points over all records. */
void tacit_vectors_sum(tacit_door_t *door, const tacit_vectors_t *vectors, size_t k);
tacit_room_t tacit_vectors_room(const tacit_door_t *door, const tacit_vectors_t *vectors);
void tacit_scalars_sum(tacit_door_t *door, const tacit_scalars_t *scalars);
/* Everything but the budget: places, clips, room, the subset's rate, and a probe. */
TACIT_MUST_USE tacit_status_t tacit_scalars_check(tacit_door_t *door, const tacit_scalars_t *scalars, tacit_error_t *err);
/* Values of all functions for n blocks, NaN for records that do not count. */
void tacit_scalars_evaluate(const tacit_scalars_t *scalars, const float *block, const float *norms, size_t n,
                            tacit_workspace_t *workspace);
/* The whole numbers that a unit adds to totals; false: they are not where the shape says, and nothing is added. */
bool tacit_door_shape_add(const tacit_door_shape_t *shape, size_t n_rows, const int64_t *k, tacit_wide_t *totals);
/* Whole numbers that `unit` writes for a unit of n_rows records. */
size_t tacit_door_shape_n_written(const tacit_door_shape_t *shape, size_t n_rows);
TACIT_MUST_USE tacit_status_t tacit_door_shape_check(const tacit_door_shape_t *shape, tacit_door_noise_t noise, tacit_error_t *err);
void tacit_units_sum(tacit_door_t *door, const tacit_units_t *units);

/* A contribution, as the probe asks for it. */
typedef struct tacit_probed {
  const void *contribution;
  tacit_workspace_t *workspace;
  size_t n_columns;
} tacit_probed_t;

/*
 * What a record adds must not depend on the records beside it, on its lane or on calls before: no clip mends that. So before each
 * release the contribution is asked for made-up records. They are public, and so are its parameters: a refusal tells nothing of the data.
 */
TACIT_MUST_USE tacit_status_t tacit_door_probe(tacit_door_t *door, tacit_probe_function function, const void *contribution,
                                               size_t n_out, size_t size, tacit_error_t *err);

/* ---- decide.c: log ratios in units of 2^-32 ---- */

int64_t tacit_log_ratio_capped(tacit_wide_t log_ratio);
tacit_wide_t tacit_log_ratio_units(double log_ratio);
/* Secret: the log ratio of a product's decision, without its public part. */
TACIT_MUST_USE tacit_status_t tacit_door_product_sum(tacit_door_t *door, const tacit_door_product_t *of, tacit_wide_t *log_ratio,
                                                     tacit_error_t *err);

/* ---- release.c ---- */

TACIT_MUST_USE tacit_status_t tacit_door_check(const tacit_door_t *door, double noise_multiplier, tacit_error_t *err);
/* Free if exposed. */
TACIT_MUST_USE tacit_status_t tacit_door_charge(tacit_door_t *door, const tacit_event_t *event, tacit_error_t *err);
/* An integer of the lattice as a double; rounding to double is post-processing. */
double tacit_released_value(tacit_wide_t sum, int64_t noise, double spacing);

#endif
