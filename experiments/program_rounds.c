/*
 * Programs fitted by centred scores (docs/theory.md, section 18.13): coverage of central 90 % intervals for true parameters and of normal
 * ones without noise, ratio of sds, flags. One line a run, appended to FILE; runs that FILE has are not made again.
 *
 *     program_rounds MODEL N EPSILON RUNS FILE [RELATION [FAULT]]      MODEL: negbin, weibull; RELATION: substitute, add-remove
 */
#include <stdlib.h>
#include <time.h>

#include "noise_aware/program_simulation.h"

static void summarise(const char *path, const char *label) {
  FILE *file = fopen(path, "r");
  char line[4096];
  double runs = 0, flagged = 0, covered = 0, plain = 0, z2 = 0, far = 0, ratio[PROGRAM_D] = {0}, each[PROGRAM_D] = {0}, bias[PROGRAM_D] = {0}, seconds = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    char *at = line;
    (void)strtod(at, &at);
    bool is_flagged = strtod(at, &at) > 0;
    (void)strtod(at, &at), (void)strtod(at, &at);
    double took = strtod(at, &at);
    runs++;
    flagged += is_flagged;
    seconds += took;
    for (size_t j = 0; j < PROGRAM_D; j++) {
      double truth = strtod(at, &at), mean = strtod(at, &at), sd = strtod(at, &at), share = strtod(at, &at), plain_mean = strtod(at, &at), plain_sd = strtod(at, &at);
      if (!is_flagged) {
        covered += fabs(2 * share - 1) <= 0.9;
        each[j] += fabs(2 * share - 1) <= 0.9;
        plain += fabs(plain_mean - truth) <= 1.645 * plain_sd;
        z2 += (mean - truth) * (mean - truth) / (sd * sd);
        bias[j] += (mean - truth) / sd;
        far += fabs(mean - truth) > 6 * sd;
        ratio[j] += log(sd / plain_sd);
      }
    }
  }
  if (file != NULL) {
    fclose(file);
  }
  double n = fmax(runs - flagged, 1);
  printf("| %s | %.0f | %.0f | %.3f (", label, runs, flagged, covered / n / PROGRAM_D);
  for (size_t j = 0; j < PROGRAM_D; j++) {
    printf("%s%.2f", j > 0 ? " " : "", each[j] / n);
  }
  printf(") | %.3f |", plain / n / PROGRAM_D);
  for (size_t j = 0; j < PROGRAM_D; j++) {
    printf(" %.2f", exp(ratio[j] / n));
  }
  printf(" |");
  for (size_t j = 0; j < PROGRAM_D; j++) {
    printf(" %.2f", bias[j] / n);
  }
  printf(" | %.2f | %.0f | %.2f |\n", z2 / n / PROGRAM_D, far, seconds / fmax(runs, 1));
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: program_rounds negbin|weibull N EPSILON RUNS FILE [substitute|add-remove [FAULT]]\n");
    return 2;
  }
  program_setup_t s = {.is_weibull = strcmp(argv[1], "weibull") == 0,
                       .n = (size_t)atoi(argv[2]),
                       .epsilon = atof(argv[3]),
                       .delta = 1e-6,
                       .n_draws = 500,
                       .n_chains = 2,
                       .relation = argc > 6 && strcmp(argv[6], "add-remove") == 0 ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE,
                       .fault = argc > 7 ? (tacit_noise_aware_fault_t)atoi(argv[7]) : TACIT_NOISE_AWARE_SOUND};
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
    program_result_t r;
    clock_t before = clock();
    program_fit(&s, k + 1, &r);
    fprintf(file, "%zu %d %.4g %.4g %.3f", k, r.is_flagged, r.last_step, r.told, (double)(clock() - before) / CLOCKS_PER_SEC);
    for (size_t j = 0; j < PROGRAM_D; j++) {
      fprintf(file, " %.6g %.6g %.6g %.4g %.6g %.6g", r.theta[j], r.mean[j], r.sd[j], r.share_below[j], r.plain_mean[j], r.plain_sd[j]);
    }
    fprintf(file, "\n");
    fflush(file);
  }
  fclose(file);
  char label[256];
  snprintf(label, sizeof label, "%s, n %s, epsilon %s", argv[1], argv[2], argv[3]);
  summarise(argv[5], label);
  return 0;
}
