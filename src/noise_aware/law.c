/* How residuals are distributed: a dictionary of shapes, weighed by a released histogram. */
#include <math.h>
#include <string.h>

#include "noise_aware/gaussian.h"

enum { N_LOCATIONS = 5, MIXTURE = 64, HALF = GAUSSIAN_GRID / 2 };

const double tacit_residual_edges[GAUSSIAN_RESIDUAL_EDGES] = {-8, -6, -5, -4, -3.5, -3, -2.5, -2, -1.5, -1, -0.5, 0,
                                                              0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8};

/* Ends of the grid on either side of 0, and of the levels of tables. */
static const double grid_least = 2e-3, grid_most = 60, level_least = 0.02, level_most = 4;

/* ---- shapes: densities of unit variance, up to a factor ---- */

typedef struct shape {
  enum { NORMAL, STUDENT, LOGNORMAL_SCALE, GAMMA, BETA22 } kind;
  double parameter; /* degrees of freedom; sd of the log scale; shape, negative: mirrored */
  double prior;
} shape_t;

static const shape_t shapes[GAUSSIAN_SHAPES] = {
    {NORMAL, 0, 0.46},  {STUDENT, 15, 0.08},          {STUDENT, 8, 0.06},          {STUDENT, 5, 0.05},           {STUDENT, 4, 0.03},
    {STUDENT, 3, 0.03}, {STUDENT, 2.5, 0.01},         {LOGNORMAL_SCALE, 0.25, 0.05}, {LOGNORMAL_SCALE, 0.5, 0.03}, {LOGNORMAL_SCALE, 0.75, 0.01},
    {GAMMA, 8, 0.03},   {GAMMA, -8, 0.03},            {GAMMA, 4, 0.02},            {GAMMA, -4, 0.02},            {GAMMA, 2, 0.015},
    {GAMMA, -2, 0.015}, {GAMMA, 1, 0.005},            {GAMMA, -1, 0.005},          {BETA22, 0, 0.03}};

/* Standard normal quantile by Newton's method on the distribution function. */
static double normal_quantile(double p) {
  double x = 0;
  for (int i = 0; i < 60; i++) {
    double step = (0.5 * erfc(-x * 0.70710678118654752) - p) / (0.3989422804014327 * exp(-0.5 * x * x));
    x -= fmax(fmin(step, 0.5), -0.5);
  }
  return x;
}

/* precisions (MIXTURE) of normals whose log scales have this sd, at the levels given; their mixture has unit variance. */
static void set_precisions(double log_sd, const double *quantiles, double *precisions) {
  double mean_square = 0;
  for (size_t i = 0; i < MIXTURE; i++) {
    mean_square += exp(2 * log_sd * quantiles[i]) / MIXTURE;
  }
  for (size_t i = 0; i < MIXTURE; i++) {
    precisions[i] = mean_square * exp(-2 * log_sd * quantiles[i]);
  }
}

static double mixture_density(const double *precisions, double x) {
  double sum = 0;
  for (size_t i = 0; i < MIXTURE; i++) {
    sum += sqrt(precisions[i]) * exp(-0.5 * precisions[i] * x * x);
  }
  return sum;
}

static double density(const shape_t *shape, const double *precisions, double x) {
  double a = fabs(shape->parameter), sign = shape->parameter < 0 ? -1 : 1, at;
  switch (shape->kind) {
    case NORMAL: return exp(-0.5 * x * x);
    case STUDENT: return pow(1 + x * x / (a - 2), -0.5 * (a + 1));
    case LOGNORMAL_SCALE: return mixture_density(precisions, x);
    case GAMMA: at = a + sign * x * sqrt(a); return at > 0 ? exp((a - 1) * log(at / a) + a - at) : 0;
    default: at = 0.5 + x / sqrt(20); return at > 0 && at < 1 ? at * (1 - at) : 0;
  }
}

/* Cells reach half way to the next point; the last ones take what is beyond of heavy tails. */
static void fill_shape(tacit_law_t *law, size_t k, const double *quantiles) {
  double *mass = law->mass[k], total = 0, precisions[MIXTURE];
  set_precisions(shapes[k].parameter, quantiles, precisions);
  for (size_t i = 0; i < GAUSSIAN_GRID; i++) {
    double low = i > 0 ? law->x[i - 1] : law->x[i], high = i + 1 < GAUSSIAN_GRID ? law->x[i + 1] : law->x[i];
    double beyond = (i == 0 || i + 1 == GAUSSIAN_GRID) && shapes[k].kind == STUDENT ? grid_most / shapes[k].parameter : 0;
    mass[i] = density(&shapes[k], precisions, law->x[i]) * (0.5 * (high - low) + beyond);
    total += mass[i];
  }
  for (size_t i = 0; i < GAUSSIAN_GRID; i++) {
    mass[i] /= total;
  }
}

