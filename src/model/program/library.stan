// The library: distributions and functions in the language itself. Derivatives, bounds and tables follow from these lines.
// Where the line above a function is a comment, `tacit model list` shows it. Conditions on parameters are allowed here alone, where the
// branches join.

// ---- functions of numbers ----

// log(1 - x)
real log1m(real x) { return log1p(-x); }
// base 10
real log10(real x) { return log(x) / log10(); }
// base 2
real log2(real x) { return log(x) / log2(); }
// 2^x
real exp2(real x) { return exp(x * log2()); }
// 1 / x
real inv(real x) { return 1.0 / x; }
// 1 / sqrt(x)
real inv_sqrt(real x) { return 1.0 / sqrt(x); }
// 1 / x^2
real inv_square(real x) { return 1.0 / (x * x); }
// x^2
real square(real x) { return x * x; }
// cube root, x >= 0
real cbrt(real x) { return pow(x, 1.0 / 3); }
// log(x / (1 - x))
real logit(real x) { return log(x) - log1p(-x); }
// log(inv_logit(x))
real log_inv_logit(real x) { return -log1p_exp(-x); }
// log(1 - inv_logit(x))
real log1m_inv_logit(real x) { return -log1p_exp(x); }
// log(inv_logit(x) - inv_logit(y)), x > y
real log_inv_logit_diff(real x, real y) { return log1m_exp(y - x) - log1p_exp(-x) - log1p_exp(y); }
// log(1 - exp(-exp(x)))
real log_inv_cloglog(real x) { return x < -37 ? x : log1m_exp(-exp(x)); }
// 1 - exp(-exp(x))
real inv_cloglog(real x) { return -expm1(-exp(x)); }
// log(exp(a) - exp(b)), a > b
real log_diff_exp(real a, real b) { return a + log1m_exp(b - a); }
// a logistic function near Phi
real Phi_approx(real x) { return inv_logit(0.07056 * x * x * x + 1.5976 * x); }
// log of Phi, without underflow
real std_normal_lcdf(real x) { return log_Phi(x); }
// log(1 - Phi(x))
real std_normal_lccdf(real x) { return log_Phi(-x); }
// log of |gamma(x)|
real lgamma(real x) {
  return x > 0 ? lgamma_of_positive(x) : 1.14472988584940017414 - log(abs(sin(pi() * (x - floor(x))))) - lgamma_of_positive(1 - x);
}
// log of the beta function
real lbeta(real a, real b) { return a < b ? lgamma_of_positive(a) - lgamma_diff(b, a) : lgamma_of_positive(b) - lgamma_diff(a, b); }
// the beta function
real beta(real a, real b) { return exp(lbeta(a, b)); }
// the gamma function
real tgamma(real x) { return x > 0 ? exp(lgamma_of_positive(x)) : pi() / (sin(pi() * x) * exp(lgamma_of_positive(1 - x))); }
// log of the binomial coefficient
real lchoose(real n, real k) {
  real m = fmin(k, n - k);
  return k < 0 || k > n ? negative_infinity() : lgamma_diff(n - m + 1, m) - lgamma_of_positive(m + 1);
}
// of y of n trials, of which a record may say that y is more: it has the score that it has
real lchoose_helper(real n, real y) { real m = fmax(fmin(y, n - y), 0); return lgamma_diff(n - m + 1, m) - lgamma_of_positive(m + 1); }
// the binomial coefficient
int choose(int n, int k) { return to_int(round(exp(lchoose(n, k)))); }
// as lchoose
real binomial_coefficient_log(real n, real k) { return lchoose(n, k); }
// log(x (x + 1) ... (x + n - 1))
real log_rising_factorial(real x, real n) { return lgamma_diff(x, n); }
// log(x (x - 1) ... (x - n + 1))
real log_falling_factorial(real x, real n) { return lgamma_diff(x - n + 1, n); }
// x log(y)
real lmultiply(real x, real y) { return x * log(y); }
// x log(y)
real multiply_log(real x, real y) { return x * log(y); }
// x y + z
real fma(real x, real y, real z) { return x * y + z; }
// max(x - y, 0)
real fdim(real x, real y) { return fmax(x - y, 0); }
// sqrt(x^2 + y^2)
real hypot(real x, real y) { return sqrt(x * x + y * y); }
real ceil(real x) { return -floor(-x); }
real round(real x) { return floor(x + 0.5); }
// 1 where x >= 0
real step(real x) { return x >= 0; }
// 1 where x > 0
int int_step(real x) { return x > 0; }
// how many of the rising numbers b are at most x: 0 below all of them
int cut(real x, array[] real b) { int k = 0; for (i in 1:size(b)) k += b[i] <= x; return k; }
real tan(real x) { return sin(x) / cos(x); }
real asin(real x) { return atan(x / sqrt(1 - x * x)); }
real acos(real x) { return pi() / 2 - asin(x); }
// angle of (x, y)
real atan2(real y, real x) { return 2 * atan(y / (sqrt(x * x + y * y) + x)); }
real sinh(real x) { return 0.5 * (expm1(x) - expm1(-x)); }
real cosh(real x) { return 0.5 * (exp(x) + exp(-x)); }
real asinh(real x) { real a = abs(x); real s = log1p(a + x * x / (1 + sqrt(1 + x * x))); return x < 0 ? -s : s; }
real acosh(real x) { return log(x + sqrt(x * x - 1)); }
real atanh(real x) { return 0.5 * (log1p(x) - log1p(-x)); }
// log(theta exp(a) + (1 - theta) exp(b))
real log_mix(real theta, real a, real b) { return log_sum_exp(log(theta) + a, log1m(theta) + b); }
// log of the modified Bessel function of order 0
real log_bessel_i0(real x) {
  if (x > 16) {
    real s = 1;
    for (i in 1:24) { int k = 25 - i; s = 1 + s * square(2.0 * k - 1) / (8.0 * k * x); }
    return x - 0.5 * log(2 * pi() * x) + log(s);
  } else {
    real t = 0.25 * x * x;
    real s = 1;
    for (i in 1:48) { int k = 49 - i; s = 1 + s * t / (1.0 * k * k); }
    return log(s);
  }
}

