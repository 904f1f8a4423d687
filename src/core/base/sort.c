#include <stdlib.h>

#include "base/sort.h"

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void tacit_sort_numbers(size_t n, double *values) { qsort(values, n, sizeof *values, compare); }
