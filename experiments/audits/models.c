/* Likelihoods and priors of what is audited. */
#include <math.h>
#include <string.h>

#include "audit.h"

/* ---- models ---- */

/* l(theta) = theta . x with x far beyond the clip bound 1: every gradient and every log ratio is clipped to
 * its bound. */
static void steep_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                          double *out) {
  size_t dim = *(const size_t *)ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t i = 0; i < TACIT_BLOCK; i++) {
      out[k * TACIT_BLOCK + i] = 0;
      for (size_t j = 0; j < dim; j++) {
        out[k * TACIT_BLOCK + i] += theta[k * dim + j] * (double)block[j * TACIT_BLOCK + i];
      }
    }
  }
}

static void steep_grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  (void)theta;
  size_t size = *(const size_t *)ctx * TACIT_BLOCK;
  for (size_t k = 0; k < n_theta; k++) {
    memcpy(out + k * size, block, size * sizeof *out);
  }
}

/*
 * The score is y x, y in the last column, and no number where y is above 1e6. Other responses are -y with
 * weight 1/4: scores of opposite records are 5/4 of the clip apart from 0 on either side.
 */
static void centred_grad(const void *ctx, const float *block, size_t n_theta, const float *theta,
                         float *out) {
  size_t dim = *(const size_t *)ctx;
  (void)theta, (void)n_theta;
  for (size_t i = 0; i < dim * TACIT_BLOCK; i++) {
    float y = block[dim * TACIT_BLOCK + i % TACIT_BLOCK];
    out[i] = fabsf(y) > 1e6f ? NAN : block[i] * y;
  }
}

static void centred_others(const void *ctx, const float *record, const double *theta, uint64_t seed, size_t n,
                           float *blocks, double *weights) {
  size_t dim = *(const size_t *)ctx;
  (void)theta, (void)n, (void)seed;
  for (size_t i = 0; i < (dim + 1) * TACIT_BLOCK; i++) {
    blocks[i] = i / TACIT_BLOCK == dim ? -record[dim] : record[i / TACIT_BLOCK];
  }
  memset(weights, 0, TACIT_BLOCK * sizeof *weights);
  weights[0] = 0.25;
}

static void centred_made_up(const void *ctx, uint64_t seed, size_t n, float *records) {
  (void)seed;
  memset(records, 0, n * (*(const size_t *)ctx + 1) * sizeof *records);
}

/* Features in [-1, 1], the response in the last column. */
static void logistic_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                             double *out) {
  size_t dim = *(const size_t *)ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t i = 0; i < TACIT_BLOCK; i++) {
      double eta = 0;
      for (size_t j = 0; j < dim; j++) {
        eta += theta[k * dim + j] * (double)block[j * TACIT_BLOCK + i];
      }
      out[k * TACIT_BLOCK + i] =
          (double)block[dim * TACIT_BLOCK + i] * eta - (fmax(eta, 0) + log1p(exp(-fabs(eta))));
    }
  }
}

static void logistic_residual(const void *ctx, const float *block, size_t n_theta, const float *theta,
                              float *out) {
  size_t dim = *(const size_t *)ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t i = 0; i < TACIT_BLOCK; i++) {
      float eta = 0;
      for (size_t j = 0; j < dim; j++) {
        eta += theta[k * dim + j] * block[j * TACIT_BLOCK + i];
      }
      out[k * TACIT_BLOCK + i] = block[dim * TACIT_BLOCK + i] - 1 / (1 + expf(-eta));
    }
  }
}

static double logistic_ratio_bound(const void *ctx, const double *theta, const double *theta_prop) {
  double sum = 0;
  for (size_t j = 0; j < *(const size_t *)ctx; j++) {
    sum += fabs(theta_prop[j] - theta[j]);
  }
  return sum * (1 + 1e-12);
}

/*
 * l(theta) = y theta . x, y in the last column, with a curvature of its own: in units of its public bound, 1
 * where the first feature is positive and 0 elsewhere. The bound keeps steps so short that log-likelihoods
 * stay on their grid whatever clip is chosen.
 */
static const double tuned_curvature = 1e9;

static void tuned_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                          double *out) {
  size_t dim = *(const size_t *)ctx;
  steep_log_lik(ctx, block, n_theta, theta, out);
  for (size_t i = 0; i < n_theta * TACIT_BLOCK; i++) {
    out[i] *= (double)block[dim * TACIT_BLOCK + i % TACIT_BLOCK];
  }
}

static void tuned_residual(const void *ctx, const float *block, size_t n_theta, const float *theta,
                           float *out) {
  (void)theta;
  for (size_t k = 0; k < n_theta; k++) {
    memcpy(out + k * TACIT_BLOCK, block + *(const size_t *)ctx * TACIT_BLOCK, TACIT_BLOCK * sizeof *out);
  }
}

