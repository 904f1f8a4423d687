/* Running a kernel. */
#include <string.h>

#include "base/memory.h"
#include "program/graph_internal.h"
#include "program/kernel.h"

struct tacit_work {
  const tacit_kernel_t *kernel;
  size_t capacity, n_prepared;
  double *theta; /* (capacity, dim), what it is prepared for; made when dim is known */
  size_t theta_size;
  size_t size;           /* of a number */
  double *inputs, *once; /* (n_inputs, 16), (n_uniforms, 16) */
  double *scalars;       /* (n_scalars) */
  double *filled;        /* (TACIT_CHUNK_BLOCKS, most tables, 16) */
  float *values;         /* (TACIT_CHUNK_BLOCKS, 16): of a table's column */
  void *uniforms,
      *each_scalars; /* (capacity, n_uniforms, 16), (capacity, n_scalars) of the kernel's numbers */
  void *registers, *stash;
};

static size_t most(size_t a, size_t b) { return a > b ? a : b; }

tacit_work_t *tacit_work_new(const tacit_kernel_t *kernel, size_t n_theta) {
  tacit_work_t *work = tacit_alloc_zero(1, sizeof *work);
  if (work == NULL) {
    return NULL;
  }
  size_t n_registers = most(kernel->once.n_registers, kernel->each.n_registers), n_tables = 0;
  for (size_t f = 0; f < kernel->n_fills; f++) {
    n_registers = most(n_registers, kernel->fills[f].code.n_registers);
    n_tables = most(n_tables, kernel->fills[f].n_tables);
  }
  work->kernel = kernel;
  work->capacity = n_theta;
  work->size = kernel->is_double ? sizeof(double) : sizeof(float);
  work->inputs = tacit_alloc_zero(kernel->n_inputs * 16, sizeof *work->inputs);
  work->once = tacit_alloc_zero(kernel->n_uniforms * 16, sizeof *work->once);
  work->scalars = tacit_alloc_zero(kernel->n_scalars, sizeof *work->scalars);
  work->filled = tacit_alloc_zero(TACIT_CHUNK_BLOCKS * n_tables * 16, sizeof *work->filled);
  work->values = tacit_alloc_zero(TACIT_CHUNK_BLOCKS * 16, sizeof *work->values);
  work->uniforms = tacit_alloc_zero(n_theta, kernel->n_uniforms * 16 * work->size);
  work->each_scalars = tacit_alloc_zero(n_theta, kernel->n_scalars * work->size);
  work->registers = tacit_alloc_zero(n_registers, TACIT_CHUNK_BLOCKS * 16 * sizeof(double));
  work->stash = tacit_alloc_zero(kernel->each.n_dots, TACIT_CHUNK_BLOCKS * 16 * work->size);
  if (work->inputs == NULL || work->once == NULL || work->scalars == NULL || work->filled == NULL ||
      work->values == NULL || work->uniforms == NULL || work->each_scalars == NULL ||
      work->registers == NULL || work->stash == NULL) {
    tacit_work_free(work);
    return NULL;
  }
  return work;
}

void tacit_work_free(tacit_work_t *work) {
  if (work == NULL) {
    return;
  }
  tacit_free(work->theta);
  tacit_free(work->inputs);
  tacit_free(work->once);
  tacit_free(work->scalars);
  tacit_free(work->filled);
  tacit_free(work->values);
  tacit_free(work->uniforms);
  tacit_free(work->each_scalars);
  tacit_free(work->registers);
  tacit_free(work->stash);
  tacit_free(work);
}

void *tacit_work_uniforms(const tacit_work_t *work) { return work->uniforms; }
void *tacit_work_scalars(const tacit_work_t *work) { return work->each_scalars; }

/* work->scalars of the tables, in runs of as many blocks as a chunk has. */
static void fill(tacit_work_t *work, const tacit_fill_t *fill) {
  size_t n_blocks = (fill->n_values + 15) / 16;
  for (size_t from = 0; from < n_blocks; from += TACIT_CHUNK_BLOCKS) {
    size_t n = n_blocks - from < TACIT_CHUNK_BLOCKS ? n_blocks - from : TACIT_CHUNK_BLOCKS;
    for (size_t i = 0; i < n * 16; i++) {
      size_t value = from * 16 + i;
      work->values[i] = (float)(fill->first + (double)(value < fill->n_values ? value : fill->n_values - 1));
    }
    tacit_frame_t frame = {.block = work->values,
                           .block_stride = 16,
                           .n_blocks = n,
                           .registers = work->registers,
                           .uniforms = work->once,
                           .scalars = work->scalars,
                           .out = work->filled,
                           .out_stride = fill->n_tables * 16};
    tacit_machine()->run_double(&fill->code, &frame);
    for (size_t i = 0; i < n * 16 && from * 16 + i < fill->n_values; i++) {
      for (size_t t = 0; t < fill->n_tables; t++) {
        work->scalars[fill->scalars[t] + from * 16 + i] =
            work->filled[(i / 16 * fill->n_tables + t) * 16 + i % 16];
      }
    }
  }
}

