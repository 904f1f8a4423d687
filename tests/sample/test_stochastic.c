/*
 * Invariant laws of stochastic gradients, without Monte Carlo: the library's own steps, every random number of theirs a node of
 * quadrature (tape.h), on a logistic regression with one coefficient.
 *
 * Galerkin's method: with a normal reference law r and polynomials P_k orthonormal under it, the invariant density is r times
 * the sum of c_k P_k whose expectations of all P_k a step leaves alone, M' c = c, M_jk = E_r P_j(x) P_k(x'). Momentum and thermostat
 * are part of the state where the next iteration finds them.
 */
#include <string.h>

#include "moves.h"

enum { most_functions = 90, most_degree = 20 };

typedef struct way {
  const char *name, *method, *draws;
  tacit_step_fn step;
  size_t n_state; /* 1: theta; 3: and momentum, thermostat */
  double step_size, rate, share; /* share of the noise a step needs that comes with the gradient */
  size_t n_leapfrog, n_records;
} way_t;

typedef struct law {
  double moved;    /* largest change of an expectation of P_1 .. P_4 of theta in a step from the target */
  double mean, variance, distance; /* of theta: mean less the target's in its sd, variance over it, total variation */
} law_t;

/* ---- the reference and its polynomials ---- */

typedef struct basis {
  double mean[3], sd[3];
  size_t n, degree[most_functions][3];
} basis_t;

static void basis_init(basis_t *basis, size_t n_state, size_t most) {
  basis->n = 0;
  for (size_t total = 0; total <= most; total++) {
    for (size_t b = 0; b <= (n_state > 1 ? total : 0); b++) {
      for (size_t c = 0; c <= (n_state > 1 ? total - b : 0); c++) {
        size_t *degree = basis->degree[basis->n++];
        degree[0] = total - b - c;
        degree[1] = b;
        degree[2] = c;
      }
    }
  }
  assert_true(basis->n <= most_functions);
}

/* Hermite's, orthonormal under N(0, 1). */
static void hermite(double z, double *out) {
  out[0] = 1;
  out[1] = z;
  for (size_t k = 1; k + 1 < most_degree; k++) {
    out[k + 1] = (z * out[k] - sqrt((double)k) * out[k - 1]) / sqrt((double)k + 1);
  }
}

static void polynomials(const basis_t *basis, size_t n_state, const double *x, double *out) {
  double h[3][most_degree];
  for (size_t j = 0; j < n_state; j++) {
    hermite((x[j] - basis->mean[j]) / basis->sd[j], h[j]);
  }
  for (size_t k = 0; k < basis->n; k++) {
    const size_t *degree = basis->degree[k];
    out[k] = h[0][degree[0]] * (n_state > 1 ? h[1][degree[1]] * h[2][degree[2]] : 1);
  }
}

/* ---- the target ---- */

static void moments(const moves_target_t *target, double *mean, double *variance, double *total) {
  double sums[3] = {0};
  for (double t = -20; t <= 20; t += 0.125) {
    double density = moves_density(target, &t);
    sums[0] += density / 8;
    sums[1] += density * t / 8;
    sums[2] += density * t * t / 8;
  }
  *total = sums[0];
  *mean = sums[1] / sums[0];
  *variance = sums[2] / sums[0] - *mean * *mean;
}

/* ---- one step from every state ---- */

typedef struct galerkin {
  basis_t basis;
  double m[most_functions][most_functions], moved[most_functions];
} galerkin_t;

static void put(moves_t *m, const double *x) {
  moves_set(m, x);
  m->run.momentum[0] = x[1];
  m->run.thermostat[0] = x[2];
}

static void expect(const way_t *way, moves_t *m, const double *x, const axis_t *axes, const basis_t *basis, double *after) {
  size_t n = strlen(way->draws), at[MOVES_AXES] = {0};
  double p[most_functions];
  memset(after, 0, most_functions * sizeof *after);
  do {
    double weight = axes_record(axes, n, at);
    put(m, x);
    moves_step(m, true);
    assert_true(m->run.accepted[0]);
    double to[3] = {m->run.theta[0], m->run.momentum[0], m->run.thermostat[0]};
    polynomials(basis, way->n_state, to, p);
    for (size_t k = 0; k < basis->n; k++) {
      after[k] += weight * p[k];
    }
  } while (axes_next(axes, n, at));
}

static void add_state(const way_t *way, moves_t *m, const axis_t *axes, const double z[3], double weight, double total,
                      galerkin_t *g) {
  const basis_t *basis = &g->basis;
  double x[3], before[most_functions], after[most_functions];
  for (size_t j = 0; j < 3; j++) {
    x[j] = basis->mean[j] + basis->sd[j] * z[j];
  }
  polynomials(basis, way->n_state, x, before);
  expect(way, m, x, axes, basis, after);
  double of_target = weight * moves_density(&m->target, x) / total * basis->sd[0] / normal_density(z[0]);
  for (size_t j = 0; j < basis->n; j++) {
    g->moved[j] += of_target * (after[j] - before[j]);
    for (size_t k = 0; k < basis->n; k++) {
      g->m[j][k] += weight * before[j] * after[k];
    }
  }
}

