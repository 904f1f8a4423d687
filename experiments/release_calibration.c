/*
 * Simulation-based calibration [Talts2018] of a release and the inference from it: parameters are drawn from
 * the prior, records from the parameters, the statistic is released by the curator, and the posterior is
 * drawn from the statistic alone. Then the share u of draws below the truth is uniform. Beside it the naive
 * posterior, which takes the released statistic as exact, and, in quick mode, planted errors that must be
 * found.
 *
 *     release_calibration [--quick] [--only mean|regression|score] [--replicates N] [--out FOLDER]
 *
 * Exit status 1 if a posterior is not calibrated, or an error is not found. Over other seeds than these, a
 * correct build would fail in less than one of 10^6 runs.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "augment/augment.h"
#include "curator/curator.h"
#include "formula/model.h"
#include "tacit/account.h"
#include "tacit/base.h"
#include "tacit/data.h"
#include "tacit/random.h"

enum { N_DRAWS = 199, N_BINS = 20, MAX_REPORTED = 3, MAX_VALUES = 5, N_LEVELS = 4 };

static const double levels[N_LEVELS] = {0.5, 0.8, 0.9, 0.95};
static const double delta = 1e-5;

typedef enum how { SOUND, NAIVE, THIRD_NOISE, NO_CLAMP } how_t;
static const char *const how_names[] = {"noise-aware", "naive", "a third of the noise", "clamp forgotten"};

typedef enum kind { MEAN, REGRESSION, SCORE } kind_t;
static const char *const kind_names[] = {"mean", "regression", "score"};
static const char *const statistic_names[] = {"clamped mean", "regression", "logistic score"};
static const size_t n_parameters[] = {1, 3, 2};

typedef struct setting {
  kind_t kind;
  bool is_laplace;
  double epsilon;
} setting_t;

/* Of one parameter over all replicates. */
typedef struct ranks {
  size_t n, bins[N_BINS];
  double covered[N_LEVELS], square, fourth; /* sums of (2 u - 1)^2 and of its square */
} ranks_t;

static void stop(const char *message) {
  fprintf(stderr, "release_calibration: %s\n", message);
  exit(2);
}

static void check(tacit_status_t status, const tacit_error_t *err) {
  if (status != TACIT_OK) {
    stop(err->message);
  }
}

static const char *parameter_name(const setting_t *setting, size_t j) {
  static const char *const names[] = {"intercept", "slope", "sd"};
  return setting->kind == MEAN ? "mean" : names[j];
}

/* ---- prior and records ---- */

static double draw_sd(tacit_rng_t *rng, double shape,
                      double scale) { /* of an inverse gamma variance, whole shape */
  double gamma = 0;
  for (double k = 0; k < shape; k++) {
    gamma += tacit_rng_exponential(rng);
  }
  return sqrt(scale / gamma);
}

static tacit_latent_model_t latent_model(const setting_t *setting) {
  bool is_score = setting->kind == SCORE;
  if (setting->kind != MEAN) {
    return (tacit_latent_model_t){.kind = is_score ? TACIT_LATENT_LOGISTIC : TACIT_LATENT_REGRESSION,
                                  .n_records = 500,
                                  .coefficient_scale = is_score ? 2 : 0.5,
                                  .feature_scale = 0.5,
                                  .variance_shape = 5,
                                  .variance_scale = 0.5,
                                  .n_features = 1};
  }
  return (tacit_latent_model_t){
      .kind = TACIT_LATENT_GAUSSIAN, .n_records = 100, .mean_scale = 1, .known_sd = 0.5};
}