static void to_numbers(const tacit_work_t *work, const double *from, size_t n, size_t place, void *to) {
  for (size_t i = 0; i < n; i++) {
    if (work->kernel->is_double) {
      ((double *)to)[place + i] = from[i];
    } else {
      ((float *)to)[place + i] = (float)from[i];
    }
  }
}

static void prepare_one(tacit_work_t *work, size_t k, const double *theta) {
  const tacit_kernel_t *kernel = work->kernel;
  for (size_t i = 0; i < kernel->n_inputs * 16; i++) {
    work->inputs[i] = theta[tacit_graph_at(kernel->graph, kernel->inputs[i / 16])->a];
  }
  tacit_frame_t frame = {.n_blocks = 1,
                         .registers = work->registers,
                         .uniforms = work->inputs,
                         .out = work->once,
                         .out_stride = kernel->n_uniforms * 16};
  tacit_machine()->run_double(&kernel->once, &frame);
  for (size_t i = 0; i < kernel->n_scalars; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(kernel->graph, kernel->scalars[i]);
    bool is_uniform = kernel->scalar_uniform[i] != UINT32_MAX;
    work->scalars[i] = is_uniform                    ? work->once[kernel->scalar_uniform[i] * 16]
                       : n->op == TACIT_OP_PARAMETER ? theta[n->a]
                                                     : n->value;
  }
  for (size_t f = 0; f < kernel->n_fills; f++) {
    fill(work, &kernel->fills[f]);
  }
  to_numbers(work, work->once, kernel->n_uniforms * 16, k * kernel->n_uniforms * 16, work->uniforms);
  to_numbers(work, work->scalars, kernel->n_scalars, k * kernel->n_scalars, work->each_scalars);
}

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

bool tacit_work_is_prepared(const tacit_work_t *work, size_t n_theta, size_t dim, const double *theta,
                            const float *theta_float) {
  if (work->n_prepared < n_theta || work->theta == NULL) {
    return false;
  }
  uint64_t differences = 0;
  for (size_t i = 0; i < n_theta * dim; i++) {
    double x = theta_float != NULL ? (double)theta_float[i] : theta[i];
    differences |= bits_of(work->theta[i]) ^ bits_of(x);
  }
  return differences == 0;
}

void tacit_work_prepare(tacit_work_t *work, size_t n_theta, size_t dim, const double *theta) {
  size_t size = n_theta * dim;
  if (tacit_work_is_prepared(work, n_theta, dim, theta, NULL)) {
    return;
  }
  unsigned before = tacit_machine_begin();
  for (size_t k = 0; k < n_theta; k++) {
    prepare_one(work, k, theta + k * dim);
  }
  tacit_machine_end(before);
  if (size > work->theta_size) {
    tacit_free(work->theta);
    work->theta = tacit_alloc(work->capacity * dim, sizeof *work->theta);
    work->theta_size = work->theta != NULL ? work->capacity * dim : 0;
  }
  work->n_prepared = 0;
  if (work->theta != NULL) { /* else it is computed again next time */
    memcpy(work->theta, theta, size * sizeof *theta);
    work->n_prepared = n_theta;
  }
}

void tacit_work_run(tacit_work_t *work, const float *block, size_t n_blocks, size_t n_theta,
                    size_t out_stride, void *out) {
  const tacit_kernel_t *kernel = work->kernel;
  const tacit_machine_t *machine = tacit_machine();
  size_t block_stride = kernel->layout->n_columns * 16;
  size_t n_uniforms = kernel->n_uniforms * 16 * work->size, n_scalars = kernel->n_scalars * work->size;
  unsigned before = tacit_machine_begin();
  for (size_t from = 0; from < n_blocks; from += TACIT_CHUNK_BLOCKS) {
    for (size_t k = 0; k < n_theta; k++) {
      char *scalars = (char *)work->each_scalars + k * n_scalars;
      bool has_second = k % 2 == 0 && k + 1 < n_theta;
      tacit_frame_t frame = {
          .block = block != NULL ? block + from * block_stride : NULL, /* what runs once has no records */
          .block_stride = block_stride,
          .n_blocks = n_blocks - from < TACIT_CHUNK_BLOCKS ? n_blocks - from : TACIT_CHUNK_BLOCKS,
          .registers = work->registers,
          .uniforms = (char *)work->uniforms + k * n_uniforms,
          .scalars = scalars,
          .scalars_2 = has_second ? scalars + n_scalars : NULL,
          .stash = work->stash,
          .has_stash = k % 2 == 1,
          .out = (char *)out + (from * out_stride + k * kernel->n_roots * 16) * work->size,
          .out_stride = out_stride};
      (kernel->is_double ? machine->run_double : machine->run_float)(&kernel->each, &frame);
    }
  }
  tacit_machine_end(before);
}
