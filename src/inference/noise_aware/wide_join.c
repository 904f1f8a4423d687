/*
 * All rounds in d combinations. Around a point the stacked scores s have mean J (theta - .) and covariance C,
 * what is not known of the information included; J' C^-1 s tells of theta what s does, and its covariance J'
 * C^-1 J is made the identity, the part of the information's error diagonal.
 *
 * The information is that of rows of weights g, Q = sum omega g z z' in the frame, and a round sees it with
 * others, g ratio: what it sees of its error E is taken to be T E T', T Q T' = sum omega g ratio z z'. So a
 * few rows far out, which the release of the information shortens, count in their directions as they do
 * there.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/fault.h"
#include "diagnose/diagnose.h"
#include "noise_aware/kernel.h"
#include "noise_aware/wide.h"

enum { N_AROUND = 16 };

/* Where numbers cannot hold a covariance otherwise, its variances are raised by such parts of them. */
static const double ridges[] = {0, 1e-8, 1e-4, 1};
enum { N_RIDGES = sizeof ridges / sizeof ridges[0] };

typedef struct joiner {
  tacit_wide_t *w;
  const double *theta, *factor;
  size_t d, n, width;       /* width: d n_rounds */
  double *variance, *slope; /* (n_rows): of responses, averaged around theta */
  double *turns;            /* (n_rounds, d, d): T, lower triangular */
  double *maps;             /* (n_rounds, d, d): how the error of the information acts on a round's score */
  double *sampled;  /* (n_rounds, d, d): what of a round's sampling the information sees: place_rounds() */
  double *relative; /* (d, d): K^-1 error K^-T, Q = K K' */
  double *from;     /* (n_rounds, d): T' times theta - theta_j in the frame */
  double *spread;   /* (d, d): the posterior's covariance in the frame */
  double common, excess[TACIT_AWARE_ROUNDS]; /* variance of the error of the information, and of a round's map
                                                by itself, as the frame's */
  double trace;                              /* of T' spread T, of the last round */
  double ridge;
  double *plain, *jacobian,
      *cov;                      /* (width, d), (width, d), (width, width); plain: of the pseudo-rows alone */
  double *combine;               /* (d, width) */
  double *lines, *work, *memory; /* (width, n_rows), 6 d^2 + 4 d */
} joiner_t;

void tacit_wide_add_round(tacit_wide_t *w) {
  const tacit_rounds_t *r = w->rounds;
  size_t d = w->surrogate->d, j = r->n_rounds - 1;
  memcpy(w->whiten + j * d * d, r->last_whiten, d * d * sizeof *w->whiten);
  memcpy(w->theta + j * d, r->last_theta, d * sizeof *w->theta);
}

/* Variances and slopes of the pseudo-rows' responses, averaged over what theta may be. */
static void average(joiner_t *j) {
  const tacit_wide_t *w = j->w;
  const tacit_surrogate_t *s = w->surrogate;
  double *z = j->work, *point = z + j->d, *eta = j->lines, *ones = w->lines + 3 * j->n;
  for (int a = 0; a < N_AROUND; a++) {
    for (size_t i = 0; i < j->d; i++) {
      z[i] = a % 2 == 0 ? tacit_rng_normal(w->rng) : -z[i];
    }
    for (size_t i = 0; i < j->d; i++) {
      point[i] = j->theta[i] + tacit_dot(i + 1, j->factor + i * j->d, z);
    }
    tacit_aware_kernel()->lift(j->n, 1, j->d, ones, point, s->x, eta);
    for (size_t k = 0; k < j->n; k++) {
      tacit_family_moments_t m = tacit_family_moments(w->settings->family, w->settings->upper, eta[k]);
      tacit_rounds_disperse(w->rounds, &m);
      j->variance[k] += m.variance / N_AROUND;
      j->slope[k] += m.slope / N_AROUND;
    }
  }
}

/* 0: a test plants that the pseudo-rows are the records. */
static double is_sound(void) { return !TACIT_IS_PLANTED(TACIT_FAULT_NO_DISCREPANCY); }