static void tuned_curvature_bound(const void *ctx, const double *theta, double *bound) {
  (void)ctx, (void)theta;
  bound[0] = tuned_curvature;
}

static void tuned_curvature_of(const void *ctx, const double *x, const double *theta, double *weights) {
  (void)ctx, (void)theta;
  weights[0] = x[0] > 0 ? tuned_curvature : 0;
}

/* The library's own poisson regression; freed by audit_model_clear(). */
static tacit_model_t family_model;

static void open_family(tacit_family_t family) {
  static const char text[] =
      "dataset: audit\nrelation: substitute\nunit: row\ncolumns:\n  x: {type: numeric, lower: -1, upper: 1}\n"
      "  y: {type: integer, lower: 0, upper: 1000}\n";
  tacit_schema_t *schema;
  tacit_design_t *design;
  tacit_error_t err;
  tacit_glm_settings_t settings = tacit_glm_settings_default();
  settings.family = family;
  must(tacit_schema_parse(&schema, text, strlen(text), "schema", &err), &err);
  must(tacit_design_new(&design, "y ~ x", schema, family, &err), &err);
  must(tacit_model_init_glm(&family_model, design, &settings, &err), &err);
  tacit_design_free(design);
  tacit_schema_free(schema);
}

void audit_model_clear(void) {
  tacit_model_clear(&family_model);
  family_model = (tacit_model_t){0};
}

void audit_record_model(const audit_case_t *of, tacit_record_model_t *model) {
  switch (of->model) {
  case AUDIT_POISSON:
    open_family(TACIT_FAMILY_POISSON);
    *model = family_model.records;
    return;
  case AUDIT_TUNED:
    *model = (tacit_record_model_t){.name = "tuned",
                                    .dim = of->dim,
                                    .n_columns = of->dim + 1,
                                    .grad_bound = INFINITY,
                                    .log_lik = tuned_log_lik,
                                    .n_linear = 1,
                                    .n_features = of->dim,
                                    .residual = tuned_residual,
                                    .curvature_bound = tuned_curvature_bound,
                                    .curvature = tuned_curvature_of};
    break;
  case AUDIT_CENTRED:
    *model = (tacit_record_model_t){.name = "centred",
                                    .dim = of->dim,
                                    .n_columns = of->dim + 1,
                                    .grad_bound = INFINITY,
                                    .log_lik = logistic_log_lik,
                                    .grad = centred_grad,
                                    .n_others = 1,
                                    .others = centred_others,
                                    .made_up = centred_made_up};
    break;
  case AUDIT_COLUMNS:
    tacit_statistic_model(model, of->statistic);
    return;
  case AUDIT_STEEP:
    *model = (tacit_record_model_t){.name = "steep",
                                    .dim = of->dim,
                                    .n_columns = of->dim,
                                    .grad_bound = INFINITY,
                                    .log_lik = steep_log_lik,
                                    .grad = steep_grad};
    break;
  default:
    *model = (tacit_record_model_t){.name = "logistic",
                                    .dim = of->dim,
                                    .n_columns = of->dim + 1,
                                    .grad_bound = sqrt((double)of->dim) * (1 + 1e-12),
                                    .ratio_bound = logistic_ratio_bound,
                                    .is_softmax = true,
                                    .log_lik = logistic_log_lik,
                                    .n_linear = 1,
                                    .n_features = of->dim,
                                    .residual = logistic_residual};
  }
  model->ctx = (void *)&of->dim;
}

/* ---- priors ---- */

static double flat_prior(const void *ctx, const double *theta, double *grad) {
  (void)theta;
  if (grad != NULL) {
    memset(grad, 0, *(const size_t *)ctx * sizeof *grad);
  }
  return 0;
}

static double normal_prior(const void *ctx, const double *theta, double *grad) {
  double sum = 0;
  for (size_t j = 0; j < *(const size_t *)ctx; j++) {
    sum -= 0.5 * theta[j] * theta[j];
    if (grad != NULL) {
      grad[j] = -theta[j];
    }
  }
  return sum;
}

static void report(const void *ctx, const double *theta, double *reported) {
  memcpy(reported, theta, *(const size_t *)ctx * sizeof *theta);
}

tacit_parameters_t audit_parameters(const audit_case_t *of) {
  if (of->model == AUDIT_POISSON) {
    return family_model.parameters;
  }
  static const double ones[AUDIT_MAX_DIM] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  return (tacit_parameters_t){.dim = of->dim,
                              .n_reported = of->dim,
                              .log_prior = of->rho > 0 ? normal_prior : flat_prior,
                              .report = report,
                              .unit_scale = ones,
                              .ctx = (void *)&of->dim};
}
