/*
 * tacit-corrections [--quick] [--only NAME] [--list] --out DIR: recompute every error of the papers that
 * tacit builds on. Exit status 0 if every row was confirmed, 1 if one was not or nothing could be written, 2
 * for a wrong command line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../command.h"
#include "corrections.h"

static const source_t *const sources[] = {&source_dp_hmc, &source_thesis, &source_sghmc, &source_dp_fast_mh,
                                          &source_privatized};
enum { n_sources = sizeof sources / sizeof sources[0] };

static int list(void) {
  for (size_t s = 0; s < n_sources; s++) {
    for (size_t c = 0; c < sources[s]->n_cases; c++) {
      printf("%-24s [%s] %s\n", sources[s]->cases[c].name, sources[s]->key, sources[s]->cases[c].place);
    }
  }
  return 0;
}

static void run_case(run_t *run) {
  size_t first = run->n_rows;
  run->has_figure = false;
  run->current->run(run);
  for (size_t i = first; i < run->n_rows; i++) {
    printf("%-24s %-16s %s\n", run->current->name, run->rows[i].verdict, run->rows[i].quantity);
  }
  fflush(stdout);
  if (run->n_rows > first) {
    run->rows[run->n_rows - 1].has_figure = run->has_figure;
  }
}

static size_t run_cases(run_t *run, const char *only) {
  size_t n_run = 0;
  for (size_t s = 0; s < n_sources; s++) {
    for (size_t c = 0; c < sources[s]->n_cases; c++) {
      run->source = sources[s];
      run->current = &sources[s]->cases[c];
      if (only == NULL || strcmp(only, run->current->name) == 0) {
        run_case(run);
        n_run++;
      }
    }
  }
  return n_run;
}

static int run_and_write(run_t *run, const command_t *command) {
  size_t n_run = run_cases(run, command->only);
  if (n_run == 0) {
    return command_usage(command, "no case is named ", command->only);
  }
  write_csv(run);
  write_markdown(run);
  size_t n_failed = 0;
  for (size_t i = 0; i < run->n_rows; i++) {
    n_failed += !run->rows[i].confirmed;
  }
  printf("%zu cases, %zu rows, %zu not confirmed\n", n_run, run->n_rows, n_failed);
  return n_failed > 0 ? 1 : 0;
}

int main(int argc, char **argv) {
  command_t command = {.program = "tacit-corrections", .names = "NAME"};
  int status = command_read(&command, argc, argv);
  if (status != 0 || command.is_list) {
    return status != 0 ? status : list();
  }
  run_t run = {.quick = command.is_quick, .out = command.out};
  status = run_and_write(&run, &command);
  free(run.rows);
  return status;
}