/* Draw the truth and records given it. */
static tacit_records_t *draw_records(const setting_t *setting, const tacit_latent_model_t *model,
                                     tacit_rng_t *rng, double *truth) {
  tacit_records_t *records;
  tacit_error_t err;
  size_t n = model->n_records;
  check(tacit_records_new(&records, n, setting->kind == MEAN ? 1 : 2, &err), &err);
  double scale = model->coefficient_scale, centre = 0, spread = 0;
  if (setting->kind == MEAN) {
    truth[0] = model->mean_scale * tacit_rng_normal(rng);
  } else {
    centre = (setting->kind == SCORE ? model->feature_scale : scale) * tacit_rng_normal(rng);
    spread = draw_sd(rng, model->variance_shape, model->variance_scale);
    truth[0] = scale * tacit_rng_normal(rng);
    truth[1] = scale * tacit_rng_normal(rng);
    truth[2] = draw_sd(rng, model->variance_shape, model->variance_scale);
  }
  for (size_t i = 0; i < n; i++) {
    double x[2];
    if (setting->kind == MEAN) {
      x[0] = truth[0] + model->known_sd * tacit_rng_normal(rng);
    } else {
      x[0] = centre + spread * tacit_rng_normal(rng);
      x[1] = truth[0] + truth[1] * x[0];
      x[1] = setting->kind == SCORE ? tacit_rng_uniform(rng) * (1 + exp(-x[1])) < 1
                                    : x[1] + truth[2] * tacit_rng_normal(rng);
    }
    tacit_records_set(records, i, x);
  }
  return records;
}

/* ---- the release ---- */

static void release(const setting_t *setting, tacit_records_t *records, uint64_t seed, double *values,
                    double *scales) {
  static const double lower[] = {-1, -1}, lower_of_bit[] = {-1, 0}, upper[] = {1, 1};
  static const tacit_statistic_kind_t kinds[] = {TACIT_STATISTIC_SUM, TACIT_STATISTIC_PRODUCTS,
                                                 TACIT_STATISTIC_SCORE};
  tacit_statistic_t statistic = {.kind = kinds[setting->kind],
                                 .noise =
                                     setting->is_laplace ? TACIT_STATISTIC_LAPLACE : TACIT_STATISTIC_GAUSSIAN,
                                 .n_columns = setting->kind == MEAN ? 1 : 2,
                                 .lower = setting->kind == SCORE ? lower_of_bit : lower,
                                 .upper = upper};
  double multiplier =
      (1 + 1e-9) * (setting->is_laplace ? 1 / setting->epsilon
                                        : 1 / sqrt(2 * tacit_gaussian_rho(setting->epsilon, log(delta))));
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  tacit_record_model_t model;
  tacit_error_t err;
  tacit_event_t event = tacit_statistic_event(&statistic, multiplier);
  check(tacit_budget_new(&budget, setting->epsilon, delta, TACIT_RELATION_SUBSTITUTE, &err), &err);
  if (setting->is_laplace) {
    check(tacit_budget_set_schedule(budget, &event, 1, &err), &err);
  }
  check(tacit_noise_new_seeded_not_private(&noise, seed, &err), &err);
  tacit_statistic_model(&model, &statistic);
  check(tacit_curator_new(&curator, records, &model, budget, noise, NULL, &err), &err);
  check(tacit_curator_release_statistic(curator, &statistic, multiplier, values, scales, &err), &err);
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
}

/* ---- the posterior ---- */

