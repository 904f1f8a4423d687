/* What models, releases and settings must satisfy. */
#include "base/error.h"
#include "augment/augment_internal.h"

tacit_augment_settings_t tacit_augment_settings_default(void) {
  return (tacit_augment_settings_t){.n_chains = 4,
                                    .n_warmup = 1000,
                                    .n_draws = 1000,
                                    .thin = 1,
                                    .interweave = true,
                                    .path = TACIT_PATH_COLLECTIVE,
                                    .smooth_mass = true,
                                    .n_threads = 1};
}

size_t tacit_latent_n_reported(const tacit_latent_model_t *model) {
  size_t n = 0;
  switch (model->kind) {
  case TACIT_LATENT_GAUSSIAN:
    return model->known_sd > 0 ? 1 : 2;
  case TACIT_LATENT_POISSON:
    return 1;
  case TACIT_LATENT_REGRESSION:
    return model->n_features + 2;
  case TACIT_LATENT_LOGISTIC:
    return model->n_features + 1;
  default:
    for (size_t f = 0; f < model->n_factors; f++) {
      n += model->n_levels[f];
    }
    return n;
  }
}

static bool is_positive(double x) { return x > 0 && isfinite(x); }

static tacit_status_t refuse_check(tacit_error_t *err, const char *field, const char *message) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, field, "%s", message);
}

static tacit_status_t check_gaussian(const tacit_latent_model_t *model, tacit_error_t *err) {
  if (!isfinite(model->mean_location) || !is_positive(model->mean_scale)) {
    return refuse_check(
        err, "mean",
        "the prior of the mean must be normal(location, scale) with finite numbers and scale above 0");
  }
  if (!(model->known_sd >= 0) || !isfinite(model->known_sd)) {
    return refuse_check(err, "sd", "the known sd of a record must be a finite number above 0");
  }
  if (model->known_sd <= 0 && (!is_positive(model->variance_shape) || !is_positive(model->variance_scale))) {
    return refuse_check(err, "variance",
                        "the prior of the variance must be inverse_gamma(shape, scale) with both above 0");
  }
  return TACIT_OK;
}

static tacit_status_t check_poisson(const tacit_latent_model_t *model, tacit_error_t *err) {
  if (!is_positive(model->rate_shape) || !is_positive(model->rate_rate)) {
    return refuse_check(err, "rate", "the prior of the rate must be gamma(shape, rate) with both above 0");
  }
  if (model->rate_shape / model->rate_rate > 1e8) {
    return refuse_check(err, "rate", "the prior mean of the rate must be at most 1e8");
  }
  return TACIT_OK;
}

static tacit_status_t check_regression(const tacit_latent_model_t *model, tacit_error_t *err) {
  if (model->n_features < 1 || model->n_features > 20) {
    return refuse_check(err, "columns", "a regression has 1 to 20 features");
  }
  if (!is_positive(model->coefficient_scale)) {
    return refuse_check(err, "coefficients",
                        "the prior of the coefficients must be normal(0, scale) with scale above 0");
  }
  if (model->kind == TACIT_LATENT_LOGISTIC && !is_positive(model->feature_scale)) {
    return refuse_check(
        err, "features",
        "the prior of the features' intercepts and slopes must be normal(0, scale) with scale above 0");
  }
  if (!is_positive(model->variance_shape) || !is_positive(model->variance_scale)) {
    return refuse_check(err, "variance",
                        "the prior of the variances must be inverse_gamma(shape, scale) with both above 0");
  }
  return TACIT_OK;
}

static tacit_status_t check_categorical(const tacit_latent_model_t *model, tacit_error_t *err) {
  size_t n_cells = 1, j = 0;
  if (model->n_factors < 1 || model->n_levels == NULL || model->concentration == NULL) {
    return refuse_check(
        err, "levels",
        "categorical records need at least one factor with its levels and Dirichlet parameters");
  }
  for (size_t f = 0; f < model->n_factors; f++) {
    if (model->n_levels[f] < 2 || model->n_levels[f] > TACIT_MAX_CELLS) {
      return refuse_check(err, "levels", "each factor must have 2 to 65536 levels");
    }
    n_cells *= model->n_levels[f];
    if (n_cells > TACIT_MAX_CELLS) {
      return refuse_check(err, "levels", "a table can have at most 65536 cells");
    }
    for (size_t l = 0; l < model->n_levels[f]; l++, j++) {
      if (!is_positive(model->concentration[j])) {
        return refuse_check(err, "probabilities", "Dirichlet parameters must be finite numbers above 0");
      }
    }
  }
  return TACIT_OK;
}

