/* Planted errors: what a wrong library would do, at the places where it would do it. */
#include <string.h>

#include "audit.h"
#include "data/records.h"
#include "random/noise.h"
#include "wrap.h"

fault_t fault_at_work = FAULT_NONE;

const char *const fault_names[N_FAULTS] = {[FAULT_NONE] = "none",
                                           [FAULT_HALF_NOISE] = "half the noise",
                                           [FAULT_HALF_SENSITIVITY] = "half the sensitivity",
                                           [FAULT_NO_CLIP] = "not clipped",
                                           [FAULT_UNIFORM_NOISE] = "uniform noise",
                                           [FAULT_FREE_BIT] = "noise-free min(1, r)",
                                           [FAULT_DOUBLE_RATE] = "twice the sampling rate",
                                           [FAULT_FREE_START] = "start not charged",
                                           [FAULT_FREE_GRADIENTS] = "gradients not charged",
                                           [FAULT_FREE_TUNING] = "tuning not charged",
                                           [FAULT_ROOT_2] = "sqrt(2) missing",
                                           [FAULT_HALF_SIGMA] = "half the sigma of probit",
                                           [FAULT_ROWS_APART] = "rows of a unit apart",
                                           [FAULT_LONG_ROWS] = "rows of twice the radius",
                                           [FAULT_HALF_RHO] = "half of rho charged"};

static const double clips_missed_by = 8;

static double noise_share(void) {
  return fault_at_work == FAULT_HALF_NOISE ? 0.5 : fault_at_work == FAULT_ROOT_2 ? sqrt(0.5) : 1;
}

static bool is_forgotten(const tacit_event_t *event) {
  switch (fault_at_work) {
  case FAULT_FREE_START:
  case FAULT_FREE_GRADIENTS:
    return strcmp(event->label, "gradient") == 0;
  case FAULT_FREE_TUNING:
    return strcmp(event->label, "gradient norms") == 0 || strcmp(event->label, "curvature") == 0;
  default:
    return false;
  }
}

/* Not to charge runs that are not paid is no error: one run is charged, and then made many times. */
tacit_status_t __wrap_tacit_budget_charge(tacit_budget_t *budget, const tacit_event_t *event,
                                          tacit_error_t *err) {
  tacit_event_t charged = *event;
  charged.noise_multiplier *= fault_at_work == FAULT_HALF_RHO ? sqrt(2) : 1;
  return adversary.is_paid && !is_forgotten(event) ? __real_tacit_budget_charge(budget, &charged, err)
                                                   : TACIT_OK;
}

tacit_status_t __wrap_tacit_noise_rounded_gaussian(tacit_noise_t *noise, double sd, size_t n, int64_t *out,
                                                   tacit_error_t *err) {
  if (fault_at_work != FAULT_UNIFORM_NOISE) {
    return __real_tacit_noise_rounded_gaussian(noise, sd * noise_share(), n, out, err);
  }
  uint64_t draw;
  for (size_t i = 0; i < n; i++) {
    tacit_status_t status = tacit_noise_below(noise, (uint64_t)1 << 52, 1, &draw, err);
    if (status != TACIT_OK) {
      return status;
    }
    out[i] = (int64_t)(sd * ((double)draw * 0x1p-52));
  }
  return TACIT_OK;
}

tacit_status_t __wrap_tacit_noise_rounded_laplace(tacit_noise_t *noise, double scale, size_t n, int64_t *out,
                                                  tacit_error_t *err) {
  return __real_tacit_noise_rounded_laplace(noise, scale * noise_share(), n, out, err);
}

tacit_status_t __wrap_tacit_noise_discrete_laplace(tacit_noise_t *noise, double scale, size_t n, int64_t *out,
                                                   tacit_error_t *err) {
  return __real_tacit_noise_discrete_laplace(noise, scale * noise_share(), n, out, err);
}

tacit_status_t __wrap_tacit_noise_discrete_gaussian(tacit_noise_t *noise, double sigma, size_t n,
                                                    int64_t *out, tacit_error_t *err) {
  return __real_tacit_noise_discrete_gaussian(noise, sigma * noise_share(), n, out, err);
}

tacit_status_t __wrap_tacit_noise_logistic_bit(tacit_noise_t *noise, int64_t log_odds, bool *bit,
                                               tacit_error_t *err) {
  if (fault_at_work != FAULT_FREE_BIT) {
    return __real_tacit_noise_logistic_bit(noise, fault_at_work == FAULT_HALF_NOISE ? 2 * log_odds : log_odds,
                                           bit, err);
  }
  *bit = true;
  return log_odds < 0 ? tacit_noise_exp_bit(noise, (uint64_t)-log_odds, bit, err) : TACIT_OK;
}

tacit_status_t __wrap_tacit_noise_subset(tacit_noise_t *noise, uint64_t rate, size_t n, uint64_t *mask,
                                         tacit_error_t *err) {
  uint64_t most = (uint64_t)1 << 32, twice = 2 * rate < most ? 2 * rate : most;
  return __real_tacit_noise_subset(noise, fault_at_work == FAULT_DOUBLE_RATE ? twice : rate, n, mask, err);
}

/* Both are asked for when a door is opened: how many units there are, and where they begin. */
const size_t *__wrap_tacit_records_unit_offsets(const tacit_records_t *records, size_t *n_units) {
  const size_t *offsets = __real_tacit_records_unit_offsets(records, n_units);
  *n_units = fault_at_work == FAULT_ROWS_APART ? tacit_records_n(records) : *n_units;
  return fault_at_work == FAULT_ROWS_APART ? NULL : offsets;
}

size_t *__wrap_tacit_records_edit_units(tacit_records_t *records) {
  return fault_at_work == FAULT_ROWS_APART ? NULL : __real_tacit_records_edit_units(records);
}

double __wrap_tacit_door_factor(const tacit_door_t *door) {
  return __real_tacit_door_factor(door) * (fault_at_work == FAULT_HALF_SENSITIVITY ? 0.5 : 1);
}

tacit_lattice_t __wrap_tacit_lattice_for(const tacit_vectors_t *vectors, double bound) {
  double wider = fault_at_work == FAULT_NO_CLIP ? clips_missed_by : 1;
  tacit_lattice_t lattice = __real_tacit_lattice_for(vectors, bound * wider);
  lattice.scale_out *= (float)wider;
  lattice.radius *= wider;
  return lattice;
}

void __wrap_tacit_scalars_sum(tacit_door_t *door, const tacit_scalars_t *scalars) {
  double clips[AUDIT_MAX_SUMS];
  tacit_scalars_t wider = *scalars;
  for (size_t k = 0; k < scalars->n_pairs; k++) {
    clips[k] = scalars->clips[k] * (fault_at_work == FAULT_NO_CLIP ? clips_missed_by : 1);
  }
  wider.clips = clips;
  __real_tacit_scalars_sum(door, &wider);
}

/* Norms that come out half as large, so that rows are weighted too late: caught, unless the door measures as
 * badly. */
double __wrap_tacit_rows_whiten(size_t d, const double *whiten, const double *x, double *row) {
  double n2 = __real_tacit_rows_whiten(d, whiten, x, row);
  return fault_at_work == FAULT_LONG_ROWS ? 0.25 * n2 : n2;
}

bool __wrap_tacit_door_shape_add(const tacit_door_shape_t *shape, size_t n_rows, const int64_t *k,
                                 tacit_wide_t *totals) {
  tacit_door_shape_t wider = *shape;
  wider.radius *= fault_at_work == FAULT_LONG_ROWS ? 2 : 1;
  return __real_tacit_door_shape_add(&wider, n_rows, k, totals);
}
