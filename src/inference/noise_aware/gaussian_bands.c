/*
 * A linear regression's last releases: lengths of whitened rows and of their scores, rows in bands, scores in
 * bands; and the posterior's parts by them. The bands of scores together are the score of least squares
 * itself: there is no clamp and no weight.
 */
#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/gaussian.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "noise_aware/schedule.h"

enum { MAX = GAUSSIAN_MAX };

/* Floors: of a mean square, in units of the scale found before; of squares of scores in any direction, beside
 * what equal variances imply. */
static const double square_least = 0.05, squares_least = 0.3;
/* Of a feature's scale: its relative error where it is not known, and a share of the column's sd that it is
 * then not below. */
static const double vague = 0.3, least_of_column = 0.3;
/* By how much the mean square of residuals is off that was found before. */
static const double scale_off = 0.25;
/* The same of squares of scores of units of several rows, in those if rows are independent. */
static const double units_off = 0.5;
/* What sigma counts beside a coefficient: measured, docs/theory.md, 18.20. */
static const double square_weight = 5;
/* Of the directions of scores in a band, by what is expected. */
static const double agreement = 0.3;
/* Bands from so many radii of the core on are far; mean square of scores in a band over its radius squared,
 * for one. */
static const double far_from = 16, usual_square = 0.5;
/* A count that is known to so many tells what is there; how many sds of its noise may hide. */
static const double few = 5, hidden_sds = 1.5;

static double multiplier(const tacit_gaussian_t *g, double share) {
  return schedule_multiplier(g->settings->rho, share);
}

/* ---- releases ---- */

static tacit_linear_point_t point_of(const tacit_gaussian_t *g) {
  return (tacit_linear_point_t){g->d, g->inverse, g->theta, g->scale, g->square_weight};
}

static tacit_aware_banded_t banded_rows(tacit_gaussian_t *g, const tacit_linear_point_t *point) {
  return (tacit_aware_banded_t){
      .of = tacit_linear_rows(point), .n_parts = 1, .parts = {{"whiten", g->d * g->d, g->inverse}}};
}

static tacit_aware_banded_t banded_scores(tacit_gaussian_t *g, const tacit_linear_point_t *point) {
  return (tacit_aware_banded_t){.of = tacit_linear_scores(point),
                                .n_parts = g->square_weight > 0 ? 4 : 3,
                                .parts = {{"whiten", g->d * g->d, g->inverse},
                                          {"theta", g->d, g->theta},
                                          {"scale", 1, &g->scale},
                                          {"square weight", 1, &g->square_weight}}};
}

static tacit_status_t release_lengths(tacit_gaussian_t *g, const tacit_aware_banded_t *at, double unit,
                                      double top, tacit_band_lengths_t *lengths, tacit_error_t *err) {
  double inner[BAND_CELLS];
  tacit_band_cells(lengths, unit, top);
  lengths->are_far_rare = lengths == &g->rows;
  tacit_band_inner_edges(lengths, inner);
  tacit_status_t status = tacit_aware_may_start(g->settings, err);
  TACIT_THEN(status,
             tacit_aware_release_lengths(g->curator, g->settings, multiplier(g, g->shares.lengths / 2), at,
                                         lengths->n - 1, inner, lengths->counts, &lengths->noise_sd, err));
  return status == TACIT_OK && !tacit_band_learn_counts(lengths, g->n) ? tacit_error_memory(err) : status;
}

/* The length of a score that is expected, if the rows of a unit are independent. */
static double usual_score(const tacit_gaussian_t *g) {
  return g->square_weight > 0 ? hypot(sqrt((double)g->d * g->kept), g->square_weight) : sqrt((double)g->d);
}

/* No row and no score is longer, in sqrt(d) and usual scores: of the cube's corners, and a response in
 * [-1, 1]. */
static void find_tops(tacit_gaussian_t *g, double *row, double *score) {
  double square = 0, most = 1;
  for (size_t i = 0; i < g->d; i++) {
    double sum = 0;
    for (size_t j = 0; j < g->d; j++) {
      sum += fabs(g->inverse[i * g->d + j]);
    }
    square += sum * sum;
    most += fabs(g->theta[i]);
  }
  *row = sqrt(square / (double)g->d);
  *score = *row * most / g->scale;
  if (g->square_weight > 0) {
    *score = hypot(*row * sqrt((double)g->d), g->square_weight) * most / (g->scale * usual_score(g));
  }
  g->reach = sqrt((double)g->d) * most / g->scale;
}

