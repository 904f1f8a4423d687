/*
 * The vector kernels against plain double-precision formulas, and against each other: every instruction set
 * this machine has must give the same bits.
 */
#include <string.h>

#include "base/isa.h"
#include "base/vector.h"
#include "formula/glm_kernel_internal.h"
#include "support.h"

/* y <- f(x) for 16 numbers, GROUP vectors at a time. */
static void in_groups(void (*f)(vdouble x[GROUP]), const double *x, double *y) {
  for (size_t at = 0; at < 16; at += GROUP_LANES) {
    vdouble v[GROUP];
    for (size_t i = 0; i < GROUP; i++) {
      v[i] = vdouble_load(x + (at + i * DOUBLE_LANES) % 16);
    }
    f(v);
    for (size_t i = 0; i < GROUP; i++) {
      vdouble_store(y + (at + i * DOUBLE_LANES) % 16, v[i]);
    }
  }
}

static void test_vector_functions_accuracy_is_as_stated(void **state) {
  (void)state;
  double worst_exp = 0, worst_expf = 0, worst_log1p = 0;
  for (int i = 0; i < 4000000; i += 16) {
    double x[16], y[16];
    float xf[16], yf[16];
    for (int lane = 0; lane < 16; lane++) {
      double t = (double)(i + lane) / 4000000;
      x[lane] = -700 + 1400 * t;
      xf[lane] = (float)(-87 + 174 * t);
    }
    in_groups(vdoubles_exp, x, y);
    for (int lane = 0; lane < 16; lane += FLOAT_LANES) {
      vfloat_store(yf + lane, vfloat_exp(vfloat_load(xf + lane)));
    }
    for (int lane = 0; lane < 16; lane++) {
      worst_exp = fmax(worst_exp, fabs(y[lane] / exp(x[lane]) - 1));
      worst_expf = fmax(worst_expf, fabs((double)yf[lane] / exp((double)xf[lane]) - 1));
      x[lane] = ldexp(1, -(i % 60)) * (double)(i + lane) / 4000000;
    }
    in_groups(vdoubles_log1p_unit, x, y);
    for (int lane = 0; lane < 16; lane++) {
      worst_log1p = x[lane] > 0 ? fmax(worst_log1p, fabs(y[lane] / log1p(x[lane]) - 1)) : worst_log1p;
    }
  }
  double worst_log = 0;
  for (int i = 0; i < 400000; i += 16) {
    double x[16], y[16];
    for (int lane = 0; lane < 16; lane++) {
      x[lane] = ldexp(1 + (double)(i + lane) / 400000, i % 128 - 64);
    }
    in_groups(vdoubles_log, x, y);
    for (int lane = 0; lane < 16; lane++) {
      worst_log = fmax(worst_log, fabs(y[lane] - log(x[lane])) / (1 + fabs(log(x[lane]))));
    }
  }
  assert_true(worst_log <= 4e-16);
  print_message("worst error of log: %.2g\n", worst_log);
  print_message("worst relative errors: exp %.2g, expf %.2g, log1p %.2g\n", worst_exp, worst_expf,
                worst_log1p);
  assert_true(worst_exp <= 5e-16);
  assert_true(worst_expf <= 2.5e-7);
  assert_true(worst_log1p <= 5e-16);
  float edge[16] = {NAN, INFINITY, -INFINITY, 0, 1000, -1000}, out[16];
  for (int lane = 0; lane < 16; lane += FLOAT_LANES) {
    vfloat_store(out + lane, vfloat_exp(vfloat_load(edge + lane)));
  }
  assert_true(isnan(out[0]));
  assert_true(isfinite(out[1]) && out[1] > 1e38f && out[2] < 1e-37f && out[2] >= 0);
  assert_true(out[3] >= 1 && out[3] <= 1);
}

/* Log-likelihood and residuals of one record in double, from the definitions. */
/* The two functions' errors as docs/theory.md, section 3, proves them, and what rounding to the grid makes of
 * them. */
