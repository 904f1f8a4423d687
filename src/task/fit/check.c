/* Private checks of a fit: how its records lie beside its predictions, as one more release, charged like any
 * other. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/sort.h"
#include "fit/fit_internal.h"
#include "report/read_internal.h"

enum { N_ROWS = 2000, MOST_DRAWS = 200 };

/* Counts of a bin are this far from their share of all, before any is released. */
static const double share_doubt = 0.3;
/* Residuals that are clamped are at most a third of a Pearson residual in variance. */
static const double pearson_reach = 3;

/* What a check needs of the fit: coefficients of scaled features. */
typedef struct checked {
  size_t d, n_draws;
  double sd,
      sd_error; /* gaussian: of residuals in units of the mapped response, and its relative posterior sd */
  double theta[TACIT_NOISE_AWARE_MAX_FEATURES];
  double *draws; /* (n_draws, d) */
  double *rows;  /* (N_ROWS, d): of the pseudo-population */
  double *means; /* (N_ROWS): predicted */
  size_t *bins;  /* (N_ROWS) */
  double cuts[TACIT_FIT_MAX_BINS], by_cuts[TACIT_FIT_MAX_BINS];
} checked_t;

/* ---- a fit to be checked ---- */

static tacit_status_t compare_schema(const tacit_fit_t *fit, const char *path, tacit_error_t *err) {
  tacit_fit_t *other;
  char *text = NULL;
  size_t n;
  if (path == NULL) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_fit_new(&other, "", err);
  TACIT_THEN(status, tacit_file_read(path, TACIT_SCHEMA_MAX_BYTES, &text, &n, err));
  TACIT_THEN(status, tacit_fit_keep_schema(other, text, n, path, err));
  if (status == TACIT_OK && strcmp(other->schema_text, fit->schema_text) != 0) {
    status =
        tacit_error_set(err, TACIT_ERR_DATA, "schema",
                        "%s is not the schema of the fit: leave out --schema to take the fit's own", path);
  }
  tacit_free(text);
  tacit_fit_free(other);
  return status;
}

tacit_status_t tacit_fit_begin_check(tacit_fit_t **fit, const char *path, const char *schema,
                                     tacit_error_t *err) {
  tacit_fit_t *of;
  *fit = NULL;
  tacit_status_t status = tacit_fit_reopen(&of, path, err);
  TACIT_THEN(status, tacit_fit_prepare_kept(of, err));
  if (status == TACIT_OK && of->program == NULL && tacit_schema_unit(of->schema) != NULL) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "unit",
                             "fits of families bernoulli, poisson and gaussian are checked by units of one "
                             "record, and here a unit may have several rows: fit the program (tacit model "
                             "write, then tacit fit FILE.stan), which is checked by units of any");
  }
  TACIT_THEN(status, tacit_fit_new(fit, of->formula, err));
  if (status != TACIT_OK) {
    tacit_fit_free(of);
    return status;
  }
  (*fit)->checked = of;
  (*fit)->checked_path = tacit_strdup(path);
  status = (*fit)->checked_path != NULL
               ? tacit_fit_keep_schema(*fit, of->schema_text, of->schema_length, of->schema_name, err)
               : tacit_error_memory(err);
  TACIT_THEN(status, compare_schema(*fit, schema, err));
  static const char *const same[] = {"family", "followed-to-bound"};
  for (size_t i = 0; i < 2 && status == TACIT_OK; i++) {
    status = tacit_fit_has(of, same[i])
                 ? tacit_settings_set(&(*fit)->given, same[i], tacit_fit_value(of, same[i]), err)
                 : TACIT_OK;
  }
  TACIT_THEN(status, tacit_settings_set(&(*fit)->given, "method", "noise-aware", err));
  if (status != TACIT_OK) {
    tacit_fit_free(*fit);
    *fit = NULL;
  }
  return status;
}

tacit_event_t tacit_fit_check_event(const tacit_fit_t *fit) {
  tacit_event_t event = {
      .kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = 1 / sqrt(2 * tacit_fit_aware_rho(fit)), .count = 1};
  strcpy(event.label, TACIT_FIT_CHECK_LABEL);
  return event;
}

/* ---- what the fit predicts ---- */