static tacit_status_t learn_lengths(tacit_gaussian_t *g, const tacit_aware_banded_t *rows,
                                    const tacit_aware_banded_t *scores, tacit_error_t *err) {
  double row, score, mu = tacit_gaussian_mu(g->settings);
  find_tops(g, &row, &score);
  tacit_status_t status = release_lengths(g, rows, sqrt((double)g->d), row, &g->rows, err);
  TACIT_THEN(status, release_lengths(g, scores, usual_score(g), score, &g->scores, err));
  if (status == TACIT_OK) {
    tacit_band_split_squares(&g->rows, g->d, sqrt(2) / (mu * sqrt(g->shares.rows)), &g->row_bands);
    double of_square = g->square_weight > 0 ? pow(g->square_weight, 4) : 1;
    tacit_band_split_scores(&g->scores, g->d, 2 / (mu * sqrt(g->shares.scores)), g->n * g->kept,
                            2 * g->n * g->kept * of_square, g->dim > g->d ? square_weight : 0, agreement,
                            &g->score_bands);
  }
  return status;
}

/* values: room for all bands. */
static tacit_status_t release_bands(tacit_gaussian_t *g, const tacit_aware_banded_t *at, bool has_count,
                                    double share, tacit_band_split_t *split, double *values, double *noise_sd,
                                    tacit_error_t *err) {
  tacit_status_t status = tacit_aware_may_start(g->settings, err);
  *noise_sd = 0;
  return status == TACIT_OK
             ? tacit_aware_release_bands(g->curator, g->settings, multiplier(g, share), at, split->n,
                                         split->radii, has_count, values, noise_sd, err)
             : status;
}

/* ---- what they tell ---- */

/*
 * Rows were whitened by moments of themselves, weighted: in the metric theirs, of all bands together, are
 * what is expected but for that release's noise and what weights hid, as lengths tell: E tr N_0^-1 N is d (1
 * + (d + 1) v) for entries of N_0 off by v.
 */
static tacit_band_guess_t guess_moments(const tacit_gaussian_t *g) {
  const double coarse = 0.15, diagonal_off = 0.2,
               off = 0.1; /* coarse: what cells may make of a mean square */
  const tacit_band_lengths_t *l = &g->rows;
  double trace = 0, variance = 0, n = 0;
  for (size_t k = 0; k < l->n; k++) {
    double square = fmax(l->edges[k], 0.3 * l->edges[k + 1]) * l->edges[k + 1];
    trace += l->mean[k] * square;
    variance += fmax(l->square[k] - l->mean[k] * l->mean[k], 0) * square * square;
    n += l->mean[k];
  }
  double hidden =
      (double)g->d *
      fmax(fabs(trace / n - 1) - coarse - (double)(g->d + 1) * g->entry_var - 2 * sqrt(variance) / n, 0);
  return (tacit_band_guess_t){fmin(2 * g->entry_var + pow(diagonal_off + hidden, 2), 0.36),
                              fmin(g->entry_var + pow(off + 0.5 * hidden, 2), 0.16), g->expected,
                              g->expected_var};
}

