/*
 * Inference for any model whose responses can be simulated, from centred scores at seven points (docs/theory.md, section 18.13). With
 * u = L s whitened scores and v centred ones, a round releases S = sum v and M = sum v v'. By the information identity
 *
 *     d E S / d theta = sum E v s' = M K' L^-T,     K = E[u v'] E[v v']^-1,
 *
 * K by simulation on made-up records, weighted so that their E v v' is M / n. The root t + H^-1 S has the round's own privacy noise, and
 * a sampling error that all rounds share: the posterior is made of the last two roots.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* Shares of mu^2 of the rounds, that of a round's scores, and where the number of units is private its share, of the last round. */
static const double shares[TACIT_PROGRAM_ROUNDS] = {0.05, 0.05, 0.05, 0.05, 0.14, 0.14, 0.52};
static const double share_scores = 0.8;

/* No whitened coordinate moves by more in a round. */
static const double most_step = 1.5;

/* Least eigenvalues: of M per record, and in units of its noise's; of the information of a record, in units of their mean. */
static const double least_square = 0.02, least_square_noise = 0.5, least_information = 0.01;

enum { N_SIMULATED = 32, N_CALIBRATIONS = 6, N_CLIMBS = 60 };

static double share_of(const tacit_noise_aware_settings_t *s, size_t round) {
  return shares[round] - (round + 1 == TACIT_PROGRAM_ROUNDS && tacit_aware_is_count_private(s) ? share_count : 0);
}

static double score_multiplier(const tacit_noise_aware_settings_t *s, size_t round) {
  return schedule_multiplier(s->rho, share_scores * share_of(s, round));
}

static double square_multiplier(const tacit_noise_aware_settings_t *s, size_t round) {
  return schedule_multiplier(s->rho, (1 - share_scores) * share_of(s, round));
}

size_t tacit_program_events(const tacit_noise_aware_settings_t *s, tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  static const struct {
    size_t round;
    uint64_t count;
  } kinds[] = {{0, 4}, {4, 2}, {6, 1}};
  size_t n = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    events[n] = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = score_multiplier(s, kinds[i].round), .count = kinds[i].count};
    snprintf(events[n++].label, sizeof events->label, "centred score");
    events[n] = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = square_multiplier(s, kinds[i].round), .count = kinds[i].count};
    snprintf(events[n++].label, sizeof events->label, "squares of centred scores");
  }
  if (tacit_aware_is_count_private(s)) {
    events[n] = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = schedule_multiplier(s->rho, share_count), .count = 1};
    snprintf(events[n++].label, sizeof events->label, "number of units");
  }
  return n;
}

/* ---- the prior ---- */

/* Minus the second derivative of the log prior, by differences, its eigenvalues not below 0. */
static void prior_precision(const tacit_parameters_t *of, const double *theta, double *precision) {
  size_t d = of->dim;
  double point[TACIT_NOISE_AWARE_MAX_NARROW], high[TACIT_NOISE_AWARE_MAX_NARROW], low[TACIT_NOISE_AWARE_MAX_NARROW], work[MATRIX * 2 + TACIT_NOISE_AWARE_MAX_NARROW];
  const double h = 0x1p-12;
  memcpy(point, theta, d * sizeof *point);
  for (size_t j = 0; j < d; j++) {
    point[j] = theta[j] + h;
    (void)of->log_prior(of->ctx, point, high);
    point[j] = theta[j] - h;
    (void)of->log_prior(of->ctx, point, low);
    point[j] = theta[j];
    for (size_t i = 0; i < d; i++) {
      double value = (low[i] - high[i]) / (2 * h);
      precision[i * d + j] = isfinite(value) ? value : 0;
    }
  }
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < i; j++) {
      precision[i * d + j] = precision[j * d + i] = 0.5 * (precision[i * d + j] + precision[j * d + i]);
    }
  }
  tacit_raise_eigenvalues(d, precision, 1e-9, work);
}

