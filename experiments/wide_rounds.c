/*
 * Regressions of many features by scores (docs/theory.md, section 18.17): coverage of central 90 % intervals
 * for true parameters and of normal ones without noise, ratio of sds, flags, seconds. One line a run,
 * appended to FILE; runs that FILE has are not made again.
 *
 *     wide_rounds bernoulli|poisson|steep D RECORDS EPSILON RUNS FILE [substitute|add-remove [FAULT]]
 *
 * poisson: counts up to 12; steep: of slopes twice as large, so that rates spread over three orders of
 * magnitude. Columns in turn normal, two-valued, skewed and uniform, of latent correlation 0.3; slopes of
 * alternating sign (tests/noise_aware/simulation.h).
 */
#include <time.h>

#include "diagnose/diagnose.h"
#include "noise_aware/simulation.h"
#include "rounds_table.h"

/* 1 and the number of the first check that calls the fit a problem, as `tacit diagnose` does; 0: none. */
static int problem_of(const tacit_evidence_t *evidence) {
  for (size_t i = 0; i < evidence->checks.n; i++) {
    const tacit_check_t *check = &evidence->checks.items[i];
    if (tacit_check_is_flagged(check) && tacit_check_info(check->id)->severity == TACIT_SEVERITY_PROBLEM) {
      return 1 + (int)check->id;
    }
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 7) {
    fprintf(stderr, "usage: wide_rounds bernoulli|poisson|steep D RECORDS EPSILON RUNS FILE "
                    "[substitute|add-remove [FAULT]]\n");
    return 2;
  }
  bool is_steep = strcmp(argv[1], "steep") == 0, is_count = is_steep || strcmp(argv[1], "poisson") == 0,
       is_add_remove = argc > 7 && strcmp(argv[7], "add-remove") == 0;
  simulation_t s = {.family = is_count ? TACIT_FAMILY_POISSON : TACIT_FAMILY_BERNOULLI,
                    .upper = is_count ? 12 : 1,
                    .truth = TRUTH_FIXED,
                    .d = (size_t)atoi(argv[2]),
                    .n = (size_t)atoi(argv[3]),
                    .relation = is_add_remove ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE,
                    .epsilon = atof(argv[4]),
                    .delta = 1e-6,
                    .n_chains = 2,
                    .n_warmup = 300,
                    .n_draws = 500,
                    .has_reference = true,
                    .is_steep = is_steep,
                    .fault = argc > 8 ? (tacit_fault_t)atoi(argv[8]) : TACIT_FAULT_NONE};
  size_t done, runs = (size_t)atoi(argv[5]);
  FILE *file = rounds_open(argv[6], &done);
  for (size_t k = done; k < runs; k++) {
    static simulation_fit_t r;
    static tacit_evidence_t evidence;
    simulation_run_checked(&s, k + 1, &evidence, &r);
    fprintf(file, "%zu %d %.3f", k, problem_of(&evidence), r.seconds);
    rounds_write(file, s.d, r.theta, r.mean, r.sd, r.share_below, r.reference_mean, r.reference_sd);
  }
  fclose(file);
  char label[256];
  snprintf(label, sizeof label, "%s, d %s, n %s, epsilon %s, %s", argv[1], argv[2], argv[3], argv[4],
           is_add_remove ? "add-remove" : "substitute");
  rounds_summarise(argv[6], label, s.d, 1);
  return 0;
}
