/*
 * What experiments that fit simulated records again and again keep and print: a line a run in a file, runs
 * that it has are not made again; of all of them a row: runs, flagged, coverage of central 90 % intervals
 * (each coefficient's), that of normal ones without noise, ratios of sds, mean standardised errors, their
 * mean square, errors beyond 6 sds, seconds a run.
 */
#ifndef TACIT_EXPERIMENTS_ROUNDS_TABLE_H
#define TACIT_EXPERIMENTS_ROUNDS_TABLE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS_MAX_D = 256 };

/* *done <- lines that the file has; exits if it cannot be written. */
static inline FILE *rounds_open(const char *path, size_t *done) {
  FILE *file = fopen(path, "a+");
  if (file == NULL) {
    fprintf(stderr, "cannot write %s\n", path);
    exit(1);
  }
  rewind(file);
  *done = 0;
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) {
    *done += c == '\n';
  }
  return file;
}

/* Ends a line that has the run's number, 1 if it was flagged, and numbers of one's own, the last of which are
 * the seconds that it took. */
static inline void rounds_write(FILE *file, size_t d, const double *truth, const double *mean,
                                const double *sd, const double *share_below, const double *plain_mean,
                                const double *plain_sd) {
  for (size_t j = 0; j < d; j++) {
    fprintf(file, " %.6g %.6g %.6g %.4g %.6g %.6g", truth[j], mean[j], sd[j], share_below[j], plain_mean[j],
            plain_sd[j]);
  }
  fprintf(file, "\n");
  fflush(file);
}

/* n_more: how many numbers of one's own a line has. */
static inline void rounds_summarise(const char *path, const char *label, size_t d, size_t n_more) {
  FILE *file = fopen(path, "r");
  static char line[1 << 16];
  double runs = 0, flagged = 0, covered = 0, plain = 0, z2 = 0, far = 0, seconds = 0,
         ratio[ROUNDS_MAX_D] = {0}, each[ROUNDS_MAX_D] = {0}, bias[ROUNDS_MAX_D] = {0};
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    char *at = line;
    double took = 0;
    (void)strtod(at, &at);
    bool is_flagged = strtod(at, &at) > 0;
    for (size_t i = 0; i < n_more; i++) {
      took = strtod(at, &at);
    }
    runs++;
    flagged += is_flagged;
    seconds += took;
    for (size_t j = 0; j < d; j++) {
      double truth = strtod(at, &at), mean = strtod(at, &at), sd = strtod(at, &at), share = strtod(at, &at),
             plain_mean = strtod(at, &at), plain_sd = strtod(at, &at);
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
  double n = fmax(runs - flagged, 1), terms = n * (double)d;
  printf("| %s | %.0f | %.0f | %.3f (", label, runs, flagged, covered / terms);
  for (size_t j = 0; j < d; j++) {
    printf("%s%.2f", j > 0 ? " " : "", each[j] / n);
  }
  printf(") | %.3f |", plain / terms);
  for (size_t j = 0; j < d; j++) {
    printf(" %.2f", exp(ratio[j] / n));
  }
  printf(" |");
  for (size_t j = 0; j < d; j++) {
    printf(" %.2f", bias[j] / n);
  }
  printf(" | %.2f | %.0f | %.2f |\n", z2 / terms, far, seconds / fmax(runs, 1));
}

#endif