/* matrix <- its inverse, of a symmetric positive one; false: it is not. */
static bool invert_positive(size_t d, double *matrix) {
  double factor[MATRIX], work[MATRIX];
  if (!tacit_cholesky(d, matrix)) {
    return false;
  }
  memcpy(factor, matrix, d * d * sizeof *factor);
  tacit_invert_factored(d, factor, work, matrix);
  return true;
}

/* out (d) <- matrix v */
static void apply(size_t d, const double *matrix, const double *v, double *out) {
  for (size_t i = 0; i < d; i++) {
    out[i] = tacit_dot(d, matrix + i * d, v);
  }
}

/* theta <- where the density is highest, from where it is: Newton's steps of at most 1 in any coordinate, halved until it rises. */
static void climb(size_t d, double (*density)(const void *of, const double *theta, double *grad, double *precision), const void *of, double *theta) {
  double grad[TACIT_NOISE_AWARE_MAX_NARROW], precision[MATRIX], step[TACIT_NOISE_AWARE_MAX_NARROW], point[TACIT_NOISE_AWARE_MAX_NARROW];
  for (int n = 0; n < N_CLIMBS; n++) {
    double value = density(of, theta, grad, precision), most = 0, factor = 1;
    for (size_t j = 0; j < d; j++) {
      precision[j * d + j] += 1e-3;
    }
    if (!invert_positive(d, precision)) {
      return;
    }
    apply(d, precision, grad, step);
    for (size_t j = 0; j < d; j++) {
      most = fmax(most, fabs(step[j]));
    }
    bool has_risen = false;
    for (factor = most > 1 ? 1 / most : 1; factor > 1e-4 && !has_risen && most > 1e-9; factor *= has_risen ? 1 : 0.5) {
      for (size_t j = 0; j < d; j++) {
        point[j] = theta[j] + factor * step[j];
      }
      has_risen = density(of, point, NULL, NULL) > value;
    }
    if (!has_risen) {
      return;
    }
    memcpy(theta, point, d * sizeof *theta);
  }
}

static double prior_density(const void *of, const double *theta, double *grad, double *precision) {
  const tacit_parameters_t *parameters = of;
  if (precision != NULL) {
    prior_precision(parameters, theta, precision);
  }
  return parameters->log_prior(parameters->ctx, theta, grad);
}

/* ---- made-up records ---- */

static tacit_status_t open_public(tacit_public_t *p, const tacit_record_model_t *model, tacit_error_t *err) {
  size_t d = model->dim, q = d * (d + 1) / 2;
  tacit_centred_point_t point = {.n_simulated = N_SIMULATED};
  *p = (tacit_public_t){.model = model, .d = d, .n = 3 * q > 512 ? 3 * q : 512};
  p->records = tacit_alloc_zero(p->n * model->n_columns, sizeof *p->records);
  p->weights = tacit_alloc_zero(p->n, sizeof *p->weights);
  p->squares = tacit_alloc_zero(p->n * d * d, sizeof *p->squares);
  p->with_score = tacit_alloc_zero(p->n * d * d, sizeof *p->with_score);
  p->information = tacit_alloc_zero(p->n * d * d, sizeof *p->information);
  p->work = tacit_alloc_zero(tacit_centred_n_work(model, &point), sizeof *p->work);
  p->moments = tacit_alloc_zero(p->n * q + q * q + 3 * q, sizeof *p->moments);
  bool ok = p->records != NULL && p->weights != NULL && p->squares != NULL && p->with_score != NULL && p->information != NULL && p->work != NULL && p->moments != NULL;
  if (!ok) {
    return tacit_error_memory(err);
  }
  model->made_up(model->ctx, 1, p->n, p->records);
  for (size_t i = 0; i < p->n; i++) {
    p->weights[i] = 1 / (double)p->n;
  }
  return TACIT_OK;
}

