/*
 * Rows of units' records, as score.c and rows.c have them, for 16 units at a time, a unit a lane: each lane
 * does the operations of a unit by itself, in the same order, in double. Nothing here is trusted. Compiled
 * once for each instruction set (meson.build); all give the same bits.
 */
#include <float.h>
#include <math.h>

#include "base/vector.h"
#include "curator/rows.h"

enum { MOST = TACIT_MAX_ROW_FEATURES, SIDE = 4 /* lines of a matrix side by side */ };

/* DOUBLE_LANES units: their layers begin at x, k. */
typedef struct lanes {
  const tacit_row_sum_t *sum;
  size_t n_layers, n_columns;
  vdouble n_rows;
  const float *x;
  int32_t *k;
} lanes_t;

TACIT_INLINE lanes_t lanes_of(const tacit_row_sum_t *sum, size_t n_layers, const double *n_rows,
                              const float *x, int32_t *k, size_t lane) {
  return (lanes_t){sum,      n_layers, sum->curator->model->n_columns, vdouble_load(n_rows + lane),
                   x + lane, k + lane};
}

/* Units that have a record number t. */
TACIT_INLINE vlong have(const lanes_t *of, size_t t) { return (double)t < of->n_rows; }

/* x (d) <- the features of layer t; returns the response. */
TACIT_INLINE vdouble get_rows(const lanes_t *of, size_t t, size_t d, vdouble *x) {
  const float *from = of->x + t * of->n_columns * 16;
  for (size_t j = 0; j < d; j++) {
    x[j] = vdouble_load_floats(from + j * 16);
  }
  return vdouble_load_floats(from + d * 16);
}

/* sums[l] += line l of the first n_columns of `lines` (n_lines, d) times x. */
TACIT_INLINE void add_lines(size_t n_lines, size_t d, size_t n_columns, const double *lines, const vdouble *x,
                            vdouble *sums) {
  for (size_t j = 0; j < n_columns; j++) {
#pragma GCC unroll 4
    for (size_t l = 0; l < n_lines; l++) {
      sums[l] += lines[l * d + j] * x[j];
    }
  }
}

/* out[l] <- line i + l of L x. */
TACIT_INLINE void whiten_lines(size_t n_lines, size_t d, const double *whiten, size_t i, const vdouble *x,
                               vdouble *out) {
  const double *lines = whiten + i * d;
  vdouble sums[SIDE] = {0};
  add_lines(n_lines, d, i + 1, lines, x, sums);
#pragma GCC unroll 4
  for (size_t l = 0; l < n_lines; l++) {
    for (size_t j = i + 1; j <= i + l; j++) {
      sums[l] += lines[l * d + j] * x[j];
    }
    out[l] = sums[l];
  }
}

/* row (d) <- L x; returns its squared norm: tacit_rows_whiten() of each lane. */
TACIT_INLINE vdouble whiten_rows(size_t d, const double *whiten, const vdouble *x, vdouble *row) {
  vdouble n2 = vdouble_set(0);
  size_t i = 0;
  for (; whiten != NULL && i + SIDE <= d; i += SIDE) {
    whiten_lines(SIDE, d, whiten, i, x, row + i);
  }
  for (; i < d; i++) {
    if (whiten != NULL) {
      whiten_lines(1, d, whiten, i, x, row + i);
    } else {
      row[i] = x[i];
    }
  }
  for (i = 0; i < d; i++) {
    n2 += row[i] * row[i];
  }
  return n2;
}

/* Of the units with a record there, by the C library's exponential, as moments of single records are. */
TACIT_INLINE void moments_at(const lanes_t *of, size_t t, size_t d, const vdouble *x, vdouble *mean,
                             vdouble *variance) {
  const tacit_score_point_t *point = of->sum->what;
  vdouble eta = vdouble_set(0);
  for (size_t j = 0; j < d; j++) {
    eta += point->theta[j] * x[j];
  }
  *mean = *variance = vdouble_set(0);
  for (size_t lane = 0; lane < DOUBLE_LANES; lane++) {
    if ((double)t < of->n_rows[lane]) {
      tacit_family_moments_t moments =
          tacit_family_moments((tacit_family_t)point->family, point->upper, eta[lane]);
      (*mean)[lane] = moments.mean;
      (*variance)[lane] = moments.variance;
    }
  }
}

