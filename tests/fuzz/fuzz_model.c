/* Any bytes as the model of `tacit infer`, beside a statistic of each kind, end in success or in an error. */
#define _GNU_SOURCE /* memfd_create */
#include <string.h>

#include "cli/infer.h"
#include "fuzz_file.h"

static const char *const statistics[] = {
    "statistic: mean\nvalue: 0.3\nlower: -1\nupper: 1\nmechanism: laplace\nepsilon: 1\nn: 50\n",
    "statistic: sum\nvalue: 40\nlower: 0\nupper: 9\nstep: 1\nmechanism: discrete-laplace\nepsilon: 1\nn: 50\n",
    "statistic: counts\nvalue: [20, 30]\nmechanism: gaussian\nscale: 2\nn: 50\n",
    ("statistic: regression-moments\ncolumns: [x, y]\nlower: [0, 0]\nupper: [1, 2]\nvalue: [0, 0, 0.2, 0.1, 0.2]\n"
    "mechanism: gaussian\nscale: 0.1\nn: 50\n")};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char model[64], statistic[64];
  if (size == 0) {
    return 0;
  }
  const char *text = statistics[data[0] % 4];
  int first = fuzz_file(data + 1, size - 1, model), second = fuzz_file(text, strlen(text), statistic);
  cli_infer_t infer;
  tacit_error_t err;
  if (first >= 0 && second >= 0) {
    bool ok = cli_infer_read(&infer, model, statistic, 0, &err) == TACIT_OK;
    if (ok && tacit_augment_validate(&infer.model, &infer.release, &err) != TACIT_OK) {
      __builtin_trap(); /* what is read is valid */
    }
    cli_infer_clear(&infer);
  }
  close(first);
  close(second);
  return 0;
}