static void infer(const setting_t *setting, how_t how, const tacit_latent_model_t *model,
                  const double *values, const double *noise, uint64_t seed, tacit_draws_t *draws) {
  static const size_t counts[] = {1, 5, 4};
  static const tacit_release_kind_t kinds[] = {TACIT_RELEASE_SUM, TACIT_RELEASE_PRODUCTS,
                                               TACIT_RELEASE_SCORE};
  size_t n_values = counts[setting->kind];
  bool is_of_rows = setting->kind != MEAN;
  double scales[MAX_VALUES], taken[MAX_VALUES], n = (double)model->n_records;
  tacit_release_t statistic = {.kind = kinds[setting->kind],
                               .noise = setting->is_laplace && how != NAIVE ? TACIT_RELEASE_LAPLACE
                                                                            : TACIT_RELEASE_GAUSSIAN,
                               .lower = how == NO_CLAMP ? -20 : -1,
                               .upper = how == NO_CLAMP ? 20 : 1,
                               .n_values = n_values,
                               .values = taken,
                               .scales = scales};
  double tiny = (is_of_rows ? 0.01 : 0.1) * sqrt(n); /* at most a fifth of what sums over n records vary by */
  for (size_t k = 0; k < n_values; k++) {            /* naive: next to no noise, and values that can be */
    scales[k] = how == NAIVE ? tiny : how == THIRD_NOISE ? noise[k] / 3 : noise[k];
    taken[k] = how == NAIVE ? fmin(fmax(values[k], -n), n) : values[k];
  }
  tacit_augment_settings_t settings = tacit_augment_settings_default();
  settings.n_chains = 1;
  settings.n_warmup = is_of_rows ? 30 : 200;
  settings.n_draws = N_DRAWS;
  settings.thin = is_of_rows ? 1 : 10;
  settings.method = is_of_rows ? TACIT_AUGMENT_MARGINAL : TACIT_AUGMENT_GIBBS;
  tacit_rng_key_from_seed(settings.key, seed);
  tacit_error_t err;
  check(tacit_augment(model, &statistic, &settings, draws, NULL, &err), &err);
}

static void add_rank(ranks_t *ranks, const tacit_draws_t *draws, size_t j, double truth) {
  size_t below = 0;
  for (size_t i = 0; i < N_DRAWS; i++) {
    below += tacit_draws_row(draws, 0, draws->n_warmup + i)[j] < truth;
  }
  double u = ((double)below + 0.5) / (N_DRAWS + 1), far = fabs(2 * u - 1);
  ranks->n++;
  ranks->bins[below * N_BINS / (N_DRAWS + 1)]++;
  ranks->square += far * far;
  ranks->fourth += far * far * far * far;
  for (size_t l = 0; l < N_LEVELS; l++) {
    ranks->covered[l] += far <= levels[l];
  }
}

static void simulate(const setting_t *setting, how_t how, size_t n_replicates, ranks_t *ranks) {
  tacit_latent_model_t model = latent_model(setting);
  memset(ranks, 0, MAX_REPORTED * sizeof *ranks);
  for (size_t i = 0; i < n_replicates; i++) {
    uint64_t seed = 1000 * (uint64_t)(10 * setting->epsilon) + 2 * (uint64_t)setting->kind +
                    setting->is_laplace + 1000000 * (i + 1);
    unsigned char key[32];
    tacit_rng_t *rng;
    tacit_error_t err;
    double truth[MAX_REPORTED], values[MAX_VALUES], scales[MAX_VALUES];
    tacit_draws_t draws;
    tacit_rng_key_from_seed(key, seed);
    check(tacit_rng_new(&rng, key, 7, &err), &err);
    release(setting, draw_records(setting, &model, rng, truth), seed, values, scales);
    infer(setting, how, &model, values, scales, seed, &draws);
    for (size_t j = 0; j < draws.n_reported; j++) {
      add_rank(&ranks[j], &draws, j, truth[j]);
    }
    tacit_draws_clear(&draws);
    tacit_rng_free(rng);
  }
}

/* ---- verdicts ---- */

/* Standard errors by which the mean of (2 u - 1)^2 is above 1/3: intervals that are too narrow. */
static double excess(const ranks_t *ranks) {
  double n = (double)ranks->n, mean = ranks->square / n;
  return (mean - 1.0 / 3) / sqrt(fmax(ranks->fourth / n - mean * mean, 1e-6) / n);
}

static double chi_square(const ranks_t *ranks) {
  double expected = (double)ranks->n / N_BINS, sum = 0;
  for (size_t b = 0; b < N_BINS; b++) {
    sum += ((double)ranks->bins[b] - expected) * ((double)ranks->bins[b] - expected) / expected;
  }
  return sum;
}

/* What is an error: P(chi-square with 19 degrees of freedom > 80) = 2e-9; |z| > 5.5: 4e-8. */
static bool is_uniform(const ranks_t *ranks) { return chi_square(ranks) < 80 && fabs(excess(ranks)) < 5.5; }

/* ---- tables ---- */