/* T' x, for the T of round r. */
static void turn(const joiner_t *j, size_t r, const double *x, double *out) {
  const double *t = j->turns + r * j->d * j->d;
  memset(out, 0, j->d * sizeof *out);
  for (size_t k = 0; k < j->d; k++) {
    for (size_t i = 0; i <= k; i++) {
      out[i] += t[k * j->d + i] * x[k];
    }
  }
}

static bool factorise(const joiner_t *j, size_t n, double *a) {
  double trace = 0;
  for (size_t i = 0; i < n; i++) {
    trace += a[i * n + i];
  }
  for (size_t i = 0; i < n && j->ridge > 0; i++) {
    a[i * n + i] += j->ridge * (a[i * n + i] + trace / (double)n);
  }
  return tacit_cholesky(n, a);
}

/* factor (d, d) <- the lower one of sum omega g ratio z z'; ratio NULL: 1. scaled: (d, n), line: (n). */
static bool factor_rows(const joiner_t *j, const double *white, const double *ratio, double *scaled,
                        double *line, double *factor) {
  const tacit_wide_t *w = j->w;
  for (size_t k = 0; k < j->n; k++) {
    line[k] = w->surrogate->weight[k] * w->frame.weights[k] * (ratio != NULL ? ratio[k] : 1);
  }
  tacit_aware_kernel()->scale(j->n, j->d, white, line, scaled);
  tacit_aware_kernel()->project(j->n, j->d, j->d, scaled, white, factor);
  return factorise(j, j->d, factor);
}

/* ratio <- how round r weighs rows, whose slopes are those between its point and theta, to g. */
static void compare_weights(const joiner_t *j, size_t r, double *ratio) {
  const tacit_wide_t *w = j->w;
  const double *first = w->rounds->rows + r * j->d * j->n, *ones = w->lines + 3 * j->n;
  tacit_aware_kernel()->lift(j->n, 1, j->d, ones, w->theta + r * j->d, w->surrogate->x, ratio);
  for (size_t k = 0; k < j->n; k++) {
    double there = tacit_family_moments(w->settings->family, w->settings->upper, ratio[k]).slope;
    double weight = first[k] / w->whiten[r * j->d * j->d]; /* L is lower triangular and x_0 = 1 */
    ratio[k] = weight * 0.5 * (there + j->slope[k]) / w->frame.weights[k];
  }
}

/*
 * sampled <- the part of round r's terms w sqrt(v) L_r x that is linear in K^-1 z sqrt(g), in which records
 * have second moments I + relative where pseudo-rows have I. white: z, inverse: K^-1; scaled (d, n), line
 * (n), other, half: overwritten.
 */
static void fill_sampled(joiner_t *j, size_t r, const double *white, const double *inverse, double *scaled,
                         double *line, double *other, double *half) {
  const tacit_wide_t *w = j->w;
  size_t d = j->d, n = j->n;
  const double *rows = w->rounds->rows + r * d * n;
  for (size_t k = 0; k < n; k++) {
    line[k] = w->surrogate->weight[k] * sqrt(j->variance[k] * w->frame.weights[k]);
  }
  tacit_aware_kernel()->scale(n, d, rows, line, scaled);
  tacit_aware_kernel()->project(n, d, d, scaled, white, half);
  for (size_t i = 0; i < d * d; i++) {
    other[i % d * d + i / d] = inverse[i];
  }
  tacit_aware_kernel()->multiply(d, d, d, half, other, j->sampled + r * d * d);
}

/* relative, once the information is known and is one. */
static void fill_relative(joiner_t *j, const double *inverse, double *half) {
  const tacit_wide_t *w = j->w;
  size_t d = j->d;
  double least = tacit_check_info(TACIT_CHECK_UNLIKE)->threshold;
  memset(j->relative, 0, d * d * sizeof *j->relative);
  if (isfinite(w->likeness) && w->likeness >= least) {
    tacit_sandwich(d, inverse, w->frame.error, half, j->relative);
  }
}

