/* lanes.h, continued: the gamma function's, the normal distribution's, and circular functions. */

/*
 * Stirling's series at x >= 8 (remainder below 1e-16), to which smaller x are raised: log gamma(x) = log
 * gamma(x + n) - log of the product of what lies between. inf at 0, NaN below.
 */
enum { GAMMA_RAISE = 8 };
TACIT_INLINE vreal lanes_lgamma(vreal x) {
  static const double terms[] = {-3617.0 / 122400, 1.0 / 156,  -691.0 / 360360, 1.0 / 1188,
                                 -1.0 / 1680,      1.0 / 1260, -1.0 / 360,      1.0 / 12};
  vreal z = x, product = set(1);
  for (int i = 0; i < GAMMA_RAISE; i++) {
    vwhole is_small = z < (real)GAMMA_RAISE;
    product = choose(is_small, product * z, product);
    z += truth(is_small);
  }
  vreal inverse = (real)1 / z, log_z = lanes_log(z);
  vreal tail = inverse * polynomial(inverse * inverse, terms, sizeof terms / sizeof terms[0]);
  vreal y = ((z - (real)0.5) * (log_z - (real)1) - (real)0.5) + (tail + (real)0.91893853320467274) -
            lanes_log(product);
  y = choose((x == (real)1) | (x == (real)2), set(0), y);
  return choose(x > (real)0, choose(x == (real)INFINITY, x, y),
                choose(x == (real)0, set(INFINITY), set(NAN)));
}
/* The derivative of the same, and its derivative. */
TACIT_INLINE vreal lanes_digamma(vreal x) {
  static const double terms[] = {3617.0 / 8160, -1.0 / 12,  691.0 / 32760, -1.0 / 132,
                                 1.0 / 240,     -1.0 / 252, 1.0 / 120,     -1.0 / 12};
  vreal z = x, sum = set(0);
  for (int i = 0; i < GAMMA_RAISE; i++) {
    vwhole is_small = z < (real)GAMMA_RAISE;
    sum = choose(is_small, sum + (real)1 / z, sum);
    z += truth(is_small);
  }
  vreal inverse = (real)1 / z, square = inverse * inverse;
  vreal tail = square * polynomial(square, terms, sizeof terms / sizeof terms[0]);
  vreal y = lanes_log(z) - (real)0.5 * inverse + tail - sum;
  return choose(x > (real)0, choose(x == (real)INFINITY, x, y),
                choose(x == (real)0, set(-INFINITY), set(NAN)));
}
/* What Stirling's series of log gamma and of digamma add at z >= 8. */
TACIT_INLINE vreal lgamma_tail(vreal z) {
  static const double terms[] = {-3617.0 / 122400, 1.0 / 156,  -691.0 / 360360, 1.0 / 1188,
                                 -1.0 / 1680,      1.0 / 1260, -1.0 / 360,      1.0 / 12};
  vreal inverse = (real)1 / z;
  return inverse * polynomial(inverse * inverse, terms, sizeof terms / sizeof terms[0]);
}
TACIT_INLINE vreal digamma_tail(vreal z) {
  static const double terms[] = {3617.0 / 8160, -1.0 / 12,  691.0 / 32760, -1.0 / 132,
                                 1.0 / 240,     -1.0 / 252, 1.0 / 120,     -1.0 / 12};
  vreal inverse = (real)1 / z, square = inverse * inverse;
  return square * polynomial(square, terms, sizeof terms / sizeof terms[0]) - (real)0.5 * inverse;
}
/*
 * log gamma(a + b) - log gamma(a). Where both are 8 and more and b is small beside a, log(a + b) is taken as
 * log a + log1p(b / a), and what is of the order of a has gone: the error is that of b log a. Elsewhere the
 * difference itself.
 */