/* Moments of rows: the constant is one, and eigenvalues are raised to the noise. */
static void set_moments(tacit_gaussian_t *g, const double *released, double noise_sd) {
  tacit_linear_posterior_t *p = &g->posterior;
  size_t d = g->d, n = 0;
  double off[MAX * MAX], mean[MAX] = {0}, length = 0;
  const tacit_band_guess_t guess = guess_moments(g);
  tacit_band_squares(&g->rows, &g->row_bands, d, g->n, released, noise_sd, &guess, p->moments, p->variances);
  p->moments[0] = 1;
  p->variances[0] = 0;
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i; j < d; j++) {
      off[n++] = p->variances[i * d + j];
    }
    mean[i] = i > 0 ? p->moments[i] : 0;
    length += mean[i] * mean[i];
  }
  double shorter = fmin(1, 0.9 / fmax(sqrt(length), 1e-9)),
         least = fmin(fmax(0.5 * sqrt(tacit_median(n - 1, off + 1) * (double)d), 0.03), 0.5);
  double cov[MAX * MAX], *work = g->work;
  size_t k = d - 1;
  for (size_t i = 0; i < d; i++) {
    mean[i] *= shorter;
  }
  for (size_t a = 0; a < k * k; a++) {
    size_t i = a / k + 1, j = a % k + 1;
    cov[a] = (p->moments[i * d + j] - mean[i] * mean[j]) / sqrt(g->expected[i] * g->expected[j]);
  }
  tacit_raise_eigenvalues(k, cov, least, work);
  for (size_t a = 0; a < k * k; a++) {
    size_t i = a / k + 1, j = a % k + 1;
    p->moments[i * d + j] = cov[a] * sqrt(g->expected[i] * g->expected[j]) + mean[i] * mean[j];
  }
  for (size_t i = 1; i < d; i++) {
    p->moments[i] = p->moments[i * d] = mean[i];
  }
}

/* a (d, d) <- A a A' for lower triangular A, made symmetric. */
static void sandwich(size_t d, const double *lower, double *a) {
  double product[MAX * MAX];
  tacit_sandwich(d, lower, a, product, a);
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i + 1; j < d; j++) {
      a[i * d + j] = a[j * d + i] = 0.5 * (a[i * d + j] + a[j * d + i]);
    }
  }
}

/* squares (d, d): their eigenvalues in units of what equal variances imply are raised to a floor. False where
 * moments are not positive after all. */
static bool raise_squares(tacit_gaussian_t *g, double square, double *squares) {
  size_t d = g->d;
  double factor[MAX * MAX], inverse[MAX * MAX];
  for (size_t i = 0; i < d * d; i++) {
    factor[i] = g->posterior.moments[i] * square;
  }
  if (!tacit_cholesky(d, factor)) {
    return false;
  }
  tacit_invert_lower(d, factor, inverse);
  sandwich(d, inverse, squares);
  tacit_raise_eigenvalues(d, squares, squares_least * g->kept, g->work);
  sandwich(d, factor, squares);
  return true;
}

/* Mean fourth power of lengths up to a cell, in units, by counts. */
static double fourth_power(const tacit_band_lengths_t *l, size_t n_cells) {
  double sum = 0, n = 0;
  for (size_t k = 0; k < l->n; k++) {
    sum += k < n_cells ? l->mean[k] * pow(fmax(l->edges[k], 0.3 * l->edges[k + 1]) * l->edges[k + 1], 2) : 0;
    n += l->mean[k];
  }
  return sum / n;
}

/*
 * Variance of S by records that noise hides and a right model denies: in each band up to far ones and bounds,
 * one and a half sds of the noise of its count, next to none where that is of a few. (2 % of errors 8 times
 * as wide, 10 000 records, epsilon .5: one fit in five took them for none, and sigma was 5 of its sds off.)
 */
static double unseen_square_var(const tacit_gaussian_t *g) {
  const tacit_band_split_t *bands = &g->score_bands;
  double sum = 0, end = fmin(g->reach, far_from * bands->radii[0]);
  for (size_t b = 1; b < bands->n && bands->radii[b - 1] < end; b++) {
    double sd = g->tails.count_sd[b], hidden = hidden_sds * sd * sd * sd / (sd * sd + few * few),
           radius = fmin(bands->radii[b], end);
    sum += pow(hidden * usual_square * radius * radius / ((double)g->d * g->kept * g->n), 2);
  }
  return sum;
}

/* Mean over units of the square of a unit's mean square residual: in each band it is the share of the square
 * of the length that it is on average. */