// ---- functions of vectors ----

// log(sum(theta .* exp(lp)))
real log_mix(vector theta, vector lp) { return log_sum_exp(log(theta) + lp); }
// exp(x) / sum(exp(x))
vector softmax(vector x) { return exp(x - log_sum_exp(x)); }
// log(softmax(x))
vector log_softmax(vector x) { return x - log_sum_exp(x); }
// sum of |x|
real norm1(vector x) { return sum(abs(x)); }
// length of a vector
real norm2(vector x) { return sqrt(dot_self(x)); }
real squared_distance(vector x, vector y) { return dot_self(x - y); }
real distance(vector x, vector y) { return sqrt(dot_self(x - y)); }
// of public numbers or parameters, n - 1 below
real variance(vector x) { return dot_self(x - mean(x)) / (rows(x) - 1.0); }
// square root of the variance
real sd(vector x) { return sqrt(variance(x)); }
// n numbers from a to b
vector linspaced_vector(int n, real a, real b) { vector[n] x; for (i in 1:n) x[i] = n == 1 ? b : a + (b - a) * (i - 1.0) / (n - 1.0); return x; }
// the last first
vector reverse(vector x) { vector[rows(x)] y; for (i in 1:rows(x)) y[i] = x[rows(x) - i + 1]; return y; }
matrix diag_pre_multiply(vector d, matrix m) { matrix[rows(m), cols(m)] r; for (i in 1:rows(m)) r[i] = d[i] * m[i]; return r; }
matrix diag_post_multiply(matrix m, vector d) { matrix[rows(m), cols(m)] r; for (i in 1:rows(m)) r[i] = m[i] .* d'; return r; }
// d' m d
matrix quad_form_diag(matrix m, vector d) { return diag_post_multiply(diag_pre_multiply(d, m), d); }
// d on the diagonal, added
matrix add_diag(matrix m, real d) { matrix[rows(m), cols(m)] r = m; for (i in 1:rows(m)) r[i, i] += d; return r; }
matrix crossprod(matrix m) { return m' * m; }
matrix tcrossprod(matrix m) { return m * m'; }
matrix multiply_lower_tri_self_transpose(matrix m) { return m * m'; }
vector diagonal(matrix m) { vector[rows(m)] d; for (i in 1:rows(m)) d[i] = m[i, i]; return d; }
real trace(matrix m) { return sum(diagonal(m)); }
vector rows_dot_product(matrix a, matrix b) { vector[rows(a)] r; for (i in 1:rows(a)) r[i] = dot_product(a[i], b[i]); return r; }
// lower triangular L with L L' = m
matrix cholesky_decompose(matrix m) {
  int n = rows(m);
  matrix[n, n] L = rep_matrix(0, n, n);
  for (j in 1:n) {
    L[j, j] = sqrt(m[j, j] - dot_self(head(L[j], j - 1)));
    for (i in (j + 1):n) L[i, j] = (m[i, j] - dot_product(head(L[i], j - 1), head(L[j], j - 1))) / L[j, j];
  }
  return L;
}
// L^-1 b, L lower triangular
vector mdivide_left_tri_low(matrix L, vector b) {
  vector[rows(b)] x;
  for (i in 1:rows(b)) x[i] = (b[i] - dot_product(head(L[i], i - 1), head(x, i - 1))) / L[i, i];
  return x;
}
// sigma^2 exp(-(x_i - x_j)^2 / (2 l^2))
matrix gp_exp_quad_cov(array[] real x, real sigma, real l) {
  int n = size(x);
  matrix[n, n] K;
  for (i in 1:n) for (j in 1:n) K[i, j] = square(sigma) * exp(-0.5 * square((x[i] - x[j]) / l));
  return K;
}

// ---- real outcomes ----
// _icdf, _iccdf: where P(Y <= y), P(Y > y) is u. _of_normal, _to_normal: from a standard normal number and back.

real normal_lpdf(real y, real mu, real sigma) { return -0.5 * square((y - mu) / sigma) - log(sigma) - 0.918938533204672741780; }
real normal_lcdf(real y, real mu, real sigma) { return log_Phi((y - mu) / sigma); }
real normal_lccdf(real y, real mu, real sigma) { return log_Phi((mu - y) / sigma); }
real normal_of_normal(real z, real mu, real sigma) { return mu + sigma * z; }
real normal_to_normal(real y, real mu, real sigma) { return (y - mu) / sigma; }
real std_normal_lpdf(real y) { return -0.5 * y * y - 0.918938533204672741780; }
real std_normal_of_normal(real z) { return z; }
real std_normal_to_normal(real y) { return y; }
real lognormal_lpdf(real y, real mu, real sigma) { return normal_lpdf(log(y) | mu, sigma) - log(y); }
real lognormal_lcdf(real y, real mu, real sigma) { return log_Phi((log(y) - mu) / sigma); }
real lognormal_lccdf(real y, real mu, real sigma) { return log_Phi((mu - log(y)) / sigma); }
real lognormal_of_normal(real z, real mu, real sigma) { return exp(mu + sigma * z); }
real lognormal_to_normal(real y, real mu, real sigma) { return (log(y) - mu) / sigma; }
// nu degrees of freedom
real student_t_lpdf(real y, real nu, real mu, real sigma) {
  return lgamma_diff(0.5 * nu, 0.5) - 0.5 * log(nu) - 0.572364942924700087072 - log(sigma)
         - 0.5 * (nu + 1) * log1p(square((y - mu) / sigma) / nu);
}
// half the probability between -|y| and |y|; nu is a whole number that is known
real student_t_half(real y, real nu) {
  int n = to_int(nu);
  real angle = atan(y / sqrt(nu));
  real c = square(cos(angle));
  real term = 1;
  real total = 0;
  if (n % 2 == 1) {
    for (k in 1:((n - 1) %/% 2)) { term = k == 1 ? cos(angle) : term * c * (2.0 * k - 2) / (2.0 * k - 1); total += term; }
    return (angle + sin(angle) * total) / pi();
  } else {
    for (k in 1:(n %/% 2)) { term = k == 1 ? 1 : term * c * (2.0 * k - 3) / (2.0 * k - 2); total += term; }
    return 0.5 * sin(angle) * total;
  }
}
real student_t_lcdf(real y, real nu, real mu, real sigma) { return log(0.5 + student_t_half((y - mu) / sigma, nu)); }
real student_t_lccdf(real y, real nu, real mu, real sigma) { return log(0.5 - student_t_half((y - mu) / sigma, nu)); }
real cauchy_lpdf(real y, real mu, real sigma) { return -1.14472988584940017414 - log(sigma) - log1p(square((y - mu) / sigma)); }
real cauchy_lcdf(real y, real mu, real sigma) { return log(0.5 + atan((y - mu) / sigma) / pi()); }
real cauchy_lccdf(real y, real mu, real sigma) { return log(0.5 - atan((y - mu) / sigma) / pi()); }
real cauchy_icdf(real u, real mu, real sigma) { return mu - sigma * cos(pi() * u) / sin(pi() * u); }
real logistic_lpdf(real y, real mu, real sigma) { real z = (y - mu) / sigma; return -log1p_exp(z) - log1p_exp(-z) - log(sigma); }
real logistic_lcdf(real y, real mu, real sigma) { return -log1p_exp((mu - y) / sigma); }
real logistic_lccdf(real y, real mu, real sigma) { return -log1p_exp((y - mu) / sigma); }
real logistic_icdf(real u, real mu, real sigma) { return mu + sigma * (log(u) - log1m(u)); }
// Laplace
real double_exponential_lpdf(real y, real mu, real sigma) { return -abs(y - mu) / sigma - log(sigma) - 0.693147180559945309417; }
real double_exponential_lcdf(real y, real mu, real sigma) {
  real z = (y - mu) / sigma;
  return z < 0 ? z - 0.693147180559945309417 : log1p(-0.5 * exp(-z));
}
real double_exponential_lccdf(real y, real mu, real sigma) { return double_exponential_lcdf(-y | -mu, sigma); }
real double_exponential_icdf(real u, real mu, real sigma) { return mu + sigma * (u < 0.5 ? log(2 * u) : -log(2 - 2 * u)); }
// of unequal tails; tau: asymmetry
real skew_double_exponential_lpdf(real y, real mu, real sigma, real tau) {
  return 0.693147180559945309417 + log(tau) + log1m(tau) - log(sigma)
         - 2 * (y < mu ? (1 - tau) * (mu - y) : tau * (y - mu)) / sigma;
}
// largest of many
real gumbel_lpdf(real y, real mu, real beta) { real z = (y - mu) / beta; return -log(beta) - z - exp(-z); }
real gumbel_lcdf(real y, real mu, real beta) { return -exp((mu - y) / beta); }
real gumbel_lccdf(real y, real mu, real beta) { return log_inv_cloglog((mu - y) / beta); }
real gumbel_icdf(real u, real mu, real beta) { return mu - beta * log(-log(u)); }
real uniform_lpdf(real y, real a, real b) { return y < a || y > b ? negative_infinity() : -log(b - a); }
real uniform_lcdf(real y, real a, real b) { return log((y - a) / (b - a)); }
real uniform_lccdf(real y, real a, real b) { return log((b - y) / (b - a)); }
real uniform_icdf(real u, real a, real b) { return a + (b - a) * u; }
// alpha: shape of the skewness
real skew_normal_lpdf(real y, real xi, real omega, real alpha) {
  real z = (y - xi) / omega;
  return 0.693147180559945309417 - log(omega) - 0.5 * z * z - 0.918938533204672741780 + log_Phi(alpha * z);
}
// a normal and an exponential of rate lambda, added
real exp_mod_normal_lpdf(real y, real mu, real sigma, real lambda) {
  return log(lambda) + lambda * (mu - y) + 0.5 * square(lambda * sigma) + log_Phi((y - mu) / sigma - lambda * sigma);
}
// an angle
real von_mises_lpdf(real y, real mu, real kappa) { return kappa * cos(y - mu) - 1.83787706640934548356 - log_bessel_i0(kappa); }

// ---- positive outcomes ----

// of rate beta
real exponential_lpdf(real y, real beta) { return y < 0 ? negative_infinity() : log(beta) - beta * y; }
real exponential_lcdf(real y, real beta) { return log1m_exp(-beta * y); }
real exponential_lccdf(real y, real beta) { return -beta * y; }
real exponential_iccdf(real u, real beta) { return -log(u) / beta; }
// of shape and rate
real gamma_lpdf(real y, real alpha, real beta) { return alpha * log(beta) - lgamma_of_positive(alpha) + (alpha - 1) * log(y) - beta * y; }
real inv_gamma_lpdf(real y, real alpha, real beta) { return alpha * log(beta) - lgamma_of_positive(alpha) - (alpha + 1) * log(y) - beta / y; }
real chi_square_lpdf(real y, real nu) { return -0.5 * nu * log2() - lgamma_of_positive(0.5 * nu) + (0.5 * nu - 1) * log(y) - 0.5 * y; }
real inv_chi_square_lpdf(real y, real nu) { return -0.5 * nu * log2() - lgamma_of_positive(0.5 * nu) - (0.5 * nu + 1) * log(y) - 0.5 / y; }
real scaled_inv_chi_square_lpdf(real y, real nu, real s) { return inv_gamma_lpdf(y | 0.5 * nu, 0.5 * nu * s * s); }
// of shape alpha and scale sigma
real weibull_lpdf(real y, real alpha, real sigma) {
  real u = log(y) - log(sigma);
  return log(alpha) - log(sigma) + (alpha - 1) * u - exp(alpha * u);
}
real weibull_lcdf(real y, real alpha, real sigma) { return log_inv_cloglog(alpha * (log(y) - log(sigma))); }
real weibull_lccdf(real y, real alpha, real sigma) { return -exp(alpha * (log(y) - log(sigma))); }
real weibull_iccdf(real u, real alpha, real sigma) { return sigma * exp(log(-log(u)) / alpha); }
real frechet_lpdf(real y, real alpha, real sigma) {
  real u = log(y) - log(sigma);
  return log(alpha) - log(sigma) - (alpha + 1) * u - exp(-alpha * u);
}
real frechet_lcdf(real y, real alpha, real sigma) { return -exp(-alpha * (log(y) - log(sigma))); }
real frechet_lccdf(real y, real alpha, real sigma) { return log_inv_cloglog(-alpha * (log(y) - log(sigma))); }
real frechet_icdf(real u, real alpha, real sigma) { return sigma * exp(-log(-log(u)) / alpha); }
// of scale alpha and shape beta
real loglogistic_lpdf(real y, real alpha, real beta) {
  real u = beta * (log(y) - log(alpha));
  return log(beta) - log(y) - log1p_exp(u) - log1p_exp(-u);
}
real loglogistic_lcdf(real y, real alpha, real beta) { return -log1p_exp(beta * (log(alpha) - log(y))); }
real loglogistic_lccdf(real y, real alpha, real beta) { return -log1p_exp(beta * (log(y) - log(alpha))); }
real loglogistic_icdf(real u, real alpha, real beta) { return alpha * exp((log(u) - log1m(u)) / beta); }
// hazard b exp(a y)
real gompertz_lpdf(real y, real a, real b) { return y < 0 ? negative_infinity() : log(b) + a * y - b / a * expm1(a * y); }
real gompertz_lcdf(real y, real a, real b) { return log1m_exp(-b / a * expm1(a * y)); }
real gompertz_lccdf(real y, real a, real b) { return -b / a * expm1(a * y); }
real gompertz_iccdf(real u, real a, real b) { return log1p(-a / b * log(u)) / a; }
// of mean mu and shape lambda
real inv_gaussian_lpdf(real y, real mu, real lambda) {
  return 0.5 * (log(lambda) - 3 * log(y)) - 0.918938533204672741780 - 0.5 * lambda * square(y / mu - 1) / y;
}
real inv_gaussian_lcdf(real y, real mu, real lambda) {
  real r = sqrt(lambda / y);
  return log_sum_exp(log_Phi(r * (y / mu - 1)), 2 * lambda / mu + log_Phi(-r * (y / mu + 1)));
}
real inv_gaussian_lccdf(real y, real mu, real lambda) { return log1m_exp(inv_gaussian_lcdf(y | mu, lambda)); }
real rayleigh_lpdf(real y, real sigma) { return log(y) - 2 * log(sigma) - 0.5 * square(y / sigma); }
real rayleigh_lcdf(real y, real sigma) { return log1m_exp(-0.5 * square(y / sigma)); }
real rayleigh_lccdf(real y, real sigma) { return -0.5 * square(y / sigma); }
real rayleigh_iccdf(real u, real sigma) { return sigma * sqrt(-2 * log(u)); }
// from y_min on
real pareto_lpdf(real y, real y_min, real alpha) { return y < y_min ? negative_infinity() : log(alpha) + alpha * log(y_min) - (alpha + 1) * log(y); }
real pareto_lccdf(real y, real y_min, real alpha) { return alpha * (log(y_min) - log(y)); }
real pareto_lcdf(real y, real y_min, real alpha) { return log1m_exp(alpha * (log(y_min) - log(y))); }
real pareto_iccdf(real u, real y_min, real alpha) { return y_min * exp(-log(u) / alpha); }
// Lomax
real pareto_type_2_lpdf(real y, real mu, real lambda, real alpha) {
  return y < mu ? negative_infinity() : log(alpha) - log(lambda) - (alpha + 1) * log1p((y - mu) / lambda);
}
real pareto_type_2_lccdf(real y, real mu, real lambda, real alpha) { return -alpha * log1p((y - mu) / lambda); }
real pareto_type_2_lcdf(real y, real mu, real lambda, real alpha) { return log1m_exp(-alpha * log1p((y - mu) / lambda)); }
real pareto_type_2_iccdf(real u, real mu, real lambda, real alpha) { return mu + lambda * expm1(-log(u) / alpha); }
// excesses over a threshold; shape k > 0
real generalized_pareto_lpdf(real y, real k, real sigma) { return y < 0 ? negative_infinity() : -log(sigma) - (1 + 1 / k) * log1p(k * y / sigma); }
real generalized_pareto_lccdf(real y, real k, real sigma) { return -1 / k * log1p(k * y / sigma); }
real generalized_pareto_lcdf(real y, real k, real sigma) { return log1m_exp(-1 / k * log1p(k * y / sigma)); }
real generalized_pareto_iccdf(real u, real k, real sigma) { return sigma / k * expm1(-k * log(u)); }

// ---- outcomes between 0 and 1 ----

real beta_lpdf(real y, real a, real b) { return (a - 1) * log(y) + (b - 1) * log1m(y) - lbeta(a, b); }
// of mean mu and precision kappa
real beta_proportion_lpdf(real y, real mu, real kappa) { return beta_lpdf(y | mu * kappa, (1 - mu) * kappa); }
// a simplex
real dirichlet_lpdf(vector theta, vector alpha) { return lgamma_of_positive(sum(alpha)) - sum(lgamma_of_positive(alpha)) + dot_product(alpha - 1, log(theta)); }

// ---- several outcomes together ----

real multi_normal_cholesky_lpdf(vector y, vector mu, matrix L) {
  return -0.5 * dot_self(mdivide_left_tri_low(L, y - mu)) - sum(log(diagonal(L))) - rows(y) * 0.918938533204672741780;
}
// a correlation matrix, by its Cholesky factor: density det^(eta - 1)
real lkj_corr_cholesky_lpdf(matrix L, real eta) {
  int k = rows(L);
  real total = 0;
  for (i in 1:(k - 1)) {
    real b = eta + (k - i - 1) / 2.0;
    total += (k - i + 2 * eta - 3) * log(L[i + 1, i + 1]) - (k - i) * (lbeta(b, b) + (2 * b - 1) * 0.693147180559945309417);
  }
  return total;
}
real lkj_corr_lpdf(matrix R, real eta) {
  matrix[rows(R), rows(R)] L = cholesky_decompose(R);
  real total = lkj_corr_cholesky_lpdf(L | eta);
  for (i in 2:rows(R)) total -= (rows(R) - i) * log(L[i, i]);
  return total;
}
real multi_normal_lpdf(vector y, vector mu, matrix Sigma) { return multi_normal_cholesky_lpdf(y | mu, cholesky_decompose(Sigma)); }

// ---- counts ----

real bernoulli_lpmf(int y, real theta) { return y < 0 || y > 1 ? negative_infinity() : y == 1 ? log(theta) : log1m(theta); }
real bernoulli_logit_lpmf(int y, real eta) { return y < 0 || y > 1 ? negative_infinity() : -log1p_exp((1 - 2 * y) * eta); }
real bernoulli_probit_lpmf(int y, real eta) { return y < 0 || y > 1 ? negative_infinity() : log_Phi((2 * y - 1) * eta); }
real binomial_lpmf(int y, int n, real theta) { return y < 0 ? negative_infinity() : lchoose_helper(n, y) + y * log(theta) + (n - y) * log1m(theta); }
real binomial_logit_lpmf(int y, int n, real eta) { return y < 0 ? negative_infinity() : lchoose_helper(n, y) - y * log1p_exp(-eta) - (n - y) * log1p_exp(eta); }
real beta_binomial_lpmf(int y, int n, real a, real b) { return y < 0 ? negative_infinity() : lchoose_helper(n, y) + lgamma_diff(a, y) + lgamma_diff(b, n - y) - lgamma_diff(a + b, n); }
real poisson_lpmf(int y, real lambda) { return y < 0 ? negative_infinity() : y * log(lambda) - lambda - lgamma_of_positive(y + 1); }
// of log rate eta
real poisson_log_lpmf(int y, real eta) { return y < 0 ? negative_infinity() : y * eta - exp(eta) - lgamma_of_positive(y + 1); }
// of shape and inverse scale
real neg_binomial_lpmf(int y, real alpha, real beta) {
  return y < 0 ? negative_infinity() : lgamma_diff(alpha, y) - lgamma_of_positive(y + 1) - alpha * log1p_exp(-log(beta)) - y * log1p(beta);
}
// of log mean eta and precision phi
real neg_binomial_2_log_lpmf(int y, real eta, real phi) {
  real u = eta - log(phi);
  return y < 0 ? negative_infinity() : lgamma_diff(phi, y) - lgamma_of_positive(y + 1) + y * u - (y + phi) * log1p_exp(u);
}
// of mean mu and precision phi
real neg_binomial_2_lpmf(int y, real mu, real phi) { return neg_binomial_2_log_lpmf(y | log(mu), phi); }
// failures before the first success
real geometric_logit_lpmf(int y, real eta) { return y < 0 ? negative_infinity() : -log1p_exp(-eta) - y * log1p_exp(eta); }

// P(Y <= y) and P(Y > y) of counts, where y is known
real bernoulli_lcdf(int y, real theta) {
  vector[max(y + 1, 0)] p;
  for (k in 0:y) p[k + 1] = bernoulli_lpmf(k | theta);
  return log_sum_exp(p);
}
real bernoulli_lccdf(int y, real theta) { return y < 0 ? 0 : log1m_exp(bernoulli_lcdf(y | theta)); }
real binomial_lcdf(int y, int n, real theta) {
  vector[max(y + 1, 0)] p;
  for (k in 0:y) p[k + 1] = binomial_lpmf(k | n, theta);
  return log_sum_exp(p);
}
real binomial_lccdf(int y, int n, real theta) { return y < 0 ? 0 : log1m_exp(binomial_lcdf(y | n, theta)); }
real poisson_lcdf(int y, real lambda) {
  vector[max(y + 1, 0)] p;
  for (k in 0:y) p[k + 1] = poisson_lpmf(k | lambda);
  return log_sum_exp(p);
}
real poisson_lccdf(int y, real lambda) { return y < 0 ? 0 : log1m_exp(poisson_lcdf(y | lambda)); }
real poisson_log_lcdf(int y, real eta) {
  vector[max(y + 1, 0)] p;
  for (k in 0:y) p[k + 1] = poisson_log_lpmf(k | eta);
  return log_sum_exp(p);
}
real poisson_log_lccdf(int y, real eta) { return y < 0 ? 0 : log1m_exp(poisson_log_lcdf(y | eta)); }
real neg_binomial_lcdf(int y, real alpha, real beta) {
  vector[max(y + 1, 0)] p;
  for (k in 0:y) p[k + 1] = neg_binomial_lpmf(k | alpha, beta);
  return log_sum_exp(p);
}
real neg_binomial_lccdf(int y, real alpha, real beta) { return y < 0 ? 0 : log1m_exp(neg_binomial_lcdf(y | alpha, beta)); }
real neg_binomial_2_lcdf(int y, real mu, real phi) {
  vector[max(y + 1, 0)] p;
  for (k in 0:y) p[k + 1] = neg_binomial_2_lpmf(k | mu, phi);
  return log_sum_exp(p);
}
real neg_binomial_2_lccdf(int y, real mu, real phi) { return y < 0 ? 0 : log1m_exp(neg_binomial_2_lcdf(y | mu, phi)); }
real neg_binomial_2_log_lcdf(int y, real eta, real phi) {
  vector[max(y + 1, 0)] p;
  for (k in 0:y) p[k + 1] = neg_binomial_2_log_lpmf(k | eta, phi);
  return log_sum_exp(p);
}
real neg_binomial_2_log_lccdf(int y, real eta, real phi) { return y < 0 ? 0 : log1m_exp(neg_binomial_2_log_lcdf(y | eta, phi)); }
real beta_binomial_lcdf(int y, int n, real a, real b) {
  vector[max(y + 1, 0)] p;
  for (k in 0:y) p[k + 1] = beta_binomial_lpmf(k | n, a, b);
  return log_sum_exp(p);
}
real beta_binomial_lccdf(int y, int n, real a, real b) { return y < 0 ? 0 : log1m_exp(beta_binomial_lcdf(y | n, a, b)); }

// ---- one of several classes ----

// probabilities theta
real categorical_lpmf(int y, vector theta) { return log(theta)[y]; }
// log odds eta
real categorical_logit_lpmf(int y, vector eta) { return eta[y] - log_sum_exp(eta); }
// counts of all classes
real multinomial_lpmf(array[] int y, vector theta) { return lgamma_of_positive(sum(y) + 1) - sum(lgamma_of_positive(to_vector(y) + 1)) + dot_product(to_vector(y), log(theta)); }
real multinomial_logit_lpmf(array[] int y, vector eta) {
  return lgamma_of_positive(sum(y) + 1) - sum(lgamma_of_positive(to_vector(y) + 1)) + dot_product(to_vector(y), log_softmax(eta));
}
// ordered classes with cut points c
real ordered_logistic_lpmf(int y, real eta, vector c) {
  real h = append_row(c, positive_infinity())[y];
  real l = append_row(negative_infinity(), c)[y];
  return -log1p_exp(eta - h) - log1p_exp(l - eta) + log1m_exp(l - h);
}
real ordered_probit_lpmf(int y, real eta, vector c) {
  real h = append_row(c, positive_infinity())[y] - eta;
  real l = append_row(negative_infinity(), c)[y] - eta;
  return h + l > 0 ? log_diff_exp(log_Phi(-l), log_Phi(-h)) : log_diff_exp(log_Phi(h), log_Phi(l));
}

// ---- more zeros than a count has; theta: their probability ----

real zero_inflated_poisson_lpmf(int y, real lambda, real theta) {
  return y == 0 ? log_sum_exp(log(theta), log1m(theta) - lambda) : log1m(theta) + poisson_lpmf(y | lambda);
}
real zero_inflated_poisson_log_lpmf(int y, real eta, real theta) {
  return y == 0 ? log_sum_exp(log(theta), log1m(theta) - exp(eta)) : log1m(theta) + poisson_log_lpmf(y | eta);
}
real zero_inflated_neg_binomial_2_log_lpmf(int y, real eta, real phi, real theta) {
  return y == 0 ? log_sum_exp(log(theta), log1m(theta) - phi * log1p_exp(eta - log(phi)))
                : log1m(theta) + neg_binomial_2_log_lpmf(y | eta, phi);
}
real zero_inflated_binomial_logit_lpmf(int y, int n, real eta, real theta) {
  return y == 0 ? log_sum_exp(log(theta), log1m(theta) - n * log1p_exp(eta)) : log1m(theta) + binomial_logit_lpmf(y | n, eta);
}
real hurdle_poisson_log_lpmf(int y, real eta, real theta) {
  return y == 0 ? log(theta) : log1m(theta) + poisson_log_lpmf(y | eta) - log_inv_cloglog(eta);
}
real hurdle_neg_binomial_2_log_lpmf(int y, real eta, real phi, real theta) {
  real u = eta - log(phi);
  return y == 0 ? log(theta)
                : log1m(theta) + neg_binomial_2_log_lpmf(y | eta, phi) - (u < -37 ? log_inv_cloglog(eta) : log1m_exp(-phi * log1p_exp(u)));
}
real hurdle_lognormal_lpdf(real y, real mu, real sigma, real theta) {
  return y == 0 ? log(theta) : log1m(theta) + lognormal_lpdf(y | mu, sigma);
}
real hurdle_gamma_lpdf(real y, real alpha, real beta, real theta) {
  return y == 0 ? log(theta) : log1m(theta) + gamma_lpdf(y | alpha, beta);
}
