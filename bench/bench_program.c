/*
 * Reading and importing CSV, packing, and the start of the program itself: `bench_program TACIT DATA SCHEMA`.
 * Prints rows of JSON (harness.h).
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool.h"
#include "formula/model.h"
#include "harness.h"
#include "tacit/data.h"

extern char **environ;

enum { N_ROWS = 100000, N_WIDE_ROWS = 1000000 };

static const char schema_text[] = "relation: substitute\nunit: row\ncolumns:\n"
                                  "  age: {type: integer, lower: 0, upper: 120}\n"
                                  "  dose: {type: numeric, lower: 0, upper: 100}\n"
                                  "  score: {type: numeric, lower: -10, upper: 10}\n"
                                  "  weight: {type: numeric, lower: 0, upper: 200}\n"
                                  "  arm: {type: categorical, levels: [control, treated]}\n"
                                  "  event: {type: binary}\n";

static const char wide_schema_text[] =
    "columns:\n  y: {type: binary}\n"
    "  x1: {type: numeric, lower: 0, upper: 1000}\n  x2: {type: numeric, lower: 0, upper: 1000}\n"
    "  x3: {type: numeric, lower: 0, upper: 1000}\n  x4: {type: numeric, lower: 0, upper: 1000}\n"
    "  x5: {type: numeric, lower: 0, upper: 1000}\n  x6: {type: numeric, lower: 0, upper: 1000}\n"
    "  x7: {type: numeric, lower: 0, upper: 1000}\n  x8: {type: numeric, lower: 0, upper: 1000}\n"
    "  x9: {type: numeric, lower: 0, upper: 1000}\n";

typedef struct file {
  char path[64], columns[80];
  size_t n_bytes;
  tacit_schema_t *schema;
} file_t;

static FILE *begin_file(file_t *file, const char *schema) {
  tacit_error_t err;
  snprintf(file->path, sizeof file->path, "/tmp/tacit-bench-XXXXXX");
  int fd = mkstemp(file->path);
  FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (out == NULL) {
    perror("bench_program: temporary file");
    exit(1);
  }
  bench_require(tacit_schema_parse(&file->schema, schema, strlen(schema), "bench", &err), &err);
  return out;
}

static void write_file(file_t *file) {
  uint64_t state = 3;
  FILE *out = begin_file(file, schema_text);
  fprintf(out, "age,dose,score,weight,arm,event\n");
  for (int i = 0; i < N_ROWS; i++) {
    fprintf(out, "%d,%.3f,%.5f,%.2f,%s,%d\n", (int)(120 * bench_uniform(&state)), 100 * bench_uniform(&state),
            20 * bench_uniform(&state) - 10, 200 * bench_uniform(&state),
            bench_uniform(&state) < 0.5 ? "control" : "treated", bench_uniform(&state) < 0.3);
  }
  file->n_bytes = (size_t)ftell(out);
  fclose(out);
}

/* y and x1 .. x9, whole numbers below 1000. */
static void write_wide_file(file_t *file) {
  uint64_t state = 4;
  FILE *out = begin_file(file, wide_schema_text);
  fprintf(out, "y,x1,x2,x3,x4,x5,x6,x7,x8,x9\n");
  for (int i = 0; i < N_WIDE_ROWS; i++) {
    fprintf(out, "%d", bench_uniform(&state) < 0.3);
    for (int j = 0; j < 9; j++) {
      fprintf(out, ",%d", (int)(1000 * bench_uniform(&state)));
    }
    fputc('\n', out);
  }
  fclose(out);
}

static void read_table(void *user) {
  file_t *file = user;
  tacit_table_t *table;
  tacit_error_t err;
  bench_require(tacit_table_read(&table, file->path, file->schema, NULL, 0, NULL, &err), &err);
  tacit_table_free(table);
}

/* What no reader can beat: the same bytes, copied from the page cache. */
static void read_bytes(void *user) {
  static char buffer[1 << 17];
  const file_t *file = user;
  int fd = open(file->path, O_RDONLY);
  while (fd >= 0 && read(fd, buffer, sizeof buffer) > 0) {
  }
  close(fd);
}

static void remove_columns(const file_t *file) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", file->columns);
  if (system(command) != 0) {
    fprintf(stderr, "bench_program: cannot remove %s\n", file->columns);
  }
}

static void import_table(void *user) {
  file_t *file = user;
  tacit_error_t err;
  remove_columns(file);
  bench_require(tacit_table_import(file->path, file->schema, file->columns, NULL, &err), &err);
}

typedef struct packing {
  tacit_design_t *design;
  tacit_table_t *table;
  size_t n_threads;
  const char *scratch;
} packing_t;

static void pack(void *user) {
  const packing_t *p = user;
  tacit_records_t *records;
  tacit_error_t err;
  bench_require(tacit_design_pack_part(&records, p->design, p->table, 0, 1, p->n_threads, p->scratch, &err),
                &err);
  tacit_records_free(records);
}

/* Five columns of doubles become six of float32; a value meets three clamps, a difference and a division. */
static void bench_pack(const file_t *file) {
  packing_t p = {.n_threads = 1};
  tacit_error_t err;
  bench_work_t work = {5 * 8 + 6 * 4, 6 * 28, 6 * 2};
  bench_require(tacit_design_new(&p.design, "event ~ age + dose + score + weight", file->schema,
                                 TACIT_FAMILY_BERNOULLI, &err),
                &err);
  bench_require(tacit_table_read(&p.table, file->columns, file->schema, NULL, 0, NULL, &err), &err);
  const double *values = tacit_table_column(p.table, "dose");
  bench_time_t time = bench_measure(pack, &p, values, N_ROWS * sizeof *values, 1);
  bench_print_time("packing imported columns, 4 numbers", "ns/record", N_ROWS, work, time, 0);
  p.scratch = "/tmp";
  time = bench_measure(pack, &p, values, N_ROWS * sizeof *values, 1);
  bench_print_time("the same into a file (--scratch)", "ns/record", N_ROWS, work, time, 0);
  tacit_table_free(p.table);
  tacit_design_free(p.design);
}

