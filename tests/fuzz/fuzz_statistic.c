/* Any bytes as the statistic of `tacit infer`, beside a model of each distribution of records, end in success
 * or in an error. */
#include <string.h>

#include "infer/infer_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const models[] = {
    "records: gaussian\nmean: normal(0, 1)\nvariance: inverse_gamma(2, 1)\n",
    "records: poisson\nrate: gamma(2, 1)\n",
    "records: categorical\nfactors: {sex: [F, M], s: [a, b]}\nprobabilities: dirichlet(1)\n",
    "records: regression\ncoefficients: normal(0, 1)\nvariance: inverse_gamma(2, 1)\n"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tacit_infer_t *infer;
  tacit_error_t err;
  if (size == 0 || tacit_infer_new(&infer, NULL, &err) != TACIT_OK) {
    return 0;
  }
  const char *text = models[data[0] % 4];
  bool ok =
      tacit_infer_set_model(infer, text, strlen(text), "model", &err) == TACIT_OK &&
      tacit_infer_set_statistic(infer, (const char *)data + 1, size - 1, "statistic", &err) == TACIT_OK &&
      (!(data[0] & 4) || tacit_infer_set(infer, "n", "50", &err) == TACIT_OK) &&
      tacit_infer_read(infer, &err) == TACIT_OK;
  for (size_t k = 0; ok && k < infer->release.n_values; k++) {
    if (!(infer->release.scales[k] > 0)) {
      __builtin_trap(); /* noise that is none */
    }
  }
  tacit_infer_free(infer);
  return 0;
}