static bool is_gaussian(const tacit_fit_t *fit) { return fit->family == TACIT_FAMILY_GAUSSIAN; }

/* The response is what predictors speak of, but for a gaussian: centre + half times that. */
static void scale_of_response(const tacit_fit_t *fit, double *centre, double *half) {
  double lower = -1, upper = 1;
  if (is_gaussian(fit)) {
    tacit_design_response_range(fit->design, &lower, &upper);
  }
  *centre = 0.5 * (lower + upper);
  *half = 0.5 * (upper - lower);
}

/* Mean and relative sd of a gaussian's residual sd: the column after the coefficients, or known. */
static void take_sd(const tacit_fit_t *fit, const tacit_draws_t *draws, checked_t *c) {
  size_t n_kept = tacit_draws_n_kept(draws), all = n_kept * draws->n_chains;
  bool has_sd = is_gaussian(fit) && !(fit->checked->known_sd > 0);
  double centre, half, sum = 0, square = 0, row[TACIT_NOISE_AWARE_MAX_FEATURES + 1];
  scale_of_response(fit, &centre, &half);
  for (size_t i = 0; i < all && has_sd; i++) {
    tacit_fit_regression_row(fit, tacit_draws_row(draws, i / n_kept, draws->n_warmup + i % n_kept), row);
    double sd = row[c->d];
    sum += sd / (double)all;
    square += sd * sd / (double)all;
  }
  c->sd = has_sd ? sum / half : fit->checked->known_sd / half;
  c->sd_error = sum > 0 ? sqrt(fmax(square / (sum * sum) - 1, 0)) : 0;
}

/* Coefficients of scaled features from those reported: eta = sum b_j (centre_j + half_j z_j). */
static tacit_status_t take_draws(const tacit_fit_t *fit, const tacit_report_read_t *read, checked_t *c,
                                 tacit_error_t *err) {
  const tacit_draws_t *draws = &read->draws;
  size_t n_kept = tacit_draws_n_kept(draws), all = n_kept * draws->n_chains, step = all / MOST_DRAWS + 1;
  double middle, unit;
  scale_of_response(fit, &middle, &unit);
  size_t n_reported = tacit_fit_reported(fit)->n_reported;
  if (draws->n_reported != n_reported) {
    return tacit_error_set(err, TACIT_ERR_DATA, "draws",
                           "the draws are of %zu quantities, the formula's are %zu", draws->n_reported,
                           n_reported);
  }
  for (size_t i = 0; i < all; i++) {
    double row[TACIT_NOISE_AWARE_MAX_FEATURES + 1], scaled[TACIT_NOISE_AWARE_MAX_FEATURES] = {-middle / unit};
    tacit_fit_regression_row(fit, tacit_draws_row(draws, i / n_kept, draws->n_warmup + i % n_kept), row);
    for (size_t j = 0; j < c->d; j++) {
      double centre, half;
      tacit_design_scaling(fit->design, j, &centre, &half);
      scaled[j] += row[j] * half / unit;
      scaled[0] += j > 0 ? row[j] * centre / unit : 0;
    }
    for (size_t j = 0; j < c->d; j++) {
      c->theta[j] += scaled[j] / (double)all;
    }
    if (i % step == 0 && c->n_draws < MOST_DRAWS) {
      memcpy(c->draws + c->n_draws++ * c->d, scaled, c->d * sizeof *scaled);
    }
  }
  take_sd(fit, draws, c);
  return TACIT_OK;
}

static tacit_family_moments_t moments_of(const tacit_fit_t *fit, const checked_t *c, const double *theta,
                                         const double *row) {
  double eta = 0;
  for (size_t j = 0; j < c->d; j++) {
    eta += theta[j] * row[j];
  }
  return is_gaussian(fit) ? (tacit_family_moments_t){.mean = eta, .variance = c->sd * c->sd}
                          : tacit_family_moments(fit->family, fit->aware.upper, eta);
}

/* cuts (n - 1) <- quantiles; the values are sorted. */
static void cut(double *values, size_t n_values, size_t n, double *cuts) {
  tacit_sort_numbers(n_values, values);
  for (size_t b = 1; b < n; b++) {
    cuts[b - 1] = values[b * n_values / n];
  }
}

