/* One value of an Arrow array: its type from a format string, its bits by that type. Not installed. */
#ifndef TACIT_DATA_ARROW_VALUE_H
#define TACIT_DATA_ARROW_VALUE_H

#include "data/cell.h"

typedef enum tacit_arrow_kind {
  TACIT_ARROW_NULL,
  TACIT_ARROW_BOOLEAN,
  TACIT_ARROW_SIGNED,
  TACIT_ARROW_UNSIGNED,
  TACIT_ARROW_FLOAT,
  TACIT_ARROW_DECIMAL,
  TACIT_ARROW_TEXT, /* offsets of `bytes` bytes */
  TACIT_ARROW_VIEW,
  TACIT_ARROW_DAYS,
  TACIT_ARROW_SECONDS, /* times 10^-scale */
  TACIT_ARROW_TIME,    /* of a day, and durations; from here on: not read */
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

/* Whether an array has the buffers that its type needs, and can be looked at: NULL, or what is broken. */
const char *tacit_arrow_broken(const struct ArrowArray *array, const tacit_arrow_type_t *type);
/* Element i >= 0 of an array that is not broken, its offset not yet counted in; i below its length. */
void tacit_arrow_value(const struct ArrowArray *array, const tacit_arrow_type_t *type, int64_t i,
                       bool wants_digits, tacit_cell_t *cell);
/* Whether element i is null by the array's bitmap. */
bool tacit_arrow_is_null(const struct ArrowArray *array, int64_t i);
/* Element i of an array of whole numbers of 64 bits or less. */
int64_t tacit_arrow_index(const struct ArrowArray *array, const tacit_arrow_type_t *type, int64_t i);

#endif