TACIT_INLINE vwhole is_close(vreal a, vreal b) {
  return (a >= (real)GAMMA_RAISE) & (size_of(b) <= a * (real)0.5) & (a + b >= (real)GAMMA_RAISE);
}
TACIT_INLINE vreal lanes_lgamma_diff(vreal a, vreal b) {
  vreal s = a + b, ratio = lanes_log1p(b / a), plain = lanes_lgamma(s) - lanes_lgamma(a);
  /* b (log a - 1) + (a + b) log1p(b / a) - log1p(b / a) / 2: (a + b) log1p(b / a) - b is small where b^2 is
   * beside a */
  vreal close =
      b * lanes_log(a) + ((a * ratio - b) + (b - (real)0.5) * ratio) + (lgamma_tail(s) - lgamma_tail(a));
  return choose(is_close(a, b), close, plain);
}
TACIT_INLINE vreal lanes_digamma_diff(vreal a, vreal b) {
  vreal s = a + b, close = lanes_log1p(b / a) + (digamma_tail(s) - digamma_tail(a));
  return choose(is_close(a, b), close, lanes_digamma(s) - lanes_digamma(a));
}
TACIT_INLINE vreal lanes_trigamma(vreal x) {
  static const double terms[] = {-3617.0 / 510, 7.0 / 6,  -691.0 / 2730, 5.0 / 66,
                                 -1.0 / 30,     1.0 / 42, -1.0 / 30,     1.0 / 6};
  vreal z = x, sum = set(0);
  for (int i = 0; i < GAMMA_RAISE; i++) {
    vwhole is_small = z < (real)GAMMA_RAISE;
    sum = choose(is_small, sum + (real)1 / (z * z), sum);
    z += truth(is_small);
  }
  vreal inverse = (real)1 / z, square = inverse * inverse;
  vreal y = (inverse + square * (real)0.5) +
            (inverse * square) * polynomial(square, terms, sizeof terms / sizeof terms[0]) + sum;
  return choose(x > (real)0, choose(x == (real)INFINITY, set(0), y),
                choose(x == (real)0, set(INFINITY), set(NAN)));
}

/* e^(x^2) erfc(x) for x >= 0: (1 + 2 x) of it is smooth in t = (x - 15/4) / (x + 15/4) [Shepherd1981]; terms
 * of that, computed by tests/program/special_reference.py, to 2^-60 (2^-30). */