static void test_log_likelihoods_are_as_exact_as_the_grid_asks(void **state) {
  (void)state;
  enum { n = 1 << 22 };
  double worst = 0;
  for (int i = 0; i < n; i += 16) {
    double x[16], y[16];
    for (int lane = 0; lane < 16; lane++) {
      double t = (double)(i + lane) / n;
      x[lane] = i % 64 == 0 ? ldexp(t, -i / 16 % 100) : i % 64 == 16 ? 800 * t : 30 * t;
    }
    in_groups(vdoubles_log1p_exp_negative, x, y);
    for (int lane = 0; lane < 16; lane++) {
      worst = fmax(worst, fabs(y[lane] - log1p(exp(-x[lane]))));
    }
  }
  print_message("worst error of log(1 + e^-x): %.3f units of 2^-32\n", worst * 0x1p32);
  assert_true(worst <= 0x1p-35 &&
              worst >= 0x1p-37); /* proved below 2^-34; and it is not the exact function that was tried */
  double edge[16] = {NAN, INFINITY, 0, 1e300}, out[16];
  in_groups(vdoubles_log1p_exp_negative, edge, out);
  assert_true(isnan(out[0]) && out[1] >= 0 && out[1] < 1e-12 && out[3] >= 0 && out[3] < 1e-12);
  assert_close(out[2], log(2), 0x1p-34);
}

static double reference(const tacit_glm_kernel_t *glm, const double *x, double y, const double *theta,
                        double *residual) {
  size_t p = glm->n_features;
  double eta[8] = {0};
  for (size_t c = 0; c < glm->n_linear; c++) {
    for (size_t j = 0; j < p; j++) {
      eta[c] += x[j] * theta[c * p + j];
    }
  }
  switch (glm->family) {
  case TACIT_FAMILY_BERNOULLI:
    residual[0] = y - 1 / (1 + exp(-eta[0]));
    return y * eta[0] - (eta[0] > 0 ? eta[0] + log1p(exp(-eta[0])) : log1p(exp(eta[0])));
  case TACIT_FAMILY_POISSON:
    residual[0] = y - exp(eta[0]);
    return y * eta[0] - exp(eta[0]);
  case TACIT_FAMILY_GAUSSIAN: {
    double sd = glm->n_extra == 1 ? exp(theta[p]) : glm->known_sd, z = (y - eta[0]) / sd;
    residual[0] = z / sd;
    residual[1] = z * z - 1;
    return -0.5 * z * z - (glm->n_extra == 1 ? log(sd) : 0);
  }
  case TACIT_FAMILY_CATEGORICAL: {
    double sum = 1, chosen = y >= 1 ? eta[(size_t)y - 1] : 0;
    for (size_t c = 0; c < glm->n_linear; c++) {
      sum += exp(eta[c]);
    }
    for (size_t c = 0; c < glm->n_linear; c++) {
      residual[c] = (y >= (double)(c + 1) && y <= (double)(c + 1) ? 1 : 0) - exp(eta[c]) / sum;
    }
    return chosen - log(sum);
  }
  }
  return NAN;
}

