/*
 * Calibration and efficiency of noise-aware regression on simulated data (docs/theory.md, "Noise-aware
 * regression"): posterior width over the non-private one, coverage of central intervals for the true
 * parameter, ranks u of the truth. Prints a row of a table: family, truth, d, n, epsilon, repeats, mean
 * inflation (worst coefficient), coverage at 50, 80, 90 and 95 %, that at 90 % of the worst coefficient, rms
 * z, mean (2 u - 1)^2 (1/3 if calibrated), coefficients beyond 4 sd, chi^2 of the ranks of the worst
 * coefficient (9 degrees of freedom), seconds a fit.
 *
 *     noise_aware_calibration FAMILY UPPER TRUTH D N EPSILON REPEATS [SEED [FAULT]]
 *
 * TRUTH: prior, fixed, rare. FAULT: 0, or one of tacit_fault_t.
 */
#include <time.h>

#include "noise_aware/simulation.h"

typedef struct totals {
  double log_inflation, square_z, square_rank, covered[4], covered_each[SIMULATION_MAX_DIM],
      log_inflation_each[SIMULATION_MAX_DIM];
  double ranks[SIMULATION_MAX_DIM][10];
  double n, n_far;
} totals_t;

static const double levels[4] = {0.5, 0.8, 0.9, 0.95};

static void add(totals_t *t, const simulation_fit_t *fit) {
  for (size_t j = 0; j < fit->d; j++) {
    double z = (fit->mean[j] - fit->theta[j]) / fit->sd[j], from_middle = fabs(2 * fit->share_below[j] - 1);
    double inflation = log(fit->sd[j] / fit->reference_sd[j]);
    t->log_inflation += inflation;
    t->log_inflation_each[j] += inflation;
    t->square_z += z * z;
    t->square_rank += (2 * fit->share_below[j] - 1) * (2 * fit->share_below[j] - 1);
    t->n_far += fabs(z) > 4;
    for (size_t l = 0; l < 4; l++) {
      t->covered[l] += from_middle <= levels[l];
    }
    t->covered_each[j] += from_middle <= levels[2];
    t->ranks[j][(size_t)fmin(9, floor(10 * fit->share_below[j]))]++;
    t->n++;
  }
}

static void print(const simulation_t *s, const totals_t *t, double repeats, double seconds) {
  double worst_inflation = 0, worst_cover = 1, worst_chi2 = 0;
  for (size_t j = 0; j < s->d + (s->family == TACIT_FAMILY_GAUSSIAN); j++) {
    double chi2 = 0, expected = repeats / 10;
    for (size_t b = 0; b < 10; b++) {
      chi2 += (t->ranks[j][b] - expected) * (t->ranks[j][b] - expected) / expected;
    }
    worst_inflation = fmax(worst_inflation, exp(t->log_inflation_each[j] / repeats));
    worst_cover = fmin(worst_cover, t->covered_each[j] / repeats);
    worst_chi2 = fmax(worst_chi2, chi2);
  }
  printf("| %s | %s | %zu | %zu | %g | %.0f | %.2f (%.2f) |", tacit_family_string(s->family),
         s->truth == TRUTH_PRIOR   ? "prior"
         : s->truth == TRUTH_FIXED ? "fixed"
                                   : "rare",
         s->d, s->n, s->epsilon, repeats, exp(t->log_inflation / t->n), worst_inflation);
  for (size_t l = 0; l < 4; l++) {
    printf(" %.3f |", t->covered[l] / t->n);
  }
  printf(" %.2f | %.2f | %.3f | %.0f | %.0f | %.2f |\n", worst_cover, sqrt(t->square_z / t->n),
         t->square_rank / t->n, t->n_far, worst_chi2, seconds / repeats);
}

int main(int argc, char **argv) {
  if (argc < 8) {
    fprintf(stderr, "usage: noise_aware_calibration FAMILY UPPER TRUTH D N EPSILON REPEATS [SEED [FAULT]]\n");
    return 2;
  }
  simulation_t s = {.upper = atof(argv[2]),
                    .truth = strcmp(argv[3], "prior") == 0  ? TRUTH_PRIOR
                             : strcmp(argv[3], "rare") == 0 ? TRUTH_RARE
                                                            : TRUTH_FIXED,
                    .d = (size_t)atoi(argv[4]),
                    .n = (size_t)atoi(argv[5]),
                    .epsilon = atof(argv[6]),
                    .delta = 1e-6,
                    .n_chains = 4,
                    .n_warmup = 150,
                    .n_draws = 250,
                    .has_reference = true,
                    .fault = argc > 9 ? (tacit_fault_t)atoi(argv[9]) : TACIT_FAULT_NONE};
  simulation_must(tacit_family_parse(&s.family, argv[1], &simulation_error));
  size_t repeats = (size_t)atoi(argv[7]), seed = argc > 8 ? (size_t)atoi(argv[8]) : 1;
  totals_t totals = {0};
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (size_t i = 0; i < repeats; i++) {
    simulation_fit_t fit;
    simulation_run(&s, seed * 100000 + i, &fit);
    add(&totals, &fit);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  print(&s, &totals, (double)repeats,
        (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
  return 0;
}
