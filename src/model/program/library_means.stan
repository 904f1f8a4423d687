// ---- what is expected of an outcome, for predictions ----
// _mean: the expectation, no number where there is none. _location: the linear predictor in the outcome's unit; _linear: on the scale of a link.
// Arguments are those of the distribution.

real normal_mean(real mu, real sigma) { return mu; }
real normal_location(real mu, real sigma) { return mu; }
real std_normal_mean() { return 0; }
real lognormal_mean(real mu, real sigma) { return exp(mu + 0.5 * sigma * sigma); }
real lognormal_linear(real mu, real sigma) { return mu; }
real student_t_mean(real nu, real mu, real sigma) { return nu > 1 ? mu : not_a_number(); }
real student_t_location(real nu, real mu, real sigma) { return mu; }
real cauchy_mean(real mu, real sigma) { return not_a_number(); }
real cauchy_location(real mu, real sigma) { return mu; }
real logistic_mean(real mu, real sigma) { return mu; }
real logistic_location(real mu, real sigma) { return mu; }
real double_exponential_mean(real mu, real sigma) { return mu; }
real double_exponential_location(real mu, real sigma) { return mu; }
real skew_double_exponential_mean(real mu, real sigma, real tau) { return mu + sigma * (1 - 2 * tau) / (2 * tau * (1 - tau)); }
real skew_double_exponential_location(real mu, real sigma, real tau) { return mu; }
real gumbel_mean(real mu, real beta) { return mu + 0.577215664901532860607 * beta; }
real gumbel_location(real mu, real beta) { return mu; }
real uniform_mean(real a, real b) { return 0.5 * (a + b); }
real skew_normal_mean(real xi, real omega, real alpha) { return xi + omega * alpha / sqrt(1 + alpha * alpha) * 0.797884560802865355880; }
real skew_normal_location(real xi, real omega, real alpha) { return xi; }
real exp_mod_normal_mean(real mu, real sigma, real lambda) { return mu + 1 / lambda; }
real exp_mod_normal_location(real mu, real sigma, real lambda) { return mu; }

real exponential_mean(real beta) { return 1 / beta; }
real exponential_linear(real beta) { return -log(beta); }
real gamma_mean(real alpha, real beta) { return alpha / beta; }
real gamma_linear(real alpha, real beta) { return log(alpha) - log(beta); }
real inv_gamma_mean(real alpha, real beta) { return alpha > 1 ? beta / (alpha - 1) : not_a_number(); }
real chi_square_mean(real nu) { return nu; }
real inv_chi_square_mean(real nu) { return nu > 2 ? 1 / (nu - 2) : not_a_number(); }
real scaled_inv_chi_square_mean(real nu, real s) { return nu > 2 ? nu * s * s / (nu - 2) : not_a_number(); }
real weibull_mean(real alpha, real sigma) { return sigma * tgamma(1 + 1 / alpha); }
real weibull_linear(real alpha, real sigma) { return log(sigma); }
real frechet_mean(real alpha, real sigma) { return alpha > 1 ? sigma * tgamma(1 - 1 / alpha) : not_a_number(); }
real frechet_linear(real alpha, real sigma) { return log(sigma); }
real loglogistic_mean(real alpha, real beta) { return beta > 1 ? alpha * (pi() / beta) / sin(pi() / beta) : not_a_number(); }
real loglogistic_linear(real alpha, real beta) { return log(alpha); }
real inv_gaussian_mean(real mu, real lambda) { return mu; }
real inv_gaussian_linear(real mu, real lambda) { return log(mu); }
real rayleigh_mean(real sigma) { return sigma * 1.25331413731550025121; }
real rayleigh_linear(real sigma) { return log(sigma); }
real pareto_mean(real y_min, real alpha) { return alpha > 1 ? alpha * y_min / (alpha - 1) : not_a_number(); }
real pareto_type_2_mean(real mu, real lambda, real alpha) { return alpha > 1 ? mu + lambda / (alpha - 1) : not_a_number(); }
real generalized_pareto_mean(real k, real sigma) { return k < 1 ? sigma / (1 - k) : not_a_number(); }