/*
 * excess: how much the ratio varies around what T makes of it, row by row. How far pseudo-rows mislead about
 * that is seen at the last point, where the information is released, and is taken to be some times as much at
 * those before it. turned (d, n): T z.
 */
static void measure_excess(joiner_t *j, size_t r, const double *ratio, const double *turned) {
  const tacit_wide_t *w = j->w;
  const tacit_frame_t *f = &w->frame;
  static const double elsewhere = 5;
  double sum = 0, square = 0, total = 0;
  for (size_t k = 0; k < j->n; k++) {
    double norm = 0, share = w->surrogate->weight[k] * f->weights[k] * f->norms[k];
    for (size_t i = 0; i < j->d; i++) {
      norm += turned[i * j->n + k] * turned[i * j->n + k];
    }
    double off = norm > 0 ? ratio[k] * f->norms[k] / norm : 1;
    total += share;
    sum += share * off;
    square += share * off * off;
  }
  j->excess[r] = is_sound() * fmax(square / total - sum * sum / (total * total), 0) *
                 fmin((r + 1 == TACIT_AWARE_ROUNDS ? 1 : elsewhere) * f->doubt, 1 / w->rounds->weight);
}

/* turns, maps and from of each round. False: numbers cannot hold them. */
static bool place_rounds(joiner_t *j) {
  const tacit_wide_t *w = j->w;
  size_t d = j->d, n = j->n;
  double *white = j->lines, *scaled = white + d * n, *ratio = scaled + d * n, *line = ratio + n;
  double *inverse = j->work, *other = inverse + d * d, *half = other + d * d, *step = half + d * d,
         *at = step + d;
  tacit_aware_kernel()->multiply(d, d, n, w->frame.whiten, w->surrogate->x, white);
  if (!factor_rows(j, white, NULL, scaled, line, other)) {
    return false;
  }
  tacit_invert_lower(d, other, inverse);
  fill_relative(j, inverse, half);
  for (size_t r = 0; r < w->rounds->n_rounds; r++) {
    fill_sampled(j, r, white, inverse, scaled, line, other, half);
    double *map = j->maps + r * d * d, *t = j->turns + r * d * d;
    compare_weights(j, r, ratio);
    if (!factor_rows(j, white, ratio, scaled, line, other)) {
      return false;
    }
    for (size_t i = 0; i < d * d; i++) { /* above the diagonal a factor may be anything */
      other[i] = i % d > i / d ? 0 : other[i];
    }
    tacit_aware_kernel()->multiply(d, d, d, other, inverse, t);
    tacit_aware_kernel()->multiply(d, d, n, t, white, scaled);
    measure_excess(j, r, ratio, scaled);
    for (size_t i = 0; i < d; i++) {
      step[i] = j->theta[i] - w->theta[r * d + i];
    }
    tacit_frame_coordinates(&w->frame, d, step, at);
    turn(j, r, at, j->from + r * d);
    tacit_aware_kernel()->multiply(d, d, d, w->whiten + r * d * d, w->frame.inverse, other);
    tacit_aware_kernel()->multiply(d, d, d, other, t, map);
    for (size_t i = 0; i < d * d; i++) {
      map[i] *= w->rounds->n;
    }
  }
  return true;
}

/* transposed <- a' */
static void transpose(size_t d, const double *a, double *transposed) {
  for (size_t i = 0; i < d * d; i++) {
    transposed[i % d * d + i / d] = a[i];
  }
}

/* seen (d, d) <- T_b' spread T_a, for rounds a and b. other, half: (d, d) */
static void turn_spread(const joiner_t *j, size_t a, size_t b, double *other, double *half, double *seen) {
  size_t d = j->d;
  transpose(d, j->turns + b * d * d, other);
  tacit_aware_kernel()->multiply(d, d, d, other, j->spread, half);
  tacit_aware_kernel()->multiply(d, d, d, half, j->turns + a * d * d, seen);
}

static double trace_of(size_t d, const double *a) {
  double trace = 0;
  for (size_t i = 0; i < d; i++) {
    trace += a[i * d + i];
  }
  return trace;
}

