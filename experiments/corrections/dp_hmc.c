/* [Raisa2021], DP-HMC and the programs that go with the paper. */
#include <math.h>
#include <stdlib.h>

#include "account/account.h"
#include "corrections.h"
#include "curator/curator.h"
#include "formula/model.h"
#include "models/models.h"
#include "random/noise.h"
#include "tacit/data.h"
#include "tacit/sample.h"

enum { n_paper = 100000 }; /* records in the paper's experiments; delta = 0.1 / n */
static const double delta_paper = 1e-6;

/* ---- sign of the momentum step ---- */

/* Change of energy over one trajectory on N(0, 1); sign is that of the gradient of log pi in the momentum
 * step. */
static double energy_change(double q, double p, double sign) {
  double step = 0.2, start = (q * q + p * p) / 2;
  for (int i = 0; i < 10; i++) {
    p += sign * step / 2 * -q;
    q += step * p;
    p += sign * step / 2 * -q;
  }
  return (q * q + p * p) / 2 - start;
}

static double mean_acceptance(double sign) {
  double sum = 0, weight = 0;
  for (int i = -150; i <= 150; i++) {
    for (int j = -150; j <= 150; j++) {
      double q = 0.04 * i, p = 0.04 * j, density = exp(-(q * q + p * p) / 2);
      sum += density * metropolis(-energy_change(q, p, sign));
      weight += density;
    }
  }
  return sum / weight;
}

static void run_leapfrog_sign(run_t *run) {
  double theirs = mean_acceptance(-1), ours = mean_acceptance(1);
  expect_that(run, theirs < 0.3 && ours > 0.98, theirs, ours, 1, "sign wrong",
              "mean acceptance on N(0, 1), 10 steps of 0.2; expected: near 1 for so short a step");
}

/* ---- gradient reuse ---- */

static uint64_t iterations(double tau_ratio, double tau_grad, uint64_t n_leapfrog, bool reuse) {
  double scale = sqrt(n_paper);
  tacit_event_t first = {.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = tau_grad * scale, .count = 1};
  tacit_event_t each[2] = {{.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = tau_ratio * scale, .count = 1},
                           first};
  each[1].count = reuse ? n_leapfrog : n_leapfrog + 1;
  uint64_t k;
  tacit_error_t err;
  must(tacit_account_max_repetitions(&first, reuse ? 1 : 0, each, 2, NULL, 15, delta_paper, &k, &err), &err);
  return k;
}

static void run_gradient_reuse(run_t *run) {
  expect_reuse_moments(run);
  static const struct {
    const char *name;
    double tau_ratio, tau_grad;
    uint64_t n_leapfrog;
  } settings[] = {{"banana", 0.1, 0.55, 25}, {"Gaussian", 0.1, 0.25, 12}};
  double rho = tacit_gaussian_rho(15, log(delta_paper));
  for (size_t i = 0; i < 2; i++) {
    double rho_ratio = 1 / (2 * n_paper * settings[i].tau_ratio * settings[i].tau_ratio);
    double rho_grad = 1 / (2 * n_paper * settings[i].tau_grad * settings[i].tau_grad);
    double by_hand = floor((rho - rho_grad) / (rho_ratio + (double)settings[i].n_leapfrog * rho_grad));
    uint64_t printed = iterations(settings[i].tau_ratio, settings[i].tau_grad, settings[i].n_leapfrog, false);
    uint64_t ours = iterations(settings[i].tau_ratio, settings[i].tau_grad, settings[i].n_leapfrog, true);
    expect_value(run, (double)printed, (double)ours, by_hand, 0.5, "wasteful",
                 "iterations that epsilon = 15 buys, %s: k (L + 1) gradients against k L + 1",
                 settings[i].name);
  }
}

/* ---- what is published without a charge ---- */