static void put_table_row(FILE *md, const setting_t *setting, how_t how, size_t j, const ranks_t *ranks) {
  fprintf(md, "| %s | %s | %g | %s | %s |", statistic_names[setting->kind],
          setting->is_laplace ? "laplace" : "gaussian", setting->epsilon, parameter_name(setting, j),
          how_names[how]);
  for (size_t l = 0; l < N_LEVELS; l++) {
    fprintf(md, " %.1f |", 100 * ranks->covered[l] / (double)ranks->n);
  }
  fprintf(md, " %.1f | %s |\n", chi_square(ranks),
          chi_square(ranks) < 43.8 ? "uniform" : "**not uniform**"); /* 99.9 % */
}

static void put_csv_row(FILE *csv, const setting_t *setting, how_t how, size_t j, const ranks_t *ranks) {
  fprintf(csv, "%s,%s,%g,%s,%s,%zu", kind_names[setting->kind], setting->is_laplace ? "laplace" : "gaussian",
          setting->epsilon, parameter_name(setting, j), how_names[how], ranks->n);
  for (size_t l = 0; l < N_LEVELS; l++) {
    fprintf(csv, ",%.4f", ranks->covered[l] / (double)ranks->n);
  }
  for (size_t b = 0; b < N_BINS; b++) {
    fprintf(csv, ",%zu", ranks->bins[b]);
  }
  fputc('\n', csv);
}

/* One small histogram at (x, y); the band holds 99 % of the counts of a uniform rank. */
static void put_histogram(FILE *svg, double x, double y, const char *title, const ranks_t *ranks) {
  const double width = 150, height = 70;
  double expected = (double)ranks->n / N_BINS, unit = height / (3 * expected),
         band = 2.58 * sqrt(expected * (1 - 1.0 / N_BINS));
  fprintf(svg, "<text x='%g' y='%g'>%s</text>\n<rect x='%g' y='%g' width='%g' height='%g' fill='#ddd'/>\n", x,
          y - 4, title, x, y + height - unit * (expected + band), width, 2 * band * unit);
  for (size_t b = 0; b < N_BINS; b++) {
    double bar = fmin((double)ranks->bins[b] * unit, height);
    fprintf(svg, "<rect x='%g' y='%g' width='%g' height='%g' fill='#36c' fill-opacity='0.7'/>\n",
            x + (double)b * width / N_BINS, y + height - bar, width / N_BINS - 1, bar);
  }
}

static FILE *open_in(const char *folder, const char *only, const char *ending) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.%s", folder, only != NULL ? only : "release", ending);
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    stop("cannot write into the folder given by --out: make it first");
  }
  return file;
}

static const setting_t settings[] = {{MEAN, false, 0.3},       {MEAN, false, 1},       {MEAN, false, 3},
                                     {MEAN, true, 0.3},        {MEAN, true, 1},        {MEAN, true, 3},
                                     {REGRESSION, false, 0.3}, {REGRESSION, false, 1}, {REGRESSION, false, 3},
                                     {SCORE, false, 0.3},      {SCORE, false, 1},      {SCORE, false, 3}};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

static bool is_wanted(const setting_t *setting, const char *only) {
  return only == NULL || strcmp(only, kind_names[setting->kind]) == 0;
}

