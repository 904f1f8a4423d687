/*
 * Posteriors of all methods against sums over grids (n <= 4) and against each other (n = 100). Limits are 6
 * Monte Carlo standard errors: fewer than one false alarm in 1e8 comparisons, and below 1e-6 in all.
 */
#include "support.h"

enum { GRID = 240, THETAS = 160, MAX_SUM = 4 * GRID + 1 };

typedef struct expectation {
  double mean[2], square[2];
} expectation_t;

static double cdf(double z) { return 0.5 * erfc(-z / sqrt(2)); }

static double noise_density(const scenario_t *s, size_t j, double e) {
  double scale = s->scales[j];
  bool is_gaussian =
      s->release.noise == TACIT_RELEASE_GAUSSIAN || s->release.noise == TACIT_RELEASE_DISCRETE_GAUSSIAN;
  return exp(is_gaussian ? -0.5 * e * e / (scale * scale) : -fabs(e) / scale);
}

/* Distribution of a clamped record on GRID + 1 points from lower to upper, mass of each point's cell. */
static void clamped_distribution(const scenario_t *s, double mean, double sd, double *distribution) {
  double lower = s->release.lower, width = (s->release.upper - lower) / GRID;
  for (int k = 0; k <= GRID; k++) {
    double low = k == 0 ? 0 : cdf((lower + (k - 0.5) * width - mean) / sd);
    double high = k == GRID ? 1 : cdf((lower + (k + 0.5) * width - mean) / sd);
    distribution[k] = high - low;
  }
}

/* g(y | theta) for a sum of n <= 4 records, by convolution. */
static double sum_likelihood(const scenario_t *s, double mean, double sd) {
  static double distribution[GRID + 1], sum[MAX_SUM], next[MAX_SUM];
  size_t n = s->model.n_records;
  double width = (s->release.upper - s->release.lower) / GRID, total = 0;
  clamped_distribution(s, mean, sd, distribution);
  memset(sum, 0, sizeof sum);
  sum[0] = 1;
  for (size_t i = 0; i < n; i++) {
    memset(next, 0, sizeof next);
    for (size_t a = 0; a <= i * GRID; a++) {
      for (size_t b = 0; b <= GRID; b++) {
        next[a + b] += sum[a] * distribution[b];
      }
    }
    memcpy(sum, next, sizeof sum);
  }
  for (size_t a = 0; a <= n * GRID; a++) {
    total += sum[a] * noise_density(s, 0, s->values[0] - (double)n * s->release.lower - (double)a * width);
  }
  return total;
}

/* g(y | theta) for both moments of n = 2 records. */
static double moments_likelihood(const scenario_t *s, double mean, double sd) {
  static double distribution[GRID + 1];
  double width = (s->release.upper - s->release.lower) / GRID, total = 0;
  clamped_distribution(s, mean, sd, distribution);
  for (int a = 0; a <= GRID; a += 1) {
    for (int b = 0; b <= a; b++) {
      double x = s->release.lower + a * width, y = s->release.lower + b * width;
      total += (a == b ? 1 : 2) * distribution[a] * distribution[b] *
               noise_density(s, 0, s->values[0] - x - y) * noise_density(s, 1, s->values[1] - x * x - y * y);
    }
  }
  return total;
}

/* Posterior expectations for normal records by the trapezoid rule over mean and, if unknown, log sd. */
static expectation_t integrate_gaussian(const scenario_t *s) {
  bool is_known = s->model.known_sd > 0, has_square = s->release.n_values == 2;
  int n_mean = is_known ? THETAS : 48, n_sd = is_known ? 1 : 40;
  expectation_t e = {{0}, {0}};
  double mass = 0;
  for (int i = 0; i < n_mean; i++) {
    double z = -5 + 10.0 * i / (n_mean - 1), mean = s->model.mean_location + s->model.mean_scale * z;
    for (int k = 0; k < n_sd; k++) {
      double log_sd = -1.7 + 3.4 * k / fmax(n_sd - 1, 1), sd = is_known ? s->model.known_sd : exp(log_sd);
      double prior = exp(-0.5 * z * z);
      if (!is_known) {
        prior *= exp(-2 * s->model.variance_shape * log_sd - s->model.variance_scale / (sd * sd));
      }
      double p = prior * (has_square ? moments_likelihood(s, mean, sd) : sum_likelihood(s, mean, sd));
      mass += p;
      e.mean[0] += p * mean;
      e.square[0] += p * mean * mean;
      e.mean[1] += p * sd;
      e.square[1] += p * sd * sd;
    }
  }
  for (int j = 0; j < 2; j++) {
    e.mean[j] /= mass;
    e.square[j] /= mass;
  }
  return e;
}