static void run_start_from_data(run_t *run) {
  /* Gaussian mean, sd 1, record bound B: the posterior mean moves by 2B/n, in units of the posterior sd
   * 1/sqrt(n). */
  static const double bounds[] = {4, 100, 1000};
  for (size_t i = 0; i < 3; i++) {
    double shift = 2 * bounds[i] / sqrt(n_paper), variation = 2 * normal_cdf(shift / 2) - 1;
    tacit_sampler_settings_t settings = tacit_sampler_settings_default();
    double ours = settings.init == NULL ? 0 : variation;
    expect_bound(run, variation, ours, delta_paper, "not charged",
                 "total variation of one starting point between neighbours, records bounded by %g "
                 "(corrected: a public "
                 "point)",
                 bounds[i]);
  }
}

static double recovered(bool from_seed) {
  enum { n = 1000 };
  static int64_t released[n], replayed[n];
  tacit_noise_t *curators, *attackers;
  tacit_error_t err;
  double sd = 1099511627776.0, hits = 0; /* 2^40: a coincidence among 1000 has probability 3e-10 */
  if (from_seed) {
    must(tacit_noise_new_seeded_not_private(&curators, 42387742, &err), &err);
  } else {
    must(tacit_noise_new(&curators, &err), &err);
  }
  must(tacit_noise_new_seeded_not_private(&attackers, 42387742, &err), &err);
  must(tacit_noise_rounded_gaussian(curators, sd, n, released, &err), &err);
  must(tacit_noise_rounded_gaussian(attackers, sd, n, replayed, &err), &err);
  for (int64_t i = 0; i < n; i++) {
    int64_t secret = 3 * i * i - 700; /* the exact sum under the noise */
    hits += released[i] + secret - replayed[i] == secret;
  }
  tacit_noise_free(curators);
  tacit_noise_free(attackers);
  return hits / n;
}

static void run_fixed_seed(run_t *run) {
  expect_that(run, recovered(true) == 1 && recovered(false) == 0, recovered(true), recovered(false), 0,
              "not private",
              "share of exact sums recovered by replaying the default seed (corrected: keyed by the system)");
}

static void run_tau_convention(run_t *run) {
  double rho = tacit_gaussian_rho(15, log(delta_paper));
  double as_read = floor(rho / (1 / (2 * 0.1 * 0.1) + 13 / (2 * 0.25 * 0.25)));
  double ours = (double)iterations(0.1, 0.25, 12, false);
  double by_hand = floor(rho * n_paper / (1 / (2 * 0.1 * 0.1) + 13 / (2 * 0.25 * 0.25)));
  expect_value(
      run, as_read, ours, by_hand, 0.5, "ambiguous",
      "iterations that epsilon = 15 buys, Gaussian: tau as the noise multiplier, against tau sqrt(n)");
}

/* ---- DP-SGLD and DP-SGNHT of the comparison ---- */

static void run_sgld_step(run_t *run) {
  double step = 0.01, theirs = 0, ours = 0;
  for (int i = 0; i < 20000;
       i++) { /* variance of theta' = theta - (drift) theta + N(0, step), target N(0, 1) */
    theirs = (1 - step) * (1 - step) * theirs + step;
    ours = (1 - step / 2) * (1 - step / 2) * ours + step;
  }
  expect_value(run, theirs, ours, 1, step / 2, "samples pi^2",
               "variance on N(0, 1): step g + N(0, step) against step/2 g");
}

typedef struct thermostat {
  double friction, variance;
} thermostat_t;

static thermostat_t run_thermostat(const run_t *run, double gradient_noise, bool semi_implicit) {
  double a = 1, h = 0.1, theta = 0, p = 0, xi = a;
  uint64_t n = run->quick ? 2000000 : 20000000;
  tacit_rng_t *rng = case_rng(run, (uint64_t)(10 * gradient_noise) + semi_implicit);
  series_t friction, square;
  series_init(&friction, n);
  series_init(&square, n);
  for (uint64_t i = 0; i < n; i++) {
    double kick =
        h * (-theta + sqrt(gradient_noise) * tacit_rng_normal(rng)) + sqrt(2 * a * h) * tacit_rng_normal(rng);
    double next = p - xi * h * p + kick, used = semi_implicit ? next : p;
    theta += h * used;
    xi += h * (used * used - 1);
    p = next;
    series_add(&friction, xi);
    series_add(&square, theta * theta);
  }
  tacit_rng_free(rng);
  return (thermostat_t){series_mean(&friction), series_mean(&square)};
}

