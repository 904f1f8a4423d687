/*
 * The likelihood of a published number: sum + noise, rounded, then moved into its bounds. A number that was
 * neither rounded nor moved has the noise's density; one that was rounded, the probability of what is rounded
 * to it; one at a bound, that of all beyond.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/population_internal.h"

enum { MAX_TAIL = 1 << 22 };

static bool is_discrete(const tacit_noise_distribution_t *distribution) {
  return distribution->as.noise == TACIT_RELEASE_DISCRETE_GAUSSIAN ||
         distribution->as.noise == TACIT_RELEASE_DISCRETE_LAPLACE;
}

/* log(e^a - e^b), a >= b. */
static double log_difference(double a, double b) {
  double d = b - a;
  return !(d < 0) ? -INFINITY : a + (d > -0.6931471805599453 ? log(-expm1(d)) : log1p(-exp(d)));
}

/* ---- probabilities of an interval of the noise ---- */

/* log P(noise > x) and log P(noise < -x), which are the same, of a continuous distribution. */
static double log_above(const tacit_noise_distribution_t *distribution, double x) {
  double z = x / distribution->as.scale;
  if (distribution->as.noise == TACIT_RELEASE_GAUSSIAN) {
    return tacit_log_normal_cdf(-z);
  }
  return z >= 0 ? -0.6931471805599453 - z : log1p(-0.5 * exp(z));
}

/* log of the weights of whole numbers from k on, k >= 0; discrete distributions. */
static double log_from(const tacit_noise_distribution_t *distribution, double k) {
  double scale = distribution->as.scale;
  if (distribution->as.noise == TACIT_RELEASE_DISCRETE_LAPLACE) {
    return -k / scale - log(-expm1(-1 / scale));
  }
  if (k < (double)distribution->n_tail) {
    return distribution->tail[(size_t)k];
  }
  double s2 = scale * scale, term = 0,
         sum = 0; /* beyond 38 sds weights fall by more than a geometric series */
  for (double j = 0; j < 1000 && term > -40; j++) {
    term = -(2 * k * j + j * j) / (2 * s2);
    sum += exp(term);
  }
  return -k * k / (2 * s2) + log(sum);
}

static double log_weight(const tacit_noise_distribution_t *distribution, double e) {
  double z = fabs(e) / distribution->as.scale;
  return distribution->as.noise == TACIT_RELEASE_GAUSSIAN ||
                 distribution->as.noise == TACIT_RELEASE_DISCRETE_GAUSSIAN
             ? -0.5 * z * z
             : -z;
}

/* log P(noise >= from) up to the distribution's constant, whole `from` of either sign; discrete
 * distributions. */
static double log_at_least(const tacit_noise_distribution_t *distribution, double from) {
  if (from > 0) {
    return log_from(distribution, from);
  }
  double one = log_from(distribution, 1), all = log1p(2 * exp(one)); /* the weight of 0 is 1 */
  return log_difference(all, log_from(distribution, 1 - from));
}

static double log_interval_continuous(const tacit_noise_distribution_t *distribution, double from,
                                      double to) {
  if (from > 0 || isinf(to)) {
    return isinf(to) ? log_above(distribution, from)
                     : log_difference(log_above(distribution, from), log_above(distribution, to));
  }
  if (to < 0 || isinf(from)) {
    return isinf(from) ? log_above(distribution, -to)
                       : log_difference(log_above(distribution, -to), log_above(distribution, -from));
  }
  return log1p(-exp(log_above(distribution, -from)) - exp(log_above(distribution, to)));
}

static double log_interval_discrete(const tacit_noise_distribution_t *distribution, double from, double to) {
  if (isinf(to)) {
    return log_at_least(distribution, from);
  }
  if (isinf(from)) {
    return log_at_least(distribution, -to);
  }
  double nearest = from > 0 ? from : to < 0 ? to : 0, high = log_weight(distribution, nearest), sum = 0;
  for (double e = from; e <= to; e += 1) {
    sum += exp(log_weight(distribution, e) - high);
  }
  return high + log(sum);
}

double tacit_noise_distribution_log_lik(const tacit_noise_distribution_t *distribution, double value,
                                        double sum) {
  const tacit_noisy_t *p = &distribution->as;
  bool is_low = value <= p->lower, is_high = value >= p->upper, is_whole = is_discrete(distribution);
  if (distribution->is_exact) {
    return 0;
  }
  if (isnan(value)) { /* below `suppressed`, a multiple of `rounded` */
    double below = p->suppressed - 0.5 * p->rounded - sum;
    return is_whole ? log_interval_discrete(distribution, -INFINITY, ceil(below) - 1)
                    : log_interval_continuous(distribution, -INFINITY, below);
  }
  if (!is_low && !is_high && !(p->rounded > 0)) {
    return log_weight(distribution, value - sum);
  }
  double half = is_whole ? fmax(0.5 * (p->rounded - 1), 0) : 0.5 * p->rounded;
  double from = is_low ? -INFINITY : value - half - sum, to = is_high ? INFINITY : value + half - sum;
  return is_whole ? log_interval_discrete(distribution, from, to)
                  : log_interval_continuous(distribution, from, to);
}

