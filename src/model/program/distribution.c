/* Draws from the distributions of the library: by quantiles where there are closed ones, else from gamma and
 * normal numbers. */
#include "program/distribution.h"

#include <math.h>
#include <string.h>

#define TACIT_LANES_DOUBLE                                                                                   \
  1 /* one number by the lanes' functions, as tacit_op_value() has it without a machine */
#include "program/lanes.h"

typedef tacit_uniforms_t uniforms_t;

static double next(uniforms_t *s) { return s->next(s); }
static double quantile(double u) { return lanes_inv_phi(set(u))[0]; }
static double normal(uniforms_t *s) { return quantile(next(s)); }
static double inverse_logit(double x) { return 1 / (1 + exp(-x)); }

/* [MarsagliaTsang2000a]: shape >= 1 by rejection, below by a power of a uniform number. */
static double gamma_of(uniforms_t *s, double shape) {
  double boost = shape < 1 ? pow(next(s), 1 / shape) : 1, d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3,
         c = 1 / sqrt(9 * d);
  for (int i = 0; i < 1000; i++) { /* accepted 19 times of 20; the end is for shapes that are no numbers */
    double z = normal(s), v = pow(1 + c * z, 3);
    if (v > 0 && log(next(s)) < 0.5 * z * z + d - d * v + d * log(v)) {
      return boost * d * v;
    }
  }
  return NAN;
}

static double beta_of(uniforms_t *s, double a, double b) {
  double x = gamma_of(s, a);
  return x / (x + gamma_of(s, b));
}

/* ---- counts, exact for any size ---- */

/* The middle of n ordered uniform numbers says how many of the rest to look at [Devroye1986, X.4]. */
static double binomial_of(uniforms_t *s, double n, double p) {
  double count = 0;
  while (n >= 24) {
    double middle = floor((n + 1) / 2), x = beta_of(s, middle, n + 1 - middle);
    if (x <= p) {
      count += middle;
      n -= middle;
      p = (p - x) / (1 - x);
    } else {
      n = middle - 1;
      p = p / x;
    }
  }
  for (double i = 0; i < n; i++) {
    count += next(s) < p;
  }
  return p >= 0 && p <= 1 ? count : NAN;
}

/* The time of the m-th event says whether it is within the rate, and how many are to come or are left
 * [Devroye1986, X.3]. */
static double poisson_of(uniforms_t *s, double rate) {
  double count = 0, product = 1;
  if (!(rate >= 0 && rate < 0x1p52)) {
    return NAN;
  }
  while (rate >= 16) {
    double m = floor(rate * 7 / 8), time = gamma_of(s, m);
    if (time > rate) {
      return count + binomial_of(s, m - 1, rate / time);
    }
    count += m;
    rate -= time;
  }
  for (double limit = exp(-rate); (product *= next(s)) > limit;) {
    count++;
  }
  return count;
}

static double neg_binomial_of(uniforms_t *s, double mean, double phi) {
  return poisson_of(s, gamma_of(s, phi) / phi * mean);
}

/* Given at least one event: the first comes before the rate, the others after it. */
static double some_poisson(uniforms_t *s, double rate) {
  double first = -log1p(next(s) * expm1(-rate));
  return 1 + poisson_of(s, fmax(rate - first, 0));
}

/* By rejection, or, where zero is likely, by adding probabilities up from 1. */
static double some_neg_binomial(uniforms_t *s, double mean, double phi) {
  double log_zero = -phi * log1p(mean / phi), count = 0;
  if (log_zero < -0.7) {
    while (count < 1) {
      count = neg_binomial_of(s, mean, phi);
    }
    return count;
  }
  double share = mean / (mean + phi), p = exp(log_zero) * phi * share, left = next(s) * -expm1(log_zero);
  for (count = 1; left > p && count < 1e7; count++) {
    left -= p;
    p *= (count + phi) / (count + 1) * share;
  }
  return count;
}

/* ---- distributions: arguments as the library has them ---- */

