/*
 * The posterior of tables against the exact one: the likelihood of small tables by sums over all counts
 * behind the noise, posterior means and sds by importance sampling with it. Errors planted to see that they
 * are caught: noise of a fifth of its scale, phi reported for theta; on a line, where nothing is drawn, the
 * determinant's sign turned (a mean off by 0.019 sds, where 0.01 is allowed).
 */
#include "testing.h"

#include "tables/tables_internal.h"
#include "tacit/random.h"

enum { MAX_N = 400, MAX_DIM = 16 };

static double log_factorial[MAX_N + 1];

static double log_noise(double residual, double scale) {
  return -0.5 * residual * residual / (scale * scale);
}

/* ---- exact likelihoods, up to a constant ---- */

/*
 * One table: the coefficient of x^n in the product over cells of sum_j p^j x^j / j! times the noise's weight;
 * times n!. to (MAX_N + 1). Counts further than 11 scales from what was released are left out: e^-60.
 */
static void one_table(size_t n_cells, const double *p, const double *y, double scale, size_t most,
                      double *to) {
  double next[MAX_N + 1];
  for (size_t n = 0; n <= most; n++) {
    to[n] = n == 0 ? 0 : -INFINITY;
  }
  for (size_t c = 0; c < n_cells; c++) {
    double term[MAX_N + 1];
    size_t from = (size_t)fmin(fmax(0, floor(y[c] - 11 * scale)), (double)most),
           until = (size_t)fmin(fmax(0, ceil(y[c] + 11 * scale)), (double)most);
    for (size_t j = from; j <= until; j++) {
      term[j] = (double)j * log(p[c]) - log_factorial[j] + log_noise(y[c] - (double)j, scale);
    }
    for (size_t n = 0; n <= most; n++) {
      double best = -INFINITY, sum = 0;
      for (size_t j = from; j <= n && j <= until; j++) {
        best = fmax(best, to[n - j] + term[j]);
      }
      for (size_t j = from; j <= n && j <= until && best > -INFINITY; j++) {
        double at = to[n - j] + term[j] - best;
        sum += at > -40 ? exp(at) : 0;
      }
      next[n] = best + log(sum);
    }
    memcpy(to, next, (most + 1) * sizeof *to);
  }
  for (size_t n = 0; n <= most; n++) {
    to[n] += log_factorial[n];
  }
}

static double add_logs(const double *x, size_t n) {
  double best = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++) {
    best = fmax(best, x[i]);
  }
  for (size_t i = 0; i < n; i++) {
    sum += exp(x[i] - best);
  }
  return best + log(sum);
}

typedef struct example {
  const char *name;
  size_t n_columns, levels[3], n_margins;
  uint32_t margins[2];
  double n; /* of the records; 0: unknown */
  double scale, y[16];
  size_t most;      /* records that are summed to, where n is unknown */
  double tolerance; /* of means, in sds, and of sds, relative: what is approximate */
} example_t;

/* Cells' probabilities of margin m from theta, by the tables (which test_tables.c compares with sums over all
 * cells). */
static double exact_log_lik(const example_t *e, const tacit_tables_t *tables, const double *theta) {
  double p[16], log_partition, terms[MAX_N + 1];
  tacit_error_t err;
  assert_ok(tacit_tables_evaluate(tables, theta, &log_partition, p, &err), err);
  if (e->n_margins == 1) {
    size_t n = (size_t)e->n;
    one_table(tables->n_cells, p, e->y, e->scale, n > 0 ? n : e->most, terms);
    return n > 0 ? terms[n] : add_logs(terms + 1, e->most);
  }
  /* Margins ab and bc of two-level columns: given how many have b = 0, four binomials. Cells: ab at 0 .. 3,
   * bc at 4 .. 7. */
  size_t n = (size_t)e->n;
  double half[2][2][MAX_N + 1]; /* of margin, b, number with this b: log sum over how they are split */
  for (size_t b = 0; b < 2; b++) {
    double pairs[2][2] = {{p[b], p[2 + b]}, {p[4 + 2 * b], p[4 + 2 * b + 1]}},
           ys[2][2] = {{e->y[b], e->y[2 + b]}, {e->y[4 + 2 * b], e->y[4 + 2 * b + 1]}};
    for (size_t m = 0; m < 2; m++) {
      double total = pairs[m][0] + pairs[m][1], share[2] = {pairs[m][0] / total, pairs[m][1] / total};
      one_table(2, share, ys[m], e->scale, n, half[m][b]);
    }
  }
  double pb = p[0] + p[2];
  for (size_t k = 0; k <= n; k++) {
    terms[k] = log_factorial[n] - log_factorial[k] - log_factorial[n - k] + (double)k * log(pb) +
               (double)(n - k) * log(1 - pb) + half[0][0][k] + half[1][0][k] + half[0][1][n - k] +
               half[1][1][n - k];
  }
  return add_logs(terms, n + 1);
}