static double poisson_pmf(double rate, int k) { return exp(k * log(rate) - rate - lgamma(k + 1.0)); }

static expectation_t integrate_poisson(const scenario_t *s) {
  expectation_t e = {{0}, {0}};
  double mass = 0;
  int n = (int)s->model.n_records, upper = (int)s->release.upper;
  for (int i = 1; i < 1500; i++) {
    double rate = i * 0.008, sum[64] = {1}, likelihood = 0;
    for (int r = 0; r < n; r++) {
      double next[64] = {0};
      for (int a = 0; a <= r * upper; a++) {
        double tail = 1;
        for (int b = 0; b <= upper; b++) {
          double p = b < upper ? poisson_pmf(rate, b) : tail;
          tail -= p;
          next[a + b] += sum[a] * p;
        }
      }
      memcpy(sum, next, sizeof sum);
    }
    for (int a = 0; a <= n * upper; a++) {
      likelihood += sum[a] * noise_density(s, 0, s->values[0] - a);
    }
    double p = pow(rate, s->model.rate_shape - 1) * exp(-s->model.rate_rate * rate) * likelihood;
    mass += p;
    e.mean[0] += p * rate;
    e.square[0] += p * rate * rate;
  }
  e.mean[0] /= mass;
  e.square[0] /= mass;
  return e;
}

static double log_dirichlet_moment(const double *a, const double *count, int n) {
  double total = 0, with = 0, sum = 0;
  for (int i = 0; i < n; i++) {
    total += a[i];
    with += a[i] + count[i];
    sum += lgamma(a[i] + count[i]) - lgamma(a[i]);
  }
  return sum + lgamma(total) - lgamma(with);
}

/* Sum over all tables of n records, theta integrated out: expectations of the first level of each factor. */
static expectation_t integrate_table(const scenario_t *s) {
  expectation_t e = {{0}, {0}};
  double mass = 0;
  int n = (int)s->model.n_records, c[6];
  for (c[0] = 0; c[0] <= n; c[0]++)
    for (c[1] = 0; c[0] + c[1] <= n; c[1]++)
      for (c[2] = 0; c[0] + c[1] + c[2] <= n; c[2]++)
        for (c[3] = 0; c[0] + c[1] + c[2] + c[3] <= n; c[3]++)
          for (c[4] = 0; c[0] + c[1] + c[2] + c[3] + c[4] <= n; c[4]++) {
            c[5] = n - c[0] - c[1] - c[2] - c[3] - c[4];
            double rows[2] = {c[0] + c[1] + c[2], c[3] + c[4] + c[5]};
            double columns[3] = {c[0] + c[3], c[1] + c[4], c[2] + c[5]}, p = 1;
            for (int j = 0; j < 6; j++) {
              p *= noise_density(s, (size_t)j, s->values[j] - c[j]) / tgamma(c[j] + 1.0);
            }
            p *= exp(log_dirichlet_moment(s->concentration, rows, 2) +
                     log_dirichlet_moment(s->concentration + 2, columns, 3));
            const double *a[2] = {s->concentration, s->concentration + 2};
            double first[2] = {rows[0], columns[0]}, sums[2] = {3.5, 4.3};
            mass += p;
            for (int f = 0; f < 2; f++) {
              double shape = a[f][0] + first[f], total = sums[f] + n;
              e.mean[f] += p * shape / total;
              e.square[f] += p * shape * (shape + 1) / (total * (total + 1));
            }
          }
  for (int f = 0; f < 2; f++) {
    e.mean[f] /= mass;
    e.square[f] /= mass;
  }
  return e;
}

