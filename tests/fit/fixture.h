/* A small regression in files of its own. */
#ifndef TACIT_TESTS_FIT_FIXTURE_H
#define TACIT_TESTS_FIT_FIXTURE_H

#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "tacit/fit.h"
#include "tacit/ledger.h"

enum { FIXTURE_ROWS = 400 };

typedef struct fixture {
  char folder[64];
  char data[96], ledger[96], out[96];
} fixture_t;

static const char fixture_columns[] = "columns:\n  y: {type: binary}\n  x: {type: numeric, lower: -1, upper: "
                                      "1}\n  z: {type: numeric, lower: -1, upper: 1}\n";
static const char fixture_private_number[] =
    "relation: add-remove\ncolumns:\n  y: {type: binary}\n  x: {type: numeric, lower: -1, upper: 1}\n";

static inline int fixture_open(void **state) {
  fixture_t *f = calloc(1, sizeof *f);
  snprintf(f->folder, sizeof f->folder, "/tmp/tacit-fit-XXXXXX");
  if (mkdtemp(f->folder) == NULL) {
    free(f);
    return -1;
  }
  snprintf(f->data, sizeof f->data, "%s/d.csv", f->folder);
  snprintf(f->ledger, sizeof f->ledger, "%s/l.ledger", f->folder);
  snprintf(f->out, sizeof f->out, "%s/out", f->folder);
  FILE *file = fopen(f->data, "w");
  fputs("y,x,z\n", file);
  for (int i = 0; i < FIXTURE_ROWS; i++) {
    fprintf(file, "%d,%.2f,%.2f\n", i * 7 % 31 + i * 13 % 37 > 33, i * 7 % 31 / 15.5 - 1,
            i * 11 % 23 / 11.5 - 1);
  }
  fclose(file);
  *state = f;
  return 0;
}

static inline int fixture_close(void **state) {
  fixture_t *f = *state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", f->folder);
  int status = system(command);
  free(f);
  return status;
}

/* Settings as name, text, name, text, ..., NULL. */
static inline tacit_status_t fixture_set(tacit_fit_t *fit, const char *const *settings, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; settings[i] != NULL && status == TACIT_OK; i += 2) {
    status = tacit_fit_set(fit, settings[i], settings[i + 1], err);
  }
  return status;
}

static inline tacit_fit_t *fixture_new(const char *formula, const char *schema, const char *const *settings) {
  tacit_fit_t *fit;
  tacit_error_t err;
  assert_ok(tacit_fit_new(&fit, formula, &err), err);
  assert_ok(tacit_fit_set_schema(fit, schema, strlen(schema), "schema", &err), err);
  assert_ok(fixture_set(fit, settings, &err), err);
  return fit;
}

#endif
