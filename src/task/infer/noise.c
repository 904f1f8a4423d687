/* How much noise a released statistic has, and what it cost. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "infer/infer_internal.h"
#include "tacit/account.h"

static const tacit_infer_mechanism_t mechanisms[] = {{"gaussian", TACIT_RELEASE_GAUSSIAN},
                                                     {"classical-gaussian", TACIT_RELEASE_GAUSSIAN},
                                                     {"laplace", TACIT_RELEASE_LAPLACE},
                                                     {"discrete-gaussian", TACIT_RELEASE_DISCRETE_GAUSSIAN},
                                                     {"discrete-laplace", TACIT_RELEASE_DISCRETE_LAPLACE}};

static bool is_laplace(const tacit_infer_t *infer) {
  return infer->release.noise == TACIT_RELEASE_LAPLACE ||
         infer->release.noise == TACIT_RELEASE_DISCRETE_LAPLACE;
}

tacit_status_t tacit_infer_read_mechanism(tacit_infer_t *infer, tacit_yaml_t *file,
                                          const tacit_infer_mechanism_t **mechanism) {
  const yaml_node_t *node = tacit_yaml_find(file, "mechanism");
  tacit_nearest_t nearest = {.name = node != NULL ? tacit_yaml_scalar(node) : ""};
  if (node == NULL) {
    return tacit_yaml_missing(file, "mechanism", "mechanism: laplace");
  }
  for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
    if (strcmp(mechanisms[i].name, tacit_yaml_scalar(node)) == 0) {
      *mechanism = &mechanisms[i];
      infer->release.noise = mechanisms[i].noise;
      return TACIT_OK;
    }
    tacit_nearest_offer(&nearest, mechanisms[i].name);
  }
  char hint[TACIT_HINT_SIZE];
  return tacit_yaml_fault(file, node,
                          "mechanism: expected gaussian, classical-gaussian, laplace, discrete-gaussian or "
                          "discrete-laplace, not '%s'%s",
                          tacit_yaml_scalar(node), tacit_nearest_hint(&nearest, hint));
}

/* How far one record can move each value, in the units of the file, when it is replaced. */
static void sensitivities(const tacit_infer_t *infer, double per_value, double *l1, double *l2) {
  double lower = infer->release.lower, upper = infer->release.upper, first = (upper - lower) * per_value;
  double low = lower <= 0 && upper >= 0 ? 0 : fmin(lower * lower, upper * upper);
  double second = (fmax(lower * lower, upper * upper) - low) * per_value;
  switch (infer->release.kind) {
  case TACIT_RELEASE_COUNTS: /* one cell loses a record, another gains it */
    *l1 = 2;
    *l2 = sqrt(2);
    break;
  case TACIT_RELEASE_MOMENTS:
    *l1 = first + second;
    *l2 = hypot(first, second);
    break;
  case TACIT_RELEASE_PRODUCTS: /* of columns mapped to [-1, 1]; docs/theory.md, section 12.8 */
    *l2 = ((double)infer->model.n_features + 2) * per_value;
    *l1 = *l2 * sqrt((double)infer->release.n_values);
    break;
  case TACIT_RELEASE_SCORE: /* without weights: those of tacit release are said by a scale for each value */
    *l2 = ((double)infer->model.n_features + 1.25) * per_value;
    *l1 = *l2 * sqrt((double)infer->release.n_values);
    break;
  default:
    *l1 = *l2 = first;
  }
}

typedef struct calibration {
  double epsilon, delta, sensitivity; /* NaN: not given */
} calibration_t;