static void close_public(tacit_public_t *p) {
  double *const arrays[] = {p->weights, p->squares, p->with_score, p->information, p->work, p->moments};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_free(p->records);
}

static void expect_all(tacit_public_t *p, const tacit_centred_point_t *point) {
  size_t size = p->d * p->d;
  for (size_t i = 0; i < p->n; i++) {
    tacit_centred_expect(p->model, point, p->records + i * p->model->n_columns, p->work, p->squares + i * size, p->with_score + i * size,
                         p->information + i * size);
  }
}

/* out (d, d) <- the weighted mean. */
static void mean_of(const tacit_public_t *p, const double *of, double *out) {
  size_t size = p->d * p->d;
  memset(out, 0, size * sizeof *out);
  for (size_t i = 0; i < p->n; i++) {
    for (size_t k = 0; k < size; k++) {
      out[k] += isfinite(of[i * size + k]) ? p->weights[i] * of[i * size + k] : 0;
    }
  }
}

/* Weights such that E v v' is `wanted` (d, d), as far as its noise lets see: calibration [Deville1992], factors from .1 to 4. */
static void calibrate(tacit_public_t *p, const double *wanted, double noise_sd) {
  size_t d = p->d, q = d * (d + 1) / 2;
  double *centred = p->moments, *cov = centred + p->n * q, *mean = cov + q * q, *off = mean + q;
  for (size_t i = 0; i < p->n; i++) {
    p->weights[i] = 1 / (double)p->n;
  }
  for (int round = 0; round < N_CALIBRATIONS; round++) {
    memset(cov, 0, (q * q + 2 * q) * sizeof *cov);
    for (size_t i = 0; i < p->n; i++) {
      for (size_t a = 0, k = 0; a < d; a++) {
        for (size_t b = a; b < d; b++, k++) {
          centred[i * q + k] = p->squares[(i * d + a) * d + b];
          mean[k] += p->weights[i] * centred[i * q + k];
        }
      }
    }
    for (size_t i = 0; i < p->n; i++) {
      for (size_t k = 0; k < q; k++) {
        centred[i * q + k] -= mean[k];
        for (size_t m = 0; m <= k; m++) {
          cov[k * q + m] += p->weights[i] * centred[i * q + k] * centred[i * q + m];
        }
      }
    }
    for (size_t a = 0, k = 0; a < d; a++) {
      for (size_t b = a; b < d; b++, k++) {
        cov[k * q + k] += noise_sd * noise_sd + 1e-4;
        off[k] = wanted[a * d + b] - mean[k];
      }
    }
    if (!tacit_cholesky(q, cov)) {
      return;
    }
    tacit_solve_lower(q, cov, off);
    tacit_solve_upper(q, cov, off);
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
      p->weights[i] *= fmin(fmax(1 + tacit_dot(q, centred + i * q, off), 0.1), 4);
      sum += p->weights[i];
    }
    for (size_t i = 0; i < p->n; i++) {
      p->weights[i] /= sum;
    }
  }
}

/* whiten (d, d) <- L^-1, L L' the information of a record at theta; false, and nothing is changed, where it has none. */
static bool find_metric(tacit_public_t *p, const double *theta, double *whiten) {
  size_t d = p->d;
  double one[MATRIX] = {0}, information[MATRIX], work[2 * MATRIX + TACIT_NOISE_AWARE_MAX_NARROW], trace = 0;
  for (size_t j = 0; j < d; j++) {
    one[j * d + j] = 1;
  }
  expect_all(p, &(tacit_centred_point_t){theta, one, 1e15, N_SIMULATED, 1});
  mean_of(p, p->information, information);
  for (size_t j = 0; j < d; j++) {
    trace += information[j * d + j];
  }
  if (!(trace > 0 && trace <= DBL_MAX)) {
    return false;
  }
  tacit_raise_eigenvalues(d, information, least_information * trace / (double)d, work);
  if (!tacit_cholesky(d, information)) {
    return false;
  }
  tacit_invert_lower(d, information, whiten);
  return true;
}

