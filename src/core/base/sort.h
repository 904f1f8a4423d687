/* Numbers in order. Not installed. */
#ifndef TACIT_BASE_SORT_H
#define TACIT_BASE_SORT_H

#include <stddef.h>

/* Ascending, in place; none of them is NaN. */
void tacit_sort_numbers(size_t n, double *values);

#endif
