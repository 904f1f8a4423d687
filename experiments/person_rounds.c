/*
 * Persons of several rows by scores (docs/theory.md, section 18.15): coverage of central 90 % intervals for true parameters and of the
 * sandwich's without noise, ratio of sds, flags. One line a run, appended to FILE; runs that FILE has are not made again.
 *
 *     person_rounds KIND PERSONS EPSILON RUNS FILE [RELATION [FAULT]]
 *
 * KIND: logit (bridge effects, phi .7), independent (none), by-x (logit, rows depend on a feature), count (gamma effects of variance 1/2);
 * RELATION: substitute, add-remove
 */
#include <time.h>

#include "noise_aware/person_simulation.h"

enum { D = 5 };

/* Has the fit a problem, as `tacit diagnose` calls it? */
static bool is_flagged(const tacit_evidence_t *evidence) {
  bool is = false;
  for (size_t i = 0; i < evidence->checks.n; i++) {
    const tacit_check_t *check = &evidence->checks.items[i];
    is = is || (tacit_check_is_flagged(check) && tacit_check_info(check->id)->severity == TACIT_SEVERITY_PROBLEM);
  }
  return is;
}

static void summarise(const char *path, const char *label) {
  FILE *file = fopen(path, "r");
  char line[4096];
  double runs = 0, flagged = 0, covered = 0, plain = 0, z2 = 0, seconds = 0, ratio[D] = {0}, each[D] = {0};
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    char *at = line;
    (void)strtod(at, &at);
    bool has_problem = strtod(at, &at) > 0;
    seconds += strtod(at, &at);
    runs++;
    flagged += has_problem;
    for (size_t j = 0; j < D; j++) {
      double truth = strtod(at, &at), mean = strtod(at, &at), sd = strtod(at, &at), share = strtod(at, &at), plain_mean = strtod(at, &at), plain_sd = strtod(at, &at);
      if (!has_problem) {
        covered += fabs(2 * share - 1) <= 0.9;
        each[j] += fabs(2 * share - 1) <= 0.9;
        plain += fabs(plain_mean - truth) <= 1.645 * plain_sd;
        z2 += (mean - truth) * (mean - truth) / (sd * sd);
        ratio[j] += log(sd / plain_sd);
      }
    }
  }
  if (file != NULL) {
    fclose(file);
  }
  double n = fmax(runs - flagged, 1);
  printf("| %s | %.0f | %.0f | %.3f (", label, runs, flagged, covered / n / D);
  for (size_t j = 0; j < D; j++) {
    printf("%s%.2f", j > 0 ? " " : "", each[j] / n);
  }
  printf(") | %.3f |", plain / n / D);
  for (size_t j = 0; j < D; j++) {
    printf(" %.2f", exp(ratio[j] / n));
  }
  printf(" | %.2f | %.2f |\n", z2 / n / D, seconds / fmax(runs, 1));
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: person_rounds logit|independent|by-x|count PERSONS EPSILON RUNS FILE [substitute|add-remove [FAULT]]\n");
    return 2;
  }
  bool is_count = strcmp(argv[1], "count") == 0, is_add_remove = argc > 6 && strcmp(argv[6], "add-remove") == 0;
  person_setup_t p = {.s = {.family = is_count ? TACIT_FAMILY_POISSON : TACIT_FAMILY_BERNOULLI,
                            .upper = is_count ? 20 : 1,
                            .truth = TRUTH_FIXED,
                            .d = D,
                            .n = (size_t)atoi(argv[2]),
                            .relation = is_add_remove ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE,
                            .epsilon = atof(argv[3]),
                            .delta = 1e-6,
                            .n_chains = 2,
                            .n_warmup = 200,
                            .n_draws = 500,
                            .fault = argc > 7 ? (tacit_noise_aware_fault_t)atoi(argv[7]) : TACIT_NOISE_AWARE_SOUND},
                      .max_rows = 12,
                      .phi = strcmp(argv[1], "independent") == 0 ? 1 : is_count ? 2.0 / 3 : 0.7,
                      .is_row_by_x = strcmp(argv[1], "by-x") == 0};
  size_t done = 0, runs = (size_t)atoi(argv[4]);
  FILE *file = fopen(argv[5], "a+");
  if (file == NULL) {
    fprintf(stderr, "cannot write %s\n", argv[5]);
    return 1;
  }
  rewind(file);
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) {
    done += c == '\n';
  }
  for (size_t k = done; k < runs; k++) {
    simulation_fit_t r;
    tacit_evidence_t evidence;
    clock_t before = clock();
    person_run(&p, k + 1, &r, &evidence);
    fprintf(file, "%zu %d %.3f", k, is_flagged(&evidence), (double)(clock() - before) / CLOCKS_PER_SEC);
    for (size_t j = 0; j < D; j++) {
      fprintf(file, " %.6g %.6g %.6g %.4g %.6g %.6g", r.theta[j], r.mean[j], r.sd[j], r.share_below[j], p.plain_mean[j], p.plain_sd[j]);
    }
    fprintf(file, "\n");
    fflush(file);
  }
  fclose(file);
  char label[256];
  snprintf(label, sizeof label, "%s, %s persons, epsilon %s, %s", argv[1], argv[2], argv[3], is_add_remove ? "add-remove" : "substitute");
  summarise(argv[5], label);
  return 0;
}