real beta_mean(real a, real b) { return a / (a + b); }
real beta_linear(real a, real b) { return log(a) - log(b); }
real beta_proportion_mean(real mu, real kappa) { return mu; }
real beta_proportion_linear(real mu, real kappa) { return logit(mu); }

real bernoulli_mean(real theta) { return theta; }
real bernoulli_linear(real theta) { return logit(theta); }
real bernoulli_logit_mean(real eta) { return inv_logit(eta); }
real bernoulli_logit_linear(real eta) { return eta; }
real bernoulli_probit_mean(real eta) { return Phi(eta); }
real bernoulli_probit_linear(real eta) { return eta; }
real binomial_mean(int n, real theta) { return n * theta; }
real binomial_linear(int n, real theta) { return logit(theta); }
real binomial_logit_mean(int n, real eta) { return n * inv_logit(eta); }
real binomial_logit_linear(int n, real eta) { return eta; }
real beta_binomial_mean(int n, real a, real b) { return n * (a / (a + b)); }
real beta_binomial_linear(int n, real a, real b) { return log(a) - log(b); }
real poisson_mean(real lambda) { return lambda; }
real poisson_linear(real lambda) { return log(lambda); }
real poisson_log_mean(real eta) { return exp(eta); }
real poisson_log_linear(real eta) { return eta; }
real neg_binomial_mean(real alpha, real beta) { return alpha / beta; }
real neg_binomial_linear(real alpha, real beta) { return log(alpha) - log(beta); }
real neg_binomial_2_log_mean(real eta, real phi) { return exp(eta); }
real neg_binomial_2_log_linear(real eta, real phi) { return eta; }
real neg_binomial_2_mean(real mu, real phi) { return mu; }
real neg_binomial_2_linear(real mu, real phi) { return log(mu); }
real geometric_logit_mean(real eta) { return exp(-eta); }
real geometric_logit_linear(real eta) { return eta; }

// of classes, whose expectations are their probabilities
vector categorical_linear(vector theta) { return log(theta); }
vector categorical_logit_linear(vector eta) { return eta; }
real ordered_logistic_linear(real eta, vector c) { return eta; }
real ordered_probit_linear(real eta, vector c) { return eta; }

real zero_inflated_poisson_mean(real lambda, real theta) { return (1 - theta) * lambda; }
real zero_inflated_poisson_linear(real lambda, real theta) { return log(lambda); }
real zero_inflated_poisson_log_mean(real eta, real theta) { return (1 - theta) * exp(eta); }
real zero_inflated_poisson_log_linear(real eta, real theta) { return eta; }
real zero_inflated_neg_binomial_2_log_mean(real eta, real phi, real theta) { return (1 - theta) * exp(eta); }
real zero_inflated_neg_binomial_2_log_linear(real eta, real phi, real theta) { return eta; }
real zero_inflated_binomial_logit_mean(int n, real eta, real theta) { return (1 - theta) * n * inv_logit(eta); }
real zero_inflated_binomial_logit_linear(int n, real eta, real theta) { return eta; }
real hurdle_poisson_log_mean(real eta, real theta) { return (1 - theta) * exp(eta) / -expm1(-exp(eta)); }
real hurdle_poisson_log_linear(real eta, real theta) { return eta; }
real hurdle_neg_binomial_2_log_mean(real eta, real phi, real theta) { return (1 - theta) * exp(eta) / -expm1(-phi * log1p_exp(eta - log(phi))); }
real hurdle_neg_binomial_2_log_linear(real eta, real phi, real theta) { return eta; }
real hurdle_lognormal_mean(real mu, real sigma, real theta) { return (1 - theta) * lognormal_mean(mu, sigma); }
real hurdle_lognormal_linear(real mu, real sigma, real theta) { return mu; }
real hurdle_gamma_mean(real alpha, real beta, real theta) { return (1 - theta) * (alpha / beta); }
real hurdle_gamma_linear(real alpha, real beta, real theta) { return log(alpha) - log(beta); }