/* ---- checks ---- */

static tacit_status_t refuse_published(tacit_error_t *err, const char *name, const char *what) {
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, name, "%s: %s", name, what);
}

static bool is_multiple(double x, double of) { return isinf(x) || fabs(x / of - nearbyint(x / of)) < 1e-9; }

static tacit_status_t check_value(const tacit_noise_distribution_t *distribution, size_t i, const char *name,
                                  tacit_error_t *err) {
  const tacit_noisy_t *p = &distribution->as;
  double y = p->values[i];
  if (isnan(y) && p->suppressed > 0) {
    return TACIT_OK;
  }
  if (!isfinite(y) || y < p->lower || y > p->upper) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, name,
                           "%s: value %zu is %g, outside of what it is said to be clamped to", name, i + 1,
                           y);
  }
  if (p->suppressed > 0 && y < p->suppressed) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, name,
                           "%s: value %zu is %g, and values below %g are said to be withheld", name, i + 1, y,
                           p->suppressed);
  }
  if ((p->rounded > 0 && !is_multiple(y, p->rounded)) || (is_discrete(distribution) && y > floor(y))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, name,
                           "%s: value %zu is %.17g, which is no multiple of %g", name, i + 1, y,
                           p->rounded > 0 ? p->rounded : 1.0);
  }
  return TACIT_OK;
}

static tacit_status_t check_after(const tacit_noise_distribution_t *distribution, const tacit_measured_t *of,
                                  tacit_error_t *err) {
  const tacit_noisy_t *p = &distribution->as;
  bool is_moved = isfinite(p->lower) || isfinite(p->upper);
  if (!(p->rounded >= 0) || !isfinite(p->rounded)) {
    return refuse_published(err, of->name,
                            "rounded: a value above 0, of which published values are multiples");
  }
  if (!(p->lower < p->upper)) {
    return refuse_published(err, of->name, "clamped: two bounds, the lower one first");
  }
  if (p->rounded > 0 && (!is_multiple(p->lower, p->rounded) || !is_multiple(p->upper, p->rounded) ||
                         !is_multiple(p->suppressed, p->rounded))) {
    return refuse_published(err, of->name,
                            "the bounds of `clamped`, and `suppressed`, must be multiples of `rounded`");
  }
  if (!(p->suppressed >= 0) || !isfinite(p->suppressed) ||
      (is_discrete(distribution) && p->suppressed > floor(p->suppressed))) {
    return refuse_published(
        err, of->name,
        "suppressed: a value above 0 below which values were withheld, whole under discrete noise");
  }
  if (p->adds_up &&
      (p->rounded > 0 || is_moved || p->suppressed > 0 || is_discrete(distribution) || !of->is_count)) {
    return refuse_published(
        err, of->name,
        "adds_up goes with counts under gaussian or laplace noise that were neither rounded nor "
        "clamped nor withheld");
  }
  return TACIT_OK;
}

static tacit_status_t check_published(const tacit_noise_distribution_t *distribution,
                                      const tacit_measured_t *of, tacit_error_t *err) {
  const tacit_noisy_t *p = &distribution->as;
  if (!(p->scale > 0) || !isfinite(p->scale)) {
    return refuse_published(err, of->name, "the scale of the noise must be above 0");
  }
  if (of->statistic != NULL && of->statistic->is_quantile) {
    return refuse_published(err, of->name, "a quantile is published by mechanism exponential");
  }
  if (is_discrete(distribution) && !of->is_integer) {
    return refuse_published(
        err, of->name, "discrete noise goes with a statistic of whole numbers: counts, or a sum of ints");
  }
  if (is_discrete(distribution) && p->rounded > 0 &&
      (p->rounded > floor(p->rounded) || fmod(p->rounded, 2) < 1 || p->rounded > 1e5)) {
    return refuse_published(
        err, of->name,
        "under discrete noise `rounded` is an odd whole number up to 1e5: else halves could go either way");
  }
  tacit_status_t status = check_after(distribution, of, err);
  for (size_t i = 0; i < p->n_values && status == TACIT_OK; i++) {
    status = check_value(distribution, i, of->name, err);
  }
  return status;
}

