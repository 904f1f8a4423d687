/* One value of a record before the schema has seen it, from sources that know types. Not installed. */
#ifndef TACIT_DATA_CELL_H
#define TACIT_DATA_CELL_H

#include "data/rules.h"

typedef enum tacit_cell_kind {
  TACIT_CELL_MISSING,
  TACIT_CELL_NUMBER,
  TACIT_CELL_TEXT,
  TACIT_CELL_DAYS, /* a date, perhaps with a time: days since 1970-01-01 */
  TACIT_CELL_BROKEN
} tacit_cell_kind_t;

enum { TACIT_CELL_DIGITS = 64, TACIT_CELL_MAX_TEXT = 1 << 20 }; /* text: as of a field of a CSV file */

typedef struct tacit_cell {
  tacit_cell_kind_t kind;
  double number;
  const char *text; /* of TEXT; of whole numbers and decimals, if they were asked for: their decimal digits;
                       else NULL */
  size_t n;
  bool is_written; /* of TEXT: the source has missing values of its own, so that "NA" is none */
  char digits[TACIT_CELL_DIGITS];
  const char *broken; /* what the source does not allow, in fixed words */
} tacit_cell_t;

void tacit_cell_break(tacit_cell_t *cell, const char *what);
/* A whole number; its digits, if they are wanted. */
void tacit_cell_whole(tacit_cell_t *cell, uint64_t magnitude, bool is_negative, bool wants_digits);
/* A float; NaN is missing. That of a whole number below 2^53 has digits: in some sources a null makes floats
 * of all whole numbers. */
void tacit_cell_real(tacit_cell_t *cell, double number, bool wants_digits);
/* Text of n bytes, borrowed; too long is broken. */
void tacit_cell_text(tacit_cell_t *cell, const char *text, size_t n);
/* The end of the digits, where a text that ends there begins. */
char *tacit_cell_digits_end(tacit_cell_t *cell);
void tacit_cell_set_digits(tacit_cell_t *cell, const char *text);

/* Are digits needed of values for this column: are they levels or identifiers? */
bool tacit_cell_wants_digits(const tacit_column_schema_t *schema);
/* The value of a cell that is not broken, by the rules. */
tacit_complaint_t tacit_cell_apply(tacit_rule_t *rule, const tacit_cell_t *cell, bool counts, double *value);
/* What is wrong with the cell of a person, or NULL. */
tacit_complaint_t tacit_cell_no_person(const tacit_cell_t *cell);

/*
 * One row: cells of the reader's columns, shape (n_columns), and of the unit (not looked at where that is a
 * row). Errors name `row`, from 1.
 */
TACIT_MUST_USE tacit_status_t tacit_reader_put(tacit_reader_t *reader, const tacit_cell_t *cells,
                                               const tacit_cell_t *unit, size_t row,
                                               tacit_room_maker make_room, void *user, tacit_error_t *err);

#endif