/* ---- importance sampling ---- */

typedef struct moments {
  double mean[MAX_DIM], sd[MAX_DIM], n_effective;
} moments_t;

static moments_t moments_of(const tacit_draws_t *d, size_t k, double *covariance) {
  moments_t m = {.n_effective = 0};
  size_t n = tacit_draws_n_kept(d);
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < n * d->n_chains; i++) {
      const double *x = tacit_draws_row(d, i / n, d->n_warmup + i % n);
      for (size_t a = 0; a < k; a++) {
        m.mean[a] += pass == 0 ? x[a] / (double)(n * d->n_chains) : 0;
        for (size_t b = 0; b < k && pass == 1; b++) {
          covariance[a * k + b] += (x[a] - m.mean[a]) * (x[b] - m.mean[b]) / (double)(n * d->n_chains);
        }
      }
    }
  }
  for (size_t a = 0; a < k; a++) {
    m.sd[a] = sqrt(covariance[a * k + a]);
  }
  return m;
}

/* Student's t about the chains' moments proposes; weights are exact. */
static moments_t exact_moments(const example_t *e, const tacit_tables_t *tables, const moments_t *about,
                               double *covariance, double prior_sd, size_t n_draws, tacit_rng_t *rng) {
  size_t k = tacit_tables_n_effects(tables);
  double *log_w = calloc(n_draws, sizeof *log_w), *theta = calloc(n_draws * k, sizeof *theta),
         best = -INFINITY, total = 0, squares = 0;
  moments_t m = {.n_effective = 0};
  double df = k > 6 ? 30 : 5;
  assert_true(tacit_matrix_factorise(k, covariance));
  for (size_t i = 0; i < n_draws; i++) {
    double z[MAX_DIM], chi = 0, square = 0, *x = theta + i * k;
    for (size_t j = 0; j < (size_t)df; j++) {
      double u = tacit_rng_normal(rng);
      chi += u * u / df;
    }
    for (size_t j = 0; j < k; j++) {
      z[j] = tacit_rng_normal(rng) / sqrt(chi);
      square += z[j] * z[j];
    }
    for (size_t j = 0; j < k; j++) {
      x[j] = about->mean[j] + tacit_matrix_dot(j + 1, covariance + j * k, z);
      log_w[i] -= 0.5 * x[j] * x[j] / (prior_sd * prior_sd);
    }
    log_w[i] += 0.5 * (df + (double)k) * log1p(square / df) + exact_log_lik(e, tables, x);
    best = fmax(best, log_w[i]);
  }
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < n_draws; i++) {
      double w = exp(log_w[i] - best);
      total += pass == 0 ? w : 0;
      squares += pass == 0 ? w * w : 0;
      for (size_t j = 0; j < k; j++) {
        double off = theta[i * k + j] - m.mean[j];
        m.mean[j] += pass == 0 ? w * theta[i * k + j] : 0;
        m.sd[j] += pass == 1 ? w * off * off / total : 0;
      }
    }
    for (size_t j = 0; j < k; j++) {
      m.mean[j] = pass == 0 ? m.mean[j] / total : m.mean[j];
      m.sd[j] = pass == 1 ? sqrt(m.sd[j]) : 0;
    }
  }
  m.n_effective = total * total / squares;
  free(log_w);
  free(theta);
  return m;
}

