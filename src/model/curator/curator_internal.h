/*
 * Contributions: what is summed over the records, and with what bounds and parameters the door is asked for
 * it. Nothing here is trusted: a mistake costs accuracy, not privacy. Records are behind the door; no file
 * here includes door/door_internal.h (tests/base/test_includes.py).
 */
#ifndef TACIT_CURATOR_INTERNAL_H
#define TACIT_CURATOR_INTERNAL_H

#include "curator/curator.h"
#include "door/door.h"
#include "formula/model.h"
#include "tacit/account.h"
#include "tacit/data.h"
#include "tacit/random.h"

/*
 * Log-likelihoods on the grid of ratios that the door keeps between passes, and what a pass evaluates
 * (kept.c): a chain asks for the ratio between its current point, which was an end of its last pair, and a
 * new one.
 */
enum { TACIT_KEPT_BYTES = 1 << 23 };

typedef struct tacit_kept {
  size_t limit;    /* most bytes of values, TACIT_KEPT_BYTES; beyond, none are kept */
  size_t n_points; /* 2 for each pair there is room for; 0: none are kept */
  double *theta;   /* (n_points, dim): where the values are from */
  uint64_t *used;  /* (n_points): the last pass that used them; 0: there are none */
  uint64_t pass;

  /* The pass at hand. */
  size_t n_fresh;         /* points to evaluate */
  double *fresh;          /* (2 capacity, dim) */
  size_t *fresh_at;       /* (2 capacity): where they are kept */
  size_t *before, *after; /* (capacity): where each pair's ends are kept */
} tacit_kept_t;

struct tacit_curator {
  tacit_door_t *door;
  const tacit_record_model_t *model;
  tacit_curator_settings_t settings;
  size_t capacity;    /* n_theta the buffers were made for */
  float *theta_float; /* (capacity, dim) */
  double *pairs;      /* (2 capacity, dim): theta and theta_prop of each pair, adjacent */
  double *clips;      /* (capacity): clip bound of each ratio in grid units, a whole number */
  size_t *index;      /* (capacity): a pair's place in the call */
  double *values;     /* (2 capacity): of the pairs asked for */
  bool *bits;         /* (capacity) */
  tacit_piece_t
      *pieces; /* of a gradient that the model does not have in pieces: its linear structure, or all of it */
  size_t n_pieces;
  tacit_kept_t kept;
};

/* Public bounds of one record's share of a Langevin decision. */
typedef struct tacit_trapezoid {
  double spacing;      /* of the lattice of gradients */
  double change_units; /* clip of k' - k in the norm; whole, at most 2^22 */
  double error_units;  /* clip of the error; whole, at most 2^51 */
} tacit_trapezoid_t;

/* Vector kernels, one table for each instruction set; see grid_isa.c. */
typedef struct tacit_grid_functions {
  void (*exposed)(const tacit_vectors_t *of, const float *block, const float *norms, const float *rows,
                  int64_t *lanes);
  /*
   * T l of one point on the grid of ratios, a whole number of units, for n_blocks blocks; NaN where l is not
   * finite. Block b is at log_lik + b stride and goes to out + 16 b.
   */
  void (*grid)(double temperature_power, size_t n_blocks, const double *log_lik, size_t stride, double *out);
  /* One record's ratio in grid units, for 16 records and one pair, log_lik (2, 16); 0 where not finite. */
  void (*ratio)(double temperature_power, const double *log_lik, double *out);
  /*
   * Langevin decisions (trapezoid.c): lanes (2, dim, 16) holds the integers k and k' of 16 records at both
   * ends of a step, shape (dim), ratios their log ratios in grid units. totals (2 dim + 1, 16) gains k' - k,
   * clipped; k + k'; the trapezoidal error.
   */
  void (*trapezoid)(size_t dim, const tacit_trapezoid_t *bounds, const double *step, const int32_t *lanes,
                    const double *ratios, int64_t *totals);
  /* Vectors of units of several records: tacit_vectors_t.units. */
  void (*units)(const tacit_vectors_t *of, const tacit_layers_t *layers, double *sums, int32_t *k,
                tacit_door_notes_t *notes);
} tacit_grid_functions_t;

const tacit_grid_functions_t *tacit_grid_functions(void);

/* Make buffers for n_theta parameter vectors. */
TACIT_MUST_USE tacit_status_t tacit_curator_reserve(tacit_curator_t *curator, size_t n_theta,
                                                    tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_curator_check_points(const tacit_curator_t *curator, size_t n_theta,
                                                         const double *theta, tacit_error_t *err);

/* ---- gradient.c ---- */

/* Columns whose norm the door is to know. */
static inline size_t tacit_curator_n_features(const tacit_record_model_t *model) {
  return model->n_linear > 0 || model->n_pieces > 0 ? model->n_features : 0;
}
/* ->pieces of a model's gradient where it has none; false: no memory. */
bool tacit_gradient_pieces(tacit_curator_t *curator);
/* The contribution of gradients at ->theta_float. */
tacit_vectors_t tacit_gradient_vectors(const tacit_curator_t *curator, size_t n_theta, double rate);

/* ---- kept.c ---- */

/* Room for the plan of passes over n_theta pairs. */
bool tacit_kept_init(tacit_kept_t *kept, size_t n_theta, size_t dim);
void tacit_kept_clear(tacit_kept_t *kept);
/* Make room to keep the values of n_pairs pairs, if they fit the limit. */
TACIT_MUST_USE tacit_status_t tacit_kept_reserve(tacit_curator_t *curator, size_t n_pairs,
                                                 tacit_error_t *err);
/* Find out what a pass over the first n_pairs of curator->pairs must evaluate. */
void tacit_kept_plan(tacit_curator_t *curator, size_t n_pairs);
/* A planned pass that failed has evaluated nothing: what it was to keep is not there. */
void tacit_kept_settle(tacit_curator_t *curator, tacit_status_t status);

/* ---- ratio.c ---- */

/* The contribution of the first n_pairs of curator->pairs, clipped at ->clips; planned. */
tacit_scalars_t tacit_ratio_scalars(tacit_curator_t *curator, size_t n_pairs);

/* ---- trapezoid.c ---- */

/* A Langevin pair's contribution. */
typedef struct tacit_langevin_work {
  const tacit_curator_t *curator;
  tacit_vectors_t vectors;
  tacit_trapezoid_t bounds;
  const double *step;
  double correction; /* the public part of the log ratio */
} tacit_langevin_work_t;

enum { TACIT_LANGEVIN_WORKSPACE = 4 };

/* Room is (TACIT_LANGEVIN_ROOM, dim), and for two points must be reserved. False: public facts reject the
 * pair unseen. */
bool tacit_langevin_product(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                            const tacit_langevin_pairs_t *langevin, size_t k, double *workspace,
                            tacit_langevin_work_t *work, tacit_door_product_t *product);

/* ---- statistics.c ---- */

tacit_door_shape_t tacit_statistic_shape(const tacit_statistic_t *statistic);
/* The whole numbers k of one record x (n_columns). */
void tacit_statistic_add(const void *statistic, size_t n_rows, const float *x, double *work, int64_t *k);

#endif
