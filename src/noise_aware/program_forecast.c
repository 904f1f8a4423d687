/*
 * What a run's checks are likely to say, by public facts alone: a run in which every score is what is expected of it (docs/theory.md, section 18.14).
 */
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* More records only tell more: beyond so many, the error of simulation would be all that is seen. */
static const double most_units = 1e5;

/* cov (d, d) <- of the posterior at run->theta by the prior and two last rounds there; false: none. */
static bool find_cov(tacit_program_run_t *run, const tacit_program_seen_t *seen, double noise_sd, double *cov) {
  size_t d = run->public.d;
  double slope[MATRIX], inverse[MATRIX], squares[MATRIX], prior[MATRIX];
  tacit_program_slope(run, seen->whiten, run->public.with_score, slope);
  tacit_public_mean(&run->public, d * d, run->public.squares, squares);
  for (size_t i = 0; i < d * d; i++) {
    squares[i] = run->n * squares[i] + (i / d == i % d ? noise_sd * noise_sd : 0);
  }
  if (!tacit_program_invert(d, slope, inverse)) {
    return false;
  }
  tacit_program_sandwich(d, inverse, squares, cov);
  tacit_program_prior_precision(run->parameters, run->theta, prior);
  bool ok = tacit_program_invert_positive(d, cov);
  for (size_t i = 0; i < d * d; i++) {
    cov[i] += prior[i];
  }
  return ok && tacit_program_invert_positive(d, cov);
}

static double find_bend(tacit_program_run_t *run) {
  double cov[MATRIX], secants[MATRIX];
  tacit_program_seen_t *seen = tacit_alloc_zero(1, sizeof *seen);
  if (seen == NULL || !tacit_public_metric(&run->public, run->theta, run->whiten)) {
    tacit_free(seen);
    return INFINITY;
  }
  memcpy(seen->theta, run->theta, sizeof seen->theta);
  memcpy(seen->whiten, run->whiten, sizeof seen->whiten);
  seen->point =
      (tacit_centred_point_t){seen->theta, seen->whiten, 2 * sqrt((double)run->public.d), TACIT_PROGRAM_SIMULATED, TACIT_PROGRAM_ROUNDS - 1};
  seen->noise_sd = tacit_program_noise(run->settings, TACIT_PROGRAM_ROUNDS - 1);
  tacit_public_expect(&run->public, &seen->point, seen->theta);
  tacit_public_mean(&run->public, run->public.d, run->public.means, seen->own);
  bool is_told = find_cov(run, seen, tacit_program_noise(run->settings, TACIT_PROGRAM_ROUNDS - 2), cov);
  double bend = is_told ? tacit_program_line(run, seen, cov, secants) : INFINITY;
  tacit_free(seen);
  return bend;
}

tacit_status_t tacit_noise_aware_bend(const tacit_noise_aware_settings_t *s, const tacit_parameters_t *parameters, double n_units, double *bend,
                                      tacit_error_t *err) {
  tacit_program_run_t *run = tacit_alloc_zero(1, sizeof *run);
  if (run == NULL) {
    return tacit_error_memory(err);
  }
  run->parameters = parameters;
  run->settings = s;
  run->n = fmin(n_units, most_units);
  tacit_status_t status = tacit_public_open(&run->public, s->records, err);
  if (status == TACIT_OK) {
    tacit_program_climb(run->public.d, tacit_program_prior_density, parameters, run->theta);
    *bend = find_bend(run);
  }
  tacit_public_close(&run->public);
  tacit_free(run);
  return status;
}
