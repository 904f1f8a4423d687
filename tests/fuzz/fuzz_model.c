/* Any bytes as the model of `tacit infer`, beside a statistic of each kind, end in success or in an error. */
#include <string.h>

#include "infer/infer_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const statistics[] = {
    "statistic: mean\nvalue: 0.3\nlower: -1\nupper: 1\nmechanism: laplace\nepsilon: 1\nn: 50\n",
    "statistic: sum\nvalue: 40\nlower: 0\nupper: 9\nstep: 1\nmechanism: discrete-laplace\nepsilon: 1\nn: "
    "50\n",
    "statistic: counts\nvalue: [20, 30]\nmechanism: gaussian\nscale: 2\nn: 50\n",
    ("statistic: regression-moments\ncolumns: [x, y]\nlower: [0, 0]\nupper: [1, 2]\nvalue: [0, 0, 0.2, 0.1, "
     "0.2]\n"
     "mechanism: gaussian\nscale: 0.1\nn: 50\n")};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tacit_infer_t *infer;
  tacit_error_t err;
  if (size == 0 || tacit_infer_new(&infer, NULL, &err) != TACIT_OK) {
    return 0;
  }
  const char *text = statistics[data[0] % 4];
  if (tacit_infer_set_model(infer, (const char *)data + 1, size - 1, "model", &err) == TACIT_OK &&
      tacit_infer_set_statistic(infer, text, strlen(text), "statistic", &err) == TACIT_OK &&
      tacit_infer_read(infer, &err) == TACIT_OK &&
      tacit_augment_validate(&infer->model, &infer->release, &err) != TACIT_OK) {
    __builtin_trap(); /* what is read is valid */
  }
  tacit_infer_free(infer);
  return 0;
}
