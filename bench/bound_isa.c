/*
 * How fast one core reads, computes and divides with one instruction set; compiled once for each
 * (meson.build), TACIT_ISA naming the table. Multiplications and additions are separate, as they are in the
 * kernels.
 */
#include "base/vector.h"
#include "harness.h"

/* As many independent chains as hide the latency and still fit the registers. */
enum { N_CHAINS = TACIT_VECTOR_BYTES == 64 ? 24 : 12, READ_STEP = 8 * FLOAT_LANES };

static float read_all(const float *data, size_t n) {
  vfloat sum[8] = {0};
  for (size_t i = 0; i + READ_STEP <= n; i += READ_STEP) {
    for (size_t u = 0; u < 8; u++) {
      sum[u] += vfloat_load(data + i + u * FLOAT_LANES);
    }
  }
  return (((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])))[0];
}

static float arithmetic(size_t n_rounds, float x) {
  vfloat chain[N_CHAINS], factor = vfloat_set(1 - x * 0x1p-10f), term = vfloat_set(x * 0x1p-10f);
  for (size_t c = 0; c < N_CHAINS; c++) {
    chain[c] = vfloat_set(x + (float)c);
  }
  for (size_t r = 0; r < n_rounds; r++) {
    for (size_t c = 0; c < N_CHAINS; c++) {
      chain[c] = chain[c] * factor + term;
    }
  }
  float sum = 0;
  for (size_t c = 0; c < N_CHAINS; c++) {
    sum += chain[c][0];
  }
  return sum;
}

static float divide(size_t n_rounds, float x) {
  vfloat chain[4];
  for (size_t c = 0; c < 4; c++) {
    chain[c] = vfloat_set(x + (float)c);
  }
  for (size_t r = 0; r < n_rounds; r++) {
    for (size_t c = 0; c < 4; c++) {
      chain[c] = x / chain[c];
    }
  }
  return (chain[0] + chain[1] + chain[2] + chain[3])[0];
}

#define TABLE_NAME_(isa) bench_bound_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const bench_bound_functions_t TABLE_NAME(TACIT_ISA);
const bench_bound_functions_t TABLE_NAME(TACIT_ISA) = {read_all, arithmetic, divide,
                                                       2 * N_CHAINS *FLOAT_LANES, 4 * FLOAT_LANES};
