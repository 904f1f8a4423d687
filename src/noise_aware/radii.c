/* How far rows and residuals of the last release may reach, by what is known: noise against what weights and clamps may shift. */
#include <math.h>

#include "noise_aware/gaussian.h"

enum { N_NODES = 2000, N_ROW_RADII = 17, N_RESIDUAL_RADII = 10 };

const double tacit_norm_edges[GAUSSIAN_NORM_EDGES] = {0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 7, 10};

static const double row_radii[N_ROW_RADII] = {1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 4, 5, 7};
static const double residual_radii[N_RESIDUAL_RADII] = {2.5, 2.75, 3, 3.25, 3.5, 3.75, 4, 4.5, 5, 6};

/* Misfit that is budgeted: of half a residual sd at the rows that weights touch; of these shares of what clamps are seen to hide. */
static const double row_misfit = 0.5, asymmetry_misfit = 0.25, hidden_misfit = 0.2;
/* Rows that nobody expects: share of a cell's prior sd, and of all records, falling off with the norm. */
static const double cell_misfit = 0.5, far_rows = 0.01;

/* ---- rows ---- */

/* Norms of a row 1 and d - 1 standard normals, with shares. */
static void normal_rows(size_t d, double norm[N_NODES], double share[N_NODES]) {
  double p = (double)d - 1, reach = 10 + sqrt(p), total = 0;
  for (int i = 0; i < N_NODES; i++) {
    double t = p > 0 ? reach * (i + 0.5) / N_NODES : 0;
    norm[i] = sqrt(1 + t * t);
    share[i] = p > 0 ? exp((p - 1) * log(t) - 0.5 * t * t) : i == 0;
    total += share[i];
  }
  for (int i = 0; i < N_NODES; i++) {
    share[i] /= total;
  }
}

void tacit_normal_rows(size_t d, double radius, double *once, double *twice) {
  double norm[N_NODES], share[N_NODES];
  normal_rows(d, norm, share);
  *once = *twice = 0;
  for (int i = 0; i < N_NODES; i++) {
    double within = fmin(norm[i], radius);
    *once += share[i] * norm[i] * within;
    *twice += share[i] * within * within;
  }
}

static size_t cell_of(double value) {
  size_t k = 0;
  while (k < GAUSSIAN_NORM_EDGES && value >= tacit_norm_edges[k]) {
    k++;
  }
  return k;
}

/* Counts are shrunk towards those of normal rows. */
void tacit_norms_learn(tacit_norms_t *norms, size_t d, const double *counts, double noise_sd, double n) {
  double norm[N_NODES], share[N_NODES], root = sqrt((double)d), total = 0;
  *norms = (tacit_norms_t){.d = d};
  normal_rows(d, norm, share);
  for (int i = 0; i < N_NODES; i++) {
    size_t k = cell_of(norm[i] / root);
    norms->share[k] += share[i];
    norms->radius[k] += share[i] * norm[i] * norm[i];
  }
  for (size_t k = 0; k <= GAUSSIAN_NORM_EDGES; k++) {
    double low = k > 0 ? tacit_norm_edges[k - 1] : 0, high = k < GAUSSIAN_NORM_EDGES ? tacit_norm_edges[k] : 20;
    double expected = n * norms->share[k], prior = fmax(cell_misfit * expected, far_rows * n * exp(-0.5 * fmax(low - 1.5, 0)));
    double part = counts != NULL ? prior * prior / (prior * prior + noise_sd * noise_sd) : 0;
    bool is_usual = norms->share[k] > 0.01; /* there it is that of normal rows */
    norms->radius[k] = is_usual ? sqrt(norms->radius[k] / norms->share[k]) : root * (k > 0 ? sqrt(low * high) : 0.3);
    norms->share[k] = fmax(expected + (counts != NULL ? part * (counts[k] - expected) : 0), 0);
    norms->error[k] = prior * sqrt(1 - part) / n;
    total += norms->share[k];
  }
  for (size_t k = 0; k <= GAUSSIAN_NORM_EDGES; k++) {
    norms->share[k] = total > 0 ? norms->share[k] / total : 1.0 / (GAUSSIAN_NORM_EDGES + 1);
  }
}

tacit_kept_rows_t tacit_norms_kept(const tacit_norms_t *norms, double radius) {
  tacit_kept_rows_t kept = {0};
  for (size_t k = 0; k <= GAUSSIAN_NORM_EDGES; k++) {
    double u = norms->radius[k], w = fmin(1, radius / u), share = norms->share[k];
    kept.whole += share * u * u;
    kept.once += share * w * u * u;
    kept.twice += share * w * w * u * u;
    kept.cut += share * (1 - w) * u;
    kept.touched += w < 1 ? share : 0;
    kept.error += pow(norms->error[k] * w * (1 - w) * u * u, 2);
  }
  kept.error = sqrt(kept.error);
  return kept;
}

/* ---- the choice ---- */

/* What is known of residuals at one c. */
typedef struct at_residual {
  double inside, second; /* of a normal residual of the law's sd */
  double shift_intercept, shift_sigma, asymmetry;
} at_residual_t;

static at_residual_t look(const tacit_law_t *law, double c, double n) {
  double a = c / law->sd, density = 0.3989422804014327 * exp(-0.5 * a * a), hidden, hidden_sd, asymmetry_sd;
  at_residual_t at = {.inside = erf(a * 0.70710678118654752)};
  at.second = law->sd * law->sd * (at.inside - 2 * a * density) + c * c * (1 - at.inside);
  tacit_law_hidden(law, c, &hidden, &hidden_sd);
  tacit_law_asymmetry(law, c, &at.asymmetry, &asymmetry_sd);
  at.shift_intercept = sqrt(n) * (asymmetry_sd + asymmetry_misfit * fabs(at.asymmetry)) / law->sd;
  at.shift_sigma = sqrt(n / 2) * (hidden_sd + hidden_misfit * hidden);
  return at;
}

/* Mean squared error over sampling variance: noise, weights, clamp; and half that of sigma. All shifts in sampling sds. */
static double loss(const at_residual_t *at, double sd, double d, double shift, double noise, double noise_sigma) {
  double scaled = at->inside * sd;
  return at->second / (scaled * scaled) + noise * noise + 2 * shift * shift / d + pow(at->shift_intercept / at->inside, 2) +
         0.5 * (noise_sigma * noise_sigma + at->shift_sigma * at->shift_sigma);
}

tacit_radii_t tacit_choose_radii(const tacit_norms_t *norms, const tacit_law_t *law, double mu_last, double n) {
  tacit_radii_t best = {0};
  double d = (double)norms->d, root = mu_last * sqrt(n), least = INFINITY;
  for (size_t j = 0; j < N_RESIDUAL_RADII; j++) {
    double c = residual_radii[j];
    const at_residual_t at = look(law, c, n);
    double noise_sigma = 2 * c * c / (root * law->sd * law->sd);
    for (size_t i = 0; i < N_ROW_RADII; i++) {
      double radius = row_radii[i] * sqrt(d);
      tacit_kept_rows_t kept = tacit_norms_kept(norms, radius);
      double share = fmax(kept.once / d, 0.1), shift = row_misfit * sqrt(n) * kept.cut / share;
      double noise = 2 * radius * c / (root * law->sd * share * at.inside), value = loss(&at, law->sd, d, shift, noise, noise_sigma);
      if (value < least) {
        least = value;
        best = (tacit_radii_t){radius, c, row_misfit * kept.cut * law->sd, at.shift_intercept / sqrt(n) * law->sd, at.asymmetry};
      }
    }
  }
  return best;
}