/* Mean of draws (or their squares) of quantity j and its standard error. */
static void estimate(const tacit_draws_t *draws, size_t j, bool is_squared, double *mean, double *error) {
  size_t n = tacit_draws_n_kept(draws);
  double *x = malloc(draws->n_chains * n * sizeof *x);
  tacit_summary_t summary;
  tacit_error_t err;
  assert_non_null(x);
  for (size_t c = 0; c < draws->n_chains; c++) {
    for (size_t i = 0; i < n; i++) {
      double value = tacit_draws_row(draws, c, draws->n_warmup + i)[j];
      x[c * n + i] = is_squared ? value * value : value;
    }
  }
  assert_ok(tacit_summarise(x, draws->n_chains, n, &summary, &err), err);
  free(x);
  *mean = summary.mean;
  *error = summary.mcse_mean;
}

static void expect(const tacit_draws_t *draws, size_t j, double mean, double square, double slack,
                   const char *what) {
  for (int is_squared = 0; is_squared < 2; is_squared++) {
    double got, error, expected = is_squared ? square : mean;
    estimate(draws, j, is_squared, &got, &error);
    if (!(fabs(got - expected) <= 6 * error + slack)) {
      fail_msg("%s, quantity %zu%s: %.6g, expected %.6g, standard error %.2g", what, j,
               is_squared ? " squared" : "", got, expected, error);
    }
  }
}

typedef struct kernel {
  const char *name;
  tacit_augment_method_t method;
  bool interweave;
  tacit_augment_path_t path;
} kernel_t;

static const kernel_t without_records = {"marginal", TACIT_AUGMENT_MARGINAL, true, TACIT_PATH_COLLECTIVE};
static const kernel_t kernels[] = {{"gibbs, plain", TACIT_AUGMENT_GIBBS, false, TACIT_PATH_COLLECTIVE},
                                   {"gibbs", TACIT_AUGMENT_GIBBS, true, TACIT_PATH_COLLECTIVE},
                                   {"hmc, collective", TACIT_AUGMENT_HMC, true, TACIT_PATH_COLLECTIVE},
                                   {"hmc, joint", TACIT_AUGMENT_HMC, true, TACIT_PATH_JOINT}};

static void draw(const scenario_t *s, const kernel_t *kernel, size_t n_draws, uint64_t seed,
                 tacit_draws_t *draws) {
  tacit_error_t err;
  tacit_augment_settings_t settings =
      settings_for(kernel->method, (size_t)((double)n_draws * testing_multiplier()), seed);
  settings.interweave = kernel->interweave;
  settings.path = kernel->path;
  assert_ok(tacit_augment(&s->model, &s->release, &settings, draws, NULL, &err), err);
}

/* slack: of the grid, which is nowhere near the Monte Carlo error. */
static void compare_gaussian(const scenario_t *s, size_t n_draws, uint64_t seed) {
  expectation_t e = integrate_gaussian(s);
  for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
    tacit_draws_t draws;
    draw(s, &kernels[k], n_draws, seed + k, &draws);
    expect(&draws, 0, e.mean[0], e.square[0], 2e-4, kernels[k].name);
    if (draws.n_reported == 2) {
      expect(&draws, 1, e.mean[1], e.square[1], 2e-4, kernels[k].name);
    }
    tacit_draws_clear(&draws);
  }
  if (tacit_inversion_applies(&s->model, &s->release)) {
    tacit_draws_t draws;
    draw(s, &without_records, n_draws / 20, seed + 9, &draws);
    expect(&draws, 0, e.mean[0], e.square[0], 2e-4, without_records.name);
    tacit_draws_clear(&draws);
  }
}

static void test_sum_known_sd_matches_grid(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 3, 0.9, TACIT_RELEASE_GAUSSIAN, 0.5, 3.3);
  compare_gaussian(&s, 20000, 11);
  scenario_gaussian(&s, 4, 0.9, TACIT_RELEASE_LAPLACE, 0.6, -1.5);
  compare_gaussian(&s, 20000, 21);
  scenario_gaussian(&s, 1, 2.5, TACIT_RELEASE_GAUSSIAN, 0.2, 1.4); /* mostly at a bound */
  compare_gaussian(&s, 20000, 31);
}