static void run_sgnht_order(run_t *run) {
  for (int i = 0; i < 2; i++) {
    double noise = 4 * i;
    thermostat_t theirs = run_thermostat(run, noise, false), ours = run_thermostat(run, noise, true);
    /* The scheme's own error is of order h = 0.1; simulation error is 0.01. */
    expect_value(
        run, theirs.friction, ours.friction, 1 + 0.1 * noise / 2, 0.1, "wrong order",
        "mean friction, gradient noise %g; expected A + h V/2 (variance of theta: %.3f against %.3f)", noise,
        theirs.variance, ours.variance);
  }
}

/* ---- fixed-size batches accounted as Poisson samples ---- */

typedef struct sampled {
  double rate, sigma, p_shift, q_shift; /* (1 - rate) N(0, sigma^2) + rate N(shift, sigma^2) */
} sampled_t;

static double mixture_density(double x, double rate, double shift, double sigma) {
  double z = x / sigma, y = (x - shift) / sigma;
  return ((1 - rate) * exp(-z * z / 2) + rate * exp(-y * y / 2)) / (sigma * sqrt(2 * acos(-1)));
}

static double sampled_p(double x, const void *ctx) {
  const sampled_t *s = ctx;
  return mixture_density(x, s->rate, s->p_shift, s->sigma);
}

static double sampled_q(double x, const void *ctx) {
  const sampled_t *s = ctx;
  return mixture_density(x, s->rate, s->q_shift, s->sigma);
}

static double sampled_epsilon(sampled_t s, uint64_t count, double delta) {
  density_pair_t pair = {sampled_p, sampled_q, &s, -9 * s.sigma - 1, 9 * s.sigma + 2};
  return composed_epsilon(&pair, 1, count, delta);
}

static void run_fixed_size(run_t *run) {
  double q = 0.01, sigma = 2, delta = 1e-5;
  uint64_t count = 5000;
  double attack = sampled_epsilon((sampled_t){q, sigma, 2, 0}, count, delta);
  double as_poisson = sampled_epsilon((sampled_t){q, sigma, 1, -1}, count, delta);
  double published = sampled_epsilon((sampled_t){q, sigma / 2, 1, -1}, count, delta);
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN,
                         .sampling = TACIT_SAMPLING_WITHOUT_REPLACEMENT,
                         .noise_multiplier = sigma / 2,
                         .sampling_rate = q,
                         .count = count};
  double library = library_epsilon(&event, 1, TACIT_RELATION_SUBSTITUTE, delta, "auto");
  expect_that(run, as_poisson < attack && library >= attack * 0.999, as_poisson, library, attack,
              "would fail",
              "epsilon, q = 0.01, sigma = 2, 5000 steps: Poisson pair at sigma; expected: at least what an "
              "attack shows");
  expect_that(run, published > attack && library < published, published, library, attack, "valid, loose",
              "the same with the program's sigma/2, which makes the published guarantee valid");
}

/* ---- discrete noise ---- */

typedef enum lattice_noise { DISCRETE_GAUSSIAN, ROUNDED_GAUSSIAN } lattice_noise_t;

/* E a(w + xi - sigma^2/2) with xi on the multiples of g. */
static double lattice_acceptance(lattice_noise_t kind, double w, double sigma, double g) {
  double sum = 0, total = 0;
  for (int k = (int)(-14 * sigma / g); k <= (int)(14 * sigma / g); k++) {
    double xi = k * g, half = g / 2;
    double cell = normal_cdf((half - fabs(xi)) / sigma) - normal_cdf((-half - fabs(xi)) / sigma);
    double mass = kind == DISCRETE_GAUSSIAN ? exp(-xi * xi / (2 * sigma * sigma)) : cell;
    sum += mass * metropolis(w + xi - sigma * sigma / 2);
    total += mass;
  }
  return sum / total;
}

