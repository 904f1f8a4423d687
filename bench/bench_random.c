/*
 * Draws per second of the generators, beside the rate at which ChaCha20 could supply their random bytes.
 * Prints rows of JSON (harness.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>

#include "harness.h"
#include "random/noise.h"
#include "random/noise_internal.h"

enum { N_DRAWS = 4096 };

static const double min_seconds = 0.4;

static double stream_bytes_per_second(void) {
  static unsigned char bytes[8 * NOISE_WORDS];
  static const unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {0};
  unsigned char key[TACIT_KEY_BYTES] = {0};
  double start = bench_cpu_seconds(), seconds, total = 0;
  do {
    crypto_stream_chacha20(bytes, sizeof bytes, nonce, key);
    key[0] ^= bytes[0];
    total += (double)sizeof bytes;
    seconds = bench_cpu_seconds() - start;
  } while (seconds < min_seconds);
  return total / seconds;
}

/* Bytes a rounded Gaussian takes on average, from how far each draw moves along the source's buffer. */
static double bytes_per_draw(tacit_noise_t *noise, double sd) {
  enum { N = 200000 };
  tacit_error_t err;
  size_t words = 0;
  for (size_t i = 0; i < N; i++) {
    int64_t draw;
    size_t before = noise->next;
    bench_require(tacit_noise_rounded_gaussian(noise, sd, 1, &draw, &err), &err);
    words +=
        noise->next >= before ? noise->next - before : noise->next - NOISE_KEY_WORDS + NOISE_WORDS - before;
  }
  return 8.0 * (double)words / N;
}

static double gaussians_per_second(tacit_noise_t *noise, double sd) {
  static int64_t draws[N_DRAWS];
  tacit_error_t err;
  double start = bench_cpu_seconds(), seconds, total = 0;
  do {
    bench_require(tacit_noise_rounded_gaussian(noise, sd, N_DRAWS, draws, &err), &err);
    total += N_DRAWS;
    seconds = bench_cpu_seconds() - start;
  } while (seconds < min_seconds);
  return total / seconds;
}

static double normals_per_second(tacit_rng_t *rng) {
  static volatile double sink;
  double start = bench_cpu_seconds(), seconds, total = 0;
  do {
    double sum = 0;
    for (size_t i = 0; i < N_DRAWS; i++) {
      sum += tacit_rng_normal(rng);
    }
    sink = sum;
    total += N_DRAWS;
    seconds = bench_cpu_seconds() - start;
  } while (seconds < min_seconds);
  (void)sink;
  return total / seconds;
}

int main(void) {
  static const struct {
    const char *name;
    double sd;
  } cases[] = {{"rounded gaussian, sd 1", 1},
               {"rounded gaussian, sd 1000", 1000},
               {"rounded gaussian, sd 2^31", 0x1p31}};
  tacit_error_t err;
  tacit_noise_t *noise;
  tacit_rng_t *rng;
  unsigned char key[TACIT_KEY_BYTES];
  bench_require(tacit_noise_new(&noise, &err), &err);
  tacit_rng_key_from_seed(key, 1);
  bench_require(tacit_rng_new(&rng, key, 0, &err), &err);

  double stream = stream_bytes_per_second();
  bench_begin();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double bound = stream / bytes_per_draw(noise, cases[i].sd);
    bench_print_value(cases[i].name, "draws/s", gaussians_per_second(noise, cases[i].sd), bound, 2e6, false);
  }
  /* The share of draws that take more than one word, about 1 %, is left out of the bound. */
  bench_print_value("normal", "draws/s", normals_per_second(rng), stream / 8, 0, false);
  bench_end();
  tacit_rng_free(rng);
  tacit_noise_free(noise);
  return 0;
}
