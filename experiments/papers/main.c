/*
 * tacit-papers [--quick] [--only a|b|c|d|NAME] [--list] --out DIR: recompute results of the papers.
 * Exit status 0 if all that was asserted holds, 1 if not or if nothing could be written, 2 for a wrong command line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "papers.h"

static const study_t *const studies[] = {&study_hmc_budget,       &study_hmc_marginals, &study_hmc_clipping,
                                         &study_sghmc_accounting, &study_sghmc_radon,   &study_sghmc_phase,
                                         &study_fast_mixture,     &study_fast_logistic, &study_privatized_grid};
enum { n_studies = sizeof studies / sizeof studies[0] };

static int usage(const char *what, const char *argument) {
  fprintf(stderr, "tacit-papers: %s%s; usage: tacit-papers [--quick] [--only a|b|c|d|NAME] [--list] --out DIR\n", what,
          argument);
  return 2;
}

static int list(void) {
  for (size_t i = 0; i < n_studies; i++) {
    printf("%c %-20s %s\n", studies[i]->part, studies[i]->name, studies[i]->source);
  }
  return 0;
}

static bool is_wanted(const study_t *study, const char *only) {
  return only == NULL || strcmp(only, study->name) == 0 || (only[0] == study->part && only[1] == '\0');
}

static int run_and_write(run_t *run, const char *only) {
  if (mkdir(run->out, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "tacit-papers: cannot make the folder %s: %s\n", run->out, strerror(errno));
    return 1;
  }
  size_t n_run = 0;
  for (size_t i = 0; i < n_studies; i++) {
    if (is_wanted(studies[i], only)) {
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
    return usage("no study is named ", only);
  }
  printf("%zu studies, %zu assertions, %zu do not hold\n", n_run, run->n_checks, run->n_failed);
  return run->n_failed > 0 ? 1 : 0;
}

int main(int argc, char **argv) {
  run_t run = {.quick = false};
  const char *only = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      run.quick = true;
    } else if (strcmp(argv[i], "--list") == 0) {
      return list();
    } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
      run.out = argv[++i];
    } else {
      return usage("unknown or incomplete argument ", argv[i]);
    }
  }
  return run.out == NULL ? usage("--out DIR is missing", "") : run_and_write(&run, only);
}