static void test_sum_unknown_sd_matches_grid(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 2, 0, TACIT_RELEASE_GAUSSIAN, 0.4, 2.2);
  compare_gaussian(&s, 20000, 41);
}

static void test_moments_match_grid(void **state) {
  (void)state;
  scenario_t s;
  scenario_moments(&s, 2, TACIT_RELEASE_GAUSSIAN, 0.4, 0.8, 2.9);
  compare_gaussian(&s, 20000, 51);
  scenario_moments(&s, 2, TACIT_RELEASE_LAPLACE, 0.4, -0.8, 1.5);
  compare_gaussian(&s, 20000, 61);
}

/* Discrete noise on records rounded to multiples of the step. */
static void test_lattice_matches_grid(void **state) {
  (void)state;
  static const tacit_release_noise_t noises[] = {TACIT_RELEASE_DISCRETE_GAUSSIAN,
                                                 TACIT_RELEASE_DISCRETE_LAPLACE};
  for (size_t i = 0; i < 2; i++) {
    scenario_t s;
    tacit_draws_t draws;
    scenario_gaussian(&s, 3, 0.9, noises[i], 0.7, 3);
    s.release.step = 1;
    s.release.upper = 2;
    double mass = 0, mean = 0, square = 0;
    for (int t = 0; t < THETAS; t++) {
      double z = -5 + 10.0 * t / (THETAS - 1), theta = s.model.mean_location + s.model.mean_scale * z, p = 0,
             distribution[4];
      for (int k = 0; k < 4; k++) {
        distribution[k] =
            (k == 3 ? 1 : cdf((-0.5 + k - theta) / 0.9)) - (k == 0 ? 0 : cdf((-1.5 + k - theta) / 0.9));
      }
      for (int abc = 0; abc < 64; abc++) {
        int a = abc % 4, b = abc / 4 % 4, c = abc / 16;
        p += distribution[a] * distribution[b] * distribution[c] * noise_density(&s, 0, 3 + 3 - (a + b + c));
      }
      p *= exp(-0.5 * z * z);
      mass += p;
      mean += p * theta;
      square += p * theta * theta;
    }
    for (size_t k = 0; k < 2; k++) {
      draw(&s, &kernels[k], 20000, 71 + 10 * i + k, &draws);
      expect(&draws, 0, mean / mass, square / mass, 1e-5, "lattice");
      tacit_draws_clear(&draws);
    }
    draw(&s, &without_records, 1000, 81 + i, &draws);
    expect(&draws, 0, mean / mass, square / mass, 1e-5, "lattice, marginal");
    tacit_draws_clear(&draws);
  }
}

static void test_poisson_matches_grid(void **state) {
  (void)state;
  static const tacit_release_noise_t noises[] = {TACIT_RELEASE_GAUSSIAN, TACIT_RELEASE_DISCRETE_GAUSSIAN,
                                                 TACIT_RELEASE_LAPLACE, TACIT_RELEASE_DISCRETE_LAPLACE};
  for (size_t i = 0; i < 4; i++) {
    scenario_t s;
    tacit_draws_t draws;
    scenario_poisson(&s, 3, noises[i], 1.4, 9);
    expectation_t e = integrate_poisson(&s);
    draw(&s, &kernels[0], 20000, 91 + i, &draws);
    expect(&draws, 0, e.mean[0], e.square[0], 1e-5, "poisson");
    tacit_draws_clear(&draws);
    if (noises[i] != TACIT_RELEASE_LAPLACE) {
      draw(&s, &without_records, 1000, 95 + i, &draws);
      expect(&draws, 0, e.mean[0], e.square[0], 1e-5, "poisson, marginal");
      tacit_draws_clear(&draws);
    }
  }
}