static tacit_status_t check_model(const tacit_latent_model_t *model, tacit_error_t *err) {
  if (model->n_records < 1 || model->n_records > INT32_MAX) {
    return refuse_check(err, "n", "the number of records must be between 1 and 2147483647");
  }
  switch (model->kind) {
  case TACIT_LATENT_GAUSSIAN:
    return check_gaussian(model, err);
  case TACIT_LATENT_POISSON:
    return check_poisson(model, err);
  case TACIT_LATENT_REGRESSION:
  case TACIT_LATENT_LOGISTIC:
    return check_regression(model, err);
  case TACIT_LATENT_CATEGORICAL:
    return check_categorical(model, err);
  default:
    return refuse_check(err, "records", "unknown distribution of the records");
  }
}

static bool is_discrete(const tacit_release_t *release) {
  return release->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN ||
         release->noise == TACIT_RELEASE_DISCRETE_LAPLACE;
}

static bool is_multiple(double x, double step) {
  double k = x / step;
  return fabs(k) < 0x1p52 && fabs(k - nearbyint(k)) < 1e-6 * fmax(1, 1e-6 * fabs(k));
}

static tacit_status_t check_kind(const tacit_latent_model_t *model, const tacit_release_t *release,
                                 tacit_error_t *err) {
  bool is_counts = release->kind == TACIT_RELEASE_COUNTS,
       is_categorical = model->kind == TACIT_LATENT_CATEGORICAL;
  size_t expected = release->kind == TACIT_RELEASE_MOMENTS ? 2 : 1;
  if (is_counts != is_categorical) {
    return refuse_check(err, "statistic",
                        is_categorical ? "categorical records go with released counts"
                                       : "counts go with categorical records; use a mean or a sum");
  }
  if ((release->kind == TACIT_RELEASE_PRODUCTS) != (model->kind == TACIT_LATENT_REGRESSION)) {
    return refuse_check(err, "statistic",
                        "regression records go with released regression-moments, and no others do");
  }
  if ((release->kind == TACIT_RELEASE_SCORE) != (model->kind == TACIT_LATENT_LOGISTIC)) {
    return refuse_check(err, "statistic",
                        "logistic records go with a released logistic-score, and no others do");
  }
  if (tacit_latent_is_row(model)) {
    expected = (model->n_features + 1) * (model->n_features + 4) / 2 - (model->kind == TACIT_LATENT_LOGISTIC);
  }
  if (release->kind == TACIT_RELEASE_MOMENTS && model->kind != TACIT_LATENT_GAUSSIAN) {
    return refuse_check(err, "statistic", "moments go with gaussian records");
  }
  for (size_t f = 0; is_categorical && f < model->n_factors; f++) {
    expected *= model->n_levels[f];
  }
  if (release->n_values != expected) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "value",
                           "the release has %zu values where the model expects %zu", release->n_values,
                           expected);
  }
  return TACIT_OK;
}

static tacit_status_t check_bounds(const tacit_latent_model_t *model, const tacit_release_t *release,
                                   tacit_error_t *err) {
  double lower = release->lower, upper = release->upper;
  if (tacit_latent_is_row(model) && release->noise != TACIT_RELEASE_GAUSSIAN) {
    return refuse_check(err, "mechanism",
                        "regression-moments and logistic-score are known under gaussian noise only");
  }
  if (tacit_latent_is_row(model) && (lower < -1 || lower > -1 || upper < 1 || upper > 1)) {
    return refuse_check(err, "lower", "columns of products must be mapped to [-1, 1]");
  }
  if (!isfinite(lower) || !isfinite(upper) || !(lower < upper)) {
    return refuse_check(err, "lower", "the clamp bounds must be finite numbers with lower below upper");
  }
  if (model->kind == TACIT_LATENT_POISSON &&
      (lower < 0 || floor(lower) < lower || floor(upper) < upper || upper > 1e9)) {
    return refuse_check(err, "lower", "the clamp bounds of counts must be whole numbers from 0 to 1e9");
  }
  if (!(release->step >= 0) ||
      (release->step > 0 && (!is_discrete(release) || model->kind != TACIT_LATENT_GAUSSIAN))) {
    return refuse_check(err, "step", "a step goes with gaussian records and discrete noise only");
  }
  if (is_discrete(release) && model->kind == TACIT_LATENT_GAUSSIAN) {
    if (release->kind != TACIT_RELEASE_SUM || !is_positive(release->step)) {
      return refuse_check(
          err, "step",
          "discrete noise lives on a lattice: give the step to which clamped records were rounded "
          "(and a mean or a sum, not moments)");
    }
    if (!is_multiple(lower, release->step) || !is_multiple(upper, release->step)) {
      return refuse_check(err, "step", "the clamp bounds must be multiples of the step");
    }
  }
  return TACIT_OK;
}