static double fourth_of_units(const tacit_gaussian_t *g, size_t n_cells) {
  const tacit_band_lengths_t *l = &g->scores;
  double weight2 = g->square_weight * g->square_weight, fourth = 0;
  for (size_t b = 0; b < g->score_bands.n; b++) {
    double squares = 0, fourths = 0;
    for (size_t k = g->score_bands.first[b]; k < g->score_bands.first[b + 1] && k < n_cells; k++) {
      double square = l->unit * l->unit * fmax(l->edges[k], 0.3 * l->edges[k + 1]) * l->edges[k + 1];
      squares += l->mean[k] * square / g->n;
      fourths += l->mean[k] * square * square / g->n;
    }
    double share = squares > 0 ? fmin(g->tails.last[b] / squares, 1) / weight2 : 0;
    fourth += share * share * fourths;
  }
  return fourth;
}

/* S and its error: the noise of each band's squares, and of sampling; a score is a row times a residual, and
 * so is its fourth power. */
static void set_square(tacit_gaussian_t *g) {
  tacit_linear_posterior_t *p = &g->posterior;
  size_t n_cells = g->score_bands.first[1]; /* up to the last band that holds somebody */
  bool has_units = g->square_weight > 0;
  double unit = has_units ? g->square_weight * g->square_weight : 1;
  p->square = p->square_var = 0;
  for (size_t b = 0; b < g->score_bands.n; b++) {
    p->square += g->tails.last[b] / unit;
    p->square_var += g->tails.last_var[b] / (unit * unit);
    n_cells = g->tails.records[b] > 0.5 ? g->score_bands.first[b + 1] : n_cells;
  }
  p->square = fmax(p->square, square_least);
  double fourth = has_units ? fourth_of_units(g, n_cells)
                            : fourth_power(&g->scores, n_cells) / fmax(fourth_power(&g->rows, g->rows.n), 1);
  fourth = fmax(fourth, (1 + g->kept) * p->square * p->square);
  p->square_var += (fourth - p->square * p->square) / g->n;
  p->square_var += unseen_square_var(g);
}

/* The mean square of residuals by the core, shrunk towards what was found before. */
static double square_by_core(const tacit_gaussian_t *g, const double *released, double noise_sd) {
  double unit = pow(g->score_bands.radii[0], 2) / g->n, var = pow(fmax(noise_sd, 1e-6) * unit, 2),
         before = scale_off * scale_off;
  return fmin(fmax(1 + before / (before + var) * (released[g->d + 1] * unit - 1), 0.25), 4);
}

/* The same of units of several rows, in usual squares of scores: more, the more rows have in common. */
static double square_of_units(const tacit_gaussian_t *g, const tacit_band_scores_t *of) {
  double unit = pow(g->score_bands.radii[0] / usual_score(g), 2) / g->n,
         var = (double)of->m * pow(fmax(of->noise_sd, 1e-6) * unit, 2), before = units_off * units_off;
  double found = tacit_band_trace(of, 0, of->m) * unit;
  return fmin(fmax(1 + before / (before + var) * (found - 1), 0.25), 4 / g->kept);
}

/* said (score_bands.n) <- records in each band, if residuals were normal whatever the row: rows' lengths are
 * known by counts, uniform in each cell. Of units of several rows, if all of a unit had one residual, which
 * has the longest tails. */
static void say_normal(const tacit_gaussian_t *g, double square, double *said) {
  enum { N_PLACES = 4 };
  const tacit_band_lengths_t *l = &g->rows;
  double root = sqrt(2 * square);
  memset(said, 0, g->score_bands.n * sizeof *said);
  for (size_t k = 0; k < l->n; k++) {
    for (size_t i = 0; i < N_PLACES; i++) {
      double length =
                 l->unit * (l->edges[k] + (l->edges[k + 1] - l->edges[k]) * ((double)i + 0.5) / N_PLACES),
             beyond = 1;
      length = g->square_weight > 0 ? hypot(length * sqrt(g->kept), g->square_weight) : length;
      for (size_t b = 0; b < g->score_bands.n; b++) {
        double further = erfc(g->score_bands.radii[b] / (fmax(length, 1e-9) * root));
        said[b] += l->mean[k] / N_PLACES * (beyond - further);
        beyond = further;
      }
    }
  }
}

/*
 * Joint moments tell of records that fit: the less noise there is beside sampling, the less they are asked,
 * and where there is none not at all.
 */