/* Records in cells, and counts without records (MARGINAL, which is exact for tables). */
static void test_table_matches_sum(void **state) {
  (void)state;
  static const double counts[6] = {2, 0, 3, -1, 1, 0};
  static const tacit_release_noise_t noises[] = {TACIT_RELEASE_GAUSSIAN, TACIT_RELEASE_DISCRETE_LAPLACE};
  for (size_t i = 0; i < 4; i++) {
    scenario_t s;
    tacit_draws_t draws;
    scenario_table(&s, 4, noises[i / 2], 1.1, counts);
    expectation_t e = integrate_table(&s);
    const kernel_t *kernel = i % 2 == 0 ? &kernels[0] : &without_records;
    draw(&s, kernel, 20000, 101 + i, &draws);
    expect(&draws, 0, e.mean[0], e.square[0], 1e-9, kernel->name);
    expect(&draws, 2, e.mean[1], e.square[1], 1e-9, kernel->name);
    tacit_draws_clear(&draws);
  }
}

static void expect_agreement(const tacit_draws_t *a, const tacit_draws_t *b, double slack, const char *what) {
  for (size_t j = 0; j < a->n_reported; j++) {
    for (int is_squared = 0; is_squared < 2; is_squared++) {
      double x, y, error_x, error_y;
      estimate(a, j, is_squared, &x, &error_x);
      estimate(b, j, is_squared, &y, &error_y);
      if (!(fabs(x - y) <= 6 * hypot(error_x, error_y) + slack)) {
        fail_msg("%s, quantity %zu: %.6g and %.6g, standard errors %.2g and %.2g", what, j, x, y, error_x,
                 error_y);
      }
    }
  }
}

static void test_methods_agree_on_100_records(void **state) {
  (void)state;
  scenario_t s[2];
  scenario_gaussian(&s[0], 100, 0.8, TACIT_RELEASE_LAPLACE, 4, 61);
  scenario_moments(&s[1], 100, TACIT_RELEASE_GAUSSIAN, 6, 55, 71);
  for (size_t i = 0; i < 2; i++) {
    tacit_draws_t first, other;
    draw(&s[i], &kernels[1], 10000, 201, &first);
    for (size_t k = 2; k < sizeof kernels / sizeof kernels[0]; k++) {
      draw(&s[i], &kernels[k], 5000, 202 + k, &other);
      expect_agreement(&first, &other, 0, kernels[k].name);
      tacit_draws_clear(&other);
    }
    tacit_draws_clear(&first);
  }
}

/* Where the central limit theorem is used, at n = 300, an error of a few per cent of a posterior sd is
 * allowed for. */
static void test_marginal_agrees_with_gibbs(void **state) {
  (void)state;
  scenario_t s[5];
  scenario_gaussian(&s[0], 300, 0.8, TACIT_RELEASE_GAUSSIAN, 5, 183);
  scenario_gaussian(&s[1], 300, 0.8, TACIT_RELEASE_LAPLACE, 5, 183);
  scenario_moments(&s[2], 300, TACIT_RELEASE_GAUSSIAN, 15, 165, 213);
  scenario_poisson(&s[3], 300, TACIT_RELEASE_DISCRETE_GAUSSIAN, 4, 640);
  scenario_poisson(&s[4], 300, TACIT_RELEASE_LAPLACE, 4, 640);
  for (size_t i = 0; i < 5; i++) {
    tacit_draws_t exact, approximate;
    draw(&s[i], &kernels[1], 8000, 301 + i, &exact);
    draw(&s[i], &without_records, 1000, 311 + i, &approximate);
    expect_agreement(&exact, &approximate, tacit_inversion_applies(&s[i].model, &s[i].release) ? 0 : 0.0005,
                     "marginal");
    tacit_draws_clear(&exact);
    tacit_draws_clear(&approximate);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sum_known_sd_matches_grid),    cmocka_unit_test(test_sum_unknown_sd_matches_grid),
      cmocka_unit_test(test_moments_match_grid),           cmocka_unit_test(test_lattice_matches_grid),
      cmocka_unit_test(test_poisson_matches_grid),         cmocka_unit_test(test_table_matches_sum),
      cmocka_unit_test(test_methods_agree_on_100_records), cmocka_unit_test(test_marginal_agrees_with_gibbs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