static void check_family(tacit_family_t family, size_t p, size_t n_linear, size_t n_extra) {
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, family, p, n_linear, n_extra);
  support_rng_t rng = {(uint64_t)family * 1000 + p};
  enum { n_theta = 3 };
  size_t n_out = n_linear + n_extra;
  for (int round = 0; round < 300; round++) {
    _Alignas(64) float block[(64 + 1) * 16];
    double theta[n_theta * 200], log_lik[n_theta * 16], scale = round % 3 == 0 ? 10 : 1;
    float theta_float[n_theta * 200], residual[n_theta * 8 * 16];
    for (size_t i = 0; i < p * 16; i++) {
      block[i] = (float)support_uniform(&rng, -1, 1);
    }
    for (size_t lane = 0; lane < 16; lane++) {
      double y = support_uniform(&rng, 0, 1);
      block[p * 16 + lane] = family == TACIT_FAMILY_GAUSSIAN    ? (float)(2 * y - 1)
                             : family == TACIT_FAMILY_BERNOULLI ? (float)(y < 0.5)
                                                                : (float)floor(y * (double)(n_linear + 1));
    }
    for (size_t i = 0; i < n_theta * model.dim; i++) {
      theta_float[i] = (float)(support_normal(&rng) * scale / sqrt((double)p));
      theta[i] = (double)theta_float[i];
    }
    model.log_lik(model.ctx, block, n_theta, theta, log_lik);
    model.residual(model.ctx, block, n_theta, theta_float, residual);
    for (size_t k = 0; k < n_theta; k++) {
      for (size_t lane = 0; lane < 16; lane++) {
        double x[64], expected[8];
        for (size_t j = 0; j < p; j++) {
          x[j] = (double)block[j * 16 + lane];
        }
        double l = reference(&kernel, x, (double)block[p * 16 + lane], theta + k * model.dim, expected);
        double grid = family == TACIT_FAMILY_BERNOULLI ? 0x1p-34 : 0;
        assert_close(log_lik[k * 16 + lane], l, grid + 1e-13 * (1 + fabs(l)));
        for (size_t r = 0; r < n_out; r++) {
          /* float32 linear predictors: their error is divided by sd^2 in a gaussian residual */
          double sd = n_extra == 1 ? exp(theta[k * model.dim + p]) : 1;
          double size = 1 + fabs(expected[r]) + 1 / (sd * sd) * (1 + sqrt(fabs(expected[r])));
          assert_close((double)residual[(k * n_out + r) * 16 + lane], expected[r], 2e-5 * size);
        }
      }
    }
  }
}

static void test_glm_kernels_match_definitions(void **state) {
  (void)state;
  check_family(TACIT_FAMILY_BERNOULLI, 1, 1, 0);
  check_family(TACIT_FAMILY_BERNOULLI, 50, 1, 0);
  check_family(TACIT_FAMILY_POISSON, 7, 1, 0);
  check_family(TACIT_FAMILY_GAUSSIAN, 5, 1, 0);
  check_family(TACIT_FAMILY_GAUSSIAN, 5, 1, 1);
  check_family(TACIT_FAMILY_CATEGORICAL, 6, 4, 0);
  check_family(TACIT_FAMILY_CATEGORICAL, 3, 1, 0);
}

/* Every table this machine can run. */
static size_t glm_tables(const tacit_glm_functions_t *tables[3]) {
  size_t n = 0;
  tables[n++] = &tacit_glm_functions_portable;
#if defined(__x86_64__)
  if (tacit_has_avx2()) {
    tables[n++] = &tacit_glm_functions_avx2;
  }
  if (tacit_has_avx512()) {
    tables[n++] = &tacit_glm_functions_avx512;
  }
#endif
  return n;
}

static void test_glm_kernels_same_bits_on_every_instruction_set(void **state) {
  (void)state;
  const tacit_glm_functions_t *tables[3];
  size_t n_tables = glm_tables(tables);
  support_rng_t rng = {77};
  tacit_family_t families[] = {TACIT_FAMILY_BERNOULLI, TACIT_FAMILY_POISSON, TACIT_FAMILY_GAUSSIAN,
                               TACIT_FAMILY_CATEGORICAL};
  for (size_t f = 0; f < 4; f++) {
    tacit_glm_kernel_t kernel;
    size_t n_linear = families[f] == TACIT_FAMILY_CATEGORICAL ? 3 : 1;
    size_t n_extra = families[f] == TACIT_FAMILY_GAUSSIAN ? 1 : 0, p = 13;
    tacit_record_model_t model = support_glm(&kernel, families[f], p, n_linear, n_extra);
    for (int round = 0; round < 500; round++) {
      float block[14 * 16], theta_float[64], residual[3][4 * 16] = {{0}};
      double theta[64], log_lik[3][16];
      for (size_t i = 0; i < 14 * 16; i++) {
        block[i] = (float)support_uniform(&rng, -1, 1);
      }
      for (size_t lane = 0; lane < 16; lane++) {
        block[p * 16 + lane] = (float)(support_bits(&rng) % (n_linear + 1));
      }
      for (size_t i = 0; i < model.dim; i++) {
        theta[i] = support_normal(&rng) * 3;
        theta_float[i] = (float)theta[i];
      }
      for (size_t t = 0; t < n_tables; t++) {
        tables[t]->log_lik(&kernel, block, 1, theta, log_lik[t]);
        tables[t]->residual(&kernel, block, 1, theta_float, residual[t]);
        assert_memory_equal(log_lik[t], log_lik[0], sizeof log_lik[0]);
        assert_memory_equal(residual[t], residual[0], sizeof residual[0]);
      }
    }
  }
}

