/*
 * The scaled complementary error function and its mean slope, both as Chebyshev series in
 * t = (x - 15/4) / (x + 15/4), which maps [0, inf) onto [-1, 1), as in Shepherd and Laframboise (1981). The
 * coefficients are those that tests/account/reference.py prints, cut where the next is below 3e-18.
 */
#include <math.h>

#include "account/account_internal.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static const double inverse_sqrt_pi = 0.56418958354775628695;
/* Beyond it the leading term of the asymptotic series is the value to the last bit. */
static const double far = 1e9;

/* (x + 1/2) erfcx(x) */
static const double value_series[] = {
    5.8878946728370087704e-1,   -2.2950272903232386654e-3,  -4.2124566683258957792e-2,
    2.9604969999095945249e-2,   -1.3329334217652876139e-2,  4.5374988353526325469e-3,
    -1.2065817702088040955e-3,  2.4538791826290431614e-4,   -3.4584866512506031835e-5,
    2.0695139930365050838e-6,   3.8701915330992453343e-7,   -1.0943200524617197831e-7,
    5.3824997328354551886e-9,   2.260979905609143449e-9,    -3.8772001044156755532e-10,
    -3.1590441704433422472e-11, 1.4343975054653349491e-11,  9.7279342728886736148e-14,
    -4.8273483742167194529e-13, 1.6262740740743699208e-14,  1.6739059741434026939e-14,
    -9.3228144020965655077e-16, -6.2539752653443235427e-16, 3.7091176283120217315e-17,
    2.5340744523980556584e-17};

/* -(x + 1/2)^2 erfcx'(x) = (x + 1/2)^2 (2/sqrt(pi) - 2 x erfcx(x)) */
static const double decay_series[] = {
    5.551505560869815234e-1,    8.4537289463710852239e-2,   -1.1951617681003727619e-1,
    5.7478998690938041621e-2,   -1.4626679140107770374e-2,  4.4939691910202966592e-5,
    1.8361607212079901762e-3,   -9.5680585008279841616e-4,  2.9305507425446265513e-4,
    -5.7593887553780685709e-5,  5.5285337324336251736e-6,   5.4649145952843809483e-7,
    -2.6228761201340824451e-7,  2.2613270154203025528e-8,   5.544444603561426193e-9,
    -1.3790323339798769542e-9,  -6.083255584271032782e-11,  5.4234988783450342668e-11,
    -1.3415708064008352022e-12, -1.9885016717907198709e-12, 1.3405329461723835886e-13,
    7.5708514718774198377e-14,  -6.9518134656742328156e-15, -3.1242902324499623988e-15,
    2.9744102030658919038e-16,  1.4042928387814512266e-16,  -1.0782616151412336799e-17,
    -6.7305909324050935941e-18};

/* Clenshaw's recurrence at t(x). */
static double series_at(const double *series, size_t n, double x) {
  double t = (x - 3.75) / (x + 3.75), last = 0, before = 0;
  for (size_t k = n - 1; k > 0; k--) {
    double next = series[k] + 2 * t * last - before;
    before = last;
    last = next;
  }
  return series[0] + (t * last - before);
}

double tacit_erfcx(double x) {
  if (x > far) {
    return inverse_sqrt_pi / x;
  }
  return series_at(value_series, LENGTH(value_series), x) / (x + 0.5);
}

/* -erfcx'(x) */
static double decay(double x) {
  if (x > far) {
    return inverse_sqrt_pi / x / x;
  }
  return series_at(decay_series, LENGTH(decay_series), x) / ((x + 0.5) * (x + 0.5));
}

double tacit_erfcx_slope(double a, double h) {
  double first = tacit_erfcx(a), second = tacit_erfcx(a + h);
  if (second < 0.5 * first) {
    return (first - second) / h;
  }
  /*
   * Gauss-Legendre mean of -erfcx' over [a, a + h]. Short of halving erfcx, h <= a + 0.8, where the nearest
   * feature of the integrand is three half-widths from the middle: 12 points leave less than 1e-17.
   */
  static const double nodes[] = {0.49078031712335962535, 0.45205862818523742834, 0.38495133709715234352,
                                 0.29365897714330872365, 0.18391574949909009688, 0.062616704255734457736};
  static const double weights[] = {0.023587668193255913597, 0.05346966299765921548, 0.080039164271673113167,
                                   0.10158371336153296087,  0.11674626826917740438, 0.1245735229067013925};
  double middle = a + 0.5 * h, sum = 0;
  for (size_t i = 0; i < LENGTH(nodes); i++) {
    sum += weights[i] * (decay(middle - nodes[i] * h) + decay(middle + nodes[i] * h));
  }
  return sum;
}