/* c_1 .. given c_0 = 1, by elimination. */
static void solve(const galerkin_t *g, double *c) {
  static double a[most_functions][most_functions + 1];
  size_t n = g->basis.n;
  for (size_t k = 1; k < n; k++) {
    for (size_t j = 1; j < n; j++) {
      a[k][j] = g->m[j][k] - (j == k ? 1 : 0);
    }
    a[k][n] = -g->m[0][k];
  }
  for (size_t k = 1; k < n; k++) {
    size_t best = k;
    for (size_t i = k; i < n; i++) {
      best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
    }
    for (size_t j = k; j <= n; j++) {
      double x = a[k][j];
      a[k][j] = a[best][j];
      a[best][j] = x;
    }
    for (size_t i = 1; i < n; i++) {
      double factor = i == k ? 0 : a[i][k] / a[k][k];
      for (size_t j = k; j <= n && i != k; j++) {
        a[i][j] -= factor * a[k][j];
      }
    }
  }
  c[0] = 1;
  for (size_t k = 1; k < n; k++) {
    c[k] = a[k][n] / a[k][k];
  }
}

static law_t law_of(const way_t *way, size_t degree) {
  static moves_t m;
  static galerkin_t g;
  static axis_t axes[MOVES_AXES];
  double mean, variance, total, c[most_functions], p[most_functions];
  law_t law = {0};
  m = (moves_t){.target = {1, way->n_records},
                .settings = {.step_size = way->step_size, .sampling_rate = way->rate, .friction = 1, .n_leapfrog = way->n_leapfrog}};
  moves_open(&m, way->method, way->step);
  m.run.iteration = 1; /* momentum and thermostat are there */
  m.settings.noise_multiplier_grad = way->share * tacit_stochastic_noise_sd(m.run.traits, &m.settings, 1) / 2;
  moments(&m.target, &mean, &variance, &total);
  g = (galerkin_t){.basis = {.mean = {mean, 0, m.settings.friction}, .sd = {sqrt(variance), 1, 1}}};
  basis_init(&g.basis, way->n_state, degree);
  tape = (tape_t){0};
  for (size_t k = 0; k < strlen(way->draws); k++) {
    axes[k] = axis_of(way->draws[k], 1, &m.target, way->rate);
  }
  double spacing = way->n_state > 1 ? 0.7 : 0.3, reach = way->n_state > 1 ? 7 : 9.9;
  int n = (int)(reach / spacing);
  for (int i = -n; i <= n; i++) {
    for (int j = way->n_state > 1 ? -n : 0; j <= (way->n_state > 1 ? n : 0); j++) {
      for (int k = way->n_state > 1 ? -n : 0; k <= (way->n_state > 1 ? n : 0); k++) {
        double z[3] = {i * spacing, j * spacing, k * spacing}, weight = normal_density(z[0]) * spacing;
        weight *= way->n_state > 1 ? normal_density(z[1]) * normal_density(z[2]) * spacing * spacing : 1;
        add_state(way, &m, axes, z, weight, total, &g);
      }
    }
  }
  solve(&g, c);
  size_t first = 0, second = 0;
  for (size_t k = 0; k < g.basis.n; k++) {
    const size_t *d = g.basis.degree[k];
    bool is_theta = d[1] + d[2] == 0;
    first = is_theta && d[0] == 1 ? k : first;
    second = is_theta && d[0] == 2 ? k : second;
    law.moved = is_theta && d[0] <= 4 ? fmax(law.moved, fabs(g.moved[k])) : law.moved;
  }
  law.mean = c[first];
  law.variance = 1 + sqrt(2) * c[second] - c[first] * c[first];
  for (double z = -8; z <= 8; z += 1.0 / 64) {
    double x[3] = {mean + sqrt(variance) * z, 0, m.settings.friction}, h[most_degree], density = 0;
    hermite(z, h);
    for (size_t k = 0; k < g.basis.n; k++) {
      const size_t *d = g.basis.degree[k];
      density += d[1] + d[2] == 0 ? c[k] * h[d[0]] * normal_density(z) : 0;
    }
    law.distance += 0.5 * fabs(density - moves_density(&m.target, x) / total * sqrt(variance)) / 64;
  }
  (void)p;
  moves_close(&m);
  print_message("%-40s h %.3f: one step moves %.3g, mean %+.4g sd, variance x %.6f, total variation %.3g\n", way->name, way->step_size,
                law.moved, law.mean, law.variance, law.distance);
  return law;
}