static tacit_status_t predict(const tacit_fit_t *fit, checked_t *c, tacit_error_t *err) {
  bool is_wanted[TACIT_NOISE_AWARE_MAX_FEATURES];
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES];
  tacit_noise_aware_settings_t settings = fit->checked->aware;
  memset(is_wanted, true, sizeof is_wanted);
  settings.releases = &fit->checked->of->releases;
  memcpy(settings.key, fit->checked->of->key, sizeof settings.key);
  tacit_status_t status = tacit_noise_aware_features(&settings, is_wanted, 0, N_ROWS, c->rows, scales, err);
  for (size_t k = 0; k < N_ROWS && status == TACIT_OK; k++) {
    c->means[k] = moments_of(fit, c, c->theta, c->rows + k * c->d).mean;
  }
  return status;
}

/* ---- the table ---- */

/*
 * What the pseudo-rows of a bin say: their share, mean prediction, variance of a residual, and how far draws
 * of the posterior move the latter's mean.
 */
static void expect_bin(const tacit_fit_t *fit, const checked_t *c, size_t b, tacit_fit_check_bin_t *bin,
                       double *share, double *variance, double *doubt) {
  bool is_raw = fit->family == TACIT_FAMILY_BERNOULLI;
  double n = 0, sum = 0, square = 0;
  *variance = *doubt = bin->predicted = 0;
  for (size_t k = 0; k < N_ROWS; k++) {
    if (c->bins[k] == b) {
      tacit_family_moments_t m = moments_of(fit, c, c->theta, c->rows + k * c->d);
      n++;
      bin->predicted += m.mean;
      *variance += is_raw ? m.variance : 1 / (pearson_reach * pearson_reach);
    }
  }
  for (size_t i = 0; i < c->n_draws && n > 0; i++) {
    double shift = 0;
    for (size_t k = 0; k < N_ROWS; k++) {
      if (c->bins[k] == b) {
        tacit_family_moments_t at = moments_of(fit, c, c->theta, c->rows + k * c->d);
        double off = moments_of(fit, c, c->draws + i * c->d, c->rows + k * c->d).mean - at.mean;
        shift += off / (is_raw ? 1 : pearson_reach * sqrt(fmax(at.variance, 1e-12)));
      }
    }
    sum += shift / n;
    square += shift / n * shift / n;
  }
  *share = n / N_ROWS;
  if (n > 0) {
    bin->predicted /= n;
    *variance /= n;
    double mean = sum / (double)c->n_draws;
    *doubt = sqrt(fmax(square / (double)c->n_draws - mean * mean, 0));
  }
}

double tacit_fit_check_count(const tacit_fit_check_bin_t *bin, double expected) {
  expected = fmax(expected, 1);
  double prior = 1 / (share_doubt * expected * share_doubt * expected),
         released = bin->count_sd > 0 ? 1 / (bin->count_sd * bin->count_sd) : 0;
  return fmax((bin->count * released + expected * prior) / (released + prior), 1);
}

/* Mean residual of a bin and its standard deviation where the fit is right: noise, sampling, and what the
 * posterior leaves open. */
static void fill_bin(const tacit_fit_t *fit, const checked_t *c, size_t b, double n, double sum, double noise,
                     tacit_fit_check_bin_t *bin) {
  double share, variance, doubt, centre, half;
  scale_of_response(fit, &centre, &half);
  double unit = fit->family == TACIT_FAMILY_BERNOULLI ? 1
                : is_gaussian(fit)                    ? pearson_reach * c->sd * half
                                                      : pearson_reach;
  expect_bin(fit, c, b, bin, &share, &variance, &doubt);
  bin->predicted = centre + half * bin->predicted;
  bin->count = tacit_fit_check_count(bin, n * share);
  bin->residual = unit * sum / bin->count;
  bin->sd = unit * sqrt(noise * noise + bin->count * variance + bin->count * bin->count * doubt * doubt) /
            bin->count;
}

/* [Wilson1931] */
double tacit_fit_check_quantile(double square, double n) {
  return (cbrt(square / n) - (1 - 2 / (9 * n))) / sqrt(2 / (9 * n));
}

