/*
 * A dominating pair on a grid of losses, from above and from below (docs/theory.md, section 9.3).
 *
 * With y = e^epsilon, the profile H(y) = E_P[(1 - y e^-L)+] is convex in y, and a pair whose losses lie on
 * the grid has a profile that is linear between the grid's points. From above: the chords of H
 * [Doroshenko2022]; in masses, what lies in a cell is divided between its ends so that both P and Q are
 * preserved. From below: on a cell, H lies above both tangents at its ends, so no lower than the chord less
 * the height of their triangle; the convex hull of H less that height lies below H.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "account/grid.h"

typedef struct cell {
  double left, right; /* upper masses of P for the two ends */
  double height;      /* of the triangle of chord and tangents, in H */
} cell_t;

static double smaller(double a, double b) { return a < b ? a : b; }

/* What rounding can do to differences of tails at one loss. */
static double tail_noise(const tacit_tails_t *t, double y) {
  double p = smaller(t->p_above, t->p_below), q = smaller(t->q_above, t->q_below);
  double noise = t->error * (p + y * q);
  return q < 2 * DBL_MIN ? noise + smaller(y * DBL_MIN, p) : noise; /* q is no longer a normal number */
}

/* What the finite losses lack of all mass under P and Q, beyond what rounding explains: it is at infinite
 * ones. */
typedef struct lack {
  double p, q;
} lack_t;

static lack_t lack_of(const tacit_tails_t *t, double rounding) {
  double p = 1 - (t->p_above + t->p_below), q = 1 - (t->q_above + t->q_below);
  return (lack_t){p > rounding ? p + rounding : 0, q > rounding ? q - rounding : 0};
}

/*
 * H(y) of the finite losses, P(L > l) - y Q(L > l) = 1 - y + y Q(L <= l) - P(L <= l) less what they lack, by
 * the side without cancellation against 1.
 */
static double profile(const tacit_tails_t *t, lack_t lack, double loss, double y) {
  if (t->p_above <= t->p_below || loss > 0) {
    return fmax(t->p_above - y * t->q_above, 0);
  }
  return fmax(fmax(-expm1(loss), 0) + fmax(y * t->q_below - t->p_below, 0) - lack.p + y * lack.q, 0);
}

static double difference(double above0, double above1, double below0, double below1) {
  return fmax(above0 < below1 ? above0 - above1 : below1 - below0, 0);
}

/*
 * The losses in (l, l + step]: masses A of P and B of Q become the right end's (A - B e^l) / (1 - e^-step) of
 * P, the rest of A the left end's. Both are raised by what rounding could hide.
 */
static void divide(cell_t *cell, const tacit_tails_t *t0, const tacit_tails_t *t1, double y0, double step,
                   double noise) {
  double a = difference(t0->p_above, t1->p_above, t0->p_below, t1->p_below);
  double b = difference(t0->q_above, t1->q_above, t0->q_below, t1->q_below);
  double share = (a - b * y0) / -expm1(-step);
  share = fmin(fmax(share, 0), a);
  double y1 = y0 * exp(step), from_left = (a - share) / y0, from_right = share / y1,
         sum = from_left + from_right;
  cell->height = sum > 0 ? from_left * from_right / sum * (y1 - y0) : 0;
  double raised = fmin(share + noise / -expm1(-step), a + noise);
  cell->right = raised;
  cell->left = fmax(a + noise - raised, 0);
}

/* Shape (n + 1) each: point 0 is y = 0, point i the grid's loss i - 1. */
typedef struct work {
  double *loss, *floor_value, *line;
  double *fall,
      *rise;      /* of the tangent at the point: to the point before, over 0; to the next, over the line */
  bool *has_atom; /* is the mass up to the next point nearly all just above this one? */
  size_t *stack;
} work_t;

/*
 * H is nowhere below 0, nor below its line from y = 0 on. A point that would be is put there instead, so that
 * neither end of the distribution drifts, however coarse its cells; and its neighbour towards the middle no
 * higher than on the tangent through the point, which is below H on the cell between them. A point at the
 * lower end with an atom just above it stays below the line: that tangent knows nothing of the atom; so does
 * any that is below it by no more than the drift allowed. The upper end comes last: it only lowers points
 * that are not below 0.
 */
