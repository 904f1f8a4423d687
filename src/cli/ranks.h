/*
 * The processes of `mpirun -n R tacit fit`: all run the same program over their share of the records, and the
 * first one speaks for all. Alone, or built without MPI, there is one.
 */
#ifndef TACIT_CLI_RANKS_H
#define TACIT_CLI_RANKS_H

#include "cli/cli.h"
#include "curator/curator.h"

/* Join the others, if there are any; CLI_OK or an exit status after printing what is wrong. Call once, before
 * any command. */
int cli_ranks_open(void);
void cli_ranks_close(void);

/* For the curator; NULL: alone. */
const tacit_ranks_t *cli_ranks(void);
bool cli_is_first_rank(void);

/*
 * The exit status of all ranks so far: the first rank's if it failed, else that of the first rank that did,
 * which prints what it would have said alone. After a failure the ranks are on their own. Call before
 * whatever all must do together.
 */
int cli_ranks_agree(int status);
/* The same of a rank that did not fail, for tacit_fit_ranks_t. */
bool cli_ranks_are_well(void *unused);
/* Has one failed, as far as is known here? */
bool cli_ranks_have_failed(void);
/* True on all ranks if it is on one. */
bool cli_ranks_any(bool flag);

#endif