static double of_normal(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] + a[1] * quantile(u);
}
static double of_std_normal(const double *a, double u, uniforms_t *s) {
  return (void)s, (void)a, quantile(u);
}
static double of_lognormal(const double *a, double u, uniforms_t *s) { return exp(of_normal(a, u, s)); }
static double of_student(const double *a, double u, uniforms_t *s) {
  return a[1] + a[2] * quantile(u) / sqrt(gamma_of(s, 0.5 * a[0]) / (0.5 * a[0]));
}
static double of_cauchy(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] + a[1] * tan(3.14159265358979323846 * (u - 0.5));
}
static double of_logistic(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] + a[1] * (log(u) - log1p(-u));
}
static double of_laplace(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] + a[1] * (u < 0.5 ? log(2 * u) : -log(2 - 2 * u));
}
static double of_gumbel(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] - a[1] * log(-log(u));
}
static double of_uniform(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] + (a[1] - a[0]) * u;
}
static double of_skew_normal(const double *a, double u, uniforms_t *s) {
  double delta = a[2] / sqrt(1 + a[2] * a[2]);
  return a[0] + a[1] * (delta * fabs(quantile(u)) + sqrt(1 - delta * delta) * normal(s));
}
static double of_exp_mod_normal(const double *a, double u, uniforms_t *s) {
  return of_normal(a, u, s) - log(next(s)) / a[2];
}
static double of_exponential(const double *a, double u, uniforms_t *s) { return (void)s, -log1p(-u) / a[0]; }
static double of_weibull(const double *a, double u, uniforms_t *s) {
  return (void)s, a[1] * pow(-log1p(-u), 1 / a[0]);
}
static double of_frechet(const double *a, double u, uniforms_t *s) {
  return (void)s, a[1] * pow(-log(u), -1 / a[0]);
}
static double of_loglogistic(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] * pow(u / (1 - u), 1 / a[1]);
}
static double of_gompertz(const double *a, double u, uniforms_t *s) {
  return (void)s, log1p(-a[0] / a[1] * log(u)) / a[0];
}
static double of_rayleigh(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] * sqrt(-2 * log1p(-u));
}
static double of_pareto(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] * exp(-log(u) / a[1]);
}
static double of_pareto_type_2(const double *a, double u, uniforms_t *s) {
  return (void)s, a[0] + a[1] * expm1(-log(u) / a[2]);
}
static double of_generalized_pareto(const double *a, double u, uniforms_t *s) {
  return (void)s, a[1] / a[0] * expm1(-a[0] * log(u));
}
static double of_gamma(const double *a, double u, uniforms_t *s) { return (void)u, gamma_of(s, a[0]) / a[1]; }
static double of_inv_gamma(const double *a, double u, uniforms_t *s) {
  return (void)u, a[1] / gamma_of(s, a[0]);
}
static double of_chi_square(const double *a, double u, uniforms_t *s) {
  return (void)u, 2 * gamma_of(s, 0.5 * a[0]);
}
static double of_beta(const double *a, double u, uniforms_t *s) { return (void)u, beta_of(s, a[0], a[1]); }
static double of_beta_proportion(const double *a, double u, uniforms_t *s) {
  return (void)u, beta_of(s, a[0] * a[1], (1 - a[0]) * a[1]);
}
static double of_hurdle_lognormal(const double *a, double u, uniforms_t *s) {
  return next(s) < a[2] ? 0 : of_lognormal(a, u, s);
}
static double of_hurdle_gamma(const double *a, double u, uniforms_t *s) {
  return next(s) < a[2] ? 0 : of_gamma(a, u, s);
}

static double of_bernoulli(const double *a, double u, uniforms_t *s) { return (void)s, u < a[0]; }
static double of_bernoulli_logit(const double *a, double u, uniforms_t *s) {
  return (void)s, u < inverse_logit(a[0]);
}
static double of_bernoulli_probit(const double *a, double u, uniforms_t *s) {
  return (void)s, quantile(u) < a[0];
}
static double of_binomial(const double *a, double u, uniforms_t *s) {
  return (void)u, binomial_of(s, a[0], a[1]);
}
static double of_binomial_logit(const double *a, double u, uniforms_t *s) {
  return (void)u, binomial_of(s, a[0], inverse_logit(a[1]));
}
static double of_beta_binomial(const double *a, double u, uniforms_t *s) {
  return (void)u, binomial_of(s, a[0], beta_of(s, a[1], a[2]));
}
static double of_poisson(const double *a, double u, uniforms_t *s) { return (void)u, poisson_of(s, a[0]); }
static double of_poisson_log(const double *a, double u, uniforms_t *s) {
  return (void)u, poisson_of(s, exp(a[0]));
}
static double of_neg_binomial(const double *a, double u, uniforms_t *s) {
  return (void)u, poisson_of(s, gamma_of(s, a[0]) / a[1]);
}
static double of_neg_binomial_2(const double *a, double u, uniforms_t *s) {
  return (void)u, neg_binomial_of(s, a[0], a[1]);
}
static double of_neg_binomial_2_log(const double *a, double u, uniforms_t *s) {
  return (void)u, neg_binomial_of(s, exp(a[0]), a[1]);
}
static double of_geometric_logit(const double *a, double u, uniforms_t *s) {
  return (void)s, floor(log(u) / -log1p(exp(a[0])));
}
static double of_zero_inflated_poisson(const double *a, double u, uniforms_t *s) {
  return u < a[1] ? 0 : poisson_of(s, a[0]);
}
static double of_zero_inflated_poisson_log(const double *a, double u, uniforms_t *s) {
  return u < a[1] ? 0 : poisson_of(s, exp(a[0]));
}
static double of_zero_inflated_neg_binomial(const double *a, double u, uniforms_t *s) {
  return u < a[2] ? 0 : neg_binomial_of(s, exp(a[0]), a[1]);
}
static double of_zero_inflated_binomial(const double *a, double u, uniforms_t *s) {
  return u < a[2] ? 0 : binomial_of(s, a[0], inverse_logit(a[1]));
}
static double of_hurdle_poisson(const double *a, double u, uniforms_t *s) {
  return u < a[1] ? 0 : some_poisson(s, exp(a[0]));
}
static double of_hurdle_neg_binomial(const double *a, double u, uniforms_t *s) {
  return u < a[2] ? 0 : some_neg_binomial(s, exp(a[0]), a[1]);
}