/* spread <- L^-T factor factor' L^-1. */
static void fill_spread(joiner_t *j) {
  size_t d = j->d;
  double *root = j->work, *column = root + d * d, *out = column + d * d;
  for (size_t a = 0; a < d; a++) {
    for (size_t i = 0; i < d; i++) {
      column[i] = j->factor[i * d + a];
    }
    tacit_frame_coordinates(&j->w->frame, d, column, out);
    for (size_t i = 0; i < d; i++) {
      root[i * d + a] = out[i];
    }
  }
  for (size_t i = 0; i < d * d; i++) {
    j->spread[i] = tacit_dot(d, root + i / d * d, root + i % d * d);
  }
  size_t last = j->w->rounds->n_rounds - 1;
  turn_spread(j, last, last, root, column, out);
  j->trace = trace_of(d, out);
}

/*
 * What the error E of the information does to rounds a and b: map_a E D_a and map_b E D_b have covariance
 * variance map_a (D_a . D_b I + D_b D_a') map_b', of which the mean over the posterior is added to the block.
 */
static void add_error(joiner_t *j, size_t a, size_t b) {
  size_t d = j->d;
  double *middle = j->work, *half = middle + d * d, *other = half + d * d, *block = other + d * d;
  const double *from_a = j->from + a * d, *from_b = j->from + b * d;
  turn_spread(j, a, b, other, half, block);
  double variance = j->common + (a == b ? j->excess[a] : 0),
         along = trace_of(d, block) + tacit_dot(d, from_a, from_b);
  for (size_t i = 0; i < d * d; i++) {
    middle[i] = variance * ((i / d == i % d ? along : 0) + block[i] + from_b[i / d] * from_a[i % d]);
  }
  transpose(d, j->maps + b * d * d, other);
  tacit_aware_kernel()->multiply(d, d, d, j->maps + a * d * d, middle, half);
  tacit_aware_kernel()->multiply(d, d, d, half, other, block);
  for (size_t i = 0; i < d * d; i++) {
    j->cov[(a * d + i / d) * j->width + b * d + i % d] += block[i];
  }
}

/* cov, lower triangle of blocks: sampling, the error of the information, noise, doubt, and what the number of
 * units may be off by. */
static void fill_covariance(joiner_t *j, const double *mean) {
  const tacit_wide_t *w = j->w;
  const tacit_rounds_t *r = w->rounds;
  size_t d = j->d, n = j->n;
  double *line = j->lines, *weighted = line + n, *block = j->work, *half = block + d * d,
         *other = half + d * d, *seen = other + d * d;
  for (size_t k = 0; k < n; k++) {
    line[k] = r->n * w->surrogate->weight[k] * j->variance[k];
  }
  for (size_t a = 0; a < r->n_rounds; a++) {
    tacit_aware_kernel()->scale(n, d, r->rows + a * d * n, line, weighted);
    for (size_t b = 0; b <= a; b++) {
      tacit_aware_kernel()->project(n, d, d, weighted, r->rows + b * d * n, block);
      tacit_aware_kernel()->multiply(d, d, d, j->sampled + a * d * d, j->relative, half);
      transpose(d, j->sampled + b * d * d, other);
      tacit_aware_kernel()->multiply(d, d, d, half, other, seen);
      for (size_t i = 0; i < d * d; i++) {
        size_t row = a * d + i / d, column = b * d + i % d;
        j->cov[row * j->width + column] = block[i] + r->n * seen[i] + (a == b ? r->doubt[a * d * d + i] : 0) +
                                          (row == column ? r->noise_var[a] : 0) +
                                          r->n_error * r->n_error * mean[row] * mean[column];
      }
      add_error(j, a, b);
    }
  }
}