static const example_t examples[] = {
    {"one table, noise like sampling", 2, {2, 3}, 1, {3}, 200, 6, {71, 30, 22, 38, 19, 25}, 0, 0.06},
    {"one table, little noise", 2, {2, 2}, 1, {3}, 150, 1.5, {62, 30, 37, 20}, 0, 0.06},
    {"one table, noise prevails", 2, {2, 2}, 1, {3}, 60, 15, {32, 2, 31, -8}, 0, 0.06},
    {"two margins", 3, {2, 2, 2}, 2, {3, 6}, 200, 5, {81, 38, 40, 33, 60, 68, 22, 41}, 0, 0.06},
    {"one table, number unknown", 2, {2, 2}, 1, {3}, 0, 6, {62, 30, 37, 20}, 300, 0.06},
    {"sixteen cells",
     2,
     {4, 4},
     1,
     {3},
     130,
     3,
     {15, 6, 10, 7, 11, 9, 4, 5, 13, 7, 4, 6, 10, 11, 8, 6},
     0,
     0.08}};

static void test_means_and_sds_are_the_exact_posteriors(void **state) {
  (void)state;
  const double prior_sd = 2;
  unsigned char key[32];
  tacit_rng_t *rng;
  for (size_t i = 1; i <= MAX_N; i++) {
    log_factorial[i] = log_factorial[i - 1] + log((double)i);
  }
  tacit_rng_key_from_seed(key, 7);
  assert_int_equal(tacit_rng_new(&rng, key, 1, NULL), TACIT_OK);
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    const example_t *e = &examples[i];
    tacit_tables_t *tables;
    tacit_draws_t draws;
    tacit_augment_result_t result;
    tacit_tables_findings_t findings;
    tacit_error_t err;
    double scales[16], covariance[MAX_DIM * MAX_DIM] = {0};
    for (size_t c = 0; c < 16; c++) {
      scales[c] = e->scale;
    }
    tacit_margins_t m = {
        .n_columns = e->n_columns, .n_levels = e->levels, .n_margins = e->n_margins, .margins = e->margins};
    tacit_noisy_margins_t release = {
        .values = e->y, .scales = scales, .n_records = e->n, .prior_sd = prior_sd};
    tacit_augment_settings_t settings = tacit_augment_settings_default();
    tacit_rng_key_from_seed(settings.key, i);
    settings.n_draws = 3000;
    assert_ok(tacit_tables_new(&tables, &m, &err), err);
    assert_ok(tacit_tables_infer(tables, &release, &settings, &draws, &result, &findings, &err), err);
    size_t k = tacit_tables_n_effects(tables);
    moments_t ours = moments_of(&draws, k, covariance);
    size_t n_draws = k > 6 ? 2500 : 4000;
    moments_t exact = exact_moments(e, tables, &ours, covariance, prior_sd, n_draws, rng);
    double worst = 0, worst_sd = 0, error = 4.9 / sqrt(exact.n_effective) + 4.9 / sqrt(4000);
    for (size_t j = 0; j < k; j++) {
      worst = fmax(worst, fabs(ours.mean[j] - exact.mean[j]) / exact.sd[j]);
      worst_sd = fmax(worst_sd, fabs(ours.sd[j] / exact.sd[j] - 1));
    }
    print_message("%s: means off by %.3f sds at most, sds by %.3f; importance sampling of %.0f draws, "
                  "trajectories accepted %.2f\n",
                  e->name, worst, worst_sd, exact.n_effective, result.path_accept);
    assert_true(worst < e->tolerance + error);
    assert_true(worst_sd < e->tolerance + error);
    assert_true(result.path_accept > 0.5);
    tacit_draws_clear(&draws);
    tacit_tables_free(tables);
  }
  tacit_rng_free(rng);
}