static void test_blocks_at_a_time_are_blocks_one_by_one(void **state) {
  (void)state;
  enum { n_blocks = 5, p = 3, n_theta = 3 };
  const tacit_glm_functions_t *tables[3];
  size_t n_tables = glm_tables(tables);
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_CATEGORICAL, p, 2, 0);
  support_rng_t rng = {78};
  float blocks[n_blocks * (p + 1) * 16];
  double theta[n_theta * 2 * p], together[n_blocks * n_theta * 16], alone[n_theta * 16];
  for (size_t i = 0; i < n_blocks * (p + 1) * 16; i++) {
    blocks[i] = i / 16 % (p + 1) == p ? (float)(i % 3) : (float)support_normal(&rng);
  }
  for (size_t i = 0; i < n_theta * 2 * p; i++) {
    theta[i] = support_normal(&rng);
  }
  for (size_t n = 1; n <= n_theta; n++) {
    for (size_t t = 0; t < n_tables; t++) {
      tables[t]->log_lik_blocks(model.ctx, blocks, n_blocks, n, theta, together);
      for (size_t b = 0; b < n_blocks; b++) {
        tables[t]->log_lik(model.ctx, blocks + b * (p + 1) * 16, n, theta, alone);
        assert_memory_equal(together + b * n * 16, alone, n * 16 * sizeof *alone);
      }
    }
  }
}

/* One to nine blocks, one to five points; blocks short and long, which memory is asked for in different ways.
 */
static void check_residuals(tacit_family_t family, size_t p, size_t n_linear, size_t n_extra, size_t n_theta,
                            support_rng_t *rng) {
  enum { MOST = 9, MOST_P = 70, MOST_THETA = 5 };
  const tacit_glm_functions_t *tables[3];
  size_t n_tables = glm_tables(tables), n_out = n_theta * (n_linear + n_extra) * 16;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, family, p, n_linear, n_extra);
  float *blocks = calloc(MOST * (MOST_P + 1) * 16, sizeof *blocks),
        *theta = calloc(n_theta * model.dim, sizeof *theta),
        *together = calloc(MOST * n_out, sizeof *together), *alone = calloc(n_out, sizeof *alone);
  for (size_t i = 0; i < MOST * (p + 1) * 16; i++) {
    bool is_response = i / 16 % (p + 1) == p;
    blocks[i] = is_response ? (float)(i % (n_linear + 1)) : i % 97 == 0 ? NAN : (float)support_normal(rng);
  }
  for (size_t i = 0; i < n_theta * model.dim; i++) {
    theta[i] = (float)support_normal(rng);
  }
  for (size_t n = 1; n <= MOST; n++) {
    for (size_t t = 0; t < n_tables; t++) {
      tables[t]->residual_blocks(&kernel, blocks, n, n_theta, theta, together);
      for (size_t b = 0; b < n; b++) {
        tables[0]->residual(&kernel, blocks + b * (p + 1) * 16, n_theta, theta, alone);
        for (size_t i = 0; i < n_out; i++) { /* of NaN no sign or payload is promised */
          float x = together[b * n_out + i];
          assert_true(isnan(x) ? isnan(alone[i]) : memcmp(&x, &alone[i], sizeof x) == 0);
        }
      }
    }
  }
  free(blocks);
  free(theta);
  free(together);
  free(alone);
}

