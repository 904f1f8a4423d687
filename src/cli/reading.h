#ifndef TACIT_CLI_READING_H
#define TACIT_CLI_READING_H

#include "cli/cli.h"

/* Says on a terminal that records are being read, and stops where the user does. */
typedef struct cli_reading {
  tacit_stream_watch_t watch;
  bool is_shown, is_begun;
  double start, last;
} cli_reading_t;

void cli_reading_begin(cli_reading_t *reading, const cli_args_t *args);
void cli_reading_end(const cli_reading_t *reading);

#endif
