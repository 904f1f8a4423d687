/* A scratch folder for each test, and the report to be written there. */
#ifndef TACIT_TESTS_REPORT_FIT_FOLDER_H
#define TACIT_TESTS_REPORT_FIT_FOLDER_H

#include "report/folder.h"

static char folder[64], path[96];

static int setup(void **state) {
  (void)state;
  folder_new(folder);
  snprintf(path, sizeof path, "%s/fit", folder);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  folder_remove(folder);
  return 0;
}

#endif