/* Log-likelihoods of one to eight blocks, as those of each block at each point. */
static void check_log_liks(tacit_family_t family, size_t p, size_t n_linear, size_t n_extra, size_t n_theta,
                           support_rng_t *rng) {
  enum { MOST = 8, MOST_P = 70, MOST_THETA = 9 };
  const tacit_glm_functions_t *tables[3];
  size_t n_tables = glm_tables(tables);
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, family, p, n_linear, n_extra);
  float *blocks = calloc(MOST * (MOST_P + 1) * 16, sizeof *blocks);
  double *theta = calloc(n_theta * model.dim, sizeof *theta), together[MOST * MOST_THETA * 16], alone[16];
  for (size_t i = 0; i < MOST * (p + 1) * 16; i++) {
    blocks[i] = i / 16 % (p + 1) == p ? (float)(i % (n_linear + 1)) : (float)support_normal(rng);
  }
  for (size_t i = 0; i < n_theta * model.dim; i++) {
    theta[i] = 0.3 * support_normal(rng);
  }
  for (size_t n = 1; n <= MOST; n++) {
    for (size_t t = 0; t < n_tables; t++) {
      tables[t]->log_lik_blocks(&kernel, blocks, n, n_theta, theta, together);
      for (size_t i = 0; i < n * n_theta; i++) {
        tables[0]->log_lik(&kernel, blocks + i / n_theta * (p + 1) * 16, 1, theta + i % n_theta * model.dim,
                           alone);
        assert_memory_equal(together + i * 16, alone, sizeof alone);
      }
    }
  }
  free(blocks);
  free(theta);
}

static void test_log_likelihoods_of_blocks_are_those_of_each(void **state) {
  (void)state;
  static const size_t lengths[] = {1, 2, 13, 70};
  support_rng_t rng = {80};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    for (size_t n_theta = 1; n_theta <= 9; n_theta++) {
      check_log_liks(TACIT_FAMILY_BERNOULLI, lengths[i], 1, 0, n_theta, &rng);
      check_log_liks(TACIT_FAMILY_POISSON, lengths[i], 1, 0, n_theta, &rng);
      check_log_liks(TACIT_FAMILY_GAUSSIAN, lengths[i], 1, 0, n_theta, &rng);
      check_log_liks(TACIT_FAMILY_GAUSSIAN, lengths[i], 1, 1, n_theta, &rng);
      check_log_liks(TACIT_FAMILY_CATEGORICAL, lengths[i], 3, 0, n_theta, &rng);
    }
  }
}

static void test_residuals_of_blocks_are_those_of_each(void **state) {
  (void)state;
  static const size_t lengths[] = {1, 3, 4, 13, 31, 32, 70};
  support_rng_t rng = {79};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    for (size_t n_theta = 1; n_theta <= 5; n_theta++) {
      check_residuals(TACIT_FAMILY_BERNOULLI, lengths[i], 1, 0, n_theta, &rng);
      check_residuals(TACIT_FAMILY_POISSON, lengths[i], 1, 0, n_theta, &rng);
      check_residuals(TACIT_FAMILY_GAUSSIAN, lengths[i], 1, 0, n_theta, &rng);
      check_residuals(TACIT_FAMILY_GAUSSIAN, lengths[i], 1, 1, n_theta, &rng);
      check_residuals(TACIT_FAMILY_CATEGORICAL, lengths[i], 3, 0, n_theta, &rng);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vector_functions_accuracy_is_as_stated),
      cmocka_unit_test(test_log_likelihoods_are_as_exact_as_the_grid_asks),
      cmocka_unit_test(test_glm_kernels_match_definitions),
      cmocka_unit_test(test_blocks_at_a_time_are_blocks_one_by_one),
      cmocka_unit_test(test_residuals_of_blocks_are_those_of_each),
      cmocka_unit_test(test_log_likelihoods_of_blocks_are_those_of_each),
      cmocka_unit_test(test_glm_kernels_same_bits_on_every_instruction_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