/* K = E[u v'] E[v v']^-1 by what expect_all() found; the identity where that is singular. */
static void find_ratio(const tacit_public_t *p, double *ratio) {
  size_t d = p->d;
  double squares[MATRIX], with_score[MATRIX], transposed[MATRIX];
  mean_of(p, p->squares, squares);
  mean_of(p, p->with_score, with_score);
  for (size_t i = 0; i < d * d; i++) {
    transposed[i] = with_score[i % d * d + i / d];
  }
  for (size_t i = 0; i < d; i++) {
    squares[i * d + i] += 1e-9;
  }
  if (invert_positive(d, squares)) {
    tacit_multiply(d, d, d, transposed, squares, ratio);
    return;
  }
  for (size_t i = 0; i < d * d; i++) {
    ratio[i] = i / d == i % d;
  }
}

/* ---- rounds ---- */

/* inverse <- a^-1 by Gauss and Jordan with pivots; false: singular. a is destroyed. */
static bool invert(size_t d, double *a, double *inverse) {
  for (size_t i = 0; i < d * d; i++) {
    inverse[i] = i / d == i % d;
  }
  for (size_t k = 0; k < d; k++) {
    size_t pivot = k;
    for (size_t i = k + 1; i < d; i++) {
      pivot = fabs(a[i * d + k]) > fabs(a[pivot * d + k]) ? i : pivot;
    }
    double scale = a[pivot * d + k];
    if (!(fabs(scale) > 1e-300)) {
      return false;
    }
    for (size_t j = 0; j < d; j++) {
      double x = a[pivot * d + j], y = inverse[pivot * d + j];
      a[pivot * d + j] = a[k * d + j];
      inverse[pivot * d + j] = inverse[k * d + j];
      a[k * d + j] = x / scale;
      inverse[k * d + j] = y / scale;
    }
    for (size_t i = 0; i < d; i++) {
      double factor = i != k ? a[i * d + k] : 0;
      for (size_t j = 0; j < d && i != k; j++) {
        a[i * d + j] -= factor * a[k * d + j];
        inverse[i * d + j] -= factor * inverse[k * d + j];
      }
    }
  }
  return true;
}

/* out <- a b a' */
static void sandwich(size_t d, const double *a, const double *b, double *out) {
  double half[MATRIX], transposed[MATRIX];
  for (size_t i = 0; i < d * d; i++) {
    transposed[i] = a[i % d * d + i / d];
  }
  tacit_multiply(d, d, d, a, b, half);
  tacit_multiply(d, d, d, half, transposed, out);
}

/* Squares as a matrix (d, d), eigenvalues raised; least <- that before, in units of what noise does to one. */
static void squares_of(size_t d, const double *svec, double n, double noise_sd, double *squares, double *least) {
  double copy[MATRIX], values[TACIT_NOISE_AWARE_MAX_NARROW], vectors[MATRIX], work[2 * MATRIX + TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      squares[i * d + j] = squares[j * d + i] = svec[k] * (i == j ? 1 : sqrt(0.5));
    }
  }
  memcpy(copy, squares, d * d * sizeof *copy);
  tacit_eigen(d, copy, values, vectors);
  *least = INFINITY;
  for (size_t j = 0; j < d; j++) {
    *least = fmin(*least, values[j] / (noise_sd * sqrt((double)d)));
  }
  tacit_raise_eigenvalues(d, squares, fmax(least_square * n, least_square_noise * noise_sd * sqrt((double)d)), work);
}

