/*
 * The adversary. He sees each release as it leaves the curator, knows both data sets, and adds up the
 * logarithms of how much likelier it is under the first than under the second. The linker puts these
 * functions between the samplers and the curator
 * (--wrap), so that methods run as they are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "accept_rule.h"
#include "audit.h"
#include "wrap.h"

adversary_t adversary;

void must(tacit_status_t status, const tacit_error_t *err) {
  if (status != TACIT_OK) {
    fprintf(stderr, "tacit-audits: %s\n", err->message);
    exit(1);
  }
}

void adversary_open(const audit_case_t *of) {
  tacit_error_t err;
  audit_record_model(of, &adversary.model);
  must(tacit_budget_new(&adversary.budget, 1, audit_delta, of->relation, &err), &err);
  must(tacit_noise_new_seeded_not_private(&adversary.noise, 1, &err), &err);
  for (size_t side = 0; side < 2; side++) {
    adversary.exposed[side] = audit_curator(of, side, NULL, NULL);
    adversary.replica[side] = audit_curator(of, side, adversary.budget, adversary.noise);
    must(tacit_curator_reserve(adversary.replica[side], 3, &err), &err);
  }
}

void adversary_close(void) {
  for (size_t side = 0; side < 2; side++) {
    tacit_curator_free(adversary.exposed[side]);
    tacit_curator_free(adversary.replica[side]);
  }
  tacit_noise_free(adversary.noise);
  tacit_budget_free(adversary.budget);
  audit_model_clear();
}

void adversary_begin_run(void) {
  adversary.evidence = 0;
  adversary.n_releases = 0;
  adversary.n_decided = 0;
  adversary.log_probability[0] = adversary.log_probability[1] = 0;
  adversary.tape_at = 0;
}

/* Planted errors are the victim's alone. */
static fault_t begin_looking(void) {
  fault_t at_work = fault_at_work;
  fault_at_work = FAULT_NONE;
  return at_work;
}

/* Note what was released on the tape, or put in its place what is there; count it. */
static tacit_status_t end_looking(fault_t at_work, void *released, size_t size, tacit_error_t *err) {
  fault_at_work = at_work;
  adversary.n_releases++;
  if (adversary.tape != TAPE_OFF) {
    if (adversary.tape_at + size > sizeof adversary.tape_data ||
        (adversary.tape == TAPE_REPLAY && adversary.tape_at + size > adversary.tape_size)) {
      return tacit_error_set(err, TACIT_ERR_STATE, "tape", "a run releases more than there is on the tape");
    }
    unsigned char *at = adversary.tape_data + adversary.tape_at;
    memcpy(adversary.tape == TAPE_RECORD ? (void *)at : released,
           adversary.tape == TAPE_RECORD ? released : (void *)at, size);
    adversary.tape_at += size;
  }
  return adversary.n_releases == adversary.stop_after
             ? tacit_error_set(err, TACIT_ERR_STATE, "run", "nothing more is released")
             : TACIT_OK;
}

/* ---- likelihoods ---- */

/* log of (1 - q) exp(-|x|^2 / (2 sd^2)) + q exp(-|x - s|^2 / (2 sd^2)): a record that contributes s is drawn
 * or not. */
static double log_mixture(const double *x, const double *s, size_t n, double sd, double q) {
  double missed = 0, drawn = 0;
  for (size_t j = 0; j < n; j++) {
    missed -= 0.5 * x[j] * x[j] / (sd * sd);
    drawn -= 0.5 * (x[j] - s[j]) * (x[j] - s[j]) / (sd * sd);
  }
  if (q >= 1) {
    return drawn;
  }
  double most = fmax(missed, drawn);
  return most + log((1 - q) * exp(missed - most) + q * exp(drawn - most));
}

static void see_normal(const double *released, const double sums[2][AUDIT_MAX_SUMS], size_t n, double sd,
                       double q) {
  adversary.evidence += log_mixture(released, sums[0], n, sd, q) - log_mixture(released, sums[1], n, sd, q);
}

/* E 1 / (1 + e^-(w + s h)), s ~ Poisson(a + (b - x) / 2) (docs/theory.md, section 15). */
static double minibatch_acceptance(double w, double x, double b, double a) {
  double rate = a + (b - x) / 2, h = log((a + (b + x) / 2) / rate), weight = exp(-rate), sum = 0;
  for (int s = 0; s < 60; weight *= rate / ++s) {
    sum += weight / (1 + exp(-(w + s * h)));
  }
  return sum;
}

