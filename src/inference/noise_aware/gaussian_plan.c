/* What can be said of a linear regression before anything is spent. */
#include <math.h>

#include "base/error.h"
#include "noise_aware/gaussian.h"
#include "noise_aware/schedule.h"

/* Where the noise ratio passes these: refused; what an advised budget has, and beyond which it is warned. */
static const double ratio_most = 5, ratio_good = 2;

/* Where the worst is forecast, by so many noise ratios. */
static const double poor_excess = 3.5;

static double clamp(double value, double low, double high) { return fmin(fmax(value, low), high); }

/* Under add-remove every sensitivity is sqrt(2) less. */
double tacit_gaussian_mu(const tacit_noise_aware_settings_t *s) {
  return sqrt((s->relation == TACIT_RELATION_ADD_REMOVE ? 4 : 2) * s->rho);
}

/* Measured on simulations; what is cheap to learn well takes little, and where noise is large more. */
tacit_gaussian_shares_t tacit_gaussian_shares(const tacit_noise_aware_settings_t *s) {
  double mu = tacit_gaussian_mu(s), d = (double)s->n_features, n = s->n_units, moments = d / (mu * n);
  tacit_gaussian_shares_t shares = {.count = tacit_aware_is_count_private(s) ? share_count : 0,
                                    .unit_rows = tacit_aware_has_clusters(s) ? share_rows : 0,
                                    .contrast = tacit_aware_has_clusters(s) ? share_contrast : 0,
                                    .columns = clamp(d / 3 * pow(100 / (mu * n), 2), 0.01, 0.10),
                                    .first = clamp(pow(40 * moments, 2), 0.02, 0.08),
                                    .whitened = clamp(pow(60 * moments, 2), 0.08, 0.30),
                                    .lengths = clamp(pow(300 / (mu * n), 2), 0.02, 0.05)};
  shares.rows = 0.12 - 0.25 * (shares.whitened - 0.08);
  shares.scores = 1 - shares.count - shares.unit_rows - shares.contrast - shares.columns - shares.first -
                  shares.whitened - shares.lengths - shares.rows;
  return shares;
}

double tacit_gaussian_noise_ratio(const tacit_noise_aware_settings_t *s) {
  return 6.1 * sqrt((double)s->n_features / (s->n_units * tacit_gaussian_shares(s).scores)) /
         tacit_gaussian_mu(s);
}

/* By the noise ratio P: measured, see experiments/honesty. */
static double inflation(tacit_noise_aware_settings_t settings, size_t dim, double n_units, double excess) {
  settings.n_features = dim;
  settings.n_units = n_units;
  return hypot(1, excess * tacit_gaussian_noise_ratio(&settings));
}

double tacit_gaussian_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units) {
  return inflation(*settings, dim, n_units, 1);
}

double tacit_gaussian_inflation_poor(const tacit_noise_aware_settings_t *settings, size_t dim,
                                     double n_units) {
  return inflation(*settings, dim, n_units, poor_excess);
}

bool tacit_gaussian_is_noisy(const tacit_noise_aware_settings_t *settings) {
  return tacit_gaussian_noise_ratio(settings) > ratio_good;
}

size_t tacit_gaussian_most(const tacit_noise_aware_settings_t *settings) {
  (void)settings;
  return GAUSSIAN_MAX;
}

bool tacit_gaussian_has_sd(const tacit_noise_aware_settings_t *settings) { return !(settings->known_sd > 0); }

tacit_status_t tacit_gaussian_check(const tacit_noise_aware_settings_t *s,
                                    const tacit_parameters_t *parameters, tacit_error_t *err) {
  return s->rho > 0 && s->n_features != parameters->dim - tacit_gaussian_has_sd(s)
             ? tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_features",
                               "the settings' number of features is not that of the model")
             : TACIT_OK;
}

/* The least factor on `value`, a number of records or mu, that brings the ratio down to what is advised. */
static double factor_that_does(tacit_noise_aware_settings_t s, bool is_budget) {
  double low = 1, high = 1e6;
  for (int i = 0; i < 60; i++) {
    double middle = sqrt(low * high);
    tacit_noise_aware_settings_t at = s;
    at.n_units *= is_budget ? 1 : middle;
    at.rho *= is_budget ? middle : 1;
    *(tacit_gaussian_noise_ratio(&at) > ratio_good ? &low : &high) = middle;
  }
  return high;
}

tacit_status_t tacit_gaussian_check_budget(const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  if (!(s->n_units >= 1 && isfinite(s->n_units)) || s->n_features < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_units",
                           "a plan of a linear regression needs the public number of units and of features");
  }
  if (!(tacit_gaussian_noise_ratio(s) > ratio_most)) {
    return TACIT_OK;
  }
  double n = ceil(s->n_units * factor_that_does(*s, false)), factor = factor_that_does(*s, true);
  if (s->delta > 0) {
    return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                           "this budget would buy next to nothing of a linear regression of %zu features on "
                           "%.0f rows: at delta %g it "
                           "takes epsilon %.2g, or with this epsilon about %.2g rows; nothing was spent",
                           s->n_features, s->n_units, s->delta,
                           tacit_gaussian_epsilon(s->rho * factor, log(s->delta)), n);
  }
  return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                         "this budget would buy next to nothing of a linear regression of %zu features on "
                         "%.0f rows: it takes %.2g times "
                         "rho, or about %.2g rows; nothing was spent",
                         s->n_features, s->n_units, factor, n);
}

size_t tacit_gaussian_events(const tacit_noise_aware_settings_t *s, tacit_event_t *events) {
  const tacit_gaussian_shares_t shares = tacit_gaussian_shares(s);
  const double column = shares.columns / (double)s->n_features;
  const struct {
    double share;
    const char *label;
    size_t count;
  } planned[] = {{shares.count, "number of units", 1},
                 {shares.unit_rows, "numbers of rows", 1},
                 {shares.contrast, "bands of contrasts", 1},
                 {column, "counts of residuals", 1},
                 {column, "counts of features", s->n_features - 1},
                 {shares.first, "whitened joint moments", 1},
                 {shares.whitened, "whitened joint moments", 1},
                 {shares.lengths / 2, "lengths of rows", 1},
                 {shares.lengths / 2, "lengths of scores", 1},
                 {shares.rows, "bands of rows", 1},
                 {shares.scores, "bands of scores", 1}};
  size_t n = 0;
  for (size_t i = 0; i < sizeof planned / sizeof planned[0]; i++) {
    tacit_aware_plan(s, planned[i].share, planned[i].count, planned[i].label, events, &n);
  }
  return n;
}