/* Counts of whole records: as they are, or of answers. */
static tacit_status_t check_exact(const tacit_noise_distribution_t *distribution, const tacit_measured_t *of,
                                  tacit_error_t *err) {
  const tacit_noisy_t *p = &distribution->as;
  if (of->statistic == NULL || !of->is_count || of->statistic->is_quantile || p->rounded > 0 ||
      p->suppressed > 0 || p->adds_up || isfinite(p->lower) || isfinite(p->upper)) {
    return refuse_published(
        err, of->name,
        "mechanisms none and randomised-response go with counts, which nothing was done to afterwards");
  }
  for (size_t i = 0; i < p->n_values; i++) {
    if (!(p->values[i] >= 0) || p->values[i] > floor(p->values[i]) || !isfinite(p->values[i])) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, of->name,
                             "%s: value %zu is %g, and a count without noise is a whole number from 0 on",
                             of->name, i + 1, p->values[i]);
    }
  }
  for (size_t i = 0; p->noise == TACIT_RELEASE_RESPONSES && i < p->n_values; i++) {
    double sum = 0;
    for (size_t k = 0; k < p->n_values; k++) {
      double share = p->channel[i * p->n_values + k];
      sum += share >= 0 && share <= 1 ? share : NAN;
    }
    if (!(fabs(sum - 1) < 1e-9)) {
      return refuse_published(
          err, of->name,
          "probabilities of the answers of a record, a row of the channel, lie in [0, 1] and add up to 1");
    }
  }
  return TACIT_OK;
}

/* The candidate that a quantile is. */
static tacit_status_t choose(tacit_noise_distribution_t *distribution, const tacit_measured_t *of,
                             tacit_error_t *err) {
  const tacit_noisy_t *p = &distribution->as;
  if (of->statistic == NULL || !of->statistic->is_quantile) {
    return refuse_published(err, of->name,
                            "mechanism exponential goes with a statistic quantile(x, q, {candidates})");
  }
  if (!(p->scale > 0) || !isfinite(p->scale) || p->rounded > 0 || p->suppressed > 0 || p->adds_up ||
      isfinite(p->lower) || isfinite(p->upper)) {
    return refuse_published(
        err, of->name, "mechanism exponential has a scale above 0, and nothing is done to what it chose");
  }
  distribution->is_joint = true;
  distribution->quantile = of->statistic->quantile;
  distribution->n_sums = of->statistic->extents[0];
  for (size_t i = 0; i + 1 < distribution->n_sums; i++) {
    if (!(fabs(p->values[0] - of->statistic->candidates[i]) > 0)) {
      distribution->chosen = i;
      return TACIT_OK;
    }
  }
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, of->name, "%s: %.17g is none of the quantile's candidates",
                         of->name, p->values[0]);
}

/* Sums of weights from each number on, from the far end. */
static tacit_status_t make_tail(tacit_noise_distribution_t *distribution, const char *name,
                                tacit_error_t *err) {
  double scale = distribution->as.scale, n = ceil(38 * scale) + 2;
  if (n > MAX_TAIL) {
    return refuse_published(err, name,
                            "clamped values under discrete gaussian noise: the scale is at most 1e5");
  }
  distribution->n_tail = (size_t)n;
  distribution->tail = tacit_alloc(distribution->n_tail, sizeof *distribution->tail);
  if (distribution->tail == NULL) {
    return tacit_error_memory(err);
  }
  double sum = 0; /* in units of the weight of the number at hand */
  for (size_t k = distribution->n_tail; k-- > 0;) {
    sum = 1 + sum * exp(-(2 * (double)k + 1) / (2 * scale * scale));
    distribution->tail[k] = log_weight(distribution, (double)k) + log(sum);
  }
  return TACIT_OK;
}

tacit_status_t tacit_noise_distribution_init(tacit_noise_distribution_t *distribution,
                                             const tacit_noisy_t *published, const tacit_measured_t *of,
                                             tacit_error_t *err) {
  *distribution = (tacit_noise_distribution_t){.as = *published, .n_sums = published->n_values};
  if (published->noise == TACIT_RELEASE_EXPONENTIAL) {
    return choose(distribution, of, err);
  }
  distribution->is_exact =
      published->noise == TACIT_RELEASE_NONE || published->noise == TACIT_RELEASE_RESPONSES;
  distribution->is_joint =
      published->adds_up &&
      published->noise == TACIT_RELEASE_LAPLACE; /* gaussian: the shift is independent of what is left */
  tacit_status_t status =
      distribution->is_exact ? check_exact(distribution, of, err) : check_published(distribution, of, err);
  bool has_tails = isfinite(published->lower) || isfinite(published->upper) || published->suppressed > 0;
  return status == TACIT_OK && has_tails && published->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN
             ? make_tail(distribution, of->name, err)
             : status;
}

void tacit_noise_distribution_clear(tacit_noise_distribution_t *distribution) {
  tacit_free(distribution->tail);
  *distribution = (tacit_noise_distribution_t){0};
}