static void clip(const work_t *work, size_t n, double drift) {
  double *floor_value = work->floor_value;
  for (size_t i = n - 1; i-- > 0;) {
    if (floor_value[i] < work->line[i] - (work->has_atom[i] ? INFINITY : drift)) {
      floor_value[i] = work->line[i];
      floor_value[i + 1] = fmin(floor_value[i + 1], work->line[i + 1] + work->rise[i]);
    }
  }
  for (size_t i = 1; i < n; i++) {
    if (floor_value[i] < 0) {
      floor_value[i] = 0;
      floor_value[i - 1] = fmin(floor_value[i - 1], work->fall[i]);
    }
  }
}

/*
 * lower <- masses of the lower convex hull of the points (y_i, floor_i), i = 0..n: point 0 is y = 0, that is
 * loss -infinity, whose mass is dropped; point i the loss of lower[i - 1]; the last floor is 0.
 */
static void hull(const double *loss, const double *floor_value, size_t *stack, size_t n, double *lower) {
  size_t top = 0;
  for (size_t i = 0; i <= n; i++) {
    while (top >= 2) {
      size_t a = stack[top - 2], b = stack[top - 1]; /* slopes times y_b */
      double before = (floor_value[a] - floor_value[b]) / -expm1(loss[a] - loss[b]);
      double after = (floor_value[b] - floor_value[i]) / expm1(loss[i] - loss[b]);
      if (before > after) {
        break;
      }
      top--;
    }
    stack[top++] = i;
  }
  memset(lower, 0, n * sizeof *lower);
  for (size_t k = 1; k < top; k++) { /* p_b = y_b (slope before - slope after) */
    size_t a = stack[k - 1], b = stack[k];
    double before = (floor_value[a] - floor_value[b]) / -expm1(loss[a] - loss[b]), after = 0;
    if (k + 1 < top) {
      size_t c = stack[k + 1];
      after = (floor_value[b] - floor_value[c]) / expm1(loss[c] - loss[b]);
    }
    lower[b - 1] = fmax(before - after, 0) * (1 - 0x1p-40);
  }
}

/*
 * The tails of L + shift at the i-th loss. The shift, far below a step, keeps an atom that is meant to lie on
 * the grid from lying, by rounding, just below a point.
 */
static void tails_at(tacit_grid_t *grid, const tacit_pair_t *pair, double loss, tacit_tails_t *tails) {
  double shift = 0x1p-24 * grid->step, factor = exp(-shift);
  pair->tails(pair, loss - shift, tails);
  tails->q_above *= factor;
  tails->q_below *= factor;
  grid->loss_error = fmax(grid->loss_error, tails->loss_error + shift + 2 * DBL_EPSILON * fabs(loss));
}

/*
 * Mass may always be left out of lower. At the upper end, where the range was cut, the hull ends in a corner
 * that stands for all beyond and more; at the lower end its corners are made of rounding. Both would spoil
 * the bounds of tails.
 */
static void trim(tacit_grid_t *grid) {
  double above = 0, below = grid->upper[0], taken = 0;
  size_t i = grid->n - 1;
  for (; i > 0 && !(grid->lower[i] > 0); i--) {
    above += grid->upper[i];
  }
  above += grid->upper[i] + (i > 0 ? grid->upper[i - 1] : 0);
  grid->lower[i] = fmin(grid->lower[i], 2 * above);
  for (i = 0; i + 1 < grid->n && below < 1e-11; i++) {
    below += grid->upper[i + 1];
    grid->lower[i] = fmin(grid->lower[i], fmax(below - taken, 0));
    taken += grid->lower[i];
  }
}

