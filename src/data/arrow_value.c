/*
 * Values of Arrow arrays [Arrow columnar format, C data interface]. Buffers come without their sizes, so what
 * can be checked is checked: pointers, counts, the order of offsets, the places of views.
 */
#include "base/number.h"
#include "data/arrow_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 tacit_i128_t;
__extension__ typedef unsigned __int128 tacit_u128_t;

/* ---- types ---- */

static const struct {
  char format[4];
  tacit_arrow_type_t type;
} plain_types[] = {
    {"n", {TACIT_ARROW_NULL, 0, 0}},   {"b", {TACIT_ARROW_BOOLEAN, 0, 0}},
    {"c", {TACIT_ARROW_SIGNED, 1, 0}}, {"C", {TACIT_ARROW_UNSIGNED, 1, 0}},
    {"s", {TACIT_ARROW_SIGNED, 2, 0}}, {"S", {TACIT_ARROW_UNSIGNED, 2, 0}},
    {"i", {TACIT_ARROW_SIGNED, 4, 0}}, {"I", {TACIT_ARROW_UNSIGNED, 4, 0}},
    {"l", {TACIT_ARROW_SIGNED, 8, 0}}, {"L", {TACIT_ARROW_UNSIGNED, 8, 0}},
    {"e", {TACIT_ARROW_FLOAT, 2, 0}},  {"f", {TACIT_ARROW_FLOAT, 4, 0}},
    {"g", {TACIT_ARROW_FLOAT, 8, 0}},  {"u", {TACIT_ARROW_TEXT, 4, 0}},
    {"U", {TACIT_ARROW_TEXT, 8, 0}},   {"vu", {TACIT_ARROW_VIEW, 0, 0}},
    {"z", {TACIT_ARROW_BYTES, 0, 0}},  {"Z", {TACIT_ARROW_BYTES, 0, 0}},
    {"vz", {TACIT_ARROW_BYTES, 0, 0}},
};

/* "d:precision,scale" or "d:precision,scale,bits". */
static tacit_arrow_type_t decimal_type(const char *format) {
  int precision = 0, scale = 0, bits = 128, length = 0;
  if (sscanf(format, "d:%3d,%4d%n,%3d%n", &precision, &scale, &length, &bits, &length) < 2 ||
      format[length] != '\0') {
    return (tacit_arrow_type_t){.kind = TACIT_ARROW_UNKNOWN};
  }
  bool is_read = bits == 32 || bits == 64 || bits == 128;
  return (tacit_arrow_type_t){is_read       ? TACIT_ARROW_DECIMAL
                              : bits == 256 ? TACIT_ARROW_WIDE
                                            : TACIT_ARROW_UNKNOWN,
                              bits / 8, scale};
}

/* "tdD", "tdm": dates; "tss:", "tsm:", "tsu:", "tsn:" and a time zone: timestamps, which are in UTC if there
 * is one. */
static tacit_arrow_type_t time_type(const char *format) {
  static const struct {
    char format[4];
    tacit_arrow_type_t type;
  } dates[] = {{"tdD", {TACIT_ARROW_DAYS, 4, 0}},    {"tdm", {TACIT_ARROW_SECONDS, 8, 3}},
               {"tss", {TACIT_ARROW_SECONDS, 8, 0}}, {"tsm", {TACIT_ARROW_SECONDS, 8, 3}},
               {"tsu", {TACIT_ARROW_SECONDS, 8, 6}}, {"tsn", {TACIT_ARROW_SECONDS, 8, 9}}};
  for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
    if (strncmp(format, dates[i].format, 3) == 0) {
      return dates[i].type;
    }
  }
  return (tacit_arrow_type_t){.kind = TACIT_ARROW_TIME};
}

tacit_arrow_type_t tacit_arrow_type_of(const char *format) {
  for (size_t i = 0; format != NULL && i < sizeof plain_types / sizeof *plain_types; i++) {
    if (strcmp(format, plain_types[i].format) == 0) {
      return plain_types[i].type;
    }
  }
  switch (format != NULL ? *format : '\0') {
  case 'd':
    return decimal_type(format);
  case 't':
    return time_type(format);
  case '+':
    return (tacit_arrow_type_t){.kind = TACIT_ARROW_NESTED};
  case 'w':
    return (tacit_arrow_type_t){.kind = TACIT_ARROW_BYTES};
  default:
    return (tacit_arrow_type_t){.kind = TACIT_ARROW_UNKNOWN};
  }
}

/* ---- arrays ---- */

static int64_t n_buffers_of(const tacit_arrow_type_t *type) {
  switch (type->kind) {
  case TACIT_ARROW_NULL:
    return 0;
  case TACIT_ARROW_TEXT:
    return 3;
  case TACIT_ARROW_VIEW:
    return 3; /* at least: validity, views, as many as there are, their sizes */
  default:
    return 2;
  }
}

