/* Shared by the tests of data: one file in a folder of its own, schemas from text, seeded random numbers. */
#ifndef TACIT_TESTS_DATA_TESTING_H
#define TACIT_TESTS_DATA_TESTING_H

#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tacit/data.h"
#include "testing.h"

static char folder[] = "/tmp/tacit-data-XXXXXX";
static char file[64];

static inline int set_up(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) {
    return -1;
  }
  snprintf(file, sizeof file, "%s/data.csv", folder);
  return 0;
}

static inline int tear_down(void **state) {
  (void)state;
  unlink(file);
  return rmdir(folder);
}

static inline void write_file(const char *bytes, size_t n) {
  unlink(file); /* a new file is not flushed to the disk on closing, a truncated one may be */
  FILE *out = fopen(file, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(bytes, 1, n, out), n);
  assert_int_equal(fclose(out), 0);
}

static inline tacit_schema_t *schema_of(const char *text) {
  tacit_schema_t *schema;
  tacit_error_t err;
  assert_ok(tacit_schema_parse(&schema, text, strlen(text), "s.yaml", &err), err);
  return schema;
}

static const char *const plain_schema =
    "columns:\n  x: {type: numeric, lower: -10, upper: 10}\n  k: {type: integer, lower: 0, upper: 5, "
    "missing: 2}\n"
    "  s: {type: categorical, levels: [F, M, 'a \"b\"']}\n  y: {type: binary}\n";

/* Write the bytes to the file and read them by plain_schema. */
static inline tacit_status_t read_text(const char *text, size_t n, tacit_table_t **table,
                                       tacit_table_notes_t *notes, tacit_error_t *err) {
  tacit_schema_t *schema = schema_of(plain_schema);
  write_file(text, n);
  tacit_status_t status = tacit_table_read(table, file, schema, NULL, 0, notes, err);
  tacit_schema_free(schema);
  return status;
}

/* A whole number below n, from a linear congruential generator with Knuth's constants. */
static inline size_t draw_below(uint64_t *seed, size_t n) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(*seed >> 33) % n;
}

static inline void append_repeated(tacit_text_t *text, const char *part, size_t n) {
  for (size_t i = 0; i < n; i++) {
    tacit_text_append(text, part, strlen(part));
  }
}

#endif