TACIT_INLINE vreal scaled_erfc(vreal x) {
  static const double terms[] = {
      1.17757893456740175408,        -0.004590054580646477330853,  -0.0842491333665179155836,
      0.05920993999819189049808,     -0.02665866843530575227739,   0.009074997670705265093879,
      -0.002413163540417608190943,   0.0004907758365258086322859,  -0.00006916973302501206367096,
      0.000004139027986073010167534, 7.740383066198490668633e-7,   -2.188640104923439566149e-7,
      1.076499946567091037714e-8,    4.521959811218286897931e-9,   -7.754400208831351106474e-10,
      -6.318088340886684494385e-11,  2.868795010930669898142e-11,  1.945586854577734722953e-13,
      -9.654696748433438905851e-13,  3.252548148148739841542e-14,  3.347811948286805387827e-14,
      -1.864562880419313101544e-15,  -1.250795053068864708532e-15, 7.418235256624043463048e-17,
      5.068148904796111316807e-17,   -2.237056659435999597369e-18, -2.187342944303017664995e-18};
  x = lesser(set(PICK(1e300, 1e30f)), x);
  vreal t = (x - (real)3.75) / (x + (real)3.75);
  return chebyshev(t, terms, TACIT_LANES_DOUBLE ? sizeof terms / sizeof terms[0] : 14) /
         ((real)1 + (real)2 * x);
}
/* e^(-x^2), x^2 taken apart so that its rounding does not matter. */
TACIT_INLINE vreal exp_minus_square(vreal x) {
  x = lesser(set(64), size_of(x));
  vreal high = lanes_nearest(x * (real)16) * (real)0.0625;
  return lanes_exp(-high * high) * lanes_exp(-(x - high) * (x + high));
}
/* |x| <= 1: erf(x) / x in Chebyshev terms of 2 x^2 - 1. */
TACIT_INLINE vreal erf_near(vreal x) {
  static const double terms[] = {
      0.97547693938265409598,     -0.1422612051037136423782,   0.01003558218759979557575,
      -0.0005768764699764748765,  0.00002741993125219606103,   -0.000001104317550734450760,
      3.848875542034503694996e-8, -1.180858253387546696963e-9, 3.23342158260509096464e-11,
      -7.991015947004548758e-13,  1.799072511396145561e-14,    -3.718635487818692638e-16,
      7.103599003714252971e-18};
  vreal t = (real)2 * lesser(x * x, set(1)) - (real)1;
  return x * chebyshev(t, terms, TACIT_LANES_DOUBLE ? sizeof terms / sizeof terms[0] : 8);
}
/* erfc(|x|), |x| > 1/2 */
TACIT_INLINE vreal erfc_far(vreal size) { return exp_minus_square(size) * scaled_erfc(size); }
TACIT_INLINE vreal lanes_erf(vreal x) {
  vreal size = size_of(x);
  return keep_nan(x, choose(size < (real)1, erf_near(x), with_sign_of((real)1 - erfc_far(size), x)));
}
TACIT_INLINE vreal lanes_erfc(vreal x) {
  vreal size = size_of(x), far = erfc_far(size);
  vreal y = choose(x < (real)0, (real)2 - far, far);
  return choose(size < (real)0.5, (real)1 - erf_near(x), y);
}
TACIT_INLINE vreal lanes_phi(vreal x) { return (real)0.5 * lanes_erfc(x * (real)-0.70710678118654752); }
TACIT_INLINE vreal lanes_log_phi(vreal x) {
  vreal z = x * (real)0.70710678118654752, size = size_of(z);
  vreal below = lanes_log((real)0.5 * scaled_erfc(size)) - (real)0.5 * (x * x);
  return choose(x < (real)-0.5, below, lanes_log1p((real)-0.5 * lanes_erfc(z)));
}
/* phi / Phi */
TACIT_INLINE vreal lanes_mills(vreal x) {
  vreal z = x * (real)0.70710678118654752, size = size_of(z);
  vreal below = (real)0.79788456080286536 / scaled_erfc(size);
  vreal above = (real)0.39894228040143268 * exp_minus_square(size);
  return choose(x < (real)0, below, above / ((real)0.5 * lanes_erfc(-z)));
}
/* Wichura's AS241 [Wichura1988]: rational in q^2 near the middle, in sqrt(-log p) beyond. */
TACIT_INLINE vreal lanes_inv_phi(vreal p) {
  static const double a[] = {2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
                             4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
                             1.3314166789178437745e2, 3.3871328727963666080};
  static const double b[] = {
      5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
      5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0};
  static const double c[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                             1.27045825245236838258,    3.64784832476320460504,    5.76949722146069140550,
                             4.63033784615654529590,    1.42343711074968357734};
  static const double d[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                             1.51986665636164571966e-2, 1.48103976427480074590e-1,
                             6.89767334985100004550e-1, 1.67638483018380384940,
                             2.05319162663775882187,    1.0};
  static const double e[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                             2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
                             5.46378491116411436990,    6.65790464350110377720};
  static const double f[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                             1.84631831751005468180e-5,  7.86869131145613259100e-4,
                             1.48753612908506148525e-2,  1.36929880922735805310e-1,
                             5.99832206555887937690e-1,  1.0};
  vreal q = p - (real)0.5, r = (real)0.180625 - q * q;
  vreal middle = q * polynomial(r, a, 8) / polynomial(r, b, 8);
  vreal tail = lesser(p, (real)1 - p);
  vreal s = root(-lanes_log(tail)), near = s - (real)1.6, far = lesser(s, set(27)) - (real)5;
  vreal y = choose(s <= (real)5, polynomial(near, c, 8) / polynomial(near, d, 8),
                   polynomial(far, e, 8) / polynomial(far, f, 8));
  y = choose(tail == (real)0, set(INFINITY), y);
  y = choose(q < (real)0, -y, y);
  y = choose(size_of(q) <= (real)0.425, middle, y);
  return choose((p >= (real)0) & (p <= (real)1), y, set(NAN));
}