#define SGLD .method = "dp-sgld", .step = tacit_step_sgld, .n_state = 1, .share = 1
#define SGNHT .method = "dp-sgnht", .step = tacit_step_sgnht, .n_state = 3, .share = 1
static const way_t ways[] = {
    {"dp-sgld, all records", SGLD, .draws = "gN", .rate = 1, .step_size = 0.8, .n_records = 3},
    {"dp-sgld, all records", SGLD, .draws = "gN", .rate = 1, .step_size = 0.4, .n_records = 3},
    {"dp-sgld, half of them", SGLD, .draws = "gsN", .rate = 0.5, .step_size = 0.8, .n_records = 3},
    {"dp-sgld, half of them", SGLD, .draws = "gsN", .rate = 0.5, .step_size = 0.4, .n_records = 3},
    {"dp-sghmc, J=1, q=1", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngN", .rate = 1, .step_size = 0.8, .n_records = 3, .n_leapfrog = 1},
    {"dp-sghmc, J=1, q=1", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngN", .rate = 1, .step_size = 0.4, .n_records = 3, .n_leapfrog = 1},
    {"dp-sghmc, J=1, q=1", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngN", .rate = 1, .step_size = 0.2, .n_records = 3, .n_leapfrog = 1},
    {"dp-sghmc, J=2, q=1", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngNgN", .rate = 1, .step_size = 0.8, .n_records = 3, .n_leapfrog = 2},
    {"dp-sghmc, J=2, q=1", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngNgN", .rate = 1, .step_size = 0.4, .n_records = 3, .n_leapfrog = 2},
    {"dp-sghmc, J=2, q=1", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngNgN", .rate = 1, .step_size = 0.2, .n_records = 3, .n_leapfrog = 2},
    {"dp-sghmc, J=3, q=1", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngNgNgN", .rate = 1, .step_size = 0.4, .n_records = 3, .n_leapfrog = 3},
    {"dp-sghmc, J=3, q=1", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngNgNgN", .rate = 1, .step_size = 0.2, .n_records = 3, .n_leapfrog = 3},
    {"dp-sghmc, J=1, q=0.5", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngsN", .rate = 0.5, .step_size = 0.8, .n_records = 3, .n_leapfrog = 1},
    {"dp-sghmc, J=1, q=0.5", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngsN", .rate = 0.5, .step_size = 0.4, .n_records = 3, .n_leapfrog = 1},
    {"dp-sghmc, J=1, q=0.5", .method = "dp-sghmc", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "ngsN", .rate = 0.5, .step_size = 0.2, .n_records = 3, .n_leapfrog = 1},
    {"sghmc-naive, J=1, q=0.5", .method = "sghmc-naive", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "nsN", .rate = 0.5, .step_size = 0.8, .n_records = 3, .n_leapfrog = 1},
    {"sghmc-naive, J=1, q=0.5", .method = "sghmc-naive", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "nsN", .rate = 0.5, .step_size = 0.4, .n_records = 3, .n_leapfrog = 1},
    {"sghmc-naive, J=1, q=0.5", .method = "sghmc-naive", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "nsN", .rate = 0.5, .step_size = 0.2, .n_records = 3, .n_leapfrog = 1},
    {"sghmc-naive, J=2, q=0.5", .method = "sghmc-naive", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "nsNsN", .rate = 0.5, .step_size = 0.8, .n_records = 3, .n_leapfrog = 2},
    {"sghmc-naive, J=2, q=0.5", .method = "sghmc-naive", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "nsNsN", .rate = 0.5, .step_size = 0.4, .n_records = 3, .n_leapfrog = 2},
    {"sghmc-naive, J=2, q=0.5", .method = "sghmc-naive", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "nsNsN", .rate = 0.5, .step_size = 0.2, .n_records = 3, .n_leapfrog = 2},
    {"sghmc-naive, J=2, q=1", .method = "sghmc-naive", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "nNN", .rate = 1, .step_size = 0.8, .n_records = 3, .n_leapfrog = 2},
    {"sghmc-naive, J=2, q=1", .method = "sghmc-naive", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "nNN", .rate = 1, .step_size = 0.4, .n_records = 3, .n_leapfrog = 2},
    {"sghmc-naive, J=2, q=1", .method = "sghmc-naive", .step = tacit_step_sghmc, .n_state = 1, .share = 1, .draws = "nNN", .rate = 1, .step_size = 0.2, .n_records = 3, .n_leapfrog = 2},
    {"dp-sgnht", SGNHT, .draws = "gN", .rate = 1, .step_size = 0.4, .n_records = 3},
    {"dp-sgnht", SGNHT, .draws = "gN", .rate = 1, .step_size = 0.2, .n_records = 3},
};

static void test_x(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    law_of(&ways[i], ways[i].n_state > 1 ? 4 : 12);
    law_of(&ways[i], ways[i].n_state > 1 ? 6 : 16);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_x)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