/* jacobian, and mean (width) of the stacked scores at theta. */
static void fill_mean(joiner_t *j, double *mean) {
  const tacit_wide_t *w = j->w;
  const tacit_surrogate_t *s = w->surrogate;
  const tacit_rounds_t *r = w->rounds;
  size_t d = j->d, n = j->n;
  double *weighted = j->lines, *line = weighted + d * n, *moved = j->work, *half = moved + d,
         *act = half + d * d, *own = act + d * d, *here = own + d * d;
  for (size_t k = 0; k < n; k++) {
    line[k] = r->n * s->weight[k] * j->slope[k];
  }
  tacit_aware_kernel()->scale(n, d, s->x, line, weighted);
  tacit_round_spread(s, w->settings, j->theta, line);
  for (size_t a = 0; a < r->n_rounds; a++) {
    const double *rows = r->rows + a * d * n;
    tacit_aware_kernel()->project(n, d, d, rows, weighted, j->plain + a * d * d);
    tacit_aware_kernel()->multiply(d, d, d, w->frame.inverse, j->turns + a * d * d, half);
    transpose(d, half, own);
    tacit_aware_kernel()->multiply(d, d, d, w->frame.error, own, act); /* E T' L^-T */
    tacit_aware_kernel()->multiply(d, d, d, j->maps + a * d * d, act, half);
    for (size_t i = 0; i < d * d; i++) {
      j->jacobian[a * d * d + i] = j->plain[a * d * d + i] + half[i];
    }
    for (size_t k = 0; k < n; k++) {
      here[k] = r->n * s->weight[k] * (line[k] - r->spread[a * n + k]);
    }
    tacit_aware_kernel()->project(n, d, 1, rows, here, mean + a * d);
    for (size_t i = 0; i < d; i++) {
      moved[i] = j->theta[i] - w->theta[a * d + i];
    }
    for (size_t i = 0; i < d; i++) {
      mean[a * d + i] += tacit_dot(d, half + i * d, moved);
    }
  }
}

/* combine <- J' C^-1; information (d, d) <- J' C^-1 J. */
static bool fill_combination(joiner_t *j, double *information) {
  size_t d = j->d, width = j->width;
  double *half = j->combine; /* rows: L^-1 of the columns of J, then of C^-1 */
  if (!factorise(j, width, j->cov)) {
    return false;
  }
  for (size_t a = 0; a < d; a++) {
    for (size_t i = 0; i < width; i++) {
      half[a * width + i] = j->jacobian[i * d + a];
    }
    tacit_solve_lower(width, j->cov, half + a * width);
  }
  for (size_t i = 0; i < d * d; i++) {
    information[i] = tacit_dot(width, half + i / d * width, half + i % d * width);
  }
  for (size_t a = 0; a < d; a++) {
    tacit_solve_upper(width, j->cov, half + a * width);
  }
  return true;
}

/* seen (n_rounds, d, d) <- combine times the maps; sum <- their sum; gains <- covariance of the information's
 * error for |D|^2 = 1. */
static void fill_seen(joiner_t *j, double *seen, double *sum, double *gains) {
  size_t d = j->d;
  double *part = j->work;
  memset(sum, 0, d * d * sizeof *sum);
  memset(gains, 0, d * d * sizeof *gains);
  for (size_t r = 0; r < j->w->rounds->n_rounds; r++) {
    double *own = seen + r * d * d;
    for (size_t i = 0; i < d; i++) {
      memcpy(part + i * d, j->combine + i * j->width + r * d, d * sizeof *part);
    }
    tacit_aware_kernel()->multiply(d, d, d, part, j->maps + r * d * d, own);
    for (size_t i = 0; i < d * d; i++) {
      sum[i] += own[i];
      gains[i] += j->excess[r] * tacit_dot(d, own + i / d * d, own + i % d * d);
    }
  }
  for (size_t i = 0; i < d * d; i++) {
    gains[i] += j->common * tacit_dot(d, sum + i / d * d, sum + i % d * d);
  }
}

/* rotation (d, d) <- Q' L^-1, information = L L', Q the eigenvectors of L^-1 gains L^-T, whose eigenvalues
 * w->gain takes. */
