/* What is known of a SAS, SPSS or Stata file while it is read. Not installed. */
#ifndef TACIT_DATA_STAT_FILE_H
#define TACIT_DATA_STAT_FILE_H

#include <readstat.h>

#include "data/cell.h"
#include "data/schema_internal.h"

typedef readstat_error_t (*tacit_stat_parse)(readstat_parser_t *parser, const char *path, void *user);
typedef enum tacit_stat_dates { TACIT_STAT_SAS, TACIT_STAT_SPSS, TACIT_STAT_STATA } tacit_stat_dates_t;
typedef enum tacit_stat_part {
  TACIT_STAT_COLUMNS,
  TACIT_STAT_CATALOG,
  TACIT_STAT_ROWS
} tacit_stat_part_t; /* what a pass is for */
typedef enum tacit_stat_date_unit {
  TACIT_STAT_NO_DATE,
  TACIT_STAT_DAY,
  TACIT_STAT_SECOND,
  TACIT_STAT_MILLISECOND,
  TACIT_STAT_OTHER_DATE /* times of a day, weeks, months, ... */
} tacit_stat_date_unit_t;

/* What a column's display format makes of its numbers. */
tacit_stat_date_unit_t tacit_stat_date_unit(tacit_stat_dates_t dates, const char *format);
/* Days since 1970-01-01. */
double tacit_stat_days(tacit_stat_dates_t dates, tacit_stat_date_unit_t unit, double number);

/* Are rows in a SAS file that were deleted in SAS, and still stand there? sas_deleted.c */
bool tacit_sas_has_deleted(const char *path);

typedef struct tacit_stat_column {
  char *set; /* of labels of values, of SAS the format's name; "": none */
  tacit_stat_date_unit_t unit;
  bool has_labels, wants_digits;
  size_t slot; /* among the cells, from 1; 0: not wanted */
} tacit_stat_column_t;

typedef struct tacit_stat_label {
  char *set, *label;
  double number; /* NaN: of a text */
  char *text;
} tacit_stat_label_t;

typedef struct tacit_stat {
  tacit_reader_t *reader;
  const char *path;
  tacit_stat_parse parse;
  tacit_stat_dates_t dates;
  tacit_stat_column_t *columns;
  size_t n_columns;
  tacit_stat_label_t *labels;
  size_t n_labels;
  tacit_cell_t *cells;     /* of the row at hand, shape (reader->n_columns + 1): the last one is the unit's */
  tacit_text_t *texts;     /* likewise: what cells borrow */
  size_t n_wanted, n_seen; /* values of a row; that came so far */
  tacit_room_maker make_room;
  void *user;
  tacit_error_t *err;
  tacit_status_t status; /* that a callback gave up with */
} tacit_stat_t;

#endif