static double balance_error(lattice_noise_t kind, double sigma, double g) {
  static const double ratios[] = {0.1, 0.37, 1, 2, 3.3};
  double worst = 0;
  for (size_t i = 0; i < 5; i++) {
    double w = ratios[i];
    double error =
        lattice_acceptance(kind, w, sigma, g) / (exp(w) * lattice_acceptance(kind, -w, sigma, g)) - 1;
    worst = fmax(worst, fabs(error));
  }
  return worst;
}

static void run_discrete_noise(run_t *run) {
  static const double settings[][2] = {{1, 1}, {1, 0.5}, {1, 0.1}, {2, 2}};
  for (size_t i = 0; i < 4; i++) {
    double sigma = settings[i][0], g = settings[i][1];
    double rounded = balance_error(ROUNDED_GAUSSIAN, sigma, g),
           discrete = balance_error(DISCRETE_GAUSSIAN, sigma, g);
    expect_that(
        run, discrete < 1e-12 && rounded > 1e-5, rounded, discrete, 0, "refuted",
        "largest |A(w)/(e^w A(-w)) - 1|, sigma = %g, grid %g dividing sigma^2: rounded against discrete "
        "Gaussian",
        sigma, g);
  }
  expect_that(run, balance_error(DISCRETE_GAUSSIAN, 1, 0.7) > 1e-3, NONE,
              balance_error(DISCRETE_GAUSSIAN, 1, 0.7), NONE, "condition needed",
              "the discrete Gaussian on a grid of 0.7, which does not divide 1");
}

/* ---- numerical defects of the programs ---- */

static double subtracted_delta(double rho, double epsilon) {
  double root = 2 * sqrt(rho);
  return 0.5 * (erfc((epsilon - rho) / root) - exp(epsilon) * erfc((epsilon + rho) / root));
}

/* (1 - e^(epsilon - loss)) N(loss; rho, 2 rho), times e^400. */
static double loss_integrand(double loss, const void *ctx) {
  const double *c = ctx, z = loss - c[0];
  return -expm1(c[1] - loss) * exp(400 - z * z / (4 * c[0])) / sqrt(4 * acos(-1) * c[0]);
}

static void run_erfc(run_t *run) {
  /* References with 60 digits; far out only the logarithm can be represented. */
  double reference = log(5.15449528083004) - 443 * log(10), theirs = log(subtracted_delta(200, 1100));
  double log_delta = tacit_gaussian_log_delta(200, 1100);
  expect_that(run, isnan(theirs) && fabs(log_delta - reference) < 1e-9, theirs, log_delta, reference,
              "not a number", "log delta at rho = 200, epsilon = 1100");
  /* Not as far out the second term underflows alone; reference: the integral over the distribution of the
   * loss. */
  double exact = integrate(loss_integrand, &(double[2]){100, 500}, 500, 700, 4000);
  double ours = exp(tacit_gaussian_log_delta(100, 500) + 400);
  expect_value(run, subtracted_delta(100, 500) * exp(400) / exact, ours / exact, 1, 1e-9, "wrong",
               "delta at rho = 100, epsilon = 500, as a multiple of the exact value");
}

/* Gradient of one record at one point, through a curator that adds no noise. */
static double one_gradient(const tacit_model_t *model, const double *record, const double *theta, double clip,
                           double *out) {
  tacit_records_t *records;
  tacit_curator_t *curator;
  tacit_error_t err;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = clip;
  must(tacit_records_new(&records, 1, model->records.n_columns, &err), &err);
  tacit_records_set(records, 0, record);
  must(tacit_curator_new_exposed(&curator, records, &model->records, &settings, &err), &err);
  must(tacit_curator_release_gradient(curator, 1, theta, 1, out, &err), &err);
  tacit_curator_free(curator);
  return out[0];
}

