/* Cumulative distributions of known numbers. Not installed. */
#ifndef TACIT_PROGRAM_CUMULATIVE_H
#define TACIT_PROGRAM_CUMULATIVE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * "gamma_lcdf", "gamma_lccdf" and the like at x, shape (n), whose first is the outcome: the logarithm, NaN
 * outside of what the parameters may be. x NULL: is it known? False: it is not.
 */
bool tacit_cumulative(const char *name, size_t n, const double *x, double *value);

#endif