/* All settings into release.*, or those of one kind into files of its name. */
static int full(size_t n_replicates, const char *folder, const char *only) {
  FILE *md = open_in(folder, only, "md"), *csv = open_in(folder, only, "csv"),
       *svg = open_in(folder, only, "svg");
  ranks_t ranks[MAX_REPORTED];
  int faults = 0, n_wanted = 0;
  for (size_t s = 0; s < N_SETTINGS; s++) {
    n_wanted += is_wanted(&settings[s], only);
  }
  fprintf(md, "| statistic | noise | epsilon | parameter | posterior | 50 %% | 80 %% | 90 %% | 95 %% | "
              "chi-square (19) | ranks, at 99.9 %% |\n"
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  fprintf(csv, "statistic,noise,epsilon,parameter,posterior,replicates,cover50,cover80,cover90,cover95");
  for (size_t b = 0; b < N_BINS; b++) {
    fprintf(csv, ",bin%zu", b + 1);
  }
  fprintf(csv, "\n");
  fprintf(svg,
          "<svg xmlns='http://www.w3.org/2000/svg' width='1080' height='%d' font-family='sans-serif' "
          "font-size='8'>\n"
          "<rect width='100%%' height='100%%' fill='white'/>\n",
          30 + n_wanted * 100);
  int row = 0;
  for (size_t s = 0; s < N_SETTINGS; s++) {
    for (how_t how = SOUND; is_wanted(&settings[s], only) && how <= NAIVE; how++) {
      simulate(&settings[s], how, n_replicates, ranks);
      for (size_t j = 0; j < n_parameters[settings[s].kind]; j++) {
        char title[96];
        snprintf(title, sizeof title, "%s, %s, eps %g: %s", settings[s].is_laplace ? "laplace" : "gaussian",
                 parameter_name(&settings[s], j), settings[s].epsilon, how_names[how]);
        put_table_row(md, &settings[s], how, j, &ranks[j]);
        put_csv_row(csv, &settings[s], how, j, &ranks[j]);
        put_histogram(svg, 10 + 178 * (double)(2 * j + (how == NAIVE)), 25 + 100 * (double)row, title,
                      &ranks[j]);
        faults += how == SOUND && !is_uniform(&ranks[j]);
      }
      fflush(md), fflush(csv);
    }
    row += is_wanted(&settings[s], only);
  }
  fprintf(svg, "</svg>\n");
  bool failed = fclose(md) != 0 || fclose(csv) != 0 || fclose(svg) != 0;
  return faults > 0 || failed;
}

/* ---- quick: one budget of each, and errors that must be found ---- */

static int expect(const setting_t *setting, how_t how, size_t n_replicates) {
  ranks_t ranks[MAX_REPORTED];
  int faults = 0;
  double most = -INFINITY;
  simulate(setting, how, n_replicates, ranks);
  for (size_t j = 0; j < n_parameters[setting->kind]; j++) {
    most = fmax(most, excess(&ranks[j]));
    faults += !is_uniform(&ranks[j]);
  }
  bool ok = how == SOUND ? faults == 0 : most > 5.5;
  printf("%s %s, %s noise, epsilon %g, %s: %.1f standard errors\n", ok ? "ok    " : "FAILED",
         statistic_names[setting->kind], setting->is_laplace ? "laplace" : "gaussian", setting->epsilon,
         how_names[how], most);
  return !ok;
}

static int quick(void) {
  static const setting_t gaussian = {MEAN, false, 1}, laplace = {MEAN, true, 0.3},
                         regression = {REGRESSION, false, 1}, score = {SCORE, false, 1};
  return expect(&gaussian, SOUND, 300) + expect(&gaussian, NAIVE, 100) + expect(&gaussian, THIRD_NOISE, 300) +
         expect(&gaussian, NO_CLAMP, 200) + expect(&laplace, SOUND, 300) + expect(&laplace, NAIVE, 100) +
         expect(&laplace, THIRD_NOISE, 300) + expect(&regression, SOUND, 60) +
         expect(&regression, NAIVE, 40) + expect(&regression, THIRD_NOISE, 100) + expect(&score, SOUND, 60) +
         expect(&score, NAIVE, 40) + expect(&score, THIRD_NOISE, 150);
}

int main(int argc, char **argv) {
  size_t n_replicates = 500;
  const char *folder = ".", *only = NULL;
  bool is_quick = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      is_quick = true;
    } else if (strcmp(argv[i], "--replicates") == 0 && i + 1 < argc && atol(argv[i + 1]) > 0) {
      n_replicates = (size_t)atol(argv[++i]);
    } else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
      folder = argv[++i];
    } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else {
      stop("usage: release_calibration [--quick] [--only mean|regression|score] [--replicates N] [--out "
           "FOLDER]");
    }
  }
  return is_quick ? quick() > 0 : full(n_replicates, folder, only);
}