/* rho charged for the log ratio of a point with itself; *ratio: what is released. */
static double charge_of_no_move(const tacit_model_t *model, const double *record, double *ratio) {
  tacit_records_t *records;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  tacit_error_t err;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = settings.clip_bound_ratio = 1;
  double theta[2] = {0.3, 0.4}, noise_sd;
  must(tacit_records_new(&records, 1, 2, &err), &err);
  tacit_records_set(records, 0, record);
  must(tacit_budget_new(&budget, 1, delta_paper, TACIT_RELATION_SUBSTITUTE, &err), &err);
  must(tacit_noise_new(&noise, &err), &err);
  must(tacit_curator_new(&curator, records, &model->records, budget, noise, &settings, &err), &err);
  must(tacit_curator_release_log_ratio(curator, 1, theta, theta, 20, ratio, &noise_sd, &err), &err);
  double spent = tacit_budget_rho_spent(budget);
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
  return spent;
}

static void run_zero_gradient(run_t *run) {
  double zero[2] = {0, 0}, sd[2] = {1, 1}, gradient[2], norm = sqrt(zero[0] * zero[0] + zero[1] * zero[1]),
         bound = 1;
  tacit_model_t model;
  tacit_error_t err;
  must(tacit_model_init_gaussian_mean(&model, 2, sd, 10, &err), &err);
  double theirs = zero[0] / norm * fmin(norm, bound),
         ours = one_gradient(&model, zero, zero, bound, gradient);
  double ratio, spent = charge_of_no_move(&model, zero, &ratio);
  tacit_model_clear(&model);
  expect_that(run, isnan(theirs) && ours == 0, theirs, ours, 0, "not a number",
              "clipped gradient of a record whose gradient is zero (published: x/||x|| min(||x||, b))");
  expect_that(run, ratio == 0 && spent == 0, 0.0 / norm, ratio, 0, "not a number",
              "ratio over its sensitivity where theta' = theta (corrected: the release, charged %g)", spent);
}

static void run_prior_variance(run_t *run) {
  static const double sizes[] = {10, n_paper};
  for (size_t i = 0; i < 2; i++) {
    double n = sizes[i], prior_sd = 100, mean = 1, variance = 1 / (n + 1 / (prior_sd * prior_sd));
    double theirs = mean * n / (n + 1 / prior_sd), ours = mean * n * variance;
    double shift = fabs(theirs - ours) / sqrt(variance);
    expect_that(run, (shift < 1e-3) == (i == 1), shift, NONE, 0, i == 1 ? "harmless" : "wrong",
                "shift of the reference posterior's mean, in its sd, at n = %g, prior sd 100", n);
  }
}

static void run_banana_sign(run_t *run) {
  double a = 20, b = 3, variances[2] = {2000, 2500}, record[2] = {0.1, 5}, gradient[2];
  double theta_ours[2] = {0.1, 5 - a * 0.01 - b}, theta_theirs[2] = {0.1, 5 - a * 0.01 + b};
  tacit_model_t model;
  tacit_error_t err;
  must(tacit_model_init_banana(&model, 2, a, b, 0, 1000, variances, &err), &err);
  one_gradient(&model, record, theta_theirs, 0, gradient);
  double theirs = gradient[1] * variances[1];
  one_gradient(&model, record, theta_ours, 0, gradient);
  tacit_model_clear(&model);
  /* Gradients are computed in float32 from values of order 5. */
  expect_value(run, theirs, gradient[1] * variances[1], 0, 1e-4, "harmless (b = 0)",
               "residual at the mode that the likelihood's sign of b implies, b = 3, in the model that the "
               "prior states");
}

