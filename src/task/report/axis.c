#include <math.h>

#include "report/report_internal.h"

/* The least of 1, 2, 5 times a power of ten that is >= x > 0, and the exponent of that power. */
static double nice_step(double x, int *exponent) {
  *exponent = (int)floor(log10(x));
  double power = pow(10, *exponent), leading = x / power;
  double nice = leading <= 1.000001 ? 1 : leading <= 2.000001 ? 2 : leading <= 5.000001 ? 5 : 10;
  *exponent += nice > 9;
  return nice * power;
}

tacit_axis_t tacit_axis_make(double low, double high, int target) {
  tacit_axis_t axis = {.low = low, .high = high};
  double width = high - low, size = fmax(fabs(low), fabs(high));
  if (!(width > 1e-9 * size)) { /* no spread, or none that doubles resolve */
    double pad = size > 0 ? 0.5 * size : 1;
    axis.low = low - pad;
    axis.high = high + pad;
    width = axis.high - axis.low;
  }
  if (!(width > 1e-290 && width < 1e290)) { /* no room for ticks among the doubles */
    axis.low = -1;
    axis.high = 1;
    width = 2;
  }
  int exponent;
  axis.step = nice_step(width / target, &exponent);
  axis.first = ceil(axis.low / axis.step - 1e-9) * axis.step;
  axis.n_ticks = (int)floor((axis.high - axis.first) / axis.step + 1e-9) + 1;
  axis.decimals = exponent < -6 || exponent > 5 ? -1 : exponent < 0 ? -exponent : 0;
  return axis;
}

double tacit_axis_tick(const tacit_axis_t *axis, int i) {
  double value = axis->first + i * axis->step;
  return fabs(value) < 1e-9 * axis->step ? 0 : value;
}

void tacit_axis_label(tacit_text_t *text, const tacit_axis_t *axis, int i) {
  double value = tacit_axis_tick(axis, i);
  if (axis->decimals < 0) {
    tacit_text_number(text, value, 4);
  } else {
    tacit_text_fixed(text, value, axis->decimals);
  }
}
