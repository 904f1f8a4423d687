/* Is what a function makes of 16 lanes a function of each lane alone? It is asked for made-up ones, again and
 * in other company. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/probe.h"

enum { LANES = 16, N_ANSWERS = 6 /* the last two are those to two blocks at a time */, TURN = 5 /* lanes */ };

/* Numbers in [0, 1], ends included: in range of features, indicators and the indices of levels. */
static void make_up(uint64_t state, size_t n_columns, float *block) {
  for (size_t i = 0; i < n_columns * LANES; i++) {
    state = state * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
    uint64_t draw = state >> 40;
    block[i] = draw % 4 == 0 ? 0 : draw % 4 == 1 ? 1 : (float)draw * 0x1p-24f;
  }
}

/* block <- lane (l + turn) % 16 of a, or of b where l is odd */
static void mix(size_t n_columns, const float *a, const float *b, size_t turn, float *block) {
  for (size_t i = 0; i < n_columns * LANES; i++) {
    size_t lane = i % LANES;
    block[i] = (lane % 2 == 0 ? a : b)[i - lane + (lane + turn) % LANES];
  }
}

static size_t size_of(tacit_probe_kind_t kind) {
  return kind == TACIT_PROBE_FLOATS ? sizeof(float) : sizeof(double);
}

/* A whole number below 0 has the bits of a NaN, and is none. */
static bool is_same(const unsigned char *a, const unsigned char *b, tacit_probe_kind_t kind) {
  double x = NAN, y = NAN;
  float u = NAN, v = NAN;
  if (memcmp(a, b, size_of(kind)) == 0 || kind == TACIT_PROBE_WHOLE) {
    return memcmp(a, b, size_of(kind)) == 0;
  }
  if (kind == TACIT_PROBE_FLOATS) {
    memcpy(&u, a, sizeof u);
    memcpy(&v, b, sizeof v);
    return isnan(u) && isnan(v);
  }
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return isnan(x) && isnan(y);
}

/* Are the lanes l of `answer` what lanes (l + turn) % 16 of `even` are, or of `odd`? */
static bool agrees(const unsigned char *answer, const unsigned char *even, const unsigned char *odd,
                   size_t turn, size_t n_out, tacit_probe_kind_t kind) {
  const size_t size = size_of(kind);
  bool ok = true;
  for (size_t i = 0; ok && i < n_out * LANES; i++) {
    size_t lane = i % LANES, at = i - lane + (lane + turn) % LANES;
    ok = is_same(answer + i * size, (lane % 2 == 0 ? even : odd) + at * size, kind);
  }
  return ok;
}

tacit_status_t tacit_probe(size_t n_columns, tacit_probe_function function, void *user, size_t n_out,
                           tacit_probe_kind_t kind, bool *is_pure, tacit_error_t *err) {
  size_t n_block = n_columns * LANES, n_bytes = n_out * LANES * size_of(kind);
  float *blocks = tacit_alloc_zero(3 * n_block, sizeof *blocks);
  unsigned char *answers = tacit_alloc_zero(N_ANSWERS, n_bytes + 1), *answer[N_ANSWERS];
  *is_pure = false;
  if (blocks == NULL || answers == NULL) {
    tacit_free(blocks);
    tacit_free(answers);
    return tacit_error_memory(err);
  }
  float *a = blocks, *b = a + n_block, *mixed = b + n_block;
  for (size_t i = 0; i < N_ANSWERS; i++) {
    answer[i] = answers + i * n_bytes;
  }
  make_up(1, n_columns, a);
  make_up(2, n_columns, b);
  function(user, a, 1, answer[0]);
  function(user, b, 1, answer[1]);
  mix(n_columns, a, a, TURN, mixed);
  function(user, mixed, 1, answer[2]);
  mix(n_columns, a, b, 0, mixed);
  function(user, mixed, 1, answer[3]);
  function(user, a, 2, answer[4]);
  *is_pure = agrees(answer[2], answer[0], answer[0], TURN, n_out, kind) &&
             agrees(answer[3], answer[0], answer[1], 0, n_out, kind) &&
             agrees(answer[4], answer[0], answer[0], 0, n_out, kind) &&
             agrees(answer[5], answer[1], answer[1], 0, n_out, kind);
  tacit_free(blocks);
  tacit_free(answers);
  return TACIT_OK;
}
