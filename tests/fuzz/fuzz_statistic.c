/* Any bytes as the statistic of `tacit infer`, beside a model of each law of records, end in success or in an error. */
#define _GNU_SOURCE /* memfd_create */
#include <string.h>

#include "cli/infer.h"
#include "fuzz_file.h"

static const char *const models[] = {"records: gaussian\nmean: normal(0, 1)\nvariance: inverse_gamma(2, 1)\n",
                                     "records: poisson\nrate: gamma(2, 1)\n",
                                     "records: categorical\nfactors: {sex: [F, M], s: [a, b]}\nprobabilities: dirichlet(1)\n",
                                     "records: regression\ncoefficients: normal(0, 1)\nvariance: inverse_gamma(2, 1)\n"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char model[64], statistic[64];
  if (size == 0) {
    return 0;
  }
  const char *text = models[data[0] % 4];
  int first = fuzz_file(text, strlen(text), model), second = fuzz_file(data + 1, size - 1, statistic);
  cli_infer_t infer;
  tacit_error_t err;
  if (first >= 0 && second >= 0) {
    bool ok = cli_infer_read(&infer, model, statistic, data[0] & 4 ? 50 : 0, &err) == TACIT_OK;
    for (size_t k = 0; ok && k < infer.release.n_values; k++) {
      if (!(infer.release.scales[k] > 0)) {
        __builtin_trap(); /* noise that is none */
      }
    }
    cli_infer_clear(&infer);
  }
  close(first);
  close(second);
  return 0;
}
