/*
 * Do numbers of rows tell something of scores? A unit's score, shortened, counts by how many rows the unit
 * has: where it is independent of them, the sum is the weights' mean times the sum of scores.
 */
#include <math.h>

#include "base/error.h"
#include "curator/rows.h"

#include <float.h>

/* What a unit of n rows counts. */
static double weight_of(const tacit_contrast_t *c, size_t n_rows) {
  size_t cell = c->n;
  while (cell > 0 && c->first[cell - 1] > (double)n_rows) {
    cell--;
  }
  return cell > 0 ? c->weights[cell - 1] : 0;
}

static void add_contrast(const void *ctx, size_t n_rows, const float *records, double *work, double *v) {
  const tacit_contrast_t *c = ctx;
  double n2 = 0;
  c->of->vectors(c->of->ctx, n_rows, records, work, v);
  for (size_t j = 0; j < c->of->dim; j++) {
    n2 += v[j] * v[j];
  }
  double length = sqrt(n2), weight = weight_of(c, n_rows) * (length > c->radius ? c->radius / length : 1);
  for (size_t j = 0; j < c->of->dim; j++) {
    v[j] = length <= DBL_MAX ? v[j] * weight : NAN;
  }
}

tacit_banded_t tacit_contrasts(const tacit_contrast_t *contrast) {
  return (tacit_banded_t){.name = "contrasts",
                          .dim = contrast->of->dim,
                          .vectors = add_contrast,
                          .ctx = contrast,
                          .n_work = contrast->of->n_work};
}

tacit_status_t tacit_contrast_check(const tacit_contrast_t *contrast, tacit_error_t *err) {
  bool is_fine = contrast->n >= 1 && contrast->first[0] == 1;
  for (size_t i = 0; is_fine && i < contrast->n; i++) {
    is_fine = fabs(contrast->weights[i]) <= 1 && (i == 0 || contrast->first[i] > contrast->first[i - 1]);
  }
  return is_fine ? tacit_rows_check_size("radius", contrast->radius, err)
                 : tacit_error_set(err, TACIT_ERR_ARGUMENT, "contrast",
                                   "contrasts have rising cells of numbers of rows, the first from 1 on, and "
                                   "weights from -1 to 1");
}
