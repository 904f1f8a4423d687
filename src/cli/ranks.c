#include "cli/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/launcher.h"

static tacit_ranks_t ranks = {.n_ranks = 1};
static int agreed;        /* exit status; CLI_OK until one rank fails */
static FILE *unsaid;      /* what ranks but the first print to standard error */
static int terminal = -1; /* where that would have gone */

/* Those who start several processes say how many in the environment; joining them takes time that one alone
 * should not spend. */
static bool is_launched(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS",
                                      "SLURM_STEP_NUM_TASKS"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char *size = getenv(names[i]);
    if (size != NULL && strtol(size, NULL, 10) > 1) {
      return true;
    }
  }
  return false;
}

/* Only the first rank is heard. */
static bool fall_silent(void) {
  unsaid = tmpfile();
  terminal = dup(STDERR_FILENO);
  return unsaid != NULL && terminal >= 0 && dup2(fileno(unsaid), STDERR_FILENO) >= 0 &&
         freopen("/dev/null", "w", stdout) != NULL;
}

int cli_ranks_open(void) {
  if (!is_launched()) {
    return CLI_OK;
  }
  if (!cli_mpi_open(&ranks)) {
    fprintf(stderr, "tacit: started as one of several processes, but built without MPI: build with meson's "
                    "-Dmpi=enabled\n");
    return CLI_USAGE;
  }
  if (!cli_is_first_rank() && !fall_silent()) {
    fprintf(stderr, "tacit: rank %zu cannot redirect its output\n", ranks.rank);
    return cli_ranks_agree(CLI_FAILURE);
  }
  return cli_ranks_agree(CLI_OK);
}

void cli_ranks_close(void) {
  if (ranks.sum != NULL) {
    cli_mpi_close();
  }
}

const tacit_ranks_t *cli_ranks(void) { return ranks.n_ranks > 1 ? &ranks : NULL; }

bool cli_is_first_rank(void) { return ranks.rank == 0; }

static void say_unsaid(void) {
  char buffer[4096];
  fflush(stderr);
  rewind(unsaid);
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, unsaid)) > 0;) {
    if (write(terminal, buffer, n) < 0) {
      return;
    }
  }
}

int cli_ranks_agree(int status) {
  if (ranks.n_ranks <= 1 || agreed != CLI_OK) {
    return status != CLI_OK ? status : agreed;
  }
  if (!cli_ranks_any(status != CLI_OK)) {
    return CLI_OK;
  }
  for (size_t r = 0; agreed == CLI_OK; r++) { /* the first that failed */
    int64_t of_rank = r == ranks.rank ? status : 0;
    ranks.sum(ranks.user, 1, &of_rank);
    agreed = (int)of_rank;
    if (agreed != CLI_OK && r == ranks.rank && unsaid != NULL) {
      say_unsaid();
    }
  }
  return agreed;
}

bool cli_ranks_are_well(void *unused) {
  (void)unused;
  return cli_ranks_agree(CLI_OK) == CLI_OK;
}

bool cli_ranks_have_failed(void) { return agreed != CLI_OK; }

bool cli_ranks_any(bool flag) {
  int64_t n = flag;
  if (ranks.n_ranks > 1) {
    ranks.sum(ranks.user, 1, &n);
  }
  return n > 0;
}