static bool rotate(joiner_t *j, const double *information, const double *gains, double *rotation) {
  tacit_wide_t *w = j->w;
  size_t d = j->d;
  double *factor = j->work, *inverse = factor + d * d, *half = inverse + d * d, *whitened = half + d * d,
         *vectors = whitened + d * d;
  memcpy(factor, information, d * d * sizeof *factor);
  if (!factorise(j, d, factor)) {
    return false;
  }
  tacit_invert_lower(d, factor, inverse);
  tacit_sandwich(d, inverse, gains, half, whitened);
  tacit_eigen(d, whitened, w->gain, vectors);
  transpose(d, vectors, half);
  tacit_aware_kernel()->multiply(d, d, d, half, inverse, rotation);
  for (size_t i = 0; i < d;
       i++) { /* no variance below a twentieth of what it is on average, wherever theta is */
    w->gain[i] = fmax(fmin(w->gain[i], 0.95 / fmax(w->reference, 1e-300)), 0);
  }
  return true;
}

/* centre and reference: the rounds' distances from theta, weighed as they are seen; centre lacks what the
 * residual at theta adds. */
static void place_centre(joiner_t *j, const double *seen, const double *sum) {
  tacit_wide_t *w = j->w;
  size_t d = j->d;
  double *at = w->centre, total = tacit_dot(d * d, sum, sum);
  memset(at, 0, d * sizeof *at);
  for (size_t r = 0; r < w->rounds->n_rounds && total > 0; r++) {
    double share = tacit_dot(d * d, seen + r * d * d, sum) / total;
    for (size_t i = 0; i < d; i++) {
      at[i] += share * j->from[r * d + i];
    }
  }
  w->reference = j->trace + tacit_dot(d, at, at);
}

/* back: from residuals, which move by rotation information (theta - .), to the frame; centre: what they are
 * at theta brings nothing. */
static void place_back(joiner_t *j, const double *rotation) {
  tacit_wide_t *w = j->w;
  size_t d = j->d;
  double *at = j->work, *turned = at + d;
  for (size_t i = 0; i < d;
       i++) { /* (rotation information)^-1 = rotation', the information being (rotation' rotation)^-1 */
    tacit_frame_coordinates(&w->frame, d, rotation + i * d, at);
    turn(j, w->rounds->n_rounds - 1, at, turned);
    for (size_t a = 0; a < d; a++) {
      w->back[a * d + i] = turned[a];
    }
  }
  (void)tacit_wide_log_density(w, j->theta, NULL);
  for (size_t i = 0; i < d; i++) {
    w->centre[i] += tacit_dot(d, w->back + i * d, w->residual);
  }
}

/*
 * rows and constant of what is evaluated, for the combination `rotated` (d, width). The information's error
 * adds to how the means of the combination move with theta; they are multiplied by a matrix that makes them
 * do so at theta, J_rotated (plain_rotated)^-1, rather than get a linear term, which far away would go on
 * where means end.
 */
static bool fill_evaluated(joiner_t *j, const double *mean, const double *rotated) {
  tacit_wide_t *w = j->w;
  const tacit_rounds_t *r = w->rounds;
  size_t d = j->d, n = j->n;
  double *plain = j->work, *all = plain + d * d, *gram = all + d * d, *times = gram + d * d,
         *half = times + d * d, *whiten = half + d * d, *combined = j->lines;
  transpose(d, w->frame.whiten, whiten);
  tacit_aware_kernel()->multiply(d, j->width, d, rotated, j->plain, half);
  tacit_aware_kernel()->multiply(d, d, d, half, whiten, plain);
  tacit_aware_kernel()->multiply(d, j->width, d, rotated, j->jacobian, half);
  tacit_aware_kernel()->multiply(d, d, d, half, whiten, all);
  transpose(d, plain, half);
  tacit_aware_kernel()->multiply(d, d, d, all, half, times); /* all plain' (plain plain')^-1 = all plain^-1 */
  tacit_aware_kernel()->multiply(d, d, d, plain, half, gram);
  if (!factorise(j, d, gram)) {
    return false;
  }
  for (size_t i = 0; i < d; i++) {
    tacit_solve_lower(d, gram, times + i * d);
    tacit_solve_upper(d, gram, times + i * d);
  }
  tacit_aware_kernel()->multiply(d, j->width, n, rotated, r->rows, combined);
  tacit_aware_kernel()->multiply(d, d, n, times, combined, w->rows);
  memset(w->constant, 0, d * sizeof *w->constant);
  (void)tacit_wide_log_density(w, j->theta, NULL);
  for (size_t i = 0; i < d; i++) {
    w->constant[i] = -w->residual[i];
    for (size_t k = 0; k < j->width; k++) {
      w->constant[i] += rotated[i * j->width + k] * (r->released[k] - mean[k]);
    }
  }
  return true;
}

