/*
 * How fast one core reads, computes and divides with one instruction set; compiled once for each (meson.build), TACIT_ISA naming
 * the table. Multiplications and additions are separate, as they are in the kernels.
 */
#include "base/vector.h"
#include "harness.h"

static float read_all(const float *data, size_t n) {
  v16f sum[4] = {0};
  for (size_t i = 0; i < n; i += 64) {
    for (size_t u = 0; u < 4; u++) {
      sum[u] += v16f_load(data + i + u * 16);
    }
  }
  return ((sum[0] + sum[1]) + (sum[2] + sum[3]))[0];
}

/* As many independent chains as hide the latency and still fit the registers. */
#if defined(__AVX512F__)
enum { N_CHAINS = 12 };
#elif defined(__AVX2__)
enum { N_CHAINS = 6 };
#else
enum { N_CHAINS = 3 };
#endif

static float arithmetic(size_t n_rounds, float x) {
  v16f chain[N_CHAINS], factor = v16f_set(1 - x * 0x1p-10f), term = v16f_set(x * 0x1p-10f);
  for (size_t c = 0; c < N_CHAINS; c++) {
    chain[c] = v16f_set(x + (float)c);
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
  v16f chain[4];
  for (size_t c = 0; c < 4; c++) {
    chain[c] = v16f_set(x + (float)c);
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
const bench_bound_functions_t TABLE_NAME(TACIT_ISA) = {read_all, arithmetic, divide, N_CHAINS * 32};
