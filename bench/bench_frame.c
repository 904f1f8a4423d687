/*
 * A fit of 10^6 records that are in memory as an Arrow stream, in C: what the packages for Python and R are
 * measured beside. Prints the least CPU seconds of nine fits (reading, packing, norms, three gradients), and
 * the largest resident size of one above what was there before it, in MiB.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tacit/fit.h"

enum { N = 1000000, N_COLUMNS = 5 };

static const char *const names[N_COLUMNS] = {"y", "x0", "x1", "x2", "x3"};
static double *values[N_COLUMNS];
static struct ArrowSchema schemas[N_COLUMNS], *schema_pointers[N_COLUMNS];
static struct ArrowArray arrays[N_COLUMNS], *array_pointers[N_COLUMNS];
static const void *buffers[N_COLUMNS][2], *no_bitmap;

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static void release_array(struct ArrowArray *array) { array->release = NULL; }

static void release_stream(struct ArrowArrayStream *stream) { stream->release = NULL; }

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  (void)stream;
  *out = (struct ArrowSchema){.format = "+s",
                              .name = "",
                              .n_children = N_COLUMNS,
                              .children = schema_pointers,
                              .release = release_schema};
  return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  bool is_done = stream->private_data == NULL;
  stream->private_data = NULL;
  *out = is_done ? (struct ArrowArray){0}
                 : (struct ArrowArray){.length = N,
                                       .n_buffers = 1,
                                       .buffers = &no_bitmap,
                                       .n_children = N_COLUMNS,
                                       .children = array_pointers,
                                       .release = release_array};
  return 0;
}

/* Whole numbers below 1000 and a response of them, as bench/bindings.py makes them. */
static bool make_columns(void) {
  for (size_t j = 0; j < N_COLUMNS; j++) {
    values[j] = malloc(N * sizeof *values[j]);
    if (values[j] == NULL) {
      return false;
    }
    for (size_t i = 0; i < N; i++) {
      values[j][i] = j == 0 ? (double)(i % 3 % 2) : (double)((i * (2 * j + 1) * 31 + j) % 1000);
    }
    buffers[j][1] = values[j];
    schemas[j] = (struct ArrowSchema){
        .format = "g", .name = names[j], .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    arrays[j] =
        (struct ArrowArray){.length = N, .n_buffers = 2, .buffers = buffers[j], .release = release_array};
    schema_pointers[j] = &schemas[j];
    array_pointers[j] = &arrays[j];
  }
  return true;
}

static tacit_status_t fit_once(tacit_error_t *err) {
  static const char *const settings[][2] = {{"family", "bernoulli"}, {"method", "hmc"}, {"exposed", "true"},
                                            {"chains", "1"},         {"draws", "1"},    {"warmup", "0"},
                                            {"step-size", "0.01"},   {"leapfrog", "2"}};
  static const char schema[] =
      "columns:\n  y: {type: binary}\n  x0: {type: numeric, lower: 0, upper: 1000}\n"
      "  x1: {type: numeric, lower: 0, upper: 1000}\n  x2: {type: numeric, lower: 0, upper: 1000}\n"
      "  x3: {type: numeric, lower: 0, upper: 1000}\n";
  struct ArrowArrayStream stream = {get_schema, get_next, NULL, release_stream, &stream};
  tacit_fit_t *fit;
  tacit_status_t status = tacit_fit_new(&fit, "y ~ x0 + x1 + x2 + x3", err);
  for (size_t i = 0; i < sizeof settings / sizeof settings[0] && status == TACIT_OK; i++) {
    status = tacit_fit_set(fit, settings[i][0], settings[i][1], err);
  }
  status = status == TACIT_OK ? tacit_fit_set_schema(fit, schema, sizeof schema - 1, "schema", err) : status;
  status = status == TACIT_OK ? tacit_fit_read_source(fit, &(tacit_data_source_t){.stream = &stream}, err)
                              : status;
  status = status == TACIT_OK ? tacit_fit_run(fit, NULL, NULL, err) : status;
  tacit_fit_free(fit);
  return status;
}

/* VmHWM or VmRSS in MiB; NaN where the system does not tell. */
static double memory(const char *field) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  double kib = NAN;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, field, strlen(field)) == 0) {
      kib = strtod(line + strlen(field) + 1, NULL);
    }
  }
  if (file != NULL) {
    fclose(file);
  }
  return kib / 1024;
}

static void forget_peak(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file != NULL) {
    fputs("5", file);
    fclose(file);
  }
}

int main(void) {
  double least = INFINITY, peaks[2] = {0, 0};
  tacit_error_t err;
  if (!make_columns()) {
    return 1;
  }
  for (int i = 0; i < 10; i++) {
    forget_peak();
    double before = memory("VmRSS:");
    clock_t begin = clock();
    if (fit_once(&err) != TACIT_OK) {
      fprintf(stderr, "bench_frame: %s\n", err.message);
      return 1;
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    least = seconds < least ? seconds : least;
    if (i == 1 || i == 2) { /* the first loads what is loaded but once */
      peaks[i - 1] = memory("VmHWM:") - before;
    }
  }
  printf("%.3f %.1f %.1f\n", least, peaks[0], peaks[1]);
  return 0;
}
