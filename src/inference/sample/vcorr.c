#include "sample/vcorr.h"

#include <math.h>

#include "tacit/sample.h"

const tacit_vcorr_t *tacit_vcorr_find(double variance) {
  for (size_t i = 0; i < TACIT_N_VCORR; i++) {
    if (fabs(tacit_vcorr_distributions[i].variance - variance) < 1e-9) {
      return &tacit_vcorr_distributions[i];
    }
  }
  return NULL;
}

double tacit_vcorr_error(double variance) {
  const tacit_vcorr_t *distribution = tacit_vcorr_find(variance);
  return distribution != NULL ? distribution->error : NAN;
}

double tacit_vcorr_accept(const tacit_vcorr_t *distribution, double w, double variance) {
  double sum = 0, scale = sqrt(2 * fmax(variance, 1e-300));
  for (size_t i = 0; i < distribution->n; i++) {
    double v = distribution->atoms[i][0];
    sum += distribution->atoms[i][1] * 0.25 * (erfc(-(w - v) / scale) + erfc(-(w + v) / scale));
  }
  return sum;
}
