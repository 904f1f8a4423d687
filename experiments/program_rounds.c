/*
 * Programs fitted by centred scores (docs/theory.md, section 18.13): coverage of central 90 % intervals for
 * true parameters and of normal ones without noise, ratio of sds, flags. One line a run, appended to FILE;
 * runs that FILE has are not made again.
 *
 *     program_rounds MODEL N EPSILON RUNS FILE [RELATION [FAULT [SHARE]]]      MODEL: negbin, weibull;
 * RELATION: substitute, add-remove
 *
 * SHARE: N are persons of 1 to 12 rows, evenly, and this share of a row's normal score is the person's; the
 * intervals without noise take rows for independent.
 */
#include <stdlib.h>
#include <time.h>

#include "noise_aware/program_simulation.h"
#include "rounds_table.h"

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(
        stderr,
        "usage: program_rounds negbin|weibull N EPSILON RUNS FILE [substitute|add-remove [FAULT [SHARE]]]\n");
    return 2;
  }
  program_setup_t s = {.is_weibull = strcmp(argv[1], "weibull") == 0,
                       .n = (size_t)atoi(argv[2]),
                       .epsilon = atof(argv[3]),
                       .delta = 1e-6,
                       .n_draws = 500,
                       .n_chains = 2,
                       .relation = argc > 6 && strcmp(argv[6], "add-remove") == 0 ? TACIT_RELATION_ADD_REMOVE
                                                                                  : TACIT_RELATION_SUBSTITUTE,
                       .fault = argc > 7 ? (tacit_fault_t)atoi(argv[7]) : TACIT_FAULT_NONE,
                       .max_rows = argc > 8 ? 12 : 0,
                       .share = argc > 8 ? atof(argv[8]) : 0};
  size_t done, runs = (size_t)atoi(argv[4]);
  FILE *file = rounds_open(argv[5], &done);
  for (size_t k = done; k < runs; k++) {
    program_result_t r;
    clock_t before = clock();
    program_fit(&s, k + 1, &r);
    fprintf(file, "%zu %d %.4g %.3f", k, r.is_flagged, r.last_step,
            (double)(clock() - before) / CLOCKS_PER_SEC);
    rounds_write(file, PROGRAM_D, r.theta, r.mean, r.sd, r.share_below, r.plain_mean, r.plain_sd);
  }
  fclose(file);
  char label[256];
  snprintf(label, sizeof label, "%s, n %s, epsilon %s", argv[1], argv[2], argv[3]);
  rounds_summarise(argv[5], label, PROGRAM_D, 2);
  return 0;
}