/* A decision with these probabilities of acceptance. */
static void see_decision(const double p[2], bool *accepted) {
  if (adversary.is_on_path) {
    *accepted = adversary.path >> adversary.n_decided & 1;
    adversary.n_decided++;
    adversary.log_probability[0] += log(*accepted ? p[0] : 1 - p[0]);
    adversary.log_probability[1] += log(*accepted ? p[1] : 1 - p[1]);
  } else {
    adversary.evidence += *accepted ? log(p[0] / p[1]) : log((1 - p[0]) / (1 - p[1]));
  }
}

/* What the records of each data set add to the log acceptance ratio. */
static void ratios_of(const double *from, const double *to, double ratio[2]) {
  double unused;
  tacit_error_t err;
  for (size_t side = 0; side < 2; side++) {
    must(__real_tacit_curator_release_log_ratio(adversary.exposed[side], 1, from, to, 1, &ratio[side],
                                                &unused, &err),
         &err);
  }
}

/* Public: pairs beyond the rule's bound are rejected, and pairs without a move accepted, without a look at
 * records. */
static bool is_decided_unseen(const tacit_curator_t *curator, const tacit_accept_pairs_t *pairs, size_t k,
                              double max_bound) {
  size_t dim = tacit_curator_dim(curator);
  const double *from = pairs->theta + k * dim, *to = pairs->theta_prop + k * dim;
  return memcmp(from, to, dim * sizeof *from) == 0 || !isfinite(pairs->correction[k]) ||
         tacit_ratio_clip(tacit_curator_public_ratio_bound(curator, from, to)) > tacit_ratio_clip(max_bound);
}

/* ---- releases ---- */

/* Gradients at n points, of records drawn with probability `rate`. */
static void see_gradients(const tacit_curator_t *curator, size_t n, const double *theta, double rate,
                          double noise_multiplier, const double *released) {
  size_t dim = tacit_curator_dim(curator);
  double sd =
      noise_multiplier * tacit_curator_sensitivity_factor(curator) * tacit_curator_grad_bound(curator);
  tacit_error_t err;
  for (size_t k = 0; k < n; k++) {
    double sums[2][AUDIT_MAX_SUMS];
    for (size_t side = 0; side < 2; side++) {
      must(__real_tacit_curator_release_gradient(adversary.exposed[side], 1, theta + k * dim, 1, sums[side],
                                                 &err),
           &err);
    }
    see_normal(released + k * dim, (const double(*)[AUDIT_MAX_SUMS])sums, dim, sd, rate);
  }
}