/* Ten columns of doubles become eleven of float32, on one thread and on two, both by the clock. */
static void bench_pack_threads(void) {
  file_t file;
  packing_t p = {.n_threads = 1};
  tacit_error_t err;
  bench_work_t work = {10 * 8 + 11 * 4, 11 * 28, 11 * 2};
  write_wide_file(&file);
  snprintf(file.columns, sizeof file.columns, "%s.columns", file.path);
  import_table(&file);
  bench_require(tacit_design_new(&p.design, "y ~ x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9", file.schema,
                                 TACIT_FAMILY_BERNOULLI, &err),
                &err);
  bench_require(tacit_table_read(&p.table, file.columns, file.schema, NULL, 0, NULL, &err), &err);
  const double *values = tacit_table_column(p.table, "x1");
  bench_time_t one = bench_measure(pack, &p, values, N_WIDE_ROWS * sizeof *values, 2);
  bench_print_time("packing imported columns, 9 numbers, 10^6 rows, by the clock", "ns/record", N_WIDE_ROWS,
                   work, one, 0);
  p.n_threads = 2;
  bench_time_t two = bench_measure(pack, &p, values, N_WIDE_ROWS * sizeof *values, 2);
  work.flops /= 2;
  work.divisions /= 2;
  bench_print_time("the same, 2 threads", "ns/record", N_WIDE_ROWS, work, two, 0);
  bench_print_value("the same, 2 threads beside one", "times", one.seconds / two.seconds, 2, 0, false);
  tacit_table_free(p.table);
  tacit_design_free(p.design);
  remove_columns(&file);
  unlink(file.path);
  tacit_schema_free(file.schema);
}

static void bench_csv(void) {
  file_t file;
  write_file(&file);
  double bytes = (double)file.n_bytes * 1e-6;
  bench_time_t table = bench_measure(read_table, &file, NULL, 0, 1),
               raw = bench_measure(read_bytes, &file, NULL, 0, 1);
  bench_print_value("csv reading, 6 columns", "MB/s", bytes / table.seconds, bytes / raw.seconds, 200, false);
  snprintf(file.columns, sizeof file.columns, "%s.columns", file.path);
  bench_time_t import = bench_measure(import_table, &file, NULL, 0, 1);
  bench_print_value("csv import, 6 columns, processor", "MB/s", bytes / import.seconds, bytes / table.seconds,
                    0, false);
  bench_pack(&file);
  remove_columns(&file);
  unlink(file.path);
  tacit_schema_free(file.schema);
}

static void spawn(char *const *argv) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 1;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  if (posix_spawn(&child, argv[0], &actions, NULL, argv, environ) != 0 || waitpid(child, &status, 0) < 0 ||
      status != 0) {
    fprintf(stderr, "bench_program: %s %s failed\n", argv[0], argv[1]);
    exit(1);
  }
  posix_spawn_file_actions_destroy(&actions);
}

typedef struct start {
  double wall, cpu; /* seconds; the best of several each, as other programs on the machine delay a start */
} start_t;

static double children_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static start_t best_start(char *const *argv, const char *out) {
  start_t best = {1e9, 1e9};
  for (int i = 0; i < 15; i++) {
    double wall = tacit_clock(), cpu = children_seconds();
    spawn(argv);
    wall = tacit_clock() - wall;
    cpu = children_seconds() - cpu;
    best.wall = wall < best.wall ? wall : best.wall;
    best.cpu = cpu < best.cpu ? cpu : best.cpu;
    char *const remove[] = {"/bin/rm", "-rf", (char *)out, NULL};
    spawn(remove);
  }
  return best;
}

static void bench_start(char *tacit, char *data, char *schema) {
  char out[] = "/tmp/tacit-bench-fit-XXXXXX";
  if (mkdtemp(out) == NULL) {
    perror("bench_program: temporary folder");
    exit(1);
  }
  char *const version[] = {tacit, "--version", NULL};
  char *const fit[] = {tacit,      "fit",  "death ~ age + sex", "--family", "bernoulli", "--data",  data,
                       "--schema", schema, "--method",          "hmc",      "--exposed", "--draws", "1",
                       "--warmup", "0",    "--chains",          "1",        "--out",     out,       NULL};
  start_t least = best_start(version, out), whole = best_start(fit, out);
  bench_print_value("start of the program (--version), wall", "ms", 1e3 * least.wall, 0, 0, true);
  bench_print_value("a fit of one draw, 7874 records of 308 kB, processor", "ms", 1e3 * whole.cpu,
                    1e3 * least.cpu, 10, true);
  /* Files are written to the disk (fsync) before the program ends. */
  bench_print_value("a fit of one draw, 7874 records of 308 kB, wall", "ms", 1e3 * whole.wall,
                    1e3 * least.wall, 0, true);
}

int main(int argc, char **argv) {
  bench_begin();
  bench_csv();
  bench_pack_threads();
  if (argc > 3) {
    bench_start(argv[1], argv[2], argv[3]);
  }
  bench_end();
  return 0;
}
