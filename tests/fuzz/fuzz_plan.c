/* Any bytes as a plan of `tacit account --plan` end in success or in an error. */
#define _GNU_SOURCE /* memfd_create */
#include <string.h>

#include "cli/account.h"
#include "fuzz_file.h"

/* Events that name a file would read whatever is there. */
static bool names_a_file(const uint8_t *data, size_t size) {
  for (size_t i = 0; i + 4 < size; i++) {
    if (memcmp(data + i, "pair:", 5) == 0 || (i + 7 < size && memcmp(data + i, "profile:", 8) == 0)) {
      return true;
    }
  }
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  account_plan_t plan = {.iterations = 1};
  tacit_error_t err;
  int file = names_a_file(data, size) ? -1 : fuzz_file(data, size, path);
  if (file < 0) {
    return 0;
  }
  tacit_event_t *events = NULL;
  size_t n;
  if (account_plan_read(&plan, path, &err) == TACIT_OK &&
      account_plan_events(&plan, &events, &n, &err) == TACIT_OK) {
    if (n == 0) {
      __builtin_trap(); /* a plan has events */
    }
  }
  tacit_free(events);
  account_plan_clear(&plan);
  close(file);
  return 0;
}
