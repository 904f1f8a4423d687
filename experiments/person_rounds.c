/*
 * Persons of several rows by scores (docs/theory.md, section 18.15): coverage of central 90 % intervals for
 * true parameters and of the sandwich's without noise, ratio of sds, flags. One line a run, appended to FILE;
 * runs that FILE has are not made again.
 *
 *     person_rounds KIND PERSONS EPSILON RUNS FILE [RELATION [FAULT]]
 *
 * KIND: logit (bridge effects, phi .7), independent (none), by-x (logit, rows depend on a feature), count
 * (gamma effects of variance 1/2), normal (linear regression, half of the variance the person's),
 * normal-independent; RELATION: substitute, add-remove
 */
#include <time.h>

#include "diagnose/diagnose.h"
#include "noise_aware/person_simulation.h"
#include "rounds_table.h"

enum { D = 5 };

/* Has the fit a problem, as `tacit diagnose` calls it? */
static bool is_flagged(const tacit_evidence_t *evidence) {
  bool is = false;
  for (size_t i = 0; i < evidence->checks.n; i++) {
    const tacit_check_t *check = &evidence->checks.items[i];
    is = is ||
         (tacit_check_is_flagged(check) && tacit_check_info(check->id)->severity == TACIT_SEVERITY_PROBLEM);
  }
  return is;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: person_rounds logit|independent|by-x|count|normal|normal-independent "
                    "PERSONS EPSILON RUNS FILE "
                    "[substitute|add-remove [FAULT]]\n");
    return 2;
  }
  bool is_count = strcmp(argv[1], "count") == 0, is_normal = strncmp(argv[1], "normal", 6) == 0,
       is_independent = strstr(argv[1], "independent") != NULL,
       is_add_remove = argc > 6 && strcmp(argv[6], "add-remove") == 0;
  person_setup_t p = {.s = {.family = is_normal  ? TACIT_FAMILY_GAUSSIAN
                                      : is_count ? TACIT_FAMILY_POISSON
                                                 : TACIT_FAMILY_BERNOULLI,
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
                            .fault = argc > 7 ? (tacit_fault_t)atoi(argv[7]) : TACIT_FAULT_NONE},
                      .max_rows = 12,
                      .phi = is_independent ? 1
                             : is_count     ? 2.0 / 3
                             : is_normal    ? 0.5
                                            : 0.7,
                      .is_row_by_x = strcmp(argv[1], "by-x") == 0};
  size_t done, runs = (size_t)atoi(argv[4]);
  FILE *file = rounds_open(argv[5], &done);
  for (size_t k = done; k < runs; k++) {
    simulation_fit_t r;
    tacit_evidence_t evidence;
    clock_t before = clock();
    person_run(&p, k + 1, &r, &evidence);
    fprintf(file, "%zu %d %.3f", k, is_flagged(&evidence), (double)(clock() - before) / CLOCKS_PER_SEC);
    rounds_write(file, D, r.theta, r.mean, r.sd, r.share_below, p.plain_mean, p.plain_sd);
  }
  fclose(file);
  char label[256];
  snprintf(label, sizeof label, "%s, %s persons, epsilon %s, %s", argv[1], argv[2], argv[3],
           is_add_remove ? "add-remove" : "substitute");
  rounds_summarise(argv[5], label, D, 1);
  return 0;
}