/* The releases of a round at run->theta, the root and what is known of it. */
static tacit_status_t learn(tacit_program_run_t *run, size_t round, tacit_root_t *root, tacit_error_t *err) {
  size_t d = run->public.d;
  double clip = 2 * sqrt((double)d), score[TACIT_NOISE_AWARE_MAX_NARROW], svec[MATRIX], squares[MATRIX], ratio[MATRIX], slope[MATRIX], noise_sd, square_sd;
  double moved[TACIT_NOISE_AWARE_MAX_NARROW], half[MATRIX], factor[MATRIX];
  tacit_aware_centred_t at = {run->theta, run->whiten, &clip, N_SIMULATED, round};
  tacit_status_t status = tacit_aware_may_start(run->settings, err);
  if (status == TACIT_OK) {
    status = tacit_aware_release_centred(run->curator, run->settings, false, score_multiplier(run->settings, round), &at, score, &noise_sd, err);
  }
  if (status == TACIT_OK) {
    status = tacit_aware_release_centred(run->curator, run->settings, true, square_multiplier(run->settings, round), &at, svec, &square_sd, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  squares_of(d, svec, run->n, square_sd, squares, &run->least);
  expect_all(&run->public, &(tacit_centred_point_t){run->theta, run->whiten, clip, N_SIMULATED, round});
  for (size_t i = 0; i < d * d; i++) {
    half[i] = squares[i] / run->n;
  }
  calibrate(&run->public, half, square_sd / run->n);
  find_ratio(&run->public, ratio);
  if (run->settings->fault_for_tests == TACIT_NOISE_AWARE_SQUARES_FOR_SLOPES) {
    memset(ratio, 0, sizeof ratio);
    for (size_t j = 0; j < d; j++) {
      ratio[j * d + j] = 1;
    }
  }
  /* H = M K' L', L = whiten^-1 */
  for (size_t i = 0; i < d * d; i++) {
    slope[i] = ratio[i % d * d + i / d];
  }
  tacit_multiply(d, d, d, squares, slope, half);
  tacit_invert_lower(d, run->whiten, factor);
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) {
      slope[i * d + j] = tacit_dot(d, half + i * d, factor + j * d); /* times L' */
    }
  }
  memcpy(root->slope, slope, sizeof slope);
  memcpy(root->squares, squares, sizeof squares);
  memcpy(root->score, score, sizeof score);
  root->noise_var = noise_sd * noise_sd;
  memcpy(root->at, run->theta, sizeof root->at);
  if (!invert(d, slope, root->inverse)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the released scores do not tell how they depend on the parameters");
  }
  apply(d, root->inverse, score, moved);
  for (size_t j = 0; j < d; j++) {
    root->theta[j] = run->theta[j] + moved[j];
  }
  sandwich(d, root->inverse, squares, root->sampling);
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) {
      root->noise[i * d + j] = root->noise_var * tacit_dot(d, root->inverse + i * d, root->inverse + j * d);
    }
  }
  return TACIT_OK;
}

/* theta moves to the mode given this round and the prior, no coordinate by more than most_step in the metric; then the metric there. */
static void move(tacit_program_run_t *run, const tacit_root_t *root) {
  size_t d = run->public.d;
  double weight[MATRIX], gain[MATRIX], precision[MATRIX], right[TACIT_NOISE_AWARE_MAX_NARROW], step[TACIT_NOISE_AWARE_MAX_NARROW];
  double factor[MATRIX], whitened[TACIT_NOISE_AWARE_MAX_NARROW], transposed[MATRIX];
  memcpy(weight, root->squares, sizeof weight);
  for (size_t j = 0; j < d; j++) {
    weight[j * d + j] += root->noise_var;
  }
  (void)run->parameters->log_prior(run->parameters->ctx, run->theta, right);
  prior_precision(run->parameters, run->theta, precision);
  for (size_t i = 0; i < d * d; i++) {
    transposed[i] = root->slope[i % d * d + i / d];
  }
  bool ok = invert_positive(d, weight);
  tacit_multiply(d, d, d, transposed, weight, gain);
  for (size_t i = 0; i < d; i++) {
    right[i] += tacit_dot(d, gain + i * d, root->score);
    for (size_t j = 0; j < d; j++) {
      for (size_t k = 0; k < d; k++) {
        precision[i * d + j] += gain[i * d + k] * root->slope[k * d + j];
      }
    }
  }
  if (!ok || !invert_positive(d, precision)) {
    return;
  }
  apply(d, precision, right, step);
  tacit_invert_lower(d, run->whiten, factor);
  for (size_t j = 0; j < d; j++) { /* L' step */
    whitened[j] = 0;
    for (size_t k = j; k < d; k++) {
      whitened[j] += factor[k * d + j] * step[k];
    }
    whitened[j] = fmax(fmin(whitened[j], most_step), -most_step);
  }
  for (size_t j = 0; j < d; j++) { /* L^-T of it */
    for (size_t k = j; k < d; k++) {
      run->theta[j] += run->whiten[k * d + j] * whitened[k];
    }
  }
  (void)find_metric(&run->public, run->theta, run->whiten);
}

