/* The rules of the schema for one column, applied to values wherever they come from. Not installed. */
#ifndef TACIT_DATA_RULES_H
#define TACIT_DATA_RULES_H

#include "data/data_internal.h"

/* What is wrong with a value: fixed words, or the schema's, so that no message can hold anything of it. NULL:
 * nothing is. */
typedef const char *tacit_complaint_t;
static const char tacit_complaint_no_unit[] = "a row without its unit of privacy";

/* The levels by text; their places are those in the schema, which holds no level twice. Clear in either case.
 */
TACIT_MUST_USE tacit_status_t tacit_rule_init(tacit_rule_t *rule, const tacit_column_schema_t *schema,
                                              tacit_error_t *err);
void tacit_rule_clear(tacit_rule_t *rule);

/* Each sets *value; `counts`: whether notes are taken, as of the rows that are kept. */
tacit_complaint_t tacit_rule_missing(tacit_rule_t *rule, bool counts, double *value);
/* Numeric, integer and binary columns; NaN is missing. */
tacit_complaint_t tacit_rule_number(tacit_rule_t *rule, double number, bool counts, double *value);
/* A date or time, in days since 1970-01-01. */
tacit_complaint_t tacit_rule_days(tacit_rule_t *rule, double days, bool counts, double *value);
/* A field of a CSV file; empty and NA are missing, unless NA is a level. */
tacit_complaint_t tacit_rule_text(tacit_rule_t *rule, const char *text, size_t n, bool counts, double *value);
/* A text that is a value, whatever it says: NA is none that is missing. */
tacit_complaint_t tacit_rule_written(tacit_rule_t *rule, const char *text, size_t n, bool counts,
                                     double *value);

/* Days from 1970-01-01 to a day of the Gregorian calendar. */
int64_t tacit_days_of(int64_t year, int64_t month, int64_t day);
enum { TACIT_DATE_SIZE = 64 };
/* "1999-12-31" of a whole number of days since 1970-01-01, of a year from 0 to 9999. */
const char *tacit_date_format(double days, char out[TACIT_DATE_SIZE]);
/* 1999-12-31, or 1999-12-31 23:59, with T or seconds. */
bool tacit_date_parse(const char *text, size_t n, double *days);

#endif