/* n and r = x - n pi/2 in three parts, |r| <= pi/4; clamped beyond |x| = 2^20 (2^12), where no digit would be
 * right. */
TACIT_INLINE vreal quarter_turns(vreal x, vwhole *n) {
  const real most = PICK(0x1p20, 0x1p12f);
  x = keep_nan(x, greater(set(-(double)most), lesser(set((double)most), x)));
  vreal shifted = x * (real)0.63661977236758134 + (real)ROUNDER, turns = shifted - (real)ROUNDER;
  *n = (vwhole)shifted;
  vreal r = ((x - turns * PICK(0x1.921fb544p0, 1.5703125f)) -
             turns * PICK(0x1.0b4611a6p-34, 4.837512969970703125e-4f)) -
            turns * PICK(0x1.3198a2e037073p-69, 7.54978995489188e-8f);
  return greater(set(-0.7854), lesser(set(0.7854), r));
}
TACIT_INLINE vreal sine_from(vreal r, vwhole n) {
  static const double sine[] = {-1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
                                -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
  static const double cosine[] = {
      1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
      1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0,        -0.5};
  const size_t skip = TACIT_LANES_DOUBLE ? 0 : 3;
  vreal t = r * r;
  vreal s = r + (r * t) * polynomial(t, sine + skip, 7 - skip),
        c = t * polynomial(t, cosine + skip, 8 - skip) + (real)1;
  vreal y = choose((n & 1) == 0, s, c);
  return choose((n & 2) == 0, y, -y);
}
TACIT_INLINE vreal lanes_sin(vreal x) {
  vwhole n;
  vreal r = quarter_turns(x, &n);
  return sine_from(r, n);
}
TACIT_INLINE vreal lanes_cos(vreal x) {
  vwhole n;
  vreal r = quarter_turns(x, &n);
  return sine_from(r, n + 1);
}
/* To |t| <= tan(pi / 16) by the angles 0, pi/8, pi/4, 3 pi/8, then the series: remainder below 2^-57 (2^-28).
 */
TACIT_INLINE vreal lanes_atan(vreal x) {
  static const double terms[] = {1.0 / 21,  -1.0 / 19, 1.0 / 17, -1.0 / 15, 1.0 / 13,
                                 -1.0 / 11, 1.0 / 9,   -1.0 / 7, 1.0 / 5,   -1.0 / 3};
  const size_t skip = TACIT_LANES_DOUBLE ? 0 : 5;
  vreal size = size_of(x);
  vwhole is_large = size > (real)1;
  vreal y = choose(is_large, (real)1 / size, size); /* 0 .. 1 */
  vwhole is_high = y > (real)0.66817863791929892,
         is_middle = y > (real)0.19891236737965801; /* tan of 3 pi/16, of pi/16 */
  vreal tangent = choose(is_high, set(1), choose(is_middle, set(0.41421356237309505), set(0)));
  vreal angle =
      choose(is_high, set(0.78539816339744831), choose(is_middle, set(0.39269908169872415), set(0)));
  vreal t = (y - tangent) / (y * tangent + (real)1), square = t * t;
  angle += t + (t * square) * polynomial(square, terms + skip, sizeof terms / sizeof terms[0] - skip);
  angle = choose(is_large, (real)1.5707963267948966 - angle, angle);
  return keep_nan(x, with_sign_of(angle, x));
}