tacit_status_t __wrap_tacit_curator_release_gradient(tacit_curator_t *curator, size_t n, const double *theta,
                                                     double noise_multiplier, double *out,
                                                     tacit_error_t *err) {
  tacit_status_t status =
      __real_tacit_curator_release_gradient(curator, n, theta, noise_multiplier, out, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  see_gradients(curator, n, theta, 1, noise_multiplier, out);
  return end_looking(at_work, out, n * tacit_curator_dim(curator) * sizeof *out, err);
}

tacit_status_t __wrap_tacit_curator_release_sampled_gradient(tacit_curator_t *curator, size_t n,
                                                             const double *theta, double rate,
                                                             double noise_multiplier, double *out,
                                                             tacit_error_t *err) {
  tacit_status_t status =
      __real_tacit_curator_release_sampled_gradient(curator, n, theta, rate, noise_multiplier, out, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  see_gradients(curator, n, theta, rate, noise_multiplier, out);
  return end_looking(at_work, out, n * tacit_curator_dim(curator) * sizeof *out, err);
}

tacit_status_t __wrap_tacit_curator_release_log_ratio(tacit_curator_t *curator, size_t n, const double *theta,
                                                      const double *theta_prop, double noise_multiplier,
                                                      double *out, double *noise_sd, tacit_error_t *err) {
  tacit_status_t status = __real_tacit_curator_release_log_ratio(curator, n, theta, theta_prop,
                                                                 noise_multiplier, out, noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  size_t dim = tacit_curator_dim(curator);
  for (size_t k = 0; k < n; k++) {
    double ratio[2];
    ratios_of(theta + k * dim, theta_prop + k * dim, ratio);
    const double sums[2][AUDIT_MAX_SUMS] = {{ratio[0]}, {ratio[1]}};
    if (noise_sd[k] > 0) {
      see_normal(&out[k], sums, 1, noise_sd[k], 1);
    }
  }
  return end_looking(at_work, out, n * sizeof *out, err);
}

tacit_status_t __wrap_tacit_curator_release_sampled_log_ratio(tacit_curator_t *curator, size_t n,
                                                              const double *theta, const double *theta_prop,
                                                              double rate, double noise_multiplier,
                                                              double *out, double *noise_sd,
                                                              tacit_error_t *err) {
  tacit_status_t status = __real_tacit_curator_release_sampled_log_ratio(
      curator, n, theta, theta_prop, rate, noise_multiplier, out, noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  size_t dim = tacit_curator_dim(curator);
  for (size_t k = 0; k < n; k++) {
    double sums[2][AUDIT_MAX_SUMS], ratio[2];
    ratios_of(theta + k * dim, theta_prop + k * dim, ratio);
    for (size_t side = 0; side < 2; side++) { /* psi of docs/theory.md, section 14 */
      sums[side][0] = ratio[side] / rate - (1 - rate) / (2 * rate * rate) * ratio[side] * ratio[side];
    }
    see_normal(&out[k], (const double(*)[AUDIT_MAX_SUMS])sums, 1, noise_sd[k], rate);
  }
  return end_looking(at_work, out, n * sizeof *out, err);
}

tacit_status_t __wrap_tacit_curator_release_accept(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                                   const tacit_accept_pairs_t *pairs, tacit_error_t *err) {
  tacit_accept_rule_t used = *rule;
  used.sigma *= fault_at_work == FAULT_HALF_SIGMA && !adversary.is_paid ? 0.5 : 1;
  tacit_status_t status = __real_tacit_curator_release_accept(curator, &used, pairs, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  size_t dim = tacit_curator_dim(curator);
  for (size_t k = 0; k < pairs->n; k++) {
    const double *from = pairs->theta + k * dim, *to = pairs->theta_prop + k * dim;
    if (is_decided_unseen(curator, pairs, k, rule->max_bound)) {
      continue;
    }
    double ratio[2], clip = tacit_ratio_clip(tacit_curator_public_ratio_bound(curator, from, to)) * 0x1p-32;
    double sigma = rule->kind == TACIT_ACCEPT_PROBIT
                       ? rule->sigma * tacit_curator_sensitivity_factor(curator) * clip
                       : rule->sigma;
    ratios_of(from, to, ratio);
    see_decision((double[2]){rule_accepts(rule, sigma, ratio[0] + pairs->correction[k]),
                             rule_accepts(rule, sigma, ratio[1] + pairs->correction[k])},
                 &pairs->accepted[k]);
  }
  return end_looking(at_work, pairs->accepted, pairs->n * sizeof *pairs->accepted, err);
}

tacit_status_t __wrap_tacit_curator_release_minibatch_accept(tacit_curator_t *curator,
                                                             const tacit_minibatch_rule_t *rule,
                                                             const tacit_accept_pairs_t *pairs,
                                                             tacit_error_t *err) {
  tacit_status_t status = __real_tacit_curator_release_minibatch_accept(curator, rule, pairs, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  size_t dim = tacit_curator_dim(curator);
  for (size_t k = 0; k < pairs->n; k++) {
    const double *from = pairs->theta + k * dim, *to = pairs->theta_prop + k * dim;
    if (is_decided_unseen(curator, pairs, k, rule->max_bound)) {
      continue;
    }
    double ratio[2], p[2],
        b = tacit_ratio_clip(tacit_curator_public_ratio_bound(curator, from, to)) * 0x1p-32;
    ratios_of(from, to, ratio);
    bool is_full = tacit_curator_minibatch_size(rule->n_public, b, rule->intensity) >= rule->max_batch;
    for (size_t side = 0; side < 2; side++) {
      p[side] = is_full ? 1 / (1 + exp(-(ratio[side] + pairs->correction[k])))
                        : minibatch_acceptance(pairs->correction[k], ratio[side], b, rule->intensity);
    }
    see_decision(p, &pairs->accepted[k]);
  }
  return end_looking(at_work, pairs->accepted, pairs->n * sizeof *pairs->accepted, err);
}

tacit_status_t __wrap_tacit_curator_release_langevin_accept(tacit_curator_t *curator,
                                                            const tacit_accept_rule_t *rule,
                                                            const tacit_langevin_pairs_t *langevin,
                                                            tacit_error_t *err) {
  tacit_status_t status = __real_tacit_curator_release_langevin_accept(curator, rule, langevin, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  const tacit_accept_pairs_t *pairs = &langevin->pairs;
  for (size_t k = 0; k < pairs->n; k++) {
    double p[2], workspace[TACIT_LANGEVIN_WORKSPACE * AUDIT_MAX_DIM];
    bool is_near = true;
    for (size_t side = 0; is_near && side < 2; side++) {
      tacit_langevin_work_t work;
      tacit_door_product_t product;
      tacit_wide_t units;
      is_near =
          tacit_langevin_product(adversary.replica[side], rule, langevin, k, workspace, &work, &product);
      if (is_near) {
        must(tacit_door_product_sum(adversary.replica[side]->door, &product, &units, err), err);
        p[side] = rule_accepts(rule, rule->sigma,
                               (double)(units + tacit_log_ratio_units(work.correction)) * 0x1p-32);
      }
    }
    if (!is_near) {
      continue;
    }
    see_decision(p, &pairs->accepted[k]);
  }
  return end_looking(at_work, pairs->accepted, pairs->n * sizeof *pairs->accepted, err);
}

/* Releases of n sums with noise of one size: both sides' sums are those of exposed curators, asked the same.
 */
#define RELEASE_OF_SUMS(name, n_sums, parameters, ...)                                                       \
  tacit_status_t __wrap_##name parameters {                                                                  \
    tacit_status_t status = __real_##name(curator, __VA_ARGS__ noise_multiplier, out, noise_sd, err);        \
    if (status != TACIT_OK) {                                                                                \
      return status;                                                                                         \
    }                                                                                                        \
    fault_t at_work = begin_looking();                                                                       \
    size_t dim = tacit_curator_dim(curator), n = n_sums;                                                     \
    double sums[2][AUDIT_MAX_SUMS], unused;                                                                  \
    (void)dim;                                                                                               \
    for (size_t side = 0; side < 2; side++) {                                                                \
      must(__real_##name(adversary.exposed[side], __VA_ARGS__ 1, sums[side], &unused, err), err);            \
    }                                                                                                        \
    see_normal(out, (const double(*)[AUDIT_MAX_SUMS])sums, n, *noise_sd, 1);                                 \
    return end_looking(at_work, out, n * sizeof *out, err);                                                  \
  }
#define WITH(...)                                                                                            \
  (tacit_curator_t * curator, __VA_ARGS__ double noise_multiplier, double *out, double *noise_sd,            \
   tacit_error_t *err)
#define SQUARES(m) (m) * ((m) + 1) / 2

RELEASE_OF_SUMS(tacit_curator_release_second_moments, SQUARES(dim), WITH(const tacit_row_weighting_t *rows, ),
                rows, )
RELEASE_OF_SUMS(tacit_curator_release_score, dim, WITH(const tacit_score_point_t *point, ), point, )
RELEASE_OF_SUMS(tacit_curator_release_information, SQUARES(dim), WITH(const tacit_score_point_t *point, ),
                point, )
RELEASE_OF_SUMS(tacit_curator_release_score_squares, SQUARES(dim), WITH(const tacit_score_point_t *point, ),
                point, )
RELEASE_OF_SUMS(tacit_curator_release_count, 1, WITH(), )
RELEASE_OF_SUMS(tacit_curator_release_unit_rows, n_cells, WITH(size_t n_cells, const size_t *first, ),
                n_cells, first, )
RELEASE_OF_SUMS(tacit_curator_release_joint_moments, SQUARES(residual->n_features + 1),
                WITH(const tacit_row_weighting_t *rows, const tacit_row_residual_t *residual, ), rows,
                residual, )
RELEASE_OF_SUMS(tacit_curator_release_cells, cells->n_edges + 1, WITH(const tacit_row_cells_t *cells, ),
                cells, )
RELEASE_OF_SUMS(tacit_curator_release_residual_shapes, 2 * (dim - 1),
                WITH(const tacit_fit_point_t *point, const double *whiten, ), point, whiten, )
RELEASE_OF_SUMS(tacit_curator_release_centred_score, dim, WITH(const tacit_centred_point_t *point, ), point, )
RELEASE_OF_SUMS(tacit_curator_release_centred_slope, SQUARES(dim), WITH(const tacit_centred_point_t *point, ),
                point, )
RELEASE_OF_SUMS(tacit_curator_release_bands, tacit_bands_n_values(bands, of->dim),
                WITH(const tacit_banded_t *of, const tacit_bands_t *bands, ), of, bands, )
RELEASE_OF_SUMS(tacit_curator_release_lengths, n_edges + 1,
                WITH(const tacit_banded_t *of, size_t n_edges, const double *edges, ), of, n_edges, edges, )

/* Each number has noise of its own size: all in units of that. */
tacit_status_t __wrap_tacit_curator_release_fit_check(tacit_curator_t *curator,
                                                      const tacit_fit_point_t *point, double noise_multiplier,
                                                      double *out, double *noise_sd, tacit_error_t *err) {
  tacit_status_t status =
      __real_tacit_curator_release_fit_check(curator, point, noise_multiplier, out, noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  size_t n = tacit_fit_point_n_values(point);
  double sums[2][AUDIT_MAX_SUMS], unused[AUDIT_MAX_SUMS], seen[AUDIT_MAX_SUMS];
  for (size_t side = 0; side < 2; side++) {
    must(__real_tacit_curator_release_fit_check(adversary.exposed[side], point, 1, sums[side], unused, err),
         err);
    for (size_t i = 0; i < n; i++) {
      sums[side][i] /= noise_sd[i];
      seen[i] = out[i] / noise_sd[i];
    }
  }
  see_normal(seen, (const double(*)[AUDIT_MAX_SUMS])sums, n, 1, 1);
  return end_looking(at_work, out, n * sizeof *out, err);
}

/* ---- what a sampler is tuned by ---- */

tacit_status_t __wrap_tacit_curator_release_norms(tacit_curator_t *curator, const double *theta,
                                                  double noise_multiplier, double *out, double *noise_sd,
                                                  tacit_error_t *err) {
  tacit_status_t status =
      __real_tacit_curator_release_norms(curator, theta, noise_multiplier, out, noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  double sums[2][AUDIT_MAX_SUMS], unused;
  for (size_t side = 0; side < 2; side++) {
    must(__real_tacit_curator_release_norms(adversary.exposed[side], theta, 1, sums[side], &unused, err),
         err);
  }
  see_normal(out, (const double(*)[AUDIT_MAX_SUMS])sums, TACIT_NORM_CELLS, *noise_sd, 1);
  return end_looking(at_work, out, TACIT_NORM_CELLS * sizeof *out, err);
}

tacit_status_t __wrap_tacit_curator_release_curvature(tacit_curator_t *curator, const double *theta,
                                                      double noise_multiplier, double *out, double *noise_sd,
                                                      tacit_error_t *err) {
  tacit_status_t status =
      __real_tacit_curator_release_curvature(curator, theta, noise_multiplier, out, noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  fault_t at_work = begin_looking();
  size_t dim = tacit_curator_dim(curator);
  double sums[2][AUDIT_MAX_SUMS], unused[AUDIT_MAX_SUMS];
  for (size_t side = 0; side < 2; side++) {
    must(__real_tacit_curator_release_curvature(adversary.exposed[side], theta, 1, sums[side], unused, err),
         err);
  }
  for (size_t j = 0; j < dim; j++) {
    const double sum[2][AUDIT_MAX_SUMS] = {{sums[0][j]}, {sums[1][j]}};
    see_normal(&out[j], sum, 1, noise_sd[j], 1);
  }
  return end_looking(at_work, out, dim * sizeof *out, err);
}

/* Bounds that releases led to are the adversary's too. */
tacit_status_t __wrap_tacit_curator_set_clip_bounds(tacit_curator_t *curator, double grad, double ratio,
                                                    tacit_error_t *err) {
  for (size_t side = 0; side < 2; side++) {
    must(__real_tacit_curator_set_clip_bounds(adversary.exposed[side], grad, ratio, err), err);
    must(__real_tacit_curator_set_clip_bounds(adversary.replica[side], grad, ratio, err), err);
  }
  return __real_tacit_curator_set_clip_bounds(curator, grad, ratio, err);
}