static bool join(joiner_t *j, double *memory) {
  size_t d = j->d, n_rounds = j->w->rounds->n_rounds;
  double *mean = memory, *information = mean + j->width, *seen = information + d * d,
         *sum = seen + n_rounds * d * d, *gains = sum + d * d, *rotation = gains + d * d,
         *rotated = rotation + d * d;
  average(j);
  if (!place_rounds(j)) {
    return false;
  }
  fill_spread(j);
  fill_mean(j, mean);
  fill_covariance(j, mean);
  if (!fill_combination(j, information)) {
    return false;
  }
  fill_seen(j, seen, sum, gains);
  place_centre(j, seen, sum);
  if (!rotate(j, information, gains, rotation)) {
    return false;
  }
  tacit_aware_kernel()->multiply(d, d, j->width, rotation, j->combine, rotated);
  if (!fill_evaluated(j, mean, rotated)) {
    return false;
  }
  place_back(j, rotation);
  return true;
}

/* False: numbers cannot hold what scores say around theta. */
static tacit_status_t join_at(tacit_wide_t *w, const double *theta, const double *factor, double ridge,
                              bool *is_joined, tacit_error_t *err) {
  size_t d = w->surrogate->d, n = w->surrogate->n_rows, r = w->rounds->n_rounds, width = r * d;
  joiner_t j = {.w = w,
                .theta = theta,
                .factor = factor,
                .d = d,
                .n = n,
                .width = width,
                .ridge = ridge,
                .common = is_sound() * w->frame.variance};
  double *more;
  double **const arrays[] = {&j.variance, &j.slope,   &j.turns,  &j.maps,  &j.sampled,
                             &j.relative, &j.from,    &j.spread, &j.plain, &j.jacobian,
                             &j.cov,      &j.combine, &j.lines,  &j.work,  &more};
  const size_t sizes[] = {n,
                          n,
                          r * d * d,
                          r * d * d,
                          r * d * d,
                          d * d,
                          r * d,
                          d * d,
                          width * d,
                          width * d,
                          width * width,
                          d * width,
                          (width + 2 * d + 2) * n,
                          6 * d * d + 4 * d + n,
                          width + (4 + r) * d * d + d * width};
  double *memory = tacit_alloc_arrays(sizeof sizes / sizeof sizes[0], arrays, sizes);
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  *is_joined = join(&j, more);
  tacit_free(memory);
  return TACIT_OK;
}

/*
 * Scores that fit no data of this kind lead to where all responses are as good as certain, and a combination
 * that is best around there cannot be formed. One that is best nearer to the origin can, or one of scores
 * that vary more; it is not what intervals there should rest on, which is remembered.
 */
tacit_status_t tacit_wide_join(tacit_wide_t *w, const double *theta, const double *factor,
                               tacit_error_t *err) {
  enum { N_POINTS = 8 };
  double point[TACIT_NOISE_AWARE_MAX_FEATURES];
  bool is_joined = false;
  tacit_status_t status = TACIT_OK;
  for (int i = 0; i < N_POINTS + N_RIDGES - 1 && status == TACIT_OK && !is_joined; i++) {
    for (size_t k = 0; k < w->surrogate->d; k++) {
      point[k] = i + 1 < N_POINTS ? ldexp(theta[k], -i) : 0;
    }
    w->is_off = i > 0;
    status = join_at(w, point, factor, i < N_POINTS ? 0 : ridges[i - N_POINTS + 1], &is_joined, err);
  }
  return status != TACIT_OK || is_joined
             ? status
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "releases",
                               "the covariance of the released scores is not positive");
}
