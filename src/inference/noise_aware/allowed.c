/*
 * Whether draws are narrower than the releases allow, whoever drew them and by whatever likelihood
 * (docs/theory.md, 18.10). Of the sum G of a site's scores, J its slope in theta and V its covariance by
 * sampling alone, releases W G + noise of sd s tell no more than
 *
 *     J' (V + K^-1)^-1 J,      K = sum W' W / s^2,
 *
 * the s being those that the curator added, as kept. The draws' covariance is set beside the inverse of that,
 * of all sites, and the prior's precision together; the least eigenvalue of the one in units of the other, by
 * n draws that tell as much as independent ones, is too small by a factor of (1 - sqrt(d / n))^2 in the mean.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "noise_aware/engine.h"

/* Priors are touched by a normal at one point: so many times as precise they may be. */
static const double prior_excess = 2;
/* Of fewer effective draws neither their number nor their covariance is known; others ask for more. */
static const double least_effective = 100;

static const tacit_release_part_t *find(const tacit_kept_release_t *release, const char *name) {
  for (size_t i = 0; i < release->n_parts; i++) {
    if (strcmp(release->at[i].name, name) == 0) {
      return &release->at[i];
    }
  }
  return NULL;
}

/* information (d, d) <- K, of releases that a likelihood may rest on: others show the way alone. Of bands the
 * first has the least noise, and sums are beside the diagonal of their squares. */
static void add_told(const tacit_releases_t *releases, size_t d, double *information) {
  for (size_t r = 0; r < releases->n; r++) {
    const tacit_kept_release_t *release = &releases->items[r];
    const tacit_release_part_t *whiten = find(release, "whiten"), *radii = find(release, "radii");
    bool is_of_scores =
        strcmp(release->label, "weighted score") == 0 || strcmp(release->label, "bands of scores") == 0;
    double sd = release->noise_sd * (radii != NULL ? radii->values[0] * sqrt(0.5) : 1);
    for (size_t a = 0; a < d * d && is_of_scores && whiten != NULL && whiten->n == d * d; a++) {
      for (size_t k = 0; k < d; k++) {
        information[a] += whiten->values[k * d + a / d] * whiten->values[k * d + a % d] / (sd * sd);
      }
    }
  }
}

/* precision (d, d) += the most that a site's releases tell; work: 5 d^2. False: it is not known. */
static bool add_allowed(const tacit_aware_fit_t *fit, size_t i, double *work, double *precision) {
  size_t d = fit->common.d;
  double *slope = work, *cov = work + d * d, *told = work + 2 * d * d, *half = work + 3 * d * d,
         *noise = work + 4 * d * d;
  memset(work, 0, 5 * d * d * sizeof *work);
  if (!fit->provider->sampling(fit, i, slope, cov)) {
    return false;
  }
  add_told(fit->sites[i].settings->releases, d, told);
  if (tacit_cholesky(d, told)) { /* else there was no noise */
    tacit_invert_factored(d, told, half, noise);
    for (size_t a = 0; a < d * d; a++) {
      cov[a] += noise[a];
    }
  }
  if (!tacit_cholesky(d, cov)) {
    return false;
  }
  for (size_t j = 0; j < d; j++) { /* row j: of column j, the slope being symmetric */
    tacit_solve_lower(d, cov, slope + j * d);
  }
  for (size_t a = 0; a < d * d; a++) {
    precision[a] += tacit_dot(d, slope + a / d * d, slope + a % d * d);
  }
  return true;
}

/* The fewest effective draws of a coefficient; 0: it is not known. */
static double count_effective(const tacit_aware_fit_t *fit) {
  size_t d = fit->common.d, n_reported = fit->common.parameters->n_reported;
  double all = (double)(tacit_draws_n_kept(fit->draws) * fit->draws->n_chains), least = all;
  for (size_t j = 0; j < d && j < n_reported; j++) {
    tacit_summary_t summary = {0};
    tacit_status_t status = tacit_draws_summarise(fit->draws, j, &summary, NULL);
    double found = summary.sd > 0 ? summary.ess_bulk : all; /* what never moves is known to be so */
    least = status == TACIT_OK && found > 0 ? fmin(least, found) : 0;
  }
  return least;
}

/* The least sd of draws in any direction, in sds that are allowed there; NAN: it is not known. memory: 8 d^2
 * + d. */
static double find_narrowest(const tacit_aware_fit_t *fit, double *memory) {
  size_t d = fit->common.d;
  double *precision = memory, *half = memory + d * d, *drawn = memory + 2 * d * d, *work = memory + 3 * d * d,
         *values = memory + 8 * d * d, least = INFINITY;
  tacit_aware_add_prior(&fit->common, precision);
  for (size_t a = 0; a < d * d; a++) {
    precision[a] *= prior_excess;
  }
  for (size_t i = 0; i < fit->n; i++) {
    if (!add_allowed(fit, i, work, precision)) {
      return NAN;
    }
  }
  if (!tacit_cholesky(d, precision)) {
    return NAN;
  }
  for (size_t a = 0; a < d * d; a++) { /* half <- F' */
    half[a] = precision[a % d * d + a / d];
  }
  tacit_multiply(d, d, d, half, fit->cov, work);
  tacit_multiply(d, d, d, work, precision, drawn);
  for (size_t a = 0; a < d * d; a++) { /* rounding apart it is */
    work[a] = 0.5 * (drawn[a] + drawn[a % d * d + a / d]);
  }
  tacit_eigen(d, work, values, half);
  for (size_t j = 0; j < d; j++) {
    least = fmin(least, values[j]);
  }
  return sqrt(fmax(least, 0));
}

tacit_status_t tacit_aware_check_allowed(const tacit_aware_fit_t *fit, tacit_evidence_t *evidence,
                                         tacit_error_t *err) {
  size_t d = fit->common.d;
  double *memory = tacit_alloc_zero(8 * d * d + d, sizeof *memory), n_effective = count_effective(fit),
         error = sqrt((double)d / n_effective);
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  if (n_effective >= least_effective && error < 1) {
    tacit_checks_add(&evidence->checks, TACIT_CHECK_NARROW, SIZE_MAX,
                     find_narrowest(fit, memory) / (1 - error));
  }
  tacit_free(memory);
  return TACIT_OK;
}