static double prior_of(size_t shape) {
  double total = 0;
  for (size_t k = 0; k < GAUSSIAN_SHAPES; k++) {
    total += shapes[k].prior;
  }
  return shapes[shape].prior / total;
}

void tacit_law_init(tacit_law_t *law) {
  double quantiles[MIXTURE];
  for (size_t i = 0; i < MIXTURE; i++) {
    quantiles[i] = normal_quantile(((double)i + 0.5) / MIXTURE);
  }
  law->x[HALF] = 0;
  for (size_t i = 0; i < HALF; i++) {
    law->x[HALF + 1 + i] = grid_least * pow(grid_most / grid_least, (double)i / (HALF - 1));
    law->x[HALF - 1 - i] = -law->x[HALF + 1 + i];
  }
  for (size_t k = 0; k < GAUSSIAN_SHAPES; k++) {
    fill_shape(law, k, quantiles);
  }
}

/* ---- the posterior over shape, scale and location ---- */

/* Where cell i begins: half way between its point and the one before. */
static double cell_start(const tacit_law_t *law, size_t i) {
  return 0.5 * (law->x[i] + law->x[i > 0 ? i - 1 : 0]);
}

/* Share of a shape below x; cumulative (GAUSSIAN_GRID): of its mass. */
static double share_below(const tacit_law_t *law, const double *cumulative, double x) {
  double steps = fabs(x) > grid_least ? log(fabs(x) / grid_least) / log(grid_most / grid_least) * (HALF - 1) + 1 : 0;
  size_t away = (size_t)fmin(steps, HALF), i = x < 0 ? HALF - away : HALF + away; /* the point's cell, or the next one to 0 */
  while (i + 1 < GAUSSIAN_GRID && cell_start(law, i + 1) <= x) {
    i++;
  }
  while (i > 0 && cell_start(law, i) > x) {
    i--;
  }
  double from = cell_start(law, i), to = i + 1 < GAUSSIAN_GRID ? cell_start(law, i + 1) : law->x[i];
  double before = i > 0 ? cumulative[i - 1] : 0, part = to > from ? (x - from) / (to - from) : 1;
  return before + fmin(fmax(part, 0), 1) * (cumulative[i] - before);
}

static double histogram_fit(const tacit_law_t *law, const double *cumulative, double scale, double location, double count_error) {
  double below = 0, sum = 0, n = law->n;
  for (size_t i = 0; i <= GAUSSIAN_RESIDUAL_EDGES; i++) {
    double up_to = i < GAUSSIAN_RESIDUAL_EDGES ? share_below(law, cumulative, (tacit_residual_edges[i] - location) / scale) : 1;
    double expected = n * (up_to - below), off = law->counts[i] - expected;
    double variance = law->noise_sd * law->noise_sd + expected + (4e-4 + count_error * count_error) * expected * expected + 1;
    sum -= 0.5 * (off * off / variance + log(variance));
    below = up_to;
  }
  return sum;
}

/* Log likelihood of a shape at each scale, given the histogram; locations are summed over. */
static void fill_profile(tacit_law_t *law, size_t k, double count_error) {
  double cumulative[GAUSSIAN_GRID];
  bool is_located = law->noise_sd < 0.03 * law->n;
  for (size_t i = 0; i < GAUSSIAN_GRID; i++) {
    cumulative[i] = law->mass[k][i] + (i > 0 ? cumulative[i - 1] : 0);
  }
  for (size_t j = 0; j < GAUSSIAN_SCALES; j++) {
    double at[N_LOCATIONS], highest = -INFINITY, sum = 0;
    for (size_t l = is_located ? 0 : N_LOCATIONS / 2; l < (is_located ? N_LOCATIONS : N_LOCATIONS / 2 + 1); l++) {
      double location = 0.15 * ((double)l - 2);
      at[l] = histogram_fit(law, cumulative, law->scale[j], location, count_error) - 0.5 * pow(location / 0.12, 2);
      highest = fmax(highest, at[l]);
    }
    for (size_t l = is_located ? 0 : N_LOCATIONS / 2; l < (is_located ? N_LOCATIONS : N_LOCATIONS / 2 + 1); l++) {
      sum += exp(at[l] - highest);
    }
    law->profile[k][j] = highest + log(sum);
  }
}

