/*
 * Cost of one clipped logistic gradient over all records against the bound of its kernel: it must read
 * 4 (d + 2) bytes a record (features, response, norm), so that one pass can be no faster than reading that
 * memory. The read bandwidth is measured in the same run, on the same records, single-threaded.
 * Prints a JSON array of {"name", "value", "unit", "bound", "ratio"}; ratio is bound / value for times.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base_internal.h"
#include "base/vector.h"
#include "model/glm_kernel.h"
#include "tacit/curator.h"
#include "tacit/data.h"
#include "tacit/model.h"

static double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

static tacit_records_t *make_records(size_t n, size_t d) {
  tacit_records_t *records;
  uint64_t state = 42;
  if (tacit_records_new(&records, n, d + 1, NULL) != TACIT_OK) {
    return NULL;
  }
  double *x = malloc((d + 1) * sizeof *x);
  for (size_t i = 0; x != NULL && i < n; i++) {
    for (size_t j = 0; j < d; j++) {
      x[j] = j == 0 ? 1 : 2 * uniform(&state) - 1;
    }
    x[d] = uniform(&state) < 0.3;
    tacit_records_set(records, i, x);
  }
  free(x);
  return records;
}

/* Seconds to read all blocks once, best of some. */
static double read_time(const tacit_records_t *records, size_t n_columns, int repeats) {
  double best = INFINITY;
  volatile float sink = 0;
  for (int r = 0; r < repeats; r++) {
    double start = tacit_clock();
    v16f sum[4] = {0};
    for (size_t b = 0; b < tacit_records_n_blocks(records); b++) {
      const float *block = tacit_records_block(records, b);
      for (size_t j = 0; j < n_columns; j++) {
        sum[j % 4] += v16f_load(block + j * 16);
      }
    }
    sink = sink + ((sum[0] + sum[1]) + (sum[2] + sum[3]))[0];
    best = fmin(best, tacit_clock() - start);
  }
  return best;
}

static int bench(size_t n, size_t d, size_t n_theta, size_t n_threads, const char *separator) {
  tacit_glm_kernel_t kernel = {TACIT_FAMILY_BERNOULLI, d, 1, 0, 0};
  tacit_record_model_t model = {.name = "logistic",
                                .dim = d,
                                .n_columns = d + 1,
                                .grad_bound = sqrt((double)d),
                                .log_lik = tacit_glm_functions()->log_lik,
                                .n_linear = 1,
                                .n_features = d,
                                .residual = tacit_glm_functions()->residual,
                                .ctx = &kernel};
  tacit_records_t *records = make_records(n, d);
  double *theta = calloc(n_theta * d, sizeof *theta), *out = calloc(n_theta * d, sizeof *out);
  tacit_curator_t *curator;
  tacit_error_t err;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = 0.5 * sqrt((double)d);
  settings.n_threads = n_threads;
  if (records == NULL || theta == NULL || out == NULL) {
    return 1;
  }
  int repeats = n > 500000 ? 15 : 100;
  double bandwidth = 4 * (double)(n * (d + 1)) / read_time(records, d + 1, repeats);
  if (tacit_curator_new_exposed(&curator, records, &model, &settings, &err) != TACIT_OK) {
    return 1;
  }
  for (size_t i = 0; i < n_theta * d; i++) {
    theta[i] = 0.1 * (double)(i % 7) - 0.3;
  }
  double best = INFINITY;
  for (int r = 0; r < repeats; r++) {
    double start = tacit_clock();
    if (tacit_curator_release_gradient(curator, n_theta, theta, 0, out, &err) != TACIT_OK) {
      return 1;
    }
    best = fmin(best, tacit_clock() - start);
  }
  double bytes = 4 * (double)(d + 2), bound = bytes / bandwidth * 1e9, value = best / (double)n * 1e9;
  printf("%s{\"name\": \"logistic gradient n=%zu d=%zu chains=%zu threads=%zu\", \"value\": %.3f, "
         "\"unit\": \"ns/record\", \"bound\": %.3f, \"ratio\": %.3f}",
         separator, n, d, n_theta, n_threads, value, bound, bound / value);
  fprintf(stderr, "n=%zu d=%zu K=%zu threads=%zu: %.2f GB/s of %.2f GB/s read\n", n, d, n_theta, n_threads,
          bytes * (double)n / best * 1e-9, bandwidth * 1e-9);
  tacit_curator_free(curator);
  free(theta);
  free(out);
  return 0;
}

int main(void) {
  printf("[");
  int failed = bench(1000000, 50, 1, 1, "") || bench(1000000, 50, 4, 1, ",\n") ||
               bench(1000000, 50, 4, 2, ",\n") || bench(100000, 10, 1, 1, ",\n") ||
               bench(100000, 10, 4, 1, ",\n");
  printf("]\n");
  return failed;
}
