/*
 * tacit-papers [--quick] [--only a|b|c|d|NAME] [--list] --out DIR: recompute results of the papers.
 * Exit status 0 if all that was asserted holds, 1 if not or if nothing could be written, 2 for a wrong
 * command line.
 */
#include <stdlib.h>
#include <string.h>

#include "../command.h"
#include "papers.h"

static const study_t *const studies[] = {
    &study_hmc_budget,       &study_hmc_marginals, &study_hmc_clipping,
    &study_sghmc_accounting, &study_sghmc_radon,   &study_sghmc_phase,
    &study_fast_mixture,     &study_fast_logistic, &study_privatized_grid};
enum { n_studies = sizeof studies / sizeof studies[0] };

static int list(void) {
  for (size_t i = 0; i < n_studies; i++) {
    printf("%c %-20s %s\n", studies[i]->part, studies[i]->name, studies[i]->source);
  }
  return 0;
}

static bool is_wanted(const study_t *study, const char *only) {
  return only == NULL || strcmp(only, study->name) == 0 || (only[0] == study->part && only[1] == '\0');
}

static int run_and_write(run_t *run, const command_t *command) {
  size_t n_run = 0;
  for (size_t i = 0; i < n_studies; i++) {
    if (is_wanted(studies[i], command->only)) {
      double start = seconds();
      study_begin(run, studies[i]);
      studies[i]->run(run);
      study_end(run);
      printf("%-20s %.1f s\n", studies[i]->name, seconds() - start);
      fflush(stdout);
      n_run++;
    }
  }
  if (n_run == 0) {
    return command_usage(command, "no study is named ", command->only);
  }
  printf("%zu studies, %zu assertions, %zu do not hold\n", n_run, run->n_checks, run->n_failed);
  return run->n_failed > 0 ? 1 : 0;
}

int main(int argc, char **argv) {
  command_t command = {.program = "tacit-papers", .names = "a|b|c|d|NAME"};
  int status = command_read(&command, argc, argv);
  if (status != 0 || command.is_list) {
    return status != 0 ? status : list();
  }
  run_t run = {.quick = command.is_quick, .out = command.out};
  return run_and_write(&run, &command);
}