/* ---- one column of two levels: no chance in it ---- */

/* Mean and sd of theta from log weights at points of a grid. */
static void grid_moments(size_t n, const double *theta, const double *log_w, double *mean, double *sd) {
  double best = -INFINITY, total = 0, sum = 0, square = 0;
  for (size_t i = 0; i < n; i++) {
    best = fmax(best, log_w[i]);
  }
  for (size_t i = 0; i < n; i++) {
    double w = exp(log_w[i] - best);
    total += w;
    sum += w * theta[i];
    square += w * theta[i] * theta[i];
  }
  *mean = sum / total;
  *sd = sqrt(square / total - *mean * *mean);
}

static void test_the_density_is_the_exact_one_on_a_line(void **state) {
  (void)state;
  enum { N_GRID = 4001 };
  static const struct {
    double n, scale, y[2], tolerance; /* of the mean, in sds, and of the sd, relative */
  } cases[] = {
      {100, 4, {71, 33}, 0.01}, {30, 2, {22, 9}, 0.01}, {30, 6, {22, 9}, 0.01}, {12, 1.5, {9, 2}, 0.03}};
  const double prior_sd = 2;
  const size_t levels[] = {2};
  const uint32_t margins[] = {1};
  for (size_t i = 1; i <= MAX_N; i++) {
    log_factorial[i] = log_factorial[i - 1] + log((double)i);
  }
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_tables_t *tables;
    tacit_tables_target_t target;
    tacit_tables_point_t point;
    tacit_error_t err;
    double scales[] = {cases[i].scale, cases[i].scale}, grad[2], theta[N_GRID], log_w[N_GRID], mean[2], sd[2];
    const example_t e = {.n_columns = 1,
                         .levels = {2},
                         .n_margins = 1,
                         .n = cases[i].n,
                         .scale = cases[i].scale,
                         .y = {cases[i].y[0], cases[i].y[1]}};
    tacit_margins_t m = {.n_columns = 1, .n_levels = levels, .n_margins = 1, .margins = margins};
    tacit_noisy_margins_t release = {
        .values = cases[i].y, .scales = scales, .n_records = cases[i].n, .prior_sd = prior_sd};
    assert_ok(tacit_tables_new(&tables, &m, &err), err);
    assert_ok(tacit_tables_target_init(&target, tables, &release, &err), err);
    assert_ok(tacit_tables_point_init(&point, &target, &err), err);
    for (size_t g = 0; g < N_GRID; g++) { /* in phi, evenly: the Jacobian is in the density */
      point.at[0] = target.centre[0] + 9 * target.spread[0] * (2 * (double)g / (N_GRID - 1) - 1);
      log_w[g] = tacit_tables_density_at(&point, grad);
      log_w[g] += tacit_tables_determinant(&point);
      theta[g] = point.theta[0];
    }
    grid_moments(N_GRID, theta, log_w, &mean[0], &sd[0]);
    for (size_t g = 0; g < N_GRID; g++) {
      theta[g] = mean[0] + 9 * sd[0] * (2 * (double)g / (N_GRID - 1) - 1);
      log_w[g] = exact_log_lik(&e, tables, &theta[g]) - 0.5 * theta[g] * theta[g] / (prior_sd * prior_sd);
    }
    grid_moments(N_GRID, theta, log_w, &mean[1], &sd[1]);
    print_message("%.0f records, noise %g: mean off by %.4f sds, sd by %.4f\n", cases[i].n, cases[i].scale,
                  fabs(mean[0] - mean[1]) / sd[1], fabs(sd[0] / sd[1] - 1));
    assert_close(mean[0], mean[1], cases[i].tolerance * sd[1]);
    assert_close(sd[0], sd[1], cases[i].tolerance * sd[1]);
    tacit_tables_point_clear(&point);
    tacit_tables_target_clear(&target);
    tacit_tables_free(tables);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_density_is_the_exact_one_on_a_line),
                                     cmocka_unit_test(test_means_and_sds_are_the_exact_posteriors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
