/* Numbers and names that people write, independent of the locale. Not installed. */
#ifndef TACIT_BASE_NUMBER_H
#define TACIT_BASE_NUMBER_H

#include "tacit/base.h"

/*
 * Length of the decimal literal (no sign; digits, optional fraction and exponent) at `text`, 0 if
 * there is none. *value is its correctly rounded value, INFINITY if that overflows or if the
 * literal has more than 63 characters.
 */
size_t tacit_number_scan(const char *text, double *value);

enum { TACIT_NUMBER_SIZE = 32 };
/* Up to 10 significant digits, with a point whatever the locale. */
const char *tacit_number_format(double value, char out[TACIT_NUMBER_SIZE]);
/* As few digits as read back as the same double. */
const char *tacit_number_exact(double value, char out[TACIT_NUMBER_SIZE]);
/* What would do, for messages: x > 0 to two digits, as "%.2g" prints it, and no less (by more than 1e-9 of
 * it); infinity as it is. */
double tacit_number_round_up(double x);
/*
 * All of text[0..n-1] as a decimal number with an optional sign, spaces around it allowed; false if it is
 * none. Hexadecimal, "inf", "nan" and decimal commas are none.
 */
bool tacit_number_parse(const char *text, size_t n, double *value);

/* The known name nearest to a misspelt one: offer candidates, then read `best`. */
typedef struct tacit_nearest {
  const char *name;
  const char *best; /* NULL: none within two edits */
  size_t distance;
} tacit_nearest_t;

void tacit_nearest_offer(tacit_nearest_t *nearest, const char *candidate);
enum { TACIT_HINT_SIZE = 128 };
/* " (did you mean 'age'?)", or "" without a near name. */
const char *tacit_nearest_hint(const tacit_nearest_t *nearest, char out[TACIT_HINT_SIZE]);

#endif
