#include "cli/launcher.h"

#include <limits.h>
#include <mpi.h>

/* MPI counts in int. Its default handler ends all processes when a call fails. */
static void sum(void *user, size_t n, int64_t *numbers) {
  (void)user;
  while (n > 0) {
    int some = n < INT_MAX ? (int)n : INT_MAX;
    MPI_Allreduce(MPI_IN_PLACE, numbers, some, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    numbers += some;
    n -= (size_t)some;
  }
}

bool cli_mpi_open(tacit_ranks_t *ranks) {
  int rank, n;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  *ranks = (tacit_ranks_t){.rank = (size_t)rank, .n_ranks = (size_t)n, .sum = sum};
  return true;
}

void cli_mpi_close(void) { MPI_Finalize(); }
