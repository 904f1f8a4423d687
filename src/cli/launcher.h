/* What src/cli/ranks.c needs of MPI: mpi.c, or no_mpi.c in a build without it. */
#ifndef TACIT_CLI_LAUNCHER_H
#define TACIT_CLI_LAUNCHER_H

#include "curator/curator.h"

/* Set rank, number of ranks and sum(); false in a build without MPI. Errors of MPI end all processes. */
bool cli_mpi_open(tacit_ranks_t *ranks);
void cli_mpi_close(void);

#endif