/* The last two roots, whose noises are independent and whose sampling error is the same, as one normal law around theta. */
static tacit_status_t join(tacit_program_run_t *run, const tacit_root_t roots[2], tacit_error_t *err) {
  size_t d = run->public.d;
  bool is_wrong = run->settings->fault_for_tests == TACIT_NOISE_AWARE_ROUNDS_INDEPENDENT;
  tacit_program_normal_t *normal = &run->normal;
  double weights[2][MATRIX], part[TACIT_NOISE_AWARE_MAX_NARROW], sum[TACIT_NOISE_AWARE_MAX_NARROW] = {0}, cov[MATRIX];
  normal->d = d;
  for (size_t r = 0; r < 2; r++) {
    for (size_t i = 0; i < d * d; i++) {
      weights[r][i] = roots[r].noise[i] + (is_wrong ? roots[r].sampling[i] : 1e-12 * roots[r].sampling[i]);
    }
    if (!invert_positive(d, weights[r])) {
      return tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the noise of the released scores has no inverse");
    }
    apply(d, weights[r], roots[r].theta, part);
    for (size_t j = 0; j < d; j++) {
      sum[j] += part[j];
    }
  }
  for (size_t i = 0; i < d * d; i++) {
    cov[i] = weights[0][i] + weights[1][i];
  }
  bool ok = invert_positive(d, cov);
  apply(d, cov, sum, normal->theta);
  for (size_t i = 0; i < d * d; i++) {
    normal->cov[i] = normal->precision[i] = cov[i] + (is_wrong ? 0 : roots[1].sampling[i]);
  }
  ok = ok && invert_positive(d, normal->precision);
  /* how far the last step goes, in what it may be */
  double step[TACIT_NOISE_AWARE_MAX_NARROW], may[MATRIX], solved[TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t i = 0; i < d * d; i++) {
    may[i] = normal->cov[i] + roots[0].noise[i] + roots[1].noise[i];
  }
  for (size_t j = 0; j < d; j++) {
    step[j] = roots[1].theta[j] - roots[1].at[j];
  }
  ok = ok && invert_positive(d, may);
  apply(d, may, step, solved);
  run->moved2 = tacit_dot(d, step, solved);
  return ok ? TACIT_OK : tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the released scores do not tell how uncertain they are");
}

static double posterior_density(const void *of, const double *theta, double *grad, double *precision) {
  const tacit_program_run_t *run = of;
  size_t d = run->public.d;
  double value = prior_density(run->parameters, theta, grad, precision);
  double off[TACIT_NOISE_AWARE_MAX_NARROW], solved[TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t j = 0; j < d; j++) {
    off[j] = theta[j] - run->normal.theta[j];
  }
  apply(d, run->normal.precision, off, solved);
  for (size_t j = 0; j < d && grad != NULL; j++) {
    grad[j] -= solved[j];
  }
  for (size_t i = 0; i < d * d && precision != NULL; i++) {
    precision[i] += run->normal.precision[i];
  }
  return value - 0.5 * tacit_dot(d, off, solved);
}

