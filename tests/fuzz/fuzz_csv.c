/* Any bytes as a CSV file, read by row and by person and drafted from, end in success or in an error. */
#define _GNU_SOURCE /* memfd_create: a file without a file system */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tacit/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_with(const char *text, const char *path) {
  tacit_schema_t *schema;
  tacit_table_t *table;
  tacit_error_t err;
  if (tacit_schema_parse(&schema, text, strlen(text), "fuzz", &err) != TACIT_OK) {
    __builtin_trap();
  }
  if (tacit_table_read(&table, path, schema, NULL, 0, NULL, &err) == TACIT_OK) {
    const double *x = tacit_table_column(table, "x");
    for (size_t i = 0; i < tacit_table_n_rows(table); i++) {
      if (!(x[i] >= -1 && x[i] <= 1)) {
        __builtin_trap(); /* values keep their public bounds */
      }
    }
    tacit_table_free(table);
  }
  tacit_schema_free(schema);
}

/* A template is YAML whatever the header says; the schema may still ask for what is to be filled in. */
static void draft_from(const char *path) {
  char *draft;
  tacit_schema_t *schema;
  tacit_error_t err;
  if (tacit_schema_draft(path, &draft, &err) != TACIT_OK) {
    return;
  }
  tacit_status_t status = tacit_schema_parse(&schema, draft, strlen(draft), "draft", &err);
  if (status != TACIT_OK && status != TACIT_ERR_SCHEMA) {
    __builtin_trap();
  }
  tacit_schema_free(schema);
  tacit_text_free(draft);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int fd = memfd_create("fuzz", 0);
  char path[64];
  if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
    return 0;
  }
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  read_with("columns: {x: {type: numeric, lower: -1, upper: 1, missing: 0}, s: {type: categorical, levels: "
            "[a, b]}}",
            path);
  read_with("unit: s\nmax_rows: 2\ncolumns: {s: {type: id}, x: {type: integer, lower: -1, upper: 1}}", path);
  draft_from(path);
  close(fd);
  return 0;
}