static tacit_status_t check_values(const tacit_release_t *release, tacit_error_t *err) {
  double step = release->step > 0 ? release->step : 1;
  if (release->noise > TACIT_RELEASE_DISCRETE_LAPLACE) {
    return refuse_check(err, "mechanism", "this mechanism goes with records of a program alone");
  }
  for (size_t j = 0; j < release->n_values; j++) {
    if (!isfinite(release->values[j])) {
      return refuse_check(err, "value", "released values must be finite numbers");
    }
    if (is_discrete(release) && !is_multiple(release->values[j], step)) {
      return tacit_error_set(
          err, TACIT_ERR_ARGUMENT, "value",
          "under discrete noise the released sum is a multiple of %g, which %.10g is not: give all its "
          "digits, or the sum instead of the mean",
          step, release->values[j]);
    }
    if (!is_positive(release->scales[j])) {
      return refuse_check(err, "scale", "noise scales must be finite numbers above 0");
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_augment_validate(const tacit_latent_model_t *model, const tacit_release_t *release,
                                      tacit_error_t *err) {
  tacit_status_t status = check_model(model, err);
  TACIT_THEN(status, check_kind(model, release, err));
  if (status == TACIT_OK && model->kind != TACIT_LATENT_CATEGORICAL) {
    status = check_bounds(model, release, err);
  }
  return status == TACIT_OK ? check_values(release, err) : status;
}

/* Why there is no inference without latent records, or NULL. */
static const char *no_marginal(const tacit_latent_model_t *model, const tacit_release_t *release) {
  if (release->step > 0 && !tacit_inversion_applies(model, release)) {
    return "method marginal knows no records rounded to more than 4097 values (step): use gibbs";
  }
  if (release->kind == TACIT_RELEASE_MOMENTS && release->noise == TACIT_RELEASE_LAPLACE) {
    return "method marginal knows no moments under Laplace noise: use gibbs";
  }
  return NULL;
}

tacit_augment_method_t tacit_augment_choose(const tacit_latent_model_t *model, const tacit_release_t *release,
                                            tacit_augment_method_t asked) {
  if (asked != TACIT_AUGMENT_AUTO || tacit_latent_is_row(model)) {
    return asked != TACIT_AUGMENT_AUTO ? asked : TACIT_AUGMENT_MARGINAL;
  }
  bool is_exact = release->kind == TACIT_RELEASE_COUNTS || tacit_inversion_applies(model, release);
  bool has_moves =
      model->kind == TACIT_LATENT_GAUSSIAN; /* that carry the records: without them gibbs mixes slowly */
  size_t most = !is_exact ? TACIT_AUGMENT_AUTO_MAX : has_moves ? TACIT_AUGMENT_AUTO_EXACT : 0;
  return model->n_records > most && no_marginal(model, release) == NULL ? TACIT_AUGMENT_MARGINAL
                                                                        : TACIT_AUGMENT_GIBBS;
}

static tacit_status_t check_method(const tacit_latent_model_t *model, const tacit_release_t *release,
                                   const tacit_augment_settings_t *s, tacit_error_t *err) {
  const char *why = s->method == TACIT_AUGMENT_MARGINAL ? no_marginal(model, release) : NULL;
  if (why != NULL) {
    return refuse_check(err, "method", why);
  }
  if (s->method == TACIT_AUGMENT_HMC && (model->kind != TACIT_LATENT_GAUSSIAN || is_discrete(release))) {
    return refuse_check(err, "method", "method hmc needs gaussian records and continuous noise: use gibbs");
  }
  return TACIT_OK;
}

tacit_status_t tacit_augment_check_settings(const tacit_latent_model_t *model, const tacit_release_t *release,
                                            const tacit_augment_settings_t *s, tacit_error_t *err) {
  size_t n_iterations;
  if (s->n_chains < 1 || s->n_chains > 10000) {
    return refuse_check(err, "chains", "the number of chains must be between 1 and 10000");
  }
  if (s->n_draws < 1 || s->thin < 1 || __builtin_mul_overflow(s->n_draws, s->thin, &n_iterations) ||
      __builtin_add_overflow(n_iterations, s->n_warmup, &n_iterations)) {
    return refuse_check(err, "draws",
                        "draws and thin must be at least 1, and warm-up + draws * thin must fit");
  }
  if (s->n_threads < 1 || s->n_threads > 1024) {
    return refuse_check(err, "threads", "the number of threads must be between 1 and 1024");
  }
  if (!(s->step_size >= 0) || !(s->step_size <= 10)) {
    return refuse_check(err, "step-size", "the step size must be between 0 (adapted) and 10");
  }
  if (!(s->step_size > 0) && s->n_warmup == 0 && s->method == TACIT_AUGMENT_HMC) {
    return refuse_check(err, "step-size", "without warm-up the step size cannot be adapted: give one");
  }
  return check_method(model, release, s, err);
}