const char *tacit_arrow_broken(const struct ArrowArray *array, const tacit_arrow_type_t *type) {
  int64_t needed = n_buffers_of(type);
  if (array == NULL || array->length < 0 || array->offset < 0 || array->offset > INT64_MAX - array->length) {
    return "an array without a length and an offset";
  }
  if (type->kind == TACIT_ARROW_VIEW ? array->n_buffers < needed : array->n_buffers != needed) {
    return "an array with another number of buffers than its type has";
  }
  if (array->length == 0 || needed == 0) {
    return NULL;
  }
  if (array->buffers == NULL || array->buffers[1] == NULL) {
    return "an array without its buffers";
  }
  if (array->buffers[0] == NULL && array->null_count > 0) {
    return "an array of nulls without a bitmap that says where";
  }
  return type->kind == TACIT_ARROW_VIEW && array->n_buffers > 3 &&
                 array->buffers[array->n_buffers - 1] == NULL
             ? "an array of views without the sizes of its buffers"
             : NULL;
}

static bool bit_at(const void *bits, int64_t i) { return ((const unsigned char *)bits)[i / 8] >> i % 8 & 1; }

bool tacit_arrow_is_null(const struct ArrowArray *array, int64_t i) {
  return array->null_count != 0 && array->n_buffers > 0 && array->buffers != NULL &&
         array->buffers[0] != NULL && !bit_at(array->buffers[0], array->offset + i);
}

/* ---- values; buffers may lie at any address ---- */

#define LOAD(type, buffer, i, out)                                                                           \
  do {                                                                                                       \
    type loaded;                                                                                             \
    memcpy(&loaded, (const char *)(buffer) + (size_t)(i) * sizeof loaded, sizeof loaded);                    \
    (out) = loaded;                                                                                          \
  } while (0)

static int64_t load_signed(const void *buffer, int bytes, int64_t i) {
  int64_t value;
  switch (bytes) {
  case 1:
    LOAD(int8_t, buffer, i, value);
    break;
  case 2:
    LOAD(int16_t, buffer, i, value);
    break;
  case 4:
    LOAD(int32_t, buffer, i, value);
    break;
  default:
    LOAD(int64_t, buffer, i, value);
    break;
  }
  return value;
}

static uint64_t load_unsigned(const void *buffer, int bytes, int64_t i) {
  uint64_t value;
  switch (bytes) {
  case 1:
    LOAD(uint8_t, buffer, i, value);
    break;
  case 2:
    LOAD(uint16_t, buffer, i, value);
    break;
  case 4:
    LOAD(uint32_t, buffer, i, value);
    break;
  default:
    LOAD(uint64_t, buffer, i, value);
    break;
  }
  return value;
}

int64_t tacit_arrow_index(const struct ArrowArray *array, const tacit_arrow_type_t *type, int64_t i) {
  i += array->offset;
  if (type->kind == TACIT_ARROW_SIGNED) {
    return load_signed(array->buffers[1], type->bytes, i);
  }
  uint64_t index = load_unsigned(array->buffers[1], type->bytes, i);
  return index <= INT64_MAX ? (int64_t)index : -1;
}

/* IEEE 754 binary16. */
static double half(unsigned bits) {
  int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 1023);
  double size = exponent == 31
                    ? (mantissa != 0 ? NAN : INFINITY)
                    : ldexp(exponent > 0 ? 1024 + mantissa : mantissa, (exponent > 0 ? exponent : 1) - 25);
  return bits & 0x8000 ? -size : size;
}

static double load_float(const void *buffer, int bytes, int64_t i) {
  double value;
  switch (bytes) {
  case 2:
    return half((unsigned)load_unsigned(buffer, 2, i));
  case 4:
    LOAD(float, buffer, i, value);
    break;
  default:
    LOAD(double, buffer, i, value);
    break;
  }
  return value;
}

/* ---- digits ---- */

/* The digits of a magnitude into the end of `out`; where they begin. */
static char *put_digits(tacit_u128_t magnitude, char *end) {
  do {
    *--end = (char)('0' + (int)(magnitude % 10));
    magnitude /= 10;
  } while (magnitude > 0);
  return end;
}

static tacit_i128_t load_decimal(const void *buffer, int bytes, int64_t i) {
  if (bytes < 16) {
    return load_signed(buffer, bytes, i);
  }
  tacit_i128_t value;
  LOAD(tacit_i128_t, buffer, i, value);
  return value;
}

/*
 * The decimal as a person would write it, to be read as CSV is: one rounding. With a point where its digits
 * allow, or an exponent. Digits for levels and identifiers are those of its whole part, if there is nothing
 * after it.
 */