static void fill(tacit_grid_t *grid, const tacit_pair_t *pair, work_t *work, double drift) {
  tacit_tails_t t0, t1;
  double *loss = work->loss + 1, *floor_value = work->floor_value + 1;
  for (size_t i = 0; i < grid->n; i++) {
    loss[i] = (double)(grid->first + (int64_t)i) * grid->step;
  }
  tails_at(grid, pair, loss[0], &t0);
  grid->upper[0] = t0.p_below * (1 + t0.error);
  /* the cell from y = 0 to the first loss: its triangle is no higher than the mass below */
  double before = t0.p_below * (1 + t0.error), rest = 4 * (t0.error + 4 * DBL_EPSILON);
  lack_t lack = lack_of(&t0, rest);
  double sum_p = t0.p_above + t0.p_below - rest, sum_q = t0.q_above + t0.q_below;
  work->loss[0] = -INFINITY;
  work->floor_value[0] = work->line[0] = sum_p - before;
  work->fall[0] = work->rise[0] = 0;
  work->has_atom[0] = false;
  for (size_t i = 0; i + 1 < grid->n; i++) {
    double y = exp(loss[i]), noise = tail_noise(&t0, y);
    cell_t cell;
    tails_at(grid, pair, loss[i + 1], &t1);
    divide(&cell, &t0, &t1, y, grid->step, noise + tail_noise(&t1, y));
    grid->upper[i] += cell.left;
    grid->upper[i + 1] = cell.right;
    floor_value[i] = profile(&t0, lack, loss[i], y) - 2 * noise - 1.001 * fmax(before, cell.height);
    work->line[i + 1] = -expm1(loss[i]) + (sum_p - 1) + y * (1 - sum_q - rest);
    work->fall[i + 1] = t0.q_above * (1 - t0.error) * y * -expm1(-grid->step) * (1 - rest);
    work->rise[i + 1] = t0.q_below * (1 - t0.error) * y * expm1(grid->step) * (1 - rest);
    work->has_atom[i + 1] = t1.p_below - t0.p_below < y * (t1.q_below - t0.q_below) * (1 + 0.01 * grid->step);
    before = cell.height;
    t0 = t1;
  }
  work->fall[grid->n] = work->rise[grid->n] = 0;
  work->has_atom[grid->n] = false;
  double y = exp(loss[grid->n - 1]);
  grid->upper[grid->n - 1] += y * t0.q_above * (1 + t0.error + 4 * DBL_EPSILON);
  grid->infinite = fmax(t0.p_above - y * t0.q_above, 0) + 2 * tail_noise(&t0, y) + pair->infinite;
  grid->infinite_lower = pair->infinite_lower;
  floor_value[grid->n - 1] = 0;
  work->line[grid->n] = -INFINITY;
  clip(work, grid->n + 1, drift);
  hull(work->loss, work->floor_value, work->stack, grid->n, grid->lower);
  trim(grid);
}

tacit_status_t tacit_grid_init(tacit_grid_t *grid, const tacit_pair_t *pair, double step, double low,
                               double high, double drift, tacit_error_t *err) {
  int64_t first = (int64_t)floor(low / step), last = (int64_t)ceil(high / step) + 1;
  size_t n = (size_t)(last - first) + 1;
  *grid = (tacit_grid_t){.step = step, .first = first, .n = n, .upper = tacit_alloc(n, 2 * sizeof(double))};
  work_t work = {.loss = tacit_alloc(n + 1, 5 * sizeof(double)),
                 .has_atom = tacit_alloc(n + 1, sizeof(bool)),
                 .stack = tacit_alloc(n + 1, sizeof(size_t))};
  tacit_status_t status = TACIT_OK;
  if (grid->upper == NULL || work.loss == NULL || work.has_atom == NULL || work.stack == NULL) {
    tacit_grid_clear(grid);
    status = tacit_error_memory(err);
  } else {
    grid->lower = grid->upper + n;
    work.floor_value = work.loss + n + 1;
    work.line = work.floor_value + n + 1;
    work.fall = work.line + n + 1;
    work.rise = work.fall + n + 1;
    fill(grid, pair, &work, drift);
  }
  tacit_free(work.loss);
  tacit_free(work.has_atom);
  tacit_free(work.stack);
  return status;
}

void tacit_grid_clear(tacit_grid_t *grid) {
  tacit_free(grid->upper);
  *grid = (tacit_grid_t){0};
}