static const correction_case_t cases[] = {
    {"leapfrog-sign", "definition of the leapfrog map",
     "The momentum step is p - s (g + xi), with g the gradient of log pi.",
     "The sign is that of the gradient of U = -log pi. With g as defined the trajectory climbs the energy "
     "and is "
     "rejected; the "
     "chain would stay exact, any kick being reversible, but hardly move. p + s (g + xi).",
     "7", run_leapfrog_sign},
    {"gradient-reuse", "Algorithm 1",
     "The gradient at the start of each trajectory is released anew: k (L + 1) releases; whether the chain "
     "stays "
     "Markov if "
     "the last one is reused is left open.",
     "It does, on the state (theta, u), with the same marginal: k L + 1 releases. After a rejection the old "
     "gradient "
     "must "
     "stay: keeping the proposal's is biased.",
     "5", run_gradient_reuse},
    {"start-from-data", "experiments",
     "Chains start near the posterior, a posterior standard deviation off, without a charge.",
     "A start computed from the data is a release. A public point (the default here) costs "
     "nothing.",
     "6", run_start_from_data},
    {"fixed-seed", "code",
     "The noise comes from a generator whose default seed is a constant of the program.",
     "Whoever reads the program subtracts the noise. Noise here is keyed by the operating system; a seeded "
     "source says "
     "that it is "
     "not private.",
     "2", run_fixed_seed},
    {"tau-convention", "code against paper",
     "The noise in a log ratio is tau times its sensitivity, tau = 0.1.",
     "The programs multiply by tau sqrt(n): the published tau as a noise multiplier would buy no iteration "
     "at all.",
     "1", run_tau_convention},
    {"sgld-step", "DP-SGLD of the comparison, code",
     "theta + eta g + N(0, eta) samples the posterior as eta goes to 0.",
     "It samples the squared posterior, pi^2: the drift must be eta/2. The comparison figures inherit this.",
     "11.2", run_sgld_step},
    {"sgnht-order", "DP-SGNHT of the comparison, code",
     "theta and the thermostat are updated with the momentum of the previous step.",
     "That is explicit Euler, whose energy error the thermostat has to absorb: the friction settles far from "
     "A + h "
     "V/2. The "
     "new momentum must be used.",
     "11.2", run_sgnht_order},
    {"fixed-size-batches", "accounting of DP-SGLD and DP-SGNHT, code",
     "Batches drawn without replacement are accounted with the pair of Poisson sampling under substitution.",
     "That pair does not cover fixed-size batches: the slot left by x may be filled by x'. The published "
     "guarantee is "
     "saved by a "
     "second factor of 2 in sigma.",
     "9.2", run_fixed_size},
    {"discrete-noise", "section 5",
     "The penalty method requires Gaussian noise, so that the discrete Gaussian cannot be used.",
     "On a grid that divides sigma^2 the discrete Gaussian keeps detailed balance exactly (xi goes to "
     "sigma^2 - xi). "
     "Rounded noise "
     "errs by g^2/24, 2e-21 on the library's grid.",
     "4", run_discrete_noise},
    {"erfc-cancellation", "code of the accounting", "delta = (erfc(a) - e^epsilon erfc(b)) / 2, as written.",
     "The second erfc underflows beyond 27 and e^epsilon overflows beyond 709: zero times infinity. Scaled "
     "functions "
     "do neither.",
     "1", run_erfc},
    {"zero-gradient", "code of the clipping, Theorem 3.5",
     "Gradients are clipped as x/||x|| min(||x||, b); Theorem 3.5 divides a ratio by its sensitivity.",
     "A zero gradient gives 0/0, and so does a proposal that does not move. The factor is 1 within the "
     "bound, and "
     "a point's ratio with itself is 0, known without looking: it is neither noised nor charged.",
     "2", run_zero_gradient},
    {"prior-variance", "code of the Gaussian model", "The reference posterior has prior precision 1/sigma_0.",
     "It is 1/sigma_0^2. Negligible at the paper's n.", "11.2", run_prior_variance},
    {"banana-sign", "code of the banana", "The likelihood has x_2 - (theta_2 + a (theta_1 - m)^2) + b.",
     "The prior and the model in the text have theta_2 + a (theta_1 - m)^2 + b: the sign of b differs. Only "
     "b = 0 is "
     "used.",
     "11.2", run_banana_sign},
};

const source_t source_dp_hmc = {"Raisa2021", cases, sizeof cases / sizeof cases[0]};