/* k (d) <- factor v in whole numbers; 0 where not kept: tacit_rows_write() of each lane. */
TACIT_INLINE void write_rows(const lanes_t *of, size_t d, vdouble factor, const vdouble *v, vlong kept,
                             int32_t *k) {
  for (size_t i = 0; i < d; i++) {
    vdouble at = v[i] * factor / of->sum->spacing;
    vlong is_near = vdouble_abs(at) <= 0x1p30;
    vdouble whole = vdouble_select(is_near, vdouble_whole(at), vdouble_set(0x1p30));
    whole = vdouble_select(kept, whole, vdouble_set(0));
    vint_half narrow = __builtin_convertvector(whole, vint_half);
    memcpy(k + i * 16, &narrow, sizeof narrow);
  }
}

/* score (d) <- units' scores; which are finite. */
TACIT_INLINE vlong scores_of(const lanes_t *of, size_t d, vdouble *score) {
  const tacit_score_point_t *point = of->sum->what;
  vdouble x[MOST], row[MOST], mean, variance;
  vlong finite = of->n_rows > 0;
  for (size_t j = 0; j < d; j++) {
    score[j] = vdouble_set(0);
  }
  for (size_t t = 0; t < of->n_layers; t++) {
    vlong there = have(of, t);
    vdouble y = get_rows(of, t, d, x);
    moments_at(of, t, d, x, &mean, &variance);
    vdouble n2 = whiten_rows(d, point->whiten, x, row);
    vdouble reach = vdouble_sqrt(n2) * (0.5 + vdouble_abs(mean - 0.5 * point->upper) / point->upper);
    vdouble weight =
        vdouble_select(reach > point->radius, point->radius / reach, vdouble_set(1)) / of->n_rows;
    finite &= ~there | (reach <= DBL_MAX);
    vdouble residual = vdouble_max(vdouble_min(y, vdouble_set(point->upper)), vdouble_set(0)) - mean;
    for (size_t j = 0; j < d; j++) {
      score[j] += vdouble_select(there, row[j] * residual * weight, vdouble_set(0));
    }
  }
  return finite;
}

static void score(const void *ctx, size_t n_layers, const double *n_rows, const float *x, int32_t *k) {
  const tacit_row_sum_t *sum = ctx;
  vdouble own[MOST];
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    lanes_t of = lanes_of(sum, n_layers, n_rows, x, k, lane);
    vlong finite = scores_of(&of, sum->dim, own);
    write_rows(&of, sum->dim, vdouble_set(1), own, finite, of.k);
  }
}

static void score_squares(const void *ctx, size_t n_layers, const double *n_rows, const float *x,
                          int32_t *k) {
  const tacit_row_sum_t *sum = ctx;
  vdouble own[MOST];
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    lanes_t of = lanes_of(sum, n_layers, n_rows, x, k, lane);
    vlong finite = scores_of(&of, sum->dim, own);
    vdouble n2 = vdouble_set(0);
    for (size_t j = 0; j < sum->dim; j++) {
      n2 += own[j] * own[j];
    }
    vdouble factor =
        vdouble_select(n2 > sum->bound * sum->bound, sum->bound / vdouble_sqrt(n2), vdouble_set(1));
    write_rows(&of, sum->dim, factor, own, finite, of.k);
  }
}

/* Rows v with |factor v|^2 = n2, weighted: tacit_rows_write_one() of each lane. Which are finite. */
TACIT_INLINE vlong write_one(const lanes_t *of, size_t t, double radius, vdouble n2, vdouble factor,
                             const vdouble *v) {
  const size_t d = of->sum->dim;
  vdouble weight = vdouble_select(n2 > radius * radius, radius / vdouble_sqrt(n2), vdouble_set(1));
  vlong there = have(of, t), finite = n2 <= DBL_MAX;
  write_rows(of, d, weight / vdouble_sqrt(of->n_rows) * factor, v, there & finite, of->k + t * d * 16);
  return ~there | finite;
}