/* Weights of shapes and scales, with the prior. */
static void weigh(tacit_law_t *law, double count_error) {
  double highest = -INFINITY, total = 0;
  for (size_t k = 0; k < GAUSSIAN_SHAPES; k++) {
    if (isfinite(law->noise_sd)) {
      fill_profile(law, k, count_error);
    }
    for (size_t j = 0; j < GAUSSIAN_SCALES; j++) {
      double off = log(law->scale[j] / 0.9) / 0.3;
      law->weight[k][j] = log(prior_of(k)) + law->profile[k][j] - 0.5 * off * off;
      highest = fmax(highest, law->weight[k][j]);
    }
  }
  for (size_t a = 0; a < GAUSSIAN_SHAPES * GAUSSIAN_SCALES; a++) {
    double *weight = &law->weight[a / GAUSSIAN_SCALES][a % GAUSSIAN_SCALES];
    total += *weight = exp(*weight - highest);
  }
  for (size_t a = 0; a < GAUSSIAN_SHAPES * GAUSSIAN_SCALES; a++) {
    law->weight[a / GAUSSIAN_SCALES][a % GAUSSIAN_SCALES] /= total;
  }
}

static void set_scales(tacit_law_t *law, double low, double high) {
  for (size_t j = 0; j < GAUSSIAN_SCALES; j++) {
    law->scale[j] = low * pow(high / low, (double)j / (GAUSSIAN_SCALES - 1));
  }
}

/* Scales that are not ruled out, and one more on either side. */
static void narrow_scales(tacit_law_t *law) {
  size_t low = GAUSSIAN_SCALES, high = 0;
  for (size_t a = 0; a < GAUSSIAN_SHAPES * GAUSSIAN_SCALES; a++) {
    size_t j = a % GAUSSIAN_SCALES;
    if (law->weight[a / GAUSSIAN_SCALES][j] > 1e-7) {
      low = j < low ? j : low;
      high = j > high ? j : high;
    }
  }
  set_scales(law, law->scale[low > 0 ? low - 1 : 0], law->scale[high + 1 < GAUSSIAN_SCALES ? high + 1 : high]);
}

void tacit_law_learn(tacit_law_t *law, const double *counts, double noise_sd, double n, double count_error) {
  law->n = n;
  law->noise_sd = counts != NULL ? noise_sd : INFINITY;
  for (size_t i = 0; i <= GAUSSIAN_RESIDUAL_EDGES; i++) {
    law->counts[i] = counts != NULL ? counts[i] : 0;
  }
  set_scales(law, 0.3, 1.3);
  memset(law->profile, 0, sizeof law->profile);
  weigh(law, count_error);
  if (counts != NULL) {
    narrow_scales(law);
    weigh(law, count_error);
  }
  double mean = 0, likeliest = 0;
  for (size_t k = 0; k < GAUSSIAN_SHAPES; k++) {
    double best = -INFINITY, of_shape = 0;
    law->shape_weight[k] = 0;
    for (size_t j = 0; j < GAUSSIAN_SCALES; j++) {
      double weight = law->weight[k][j];
      law->shape_weight[k] += weight;
      of_shape += weight * law->scale[j];
      mean += weight * law->scale[j];
      best = fmax(best, law->profile[k][j]);
      if (weight > likeliest) {
        likeliest = weight;
        law->best = k;
        law->best_scale = law->scale[j];
      }
    }
    law->shape_scale[k] = law->shape_weight[k] > 0 ? of_shape / law->shape_weight[k] : 1;
    for (size_t j = 0; j < GAUSSIAN_SCALES; j++) {
      law->profile[k][j] -= best;
    }
  }
  law->sd = fmin(fmax(mean, 0.2), 1);
}

double tacit_law_profile(const tacit_law_t *law, size_t shape, double level) {
  double first = log(law->scale[0]), at = (level - first) / (log(law->scale[GAUSSIAN_SCALES - 1]) - first) * (GAUSSIAN_SCALES - 1);
  size_t i = (size_t)fmin(fmax(at, 0), GAUSSIAN_SCALES - 2);
  double part = at - (double)i, slope = law->profile[shape][i + 1] - law->profile[shape][i];
  /* Beyond the ends the line goes on but does not rise: of an unlikely shape the best scale may lie outside. */
  double most = part < 0 ? law->profile[shape][i] : part > 1 ? law->profile[shape][i + 1] : INFINITY;
  return fmin(law->profile[shape][i] + part * slope, most);
}