static const tacit_distribution_t distributions[] = {
    {"normal", 2, true, true, of_normal},
    {"std_normal", 0, true, true, of_std_normal},
    {"lognormal", 2, true, true, of_lognormal},
    {"student_t", 3, true, false, of_student},
    {"cauchy", 2, true, true, of_cauchy},
    {"logistic", 2, true, true, of_logistic},
    {"double_exponential", 2, true, true, of_laplace},
    {"gumbel", 2, true, true, of_gumbel},
    {"exponential", 1, true, true, of_exponential},
    {"weibull", 2, true, true, of_weibull},
    {"loglogistic", 2, true, true, of_loglogistic},
    {"rayleigh", 1, true, true, of_rayleigh},
    {"gamma", 2, true, false, of_gamma},
    {"inv_gamma", 2, true, false, of_inv_gamma},
    {"chi_square", 1, true, false, of_chi_square},
    {"beta", 2, true, false, of_beta},
    {"beta_proportion", 2, true, false, of_beta_proportion},
    {"uniform", 2, false, false, of_uniform},
    {"skew_normal", 3, false, false, of_skew_normal},
    {"exp_mod_normal", 3, false, false, of_exp_mod_normal},
    {"frechet", 2, false, false, of_frechet},
    {"gompertz", 2, false, false, of_gompertz},
    {"pareto", 2, false, false, of_pareto},
    {"pareto_type_2", 3, false, false, of_pareto_type_2},
    {"generalized_pareto", 2, false, false, of_generalized_pareto},
    {"hurdle_lognormal", 3, true, false, of_hurdle_lognormal},
    {"hurdle_gamma", 3, true, false, of_hurdle_gamma},
    {"bernoulli", 1, false, false, of_bernoulli},
    {"bernoulli_logit", 1, false, false, of_bernoulli_logit},
    {"bernoulli_probit", 1, false, false, of_bernoulli_probit},
    {"binomial", 2, false, false, of_binomial},
    {"binomial_logit", 2, false, false, of_binomial_logit},
    {"beta_binomial", 3, false, false, of_beta_binomial},
    {"poisson", 1, false, false, of_poisson},
    {"poisson_log", 1, false, false, of_poisson_log},
    {"neg_binomial", 2, false, false, of_neg_binomial},
    {"neg_binomial_2", 2, false, false, of_neg_binomial_2},
    {"neg_binomial_2_log", 2, false, false, of_neg_binomial_2_log},
    {"geometric_logit", 1, false, false, of_geometric_logit},
    {"zero_inflated_poisson", 2, false, false, of_zero_inflated_poisson},
    {"zero_inflated_poisson_log", 2, false, false, of_zero_inflated_poisson_log},
    {"zero_inflated_neg_binomial_2_log", 3, false, false, of_zero_inflated_neg_binomial},
    {"zero_inflated_binomial_logit", 3, false, false, of_zero_inflated_binomial},
    {"hurdle_poisson_log", 2, false, false, of_hurdle_poisson},
    {"hurdle_neg_binomial_2_log", 3, false, false, of_hurdle_neg_binomial}};

const tacit_distribution_t *tacit_distribution_find(const char *name) {
  for (size_t i = 0; i < sizeof distributions / sizeof distributions[0]; i++) {
    if (strcmp(distributions[i].name, name) == 0) {
      return &distributions[i];
    }
  }
  return NULL;
}