/* Units with a row that is no finite number add nothing. */
TACIT_INLINE void drop(const lanes_t *of, vlong finite) {
  vint_half kept = __builtin_convertvector(finite, vint_half);
  for (size_t i = 0; vlong_bits(~finite) != 0 && i < of->n_layers * of->sum->dim; i++) {
    vint_half own = vint_half_load(of->k + i * 16) & kept;
    memcpy(of->k + i * 16, &own, sizeof own);
  }
}

static void moments(const void *ctx, size_t n_layers, const double *n_rows, const float *x, int32_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_row_weighting_t *rows = sum->what;
  vdouble features[MOST], row[MOST];
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    lanes_t of = lanes_of(sum, n_layers, n_rows, x, k, lane);
    vlong finite = of.n_rows > 0;
    for (size_t t = 0; t < n_layers; t++) {
      (void)get_rows(&of, t, sum->dim, features);
      vdouble n2 = whiten_rows(sum->dim, rows->whiten, features, row);
      finite &= write_one(&of, t, rows->radius, n2, vdouble_set(1), row);
    }
    drop(&of, finite);
  }
}

static void information(const void *ctx, size_t n_layers, const double *n_rows, const float *x, int32_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_score_point_t *point = sum->what;
  vdouble features[MOST], row[MOST], mean, variance;
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    lanes_t of = lanes_of(sum, n_layers, n_rows, x, k, lane);
    vlong finite = of.n_rows > 0;
    for (size_t t = 0; t < n_layers; t++) {
      (void)get_rows(&of, t, sum->dim, features);
      moments_at(&of, t, sum->dim, features, &mean, &variance);
      vdouble n2 = variance * whiten_rows(sum->dim, point->whiten, features, row);
      finite &= write_one(&of, t, point->radius, n2, vdouble_sqrt(variance), row);
    }
    drop(&of, finite);
  }
}

/* rows (d), each a lane, to where they are read one after the other. */
TACIT_INLINE void turn_rows(size_t d, const vdouble *rows, size_t n_lanes, double *to) {
  double one[DOUBLE_LANES];
  for (size_t i = 0; i < d; i++) {
    memcpy(one, &rows[i], sizeof one);
    for (size_t l = 0; l < n_lanes; l++) {
      to[l * d + i] = one[l];
    }
  }
}

static void whiten(size_t d, const double *a, const float *x, size_t n_lanes, double *rows, double *norms) {
  vdouble from[MOST], to[MOST];
  for (size_t lane = 0; lane < n_lanes; lane += DOUBLE_LANES) {
    const size_t n_here = n_lanes - lane < DOUBLE_LANES ? n_lanes - lane : DOUBLE_LANES;
    vdouble n2 = vdouble_set(0);
    for (size_t j = 0; j < d; j++) {
      from[j] = vdouble_load_floats(x + j * 16 + lane);
    }
    size_t i = 0;
    for (; i + SIDE <= d; i += SIDE) {
      vdouble sums[SIDE] = {0};
      add_lines(SIDE, d, d, a + i * d, from, sums);
      memcpy(to + i, sums, sizeof sums);
    }
    for (; i < d; i++) {
      to[i] = vdouble_set(0);
      add_lines(1, d, d, a + i * d, from, to + i);
    }
    for (i = 0; i < d; i++) {
      n2 += to[i] * to[i];
    }
    n2 = vdouble_select(n2 <= DBL_MAX, vdouble_sqrt(n2), vdouble_set(NAN));
    memcpy(norms + lane, &n2, n_here * sizeof *norms);
    turn_rows(d, to, n_here, rows + lane * d);
  }
}

static void add_squares(size_t d, size_t n, const double *k, const double *u, double *restrict squares) {
  for (size_t i = 0; i < n; i++, u += d) {
    for (size_t a = 0; a < d && k[i] > 0; a++) {
      double factor = k[i] * u[a];
      for (size_t b = 0; b <= a; b++) {
        squares[a * d + b] += factor * u[b];
      }
    }
  }
}

#define TABLE_NAME_(isa) tacit_rows_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_rows_functions_t TABLE_NAME(TACIT_ISA);
const tacit_rows_functions_t TABLE_NAME(TACIT_ISA) = {score,       score_squares, moments,
                                                      information, whiten,        add_squares};