double tacit_program_log_density(const tacit_program_run_t *run, const double *theta, double *grad) {
  double value = posterior_density(run, theta, grad, NULL);
  return isnan(value) ? -INFINITY : value;
}

/* Draw from the posterior given the normal law. */
static tacit_status_t draw(tacit_program_run_t *run, tacit_draws_t *draws, tacit_error_t *err) {
  size_t d = run->public.d;
  tacit_surrogate_t only_size = {.d = d};
  tacit_aware_posterior_t posterior = {.surrogate = &only_size, .parameters = run->parameters, .settings = run->settings, .program = run};
  double mode[TACIT_NOISE_AWARE_MAX_NARROW], factor[MATRIX], grad[TACIT_NOISE_AWARE_MAX_NARROW], mean[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX];
  memcpy(mode, run->theta, sizeof mode);
  climb(d, posterior_density, run, mode);
  if (!isfinite(posterior_density(run, mode, grad, factor)) || !invert_positive(d, factor) || !tacit_cholesky(d, factor)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "posterior", "the posterior given the releases has no density to climb: give every parameter a proper prior");
  }
  return tacit_aware_walk(&posterior, mode, factor, draws, mean, cov, err);
}

/* Of the reported quantities nothing is known but their draws. */
static void start_evidence(const tacit_program_run_t *run, tacit_evidence_t *evidence) {
  size_t n = run->parameters->n_reported;
  *evidence = (tacit_evidence_t){.n_terms = n < TACIT_MAX_EVIDENCE ? n : TACIT_MAX_EVIDENCE};
  for (size_t i = 0; i < evidence->n_terms; i++) {
    evidence->prior_sd[i] = evidence->prior_share[i] = NAN;
  }
}

static tacit_status_t run_rounds(tacit_program_run_t *run, tacit_draws_t *draws, tacit_error_t *err) {
  tacit_root_t roots[2];
  tacit_aware_count_t count;
  tacit_status_t status = tacit_aware_learn_count(run->curator, run->settings, &count, err);
  if (status == TACIT_OK) {
    run->n = count.n;
    status = open_public(&run->public, run->settings->records, err);
  }
  if (status == TACIT_OK) {
    climb(run->public.d, prior_density, run->parameters, run->theta);
    status = find_metric(&run->public, run->theta, run->whiten)
                 ? TACIT_OK
                 : tacit_error_set(err, TACIT_ERR_NUMERIC, "prior", "at the prior's centre no record tells anything of the parameters: nothing was spent on scores");
  }
  for (size_t r = 0; r < TACIT_PROGRAM_ROUNDS && status == TACIT_OK; r++) {
    roots[0] = roots[1];
    status = learn(run, r, &roots[1], err);
    if (status == TACIT_OK && r + 1 < TACIT_PROGRAM_ROUNDS) {
      move(run, &roots[1]);
    }
  }
  if (status == TACIT_OK) {
    status = join(run, roots, err);
  }
  if (status == TACIT_OK) {
    status = draw(run, draws, err);
  }
  if (status == TACIT_OK && run->settings->evidence != NULL) {
    start_evidence(run, run->settings->evidence);
    tacit_checks_add(&run->settings->evidence->checks, TACIT_CHECK_LAST_STEP, SIZE_MAX, tacit_chi_square_quantile(run->moved2, (double)run->public.d));
    tacit_checks_add(&run->settings->evidence->checks, TACIT_CHECK_SQUARES_UNKNOWN, SIZE_MAX, run->least);
  }
  return status;
}