/* ---- what follows ---- */

double tacit_law_second(const tacit_law_t *law, size_t shape, double s, double c) {
  double sum = 0;
  for (size_t i = 0; i < GAUSSIAN_GRID; i++) {
    double r = fmin(s * fabs(law->x[i]), c);
    sum += law->mass[shape][i] * r * r;
  }
  return sum;
}

void tacit_law_hidden(const tacit_law_t *law, double c, double *mean, double *sd) {
  double sum = 0, square = 0;
  for (size_t k = 0; k < GAUSSIAN_SHAPES; k++) {
    for (size_t j = 0; j < GAUSSIAN_SCALES; j++) {
      double s = law->scale[j], weight = law->weight[k][j];
      double hidden = weight > 1e-9 ? fmax(s * s / tacit_law_second(law, k, s, c) - 1, 0) : 0;
      sum += weight * hidden;
      square += weight * hidden * hidden;
    }
  }
  *mean = sum;
  *sd = sqrt(fmax(square - sum * sum, 0));
}

/* Mean of (|r| - c)+ sign(r) over a cell, counts beyond 8 left out: one record more or less there would say too much. */
static double exceedance(size_t cell, double c) {
  if (cell == 0 || cell == GAUSSIAN_RESIDUAL_EDGES) {
    return 0;
  }
  double low = tacit_residual_edges[cell - 1], high = tacit_residual_edges[cell], sign = low + high > 0 ? 1 : -1;
  double inner = fmin(fabs(low), fabs(high)), outer = fmax(fabs(low), fabs(high)), middle = inner > 0 ? sqrt(inner * outer) : 0.25;
  if (middle < c) {
    return outer > c ? sign * (outer - c) * (outer - c) / (2 * (outer - inner)) : 0;
  }
  return sign * (middle - c);
}

void tacit_law_asymmetry(const tacit_law_t *law, double c, double *mean, double *sd) {
  double prior = 0.22 * exp(-1.1 * c), prior_var = prior * prior, sum = 0, variance = 1e-12;
  *mean = 0;
  *sd = prior;
  if (!isfinite(law->noise_sd)) {
    return;
  }
  for (size_t i = 0; i <= GAUSSIAN_RESIDUAL_EDGES; i++) {
    double g = exceedance(i, c) / law->n;
    sum += g * law->counts[i];
    variance += g * g * (law->noise_sd * law->noise_sd + fmax(law->counts[i], 0));
  }
  *mean = sum * prior_var / (prior_var + variance);
  *sd = sqrt(prior_var * variance / (prior_var + variance));
}

void tacit_law_tabulate(tacit_law_t *law, double c) {
  for (size_t k = 0; k < GAUSSIAN_SHAPES; k++) {
    for (size_t l = 0; law->shape_weight[k] > tacit_least_shape && l < GAUSSIAN_LEVELS; l++) {
      double t = level_least * pow(level_most / level_least, (double)l / (GAUSSIAN_LEVELS - 1)), second = 0, inside = 0, fourth = 0;
      for (size_t i = 0; i < GAUSSIAN_GRID; i++) {
        double r = fmin(t * fabs(law->x[i]), c), mass = law->mass[k][i];
        second += mass * r * r;
        fourth += mass * r * r * r * r;
        inside += r < c ? mass : 0;
      }
      law->second[k][l] = second;
      law->inside[k][l] = inside;
      law->fourth[k][l] = fourth;
    }
  }
}

tacit_clamped_t tacit_law_at(const tacit_law_t *law, size_t shape, double level) {
  double at = (level - log(level_least)) / log(level_most / level_least) * (GAUSSIAN_LEVELS - 1);
  at = fmin(fmax(at, 0), GAUSSIAN_LEVELS - 1.001);
  size_t i = (size_t)at;
  double part = at - (double)i;
  return (tacit_clamped_t){law->second[shape][i] * (1 - part) + law->second[shape][i + 1] * part,
                           law->inside[shape][i] * (1 - part) + law->inside[shape][i + 1] * part,
                           law->fourth[shape][i] * (1 - part) + law->fourth[shape][i + 1] * part};
}