static void doubt_before(tacit_gaussian_t *g) {
  double noise = 0, sampling = 0;
  for (size_t j = 0; j < g->d; j++) {
    noise += g->tails.core_var + g->tails.tail_cov[j * g->d + j];
    sampling += g->tails.squares[j * g->d + j] / g->n;
  }
  g->posterior.before.var *= 1 + sampling / noise;
}

static tacit_status_t set_scores(tacit_gaussian_t *g, const double *released, double noise_sd,
                                 tacit_error_t *err) {
  tacit_linear_posterior_t *p = &g->posterior;
  tacit_band_tails_t *tails = &g->tails;
  size_t d = g->d;
  noise_sd *= TACIT_IS_PLANTED(TACIT_FAULT_HALF_NOISE) ? 0.5 : 1;
  bool has_units = g->square_weight > 0;
  const tacit_band_scores_t of = {
      .lengths = &g->scores,
      .split = &g->score_bands,
      .d = d,
      .m = d + has_units,
      .n = g->n,
      .released = released,
      .noise_sd = noise_sd,
      .said = g->said,
      .shape = p->moments,
  };
  say_normal(g, has_units ? square_of_units(g, &of) : square_by_core(g, released, noise_sd), g->said);
  if (!tacit_band_learn_scores(&of, tails)) {
    return tacit_error_memory(err);
  }
  set_square(g);
  if (!raise_squares(g, p->square, tails->squares)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "moments",
                           "moments of rows are not positive; this should not happen, please report it");
  }
  doubt_before(g);
  memcpy(p->score, tails->sum, d * sizeof *p->score);
  bool is_sound = !TACIT_IS_PLANTED(TACIT_FAULT_NO_DISCREPANCY);
  for (size_t i = 0; i < d * d; i++) {
    p->cov[i] = (is_sound ? tails->tail_cov[i] : 0) + tails->squares[i] / g->n +
                (i / d == i % d ? tails->core_var : 0);
    p->variances[i] *= is_sound;
  }
  return TACIT_OK;
}

/* What the posterior takes over from earlier releases. */
static void set_frame(tacit_gaussian_t *g) {
  tacit_linear_posterior_t *p = &g->posterior;
  size_t d = g->d;
  p->d = d;
  p->dim = g->dim;
  p->parameters = g->parameters;
  p->known_sd = g->settings->known_sd;
  p->scale = g->scale;
  p->location = g->location;
  memcpy(p->theta, g->theta, d * sizeof *p->theta);
  memcpy(p->factor, g->factor, d * d * sizeof *p->factor);
  tacit_multiply_upper(d, p->factor, p->theta, p->centre);
}

tacit_status_t tacit_gaussian_learn_bands(tacit_gaussian_t *g, tacit_error_t *err) {
  const tacit_linear_point_t point = point_of(g);
  const tacit_aware_banded_t rows = banded_rows(g, &point), scores = banded_scores(g, &point);
  double *values = tacit_alloc((size_t)BAND_CELLS * BAND_PACKED, sizeof *values), noise_sd = 0;
  tacit_status_t status = values == NULL       ? tacit_error_memory(err)
                          : g->curator != NULL ? tacit_linear_check(g->curator, &point, err)
                                               : TACIT_OK;
  TACIT_THEN(status, learn_lengths(g, &rows, &scores, err));
  if (status == TACIT_OK) {
    set_frame(g);
    status = release_bands(g, &rows, false, g->shares.rows, &g->row_bands, values, &noise_sd, err);
  }
  if (status == TACIT_OK) {
    set_moments(g, values, noise_sd);
    for (size_t j = 1; j < g->d; j++) {
      tacit_feature_scale_t *scale = &g->scales[j];
      *scale = tacit_gaussian_feature_scale(g, g->posterior.moments, g->posterior.variances, j);
      if (scale->relative_error > vague) { /* counts of the column say roughly what moments do not */
        scale->sd = fmax(scale->sd, least_of_column * g->column_sd[j]);
      }
    }
    status = release_bands(g, &scores, true, g->shares.scores, &g->score_bands, values, &noise_sd, err);
  }
  TACIT_THEN(status, set_scores(g, values, noise_sd, err));
  tacit_free(values);
  return status;
}