static double misfit_of(const tacit_fit_check_bin_t *bins, size_t n) {
  double square = 0;
  for (size_t b = 0; b < n; b++) {
    square += bins[b].residual / bins[b].sd * bins[b].residual / bins[b].sd;
  }
  return tacit_fit_check_quantile(square, (double)n);
}

static void fill(const tacit_fit_t *fit, checked_t *c, const tacit_fit_point_t *point, const double *out,
                 const double *sd, tacit_fit_check_t *check) {
  size_t b = point->n_bins;
  double n = fit->checked->of->releases.n_units, total = 0, middle, unit;
  scale_of_response(fit, &middle, &unit);
  for (size_t i = 0; i < b; i++) {
    total += out[i];
  }
  n = n > 0 ? n : fmax(total, 1);
  for (size_t k = 0; k < N_ROWS; k++) {
    c->bins[k] = tacit_fit_check_bin(point->cuts, b, c->means[k]);
  }
  check->n_bins = b;
  for (size_t i = 0; i < b; i++) {
    check->bins[i] =
        (tacit_fit_check_bin_t){.low = middle + unit * (i > 0              ? point->cuts[i - 1]
                                                        : is_gaussian(fit) ? -1
                                                                           : 0),
                                .high = middle + unit * (i + 1 < b ? point->cuts[i] : point->upper),
                                .count = out[i],
                                .count_sd = sd[i]};
    fill_bin(fit, c, i, n, out[b + i], sd[b + i], &check->bins[i]);
  }
  check->misfit = misfit_of(check->bins, b);
  for (size_t k = 0; point->by != SIZE_MAX && k < N_ROWS; k++) {
    c->bins[k] = tacit_fit_check_bin(point->by_cuts, point->n_by, c->rows[k * c->d + point->by]);
  }
  double centre = 0, half = 1;
  if (point->by != SIZE_MAX) {
    check->n_by = point->n_by;
    check->by_label = tacit_design_label(fit->design, point->by);
    tacit_design_scaling(fit->design, point->by, &centre, &half);
  }
  for (size_t i = 0; i < check->n_by; i++) {
    check->by[i] =
        (tacit_fit_check_bin_t){.low = centre + half * (i > 0 ? point->by_cuts[i - 1] : -1),
                                .high = centre + half * (i + 1 < point->n_by ? point->by_cuts[i] : 1)};
    fill_bin(fit, c, i, n, out[2 * b + i], sd[2 * b + i], &check->by[i]);
  }
  check->by_misfit = check->n_by > 0 ? misfit_of(check->by, check->n_by) : NAN;
  size_t last = tacit_fit_point_n_values(point) - 1;
  double most = pearson_reach * pearson_reach;
  check->excess = fit->family != TACIT_FAMILY_BERNOULLI ? most * out[last] / n : NAN;
  double sampling = most * sqrt(sd[last] * sd[last] + n * (1 / most) * (1 - 1 / most)) /
                    n; /* of numbers in [0, 1] with mean 1 / 9 at most, no variance is larger */
  check->excess_sd = hypot(sampling, 2 * c->sd_error); /* squares go with the square of the sd */
  check->is_gaussian = is_gaussian(fit);
}

/* ---- the run ---- */

static tacit_status_t find_term(const tacit_fit_t *fit, const char *label, size_t *by, tacit_error_t *err) {
  size_t d = tacit_design_n_features(fit->design);
  *by = SIZE_MAX;
  for (size_t j = 1; j < d && label != NULL; j++) {
    *by = strcmp(tacit_design_label(fit->design, j), label) == 0 ? j : *by;
  }
  if (label == NULL || *by != SIZE_MAX) {
    return TACIT_OK;
  }
  tacit_nearest_t nearest = {.name = label};
  char hint[TACIT_HINT_SIZE];
  for (size_t j = 1; j < d; j++) {
    tacit_nearest_offer(&nearest, tacit_design_label(fit->design, j));
  }
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "by", "the fit has no term '%.60s'%s", label,
                         tacit_nearest_hint(&nearest, hint));
}

