/* Log odds of what is counted: compiled once for each instruction set (meson.build), TACIT_ISA naming the
 * function. All give the same bits. */
#include "base/vector.h"
#include "random/tally.h"

#define NAME_(isa) tacit_log_odds_##isa
#define NAME(isa) NAME_(isa)
tacit_log_odds_function NAME(TACIT_ISA);

void NAME(TACIT_ISA)(size_t n, double most, const double *x, int64_t *out) {
  for (size_t at = 0; at < n; at += GROUP_LANES) {
    vdouble value[GROUP], ratio[GROUP];
    TACIT_EACH(i) {
      value[i] = vdouble_load(x + at + i * DOUBLE_LANES);
      ratio[i] = (most + vdouble_abs(value[i])) / (most - vdouble_abs(value[i]));
    }
    vdoubles_log(ratio);
    TACIT_EACH(i) {
      vlong units = vdouble_nearest(ratio[i] * 0x1p32), sign = value[i] < 0.0;
      units = (units ^ sign) - sign;
      memcpy(out + at + i * DOUBLE_LANES, &units, sizeof units);
    }
  }
}
