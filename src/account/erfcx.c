#include <math.h>

#include "account/account_internal.h"

static const double inverse_sqrt_pi = 0.56418958354775628695;

double tacit_erfcx(double x) {
  if (x < 20) {
    double square = x * x, rest = fma(x, x, -square); /* x^2 to twice the precision */
    return exp(square) * (1 + rest) * erfc(x);
  }
  /* Asymptotic series: term k is (2k-1)!! / (-2 x^2)^k, below 1e-17 after eight at x = 20. */
  double t = -1 / (2 * x * x), term = 1, sum = 1;
  for (int k = 1; k <= 8; k++) {
    term *= (double)(2 * k - 1) * t;
    sum += term;
  }
  return inverse_sqrt_pi / x * sum;
}

/* Nodes and weights of Gauss-Legendre quadrature with 16 points on [-1, 1], positive half. */
static const double nodes[8] = {0.09501250983763744018, 0.28160355077925891323, 0.45801677765722738634,
                                0.61787624440264374845, 0.75540440835500303390, 0.86563120238783174388,
                                0.94457502307323257608, 0.98940093499164993260};
static const double weights[8] = {0.18945061045506849629, 0.18260341504492358887, 0.16915651939500253819,
                                  0.14959598881657673208, 0.12462897125553387205, 0.09515851168249278481,
                                  0.06225352393864789286, 0.02715245941175409485};

/*
 * erfcx(a) - erfcx(a + h) = 2/sqrt(pi) int_0^inf e^(-t^2 - 2 a t) (1 - e^(-2 h t)) dt: every factor is positive, so
 * nothing cancels. In s = t c, c = 1 + 2|a|, the integrand decays at least like e^(-s + ...) and is below 1e-19 of
 * its integral beyond s = 48.
 */
static double difference_integral(double a, double h) {
  enum { n_panels = 16 };
  const double width = 48.0 / n_panels;
  double c = 1 + 2 * fabs(a), sum = 0;
  for (int panel = 0; panel < n_panels; panel++) {
    double middle = (panel + 0.5) * width;
    for (int i = 0; i < 16; i++) {
      double node = i < 8 ? nodes[i] : -nodes[i - 8];
      double t = (middle + 0.5 * width * node) / c;
      sum += weights[i % 8] * exp(-t * t - 2 * a * t) * -expm1(-2 * h * t);
    }
  }
  return 2 * inverse_sqrt_pi * sum * 0.5 * width / c;
}

double tacit_erfcx_difference(double a, double h) {
  if (a >= 0) {
    double first = tacit_erfcx(a), second = tacit_erfcx(a + h);
    if (second < 0.5 * first) {
      return first - second;
    }
  }
  if (h > 1 + fabs(a)) { /* only for a in (-1, 0): values from 2 down, far apart */
    return exp(a * a) * erfc(a) - tacit_erfcx(a + h);
  }
  return difference_integral(a, h);
}