/* The scale that (epsilon, delta) asks for. */
static tacit_status_t calibrate(tacit_infer_t *infer, tacit_yaml_t *file,
                                const tacit_infer_mechanism_t *mechanism, const calibration_t *c,
                                double *scale) {
  const yaml_node_t *at = tacit_yaml_find(file, "epsilon");
  if (!(c->epsilon > 0)) {
    return tacit_yaml_fault(file, at, "epsilon must be above 0");
  }
  if (is_laplace(infer)) {
    *scale = c->sensitivity / c->epsilon;
    return TACIT_OK;
  }
  if (infer->release.noise == TACIT_RELEASE_DISCRETE_GAUSSIAN) {
    return tacit_yaml_fault(file, at, "there is no standard calibration of discrete-gaussian: give `scale`");
  }
  if (!(c->delta > 0 && c->delta < 1)) {
    return tacit_yaml_fault(file, at, "%s noise by epsilon needs a `delta` above 0 and below 1",
                            mechanism->name);
  }
  if (strcmp(mechanism->name, "classical-gaussian") == 0) {
    *scale = c->sensitivity * sqrt(2 * log(1.25 / c->delta)) / c->epsilon;
    infer->true_delta = tacit_gaussian_delta(0.5 * pow(c->sensitivity / *scale, 2), c->epsilon);
  } else {
    *scale = c->sensitivity / sqrt(2 * tacit_gaussian_rho(c->epsilon, log(c->delta)));
  }
  return TACIT_OK;
}

/* What a release with this noise costs; NaN where the file does not say enough. */
static void set_cost(tacit_infer_t *infer, const calibration_t *c, double least_scale) {
  double ratio = c->sensitivity / least_scale, rho = 0.5 * ratio * ratio;
  bool has_delta = c->delta > 0 && c->delta < 1;
  infer->delta = is_laplace(infer) ? 0 : has_delta ? c->delta : NAN;
  infer->epsilon =
      is_laplace(infer) ? ratio
      : !has_delta      ? NAN
      : infer->release.noise == TACIT_RELEASE_GAUSSIAN
          ? tacit_gaussian_epsilon(rho, log(c->delta))
          : tacit_rdp_gaussian_epsilon(rho, log(c->delta), NULL); /* rho-zCDP [Canonne2020, theorem 4] */
}

/* Scales of all values in the units of the file, from `scale` or from a calibration. */
tacit_status_t tacit_infer_read_scales(tacit_infer_t *infer, tacit_yaml_t *file,
                                       const tacit_infer_mechanism_t *mechanism, double per_value) {
  calibration_t c = {NAN, NAN, NAN};
  double l1, l2, *scales;
  size_t n;
  sensitivities(infer, per_value, &l1, &l2);
  c.sensitivity = is_laplace(infer) ? l1 : l2;
  tacit_status_t status = tacit_yaml_number(file, "epsilon", &c.epsilon);
  TACIT_THEN(status, tacit_yaml_number(file, "delta", &c.delta));
  TACIT_THEN(status, tacit_yaml_number(file, "sensitivity", &c.sensitivity));
  if (status == TACIT_OK && !(c.sensitivity > 0)) {
    status = tacit_yaml_fault(file, tacit_yaml_find(file, "sensitivity"), "sensitivity must be above 0");
  }
  TACIT_THEN(status, tacit_yaml_numbers(file, "scale", &scales, &n));
  if (status != TACIT_OK) {
    return status;
  }
  if ((scales == NULL) == isnan(c.epsilon)) {
    tacit_free(scales);
    return tacit_error_set(file->err, TACIT_ERR_SYNTAX, "scale",
                           "%s: say how much noise there is: either `scale: NUMBER` or `epsilon: NUMBER`%s",
                           file->name, is_laplace(infer) ? "" : " with `delta: NUMBER`");
  }
  if (scales != NULL && n != 1 && n != infer->release.n_values) {
    tacit_free(scales);
    return tacit_yaml_fault(file, tacit_yaml_find(file, "scale"),
                            "scale: expected one number, or one for each of %zu values",
                            infer->release.n_values);
  }
  double common = scales != NULL ? scales[0] : NAN, least = INFINITY;
  status = scales != NULL ? TACIT_OK : calibrate(infer, file, mechanism, &c, &common);
  for (size_t j = 0; j < infer->release.n_values && status == TACIT_OK; j++) {
    infer->scales[j] = scales != NULL && n > 1 ? scales[j] : common;
    least = fmin(least, infer->scales[j]);
    if (!(infer->scales[j] > 0)) {
      status = tacit_yaml_fault(file, tacit_yaml_find(file, "scale"), "scale must be above 0");
    }
  }
  tacit_free(scales);
  if (status == TACIT_OK) {
    set_cost(infer, &c, least);
  }
  return status;
}
