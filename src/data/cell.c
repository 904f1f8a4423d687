/*
 * Values from sources that know types: what they are to levels, identifiers and numbers.
 */
#include "base/error.h"
#include "data/cell.h"

#include <math.h>

void tacit_cell_break(tacit_cell_t *cell, const char *what) {
  cell->kind = TACIT_CELL_BROKEN;
  cell->broken = what;
}

char *tacit_cell_digits_end(tacit_cell_t *cell) { return cell->digits + TACIT_CELL_DIGITS - 1; }

void tacit_cell_set_digits(tacit_cell_t *cell, const char *text) {
  cell->text = text;
  cell->n = (size_t)(tacit_cell_digits_end(cell) - text);
  cell->is_written = false;
}

void tacit_cell_whole(tacit_cell_t *cell, uint64_t magnitude, bool is_negative, bool wants_digits) {
  cell->kind = TACIT_CELL_NUMBER;
  cell->number = is_negative ? -(double)magnitude : (double)magnitude;
  cell->text = NULL;
  if (wants_digits) {
    char *text = tacit_cell_digits_end(cell);
    do {
      *--text = (char)('0' + (int)(magnitude % 10));
      magnitude /= 10;
    } while (magnitude > 0);
    if (is_negative) {
      *--text = '-';
    }
    tacit_cell_set_digits(cell, text);
  }
}

void tacit_cell_real(tacit_cell_t *cell, double number, bool wants_digits) {
  cell->text = NULL;
  if (wants_digits && number == floor(number) && fabs(number) < 0x1p53) {
    tacit_cell_whole(cell, (uint64_t)fabs(number), number < 0, true);
  }
  cell->kind = isnan(number) ? TACIT_CELL_MISSING : TACIT_CELL_NUMBER;
  cell->number = number;
}

void tacit_cell_text(tacit_cell_t *cell, const char *text, size_t n) {
  if (n > TACIT_CELL_MAX_TEXT) {
    tacit_cell_break(cell, "a text longer than 1 MiB");
    return;
  }
  cell->kind = TACIT_CELL_TEXT;
  cell->text = text;
  cell->n = n;
  cell->is_written = false;
}

bool tacit_cell_wants_digits(const tacit_column_schema_t *schema) {
  return schema->type == TACIT_COLUMN_CATEGORICAL;
}

tacit_complaint_t tacit_cell_apply(tacit_rule_t *rule, const tacit_cell_t *cell, bool counts, double *value) {
  if (cell->kind == TACIT_CELL_MISSING) {
    return tacit_rule_missing(rule, counts, value);
  }
  if (cell->kind == TACIT_CELL_DAYS) {
    return tacit_rule_days(rule, cell->number, counts, value);
  }
  if (cell->kind == TACIT_CELL_NUMBER && rule->schema->type != TACIT_COLUMN_CATEGORICAL) {
    return tacit_rule_number(rule, cell->number, counts, value);
  }
  return cell->text != NULL && cell->is_written ? tacit_rule_written(rule, cell->text, cell->n, counts, value)
         : cell->text != NULL                   ? tacit_rule_text(rule, cell->text, cell->n, counts, value)
                                                : "expected a whole number below 2^53, to be a level";
}

tacit_complaint_t tacit_cell_no_person(const tacit_cell_t *cell) {
  if (cell->kind == TACIT_CELL_MISSING ||
      (cell->text != NULL && !cell->is_written && tacit_is_missing(cell->text, cell->n))) {
    return tacit_complaint_no_unit;
  }
  return cell->text != NULL ? NULL : "expected text or a whole number below 2^53, to identify a person";
}

/* ---- rows ---- */

static tacit_status_t wrong(const char *column, size_t row, const tacit_cell_t *cell, tacit_complaint_t what,
                            tacit_error_t *err) {
  return tacit_error_set(err, cell->kind == TACIT_CELL_BROKEN ? TACIT_ERR_SYNTAX : TACIT_ERR_DATA, column,
                         "row %zu, column '%s': %s", row, column, what);
}

static tacit_status_t admit(tacit_reader_t *reader, const tacit_cell_t *unit, size_t row, size_t *person,
                            bool *is_kept, tacit_error_t *err) {
  *is_kept = true;
  if (reader->unit_field == SIZE_MAX) {
    return TACIT_OK;
  }
  tacit_complaint_t what = unit->kind == TACIT_CELL_BROKEN ? unit->broken : tacit_cell_no_person(unit);
  return what != NULL ? wrong(tacit_schema_unit(reader->schema), row, unit, what, err)
                      : tacit_reader_admit(reader, unit->text, unit->n, person, is_kept, err);
}

tacit_status_t tacit_reader_put(tacit_reader_t *reader, const tacit_cell_t *cells, const tacit_cell_t *unit,
                                size_t row, tacit_room_maker make_room, void *user, tacit_error_t *err) {
  size_t person = 0;
  bool is_kept;
  tacit_status_t status = admit(reader, unit, row, &person, &is_kept, err);
  if (status == TACIT_OK && reader->at == reader->room) {
    status = make_room(user, err);
  }
  for (size_t i = 0; i < reader->n_columns && status == TACIT_OK; i++) {
    tacit_rule_t *rule = &reader->columns[i].rule;
    tacit_complaint_t what = cells[i].kind == TACIT_CELL_BROKEN
                                 ? cells[i].broken
                                 : tacit_cell_apply(rule, &cells[i], is_kept, &reader->values[i][reader->at]);
    status = what == NULL ? TACIT_OK : wrong(rule->schema->name, row, &cells[i], what, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  if (!is_kept) {
    reader->n_rows_dropped++;
    return TACIT_OK;
  }
  if (reader->row_units != NULL) {
    reader->row_units[reader->at] = person;
  }
  reader->at++;
  reader->n_rows++;
  return TACIT_OK;
}