static void decimal(tacit_cell_t *cell, tacit_i128_t value, int scale, bool wants_digits) {
  tacit_u128_t magnitude = value < 0 ? -(tacit_u128_t)value : (tacit_u128_t)value;
  for (; wants_digits && scale > 0 && magnitude % 10 == 0; scale--) {
    magnitude /= 10;
  }
  char *end = tacit_cell_digits_end(cell), *text;
  if (scale > 0 && scale <= 18) {
    uint64_t power = 1;
    for (int k = 0; k < scale; k++) {
      power *= 10;
    }
    text = put_digits(magnitude % power, end);
    while (text > end - scale) {
      *--text = '0';
    }
    *--text = '.';
    text = put_digits(magnitude / power, text);
  } else {
    if (scale != 0) {
      end -= snprintf(cell->digits, TACIT_CELL_DIGITS, "e%d", -scale);
      memmove(end, cell->digits, (size_t)(tacit_cell_digits_end(cell) - end));
    }
    text = put_digits(magnitude, end);
  }
  if (value < 0) {
    *--text = '-';
  }
  tacit_cell_set_digits(cell, text);
  bool is_number = tacit_number_parse(cell->text, cell->n, &cell->number);
  cell->kind = is_number ? TACIT_CELL_NUMBER : TACIT_CELL_BROKEN;
  cell->broken = "a decimal of more digits than its type has";
  cell->text = scale == 0 ? cell->text : NULL;
}

/* ---- text ---- */

static void text_between(tacit_cell_t *cell, const void *bytes, int64_t from, int64_t to) {
  if (from < 0 || to < from || (to > from && bytes == NULL)) {
    tacit_cell_break(cell, "a text that ends before it begins");
  } else {
    tacit_cell_text(cell, to > from ? (const char *)bytes + from : "", (size_t)(to - from));
  }
}

/* 16 bytes: a length, then the text itself up to 12 bytes, else its first 4, a buffer and a place there. */
static void view(tacit_cell_t *cell, const struct ArrowArray *array, int64_t i) {
  const char *at = (const char *)array->buffers[1] + 16 * (size_t)i;
  int64_t length = load_signed(at, 4, 0), buffer = load_signed(at, 4, 2), place = load_signed(at, 4, 3), size;
  if (length <= 12) {
    text_between(cell, at + 4, 0, length);
    return;
  }
  if (buffer < 0 || buffer >= array->n_buffers - 3) {
    tacit_cell_break(cell, "a text in a buffer that there is none of");
    return;
  }
  size = load_signed(array->buffers[array->n_buffers - 1], 8, buffer);
  if (place < 0 || length > size - place) {
    tacit_cell_break(cell, "a text beyond the end of its buffer");
    return;
  }
  text_between(cell, array->buffers[2 + buffer], place, place + length);
}

void tacit_arrow_value(const struct ArrowArray *array, const tacit_arrow_type_t *type, int64_t i,
                       bool wants_digits, tacit_cell_t *cell) {
  cell->kind = TACIT_CELL_MISSING;
  cell->text = NULL;
  if (type->kind == TACIT_ARROW_NULL || tacit_arrow_is_null(array, i)) {
    return;
  }
  const void *buffer = array->buffers[1];
  i += array->offset;
  switch (type->kind) {
  case TACIT_ARROW_BOOLEAN:
    tacit_cell_whole(cell, bit_at(buffer, i), false, false);
    break;
  case TACIT_ARROW_SIGNED: {
    int64_t value = load_signed(buffer, type->bytes, i);
    tacit_cell_whole(cell, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, wants_digits);
    break;
  }
  case TACIT_ARROW_DAYS:
  case TACIT_ARROW_SECONDS:
    cell->kind = TACIT_CELL_DAYS;
    cell->number = (double)load_signed(buffer, type->bytes, i) /
                   (type->kind == TACIT_ARROW_DAYS ? 1 : 86400 * pow(10, type->scale));
    break;
  case TACIT_ARROW_UNSIGNED:
    tacit_cell_whole(cell, load_unsigned(buffer, type->bytes, i), false, wants_digits);
    break;
  case TACIT_ARROW_FLOAT:
    tacit_cell_real(cell, load_float(buffer, type->bytes, i), wants_digits);
    break;
  case TACIT_ARROW_DECIMAL:
    decimal(cell, load_decimal(buffer, type->bytes, i), type->scale, wants_digits);
    break;
  case TACIT_ARROW_TEXT:
    text_between(cell, array->buffers[2], load_signed(buffer, type->bytes, i),
                 load_signed(buffer, type->bytes, i + 1));
    break;
  case TACIT_ARROW_VIEW:
    view(cell, array, i);
    break;
  default:
    tacit_cell_break(cell, "a type that is not read");
    break;
  }
}