tacit_status_t tacit_aware_program(tacit_curator_t *curator, const tacit_parameters_t *parameters, const tacit_noise_aware_settings_t *settings,
                                   tacit_draws_t *draws, tacit_error_t *err) {
  tacit_program_run_t *run = tacit_alloc_zero(1, sizeof *run);
  if (run == NULL) {
    return tacit_error_memory(err);
  }
  run->curator = curator;
  run->parameters = parameters;
  run->settings = settings;
  tacit_status_t status = run_rounds(run, draws, err);
  close_public(&run->public);
  tacit_free(run);
  return status;
}

/* ---- forecast ---- */

/* Least that the squares must exceed what noise does to them by, in prospect and as released. */
static const double least_told = 2;

tacit_status_t tacit_noise_aware_measure(tacit_noise_aware_settings_t *s, const tacit_parameters_t *parameters, tacit_error_t *err) {
  size_t d = s->records->dim;
  double theta[TACIT_NOISE_AWARE_MAX_NARROW] = {0}, whiten[MATRIX], squares[MATRIX], with_score[MATRIX], inverse[MATRIX], sampling[MATRIX];
  double values[TACIT_NOISE_AWARE_MAX_NARROW], vectors[MATRIX];
  tacit_public_t public;
  s->program_sampling = s->program_noise = s->program_square = 0;
  tacit_status_t status = open_public(&public, s->records, err);
  if (status == TACIT_OK) {
    climb(d, prior_density, parameters, theta);
    if (find_metric(&public, theta, whiten)) {
      expect_all(&public, &(tacit_centred_point_t){theta, whiten, 2 * sqrt((double)d), N_SIMULATED, 1});
      mean_of(&public, public.squares, squares);
      mean_of(&public, public.with_score, with_score);
    } else {
      status = tacit_error_set(err, TACIT_ERR_NUMERIC, "prior", "at the centre of its prior no record tells anything of the parameters");
    }
  }
  if (status == TACIT_OK && invert(d, with_score, inverse)) {
    sandwich(d, inverse, squares, sampling);
    for (size_t i = 0; i < d; i++) {
      s->program_sampling += sampling[i * d + i] / (double)d;
      s->program_noise += tacit_dot(d, inverse + i * d, inverse + i * d) / (double)d;
    }
    tacit_eigen(d, squares, values, vectors);
    double least = values[0];
    for (size_t j = 1; j < d; j++) {
      least = fmin(least, values[j]);
    }
    s->program_square = least > 1e-6 ? least : 0;
  }
  close_public(&public);
  return status;
}

double tacit_program_inflation(const tacit_noise_aware_settings_t *s, double n_units) {
  double d = (double)s->records->dim, share = share_scores * (share_of(s, TACIT_PROGRAM_ROUNDS - 1) + shares[TACIT_PROGRAM_ROUNDS - 2]);
  double noise_sd = tacit_aware_factor(s) * 1.25 * 2 * sqrt(d) * schedule_multiplier(s->rho, share);
  return sqrt(fmax(s->program_sampling, 1) + s->program_noise * noise_sd * noise_sd / n_units);
}

tacit_status_t tacit_program_check(const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  double d = (double)s->records->dim, factor = s->relation == TACIT_RELATION_SUBSTITUTE ? sqrt(2) : 1, radius = 1.25 * 2 * sqrt(d);
  double noise_sd = factor * radius * radius * square_multiplier(s, TACIT_PROGRAM_ROUNDS - 1) * sqrt(d);
  double told = s->n_units * s->program_square / noise_sd;
  if (!(s->program_square > 0)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                           "method noise-aware takes programs whose parameters all show in the records themselves, and of this one some do not (as the sd of "
                           "groups, which shows in their effects alone): use --method dp-hmc or dp-penalty");
  }
  return told >= least_told
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                               "this budget does not tell how much %.0f records know of %.0f parameters: their squared scores would be lost in noise (%.2g "
                               "times it, at least %g); about %.2g times the epsilon or the records, or fewer parameters would do; nothing was spent",
                               s->n_units, d, told, least_told, least_told / told);
}