/* ---- what is said of them ---- */

/* variance (d) <- of coefficients where scores have this covariance. False where moments are not positive. */
static bool variances_of(const tacit_gaussian_t *g, const double *cov, double *variance) {
  size_t d = g->d;
  double factor[MAX * MAX], column[MAX];
  memcpy(factor, g->posterior.moments, d * d * sizeof *factor);
  if (!tacit_cholesky(d, factor)) {
    return false;
  }
  for (size_t j = 0; j < d; j++) { /* row j of s_1 L^-T N^-1 */
    for (size_t i = 0; i < d; i++) {
      column[i] = g->scale * g->inverse[i * d + j];
    }
    tacit_solve_lower(d, factor, column);
    tacit_solve_upper(d, factor, column);
    variance[j] = 0;
    for (size_t i = 0; i < d * d; i++) {
      variance[j] += column[i / d] * cov[i] * column[i % d];
    }
  }
  return true;
}

double tacit_gaussian_square_error(const tacit_gaussian_t *g) {
  return sqrt(g->posterior.square_var) / g->posterior.square;
}

/* Mean square of a number of a score over that of a residual; 1 of units of one row. */
static double mean_square_kept(const tacit_gaussian_t *g) {
  double sum = 0;
  for (size_t j = 0; j < g->d; j++) {
    sum += g->tails.squares[j * g->d + j] / (double)g->d;
  }
  return g->square_weight > 0 ? sum / g->posterior.square : 1;
}

/* Squares of scores in band b beyond those of as many as normal residuals put there: where noise makes the
 * core small, usual scores lie beyond it. */
static double odd_squares(const tacit_gaussian_t *g, size_t b) {
  const tacit_band_tails_t *tails = &g->tails;
  return tails->expected[b] * fmax(1 - g->said[b] / fmax(tails->records[b], 1e-9), 0);
}

/*
 * Above 1 where one sd of a count's noise at the bounds would move coefficients by 2.25 of their sds; or
 * where intervals are wider than those of sampling and what makes them so is doubted: squares beyond the
 * core, but for those of normal residuals, are half of all, or a part of them and the most of a coefficient's
 * variance is what is not known of them. Measured: docs/theory.md, 18.9.
 */
double tacit_gaussian_tail_doubt(const tacit_gaussian_t *g, const double *cov) {
  const double wider_most = 1.3, part_some = 0.4, squares_some = 0.5, part_most = 0.6, squares_few = 0.15,
               shift_most = 2.25;
  double tail[MAX], sampling[MAX], part = 0, wider = 0, beyond = 0,
                                   square = g->posterior.square * mean_square_kept(g);
  if (!variances_of(g, g->tails.tail_cov, tail) || !variances_of(g, g->tails.squares, sampling)) {
    return INFINITY;
  }
  for (size_t j = 0; j < g->d; j++) {
    double all = cov[j * g->d + j];
    part = fmax(part, tail[j] / all);
    wider = fmax(wider, sqrt(all * g->n / sampling[j]));
  }
  for (size_t b = 1; b < g->score_bands.n; b++) {
    beyond += odd_squares(g, b) / (double)g->d / square;
  }
  double tails =
      fmax(fmin(part / part_some, beyond / squares_some), fmin(part / part_most, beyond / squares_few));
  return fmax(fmin(tails, wider / wider_most),
              tacit_band_unseen_shift(&g->score_bands, &g->tails, 0, g->d, g->n, g->reach, g->posterior.cov) /
                  shift_most);
}

void tacit_gaussian_note(const tacit_gaussian_t *g, tacit_evidence_t *evidence) {
  double root = sqrt((double)g->d), beyond = 0;
  size_t n = g->score_bands.n;
  for (size_t b = 1; b < n; b++) {
    beyond += g->tails.records[b] / g->n;
  }
  snprintf(evidence->note, sizeof evidence->note,
           "Scores were released in %zu bands by their length, up to the bounds: no residual was clamped and "
           "no row weighted. About %.2g of them are beyond the "
           "first band (%.3g in sds of a score); intervals include what is not known of those.",
           n, beyond, g->score_bands.radii[0] / root);
}