static tacit_status_t release(tacit_fit_t *fit, checked_t *c, size_t by, tacit_fit_check_t *check,
                              tacit_error_t *err) {
  double out[3 * TACIT_FIT_MAX_BINS + 1], sd[3 * TACIT_FIT_MAX_BINS + 1];
  double *sorted = tacit_alloc(N_ROWS, sizeof *sorted);
  if (sorted == NULL) {
    return tacit_error_memory(err);
  }
  tacit_fit_point_t point = {.family = (int)fit->family,
                             .upper = is_gaussian(fit) ? 1 : fit->aware.upper,
                             .sd = c->sd,
                             .theta = c->theta,
                             .n_bins = 10,
                             .cuts = c->cuts,
                             .by = by,
                             .n_by = 10,
                             .by_cuts = c->by_cuts};
  memcpy(sorted, c->means, N_ROWS * sizeof *sorted);
  cut(sorted, N_ROWS, point.n_bins, c->cuts);
  if (by != SIZE_MAX && fit->is_two_valued[by]) {
    point.n_by = 2; /* and the cut is at 0 */
  } else if (by != SIZE_MAX) {
    for (size_t k = 0; k < N_ROWS; k++) {
      sorted[k] = c->rows[k * c->d + by];
    }
    cut(sorted, N_ROWS, point.n_by, c->by_cuts);
  }
  tacit_free(sorted);
  tacit_event_t event = tacit_fit_check_event(fit);
  tacit_status_t status =
      tacit_curator_release_fit_check(fit->curator, &point, event.noise_multiplier, out, sd, err);
  if (status == TACIT_OK) {
    fill(fit, c, &point, out, sd, check);
  }
  return status;
}

/* Everything that can fail comes before the reservation. */
static tacit_status_t look(const tacit_fit_t *fit, checked_t *c, tacit_error_t *err) {
  tacit_report_read_t read = {0};
  c->d = tacit_design_n_features(fit->design);
  c->draws = tacit_alloc(MOST_DRAWS, c->d * sizeof *c->draws);
  c->rows = tacit_alloc(N_ROWS, c->d * sizeof *c->rows);
  c->means = tacit_alloc(N_ROWS, sizeof *c->means);
  c->bins = tacit_alloc(N_ROWS, sizeof *c->bins);
  if (c->draws == NULL || c->rows == NULL || c->means == NULL || c->bins == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_report_read(&read, fit->checked_path, err);
  if (status == TACIT_OK) {
    status = take_draws(fit, &read, c, err);
    tacit_report_read_clear(&read);
  }
  return status == TACIT_OK ? predict(fit, c, err) : status;
}

tacit_status_t tacit_fit_check_of_formula(tacit_fit_t *fit, const char *by, tacit_fit_check_t *check,
                                          tacit_error_t *err) {
  checked_t c = {.d = 0};
  size_t term;
  tacit_status_t status = find_term(fit, by, &term, err);
  TACIT_THEN(status, look(fit, &c, err));
  TACIT_THEN(status, tacit_fit_reserve(fit, false, err));
  if (status == TACIT_OK) {
    fit->stage = TACIT_FIT_STAGE_FAILED;
    status = release(fit, &c, term, check, err);
    tacit_fit_settle(fit);
    tacit_fit_say_spent(fit, false);
  }
  tacit_free(c.draws);
  tacit_free(c.rows);
  tacit_free(c.means);
  tacit_free(c.bins);
  return status;
}

tacit_status_t tacit_fit_check(tacit_fit_t *fit, const char *by, tacit_fit_check_t *check,
                               tacit_error_t *err) {
  *check = (tacit_fit_check_t){.misfit = NAN,
                               .by_misfit = NAN,
                               .excess = NAN,
                               .excess_sd = NAN,
                               .shape_misfit = NAN,
                               .spread_z = NAN,
                               .location_z = NAN};
  for (size_t i = 0; fit->checked != NULL && i < sizeof fit->checked->of->key; i++) {
    snprintf(check->fit + 2 * i, 3, "%02x", fit->checked->of->key[i]);
  }
  if (fit->checked == NULL || fit->stage != TACIT_FIT_STAGE_READ) {
    return tacit_error_set(
        err, TACIT_ERR_STATE, "check",
        "a check begins with tacit_fit_begin_check(), then come settings and records, once");
  }
  return tacit_fit_kind(fit)->check(fit, by, check, err);
}
