#include "cli/reading.h"
#include "base/pool.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/result.h"

/* How long, not how much: how many rows there are may be private. */
static bool go_on(void *user) {
  cli_reading_t *reading = user;
  double now = tacit_clock();
  if (reading->is_shown && now - reading->last > 0.5) {
    fprintf(stderr, "\rreading the records: %.0f s", now - reading->start);
    reading->last = now;
    reading->is_begun = true;
  }
  return !cli_is_interrupted();
}

void cli_reading_begin(cli_reading_t *reading, const cli_args_t *args) {
  bool is_quiet = cli_is_given(args, "quiet");
  *reading = (cli_reading_t){.watch = {.go_on = go_on, .user = reading},
                             .is_shown = !is_quiet && isatty(STDERR_FILENO)};
  reading->start = tacit_clock();
  reading->last = reading->start + 0.5;
}

void cli_reading_end(const cli_reading_t *reading) {
  if (reading->is_begun) {
    fprintf(stderr, "\r%40s\r", "");
  }
}
