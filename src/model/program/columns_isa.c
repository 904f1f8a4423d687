/* Columns of a record and their products with parameters, on all blocks; see machine.h. */
#include "program/steps_isa.h"

TACIT_INLINE vreal load_floats(const float *p) {
#if TACIT_LANES_DOUBLE
  return vdouble_load_floats(p);
#else
  return vfloat_load(p);
#endif
}

void TACIT_MACHINE_NAME(load)(const tacit_frame_t *frame, size_t column, place_t d) {
  for (size_t i = 0; i < frame->n_blocks; i++) {
    const float *x = frame->block + i * frame->block_stride + column * 16;
    for (size_t lane = 0; lane < 16; lane += LANES) {
      store(d.at + i * d.step + lane, load_floats(x + lane));
    }
  }
}

/* Four partial sums hide the latency of the additions; their order is fixed. */
TACIT_INLINE vreal dot_one(const float *x, const real *w, size_t n) {
  vreal sum[4] = {0};
  size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    for (size_t u = 0; u < 4; u++) {
      sum[u] += load_floats(x + (j + u) * 16) * w[j + u];
    }
  }
  for (; j < n; j++) {
    sum[0] += load_floats(x + j * 16) * w[j];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The same of two parameter vectors, which share the columns. */
TACIT_INLINE void dot_two(const float *x, const real *w, const real *v, size_t n, vreal out[2]) {
  vreal sum[4] = {0}, other[4] = {0};
  size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    for (size_t u = 0; u < 4; u++) {
      vreal value = load_floats(x + (j + u) * 16);
      sum[u] += value * w[j + u];
      other[u] += value * v[j + u];
    }
  }
  for (; j < n; j++) {
    vreal value = load_floats(x + j * 16);
    sum[0] += value * w[j];
    other[0] += value * v[j];
  }
  out[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  out[1] = (other[0] + other[1]) + (other[2] + other[3]);
}

void TACIT_MACHINE_NAME(dot)(const tacit_frame_t *frame, const tacit_instruction_t *in, size_t number,
                             place_t d) {
  const real *w = (const real *)frame->scalars + in->b, *v = (const real *)frame->scalars_2;
  real *stash = (real *)frame->stash + number * REGISTER;
  for (size_t i = 0; i < frame->n_blocks; i++) {
    const float *x = frame->block + i * frame->block_stride + in->a * 16;
    for (size_t lane = 0; lane < 16; lane += LANES) {
      vreal sums[2];
      if (frame->has_stash) {
        sums[0] = load(stash + i * 16 + lane);
      } else if (v != NULL) {
        dot_two(x + lane, w, v + in->b, in->n, sums);
        store(stash + i * 16 + lane, sums[1]);
      } else {
        sums[0] = dot_one(x + lane, w, in->n);
      }
      store(d.at + i * d.step + lane, sums[0]);
    }
  }
}
