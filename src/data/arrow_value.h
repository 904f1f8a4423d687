/* One value of an Arrow array: its type from a format string, its bits by that type. Not installed. */
#ifndef TACIT_DATA_ARROW_VALUE_H
#define TACIT_DATA_ARROW_VALUE_H

#include "data/rules.h"

typedef enum tacit_arrow_kind {
  TACIT_ARROW_NULL,
  TACIT_ARROW_BOOLEAN,
  TACIT_ARROW_SIGNED,
  TACIT_ARROW_UNSIGNED,
  TACIT_ARROW_FLOAT,
  TACIT_ARROW_DECIMAL,
  TACIT_ARROW_TEXT, /* offsets of `bytes` bytes */
  TACIT_ARROW_VIEW,
  TACIT_ARROW_TIME, /* from here on: not read */
  TACIT_ARROW_NESTED,
  TACIT_ARROW_BYTES,
  TACIT_ARROW_WIDE, /* a decimal of 256 bits */
  TACIT_ARROW_UNKNOWN
} tacit_arrow_kind_t;

typedef struct tacit_arrow_type {
  tacit_arrow_kind_t kind;
  int bytes; /* of a number or an offset */
  int scale; /* of a decimal: its integer times 10^-scale */
} tacit_arrow_type_t;

/* The type of values by the format string of the specification. */
tacit_arrow_type_t tacit_arrow_type_of(const char *format);

typedef enum tacit_cell_kind { TACIT_CELL_MISSING, TACIT_CELL_NUMBER, TACIT_CELL_TEXT, TACIT_CELL_BROKEN } tacit_cell_kind_t;

enum { TACIT_CELL_DIGITS = 64 };

/* A value before the schema has seen it. */
typedef struct tacit_cell {
  tacit_cell_kind_t kind;
  double number;
  const char *text; /* of TEXT; of whole numbers and decimals, if they were asked for: their decimal digits; else NULL */
  size_t n;
  char digits[TACIT_CELL_DIGITS];
  const char *broken; /* what the specification does not allow, in fixed words */
} tacit_cell_t;

/* Whether an array has the buffers that its type needs, and can be looked at: NULL, or what is broken. */
const char *tacit_arrow_broken(const struct ArrowArray *array, const tacit_arrow_type_t *type);
/* Element i >= 0 of an array that is not broken, its offset not yet counted in; i below its length. */
void tacit_arrow_value(const struct ArrowArray *array, const tacit_arrow_type_t *type, int64_t i, bool wants_digits,
                       tacit_cell_t *cell);
/* Whether element i is null by the array's bitmap. */
bool tacit_arrow_is_null(const struct ArrowArray *array, int64_t i);
/* Element i of an array of whole numbers of 64 bits or less. */
int64_t tacit_arrow_index(const struct ArrowArray *array, const tacit_arrow_type_t *type, int64_t i);

#endif
