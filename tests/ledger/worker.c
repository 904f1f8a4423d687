/*
 * For kill_test.py:  worker LEDGER NAME RECORDS
 * Reserves, "releases" (appends a synced line "spend count" to RECORDS), settles, over and over until the
 * ledger refuses. Exit status 4 for a refusal, 1 for any other error.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tacit/ledger.h"

/* Fails loudly: the test counts on its records. */
static void release(const char *path, uint64_t id, uint64_t count) {
  char line[64];
  int n = snprintf(line, sizeof line, "%llu %llu\n", (unsigned long long)id, (unsigned long long)count);
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (fd < 0 || write(fd, line, (size_t)n) != n || fsync(fd) != 0 || close(fd) != 0) {
    perror(path);
    exit(1);
  }
}

static tacit_status_t spend_once(tacit_ledger_t *ledger, const char *name, const char *records,
                                 tacit_error_t *err) {
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN,
                         .noise_multiplier = 10,
                         .count = 1 + (uint64_t)rand() % 8,
                         .label = "gradient"};
  tacit_spend_request_t request = {
      .unit = "row", .max_rows = 1, .purpose = name, .artefact = records, .events = &event, .n_events = 1};
  tacit_reservation_t spend;
  tacit_status_t status = tacit_ledger_reserve(ledger, &request, &spend, err);
  if (status == TACIT_OK) {
    event.count = 1 + (uint64_t)rand() % event.count; /* it may end before all that it planned */
    release(records, spend.id, event.count);
    status = tacit_ledger_settle(ledger, &spend, &event, 1, err);
  }
  return status;
}

int main(int argc, char **argv) {
  tacit_ledger_t *ledger;
  tacit_error_t err;
  if (argc != 4) {
    return 2;
  }
  srand((unsigned)getpid());
  tacit_status_t status = tacit_ledger_open(&ledger, argv[1], &err);
  while (status == TACIT_OK) {
    status = spend_once(ledger, argv[2], argv[3], &err);
  }
  tacit_ledger_close(ledger);
  if (status != TACIT_ERR_BUDGET) {
    fprintf(stderr, "%s\n", err.message);
  }
  return status == TACIT_ERR_BUDGET ? 4 : 1;
}
